"""What the manifest states of columns, so that it is true of what is published, and of no more.

The type and the order of a column are read off the table. Rows that are left out and cells that
are suppressed must not show in them, nor a value that too few people carry to be named.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from shoal.core.domain import ColumnType
from shoal.core.method import Shape
from shoal.core.release import Manifest, Meaning, PublishedColumn
from shoal.core.rows import Rows
from shoal.core.schema import Role
from shoal.engines.domains import infer_type
from shoal.engines.laid_out import LaidOut
from shoal.engines.table import EngineTable
from shoal.pipeline.release import Making

__all__ = ["with_orders", "with_shown_types"]


def with_orders(
    manifest: Manifest,
    making: Making,
    files: LaidOut,
    meanings: Mapping[str, Mapping[str, Meaning]],
) -> Manifest:
    """State the order of the values that the public files name of ordered columns.

    Parameters
    ----------
    manifest, making
        What the release says of itself so far, and what only its maker knows.
    files
        What is laid out.
    meanings
        What the labels of recoded columns stand for.
    """
    columns = tuple(
        replace(column, order=_order(column, making, files, meanings.get(column.name, {})))
        for column in manifest.columns
    )
    return replace(manifest, columns=columns)


def _order(
    column: PublishedColumn, making: Making, files: LaidOut, labels: Mapping[str, Meaning]
) -> tuple[str, ...] | None:
    domain = making.table.domains.get(column.name)
    # Some values may stand in suppressed or distorted cells alone.
    hides_values = making.method.shape is Shape.SUPPRESSED or column.is_distorted
    if domain is None or domain.type is not ColumnType.ORDERED or hides_values:
        return None
    if column.is_recoded:
        named = {text for meaning in labels.values() for text in meaning.members}
        return tuple(text for text in domain.texts.tolist() if text in named) or None
    shown = files.shown_codes(column.name)
    return tuple(domain.texts[shown[shown != domain.missing_code]].tolist())


def with_shown_types(
    manifest: Manifest, table: EngineTable, files: LaidOut, rows: Rows | None
) -> Manifest:
    """State the types of insensitive columns, and of those with suppressed cells, as they show.

    One that nobody declared was read off all rows and cells, and would tell something of hidden
    ones.

    Parameters
    ----------
    manifest
        What the release says of itself so far.
    table, files
        The table, and what is laid out of it.
    rows
        The lines of a suppressed release.
    """
    texts = {} if rows is None else {domain.column: domain.texts for domain in rows.domains}

    def shown(column: PublishedColumn) -> ColumnType:
        declared = table.schema.types.get(column.name)
        if column.role is Role.INSENSITIVE:
            return files.carried_type(column.name) if declared is None else declared.type
        is_seen = bool(column.n_suppressed) and declared is None
        return infer_type(texts[column.name]) if is_seen else column.type

    columns = tuple(replace(column, type=shown(column)) for column in manifest.columns)
    return replace(manifest, columns=columns)
