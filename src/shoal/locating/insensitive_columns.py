"""What insensitive columns disclose about people, alone and in combination.

An insensitive column is published unchanged. It undoes the work of a method if it *determines* a
hidden column (the population of a province reveals the province), if it splits a class into parts
in which a sensitive value has a larger *share* than promised, or if it makes the *classes* of
people who look alike too small. All three are found by counting cells.

Combinations are examined from the smallest to the largest. A combination counts only for people who
are not already exposed by a part of it, whether the steward has confirmed that part or it was found
before. So the findings are as small as possible, and confirming all of them leaves none. A
confirmed combination confirms every part of it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from shoal.core.arrays import Flags, Integers
from shoal.core.cells import Cells, group, total_by
from shoal.locating.random_worlds import Claim
from shoal.locating.row_groups import CodedColumns, RowGroups

DETERMINED = 95
"""The percentage of rows for which the guess must be right if a value counts as determined."""

_MOST_CELLS = 100_000_000
_FEWEST_COMBINATIONS = 40
_MOST_COMBINATIONS = 2000

_Confirmed = Collection[frozenset[str]]


class Rule(StrEnum):
    """The ways in which insensitive columns expose people."""

    DETERMINES = "determines"
    SHARE = "share"
    CLASSES = "classes"


@dataclass(frozen=True)
class Exposure:
    """Insensitive columns, how they expose people, and how many.

    Exposed are the people whose value is determined, whose value has too large a share, or whose
    class is too small. `target` is the column that is determined; None for the other rules.
    """

    columns: tuple[str, ...]
    rule: Rule
    n_people: int
    target: str | None = None


@dataclass(frozen=True)
class Search:
    """The exposures, smallest combinations first, and the number of combinations left out.

    If there are too many combinations, those with the fewest values are left out.
    """

    found: tuple[Exposure, ...] = ()
    n_skipped: int = 0


def count_determined(alike: RowGroups, target: str) -> int | None:
    """Return the number of people whose value in the target follows from the columns of groups.

    The guess is the most frequent value of the target within each group; a combination that only
    one person has says nothing about others, and is in no group. The target is determined if at
    least half of the people are in groups, the guess is right for at least 95 % of them, and it is
    wrong at most half as often as always guessing their most frequent value: otherwise every column
    would determine a target that is nearly constant. Return None if it is not determined.
    """
    n_shared = alike.n_shared
    if 2 * n_shared < alike.table.n_people or not n_shared:
        return None
    n_right = alike.count_right(target, (100 - DETERMINED) * n_shared // 100)
    if n_right is None:
        return None
    n_wrong, n_wrong_anyway = n_shared - n_right, n_shared - alike.count_usual(target)
    return n_right if n_wrong_anyway and 2 * n_wrong <= n_wrong_anyway else None


def find_determining(
    table: CodedColumns, columns: Sequence[str], targets: Sequence[str], confirmed: _Confirmed
) -> Search:
    """Find the columns, alone and in pairs, that determine a target.

    Combinations in `confirmed`, and parts of them, are not reported.
    """
    found: list[Exposure] = []
    determining: set[tuple[frozenset[str], str]] = set()
    budget = _budget(table.n_rows)
    pairs, n_skipped = _combinations(table.n_values, columns, 2)
    for given in (*((column,) for column in columns), *pairs):
        is_pair = len(given) > 1
        if is_pair and _is_part(given, confirmed):
            continue
        # A pair with a column that determines the target by itself adds nothing.
        aimed = [
            target
            for target in targets
            if target not in given
            and not any((frozenset([one]), target) in determining for one in given)
        ]
        if is_pair and aimed and budget < len(aimed):
            n_skipped += 1
            continue
        alike = table.group(given)
        for target in aimed:
            budget -= is_pair
            n_right = count_determined(alike, target)
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

    The columns of `cells` are the class, the sensitive value, then the columns. Each claim comes
    with the codes of the values that it names.
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
    part: Integers,
    values: Integers,
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
    n_carriers = total_by(entry, cells.counts, len(first))
    n_all = total_by(part, cells.counts, n_parts)[part[first]]
    if claim.bound is None:
        is_too_large = n_carriers == n_all
    else:
        # A count times a denominator may exceed 64 bits; Python's integers do not overflow.
        numerator, denominator = claim.bound.numerator, claim.bound.denominator
        kind = np.int64 if max(numerator, denominator) < 2**20 else object
        is_too_large = n_carriers.astype(kind) * denominator > n_all.astype(kind) * numerator
    flagged: Flags = is_too_large.astype(bool)[entry] & is_meant
    return flagged


def find_small_classes(
    cells: Cells, columns: Sequence[str], confirmed: _Confirmed, least: int
) -> Search:
    """Find the columns that split classes into parts of fewer than `least` rows.

    Combinations of up to three columns and all columns together are examined. The columns of
    `cells` are the class, then the columns and possibly others.
    """
    classes = cells.codes[:, 0]

    def flag(chosen: Sequence[str]) -> Flags:
        part = _parts(cells, classes, chosen)
        return total_by(part, cells.counts, int(part.max(initial=-1)) + 1)[part] < least

    return _search(cells, columns, confirmed, flag, Rule.CLASSES, largest=3, has_whole=True)


def _parts(cells: Cells, classes: Integers, chosen: Sequence[str]) -> Integers:
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
    """Find the combinations that flag cells which no part of them flags already.

    A combination flags everything that a part of it flags, because columns only split classes
    further. So if all columns together flag nothing, nothing is found.
    """
    nothing = flag(())
    if np.array_equal(flag(columns), nothing):
        return Search()
    flags: dict[frozenset[str], Flags] = {frozenset(): nothing}
    exposing = {frozenset[str]()}
    found: list[Exposure] = []
    budget, n_skipped = _budget(cells.n_cells), 0
    n_values = {column: cells.domain(column).size for column in columns}
    tried: list[tuple[str, ...]] = []
    for size in range(1, largest + 1):
        taken, n_left = _combinations(n_values, columns, size)
        tried += taken
        n_skipped += n_left
    whole = [tuple(columns)] if has_whole and len(columns) > largest else []
    for chosen in (*tried, *whole):
        if _is_part(chosen, confirmed):
            continue
        # Single columns and all columns together are always examined.
        is_free = len(chosen) in (1, len(columns))
        if not is_free and not budget:
            n_skipped += 1
            continue
        budget -= not is_free
        asked = frozenset(chosen)
        # People whom a part exposes, whether it was found or confirmed, do not count again.
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


def _budget(n_cells: int) -> int:
    """Return the number of combinations that are examined besides single columns."""
    affordable = _MOST_CELLS // max(n_cells, 1)
    return min(max(affordable, _FEWEST_COMBINATIONS), _MOST_COMBINATIONS)


def _combinations(
    n_values: Mapping[str, int], columns: Sequence[str], size: int
) -> tuple[list[tuple[str, ...]], int]:
    """Return the combinations of `size` columns, those with the most values first.

    There may be millions of combinations, so of many columns only those with the most values are
    combined. The second result is the number of combinations left out.
    """
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
