"""A plan: the decisions of a method, small enough to pass to any engine.

A method sees classes of interchangeable rows with their counts. Its plan states, for ranges of
ranks within a class, the bucket of the rows; and which values are recoded, which rows are left out,
which cells are blanked and which values are redrawn. The engine ranks the rows of a class by a
keyed hash, so which of several equal rows goes to which bucket is secret and the same on every
engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Counts, Integers, Texts
from shoal.core.cells import Cells, total_by
from shoal.core.errors import InternalError


def _empty() -> Integers:
    return np.empty(0, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Segments:
    """Ranges of ranks within classes and the buckets they go to.

    The row of rank `first <= rank < last` in class `group` goes to bucket `base + step * (rank -
    first)`, taken modulo `modulus` if that is above 0.
    """

    group: Integers
    first: Integers
    last: Integers
    base: Integers
    step: Integers
    modulus: Integers

    @classmethod
    def whole_classes(cls, bucket: Integers, counts: Counts) -> Segments:
        """Send every class as a whole into one bucket."""
        n_classes = len(counts)
        zero = np.zeros(n_classes, dtype=np.int64)
        return cls(np.arange(n_classes), zero, counts.astype(np.int64), bucket, zero, zero)

    @classmethod
    def of_runs(cls, group: Integers, bucket: Integers, length: Counts) -> Segments:
        """Send the rows of classes one by one into consecutive buckets.

        The runs of a class get ranks in the order in which they are given.
        """
        order = np.argsort(group, kind="stable")
        group, bucket, length = group[order], bucket[order], length[order]
        before = np.cumsum(length) - length
        opens = np.r_[True, group[1:] != group[:-1]][: len(group)]
        first = before - before[opens][np.cumsum(opens) - 1]
        ones, zeros = np.ones(len(group), dtype=np.int64), np.zeros(len(group), dtype=np.int64)
        return cls(group, first, first + length, bucket, ones, zeros)

    @classmethod
    def of_pairs(cls, group: Integers, bucket: Integers, n_buckets: int) -> Segments:
        """Send one row of a class into a bucket for every pair.

        Examples
        --------
        >>> segments = Segments.of_pairs(np.array([0, 1, 0]), np.array([0, 1, 1]), 2)
        >>> segments.group.tolist(), segments.base.tolist(), segments.last.tolist()
        ([0, 1], [0, 1], [2, 1])
        """
        pairs, count = np.unique(group * n_buckets + bucket, return_counts=True)
        group, bucket = pairs // n_buckets, pairs % n_buckets
        # Single rows in consecutive buckets form one segment, and so do several in one bucket.
        goes_on = (group[1:] == group[:-1]) & (bucket[1:] == bucket[:-1] + 1)
        goes_on &= (count[1:] == 1) & (count[:-1] == 1)
        opens = np.flatnonzero(np.r_[True, ~goes_on][: len(group)])
        runs = cls.of_runs(group[opens], bucket[opens], np.add.reduceat(count, opens))
        step = np.where(count[opens] == 1, 1, 0)
        return cls(runs.group, runs.first, runs.last, runs.base, step, runs.modulus)

    def bucket_sizes(self, n_buckets: int) -> Integers:
        """Count the rows of every bucket without enumerating the rows.

        Examples
        --------
        >>> one = np.array([1])
        >>> Segments(0 * one, 0 * one, 5 * one, one, one, 3 * one).bucket_sizes(3).tolist()
        [1, 2, 2]
        """
        lengths = self.last - self.first
        start = np.where(self.modulus > 0, self.base % np.maximum(self.modulus, 1), self.base)
        is_one, is_run = self.step == 0, self.step == 1
        sizes = total_by(start[is_one], lengths[is_one], n_buckets)
        # A difference array: full rounds add to the buckets 0 to ring - 1, and the rest adds one
        # row to each bucket from `begin` on, continuing at 0 after the end of the ring.
        change = np.zeros(n_buckets + 1, dtype=np.int64)
        ring = np.where(self.modulus > 0, self.modulus, n_buckets)[is_run]
        rounds, rest = np.divmod(lengths[is_run], np.maximum(ring, 1))
        begin = start[is_run]
        beyond = np.maximum(begin + rest - ring, 0)
        np.add.at(change, ring, -rounds)
        change[0] += rounds.sum() + np.count_nonzero(beyond)
        np.add.at(change, beyond[beyond > 0], -1)
        np.add.at(change, begin[rest > 0], 1)
        np.add.at(change, np.minimum(begin + rest, ring)[rest > 0], -1)
        sizes += np.cumsum(change)[:-1]
        others = ~(is_one | is_run)
        if others.any():
            fields = (self.group, self.first, self.last, self.base, self.step, self.modulus)
            bucket = Segments(*(array[others] for array in fields)).expand()[2]
            sizes += np.bincount(bucket, minlength=n_buckets)
        return sizes

    def expand(self) -> tuple[Integers, Integers, Integers]:
        """Return class, rank and bucket of every row, in arrays as long as the table."""
        lengths = self.last - self.first
        offset = np.arange(int(lengths.sum()))
        offset -= np.repeat(np.cumsum(lengths) - lengths, lengths)
        bucket = np.repeat(self.base, lengths)
        bucket += offset if np.all(self.step == 1) else np.repeat(self.step, lengths) * offset
        if self.modulus.any():
            modulus = np.repeat(self.modulus, lengths)
            bucket = np.where(modulus > 0, bucket % np.maximum(modulus, 1), bucket)
        offset += np.repeat(self.first, lengths)
        return np.repeat(self.group, lengths), offset, bucket


@dataclass(frozen=True)
class Label:
    """The meaning of a published text."""

    # None if the label is the missing value itself.
    text: str | None
    # Lower bound (included) and upper bound (excluded), as texts.
    interval: tuple[str, str] | None = None
    # The codes of the values that it stands for.
    members: tuple[int, ...] | None = None
    # Whether it stands for missing values too.
    has_missing: bool = False


@dataclass(frozen=True, eq=False)
class Recode:
    """The labels of a column, by bucket or by value."""

    column: str
    # Whether `index` has one entry per bucket or one per code of the column.
    by: Literal["bucket", "value"]
    # Places in `labels`.
    index: Integers
    labels: tuple[Label, ...]


@dataclass(frozen=True, eq=False)
class Drop:
    """Ranges of ranks within classes that are left out, and the reason."""

    group: Integers = field(default_factory=_empty)
    first: Integers = field(default_factory=_empty)
    last: Integers = field(default_factory=_empty)
    reason: str = ""

    @property
    def n_rows(self) -> int:
        """The number of rows that are left out."""
        return int((self.last - self.first).sum())


@dataclass(frozen=True, eq=False)
class Blank:
    """Cells to suppress: for each column the keys of their rows, as texts."""

    keys: Mapping[str, Texts] = field(default_factory=dict)

    @property
    def counts(self) -> dict[str, int]:
        """The number of suppressed cells of each column that has any."""
        return {column: len(keys) for column, keys in self.keys.items() if len(keys)}


@dataclass(frozen=True, eq=False)
class Redraw:
    """Values that are distorted on purpose: in `bucket`, `count` rows with `old` get `new`."""

    bucket: Integers = field(default_factory=_empty)
    old: Integers = field(default_factory=_empty)
    new: Integers = field(default_factory=_empty)
    count: Integers = field(default_factory=_empty)


@dataclass(frozen=True, eq=False)
class Plan:
    """The bucket of every row, and what is published about the rows."""

    # The cells as the method was given them.
    classes: Cells
    # Buckets are numbered from 0 here; the engine publishes other numbers.
    n_buckets: int
    # The bucket of every row that is not dropped.
    assign: Segments
    recode: tuple[Recode, ...] = ()
    drop: Drop = field(default_factory=Drop)
    blank: Blank = field(default_factory=Blank)
    redraw: Redraw = field(default_factory=Redraw)
    # For each cell the class of its rows, numbered from 0 without gaps, if rows of several cells
    # are interchangeable; None if every cell is a class.
    merged: Integers | None = None
    # The knowledge that the guarantee holds against, by the name of the internal file that keeps
    # it.
    witnesses: Mapping[str, bytes] = field(default_factory=dict)
    # The attributes of each column of a sliced release, in its order; otherwise empty.
    slices: tuple[tuple[str, ...], ...] = ()
    # Internal files that are tables, by name: columns of texts and numbers.
    tables: Mapping[str, Mapping[str, npt.NDArray[Any]]] = field(default_factory=dict)
    # Sentences for the public codebook.
    remarks: tuple[str, ...] = ()
    # Messages for the steward, without any value of the table.
    warnings: tuple[str, ...] = ()
    # Figures for the internal record, by name.
    notes: Mapping[str, object] = field(default_factory=dict)

    @property
    def class_of_cell(self) -> Integers:
        """The class of each cell."""
        return np.arange(self.classes.n_cells) if self.merged is None else self.merged

    @property
    def class_counts(self) -> Counts:
        """The number of rows of each class."""
        if self.merged is None:
            return self.classes.counts
        return total_by(self.merged, self.classes.counts, int(self.merged.max(initial=-1)) + 1)

    def check(self) -> None:
        """Confirm that every row of every class is placed or dropped exactly once.

        Raises an InternalError otherwise, or if a bucket number is out of range.
        """
        group = np.concatenate([self.assign.group, self.drop.group])
        first = np.concatenate([self.assign.first, self.drop.first])
        last = np.concatenate([self.assign.last, self.drop.last])
        order = np.lexsort((first, group))
        group, first, last = group[order], first[order], last[order]
        opens = np.r_[True, group[1:] != group[:-1]] if len(group) else np.empty(0, dtype=bool)
        follows = np.r_[0, last[:-1]] if len(group) else _empty()
        expected = np.where(opens, 0, follows)
        closes = np.r_[opens[1:], True] if len(group) else opens
        counts = self.class_counts
        covered = np.zeros(len(counts), dtype=np.int64)
        if np.any(group < 0) or np.any(group >= len(covered)):
            raise InternalError("A plan names a class that it does not have.")
        covered[group[closes]] = last[closes]
        if (
            not np.array_equal(first, expected)
            or np.any(last <= first)
            or not np.array_equal(covered, counts)
        ):
            raise InternalError("A plan does not place every row exactly once.")
        lengths = self.assign.last - self.assign.first
        ends = self.assign.base + self.assign.step * (lengths - 1)
        top = np.where(self.assign.modulus > 0, self.assign.modulus - 1, ends)
        # Engines disagree about the remainder of a negative number, so steps go upwards only.
        below = np.any(self.assign.base < 0) or np.any(self.assign.step < 0)
        if below or np.any(top >= self.n_buckets):
            raise InternalError("A plan names a bucket that it does not have.")
        redrawn = self.redraw.bucket
        if np.any(redrawn < 0) or np.any(redrawn >= self.n_buckets):
            raise InternalError("A plan redraws values of a bucket that it does not have.")
        if np.any(self.redraw.count < 1):
            raise InternalError("A plan redraws no value.")

    def __repr__(self) -> str:
        return (
            f"Plan({self.classes.n_rows} rows of {len(self.class_counts)} classes "
            f"into {self.n_buckets} buckets, {self.drop.n_rows} dropped)"
        )
