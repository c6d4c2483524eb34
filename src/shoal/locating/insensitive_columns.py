"""What insensitive columns tell of people, alone and together.

An insensitive column is published as it is, beside what a method hides. It undoes the method's work
where it *determines* a column that is hidden (the population of a province tells the province),
where it splits a class into parts in which a sensitive value has a larger *share* than is promised,
or where it makes the *classes* of people who look alike too small. All three are found by counting
cells.

Combinations are looked at from the smallest to the largest. One counts only for the people whom no
part of it exposes already, whether that part is confirmed by the steward or found before it: so
what is found is as small as it can be, and confirming all that is found leaves nothing. A confirmed
combination confirms every part of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Cells, group
from shoal.knowledge.random_worlds import Claim

__all__ = [
    "DETERMINED",
    "Exposure",
    "Rule",
    "Search",
    "count_determined",
    "find_determining",
    "find_shares",
    "find_small_classes",
]

DETERMINED = 95
"""The percentage of rows for which a value has to be guessed rightly to count as determined."""

_MOST_CELLS = 100_000_000
_FEWEST_COMBINATIONS = 40
_MOST_COMBINATIONS = 2000

Flags = npt.NDArray[np.bool_]
_Confirmed = Collection[frozenset[str]]


class Rule(StrEnum):
    """What insensitive columns do."""

    DETERMINES = "determines"
    SHARE = "share"
    CLASSES = "classes"


@dataclass(frozen=True)
class Exposure:
    """Insensitive columns, what they do, and to how many people.

    Parameters
    ----------
    columns
        The columns.
    rule
        What they do.
    n_people
        For how many people: those whose value is told, whose value has too large a share, or who
        are in classes that are too small.
    target
        The column that is determined; None for the other rules.
    """

    columns: tuple[str, ...]
    rule: Rule
    n_people: int
    target: str | None = None


@dataclass(frozen=True)
class Search:
    """What was found, and how many combinations were not looked at.

    Parameters
    ----------
    found
        The exposures, the smallest combinations first.
    n_skipped
        The combinations that were too many to look at; those of fewer values were left out.
    """

    found: tuple[Exposure, ...] = ()
    n_skipped: int = 0


def count_determined(cells: Cells, given: Sequence[str], target: str) -> int | None:
    """Count the rows whose value in a column follows from some other columns.

    Within each combination of the given columns the most frequent value of the target is guessed.
    Combinations that one row has alone tell nothing of others, and do not count. The target is
    determined if at least half of the rows are left, the guess is right for at least 95 % of them,
    and it is wrong at most half as often as always guessing the value that is most frequent among
    them: a target that is nearly constant is not determined by everything.

    Parameters
    ----------
    cells
        Counts of the columns.
    given, target
        The columns.

    Returns
    -------
    The rows for which the guess is right; None where the target is not determined.

    Examples
    --------
    >>> from shoal.core.domain import NumberedDomain
    >>> town, people = NumberedDomain("town", np.arange(2)), NumberedDomain("people", np.arange(2))
    >>> cells = Cells((town, people), np.array([[0, 1], [1, 0]]), np.array([5, 4]))
    >>> count_determined(cells, ["people"], "town")
    9
    """
    _, number = cells.select_with_inverse(given)
    pairs = Buckets.of_pairs(number, cells.column(target), cells.domain(target), cells.counts)
    is_shared = pairs.sizes > 1
    n_shared = int(pairs.sizes[is_shared].sum())
    if 2 * n_shared < cells.n_rows or not n_shared:
        return None
    n_right = int(np.maximum.reduceat(pairs.count, pairs.starts)[is_shared].sum())
    of_value = np.zeros(pairs.domain.size, dtype=np.int64)
    kept = is_shared[pairs.bucket]
    np.add.at(of_value, pairs.value[kept], pairs.count[kept])
    n_wrong, n_wrong_anyway = n_shared - n_right, n_shared - int(of_value.max())
    is_right = 100 * n_right >= DETERMINED * n_shared
    return n_right if is_right and n_wrong_anyway and 2 * n_wrong <= n_wrong_anyway else None


def find_determining(
    cells: Cells, columns: Sequence[str], targets: Sequence[str], confirmed: _Confirmed
) -> Search:
    """Find the columns, alone and in pairs, that determine a target.

    Parameters
    ----------
    cells
        Counts of all these columns.
    columns, targets
        The columns that may determine, and those that may be determined.
    confirmed
        Combinations that do not count, nor does any part of them.
    """
    found: list[Exposure] = []
    determining: set[tuple[frozenset[str], str]] = set()
    budget = _budget(cells)
    pairs, n_skipped = _combinations(cells, columns, 2)
    for given in (*((column,) for column in columns), *pairs):
        is_pair = len(given) > 1
        if is_pair and _is_part(given, confirmed):
            continue
        aimed = [
            target
            for target in targets
            if target not in given
            and not any((frozenset([one]), target) in determining for one in given)
        ]
        if is_pair and aimed and budget < len(aimed):
            n_skipped += 1
            continue
        for target in aimed:
            budget -= is_pair
            n_right = count_determined(cells, given, target)
            if n_right is None:
                continue
            determining.add((frozenset(given), target))
            if not _is_part(given, confirmed):
                found.append(Exposure(given, Rule.DETERMINES, n_right, target))
    return Search(tuple(found), n_skipped)


def find_shares(
    cells: Cells,
    columns: Sequence[str],
    confirmed: _Confirmed,
    claims: Sequence[tuple[Claim, Collection[int]]],
) -> Search:
    """Find the columns, alone and in pairs, that make the share of a sensitive value too large.

    Parameters
    ----------
    cells
        Counts: the class first, then the sensitive value, then the columns.
    columns, confirmed
        As for `find_determining`.
    claims
        What is promised of shares, and the codes of the values that each claim names.
    """
    classes, values = cells.codes[:, 0], cells.codes[:, 1]

    def flag(chosen: Sequence[str]) -> Flags:
        part = _parts(cells, classes, chosen)
        flagged = np.zeros(cells.n_cells, dtype=bool)
        for claim, codes in claims:
            flagged |= _exceeds(part, values, cells, claim, codes)
        return flagged

    return _search(cells, columns, confirmed, flag, Rule.SHARE, largest=2)


def _exceeds(
    part: npt.NDArray[np.int64],
    values: npt.NDArray[np.int64],
    cells: Cells,
    claim: Claim,
    codes: Collection[int],
) -> Flags:
    """Return which cells carry a value that has too large a share in its part."""
    is_meant = np.ones(len(values), dtype=bool)
    if claim.values:
        is_meant = np.isin(values, list(codes))
    if claim.is_joint:
        values = np.where(is_meant, 0, 1)
    n_parts, n_values = int(part.max(initial=-1)) + 1, int(values.max(initial=-1)) + 1
    first, entry = group([part, values], [n_parts, n_values], len(part))
    n_carriers = np.zeros(len(first), dtype=np.int64)
    np.add.at(n_carriers, entry, cells.counts)
    sizes = np.zeros(n_parts, dtype=np.int64)
    np.add.at(sizes, part, cells.counts)
    n_all = sizes[part[first]]
    if claim.bound is None:
        is_too_large = n_carriers == n_all
    else:
        # Whole numbers of any size: a product of a count and a denominator may pass 64 bits.
        numerator, denominator = claim.bound.numerator, claim.bound.denominator
        kind = np.int64 if max(numerator, denominator) < 2**20 else object
        is_too_large = n_carriers.astype(kind) * denominator > n_all.astype(kind) * numerator
    flagged: Flags = is_too_large.astype(bool)[entry] & is_meant
    return flagged


def find_small_classes(
    cells: Cells, columns: Sequence[str], confirmed: _Confirmed, least: int
) -> Search:
    """Find the columns, in combinations of up to three and all together, that part classes.

    Parameters
    ----------
    cells
        Counts: the class first, then the columns and possibly others.
    columns, confirmed
        As for `find_determining`.
    least
        The fewest rows that a class may have.
    """
    classes = cells.codes[:, 0]

    def flag(chosen: Sequence[str]) -> Flags:
        part = _parts(cells, classes, chosen)
        sizes = np.zeros(int(part.max(initial=-1)) + 1, dtype=np.int64)
        np.add.at(sizes, part, cells.counts)
        return sizes[part] < least

    return _search(cells, columns, confirmed, flag, Rule.CLASSES, largest=3, has_whole=True)


def _parts(
    cells: Cells, classes: npt.NDArray[np.int64], chosen: Sequence[str]
) -> npt.NDArray[np.int64]:
    """Number the parts of classes that agree in the chosen columns; one entry per cell."""
    columns = [classes, *(cells.column(name) for name in chosen)]
    sizes = [cells.domains[0].size, *(cells.domain(name).size for name in chosen)]
    return group(columns, sizes, cells.n_cells)[1]


def _search(
    cells: Cells,
    columns: Sequence[str],
    confirmed: _Confirmed,
    flag: Callable[[Sequence[str]], Flags],
    rule: Rule,
    *,
    largest: int,
    has_whole: bool = False,
) -> Search:
    """Look for combinations that flag cells which no part of them flags already.

    A combination flags whatever a part of it flags: columns only ever split classes further. So
    nothing is to be found where all columns together flag nothing.
    """
    nothing = flag(())
    if np.array_equal(flag(columns), nothing):
        return Search()
    flags: dict[frozenset[str], Flags] = {frozenset(): nothing}
    exposing = {frozenset[str]()}
    found: list[Exposure] = []
    budget, n_skipped = _budget(cells), 0
    tried: list[tuple[str, ...]] = []
    for size in range(1, largest + 1):
        taken, n_left = _combinations(cells, columns, size)
        tried += taken
        n_skipped += n_left
    whole = [tuple(columns)] if has_whole and len(columns) > largest else []
    for chosen in (*tried, *whole):
        if _is_part(chosen, confirmed):
            continue
        is_free = len(chosen) in (1, len(columns))
        if not is_free and not budget:
            n_skipped += 1
            continue
        budget -= not is_free
        asked = frozenset(chosen)
        parts = {one for one in exposing if one < asked} | {asked & one for one in confirmed}
        flagged = flag(chosen)
        fresh = flagged.copy()
        for part in parts:
            if part not in flags:
                flags[part] = flag(_ordered(part, columns))
            fresh &= ~flags[part]
        if fresh.any():
            flags[asked] = flagged
            exposing.add(asked)
            found.append(Exposure(chosen, rule, int(cells.counts[fresh].sum())))
    return Search(tuple(found), n_skipped)


def _ordered(chosen: Collection[str], columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(column for column in columns if column in chosen)


def _is_part(chosen: Iterable[str], confirmed: _Confirmed) -> bool:
    asked = frozenset(chosen)
    return any(asked <= one for one in confirmed)


def _budget(cells: Cells) -> int:
    """Return how many combinations are looked at beside single columns."""
    affordable = _MOST_CELLS // max(cells.n_cells, 1)
    return min(max(affordable, _FEWEST_COMBINATIONS), _MOST_COMBINATIONS)


def _combinations(
    cells: Cells, columns: Sequence[str], size: int
) -> tuple[list[tuple[str, ...]], int]:
    """Return the combinations of so many columns, those of most values first.

    Of many columns only those with most values are combined, for there may be millions of
    combinations; the second entry says how many are left out.
    """
    n_values = {column: cells.domain(column).size for column in columns}
    by_values = sorted(columns, key=n_values.__getitem__, reverse=True)
    n_taken = len(columns)
    while size > 1 and math.comb(n_taken, size) > _MOST_COMBINATIONS:
        n_taken -= 1
    taken = _ordered(by_values[:n_taken], columns)
    found = sorted(
        itertools.combinations(taken, size),
        key=lambda one: -math.prod(n_values[column] for column in one),
    )
    return found, math.comb(len(columns), size) - len(found)
