"""Fake tuples of the Adult table in random buckets, the experiment of [Slicing], Section VI.

The shortened variant prints no numbers. These were counted by other code on other random buckets,
so that they differ a little.
"""

from __future__ import annotations

import numpy as np
import pytest

from shoal.core import kernels
from shoal.core.cells import group
from shoal.datasets import adult
from shoal.datasets.dataset import Encoded
from shoal.slicing.fake_tuples import ValuesByBucket, count_fakes

# What k-medoids makes of the fifteen attributes.
FIVE = [
    ["education", "education_num"],
    ["marital_status", "occupation", "relationship", "sex"],
    ["race", "native_country"],
    ["age", "workclass", "capital_gain", "capital_loss", "hours_per_week", "salary"],
    ["fnlwgt"],
]


@pytest.fixture(scope="module")
def table(adult_path):
    columns = adult(adult_path, subset="occ-15").columns
    return {
        name: np.unique(
            column.codes if isinstance(column, Encoded) else column, return_inverse=True
        )[1]
        for name, column in columns.items()
    }


def count(table, parts, bucket_size):
    n_rows = len(table["age"])
    n_buckets = n_rows // bucket_size
    bucket = np.random.default_rng(12).permutation(np.arange(n_rows) % n_buckets)
    columns, tuples = [], []
    for part in parts:
        sizes = [int(table[name].max()) + 1 for name in part]
        first, value = group([table[name] for name in part], sizes, n_rows)
        columns.append(ValuesByBucket(bucket, value, n_buckets, len(first)))
        tuples.append(value)
    return count_fakes(columns, np.column_stack(tuples))


@pytest.mark.parametrize(("bucket_size", "n_fakes"), [(10, 296_177), (100, 863_407)])
def test_fakes_of_two_columns(table, bucket_size, n_fakes):
    sensitive = ["sex", "occupation"]
    parts = [[name for name in table if name not in sensitive], sensitive]
    found = count(table, parts, bucket_size)
    assert found.n_originals == 45_175
    assert found.n_fakes == pytest.approx(n_fakes, rel=0.02)


@pytest.mark.parametrize(("bucket_size", "n_fakes"), [(10, 5.7e7), (100, 3.1e10)])
def test_fakes_of_five_columns(table, bucket_size, n_fakes):
    if not kernels.is_compiled("shoal.slicing._kernels"):
        pytest.skip("without compiled kernels it takes minutes")
    found = count(table, FIVE, bucket_size)
    assert found.n_fakes == pytest.approx(n_fakes, rel=0.05)
    assert found.originals[1] > 0.8 * found.n_originals
