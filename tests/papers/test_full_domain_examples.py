"""[LeFevre05] Figure 1: the patients whom Incognito makes 2-anonymous, and Adult beside ARX."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

import shoal
from shoal.core.secret import Secret
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.workflow.anonymize import problem_of

PATIENTS = {
    "birth": ["1976-01-21", "1986-04-13", "1976-02-28", "1976-01-21", "1986-04-13", "1976-02-28"],
    "sex": ["Male", "Female", "Male", "Male", "Female", "Female"],
    "zip": ["53715", "53715", "53703", "53703", "53706", "53706"],
    "disease": ["Flu", "Hepatitis", "Bronchitis", "Broken Arm", "Sprained Ankle", "Hang Nail"],
}
ZIP = Hierarchy.from_rows(
    [
        ["53715", "5371*", "*"],
        ["53710", "5371*", "*"],
        ["53706", "5370*", "*"],
        ["53703", "5370*", "*"],
    ]
)


def patients(*, quasi=("birth", "sex", "zip")):
    schema = shoal.Schema(
        quasi=quasi,
        sensitive="disease",
        identifying=[name for name in ("birth", "sex", "zip") if name not in quasi],
        types=dict.fromkeys((*quasi, "disease"), "categorical"),
        hierarchies={"zip": ZIP} if "zip" in quasi else {},
    )
    return shoal.read(PATIENTS, schema)


def levels(table, **parameters):
    method = shoal.FullDomain(**parameters)
    plan = method.plan(problem_of(table, method, Secret.from_seed(1)))
    return tuple(plan.notes["levels"].values())


def test_two_columns_of_the_patients_as_in_figure_5():
    # <S0, Z1> is not 2-anonymous, <S1, Z0> and <S0, Z2> are the lowest that are.
    assert levels(patients(quasi=("sex", "zip")), k=2) == (1, 0)
    assert levels(patients(quasi=("sex", "zip")), k=3) == (0, 2)
    # <B1, S0> is, <B0, S1> is too: the first loses one of two leaves, the other all of three.
    assert levels(patients(quasi=("birth", "sex")), k=2) == (0, 1)
    assert levels(patients(quasi=("birth", "sex")), k=3) == (1, 0)


@pytest.mark.parametrize("loss", ["loss", "discernibility", "class_size"])
def test_all_three_columns_of_the_patients(loss):
    # <B1, S1, Z0>, <B1, S0, Z2> and <B0, S1, Z2> each suppress two columns: the lowest is taken.
    assert levels(patients(), k=2, loss=loss) == (1, 1, 0)


def test_rows_left_out_of_the_patients_leave_more_of_the_others():
    # At <B1, S0, Z0> and <B0, S0, Z2> two pairs of patients look alike: the lower one is taken.
    assert levels(patients(), k=2, suppress="1/3") == (1, 0, 0)


# --- Adult ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def occ_7(adult_path):
    """OCC-7 with the hierarchies that the comparison with ARX was made with."""
    folder = Path(adult_path).parent / "hierarchies"
    if not folder.is_dir():
        pytest.skip("the hierarchies for the comparison with ARX are not there")
    data = shoal.datasets.adult(adult_path, "occ-7")
    columns = (*data.schema.quasi, *data.schema.sensitive)
    hierarchies = {
        column: Hierarchy.from_csv(folder / f"adult_{column}.csv", column=column)
        for column in columns
    }
    schema = shoal.Schema(
        quasi=data.schema.quasi,
        sensitive=data.schema.sensitive,
        types=data.schema.types,
        hierarchies=hierarchies,
    )
    return shoal.read(data, schema)


@pytest.mark.parametrize(
    ("suppress", "loss", "n_dropped"), [("0", 0.561, 0), ("0.05", 0.104, 1961)]
)
def test_the_least_loss_on_adult_is_that_of_arx(occ_7, suppress, loss, n_dropped):
    method = shoal.FullDomain(k=5, suppress=suppress)
    plan = method.plan(problem_of(occ_7, method, Secret.from_seed(1)))
    assert round(plan.notes["loss"], 3) == loss
    assert plan.drop.n_rows == n_dropped


def test_adult_is_published_with_rows_left_out(occ_7, tmp_path):
    method = shoal.FullDomain(k=5, ell=3, t="0.4", distance="hierarchical", suppress="0.05")
    release = shoal.anonymize(occ_7, method, seed=1)
    folder = release.write(tmp_path / "release")
    assert str(shoal.verify(folder).status) == "verified"
    with (tmp_path / "release" / "table.csv").open(encoding="utf-8", newline="") as stream:
        n_lines = sum(1 for _ in csv.reader(stream)) - 1
    n_dropped = release.making.plan.drop.n_rows
    assert n_lines == release.manifest.n_rows == 45_222 - n_dropped
    assert 0 < n_dropped <= 0.05 * 45_222
    assert f"{n_dropped} of 45222 rows are left out" in (folder / "codebook.md").read_text()
