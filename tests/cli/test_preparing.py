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
    assert "The following shows values" in shown.stdout
    assert "more nodes" in shown.stdout


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


def test_hierarchy_guided_by_a_sensitive_column(run, write_csv, marker):
    source = write_csv()
    options = ("--source", source, "--column", "age")
    built = run(
        *("hierarchy", "build", "--guided-by", "disease", *options, "--levels", "2"),
        *("--out", "age.csv", "--json"),
    )
    assert built.exit_code == 0, built.output
    assert json.loads(built.stdout)["nodes_by_level"] == [7, 4, 2, 1]
    assert marker not in built.output
    lines = Path("age.csv").read_text().splitlines()
    assert [line.split(";")[0] for line in lines] == [str(age) for age in range(20, 27)]
    assert lines[0].split(";")[1].startswith("]-inf, 2")
    checked = run("hierarchy", "check", "age.csv", *options, "--json")
    assert json.loads(checked.stdout)["unused_leaves"] == 0


GUIDED = [
    *(("baker", "asthma"), ("cook", "asthma"), ("cook", "burn")),
    *(("nurse", "flu"), ("porter", "flu"), ("porter", "cold")),
    (None, "asthma"),
]


def test_guided_hierarchy_of_words_keeps_apart_what_differs(run, write_csv):
    rows = [["x", 30, job, disease] for job, disease in GUIDED for _ in range(10)]
    source = write_csv(rows, ("name", "age", "job", "disease"))
    options = ("--source", source, "--column", "job")
    result = run("hierarchy", "build", "--guided-by", "disease", *options, "--out", "job.csv")
    assert result.exit_code == 0, result.output
    assert Path("job.csv").read_text().splitlines() == [
        "baker;{baker, cook};*",
        "cook;{baker, cook};*",
        "nurse;{nurse, porter};*",
        "porter;{nurse, porter};*",
        ";;*",
    ]
    assert run("hierarchy", "check", "job.csv", *options).exit_code == 0
    assert run("hierarchy", "show", "job.csv").exit_code == 0
    anonymized = run(
        *("anonymize", source, "--identifying", "name", "--quasi", "age,job"),
        *("--sensitive", "disease", "--hierarchy", "job=job.csv"),
        *("-m", "mondrian", "-p", "k=10", "--out", "release"),
    )
    assert anonymized.exit_code == 0, anonymized.output


@pytest.mark.parametrize(
    ("column", "by", "code"),
    [("age", "illness", 4), ("years", "disease", 4), ("age", "age", 3)],
)
def test_guided_hierarchy_of_columns_that_do_not_serve(
    run, write_csv, marker, listing, column, by, code
):
    source = write_csv()
    before = listing()
    options = ("--source", source, "--column", column, "--out", "age.csv")
    result = run("hierarchy", "build", "--guided-by", by, *options)
    assert result.exit_code == code
    assert marker not in result.output
    assert listing() == before


@pytest.mark.parametrize(
    "arguments",
    [
        ["--source", "people.csv", "--column", "age"],
        ["width:5", "--guided-by", "disease", "--source", "people.csv", "--column", "age"],
        ["width:5", "--levels", "2", "--source", "people.csv", "--column", "age"],
        ["--guided-by", "disease", "--source", "people.csv"],
        ["--guided-by", "disease", "--values", "ages.txt"],
        ["--guided-by", "disease", "--values", "ages.txt", "--column", "age"],
        ["--guided-by", "disease", "--source", "p.csv", "--column", "age", "--levels", "0"],
    ],
    ids=" ".join,
)
def test_guided_hierarchy_usage_errors(run, write_csv, arguments):
    write_csv()
    result = run("hierarchy", "build", *arguments, "--out", "age.csv")
    assert result.exit_code == 2
    assert not Path("age.csv").exists()


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


def test_profile_draws_a_heat_map_once(run, write_csv, tmp_path):
    result = run("profile", write_csv(), "--heat-map", "map.svg")
    assert result.exit_code == 0
    assert "Drew the correlations into map.svg" in result.stdout
    assert (tmp_path / "map.svg").read_text(encoding="utf-8").startswith("<svg")
    assert run("profile", "people.csv", "--heat-map", "map.svg").exit_code == 3
    assert run("profile", "people.csv", "--heat-map", "map.svg", "--replace").exit_code == 0


@pytest.mark.parametrize(
    "content", [b"", b"name,age\n", b"name,name\n1,2\n", b"PAR1", b"a\xff\n1\n"]
)
def test_profile_of_a_bad_file(run, tmp_path, listing, content):
    (tmp_path / "people.csv").write_bytes(content)
    before = listing()
    assert run("profile", "people.csv", "--draft", "shoal.toml").exit_code == 5
    assert listing() == before


# baskets


def test_baskets_become_a_table_that_is_profiled(run, tmp_path):
    lines = ["person,item", *(f"{n % 7},{n % 5}" for n in range(30))]
    (tmp_path / "long.csv").write_text("\n".join(lines) + "\n")
    arguments = ("baskets", "long.csv", "table.csv", "--item", "item", "--transaction", "person")
    result = run(*arguments, "--columns", "2", "--min-frequency", "2")
    assert result.exit_code == 0
    assert "7 baskets with 3 columns" in result.stdout
    assert (tmp_path / "table.csv").read_text().startswith("person,items_1,items_2\n")
    assert run(*arguments).exit_code == 3
    assert run(*arguments, "--replace").exit_code == 0
    assert run("profile", "table.csv").exit_code == 0
    assert run("baskets", "long.csv", "other.csv", "--item", "nothing").exit_code == 4
    assert not (tmp_path / "other.csv").exists()
