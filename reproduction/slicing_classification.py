"""The accuracy of models of Adult, generalized, bucketized and sliced: Section 6.2 of [Slicing].

The shortened paper states the results without numbers. All releases are made by Mondrian with
distinct l-diversity, since the paper's own bound cannot be met for its l on Adult. Models are
trained on releases of the same folds and tested on original rows, so that differences are paired.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 6 and 7.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.reproduced import Curve, Figure, Setting, Statement
from reproduction.slicing_adult import (
    ELLS,
    NEAREST,
    SENSITIVE,
    TABLES,
    adult_rows,
    setting_words,
    two_columns,
)
from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError
from shoal.core.measure import Measured
from shoal.core.method import Method
from shoal.engines.sql.table import EngineTable
from shoal.grouping.mondrian import Mondrian
from shoal.slicing.method import Slicing
from shoal.utility.classification import ROWS, Classification, paired_difference
from shoal.workflow.anonymize import anonymize
from shoal.workflow.measure import measure
from shoal.workflow.read import read

_TARGETS = (SENSITIVE, "education")
_ORIGINAL = "original"
_GENERALIZED, _BUCKETIZED, _SLICED = "generalization", "bucketization", "slicing"
_METHODS = (_GENERALIZED, _BUCKETIZED, _SLICED)
_FOLLOWS = (
    " This table also has education_num, which is education written as a number: a model copies "
    "education from it and learns nothing."
)
_DRAWN, _EXPECTED = "linked at random", "expected tables"
_CUTS = ("strict", "relaxed")
_MODELS = ("tree", "bayes", "boosting")
_N_FOLDS = 3
_N_QUICK = 500


@dataclass(frozen=True)
class _Place:
    """A model and an l."""

    model: str
    ell: int

    def __str__(self) -> str:
        return f"{self.model}, l = {self.ell}"


@dataclass(frozen=True, eq=False)
class _Trials:
    """The measurements on one table with one kind of cuts."""

    table: str
    cuts: str
    places: Sequence[_Place]
    # By method and l; without those that could not be published for some fold.
    measured: Mapping[tuple[str, int], Measured]
    n_buckets: Mapping[tuple[str, int], int]  # The buckets of the whole table, by method and l.
    of_one_sex: float  # The share of people in buckets of one sex, bucketized, at the first l.

    def accuracy(self, method: str, place: _Place, target: str, training: str = _DRAWN) -> float:
        """Return the accuracy of a model in percent; NaN if it was not trained."""
        found = self.measured.get((_GENERALIZED if method == _ORIGINAL else method, place.ell))
        if found is None:
            return math.nan
        training = "table" if method == _ORIGINAL else training
        rows = found.outcomes[ROWS]
        right = found.outcomes[f"{target}, {place.model}, {training}"]
        return 100 * float(right @ rows) / float(rows.sum())

    def gains(self, other: str, target: str) -> list[Gain]:
        """Return by how many percentage points slicing beats another method, at every place."""
        found = []
        for place in self.places:
            one, two = (self.measured.get((name, place.ell)) for name in (_SLICED, other))
            if one is not None and two is not None:
                name = f"{target}, {place.model}, {_DRAWN}"
                found.append(Gain(*(100 * at for at in paired_difference(one, two, name))))
        return found


@dataclass(frozen=True)
class Gain:
    """A difference in percentage points with its 95 % confidence interval."""

    mean: float
    low: float
    high: float


def run_classification(setting: Setting) -> Sequence[Figure]:
    """Predict occupation, which is sensitive, and education, which is not."""
    trials = {
        name: {cuts: _run(setting, table, name, cuts) for cuts in _CUTS}
        # The second table differs only in its number of columns, and takes long.
        for name in (list(TABLES)[:1] if setting.is_quick else TABLES)
        for table in [read(adult_rows(setting, name, _N_QUICK))]
    }
    figures = [
        _figure(setting, one, target, _why(target, by_cuts))
        for target in _TARGETS
        for by_cuts in trials.values()
        for one in by_cuts.values()
    ]
    return [*figures, _unlinked(setting, trials["OCC-7"]["strict"])]


def _models(setting: Setting, name: str, cuts: str) -> Mapping[int, Sequence[str]]:
    """Return the models that are trained for each l; fewer of those that take long."""
    if setting.is_quick:
        return {ELLS[0]: _MODELS if cuts == "strict" else ("bayes",)}
    if name == "OCC-15":
        return {ELLS[0]: ("tree", "bayes")}
    models: dict[int, Sequence[str]] = dict.fromkeys(ELLS, ("tree", "bayes"))
    return models if cuts == "relaxed" else models | {ELLS[0]: _MODELS}


def _run(setting: Setting, table: EngineTable, name: str, cuts: str) -> _Trials:
    """Publish by every method for every l, and measure the releases."""
    models = _models(setting, name, cuts)
    measured, n_buckets, of_one_sex = {}, {}, math.nan
    for ell, chosen in models.items():
        asked = Classification(
            targets=_TARGETS,
            models=chosen,
            folds=2 if setting.is_quick else _N_FOLDS,
            seed=setting.seed,
        )
        for method, one in methods_of(table, ell, cuts).items():
            try:
                release = anonymize(table, one, seed=setting.seed)
            except InfeasibleError:
                continue
            found = measure(release, asked)["classification"]
            if found.headline["held out"]:
                measured[method, ell] = found
            n_buckets[method, ell] = release.published.n_buckets
            if method == _BUCKETIZED and math.isnan(of_one_sex):
                of_one_sex = _share_of_one_sex(release.published.lines)
    places = [
        _Place(model, ell) for model in _MODELS for ell, chosen in models.items() if model in chosen
    ]
    return _Trials(name, cuts, places, measured, n_buckets, of_one_sex)


def methods_of(table: EngineTable, ell: int, cuts: str) -> Mapping[str, Method]:
    """Return the methods that are compared, by name."""
    columns = two_columns(table.schema.coded)
    return {
        _GENERALIZED: Mondrian(ell=ell, cuts=cuts),  # type: ignore[arg-type]
        _BUCKETIZED: Mondrian(ell=ell, cuts=cuts, publish="bucketized"),  # type: ignore[arg-type]
        _SLICED: Slicing(ell=ell, columns=columns, diversity="distinct", cuts=cuts),
    }


def _share_of_one_sex(lines: Cells) -> float:
    """Return the share of people whose bucket contains only people of their sex."""
    bucket, sex = lines.codes[:, 0], lines.column(NEAREST)
    n_buckets = int(bucket.max()) + 1
    n_rows = np.zeros((n_buckets, lines.domain(NEAREST).size))
    np.add.at(n_rows, (bucket, sex), lines.counts)
    is_one = (n_rows > 0).sum(axis=1) == 1
    return float(n_rows[is_one].sum() / n_rows.sum())


# --- figures --------------------------------------------------------------------------------------


def _figure(setting: Setting, trials: _Trials, target: str, why: str) -> Figure:
    kind = "sensitive" if target == SENSITIVE else "quasi-identifying"
    return Figure(
        name=f"learning-{target}-{trials.table.lower()}-{trials.cuts}",
        title=f"Section 6.2: learning {target} ({kind}), {trials.table}, {trials.cuts} cuts",
        setting=setting_words(
            setting,
            trials.table,
            "Mondrian, distinct l-diversity; sliced into {sex, occupation} and all others. "
            f"{2 if setting.is_quick else _N_FOLDS} folds, the same for all; models are trained on "
            "releases of the other folds, columns linked at random, and tested on original rows."
            + (_FOLLOWS if _is_copied(trials, target) else ""),
            _N_QUICK,
        ),
        x_name="model and l",
        x=tuple(map(str, trials.places)),
        y_name="accuracy (%)",
        curves=tuple(
            Curve(
                method,
                tuple(trials.accuracy(method, place, target) for place in trials.places),
            )
            for method in (_ORIGINAL, *_METHODS)
        ),
        statements=tuple(_claims(trials, target, why)),
    )


def _unlinked(setting: Setting, trials: _Trials) -> Figure:
    """Compare naive Bayes trained on random linkings with naive Bayes on expected tables."""
    places = [place for place in trials.places if place.model == "bayes"]
    curves = [
        Curve(
            f"{target}, {training}",
            tuple(trials.accuracy(_SLICED, place, target, training) for place in places),
        )
        for target in _TARGETS
        for training in (_DRAWN, _EXPECTED)
    ]
    return Figure(
        name="learning-without-links",
        title="Section 7: learning from a sliced table without linking at random",
        setting=setting_words(
            setting,
            f"{trials.table}, sliced with {trials.cuts} cuts, naive Bayes",
            "Expected tables: the number of rows with each value and each class, averaged over all "
            "linkings; nothing is drawn.",
            _N_QUICK,
        ),
        x_name="l",
        x=tuple(float(place.ell) for place in places),
        y_name="accuracy (%)",
        curves=tuple(curves),
        statements=tuple(
            _loss_by_linking(trials, target, drawn, expected)
            for target, drawn, expected in zip(_TARGETS, curves[::2], curves[1::2], strict=True)
        ),
    )


# --- what the paper says --------------------------------------------------------------------------


def _claims(trials: _Trials, target: str, why: str) -> Iterator[Statement]:
    """Judge by paired differences the claim that slicing is better than the two other methods."""
    where = f"learning {target}, {trials.table}, {trials.cuts} cuts"
    ell = trials.places[0].ell
    n_buckets = [f"{name} {trials.n_buckets.get((name, ell), 0):,}" for name in _METHODS]
    copied = "Copied from education_num, not learned. " if _is_copied(trials, target) else ""
    buckets = f"{copied}Buckets at l = {ell}: {', '.join(n_buckets)}."
    for other in (_GENERALIZED, _BUCKETIZED):
        gains = trials.gains(other, target)
        is_stated = other == _GENERALIZED or target == SENSITIVE
        if not is_stated:
            yield Statement(
                f"{where}: slicing against {other}",
                "",
                _told(gains),
                "not stated in the paper",
                f"The claim is about the sensitive attribute. {buckets}",
            )
            continue
        is_so = is_better(gains)
        reason = "" if is_so or trials.cuts == "relaxed" else f" {why}"
        yield Statement(
            f"{where}: slicing against {other}",
            "slicing is better",
            _told(gains),
            "reproduced" if is_so else "differs",
            f"{buckets}{reason}".strip(),
        )


def _is_copied(trials: _Trials, target: str) -> bool:
    """Return whether another column of the table determines the target."""
    return (trials.table, target) == ("OCC-15", "education")


def is_better(gains: Sequence[Gain]) -> bool:
    """Return whether slicing is better somewhere and worse nowhere, by intervals that exclude 0.

    Examples
    --------
    >>> is_better([Gain(1.0, 0.4, 1.6), Gain(-0.1, -0.7, 0.5)])
    True
    >>> is_better([Gain(1.0, 0.4, 1.6), Gain(-1.0, -1.6, -0.4)])
    False
    """
    return any(gain.low > 0 for gain in gains) and not any(gain.high < 0 for gain in gains)


def _told(gains: Sequence[Gain]) -> str:
    if not gains:
        return "no row could be held out"
    n_better = sum(gain.low > 0 for gain in gains)
    n_worse = sum(gain.high < 0 for gain in gains)
    means = [gain.mean for gain in gains]
    return (
        f"better at {n_better}, worse at {n_worse} of {len(gains)} places, "
        f"by {min(means):+.2f} to {max(means):+.2f} points"
    )


def _why(target: str, by_cuts: Mapping[str, _Trials]) -> str:
    """Explain where slicing is not better: it depends on whether cuts separate the sexes."""
    if target != SENSITIVE:
        return ""
    strict, relaxed = (by_cuts[cuts] for cuts in _CUTS)
    return (
        f"Strict Mondrian also cuts on sex: bucketized, {100 * strict.of_one_sex:.0f} % of the "
        f"people are in buckets of one sex ({100 * relaxed.of_one_sex:.0f} % with relaxed cuts), "
        "so the other methods keep what slicing keeps on purpose, while slicing needs l "
        "occupations of each sex in every bucket and cannot cut on sex. With relaxed cuts, slicing "
        f"is {_told(relaxed.gains(_BUCKETIZED, target))}, compared with bucketization. The paper "
        "does not say which cuts it makes."
    )


def _loss_by_linking(trials: _Trials, target: str, drawn: Curve, expected: Curve) -> Statement:
    gained = [more - less for more, less in zip(expected.values, drawn.values, strict=True)]
    gained = [one for one in gained if not math.isnan(one)]
    is_lost = bool(gained) and min(gained) > 0
    return Statement(
        f"learning {target}, {trials.table}: what linking at random loses",
        "it may lose utility",
        f"{min(gained):+.2f} to {max(gained):+.2f} points" if gained else "no row was held out",
        "reproduced" if is_lost else "not judged",
        "" if is_lost else "Averages over all linkings are not always better here.",
    )
