"""The evidence that a checker is given, and the verdict that it returns.

Every checker reduces slices of entries, one slice per bucket. That is correct only if the entries
are sorted and no pair occurs twice, so this is confirmed before anything is concluded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import attrs
import numpy as np

from shoal.core.arrays import Counts, Flags
from shoal.core.cells import Buckets, Cells
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import Guarantee
from shoal.core.progress import Work
from shoal.core.sliced import Sliced
from shoal.core.table import Rows
from shoal.core.tree import Tree


def confirm(buckets: Buckets) -> Buckets:
    """Return the buckets if their entries are as `Buckets` describes; raise a DataError otherwise.

    That is: sorted, each pair once, in range, with positive counts, and no bucket without an entry.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> confirm(Buckets.of_pairs(np.array([0, 0]), np.array([1, 0]), disease))
    Buckets(disease: 1 buckets, 2 rows)
    """
    if not (_is_numbered(buckets) and _is_sorted(buckets) and _is_counted(buckets)):
        raise DataError(
            f"The counts of column {buckets.domain.column!r} by bucket are not in order: they must "
            "be sorted by bucket, then value, each pair once, with counts of at least 1 and no "
            "bucket left empty.",
            hint="Buckets.of_pairs sorts pairs and adds equal ones up.",
        )
    return buckets


def confirm_occupied(buckets: Buckets) -> Buckets:
    """Do as `confirm` does, and refuse a release without buckets: it reaches no parameter."""
    if not buckets.n_buckets:
        raise DataError("A release without rows has no strongest parameter.")
    return confirm(buckets)


def confirm_sizes(sizes: Counts) -> Counts:
    """Return the sizes of buckets as 64-bit integers; raise a DataError if a bucket is empty."""
    sizes = np.asarray(sizes)
    if sizes.ndim != 1 or (sizes.size and (sizes.dtype.kind not in "iu" or sizes.min() < 1)):
        raise DataError("The sizes of buckets must be whole numbers of at least 1, one per bucket.")
    return sizes.astype(np.int64, copy=False)


def _is_numbered(buckets: Buckets) -> bool:
    numbers = buckets.bucket
    if not len(numbers) == len(buckets.value) == len(buckets.count):
        return False
    if not len(numbers):
        return buckets.n_buckets == 0
    steps = numbers[1:] - numbers[:-1]
    return bool(
        numbers[0] == 0
        and numbers[-1] == buckets.n_buckets - 1
        and np.all((steps == 0) | (steps == 1))
    )


def _is_sorted(buckets: Buckets) -> bool:
    same_bucket = buckets.bucket[1:] == buckets.bucket[:-1]
    return bool(np.all((buckets.value[1:] > buckets.value[:-1]) | ~same_bucket))


def _is_counted(buckets: Buckets) -> bool:
    if not len(buckets.count):
        return True
    # Products of counts are checked against 64 bits, so the counts must have them.
    return bool(
        buckets.count.dtype == np.int64
        and buckets.count.min() >= 1
        and buckets.value.min() >= 0
        and buckets.value.max() < buckets.domain.size
    )


def count_values(buckets: Buckets) -> Counts:
    """Return the number of distinct values in each bucket."""
    return np.diff(buckets.starts, append=len(buckets.bucket)).astype(np.int64, copy=False)


def mark_protected(buckets: Buckets, protect: Sequence[str | None]) -> Flags:
    """Return for each code whether it is protected; texts that are not in the domain are ignored.

    A single text in place of a list is refused: its letters would protect nothing.
    """
    if isinstance(protect, str):
        raise ParameterError("protect must be a list of texts, not one text.")
    codes = buckets.domain.codes_of(list(protect))
    marks = np.zeros(buckets.domain.size, dtype=bool)
    marks[codes[codes >= 0]] = True
    return marks


def sum_counts(buckets: Buckets, marks: Flags) -> Counts:
    """Return the number of rows in each bucket whose value is marked."""
    return np.add.reduceat(_marked_counts(buckets, marks), buckets.starts)


def largest_counts(buckets: Buckets, marks: Flags | None = None) -> Counts:
    """Return the count of the most frequent value of each bucket, among marked values if given."""
    counts = buckets.count if marks is None else _marked_counts(buckets, marks)
    return np.maximum.reduceat(counts, buckets.starts)


def _marked_counts(buckets: Buckets, marks: Flags) -> Counts:
    return np.where(marks[buckets.value], buckets.count, 0)


def _read_only(witnesses: Mapping[str, object]) -> Mapping[str, object]:
    return MappingProxyType(dict(witnesses))


@attrs.frozen(eq=False, repr=False)
class Evidence:
    """The counts of the published files by which a guarantee is judged.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket; None if no column is sensitive.
    sizes
        The number of rows in each bucket.
    tree
        The hierarchy over the sensitive values, for hierarchical t-closeness. Default: none.
    witnesses
        What a guarantee needs besides the published files, by name. Default: nothing.
    alike
        For each bucket, how many rows of the release show the quasi-identifiers of its rarest row.
        Needed if the rows of a bucket differ in them (a bucketized release). Default: the rows of a
        bucket look alike, and their number is its size.
    rows
        The published lines one by one, if cells are suppressed. Default: none.
    sliced
        The counts of column values by bucket, if the release is sliced. Default: none.
    lines
        The distinct published lines, if the rows of buckets are published: the column of buckets,
        then the quasi-identifiers. Default: none.
    work
        The operations that a checker may spend. Default: 2e9.

    Raises
    ------
    DataError
        If a bucket is empty, or does not have as many sensitive values as rows.

    Examples
    --------
    >>> Evidence(None, np.array([3, 5]))
    Evidence(2 buckets, 8 rows, no sensitive values)
    """

    buckets: Buckets | None
    sizes: Counts = attrs.field(converter=confirm_sizes)
    tree: Tree | None = None
    witnesses: Mapping[str, object] = attrs.field(factory=dict, converter=_read_only)
    alike: Counts | None = None
    rows: Rows | None = None
    sliced: Sliced | None = None
    lines: Cells | None = None
    work: Work = attrs.field(factory=Work)

    def __attrs_post_init__(self) -> None:
        if self.alike is not None and len(confirm_sizes(self.alike)) != len(self.sizes):
            raise DataError("The numbers of rows that look alike must be given, one per bucket.")
        if self.buckets is not None:
            confirm(self.buckets)
            self._confirm_agreement(self.buckets)

    @classmethod
    def of_buckets(cls, buckets: Buckets, tree: Tree | None = None) -> Evidence:
        """Create evidence whose sizes are those of the buckets."""
        return cls(buckets, confirm(buckets).sizes, tree)

    def _confirm_agreement(self, buckets: Buckets) -> None:
        if not np.array_equal(buckets.sizes, self.sizes):
            raise DataError(
                "Every bucket must have as many sensitive values as rows; there are "
                f"{buckets.n_rows} values in {buckets.n_buckets} buckets and "
                f"{self.sizes.sum()} rows in {len(self.sizes)}."
            )

    def buckets_for(self, guarantee: Guarantee) -> Buckets:
        """Return the buckets, which a guarantee about sensitive values requires.

        Raises a ParameterError if the evidence has none.
        """
        if self.buckets is None:
            raise ParameterError(
                f"{guarantee.name} is about a sensitive column, and the release has none."
            )
        return self.buckets

    @property
    def n_entries(self) -> int:
        """The approximate number of numbers in the evidence."""
        parts: list[int] = [len(self.sizes)]
        if self.buckets is not None:
            parts.append(len(self.buckets.value))
        if self.rows is not None:
            parts.append(int(self.rows.codes.size))
        if self.sliced is not None:
            parts += [len(column.bucket) for column in self.sliced.columns]
        if self.lines is not None:
            parts.append(len(self.lines.counts))
        return sum(parts)

    def __repr__(self) -> str:
        about = "no sensitive values" if self.buckets is None else self.buckets.domain.column
        hierarchy = "" if self.tree is None else ", with a hierarchy"
        return f"Evidence({len(self.sizes)} buckets, {self.sizes.sum()} rows, {about}{hierarchy})"


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """Whether a release keeps a guarantee.

    Parameters
    ----------
    guarantee
        The guarantee that was checked.
    holds
        Whether every bucket keeps it.
    reached
        The strongest parameters that every bucket keeps, by name; empty if there are none to state.
        Fractions are texts.
    n_buckets, n_failing
        The number of buckets, and of those that break the guarantee.
    detail
        The finding, in a sentence without any value of the table.
    is_partial
        Whether a witness was missing, so that only a part was checked: even if that part holds, the
        guarantee may be broken. Default: False.
    is_checked
        Whether it was checked at all; False if that would take more operations than allowed.
        `holds` is then False. Default: True.
    unit
        What is counted. Default: buckets.

    Examples
    --------
    >>> from shoal.core.guarantees import KAnonymity
    >>> Verdict(guarantee=KAnonymity(k=5), holds=False, reached={"k": 3}, n_buckets=9,
    ...         n_failing=2, detail="2 of 9 buckets hold fewer than 5 rows")
    Verdict(k-anonymity fails in 2 of 9 buckets, reached k=3)
    """

    guarantee: Guarantee
    holds: bool
    reached: Mapping[str, object]
    n_buckets: int
    n_failing: int
    detail: str
    is_partial: bool = False
    is_checked: bool = True
    unit: str = "buckets"

    @classmethod
    def not_checked(cls, guarantee: Guarantee, n_buckets: int, max_work: int) -> Verdict:
        """Return the verdict of a check that needs more than `max_work` operations."""
        return cls(
            guarantee=guarantee,
            holds=False,
            reached={},
            n_buckets=n_buckets,
            n_failing=0,
            detail=f"not checked: too large for {max_work:,} operations",
            is_checked=False,
        )

    @classmethod
    def of_failures(
        cls,
        guarantee: Guarantee,
        fails: Flags,
        fault: str,
        reached: Mapping[str, object],
        *,
        is_partial: bool = False,
    ) -> Verdict:
        """Return the verdict that follows from whether each bucket breaks the guarantee.

        `fault` describes a failing bucket, as in "hold fewer than 5 rows"; `reached` holds the
        strongest parameters that every bucket keeps.
        """
        n_failing = int(np.count_nonzero(fails))
        return cls(
            guarantee=guarantee,
            holds=n_failing == 0,
            reached=reached,
            n_buckets=len(fails),
            n_failing=n_failing,
            detail=f"{n_failing or 'none'} of {len(fails)} buckets {fault}",
            is_partial=is_partial,
        )

    def to_dict(self) -> dict[str, object]:
        """Return the verdict in its JSON form."""
        return {
            "guarantee": self.guarantee.to_dict(),
            "holds": self.holds,
            "checked": self.is_checked,
            "partial": self.is_partial,
            "reached": dict(self.reached),
            "buckets": self.n_buckets,
            "failing": self.n_failing,
            "detail": self.detail,
        }

    def __repr__(self) -> str:
        if not self.is_checked:
            return f"Verdict({self.guarantee.name} {self.detail})"
        where = "holds in all" if self.holds else f"fails in {self.n_failing} of"
        extent = " as far as checked" if self.is_partial else ""
        reached = ", ".join(f"{name}={value}" for name, value in self.reached.items())
        return (
            f"Verdict({self.guarantee.name} {where} {self.n_buckets} {self.unit}{extent}"
            f"{f', reached {reached}' if reached else ''})"
        )
