"""A lock keeps others out, and leaves no file."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from shoal.engines.file_lock import FileLock

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
