from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

import shoal
from shoal.beliefs.beliefs import estimate_beliefs, overall_beliefs
from shoal.beliefs.priors import (
    BELIEFS,
    beliefs_from_json,
    beliefs_to_json,
    occupants_of_release,
)
from shoal.checks import Evidence, check, largest_gain
from shoal.core.adversary_guarantees import BeliefGain
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError
from shoal.core.method import Problem
from shoal.core.prior_knowledge import BelievedRows
from shoal.core.secret import Secret


@pytest.fixture(scope="module")
def table():
    schema = shoal.Schema(
        quasi=["age", "sex"], sensitive="disease", types={"age": "integer", "sex": "categorical"}
    )
    random = np.random.default_rng(4)
    ages = random.integers(20, 60, 300).tolist()
    columns = {
        "age": [None if i % 40 == 0 else age for i, age in enumerate(ages)],
        "sex": random.choice(["F", "M"], 300).tolist(),
        "disease": [f"d{min(int(v), 5)}" for v in random.exponential(2, 300)],
    }
    return shoal.read(columns, schema)


def held():
    age = Domain.of_texts(
        "age", ["2", "2.0", "7"], type=ColumnType.REAL, numbers=[2, 2, 7], has_missing=True
    )
    value = Domain.of_texts("ä", ["x\ny", "ü"], has_missing=True)
    codes = np.array([[0, 0], [1, 2], [2, 1], [3, 0]])
    return estimate_beliefs(Cells.of_rows((age, value), codes), "ä", {}, "1/3")


def test_beliefs_are_read_as_they_were_written():
    beliefs = held()
    found = beliefs_from_json(beliefs_to_json(beliefs))
    assert found.prior.tolist() == beliefs.prior.tolist()
    assert found.cells.codes.tolist() == beliefs.cells.codes.tolist()
    assert found.cells.counts.tolist() == beliefs.cells.counts.tolist()
    assert found.bandwidth == beliefs.bandwidth
    for own, other in zip(
        (found.domain, *found.cells.domains), (beliefs.domain, *beliefs.cells.domains), strict=True
    ):
        assert own.labels() == other.labels()
        assert (own.column, own.type) == (other.column, other.type)
    assert found.cells.domains[0].numbers.tolist() == [2, 2, 7]


@pytest.mark.parametrize(
    "change",
    [
        {"prior": [[1.0, 0.0, 0.0]]},
        {"prior": [[2.0, -1.0, 0.0]] * 4},
        {"prior": [[float("nan")] * 3] * 4},
        {"codes": [[0], [1], [2], [9]]},
        {"codes": [[0], [1], [2], [-1]]},
        {"counts": [1, 1, 1, 0]},
        {"counts": "many"},
        {"quasi": None},
        {"sensitive": {"column": "ä"}},
        {"bandwidth": {"age": 7}},
        {"quasi": [{"column": "age", "type": "real", "texts": ["1"], "numbers": [], "missing": 0}]},
    ],
)
def test_a_file_that_was_changed_is_refused(change):
    stated = json.loads(beliefs_to_json(held())) | change
    with pytest.raises(DataError, match="A file of beliefs"):
        beliefs_from_json(json.dumps(stated).encode())


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b"7", b"[" * 100_000])
def test_a_file_of_something_else_is_refused(content):
    with pytest.raises(DataError, match="cannot be read"):
        beliefs_from_json(content)


@pytest.mark.parametrize("publish", ["generalized", "bucketized"])
def test_a_release_is_checked_against_the_beliefs_that_it_was_made_with(table, publish):
    method = shoal.Mondrian(k=3, belief_gain=0.4, publish=publish)
    published = shoal.anonymize(table, method, seed=1).published
    cells = table.counts(method.class_columns(table.schema))
    plan = method.plan(Problem(cells, table.schema, table.trees, Secret.from_seed(1)))
    beliefs = beliefs_from_json(plan.witnesses[BELIEFS])
    found = occupants_of_release(published, published.buckets, beliefs)
    evidence = Evidence(published.buckets, published.bucket_sizes, witnesses={"beliefs": found})
    verdict = check(BeliefGain(t=0.4), evidence)
    assert (verdict.holds, verdict.is_partial) == (True, False)
    # The engine numbers buckets anew, but what happens in them is what was planned.
    row, _, bucket = plan.assign.expand()
    buckets = Buckets.of_pairs(bucket, cells.column("disease")[row], cells.domain("disease"))
    people, person = cells.select_with_inverse(["age", "sex"])
    assert people.codes.tolist() == beliefs.cells.codes.tolist()
    occupants = BelievedRows.of_pairs(bucket, person[row], beliefs.prior)
    planned = largest_gain(buckets, occupants)
    assert planned > 0.1
    assert largest_gain(published.buckets, found) == pytest.approx(planned)
    assert not check(BeliefGain(t=planned - 0.01), evidence).holds


def test_labels_of_relaxed_cuts_leave_open_who_is_where(table):
    method = shoal.Mondrian(k=3, belief_gain=0.4, cuts="relaxed")
    release = shoal.anonymize(table, method, seed=1)
    beliefs = beliefs_from_json(release.making.plan.witnesses[BELIEFS])
    assert occupants_of_release(release.published, release.published.buckets, beliefs) is None


@pytest.mark.parametrize("publish", ["generalized", "bucketized"])
def test_beliefs_about_other_people_are_refused(table, publish):
    release = shoal.anonymize(table, shoal.Mondrian(k=3, ell=2, publish=publish), seed=1)
    known = overall_beliefs(table.counts(["age", "sex", "disease"]), "disease")
    ages, sexes = known.cells.domains
    strange = tuple(
        Domain.of_texts(domain.column, [f"strange {i:02}" for i in range(domain.size)])
        for domain in (ages, sexes)
    )
    beliefs = replace(known, cells=replace(known.cells, domains=strange))
    with pytest.raises(DataError, match="people"):
        occupants_of_release(release.published, release.published.buckets, beliefs)
