"""The people behind a release, as only its maker and its internal folder know them.

The files of a release do not say which line belongs to whom. The placement (`placement.parquet`)
does: it maps the key of every row to a line, or, in a sliced release, to a kind and a bucket.
Columns of a sliced release are not linked, so nobody has a line in it; people with the same known
values are of one kind, and `tuples.parquet` has one line per kind. What is behind the suppressed
cells of a release is in `private.parquet`, by the key of the row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Flags, Small, Texts
from shoal.core.cells import Cells, group
from shoal.core.domain import Domain, NumberedDomain
from shoal.core.errors import DataError, InternalError, ParameterError
from shoal.core.levels import LevelDomain
from shoal.core.private_cells import HiddenCells
from shoal.core.release import People, Published
from shoal.core.shapes import COUNT
from shoal.core.sliced import Sliced
from shoal.core.table import HIDDEN, Rows
from shoal.engines.sources import columns_of_parquet
from shoal.engines.sql.domains import text_array, texts_of
from shoal.engines.sql.staged_files import StagedFiles
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import PLACEMENT, Release

# The internal file with what is known of the people of a sliced release.
TUPLES = "tuples.parquet"
# The hint of errors about an internal file that does not belong to the release.
OTHER_FOLDER = "is it the internal folder of this release, and was nothing changed in it?"


def cells_of_keys(table: EngineTable, cells: Cells, keys: Sequence[str]) -> dict[str, int]:
    """Return the cell of the row with each key; raise `ParameterError` for an unknown key."""
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
        key: _place(cells, [_code(domain, codes[domain.column]) for domain in cells.domains])
        for key, codes in found.items()
    }


def _code(domain: Domain, code: int) -> int:
    """Return a code of the table as a code of the domain, which may have levels."""
    return int(domain.level_of[code]) if isinstance(domain, LevelDomain) else code


def lines_of_keys(release: Release, published: Published, keys: Sequence[str]) -> dict[str, int]:
    """Return the line of each person, as an entry of `published.lines`.

    People who were left out have no entry. Raises `DataError` if the internal folder states a line
    or a bucket that is not theirs.
    """
    files = release.files
    if isinstance(files, StagedFiles):
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
    return _read_lines(release, published, keys)


def _place(cells: Cells, codes: Sequence[int]) -> int:
    """Find a combination of codes among the sorted ones of cells, column by column."""
    first, last = 0, cells.n_cells
    for column, code in zip(cells.codes.T, codes, strict=True):
        begin, end = np.searchsorted(column[first:last], [code, code + 1]).tolist()
        first, last = first + begin, first + end
    if first == last:
        raise InternalError("A person is in none of the lines that were counted.")
    return first


def _read_lines(release: Release, published: Published, keys: Sequence[str]) -> dict[str, int]:
    """Look up the line of each person in the internal placement."""
    engine, placement = release.files.engine, placement_relation(release)
    engine.push("asked", {"row_key": text_array(keys)})
    fetched = engine.rows(
        f"SELECT p.row_key, p.bucket, p.line FROM {placement} p JOIN asked a USING (row_key)"
    )
    engine.drop("asked")
    cell, line = release.files.cell_of_lines(published), fetched["line"].astype(np.int64)
    is_there = bool(np.all((line >= 1) & (line <= len(cell))))
    entry = cell[line - 1] if is_there else line
    buckets = published.lines.domains[0].codes_of([str(one) for one in fetched["bucket"].tolist()])
    if not is_there or not np.array_equal(published.lines.codes[entry, 0], buckets):
        raise DataError(
            "placement.parquet does not have the place of everybody in this release.",
            hint=OTHER_FOLDER,
        )
    return dict(zip(map(str, fetched["row_key"].tolist()), entry.tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class Kinds:
    """The kinds of people in a sliced release."""

    # What is known of them, in the release's own codes.
    people: Cells
    # The cell of each kind, in the order of their numbers.
    entry: Codes


def kinds_of(release: Release, sliced: Sliced, content: bytes | None) -> Kinds:
    """Return the kinds of people of a release, from its engine or from the internal file.

    `content` has the bytes of that file; it is None if the release is still with its maker. Raises
    `DataError` if the file is not about this release.
    """
    engine = release.files.engine
    if isinstance(release.files, StagedFiles):
        columns: Mapping[str, npt.NDArray[Any]] = engine.rows(release.files.tuple_query)
    elif content is not None:
        columns = columns_of_parquet(engine, content, TUPLES)
    else:
        raise DataError(
            "The files of a sliced release do not say who is in it.",
            hint="name its internal folder, or the people to attack.",
        )
    return _read(columns, sliced)


@dataclass(frozen=True, eq=False)
class Placed:
    """Everybody in a sliced release, each in their own bucket."""

    # One cell per kind and bucket.
    people: People
    # The numbers of kinds and buckets as they are written, sorted by kind, then by bucket.
    kind: Codes
    bucket: Codes
    # The cell of `people` for each of these pairs.
    entry: Codes
    # The cell of `Kinds.people` for each cell of `people`.
    cell: Codes

    def entry_of(self, kind: Codes, bucket: Codes) -> Codes:
        """Return the cell of people for pairs of kind and bucket, all of which must occur."""
        n_buckets = int(self.bucket.max(initial=0)) + 1
        found = np.searchsorted(self.kind * n_buckets + self.bucket, kind * n_buckets + bucket)
        return self.entry[found]


def place_kinds(release: Release, published: Published, kinds: Kinds) -> Placed:
    """Find the buckets that the people of each kind are in, which only the maker knows.

    Raises `DataError` if neither the maker nor the internal folder of this release is available.
    """
    relation = placement_relation(release)
    fetched = release.files.engine.rows(
        f"SELECT kind, bucket, count(*) AS n FROM {relation} p "
        "GROUP BY kind, bucket ORDER BY kind, bucket"
    )
    kind, bucket = fetched["kind"].astype(np.int64), fetched["bucket"].astype(np.int64)
    place = published.lines.domains[0].codes_of([str(number) for number in bucket.tolist()])
    if np.any(place < 0) or np.any(kind < 1) or np.any(kind > len(kinds.entry)):
        raise DataError(f"{PLACEMENT} is not about this release.", hint=OTHER_FOLDER)
    cell = kinds.entry[kind - 1]
    first, entry = group([cell, place], [kinds.people.n_cells, published.n_buckets], len(cell))
    counts = np.bincount(entry, fetched["n"], len(first)).astype(np.int64)
    cells = Cells(kinds.people.domains, kinds.people.codes[cell[first]], counts)
    return Placed(People(cells, place[first]), kind, bucket, entry, cell[first])


def placement_relation(release: Release, *, is_trusted: bool = False) -> str:
    """Return the SQL relation, to follow FROM, with the place of everybody.

    A trusted file has been compared with the HMAC in the manifest.
    """
    if isinstance(release.files, StagedFiles):
        return f"({release.files.placement_query})"
    if release.internal is None:
        raise DataError("The internal folder, which has the places of people, is missing.")
    engine = release.files.engine
    return engine.scan_own(release.internal / PLACEMENT, is_trusted=is_trusted).relation


@dataclass(frozen=True, eq=False)
class PlacedRows:
    """The rows of some buckets of a release, in the order of their keys."""

    keys: Texts
    # The place of each row's bucket among those asked for.
    place: Codes
    # The line of each row, from 0; None in a sliced release, which has no lines.
    line: Codes | None
    # The kind of each row's person, as it is written; None in a release with lines.
    kind: Codes | None


def rows_in_buckets(release: Release, published: Published, place: Codes) -> PlacedRows:
    """Return the rows of some buckets.

    `place` says for each bucket which place its rows are given; those of -1 are left out. Raises
    `DataError` if the places of people are not at hand, or are not those of the release.
    """
    if published.sliced is not None:
        found = _rows_of_numbers(release, published, place)
        line, kind = None, found["kind"].astype(np.int64)
    else:
        files = release.files
        found = (
            files.rows_in(published, place)
            if isinstance(files, StagedFiles)
            else _rows_of_lines(release, published, place)
        )
        line, kind = found["line"].astype(np.int64) - 1, None
    keys = text_array(texts_of(found["row_key"]))
    return PlacedRows(keys, found["place"].astype(np.int64), line, kind)


def _rows_of_numbers(
    release: Release, published: Published, place: Codes
) -> dict[str, npt.NDArray[Any]]:
    numbers, chosen = published.lines.domains[0], np.flatnonzero(place >= 0)
    assert isinstance(numbers, NumberedDomain)
    relation, engine = placement_relation(release), release.files.engine
    engine.push("asked", {"bucket": numbers.whole[chosen], "place": place[chosen]})
    found = engine.rows(
        f"SELECT p.row_key, p.kind, a.place FROM {relation} p JOIN asked a "
        "ON CAST(p.bucket AS BIGINT) = a.bucket ORDER BY p.row_key"
    )
    engine.drop("asked")
    return found


def _rows_of_lines(
    release: Release, published: Published, place: Codes
) -> dict[str, npt.NDArray[Any]]:
    """Look the rows up by their lines, which only the placement of the internal folder knows."""
    relation, engine = placement_relation(release), release.files.engine
    cell = release.files.cell_of_lines(published)
    place_of_line = place[published.lines.codes[cell, 0]]
    chosen = np.flatnonzero(place_of_line >= 0)
    engine.push("asked", {"line": chosen + 1, "place": place_of_line[chosen]})
    found = engine.rows(
        f"SELECT p.row_key, p.line, a.place FROM {relation} p JOIN asked a USING (line) "
        "ORDER BY p.row_key"
    )
    engine.drop("asked")
    if len(found["line"]) != len(chosen):
        raise DataError(
            f"{PLACEMENT} names lines that the release does not have.", hint=OTHER_FOLDER
        )
    return found


def _read(columns: Mapping[str, npt.NDArray[Any]], sliced: Sliced) -> Kinds:
    known = sliced.layout.known
    if {*columns} != {*known, COUNT} or columns[COUNT].dtype.kind not in "iu":
        raise DataError(
            f"{TUPLES} does not have the columns that are known of people.", hint=OTHER_FOLDER
        )
    domains = tuple(sliced.domain(name) for name in known)
    codes = np.empty((len(columns[COUNT]), len(known)), dtype=np.int64)
    for place, domain in enumerate(domains):
        codes[:, place] = domain.codes_of(texts_of(columns[domain.column]))
    counts = columns[COUNT].astype(np.int64)
    if np.any(codes < 0) or np.any(counts < 1) or int(counts.sum()) != sliced.n_rows:
        raise DataError(f"{TUPLES} is not about the people of this release.", hint=OTHER_FOLDER)
    people, entry = Cells(domains, codes, counts).select_with_inverse(known)
    return Kinds(people, entry)


@dataclass(frozen=True, eq=False)
class Uncovered:
    """A suppressed release together with the values that it hides."""

    # The values of each column, hidden ones included.
    domains: tuple[Domain, ...]
    # One row per line, nothing hidden.
    codes: Small
    # The cells that the steward declared private, and those hidden to protect them.
    is_private: Flags
    is_blanked: Flags

    def rows(self, *, blank_private_only: bool) -> Rows:
        """Return what readers see: of the release, or of one that hides only private cells."""
        hidden = self.is_private if blank_private_only else self.is_private | self.is_blanked
        codes = np.where(hidden, HIDDEN, self.codes).astype(np.int32)
        return Rows(self.domains, codes)


def uncover(release: Release, published: Published, content: bytes) -> Uncovered:
    """Fill the suppressed cells of a release from the witness `private.parquet`.

    Raises `DataError` if the witness does not account for exactly the suppressed cells.
    """
    rows = published.rows
    assert rows is not None
    columns = columns_of_parquet(release.files.engine, content, HiddenCells.FILE)
    if not {"row_key", "column", "private", "value"} <= columns.keys():
        raise DataError(f"{HiddenCells.FILE} lacks a column.", hint=OTHER_FOLDER)
    cells = HiddenCells.from_columns(columns)
    line_of = {key: line for line, key in enumerate(_keys_of_lines(release, rows.n_rows))}
    place_of = {column: place for place, column in enumerate(rows.columns)}
    try:
        line = np.array([line_of[key] for key in cells.key.tolist()], dtype=np.int64)
        place = np.array([place_of[name] for name in cells.column.tolist()], dtype=np.int64)
    except KeyError:
        raise DataError(
            f"{HiddenCells.FILE} names a row or a column that the release does not have.",
            hint=OTHER_FOLDER,
        ) from None
    named = np.zeros(rows.codes.shape, dtype=bool)
    named[line, place] = True
    if len(line) != np.count_nonzero(named) or not np.array_equal(named, rows.is_hidden):
        raise DataError(
            f"{HiddenCells.FILE} does not account for the cells that are suppressed.",
            hint=OTHER_FOLDER,
        )
    is_private = np.zeros(rows.codes.shape, dtype=bool)
    is_private[line, place] = cells.is_private
    domains, codes = [], rows.codes.copy()
    for number, domain in enumerate(rows.domains):
        chosen = place == number
        wider, new_code, filled = _filled(domain, cells.value[chosen])
        column = new_code[codes[:, number]]
        column[line[chosen]] = filled
        codes[:, number] = column
        domains.append(wider)
    return Uncovered(tuple(domains), codes, is_private, named & ~is_private)


def _filled(domain: Domain, values: Texts) -> tuple[Domain, Small, Small]:
    """Return a domain with further values, the new code of each old one, and their codes."""
    labels = dict.fromkeys(domain.labels())
    labels |= dict.fromkeys(values.tolist())
    has_missing = None in labels
    texts = sorted(text for text in labels if text is not None)
    wider = Domain.of_texts(domain.column, texts, type=domain.type, has_missing=has_missing)
    # Hidden cells (-1) take the code at the end, which is overwritten later.
    new_code = np.append(wider.codes_of(domain.labels()), HIDDEN).astype(np.int32)
    return wider, new_code, wider.codes_of(values.tolist()).astype(np.int32)


def _keys_of_lines(release: Release, n_lines: int) -> list[str | None]:
    """Return the key of the row in each line."""
    if isinstance(release.files, StagedFiles):
        keys: list[str | None] = release.files.keys_of_lines.tolist()
        return keys
    placement = placement_relation(release, is_trusted=True)
    query = f"SELECT row_key, line FROM {placement} ORDER BY line"
    fetched = release.files.engine.rows(query)
    lines = fetched["line"].astype(np.int64)
    keys = texts_of(fetched["row_key"])
    if not np.array_equal(lines, np.arange(1, n_lines + 1)) or len(set(keys)) != n_lines:
        raise DataError(f"{PLACEMENT} does not have one key for every line.", hint=OTHER_FOLDER)
    return keys
