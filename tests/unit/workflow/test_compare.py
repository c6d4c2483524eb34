"""Methods side by side: what is tried, kept, and recommended."""

from __future__ import annotations

import contextlib
import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import shoal
from shoal.core.calibration import Calibration, Estimate
from shoal.core.registry import names, snake_case
from shoal.report.risk_picture import Point
from shoal.utility.classification import paired_difference
from shoal.workflow import compare as compare_module
from shoal.workflow import compare_schedule, compare_trial, rerun
from shoal.workflow.anonymize import check_fits
from shoal.workflow.compare import RECOMMENDED, compare_as_configured
from shoal.workflow.compare_methods import default_methods, usual_left_out
from shoal.workflow.compare_trial import TrialResult, label_of
from shoal.workflow.comparison import Comparison
from shoal.workflow.config import configure

METHODS = [shoal.Anatomy(ell=2), shoal.Mondrian(k=5), shoal.Mondrian(k=20), shoal.Anatomy(ell=99)]
MEASURES = [shoal.measures.Loss(), shoal.measures.Queries(number=20)]
ATTACKS = [shoal.attacks.Homogeneity(), shoal.attacks.Linkage()]


@pytest.fixture(scope="module")
def table():
    return shoal.read(shoal.datasets.census(rows=200, seed=3))


@pytest.fixture(scope="module")
def found(table):
    return shoal.compare(table, METHODS, ATTACKS, MEASURES, workers=1)


def tried(risk, loss, **judged):
    attack = {"attack": "homogeneity", "is_about_values": True, "people": 100, "at_risk": 0}
    attack |= {"success": risk, "worst_posterior": risk, "limit": None, "found": "something"}
    attack |= {"cut_short": "", "unresolved": 0, "meaningless": "", "above_anyway": 0}
    attack |= {"max_people": None, "is_tried": True} | judged
    figures = {"total variation, pairs": loss, "generalized loss": loss}
    measure = {"measure": "loss", "figures": figures}
    return TrialResult(guarantees=("something",), attacks=(attack,), measures=(measure,))


def comparison(points, max_risk=None):
    return Comparison(
        tried={name: tried(*point) for name, point in points.items()},
        guess=0.1,
        max_risk=max_risk,
        configurations={name: name for name in points},
    )


# --- what is tried --------------------------------------------------------------------------------


def test_figures_are_those_of_attack_and_measure(table, found):
    release = shoal.anonymize(table, shoal.Mondrian(k=5), seed=0)
    homogeneity = shoal.attack(release, ATTACKS[0])["homogeneity"]
    loss = shoal.measure(release, MEASURES[0])["loss"]
    (row,) = [row for row in found.table.to_dict()["rows"] if row["method"] == "mondrian k=5"]
    mean = float(homogeneity.counts @ homogeneity.posterior) / homogeneity.n_people
    assert row["risk"] == pytest.approx(mean)
    assert row["worst posterior"] == homogeneity.worst
    assert row["loss: generalized loss"] == loss.headline["generalized loss"]


def test_a_method_that_cannot_be_tried_is_told_with_the_reason(found):
    ((label, why, hint),) = found.refused.rows
    assert label == "anatomy ell=99"
    assert "99" in why
    assert hint
    assert label not in [row[0] for row in found.table.rows]


@pytest.mark.parametrize("workers", [2, 5])
def test_processes_find_the_same_as_this_one(table, found, workers):
    again = shoal.compare(table, METHODS, ATTACKS, MEASURES, workers=workers)
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize(
    ("n_few", "workers", "expected"), [(200, None, 1), (199, None, 7), (200, 3, 3)]
)
def test_few_rows_are_compared_in_one_process_unless_more_are_asked_for(
    table, found, monkeypatch, n_few, workers, expected
):
    asked = []

    def instead(*_, workers, **__):
        asked.append(workers)
        return found.tried

    monkeypatch.setattr(compare_module, "try_all", instead)
    monkeypatch.setattr(compare_module, "n_cores", lambda: 7)
    monkeypatch.setattr(compare_module, "_FEW_ROWS", n_few)
    shoal.compare(table, METHODS, ATTACKS, MEASURES, workers=workers)
    assert asked == [expected]


def test_methods_that_share_staged_parts_have_the_figures_of_methods_tried_alone(monkeypatch):
    table = shoal.read(shoal.datasets.census(rows=300, seed=3))
    methods = METHODS[:3]
    measures = [shoal.measures.Classification(models=["bayes", "tree"], folds=3)]
    attacks = [shoal.attacks.Membership()]
    n_rows = []
    real = rerun.table_of_rows

    def counting(rows, members, schema):
        n_rows.append(rows.codes[members].shape[0])
        return real(rows, members, schema)

    monkeypatch.setattr(rerun, "table_of_rows", counting)
    together = shoal.compare(table, methods, attacks, measures, workers=1)
    n_together = len(n_rows)
    # Three folds, and the part of the membership attack.
    assert 3 <= n_together <= 4
    alone = [shoal.compare(table, [one], attacks, measures, workers=1) for one in methods]
    assert len(n_rows) == n_together * (1 + len(methods))
    assert together.tried == {
        label: tried for found in alone for label, tried in found.tried.items()
    }
    assert all(one.refusal is None for one in together.tried.values())
    monkeypatch.setattr(rerun, "_MOST_STAGED", 0)
    assert shoal.compare(table, methods, attacks, measures, workers=1).tried == together.tried
    assert len(n_rows) > n_together * (2 + len(methods))


def test_methods_that_hide_cells_are_tried_beside_others(tmp_path):
    columns = {"age": [i % 7 for i in range(60)], "disease": [f"d{i % 4}" for i in range(60)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="disease"))
    private = {"column": "age", "python": lambda row: row["age"] == 1}
    methods = [shoal.RuleHiding(private=private, **rest(shoal.RuleHiding)), *METHODS[:2]]
    found = shoal.compare(
        table, methods, measures=MEASURES[:1], workers=2, resume=tmp_path / "results"
    )
    assert len(found.tried) == 3
    # What is private may follow from columns that no digest is made of.
    assert len(list((tmp_path / "results").iterdir())) == 2
    assert all(one.refusal is None for one in found.tried.values())


def rest(cls):
    return {name: value for name, value in cls.example.items() if name != "private"}


@pytest.mark.parametrize(
    ("schema", "names"),
    [
        ({"quasi": ["a", "b"], "sensitive": ["c"]}, 5),
        ({"quasi": ["a"], "sensitive": ["c"], "insensitive": ["b"]}, 4),
        ({"quasi": ["a", "b", "c"]}, 2),
        ({"quasi": ["a"], "sensitive": ["b", "c"]}, 1),
    ],
)
def test_six_methods_suit_every_schema(schema, names):
    columns = {
        name: [i % size for i in range(40)] for name, size in zip("abc", (4, 5, 2), strict=True)
    }
    table = shoal.read(columns, shoal.Schema(**schema))
    methods = default_methods(table)
    assert len(methods) == 6
    for method in methods:
        check_fits(table, method)
    assert len({type(method) for method in methods}) == names
    assert all(getattr(one, "ell", None) in (None, 2, 3) for one in methods)


def test_people_with_several_rows_are_refused_as_by_anonymize():
    columns = {"who": ["x", "x", "y", "z"], "age": [1, 1, 2, 2], "ill": ["a", "b", "a", "b"]}
    schema = shoal.Schema(identifying="who", quasi="age", sensitive="ill", person="who")
    found = shoal.compare(shoal.read(columns, schema), [shoal.Anatomy(ell=2)], workers=1)
    assert "belong to 3 people" in found.refused.rows[0][1]
    assert found.recommended is None
    assert found.configuration is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"methods": []}, "no method"),
        ({"methods": ["anatomy"]}, "must be an object such as"),
        ({"max_risk": 2}, "from 0 to 1"),
        ({"workers": 0}, "workers"),
    ],
)
def test_mistakes_are_told_before_any_work(table, options, words):
    with pytest.raises(shoal.errors.ParameterError, match=words):
        shoal.compare(table, **{"methods": METHODS, **options})


def test_merged_buckets_are_compared_where_the_configuration_merges_them(table, tmp_path):
    found = compared_as(tmp_path, repair={"belief_gain": "0.4", "bandwidth": 1})
    assert [row[0] for row in found.refused.rows] == ["mondrian k=4"]
    assert "[repair] merges buckets" in found.refused.rows[0][1]
    assert any("belief" in words for words in found.tried["anatomy ell=2"].guarantees)
    plain = compared_as(tmp_path)
    assert found.tried["anatomy ell=2"].n_buckets < plain.tried["anatomy ell=2"].n_buckets, (
        "results of a comparison without repair must not be taken for it"
    )
    assert "repair" in tomllib.loads(found.configuration)


def compared_as(folder, **sections):
    """Compare two methods as a configuration says, with more sections."""
    rows = ["age,zip,ill", *(f"{20 + i % 9},{i % 7},d{i * i % 5}" for i in range(60))]
    (folder / "people.csv").write_text("\n".join(rows) + "\n")
    given = {
        "table": {"source": "people.csv"},
        "columns": {"quasi": ["age", "zip"], "sensitive": "ill"},
        "method": {"name": "anatomy", "ell": 2},
        "measures": {"loss": {}},
        "compare": {
            "methods": [{"name": "anatomy", "ell": 2}, {"name": "mondrian", "k": 4}],
            **sections.pop("compare", {}),
        },
        **sections,
    }
    return compare_as_configured(configure(given, base=folder), workers=1)


def test_of_a_large_table_some_rows_are_tried_and_that_is_said(table):
    found = shoal.compare(table, METHODS[:2], ATTACKS, MEASURES, workers=1, max_rows=90)
    n_tried, n_rows = found.sampled
    assert n_rows == 200
    assert 60 < n_tried < 120
    assert all(one.n_rows == n_tried for one in found.tried.values())
    assert f"random sample of {n_tried} of the table's 200 rows" in " ".join(found.reasons)
    assert found.to_dict()["sampled"] == [n_tried, 200]
    again = shoal.compare(table, METHODS[:2], ATTACKS, MEASURES, workers=1, max_rows=90)
    assert again.to_dict() == found.to_dict()


def test_private_cells_are_not_compared_on_a_sample():
    columns = {"age": [i % 7 for i in range(60)], "disease": [f"d{i % 4}" for i in range(60)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="disease"))
    private = {"column": "age", "python": lambda row: row["age"] == 1}
    methods = [shoal.RuleHiding(private=private, **rest(shoal.RuleHiding)), METHODS[0]]
    found = shoal.compare(table, methods, [], MEASURES[:1], workers=1, max_rows=30)
    assert "not of a sample" in found.refused.rows[0][1]


# --- what is kept ---------------------------------------------------------------------------------


def test_what_is_done_is_not_done_again(table, found, tmp_path, monkeypatch):
    first = shoal.compare(table, METHODS[:2], ATTACKS, MEASURES, workers=1, resume=tmp_path)
    assert len(list(tmp_path.iterdir())) == 2
    counted = []
    real = compare_schedule.try_on
    monkeypatch.setattr(
        compare_schedule, "try_on", lambda *given: counted.append(given[2]) or real(*given)
    )
    again = shoal.compare(table, METHODS, ATTACKS, MEASURES, workers=1, resume=tmp_path)
    assert counted == METHODS[2:]
    assert again.to_dict() == found.to_dict()
    assert (
        first.table.rows
        == shoal.compare(
            table, METHODS[:2], ATTACKS, MEASURES, workers=1, resume=tmp_path
        ).table.rows
    )
    assert counted == METHODS[2:]


def test_a_result_that_is_damaged_is_made_again(table, tmp_path):
    one = shoal.compare(table, METHODS[:1], ATTACKS, MEASURES, workers=1, resume=tmp_path)
    (file,) = tmp_path.iterdir()
    for text in ("", "{", "[]", '{"attacks": 3}', "null"):
        file.write_text(text)
        again = shoal.compare(table, METHODS[:1], ATTACKS, MEASURES, workers=1, resume=tmp_path)
        assert again.to_dict() == one.to_dict()


def test_other_inputs_are_other_results(table, tmp_path):
    other = shoal.read(shoal.datasets.census(rows=201, seed=3))
    runs = [
        (table, METHODS[:1], ATTACKS, MEASURES, 0),
        (other, METHODS[:1], ATTACKS, MEASURES, 0),
        (table, METHODS[1:2], ATTACKS, MEASURES, 0),
        (table, METHODS[:1], ATTACKS[:1], MEASURES, 0),
        (table, METHODS[:1], ATTACKS, [shoal.measures.Queries(number=21)], 0),
        (table, METHODS[:1], ATTACKS, MEASURES, 1),
        (table, METHODS[:1], [], MEASURES, 0),
        (table, METHODS[:1], None, MEASURES, 0),
    ]
    for number, (read, methods, attacks, measures, seed) in enumerate(runs, start=1):
        shoal.compare(read, methods, attacks, measures, workers=1, resume=tmp_path, seed=seed)
        assert len(list(tmp_path.iterdir())) == number


def test_results_hold_no_value_and_are_for_their_owner_alone(tmp_path):
    marked = {"age": [i % 9 for i in range(80)], "ill": [f"SECRETVALUE{i % 5}" for i in range(80)]}
    table = shoal.read(marked, shoal.Schema(quasi="age", sensitive="ill"))
    folder = tmp_path / "results"
    found = shoal.compare(table, METHODS[:3], workers=1, measures=MEASURES, resume=folder)
    found.write(tmp_path)
    assert folder.stat().st_mode & 0o777 == 0o700
    for path in (*folder.iterdir(), *tmp_path.glob("comparison.*")):
        assert path.stat().st_mode & 0o077 == 0
        assert "SECRETVALUE" not in path.read_text()
    assert "SECRETVALUE" not in repr(found)


def test_a_file_that_changed_is_read_again(tmp_path):
    population = tmp_path / "others.csv"
    population.write_text("age,zip\n20,0\n")
    attacks = {"linkage": {"population": "others.csv"}}
    first = compared_as(tmp_path, attacks=attacks)
    results = tmp_path / "compare" / "results"
    assert len(list(results.iterdir())) == 2
    assert compared_as(tmp_path, attacks=attacks).to_dict() == first.to_dict()
    assert len(list(results.iterdir())) == 2
    population.write_text("age,zip\n" + "20,0\n21,1\n" * 5)
    assert compared_as(tmp_path, attacks=attacks).to_dict() != first.to_dict()
    assert len(list(results.iterdir())) == 4


QUIET = """
import shoal
if __name__ == "__main__":
    table = shoal.read(shoal.datasets.census(rows=60, seed=3))
    methods = [shoal.Mondrian(k=2), shoal.Mondrian(k=3), shoal.Mondrian(k=5)]
    attacks, measures = [shoal.attacks.Membership()], [shoal.measures.Loss()]
    print(shoal.compare(table, methods, attacks, measures, workers=2).table.rows)
"""


def test_processes_end_without_complaints_and_remove_their_files(tmp_path):
    script, temporary = tmp_path / "quiet.py", tmp_path / "temporary"
    script.write_text(QUIET)
    temporary.mkdir()
    environment = os.environ | {"TMPDIR": str(temporary)}
    finished = subprocess.run(
        [sys.executable, str(script)], env=environment, capture_output=True, text=True, check=True
    )
    assert finished.stderr == ""
    assert "mondrian k=5" in finished.stdout
    assert not list(temporary.iterdir())


KILLED = """
import sys, shoal
if __name__ == "__main__":
    table = shoal.read(shoal.datasets.census(rows=200, seed=3))
    methods = [shoal.Mondrian(k=k) for k in range(2, 10)]
    measures = [shoal.measures.Loss(), shoal.measures.Queries(number=20)]
    attacks = [shoal.attacks.Homogeneity(), shoal.attacks.Linkage()]
    found = shoal.compare(table, methods, attacks, measures, workers=2, resume=sys.argv[1])
    print(found.to_csv(), end="")
"""


def processes_of(marker):
    """Name the processes that were started with a marker in their environment."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if marker in (entry / "environ").read_bytes():
                found.append(int(entry.name))
    return found


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks for processes in /proc")
def test_killed_it_goes_on_where_it_was_and_gives_the_same_table(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(KILLED)
    marker = f"SHOAL_TEST_MARKER={tmp_path}"
    command = [sys.executable, str(script)]
    environment = os.environ | {"SHOAL_TEST_MARKER": str(tmp_path)}
    killed = tmp_path / "killed"
    started = subprocess.Popen([*command, str(killed)], env=environment, stdout=subprocess.PIPE)
    while not list(killed.glob("*.json")):
        assert started.poll() is None
        time.sleep(0.01)
    started.send_signal(signal.SIGKILL)
    started.communicate()
    kept = {path.name: path.stat().st_mtime_ns for path in killed.glob("*.json")}
    assert 0 < len(kept) < 8
    deadline = time.monotonic() + 60
    while processes_of(marker.encode()):
        assert time.monotonic() < deadline, "a process outlived the one that started it"
        time.sleep(0.05)
    resumed = subprocess.run([*command, str(killed)], capture_output=True, text=True, check=True)
    whole = subprocess.run(
        [*command, str(tmp_path / "whole")], capture_output=True, text=True, check=True
    )
    assert resumed.stdout == whole.stdout
    assert resumed.stdout.count("\n") == 9
    for name, at in kept.items():
        assert (killed / name).stat().st_mtime_ns == at


# --- what is said ---------------------------------------------------------------------------------


def test_the_frontier_is_marked_in_the_table_and_one_is_recommended():
    found = comparison({"a": (0.2, 0.5), "b": (0.3, 0.1), "c": (0.3, 0.6)})
    assert found.frontier == (Point("a", 0.2, 0.5), Point("b", 0.3, 0.1))
    standing = {row["method"]: row["standing"] for row in found.table.to_dict()["rows"]}
    assert standing == {"a": "frontier", "b": "recommended", "c": "beaten"}
    said = " ".join(found.reasons)
    assert "b is recommended." in said
    assert "30 % of people" in said
    assert "is correct for 10 %" in said
    assert "at least as good in every figure as c (risk 0.3, exposed 0 %, loss 0.6)" in said
    assert "Alternatives: a (risk 0.2, exposed 0 %, loss 0.5)" in said


def test_a_risk_that_is_allowed_decides():
    points = {"a": (0.2, 0.5), "b": (0.3, 0.1)}
    assert comparison(points).recommended == "b"
    assert comparison(points, max_risk=0.2).recommended == "a"
    none = comparison(points, max_risk=0.1)
    assert (none.recommended, none.configuration) == (None, None)
    assert "the smallest risk is 0.2, of a" in none.reasons[0]


def test_a_limit_holds_where_the_risk_is_as_large_but_for_rounding():
    assert comparison({"a": (0.1 + 0.2, 0.5)}, max_risk=0.3).recommended == "a"


def test_exposed_people_and_success_rank_methods_and_belief_does_not():
    """The adversary of `b` believes much and is right about little; that of `a` is right."""
    sure = {"worst_posterior": 1.0, "limit": "1/3"}
    found = Comparison(
        tried={
            "a": tried(0.3, 0.2, at_risk=40, **sure),
            "b": tried(0.3, 0.2, at_risk=2, believed=90, **sure),
        },
        guess=0.1,
        max_risk=None,
        configurations={"a": "a", "b": "b"},
    )
    assert found.recommended == "b"
    assert [point.exposed for point in found.points] == [0.4, 0.02]
    assert [point.name for point in found.frontier] == ["b"]
    rows = {row["method"]: row for row in found.table.to_dict()["rows"]}
    assert (rows["a"]["share exposed"], rows["a"]["standing"]) == (0.4, "beaten")
    assert "2 % of people are exposed" in " ".join(found.reasons)


def test_a_limit_that_means_nothing_does_not_rank_methods():
    found = comparison({"a": (0.3, 0.2)})
    nonsense = tried(0.3, 0.2, at_risk=100, limit="1/2", meaningless="it has two values")
    assert replace(found, tried={"a": nonsense}).exposed("a") == 0


@pytest.mark.parametrize(
    ("scale", "success"),
    [
        # Half of the people are believed of, and right 3 in 5 where a guess is right 1 in 2.
        (Calibration(4, Estimate(0.6, 0.2, 0.9), 0.5, 2, 1, None, 8), 0.55),
        (Calibration(4, Estimate(0.25, 0.1, 0.5), 0.5, 3, 0, None, 8), 0.5),
        (Calibration(0, None, None, 0, 0, None, 8), 0.5),
        (None, 0.5),
    ],
)
def test_success_of_beliefs_is_what_was_counted_and_not_what_is_believed(scale, success):
    columns = {"age": [1, 1, 2, 2, 3, 3, 4, 4], "ill": ["a", "b"] * 4}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="ill"))
    release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    (found,) = shoal.attack(release, shoal.attacks.Homogeneity())
    believed = replace(
        found, is_belief=True, calibration=scale, posterior=np.full(len(found.counts), 0.99)
    )
    assert compare_trial._success(believed, release.published) == pytest.approx(success)
    assert compare_trial._success(found, release.published) == pytest.approx(0.5)


# --- where one value dominates --------------------------------------------------------------------


@pytest.fixture(scope="module")
def dominated():
    columns = {
        "age": [20 + i % 9 for i in range(120)],
        "zip": [i % 4 for i in range(120)],
        "ill": ["none" if i % 5 else "abc"[i % 3] for i in range(120)],
    }
    return shoal.read(columns, shoal.Schema(quasi=["age", "zip"], sensitive="ill"))


def test_where_one_value_dominates_the_others_are_protected(dominated):
    methods = default_methods(dominated)
    assert len(methods) == 6
    assert {method.protect for method in methods} == {("a", "b", "c")}
    found = shoal.compare(dominated, measures=MEASURES[:1], workers=1)
    assert not [label for label, one in found.tried.items() if one.refusal is not None]
    # Everybody is held against one limit on the values that are meant.
    limits = {
        one["limit"]
        for tried in found.tried.values()
        for one in tried.attacks
        if one["attack"] in ("homogeneity", "foreground")
    }
    assert len(limits) == 1
    assert not any(one["meaningless"] for each in found.tried.values() for one in each.attacks)
    assert "protect = [" in found.configuration
    said = " ".join(f"{label} {why}" for label, why, _ in found.refused.rows)
    assert "injector left out: one value makes up 80 % of the column" in said
    assert "slicing left out: one value makes up 80 % of the column" in said


def test_every_method_is_tried_or_left_out_with_a_reason_from_the_start(table, dominated):
    for one in (table, dominated, shoal.read({"age": [1, 2]}, shoal.Schema(quasi="age"))):
        tried = {snake_case(type(method).__name__) for method in default_methods(one)}
        left_out = usual_left_out(one)
        assert tried | set(left_out) == set(names("shoal.methods"))
        assert not tried & set(left_out)
        assert all(left_out.values())
    steps = []
    found = shoal.compare(
        dominated, measures=MEASURES[:1], attacks=ATTACKS, workers=1, progress=steps.append
    )
    told = [step for step in steps if step.startswith("left out: ")]
    assert len(told) == len(found.left_out) > 3
    assert steps.index(told[-1]) < steps.index("count the table")
    assert found.to_dict()["left_out"] == found.left_out


def test_an_attack_that_is_left_out_is_not_compared(tmp_path):
    reason = "no list of people exists"
    found = compared_as(tmp_path, attacks={"membership": {"run": False, "reason": reason}})
    rows = [row for row in found.attacks.rows if row[1] == "membership"]
    assert rows
    assert {row[2] for row in rows} == {f"not run: {reason}"}


def test_of_equally_good_methods_the_first_is_recommended_and_the_other_named():
    found = comparison({"a": (0.3, 0.1), "b": (0.3, 0.1), "c": (0.3, 0.2)})
    assert found.recommended == "a"
    assert "Equally good, but listed after it: b." in " ".join(found.reasons)


def test_a_method_that_is_alone_is_not_praised_above_others():
    found = comparison({"a": (0.3, 0.1)})
    assert found.recommended == "a"
    assert "the only method that could be tried" in " ".join(found.reasons)


def gated(**judged):
    """Compare a method that is judged with one that is better in nothing."""
    return Comparison(
        tried={"a": tried(0.2, 0.1, **judged), "b": tried(0.3, 0.2)},
        guess=0.1,
        max_risk=None,
        configurations={"a": "a", "b": "b"},
    )


@pytest.mark.parametrize(
    ("judged", "words"),
    [
        ({"max_people": 3, "at_risk": 4, "limit": "1/2"}, "puts 4 people at risk; 3 are allowed"),
        ({"max_people": 3, "at_risk": 0, "limit": None}, "has a limit"),
        ({"max_people": 3, "limit": "1/2", "is_tried": False}, "nobody could be held out"),
        ({"max_people": 3, "limit": "1/2", "cut_short": "2 of 9 values"}, "was cut short: 2 of 9"),
        ({"max_people": 3, "limit": "1/2", "meaningless": "it has 2"}, "is meaningless: it has 2"),
        ({"unresolved": 2}, "2 parts of the adversary's knowledge"),
    ],
)
def test_what_fails_the_gate_is_not_recommended(judged, words):
    found = gated(**judged)
    assert found.recommended == "b"
    assert found.frontier == (Point("b", 0.3, 0.2),)
    assert words in " ".join(found.reasons)
    standing = {row["method"]: row["standing"] for row in found.table.to_dict()["rows"]}
    assert standing == {"a": "fails the gate", "b": "recommended"}
    assert "fails the gate" in found.to_svg()


def test_a_gate_at_its_limit_passes():
    assert gated(max_people=4, at_risk=4, limit="1/2").recommended == "a"


def test_where_all_fail_the_gate_none_is_recommended_and_an_older_file_is_gone(tmp_path):
    first = compared_as(tmp_path)
    assert (tmp_path / RECOMMENDED).read_text() == first.configuration
    failing = compared_as(tmp_path, attacks={"homogeneity": {"limit": "1/99", "max_people": 0}})
    assert failing.recommended is None
    assert "No method passes the gate" in failing.reasons[0]
    assert not (tmp_path / RECOMMENDED).exists()
    (tmp_path / RECOMMENDED).write_text("# my own\n")
    compared_as(tmp_path, attacks={"homogeneity": {"limit": "1/99", "max_people": 0}})
    assert (tmp_path / RECOMMENDED).read_text() == "# my own\n"


def test_attacks_that_do_not_apply_are_left_out_of_the_file_unless_they_are_judged(tmp_path):
    odd = "sliced_linkage"
    stated = {odd: {}, "homogeneity": {"limit": "1/2"}}
    found = compared_as(tmp_path, attacks=stated)
    text = found.configurations["anatomy ell=2"]
    assert list(tomllib.loads(text)["attacks"]) == ["homogeneity"]
    assert f"# [attacks.{odd}] is left out" in text
    judged = compared_as(tmp_path, attacks={odd: {"max_people": 0}})
    assert judged.recommended is None
    assert "does not apply" in " ".join(judged.reasons)


# --- pairs ----------------------------------------------------------------------------------------

MODELS = shoal.measures.Classification(models=["bayes"], folds=2, targets=["condition"])


def test_methods_are_paired_on_the_same_held_out_rows(table, tmp_path):
    methods = [shoal.Anatomy(ell=2), shoal.Mondrian(k=5)]
    found = shoal.compare(table, methods, ATTACKS[:1], [MODELS], workers=1, resume=tmp_path)
    one, other = (
        shoal.measure(shoal.anonymize(table, method, seed=0), MODELS)["classification"]
        for method in methods
    )
    expected = paired_difference(one, other, "condition, bayes, linked at random")
    ((first, second, *figures, is_apart),) = found.pairs.rows
    assert [first, second] == ["anatomy ell=2", "mondrian k=5"]
    assert figures == pytest.approx(list(expected))
    assert is_apart == ("yes" if expected[1] > 0 or expected[2] < 0 else "no")
    assert found.to_dict()["paired_accuracies"][0]["accuracy gained"] == figures[0]
    assert "paired accuracies" in found.to_markdown()
    again = shoal.compare(table, methods, ATTACKS[:1], [MODELS], workers=1, resume=tmp_path)
    assert again.to_dict() == found.to_dict()
    assert "outcomes" not in json.dumps(found.to_dict()["measures"])


def test_a_method_whose_parts_cannot_be_published_is_not_compared_by_accuracy():
    # Of each of the values there are just as many as the whole table needs, and no part has.
    columns = {"age": [i % 5 for i in range(12)], "ill": [f"d{i % 3}" for i in range(12)]}
    table = shoal.read(columns, shoal.Schema(quasi="age", sensitive="ill"))
    methods = [shoal.Anatomy(ell=3), shoal.Mondrian(k=2)]
    measures = [shoal.measures.Classification(models=["bayes"], folds=2)]
    found = shoal.compare(table, methods, ATTACKS[:1], measures, workers=1)
    assert found.not_held_out == ("anatomy ell=3",)
    rows = {row["method"]: row for row in found.table.to_dict()["rows"]}
    assert rows["anatomy ell=3"]["classification: accuracy lost"] is None
    assert rows["anatomy ell=3"]["standing"] == "not placed"
    assert rows["mondrian k=2"]["classification: accuracy lost"] is not None
    assert found.pairs.rows == ()
    assert "no row was held out" in " ".join(found.reasons)


def test_without_a_sensitive_column_the_risk_is_to_be_found():
    columns = {"a": [i % 4 for i in range(40)], "b": [i % 5 for i in range(40)]}
    table = shoal.read(columns, shoal.Schema(quasi=["a", "b"]))
    methods = [shoal.Mondrian(k=2), shoal.Mondrian(k=10)]
    found = shoal.compare(table, methods, measures=[shoal.measures.Loss()], workers=1)
    assert found.risk("mondrian k=10") <= 0.1 < found.risk("mondrian k=2")
    assert "identity" in found.risk_name


def test_no_attack_or_no_measure_gives_a_table_and_no_recommendation(table):
    found = shoal.compare(table, METHODS[:1], [], [shoal.measures.Loss()], workers=1)
    assert found.recommended is None
    assert "none is recommended" in found.reasons[0]
    assert len(found.table.rows) == 1
    ElementTree.fromstring(found.to_svg())


def test_all_forms_say_the_same(found, tmp_path):
    found.write(tmp_path)
    document = json.loads((tmp_path / "comparison.json").read_text())
    assert document["recommended"] == found.recommended
    rows = list(csv.DictReader(io.StringIO((tmp_path / "comparison.csv").read_text())))
    assert [row["method"] for row in rows] == [row["method"] for row in document["methods"]]
    assert found.recommended in (tmp_path / "comparison.svg").read_text()


def test_the_configuration_makes_the_method_that_is_recommended(table, found, tmp_path):
    made = configure(tomllib.loads(found.configuration), base=tmp_path)
    assert label_of(made.method()) == found.recommended
    assert made.schema() == table.schema


def test_every_method_is_stated_so_that_it_can_be_made_again(table, tmp_path):
    for method in (
        *default_methods(table),
        shoal.Slicing(ell=2, columns=[["age", "sex"], ["condition"]]),
        shoal.Mondrian(k=5, t="0.25"),
        shoal.Anatomy(ell=2, protect=['<b>"quoted"', "x"]),
    ):
        found = shoal.compare(table, [method], [], [], workers=1)
        (text,) = found.configurations.values()
        assert configure(tomllib.loads(text), base=tmp_path).method() == method


@pytest.mark.parametrize(
    "name", ['a"b', "a\nb", "<script>", "\u202eabc", "n", "row_key", "ä" * 300]
)
def test_hostile_names_of_columns_stay_names(name, tmp_path):
    columns = {name: [i % 7 for i in range(60)], "other": [i % 3 for i in range(60)]}
    columns["ill"] = [f"d{i % 5}" for i in range(60)]
    table = shoal.read(columns, shoal.Schema(quasi=[name, "other"], sensitive="ill"))
    methods = [shoal.Slicing(ell=2, columns=[[name, "other"], ["ill"]]), *METHODS[:2]]
    found = shoal.compare(table, methods, measures=MEASURES, workers=1)
    assert len(found.points) == 3
    for text in found.configurations.values():
        assert configure(tomllib.loads(text), base=tmp_path).schema() == table.schema
    drawing = ElementTree.fromstring(found.to_svg())
    assert {element.tag.rpartition("}")[2] for element in drawing.iter()}.isdisjoint({"script"})
