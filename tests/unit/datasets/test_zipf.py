from __future__ import annotations

import numpy as np
import pytest

from shoal.core.errors import ParameterError
from shoal.datasets import zipf


def test_defaults_are_those_of_the_paper():
    table = zipf()
    assert table.n_rows == 10_000
    assert len(table.columns) == 10
    assert all(len(column.labels) == 10 for column in table.columns.values())


def test_shares_follow_the_law():
    table = zipf(dimensions=1, cardinality=5, factor=1.5, rows=200_000, seed=3)
    weights = np.arange(1, 6) ** -1.5
    shares = np.bincount(table.columns["d1"].codes) / table.n_rows
    assert shares == pytest.approx(weights / weights.sum(), abs=0.005)


def test_factor_zero_draws_every_value_alike():
    codes = zipf(dimensions=1, cardinality=4, factor=0, rows=100_000).columns["d1"].codes
    assert np.bincount(codes) / len(codes) == pytest.approx([0.25] * 4, abs=0.01)


def test_columns_are_independent():
    table = zipf(dimensions=2, cardinality=3, factor=1, rows=100_000, seed=1)
    first, second = (column.codes for column in table.columns.values())
    together = np.bincount(first * 3 + second, minlength=9).reshape(3, 3) / table.n_rows
    assert together == pytest.approx(np.outer(together.sum(1), together.sum(0)), abs=0.005)


def test_a_seed_gives_one_table_and_another_seed_another():
    assert zipf(rows=100, seed=7).to_dict() == zipf(rows=100, seed=7).to_dict()
    assert zipf(rows=100, seed=7).to_dict() != zipf(rows=100, seed=8).to_dict()


def test_small_shapes_work():
    assert zipf(rows=0).n_rows == 0
    assert set(zipf(cardinality=1, rows=3, dimensions=1).to_dict()["d1"]) == {"v1"}


@pytest.mark.parametrize(
    "parameters", [{"rows": -1}, {"cardinality": 0}, {"dimensions": 0}, {"factor": -0.1}]
)
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError, match=f"{next(iter(parameters))} must be at least"):
        zipf(**parameters)
