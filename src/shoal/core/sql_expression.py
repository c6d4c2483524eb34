"""SQL conditions over the columns of a row that are safe to accept from anyone.

A condition is parsed and evaluated here, in the same way for every engine: no part of it reaches an
engine, so it cannot read a file, end a statement or appear in a log. A missing value is NULL, with
the three truth values of SQL. Values of different kinds are never compared: a condition that
silently matches nothing would leave private cells unprotected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from shoal.core.errors import ParameterError
from shoal.core.sql_values import (
    COMPARISONS,
    CONSTANTS,
    FUNCTIONS,
    PRODUCTS,
    SUMS,
    Compute,
    Evaluate,
    Row,
    all_hold,
    among,
    any_holds,
    applied,
    as_date,
    between,
    chained,
    constant,
    day_of_midnight,
    is_distinct,
    is_like,
    negated,
    negative,
    truth,
)

_LONGEST_TEXT = 10_000
_DEEPEST = 40
_MOST_DIGITS = 20
_HINT = (
    "it stands behind WHERE: columns, in double quotes if they are no plain words; numbers, texts "
    "in single quotes, DATE '2020-01-31', TRUE, FALSE, NULL; AND, OR, NOT, comparisons, BETWEEN, "
    "IN, LIKE, IS NULL; + - * / % ||; CASE WHEN; {functions}."
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


def read_expression(text: str) -> tuple[tuple[str, ...], Evaluate]:
    """Read a condition; return the columns that it names, and the function that evaluates it.

    The function takes a row. It raises a TypeError or a ValueError for values of a kind that it
    cannot accept, or an ArithmeticError. Raises a ParameterError if the text is not a condition,
    names no column, or contains anything that is not allowed.

    Examples
    --------
    >>> columns, evaluate = read_expression("age > 60 AND name LIKE 'M%'")
    >>> columns, evaluate({"age": 67, "name": "Mary"}), evaluate({"age": None, "name": "Mary"})
    (('age', 'name'), True, None)
    """
    if len(text) > _LONGEST_TEXT:
        raise _fault(f"is longer than {_LONGEST_TEXT} characters")
    reader = _Reader(_tokens(text))
    evaluate = reader.either()
    reader.expect("end")
    if not reader.columns:
        raise _fault("names no column")
    return tuple(reader.columns), evaluate


def _fault(fault: str) -> ParameterError:
    return ParameterError(
        f"A condition {fault}.", hint=_HINT.format(functions=" ".join(f"{n}()" for n in FUNCTIONS))
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
        return parts[0] if len(parts) == 1 else lambda row: any_holds(part(row) for part in parts)

    def all_of(self) -> Evaluate:
        parts = [self.negation()]
        while self.takes("and"):
            parts.append(self.negation())
        return parts[0] if len(parts) == 1 else lambda row: all_hold(part(row) for part in parts)

    def negation(self) -> Evaluate:
        n_times = 0
        while self.takes("not"):
            n_times += 1
        inner = self.predicate()
        for _ in range(min(n_times, 2 - n_times % 2)):
            inner = negated(inner)
        return inner

    def predicate(self) -> Evaluate:
        left = self.sum()
        for sign, holds in COMPARISONS.items():
            if self.takes(sign):
                return applied(holds, left, self.sum())
        if self.takes("is"):
            return self.identity(left)
        is_negated = self.takes("not")
        if self.takes("between"):
            low = self.sum()
            self.expect("and")
            found = between(left, low, self.sum())
        elif self.takes("in"):
            self.expect("(")
            found = among(left, self.listed())
        elif self.takes("like"):
            found = applied(is_like, left, self.sum())
        elif self.takes("ilike"):
            lower = FUNCTIONS["lower"].compute
            found = applied(is_like, applied(lower, left), applied(lower, self.sum()))
        elif is_negated:
            raise self.unexpected()
        else:
            return left
        return negated(found) if is_negated else found

    def identity(self, left: Evaluate) -> Evaluate:
        is_negated = self.takes("not")
        if self.takes("null"):
            found: Evaluate = lambda row: left(row) is None  # noqa: E731
        elif self.takes("true"):
            found = lambda row: truth(left(row)) is True  # noqa: E731
        elif self.takes("false"):
            found = lambda row: truth(left(row)) is False  # noqa: E731
        elif self.takes("distinct", "from"):
            right = self.sum()
            found = lambda row: is_distinct(left(row), right(row))  # noqa: E731
        else:
            raise self.unexpected()
        return negated(found) if is_negated else found

    # --- values ---

    def sum(self) -> Evaluate:
        return self.chain(self.product, SUMS)

    def product(self) -> Evaluate:
        return self.chain(self.signed, PRODUCTS)

    def chain(self, read: Callable[[], Evaluate], signs: Mapping[str, Compute]) -> Evaluate:
        """Read operands with signs between them, which are computed from left to right."""
        first, rest = read(), []
        while self.next.kind == "sign" and self.next.text in signs:
            compute = signs[self.next.text]
            self.at += 1
            rest.append((compute, read()))
        return chained(first, rest) if rest else first

    def signed(self) -> Evaluate:
        is_negative = False
        while self.next.text in ("-", "+") and self.next.kind == "sign":
            is_negative ^= self.next.text == "-"
            self.at += 1
        inner = self.atom()
        return applied(negative, inner) if is_negative else inner

    def atom(self) -> Evaluate:
        token = self.next
        if self.takes("("):
            inner = self.either()
            self.expect(")")
            return inner
        if token.kind in ("number", "text"):
            self.at += 1
            return constant(_literal(token))
        if token.kind == "quoted":
            self.at += 1
            return self.column(token.text[1:-1].replace('""', '"'))
        if token.kind == "word":
            return self.word(token)
        raise self.unexpected()

    def word(self, token: _Token) -> Evaluate:
        word = token.text.lower()
        following = self.tokens[self.at + 1]
        if word in CONSTANTS:
            self.at += 1
            return constant(CONSTANTS[word])
        if self.takes("case"):
            return self.case()
        if word == "date" and following.kind == "text":
            self.at += 2
            try:
                return constant(as_date(_literal(following)))
            except ValueError:
                raise _fault(f"holds no date at character {following.place}") from None
        if following.kind == "sign" and following.text == "(":
            return self.call(word)
        if word in _RESERVED:
            raise self.unexpected()
        self.at += 1
        return self.column(token.text)

    def column(self, name: str) -> Evaluate:
        self.columns[name] = None
        return lambda row: day_of_midnight(row[name])

    def listed(self) -> list[Evaluate]:
        """Read a list up to its closing parenthesis; the opening one has been read."""
        found = [self.either()]
        while self.takes(","):
            found.append(self.either())
        self.expect(")")
        return found

    def call(self, name: str) -> Evaluate:
        if name not in FUNCTIONS:
            raise _fault(f"calls a function at character {self.next.place} that is not allowed")
        place = self.next.place
        self.at += 2
        arguments = self.listed()
        function = FUNCTIONS[name]
        if not function.least <= len(arguments) <= function.most:
            raise _fault(f"gives a function at character {place} too few or too many arguments")
        if function.takes_missing:
            return lambda row: function.compute(*(one(row) for one in arguments))
        return applied(function.compute, *arguments)

    def case(self) -> Evaluate:
        """Read CASE WHEN ... THEN ... ELSE ... END."""
        choices: list[tuple[Evaluate, Evaluate]] = []
        while self.takes("when"):
            condition = self.either()
            self.expect("then")
            choices.append((condition, self.either()))
        otherwise = self.either() if self.takes("else") else constant(None)
        self.expect("end")
        if not choices:
            raise self.unexpected()

        def evaluate(row: Row) -> Any:
            for condition, then in choices:
                if truth(condition(row)):
                    return then(row)
            return otherwise(row)

        return evaluate


def _literal(token: _Token) -> Any:
    if token.kind == "text":
        return token.text[1:-1].replace("''", "'")
    if sum(sign.isdigit() for sign in token.text) > _MOST_DIGITS:
        raise _fault(f"holds a number of more than {_MOST_DIGITS} digits")
    number = int(token.text) if token.text.isdigit() else float(token.text)
    if not math.isfinite(number):
        raise _fault(f"holds a number at character {token.place} that is too large")
    return number
