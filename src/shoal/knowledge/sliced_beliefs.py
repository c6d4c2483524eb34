"""What a sliced release lets one believe of a person: p(t, s).

A person t is in one of the buckets that match: in B with a chance proportional to what a random
linking of its columns has of t, |B| f(t, B). Within B the sensitive value is one of D(t, B), those
linked with what is known of t in the sensitive column. Columns that share attributes are linked
only where these agree: what a linking has of (t, s) is then the product of the columns' counts
divided by those of the attributes that they share.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 4.3 (Figure 2) and, of overlapping columns, 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, group
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.sliced import Layout, Sliced
from shoal.knowledge.sliced_joining import Amounts, Joining, Numbers, numbers_like, sum_by

__all__ = [
    "SlicedBeliefs",
    "exact_sliced_beliefs",
    "find_exceeding",
    "largest_belief",
    "sliced_beliefs",
]

# Sums of fewer than 2**30 positive terms, each a product of few counts, are nearer than this.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class SlicedBeliefs:
    """What is believed of some tuples, bucket by bucket, sorted by tuple, bucket, value.

    Parameters
    ----------
    domain
        The values of the sensitive attribute.
    n_tuples
        How many tuples there are.
    tuple_, bucket, value
        The terms: this tuple matches this bucket, where this value may be its own.
    amount
        How many rows with that tuple and that value a linking of the bucket has on average.
    sizes
        The rows of each bucket.
    """

    domain: Domain
    n_tuples: int
    tuple_: Codes
    bucket: Codes
    value: Codes
    amount: Amounts
    sizes: Codes

    @cached_property
    def totals(self) -> Amounts:
        """For each tuple how many rows a linking has of it on average; 0 where none matches."""
        return sum_by(self.tuple_, self.amount, self.n_tuples)

    @cached_property
    def shares(self) -> tuple[Codes, Codes, Amounts]:
        """p(t, s), where it is above 0: tuple, value and p."""
        first, inverse = group(
            [self.tuple_, self.value], [self.n_tuples, self.domain.size], len(self.tuple_)
        )
        shares = sum_by(inverse, self.amount, len(first))
        owner = self.tuple_[first]
        return owner, self.value[first], shares / self.totals[owner]

    @property
    def n_values(self) -> Codes:
        """For each tuple how many values have a p(t, s) above 0."""
        return np.bincount(self.shares[0], minlength=self.n_tuples).astype(np.int64)

    @property
    def largest(self) -> Amounts:
        """For each tuple its largest p(t, s); 0 where no bucket matches."""
        owner, _, share = self.shares
        largest: Amounts = np.zeros(self.n_tuples, dtype=share.dtype)
        np.maximum.at(largest, owner, share)
        return largest

    @cached_property
    def matches(self) -> tuple[Codes, Codes, Amounts]:
        """The matching buckets: tuple, bucket and f(t, B)."""
        first, inverse = group(
            [self.tuple_, self.bucket], [self.n_tuples, len(self.sizes)], len(self.tuple_)
        )
        found = sum_by(inverse, self.amount, len(first))
        bucket = self.bucket[first]
        return self.tuple_[first], bucket, found / numbers_like(found, self.sizes[bucket])

    def candidates(self, tuple_: int, bucket: int) -> dict[int, Any]:
        """Give D(t, B): the chance of each value in one bucket; empty where t does not match."""
        is_here = (self.tuple_ == tuple_) & (self.bucket == bucket)
        amounts = self.amount[is_here]
        total = amounts.sum()
        pairs = zip(self.value[is_here].tolist(), amounts.tolist(), strict=True)
        return {value: amount / total for value, amount in pairs}

    def distribution(self, tuple_: int) -> dict[int, Any]:
        """Give p(t, .) of one tuple, values with 0 left out."""
        owner, value, share = self.shares
        is_own = owner == tuple_
        return dict(zip(value[is_own].tolist(), share[is_own].tolist(), strict=True))

    def __repr__(self) -> str:
        n_matching = int(np.count_nonzero(np.bincount(self.tuple_, minlength=self.n_tuples)))
        return f"SlicedBeliefs({self.domain.column}: {n_matching} of {self.n_tuples} tuples match)"


def sliced_beliefs(sliced: Sliced, tuples: Cells, sensitive: str | None = None) -> SlicedBeliefs:
    """Find what a release lets one believe of each tuple, in floats.

    Parameters
    ----------
    sliced
        The release.
    tuples
        What is known of people: all that the layout calls known, but for the sensitive attribute
        itself. A value that the release does not have matches nothing.
    sensitive
        The attribute to infer; may be left out where there is one.

    Raises
    ------
    ParameterError
        Where the attribute is not a sensitive one of the release.
    DataError
        Where the tuples lack a known attribute.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.zeros(3, dtype=np.int64)
    >>> release = Sliced.of_pieces(cells, layout, np.arange(3), bucket, cells.counts)
    >>> sliced_beliefs(release, cells.select(["sex"])).distribution(0)
    {0: 0.5, 1: 0.5}
    """
    return _find_beliefs(sliced, tuples, sensitive, np.dtype(np.float64))


def exact_sliced_beliefs(
    sliced: Sliced, tuples: Cells, sensitive: str | None = None
) -> SlicedBeliefs:
    """Do as `sliced_beliefs` does, in fractions; for few tuples.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.zeros(3, dtype=np.int64)
    >>> release = Sliced.of_pieces(cells, layout, np.arange(3), bucket, cells.counts)
    >>> exact_sliced_beliefs(release, cells.select(["sex"])).distribution(0)
    {0: Fraction(1, 3), 1: Fraction(2, 3)}
    """
    return _find_beliefs(sliced, tuples, sensitive, np.dtype(object))


def _find_beliefs(
    sliced: Sliced, tuples: Cells, sensitive: str | None, number: Numbers
) -> SlicedBeliefs:
    joining = Joining.of_release(sliced, tuples, _only(sliced.layout, sensitive))
    parts = [joining.join(chunk, number) for chunk in joining.chunks()]
    owner, bucket, value, amount = (
        np.concatenate([part[place] for part in parts]) for place in range(4)
    )
    domain = sliced.domain(joining.sensitive)
    return SlicedBeliefs(domain, tuples.n_cells, owner, bucket, value, amount, sliced.sizes)


def find_exceeding(
    sliced: Sliced,
    tuples: Cells,
    sensitive: str,
    ell: Fraction,
    diversity: Literal["frequency", "distinct"] = "frequency",
) -> npt.NDArray[np.bool_]:
    """Say of each tuple whether it breaks sliced l-diversity, without rounding.

    Parameters
    ----------
    sliced, tuples, sensitive
        As for `sliced_beliefs`; a tuple that matches no bucket breaks nothing.
    ell, diversity
        At least `ell` values with p(t, s) above 0 (``distinct``), or no p(t, s) above 1/ell.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.zeros(3, dtype=np.int64)
    >>> release = Sliced.of_pieces(cells, layout, np.arange(3), bucket, cells.counts)
    >>> find_exceeding(release, cells.select(["sex"]), "disease", Fraction(3, 2)).tolist()
    [False, False]
    """
    beliefs = sliced_beliefs(sliced, tuples, sensitive)
    if diversity == "distinct":
        return np.asarray((beliefs.n_values > 0) & (beliefs.n_values < math.ceil(ell)))
    # Floats decide but where they are close to the bound.
    distance = beliefs.largest.astype(np.float64) * float(ell) - 1
    fails = distance > 0
    close = np.flatnonzero(np.abs(distance) < _CLOSE)
    if close.size:
        fails[close] = _exact_largest(sliced, tuples, close, sensitive) * ell > 1
    return np.asarray(fails)


def largest_belief(sliced: Sliced, tuples: Cells, sensitive: str | None = None) -> Fraction:
    """Give the largest p(t, s) of all tuples and values, exactly; 0 where nothing matches.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.zeros(3, dtype=np.int64)
    >>> release = Sliced.of_pieces(cells, layout, np.arange(3), bucket, cells.counts)
    >>> largest_belief(release, cells.select(["sex"]))
    Fraction(2, 3)
    """
    name = _only(sliced.layout, sensitive)
    largest = sliced_beliefs(sliced, tuples, name).largest
    if not largest.size or largest.max() == 0:
        return Fraction(0)
    close = np.flatnonzero(largest > largest.max() * (1 - _CLOSE))
    return Fraction(_exact_largest(sliced, tuples, close, name).max())


def _exact_largest(sliced: Sliced, tuples: Cells, chosen: Codes, sensitive: str) -> Amounts:
    few = Cells(tuples.domains, tuples.codes[chosen], tuples.counts[chosen])
    return exact_sliced_beliefs(sliced, few, sensitive).largest


def _only(layout: Layout, sensitive: str | None) -> str:
    if sensitive is None and len(layout.sensitive) == 1:
        return layout.sensitive[0]
    if sensitive is None or sensitive not in layout.sensitive:
        raise ParameterError(
            "Name the sensitive attribute to infer, one of "
            f"{', '.join(layout.sensitive) or 'none'}; got {sensitive!r}."
        )
    return sensitive
