"""Baskets, item clusters and folded sets against plain Python."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.domain import Domain
from shoal.core.table import Rows
from shoal.slicing.basket_columns import slice_baskets
from shoal.slicing.baskets import Baskets, ItemClusters, attracted_pairs, cluster_items
from shoal.slicing.columns import cluster_attributes
from shoal.slicing.correlation import correlations_of_rows

ITEMS = ["", "*", "a", "b + c", "empty", "e\u0301", "é", "名", "🂡"]

basket_lists = st.lists(st.lists(st.sampled_from(ITEMS), max_size=6), min_size=1, max_size=25)


def holders(lists, item):
    return {place for place, basket in enumerate(lists) if item in basket}


def attraction(lists, first, second):
    """Return phi-squared if two items are together more often than by chance, otherwise 0."""
    n_baskets = len(lists)
    ones, others = holders(lists, first), holders(lists, second)
    excess = n_baskets * len(ones & others) - len(ones) * len(others)
    spread = len(ones) * (n_baskets - len(ones)) * len(others) * (n_baskets - len(others))
    return Fraction(excess**2, spread) if excess > 0 and spread else Fraction(0)


@settings(max_examples=300)
@given(basket_lists)
def test_pairs_are_counted_as_baskets_hold_them(lists):
    baskets = Baskets.of_lists(lists)
    items = baskets.items.tolist()
    assert items == sorted({item for basket in lists for item in basket})
    assert baskets.supports.tolist() == [len(holders(lists, item)) for item in items]
    expected = {
        (first, second): len(holders(lists, items[first]) & holders(lists, items[second]))
        for first, second in combinations(range(len(items)), 2)
    }
    first, second, counts = (array.tolist() for array in baskets.pairs())
    found = dict(zip(zip(first, second, strict=True), counts, strict=True))
    assert found == {pair: count for pair, count in expected.items() if count}
    assert list(found) == sorted(found)


@settings(max_examples=300)
@given(basket_lists)
def test_items_that_attract_correlate_as_columns_of_zeros_and_ones_do(lists):
    baskets = Baskets.of_lists(lists)
    dense = np.zeros((len(lists), baskets.n_items), dtype=np.int32)
    dense[baskets.basket, baskets.item] = 1
    domains = tuple(Domain.of_texts(item, ["0", "1"]) for item in baskets.items.tolist())
    expected = correlations_of_rows(Rows(domains, dense))
    first, second, found = attracted_pairs(baskets)
    assert np.abs(found - expected.matrix[first, second]).max(initial=0) <= 2e-12
    n_baskets, supports = len(lists), baskets.supports
    excess = n_baskets * (dense.T @ dense) - np.outer(supports, supports)
    pairs = list(zip(first.tolist(), second.tolist(), strict=True))
    assert pairs == list(map(tuple, np.argwhere(np.triu(excess, k=1) > 0).tolist()))


def slow_join(lists, items, max_items):
    pairs = [
        (-attraction(lists, items[first], items[second]), first, second)
        for first, second in combinations(range(len(items)), 2)
    ]
    clusters = [{place} for place in range(len(items))]
    for negative, first, second in sorted(pairs):
        one = next(cluster for cluster in clusters if first in cluster)
        other = next(cluster for cluster in clusters if second in cluster)
        if negative < 0 and one is not other and len(one) + len(other) <= max_items:
            clusters.remove(other)
            one |= other
    return sorted(tuple(sorted(cluster)) for cluster in clusters)


@settings(max_examples=500)
@given(basket_lists.filter(any), st.integers(1, 5))
def test_the_strongest_pairs_are_joined_first(lists, max_items):
    baskets = Baskets.of_lists(lists)
    found = cluster_items(baskets, max_items=max_items)
    assert list(found.members) == slow_join(lists, baskets.items.tolist(), max_items)


@settings(max_examples=300)
@given(basket_lists.filter(any), st.data())
def test_a_number_of_clusters_is_made_by_pam_on_attraction(lists, data):
    baskets = Baskets.of_lists(lists)
    items = baskets.items.tolist()
    n_clusters = data.draw(st.integers(1, len(items)))
    distance = [
        [float(1 - attraction(lists, one, other)) if one != other else 0.0 for other in items]
        for one in items
    ]
    expected = cluster_attributes(np.round(distance, 12), n_clusters).members
    assert cluster_items(baskets, n_clusters=n_clusters).members == expected


def slow_fold(sets, supports, least):
    """Fold the sets of one column, one of them a basket; give for each basket what is published.

    A value is (items, whether others are withheld); ((), True) is the rest.
    """
    values = [(items, False) for items in sets]
    for size in range(max(map(len, sets)), -1, -1):
        counts = Counter(values)
        for value in sorted(counts):
            items, _ = value
            if len(items) != size or counts[value] >= least or value == ((), True):
                continue
            rarest = max(items, key=lambda i: (-supports[i], i), default=None)
            fewer = tuple(i for i in items if i != rarest)
            values = [(fewer, True) if one == value else one for one in values]
    return values


@st.composite
def sliced(draw):
    lists = draw(basket_lists)
    baskets = Baskets.of_lists(lists)
    labels = [draw(st.integers(0, 1)) for _ in range(baskets.n_items)]
    members = [tuple(np.flatnonzero(np.array(labels) == label).tolist()) for label in (0, 1)]
    clusters = ItemClusters(members=tuple(sorted(filter(None, members))))
    return lists, baskets, clusters


@settings(max_examples=300)
@given(sliced())
def test_codes_stand_for_the_sets_that_baskets_hold(example):
    lists, baskets, clusters = example
    found = slice_baskets(baskets, clusters)
    assert found.recode == ()
    for place, members in enumerate(clusters.members):
        domain = found.rows.domains[place]
        assert domain.texts.tolist() == sorted(set(domain.texts.tolist()))
        for basket, code in zip(lists, found.rows.codes[:, place].tolist(), strict=True):
            expected = tuple(item for item in members if baskets.items[item] in basket)
            assert found.sets[place][code] == expected
            assert (domain.text(code) == "empty") == (not expected)


@settings(max_examples=1000)
@given(sliced(), st.integers(1, 6))
def test_folded_values_are_frequent_and_withhold_what_the_definition_says(example, least):
    lists, baskets, clusters = example
    least = min(least, len(lists))
    found = slice_baskets(baskets, clusters, least)
    rows = found.folded()
    for place in range(clusters.n_clusters):
        codes = found.rows.codes[:, place].tolist()
        sets = [found.sets[place][code] for code in codes]
        values = slow_fold(sets, baskets.supports, least)
        texts = [rows.domains[place].text(code) for code in rows.codes[:, place].tolist()]
        assert min(Counter(texts).values()) >= least
        # Equal texts are equal values, but for those that had to join the rest.
        rest = [value for value, text in zip(values, texts, strict=True) if text == "*"]
        assert all(v == ((), True) or Counter(values)[v] >= least for v in values)
        if Counter(values)[((), True)] >= least or ((), True) not in values:
            assert set(rest) <= {((), True)}
        else:
            # The rarest joined it, and no more of them than were needed.
            joined = sorted({Counter(values)[value] for value in set(rest) - {((), True)}})
            others = {Counter(values)[value] for value in values if value not in rest}
            assert not joined or not others or joined[-1] <= min(others)
            assert len(rest) - (joined[-1] if joined else 0) < least
        by_text = {}
        for value, text in zip(values, texts, strict=True):
            if text != "*":
                assert by_text.setdefault(text, value) == value
                assert text.endswith(" + …") == value[1]
                named = {str(baskets.items[item]) for item in value[0]}
                assert all(name in text or "+" in name or not name for name in named)
        assert len(set(by_text.values())) == len(by_text)


@given(sliced(), st.integers(1, 6))
def test_labels_of_folded_sets_name_all_they_stand_for(example, least):
    lists, baskets, clusters = example
    found = slice_baskets(baskets, clusters, min(least, len(lists)))
    for recode in found.recode:
        assert sorted(code for label in recode.labels for code in label.members) == list(
            range(len(recode.index))
        )
        for code, place in enumerate(recode.index.tolist()):
            assert code in recode.labels[place].members
