"""Rules: what the visible cells of a release say about its suppressed ones.

The adversary counts, as anybody can who reads the release: who shows all this has that value in
that column, in so many of so many rows. For every suppressed cell she takes the rule that she
believes most among those whose antecedent the row shows. She cannot tell cells that somebody
wanted hidden from those that were hidden with them, so she fires at all of them.

Rules are never listed: sets of columns are gone through depth first, with rows grouped by what
they show there, and each suppressed cell remembers the best rule so far.

References
----------
[Aggarwal06] C. C. Aggarwal, J. Pei, B. Zhang: On Privacy Preservation against Adversarial Data
Mining. KDD 2006; Sections 2 and 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, takewhile
from math import comb
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Risk, Section
from shoal.core.cell_attack import CellAttack, Experiment, Guesses, protection_of
from shoal.core.cells import Codes, Counts
from shoal.core.exact import Number, whole
from shoal.core.release import Manifest
from shoal.core.rows import HIDDEN, Rows
from shoal.core.rule_thresholds import check_gamma, read_delta
from shoal.knowledge.adversarial.thresholds import Limits

__all__ = ["Rules"]

_DELTA, _GAMMA = Fraction(4, 5), Fraction(1, 1000)
_MOST_SETS = 2**14
"""How many sets of columns are gone through where no longest antecedent is given."""
_MOST_REASONS = 100_000
"""How many rules are put into words, those that are believed most first."""
_KEYS_A_ROW = 8
"""Up to so many keys a row it is cheaper to count them all than to sort those that occur."""


@dataclass(frozen=True, kw_only=True, init=False)
class Rules(CellAttack):
    """Fill in suppressed cells by the rule that is believed most.

    Parameters
    ----------
    delta
        The least confidence of a rule, above 0 and at most 1: the share of the rows of its support
        that have the value.
    gamma
        The least support: the number of rows that show the antecedent and the column, or a share
        of all rows; an integer is a number.
    max_len
        The most columns that an antecedent names.

    Notes
    -----
    Without `delta` or `gamma`, those that the release promises protection against are taken; where
    it promises none, 0.8 and 0.001. Both are compared exactly, and a tie counts. Without `max_len`
    antecedents are as long as they may be, on tables of more than 14 columns as long as that takes
    no more than 16,384 sets of columns. On 45,000 rows of ten columns that takes about two seconds
    where the support is at least 0.001, and four where one row is enough.

    The best of the rules that fire at a cell is the one of the highest confidence; then that of the
    largest support, of the shortest antecedent, of the columns that come first, and of the value
    that comes first. Belief is the confidence.

    Cells at which no rule fires are left open. No rule is needed where a value has a share of
    `delta` in its whole column: the findings list such columns.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
    >>> title = Domain.of_texts("title", ["Clerk", "Manager"])
    >>> married = Domain.of_texts("married", ["No", "Yes"])
    >>> codes = np.array([[1, 1], [1, 1], [1, HIDDEN], [0, 0], [0, 0]], dtype=np.int32)
    >>> manifest = Manifest(
    ...     shape=Shape.SUPPRESSED, method="rule_hiding", parameters={}, columns=(), guarantees=(),
    ...     n_rows=5, n_buckets=1,
    ... )
    >>> guesses = Rules(gamma=2).guess(Rows((title, married), codes), manifest)["rules"]
    >>> guesses.row.tolist(), guesses.value.tolist(), guesses.belief.tolist()
    ([2], [1], [1.0])
    >>> guesses.reasons
    ('title Manager: married Yes, 2 of 2',)
    """

    delta: Fraction | None = None
    gamma: int | Fraction | None = None
    max_len: int | None = None

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the release, and that rules found in its visible cells hold for the suppressed ones too"
    )

    def __init__(
        self,
        *,
        delta: Number | None = None,
        gamma: Number | None = None,
        max_len: int | None = None,
    ) -> None:
        values = {
            "delta": None if delta is None else read_delta(delta),
            "gamma": None if gamma is None else check_gamma(gamma),
            "max_len": None if max_len is None else whole("max_len", max_len, least=1),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def threshold(self, manifest: Manifest) -> Fraction:
        """Give the belief from which on she counts as knowing a cell: the least confidence."""
        if self.delta is not None:
            return self.delta
        protection = protection_of(manifest)
        return _DELTA if protection is None else protection.delta

    def support(self, manifest: Manifest) -> int | Fraction:
        """Give the least support, as a number of rows or a share of them."""
        if self.gamma is not None:
            return self.gamma
        protection = protection_of(manifest)
        return _GAMMA if protection is None else protection.gamma

    def guess(
        self,
        rows: Rows,
        manifest: Manifest,
        experiment: Experiment | None = None,  # noqa: ARG002 - she reads the release only
    ) -> Mapping[str, Guesses]:
        """Fill in suppressed cells by rules; there is one adversary, `rules`."""
        limits = Limits.of(
            self.threshold(manifest), self.support(manifest), rows.n_rows, use_hidden=False
        )
        n_columns = len(rows.domains)
        longest = _longest(n_columns) if self.max_len is None else self.max_len
        search = _Search(rows, limits, longest)
        search.run()
        return {"rules": search.guesses()}

    def notes(self, rows: Rows, manifest: Manifest) -> tuple[Section, ...]:
        """List the columns in which one value alone is frequent enough."""
        limits = Limits.of(self.threshold(manifest), 1, rows.n_rows, use_hidden=False)
        found = _majorities(rows)
        return (
            Section(
                "base rates",
                ("column", "value", "share", "visible"),
                tuple(
                    (rows.columns[column], _text(rows, column, value), hits / n_visible, n_visible)
                    for column, (value, hits, n_visible) in found.items()
                    if limits.is_confident(hits, n_visible)
                ),
            ),
        )


def _longest(n_columns: int) -> int:
    """Give the longest antecedent for which there are not too many sets of columns."""
    n_sets = accumulate(comb(n_columns, length) for length in range(1, n_columns + 1))
    return max(1, sum(1 for _ in takewhile(lambda total: total <= _MOST_SETS, n_sets)))


# --- without rules -------------------------------------------------------------------------------


def _majorities(rows: Rows) -> Mapping[int, tuple[int, int, int]]:
    """Give for columns with suppressed and visible cells the most frequent value and its counts.

    The counts are the cells that show it and those that show any value.
    """
    found = {}
    for column in range(len(rows.domains)):
        codes = rows.codes[:, column]
        counts = np.bincount(codes[codes != HIDDEN])
        n_visible = int(counts.sum())
        if 0 < n_visible < rows.n_rows:
            found[column] = int(counts.argmax()), int(counts.max()), n_visible
    return found


def _text(rows: Rows, column: int, code: int) -> str:
    text = rows.domains[column].text(code)
    return "missing" if text is None else text


# --- the search ----------------------------------------------------------------------------------

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class _Groups:
    """Rows that show some columns, grouped by their values there.

    Parameters
    ----------
    named
        The columns.
    row, group
        The rows, and the group of each.
    is_open
        For each group and column whether a longer antecedent may still be better for a
        suppressed cell of that column in the group.
    """

    named: tuple[int, ...]
    row: Codes
    group: Codes
    is_open: Flags

    @property
    def n_groups(self) -> int:
        """The number of groups."""
        return len(self.is_open)

    @property
    def has_open(self) -> Flags:
        """Which groups are open for some column."""
        has_open: Flags = np.any(self.is_open, axis=1)
        return has_open


class _Search:
    """Goes through all sets of columns, and keeps for each suppressed cell the best rule.

    A longer antecedent has no more rows to support it. So a group needs no closer look for a column
    in which it has no suppressed cell, in which too few of its rows are visible, or in which all of
    these have one value: no rule can be better than that one.
    """

    def __init__(self, rows: Rows, limits: Limits, longest: int) -> None:
        self.rows = rows
        self.limits = limits
        self.longest = longest
        self.codes = [column.astype(np.int64) for column in rows.codes.T]
        self.row, self.column = np.nonzero(rows.is_hidden)
        self.cell = [np.full(rows.n_rows, -1, dtype=np.int64) for _ in rows.domains]
        for column, cell in enumerate(self.cell):
            places = np.flatnonzero(self.column == column)
            cell[self.row[places]] = places
        # The best rule of each cell: its counts, its value, the set of columns that it names
        # and, to tell rules apart, its number.
        n_cells = len(self.row)
        self.hits = np.zeros(n_cells, dtype=np.int64)
        self.n_public = np.ones(n_cells, dtype=np.int64)
        self.length = np.zeros(n_cells, dtype=np.int64)
        self.value = np.full(n_cells, -1, dtype=np.int64)
        self.named = np.full(n_cells, -1, dtype=np.int64)
        self.rule = np.full(n_cells, -1, dtype=np.int64)
        self.sets: list[tuple[int, ...]] = []
        self.n_rules = 0

    def run(self) -> None:
        """Start from the empty antecedent."""
        everybody = np.arange(self.rows.n_rows)
        n_hidden = np.count_nonzero(self.rows.is_hidden, axis=0, keepdims=True)
        is_open = (n_hidden > 0) & (self.rows.n_rows - n_hidden >= self.limits.gamma)
        if is_open.any():
            self.extend(_Groups((), everybody, np.zeros_like(everybody), is_open))

    def extend(self, groups: _Groups) -> None:
        """Name one more column, after those named: ask the finer groups, then go on with them."""
        first = groups.named[-1] + 1 if groups.named else 0
        for column in range(first, len(self.codes)):
            finer = self.refine(groups, column)
            if not finer.n_groups:
                continue
            self.ask(finer)
            if len(finer.named) < self.longest:
                self.extend(self.keep(finer, finer.has_open))

    def refine(self, groups: _Groups, column: int) -> _Groups:
        """Split groups by the values of a column; leave out those that nothing can come of."""
        value = self.codes[column][groups.row]
        shows = value != HIDDEN
        size = self.rows.domains[column].size
        keys, group = _numbered(groups.group[shows] * size + value[shows])
        is_open = groups.is_open[keys // size]
        is_open[:, column] = False
        finer = _Groups((*groups.named, column), groups.row[shows], group, is_open)
        # A suppressed cell comes on top of the rows that support the rule.
        is_large = np.bincount(group, minlength=len(keys)) > self.limits.gamma
        return self.keep(finer, is_large & finer.has_open)

    def keep(self, groups: _Groups, is_kept: Flags) -> _Groups:
        """Leave out the other groups."""
        number = np.cumsum(is_kept) - 1
        stays = is_kept[groups.group]
        return _Groups(
            groups.named,
            groups.row[stays],
            number[groups.group[stays]],
            groups.is_open[is_kept],
        )

    def ask(self, groups: _Groups) -> None:
        """Try the rules that have these groups as antecedents, and note what stays open."""
        for column in np.flatnonzero(groups.is_open.any(axis=0)).tolist():
            is_open = groups.is_open[:, column]
            cell = self.cell[column][groups.row]
            is_asked = np.zeros_like(is_open)
            is_asked[groups.group[cell >= 0]] = True
            is_asked &= is_open
            number = np.cumsum(is_asked) - 1
            of_asked = is_asked[groups.group]
            group, cell = number[groups.group[of_asked]], cell[of_asked]
            row = groups.row[of_asked]
            is_hidden = cell >= 0
            value, hits, n_public = self.count(
                column, row[~is_hidden], group[~is_hidden], int(is_asked.sum())
            )
            is_supported = n_public >= self.limits.gamma
            groups.is_open[is_asked, column] = is_supported & (hits < n_public)
            groups.is_open[~is_asked, column] = False
            is_rule = is_supported & (
                hits * self.limits.denominator >= self.limits.numerator * n_public
            )
            group, cell = group[is_hidden], cell[is_hidden]
            fires = is_rule[group]
            if fires.any():
                self.improve(groups.named, cell[fires], group[fires], value, hits, n_public)

    def count(
        self, column: int, row: Codes, group: Codes, n_groups: int
    ) -> tuple[Codes, Counts, Counts]:
        """Give the most frequent value of each group, how many rows have it and how many any."""
        size = self.rows.domains[column].size
        n_public = np.bincount(group, minlength=n_groups)
        key = group * size + self.codes[column][row]
        if n_groups * size <= _KEYS_A_ROW * len(key):
            counts = np.bincount(key, minlength=n_groups * size).reshape(n_groups, size)
            return counts.argmax(axis=1), counts.max(axis=1), n_public
        pairs, counts = np.unique(key, return_counts=True)
        of_group = pairs // size
        order = np.lexsort((pairs, -counts, of_group))
        best = order[np.unique(of_group, return_index=True)[1]]
        value, hits = np.zeros(n_groups, dtype=np.int64), np.zeros(n_groups, dtype=np.int64)
        value[of_group[best]] = pairs[best] % size
        hits[of_group[best]] = counts[best]
        return value, hits, n_public

    def improve(
        self,
        named: tuple[int, ...],
        cell: Codes,
        group: Codes,
        value: Codes,
        hits: Counts,
        n_public: Counts,
    ) -> None:
        """Let cells have a rule that is better than their best one so far."""
        new, old = hits[group] * self.n_public[cell], self.hits[cell] * n_public[group]
        gain = n_public[group] - self.n_public[cell]
        is_shorter = len(named) < self.length[cell]
        # Sets of one size come in the order of their columns: of equal rules the first stays.
        is_better = (new > old) | ((new == old) & ((gain > 0) | ((gain == 0) & is_shorter)))
        cell, group = cell[is_better], group[is_better]
        if not len(cell):
            return
        self.hits[cell] = hits[group]
        self.n_public[cell] = n_public[group]
        self.length[cell] = len(named)
        self.value[cell] = value[group]
        self.named[cell] = len(self.sets)
        self.rule[cell] = self.n_rules + group
        self.sets.append(named)
        self.n_rules += len(hits)

    def guesses(self) -> Guesses:
        """Give the guesses, and the rules behind them in words."""
        found = np.flatnonzero(self.rule >= 0)
        belief = self.hits[found] / self.n_public[found]
        rules, first, reason = np.unique(self.rule[found], return_index=True, return_inverse=True)
        order = np.argsort(-belief[first], kind="stable")
        place = np.full(len(rules), -1, dtype=np.int64)
        place[order[:_MOST_REASONS]] = np.arange(min(len(order), _MOST_REASONS))
        worded = found[first[order[:_MOST_REASONS]]].tolist()
        return Guesses(
            self.row[found],
            self.column[found],
            self.value[found],
            belief,
            place[reason],
            tuple(self.word(cell) for cell in worded),
        )

    def word(self, cell: int) -> str:
        """Put the best rule of a cell into words."""
        codes, column = self.rows.codes[self.row[cell]], int(self.column[cell])
        shown = " and ".join(
            f"{self.rows.columns[place]} {_text(self.rows, place, int(codes[place]))}"
            for place in self.sets[self.named[cell]]
        )
        value = _text(self.rows, column, int(self.value[cell]))
        counts = f"{self.hits[cell]} of {self.n_public[cell]}"
        return f"{shown}: {self.rows.columns[column]} {value}, {counts}"


def _numbered(key: Codes) -> tuple[Codes, Codes]:
    """Give the different keys in their order, and the number of each key among them."""
    largest = int(key.max(initial=-1))
    if largest >= _KEYS_A_ROW * len(key):
        present, number = np.unique(key, return_inverse=True)
        return present, number.astype(np.int64)
    is_there = np.zeros(largest + 1, dtype=bool)
    is_there[key] = True
    return np.flatnonzero(is_there), (np.cumsum(is_there) - 1)[key]
