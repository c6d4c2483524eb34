"""Filters of rows: an SQL condition over columns, or in Python a function of a row.

A filter is evaluated once for all rows that are alike in its columns. Its errors never show a value
of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.core.arrays import Flags, Integers
from shoal.core.cells import group
from shoal.core.errors import ParameterError
from shoal.core.log import internal_log
from shoal.core.sql_expression import read_expression
from shoal.core.sql_values import Evaluate, Row, truth


@dataclass(frozen=True, eq=False, repr=False)
class RowFilter:
    """An SQL condition over columns that selects rows; `RowFilter.read` makes it."""

    columns: tuple[str, ...]
    evaluate: Evaluate

    @classmethod
    def read(cls, text: str) -> RowFilter:
        """Read a condition such as ``age > 60 AND sex = 'F'``.

        The difference of two dates is a number of days. Raises a ParameterError if the text is not
        a condition, names no column, or contains anything that is not allowed.

        Examples
        --------
        >>> RowFilter.read("age > 60 AND " + '"last name" = sex').columns
        ('age', 'last name', 'sex')
        """
        return cls(*read_expression(text))

    def rows(self, values: Mapping[str, Sequence[object]]) -> Flags:
        """Mark the rows for which the condition is true; rows that are alike are evaluated once.

        `values` holds for each column the value of each row: a number, a text, a truth value or a
        date; None if it is missing. A timestamp counts as a date if it is midnight. As after WHERE,
        a row is selected only if the condition is true: if it is NULL because a value is missing,
        neither ``age > 60`` nor ``NOT age > 60`` selects the row. Raises a ParameterError if a
        column is not there, or if values are of a kind that the condition cannot accept: a text is
        never compared with a number, because a condition that silently matches nothing would leave
        private cells unprotected.

        Examples
        --------
        >>> RowFilter.read("age > 60").rows({"age": [61, None, 60]}).tolist()
        [True, False, False]
        >>> RowFilter.read("age IS NULL").rows({"age": [61, None, 60]}).tolist()
        [False, True, False]
        """
        for column in self.columns:
            if column not in values:
                raise ParameterError(
                    f"A condition names {column!r}, which is no column of the table.",
                    hint=f"its columns are {', '.join(values)}.",
                )
        distinct, inverse = _distinct_rows({column: values[column] for column in self.columns})
        found = np.fromiter(map(self._is_let_through, distinct), dtype=np.bool_)
        return found[inverse]

    def _is_let_through(self, row: Row) -> bool:
        try:
            return truth(self.evaluate(row)) is True
        except (TypeError, ValueError):
            fault = "meets values of a kind that it cannot take, such as a text for a number"
            hint = "write texts in single quotes, numbers without, dates as DATE '2020-01-31'."
        except ArithmeticError:
            fault = "divides by zero, or computes a number that is too large"
            hint = "exclude such rows first, as in: size <> 0 AND income / size > 3."
        raise ParameterError(
            f"The condition on {', '.join(map(repr, self.columns))} {fault}.", hint=hint
        )

    def __repr__(self) -> str:
        return f"RowFilter({len(self.columns)} columns)"


def rows_of_function(
    function: Callable[[Mapping[str, Any]], object], values: Mapping[str, Sequence[object]]
) -> Flags:
    """Mark the rows for which a function returns true; it is called once for rows that are alike.

    The function is called with a row as a mapping of columns to values; a missing value is None.
    Raises a ParameterError if the function fails; the internal log has its error.

    Examples
    --------
    >>> rows_of_function(lambda row: row["age"] > 60, {"age": [61, 60]}).tolist()
    [True, False]
    """
    distinct, inverse = _distinct_rows(values)
    try:
        found = np.fromiter((bool(function(row)) for row in distinct), dtype=np.bool_)
    except Exception as error:  # noqa: BLE001 - it is the steward's function, and may raise any
        internal_log.info("A Python function that filters rows failed: %r", error)
        raise ParameterError(
            f"The Python function that filters rows failed with {type(error).__name__}.",
            hint="it is called with a mapping of columns to values, None if missing; the columns "
            f"are {', '.join(values)}.",
        ) from None
    return found[inverse]


# --- rows that are alike ----------------------------------------------------------------------


def _distinct_rows(
    values: Mapping[str, Sequence[object]],
) -> tuple[Iterator[dict[str, object]], Integers]:
    """Return the distinct rows, and for each row its place among them."""
    coded = [_coded(column) for column in values.values()]
    n_rows = len(coded[0][1]) if coded else 0
    sizes = [len(distinct) for distinct, _ in coded]
    first, inverse = group([codes for _, codes in coded], sizes, n_rows)
    picked = [[distinct[code] for code in codes[first].tolist()] for distinct, codes in coded]
    rows = (dict(zip(values, row, strict=True)) for row in zip(*picked, strict=True))
    return rows, inverse


def _coded(values: Sequence[object]) -> tuple[list[object], Integers]:
    """Return the distinct values of a column, and for each row its place among them."""
    listed = list(values)
    # The type is part of the key because True, 1 and 1.0 are equal.
    keys = list(zip(map(type, listed), listed, strict=True))
    try:
        place_of = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    except TypeError:
        return listed, np.arange(len(listed))
    codes = np.fromiter(map(place_of.__getitem__, keys), dtype=np.int64, count=len(keys))
    return [
        value.item() if isinstance(value, np.generic) else value for _, value in place_of
    ], codes
