from __future__ import annotations

import numpy as np
import pytest

from shoal.core.errors import DataError, InfeasibleError, ParameterError
from shoal.slicing import baskets as baskets_module
from shoal.slicing.basket_columns import slice_baskets
from shoal.slicing.baskets import Baskets, ItemClusters, attracted_pairs, cluster_items


def texts_of(found):
    """Return the texts of every row."""
    rows = found.folded()
    return [
        tuple(domain.text(code) for domain, code in zip(rows.domains, codes, strict=True))
        for codes in rows.codes.tolist()
    ]


# --- baskets --------------------------------------------------------------------------------------


def test_an_item_named_twice_is_there_once():
    baskets = Baskets.of_lists([["a", "b", "a"], [], ("b",), {"b"}])
    assert baskets.supports.tolist() == [1, 3]
    assert baskets.basket.tolist() == [0, 0, 2, 3]


def test_baskets_may_come_one_by_one():
    assert Baskets.of_lists(list(word) for word in ("ab", "b")).supports.tolist() == [1, 2]


def test_codes_give_the_baskets_that_texts_give():
    texts = Baskets.of_lists([["b", "a"], ["c"]])
    codes = Baskets.of_codes(["a", "b", "c"], [[1, 0, 1], [2]])
    assert texts.item.tolist() == codes.item.tolist() == [0, 1, 2]
    assert texts.basket.tolist() == codes.basket.tolist() == [0, 0, 1]


def test_an_item_that_no_basket_holds_has_no_support():
    assert Baskets.of_codes(["a", "b"], [[1]]).supports.tolist() == [0, 1]


def test_there_may_be_no_basket_and_no_item():
    baskets = Baskets.of_lists([])
    assert (baskets.n_baskets, baskets.n_items) == (0, 0)
    assert [len(array) for array in baskets.pairs()] == [0, 0, 0]
    assert Baskets.of_lists([[], []]).n_baskets == 2


@pytest.mark.parametrize("baskets", [["milk"], [["a", 1]], [["a"], None], [[["a"]]]])
def test_what_is_no_basket_is_refused_without_naming_it(baskets):
    with pytest.raises(DataError, match="1 baskets are not") as caught:
        Baskets.of_lists(baskets)
    assert "['a']" not in caught.value.fact


@pytest.mark.parametrize(
    ("items", "baskets"), [(["a"], [[1]]), (["a"], [[-1]]), (["a", "a"], [[0]]), ([], [[0]])]
)
def test_codes_must_be_those_of_different_items(items, baskets):
    with pytest.raises(DataError, match="codes from 0"):
        Baskets.of_codes(items, baskets)


# --- clusters -------------------------------------------------------------------------------------


def test_items_bought_together_are_one_cluster():
    baskets = Baskets.of_lists([["a", "c"], ["a", "c"], ["b", "d"], ["b", "d"], ["b"], []])
    for asked in ({"n_clusters": 2}, {"max_items": 2}, {"max_items": 9}):
        assert cluster_items(baskets, **asked).members == ((0, 2), (1, 3))


def test_items_that_exclude_each_other_do_not_attract():
    baskets = Baskets.of_lists([["a"], ["b"]])
    assert not len(attracted_pairs(baskets)[0])
    assert cluster_items(baskets, max_items=2).members == ((0,), (1,))


def test_clusters_stay_as_small_as_asked():
    baskets = Baskets.of_lists([list("abcde")] * 3 + [[]])
    assert cluster_items(baskets, max_items=2).members == ((0, 1), (2, 3), (4,))
    assert cluster_items(baskets, max_items=1).n_clusters == 5


def test_items_in_all_baskets_or_in_none_attract_nothing():
    baskets = Baskets.of_codes(["a", "b", "c"], [[0, 1], [0]])
    assert not len(attracted_pairs(baskets)[0])


def test_clusters_show_no_item():
    found = ItemClusters(members=((0, 2), (1,)))
    assert repr(found) == "ItemClusters(3 items in 2 clusters, the largest of 2)"
    assert found.to_dict() == {"items_1": [0, 2], "items_2": [1]}


@pytest.mark.parametrize("asked", [{}, {"n_clusters": 1, "max_items": 1}])
def test_clusters_are_asked_for_in_one_way(asked):
    with pytest.raises(ParameterError, match="either n_clusters or max_items"):
        cluster_items(Baskets.of_lists([["a"]]), **asked)


@pytest.mark.parametrize("asked", [{"n_clusters": 0}, {"max_items": 0}, {"n_clusters": 2}])
def test_numbers_of_clusters_must_fit(asked):
    with pytest.raises(ParameterError):
        cluster_items(Baskets.of_lists([["a"]]), **asked)


def test_no_item_cannot_be_clustered():
    with pytest.raises(ParameterError, match="no item"):
        cluster_items(Baskets.of_lists([[]]), max_items=1)


def test_a_matrix_of_too_many_items_is_refused_and_bounded_clusters_are_not(monkeypatch):
    monkeypatch.setattr(baskets_module, "MOST_ITEMS", 2)
    baskets = Baskets.of_lists([["a", "b"], ["c"]])
    with pytest.raises(ParameterError, match="too many for one matrix"):
        cluster_items(baskets, n_clusters=2)
    assert cluster_items(baskets, max_items=2).members == ((0, 1), (2,))


# --- columns --------------------------------------------------------------------------------------


def test_a_basket_has_one_value_a_column():
    baskets = Baskets.of_lists([["a", "b", "c"], ["b"], ["c"], []])
    found = slice_baskets(baskets, ItemClusters(members=((0, 1), (2,))))
    assert texts_of(found) == [("a + b", "c"), ("b", "empty"), ("empty", "c"), ("empty", "empty")]
    assert found.rows.columns == ("items_1", "items_2")
    assert found.sets == (((0, 1), (1,), ()), ((2,), ()))
    assert repr(found) == "BasketColumns(4 baskets, 2 columns, 5 different sets)"


def test_more_items_than_bits_make_different_sets():
    n_items = 130
    items = [f"{place:03}" for place in range(n_items)]
    lists = [[place] for place in range(n_items)] + [[place, 129 - place] for place in range(65)]
    baskets = Baskets.of_codes(items, lists)
    found = slice_baskets(baskets, ItemClusters(members=(tuple(range(n_items)),)))
    expected = [" + ".join(items[place] for place in sorted(basket)) for basket in lists]
    assert [text for (text,) in texts_of(found)] == expected


@pytest.mark.parametrize("item", ["empty", "*", "…", "", " a", "a + b", '"a"', "+"])
def test_an_item_never_reads_like_something_else(item):
    baskets = Baskets.of_lists([["a", "b"], [item], ["a"], ["b"], []])
    members = tuple(range(baskets.n_items))
    texts = [text for (text,) in texts_of(slice_baskets(baskets, ItemClusters(members=(members,))))]
    assert len(set(texts)) == 5
    assert texts[1][0] == texts[1][-1] == '"'


def test_rare_sets_lose_their_rarest_items():
    lists = [["bread", "milk", "rum"], ["bread", "milk", "tea"], ["bread"], ["bread"], [], []]
    baskets = Baskets.of_lists(lists)
    found = slice_baskets(baskets, ItemClusters(members=((0, 1, 2, 3),)), 2)
    assert [text for (text,) in texts_of(found)] == [
        *["bread + milk + …"] * 2,
        *["bread"] * 2,
        *["empty"] * 2,
    ]
    (recode,) = found.recode
    assert recode.by == "value"
    assert [label.members for label in recode.labels] == [(0,), (1, 2), (3,)]


def test_what_is_left_over_is_filled_up_until_it_is_frequent():
    baskets = Baskets.of_lists([["a"], ["b"], ["b"], ["b"], [], []])
    found = slice_baskets(baskets, ItemClusters(members=((0, 1),)), 2)
    # One basket with a alone would be told apart; the two empty ones join it.
    assert [text for (text,) in texts_of(found)] == ["*", "b", "b", "b", "*", "*"]


def test_of_values_equally_rare_the_last_one_joins_what_is_left_over():
    baskets = Baskets.of_lists([["a"], ["b"], ["b"], ["c"], ["c"], [], [], []])
    found = slice_baskets(baskets, ItemClusters(members=((0, 1, 2),)), 2)
    assert [text for (text,) in texts_of(found)] == ["*", "b", "b", "*", "*", *["empty"] * 3]


def test_columns_may_have_minimums_of_their_own():
    baskets = Baskets.of_lists([["a", "b"], [], ["b"], []])
    found = slice_baskets(baskets, ItemClusters(members=((0,), (1,))), [2, 2])
    assert [recode.column for recode in found.recode] == ["items_1"]
    assert slice_baskets(baskets, ItemClusters(members=((0,), (1,))), [1, 2]).recode == ()


def test_more_than_all_baskets_cannot_share_a_value():
    baskets = Baskets.of_lists([["a"], []])
    clusters = ItemClusters(members=((0,),))
    with pytest.raises(InfeasibleError) as caught:
        slice_baskets(baskets, clusters, 3)
    assert caught.value.best == {"min_frequency": 2}
    assert texts_of(slice_baskets(baskets, clusters, 2)) == [("*",), ("*",)]


def test_no_basket_has_no_value():
    baskets = Baskets.of_codes(["a"], [])
    found = slice_baskets(baskets, ItemClusters(members=((0,),)), 5)
    assert found.rows.n_rows == 0
    assert found.rows.domains[0].size == 0


@pytest.mark.parametrize("members", [((0,),), ((0, 1), (1,)), ((0, 1, 2),)])
def test_clusters_must_hold_every_item_once(members):
    with pytest.raises(ParameterError, match="2 items must be in exactly one cluster"):
        slice_baskets(Baskets.of_lists([["a", "b"]]), ItemClusters(members=members))


@pytest.mark.parametrize("least", [0, [1], [1, 1, 1], 1.5, [1, 0]])
def test_minimums_must_fit(least):
    with pytest.raises(ParameterError, match="min_frequency"):
        slice_baskets(Baskets.of_lists([["a", "b"]]), ItemClusters(members=((0,), (1,))), least)


def test_rows_are_small_whole_numbers():
    found = slice_baskets(Baskets.of_lists([["a"]]), ItemClusters(members=((0,),)))
    assert found.rows.codes.dtype == np.int32
