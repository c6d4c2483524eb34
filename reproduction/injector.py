"""The experiments of [Li08], Injector: its worked examples, Table III, and Figures 3 to 8.

In Table II, Bob is the only man in a group with two ovarian cancers and one prostate cancer. In
Section V-A, a woman among l men could have any of l + 1 values, and yet the one ovarian cancer must
be hers. For this reason values are matched with people, and not only counted.

The paper publishes Adult by Anatomy and by Injector. Given the occupations that people of a kind
never have, Anatomy leaves some people with fewer than l possible occupations, and Injector leaves
nobody with fewer. The paper finds Injector about as fast, and better for analysts. Injector is run
with three ways to choose the rows of a bucket: as printed in Figure 2, and two of Shoal's own.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Sections II, V-A and VI.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from reproduction.injector_rules import run_rules, run_table
from reproduction.injector_trials import (
    ANATOMY,
    INJECTORS,
    MIN_EXPS,
    Axis,
    Place,
    Trials,
    adult_table,
    anatomized,
    axes,
    fits_axis,
    judged,
    method_of,
    n_runs,
    run_trials,
    runs_words,
    setting_words,
)
from reproduction.injector_utility import run_associations, run_queries
from reproduction.reproduced import Curve, Figure, Planned, Setting, Statement, claimed, compared
from shoal.core.arrays import Floats
from shoal.core.declared import changed
from shoal.core.method import Method
from shoal.datasets.papers import injector_buckets, injector_one_female, injector_patients
from shoal.engines.sql.table import EngineTable
from shoal.grouping.anatomy import Anatomy
from shoal.injector.association_rules import NegativeRule
from shoal.injector.attack import Background
from shoal.injector.check.matching_diversity import valid_values
from shoal.injector.known import Knowledge
from shoal.injector.method import Injector
from shoal.injector.miners import mine_negative_rules
from shoal.release.opened import Release
from shoal.workflow.anonymize import anonymize
from shoal.workflow.attack import attack
from shoal.workflow.read import read

_ELL = 2
_N_RUNS = 10
_BOB = 2
_MOST_VALUES = 3
_EXCLUDED = {"M": "Ovarian Cancer", "F": "Prostate Cancer"}


def run_examples(setting: Setting) -> Sequence[Figure]:
    """Draw the attack on Table II with background knowledge, and the group of Section V-A."""
    return [_patients(setting), _one_woman()]


def _patients(setting: Setting) -> Figure:
    printed = _values_in_table_2()
    rules = Knowledge(
        "disease",
        [NegativeRule(antecedent={"sex": sex}, value=value) for sex, value in _EXCLUDED.items()],
    )
    runs = n_runs(setting, _N_RUNS)
    injected = _patients_by_values(Injector(ell=_ELL, rules=rules, mine=False), rules, setting)
    return Figure(
        name="table-2",
        title="Tables I and II: how many diseases each patient could have",
        setting=(
            "The nine patients of Table I. Known: men have no ovarian cancer, women no prostate "
            f"cancer. Anatomy and Injector with l = {_ELL}: the mean of {runs} runs, seeds from "
            f"{setting.seed} on."
        ),
        x_name="possible diseases",
        x=tuple(str(number) for number in range(1, _MOST_VALUES + 1)),
        y_name="patients",
        curves=(
            _curve("Table II as printed", _by_values(list(printed))),
            _curve("Anatomy", _patients_by_values(Anatomy(ell=_ELL), rules, setting)),
            _curve("Injector", injected),
        ),
        statements=(
            compared("diseases that Bob of Table II could have (Section II)", 1, printed[_BOB]),
            compared("patients of Injector's table with fewer than l = 2", 0, injected[0]),
        ),
    )


def _values_in_table_2() -> tuple[int, ...]:
    """Count the diseases that each patient could have in the groups of Table II."""
    columns = injector_patients().to_dict()
    groups = np.array(injector_buckets())
    found = np.zeros(len(groups), dtype=np.int64)
    for number in np.unique(groups):
        rows = np.flatnonzero(groups == number)
        valid = valid_values(
            [columns["disease"][row] for row in rows],
            [{_EXCLUDED[columns["sex"][row]]} for row in rows],
        )
        found[rows] = [len(one) for one in valid]
    return tuple(found.tolist())


def _by_values(n_values: Sequence[int]) -> Floats:
    return np.bincount(n_values, minlength=_MOST_VALUES + 1)[1:].astype(np.float64)


def _patients_by_values(method: Method, rules: Knowledge, setting: Setting) -> Floats:
    """Count patients by the number of diseases that they could have, as the mean over runs."""
    table = read(injector_patients())
    runs = n_runs(setting, _N_RUNS)
    total = np.zeros(_MOST_VALUES)
    for run in range(runs):
        release = anonymize(table, method, seed=setting.seed + run)
        found = attack(release, Background(rules=rules, ell=_ELL))["background"]
        n_values = np.rint(1 / found.posterior).astype(np.int64)
        total += np.bincount(n_values, found.counts, _MOST_VALUES + 1)[1:]
    return total / runs


def _curve(name: str, numbers: Floats) -> Curve:
    return Curve(name, tuple(numbers.tolist()))


def _one_woman() -> Figure:
    ells = (2, 3, 4, 5, 6)
    simple, matched, men = zip(*map(_values_of_group, ells), strict=True)
    is_more, is_told = simple == tuple(ell + 1 for ell in ells), set(matched) == {1}
    return Figure(
        name="section-5a",
        title="Section V-A: one woman among l men, one ovarian cancer among l other diseases",
        setting="Known: men have no ovarian cancer. Nothing is drawn.",
        x_name="l",
        x=ells,
        y_name="possible diseases",
        curves=(
            Curve("the woman, counted", tuple(map(float, simple))),
            Curve("the woman, matched", tuple(map(float, matched))),
            Curve("a man, matched", tuple(map(float, men))),
        ),
        statements=(
            claimed(
                "values that the woman is compatible with",
                "l + 1",
                "l + 1" if is_more else f"{simple}",
                holds=is_more,
            ),
            claimed(
                "values that she can have, matched with people",
                "1: ovarian cancer",
                "1" if is_told else f"{matched}",
                holds=is_told,
            ),
            claimed(
                "values that each man can have",
                "l",
                "l" if men == ells else f"{men}",
                holds=men == ells,
            ),
        ),
    )


def _values_of_group(ell: int) -> tuple[int, int, int]:
    """Return the woman's possible values by either count, and the fewest values of a man."""
    columns = injector_one_female(ell).to_dict()
    excluded = [{_EXCLUDED["M"]} if sex == "M" else set() for sex in columns["sex"]]
    valid = valid_values(columns["disease"], excluded)
    woman = columns["sex"].index("F")
    simple = len(set(columns["disease"]) - excluded[woman])
    men = [len(one) for one, sex in zip(valid, columns["sex"], strict=True) if sex == "M"]
    return simple, len(valid[woman]), min(men)


_AXIS_END = 1_200.0
"""The end of the axis of Figure 4(a), as far as its labels are legible."""
_N_TIMED = 3
_ROUGHLY = 2.0
"""Two times are roughly the same if they differ by at most this factor."""
_SECONDS = 60.0
_COSTS = (
    "Injector's buckets are checked by matching, and Figure 2 as printed counts, for every "
    "candidate, the rows that clash with the bucket."
)
_MINE, _MINE_LONG = "mining rules", "mining rules of any length"


def _all_places(setting: Setting) -> Sequence[Place]:
    return list(dict.fromkeys(place for axis in axes(setting) for place in axis.places))


# --- Figure 4 ---------------------------------------------------------------------------------


def _run_attack(setting: Setting) -> Sequence[Figure]:
    table = adult_table(setting)
    rules = {min_exp: mine_negative_rules(table, min_exp=min_exp) for min_exp in MIN_EXPS}

    def count_vulnerable(release: Release, place: Place) -> Sequence[float]:
        one = Background(rules=rules[place.min_exp], ell=place.ell)
        found = attack(release, one)["background"]
        simple = found.headline["people at risk by the simple count"]
        n_left_out = table.n_rows - release.manifest.n_rows
        return found.n_breached, float(str(simple)), n_left_out

    places = dict.fromkeys((ANATOMY, *INJECTORS), _all_places(setting))
    trials = run_trials(table, setting, count_vulnerable, places, n_injector=1)
    words = setting_words(
        setting,
        table.n_rows,
        "Vulnerable: fewer than l values that some assignment of a bucket's values allows, given "
        f"the rules. {runs_words(setting, 1)}",
    )
    figures = [
        _vulnerable(letter, axis, trials, words)
        for letter, axis in zip("ab", axes(setting), strict=True)
    ]
    told = [list(_vulnerable_statements(axis, trials)) for axis in axes(setting)]
    told[0].append(
        fits_axis("vulnerable tuples of Anatomy", figures[0], _AXIS_END, "Other hierarchies.")
    )
    return [
        replace(figure, statements=tuple(statements))
        for figure, statements in zip(figures, told, strict=True)
    ]


def _vulnerable(letter: str, axis: Axis, trials: Trials, words: str) -> Figure:
    return Figure(
        name=f"figure-4{letter}",
        title=f"Figure 4({letter}): background knowledge attack, {axis.words}",
        setting=words,
        x_name=axis.name,
        x=axis.x,
        y_name="number of vulnerable tuples",
        curves=(
            *trials.curves(axis),
            replace(trials.curve(ANATOMY, axis, 1), name=f"{ANATOMY}, by the simple count"),
        ),
    )


def _vulnerable_statements(axis: Axis, trials: Trials) -> Iterator[Statement]:
    for method in INJECTORS:
        most = max(trials.runs(method, place)[:, :2].max() for place in axis.places)
        n_left_out = max(trials.runs(method, place)[:, 2].max() for place in axis.places)
        yield judged(
            method,
            f"vulnerable tuples of {method}, by {axis.name}",
            "0 in all experiments",
            f"{most:,.0f} at most, by both counts; {n_left_out:,.0f} rows left out",
            holds=most == 0 and n_left_out == 0,
            why="Rows that no release can protect are left out.",
        )
    means = [trials.mean(ANATOMY, place) for place in axis.places]
    yield Statement(
        f"vulnerable tuples of {ANATOMY}, by {axis.name}",
        "",
        ", ".join(f"{mean:,.0f}" for mean in means),
        "not stated in the paper",
        "The paper draws bars without numbers.",
    )


# --- Figure 5 ---------------------------------------------------------------------------------


def _run_efficiency(setting: Setting) -> Sequence[Figure]:
    table = adult_table(setting)
    # The first run is slower, because it imports modules and fills caches.
    anatomized(table, setting)
    words = setting_words(
        setting,
        table.n_rows,
        f"CPU seconds, the median of {n_runs(setting, _N_TIMED)} runs, from counted rows "
        "to checked buckets. Injector is given its rules; mining them is timed apart.",
    )
    seconds = {place: _seconds(table, setting, place) for place in _all_places(setting)}
    return [
        _efficiency(letter, axis, seconds, words)
        for letter, axis in zip("ab", axes(setting), strict=True)
    ]


def _seconds(table: EngineTable, setting: Setting, place: Place) -> Mapping[str, float]:
    """Time every step for some parameters."""
    times = n_runs(setting, _N_TIMED)
    rules = mine_negative_rules(table, min_exp=place.min_exp)
    found = {
        method: _timed(lambda: _publish(table, setting, method, place, rules), times)  # noqa: B023
        for method in (ANATOMY, *INJECTORS)
    }
    for name, length in ((_MINE, 1), (_MINE_LONG, None)):
        found[name] = _timed(
            lambda: mine_negative_rules(table, min_exp=place.min_exp, max_len=length),  # noqa: B023
            times,
        )
    return found


def _publish(
    table: EngineTable, setting: Setting, name: str, place: Place, rules: Knowledge
) -> None:
    method = method_of(name, place)
    if isinstance(method, Injector):
        method = changed(method, rules=rules, mine=False)
    anonymize(table, method, seed=setting.seed)


def _timed(run: Callable[[], object], times: int) -> float:
    taken = []
    for _ in range(times):
        started = time.process_time()
        run()
        taken.append(time.process_time() - started)
    return float(np.median(taken))


def _efficiency(
    letter: str, axis: Axis, seconds: Mapping[Place, Mapping[str, float]], words: str
) -> Figure:
    names = (ANATOMY, *INJECTORS, _MINE, _MINE_LONG)
    curves = {name: tuple(seconds[place][name] for place in axis.places) for name in names}
    return Figure(
        name=f"figure-5{letter}",
        title=f"Figure 5({letter}): efficiency, {axis.words}",
        setting=words,
        x_name=axis.name,
        x=axis.x,
        y_name="CPU seconds",
        curves=tuple(Curve(name, values) for name, values in curves.items()),
        statements=tuple(_time_statements(axis, curves)),
    )


def _time_statements(axis: Axis, curves: Mapping[str, Sequence[float]]) -> Iterator[Statement]:
    anatomy = np.array(curves[ANATOMY])
    for method in INJECTORS:
        ratio = np.array(curves[method]) / anatomy
        is_same = bool((ratio <= _ROUGHLY).all() and (ratio >= 1 / _ROUGHLY).all())
        yield judged(
            method,
            f"time to bucketize by {method}, by {axis.name}",
            "roughly that of Anatomy",
            f"{ratio.min():.3g} to {ratio.max():.3g} times Anatomy's",
            holds=is_same,
            why=f"We call two times roughly the same within a factor of {_ROUGHLY:g}. {_COSTS}",
        )
    longest = max(max(curves[name]) for name in (ANATOMY, *INJECTORS))
    yield Statement(
        f"time to bucketize by any method, by {axis.name}",
        "usually within seconds",
        f"at most {longest:.2g} s",
        "reproduced" if longest < _SECONDS else "differs",
        "On another machine, and in another language.",
    )
    yield _mining_statement(axis, curves)


def _mining_statement(axis: Axis, curves: Mapping[str, Sequence[float]]) -> Statement:
    """Judge whether mining takes longer than bucketizing as printed."""
    printed = next(iter(INJECTORS))
    mining, any_length, own = (
        float(np.mean(curves[name])) for name in (_MINE, _MINE_LONG, printed)
    )
    return claimed(
        f"what takes longest in Injector, by {axis.name}",
        "mining the rules",
        f"mining {mining:.2g} s, of any length {any_length:.2g} s; bucketizing {own:.2g} s",
        holds=mining > own,
        why="Shoal mines from counts of distinct rows; rules of one quasi-identifier take one pass "
        "over them, without a search for frequent itemsets.",
    )


PLANNED: tuple[Planned, ...] = (
    Planned("Tables I and II, Section V-A: worked examples", needs_adult=False, run=run_examples),
    Planned("Table III: the Adult dataset", needs_adult=True, run=run_table),
    Planned("Figure 3: negative association rules", needs_adult=True, run=run_rules),
    Planned("Figure 4: background knowledge attack", needs_adult=True, run=_run_attack),
    Planned("Figure 5: efficiency", needs_adult=True, run=_run_efficiency),
    Planned("Figures 6 and 7: association rule mining", needs_adult=True, run=run_associations),
    Planned("Figure 8: aggregate query answering", needs_adult=True, run=run_queries),
)
"""The experiments, in the order of the paper."""
