"""Negative rules: mining, generality and marks against their definitions, in plain Python."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core import kernels
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.exact import highest_at_most
from shoal.core.tree import NO_GROUP, Level, Tree, grow_tree
from shoal.injector import consequences, crisp_mining, fuzzy_mining
from shoal.injector.consequences import forbidden_marks, most_general
from shoal.injector.fuzzy_mining import memberships
from shoal.injector.mined_rules import MinedRules, extents_of, least_counts, tree_of
from shoal.injector.miners import mine

TEXTS = ["", " ", "0", "Zürich", "e\u0301", "é", "名", "🂡"]
SLACK = 1e-9

expectations = st.one_of(
    st.sampled_from([0, Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), "0.9", 1]),
    st.fractions(0, Fraction(2, 3), max_denominator=50),
)
confidences = st.one_of(
    st.just(1), st.sampled_from(["0.5", "0.8", "0.9", Fraction(2, 3)]), st.fractions(0.01, 1)
)
lengths = st.sampled_from([1, 2, None])


def covers_of(tree):
    """Mark for each node (row) the nodes (column) that lie within it, itself included."""
    return (tree.first[:, np.newaxis] <= tree.first) & (tree.last <= tree.last[:, np.newaxis])


# --- tables --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Example:
    """A random table: rows of codes, the sensitive one last."""

    domains: list[Domain]
    trees: dict[str, Tree]
    rows: list[tuple[int, ...]]

    @property
    def cells(self) -> Cells:
        return Cells.of_rows(self.domains, np.array(self.rows))

    @property
    def quasi(self) -> list[Domain]:
        return self.domains[:-1]

    @property
    def totals(self) -> Counter[int]:
        return Counter(row[-1] for row in self.rows)

    def tree(self, column: int) -> Tree:
        return tree_of(self.domains[column], self.trees)


@st.composite
def levels_of(draw, domain: Domain) -> list[Level]:
    """Draw levels of a hierarchy; each merges groups of the one below, some end early."""
    found: list[Level] = []
    size = len(domain.texts) + (domain.has_missing and draw(st.booleans()))
    groups = np.arange(size)
    for number in range(draw(st.integers(0, 3))):
        n_groups = int(groups.max(initial=-1)) + 1
        merged = draw(st.lists(st.integers(-1, 3), min_size=n_groups, max_size=n_groups))
        used = sorted({group for group in merged if group >= 0})
        above = np.array([used.index(group) if group >= 0 else -1 for group in merged] or [0])
        groups = np.where(groups == NO_GROUP, NO_GROUP, above[groups])
        used_now = np.unique(groups[groups >= 0])
        groups = np.where(groups >= 0, np.searchsorted(used_now, groups), NO_GROUP)
        found.append(Level(groups, [f"level {number} group {group}" for group in range(len(used))]))
    return found


@st.composite
def domains_of(draw, column: str, most: int) -> Domain:
    size = draw(st.integers(1, most))
    if draw(st.booleans()):
        texts = TEXTS[:size] if size <= len(TEXTS) else [f"v{code}" for code in range(size)]
        return Domain.of_texts(column, texts, has_missing=draw(st.booleans()))
    gaps = draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    numbers = np.cumsum(gaps).astype(float).tolist()
    return Domain.of_texts(
        column,
        [f"{place}: {number:g}" for place, number in enumerate(numbers)],
        type=ColumnType.REAL,
        numbers=numbers,
        has_missing=draw(st.booleans()),
    )


@st.composite
def examples(draw, n_columns=(0, 3), most=5, n_values=4, n_rows=(0, 30)) -> Example:
    domains = [
        draw(domains_of(f"q{number}", most)) for number in range(draw(st.integers(*n_columns)))
    ]
    trees = {}
    for domain in domains:
        if draw(st.integers(0, 3)):
            trees[domain.column] = grow_tree(domain, draw(levels_of(domain)))
    least = 1 if n_values <= 60 else n_values
    texts = [f"s{value:03d}" for value in range(draw(st.integers(least, n_values)))]
    domains.append(Domain.of_texts("s", texts, has_missing=draw(st.booleans())))
    row = st.tuples(*(st.integers(0, domain.size - 1) for domain in domains))
    # Left to itself, a list is mostly short.
    size = draw(st.integers(*n_rows))
    drawn = draw(st.lists(row, min_size=size, max_size=size))
    if n_values > 60:
        # Else too few of so many values would occur.
        drawn = [(*codes[:-1], place % domains[-1].size) for place, codes in enumerate(drawn)]
    return Example(domains, trees, drawn)


wide = examples(n_columns=(2, 3), most=40, n_rows=(20, 60))
many_values = examples(n_columns=(1, 2), n_values=70, n_rows=(68, 90))
tables = st.one_of(examples(), examples(n_columns=(1, 4), most=3, n_rows=(1, 60)), many_values)


# --- definitions ---------------------------------------------------------------------------------


def usable_nodes(example: Example, column: int) -> list[int]:
    """Give nodes that hold some but not all values of the table; of equal ones the highest."""
    tree = example.tree(column)
    present = {row[column] for row in example.rows}
    highest: dict[frozenset[int], int] = {}
    for node in range(tree.n_nodes):
        extent = frozenset(tree.members(node).tolist()) & present
        if extent and extent != present:
            highest[extent] = node
    return sorted(highest.values())


def antecedents(nodes_by_column: list[list[int]], max_len: int | None):
    """Give every choice of a node or none in each column, but none in all of them."""
    found: list[tuple[int, ...]] = [()]
    for nodes in nodes_by_column:
        found = [(*chosen, node) for chosen in found for node in (-1, *nodes)]
    longest = len(nodes_by_column) if max_len is None else max_len
    return [chosen for chosen in found if 1 <= sum(node >= 0 for node in chosen) <= longest]


def in_order(rules):
    return sorted(rules, key=lambda rule: (sum(node >= 0 for node in rule[0]), rule[0], rule[1]))


def define_rules(example: Example, min_exp, min_conf, max_len):
    """Give all rules by their definition, and the number of antecedents with rows enough."""
    n_rows, totals = len(example.rows), example.totals
    nodes = [usable_nodes(example, column) for column in range(len(example.quasi))]
    bits = [
        {
            node: sum(
                1 << place
                for place, row in enumerate(example.rows)
                if row[column] in set(example.tree(column).members(node).tolist())
            )
            for node in nodes[column]
        }
        for column in range(len(nodes))
    ]
    has_value = {
        value: sum(1 << place for place, row in enumerate(example.rows) if row[-1] == value)
        for value in totals
    }
    enough = {
        value: [
            (1 - Fraction(total, n_rows)) ** count <= 1 - min_exp for count in range(n_rows + 1)
        ]
        for value, total in totals.items()
    }
    rules, n_itemsets = [], 0
    for chosen in antecedents(nodes, max_len):
        held = (1 << n_rows) - 1
        for column, node in enumerate(chosen):
            held &= bits[column][node] if node >= 0 else held
        count = held.bit_count()
        n_itemsets += count > 0 and any(enough[value][count] for value in totals)
        for value in totals:
            hits = (held & has_value[value]).bit_count()
            if count > 0 and enough[value][count] and hits <= (1 - min_conf) * count:
                rules.append((chosen, value, count, hits))
    return in_order(rules), n_itemsets


def listed(rules: MinedRules):
    return list(
        zip(
            map(tuple, rules.nodes.tolist()),
            rules.value.tolist(),
            rules.count.tolist(),
            rules.hits.tolist(),
            strict=True,
        )
    )


def exact(value) -> Fraction:
    return Fraction(str(value))


def check_mining(example: Example, min_exp, min_conf, max_len):
    mined = mine(
        example.cells,
        "s",
        example.trees,
        min_exp=min_exp,
        min_conf=min_conf,
        max_len=max_len,
    )
    rules, n_itemsets = define_rules(example, exact(min_exp), exact(min_conf), max_len)
    assert listed(mined) == rules
    assert mined.n_itemsets == n_itemsets
    assert mined.columns == tuple(domain.column for domain in example.quasi)
    assert (mined.nodes.dtype, mined.value.dtype) == (np.int32, np.int32)
    assert (mined.count.dtype, mined.hits.dtype) == (np.int64, np.int64)
    return mined


# --- mining --------------------------------------------------------------------------------------


@given(tables, expectations, confidences, lengths)
@settings(max_examples=400)
def test_rules_are_those_of_the_definition(example, min_exp, min_conf, max_len):
    check_mining(example, min_exp, min_conf, max_len)


@given(wide, st.sampled_from(["0.05", "0.5"]), st.sampled_from([1, "0.6"]), lengths)
@settings(max_examples=60)
def test_rules_of_columns_with_many_values_are_those_of_the_definition(
    example, min_exp, min_conf, max_len
):
    check_mining(example, min_exp, min_conf, max_len)


@given(many_values, st.sampled_from([0, "0.02", "0.3"]), confidences, lengths)
@settings(max_examples=60)
def test_rules_about_more_than_64_values_are_those_of_the_definition(
    example, min_exp, min_conf, max_len
):
    check_mining(example, min_exp, min_conf, max_len)


@given(tables, expectations, st.permutations(range(5)))
@settings(max_examples=60)
def test_the_order_of_columns_changes_no_rule(example, min_exp, order):
    places = [place for place in order if place < len(example.domains)]
    turned = Cells.of_rows(
        [example.domains[place] for place in places],
        np.array([[row[place] for place in places] for row in example.rows]),
    )
    mined = mine(turned, "s", example.trees, min_exp=min_exp, max_len=None)
    names = [domain.column for domain in example.quasi]
    back = [mined.columns.index(name) for name in names]
    rules = [(tuple(nodes[place] for place in back), *rest) for nodes, *rest in listed(mined)]
    assert in_order(rules) == define_rules(example, exact(min_exp), Fraction(1), None)[0]


@given(tables, expectations, confidences, lengths)
@settings(max_examples=60)
def test_counting_in_small_parts_changes_nothing(example, min_exp, min_conf, max_len):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crisp_mining, "_CHUNK", 8)
        check_mining(example, min_exp, min_conf, max_len)


@given(tables, expectations, confidences, lengths)
@settings(max_examples=60)
def test_kernels_as_plain_python_find_the_same(example, min_exp, min_conf, max_len):
    plain = kernels.load_plain("shoal.injector._mining_kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crisp_mining, "Miner", plain.Miner)
        patch.setattr(consequences, "Finder", plain.Finder)
        patch.setattr(consequences, "mark_cells", plain.mark_cells)
        mined = check_mining(example, min_exp, min_conf, max_len)
        kept = check_generality(example, mined)
        check_marks(example, mined.take(kept))


# --- fuzzy mining --------------------------------------------------------------------------------


def degree(domain: Domain, tree: Tree, node: int, code: int, width: Fraction | None) -> Fraction:
    members = tree.members(node).tolist()
    if width is None:
        return Fraction(code in members)
    if code == domain.missing_code:
        return Fraction(members == [code])
    numbers = [Fraction(domain.numbers[one]) for one in members if one != domain.missing_code]
    if not numbers:
        return Fraction(0)
    number = Fraction(domain.numbers[code])
    return max(Fraction(0), 1 - max(min(numbers) - number, number - max(numbers), 0) / width)


def real_threshold(total: int, n_rows: int, min_exp: Fraction) -> float:
    if min_exp == 0 or total == n_rows:
        return 0.0
    return math.inf if min_exp == 1 else math.log(1 - min_exp) / math.log(1 - total / n_rows)


def define_fuzzy(example: Example, min_exp, min_conf, max_len, how, widths):
    n_rows, totals = len(example.rows), example.totals
    thresholds = {value: real_threshold(total, n_rows, min_exp) for value, total in totals.items()}
    nodes = [usable_nodes(example, column) for column in range(len(example.quasi))]
    degrees = {
        (column, node, code): degree(
            domain, example.tree(column), node, code, widths.get(domain.column)
        )
        for column, domain in enumerate(example.quasi)
        for node in nodes[column]
        for code in range(domain.size)
    }
    rules, n_itemsets = [], 0
    for chosen in antecedents(nodes, max_len):
        hits: Counter[int] = Counter()
        for row in example.rows:
            each = [
                degrees[column, node, row[column]]
                for column, node in enumerate(chosen)
                if node >= 0
            ]
            hits[row[-1]] += math.prod(each) if how == "product" else min(each)
        count = hits.total()
        enough = {value for value in totals if 0 < count >= thresholds[value] * (1 - SLACK)}
        n_itemsets += bool(enough)
        rules.extend(
            (chosen, value, count, hits[value])
            for value in enough
            if hits[value] <= (1 - min_conf) * count * (1 + Fraction(SLACK))
        )
    return in_order(rules), n_itemsets


fuzzy_tables = st.one_of(
    examples(n_columns=(1, 3), most=4, n_rows=(8, 20)), examples(n_columns=(1, 2), n_rows=(0, 30))
)
how = st.sampled_from(["product", "minimum"])


def check_fuzzy(example, min_exp, min_conf, max_len, how, widths):
    mined = mine(
        example.cells,
        "s",
        example.trees,
        min_exp=min_exp,
        min_conf=min_conf,
        max_len=max_len,
        fuzzy=how,
        width=widths,
    )
    rules, n_itemsets = define_fuzzy(example, exact(min_exp), exact(min_conf), max_len, how, widths)
    assert [rule[:2] for rule in listed(mined)] == [rule[:2] for rule in rules]
    assert mined.n_itemsets == n_itemsets
    assert mined.count.dtype == mined.hits.dtype == np.float64
    np.testing.assert_allclose(mined.count, [float(rule[2]) for rule in rules], rtol=1e-12)
    np.testing.assert_allclose(mined.hits, [float(rule[3]) for rule in rules], rtol=1e-12)


def draw_widths(data, example) -> dict[str, Fraction]:
    numeric = [domain.column for domain in example.quasi if domain.numbers is not None]
    chosen = data.draw(st.sets(st.sampled_from(numeric), min_size=1)) if numeric else ()
    wide = st.sampled_from([Fraction(1, 3), Fraction(1), Fraction(5, 2), Fraction(4), Fraction(99)])
    return {column: data.draw(wide) for column in sorted(chosen)}


@given(fuzzy_tables, expectations, confidences, lengths, how, st.data())
@settings(max_examples=400)
def test_fuzzy_rules_are_those_of_the_definition(example, min_exp, min_conf, max_len, how, data):
    widths = draw_widths(data, example)
    if widths:
        check_fuzzy(example, min_exp, min_conf, max_len, how, widths)


@given(fuzzy_tables, expectations, confidences, lengths, how, st.data())
@settings(max_examples=60)
def test_fuzzy_counting_in_small_parts_changes_nothing(
    example, min_exp, min_conf, max_len, how, data
):
    widths = draw_widths(data, example)
    if widths:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fuzzy_mining, "_CHUNK", 16)
            check_fuzzy(example, min_exp, min_conf, max_len, how, widths)


@given(fuzzy_tables, st.data())
@settings(max_examples=60)
def test_memberships_are_those_of_the_definition(example, data):
    for column, width in draw_widths(data, example).items():
        place = example.cells.columns.index(column)
        domain, tree = example.domains[place], example.tree(place)
        found = memberships(tree, domain, float(width), np.arange(tree.n_nodes))
        expected = [
            [float(degree(domain, tree, node, code, width)) for code in range(domain.size)]
            for node in range(tree.n_nodes)
        ]
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


# --- generality and marks ------------------------------------------------------------------------


def ancestors(tree: Tree, node: int) -> set[int]:
    found = {-1}
    while node >= 0:
        found.add(node)
        node = int(tree.parent[node])
    return found


def check_generality(example: Example, mined: MinedRules):
    trees = [example.tree(column) for column in range(len(example.quasi))]
    found = most_general(mined.nodes, mined.value, [covers_of(tree) for tree in trees])
    rules = [(tuple(nodes), value) for nodes, value, *_ in listed(mined)]
    above = {
        (column, node): ancestors(trees[column], node)
        for nodes, _ in rules
        for column, node in enumerate(nodes)
    }

    def implies(general, special):
        return all(
            mine in above[column, theirs]
            for column, (mine, theirs) in enumerate(zip(general, special, strict=True))
        )

    by_value: dict[int, list[tuple[int, ...]]] = {}
    for nodes, value in rules:
        by_value.setdefault(value, []).append(nodes)
    expected = [
        not any(other != nodes and implies(other, nodes) for other in by_value[value])
        for nodes, value in rules
    ]
    assert found.tolist() == expected
    return found


@given(examples(n_columns=(1, 3), most=4), expectations, confidences, lengths)
@settings(max_examples=250)
def test_most_general_rules_are_implied_by_no_other(example, min_exp, min_conf, max_len):
    mined = mine(
        example.cells, "s", example.trees, min_exp=min_exp, min_conf=min_conf, max_len=max_len
    )
    if len(mined) < 400:
        check_generality(example, mined)


relations = st.lists(
    st.lists(st.frozensets(st.integers(0, 3), min_size=1), min_size=1, max_size=6), max_size=3
)


@given(relations, st.data())
@settings(max_examples=300)
def test_rules_from_elsewhere_may_name_any_sets(sets, data):
    rule = st.tuples(st.integers(7, 9), *(st.integers(-1, len(column) - 1) for column in sets))
    rules = data.draw(st.lists(rule, max_size=12))
    covers = [
        np.array([[general >= special for special in column] for general in column])
        for column in sets
    ]
    nodes = np.array([one[1:] for one in rules], dtype=np.int64).reshape(len(rules), len(sets))
    found = most_general(nodes, np.array([one[0] for one in rules], dtype=np.int64), covers)

    def implies(general, special):
        return general[0] == special[0] and all(
            mine == -1 or (theirs != -1 and column[mine] >= column[theirs])
            for column, mine, theirs in zip(sets, general[1:], special[1:], strict=True)
        )

    expected = [
        not any(
            implies(other, one) and (place < number or not implies(one, other))
            for place, other in enumerate(rules)
            if place != number
        )
        for number, one in enumerate(rules)
    ]
    assert found.tolist() == expected


def check_marks(example: Example, rules: MinedRules):
    trees = [example.tree(column) for column in range(len(example.quasi))]
    cells = example.cells.select([domain.column for domain in example.quasi])
    extents = [extents_of(tree) for tree in trees]
    n_values = example.domains[-1].size
    found = forbidden_marks(rules.nodes, rules.value, extents, cells.codes, n_values)
    expected = np.zeros((cells.n_cells, n_values), dtype=bool)
    for nodes, value, *_ in listed(rules):
        for place, codes in enumerate(cells.codes.tolist()):
            expected[place, value] |= all(
                node < 0 or code in tree.members(node).tolist()
                for node, code, tree in zip(nodes, codes, trees, strict=True)
            )
    assert found.dtype == bool
    assert found.tolist() == expected.tolist()
    return found


@given(examples(n_columns=(1, 3), n_rows=(1, 90)), expectations, lengths, st.booleans())
@settings(max_examples=150)
def test_a_cell_cannot_take_what_a_rule_excludes(example, min_exp, max_len, in_parts):
    mined = mine(example.cells, "s", example.trees, min_exp=min_exp, max_len=max_len)
    covers = [covers_of(example.tree(column)) for column in range(len(example.quasi))]
    general = mined.take(most_general(mined.nodes, mined.value, covers))
    with pytest.MonkeyPatch.context() as patch:
        if in_parts:
            patch.setattr(consequences, "_CHUNK", 1)
        found = check_marks(example, general)
    extents = [extents_of(example.tree(column)) for column in range(len(example.quasi))]
    cells, inverse = example.cells.select_with_inverse(mined.columns)
    everything = forbidden_marks(
        mined.nodes, mined.value, extents, cells.codes, example.domains[-1].size
    )
    # The most general rules say all that the others do, and nobody's own value is excluded.
    assert everything.tolist() == found.tolist()
    assert not found[inverse, example.cells.column("s")].any()


# --- thresholds ----------------------------------------------------------------------------------


@given(
    st.lists(st.one_of(st.integers(0, 4), st.integers(0, 300)), min_size=1, max_size=6),
    expectations,
)
@settings(max_examples=300)
def test_thresholds_are_the_least_counts_that_are_enough(totals, min_exp):
    n_rows, bound = sum(totals), 1 - exact(min_exp)

    def least(total):
        if total == 0:
            return n_rows + 1
        base = 1 - Fraction(total, n_rows)
        return next((c for c in range(n_rows + 1) if base**c <= bound), n_rows + 1)

    assert least_counts(np.array(totals), exact(min_exp)).tolist() == [*map(least, totals)]


@given(st.integers(2, 60), st.integers(1, 3000), st.integers(-2, 2))
@settings(max_examples=100)
def test_thresholds_at_the_edge_are_exact(n_values, count, step):
    # The power is rounded to so many digits that floats cannot tell on which side it lies.
    n_rows = max(n_values, count) + 1
    base, unit = 1 - Fraction(1, n_rows), Fraction(1, 10**40)
    bound = (base**count // unit + step) * unit
    if 0 < bound < 1:
        totals = np.array([1, n_rows - 1])
        expected = count if base**count <= bound else count + 1
        assert least_counts(totals, 1 - bound)[0] == expected


@given(st.fractions(0, 1), st.integers(1, 60))
@settings(max_examples=300)
def test_a_share_keeps_a_bound_where_it_keeps_the_largest_fraction_below(bound, n_rows):
    found = highest_at_most(bound, n_rows)
    shares = [Fraction(part, whole) for whole in range(1, n_rows + 1) for part in range(whole + 1)]
    assert found == max(share for share in shares if share <= bound)
