"""The belief p(t, s) that a sliced release supports about a person.

A person t is in one of the matching buckets: in B with a probability proportional to |B| f(t, B),
the mean number of rows t in a random linking of its columns. Within B the sensitive value is one of
D(t, B), those linked with the known part of t in the sensitive column. Columns that share
attributes are linked only where these agree: the mean number of rows (t, s) is then the product of
the columns' counts divided by the counts of the attributes that they share.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 4.3 (Figure 2) and, for overlapping columns, 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Cells, group
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.sliced import Layout, Sliced
from shoal.slicing.joining import Amounts, Joining, Numbers, numbers_of, sum_by

Diversity = Literal["frequency", "distinct"]
# The relative error of sums of fewer than 2**30 positive terms, each a product of a few counts, is
# smaller than this.
_CLOSE = 1e-6


@dataclass(frozen=True, eq=False)
class SlicedBeliefs:
    """Beliefs about some tuples, one term per tuple, bucket and value, sorted in that order.

    Each term says that a tuple matches a bucket, in which it may have this value. `amount` is the
    mean number of rows with that tuple and that value over all linkings of the bucket; `sizes`
    counts the rows of each bucket.
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
        """For each tuple, the mean number of its rows over all linkings; 0 if no bucket matches."""
        return sum_by(self.tuple_, self.amount, self.n_tuples)

    @cached_property
    def shares(self) -> tuple[Codes, Codes, Amounts]:
        """p(t, s) if it is above 0, as tuple, value and p."""
        first, inverse = group(
            [self.tuple_, self.value], [self.n_tuples, self.domain.size], len(self.tuple_)
        )
        shares = sum_by(inverse, self.amount, len(first))
        owner = self.tuple_[first]
        return owner, self.value[first], shares / self.totals[owner]

    @property
    def n_values(self) -> Codes:
        """For each tuple, the number of values with a p(t, s) above 0."""
        return np.bincount(self.shares[0], minlength=self.n_tuples).astype(np.int64)

    @property
    def largest(self) -> Amounts:
        """For each tuple, its largest p(t, s); 0 if no bucket matches."""
        owner, _, share = self.shares
        largest: Amounts = np.zeros(self.n_tuples, dtype=share.dtype)
        np.maximum.at(largest, owner, share)
        return largest

    @cached_property
    def matches(self) -> tuple[Codes, Codes, Amounts]:
        """The matching buckets, as tuple, bucket and f(t, B)."""
        first, inverse = group(
            [self.tuple_, self.bucket], [self.n_tuples, len(self.sizes)], len(self.tuple_)
        )
        found = sum_by(inverse, self.amount, len(first))
        bucket = self.bucket[first]
        return self.tuple_[first], bucket, found / numbers_of(self.sizes[bucket], found.dtype)

    def candidates(self, tuple_: int, bucket: int) -> dict[int, Any]:
        """Return D(t, B), the probability of each value in one bucket; empty if t is not in it."""
        is_here = (self.tuple_ == tuple_) & (self.bucket == bucket)
        amounts = self.amount[is_here]
        total = amounts.sum()
        pairs = zip(self.value[is_here].tolist(), amounts.tolist(), strict=True)
        return {value: amount / total for value, amount in pairs}

    def distribution(self, tuple_: int) -> dict[int, Any]:
        """Return p(t, .) of one tuple, without the values that have 0."""
        owner, value, share = self.shares
        is_own = owner == tuple_
        return dict(zip(value[is_own].tolist(), share[is_own].tolist(), strict=True))

    def __repr__(self) -> str:
        n_matching = int(np.count_nonzero(np.bincount(self.tuple_, minlength=self.n_tuples)))
        return f"SlicedBeliefs({self.domain.column}: {n_matching} of {self.n_tuples} tuples match)"


def sliced_beliefs(sliced: Sliced, tuples: Cells, sensitive: str | None = None) -> SlicedBeliefs:
    """Compute p(t, s) of each tuple in floats.

    The tuples have every attribute that the layout calls known, except the sensitive one itself. A
    value that the release does not have matches nothing. `sensitive` may be left out if the layout
    has only one.

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
    """Compute p(t, s) of each tuple in fractions; slow, so for few tuples only."""
    return _find_beliefs(sliced, tuples, sensitive, np.dtype(object))


def _find_beliefs(
    sliced: Sliced, tuples: Cells, sensitive: str | None, number: Numbers
) -> SlicedBeliefs:
    joining = Joining.of_release(sliced, tuples, _only(sliced.layout, sensitive))
    parts = [joining.join(tuples, buckets, number) for tuples, buckets in joining.chunks()]
    owner, bucket, value, amount = (
        np.concatenate([part[place] for part in parts]) for place in range(4)
    )
    domain = sliced.domain(joining.sensitive)
    return SlicedBeliefs(domain, tuples.n_cells, owner, bucket, value, amount, sliced.sizes)


def summarize_beliefs(sliced: Sliced, tuples: Cells, sensitive: str) -> tuple[Floats, Counts]:
    """Return each tuple's largest p(t, s), and its number of values with one above 0.

    That is `largest` and `n_values` of `sliced_beliefs`, without keeping all terms.
    """
    joining = Joining.of_release(sliced, tuples, sensitive)
    largest: Floats = np.zeros(tuples.n_cells)
    n_values = np.zeros(tuples.n_cells, dtype=np.int64)
    for members, buckets in joining.chunks():
        first, last = members.min(initial=tuples.n_cells), members.max(initial=-1) + 1
        if first < last:
            terms = joining.link(members, buckets, np.dtype(np.float64))
            part = SlicedBeliefs(
                domain=sliced.domain(sensitive),
                n_tuples=int(last - first),
                tuple_=terms.tuple_ - first,
                bucket=terms.columns[""],
                value=terms.columns[sensitive],
                amount=terms.amount,
                sizes=sliced.sizes,
            )
            largest[first:last], n_values[first:last] = part.largest, part.n_values
    return largest, n_values


def share_table(sliced: Sliced, tuples: Cells, sensitive: str) -> tuple[Floats, Counts]:
    """Return p(t, s), one row per tuple and one column per value.

    The second result is the number of buckets that each tuple matches. These are the `shares` and
    the number of `matches` of `sliced_beliefs`, found without keeping all terms.
    """
    joining = Joining.of_release(sliced, tuples, sensitive)
    n_values = sliced.domain(sensitive).size
    table: Floats = np.zeros((tuples.n_cells, n_values))
    n_matching = np.zeros(tuples.n_cells, dtype=np.int64)
    for members, buckets in joining.chunks():
        if not len(members):
            continue
        first, n_members = members[0], int(members[-1] - members[0]) + 1
        terms = joining.link(members, buckets, np.dtype(np.float64))
        owner, bucket = terms.tuple_ - first, terms.columns[""]
        place = owner * n_values + terms.columns[sensitive]
        amount = np.bincount(place, terms.amount, n_members * n_values).reshape(n_members, -1)
        total = amount.sum(axis=1, keepdims=True)
        part = slice(first, first + n_members)
        np.divide(amount, total, out=table[part], where=total > 0)
        # Terms are sorted by tuple and bucket.
        is_first = np.ones(len(owner), dtype=bool)
        is_first[1:] = (owner[1:] != owner[:-1]) | (bucket[1:] != bucket[:-1])
        n_matching[part] = np.bincount(owner[is_first], minlength=n_members)
    return table, n_matching


def find_exceeding(
    sliced: Sliced,
    tuples: Cells,
    sensitive: str,
    ell: Fraction,
    diversity: Diversity = "frequency",
) -> Flags:
    """Return, without rounding, which tuples violate sliced l-diversity.

    A tuple violates it if a p(t, s) is above 1/ell (``frequency``), or if fewer than `ell` values
    have one above 0 (``distinct``). A tuple that matches no bucket does not.
    """
    largest, n_values = summarize_beliefs(sliced, tuples, sensitive)
    if diversity == "distinct":
        return np.asarray((n_values > 0) & (n_values < math.ceil(ell)))
    return are_above(sliced, tuples, sensitive, 1 / ell, largest)


def are_above(
    sliced: Sliced, tuples: Cells, sensitive: str, bound: Fraction, largest: Floats
) -> Flags:
    """Return, without rounding, which tuples have a p(t, s) above a bound.

    `largest` has the largest p(t, s) of each tuple, rounded.
    """
    # Floats decide unless they are close to the bound.
    distance = largest / float(bound) - 1
    fails = distance > 0
    close = np.flatnonzero(np.abs(distance) < _CLOSE)
    if close.size:
        fails[close] = _exact_largest(sliced, tuples, close, sensitive) > bound
    return np.asarray(fails)


def largest_belief(sliced: Sliced, tuples: Cells, sensitive: str | None = None) -> Fraction:
    """Return the largest p(t, s) of all tuples and values, exactly; 0 if nothing matches."""
    name = _only(sliced.layout, sensitive)
    largest, _ = summarize_beliefs(sliced, tuples, name)
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
