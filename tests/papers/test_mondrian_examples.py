"""Mondrian on tables that papers print."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.guarantees import TCloseness
from shoal.core.method import Problem
from shoal.core.plan import Plan
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.datasets.papers import slicing_buckets, slicing_patients
from shoal.grouping._kernels import Rules
from shoal.grouping.mondrian import Mondrian
from shoal.grouping.thresholds import CloseCalls, Limits, distance_between
from shoal.hierarchies.hierarchy import Hierarchy


def plan_of(
    method: Mondrian, columns: dict[str, list[str]], schema: Schema
) -> tuple[Plan, list[int]]:
    """Plan a table of texts; give the plan and the bucket of every row."""
    domains = []
    for name, texts in columns.items():
        is_number = name == "age"
        domains.append(
            Domain.of_texts(
                name,
                sorted(set(texts)),
                type=ColumnType.INTEGER if is_number else ColumnType.CATEGORICAL,
                numbers=[float(text) for text in sorted(set(texts))] if is_number else None,
            )
        )
    codes = [domain.codes_of(columns[domain.column]) for domain in domains]
    rows = np.stack(codes, axis=1)
    cells = Cells.of_rows(domains, rows)
    trees = {name: found.over(cells.domain(name)) for name, found in schema.hierarchies.items()}
    plan = method.plan(Problem(cells, schema, trees, Secret.from_seed(1)))
    place = {tuple(code): cell for cell, code in enumerate(cells.codes.tolist())}
    bucket = np.empty(cells.n_cells, dtype=np.int64)
    bucket[plan.assign.group] = plan.assign.base
    return plan, [int(bucket[place[tuple(row)]]) for row in rows.tolist()]


def labels_of(plan: Plan, column: str) -> list[str | None]:
    (recode,) = (recode for recode in plan.recode if recode.column == column)
    return [recode.labels[place].text for place in recode.index.tolist()]


def test_the_slicing_paper_groups_its_patients_as_mondrian_does():
    # [Li12] Table 1(b): 4-anonymous and 2-diverse; it prints 20 as the lowest age, which we do not.
    columns = {
        name: [str(value) for value in values]
        for name, values in slicing_patients().to_dict().items()
    }
    schema = Schema(
        quasi=["age", "sex", "zipcode"],
        sensitive="disease",
        hierarchies={"zipcode": Hierarchy.prefixes([5, 4, 3])},
    )
    plan, buckets = plan_of(Mondrian(k=4, ell=2), columns, schema)
    assert [bucket + 1 for bucket in buckets] == list(slicing_buckets())
    assert labels_of(plan, "age") == ["]-inf, 53[", "[53, +inf["]
    assert labels_of(plan, "sex") == ["{F, M}", "{F, M}"]
    assert labels_of(plan, "zipcode") == ["4790…", "4730…"]


def test_the_mondrian_paper_patients():
    # [LeFevre06], the patients of its first figures and their multidimensional 2-anonymization.
    # All three columns are equally wide, and the one that is named first is cut first.
    columns = {
        "sex": ["Male", "Female", "Male", "Male", "Female", "Male"],
        "age": ["25", "25", "26", "27", "27", "28"],
        "zipcode": ["53711", "53712", "53711", "53710", "53712", "53711"],
        "disease": ["Flu", "Hepatitis", "Bronchitis", "Broken Arm", "AIDS", "Hang Nail"],
    }
    schema = Schema(quasi=["sex", "age", "zipcode"], sensitive="disease")
    plan, buckets = plan_of(Mondrian(k=2), columns, schema)
    assert buckets == [1, 0, 1, 2, 0, 2]
    assert labels_of(plan, "sex") == ["Female", "Male", "Male"]
    assert labels_of(plan, "age") == ["]-inf, +inf[", "]-inf, 27[", "[27, +inf["]


@pytest.mark.parametrize(
    ("salaries", "distance"),
    [([3, 4, 5], Fraction(3, 8)), ([6, 8, 11], Fraction(1, 6))],
)
def test_salaries_are_as_far_apart_as_the_t_closeness_paper_says(salaries, distance):
    # [Li07] Section 4: nine salaries from 3k to 11k, once each.
    guarantee = TCloseness(t=distance, distance="ordered")
    limits = Limits.of_guarantees([guarantee], np.ones(9, dtype=np.int64), None, np.empty(0, int))
    counts = [int(3 + value in salaries) for value in range(9)]
    assert distance_between(limits, counts) == distance
    for t, holds in ((distance, True), (distance - Fraction(1, 10**9), False)):
        limits = Limits.of_guarantees(
            [TCloseness(t=t, distance="ordered")],
            np.ones(9, dtype=np.int64),
            None,
            np.empty(0, int),
        )
        limits.value[:3] = [salary - 3 for salary in salaries]
        limits.count[:3] = 1
        rules = Rules(limits, CloseCalls(limits, t=t))
        assert rules.keep(3, 3) == holds
