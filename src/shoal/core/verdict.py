"""What a checker is given and what it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from shoal.checks._entries import Marks, confirm, confirm_sizes
from shoal.core.cells import Buckets, Cells, Counts
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import Guarantee
from shoal.core.rows import Rows
from shoal.core.sliced import Sliced
from shoal.core.tree import Tree
from shoal.core.work import Work

__all__ = ["Evidence", "Verdict"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a guarantee is judged by: counts of the published files.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket; None where no column is sensitive.
    sizes
        The number of rows in each bucket.
    tree
        The hierarchy over the sensitive values, for hierarchical t-closeness.
    witnesses
        What a guarantee needs beside the published files, by name.
    alike
        For each bucket, how many rows of the release show the quasi-identifiers of its rarest
        row. Needed where the rows of a bucket differ in them (a bucketized release); else the
        rows of a bucket are those that look alike, and their number is its size.
    rows
        The published lines one by one, where cells of them are suppressed.
    sliced
        The counts of column values by bucket, where the release is sliced.
    lines
        The distinct published lines, where the rows of buckets are published: the column of
        buckets, then the quasi-identifiers.
    work
        The operations that a checker may spend; default 2e9.

    Raises
    ------
    DataError
        Where a bucket is empty, or has not as many sensitive values as rows.

    Examples
    --------
    >>> Evidence(None, np.array([3, 5]))
    Evidence(2 buckets, 8 rows, no sensitive values)
    """

    buckets: Buckets | None
    sizes: Counts
    tree: Tree | None = None
    witnesses: Mapping[str, object] = field(default_factory=dict)
    alike: Counts | None = None
    rows: Rows | None = None
    sliced: Sliced | None = None
    lines: Cells | None = None
    work: Work = field(default_factory=Work, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "sizes", confirm_sizes(self.sizes))
        if self.alike is not None and len(confirm_sizes(self.alike)) != len(self.sizes):
            raise DataError("The numbers of rows that look alike must be given one a bucket.")
        object.__setattr__(self, "witnesses", MappingProxyType(dict(self.witnesses)))
        if self.buckets is not None:
            confirm(self.buckets)
            self._confirm_agreement(self.buckets)

    @classmethod
    def of_buckets(cls, buckets: Buckets, tree: Tree | None = None) -> Evidence:
        """Take the sizes of the buckets from what they hold."""
        return cls(buckets, confirm(buckets).sizes, tree)

    def _confirm_agreement(self, buckets: Buckets) -> None:
        if not np.array_equal(buckets.sizes, self.sizes):
            raise DataError(
                "Every bucket must have as many sensitive values as rows; there are "
                f"{buckets.n_rows} values in {buckets.n_buckets} buckets and "
                f"{self.sizes.sum()} rows in {len(self.sizes)}."
            )

    def buckets_for(self, guarantee: Guarantee) -> Buckets:
        """Give the buckets, which a guarantee about sensitive values cannot do without.

        Raises
        ------
        ParameterError
            Where the evidence has none.
        """
        if self.buckets is None:
            raise ParameterError(
                f"{guarantee.name} is about a sensitive column, and the release has none."
            )
        return self.buckets

    @property
    def n_entries(self) -> int:
        """About how many numbers the evidence consists of."""
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
        The strongest parameters that every bucket does keep, by name; empty where there are none
        to state. Fractions are texts.
    n_buckets, n_failing
        How many buckets there are, and how many of them break the guarantee.
    detail
        What was found, in a sentence without any value of the table.
    is_partial
        Whether a witness was missing, so that only a part was checked: where that part holds, the
        guarantee may still be broken.
    is_checked
        Whether it was checked at all; False if that would take more operations than allowed.
        Nothing holds then.
    unit
        What is counted: buckets, unless the guarantee is about something else.

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
        """Say that a check was given up because it would take too many operations.

        Parameters
        ----------
        guarantee
            The guarantee that was not checked.
        n_buckets
            How many buckets there are.
        max_work
            How many operations were allowed.
        """
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
        fails: Marks,
        fault: str,
        reached: Mapping[str, object],
        *,
        is_partial: bool = False,
    ) -> Verdict:
        """Sum up which buckets fail.

        Parameters
        ----------
        guarantee
            The guarantee that was checked.
        fails
            For each bucket whether it breaks the guarantee.
        fault
            What a failing bucket does, as in "hold fewer than 5 rows".
        reached
            The strongest parameters that every bucket does keep.
        is_partial
            Whether only a part was checked.
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
        """Give the verdict as JSON holds it."""
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
