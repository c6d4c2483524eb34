"""Positive rules and summary statistics against going through every conjunction, row by row."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, pairwise, product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.statistics import mine_positive, mine_statistics

THOROUGH = settings(max_examples=300, deadline=None)
VALUES = ["a", "b", "c", "ä ö", "😀", None]
DISEASES = ["cold", "flu", "pöx", None]
SUPPORTS = [1, 2, 3, 0.0, 0.1, 0.3, 0.5, "1/3"]
CONVICTIONS = [0, 0.5, 1, 1.1, 1.5, "4/3", 2]


@st.composite
def tables(draw):
    """Rows of texts with the sensitive value last, and hierarchies over more than their values."""
    n_columns = draw(st.integers(0, 3))
    values = st.sampled_from(
        VALUES[: draw(st.integers(1, 5))] + draw(st.sampled_from([[], [None]]))
    )
    row = st.tuples(*[values] * n_columns, st.sampled_from(DISEASES))
    rows = draw(st.lists(row, min_size=1, max_size=12))
    hierarchies = [draw(st.none() | paths()) for _ in range(n_columns)]
    return rows, hierarchies


@st.composite
def paths(draw):
    """The path of every value, leaf first: two levels of groups between it and the root."""
    lower = draw(st.lists(st.integers(0, 3), min_size=6, max_size=6))
    upper = draw(st.lists(st.integers(0, 1), min_size=4, max_size=4))
    found = [
        [value, f"low {group}", f"high {upper[group]}", "*"]
        for value, group in zip(VALUES, lower, strict=True)
    ]
    return found if draw(st.booleans()) else [path for path in found if path[0] is not None]


def cells_of(rows, worth=None):
    """Count rows; a domain has every value, of which some are carried by none."""
    n_columns = len(rows[0]) - 1
    texts = [text for text in DISEASES if text is not None]
    domains = [
        Domain.of_texts(f"q{place}", VALUES[:-1], has_missing=True) for place in range(n_columns)
    ]
    if worth is None:
        domains.append(Domain.of_texts("s", texts, has_missing=True))
    else:
        kind = ColumnType.REAL
        domains.append(Domain.of_texts("s", texts, type=kind, numbers=worth, has_missing=True))
    codes = [domain.codes_of([row[place] for row in rows]) for place, domain in enumerate(domains)]
    return Cells.of_rows(domains, np.stack(codes, axis=1))


def trees_of(cells, hierarchies):
    return {
        f"q{place}": Hierarchy.from_rows(rows).over(cells.domain(f"q{place}"))
        for place, rows in enumerate(hierarchies)
        if rows is not None
    }


def slow_nodes(rows, place, hierarchy):
    """The labels of a column and the values each stands for, sets once, by the highest."""
    present = frozenset(row[place] for row in rows)
    found = {}
    for level in range(3 if hierarchy else 1):
        for value in VALUES:
            path = next((path for path in hierarchy or [] if path[0] == value), [value] * 3)
            members = frozenset(
                other[0] for other in hierarchy or [] if other[level] == path[level]
            ) or frozenset([value])
            extent = members & present
            if extent and extent != present:
                found[extent] = path[level]
    return [(f"q{place}", label, extent) for extent, label in found.items()]


def slow_antecedents(rows, hierarchies, max_len):
    """Every conjunction of nodes of different columns, and the values of the rows it holds for."""
    n_columns = len(rows[0]) - 1
    nodes = [slow_nodes(rows, place, hierarchies[place]) for place in range(n_columns)]
    longest = n_columns if max_len is None else min(max_len, n_columns)
    for length in range(1, longest + 1):
        for places in combinations(range(n_columns), length):
            for chosen in product(*(nodes[place] for place in places)):
                held = [
                    row[-1]
                    for row in rows
                    if all(
                        row[place] in extent
                        for place, (_, _, extent) in zip(places, chosen, strict=True)
                    )
                ]
                yield frozenset((column, label) for column, label, _ in chosen), held


def is_frequent(number, n_rows, min_support):
    least = min_support if isinstance(min_support, int) else Fraction(str(min_support)) * n_rows
    return number >= max(least, 1)


def slow_rules(rows, hierarchies, min_support, min_conviction, max_len):
    found = {}
    for antecedent, held in slow_antecedents(rows, hierarchies, max_len):
        for value in DISEASES:
            hits = held.count(value)
            if not is_frequent(hits, len(rows), min_support):
                continue
            without = Fraction(sum(row[-1] != value for row in rows), len(rows))
            conviction = math.inf
            if hits < len(held):
                conviction = Fraction(len(held)) * without / (len(held) - hits)
            if conviction >= Fraction(str(min_conviction)):
                found[antecedent, value] = (len(held), hits, conviction)
    return found


@THOROUGH
@given(
    tables(), st.sampled_from(SUPPORTS), st.sampled_from(CONVICTIONS), st.sampled_from([1, 2, None])
)
def test_rules_are_those_of_every_conjunction(table, min_support, min_conviction, max_len):
    rows, hierarchies = table
    cells = cells_of(rows)
    options = {"min_support": min_support, "min_conviction": min_conviction, "max_len": max_len}
    rules = mine_positive(cells, "s", trees_of(cells, hierarchies), **options)
    expected = slow_rules(rows, hierarchies, min_support, min_conviction, max_len)
    found = {(frozenset(rule.antecedent.items()), rule.value): rule for rule in rules}
    assert len(found) == len(rules)
    assert found.keys() == expected.keys()
    for key, (count, hits, conviction) in expected.items():
        rule = found[key]
        assert rule.count == count
        assert (rule.confidence, rule.support) == (hits / count, hits / len(rows))
        assert rule.conviction == float(conviction)


@THOROUGH
@given(tables(), st.sampled_from([1, None]), st.randoms())
def test_rules_are_sorted_whatever_the_order_of_rows(table, max_len, chance):
    rows, hierarchies = table
    cells = cells_of(rows)
    trees = trees_of(cells, hierarchies)
    options = {"min_support": 1, "min_conviction": 0, "max_len": max_len}
    rules = mine_positive(cells, "s", trees, **options)
    for one, other in pairwise(rules):
        keys = [(-rule.conviction, -rule.support, len(rule.antecedent)) for rule in (one, other)]
        assert keys[0] <= keys[1]
    shuffled = list(rows)
    chance.shuffle(shuffled)
    assert mine_positive(cells_of(shuffled), "s", trees, **options) == rules


@THOROUGH
@given(tables(), st.sampled_from(SUPPORTS), st.sampled_from([1, 2, None]))
def test_shares_are_those_of_every_conjunction(table, min_support, max_len):
    rows, hierarchies = table
    cells = cells_of(rows)
    trees = trees_of(cells, hierarchies)
    statistics = mine_statistics(cells, "s", trees, min_support=min_support, max_len=max_len)
    expected = {
        (antecedent, value): (len(held), held.count(value) / len(held))
        for antecedent, held in slow_antecedents(rows, hierarchies, max_len)
        if is_frequent(len(held), len(rows), min_support)
        for value in set(held)
    }
    found = {
        (frozenset(statistic.antecedent.items()), statistic.value): statistic
        for statistic in statistics
    }
    assert len(found) == len(statistics)
    assert {key: (one.count, one.share) for key, one in found.items()} == expected
    assert all(one.mean is None for one in statistics)


NUMBERS = st.lists(
    st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3, unique=True
).map(sorted)


@THOROUGH
@given(tables(), NUMBERS, st.sampled_from(SUPPORTS), st.sampled_from([1, 2, None]))
def test_means_are_those_of_the_rows_with_a_value(table, worth, min_support, max_len):
    rows, hierarchies = table
    cells = cells_of(rows, worth)
    trees = trees_of(cells, hierarchies)
    statistics = mine_statistics(cells, "s", trees, min_support=min_support, max_len=max_len)
    known = [row for row in rows if row[-1] is not None]
    expected = {}
    for antecedent, held in slow_antecedents(known, hierarchies, max_len) if known else ():
        if is_frequent(len(held), len(known), min_support):
            numbers = [Fraction(worth[DISEASES.index(value)]) for value in held]
            expected[antecedent] = (len(held), float(sum(numbers) / len(numbers)))
    found = {frozenset(one.antecedent.items()): one for one in statistics}
    assert len(found) == len(statistics)
    assert found.keys() == expected.keys()
    largest = max(map(abs, worth))
    for antecedent, (count, mean) in expected.items():
        assert found[antecedent].count == count
        assert found[antecedent].share is None
        assert math.isclose(found[antecedent].mean, mean, rel_tol=1e-12, abs_tol=largest * 1e-15)
