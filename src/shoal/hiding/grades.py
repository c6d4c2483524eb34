"""GraDeS as [Aggarwal06] prints it: the plain algorithm; `hiding` has the fast one.

The weight of a cell is what blanking it contributes against the adversarial rules: 1 / |pub(R)| for
each rule R that it helps to find, 1 / |hid(R)| for each that it helps to fire. The k heaviest cells
are blanked, the weights are computed again, and so on until no given rule is adversarial. The paper
does not say which of equally heavy cells go first; here they go row by row.

References
----------
[Aggarwal06] (see `shoal.hiding`) section 5, Figure 2.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Bytes, Codes, Integers
from shoal.core.exact import Number
from shoal.hiding.cells import BLANKED, PRIVATE, VISIBLE, Limits
from shoal.hiding.rules import CodedRule

_UNIT = 2**40
"""Weights are multiples of 1 / _UNIT, so that sums do not depend on their order."""


def grades(
    codes: npt.NDArray[np.integer[Any]],
    state: Bytes,
    rules: Iterable[CodedRule],
    *,
    delta: Number,
    gamma: Number = 1,
    k: int = 1,
    use_hidden: bool = True,
    rank: Codes | None = None,
) -> list[tuple[int, int]]:
    """Return the derived private set of a table: the cells to blank, in order.

    `rules` are the adversarial rules of the table, as `mine` returns them, and `k` is the blanking
    factor: the number of cells that are blanked per round. `rank` orders equally heavy cells, in
    the shape of `codes`; default: row by row. The other parameters are those of
    `shoal.hiding.mining.mine`.

    Examples
    --------
    >>> from shoal.hiding.mining import mine
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
        # Line 1 comes before the loop in Figure 2; weights of earlier rounds must not count again.
        weight = np.zeros(codes.shape, dtype=np.int64)  # line 1
        # Lines 3 to 5, and 7: a rule that is no longer adversarial adds nothing and is removed.
        left = [rule for rule in left if _add_weights(rule, codes, state, limits, weight)]
        if not left:  # line 2
            return derived
        # Line 6, with the blanking factor k of section 5: only cells with c_ij > 0 are sensitive.
        heaviest = np.lexsort((place, -weight.ravel()))[:k]
        sensitive = heaviest[weight.ravel()[heaviest] > 0]
        state.ravel()[sensitive] = BLANKED
        derived += [divmod(cell, codes.shape[1]) for cell in sensitive.tolist()]


def _add_weights(
    rule: CodedRule,
    codes: npt.NDArray[np.integer[Any]],
    state: Bytes,
    limits: Limits,
    weight: Integers,
) -> bool:
    """Add each cell's contribution against a rule to its weight (Figure 2, lines 4 and 5).

    Returns whether the rule is still adversarial; if not, nothing is added.
    """
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
    # Section 5, first case: t_i is in pub(R) and has y; any cell of X or Y invalidates.
    for column in (*rule.antecedent, rule.column):
        weight[rows[is_public & has_value], column] += _UNIT // n_public
    # Second case: t_i is in hid(R); any cell of X marginalizes.
    for column in rule.antecedent:
        weight[rows[is_hidden], column] += _UNIT // n_hidden
    return True
