"""No rule that anybody could mine from the visible cells betrays a private cell.

A rule says that rows which show certain values have a certain value in another column. It betrays
private cells if enough rows show its antecedent and its column, a share of at least delta of them
has the value, and it fires at a private cell; if hidden values count, a share of at least delta of
the cells it fires at must have the value too. All rules are counted again here, one set of columns
after the other: rows that show these columns are grouped by their values, and the values of every
other column are counted in each group. A group of rows that an earlier set of columns had is not
followed again. Only the sets of values that appear in just these rows are counted, for those groups
that have rules.

References
----------
[Aggarwal06] (see `shoal.hiding`) section 3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.adversary_guarantees import RuleProtection
from shoal.core.arrays import Codes, Counts, Flags, Small
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import read_gamma
from shoal.core.guarantees import Guarantee
from shoal.core.progress import Work
from shoal.core.table import Rows
from shoal.core.verdict import Evidence, Verdict

_VISIBLE, _PRIVATE, _BLANKED = 0, 1, 2
_KEYS_A_ROW = 8
_SET, _ROW, _GROUP = 1_000, 10, 200
"""The approximate number of operations per set of columns, per row of it, and per new group."""
_EXACT_BITS, _NAME_BITS = 53, 96
"""The bits of whole numbers that floats hold, and the fewest bits of the name of a group."""


@dataclass(frozen=True, eq=False)
class Witnessed:
    """The published lines with hidden values included, and the cells declared private."""

    codes: Small
    is_private: Flags


def check(guarantee: Guarantee, evidence: Evidence) -> Verdict:
    """Mine the release again for rules that predict private cells.

    Without the witness, private cells cannot be distinguished from those blanked to protect them.
    If no rule fires at any suppressed cell, the guarantee holds all the same; in mode oblivious it
    is then verified in part.

    Raises
    ------
    ParameterError
        If the guarantee is another, or the release is not a suppressed one.
    DataError
        If the witness does not fit the release.
    """
    if not isinstance(guarantee, RuleProtection) or evidence.rows is None:
        raise ParameterError(f"{guarantee.name} is about suppressed cells; the release has none.")
    witness = evidence.witnesses.get(str(guarantee.needs_witness))
    if witness is None:
        return _check_public(guarantee, evidence.rows, evidence.work)
    if not isinstance(witness, Witnessed) or witness.codes.shape != evidence.rows.codes.shape:
        raise DataError("The witness of private cells does not fit the release.")
    is_hidden = evidence.rows.is_hidden
    if np.any(witness.is_private & ~is_hidden):
        raise DataError("A private cell is not suppressed.")
    is_paper = guarantee.mode == "paper"
    found = _remaining(
        guarantee,
        witness.codes,
        witness.is_private,
        is_hidden,
        use_hidden=is_paper,
        work=evidence.work,
    )
    n_uneven = 0
    if guarantee.mode == "oblivious":
        n_uneven = _n_uneven(witness.is_private, is_hidden)
    n_columns = len(found.by_column)
    detail = "no rule predicts private cells"
    if found.n_rules:
        detail = f"{found.n_rules} rules predict private cells of {n_columns} columns"
    if n_uneven:
        detail += f"; in {n_uneven} rows other columns are blanked than in rows private alike"
    return Verdict(
        guarantee=guarantee,
        holds=not found.n_rules and not n_uneven,
        reached={},
        n_buckets=int(witness.is_private.any(axis=0).sum()),
        n_failing=n_columns,
        detail=detail,
        unit="columns",
    )


def _check_public(guarantee: RuleProtection, rows: Rows, work: Work) -> Verdict:
    """Check as if every suppressed cell were private."""
    is_hidden = rows.is_hidden
    found = _remaining(guarantee, rows.codes, is_hidden, is_hidden, use_hidden=False, work=work)
    return Verdict(
        guarantee=guarantee,
        holds=True,
        reached={},
        n_buckets=int(is_hidden.any(axis=0).sum()),
        n_failing=0,
        detail=f"{found.n_rules or 'no'} rules fire at suppressed cells, private or not",
        is_partial=found.n_rules > 0 or guarantee.mode == "oblivious",
        unit="columns",
    )


def _remaining(
    guarantee: RuleProtection,
    codes: Small,
    private: Flags,
    hidden: Flags,
    *,
    use_hidden: bool,
    work: Work,
) -> RemainingRules:
    state = np.where(private, _PRIVATE, np.where(hidden, _BLANKED, _VISIBLE))
    # Hidden codes that are not known must still be codes.
    return remaining_rules(
        np.maximum(codes, 0),
        state,
        delta=guarantee.delta,
        gamma=read_gamma(guarantee.gamma, len(codes)),
        use_hidden=use_hidden,
        work=work,
    )


def _n_uneven(private: Flags, hidden: Flags) -> int:
    """Count the rows whose blanks do not follow from which of their columns are private.

    For each column, take the largest set of others that is hidden wherever the column is private:
    if any choice of sets explains all blanks, this one does.
    """
    explained = np.zeros_like(hidden)
    for column in range(private.shape[1]):
        chosen = private[:, column]
        if chosen.any():
            explained[chosen] |= hidden[chosen].all(axis=0)
    return int((hidden & ~private & ~explained).any(axis=1).sum())


@dataclass(frozen=True)
class RemainingRules:
    """The rules that are left, without any value of the table.

    `by_column` counts the rules that predict each column, by its place; columns without rules are
    left out. `examples` has, for each of these columns, the places of the columns that one such
    rule names.
    """

    n_rules: int
    by_column: Mapping[int, int]
    examples: Mapping[int, tuple[int, ...]]


def remaining_rules(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Fraction,
    gamma: int,
    use_hidden: bool,
    work: Work | None = None,
) -> RemainingRules:
    """Count the rules that betray private cells.

    Parameters
    ----------
    codes
        One row per row of the table, one column per column: numbers from 0 on that stand for
        values. Those of private cells matter only if hidden values count.
    state
        For each cell 0 if it is visible, 1 if it is private, 2 if it is blanked otherwise.
    delta
        The minimum confidence; a tie betrays.
    gamma
        The fewest rows that show a rule's antecedent and its column, at least 1.
    use_hidden
        Whether hidden values count.
    work
        The operations that may be spent. Default: 2e9.

    Raises
    ------
    TooMuchWork
        If there are too many sets of columns that rules may name.
    ParameterError
        If codes and states differ in shape, or a threshold is out of range.

    Examples
    --------
    >>> codes, state = np.array([[0, 1], [0, 1], [0, 1]]), np.array([[0, 0], [0, 0], [0, 1]])
    >>> remaining_rules(codes, state, delta=Fraction(4, 5), gamma=2, use_hidden=True)
    RemainingRules(n_rules=1, by_column=mappingproxy({1: 1}), examples=mappingproxy({1: (0,)}))
    """
    if codes.ndim != 2 or codes.shape != state.shape:
        raise ParameterError("Codes and states must be tables of one shape.")
    if not 0 < delta <= 1 or gamma < 1:
        raise ParameterError("delta must be above 0 and at most 1, and gamma at least 1.")
    search = _Search(codes, state, delta, gamma, use_hidden, work or Work())
    everybody = np.arange(len(codes))
    if search.asked:
        search.extend(everybody, np.zeros(len(codes), dtype=np.int64), ())
    return RemainingRules(
        sum(search.by_column.values()),
        MappingProxyType(dict(sorted(search.by_column.items()))),
        MappingProxyType(dict(sorted(search.examples.items()))),
    )


class _Search:
    """Enumerates sets of columns, each with the groups of rows that show it and no earlier set.

    A group has a name: sums of numbers drawn for its rows. With more than 90 random bits in it, two
    of a million groups have the same name with a probability below 2**-50.
    """

    def __init__(
        self,
        codes: npt.NDArray[np.integer[Any]],
        state: npt.NDArray[np.integer[Any]],
        delta: Fraction,
        gamma: int,
        use_hidden: bool,
        work: Work,
    ) -> None:
        self.n_columns = codes.shape[1]
        self.values = [_numbered(codes[:, column])[0] for column in range(self.n_columns)]
        self.is_visible = [state[:, column] == _VISIBLE for column in range(self.n_columns)]
        self.is_private = [state[:, column] == _PRIVATE for column in range(self.n_columns)]
        self.has_private = (state == _PRIVATE).any(axis=1)
        # No rule is about a column without a private cell.
        self.asked = [column for column, cells in enumerate(self.is_private) if cells.any()]
        self.items = _Items.of([self.values[column] for column in self.asked], state[:, self.asked])
        self.gamma = gamma
        self.use_hidden = use_hidden
        share = (delta.numerator, delta.denominator)
        # For each number of rows, the fewest hits that are a share of at least delta of them.
        self.least = np.array([-(-share[0] * n // share[1]) for n in range(len(codes) + 1)])
        self.work = work
        self.shown = np.where(state == _VISIBLE, codes, -1)
        n_bits = _EXACT_BITS - len(codes).bit_length()
        drawn = np.random.default_rng().integers(
            0, 2**n_bits, (-(-_NAME_BITS // n_bits), len(codes))
        )
        self.row_names = drawn.astype(np.float64)
        self.seen: set[bytes] = set()
        self.by_column: dict[int, int] = {}
        self.examples: dict[int, tuple[int, ...]] = {}

    def extend(self, rows: Codes, group: Codes, named: tuple[int, ...]) -> None:
        """Add one column, after those named: group the rows that show it, and count their rules."""
        for column in range(named[-1] + 1 if named else 0, self.n_columns):
            self.work.spend(_SET + _ROW * len(rows))
            shows = self.is_visible[column][rows]
            values = self.values[column]
            key = group[shows] * (int(values.max(initial=0)) + 1) + values[rows[shows]]
            kept, finer = self.keep_groups(rows[shows], key)
            if len(kept):
                self.ask(kept, finer, (*named, column))
                self.extend(kept, finer, (*named, column))

    def keep_groups(self, rows: Codes, key: Codes) -> tuple[Codes, Codes]:
        """Leave out groups with too few rows or no private cell, and those seen before."""
        group, n_groups = _numbered(key)
        is_kept = np.bincount(group, minlength=n_groups) >= self.gamma
        is_kept &= np.bincount(group[self.has_private[rows]], minlength=n_groups) > 0
        rows, group = _only(is_kept, rows, group)
        if not len(rows):
            return rows, group
        return _only(self.are_new(rows, group), rows, group)

    def are_new(self, rows: Codes, group: Codes) -> Flags:
        """Return which groups no earlier set of columns had.

        What further columns make of a group, they made of the same rows when it came first.
        """
        names = np.column_stack(
            [np.bincount(group, weights=drawn[rows]) for drawn in self.row_names]
        )
        is_new = np.zeros(len(names), dtype=bool)
        for place, name in enumerate(names):
            name_bytes = name.tobytes()
            if name_bytes not in self.seen:
                self.seen.add(name_bytes)
                is_new[place] = True
        self.work.spend(_GROUP * int(is_new.sum()))
        return is_new

    def ask(self, rows: Codes, group: Codes, named: tuple[int, ...]) -> None:
        """Count the rules about every other column that have these groups as antecedents."""
        n_groups = int(group.max()) + 1
        self.work.spend(_ROW * len(rows) * len(self.asked))
        of_group, place = self.find_rules(rows, group, n_groups)
        if not len(place):
            return
        column = np.array(self.asked)[place]
        is_other = ~np.isin(column, named)
        of_group, column = of_group[is_other], column[is_other]
        n_antecedents = {
            place: self.count_antecedents(rows[group == place])
            for place in np.unique(of_group).tolist()
        }
        for place, predicted in zip(of_group.tolist(), column.tolist(), strict=True):
            self.examples.setdefault(predicted, named)
            n_so_far = self.by_column.get(predicted, 0)
            self.by_column[predicted] = n_so_far + n_antecedents[place]

    def find_rules(self, rows: Codes, group: Codes, n_groups: int) -> tuple[Codes, Codes]:
        """Return for each rule the group that shows its antecedent, and its column."""
        items, n_columns = self.items, len(self.asked)
        key = (group[:, np.newaxis] * items.n_items + items.of_cell[rows]).ravel()
        keys, counts = _counted(key, n_groups * items.n_items)
        of_group, item = keys // items.n_items, keys % items.n_items
        place = of_group * n_columns + items.column[item]
        n_public, n_hidden = (
            np.bincount(place[kind], counts[kind], n_groups * n_columns).astype(np.int64)
            for kind in (items.kind[item] == _VISIBLE, items.kind[item] == _PRIVATE)
        )
        is_rule = (items.kind[item] == _VISIBLE) & (n_hidden[place] > 0)
        is_rule &= n_public[place] >= self.gamma
        is_rule &= counts >= self.least[n_public[place]]
        if self.use_hidden:
            # The same value, private, follows by as many items as there are.
            wanted = keys + items.n_values_in_all
            found = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            hits = np.where(keys[found] == wanted, counts[found], 0)
            is_rule &= hits >= self.least[n_hidden[place]]
        return of_group[is_rule], items.column[item[is_rule]]

    def count_antecedents(self, rows: Codes) -> int:
        """Count the sets of values that are shown by these rows and no others."""
        first = self.shown[rows[0]]
        shared = np.flatnonzero((first >= 0) & (self.shown[rows] == first).all(axis=0))
        self.work.spend(len(self.shown) * len(shared))
        others = np.ones(len(self.shown), dtype=bool)
        others[rows] = False
        lacking = np.packbits(self.shown[others][:, shared] != first[shared], axis=1)
        # Every other row must lack at least one of the values.
        sets = {int.from_bytes(one.tobytes()) for one in np.unique(lacking, axis=0)}
        n_padded = 8 * lacking.shape[1] - len(shared)
        n_sets = _n_hitting({one >> n_padded for one in sets}, len(shared), self.work)
        return n_sets - (not sets)


@dataclass(frozen=True, eq=False)
class _Items:
    """The values of all columns, numbered in one row: first visible, then private, then blanked.

    `of_cell` has the number of each cell; `column` and `kind` say what each number means.
    """

    of_cell: Codes
    column: Codes
    kind: Codes
    n_values_in_all: int

    @classmethod
    def of(cls, values: list[Codes], state: npt.NDArray[np.integer[Any]]) -> _Items:
        n_values = [int(codes.max(initial=-1)) + 1 for codes in values]
        n_in_all = sum(n_values)
        first = np.cumsum([0, *n_values])[:-1]
        of_cell: Codes = n_in_all * state.astype(np.int64)
        for place, codes in enumerate(values):
            of_cell[:, place] += codes + first[place]
        return cls(
            of_cell,
            np.tile(np.repeat(np.arange(len(values)), n_values), 3),
            np.repeat([_VISIBLE, _PRIVATE, _BLANKED], n_in_all),
            n_in_all,
        )

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.column)


def _counted(key: Codes, n_keys: int) -> tuple[Codes, Counts]:
    """Return the keys that appear, ascending, and how often each does."""
    if n_keys > _KEYS_A_ROW * len(key):
        return np.unique(key, return_counts=True)
    counts = np.bincount(key, minlength=n_keys)
    present = np.flatnonzero(counts)
    return present, counts[present]


def _only(is_kept: Flags, rows: Codes, group: Codes) -> tuple[Codes, Codes]:
    """Keep some groups, and number these anew."""
    if is_kept.all():
        return rows, group
    number = np.cumsum(is_kept) - 1
    stays = is_kept[group]
    return rows[stays], number[group[stays]]


def _n_hitting(sets: set[int], n_elements: int, work: Work) -> int:
    """Count the subsets of some elements that meet every set; sets are bits of a number."""
    work.spend(_ROW * (1 + len(sets)) ** 2)
    if 0 in sets:
        return 0
    smallest = [one for one in sets if not any(other & one == other != one for other in sets)]
    if not smallest:
        return int(2**n_elements)
    used = 0
    for one in smallest:
        used |= one
    bits = [1 << place for place in range(used.bit_length()) if used >> place & 1]
    element = max(bits, key=lambda bit: sum(bool(one & bit) for one in smallest))
    n_with = _n_hitting({one for one in smallest if not one & element}, len(bits) - 1, work)
    n_without = _n_hitting({one & ~element for one in smallest}, len(bits) - 1, work)
    return int(2 ** (n_elements - len(bits))) * (n_with + n_without)


def _numbered(key: npt.NDArray[np.integer[Any]]) -> tuple[Codes, int]:
    """Number the different keys from 0 on, in their order; also return how many there are."""
    largest = int(key.max(initial=-1))
    if largest >= _KEYS_A_ROW * len(key):
        present, number = np.unique(key, return_inverse=True)
        return number.astype(np.int64), len(present)
    is_there = np.zeros(largest + 1, dtype=bool)
    is_there[key] = True
    numbers = np.cumsum(is_there) - 1
    return numbers[key], int(is_there.sum())
