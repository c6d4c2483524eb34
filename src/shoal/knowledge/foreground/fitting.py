"""The chances that explain best how often a value occurs in each bucket.

[Wong11] asks that the chance of a signature be the expected share of x among its rows, given the
buckets, and solves these equations by Newton's method. Iterating them is EM for the model in which
who of a bucket carries x is hidden, so that the likelihood never falls; Newton's method leaves
[0, 1] or finds other roots.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 4.1, Equation (4).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

__all__ = ["TOLERANCE", "Fit"]

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-9
"""By how much of itself a chance may still move at the end."""


@dataclass(frozen=True, eq=False)
class Fit:
    """Chances that were found, and how far they are to be trusted.

    Parameters
    ----------
    f
        The chance of each class, at the highest maximum.
    log_likelihood
        The logarithm of the likelihood there.
    n_steps
        How many EM steps it took.
    is_converged
        Whether no search was cut short.
    residual
        The largest change of a chance by another step.
    is_maximum
        Whether no point beside it is higher: saddles are left, and do not count.
    n_at_bound
        How many chances are 0 or 1, or as good as that.
    n_starts
        From how many listed starts it was sought; 1 where the first maximum is well determined.
    n_saddles_left
        How many times a search ended at a point that was no maximum, and went on.
    is_certain
        Whether the curvature at every maximum leaves no doubt; otherwise one is on a ridge, along
        which the likelihood hardly changes.
    maxima
        The distinct maxima, one row each, the highest first.
    weights
        Their likelihoods, as shares of the sum.
    heights
        The logarithms of their likelihoods.
    """

    f: Floats
    log_likelihood: float
    n_steps: int
    is_converged: bool
    residual: float
    is_maximum: bool
    n_at_bound: int
    n_starts: int
    n_saddles_left: int
    is_certain: bool
    maxima: Floats
    weights: Floats
    heights: Floats

    @property
    def n_maxima(self) -> int:
        """The number of distinct maxima."""
        return len(self.weights)

    @property
    def is_unique(self) -> bool:
        """Whether no start led to another maximum."""
        return self.n_maxima == 1

    def to_dict(self) -> dict[str, object]:
        """Return the diagnostics as JSON holds them."""
        left_out = ("f", "maxima", "weights", "heights")
        stated = {name: value for name, value in vars(self).items() if name not in left_out}
        return stated | {"n_maxima": self.n_maxima}

    def __repr__(self) -> str:
        state = "converged" if self.is_converged else "not converged"
        return f"Fit({len(self.f)} chances, {self.n_maxima} maxima, {state})"
