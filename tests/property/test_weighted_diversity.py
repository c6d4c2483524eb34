"""Counting assignments against going through all of them; weighing and its checker agree."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.checks import Evidence, Witness, check, largest_posterior
from shoal.core.adversary_guarantees import WeightedMatchingDiversity
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.progress import TooMuchWork, Work
from shoal.injector.matching import posteriors_of_bucket

VALUES = ("a", "b", "c", "d")
BUCKETS = st.lists(
    st.tuples(st.sampled_from(VALUES), st.frozensets(st.sampled_from(VALUES), max_size=3)),
    min_size=1,
    max_size=6,
)


def slow_posteriors(rows):
    """Give for each row the share of all assignments that give it each value; None for none."""
    values = [value for value, _ in rows]
    counts = [Counter() for _ in rows]
    n_all = 0
    for order in set(permutations(values)):
        if all(value not in forbidden for value, (_, forbidden) in zip(order, rows, strict=True)):
            n_all += 1
            for count, value in zip(counts, order, strict=True):
                count[value] += 1
    if not n_all:
        return None
    return [{v: Fraction(count[v], n_all) for v in set(values)} for count in counts]


def arrays_of(rows):
    sets = np.array([[v in forbidden for v in VALUES] for _, forbidden in rows])
    value, count = np.unique([VALUES.index(v) for v, _ in rows], return_counts=True)
    return np.arange(len(rows)), np.ones(len(rows), dtype=np.int64), value, count, sets


@given(BUCKETS)
@settings(max_examples=300)
def test_posteriors_are_shares_of_all_assignments(rows):
    which, ones, value, count, sets = arrays_of(rows)
    found = posteriors_of_bucket(which, ones, value, count, sets, Work())
    slow = slow_posteriors(rows)
    if slow is None:
        assert found is None
        return
    assert found == [[shares[VALUES[code]] for code in value.tolist()] for shares in slow]


@given(BUCKETS, st.integers(1, 4))
@settings(max_examples=300)
def test_the_checker_decides_by_all_assignments(rows, ell):
    which, ones, value, count, sets = arrays_of(rows)
    domain = Domain.of_texts("s", VALUES)
    buckets = Buckets.of_pairs(np.zeros(len(value), dtype=np.int64), value, domain, count)
    witness = Witness(np.zeros(len(rows), dtype=np.int64), which, ones, sets)
    slow = slow_posteriors(rows)
    worst = Fraction(1) if slow is None else max(max(one.values()) for one in slow)
    evidence = Evidence(buckets, buckets.sizes, witnesses={"forbidden": witness})
    verdict = check(WeightedMatchingDiversity(ell=ell), evidence)
    assert verdict.holds == (worst <= Fraction(1, ell))
    assert verdict.reached == {"ell": int(1 / worst)}
    assert Fraction(largest_posterior(buckets, witness)) == worst


@given(st.lists(BUCKETS, min_size=1, max_size=4))
@settings(max_examples=50)
def test_several_buckets_are_checked_each_by_itself(parts):
    domain = Domain.of_texts("s", VALUES)
    bucket = np.repeat(np.arange(len(parts)), [len(rows) for rows in parts])
    rows = [row for part in parts for row in part]
    codes = np.array([VALUES.index(value) for value, _ in rows])
    buckets = Buckets.of_pairs(bucket, codes, domain)
    sets = np.array([[v in forbidden for v in VALUES] for _, forbidden in rows])
    ones = np.ones(len(rows), dtype=np.int64)
    # In any order: the witness says of each kind of row which bucket it is in.
    order = np.argsort(codes, kind="stable")
    witness = Witness(bucket[order], order, ones, sets)
    slow = [slow_posteriors(part) for part in parts]
    worst = [Fraction(1) if one is None else max(max(p.values()) for p in one) for one in slow]
    evidence = Evidence(buckets, buckets.sizes, witnesses={"forbidden": witness})
    verdict = check(WeightedMatchingDiversity(ell=2), evidence)
    assert verdict.n_failing == sum(one > Fraction(1, 2) for one in worst)


def test_one_value_may_take_most_of_a_bucket_that_is_matching_diverse():
    """Ten rows with two valid values each; one of them in nine of ten assignments."""
    rows = [("a", frozenset())] * 9 + [("b", frozenset())]
    which, ones, value, count, sets = arrays_of(rows)
    found = posteriors_of_bucket(which, ones, value, count, sets, Work())
    assert found[0] == [Fraction(9, 10), Fraction(1, 10)]


def test_large_buckets_are_counted_by_their_classes():
    """Sixty rows: far more assignments than anybody could go through, and few states."""
    sets = np.array([[False] * 4, [True, False, False, False]])
    which, n_rows = np.array([0, 1]), np.array([40, 20])
    value, count = np.arange(4), np.full(4, 15)
    work = Work(100_000)
    found = posteriors_of_bucket(which, n_rows, value, count, sets, work)
    # The 20 rows share the three other values alike; the 15 copies of the first go to the 40.
    assert found[1] == [0, Fraction(1, 3), Fraction(1, 3), Fraction(1, 3)]
    assert found[0][0] == Fraction(15, 40)
    domain = Domain.of_texts("s", VALUES)
    buckets = Buckets.of_pairs(np.zeros(4, dtype=np.int64), value, domain, count)
    witness = Witness(np.zeros(2, dtype=np.int64), which, n_rows, sets)
    assert Fraction(largest_posterior(buckets, witness, Work(1_000_000))) == Fraction(3, 8)


def test_what_is_too_large_is_not_answered():
    rng = np.random.default_rng(1)
    sets = rng.random((12, 12)) < 0.3
    which, n_rows = np.arange(12), np.full(12, 4)
    value, count = np.arange(12), np.full(12, 4)
    with pytest.raises(TooMuchWork):
        posteriors_of_bucket(which, n_rows, value, count, sets, Work(1_000_000))
    domain = Domain.of_texts("s", [f"v{n:02}" for n in range(12)])
    buckets = Buckets.of_pairs(np.zeros(12, dtype=np.int64), value, domain, count)
    witness = Witness(np.zeros(12, dtype=np.int64), which, n_rows, sets)
    with pytest.raises(TooMuchWork):
        largest_posterior(buckets, witness, Work(1_000_000))


def test_without_the_witness_shares_are_checked():
    domain = Domain.of_texts("s", VALUES)
    for counts, holds in (([2, 2, 2], True), ([4, 1, 1], False)):
        buckets = Buckets.of_pairs(np.zeros(3, np.int64), np.arange(3), domain, np.array(counts))
        verdict = check(WeightedMatchingDiversity(ell=2), Evidence.of_buckets(buckets))
        assert (verdict.holds, verdict.is_partial) == (holds, True)
