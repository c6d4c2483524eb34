"""Suppressed releases from end to end: what is written, what verifies, what adversaries learn."""

from __future__ import annotations

import hashlib
import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet
from tampering import reseal, state

import shoal
from shoal.core.errors import ParameterError
from shoal.release.verify import Status
from shoal.workflow.config import load
from shoal.workflow.preview import dry_run
from shoal.workflow.publish import publish

MODES = ("public", "paper", "oblivious")


def people(n_rows=300):
    """Make a table in which title tells the salary, but for a few."""
    rng = np.random.default_rng(5)
    title = rng.integers(0, 4, n_rows)
    salary = np.where(rng.random(n_rows) < 0.95, title, rng.integers(0, 4, n_rows))
    return {
        "person": [f"p{row}" for row in range(n_rows)],
        "title": [f"title {code}" for code in title],
        "salary": [None if code == 3 else f"level {code}" for code in salary],
        "sex": [["F", "M"][code] for code in rng.integers(0, 2, n_rows)],
        "age": rng.integers(20, 70, n_rows).tolist(),
    }


SCHEMA = shoal.Schema(quasi=["title", "sex", "age"], sensitive="salary", key="person")
PRIVATE = ["salary where age < 35"]
AGE = {"age": {"bins": 5}}


@pytest.fixture(scope="module")
def table():
    return shoal.read(people(), SCHEMA)


@pytest.fixture(params=MODES)
def release(request, table):
    method = shoal.RuleHiding(
        private=PRIVATE, delta=0.8, gamma=5, mode=request.param, discretise=AGE
    )
    return shoal.anonymize(table, method)


@pytest.fixture
def folder(release, tmp_path):
    return release.write(tmp_path / "release")


def internal_of(folder):
    return folder.with_name(folder.name + ".internal")


def test_a_release_is_verified_with_its_witnesses_and_partly_without(folder, release):
    assert shoal.verify(folder, internal=internal_of(folder)).status is Status.VERIFIED
    alone = shoal.verify(folder)
    # Where no rule fires at any suppressed cell, none fires at a private one.
    fires = "no rules fire" not in alone.verdicts[0].detail
    is_partial = fires or release.manifest.parameters["mode"] == "oblivious"
    assert alone.status is (Status.PARTLY if is_partial else Status.VERIFIED)


def test_blanked_cells_that_rules_predict_leave_a_release_partly_verified(tmp_path):
    """The department tells the title, and the title the salary; the department tells neither."""
    rng = np.random.default_rng(2)
    department = rng.integers(0, 3, 900)
    title = np.where(rng.random(900) < 0.87, department, (department + 1) % 3)
    salary = np.where(rng.random(900) < 0.87, title, (title + 1) % 3)
    columns = {"department": department, "title": title, "salary": salary}
    table = shoal.read(columns, shoal.Schema(quasi=list(columns)))
    private = [(row, "salary") for row in range(1, 200)]
    release = shoal.anonymize(table, shoal.RuleHiding(private=private, delta=0.8, gamma=20))
    folder = release.write(tmp_path / "release")
    alone = shoal.verify(folder)
    assert alone.status is Status.PARTLY
    assert "rules fire at suppressed cells, private or not" in alone.verdicts[0].detail
    assert shoal.verify(folder, internal=internal_of(folder)).status is Status.VERIFIED


def test_a_release_in_parquet_is_the_same(release, tmp_path):
    folder = release.write(tmp_path / "release", "parquet")
    assert shoal.verify(folder, internal=internal_of(folder)).status is Status.VERIFIED
    lines = parquet.read_table(folder / "table.parquet").to_pylist()
    assert sum(value == "*" for line in lines for value in line.values()) == sum(
        column.n_suppressed for column in release.manifest.columns
    )


def test_no_public_file_tells_private_from_blanked(folder):
    stated = json.loads((folder / "manifest.json").read_text())
    assert {"suppressed"} & set(stated["columns"][-1])
    assert "private" not in stated["method"]["parameters"]
    assert "age < 35" not in "".join(
        path.read_text() for path in folder.iterdir() if path.suffix != ".parquet"
    )


def test_what_is_shown_is_true_and_what_is_private_is_not_shown(folder):
    placement = parquet.read_table(internal_of(folder) / "placement.parquet").to_pylist()
    lines = (folder / "table.csv").read_text().splitlines()[1:]
    columns = people()
    for entry in placement:
        row = columns["person"].index(entry["row_key"])
        title, sex, _, salary = lines[entry["line"] - 1].split(",")
        assert title in ("*", columns["title"][row])
        assert sex in ("*", columns["sex"][row])
        assert salary in ("*", columns["salary"][row] or "")
        if columns["age"][row] < 35:
            assert salary == "*"


def changed(folder, name, change):
    path = internal_of(folder) / name
    found = parquet.read_table(path)
    parquet.write_table(change(found), path)


def test_a_changed_witness_is_noticed(folder):
    def swap(found):
        flags = np.array(found.column("private").to_pylist())
        place = found.column_names.index("private")
        return found.set_column(place, "private", pa.array(~flags))

    changed(folder, "private.parquet", swap)
    found = shoal.verify(folder, internal=internal_of(folder))
    assert found.status is Status.FAILED
    assert "private.parquet is not the one" in found.problems[0]


def test_a_changed_placement_is_noticed(folder):
    def turn(found):
        place = found.column_names.index("row_key")
        keys = found.column("row_key").to_pylist()
        return found.set_column(place, "row_key", pa.array([*keys[1:], keys[0]]))

    changed(folder, "placement.parquet", turn)
    found = shoal.verify(folder, internal=internal_of(folder))
    assert found.status is Status.FAILED
    assert "placement.parquet is not the one" in found.problems[0]


def test_a_missing_witness_is_noticed(folder):
    (internal_of(folder) / "private.parquet").unlink()
    found = shoal.verify(folder, internal=internal_of(folder))
    assert found.status is Status.FAILED


def reveal(folder, text):
    """Change the table and the manifest as somebody would who can write both."""
    (folder / "table.csv").write_text(text)
    stated = json.loads((folder / "manifest.json").read_text())
    stated["files"]["table.csv"] = hashlib.sha256(text.encode()).hexdigest()
    state(folder, stated)
    reseal(folder)


def test_blanks_that_the_manifest_does_not_count_are_noticed(folder):
    text = (folder / "table.csv").read_text()
    header, first, rest = text.split("\n", 2)
    cells = first.split(",")
    cells[0] = "title 1" if cells[0] == "*" else "*"
    reveal(folder, "\n".join([header, ",".join(cells), rest]))
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert any("suppressed cells of column 'title'" in problem for problem in found.problems)


def test_columns_that_no_checker_looks_at_are_noticed(folder):
    stated = json.loads((folder / "manifest.json").read_text())
    stated["columns"][0]["role"] = "insensitive"
    state(folder, stated)
    reseal(folder)
    found = shoal.verify(folder, internal=internal_of(folder))
    assert found.status is Status.FAILED
    assert any("no insensitive columns" in problem for problem in found.problems)


@pytest.mark.parametrize("name", ["delta", "gamma", "mode"])
def test_parameters_that_contradict_the_guarantee_are_noticed(folder, name):
    stated = json.loads((folder / "manifest.json").read_text())
    stated["method"]["parameters"][name] = "0.123"
    state(folder, stated)
    reseal(folder)
    assert "the parameters of the method contradict" in shoal.verify(folder).problems[0]


@pytest.mark.parametrize("change", ["interval", "removed", "foreign"])
def test_labels_that_do_not_fit_what_is_shown_are_noticed(folder, change):
    labels = json.loads((folder / "labels.json").read_text())
    first = next(iter(labels["age"]))
    if change == "interval":
        labels["age"][first]["interval"] = ["0", "1"]
    elif change == "removed":
        del labels["age"][first]
    else:
        labels["title"] = {"title 1": {"interval": ["0", "1"]}}
    text = json.dumps(labels)
    (folder / "labels.json").write_text(text)
    stated = json.loads((folder / "manifest.json").read_text())
    stated["files"]["labels.json"] = hashlib.sha256(text.encode()).hexdigest()
    state(folder, stated)
    reseal(folder)
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert "labels.json" in found.problems[0]


def test_a_placement_without_a_code_is_noticed(folder):
    stated = json.loads((folder / "manifest.json").read_text())
    del stated["witnesses"]["placement.parquet"]
    state(folder, stated)
    reseal(folder)
    found = shoal.verify(folder, internal=internal_of(folder))
    assert "does not name the witness placement.parquet" in found.problems[0]


def test_words_that_say_more_than_the_parameters_are_noticed(folder):
    stated = json.loads((folder / "manifest.json").read_text())
    stated["guarantees"][0]["statement"] = "nobody can learn anything"
    state(folder, stated)
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert "in words what its guarantees do not promise" in found.problems[0]


def test_the_rule_adversary_is_scored_beside_a_table_without_further_blanks(release):
    (found,) = shoal.attack(release, shoal.attacks.Rules())
    figures = found.headline
    n_private = sum(age < 35 for age in people()["age"])
    assert figures["private cells there"] == n_private
    assert figures["filled in, were private cells blanked only"] > n_private // 2
    assert figures["rightly, were private cells blanked only"] > n_private // 2
    if release.manifest.parameters["mode"] != "paper":
        assert figures["filled in"] == 0
        assert found.n_breached == 0
    assert figures["filled in"] < figures["filled in, were private cells blanked only"]
    titles = [section.title for section in found.sections]
    assert titles[0].startswith("what hiding bought")
    (before, after) = found.sections[0].rows
    assert before[0] == "private cells blanked only"
    assert after[0] == "the release"
    assert before[5] == before[4] / before[3]
    assert before[6] <= before[5] <= before[7]


def test_what_other_attacks_found_stays_in_the_risk_file(folder):
    shoal.attack(folder, shoal.attacks.Linkage())
    shoal.attack(folder, shoal.attacks.Rules())
    risk = parquet.read_table(internal_of(folder) / "risk.parquet").to_pylist()
    assert len(risk) == 600
    assert {entry["attack"] for entry in risk} == {"linkage", "rules"}


def test_the_learner_attacks_the_columns_with_private_cells(release):
    found = shoal.attack(release, shoal.attacks.Learned())["learned"]
    assert found.headline["columns attacked"] == "salary"


def test_an_opened_release_is_scored_by_its_internal_folder(folder, release):
    scored = shoal.attack(folder, shoal.attacks.Rules())["rules"]
    assert scored.headline == shoal.attack(release, shoal.attacks.Rules())["rules"].headline
    risk = parquet.read_table(internal_of(folder) / "risk.parquet").to_pylist()
    assert len(risk) == 300
    assert sum(entry["breached"] for entry in risk) == scored.n_breached


def test_without_the_truth_nothing_is_scored(folder):
    shutil.rmtree(internal_of(folder))
    found = shoal.attack(folder, shoal.attacks.Rules())["rules"]
    assert set(found.headline) == {"cells suppressed", "cells filled in"}


def test_cells_are_attacked_not_people_who_must_be_found(folder):
    with pytest.raises(ParameterError, match="attacks the cells of a release"):
        shoal.attack(folder, shoal.attacks.Rules(), people={"title": ["x"], "sex": ["F"]})


def test_people_who_are_looked_for_fit_whatever_is_suppressed(folder):
    anybody = {"title": ["title 0", "title 9"], "sex": ["F", "F"], "age": [30, 30]}
    found = shoal.attack(folder, shoal.attacks.Linkage(), people=anybody)["linkage"]
    lines = [line.split(",") for line in (folder / "table.csv").read_text().splitlines()[1:]]
    labels = json.loads((folder / "labels.json").read_text())["age"]
    fits_age = {
        label for label, means in labels.items()
        if float(means["interval"][0]) <= 30 < float(means["interval"][1])
    }  # fmt: skip
    for person, title in enumerate(anybody["title"]):
        fitting = [
            line
            for line in lines
            if line[0] in ("*", title) and line[1] in ("*", "F") and line[2] in {"*", *fits_age}
        ]
        expected = 1 / len(fitting) if fitting else 0
        assert found.posterior[person] == pytest.approx(expected)


def test_every_attack_that_fits_runs_unasked(folder):
    names = [found.attack for found in shoal.attack(folder)]
    assert names == ["learned", "linkage", "membership", "rules"]


def test_a_configuration_names_private_cells(tmp_path):
    columns = people(60)
    header = ",".join(columns)
    rows = zip(*columns.values(), strict=True)
    body = "\n".join(",".join("" if v is None else str(v) for v in row) for row in rows)
    (tmp_path / "people.csv").write_text(f"{header}\n{body}\n")
    (tmp_path / "cells.csv").write_text("key,column\np3,sex\np4,title\n")
    (tmp_path / "shoal.toml").write_text(
        """
        [table]
        source = "people.csv"
        key = "person"
        [columns]
        quasi = ["title", "sex", "age"]
        sensitive = "salary"
        [method]
        name = "rule_hiding"
        gamma = 3
        private = ["cells.csv", "salary where age < 30", { column = "sex", sql = "age > 65" }]
        [method.discretise]
        age = { bins = 4, show = "interval" }
        [attacks.rules]
        max_people = 0
        """
    )
    publication = publish(load(tmp_path / "shoal.toml"))
    assert shoal.verify(publication.folder, internal=publication.internal).status is Status.VERIFIED
    preview = dry_run(load(tmp_path / "shoal.toml"), replace=True)
    cells = parquet.read_table(publication.internal / "private.parquet").to_pylist()
    n_private = sum(cell["private"] for cell in cells)
    assert preview.warnings[0].startswith(f"{n_private} cells are private: ")
    private = {(cell["row_key"], cell["column"]) for cell in cells if cell["private"]}
    ages = columns["age"]
    expected = {("p3", "sex"), ("p4", "title")}
    expected |= {(f"p{row}", "salary") for row in range(60) if ages[row] < 30}
    expected |= {(f"p{row}", "sex") for row in range(60) if ages[row] > 65}
    assert private == expected
