from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, InfeasibleError, ParameterError, SchemaError
from shoal.core.guarantees import (
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.method import Problem
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.grouping.mondrian import Mondrian
from shoal.hierarchies.hierarchy import Hierarchy


def column(**counts: int) -> list[str | None]:
    return [None if name == "missing" else name for name in counts for _ in range(counts[name])]


# --- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({}, "at least one of k, ell and t"),
        ({"protect": ["flu"]}, "at least one of k, ell and t"),
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"k": 2.0}, "k must be a whole number"),
        ({"ell": 0}, "ell must be a whole number of at least 1"),
        ({"ell": 2.5}, "ell must be a whole number"),
        ({"ell": 0.5, "diversity": "entropy"}, "ell must be at least 1"),
        ({"ell": "two", "diversity": "frequency"}, "ell must be a finite number"),
        ({"ell": 3, "diversity": "simple"}, "diversity must be one of distinct, frequency"),
        ({"k": 3, "diversity": "entropy"}, "needs ell"),
        ({"ell": 3, "diversity": "recursive"}, "c must be given with diversity='recursive'"),
        ({"ell": 1, "c": 2, "diversity": "recursive"}, "ell must be a whole number of at least 2"),
        ({"ell": 2, "c": 0, "diversity": "recursive"}, "c must be above 0"),
        ({"ell": 3, "c": 2}, "c must be given with diversity='recursive', and only then"),
        ({"t": 1.5}, "t must lie between 0 and 1"),
        ({"t": float("nan")}, "t must be a finite number"),
        ({"t": 0.1, "distance": "far"}, "distance must be one of equal, ordered, hierarchical"),
        ({"k": 2, "distance": "ordered"}, "distance='ordered' needs t"),
        ({"belief_gain": 1.5}, "belief_gain must lie between 0 and 1"),
        ({"belief_gain": 0.5, "bandwidth": 2}, "bandwidth must lie between 0 and 1"),
        ({"k": 2, "bandwidth": 0.5}, "bandwidth needs belief_gain"),
        ({"k": 2, "cuts": "loose"}, "cuts must be one of strict, relaxed"),
        ({"k": 2, "publish": "sliced"}, "publish must be one of generalized, bucketized"),
        ({"k": 2, "publish": "bucketized"}, "would protect nothing"),
        ({"k": 2, "protect": ["flu"]}, "the sensitive values that ell or t is about"),
        ({"ell": 2, "diversity": "distinct", "protect": ["flu"]}, "diversity='frequency'"),
        ({"t": 0.1, "distance": "ordered", "protect": ["flu"]}, "has no meaning"),
        ({"ell": 2, "protect": []}, "at least one sensitive value"),
    ],
)
def test_parameters_are_checked_when_the_method_is_made(parameters, rule):
    with pytest.raises(ParameterError, match=rule):
        Mondrian(**parameters)


@pytest.mark.parametrize(
    ("parameters", "guarantees"),
    [
        ({"k": 5}, (KAnonymity(k=5),)),
        ({"k": 5, "ell": 3}, (KAnonymity(k=5), DistinctDiversity(ell=3))),
        ({"ell": 3, "diversity": "entropy"}, (EntropyDiversity(ell=3),)),
        (
            {"ell": 2, "c": 0.5, "diversity": "recursive"},
            (RecursiveDiversity(c=Fraction(1, 2), ell=2),),
        ),
        (
            {"k": 5, "ell": 1.5, "diversity": "frequency", "publish": "bucketized"},
            (BucketSize(k=5), FrequencyDiversity(ell=Fraction(3, 2))),
        ),
        (
            {"ell": 4, "t": 0.2, "protect": ["flu"]},
            (FrequencyDiversity(ell=4, protect=["flu"]), TCloseness(t="0.2", protect=["flu"])),
        ),
        ({"t": "1/3", "distance": "ordered"}, (TCloseness(t="1/3", distance="ordered"),)),
    ],
)
def test_guarantees_are_what_was_asked_for(parameters, guarantees):
    method = Mondrian(**parameters)
    assert method.guarantees == guarantees
    assert Mondrian(**method.parameters()) == method


def test_diversity_is_distinct_unless_values_are_protected():
    assert Mondrian(ell=2).diversity == "distinct"
    assert Mondrian(ell=2, protect=["flu"]).diversity == "frequency"
    assert Mondrian(k=2).diversity is None


def test_shape_follows_publish():
    assert Mondrian(k=2).shape is Shape.GENERALIZED
    assert Mondrian(ell=2, publish="bucketized").shape is Shape.BUCKETIZED


def test_classes_are_quasi_identifiers_and_sensitive_values():
    schema = Schema(quasi=["age", "sex"], sensitive="disease")
    assert Mondrian(k=2).class_columns(schema) == ("age", "sex", "disease")
    assert Mondrian(k=2).class_columns(Schema(quasi=["age"])) == ("age",)


def test_the_hierarchical_distance_needs_a_hierarchy():
    schema = Schema(quasi=["age"], sensitive="disease")
    method = Mondrian(t=0.2, distance="hierarchical")
    with pytest.raises(SchemaError, match="needs a hierarchy of the sensitive column 'disease'"):
        method.check_schema(schema)
    method.check_schema(
        Schema(quasi=["age"], sensitive="disease", hierarchies={"disease": Hierarchy.flat()})
    )


# --- what can be reached ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "values", "best"),
    [
        ({"k": 7}, {"flu": 4, "cold": 2}, {"k": 6}),
        ({"ell": 3}, {"flu": 4, "cold": 2}, {"ell": 2}),
        ({"k": 9, "ell": 3}, {"flu": 4, "cold": 2}, {"k": 6, "ell": 2}),
        ({"ell": 2, "diversity": "frequency"}, {"flu": 4, "cold": 2}, {"ell": 1}),
        ({"ell": 1.6, "diversity": "frequency"}, {"flu": 4, "cold": 2}, {"ell": "1.5"}),
        ({"ell": 4, "protect": ["cold"]}, {"flu": 5, "cold": 2}, {"ell": 3}),
        ({"ell": 2, "diversity": "entropy"}, {"flu": 2, "cold": 1}, {"ell": "1.889"}),
        ({"ell": 3, "diversity": "entropy"}, {"flu": 5, "cold": 5}, {"ell": "2"}),
        (
            {"ell": 2, "c": 2, "diversity": "recursive"},
            {"flu": 4, "cold": 2},
            {"c": "2.001", "ell": 2},
        ),
        (
            {"ell": 4, "c": 2, "diversity": "recursive"},
            {"flu": 4, "cold": 3, "gout": 2},
            {"ell": 2},
        ),
        ({"ell": 2, "c": 2, "diversity": "recursive"}, {"flu": 4}, {}),
    ],
)
def test_what_the_whole_table_does_not_keep_is_refused_with_the_best(
    make_problem, parameters, values, best
):
    table = {"age": ["1"] * sum(values.values()), "disease": column(**values)}
    method = Mondrian(**parameters)
    with pytest.raises(InfeasibleError) as caught:
        method.plan(make_problem(method, table))
    assert caught.value.best == best
    assert not any(value in str(caught.value) for value in values)
    if best:
        within_reach = Mondrian(**(parameters | best))
        assert within_reach.plan(make_problem(within_reach, table)).n_buckets == 1


def test_a_table_without_rows_is_refused():
    sex = Domain.of_texts("sex", [])
    cells = Cells((sex,), np.empty((0, 1), dtype=np.int64), np.empty(0, dtype=np.int64))
    problem = Problem(cells, Schema(quasi=["sex"]), {}, Secret.from_seed(1))
    with pytest.raises(DataError, match="no rows"):
        Mondrian(k=1).plan(problem)


def test_a_table_of_too_many_rows_is_refused():
    sex = Domain.of_texts("sex", ["F"])
    cells = Cells((sex,), np.zeros((1, 1), dtype=np.int64), np.array([2**31]))
    problem = Problem(cells, Schema(quasi=["sex"]), {}, Secret.from_seed(1))
    with pytest.raises(DataError, match="fewer than 2147483648"):
        Mondrian(k=1).plan(problem)


def test_protected_values_that_do_not_occur_are_counted_and_not_named(make_problem):
    method = Mondrian(ell=2, protect=["plague"])
    with pytest.raises(ParameterError, match="of the 1 given, 1 do not occur") as caught:
        method.plan(make_problem(method, {"age": ["1"], "disease": ["flu"]}))
    assert "plague" not in str(caught.value)


# --- cuts -------------------------------------------------------------------------------------


def test_without_a_sensitive_column_rows_are_only_counted(make_problem, contents):
    method = Mondrian(k=2)
    problem = make_problem(
        method, {"age": ["1", "2", "3", "4"]}, types={"age": "integer"}, has_sensitive=False
    )
    plan = method.plan(problem)
    assert [sorted(bucket) for bucket in contents(plan)] == [[("1",), ("2",)], [("3",), ("4",)]]


def test_the_widest_column_is_cut_first(make_problem, contents):
    method = Mondrian(k=2)
    table = {
        "age": ["10", "20", "10", "20"],
        "income": ["0", "0", "10", "10"],
        "disease": ["a", "b", "c", "d"],
    }
    types = {"age": "integer", "income": "integer"}
    both = method.plan(make_problem(method, table, types=types))
    # Both span the whole range: the first column of the schema goes first.
    assert sorted(contents(both)[0]) == [("10", "0", "a"), ("10", "10", "c")]
    swapped = {name: table[name] for name in ("income", "age", "disease")}
    other = method.plan(make_problem(method, swapped, types=types))
    assert sorted(contents(other)[0]) == [("0", "10", "a"), ("0", "20", "b")]


def test_missing_values_are_parted_from_the_others_first(make_problem, contents):
    method = Mondrian(k=2)
    table = {"age": ["1", "2", "3", "4", "5", None, None], "disease": list("abcdefg")}
    plan = method.plan(make_problem(method, table, types={"age": "integer"}))
    assert sorted(contents(plan)[-1]) == [(None, "f"), (None, "g")]
    assert plan.recode[0].labels[plan.recode[0].index[-1]].text is None


def test_a_strict_cut_keeps_equal_values_together(make_problem, contents):
    method = Mondrian(k=2)
    table = {"age": ["1", "2", "2", "2", "2", "3"], "disease": list("abcdef")}
    plan = method.plan(make_problem(method, table, types={"age": "integer"}))
    assert plan.n_buckets == 1


def test_a_relaxed_cut_parts_equal_values(make_problem, contents):
    method = Mondrian(k=2, cuts="relaxed")
    table = {"age": ["1", "2", "2", "2", "2", "3"], "disease": list("aabbcc")}
    plan = method.plan(make_problem(method, table, types={"age": "integer"}))
    plan.check()
    assert [bucket.total() for bucket in contents(plan)] == [3, 3]
    texts = [plan.recode[0].labels[place].text for place in plan.recode[0].index]
    # Both intervals hold the 2 that they share.
    assert texts == ["]-inf, 3[", "[2, +inf["]


def test_equal_rows_are_parted_by_rank(make_problem):
    method = Mondrian(k=2, cuts="relaxed")
    table = {"age": ["1"] * 2 + ["2"] * 8, "disease": ["a"] * 10}
    plan = method.plan(make_problem(method, table, types={"age": "integer"}))
    plan.check()
    assert len(plan.assign.group) > plan.classes.n_cells


def test_children_of_the_common_ancestor_are_parted(make_problem, contents):
    rows = [["a", "x"], ["c", "x"], ["b", "y"], ["d", "y"]]
    method = Mondrian(k=2)
    table = {"letter": ["a", "b", "c", "d"], "disease": list("stuv")}
    problem = make_problem(method, table, hierarchies={"letter": Hierarchy.from_rows(rows)})
    plan = method.plan(problem)
    assert [sorted(bucket) for bucket in contents(plan)] == [
        [("a", "s"), ("c", "u")],
        [("b", "t"), ("d", "v")],
    ]
    assert [label.text for label in plan.recode[0].labels] == ["x", "y"]
    assert [label.members for label in plan.recode[0].labels] == [(0, 2), (1, 3)]


def test_a_bucketized_release_recodes_nothing(make_problem):
    method = Mondrian(ell=2, publish="bucketized")
    plan = method.plan(make_problem(method, {"age": list("1234"), "disease": list("abab")}))
    assert plan.recode == ()
    assert plan.n_buckets == 2


def test_numbers_too_far_apart_for_a_float_are_cut_all_the_same(make_problem, contents):
    method = Mondrian(k=1)
    table = {"x": ["-1.7e308", "0", "1.7e308"], "disease": list("abc")}
    plan = method.plan(make_problem(method, table, types={"x": "real"}))
    assert plan.n_buckets == 3


def test_a_plan_does_not_depend_on_the_secret(make_problem, contents):
    method = Mondrian(k=2, cuts="relaxed")
    table = {"age": list("1223445"), "disease": list("abababa")}
    found = [
        contents(method.plan(make_problem(method, table, types={"age": "integer"}, seed=seed)))
        for seed in (1, 2)
    ]
    assert found[0] == found[1]
