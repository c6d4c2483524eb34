from fractions import Fraction

import pytest

from shoal.checks import Evidence, check, largest_share
from shoal.core.errors import ParameterError
from shoal.core.guarantees import AlphaK


def test_the_share_and_the_size_both_decide(inpatients):
    evidence = Evidence.of_buckets(inpatients)
    assert check(AlphaK(alpha=0.5, k=4), evidence).holds
    assert check(AlphaK(alpha=0.5, k=5), evidence).n_failing == 3
    verdict = check(AlphaK(alpha=0.49, k=4), evidence)
    assert verdict.n_failing == 3
    assert verdict.reached == {"alpha": "0.5", "k": 4}


def test_a_bucket_that_fails_twice_is_counted_once(buckets_of):
    verdict = check(
        AlphaK(alpha=0.5, k=3), Evidence.of_buckets(buckets_of(["flu", "flu"], ["a", "b", "c"]))
    )
    assert verdict.n_failing == 1


def test_protected_values_count_each_for_itself(inpatients):
    assert largest_share(inpatients, protect=["heart", "viral"]) == Fraction(1, 2)
    assert largest_share(inpatients, protect=["heart"]) == Fraction(1, 4)
    verdict = check(AlphaK(alpha=0.25, k=4, protect=["heart"]), Evidence.of_buckets(inpatients))
    assert verdict.holds


def test_protected_values_that_do_not_occur_have_no_share(inpatients):
    assert largest_share(inpatients, protect=["gout", None]) == 0
    guarantee = AlphaK(alpha="1/1000000", k=1, protect=["gout"])
    assert check(guarantee, Evidence.of_buckets(inpatients)).holds


def test_one_text_is_no_list_of_protected_values(inpatients):
    with pytest.raises(ParameterError, match="list of texts"):
        largest_share(inpatients, protect="cancer")


def test_the_missing_value_can_be_protected(buckets_of):
    buckets = buckets_of([None, "flu", "flu"], [None, None, "flu"])
    assert largest_share(buckets, protect=[None]) == Fraction(2, 3)


@pytest.mark.parametrize("alpha", ["1/3", "0.3333333333333333333333"])
def test_a_tie_holds_and_a_hair_less_fails(buckets_of, alpha):
    evidence = Evidence.of_buckets(buckets_of(["a", "b", "c"], ["b", "c", "d"]))
    assert check(AlphaK(alpha=alpha, k=1), evidence).holds is (alpha == "1/3")


def test_moving_one_row_flips_the_verdict(buckets_of):
    guarantee = AlphaK(alpha=0.5, k=2)
    assert check(guarantee, Evidence.of_buckets(buckets_of(["a", "b"], ["a", "b", "c"]))).holds
    moved = buckets_of(["a", "b", "a"], ["b", "c"])
    assert not check(guarantee, Evidence.of_buckets(moved)).holds


def test_huge_counts_are_exact(counts_of):
    buckets = counts_of([[10**17 + 1, 10**17], [10**17, 10**17]])
    assert largest_share(buckets) == Fraction(10**17 + 1, 2 * 10**17 + 1)
    assert check(AlphaK(alpha=0.5, k=2), Evidence.of_buckets(buckets)).n_failing == 1
