"""The law of independent draws given their sum, one bucket after another.

Written in Cython's pure Python mode: compiled when the package is built, and otherwise run as plain
Python. Arrays are contiguous and writable, and allocated by the caller.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

if cython.compiled:
    from cython.cimports.libc.math import exp, log, log1p
else:
    from math import exp, log, log1p

__all__ = ["expect", "include"]


def include(
    start: cython.longlong[::1],
    count: cython.longlong[::1],
    n_rows: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    carry: cython.double[::1],
    lack: cython.double[::1],
    share: cython.double[::1],
    total: cython.double[::1],
    prefix: cython.double[::1],
    suffix: cython.double[::1],
    terms: cython.double[::1],
) -> None:
    """Compute the probability that a row of each class carries a value, given the carriers.

    The classes of bucket b are the entries `start[b], ..., start[b + 1] - 1`: `count` rows each,
    which carry the value with probability `carry` and lack it with `lack`, independently. `share`
    receives the probability given that `n_carrying[b]` of the `n_rows[b]` rows carry the value,
    and `total` the probability of that, which must not be 0. The invariant is that `count * share`
    sums to `n_carrying` in every bucket; the plain twin is `law.weigh_worlds`.

    Work space: `prefix` and `terms` have w + 1 numbers, and `suffix` (c + 1) (w + 1), for a bucket
    of c classes in which w rows carry the value, or lack it, whichever are fewer.
    """
    n_buckets: cython.Py_ssize_t = n_rows.shape[0]
    b: cython.Py_ssize_t
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    first: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t
    width: cython.Py_ssize_t
    stride: cython.Py_ssize_t
    at: cython.Py_ssize_t
    target: cython.Py_ssize_t
    counts_carriers: cython.bint
    hit: cython.double
    miss: cython.double
    ways: cython.double

    for b in range(n_buckets):
        first = start[b]
        n_classes = start[b + 1] - first
        # The tables count the rarer of the rows that carry the value and those that lack it.
        counts_carriers = 2 * n_carrying[b] <= n_rows[b]
        width = n_carrying[b] if counts_carriers else n_rows[b] - n_carrying[b]
        stride = width + 1
        at = n_classes * stride
        for j in range(stride):
            suffix[at + j] = 0.0
            prefix[j] = 0.0
        suffix[at] = 1.0
        prefix[0] = 1.0
        for i in range(n_classes - 1, -1, -1):
            e = first + i
            hit = carry[e] if counts_carriers else lack[e]
            miss = lack[e] if counts_carriers else carry[e]
            at = i * stride
            for j in range(stride):
                suffix[at + j] = suffix[at + stride + j]
            add_rows(suffix, at, width, hit, miss, count[e], terms)
        total[b] = suffix[width]
        # If this row carries the value, the others have one carrier fewer and as many that lack it.
        target = width - 1 if counts_carriers else width
        for i in range(n_classes):
            e = first + i
            hit = carry[e] if counts_carriers else lack[e]
            miss = lack[e] if counts_carriers else carry[e]
            add_rows(prefix, 0, width, hit, miss, count[e] - 1, terms)
            at = (i + 1) * stride
            ways = 0.0
            for j in range(target + 1):
                ways += prefix[j] * suffix[at + target - j]
            share[e] = carry[e] * ways / total[b]
            add_rows(prefix, 0, width, hit, miss, 1, terms)


@cython.cfunc
def add_rows(
    table: cython.double[::1],
    at: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    hit: cython.double,
    miss: cython.double,
    n_copies: cython.longlong,
    terms: cython.double[::1],
) -> cython.void:
    """Add equal rows to a table of the probabilities that 0, 1, ... of the rows so far count."""
    i: cython.longlong
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    none: cython.double = 0.0
    ways: cython.double

    if n_copies > width:
        none = miss**n_copies
    # Many rows are added at once, by binomial terms; the first must not underflow.
    if none > 1e-250:
        terms[0] = none
        for j in range(width):
            terms[j + 1] = terms[j] * (n_copies - j) / (j + 1) * hit / miss
        for j in range(width, -1, -1):
            ways = 0.0
            for k in range(j + 1):
                ways += terms[k] * table[at + j - k]
            table[at + j] = ways
        return
    for i in range(n_copies):
        for j in range(width, 0, -1):
            table[at + j] = table[at + j] * miss + table[at + j - 1] * hit
        table[at] = table[at] * miss


def expect(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    odds: cython.double[:, ::1],
    expected: cython.double[:, ::1],
    height: cython.double[::1],
    room: cython.double[:, ::1],
    prefix: cython.double[::1],
    suffix: cython.double[::1],
    terms: cython.double[::1],
) -> None:
    """Sum, at each point, the expected carriers of each class over all buckets.

    A point is a row of `odds`, which are finite and not negative. `expected` receives the number of
    carriers of each class, and `height` the sum of the logarithms of the weights of all worlds:
    minus infinity if a bucket is impossible. The invariant of a bucket is that its expected
    carriers sum to `n_carrying`; the plain twin is `law.condition`, for one point at a time.

    Work space: `room` has two numbers per class of a bucket; `prefix`, `suffix` and `terms` are as
    in `include`.
    """
    n_points: cython.Py_ssize_t = odds.shape[0]
    n_buckets: cython.Py_ssize_t = n_carrying.shape[0]
    p: cython.Py_ssize_t
    b: cython.Py_ssize_t
    e: cython.Py_ssize_t
    n: cython.longlong
    n_able: cython.longlong
    total: cython.double
    weight: cython.double
    sum_logs: cython.double

    for p in range(n_points):
        height[p] = 0.0
        for e in range(expected.shape[1]):
            expected[p, e] = 0.0
        for b in range(n_buckets):
            n = n_carrying[b]
            weight = multiplicity[b]
            n_able = 0
            total = 0.0
            for e in range(start[b], start[b + 1]):
                if odds[p, which[e]] > 0:
                    n_able += count[e]
                    total += count[e] * odds[p, which[e]]
            if n_able < n:
                height[p] = -float("inf")
                continue
            if n == 1:
                for e in range(start[b], start[b + 1]):
                    expected[p, which[e]] += weight * count[e] * odds[p, which[e]] / total
                height[p] += weight * log(total)
            elif n_able == n:
                sum_logs = 0.0
                for e in range(start[b], start[b + 1]):
                    if odds[p, which[e]] > 0:
                        expected[p, which[e]] += weight * count[e]
                        sum_logs += count[e] * log(odds[p, which[e]])
                height[p] += weight * sum_logs
            else:
                height[p] += weight * expect_bucket(
                    start[b], start[b + 1], which, count, n, n_able, weight,
                    odds, p, expected, room, prefix, suffix, terms,
                )  # fmt: skip


@cython.cfunc
def expect_bucket(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n: cython.longlong,
    n_able: cython.longlong,
    weight: cython.double,
    odds: cython.double[:, ::1],
    p: cython.Py_ssize_t,
    expected: cython.double[:, ::1],
    room: cython.double[:, ::1],
    prefix: cython.double[::1],
    suffix: cython.double[::1],
    terms: cython.double[::1],
) -> cython.double:
    """Add the expected carriers of one bucket; return the logarithm of the weight of its worlds."""
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    at: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t = last - first
    counts_carriers: cython.bint = 2 * n <= n_able
    width: cython.Py_ssize_t = n if counts_carriers else n_able - n
    stride: cython.Py_ssize_t = width + 1
    target: cython.Py_ssize_t = width - 1 if counts_carriers else width
    shift: cython.double = find_shift(first, last, which, count, n, n_able, odds, p)
    scale: cython.double = exp(shift)
    scaled: cython.double
    rest: cython.double = 0.0
    ways: cython.double
    total: cython.double

    # As in `include`, the tables count the rarer of carriers and others.
    for i in range(n_classes):
        scaled = odds[p, which[first + i]] * scale
        room[0, i] = scaled / (1 + scaled)
        room[1, i] = 1 / (1 + scaled)
        rest += count[first + i] * log1p(scaled)
    at = n_classes * stride
    for j in range(stride):
        suffix[at + j] = 0.0
        prefix[j] = 0.0
    suffix[at] = 1.0
    prefix[0] = 1.0
    for i in range(n_classes - 1, -1, -1):
        e = first + i
        at = i * stride
        for j in range(stride):
            suffix[at + j] = suffix[at + stride + j]
        if room[0, i] > 0:
            add_rows(
                suffix, at, width, room[0 if counts_carriers else 1, i],
                room[1 if counts_carriers else 0, i], count[e], terms,
            )  # fmt: skip
    total = suffix[width]
    for i in range(n_classes):
        e = first + i
        if room[0, i] > 0:
            add_rows(
                prefix, 0, width, room[0 if counts_carriers else 1, i],
                room[1 if counts_carriers else 0, i], count[e] - 1, terms,
            )  # fmt: skip
            at = (i + 1) * stride
            ways = 0.0
            for j in range(target + 1):
                ways += prefix[j] * suffix[at + target - j]
            expected[p, which[e]] += weight * count[e] * room[0, i] * ways / total
            add_rows(
                prefix, 0, width, room[0 if counts_carriers else 1, i],
                room[1 if counts_carriers else 0, i], 1, terms,
            )  # fmt: skip
    return log(total) + rest - n * shift


@cython.cfunc
def find_shift(
    first: cython.Py_ssize_t,
    last: cython.Py_ssize_t,
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n: cython.longlong,
    n_able: cython.longlong,
    odds: cython.double[:, ::1],
    p: cython.Py_ssize_t,
) -> cython.double:
    """Return what to add to the log odds so that probabilities sum to about n."""
    e: cython.Py_ssize_t
    least: cython.double = 0.0
    most: cython.double = 0.0
    mean: cython.double = 0.0
    one: cython.double
    is_first: cython.bint = True
    for e in range(first, last):
        if odds[p, which[e]] > 0:
            one = log(odds[p, which[e]])
            mean += count[e] * one / n_able
            if is_first or one < least:
                least = one
            if is_first or one > most:
                most = one
            is_first = False
    even: cython.double = log(cython.cast(cython.double, n) / (n_able - n))
    low: cython.double = even - most
    high: cython.double = even - least
    shift: cython.double = even - mean
    excess: cython.double
    slope: cython.double
    scaled: cython.double
    following: cython.double
    for _ in range(80):
        excess = -n
        slope = 0.0
        for e in range(first, last):
            scaled = odds[p, which[e]] * exp(shift)
            excess += count[e] * scaled / (1 + scaled)
            slope += count[e] * scaled / (1 + scaled) / (1 + scaled)
        if -0.1 <= excess <= 0.1:
            break
        if excess < 0:
            low = max(low, shift)
        else:
            high = min(high, shift)
        following = shift - excess / max(slope, 1e-300)
        # A Newton step that leaves the interval is replaced by its middle.
        shift = following if low < following < high else (low + high) / 2
    return shift
