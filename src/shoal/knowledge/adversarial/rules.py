"""Adversarial rules as columns of numbers, and one by one.

Tables give thousands of rules, so each of their parts is an array; iterating makes an object of
each. Values are codes: what they stand for is the caller's to say.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.knowledge.adversarial.cells import NO_ITEM, PRIVATE, VISIBLE, HiddenTable, Small
from shoal.knowledge.adversarial.packing import Packed
from shoal.knowledge.adversarial.sensitive_cells import mark_sensitive

__all__ = ["NO_ITEM", "CodedRule", "CodedRules"]


@dataclass(frozen=True, repr=False)
class CodedRule:
    """Who shows all this has that value in that column, says the public set.

    Parameters
    ----------
    antecedent
        By the place of a column the code of its value: X.
    column, value
        The column that the rule predicts, Y, and the value, y.
    n_public, public_hits
        The rows where X and Y are visible, ``|pub(R)|``, and how many of them have y.
    n_hidden, hidden_hits
        The rows where X is visible and Y private, ``|hid(R)|``, and how many of them have y;
        None where hidden values do not matter.
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
        """The share of the hidden set that has the value; None where that does not matter."""
        return None if self.hidden_hits is None else Fraction(self.hidden_hits, self.n_hidden)

    def predicts(
        self, codes: npt.NDArray[np.integer[Any]], state: npt.NDArray[np.integer[Any]]
    ) -> Codes:
        """Give the rows of a table whose private cell the rule fires at: its hidden set.

        Parameters
        ----------
        codes, state
            As `shoal.knowledge.adversarial.cells.HiddenTable` has them.

        Examples
        --------
        >>> rule = CodedRule({0: 1}, 1, 0, 2, 2, 1, 1)
        >>> codes, state = np.array([[1, 0], [1, 0], [0, 0]]), np.array([[0, 0], [0, 1], [0, 1]])
        >>> rule.predicts(codes, state).tolist()
        [1]
        """
        table = HiddenTable(codes, state)
        fires = table.state[:, self.column] == PRIVATE
        for place, code in self.antecedent.items():
            fires &= (table.state[:, place] == VISIBLE) & (table.codes[:, place] == code)
        return np.flatnonzero(fires)

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

    Parameters
    ----------
    antecedent
        One row a rule, one column a column: the code of the value that the rule names, or -1.
    column, value
        For each rule the place of the column that it predicts, and the code of the value.
    n_public, public_hits
        For each rule the size of its public set and how many of it have the value.
    n_hidden, hidden_hits
        The same of its hidden set; `hidden_hits` is None where hidden values do not matter.

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
        """Take rules as a kernel found them, in its order.

        Parameters
        ----------
        packed
            The table that they were found in.
        antecedent
            One row a rule, in packed codes.
        found
            One row a rule: column, packed value, and the four counts.
        use_hidden
            Whether hidden values matter.
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
        """The places of the rules in the order that they should have."""
        n_named = (self.antecedent != NO_ITEM).sum(axis=1)
        return np.lexsort((self.value, self.column, *self.antecedent.T[::-1], n_named))

    def take(self, which: npt.NDArray[np.integer[Any]] | npt.NDArray[np.bool_]) -> CodedRules:
        """Give some of the rules, in the order given; a mask of booleans selects."""
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
    ) -> npt.NDArray[np.bool_]:
        """Mark the sensitive cells: those that weigh against at least one rule.

        Of rows that show the antecedent and the value these are both, of rows that the rule fires
        at the antecedent's [Aggarwal06, section 6.1].

        Parameters
        ----------
        codes, state
            The table that the rules were found in.
        """
        table = HiddenTable(codes, state)
        return mark_sensitive(table, self.antecedent, self.column, self.value)

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
