from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.beliefs.posteriors import gains
from shoal.checks import Evidence, check, largest_gain
from shoal.core.adversary_guarantees import BeliefGain
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.manifest import guarantee_from_dict
from shoal.core.prior_knowledge import BelievedRows


def beliefs_of(priors, *buckets):
    """Make the witness from lists of priors, one list a bucket."""
    bucket = np.repeat(np.arange(len(buckets)), [len(rows) for rows in buckets])
    prior = np.array([row for rows in buckets for row in rows], dtype=np.int64)
    return BelievedRows.of_pairs(bucket, prior, np.array(priors, dtype=float))


def judge(buckets, beliefs, **parameters):
    evidence = Evidence(buckets, buckets.sizes, witnesses={"beliefs": beliefs})
    return check(BeliefGain(**parameters), evidence)


def test_bucket_that_says_what_was_believed_gives_no_gain(buckets_of):
    buckets = buckets_of(["cold", "cold", "flu"], ["flu", "cold", "cold"])
    verdict = judge(buckets, beliefs_of([[2 / 3, 1 / 3]], [0] * 3, [0] * 3), t=0)
    assert verdict.holds
    assert not verdict.is_partial
    assert verdict.reached == {"t": "0"}


def test_gain_is_the_distance_from_the_omega_estimate(buckets_of):
    buckets = buckets_of(["cold", "flu"], ["cold", "flu"])
    beliefs = beliefs_of([[0.5, 0.5], [0.9, 0.1]], [0, 1], [0, 0])
    # The first row: 0.5 / 1.4 to 0.5 / 0.6 is 0.3 to 0.7; the second: 0.9 / 1.4 to 0.1 / 0.6.
    middle = (0.4, 0.6)
    divergence = (
        sum(-p * math.log2(p) for p in middle)
        - (1 + sum(-p * math.log2(p) for p in (0.3, 0.7))) / 2
    )
    assert largest_gain(buckets, beliefs) == pytest.approx(math.sqrt(divergence))
    verdict = judge(buckets, beliefs, t=0.1)
    assert (verdict.holds, verdict.n_failing, verdict.n_buckets) == (False, 1, 2)
    assert 0 <= float(verdict.reached["t"]) - math.sqrt(divergence) <= 1e-6


def test_tie_at_the_bound_holds_and_is_what_is_reached(buckets_of):
    buckets = buckets_of(["cold", "cold"])
    beliefs = beliefs_of([[0.0]], [0, 0])
    # She thought of values that nobody has, and of nothing else: all that she believed is lost.
    assert judge(buckets, beliefs, t=1).holds
    verdict = judge(buckets, beliefs, t="0.999999")
    assert not verdict.holds
    assert verdict.reached == {"t": "1"}


def test_bound_that_holds_is_never_below_what_is_reached(buckets_of):
    buckets = buckets_of(["cold", "flu"])
    beliefs = beliefs_of([[0.5, 0.5], [0.9, 0.1]], [0, 1])
    gain = largest_gain(buckets, beliefs)
    verdict = judge(buckets, beliefs, t=Fraction(gain))
    assert verdict.holds
    assert Fraction(verdict.reached["t"]) <= Fraction(gain)


def test_without_the_witness_nothing_is_checked(buckets_of):
    verdict = check(BeliefGain(t=0), Evidence.of_buckets(buckets_of(["cold"])))
    assert verdict.holds
    assert verdict.is_partial
    assert "not given" in verdict.detail
    assert json.dumps(verdict.to_dict())


def test_release_without_buckets_reaches_nothing():
    domain = Domain.of_texts("disease", ["cold"])
    none = np.empty(0, dtype=np.int64)
    buckets = Buckets(0, none, none, none, domain)
    verdict = judge(buckets, BelievedRows(none, none, none, np.ones((1, 1))), t=0)
    assert verdict.holds
    assert verdict.reached == {}


def test_witness_of_another_kind_is_refused(buckets_of):
    with pytest.raises(ParameterError, match="must be BelievedRows, not a dict"):
        judge(buckets_of(["cold"]), {}, t=1)


@pytest.mark.parametrize(
    ("beliefs", "fact"),
    [
        (beliefs_of([[0.5, 0.5]], [0]), "as many rows with a prior"),
        (beliefs_of([[0.5, 0.5]], [0, 0], [0]), "as many rows with a prior"),
        (beliefs_of([[0.5, 0.3, 0.2]], [0, 0]), "about the 2 values"),
        (beliefs_of([[0.7, 0.7]], [0, 0]), "add up to at most 1"),
        (beliefs_of([[1.5, -0.5]], [0, 0]), "at least 0"),
        (beliefs_of([[math.nan, 0.5]], [0, 0]), "at least 0"),
    ],
)
def test_witness_of_another_release_is_refused(buckets_of, beliefs, fact):
    with pytest.raises(DataError, match=fact):
        judge(buckets_of(["cold", "flu"]), beliefs, t=1)


def test_release_without_sensitive_values_is_refused():
    with pytest.raises(ParameterError, match="has none"):
        check(BeliefGain(t=1), Evidence(None, np.array([2])))


def test_guarantee_states_its_parameters_and_is_read_again():
    guarantee = BeliefGain(t=0.2, bandwidth="1/3")
    assert guarantee.to_dict() == {
        "name": "bounded belief gain",
        "t": "0.2",
        "bandwidth": "1/3",
    }
    assert guarantee_from_dict(guarantee.to_dict()) == guarantee
    assert "further than 0.2" in guarantee.statement
    assert "bandwidth 1/3" in guarantee.statement
    assert BeliefGain(t=1).bandwidth == Fraction(3, 10)


@pytest.mark.parametrize("parameters", [{"t": 1.5}, {"t": -1}, {"t": 0.5, "bandwidth": 2}])
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError, match="must lie between 0 and 1"):
        BeliefGain(**parameters)


@st.composite
def witnessed(draw):
    n_values = draw(st.integers(1, 4))
    weights = st.lists(st.sampled_from([0, 1, 3, 50]), min_size=n_values, max_size=n_values)
    drawn = draw(st.lists(weights.filter(any), min_size=1, max_size=3))
    priors = [[one / sum(row) * draw(st.sampled_from([1, 0.5])) for one in row] for row in drawn]
    row = st.tuples(st.integers(0, len(priors) - 1), st.integers(0, n_values - 1))
    rows = st.lists(row, min_size=1, max_size=8)
    return n_values, priors, draw(st.lists(rows, min_size=1, max_size=4))


@settings(max_examples=300, deadline=None)
@given(witnessed())
def test_checker_and_attack_which_share_no_code_agree(drawn):
    n_values, priors, rows_by_bucket = drawn
    bucket = np.array([i for i, rows in enumerate(rows_by_bucket) for _ in rows])
    value = np.array([value for rows in rows_by_bucket for _, value in rows])
    domain = Domain.of_texts("disease", [f"v{i}" for i in range(n_values)])
    buckets = Buckets.of_pairs(bucket, value, domain)
    beliefs = beliefs_of(priors, *([prior for prior, _ in rows] for rows in rows_by_bucket))
    found = gains(buckets, beliefs, max_steps=0).distance
    assert largest_gain(buckets, beliefs) == pytest.approx(found.max(), abs=1e-6)
    t = draw_between(found)
    failing = {int(beliefs.bucket[entry]) for entry in np.flatnonzero(found > t)}
    assert judge(buckets, beliefs, t=t).n_failing == len(failing)


def draw_between(distances):
    """Give a bound that no distance is near to."""
    edges = np.unique(np.round(np.concatenate([[0.0, 1.0], distances]), 5))
    gaps = np.diff(edges)
    place = int(np.argmax(gaps))
    return float((edges[place] + edges[place + 1]) / 2)
