from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as parquet
import pytest

import shoal
from shoal.attacks import Foreground
from shoal.core.errors import GuaranteeError, ParameterError
from shoal.engines.engine import Scan
from shoal.knowledge import Knowledge, NegativeRule
from shoal.release.record import earlier_releases
from shoal.workflow.config import configure
from shoal.workflow.gate import GateError, Outcome
from shoal.workflow.publish import produce, publish


@pytest.fixture
def configured(tmp_path):
    """Configure a small table; sections given replace those of the default."""
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "zip", "disease"])
        writer.writerows([20 + i % 7, f"z{i % 3}", "abcd"[i % 4]] for i in range(60))

    def configuration(**sections):
        given = {
            "table": {"source": "people.csv"},
            "columns": {"quasi": ["age", "zip"], "sensitive": "disease"},
            "method": {"name": "anatomy", "ell": 2},
        }
        return configure({**given, **sections}, base=tmp_path)

    return configuration


def test_steps_are_told_in_their_order(configured):
    steps = []
    publish(configured(), progress=steps.append)
    assert steps[0] == "read the table"
    assert steps.index("verify") < steps.index("attack: Homogeneity")
    assert steps[-5:] == [
        "write",
        "make the documents",
        "verify what was written",
        "write who is at risk",
        "seal",
    ]


def test_attacks_without_a_limit_are_reported(configured):
    publication = publish(configured())
    assert {judgement.outcome for judgement in publication.judgements} == {Outcome.REPORTED}
    assert publication.manifest.is_sealed


def test_attack_within_its_limit_passes(configured):
    publication = publish(configured(attacks={"homogeneity": {"max_people": 0}}))
    assert publication.judgements[0].outcome is Outcome.PASSED
    assert publication.judgements[0].worst <= 0.5


def test_foreground_is_attacked_with_a_file_of_knowledge_beside_the_configuration(
    configured, tmp_path
):
    rules = [NegativeRule(antecedent={"zip": "z0"}, value="a")]
    (tmp_path / "rules.toml").write_text(Knowledge("disease", rules).to_toml())
    (entry,) = configured(attacks={"foreground": {"knowledge": "rules.toml"}}).attacks()
    assert entry.parameters["knowledge"] == tmp_path / "rules.toml"
    release = shoal.anonymize(
        shoal.read(
            tmp_path / "people.csv", shoal.Schema(quasi=["age", "zip"], sensitive="disease")
        ),
        shoal.Anatomy(ell=2),
        seed=1,
    )
    (found,) = shoal.attack(release, entry.make(release.published))
    (compared,) = [one for one in found.sections if one.title == "adversaries"]
    assert [row[0] for row in compared.rows] == [
        *("logit: foreground and background", "paper"),
        *("logit, one value at a time", "random worlds", "foreground", "background"),
    ]


def test_the_gate_says_how_right_the_foreground_attack_is(configured, tmp_path):
    stated = {"value": "a", "r": 4, "epsilon": "1/4"}
    publication = publish(configured(attacks={"foreground": stated}))
    judged = {one.attack: one for one in publication.judgements}["foreground"]
    assert judged.figures["people who have it"] == 15
    scores = {"precision", "recall", "false flags", "average probability", "average Delta"}
    assert scores | {"right when naming the likeliest"} <= set(judged.figures)
    # What is printed holds no value of the table; the internal record has it all.
    assert [one.title for one in judged.sections][-1] == "calibration"
    assert "recall by subgroup" not in {one.title for one in judged.sections}
    record = json.loads((publication.internal / "record.json").read_text())
    assert record["attacks"]["foreground"] == judged.figures
    titles = [one["title"] for one in record["attack_sections"]["foreground"]]
    assert {"calibration", "people believed above the limit, by subgroup"} <= set(titles)


def test_a_generalized_release_is_attacked_by_exact_values(configured, tmp_path):
    method = {"name": "mondrian", "k": 10, "ell": 2}
    stated = {"value": "a", "r": 4, "epsilon": "1/4", "adversary": "paper"}
    publication = publish(configured(method=method, attacks={"foreground": stated}))
    judged = {one.attack: one for one in publication.judgements}["foreground"]
    schema = shoal.Schema(quasi=["age", "zip"], sensitive="disease")
    table = shoal.read(tmp_path / "people.csv", schema)
    attack = Foreground(value="a", r=4, epsilon="1/4", adversary="paper")
    (again,) = shoal.attack(publication.folder, attack, truth=table)
    assert (again.n_people, again.n_breached) == (judged.n_people, judged.n_at_risk)
    assert again.headline == pytest.approx(judged.figures)
    risk = parquet.read_table(publication.internal / "risk.parquet").to_pylist()
    lines = [line for line in risk if line["attack"] == "foreground"]
    assert len(lines) == 60
    assert sum(line["breached"] for line in lines) == judged.n_at_risk
    (labels,) = shoal.attack(publication.folder, attack)
    assert labels.worst < again.worst


def test_attack_above_its_limit_refuses_to_write(configured, tmp_path):
    attacks = {"homogeneity": {"limit": "1/4", "max_people": 0}}
    with pytest.raises(GateError, match=r"\d+ people at risk, 0 allowed") as caught:
        publish(configured(attacks=attacks))
    assert isinstance(caught.value, GuaranteeError)
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    attacks["homogeneity"]["max_people"] = 60
    assert publish(configured(attacks=attacks)).judgements[0].outcome is Outcome.PASSED


def test_a_limit_below_one_over_the_number_of_values_means_nothing(configured, tmp_path):
    attacks = {"homogeneity": {"limit": "1/10", "max_people": 59}}
    with pytest.raises(GateError, match="its limit means nothing, because the column has 4") as no:
        publish(configured(attacks=attacks))
    assert "protect" in no.value.hint
    assert no.value.judgements[0].outcome is Outcome.MEANINGLESS
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]
    # As many as every release puts above it may be allowed.
    attacks["homogeneity"]["max_people"] = 60
    assert publish(configured(attacks=attacks)).judgements[0].outcome is Outcome.PASSED


def test_a_column_of_two_values_is_not_judged_by_one_half(tmp_path):
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "smokes"])
        writer.writerows([20 + i % 7, "yes" if i % 4 == 0 else "no"] for i in range(80))
    given = {
        "table": {"source": "people.csv"},
        "columns": {"quasi": ["age"], "sensitive": "smokes"},
        "method": {"name": "mondrian", "k": 8},
    }
    publication = publish(configure(given, base=tmp_path))
    foreground = {one.attack: one for one in publication.judgements}["foreground"]
    assert (foreground.limit, foreground.outcome) == ("0.5", Outcome.REPORTED)
    assert "75 %" in foreground.meaningless
    (said,) = [one for one in publication.warnings if "means nothing here" in one]
    assert "protect" in said
    assert "means nothing here" in (publication.internal / "report.html").read_text()
    judged = given | {"attacks": {"foreground": {"max_people": 3}}}
    with pytest.raises(GateError, match="foreground: its limit means nothing"):
        publish(configure(judged, base=tmp_path), replace=True)
    # A single value that is protected is judged.
    asked = given | {"attacks": {"foreground": {"value": "yes", "max_people": 80}}}
    again = publish(configure(asked, base=tmp_path), replace=True)
    assert not {one.attack: one for one in again.judgements}["foreground"].meaningless


def test_limit_on_people_needs_a_limit_on_belief(configured, tmp_path):
    # Bucketized lines make no promise about linkage, so nobody could ever be above its limit.
    with pytest.raises(ParameterError, match="give one"):
        publish(configured(attacks={"linkage": {"max_people": 0}}))
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_risk_that_needs_no_accepting_is_not_recorded(configured, tmp_path):
    publication = publish(configured(), accept_risk="to be safe")
    assert publication.accepted is None
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert record["accepted_risks"] == []


def test_configuration_is_kept_in_the_record(configured, tmp_path):
    publish(configured())
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert record["configuration"]["method"] == {"name": "anatomy", "ell": 2}


def test_existing_release_is_refused_before_any_work(configured):
    publish(configured())
    steps = []
    with pytest.raises(ParameterError, match="already exists"):
        publish(configured(), progress=steps.append)
    assert steps == []


def test_earlier_releases_of_the_same_source(configured, tmp_path):
    publication = publish(configured())
    record = json.loads((publication.internal / "record.json").read_text())

    def earlier(digest, name="other.csv"):
        scan = Scan("", {}, None, is_text=False, name=name, digest=digest)
        return earlier_releases(tmp_path / "next", scan)

    digest = record["source"]["sha256"]
    assert earlier(digest) == ("release",)
    assert earlier("0" * 64, record["source"]["name"]) == ()
    # The table of a database has a name and no digest.
    assert earlier(None) == ()
    assert earlier(None, record["source"]["name"]) == ("release",)
    (publication.internal / "record.json").write_text("broken")
    assert earlier(digest) == ()


def test_test_release_is_written_but_not_sealed_without_the_gate(configured):
    publication = produce(configured(release={"seed": 5}))
    assert publication.manifest.is_test
    assert not publication.manifest.is_sealed
    assert publication.judgements == ()


def test_population_is_read_for_the_attack(configured, tmp_path):
    with (tmp_path / "population.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "zip"])
        writer.writerows([20 + i % 7, f"z{i % 3}"] for i in range(600))
    method = {"name": "mondrian", "k": 3}
    attacks = {"linkage": {"population": "population.csv", "limit": 0.1, "max_people": 0}}
    publication = publish(configured(method=method, attacks=attacks))
    linkage = publication.judgements[0]
    assert "population" in linkage.knows
    assert linkage.worst < 0.1


def test_folder_of_others_beside_the_release_is_not_replaced(configured, tmp_path):
    (tmp_path / "release.internal").mkdir()
    (tmp_path / "release.internal" / "thesis.txt").write_text("mine")
    with pytest.raises(ParameterError, match="not a release"):
        publish(configured(), replace=True)
    assert (tmp_path / "release.internal" / "thesis.txt").exists()


@pytest.mark.parametrize("n_moves", range(4))
def test_interruption_while_moving_brings_the_old_release_back(
    configured, tmp_path, monkeypatch, n_moves
):
    publish(configured())
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    rename, moved = Path.rename, []

    def interrupted(self, target):
        if ".old-" in str(target) or ".new-" in str(self):
            moved.append(self)
            if len(moved) == n_moves + 1:
                raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        publish(configured(), replace=True)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


def test_place_named_by_dots(configured, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.chdir(tmp_path / "out")
    publication = publish(configured(), folder=".", replace=True)
    assert publication.internal == tmp_path / "out.internal"
