"""The environments in which Shoal and its peers run.

pycanon and anjana demand exact versions of numpy, pandas, scipy and typer, anjana also another
pycanon than the newest, so that neither can be installed beside the other or beside Shoal. Every
peer therefore has a virtual environment of its own, in the folder `.benchmarks` of the project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measure import HERE, failure

__all__ = ["PEERS", "SHOAL", "Environment", "install"]

_FOLDER = HERE.parent / ".benchmarks"
_VERSIONS = """
import importlib.metadata, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""


@dataclass(frozen=True, kw_only=True)
class Environment:
    """Where a program is installed, and which script speaks for it.

    Parameters
    ----------
    name
        The name of its package.
    python
        The interpreter of its environment.
    worker
        The script that measures it, relative to the folder of the benchmarks.
    packages
        The packages whose versions are worth telling.
    """

    name: str
    python: Path
    worker: str
    packages: tuple[str, ...]

    @property
    def requirements(self) -> Path:
        """What is to be installed."""
        return HERE / "peers" / f"requirements-{self.name}.txt"

    def versions(self) -> dict[str, str]:
        """Give the version of every package that is there; nothing where there is no environment.

        The packages are asked of the environment itself.
        """
        if not self.python.exists():
            return {}
        finished = subprocess.run(
            [str(self.python), "-c", _VERSIONS, *self.packages],
            capture_output=True,
            text=True,
            check=True,
        )
        found: dict[str, str] = json.loads(finished.stdout)
        return found

    def is_installed(self) -> bool:
        """Whether the program itself is there."""
        return self.name in self.versions()


def _peer(name: str, *packages: str) -> Environment:
    place = ("Scripts", "python.exe") if os.name == "nt" else ("bin", "python")
    return Environment(
        name=name,
        python=_FOLDER.joinpath(name, *place),
        worker=f"peers/{name}_worker.py",
        packages=(name, *packages),
    )


SHOAL = Environment(
    name="shoal-privacy",
    python=Path(sys.executable),
    worker="shoal_worker.py",
    packages=("shoal-privacy", "numpy", "scipy", "duckdb", "typer", "rich"),
)
PEERS = {
    "pycanon": _peer("pycanon", "numpy", "pandas"),
    "anjana": _peer("anjana", "pycanon", "numpy", "pandas"),
    "anonypyx": _peer("anonypyx", "numpy", "pandas"),
    "mlxtend": _peer("mlxtend", "numpy", "pandas"),
    "pyfim": _peer("pyfim"),
}


def install(peers: Sequence[Environment]) -> dict[str, str]:
    """Make the environment of each peer that lacks one, and install the peer into it.

    Returns
    -------
    For each peer that could not be installed, why; pyfim, for one, needs a C compiler.
    """
    problems = {}
    for peer in peers:
        if peer.is_installed():
            continue
        venv.create(peer.python.parents[1], with_pip=True, clear=True)
        finished = subprocess.run(
            [str(peer.python), "-m", "pip", "install", "--quiet", "-r", str(peer.requirements)],
            capture_output=True,
            text=True,
            check=False,
        )
        if finished.returncode:
            problems[peer.name] = failure(finished.returncode, finished.stderr)
    return problems
