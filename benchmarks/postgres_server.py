"""A private Postgres server for measurements: its own folder, a socket in it, and no port."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_SETTINGS = """
listen_addresses = ''
unix_socket_directories = '{folder}'
max_connections = 10
# Otherwise its work would be counted for the measured process.
autovacuum = off
"""


@dataclass(frozen=True)
class Server:
    """A running server."""

    folder: Path  # All its files.
    process: int  # The parent of all its other processes.

    @property
    def address(self) -> str:
        """The address of its database."""
        return f"postgresql://steward@/postgres?host={self.folder}"


def find_programs() -> Path | None:
    """Find the folder of Postgres' programs; None if there is none."""
    found = [Path(path).parent for path in [shutil.which("pg_ctl")] if path]
    # Debian keeps the server here, outside the search path.
    found += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((path for path in found if (path / "initdb").exists()), None)


@contextlib.contextmanager
def private_server(programs: Path) -> Iterator[Server]:
    """Start a server; it is stopped and its files are deleted at the end."""
    # The path of a socket is limited to about a hundred characters.
    folder = Path(tempfile.mkdtemp(prefix="shoal-server-"))
    control = (programs / "pg_ctl", "-D", folder / "data", "-w")
    if os.geteuid() == 0:
        shutil.chown(folder, "nobody")
    try:
        options = ("-A", "trust", "-U", "steward", "-E", "UTF8", "--locale=C.UTF-8")
        _run(programs / "initdb", "-D", folder / "data", *options)
        with (folder / "data" / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS.format(folder=folder))
        _run(*control, "-l", folder / "log", "start")
        try:
            first, *_ = (folder / "data" / "postmaster.pid").read_text().splitlines()
            yield Server(folder, int(first))
        finally:
            _run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(*arguments: object) -> None:
    """Run a program; if this is root, which the server refuses, as the user nobody."""
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
