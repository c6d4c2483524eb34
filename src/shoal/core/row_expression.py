"""Python expressions over the columns of a row that are safe to take from anyone.

An expression is parsed, not run: what is not on a short list is refused when it is read, and what
is on it cannot reach beyond the values of one row, nor grow without bounds. A missing value is
None. As behind WHERE in SQL, no order holds for it, and what is computed from it is missing.
"""

from __future__ import annotations

import ast
import datetime as dt
import numbers
import operator
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from shoal.core.errors import ParameterError
from shoal.core.hierarchy_rules import iso_date

__all__ = ["Evaluate", "Row", "read_expression"]

Row = Mapping[str, object]
Evaluate = Callable[[Row], Any]
"""Gives what an expression, or a part of one, comes to in a row."""

_LONGEST_TEXT = 10_000
_DEEPEST = 100
_MOST_DIGITS = 20
_MOST_ARGUMENTS = 100
_HINT = (
    'it may hold columns, as age or as col["last name"]; numbers, texts in quotes, True, False, '
    "None; and, or, not, comparisons, in with a list or a text, is None, A if B else C; "
    "+ - * / // %; .startswith() .endswith() .lower() .upper() .strip(); "
    'len() abs() min() max() round() and date("2020-01-31").'
)


def read_expression(text: str) -> tuple[tuple[str, ...], Evaluate]:
    """Read an expression.

    Returns
    -------
    columns
        The columns that it names.
    evaluate
        Gives what it comes to in a row. It raises a TypeError or a ValueError at values of a kind
        that it cannot take, and an ArithmeticError.

    Raises
    ------
    ParameterError
        Where it is none, names no column, or holds anything that is not allowed.

    Examples
    --------
    >>> columns, evaluate = read_expression("age // 10 * 10 if age > 60 else None")
    >>> columns, evaluate({"age": 67})
    (('age',), 60)
    """
    reader = _Reader()
    evaluate = reader.read(_parsed(text))
    if not reader.columns:
        raise ParameterError("A Python filter must name a column.", hint=_HINT)
    return tuple(reader.columns), evaluate


# --- reading ----------------------------------------------------------------------------------


def _parsed(text: str) -> ast.expr:
    try:
        with warnings.catch_warnings():
            # Python warns about odd spellings, which are refused or harmless here.
            warnings.simplefilter("ignore")
            tree = ast.parse(text.strip(), mode="eval") if len(text) <= _LONGEST_TEXT else None
    except SyntaxError:
        raise ParameterError("A Python filter is no Python expression.", hint=_HINT) from None
    except (ValueError, MemoryError, RecursionError):
        tree = None
    if tree is None or _is_deep(tree.body):
        raise ParameterError("A Python filter is too long, or too deeply nested.", hint=_HINT)
    return tree.body


def _is_deep(tree: ast.expr) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(_DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    return bool(level)


_NAMES_OF_NODES = {
    ast.Attribute: "an attribute",
    ast.Call: "a call of other functions, or with other arguments",
    ast.Constant: "a constant other than a number, a text, True, False or None",
    ast.GeneratorExp: "a comprehension",
    ast.DictComp: "a comprehension",
    ast.ListComp: "a comprehension",
    ast.SetComp: "a comprehension",
    ast.Is: "is, but for is None",
    ast.IsNot: "is not, but for is not None",
    ast.JoinedStr: "a text with values in it",
    ast.Lambda: "a function",
    ast.Name: "a name with two underscores in front",
    ast.NamedExpr: "an assignment",
    ast.Pow: "**",
    ast.Subscript: "an index",
}


def _refused(node: ast.AST) -> ParameterError:
    thing = _NAMES_OF_NODES.get(type(node), f"a Python {type(node).__name__}")
    return ParameterError(f"A Python filter may not hold {thing}.", hint=_HINT)


@dataclass(frozen=True, eq=False)
class _Reader:
    """Turns what is on the list into functions of a row, and refuses the rest."""

    columns: dict[str, None] = field(default_factory=dict)

    def read(self, node: ast.expr) -> Evaluate:
        read = _READERS.get(type(node))
        if read is None:
            raise _refused(node)
        return read(self, node)

    def constant(self, node: ast.Constant) -> Evaluate:
        value = node.value
        if value is not None and not isinstance(value, str | int | float):
            raise _refused(node)
        return lambda _: value

    def name(self, node: ast.Name) -> Evaluate:
        if node.id.startswith("__"):
            raise _refused(node)
        return self.column(node.id)

    def subscript(self, node: ast.Subscript) -> Evaluate:
        is_column = isinstance(node.value, ast.Name) and node.value.id == "col"
        column = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if not is_column or not isinstance(column, str):
            raise _refused(node)
        return self.column(column)

    def column(self, column: str) -> Evaluate:
        self.columns[column] = None
        return lambda row: _day_of_midnight(row[column])

    def boolean(self, node: ast.BoolOp) -> Evaluate:
        *parts, last = map(self.read, node.values)
        is_settled = operator.not_ if isinstance(node.op, ast.And) else operator.truth

        def evaluate(row: Row) -> Any:
            for part in parts:
                value = part(row)
                if is_settled(value):
                    return value
            return last(row)

        return evaluate

    def unary(self, node: ast.UnaryOp) -> Evaluate:
        part = self.read(node.operand)
        if isinstance(node.op, ast.Not):
            return lambda row: not part(row)
        if isinstance(node.op, ast.USub):
            return lambda row: _computed(operator.neg, part(row))
        raise _refused(node.op)

    def binary(self, node: ast.BinOp) -> Evaluate:
        function = _ARITHMETIC.get(type(node.op))
        if function is None:
            raise _refused(node.op)
        left, right = self.read(node.left), self.read(node.right)
        return lambda row: _computed(function, left(row), right(row))

    def choice(self, node: ast.IfExp) -> Evaluate:
        test, then, otherwise = map(self.read, (node.test, node.body, node.orelse))
        return lambda row: then(row) if test(row) else otherwise(row)

    def compare(self, node: ast.Compare) -> Evaluate:
        first = self.read(node.left)
        links = [
            (_COMPARISONS[type(link)], self.right_side(link, side))
            for link, side in zip(node.ops, node.comparators, strict=True)
        ]

        def evaluate(row: Row) -> bool:
            left = first(row)
            for holds, side in links:
                right = side(row)
                if not holds(left, right):
                    return False
                left = right
            return True

        return evaluate

    def right_side(self, link: ast.cmpop, node: ast.expr) -> Evaluate:
        is_none = isinstance(node, ast.Constant) and node.value is None
        if isinstance(link, ast.Is | ast.IsNot) and not is_none:
            raise _refused(link)
        is_list = isinstance(node, _LISTS) and isinstance(link, ast.In | ast.NotIn)
        return self.members(node) if is_list else self.read(node)

    def members(self, node: ast.expr) -> Evaluate:
        """Read a list, which stands behind `in`, or in `startswith` and `endswith`."""
        assert isinstance(node, _LISTS)
        parts = [*map(self.read, node.elts)]
        if all(isinstance(part, ast.Constant) for part in node.elts):
            constant = _Members.of(part({}) for part in parts)
            return lambda _: constant
        return lambda row: _Members.of(part(row) for part in parts)

    def call(self, node: ast.Call) -> Evaluate:
        arguments = node.args
        if isinstance(node.func, ast.Attribute):
            found = _METHODS.get(node.func.attr)
            arguments = [node.func.value, *arguments]
        else:
            found = _FUNCTIONS.get(node.func.id) if isinstance(node.func, ast.Name) else None
        if found is None or node.keywords or len(arguments) not in found.n_arguments:
            raise _refused(node)
        if found.function is _date and isinstance(arguments[0], ast.Constant):
            _check_date(arguments[0].value)
        *parts, last = arguments
        takes_list = found.takes_list and isinstance(last, _LISTS)
        read = [*map(self.read, parts), self.members(last) if takes_list else self.read(last)]
        return lambda row: found.of([part(row) for part in read])


_LISTS = ast.Tuple | ast.List | ast.Set
_READERS: dict[type[ast.expr], Callable[[_Reader, Any], Evaluate]] = {
    ast.Constant: _Reader.constant,
    ast.Name: _Reader.name,
    ast.Subscript: _Reader.subscript,
    ast.BoolOp: _Reader.boolean,
    ast.UnaryOp: _Reader.unary,
    ast.BinOp: _Reader.binary,
    ast.IfExp: _Reader.choice,
    ast.Compare: _Reader.compare,
    ast.Call: _Reader.call,
}


def _check_date(given: object) -> None:
    if not isinstance(given, str) or iso_date(given) is None:
        raise ParameterError(
            "A Python filter holds a date that is none.", hint='write it date("2020-01-31").'
        )


# --- evaluating -------------------------------------------------------------------------------


def _day_of_midnight(value: object) -> object:
    """Give the day where a value is its first moment, which is how data frames hold dates."""
    if not isinstance(value, dt.datetime) or value.tzinfo is not None:
        return value
    return value.date() if value.time() == dt.time.min else value


def _kind(value: object) -> str:
    if isinstance(value, str):
        return "text"
    # A moment is a date to Python, but equals none.
    if isinstance(value, dt.date) and not isinstance(value, dt.datetime):
        return "date"
    # The first two are what numbers are as a rule, and are known at once.
    if isinstance(value, (int, float, numbers.Number)):
        return "number"
    raise TypeError


def _check_kinds(values: Iterable[object], kind: str) -> None:
    for value in values:
        if _kind(value) != kind:
            raise TypeError


def _check_alike(left: object, right: object) -> None:
    if _kind(left) != _kind(right):
        raise TypeError


def _computed(function: Callable[..., Any], *values: Any) -> Any:
    """Compute with numbers only: texts could be multiplied, or formatted, without bounds."""
    if any(value is None for value in values):
        return None
    is_span = function is operator.sub and isinstance(values[0], dt.date)
    _check_kinds(values, "date" if is_span else "number")
    return function(*values).days if is_span else function(*values)


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


@dataclass(frozen=True, eq=False)
class _Members:
    """The values of a list, which are of one kind."""

    values: tuple[Any, ...]
    known: frozenset[Any]
    kinds: frozenset[str]

    @classmethod
    def of(cls, given: Iterable[Any]) -> _Members:
        values = tuple(given)
        kinds = frozenset(_kind(value) for value in values if value is not None)
        return cls(values, frozenset(values), kinds)

    def has(self, value: object) -> bool:
        if value is not None and self.kinds - {_kind(value)}:
            raise TypeError
        return value in self.known


def _is_equal(left: Any, right: Any) -> bool:
    if left is None or right is None:
        return left is right
    _check_alike(left, right)
    return bool(left == right)


def _is_in(left: Any, right: Any) -> bool:
    if isinstance(right, _Members):
        return right.has(left)
    if left is None or right is None:
        return False
    _check_kinds([left, right], "text")
    return left in right


def _in_order(function: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    def holds(left: Any, right: Any) -> bool:
        if left is None or right is None:
            return False
        _check_alike(left, right)
        return bool(function(left, right))

    return holds


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Lt: _in_order(operator.lt),
    ast.LtE: _in_order(operator.le),
    ast.Gt: _in_order(operator.gt),
    ast.GtE: _in_order(operator.ge),
    ast.Eq: _is_equal,
    ast.NotEq: lambda left, right: not _is_equal(left, right),
    ast.In: _is_in,
    ast.NotIn: lambda left, right: not _is_in(left, right),
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}


@dataclass(frozen=True, eq=False)
class _Function:
    """A function or method, what it is for, and how many arguments it takes, itself included."""

    function: Callable[..., Any]
    kind: str | None
    n_arguments: Sequence[int] = (1,)
    takes_list: bool = False

    def of(self, values: list[Any]) -> Any:
        if any(value is None for value in values):
            return None
        *others, last = values
        listed = last.values if isinstance(last, _Members) else (last,)
        _check_kinds([*others, *listed], self.kind or _kind(values[0]))
        return self.function(*others, listed if isinstance(last, _Members) else last)


def _date(given: str) -> dt.date:
    date = iso_date(given)
    if date is None:
        raise ValueError
    return date


def _rounded(number: Any, n_digits: Any = 0) -> Any:
    # To round a whole number Python computes that power of ten, however large.
    if not isinstance(n_digits, int) or abs(n_digits) > _MOST_DIGITS:
        raise ValueError
    return round(number, n_digits)


_FUNCTIONS = {
    "len": _Function(len, "text"),
    "abs": _Function(abs, "number"),
    "min": _Function(min, None, range(2, _MOST_ARGUMENTS)),
    "max": _Function(max, None, range(2, _MOST_ARGUMENTS)),
    "round": _Function(_rounded, "number", (1, 2)),
    "date": _Function(_date, "text"),
}
_METHODS = {
    "lower": _Function(str.lower, "text"),
    "upper": _Function(str.upper, "text"),
    "strip": _Function(str.strip, "text"),
    "startswith": _Function(str.startswith, "text", (2,), takes_list=True),
    "endswith": _Function(str.endswith, "text", (2,), takes_list=True),
}
