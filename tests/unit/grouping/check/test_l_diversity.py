import math
from fractions import Fraction

import numpy as np
import pytest

from shoal.checks import (
    Evidence,
    check,
    distinct_diversity,
    entropy_diversity,
    frequency_diversity,
    recursive_diversity,
)
from shoal.core.errors import ParameterError
from shoal.core.guarantees import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
)
from shoal.grouping.check import l_diversity
from shoal.grouping.check import l_diversity as _entropy
from shoal.grouping.check.l_diversity import falls_short, has_entropy


def test_a_tie_between_unequal_counts_is_seen():
    # 2^2 4^4 ... : shares 1/2, 1/8 x 4 have an entropy of 2 log(2), that of four equal ones.
    assert has_entropy([4, 1, 1, 1, 1], Fraction(4))
    assert not has_entropy([4, 1, 1, 1, 1], Fraction(4 * 10**40 + 1, 10**40))
    assert has_entropy([4, 1, 1, 1, 1], Fraction(4 * 10**40 - 1, 10**40))


def test_a_tie_between_unequal_counts_is_seen_in_buckets(counts_of):
    buckets = counts_of([[4, 1, 1, 1, 1], [2, 8, 2, 2, 2], [1, 1, 1, 1, 4]])
    assert not falls_short(buckets, Fraction(4)).any()
    assert falls_short(buckets, Fraction(4 * 10**40 + 1, 10**40)).all()


def test_counts_with_a_common_divisor_are_those_without():
    huge = 10**25
    assert has_entropy([4 * huge, huge, huge, huge, huge], Fraction(4))
    assert not has_entropy([4 * huge + 1, huge, huge, huge, huge], Fraction(4))


def test_digits_are_added_until_the_sides_differ(monkeypatch):
    precisions = []
    original = _entropy._sign_of_logarithm

    def noting(exponents, precision):
        precisions.append(precision)
        return original(exponents, precision)

    monkeypatch.setattr(_entropy, "_sign_of_logarithm", noting)
    assert not has_entropy([1, 1], Fraction(2 * 10**100 + 1, 10**100))
    assert precisions == [40, 80, 160]


def test_a_tie_needs_no_more_digits(monkeypatch):
    precisions = []
    monkeypatch.setattr(
        _entropy, "_sign_of_logarithm", lambda _, digits: precisions.append(digits) or 0
    )
    assert has_entropy([4, 1, 1, 1, 1], Fraction(4))
    assert precisions == [40]


def test_equal_profiles_are_decided_once(counts_of, monkeypatch):
    decided = []
    original = _entropy.has_entropy

    def noting(counts, ell, work):
        decided.append(counts)
        return original(counts, ell, work)

    monkeypatch.setattr(_entropy, "has_entropy", noting)
    rows = [[4, 1, 1, 1, 1], [1, 4, 1, 1, 1], [1, 1, 1, 1, 4], [8, 2, 2, 2, 2]] * 10
    assert not falls_short(counts_of(rows), Fraction(4)).any()
    assert sorted(decided) == [[1, 1, 1, 1, 4], [2, 2, 2, 2, 8]]


@pytest.mark.parametrize(
    ("powers", "is_one"),
    [
        ([(6, 2), (36, -1)], True),
        ([(6, 2), (4, -1), (9, -1)], True),
        ([(6, 2), (4, -1), (3, -1)], False),
        ([(12, 3), (18, 3), (6, -9)], True),
        ([(7, 0), (1, 5)], True),
        ([(2, 1)], False),
        ([], True),
    ],
)
def test_products_of_powers_are_recognized(powers, is_one):
    assert _entropy._is_one(powers) is is_one


def judge(guarantee, buckets):
    return check(guarantee, Evidence.of_buckets(buckets))


def test_the_3_diverse_inpatients_of_the_paper(inpatients):
    assert distinct_diversity(inpatients) == 3
    assert frequency_diversity(inpatients) == 2
    # Shares of 1/2, 1/4 and 1/4 have an entropy of 3/2 log(2).
    assert entropy_diversity(inpatients) == pytest.approx(2**1.5)
    assert recursive_diversity(inpatients, ell=2) == 1
    assert recursive_diversity(inpatients, ell=3) == 2


def test_the_4_anonymous_inpatients_of_the_paper_are_not_diverse(four_anonymous_inpatients):
    assert distinct_diversity(four_anonymous_inpatients) == 1
    assert frequency_diversity(four_anonymous_inpatients) == 1
    assert entropy_diversity(four_anonymous_inpatients) == 1
    assert recursive_diversity(four_anonymous_inpatients, ell=2) is None
    assert judge(DistinctDiversity(ell=2), four_anonymous_inpatients).n_failing == 1
    assert judge(DistinctDiversity(ell=3), four_anonymous_inpatients).n_failing == 2


def test_the_anatomized_table_of_the_paper_is_2_diverse(buckets_of):
    # [Xiao06] Table 3.
    buckets = buckets_of(
        ["dyspepsia", "dyspepsia", "pneumonia", "pneumonia"],
        ["bronchitis", "flu", "flu", "gastritis"],
    )
    assert judge(FrequencyDiversity(ell=2), buckets).reached == {"ell": "2"}
    assert judge(FrequencyDiversity(ell=2), buckets).holds


@pytest.mark.parametrize(
    "guarantee",
    [
        DistinctDiversity(ell=4),
        FrequencyDiversity(ell="2.000000000000000000001"),
        EntropyDiversity(ell="2.828427124746190097603377448420"),
        RecursiveDiversity(c=1, ell=2),
        RecursiveDiversity(c=2, ell=3),
        RecursiveDiversity(c=1000, ell=4),
    ],
    ids=lambda guarantee: str(guarantee.to_dict()),
)
def test_a_hair_more_than_is_reached_fails_everywhere(inpatients, guarantee):
    assert judge(guarantee, inpatients).n_failing == 3


@pytest.mark.parametrize(
    "guarantee",
    [
        DistinctDiversity(ell=3),
        FrequencyDiversity(ell=2),
        EntropyDiversity(ell="2.828427124746190097603377448"),
        RecursiveDiversity(c="1.000000000000000000001", ell=2),
        RecursiveDiversity(c="2.000000000000000000001", ell=3),
    ],
    ids=lambda guarantee: str(guarantee.to_dict()),
)
def test_what_is_reached_holds(inpatients, guarantee):
    assert judge(guarantee, inpatients).holds


@pytest.mark.parametrize(
    "guarantee",
    [
        DistinctDiversity(ell=2),
        FrequencyDiversity(ell="1.5"),
        EntropyDiversity(ell="1.8"),
        RecursiveDiversity(c=3, ell=2),
    ],
    ids=lambda guarantee: guarantee.name,
)
def test_moving_one_row_flips_the_verdict(buckets_of, guarantee):
    assert judge(guarantee, buckets_of(["a", "a", "b"], ["a", "b", "c"])).holds
    moved = judge(guarantee, buckets_of(["a", "a"], ["a", "b", "b", "c"]))
    assert moved.n_failing == 1


def test_missing_is_a_value_like_any_other(buckets_of):
    buckets = buckets_of([None, None, "flu"], ["flu", "cold", None])
    assert distinct_diversity(buckets) == 2
    assert frequency_diversity(buckets) == Fraction(3, 2)
    assert frequency_diversity(buckets, protect=[None]) == Fraction(3, 2)
    assert frequency_diversity(buckets, protect=["cold"]) == 3


def test_protected_values_count_as_one(inpatients):
    assert frequency_diversity(inpatients, protect=["heart", "cancer"]) == Fraction(4, 3)
    assert frequency_diversity(inpatients, protect=["heart", "heart"]) == 4
    verdict = judge(FrequencyDiversity(ell=2, protect=["heart", "cancer"]), inpatients)
    assert verdict.n_failing == 2
    assert verdict.reached == {"ell": "4/3"}


def test_protected_values_that_do_not_occur_hold_for_every_ell(inpatients):
    assert frequency_diversity(inpatients, protect=["gout", None]) is None
    verdict = judge(FrequencyDiversity(ell=10**30, protect=["gout"]), inpatients)
    assert verdict.holds
    assert verdict.reached == {}


def test_no_c_holds_where_a_bucket_has_too_few_values(inpatients):
    assert recursive_diversity(inpatients, ell=4) is None
    assert judge(RecursiveDiversity(c=10**30, ell=4), inpatients).reached == {}


def test_the_recursive_bound_is_stated_as_one_to_exceed(inpatients):
    verdict = judge(RecursiveDiversity(c=3, ell=3), inpatients)
    assert verdict.holds
    assert verdict.reached == {"ell": 3, "c_above": "2"}


def test_recursive_diversity_needs_an_ell_of_at_least_2(inpatients):
    with pytest.raises(ParameterError, match="ell"):
        recursive_diversity(inpatients, ell=1)


def test_other_guarantees_are_refused(inpatients):
    with pytest.raises(ParameterError, match="k-anonymity is not a kind of l-diversity"):
        l_diversity.check(KAnonymity(k=2), Evidence.of_buckets(inpatients))


def test_entropy_reached_is_rounded_down_to_what_holds(inpatients):
    reached = judge(EntropyDiversity(ell=3), inpatients).reached
    assert reached == {"ell": "2.828427"}
    assert judge(EntropyDiversity(ell=reached["ell"]), inpatients).holds


def test_entropy_reached_is_never_below_what_was_asked_and_holds(inpatients):
    asked = "2.8284271247"
    assert judge(EntropyDiversity(ell=asked), inpatients).reached == {"ell": asked}


@pytest.mark.parametrize("ell", [1, 2, 3, 5, 7, 10, 49, 64, 65, 130, 1000])
def test_equal_counts_tie_with_their_number(counts_of, ell):
    buckets = counts_of([[1] * ell, [7] * ell, [10**12] * ell])
    assert entropy_diversity(buckets) == ell
    assert judge(EntropyDiversity(ell=ell), buckets).holds
    assert judge(EntropyDiversity(ell=Fraction(ell * 10**30 + 1, 10**30)), buckets).n_failing == 3


def test_one_row_is_1_diverse_and_no_more(buckets_of):
    buckets = buckets_of(["flu"])
    assert distinct_diversity(buckets) == 1
    assert frequency_diversity(buckets) == 1
    assert entropy_diversity(buckets) == 1
    assert recursive_diversity(buckets, ell=2) is None


def test_unicode_values_are_told_apart(buckets_of):
    # Composed and decomposed forms are different texts, as they are in the table.
    buckets = buckets_of(["\u00fc", "u\u0308", "\U0001f41f", "\u6f22"])
    assert distinct_diversity(buckets) == 4
    assert frequency_diversity(buckets, protect=["\u00fc"]) == 4


def test_huge_counts_are_exact(counts_of):
    many = 10**17
    buckets = counts_of([[many + 1, many, many], [many, many, many]])
    assert frequency_diversity(buckets) == Fraction(3 * many + 1, many + 1)
    assert judge(FrequencyDiversity(ell=3), buckets).n_failing == 1
    assert recursive_diversity(buckets, ell=3) == Fraction(many + 1, many)
    assert judge(EntropyDiversity(ell=3), buckets).n_failing == 1
    assert judge(RecursiveDiversity(c=Fraction(many + 1, many), ell=3), buckets).n_failing == 1


def test_a_hundred_million_rows_are_exact(counts_of):
    buckets = counts_of([[10**8 // 2, 10**8 // 2 + 1]])
    assert judge(EntropyDiversity(ell=2), buckets).n_failing == 1
    assert judge(EntropyDiversity(ell="1.999999"), buckets).holds


def test_the_order_of_counts_is_found_where_keys_would_overflow(counts_of):
    matrix = np.tile([1, 2, 1], (100, 1))
    matrix[7, 1] = 2**57
    assert recursive_diversity(counts_of(matrix), ell=2) == 2**56
    assert recursive_diversity(counts_of(matrix), ell=3) == 2**57


def test_entropy_is_that_of_the_definition(counts_of):
    counts = [5, 3, 1, 1, 90]
    shares = [count / 100 for count in counts]
    entropy = -sum(share * math.log(share) for share in shares)
    assert entropy_diversity(counts_of([counts])) == pytest.approx(math.exp(entropy))
