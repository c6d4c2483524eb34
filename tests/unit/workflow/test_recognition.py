"""What a column may be for: planted examples, and columns that must not be taken for one."""

from __future__ import annotations

import tomllib

import numpy as np
import pytest

from shoal.workflow.profile import profile
from shoal.workflow.recognition import Kind

N_ROWS = 600
generator = np.random.default_rng(12)


def recognised(columns):
    return {one.name: one.recognised.kind for one in profile(columns).columns if one.recognised}


def alone(name, values):
    other = generator.integers(0, 2, len(values))
    return recognised({name: values, "other": other}).get(name)


def drawn(*values):
    return generator.choice(values, N_ROWS)


@pytest.mark.parametrize(
    ("name", "values", "kind"),
    [
        ("Unnamed: 0", np.arange(5), Kind.ROW_NAMES),
        ("index", np.arange(1, 8), Kind.ROW_NAMES),
        ("x", generator.permutation(N_ROWS), Kind.ROW_NAMES),
        ("hhwt", drawn(812.5, 1290.25, 99.5, 400.125), Kind.WEIGHT),
        ("fnlwgt", generator.integers(10_000, 900_000, N_ROWS), Kind.WEIGHT),
        ("survey_weight", drawn(0.5, 1.5, 2.5), Kind.WEIGHT),
        ("weight", np.r_[[0.5, 1.5] * 290, [0.75, 1.25] * 10], Kind.WEIGHT),
        ("w", np.r_[[0.5, 1.5] * 290, [0.75, 1.25] * 10], Kind.WEIGHT),
        ("job_code", generator.integers(100, 900, N_ROWS), Kind.CODE),
        ("isco", generator.integers(1000, 9999, N_ROWS), Kind.CODE),
        ("zip", drawn(10115, 20095, 80331, 50667, 99084), Kind.CODE),
        ("answer", drawn(1, 2, 3, 4, 99), Kind.CODE),
        ("branch", drawn(11, 23, 31, 52, 72, 91), Kind.CODE),
    ],
)
def test_planted_columns_are_recognised(name, values, kind):
    assert alone(name, values) is kind


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("age", generator.integers(18, 90, N_ROWS)),
        ("age", drawn(21, 34, 55, 67, 99)),
        ("alter_in_jahren", drawn(18, 25, 50, 99)),
        ("birth_year", drawn(1931, 1950, 1977, 2003)),
        ("jahrgang", drawn(1931, 1950, 1977, 2003)),
        ("income", generator.lognormal(8, 1, N_ROWS).round(2)),
        ("pay", drawn(1000, 2000, 5000, 9000)),
        ("children", generator.poisson(2, N_ROWS)),
        ("rooms", drawn(1, 2, 3, 4, 5, 6)),
        ("weight", generator.normal(72, 12, N_ROWS).round(1)),
        ("birth_weight", generator.normal(3400, 400, N_ROWS).round(0)),
        ("height", generator.normal(1.7, 0.1, N_ROWS).round(2)),
        ("x", generator.integers(0, 10**6, N_ROWS)),
        ("temperature", generator.normal(0, 3, N_ROWS)),
        ("flag", drawn(0, 1)),
    ],
)
def test_measurements_are_not_recognised_as_anything(name, values):
    assert alone(name, values) is None


def households(name):
    sizes = generator.integers(1, 7, 200)
    home = np.repeat(np.arange(200), sizes)
    return {
        name: home * 7 + 1000,
        "region": generator.integers(0, 9, 200)[home],
        "rent": generator.integers(300, 2000, 200)[home],
        "sex": generator.integers(0, 2, len(home)),
        "age": generator.integers(0, 90, len(home)),
    }


@pytest.mark.parametrize(
    ("name", "kind"), [("hhid", Kind.HOUSEHOLD), ("patient_no", Kind.UNIT), ("z", Kind.UNIT)]
)
def test_rows_that_belong_together_are_recognised(name, kind):
    found = profile(households(name))
    recognition = found.column(name).recognised
    assert recognition.kind is kind
    assert "2 other columns are the same" in recognition.reason
    assert [one.name for one in found.columns if one.recognised] == [name]
    assert f'# person = "{name}"' in found.draft()


def test_a_household_is_not_drafted_as_a_person():
    assert "if households, not people, are to be protected as one" in (
        profile(households("hhid")).draft()
    )


def test_a_column_that_few_rows_share_is_no_unit_if_nothing_is_constant():
    columns = households("z") | {"z": generator.integers(0, 300, 600)[: len(households("z")["z"])]}
    columns = {name: values[:500] for name, values in columns.items()}
    assert "z" not in recognised(columns)


def test_a_draft_asks_for_codes_and_assigns_nothing():
    columns = {"branch": drawn(11, 23, 31, 52, 72, 91, 93, 95, 97, 12, 14), "age": drawn(3, 40)}
    text = profile(columns).draft()
    assert '# branch = "categorical"  # if its numbers are codes' in text
    drafted = tomllib.loads(text)
    assert drafted["types"] == {}
    assert drafted["columns"]["quasi"] == []


def test_no_number_of_the_table_is_shown():
    columns = {"isco": drawn(7411, 7412, 7521), "hhwt": drawn(841.125, 733.375, 612.625)}
    shown = str(profile(columns).to_dict()) + profile(columns).draft()
    assert not [n for n in ("7411", "7412", "841.1", "733.3") if n in shown]


@pytest.mark.slow
def test_of_the_adult_columns_only_the_weight_is_recognised(adult_path):
    found = profile(adult_path)
    assert {one.name: one.recognised.kind for one in found.columns if one.recognised} == {
        "fnlwgt": Kind.WEIGHT
    }
