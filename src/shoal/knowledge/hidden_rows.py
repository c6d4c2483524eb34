"""Rows of which some cells are hidden, and where adversarial rules touch them.

Rules come by the ten thousand, so that the cells they predict, or lean on, are found for many of
them at once, and only when somebody asks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from shoal.core.cells import Codes
from shoal.core.private_cells import Marks
from shoal.knowledge.adversarial import PRIVATE, VISIBLE, CodedRule, CodedRules, base_rates
from shoal.knowledge.adversarial._kernels import find_members
from shoal.knowledge.adversarial.cells import Small, States
from shoal.knowledge.adversarial.rules import NO_ITEM
from shoal.knowledge.coded_rows import CodedRows

__all__ = ["Cell", "HiddenRows"]

Cell = tuple[str | int, str]
"""The key of a row, or its position in a frame, and a column."""

_MOST_MEMBERS = 2**24
"""How many rows of antecedents are held at once."""


@dataclass(frozen=True, eq=False, repr=False)
class HiddenRows:
    """Rows of which some cells are hidden, and from when on a rule about them counts.

    Parameters
    ----------
    rows
        The rows, with all values.
    state
        For each cell whether it is visible, private or blanked.
    delta, gamma
        The least confidence, and the fewest rows of a public set.
    """

    rows: CodedRows
    state: States
    delta: Fraction
    gamma: int

    @property
    def n_private(self) -> int:
        """The number of private cells."""
        return int(np.count_nonzero(self.state == PRIVATE))

    @cached_property
    def shown(self) -> Small:
        """The codes of visible cells, -1 elsewhere: one row a column."""
        shown: Small = np.where(self.state == VISIBLE, self.rows.codes, np.int32(NO_ITEM)).T
        return np.ascontiguousarray(shown)

    @cached_property
    def n_values(self) -> Small:
        """The number of values of each column."""
        return np.array([len(values) for values in self.rows.values], dtype=np.int32)

    @cached_property
    def base_rates(self) -> CodedRules:
        """The values that are the best guess for everybody."""
        return base_rates(self.rows.codes, self.state, delta=self.delta)

    def predicted_rows(self, rule: CodedRule) -> Codes:
        """Give the rows whose private cell a rule fires at."""
        rows = np.flatnonzero(self.state[:, rule.column] == PRIVATE)
        for place, code in rule.antecedent.items():
            rows = rows[self.shown[place, rows] == code]
        return rows

    def cells(self, rows: Codes, column: int) -> tuple[Cell, ...]:
        """Name cells of one column."""
        name = self.rows.columns[column]
        return tuple((self.rows.key(row), name) for row in rows.tolist())

    def appearances(self, rules: CodedRules, among: Codes) -> Iterator[tuple[Codes, Codes]]:
        """Give for pieces of the rules which rule's antecedent publicly appears in which row.

        Parameters
        ----------
        rules
            The rules.
        among
            The rows to look at.
        """
        shown = self.shown[:, among]
        codes = np.ascontiguousarray(np.where(shown < 0, self.n_values[:, np.newaxis], shown))
        step = max(1, _MOST_MEMBERS // max(1, len(among)))
        for first in range(0, len(rules), step):
            antecedent = np.ascontiguousarray(rules.antecedent[first : first + step])
            start, member = find_members(codes, self.n_values, antecedent)
            yield first + np.repeat(np.arange(len(antecedent)), np.diff(start)), among[member]

    def predicted(self, rules: CodedRules) -> Marks:
        """Mark the private cells that some rule fires at."""
        marks = np.zeros(self.state.shape, dtype=bool)
        is_private = self.state == PRIVATE
        for rule, row in self.appearances(rules, np.flatnonzero(is_private.any(axis=1))):
            marks[row, rules.column[rule]] = True
        marks &= is_private
        return marks

    def sensitive(self, rules: CodedRules) -> Marks:
        """Mark the cells that weigh in some rule, as `CodedRules.sensitive` does."""
        marks = np.zeros(self.state.shape, dtype=bool)
        for rule, row in self.appearances(rules, np.arange(self.rows.n_rows)):
            column = rules.column[rule]
            is_hit = self.shown[column, row] == rules.value[rule]
            marks[row[is_hit], column[is_hit]] = True
            weighs = is_hit | (self.state[row, column] == PRIVATE)
            for place in range(len(self.rows.columns)):
                is_named = weighs & (rules.antecedent[rule, place] != NO_ITEM)
                marks[row[is_named], place] = True
        return marks
