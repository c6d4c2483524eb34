"""Change bytes of files, and read what comes of it where a crash ends no test."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

MARKER = "SECRETVALUE123"
"""What texts of hostile tables hold, and no message may show."""

_READ, _REFUSED, _UNTYPED, _SHOWN = 0, 3, 4, 5

_READER = f'''
import os, resource, signal, sys
import shoal.cli.app
import shoal.release.verify
from pathlib import Path
from shoal.core.errors import InternalError, ShoalError
from shoal.engines.duckdb.engine import DuckDB

def read_table(path):
    engine = DuckDB("1GB")
    scan = engine.scan(path)
    engine.stage("t", f"SELECT * FROM {{scan.relation}}")
    for column in scan.types:
        text = engine.text(engine.quote(column), scan.types[column])
        engine.rows(f"SELECT {{text}} AS v, count(*) AS n FROM t GROUP BY v")

def verify(path):
    shoal.release.verify.verify(path)

def attempt(path):
    try:
        (verify if path.is_dir() else read_table)(path)
    except ShoalError as error:
        if "{MARKER}" in str(error):
            return {_SHOWN}
        return {_UNTYPED} if isinstance(error, InternalError) else {_REFUSED}
    except Exception:
        import traceback
        traceback.print_exc()
        return {_UNTYPED}
    return {_READ}

for path in sorted(Path(sys.argv[1]).iterdir()):
    child = os.fork()
    if not child:
        # Neither time nor memory without end.
        signal.alarm(30)
        resource.setrlimit(resource.RLIMIT_AS, (8 * 2**30,) * 2)
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        code = attempt(path)
        sys.stderr.flush()
        os._exit(code)
    print(path.name, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
'''


def mutate(content: bytes, draw: random.Random, *, first: int = 8) -> bytes:
    """Change some bytes; headers and footers, which say where the rest is, more often."""
    changed = bytearray(content)
    for _ in range(draw.choice([1, 1, 2, 4, 8])):
        ends = (range(first, 1500), range(max(first, len(changed) - 1500), len(changed)))
        place = draw.choice(draw.choice((range(first, len(changed)), *ends)))
        place = min(place, len(changed) - 1)
        how = draw.random()
        if how < 0.5:
            changed[place] ^= 1 << draw.randrange(8)
        elif how < 0.8:
            changed[place] = draw.choice([0, 1, 127, 128, 255])
        else:
            n_bytes = draw.choice([2, 4, 8])
            changed[place : place + n_bytes] = draw.choice([b"\xff", b"\0"]) * n_bytes
    return bytes(changed)


def outcomes(folder: Path) -> dict[str, int]:
    """Read every file of a folder, or verify every release in it, each in a process of its own.

    Returns
    -------
    Those that were neither read nor refused with a typed error that shows no value: the exit code,
    negative where a signal ended the process.
    """
    run = subprocess.run(
        [sys.executable, "-c", _READER, str(folder)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    found = {name: int(code) for name, code in map(str.split, run.stdout.splitlines())}
    assert run.returncode == 0, run.stderr
    assert len(found) == len(list(folder.iterdir()))
    return {name: code for name, code in found.items() if code not in (_READ, _REFUSED)}
