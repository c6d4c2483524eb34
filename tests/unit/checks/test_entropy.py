from fractions import Fraction

import pytest

from shoal.checks import _entropy
from shoal.checks._entropy import falls_short, has_entropy


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
