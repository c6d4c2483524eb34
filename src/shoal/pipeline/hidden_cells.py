"""What stands behind the suppressed cells of a release, line by line.

The internal folder knows each cell by the key of its row; which line is whose, the placement says.
Together they must account for every suppressed cell, and for nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.domain import Domain, Texts
from shoal.core.errors import DataError
from shoal.core.hidden_cells import HiddenCells
from shoal.core.private_cells import Marks
from shoal.core.release import Published
from shoal.core.rows import HIDDEN, RowCodes, Rows
from shoal.engines.laid_out import LaidOut
from shoal.engines.parquet_bytes import columns_of_parquet
from shoal.engines.texts import texts_of
from shoal.pipeline.release import PLACEMENT, Release

__all__ = ["Uncovered", "uncover"]

_HINT = "is it the internal folder of this release, and was nothing changed in it?"


@dataclass(frozen=True, eq=False)
class Uncovered:
    """A suppressed release with all that it hides.

    Parameters
    ----------
    domains
        The values of each column, hidden ones included.
    codes
        One row a line, nothing hidden.
    is_private
        The cells that somebody wanted hidden.
    is_blanked
        The cells that are hidden to protect these.
    """

    domains: tuple[Domain, ...]
    codes: RowCodes
    is_private: Marks
    is_blanked: Marks

    def rows(self, *, blank_private_only: bool) -> Rows:
        """Give what readers see: of the release, or of one that blanks private cells alone."""
        hidden = self.is_private if blank_private_only else self.is_private | self.is_blanked
        codes = np.where(hidden, HIDDEN, self.codes).astype(np.int32)
        return Rows(self.domains, codes)


def uncover(release: Release, published: Published, content: bytes) -> Uncovered:
    """Fill the suppressed cells of a release.

    Parameters
    ----------
    content
        The witness `private.parquet`.

    Raises
    ------
    DataError
        Where the witness does not account for exactly the suppressed cells.
    """
    rows = published.rows
    assert rows is not None
    columns = columns_of_parquet(release.files.engine, content, HiddenCells.FILE)
    if not {"row_key", "column", "private", "value"} <= columns.keys():
        raise DataError(f"{HiddenCells.FILE} lacks a column.", hint=_HINT)
    cells = HiddenCells.from_columns(columns)
    line_of = {key: line for line, key in enumerate(_keys_of_lines(release, rows.n_rows))}
    place_of = {column: place for place, column in enumerate(rows.columns)}
    try:
        line = np.array([line_of[key] for key in cells.key.tolist()], dtype=np.int64)
        place = np.array([place_of[name] for name in cells.column.tolist()], dtype=np.int64)
    except KeyError:
        raise DataError(
            f"{HiddenCells.FILE} names a row or a column that the release does not have.",
            hint=_HINT,
        ) from None
    named = np.zeros(rows.codes.shape, dtype=bool)
    named[line, place] = True
    if len(line) != np.count_nonzero(named) or not np.array_equal(named, rows.is_hidden):
        raise DataError(
            f"{HiddenCells.FILE} does not account for the cells that are suppressed.", hint=_HINT
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


def _filled(domain: Domain, values: Texts) -> tuple[Domain, RowCodes, RowCodes]:
    """Give a domain that has some values too, the new code of each old one, and of the values."""
    labels = dict.fromkeys(domain.labels())
    labels |= dict.fromkeys(values.tolist())
    has_missing = None in labels
    texts = sorted(text for text in labels if text is not None)
    wider = Domain.of_texts(domain.column, texts, type=domain.type, has_missing=has_missing)
    # Hidden cells find a code at the end, which is written over.
    new_code = np.append(wider.codes_of(domain.labels()), HIDDEN).astype(np.int32)
    return wider, new_code, wider.codes_of(values.tolist()).astype(np.int32)


def _keys_of_lines(release: Release, n_lines: int) -> list[str | None]:
    """Give the key of the row that stands in each line."""
    if isinstance(release.files, LaidOut):
        keys: list[str | None] = release.files.keys_of_lines.tolist()
        return keys
    if release.internal is None:
        raise DataError("The internal folder that says whose line is whose is not there.")
    engine = release.files.engine
    relation = engine.scan_own(release.internal / PLACEMENT, is_trusted=True).relation
    fetched = engine.rows(f"SELECT row_key, line FROM {relation} ORDER BY line")
    lines = fetched["line"].astype(np.int64)
    keys = texts_of(fetched["row_key"])
    if not np.array_equal(lines, np.arange(1, n_lines + 1)) or len(set(keys)) != n_lines:
        raise DataError(f"{PLACEMENT} does not say of every line whose it is.", hint=_HINT)
    return keys
