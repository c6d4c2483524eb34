"""Classification: how well models that are trained on a release do on rows that it never saw.

The table is parted into folds. Each time one is held out, the others are published, and a model is
trained on the release and another on the rows themselves; both are tested on the rows that were
held out. What the release costs is the difference, row by row. The folds depend on the table's size
and the seed alone, so that the differences between methods are paired as well.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 6, and Section 7 for training without linking at random.
[LeFevre06b] K. LeFevre, D. DeWitt, R. Ramakrishnan: Workload-Aware Anonymization. KDD 2006:
training on a release and testing on original rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from shoal.analyse.linked import confirm_attributes
from shoal.core.attack import Section
from shoal.core.cells import Cells, Codes
from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.core.measure import Fold, FoldedMeasure, Measured
from shoal.measures._estimated import Estimated, Reals, sensitive_of
from shoal.measures._expected_tree import Tables, grow_tree
from shoal.measures._intervals import mean_interval
from shoal.measures._learners import LEARNERS, learn_rows, predict_by_tables, rows_of_leaf

__all__ = ["ROWS", "Classification", "outcomes_of_release", "paired_difference"]

_MOST_CLASSES = 20
_EXPECTED = "expected tables"
_TRUE = "tables of the table"
_DRAWN = "linked at random"
_MODELS = tuple(LEARNERS)
ROWS = "rows"
"""The outcome that says how many rows each entry of the others stands for."""
_MOST_KNOWN = 256
_known: dict[bytes, Reals] = {}
"""What models of tables came to: the same folds are given for every method that is compared."""


@dataclass(frozen=True, kw_only=True, init=False)
class Classification(FoldedMeasure):
    """Train models on the release, and test them on original rows.

    Parameters
    ----------
    targets
        The attributes that are predicted from all others; where left out, the first sensitive one,
        and the other one with most values up to 20.
    models
        Some of `tree`, `bayes` and `boosting`: scikit-learn's decision tree, naive Bayes and
        gradient boosting.
    folds
        Into how many parts the rows are put; each is held out once.
    seed
        Where draws begin.

    Notes
    -----
    To have rows to train on, columns are linked at random and labels replaced by values that they
    stand for. Naive Bayes and a tree, of at most 32 leaves, are trained on the expected rows of
    every value and class as well, where nothing is drawn; that tree is compared with one that is
    grown alike on the table. A row is predicted rightly or not; *accuracy lost* is how much more
    often the model that was trained on the rows themselves is right, with the interval, at 95 %, of
    the mean of paired differences. A release without rows predicts nothing rightly.

    `run` trains and tests on the same people, since nobody is held out of a release that is there
    already; `judge` takes releases of folds.

    Examples
    --------
    >>> Classification(models=["bayes"], folds=3)
    Classification(folds=3, seed=0, targets=None, models=('bayes',))
    """

    targets: tuple[str, ...] | None = None
    models: tuple[str, ...] = _MODELS

    example: ClassVar[Mapping[str, object]] = {"models": ("tree", "bayes")}

    def __init__(
        self,
        *,
        targets: Sequence[str] | None = None,
        models: Sequence[str] = _MODELS,
        folds: int = 5,
        seed: int = 0,
    ) -> None:
        unknown = [name for name in models if name not in LEARNERS]
        if unknown or not models or isinstance(models, str):
            raise ParameterError(
                "models must be a list of known ones, at least one.",
                hint=f"they are {', '.join(_MODELS)}.",
            )
        object.__setattr__(self, "targets", None if targets is None else tuple(targets))
        object.__setattr__(self, "models", tuple(models))
        object.__setattr__(self, "folds", whole("folds", folds, least=2))
        object.__setattr__(self, "seed", whole("seed", seed, least=0))

    @classmethod
    def is_installed(cls) -> bool:
        """Whether scikit-learn is there, which the models come from."""
        return find_spec("sklearn") is not None

    def judge(self, folds: Sequence[Fold]) -> Measured:
        """Train on the release of each fold, and test on the rows that it leaves out.

        Raises
        ------
        ParameterError
            Where a target is not in the release, or scikit-learn is not installed.
        """
        if not self.is_installed():
            raise ParameterError(
                "Classification needs the extra 'learn'.",
                hint="pip install 'shoal-privacy[learn]'",
            )
        if not folds:
            raise ParameterError("Classification needs at least one fold.")
        outcomes: dict[str, list[Reals]] = {}
        for number, fold in enumerate(folds):
            trial = _Trial.of(fold, np.random.default_rng([self.seed, number]))
            for target in self._targets(trial.estimated):
                for name, right in trial.outcomes(target, self.models).items():
                    outcomes.setdefault(name, []).append(right)
        joined = {name: np.concatenate(parts) for name, parts in outcomes.items()}
        joined[ROWS] = np.concatenate([fold.test.counts for fold in folds]).astype(np.float64)
        is_held_out = all(fold.test is not fold.train for fold in folds)
        return Measured(
            "classification", _headline(joined, is_held_out), (_accuracies(joined),), joined
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

    Parameters
    ----------
    estimated
        The release of the fold.
    drawn
        Its rows, linked at random.
    train, test
        The rows that it was made from, and those held out, the latter once for all that are equal.
    expected, true
        What tables are expected from: the release, and the rows that it was made from.
    """

    estimated: Estimated
    drawn: Codes
    train: Codes
    test: Codes
    expected: Tables
    true: Tables

    @classmethod
    def of(cls, fold: Fold, generator: np.random.Generator) -> _Trial:
        estimated = Estimated(fold.published, fold.train)
        train = _columns(fold.train, estimated.attributes)
        repeated = np.repeat(train, fold.train.counts, axis=0)
        return cls(
            estimated,
            estimated.sample(generator),
            repeated[np.lexsort(repeated.T[::-1])],
            _columns(fold.test, estimated.attributes),
            Tables.of_release(estimated),
            Tables.of_table(fold.train, estimated.attributes),
        )

    def outcomes(self, target: str, models: Sequence[str]) -> dict[str, Reals]:
        """Say by model and training which held-out rows are predicted rightly."""
        names = self.estimated.attributes
        place = names.index(target)
        others = [at for at in range(len(names)) if at != place]
        domains = [self.estimated.truth.domain(names[at]) for at in others]
        shown, classes = self.test[:, others], self.test[:, place]
        found = {}

        def learned(model: str, rows: Codes) -> Reals:
            predict = learn_rows(model, domains, rows[:, others], rows[:, place])
            return _right(predict(shown), classes)

        for model in models:
            found[_name(target, model, _DRAWN)] = learned(model, self.drawn)
            found[_name(target, model, "table")] = self._of_table(
                target, model, partial(learned, model, self.train)
            )
        features = [names[at] for at in others]
        if "tree" in models and features:
            least = rows_of_leaf(len(self.train))

            def grown(tables: Tables) -> Reals:
                tree = grow_tree(tables, features, target, least)
                return _right(tree.predict(shown), classes)

            found[_name(target, "tree", _EXPECTED)] = grown(self.expected)
            found[_name(target, "tree", _TRUE)] = self._of_table(
                target, _TRUE, lambda: grown(self.true)
            )
        if "bayes" in models:
            predicted = predict_by_tables(self.estimated, features, target, shown)
            found[_name(target, "bayes", _EXPECTED)] = _right(predicted, classes)
        return found

    def _of_table(self, target: str, model: str, compute: Callable[[], Reals]) -> Reals:
        """Give what a model of the table itself comes to, which no release has a part in."""
        key = hashlib.sha256(self._digest + repr((target, model)).encode()).digest()
        if key not in _known:
            if len(_known) >= _MOST_KNOWN:
                _known.clear()
            _known[key] = compute()
        return _known[key]

    @cached_property
    def _digest(self) -> bytes:
        truth, names = self.estimated.truth, self.estimated.attributes
        domains = [
            (name, str(truth.domain(name).type), truth.domain(name).labels()) for name in names
        ]
        digest = hashlib.sha256(repr(domains).encode())
        for rows in (self.train, self.test):
            digest.update(repr(rows.shape).encode())
            digest.update(np.ascontiguousarray(rows).tobytes())
        return digest.digest()


def _columns(cells: Cells, names: Sequence[str]) -> Codes:
    return cells.codes[:, [cells.columns.index(name) for name in names]].astype(np.int64)


def _right(predicted: Codes, classes: Codes) -> Reals:
    right: Reals = (predicted == classes).astype(np.float64)
    return right


def _name(target: str, model: str, training: str) -> str:
    return f"{target}, {model}, {training}"


# --- figures --------------------------------------------------------------------------------------


def paired_difference(one: Measured, other: Measured, name: str) -> tuple[float, float, float]:
    """Say how much more often one release's model is right than another's, row by row.

    Parameters
    ----------
    one, other
        What was measured on the same folds.
    name
        Target, model and training, as the outcomes are called.

    Returns
    -------
    The mean difference and its interval, at 95 %.

    Raises
    ------
    ParameterError
        Where they were not measured on the same rows, or one of them has no such outcome.

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
            hint="take one table, and the same number of folds and seed.",
        )
    shared = [known for known in one.outcomes if known in other.outcomes and known != ROWS]
    if name not in shared:
        raise ParameterError(
            f"The two releases have no outcome {name!r} in common.",
            hint=f"they have {'; '.join(shared) or 'none'}.",
        )
    return _difference(one.outcomes[name], other.outcomes[name], weights)


def _difference(one: Reals, other: Reals, weights: Reals) -> tuple[float, float, float]:
    apart = one - other
    mean = float(apart @ weights) / max(float(weights.sum()), 1.0)
    return (mean, *mean_interval(apart, weights))


def outcomes_of_release(measured: Measured) -> list[Reals]:
    """Give what each row came to, by every target and model that was trained on the release.

    Those are the outcomes that *accuracy* is the mean of.
    """
    return [measured.outcomes[name] for name in _of_release(measured.outcomes)]


def _of_release(outcomes: Mapping[str, Reals]) -> list[str]:
    return [name for name in outcomes if name.endswith(f", {_DRAWN}")]


def _headline(outcomes: Mapping[str, Reals], is_held_out: bool) -> dict[str, object]:
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
        "accuracy": float(by_release @ weights) / n_rows,
        "accuracy of the table": float(by_table @ weights) / n_rows,
        "held out": is_held_out,
    }


def _accuracies(outcomes: Mapping[str, Reals]) -> Section:
    """List each model beside the one that was trained on the table."""
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
                    float(right @ weights) / n_rows,
                    float(by_table @ weights) / n_rows,
                    *_difference(by_table, right, weights),
                )
            )
    columns = ("target", "model", "training", "accuracy", "of the table", "lost", "from", "to")
    return Section("accuracy", columns, tuple(rows), holds_values=False)
