"""COUNT queries answered from releases of Injector and Anatomy: Figure 8 of [Li08].

The paper finds that Injector's answers are closer to the truth. It does not state the default
number of attributes of a query, nor the selectivity, and the sets of values that it draws are
mostly empty. Queries are therefore drawn as in [Xiao06], the same for both methods.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI-D.
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 6.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

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
    N_INJECTOR,
    Place,
    Trials,
    adult_rows,
    adult_table,
    anatomized,
    axes,
    everywhere,
    method_of,
    n_runs,
    run_trials,
    runs_words,
    sample,
    setting_words,
)
from reproduction.planned import Setting
from reproduction.reproduced import Curve, Figure, Statement
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Release
from shoal.utility.queries import Queries
from shoal.workflow.anonymize import anonymize
from shoal.workflow.measure import measure
from shoal.workflow.read import read

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


def _errors(release: Release, queries: Queries) -> tuple[float, ...]:
    """Return the mean and the median of the relative errors; NaN if there is none."""
    headline = measure(release, queries)["queries"].headline
    mean, median = (headline[f"{kind} relative error"] for kind in ("mean", "median"))
    return tuple(math.nan if error is None else float(str(error)) for error in (mean, median))


def _trials_by_parameters(table: EngineTable, setting: Setting) -> Trials:
    queries = _queries(setting, _DIMENSION, _SELECTIVITY)
    return run_trials(
        table, setting, lambda release, _: _errors(release, queries), everywhere(setting)
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
        lambda release, _: [_errors(release, queries)[0] for queries in workloads],
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
            errors[place] += [_errors(release, queries)[0] / n_times for release in releases]
            excluded[place] += excluded_share(table, releases[0]) / n_times
    return Figure(
        name="figure-8-samples",
        title=f"Beside Figure 8: {_ERROR} by how many of the rows are taken",
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
        f"Injector gains {more} where rules exclude most than where they exclude least.",
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
        "The mean is ruled by queries that few rows answer.",
    )


def _as_written(table: EngineTable) -> Statement:
    """State from which attributes queries can choose a value, if drawn as the paper says."""
    largest = max(map(Fraction, _SELECTIVITIES))
    able = [name for name in table.schema.quasi if largest * table.domains[name].size >= 1]
    is_possible = len(able) >= max(_DIMENSIONS)
    return Statement(
        "queries that choose any rows, with sets of values drawn as in Section VI-D",
        "1,000 for each parameter",
        f"of {len(table.schema.quasi)} quasi-identifiers {len(able)} can have a value in their set "
        f"at sel {float(largest)}, the largest; queries name {min(_DIMENSIONS)} to "
        f"{max(_DIMENSIONS)}",
        "reproduced" if is_possible else "differs",
        ""
        if is_possible
        else "The paper draws the size of a set from 0 up to sel times the number of values. That "
        "is less than 1 for most attributes, and a query with an empty set counts no rows. Ours "
        "have sets by which a query chooses a share of sel of the rows, were attributes "
        "independent and values equally frequent.",
    )
