from __future__ import annotations

import datetime as dt
from collections import Counter

import pytest

from shoal.core.errors import DataError, InfeasibleError, ParameterError, SchemaError
from shoal.core.guarantees import FrequencyDiversity
from shoal.core.method import Problem
from shoal.core.schema import Schema
from shoal.core.shapes import Shape
from shoal.grouping.anatomy import Anatomy


def diseases(**counts: int) -> dict[str, list[str | None]]:
    values = [None if name == "missing" else name for name in counts for _ in range(counts[name])]
    return {"age": [str(20 + row) for row in range(len(values))], "disease": values}


@pytest.mark.parametrize("ell", [1, 0, -3, True, 2.0, "3", None])
def test_ell_must_be_a_whole_number_of_at_least_two(ell):
    with pytest.raises(ParameterError, match="ell must be a whole number of at least 2, not"):
        Anatomy(ell=ell)


def test_one_is_refused_since_it_hides_nothing():
    with pytest.raises(ParameterError, match="hides nothing"):
        Anatomy(ell=1)


def test_draw_must_be_known():
    with pytest.raises(ParameterError, match="draw must be one of published, ring, not 'best'"):
        Anatomy(ell=2, draw="best")


@pytest.mark.parametrize("protect", [[], (), {"flu"}, [b"flu"], [["flu"]]])
def test_protect_must_be_a_list_of_texts(protect):
    with pytest.raises(ParameterError, match="protect must"):
        Anatomy(ell=2, protect=protect)


def test_one_text_may_be_protected_without_a_list():
    assert Anatomy(ell=2, protect="flu").protect == ("flu",)


def test_numbers_and_dates_are_protected_as_the_table_writes_them():
    given = [1, 2.5, True, dt.date(2020, 1, 31), None, "1"]
    assert Anatomy(ell=2, protect=given).protect == ("1", "2.5", "true", "2020-01-31", None)


def test_guarantee_and_shape_follow_from_the_parameters():
    method = Anatomy(ell=4, protect=["flu", None])
    assert method.guarantees == (FrequencyDiversity(ell=4, protect=("flu", None)),)
    assert method.shape is Shape.BUCKETIZED
    assert method.parameters() == {"ell": 4, "draw": "published", "protect": ["flu", None]}
    assert Anatomy(**method.parameters()) == method


def test_only_the_sensitive_column_makes_rows_interchangeable():
    schema = Schema(quasi=["age"], sensitive="disease")
    assert Anatomy(ell=2).class_columns(schema) == ("disease",)


def test_a_sensitive_column_is_needed():
    with pytest.raises(SchemaError, match="names none"):
        Anatomy(ell=2).check_schema(Schema(quasi=["age"]))


@pytest.mark.parametrize("draw", ["published", "ring"])
@pytest.mark.parametrize(
    ("counts", "ell", "best"),
    [
        ({"flu": 5, "cold": 4, "gout": 1}, 3, {"ell": 2}),
        ({"flu": 10, "cold": 10, "gout": 10, "acne": 10}, 5, {"ell": 4}),
        ({"flu": 3, "cold": 2}, 2, {}),
        ({"flu": 4}, 2, {}),
        ({"flu": 1}, 2, {}),
    ],
)
def test_a_value_that_is_too_frequent_is_refused_with_the_best_ell(
    make_problem, draw, counts, ell, best
):
    method = Anatomy(ell=ell, draw=draw)
    with pytest.raises(InfeasibleError) as caught:
        method.plan(make_problem(method, diseases(**counts)))
    assert caught.value.best == best
    assert ("no ell of 2 or more" in str(caught.value)) == (best == {})
    assert "flu" not in str(caught.value)


def test_the_best_ell_can_be_reached(make_problem):
    table = diseases(flu=7, cold=6, gout=6, acne=2)
    asked = Anatomy(ell=4)
    with pytest.raises(InfeasibleError) as caught:
        asked.plan(make_problem(asked, table))
    method = Anatomy(**caught.value.best)
    assert method.plan(make_problem(method, table)).n_buckets == 7


def test_a_table_without_rows_is_refused(make_problem):
    method = Anatomy(ell=2)
    problem = make_problem(method, diseases(flu=1))
    empty = Problem(
        type(problem.cells)(
            problem.cells.domains, problem.cells.codes[:0], problem.cells.counts[:0]
        ),
        problem.schema,
        {},
        problem.secret,
    )
    with pytest.raises(DataError, match="no rows"):
        method.plan(empty)


@pytest.mark.parametrize("draw", ["published", "ring"])
def test_protected_values_together_are_at_most_one_in_ell(make_problem, contents, draw):
    # Flu alone is more than a third: without protect nothing could be done.
    table = diseases(flu=20, cold=2, gout=3, missing=1)
    method = Anatomy(ell=4, draw=draw, protect=["gout", None])
    plan = method.plan(make_problem(method, table))
    plan.check()
    assert plan.n_buckets == 6
    for bucket in contents(plan):
        assert 4 * (bucket["gout",] + bucket[None,]) <= bucket.total()


def test_too_many_protected_rows_are_refused_with_the_best_ell(make_problem):
    method = Anatomy(ell=5, protect=["cold", "gout"])
    with pytest.raises(InfeasibleError, match="the protected values") as caught:
        method.plan(make_problem(method, diseases(flu=14, cold=3, gout=3)))
    assert caught.value.best == {"ell": 3}


def test_protected_values_that_do_not_occur_are_counted_and_not_named(make_problem):
    method = Anatomy(ell=2, protect=["flu", "plague", None])
    with pytest.raises(ParameterError, match="of the 3 given, 2 do not occur") as caught:
        method.plan(make_problem(method, diseases(flu=2, cold=3)))
    assert "plague" not in str(caught.value)


def test_the_ring_has_one_segment_a_class(make_problem):
    method = Anatomy(ell=3, draw="ring")
    plan = method.plan(make_problem(method, diseases(flu=5, cold=5, gout=4, acne=3)))
    assert len(plan.assign.group) == 4
    plan.check()


def test_rows_in_consecutive_buckets_are_one_segment(make_problem):
    method = Anatomy(ell=2)
    plan = method.plan(make_problem(method, diseases(flu=500, cold=500)))
    assert plan.n_buckets == 500
    assert len(plan.assign.group) == 2


def test_the_residue_goes_to_buckets_that_lack_its_value(make_problem, contents):
    method = Anatomy(ell=3)
    for seed in range(40):
        problem = make_problem(method, diseases(flu=3, cold=3, gout=3, acne=1, mumps=1), seed=seed)
        plan = method.plan(problem)
        assert plan.n_buckets == 3
        found = contents(plan)
        assert all(max(bucket.values()) == 1 for bucket in found)
        assert sum(bucket.total() for bucket in found) == 11


def test_plans_depend_on_the_secret_alone(make_problem, contents):
    method = Anatomy(ell=2)
    table = diseases(flu=6, cold=6, gout=6, acne=6)
    plans = [contents(method.plan(make_problem(method, table, seed=seed))) for seed in (1, 1, 2)]
    assert plans[0] == plans[1]
    assert plans[0] != plans[2]


def test_chance_decides_among_equally_large_classes(make_problem, contents):
    method = Anatomy(ell=2)
    drawn: Counter[frozenset[tuple[str | None, ...]]] = Counter()
    for seed in range(300):
        problem = make_problem(method, diseases(flu=1, cold=1, gout=1, acne=1), seed=seed)
        drawn[frozenset(contents(method.plan(problem))[0])] += 1
    # Six pairs, fifty each on average; four standard deviations are about twenty-six.
    assert len(drawn) == 6
    assert all(24 < count < 76 for count in drawn.values())


def test_chance_decides_where_the_residue_goes(make_problem, contents):
    method = Anatomy(ell=2)
    places: Counter[int] = Counter()
    for seed in range(300):
        problem = make_problem(method, diseases(flu=3, cold=3, gout=1), seed=seed)
        sizes = [bucket.total() for bucket in contents(method.plan(problem))]
        places[sizes.index(3)] += 1
    # A third of the time gout is left, and may go anywhere; flu or cold only to the last bucket.
    assert sorted(places) == [0, 1, 2]
    assert all(12 < places[bucket] < 60 for bucket in (0, 1))
