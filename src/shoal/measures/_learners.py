"""The models that are trained on a release: what each learns from, and what it predicts.

Scikit-learn's models learn from rows, so columns are linked at random and labels become values
first. Naive Bayes needs less: the rows of every value beside every class. These are expected
exactly from the release, and nothing is drawn.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 7 for mining that does not link at random.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from shoal.core.cells import Codes
from shoal.core.domain import Domain
from shoal.measures._estimated import Estimated, Reals
from shoal.measures._expected_tree import Tables

__all__ = ["LEARNERS", "Predictor", "learn_rows", "predict_by_tables", "rows_of_leaf"]

Predictor = Callable[[Codes], Codes]
"""Gives the class of each row of features."""

_MOST_TREES, _FEWEST_ROUNDS, _MOST_ROUNDS = 180, 12, 30
_LEAVES, _RATE, _SHRINKAGE = 15, 0.25, 10.0
"""Of boosting: few rounds of small trees learn as much as many of large ones if each counts for
more, and leaves with few rows of a class for less."""
_MOST_SHOWN = 64
"""Up to so many values of a column without an order are shown to a tree one by one."""
_MOST_CATEGORIES = 255
_FEWEST_ROWS = 20
"""A leaf has at least so many rows, for what fewer say is mostly chance."""
_SMOOTHING = 1.0
_SEED = 0
_DIGITS = 9


def learn_rows(kind: str, domains: Sequence[Domain], rows: Codes, classes: Codes) -> Predictor:
    """Train a model on rows.

    Parameters
    ----------
    kind
        One of `LEARNERS`.
    domains
        What the codes of features stand for.
    rows, classes
        The features and the class of each row.

    Returns
    -------
    What predicts: the most frequent class where there is no feature, and -1 where there was nothing
    to learn from.
    """
    seen, times = np.unique(classes, return_counts=True)
    if len(seen) < 2 or not domains:
        only = int(seen[times.argmax()]) if len(seen) else -1
        return lambda features: np.full(len(features), only, dtype=np.int64)
    model, show = LEARNERS[kind](domains, len(rows), len(seen))
    with _one_thread(), warnings.catch_warnings():
        # Classes are classes, however many of them a small table has.
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        model.fit(show(rows), classes)

    def predict(features: Codes) -> Codes:
        with _one_thread():
            return np.asarray(model.predict(show(features)), dtype=np.int64)

    return predict


def rows_of_leaf(n_rows: int) -> int:
    """Give the fewest rows that a leaf of a tree has: less of a small table.

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
"""The models by name: each gives scikit-learn's model, and how rows are shown to it."""


def _shown_to_trees(domains: Sequence[Domain], rows: Codes) -> Reals:
    """Show columns with an order by their codes, few values without one by one."""
    parts = []
    for place, domain in enumerate(domains):
        codes = rows[:, place]
        if domain.type.has_order or domain.size > _MOST_SHOWN:
            parts.append(codes[:, np.newaxis].astype(np.float64))
        else:
            parts.append((codes[:, np.newaxis] == np.arange(domain.size)).astype(np.float64))
    return np.concatenate([*parts, np.zeros((len(rows), 1))], axis=1)


def _one_thread() -> Any:
    """Keep sums in one order, and threads from getting into one another's way."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - it comes with scikit-learn

    return threadpool_limits(limits=1)


def predict_by_tables(
    estimated: Estimated, features: Sequence[str], target: str, rows: Codes
) -> Codes:
    """Predict by naive Bayes from expected tables of each feature beside the target.

    Parameters
    ----------
    estimated
        The release.
    features, target
        The attributes.
    rows
        The features of the rows whose class is predicted.
    """
    expected = estimated.shares[target].weigh_values(estimated.n_rows_of_labels(target))
    if expected.sum() <= 0:
        return np.full(len(rows), -1, dtype=np.int64)
    with np.errstate(divide="ignore"):
        score = np.repeat(np.log(expected)[np.newaxis], len(rows), axis=0)
    for place, name in enumerate(features):
        tables = Tables.of_release(estimated, [name, target])
        table = tables.expected(name, target, {}) + _SMOOTHING
        score += np.log(table / table.sum(axis=0))[rows[:, place]]
    # Of classes that are equally likely but for rounding, the first one.
    return np.asarray(score.round(_DIGITS).argmax(axis=1), dtype=np.int64)
