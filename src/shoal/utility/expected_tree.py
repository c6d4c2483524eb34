"""A decision tree that is grown on expected tables, without linking anything at random.

To split a node, a tree needs only the number of rows of every value and class among the rows that
reach the node. A release allows an exact expectation of that table, even if columns are not linked
and labels stand for several values. The tree is grown best split first.

Naive Bayes as well needs only the expected number of rows of every value and class. Other models
learn from rows, so columns are first linked at random and labels replaced by values
(`shoal.utility.learners`).

References
----------
[Slicing] (see `shoal.core.sliced`) Section 7.
[Breiman84] L. Breiman et al.: Classification and Regression Trees. 1984: splits by the Gini index.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.utility._kernels import add_tables
from shoal.utility.estimated import Estimated, Shares
from shoal.utility.learners import DIGITS, SMOOTHING
from shoal.utility.linked import Linked, LinkedColumn

_MOST_LEAVES = 32
_Asked = tuple[int, tuple[str, ...]]
"""A column, by its place, and those of its attributes whose conditions apply."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The source of expected tables of two attributes, under conditions on others."""

    linked: Linked
    shares: Mapping[str, Shares]
    domains: Mapping[str, Domain]

    @classmethod
    def of_release(cls, estimated: Estimated, names: Sequence[str] | None = None) -> Tables:
        """Return the expected tables of a release. Default: those of all attributes."""
        names = estimated.attributes if names is None else names
        shares = {name: estimated.shares[name] for name in names}
        domains = {name: estimated.truth.domain(name) for name in names}
        return cls(estimated.linked(names), shares, domains)

    @classmethod
    def of_table(cls, cells: Cells, names: Sequence[str]) -> Tables:
        """Return the tables of the original, which is one bucket with a single column."""
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
    def each_entry(self) -> tuple[tuple[Codes, Codes], ...]:
        """Every entry as a bucket of its own, by column, and where each begins."""
        numbers = [np.arange(len(column.count) + 1) for column in self.linked.columns]
        return tuple((number[:-1], number) for number in numbers)

    @cached_property
    def starts_of_buckets(self) -> tuple[Codes, ...]:
        """Where the entries of each bucket begin, by column: they are sorted by bucket."""
        return tuple(
            _starts(column.bucket, self.linked.n_buckets) for column in self.linked.columns
        )

    def expected(self, feature: str, target: str, path: Mapping[str, Flags]) -> Floats:
        """Return the expected rows of every pair of values of two attributes, one per axis.

        `path` flags, by attribute, the values that rows must have.
        """
        return Conditioned(self, path).expected(feature, target)

    def weigh(self, place: int, conditions: Mapping[str, Flags]) -> Floats:
        """Return the expected number of rows of each entry of a column that meet conditions."""
        column = self.linked.columns[place]
        weight = column.count.astype(np.float64)
        for name in column.attributes:
            if name in conditions:
                met = self.shares[name].weigh_labels(conditions[name].astype(np.float64))
                weight *= met[column.code_of(name)]
        return weight


class Conditioned:
    """Expected tables of the rows that meet the conditions `path`, as those of a tree's node do.

    The tables of a node differ in one attribute each, so they share most weights.
    """

    def __init__(self, tables: Tables, path: Mapping[str, Flags]) -> None:
        self.tables = tables
        self.path = path
        self._weights: dict[_Asked, Floats] = {}
        self._met: dict[_Asked, Floats] = {}
        self._by_label: dict[tuple[str, str], Floats] = {}

    def expected(self, feature: str, target: str) -> Floats:
        """Return the expected rows of every pair of values of two attributes, one per axis."""
        by_label = self._by_label.pop((feature, target), None)
        if by_label is None:
            self._add_tables(feature, target)
            by_label = self._by_label.pop((feature, target))
        table = self._of_values(feature, by_label)
        return np.ascontiguousarray(self._of_values(target, np.ascontiguousarray(table.T)).T)

    def _of_values(self, name: str, by_label: Floats) -> Floats:
        """Divide the rows of each label of an attribute among its values that are not ruled out."""
        shares = self.tables.shares[name]
        if shares.is_identity:
            table = by_label
        else:
            table = np.asarray(shares.matrix.T @ by_label, dtype=np.float64)
        if name in self.path:
            table = table * self.path[name][:, np.newaxis]
        return table

    def _add_tables(self, feature: str, target: str) -> None:
        """Count the rows of every label of a feature and the target.

        Features of the same column under the same conditions are counted in one pass.
        """
        tables, linked = self.tables, self.tables.linked
        one, other = (linked.place_of[name] for name in (feature, target))
        column = linked.columns[one]
        own = self._asked(one, feature, target)
        alike = [
            name
            for name in column.attributes
            if name != target and name in tables.shares
            if self._asked(one, name, target) == own
        ]
        # A column without a condition is met by all rows.
        elsewhere = tuple(
            asked
            for at in range(len(linked.columns))
            if at not in (one, other)
            for asked in [self._asked(at, feature, target)]
            if asked[1]
        )
        weight = self._weight(own)
        if one == other:
            weight = weight * self._factor(elsewhere)[column.bucket] if elsewhere else weight
            bucket, starts = tables.each_entry[one]
            label, share = column.code_of(target), np.ones(len(weight))
        else:
            bucket, starts = column.bucket, tables.starts_of_buckets[other]
            label, share = self._shares_by_bucket(target, other, elsewhere)
        sizes = [tables.shares[name].n_labels for name in alike]
        first = np.cumsum([0, *sizes])
        out = np.zeros((int(first[-1]), tables.shares[target].n_labels))
        places = np.array([column.attributes.index(name) for name in alike], dtype=np.int64)
        add_tables(column.codes, places, first[:-1], bucket, weight, starts, label, share, out)
        for name, begin, size in zip(alike, first.tolist(), sizes, strict=False):
            self._by_label[name, target] = out[begin : begin + size]

    def _asked(self, place: int, feature: str, target: str) -> _Asked:
        """Return the conditions that apply to the entries of a column.

        One on the feature or the target applies to the values of the table's axis, unless every
        label stands for one value, which is the same then.
        """
        return place, tuple(
            name
            for name in self.tables.linked.columns[place].attributes
            if name in self.path
            and (name not in (feature, target) or self.tables.shares[name].is_identity)
        )

    def _shares_by_bucket(
        self, target: str, place: int, elsewhere: tuple[_Asked, ...]
    ) -> tuple[Codes, Floats]:
        """Return each entry's label of the target, and its share of the rows of its bucket."""
        linked = self.tables.linked
        column = linked.columns[place]
        asked = self._asked(place, target, target)
        share = self._weight(asked) * (self._factor(elsewhere) / linked.sizes)[column.bucket]
        return column.code_of(target), share

    def _weight(self, asked: _Asked) -> Floats:
        """Return the expected number of rows of each entry of a column that meet conditions."""
        if asked not in self._weights:
            place, names = asked
            self._weights[asked] = self.tables.weigh(
                place, {name: self.path[name] for name in names}
            )
        return self._weights[asked]

    def _factor(self, elsewhere: tuple[_Asked, ...]) -> Floats:
        """Return for each bucket the share of rows that meet the conditions on other columns."""
        linked = self.tables.linked
        factor = np.ones(linked.n_buckets)
        for asked in elsewhere:
            if asked not in self._met:
                bucket = linked.columns[asked[0]].bucket
                met = np.bincount(bucket, self._weight(asked), linked.n_buckets)
                self._met[asked] = met / linked.sizes
            factor *= self._met[asked]
        return factor


def _starts(sorted_by: Codes, n_groups: int) -> Codes:
    """Return where each group begins once entries are sorted by group, and where the last ends."""
    counts = np.bincount(sorted_by, minlength=n_groups)
    return np.concatenate([[0], np.cumsum(counts)])


@dataclass(frozen=True, eq=False)
class _Split:
    """The best split of a node; rows with the values `goes_left` go to the left child."""

    gain: float
    feature: str
    goes_left: Flags


@dataclass(eq=False)
class _Node:
    """A node of the tree; a leaf as long as it has no split."""

    path: Mapping[str, Flags]
    label: int
    best: _Split | None
    children: tuple[_Node, _Node] | None = None


@dataclass(frozen=True, eq=False)
class _Tree:
    """A decision tree."""

    root: _Node
    features: Sequence[str]

    def predict(self, rows: Codes) -> Codes:
        """Return the class of each row of features."""
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
    """Grow a tree that predicts `target`; every leaf expects at least `least` rows."""
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


def _paths(path: Mapping[str, Flags], split: _Split) -> list[dict[str, Flags]]:
    """Return the conditions of both children."""
    before = path.get(split.feature, np.ones(len(split.goes_left), dtype=bool))
    return [{**path, split.feature: before & side} for side in (split.goes_left, ~split.goes_left)]


def _node(
    tables: Tables, features: Sequence[str], target: str, path: Mapping[str, Flags], least: float
) -> _Node:
    best: _Split | None = None
    label = -1
    reaching = Conditioned(tables, path)
    for feature in features:
        table = reaching.expected(feature, target)
        if label < 0 and table.sum() > 0:
            label = int(table.sum(axis=0).round(DIGITS).argmax())
        split = _best_split(table, tables.domains[feature], feature, least)
        if split is not None and (best is None or split.gain > best.gain):
            best = split
    return _Node(path, label, best)


def _best_split(table: Floats, domain: Domain, feature: str, least: float) -> _Split | None:
    """Return the split of a table, one row per value, with the largest gain in purity.

    Ordered values are split at a threshold; otherwise one value is split from the rest.
    """
    whole = table.sum(axis=0)
    left = np.cumsum(table, axis=0)[:-1] if domain.type.has_order else table
    right = whole - left
    sizes = left.sum(axis=1), right.sum(axis=1)
    # Rounding must not decide whether a leaf is large enough.
    is_allowed = (sizes[0] > least - 10**-DIGITS) & (sizes[1] > least - 10**-DIGITS)
    if not is_allowed.any():
        return None
    gain = _purity(left, sizes[0]) + _purity(right, sizes[1]) - _purity(whole, whole.sum())
    gain = np.where(is_allowed, gain, 0.0).round(DIGITS)
    place = int(gain.argmax())
    if gain[place] <= 0:
        return None
    values = np.arange(len(table))
    goes_left = values <= place if domain.type.has_order else values == place
    return _Split(float(gain[place]), feature, goes_left)


def _purity(classes: Floats, n_rows: Floats) -> Floats:
    """Return the expected hits if each row got the class of a random row of its node.

    The larger it is, the smaller is the Gini index of [Breiman84].
    """
    purity: Floats = (classes**2).sum(axis=-1) / np.maximum(n_rows, 10**-DIGITS)
    return purity


# --- naive Bayes ----------------------------------------------------------------------------------


def predict_by_tables(
    estimated: Estimated, features: Sequence[str], target: str, rows: Codes
) -> Codes:
    """Predict the class of rows by naive Bayes, from expected tables of each feature and target."""
    expected = estimated.shares[target].weigh_values(estimated.n_rows_of_labels(target))
    if expected.sum() <= 0:
        return np.full(len(rows), -1, dtype=np.int64)
    with np.errstate(divide="ignore"):
        score = np.repeat(np.log(expected)[np.newaxis], len(rows), axis=0)
    for place, name in enumerate(features):
        tables = Tables.of_release(estimated, [name, target])
        table = tables.expected(name, target, {}) + SMOOTHING
        score += np.log(table / table.sum(axis=0))[rows[:, place]]
    # Classes that differ only by rounding are tied; the first one wins.
    return np.asarray(score.round(DIGITS).argmax(axis=1), dtype=np.int64)
