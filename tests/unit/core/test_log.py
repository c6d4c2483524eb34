from __future__ import annotations

import contextlib
import io
import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from shoal.core.domain import Domain
from shoal.core.errors import SchemaError
from shoal.core.log import internal_log, log_to
from shoal.hierarchies.hierarchy import Hierarchy


@pytest.fixture(autouse=True)
def _handlers_are_taken_off_again():
    before, level = list(internal_log.handlers), internal_log.level
    yield
    for handler in [handler for handler in internal_log.handlers if handler not in before]:
        internal_log.removeHandler(handler)
        with contextlib.suppress(OSError):
            handler.stream.close()
    internal_log.setLevel(level)


@pytest.fixture
def overheard():
    """Listen to all loggers from the root, as an application does (pytest listens to each)."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    root = logging.getLogger()
    root.addHandler(handler)
    before = root.level
    root.setLevel(logging.DEBUG)
    yield stream
    root.setLevel(before)
    root.removeHandler(handler)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def lack_a_value():
    with pytest.raises(SchemaError) as caught:
        Hierarchy.from_rows([["Private", "*"]]).over(Domain.of_texts("work", ["Secret service"]))
    return str(caught.value)


def test_values_go_to_the_file_and_nowhere_else(tmp_path, capfd, overheard):
    log_to(tmp_path / "log")
    message = lack_a_value()
    assert "Secret service" in (tmp_path / "log").read_text(encoding="utf-8")
    assert "Secret service" not in message
    assert "".join(capfd.readouterr()) + overheard.getvalue() == ""


def test_without_a_file_values_go_nowhere(capfd, overheard):
    lack_a_value()
    assert "".join(capfd.readouterr()) + overheard.getvalue() == ""


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a matter of POSIX")
def test_the_file_is_its_owners_alone_whatever_the_umask(tmp_path):
    old = os.umask(0)
    try:
        log_to(tmp_path / "log")
    finally:
        os.umask(old)
    assert mode(tmp_path / "log") == 0o600


@pytest.mark.skipif(sys.platform == "win32", reason="modes are a matter of POSIX")
def test_a_file_that_others_could_read_is_closed_to_them_and_kept(tmp_path):
    path = tmp_path / "log"
    path.write_text("before\n")
    path.chmod(0o644)
    log_to(path)
    internal_log.info("after")
    assert mode(path) == 0o600
    assert path.read_text().startswith("before\n")
    assert path.read_text().endswith(" after\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is always full")
def test_a_full_disk_does_not_send_values_to_the_console(capfd):
    log_to("/dev/full")
    internal_log.info("%s", "Secret service")
    assert "Secret service" not in "".join(capfd.readouterr())


def test_text_that_no_encoding_knows_does_not_reach_the_console(tmp_path):
    # In a process of its own: what pytest captures it cannot pass on.
    script = (
        "import sys; from shoal.core.log import internal_log, log_to; log_to(sys.argv[1]); "
        "internal_log.info('%s', 'Secret \\ud800 service')"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "log")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert run.stdout + run.stderr == ""
    assert "Secret" in (tmp_path / "log").read_text(encoding="utf-8")
