"""The five categories of itemsets: what can be said of an antecedent before rules are asked for.

An itemset is sorted by its projected table: the rows in which it publicly appears, without its own
columns. Three of the categories promise that neither it nor a larger one is the antecedent of an
adversarial rule.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.errors import ParameterError
from shoal.core.exact import Number
from shoal.knowledge.adversarial.cells import PRIVATE, VISIBLE, HiddenTable
from shoal.knowledge.adversarial.thresholds import Limits

__all__ = ["Category", "categorize"]


class Category(StrEnum):
    """What an itemset is; the first that fits counts."""

    PRIVACY_FREE = "privacy-free"
    """Its projected table has no private cell."""

    DISCRIMINATIVE = "discriminative"
    """It is the antecedent of an adversarial rule."""

    NON_DISCRIMINATIVE = "non-discriminative"
    """Every column of its projected table with private cells has no visible one."""

    CONTRAST = "contrast"
    """No private cell of its projected table has a value that is visible in the same column."""

    UNDETERMINED = "undetermined"
    """None of these; larger itemsets may be discriminative."""


def categorize(
    codes: npt.NDArray[np.integer[Any]],
    state: npt.NDArray[np.integer[Any]],
    itemset: Mapping[int, int],
    *,
    delta: Number,
    gamma: Number = 1,
) -> Category:
    """Say which category an itemset belongs to.

    Parameters
    ----------
    codes, state, delta, gamma
        As for `shoal.knowledge.adversarial.mining.mine`.
    itemset
        By the place of a column the code of its value.

    Raises
    ------
    ParameterError
        Where the itemset names a column that is not there, or a threshold is out of range.

    Notes
    -----
    By the paper's wording an itemset is non-discriminative as soon as one column is hidden in all
    its rows. It may still predict another column, so here all columns with private cells must be.

    Examples
    --------
    >>> codes, state = np.array([[0, 1], [0, 1], [1, 1]]), np.array([[0, 0], [0, 1], [0, 1]])
    >>> [str(categorize(codes, state, {0: code}, delta=0.8)) for code in (0, 1, 2)]
    ['discriminative', 'non-discriminative', 'privacy-free']
    """
    table = HiddenTable(codes, state)
    limits = Limits.of(delta, gamma, table.n_rows, use_hidden=True)
    if not all(0 <= column < table.n_columns for column in itemset):
        raise ParameterError(
            f"An itemset names columns 0 to {table.n_columns - 1}; this one names others."
        )
    appears = np.ones(table.n_rows, dtype=bool)
    for column, code in itemset.items():
        appears &= (table.state[:, column] == VISIBLE) & (table.codes[:, column] == code)
    others = [column for column in range(table.n_columns) if column not in itemset]
    columns = [
        _Column(table.codes[appears, column], table.state[appears, column])
        for column in others
        if (table.state[appears, column] == PRIVATE).any()
    ]
    if not columns:
        return Category.PRIVACY_FREE
    if any(column.is_predicted(limits) for column in columns):
        return Category.DISCRIMINATIVE
    if not any(len(column.public) for column in columns):
        return Category.NON_DISCRIMINATIVE
    if not any(np.isin(column.hidden, column.public).any() for column in columns):
        return Category.CONTRAST
    return Category.UNDETERMINED


class _Column:
    """The values of one column of a projected table, public and hidden."""

    def __init__(self, codes: npt.NDArray[np.int32], state: npt.NDArray[np.uint8]) -> None:
        self.public, self.hidden = codes[state == VISIBLE], codes[state == PRIVATE]

    def is_predicted(self, limits: Limits) -> bool:
        """Whether some value has enough support and both confidences."""
        return len(self.public) >= limits.gamma and any(
            limits.is_confident(int((self.public == value).sum()), len(self.public))
            and limits.is_confident(int((self.hidden == value).sum()), len(self.hidden))
            for value in np.unique(self.hidden).tolist()
        )
