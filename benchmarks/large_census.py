"""Write a generated census of any size to a file, in a process of its own.

``python large_census.py ROWS FILE.csv`` or, for a folder of Parquet files, ``ROWS FOLDER``. The
census is generated in parts, so that memory does not grow with the number of rows. It is generated
in another process, because the system counts the memory that a process holds when it starts another
one as memory of the new one.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
from measure import worker_environment

import shoal
from shoal.datasets.dataset import Dataset

ROWS_A_PART = 2_000_000


def write_in_a_process(n_rows: int, target: Path) -> None:
    """Write a census to a CSV file, or to a folder of Parquet files."""
    subprocess.run(
        [sys.executable, __file__, str(n_rows), str(target)], check=True, env=worker_environment()
    )


def _parts(n_rows: int) -> Iterator[Dataset]:
    for number, first in enumerate(range(0, n_rows, ROWS_A_PART)):
        part = shoal.datasets.census(rows=min(ROWS_A_PART, n_rows - first), seed=number)
        people = part.columns["person_no"]
        assert isinstance(people, np.ndarray)
        # Each part counts its people from 0.
        numbered = [f"P{first + int(text[1:]):09d}" for text in people.tolist()]
        yield Dataset(part.name, {**part.columns, "person_no": numbered}, part.schema)


def _write_csv(n_rows: int, path: Path) -> None:
    piece = path.with_suffix(".part")
    with path.open("wb") as whole:
        for number, part in enumerate(_parts(n_rows)):
            _copy(part, piece, f"FORMAT csv, HEADER {number == 0}")
            with piece.open("rb") as lines:
                shutil.copyfileobj(lines, whole, 1 << 20)
            piece.unlink()


def _write_parquet(n_rows: int, folder: Path) -> None:
    folder.mkdir()
    for number, part in enumerate(_parts(n_rows)):
        _copy(part, folder / f"part-{number:03d}.parquet", "FORMAT parquet")


def _copy(part: Dataset, path: Path, options: str) -> None:
    columns = {
        name: column if isinstance(column, np.ndarray) else column.decode()
        for name, column in part.columns.items()
    }
    with duckdb.connect() as connection:
        connection.register("part", columns)
        connection.execute(f"COPY (SELECT * FROM part) TO '{path}' ({options})")


if __name__ == "__main__":
    target = Path(sys.argv[2])
    (_write_csv if target.suffix == ".csv" else _write_parquet)(int(sys.argv[1]), target)
