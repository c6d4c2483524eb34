"""Labels in Parquet: written above a size, read strictly, and verified like every other file."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from pathlib import Path

import duckdb
import pytest
from examples import scaled
from hypothesis import given, settings
from hypothesis import strategies as st
from tampering import reseal, restate, state, stated_in

import shoal
from shoal.core.errors import DataError, GuaranteeError
from shoal.core.guarantees import KAnonymity
from shoal.core.manifest import LABELS_IN_PARQUET, Manifest
from shoal.core.meaning import Meaning
from shoal.core.shapes import Shape
from shoal.engines.duckdb.engine import DuckDB
from shoal.release import labels, scanning
from shoal.release.labels import labels_text, read_meanings, version_for, write_labels

FILE = "labels.parquet"


@pytest.fixture(scope="module")
def engine():
    engine = DuckDB()
    yield engine
    engine.close()


def manifest_of(version: int = LABELS_IN_PARQUET) -> Manifest:
    return Manifest(
        shape=Shape.GENERALIZED,
        method="mondrian",
        parameters={},
        guarantees=(KAnonymity(k=2),),
        columns=(),
        n_rows=0,
        n_buckets=0,
        version=version,
    )


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
MEANINGS = st.dictionaries(
    TEXTS,
    st.dictionaries(
        TEXTS,
        st.one_of(
            st.builds(Meaning, st.tuples(TEXTS, TEXTS), has_missing=st.booleans()),
            st.builds(
                Meaning,
                st.none(),
                st.frozensets(TEXTS, max_size=3),
                st.booleans(),
                st.booleans(),
            ),
        ),
        min_size=1,
        max_size=4,
    ),
    min_size=1,
    max_size=3,
)


@settings(max_examples=60)
@given(meanings=MEANINGS)
def test_the_table_says_what_the_text_says(engine, tmp_path_factory, meanings):
    folder = tmp_path_factory.mktemp("labels")
    (folder / "labels.json").write_text(labels_text(meanings), encoding="utf-8", newline="")
    write_labels(engine, meanings, folder / FILE)
    for version in (LABELS_IN_PARQUET - 1, LABELS_IN_PARQUET):
        manifest = manifest_of(version)
        assert read_meanings(folder, manifest, engine, is_trusted=False) == meanings
    n_lines = len(duckdb.sql(f"SELECT * FROM '{folder / FILE}'").fetchall())
    assert (version_for(meanings) == LABELS_IN_PARQUET) == (n_lines > labels.MOST_IN_JSON)


def test_the_order_in_which_labels_were_made_leaves_no_trace(engine, tmp_path):
    held = {f"{n}-{n}": Meaning((str(n), str(n + 1))) for n in range(50)}
    held |= {"{a, b}": Meaning(members=frozenset("ab")), "*": Meaning(has_other=True)}
    shuffled = list(held.items())
    random.Random(0).shuffle(shuffled)
    write_labels(engine, {"x": held, "a": held}, tmp_path / "one")
    write_labels(engine, {"a": dict(shuffled), "x": held}, tmp_path / "other")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


def rows_of(path: Path) -> list[tuple[object, ...]]:
    return duckdb.sql(f"SELECT * FROM '{path}'").fetchall()


def write_query(path: Path, query: str, options: str = "") -> None:
    other = path.with_name("other")
    duckdb.sql(f"COPY ({query.format(given=path)}) TO '{other}' (FORMAT parquet{options})")
    other.replace(path)


LINES = [
    ("a", "1-2", "1", "3", None, False, False),
    ("a", "{x, y}", None, None, "x", False, True),
    ("a", "{x, y}", None, None, "y", False, True),
    ("b", "*", None, None, None, True, False),
]


def written(folder: Path, lines: list[tuple[object, ...]], casts: str = "*") -> None:
    connection = duckdb.connect()
    connection.execute(
        'CREATE TABLE t ("column" VARCHAR, label VARCHAR, low VARCHAR, high VARCHAR, '
        "member VARCHAR, other BOOLEAN, missing BOOLEAN)"
    )
    if lines:
        connection.executemany("INSERT INTO t VALUES (?, ?, ?, ?, ?, ?, ?)", lines)
    connection.execute(f"COPY (SELECT {casts} FROM t) TO '{folder / FILE}' (FORMAT parquet)")


def test_lines_that_follow_one_another_are_read(engine, tmp_path):
    written(tmp_path, LINES)
    assert read_meanings(tmp_path, manifest_of(), engine, is_trusted=False) == {
        "a": {
            "1-2": Meaning(("1", "3")),
            "{x, y}": Meaning(members=frozenset("xy"), has_missing=True),
        },
        "b": {"*": Meaning(has_other=True)},
    }


@pytest.mark.parametrize(
    ("lines", "casts"),
    [
        ([], "*"),
        (LINES[::-1], "*"),
        ([*LINES[:1], *LINES], "*"),
        ([LINES[0], LINES[2], LINES[1], LINES[3]], "*"),
        ([*LINES[:2], (*LINES[2][:5], True, True), LINES[3]], "*"),
        ([*LINES[:2], ("a", "{x, y}", None, None, None, False, True)], "*"),
        ([("a", "1-2", "1", None, None, False, False)], "*"),
        ([("a", "1-2", "1", "3", "x", False, False)], "*"),
        ([("a", "1-2", "1", "3", None, True, False)], "*"),
        ([(None, "1-2", "1", "3", None, False, False)], "*"),
        ([("a", None, "1", "3", None, False, False)], "*"),
        ([("a", "1-2", "1", "3", None, None, False)], "*"),
        ([("a", "1-2", "1", "3", None, False, None)], "*"),
        (LINES, "*, 1 AS remark"),
        (LINES, "* EXCLUDE member"),
        (LINES, "* REPLACE (other::INTEGER AS other)"),
        (LINES, "* REPLACE ([member] AS member)"),
        (LINES, 'label, "column", low, high, member, other, missing'),
    ],
)
def test_a_table_of_another_form_is_refused(engine, tmp_path, lines, casts):
    written(tmp_path, lines, casts)
    with pytest.raises(DataError, match=r"labels\.parquet cannot be read"):
        read_meanings(tmp_path, manifest_of(), engine, is_trusted=False)


# Releases ----------------------------------------------------------------------------------


def made(n_rows: int = 24) -> shoal.Release:
    columns = {
        "age": [20 + row for row in range(n_rows)],
        "town": [("Ulm", "Bonn", "Kiel", "Trier")[row % 4] for row in range(n_rows)],
        "ill": [("flu", "gout", "cold")[row % 3] for row in range(n_rows)],
    }
    schema = shoal.Schema(quasi=["age", "town"], sensitive="ill")
    return shoal.anonymize(shoal.read(columns, schema), shoal.Mondrian(k=3), seed=3)


@pytest.fixture
def few(monkeypatch):
    monkeypatch.setattr(labels, "MOST_IN_JSON", 3)


@pytest.fixture(params=["csv", "parquet"])
def sealed(request, few, tmp_path):
    return made().write(tmp_path / "release", request.param)


def test_a_release_with_labels_in_parquet_is_verified_and_says_where_they_are(sealed):
    found = shoal.verify(sealed, internal=f"{sealed}.internal")
    assert (found.status, found.problems, found.notes) == ("verified", (), ())
    assert stated_in(sealed)["format_version"] == LABELS_IN_PARQUET
    assert not (sealed / "labels.json").exists()
    for name in ("codebook.md", "codebook.xml", "report.html"):
        text = (sealed / name).read_text("utf-8")
        assert FILE in text
        assert "labels.json" not in text


def test_labels_in_parquet_mean_what_they_mean_in_memory(sealed):
    release = shoal.open_release(sealed)
    assert release.meanings == made().meanings
    report = shoal.attack(release, shoal.attacks.Homogeneity())
    assert report.to_dict() == shoal.attack(made(), shoal.attacks.Homogeneity()).to_dict()
    release.files.engine.close()


def test_a_release_of_more_labels_than_a_text_holds_needs_no_setting(tmp_path):
    n_rows = 3 * labels.MOST_IN_JSON + 300
    columns = {"id": list(range(n_rows)), "ill": ["flu", "gout", "none"] * (n_rows // 3)}
    table = shoal.read(columns, shoal.Schema(quasi=["id"], sensitive="ill"))
    folder = shoal.anonymize(table, shoal.Mondrian(k=2)).write(tmp_path / "release")
    n_lines = len(rows_of(folder / FILE))
    assert n_lines > labels.MOST_IN_JSON
    found = shoal.verify(folder)
    assert (found.status, found.problems, found.notes) == ("verified", (), ())
    said = f"These are the first 500 of {n_lines:,} labels; labels.parquet contains all of them."
    assert said in (folder / "codebook.md").read_text("utf-8")


def test_the_same_seed_writes_the_same_table(few, tmp_path):
    one, other = (made().write(tmp_path / name) for name in ("one", "other"))
    assert (one / FILE).read_bytes() == (other / FILE).read_bytes()


EDITS = {
    "another order": "SELECT * FROM '{given}' ORDER BY label DESC",
    "a label less": "SELECT * FROM '{given}' WHERE label <> (SELECT max(label) FROM '{given}')",
    "another interval": "SELECT * REPLACE (CASE WHEN low IS NULL THEN NULL ELSE '7' END AS low) "
    "FROM '{given}'",
    "a column more": "SELECT *, 'Anna' AS remark FROM '{given}'",
    "a label more": "SELECT * FROM '{given}' UNION ALL "
    "SELECT 'town', '~', NULL, NULL, 'Anna', false, false",
    "a column that is not recoded": "SELECT * FROM '{given}' UNION ALL "
    "SELECT 'zip', '~', NULL, NULL, 'Anna', false, false",
    "another type": "SELECT * REPLACE (CAST(other AS INTEGER) AS other) FROM '{given}'",
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("fit", [restate, reseal])
def test_edited_labels_are_found(sealed, edit, fit):
    write_query(sealed / FILE, EDITS[edit])
    fit(sealed)
    found = shoal.verify(sealed)
    assert found.status == "failed"
    assert "Anna" not in " ".join(found.problems)


def test_metadata_and_other_forms_of_the_table_are_found(sealed):
    path, query = sealed / FILE, "SELECT * FROM '{given}'"
    before = path.read_bytes()
    for options in (", KV_METADATA {a: 'Anna'}", ", COMPRESSION gzip", ", ROW_GROUP_SIZE 2048"):
        path.write_bytes(before)
        write_query(path, query, options)
        restate(sealed)
        if path.read_bytes() != before:
            assert shoal.verify(sealed).status == "failed"
    path.write_bytes(before)
    restate(sealed)
    assert shoal.verify(sealed).status == "verified"


def test_labels_in_the_other_file_are_found(few, tmp_path, monkeypatch):
    folder = made().write(tmp_path / "release")
    release = shoal.open_release(folder)
    (folder / "labels.json").write_text(labels_text(release.meanings), "utf-8", newline="")
    release.files.engine.close()
    both = shutil.copytree(folder, tmp_path / "both")
    restate(both, lambda stated: stated["files"].update({"labels.json": "0" * 64}))
    assert "labels.json is not a file that" in shoal.verify(both).problems[0]
    (folder / FILE).unlink()

    def as_text(stated):
        stated["format_version"] = LABELS_IN_PARQUET - 1
        files = {"labels.json": stated["files"].pop(FILE), **stated["files"]}
        stated["files"] = dict(sorted(files.items()))

    reseal(folder, as_text)
    assert shoal.verify(folder).problems == (
        "labels.json is not the form for as many labels as there are",
    )
    # It is the right form once a text may hold as many.
    monkeypatch.setattr(labels, "MOST_IN_JSON", 10_000)
    assert shoal.verify(folder).status == "verified"


def test_a_table_of_few_labels_is_found(sealed, monkeypatch):
    monkeypatch.setattr(labels, "MOST_IN_JSON", 10_000)
    assert shoal.verify(sealed).problems == (
        "labels.parquet is not the form for as many labels as there are",
    )


def test_a_version_without_its_labels_is_found(sealed):
    (sealed / FILE).unlink()
    restate(sealed, lambda stated: stated["files"].pop(FILE))
    assert shoal.verify(sealed).status == "failed"


def test_a_newer_version_is_not_read(sealed):
    stated = stated_in(sealed)
    stated["format_version"] = LABELS_IN_PARQUET + 1
    state(sealed, stated)
    with pytest.raises(DataError, match="format version"):
        shoal.verify(sealed)


def test_tables_with_changed_bytes_get_typed_answers(few, tmp_path):
    folder = made().write(tmp_path / "release")
    path, draw = folder / FILE, random.Random(5)
    before = path.read_bytes()
    for number in range(scaled(20)):
        changed = bytearray(before)
        for _ in range(1 + number % 3):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        if bytes(changed) == before:
            continue
        path.write_bytes(changed if number % 5 else before[: draw.randrange(len(before))])
        restate(folder)
        assert shoal.verify(folder).status in ("failed", "partly verified")


def test_a_leak_in_the_table_stops_the_release(few, tmp_path, monkeypatch):
    told = scanning.label_texts
    secret = "ab" * 32
    monkeypatch.setattr(scanning, "label_texts", lambda meanings: told(meanings) | {secret})
    with pytest.raises(GuaranteeError, match=r"labels\.parquet would hold a long hexadecimal"):
        made().write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_rare_value_among_the_members_stops_the_release(few, tmp_path, monkeypatch):
    told = scanning.label_texts
    columns = {
        "town": ["Rarehausen", *["Ulm", "Bonn", "Kiel"] * 8],
        "age": [20 + row for row in range(25)],
        "ill": ["flu", *["gout", "cold", "flu"] * 8],
    }
    schema = shoal.Schema(quasi=["town", "age"], sensitive="ill")
    release = shoal.anonymize(shoal.read(columns, schema), shoal.Mondrian(k=3))
    monkeypatch.setattr(scanning, "label_texts", lambda meanings: told(meanings) | {"Rarehausen"})
    with pytest.raises(GuaranteeError, match=r"labels\.parquet would hold a value that too few"):
        release.write(tmp_path / "release")


def test_replay_makes_the_same_table(few, tmp_path):
    source = tmp_path / "people.csv"
    lines = [f"{20 + row},{'ab'[row % 2]},{'xyz'[row % 3]}" for row in range(24)]
    source.write_text("\n".join(["age,sex,ill", *lines]) + "\n", encoding="utf-8")
    table = shoal.read(source, shoal.Schema(quasi=["age", "sex"], sensitive="ill"))
    folder = shoal.anonymize(table, shoal.Mondrian(k=3)).write(tmp_path / "release")
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text("utf-8"))
    assert record["format_version"] == LABELS_IN_PARQUET
    again = shoal.replay(tmp_path / "release.internal" / "record.json", to=tmp_path / "again")
    assert again.files[FILE] == "identical"
    digest = hashlib.sha256((folder / FILE).read_bytes()).hexdigest()
    assert stated_in(folder)["files"][FILE] == digest
