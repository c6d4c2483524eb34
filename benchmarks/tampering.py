"""Tamper with releases of every shape, and print the verdict of `shoal verify` on each edit.

Every edit is careful: digests, statements and documents are made consistent again wherever that is
possible. The command line is run, so that the exit codes are those that scripts see.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))

from tampering_edits import edits_of  # noqa: E402

import shoal  # noqa: E402 - the tests must be found first
from shoal.cli.app import app  # noqa: E402
from shoal.release import labels  # noqa: E402

METHODS = {
    "generalized": shoal.FullDomain(k=4),
    "bucketized": shoal.Anatomy(ell=2),
    "sliced": shoal.Slicing(ell=2, columns="bucketized"),
    "suppressed": shoal.RuleHiding(private=["condition where age > 60"], delta="0.8", gamma=5),
}
# Shape, format, and the number of labels above which they are a table.
RELEASES = [
    *((shape, "csv", labels.MOST_IN_JSON) for shape in METHODS),
    ("bucketized", "parquet", labels.MOST_IN_JSON),
    ("generalized", "csv", 2),
]
CODES = {0: "verified", 5: "refused", 7: "failed", 9: "partly verified", 10: "verified, a test"}


def _written(shape: str, ending: str, folder: Path) -> Path:
    census = shoal.datasets.census(rows=120, seed=4)
    schema = census.schema
    if shape in ("sliced", "suppressed"):
        schema = replace(
            schema, quasi=(*schema.quasi, *schema.insensitive), insensitive=(), meant=()
        )
    release = shoal.anonymize(shoal.read(census, schema), METHODS[shape])
    return release.write(folder / f"{shape}.{ending}" / "release", ending)


def _exit_code(folder: Path) -> int:
    return CliRunner().invoke(app, ["verify", str(folder)]).exit_code


def main() -> int:
    """Run the study; the exit code is 1 if an edited release was verified."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edits", type=int, default=80, help="edits of each release (default 80)")
    given = parser.parse_args()
    n_verified = 0
    with tempfile.TemporaryDirectory() as temporary:
        for number_of_release, (shape, ending, most_in_text) in enumerate(RELEASES):
            labels.MOST_IN_JSON = most_in_text
            sealed = _written(shape, ending, Path(temporary) / str(number_of_release))
            kinds = edits_of(sealed)
            draw = random.Random(f"{shape} {ending}")
            said: dict[str, Counter[int]] = {kind: Counter() for kind in kinds}
            print(f"\n{shape}, {ending}: unedited {CODES[_exit_code(sealed)]}")
            # Every kind at least five times.
            for number in range(max(given.edits, 5 * len(kinds))):
                kind = list(kinds)[number % len(kinds)]
                folder = shutil.copytree(sealed, Path(temporary) / "edited")
                kinds[kind](folder, draw)
                said[kind][_exit_code(folder)] += 1
                shutil.rmtree(folder)
            for kind, codes in said.items():
                n_verified += codes[0] + codes[10]
                told = ", ".join(
                    f"{n} {CODES.get(code, code)} ({code})" for code, n in codes.items()
                )
                print(f"  {kind:28} {told}")
    print(f"\n{n_verified} edited releases were verified.")
    return min(n_verified, 1)


if __name__ == "__main__":
    sys.exit(main())
