"""Forming buckets of mutually compatible rows, one bucket after the other.

Written for Cython's pure Python mode: compiled where the package is built, the same file as plain
Python elsewhere. Arrays are contiguous and writable, and allocated by the caller.

A class has a value and a set of forbidden values, in words of 64 bits. Two classes are compatible
if their values differ and neither forbids the other's [Li08, Definition 2]. For the bucket being
formed, `sen` holds its values, and `barred` its values and everything that its rows forbid.

`shoal.injector.plain_bucketization.bucketize_plainly` states what `group_printed` computes;
`tests/property/test_injector.py` compares the two.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

__all__ = ["count_clashes", "group_by_value", "group_printed"]


@cython.cfunc
def _fits(
    one: cython.Py_ssize_t,
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
    sen: cython.ulonglong[::1],
    barred: cython.ulonglong[::1],
) -> cython.bint:
    """Tell whether a class is compatible with the bucket being formed."""
    w: cython.Py_ssize_t
    s: cython.longlong = value[one]
    bit: cython.ulonglong = cython.cast(cython.ulonglong, 1) << cython.cast(
        cython.ulonglong, s & 63
    )
    if barred[s >> 6] & bit:
        return False
    for w in range(words.shape[1]):
        if words[one, w] & sen[w]:
            return False
    return True


@cython.cfunc
def _join(
    one: cython.Py_ssize_t,
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
    sen: cython.ulonglong[::1],
    barred: cython.ulonglong[::1],
) -> cython.void:
    """Add a row of a class to the bucket being formed."""
    w: cython.Py_ssize_t
    s: cython.longlong = value[one]
    bit: cython.ulonglong = cython.cast(cython.ulonglong, 1) << cython.cast(
        cython.ulonglong, s & 63
    )
    sen[s >> 6] |= bit
    barred[s >> 6] |= bit
    for w in range(words.shape[1]):
        barred[w] |= words[one, w]


@cython.cfunc
def _lower(
    item: cython.Py_ssize_t,
    left: cython.longlong[::1],
    order: cython.longlong[::1],
    place: cython.longlong[::1],
) -> cython.void:
    """Take one row of an item away; `order` stays sorted by rows left, largest first."""
    n_items: cython.Py_ssize_t = order.shape[0]
    at: cython.Py_ssize_t = place[item]
    low: cython.Py_ssize_t = at
    high: cython.Py_ssize_t = n_items
    middle: cython.Py_ssize_t
    other: cython.longlong
    # Find the last item with as many rows left.
    while high - low > 1:
        middle = (low + high) // 2
        if left[order[middle]] == left[item]:
            low = middle
        else:
            high = middle
    other = order[low]
    order[at] = other
    place[other] = at
    order[low] = item
    place[item] = low
    left[item] -= 1


@cython.cfunc
def _raise(
    item: cython.Py_ssize_t,
    left: cython.longlong[::1],
    order: cython.longlong[::1],
    place: cython.longlong[::1],
) -> cython.void:
    """Give one row of an item back; `order` stays sorted by rows left, largest first."""
    at: cython.Py_ssize_t = place[item]
    low: cython.Py_ssize_t = -1
    high: cython.Py_ssize_t = at
    middle: cython.Py_ssize_t
    other: cython.longlong
    # Find the first item with as many rows left.
    while high - low > 1:
        middle = (low + high) // 2
        if left[order[middle]] == left[item]:
            high = middle
        else:
            low = middle
    other = order[high]
    order[at] = other
    place[other] = at
    order[high] = item
    place[item] = high
    left[item] += 1


@cython.cfunc
def _clash(
    one: cython.Py_ssize_t,
    other: cython.Py_ssize_t,
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
) -> cython.bint:
    """Tell whether two classes are incompatible [Li08, Definition 2]."""
    s: cython.longlong = value[one]
    r: cython.longlong = value[other]
    if s == r:
        return True
    if (words[one, r >> 6] >> cython.cast(cython.ulonglong, r & 63)) & 1:
        return True
    return ((words[other, s >> 6] >> cython.cast(cython.ulonglong, s & 63)) & 1) != 0


@cython.cfunc
def _most_clashing(left: cython.longlong[::1], clashing: cython.longlong[::1]) -> cython.Py_ssize_t:
    """Return the class that is incompatible with the most rows left (line 3)."""
    one: cython.Py_ssize_t
    best: cython.Py_ssize_t = -1
    for one in range(left.shape[0]):
        if left[one] > 0 and (best < 0 or clashing[one] > clashing[best]):
            best = one
    return best


@cython.cfunc
def _count_clashes(
    one: cython.Py_ssize_t,
    n_rows: cython.longlong,
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
    clashing: cython.longlong[::1],
) -> cython.void:
    """Count `n_rows` more rows of a class as left."""
    other: cython.Py_ssize_t
    for other in range(clashing.shape[0]):
        if _clash(other, one, value, words):
            clashing[other] += n_rows


@cython.cfunc
def _count_listed_clashes(
    one: cython.Py_ssize_t,
    n_rows: cython.longlong,
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
    barring: cython.ulonglong[:, ::1],
    starts: cython.longlong[::1],
    clashing: cython.longlong[::1],
) -> cython.void:
    """Do as `_count_clashes` does, without looking at classes that are compatible.

    Bit i of ``barring[s]`` says that class i forbids value s.
    """
    s: cython.longlong = value[one]
    r: cython.longlong
    w: cython.Py_ssize_t
    bit: cython.Py_ssize_t
    other: cython.Py_ssize_t
    word: cython.ulonglong
    for other in range(starts[s], starts[s + 1]):
        clashing[other] += n_rows
    for w in range(words.shape[1]):
        word = words[one, w]
        bit = 64 * w
        while word != 0:
            if word & 1 and bit != s:
                for other in range(starts[bit], starts[bit + 1]):
                    clashing[other] += n_rows
            word = word >> 1
            bit += 1
    for w in range(barring.shape[1]):
        word = barring[s, w]
        other = 64 * w
        while word != 0:
            if word & 1:
                r = value[other]
                # Classes of the row's own value, or of one that it forbids, are counted already.
                if r != s and not (words[one, r >> 6] >> cython.cast(cython.ulonglong, r & 63)) & 1:
                    clashing[other] += n_rows
            word = word >> 1
            other += 1


def count_clashes(
    left: cython.longlong[::1],
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
    barring: cython.ulonglong[:, ::1],
    starts: cython.longlong[::1],
    clashing: cython.longlong[::1],
) -> None:
    """Add to ``clashing`` the number of rows left that are incompatible with each class."""
    one: cython.Py_ssize_t
    for one in range(left.shape[0]):
        if left[one] > 0:
            _count_listed_clashes(one, left[one], value, words, barring, starts, clashing)


def group_by_value(
    ell: cython.Py_ssize_t,
    prefers_alike: cython.bint,
    left: cython.longlong[::1],
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
    barring: cython.ulonglong[:, ::1],
    clashing: cython.longlong[::1],
    starts: cython.longlong[::1],
    value_left: cython.longlong[::1],
    order: cython.longlong[::1],
    place: cython.longlong[::1],
    sen: cython.ulonglong[::1],
    barred: cython.ulonglong[::1],
    shared: cython.ulonglong[::1],
    member: cython.longlong[::1],
    residue: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Start each bucket with a row that clashes with most, then add frequent values.

    The most frequent compatible value is added next, by its largest class. With `prefers_alike`,
    the class is taken whose forbidden values differ least from the bucket's, and the largest among
    equals.

    Classes are sorted by value; those of value s are `starts[s], ..., starts[s + 1] - 1`.
    Bit i of ``barring[s]`` says that class i forbids value s. `clashing` holds for each class the
    number of rows left that are incompatible with it. `order`
    holds the values by `value_left`, the number of their rows left, largest first, and `place` the
    position of each value in `order`. `shared` is scratch space for what the bucket forbids. The
    classes of bucket b go to `member[b * ell:]`. If nothing is compatible, all rows left of the
    bucket's first class go to `residue`, since all of them would fare the same.

    Returns the number of buckets.
    """
    n_values: cython.Py_ssize_t = value_left.shape[0]
    n_words: cython.Py_ssize_t = words.shape[1]
    n_buckets: cython.Py_ssize_t = 0
    n_held: cython.Py_ssize_t
    start: cython.Py_ssize_t
    at: cython.Py_ssize_t
    i: cython.Py_ssize_t
    w: cython.Py_ssize_t
    one: cython.Py_ssize_t
    best: cython.Py_ssize_t
    s: cython.longlong
    distance: cython.Py_ssize_t
    nearest: cython.Py_ssize_t
    bits: cython.ulonglong

    while value_left[order[0]] > 0:
        start = n_buckets * ell
        n_held = 0
        for w in range(n_words):
            sen[w] = 0
            barred[w] = 0
            shared[w] = 0
        best = _most_clashing(left, clashing)
        while best >= 0:
            member[start + n_held] = best
            n_held += 1
            _join(best, value, words, sen, barred)
            for w in range(n_words):
                shared[w] |= words[best, w]
            left[best] -= 1
            _lower(value[best], value_left, order, place)
            _count_listed_clashes(best, -1, value, words, barring, starts, clashing)
            if n_held == ell:
                break
            best = -1
            nearest = 0
            for at in range(n_values):
                s = order[at]
                if value_left[s] <= 0:
                    break
                for one in range(starts[s], starts[s + 1]):
                    if left[one] <= 0 or not _fits(one, value, words, sen, barred):
                        continue
                    distance = 0
                    if prefers_alike:
                        for w in range(n_words):
                            bits = words[one, w] ^ shared[w]
                            while bits:
                                bits &= bits - 1
                                distance += 1
                    if (
                        best < 0
                        or distance < nearest
                        or (distance == nearest and left[one] > left[best])
                    ):
                        best = one
                        nearest = distance
                if best >= 0:
                    break
        if n_held == ell:
            n_buckets += 1
            continue
        for i in range(n_held):
            one = member[start + i]
            left[one] += 1
            _raise(value[one], value_left, order, place)
            _count_listed_clashes(one, 1, value, words, barring, starts, clashing)
        one = member[start]
        residue[one] += left[one]
        _count_listed_clashes(one, -left[one], value, words, barring, starts, clashing)
        while left[one] > 0:
            left[one] -= 1
            _lower(value[one], value_left, order, place)
    return n_buckets


def group_printed(
    ell: cython.Py_ssize_t,
    left: cython.longlong[::1],
    value: cython.longlong[::1],
    words: cython.ulonglong[:, ::1],
    clashing: cython.longlong[::1],
    fits: cython.uchar[::1],
    member: cython.longlong[::1],
    residue: cython.longlong[::1],
) -> cython.Py_ssize_t:
    """Form buckets as [Li08] Figure 2 prints it, lines 2 to 17.

    `clashing` holds for each class NIT of a bucket with one of its rows: the number of rows left
    that are incompatible with it. `fits` is scratch space with one mark per class. Invariant: the
    rows in `left`, in the buckets and in `residue` are all the rows there were.

    Returns the number of buckets.
    """
    n_classes: cython.Py_ssize_t = left.shape[0]
    n_buckets: cython.Py_ssize_t = 0
    n_held: cython.Py_ssize_t
    n_left: cython.longlong = 0
    start: cython.Py_ssize_t
    i: cython.Py_ssize_t
    one: cython.Py_ssize_t
    other: cython.Py_ssize_t
    best: cython.Py_ssize_t
    lost: cython.longlong
    fewest: cython.longlong

    for one in range(n_classes):
        n_left += left[one]
    while n_left >= ell:
        best = _most_clashing(left, clashing)
        start = n_buckets * ell
        n_held = 0
        for one in range(n_classes):
            fits[one] = 1
        while best >= 0:
            member[start + n_held] = best
            n_held += 1
            left[best] -= 1
            _count_clashes(best, -1, value, words, clashing)
            for one in range(n_classes):
                if _clash(one, best, value, words):
                    fits[one] = 0
            if n_held == ell:
                break
            # Lines 12 and 13: the row that minimizes NIT. Rows that are incompatible already are
            # the same for all candidates, so only those that each would add are counted.
            best = -1
            fewest = 0
            for one in range(n_classes):
                if left[one] <= 0 or not fits[one]:
                    continue
                lost = 0
                for other in range(n_classes):
                    if fits[other] and _clash(one, other, value, words):
                        lost += left[other]
                        if best >= 0 and lost >= fewest:
                            break
                if best < 0 or lost < fewest:
                    best = one
                    fewest = lost
        if n_held == ell:
            n_buckets += 1
            n_left -= ell
            continue
        # Lines 7 to 11. [Li08] Fig. 2 line 9 restores t_i as well; that would count it twice.
        # The figure sets only t_i aside; here all rows of its class leave with it.
        for i in range(n_held):
            other = member[start + i]
            left[other] += 1
            _count_clashes(other, 1, value, words, clashing)
        one = member[start]
        residue[one] += left[one]
        n_left -= left[one]
        _count_clashes(one, -left[one], value, words, clashing)
        left[one] = 0
    for one in range(n_classes):
        residue[one] += left[one]
        left[one] = 0
    return n_buckets
