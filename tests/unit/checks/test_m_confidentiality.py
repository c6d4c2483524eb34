from fractions import Fraction

import pytest

from shoal.checks import Evidence, check, largest_protected_share
from shoal.core.errors import ParameterError
from shoal.core.guarantees import MConfidentiality


def test_the_share_and_the_size_both_decide(inpatients):
    evidence = Evidence.of_buckets(inpatients)
    assert check(MConfidentiality(m=2, k=4, protect=["cancer"]), evidence).holds
    assert check(MConfidentiality(m=2, k=5, protect=["cancer"]), evidence).n_failing == 3
    verdict = check(MConfidentiality(m=3, k=4, protect=["cancer"]), evidence)
    assert verdict.n_failing == 2
    assert verdict.reached == {"m": 2, "k": 4}


def test_protected_values_count_as_one(inpatients):
    assert largest_protected_share(inpatients, protect=["heart", "viral"]) == Fraction(3, 4)
    verdict = check(
        MConfidentiality(m=2, k=4, protect=["heart", "viral"]), Evidence.of_buckets(inpatients)
    )
    assert verdict.n_failing == 1
    assert verdict.reached["m"] == 1


def test_values_that_were_distorted_away_have_no_share(inpatients):
    verdict = check(MConfidentiality(m=9, k=4, protect=["HIV"]), Evidence.of_buckets(inpatients))
    assert verdict.holds
    assert verdict.reached == {"k": 4}


def test_the_missing_value_can_be_protected(buckets_of):
    buckets = buckets_of([None, "flu", "flu"], [None, None, "flu"])
    assert largest_protected_share(buckets, protect=[None]) == Fraction(2, 3)


def test_a_tie_holds_and_one_row_more_fails(buckets_of):
    guarantee = MConfidentiality(m=3, k=2, protect=["a"])
    assert check(guarantee, Evidence.of_buckets(buckets_of(["a", "b", "c"], ["b", "b"]))).holds
    assert not check(guarantee, Evidence.of_buckets(buckets_of(["a", "b"], ["b", "b", "c"]))).holds


@pytest.mark.parametrize("given", [{"m": 1, "k": 2}, {"m": 2, "k": 0}, {"m": 2.5, "k": 2}])
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(ParameterError):
        MConfidentiality(protect=["a"], **given)


def test_something_must_be_protected():
    with pytest.raises(ParameterError, match="needs the values"):
        MConfidentiality(m=2, k=2, protect=[])
