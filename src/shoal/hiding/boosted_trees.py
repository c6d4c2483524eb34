"""Boosted trees that predict one column from the others, and from which cells are blank.

Every other column is a feature of few bins: its values, where neighbours of an ordered column and
rare values of a categorical one may be one bin; cells that nobody knows; and blank ones. The number
of blank cells is a feature too. `shoal.hiding._tree_kernels` grows the trees.

References
----------
[Ke17] (see `shoal.hiding._tree_kernels`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Bytes, Codes, Flags, Floats, Small
from shoal.core.domain import Domain
from shoal.core.table import HIDDEN
from shoal.hiding._tree_kernels import Booster

SEED = 0
"""The adversary's draws are her own: nothing depends on a secret."""

FEWEST_CELLS = 40
"""No tree can be learned from fewer: it has two leaves with half as many cells each."""
MOST_CELLS = 2**22 - 1
"""The most cells that trees are learned from; see the kernel."""
MOST_CLASSES = 32
_MOST_VALUES = 254
"""A feature has at most 256 bins, two of which are no values."""
_MOST_TREES, _FEWEST_ROUNDS, _MOST_ROUNDS = 450, 12, 50
_N_SAMPLED = 500
"""The number of cells that decide which columns contribute most."""
_LEAST_LOSS = 0.002
"""Columns that change the mean logarithm of probabilities by less contribute nothing."""
_LEAST_PROBABILITY = 1e-12
_N_NAMED = 3


@dataclass(frozen=True)
class TreeLimits:
    """How trees are grown; the defaults are those of the attack.

    A leaf has at least `fewest_cells`, and adds `rate` times its gradient over its second
    derivative plus `penalty`. Categories with fewer than `fewest_of_category` cells go right; the
    others are in the order of their gradients over their second derivatives plus `smoothing`.
    """

    n_rounds: int
    n_leaves: int = 8
    fewest_cells: int = FEWEST_CELLS // 2
    fewest_of_category: int = 10
    smoothing: float = 10.0
    rate: float = 0.1
    penalty: float = 10.0


@dataclass(frozen=True, eq=False)
class Lesson:
    """Cells of the target whose values are known.

    For each cell, `shown` has the visible cells of its row, and `HIDDEN` in place of the others;
    `blank` marks the suppressed cells of its row, or is None if these are not to be learned from.
    """

    shown: Small
    blank: Flags | None
    value: Codes

    def sampled(self, n_most: int) -> Lesson:
        """Draw `n_most` of the cells, if there are more."""
        if len(self.value) <= n_most:
            return self
        taken = np.random.default_rng(SEED).choice(len(self.value), n_most, replace=False)
        blank = None if self.blank is None else self.blank[taken]
        return Lesson(self.shown[taken], blank, self.value[taken])


class BoostedTrees:
    """Boosted trees for one column, and how the other columns are represented."""

    def __init__(self, domains: tuple[Domain, ...], target: int, lesson: Lesson) -> None:
        self.lesson = lesson
        self.columns = tuple(domain.column for domain in domains)
        others = [place for place in range(len(domains)) if place != target]
        self.others = np.array(others, dtype=np.int64)
        self.places = [_bins_of_values(lesson.shown[:, place], domains[place]) for place in others]
        n_values = [int(bins.max(initial=-1)) + 1 for bins in self.places]
        is_ordered = [domains[place].type.has_order for place in others]
        if lesson.blank is not None:
            n_values.append(min(len(others) + 1, _MOST_VALUES))
            is_ordered.append(True)
        self.n_values = np.array(n_values, dtype=np.int64)
        self.classes = _most_frequent(lesson.value, MOST_CLASSES)
        label = self.label(lesson.value)
        self.n_classes = int(label.max()) + 1
        n_rounds = min(max(_MOST_TREES // self.n_classes, _FEWEST_ROUNDS), _MOST_ROUNDS)
        self.trees = Booster(
            self.bins(lesson.shown, lesson.blank),
            self.n_values,
            np.array(is_ordered, dtype=np.uint8),
            label,
            self.n_classes,
            TreeLimits(n_rounds),
        )
        self.trees.fit()
        # Which features each tree asks for, and the scores without any tree.
        self.asked: Flags = np.asarray(self.trees.features_of_trees())
        self.priors: Floats = np.asarray(self.trees.priors)

    def bins(self, shown: Small, blank: Flags | None) -> Bytes:
        """Return the bins of rows, one column per feature."""
        bins = np.empty((len(shown), len(self.n_values)), dtype=np.uint8)
        for feature, place in enumerate(self.others.tolist()):
            n_values = self.n_values[feature]
            # The last entry is the one that HIDDEN takes.
            bins[:, feature] = np.append(self.places[feature], n_values)[shown[:, place]]
            if blank is not None:
                bins[blank[:, place], feature] = n_values + 1
        if blank is not None:
            n_blank = np.count_nonzero(blank[:, self.others], axis=1)
            bins[:, -1] = np.minimum(n_blank, self.n_values[-1] - 1)
        return bins

    def label(self, value: Codes) -> Codes:
        """Number the values that are learned; others have the last number."""
        order = np.argsort(self.classes)
        place = np.searchsorted(self.classes, value, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self.classes[found] == value, found, len(order))

    def predict(self, shown: Small, blank: Flags | None) -> tuple[Codes, Floats]:
        """Return the most probable of the values that are learned, and its probability."""
        probability = _softmax(
            self.scores(self.bins(shown, blank), np.ones(len(self.asked), dtype=bool))
        )
        best = probability[:, : len(self.classes)].argmax(axis=1)
        return self.classes[best], probability[np.arange(len(best)), best]

    def scores(self, bins: Bytes, used: Flags) -> Floats:
        """Return the sum of what some of the trees say."""
        scores: Floats = np.repeat(self.priors[np.newaxis], len(bins), axis=0)
        self.trees.add_scores(bins, used.astype(np.uint8), scores)
        return scores

    def reason(self) -> str:
        """Name the columns that contribute most: without them the known values are less likely."""
        sample = self.lesson.sampled(_N_SAMPLED)
        bins, label = self.bins(sample.shown, sample.blank), self.label(sample.value)
        asked = self.asked
        scores = self.scores(bins, np.ones(len(asked), dtype=bool))
        before = _likelihood(scores, label)
        order = np.random.default_rng(SEED).permutation(len(label))
        losses = {}
        for feature in np.flatnonzero(asked.any(axis=0)).tolist():
            mixed = bins.copy()
            mixed[:, feature] = bins[order, feature]
            # Only trees that ask for the feature say something else.
            changed = self.scores(mixed, asked[:, feature]) - self.scores(bins, asked[:, feature])
            losses[feature] = before - _likelihood(scores + changed, label)
        told = sorted(losses, key=lambda feature: -losses[feature])[:_N_NAMED]
        names = [*(self.columns[place] for place in self.others), "the number of blanks"]
        by = ", ".join(names[feature] for feature in told if losses[feature] > _LEAST_LOSS)
        learned = f"learned from {len(self.lesson.value)} cells"
        return f"{learned}, most by {by}" if by else f"{learned}, which say little"


def _softmax(scores: Floats) -> Floats:
    powers = np.exp(scores - scores.max(axis=1, initial=-np.inf, keepdims=True))
    probability: Floats = powers / powers.sum(axis=1, keepdims=True)
    return probability


def _likelihood(scores: Floats, label: Codes) -> float:
    """Return the mean logarithm of the probabilities of labels."""
    of_label = _softmax(scores)[np.arange(len(label)), label]
    return float(np.log(np.maximum(of_label, _LEAST_PROBABILITY)).mean())


def _most_frequent(codes: Codes, n_most: int) -> Codes:
    values, counts = np.unique(codes, return_counts=True)
    most: Codes = values[np.argsort(-counts, kind="stable")[:n_most]].astype(np.int64)
    return most


def _bins_of_values(codes: Small, domain: Domain) -> npt.NDArray[np.int64]:
    """Return the bin of each code of a domain.

    Neighbours of an ordered domain share bins of about equal numbers of cells; of a categorical one
    the most frequent values have bins of their own, and the others share the last.
    """
    visible = codes[codes != HIDDEN].astype(np.int64)
    if domain.size <= _MOST_VALUES:
        return np.arange(domain.size)
    if domain.type.has_order:
        before = np.append(0, np.cumsum(np.bincount(visible, minlength=domain.size)))[:-1]
        return np.unique(before * _MOST_VALUES // max(len(visible), 1), return_inverse=True)[1]
    bins = np.full(domain.size, _MOST_VALUES - 1)
    frequent = _most_frequent(visible, _MOST_VALUES - 1)
    bins[frequent] = np.arange(len(frequent))
    return bins
