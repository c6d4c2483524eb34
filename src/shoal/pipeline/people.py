"""Find single people by the keys of their rows: in the table, and in what is published of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from shoal.core.cells import Cells
from shoal.core.errors import DataError, InternalError, ParameterError
from shoal.core.release import Published
from shoal.engines.laid_out import LaidOut
from shoal.engines.table import EngineTable
from shoal.pipeline.release import PLACEMENT, Release

__all__ = ["cells_of_keys", "lines_of_keys"]


def cells_of_keys(table: EngineTable, cells: Cells, keys: Sequence[str]) -> dict[str, int]:
    """Give the cell of the row with each key.

    Raises
    ------
    ParameterError
        Where the table has no such key.
    """
    if not keys:
        return {}
    found = table.codes_of_keys(keys)
    if len(found) < len(set(keys)):
        raise ParameterError(
            f"Facts are about {len(set(keys)) - len(found)} people whose keys the table does not "
            "have.",
            hint="a fact names a person by the key of their row"
            + ("." if table.schema.key else "; say which column is the key: key=..."),
        )
    return {
        key: _place(cells, [codes[column] for column in cells.columns])
        for key, codes in found.items()
    }


def lines_of_keys(release: Release, published: Published, keys: Sequence[str]) -> dict[str, int]:
    """Give the line, as an entry of `published.lines`, of each person; none of who is left out.

    Raises
    ------
    DataError
        Where the internal folder says of a person a line or a bucket that is not theirs.
    """
    files = release.files
    if isinstance(files, LaidOut):
        shown = files.shown_of_keys(keys)
        codes = np.column_stack(
            [
                domain.codes_of([texts[domain.column] for texts in shown.values()])
                for domain in published.lines.domains
            ]
        )
        return {
            key: _place(published.lines, row)
            for key, row in zip(shown, codes.tolist(), strict=True)
        }
    if release.internal is None:
        raise DataError(
            "Facts about people are checked with the internal folder, which is not there."
        )
    return _read_lines(release, published, release.internal, keys)


def _place(cells: Cells, codes: Sequence[int]) -> int:
    """Find a combination of codes among the sorted ones of cells, column by column."""
    first, last = 0, cells.n_cells
    for column, code in zip(cells.codes.T, codes, strict=True):
        begin, end = np.searchsorted(column[first:last], [code, code + 1]).tolist()
        first, last = first + begin, first + end
    if first == last:
        raise InternalError("A person is in none of the lines that were counted.")
    return first


def _read_lines(
    release: Release, published: Published, internal: Path, keys: Sequence[str]
) -> dict[str, int]:
    """Look up in the internal placement in which line of the files a person stands."""
    engine = release.files.engine
    placement = engine.scan_own(internal / PLACEMENT, is_trusted=False).relation
    engine.push("asked", {"row_key": np.array([*keys, None], dtype=object)[:-1]})
    try:
        fetched = engine.rows(
            f"SELECT p.row_key, p.bucket, p.line FROM {placement} p JOIN asked a USING (row_key)"
        )
    finally:
        engine.drop("asked")
    cell, line = release.files.cell_of_lines(published), fetched["line"].astype(np.int64)
    is_there = bool(np.all((line >= 1) & (line <= len(cell))))
    entry = cell[line - 1] if is_there else line
    buckets = published.lines.domains[0].codes_of([str(one) for one in fetched["bucket"].tolist()])
    if not is_there or not np.array_equal(published.lines.codes[entry, 0], buckets):
        raise DataError(
            "placement.parquet does not say of everybody where they are in this release.",
            hint="is it the internal folder of this release, and was nothing changed in it?",
        )
    return dict(zip(map(str, fetched["row_key"].tolist()), entry.tolist(), strict=True))
