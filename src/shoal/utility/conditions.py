"""The WHERE of a query: one condition per attribute, or an expression over several.

Conditions become marks of the entries of each column. An expression may join columns, as
``age > 60 or disease == "flu"`` does: it is evaluated once for every combination of values that it
could distinguish, and groups of values with the same results are merged. If the result amounts to
one condition per column, it is represented as such.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import cast

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats
from shoal.core.cells import group
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.row_filter import RowFilter
from shoal.utility.estimates import Value
from shoal.utility.linked import Linked

Where = Mapping[str, object] | str | None
"""Conditions by attribute, an expression, or None for all rows.

A condition is a value; a list or set of values; a pair (low, high), where low belongs to the range
and high does not, and None leaves it open; or None for the missing value.
"""

_EPOCH = dt.date(1970, 1, 1)
_MOST_COMBINATIONS = 1_000_000


@dataclass(frozen=True, eq=False)
class Box:
    """One condition per column; `marks` flags the entries that meet it, by column."""

    marks: Mapping[int, Flags]


@dataclass(frozen=True, eq=False)
class Spread:
    """A condition that joins at least two columns."""

    columns: tuple[int, ...]
    groups: tuple[Codes, ...]  # By column, the group of each entry.
    truth: Flags  # Whether each combination of groups meets the condition, one axis per column.


Selection = Box | Spread


def values_of(domain: Domain) -> list[Value]:
    """Return the value of every code as a Python object; None for the missing one.

    Examples
    --------
    >>> values_of(Domain.of_texts("ill", ["false", "true"], type=ColumnType.BOOLEAN))
    [False, True]
    """
    convert: dict[ColumnType, Callable[[str], Value]] = {
        ColumnType.BOOLEAN: lambda text: text == "true",
        ColumnType.DATE: dt.date.fromisoformat,
    }
    if domain.type in (ColumnType.INTEGER, ColumnType.REAL) and domain.numbers is not None:
        is_whole = domain.type is ColumnType.INTEGER
        values: list[Value] = [
            int(number) if is_whole else number for number in domain.numbers.tolist()
        ]
    else:
        values = list(map(convert.get(domain.type, str), domain.texts.tolist()))
    return [*values, None] if domain.has_missing else values


def named_in(where: Where) -> tuple[str, ...]:
    """Return the attributes that a WHERE is about.

    Examples
    --------
    >>> named_in({"age": 22}), named_in("age > 60 OR sex = 'F'")
    (('age',), ('age', 'sex'))
    """
    if isinstance(where, str):
        return tuple(RowFilter.read(where).columns)
    return tuple(where) if isinstance(where, Mapping) else ()


class Reader:
    """Reads conditions about the attributes of a release."""

    def __init__(self, linked: Linked) -> None:
        self._linked = linked
        self._attributes: dict[str, _Attribute] = {}

    def read(self, where: Where) -> Selection:
        """Read a WHERE; raises `ParameterError` for an unknown attribute or an impossible value."""
        if where is None:
            return Box({})
        if isinstance(where, str):
            return self._read_expression(where)
        if not isinstance(where, Mapping):
            raise ParameterError(
                f"where must be a mapping of attributes or a text, not a {type(where).__name__}.",
                hint="for example where={'age': (20, 40)}, or where='age >= 20 and age < 40'.",
            )
        marks: dict[int, Flags] = {}
        for name, condition in where.items():
            attribute = self._attribute(name)
            met = attribute.marks(condition).take(attribute.codes)
            at = self._linked.place_of[name]
            marks[at] = marks[at] & met if at in marks else met
        return Box(marks)

    def _attribute(self, name: str) -> _Attribute:
        if name not in self._attributes:
            domain = self._linked.domain(name)
            column = self._linked.columns[self._linked.place_of[name]]
            self._attributes[name] = _Attribute(domain, column.code_of(name))
        return self._attributes[name]

    def _read_expression(self, text: str) -> Selection:
        condition = RowFilter.read(text)
        domains = {name: self._linked.domain(name) for name in condition.columns}
        places = list(dict.fromkeys(self._linked.place_of[name] for name in domains))
        groups: list[Codes] = []
        chosen: list[dict[str, Codes]] = []
        for at in places:
            column = self._linked.columns[at]
            names = [name for name in column.attributes if name in domains]
            codes = [column.code_of(name) for name in names]
            sizes = [domains[name].size for name in names]
            first, inverse = group(codes, sizes, len(column.count))
            groups.append(inverse)
            chosen.append({name: code[first] for name, code in zip(names, codes, strict=True)})
        truth = _evaluate(condition, chosen, domains)
        return _simplified(places, groups, truth)


def _evaluate(
    condition: RowFilter, chosen: Sequence[Mapping[str, Codes]], domains: Mapping[str, Domain]
) -> Flags:
    """Evaluate an expression for every combination of the columns' groups."""
    shape = tuple(len(next(iter(codes.values()))) for codes in chosen)
    if math.prod(shape) > _MOST_COMBINATIONS:
        raise ParameterError(
            f"The expression would be evaluated for {math.prod(shape)} combinations of values, "
            f"more than {_MOST_COMBINATIONS}.",
            hint="give conditions by attribute, as where={'age': (20, 40)}, or name fewer "
            "attributes.",
        )
    places = np.indices(shape).reshape(len(shape), -1)
    values = {
        name: [listed[code] for code in codes[place].tolist()]
        for place, by_name in zip(places, chosen, strict=True)
        for name, codes in by_name.items()
        for listed in [values_of(domains[name])]
    }
    return condition.rows(values).reshape(shape)


def _simplified(places: Sequence[int], groups: Sequence[Codes], truth: Flags) -> Selection:
    """Merge the groups that the condition does not distinguish, into a `Box` if possible."""
    if not truth.any():
        return Box({places[0]: np.zeros(len(groups[0]), dtype=bool)})
    merged = []
    for axis, codes in enumerate(groups):
        slices = np.moveaxis(truth, axis, 0).reshape(truth.shape[axis], -1)
        _, first, inverse = np.unique(slices, axis=0, return_index=True, return_inverse=True)
        truth = truth.take(first, axis=axis)
        merged.append(inverse.reshape(-1)[codes])
    met = np.argwhere(truth)
    if len(met) == 1:
        # Entries of an axis with one group are not distinguished.
        return Box(
            {
                at: codes == met[0, axis]
                for axis, (at, codes) in enumerate(zip(places, merged, strict=True))
                if truth.shape[axis] > 1
            }
        )
    kept = [axis for axis, size in enumerate(truth.shape) if size > 1]
    return Spread(
        tuple(places[axis] for axis in kept),
        tuple(merged[axis] for axis in kept),
        truth.reshape([truth.shape[axis] for axis in kept]),
    )


class _Attribute:
    """An attribute that conditions are about, with its code in each entry of its column."""

    def __init__(self, domain: Domain, codes: Codes) -> None:
        self.domain = domain
        self.codes = np.ascontiguousarray(codes, dtype=np.intp)

    def marks(self, condition: object) -> Flags:
        """Mark the codes that meet a condition."""
        marks = np.zeros(max(self.domain.size, 1), dtype=bool)
        if isinstance(condition, tuple):
            low, high = self._range(condition)
            marks[low:high] = True
            return marks
        is_several = isinstance(condition, Collection) and not isinstance(condition, str)
        values: list[object] = (
            list(cast(Collection[object], condition)) if is_several else [condition]
        )
        for value in values:
            code = self._code(value)
            if code is not None:
                marks[code] = True
        return marks

    @cached_property
    def _code_of(self) -> dict[str, int]:
        return {text: code for code, text in enumerate(self.domain.texts.tolist())}

    def _code(self, value: object) -> int | None:
        """Return the code of a value; None if the release does not hold it."""
        if value is None:
            return self.domain.missing_code
        if isinstance(value, str) and self.domain.type is not ColumnType.DATE:
            return self._code_of_text(value)
        if isinstance(value, (bool, np.bool_)):
            if self.domain.type is ColumnType.BOOLEAN:
                return self._code_of.get("true" if value else "false")
            raise self._wrong_kind()
        number = self._number(value)
        numbers = self._numbers
        code = int(np.searchsorted(numbers, number))
        return code if code < len(numbers) and numbers[code] == number else None

    def _code_of_text(self, text: str) -> int | None:
        code = self._code_of.get(text)
        kind = self.domain.type
        is_value = kind in (ColumnType.CATEGORICAL, ColumnType.ORDERED) or (
            kind is ColumnType.BOOLEAN and text in ("true", "false")
        )
        # An answer of 0 rows would hide that the question was wrong.
        if code is None and not is_value:
            raise self._wrong_kind()
        return code

    def _range(self, condition: tuple[object, ...]) -> tuple[int, int]:
        """Return the first code of a range and the first one after it."""
        if len(condition) != 2:
            raise ParameterError(
                f"A range of {self.domain.column!r} must be a pair (low, high), not a tuple of "
                f"{len(condition)}.",
                hint="low belongs to the range and high does not; give several values as a list.",
            )
        if not self.domain.type.has_order:
            raise ParameterError(
                f"The values of {self.domain.column!r} have no order, so it has no ranges.",
                hint="give the values, or the published labels, as a list.",
            )
        low, high = condition
        n_values = len(self.domain.texts)
        return (0 if low is None else self._end(low)), (
            n_values if high is None else self._end(high)
        )

    def _end(self, end: object) -> int:
        """Return the first code that is not below an end of a range."""
        if self.domain.type is ColumnType.ORDERED:
            code = self._code_of.get(end) if isinstance(end, str) else None
            if code is None:
                raise ParameterError(
                    f"A range of {self.domain.column!r} must end at values that the release holds.",
                    hint="give the texts of two values, or None where the range is open.",
                )
            return code
        return int(np.searchsorted(self._numbers, self._number(end)))

    @property
    def _numbers(self) -> Floats:
        if self.domain.numbers is None:
            raise self._wrong_kind()
        return self.domain.numbers

    def _number(self, value: object) -> float:
        if self.domain.type is ColumnType.DATE:
            if isinstance(value, str):
                value = _date(value)
            if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
                return float((value - _EPOCH).days)
            raise self._wrong_kind()
        is_number = isinstance(value, Real) and not isinstance(value, (bool, np.bool_))
        if not is_number or math.isnan(value):  # type: ignore[arg-type]
            raise self._wrong_kind()
        return float(value)  # type: ignore[arg-type]

    def _wrong_kind(self) -> ParameterError:
        kinds = {
            ColumnType.DATE: "dates",
            ColumnType.INTEGER: "numbers",
            ColumnType.REAL: "numbers",
            ColumnType.BOOLEAN: "truth values",
        }
        return ParameterError(
            f"A condition on {self.domain.column!r} does not have the type of its values.",
            hint=f"in the release they are {kinds.get(self.domain.type, 'texts')}.",
        )


def _date(text: str) -> dt.date | None:
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None
