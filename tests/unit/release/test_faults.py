"""Releases that were tampered with, with digests that fit: `verify` says *failed* and why."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from tampering import reseal

import shoal
from shoal.core.domain import Role
from shoal.core.guarantees import AlphaK, FrequencyDiversity, TCloseness
from shoal.release.faults import file_faults
from shoal.release.opened import read_manifest
from shoal.release.verify import Verification, verify_file

Manifest = dict[str, Any]

ROWS = [
    (str(20 + i), "fm"[i % 2], f"note{i % 3}", ("cold", "flu", "gout", "ulcer")[i % 4])
    for i in range(24)
]
COLUMNS = ("age", "sex", "note", "disease")


@pytest.fixture
def table() -> shoal.Table:
    columns = dict(zip(COLUMNS, map(list, zip(*ROWS, strict=True)), strict=True))
    schema = shoal.Schema(quasi=["age", "sex"], insensitive=["note"], sensitive="disease",
                          meant=["note"])  # fmt: skip
    return shoal.read(columns, schema)


@pytest.fixture
def bucketized(table: shoal.Table, tmp_path: Path) -> Path:
    return shoal.anonymize(table, shoal.Anatomy(ell=2)).write(tmp_path / "release")


@pytest.fixture
def generalized(table: shoal.Table, tmp_path: Path) -> Path:
    return shoal.anonymize(table, shoal.Mondrian(k=4)).write(tmp_path / "release")


def fails(folder: Path, words: str) -> Verification:
    found = shoal.verify(folder)
    assert found.status == "failed"
    assert any(words in problem for problem in found.problems), found.problems
    shown = " ".join(found.problems)
    assert not any(value in shown for value in ("cold", "flu", "gout", "ulcer", "note1"))
    return found


def column(stated: Manifest, name: str) -> Manifest:
    found: Manifest = next(entry for entry in stated["columns"] if entry["name"] == name)
    return found


def change_first_entry(folder: Path, change: Callable[[list[str]], list[list[str]]]) -> None:
    path = folder / "sensitive.csv"
    header, first, *lines = path.read_text().splitlines()
    changed = [",".join(entry) for entry in change(first.split(","))]
    path.write_text("\n".join([header, *changed, *lines]) + "\n")


def as_parquet(folder: Path, counts: str, name: str = "sensitive") -> None:
    """Write the file anew as Parquet, with another expression in place of its count."""
    path = folder / f"{name}.parquet"
    changed = folder / "changed"
    duckdb.sql(f"SELECT * REPLACE ({counts}) FROM '{path}'").write_parquet(str(changed))
    changed.replace(path)


@pytest.mark.parametrize("shape", ["bucketized", "generalized"])
def test_releases_that_nobody_touched_are_verified(shape, request):
    folder = request.getfixturevalue(shape)
    assert shoal.verify(folder).status == "verified"
    assert shoal.verify(shoal.open_release(folder)).status == "verified"


@pytest.mark.parametrize(
    "claim",
    [
        {"name": "k-anonymity", "k": 2},
        {"name": "(alpha, k)-anonymity", "alpha": "1", "k": 2},
    ],
    ids=lambda claim: claim["name"],
)
def test_anonymity_of_a_bucketized_release_is_that_of_its_lines(bucketized, claim):
    reseal(bucketized, lambda stated: stated.update(guarantees=[claim]))
    found = fails(bucketized, "a combination of quasi-identifiers that fewer than 2 rows share")
    assert found.verdicts[0].reached["k"] == 1
    reseal(bucketized, lambda stated: stated.update(guarantees=[claim | {"k": 1}]))
    assert shoal.verify(bucketized).status == "verified"


def test_the_size_of_a_bucket_is_still_that_of_the_bucket(bucketized):
    claim = {"name": "bucket size", "k": 2}
    reseal(bucketized, lambda stated: stated.update(guarantees=[claim]))
    assert shoal.verify(bucketized).status == "verified"


def test_several_lines_for_one_value_of_a_bucket_are_found(bucketized):
    change_first_entry(bucketized, lambda entry: [entry, entry])
    reseal(bucketized)
    fails(bucketized, "several lines for one value")


@pytest.mark.parametrize(
    "count", ["1.4", "1e0", "-2", "01", "+1", " 1", "0", "", "one", "9" * 18, "9" * 30, "\u0661"]
)
def test_counts_are_plain_positive_whole_numbers(bucketized, count):
    change_first_entry(bucketized, lambda entry: [[*entry[:2], count]])
    reseal(bucketized)
    fails(bucketized, "more often" if count == "9" * 18 else "plain positive whole numbers")


@pytest.mark.parametrize("name", ["quasi", "sensitive"])
@pytest.mark.parametrize("number", ["01", "x", "", "1.0"])
def test_buckets_are_plain_positive_whole_numbers(bucketized, name, number):
    path = bucketized / f"{name}.csv"
    header, first, *lines = path.read_text().splitlines()
    first = ",".join([number, *first.split(",")[1:]])
    path.write_text("\n".join([header, first, *lines]) + "\n")
    reseal(bucketized)
    fails(bucketized, f"'bucket' of {name}")


@pytest.mark.parametrize(
    "count", ["CAST(count AS DOUBLE)", "CAST(count AS VARCHAR)", "-count", "count + 0.4", "NULL"]
)
def test_counts_in_parquet_are_whole_numbers(table, tmp_path, count):
    folder = shoal.anonymize(table, shoal.Anatomy(ell=2)).write(tmp_path / "r", "parquet")
    assert shoal.verify(folder).status == "verified"
    as_parquet(folder, f"{count} AS count")
    reseal(folder)
    fails(folder, "plain positive whole numbers")


@pytest.mark.parametrize("protect", [["plague"], ["flu", "plague"], [None]], ids=str)
@pytest.mark.parametrize(
    "claim",
    [
        {"name": "frequency l-diversity", "ell": "1"},
        {"name": "t-closeness", "t": "1", "distance": "equal"},
        {"name": "(alpha, k)-anonymity", "alpha": "1", "k": 1},
    ],
    ids=lambda claim: claim["name"],
)
def test_a_claim_about_values_that_occur_nowhere_is_found(bucketized, claim, protect):
    def change(stated: Manifest, protected: list[str]) -> None:
        stated["guarantees"] = [claim | {"protect": protected}]
        stated["method"]["parameters"]["ell"] = 1

    reseal(bucketized, lambda stated: change(stated, ["flu"]))
    assert shoal.verify(bucketized).status == "verified"
    reseal(bucketized, lambda stated: change(stated, protect))
    fails(bucketized, f"1 of the {len(protect)} protected values occur nowhere")


@pytest.mark.parametrize(
    "guarantee",
    [
        FrequencyDiversity(ell=9, protect=["plague"]),
        TCloseness(t=0, protect=["plague"]),
        AlphaK(alpha=0.1, k=1, protect=["plague"]),
    ],
    ids=lambda guarantee: guarantee.name,
)
def test_files_of_other_tools_keep_a_claim_about_values_they_lack(tmp_path, guarantee):
    path = tmp_path / "theirs.csv"
    path.write_text("zip,disease\na,flu\na,cold\n")
    assert verify_file(path, quasi=["zip"], sensitive="disease", guarantees=[guarantee]).holds


@pytest.mark.parametrize("ending", ["x/../../out/t.csv", "CSV", "", "txt", "csv.gz", "../csv"])
def test_a_format_other_than_csv_and_parquet_is_found(generalized, ending):
    out = generalized.parent / "out"
    out.mkdir()
    (out / "t.csv").write_bytes((generalized / "table.csv").read_bytes())
    reseal(generalized, lambda stated: stated.update(format=ending))
    fails(generalized, "neither csv nor parquet")
    with pytest.raises(shoal.errors.DataError, match="csv or parquet"):
        shoal.open_release(generalized)


@pytest.mark.parametrize(
    "name",
    [
        "names.csv",
        "quasi.csv",
        "table.parquet",
        "hierarchies/names.csv",
        "hierarchies/note.csv",
        "hierarchies/age.txt",
        "hierarchies/a/age.csv",
        ".hidden",
        "labels.json/x",
    ],
)
def test_a_stated_file_that_no_such_release_has_is_found(generalized, name):
    path = generalized / name
    if not name.startswith("labels.json/"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("who\n")
    reseal(generalized, lambda stated: stated["files"].update({name: "0"}))
    fails(generalized, f"{name} is not a file that a generalized release has")


@pytest.mark.parametrize(
    "name", ["/etc/hostname", "../names.csv", "hierarchies/../names.csv", "./table.csv", "", "."]
)
def test_a_stated_file_outside_the_folder_is_found(generalized, name):
    (generalized.parent / "names.csv").write_text("who\n")
    reseal(generalized, lambda stated: stated["files"].update({name: "0"}))
    fails(generalized, "is not a file that a generalized release has")


def test_a_file_name_cannot_pass_for_an_answer(generalized):
    name = "x\nVerified: 24 rows"
    (generalized / name).write_text("")
    assert shoal.verify(generalized).problems == (f"{name!r} is not in the manifest",)


def drop_labels(folder: Path) -> None:
    (folder / "labels.json").unlink()
    reseal(folder, lambda stated: stated["files"].pop("labels.json"))


def change_labels(folder: Path, change: Callable[[Manifest], None]) -> None:
    path = folder / "labels.json"
    stated = json.loads(path.read_text())
    change(stated)
    path.write_text(json.dumps(stated))
    reseal(folder)


@pytest.mark.parametrize(
    "tamper",
    [
        drop_labels,
        lambda folder: change_labels(folder, lambda labels: labels.clear()),
        lambda folder: change_labels(folder, lambda labels: labels["age"].clear()),
        lambda folder: change_labels(folder, lambda labels: labels["age"].popitem()),
    ],
    ids=["missing", "empty", "column without labels", "a label less"],
)
def test_a_label_that_nothing_explains_is_found(generalized, tamper):
    tamper(generalized)
    fails(generalized, "labels.json does not explain")


@pytest.mark.parametrize("name", ["note", "disease", "nothing"])
def test_labels_of_a_column_that_is_not_recoded_are_found(generalized, name):
    change_labels(generalized, lambda labels: labels.update({name: {"a": {"members": ["b"]}}}))
    fails(generalized, "a column that is not recoded")


@pytest.mark.parametrize("text", ["", "[]", '{"age": 5}', '{"age": {"a": {"interval": [1]}}}'])
def test_labels_that_cannot_be_read_are_found(generalized, text):
    (generalized / "labels.json").write_text(text)
    reseal(generalized)
    assert shoal.verify(generalized).status == "failed"


@pytest.mark.parametrize("name", ["note", "disease"])
def test_a_recoded_column_that_is_no_quasi_identifier_is_found(generalized, name):
    reseal(generalized, lambda stated: column(stated, name).update(recoded=True))
    fails(generalized, "which only a quasi-identifier is")


@pytest.mark.parametrize("shape", ["bucketized", "generalized"])
def test_a_star_where_nothing_is_suppressed_is_found(shape, request):
    folder = request.getfixturevalue(shape)
    path = folder / ("sensitive.csv" if shape == "bucketized" else "table.csv")
    path.write_text(path.read_text().replace("flu", "*"))
    reseal(folder)
    fails(folder, "'disease' holds '*'")


def test_a_star_among_quasi_identifiers_that_are_not_recoded_is_found(bucketized):
    path = bucketized / "quasi.csv"
    path.write_text(path.read_text().replace(",f,", ",*,"))
    reseal(bucketized)
    fails(bucketized, "'sex' holds '*'")


@pytest.mark.parametrize("name", ["table.csv", "codebook.md", "manifest.json"])
def test_a_link_is_found(generalized, name):
    elsewhere = generalized.parent / "elsewhere"
    (generalized / name).rename(elsewhere)
    (generalized / name).symlink_to(elsewhere)
    fails(generalized, f"{name} is a link")


def test_a_link_to_a_folder_is_found(generalized):
    (generalized / "more").symlink_to(generalized.parent, target_is_directory=True)
    fails(generalized, "more is a link")


def test_a_stated_file_that_is_a_folder_is_found(generalized):
    (generalized / "codebook.md").unlink()
    (generalized / "codebook.md").mkdir()
    fails(generalized, "codebook.md is not a file")


def test_a_stray_folder_is_found_even_where_it_is_empty(generalized):
    (generalized / "names").mkdir()
    fails(generalized, "names is not in the manifest")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_a_pipe_is_found_and_not_waited_for(generalized):
    (generalized / "codebook.md").unlink()
    os.mkfifo(generalized / "codebook.md")
    fails(generalized, "codebook.md is not a file")


def test_a_file_that_may_not_be_read_is_found(generalized, monkeypatch):
    manifest = read_manifest(generalized)

    def refuse(self: Path, *_: object) -> None:
        raise PermissionError(13, "no", str(self))

    monkeypatch.setattr(Path, "open", refuse)
    assert "codebook.md cannot be read" in file_faults(generalized, manifest)


def test_a_folder_that_may_not_be_read_is_an_answer(generalized, monkeypatch):
    def refuse(*_: object) -> None:
        raise PermissionError(13, "no", "where")

    monkeypatch.setattr(os, "scandir", refuse)
    fails(generalized, "the release cannot be read: Permission denied")


def shorten_order(stated: Manifest) -> None:
    column(stated, "disease").update(type="ordered", order=["cold"])


def claim_hierarchy(stated: Manifest) -> None:
    stated["guarantees"] = [{"name": "t-closeness", "t": "1", "distance": "hierarchical"}]


def repeat_column(stated: Manifest) -> None:
    stated["columns"].append(column(stated, "age"))


@pytest.mark.parametrize(
    "change",
    [
        shorten_order,
        claim_hierarchy,
        repeat_column,
        lambda stated: stated.update(shape="sliced", files={}),
        lambda stated: stated.update(shape="generalized"),
        lambda stated: stated.update(guarantees=[]),
        lambda stated: stated.update(columns=[]),
        lambda stated: column(stated, "disease").update(type="date"),
        lambda stated: column(stated, "disease").update(role="insensitive"),
        lambda stated: column(stated, "age").update(role="sensitive"),
        lambda stated: column(stated, "age").update(role="identifying"),
    ],
)
def test_a_manifest_that_the_files_do_not_bear_out_is_an_answer(bucketized, change):
    reseal(bucketized, change)
    found = shoal.verify(bucketized)
    assert found.status == "failed"
    assert found.problems


@pytest.mark.parametrize("content", [b"", b"PAR1", b"PAR1" + b"x" * 100 + b"PAR1", b"a,b\n1,2\n"])
def test_broken_parquet_is_an_answer(table, tmp_path, content):
    folder = shoal.anonymize(table, shoal.Mondrian(k=4)).write(tmp_path / "r", "parquet")
    (folder / "table.parquet").write_bytes(content)
    reseal(folder)
    assert shoal.verify(folder).status == "failed"


@pytest.mark.parametrize(
    "content", [b"", b"\xff\xfe", b"age\n", b'age,sex,note,disease\n"a', b"\0"]
)
def test_broken_csv_is_an_answer(generalized, content):
    (generalized / "table.csv").write_bytes(content)
    reseal(generalized)
    assert shoal.verify(generalized).status == "failed"


def test_a_release_without_rows_guarantees_nothing(bucketized):
    for name in ("quasi.csv", "sensitive.csv"):
        path = bucketized / name
        path.write_text(path.read_text().splitlines()[0] + "\n")
    reseal(bucketized, lambda stated: stated.update(rows=0, buckets=0))
    assert shoal.verify(bucketized).status == "failed"


def test_an_opened_release_is_checked_from_its_folder(generalized):
    opened = shoal.open_release(generalized)
    (generalized / "names.csv").write_text("who\n")
    assert shoal.verify(opened).problems == ("names.csv is not in the manifest",)


def test_an_internal_folder_that_is_not_there_is_the_callers_mistake(generalized):
    with pytest.raises(shoal.errors.DataError, match="no internal folder"):
        shoal.verify(generalized, internal=generalized.parent / "nowhere")


@pytest.mark.parametrize("is_sound", [True, False])
def test_a_verification_names_the_roles_that_it_took_from_the_manifest(generalized, is_sound):
    if not is_sound:
        (generalized / "codebook.md").unlink()
    found = shoal.verify(generalized)
    assert found.holds is is_sound
    assert found.roles == {
        Role.QUASI: ("age", "sex"),
        Role.SENSITIVE: ("disease",),
        Role.INSENSITIVE: ("note",),
    }
    assert found.to_dict()["roles"] == {
        "quasi-identifying": ["age", "sex"],
        "sensitive": ["disease"],
        "insensitive": ["note"],
    }
