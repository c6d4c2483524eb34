"""[Slicing], section VI: which attributes of Adult are nearest to occupation."""

from __future__ import annotations

import pytest

import shoal
from shoal.knowledge.correlation import correlations


def nearest_to_occupation(adult_path, subset):
    table = shoal.read(shoal.datasets.adult(adult_path, subset))
    return correlations(table.counts(table.schema.coded)).nearest("occupation")


def test_sex_then_salary_are_nearest_to_occupation_in_occ_15(adult_path):
    first, second, *_ = nearest_to_occupation(adult_path, "occ-15")
    assert first == ("sex", pytest.approx(0.190, abs=5e-4))
    assert second == ("salary", pytest.approx(0.120, abs=5e-4))


def test_sex_is_nearest_to_occupation_in_occ_7(adult_path):
    # The paper names education next; by its own measure workclass comes before it.
    first, second, third, *_ = nearest_to_occupation(adult_path, "occ-7")
    assert first == ("sex", pytest.approx(0.190, abs=5e-4))
    assert second == ("workclass", pytest.approx(0.047, abs=5e-4))
    assert third == ("education", pytest.approx(0.039, abs=5e-4))
