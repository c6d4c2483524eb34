"""Sliced l-diversity: no belief that a sliced release supports about anyone exceeds 1/l.

Judged from counts of (bucket, column value), in fractions, in one of three ways:

- ``values``: if no combination of published values matches two buckets, as after strict cuts, then
  every row with u in bucket B has s with probability n_B(u, s) / n_B(u). Public files alone decide.
- ``tuples``: otherwise p(t, s) of the people's own tuples decides, over all buckets they match.
- ``bound``: without these, the largest share in any one bucket bounds p(t, s) of every tuple that
  could match, since p(t, s) is a mean over buckets. A bound that is too large proves nothing.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3 and 4.3 and, for overlapping columns, 7.
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from shoal.core.adversary_guarantees import SlicedDiversity
from shoal.core.arrays import Codes, Flags
from shoal.core.cells import Cells, group, total_by
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import Number, as_text, exact, greatest, is_at_most
from shoal.core.guarantees import Guarantee
from shoal.core.progress import Work
from shoal.core.sliced import Layout, Sliced, SlicedColumn
from shoal.core.verdict import Evidence, Verdict
from shoal.slicing.check.matching import estimate_shares, is_matched_once

Diversity = Literal["frequency", "distinct"]
Basis = Literal["values", "tuples", "bound"]
Part = tuple[int, ...]

_COMBINATION = 1_000
"""The approximate number of operations per combination of values; fractions are slow."""
_NO_MATCH = "A person's tuple matches no bucket of the release."


@dataclass(frozen=True, repr=False)
class SlicedFinding:
    """The result of checking sliced l-diversity in one or all sensitive attributes.

    `basis` is the evidence that decided: published values, the people's tuples, or a bound. With a
    bound, `holds` is False if the requirement is not proved. `reached` is the largest l that is
    met, or proved to be. `n_judged` and `n_failing` count pairs of a bucket and a u, or tuples.
    """

    ell: Fraction
    diversity: Diversity
    basis: Basis
    reached: Fraction
    n_judged: int
    n_failing: int

    @property
    def holds(self) -> bool:
        """Whether the requirement is met, or proved to be."""
        return self.n_failing == 0

    def to_dict(self) -> dict[str, object]:
        """Return the finding as JSON holds it."""
        return {
            "ell": as_text(self.ell),
            "diversity": self.diversity,
            "basis": self.basis,
            "holds": self.holds,
            "reached": as_text(self.reached),
            "judged": self.n_judged,
            "failing": self.n_failing,
        }

    def __repr__(self) -> str:
        verb = "holds" if self.holds else "is not proved" if self.basis == "bound" else "fails"
        return (
            f"SlicedFinding(ell={as_text(self.ell)} {verb} by {self.basis}: {self.n_failing} of "
            f"{self.n_judged} fail, reached {as_text(self.reached)})"
        )


def check(guarantee: Guarantee, evidence: Evidence) -> Verdict:
    """Decide from the published counts, and from the people's known values if they are available.

    If people match several buckets, published counts alone yield a bound; if that does not prove
    the guarantee, it is only partly verified.

    Raises
    ------
    ParameterError
        If the guarantee is another one, or the release is not sliced.
    """
    if not isinstance(guarantee, SlicedDiversity) or evidence.sliced is None:
        raise ParameterError(f"{guarantee.name} applies to sliced releases only.")
    tuples = evidence.witnesses.get(str(guarantee.needs_witness))
    known = tuples if isinstance(tuples, Cells) else None
    diversity: Diversity = "distinct" if guarantee.diversity == "distinct" else "frequency"
    found = check_sliced(
        evidence.sliced, guarantee.ell, known, diversity=diversity, work=evidence.work
    )
    is_open = found.basis == "bound" and not found.holds
    what = {"values": "pairs of a bucket and known values", "tuples": "kinds of people",
            "bound": "combinations that could be people"}[found.basis]  # fmt: skip
    return Verdict(
        guarantee=guarantee,
        holds=found.holds or is_open,
        reached={"ell": as_text(found.reached)},
        n_buckets=found.n_judged,
        n_failing=0 if is_open else found.n_failing,
        detail=f"{found.n_failing or 'none'} of {found.n_judged} {what} exceed the bound",
        is_partial=is_open,
        unit=what,
    )


def check_sliced(
    sliced: Sliced,
    ell: Number,
    tuples: Cells | None = None,
    *,
    diversity: Diversity = "frequency",
    work: Work | None = None,
) -> SlicedFinding:
    """Check sliced l-diversity of every sensitive attribute; return the worst finding.

    No p(t, s) may be above 1/ell (``frequency``), or at least `ell` values must have one above 0
    (``distinct``). `tuples` are the known values of the people in the release, if they may be used.
    `work` limits the operations; default 2e9.

    Raises
    ------
    ParameterError
        If no attribute is sensitive.
    TooMuchWork
        If the release is too large, or a bound would need too many combinations.
    DataError
        If the release is empty, or a tuple is not in it.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex, flu = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> release = Sliced.of_pieces(
    ...     cells, layout, np.arange(4), np.array([0, 0, 1, 1]), cells.counts)
    >>> check_sliced(release, 2)
    SlicedFinding(ell=2 holds by values: 0 of 2 fail, reached 2)
    """
    bound = exact("ell", ell)
    if bound < 1:
        raise ParameterError(f"ell must be at least 1, not {ell!r}.")
    if not sliced.layout.sensitive:
        raise ParameterError("Sliced l-diversity needs a sensitive attribute; there is none.")
    if not sliced.n_buckets:
        raise DataError("A release without rows has no strongest parameter.")
    findings = [
        _check_one(sliced, bound, tuples, diversity, sensitive, work or Work())
        for sensitive in sliced.layout.sensitive
    ]
    return min(findings, key=lambda finding: (finding.holds, finding.reached))


def _check_one(
    sliced: Sliced,
    ell: Fraction,
    tuples: Cells | None,
    diversity: Diversity,
    sensitive: str,
    work: Work,
) -> SlicedFinding:
    is_joined = sliced.layout.is_linked_by_unknown(sensitive)
    if not is_joined and is_matched_once(sliced, sensitive, work):
        return _by_bucket(sliced, ell, diversity, sensitive, "values")
    if tuples is not None:
        return _by_tuples(sliced, ell, tuples, diversity, sensitive, work)
    if is_joined:
        judged = _Lookup.of_release(sliced, sensitive, work).judge_combinations()
        return _sum_up(judged, ell, diversity, "bound")
    return _by_bucket(sliced, ell, diversity, sensitive, "bound")


# --- by bucket ----------------------------------------------------------------------------------


def _by_bucket(
    sliced: Sliced, ell: Fraction, diversity: Diversity, sensitive: str, basis: Basis
) -> SlicedFinding:
    """Judge every pair of a bucket and a u by the rows that have it."""
    column = next(column for column in sliced.columns if sensitive in column.attributes)
    beside = [name for name in column.attributes if name in sliced.layout.known_for(sensitive)]
    n_owners, owner = _number(column, beside, sliced.n_buckets)
    _, pair = _number(column, [*beside, sensitive], sliced.n_buckets)
    n_pairs = int(pair.max()) + 1
    owner_of_pair = np.empty(n_pairs, dtype=np.int64)
    owner_of_pair[pair] = owner
    in_pair = total_by(pair, column.count, n_pairs)
    in_owner = total_by(owner, column.count, n_owners)
    largest = np.zeros(n_owners, dtype=np.int64)
    np.maximum.at(largest, owner_of_pair, in_pair)
    n_values = np.bincount(owner_of_pair, minlength=n_owners)
    if diversity == "distinct":
        fails = n_values < math.ceil(ell)
        reached = Fraction(int(n_values.min()))
    else:
        fails = ~is_at_most(largest, in_owner, 1 / ell)
        reached = 1 / greatest(largest, in_owner)
    return SlicedFinding(ell, diversity, basis, reached, n_owners, int(np.count_nonzero(fails)))


def _number(column: SlicedColumn, names: Sequence[str], n_buckets: int) -> tuple[int, Codes]:
    """Number the pairs of a bucket and values of some attributes, for each entry of a column."""
    codes = [column.bucket, *(column.codes(name) for name in names)]
    sizes = [n_buckets, *(column.values.domain(name).size for name in names)]
    first, inverse = group(codes, sizes, len(column.bucket))
    return len(first), inverse


# --- by tuple -----------------------------------------------------------------------------------


def _by_tuples(
    sliced: Sliced,
    ell: Fraction,
    tuples: Cells,
    diversity: Diversity,
    sensitive: str,
    work: Work,
) -> SlicedFinding:
    """Judge people: floats decide clear cases, fractions those near a limit."""
    names, people = sliced.layout.known_for(sensitive), people_of(sliced, tuples, sensitive)
    if sliced.layout.is_overlapping:
        judged = _Lookup.of_release(sliced, sensitive, work).judge(names, people)
        return _sum_up(judged, ell, diversity, "tuples")
    found = estimate_shares(sliced, people, sensitive, work)
    if not found.n_values.all():
        raise DataError(_NO_MATCH)
    if diversity == "distinct":
        fails = found.n_values < math.ceil(ell)
        reached = Fraction(int(found.n_values.min()))
    else:
        limit = float(1 / ell)
        fails = found.low > limit
        is_open = ~fails & (found.high >= limit)
        near = np.flatnonzero(is_open | (found.high >= found.low.max()))
        lookup = _Lookup.of_release(sliced, sensitive, work, people[near])
        judged = lookup.judge(names, people[near])
        shares = [share for share, _ in judged]
        fails[near] = [share * ell > 1 for share in shares]
        reached = 1 / max(shares)
    return SlicedFinding(
        ell, diversity, "tuples", reached, len(people), int(np.count_nonzero(fails))
    )


def people_of(sliced: Sliced, tuples: Cells, sensitive: str) -> Codes:
    """Return the known values of people as codes of the release; -1 for a value that it lacks."""
    names = sliced.layout.known_for(sensitive)
    people = tuples.select(names)
    codes = np.empty_like(people.codes, dtype=np.int64)
    for at, (name, domain) in enumerate(zip(names, people.domains, strict=True)):
        codes[:, at] = sliced.domain(name).codes_of(domain.labels())[people.codes[:, at]]
    return codes


@dataclass(frozen=True, eq=False)
class _Side:
    """One column as a lookup: by known part, then bucket, the hidden values and their counts."""

    known: tuple[str, ...]
    hidden: tuple[str, ...]
    separator: tuple[str, ...]
    found: Mapping[Part, Mapping[int, Mapping[Part, int]]]
    shared: Mapping[tuple[int, Part], int]


@dataclass(frozen=True, eq=False)
class _Lookup:
    """All columns, for looking up one tuple after the other."""

    sensitive: str
    sizes: Sequence[int]
    sides: tuple[_Side, ...]
    work: Work

    @classmethod
    def of_release(
        cls, sliced: Sliced, sensitive: str, work: Work, people: Codes | None = None
    ) -> _Lookup:
        """Make the lookup; only of what `people` could have, if columns share no attributes."""
        layout = sliced.layout
        columns = sliced.columns
        if people is not None:
            columns = _possible(sliced, layout.known_for(sensitive), people)
        sides = tuple(
            _side(columns[link.column], layout, sensitive, link.separator)
            for link in layout.links()
        )
        return cls(sensitive, sliced.sizes.tolist(), sides, work)

    def judge(self, names: Sequence[str], people: Codes) -> Iterator[tuple[Fraction, int]]:
        """Yield each tuple's largest p(t, s) and its number of values with one above 0."""
        for row in people.tolist():
            amounts = self._amounts(dict(zip(names, row, strict=True)))
            if not amounts:
                raise DataError(_NO_MATCH)
            yield max(amounts.values()) / sum(amounts.values()), len(amounts)

    def judge_combinations(self) -> Iterator[tuple[Fraction, int]]:
        """Yield the same for every combination of known values within one bucket."""
        for bucket in range(len(self.sizes)):
            parts = [
                [part for part, found in side.found.items() if bucket in found]
                for side in self.sides
                # The other columns say nothing about hidden attributes.
                if side.hidden
            ]
            self.work.spend(_COMBINATION * math.prod(map(len, parts)))
            for chosen in itertools.product(*parts):
                amounts = self._combined(bucket, chosen)
                if amounts:
                    yield max(amounts.values()) / sum(amounts.values()), len(amounts)

    def _combined(self, bucket: int, chosen: Sequence[Part]) -> dict[int, Fraction]:
        sides = [side for side in self.sides if side.hidden]
        known: dict[str, int] = {}
        for side, part in zip(sides, chosen, strict=True):
            for name, code in zip(side.known, part, strict=True):
                if known.setdefault(name, code) != code:
                    return {}
        # A column without hidden attributes multiplies all amounts by one number.
        return self._amounts_in(bucket, known, sides)

    def _amounts(self, known: Mapping[str, int]) -> dict[int, Fraction]:
        """Return the mean number of rows with the tuple and each value."""
        found = [side.found.get(_part(known, side.known), {}) for side in self.sides]
        amounts: dict[int, Fraction] = defaultdict(Fraction)
        for bucket in set.intersection(*(set(buckets) for buckets in found)):
            for value, amount in self._amounts_in(bucket, known, self.sides).items():
                amounts[value] += amount
        return amounts

    def _amounts_in(
        self, bucket: int, known: Mapping[str, int], sides: Sequence[_Side]
    ) -> dict[int, Fraction]:
        """Link the columns of one bucket: multiply counts, divide by those of shared values."""
        rows = [(dict(known), Fraction(1))]
        for place, side in enumerate(sides):
            entries = side.found.get(_part(known, side.known), {}).get(bucket, {})
            extended = []
            self.work.spend(_COMBINATION * len(rows) * len(entries))
            for (values, amount), (hidden, count) in itertools.product(rows, entries.items()):
                more = dict(zip(side.hidden, hidden, strict=True))
                if all(values.get(name, code) == code for name, code in more.items()):
                    both = values | more
                    below = self._n_shared(bucket, side, both) if place else 1
                    extended.append((both, amount * count / below))
            rows = extended
        amounts: dict[int, Fraction] = defaultdict(Fraction)
        for values, amount in rows:
            amounts[values[self.sensitive]] += amount
        return amounts

    def _n_shared(self, bucket: int, side: _Side, values: Mapping[str, int]) -> int:
        if not side.separator:
            return self.sizes[bucket]
        return side.shared[bucket, _part(values, side.separator)]


def _possible(sliced: Sliced, known: Sequence[str], people: Codes) -> tuple[SlicedColumn, ...]:
    """Keep the entries of each column that agree with some person, in buckets with one in each."""
    agrees = [_agrees(column, known, people) for column in sliced.columns]
    is_open = np.ones(sliced.n_buckets, dtype=bool)
    for column, kept in zip(sliced.columns, agrees, strict=True):
        is_open &= np.bincount(column.bucket[kept], minlength=sliced.n_buckets) > 0
    chosen = [
        np.flatnonzero(kept & is_open[column.bucket])
        for column, kept in zip(sliced.columns, agrees, strict=True)
    ]
    return tuple(
        SlicedColumn(column.values, column.bucket[at], column.value[at], column.count[at])
        for column, at in zip(sliced.columns, chosen, strict=True)
    )


def _agrees(column: SlicedColumn, known: Sequence[str], people: Codes) -> Flags:
    """Return which entries of a column have the known values of one of some people."""
    names = [name for name in column.attributes if name in known]
    values = column.values
    ours = [values.column(name) for name in names]
    theirs = [people[:, known.index(name)] for name in names]
    # A value that the release does not have is -1.
    both = [np.concatenate(pair) + 1 for pair in zip(ours, theirs, strict=True)]
    sizes = [values.domain(name).size + 1 for name in names]
    first, number = group(both, sizes, values.n_cells + len(people))
    is_asked = np.zeros(len(first), dtype=bool)
    is_asked[number[values.n_cells :]] = True
    return is_asked[number[: values.n_cells]][column.value]


def _side(
    column: SlicedColumn, layout: Layout, sensitive: str, separator: tuple[str, ...]
) -> _Side:
    known = tuple(name for name in column.attributes if name in layout.known_for(sensitive))
    hidden = tuple(name for name in column.attributes if name in layout.hidden_for(sensitive))
    found: dict[Part, dict[int, dict[Part, int]]] = {}
    shared: dict[tuple[int, Part], int] = defaultdict(int)
    attributes, rows = column.attributes, column.values.codes[column.value].tolist()
    for bucket, row, count in zip(column.bucket.tolist(), rows, column.count.tolist(), strict=True):
        codes = dict(zip(attributes, row, strict=True))
        by_hidden = found.setdefault(_part(codes, known), {}).setdefault(bucket, {})
        by_hidden[_part(codes, hidden)] = by_hidden.get(_part(codes, hidden), 0) + count
        if separator:
            shared[bucket, _part(codes, separator)] += count
    return _Side(known, hidden, separator, found, shared)


def _part(codes: Mapping[str, int], names: Sequence[str]) -> Part:
    return tuple(codes[name] for name in names)


def _sum_up(
    judged: Iterator[tuple[Fraction, int]], ell: Fraction, diversity: Diversity, basis: Basis
) -> SlicedFinding:
    is_distinct = diversity == "distinct"
    reached = [Fraction(n_values) if is_distinct else 1 / share for share, n_values in judged]
    n_failing = sum(one < ell for one in reached)
    return SlicedFinding(ell, diversity, basis, min(reached), len(reached), n_failing)
