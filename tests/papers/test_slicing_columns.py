"""[Slicing]: the columns of Table 1, and correlations and columns on Adult (section VI)."""

from __future__ import annotations

import pytest

import shoal
from shoal.datasets import papers
from shoal.slicing.column_generalization import generalize_columns
from shoal.slicing.columns import (
    bucketized_columns,
    clustered_columns,
    given_columns,
    one_attribute_each,
)
from shoal.slicing.correlation import correlations

PATIENTS = papers.slicing_patients().schema
ROLES = {"quasi": PATIENTS.quasi, "sensitive": PATIENTS.sensitive}


def test_table_1_has_columns_of_every_shape():
    bucketized = bucketized_columns(**ROLES)
    assert bucketized.columns == papers.slicing_bucketized().columns
    alone = one_attribute_each(**ROLES)
    assert alone.columns == papers.slicing_one_attribute_per_column().columns
    sliced = given_columns(papers.slicing_sliced().columns, **ROLES)
    assert sliced.sensitive_columns == (1,)
    assert sliced.outside_attributes == ("age", "sex")


def test_section_7_puts_disease_into_both_columns():
    columns = [["age", "sex", "disease"], ["zipcode", "disease"]]
    overlapping = given_columns(columns, **ROLES, overlap=True)
    assert overlapping.shared == ("disease",)
    assert overlapping.sensitive_columns == (0, 1)


def test_values_of_table_1_are_generalized_until_two_patients_share_each():
    table = shoal.read(papers.slicing_patients())
    cells = table.counts(table.schema.coded)
    tree = shoal.Hierarchy.prefixes([5, 4, 3]).over(cells.domain("zipcode"))
    found = generalize_columns(
        cells, [["age", "sex"], ["zipcode", "disease"]], 2, trees={"zipcode": tree}
    )
    for column in (["age", "sex"], ["zipcode", "disease"]):
        assert found.apply(cells).select(column).counts.min() >= 2
    # Bronchitis and gastritis have one patient each, so no zipcode is left beside them.
    assert found.levels["disease"] == found.heights["disease"]
    assert found.levels["zipcode"] == 0


@pytest.fixture(scope="module")
def occ_15(adult_path):
    table = shoal.read(shoal.datasets.adult(adult_path, "occ-15"))
    return table.schema, correlations(table.counts(table.schema.coded))


def test_sex_then_salary_are_nearest_to_occupation_in_occ_15(occ_15):
    first, second, *_ = occ_15[1].nearest("occupation")
    assert first == ("sex", pytest.approx(0.190, abs=5e-4))
    assert second == ("salary", pytest.approx(0.120, abs=5e-4))


def test_sex_is_nearest_to_occupation_in_occ_7(adult_path):
    # The paper names education next; by its own measure workclass comes before it.
    table = shoal.read(shoal.datasets.adult(adult_path, "occ-7"))
    found = correlations(table.counts(table.schema.coded))
    first, second, third, *_ = found.nearest("occupation")
    assert first == ("sex", pytest.approx(0.190, abs=5e-4))
    assert second == ("workclass", pytest.approx(0.047, abs=5e-4))
    assert third == ("education", pytest.approx(0.039, abs=5e-4))


def test_five_columns_of_occ_15_keep_what_belongs_together(occ_15):
    schema, found = occ_15
    columns = clustered_columns(found, 5, quasi=schema.quasi, sensitive=schema.sensitive)
    assert columns.columns == (
        ("age", "workclass", "capital_gain", "capital_loss", "hours_per_week", "salary"),
        ("fnlwgt",),
        ("education", "education_num"),
        ("marital_status", "relationship", "sex", "occupation"),
        ("race", "native_country"),
    )
    assert columns.sensitive_columns == (3,)
