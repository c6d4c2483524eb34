"""Grouping, selecting and planning against slow twins that know nothing of arrays."""

from __future__ import annotations

from collections import Counter
from dataclasses import fields
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core import _cell_kernels
from shoal.core.cells import Buckets, Cells, group
from shoal.core.domain import Domain
from shoal.core.errors import InternalError
from shoal.core.kernels import load_plain
from shoal.core.plan import Drop, Plan, Segments

PLAIN = load_plain("shoal.core._cell_kernels")

# --- grouping ------------------------------------------------------------------------------------


@st.composite
def columns_of_codes(draw):
    """Draw columns whose codes could make far more combinations than 64 bits can number."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 3, 255, 2**20, 2**31, 2**40]), max_size=9))
    n_rows = draw(st.integers(0, 12))
    # Few different codes a column, at both ends of its range, so that combinations do repeat.
    return sizes, [
        [draw(st.sampled_from([0, size // 2, size - 1])) for size in sizes] for _ in range(n_rows)
    ]


@given(columns_of_codes())
def test_group_agrees_with_a_dictionary(drawn):
    sizes, rows = drawn
    columns = [np.array([row[i] for row in rows], dtype=np.int64) for i in range(len(sizes))]
    first, inverse = group(columns, sizes, len(rows))
    distinct = sorted(set(map(tuple, rows)))
    assert first.tolist() == [[*map(tuple, rows)].index(combination) for combination in distinct]
    assert inverse.tolist() == [distinct.index(tuple(row)) for row in rows]


@pytest.mark.parametrize("kernels", [_cell_kernels, PLAIN], ids=["compiled", "plain"])
@given(
    keys=st.lists(st.integers(0, 5) | st.integers(0, 2**63 - 1) | st.sampled_from([2**40, 2**62])),
    most=st.integers(0, 20),
)
def test_keys_are_numbered_as_by_a_dictionary_unless_they_are_too_many(kernels, keys, most):
    codes, first = np.empty(len(keys), dtype=np.int32), np.empty(most, dtype=np.int64)
    distinct = list(dict.fromkeys(keys))
    n_found = kernels.number_keys(np.array(keys, dtype=np.int64), codes, first)
    assert n_found == (len(distinct) if len(distinct) <= most else -1)
    if n_found >= 0:
        assert codes.tolist() == [distinct.index(key) for key in keys]
        assert first[:n_found].tolist() == [keys.index(key) for key in distinct]


@pytest.mark.parametrize("kernels", [_cell_kernels, PLAIN], ids=["compiled", "plain"])
@pytest.mark.parametrize("step", [1, 2**20, 2**32, 2**40 + 1])
def test_a_growing_table_loses_no_key(kernels, step):
    keys = np.tile(np.arange(3000, dtype=np.int64) * step, 2)
    codes, first = np.empty(6000, dtype=np.int32), np.empty(3000, dtype=np.int64)
    assert kernels.number_keys(keys, codes, first) == 3000
    assert codes.tolist() == [*range(3000), *range(3000)]
    assert first.tolist() == [*range(3000)]


@pytest.mark.parametrize("n_distinct", [3, 12, 13, 100])
def test_group_sorts_few_keys_and_many_alike(n_distinct):
    sizes, places = [2**20, 2**31], np.random.default_rng(1).integers(0, n_distinct, 100)
    columns = [places * 7919 % 2**20, places * 104729 % 2**31]
    first, inverse = group(columns, sizes, 100)
    rows = list(zip(*(column.tolist() for column in columns), strict=True))
    assert [rows[place] for place in first.tolist()] == sorted(set(rows))
    assert first.tolist() == [rows.index(row) for row in sorted(set(rows))]
    assert inverse.tolist() == [sorted(set(rows)).index(row) for row in rows]


def test_group_tells_apart_what_agrees_in_the_first_62_bits():
    sizes = [2] * 70
    rows = np.zeros((71, 70), dtype=np.int64)
    rows[np.arange(70), np.arange(70)] = 1
    first, inverse = group(list(rows.T), sizes, 71)
    assert len(first) == 71
    assert rows[first].tolist() == sorted(rows.tolist())
    assert sorted(inverse.tolist()) == list(range(71))


# --- selecting -----------------------------------------------------------------------------------


@st.composite
def tables(draw):
    """Draw rows of codes over up to 12 columns; 12 of 60 values each are 70 bits."""
    sizes = draw(st.lists(st.sampled_from([1, 2, 60]), min_size=1, max_size=12))
    domains = [
        Domain.of_texts(f"column {i}", [f"v{code}" for code in range(size)], has_missing=size == 2)
        for i, size in enumerate(sizes)
    ]
    row = st.tuples(*(st.sampled_from([0, d.size // 2, d.size - 1]) for d in domains))
    return domains, draw(st.lists(row, max_size=15))


@given(tables(), st.data())
def test_select_agrees_with_a_counter(table, data):
    domains, rows = table
    names = [domain.column for domain in domains]
    chosen = data.draw(st.permutations(names))[: data.draw(st.integers(0, len(names)))]
    places = [names.index(column) for column in chosen]
    cells = Cells.of_rows(domains, np.array(rows, dtype=np.int64))
    selected, inverse = cells.select_with_inverse(chosen)

    expected = sorted(Counter(tuple(row[p] for p in places) for row in rows).items())
    assert [tuple(row) for row in selected.codes.tolist()] == [cell for cell, _ in expected]
    assert selected.counts.tolist() == [count for _, count in expected]
    assert selected.columns == tuple(chosen)
    assert selected.codes[inverse].tolist() == cells.codes[:, places].tolist()
    assert selected.n_rows == cells.n_rows == len(rows)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(1, 9))), st.booleans())
def test_buckets_agree_with_a_counter(entries, is_weighted):
    domain = Domain.of_texts("disease", ["a", "b", "c"], has_missing=True)
    bucket, value, count = np.array(entries, dtype=np.int64).reshape(-1, 3).T
    buckets = Buckets.of_pairs(bucket, value, domain, count if is_weighted else None)

    pairs, sizes, totals = Counter(), Counter(), Counter()
    for b, v, n in entries:
        weight = n if is_weighted else 1
        pairs[b, v] += weight
        sizes[b] += weight
        totals[v] += weight
    numbers = range(max(sizes, default=-1) + 1)
    found = zip(
        buckets.bucket.tolist(), buckets.value.tolist(), buckets.count.tolist(), strict=True
    )
    assert [((b, v), n) for b, v, n in found] == sorted(pairs.items())
    assert buckets.sizes.tolist() == [sizes[b] for b in numbers]
    assert buckets.totals.tolist() == [totals[v] for v in range(4)]
    assert buckets.starts.tolist() == [sum(b < number for b, _ in pairs) for number in numbers]


# --- plans ---------------------------------------------------------------------------------------

PARTS = [field.name for field in fields(Segments)]


def segments(rows):
    columns = np.array(rows, dtype=np.int64).reshape(-1, len(PARTS)).T
    return Segments(*columns)


def walk(rows):
    """Place row after row: (class, rank, bucket), as the words of `Segments` say."""
    for group_, first, last, base, step, modulus in rows:
        bucket = base
        for rank in range(first, last):
            yield group_, rank, bucket % modulus if modulus > 0 else bucket
            bucket += step


def is_right(counts, n_buckets, rows, dropped):
    """Say whether every row is placed or dropped once, into a bucket that is there."""
    placed = list(walk(rows))
    ranks = [(g, rank) for g, rank, _ in placed]
    ranks += [(g, rank) for g, first, last in dropped for rank in range(first, last)]
    return (
        sorted(ranks) == [(g, rank) for g, count in enumerate(counts) for rank in range(count)]
        and all(first < last for _, first, last, *_ in rows)
        and all(first < last for _, first, last in dropped)
        and all(0 <= bucket < n_buckets for _, _, bucket in placed)
        # Rings go upwards from a bucket and are no larger than the buckets there are.
        and all(base >= 0 and step >= 0 for _, _, _, base, step, _ in rows)
        and all(modulus <= n_buckets for *_, modulus in rows)
    )


@st.composite
def plans(draw):
    """Draw a plan that is right: every class is cut into segments, some of them dropped."""
    counts = draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    n_buckets = draw(st.integers(1, 6))
    rows, dropped = [], []
    for group_, count in enumerate(counts):
        cuts = sorted(draw(st.sets(st.integers(1, count))) | {0, count})
        for first, last in pairwise(cuts):
            if draw(st.integers(0, 4)) == 0:
                dropped.append([group_, first, last])
                continue
            modulus = draw(st.sampled_from([0, 0, n_buckets, 1]))
            step = draw(st.integers(0, 2))
            room = n_buckets if modulus else n_buckets - step * (last - first - 1)
            if room <= 0:
                step, room = 0, n_buckets
            rows.append([group_, first, last, draw(st.integers(0, room - 1)), step, modulus])
    return counts, n_buckets, draw(st.permutations(rows)), draw(st.permutations(dropped))


def plan_of(counts, n_buckets, rows, dropped):
    domain = Domain.of_texts("class", [str(code) for code in range(len(counts))])
    cells = Cells((domain,), np.arange(len(counts))[:, None], np.array(counts, dtype=np.int64))
    drop = Drop(*np.array(dropped, dtype=np.int64).reshape(-1, 3).T)
    return Plan(cells, n_buckets, segments(rows), drop=drop)


def accepts(plan):
    try:
        plan.check()
    except InternalError:
        return False
    return True


@given(plans())
def test_expand_agrees_with_a_loop(plan):
    _, _, rows, _ = plan
    group_, rank, bucket = segments(rows).expand()
    found = zip(group_.tolist(), rank.tolist(), bucket.tolist(), strict=True)
    assert list(found) == list(walk(rows))


@given(plans())
def test_check_accepts_a_plan_that_places_each_row_once(plan):
    assert is_right(*plan)
    assert accepts(plan_of(*plan))


@given(plans(), st.data())
def test_check_accepts_a_changed_plan_only_where_it_is_still_right(plan, data):
    counts, n_buckets, rows, dropped = plan
    rows, dropped = [list(row) for row in rows], [list(row) for row in dropped]
    for _ in range(data.draw(st.integers(1, 3))):
        lists = [part for part in (rows, dropped) if part]
        change = data.draw(st.sampled_from(["number", "copy", "cut out", "buckets"]))
        if change == "buckets" or not lists:
            n_buckets = max(n_buckets + data.draw(st.sampled_from([-1, 1])), 0)
            continue
        chosen = data.draw(st.sampled_from(lists))
        place = data.draw(st.integers(0, len(chosen) - 1))
        if change == "number":
            part = data.draw(st.integers(0, len(chosen[place]) - 1))
            chosen[place][part] += data.draw(st.sampled_from([-2, -1, 1, 2, 7]))
        elif change == "copy":
            chosen.append(list(chosen[place]))
        else:
            del chosen[place]
    assert accepts(plan_of(counts, n_buckets, rows, dropped)) == is_right(
        counts, n_buckets, rows, dropped
    )


@pytest.mark.parametrize("n_buckets", [1, 2, 7])
def test_whole_classes_place_each_row_once(n_buckets):
    counts = np.array([3, 1, 4])
    bucket = np.arange(3) % n_buckets
    domain = Domain.of_texts("class", ["a", "b", "c"])
    plan = Plan(
        Cells((domain,), np.arange(3)[:, None], counts),
        n_buckets,
        Segments.whole_classes(bucket, counts),
    )
    plan.check()
    assert plan.assign.expand()[2].tolist() == np.repeat(bucket, counts).tolist()
