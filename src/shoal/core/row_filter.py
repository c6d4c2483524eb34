"""Filters of rows: an SQL condition over columns, or in Python a function of a row.

A filter is evaluated once for all rows that are alike in its columns. Its errors never show a value
of the table.

SQL conditions are safe to accept from anyone. A condition is parsed and evaluated here, in the same
way for every engine: no part of it reaches an engine, so it cannot read a file, end a statement or
appear in a log. `shoal.core.sql_values` evaluates its parts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.core import sql_values as sql
from shoal.core.arrays import Flags, Integers
from shoal.core.cells import group
from shoal.core.errors import ParameterError, suggestion
from shoal.core.log import internal_log
from shoal.core.sql_values import Compute, Evaluate, Row

_LONGEST_TEXT = 10_000
_DEEPEST = 40
_MOST_DIGITS = 20
_HINT = (
    "write what follows WHERE: columns, in double quotes unless they are plain words; numbers, "
    "texts in single quotes, DATE '2020-01-31', TRUE, FALSE, NULL; AND, OR, NOT, comparisons, "
    "BETWEEN, IN, LIKE, IS NULL; + - * / % ||; CASE WHEN; {functions}."
)
_TOKEN = re.compile(
    r"""\s*(?:
    (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))
    |(?P<text>'(?:[^']|'')*')
    |(?P<quoted>"(?:[^"]|"")+")
    |(?P<word>[^\W\d]\w*)
    |(?P<sign>(?!--|/\*)(?:<>|!=|<=|>=|\|\||[-+*/%(),=<>]))
    |(?P<end>\Z)
    )""",
    re.VERBOSE,
)
_RESERVED = frozenset({
    "and", "or", "not", "in", "is", "like", "ilike", "between", "case", "when", "then", "else",
    "end", "null", "true", "false", "from", "select", "where", "distinct", "as", "union", "exists",
    "with",
})  # fmt: skip


@dataclass(frozen=True, eq=False, repr=False)
class RowFilter:
    """An SQL condition over columns that selects rows; `RowFilter.read` makes it."""

    columns: tuple[str, ...]
    # Takes a row; raises a TypeError, ValueError or ArithmeticError for values it cannot accept.
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
        if len(text) > _LONGEST_TEXT:
            raise _fault(f"is longer than {_LONGEST_TEXT} characters")
        reader = _Reader(_tokens(text))
        evaluate = reader.either()
        reader.expect("end")
        if not reader.columns:
            raise _fault("names no column")
        return cls(tuple(reader.columns), evaluate)

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
                    hint=suggestion(column, values, "its columns are"),
                )
        distinct, inverse = _distinct_rows({column: values[column] for column in self.columns})
        found = np.fromiter(map(self._is_let_through, distinct), dtype=np.bool_)
        return found[inverse]

    def _is_let_through(self, row: Row) -> bool:
        try:
            return sql.truth(self.evaluate(row)) is True
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


# --- reading a condition --------------------------------------------------------------------------


def _fault(fault: str) -> ParameterError:
    return ParameterError(
        f"A condition {fault}.",
        hint=_HINT.format(functions=" ".join(f"{n}()" for n in sql.FUNCTIONS)),
    )


@dataclass(frozen=True)
class _Token:
    """A part of the text: a number, a text, a quoted name, a word, a sign or the end.

    `text` is as written; `place` is where it begins, counted from 1.
    """

    kind: str
    text: str
    place: int


def _tokens(text: str) -> list[_Token]:
    found, place = [], 0
    while True:
        match = _TOKEN.match(text, place)
        if match is None:
            blank = len(text[place:]) - len(text[place:].lstrip())
            raise _fault(f"cannot be read at character {place + blank + 1}")
        kind = str(match.lastgroup)
        found.append(_Token(kind, match[kind], match.start(kind) + 1))
        if kind == "end":
            return found
        place = match.end()


@dataclass(eq=False)
class _Reader:
    """Reads tokens into functions of a row, by recursive descent; `at` is the next token."""

    tokens: list[_Token]
    columns: dict[str, None] = field(default_factory=dict)
    at: int = 0
    depth: int = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.at]

    def takes(self, *texts: str) -> bool:
        """Consume words or signs if they come next, in this order."""
        following = self.tokens[self.at : self.at + len(texts)]
        is_there = [token.text.lower() for token in following] == list(texts) and all(
            token.kind in ("word", "sign") for token in following
        )
        self.at += len(texts) if is_there else 0
        return is_there

    def expect(self, text: str) -> None:
        if text == "end" and self.next.kind == "end" and not self.next.text:
            return
        if not self.takes(text):
            raise self.unexpected()

    def unexpected(self) -> ParameterError:
        if self.next.kind == "end":
            return _fault("ends too early")
        return _fault(f"cannot be read from character {self.next.place} on")

    # --- truth values ---

    def either(self) -> Evaluate:
        self.depth += 1
        if self.depth > _DEEPEST:
            raise _fault("is too deeply nested")
        parts = [self.all_of()]
        while self.takes("or"):
            parts.append(self.all_of())
        self.depth -= 1
        return (
            parts[0] if len(parts) == 1 else lambda row: sql.any_holds(part(row) for part in parts)
        )

    def all_of(self) -> Evaluate:
        parts = [self.negation()]
        while self.takes("and"):
            parts.append(self.negation())
        return (
            parts[0] if len(parts) == 1 else lambda row: sql.all_hold(part(row) for part in parts)
        )

    def negation(self) -> Evaluate:
        n_times = 0
        while self.takes("not"):
            n_times += 1
        inner = self.predicate()
        for _ in range(min(n_times, 2 - n_times % 2)):
            inner = sql.negated(inner)
        return inner

    def predicate(self) -> Evaluate:
        left = self.sum()
        for sign, holds in sql.COMPARISONS.items():
            if self.takes(sign):
                return sql.applied(holds, left, self.sum())
        if self.takes("is"):
            return self.identity(left)
        is_negated = self.takes("not")
        if self.takes("between"):
            low = self.sum()
            self.expect("and")
            found = sql.between(left, low, self.sum())
        elif self.takes("in"):
            self.expect("(")
            found = sql.among(left, self.listed())
        elif self.takes("like"):
            found = sql.applied(sql.is_like, left, self.sum())
        elif self.takes("ilike"):
            lower = sql.FUNCTIONS["lower"].compute
            found = sql.applied(
                sql.is_like, sql.applied(lower, left), sql.applied(lower, self.sum())
            )
        elif is_negated:
            raise self.unexpected()
        else:
            return left
        return sql.negated(found) if is_negated else found

    def identity(self, left: Evaluate) -> Evaluate:
        is_negated = self.takes("not")
        if self.takes("null"):
            found: Evaluate = lambda row: left(row) is None  # noqa: E731
        elif self.takes("true"):
            found = lambda row: sql.truth(left(row)) is True  # noqa: E731
        elif self.takes("false"):
            found = lambda row: sql.truth(left(row)) is False  # noqa: E731
        elif self.takes("distinct", "from"):
            right = self.sum()
            found = lambda row: sql.is_distinct(left(row), right(row))  # noqa: E731
        else:
            raise self.unexpected()
        return sql.negated(found) if is_negated else found

    # --- values ---

    def sum(self) -> Evaluate:
        return self.chain(self.product, sql.SUMS)

    def product(self) -> Evaluate:
        return self.chain(self.signed, sql.PRODUCTS)

    def chain(self, read: Callable[[], Evaluate], signs: Mapping[str, Compute]) -> Evaluate:
        """Read operands with signs between them, which are computed from left to right."""
        first, rest = read(), []
        while self.next.kind == "sign" and self.next.text in signs:
            compute = signs[self.next.text]
            self.at += 1
            rest.append((compute, read()))
        return sql.chained(first, rest) if rest else first

    def signed(self) -> Evaluate:
        is_negative = False
        while self.next.text in ("-", "+") and self.next.kind == "sign":
            is_negative ^= self.next.text == "-"
            self.at += 1
        inner = self.atom()
        return sql.applied(sql.negative, inner) if is_negative else inner

    def atom(self) -> Evaluate:
        token = self.next
        if self.takes("("):
            inner = self.either()
            self.expect(")")
            return inner
        if token.kind in ("number", "text"):
            self.at += 1
            return sql.constant(_literal(token))
        if token.kind == "quoted":
            self.at += 1
            return self.column(token.text[1:-1].replace('""', '"'))
        if token.kind == "word":
            return self.word(token)
        raise self.unexpected()

    def word(self, token: _Token) -> Evaluate:
        word = token.text.lower()
        following = self.tokens[self.at + 1]
        if word in sql.CONSTANTS:
            self.at += 1
            return sql.constant(sql.CONSTANTS[word])
        if self.takes("case"):
            return self.case()
        if word == "date" and following.kind == "text":
            self.at += 2
            try:
                return sql.constant(sql.as_date(_literal(following)))
            except ValueError:
                raise _fault(f"has no valid date at character {following.place}") from None
        if following.kind == "sign" and following.text == "(":
            return self.call(word)
        if word in _RESERVED:
            raise self.unexpected()
        self.at += 1
        return self.column(token.text)

    def column(self, name: str) -> Evaluate:
        self.columns[name] = None
        return lambda row: sql.day_of_midnight(row[name])

    def listed(self) -> list[Evaluate]:
        """Read a list up to its closing parenthesis; the opening one has been read."""
        found = [self.either()]
        while self.takes(","):
            found.append(self.either())
        self.expect(")")
        return found

    def call(self, name: str) -> Evaluate:
        if name not in sql.FUNCTIONS:
            raise _fault(f"calls a function at character {self.next.place} that is not allowed")
        place = self.next.place
        self.at += 2
        arguments = self.listed()
        function = sql.FUNCTIONS[name]
        if not function.least <= len(arguments) <= function.most:
            raise _fault(f"gives a function at character {place} too few or too many arguments")
        if function.takes_missing:
            return lambda row: function.compute(*(one(row) for one in arguments))
        return sql.applied(function.compute, *arguments)

    def case(self) -> Evaluate:
        """Read CASE WHEN ... THEN ... ELSE ... END."""
        choices: list[tuple[Evaluate, Evaluate]] = []
        while self.takes("when"):
            condition = self.either()
            self.expect("then")
            choices.append((condition, self.either()))
        otherwise = self.either() if self.takes("else") else sql.constant(None)
        self.expect("end")
        if not choices:
            raise self.unexpected()

        def evaluate(row: Row) -> Any:
            for condition, then in choices:
                if sql.truth(condition(row)):
                    return then(row)
            return otherwise(row)

        return evaluate


def _literal(token: _Token) -> Any:
    if token.kind == "text":
        return token.text[1:-1].replace("''", "'")
    if sum(sign.isdigit() for sign in token.text) > _MOST_DIGITS:
        raise _fault(f"has a number of more than {_MOST_DIGITS} digits")
    number = int(token.text) if token.text.isdigit() else float(token.text)
    if not math.isfinite(number):
        raise _fault(f"has a number at character {token.place} that is too large")
    return number
