"""FAiR: all rules by which hidden cells can be guessed from what is left.

A rule says: who shows all this (X) has that value y in column Y. It is adversarial where both the
rows that show Y, its public set, and those whose Y is private, its hidden set, have y in at least
a share delta of cases, and at least gamma rows are public. Whoever reads the table finds such a
rule, and is right with it. If hidden values must not matter, a rule is adversarial as soon as its
public set says so and its hidden set is not empty.

All antecedents are gone through depth first, with the rows in which they appear. What is left out
loses no rule: `shoal.knowledge.adversarial._kernels.Searcher` says what.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; sections 3 and 4, Figure 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.core.exact import Number, whole
from shoal.knowledge.adversarial._kernels import Searcher
from shoal.knowledge.adversarial.capacity import most_rules, refuse_more_rules
from shoal.knowledge.adversarial.cells import PRIVATE, VISIBLE, HiddenTable
from shoal.knowledge.adversarial.packing import pack
from shoal.knowledge.adversarial.rules import NO_ITEM, CodedRules
from shoal.knowledge.adversarial.thresholds import Limits

__all__ = ["base_rates", "mine"]

_FEWER = "raise gamma or delta, or let antecedents name fewer columns (max_len)."


def mine(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    gamma: Number = 1,
    max_len: int | None = None,
    use_hidden: bool = True,
) -> CodedRules:
    """Find all adversarial rules of a table.

    Parameters
    ----------
    codes, state
        The values of the cells and what is hidden, as
        `shoal.knowledge.adversarial.cells.HiddenTable` has them.
    delta
        The least confidence, public and hidden. A tie is adversarial.
    gamma
        The fewest rows of a public set: a count if it is an integer, else a share of the rows.
    max_len
        The most columns that an antecedent names; None for all.
    use_hidden
        Whether hidden values matter; else any private cell that a rule fires at is enough.

    Raises
    ------
    ParameterError
        Where a parameter is out of range, or there are more rules than can be kept.
    DataError
        Where the table has too many rows to be counted.

    Notes
    -----
    The empty antecedent is left out: see `base_rates`. The support of a rule is the size of its
    public set, as [Aggarwal06], Example 1, prints it; that of the antecedent, which Figure 1 tests
    in line 3, only serves to leave out longer ones.

    Two lines of Figure 1 lose rules when taken at their word. By line 5 an antecedent goes, with
    all longer ones, where it is non-discriminative for some column; other columns may still be
    predicted by it. By line 7 columns that cannot be predicted any more are removed from the
    projected table; a longer antecedent may still name them. Here a column that cannot be
    predicted is dropped as a consequent only, and an antecedent when no consequent is left.

    Examples
    --------
    Two of three rows show that who has 0 has 1; the third hides it.

    >>> codes = np.array([[0, 1], [0, 1], [0, 1]])
    >>> rules = mine(codes, np.array([[0, 0], [0, 0], [0, 1]]), delta=0.8, gamma=2)
    >>> list(rules)
    [CodedRule(column 0 -> column 1, public 2 of 2, hidden 1 of 1)]
    """
    table = HiddenTable(codes, state)
    limits = Limits.of(delta, gamma, table.n_rows, use_hidden=use_hidden)
    longest = table.n_columns if max_len is None else whole("max_len", max_len, least=1)
    packed = pack(table, limits)
    searcher = Searcher(packed, limits, longest, most_rules(table.n_columns))
    with refuse_more_rules(table.n_columns, _FEWER):
        antecedent, found = searcher.search()
    rules = CodedRules.of_packed(packed, antecedent, found, use_hidden=use_hidden)
    return rules.take(rules.order)


def base_rates(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    *,
    delta: Number,
    use_hidden: bool = True,
) -> CodedRules:
    """Find the columns with private cells in which a value has a share of delta or more.

    They are given as rules without antecedent, whatever their hidden confidence. Such a value is
    the best guess for everybody, and no hiding of other columns protects who has it.

    Parameters
    ----------
    codes, state, delta
        As for `mine`.
    use_hidden
        Whether to count the private cells that have the value; else `hidden_hits` is None.

    Examples
    --------
    >>> codes, state = np.array([[0, 1], [1, 1], [2, 1]]), np.array([[0, 0], [0, 0], [0, 1]])
    >>> list(base_rates(codes, state, delta=0.8))
    [CodedRule(nothing -> column 1, public 2 of 2, hidden 1 of 1)]
    """
    table = HiddenTable(codes, state)
    limits = Limits.of(delta, 1, table.n_rows, use_hidden=use_hidden)
    found = [
        _base_rates_of(table, column, limits)
        for column in range(table.n_columns)
        if (table.state[:, column] == PRIVATE).any()
    ]
    counted = np.concatenate([np.empty((0, 6), dtype=np.int64), *found])
    return CodedRules(
        np.full((len(counted), table.n_columns), NO_ITEM, dtype=np.int32),
        counted[:, 0].astype(np.int32),
        counted[:, 1].astype(np.int32),
        counted[:, 2],
        counted[:, 3],
        counted[:, 4],
        counted[:, 5] if use_hidden else None,
    )


def _base_rates_of(table: HiddenTable, column: int, limits: Limits) -> Codes:
    """Give column, value and counts of each value that is frequent enough."""
    codes, states = table.codes[:, column], table.state[:, column]
    values, hits = np.unique(codes[states == VISIBLE], return_counts=True)
    n_public = int(hits.sum())
    is_frequent = hits * limits.denominator >= limits.numerator * n_public
    values, hits = values[is_frequent], hits[is_frequent]
    hidden = codes[states == PRIVATE]
    hidden_hits = (hidden == values[:, np.newaxis]).sum(axis=1)
    same = np.ones(len(values), dtype=np.int64)
    rates: Codes = np.column_stack(
        [column * same, values, n_public * same, hits, len(hidden) * same, hidden_hits]
    ).astype(np.int64)
    return rates
