"""`shoal compare`."""

from __future__ import annotations

import csv
import json
import tomllib

import pytest

CONFIGURATION = """
[table]
source = "people.csv"

[columns]
identifying = ["name"]
quasi = ["age", "zip"]
sensitive = "disease"

[method]
name = "mondrian"
k = 4

[attacks.homogeneity]
limit = "1/2"

[measures.loss]

[compare]
methods = [
  { name = "mondrian", k = 4 },
  { name = "anatomy", ell = 2 },
  { name = "anatomy", ell = 9 },
]
"""


@pytest.fixture
def configured(write_csv, tmp_path):
    def write(text: str = CONFIGURATION):
        write_csv()
        path = tmp_path / "shoal.toml"
        path.write_text(text)
        return path

    return write


def test_it_prints_the_table_the_reasons_and_where_the_rest_is(run, configured, marker, tmp_path):
    result = run("compare", configured(), "--workers", 1)
    assert result.exit_code == 0, result.output
    for words in ("mondrian k=4", "anatomy ell=2", "could not be tried", "is recommended."):
        assert words in result.stdout
    assert marker not in result.output
    with (tmp_path / "compare" / "comparison.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 2
    assert (tmp_path / "compare" / "comparison.svg").read_text().startswith("<svg")


def test_its_configuration_can_be_published(run, configured, tmp_path):
    document = json.loads(run("compare", configured(), "--workers", 1, "--json").stdout)
    written = (tmp_path / "shoal.recommended.toml").read_text()
    assert document["configuration"] == written
    given = tomllib.loads(written)
    assert "compare" not in given
    assert given["attacks"] == {"homogeneity": {"limit": "1/2"}}
    published = run("publish", tmp_path / "shoal.recommended.toml", "--json")
    assert published.exit_code == 0, published.output
    stated = json.loads(published.stdout)
    assert stated["method"]["name"] == given["method"]["name"]
    assert [one["measure"] for one in stated["measures"]] == ["loss"]
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert list(record["measures"]) == ["loss"]


def test_a_second_run_reads_what_is_done(run, configured, tmp_path):
    path = configured()
    first = run("compare", path, "--workers", 1, "--json").stdout
    results = {file: file.stat().st_mtime_ns for file in (tmp_path / "compare/results").iterdir()}
    assert run("compare", path, "--workers", 1, "--json").stdout == first
    assert {file: file.stat().st_mtime_ns for file in results} == results


def test_without_a_list_the_own_method_is_compared_with_the_usual_ones(run, configured):
    text = CONFIGURATION.partition("[compare]")[0]
    document = json.loads(run("compare", configured(text), "--workers", 1, "--json").stdout)
    labels = [row["method"] for row in (*document["methods"], *document["refused"])]
    assert sorted(document["left_out"]) == ["foreground_safe", "mask", "rule_hiding"]
    assert set(document["left_out"]) < set(labels)
    assert len(labels) == 7 + 3
    assert "mondrian k=4" in labels


@pytest.mark.parametrize(
    ("section", "words", "code"),
    [
        ("methods = []\nmax_risk = 7", "max_risk", 3),
        ("methods = [{ ell = 3 }]", "name", 3),
        ("methods = [{ name = 'anatomie', ell = 3 }]", "anatomy", 3),
        ("methods = [{ name = 'anatomy', l = 3 }]", "has no parameter 'l'", 3),
        ("folders = 'x'", "folder", 3),
    ],
)
def test_mistakes_in_the_section_are_told(run, configured, section, words, code):
    text = CONFIGURATION.partition("[compare]")[0] + "[compare]\n" + section
    result = run("compare", configured(text))
    assert result.exit_code == code, result.output
    assert words in result.output


def test_a_measure_with_an_unknown_parameter_is_refused(run, configured):
    text = CONFIGURATION.replace("[measures.loss]", "[measures.loss]\ngroup = 3")
    result = run("compare", configured(text))
    assert result.exit_code == 3
    assert "groups" in result.output


def test_a_log_has_a_line_for_every_step_and_quiet_and_json_have_none(run, configured):
    path = configured()
    told = run("compare", path, "--workers", 1).stderr
    lines = [line.partition(" s  ")[2] for line in told.splitlines()]
    assert "0 of 3 done; mondrian k=4: measure loss" in lines
    assert "3 of 3 done: anatomy ell=9" in lines
    again = run("compare", path, "--workers", 1).stderr
    assert "3 of 3 were done already" in again
    assert run("compare", path, "--workers", 1, "--quiet").stderr == ""
    assert run("compare", path, "--workers", 1, "--json").stderr == ""


def test_what_a_comparison_wrote_is_not_written_over_by_comparing_it(run, configured):
    path = configured().rename(configured().with_name("shoal.recommended.toml"))
    before = path.read_text()
    result = run("compare", path)
    assert result.exit_code == 3
    assert "would be written over" in result.stderr
    assert path.read_text() == before
