"""GraDeS made fast and safe: blank few further cells so that no adversarial rule is left.

`shoal.hiding.grades` is the paper's algorithm in plain lines; this one updates only the weights
that a blanked cell changes, and the tests compare both.

A rule is stopped in two ways. It is invalidated if rows leave its public set until it is no longer
confident, and marginalized if rows leave its hidden set until it fires no more. The weight of a
cell is the effect of blanking it on all rules, and the heaviest cell is blanked. That alone is not
enough: a row that contradicts a rule may leave too, which makes the rule confident. So rules are
mined and cells blanked in turn until no rule is left. Finally, cells that turn out to be needless
are shown again.

References
----------
[Aggarwal06] (see `shoal.hiding`) section 5, Figure 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Bytes, Codes, Counts, Small
from shoal.core.errors import InternalError, ParameterError
from shoal.core.exact import Number, check_blank_per_round
from shoal.core.progress import Work
from shoal.hiding._hide_kernels import Hider
from shoal.hiding._restore_kernels import Restorer
from shoal.hiding.cells import BLANKED, HiddenTable, Limits, pack
from shoal.hiding.hitting_set import minimum_hitting_set
from shoal.hiding.row_sets import RowSets, RowSetSearch
from shoal.hiding.rules import (
    MOST_STEPS,
    CodedRules,
    FollowedRules,
    PackedRules,
    most_rules,
    refuse_more_rules,
    refuse_more_steps,
)

_FEWER = "raise gamma or delta, or leave out columns."
_CHEAPER = "raise gamma or delta, leave out columns, or raise max_work."
_REPEATED, _MANY = 8, 2**16
"""Rules are condensed if there are more than so many, and on average more that are alike."""


class Mode(StrEnum):
    """The adversary against whom cells are hidden, from the weakest claim to the strongest."""

    PAPER = "paper"
    """No adversarial rule is left: none whose public and hidden confidence both reach delta."""

    PUBLIC = "public"
    """No rule of enough support and public confidence fires at any private cell."""

    OBLIVIOUS = "oblivious"
    """As `PUBLIC`; and which columns are blanked in a row follows from its private columns."""


class Fate(IntEnum):
    """How a rule ended."""

    REMAINING = 0
    """It is still adversarial, which happens only after a single pass."""

    INVALIDATED = 1
    """Its public set is too small, or no longer confident."""

    MARGINALIZED = 2
    """It fires at no private cell any more; in mode ``paper``, it may fire and be right about a
    share below delta of the cells."""


@dataclass(frozen=True, eq=False, repr=False)
class Hiding:
    """The cells that were blanked, and the fate of the rules.

    `state` is the state of each cell in the end: visible, private or blanked. `cells` lists the
    blanked cells in order, the row and the column of each, and `round` the round in which it was
    blanked. `rules` are all that were ever found, with their counts at that time, `found_in` is the
    pass that found each first, and `fate` its `Fate`. In mode ``oblivious``, `blanked_for` has, for
    each column with rules, the columns that are blanked in every row in which it is private.
    """

    mode: Mode
    state: Bytes
    cells: Codes
    round: Codes
    n_passes: int
    n_restored: int
    rules: CodedRules
    found_in: Codes
    fate: Bytes
    blanked_for: Mapping[int, tuple[int, ...]]

    def n_ended(self, fate: Fate) -> int:
        """Count the rules that ended in some way."""
        return int(np.count_nonzero(self.fate == fate))

    def to_dict(self) -> dict[str, object]:
        """Return the numbers as JSON holds them."""
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
    max_work: int = MOST_STEPS,
) -> Hiding:
    """Blank cells until no adversarial rule is left.

    `codes`, `state`, `delta` and `gamma` are as for `shoal.hiding.mining.mine`; cells that are
    blanked already stay so. `blank_per_round` is the number of cells to blank before weights are
    added up again: a count if it is an integer (the paper's blanking factor k), otherwise a share
    of the cells of the table (Figure 2, line 6).

    `shrink` shows cells again that are needless in the end; afterwards every blanked cell is
    needed: a rule would come back if it were shown. Default: in mode ``public`` only. In mode
    ``paper``, rules may then fire at more private cells, and be right about almost delta of them.
    `single_pass` stops after the rules that were found first, as printed; rules may be left.
    `max_work` limits the cells that all searches for rules look at; default: 2e11.

    Raises
    ------
    ParameterError
        If a parameter is out of range, there are too many rules, or the searches would take more
        than `max_work`. Shrinking is refused in mode
        ``oblivious``, since choosing by value is the leak that this mode avoids, and after a single
        pass, which need not end safe.

    Notes
    -----
    Cells weigh as in [Aggarwal06], section 5: a public row that has a rule's value adds 1 / |pub|
    to its cells in the rule's columns, a hidden row 1 / |hid| to those in the antecedent's. Weights
    are rounded down to multiples of 2**-40, so that sums do not depend on their order. Of equally
    heavy cells the one in the first column is taken, and in it rows with private cells before
    others, then the first row.

    Choosing by hidden values betrays them to an adversary who knows the algorithm. In modes
    ``public`` and ``oblivious`` nothing depends on them.

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
    if shrink and (chosen is Mode.OBLIVIOUS or single_pass):
        raise ParameterError(
            "Shrinking is not possible in mode oblivious, nor after a single pass.",
            hint="leave shrink out, or set it to False.",
        )
    table, most = HiddenTable(codes, state), Work(max_work)
    hiding = _Work(table, delta, gamma, chosen, most, single_pass=single_pass)
    with refuse_more_steps(_CHEAPER):
        blanked_for = hiding.run(blank_per_round, shrink)
    return hiding.finish(chosen, blanked_for)


def hidden_state(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    gamma: Number = 1,
    mode: str = Mode.PUBLIC,
    shrink: bool | None = None,
    work: Work,
) -> Bytes:
    """Return the state of each cell in the end, as `hide` does, without an account of the rules.

    Raises `TooMuchWork` if the search for rules takes more steps than `work` allows.

    Examples
    --------
    >>> codes = np.array([[0, 1], [0, 1], [0, 1], [1, 0]])
    >>> state = np.array([[0, 0], [0, 0], [0, 1], [0, 0]])
    >>> hidden_state(codes, state, delta=0.8, gamma=2, work=Work()).tolist()
    [[0, 0], [0, 0], [2, 1], [0, 0]]
    """
    table = HiddenTable(codes, state)
    hiding = _Work(table, delta, gamma, _read_mode(mode), work, single_pass=False)
    hiding.run(1, shrink)
    return hiding.state


def _read_mode(mode: str) -> Mode:
    if mode in tuple(Mode):
        return Mode(mode)
    raise ParameterError(
        f"mode must be one of {', '.join(Mode)}, not {mode!r}.",
        hint="public protects against readers of the release, oblivious also against those who "
        "know how it was made.",
    )


class _Work:
    """A table while cells of it are blanked and restored."""

    def __init__(
        self,
        table: HiddenTable,
        delta: Number,
        gamma: Number,
        mode: Mode,
        work: Work,
        *,
        single_pass: bool,
    ) -> None:
        limits = Limits.of(delta, gamma, table.n_rows, use_hidden=mode is Mode.PAPER)
        self.table = table
        self.mode = mode
        self.limits = limits
        self.single_pass = single_pass
        self.n_restored = 0
        self.packed = pack(table, limits)
        # The packed codes at first: only cells that are visible there may be blanked.
        self.shown = self.packed.code.copy()
        self.search = RowSetSearch(self.packed, limits, work)
        self.is_condensed = False
        self.found: list[PackedRules] = []
        self.cells: Codes = np.empty(0, dtype=np.int64)
        self.round: Codes = np.empty(0, dtype=np.int64)

    @property
    def n_rows(self) -> int:
        return int(self.shown.shape[1])

    @property
    def state(self) -> Bytes:
        """The state of each cell as it is now."""
        state = self.table.state.copy()
        rows, columns = self.places
        state[rows, columns] = BLANKED
        return state

    @property
    def places(self) -> tuple[Codes, Codes]:
        """The rows of the table and the columns of the blanked cells."""
        n_rows = max(self.n_rows, 1)
        return self.packed.order[self.cells % n_rows], self.cells // n_rows

    def run(self, blank_per_round: Number, shrink: bool | None) -> Mapping[int, tuple[int, ...]]:
        """Blank cells until no rule is left; return what mode oblivious blanks for each column."""
        if self.mode is Mode.OBLIVIOUS:
            return self.blank_columns()
        stated, n_cells = check_blank_per_round(blank_per_round), max(self.table.codes.size, 1)
        self.blank_cells(
            min(stated, n_cells) if isinstance(stated, int) else math.ceil(stated * n_cells)
        )
        is_shrunk = self.mode is Mode.PUBLIC if shrink is None else shrink
        if is_shrunk and not self.single_pass:
            self.n_restored = self.restore()
        return MappingProxyType({})

    def blank_cells(self, n_together: int) -> None:
        """Mine rules and blank cells in turn until no rule is left."""
        rules = self.mine_all()
        while len(rules):
            self.found.append(rules)
            before = self.packed.code.copy()
            followed = FollowedRules.of(self.packed, rules, before)
            cells, rounds = Hider(self.packed, followed, self.limits, n_together).hide()
            self.round = np.append(self.round, rounds + (self.round.max(initial=-1) + 1))
            self.cells = np.append(self.cells, cells)
            if self.single_pass:
                break
            # A rule that is adversarial now has lost a row; otherwise it would have been found.
            rules = self.mine_changed(cells, before)

    def mine_all(self) -> PackedRules:
        return self.mine(self.search.all)

    def mine_changed(self, cells: Codes, wide: Small) -> PackedRules:
        """Mine the rules whose counts a change of some cells can have changed.

        An adversarial rule that is not among the known ones has lost or gained a row by the change,
        and so has every rule of the same rows: otherwise one of these would have been known.
        """
        rows = np.unique(cells % self.n_rows).astype(np.int32)
        return self.mine(lambda: self.search.changed(rows, wide))

    def mine(self, search: Callable[[], RowSets]) -> PackedRules:
        """List the rules of all antecedents, or one per set of rows if too many are alike."""
        n_most = most_rules(self.packed.n_columns)
        with refuse_more_rules(self.packed.n_columns, _FEWER):
            sets = search()
        if not self.is_condensed:
            try:
                return sets.listed(min(n_most, max(_MANY, _REPEATED * len(sets.found))))
            except OverflowError:
                self.is_condensed = True
        return sets.condensed()

    def restore(self) -> int:
        """Show cells again if no rule comes back, and return their number.

        The kernel tries this with the rules known so far. If other rules turn up, they are added to
        these, and everything is tried again from the start.
        """
        if not self.found:
            return 0
        rules, _ = PackedRules.joined(self.found)
        blanked = self.packed.code.copy()
        code = self.shown.ravel()[self.cells]
        while True:
            is_restored = np.zeros(len(self.cells), dtype=np.uint8)
            followed = FollowedRules.of(self.packed, rules, self.shown)
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

        The columns meet all antecedents that ever predicted the private column. This terminates:
        every pass adds a new set of columns, and there are finitely many.
        """
        sets: dict[int, set[frozenset[int]]] = {}
        chosen: dict[int, tuple[int, ...]] = {}
        while True:
            rules = self.mine_all()
            if not len(rules):
                return MappingProxyType(chosen)
            self.found.append(rules)
            # Each column that is predicted, with the columns that some antecedent names.
            pairs = np.unique(np.column_stack([rules.found[:, 0], rules.antecedent >= 0]), axis=0)
            for pair in pairs:
                named = frozenset(np.flatnonzero(pair[1:]).tolist())
                sets.setdefault(int(pair[0]), set()).add(named)
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

    def finish(self, mode: Mode, blanked_for: Mapping[int, tuple[int, ...]]) -> Hiding:
        """Count the rules again, and return what was done."""
        none = PackedRules(
            np.empty((0, self.table.n_columns), np.int32), np.empty((0, 6), np.int64)
        )
        rules, found_in = PackedRules.joined(self.found or [none])
        followed = FollowedRules.of(self.packed, rules, self.shown)
        counts = followed.count(self.packed)
        unpacked = CodedRules.of_packed(
            self.packed, rules.antecedent, rules.found, use_hidden=self.limits.use_hidden
        )
        order = unpacked.order
        return Hiding(
            mode,
            self.state,
            np.column_stack(self.places).astype(np.int64),
            self.round,
            len(self.found),
            self.n_restored,
            unpacked.take(order),
            found_in[order],
            _fates(counts, self.limits)[order],
            blanked_for,
        )


def _fates(counts: Counts, limits: Limits) -> Bytes:
    n_public, public_hits, n_hidden, hidden_hits = counts
    is_found = (n_public >= limits.gamma) & (
        public_hits * limits.denominator >= limits.numerator * n_public
    )
    fires = n_hidden > 0
    if limits.use_hidden:
        fires &= hidden_hits * limits.denominator >= limits.numerator * n_hidden
    fates: Bytes = np.where(
        ~is_found, Fate.INVALIDATED, np.where(fires, Fate.REMAINING, Fate.MARGINALIZED)
    ).astype(np.uint8)
    return fates
