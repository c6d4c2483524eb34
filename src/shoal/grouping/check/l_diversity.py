"""l-diversity: the sensitive values of every bucket are well represented.

Four definitions of "well represented" are checked. With counts r_1 >= r_2 >= ... >= r_m of the
values in a bucket of n rows:

distinct
    m >= ell.
frequency
    r_1 <= n / ell; with protected values, all of them together make up at most n / ell.
entropy
    the sum of -(r_i / n) log(r_i / n) is at least log(ell).
recursive
    r_1 < c (r_ell + r_(ell + 1) + ... + r_m), which no bucket with fewer than ell values satisfies.

Entropy is decided exactly although logarithms are irrational. The entropy is at least log(p / q) if

    n^n q^n >= p^n r_1^r_1 ... r_m^r_m.

Floats decide every bucket that is not close to a tie, and integers every bucket whose counts are
equal. For the rest, factorization decides whether both sides are the same number; if not,
logarithms with as many digits as needed decide which is larger. So no power is ever computed,
however many rows there are.

References
----------
A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Definitions 4.1 and 4.2
(entropy, recursive) and Section 4 (distinct).
X. Xiao, Y. Tao, Anatomy: simple and effective privacy preservation, 2006, Definition 2 (frequency).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Context, Decimal, localcontext
from fractions import Fraction
from functools import singledispatch

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, group
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text, greatest, is_at_most, whole
from shoal.core.guarantees import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    RecursiveDiversity,
)
from shoal.core.progress import Work
from shoal.core.verdict import (
    Evidence,
    Verdict,
    confirm_occupied,
    count_values,
    largest_counts,
    mark_protected,
    sum_counts,
)

_DECIMALS = 10**6
_FIRST_PRECISION = 40


def falls_short(buckets: Buckets, ell: Fraction, work: Work | None = None) -> Flags:
    """Return which buckets have an entropy below log(ell).

    `TooMuchWork` is raised if too many buckets are close to a tie; by default, after 2e9
    operations.
    """
    work = work or Work()
    numerator, denominator = math.log(ell.numerator), math.log(ell.denominator)
    surplus = _entropies(buckets) - (numerator - denominator)
    fails: Flags = surplus < 0
    is_close = np.abs(surplus) <= _rounding_errors(buckets, numerator + denominator)
    is_even = _has_equal_counts(buckets)
    tied = np.flatnonzero(is_close & is_even)
    fails[tied] = count_values(buckets)[tied] < math.ceil(ell)
    uneven = np.flatnonzero(is_close & ~is_even)
    fails[uneven] = _fall_short_exactly(buckets, uneven, ell, work)
    return fails


def effective_numbers(buckets: Buckets) -> Floats:
    """Return the number of equal counts that would have the entropy of each bucket."""
    powers = np.exp(_entropies(buckets))
    return np.where(_has_equal_counts(buckets), count_values(buckets), powers)


def strongest(buckets: Buckets, work: Work | None = None) -> Fraction:
    """Return the largest ell, to six decimals, for which every bucket has enough entropy."""
    steps = round(float(effective_numbers(buckets).min()) * _DECIMALS)
    work = work or Work()
    while falls_short(buckets, Fraction(steps, _DECIMALS), work).any():
        work.spend(len(buckets.value))
        steps -= 1
    return Fraction(steps, _DECIMALS)


def has_entropy(counts: Sequence[int], ell: Fraction, work: Work | None = None) -> bool:
    """Decide whether the entropy of positive counts is at least log(ell), without rounding."""
    # Counts of 3, 3 and 6 have the same entropy as 1, 1 and 2.
    divisor = math.gcd(*counts)
    reduced = [number // divisor for number in counts]
    n_rows = sum(reduced)
    exponents = Counter({n_rows: n_rows})
    exponents[ell.denominator] += n_rows
    exponents[ell.numerator] -= n_rows
    for number in reduced:
        exponents[number] -= number
    precision = _FIRST_PRECISION
    work = work or Work()
    work.spend(len(exponents) * precision**2)
    sign = _sign_of_logarithm(exponents, precision)
    if sign == 0 and _is_one(exponents.items()):
        return True
    while sign == 0:
        precision *= 2
        work.spend(len(exponents) * precision**2)
        sign = _sign_of_logarithm(exponents, precision)
    return sign > 0


def _entropies(buckets: Buckets) -> Floats:
    counts = buckets.count.astype(np.float64)
    sizes = buckets.sizes.astype(np.float64)
    sums: Floats = np.add.reduceat(counts * np.log(counts), buckets.starts)
    return np.log(sizes) - sums / sizes


def _rounding_errors(buckets: Buckets, log_terms: float) -> Floats:
    """Bound the rounding errors of the entropies and of the threshold.

    A sum of m floats is off by at most m epsilon of its terms' sum, and each term by a few epsilon.
    """
    scale = np.log(buckets.sizes) + log_terms + 1
    errors: Floats = 4 * np.finfo(np.float64).eps * (count_values(buckets) + 16) * scale
    return errors


def _has_equal_counts(buckets: Buckets) -> Flags:
    smallest = np.minimum.reduceat(buckets.count, buckets.starts)
    return np.asarray(smallest == largest_counts(buckets))


def _fall_short_exactly(buckets: Buckets, chosen: Codes, ell: Fraction, work: Work) -> Flags:
    """Decide the chosen buckets exactly, once for all that have the same counts."""
    fails = np.empty(len(chosen), dtype=bool)
    n_values = count_values(buckets)[chosen]
    for number in np.unique(n_values).tolist():
        is_member = n_values == number
        starts = buckets.starts[chosen[is_member]]
        counts = np.sort(buckets.count[starts[:, np.newaxis] + np.arange(number)], axis=1)
        distinct = np.unique(counts)
        columns = list(np.searchsorted(distinct, counts).T)
        first, inverse = group(columns, [len(distinct)] * number, len(counts))
        decided = np.array(
            [not has_entropy(profile, ell, work) for profile in counts[first].tolist()]
        )
        fails[is_member] = decided[inverse]
    return fails


def _is_one(powers: Iterable[tuple[int, int]]) -> bool:
    """Decide whether a product of powers is 1, by reducing it to coprime bases."""
    pending = list(powers)
    coprime: list[tuple[int, int]] = []
    while pending:
        base, exponent = pending.pop()
        if base == 1 or exponent == 0:
            continue
        for place, (other, other_exponent) in enumerate(coprime):
            divisor = math.gcd(base, other)
            if divisor > 1:
                del coprime[place]
                pending += [
                    (divisor, exponent + other_exponent),
                    (base // divisor, exponent),
                    (other // divisor, other_exponent),
                ]
                break
        else:
            coprime.append((base, exponent))
    return not coprime


def _sign_of_logarithm(exponents: Mapping[int, int], precision: int) -> int:
    """Return the sign of the logarithm of a product of powers; 0 if more digits are needed."""
    with localcontext(Context(prec=precision)):
        terms = [exponent * Decimal(base).ln() for base, exponent in exponents.items()]
        total = sum(terms, Decimal(0))
        # Logarithms are correctly rounded; a hundredfold margin covers products and sums.
        scale = sum(map(abs, terms), Decimal(1)) * (len(terms) + 1)
        if abs(total) <= scale.scaleb(3 - precision):
            return 0
    return 1 if total > 0 else -1


@singledispatch
def check(guarantee: Guarantee, evidence: Evidence) -> Verdict:
    """Check one of the four kinds of l-diversity.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1, 1]), np.array([0, 1, 0, 0, 2]), disease)
    >>> check(DistinctDiversity(ell=2), Evidence.of_buckets(buckets))
    Verdict(distinct l-diversity holds in all 2 buckets, reached ell=2)
    >>> check(FrequencyDiversity(ell=2), Evidence.of_buckets(buckets))
    Verdict(frequency l-diversity fails in 1 of 2 buckets, reached ell=1.5)
    """
    del evidence
    raise ParameterError(f"{guarantee.name} is not a kind of l-diversity.")


@check.register
def _check_distinct(guarantee: DistinctDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    return Verdict.of_failures(
        guarantee,
        count_values(buckets) < guarantee.ell,
        f"hold fewer than {guarantee.ell} different values",
        {"ell": distinct_diversity(buckets)} if buckets.n_buckets else {},
    )


def distinct_diversity(buckets: Buckets) -> int:
    """Return the largest ell such that every bucket holds ell different values.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> distinct_diversity(Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 0, 2]), disease))
    2
    """
    return int(count_values(confirm_occupied(buckets)).min())


@check.register
def _check_frequency(guarantee: FrequencyDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    frequent = _frequent_counts(buckets, guarantee.protect)
    reached = frequency_diversity(buckets, guarantee.protect) if buckets.n_buckets else None
    what = "the protected values" if guarantee.protect else "one value"
    return Verdict.of_failures(
        guarantee,
        ~is_at_most(frequent, buckets.sizes, 1 / guarantee.ell),
        f"have {what} in more than 1/{as_text(guarantee.ell)} of their rows",
        {} if reached is None else {"ell": as_text(reached)},
    )


def frequency_diversity(buckets: Buckets, protect: Sequence[str | None] = ()) -> Fraction | None:
    """Return the largest ell such that no value makes up more than 1/ell of a bucket.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    protect
        Values to be counted as one, while the others are unconstrained; None is the missing
        value. Default: none, so each value counts on its own.

    Returns
    -------
    The largest ell; None if no protected value occurs, so that every ell holds.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 0, 2]), disease)
    >>> frequency_diversity(buckets), frequency_diversity(buckets, protect=["gout"])
    (Fraction(3, 2), Fraction(3, 1))
    """
    frequent = _frequent_counts(confirm_occupied(buckets), protect)
    share = greatest(frequent, buckets.sizes)
    return 1 / share if share else None


def _frequent_counts(buckets: Buckets, protect: Sequence[str | None]) -> Counts:
    if not protect:
        return largest_counts(buckets)
    return sum_counts(buckets, mark_protected(buckets, protect))


@check.register
def _check_entropy(guarantee: EntropyDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    fails = falls_short(buckets, guarantee.ell, evidence.work)
    reached = strongest(buckets, evidence.work) if buckets.n_buckets else guarantee.ell
    # The reported ell is rounded down to six decimals; the guarantee may state more of them.
    if not fails.any():
        reached = max(reached, guarantee.ell)
    return Verdict.of_failures(
        guarantee,
        fails,
        f"have less entropy than log({as_text(guarantee.ell)})",
        {"ell": as_text(reached)} if buckets.n_buckets else {},
    )


def entropy_diversity(buckets: Buckets) -> float:
    """Return the largest ell such that the entropy of every bucket is at least log(ell).

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.

    Returns
    -------
    The largest ell as a float; it is seldom rational.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> entropy_diversity(Buckets.of_pairs(np.array([0, 0, 0]), np.array([0, 1, 2]), disease))
    3.0
    """
    return float(effective_numbers(confirm_occupied(buckets)).min())


@check.register
def _check_recursive(guarantee: RecursiveDiversity, evidence: Evidence) -> Verdict:
    buckets = evidence.buckets_for(guarantee)
    largest, tails = largest_counts(buckets), _tails(buckets, guarantee.ell)
    reached = greatest(largest, tails) if buckets.n_buckets and tails.all() else None
    return Verdict.of_failures(
        guarantee,
        # r_1 >= c * tail, without dividing by a tail that may be 0.
        is_at_most(tails, largest, 1 / guarantee.c),
        f"have at least {as_text(guarantee.c)} times as many rows with the most frequent value as "
        f"with all values from rank {guarantee.ell} on",
        {} if reached is None else {"ell": guarantee.ell, "c_above": as_text(reached)},
    )


def recursive_diversity(buckets: Buckets, ell: int) -> Fraction | None:
    """Return the bound that c must exceed for recursive (c, ell)-diversity.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    ell
        The rank of the first count of the tail, at least 2.

    Returns
    -------
    The largest r_1 / (r_ell + ... + r_m) of any bucket. The inequality is strict: every c above
    this holds, but this itself does not. None if a bucket has fewer than ell values, so that no c
    holds.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 0, 0]), np.array([0, 0, 1, 2]), disease)
    >>> recursive_diversity(buckets, ell=2), recursive_diversity(buckets, ell=3)
    (Fraction(1, 1), Fraction(2, 1))
    """
    tails = _tails(confirm_occupied(buckets), whole("ell", ell, least=2))
    return greatest(largest_counts(buckets), tails) if tails.all() else None


def _tails(buckets: Buckets, ell: int) -> Counts:
    """Return r_ell + ... + r_m of each bucket."""
    rank = np.arange(len(buckets.bucket)) - buckets.starts[buckets.bucket]
    counts = _descending_counts(buckets.bucket, buckets.count)
    return np.add.reduceat(np.where(rank >= ell - 1, counts, 0), buckets.starts)


def _descending_counts(bucket: Codes, count: Counts) -> Counts:
    """Sort counts in descending order within each bucket."""
    span = int(count.max(initial=0)) + 1
    if (int(bucket.max(initial=0)) + 1) * span >= 2**63:
        return count[np.lexsort((-count, bucket))]
    # Sorting numbers is several times faster than sorting pairs.
    key = bucket * np.int64(span) + (span - 1 - count)
    key.sort(kind="stable")
    return span - 1 - key % span
