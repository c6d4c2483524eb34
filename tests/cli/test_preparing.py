"""`hierarchy` and `profile`: what a steward does before publishing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

# hierarchy


def test_hierarchy_build_check_show(run, write_csv, marker):
    source = write_csv()
    built = run(
        "hierarchy", "build", "width:2", "--source", source, "--column", "age", "--out", "age.csv"
    )
    assert built.exit_code == 0, built.output
    lines = Path("age.csv").read_text().splitlines()
    assert len(lines) == 7
    assert lines[0] == "20;[20, 22[;[20, 24[;[16, 24[;*"
    assert run("hierarchy", "check", "age.csv").exit_code == 0
    checked = run("hierarchy", "check", "age.csv", "--source", source, "--column", "age", "--json")
    assert json.loads(checked.stdout)["unused_leaves"] == 0
    shown = run("hierarchy", "show", "age.csv", "--most", "3")
    assert "What follows shows values" in shown.stdout
    assert "nodes more" in shown.stdout


def test_hierarchy_of_listed_values(run, tmp_path):
    (tmp_path / "codes.txt").write_text("00123\n00145\n98765\n")
    result = run("hierarchy", "build", "prefix:3,1", "--values", "codes.txt", "--out", "codes.csv")
    assert result.exit_code == 0, result.output
    assert Path("codes.csv").read_text().splitlines()[0] == "00123;001…;0…;*"


@pytest.mark.parametrize(
    "rule",
    ["quantiles:3", "intervals:20,23,26", "{ width = 5, origin = 3 }", "flat"],
)
def test_hierarchy_rules(run, write_csv, rule):
    source = write_csv()
    options = ("--source", source, "--column", "age", "--out", "age.csv")
    assert run("hierarchy", "build", rule, *options).exit_code == 0
    assert run("hierarchy", "check", "age.csv", *options[:4]).exit_code == 0


def test_hierarchy_check_counts_what_is_lacking(run, write_csv, tmp_path, marker):
    source = write_csv()
    (tmp_path / "zip.csv").write_text(f"{marker}0;*\n")
    result = run("hierarchy", "check", "zip.csv", "--source", source, "--column", "zip")
    assert result.exit_code == 4
    assert "2 of" in result.stderr
    assert marker not in result.output


def test_hierarchy_is_not_overwritten(run, write_csv, tmp_path):
    (tmp_path / "age.csv").write_text("mine")
    options = ("--source", write_csv(), "--column", "age", "--out", "age.csv")
    assert run("hierarchy", "build", "width:5", *options).exit_code == 3
    assert (tmp_path / "age.csv").read_text() == "mine"
    assert run("hierarchy", "build", "width:5", *options, "--replace").exit_code == 0


def test_hierarchy_rule_that_does_not_fit(run, write_csv, marker, listing):
    source = write_csv()
    before = listing()
    options = ("--source", source, "--column", "zip", "--out", "zip.csv")
    for rule in ("width:5", "dates:month", "width:0"):
        result = run("hierarchy", "build", rule, *options)
        assert result.exit_code in (3, 4)
        assert marker not in result.output
    assert listing() == before


# profile


def test_profile_shows_columns_and_no_value(run, write_csv, marker):
    result = run("profile", write_csv())
    assert result.exit_code == 0, result.output
    document = run("profile", "people.csv", "--json")
    assert [entry["column"] for entry in json.loads(document.stdout)["columns"]] == [
        *("name", "age", "zip", "disease")
    ]
    assert marker not in result.output + document.output


def test_draft_is_refused_until_every_column_has_a_role(run, write_csv, marker):
    (Path("sub")).mkdir()
    assert run("profile", write_csv(), "--draft", "sub/shoal.toml").exit_code == 0
    draft = Path("sub/shoal.toml")
    assert marker not in draft.read_text()
    result = run("publish", draft)
    assert result.exit_code == 4
    assert "without a role" in result.stderr
    text = draft.read_text().replace('# "age"', '"age"').replace('# "zip"', '"zip"')
    text = text.replace('    # "disease"', "    # ").replace(
        "sensitive = [", 'sensitive = ["disease"', 1
    )
    draft.write_text(text)
    result = run("publish", draft)
    assert result.exit_code == 0, result.output


def test_draft_is_not_overwritten(run, write_csv, tmp_path):
    (tmp_path / "shoal.toml").write_text("mine")
    assert run("profile", write_csv(), "--draft", "shoal.toml").exit_code == 3
    assert (tmp_path / "shoal.toml").read_text() == "mine"


@pytest.mark.parametrize(
    "content", [b"", b"name,age\n", b"name,name\n1,2\n", b"PAR1", b"a\xff\n1\n"]
)
def test_profile_of_a_bad_file(run, tmp_path, listing, content):
    (tmp_path / "people.csv").write_bytes(content)
    before = listing()
    assert run("profile", "people.csv", "--draft", "shoal.toml").exit_code == 5
    assert listing() == before
