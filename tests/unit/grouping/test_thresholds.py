from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.domain import Domain
from shoal.core.exact import highest_at_most
from shoal.core.guarantees import EntropyDiversity, FrequencyDiversity, Guarantee, TCloseness
from shoal.grouping import thresholds as module
from shoal.grouping._kernels import Rules
from shoal.grouping.thresholds import (
    CloseCalls,
    Limits,
    distance_between,
    is_entropy_at_least,
    lowest_at_least,
)
from shoal.hierarchies.hierarchy import Hierarchy

shares = st.one_of(
    st.fractions(0, 1), st.fractions(0, 1, max_denominator=40), st.floats(0, 1).map(Fraction)
)


@given(shares, st.integers(1, 40))
def test_neighbours_among_small_fractions(share, limit):
    small = {Fraction(top, bottom) for bottom in range(1, limit + 1) for top in range(bottom + 1)}
    assert highest_at_most(share, limit) == max(value for value in small if value <= share)
    assert lowest_at_least(share, limit) == min(value for value in small if value >= share)


@given(st.lists(st.integers(1, 60), min_size=1, max_size=8), st.fractions(1, 9, max_denominator=30))
def test_entropy_is_compared_exactly(counts, ell):
    n_rows = sum(counts)
    power = Fraction(n_rows**n_rows, math.prod(count**count for count in counts))
    assert is_entropy_at_least(counts, ell) == (power >= ell**n_rows)


def test_equal_counts_are_a_tie_however_many_they_are():
    assert is_entropy_at_least([10**12] * 5, Fraction(5))
    assert not is_entropy_at_least([10**12] * 5, Fraction(5) + Fraction(1, 10**40))


def test_large_counts_that_nearly_tie_are_told_apart():
    counts = [10**9, 10**9, 10**9 - 1]
    assert not is_entropy_at_least(counts, Fraction(3))
    assert is_entropy_at_least(counts, 3 - Fraction(1, 10**15))


ROWS = [["v0", "x"], ["v1", "x"], ["v2", "y"], ["v3", "y"], ["v4", "y"]]
DOMAIN = Domain.of_texts("s", ["v0", "v1", "v2", "v3", "v4"])
TREE = Hierarchy.from_rows(ROWS).over(DOMAIN)
LEAVES = TREE.position[np.arange(5)]


def limits_of(guarantee: Guarantee, reference: Sequence[int]) -> Limits:
    return Limits.of_guarantees([guarantee], np.array(reference), TREE, LEAVES)


def keeps(limits: Limits, guarantee: Guarantee, counts: Sequence[int]) -> bool:
    held = [place for place, count in enumerate(counts) if count]
    limits.value[: len(held)] = held
    limits.count[: len(held)] = [counts[place] for place in held]
    rules = Rules(limits, CloseCalls.of_guarantees(limits, [guarantee]))
    return rules.keep(len(held), sum(counts))


@st.composite
def buckets(draw):
    reference = draw(st.lists(st.integers(1, 30), min_size=5, max_size=5))
    counts = [draw(st.integers(0, most)) for most in reference]
    counts[0] = counts[0] or 1
    return reference, counts


@given(buckets(), st.sampled_from(["equal", "ordered", "hierarchical"]))
def test_a_distance_of_exactly_t_is_kept_and_any_less_is_not(bucket, distance):
    reference, counts = bucket
    t = distance_between(limits_of(TCloseness(t=0, distance=distance), reference), counts)
    guarantee = TCloseness(t=t, distance=distance)
    assert keeps(limits_of(guarantee, reference), guarantee, counts)
    if t > 0:
        guarantee = TCloseness(t=t - t / 10**20, distance=distance)
        assert not keeps(limits_of(guarantee, reference), guarantee, counts)


@given(buckets(), st.sampled_from(["equal", "ordered", "hierarchical"]))
@settings(max_examples=50)
def test_tables_beyond_exact_floats_are_decided_exactly_too(bucket, distance):
    # Counts so large that products of them are no longer exact floats.
    reference, counts = ([number * 10_000_019 for number in side] for side in bucket)
    t = distance_between(limits_of(TCloseness(t=0, distance=distance), reference), counts)
    guarantee = TCloseness(t=t, distance=distance)
    assert keeps(limits_of(guarantee, reference), guarantee, counts)
    if t > 0:
        guarantee = TCloseness(t=t - t / 10**20, distance=distance)
        assert not keeps(limits_of(guarantee, reference), guarantee, counts)


def test_the_hierarchical_distance_weighs_levels():
    guarantee = TCloseness(t=0, distance="hierarchical")
    limits = limits_of(guarantee, [1, 1, 1, 1, 1])
    # From v0 to v1 is half the height, from v0 to v2 all of it.
    assert distance_between(limits, [1, 0, 0, 0, 0]) == Fraction(1, 5) / 2 + Fraction(3, 5)


def test_shares_are_compared_exactly_however_long_the_threshold():
    guarantee = FrequencyDiversity(ell="2.00000000000000000000001")
    assert not keeps(limits_of(guarantee, [5, 5, 5, 5, 5]), guarantee, [1, 1, 0, 0, 0])
    guarantee = FrequencyDiversity(ell="1.99999999999999999999999")
    assert keeps(limits_of(guarantee, [5, 5, 5, 5, 5]), guarantee, [1, 1, 0, 0, 0])


@pytest.mark.parametrize("table", [2**16, 3])
def test_entropy_does_not_depend_on_the_table_of_logarithms(monkeypatch, table):
    monkeypatch.setattr(module, "_LARGEST_TABLE", table)
    guarantee = EntropyDiversity(ell=2)
    reference = [9, 9, 9, 9, 9]
    assert keeps(limits_of(guarantee, reference), guarantee, [7, 7, 0, 0, 0])
    assert not keeps(limits_of(guarantee, reference), guarantee, [8, 7, 0, 0, 0])
    assert keeps(limits_of(guarantee, reference), guarantee, [8, 7, 1, 0, 0])
