"""Boosted trees that learn the values of one column from the other cells of a row.

Trees take numbers: an ordered column is shown by its codes, of a categorical one the most frequent
values one by one and the others together, and a suppressed cell as nothing. Where it is to be
learned from, which cells are blank is shown too, and how many.

References
----------
[Ke17] G. Ke et al.: LightGBM: a Highly Efficient Gradient Boosting Decision Tree. NIPS 2017; the
trees are scikit-learn's of that kind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.core.domain import Domain
from shoal.core.rows import HIDDEN, RowCodes

__all__ = ["FEWEST_CELLS", "MOST_CLASSES", "BoostedTrees", "Flags", "Floats", "Lesson"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

FEWEST_CELLS = 40
"""No tree can be learned from fewer: it has two leaves, and half as many cells in each."""
MOST_CLASSES = 32
_MOST_CATEGORIES = 254
"""The model takes 255; the last one stands for the rest."""
_MOST_TREES, _FEWEST_ROUNDS, _MOST_ROUNDS = 450, 12, 50
_N_SAMPLED = 500
"""How many cells tell which columns did most."""
_LEAST_LOSS = 0.002
"""Columns whose values matter less, to the mean logarithm of probabilities, did nothing."""
_LEAST_PROBABILITY = 1e-12
_N_NAMED = 3
_SEED = 0
"""Draws are the adversary's own: nothing depends on a secret."""


@dataclass(frozen=True, eq=False)
class Lesson:
    """Cells of the target whose values are known.

    Parameters
    ----------
    shown
        For each the cells of its row that show, in the place of others `HIDDEN`.
    blank
        Which cells of its row are suppressed; None where that is not to be learned from.
    value
        The code of its value.
    """

    shown: RowCodes
    blank: Flags | None
    value: Codes

    def sampled(self, n_most: int) -> Lesson:
        """Draw so many of the cells, where there are more."""
        if len(self.value) <= n_most:
            return self
        taken = np.random.default_rng(_SEED).choice(len(self.value), n_most, replace=False)
        blank = None if self.blank is None else self.blank[taken]
        return Lesson(self.shown[taken], blank, self.value[taken])


class BoostedTrees:
    """Boosted trees for one column, with the way in which they are shown the others.

    Features come in one group a column, its value and whether it is blank, and one for the number
    of blanks.
    """

    def __init__(self, domains: tuple[Domain, ...], target: int, lesson: Lesson) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - an extra

        self.lesson = lesson
        self.columns = tuple(domain.column for domain in domains)
        self.others = [place for place in range(len(domains)) if place != target]
        # Trees cannot deal with a column that shows nothing.
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
            random_state=_SEED,
        )
        with _one_thread():
            self.trees.fit(features, label)

    def features(self, shown: RowCodes, blank: Flags | None) -> tuple[Floats, Codes]:
        """Give what the trees are shown of rows, and the group of each feature."""
        parts = [_placed(shown[:, place], places) for place, places in self.places.items()]
        groups = list(self.places)
        if blank is not None:
            parts += [blank[:, place].astype(np.float64) for place in self.others]
            parts.append(blank[:, self.others].sum(axis=1).astype(np.float64))
            groups += [*self.others, len(self.columns)]
        # They want at least one feature, too.
        parts.append(np.zeros(len(shown)))
        groups.append(-1)
        return np.column_stack(parts), np.array(groups)

    def label(self, value: Codes) -> Codes:
        """Number the values that are learned; others have the last number."""
        order = np.argsort(self.classes)
        place = np.searchsorted(self.classes, value, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self.classes[found] == value, found, len(order))

    def predict(self, shown: RowCodes, blank: Flags | None) -> tuple[Codes, Floats]:
        """Give the most probable of the values that are learned, and its probability."""
        with _one_thread():
            probability = self.trees.predict_proba(self.features(shown, blank)[0])
        best = probability[:, : len(self.classes)].argmax(axis=1)
        return self.classes[best], probability[np.arange(len(best)), best]

    def reason(self) -> str:
        """Say which columns did most: without which the known values are less probable."""
        sample = self.lesson.sampled(_N_SAMPLED)
        features, _ = self.features(sample.shown, sample.blank)
        label = self.label(sample.value)
        before = self.likelihood(features, label)
        order = np.random.default_rng(_SEED).permutation(len(label))
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
        """Give the mean logarithm of the probabilities of labels."""
        with _one_thread():
            probability = self.trees.predict_proba(features)
        of_label = probability[np.arange(len(label)), label]
        return float(np.log(np.maximum(of_label, _LEAST_PROBABILITY)).mean())


def _one_thread() -> Any:
    """Keep trees from sharing work among threads, which costs more than it gives on busy machines.

    It also keeps sums in one order.
    """
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - it comes with scikit-learn

    return threadpool_limits(limits=1, user_api="openmp")


def _most_frequent(codes: Codes, n_most: int) -> Codes:
    """Give the most frequent codes, in order of their frequency."""
    values, counts = np.unique(codes, return_counts=True)
    most: Codes = values[np.argsort(-counts, kind="stable")[:n_most]].astype(np.int64)
    return most


def _places_of_categories(codes: RowCodes, domain: Domain) -> Floats:
    """Give for each code of a domain the number that it is shown as."""
    if domain.type.has_order or domain.size <= _MOST_CATEGORIES + 1:
        return np.arange(domain.size, dtype=np.float64)
    frequent = _most_frequent(codes[codes != HIDDEN].astype(np.int64), _MOST_CATEGORIES)
    places = np.full(domain.size, _MOST_CATEGORIES, dtype=np.float64)
    places[frequent] = np.arange(len(frequent))
    return places


def _placed(codes: RowCodes, places: Floats) -> Floats:
    """Replace codes by their numbers, and `HIDDEN` by nothing."""
    # The last entry is the one that HIDDEN takes.
    placed: Floats = np.append(places, np.nan)[codes]
    return placed
