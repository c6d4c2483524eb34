"""Association rules mined from releases of Injector and Anatomy: Figures 6 and 7 of [Li08].

The paper finds that Injector estimates confidences better, and misses and invents fewer rules. It
states neither the minimum support and conviction nor the number of attributes of a rule, so these
settings are ours; the errors by minimum conviction are shown next to the figures.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI-C.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from reproduction.injector_claims import (
    UNSURE_AXIS,
    excluded_share,
    fits_axis,
    panel,
    percent,
    smaller_than_anatomy,
    why_not_better,
)
from reproduction.injector_trials import (
    ANATOMY,
    AT_DEFAULT,
    INJECTORS,
    PRINTED,
    Place,
    Trials,
    adult_table,
    anatomized,
    axes,
    everywhere,
    run_trials,
    runs_words,
    setting_words,
)
from reproduction.planned import Setting
from reproduction.reproduced import Curve, Figure, Statement
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Release
from shoal.utility.associations import Associations
from shoal.workflow.measure import measure

_MIN_SUPPORT = "0.01"
_CONVICTION = "1"
_CONVICTIONS = ("0.9", "0.95", "1", "1.05", "1.1")
_LENGTHS = (1, 2)
_ERRORS = ("confidence error", "false positives", "false negatives")
_PANELS = (("6a", "6b"), ("7a", "7b"), ("7c", "7d"))
_AXIS_ENDS = {"figure-7a": 30.0, "figure-7c": 12.0}
"""The ends of the paper's axes, in percent, if the labels of the figures are legible."""


def run_associations(setting: Setting) -> Sequence[Figure]:
    """Draw Figures 6 and 7, and the same errors by minimum conviction."""
    table = adult_table(setting)
    trials = run_trials(table, setting, _errors, everywhere(setting))
    finer = run_trials(table, setting, _errors_by_conviction, AT_DEFAULT)
    words = setting_words(
        setting,
        table.n_rows,
        f"Rules name up to {max(_LENGTHS)} quasi-identifiers, support at least {_MIN_SUPPORT}, "
        f"conviction at least {_CONVICTION}. {runs_words(setting)}",
    )
    excluded = excluded_share(table, anatomized(table, setting))
    figures = []
    for column, (error, places) in enumerate(zip(_ERRORS, _PANELS, strict=True)):
        why = why_not_better(trials, column, excluded)
        for place, axis in zip(places, axes(setting), strict=True):
            figure = panel(place, error, axis, trials, column, words)
            told = (
                *smaller_than_anatomy(error, figure, why),
                *_axis_statements(error, figure, finer),
            )
            figures.append(replace(figure, statements=told))
    return [*figures, *_by_conviction(setting, table, finer)]


def _errors(release: Release, place: Place) -> Sequence[float]:  # noqa: ARG001 - it has no part
    one = Associations(min_support=_MIN_SUPPORT, convictions=[_CONVICTION], max_len=max(_LENGTHS))
    headline = measure(release, one)["associations"].headline
    return [float(str(headline[error])) for error in _ERRORS]


def _errors_by_conviction(release: Release, place: Place) -> Sequence[float]:  # noqa: ARG001
    """Return the errors and the number of true rules, for each length and conviction."""
    found: list[float] = []
    for length in _LENGTHS:
        one = Associations(min_support=_MIN_SUPPORT, convictions=_CONVICTIONS, max_len=length)
        section = measure(release, one)["associations"].sections[0]
        wanted = [section.columns.index(name) for name in (*_ERRORS, "rules of the table")]
        found += [float(str(row[column])) for row in section.rows for column in wanted]
    return found


def _column(length: int, conviction: str, error: int) -> int:
    """Return the index of a number in `_errors_by_conviction`; the number of rules comes last."""
    which = _LENGTHS.index(length) * len(_CONVICTIONS) + _CONVICTIONS.index(conviction)
    return which * (len(_ERRORS) + 1) + error


def _axis_statements(error: str, figure: Figure, finer: Trials) -> Iterator[Statement]:
    """Compare with the end of the axis, and state which rules would fit."""
    if figure.name not in _AXIS_ENDS:
        return
    made_up, missed = (
        percent(100 * finer.mean(ANATOMY, Place(), _column(1, "0.95", column))) for column in (1, 2)
    )
    why = (
        "A bucket of l values draws the confidence of every rule towards the base rate, so that "
        "rules near the bound on conviction are missed. The paper does not state that bound. With "
        "rules of one quasi-identifier from a conviction of 0.95 on, below that of what has "
        f"nothing to do with each other, Anatomy has {made_up} false positives and {missed} false "
        "negatives."
    )
    doubt = UNSURE_AXIS if figure.name == "figure-7a" else ""
    yield fits_axis(error, figure, _AXIS_ENDS[figure.name], why, doubt)


def _by_conviction(setting: Setting, table: EngineTable, finer: Trials) -> Iterator[Figure]:
    """Draw the errors by minimum conviction."""
    words = setting_words(
        setting,
        table.n_rows,
        "l = 6, minExp 0.90. Rules name one quasi-identifier or up to two, support at least "
        f"{_MIN_SUPPORT}. {runs_words(setting)}",
    )
    for column, error in enumerate(_ERRORS):
        yield Figure(
            name=f"conviction-{error.replace(' ', '-')}",
            title=f"Beside Figures 6 and 7: {error} by the bound on conviction",
            setting=words,
            x_name="conviction",
            x=tuple(float(conviction) for conviction in _CONVICTIONS),
            y_name=f"{error} (%)",
            curves=tuple(
                _conviction_curve(finer, method, length, column)
                for length in _LENGTHS
                for method in (ANATOMY, *INJECTORS)
            ),
            statements=(
                _other_settings(finer, error, column),
                *(_n_rules(finer) if column == 0 else ()),
            ),
        )


def _conviction_curve(finer: Trials, method: str, length: int, error: int) -> Curve:
    return Curve(
        f"{method}, length {length}",
        tuple(
            100 * finer.mean(method, Place(), _column(length, conviction, error))
            for conviction in _CONVICTIONS
        ),
    )


def _other_settings(finer: Trials, error: str, column: int) -> Statement:
    """Count the settings in which Injector as printed is better, to show the effect of ours."""
    gaps = [
        finer.mean(PRINTED, Place(), place) - finer.mean(ANATOMY, Place(), place)
        for length in _LENGTHS
        for conviction in _CONVICTIONS
        for place in [_column(length, conviction, column)]
    ]
    n_smaller, n_equal = (sum(np.sign(gap) == sign for gap in gaps) for sign in (-1, 0))
    return Statement(
        f"{error} of {PRINTED}, for other lengths and bounds on conviction",
        "",
        f"smaller than Anatomy's for {n_smaller} of {len(gaps)} settings, equal for {n_equal}",
        "not stated in the paper",
        "The paper states no setting; the figures have one of these.",
    )


def _n_rules(finer: Trials) -> Iterator[Statement]:
    for conviction in ("1", "1.1"):
        column = _column(max(_LENGTHS), conviction, len(_ERRORS))
        yield Statement(
            f"rules of the table from a conviction of {conviction} on",
            "",
            f"{finer.mean(ANATOMY, Place(), column):,.0f}",
            "not stated in the paper",
            f"They name up to {max(_LENGTHS)} quasi-identifiers.",
        )
