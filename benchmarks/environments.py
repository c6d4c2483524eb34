"""The environments in which Shoal and its peers run.

pycanon and anjana require exact versions of numpy, pandas, scipy and typer, and anjana requires an
older pycanon, so neither can be installed together with the other or with Shoal. Every peer
therefore has a virtual environment of its own, in the folder `.benchmarks` of the project.
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
    """The environment of a program, and the script that measures it."""

    name: str  # The name of the program's package.
    python: Path  # The interpreter of the environment.
    worker: str  # Relative to the folder of the benchmarks.
    packages: tuple[str, ...]  # The packages whose versions are reported.

    @property
    def requirements(self) -> Path:
        """The requirements file."""
        return HERE / "peers" / f"requirements-{self.name}.txt"

    def versions(self) -> dict[str, str]:
        """Return the version of every installed package; empty if there is no environment.

        The environment's own interpreter is asked.
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
        """True if the program itself is installed."""
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
    """Create the missing environments of peers and install the peers.

    Returns the reason for each peer that could not be installed; pyfim, for example, needs a C
    compiler.
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
