from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.guarantees import MConfidentiality
from shoal.core.shapes import Shape
from shoal.grouping.mask import Mask

# Two of the three at home a have HIV, one of four at b, none of five at c.
HOMES = ["a"] * 3 + ["b"] * 4 + ["c"] * 5
DISEASES = ["HIV", "HIV", "flu", "HIV", "flu", "flu", "gout", *["flu"] * 5]
TABLE = {"home": HOMES, "disease": DISEASES}


@pytest.mark.parametrize(
    "given",
    [
        {"m": 1, "k": 2, "protect": ["HIV"]},
        {"m": 2.0, "k": 2, "protect": ["HIV"]},
        {"m": 2, "k": 1, "protect": ["HIV"]},
        {"m": 2, "k": 2, "protect": []},
        {"m": 2, "k": 2, "protect": None},
        {"m": 2, "k": 2, "protect": [["HIV"]]},
        {"m": 2, "k": 2, "protect": ["HIV"], "publish": "sliced"},
        {"m": 2, "k": 2, "protect": ["HIV"], "lenders": "all"},
    ],
)
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(ParameterError):
        Mask(**given)


def test_one_value_is_a_list_of_one():
    assert Mask(m=2, k=2, protect="HIV") == Mask(m=2, k=2, protect=["HIV"])


def test_what_is_promised_and_published():
    mask = Mask(m=3, k=5, protect=["HIV"])
    assert mask.guarantees == (MConfidentiality(m=3, k=5, protect=["HIV"]),)
    assert (mask.shape, mask.distorts) == (Shape.GENERALIZED, True)
    assert Mask(m=3, k=5, protect=["HIV"], publish="bucketized").shape is Shape.BUCKETIZED
    assert "HIV" not in repr(mask)


def test_a_bucket_above_is_given_the_share_of_the_next(make_problem):
    mask = Mask(m=2, k=3, protect=["HIV"])
    plan = mask.plan(make_problem(mask, TABLE))
    # Of three rows a quarter, rounded down, is none.
    assert plan.n_buckets == 3
    assert plan.redraw.count.sum() == 2
    assert plan.notes == {"buckets above 1/m": 1, "values distorted": 2}


def test_nothing_is_changed_where_no_bucket_is_above(make_problem):
    mask = Mask(m=2, k=7, protect=["HIV"])
    plan = mask.plan(make_problem(mask, TABLE))
    assert plan.redraw.count.sum() == 0


def test_too_few_buckets_to_draw_from_are_refused_with_the_best_m(make_problem):
    mask = Mask(m=5, k=3, protect=["HIV"])
    with pytest.raises(InfeasibleError) as refused:
        mask.plan(make_problem(mask, TABLE))
    assert refused.value.best == {"m": 3}
    assert "HIV" not in str(refused.value)
    assert "lenders='any'" in refused.value.hint


def test_those_that_there_are_lend_their_shares_if_that_is_asked_for(make_problem):
    mask = Mask(m=5, k=3, protect=["HIV"], lenders="any")
    plan = mask.plan(make_problem(mask, TABLE))
    # Two thirds and a quarter are above a fifth: all three values go.
    assert plan.notes == {"buckets above 1/m": 2, "values distorted": 3}


def test_a_table_with_fewer_rows_than_k_is_refused(make_problem):
    mask = Mask(m=2, k=13, protect=["HIV"])
    with pytest.raises(InfeasibleError) as refused:
        mask.plan(make_problem(mask, TABLE))
    assert refused.value.best == {"k": 12}


def test_values_that_do_not_occur_are_refused(make_problem):
    mask = Mask(m=2, k=3, protect=["HIV", "cancer"])
    with pytest.raises(ParameterError, match="1 do not occur"):
        mask.plan(make_problem(mask, TABLE))


def test_a_table_of_protected_values_alone_is_refused(make_problem):
    mask = Mask(m=2, k=2, protect=["HIV"])
    with pytest.raises(InfeasibleError) as refused:
        mask.plan(make_problem(mask, {"home": ["a"] * 4, "disease": ["HIV"] * 4}))
    assert refused.value.best == {}


def test_new_values_are_drawn_as_frequent_as_they_are(make_problem):
    homes = ["a"] * 400 + ["b"] * 400
    diseases = ["HIV"] * 400 + ["flu"] * 300 + ["gout"] * 100
    mask = Mask(m=2, k=400, protect=["HIV"])
    plan = mask.plan(make_problem(mask, {"home": homes, "disease": diseases}))
    counts = dict(zip(plan.redraw.new.tolist(), plan.redraw.count.tolist(), strict=True))
    assert sum(counts.values()) == 400
    # Seven standard deviations of 400 draws at 3/4.
    assert abs(counts[1] - 300) < 61


@pytest.mark.parametrize("publish", ["generalized", "bucketized"])
def test_the_release_shows_the_shares_of_the_plan_and_the_people_of_the_table(publish):
    schema = shoal.Schema(quasi=["home"], sensitive="disease")
    table = shoal.read(TABLE, schema)
    mask = Mask(m=2, k=3, protect=["HIV"], publish=publish)
    release = shoal.anonymize(table, mask, seed=4)
    buckets = release.published.buckets
    held = np.zeros(buckets.n_buckets, dtype=int)
    code = int(buckets.domain.codes_of(["HIV"])[0])
    np.add.at(held, buckets.bucket, buckets.count * (buckets.value == code))
    assert sorted(zip(buckets.sizes.tolist(), held.tolist(), strict=True)) == [
        (3, 0),
        (4, 1),
        (5, 0),
    ]
    assert release.making.plan.notes["values distorted"] == 2
