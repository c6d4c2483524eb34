"""Kill `shoal publish --replace` 200 times, and count half-written releases (must be 0).

    python benchmarks/killing.py [--times 200] [--seed 0]

Each process is killed (SIGKILL) at a random instant within the time of a whole run. Only processes
that were still running count; the others are counted separately. The folders are then checked as a
reader would: the public folder verifies, and the internal folder belongs to the same release. After
every tenth kill the next process publishes to its end, which must leave nothing of the killed
ones, including temporary files.
"""

from __future__ import annotations

import argparse
import csv
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from killed_releases import CONFIGURATION, WRITTEN, kill_publishing, left, people, start, whole

_EVERY = 10


def main() -> None:
    """Read the options, run, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=200, help="kills (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of the instants (default: 0)")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as temporary:
        _prepare(Path(folder))
        counts = _kill(Path(folder), Path(temporary), given.times, random.Random(given.seed))
    for outcome in ("old release", "new release", "none, for the next process to restore"):
        print(f"{outcome:40} {counts[outcome]:5}")
    print(f"{'half-written':40} {counts['half-written']:5} of {given.times}")
    print(f"{'done before it could be killed':40} {counts['done']:5} (not counted above)")
    print(f"{'left over after the next whole run':40} {counts['left over']:5}")
    sys.exit(bool(counts["half-written"] or counts["left over"]))


def _prepare(folder: Path) -> None:
    with (folder / "people.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["name", "age", "zip", "disease"], *people()])
    (folder / "shoal.toml").write_text(CONFIGURATION)


def _kill(folder: Path, temporary: Path, n_times: int, draw: random.Random) -> Counter[str]:
    counts: Counter[str] = Counter()
    duration = _publish(folder, temporary)
    standing, number = whole(folder), 0
    while number < n_times:
        if not kill_publishing(folder, temporary, draw.uniform(0, duration)):
            counts["done"] += 1
            standing = whole(folder)
            continue
        number += 1
        try:
            found = whole(folder)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not whole
            print(f"kill {number}: {type(error).__name__}: {error}", file=sys.stderr)
            counts["half-written"] += 1
            continue
        if found is None:
            counts["none, for the next process to restore"] += 1
        else:
            counts["old release" if found == standing else "new release"] += 1
            standing = found
        if number % _EVERY == 0 or number == n_times:
            # The machine may have been busier before.
            duration = min(duration, _publish(folder, temporary))
            standing = whole(folder)
            counts["left over"] += left(folder, temporary) != WRITTEN
    return counts


def _publish(folder: Path, temporary: Path) -> float:
    """Publish to the end, and return the seconds that it took."""
    begun = time.perf_counter()
    started = start(folder, temporary, "publish", "shoal.toml", "--replace")
    _, said = started.communicate()
    if started.returncode:
        sys.exit(said)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
