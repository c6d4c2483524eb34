"""`mine --private`: rules by which private cells can be guessed, shown and written."""

from __future__ import annotations

import csv
import io
import json
import stat
from pathlib import Path

import pytest

from shoal.datasets import papers

SECRET = "SECRETVALUE123"
COLUMNS = ("title", "gender", "marital_status", "education", "salary_level")
ROLES = ("--key", "id", "--quasi", ",".join(COLUMNS), "--type", "id=categorical")
LIMITS = ("--delta", "0.6", "--gamma", "2")
EIGHT = {
    ("title Assistant", "salary_level SL-3"),
    ("salary_level SL-5", "gender F"),
    ("marital_status Unmarr.", "gender F"),
    ("gender F", "marital_status Married"),
    ("title Manager", "marital_status Married"),
    ("marital_status Married", "education Univ."),
    ("title Manager and gender F", "marital_status Married"),
    ("title Manager and salary_level SL-5", "education Univ."),
}
CONFIGURATION = """
[table]
source = "employees.csv"
key = "id"
[columns]
quasi = ["title", "gender", "marital_status", "education", "salary_level"]
[types]
id = "categorical"
[method]
name = "{method}"
{parameters}
"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Write the employees of the paper."""
    papers.employees_shuffled().to_csv(tmp_path / "employees.csv")
    return tmp_path / "employees.csv"


@pytest.fixture
def private(tmp_path: Path) -> tuple[str, ...]:
    """Write a list of the cells that they hide."""
    lines = [f"{row},{column}\n" for row, column in papers.employees_private_cells()]
    (tmp_path / "private.csv").write_text("key,column\n" + "".join(lines))
    return ("--private", "private.csv")


@pytest.fixture
def configure(source: Path, tmp_path: Path):
    """Write a configuration beside the table, into another folder than the one of the command."""

    def write(parameters: str = "", method: str = "rule_hiding") -> Path:
        folder = tmp_path / "project"
        folder.mkdir(exist_ok=True)
        source.rename(folder / source.name)
        path = folder / "shoal.toml"
        path.write_text(CONFIGURATION.format(method=method, parameters=parameters))
        return path

    return write


def shown(result) -> set[tuple[str, str]]:
    assert result.exit_code == 0, result.output
    rows = json.loads(result.stdout)["sections"][0]["rows"]
    return {(row["people with"], row["have"]) for row in rows}


# shown


def test_the_rules_are_shown_under_the_notice_that_they_hold_values(run, source, private):
    result = run("mine", source, *ROLES, *LIMITS, *private)
    assert result.exit_code == 0, result.output
    notice, title = [line for line in result.stdout.splitlines() if line.strip()][:2]
    assert notice == "The following shows values of the table; it is for internal use."
    assert title == "adversarial rules: 8, which predict 4 of 5 private cells"
    for antecedent, consequent in EIGHT:
        assert antecedent in result.stdout
        assert consequent in result.stdout
    assert "rule_hiding" in result.stdout


def test_json_holds_the_counts_and_the_rules_worst_first(run, source, private):
    result = run("mine", source, *ROLES, *LIMITS, *private, "--json")
    assert shown(result) == EIGHT
    stated = json.loads(result.stdout)
    assert stated["notice"].startswith("The following shows values")
    counts = ("adversarial", "private_cells", "predicted_cells", "gamma", "delta")
    assert [stated[name] for name in counts] == [8, 5, 4, 2, "0.6"]
    rows = stated["sections"][0]["rows"]
    order = [(row["right"], row["right"] / row["private cells"], row["confidence"]) for row in rows]
    assert order == sorted(order, reverse=True)
    (assistants,) = [row for row in rows if row["people with"] == "title Assistant"]
    assert (assistants["people"], assistants["confidence"]) == (2, 1.0)
    assert (assistants["private cells"], assistants["right"]) == (1, 1)


def test_fewer_are_shown_than_there_are(run, source, private):
    result = run("mine", source, *ROLES, *LIMITS, *private, "--show", "3", "--json")
    stated = json.loads(result.stdout)
    assert (len(stated["sections"][0]["rows"]), stated["adversarial"]) == (3, 8)
    assert "the 3 worst" in stated["sections"][0]["title"]
    none = run("mine", source, *ROLES, *LIMITS, *private, "--show", "0")
    assert none.exit_code == 0
    assert "Assistant" not in none.stdout


def test_antecedents_may_name_any_number_of_columns_unless_that_is_said(run, source, private):
    one = shown(run("mine", source, *ROLES, *LIMITS, *private, "--max-len", "1", "--json"))
    assert one == {rule for rule in EIGHT if " and " not in rule[0]}


def test_columns_that_no_hiding_protects_are_shown(run, tmp_path):
    lines = [f"{'cook' if row else 'judge'},{'no' if row % 9 else 'yes'}\n" for row in range(40)]
    (tmp_path / "people.csv").write_text("job,ill\n" + "".join(lines))
    options = ("--quasi", "job,ill", "--private", "ill where job = 'judge'")
    result = run("mine", "people.csv", *options)
    assert result.exit_code == 0, result.output
    assert "whatever else is hidden: 1" in result.stdout
    assert "ill no" in result.stdout
    stated = json.loads(run("mine", "people.csv", *options, "--json").stdout)
    assert stated["base_rates"] == 1
    assert stated["adversarial"] == 0
    assert (stated["gamma"], stated["delta"]) == (1, "0.8")


@pytest.mark.parametrize(
    "cells",
    [
        ("salary_level where title = 'Manager'",),
        ("salary_level where title LIKE 'Mana%'",),
        tuple(f"salary_level where id = '{row}'" for row in (1, 2, 3, 5, 9)),
    ],
)
def test_conditions_name_the_same_cells(run, source, cells):
    options = [part for cell in cells for part in ("--private", cell)]
    stated = json.loads(run("mine", source, *ROLES, *LIMITS, *options, "--json").stdout)
    managers = papers.employees_shuffled().to_dict()["title"].count("Manager")
    assert stated["private_cells"] == managers == 5


def test_a_whole_column_and_several_options(run, source, private):
    options = ("--private", "title", *private)
    stated = json.loads(run("mine", source, *ROLES, *LIMITS, *options, "--json").stdout)
    assert stated["private_cells"] == 15


def test_rows_are_named_by_their_line_where_there_is_no_key(run, source, private):
    # The ids of the paper are lines.
    roles = ("--identifying", "id", "--quasi", ",".join(COLUMNS))
    assert shown(run("mine", source, *roles, *LIMITS, *private, "--json")) == EIGHT


def test_a_sensitive_column_is_mined_like_others(run, source, private):
    roles = ("--key", "id", "--quasi", ",".join(COLUMNS[:-1]), "--sensitive", COLUMNS[-1])
    assert shown(run("mine", source, *roles, *LIMITS, *private, "--json")) == EIGHT


# written


def test_all_rules_are_written_for_the_owner_alone(run, source, private, tmp_path):
    options = (*ROLES, *LIMITS, *private, "--show", "1", "--out", "rules.csv")
    result = run("mine", source, *options)
    assert result.exit_code == 0, result.output
    assert "Wrote the rules, for internal use: rules.csv" in result.stdout
    path = tmp_path / "rules.csv"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    rows = list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))
    assert len(rows) == 8
    (rule,) = [row for row in rows if row["column"] == "salary_level"]
    assert rule == {
        "antecedent": '{"title": "Assistant"}',
        "column": "salary_level",
        "value": "SL-3",
        "support": "2",
        "confidence": "1.0",
        "hidden_support": "1",
        "hidden_confidence": "1.0",
    }
    antecedents = {tuple(json.loads(row["antecedent"]).values()) for row in rows}
    assert ("Manager", "F") in antecedents
    assert {entry.name for entry in tmp_path.iterdir()} == {
        "employees.csv",
        "private.csv",
        "rules.csv",
    }


def test_missing_values_quotes_and_line_breaks_are_written(run, tmp_path):
    lines = ['"a ""b""\n,c",\n'] * 3 + [",Łódź\n"] * 3
    (tmp_path / "people.csv").write_text("job,town\n" + "".join(lines), encoding="utf-8")
    options = ("--quasi", "job,town", "--delta", "1", "--gamma", "1", "--out", "rules.csv")
    (tmp_path / "marks.csv").write_text(
        "town,job\ntrue,false\nfalse,false\nfalse,false\ntrue,false\nfalse,false\nfalse,false\n"
    )
    result = run("mine", "people.csv", *options, "--private", "marks.csv")
    assert result.exit_code == 0, result.output
    assert "(missing)" in result.stdout
    text = (tmp_path / "rules.csv").read_text(encoding="utf-8")
    rows = {row["antecedent"]: row["value"] for row in csv.DictReader(io.StringIO(text))}
    assert rows == {'{"job": "a \\"b\\"\\n,c"}': "", '{"job": null}': "Łódź"}


def test_a_file_is_replaced_only_where_that_is_asked_for(run, source, private, tmp_path):
    (tmp_path / "rules.csv").write_text("mine")
    options = (*ROLES, *LIMITS, *private, "--out", "rules.csv")
    assert run("mine", source, *options).exit_code == 3
    assert (tmp_path / "rules.csv").read_text() == "mine"
    assert run("mine", source, *options, "--replace").exit_code == 0
    assert "antecedent" in (tmp_path / "rules.csv").read_text()


def test_a_file_that_cannot_be_written_leaves_nothing_behind(
    run, source, private, monkeypatch, listing
):
    before = listing()

    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("shoal.core.documents.os.fsync", refuse)
    result = run("mine", source, *ROLES, *LIMITS, *private, "--out", "rules.csv")
    assert result.exit_code == 8
    assert "No space left" in result.stderr
    assert listing() == before


# configured


def test_the_method_of_a_configuration_says_what_is_mined(run, configure, private, tmp_path):
    path = configure('private = "private.csv"\ndelta = 0.6\ngamma = 2')
    (tmp_path / "private.csv").rename(path.parent / "private.csv")
    assert shown(run("mine", path, "--json")) == EIGHT
    assert len(shown(run("mine", path, "--delta", "0.7", "--json"))) < 8
    assert len(shown(run("mine", path, "--gamma", "3", "--json"))) < 8


def test_options_overrule_the_method(run, configure, private):
    path = configure('private = "nowhere.csv"\ndelta = 0.6\ngamma = 2')
    assert shown(run("mine", path, *private, "--json")) == EIGHT


def test_a_configuration_of_another_method_needs_private_cells_on_the_command_line(
    run, configure, private
):
    path = configure('rules = "nowhere.toml"', method="injector")
    assert shown(run("mine", path, *LIMITS, *private, "--json")) == EIGHT


def test_numbers_are_cut_as_the_method_says(run, configure, tmp_path):
    path = configure(
        'private = "ill where job = 7"\ngamma = 3\ndiscretise = { age = { width = 10 } }'
    )
    lines = [f"{20 + row},{7 if row == 3 else row},no\n" for row in range(10)]
    lines += [f"{30 + row},{row + 100},yes\n" for row in range(10)]
    (path.parent / "people.csv").write_text("age,job,ill\n" + "".join(lines))
    text = path.read_text().replace("employees.csv", "people.csv").replace('key = "id"', "")
    text = text.replace('id = "categorical"', "")
    columns = text[text.index("quasi =") : text.index("[types]")]
    path.write_text(text.replace(columns, 'quasi = ["age", "job", "ill"]\n'))
    assert shown(run("mine", path, "--json")) == {("age 25", "ill no")}
    plain = path.read_text().replace("discretise", "# discretise")
    path.write_text(plain)
    assert shown(run("mine", path, "--json")) == set()


# refused


@pytest.mark.parametrize(
    ("options", "code", "words"),
    [
        (("--private", "title"), 2, "name the columns with --quasi, or"),
        ((*ROLES, "--delta", "0.6"), 2, "--quasi and --sensitive"),
        ((*ROLES, "--sensitive", "id", "--delta", "0.6"), 2, "--delta is about private cells"),
        ((*ROLES, "--sensitive", "id", "--gamma", "2"), 2, "--gamma is about private cells"),
        ((*ROLES, "--sensitive", "id", "--max-work", "9"), 2, "--max-work is about private cells"),
        ((*ROLES, "--private", "title", "--min-exp", "0.9"), 2, "--min-exp means nothing"),
        ((*ROLES, "--private", "title", "--min-conf", "1"), 2, "--min-conf means nothing"),
        ((*ROLES, "--private", "title", "--positive"), 2, "--positive means nothing"),
        ((*ROLES, "--private", "title", "--statistics"), 2, "--statistics means nothing"),
        ((*ROLES, "--private", "title", "--most-general"), 2, "--most-general means nothing"),
        ((*ROLES, "--private", "title", "--rules", "r.toml"), 2, "--rules means nothing"),
        ((*ROLES, "--private", "title", "--min-support", "2"), 2, "--min-support means nothing"),
        ((*ROLES, "--private", "title", "--hierarchy", "title=flat"), 2, "--hierarchy means"),
        ((*ROLES, "--private", "title", "--max-len", "0"), 2, "--max-len"),
        ((*ROLES, "--private", "title", "--delta", "2"), 3, "delta must be"),
        ((*ROLES, "--private", "title", "--delta", "much"), 3, "delta must be"),
        ((*ROLES, "--private", "title", "--gamma", "0"), 3, "gamma must be"),
        ((*ROLES, "--private", "title", "--gamma", "1", "--max-work", "1"), 3, "raise max_work"),
        ((*ROLES, "--private", "title", "--gamma", "1.5"), 3, "gamma must be"),
        ((*ROLES, "--private", "height"), 3, "begins with no column"),
        ((*ROLES, "--private", "title where height > 5"), 3, "not a column"),
        ((*ROLES, "--private", "title", "--out", "nowhere/rules.csv"), 8, "nowhere"),
    ],
)
def test_what_cannot_be_mined_is_refused(run, source, options, code, words):
    result = run("mine", source, *options)
    assert result.exit_code == code, result.output
    assert words in " ".join(result.stderr.replace("│", " ").split())


def test_options_of_negative_rules_beside_a_configuration_that_hides_rules(run, configure):
    result = run("mine", configure('private = "title"'), "--min-exp", "0.9")
    assert result.exit_code == 2
    assert "method of the configuration is rule_hiding" in " ".join(
        result.stderr.replace("│", " ").split()
    )


def test_a_configuration_without_private_cells(run, configure):
    result = run("mine", configure())
    assert result.exit_code == 3
    assert "No private cells" in result.stderr


def test_no_error_shows_a_value(run, tmp_path):
    lines = [f"{SECRET}{row % 3},{SECRET}\n" for row in range(9)]
    (tmp_path / "people.csv").write_text("job,town\n" + "".join(lines))
    (tmp_path / "cells.csv").write_text(f"key,column\n{SECRET},job\n")
    (tmp_path / "marks.csv").write_text(f"job\n{SECRET}\n")
    for cells in ("cells.csv", "marks.csv", "job where town = 5 +", "job if town > 5", "job if ]"):
        result = run("mine", "people.csv", "--quasi", "job,town", "--private", cells)
        assert result.exit_code in (3, 5), (cells, result.output)
        assert SECRET not in result.output
