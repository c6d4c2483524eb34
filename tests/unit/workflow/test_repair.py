"""Merging the buckets of a release until beliefs gain little."""

from __future__ import annotations

import numpy as np
import pytest

import shoal
from shoal.core.adversary_guarantees import ForegroundSafety
from shoal.core.errors import ParameterError
from shoal.release.verify import Status
from shoal.workflow.config import configure


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    ages, sexes = rng.integers(20, 60, 240), rng.choice(["F", "M"], 240)
    odds = np.where(sexes == "F", 0.8, 0.2)
    columns = {
        "age": ages.tolist(),
        "sex": sexes.tolist(),
        "note": [float(i % 3) for i in range(240)],
        "disease": np.where(rng.random(240) < odds, "gout", rng.choice(["cold", "flu"], 240)),
    }
    schema = shoal.Schema(quasi=["age", "sex"], sensitive="disease", insensitive="note",
                          meant="note")  # fmt: skip
    return shoal.read(columns, schema)


@pytest.fixture(scope="module")
def release(table):
    return shoal.anonymize(table, shoal.Mondrian(ell=2, publish="bucketized"), seed=1)


@pytest.mark.parametrize(
    "method", [shoal.Mondrian(ell=2, publish="bucketized"), shoal.Injector(ell=2, min_exp=0.99)]
)
def test_the_repaired_release_keeps_both_guarantees_on_disk_too(table, method, tmp_path):
    release = shoal.anonymize(table, method, seed=1)
    repaired = shoal.repair(release, belief_gain=0.25)
    assert 1 < repaired.manifest.n_buckets < release.manifest.n_buckets
    assert [g.name for g in repaired.manifest.guarantees] == [
        release.manifest.guarantees[0].name, "bounded belief gain"
    ]  # fmt: skip
    folder = repaired.write(tmp_path / "release")
    assert shoal.verify(folder).status is Status.PARTLY
    found = shoal.verify(folder, internal=tmp_path / "release.internal")
    assert (found.status, found.problems) == (Status.VERIFIED, ())


def test_the_attack_finds_no_more_than_is_promised(table, release):
    prior = shoal.knowledge.prior_beliefs(table)
    before = shoal.attack(release, shoal.attacks.Belief(prior=prior, limit=0.25))["belief"]
    repaired = shoal.repair(release, belief_gain=0.25)
    after = shoal.attack(repaired, shoal.attacks.Belief(prior=prior, limit=0.25))["belief"]
    assert before.n_breached > after.n_breached
    assert before.headline["worst gain"] > after.headline["worst gain"]


def test_rows_stay_together_with_those_of_their_bucket(release):
    repaired = shoal.repair(release, belief_gain=0.25)
    first, second = (
        {
            str(key): int(bucket)
            for key, bucket in zip(
                *(made.files.engine.rows(made.files.placement_query)[name]
                  for name in ("row_key", "bucket")),
                strict=True,
            )
        }
        for made in (release, repaired)
    )  # fmt: skip
    assert first.keys() == second.keys()
    together = {}
    for key, bucket in first.items():
        together.setdefault(bucket, set()).add(second[key])
    assert all(len(targets) == 1 for targets in together.values())


def test_what_holds_already_stays_as_it_is(release):
    assert shoal.repair(release, belief_gain=1).manifest.n_buckets == release.manifest.n_buckets


def test_only_a_bucketized_release_in_the_making_is_repaired(table, release, tmp_path):
    generalized = shoal.anonymize(table, shoal.Mondrian(ell=2), seed=1)
    opened = shoal.open_release(release.write(tmp_path / "release", accept_risk="a test"))
    for one in (generalized, opened):
        with pytest.raises(ParameterError, match="repaired"):
            shoal.repair(one, belief_gain=0.5)
    opened.files.engine.close()


def test_a_release_is_merged_until_the_foreground_attack_finds_nobody(table, tmp_path):
    release = shoal.anonymize(table, shoal.Anatomy(ell=2, protect=["flu"]), seed=1)
    attack = shoal.attacks.Foreground(value="flu", r=3, epsilon=0.1, adversary="paper")
    assert shoal.attack(release, attack)["foreground"].n_breached
    repaired = shoal.repair(release, foreground={"value": "flu", "r": 3, "epsilon": 0.1})
    assert repaired.manifest.n_buckets < release.manifest.n_buckets
    folder = repaired.write(tmp_path / "release")
    assert shoal.verify(folder).status is Status.VERIFIED
    assert shoal.attack(folder, attack)["foreground"].n_breached == 0


def test_a_value_that_too_many_have_cannot_be_repaired(table, release):
    with pytest.raises(shoal.errors.InfeasibleError) as caught:
        shoal.repair(release, foreground={"value": ["gout", "flu"], "r": 4, "epsilon": 0.1})
    assert 1 <= float(caught.value.best["r"]) < 4


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"belief_gain": 0.5, "foreground": {"r": 2}},
        {"foreground": {"value": "flu"}},
        {"foreground": {"r": 2, "k": 3}},
        {"foreground": {"r": 2, "value": "measles"}},
    ],
)
def test_what_is_not_asked_for_properly_is_refused(release, asked):
    with pytest.raises(ParameterError) as caught:
        shoal.repair(release, **asked)
    assert "measles" not in str(caught.value)


def test_a_release_that_merging_may_break_is_not_merged(table):
    method = shoal.ForegroundSafe(value="flu", r=2, epsilon=0.1)
    release = shoal.anonymize(table, method, seed=1)
    with pytest.raises(ParameterError, match="foreground safety"):
        shoal.repair(release, belief_gain=0.9)


def test_the_configuration_asks_for_it(release, tmp_path):
    given = {
        "table": {"source": "table.csv"},
        "columns": {"quasi": ["age", "sex"], "sensitive": ["disease"]},
        "method": {"name": "anatomy", "ell": 2},
        "repair": {"foreground": {"value": "flu", "r": 2, "epsilon": 0.1}},
    }
    stated = configure(given, base=tmp_path).repair
    repaired = shoal.repair(release, **stated)
    assert repaired.manifest.guarantees[1] == ForegroundSafety(value="flu", r=2, epsilon=0.1)
