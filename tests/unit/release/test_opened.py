"""A release written to disk: whole, private where it must be, and readable again."""

from __future__ import annotations

import gc
import json
import os
import stat
import subprocess
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

import pytest

import shoal
from shoal.release import seal


@pytest.fixture(scope="module")
def table() -> shoal.Table:
    return shoal.read(shoal.datasets.census(rows=600, seed=5))


@pytest.fixture(params=["bucketized", "generalized"])
def release(request: pytest.FixtureRequest, table: shoal.Table) -> shoal.Release:
    method = shoal.Mondrian(k=4, ell=3, publish=request.param)
    return shoal.anonymize(table, method)


def everything_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_written_release_is_verified_from_its_files(
    release: shoal.Release, tmp_path: Path, format: str
) -> None:
    folder = release.write(tmp_path / "release", format=format)
    assert shoal.verify(folder).status == "verified"
    opened = shoal.open_release(folder)
    stated = opened.manifest
    written = {"format": stated.format, "files": stated.files, "documents": stated.documents}
    assert stated == replace(release.manifest, **written, is_sealed=True)
    assert stated.format == format


def test_frames_of_an_opened_release_equal_those_before_it_was_written(
    release: shoal.Release, tmp_path: Path
) -> None:
    opened = shoal.open_release(release.write(tmp_path / "release", format="parquet"))
    for name in release.names:
        assert opened.to_arrow(name).equals(release.to_arrow(name))
        assert opened.to_pandas(name).equals(release.to_pandas(name))
        assert opened.to_polars(name).equals(release.to_polars(name))


def test_only_the_owner_can_read_the_internal_folder(
    release: shoal.Release, tmp_path: Path
) -> None:
    release.write(tmp_path / "release")
    internal = tmp_path / "release.internal"
    assert stat.S_IMODE(internal.stat().st_mode) == 0o700
    assert everything_in(internal) == ["placement.parquet", "record.json", "report.html"]


def test_no_secret_reaches_a_public_file(release: shoal.Release, tmp_path: Path) -> None:
    folder = release.write(tmp_path / "release")
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    for path in folder.rglob("*.*"):
        if path.is_file():
            assert record["secret"].encode() not in path.read_bytes()


def test_identifying_columns_and_keys_are_not_published(
    release: shoal.Release, tmp_path: Path, table: shoal.Table
) -> None:
    folder = release.write(tmp_path / "release")
    for path in folder.glob("*.csv"):
        header = path.read_text().splitlines()[0].split(",")
        assert not set(header) & set(table.schema.identifying)


def test_an_existing_release_is_only_replaced_on_request(
    release: shoal.Release, table: shoal.Table, tmp_path: Path
) -> None:
    folder = release.write(tmp_path / "release")
    before = (folder / "manifest.json").read_bytes()
    with pytest.raises(shoal.errors.ParameterError, match="already exists"):
        release.write(folder)
    assert (folder / "manifest.json").read_bytes() == before
    other = shoal.anonymize(table, shoal.Anatomy(ell=2))
    other.write(folder, replace=True)
    assert shoal.open_release(folder).manifest.method == "anatomy"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["release", "release.internal"]


def test_a_folder_that_is_no_release_is_never_replaced(
    release: shoal.Release, tmp_path: Path
) -> None:
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "sea.txt").write_text("blue")
    with pytest.raises(shoal.errors.ParameterError, match="not a release"):
        release.write(tmp_path / "photos", replace=True)
    assert (tmp_path / "photos" / "sea.txt").read_text() == "blue"


def test_a_failure_while_writing_leaves_nothing(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> str:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(seal, "public_documents", fail)
    with pytest.raises(shoal.errors.EngineError, match="Nothing was left behind"):
        release.write(tmp_path / "release")
    assert everything_in(tmp_path) == []


def test_a_failure_while_replacing_leaves_the_old_release(
    release: shoal.Release, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = release.write(tmp_path / "release")
    before = everything_in(tmp_path)

    def fail(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(seal, "sync", fail)
    with pytest.raises(KeyboardInterrupt):
        release.write(folder, replace=True)
    assert everything_in(tmp_path) == before
    assert shoal.verify(folder).status == "verified"


def test_a_path_that_cannot_be_written_is_an_engine_error(
    release: shoal.Release, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(shoal.errors.EngineError, match="cannot be written"):
        release.write(tmp_path / "file" / "release")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_read_only_folder_is_an_engine_error(release: shoal.Release, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(shoal.errors.EngineError, match="may write"):
            release.write(tmp_path / "release")
    finally:
        tmp_path.chmod(0o700)


def test_a_seeded_release_is_marked_and_sealed_only_with_an_accepted_risk(
    table: shoal.Table, tmp_path: Path
) -> None:
    release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=3)
    folder = release.write(tmp_path / "plain")
    manifest = shoal.open_release(folder).manifest
    assert manifest.is_test
    assert not manifest.is_sealed
    folder = release.write(tmp_path / "accepted", accept_risk="a teaching example")
    assert shoal.open_release(folder).manifest.is_sealed
    record = json.loads((tmp_path / "accepted.internal" / "record.json").read_text())
    assert record["accepted_risks"] == ["a teaching example"]


def test_the_same_seed_gives_the_same_bytes(table: shoal.Table, tmp_path: Path) -> None:
    for method in (shoal.Anatomy(ell=3), shoal.Mondrian(k=5, cuts="relaxed")):
        folders = [
            shoal.anonymize(table, method, seed=9).write(
                tmp_path / f"{type(method).__name__}{number}"
            )
            for number in range(2)
        ]
        for path in folders[0].rglob("*"):
            if path.is_file():
                other = folders[1] / path.relative_to(folders[0])
                assert path.read_bytes() == other.read_bytes()


def test_two_releases_of_one_table_do_not_disturb_each_other(table: shoal.Table) -> None:
    first = shoal.anonymize(table, shoal.Mondrian(k=2), seed=1)
    before = first.to_arrow("table")
    shoal.anonymize(table, shoal.Mondrian(k=50), seed=1)
    assert first.to_arrow("table").equals(before)


def test_placement_says_whose_line_is_whose(table: shoal.Table, tmp_path: Path) -> None:
    import pyarrow.parquet as parquet

    release = shoal.anonymize(table, shoal.Anatomy(ell=3))
    release.write(tmp_path / "release")
    placement = parquet.read_table(tmp_path / "release.internal" / "placement.parquet").to_pylist()
    quasi = release.to_arrow("quasi").to_pylist()
    people = shoal.datasets.census(rows=600, seed=5).to_dict()
    row_of = {key: row for row, key in enumerate(people["person_no"])}
    assert len(placement) == 600
    for entry in placement:
        line = quasi[entry["line"] - 1]
        row = row_of[entry["row_key"]]
        assert line["bucket"] == entry["bucket"]
        assert line["age"] == people["age"][row]
        assert line["postcode"] == people["postcode"][row]


def test_an_unknown_format_and_an_unknown_file_are_refused(
    release: shoal.Release, tmp_path: Path
) -> None:
    with pytest.raises(shoal.errors.ParameterError, match="csv or parquet"):
        release.write(tmp_path / "release", format="xlsx")
    with pytest.raises(shoal.errors.ParameterError, match="no file"):
        release.to_pandas("everything")


def test_an_opened_release_is_not_written_again(release: shoal.Release, tmp_path: Path) -> None:
    opened = shoal.open_release(release.write(tmp_path / "release"))
    with pytest.raises(shoal.errors.ParameterError, match="written already"):
        opened.write(tmp_path / "copy")


def test_a_folder_without_a_manifest_is_not_a_release(tmp_path: Path) -> None:
    with pytest.raises(shoal.errors.DataError, match="not a release"):
        shoal.open_release(tmp_path)


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        ("x" * 300, shoal.errors.ParameterError, "No folder can have the path"),
        ("x" * 250, shoal.errors.EngineError, "cannot be written"),
        ("a\0b", shoal.errors.ParameterError, "No folder can have the path"),
        ("a\ud800b", shoal.errors.ParameterError, "No folder can have the path"),
        ("/", shoal.errors.ParameterError, "root of a disk"),
        (None, shoal.errors.ParameterError, "not by a NoneType"),
        (5, shoal.errors.ParameterError, "not by a int"),
    ],
    ids=["long", "long with its suffix", "nul", "surrogate", "root", "none", "number"],
)
def test_a_place_that_no_release_can_have_is_refused(
    table: shoal.Table,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    path: object,
    error: type[Exception],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    release = shoal.anonymize(table, shoal.Anatomy(ell=2))
    with pytest.raises(error, match=said):
        release.write(path)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "path", [None, 5, "a\0b", "x" * 5000], ids=["none", "number", "nul", "long"]
)
def test_what_is_no_path_is_not_opened(path: object) -> None:
    for reader in (shoal.open_release, shoal.attack):
        with pytest.raises(shoal.errors.ParameterError, match="path"):
            reader(path)  # type: ignore[arg-type]


@pytest.mark.parametrize("path", ["a\0b", "x" * 5000], ids=["nul", "long"])
def test_what_is_no_path_is_not_verified(path: str) -> None:
    with pytest.raises(shoal.errors.ParameterError, match="path"):
        shoal.verify(path)


def test_the_schema_of_a_table_must_be_one() -> None:
    with pytest.raises(shoal.errors.SchemaError, match=r"must be a shoal\.Schema, not a dict"):
        shoal.read({"a": [1]}, {"quasi": ["a"]})  # type: ignore[arg-type]


_JOURNEY = """
import sys
import shoal

census = shoal.datasets.census(rows=300, seed=1)
release = shoal.anonymize(shoal.read(census, memory="200MB"), shoal.Mondrian(k=4, ell=2))
folder = release.write(sys.argv[1])
assert shoal.verify(folder).holds
shoal.attack(folder)
columns = {name: census.to_dict()[name] for name in census.schema.quasi}
shoal.attack(folder, people=columns)
opened = shoal.open_release(folder)
opened.to_arrow("table")
cycle = [opened]
cycle.append(cycle)
if sys.argv[2] == "fails":
    raise SystemError("on purpose")
"""


@pytest.mark.parametrize("ending", ["ends", "fails"])
def test_no_temporary_folder_outlives_the_process(tmp_path: Path, ending: str) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", _JOURNEY, str(tmp_path / "release"), ending],
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (1 if ending == "fails" else 0), done.stderr
    assert ("on purpose" in done.stderr) == (ending == "fails")
    assert everything_in(temporary) == []


def test_a_temporary_folder_goes_with_its_table_and_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    release = shoal.anonymize(
        shoal.read(shoal.datasets.papers.injector_patients()), shoal.Anatomy(ell=2)
    )
    folder = release.write(tmp_path / "release")
    assert shoal.verify(folder).holds
    opened = shoal.open_release(folder)
    assert opened.published.n_buckets == release.published.n_buckets
    assert len(list(temporary.iterdir())) >= 2
    del release, opened
    gc.collect()
    assert everything_in(temporary) == []


def test_no_attribute_of_a_release_can_be_assigned(release: shoal.Release) -> None:
    for name in ("manifest", "meanings", "files", "making", "folder", "findings"):
        with pytest.raises(AttributeError):
            setattr(release, name, None)


def test_attacking_measuring_and_writing_leave_a_release_as_it_is(
    release: shoal.Release, tmp_path: Path
) -> None:
    before = dict(vars(release))
    findings, measured = shoal.attack(release), shoal.measure(release, shoal.measures.Loss())
    folder = release.write(tmp_path / "release", findings=findings, measured=measured)
    assert vars(release) == before
    assert release.folder is None
    record = json.loads((tmp_path / "release.internal" / "record.json").read_text())
    assert set(record["attacks"]) == {found.attack for found in findings}
    assert set(record["measures"]) == {"loss"}
    assert shoal.open_release(folder).folder == folder


def test_completion_offers_what_users_need(release: shoal.Release) -> None:
    offered = [name for name in dir(release) if not name.startswith("_")]
    assert offered == [
        *("folder", "internal", "manifest", "meanings", "names", "published"),
        *("to_arrow", "to_pandas", "to_polars", "write"),
    ]


def test_the_only_file_needs_no_name(table: shoal.Table) -> None:
    generalized = shoal.anonymize(table, shoal.Mondrian(k=5))
    assert len(generalized.to_pandas()) == len(generalized.to_polars()) == 600
    assert generalized.to_arrow().num_rows == 600
    with pytest.raises(shoal.errors.ParameterError, match="several files"):
        shoal.anonymize(table, shoal.Anatomy(ell=2)).to_pandas()
