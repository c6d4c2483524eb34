"""Classification: how well models trained on a release predict rows that it does not contain.

The table is split into folds. Each fold is held out once and the other folds are published; one
model is trained on the release and another on the original rows, and both are tested on the rows
held out. The cost of the release is the difference, row by row. Folds depend only on the size of
the table and the seed, so the differences between methods are paired as well.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 6, and Section 7 for training without linking at random.
[LeFevre06b] K. LeFevre, D. DeWitt, R. Ramakrishnan: Workload-Aware Anonymization. KDD 2006:
training on a release and testing on original rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats, weighted_sum
from shoal.core.cells import Cells, group
from shoal.core.declared import declared
from shoal.core.display import Section, percent
from shoal.core.errors import ParameterError
from shoal.core.measure import Fold, FoldedMeasure, Measured
from shoal.core.parameters import Converted, OptionalTexts, texts
from shoal.core.sharing import once
from shoal.utility.estimated import Estimated, sensitive_of
from shoal.utility.estimates import mean_interval
from shoal.utility.expected_tree import Tables, grow_tree, predict_by_tables
from shoal.utility.learners import LEARNERS, Examples, learn, rows_of_leaf
from shoal.utility.linked import confirm_attributes

_MOST_CLASSES = 20
_EXPECTED = "expected tables"
_TRUE = "tables of the table"
_DRAWN = "linked at random"
_MODELS = tuple(LEARNERS)
ROWS = "rows"
"""The outcome that holds the number of rows that each entry of the other outcomes stands for."""


@declared
class Classification(FoldedMeasure):
    """Train models on the release, and test them on original rows.

    Notes
    -----
    To get rows to train on, columns are linked at random and labels are replaced by random values
    that they stand for. Naive Bayes and a tree of at most 32 leaves are also trained on the
    expected number of rows of every value and class, without drawing anything; that tree is
    compared with one that is grown in the same way on the table. *Accuracy lost* is the accuracy of
    the model trained on the original rows minus that of the model trained on the release, with the
    95 % confidence interval of the mean of paired differences. The accuracy of a release without
    rows is 0.

    `run` trains and tests on the same people, since a finished release holds nobody out; `judge`
    takes the releases of folds.

    Examples
    --------
    >>> Classification(models=["bayes"], folds=3)
    Classification(folds=3, seed=0, targets=None, models=('bayes',))
    """

    targets: OptionalTexts = texts(
        "The attributes that are predicted from all others. Default: the first sensitive one, and "
        "of the others the one with the most values, at most 20.",
        default=None,
        may_be_empty=True,
    )
    models: Converted[Sequence[str], tuple[str, ...]] = texts(
        "The models: decision tree, naive Bayes and gradient boosting, as those of scikit-learn.",
        among=_MODELS,
        default=_MODELS,
    )

    example: ClassVar[Mapping[str, object]] = {"models": ("tree", "bayes")}

    def judge(self, folds: Sequence[Fold]) -> Measured:
        """Train on the release of each fold, and test on the rows that it leaves out.

        Raises
        ------
        ParameterError
            If a target is not in the release.
        """
        if not folds:
            raise ParameterError("Classification needs at least one fold.")
        outcomes: dict[str, list[Floats]] = {}
        for number, fold in enumerate(folds):
            trial = _Trial.of(fold, np.random.default_rng([self.seed, number]))
            for target in self._targets(trial.estimated):
                for name, right in trial.outcomes(target, self.models).items():
                    outcomes.setdefault(name, []).append(right)
        joined = {name: np.concatenate(parts) for name, parts in outcomes.items()}
        joined[ROWS] = np.concatenate([fold.test.counts for fold in folds]).astype(np.float64)
        is_held_out = all(fold.test is not fold.train for fold in folds)
        headline = _headline(joined, is_held_out)
        return Measured(
            "classification", headline, (_accuracies(joined),), joined, words=_words(headline)
        )

    def _targets(self, estimated: Estimated) -> tuple[str, ...]:
        if self.targets is not None:
            confirm_attributes(self.targets, estimated.attributes)
            return self.targets
        sensitive = sensitive_of(estimated.published)[:1]
        truth = estimated.truth
        rest = [
            name
            for name in truth.columns
            if name in estimated.attributes and name not in sensitive
            if 2 <= truth.domain(name).size <= _MOST_CLASSES
        ]
        # Of equally many values, the first in the table.
        return (*sensitive, *sorted(rest, key=lambda name: -truth.domain(name).size)[:1])


@dataclass(frozen=True, eq=False)
class _Trial:
    """A fold with the rows that models are trained and tested on, as codes of the table's values.

    Equal rows of `train` and `test` are there once; those of `drawn` are repeated.
    """

    fold: Fold
    estimated: Estimated
    drawn: Codes  # The rows of the release, linked at random.
    train: Codes  # The original rows that the release was made from, and their counts.
    counts: Counts
    test: Codes  # The rows held out.
    expected: Tables  # Expected tables of the release.
    true: Tables  # Tables of the training rows.

    @classmethod
    def of(cls, fold: Fold, generator: np.random.Generator) -> _Trial:
        estimated = Estimated(fold.published, fold.train)
        return cls(
            fold,
            estimated,
            estimated.sample(generator),
            _columns(fold.train, estimated.attributes),
            fold.train.counts,
            _columns(fold.test, estimated.attributes),
            Tables.of_release(estimated),
            Tables.of_table(fold.train, estimated.attributes),
        )

    def outcomes(self, target: str, models: Sequence[str]) -> dict[str, Floats]:
        """Return, by model and training, which held-out rows are predicted correctly."""
        names = self.estimated.attributes
        place = names.index(target)
        others = [at for at in range(len(names)) if at != place]
        domains = [self.estimated.truth.domain(names[at]) for at in others]
        classes = self.test[:, place]
        # Rows that differ in the target alone are predicted alike.
        columns = [self.test[:, at] for at in others]
        first, kind = group(columns, [max(domain.size, 1) for domain in domains], len(classes))
        shown = self.test[first][:, others]
        found = {}

        def right(predicted: Codes) -> Floats:
            is_right: Floats = (predicted[kind] == classes).astype(np.float64)
            return is_right

        @cache
        def examples(is_table: bool) -> Examples:
            rows = self.train if is_table else self.drawn
            counts = self.counts if is_table else np.ones(len(rows), dtype=np.int64)
            return Examples.of_rows(domains, rows[:, others], rows[:, place], counts)

        def of_table(model: str, compute: Callable[[], Floats]) -> Floats:
            """Return the outcome of a model of the table, which is the same for all releases."""
            return once((self.fold.train, self.fold.test), (names, target, model), compute)

        def learned(model: str, is_table: bool) -> Floats:
            return right(learn(model, examples(is_table))(shown))

        for model in models:
            found[_name(target, model, _DRAWN)] = learned(model, False)
            found[_name(target, model, "table")] = of_table(model, partial(learned, model, True))
        features = [names[at] for at in others]
        if "tree" in models and features:
            least = rows_of_leaf(int(self.counts.sum()))

            def grown(tables: Tables) -> Floats:
                tree = grow_tree(tables, features, target, least)
                return right(tree.predict(shown))

            found[_name(target, "tree", _EXPECTED)] = grown(self.expected)
            found[_name(target, "tree", _TRUE)] = of_table(_TRUE, lambda: grown(self.true))
        if "bayes" in models:
            predicted = predict_by_tables(self.estimated, features, target, shown)
            found[_name(target, "bayes", _EXPECTED)] = right(predicted)
        return found


def _columns(cells: Cells, names: Sequence[str]) -> Codes:
    return cells.codes[:, [cells.columns.index(name) for name in names]].astype(np.int64)


def _name(target: str, model: str, training: str) -> str:
    return f"{target}, {model}, {training}"


# --- figures --------------------------------------------------------------------------------------


def paired_difference(one: Measured, other: Measured, name: str) -> tuple[float, float, float]:
    """Return the difference in accuracy of two releases' models and its 95 % confidence interval.

    Differences are paired by row, so both have to be measured on the same folds. `name` is the name
    of an outcome: target, model and training.

    Examples
    --------
    >>> rows = {"rows": np.array([1.0, 3.0])}
    >>> one = Measured("classification", {}, outcomes=rows | {"a": np.array([1.0, 1.0])})
    >>> other = Measured("classification", {}, outcomes=rows | {"a": np.array([1.0, 1.0])})
    >>> paired_difference(one, other, "a")
    (0.0, 0.0, 0.0)
    """
    weights = one.outcomes[ROWS]
    if not np.array_equal(weights, other.outcomes[ROWS]):
        raise ParameterError(
            "The two releases were not measured on the same rows.",
            hint="measure both on one table, with the same number of folds and the same seed.",
        )
    shared = [known for known in one.outcomes if known in other.outcomes and known != ROWS]
    if name not in shared:
        raise ParameterError(
            f"The two releases have no outcome {name!r} in common.",
            hint=f"they have {'; '.join(shared) or 'none'}.",
        )
    return _difference(one.outcomes[name], other.outcomes[name], weights)


def _difference(one: Floats, other: Floats, weights: Floats) -> tuple[float, float, float]:
    apart = one - other
    mean = weighted_sum(apart, weights) / max(float(weights.sum()), 1.0)
    return (mean, *mean_interval(apart, weights))


def outcomes_of_release(measured: Measured) -> list[Floats]:
    """Return the outcomes of every target and model trained on the release.

    *Accuracy* is their mean.
    """
    return [measured.outcomes[name] for name in _of_release(measured.outcomes)]


def _of_release(outcomes: Mapping[str, Floats]) -> list[str]:
    return [name for name in outcomes if name.endswith(f", {_DRAWN}")]


def _headline(outcomes: Mapping[str, Floats], is_held_out: bool) -> dict[str, object]:
    drawn = _of_release(outcomes)
    table = [name.removesuffix(_DRAWN) + "table" for name in drawn]
    if not drawn:
        return {"accuracy lost": 0.0, "held out": is_held_out}
    by_release = np.mean([outcomes[name] for name in drawn], axis=0)
    by_table = np.mean([outcomes[name] for name in table], axis=0)
    weights = outcomes[ROWS]
    lost, low, high = _difference(by_table, by_release, weights)
    n_rows = max(float(weights.sum()), 1.0)
    return {
        "accuracy lost": lost,
        "interval of the loss": [low, high],
        "accuracy": weighted_sum(by_release, weights) / n_rows,
        "accuracy of the table": weighted_sum(by_table, weights) / n_rows,
        "held out": is_held_out,
    }


def _words(headline: Mapping[str, object]) -> tuple[str, ...]:
    if "accuracy" not in headline:
        return ()
    before, after = (
        percent(float(str(headline[name]))) for name in ("accuracy of the table", "accuracy")
    )
    return (f"classifiers are right {after} of the time, {before} if trained on the table",)


def _accuracies(outcomes: Mapping[str, Floats]) -> Section:
    """List each model next to the one that was trained on the table."""
    weights = outcomes[ROWS]
    n_rows = max(float(weights.sum()), 1.0)
    rows = []
    for name, right in outcomes.items():
        target, model, training = name.rsplit(", ", 2) if name != ROWS else ("", "", "table")
        if training in (_DRAWN, _EXPECTED):
            alike = _TRUE if (model, training) == ("tree", _EXPECTED) else "table"
            by_table = outcomes[_name(target, model, alike)]
            rows.append(
                (
                    target,
                    model,
                    training,
                    weighted_sum(right, weights) / n_rows,
                    weighted_sum(by_table, weights) / n_rows,
                    *_difference(by_table, right, weights),
                )
            )
    columns = ("target", "model", "training", "accuracy", "of the table", "lost", "from", "to")
    return Section("accuracy", columns, tuple(rows), holds_values=False)
