from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.beliefs.bound import merge_until
from shoal.checks import largest_gain
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.prior_knowledge import BelievedRows


@st.composite
def buckets_and_beliefs(draw):
    n_values, n_buckets = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    random = Random(draw(st.integers(0, 2**32 - 1)))
    weights = [[random.choice([0, 1, 1, 3, 9]) for _ in range(n_values)] for _ in range(3)]
    priors = np.array([row if any(row) else [1] * n_values for row in weights], dtype=float)
    priors /= priors.sum(axis=1, keepdims=True)
    bucket = np.array([i for i in range(n_buckets) for _ in range(random.randint(1, 5))])
    prior = np.array([random.randrange(3) for _ in bucket])
    value = np.array([random.randrange(n_values) for _ in bucket])
    domain = Domain.of_texts("disease", [f"v{i}" for i in range(n_values)])
    return Buckets.of_pairs(bucket, value, domain), BelievedRows.of_pairs(bucket, prior, priors)


def merged(buckets, occupants, target):
    return (
        Buckets.of_pairs(target[buckets.bucket], buckets.value, buckets.domain, buckets.count),
        BelievedRows.of_pairs(
            target[occupants.bucket], occupants.prior, occupants.priors, occupants.count
        ),
    )


@settings(max_examples=300, deadline=None)
@given(buckets_and_beliefs(), st.sampled_from(["0.1", "0.3", "0.6", "1"]), st.integers(1, 9))
def test_merged_buckets_keep_the_bound_and_no_other_merge_was_needed(drawn, t, n_candidates):
    buckets, occupants = drawn
    one = np.zeros(buckets.n_buckets, dtype=np.int64)
    try:
        target = merge_until(buckets, occupants, t, n_candidates=n_candidates)
    except InfeasibleError as error:
        assert largest_gain(*merged(buckets, occupants, one)) > float(t)
        best = error.best["t"]
        target = merge_until(buckets, occupants, best, n_candidates=n_candidates)
        assert largest_gain(*merged(buckets, occupants, target)) <= float(best) + 1e-6
        return
    first_of = [target.tolist().index(number) for number in range(int(target.max()) + 1)]
    assert first_of == sorted(first_of)
    assert largest_gain(*merged(buckets, occupants, target)) <= float(t) + 1e-6
    if largest_gain(buckets, occupants) <= float(t) - 1e-6:
        assert target.tolist() == list(range(buckets.n_buckets))


def skewed():
    """Two buckets of one value each, whose rows are believed to have either."""
    disease = Domain.of_texts("disease", ["cold", "flu"])
    buckets = Buckets.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]), disease)
    return buckets, BelievedRows.of_pairs(buckets.bucket.repeat(2), np.zeros(4, int), PRIOR)


PRIOR = np.array([[0.5, 0.5]])


def test_bound_that_not_even_the_whole_table_keeps_is_refused():
    buckets, _ = skewed()
    wrong = BelievedRows.of_pairs(
        buckets.bucket.repeat(2), np.zeros(4, int), np.array([[0.9, 0.1]])
    )
    with pytest.raises(InfeasibleError, match="No merging of buckets keeps") as caught:
        merge_until(buckets, wrong, 0.01)
    assert 0.01 < float(caught.value.best["t"]) < 1


@pytest.mark.parametrize("given_", [{"t": 2}, {"t": -1}, {"t": 0.5, "n_candidates": 0}])
def test_parameters_out_of_range_are_refused(given_):
    with pytest.raises(ParameterError, match="must"):
        merge_until(*skewed(), **given_)
