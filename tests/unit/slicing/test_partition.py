from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError, InfeasibleError
from shoal.core.sliced import Layout
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.slicing import relaxed
from shoal.slicing.partition import (
    confirm_diverse,
    dissimilar_buckets,
    partition_tuples,
    random_buckets,
)

AGE = Domain.of_texts(
    "age", [str(age) for age in range(8)], type=ColumnType.INTEGER, numbers=list(range(8))
)
SEX = Domain.of_texts("sex", ["F", "M"])
DISEASE = Domain.of_texts("disease", ["cold", "flu"])
LAYOUT = Layout([["age"], ["sex", "disease"]], ["disease"])


def cells_of(rows):
    return Cells.of_rows([AGE, SEX, DISEASE], np.array(rows).reshape(-1, 3))


EIGHT = cells_of([(age, age % 2, (age // 2) % 2) for age in range(8)])


def test_a_table_without_rows_is_refused():
    with pytest.raises(DataError, match="no rows"):
        partition_tuples(cells_of([]), LAYOUT, ell=Fraction(2))


def test_more_rows_a_bucket_than_there_are_cannot_be_had():
    with pytest.raises(InfeasibleError, match="the table has 8") as caught:
        partition_tuples(EIGHT, LAYOUT, least=9)
    assert caught.value.best == {"bucket_size": 8}


def test_the_hardest_of_several_sensitive_attributes_is_named():
    cells = cells_of([(0, 0, 0), (1, 0, 1), (2, 0, 0), (3, 1, 1)])
    layout = Layout([["age"], ["sex"], ["disease"]], ["disease", "sex"])
    with pytest.raises(InfeasibleError, match="'sex', even the whole") as caught:
        partition_tuples(cells, layout, ell=Fraction(2))
    assert caught.value.best == {"ell": "4/3"}
    assert "l_max = 1.33 only" in caught.value.fact


def test_there_is_nothing_to_cut_on_inside_the_sensitive_column():
    layout = Layout([["age", "sex", "disease"]], ["disease"])
    found = partition_tuples(EIGHT, layout, ell=Fraction(1))
    assert found.n_buckets == 1


def test_equal_values_stay_together_in_strict_cuts_only():
    cells = cells_of([(3, 0, 0), (3, 0, 1)] * 3 + [(4, 0, 0), (4, 0, 1)])
    strict = partition_tuples(cells, LAYOUT, ell=Fraction(2))
    assert sorted(strict.sizes.tolist()) == [2, 6]
    relaxed = partition_tuples(cells, LAYOUT, ell=Fraction(2), cuts="relaxed")
    assert sorted(relaxed.sizes.tolist()) == [2, 2, 4]


def test_rows_are_cut_along_a_hierarchy():
    rows = [[str(age), "odd" if age % 2 else "even"] for age in range(8)]
    tree = Hierarchy.from_rows(rows).over(AGE)
    layout = Layout([["age"], ["sex"], ["disease"]], ["disease"])
    found = partition_tuples(EIGHT, layout, ell=Fraction(2), least=4, trees={"age": tree})
    ages = [set(EIGHT.column("age")[found.cell[found.bucket == b]].tolist()) for b in range(2)]
    assert sorted(map(sorted, ages)) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_near_rows_are_kept_apart():
    found = dissimilar_buckets(EIGHT, LAYOUT, 4)
    ages = [sorted(EIGHT.column("age")[found.cell[found.bucket == b]].tolist()) for b in range(2)]
    assert sorted(ages) == [[0, 2, 4, 6], [1, 3, 5, 7]]


def test_random_buckets_follow_the_generator():
    one, again, other = (
        random_buckets(EIGHT, 4, np.random.default_rng(seed)).bucket.tolist() for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


def test_every_pair_of_rows_is_as_likely_to_share_a_random_bucket():
    generator = np.random.default_rng(7)
    together = np.zeros((8, 8))
    for _ in range(2000):
        found = random_buckets(EIGHT, 4, generator)
        bucket = np.empty(8, dtype=np.int64)
        bucket[found.cell] = found.bucket
        together += bucket[:, None] == bucket[None, :]
    pairs = together[np.triu_indices(8, 1)] / 2000
    # The chance is 3/7, with a standard error of about .011.
    assert np.abs(pairs - 3 / 7).max() < 0.06


def test_buckets_that_are_not_diverse_are_refused_with_what_they_reach():
    found = random_buckets(EIGHT, 1, np.random.default_rng(1))
    with pytest.raises(InfeasibleError) as caught:
        confirm_diverse(found, LAYOUT, Fraction(2), "frequency")
    assert caught.value.best == {"ell": "1"}
    with pytest.raises(InfeasibleError):
        confirm_diverse(found, LAYOUT, Fraction(2), "distinct")
    confirm_diverse(found, LAYOUT, Fraction(1), "frequency")
    confirm_diverse(found, Layout([["age"], ["sex", "disease"]]), Fraction(9), "frequency")


def test_relaxed_cuts_refuse_sums_that_fit_no_memory(monkeypatch):
    monkeypatch.setattr(relaxed, "_MOST_SUMS", 3)
    with pytest.raises(DataError, match="16 sums"):
        partition_tuples(EIGHT, LAYOUT, ell=Fraction(2), cuts="relaxed")
