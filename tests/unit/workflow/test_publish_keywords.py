"""Publishing, reading and profiling without a configuration and without a schema object."""

from __future__ import annotations

import dataclasses
import json

import pandas as pd
import pytest

import shoal
from shoal.workflow.gate import GateError
from shoal.workflow.publish import Publication

COLUMNS = {
    "age": [20 + i % 10 for i in range(60)],
    "sex": ["fm"[i % 2] for i in range(60)],
    "ill": [i % 3 for i in range(60)],
}
ROLES = {"quasi": ["age", "sex"], "sensitive": "ill"}
METHOD = shoal.Anatomy(ell=2)


def source(kind, folder):
    """The same table as a frame, a file, or already read."""
    if kind == "mapping":
        return COLUMNS, ROLES
    if kind == "frame":
        return pd.DataFrame(COLUMNS), ROLES
    if kind == "table":
        return shoal.read(COLUMNS, **ROLES), {}
    path = folder / "people.csv"
    pd.DataFrame(COLUMNS).to_csv(path, index=False)
    return (str(path) if kind == "text" else path), ROLES


@pytest.mark.parametrize("kind", ["mapping", "frame", "table", "path", "text"])
def test_a_table_is_published_by_keywords(kind, tmp_path):
    given, roles = source(kind, tmp_path)
    folder = tmp_path / "release"
    published = shoal.publish(given, method=METHOD, folder=folder, **roles)
    assert shoal.verify(folder, internal=published.internal).status == "verified"
    assert published.folder == folder
    assert published.verdict == "nothing was judged: no attack has a limit"
    assert {one.measure for one in published.measured} == {"loss", "queries"}
    assert "release: 60 rows by anatomy" in repr(published)
    with pytest.raises(dataclasses.FrozenInstanceError):
        published.folder = tmp_path
    if kind == "table":
        # A table that the caller read stays open.
        assert shoal.anonymize(given, METHOD).manifest.n_rows == 60


def test_keywords_do_what_a_configuration_says(tmp_path):
    pd.DataFrame(COLUMNS).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "shoal.toml").write_text(
        """
        [table]
        source = "people.csv"
        [columns]
        quasi = ["age", "sex"]
        sensitive = "ill"
        [method]
        name = "anatomy"
        ell = 2
        [attacks.homogeneity]
        max_people = 0
        [release]
        folder = "stated"
        seed = 1
        [about]
        title = "People"
        """
    )
    stated = shoal.publish(tmp_path / "shoal.toml", accept_risk="a test")
    named = shoal.publish(
        tmp_path / "people.csv",
        **ROLES,
        method=METHOD,
        attacks={"homogeneity": {"max_people": 0}},
        about=shoal.config.About(title="People"),
        seed=1,
        folder=tmp_path / "named",
        accept_risk="a test",
    )
    assert named.manifest == stated.manifest
    assert named.verdict == stated.verdict == "passed: 1 of 4 attacks were judged"
    loaded = shoal.publish(
        shoal.config.load(tmp_path / "shoal.toml"), folder=tmp_path / "x", accept_risk="a test"
    )
    assert loaded.manifest == stated.manifest
    assert isinstance(loaded, Publication)


def test_a_failing_attack_stops_a_table_too(tmp_path):
    asked = {"linkage": {"limit": "1/1000", "max_people": 0}}
    with pytest.raises(GateError, match="linkage"):
        shoal.publish(COLUMNS, **ROLES, method=METHOD, attacks=asked, folder=tmp_path / "r")
    assert list(tmp_path.iterdir()) == []
    published = shoal.publish(
        COLUMNS, **ROLES, method=METHOD, attacks=asked, folder=tmp_path / "r", accept_risk="known"
    )
    assert published.verdict == "sealed with an accepted risk: linkage failed"
    record = json.loads((published.internal / "record.json").read_text())
    assert record["gate"]["verdicts"]["linkage"] == "failed"


def test_an_attack_is_left_out_with_a_reason(tmp_path):
    asked = {"membership": {"run": False, "reason": "everybody knows who is in the table"}}
    published = shoal.publish(COLUMNS, **ROLES, method=METHOD, attacks=asked, folder=tmp_path / "r")
    assert "membership: not run" in [f"{one.attack}: {one.outcome}" for one in published.judgements]
    record = json.loads((published.internal / "record.json").read_text())
    assert record["gate"]["not_run"] == {"membership": "everybody knows who is in the table"}


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ({}, "publish needs a method"),
        ({"method": METHOD, "attacks": {"homogeneity": {"max_people": "few"}}}, "whole number"),
        ({"method": METHOD, "attacks": {"homogeneity": {"run": False}}}, "needs a reason"),
        ({"method": METHOD, "attacks": {"telepathy": {}}}, "telepathy"),
        ({"method": METHOD, "seed": 1}, "A seed makes a test release"),
        ({"method": "anatomy"}, "must be an object"),
    ],
)
def test_keywords_that_make_no_sense_are_refused(given, match, tmp_path):
    with pytest.raises(shoal.errors.ParameterError, match=match):
        shoal.publish(COLUMNS, **ROLES, folder=tmp_path / "release", **given)
    assert list(tmp_path.iterdir()) == []


def test_a_configuration_and_a_table_that_is_read_take_no_further_keywords(tmp_path):
    with pytest.raises(shoal.errors.ParameterError, match="beside it method"):
        shoal.publish(tmp_path / "shoal.toml", method=METHOD)
    table = shoal.read(COLUMNS, **ROLES)
    with pytest.raises(shoal.errors.ParameterError, match="read already"):
        shoal.publish(table, **ROLES, method=METHOD, folder=tmp_path / "release")


# --- reading, profiling, mining ------------------------------------------------------------------


def test_roles_make_the_schema():
    given = {**ROLES, "types": {"ill": "categorical"}, "identifying": ()}
    table = shoal.read(COLUMNS, **given)
    assert table.schema == shoal.Schema(**given)
    with pytest.raises(shoal.errors.SchemaError, match="beside it quasi, sensitive"):
        shoal.read(COLUMNS, shoal.Schema(**ROLES), **ROLES)
    with pytest.raises(shoal.errors.SchemaError, match="roles are never guessed"):
        shoal.read(COLUMNS)
    patients = shoal.datasets.papers.injector_patients()
    assert shoal.read(patients, quasi=list(patients.columns)).schema.sensitive == ()


@pytest.mark.parametrize("kind", ["mapping", "frame", "table", "path"])
def test_a_table_a_frame_and_a_file_have_the_same_profile(kind, tmp_path):
    given, _ = source(kind, tmp_path)
    found = shoal.profile(given).to_dict()
    assert (found["rows"], len(found["columns"])) == (60, 3)
    assert found["columns"][2]["different"] == 3


def test_a_table_can_be_used_after_it_was_profiled():
    table = shoal.read(COLUMNS, **ROLES)
    before = table.counts(("age", "ill"))
    shoal.profile(table)
    assert table.counts(("age", "ill")).counts.tolist() == before.counts.tolist()
    assert shoal.anonymize(table, METHOD).manifest.n_rows == 60


@pytest.mark.parametrize("protect", [[1], ["1"], 1, (1, 1)])
def test_a_number_is_protected_like_its_text(protect):
    table = shoal.read(COLUMNS, **ROLES)
    release = shoal.anonymize(table, shoal.Anatomy(ell=2, protect=protect), seed=1)
    expected = shoal.guarantees.FrequencyDiversity(ell=2, protect=["1"])
    assert release.manifest.guarantees == (expected,)
    assert shoal.verify(release).status == "verified"


def test_mining_is_a_verb():
    table = shoal.read(shoal.datasets.papers.injector_patients())
    mined = shoal.mine(table, min_exp=0.5, positive=True, statistics=True)
    assert isinstance(mined, shoal.Knowledge)
    assert len(mined) == 2
    assert mined.statistics
    release = shoal.anonymize(table, shoal.Anatomy(ell=2))
    attack = shoal.attacks.Background()
    assert shoal.attack(release, attack, knowledge=mined)["background"].n_people == 9
    with pytest.raises(shoal.errors.ParameterError, match="mine takes a table"):
        shoal.mine(COLUMNS)
