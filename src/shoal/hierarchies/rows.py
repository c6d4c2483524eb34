"""Hierarchies given row by row.

A row is the path of one leaf: the value, its parent, and so on up to ``*``. Labels are published,
so each must stand for one set of values only, which `Rows.checked` verifies. No message quotes a
label, because it may be a value of the table.

Files of rows have ARX's format: no header, ``;`` between labels, the leaf first and ``*`` last,
double quotes if a label needs them. An empty leaf without quotes is the missing value, ``""`` the
empty text.
"""

from __future__ import annotations

import contextlib
import graphlib
import os
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Integers
from shoal.core.documents import read_whole, sync
from shoal.core.domain import SUPPRESSED, ColumnType, Domain
from shoal.core.errors import EngineError, ParameterError, SchemaError
from shoal.core.tree import MOST_LEVELS, NO_GROUP, Label, Level, unplaced_values
from shoal.hierarchies.rules import Rule

Row = tuple[Label, ...]
"""The labels of one leaf, leaf first; None stands for the missing value."""

_BYTE_ORDER_MARK = "\ufeff"
# A text with leading zeros is not a number: 037 is not 37.
_PLAIN_NUMBER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]{1,3})?")


@dataclass(frozen=True)
class Rows(Rule):
    """The checked rows of a hierarchy: of the same length, ending in ``*``, each leaf once."""

    rows: tuple[Row, ...]

    kind: ClassVar[str] = "rows"

    @classmethod
    def checked(cls, given: object, column: str | None) -> Rows:
        """Check rows given by a caller, and add the top level ``*`` if they lack it."""
        check = _Check(column, _as_rows(given, column))
        check.rows_have_one_length()
        check.only_a_missing_leaf_has_empty_labels()
        check.all_rows_or_none_end_suppressed()
        check.nothing_follows_a_suppressed_label()
        check.a_leaf_has_one_row()
        check.no_label_is_above_itself()
        check.a_label_has_one_parent()
        check.a_label_stands_for_one_set()
        return cls(tuple(dict.fromkeys(check.rows)))

    @property
    def height(self) -> int:
        """The lowest level at which every value is suppressed."""
        columns = zip(*self.rows, strict=True)
        return next(level for level, labels in enumerate(columns) if set(labels) == {SUPPRESSED})

    @property
    def n_leaves(self) -> int:
        """The number of rows."""
        return len(self.rows)

    def levels(self, domain: Domain, counts: Integers | None) -> list[Level]:  # noqa: ARG002
        """Return the levels between the leaves and the root over a domain."""
        picked = self._rows_of(domain)
        return [_level([row[level] for row in picked]) for level in range(1, self.height)]

    def _rows_of(self, domain: Domain) -> list[Row]:
        row_by_leaf = {row[0]: row for row in self.rows}
        texts: list[Label] = domain.texts.tolist()
        if domain.has_missing and None in row_by_leaf:
            texts.append(None)
        found = [row_by_leaf.get(text) for text in texts]
        if domain.type in (ColumnType.INTEGER, ColumnType.REAL) and None in found:
            found = self._found_by_number(texts, found, domain.column)
        lacking = [code for code, row in enumerate(found) if row is None]
        if lacking:
            raise unplaced_values(
                domain,
                lacking,
                f"The hierarchy of column {domain.column!r} must have a row for every value of "
                f"the column; {len(lacking)} of {len(domain.texts)} distinct values have none.",
            )
        return [row for row in found if row is not None]

    def _found_by_number(
        self, texts: list[Label], found: list[Row | None], column: str
    ) -> list[Row | None]:
        """Find numbers that are written differently, such as 37.0 for 37."""
        row_by_number: dict[Decimal, Row] = {}
        n_contradictions = 0
        for row in self.rows:
            number = _plain_number(row[0])
            if number is not None:
                n_contradictions += row_by_number.setdefault(number, row)[1:] != row[1:]
        if n_contradictions:
            raise SchemaError(
                f"The hierarchy of column {column!r} must give equal numbers the same labels; "
                f"{n_contradictions} rows spell a number differently and have other labels.",
                hint="write each number as the table does.",
            )
        numbers = [
            None if row else _plain_number(text) for text, row in zip(texts, found, strict=True)
        ]
        return [
            row if number is None else row_by_number.get(number)
            for number, row in zip(numbers, found, strict=True)
        ]

    def to_config(self) -> dict[str, object]:
        """Return the rows as plain lists."""
        return {"rows": [list(row) for row in self.rows]}


def _level(labels: list[Label]) -> Level:
    group_of: dict[Label, int] = {}
    groups = [
        NO_GROUP if label == SUPPRESSED else group_of.setdefault(label, len(group_of))
        for label in labels
    ]
    return Level(np.array(groups, dtype=np.int64), list(group_of))


def _plain_number(text: Label) -> Decimal | None:
    return Decimal(text) if text is not None and _PLAIN_NUMBER.fullmatch(text) else None


def _as_rows(given: object, column: str | None) -> list[Row]:
    is_list = isinstance(given, Iterable) and not isinstance(given, str | bytes)
    rows = list(given) if is_list else []  # type: ignore[call-overload]
    for number, row in enumerate(rows, start=1):
        is_row = isinstance(row, Sequence) and not isinstance(row, str | bytes)
        if not is_row or not all(label is None or isinstance(label, str) for label in row):
            raise SchemaError(
                f"{_subject(column)} must have rows that are lists of texts; row {number} is not.",
                hint='give rows like ["Private", "Other", "*"], numbers in quotes.',
            )
        if len(row) > MOST_LEVELS:
            raise SchemaError(
                f"{_subject(column)} must have at most {MOST_LEVELS} levels; row {number} has "
                f"{len(row)}.",
                hint="check the delimiter, and that every leaf has its own line.",
            )
    if not rows or not rows[0]:
        raise SchemaError(
            f"{_subject(column)} must have at least one row; got none.",
            hint="give one row for each value, the value first and * last.",
        )
    return [tuple(row) for row in rows]


def _subject(column: str | None) -> str:
    return "The hierarchy" if column is None else f"The hierarchy of column {column!r}"


class _Check:
    """The rules that rows must satisfy; each raises an error for the first row that does not."""

    def __init__(self, column: str | None, rows: list[Row]) -> None:
        self.subject = _subject(column)
        self.rows = rows

    @cached_property
    def by_level(self) -> list[Row]:
        """The labels of all rows, level by level."""
        return list(zip(*self.rows, strict=True))

    def _rows_with(self, label: Label, level: int) -> Iterator[int]:
        """Yield the number of every row that has a label at a level."""
        if label in self.by_level[level]:
            yield from (n for n, other in enumerate(self.by_level[level], 1) if other == label)

    def rows_have_one_length(self) -> None:
        length = len(self.rows[0])
        for number, row in enumerate(self.rows, 1):
            if len(row) != length:
                raise SchemaError(
                    f"{self.subject} must have rows of the same length; row {number} has "
                    f"{len(row)} levels, row 1 has {length}.",
                    hint="repeat a label if a value has fewer levels: White;White;*.",
                )

    def only_a_missing_leaf_has_empty_labels(self) -> None:
        for level in range(1, len(self.by_level)):
            for number in self._rows_with(None, level):
                if self.rows[number - 1][level - 1] is not None:
                    raise SchemaError(
                        f"{self.subject} must have a label at every level; row {number} has none "
                        f"at level {level}.",
                        hint="repeat the label of the level below.",
                    )

    def all_rows_or_none_end_suppressed(self) -> None:
        tops = self.by_level[-1]
        if SUPPRESSED not in tops:
            self.rows = [(*row, SUPPRESSED) for row in self.rows]
            self.by_level.append((SUPPRESSED,) * len(self.rows))
        elif set(tops) != {SUPPRESSED}:
            number = next(number for number, top in enumerate(tops, 1) if top != SUPPRESSED)
            raise SchemaError(
                f"{self.subject} must end in * in every row or in none; row {number} does not, "
                f"{tops.count(SUPPRESSED)} of {len(tops)} rows do.",
                hint="add * as the last label of every row.",
            )

    def nothing_follows_a_suppressed_label(self) -> None:
        for level in range(max(1, len(self.by_level) - 1)):
            for number in self._rows_with(SUPPRESSED, level):
                if level == 0 or self.by_level[level + 1][number - 1] != SUPPRESSED:
                    raise SchemaError(
                        f"{self.subject} must not have * below another label or as a leaf; "
                        f"row {number} has it at level {level}.",
                        hint="* means suppressed; only * may be above it.",
                    )

    def a_leaf_has_one_row(self) -> None:
        distinct = dict.fromkeys(self.rows)
        if len({row[0] for row in distinct}) == len(distinct):
            return
        seen: dict[Label, int] = {}
        for number, row in enumerate(self.rows, 1):
            earlier = seen.setdefault(row[0], number)
            if self.rows[earlier - 1] != row:
                raise SchemaError(
                    f"{self.subject} must have one row per leaf; rows {earlier} and {number} have "
                    "the same leaf and differ above it.",
                    hint="keep one of the two rows.",
                )

    @cached_property
    def parents(self) -> dict[Label, dict[Label, None]]:
        """The other labels directly above each label that is itself above another one."""
        inner = set(chain.from_iterable(self.by_level[1:]))
        parents: dict[Label, dict[Label, None]] = {}
        for labels, labels_above in pairwise(self.by_level):
            for child, parent in dict.fromkeys(zip(labels, labels_above, strict=True)):
                if child != parent and child in inner:
                    parents.setdefault(child, {})[parent] = None
        return parents

    def _where(self, child: Label, parent: Label) -> tuple[int, int]:
        """Return the first row and the level at which one label is directly under another."""
        return next(
            (number, level)
            for number, row in enumerate(self.rows, 1)
            for level, pair in enumerate(pairwise(row))
            if pair == (child, parent)
        )

    def no_label_is_above_itself(self) -> None:
        cycle = _cycle(self.parents)
        if cycle:
            places = sorted(self._where(child, parent) for parent, child in pairwise(cycle[:3]))
            raise SchemaError(
                f"{self.subject} must not have a label above itself; {_said(places)} are on a "
                f"cycle of {len(cycle) - 1} labels.",
                hint="use different labels for a group and for its members.",
            )

    def a_label_has_one_parent(self) -> None:
        for child, parents in self.parents.items():
            if len(parents) > 1:
                places = sorted(self._where(child, parent) for parent in islice(parents, 2))
                raise SchemaError(
                    f"{self.subject} must give a label one parent; {_said(places)} have the same "
                    "label under different parents.",
                    hint="use different labels, or the same parent.",
                )

    def a_label_stands_for_one_set(self) -> None:
        n_levels: Counter[Label] = Counter()
        for labels in self.by_level:
            n_levels.update(set(labels) - {SUPPRESSED})
        repeated = {label for label, number in n_levels.items() if number > 1}
        # A label on several levels stands for one set if each of its rows has it on all of them.
        for number, row in enumerate(self.rows, 1) if repeated else ():
            for level, label in enumerate(row):
                if label in repeated and row.count(label) != n_levels[label]:
                    raise SchemaError(
                        f"{self.subject} must use a label for one set of leaves; the label of row "
                        f"{number} at level {level} stands for another set at another level.",
                        hint="use different labels for a group and for its members.",
                    )


def _said(places: list[tuple[int, int]]) -> str:
    return " and ".join(f"row {number} at level {level}" for number, level in places)


def _cycle(parents: Mapping[Label, Iterable[Label]]) -> list[Label]:
    """Return labels each of which is a parent of the next, ending with the first; empty if none."""
    try:
        graphlib.TopologicalSorter(parents).prepare()
    except graphlib.CycleError as error:
        cycle: list[Label] = error.args[1]
        return cycle
    return []


# Files -------------------------------------------------------------------------------------


def read_rows(path: str | os.PathLike[str], delimiter: str, encoding: str) -> list[list[Label]]:
    """Read the rows of a file, skipping a byte order mark; `Hierarchy.from_rows` checks them."""
    _check_format(delimiter, encoding)
    subject = f"The hierarchy file {os.fspath(path)!r}"
    try:
        content = read_whole(path)
    except OSError as error:
        raise EngineError(
            f"{subject} cannot be read: {error.strerror}.",
            hint="check the path, which is relative to the working folder, and its permissions.",
        ) from None
    return _parse(_decode(content, encoding, subject), delimiter, subject)


def rows_text(rows: Iterable[Sequence[Label]], delimiter: str = ";") -> str:
    r"""Return the content of a file that holds the given rows.

    Examples
    --------
    >>> rows_text([["a;b", "*"], [None, "*"]])
    '"a;b";*\n;*\n'
    """
    return "".join(delimiter.join(_field(label, delimiter) for label in row) + "\n" for row in rows)


def write_rows(
    path: str | os.PathLike[str],
    rows: Iterable[Sequence[Label]],
    delimiter: str = ";",
    encoding: str = "utf-8",
) -> None:
    """Write rows to a file, completely or not at all, replacing an older file.

    None, the missing value, is written as nothing.
    """
    _check_format(delimiter, encoding)
    subject = f"The hierarchy file {os.fspath(path)!r}"
    content = _encode(rows_text(rows, delimiter), encoding, subject)
    target = Path(path)
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    try:
        temporary.write_bytes(content)
        sync(temporary)
        temporary.replace(target)
        # The new name survives a power cut only if the folder is synced; Windows has no such call.
        if os.name == "posix":
            sync(target.parent)
    except OSError as error:
        raise EngineError(
            f"{subject} cannot be written: {error.strerror}.",
            hint="check that the folder exists, its permissions and the free space.",
        ) from None
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def _check_format(delimiter: str, encoding: str) -> None:
    if len(delimiter) != 1 or delimiter in '"\r\n*':
        raise ParameterError(
            "delimiter must be one character other than a quote, a star or a line break; "
            f"got {delimiter!r}.",
            hint="hierarchies of ARX use a semicolon.",
        )
    try:
        "".encode(encoding)
    except LookupError:
        raise ParameterError(
            f"encoding must be one that Python knows; got {encoding!r}.", hint="try utf-8."
        ) from None


def _decode(content: bytes, encoding: str, subject: str) -> str:
    try:
        return content.decode(encoding).removeprefix(_BYTE_ORDER_MARK)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
    # Raised outside the handler, because the decoder's error holds the whole file.
    raise SchemaError(
        f"{subject} must be {encoding} throughout; line {line} is not.",
        hint="save it as UTF-8, or give its encoding.",
    )


def _encode(text: str, encoding: str, subject: str) -> bytes:
    try:
        return text.encode(encoding)
    except UnicodeEncodeError as error:
        line = text.count("\n", 0, error.start) + 1
    raise SchemaError(
        f"{subject} has characters that {encoding} cannot encode, the first in line {line}.",
        hint="write it as utf-8.",
    )


def _parse(text: str, delimiter: str, subject: str) -> list[list[Label]]:
    mark = re.escape(delimiter)
    field = re.compile(
        rf'(?:"(?P<quoted>[^"]*(?:""[^"]*)*)"|(?P<bare>(?!")[^{mark}\r\n]*))(?P<end>{mark}|\r\n?|\n|\Z)'
    )
    rows: list[list[Label]] = []
    row: list[Label] = []
    start = 0
    while start < len(text) or row:
        match = field.match(text, start)
        if match is None:
            raise SchemaError(
                f"{subject} must close a quote at the end of its label; row {len(rows) + 1} "
                "does not.",
                hint='double a quote within a label, and put the label in quotes: "5"" pipe".',
            )
        quoted, bare, end = match.groups()
        row.append((bare or None) if quoted is None else quoted.replace('""', '"'))
        start = match.end()
        if end != delimiter:
            rows.append(row)
            row = []
    while rows and rows[-1] == [None]:
        rows.pop()
    return rows


def _field(label: Label, delimiter: str) -> str:
    if label is None:
        return ""
    needs_quotes = not label or label.startswith(_BYTE_ORDER_MARK)
    if needs_quotes or any(character in label for character in (delimiter, '"', "\r", "\n")):
        return '"' + label.replace('"', '""') + '"'
    return label
