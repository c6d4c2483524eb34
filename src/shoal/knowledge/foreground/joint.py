"""All sensitive values at once: the chances of each signature to have each of them.

A bucket's values are given to its rows one to one, so what is learned of one value bears on the
others. Expected shares come from all assignments of a bucket's values, by the states of how many
of each are used up, in buckets small enough for that; the Omega estimate serves in others.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Sections 3 and 4, for any number of values.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Codes
from shoal.knowledge.foreground.attribute_sets import AttributeSet
from shoal.knowledge.foreground.exposed import Exposed
from shoal.knowledge.posteriors import Posteriors, posteriors

__all__ = ["JointDistribution", "mine_jointly"]

Floats = npt.NDArray[np.float64]

_MAX_STEPS = 300


@dataclass(frozen=True, eq=False)
class JointDistribution:
    """How likely each signature has each value, and what follows for everybody.

    Parameters
    ----------
    attributes
        The set and its signatures.
    f
        One row a class of `attributes`, one column a value: its chance. Rows sum to 1.
    occupants
        The rows of each bucket, by class.
    posteriors
        What is believed of them.
    n_steps, is_converged
        How many EM steps it took, and whether the last changed nothing any more.
    """

    attributes: AttributeSet
    f: Floats
    occupants: BelievedRows = field(repr=False)
    posteriors: Posteriors
    n_steps: int
    is_converged: bool

    def p(self, exposed: Exposed) -> Floats:
        """Give p(t:x) for each entry of the release and each value."""
        which = self.attributes.class_of_look[exposed.look].astype(np.int64)
        keys = self.occupants.bucket * len(self.f) + self.occupants.prior
        place = np.searchsorted(keys, exposed.bucket * len(self.f) + which)
        found = np.zeros((self.occupants.n_entries, self.f.shape[1]))
        found[self.posteriors.entry, self.posteriors.value] = self.posteriors.posterior
        p: Floats = found[place]
        return p


def mine_jointly(
    exposed: Exposed, attributes: AttributeSet, *, tolerance: float = 1e-7
) -> JointDistribution:
    """Find the chances of all values by EM, from one step of a constant start.

    Parameters
    ----------
    exposed
        The release.
    attributes
        The set; signatures with too few rows share their chances.
    tolerance
        By how much a chance may still move at the end.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.attribute_sets import usable_sets
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows, bucket = np.array([[0], [1], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> exposed = Exposed.of_rows([sex], rows, bucket, np.array([1, 0, 1, 0, 0, 0]), disease)
    >>> (by_sex,) = usable_sets(exposed.looks, 3)
    >>> mine_jointly(exposed, by_sex).f.round(6).tolist()
    [[0.333333, 0.666667], [1.0, 0.0]]
    """
    which: Codes = attributes.class_of_look[exposed.look].astype(np.int64)
    n_values, n_classes = exposed.buckets.domain.size, attributes.n_classes
    n_rows = np.bincount(which, exposed.count, n_classes)
    f = np.full((n_classes, n_values), 1.0 / n_values)
    n_steps, is_converged = 0, False
    while True:
        occupants = BelievedRows.of_pairs(exposed.bucket, which, f, exposed.count)
        found = posteriors(exposed.buckets, occupants)
        if is_converged or n_steps >= _MAX_STEPS:
            return JointDistribution(attributes, f, occupants, found, n_steps, is_converged)
        entry = found.entry
        key = occupants.prior[entry] * n_values + found.value
        carriers = np.bincount(key, occupants.count[entry] * found.posterior, f.size)
        following = carriers.reshape(f.shape) / np.maximum(n_rows, 1)[:, np.newaxis]
        n_steps += 1
        is_converged = bool(np.abs(following - f).max() <= tolerance)
        f = following
