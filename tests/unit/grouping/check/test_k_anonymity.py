from fractions import Fraction

import numpy as np
import pytest

from shoal.checks import (
    Evidence,
    anonymity,
    check,
    largest_protected_share,
    largest_share,
    smallest_bucket,
)
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import AlphaK, BucketSize, KAnonymity, MConfidentiality

GUARANTEES = [KAnonymity, BucketSize]
FUNCTIONS = [anonymity, smallest_bucket]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_the_smallest_bucket_decides(guarantee):
    evidence = Evidence(None, np.array([7, 4, 5, 4]))
    assert check(guarantee(k=4), evidence).holds
    verdict = check(guarantee(k=5), evidence)
    assert not verdict.holds
    assert verdict.n_failing == 2
    assert verdict.n_buckets == 4
    assert verdict.reached == {"k": 4}
    assert verdict.detail == "2 of 4 buckets hold fewer than 5 rows"


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_moving_one_row_flips_the_verdict(guarantee):
    assert check(guarantee(k=3), Evidence(None, np.array([3, 3]))).holds
    assert not check(guarantee(k=3), Evidence(None, np.array([2, 4]))).holds


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_one_row_is_1_anonymous(guarantee):
    assert check(guarantee(k=1), Evidence(None, np.array([1]))).reached == {"k": 1}


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_release_without_rows_keeps_everything_and_reaches_nothing(guarantee):
    verdict = check(guarantee(k=5), Evidence(None, np.array([], dtype=np.int64)))
    assert verdict.holds
    assert verdict.reached == {}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_plain_lists_are_taken(function):
    assert function([9, 3, 10**17]) == 3


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("sizes", [[], [3, 0], [3, -1], [2.5], [[1, 2]]])
def test_sizes_that_are_none_are_refused(function, sizes):
    with pytest.raises(DataError):
        function(sizes)


def test_where_the_rows_of_a_bucket_differ_those_that_look_alike_are_counted():
    evidence = Evidence(None, np.array([7, 4]), alike=np.array([1, 5]))
    verdict = check(KAnonymity(k=2), evidence)
    assert verdict.reached == {"k": 1}
    assert verdict.detail == (
        "1 of 2 buckets hold a combination of quasi-identifiers that fewer than 2 rows share"
    )
    assert check(BucketSize(k=4), evidence).holds


@pytest.mark.parametrize("alike", [[3], [3, 0], [3, 3, 3]])
def test_rows_that_look_alike_are_counted_for_every_bucket(alike):
    with pytest.raises(DataError):
        Evidence(None, np.array([7, 4]), alike=np.array(alike))


class TestAlphaK:
    def test_the_share_and_the_size_both_decide(self, inpatients):
        evidence = Evidence.of_buckets(inpatients)
        assert check(AlphaK(alpha=0.5, k=4), evidence).holds
        assert check(AlphaK(alpha=0.5, k=5), evidence).n_failing == 3
        verdict = check(AlphaK(alpha=0.49, k=4), evidence)
        assert verdict.n_failing == 3
        assert verdict.reached == {"alpha": "0.5", "k": 4}

    def test_a_bucket_that_fails_twice_is_counted_once(self, buckets_of):
        verdict = check(
            AlphaK(alpha=0.5, k=3), Evidence.of_buckets(buckets_of(["flu", "flu"], ["a", "b", "c"]))
        )
        assert verdict.n_failing == 1

    def test_protected_values_count_each_for_itself(self, inpatients):
        assert largest_share(inpatients, protect=["heart", "viral"]) == Fraction(1, 2)
        assert largest_share(inpatients, protect=["heart"]) == Fraction(1, 4)
        verdict = check(AlphaK(alpha=0.25, k=4, protect=["heart"]), Evidence.of_buckets(inpatients))
        assert verdict.holds

    def test_protected_values_that_do_not_occur_have_no_share(self, inpatients):
        assert largest_share(inpatients, protect=["gout", None]) == 0
        guarantee = AlphaK(alpha="1/1000000", k=1, protect=["gout"])
        assert check(guarantee, Evidence.of_buckets(inpatients)).holds

    def test_one_text_is_no_list_of_protected_values(self, inpatients):
        with pytest.raises(ParameterError, match="list of texts"):
            largest_share(inpatients, protect="cancer")

    def test_the_missing_value_can_be_protected(self, buckets_of):
        buckets = buckets_of([None, "flu", "flu"], [None, None, "flu"])
        assert largest_share(buckets, protect=[None]) == Fraction(2, 3)

    @pytest.mark.parametrize("alpha", ["1/3", "0.3333333333333333333333"])
    def test_a_tie_holds_and_a_hair_less_fails(self, buckets_of, alpha):
        evidence = Evidence.of_buckets(buckets_of(["a", "b", "c"], ["b", "c", "d"]))
        assert check(AlphaK(alpha=alpha, k=1), evidence).holds is (alpha == "1/3")

    def test_moving_one_row_flips_the_verdict(self, buckets_of):
        guarantee = AlphaK(alpha=0.5, k=2)
        assert check(guarantee, Evidence.of_buckets(buckets_of(["a", "b"], ["a", "b", "c"]))).holds
        moved = buckets_of(["a", "b", "a"], ["b", "c"])
        assert not check(guarantee, Evidence.of_buckets(moved)).holds

    def test_huge_counts_are_exact(self, counts_of):
        buckets = counts_of([[10**17 + 1, 10**17], [10**17, 10**17]])
        assert largest_share(buckets) == Fraction(10**17 + 1, 2 * 10**17 + 1)
        assert check(AlphaK(alpha=0.5, k=2), Evidence.of_buckets(buckets)).n_failing == 1


class TestMConfidentiality:
    def test_the_share_and_the_size_both_decide(self, inpatients):
        evidence = Evidence.of_buckets(inpatients)
        assert check(MConfidentiality(m=2, k=4, protect=["cancer"]), evidence).holds
        assert check(MConfidentiality(m=2, k=5, protect=["cancer"]), evidence).n_failing == 3
        verdict = check(MConfidentiality(m=3, k=4, protect=["cancer"]), evidence)
        assert verdict.n_failing == 2
        assert verdict.reached == {"m": 2, "k": 4}

    def test_protected_values_count_as_one(self, inpatients):
        assert largest_protected_share(inpatients, protect=["heart", "viral"]) == Fraction(3, 4)
        verdict = check(
            MConfidentiality(m=2, k=4, protect=["heart", "viral"]), Evidence.of_buckets(inpatients)
        )
        assert verdict.n_failing == 1
        assert verdict.reached["m"] == 1

    def test_values_that_were_distorted_away_have_no_share(self, inpatients):
        verdict = check(
            MConfidentiality(m=9, k=4, protect=["HIV"]), Evidence.of_buckets(inpatients)
        )
        assert verdict.holds
        assert verdict.reached == {"k": 4}

    def test_the_missing_value_can_be_protected(self, buckets_of):
        buckets = buckets_of([None, "flu", "flu"], [None, None, "flu"])
        assert largest_protected_share(buckets, protect=[None]) == Fraction(2, 3)

    def test_a_tie_holds_and_one_row_more_fails(self, buckets_of):
        guarantee = MConfidentiality(m=3, k=2, protect=["a"])
        assert check(guarantee, Evidence.of_buckets(buckets_of(["a", "b", "c"], ["b", "b"]))).holds
        assert not check(
            guarantee, Evidence.of_buckets(buckets_of(["a", "b"], ["b", "b", "c"]))
        ).holds

    @pytest.mark.parametrize("given", [{"m": 1, "k": 2}, {"m": 2, "k": 0}, {"m": 2.5, "k": 2}])
    def test_parameters_out_of_range_are_refused(self, given):
        with pytest.raises(ParameterError):
            MConfidentiality(protect=["a"], **given)

    def test_something_must_be_protected(self):
        with pytest.raises(
            ParameterError, match="protect must be a list of at least one sensitive value"
        ):
            MConfidentiality(m=2, k=2, protect=[])
