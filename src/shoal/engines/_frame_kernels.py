"""Number the texts of a column, straight from the buffers of Arrow.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. `tests/property/test_frame_kernels.py` states what it computes.
"""

from __future__ import annotations

import numpy as np

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["number_texts"]

_FEWEST_SLOTS = 256


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _four(data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.ulonglong:
    """Return four bytes as a number. Compilers make one instruction of this."""
    return (
        cython.cast(cython.ulonglong, data[at])
        | cython.cast(cython.ulonglong, data[at + 1]) << 8
        | cython.cast(cython.ulonglong, data[at + 2]) << 16
        | cython.cast(cython.ulonglong, data[at + 3]) << 24
    )


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _eight(data: cython.const[cython.uchar][::1], at: cython.Py_ssize_t) -> cython.ulonglong:
    """Return eight bytes as a number."""
    return (
        cython.cast(cython.ulonglong, data[at])
        | cython.cast(cython.ulonglong, data[at + 1]) << 8
        | cython.cast(cython.ulonglong, data[at + 2]) << 16
        | cython.cast(cython.ulonglong, data[at + 3]) << 24
        | cython.cast(cython.ulonglong, data[at + 4]) << 32
        | cython.cast(cython.ulonglong, data[at + 5]) << 40
        | cython.cast(cython.ulonglong, data[at + 6]) << 48
        | cython.cast(cython.ulonglong, data[at + 7]) << 56
    )


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _mixed(state: cython.ulonglong, word: cython.ulonglong) -> cython.ulonglong:
    """Return a state of 64 bits after one more word."""
    factor: cython.ulonglong = 0x9E3779B97F4A7C15
    state = (state ^ word) * factor
    if not cython.compiled:
        state &= 0xFFFFFFFFFFFFFFFF
    # A product carries upwards only, and the low bits choose the slot.
    return state ^ (state >> 29)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _hash(
    data: cython.const[cython.uchar][::1],
    at: cython.Py_ssize_t,
    n_bytes: cython.Py_ssize_t,
    seed: cython.ulonglong,
) -> cython.ulonglong:
    """Return a hash of some bytes; the last words may overlap."""
    end: cython.Py_ssize_t = at + n_bytes
    word: cython.ulonglong = 0
    state: cython.ulonglong = _mixed(seed, cython.cast(cython.ulonglong, n_bytes))
    if n_bytes >= 8:
        while at + 8 < end:
            state = _mixed(state, _eight(data, at))
            at += 8
        word = _eight(data, end - 8)
    elif n_bytes >= 4:
        word = _four(data, at) | _four(data, end - 4) << 32
    else:
        while at < end:
            word = word << 8 | cython.cast(cython.ulonglong, data[at])
            at += 1
    state = _mixed(state, word)
    return state ^ (state >> 32)


@cython.cfunc
@cython.inline
@cython.exceptval(check=False)
def _is_same(
    data: cython.const[cython.uchar][::1],
    one: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
    n_bytes: cython.Py_ssize_t,
) -> cython.bint:
    """Return whether the bytes at two places are the same; the last words may overlap."""
    at: cython.Py_ssize_t = 0
    if n_bytes >= 8:
        while at + 8 < n_bytes:
            if _eight(data, one + at) != _eight(data, other + at):
                return False
            at += 8
        at = n_bytes - 8
        return _eight(data, one + at) == _eight(data, other + at)
    while at < n_bytes:
        if data[one + at] != data[other + at]:
            return False
        at += 1
    return True


def number_texts(
    offsets: cython.const[cython.longlong][::1],
    data: cython.const[cython.uchar][::1],
    valid: cython.const[cython.uchar][::1],
    skipped: cython.Py_ssize_t,
    seed: cython.ulonglong,
    codes: cython.int[::1],
    first: cython.longlong[::1],
) -> int:
    """Number texts in the order of their first appearance, and return how many there are.

    Text i is data[offsets[i]:offsets[i + 1]]. Bit skipped + i of ``valid`` is not set if it is
    missing; if ``valid`` is empty, none is. Writes the number of each text into ``codes``, -1 if it
    is missing, and the first row of each number into ``first``, which has room for every row.

    Open addressing, at most half full: a slot holds a number plus 1, and 0 if it is free. Texts
    with equal hashes are compared byte by byte, so neither numbers nor their order depend on the
    seed, which makes it hard to prepare texts that collide.
    """
    i: cython.Py_ssize_t
    at: cython.Py_ssize_t
    start: cython.Py_ssize_t
    n_bytes: cython.Py_ssize_t
    code: cython.Py_ssize_t
    slot: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    hashed: cython.ulonglong
    n_rows: cython.Py_ssize_t = codes.shape[0]
    has_missing: cython.bint = valid.shape[0] > 0
    n_found: cython.Py_ssize_t = 0
    n_slots: cython.Py_ssize_t = _FEWEST_SLOTS
    last: cython.Py_ssize_t = 0
    last_at: cython.Py_ssize_t = 0
    last_bytes: cython.Py_ssize_t = -1
    slots: cython.int[::1] = np.zeros(n_slots, dtype=np.int32)
    hashes: cython.ulonglong[::1] = np.empty(n_rows, dtype=np.uint64)
    for i in range(n_rows):
        bit = skipped + i
        if has_missing and not (valid[bit >> 3] >> (bit & 7)) & 1:
            codes[i] = -1
            continue
        at = offsets[i]
        n_bytes = offsets[i + 1] - at
        # Many tables are sorted, and many columns hold hardly more than one text.
        if n_bytes == last_bytes and _is_same(data, at, last_at, n_bytes):
            codes[i] = last
            continue
        hashed = _hash(data, at, n_bytes, seed)
        slot = hashed & (n_slots - 1)
        code = slots[slot] - 1
        while code >= 0:
            if hashes[code] == hashed:
                start = offsets[first[code]]
                if offsets[first[code] + 1] - start == n_bytes and _is_same(
                    data, at, start, n_bytes
                ):
                    break
            slot = (slot + 1) & (n_slots - 1)
            code = slots[slot] - 1
        if code < 0:
            code = n_found
            n_found += 1
            hashes[code] = hashed
            first[code] = i
            slots[slot] = n_found
            if 2 * n_found > n_slots:
                n_slots *= 4
                slots = np.zeros(n_slots, dtype=np.int32)
                for bit in range(n_found):
                    slot = hashes[bit] & (n_slots - 1)
                    while slots[slot]:
                        slot = (slot + 1) & (n_slots - 1)
                    slots[slot] = bit + 1
        codes[i] = code
        last = code
        last_at = at
        last_bytes = n_bytes
    return n_found
