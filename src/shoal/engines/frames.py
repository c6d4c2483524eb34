"""Count the lines of a frame without an engine.

To check a table of tens of thousands of rows, an engine takes longer to start than to count. So
the columns of a frame are coded here: each value is numbered by its canonical text, the one that
the engine would give it, and equal lines are counted by their numbers.

Only columns whose texts are known for certain are coded: texts, whole numbers, truth values,
doubles, and categories of texts. A frame with any other column, in whatever role, goes to the
engine, and so does whatever the engine would refuse. `tests/property/test_frames.py` compares both.
"""

from __future__ import annotations

import math
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes
from shoal.core.cells import group, smallest_type
from shoal.core.log import internal_log
from shoal.core.manifest import Manifest
from shoal.core.release import Published
from shoal.core.shapes import DataFile
from shoal.engines._frame_kernels import number_texts
from shoal.engines.limits import DEFAULT_LIMITS, Limits
from shoal.engines.sources import as_registrable, check_column_names
from shoal.engines.sql.line_counts import COUNTERS, CodedColumn, LineCounts, domain_of

MOST_CELLS = 1 << 24
"""The most cells (rows times columns) that are coded here; the engine counts larger frames.

Measured with seven columns of texts, CPU seconds here and in the engine: 2,000 rows .001 and .05,
45,000 rows .005 and .09, 450,000 rows .03 and .4, 2 million rows .1 and 1.5, with a peak of 610 MB
and 915 MB. With nearly as many values as rows both take the same. So it is not time that sets the
limit: 2^24 cells take up to 400 MB, and unlike the engine, this cannot spill to disk.
"""

_SEED = secrets.randbits(64)
"""Makes it hard to prepare texts that collide; no result depends on it."""

_TRUTH = {True: "true", False: "false"}
_SIZES = (8, 16, 32, 64)
_NUMPY = ("object", "bool", "float64", *(f"{u}int{n}" for u in ("", "u") for n in _SIZES))
_MASKED = ("boolean", *(f"{u}Int{n}" for u in ("", "U") for n in _SIZES))
_POLARS = (
    *("String", "Categorical", "Enum", "Boolean", "Float64"),
    *(f"{u}Int{n}" for u in ("", "U") for n in _SIZES),
)
_ARROW_TEXTS = ("string", "large_string", "string_view")
_ARROW_BUFFERS = {"string": np.int32, "large_string": np.int64}
"""The types of texts that lie one behind another, and the type of their offsets."""
_ARROW_NUMBERS = ("bool", "double", *(f"{u}int{n}" for u in ("", "u") for n in _SIZES))


@dataclass(frozen=True, eq=False)
class CodedTexts:
    """A column as codes, and the texts that they stand for.

    Examples
    --------
    >>> found = CodedTexts.of_labels(["b", "a", "b", "c"], np.array([0, 2, -1, 1]), may_lack=True)
    >>> found.texts, found.codes.tolist()
    (['b', 'a', None], [0, 0, 2, 1])
    """

    # The distinct texts, each of which occurs; None is the missing value.
    texts: list[str | None]
    # For each row, the place of its text.
    codes: Codes

    @classmethod
    def of_labels(
        cls, labels: Sequence[str | None], codes: npt.NDArray[Any], *, may_lack: bool
    ) -> CodedTexts:
        """Return a column whose codes number labels, of which some may be equal.

        The code of a missing value is -1. `may_lack` says that some labels may not occur, as in a
        category.
        """
        has_missing = bool(codes.min() < 0)
        is_used = np.ones(len(labels) + 1, dtype=bool)
        is_used[-1] = has_missing
        if may_lack:
            is_used[:-1] = np.bincount(codes[codes >= 0], minlength=len(labels)) > 0
        places: dict[str | None, int] = {}
        place = np.zeros(len(is_used), dtype=smallest_type(len(is_used)))
        for code in np.flatnonzero(is_used).tolist():
            label = labels[code] if code < len(labels) else None
            place[code] = places.setdefault(label, len(places))
        if has_missing or len(places) < len(labels):
            # numpy looks up -1 at the end, which is where the missing value is.
            return cls(list(places), place[codes])
        return cls(list(places), codes.astype(place.dtype, copy=False))


@dataclass(frozen=True, eq=False)
class Frame:
    """The columns of a frame that are asked for, as codes.

    It counts lines as `shoal.engines.sql.published_files.PublishedFiles` does.
    """

    # The names of all columns of the frame, coded or not.
    columns: tuple[str, ...]
    coded: Mapping[str, CodedTexts]

    def published(self, manifest: Manifest) -> Published:
        """Count lines and buckets as any reader of the frame can."""
        return COUNTERS[manifest.shape.model](self, manifest, {})[0]

    def count(self, manifest: Manifest, file: DataFile) -> LineCounts:
        """Count the distinct lines by some columns."""
        coded = [self.coded[column] for column in file.columns]
        n_rows = len(coded[0].codes)
        start, line = group([one.codes for one in coded], [len(one.texts) for one in coded], n_rows)
        # A line is decoded once, however many rows it stands for.
        columns = [self._decoded(manifest, column, start) for column in file.columns]
        return LineCounts(None, columns, np.bincount(line, minlength=len(start)))

    def lines(self, manifest: Manifest, file: DataFile) -> list[CodedColumn]:
        """Return the columns line by line."""
        return [self._decoded(manifest, column, slice(None)) for column in file.columns]

    def check_linking(self, linking: DataFile, files: Sequence[DataFile]) -> None:
        """Do nothing: a frame is one file."""

    def _decoded(self, manifest: Manifest, column: str, rows: Codes | slice) -> CodedColumn:
        """Return the domain of a column, and the codes of some rows in it."""
        coded = self.coded[column]
        domain, code = domain_of(manifest, column, coded.texts)
        return domain, code.astype(smallest_type(domain.size))[coded.codes[rows]]


def code_frame(source: Any, wanted: Sequence[str], limits: Limits = DEFAULT_LIMITS) -> Frame | None:
    """Return the wanted columns of a frame, an Arrow table or a mapping as codes.

    Returns None if it is not certain that the engine would find the same: for a source that is no
    frame, lacks a column, has columns of other types, or has more cells than `MOST_CELLS`.

    Examples
    --------
    >>> found = code_frame({"zip": ["2", "1", "2"], "sex": ["F", None, "F"]}, ["sex"])
    >>> found.columns, found.coded["sex"].texts
    (('zip', 'sex'), ['F', None])
    """
    library = type(source).__module__.split(".")[0]
    coders_of = _CODERS.get("mapping" if isinstance(source, Mapping) else library)
    if coders_of is None or not _is_small(source, len(wanted)):
        return None
    try:
        coders = coders_of(source)
        check_column_names(type(source).__name__, list(coders), limits)
        coded = {name: _checked(coders[name]()) for name in wanted}
    except Exception as error:  # noqa: BLE001 - the engine finds out what is wrong, and says it
        internal_log.info("not counted without an engine: %s", type(error).__name__)
        return None
    return Frame(tuple(coders), coded)


def _is_small(source: Any, n_wanted: int) -> bool:
    """Return whether all columns have the same number of rows, not 0 and not too many."""
    try:
        if isinstance(source, Mapping):
            lengths = {len(column) for column in source.values()}
        else:
            lengths = {len(source)} if len(source.shape) == 2 else set()
    except (AttributeError, TypeError):
        return False
    return len(lengths) == 1 and 0 < lengths.pop() * n_wanted <= MOST_CELLS


def _checked(coded: CodedTexts) -> CodedTexts:
    """Return a column whose texts an engine can hold; raise a ValueError if one is not Unicode."""
    for text in coded.texts:
        if text is not None:
            text.encode()
    return coded


# Libraries -----------------------------------------------------------------------------------
# The name of a type is enough to know what DuckDB makes of its values. A library is never imported
# here: a frame of it is at hand only if it was imported before.

Coder = Callable[[], CodedTexts]
"""Codes a column whose type was found to be known."""


class _UnknownError(Exception):
    """A column has a type, or values, whose texts only the engine knows."""


def _labels(values: Iterable[Any]) -> list[str | None]:
    """Return the canonical texts of values of one plain type; None stays the missing value."""
    return [_label(value) for value in values]


def _label(value: Any) -> str | None:
    kind = type(value)
    if value is None:
        return None
    if kind is str:
        return str(value)
    if kind is bool:
        return _TRUTH[value]
    if kind is int:
        return str(value)
    if kind is float and not math.isnan(value):
        # Adding 0 turns a negative zero into the zero that it equals.
        return repr(value + 0.0)
    raise _UnknownError(kind.__name__)


def _coders_of_pandas(frame: Any) -> dict[str, Coder]:
    pandas = sys.modules["pandas"]
    return {name: _coder_of_series(frame[name], pandas) for name in _own_names(frame.columns)}


def _coder_of_series(series: Any, pandas: Any) -> Coder:
    kind = series.dtype
    if isinstance(kind, pandas.CategoricalDtype):
        categories = _labels(kind.categories)
        if any(type(value) is not str for value in kind.categories):
            raise _UnknownError("category")
        codes = series.cat.codes.to_numpy()
        return lambda: CodedTexts.of_labels(categories, codes, may_lack=True)
    if isinstance(kind, pandas.StringDtype) and hasattr(series.array, "__arrow_array__"):
        return lambda: _encoded(series.array.__arrow_array__())
    if kind == np.dtype(object):
        # DuckDB looks at every object, of whichever column.
        if pandas.api.types.infer_dtype(series, skipna=True) != "string":
            raise _UnknownError("object")
    elif not (isinstance(kind, pandas.StringDtype) or str(kind) in (*_MASKED, *_NUMPY)):
        raise _UnknownError(str(kind))
    return lambda: _factorized(*series.factorize())


def _factorized(codes: npt.NDArray[Any], values: Any) -> CodedTexts:
    return CodedTexts.of_labels(_labels(values.tolist()), codes, may_lack=False)


def _coders_of_polars(frame: Any) -> dict[str, Coder]:
    return {name: _coder_of_polars(frame[name]) for name in _own_names(frame.columns)}


def _coder_of_polars(series: Any) -> Coder:
    if type(series.dtype).__name__ not in _POLARS and str(series.dtype) not in _POLARS:
        raise _UnknownError(str(series.dtype))
    return lambda: _encoded(series.to_arrow())


def _coders_of_arrow(table: Any) -> dict[str, Coder]:
    names = _own_names(table.column_names)
    return {name: _coder_of_arrow(table.column(name)) for name in names}


def _coder_of_arrow(column: Any) -> Coder:
    kind = column.type
    is_encoded = hasattr(kind, "index_type")
    known = _ARROW_TEXTS if is_encoded else (*_ARROW_TEXTS, *_ARROW_NUMBERS)
    if str(kind.value_type if is_encoded else kind) not in known:
        raise _UnknownError(str(kind))
    if not is_encoded:
        return lambda: _encoded(column)
    return lambda: _encoded(column.unify_dictionaries())


def _encoded(array: Any) -> CodedTexts:
    """Return the codes of an Arrow array, in a dictionary or not."""
    if hasattr(array, "chunks"):
        array = array.chunk(0) if array.num_chunks == 1 else array.combine_chunks()
    if str(array.type) in _ARROW_BUFFERS:
        return _numbered_buffers(array)
    may_lack = hasattr(array, "dictionary")
    array = array if may_lack else array.dictionary_encode()
    codes = np.asarray(array.indices.fill_null(0))
    if array.indices.null_count:
        codes = np.where(np.asarray(array.indices.is_null()), -1, codes.astype(np.int64))
    return CodedTexts.of_labels(_labels(array.dictionary.to_pylist()), codes, may_lack=may_lack)


def _numbered_buffers(array: Any) -> CodedTexts:
    """Number the texts of an Arrow array where they are; for short texts, Arrow takes longer."""
    kind = _ARROW_BUFFERS[str(array.type)]
    valid, ends, data = (
        np.empty(0, dtype=np.uint8) if buffer is None else np.frombuffer(buffer, dtype=np.uint8)
        for buffer in array.buffers()
    )
    n_rows, skipped = len(array), array.offset
    # The buffers of a part of an array are those of the whole.
    offsets = ends.view(kind)[skipped : skipped + n_rows + 1].astype(np.int64, copy=False)
    codes, first = np.empty(n_rows, dtype=np.int32), np.empty(n_rows, dtype=np.int64)
    valid = valid if array.null_count else valid[:0]
    n_texts = number_texts(offsets, data, valid, skipped, _SEED, codes, first)
    first = first[:n_texts]
    bounds = zip(offsets[first].tolist(), offsets[first + 1].tolist(), strict=True)
    labels = [data[start:end].tobytes().decode() for start, end in bounds]
    return CodedTexts.of_labels(labels, codes, may_lack=False)


def _coders_of_mapping(columns: Mapping[str, Any]) -> dict[str, Coder]:
    _own_names(columns)
    if not all(_is_read_again(column) for column in columns.values()):
        raise _UnknownError("iterator")
    return {name: _coder_of_array(array) for name, array in as_registrable(columns).items()}


def _is_read_again(column: object) -> bool:
    return isinstance(column, list | tuple | np.ndarray) or hasattr(column, "decode")


def _coder_of_array(array: npt.NDArray[Any]) -> Coder:
    if type(array) is not np.ndarray or array.ndim != 1 or str(array.dtype) not in _NUMPY:
        raise _UnknownError(str(array.dtype))
    if array.dtype != object:
        return lambda: _numbered(array)
    values = array.tolist()
    if not set(map(type, values)) <= {str, type(None)}:
        raise _UnknownError("object")
    return lambda: _numbered_texts(values)


def _numbered(array: npt.NDArray[Any]) -> CodedTexts:
    values, codes = np.unique(array, return_inverse=True)
    # DuckDB takes NaN for missing.
    is_known = np.isfinite(values) | np.isinf(values)
    labels = [
        _label(v) if known else None
        for v, known in zip(values.tolist(), is_known.tolist(), strict=True)
    ]
    return CodedTexts.of_labels(labels, codes, may_lack=False)


def _numbered_texts(values: list[str | None]) -> CodedTexts:
    texts = list(dict.fromkeys(values))
    number = {text: place for place, text in enumerate(texts)}
    codes = np.fromiter(map(number.__getitem__, values), np.int64, len(values))
    return CodedTexts.of_labels(texts, codes, may_lack=False)


def _own_names(names: Iterable[Any]) -> list[str]:
    listed = list(names)
    if not all(type(name) is str for name in listed):
        raise _UnknownError("name")
    return listed


_CODERS: Mapping[str, Callable[[Any], dict[str, Coder]]] = {
    "pandas": _coders_of_pandas,
    "polars": _coders_of_polars,
    "pyarrow": _coders_of_arrow,
    "mapping": _coders_of_mapping,
}
