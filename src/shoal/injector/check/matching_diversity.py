"""Matching l-diversity: ell values stay valid for every row, whatever is known to be impossible.

An assignment gives every row of a bucket one of its values, each value as often as the bucket holds
it, and no row a value that it is known not to have. A value is valid for a row if some assignment
gives it to the row. Valid values are found in two ways, neither of which uses the true assignment:

few values
    By Hall's theorem there is an assignment unless more rows are confined to a set of values than
    the set has copies. If there are exactly as many (a tight set), no other row gets one of them: a
    value is valid for a row if every tight set with the value contains all that the row can have.
many values
    One assignment is found by chains of swaps. A row can have another value if a holder of that
    value can take a third, and so on, until someone can take the row's own.

References
----------
[Li08] T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Section
V-A, Definition 1. Figure 1 as printed neither tests whether t_i can have s_j nor, for j = i, ever
counts the own value of t_i; the definition is checked here.
P. Hall, On representatives of subsets, 1935.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.adversary_guarantees import MatchingDiversity
from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import Buckets
from shoal.core.errors import DataError, ParameterError
from shoal.core.progress import Work
from shoal.core.verdict import Evidence, Verdict, confirm_occupied, count_values

_FEW = 14
"""Buckets with at most this many values are solved by all sets of their values."""

_STEP = 50
"""Approximate number of operations per step of a chain."""

_ROOM = 1 << 18
"""The number of sets of values, of one bucket or of many, that are held in memory at a time."""


@dataclass(frozen=True, eq=False)
class Witness:
    """The values that rows cannot have: the witness "forbidden" of matching l-diversity.

    Parameters
    ----------
    bucket, which, count
        One entry per kind of row, in any order: the bucket has `count` rows, at least one, with
        the set of forbidden values `which`.
    sets
        One row per set, one column per code of the sensitive domain; true if it is forbidden.

    Raises
    ------
    DataError
        If entries differ in length, refer to sets that do not exist, or count no row.

    Examples
    --------
    >>> sets = np.array([[False, False], [True, False]])
    >>> Witness(np.array([0, 0]), np.array([0, 1]), np.array([2, 1]), sets)
    Witness(3 rows, 2 sets of forbidden values)
    """

    bucket: Codes
    which: Codes
    count: Counts
    sets: Flags

    def __post_init__(self) -> None:
        columns = [np.asarray(column) for column in (self.bucket, self.which, self.count)]
        is_whole = all(column.ndim == 1 and column.dtype.kind in "iu" for column in columns)
        lengths = {len(column) for column in columns} if is_whole else set()
        if len(lengths) != 1 or self.sets.ndim != 2 or self.sets.dtype != np.bool_:
            raise DataError(
                "Forbidden values must be given as integers, a bucket, a set and a count for each "
                "kind of row, and as a matrix of marks with one row per set."
            )
        least = (self.bucket.min(initial=0), self.which.min(initial=0), self.count.min(initial=1))
        if min(least) < 0 or least[2] < 1 or self.which.max(initial=-1) >= len(self.sets):
            raise DataError(
                "Every kind of row must be in a bucket, have one of the "
                f"{len(self.sets)} sets of forbidden values, and count at least one row."
            )

    def confirm(self, buckets: Buckets) -> None:
        """Raise `DataError` unless the buckets have these rows, and the sets these values."""
        sizes = np.zeros(buckets.n_buckets, dtype=np.int64)
        if self.bucket.max(initial=-1) < buckets.n_buckets:
            np.add.at(sizes, self.bucket, self.count)
        if not np.array_equal(sizes, buckets.sizes):
            raise DataError(
                "Every row of every bucket needs a set of forbidden values; there are "
                f"{self.count.sum()} rows with one, and {buckets.n_rows} rows in "
                f"{buckets.n_buckets} buckets."
            )
        if self.sets.shape[1] != buckets.domain.size:
            raise DataError(
                f"Forbidden values must be marked among the {buckets.domain.size} values of "
                f"column {buckets.domain.column!r}, not among {self.sets.shape[1]}."
            )

    def __repr__(self) -> str:
        return f"Witness({self.count.sum()} rows, {len(self.sets)} sets of forbidden values)"


def check(guarantee: MatchingDiversity, evidence: Evidence) -> Verdict:
    """Check that every row has ell valid values.

    Without the witness "forbidden", a `Witness`, the check is partial: every bucket must hold ell
    different values, since otherwise none of its rows can have ell valid ones. `DataError` is
    raised if the witness is about other rows or values.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), disease)
    >>> check(MatchingDiversity(ell=2), Evidence.of_buckets(buckets))
    Verdict(matching l-diversity holds in all 1 buckets as far as checked, reached ell_at_most=2)
    >>> known = Witness(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]),
    ...                 sets=np.array([[False, False], [True, False]]))
    >>> check(MatchingDiversity(ell=2), Evidence(buckets, buckets.sizes,
    ...                                          witnesses={"forbidden": known}))
    Verdict(matching l-diversity fails in 1 of 1 buckets, reached ell=1)
    """
    buckets = evidence.buckets_for(guarantee)
    witness = evidence.witnesses.get(guarantee.needs_witness)
    if witness is None:
        return _check_in_part(guarantee, buckets)
    fewest = _fewest_by_bucket(buckets, confirmed(witness), evidence.work)
    return Verdict.of_failures(
        guarantee,
        fewest < guarantee.ell,
        f"hold somebody with fewer than {guarantee.ell} valid values",
        {"ell": int(fewest.min())} if buckets.n_buckets else {},
    )


def confirmed(witness: object) -> Witness:
    """Return a witness of forbidden values; raise `ParameterError` if it is something else."""
    if not isinstance(witness, Witness):
        raise ParameterError(
            f"The witness 'forbidden' must be a Witness, not a {type(witness).__name__}."
        )
    return witness


def _check_in_part(guarantee: MatchingDiversity, buckets: Buckets) -> Verdict:
    n_values = count_values(buckets)
    return Verdict.of_failures(
        guarantee,
        n_values < guarantee.ell,
        f"hold fewer than {guarantee.ell} different values; which of them are valid was not "
        "checked, because the knowledge was not given",
        {"ell_at_most": int(n_values.min())} if buckets.n_buckets else {},
        is_partial=True,
    )


def fewest_valid_values(buckets: Buckets, witness: Witness) -> int:
    """Return the largest ell such that every row of every bucket has ell valid values.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    witness
        The values that the rows of each bucket cannot have.

    Returns
    -------
    The largest ell; 0 if a bucket has no assignment.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 1, 1]), disease)
    >>> known = Witness(np.array([0, 0]), np.array([0, 1]), np.array([2, 1]),
    ...                 sets=np.array([[False, False], [True, False]]))
    >>> fewest_valid_values(buckets, known)
    1
    """
    return int(_fewest_by_bucket(confirm_occupied(buckets), witness, Work()).min())


def _fewest_by_bucket(buckets: Buckets, witness: Witness, work: Work) -> Counts:
    """Return the smallest number of valid values of a row, bucket by bucket."""
    witness.confirm(buckets)
    n_values = count_values(buckets)
    # Buckets with equally many values are adjacent, and so are the rows of each.
    order = np.argsort(n_values, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    by_rank = np.argsort(rank[witness.bucket], kind="stable")
    start = np.searchsorted(rank[witness.bucket][by_rank], np.arange(len(order) + 1))
    fewest = np.zeros(len(order), dtype=np.int64)
    for first, last in _parts(n_values[order]):
        kinds = by_rank[start[first] : start[last]]
        values = buckets.starts[order[first:last], np.newaxis] + np.arange(n_values[order[first]])
        part = _Part.of(buckets, witness, values, kinds)
        if part.n_values <= _FEW:
            work.spend(len(part.n_copies) * part.n_values << part.n_values)
            counts = part.count_by_sets()
        else:
            counts = part.count_by_assignment(work)
        starts = start[first:last] - start[first]
        fewest[order[first:last]] = np.minimum.reduceat(counts, starts)
    return fewest


def _parts(n_values: Counts) -> Iterator[tuple[int, int]]:
    """Split buckets, sorted by number of values, into parts of equal number and bounded size."""
    first = 0
    while first < len(n_values):
        size = max(_ROOM >> int(n_values[first]), 1)
        last = min(first + size, int(np.searchsorted(n_values, n_values[first], side="right")))
        yield first, last
        first = last


@dataclass(frozen=True, eq=False)
class _Part:
    """Some buckets with the same number of different values.

    `n_copies` has one row per bucket and one column per value: how many rows have it. `bucket`, by
    its place here, and `count` are those of each kind of row; `is_allowed` marks the values it can
    have.
    """

    n_copies: Counts
    bucket: Codes
    count: Counts
    is_allowed: Flags

    @classmethod
    def of(cls, buckets: Buckets, witness: Witness, values: Codes, kinds: Codes) -> _Part:
        """Take some places of values, one row per bucket, and the kinds of rows there."""
        bucket = np.searchsorted(buckets.bucket[values[:, 0]], witness.bucket[kinds])
        which = witness.which[kinds, np.newaxis]
        is_allowed = ~witness.sets[which, buckets.value[values][bucket]]
        return cls(buckets.count[values], bucket, witness.count[kinds], is_allowed)

    @property
    def n_values(self) -> int:
        return int(self.n_copies.shape[1])

    def count_by_sets(self) -> Counts:
        """Count the valid values of each kind by tight sets; bit v of a set is value v."""
        bits = 1 << np.arange(self.n_values)
        allowed = self.is_allowed @ bits
        # How many more copies a set of values has than there are rows confined to it.
        spare = np.zeros((1 << self.n_values, len(self.n_copies)), dtype=np.int64)
        spare[bits] = self.n_copies.T
        np.subtract.at(spare, (allowed, self.bucket), self.count)
        _sum_over_subsets(spare)
        is_valid = self.is_allowed & np.all(spare >= 0, axis=0)[self.bucket, np.newaxis]
        tight, place = np.nonzero(spare == 0)
        for value, bit in enumerate(bits):
            has_value = tight & bit != 0
            # The intersection of all tight sets with this value.
            common = np.full(spare.shape[1], bits.sum())
            np.bitwise_and.at(common, place[has_value], tight[has_value])
            is_valid[:, value] &= allowed & ~common[self.bucket] == 0
        counts: Counts = is_valid.sum(axis=1, dtype=np.int64)
        return counts

    def count_by_assignment(self, work: Work) -> Counts:
        """Count the valid values of each kind, bucket by bucket."""
        counts = np.zeros(len(self.bucket), dtype=np.int64)
        packed = np.packbits(self.is_allowed, axis=1, bitorder="little")
        for bucket, n_copies in enumerate(self.n_copies.tolist()):
            here = np.flatnonzero(self.bucket == bucket)
            kinds = [int.from_bytes(packed[kind].tobytes(), "little") for kind in here]
            n_rows: Counter[int] = Counter()
            for kind, count in zip(kinds, self.count[here].tolist(), strict=True):
                n_rows[kind] += count
            valid = _find_valid(n_rows, n_copies, work)
            counts[here] = [valid[kind].bit_count() for kind in kinds]
        return counts


def _sum_over_subsets(numbers: Counts) -> None:
    """Replace the numbers of every set (row) by the sum over its subsets."""
    n_sets, n_buckets = numbers.shape
    for bit in range(n_sets.bit_length() - 1):
        halves = numbers.reshape(-1, 2, 1 << bit, n_buckets)
        halves[:, 1] += halves[:, 0]


def valid_values(
    values: Sequence[Hashable], forbidden: Sequence[Iterable[Hashable]]
) -> list[frozenset[Hashable]]:
    """Find the valid values of each row of one bucket.

    Parameters
    ----------
    values
        The bucket's sensitive values, one per row, in any order; None is the missing value.
    forbidden
        For each row the values that it is known not to have.

    Returns
    -------
    For each row its valid values; all empty if there is no assignment.

    Raises
    ------
    ParameterError
        If there are more or fewer values than rows, or a text is given instead of a set.

    Examples
    --------
    Two women and a man; two of them have ovarian cancer, so the man has prostate cancer
    [Li08, Section II].

    >>> found = valid_values(["ovarian", "ovarian", "prostate"], [(), (), ["ovarian"]])
    >>> sorted(found[2])
    ['prostate']
    """
    if len(values) != len(forbidden):
        raise ParameterError(
            f"A bucket must have as many values as rows, not {len(values)} values for "
            f"{len(forbidden)} rows."
        )
    if any(isinstance(one, str) for one in forbidden):
        raise ParameterError("forbidden must hold a set of values for each row, not one text.")
    n_copies = Counter(values)
    bits = {value: 1 << place for place, value in enumerate(n_copies)}
    full = (1 << len(bits)) - 1
    kinds = [full & ~sum(bits.get(value, 0) for value in set(one)) for one in forbidden]
    valid = {
        kind: frozenset(value for value, bit in bits.items() if found & bit)
        for kind, found in _find_valid(Counter(kinds), list(n_copies.values()), Work()).items()
    }
    return [valid[kind] for kind in kinds]


def _find_valid(n_rows: Mapping[int, int], n_copies: Sequence[int], work: Work) -> dict[int, int]:
    """Return the valid values of each kind of row; a kind is the set it can have, as bits."""
    holders = _assign(n_rows, n_copies, work)
    if holders is None:
        return dict.fromkeys(n_rows, 0)
    held = dict.fromkeys(n_rows, 0)
    swaps = [0] * len(n_copies)
    for value, kinds in enumerate(holders):
        for kind in kinds:
            held[kind] |= 1 << value
            swaps[value] |= kind
    work.spend(_STEP * len(n_copies) * (len(n_copies) + len(n_rows)))
    ends = [_reach(value, swaps) for value in range(len(n_copies))]
    return {
        kind: sum(1 << value for value in _members(kind) if ends[value] & held[kind])
        for kind in n_rows
    }


def _reach(value: int, swaps: Sequence[int]) -> int:
    """Return all values in which a chain of swaps can end that begins with a holder of this one."""
    reached = waiting = 1 << value
    while waiting:
        new = swaps[waiting.bit_length() - 1] & ~reached
        waiting ^= 1 << (waiting.bit_length() - 1)
        reached |= new
        waiting |= new
    return reached


def _assign(
    n_rows: Mapping[int, int], n_copies: Sequence[int], work: Work
) -> list[dict[int, int]] | None:
    """Return for each value how many rows of each kind have it; None if there is no assignment."""
    holders: list[dict[int, int]] = [{} for _ in n_copies]
    room = list(n_copies)
    for kind in sorted(n_rows, key=int.bit_count):
        left = n_rows[kind]
        while left:
            # A chain passes every value and every kind of its holders at most once.
            work.spend(_STEP * (len(n_copies) + sum(map(len, holders))))
            chain = _find_chain(kind, holders, room)
            if chain is None:
                return None
            limits = [holders[old][taker] for taker, _, old in chain if old is not None]
            amount = min(left, room[chain[0][1]], *limits)
            left -= amount
            room[chain[0][1]] -= amount
            for taker, new, old in chain:
                holders[new][taker] = holders[new].get(taker, 0) + amount
                if old is not None:
                    holders[old][taker] -= amount
                    if not holders[old][taker]:
                        del holders[old][taker]
    return holders


def _find_chain(
    kind: int, holders: Sequence[Mapping[int, int]], room: Sequence[int]
) -> list[tuple[int, int, int | None]] | None:
    """Find who takes which value for which, so that one more row of a kind has a value.

    The chain begins with a value that has room and ends with the new row, which gives up nothing.
    """
    came: dict[int, tuple[int, int, int | None]] = {}
    waiting: deque[int] = deque()
    found, takers, old = 0, [kind], None
    while True:
        for taker in takers:
            for value in _members(taker & ~found):
                came[value] = (taker, value, old)
                waiting.append(value)
            found |= taker
        if not waiting:
            return None
        old = waiting.popleft()
        if room[old]:
            break
        takers = list(holders[old])
    chain = [came[old]]
    while (given_up := chain[-1][2]) is not None:
        chain.append(came[given_up])
    return chain


def _members(values: int) -> Iterator[int]:
    """Yield the values of a set in ascending order."""
    while values:
        yield (values & -values).bit_length() - 1
        values &= values - 1
