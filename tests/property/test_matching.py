"""Valid values against the enumeration of all assignments, and the two ways to find them compared.

The twin gives a bucket's values to its rows in every order and notes who got what.
"""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from examples import scaled
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.checks import Evidence, check, fewest_valid_values, valid_values
from shoal.core import kernels
from shoal.core.adversary_guarantees import MatchingDiversity
from shoal.core.arrays import marks_of, words_of
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import DataError
from shoal.core.prior_knowledge import ForbiddenSets
from shoal.injector import matching
from shoal.injector.check import matching_diversity
from shoal.injector.check.matching_diversity import Witness
from shoal.injector.matching import (
    Occupants,
    count_values,
    matching_values,
    simple_values,
    valid_of_bucket,
)

thorough = settings(max_examples=300, deadline=None)
medium = settings(max_examples=100, deadline=None)
quick = settings(max_examples=40, deadline=None)

TEXTS = ["", " ", "a", "A", "\u00e4", "a\u0308", "\u6f22", "\U0001f41f", "null", None]


# --- buckets: a list of (own value, forbidden values), one a row ---------------------------------


@st.composite
def buckets_of_rows(draw, most_rows=6, most_values=5, pool=TEXTS, *, keeps_own=None):
    """Draw a bucket, in half of the cases one in which no own value is forbidden."""
    pool = draw(st.permutations(pool))[: draw(st.integers(1, most_values))]
    values = draw(st.lists(st.sampled_from(pool), min_size=1, max_size=most_rows))
    some = st.frozensets(st.sampled_from(pool), max_size=draw(st.integers(0, len(pool))))
    few = draw(st.lists(some, min_size=1, max_size=3))
    keeps_own = draw(st.booleans()) if keeps_own is None else keeps_own
    forbidden = [draw(st.sampled_from(few)) for _ in values]
    return [
        (own, one - {own} if keeps_own else one) for own, one in zip(values, forbidden, strict=True)
    ]


releases = st.lists(buckets_of_rows(), min_size=1, max_size=5)


@st.composite
def wide_buckets(draw, least_values=2, most_values=90):
    """Draw a bucket with many values, in which few of them can be had by some rows."""
    n_values = draw(st.integers(least_values, most_values))
    chance = np.random.default_rng(draw(st.integers(0, 2**32)))
    share = draw(st.sampled_from([0.02, 0.3, 0.8, 0.95, 0.99]))
    sets = chance.random((draw(st.integers(1, 12)), n_values)) < share
    own = np.r_[np.arange(n_values), chance.integers(0, n_values, draw(st.integers(0, 40)))]
    marks = sets[chance.integers(0, len(sets), len(own))]
    if draw(st.booleans()):
        marks[np.arange(len(own)), own] = False
    return [
        (f"v{code:03}", frozenset(f"v{bad:03}" for bad in np.flatnonzero(row)))
        for code, row in zip(own.tolist(), marks, strict=True)
    ]


def values_of(rows):
    return [own for own, _ in rows]


def forbidden_of(rows):
    return [one for _, one in rows]


def enumerate_valid(rows):
    """Find valid values by the definition."""
    found = [set() for _ in rows]
    for given_out in set(permutations(values_of(rows))):
        pairs = list(zip(given_out, forbidden_of(rows), strict=True))
        if not any(value in one for value, one in pairs):
            for place, value in enumerate(given_out):
                found[place].add(value)
    return [frozenset(one) for one in found]


# --- the same as arrays --------------------------------------------------------------------------


class Coded:
    """A release as codes: buckets, occupants and the sets of forbidden values."""

    def __init__(self, *buckets, n_unused=0):
        rows = [row for bucket in buckets for row in bucket]
        texts = {value for own, one in rows for value in (own, *one)}
        unused = [f"unused {number:03}" for number in range(n_unused)]
        present = unused + sorted(text for text in texts if text is not None)
        self.domain = Domain.of_texts("disease", present, has_missing=None in texts)
        lengths = [len(bucket) for bucket in buckets]
        self.bucket = np.repeat(np.arange(len(buckets)), lengths)
        self.value = self.domain.codes_of(values_of(rows))
        marks = np.zeros((len(rows), self.domain.size), dtype=bool)
        for place, (_, one) in enumerate(rows):
            marks[place, self.domain.codes_of(list(one))] = True
        self.sets = ForbiddenSets.of_marks(marks)
        self.buckets = Buckets.of_pairs(self.bucket, self.value, self.domain)
        n_sets = len(self.sets.sets)
        self.occupants = Occupants.of_rows(self.bucket, self.sets.which, len(buckets), n_sets)

    def by_row(self, words):
        """Give the texts of the words of each row's entry."""
        marks = marks_of(words, self.domain.size)
        entries = zip(self.occupants.bucket.tolist(), self.occupants.which.tolist(), strict=True)
        place = {entry: number for number, entry in enumerate(entries)}
        rows = zip(self.bucket.tolist(), self.sets.which.tolist(), strict=True)
        return [
            frozenset(self.domain.text(code) for code in np.flatnonzero(marks[place[row]]).tolist())
            for row in rows
        ]

    @property
    def witness(self):
        # In an order of its own, and not added up.
        back = slice(None, None, -1)
        ones = np.ones_like(self.bucket)
        return Witness(self.bucket[back], self.sets.which[back], ones, self.sets.sets)

    def judge(self, ell):
        evidence = Evidence(self.buckets, self.buckets.sizes, witnesses={"forbidden": self.witness})
        return check(MatchingDiversity(ell=ell), evidence)


def matching_by_row(*buckets, n_unused=0):
    coded = Coded(*buckets, n_unused=n_unused)
    return coded.by_row(matching_values(coded.occupants, coded.sets.sets, coded.buckets))


# --- against enumeration -------------------------------------------------------------------------


@given(buckets_of_rows())
@thorough
def test_the_checker_finds_what_some_assignment_gives(rows):
    assert valid_values(values_of(rows), forbidden_of(rows)) == enumerate_valid(rows)


@given(releases, st.sampled_from([0, 0, 61, 130]))
@thorough
def test_matching_finds_what_some_assignment_gives(buckets, n_unused):
    expected = [one for rows in buckets for one in enumerate_valid(rows)]
    assert matching_by_row(*buckets, n_unused=n_unused) == expected


@given(releases)
@medium
def test_simple_values_are_there_and_not_forbidden(buckets):
    coded = Coded(*buckets)
    found = coded.by_row(simple_values(coded.occupants, coded.sets.sets, coded.buckets))
    assert found == [set(values_of(rows)) - one for rows in buckets for _, one in rows]


@given(buckets_of_rows())
@medium
def test_one_bucket_is_answered_as_many_are(rows):
    coded = Coded(rows)
    who, what = coded.occupants, coded.buckets
    words = valid_of_bucket(who.which, who.count, what.value, what.count, coded.sets.sets)
    assert coded.by_row(words) == enumerate_valid(rows)
    # Groups need not be added up.
    ones = np.ones(len(rows), dtype=np.int64)
    apart = valid_of_bucket(coded.sets.which, ones, what.value, what.count, coded.sets.sets)
    marks = marks_of(apart, coded.domain.size)
    texts = [{coded.domain.text(int(code)) for code in np.flatnonzero(row)} for row in marks]
    assert texts == enumerate_valid(rows)


@pytest.mark.parametrize("few", [12, 0], ids=["by tight sets", "by assignment"])
def test_the_verdict_counts_what_some_assignment_gives(few, monkeypatch):
    monkeypatch.setattr(matching_diversity, "_FEW", few)
    monkeypatch.setattr(matching_diversity, "_ROOM", 16)

    @given(releases, st.integers(1, 4))
    @settings(max_examples=scaled(300), deadline=None)
    def agree(buckets, ell):
        fewest = [min(len(one) for one in enumerate_valid(rows)) for rows in buckets]
        coded = Coded(*buckets)
        verdict = coded.judge(ell)
        assert verdict.reached == {"ell": min(fewest)}
        assert verdict.n_failing == sum(number < ell for number in fewest)
        assert verdict.holds == (min(fewest) >= ell)
        assert not verdict.is_partial
        assert fewest_valid_values(coded.buckets, coded.witness) == min(fewest)

    agree()


# --- against each other, on larger buckets -------------------------------------------------------


@given(st.lists(wide_buckets(), min_size=1, max_size=2))
@quick
def test_matching_and_the_checker_agree_on_wide_buckets(buckets):
    expected = [
        one for rows in buckets for one in valid_values(values_of(rows), forbidden_of(rows))
    ]
    assert matching_by_row(*buckets) == expected
    assert Coded(*buckets).judge(1).reached == {"ell": min(len(one) for one in expected)}


@given(wide_buckets(least_values=65))
@quick
def test_matching_and_the_checker_agree_beyond_64_values(rows):
    assert matching_by_row(rows) == valid_values(values_of(rows), forbidden_of(rows))


@given(buckets_of_rows(most_rows=30, most_values=8), st.sampled_from([1, 7, 10**15]))
@medium
def test_counts_may_be_huge(rows, factor):
    # By the theorem of Hall it only matters which counts are equal or larger.
    coded = Coded(rows)
    who, what, sets = coded.occupants, coded.buckets, coded.sets.sets
    words = valid_of_bucket(who.which, who.count * factor, what.value, what.count * factor, sets)
    witness = Witness(who.bucket, who.which, who.count * factor, sets)
    buckets = Buckets(1, what.bucket, what.value, what.count * factor, what.domain)
    assert count_values(words).min() == fewest_valid_values(buckets, witness)
    assert coded.by_row(words) == matching_by_row(rows)


@given(st.lists(buckets_of_rows(keeps_own=True), min_size=2, max_size=4))
@medium
def test_a_merged_bucket_loses_no_valid_value_where_own_ones_are_allowed(buckets):
    apart = matching_by_row(*buckets)
    merged = matching_by_row([row for rows in buckets for row in rows])
    assert all(one <= other for one, other in zip(apart, merged, strict=True))
    owns = [own for rows in buckets for own in values_of(rows)]
    assert all(own in one for own, one in zip(owns, apart, strict=True))


@given(buckets_of_rows(most_rows=12), st.randoms())
@medium
def test_the_order_of_rows_and_of_values_does_not_matter(rows, chance):
    order = list(range(len(rows)))
    chance.shuffle(order)
    values = values_of(rows)
    chance.shuffle(values)
    valid = valid_values(values_of(rows), forbidden_of(rows))
    again = valid_values(values, [rows[place][1] for place in order])
    assert again == [valid[place] for place in order]


# --- the kernel, and words -----------------------------------------------------------------------


@given(st.one_of(releases, st.lists(wide_buckets(), min_size=1, max_size=1)))
@quick
def test_compiled_and_plain_kernels_agree(buckets):
    plain = kernels.load_plain("shoal.injector._matching_kernels").Matcher
    expected = matching_by_row(*buckets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(matching, "Matcher", plain)
        assert matching_by_row(*buckets) == expected


@given(st.integers(0, 5), st.integers(0, 200), st.integers(0, 2**32))
@medium
def test_words_hold_what_they_were_made_of(n_sets, n_values, seed):
    marks = np.random.default_rng(seed).random((n_sets, n_values)) < 0.5
    words = words_of(marks)
    assert words.shape == (n_sets, max(1, -(-n_values // 64)))
    assert np.array_equal(marks_of(words, n_values), marks)
    assert count_values(words).tolist() == marks.sum(axis=1).tolist()
    for row, codes in zip(words.tolist(), marks, strict=True):
        bits = sum(word << (64 * place) for place, word in enumerate(row))
        assert bits == sum(1 << int(code) for code in np.flatnonzero(codes))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2), st.integers(1, 4)), max_size=12))
@medium
def test_occupants_are_counted_by_bucket_and_set(cells):
    bucket, which, count = np.array(cells, dtype=np.int64).reshape(-1, 3).T
    by_cell = Occupants.of_rows(bucket, which, 4, 3, count)
    by_row = Occupants.of_rows(np.repeat(bucket, count), np.repeat(which, count), 4, 3)
    expected: Counter[tuple[int, int]] = Counter()
    for one, other, number in cells:
        expected[one, other] += number
    for found in (by_cell, by_row):
        columns = (found.bucket.tolist(), found.which.tolist(), found.count.tolist())
        entries = [((one, other), number) for one, other, number in zip(*columns, strict=True)]
        assert entries == sorted(expected.items())
        assert found.sizes.sum() == sum(expected.values())


def test_a_release_without_rows_has_no_words():
    coded = Coded()
    for find in (simple_values, matching_values):
        assert find(coded.occupants, coded.sets.sets, coded.buckets).shape == (0, 1)
    none = np.array([], dtype=np.int64)
    assert valid_of_bucket(none, none, none, none, coded.sets.sets).shape == (0, 1)


def test_read_only_arrays_are_taken():
    coded = Coded([("a", {"b"}), ("b", set())])
    for array in (coded.sets.sets, coded.occupants.which, coded.buckets.value):
        array.flags.writeable = False
    words = matching_values(coded.occupants, coded.sets.sets, coded.buckets)
    assert coded.by_row(words) == [{"a"}, {"b"}]


# --- what does not fit ---------------------------------------------------------------------------


@pytest.mark.parametrize("find", [simple_values, matching_values])
def test_rows_and_values_that_do_not_fit_are_refused(find):
    coded = Coded([("a", {"b"}), ("b", set())], [("a", set())])
    sets, who = coded.sets.sets, coded.occupants
    fewer = Occupants(2, who.bucket[:-1], who.which[:-1], who.count[:-1])
    with pytest.raises(DataError, match="3 values in 2 buckets and 2 rows in 2"):
        find(fewer, sets, coded.buckets)
    with pytest.raises(DataError, match="2 sets over 1 values"):
        find(who, sets[:, :1], coded.buckets)
    with pytest.raises(DataError, match="1 sets over 2 values"):
        find(who, sets[:1], coded.buckets)


def test_one_bucket_that_does_not_fit_is_refused():
    codes, ones, sets = np.arange(2), np.ones(2, dtype=np.int64), np.zeros((2, 2), dtype=bool)
    with pytest.raises(DataError, match="3 values for 2 rows"):
        valid_of_bucket(codes, ones, codes, np.array([1, 2]), sets)
    with pytest.raises(DataError, match="at least one row"):
        valid_of_bucket(codes, ones, codes, np.array([0, 2]), sets)
