"""Number equal keys without sorting them.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. `tests/property/test_cells.py` states what it computes.
"""

from __future__ import annotations

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["number_keys"]

_FEWEST_SLOTS = 1024


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _hash(key: cython.longlong) -> cython.ulonglong:
    """Return a hash whose low bits depend on all bits of a key."""
    factor: cython.ulonglong = 0x9E3779B97F4A7C15
    state: cython.ulonglong = cython.cast(cython.ulonglong, key)
    state ^= state >> 32
    state *= factor
    if not cython.compiled:
        state &= 0xFFFFFFFFFFFFFFFF
    state ^= state >> 29
    state *= factor
    if not cython.compiled:
        state &= 0xFFFFFFFFFFFFFFFF
    return state ^ (state >> 32)


def number_keys(
    keys: cython.const[cython.longlong][::1],
    codes: cython.int[::1],
    first: cython.longlong[::1],
) -> int:
    """Number keys in the order of their first appearance, and return how many there are.

    Keys are not negative. Writes the number of each key into ``codes``, and the first row of each
    number into ``first``. Stops and returns -1 if there are more different keys than ``first`` has
    room for.

    Open addressing, at most half full: a slot holds a number plus 1, and 0 if it is free.
    """
    i: cython.Py_ssize_t
    code: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    other: cython.Py_ssize_t
    key: cython.longlong
    most: cython.Py_ssize_t = first.shape[0]
    n_found: cython.Py_ssize_t = 0
    n_slots: cython.Py_ssize_t = _FEWEST_SLOTS
    last: cython.Py_ssize_t = 0
    last_key: cython.longlong = -1
    slots: cython.int[::1] = np.zeros(n_slots, dtype=np.int32)
    for i in range(keys.shape[0]):
        key = keys[i]
        if key == last_key:
            codes[i] = last
            continue
        slot = _hash(key) & (n_slots - 1)
        code = slots[slot] - 1
        while code >= 0 and keys[first[code]] != key:
            slot = (slot + 1) & (n_slots - 1)
            code = slots[slot] - 1
        if code < 0:
            if n_found == most:
                return -1
            code = n_found
            n_found += 1
            first[code] = i
            slots[slot] = n_found
            if 2 * n_found > n_slots:
                n_slots *= 4
                slots = np.zeros(n_slots, dtype=np.int32)
                for other in range(n_found):
                    slot = _hash(keys[first[other]]) & (n_slots - 1)
                    while slots[slot]:
                        slot = (slot + 1) & (n_slots - 1)
                    slots[slot] = other + 1
        codes[i] = code
        last = code
        last_key = key
    return n_found
