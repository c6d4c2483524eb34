from __future__ import annotations

import numpy as np
import pytest

from shoal.core.errors import DataError, ParameterError
from shoal.datasets import Encoded, adult
from shoal.datasets.adult import ADULT_COLUMNS, ADULT_SUBSETS, LOW_EDUCATION, adult_hierarchy

HEIGHTS = {"age": 5, "workclass": 3, "education": 4, "marital_status": 3, "race": 3, "sex": 2}
FIRST_ROW = (
    "39,State-gov,77516,Bachelors,13,Never-married,Adm-clerical,"
    "Not-in-family,White,Male,0,0,40,United-States,<=50K"
)


def write(path, *lines):
    path.write_text("\n".join([",".join(ADULT_COLUMNS), *lines]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("subset", "n_rows", "n_quasi", "sensitive"),
    [
        ("all", 48_842, 14, "occupation"),
        ("complete", 45_222, 14, "occupation"),
        ("occ-15", 45_222, 14, "occupation"),
        ("occ-7", 45_222, 6, "occupation"),
        ("injector", 30_718, 6, "occupation"),
        ("foreground-5", 45_222, 5, "education"),
        ("foreground-8", 45_222, 8, "education"),
        ("adversarial", 45_222, 10, None),
    ],
)
def test_subsets_have_the_papers_shape(adult_path, subset, n_rows, n_quasi, sensitive):
    table = adult(adult_path, subset)
    assert table.n_rows == n_rows
    assert len(table.schema.quasi) == n_quasi
    assert table.schema.sensitive == (() if sensitive is None else (sensitive,))


def test_only_the_subset_all_has_missing_values(adult_path):
    for subset in ADULT_SUBSETS:
        columns = adult(adult_path, subset).columns.values()
        has_missing = any((c.codes < 0).any() for c in columns if isinstance(c, Encoded))
        assert has_missing == (subset == "all")


def test_values_are_those_of_the_file(adult_path):
    first = {column: values[0] for column, values in adult(adult_path, "all").to_dict().items()}
    header, line = adult_path.read_text(encoding="utf-8").splitlines()[:2]
    assert {column: str(value) for column, value in first.items()} == dict(
        zip(header.split(","), line.split(","), strict=True)
    )


def test_low_education_is_the_share_that_the_foreground_paper_prints(adult_path):
    education = adult(adult_path, "foreground-5").to_dict()["education"]
    n_low = sum(value in LOW_EDUCATION for value in education)
    assert n_low == 1_566
    assert round(100 * n_low / len(education), 2) == 3.46


def test_adversarial_subset_cuts_numbers_into_equal_widths(adult_path):
    table = adult(adult_path, "adversarial")
    age, weight = table.columns["age"], table.columns["fnlwgt"]
    assert (len(age.labels), len(weight.labels)) == (10, 150)
    assert (age.labels[0], age.labels[-1]) == ("[17, 24.3[", "[82.7, 90]")
    years = adult(adult_path, "complete").columns["age"]
    assert np.array_equal(age.codes, np.minimum((years - 17) * 10 // 73, 9))


@pytest.mark.parametrize("column", ADULT_COLUMNS)
def test_every_column_has_a_hierarchy(column):
    assert adult_hierarchy(column).height >= 1


@pytest.mark.parametrize(("column", "height"), HEIGHTS.items())
def test_hierarchies_have_the_heights_of_the_injector_paper(column, height):
    # Table III counts the leaves as a level, `Hierarchy.height` the steps above them.
    assert adult_hierarchy(column).height + 1 == height


def test_hierarchies_keep_self_employed_apart_and_those_without_spouse_together():
    above = {row[0]: row[1] for row in adult_hierarchy("workclass").rows}
    assert above["Self-emp-inc"] == above["Self-emp-not-inc"] != above["Private"]
    assert above["Federal-gov"] == above["State-gov"] == above["Local-gov"] == "Government"
    above = {row[0]: row[1] for row in adult_hierarchy("marital_status").rows}
    gone = {above[s] for s in ("Divorced", "Separated", "Widowed", "Married-spouse-absent")}
    assert len(gone) == 1
    assert gone.isdisjoint({above["Never-married"], above["Married-civ-spouse"]})


def test_elementary_school_is_the_low_education_of_the_foreground_paper():
    leaves = [row[0] for row in adult_hierarchy("education").rows if row[1] == "Elementary-school"]
    assert sorted(leaves) == sorted(LOW_EDUCATION)


def test_a_file_with_a_missing_value_is_read(tmp_path):
    path = write(tmp_path / "adult.csv", FIRST_ROW, FIRST_ROW.replace("State-gov", ""))
    assert adult(path, "all").to_dict()["workclass"] == ["State-gov", None]
    assert adult(path, "occ-7").n_rows == 1


def test_an_absent_file_says_where_to_get_adult(tmp_path):
    with pytest.raises(DataError, match=r"archive\.ics\.uci\.edu") as error:
        adult(tmp_path / "absent.csv")
    assert "age,workclass,fnlwgt" in str(error.value)


def test_other_columns_are_refused(tmp_path):
    path = tmp_path / "adult.csv"
    path.write_text(FIRST_ROW + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="does not name the columns of Adult"):
        adult(path)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (FIRST_ROW + ",more", "1 of the 1 rows"),
        (FIRST_ROW.replace("39", "old"), "'age' of Adult must hold whole numbers"),
        (FIRST_ROW.replace("State-gov", "?"), "'workclass' of Adult has 1 values"),
        (FIRST_ROW + ".", "'salary' of Adult has 1 values"),
    ],
)
def test_rows_that_are_not_adults_are_refused_without_showing_them(tmp_path, line, message):
    with pytest.raises(DataError, match=message) as error:
        adult(write(tmp_path / "adult.csv", line), "all")
    assert "Bachelors" not in str(error.value)


def test_a_file_without_rows_is_refused(tmp_path):
    with pytest.raises(DataError, match="0 of the 0 rows"):
        adult(write(tmp_path / "adult.csv"))


def test_an_unknown_subset_is_refused_with_the_known_ones(adult_path):
    with pytest.raises(ParameterError, match="occ-7"):
        adult(adult_path, "occ-8")


def test_an_unknown_column_has_no_hierarchy():
    with pytest.raises(ParameterError, match="not a column of Adult"):
        adult_hierarchy("shoe_size")
