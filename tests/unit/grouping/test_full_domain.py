from __future__ import annotations

import itertools
import json
from fractions import Fraction

import numpy as np
import pytest

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, InfeasibleError, ParameterError, SchemaError
from shoal.core.guarantees import (
    AlphaK,
    DistinctDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.method import Problem
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.grouping.full_domain import FullDomain
from shoal.hierarchies.hierarchy import Hierarchy


def column(**counts: int) -> list[str | None]:
    return [None if name == "missing" else name for name in counts for _ in range(counts[name])]


def levels_of(plan) -> tuple[int, ...]:
    return tuple(plan.notes["levels"].values())


# --- parameters -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "rule"),
    [
        ({}, "at least one of k, ell, t and alpha"),
        ({"suppress": 0.1}, "at least one of k, ell, t and alpha"),
        ({"k": 0}, "k must be a whole number of at least 1"),
        ({"ell": 2.5}, "ell must be a whole number"),
        ({"ell": 3, "diversity": "simple"}, "diversity must be one of distinct, frequency"),
        ({"k": 3, "diversity": "entropy"}, "needs ell"),
        ({"ell": 3, "diversity": "recursive"}, "c must be given with diversity='recursive'"),
        ({"ell": 3, "c": 2}, "c must be given with diversity='recursive', and only then"),
        ({"t": 1.5}, "t must lie between 0 and 1"),
        ({"t": 0.1, "distance": "far"}, "distance must be one of equal, ordered, hierarchical"),
        ({"k": 2, "distance": "ordered"}, "distance='ordered' needs t"),
        ({"alpha": 0}, "alpha must be above 0"),
        ({"alpha": 2, "k": 2}, "alpha must be above 0 and at most 1"),
        ({"k": 2, "loss": "height"}, "loss must be one of loss, discernibility, class_size"),
        ({"k": 2, "suppress": 1}, "suppress must be at least 0 and below 1"),
        ({"k": 2, "suppress": -0.1}, "suppress must be at least 0 and below 1"),
        ({"k": 2, "suppress": "5 %"}, "suppress must be a finite number"),
        ({"k": 2, "protect": ["flu"]}, "the sensitive values that ell or t is about"),
        ({"ell": 2, "diversity": "distinct", "protect": ["flu"]}, "diversity='frequency'"),
        ({"t": 0.1, "distance": "ordered", "protect": ["flu"]}, "has no meaning"),
        (
            {"alpha": 0.5, "ell": 2, "protect": ["flu"]},
            "each protected value on its own",
        ),
        ({"ell": 2, "protect": []}, "at least one sensitive value"),
    ],
)
def test_parameters_are_checked_when_the_method_is_made(parameters, rule):
    with pytest.raises(ParameterError, match=rule):
        FullDomain(**parameters)


@pytest.mark.parametrize(
    ("parameters", "guarantees"),
    [
        ({"k": 5}, (KAnonymity(k=5),)),
        ({"k": 5, "ell": 3}, (KAnonymity(k=5), DistinctDiversity(ell=3))),
        ({"alpha": 0.5}, (AlphaK(alpha="1/2", k=1),)),
        (
            {"alpha": 0.5, "k": 3, "protect": ["flu"]},
            (AlphaK(alpha="1/2", k=3, protect=["flu"]),),
        ),
        (
            {"ell": 2, "c": 0.5, "diversity": "recursive"},
            (RecursiveDiversity(c=Fraction(1, 2), ell=2),),
        ),
        (
            {"ell": 4, "t": 0.2, "protect": ["flu"]},
            (FrequencyDiversity(ell=4, protect=["flu"]), TCloseness(t="0.2", protect=["flu"])),
        ),
        ({"t": "1/3", "distance": "ordered"}, (TCloseness(t="1/3", distance="ordered"),)),
    ],
)
def test_guarantees_are_what_was_asked_for(parameters, guarantees):
    method = FullDomain(**parameters, suppress="0.05", loss="entropy")
    assert method.guarantees == guarantees
    assert FullDomain(**method.parameters()) == method
    assert method.shape is Shape.GENERALIZED


def test_the_hierarchical_distance_needs_a_hierarchy():
    schema = Schema(quasi=["age"], sensitive="disease")
    with pytest.raises(SchemaError, match="needs a hierarchy of the sensitive column 'disease'"):
        FullDomain(t=0.2, distance="hierarchical").check_schema(schema)


# --- what can be reached ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "values", "best"),
    [
        ({"k": 7}, {"flu": 4, "cold": 2}, {"k": 6}),
        ({"k": 9, "ell": 3}, {"flu": 4, "cold": 2}, {"k": 6, "ell": 2}),
        ({"ell": 1.6, "diversity": "frequency"}, {"flu": 4, "cold": 2}, {"ell": "1.5"}),
        ({"ell": 4, "protect": ["cold"]}, {"flu": 5, "cold": 2}, {"ell": 3}),
        ({"ell": 2, "diversity": "entropy"}, {"flu": 2, "cold": 1}, {"ell": "1.889"}),
        ({"alpha": 0.5, "k": 2}, {"flu": 3, "cold": 2}, {"alpha": "0.6"}),
        ({"alpha": 0.5, "k": 9}, {"flu": 3, "cold": 2}, {"alpha": "0.6", "k": 5}),
        ({"alpha": 0.3, "protect": ["cold"]}, {"flu": 3, "cold": 2}, {"alpha": "0.4"}),
        ({"alpha": 0.3, "protect": ["cold", "flu"]}, {"flu": 3, "cold": 2}, {"alpha": "0.6"}),
        (
            {"ell": 2, "c": 2, "diversity": "recursive"},
            {"flu": 4, "cold": 2},
            {"c": "2.001", "ell": 2},
        ),
    ],
)
@pytest.mark.parametrize("suppress", ["0", "0.3"])
def test_what_no_generalization_keeps_is_refused_with_the_best(
    make_problem, parameters, values, best, suppress
):
    # One value of the quasi-identifier: whatever is left out, all is.
    table = {"age": ["1"] * sum(values.values()), "disease": column(**values)}
    method = FullDomain(**parameters, suppress=suppress)
    with pytest.raises(InfeasibleError) as caught:
        method.plan(make_problem(method, table))
    assert caught.value.best == best
    assert not any(value in str(caught.value) for value in values)
    within_reach = FullDomain(**(parameters | best), suppress=suppress)
    assert within_reach.plan(make_problem(within_reach, table)).n_buckets == 1


def test_an_error_proposes_no_release_of_less_than_half_the_rows(make_problem):
    table = {
        "age": ["1"] * 6 + ["2"] * 4,
        "disease": [*["flu"] * 6, *column(flu=1, cold=1, gout=2)],
    }
    method = FullDomain(ell=2, diversity="frequency", suppress="0.3")
    with pytest.raises(InfeasibleError, match="more than half of them would have to go") as caught:
        method.plan(make_problem(method, table))
    assert "suppress" not in caught.value.hint
    assert "ell = 1" not in caught.value.hint
    assert "protect = [...]" in caught.value.hint


def test_an_error_names_how_many_rows_left_out_would_do(make_problem):
    table = {
        "age": ["1"] * 4 + ["2"] * 4,
        "disease": [*["flu"] * 4, *column(flu=2, cold=1, gout=1)],
    }
    method = FullDomain(ell=2, diversity="frequency", suppress="0.3")
    with pytest.raises(InfeasibleError, match=r"suppress = 0\.5 is enough") as caught:
        method.plan(make_problem(method, table))
    assert "With up to 2 of 8 rows left out" in str(caught.value)
    assert caught.value.best == {"ell": 1}
    enough = FullDomain(ell=2, diversity="frequency", suppress="0.5")
    plan = enough.plan(make_problem(enough, table))
    assert (plan.n_buckets, plan.drop.n_rows) == (1, 4)


def test_a_table_without_rows_is_refused():
    sex = Domain.of_texts("sex", [])
    cells = Cells((sex,), np.empty((0, 1), dtype=np.int64), np.empty(0, dtype=np.int64))
    problem = Problem(cells, Schema(quasi=["sex"]), {}, Secret.from_seed(1))
    with pytest.raises(DataError, match="no rows"):
        FullDomain(k=1).plan(problem)


def test_protected_values_that_do_not_occur_are_counted_and_not_named(make_problem):
    method = FullDomain(ell=2, protect=["plague"])
    with pytest.raises(ParameterError, match="of the 1 given, 1 do not occur") as caught:
        method.plan(make_problem(method, {"age": ["1"], "disease": ["flu"]}))
    assert "plague" not in str(caught.value)


def test_a_lattice_that_no_search_ends_in_is_refused(make_problem):
    names = [f"column {number}" for number in range(23)]
    method = FullDomain(k=1)
    problem = make_problem(method, {name: ["x"] for name in names}, has_sensitive=False)
    with pytest.raises(SchemaError, match="of 23 columns can be combined to 8388608 general"):
        method.plan(problem)


# --- what is chosen ---------------------------------------------------------------------------


def test_without_need_nothing_is_generalized(make_problem, contents):
    method = FullDomain(k=2)
    plan = method.plan(make_problem(method, {"age": ["1", "1", "2", "2"], "disease": list("abcd")}))
    assert plan.recode == ()
    assert [sorted(bucket) for bucket in contents(plan)] == [
        [("1", "a"), ("1", "b")],
        [("2", "c"), ("2", "d")],
    ]


def test_a_column_without_a_hierarchy_is_kept_or_suppressed(make_problem):
    method = FullDomain(k=2)
    plan = method.plan(make_problem(method, {"age": ["1", "2"], "disease": ["a", "b"]}))
    assert [(label.text, label.members) for label in plan.recode[0].labels] == [("*", (0, 1))]


def test_columns_alike_are_taken_in_the_order_of_the_schema(make_problem):
    method = FullDomain(k=2)
    table = {"a": list("0011"), "b": list("0101"), "disease": list("wxyz")}
    assert levels_of(method.plan(make_problem(method, table))) == (0, 1)


@pytest.mark.parametrize("loss", ["loss", "discernibility", "class_size", "entropy"])
def test_fewer_rows_are_left_out_where_nothing_else_differs(make_problem, loss):
    # One leaf and one value: to suppress the column or not costs nothing.
    table = {"a": ["x"] * 4, "b": ["1", "1", "1", "2"], "disease": list("wxyz")}
    method = FullDomain(k=2, suppress="0.25", loss=loss)
    plan = method.plan(make_problem(method, table))
    assert levels_of(plan)[0] == 0


def test_leaves_that_do_not_occur_count_as_lost(make_problem):
    wide = [[text, "x" if text in "12" else "y"] for text in "123456789"]
    narrow = [[text, "x"] for text in "12"] + [["3", "y"]]
    table = {"a": ["1", "2", "1", "2"], "b": ["1", "1", "2", "2"], "disease": list("wxyz")}
    for hierarchies, expected in (
        ({"a": wide, "b": narrow}, (1, 0)),
        ({"a": narrow, "b": wide}, (0, 1)),
    ):
        method = FullDomain(k=2)
        made = {name: Hierarchy.from_rows(rows) for name, rows in hierarchies.items()}
        plan = method.plan(make_problem(method, table, hierarchies=made))
        assert levels_of(plan) == expected
        # (2 - 1) / (9 - 1), and nothing in the other column.
        assert plan.notes["loss"] == 1 / 16


def test_a_missing_value_is_a_leaf_of_its_own(make_problem):
    rows = Hierarchy.from_rows([["1", "low"], ["2", "low"], ["3", "high"]])
    method = FullDomain(k=2)
    table = {"age": ["1", "2", None, None], "disease": list("abcd")}
    plan = method.plan(make_problem(method, table, hierarchies={"age": rows}))
    labels = {label.text: label for label in plan.recode[0].labels}
    assert set(labels) == {"low", None}
    assert labels[None].has_missing
    assert labels["low"].members == (0, 1)
    # Four leaves with the missing one: half of the rows cost a third.
    assert plan.notes["loss"] == 1 / 6


def test_the_suppression_limit_is_exact(make_problem):
    table = {"age": ["1"] * 9 + ["2"], "disease": ["a"] * 10}
    for suppress, n_dropped in (("0.1", 1), ("0.0999999999999999999", 0)):
        method = FullDomain(k=2, suppress=suppress)
        assert method.plan(make_problem(method, table)).drop.n_rows == n_dropped


def test_closeness_is_that_to_the_published_rows(make_problem, contents):
    # Bucket 3 is 9/16 from all rows. Without it, bucket 4 is 1/2 from the rest; before, 5/16.
    table = {
        "age": ["1"] * 4 + ["2"] * 4 + ["3"] * 4 + ["4"] * 4,
        "disease": [*"aabb", *"aabb", *"cccc", *"accc"],
    }
    method = FullDomain(t="0.44", suppress="0.5")
    plan = method.plan(make_problem(method, table))
    assert (levels_of(plan), plan.drop.n_rows) == ((0,), 8)
    assert [set(bucket) for bucket in contents(plan)] == [
        {("1", "a"), ("1", "b")},
        {("2", "a"), ("2", "b")},
    ]
    fewer = FullDomain(t="0.44", suppress="0.25")
    assert levels_of(fewer.plan(make_problem(fewer, table))) == (1,)


def test_ranks_are_those_among_the_published_values(make_problem):
    # Among a, b and c the buckets are 1/4 from their mean; without b, which is left out, 1/2.
    table = {
        "age": ["1"] * 4 + ["2"] * 4 + ["3"],
        "disease": list("aaaa") + list("cccc") + list("b"),
    }
    method = FullDomain(k=2, t="0.49", distance="ordered", suppress="0.2")
    assert levels_of(method.plan(make_problem(method, table))) == (1,)
    enough = FullDomain(k=2, t="0.5", distance="ordered", suppress="0.2")
    assert levels_of(enough.plan(make_problem(enough, table))) == (0,)


def test_a_protected_value_stays_in_the_release(make_problem):
    table = {"age": ["1"] * 8 + ["2"] * 2, "disease": ["flu"] * 8 + ["HIV"] * 2}
    method = FullDomain(ell=2, protect=["HIV"], suppress="0.5")
    plan = method.plan(make_problem(method, table))
    # To leave both out would keep the column, and promise nothing.
    assert (levels_of(plan), plan.drop.n_rows) == ((1,), 0)


def test_protected_values_count_as_one_for_ell_and_each_for_itself_for_alpha(make_problem):
    table = {
        "age": ["1"] * 4 + ["2"] * 4,
        "disease": column(HIV=1, plague=2, flu=1) + column(flu=4),
    }
    protect = ["HIV", "plague"]
    one = FullDomain(ell=2, protect=protect)
    assert levels_of(one.plan(make_problem(one, table))) == (1,)
    each = FullDomain(alpha="0.5", protect=protect)
    assert levels_of(each.plan(make_problem(each, table))) == (0,)


def test_alpha_and_frequency_diversity_together_take_the_stricter(make_problem):
    table = {"age": list("1112"), "disease": list("aabc")}
    for alpha, ell, expected in (("0.7", "1.5", 0), ("0.6", "1.5", 1), ("0.7", "2", 1)):
        method = FullDomain(alpha=alpha, ell=ell, diversity="frequency", suppress="0.25")
        assert levels_of(method.plan(make_problem(method, table))) == (expected,)


def test_few_combinations_are_tried_where_chains_rule_out_the_others(make_problem):
    rows = [
        [f"{n:03d}", f"{n // 2:03d} x", f"{n // 8:03d} y", f"{n // 32:03d} z"] for n in range(64)
    ]
    hierarchy = Hierarchy.from_rows(rows)
    names = ["a", "b", "c", "d"]
    table = {
        name: [f"{(n * step) % 64:03d}" for n in range(256)]
        for name, step in zip(names, (1, 3, 5, 7), strict=True)
    } | {"disease": ["x"] * 256}
    method = FullDomain(k=8)
    made = make_problem(method, table, hierarchies=dict.fromkeys(names, hierarchy))
    plan = method.plan(made)
    assert plan.notes["combinations"] == 625
    assert plan.notes["combinations tried"] < 625 / 5


# --- what is published ------------------------------------------------------------------------


@pytest.fixture(scope="module")
def census():
    return shoal.read(shoal.datasets.census(rows=400, seed=3))


@pytest.mark.parametrize(
    "parameters",
    [
        {"k": 3, "suppress": "0.1"},
        {"k": 4, "ell": 3, "loss": "discernibility"},
        {"ell": 2, "diversity": "entropy", "suppress": "0.2", "loss": "class_size"},
        {"t": "0.35", "suppress": "0.1", "loss": "entropy"},
        {"alpha": "0.6", "k": 3, "suppress": "0.1"},
        {"ell": 3, "diversity": "recursive", "c": 3, "suppress": "0.05"},
    ],
)
def test_the_census_is_anonymized_verified_and_attacked(census, parameters, tmp_path):
    release = shoal.anonymize(census, FullDomain(**parameters))
    dropped = release.making.plan.drop.n_rows
    assert release.manifest.n_rows == 400 - dropped
    report = shoal.attack(release)
    folder = release.write(tmp_path / "release", findings=report)
    assert str(shoal.verify(folder).status) == "verified"
    if "k" in parameters:
        (linkage,) = [found for found in report if found.attack == "linkage"]
        assert linkage.n_breached == 0


def test_nothing_tells_what_only_rows_left_out_carry(tmp_path):
    table = {
        "town": ["Aachen"] * 4 + ["Berlin"] * 4 + ["Zossen"],
        "age": [30, 30, 31, 31, 50, 50, 51, 51, 99],
        "disease": ["cold", "flu", "cold", "flu", "cold", "flu", "flu", "cold", "plague"],
    }
    schema = shoal.Schema(
        quasi=["town", "age"],
        sensitive="disease",
        types={"disease": ["cold", "flu", "plague"]},
        hierarchies={
            "age": Hierarchy.intervals(width=10),
            "town": Hierarchy.from_rows(
                [["Aachen", "west"], ["Berlin", "east"], ["Zossen", "east"], ["Ulm", "south"]]
            ),
            "disease": Hierarchy.from_rows(
                [["cold", "airways"], ["flu", "airways"], ["plague", "other"]]
            ),
        },
    )
    for distance in ("ordered", "hierarchical"):
        method = FullDomain(k=4, t="0.3", distance=distance, suppress="0.2")
        release = shoal.anonymize(shoal.read(table, schema), method)
        assert release.manifest.n_rows == 8
        folder = release.write(tmp_path / distance)
        assert str(shoal.verify(folder).status) == "verified"
        files = [path for path in folder.rglob("*") if path.is_file()]
        texts = [path.read_text(encoding="utf-8") for path in files]
        for text, unseen in itertools.product(texts, ("Zossen", "plague", "99", "[90")):
            assert unseen not in text or text.startswith('{\n  "format_version"')
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        assert "plague" not in json.dumps(manifest["columns"])
        assert "1 of 9 rows are left out" in (folder / "codebook.md").read_text(encoding="utf-8")
