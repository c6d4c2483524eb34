"""The array types, one name per kind of element, and sets of values as the bits of words."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Codes = Integers
"""Codes of values: positions in a `Domain`."""
Counts = Integers
"""Numbers of rows or people."""
Small = npt.NDArray[np.int32]
"""Codes in the compact form that kernels take."""
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
"""Sets of codes, one bit per code."""
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]
"""Texts; None for a missing value."""


def weighted_sum(numbers: npt.NDArray[Any], weights: npt.NDArray[Any]) -> float:
    """Return the sum of numbers, each times its weight.

    It is added up in one order. The product `@` of two long vectors is divided among the threads of
    the numerical library, so that its last bits depend on their number.

    Examples
    --------
    >>> weighted_sum(np.array([0.5, 0.25]), np.array([2, 4]))
    2.0
    """
    return float((numbers * weights).sum())


def count_words(n_values: int) -> int:
    """Return the number of 64-bit words for `n_values` bits; at least one."""
    return max(-(-n_values // 64), 1)


def words_of(marks: Flags) -> Words:
    """Return sets, one row of marks each, as rows of 64-bit words; bit v stands for value v.

    Examples
    --------
    >>> words_of(np.array([[True, False, True], [False, False, False]])).tolist()
    [[5], [0]]
    """
    n_sets, n_values = marks.shape
    octets = np.zeros((n_sets, 8 * count_words(n_values)), dtype=np.uint8)
    packed = np.packbits(marks, axis=1, bitorder="little")
    octets[:, : packed.shape[1]] = packed
    # packbits writes the low octet first; the machine's own byte order may differ.
    return octets.view("<u8").astype(np.uint64, copy=False)


def marks_of(words: Words, n_values: int) -> Flags:
    """Return sets of `n_values` values, written as words, as a matrix of marks."""
    octets = np.ascontiguousarray(words, dtype="<u8").view(np.uint8)
    return np.unpackbits(octets, axis=1, count=n_values, bitorder="little").view(bool)
