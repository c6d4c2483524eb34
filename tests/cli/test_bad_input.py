"""Bad input gets a clear error with its own exit code, shows no value, and leaves nothing."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

import pytest

PARAMETER, SCHEMA, DATA, INFEASIBLE, ENGINE = 3, 4, 5, 6, 8
MONDRIAN = ("--method", "mondrian", "-p", "k=2", "-p", "ell=2", "--out", "release")
ANATOMY = ("--method", "anatomy", "-p", "ell=2", "--out", "release")


@pytest.fixture
def refused(run, roles, listing, marker):
    """Run `anonymize`, and assert that it is refused, leaves nothing and shows no value."""

    def refuse(source: Path, code: int, *words: str, options=MONDRIAN, columns=None) -> str:
        before = listing()
        columns = roles if columns is None else columns
        result = run("anonymize", source, *columns, *options)
        document = run("anonymize", source, *columns, *options, "--json")
        assert listing() == before
        assert result.exit_code == document.exit_code == code, result.output
        assert result.stdout == document.stderr == ""
        assert json.loads(document.stdout)["error"]["exit_code"] == code
        shown = result.stdout + result.stderr + document.stdout
        assert marker not in shown
        assert "Traceback" not in shown
        for word in words:
            assert word in result.stderr
        return result.stderr

    return refuse


# The file


def test_empty_file(refused, tmp_path):
    (tmp_path / "people.csv").write_bytes(b"")
    refused(tmp_path / "people.csv", DATA, "empty", "Hint")


def test_header_only(refused, write_csv):
    refused(write_csv([]), DATA, "no rows")


def test_blank_lines_only(refused, tmp_path):
    (tmp_path / "people.csv").write_bytes(b"\n\n\n")
    refused(tmp_path / "people.csv", DATA)


def test_missing_file(refused, tmp_path):
    refused(tmp_path / "nobody.csv", DATA, "nobody.csv")


def test_unknown_ending(refused, write_csv):
    refused(write_csv(name="people.docx"), PARAMETER, "people.docx")


@pytest.mark.parametrize("ending", ["parquet", "arrow", "duckdb"])
def test_csv_that_claims_to_be_something_else(refused, write_csv, ending):
    refused(write_csv(name=f"people.{ending}"), DATA, "although its name says so")


@pytest.mark.parametrize("content", [b"PAR1" + b"x" * 40, b"PK\x03\x04....", b"\x1f\x8b...."])
def test_something_else_that_claims_to_be_csv(refused, tmp_path, content):
    (tmp_path / "people.csv").write_bytes(content)
    refused(tmp_path / "people.csv", DATA, "not a CSV file")


def test_database_that_claims_to_be_csv(refused, tmp_path):
    with sqlite3.connect(tmp_path / "people.csv") as connection:
        connection.execute("CREATE TABLE people (name TEXT)")
    connection.close()
    refused(tmp_path / "people.csv", DATA, "SQLite")


def test_half_a_parquet_file(refused, write_csv, tmp_path, marker):
    (tmp_path / "people.parquet").write_bytes(b"PAR1" + marker.encode() * 20)
    refused(tmp_path / "people.parquet", ENGINE)


def test_broken_utf8(refused, write_csv):
    path = write_csv()
    path.write_bytes(path.read_bytes() + b"SECRETVALUE123\xff,1,2,3\n")
    refused(path, DATA, "utf-8", "encoding")


def test_broken_utf8_far_from_the_beginning(refused, write_csv, marker):
    many = [[f"{marker}-{i}", i % 9, f"{marker}{i % 3}", "ab"[i % 2]] for i in range(60_000)]
    path = write_csv(many)
    path.write_bytes(path.read_bytes() + b"SECRETVALUE123,1,2,SECRETVALUE123\xff\n")
    refused(path, DATA, "UTF-8")


def test_line_with_too_many_fields(refused, write_csv, rows, marker):
    refused(write_csv([*rows, [marker] * 6]), DATA, "as many fields")


def test_line_with_too_few_fields(refused, write_csv, rows, marker):
    refused(write_csv([*rows, [marker]]), DATA)


def test_open_quote(refused, write_csv, marker):
    path = write_csv()
    path.write_bytes(path.read_bytes() + f'"{marker},1,2,3\n'.encode())
    refused(path, DATA)


# Columns and roles


def test_two_columns_of_one_name(refused, write_csv):
    path = write_csv(header=["name", "age", "age", "disease"])
    refused(path, DATA, "number 2, 3 of 4")


def test_column_without_a_name(refused, write_csv):
    refused(write_csv(header=["name", "", "zip", "disease"]), DATA, "without a name")


def test_missing_column(refused, write_csv):
    columns = ("--identifying", "name", "--quasi", "age,zipcode", "--sensitive", "disease")
    refused(write_csv(), SCHEMA, "'zipcode'", "'zip'", columns=columns)


def test_column_with_two_roles(refused, write_csv):
    columns = ("--identifying", "name,age", "--quasi", "age,zip", "--sensitive", "disease")
    refused(write_csv(), SCHEMA, "'age'", "two roles", columns=columns)


def test_column_named_twice(refused, write_csv):
    columns = ("--identifying", "name", "--quasi", "age,zip,age", "--sensitive", "disease")
    refused(write_csv(), SCHEMA, "'age'", "twice", columns=columns)


def test_column_without_a_role(refused, write_csv):
    columns = ("--quasi", "age,zip", "--sensitive", "disease")
    refused(write_csv(), SCHEMA, "'name'", "Hint", columns=columns)


def test_word_that_is_no_role(refused, write_csv, roles):
    columns = (*roles, "--role", "wave=secretive")
    refused(write_csv(), SCHEMA, "'secretive'", "sensitive", columns=columns)


def test_no_sensitive_column(refused, write_csv):
    columns = ("--identifying", "name,disease", "--quasi", "age,zip")
    refused(write_csv(), SCHEMA, "sensitive", columns=columns)


def test_type_that_does_not_exist(refused, write_csv, roles):
    refused(write_csv(), SCHEMA, "'number'", columns=(*roles, "--type", "age=number"))


def test_order_that_lacks_values(refused, write_csv, roles):
    columns = (*roles, "--type", "zip=low,high")
    refused(write_csv(), SCHEMA, "'zip'", "3 different values", columns=columns)


def test_key_that_is_not_unique(refused, write_csv):
    columns = ("--key", "name", "--quasi", "age,zip", "--sensitive", "disease")
    rows = [["SECRETVALUE123", 20 + i % 5, "a", "xy"[i % 2]] for i in range(20)]
    refused(write_csv(rows), DATA, "'name'", "19 rows", columns=columns)


def test_key_with_missing_values(refused, write_csv, rows):
    columns = ("--key", "name", "--quasi", "age,zip", "--sensitive", "disease")
    rows[3][0] = ""
    refused(write_csv(rows), DATA, "1 rows have none", columns=columns)


def test_several_rows_a_person(refused, write_csv):
    columns = ("--person", "name", "--quasi", "age,zip", "--sensitive", "disease")
    rows = [[f"SECRETVALUE123-{i % 15}", 20 + i % 5, "a", "xy"[i % 2]] for i in range(20)]
    refused(write_csv(rows), DATA, "20 rows belong to 15 people", columns=columns)


def test_nearly_unique_insensitive_column(refused, write_csv):
    columns = ("--insensitive", "name", "--quasi", "age,zip", "--sensitive", "disease")
    refused(write_csv(), DATA, "'name'", "40 of 40 rows", 'meant = [["name"]]', columns=columns)


def test_nearly_unique_insensitive_column_that_is_meant(run, write_csv):
    columns = ("--insensitive", "name", "--quasi", "age,zip", "--sensitive", "disease")
    for option in ("--nearly-unique", "--meant"):
        result = run("anonymize", write_csv(), *columns, *MONDRIAN, option, "name", "--replace")
        assert result.exit_code == 0, option


def test_insensitive_columns_that_undo_the_release(refused, run, write_csv):
    columns = ("--identifying", "name", "--insensitive", "zip", "--quasi", "age", "--sensitive",
               "disease")  # fmt: skip
    refused(write_csv(), DATA, "'zip' leaves", 'meant = [["zip"]]', columns=columns)
    assert run("anonymize", write_csv(), *columns, *MONDRIAN, "--meant", "zip").exit_code == 0


def test_spellings_of_a_sensitive_value(refused, run, roles, write_csv, rows):
    rows[0][3] = f" {rows[0][3].lower()}"
    refused(write_csv(rows), DATA, "2 different texts are spellings of 1 value", "variants")
    source = write_csv(rows)
    for choice in ("merge", "distinct"):
        more = ("--variants", f"disease={choice}", "--replace")
        assert run("anonymize", source, *roles, *MONDRIAN, *more).exit_code == 0, choice


# Values


@pytest.mark.parametrize("column", [1, 2, 3])
def test_literal_star(refused, write_csv, rows, column):
    rows[5][column] = "*"
    refused(write_csv(rows), DATA, "'*'")


def test_literal_star_in_an_insensitive_column(refused, write_csv, rows):
    columns = ("--identifying", "name", "--insensitive", "zip", "--quasi", "age")
    rows[5][2] = "*"
    path = write_csv(rows)
    refused(path, DATA, "'zip'", columns=(*columns, "--sensitive", "disease"))


def test_nul_characters(refused, write_csv, marker):
    path = write_csv()
    path.write_bytes(path.read_bytes() + f"{marker},1,a\0b,x\n".encode())
    refused(path, DATA, "NUL")


@pytest.mark.parametrize("value", ["NaN", "inf", "-Infinity"])
def test_numbers_that_are_not_finite(refused, write_csv, rows, roles, value):
    rows[7][1] = value
    refused(write_csv(rows), DATA, "'age'", columns=(*roles, "--type", "age=real"))


def test_not_finite_numbers_in_parquet(refused, tmp_path, roles):
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "people.parquet"
    columns = {
        "name": [f"SECRETVALUE123-{i}" for i in range(20)],
        "age": [float("nan") if i == 3 else 20.0 + i % 5 for i in range(20)],
        "zip": ["SECRETVALUE123"] * 20,
        "disease": ["SECRETVALUE123" + "ab"[i % 2] for i in range(20)],
    }
    parquet.write_table(arrow.table(columns), path)
    refused(path, DATA, "'age'")


def test_text_in_a_column_that_is_declared_a_number(refused, write_csv, rows, roles):
    refused(
        write_csv(rows), DATA, "'zip'", "not numbers", columns=(*roles, "--type", "zip=integer")
    )


def test_value_that_a_hierarchy_lacks(refused, write_csv, tmp_path, roles):
    (tmp_path / "zip.csv").write_text("SECRETVALUE1230;low;*\nSECRETVALUE1231;low;*\n")
    message = refused(
        write_csv(), SCHEMA, "'zip'", "--log", columns=(*roles, "--hierarchy", "zip=zip.csv")
    )
    assert "1 of" in message


def test_values_that_a_hierarchy_lacks_are_in_the_internal_log(
    run, write_csv, tmp_path, roles, marker
):
    (tmp_path / "zip.csv").write_text(f"{marker}0;low;*\n{marker}1;low;*\n")
    columns = (*roles, "--hierarchy", "zip=zip.csv")
    run("anonymize", write_csv(), *columns, *MONDRIAN, "--log", "internal.log")
    log = tmp_path / "internal.log"
    assert f"{marker}2" in log.read_text()
    if os.name == "posix":
        assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    "text",
    [
        "SECRETVALUE1230;low;*\nSECRETVALUE1231;*\n",
        "SECRETVALUE1230;low;*\nSECRETVALUE1230;high;*\n",
        "SECRETVALUE1230;low;high;*\nSECRETVALUE1231;low;highest;*\n",
        'SECRETVALUE1230;"low;*\n',
        "",
    ],
    ids=["ragged", "two parents", "label with two parents", "open quote", "empty"],
)
def test_unsound_hierarchy(refused, write_csv, tmp_path, roles, text):
    (tmp_path / "zip.csv").write_text(text)
    columns = (*roles, "--hierarchy", "zip=zip.csv")
    refused(write_csv(), SCHEMA, "[hierarchies] zip", columns=columns)


# What cannot be reached


def test_one_row(refused, write_csv, rows):
    refused(write_csv(rows[:1]), INFEASIBLE)


def test_one_row_with_anatomy(refused, write_csv, rows):
    refused(write_csv(rows[:1]), INFEASIBLE, options=ANATOMY)


@pytest.mark.parametrize("options", [MONDRIAN, ANATOMY])
def test_one_distinct_sensitive_value(refused, write_csv, rows, marker, options):
    refused(write_csv([[*row[:3], marker] for row in rows]), INFEASIBLE, options=options)


@pytest.mark.parametrize(
    ("options", "best"),
    [
        (("--method", "mondrian", "-p", "k=41"), "40"),
        (("--method", "mondrian", "-p", "k=2", "-p", "ell=5"), "4"),
        (("--method", "mondrian", "-p", "ell=5", "-p", "diversity=frequency"), "4"),
        (("--method", "mondrian", "-p", "ell=5", "-p", "diversity=entropy"), "4"),
        (("--method", "anatomy", "-p", "ell=5"), "4"),
    ],
)
def test_more_than_is_possible_names_what_is(refused, write_csv, options, best):
    assert best in refused(write_csv(), INFEASIBLE, options=(*options, "--out", "release"))


@pytest.mark.parametrize(
    "parameters",
    [
        ["k=0"],
        ["k=-3"],
        ["k=2.5"],
        ["k=five"],
        ["k=true"],
        ["ell=0"],
        ["ell=0.5", "diversity=frequency"],
        ["ell=2.5", "diversity=distinct"],
        ["ell=nan", "diversity=entropy"],
        ["t=-0.1"],
        ["t=1.5"],
        ["t=nan"],
        ["t=0.2", "distance=manhattan"],
        ["ell=2", "diversity=recursive", "c=0"],
        ["ell=2", "diversity=recursive", "c=-1"],
        ["ell=2", "diversity=recursive"],
        ["ell=2", "diversity=many"],
        ["c=2"],
        ["cuts=sideways", "k=2"],
        ["k=[2]"],
        ["protect=5.5", "k=2"],
        [],
    ],
    ids=" ".join,
)
def test_parameters_out_of_their_range(refused, write_csv, parameters):
    given = [part for parameter in parameters for part in ("-p", parameter)]
    refused(write_csv(), PARAMETER, options=("--method", "mondrian", *given, "--out", "release"))


@pytest.mark.parametrize("parameters", [["ell=0"], ["ell=x"], ["draw=lots", "ell=2"], []])
def test_parameters_of_anatomy_out_of_their_range(refused, write_csv, parameters):
    given = [part for parameter in parameters for part in ("-p", parameter)]
    refused(write_csv(), PARAMETER, options=("--method", "anatomy", *given, "--out", "release"))


def test_unknown_method(refused, write_csv):
    options = ("--method", "anatomie", "--out", "release")
    refused(write_csv(), PARAMETER, "anatomy", options=options)


def test_unknown_parameter(refused, write_csv):
    refused(write_csv(), PARAMETER, "'kk'", "Its parameters are", options=(*MONDRIAN, "-p", "kk=2"))


def test_no_method(refused, write_csv):
    refused(write_csv(), PARAMETER, "[method]", "name", options=("--out", "release"))


def test_unknown_format(refused, write_csv):
    refused(write_csv(), PARAMETER, "csv", options=(*MONDRIAN, "--format", "xlsx"))


def test_amount_of_memory_that_is_none(refused, write_csv):
    refused(write_csv(), PARAMETER, "memory", options=(*MONDRIAN, "--memory", "much"))


# The place of the release


def test_place_below_a_file(refused, write_csv, tmp_path):
    (tmp_path / "file").write_text("")
    options = (*MONDRIAN[:-1], "file/release")
    refused(write_csv(), ENGINE, "release", options=options)


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_place_without_write_permission(refused, write_csv, tmp_path):
    (tmp_path / "closed").mkdir(mode=0o500)
    refused(write_csv(), ENGINE, options=(*MONDRIAN[:-1], "closed/release"))


def test_release_that_is_there_already(run, refused, write_csv, roles):
    assert run("anonymize", write_csv(), *roles, *MONDRIAN).exit_code == 0
    refused(write_csv(), PARAMETER, "release", "--replace")


def test_replaced_release(run, write_csv, roles, tmp_path):
    run("anonymize", write_csv(), *roles, *MONDRIAN)
    first = (tmp_path / "release.internal" / "record.json").read_text()
    assert run("anonymize", write_csv(), *roles, *MONDRIAN, "--replace").exit_code == 0
    assert (tmp_path / "release.internal" / "record.json").read_text() != first


def test_folder_of_others_is_not_replaced(refused, write_csv, tmp_path):
    (tmp_path / "release").mkdir()
    (tmp_path / "release" / "thesis.txt").write_text("mine")
    refused(write_csv(), PARAMETER, "not a release", options=(*MONDRIAN, "--replace"))
