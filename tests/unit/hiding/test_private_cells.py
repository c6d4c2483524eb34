"""Cells of data frames that are named by masks, lists and conditions."""

from __future__ import annotations

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from frames import EMPLOYEE_COLUMNS as COLUMNS
from frames import EMPLOYEES_PRIVATE as PRIVATE
from frames import FRAMES, employees

from shoal.core.errors import ParameterError
from shoal.core.private_cells import PrivateCells
from shoal.knowledge import (
    AdversarialRule,
    AdversarialRules,
    mine_adversarial_rules,
)

SECRET = "SECRETVALUE123"


BORN = [dt.date(1990, 1, 2)] * 2 + [dt.date(1980, 5, 6)] * 4
AGES = [30, 30, 41, 41, 41, 42]


def text(rule: AdversarialRule) -> str:
    return f"{' & '.join(rule.antecedent.values())} -> {rule.value}"


@pytest.fixture(scope="module")
def rules() -> AdversarialRules:
    return mine_adversarial_rules(employees(), PRIVATE, delta=0.6, gamma=2)


def test_masks_lists_and_conditions_name_the_same_cells():
    frame = employees()
    mask = np.zeros((10, 5), dtype=bool)
    mask[:, 4] = np.array(frame["title"]) == "Manager"
    named = [(row, "salary_level") for row in range(10) if frame["title"][row] == "Manager"]
    given = [
        mask,
        mask.tolist(),
        pd.DataFrame(mask, columns=COLUMNS),
        pd.DataFrame(mask),
        pl.DataFrame({"salary_level": mask[:, 4]}),
        pa.table({"salary_level": mask[:, 4]}),
        {"salary_level": mask[:, 4].tolist()},
        named,
        [(row, 4) for row, _ in named],
        [*named[1:], {"salary_level": mask[:, 4]}],
        PrivateCells.of(named),
    ]
    (first, *others) = [mine_adversarial_rules(frame, one, delta=0.5, gamma=1) for one in given]
    assert first.n_private == len(named) > 1
    assert len(first) > 0
    for other in others:
        assert list(other) == list(first)
        assert other.cells == first.cells


@pytest.mark.parametrize(
    "private",
    [
        "salary_level where title = 'Manager'",
        {"column": "salary_level", "sql": "title = 'Manager'"},
        {"column": "salary_level", "python": lambda row: row["title"] == "Manager"},
    ],
)
@pytest.mark.parametrize("kind", FRAMES)
def test_conditions(private, kind):
    frame = employees()
    named = [(row, "salary_level") for row in range(10) if frame["title"][row] == "Manager"]
    first = mine_adversarial_rules(frame, named, delta=0.5, gamma=1)
    found = mine_adversarial_rules(FRAMES[kind](frame), private, delta=0.5, gamma=1)
    assert list(found) == list(first)
    assert found.cells == first.cells


def test_a_condition_goes_by_numbers_and_missing_values():
    frame = {"age": [30, 70, None, 80], "job": ["cook", "judge", "judge", "judge"]}
    found = mine_adversarial_rules(frame, "job where age > 60", delta=0.5, gamma=1)
    assert found.n_private == 2


@pytest.mark.parametrize("kind", FRAMES)
def test_a_condition_goes_by_dates(kind):
    moments = pd.to_datetime(pd.Series([str(one) for one in BORN]))
    for born in (BORN, moments.tolist()):
        frame = FRAMES[kind]({"born": born, "age": AGES})
        found = mine_adversarial_rules(frame, "age where born > DATE '1985-01-01'", gamma=1)
        assert found.n_private == 2


def test_a_whole_column_may_be_private(rules):
    found = mine_adversarial_rules(employees(), "title", delta=0.6, gamma=1)
    assert (found.n_private, len(found)) == (10, 0)
    twice = mine_adversarial_rules(employees(), ["title", *PRIVATE], delta=0.6, gamma=2)
    assert twice.n_private == 15
    assert {text(rule) for rule in twice} < {text(rule) for rule in rules}


def test_no_private_cells_at_all_are_refused_but_an_empty_mask_is_not():
    with pytest.raises(ParameterError, match="No private cells"):
        mine_adversarial_rules(employees(), None)
    assert not mine_adversarial_rules(employees(), np.zeros((10, 5), dtype=bool))


@pytest.mark.parametrize(
    ("private", "words"),
    [
        (np.zeros((9, 5), dtype=bool), "9 rows and 5 columns; 10 and 5"),
        (np.zeros((10, 4), dtype=bool), "10 rows and 4 columns; 10 and 5"),
        ({"title": [True] * 9}, "9 rows and 1 columns; 10 and 1"),
        ({"height": [True] * 10}, "no column 'height'"),
        ([(0, "title"), (10, "title"), (-1, "title")], "2 of 3 listed cells"),
        ([("7", "title")], "1 of 1 listed cells"),
        ([(0, "height")], "no column 'height'"),
        ([(0, 5)], "column 5"),
        ([(0, -1)], "column -1"),
        ({"column": "height"}, "no column 'height'"),
        ("height", "begins with no column"),
        ({"file": "cells.csv"}, "in a file"),
        (np.zeros((10, 5)), "true or false"),
        (5, "cannot be given as a int"),
    ],
)
@pytest.mark.parametrize("role", ["private", "hidden"])
def test_cells_that_the_frame_does_not_have_are_refused(private, words, role):
    given = {"private": PRIVATE} | {role: private}
    with pytest.raises(ParameterError, match=words) as caught:
        mine_adversarial_rules(employees(), **given)
    assert caught.value.hint
    if "file" in words:
        assert "shoal.read(frame, schema)" in str(caught.value)


@pytest.mark.parametrize(
    "condition", ["title where height > 5", "title where gender >", "title where gender / 0 = 1"]
)
def test_errors_of_conditions_show_no_values(condition):
    frame = {"title": [SECRET, "x"], "gender": [SECRET, SECRET]}
    with pytest.raises(ParameterError) as caught:
        mine_adversarial_rules(frame, condition)
    assert SECRET not in str(caught.value)
