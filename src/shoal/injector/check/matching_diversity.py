"""Matching l-diversity: whoever knows what people cannot have is left with ell values for each.

An assignment gives every row of a bucket one of its values, each value as often as the bucket holds
it, and no row a value that it is known not to have. A value is valid for a row if some assignment
gives it to the row. It is found in two ways, neither of which asks who really has which value:

few values
    By Hall's theorem there is an assignment unless some set of values is all that more rows can
    have than it has copies. Where it has just as many (a tight set), nobody else gets one of them:
    a value is valid for a row if every tight set with the value has all that the row can have.
many values
    One assignment is looked for. A row can have another value if whoever holds that can take a
    third, and so on, until somebody can take the row's own.

References
----------
[Li08] T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Section
V-A, Definition 1. Figure 1 as printed neither tests whether t_i can have s_j nor, where j = i, ever
counts the own value of t_i; what is checked here is the definition.
P. Hall, On representatives of subsets, 1935.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from shoal.checks._entries import Marks, confirm_occupied, count_values
from shoal.checks._valid_values import find_valid, valid_values
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.cells import Buckets, Codes, Counts
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import MatchingDiversity
from shoal.core.work import Work

__all__ = ["Witness", "check", "fewest_valid_values", "valid_values"]

_FEW = 14
"""Up to so many values in a bucket, all their sets are looked at."""

_ROOM = 1 << 18
"""For how many sets of values, of one bucket or of many, numbers are held at once."""


@dataclass(frozen=True, eq=False)
class Witness:
    """What rows cannot have: the witness that matching l-diversity needs, named "forbidden".

    Parameters
    ----------
    bucket, which, count
        One entry a kind of row, in any order: this bucket has so many rows, at least one, with the
        set of forbidden values at this place.
    sets
        One row a set, one column a code of the sensitive domain; true where it is forbidden.

    Raises
    ------
    DataError
        Where entries are not of one length, refer to sets that are not there, or count no row.

    Examples
    --------
    >>> sets = np.array([[False, False], [True, False]])
    >>> Witness(np.array([0, 0]), np.array([0, 1]), np.array([2, 1]), sets)
    Witness(3 rows, 2 sets of forbidden values)
    """

    bucket: Codes
    which: Codes
    count: Counts
    sets: Marks

    def __post_init__(self) -> None:
        columns = [np.asarray(column) for column in (self.bucket, self.which, self.count)]
        is_whole = all(column.ndim == 1 and column.dtype.kind in "iu" for column in columns)
        lengths = {len(column) for column in columns} if is_whole else set()
        if len(lengths) != 1 or self.sets.ndim != 2 or self.sets.dtype != np.bool_:
            raise DataError(
                "Forbidden values must be given as whole numbers, a bucket, a set and a count for "
                "each kind of row, and as a matrix of marks, one row a set."
            )
        least = (self.bucket.min(initial=0), self.which.min(initial=0), self.count.min(initial=1))
        if min(least) < 0 or least[2] < 1 or self.which.max(initial=-1) >= len(self.sets):
            raise DataError(
                "Every kind of row must be in a bucket, have one of the "
                f"{len(self.sets)} sets of forbidden values, and count at least one row."
            )

    def confirm(self, buckets: Buckets) -> None:
        """Refuse buckets that are not those of these rows.

        Raises
        ------
        DataError
            Where a bucket has not as many values as rows, or the sets are of other values.
        """
        sizes = np.zeros(buckets.n_buckets, dtype=np.int64)
        if self.bucket.max(initial=-1) < buckets.n_buckets:
            np.add.at(sizes, self.bucket, self.count)
        if not np.array_equal(sizes, buckets.sizes):
            raise DataError(
                "Every bucket must have as many rows with forbidden values as it has rows; there "
                f"are {self.count.sum()} of them, and {buckets.n_rows} rows in "
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

    Without the witness "forbidden" it is checked in part: that every bucket holds ell different
    values, without which nobody in it can have ell valid ones.

    Parameters
    ----------
    guarantee
        What the release claims.
    evidence
        What its published files hold, and a `Witness` named "forbidden".

    Raises
    ------
    ParameterError
        Where the witness is something else.
    DataError
        Where the witness is of other rows or values.

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
    if not isinstance(witness, Witness):
        raise ParameterError(
            f"The witness {guarantee.needs_witness!r} must be a Witness, not a "
            f"{type(witness).__name__}."
        )
    fewest = _fewest_by_bucket(buckets, witness, evidence.work)
    return Verdict.of_failures(
        guarantee,
        fewest < guarantee.ell,
        f"hold somebody with fewer than {guarantee.ell} valid values",
        {"ell": int(fewest.min())} if buckets.n_buckets else {},
    )


def _check_in_part(guarantee: MatchingDiversity, buckets: Buckets) -> Verdict:
    n_values = count_values(buckets)
    return Verdict.of_failures(
        guarantee,
        n_values < guarantee.ell,
        f"hold fewer than {guarantee.ell} different values; which of them are valid was not "
        "checked, since what people cannot have was not given",
        {"ell_at_most": int(n_values.min())} if buckets.n_buckets else {},
        is_partial=True,
    )


def fewest_valid_values(buckets: Buckets, witness: Witness) -> int:
    """Give the largest ell such that every row of every bucket has ell valid values.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    witness
        What the rows of each bucket cannot have.

    Returns
    -------
    The largest ell; 0 where a bucket has no assignment.

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
    # Buckets with as many values stand side by side, and so do the rows of each.
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
    """Cut buckets, sorted by their number of values, into parts of as many values and some size."""
    first = 0
    while first < len(n_values):
        size = max(_ROOM >> int(n_values[first]), 1)
        last = min(first + size, int(np.searchsorted(n_values, n_values[first], side="right")))
        yield first, last
        first = last


@dataclass(frozen=True, eq=False)
class _Part:
    """Some buckets with as many different values.

    Parameters
    ----------
    n_copies
        How many rows have each value: one row a bucket, one column a value of it.
    bucket, count
        The kinds of rows: the bucket, by its place here, and the number of rows.
    is_allowed
        Which of the bucket's values each kind can have.
    """

    n_copies: Counts
    bucket: Codes
    count: Counts
    is_allowed: Marks

    @classmethod
    def of(cls, buckets: Buckets, witness: Witness, values: Codes, kinds: Codes) -> _Part:
        """Take some places of values, one row a bucket, and the kinds of rows there."""
        bucket = np.searchsorted(buckets.bucket[values[:, 0]], witness.bucket[kinds])
        which = witness.which[kinds, np.newaxis]
        is_allowed = ~witness.sets[which, buckets.value[values][bucket]]
        return cls(buckets.count[values], bucket, witness.count[kinds], is_allowed)

    @property
    def n_values(self) -> int:
        return int(self.n_copies.shape[1])

    def count_by_sets(self) -> Counts:
        """Count the valid values of each kind, by tight sets; bit v of a set is value v."""
        bits = 1 << np.arange(self.n_values)
        allowed = self.is_allowed @ bits
        # How many more copies a set of values has than there are rows that need one of them.
        spare = np.zeros((1 << self.n_values, len(self.n_copies)), dtype=np.int64)
        spare[bits] = self.n_copies.T
        np.subtract.at(spare, (allowed, self.bucket), self.count)
        _sum_over_subsets(spare)
        is_valid = self.is_allowed & np.all(spare >= 0, axis=0)[self.bucket, np.newaxis]
        tight, place = np.nonzero(spare == 0)
        for value, bit in enumerate(bits):
            has_value = tight & bit != 0
            # What all tight sets with this value have in common.
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
            valid = find_valid(n_rows, n_copies, work)
            counts[here] = [valid[kind].bit_count() for kind in kinds]
        return counts


def _sum_over_subsets(numbers: Counts) -> None:
    """Replace the numbers of every set, a row, by the sum over its subsets."""
    n_sets, n_buckets = numbers.shape
    for bit in range(n_sets.bit_length() - 1):
        halves = numbers.reshape(-1, 2, 1 << bit, n_buckets)
        halves[:, 1] += halves[:, 0]
