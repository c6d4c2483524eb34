"""The orders that a source itself gives the values of its columns.

A frame may say that "low" comes before "high": pandas by an ordered category, polars by an Enum,
Arrow and Parquet by an ordered dictionary. Such an order is kept as if the schema had declared it.
A category or dictionary without an order says nothing, and its values are sorted as texts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from shoal.core.log import internal_log

__all__ = ["frame_orders", "parquet_orders"]

Orders = dict[str, tuple[str, ...]]
"""The values of columns, from lowest to highest."""

_LONGEST = 1_000_000
"""Characters of a dictionary beyond which Parquet writers give it up, and its order with it."""


def frame_orders(frame: Any) -> Orders:
    """Return the orders of a frame's columns.

    Parameters
    ----------
    frame
        A frame of pandas or polars, an Arrow table, or a mapping of columns.

    Examples
    --------
    >>> import pandas
    >>> pain = pandas.Categorical(["mild"], ["mild", "bad"], ordered=True)
    >>> frame_orders(pandas.DataFrame({"pain": pain, "age": [29]}))
    {'pain': ('mild', 'bad')}
    """
    library = type(frame).__module__.split(".")[0]
    if library == "pyarrow":
        return _table_orders([frame]) if hasattr(frame, "itercolumns") else {}
    if not isinstance(frame, Mapping) and library not in ("pandas", "polars"):
        return {}
    names = frame if isinstance(frame, Mapping) else frame.columns
    found = {str(name): _order_of_type(getattr(frame[name], "dtype", None)) for name in names}
    return {name: order for name, order in found.items() if order is not None}


def _order_of_type(kind: Any) -> tuple[str, ...] | None:
    """Return the order of a pandas or polars type; None if it has none, or orders no texts."""
    categories = getattr(kind, "categories", None)
    # Every Enum of polars is ordered; of its Categorical, and of pandas' one, the order is a whim.
    if categories is None or not (getattr(kind, "ordered", False) or _is_enumeration(kind)):
        return None
    return _texts(categories)


def _is_enumeration(kind: Any) -> bool:
    is_of_polars = type(kind).__module__.split(".")[0] == "polars"
    return is_of_polars and type(kind).__name__ == "Enum"


def _texts(values: Iterable[Any]) -> tuple[str, ...] | None:
    """Return values as texts; None if some are not: numbers have an order of their own."""
    found = tuple(values)
    return found if found and all(isinstance(value, str) for value in found) else None


def parquet_orders(path: Path) -> Orders:
    """Return the orders of the columns of a Parquet file, or of a folder of such files.

    Without pyarrow there are none.

    Parameters
    ----------
    path
        The file or folder.
    """
    try:
        import pyarrow  # noqa: F401, PLC0415 - an extra
    except ImportError:
        return {}
    try:
        return _table_orders(_parquet_tables(path))
    except Exception as error:  # noqa: BLE001 - pyarrow's errors quote data
        internal_log.info("%s", error)
        return {}


def _parquet_tables(path: Path) -> Iterator[Any]:
    """Give the ordered columns of every row group of every file, one table each."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - an extra

    for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        with ParquetFile(file) as opened:
            ordered = [one.name for one in opened.schema_arrow if _is_ordered(one.type)]
            if not ordered:
                yield opened.schema_arrow.empty_table()
            for group in range(opened.num_row_groups if ordered else 0):
                kept = [one for one in ordered if _has_dictionary(opened.metadata, group, one)]
                table = opened.read_row_group(group, columns=kept)
                # Arrow trusts a file's indices, and this one may be a stranger's.
                table.validate(full=True)
                yield table


def _has_dictionary(metadata: Any, group: int, column: str) -> bool:
    """Tell whether a row group has its values in a dictionary, and not as they come."""
    chunks = metadata.row_group(group)
    return any(
        chunk.path_in_schema == column and chunk.has_dictionary_page
        for chunk in map(chunks.column, range(chunks.num_columns))
    )


def _table_orders(tables: Iterable[Any]) -> Orders:
    """Return the orders of the columns that all of several Arrow tables order alike."""
    found: dict[str, set[tuple[str, ...]]] | None = None
    for table in tables:
        own = {
            name: {_texts(chunk.dictionary.to_pylist()) or () for chunk in column.chunks}
            for name, column in zip(table.column_names, table.itercolumns(), strict=True)
            if _is_ordered(column.type)
        }
        shared = own if found is None else found.keys() & own.keys()
        found = {name: own[name] | (found or {}).get(name, set()) for name in shared}
    joined = {name: _joined(orders) for name, orders in (found or {}).items()}
    return {name: order for name, order in joined.items() if order is not None}


def _is_ordered(kind: Any) -> bool:
    return bool(getattr(kind, "ordered", False)) and hasattr(kind, "value_type")


def _joined(orders: set[tuple[str, ...]]) -> tuple[str, ...] | None:
    """Return the order that all others are parts of; None if there is no such one.

    Examples
    --------
    >>> _joined({("low", "high"), ("low", "mid", "high")}), _joined({("a", "b"), ("b", "a")})
    (('low', 'mid', 'high'), None)
    """
    longest = max(orders, key=len, default=())
    place = {text: number for number, text in enumerate(longest)}
    for order in orders:
        places = [place.get(text, -1) for text in order]
        if not places or -1 in places or places != sorted(places):
            return None
    return longest if longest and sum(map(len, longest)) < _LONGEST else None
