"""Whatever state a killed process leaves, the next one finds the old release, or none, or the new.

The folders of these tests hold one file that says which release they belong to.
"""

from __future__ import annotations

import gc
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import shoal
from shoal.core.errors import EngineError, ParameterError
from shoal.engines.private_directory import FileLock
from shoal.release.placing import claimed
from shoal.release.seal import seal

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks that die with a process")

MARK = "0123abcd"
NAMES = {
    "P": "release",
    "I": "release.internal",
    "NP": f".release.new-{MARK}",
    "NI": f".release.internal.new-{MARK}",
    "OP": f".release.old-{MARK}",
    "OI": f".release.internal.old-{MARK}",
}


def make(folder: Path, state: dict[str, str]) -> None:
    for place, which in state.items():
        path = folder / NAMES[place]
        path.mkdir()
        path.joinpath("manifest.json" if "P" in place else "record.json").write_text(which)


def look(folder: Path) -> dict[str, str]:
    places = {name: place for place, name in NAMES.items()}
    return {
        places.get(path.name, path.name): "".join(file.read_text() for file in path.iterdir())
        for path in folder.iterdir()
    }


REPLACING = [
    ({"P": "old", "I": "old"}, "old"),
    ({"P": "old", "I": "old", "NI": "new"}, "old"),
    ({"P": "old", "I": "old", "NI": "new", "NP": "new"}, "old"),
    ({"I": "old", "NI": "new", "NP": "new", "OP": "old"}, "old"),
    ({"NI": "new", "NP": "new", "OP": "old", "OI": "old"}, "old"),
    ({"I": "new", "NP": "new", "OP": "old", "OI": "old"}, "old"),
    ({"P": "new", "I": "new", "OP": "old", "OI": "old"}, "new"),
    ({"P": "new", "I": "new", "OI": "old"}, "new"),
]
FIRST = [
    ({"NI": "new"}, None),
    ({"NI": "new", "NP": "new"}, None),
    ({"I": "new", "NP": "new"}, None),
    ({"P": "new", "I": "new"}, "new"),
]


@pytest.mark.parametrize(("state", "expected"), [*REPLACING, *FIRST])
def test_every_state_is_recovered(tmp_path: Path, state, expected) -> None:
    make(tmp_path, state)
    with claimed(tmp_path / "release", replace=True):
        pass
    assert look(tmp_path) == ({} if expected is None else {"P": expected, "I": expected})


@pytest.mark.parametrize(("state", "expected"), [*REPLACING, *FIRST])
def test_a_recovery_that_is_cut_off_is_taken_up_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, state, expected
) -> None:
    class KilledError(BaseException):
        pass

    # What other tests left to be collected has directories to remove, which must not count here.
    gc.collect()
    gc.disable()
    request.addfinalizer(gc.enable)
    for n_calls in range(20):
        folder = tmp_path / str(n_calls)
        folder.mkdir()
        make(folder, state)
        left = n_calls

        def cut(function, *arguments, **options):
            nonlocal left
            left -= 1
            if left < 0:
                raise KilledError
            return function(*arguments, **options)

        with monkeypatch.context() as patched:
            for name in ("rename", "unlink", "rmdir"):
                function = getattr(os, name)
                patched.setattr(os, name, lambda *a, function=function, **o: cut(function, *a, **o))
            # A killed process removes nothing on its way out.
            patched.setattr(FileLock, "release", FileLock.close)
            try:
                with claimed(folder / "release", replace=True):
                    is_done = True
            except KilledError:
                is_done = False
        found = {place: which for place, which in look_at_folders(folder).items() if which}
        if "P" in found:
            assert found["P"] == found["I"] == expected
        with claimed(folder / "release", replace=True):
            pass
        assert look(folder) == ({} if expected is None else {"P": expected, "I": expected})
        if is_done:
            return
    pytest.fail("it never came to its end")


def look_at_folders(folder: Path) -> dict[str, str]:
    for lock in folder.glob(".*.lock"):
        lock.unlink()
    return look(folder)


@pytest.mark.parametrize(
    "state",
    [
        {"I": "other", "OP": "old", "OI": "old"},
        {"OP": "old"},
        {"P": "other", "I": "old", "NI": "new", "NP": "new", "OP": "old"},
        {"I": "other", "NI": "new", "NP": "new", "OP": "old", "OI": "old"},
    ],
)
def test_what_somebody_changed_meanwhile_is_left_for_them(tmp_path: Path, state) -> None:
    make(tmp_path, state)
    with pytest.raises(EngineError, match="cut off"), claimed(tmp_path / "release", replace=True):
        pass
    assert {"OP", "OI"} & set(look(tmp_path))
    assert sorted(look(tmp_path).values()) == sorted(state.values())


def test_an_internal_folder_of_a_release_that_was_moved_away_is_kept(tmp_path: Path) -> None:
    make(tmp_path, {"I": "shipped", "NI": "new"})
    refused = pytest.raises(ParameterError, match="already exists")
    with refused, claimed(tmp_path / "release", replace=False):
        pass
    assert look(tmp_path) == {"I": "shipped"}


def test_other_releases_are_left_alone(tmp_path: Path) -> None:
    names = [".release2.new-0123abcd", ".release.new-notes", "xrelease.new-0123abcd", ".other.lock"]
    for name in names:
        (tmp_path / name).mkdir()
    with claimed(tmp_path / "release", replace=True):
        pass
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(names)


@pytest.mark.parametrize("name", ["a[b]*?", "a b", "ä", "a.internal.b", "-x", "a'b"])
def test_names_are_taken_as_they_are(tmp_path: Path, name: str) -> None:
    (tmp_path / f".{name}.new-{MARK}").mkdir()
    (tmp_path / f".{name}.internal.new-{MARK}").mkdir()
    with claimed(tmp_path / name, replace=True):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_second_writer_is_refused_at_once(tmp_path: Path) -> None:
    with claimed(tmp_path / "release", replace=True):
        refused = pytest.raises(EngineError, match=r"Another process is writing .*\n\nHint: wait")
        with refused, claimed(tmp_path / "release", replace=True):
            pass
        with claimed(tmp_path / "other", replace=True):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_killed_writer_does_not_keep_others_out(tmp_path: Path) -> None:
    script = (
        "import os, sys, pathlib\n"
        "from shoal.release.placing import claimed\n"
        "with claimed(pathlib.Path(sys.argv[1]), replace=True) as place:\n"
        "    with place.new_folders():\n"
        "        os.kill(os.getpid(), 9)\n"
    )
    place = tmp_path / "release"
    done = subprocess.run([sys.executable, "-c", script, place], check=False)
    assert done.returncode == -9
    assert len(list(tmp_path.iterdir())) == 3
    with claimed(place, replace=False):
        pass
    assert list(tmp_path.iterdir()) == []


def test_folders_on_the_way_are_made_and_removed_again(tmp_path: Path) -> None:
    with claimed(tmp_path / "a" / "b" / "release", replace=False):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["release.internal", ".internal"])
def test_a_release_is_not_named_like_an_internal_folder(tmp_path: Path, name: str) -> None:
    refused = pytest.raises(ParameterError, match="cannot end in")
    with refused, claimed(tmp_path / name, replace=False):
        pass


@pytest.mark.parametrize("is_made_again", [False, True])
def test_a_folder_that_vanishes_is_an_engine_error(tmp_path: Path, is_made_again: bool) -> None:
    table = shoal.read(shoal.datasets.papers.injector_patients())
    release = shoal.anonymize(table, shoal.Anatomy(ell=2))
    parent = tmp_path / "parent"
    with claimed(parent / "release", replace=False) as place:
        shutil.rmtree(parent)
        if is_made_again:
            # Another process may hold the place by now.
            parent.mkdir()
        with pytest.raises(EngineError, match=r"cannot be written[^$]*removed meanwhile"):
            seal(release, place, "csv")
    assert list(tmp_path.iterdir()) == []


def test_a_signal_amid_the_cleaning_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(tmp_path, {"P": "old", "I": "old"})
    rmtree, n_calls = shutil.rmtree, 0

    def interrupted(*arguments: object, **options: object) -> None:
        nonlocal n_calls
        n_calls += 1
        if n_calls == 1:
            raise KeyboardInterrupt
        rmtree(*arguments, **options)

    def replace() -> None:
        with claimed(tmp_path / "release", replace=True) as place, place.new_folders() as folders:
            for folder, name in zip(folders, ("manifest.json", "record.json"), strict=True):
                (folder / name).write_text("new")
            place.move_in()

    monkeypatch.setattr(shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        replace()
    assert look(tmp_path) == {"P": "new", "I": "new"}
