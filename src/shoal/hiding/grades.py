"""GraDeS as [Aggarwal06] prints it: the plain algorithm, beside the fast one in `hiding`.

Every cell weighs what blanking it would do to the adversarial rules: 1 / |pub(R)| for each rule R
that it helps to find, 1 / |hid(R)| for each that it helps to fire. The k heaviest cells go, the
weights are added up again, and so on until none of the given rules is adversarial any more. The
paper does not say which of equally heavy cells go first; here they go row by row.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 5, Figure 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.core.exact import Number
from shoal.knowledge.adversarial.cells import BLANKED, PRIVATE, VISIBLE, States
from shoal.knowledge.adversarial.rules import CodedRule
from shoal.knowledge.adversarial.thresholds import Limits

__all__ = ["grades"]

_UNIT = 2**40
"""Weights are whole multiples of its inverse, so that no order of adding them up matters."""


def grades(
    codes: npt.NDArray[np.integer[Any]],
    state: States,
    rules: Iterable[CodedRule],
    *,
    delta: Number,
    gamma: Number = 1,
    k: int = 1,
    use_hidden: bool = True,
    rank: Codes | None = None,
) -> list[tuple[int, int]]:
    """Return the derived private set of a table: the cells to blank, in order.

    Parameters
    ----------
    codes, state, delta, gamma, use_hidden
        As for `shoal.knowledge.adversarial.mining.mine`, which gives the rules.
    rules
        The adversarial rules of the table.
    k
        The blanking factor: how many cells are blanked before weights are added up again.
    rank
        For each cell its place among equally heavy ones, as an array like `codes`. Default: row by
        row.

    Examples
    --------
    >>> from shoal.knowledge.adversarial import mine
    >>> codes = np.array([[0, 1], [0, 1], [0, 1], [1, 0]])
    >>> state = np.array([[0, 0], [0, 0], [0, 1], [0, 0]])
    >>> rules = mine(codes, state, delta=0.8, gamma=2)
    >>> grades(codes, state, rules, delta=0.8, gamma=2)
    [(2, 0)]
    """
    limits = Limits.of(delta, gamma, len(codes), use_hidden=use_hidden)
    state, left = np.array(state), list(rules)
    derived: list[tuple[int, int]] = []
    place = np.arange(codes.size) if rank is None else rank.ravel()
    while True:
        weight = np.zeros(codes.shape, dtype=np.int64)
        # A rule that has ended is not looked at again.
        left = [rule for rule in left if _weigh(rule, codes, state, limits, weight)]
        if not left:
            return derived
        heaviest = np.lexsort((place, -weight.ravel()))[:k]
        sensitive = heaviest[weight.ravel()[heaviest] > 0]
        state.ravel()[sensitive] = BLANKED
        derived += [divmod(cell, codes.shape[1]) for cell in sensitive.tolist()]


def _weigh(
    rule: CodedRule,
    codes: npt.NDArray[np.integer[Any]],
    state: States,
    limits: Limits,
    weight: npt.NDArray[np.int64],
) -> bool:
    """Add what blanking each cell contributes against a rule; tell whether it is adversarial."""
    fires = np.ones(len(codes), dtype=bool)
    for column, value in rule.antecedent.items():
        fires &= (codes[:, column] == value) & (state[:, column] == VISIBLE)
    rows = np.flatnonzero(fires)
    has_value = codes[rows, rule.column] == rule.value
    is_public = state[rows, rule.column] == VISIBLE
    is_hidden = state[rows, rule.column] == PRIVATE
    n_public, n_hidden = int(is_public.sum()), int(is_hidden.sum())
    n_right = int((is_hidden & has_value).sum())
    is_found = limits.is_confident(int((is_public & has_value).sum()), n_public)
    is_right = limits.is_confident(n_right, n_hidden) or not limits.use_hidden
    if n_public < limits.gamma or not n_hidden or not is_found or not is_right:
        return False
    for column in (*rule.antecedent, rule.column):
        weight[rows[is_public & has_value], column] += _UNIT // n_public
    for column in rule.antecedent:
        weight[rows[is_hidden], column] += _UNIT // n_hidden
    return True
