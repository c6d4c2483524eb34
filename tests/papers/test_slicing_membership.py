"""Who is in the Adult table, sliced: [Slicing], Sections VI and VII, by people who are held out.

The shortened variant counts fakes, and asks how rows should be grouped. Of the people who are not
in the table hardly any is among the fakes, however many there are; generalizing columns helps.
"""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.core.sliced import Layout
from shoal.datasets import adult
from shoal.slicing.column_generalization import generalize_columns
from shoal.slicing.membership import split_rows, tell_apart_sliced
from shoal.slicing.partition import dissimilar_buckets, partition_tuples, random_buckets

LAYOUT = Layout(
    [
        ["education", "education_num"],
        ["marital_status", "occupation", "relationship", "sex"],
        ["race", "native_country"],
        ["age", "workclass", "capital_gain", "capital_loss", "hours_per_week", "salary"],
        ["fnlwgt"],
    ]
)
SIZE = 100


@pytest.fixture(scope="module")
def table(adult_path):
    return shoal.read(adult(adult_path, subset="occ-15"))


@pytest.fixture(scope="module")
def halves(table):
    cells = table.counts(table.schema.coded)
    return split_rows(cells, cells.n_rows // 2, np.random.default_rng(1))


GROUPINGS = {
    "similar": lambda cells: partition_tuples(cells, LAYOUT, least=SIZE),
    "dissimilar": lambda cells: dissimilar_buckets(cells, LAYOUT, SIZE),
    "random": lambda cells: random_buckets(cells, SIZE, np.random.default_rng(2)),
}


def told_apart(half, rest, grouping):
    sliced = GROUPINGS[grouping](half).sliced(LAYOUT)
    return tell_apart_sliced(sliced, half.select(LAYOUT.known), rest.select(LAYOUT.known)).worse


def test_members_are_told_from_others_however_many_fakes_there_are(halves):
    found = {grouping: told_apart(*halves, grouping) for grouping in GROUPINGS}
    assert all(one.members.share == 1 for one in found.values())
    # Random buckets of half of the table have more than 10^10 fakes.
    assert found["random"].auc == pytest.approx(0.963, abs=0.005)
    assert found["random"].others.share == pytest.approx(0.063, abs=0.005)
    # Dissimilar rows do as well as random ones, and similar ones hide fewer people.
    assert found["dissimilar"].auc == pytest.approx(found["random"].auc, abs=0.005)
    assert found["similar"].auc == pytest.approx(0.989, abs=0.005)
    assert found["similar"].others.share == pytest.approx(0.019, abs=0.005)


def test_frequent_column_values_hide_who_is_in_the_table(table, halves):
    half, rest = halves
    labels = generalize_columns(half, LAYOUT.columns, 20, trees=table.trees)
    found = told_apart(labels.apply(half), labels.apply(rest), "similar")
    assert 0.5 < found.auc < 0.52
    assert found.others.share > 0.95
