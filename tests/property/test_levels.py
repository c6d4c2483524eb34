"""Levels: of methods, of checks and by definition; and what bounds drawn from a table betray."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.levelled import buckets_at_levels, cells_at_levels, sliced_at_levels
from shoal.core.levels import Level, level_domain, tree_of_levels
from shoal.core.sliced import Layout, Sliced
from shoal.engines.sql.domains import build_domain
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.levels import quantile_bounds
from shoal.release.checked_levels import place_values, tree_above

WHOLE = st.one_of(st.integers(-40, 40), st.integers(-(2**62), 2**62)).map(str)
REAL = st.one_of(
    st.decimals(-9, 9, places=2).map(str),
    st.floats(allow_nan=False, allow_infinity=False).map(repr),
)
DAY = st.integers(-800, 800).map(lambda n: (date(2020, 1, 1) + timedelta(n)).isoformat())
KINDS = {ColumnType.INTEGER: WHOLE, ColumnType.REAL: REAL, ColumnType.DATE: DAY}


def number(text):
    return text if text.count("-") == 2 and "e" not in text else Fraction(text)


@st.composite
def columns(draw):
    """Draw the domain of a column with levels, whose bounds may be values."""
    kind = draw(st.sampled_from(sorted(KINDS)))
    texts = draw(st.lists(KINDS[kind], min_size=1, max_size=90, unique_by=float_of))
    values = [*texts, *([None] if draw(st.booleans()) else [])]
    domain, _ = build_domain("pay", kind, values)
    pool = st.sampled_from(texts) | (DAY if kind is ColumnType.DATE else WHOLE)
    bounds = draw(st.lists(pool, min_size=1, max_size=6))
    kept = sorted({plain(bound) for bound in bounds} - {None}, key=number)
    return domain, Level("pay", bounds=tuple(kept or ["0"] * (kind is not ColumnType.DATE)))


def float_of(text):
    return text if text.count("-") == 2 and "e" not in text else float(text)


def plain(text):
    """Return a number as the manifest writes it; None if it would be too long."""
    if text.count("-") == 2 and "e" not in text:
        return text
    try:
        read = shoal.Schema(sensitive="a", quasi="b", levels={"a": {"intervals": [text]}})
    except shoal.errors.SchemaError:
        return None
    return read.levels["a"].intervals[0]


@given(columns())
@settings(max_examples=300)
def test_levels_of_methods_and_of_checks_follow_from_the_definition(case):
    domain, level = case
    if not level.bounds:
        return
    names = level.labels(domain.type)
    expected = [
        names[sum(number(bound) <= number(text) for bound in level.bounds)]
        for text in domain.texts.tolist()
    ] + [None] * domain.has_missing
    for found in (level_domain(level, domain, None), place_values(level, domain, lambda _: None)):
        labels = found.labels()
        assert [labels[code] for code in found.level_of.tolist()] == expected
        assert [one for one in names if one in expected] == found.texts.tolist()
        assert found.type is ColumnType.ORDERED


@st.composite
def classifications(draw):
    """Draw a hierarchy of two levels of nodes over letters, with some of them in a column."""
    leaves = "abcdefghij"[: draw(st.integers(1, 10))]
    node = {leaf: f"n{draw(st.integers(0, 3))}" for leaf in leaves}
    above = {one: f"m{draw(st.integers(0, 1))}" for one in sorted(set(node.values()))}
    rows = [[leaf, node[leaf], above[node[leaf]]] for leaf in leaves]
    used = draw(st.lists(st.sampled_from(leaves), min_size=1, unique=True))
    domain = Domain.of_texts("work", sorted(used), has_missing=draw(st.booleans()))
    return domain, rows, draw(st.integers(1, 2))


@given(classifications())
@settings(max_examples=200)
def test_nodes_of_methods_and_of_checks_agree(case):
    domain, rows, node_level = case
    hierarchy = Hierarchy.from_rows(rows)
    tree, level = hierarchy.over(domain), Level("work", node_level=node_level)
    # The published hierarchy has the paths of all values, the missing one included.
    published = Hierarchy.from_rows(tree.rows())
    ours = level_domain(level, domain, tree)
    theirs = place_values(level, domain, lambda _: published)
    path = {row[0]: row for row in rows}
    expected = [path[text][node_level] for text in domain.texts.tolist()]
    expected += [None] * domain.has_missing
    for found in (ours, theirs):
        labels = found.labels()
        assert [labels[code] for code in found.level_of.tolist()] == expected
    assert ours.labels() == theirs.labels()
    above, checked = (
        tree_of_levels(tree, node_level, ours),
        tree_above(level, theirs, lambda _: published),
    )
    assert sorted(above.rows(), key=str) == sorted(checked.rows(), key=str)
    assert above.height == checked.height


@given(columns(), st.data())
@settings(max_examples=150)
def test_counts_at_levels_are_the_counts_of_rows_at_levels(case, data):
    domain, level = case
    if not level.bounds:
        return
    levels = level_domain(level, domain, None)
    age = Domain.of_texts("age", ["1", "2", "3"])
    row = st.tuples(st.integers(0, 4), st.integers(0, 2), st.integers(0, domain.size - 1))
    rows = data.draw(st.lists(row, min_size=1, max_size=30))
    used = sorted({bucket for bucket, _, _ in rows})
    bucket = np.array([used.index(one) for one, _, _ in rows])
    codes = np.array([[a, v] for _, a, v in rows])
    labels = levels.labels()
    at_level = [labels[levels.level_of[value]] for value in codes[:, 1].tolist()]

    found = buckets_at_levels(Buckets.of_pairs(bucket, codes[:, 1], domain), levels)
    told = {
        (int(b), labels[v]): int(n)
        for b, v, n in zip(found.bucket, found.value, found.count, strict=True)
    }
    assert told == Counter(zip(bucket.tolist(), at_level, strict=True))

    cells = cells_at_levels(Cells.of_rows([age, domain], codes), {"pay": levels})
    told = {
        (int(a), labels[v]): int(n) for (a, v), n in zip(cells.codes, cells.counts, strict=True)
    }
    assert told == Counter(zip(codes[:, 0].tolist(), at_level, strict=True))

    ones = np.ones(len(rows), dtype=np.int64)
    whole = Cells((age, domain), codes, ones)
    layout = Layout((("age", "pay"),), ("pay",), ("age",))
    sliced = Sliced.of_pieces(whole, layout, np.arange(len(rows)), bucket, ones)
    (column,) = sliced_at_levels(sliced, {"pay": levels}).columns
    told = {
        (int(b), int(a), labels[v]): int(n)
        for b, a, v, n in zip(
            column.bucket, column.codes("age"), column.codes("pay"), column.count, strict=True
        )
    }
    triples = zip(bucket.tolist(), codes[:, 0].tolist(), at_level, strict=True)
    assert told == Counter(triples)


@given(
    st.lists(st.tuples(st.integers(-300, 300), st.integers(1, 30)), min_size=2, max_size=80,
             unique_by=lambda pair: pair[0]),
    st.integers(2, 25),
    st.integers(1, 12),
    st.sampled_from([ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE]),
)  # fmt: skip
@settings(max_examples=300)
def test_bounds_keep_k_people_apart_and_betray_no_value(pairs, n_levels, k, kind):
    pairs = sorted(pairs)
    if kind is ColumnType.DATE:
        texts = [(date(2020, 1, 1) + timedelta(value)).isoformat() for value, _ in pairs]
    else:
        texts = [str(value) if kind is ColumnType.INTEGER else f"{value / 4}" for value, _ in pairs]
    domain, _ = build_domain("pay", kind, texts)
    counts = np.array([count for _, count in pairs], dtype=np.int64)
    bounds = quantile_bounds(domain, counts, n_levels, k)
    assert len(bounds) < n_levels
    if not bounds:
        # No value parts the people into two groups of k.
        below = np.cumsum(counts) - counts
        assert not np.any((below >= k) & (counts.sum() - below >= k))
        return
    levels = level_domain(Level("pay", bounds=bounds), domain, None)
    people = np.zeros(levels.size, dtype=np.int64)
    np.add.at(people, levels.level_of, counts)
    assert levels.size == len(bounds) + 1
    assert people.min() >= k
    count_of = dict(zip([number(text) for text in texts], counts.tolist(), strict=True))
    for bound in bounds:
        held = count_of.get(number(bound), k)
        if held < k:
            # Then numbers that are less round are values too, on both sides of it.
            assert kind is not ColumnType.REAL
