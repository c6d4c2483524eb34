"""Turn frames, mappings and Arrow files into what DuckDB can register."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.errors import DataError, ParameterError, ShoalError
from shoal.core.log import internal_log
from shoal.engines.csv_dialect import check_kind, refuse_like_names, unusable_names
from shoal.engines.limits import Limits

__all__ = [
    "SOURCES",
    "as_registrable",
    "check_column_names",
    "column_names",
    "read_arrow",
    "refuse_options",
    "text_option",
]

SOURCES = (
    "CSV (.csv, .tsv, .txt, also .gz), Parquet (.parquet), Arrow (.arrow, .feather), a DuckDB file "
    "(.duckdb) with a table, an Arrow table, a pandas or polars frame, or a mapping of columns"
)
"""What the embedded engine reads."""
_STREAM_MARK = b"\xff\xff\xff\xff"


def check_column_names(source: str, names: Sequence[str], limits: Limits | None = None) -> None:
    """Refuse too many names, and names that SQL takes for one or that no CSV file could carry."""
    (Limits() if limits is None else limits).check_columns(source, len(names))
    refuse_like_names(source, names)
    unusable = [names[number - 1] for number in unusable_names(names)]
    if unusable:
        raise DataError(
            f"{source} has column names that a CSV file cannot carry: "
            f"{', '.join(map(ascii, unusable[:10]))}.",
            hint="name every column, without line ends at its edges, carriage returns, NUL "
            "characters or byte order marks.",
        )


def read_arrow(path: Path, limits: Limits | None = None) -> Any:
    """Read an Arrow file, in the format of files or of streams, as an Arrow table.

    Arrow trusts what a file says about itself: offsets and indices that lead outside of a buffer
    end the process. So every batch is validated in full before anything touches its values, and the
    file is read into memory first: a mapped file that somebody cuts ends the process as well.

    Parameters
    ----------
    path
        The file.
    limits
        What it may expand to, batch by batch; the usual ones by default.

    Raises
    ------
    DataError
        If the file is not a whole, valid Arrow file.
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
        batches = _batches(path, reader, Limits() if limits is None else limits)
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
    """Read the batches of an Arrow file one after the other; nothing is unpacked after a limit."""
    n_file_bytes, n_expanded = path.stat().st_size, 0
    is_stream = not hasattr(reader, "num_record_batches")
    numbered = range(getattr(reader, "num_record_batches", 0))
    for batch in reader if is_stream else map(reader.get_batch, numbered):
        batch.validate(full=True)
        n_expanded += batch.nbytes
        limits.check_expanded(path.name, n_expanded, n_file_bytes)
        yield batch


def as_registrable(source: Any) -> Any:
    """Turn a source into something that DuckDB can register, or give None."""
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
    values = [_as_python(value) for value in column]  # type: ignore[attr-defined]
    if all(type(value) is int and -(2**63) <= value < 2**63 for value in values):
        return np.array(values, dtype=np.int64)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _as_known_to_duckdb(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Turn texts of fixed length, foreign byte orders and days into what DuckDB reads."""
    if array.dtype.kind == "U":
        return array.astype(object)
    if array.dtype.kind == "M" and np.datetime_data(array.dtype)[0] in "YMWDhm":
        return array.astype("datetime64[s]")
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def _as_python(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _as_plain_relation(relation: Any) -> Any:
    """Cut whole numbers of 128 bits, which every sum has, to 64: numpy would make them reals."""
    expressions = []
    for column, engine_type in zip(relation.columns, relation.types, strict=True):
        name = '"' + column.replace('"', '""') + '"'
        is_huge = str(engine_type) in ("HUGEINT", "UHUGEINT")
        expressions.append(f"CAST({name} AS BIGINT) AS {name}" if is_huge else name)
    return relation.project(", ".join(expressions))


def column_names(frame: Any) -> list[str]:
    """Name the columns of what `as_registrable` gave."""
    names = frame if isinstance(frame, Mapping) else getattr(frame, "column_names", None)
    return [str(name) for name in (names if names is not None else getattr(frame, "columns", ()))]


def refuse_options(options: dict[str, object], kind: str) -> None:
    """Refuse options that have no meaning for a kind of source."""
    given = [name for name, value in options.items() if value is not None]
    if given:
        raise ParameterError(
            f"{', '.join(given)} has no meaning for {kind}.",
            hint="delimiter, quote and encoding go with CSV, table with a DuckDB file.",
        )


def text_option(name: str, value: object) -> str | None:
    """Read an option of CSV files."""
    if value is None:
        return None
    if name == "encoding" and not isinstance(value, str):
        raise ParameterError(f"encoding must be a name such as 'cp1252', not {value!r}.")
    if not isinstance(value, str) or (name != "encoding" and len(value) != 1):
        raise ParameterError(f"{name} must be one character, not {value!r}.")
    return value
