"""Models that learn the class of rows from their features: a tree, naive Bayes and boosting.

They are the models of scikit-learn with the same parameters, for features that are codes: many rows
share their features, so models are fitted to the distinct rows and their counts, which takes a
fraction of the time. Whatever differs only by rounding is tied, and the first one wins, so that
results are the same on every machine.

References
----------
[Breiman84] L. Breiman et al.: Classification and Regression Trees. 1984: splits by the Gini index.
[Ke17] G. Ke et al.: LightGBM: A Highly Efficient Gradient Boosting Decision Tree. NeurIPS 2017.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import group, total_by
from shoal.core.domain import Domain
from shoal.utility._boosting_kernels import BoostingGrower, add_scores
from shoal.utility._tree_kernels import GiniGrower, find_leaves

Predictor = Callable[[Codes], Codes]
"""Returns the class of each row of features."""

DIGITS = 9
"""Scores are rounded to so many digits, so that ties are the same on every machine."""
SMOOTHING = 1.0
_MOST_APART = 64
"""A tree parts single values from the rest in an unordered column of up to so many values."""
_FEWEST_ROWS = 20
"""The fewest rows of a leaf; smaller leaves fit noise."""
_MOST_TREES, _FEWEST_ROUNDS, _MOST_ROUNDS = 180, 12, 30
_LEAVES, _RATE, _SHRINKAGE = 15, 0.25, 10.0
"""Parameters of boosting. Few rounds of small trees learn as much as many rounds of large ones if
the learning rate is higher and leaves with few rows of a class are shrunk."""
_MOST_BINS = 255
_LEAST_CURVATURE, _LEAST_SUPPORT = 1e-3, 10.0
"""The smallest sum of second derivatives in a leaf, and the rows that a value of an unordered
column needs to be told from others; scikit-learn's."""


@dataclass(frozen=True, eq=False)
class Examples:
    """Rows to learn from: the distinct ones, with features as codes.

    An entry counts the rows with the same features and the same class.
    """

    domains: Sequence[Domain]
    # The classes that occur, ascending.
    classes: Codes
    # The distinct combinations of features, one row each.
    features: Codes
    # Of each entry: its combination of features, its class by its place, its rows.
    kind: Codes
    label: Codes
    count: Counts

    @classmethod
    def of_rows(
        cls, domains: Sequence[Domain], rows: Codes, classes: Codes, counts: Counts
    ) -> Examples:
        """Count the rows with the same features and class; each is there `counts` times.

        Examples
        --------
        >>> sex = Domain.of_texts("sex", ["F", "M"])
        >>> rows, counts = np.array([[0], [1], [0]]), np.array([3, 2, 1])
        >>> found = Examples.of_rows([sex], rows, np.array([4, 2, 4]), counts)
        >>> found.features.tolist(), found.classes.tolist(), found.count.tolist()
        ([[0], [1]], [2, 4], [4, 2])
        """
        sizes = [max(domain.size, 1) for domain in domains]
        columns = [rows[:, place] for place in range(len(domains))]
        seen, label = np.unique(classes, return_inverse=True)
        first, entry = group([*columns, label], [*sizes, len(seen)], len(rows))
        first_of_kind, kind = group([column[first] for column in columns], sizes, len(first))
        return cls(
            domains,
            seen.astype(np.int64),
            rows[first[first_of_kind]].astype(np.int64),
            kind,
            label[first].astype(np.int64),
            total_by(entry, counts, len(first)),
        )

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return int(self.count.sum())

    @cached_property
    def of_class(self) -> Counts:
        """The number of rows of each class."""
        return total_by(self.label, self.count, len(self.classes))


def learn(model: str, examples: Examples) -> Predictor:
    """Train a model, one of `LEARNERS`.

    Returns a function that predicts the class of rows: always the most frequent class if there is
    no feature, and -1 if there are no rows to learn from.
    """
    if len(examples.classes) < 2 or not examples.domains:
        seen = examples.classes
        only = int(seen[examples.of_class.argmax()]) if len(seen) else -1
        return lambda features: np.full(len(features), only, dtype=np.int64)
    return LEARNERS[model](examples)


def rows_of_leaf(n_rows: int) -> int:
    """Return the fewest rows of a leaf of a tree; a small table has smaller leaves.

    Examples
    --------
    >>> rows_of_leaf(10_000), rows_of_leaf(100), rows_of_leaf(3)
    (20, 5, 1)
    """
    return min(_FEWEST_ROWS, max(1, n_rows // _FEWEST_ROWS))


# --- the tree -------------------------------------------------------------------------------------


def _tree(examples: Examples) -> Predictor:
    """Grow a tree until its leaves are pure or too small to split [Breiman84].

    Columns with an order, or with many values, are split at a threshold; of the others one value is
    split from the rest.
    """
    domains, n_entries = examples.domains, len(examples.count)
    is_apart = np.array(
        [not domain.type.has_order and domain.size <= _MOST_APART for domain in domains]
    ).astype(np.uint8)
    codes = np.ascontiguousarray(examples.features[examples.kind].T, dtype=np.int32)
    n_classes, least = len(examples.classes), rows_of_leaf(examples.n_rows)
    grower = GiniGrower(
        codes,
        examples.label.astype(np.int32),
        examples.count.astype(np.int64),
        is_apart,
        least,
        np.argsort(codes, axis=1, kind="stable").astype(np.int32),
        np.empty(n_entries, dtype=np.uint8),
        np.empty(n_entries, dtype=np.int32),
        np.zeros(n_classes, dtype=np.int64),
        np.zeros(n_classes, dtype=np.int64),
    )
    n_most = 2 * min(n_entries, examples.n_rows // least) + 1
    begin, end, cut, child = (np.empty(n_most, dtype=np.int64) for _ in range(4))
    feature, majority = (np.empty(n_most, dtype=np.int32) for _ in range(2))
    grower.grow(begin, end, feature, cut, child, majority)

    def predict(rows: Codes) -> Codes:
        leaf = np.empty(len(rows), dtype=np.int64)
        find_leaves(np.ascontiguousarray(rows, dtype=np.int32), is_apart, feature, cut, child, leaf)
        found: Codes = examples.classes[majority[leaf]]
        return found

    return predict


# --- naive Bayes ----------------------------------------------------------------------------------


def _bayes(examples: Examples) -> Predictor:
    """Multiply the shares of each feature's value within each class."""
    n_classes = len(examples.classes)
    shares = []
    for place, domain in enumerate(examples.domains):
        key = examples.features[examples.kind, place] * n_classes + examples.label
        size = max(domain.size, 1)
        counted = np.bincount(key, examples.count, size * n_classes).reshape(size, n_classes)
        shares.append(np.log((counted + SMOOTHING) / (counted + SMOOTHING).sum(axis=0)))
    prior = np.log(examples.of_class / examples.n_rows)

    def predict(rows: Codes) -> Codes:
        scores = np.repeat(prior[np.newaxis], len(rows), axis=0)
        for place, share in enumerate(shares):
            scores += share[rows[:, place]]
        found: Codes = examples.classes[scores.round(DIGITS).argmax(axis=1)]
        return found

    return predict


# --- boosting -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Bins:
    """The bins of a feature: its values, or runs of them if there are too many."""

    is_unordered: bool
    # The values of an unordered feature; otherwise the largest doubled code of each bin but one.
    bounds: Floats

    @classmethod
    def of(cls, domain: Domain, codes: Codes, counts: Counts) -> _Bins:
        """Return the bins of the codes of a feature that were seen, `counts` rows each."""
        seen, place = np.unique(codes, return_inverse=True)
        if not domain.type.has_order and domain.size <= _MOST_BINS:
            return cls(True, seen.astype(np.float64))
        if len(seen) <= _MOST_BINS:
            return cls(False, (seen[:-1] + seen[1:]).astype(np.float64))
        reached = np.cumsum(total_by(place, counts, len(seen)))
        # Runs of about equally many rows.
        shares = np.arange(1, _MOST_BINS) / _MOST_BINS
        last = np.searchsorted(reached, shares * reached[-1])
        return cls(False, 2.0 * np.unique(seen[last]))

    @property
    def size(self) -> int:
        return len(self.bounds) + (not self.is_unordered)

    def place(self, codes: Codes) -> Codes:
        """Return the bin of each code; -1 for a value of an unordered feature that is not seen."""
        if not self.is_unordered:
            return np.searchsorted(self.bounds, 2.0 * codes)
        found = np.minimum(np.searchsorted(self.bounds, codes), len(self.bounds) - 1)
        return np.where(self.bounds[found] == codes, found, -1)


@dataclass(frozen=True, eq=False)
class _Trees:
    """The trees of a boosted model, one after another; see `BoostingGrower.grow`."""

    feature: Codes
    child: Codes
    is_unseen_left: Codes
    goes_left: Codes
    value: Floats

    @classmethod
    def leaves(cls, n_trees: int) -> _Trees:
        """Return trees that are not grown yet."""
        shape = n_trees, 2 * _LEAVES - 1
        return cls(
            np.full(shape, -1, dtype=np.int32),
            np.full(shape, -1, dtype=np.int32),
            np.zeros(shape, dtype=np.uint8),
            np.zeros((*shape, 4), dtype=np.uint64),
            np.zeros(shape),
        )

    def of(self, tree: int) -> tuple[Codes, Codes, Codes, Codes, Floats]:
        """Return the parts of one tree."""
        parts = (self.feature, self.child, self.is_unseen_left, self.goes_left, self.value)
        feature, child, is_unseen_left, goes_left, value = (part[tree] for part in parts)
        return feature, child, is_unseen_left, goes_left, value


@dataclass(frozen=True, eq=False)
class Boosted:
    """Small trees that are added up, one per class and round; one per round if there are two."""

    classes: Codes
    bins: Sequence[_Bins]
    # The scores before the first tree: one per class, and one in all if there are two.
    base: Floats
    trees: _Trees

    @classmethod
    def fit(cls, examples: Examples) -> Boosted:
        """Grow trees, each by the derivatives of the loss at the scores so far."""
        weight = total_by(examples.kind, examples.count, len(examples.features)).astype(np.float64)
        bins = [
            _Bins.of(domain, examples.features[:, place], weight.astype(np.int64))
            for place, domain in enumerate(examples.domains)
        ]
        grower = _grower(examples, bins, weight)
        n_classes = len(examples.classes)
        n_scores = 1 if n_classes == 2 else n_classes
        n_rounds = min(max(_MOST_TREES // n_scores, _FEWEST_ROUNDS), _MOST_ROUNDS)
        trees = _Trees.leaves(n_rounds * n_scores)
        share = examples.of_class / examples.n_rows
        # The score of the first of two classes stays 0.
        base = np.log(share[1:] / share[0]) if n_scores == 1 else np.log(share)
        scores = np.repeat(base[:, np.newaxis], len(weight), axis=1)
        held = np.zeros((n_classes, len(weight)))
        held[examples.label, examples.kind] = examples.count
        for number in range(n_rounds):
            likely = _probabilities(scores)
            slopes = likely * weight - held[-n_scores:]
            curvatures = likely * (1 - likely) * weight
            for place in range(n_scores):
                grower.grow(
                    slopes[place],
                    curvatures[place],
                    *trees.of(number * n_scores + place),
                    scores[place],
                )
        return cls(examples.classes, bins, base, trees)

    def scores(self, rows: Codes) -> Floats:
        """Return the scores of rows of features, one line per class or one in all."""
        columns = [one.place(rows[:, place]) for place, one in enumerate(self.bins)]
        binned = np.column_stack(columns).astype(np.int32)
        found = np.repeat(self.base[:, np.newaxis], len(rows), axis=1)
        for tree in range(len(self.trees.feature)):
            add_scores(binned, *self.trees.of(tree), found[tree % len(found)])
        return found

    def predict(self, rows: Codes) -> Codes:
        """Return the likeliest class of each row of features."""
        found = self.scores(rows).round(DIGITS)
        place = found.argmax(axis=0) if len(found) > 1 else (found[0] > 0).astype(np.int64)
        likeliest: Codes = self.classes[place]
        return likeliest


def _grower(examples: Examples, bins: Sequence[_Bins], weight: Floats) -> BoostingGrower:
    """Return what grows trees on the distinct rows."""
    first = np.cumsum([0, *(one.size for one in bins)])
    places = [
        one.place(examples.features[:, place]) + first[place] for place, one in enumerate(bins)
    ]
    n_kinds, n_nodes, largest = len(weight), 2 * _LEAVES - 1, max(one.size for one in bins)
    return BoostingGrower(
        np.ascontiguousarray(np.column_stack(places), dtype=np.int32),
        first.astype(np.int64),
        np.array([one.is_unordered for one in bins]).astype(np.uint8),
        weight,
        np.array([_FEWEST_ROWS, _LEAST_CURVATURE, _SHRINKAGE, _LEAST_SUPPORT, 1e-9, _RATE]),
        np.empty(n_kinds, dtype=np.int32),
        np.empty(n_kinds, dtype=np.int32),
        np.empty((_LEAVES, int(first[-1]), 3)),
        np.empty(largest, dtype=np.int64),
        np.empty(largest),
        np.empty((n_nodes, 4), dtype=np.int64),
        np.empty((n_nodes, 8)),
    )


def _probabilities(scores: Floats) -> Floats:
    """Return the probability of each class from its score, one line per class."""
    if len(scores) == 1:
        return np.asarray(1 / (1 + np.exp(-scores)), dtype=np.float64)
    likely = np.exp(scores - scores.max(axis=0))
    likely /= likely.sum(axis=0)
    return np.asarray(likely, dtype=np.float64)


LEARNERS: Mapping[str, Callable[[Examples], Predictor]] = {
    "tree": _tree,
    "bayes": _bayes,
    "boosting": lambda examples: Boosted.fit(examples).predict,
}
"""The models by name."""
