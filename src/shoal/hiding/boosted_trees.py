"""Boosted trees that predict one column from the others, and from which cells are blank.

Trees take numbers: an ordered column is represented by its codes, a categorical one by its most
frequent values with one number for all others, and a suppressed cell as missing. On request, the
blank cells and their number are features too.

References
----------
[Ke17] G. Ke et al.: LightGBM: a Highly Efficient Gradient Boosting Decision Tree. NIPS 2017; the
trees are scikit-learn's of that kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats, Small
from shoal.core.domain import Domain
from shoal.core.table import HIDDEN

SEED = 0
"""The adversary's draws are her own: nothing depends on a secret."""

FEWEST_CELLS = 40
"""No tree can be learned from fewer: it has two leaves with half as many cells each."""
MOST_CLASSES = 32
_MOST_CATEGORIES = 254
"""The model accepts 255; the last one stands for the rest."""
_MOST_TREES, _FEWEST_ROUNDS, _MOST_ROUNDS = 450, 12, 50
_N_SAMPLED = 500
"""The number of cells that decide which columns contribute most."""
_LEAST_LOSS = 0.002
"""Columns that change the mean logarithm of probabilities by less contribute nothing."""
_LEAST_PROBABILITY = 1e-12
_N_NAMED = 3


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
    """Boosted trees for one column, and how the other columns are represented.

    Features come in one group per column, its value and whether it is blank, and one for the number
    of blanks.
    """

    def __init__(self, domains: tuple[Domain, ...], target: int, lesson: Lesson) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - an extra

        self.lesson = lesson
        self.columns = tuple(domain.column for domain in domains)
        self.others = [place for place in range(len(domains)) if place != target]
        # Trees cannot deal with a column without a visible cell.
        self.places = {
            place: _places_of_categories(lesson.shown[:, place], domains[place])
            for place in self.others
            if (lesson.shown[:, place] != HIDDEN).any()
        }
        self.classes = _most_frequent(lesson.value, MOST_CLASSES)
        features, self.group = self.features(lesson.shown, lesson.blank)
        label = self.label(lesson.value)
        n_models = len(np.unique(label))
        n_rounds = _MOST_TREES // (1 if n_models == 2 else n_models)
        is_categorical = np.zeros(features.shape[1], dtype=bool)
        is_categorical[: len(self.places)] = [
            not domains[place].type.has_order for place in self.places
        ]
        self.trees: Any = HistGradientBoostingClassifier(
            max_iter=min(max(n_rounds, _FEWEST_ROUNDS), _MOST_ROUNDS),
            max_leaf_nodes=8,
            min_samples_leaf=FEWEST_CELLS // 2,
            l2_regularization=10.0,
            categorical_features=is_categorical,
            early_stopping=False,
            random_state=SEED,
        )
        with _one_thread():
            self.trees.fit(features, label)

    def features(self, shown: Small, blank: Flags | None) -> tuple[Floats, Codes]:
        """Return the features of rows, and the group of each feature."""
        parts = [_placed(shown[:, place], places) for place, places in self.places.items()]
        groups = list(self.places)
        if blank is not None:
            parts += [blank[:, place].astype(np.float64) for place in self.others]
            parts.append(blank[:, self.others].sum(axis=1).astype(np.float64))
            groups += [*self.others, len(self.columns)]
        # At least one feature is required.
        parts.append(np.zeros(len(shown)))
        groups.append(-1)
        return np.column_stack(parts), np.array(groups)

    def label(self, value: Codes) -> Codes:
        """Number the values that are learned; others have the last number."""
        order = np.argsort(self.classes)
        place = np.searchsorted(self.classes, value, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self.classes[found] == value, found, len(order))

    def predict(self, shown: Small, blank: Flags | None) -> tuple[Codes, Floats]:
        """Return the most probable of the values that are learned, and its probability."""
        with _one_thread():
            probability = self.trees.predict_proba(self.features(shown, blank)[0])
        best = probability[:, : len(self.classes)].argmax(axis=1)
        return self.classes[best], probability[np.arange(len(best)), best]

    def reason(self) -> str:
        """Name the columns that contribute most: without them the known values are less likely."""
        sample = self.lesson.sampled(_N_SAMPLED)
        features, _ = self.features(sample.shown, sample.blank)
        label = self.label(sample.value)
        before = self.likelihood(features, label)
        order = np.random.default_rng(SEED).permutation(len(label))
        losses = {}
        for group in sorted({*self.group.tolist()} - {-1}):
            mixed = features.copy()
            mixed[:, self.group == group] = features[np.ix_(order, self.group == group)]
            losses[group] = before - self.likelihood(mixed, label)
        told = sorted(losses, key=lambda group: -losses[group])[:_N_NAMED]
        names = [*self.columns, "the number of blanks"]
        by = ", ".join(names[group] for group in told if losses[group] > _LEAST_LOSS)
        learned = f"learned from {len(self.lesson.value)} cells"
        return f"{learned}, most by {by}" if by else f"{learned}, which say little"

    def likelihood(self, features: Floats, label: Codes) -> float:
        """Return the mean logarithm of the probabilities of labels."""
        with _one_thread():
            probability = self.trees.predict_proba(features)
        of_label = probability[np.arange(len(label)), label]
        return float(np.log(np.maximum(of_label, _LEAST_PROBABILITY)).mean())


def _one_thread() -> Any:
    """Keep trees in one thread: sums stay in one order, and busy machines gain nothing by more."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - it comes with scikit-learn

    return threadpool_limits(limits=1, user_api="openmp")


def _most_frequent(codes: Codes, n_most: int) -> Codes:
    values, counts = np.unique(codes, return_counts=True)
    most: Codes = values[np.argsort(-counts, kind="stable")[:n_most]].astype(np.int64)
    return most


def _places_of_categories(codes: Small, domain: Domain) -> Floats:
    """Return for each code of a domain the number that represents it."""
    if domain.type.has_order or domain.size <= _MOST_CATEGORIES + 1:
        return np.arange(domain.size, dtype=np.float64)
    frequent = _most_frequent(codes[codes != HIDDEN].astype(np.int64), _MOST_CATEGORIES)
    places = np.full(domain.size, _MOST_CATEGORIES, dtype=np.float64)
    places[frequent] = np.arange(len(frequent))
    return places


def _placed(codes: Small, places: Floats) -> Floats:
    """Replace codes by their numbers, and `HIDDEN` by nothing."""
    # The last entry is the one that HIDDEN takes.
    placed: Floats = np.append(places, np.nan)[codes]
    return placed
