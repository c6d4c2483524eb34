"""Turn frames, mappings and Arrow files into something that DuckDB can register.

A source may itself order the values of its columns, "low" before "high": pandas by an ordered
category, polars by an Enum, Arrow and Parquet by an ordered dictionary. Such an order is kept as if
the schema had declared it. The values of other categories and dictionaries are sorted as texts.

Small tables of Shoal's own are converted to the bytes of a Parquet file, and back.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from shoal.core.errors import DataError, EngineError, ParameterError, ShoalError
from shoal.core.log import internal_log
from shoal.engines.csv_files import refuse_like_names, unusable_names
from shoal.engines.engine import Columns
from shoal.engines.files import check_kind, quoted
from shoal.engines.limits import DEFAULT_LIMITS, Limits
from shoal.engines.private_directory import PrivateDirectory
from shoal.engines.sql.domains import text_array, texts_of

if TYPE_CHECKING:
    from shoal.engines.duckdb.engine import DuckDB


SOURCES = (
    "CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet), Arrow (.arrow, .feather), a DuckDB file "
    "(.duckdb) with a table, an Arrow table, a pandas or polars frame, or a mapping of columns"
)
"""The sources that the embedded engine reads, for error messages."""
_OPTIONS = "delimiter, quote and encoding go with CSV, table with a DuckDB file."
_STREAM_MARK = b"\xff\xff\xff\xff"
_LONGEST = 1_000_000
"""Characters of a dictionary beyond which Parquet writers give it up, and its order with it."""
_TABLE = "parquet_columns"
_FILE = "columns.parquet"

Orders = dict[str, tuple[str, ...]]
"""The values of columns, from lowest to highest."""


def check_column_names(source: str, names: Sequence[str], limits: Limits = DEFAULT_LIMITS) -> None:
    """Refuse too many names, names that SQL takes for equal, and names no CSV file can carry."""
    limits.check_columns(source, len(names))
    refuse_like_names(source, names)
    unusable = [names[number - 1] for number in unusable_names(names)]
    if unusable:
        raise DataError(
            f"{source} has column names that a CSV file cannot carry: "
            f"{', '.join(map(ascii, unusable[:10]))}.",
            hint="name every column, without carriage returns, NUL characters, byte order marks, "
            "or line ends at its edges.",
        )


def read_arrow(path: Path, limits: Limits = DEFAULT_LIMITS) -> Any:
    """Read an Arrow file, in file or stream format, as an Arrow table.

    Arrow trusts what a file says about itself: offsets and indices that lead outside a buffer crash
    the process. So every batch is validated in full before its values are touched, and the file is
    read into memory first, because truncating a mapped file crashes the process as well.
    """
    with path.open("rb") as file:
        is_stream = file.read(len(_STREAM_MARK)) == _STREAM_MARK
    if not is_stream:
        check_kind(path, b"ARROW1", 0, "an Arrow file")
    try:
        import pyarrow  # noqa: PLC0415 - an extra
    except ImportError:
        raise ParameterError(
            "Arrow files need the extra 'arrow'.", hint="pip install 'shoal-privacy[arrow]'"
        ) from None
    try:
        content = pyarrow.py_buffer(path.read_bytes())
        reader = (pyarrow.ipc.open_stream if is_stream else pyarrow.ipc.open_file)(content)
        batches = _batches(path, reader, limits)
        return pyarrow.Table.from_batches(batches, reader.schema)
    except ShoalError:
        raise
    except Exception as error:  # noqa: BLE001 - pyarrow's errors quote data
        internal_log.info("%s", error)
        raise DataError(
            f"{path.name} is not a whole, valid Arrow file.",
            hint="was it changed, or written only in part? Write it again.",
        ) from None


def _batches(path: Path, reader: Any, limits: Limits) -> Iterator[Any]:
    """Yield the batches of an Arrow file; nothing is unpacked once a limit is exceeded."""
    n_file_bytes, n_expanded = path.stat().st_size, 0
    is_stream = not hasattr(reader, "num_record_batches")
    numbered = range(getattr(reader, "num_record_batches", 0))
    for batch in reader if is_stream else map(reader.get_batch, numbered):
        batch.validate(full=True)
        n_expanded += batch.nbytes
        limits.check_expanded(path.name, n_expanded, n_file_bytes)
        yield batch


def as_registrable(source: Any) -> Any:
    """Return a source as something that DuckDB can register; None if it cannot be read."""
    library = type(source).__module__.split(".")[0].lstrip("_")
    if library == "pandas":
        return source
    if library == "polars":
        return source.collect() if hasattr(source, "collect") else source
    if library == "pyarrow":
        # A stream can be read once only.
        return source.read_all() if hasattr(source, "read_all") else source
    if library == "duckdb" and hasattr(source, "fetchnumpy"):
        return _as_plain_relation(source).fetchnumpy()
    if isinstance(source, Mapping) and source:
        return {str(name): _as_array(column) for name, column in source.items()}
    return None


def _as_array(column: object) -> npt.NDArray[Any]:
    decode = getattr(column, "decode", None)
    if decode is not None and not isinstance(column, (bytes, np.ndarray)):
        column = decode()
    if isinstance(column, np.ndarray):
        return _as_known_to_duckdb(column)
    values = [
        value.item() if isinstance(value, np.generic) else value
        for value in column  # type: ignore[attr-defined]
    ]
    if all(type(value) is int and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    return text_array(values)


def _as_known_to_duckdb(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Convert fixed-length texts, foreign byte orders and days, which DuckDB does not read."""
    if array.dtype.kind == "U":
        return array.astype(object)
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] in "YMWDhm":
        return array.astype("datetime64[s]")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _as_plain_relation(relation: Any) -> Any:
    """Cast 128-bit integers, the type of every sum, to 64 bits: numpy would make them reals."""
    expressions = []
    for column, engine_type in zip(relation.columns, relation.types, strict=True):
        name = quoted(column)
        is_huge = str(engine_type) in ("HUGEINT", "UHUGEINT")
        expressions.append(f"CAST({name} AS BIGINT) AS {name}" if is_huge else name)
    return relation.project(", ".join(expressions))


def column_names(frame: Any) -> list[str]:
    """Return the column names of a result of `as_registrable`."""
    names = frame if isinstance(frame, Mapping) else getattr(frame, "column_names", None)
    return [str(name) for name in (names if names is not None else getattr(frame, "columns", ()))]


def refuse_options(options: Mapping[str, object], kind: str, hint: str = _OPTIONS) -> None:
    """Refuse options that have no meaning for a kind of source."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(f"{', '.join(given)} has no meaning for {kind}.", hint=hint)


def text_option(name: str, value: object) -> str | None:
    """Return an option of CSV files, or None if it was not given."""
    if value is None:
        return None
    if name == "encoding" and not isinstance(value, str):
        raise ParameterError(f"encoding must be a name such as 'cp1252', not {value!r}.")
    if not isinstance(value, str) or (name != "encoding" and len(value) != 1):
        raise ParameterError(f"{name} must be one character, not {value!r}.")
    return value


def frame_orders(frame: Any) -> Orders:
    """Return the orders of the columns of a pandas or polars frame, an Arrow table or a mapping.

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
    # An Enum of polars is always ordered; a Categorical only if it says so.
    is_polars = type(kind).__module__.split(".")[0] == "polars"
    is_enumeration = is_polars and type(kind).__name__ == "Enum"
    if categories is None or not (getattr(kind, "ordered", False) or is_enumeration):
        return None
    return _texts(categories)


def _texts(values: Iterable[Any]) -> tuple[str, ...] | None:
    """Return values as texts; None if some are not: numbers have an order of their own."""
    found = tuple(values)
    return found if found and all(isinstance(value, str) for value in found) else None


def parquet_orders(path: Path) -> Orders:
    """Return the orders of the columns of a Parquet file or folder; none without pyarrow."""
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
    """Yield the ordered columns of every row group of every file, one table each."""
    from pyarrow.parquet import ParquetFile  # noqa: PLC0415 - an extra

    for file in sorted(path.glob("*.parquet")) if path.is_dir() else [path]:
        with ParquetFile(file) as opened:
            ordered = [one.name for one in opened.schema_arrow if _is_ordered(one.type)]
            if not ordered:
                yield opened.schema_arrow.empty_table()
            for group in range(opened.num_row_groups if ordered else 0):
                kept = [one for one in ordered if _has_dictionary(opened.metadata, group, one)]
                table = opened.read_row_group(group, columns=kept)
                # Arrow trusts the indices of a file, and this file may be hostile.
                table.validate(full=True)
                yield table


def _has_dictionary(metadata: Any, group: int, column: str) -> bool:
    """Return whether a row group stores the values of a column in a dictionary."""
    chunks = metadata.row_group(group)
    return any(
        chunk.path_in_schema == column and chunk.has_dictionary_page
        for chunk in map(chunks.column, range(chunks.num_columns))
    )


def _table_orders(tables: Iterable[Any]) -> Orders:
    """Return the orders of the columns on whose order all Arrow tables agree."""
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
    """Return the order that contains all others; None if no order does.

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


def parquet_of_columns(engine: DuckDB, columns: Columns) -> bytes:
    """Return the bytes of a Parquet file with the columns given."""
    directory = PrivateDirectory()
    path = directory.path / _FILE
    # A column of a file may have any text as its name.
    engine.push(_TABLE, {f"c{place}": array for place, array in enumerate(columns.values())})
    named = ", ".join(f"c{place} AS {engine.quote(name)}" for place, name in enumerate(columns))
    try:
        engine.write(f"SELECT {named} FROM {_TABLE}", path, "parquet")
        return path.read_bytes()
    finally:
        engine.drop(_TABLE)
        directory.remove()


def columns_of_parquet(engine: DuckDB, content: bytes, name: str) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of a Parquet file; texts are objects, None where missing.

    `name` is the name of the file in errors.
    """
    directory = PrivateDirectory()
    path = directory.path / _FILE
    try:
        path.write_bytes(content)
        relation = engine.scan_own(path, is_trusted=True).relation
        fetched = engine.rows(f"SELECT * FROM {relation}")
    except EngineError:
        raise DataError(f"{name} cannot be read.", hint="was it changed?") from None
    finally:
        directory.remove()
    return {
        column: array if array.dtype.kind in "biu" else text_array(texts_of(array))
        for column, array in fetched.items()
    }
