"""A spill directory is locked, and does not outlive its process, even one that was killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

from shoal.core.errors import EngineError
from shoal.engines import private_directory
from shoal.engines.private_directory import FileLock, PrivateDirectory

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs locks that die with a process")


def test_a_second_taker_gets_none_until_the_first_lets_go(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = FileLock.take(path)
    assert first is not None
    assert first.is_exclusive
    assert FileLock.take(path) is None
    first.release()
    first.release()
    assert not path.exists()
    again = FileLock.take(path)
    assert again is not None
    again.release()


def test_a_lock_whose_file_was_removed_knows_it(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    first = FileLock.take(path)
    assert first is not None
    path.unlink()
    assert not first.is_in_place
    second = FileLock.take(path)
    assert second is not None
    first.release()
    assert second.is_in_place
    second.release()


def test_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("")
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="lock"):
        FileLock.take(tmp_path / "lock")


def test_only_one_holds_it_at_a_time(tmp_path: Path) -> None:
    holders: list[int] = []
    most = 0

    def work() -> None:
        nonlocal most
        for _ in range(200):
            lock = FileLock.take(tmp_path / "lock")
            if lock is not None:
                holders.append(1)
                most = max(most, len(holders))
                holders.pop()
                lock.release()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert list(tmp_path.iterdir()) == []


LOCK = ".shoal-lock"
HOLD = """
import sys
from shoal.engines.private_directory import PrivateDirectory
directory = PrivateDirectory()
(directory.path / "spill").mkdir()
(directory.path / "spill" / "rows").write_text("rows")
print(directory.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    private_directory._swept.clear()
    return tmp_path


@pytest.fixture
def holder(temporary: Path):
    """Start processes that hold a directory each; end those that are left."""
    started = []

    def start() -> tuple[subprocess.Popen[str], Path]:
        process = subprocess.Popen(
            [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process, Path(process.stdout.readline().strip())

    yield start
    for process in started:
        process.kill()
        process.communicate()


def stale(path: Path) -> Path:
    """Make what a killed process leaves."""
    path.mkdir(mode=0o700)
    (path / LOCK).touch()
    (path / "spill").mkdir()
    (path / "spill" / "rows").write_text("rows")
    return path


def test_only_the_owner_can_read_it(temporary: Path) -> None:
    directory = PrivateDirectory()
    assert stat.S_IMODE(directory.path.stat().st_mode) == 0o700
    assert directory.path.parent == temporary
    directory.remove()
    directory.remove()
    assert list(temporary.iterdir()) == []


def test_it_goes_with_the_object_that_holds_it(temporary: Path) -> None:
    directory = PrivateDirectory()
    (directory.path / "rows").write_text("rows")
    del directory
    assert list(temporary.iterdir()) == []


def test_a_process_that_ends_removes_it(holder, temporary: Path) -> None:
    process, path = holder()
    assert path.is_dir()
    process.communicate("")
    assert list(temporary.iterdir()) == []


def test_the_next_process_removes_that_of_a_killed_one_and_no_other(
    holder, temporary: Path
) -> None:
    killed, left_behind = holder()
    alive, in_use = holder()
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    assert (left_behind / "spill" / "rows").exists()
    directory = PrivateDirectory()
    assert not left_behind.exists()
    assert (in_use / "spill" / "rows").exists()
    alive.communicate("")
    directory.remove()
    assert list(temporary.iterdir()) == []


def test_its_own_directories_are_left_alone_when_a_process_looks_again(temporary: Path) -> None:
    first = PrivateDirectory()
    private_directory._swept.clear()
    second = PrivateDirectory()
    assert first.path.is_dir()
    for directory in (first, second):
        directory.remove()


def test_a_removal_that_was_cut_off_is_finished(temporary: Path) -> None:
    (temporary / "shoal-abcdefgh").mkdir(mode=0o700)
    half = stale(temporary / "shoal-ijklmnop")
    (half / "spill" / "rows").unlink()
    directory = PrivateDirectory()
    assert list(temporary.iterdir()) == [directory.path]
    directory.remove()


def test_what_is_not_a_spill_directory_is_left_alone(temporary: Path) -> None:
    elsewhere = stale(temporary / "elsewhere")
    (temporary / "shoal-linkaaaa").symlink_to(elsewhere)
    (temporary / "shoal-fileaaaa").write_text("")
    stale(temporary / "shoal-notes")
    stale(temporary / "shoal-openaaaa").chmod(0o755)
    (temporary / "shoal-othersaa").mkdir(mode=0o700)
    (temporary / "shoal-othersaa" / "notes").write_text("")
    trap = temporary / "shoal-trapaaaa"
    trap.mkdir(mode=0o700)
    (trap / LOCK).symlink_to(elsewhere / "spill" / "rows")
    before = sorted(temporary.rglob("*"))
    PrivateDirectory().remove()
    assert sorted(temporary.rglob("*")) == before


def test_what_links_point_to_is_left_alone(temporary: Path) -> None:
    target = temporary / "elsewhere"
    target.mkdir()
    (target / "notes").write_text("")
    path = stale(temporary / "shoal-abcdefgh")
    (path / "link").symlink_to(target)
    (path / "spill" / "link").symlink_to(target)
    PrivateDirectory().remove()
    assert not path.exists()
    assert (target / "notes").exists()


def test_that_of_another_user_is_left_alone(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = stale(temporary / "shoal-abcdefgh")
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    PrivateDirectory().remove()
    assert path.exists()


def test_one_that_is_swept_before_it_is_locked_is_made_again(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, n_taken = FileLock.take, 0

    def take_late(path: Path, *, create: bool = True) -> FileLock | None:
        nonlocal n_taken
        n_taken += 1
        if n_taken == 1:
            private_directory._remove_if_stale(path.parent)
        return take(path, create=create)

    monkeypatch.setattr(FileLock, "take", take_late)
    directory = PrivateDirectory()
    assert list(temporary.iterdir()) == [directory.path]
    directory.remove()


def test_two_that_sweep_at_once_do_not_disturb_each_other(holder, temporary: Path) -> None:
    for number in range(20):
        stale(temporary / f"shoal-aaaaaa{number:02}")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", HOLD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    paths = [Path(process.stdout.readline().strip()) for process in processes]
    assert sorted(temporary.iterdir()) == sorted(paths)
    assert [process.communicate("")[1] for process in processes] == [""] * 4
    assert list(temporary.iterdir()) == []


def test_a_forked_child_leaves_it_to_its_parent(temporary: Path) -> None:
    script = (
        "import os\n"
        "from shoal.engines.private_directory import PrivateDirectory\n"
        "directory = PrivateDirectory()\n"
        "child = os.fork()\n"
        "if child:\n"
        "    assert os.waitpid(child, 0)[1] == 0\n"
        "    assert (directory.path / '.shoal-lock').exists()\n"
        "else:\n"
        "    directory.remove()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert list(temporary.iterdir()) == []


def test_no_folder_for_it_is_an_engine_error(
    temporary: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(temporary / "nowhere"))
    with pytest.raises(EngineError, match="temporary"):
        PrivateDirectory()
