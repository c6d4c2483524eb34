"""The same table and the same record give the same public bytes, and nothing else is left."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import shoal
from shoal.core import registry
from shoal.core.errors import DataError, EngineError, ParameterError, ShoalError
from shoal.core.shapes import Shape
from shoal.knowledge import Knowledge, NegativeRule
from shoal.release import record as records
from shoal.workflow.config import configure
from shoal.workflow.publish import produce, publish
from shoal.workflow.replay import ReplayError, method_of

METHODS = [registry.find("shoal.methods", name) for name in registry.names("shoal.methods")]
MARKER = "ÄRZTE中"
CONDITIONS = ("asthma", "flu", f"{MARKER}, “x”", "gout", 'say "ah"', "cold")


def columns(n_rows: int = 240) -> dict[str, list[object]]:
    """Make a table with missing values, hard texts and a column that is a real number."""
    draw = np.random.default_rng(7)
    table: dict[str, list[object]] = {
        "person_no": [f"P{number:04d}" for number in draw.permutation(n_rows)],
        "age": [None if age > 88 else int(age) for age in draw.integers(18, 91, n_rows)],
        "sex": [("F", "M", "", "ö\nü")[code] for code in draw.integers(0, 4, n_rows)],
        "postcode": [f"{code:05d}" for code in draw.integers(100, 130, n_rows)],
        "wave": [(0.5, 1e-7, 3.0, None)[code] for code in draw.integers(0, 4, n_rows)],
        "condition": [CONDITIONS[code] for code in draw.integers(0, len(CONDITIONS), n_rows)],
    }
    both = zip(table["sex"], table["condition"], strict=True)
    table["condition"] = ["cold" if pair == ("F", "flu") else pair[1] for pair in both]
    return table


def write_csv(path: Path, table: dict[str, list[object]]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write the table as CSV and as Parquet."""
    folder = tmp_path_factory.mktemp("tables")
    parquet.write_table(pa.table(columns()), folder / "people.parquet")
    write_csv(folder / "people.csv", columns())
    return folder


def schema_for(method: shoal.methods.Method, key: str | None = None) -> shoal.Schema:
    """Give a schema that a method takes: some look at all that is published."""
    sees_all = method.private_cells is not None or method.shape is Shape.SLICED
    return shoal.Schema(
        identifying=[] if key else ["person_no"],
        quasi=["age", "sex", "postcode", *(["wave"] if sees_all else [])],
        insensitive=[] if sees_all else ["wave"],
        meant=[] if sees_all else ["wave"],
        sensitive="condition",
        key=key,
        hierarchies={
            "age": shoal.Hierarchy.intervals([0, 30, 45, 60], merge=2),
            "postcode": shoal.Hierarchy.prefixes([4, 3]),
            "sex": shoal.Hierarchy.from_rows(
                [["F", "known"], ["M", "known"], ["", "?"], ["ö\nü", "?"], [None, "?"]]
            ),
        },
        types={"postcode": "categorical", "wave": ["0.5", "1e-7", "1e-07", "3.0"]}
        if sees_all
        else {"postcode": "categorical"},
    )


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def assert_replayed(folder: Path, **options: object) -> shoal.workflow.replay.Replay:
    """Replay a release, and compare every public file by its bytes."""
    made = shoal.replay(folder.with_name(f"{folder.name}.internal"), **options)
    assert bytes_of(made.folder) == bytes_of(folder)
    assert set(made.files.values()) == {"identical"}
    assert made.sealed == made.files
    return made


# --- every method -----------------------------------------------------------------------------

KNOWN = Knowledge("condition", [NegativeRule(antecedent={"sex": "F"}, value="flu", why="“ö”")])
CHOSEN = [
    *(cls(**cls.example) for cls in METHODS),
    shoal.Mondrian(k=3, t="0.6"),
    shoal.Mondrian(ell="3/2", diversity="entropy", belief_gain="0.7", cuts="relaxed"),
    shoal.Anatomy(ell=2, draw="ring", protect=["flu", "gout"]),
    shoal.Slicing(ell=2, columns=[["age", "sex"], ["postcode", "wave"], ["condition"]]),
    shoal.Injector(ell=2, rules=KNOWN, mine=False),
    *(
        shoal.RuleHiding(
            private=["condition where age > 60", "sex where postcode = '00101'"],
            gamma=4,
            mode=mode,
            discretise={"age": {"width": 10, "show": "interval"}},
            max_work=10**9,
        )
        for mode in ("public", "paper", "oblivious")
    ),
]


@pytest.mark.parametrize("method", CHOSEN, ids=lambda one: type(one).__name__)
def test_every_method_gives_the_same_bytes_again(files, tmp_path, method):
    for source, ending, key in (("csv", "parquet", None), ("parquet", "csv", "person_no")):
        table = shoal.read(files / f"people.{source}", schema_for(method, key))
        folder = shoal.anonymize(table, method).write(tmp_path / source, ending)
        table.engine.close()
        assert assert_replayed(folder).warnings == ()
        _, record = records.read_record(folder.with_name(f"{source}.internal"))
        assert record.replay.columns.schema_of() == table.schema
        if method.private_cells is None:
            again = method_of(record.replay.method)
            assert again.parameters() == method.parameters()
            assert not isinstance(method, shoal.Injector) or written(again) == written(method)


def written(method: shoal.Injector) -> str | None:
    return None if method.rules is None else method.rules.to_toml()


def test_a_replay_can_be_replayed_and_verified(sealed):
    made = assert_replayed(sealed[0])
    assert shoal.verify(made.folder, internal=made.internal).status == "verified"
    assert_replayed(made.folder)


@pytest.mark.parametrize(
    "asked",
    [
        {"belief_gain": "0.45", "bandwidth": 0.5},
        {"foreground": {"r": "3/2", "epsilon": 0.3, "value": ["flu"]}},
        {"foreground": {"r": "5/4", "epsilon": 0.3}},
    ],
    ids=["belief gain", "foreground", "foreground of every value"],
)
def test_repairs_are_done_again(tmp_path, asked):
    method = shoal.Anatomy(ell=3)
    source = write_csv(tmp_path / "few.csv", columns(60))
    # Which rows share a bucket decides whether a repair leaves several.
    release = shoal.anonymize(shoal.read(source, schema_for(method)), method, seed=1)
    folder = shoal.repair(release, **asked).write(tmp_path / "release")
    assert_replayed(folder)


@pytest.mark.parametrize(
    "private",
    [
        lambda _: {"column": "sex", "python": lambda row: row["age"] == 40},
        lambda table: np.array([[False, False, n % 9 == 0, False, False, False] for n in
                                range(len(table["age"]))]),
        lambda _: [(3, "age"), (7, "condition")],
    ],
    ids=["function", "mask", "list"],
)  # fmt: skip
def test_private_cells_are_those_that_were_meant_however_they_were_given(files, tmp_path, private):
    method = shoal.RuleHiding(private=private(columns()), gamma=3)
    table = shoal.read(files / "people.parquet", schema_for(method))
    folder = shoal.anonymize(table, method).write(tmp_path / "release")
    assert_replayed(folder)
    witness = tmp_path / "release.internal" / "private.parquet"
    content = witness.read_bytes()
    for change in (lambda: witness.write_bytes(content + b" "), witness.unlink):
        change()
        with pytest.raises(DataError, match=r"private\.parquet"):
            shoal.replay(tmp_path / "release.internal", to=tmp_path / "other")


# --- what is published by a configuration -----------------------------------------------------


@pytest.fixture
def configured(tmp_path, files):
    """Configure the table, in a folder of its own; sections given replace those of the default."""
    shutil.copy(files / "people.csv", tmp_path)

    def configuration(**sections):
        given = {
            "table": {"source": "people.csv"},
            "columns": {
                "identifying": ["person_no"],
                "quasi": ["age", "sex", "postcode"],
                "sensitive": "condition",
                "insensitive": "wave",
                "meant": ["wave"],
            },
            "method": {"name": "anatomy", "ell": 2},
        }
        return configure({**given, **sections}, base=tmp_path)

    return configuration


def test_what_attacks_and_measures_found_changes_no_byte(configured, tmp_path):
    (tmp_path / "postcode.csv").write_text(
        "".join(f"{code:05d};{str(code)[0]};*\n" for code in range(100, 130))
    )
    published = publish(
        configured(
            hierarchies={"postcode": "postcode.csv", "age": {"width": 5}},
            method={"name": "mondrian", "k": 3, "ell": 2},
            attacks={"homogeneity": {"max_people": 1000, "limit": "1/2"}, "linkage": {}},
            measures={"loss": {}},
        )
    )
    # What the configuration named is on record itself.
    (tmp_path / "postcode.csv").unlink()
    made = assert_replayed(published.folder)
    found = json.loads((made.internal / "record.json").read_text())
    assert found["replayed_from"] == "release"
    assert found["configuration"]["method"]["k"] == 3


def test_a_test_release_needs_no_risk_to_be_accepted_again(configured):
    produced = produce(configured(release={"seed": 5}))
    assert not assert_replayed(produced.folder).manifest.is_sealed
    sealed = publish(
        configured(release={"seed": 5, "folder": "sealed"}), accept_risk="it is a drill"
    )
    made = assert_replayed(sealed.folder)
    assert made.manifest.is_sealed
    assert made.manifest.is_test
    record = json.loads((made.internal / "record.json").read_text())
    assert record["accepted_risks"] == ["it is a drill (made from a seed)"]


def test_publishing_again_is_warned_of_and_a_replay_is_offered(configured, tmp_path):
    first = publish(configured())
    shoal.replay(first.internal)
    again = publish(configured(release={"folder": "again"}))
    # The replay is no view of its own.
    (warning,) = [text for text in again.warnings if "same table" in text]
    assert "shoal replay release.internal" in warning
    shutil.rmtree(first.internal)
    digest = shoal.read(tmp_path / "people.csv", shoal.Schema(quasi=list(columns()))).scan
    assert records.earlier_releases(tmp_path / "new", digest) == ("again", "release-replayed")


# --- the table --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def original(files, tmp_path_factory):
    method = shoal.Anatomy(ell=2)
    table = shoal.read(files / "people.csv", schema_for(method))
    folder = tmp_path_factory.mktemp("original")
    shoal.anonymize(table, method).write(folder / "release")
    table.engine.close()
    return files / "people.csv", folder


@pytest.fixture
def sealed(tmp_path, original):
    """Give the folder of a small release that is sealed, and its table beside it."""
    source, folder = original
    shutil.copytree(folder, tmp_path, dirs_exist_ok=True)
    copy = Path(shutil.copy(source, tmp_path))
    record = tmp_path / "release.internal" / "record.json"
    stated = json.loads(record.read_text(encoding="utf-8"))
    assert stated["replay"]["table"]["address"] == str(source)
    stated["replay"]["table"]["address"] = str(copy)
    record.write_text(json.dumps(stated), encoding="utf-8")
    return tmp_path / "release", copy


def left(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_changed_table_is_refused_without_a_value(sealed, tmp_path):
    _, source = sealed
    before = left(tmp_path)
    text = source.read_text(encoding="utf-8")
    for other in (text.replace("flu", MARKER, 1), text + "x", "a,b\n1,2\n"):
        source.write_text(other, encoding="utf-8")
        with pytest.raises(DataError, match="hash") as caught:
            shoal.replay(tmp_path / "release.internal" / "record.json")
        assert "--source" in str(caught.value)
        assert not any(value in str(caught.value) for value in CONDITIONS)
        assert left(tmp_path) == before


def test_a_table_that_moved_is_named(sealed, tmp_path):
    folder, source = sealed
    moved = source.rename(tmp_path / "moved.csv")
    with pytest.raises(EngineError, match="not where it was"):
        shoal.replay(tmp_path / "release.internal")
    assert_replayed(folder, source=moved)


def test_options_and_limits_of_reading_are_on_record(tmp_path):
    path = tmp_path / "people.txt"
    path.write_text("age|sick\n" + "20|a\n21|'b'\n" * 9 + f"22|{'c' * 200}\n23|ö\n", "latin-1")
    schema = shoal.Schema(quasi=["age"], sensitive="sick")
    options = {"delimiter": "|", "quote": "'", "encoding": "latin-1"}
    table = shoal.read(path, schema, limits=shoal.config.Limits(max_line=250), **options)
    folder = shoal.anonymize(table, shoal.Anatomy(ell=2)).write(tmp_path / "release")
    _, record = records.read_record(tmp_path / "release.internal")
    assert record.replay.table.options == options
    assert record.replay.table.allowed.max_line == 250
    assert_replayed(folder)


def test_a_frame_is_given_again_and_known_by_its_content(tmp_path, files):
    method, content = shoal.Anatomy(ell=2), columns()
    table = shoal.read(content, schema_for(method))
    folder = shoal.anonymize(table, method).write(tmp_path / "release")
    with pytest.raises(ParameterError, match="in memory"):
        shoal.replay(tmp_path / "release.internal")
    assert_replayed(folder, source=content)
    assert_replayed(folder, source=pa.table(content), to=tmp_path / "arrow")
    assert_replayed(folder, source=files / "people.parquet", to=tmp_path / "file")
    wrong = {
        "another value": content | {"sex": ["F", *content["sex"][1:]]},
        "no missing value": content | {"wave": [3.0, *content["wave"][1:]]},
        "another type": content | {"wave": [str(wave) for wave in content["wave"]]},
        "another order": {name: values[::-1] for name, values in content.items()},
        "fewer rows": {name: values[1:] for name, values in content.items()},
        "texts": files / "people.csv",
    }
    assert (content["sex"][0] == "F", content["wave"][0]) == (False, None)
    for source in wrong.values():
        with pytest.raises(DataError, match="not the one"):
            shoal.replay(tmp_path / "release.internal", source=source, to=tmp_path / "wrong")
    assert not (tmp_path / "wrong").exists()


def test_a_release_of_a_file_is_not_made_of_a_frame(sealed, tmp_path):
    with pytest.raises(DataError, match="of a file"):
        shoal.replay(tmp_path / "release.internal", source=columns())


def test_a_folder_of_parquet_files_is_known_by_its_content(tmp_path):
    method, content = shoal.Mondrian(k=4), pa.table(columns())
    folder = tmp_path / "people"
    folder.mkdir()
    for number in range(2):
        part = content.slice(120 * number, 120)
        parquet.write_table(part, folder / f"part{number}.parquet")
    table = shoal.read(folder, schema_for(method))
    assert_replayed(shoal.anonymize(table, method).write(tmp_path / "release"))
    parquet.write_table(part.slice(1), folder / "part1.parquet")
    with pytest.raises(DataError, match="number of rows"):
        shoal.replay(tmp_path / "release.internal", to=tmp_path / "other")


# --- where it is written ----------------------------------------------------------------------


def test_nothing_is_ever_replaced(sealed, tmp_path):
    folder, _ = sealed
    before = bytes_of(tmp_path)
    for taken in (folder, tmp_path / "release.internal"):
        with pytest.raises(ParameterError):
            shoal.replay(tmp_path / "release.internal", to=taken)
    (tmp_path / "release-replayed").mkdir()
    with pytest.raises(ParameterError, match="replaces nothing"):
        shoal.replay(tmp_path / "release.internal")
    assert bytes_of(tmp_path) == before


def test_what_a_killed_replay_left_is_cleared(sealed, tmp_path):
    # Its internal folder was in place already, the public one was not.
    for name in ("release-replayed.internal", ".release-replayed.new-0123abcd"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "record.json").write_text("{")
    before = left(tmp_path) - {".release-replayed.new-0123abcd"}
    assert_replayed(sealed[0])
    assert left(tmp_path) == before | {"release-replayed"}


def test_a_record_alone_does_not_say_where_to(sealed, tmp_path):
    copy = tmp_path / "papers"
    copy.mkdir()
    shutil.copy(tmp_path / "release.internal" / "record.json", copy)
    with pytest.raises(ParameterError, match="what its release is called"):
        shoal.replay(copy / "record.json")
    made = shoal.replay(copy / "record.json", to=tmp_path / "again")
    assert made.sealed is None
    assert bytes_of(made.folder) == bytes_of(sealed[0])


def test_a_sealed_folder_that_was_changed_is_told(sealed, tmp_path):
    folder, _ = sealed
    original = bytes_of(folder)
    (folder / "quasi.csv").write_text("bucket\n")
    (folder / "codebook.md").unlink()
    (folder / "notes.txt").write_text("mine")
    made = shoal.replay(tmp_path / "release.internal")
    assert not made.is_sealed_unchanged
    changed = {name: state for name, state in made.sealed.items() if state != "identical"}
    assert changed == {"quasi.csv": "different", "codebook.md": "missing", "notes.txt": "added"}
    assert bytes_of(made.folder) == original
    shutil.rmtree(folder)
    made = shoal.replay(tmp_path / "release.internal", to=tmp_path / "third")
    assert (made.sealed, bytes_of(made.folder)) == (None, original)


def test_what_comes_out_otherwise_is_not_left(sealed, tmp_path, monkeypatch):
    from shoal.release import documents

    before = left(tmp_path)
    written = documents.codebook
    monkeypatch.setattr(documents, "codebook", lambda *given: written(*given) + "\n")
    with pytest.raises(ReplayError) as caught:
        shoal.replay(tmp_path / "release.internal")
    others = {name for name, state in caught.value.files.items() if state == "different"}
    # The manifest states the hash of the codebook.
    assert others == {"codebook.md", "manifest.json"}
    assert caught.value.exit_code == 7
    assert left(tmp_path) == before


def test_of_an_older_record_it_is_said_which_files_differ_and_why(sealed, tmp_path):
    path = tmp_path / "release.internal" / "record.json"
    stated = json.loads(path.read_text())
    stated["format_version"] = 1
    for name in ("manifest.json", "codebook.md"):
        stated["replay"]["files"][name] = "0" * 64
    path.write_text(json.dumps(stated))
    before = left(tmp_path)
    with pytest.raises(ReplayError) as caught:
        shoal.replay(path)
    told = str(caught.value)
    assert "2 of" in told
    assert "(codebook.md, manifest.json)" in told
    assert "The release has format 1, and this Shoal writes format 2" in told
    assert left(tmp_path) == before


def test_documents_of_another_version_are_said_to_differ_for_that_reason(sealed, tmp_path):
    path = tmp_path / "release.internal" / "record.json"
    stated = json.loads(path.read_text())
    del stated["replay"]["documents"]
    stated["replay"]["files"]["codebook.md"] = "0" * 64
    path.write_text(json.dumps(stated))
    with pytest.raises(ReplayError) as caught:
        shoal.replay(path)
    told = str(caught.value)
    assert "Version 1 of the documents was sealed, and this Shoal writes version 4" in told
    assert "replay with the versions" in told


def test_other_versions_are_warned_of_and_the_bytes_decide(sealed, tmp_path, monkeypatch):
    path = tmp_path / "release.internal" / "record.json"
    stated = json.loads(path.read_text())
    stated["replay"]["versions"]["numpy"] = "1.0"
    path.write_text(json.dumps(stated))
    made = assert_replayed(sealed[0])
    (warning,) = made.warnings
    assert "made with numpy 1.0" in warning


def test_nothing_secret_and_no_path_is_public(sealed, tmp_path):
    made = assert_replayed(sealed[0])
    secret = json.loads((tmp_path / "release.internal" / "record.json").read_text())["secret"]
    for content in bytes_of(made.folder).values():
        assert secret.encode() not in content
        assert str(tmp_path).encode() not in content
    assert secret not in repr(records.read_record(made.internal))
    assert made.internal.stat().st_mode & 0o077 == 0


# --- records that nobody should have changed --------------------------------------------------


def set_in(stated: dict, path: str, value: object) -> None:
    *names, last = path.split(".")
    for name in names:
        stated = stated[name]
    stated[last] = value


CHANGES = {
    "secret": ["", "zz" * 32, "00", 7, None],
    "test": ["no", 1],
    "versions": [[], {"shoal": 3}],
    "accepted_risks": ["x", [7]],
    "replay": [7, [], {}, {"version": 1}, {"version": 2}, {"version": True}, "x"],
    "replay.more": [1],
    "replay.format": ["xlsx", None],
    "replay.files": [{}, {"quasi.csv": "x"}, {"../../x": "0" * 64}, 7],
    "replay.method.name": ["no_such_method", "__init__", "", 7],
    "replay.method.parameters": [{}, {"ell": 0}, {"ell": [2]}, {"swim": 1}, 7],
    "replay.method.knowledge": [{"rules": "x"}, {"ell": "[[negative]]\n"}, 7],
    "replay.method.private": ["0" * 64],
    "replay.repairs": [[{"belief_gain": "x"}], [{"foreground": {"fish": 1}}], [{}], [{"x": 1}]],
    "replay.columns.quasi": [["age"], ["no column"], [7], "age"],
    "replay.columns.types": [{"age": "colour"}, {"age": 7}],
    "replay.columns.hierarchies": [{"age": {"swim": 1}}, {"age": {"width": "x"}}, {"age": 7}],
    "replay.table.sha256": ["0" * 64, "x"],
    "replay.table.rows": [7, "many"],
    "replay.table.address": ["/nowhere", "people\0.csv", "swim://x", "/" * 9000, "/dev/null", 7],
    "replay.table.engine": ["access", None],
    "replay.table.options": [{"swim": "1"}, {"delimiter": "ab"}, {"table": "people"}],
    "replay.table.limits": [{"max_columns": 0}, {"max_columns": 2}, {"more": 1}],
}


@pytest.mark.parametrize("path", CHANGES)
def test_changed_records_are_refused(sealed, tmp_path, path):
    file = tmp_path / "release.internal" / "record.json"
    text = file.read_text(encoding="utf-8")
    before = left(tmp_path)
    for value in CHANGES[path]:
        stated = json.loads(text)
        set_in(stated, path, value)
        file.write_text(json.dumps(stated), encoding="utf-8")
        with pytest.raises(ShoalError) as caught:
            shoal.replay(file)
        assert caught.value.exit_code in (3, 4, 5, 7, 8)
        assert stated["secret"] in ("", None, 7) or str(stated["secret"]) not in str(caught.value)
        assert left(tmp_path) == before


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "7", "[" * 100_000, '{"replay": ' + "9" * 5000 + "}", "\udcff", "{}"]
)
def test_what_is_no_record_is_refused(sealed, tmp_path, text):
    file = tmp_path / "release.internal" / "record.json"
    file.write_bytes(text.encode(errors="surrogateescape"))
    with pytest.raises(DataError, match=r"record\.json"):
        shoal.replay(file)


def test_an_older_record_says_why_it_is_not_enough(sealed, tmp_path):
    file = tmp_path / "release.internal" / "record.json"
    stated = json.loads(file.read_text())
    del stated["replay"]
    file.write_text(json.dumps(stated))
    with pytest.raises(DataError, match="before Shoal could replay"):
        shoal.replay(file)
    assert shoal.verify(sealed[0]).holds


@pytest.mark.parametrize("given", [7, None, "nowhere", "nowhere/record.json", "a\0b"])
def test_what_is_no_path_of_a_record_is_refused(given):
    with pytest.raises(ShoalError):
        shoal.replay(given)
