"""Values that trip other tools up are published as they are, or generalized, never altered."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

STRANGE = {
    "quotes": 'a "quoted" word',
    "commas": "one, two",
    "newlines": "two\nlines",
    "carriage return": "two\r\nlines",
    "semicolons": "a;b;c",
    "formula": "=cmd|' /C calc'!A0",
    "at": "@SUM(A1)",
    "emoji": "👩‍👩‍👧 flu",
    "leading zeros": "00123",
    "leading space": " flu ",
    "markup": "[red]flu[/red] <b>",
    "escape": "\x1b[31mflu",
    "umlauts": "Übelkeit",
    "empty string": "",
}


@pytest.fixture
def read_back():
    def read(path: Path) -> list[dict[str, str]]:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    return read


@pytest.mark.parametrize("method", ["anatomy", "mondrian"])
def test_strange_values_come_through_unaltered(run, read_back, tmp_path, method):
    values = [value for value in STRANGE.values() for _ in range(4)]
    # Everything is quoted: an empty field without quotes would be a missing value.
    with (tmp_path / "people.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerow(("name", "age", "zip", "disease"))
        writer.writerows((f"n{i}", 20 + i % 5, v, v) for i, v in enumerate(values))
    options = ("--identifying", "name", "--quasi", "age,zip", "--sensitive", "disease")
    # Two ways to end a line are two spellings of one text.
    options += ("--variants", "disease=distinct")
    result = run(
        "anonymize", "people.csv", *options, "-m", method, "-p", "ell=2", "--out", "release"
    )
    assert result.exit_code == 0, result.output
    name = "sensitive.csv" if method == "anatomy" else "table.csv"
    published = {row["disease"] for row in read_back(tmp_path / "release" / name)}
    assert published == set(STRANGE.values())
    assert run("verify", "release").exit_code == 0
    attacked = run("attack", "release")
    assert attacked.exit_code == 0
    assert "\x1b[31m" not in attacked.output


def test_leading_zeros_of_a_quasi_identifier_are_kept(run, write_csv, read_back, tmp_path, roles):
    rows = [[f"n{i}", 20 + i % 5, f"0{100 + i % 3}", "abc"[i % 3]] for i in range(30)]
    result = run("anonymize", write_csv(rows), *roles, "-m", "anatomy", "-p", "ell=2", "--out", "r")
    assert result.exit_code == 0, result.output
    assert {row["zip"] for row in read_back(tmp_path / "r" / "quasi.csv")} == {
        "0100",
        "0101",
        "0102",
    }


def test_missing_and_empty_are_two_values(run, tmp_path, roles):
    lines = [
        f"n{i},{20 + i % 5},{('', chr(34) * 2, 'c')[i % 3]},{'abc'[i // 3 % 3]}" for i in range(36)
    ]
    (tmp_path / "people.csv").write_text("name,age,zip,disease\n" + "\n".join(lines) + "\n")
    result = run("anonymize", "people.csv", *roles, "-m", "anatomy", "-p", "ell=2", "--out", "r")
    assert result.exit_code == 0, result.output
    published = (tmp_path / "r" / "quasi.csv").read_text().splitlines()[1:]
    last = [line.rpartition(",")[2] for line in published]
    assert {last.count(text) for text in ("", '""', "c")} == {12}


def test_dates_before_1900(run, write_csv, roles):
    rows = [[f"n{i}", f"18{10 + i % 60}-02-28", "abc"[i % 3], "xyz"[i % 3]] for i in range(60)]
    options = ("--hierarchy", "age=dates:month,year,decade", "--type", "age=date")
    result = run(
        "anonymize", write_csv(rows), *roles, *options, "-m", "mondrian", "-p", "k=3", "--out", "r"
    )
    assert result.exit_code == 0, result.output
    assert run("verify", "r").exit_code == 0


def test_infinity_and_nan_as_texts_are_categories(run, write_csv, roles):
    rows = [
        [f"n{i}", ("NaN", "inf", "3")[i % 3], "abc"[i % 3], "xyz"[i // 3 % 3]] for i in range(36)
    ]
    result = run("anonymize", write_csv(rows), *roles, "-m", "mondrian", "-p", "k=3", "--out", "r")
    assert result.exit_code == 0, result.output
    columns = json.loads(Path("r/manifest.json").read_text())["columns"]
    assert next(c["type"] for c in columns if c["name"] == "age") == "categorical"


@pytest.mark.parametrize(
    "column", ["a,b", 'say "hi"', "x;y", "[red]", "*", "select", "Straße 😀", "a\x1b[31mb", " age "]
)
def test_strange_column_names(run, write_csv, column):
    rows = [[f"n{i}", 20 + i % 5, "abc"[i % 3], "xyz"[i % 3]] for i in range(30)]
    source = write_csv(rows, header=["name", column, "zip", "disease"])
    Path("shoal.toml").write_text(
        f"""
        [table]
        source = "{source.name}"
        [columns]
        identifying = ["name"]
        quasi = [{json.dumps(column, ensure_ascii=False)}, "zip"]
        sensitive = "disease"
        [method]
        name = "mondrian"
        k = 3
        """,
        encoding="utf-8",
    )
    result = run("publish", "shoal.toml")
    assert result.exit_code == 0, result.output
    assert "\x1b[31m" not in result.output
    attacked = run("attack", "release")
    assert attacked.exit_code == 0
    assert "\x1b[31m" not in attacked.output


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_marked_encodings_are_found(run, write_csv, roles, encoding):
    source = write_csv()
    source.write_text(source.read_text(encoding="utf-8"), encoding=encoding)
    options = ("-m", "mondrian", "-p", "k=2", "--out", "r")
    assert run("anonymize", source, *roles, *options).exit_code == 0


def test_unmarked_encodings_are_asked_for(run, write_csv, roles):
    source = write_csv()
    text = source.read_text(encoding="utf-8").replace("disease", "disease").replace("-1", "-ü")
    source.write_text(text, encoding="cp1252")
    options = ("-m", "mondrian", "-p", "k=2", "--out", "r")
    assert run("anonymize", source, *roles, *options).exit_code == 5
    assert run("anonymize", source, *roles, *options, "--encoding", "cp1252").exit_code == 0


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_other_delimiters_are_found(run, write_csv, roles, delimiter):
    source = write_csv()
    source.write_text(source.read_text().replace(",", delimiter))
    options = ("-m", "mondrian", "-p", "k=2", "--out", "r")
    assert run("anonymize", source, *roles, *options).exit_code == 0


@pytest.mark.parametrize(
    ("levels", "n_bounds"),
    [("quantiles:4", 3), ("intervals:1200,1400", 2), ("{ quantiles = 3, k = 15 }", 2)],
)
def test_levels_are_given_as_options(levels, n_bounds, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + i % 5},{1000 + 10 * i}" for i in range(60)]
    Path("people.csv").write_text("age,income\n" + "\n".join(rows) + "\n")
    options = ("--quasi", "age", "--sensitive", "income", "--levels", f"income={levels}")
    result = run("anonymize", "people.csv", *options, "-m", "anatomy", "-p", "ell=2",
                 "--out", "release")  # fmt: skip
    assert result.exit_code == 0, result.output
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert len(manifest["levels"]["income"]["intervals"]) == n_bounds


def test_every_value_counts_if_an_option_says_so(tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{20 + i % 5},{1000 + 10 * i}" for i in range(150)]
    Path("people.csv").write_text("age,income\n" + "\n".join(rows) + "\n")
    options = ("--quasi", "age", "--sensitive", "income", "--levels", "income=values")
    result = run("anonymize", "people.csv", *options, "-m", "anatomy", "-p", "ell=2",
                 "--out", "release")  # fmt: skip
    assert result.exit_code == 0, result.output
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert not manifest.get("levels")
