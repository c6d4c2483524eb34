"""Insensitive columns that undo a release are refused until the steward confirms them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import shoal
from shoal.core.errors import DataError, SchemaError
from shoal.locating import insensitive_columns
from shoal.workflow.config import configure

N = 600


def people():
    """Make people whose province follows from its population, and whose price and tax are theirs.

    Neither price nor tax parts a class below 20 people; together they do.
    """
    rng = np.random.default_rng(1)
    province = np.arange(N) % 6
    return {
        "province": [f"province {place}" for place in province],
        "disease": [f"disease {value}" for value in rng.integers(0, 6, N)],
        "population": [1000 * int(place) + 7 for place in province],
        "price": [number // 6 % 5 for number in range(N)],
        "tax": [number // 30 % 5 for number in range(N)],
    }


# A hierarchy that hides the province entirely: one class, in which everybody looks alike.
HIDDEN = {"province": shoal.Hierarchy.flat()}


def table(*insensitive, meant=(), **more):
    columns = people()
    rest = [name for name in ("population", "price", "tax") if name not in insensitive]
    schema = shoal.Schema(
        quasi="province", sensitive="disease", insensitive=insensitive, identifying=rest,
        hierarchies=HIDDEN, meant=meant, **more,
    )  # fmt: skip
    return shoal.read(columns, schema)


WIDE = shoal.FullDomain(k=101)
"""Every province has 100 people, so that all provinces become one class."""


def test_a_column_that_tells_a_generalized_quasi_identifier_is_refused():
    with pytest.raises(DataError, match=r"'population' determines 'province' of 600 people") as it:
        shoal.anonymize(table("population"), WIDE, seed=1)
    assert 'meant = [["population"]]' in it.value.hint
    assert "province 1" not in str(it.value)


def test_a_confirmed_column_is_published():
    release = shoal.anonymize(table("population", meant=["population"]), WIDE, seed=1)
    assert release.manifest.meant == (("population",),)
    assert set(release.to_pandas("table")["province"]) == {"*"}


def test_a_column_that_is_published_as_it_is_may_be_told():
    # Nothing is generalized, so that the population tells nothing new.
    release = shoal.anonymize(table("population"), shoal.FullDomain(k=100), seed=1)
    assert release.manifest.n_buckets == 6


def test_columns_that_part_classes_only_together_are_refused_together():
    method = shoal.FullDomain(k=101)
    for alone in ("price", "tax"):
        assert shoal.anonymize(table(alone), method, seed=1).manifest.n_rows == N
    with pytest.raises(DataError, match="leave 600 people in classes smaller than 101") as caught:
        shoal.anonymize(table("price", "tax"), method, seed=1)
    assert "'price' and 'tax'" in caught.value.fact
    assert 'meant = [["price", "tax"]]' in caught.value.hint
    shoal.anonymize(table("price", "tax", meant=[["price", "tax"]]), method, seed=1)


def test_confirming_single_columns_does_not_confirm_them_together():
    with pytest.raises(DataError, match="'price' and 'tax'"):
        shoal.anonymize(table("price", "tax", meant=["price", "tax"]), WIDE, seed=1)


def test_confirming_columns_together_confirms_each():
    found = table("population", "price", meant=[["population", "price"]])
    assert shoal.anonymize(found, WIDE, seed=1).manifest.meant == (("population", "price"),)


def test_the_fix_of_the_error_is_enough():
    everything = ("population", "price", "tax")
    method = shoal.Mondrian(k=5, ell=2, diversity="frequency")
    with pytest.raises(DataError) as caught:
        shoal.anonymize(table(*everything), method, seed=1)
    meant = json.loads(caught.value.hint.partition("meant = ")[2])
    shoal.anonymize(table(*everything, meant=meant), method, seed=1)


def drugs(n_rows=400):
    """Make people whose drug tells their disease half of the time."""
    rng = np.random.default_rng(2)
    disease = rng.integers(0, 4, n_rows)
    drug = np.where(rng.random(n_rows) < 0.5, disease, rng.integers(0, 4, n_rows))
    return {
        "age": rng.integers(20, 24, n_rows).tolist(),
        "disease": [f"disease {value}" for value in disease],
        "drug": [f"drug {value}" for value in drug],
    }


def test_a_column_that_raises_the_share_of_a_value_above_the_bound_is_refused():
    roles = {"quasi": "age", "sensitive": "disease", "insensitive": "drug"}
    read = shoal.read(drugs(), shoal.Schema(**roles))
    # A class of a hundred people has a quarter of each disease, one of a drug much more of one.
    strict = shoal.Mondrian(k=2, ell=2, diversity="frequency")
    with pytest.raises(DataError, match=r"'drug' leaves \d+ people .* larger share than 0\.5"):
        shoal.anonymize(read, strict, seed=1)
    lax = shoal.Mondrian(k=2, ell=1.2, diversity="frequency")
    assert shoal.anonymize(read, lax, seed=1).manifest.n_rows == 400


def test_a_release_that_promises_nothing_of_values_is_not_held_to_shares():
    roles = {"quasi": "age", "sensitive": "disease", "insensitive": "drug"}
    read = shoal.read(drugs(), shoal.Schema(**roles))
    assert shoal.anonymize(read, shoal.Mondrian(k=2), seed=1).manifest.n_rows == 400


@pytest.mark.parametrize("is_told", [True, False])
def test_a_bucketized_release_is_asked_only_whether_values_are_told(is_told):
    columns = drugs()
    if is_told:
        columns["drug"] = [f"for {disease}" for disease in columns["disease"]]
    read = shoal.read(columns, shoal.Schema(quasi="age", sensitive="disease", insensitive="drug"))
    if not is_told:
        assert shoal.anonymize(read, shoal.Anatomy(ell=3), seed=1).manifest.n_rows == 400
        return
    with pytest.raises(DataError, match="'drug' determines 'disease' of 400 people"):
        shoal.anonymize(read, shoal.Anatomy(ell=3), seed=1)


def test_a_value_that_nearly_everybody_has_is_not_told_by_everything():
    columns = drugs()
    columns["disease"] = ["none"] * 388 + ["one", "two", "three"] * 4
    columns["age"] = [20] * 400
    read = shoal.read(columns, shoal.Schema(quasi="age", sensitive="disease", insensitive="drug"))
    assert shoal.anonymize(read, shoal.FullDomain(k=50), seed=1).manifest.n_rows == 400


def test_combinations_that_were_not_looked_at_are_told(monkeypatch):
    columns = {f"x{place}": [number // 2**place % 2 for number in range(N)] for place in range(6)}
    columns |= {"age": [20] * N, "disease": [f"d{number % 3}" for number in range(N)]}
    schema = shoal.Schema(
        quasi="age", sensitive="disease", insensitive=[f"x{place}" for place in range(6)]
    )
    monkeypatch.setattr(insensitive_columns, "_MOST_COMBINATIONS", 3)
    release = shoal.anonymize(shoal.read(columns, schema), shoal.FullDomain(k=2), seed=1)
    assert any("12 combinations" in warning for warning in release.making.plan.warnings)


def test_many_columns_are_bounded_work():
    rng = np.random.default_rng(3)
    columns = {f"x{place}": rng.integers(0, 2, N).tolist() for place in range(70)}
    columns |= {"age": [20] * N, "disease": [f"d{number % 3}" for number in range(N)]}
    schema = shoal.Schema(
        quasi="age", sensitive="disease", insensitive=[f"x{place}" for place in range(70)]
    )
    with pytest.raises(DataError, match="were too many to look at"):
        shoal.anonymize(shoal.read(columns, schema), shoal.FullDomain(k=3), seed=1)


# --- what the steward says -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("a", (("a",),)),
        (["a", "b"], (("a",), ("b",))),
        ([["a", "b"], "a"], (("a", "b"), ("a",))),
        ([["a", "a"]], (("a",),)),
        ([], ()),
    ],
)
def test_meant_takes_names_and_combinations(given, read):
    assert shoal.Schema(insensitive=["a", "b"], meant=given).meant == read
    stated = {
        "table": {"source": "t.csv"},
        "columns": {"insensitive": ["a", "b"], "meant": given},
        "method": {"name": "anatomy", "ell": 2},
    }
    assert configure(stated, base=None).schema().meant == read


@pytest.mark.parametrize(("given", "said"), [("q", "not insensitive"), (5, "combinations"),
                                             ([[1]], "names of columns")])  # fmt: skip
def test_meant_refuses_what_is_no_insensitive_column(given, said):
    with pytest.raises(SchemaError, match=said):
        shoal.Schema(quasi="q", insensitive=["a"], meant=given)


def test_the_record_and_the_manifest_state_what_was_meant(tmp_path):
    release = shoal.anonymize(table("population", meant=["population"]), WIDE)
    folder = release.write(tmp_path / "release")
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert record["replay"]["columns"]["meant"] == [["population"]]
    assert json.loads((folder / "manifest.json").read_text())["meant"] == [["population"]]
    assert shoal.open_release(folder).manifest.meant == (("population",),)
    assert str(shoal.verify(folder).status) == "verified"
