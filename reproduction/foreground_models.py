"""Section 5.2 of [Wong11]: four privacy models under the attack, by number of attributes.

Anatomy, Injector, MASK and t-closeness publish Adult with three to eight quasi-identifiers. The
figures show the time that mining takes, the time that publishing takes, the number of sensitive
tuples found, the largest difference of probabilities within a group, and the error of queries.
Mondrian and the buckets designed against the attack are shown for comparison.

References
----------
[Wong11] (see `reproduction.foreground_trials`) Section 5.2, Figures 1 to 3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from reproduction.foreground_model_claims import Outcome, Outcomes, statements_of
from reproduction.foreground_trials import (
    QUASI,
    Attacked,
    adult_columns,
    attacked,
    curve,
    epsilon_of,
    rows_words,
)
from reproduction.reproduced import Figure, Setting
from shoal.core.declared import changed
from shoal.core.errors import InfeasibleError
from shoal.core.method import Method
from shoal.datasets.adult import LOW_EDUCATION
from shoal.engines.sql.table import EngineTable
from shoal.foreground.method import ForegroundSafe
from shoal.foreground.scoring import Score
from shoal.grouping.anatomy import Anatomy
from shoal.grouping.full_domain import FullDomain
from shoal.grouping.mask import Mask
from shoal.grouping.mondrian import Mondrian
from shoal.injector.method import Injector
from shoal.utility.queries import Queries
from shoal.workflow.anonymize import anonymize
from shoal.workflow.measure import measure

_RS = (2, 10)
_SIZES = (3, 4, 5, 6, 7, 8)
_T = "0.2"
_N_QUERIES = 2_000
_T_CLOSENESS = "t-closeness"
_PAPERS = ("Anatomy", "MASK", "Injector", _T_CLOSENESS)
_BESIDE = "not in the paper"
_MONDRIAN, _SAFE = f"Mondrian ({_BESIDE})", f"foreground_safe ({_BESIDE})"


def run_models(setting: Setting) -> Sequence[Figure]:
    """Draw Figures 1, 2 and 3, and the success of an additive adversary on the same releases."""
    sizes = (2, 3) if setting.is_quick else _SIZES
    outcomes: dict[tuple[str, int, int], Outcome | None] = {}
    for size in sizes:
        table = adult_columns(setting, QUASI[:size])
        for name, r, method in _plans(table.n_rows):
            made = _publish(table, method, setting.seed)
            best = _best_ell(table, method, made)
            for limit in _RS if name == _T_CLOSENESS else (r,):
                is_asked = size == _coherent_size(sizes)
                outcomes[name, limit, size] = _outcome(
                    made, limit, setting, best, is_asked=is_asked
                )
    names = [*_PAPERS, _MONDRIAN, _SAFE]
    figures = [_panel(setting, outcomes, names, sizes, r, kind) for kind in _PANELS for r in _RS]
    return [
        *sorted(figures, key=lambda figure: figure.name),
        *(_coherent(outcomes, names, sizes, r) for r in _RS),
    ]


def _plans(n_rows: int) -> list[tuple[str, int, Method]]:
    """Return the methods as the paper sets them, with r; t-closeness does not depend on it."""
    plans: list[tuple[str, int, Method]] = [(_T_CLOSENESS, _RS[0], FullDomain(t=_T))]
    for r in _RS:
        plans += [
            ("Anatomy", r, Anatomy(ell=r, protect=LOW_EDUCATION)),
            (
                "MASK",
                r,
                Mask(m=r, k=r, protect=LOW_EDUCATION, publish="bucketized", lenders="any"),
            ),
            ("Injector", r, Injector(ell=r, on_infeasible="suppress")),
            (_MONDRIAN, r, Mondrian(ell=r, protect=LOW_EDUCATION)),
            (_SAFE, r, ForegroundSafe(value=LOW_EDUCATION, r=r, epsilon=epsilon_of(n_rows))),
        ]
    return plans


def _publish(table: EngineTable, method: Method, seed: int) -> Attacked | None:
    try:
        return attacked(table, method, seed)
    except InfeasibleError:
        return None


def _best_ell(table: EngineTable, method: Method, made: Attacked | None) -> int | None:
    """Return the largest l with which Injector publishes all rows, if it left some out."""
    if not isinstance(method, Injector) or made is None or not made.n_left_out:
        return None
    try:
        anonymize(table, changed(method, on_infeasible="error"), seed=0)
    except InfeasibleError as error:
        best = error.best.get("ell")
        return best if isinstance(best, int) else None
    return None


def _coherent_size(sizes: Sequence[int]) -> int:
    """Return the number of quasi-identifiers at which the additive adversary is run: five."""
    return 5 if 5 in sizes else sizes[-1]


def _outcome(
    made: Attacked | None, r: int, setting: Setting, best_ell: int | None, *, is_asked: bool
) -> Outcome | None:
    if made is None:
        return None
    n_queries = _N_QUERIES // 10 if setting.is_quick else _N_QUERIES
    asked = measure(made.release, Queries(number=n_queries, numbers=(), seed=setting.seed))
    error = asked["queries"].headline["mean relative error"]
    sizes = made.bucket_sizes
    return Outcome(
        mining=made.mining_seconds,
        publishing=made.seconds,
        score=made.score(r),
        delta=made.delta,
        query_error=error if isinstance(error, float) else float("nan"),
        mean_size=float(sizes.mean()),
        largest_size=int(sizes.max()),
        most_carriers=int(made.target.n_carrying.max()),
        n_left_out=made.n_left_out,
        best_ell=best_ell,
        coherent=made.score_coherent(r) if is_asked else None,
    )


@dataclass(frozen=True)
class _Panel:
    """A panel of the paper's figures: of Figure 1 or 2, or of Figure 3."""

    figure_of_r: Mapping[int, str]
    title: str
    y_name: str
    value: Callable[[Outcome], float]
    is_log: bool = False


_PANELS: Mapping[str, _Panel] = {
    "mining": _Panel(
        {2: "1(a)", 10: "2(a)"},
        "time for mining foreground knowledge",
        "CPU seconds",
        lambda one: one.mining,
        is_log=True,
    ),
    "publishing": _Panel(
        {2: "1(b)", 10: "2(b)"}, "execution time", "CPU seconds", lambda one: one.publishing
    ),
    "breaches": _Panel(
        {2: "1(c)", 10: "2(c)"},
        "problematic tuples among sensitive tuples",
        "proportion",
        lambda one: one.score.recall,
    ),
    "delta": _Panel(
        {2: "1(d)", 10: "2(d)"}, "average value of Delta", "Delta", lambda one: one.delta
    ),
    "queries": _Panel(
        {2: "3(a)", 10: "3(b)"},
        "average relative error of queries",
        "relative error",
        lambda one: one.query_error,
        is_log=True,
    ),
}


def _panel(
    setting: Setting,
    outcomes: Outcomes,
    names: Sequence[str],
    sizes: Sequence[int],
    r: int,
    kind: str,
) -> Figure:
    panel = _PANELS[kind]
    label = panel.figure_of_r[r]
    curves = []
    for name in names:
        found = [outcomes[name, r, size] for size in sizes]
        curves.append(
            curve(name, [float("nan") if one is None else panel.value(one) for one in found])
        )
    return Figure(
        name=f"figure-{label.replace('(', '').replace(')', '')}",
        title=f"Figure {label}: {panel.title}, r = {r}",
        setting=_words(setting, r),
        x_name="QI size",
        x=tuple(float(size) for size in sizes),
        y_name=panel.y_name,
        curves=tuple(curves),
        statements=statements_of(kind, r, outcomes, sizes),
        is_log=panel.is_log,
    )


def _words(setting: Setting, r: int) -> str:
    n_queries = _N_QUERIES // 10 if setting.is_quick else _N_QUERIES
    return (
        f"{rows_words(setting)}. Anatomy with l = {r} and MASK with k = m = {r}, bucketized, "
        f"the sensitive set as one value; Injector with l = {r}, a minimum expectation of .9 and "
        f"confidence of 1; t-closeness with t = {_T} by full-domain generalization. One run, seed "
        f"{setting.seed} (the paper: 100); {n_queries:,} COUNT queries of three quasi-identifiers "
        "and the sensitive value, with a selectivity of .05 (the paper: 10,000)."
    )


def _coherent(
    outcomes: Outcomes,
    names: Sequence[str],
    sizes: Sequence[int],
    r: int,
) -> Figure:
    """Draw the success of both adversaries; the paper has only one."""
    size = _coherent_size(sizes)

    def bars(value: Callable[[Score], float], *, is_coherent: bool) -> list[float]:
        found = []
        for name in names:
            one = outcomes[name, r, size]
            judged = None if one is None else one.coherent if is_coherent else one.score
            found.append(float("nan") if judged is None else value(judged))
        return found

    kinds = (("the paper's adversary", False), ("one additive model", True))
    return Figure(
        name=f"beyond-the-paper-r-{r}",
        title=f"Not in the paper: an adversary with one model of everybody, r = {r}",
        setting=(
            f"The releases of Figures 1 and 2 with {size} quasi-identifiers. The additive model "
            "gives beliefs that add up to the sensitive values of every bucket."
        ),
        x_name="method",
        x=tuple(names),
        y_name="proportion",
        curves=tuple(
            curve(f"{figure}, {name}", bars(value, is_coherent=is_coherent))
            for figure, value in (
                ("sensitive tuples found", lambda one: one.recall),
                ("right among those flagged", lambda one: one.precision),
                ("right when naming the likeliest", lambda one: one.top_share),
            )
            for name, is_coherent in kinds
        ),
        statements=statements_of("coherent", r, outcomes, (size,)),
    )
