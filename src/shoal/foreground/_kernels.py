"""The law of independent draws given their sum, one bucket after another; climbs by it.

Written in Cython's pure Python mode: compiled when the package is built, and otherwise run as plain
Python. Arrays are contiguous and writable, and allocated by the caller.
"""

from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython

if cython.compiled:
    from cython.cimports.libc.math import (
        INFINITY,
        ceil,
        cos,
        exp,
        fabs,
        lgamma,
        log,
        log1p,
        sin,
        sqrt,
    )
else:
    from math import ceil, cos, exp, fabs, inf, lgamma, log, log1p, sin, sqrt

    INFINITY = inf

__all__ = ["climb", "count_ways", "curve", "expect", "search", "weigh_each"]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def fill_terms(
    n_copies: cython.longlong,
    width: cython.Py_ssize_t,
    hit: cython.double,
    miss: cython.double,
    terms: cython.double[::1],
) -> cython.Py_ssize_t:
    """Write the probabilities that 0, 1, ... of equal rows count; return how many were written.

    That is 0 if the first of them underflows.
    """
    j: cython.Py_ssize_t
    last: cython.Py_ssize_t = min(width, n_copies)
    none: cython.double = miss**n_copies
    ratio: cython.double

    if not none > 1e-250:
        return 0
    ratio = hit / miss
    terms[0] = none
    for j in range(last):
        terms[j + 1] = terms[j] * ((n_copies - j) * ratio / (j + 1))
    return last + 1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_rows(
    law: cython.double[::1],
    at: cython.Py_ssize_t,
    most: cython.Py_ssize_t,
    to: cython.Py_ssize_t,
    width: cython.Py_ssize_t,
    hit: cython.double,
    miss: cython.double,
    n_copies: cython.longlong,
    terms: cython.double[::1],
) -> cython.Py_ssize_t:
    """Write the law of some rows and `n_copies` equal ones besides; return how many may count.

    A law is the probabilities that 0, 1, ... rows count, up to `width`. That of the first rows,
    of which `most` may count, begins in `law` at `at`; that of all rows is written from `to`.
    """
    i: cython.longlong
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    n_terms: cython.Py_ssize_t = 0
    new: cython.Py_ssize_t = width if n_copies >= width - most else most + n_copies
    factor: cython.double

    # Many rows are added at once, by binomial terms.
    if n_copies > 3:
        n_terms = fill_terms(n_copies, width, hit, miss, terms)
    if n_terms == 0:
        for j in range(most + 1):
            law[to + j] = law[at + j]
        for j in range(most + 1, new + 1):
            law[to + j] = 0.0
        for i in range(n_copies):
            for j in range(min(new, most + i + 1), 0, -1):
                law[to + j] = law[to + j] * miss + law[to + j - 1] * hit
            law[to] = law[to] * miss
        return new
    for j in range(new + 1):
        law[to + j] = 0.0
    # Inner loops are the longer ones, and none of their steps waits for another.
    if n_terms <= most + 1:
        for k in range(n_terms):
            factor = terms[k]
            for j in range(min(most, new - k) + 1):
                law[to + k + j] += factor * law[at + j]
    else:
        for k in range(most + 1):
            factor = law[at + k]
            for j in range(min(n_terms - 1, new - k) + 1):
                law[to + k + j] += factor * terms[j]
    return new


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def meet(
    law: cython.double[::1],
    at: cython.Py_ssize_t,
    most: cython.Py_ssize_t,
    other: cython.double[::1],
    other_at: cython.Py_ssize_t,
    other_most: cython.Py_ssize_t,
    total: cython.Py_ssize_t,
) -> cython.double:
    """Return the probability that `total` rows count of those of two laws; see `add_rows`."""
    j: cython.Py_ssize_t
    found: cython.double = 0.0
    for j in range(max(0, total - other_most), min(total, most) + 1):
        found += law[at + j] * other[other_at + total - j]
    return found


def expect(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[:, ::1],
    odds: cython.double[:, ::1],
    expected: cython.double[:, ::1],
    height: cython.double[::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
    sure: cython.double,
) -> None:
    """Sum, at each point, the expected carriers of each class over all buckets.

    A point is a row of `odds`, which are finite and not negative. `multiplicity` says how often
    each bucket counts, in one row for all points or in one row per point. `expected` receives the
    number of carriers of each class, and `height` the sum of the logarithms of the weights of all
    worlds: minus infinity if a bucket is impossible. The invariant of a bucket is that its expected
    carriers sum to `n_carrying`; the plain twin is `law.condition`, for one point at a time.

    Work space, here and below: `many` and the twelve rows of `room` have a number per class of a
    bucket, and at least 64; `terms` has a number for each number of rows that may count, and `laws`
    as many for each class and two more. If they are too short for a bucket, its worlds are summed
    by the integral, which may be off by a fraction of about e**-`sure`.
    """
    p: cython.Py_ssize_t
    row: cython.Py_ssize_t
    with cython.nogil:
        for p in range(odds.shape[0]):
            row = p if multiplicity.shape[0] > 1 else 0
            height[p] = expect_at(
                start, which, count, n_carrying, multiplicity[row], odds, expected, p, many, room,
                terms, laws, sure,
            )  # fmt: skip


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def expect_at(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    odds: cython.double[:, ::1],
    expected: cython.double[:, ::1],
    p: cython.Py_ssize_t,
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
    sure: cython.double,
) -> cython.double:
    """Sum the expected carriers at one point; return the height."""
    b: cython.Py_ssize_t
    e: cython.Py_ssize_t
    k: cython.Py_ssize_t
    n: cython.longlong
    n_able: cython.longlong
    one: cython.double
    total: cython.double
    weight: cython.double
    height: cython.double = 0.0
    product: cython.double = 1.0

    for e in range(expected.shape[1]):
        expected[p, e] = 0.0
    for b in range(n_carrying.shape[0]):
        if multiplicity[b] == 0:
            continue
        n = n_carrying[b]
        weight = multiplicity[b]
        if n == 1:
            total = 0.0
            for e in range(start[b], start[b + 1]):
                total += count[e] * odds[p, which[e]]
            if total > 0:
                # A logarithm of a product costs less than one of each factor.
                if multiplicity[b] == 1 and 1e-100 < total < 1e100:
                    product *= total
                    if not 1e-100 < product < 1e100:
                        height += log(product)
                        product = 1.0
                else:
                    height += weight * log(total)
                total = weight / total
                for e in range(start[b], start[b + 1]):
                    expected[p, which[e]] += count[e] * odds[p, which[e]] * total
                continue
            height = -INFINITY
            continue
        k = 0
        n_able = 0
        for e in range(start[b], start[b + 1]):
            one = odds[p, which[e]]
            if one > 0:
                many[k] = count[e]
                room[0, k] = one
                n_able += count[e]
                k += 1
        if n_able < n:
            height = -INFINITY
            continue
        height += weight * weigh(k, n, n_able, many, room, terms, laws, sure)
        k = 0
        for e in range(start[b], start[b + 1]):
            if odds[p, which[e]] > 0:
                expected[p, which[e]] += weight * count[e] * room[1, k]
                k += 1
    return height + log(product)


def weigh_each(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    odds: cython.double[::1],
    share: cython.double[::1],
    log_weight: cython.double[::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
    sure: cython.double,
) -> None:
    """Condition the rows of each bucket on how many of them carry a value.

    Entry e is `count[e]` rows of a class with the `odds[which[e]]`, from 0 to infinity: `share[e]`
    receives the probability that one of them carries the value; 0 if the bucket is impossible.
    `log_weight` receives the logarithm of the weight of all worlds of each bucket, leaving out rows
    with infinite odds; minus infinity if the bucket is impossible. The invariant is that
    `count * share` sums to `n_carrying` in every possible bucket; the plain twin is
    `law.weigh_worlds`.
    """
    b: cython.Py_ssize_t
    e: cython.Py_ssize_t
    k: cython.Py_ssize_t
    left: cython.longlong
    n_open: cython.longlong
    one: cython.double
    is_possible: cython.bint
    with cython.nogil:
        for b in range(n_carrying.shape[0]):
            k = 0
            n_open = 0
            left = n_carrying[b]
            for e in range(start[b], start[b + 1]):
                one = odds[which[e]]
                if one == INFINITY:
                    left -= count[e]
                elif one > 0:
                    many[k] = count[e]
                    room[0, k] = one
                    n_open += count[e]
                    k += 1
            is_possible = 0 <= left <= n_open
            log_weight[b] = -INFINITY
            if is_possible:
                log_weight[b] = weigh(k, left, n_open, many, room, terms, laws, sure)
            k = 0
            for e in range(start[b], start[b + 1]):
                one = odds[which[e]]
                share[e] = 1.0 if is_possible and one == INFINITY else 0.0
                if one > 0 and one != INFINITY:
                    if is_possible:
                        share[e] = room[1, k]
                    k += 1


def count_ways(
    n_rows: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
) -> float:
    """Return the sum, over buckets, of the logarithm of the number of choices of their carriers.

    The plain twin is `math.comb`.
    """
    b: cython.Py_ssize_t
    found: cython.double = 0.0
    ways: cython.double
    with cython.nogil:
        for b in range(n_rows.shape[0]):
            ways = lgamma(n_rows[b] + 1.0) - lgamma(n_carrying[b] + 1.0)
            found += multiplicity[b] * (ways - lgamma(n_rows[b] - n_carrying[b] + 1.0))
    return found


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def weigh(
    n_kinds: cython.Py_ssize_t,
    n: cython.longlong,
    n_able: cython.longlong,
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
    sure: cython.double,
) -> cython.double:
    """Weigh the worlds of one bucket; return the logarithm of the sum of their weights.

    There are `many[i]` rows with the positive odds `room[0, i]`, of which n carry the value:
    `room[1, i]` receives the probability that one of them does. The integral may be off by a
    fraction of about e**-`sure`: 36 is as exact as rounding lets it be, and 20 is enough on the way
    to a maximum that Newton's steps then find.
    """
    i: cython.Py_ssize_t
    copies: cython.longlong
    found: cython.double = 0.0
    shift: cython.double
    factor: cython.double
    scaled: cython.double
    small: cython.double
    product: cython.double = 1.0
    variance: cython.double = 0.0
    rarer: cython.double = min(n, n_able - n)
    steps: cython.double
    most: cython.double = 0.0

    if n == 0 or n == n_able:
        for i in range(n_kinds):
            room[1, i] = 0.0 if n == 0 else 1.0
            if n > 0:
                found += many[i] * log(room[0, i])
        return found
    if n == 1:
        for i in range(n_kinds):
            found += many[i] * room[0, i]
            most = max(most, room[0, i])
        if 1e-290 < found < 1e290:
            most = 1.0
        else:
            # The largest odds count as 1, so that sums neither overflow nor lose digits.
            found = 0.0
            for i in range(n_kinds):
                found += many[i] * (room[0, i] / most)
        for i in range(n_kinds):
            room[1, i] = room[0, i] / most / found
        return log(found) + log(most)
    if n_kinds == 1:
        room[1, 0] = cython.cast(cython.double, n) / n_able
        found = lgamma(n_able + 1.0) - lgamma(n + 1.0) - lgamma(n_able - n + 1.0)
        return found + n * log(room[0, 0])
    shift = find_shift(n_kinds, n, n_able, many, room)
    factor = exp(shift)
    for i in range(n_kinds):
        scaled = room[0, i] * factor
        small = scaled if scaled < 1 else 1 / scaled
        if many[i] <= 16:
            # A logarithm of a product costs less than one of each factor.
            for copies in range(many[i]):
                product *= 1 + small
            if product > 1e280:
                found += log(product)
                product = 1.0
        else:
            found += many[i] * log1p(small)
        if scaled > 1:
            found += many[i] * (log(room[0, i]) + shift)
        room[2, i] = small / (1 + small) if scaled < 1 else 1 / (1 + small)
        room[3, i] = 1 / (1 + small) if scaled < 1 else small / (1 + small)
        variance += many[i] * room[2, i] * room[3, i]
    found += log(product)
    # What the tables cost, in steps; the integral costs as much as a few hundred.
    steps = 5 * rarer
    if n_kinds > 2:
        steps = min(n_able * rarer, n_kinds * rarer * rarer / 2)
    if (variance >= 4 and steps > 200 + 4.0 * n_kinds) or (
        (n_kinds + 3) * (rarer + 1) > laws.shape[0] or rarer >= terms.shape[0]
    ):
        return log(integrate(n_kinds, n, variance, many, room, sure)) + found - n * shift
    return log(add_up(n_kinds, n, n_able, many, room, terms, laws)) + found - n * shift


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def add_up(
    n_kinds: cython.Py_ssize_t,
    n: cython.longlong,
    n_able: cython.longlong,
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
) -> cython.double:
    """Find the shares of the rows of a bucket by tables; return their weight.

    A table has the probabilities that 0, 1, ... of some rows count. Those of the rows before a
    class and of the rows after it, multiplied, give the probability that one of its rows carries
    the value.
    """
    i: cython.Py_ssize_t
    # The tables count the rarer of carriers and others.
    counts_carriers: cython.bint = 2 * n <= n_able
    width: cython.Py_ssize_t = n if counts_carriers else n_able - n
    stride: cython.Py_ssize_t = width + 1
    target: cython.Py_ssize_t = width - 1 if counts_carriers else width
    hit: cython.Py_ssize_t = 2 if counts_carriers else 3
    miss: cython.Py_ssize_t = 3 if counts_carriers else 2
    last: cython.Py_ssize_t = n_kinds - 1
    # Laws: of the rows after each class, of the rows before it, and of these but one of its own.
    before: cython.Py_ssize_t = (n_kinds + 1) * stride
    but_one: cython.Py_ssize_t = before + stride
    n_terms: cython.Py_ssize_t
    # How many rows of a law may count.
    most: cython.Py_ssize_t = 0
    most_before: cython.Py_ssize_t = 0
    n_after: cython.longlong = n_able
    ways: cython.double
    total: cython.double = 1.0

    laws[n_kinds * stride] = 1.0
    laws[before] = 1.0
    for i in range(last, 0, -1):
        most = add_rows(
            laws, (i + 1) * stride, most, i * stride, width, room[hit, i], room[miss, i], many[i],
            terms,
        )  # fmt: skip
    for i in range(n_kinds):
        room[1, i] = 0.0
        n_after -= many[i]
        # `curve` takes away a row, which may have been the only one.
        if many[i] > 0 or i == 0:
            ways = 0.0
            n_terms = 0
            if i == last:
                # Of the law of all rows but one, a single number counts.
                n_terms = fill_terms(many[i] - 1, width, room[hit, i], room[miss, i], terms)
                if n_terms > 0:
                    ways = meet(terms, 0, n_terms - 1, laws, before, most_before, target)
            if n_terms == 0 and many[i] > 0:
                most = add_rows(
                    laws, before, most_before, but_one, width, room[hit, i], room[miss, i],
                    many[i] - 1, terms,
                )  # fmt: skip
                ways = meet(
                    laws, but_one, most, laws, (i + 1) * stride, min(width, n_after), target
                )
                if i < last:
                    most_before = add_rows(
                        laws, but_one, most, before, width, room[hit, i], room[miss, i], 1, terms
                    )
            if i == 0:
                total = meet(laws, before, most_before, laws, stride, min(width, n_after), width)
            room[1, i] = room[2, i] * ways / total
    return total


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def integrate(
    n_kinds: cython.Py_ssize_t,
    n: cython.longlong,
    variance: cython.double,
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    sure: cython.double,
) -> cython.double:
    """Find the shares of the rows of a large bucket by an integral; return their weight.

    The weight is the mean, over evenly spaced points on the unit circle, of the product of
    `lack + carry * e^(i angle)` over all rows, turned back by n times the angle. By Bernstein's
    inequality the sum of the carriers deviates from its mean by as much as there are points with
    probability e**-sure at most, so they do not confuse n, near the mean, with another sum. The
    plain twin is in the property tests: the same sum by numpy.
    """
    i: cython.Py_ssize_t
    s: cython.Py_ssize_t
    n_used: cython.Py_ssize_t = 0
    copies: cython.longlong
    needed: cython.double = sure / 3 + sqrt(sure * sure / 9 + 2 * sure * variance)
    # With an odd number no point is opposite the first, where a row with probability 1/2 has a
    # factor of 0, by which nothing can be divided.
    n_points: cython.double = 2 * ceil((needed - 1) / 2) + 1
    # Half an angle, and n times it, are advanced by turning them.
    step: cython.double = 3.141592653589793 / n_points
    cosine_of_step: cython.double = cos(step)
    sine_of_step: cython.double = sin(step)
    cosine_of_turn: cython.double = cos(2 * step * n)
    sine_of_turn: cython.double = -sin(2 * step * n)
    cosine_of_half: cython.double = 1.0
    sine_of_half: cython.double = 0.0
    turned: cython.double = 1.0
    turned_sine: cython.double = 0.0
    carry: cython.double
    spread: cython.double
    kept: cython.double
    others: cython.double
    more: cython.double
    mass: cython.double = 1.0
    # At each point: 1 - cos, sin, and the product of all factors, a complex number.
    drop: cython.double[::1] = room[6]
    sine: cython.double[::1] = room[7]
    whole: cython.double[::1] = room[8]
    whole_turned: cython.double[::1] = room[9]
    # A power of the factor of a class, at each point.
    power: cython.double[::1] = room[10]
    power_turned: cython.double[::1] = room[11]

    for s in range(cython.cast(cython.Py_ssize_t, n_points / 2)):
        kept = cosine_of_half * cosine_of_step - sine_of_half * sine_of_step
        sine_of_half = sine_of_half * cosine_of_step + cosine_of_half * sine_of_step
        cosine_of_half = kept
        drop[s] = 2 * sine_of_half * sine_of_half
        # Beyond this angle the product is below e**-sure.
        if variance * drop[s] > sure + 2:
            break
        sine[s] = 2 * sine_of_half * cosine_of_half
        kept = turned * cosine_of_turn - turned_sine * sine_of_turn
        turned_sine = turned_sine * cosine_of_turn + turned * sine_of_turn
        turned = kept
        whole[s] = turned
        whole_turned[s] = turned_sine
        n_used += 1
    for i in range(n_kinds):
        carry = room[2, i]
        copies = many[i]
        if copies == 1:
            multiply(n_used, whole, whole_turned, drop, sine, carry)
            continue
        for s in range(n_used):
            power[s] = 1 - carry * drop[s]
            power_turned[s] = carry * sine[s]
        # The power by squaring, since a class may have thousands of rows.
        while copies > 0:
            if copies % 2 == 1:
                for s in range(n_used):
                    kept = whole[s] * power[s] - whole_turned[s] * power_turned[s]
                    whole_turned[s] = whole[s] * power_turned[s] + whole_turned[s] * power[s]
                    whole[s] = kept
            copies = copies // 2
            if copies > 0:
                for s in range(n_used):
                    kept = power[s] * power[s] - power_turned[s] * power_turned[s]
                    power_turned[s] = 2 * power[s] * power_turned[s]
                    power[s] = kept
    for s in range(n_used):
        # The half of the circle below 0 mirrors the half above.
        whole[s] = 2 * whole[s]
        whole_turned[s] = 2 * whole_turned[s]
        mass += whole[s]
        # With one carrier fewer.
        kept = whole[s] * (1 - drop[s]) - whole_turned[s] * sine[s]
        whole_turned[s] = whole[s] * sine[s] + whole_turned[s] * (1 - drop[s])
        whole[s] = kept
    for s in range(n_used):
        # What the loop over the classes multiplies by the carriers of a class.
        whole_turned[s] = whole_turned[s] * sine[s] - whole[s] * drop[s]
    for i in range(n_kinds):
        carry = room[2, i]
        spread = 2 * carry * room[3, i]
        # Without a row of the class: the product divided by its factor, whose squared length is
        # computed without cancellation.
        for s in range(n_used):
            power[s] = (whole[s] + carry * whole_turned[s]) / max(1 - spread * drop[s], 1e-300)
        # Two sums, none of which waits for the other.
        others = 1.0
        more = 0.0
        for s in range(n_used // 2):
            others += power[2 * s]
            more += power[2 * s + 1]
        if n_used % 2 == 1:
            others += power[n_used - 1]
        room[1, i] = min(max(carry * (others + more) / mass, 0.0), 1.0)
    return mass / n_points


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def multiply(
    n_points: cython.Py_ssize_t,
    whole: cython.double[::1],
    whole_turned: cython.double[::1],
    drop: cython.double[::1],
    sine: cython.double[::1],
    carry: cython.double,
) -> cython.void:
    """Multiply products by the factor of one row, at each point; see `integrate`."""
    s: cython.Py_ssize_t
    power: cython.double
    power_turned: cython.double
    kept: cython.double
    for s in range(n_points):
        power = 1 - carry * drop[s]
        power_turned = carry * sine[s]
        kept = whole[s] * power - whole_turned[s] * power_turned
        whole_turned[s] = whole[s] * power_turned + whole_turned[s] * power
        whole[s] = kept


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_shift(
    n_kinds: cython.Py_ssize_t,
    n: cython.longlong,
    n_able: cython.longlong,
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
) -> cython.double:
    """Return what to add to the log odds so that probabilities sum to about n."""
    i: cython.Py_ssize_t
    least: cython.double = room[0, 0]
    most: cython.double = room[0, 0]
    mean: cython.double = 0.0
    even: cython.double = log(cython.cast(cython.double, n) / (n_able - n))
    is_rare: cython.bint = 2 * n <= n_able
    for i in range(n_kinds):
        # If carriers are rare, a probability is almost the odds; otherwise their reciprocal almost
        # that of lacking the value.
        mean += many[i] * (room[0, i] if is_rare else 1 / room[0, i]) / n_able
        least = min(least, room[0, i])
        most = max(most, room[0, i])
    # No odds may become infinite.
    highest: cython.double = min(700.0, 690.0 - log(most))
    low: cython.double = even - log(most)
    high: cython.double = even - log(least)
    shift: cython.double = even - log(mean) if is_rare else even + log(mean)
    if not low < shift < high:
        shift = (low + high) / 2
    excess: cython.double
    slope: cython.double
    scaled: cython.double
    small: cython.double
    factor: cython.double
    following: cython.double
    tried: cython.Py_ssize_t
    for tried in range(80):
        excess = -n
        slope = 0.0
        factor = exp(min(max(shift, -700.0), highest))
        for i in range(n_kinds):
            scaled = room[0, i] * factor
            small = 1 / (1 + scaled)
            excess += many[i] * scaled * small
            slope += many[i] * scaled * small * small
        # Half a standard deviation off is near enough, whatever sums the worlds.
        if excess * excess <= 0.01 + 0.25 * slope:
            break
        if excess < 0:
            low = max(low, shift)
        else:
            high = min(high, shift)
        following = shift - excess / max(slope, 1e-300)
        # A Newton step that leaves the interval is replaced by its middle.
        shift = following if low < following < high else (low + high) / 2
    return min(max(shift, -700.0), highest)


def curve(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    odds: cython.double[::1],
    pairs: cython.double[:, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
) -> None:
    """Add up, over all buckets, how the carriers of two classes depend on each other.

    `pairs[i, j]` receives the mean number of pairs of different carriers, one of class i and one of
    class j, minus the product of the mean numbers of carriers. Buckets that are impossible do not
    count. The plain twin is in the property tests: the difference of two steps.
    """
    with cython.nogil:
        curve_at(
            start, which, count, n_carrying, multiplicity, odds, pairs, many, room, terms, laws
        )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def curve_at(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    odds: cython.double[::1],
    pairs: cython.double[:, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
) -> cython.void:
    """Do this without Python's lock."""
    b: cython.Py_ssize_t
    e: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    first: cython.Py_ssize_t
    n: cython.longlong
    n_able: cython.longlong
    mean: cython.double

    for b in range(n_carrying.shape[0]):
        n = n_carrying[b]
        first = start[b]
        k = start[b + 1] - first
        n_able = 0
        for i in range(k):
            e = first + i
            many[i] = count[e]
            # A row that cannot carry the value gets negligible odds.
            room[0, i] = max(odds[which[e]], 1e-280)
            n_able += count[e] if odds[which[e]] > 0 else 0
        if n_able < n:
            continue
        n_able = 0
        for i in range(k):
            n_able += many[i]
        weigh(k, n, n_able, many, room, terms, laws, 36.0)
        for i in range(k):
            room[5, i] = many[i] * room[1, i]
        for i in range(k):
            e = first + i
            mean = multiplicity[b] * room[5, i]
            for j in range(k):
                pairs[which[e], which[first + j]] -= mean * room[5, j]
            if n > 1:
                # The others of the bucket, if one row of this class carries the value.
                many[i] -= 1
                weigh(k, n - 1, n_able - 1, many, room, terms, laws, 36.0)
                for j in range(k):
                    pairs[which[e], which[first + j]] += mean * many[j] * room[1, j]
                many[i] += 1


def climb(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    pure: cython.double[::1],
    constant: cython.double,
    n_rows: cython.double[::1],
    is_free: cython.uchar[::1],
    settled: cython.double[::1],
    limits: cython.double[::1],
    span: cython.longlong[::1],
    f: cython.double[:, ::1],
    following: cython.double[:, ::1],
    height: cython.double[::1],
    stride: cython.double[::1],
    end: cython.longlong[::1],
    tops: cython.double[:, ::1],
    top_slopes: cython.double[:, ::1],
    top_matrices: cython.double[:, :, ::1],
    top_heights: cython.double[::1],
    is_reached: cython.uchar[::1],
    scratch: cython.double[:, :, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
) -> int:
    """Climb from the points `f` whose `end` is -1; return the number of steps.

    The steps are those numbered `span[0]` to `span[1]`, and `span[2]` is the last of all. `end`
    receives the number of the step after which nothing moves, or -2 in the bowl of a known maximum
    (one of `tops`), which `is_reached` then marks. The constants of `shoal.foreground.solutions`
    are the `limits`, in this order: `TOLERANCE`, `_FARTHEST`, `_TINY`, `_LONGEST`, `FLOOR`,
    `_BOWL`, `_AS_PREDICTED` and `_SAME`. `pure` are the carriers of each class in buckets without
    another class, and `constant` the logarithm of how many worlds these have.

    The invariant is that no step leads down. The plain twin is `climb_plainly` in the property
    tests of solutions. `scratch` has three times one number per class.
    """
    p: cython.Py_ssize_t
    steps: cython.longlong = 0

    with cython.nogil:
        for p in range(f.shape[0]):
            if end[p] == -1:
                steps += climb_on(
                    start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free,
                    settled, limits, span[0], span[1], span[2], f, following, height, stride, end,
                    p, tops, top_slopes, top_matrices, top_heights, is_reached, scratch, many, room,
                    terms, laws, 36.0,
                )  # fmt: skip
    return steps


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def climb_on(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    pure: cython.double[::1],
    constant: cython.double,
    n_rows: cython.double[::1],
    is_free: cython.uchar[::1],
    settled: cython.double[::1],
    limits: cython.double[::1],
    first: cython.longlong,
    last: cython.longlong,
    final: cython.longlong,
    f: cython.double[:, ::1],
    following: cython.double[:, ::1],
    height: cython.double[::1],
    stride: cython.double[::1],
    end: cython.longlong[::1],
    p: cython.Py_ssize_t,
    tops: cython.double[:, ::1],
    top_slopes: cython.double[:, ::1],
    top_matrices: cython.double[:, :, ::1],
    top_heights: cython.double[::1],
    is_reached: cython.uchar[::1],
    scratch: cython.double[:, :, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
    sure: cython.double,
) -> cython.longlong:
    """Take some steps from one point; see `climb`."""
    n_classes: cython.Py_ssize_t = n_rows.shape[0]
    c: cython.Py_ssize_t
    k: cython.longlong
    steps: cython.longlong = 0
    most: cython.double
    change: cython.double
    length: cython.double
    above: cython.double
    room_left: cython.double
    is_still: cython.bint
    ahead: cython.double[:, ::1] = scratch[0]
    odds: cython.double[:, ::1] = scratch[1]
    expected: cython.double[:, ::1] = scratch[2]

    for k in range(first, last + 1):
        if k > 0:
            most = 0.0
            for c in range(n_classes):
                ahead[0, c] = following[p, c]
                if is_free[c]:
                    # How far one step goes, in log odds.
                    change = following[p, c] * (1 - f[p, c]) / (f[p, c] * (1 - following[p, c]))
                    ahead[0, c] = log(change)
                    most = max(most, fabs(ahead[0, c]))
            length = max(min(stride[p], limits[1] / max(most, limits[2])), 1.0)
            for c in range(n_classes):
                if is_free[c] and length > 1:
                    change = f[p, c] / (1 - f[p, c]) * exp(length * ahead[0, c])
                    above = change / (1 + change)
                    ahead[0, c] = min(max(above, limits[4]), 1 - limits[4])
                else:
                    ahead[0, c] = following[p, c]
            for c in range(n_classes):
                # Kept in case the stride leads down.
                f[p, c] = following[p, c]
            above = step_from(
                start, which, count, n_carrying, multiplicity, pure, constant, n_rows,
                is_free, settled, limits[4], ahead, 0, following, p, odds, expected, many,
                room, terms, laws, sure,
            )  # fmt: skip
            steps += 1
            if length > 1 and above < height[p]:
                above = step_from(
                    start, which, count, n_carrying, multiplicity, pure, constant,
                    n_rows, is_free, settled, limits[4], f, p, following, p, odds, expected,
                    many, room, terms, laws, sure,
                )  # fmt: skip
                steps += 1
                stride[p] = 1.0
            else:
                for c in range(n_classes):
                    f[p, c] = ahead[0, c]
                stride[p] = min(2 * length, limits[3])
            height[p] = above
        if k == final:
            break
        is_still = True
        for c in range(n_classes):
            if is_free[c]:
                room_left = limits[0] * min(f[p, c], 1 - f[p, c]) + 1e-17
                if not fabs(following[p, c] - f[p, c]) <= room_left:
                    is_still = False
                    break
        if is_still:
            end[p] = k
            break
        if is_in_bowl(
            f, p, height[p], limits, tops, top_slopes, top_matrices, top_heights, is_reached
        ):
            end[p] = -2
            break
    return steps


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def step_from(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    pure: cython.double[::1],
    constant: cython.double,
    n_rows: cython.double[::1],
    is_free: cython.uchar[::1],
    settled: cython.double[::1],
    least: cython.double,
    point: cython.double[:, ::1],
    p: cython.Py_ssize_t,
    following: cython.double[:, ::1],
    q: cython.Py_ssize_t,
    odds: cython.double[:, ::1],
    expected: cython.double[:, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
    sure: cython.double,
) -> cython.double:
    """Take one step from a point, within the bounds; return the log-likelihood of the point."""
    c: cython.Py_ssize_t
    height: cython.double
    one: cython.double

    for c in range(n_rows.shape[0]):
        odds[0, c] = point[p, c] / (1 - point[p, c])
    height = constant + expect_at(
        start, which, count, n_carrying, multiplicity, odds, expected, 0, many, room, terms, laws,
        sure,
    )  # fmt: skip
    for c in range(n_rows.shape[0]):
        height += n_rows[c] * log1p(-point[p, c])
        if pure[c] > 0:
            height += pure[c] * log(odds[0, c])
        following[q, c] = settled[c]
        if is_free[c]:
            one = (expected[0, c] + pure[c]) / max(n_rows[c], 1.0)
            following[q, c] = min(max(one, least), 1 - least)
    return height


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_in_bowl(
    f: cython.double[:, ::1],
    p: cython.Py_ssize_t,
    height: cython.double,
    limits: cython.double[::1],
    tops: cython.double[:, ::1],
    slopes: cython.double[:, ::1],
    matrices: cython.double[:, :, ::1],
    heights: cython.double[::1],
    is_reached: cython.uchar[::1],
) -> cython.bint:
    """Return whether a point is as much lower than a known maximum as its curvature predicts."""
    m: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    fall: cython.double
    away: cython.double
    line: cython.double
    found: cython.bint = False

    for m in range(heights.shape[0]):
        fall = 0.0
        for i in range(tops.shape[1]):
            away = f[p, i] - tops[m, i]
            line = 0.0
            for j in range(tops.shape[1]):
                line += matrices[m, i, j] * (f[p, j] - tops[m, j])
            fall += away * line / 2 + fabs(away) * slopes[m, i]
        if fall <= limits[5] and fabs(heights[m] - height - fall) <= limits[6] * fall + limits[7]:
            is_reached[m] = 1
            found = True
    return found


def search(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    pure: cython.double[::1],
    constant: cython.double,
    n_rows: cython.double[::1],
    is_free: cython.uchar[::1],
    settled: cython.double[::1],
    limits: cython.double[::1],
    every: cython.longlong[::1],
    points: cython.double[:, ::1],
    found: cython.double[:, ::1],
    heights: cython.double[::1],
    rows: cython.double[:, ::1],
    matrices: cython.double[:, :, ::1],
    marks: cython.uchar[:, ::1],
    end: cython.longlong[::1],
    scratch: cython.double[:, :, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
) -> int:
    """Climb from some points to the one maximum that all of them lead to.

    `found` receives the maximum, and where a step leads from there; the first of `heights` its
    log-likelihood. Returns the number of steps, or -1 if something else is met: another maximum, a
    ridge, a saddle point, or a climb without an end. Then `shoal.foreground.solutions` searches
    step by step, which is also the plain twin. `limits` are those of `climb`, followed by `_SLOW`,
    `_SMALL`, `_DISTINCT` and the constants of `shoal.foreground.optimization`: `_EDGE`, `_AT_EDGE`,
    `_NEAR_EDGE`, `_STEEP`, `_DEFINITE`, `_LITTLE`, `_LONGEST_NEWTON` and `_EXACT`. `every` has
    after how many steps Newton's are tried, and later; the most steps; and the most of Newton's.

    Work space: `rows` has 12 rows with a number per class, `matrices` three matrices of classes,
    `marks` three rows of flags, `heights` four numbers, and `end` one.
    """
    n_classes: cython.Py_ssize_t = n_rows.shape[0]
    s: cython.Py_ssize_t
    c: cython.Py_ssize_t
    d: cython.Py_ssize_t
    first: cython.longlong
    last: cython.longlong
    steps: cython.longlong = 0
    # The maximum and the curvature there, as `climb` takes them.
    tops: cython.double[:, ::1] = rows[10:11]
    top_slopes: cython.double[:, ::1] = rows[11:12]
    top_matrices: cython.double[:, :, ::1] = matrices[2:3]
    f: cython.double[:, ::1] = rows[8:9]
    following: cython.double[:, ::1] = rows[9:10]
    height: cython.double[::1] = heights[1:2]
    stride: cython.double[::1] = heights[2:3]
    # None is known before the first climb has ended.
    known: cython.double[::1] = heights[0:0]
    is_reached: cython.uchar[::1] = marks[2]
    is_exact: cython.bint
    is_alone: cython.bint = True

    with cython.nogil:
        for s in range(points.shape[0]):
            for c in range(n_classes):
                f[0, c] = settled[c]
                if is_free[c]:
                    f[0, c] = min(max(points[s, c], limits[4]), 1 - limits[4])
            height[0] = step_from(
                start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free,
                settled, limits[4], f, 0, following, 0, scratch[1], scratch[2], many, room, terms,
                laws, 20.0,
            )  # fmt: skip
            steps += 1
            stride[0] = 1.0
            end[0] = -1
            first = 0
            while first <= every[2] and end[0] == -1:
                last = min(first + (every[0] if first < every[1] else every[1]) - 1, every[2])
                steps += climb_on(
                    start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free,
                    settled, limits, first, last, every[2], f, following, height, stride, end, 0,
                    tops,
                    top_slopes, top_matrices, known, is_reached, scratch, many, room, terms, laws,
                    20.0,
                )  # fmt: skip
                first = last + 1
                if end[0] == -2:
                    break
                if end[0] == -1 and (
                    last >= every[2] or not is_slow(f, following, is_free, limits)
                ):
                    continue
                is_exact = polish(
                    start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free,
                    settled, limits, every[3], f, rows, matrices, marks, heights, scratch, many,
                    room, terms,
                    laws,
                )  # fmt: skip
                if not is_exact and end[0] == -1:
                    continue
                is_alone = is_exact
                end[0] = -2
                if not is_exact:
                    break
                if known.shape[0] == 0:
                    for c in range(n_classes):
                        found[0, c] = rows[5, c]
                        tops[0, c] = rows[0, c]
                        top_slopes[0, c] = fabs(rows[2, c]) if marks[0, c] else 0.0
                        for d in range(n_classes):
                            top_matrices[0, c, d] = matrices[0, c, d]
                    heights[0] = heights[3]
                    known = heights[0:1]
                for c in range(n_classes):
                    if fabs(rows[5, c] - found[0, c]) > limits[10]:
                        is_alone = False
            if end[0] == -1 or not is_alone:
                is_alone = False
                break
        for c in range(n_classes):
            f[0, c] = found[0, c]
        heights[0] = step_from(
            start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free, settled,
            0.0, f, 0, following, 0, scratch[1], scratch[2], many, room, terms, laws, 36.0,
        )  # fmt: skip
        for c in range(n_classes):
            found[1, c] = following[0, c]
    return steps if is_alone else -1


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_slow(
    f: cython.double[:, ::1],
    following: cython.double[:, ::1],
    is_free: cython.uchar[::1],
    limits: cython.double[::1],
) -> cython.bint:
    """Return whether probabilities hardly change; small ones may still do."""
    c: cython.Py_ssize_t
    n_free: cython.Py_ssize_t = 0
    mean: cython.double = 0.0
    least: cython.double

    for c in range(is_free.shape[0]):
        if is_free[c]:
            mean += f[0, c]
            n_free += 1
    mean /= n_free
    least = limits[9] * min(mean, 1 - mean)
    for c in range(is_free.shape[0]):
        if is_free[c]:
            mean = limits[8] * max(min(f[0, c], 1 - f[0, c]), least)
            if not fabs(following[0, c] - f[0, c]) <= mean:
                return False
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def polish(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    pure: cython.double[::1],
    constant: cython.double,
    n_rows: cython.double[::1],
    is_free: cython.uchar[::1],
    settled: cython.double[::1],
    limits: cython.double[::1],
    most_steps: cython.longlong,
    f: cython.double[:, ::1],
    rows: cython.double[:, ::1],
    matrices: cython.double[:, :, ::1],
    marks: cython.uchar[:, ::1],
    heights: cython.double[::1],
    scratch: cython.double[:, :, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
) -> cython.bint:
    """Take Newton's steps from a point; return whether they end at a clear maximum.

    Row 5 receives it, and `heights[3]` its log-likelihood; rows 0 and 2 the point, slopes and, in
    the first of `matrices`, the second derivatives before the last step; `marks[0]` what is held at
    a bound there. The plain twin is `optimization.refine`.
    """
    n_classes: cython.Py_ssize_t = n_rows.shape[0]
    c: cython.Py_ssize_t
    number: cython.longlong
    height: cython.double
    above: cython.double
    longest: cython.double
    farthest: cython.double
    edge: cython.double = limits[11]

    for c in range(n_classes):
        rows[3, c] = f[0, c]
    height = measure(
        start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free,
        settled, limits, rows, matrices, marks, scratch, many, room, terms, laws,
    )  # fmt: skip
    for number in range(most_steps):
        if not is_definite(limits, n_rows, rows, matrices, marks):
            return False
        find_direction(limits, rows, matrices, marks)
        longest = 0.0
        for c in range(n_classes):
            longest = max(longest, fabs(rows[4, c]))
        longest = min(1.0, limits[17] / max(longest, limits[17]))
        farthest = 0.0
        for c in range(n_classes):
            rows[3, c] = rows[0, c]
            if marks[2, c]:
                rows[3, c] = min(max(rows[0, c] + rows[4, c] * longest, edge), 1 - edge)
            if marks[0, c]:
                rows[3, c] = edge if rows[3, c] < 0.5 else 1 - edge
            farthest = max(farthest, fabs(rows[3, c] - rows[0, c]))
        above = step_from(
            start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free, settled,
            limits[4], rows, 3, rows, 1, scratch[1], scratch[2], many, room, terms, laws, 36.0,
        )  # fmt: skip
        if not above >= height - 1e-9 * (1 + fabs(height) * 1e-3):
            return False
        height = above
        if farthest <= limits[18]:
            for c in range(n_classes):
                rows[5, c] = rows[3, c]
                if is_free[c] and rows[3, c] <= 2 * edge:
                    rows[5, c] = limits[4]
                if is_free[c] and 1 - rows[5, c] <= 2 * edge:
                    rows[5, c] = 1 - limits[4]
            heights[3] = step_from(
                start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free,
                settled, limits[4], rows, 5, rows, 1, scratch[1], scratch[2], many, room, terms,
                laws, 36.0,
            )  # fmt: skip
            return True
        height = measure(
            start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free,
            settled, limits, rows, matrices, marks, scratch, many, room, terms, laws,
        )  # fmt: skip
    return False


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def measure(
    start: cython.longlong[::1],
    which: cython.longlong[::1],
    count: cython.longlong[::1],
    n_carrying: cython.longlong[::1],
    multiplicity: cython.longlong[::1],
    pure: cython.double[::1],
    constant: cython.double,
    n_rows: cython.double[::1],
    is_free: cython.uchar[::1],
    settled: cython.double[::1],
    limits: cython.double[::1],
    rows: cython.double[:, ::1],
    matrices: cython.double[:, :, ::1],
    marks: cython.uchar[:, ::1],
    scratch: cython.double[:, :, ::1],
    many: cython.longlong[::1],
    room: cython.double[:, ::1],
    terms: cython.double[::1],
    laws: cython.double[::1],
) -> cython.double:
    """Measure slopes and second derivatives at the point in row 3; return its log-likelihood.

    The plain twin is `optimization.Curvature.at`.
    """
    n_classes: cython.Py_ssize_t = n_rows.shape[0]
    c: cython.Py_ssize_t
    d: cython.Py_ssize_t
    height: cython.double
    n: cython.double
    share: cython.double
    spread: cython.double
    edge: cython.double = limits[11]
    matrix: cython.double[:, ::1] = matrices[0]
    pairs: cython.double[:, ::1] = matrices[1]

    for c in range(n_classes):
        rows[0, c] = rows[3, c]
        if is_free[c]:
            rows[0, c] = min(max(rows[3, c], edge), 1 - edge)
    height = step_from(
        start, which, count, n_carrying, multiplicity, pure, constant, n_rows, is_free, settled,
        limits[4], rows, 0, rows, 1, scratch[1], scratch[2], many, room, terms, laws, 36.0,
    )  # fmt: skip
    for c in range(n_classes):
        rows[2, c] = 0.0
        marks[0, c] = 0
        marks[1, c] = 0
        n = max(n_rows[c], 1.0)
        # What one step leads to.
        share = min((scratch[2, 0, c] + pure[c]) / n, 1.0)
        spread = rows[0, c] * (1 - rows[0, c])
        for d in range(n_classes):
            pairs[c, d] = 0.0
        # Differences of large numbers cancel in this form, and not in rounding.
        pairs[c, c] = n * rows[0, c] * (2 * share - rows[0, c]) - pure[c]
        if is_free[c]:
            rows[2, c] = n * (share - rows[0, c]) / spread
            if rows[3, c] <= limits[13] and rows[2, c] < -limits[14] * n:
                marks[0, c] = 1
            elif 1 - rows[3, c] <= limits[13] and rows[2, c] > limits[14] * n:
                marks[0, c] = 1
            else:
                marks[1, c] = 1
        rows[6, c] = scratch[1, 0, c]
    curve_at(start, which, count, n_carrying, multiplicity, rows[6], pairs, many, room, terms, laws)
    for c in range(n_classes):
        for d in range(n_classes):
            matrix[c, d] = 0.0
            if marks[1, c] and marks[1, d]:
                spread = rows[0, c] * (1 - rows[0, c]) * rows[0, d] * (1 - rows[0, d])
                matrix[c, d] = -(pairs[c, d] + pairs[d, c]) / 2 / spread
    return height


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def is_definite(
    limits: cython.double[::1],
    n_rows: cython.double[::1],
    rows: cython.double[:, ::1],
    matrices: cython.double[:, :, ::1],
    marks: cython.uchar[:, ::1],
) -> cython.bint:
    """Return whether the likelihood falls clearly in every direction of open classes.

    The plain twin is `optimization.Curvature.is_definite`.
    """
    n_classes: cython.Py_ssize_t = n_rows.shape[0]
    c: cython.Py_ssize_t
    d: cython.Py_ssize_t
    i: cython.Py_ssize_t = 0
    j: cython.Py_ssize_t
    most: cython.double = 0.0
    factor: cython.double[:, ::1] = matrices[1]

    for c in range(n_classes):
        if marks[1, c]:
            most = max(most, rows[0, c] * (1 - rows[0, c]))
    for c in range(n_classes):
        # A probability at a bound would otherwise not count at all.
        rows[7, c] = max(rows[0, c] * (1 - rows[0, c]), limits[16] * most)
        rows[7, c] = sqrt(rows[7, c] / max(n_rows[c], 1.0))
    for c in range(n_classes):
        if not marks[1, c]:
            continue
        j = 0
        for d in range(n_classes):
            if marks[1, d]:
                factor[i, j] = matrices[0, c, d] * rows[7, c] * rows[7, d]
                j += 1
        factor[i, i] -= limits[15]
        i += 1
    return split(factor, i)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def split(factor: cython.double[:, ::1], size: cython.Py_ssize_t) -> cython.bint:
    """Replace the upper triangle of a matrix by its Cholesky factor, if it has one."""
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for k in range(size):
        if not factor[k, k] > 0.0:
            return False
        factor[k, k] = sqrt(factor[k, k])
        for j in range(k + 1, size):
            factor[k, j] /= factor[k, k]
        for i in range(k + 1, size):
            for j in range(i, size):
                factor[i, j] -= factor[k, i] * factor[k, j]
    return True


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def find_direction(
    limits: cython.double[::1],
    rows: cython.double[:, ::1],
    matrices: cython.double[:, :, ::1],
    marks: cython.uchar[:, ::1],
) -> cython.void:
    """Solve for the step; open classes that it would push beyond a bound stay at the bound.

    Row 4 receives the step, and `marks[2]` the classes that are still open. The plain twin is
    `optimization._newton_direction`.
    """
    n_classes: cython.Py_ssize_t = rows.shape[1]
    c: cython.Py_ssize_t
    d: cython.Py_ssize_t
    i: cython.Py_ssize_t
    j: cython.Py_ssize_t
    size: cython.Py_ssize_t
    is_outward: cython.bint = True
    factor: cython.double[:, ::1] = matrices[1]

    for c in range(n_classes):
        marks[2, c] = marks[1, c]
    while is_outward:
        is_outward = False
        size = 0
        for c in range(n_classes):
            rows[4, c] = 0.0
            if not marks[2, c]:
                continue
            j = 0
            for d in range(n_classes):
                if marks[2, d]:
                    factor[size, j] = matrices[0, c, d]
                    j += 1
            rows[7, size] = rows[2, c]
            size += 1
        # The whole matrix is positive definite, and so is every part of it.
        split(factor, size)
        for i in range(size):
            rows[7, i] /= factor[i, i]
            for j in range(i + 1, size):
                rows[7, j] -= factor[i, j] * rows[7, i]
        for i in range(size - 1, -1, -1):
            for j in range(i + 1, size):
                rows[7, i] -= factor[i, j] * rows[7, j]
            rows[7, i] /= factor[i, i]
        i = 0
        for c in range(n_classes):
            if marks[2, c]:
                rows[4, c] = rows[7, i]
                i += 1
        for c in range(n_classes):
            if marks[2, c] and (
                (rows[0, c] <= limits[12] and rows[4, c] < 0)
                or (1 - rows[0, c] <= limits[12] and rows[4, c] > 0)
            ):
                marks[2, c] = 0
                is_outward = True
