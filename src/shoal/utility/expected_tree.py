"""A decision tree that is grown on expected tables, without linking anything at random.

All that a tree needs in order to split a node are the rows of every value beside every class, among
those that reach the node. A release lets these be expected exactly, also where columns are not
linked and labels stand for several values. The best split anywhere is made first.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 7.
[Breiman84] L. Breiman et al.: Classification and Regression Trees. 1984: splits by the Gini index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from shoal.analyse.linked import Linked, LinkedColumn
from shoal.core.cells import Cells, Codes
from shoal.core.domain import Domain
from shoal.measures._estimated import Estimated, Reals, Shares

__all__ = ["Tables", "grow_tree"]

Marks = npt.NDArray[np.bool_]

_MOST_LEAVES = 32
_DIGITS = 9
"""Gains that agree so far are taken as equal, on every machine."""


@dataclass(frozen=True, eq=False)
class Tables:
    """What the tables of two attributes are expected from, under conditions on others.

    Parameters
    ----------
    linked
        The columns, linked at random within buckets.
    shares
        How the labels of each attribute are shared out among values.
    domains
        The values of each attribute.
    """

    linked: Linked
    shares: Mapping[str, Shares]
    domains: Mapping[str, Domain]

    @classmethod
    def of_release(cls, estimated: Estimated, names: Sequence[str] | None = None) -> Tables:
        """Expect tables of some attributes from a release; of all where none are named."""
        names = estimated.attributes if names is None else names
        shares = {name: estimated.shares[name] for name in names}
        domains = {name: estimated.truth.domain(name) for name in names}
        return cls(estimated.linked(names), shares, domains)

    @classmethod
    def of_table(cls, cells: Cells, names: Sequence[str]) -> Tables:
        """Count tables in the original."""
        chosen = cells.select(names)
        bucket = np.zeros(chosen.n_cells, dtype=np.int64)
        column = LinkedColumn(chosen.domains, bucket, chosen.codes, chosen.counts)
        ones = {domain.column: np.arange(domain.size) for domain in chosen.domains}
        shares = {
            name: Shares(code, code, np.ones(len(code)), len(code), len(code))
            for name, code in ones.items()
        }
        domains = {domain.column: domain for domain in chosen.domains}
        return cls(Linked.of_columns([column]), shares, domains)

    @cached_property
    def _matrices(self) -> Mapping[str, tuple[Any, Any]]:
        """The shares of each attribute: one row a value, and one row a label."""
        return {name: (one.matrix.T.tocsr(), one.matrix) for name, one in self.shares.items()}

    @cached_property
    def _by_label_order(self) -> Mapping[str, tuple[Codes, Codes]]:
        """The entries of each attribute's column by its labels, and where those of each begin.

        Which entries there are is the same under all conditions; how much they count for is not.
        """
        found = {}
        for name, shares in self.shares.items():
            code = self.linked.columns[self.linked.place_of[name]].code_of(name)
            found[name] = np.argsort(code, kind="stable"), _starts(code, shares.n_labels)
        return found

    @cached_property
    def _starts_of_buckets(self) -> tuple[Codes, ...]:
        """Where the entries of each bucket begin, by column: they are sorted by bucket."""
        return tuple(
            _starts(column.bucket, self.linked.n_buckets) for column in self.linked.columns
        )

    def expected(self, feature: str, target: str, path: Mapping[str, Marks]) -> Reals:
        """Give the expected rows of every value of two attributes.

        Parameters
        ----------
        feature, target
            The attributes, one an axis.
        path
            By attribute the values that rows must have.
        """
        held = [self.linked.place_of[name] for name in (feature, target)]
        others = {name: marks for name, marks in path.items() if name not in (feature, target)}
        weights = [self._weights(column, others) for column in self.linked.columns]
        factor = np.ones(self.linked.n_buckets)
        for at, (column, weight) in enumerate(zip(self.linked.columns, weights, strict=True)):
            # What no condition names is met by all rows.
            if at not in held and not set(column.attributes).isdisjoint(others):
                met = np.bincount(column.bucket, weight, self.linked.n_buckets)
                factor *= met / self.linked.sizes
        by_label = self._by_label(feature, target, weights, factor)
        table = self._matrices[feature][0] @ by_label @ self._matrices[target][1]
        dense: Reals = np.asarray(table.todense(), dtype=np.float64)
        for axis, name in enumerate((feature, target)):
            if name in path:
                dense *= path[name][:, np.newaxis] if axis == 0 else path[name]
        return dense

    def _weights(self, column: LinkedColumn, conditions: Mapping[str, Marks]) -> Reals:
        """Give how many rows of each entry meet conditions, in expectation."""
        weight = column.count.astype(np.float64)
        for name in column.attributes:
            if name in conditions:
                met = self.shares[name].weigh_labels(conditions[name].astype(np.float64))
                weight *= met[column.code_of(name)]
        return weight

    def _by_label(self, feature: str, target: str, weights: Sequence[Reals], factor: Reals) -> Any:
        """Give the expected rows of every label of two attributes."""
        one, other = (self.linked.place_of[name] for name in (feature, target))
        first, second = self.linked.columns[one], self.linked.columns[other]
        n_labels = [self.shares[name].n_labels for name in (feature, target)]
        order, starts = self._by_label_order[feature]
        code = second.code_of(target)
        if one == other:
            weight = weights[one] * factor[first.bucket]
            return csr_array((weight[order], code[order], starts), shape=tuple(n_labels))
        n_buckets = self.linked.n_buckets
        features = csr_array(
            (weights[one][order], first.bucket[order], starts), shape=(n_labels[0], n_buckets)
        )
        weight = weights[other] * (factor / self.linked.sizes)[second.bucket]
        targets = csr_array(
            (weight, code, self._starts_of_buckets[other]), shape=(n_buckets, n_labels[1])
        )
        return features @ targets


def _starts(sorted_by: Codes, n_groups: int) -> Codes:
    """Give where each group begins once entries are sorted by it, and where the last one ends."""
    counts = np.bincount(sorted_by, minlength=n_groups)
    return np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True, eq=False)
class _Split:
    """The best way to split a node: by which values of which attribute, and how much is gained."""

    gain: float
    feature: str
    goes_left: Marks


@dataclass(eq=False)
class _Node:
    """A node of the tree; a leaf as long as it has no split."""

    path: Mapping[str, Marks]
    label: int
    best: _Split | None
    children: tuple[_Node, _Node] | None = None


@dataclass(frozen=True, eq=False)
class _Tree:
    """A tree that was grown."""

    root: _Node
    features: Sequence[str]

    def predict(self, rows: Codes) -> Codes:
        """Give the class of each row of features."""
        found = np.empty(len(rows), dtype=np.int64)
        waiting = [(self.root, np.arange(len(rows)))]
        while waiting:
            node, places = waiting.pop()
            if node.children is None or node.best is None:
                found[places] = node.label
                continue
            codes = rows[places, self.features.index(node.best.feature)]
            goes_left = node.best.goes_left[codes]
            waiting.append((node.children[0], places[goes_left]))
            waiting.append((node.children[1], places[~goes_left]))
        return found


def grow_tree(tables: Tables, features: Sequence[str], target: str, least: float) -> _Tree:
    """Grow a tree.

    Parameters
    ----------
    tables
        What the rows that reach a node are expected from.
    features, target
        What the tree goes by, and what it predicts.
    least
        The fewest rows that a leaf must be expected to have.
    """
    root = _node(tables, features, target, {}, least)
    leaves = [root]
    while len(leaves) < _MOST_LEAVES:
        node = max(leaves, key=lambda leaf: leaf.best.gain if leaf.best is not None else 0.0)
        if node.best is None:
            break
        left, right = (
            _node(tables, features, target, path, least) for path in _paths(node.path, node.best)
        )
        node.children = left, right
        leaves.remove(node)
        leaves += [left, right]
    return _Tree(root, features)


def _paths(path: Mapping[str, Marks], split: _Split) -> list[dict[str, Marks]]:
    """Give the conditions of both children."""
    before = path.get(split.feature, np.ones(len(split.goes_left), dtype=bool))
    return [{**path, split.feature: before & side} for side in (split.goes_left, ~split.goes_left)]


def _node(
    tables: Tables, features: Sequence[str], target: str, path: Mapping[str, Marks], least: float
) -> _Node:
    best: _Split | None = None
    label = -1
    for feature in features:
        table = tables.expected(feature, target, path)
        if label < 0 and table.sum() > 0:
            label = int(table.sum(axis=0).round(_DIGITS).argmax())
        split = _best_split(table, tables.domains[feature], feature, least)
        if split is not None and (best is None or split.gain > best.gain):
            best = split
    return _Node(path, label, best)


def _best_split(table: Reals, domain: Domain, feature: str, least: float) -> _Split | None:
    """Find the split of a table, one row a value, that makes classes purest.

    Values with an order are parted at one of them; of others one is parted from the rest.
    """
    whole = table.sum(axis=0)
    left = np.cumsum(table, axis=0)[:-1] if domain.type.has_order else table
    right = whole - left
    sizes = left.sum(axis=1), right.sum(axis=1)
    # Rounding must not decide whether a leaf is large enough.
    is_allowed = (sizes[0] > least - 10**-_DIGITS) & (sizes[1] > least - 10**-_DIGITS)
    if not is_allowed.any():
        return None
    gain = _purity(left, sizes[0]) + _purity(right, sizes[1]) - _purity(whole, whole.sum())
    gain = np.where(is_allowed, gain, 0.0).round(_DIGITS)
    place = int(gain.argmax())
    if gain[place] <= 0:
        return None
    values = np.arange(len(table))
    goes_left = values <= place if domain.type.has_order else values == place
    return _Split(float(gain[place]), feature, goes_left)


def _purity(classes: Reals, n_rows: Reals) -> Reals:
    """Give how many rows would be right if each took the class of another one of its node."""
    purity: Reals = (classes**2).sum(axis=-1) / np.maximum(n_rows, 10**-_DIGITS)
    return purity
