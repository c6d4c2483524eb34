"""What all tests share: hypothesis profiles, the Adult table and a private Postgres."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from examples import PROFILE, scaled
from hypothesis import settings

PROJECT = Path(__file__).parents[1]

# What stands in the names of tests that are run by one process.
_TOGETHER = ("spark", "tests/browser/")

_FEW_EXAMPLES = 4
settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("thorough", deadline=None, print_blob=True)
settings.load_profile(PROFILE)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Draw as many examples as the profile asks for; few for Spark, where each takes seconds."""
    stated = getattr(getattr(item, "obj", None), "_hypothesis_internal_use_settings", None)
    if stated is None:
        return (yield)
    n_scaled = scaled(stated.max_examples)
    if "spark" in item.nodeid:
        n_scaled = min(n_scaled, _FEW_EXAMPLES)
    item.obj._hypothesis_internal_use_settings = settings(stated, max_examples=n_scaled)
    try:
        return (yield)
    finally:
        item.obj._hypothesis_internal_use_settings = stated


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Run the tests of a file in one process, so that what they share is made once.

    All tests of Spark run in one process, and all of the browser: each start takes long. The
    groups of xdist 3.8 are suffixes to the names of tests, which pytest 9.2 does not let it
    change.
    """
    from xdist.scheduler import LoadScopeScheduling

    class OneProcessForEachFile(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return next((name for name in _TOGETHER if name in nodeid), nodeid.partition("::")[0])

    return OneProcessForEachFile(config, log)


def pytest_report_header() -> str:
    from shoal.core import kernels

    return kernels.describe()


@pytest.fixture(scope="session")
def adult_path() -> Path:
    """Return where the Adult table lies; it is not ours to distribute."""
    path = Path(os.environ.get("SHOAL_ADULT") or PROJECT.parent / "shared" / "data" / "adult.csv")
    if not path.is_file():
        pytest.skip("the Adult table is not there; SHOAL_ADULT=adult.csv names it")
    return path


@dataclass
class PostgresServer:
    """A server of the tests' own, on a socket in a folder of its own."""

    folder: Path
    programs: Path

    def address(self, database: str = "postgres", user: str = "steward") -> str:
        return f"postgresql://{user}@/{database}?host={self.folder}"

    @property
    def log(self) -> str:
        """What the server has logged so far."""
        return (self.folder / "log").read_text(encoding="utf-8", errors="replace")

    def control(self, *arguments: str) -> None:
        _as_another_user(self.programs / "pg_ctl", "-D", self.folder / "data", "-w", *arguments)

    def start(self) -> None:
        self.control("-l", str(self.folder / "log"), "start")


_POSTGRES_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
fsync = off
full_page_writes = off
max_connections = 20
# Hundreds of tables are staged in one transaction.
max_locks_per_transaction = 20000
log_statement = 'all'
log_min_duration_statement = 0
log_parameter_max_length = -1
log_min_error_statement = 'debug5'
log_parameter_max_length_on_error = -1
log_error_verbosity = 'verbose'
"""


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresServer]:
    """Start a server; where there is none to start, skip, but never where all must be tested."""
    programs = _postgres_programs()
    if programs is None or find_spec("psycopg") is None:
        reason = "initdb and pg_ctl, which make a Postgres server, or psycopg are not there"
        if os.environ.get("CI") or os.environ.get("SHOAL_ALL_ENGINES"):
            pytest.fail(reason)
        pytest.skip(reason)
    # The path of a socket may have some hundred characters only, which pytest's own folders pass.
    folder = Path(tempfile.mkdtemp(prefix="shoal-server-"))
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    server = PostgresServer(folder, programs)
    try:
        options = ("-A", "trust", "-U", "steward", "-E", "UTF8", "--no-sync", "--locale=C.UTF-8")
        _as_another_user(programs / "initdb", "-D", folder / "data", *options)
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(_POSTGRES_SETTINGS.format(folder=folder))
        server.start()
        yield server
    finally:
        with contextlib.suppress(subprocess.CalledProcessError):
            server.control("-m", "immediate", "stop")
        shutil.rmtree(folder, ignore_errors=True)


def _postgres_programs() -> Path | None:
    found = [Path(path).parent for path in [shutil.which("pg_ctl")] if path]
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        asked = subprocess.run(
            ["pg_config", "--bindir"], capture_output=True, text=True, check=True
        )
        found.append(Path(asked.stdout.strip()))
    # Where Debian keeps the server.
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((path for path in found if (path / "initdb").exists()), None)


def _as_another_user(*arguments: object) -> None:
    """Run a program; as nobody where this is root, whom the server refuses."""
    user = {"user": "nobody", "group": "nogroup", "extra_groups": []} if os.geteuid() == 0 else {}
    subprocess.run(
        [str(argument) for argument in arguments],
        check=True,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        **user,
    )
