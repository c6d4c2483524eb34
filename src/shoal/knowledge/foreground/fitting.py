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

from collections.abc import Callable
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

__all__ = ["Fit", "Likelihood", "fit"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

TOLERANCE = 1e-9
"""By how much of itself a chance may still move at the end."""
_MAX_STEPS = 5_000
_NEARER = 1e-3
"""An extrapolation brings a chance nearer to a bound by this factor at most."""
_AT_BOUND = 1e-6
"""Chances within this part of the whole table's of a bound are taken for being there."""
_SAME = 1e-4
"""Chances this near, as a part of the larger, are the same maximum."""


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
    def _is_single(self) -> bool:
        return bool(np.all(self.shapes.n_carrying == 1)) and self.shapes.n_shapes > 0

    @cached_property
    def _matrices(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """How many rows each shape has of each class, and the same the other way round."""
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
        if self._is_single and np.isfinite(odds).all():
            # One carrier a bucket, as Anatomy has it: sums alone.
            matrix, transposed = self._matrices
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
        The chance of each class.
    log_likelihood
        The logarithm of the likelihood there.
    n_steps
        How many EM steps it took.
    is_converged
        Whether the last step changed nothing any more.
    residual
        The largest change of a chance by another step.
    is_maximum
        Whether the boundary conditions hold: another step does not lead away from 0 or 1 where a
        chance is there, and changes no other.
    n_at_bound
        How many chances are 0 or 1, or as good as that.
    n_other_starts, n_other_maxima
        From how many other starts it was sought, and how many of them led elsewhere.
    better_by
        By how much the best of those surpasses the log-likelihood; 0 where none does.
    """

    f: Floats
    log_likelihood: float
    n_steps: int
    is_converged: bool
    residual: float
    is_maximum: bool
    n_at_bound: int
    n_other_starts: int = 0
    n_other_maxima: int = 0
    better_by: float = 0.0

    @property
    def is_unique(self) -> bool:
        """Whether no other start led elsewhere."""
        return self.n_other_maxima == 0

    def to_dict(self) -> dict[str, object]:
        """Give the diagnostics as JSON holds them."""
        return {name: value for name, value in vars(self).items() if name != "f"}

    def __repr__(self) -> str:
        state = "converged" if self.is_converged else "not converged"
        return f"Fit({len(self.f)} chances, {state} in {self.n_steps} steps)"


def fit(
    likelihood: Likelihood,
    start: Floats | None = None,
    *,
    n_other_starts: int = 0,
    tolerance: float = TOLERANCE,
    watch: Callable[[Floats, float], None] | None = None,
) -> Fit:
    """Find the chances by EM.

    Parameters
    ----------
    likelihood
        What is to be made as large as possible.
    start
        Where to begin, one step before; the local random-worlds estimate where none is given.
    n_other_starts
        From how many other points to begin as well, to see whether they lead elsewhere.
    tolerance
        By how much of itself a chance may still move at the end.
    watch
        Called with every point that is accepted and its log-likelihood.

    Examples
    --------
    [Wong11] Example 2: buckets with rows of both signatures and a carrier, two rows of the first
    and a carrier, two rows of the second and none.

    >>> shapes, _ = Shapes.of_buckets(np.array([0, 0, 1]), np.array([0, 1, 0]), np.array([1, 1, 2]),
    ...                               np.array([1, 1]), 2)
    >>> found = fit(Likelihood(shapes, np.array([3, 3]), np.full(2, np.nan)))
    >>> found.f.round(6).tolist(), found.is_maximum
    ([0.666667, 0.0], True)
    """
    fixed = likelihood.fixed
    even = likelihood.even()
    # Who is never beside a carrier has chance 0, and who is always one has chance 1.
    is_free = np.isnan(fixed) & (even > 0) & (even < 1)
    settled = np.where(np.isnan(fixed), even, fixed)
    begin = settled
    if start is not None:
        begin, _ = likelihood.step(np.where(is_free, np.clip(start, 1e-12, 1 - 1e-12), settled))
    found = _climb(likelihood, np.where(is_free, begin, settled), is_free, tolerance, watch)
    if not n_other_starts or not is_free.any():
        return found
    return _compare(likelihood, found, settled, is_free, n_other_starts, tolerance)


def _compare(
    likelihood: Likelihood,
    found: Fit,
    settled: Floats,
    is_free: Flags,
    n_other_starts: int,
    tolerance: float,
) -> Fit:
    """Begin elsewhere, at points that are the same whenever this is run."""
    random = np.random.default_rng(0)
    n_elsewhere, better_by = 0, 0.0
    scale = np.maximum(found.f, likelihood.shapes.multiplicity.sum() / likelihood.n_rows.sum())
    for _ in range(n_other_starts):
        logs = _logit(np.clip(settled, 1e-6, 1 - 1e-6)) + random.normal(0, 1.5, len(settled))
        start = np.where(is_free, 1 / (1 + np.exp(-logs)), settled)
        other = _climb(likelihood, start, is_free, tolerance, None)
        n_elsewhere += bool((np.abs(other.f - found.f) > _SAME * scale)[is_free].any())
        better_by = max(better_by, other.log_likelihood - found.log_likelihood)
    return Fit(
        **(
            vars(found)
            | {
                "n_other_starts": n_other_starts,
                "n_other_maxima": n_elsewhere,
                "better_by": better_by,
            }
        )
    )


def _climb(
    likelihood: Likelihood,
    f: Floats,
    is_free: Flags,
    tolerance: float,
    watch: Callable[[Floats, float], None] | None,
) -> Fit:
    """Take EM steps, two at a time with an extrapolation after them, until nothing moves."""
    n_steps = 1
    following, height = likelihood.step(f)
    while True:
        if watch is not None:
            watch(f, height)
        if _has_settled(f, following, is_free, tolerance) or n_steps >= _MAX_STEPS:
            break
        second, middle = likelihood.step(following)
        n_steps += 2
        farther = _extrapolate(f, following, second, is_free)
        after, peak = likelihood.step(farther)
        if peak >= middle and np.isfinite(peak):
            f, following, height = farther, after, peak
        else:
            n_steps += 1
            f = second
            following, height = likelihood.step(second)
    residual = float(np.abs(following - f)[is_free].max(initial=0.0))
    is_converged = _has_settled(f, following, is_free, tolerance)
    low, high = _bounds(likelihood, f)
    return Fit(
        f=f,
        log_likelihood=height,
        n_steps=n_steps,
        is_converged=is_converged,
        residual=residual,
        is_maximum=is_converged and _keeps_bounds(f, following, is_free, low, high),
        n_at_bound=int(np.count_nonzero(low | high)),
    )


def _has_settled(f: Floats, following: Floats, is_free: Flags, tolerance: float) -> bool:
    moved = np.abs(following - f)[is_free]
    return bool(np.all(moved <= tolerance * np.minimum(f, 1 - f)[is_free] + 1e-15))


def _extrapolate(first: Floats, second: Floats, third: Floats, is_free: Flags) -> Floats:
    """Go on in the direction of two EM steps ([Varadhan08] scheme S3), within bounds."""
    stride = (second - first)[is_free]
    bend = (third - second)[is_free] - stride
    steepness = float(np.sqrt((bend * bend).sum()))
    length = float(np.sqrt((stride * stride).sum())) / steepness if steepness > 0 else 1.0
    length = max(length, 1.0)
    target = first[is_free] + 2 * length * stride + length**2 * bend
    farther = third.copy()
    # At a bound itself no EM step would ever lead away again.
    nearest = _NEARER * third[is_free], 1 - _NEARER * (1 - third[is_free])
    farther[is_free] = np.clip(target, *nearest)
    return farther


def _logit(f: Floats) -> Floats:
    logs: Floats = np.log(f) - np.log1p(-f)
    return logs


def _bounds(likelihood: Likelihood, f: Floats) -> tuple[Flags, Flags]:
    shapes = likelihood.shapes
    rate = float(shapes.multiplicity @ shapes.n_carrying) / float(likelihood.n_rows.sum())
    is_free = np.isnan(likelihood.fixed)
    return is_free & (f <= _AT_BOUND * rate), is_free & (1 - f <= _AT_BOUND * (1 - rate))


def _keeps_bounds(f: Floats, following: Floats, is_free: Flags, low: Flags, high: Flags) -> bool:
    """Whether a step at a bound leads no farther from it than rounding does."""
    slack = 1 + 1e-6
    leaves_zero = following[low & is_free] > f[low & is_free] * slack
    leaves_one = 1 - following[high & is_free] > (1 - f[high & is_free]) * slack
    return not leaves_zero.any() and not leaves_one.any()
