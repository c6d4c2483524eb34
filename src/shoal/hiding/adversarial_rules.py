"""Mine the rules by which private cells can be guessed, in the values of the table.

Owners choose cell by cell what must not be known. The other cells may still reveal it: rows that
show X have y in column Y, both where Y is visible and where it is private. `shoal.hiding.mining`
finds such rules in codes; this module states them in the values of a table or a data frame, the
worst first, with the cells that they predict. These cells are found on demand, for many rules at
once. If columns repeat one another, exponentially many antecedents appear in the same rows, and one
minimal antecedent stands for all of these.

References
----------
[Aggarwal06] (see `shoal.hiding`) sections 3 and 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Bytes, Codes, Flags
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, read_delta, read_gamma
from shoal.core.private_cells import PrivateCells
from shoal.core.table import MOST_ROWS, Table
from shoal.hiding._follow_kernels import find_members
from shoal.hiding.cells import BLANKED, PRIVATE, VISIBLE
from shoal.hiding.coded_rows import CodedRows, mark_frame
from shoal.hiding.mining import (
    Category,
    CondensedRules,
    base_rates,
    categorize,
    mine_or_condense,
)
from shoal.hiding.rules import MOST_STEPS, CodedRule, CodedRules

Cell = tuple[str | int, str]
"""The key of a row, or its position in a frame, and a column."""

_MOST_MEMBERS = 2**24
"""The number of rows of antecedents that are held at once."""


@dataclass(frozen=True, eq=False, repr=False)
class HiddenRows:
    """Rows of which some cells are hidden, and the thresholds of rules about them.

    `delta` is the minimum confidence, and `gamma` the fewest rows of a public set.
    """

    rows: CodedRows
    state: Bytes
    delta: Fraction
    gamma: int

    @property
    def n_private(self) -> int:
        """The number of private cells."""
        return int(np.count_nonzero(self.state == PRIVATE))

    @cached_property
    def base_rates(self) -> CodedRules:
        """The values that are the best guess for everybody."""
        return base_rates(self.rows.codes, self.state, delta=self.delta)

    def cells(self, rows: Codes, column: int) -> tuple[Cell, ...]:
        """Return the names of cells of one column."""
        name = self.rows.columns[column]
        return tuple((self.rows.key(row), name) for row in rows.tolist())

    def predicted(self, rules: CodedRules) -> Flags:
        """Mark the private cells that some rule fires at."""
        marks = np.zeros(self.state.shape, dtype=bool)
        is_private = self.state == PRIVATE
        among = np.flatnonzero(is_private.any(axis=1))
        n_values = np.array([len(values) for values in self.rows.values], dtype=np.int32)
        shown = np.where(self.state[among] == VISIBLE, self.rows.codes[among], n_values)
        codes = np.ascontiguousarray(shown.T)
        # As many rules at a time as there is room for the rows of their antecedents.
        step = max(1, _MOST_MEMBERS // max(1, len(among)))
        for first in range(0, len(rules), step):
            antecedent = np.ascontiguousarray(rules.antecedent[first : first + step])
            start, member = find_members(codes, n_values, antecedent)
            rule = first + np.repeat(np.arange(len(antecedent)), np.diff(start))
            marks[among[member], rules.column[rule]] = True
        marks &= is_private
        return marks


@dataclass(frozen=True, kw_only=True, repr=False)
class AdversarialRule:
    """Rows that show all of the antecedent have the value in the column.

    Parameters
    ----------
    antecedent
        X: by column the value that a row has to show; None is the missing value.
    column, value
        The column that the rule predicts, Y, and the value, y; None is the missing value.
    n_public, public_hits
        The rows in which X and Y are visible, ``|pub(R)|``, and how many of them have y.
    n_hidden, hidden_hits
        The rows in which X is visible and Y private, ``|hid(R)|``, and how many of them have y.
    """

    antecedent: Mapping[str, Any]
    column: str
    value: Any
    n_public: int
    public_hits: int
    n_hidden: int
    hidden_hits: int
    _coded: CodedRule = field(compare=False)
    _source: HiddenRows = field(compare=False)

    @classmethod
    def of_coded(cls, coded: CodedRule, source: HiddenRows) -> AdversarialRule:
        """Translate a rule in codes into the values that these stand for."""
        assert coded.hidden_hits is not None
        columns, values = source.rows.columns, source.rows.values
        return cls(
            antecedent=MappingProxyType(
                {columns[place]: values[place][code] for place, code in coded.antecedent.items()}
            ),
            column=columns[coded.column],
            value=values[coded.column][coded.value],
            n_public=coded.n_public,
            public_hits=coded.public_hits,
            n_hidden=coded.n_hidden,
            hidden_hits=coded.hidden_hits,
            _coded=coded,
            _source=source,
        )

    @property
    def key(self) -> tuple[frozenset[tuple[str, Any]], str, Any]:
        """The parts by which two rules are the same."""
        return frozenset(self.antecedent.items()), self.column, self.value

    @property
    def support(self) -> int:
        """The size of the public set, as [Aggarwal06], Example 1, prints it."""
        return self.n_public

    @property
    def public_confidence(self) -> Fraction:
        """The share of the public set that has the value."""
        return Fraction(self.public_hits, self.n_public)

    @property
    def hidden_confidence(self) -> Fraction:
        """The share of the hidden set that has the value: how often the rule is right."""
        return Fraction(self.hidden_hits, self.n_hidden)

    @property
    def cells(self) -> tuple[Cell, ...]:
        """The private cells that the rule predicts, rightly or wrongly."""
        return self._source.cells(self._predicted_rows(), self._coded.column)

    @property
    def hits(self) -> tuple[Cell, ...]:
        """The private cells that the rule predicts rightly."""
        rows = self._predicted_rows()
        is_right = self._source.rows.codes[rows, self._coded.column] == self._coded.value
        return self._source.cells(rows[is_right], self._coded.column)

    def _predicted_rows(self) -> Codes:
        return self._coded.predicts(self._source.rows.codes, self._source.state)

    def __repr__(self) -> str:
        return (
            f"AdversarialRule({', '.join(self.antecedent) or 'nothing'} -> {self.column}, public "
            f"{self.public_hits} of {self.n_public}, hidden {self.hidden_hits} of {self.n_hidden})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class AdversarialRules(Sequence[AdversarialRule]):
    """The adversarial rules of a table, the worst first.

    Rules that rightly predict more private cells come first; then the order is by hidden
    confidence, public confidence and support, descending, and by the number of columns that they
    name. Rules are kept as arrays, and made into objects one by one.

    If `is_condensed`, antecedents that appear in the same rows are represented by one of them, of
    which no column can be left out. The cells that the rules predict are those of all.
    """

    _coded: CodedRules
    _source: HiddenRows
    # The longest antecedents that appear in the same rows, if the rules are condensed.
    _closed: CodedRules | None = None

    @property
    def is_condensed(self) -> bool:
        """Whether one rule stands for all whose antecedents appear in the same rows."""
        return self._closed is not None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the table."""
        return self._source.rows.columns

    @property
    def delta(self) -> Fraction:
        """The minimum confidence."""
        return self._source.delta

    @property
    def gamma(self) -> int:
        """The fewest rows of a public set."""
        return self._source.gamma

    @property
    def n_private(self) -> int:
        """The number of private cells of the table."""
        return self._source.n_private

    @property
    def base_rates(self) -> tuple[AdversarialRule, ...]:
        """The columns in which one value has a share of delta or more, as rules of no antecedent.

        That value is the best guess for everybody; hiding other cells does not protect against it.
        """
        return tuple(
            AdversarialRule.of_coded(rule, self._source) for rule in self._source.base_rates
        )

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """The private cells that some rule predicts, by column."""
        marks = self._source.predicted(self._coded)
        return tuple(
            cell
            for place in range(len(self.columns))
            for cell in self._source.cells(np.flatnonzero(marks[:, place]), place)
        )

    @cached_property
    def sensitive_cells(self) -> Flags:
        """Mark the cells that are not private and weigh in some rule [Aggarwal06, section 6.1].

        One row per row of the table and one column per column, in the order of a frame or of a
        table's keys. Blanking one of these cells weakens a rule.
        """
        # The longest antecedents name every column that some other one names.
        rules = self._coded if self._closed is None else self._closed
        return rules.sensitive(self._source.rows.codes, self._source.state)

    @property
    def by_column(self) -> Mapping[str, AdversarialRules]:
        """The rules about each column that some rule predicts."""
        return MappingProxyType(
            {
                self.columns[place]: self._take(self._coded.column == place)
                for place in np.unique(self._coded.column).tolist()
            }
        )

    def category(self, itemset: Mapping[str, Any]) -> Category:
        """Return the paper's category of an itemset, values by column [Aggarwal06, section 4].

        Raises `ParameterError` if the table does not have such a column or value.
        """
        if not isinstance(itemset, Mapping):
            raise ParameterError(
                "An itemset is given as a mapping of columns to values.",
                hint='for example {"title": "Manager"}.',
            )
        rows = self._source.rows
        coded = {rows.place(column): rows.code(column, v) for column, v in itemset.items()}
        return categorize(rows.codes, self._source.state, coded, delta=self.delta, gamma=self.gamma)

    def _take(self, which: npt.NDArray[np.integer[Any]] | Flags) -> AdversarialRules:
        closed = None if self._closed is None else self._closed.take(which)
        return AdversarialRules(self._coded.take(which), self._source, closed)

    def __len__(self) -> int:
        return len(self._coded)

    @overload
    def __getitem__(self, number: int) -> AdversarialRule: ...
    @overload
    def __getitem__(self, number: slice) -> AdversarialRules: ...
    def __getitem__(self, number: int | slice) -> AdversarialRule | AdversarialRules:
        if isinstance(number, slice):
            return self._take(np.arange(len(self))[number])
        if not -len(self) <= number < len(self):
            raise IndexError(number)
        return AdversarialRule.of_coded(self._coded[number % len(self)], self._source)

    def __iter__(self) -> Iterator[AdversarialRule]:
        return (self[number] for number in range(len(self)))

    def __repr__(self) -> str:
        plural = "" if len(self) == 1 else "s"
        n_about = len(np.unique(self._coded.column))
        condensed = ", one per set of rows," if self.is_condensed else ""
        return (
            f"AdversarialRules({len(self)} rule{plural}{condensed} about {n_about} of "
            f"{len(self.columns)} columns, {self.n_private} private cells)"
        )


def mine_adversarial_rules(
    table: Table | object,
    private: object,
    delta: Number = 0.8,
    gamma: Number = 0.001,
    max_len: int | None = None,
    hidden: object = None,
    max_work: int = MOST_STEPS,
) -> AdversarialRules:
    """Find all rules by which private cells can be guessed from the other cells.

    Parameters
    ----------
    table
        A table from `shoal.read`, or a data frame: of pandas, polars or pyarrow, or a mapping of
        columns. Rules are about the quasi-identifying and sensitive columns of the former, and
        about all columns of the latter.
    private
        The cells that must not be known, P: a table of booleans, a list of (row, column), a column,
        ``"disease where age > 60"``, ``"disease if age > 60"``, a file, or a list of these; see
        `shoal.core.private_cells.PrivateCells`. A row is named by its key, in a frame by its
        position. SQL and files need a table that was read.
    delta
        The minimum confidence, public and hidden; a tie counts. Default: 0.8.
    gamma
        The fewest rows of a public set: a count if it is an integer, otherwise a share of the rows.
        Default: 0.001.
    max_len
        The most columns that an antecedent names. Default: None, all of them.
    hidden
        Further cells that are blanked already, K, in the same forms. Default: None.
    max_work
        The most cells that the search may look at. On wide tables that is estimated first. Default:
        2e11, about a quarter of an hour.

    Returns
    -------
    The rules, the worst first, in the values of the frame or the texts of the table. They show
    values of private cells, and are meant for the owner of the table only. If there are more than a
    million, and on average more than eight whose antecedents appear in the same rows, one of these
    stands for the others: see `AdversarialRules`. With `max_len` every rule is listed.

    Raises
    ------
    ParameterError
        If a threshold is out of range, cells are named that the table does not have, there are too
        many rules, or the search would take too long.
    DataError
        If the columns of a frame cannot be coded.

    Examples
    --------
    The employees of [Aggarwal06], Example 1:

    >>> from shoal.datasets import papers
    >>> employees = papers.employees_shuffled().to_dict()
    >>> private = [(int(row) - 1, column) for row, column in papers.employees_private_cells()]
    >>> rules = mine_adversarial_rules(employees, private, delta=0.6, gamma=2)
    >>> rules
    AdversarialRules(8 rules about 4 of 6 columns, 5 private cells)
    >>> (rule,) = rules.by_column["salary_level"]
    >>> dict(rule.antecedent), rule.value, rule.support, rule.public_confidence
    ({'title': 'Assistant'}, 'SL-3', 2, Fraction(1, 1))
    >>> rule.cells
    ((7, 'salary_level'),)
    """
    cells = PrivateCells.of(private)
    if not cells:
        raise ParameterError(
            "No private cells are given, so there is nothing that a rule could reveal.",
            hint="for example a column, or [(row, column), ...].",
        )
    rows, marks, blanked = _marked(table, cells, PrivateCells.of(hidden))
    state = np.where(marks, PRIVATE, np.where(blanked, BLANKED, VISIBLE)).astype(np.uint8)
    source = HiddenRows(rows, state, read_delta(delta), read_gamma(gamma, rows.n_rows))
    found = mine_or_condense(
        rows.codes,
        state,
        delta=source.delta,
        gamma=source.gamma,
        max_len=max_len,
        max_work=max_work,
    )
    if isinstance(found, CondensedRules):
        order = _worst_first(found.shortest)
        return AdversarialRules(found.shortest.take(order), source, found.closed.take(order))
    return AdversarialRules(found.take(_worst_first(found)), source)


def _marked(
    table: Table | object, private: PrivateCells, hidden: PrivateCells
) -> tuple[CodedRows, Flags, Flags]:
    """Return the rows, and mark their private and their blanked cells."""
    if hasattr(table, "row_codes") and hasattr(table, "marked"):
        rows = CodedRows.of_rows(table.row_codes(MOST_ROWS))
        marks = table.marked(private, MOST_ROWS)
        return rows, marks, table.marked(hidden, MOST_ROWS) if hidden else np.zeros_like(marks)
    rows = CodedRows.of_frame(table)
    return rows, mark_frame(rows, private), mark_frame(rows, hidden)


def _worst_first(rules: CodedRules) -> Codes:
    """Return the order of rules from the worst on; ties stay in their order."""
    assert rules.hidden_hits is not None
    # Two different shares of fewer than 2**26 rows differ as floats, and equal ones do not.
    public, hidden = rules.public_hits / rules.n_public, rules.hidden_hits / rules.n_hidden
    return np.lexsort((-rules.n_public, -public, -hidden, -rules.hidden_hits))
