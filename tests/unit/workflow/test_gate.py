from __future__ import annotations

import csv
import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from shoal.core.budget import UNITS_PER_SECOND
from shoal.core.calibration import Calibration, Estimate
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.methods import Anatomy
from shoal.workflow import gate
from shoal.workflow.config import configure
from shoal.workflow.gate import GateError, Judgement, Outcome, gate_warnings, pass_gate
from shoal.workflow.preview import dry_run
from shoal.workflow.publish import publish

SEALABLE = SimpleNamespace(is_test=False)
SCALE = Calibration(
    believed=50,
    right=Estimate(0.24, 0.2, 0.29),
    baseline=0.28,
    wrongly_believed=38,
    exposed=7,
    slope=Estimate(0.1, -0.1, 0.3),
    n_informative=55,
)


def judgement(**changes):
    stated = {
        "attack": "guess",
        "knows": "nothing",
        "n_people": 60,
        "n_at_risk": 5,
        "worst": 0.7,
        "limit": "0.5",
        "max_people": 5,
        "line": "5 of 60 people at risk",
    }
    return Judgement(**stated | changes)


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


def test_an_attack_without_a_limit_is_never_passed_or_failed():
    found = judgement(n_at_risk=None, limit=None, max_people=None)
    assert found.outcome is Outcome.REPORTED
    assert found.to_dict()["at_risk"] is None


def test_a_judged_attack_that_was_cut_short_fails_unless_accepted():
    found = judgement(cut_short="3 of 40 values were attacked")
    assert judgement().outcome is Outcome.PASSED
    assert found.outcome is Outcome.FAILED
    with pytest.raises(GateError, match="guess: it was cut short, because 3 of 40 values"):
        pass_gate([found], SEALABLE, None)
    accepted = pass_gate([found], SEALABLE, "the others are public")
    assert accepted.startswith("the others are public (guess: it was cut short")
    assert gate_warnings([found]) == ("guess was cut short: 3 of 40 values were attacked.",)
    # Without a limit it is said, not judged.
    reported = replace(found, max_people=None)
    assert pass_gate([reported], SEALABLE, None) is None


def test_unresolved_knowledge_stops_a_release_whatever_is_accepted():
    parts = ("rule 2: column 'agge'", "rule 5: node")
    unresolved = judgement(max_people=None, unresolved=parts)
    for reason in (None, "never mind"):
        with pytest.raises(GateError, match="2 parts of the adversary's knowledge") as caught:
            pass_gate([judgement(), unresolved], SEALABLE, reason)
        assert "cannot be accepted" in caught.value.hint
    assert caught.value.details["gate"][1]["unresolved"] == [
        "rule 2: column 'agge'",
        "rule 5: node",
    ]
    assert any("rule 2: column 'agge'" in said for said in gate_warnings([unresolved]))


def test_exposed_people_are_judged_and_the_scale_is_stated():
    found = judgement(n_at_risk=7, scale={"checked": True} | SCALE.to_dict())
    assert str(found) == "guess: 7 people exposed, 5 allowed"
    stated = json.loads(json.dumps(found.to_dict()))
    assert (stated["believed"], stated["exposed"], stated["wrongly_believed"]) == (50, 7, 38)
    assert stated["right"] == {"rate": 0.24, "low": 0.2, "high": 0.29}
    assert stated["slope"] == {"value": 0.1, "low": -0.1, "high": 0.3}
    assert (stated["baseline"], stated["at_risk"], stated["checked"]) == (0.28, 7, True)


def test_beliefs_are_judged_by_who_is_exposed_and_nothing_of_it_is_public(configured, monkeypatch):
    """Whatever calibrates them: the gate goes by the findings, public files by none of it."""
    run = gate.attack

    def calibrated(*given, **options):
        report = run(*given, **options)
        changed = []
        for found in report.findings:
            one = found
            if found.attack == "foreground":
                breached = np.zeros(len(found.counts), dtype=bool)
                breached[:7] = True
                one = replace(found, breached=breached, is_belief=True, calibration=SCALE)
            changed.append(one)
        return replace(report, findings=tuple(changed))

    monkeypatch.setattr(gate, "attack", calibrated)
    with pytest.raises(GateError, match="foreground: 7 people exposed, 6 allowed"):
        publish(configured(attacks={"foreground": {"max_people": 6}}))
    publication = publish(configured(attacks={"foreground": {"max_people": 7}}))
    judged = publication.judgements[0]
    assert judged.outcome is Outcome.PASSED
    assert judged.line == (
        "7 of 60 exposed; 50 believed, right 1 in 4 (20 to 29 %), naive guess 28 %"
    )
    assert all(not section.holds_values for section in judged.sections)
    words = ("exposed", "believed", "baseline", "slope", "calibrat", "0.24", "naive")
    for path in publication.folder.rglob("*.*"):
        text = path.read_text()
        assert not [word for word in words if word in text], path


def test_a_gate_that_judges_warns_of_nothing(configured):
    publication = publish(configured(attacks={"homogeneity": {"max_people": 0}}))
    assert publication.warnings == ()


def test_a_configuration_without_any_limit_is_warned_of(configured):
    publication = publish(configured())
    assert publication.manifest.is_sealed
    assert publication.warnings[0].startswith("No attack is judged")
    assert "No attack is judged" in (publication.internal / "report.html").read_text()
    assert "No attack is judged" not in (publication.folder / "report.html").read_text()


def test_a_limit_alone_judges_membership(configured):
    (entry,) = configured(attacks={"membership": {"limit": 0.6}}).attacks()
    assert entry.max_people == 0
    with pytest.raises(GateError, match=r"membership: AUC .* to .*at most 0\.6 allowed"):
        publish(configured(attacks={"membership": {"limit": 0.6}}))
    publication = publish(configured(attacks={"membership": {"limit": 1}}))
    membership = publication.judgements[0]
    assert membership.verdict == "passed (at most 1)"
    assert membership.line.startswith("AUC ")
    assert "people at risk" not in membership.line
    (other,) = configured(attacks={"homogeneity": {"limit": 0.6}}).attacks()
    assert other.max_people is None


@pytest.mark.parametrize(
    ("stated", "said"),
    [
        ({"run": False}, "needs a reason"),
        ({"run": False, "reason": " "}, "needs a reason"),
        ({"reason": "I like it"}, "has a reason, but the attack is run"),
        ({"run": False, "reason": "slow", "max_people": 0}, "has max_people, but run = false"),
        ({"run": False, "reason": "slow", "limit": 0.6}, "has limit, but run = false"),
    ],
)
def test_an_attack_is_left_out_with_a_reason_and_without_a_limit(configured, stated, said):
    with pytest.raises(ParameterError, match=said):
        configured(attacks={"membership": stated})


def test_an_attack_that_does_not_exist_cannot_be_left_out(configured):
    with pytest.raises(ParameterError, match="not one of the attacks"):
        configured(attacks={"membresship": {"run": False, "reason": "slow"}})


def test_an_attack_that_is_left_out_is_not_run(configured):
    steps = []
    attacks = {"foreground": {"run": False, "reason": "too slow on this machine"}}
    publication = publish(configured(attacks=attacks), progress=steps.append)
    assert "attack: Foreground" not in steps
    left_out = publication.judgements[-1]
    assert (left_out.attack, left_out.outcome) == ("foreground", Outcome.NOT_RUN)
    assert left_out.verdict == "not run: too slow on this machine"
    assert left_out.to_dict()["reason"] == "too slow on this machine"
    assert left_out.to_dict()["worst_posterior"] is None
    record = json.loads((publication.internal / "record.json").read_text())
    assert record["gate"]["not_run"] == {"foreground": "too slow on this machine"}
    assert "too slow on this machine" in (publication.internal / "report.html").read_text()


def test_the_foreground_attack_says_what_it_did_not_look_at(configured):
    limited = {"work": 1, "foreground": {"max_people": 60}}
    with pytest.raises(GateError, match="cut short, because 1 of 4 values were attacked"):
        publish(configured(attacks=limited))
    publication = publish(configured(attacks=limited), accept_risk="enough")
    assert "cut short" in publication.accepted
    report = (publication.internal / "report.html").read_text()
    assert "The attack was cut short: 1 of 4 values were attacked." in report


def test_keywords_allow_work_as_the_configuration_does(configured, tmp_path):
    path = tmp_path / "people.csv"
    options = {"quasi": ["age", "zip"], "sensitive": "disease", "folder": tmp_path / "release"}
    options |= {"method": Anatomy(ell=2), "attacks": {"foreground": {"max_people": 60}}}
    with pytest.raises(GateError, match="cut short, because 1 of 4 values were attacked"):
        publish(path, attack_work=1, **options)
    with pytest.raises(ParameterError, match="amount of work"):
        publish(path, attack_work="soon", **options)
    assert publish(path, attack_work="20s", **options).judgements[0].outcome is Outcome.PASSED
    # A configuration states the work, unless the caller does.
    limited = configured(attacks={"work": 1, "foreground": {"max_people": 60}})
    assert publish(limited, attack_work="20s", replace=True).judgements[0].outcome is Outcome.PASSED


def test_a_dry_run_says_which_attacks_the_work_does_not_suffice_for(configured):
    planned = dry_run(configured(attacks={"work": "0.1s"}))
    assert planned.to_dict()["attack_work"] == UNITS_PER_SECOND // 10
    limited = [one["attack"] for one in planned.to_dict()["attacks"] if not one["whole"]]
    assert "foreground" in limited
    said, *_ = [one for one in planned.warnings if "--attack-work" in one]
    assert said.startswith("The attack 'foreground' would not look at everything")
    assert "the 0.1 s of work" in said
    assert not any("--attack-work" in one for one in dry_run(configured()).warnings)


def test_sections_go_by_their_field_and_not_by_their_titles(configured, monkeypatch):
    """A section with a harmless title that holds values is not printed by the gate."""
    run = gate.attack

    def disguised(*given, **options):
        report = run(*given, **options)
        bad = Section("calibration", ("value",), (("a",),))
        good = Section("anything at all", ("people",), ((3,),), holds_values=False)
        changed = [replace(found, sections=(bad, good)) for found in report.findings]
        return replace(report, findings=tuple(changed))

    monkeypatch.setattr(gate, "attack", disguised)
    for one in publish(configured()).judgements:
        assert {section.title for section in one.sections} <= {"anything at all"}
