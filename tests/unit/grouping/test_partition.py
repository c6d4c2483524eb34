from __future__ import annotations

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.domain import Domain
from shoal.core.plan import Label
from shoal.core.secret import Secret
from shoal.grouping.axes import Axis
from shoal.grouping.partition import Partition, label_buckets

SECRET = Secret.from_seed(1)


def label_sets(
    buckets: list[str], *, bound: int = 1, missing: str = ""
) -> tuple[list[Label], Domain]:
    """Label buckets given as words; every letter is a row with that value."""
    letters = "".join(buckets)
    domain = Domain.of_texts(
        "letter", sorted(set(letters) - set(missing)), has_missing=bool(missing)
    )
    code = {letter: place for place, letter in enumerate(domain.texts)}
    codes = np.array([code.get(letter, len(code)) for letter in letters])
    begin = np.array([0, *itertools.accumulate(map(len, buckets))][:-1])
    partition = Partition(
        np.arange(len(letters)), np.ones(len(letters), dtype=np.int64), begin, begin, begin[:0]
    )
    axis = Axis.of_domain(domain, None)
    ones = np.ones(len(letters), dtype=np.int64)
    recode = label_buckets(partition, 0, axis, codes, ones, bound, SECRET)
    return [recode.labels[place] for place in recode.index.tolist()], domain


def test_one_value_is_written_as_it_is_and_several_as_a_set():
    found, _ = label_sets(["aa", "ba", "cab"])
    assert [label.text for label in found] == ["a", "{a, b}", "{a, b, c}"]
    assert [label.members for label in found] == [(0,), (0, 1), (0, 1, 2)]


def test_rare_values_are_not_named():
    found, _ = label_sets(["aab", "aac", "bc", "aaa"], bound=3)
    assert [label.text for label in found] == ["{a, other}", "{a, other}", "{other}", "a"]
    # Labels that read alike are one label, which stands for what either stands for.
    assert found[0] is found[1]
    assert found[0].members == (0, 1, 2)


def test_missing_values_are_named_as_such():
    found, _ = label_sets(["a_", "__", "aa"], missing="_")
    assert [label.text for label in found] == ["{a, missing}", None, "a"]
    assert [label.has_missing for label in found] == [True, True, False]
    assert [label.members for label in found] == [(0,), (), (0,)]


def test_long_sets_are_counted():
    found, _ = label_sets(["abcdefghijkl", "abcdefghijklm", "acdefghijklmn"])
    assert [label.text for label in found] == [
        "{a, b, c, d, e, f, g, h, i, j, k, l}",
        "{a .. m, 13 values}",
        "{a .. n, 13 values}",
    ]


def test_long_sets_that_read_alike_are_told_apart():
    letters = "abcdefghijklmno"
    found, _ = label_sets([letters.replace("c", ""), letters.replace("b", "")])
    assert [label.text for label in found] == ["{a .. o, 14 values}", "{a .. o, 14 values} #2"]


def test_values_that_look_like_labels_keep_their_text():
    partition = Partition(
        np.arange(6), np.ones(6, dtype=np.int64), np.array([0, 2, 4]), np.zeros(3), np.zeros(0)
    )
    domain = Domain.of_texts("x", ["a", "b", "{a, b}"])
    codes = np.array([0, 1, 2, 2, 0, 1])
    recode = label_buckets(
        partition, 0, Axis.of_domain(domain, None), codes, np.ones(6, dtype=np.int64), 1, SECRET
    )
    texts = [recode.labels[place].text for place in recode.index.tolist()]
    assert texts == ["{a, b} #2", "{a, b}", "{a, b} #2"]


def test_commas_in_values_do_not_make_sets_alike():
    partition = Partition(
        np.arange(5), np.ones(5, dtype=np.int64), np.array([0, 2]), np.zeros(2), np.zeros(0)
    )
    domain = Domain.of_texts("x", ["a", "a, b", "b", "c"])
    codes = np.array([1, 3, 0, 2, 3])
    recode = label_buckets(
        partition, 0, Axis.of_domain(domain, None), codes, np.ones(5, dtype=np.int64), 1, SECRET
    )
    assert {label.text for label in recode.labels} == {"{a, b, c}", "{a, b, c} #2"}


@given(st.lists(st.text("abcdefg_", min_size=1), min_size=1, max_size=12), st.integers(1, 4))
def test_equal_texts_mean_the_same_and_cover_their_bucket(buckets, bound):
    found, domain = label_sets(buckets, bound=bound, missing="_")
    counts = Counter("".join(buckets))
    meaning: dict[str | None, object] = {}
    for label, bucket in zip(found, buckets, strict=True):
        named = frozenset(letter for letter in bucket if letter != "_" and counts[letter] >= bound)
        has_other = any(letter != "_" and counts[letter] < bound for letter in bucket)
        if len(set(bucket)) == 1:
            named, has_other = frozenset(bucket) - {"_"}, False
        said = (named, has_other, "_" in bucket)
        assert meaning.setdefault(label.text, said) == said
        members = {str(domain.texts[code]) for code in label.members}
        assert set(bucket) - {"_"} <= members
        assert label.has_missing == ("_" in bucket)
        # A name that is published is carried by enough rows, or by everybody in the bucket.
        if len(set(bucket)) > 1:
            assert not any(counts[letter] < bound for letter in named)


@given(st.lists(st.text("abcdefg_", min_size=1), min_size=1, max_size=12))
def test_many_values_and_few_are_labelled_alike(buckets):
    few = label_sets(buckets, missing="_")[0]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.grouping.partition._BITS", 0)
        many = label_sets(buckets, missing="_")[0]
    assert few == many
