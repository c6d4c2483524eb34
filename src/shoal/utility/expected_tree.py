"""A decision tree that is grown on expected tables, without linking anything at random.

To split a node, a tree needs only the number of rows of every value and class among the rows that
reach the node. A release allows an exact expectation of that table, even if columns are not linked
and labels stand for several values. The tree is grown best split first.

The other models that are trained on a release follow. Scikit-learn's models learn from rows, so
columns are first linked at random and labels replaced by values. Naive Bayes needs only the
expected number of rows of every value and class, so nothing is drawn.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 7.
[Breiman84] L. Breiman et al.: Classification and Regression Trees. 1984: splits by the Gini index.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from shoal.core.arrays import Codes, Flags, Floats
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.utility.estimated import Estimated, Shares
from shoal.utility.linked import Linked, LinkedColumn

_MOST_LEAVES = 32
_DIGITS = 9
"""Gains are rounded to so many digits, so that ties are the same on every machine."""
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
    def matrices(self) -> Mapping[str, tuple[Any, Any]]:
        """The shares of each attribute: one row per value, and one row per label."""
        return {name: (one.matrix.T.tocsr(), one.matrix) for name, one in self.shares.items()}

    @cached_property
    def by_label_order(self) -> Mapping[str, tuple[Codes, Codes]]:
        """The entries of each attribute's column sorted by label, and where each label begins.

        Conditions change the weights of entries, never the set of entries, so this is computed
        once.
        """
        found = {}
        for name, shares in self.shares.items():
            code = self.linked.columns[self.linked.place_of[name]].code_of(name)
            found[name] = np.argsort(code, kind="stable"), _starts(code, shares.n_labels)
        return found

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
        self._targets: dict[tuple[str, _Asked, tuple[_Asked, ...]], Any] = {}

    def expected(self, feature: str, target: str) -> Floats:
        """Return the expected rows of every pair of values of two attributes, one per axis."""
        tables, path = self.tables, self.path
        by_label = self._by_label(feature, target)
        table = tables.matrices[feature][0] @ by_label @ tables.matrices[target][1]
        dense: Floats = np.asarray(table.todense(), dtype=np.float64)
        for axis, name in enumerate((feature, target)):
            if name in path:
                dense *= path[name][:, np.newaxis] if axis == 0 else path[name]
        return dense

    def _by_label(self, feature: str, target: str) -> Any:
        """Return the expected rows of every label of two attributes."""
        tables, linked = self.tables, self.tables.linked
        one, other = (linked.place_of[name] for name in (feature, target))
        # A condition on one of the two attributes applies to the values of the table's axis.
        asked = [
            (
                at,
                tuple(
                    n for n in column.attributes if n in self.path and n not in (feature, target)
                ),
            )
            for at, column in enumerate(linked.columns)
        ]
        # A column without a condition is met by all rows.
        elsewhere = tuple(each for each in asked if each[0] not in (one, other) and each[1])
        n_labels = tables.shares[feature].n_labels, tables.shares[target].n_labels
        order, starts = tables.by_label_order[feature]
        first = linked.columns[one]
        if one == other:
            weight = self._weight(asked[one]) * self._factor(elsewhere)[first.bucket]
            code = first.code_of(target)
            return csr_array((weight[order], code[order], starts), shape=n_labels)
        weight = self._weight(asked[one])
        features = csr_array(
            (weight[order], first.bucket[order], starts), shape=(n_labels[0], linked.n_buckets)
        )
        key = target, asked[other], elsewhere
        if key not in self._targets:
            self._targets[key] = self._targets_by_bucket(*key)
        return features @ self._targets[key]

    def _targets_by_bucket(self, target: str, asked: _Asked, elsewhere: tuple[_Asked, ...]) -> Any:
        """Return each bucket's share of rows of every label of the target."""
        linked, place = self.tables.linked, asked[0]
        column = linked.columns[place]
        weight = self._weight(asked) * (self._factor(elsewhere) / linked.sizes)[column.bucket]
        starts = self.tables.starts_of_buckets[place]
        shape = linked.n_buckets, self.tables.shares[target].n_labels
        return csr_array((weight, column.code_of(target), starts), shape=shape)

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
            label = int(table.sum(axis=0).round(_DIGITS).argmax())
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


def _purity(classes: Floats, n_rows: Floats) -> Floats:
    """Return the expected hits if each row got the class of a random row of its node.

    The larger it is, the smaller is the Gini index of [Breiman84].
    """
    purity: Floats = (classes**2).sum(axis=-1) / np.maximum(n_rows, 10**-_DIGITS)
    return purity


# --- learners -------------------------------------------------------------------------------------


Predictor = Callable[[Codes], Codes]
"""Returns the class of each row of features."""

_MOST_TREES, _FEWEST_ROUNDS, _MOST_ROUNDS = 180, 12, 30
_LEAVES, _RATE, _SHRINKAGE = 15, 0.25, 10.0
"""Parameters of boosting. Few rounds of small trees learn as much as many rounds of large ones if
the learning rate is higher and leaves with few rows of a class are shrunk."""
_MOST_SHOWN = 64
"""Up to this many values of an unordered column become one feature each."""
_MOST_CATEGORIES = 255
_FEWEST_ROWS = 20
"""The fewest rows of a leaf; smaller leaves fit noise."""
_SMOOTHING = 1.0
_SEED = 0


def learn_rows(kind: str, domains: Sequence[Domain], rows: Codes, classes: Codes) -> Predictor:
    """Train a model, one of `LEARNERS`, on the features and the class of each row.

    Returns a function that predicts the class of rows: always the most frequent class if there is
    no feature, and -1 if there are no rows to learn from.
    """
    seen, times = np.unique(classes, return_counts=True)
    if len(seen) < 2 or not domains:
        only = int(seen[times.argmax()]) if len(seen) else -1
        return lambda features: np.full(len(features), only, dtype=np.int64)
    model, show = LEARNERS[kind](domains, len(rows), len(seen))
    with _one_thread(), warnings.catch_warnings():
        # A small table may have as many classes as rows.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        model.fit(show(rows), classes)

    def predict(features: Codes) -> Codes:
        with _one_thread():
            return np.asarray(model.predict(show(features)), dtype=np.int64)

    return predict


def rows_of_leaf(n_rows: int) -> int:
    """Return the fewest rows of a leaf of a tree; a small table has smaller leaves.

    Examples
    --------
    >>> rows_of_leaf(10_000), rows_of_leaf(100), rows_of_leaf(3)
    (20, 5, 1)
    """
    return min(_FEWEST_ROWS, max(1, n_rows // _FEWEST_ROWS))


def _tree(domains: Sequence[Domain], n_rows: int, _: int) -> tuple[Any, Callable[[Codes], Any]]:
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415 - an extra

    return (
        DecisionTreeClassifier(min_samples_leaf=rows_of_leaf(n_rows), random_state=_SEED),
        lambda rows: _shown_to_trees(domains, rows),
    )


def _bayes(domains: Sequence[Domain], _: int, __: int) -> tuple[Any, Callable[[Codes], Any]]:
    from sklearn.naive_bayes import CategoricalNB  # noqa: PLC0415 - an extra

    sizes = [max(domain.size, 1) for domain in domains]
    return CategoricalNB(alpha=_SMOOTHING, min_categories=sizes), lambda rows: rows


def _boosting(
    domains: Sequence[Domain], _: int, n_classes: int
) -> tuple[Any, Callable[[Codes], Any]]:
    from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - an extra

    n_rounds = _MOST_TREES // (1 if n_classes == 2 else n_classes)
    model = HistGradientBoostingClassifier(
        max_iter=min(max(n_rounds, _FEWEST_ROUNDS), _MOST_ROUNDS),
        max_leaf_nodes=_LEAVES,
        learning_rate=_RATE,
        l2_regularization=_SHRINKAGE,
        categorical_features=[
            not domain.type.has_order and domain.size <= _MOST_CATEGORIES for domain in domains
        ],
        early_stopping=False,
        random_state=_SEED,
    )
    return model, lambda rows: rows.astype(np.float64)


LEARNERS: Mapping[str, Callable[..., tuple[Any, Callable[[Codes], Any]]]] = {
    "tree": _tree,
    "bayes": _bayes,
    "boosting": _boosting,
}
"""The models by name. Each returns a scikit-learn model and the function that encodes its rows."""


def _shown_to_trees(domains: Sequence[Domain], rows: Codes) -> Floats:
    """Encode ordered columns by their codes, and unordered ones with few values as indicators."""
    parts = []
    for place, domain in enumerate(domains):
        codes = rows[:, place]
        if domain.type.has_order or domain.size > _MOST_SHOWN:
            parts.append(codes[:, np.newaxis].astype(np.float64))
        else:
            parts.append((codes[:, np.newaxis] == np.arange(domain.size)).astype(np.float64))
    return np.concatenate([*parts, np.zeros((len(rows), 1))], axis=1)


def _one_thread() -> Any:
    """Limit scikit-learn to one thread: sums then have one order, and results are reproducible."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - it comes with scikit-learn

    return threadpool_limits(limits=1)


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
        table = tables.expected(name, target, {}) + _SMOOTHING
        score += np.log(table / table.sum(axis=0))[rows[:, place]]
    # Classes that differ only by rounding are tied; the first one wins.
    return np.asarray(score.round(_DIGITS).argmax(axis=1), dtype=np.int64)
