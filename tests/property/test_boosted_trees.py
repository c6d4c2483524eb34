"""Boosted trees against trees that try every split by its definition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, floor, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.kernels import load_plain
from shoal.hiding import _tree_kernels
from shoal.hiding.boosted_trees import TreeLimits

LIMITS = TreeLimits(3, n_leaves=4, fewest_cells=2, fewest_of_category=2)


@dataclass
class PlainTrees:
    """Gradient boosting as the kernel's header defines it, cell by cell."""

    bins: np.ndarray
    n_values: list[int]
    is_ordered: list[int]
    label: list[int]
    n_classes: int
    limits: TreeLimits

    def scores(self, others):
        """Return the scores of other cells."""
        n_cells, classes = len(self.label), range(self.n_classes)
        prior = [float(np.log(self.label.count(k) / n_cells)) for k in classes]
        scores = [list(prior) for _ in range(n_cells)]
        of_others = [[0.0] * self.n_classes for _ in others]
        for _ in range(self.limits.n_rounds):
            derivatives = [
                self.derive(row, label) for row, label in zip(scores, self.label, strict=True)
            ]
            for k in classes:
                for leaf, splits in self.grow([row[k] for row in derivatives]):
                    value = self.value([derivatives[cell][k] for cell in leaf])
                    for cell in leaf:
                        scores[cell][k] += value
                    for row, one in zip(of_others, others, strict=True):
                        if all((one[f] in left) == is_left for f, left, is_left in splits):
                            row[k] += value
        return [[a + b for a, b in zip(row, prior, strict=True)] for row in of_others]

    def derive(self, scores, label):
        """Return the gradient and the second derivative of each class, as whole numbers."""
        powers = [exp(score - max(scores)) for score in scores]
        total = 0.0
        for power in powers:
            total += power
        found = []
        for k, power in enumerate(powers):
            p = power / total
            second = floor(p * (1.0 - p) * 2**20 + 0.5)
            found.append((floor((p - (label == k)) * 2**30 + 0.5), second))
        return found

    def sums(self, cells):
        return sum(g for g, _ in cells) / 2**30, sum(h for _, h in cells) / 2**20

    def value(self, cells):
        gradient, second = self.sums(cells)
        return -self.limits.rate * gradient / (second + self.limits.penalty)

    def merit(self, cells):
        gradient, second = self.sums(cells)
        return gradient * gradient / (second + self.limits.penalty)

    def grow(self, derivative):
        """Return the cells of each leaf, and the way to it."""
        leaves = [(list(range(len(derivative))), ())]
        while len(leaves) < self.limits.n_leaves:
            best = [self.best_split(cells, derivative) for cells, _ in leaves]
            place = max(range(len(leaves)), key=lambda one: best[one][0])
            gain, f, left = best[place]
            if gain <= 0:
                break
            cells, way = leaves[place]
            leaves[place] = [c for c in cells if self.bins[c][f] in left], (*way, (f, left, True))
            leaves.append(
                ([c for c in cells if self.bins[c][f] not in left], (*way, (f, left, False)))
            )
        return leaves

    def best_split(self, cells, derivative):
        """Return the first split with the largest gain: its gain, feature and left bins."""
        best = 0.0, None, None
        for f in range(len(self.n_values)):
            for left in self.splits(f, cells, derivative):
                on_left = [derivative[c] for c in cells if self.bins[c][f] in left]
                on_right = [derivative[c] for c in cells if self.bins[c][f] not in left]
                if min(len(on_left), len(on_right)) < self.limits.fewest_cells:
                    continue
                gain = self.merit(on_left) + self.merit(on_right) - self.merit(on_left + on_right)
                if gain > best[0]:
                    best = gain, f, left
        return best

    def splits(self, f, cells, derivative):
        """List the sets of bins that may go left, in the order in which they are tried."""
        n = self.n_values[f]
        present = {int(self.bins[c][f]) for c in cells}
        if n + 1 in present:
            yield {n + 1}
        if self.is_ordered[f]:
            yield from (set(range(v + 1)) for v in range(n))
            if present & {n, n + 1}:
                yield from ({n, n + 1, *range(v + 1)} for v in range(n - 1))
            return
        of_bin = {b: [derivative[c] for c in cells if self.bins[c][f] == b] for b in present}
        means = []
        for b in sorted(present):
            gradient, second = self.sums(of_bin[b])
            if len(of_bin[b]) >= self.limits.fewest_of_category:
                means.append((gradient / (second + self.limits.smoothing), b))
        ordered = [b for _, b in sorted(means)]
        yield from (set(ordered[: place + 1]) for place in range(len(ordered)))


@st.composite
def lessons(draw):
    """Draw cells with few features, bins and classes."""
    n_values = draw(st.lists(st.integers(0, 4), min_size=1, max_size=3))
    n_classes = draw(st.integers(1, 3))
    n_cells = draw(st.integers(n_classes, 25))
    rows = [[draw(st.integers(0, n + 1)) for n in n_values] for _ in range(n_cells)]
    label = [*range(n_classes), *(draw(st.integers(0, n_classes - 1)) for _ in range(n_cells))]
    is_ordered = [draw(st.integers(0, 1)) for _ in n_values]
    limits = replace(
        LIMITS,
        n_leaves=draw(st.integers(1, 6)),
        fewest_cells=draw(st.integers(1, 4)),
        penalty=draw(st.sampled_from([0.5, 1.0, 10.0])),
        rate=draw(st.sampled_from([0.1, 1.0])),
    )
    return rows, n_values, is_ordered, label[:n_cells], n_classes, limits


def boosted(kernels, rows, n_values, is_ordered, label, n_classes, limits):
    bins = np.array(rows, dtype=np.uint8)
    booster = kernels.Booster(
        bins,
        np.array(n_values, dtype=np.int64),
        np.array(is_ordered, dtype=np.uint8),
        np.array(label, dtype=np.int64),
        n_classes,
        limits,
    )
    booster.fit()
    return booster


def scores_of(booster, rows, used=None):
    asked = booster.features_of_trees()
    used = np.ones(len(asked), dtype=np.uint8) if used is None else used
    scores = np.zeros((len(rows), len(booster.priors)))
    booster.add_scores(np.array(rows, dtype=np.uint8), used, scores)
    return scores + booster.priors


@given(lessons(), st.data())
def test_trees_are_those_of_their_definition(lesson, data):
    rows, n_values = lesson[:2]
    others = rows + [
        [data.draw(st.integers(0, n + 1)) for n in n_values]
        for _ in range(data.draw(st.integers(0, 5)))
    ]
    expected = PlainTrees(np.array(rows), *lesson[1:]).scores(others)
    assert scores_of(boosted(_tree_kernels, *lesson), others).tolist() == expected


@given(lessons())
def test_the_plain_kernel_grows_the_same_trees(lesson):
    compiled = boosted(_tree_kernels, *lesson)
    plain = boosted(load_plain("shoal.hiding._tree_kernels"), *lesson)
    assert np.array_equal(plain.features_of_trees(), compiled.features_of_trees())
    assert np.array_equal(scores_of(plain, lesson[0]), scores_of(compiled, lesson[0]))


@given(lessons(), st.data())
def test_trees_that_do_not_ask_for_a_feature_say_the_same_whatever_it_is(lesson, data):
    rows, n_values = lesson[:2]
    booster = boosted(_tree_kernels, *lesson)
    f = data.draw(st.integers(0, len(n_values) - 1))
    used = (~booster.features_of_trees()[:, f]).astype(np.uint8)
    changed = [
        [*row[:f], data.draw(st.integers(0, n_values[f] + 1)), *row[f + 1 :]] for row in rows
    ]
    assert np.array_equal(scores_of(booster, rows, used), scores_of(booster, changed, used))


def test_a_class_of_one_value_is_learned_at_once():
    rows = [[0]] * 10 + [[1]] * 10
    lesson = rows, [2], [1], [0] * 10 + [1] * 10, 2, replace(LIMITS, n_rounds=50, penalty=0.5)
    scores = scores_of(boosted(_tree_kernels, *lesson), rows)
    assert scores[:10, 0] - scores[:10, 1] == pytest.approx([scores[0, 0] - scores[0, 1]] * 10)
    assert scores[0, 0] - scores[0, 1] > log(20)
