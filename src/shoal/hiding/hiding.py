"""GraDeS made fast and safe: blank few further cells so that no adversarial rule is left.

`shoal.knowledge.adversarial.grades` is the paper's algorithm in plain lines; this one follows the
weights that a blanked cell changes instead of adding all of them up again, and tests compare both.

A rule is stopped in two ways. It is invalidated where rows leave its public set until it is no
longer confident, and marginalized where rows leave its hidden set until it fires no more. Every
cell weighs what blanking it does to all rules, and the heaviest cell goes. That alone is not
enough: a row that contradicts a rule may leave too, and the rule comes up. So rules are mined and
cells blanked in turn until no rule is left. At last, cells that turn out to be needless are shown
again.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 5, Figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.errors import InternalError, ParameterError
from shoal.core.exact import Number
from shoal.core.rule_thresholds import check_blank_per_round
from shoal.knowledge.adversarial._kernels import Follower, Hider, Restorer, Searcher
from shoal.knowledge.adversarial.capacity import most_rules, refuse_more_rules
from shoal.knowledge.adversarial.cells import BLANKED, HiddenTable, Small, States
from shoal.knowledge.adversarial.following import Followed, PackedRules
from shoal.knowledge.adversarial.hitting import minimum_hitting_set
from shoal.knowledge.adversarial.packing import Packed, pack
from shoal.knowledge.adversarial.rules import CodedRules
from shoal.knowledge.adversarial.thresholds import Limits

__all__ = ["Fate", "Hiding", "Mode", "hide"]

_FEWER = "raise gamma or delta, or leave out columns."
_NO_COLUMNS: Mapping[int, tuple[int, ...]] = MappingProxyType({})


class Mode(StrEnum):
    """Against whom cells are hidden, from the weakest claim to the strongest."""

    PAPER = "paper"
    """No adversarial rule is left: none whose public and hidden confidence both reach delta."""

    PUBLIC = "public"
    """No rule of enough support and public confidence fires at any private cell."""

    OBLIVIOUS = "oblivious"
    """As `PUBLIC`; and which columns are blanked in a row follows from its private columns."""


class Fate(IntEnum):
    """How a rule ended."""

    REMAINING = 0
    """It is adversarial still, which happens only after a single pass."""

    INVALIDATED = 1
    """Its public set is too small, or no longer confident."""

    MARGINALIZED = 2
    """It fires at no private cell any more; in mode ``paper``, it may fire and be right about a
    share below delta of the cells."""


@dataclass(frozen=True, eq=False, repr=False)
class Hiding:
    """Which cells were blanked, and what became of the rules.

    Parameters
    ----------
    mode
        Against whom.
    state
        What is hidden in the end: for each cell visible, private or blanked.
    cells
        The cells blanked, in order: one row each, with its row and its column.
    round
        For each of these the round in which it was blanked.
    n_passes
        How often rules were found and cells blanked.
    n_restored
        How many cells were blanked and shown again.
    rules
        All rules that were ever found, with their counts at that time.
    found_in
        For each rule the pass that found it first.
    fate
        For each rule how it ended, a `Fate`.
    blanked_for
        In mode ``oblivious``, for each column with rules the columns that are blanked in every row
        where it is private.
    """

    mode: Mode
    state: States
    cells: Codes
    round: Codes
    n_passes: int
    n_restored: int
    rules: CodedRules
    found_in: Codes
    fate: States
    blanked_for: Mapping[int, tuple[int, ...]]

    def n_ended(self, fate: Fate) -> int:
        """Count the rules that ended in some way."""
        return int(np.count_nonzero(self.fate == fate))

    def to_dict(self) -> dict[str, object]:
        """Give the numbers as JSON holds them."""
        return {
            "mode": str(self.mode),
            "blanked": len(self.cells),
            "restored": self.n_restored,
            "passes": self.n_passes,
            "rounds": len(np.unique(self.round)),
            "rules": len(self.rules),
            "invalidated": self.n_ended(Fate.INVALIDATED),
            "marginalized": self.n_ended(Fate.MARGINALIZED),
            "remaining": self.n_ended(Fate.REMAINING),
        }

    def __repr__(self) -> str:
        return (
            f"Hiding({self.mode}: {len(self.cells)} cells blanked in {self.n_passes} passes "
            f"against {len(self.rules)} rules)"
        )


def hide(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    gamma: Number = 1,
    mode: str = Mode.PUBLIC,
    blank_per_round: Number = 1,
    shrink: bool | None = None,
    single_pass: bool = False,
) -> Hiding:
    """Blank cells until no adversarial rule is left.

    Parameters
    ----------
    codes, state, delta, gamma
        As for `shoal.knowledge.adversarial.mining.mine`. Cells that are blanked already stay so.
    mode
        ``paper``, ``public`` or ``oblivious``; see `Mode`.
    blank_per_round
        How many cells to blank before weights are added up again: a count if it is an integer
        (the paper's blanking factor k), else a share of the cells of the table (Figure 2, line 6).
    shrink
        Whether to show cells again that are needless in the end; afterwards every blanked cell is
        needed: a rule comes back where it is shown. Default: in mode ``public`` only. In mode
        ``paper`` it shows cells until rules are right about hardly less than delta of the private
        cells at which they fire, and lets them fire at more of these.
    single_pass
        Whether to stop after the rules that were found first, as printed; rules may be left.

    Raises
    ------
    ParameterError
        Where a parameter is out of range; where there are more rules than can be kept, or they
        appear in more rows than can be followed; where shrinking is asked for in mode
        ``oblivious``, since choosing by value is the leak that this mode avoids, or after a single
        pass, which does not end safe.

    Notes
    -----
    Cells weigh as [Aggarwal06], section 5, prints it: a public row that has a rule's value adds
    1 / |pub| to its cells in the rule's columns, a hidden row 1 / |hid| to those in the
    antecedent's. Weights are rounded down to multiples of 2**-40, so that no order of adding them
    up matters. Of cells of equal weight the one in the first column is taken, and in it rows with
    private cells before others, then the first row.

    Choosing by hidden values betrays them to who knows the algorithm. In modes ``public`` and
    ``oblivious`` nothing depends on them.

    Examples
    --------
    >>> codes = np.array([[0, 1], [0, 1], [0, 1], [1, 0]])
    >>> state = np.array([[0, 0], [0, 0], [0, 1], [0, 0]])
    >>> hiding = hide(codes, state, delta=0.8, gamma=2)
    >>> hiding
    Hiding(public: 1 cells blanked in 1 passes against 1 rules)
    >>> hiding.cells.tolist(), Fate(hiding.fate[0]).name
    ([[2, 0]], 'MARGINALIZED')
    """
    chosen = _read_mode(mode)
    can_shrink = chosen is not Mode.OBLIVIOUS and not single_pass
    if shrink and not can_shrink:
        raise ParameterError(
            "Shrinking is not possible in mode oblivious, nor after a single pass.",
            hint="leave shrink out, or set it to False.",
        )
    table = HiddenTable(codes, state)
    limits = Limits.of(delta, gamma, table.n_rows, use_hidden=chosen is Mode.PAPER)
    n_together = _read_blank_per_round(blank_per_round, table)
    work = _Work(table, limits, single_pass)
    if chosen is Mode.OBLIVIOUS:
        return work.finish(table, chosen, 0, work.blank_columns())
    work.blank_cells(n_together)
    is_shrunk = chosen is Mode.PUBLIC if shrink is None else shrink
    n_restored = work.restore() if can_shrink and is_shrunk else 0
    return work.finish(table, chosen, n_restored, _NO_COLUMNS)


def _read_mode(mode: str) -> Mode:
    try:
        return Mode(mode)
    except ValueError:
        raise ParameterError(
            f"mode must be one of {', '.join(Mode)}, not {mode!r}.",
            hint="public hides from who knows the release, oblivious also from who knows how it "
            "was made.",
        ) from None


def _read_blank_per_round(value: Number, table: HiddenTable) -> int:
    read = check_blank_per_round(value)
    if isinstance(read, int):
        return min(read, max(table.codes.size, 1))
    return max(1, math.ceil(read * table.codes.size))


class _Work:
    """A table while it is worked on."""

    packed: Packed
    shown: Small
    """The packed codes at first: what is visible there may be blanked, and nothing else."""

    def __init__(self, table: HiddenTable, limits: Limits, single_pass: bool) -> None:
        self.limits = limits
        self.single_pass = single_pass
        self.packed = pack(table, limits)
        self.shown = self.packed.code.copy()
        n_columns = table.n_columns
        self.searcher = Searcher(self.packed, limits, n_columns, most_rules(n_columns))
        self.found: list[PackedRules] = []
        self.cells: Codes = np.empty(0, dtype=np.int64)
        self.round: Codes = np.empty(0, dtype=np.int64)

    @property
    def n_rows(self) -> int:
        return int(self.shown.shape[1])

    def blank_cells(self, n_together: int) -> None:
        """Mine and hide in turn until no rule is left."""
        rules = self.mine_all()
        while len(rules):
            self.found.append(rules)
            before = self.packed.code.copy()
            followed = Followed.of(self.packed, rules, before)
            cells, rounds = Hider(self.packed, followed, self.limits, n_together).hide()
            self.round = np.append(self.round, rounds + (self.round.max(initial=-1) + 1))
            self.cells = np.append(self.cells, cells)
            if self.single_pass:
                break
            # A rule that is adversarial now has lost a row: else it had been found, and ended.
            rules = self.mine_changed(cells, before)

    def mine_all(self) -> PackedRules:
        """Mine all rules."""
        with refuse_more_rules(self.packed.n_columns, _FEWER):
            return PackedRules(*self.searcher.search())

    def mine_changed(self, cells: Codes, wide: Small) -> PackedRules:
        """Mine the rules whose counts a change of some cells can have changed."""
        rows = np.unique(cells % self.n_rows).astype(np.int32)
        with refuse_more_rules(self.packed.n_columns, _FEWER):
            return PackedRules(*self.searcher.search_changed(rows, wide))

    def restore(self) -> int:
        """Show cells again where no rule comes back; give their number.

        This is tried with the rules known so far. Where others turn up all the same, they are
        known from then on, and it is tried again from the start.
        """
        if not self.found:
            return 0
        rules, _ = PackedRules.joined(self.found)
        blanked = self.packed.code.copy()
        code = self.shown.ravel()[self.cells]
        while True:
            is_restored = np.zeros(len(self.cells), dtype=np.uint8)
            followed = Followed.of(self.packed, rules, self.shown)
            Restorer(self.packed, followed, self.limits).restore(self.cells, code, is_restored)
            restored = is_restored.astype(bool)
            others = self.mine_changed(self.cells[restored], self.packed.code)
            if not len(others):
                self.cells, self.round = self.cells[~restored], self.round[~restored]
                return int(restored.sum())
            n_known = len(rules)
            rules, _ = PackedRules.joined([rules, others])
            if len(rules) == n_known:
                raise InternalError("A rule came back that cells were kept blank against.")
            self.packed.code[:] = blanked

    def blank_columns(self) -> Mapping[int, tuple[int, ...]]:
        """Blank fixed columns wherever a column is private, until no rule is left.

        For every column all antecedents that ever predicted it are met. Those that are found after
        cells were blanked are new to it, and there are only so many sets of columns.
        """
        sets: dict[int, set[frozenset[int]]] = {}
        chosen: dict[int, tuple[int, ...]] = {}
        while True:
            rules = self.mine_all()
            if not len(rules):
                return MappingProxyType(chosen)
            self.found.append(rules)
            for column, named in _column_sets(rules):
                sets.setdefault(column, set()).add(named)
            chosen = {column: minimum_hitting_set(sets[column]) for column in sorted(sets)}
            self.blank_where_private(chosen)
            if self.single_pass:
                return MappingProxyType(chosen)

    def blank_where_private(self, chosen: Mapping[int, tuple[int, ...]]) -> None:
        n_values = self.packed.n_values[:, np.newaxis]
        is_private, is_visible = self.shown > n_values + 1, self.shown <= n_values
        is_blanked = np.zeros_like(is_visible)
        for column, others in chosen.items():
            is_blanked[list(others)] |= is_private[column]
        is_blanked &= is_visible
        self.packed.code[:] = np.where(is_blanked, n_values + 1, self.shown)
        self.cells = np.flatnonzero(is_blanked)
        self.round = np.zeros(len(self.cells), dtype=np.int64)

    def finish(
        self,
        table: HiddenTable,
        mode: Mode,
        n_restored: int,
        blanked_for: Mapping[int, tuple[int, ...]],
    ) -> Hiding:
        """Sum up."""
        none = PackedRules(np.empty((0, table.n_columns), np.int32), np.empty((0, 6), np.int64))
        rules, found_in = PackedRules.joined(self.found or [none])
        followed = Followed.of(self.packed, rules, self.shown)
        counts = Follower(self.packed, followed, self.limits).counts()
        unpacked = CodedRules.of_packed(
            self.packed, rules.antecedent, rules.found, use_hidden=self.limits.use_hidden
        )
        order = unpacked.order
        rows = self.packed.order[self.cells % max(self.n_rows, 1)]
        columns = self.cells // max(self.n_rows, 1)
        state = table.state.copy()
        state[rows, columns] = BLANKED
        return Hiding(
            mode,
            state,
            np.column_stack([rows, columns]).astype(np.int64),
            self.round,
            len(self.found),
            n_restored,
            unpacked.take(order),
            found_in[order],
            _fates(counts, self.limits)[order],
            blanked_for,
        )


def _column_sets(rules: PackedRules) -> list[tuple[int, frozenset[int]]]:
    """Give each column that is predicted with the columns that some antecedent names."""
    pairs = np.unique(np.column_stack([rules.found[:, 0], rules.antecedent >= 0]), axis=0)
    return [(int(pair[0]), frozenset(np.flatnonzero(pair[1:]).tolist())) for pair in pairs]


def _fates(counts: tuple[Counts, Counts, Counts, Counts], limits: Limits) -> States:
    n_public, public_hits, n_hidden, hidden_hits = counts
    is_found = (n_public >= limits.gamma) & (
        public_hits * limits.denominator >= limits.numerator * n_public
    )
    fires = n_hidden > 0
    if limits.use_hidden:
        fires &= hidden_hits * limits.denominator >= limits.numerator * n_hidden
    fates: States = np.where(
        ~is_found, Fate.INVALIDATED, np.where(fires, Fate.REMAINING, Fate.MARGINALIZED)
    ).astype(np.uint8)
    return fates
