"""The sensitive cells of rules: those that weigh against at least one of them.

Tables give a hundred thousand rules of ten thousand rows. So rows are bits, 64 a word, and many
rules at once are laid over all rows.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 6.1.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.knowledge.adversarial.cells import NO_ITEM, PRIVATE, VISIBLE, HiddenTable, Small

__all__ = ["mark_sensitive"]

_Words = npt.NDArray[np.uint64]
_MOST_WORDS = 2**19
_ALL = np.uint64(2**64 - 1)


def mark_sensitive(
    table: HiddenTable, antecedent: Small, column: Small, value: Small
) -> npt.NDArray[np.bool_]:
    """Mark the cells that weigh against at least one rule.

    Parameters
    ----------
    table
        The table that the rules were found in.
    antecedent, column, value
        The rules, as of `shoal.knowledge.adversarial.rules.CodedRules`.

    Examples
    --------
    >>> table = HiddenTable(np.array([[0, 1], [0, 1], [1, 1]]), np.array([[0, 0], [0, 1], [0, 0]]))
    >>> mark_sensitive(table, np.array([[0, -1]]), np.array([1]), np.array([1])).tolist()
    [[True, True], [True, False], [False, False]]
    """
    shown = np.where(table.state == VISIBLE, table.codes, NO_ITEM).T
    private = _pack(table.state.T == PRIVATE)
    marks = np.zeros_like(private)
    n_together = max(1, _MOST_WORDS // max(private.shape[1], 1))
    for first in range(0, len(column), n_together):
        part = slice(first, first + n_together)
        _mark(marks, shown, private, antecedent[part], column[part], value[part])
    bits = np.unpackbits(marks.view(np.uint8), axis=1, count=table.n_rows)
    return np.ascontiguousarray(bits.T.astype(bool))


def _mark(
    marks: _Words, shown: Small, private: _Words, antecedent: Small, column: Small, value: Small
) -> None:
    """Mark the cells of some rules: one row of words a column of the table."""
    appears = np.full((len(column), marks.shape[1]), _ALL)
    for place, codes in enumerate(shown):
        appears &= _rows_with(codes, antecedent[:, place])
    touched = np.empty_like(appears)
    for place, codes in enumerate(shown):
        which = np.flatnonzero(column == place)
        has_value = _rows_with(codes, value[which])
        marks[place] |= np.bitwise_or.reduce(appears[which] & has_value, axis=0)
        touched[which] = appears[which] & (has_value | private[place])
    for place in range(len(shown)):
        is_named = antecedent[:, place] != NO_ITEM
        marks[place] |= np.bitwise_or.reduce(touched[is_named], axis=0)


def _rows_with(codes: Small, items: Small) -> _Words:
    """Give for each item the rows that show it; all where there is no item."""
    named, place = np.unique(items, return_inverse=True)
    words = _pack(codes == named[:, np.newaxis])
    words[named == NO_ITEM] = _ALL
    return words[place]


def _pack(flags: npt.NDArray[np.bool_]) -> _Words:
    """Put rows of booleans into words; a last word that is not full ends in zeros."""
    flags = np.pad(flags, ((0, 0), (0, -flags.shape[1] % 64)))
    return np.ascontiguousarray(np.packbits(flags, axis=1)).view(np.uint64)
