"""Find single people by the keys of their rows: in the table, and in what is published of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, InternalError, ParameterError
from shoal.core.release import People, Published
from shoal.core.schema import Role, Schema
from shoal.engines.laid_out import LaidOut
from shoal.engines.table import EngineTable
from shoal.knowledge.known import Knowledge
from shoal.knowledge.nodes import codes_in
from shoal.pipeline.read import columns_of, read
from shoal.pipeline.release import PLACEMENT, Release

__all__ = ["cells_of_keys", "lines_of_keys", "with_keys"]


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


def with_keys(
    release: Release,
    attacked: People,
    others: tuple[Any, str | None],
    told: Sequence[object],
    *,
    is_own: bool,
) -> People:
    """Find the people attacked whom facts name by the keys of their rows.

    Parameters
    ----------
    release, attacked
        The release, and the people attacked in it.
    others
        The table, frame or file that these people come from, and the column of it that holds
        keys; None for everybody in the release.
    told
        What attacks are given; of it, the facts of knowledge count.
    is_own
        Whether the first of it is what the release was made against.

    Notes
    -----
    A person whom the release leaves out has the cell -1, if the table is at hand or if the release
    was made against this very knowledge.
    """
    known = [one for one in told if isinstance(one, Knowledge)]
    keys = tuple({fact.person: None for one in known for fact in one.facts})
    if not keys:
        return attacked
    is_own = is_own and len(known) == 1 and known[0] is told[0]
    return replace(attacked, cell_of_key=_cells_of_keys(release, attacked, others, keys, is_own))


def _cells_of_keys(
    release: Release,
    attacked: People,
    others: tuple[Any, str | None],
    keys: Sequence[str],
    is_own: bool,
) -> dict[str, int] | None:
    """Return the cell of each person; None where nothing says whose row is whose."""
    published = release.published
    people, key = others
    if published.sliced is not None or published.rows is not None:
        return None
    if people is not None:
        return _cells_of_others(published, attacked, people, key, keys)
    if release.making is None and release.internal is None:
        return None
    found = lines_of_keys(release, published, keys)
    if release.making is not None:
        left_out = list(release.making.table.codes_of_keys(keys))
    else:
        left_out = list(keys) if is_own else []
    return dict.fromkeys(left_out, -1) | found


def _cells_of_others(
    published: Published, attacked: People, people: Any, key: str | None, keys: Sequence[str]
) -> dict[str, int] | None:
    """Find people of another table by their keys, where it says them."""
    if isinstance(people, EngineTable):
        return None if people.schema.key is None else _cells_by_text(attacked, people, keys)
    if key is None:
        return None
    quasi = published.manifest.columns_of(Role.QUASI)
    types = dict.fromkeys(quasi, str(ColumnType.CATEGORICAL))
    rest = [column for column in columns_of(people) if column not in quasi]
    table = read(people, Schema(quasi=quasi, identifying=rest, types=types, key=key))
    try:
        return _cells_by_text(attacked, table, keys)
    finally:
        table.engine.close()


def _cells_by_text(attacked: People, table: EngineTable, keys: Sequence[str]) -> dict[str, int]:
    quasi = attacked.quasi
    place = {tuple(row): cell for cell, row in enumerate(quasi.codes.tolist())}
    cells: dict[str, int] = {}
    for key, codes in table.codes_of_keys(keys).items():
        texts = [table.domains[column].text(codes[column]) for column in quasi.columns]
        own = [codes_in(d, [text])[0] for d, text in zip(quasi.domains, texts, strict=True)]
        cells[key] = place.get(tuple(map(int, own)), -1)
    return cells


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
