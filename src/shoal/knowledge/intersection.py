"""What two releases of one table say together of people who are in both.

Each release alone leaves a person several sensitive values, with shares. Whoever holds both keeps
the values that both leave, and weighs them: given a person's value, in which bucket of a release
they are is taken as independent of the other release, so a value is believed in proportion to the
product of its two shares, divided by its share in the table, which both count.

References
----------
S. Ganta, S. Kasiviswanathan, A. Smith: Composition attacks and auxiliary information in data
privacy, 2008, Section 2 (intersection attacks).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Cells, Codes, Counts, group
from shoal.core.domain import Domain
from shoal.core.sliced import Sliced
from shoal.knowledge.location import spread
from shoal.knowledge.sliced_beliefs import sliced_beliefs

__all__ = ["Intersection", "View", "intersect"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class View:
    """What one release lets one believe in each of the places that people may have in it.

    Parameters
    ----------
    domain
        The sensitive values.
    place, value, share
        In this place, this value has this share; sorted by place, then value.
    n_places
        How many places there are: buckets, or kinds of people where the release is sliced.
    prior
        The share of every value in the whole release.
    """

    domain: Domain
    place: Codes
    value: Codes
    share: Floats
    n_places: int
    prior: Floats = field(repr=False)

    @classmethod
    def of_buckets(cls, buckets: Buckets) -> View:
        """Take the share of every value in a bucket."""
        share = buckets.count / buckets.sizes[buckets.bucket]
        prior = buckets.totals / max(buckets.n_rows, 1)
        return cls(buckets.domain, buckets.bucket, buckets.value, share, buckets.n_buckets, prior)

    @classmethod
    def of_sliced(cls, sliced: Sliced, kinds: Cells, sensitive: str) -> View:
        """Take p(t, s) of every kind of people."""
        beliefs = sliced_beliefs(sliced, kinds, sensitive)
        place, value, share = beliefs.shares
        column = next(column for column in sliced.columns if sensitive in column.attributes)
        prior = np.zeros(beliefs.domain.size)
        np.add.at(prior, column.codes(sensitive), column.count)
        return cls(
            beliefs.domain,
            place,
            value,
            share.astype(np.float64),
            kinds.n_cells,
            prior / max(sliced.n_rows, 1),
        )

    @property
    def start(self) -> Codes:
        """Where the values of each place begin; one entry more than there are places."""
        return np.searchsorted(self.place, np.arange(self.n_places + 1)).astype(np.int64)


@dataclass(frozen=True, eq=False)
class Intersection:
    """What is believed of people who are in two releases; one entry a pair of places.

    Parameters
    ----------
    first, second
        The places.
    counts
        How many people are in both.
    value, posterior
        The value that is believed most, as a code of the first view, and how much; -1 and 0 where
        no value is left, which cannot be of one table.
    n_left
        How many values both releases leave.
    alone
        The largest share in the first release alone.
    """

    first: Codes
    second: Codes
    counts: Counts
    value: Codes
    posterior: Floats
    n_left: Codes
    alone: Floats


def intersect(one: View, other: View, first: Codes, second: Codes) -> Intersection:
    """Say what is believed of people by their places in two releases.

    Parameters
    ----------
    one, other
        What the releases say.
    first, second
        The places of every person.

    Examples
    --------
    >>> flu = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> one = View.of_buckets(Buckets.of_pairs(np.array([0, 0, 1]), np.array([0, 1, 2]), flu))
    >>> other = View.of_buckets(Buckets.of_pairs(np.array([0, 0, 1]), np.array([1, 2, 0]), flu))
    >>> found = intersect(one, other, np.array([0]), np.array([0]))
    >>> found.value.tolist(), found.posterior.tolist(), found.alone.tolist()
    ([1], [1.0], [0.5])
    """
    pair, inverse = group([first, second], [one.n_places, other.n_places], len(first))
    counts = np.bincount(inverse, minlength=len(pair)).astype(np.int64)
    first, second = first[pair], second[pair]
    # The values of both releases by the codes of the first.
    code = one.domain.codes_of(other.domain.labels())
    start = one.start
    source, entry = spread(start[first], start[first + 1] - start[first])
    value = one.value[entry]
    weight = one.share[entry] * _shares(other, code, one.domain.size, second[source], value)
    weight /= np.maximum(one.prior[value], np.finfo(np.float64).tiny)
    total = np.bincount(source, weights=weight, minlength=len(pair))
    largest = np.zeros(len(pair))
    np.maximum.at(largest, source, weight)
    best = np.full(len(pair), one.domain.size, dtype=np.int64)
    is_best = (weight > 0) & (weight >= largest[source])
    np.minimum.at(best, source[is_best], value[is_best])
    alone = np.zeros(len(pair))
    np.maximum.at(alone, source, one.share[entry])
    return Intersection(
        first,
        second,
        counts,
        np.where(total > 0, best, -1),
        np.divide(largest, total, out=np.zeros(len(pair)), where=total > 0),
        np.bincount(source[weight > 0], minlength=len(pair)),
        alone,
    )


def _shares(view: View, code: Codes, n_codes: int, place: Codes, value: Codes) -> Floats:
    """Look up the share of values, given by other codes, in places; 0 where there is none."""
    own = code[view.value]
    # Values that the other release does not have get a code that nothing asks for.
    key = view.place * (n_codes + 1) + np.where(own >= 0, own, n_codes)
    order = np.argsort(key, kind="stable")
    asked = place * (n_codes + 1) + value
    at = np.minimum(np.searchsorted(key[order], asked), max(len(key) - 1, 0))
    if not len(key):
        return np.zeros(len(asked))
    return np.where(key[order][at] == asked, view.share[order][at], 0.0)
