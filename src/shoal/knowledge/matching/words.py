"""Sets of values as the bits of 64-bit words: bit v of a row of words stands for code v."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Counts

__all__ = ["Marks", "Words", "count_values", "count_words", "marks_of", "words_of"]

Words = npt.NDArray[np.uint64]
"""One row a set, as many words as its values need and at least one."""

Marks = npt.NDArray[np.bool_]
"""One row a set, one column a code."""


def count_words(n_values: int) -> int:
    """Give the number of words that so many values need.

    Examples
    --------
    >>> count_words(64), count_words(65), count_words(0)
    (1, 2, 1)
    """
    return max(-(-n_values // 64), 1)


def words_of(marks: Marks) -> Words:
    """Write sets as words.

    Examples
    --------
    >>> words_of(np.array([[True, False, True], [False, False, False]])).tolist()
    [[5], [0]]
    """
    n_sets, n_values = marks.shape
    octets = np.zeros((n_sets, 8 * count_words(n_values)), dtype=np.uint8)
    packed = np.packbits(marks, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    # The order of octets in a file is that of the bits; in memory it is the machine's.
    return octets.view("<u8").astype(np.uint64, copy=False)


def marks_of(words: Words, n_values: int) -> Marks:
    """Read sets of so many values from words.

    Examples
    --------
    >>> marks_of(np.array([[5]], dtype=np.uint64), 3).tolist()
    [[True, False, True]]
    """
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_values, bitorder="little").view(bool)


def count_values(words: Words) -> Counts:
    """Give the number of values in each set.

    Examples
    --------
    >>> count_values(np.array([[5, 1], [0, 0]], dtype=np.uint64)).tolist()
    [3, 0]
    """
    counts: Counts = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return counts
