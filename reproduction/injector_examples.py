"""The worked examples of [Li08]: patients whose disease follows from what others cannot have.

In Table II, Bob is the only man in a group with two ovarian cancers and one prostate cancer. In
Section V-A, a woman among l men could have any of l + 1 values, and yet the one ovarian cancer must
be hers. For this reason values are matched with people, and not only counted.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Sections II and V-A.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from reproduction.injector_trials import n_runs
from reproduction.planned import Setting
from reproduction.reproduced import Curve, Figure, Statement, compared
from shoal.core.arrays import Floats
from shoal.core.method import Method
from shoal.datasets.papers import injector_buckets, injector_one_female, injector_patients
from shoal.grouping.anatomy import Anatomy
from shoal.injector.association_rules import NegativeRule
from shoal.injector.attack import Background
from shoal.injector.check.matching_diversity import valid_values
from shoal.injector.known import Knowledge
from shoal.injector.method import Injector
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
    is_told = all(number == 1 for number in matched)
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
            Statement(
                "values that the woman is compatible with",
                "l + 1",
                "l + 1" if simple == tuple(ell + 1 for ell in ells) else f"{simple}",
                "reproduced" if simple == tuple(ell + 1 for ell in ells) else "differs",
            ),
            Statement(
                "values that she can have, matched with people",
                "1: ovarian cancer",
                "1" if is_told else f"{matched}",
                "reproduced" if is_told else "differs",
            ),
            Statement(
                "values that each man can have",
                "l",
                "l" if men == ells else f"{men}",
                "reproduced" if men == ells else "differs",
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
