"""A table in memory together with its schema.

The papers' tables, the generators and UCI Adult are datasets: columns of equal length, and their
roles. The class is small on purpose: engines read its columns, tests compare them, and
`Dataset.to_csv` writes them as Shoal reads them everywhere (a missing value empty, the empty string
quoted).
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Floats, Integers, Texts
from shoal.core.documents import write_whole
from shoal.core.errors import DataError
from shoal.core.schema import Schema

_ROWS_PER_WRITE = 65_536
_CSV_MARKS = frozenset(',"\r\n')


@dataclass(frozen=True, eq=False, repr=False)
class Encoded:
    """A categorical column as codes and labels.

    Parameters
    ----------
    codes
        One integer per row: the index of its label, -1 if the value is missing.
    labels
        The texts that the codes stand for.

    Examples
    --------
    >>> column = Encoded(np.array([1, 0, -1]), ("F", "M"))
    >>> column
    Encoded(3 rows, 2 labels)
    >>> column.decode().tolist()
    ['M', 'F', None]
    """

    codes: npt.NDArray[np.integer[Any]]
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)

    def __repr__(self) -> str:
        return f"Encoded({len(self)} rows, {len(self.labels)} labels)"

    def decode(self) -> Texts:
        """Return the column as an array of texts, None where a value is missing."""
        texts: Texts = _objects([*self.labels, None])[self.codes]
        return texts

    def take(self, indices: npt.ArrayLike) -> Encoded:
        """Return the rows at some indices, in their order, or those that a mask selects."""
        return Encoded(self.codes[np.asarray(indices)], self.labels)


Column: TypeAlias = Texts | Integers | Floats | Encoded
"""Texts (None where missing), integers, reals (NaN where missing), or codes with labels."""


Given: TypeAlias = Column | Sequence[int] | Sequence[float] | Sequence[str | None]


def _read_columns(columns: Mapping[str, Given]) -> Mapping[str, Column]:
    return MappingProxyType({name: _column(name, values) for name, values in columns.items()})


@attrs.frozen(eq=False, repr=False)
class Dataset:
    """Columns of equal length with their schema.

    Parameters
    ----------
    name
        A short name, for reports.
    columns
        The columns in order. Lists are accepted: of integers, of reals, or of texts and None.
    schema
        The role of every column, with types and hierarchies.

    Raises
    ------
    DataError
        If the columns differ in length, or hold values of another type.
    SchemaError
        If a column has no role, or a role has no column.

    Examples
    --------
    >>> people = Dataset(
    ...     "people",
    ...     {"age": [29, 43], "disease": ["flu", None]},
    ...     Schema(quasi=["age"], sensitive="disease"),
    ... )
    >>> people
    Dataset('people', 2 rows, 2 columns: 1 quasi-identifying, 1 sensitive)
    >>> people.to_dict()
    {'age': [29, 43], 'disease': ['flu', None]}
    """

    name: str
    columns: Mapping[str, Column] = attrs.field(converter=_read_columns)
    schema: Schema

    def __attrs_post_init__(self) -> None:
        lengths = {len(values) for values in self.columns.values()}
        if len(lengths) > 1:
            raise DataError(
                f"The columns of dataset {self.name!r} have {len(lengths)} different lengths.",
                hint="give every column one value per row.",
            )
        self.schema.check_columns(list(self.columns))

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return next((len(values) for values in self.columns.values()), 0)

    def __repr__(self) -> str:
        roles = list(self.schema.roles.values())
        counted = [f"{roles.count(role)} {role}" for role in dict.fromkeys(roles)]
        return (
            f"Dataset({self.name!r}, {self.n_rows} rows, "
            f"{len(self.columns)} columns: {', '.join(counted)})"
        )

    def take(self, indices: npt.ArrayLike) -> Dataset:
        """Return the dataset with the rows at some indices, or those that a mask selects.

        Examples
        --------
        >>> from shoal.datasets import papers
        >>> papers.injector_patients().take([0, 3]).columns["zip_code"].tolist()
        ['47677', '47905']
        """
        chosen = np.asarray(indices)
        if chosen.size == 0:
            chosen = chosen.astype(np.int64)
        taken: dict[str, Column] = {
            column: values.take(chosen) if isinstance(values, Encoded) else values[chosen]
            for column, values in self.columns.items()
        }
        return Dataset(self.name, taken, self.schema)

    def to_dict(self) -> dict[str, list[Any]]:
        """Return every column as a list of plain Python values, None where one is missing."""
        return {column: _plain(values) for column, values in self.columns.items()}

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the table as CSV with a header, whole or not at all.

        Parameters
        ----------
        path
            The file to write; an existing file is replaced once the new one is complete.

        Notes
        -----
        A missing value is empty and unquoted, the empty string is quoted, and other texts are
        quoted if CSV requires it. Lines end with a line feed. Only the owner may read the file.

        Raises
        ------
        EngineError
            If the file cannot be written.
        """
        write_whole(Path(path), self._lines())

    def _lines(self) -> Iterator[str]:
        yield ",".join(_quoted(column) for column in self.columns) + "\n"
        for start in range(0, self.n_rows, _ROWS_PER_WRITE):
            stop = start + _ROWS_PER_WRITE
            fields = [_fields(values, start, stop) for values in self.columns.values()]
            yield "\n".join(map(",".join, zip(*fields, strict=True))) + "\n"


def _objects(values: Sequence[object]) -> Texts:
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _column(name: str, values: Column | Sequence[Any]) -> Column:
    if isinstance(values, Encoded):
        return values
    if isinstance(values, np.ndarray):
        array = values
    elif all(isinstance(value, str | None) for value in values):
        return _objects(values)
    else:
        array = np.asarray(values)
    if array.dtype.kind in "iu":
        return array.astype(np.int64, copy=False)
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind == "O" and all(isinstance(value, str | None) for value in array):
        return array
    raise DataError(
        f"Column {name!r} holds neither integers, reals nor texts.",
        hint="give numbers, or texts with None where a value is missing.",
    )


def _plain(values: Column) -> list[Any]:
    array = values.decode() if isinstance(values, Encoded) else values
    plain: list[Any] = array.tolist()
    if array.dtype.kind == "f":
        return [None if math.isnan(value) else value for value in plain]
    return plain


def _quoted(text: str) -> str:
    if text and text == text.strip() and _CSV_MARKS.isdisjoint(text):
        return text
    return '"' + text.replace('"', '""') + '"'


def _fields(values: Column, start: int, stop: int) -> list[str]:
    if isinstance(values, Encoded):
        written = [*map(_quoted, values.labels), ""]
        return [written[code] for code in values.codes[start:stop].tolist()]
    plain = _plain(values[start:stop])
    if values.dtype.kind == "O":
        return ["" if text is None else _quoted(text) for text in plain]
    return ["" if number is None else str(number) for number in plain]
