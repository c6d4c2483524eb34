"""One linking of a release's columns, drawn at random: rows as they might have been.

Columns are linked one after the other, as `shoal.core.sliced.Layout` orders them: within a bucket
the rows so far and the entries of the next column are paired at random, where they share attributes
among those that agree in them. All linkings are equally likely.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from shoal.analyse.linked import LinkedColumn, confirm_same_values
from shoal.core.cells import Codes, group
from shoal.core.errors import DataError
from shoal.core.rows import Rows
from shoal.core.sliced import Layout

__all__ = ["draw_linking"]


def draw_linking(columns: Sequence[LinkedColumn], generator: np.random.Generator) -> Rows:
    """Draw a linking.

    Parameters
    ----------
    columns
        All columns of a release.
    generator
        Where chance comes from.

    Returns
    -------
    One row a person, in the order of the first column's entries, every attribute once.

    Raises
    ------
    DataError
        Where the columns do not hold equally many rows of every bucket, and of every value that
        they share.
    """
    confirm_same_values(columns)
    # A column of which all attributes are in another one links nothing.
    columns = [column for column in columns if column.attributes]
    layout = Layout([column.attributes for column in columns])
    domains = {domain.column: domain for column in columns for domain in column.domains}
    first, *links = layout.links()
    entry = _rows_of(columns[first.column])
    bucket = columns[first.column].bucket[entry]
    drawn = _values(columns[first.column], entry)
    for link in links:
        column = columns[link.column]
        entry = _rows_of(column)
        kept = [bucket, *(drawn[name] for name in link.separator)]
        added = [column.bucket[entry], *(column.code_of(name)[entry] for name in link.separator)]
        sizes = [domains[name].size for name in link.separator]
        drawn = _values(column, entry[_paired(kept, added, sizes, generator)]) | drawn
    codes = np.column_stack([drawn[name] for name in layout.attributes])
    return Rows(tuple(domains[name] for name in layout.attributes), codes.astype(np.int32))


def _rows_of(column: LinkedColumn) -> Codes:
    """Give every entry as often as it is held, by bucket."""
    entry = np.repeat(np.arange(len(column.count)), column.count)
    return entry[np.argsort(column.bucket[entry], kind="stable")]


def _values(column: LinkedColumn, entry: Codes) -> dict[str, Codes]:
    return {name: column.code_of(name)[entry] for name in column.attributes}


def _paired(
    kept: Sequence[Codes],
    added: Sequence[Codes],
    sizes: Sequence[int],
    generator: np.random.Generator,
) -> Codes:
    """Give for each row so far the row of the next column that it is paired with."""
    n_buckets = 1 + max(int(rows[0].max(initial=-1)) for rows in (kept, added))
    keys = [np.concatenate(pair) for pair in zip(kept, added, strict=True)]
    _, cell = group(keys, [n_buckets, *sizes], len(keys[0]))
    before, after = cell[: len(kept[0])], cell[len(kept[0]) :]
    order = np.argsort(before, kind="stable")
    drawn = np.lexsort((generator.random(len(after)), after))
    if not np.array_equal(before[order], after[drawn]):
        raise DataError(
            "Columns hold different numbers of rows of a bucket, or of a value that they share.",
            hint="take all columns from one release, whole.",
        )
    paired = np.empty(len(order), dtype=np.int64)
    paired[order] = drawn
    return paired
