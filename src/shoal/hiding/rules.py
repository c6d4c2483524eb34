"""Adversarial rules as arrays, one element per rule, and as objects one by one.

Tables have thousands of rules, so each part of a rule is an array; iteration makes objects. Values
are codes. The sensitive cells of rules are those that weigh against at least one of them; to find
them for a hundred thousand rules at once, rows are bits, 64 per word. The kernels that blank and
restore cells follow rules over a changing table: for them, `FollowedRules` lays rules out by
antecedent, with the rows in which each antecedent appears.

References
----------
[Aggarwal06] (see `shoal.hiding`) sections 3 and 6.1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Small, Words, marks_of, words_of
from shoal.core.errors import ParameterError
from shoal.core.progress import TooMuchWork
from shoal.hiding._follow_kernels import count_rules, find_members, index_by_row
from shoal.hiding.cells import NO_ITEM, PRIVATE, VISIBLE, HiddenTable, Packed


@dataclass(frozen=True, repr=False)
class CodedRule:
    """Rows that show the antecedent have the value in the column, according to the public set.

    `antecedent` (X) maps the place of a column to the code of its value; `column` (Y) and `value`
    (y) are what the rule predicts. The public set ``pub(R)`` are the rows in which X and Y are
    visible, the hidden set ``hid(R)`` those in which X is visible and Y private; hits are the rows
    of these that have y. `hidden_hits` is None if hidden values do not matter.
    """

    antecedent: Mapping[int, int]
    column: int
    value: int
    n_public: int
    public_hits: int
    n_hidden: int
    hidden_hits: int | None

    @property
    def public_confidence(self) -> Fraction:
        """The share of the public set that has the value."""
        return Fraction(self.public_hits, self.n_public)

    @property
    def hidden_confidence(self) -> Fraction | None:
        """The share of the hidden set that has the value; None if that does not matter."""
        return None if self.hidden_hits is None else Fraction(self.hidden_hits, self.n_hidden)

    def predicts(
        self, codes: npt.NDArray[np.integer[Any]], state: npt.NDArray[np.integer[Any]]
    ) -> Codes:
        """Return the rows of a table at whose private cell the rule fires: its hidden set.

        `codes` and `state` are those of `shoal.hiding.cells.HiddenTable`.

        Examples
        --------
        >>> rule = CodedRule({0: 1}, 1, 0, 2, 2, 1, 1)
        >>> codes, state = np.array([[1, 0], [1, 0], [0, 0]]), np.array([[0, 0], [0, 1], [0, 1]])
        >>> rule.predicts(codes, state).tolist()
        [1]
        """
        rows = np.flatnonzero(state[:, self.column] == PRIVATE)
        for place, code in self.antecedent.items():
            rows = rows[(state[rows, place] == VISIBLE) & (codes[rows, place] == code)]
        return rows

    def __repr__(self) -> str:
        named = ", ".join(f"column {place}" for place in self.antecedent) or "nothing"
        hidden = "" if self.hidden_hits is None else f"{self.hidden_hits} of "
        return (
            f"CodedRule({named} -> column {self.column}, public {self.public_hits} of "
            f"{self.n_public}, hidden {hidden}{self.n_hidden})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class CodedRules:
    """Rules in the order of the number of columns they name, then antecedent, column and value.

    `antecedent` has one row per rule, one column per column: the code of the value named, or -1.
    The other fields have one element per rule; see `CodedRule`.

    Examples
    --------
    >>> counts = np.array([4]), np.array([4]), np.array([1]), None
    >>> rules = CodedRules(np.array([[3, -1]]), np.array([1]), np.array([0]), *counts)
    >>> rules
    CodedRules(1 rule over 2 columns)
    >>> [dict(rule.antecedent) for rule in rules], rules[0].public_confidence
    ([{0: 3}], Fraction(1, 1))
    """

    antecedent: Small
    column: Small
    value: Small
    n_public: Counts
    public_hits: Counts
    n_hidden: Counts
    hidden_hits: Counts | None

    @classmethod
    def of_packed(
        cls, packed: Packed, antecedent: Small, found: Codes, *, use_hidden: bool
    ) -> CodedRules:
        """Unpack rules that a kernel found in a packed table, in its order.

        `antecedent` has one row per rule, in packed codes; `found` has column, packed value and the
        four counts of each.
        """
        return cls(
            packed.unpack(antecedent),
            found[:, 0].astype(np.int32),
            packed.unpack_value(found[:, 0], found[:, 1]),
            found[:, 2],
            found[:, 3],
            found[:, 4],
            found[:, 5] if use_hidden else None,
        )

    @property
    def order(self) -> Codes:
        """The order of the rules by columns named, antecedent, column and value."""
        n_named = (self.antecedent != NO_ITEM).sum(axis=1)
        return np.lexsort((self.value, self.column, *self.antecedent.T[::-1], n_named))

    def take(self, which: npt.NDArray[np.integer[Any]] | Flags) -> CodedRules:
        """Return some of the rules, in the order given; a mask of booleans selects."""
        return CodedRules(
            self.antecedent[which],
            self.column[which],
            self.value[which],
            self.n_public[which],
            self.public_hits[which],
            self.n_hidden[which],
            None if self.hidden_hits is None else self.hidden_hits[which],
        )

    def sensitive(
        self, codes: npt.NDArray[np.integer[Any]], state: npt.NDArray[np.integer[Any]]
    ) -> Flags:
        """Mark the sensitive cells of the table: those that weigh against at least one rule.

        In rows that show the antecedent and the value these are the cells of both, in rows that the
        rule fires at those of the antecedent [Aggarwal06, section 6.1].

        Examples
        --------
        >>> counts = np.array([1]), np.array([1]), np.array([1]), None
        >>> rules = CodedRules(np.array([[0, -1]]), np.array([1]), np.array([1]), *counts)
        >>> codes, state = np.array([[0, 1], [0, 1], [1, 1]]), np.array([[0, 0], [0, 1], [0, 0]])
        >>> rules.sensitive(codes, state).tolist()
        [[True, True], [True, False], [False, False]]
        """
        table = HiddenTable(codes, state)
        shown = np.where(table.state == VISIBLE, table.codes, NO_ITEM).T
        private = words_of(table.state.T == PRIVATE)
        marks = np.zeros_like(private)
        n_together = max(1, _MOST_WORDS // max(private.shape[1], 1))
        for first in range(0, len(self), n_together):
            _mark(marks, shown, private, self.take(np.arange(len(self))[first:][:n_together]))
        return np.ascontiguousarray(marks_of(marks, table.n_rows).T)

    def __len__(self) -> int:
        return len(self.column)

    def __iter__(self) -> Iterator[CodedRule]:
        return (self[place] for place in range(len(self)))

    def __getitem__(self, place: int) -> CodedRule:
        named = np.flatnonzero(self.antecedent[place] != NO_ITEM)
        hidden_hits = None if self.hidden_hits is None else int(self.hidden_hits[place])
        return CodedRule(
            MappingProxyType({int(c): int(self.antecedent[place, c]) for c in named}),
            int(self.column[place]),
            int(self.value[place]),
            int(self.n_public[place]),
            int(self.public_hits[place]),
            int(self.n_hidden[place]),
            hidden_hits,
        )

    def __repr__(self) -> str:
        plural = "" if len(self) == 1 else "s"
        return f"CodedRules({len(self)} rule{plural} over {self.antecedent.shape[1]} columns)"


_MOST_WORDS = 2**19
_ALL = np.uint64(2**64 - 1)


def _mark(marks: Words, shown: Small, private: Words, rules: CodedRules) -> None:
    """Mark the cells of some rules: one row of words per column of the table."""
    appears = np.full((len(rules), marks.shape[1]), _ALL)
    for place, codes in enumerate(shown):
        appears &= _rows_with(codes, rules.antecedent[:, place])
    touched = np.empty_like(appears)
    for place, codes in enumerate(shown):
        which = np.flatnonzero(rules.column == place)
        has_value = _rows_with(codes, rules.value[which])
        # Cells of Y weigh in rows that show X and y.
        marks[place] |= np.bitwise_or.reduce(appears[which] & has_value, axis=0)
        touched[which] = appears[which] & (has_value | private[place])
    # Cells of X weigh in these rows, and in those at whose private Y the rule fires.
    for place in range(len(shown)):
        is_named = rules.antecedent[:, place] != NO_ITEM
        marks[place] |= np.bitwise_or.reduce(touched[is_named], axis=0)


def _rows_with(codes: Small, items: Small) -> Words:
    """Return the rows that show each item; all rows if there is no item."""
    named, place = np.unique(items, return_inverse=True)
    words = words_of(codes == named[:, np.newaxis])
    words[named == NO_ITEM] = _ALL
    return words[place]


# --- rules that kernels follow --------------------------------------------------------------------


_MOST_RULES = 2**22
_MOST_ITEMS = 2**27
MOST_MEMBERS = 2**29
"""The most rows in which antecedents appear, added up over all antecedents."""


def most_rules(n_columns: int) -> int:
    """Return the most rules that are kept; each takes room for every column.

    Examples
    --------
    >>> most_rules(10), most_rules(64)
    (4194304, 2097152)
    """
    return min(_MOST_RULES, _MOST_ITEMS // max(n_columns, 1))


@contextmanager
def refuse_more_rules(n_columns: int, hint: str) -> Iterator[None]:
    """Raise `ParameterError` with a hint if a kernel finds more rules than are kept."""
    try:
        yield
    except OverflowError:
        raise ParameterError(
            f"There are more than {most_rules(n_columns)} adversarial rules, too many to be kept.",
            hint=hint,
        ) from None


MOST_STEPS = 200_000_000_000
"""The default limit of a search, in cells or words looked at: about a quarter of an hour."""


@contextmanager
def refuse_more_steps(hint: str) -> Iterator[None]:
    """Raise `ParameterError` with a hint if a search takes more steps than allowed."""
    try:
        yield
    except TooMuchWork as error:
        raise ParameterError(
            f"The search for adversarial rules takes {error}.", hint=hint
        ) from None


@contextmanager
def refuse_more_members() -> Iterator[None]:
    """Raise `ParameterError` if rules appear in more rows than can be followed."""
    try:
        yield
    except OverflowError:
        raise ParameterError(
            f"The adversarial rules appear in more than {MOST_MEMBERS} rows, added up over all "
            "rules, too many to be followed.",
            hint="raise gamma or delta, or leave out columns.",
        ) from None


@dataclass(frozen=True, eq=False)
class PackedRules:
    """Rules in packed codes, as the search kernel returns them, one row per rule.

    `antecedent` has, for each column, the value that the rule names, or -1; `found` has column,
    value, and the four counts.
    """

    antecedent: Small
    found: Codes

    @classmethod
    def joined(cls, parts: list[PackedRules]) -> tuple[PackedRules, Codes]:
        """Return the distinct rules of several parts, and the first part that has each."""
        antecedent = np.concatenate([part.antecedent for part in parts])
        found = np.concatenate([part.found for part in parts])
        part = np.repeat(np.arange(len(parts)), [len(part.found) for part in parts])
        keys = [found[:, 1], found[:, 0], *antecedent.T]
        order = np.lexsort(keys)
        is_first = np.ones(len(order), dtype=bool)
        if len(order):
            is_first[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
        # The sort is stable, so the first of equal rules comes from the earliest part.
        kept = order[is_first]
        return cls(antecedent[kept], found[kept]), part[kept]

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True, eq=False)
class FollowedRules:
    """Rules by antecedent, and the rows of each antecedent.

    There is one row of `antecedent` per distinct antecedent, in packed codes; -1 for a column that
    it does not name. The `..._start` arrays say where the columns that each antecedent names, its
    rows and its rules start.
    """

    antecedent: Small
    named_start: Codes
    named: Codes
    member_start: Codes
    member: Small
    rule_start: Codes
    column: Codes
    value: Codes

    @classmethod
    def of(cls, packed: Packed, rules: PackedRules, code: Small) -> FollowedRules:
        """Lay out rules; those with the same antecedent must be neighbours.

        `code` holds the packed codes with every cell visible that ever will be.
        """
        is_new = np.ones(len(rules), dtype=bool)
        if len(rules):
            is_new[1:] = (np.diff(rules.antecedent, axis=0) != 0).any(axis=1)
        antecedent = np.ascontiguousarray(rules.antecedent[is_new])
        which, named = np.nonzero(antecedent >= 0)
        with refuse_more_members():
            member_start, member = find_members(code, packed.n_values, antecedent, MOST_MEMBERS)
        return cls(
            antecedent,
            np.searchsorted(which, np.arange(len(antecedent) + 1)),
            np.ascontiguousarray(named),
            member_start,
            member,
            np.append(np.flatnonzero(is_new), len(rules)).astype(np.int64),
            rules.found[:, 0].copy(),
            rules.found[:, 1].copy(),
        )

    def by_row(self, n_rows: int) -> tuple[Codes, Small]:
        """Return where the antecedents of each row start, and these antecedents."""
        start, of_row = index_by_row(self.member_start, self.member, n_rows)
        return start, of_row

    def count(self, packed: Packed) -> Counts:
        """Return |pub|, its hits, |hid| and its hits of every rule, one row each."""
        counts: Counts = np.asarray(count_rules(packed, self))
        return counts
