"""The chances that explain best how often a value occurs in each bucket.

[Wong11] asks that the chance of a signature be the expected share of x among its rows, given the
buckets, and solves these equations by Newton's method. Iterating them is EM for the model in which
who of a bucket carries x is hidden, so that the likelihood never falls; Newton's method leaves
[0, 1] or finds other roots. Extrapolated steps (SQUAREM) are taken where they do not lower the
likelihood.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 4.1, Equation (4).
[Varadhan08] R. Varadhan, C. Roland: Simple and globally convergent methods for accelerating the
convergence of any EM algorithm. Scandinavian Journal of Statistics 35(2), 2008.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts
from shoal.knowledge.foreground.law import condition, odds_of
from shoal.knowledge.foreground.shapes import Shapes

if TYPE_CHECKING:
    from scipy import sparse

__all__ = ["TOLERANCE", "Fit", "Likelihood"]

Floats = npt.NDArray[np.float64]

TOLERANCE = 1e-9
"""By how much of itself a chance may still move at the end."""


@dataclass(frozen=True, eq=False)
class Likelihood:
    """How likely the buckets are, given the chance of each class.

    Parameters
    ----------
    shapes
        The buckets that hold a carrier.
    n_rows
        How many rows of the whole release are of each class.
    fixed
        The chances that are given; not a number where one is to be found.
    """

    shapes: Shapes
    n_rows: Counts
    fixed: Floats

    @cached_property
    def is_single(self) -> bool:
        """Whether every bucket has one carrier."""
        return bool(np.all(self.shapes.n_carrying == 1)) and self.shapes.n_shapes > 0

    @cached_property
    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The number of rows of each class in each shape, and the transposed matrix."""
        from scipy import sparse  # noqa: PLC0415 - it takes long to import

        shapes = self.shapes
        size = (shapes.n_shapes, len(self.n_rows))
        matrix = sparse.csr_array(
            (shapes.count.astype(np.float64), shapes.which, shapes.start), shape=size
        )
        return matrix, matrix.T.tocsr()

    def step(self, f: Floats) -> tuple[Floats, float]:
        """Give the expected share of carriers of each class, and the logarithm of the likelihood.

        That of `f`, not of what is given; fixed chances stay as they are.
        """
        odds = odds_of(f)
        if self.is_single and np.isfinite(odds).all():
            # One carrier a bucket, as Anatomy has it: sums alone.
            matrix, transposed = self.matrices
            total = matrix @ odds
            with np.errstate(divide="ignore"):
                log = np.log(total)
                expected = odds * (transposed @ (self.shapes.multiplicity / total))
        else:
            share, log = condition(self.shapes, odds)
            shapes = self.shapes
            carriers = shapes.multiplicity[shapes.shape] * shapes.count * share
            expected = np.bincount(shapes.which, carriers, len(f))
        # Rounding may carry a class whose rows all carry the value beyond 1.
        found = np.minimum(expected / np.maximum(self.n_rows, 1), 1.0)
        lacking = np.where(f < 1, f, 0.0)
        # Sums, not products of vectors: a library's threads would cost more than they save.
        likelihood = float((self.shapes.multiplicity * log).sum())
        likelihood += float((self.n_rows * np.log1p(-lacking)).sum())
        return np.where(np.isnan(self.fixed), found, self.fixed), likelihood

    def even(self) -> Floats:
        """Give the local random-worlds estimate: one step from chances that are all equal.

        All but those that are 0 for sure; what is fixed otherwise is found here as well.
        """
        start = np.where(self.fixed == 0, 0.0, 0.5)
        free = Likelihood(self.shapes, self.n_rows, np.where(self.fixed == 0, 0.0, np.nan))
        return free.step(start)[0]


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
