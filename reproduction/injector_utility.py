"""What analysts can do with releases of Injector and Anatomy: Figures 6 to 8 of [Li08].

The paper finds that Injector is better: from its releases, the confidences of association rules are
estimated better, fewer rules are missed or invented (Figures 6 and 7), and COUNT queries are
answered with smaller errors (Figure 8). For rules it states neither the minimum support and
conviction nor the number of attributes, so these settings are ours; the errors by minimum
conviction are shown next to the figures. For queries it states neither the default number of
attributes nor the selectivity, and the sets of values that it draws are mostly empty. Queries are
therefore drawn as in [Xiao06], the same for both methods.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Sections VI-C and VI-D.
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from reproduction.injector_trials import (
    ANATOMY,
    AT_DEFAULT,
    INJECTORS,
    N_INJECTOR,
    PRINTED,
    UNSURE_AXIS,
    Place,
    Trials,
    adult_rows,
    adult_table,
    anatomized,
    axes,
    everywhere,
    excluded_share,
    fits_axis,
    method_of,
    n_runs,
    panel,
    percent,
    run_trials,
    runs_words,
    sample,
    setting_words,
    smaller_than_anatomy,
    why_not_better,
)
from reproduction.reproduced import Curve, Figure, Setting, Statement, claimed
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Release
from shoal.utility.associations import Associations
from shoal.utility.queries import Queries
from shoal.workflow.anonymize import anonymize
from shoal.workflow.measure import measure
from shoal.workflow.read import read

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
    trials = run_trials(table, setting, _rule_errors, everywhere(setting))
    finer = run_trials(table, setting, _rule_errors_by_conviction, AT_DEFAULT)
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


def _rule_errors(release: Release, place: Place) -> Sequence[float]:  # noqa: ARG001 - it has no part
    one = Associations(min_support=_MIN_SUPPORT, convictions=[_CONVICTION], max_len=max(_LENGTHS))
    headline = measure(release, one)["associations"].headline
    return [float(str(headline[error])) for error in _ERRORS]


def _rule_errors_by_conviction(release: Release, place: Place) -> Sequence[float]:  # noqa: ARG001
    """Return the errors and the number of true rules, for each length and conviction."""
    found: list[float] = []
    for length in _LENGTHS:
        one = Associations(min_support=_MIN_SUPPORT, convictions=_CONVICTIONS, max_len=length)
        section = measure(release, one)["associations"].sections[0]
        wanted = [section.columns.index(name) for name in (*_ERRORS, "rules of the table")]
        found += [float(str(row[column])) for row in section.rows for column in wanted]
    return found


def _column(length: int, conviction: str, error: int) -> int:
    """Return the place of an error in `_rule_errors_by_conviction`; the number of rules is last."""
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
        "rules of one quasi-identifier and a conviction of at least 0.95, which is below that of "
        f"independent events, Anatomy has {made_up} false positives and {missed} false negatives."
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


_ERROR = "average relative error"
_DIMENSION, _SELECTIVITY = 3, "0.05"
_DIMENSIONS = (2, 3, 4, 5, 6)
_SELECTIVITIES = ("0.03", "0.05", "0.07", "0.1")
_N_QUERIES, _N_QUICK_QUERIES = 1000, 100
_SAMPLES = (2_500, 5_000, 10_000, 20_000)
_AXIS_END = 30.0
"""The end of an axis of Figure 8, in percent, as far as its labels are legible."""


def run_queries(setting: Setting) -> Sequence[Figure]:
    """Draw Figure 8."""
    table = adult_table(setting)
    drawn = (
        f"{_n_queries(setting):,} COUNT queries, the same for every release, with sets of values "
        f"as large as Anatomy's authors draw them. {runs_words(setting)}"
    )
    usual = f"Each names {_DIMENSION} quasi-identifiers, selectivity {_SELECTIVITY}."
    trials = _trials_by_parameters(table, setting)
    words = setting_words(setting, table.n_rows, f"{drawn} {usual}")
    figures = [
        *(
            panel(place, _ERROR, axis, trials, 0, words)
            for place, axis in zip(("8a", "8b"), axes(setting), strict=True)
        ),
        *_by_workload(
            table, setting, setting_words(setting, table.n_rows, f"{drawn} l = 6, minExp 0.90.")
        ),
    ]
    why = why_not_better(trials, 0, excluded_share(table, anatomized(table, setting)))
    told = [[*smaller_than_anatomy(_ERROR, figure, why)] for figure in figures]
    told[0] += [
        fits_axis(
            _ERROR,
            figures[0],
            _AXIS_END,
            "The paper does not state its selectivity.",
            UNSURE_AXIS,
        ),
        _median(trials),
        _as_written(table),
    ]
    samples = _by_rows(setting)
    figures.append(samples)
    told.append([_samples_statement(samples)])
    return [
        replace(figure, statements=tuple(statements))
        for figure, statements in zip(figures, told, strict=True)
    ]


def _n_queries(setting: Setting) -> int:
    return _N_QUICK_QUERIES if setting.is_quick else _N_QUERIES


def _queries(setting: Setting, dimension: int, selectivity: str) -> Queries:
    return Queries(
        number=_n_queries(setting),
        dimension=dimension,
        selectivity=selectivity,
        numbers=(),
        seed=setting.seed,
    )


def _query_errors(release: Release, queries: Queries) -> tuple[float, ...]:
    """Return the mean and the median of the relative errors; NaN if there is none."""
    headline = measure(release, queries)["queries"].headline
    mean, median = (headline[f"{kind} relative error"] for kind in ("mean", "median"))
    return tuple(math.nan if error is None else float(str(error)) for error in (mean, median))


def _trials_by_parameters(table: EngineTable, setting: Setting) -> Trials:
    queries = _queries(setting, _DIMENSION, _SELECTIVITY)
    return run_trials(
        table, setting, lambda release, _: _query_errors(release, queries), everywhere(setting)
    )


def _by_workload(table: EngineTable, setting: Setting, words: str) -> Sequence[Figure]:
    """Vary the queries, on releases with the default parameters."""
    workloads = [
        *(_queries(setting, dimension, _SELECTIVITY) for dimension in _DIMENSIONS),
        *(_queries(setting, _DIMENSION, selectivity) for selectivity in _SELECTIVITIES),
    ]
    trials = run_trials(
        table,
        setting,
        lambda release, _: [_query_errors(release, queries)[0] for queries in workloads],
        AT_DEFAULT,
    )
    first = len(_DIMENSIONS)
    selectivities = tuple(float(selectivity) for selectivity in _SELECTIVITIES)
    return [
        _workload_panel("8c", "qd", _DIMENSIONS, trials, 0, words),
        _workload_panel("8d", "sel", selectivities, trials, first, words),
    ]


def _workload_panel(
    place: str, varied: str, x: tuple[float, ...], trials: Trials, first: int, words: str
) -> Figure:
    return Figure(
        name=f"figure-{place}",
        title=f"Figure {place[:-1]}({place[-1]}): {_ERROR}, varied {varied} values",
        setting=words,
        x_name=f"{varied} value",
        x=x,
        y_name=f"{_ERROR} (%)",
        curves=tuple(
            Curve(
                method,
                tuple(100 * trials.mean(method, Place(), first + step) for step in range(len(x))),
            )
            for method in (ANATOMY, *INJECTORS)
        ),
    )


def _by_rows(setting: Setting) -> Figure:
    """Draw the errors on samples of different sizes.

    With fewer rows, more rules hold by chance and exclude more values, so Injector has more to gain
    than on the whole table.
    """
    rows = adult_rows(setting)
    sizes = [*(size for size in _SAMPLES if size < rows.n_rows), rows.n_rows]
    if setting.is_quick:
        sizes = [rows.n_rows // 2]
    queries = _queries(setting, _DIMENSION, _SELECTIVITY)
    methods = (ANATOMY, *INJECTORS)
    n_times = n_runs(setting, N_INJECTOR)
    errors, excluded = np.zeros((len(sizes), len(methods))), np.zeros(len(sizes))
    for place, size in enumerate(sizes):
        for run in range(n_times):
            generator = np.random.default_rng([setting.seed, run])
            table = read(sample(rows, size, generator))
            releases = [
                anonymize(table, method_of(method, Place()), seed=setting.seed + run)
                for method in methods
            ]
            errors[place] += [_query_errors(release, queries)[0] / n_times for release in releases]
            excluded[place] += excluded_share(table, releases[0]) / n_times
    return Figure(
        name="figure-8-samples",
        title=f"Beside Figure 8: {_ERROR} by the number of rows in a sample",
        setting=setting_words(
            setting,
            rows.n_rows,
            f"Samples of them; l = 6, minExp 0.90, rules mined from each sample. {n_times} samples "
            f"of each size, one run of each method. The queries are those of Figure 8(a), drawn "
            "for the values of each sample.",
        ),
        x_name="rows",
        x=tuple(sizes),
        y_name="%",
        curves=(
            *(
                Curve(method, tuple((100 * errors[:, place]).tolist()))
                for place, method in enumerate(methods)
            ),
            Curve(
                "values that rules exclude in Anatomy's buckets", tuple((100 * excluded).tolist())
            ),
        ),
    )


def _samples_statement(figure: Figure) -> Statement:
    """State where Injector as printed is better, by the share of values that rules exclude."""
    anatomy, printed, *_, excluded = (curve.values for curve in figure.curves)
    shown = [
        f"{size:,.0f} rows, {percent(share)} excluded: {percent(own)} against {percent(other)}"
        for size, share, own, other in zip(figure.x, excluded, printed, anatomy, strict=True)
    ]
    gains = [other - own for own, other in zip(printed, anatomy, strict=True)]
    most, least = int(np.argmax(excluded)), int(np.argmin(excluded))
    more = "more" if gains[most] > gains[least] else "no more"
    return Statement(
        f"{_ERROR} of Injector as printed against Anatomy's, on samples",
        "",
        "; ".join(shown),
        "not stated in the paper",
        f"Injector gains {more} if rules exclude the most values than if they exclude the fewest.",
    )


def _median(trials: Trials) -> Statement:
    shown = [
        f"{method} {percent(100 * trials.mean(method, Place(), 1))}"
        for method in (ANATOMY, *INJECTORS)
    ]
    return Statement(
        "median relative error, l = 6, minExp 0.90",
        "",
        "; ".join(shown),
        "not stated in the paper",
        "The mean is dominated by queries that few rows answer.",
    )


def _as_written(table: EngineTable) -> Statement:
    """State from which attributes queries can choose a value, if drawn as the paper says."""
    largest = max(map(Fraction, _SELECTIVITIES))
    able = [name for name in table.schema.quasi if largest * table.domains[name].size >= 1]
    return claimed(
        "queries that choose any rows, with sets of values drawn as in Section VI-D",
        "1,000 for each parameter",
        f"of {len(table.schema.quasi)} quasi-identifiers {len(able)} can have a value in their set "
        f"at sel {float(largest)}, the largest; queries name {min(_DIMENSIONS)} to "
        f"{max(_DIMENSIONS)}",
        holds=len(able) >= max(_DIMENSIONS),
        why="The paper draws the size of a set from 0 up to sel times the number of values. That "
        "is less than 1 for most attributes, and a query with an empty set counts no rows. Ours "
        "have sets by which a query would choose a share of sel of the rows if attributes were "
        "independent and values equally frequent.",
    )
