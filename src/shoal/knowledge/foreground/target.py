"""A sensitive value in a release: who may carry it, and how likely the buckets are by chances."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.knowledge.foreground.exposed import Exposed
from shoal.knowledge.foreground.law import condition, odds_of
from shoal.knowledge.foreground.likelihood import Likelihood
from shoal.knowledge.foreground.shapes import Shapes

__all__ = ["Target"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Target:
    """A value, or values that count as one, in a release.

    Parameters
    ----------
    exposed
        The release.
    n_carrying
        How many rows of each bucket carry the value.
    is_excluded
        For each entry of the release whether its rows are known not to carry the value.
    values
        The codes of the values, which count as one.
    """

    exposed: Exposed
    n_carrying: Counts
    is_excluded: Flags = field(repr=False)
    values: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, exposed: Exposed, values: Sequence[int] | Codes, forbidden: Flags | None = None
    ) -> Target:
        """Aim at some values.

        Parameters
        ----------
        exposed
            The release.
        values
            The codes of the values, which count as one.
        forbidden
            For each distinct row of the release whether whoever looks so cannot have the value.
            In a bucket that contradicts it, the adversary learns that she was wrong and
            excludes nobody.

        Examples
        --------
        >>> from shoal.core.domain import Domain
        >>> sex = Domain.of_texts("sex", ["F", "M"])
        >>> disease = Domain.of_texts("disease", ["cold", "flu"])
        >>> exposed = Exposed.of_rows([sex], np.array([[0], [1]]), np.array([0, 0]),
        ...                           np.array([0, 1]), disease)
        >>> Target.of(exposed, [1])
        Target(1 of 2 rows in 1 of 1 buckets)
        """
        n_carrying = exposed.n_carrying(values)
        is_excluded = np.zeros(len(exposed.look), dtype=bool)
        if forbidden is not None:
            is_excluded = forbidden[exposed.look]
            able = np.where(is_excluded, 0, exposed.count)
            n_able = np.bincount(exposed.bucket, able, len(n_carrying))
            is_excluded &= (n_able >= n_carrying)[exposed.bucket]
        return cls(exposed, n_carrying, is_excluded, tuple(int(code) for code in values))

    @cached_property
    def rate(self) -> float:
        """The share of the release's rows that carry the value."""
        return float(self.n_carrying.sum()) / max(self.exposed.n_rows, 1)

    @cached_property
    def carrying_buckets(self) -> Codes:
        """The buckets with a carrier."""
        return np.flatnonzero(self.n_carrying)

    @cached_property
    def entry(self) -> Codes:
        """The entries of buckets with a carrier; all others have p(t:x) = 0."""
        return np.flatnonzero(self.n_carrying[self.exposed.bucket] > 0)

    @cached_property
    def bucket(self) -> Codes:
        """For each of these the place of its bucket among those with a carrier."""
        return np.searchsorted(self.carrying_buckets, self.exposed.bucket[self.entry])

    def classes(self, class_of_look: npt.NDArray[np.signedinteger], n_classes: int) -> Codes:
        """Return the class of each entry; those excluded have one of their own, the last."""
        found: Codes = class_of_look[self.exposed.look].astype(np.int64)
        found[self.is_excluded] = n_classes
        return found

    def likelihood(
        self, class_of_entry: Codes, fixed: Floats, *, is_shared: bool = True
    ) -> tuple[Likelihood, Codes]:
        """Set up the likelihood of chances by class.

        Parameters
        ----------
        class_of_entry
            See `classes`.
        fixed
            The chances that are given, not a number where one is sought; one a class but those
            excluded.
        is_shared
            Whether buckets of one shape are looked for.

        Returns
        -------
        likelihood
            With a further class for those excluded.
        of_bucket
            The shape of each bucket with a carrier.
        """
        n_classes = len(fixed) + 1
        which, count = class_of_entry[self.entry], self.exposed.count[self.entry]
        carrying = self.n_carrying[self.carrying_buckets]
        if is_shared:
            shapes, of_bucket = Shapes.of_buckets(self.bucket, which, count, carrying, n_classes)
        else:
            shapes = Shapes.one_by_one(self.bucket, which, count, carrying, n_classes)
            of_bucket = np.arange(len(carrying))
        n_rows = np.bincount(class_of_entry, self.exposed.count, n_classes).astype(np.int64)
        return Likelihood(shapes, n_rows, np.append(fixed, 0.0)), of_bucket

    def posteriors(
        self, likelihood: Likelihood, of_bucket: Codes, class_of_entry: Codes, f: Floats
    ) -> Floats:
        """Return p(t:x) of the rows of every entry in a bucket with a carrier."""
        share, _ = condition(likelihood.shapes, odds_of(f))
        place = likelihood.shapes.entry_of(
            of_bucket[self.bucket], class_of_entry[self.entry], len(f)
        )
        return share[place]

    def without_impossible(self, prior: Floats) -> Target:
        """Exclude rows whose prior is 0 as well, but for those of buckets that contradict that.

        Parameters
        ----------
        prior
            For each distinct row of the release how likely whoever looks so was believed to have
            the value.
        """
        is_excluded = self.is_excluded | (prior[self.exposed.look] <= 0)
        able = np.where(is_excluded, 0, self.exposed.count)
        n_able = np.bincount(self.exposed.bucket, able, len(self.n_carrying))
        is_kept = (n_able >= self.n_carrying)[self.exposed.bucket]
        return replace(self, is_excluded=np.where(is_kept, is_excluded, self.is_excluded))

    def __repr__(self) -> str:
        return (
            f"Target({int(self.n_carrying.sum())} of {self.exposed.n_rows} rows in "
            f"{len(self.carrying_buckets)} of {len(self.n_carrying)} buckets)"
        )
