"""How strongly effects are to be drawn to 0, by how well held-out buckets are predicted.

An adversary who believes every accident of a small release is wrong more often than she thinks.
Without the truth she can still see that: she leaves out a fifth of the buckets, fits the model to
the others, and looks how likely it makes the number of carriers in those left out. The penalty
that does best over all fifths is hers. (On 2,000 rows of the census it was measured whether the
strongest penalty within one standard error of the best serves her better. It does not: her beliefs
are off by .096 on average where those by the best penalty are off by .055.)

The number of carriers is all that a bucket says about one value, so its likelihood is what the
release offers to judge a model by. Who in the bucket carries the value stays hidden: where the
people of a bucket are similar, a model can predict buckets well and people badly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.knowledge.foreground.additive_problem import AdditiveProblem
from shoal.knowledge.foreground.descent import Divide, descend
from shoal.knowledge.foreground.likelihood import Likelihood
from shoal.knowledge.foreground.mining import Target
from shoal.knowledge.foreground.shapes import Shapes

__all__ = ["PENALTIES", "CrossValidation", "choose_penalty", "fold_buckets"]

Floats = npt.NDArray[np.float64]

PENALTIES = (300.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.3, 0.1)
"""The penalties that are tried, beside the infinite one, in this order."""
_N_FOLDS = 5
_MANY, _MANY_LOOKS, _N_FOLDS_OF_MANY = 500, 5000, 3
"""With so many buckets that hold a carrier fewer folds say as much; with so many distinct rows
more would take long."""
_PATIENCE = 2
"""So many penalties in a row that predict worse than the best end the search."""
_ENOUGH, _ENOUGH_OF_ALL = 0.1, 1e-3
"""Steps that promise to raise the log-likelihood by less, or by a smaller part of it, are not worth
taking."""
_FEWEST_FOLDS = 2
_MAX_STEPS = 200
_LOWEST = -1e9
"""Stands for the logarithm of what a model takes to be impossible."""
_MIXER = np.uint64(0x9E3779B97F4A7C15)
"""An odd number whose multiples are scattered over all 64 bits."""


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How well each penalty predicted the buckets that were held out.

    Parameters
    ----------
    penalties
        The penalties that were tried; the first is infinite: all alike.
    gains
        By how much the log-likelihood of held-out buckets exceeded that of all alike.
    standard_errors
        The standard error of each gain, over the folds.
    n_folds
        Into how many parts the buckets were divided.
    """

    penalties: tuple[float, ...]
    gains: tuple[float, ...]
    standard_errors: tuple[float, ...]
    n_folds: int

    @property
    def penalty(self) -> float:
        """The penalty that predicted best; infinite if none predicted better than all alike."""
        return self.penalties[int(np.argmax(self.gains))]

    @property
    def gain(self) -> float:
        """By how much the best penalty predicted better than all alike."""
        return max(self.gains)

    @property
    def standard_error(self) -> float:
        """The standard error of that gain."""
        return self.standard_errors[int(np.argmax(self.gains))]

    def to_dict(self) -> dict[str, object]:
        """Return the table as JSON holds it; the infinite penalty is None."""
        return {
            "penalties": [one if np.isfinite(one) else None for one in self.penalties],
            "gains": list(self.gains),
            "standard_errors": list(self.standard_errors),
            "folds": self.n_folds,
        }


def fold_buckets(target: Target, n_folds: int) -> Codes:
    """Divide buckets into folds that hold about as many carriers each.

    The folds depend on who is in a bucket and not on its number, which is drawn at random: the
    same buckets are always divided in the same way.

    Parameters
    ----------
    target
        The value and the release.
    n_folds
        How many folds there are.
    """
    exposed = target.exposed
    # Sums and products of whole numbers of 64 bits wrap round, as a hash may.
    look = np.zeros(exposed.looks.n_cells, dtype=np.uint64)
    for column in exposed.looks.codes.T:
        look = _scatter(look * _MIXER + column.astype(np.uint64) + np.uint64(1))
    inside = np.zeros(len(target.n_carrying), dtype=np.uint64)
    np.add.at(inside, exposed.bucket, look[exposed.look] * exposed.count.astype(np.uint64))
    order = np.lexsort((_scatter(inside), target.n_carrying))
    fold = np.empty(len(order), dtype=np.int64)
    # Buckets with most carriers are dealt out first, so that every fold has one that carries.
    fold[order[::-1]] = np.arange(len(order)) % n_folds
    return fold


def _scatter(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    """Scatter numbers over all 64 bits."""
    mixed = (numbers ^ (numbers >> np.uint64(32))) * _MIXER
    scattered: npt.NDArray[np.uint64] = mixed ^ (mixed >> np.uint64(29))
    return scattered


def choose_penalty(
    problem: AdditiveProblem, start: Floats
) -> tuple[Floats, CrossValidation | None]:
    """Find the penalty that predicts held-out buckets best.

    Parameters
    ----------
    problem
        The release, and the parameters of the model.
    start
        The parameters without any effect.

    Returns
    -------
    parameters
        Parameters near those by the best penalty.
    table
        How well each penalty predicted; None if fewer than two buckets hold a carrier.
    """
    n_carrying = len(problem.target.carrying_buckets)
    is_large = n_carrying >= _MANY or len(problem.n_rows) >= _MANY_LOOKS
    n_folds = min(_N_FOLDS_OF_MANY if is_large else _N_FOLDS, n_carrying)
    if n_folds < _FEWEST_FOLDS:
        return start, None
    folds = _Folds.of(problem, n_folds)
    at = folds.alike()
    alike = folds.predict(at)
    enough = min(_ENOUGH, _ENOUGH_OF_ALL * abs(float(alike.sum())))
    f = problem.chances(start)
    penalties, gains, best, best_at = [np.inf], [np.zeros(n_folds)], 0, start[np.newaxis]
    for penalty in PENALTIES:
        # The penalties descend, so each begins where the one before it ended.
        divide = problem.plain_divisor(f, penalty, share=1 - 1 / n_folds)
        at = folds.fit(penalty, at, divide, enough=enough)
        penalties.append(penalty)
        gains.append(folds.predict(at) - alike)
        if gains[-1].sum() > gains[best].sum():
            best, best_at = len(gains) - 1, at
        elif len(gains) - 1 - best >= _PATIENCE + (best == 0):
            break
    table = CrossValidation(
        tuple(penalties),
        tuple(float(one.sum()) for one in gains),
        tuple(float(one.std(ddof=1)) * n_folds**0.5 for one in gains),
        n_folds,
    )
    return best_at.mean(axis=0), table


@dataclass(frozen=True, eq=False)
class _Folds:
    """The buckets without each fold, fitted all at once, and the buckets of each fold.

    Fitting one model per fold in turn would spend most of the time on the overhead of small
    arrays. So the folds are one likelihood in which each has classes of its own.

    Parameters
    ----------
    problem
        The release.
    fits, held_out
        For each fold the buckets that the model is fitted to, and those it is to predict.
    likelihood
        That of all buckets that are fitted to, with one class per fold and distinct row.
    n_rows
        For each fold how many rows of the buckets fitted to look like each distinct one.
    """

    problem: AdditiveProblem
    fits: tuple[AdditiveProblem, ...]
    held_out: tuple[AdditiveProblem, ...]
    likelihood: Likelihood
    n_rows: Floats

    @classmethod
    def of(cls, problem: AdditiveProblem, n_folds: int) -> _Folds:
        fold = fold_buckets(problem.target, n_folds)
        fits = tuple(problem.take(fold != one) for one in range(n_folds))
        held_out = tuple(problem.take(fold == one) for one in range(n_folds))
        shapes = [one.likelihood.shapes for one in fits]
        n_looks = len(problem.n_rows)
        n_entries = np.cumsum([0] + [len(one.which) for one in shapes])
        last = n_folds * n_looks
        which = [
            # The rows that are excluded have the last class in every fold.
            np.where(one.which == n_looks, last, one.which + number * n_looks)
            for number, one in enumerate(shapes)
        ]
        start = [one.start[:-1] + before for one, before in zip(shapes, n_entries, strict=False)]
        stacked = Shapes(
            np.append(np.concatenate(start), n_entries[-1]),
            np.concatenate(which),
            np.concatenate([one.count for one in shapes]),
            np.concatenate([one.n_carrying for one in shapes]),
            np.concatenate([one.multiplicity for one in shapes]),
        )
        n_rows = np.array([one.n_rows for one in fits])
        fixed = np.append(np.full(last, np.nan), 0.0)
        total = np.append(n_rows.ravel(), 0.0).astype(np.int64)
        return cls(problem, fits, held_out, Likelihood(stacked, total, fixed), n_rows)

    def alike(self) -> Floats:
        """Return the parameters of each fold without any effect."""
        return np.array([one.alike() for one in self.fits])

    def fit(self, penalty: float, start: Floats, divide: Divide, *, enough: float) -> Floats:
        """Return the parameters of each fold by a penalty; see `descend`."""

        def objective(flat: Floats) -> tuple[float, Floats]:
            parameters = flat.reshape(start.shape)
            f = self.problem.chances(parameters)
            share, log_likelihood = self.likelihood.step(np.append(f, 0.0))
            excess = self.n_rows * (f - share[:-1].reshape(f.shape))
            form, half = self.problem.effects.form(parameters)
            slope = penalty * half + self.problem.effects.collect(excess)
            return penalty / 2 * form - log_likelihood, slope.ravel()

        found, _, _ = descend(
            objective,
            start.ravel(),
            lambda slope: divide(slope.reshape(start.shape)).ravel(),
            tolerance=0.0,
            max_steps=_MAX_STEPS,
            enough=enough,
        )
        return found.reshape(start.shape)

    def predict(self, parameters: Floats) -> Floats:
        """Return the log-likelihood of the buckets of each fold."""
        found = [
            one.log_likelihood(own) for one, own in zip(self.held_out, parameters, strict=True)
        ]
        return np.maximum(found, _LOWEST)
