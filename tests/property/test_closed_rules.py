"""Rules by sets of rows: one for all antecedents that appear in the same rows, by definition."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.progress import Work
from shoal.hiding import hiding, mining, row_sets
from shoal.hiding.adversarial_rules import mine_adversarial_rules
from shoal.hiding.cells import BLANKED, PRIVATE, VISIBLE, HiddenTable, Limits, pack
from shoal.hiding.check import remaining_rules
from shoal.hiding.hiding import hide
from shoal.hiding.mining import mine, mine_condensed
from shoal.hiding.row_sets import RowSetSearch

deltas = st.sampled_from([Fraction(1, 2), "0.6", Fraction(2, 3), "0.8", 1])
gammas = st.sampled_from([1, 1, 2, 3])
modes = ["paper", "public", "oblivious"]


def redundant_table(generator):
    """Draw a table whose columns repeat, refine or coarsen others, or are constant."""
    n_rows = int(generator.integers(1, 16))
    most = int(generator.choice([1, 2, 2, 3, n_rows]))
    columns = [generator.integers(0, most, n_rows) for _ in range(generator.integers(1, 3))]
    for _ in range(int(generator.integers(0, 4))):
        source = columns[generator.integers(len(columns))]
        kind = generator.integers(4)
        if kind == 0:
            columns.append(source.copy())
        elif kind == 1:
            columns.append(source // 2)
        elif kind == 2:
            columns.append(source * 2 + generator.integers(0, 2, n_rows))
        else:
            columns.append(np.full(n_rows, 3))
    codes = np.column_stack([columns[place] for place in generator.permutation(len(columns))])
    share = generator.choice([0.05, 0.2, 0.5])
    state = np.where(generator.random(codes.shape) < share, PRIVATE, VISIBLE).astype(np.uint8)
    if generator.integers(2):
        state[:, :-1] = VISIBLE
    state[(generator.random(codes.shape) < 0.1) & (state == VISIBLE)] = BLANKED
    return codes, state


def define_classes(codes, state, delta, gamma, use_hidden):
    """Return, for each set of rows, column and value of a rule, its counts and all antecedents."""
    delta = Fraction(str(delta))
    shown = [
        {place: code for place, code in enumerate(row) if one[place] == VISIBLE}
        for row, one in zip(codes.tolist(), state.tolist(), strict=True)
    ]
    antecedents = defaultdict(list)
    named = {
        antecedent
        for row in shown
        for size in range(1, len(row) + 1)
        for antecedent in itertools.combinations(row.items(), size)
    }
    for antecedent in named:
        rows = tuple(n for n, row in enumerate(shown) if antecedent_is_in(antecedent, row))
        antecedents[rows].append(antecedent)
    classes = {}
    for rows, same in antecedents.items():
        for column in range(codes.shape[1]):
            public = Counter(int(codes[n, column]) for n in rows if state[n, column] == VISIBLE)
            hidden = Counter(int(codes[n, column]) for n in rows if state[n, column] == PRIVATE)
            for value, hits in public.items():
                n_public, n_hidden = public.total(), hidden.total()
                if n_public < gamma or not n_hidden or hits < delta * n_public:
                    continue
                if use_hidden and hidden[value] < delta * n_hidden:
                    continue
                counts = n_public, hits, n_hidden, hidden[value] if use_hidden else None
                classes[rows, column, value] = counts, sorted(same)
    return classes


def antecedent_is_in(antecedent, row):
    return all(row.get(place) == code for place, code in antecedent)


def rows_of(antecedent, codes, state):
    appears = np.ones(len(codes), dtype=bool)
    for place, code in antecedent:
        appears &= (state[:, place] == VISIBLE) & (codes[:, place] == code)
    return tuple(np.flatnonzero(appears).tolist())


def items_of(rule):
    return tuple(sorted(rule.antecedent.items()))


@pytest.mark.parametrize("delta", ["0.5", "2/3", "0.8", "1"])
def test_each_set_of_rows_has_a_minimal_and_the_longest_antecedent(delta):
    generator = np.random.default_rng(int(100 * Fraction(delta)))
    n_classes = n_antecedents = 0
    for _ in range(500):
        codes, state = redundant_table(generator)
        gamma, use_hidden = int(generator.integers(1, 4)), bool(generator.integers(2))
        limits = {"delta": Fraction(delta), "gamma": gamma, "use_hidden": use_hidden}
        classes = define_classes(codes, state, Fraction(delta), gamma, use_hidden)
        found = mine_condensed(codes, state, **limits)
        assert len(found.shortest) == len(found.closed) == len(classes)
        for short, long in zip(found.shortest, found.closed, strict=True):
            rows = rows_of(items_of(short), codes, state)
            counts, antecedents = classes.pop((rows, short.column, short.value))
            for rule in (short, long):
                assert items_of(rule) in antecedents
                assert (rule.column, rule.value) == (short.column, short.value)
                assert counts == (
                    rule.n_public,
                    rule.public_hits,
                    rule.n_hidden,
                    rule.hidden_hits,
                )
            assert all(set(one) <= set(items_of(long)) for one in antecedents)
            assert not any(set(one) < set(items_of(short)) for one in antecedents)
            n_classes, n_antecedents = n_classes + 1, n_antecedents + len(antecedents)
        assert not classes
    assert n_antecedents > n_classes + 200 > 500


@pytest.mark.parametrize("delta", ["0.5", "0.8", "1"])
def test_the_checker_and_the_miner_count_the_same_rules(delta):
    generator = np.random.default_rng(int(100 * Fraction(delta)))
    for _ in range(400):
        codes, state = redundant_table(generator)
        gamma, use_hidden = int(generator.integers(1, 4)), bool(generator.integers(2))
        classes = define_classes(codes, state, delta, gamma, use_hidden)
        rules = mine(codes, state, delta=delta, gamma=gamma, use_hidden=use_hidden)
        n_rules = Counter()
        for (_, column, _), (_, antecedents) in classes.items():
            n_rules[column] += len(antecedents)
        assert Counter(rules.column.tolist()) == n_rules
        left = remaining_rules(
            codes, state, delta=Fraction(delta), gamma=gamma, use_hidden=use_hidden
        )
        assert left.by_column == n_rules


@pytest.mark.parametrize("mode", modes)
def test_no_rule_is_left_if_antecedents_are_condensed(mode, monkeypatch):
    monkeypatch.setattr(hiding, "_MANY", 0)
    monkeypatch.setattr(hiding, "_REPEATED", 1)
    generator = np.random.default_rng(modes.index(mode))
    n_blanked = 0
    for _ in range(300):
        codes, state = redundant_table(generator)
        gamma = int(generator.integers(1, 4))
        hidden = hide(codes, state, delta="0.8", gamma=gamma, mode=mode)
        use_hidden = mode == "paper"
        assert not define_classes(codes, hidden.state, "0.8", gamma, use_hidden)
        n_blanked += len(hidden.cells)
        if mode == "public":
            for row, column in hidden.cells.tolist():
                fewer = hidden.state.copy()
                fewer[row, column] = VISIBLE
                assert define_classes(codes, fewer, "0.8", gamma, use_hidden)
    assert n_blanked > 150


@given(st.integers(0, 10**6), deltas, gammas, st.booleans())
@settings(max_examples=150)
def test_only_what_changed_is_searched_again(seed, delta, gamma, use_hidden):
    generator = np.random.default_rng(seed)
    codes, state = redundant_table(generator)
    table = HiddenTable(codes, state)
    limits = Limits.of(delta, gamma, len(codes), use_hidden=use_hidden)
    packed = pack(table, limits)
    search = RowSetSearch(packed, limits, Work())
    before = keys(search.all())
    wide = packed.code.copy()
    blank = packed.n_values[:, np.newaxis] + 1
    chosen = (generator.random(wide.shape) < 0.15) & (wide < blank)
    packed.code[:] = np.where(chosen, blank, wide)
    changed = np.flatnonzero(chosen.any(axis=0)).astype(np.int32)
    again, everything = keys(search.changed(changed, wide)), keys(search.all())
    assert again <= everything
    # A rule that is missed has an antecedent whose rows and counts were the same before.
    assert {rule[1:] for rule in everything - again} <= {rule[1:] for rule in before}


@given(st.integers(0, 10**6), deltas, gammas, st.booleans(), st.sampled_from([1, 3, 17, 64]))
@settings(max_examples=150)
def test_rows_in_words_are_searched_like_rows_in_arrays(seed, delta, gamma, use_hidden, n_narrow):
    generator = np.random.default_rng(seed)
    n_rows, n_columns = int(generator.integers(1, 150)), int(generator.integers(1, 7))
    most = generator.choice([1, 2, 3, 5, 30, 100], n_columns)
    codes = np.column_stack([generator.integers(0, few, n_rows) for few in most])
    state = generator.choice([VISIBLE, PRIVATE, BLANKED], codes.shape, p=[0.8, 0.15, 0.05])
    state = state.astype(np.uint8)
    limits = Limits.of(delta, gamma, n_rows, use_hidden=use_hidden)
    packed = pack(HiddenTable(codes, state), limits)
    wide = packed.code.copy()
    blank = packed.n_values[:, np.newaxis] + 1
    chosen = (generator.random(wide.shape) < 0.1) & (wide < blank)
    changed = np.flatnonzero(chosen.any(axis=0)).astype(np.int32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(row_sets, "_NARROW", 0)
        arrays = RowSetSearch(packed, limits, Work())
        patch.setattr(row_sets, "_NARROW", n_narrow)
        words = RowSetSearch(packed, limits, Work())
    assert_alike(arrays.all(), words.all())
    packed.code[:] = np.where(chosen, blank, wide)
    assert_alike(arrays.changed(changed, wide), words.changed(changed, wide))


def assert_alike(one, other):
    np.testing.assert_array_equal(one.closure, other.closure)
    np.testing.assert_array_equal(one.found, other.found)


def test_a_word_may_hold_all_of_its_64_rows():
    generator = np.random.default_rng(8)
    for n_rows in (63, 64, 65, 128):
        codes = generator.integers(0, 2, (n_rows, 6))
        state = np.zeros(codes.shape, dtype=np.uint8)
        state[-2:, -1] = PRIVATE
        classes = define_classes(codes, state, "0.5", 2, use_hidden=True)
        found = mine_condensed(codes, state, delta="0.5", gamma=2)
        assert len(found.closed) == len(classes)


def keys(sets):
    """Return the rows, column, value and counts of each rule."""
    code, found = sets.packed.code, set()
    for number, *rule in sets.found.tolist():
        closure = sets.closure[number]
        rows = np.flatnonzero(
            ((closure[:, np.newaxis] == code) | (closure < 0)[:, None]).all(axis=0)
        )
        found.add((tuple(closure.tolist()), tuple(rows.tolist()), *rule))
    return found


@pytest.mark.parametrize("n_rows", [63, 64, 65, 200])
def test_columns_that_repeat_another_cost_nothing(n_rows):
    generator = np.random.default_rng(n_rows)
    value = generator.integers(0, 3, n_rows)
    told = np.where(generator.random(n_rows) < 0.9, value, 0)
    codes = np.column_stack([*[(value + shift) % 3 for shift in range(70)], told])
    state = np.zeros(codes.shape, dtype=np.uint8)
    state[::7, -1] = PRIVATE
    condensed = mine_condensed(codes, state, delta="0.8", gamma=2)
    alone = mine(codes[:, [0, -1]], state[:, [0, -1]], delta="0.8", gamma=2)
    assert [rule.n_public for rule in condensed.shortest] == [rule.n_public for rule in alone]
    assert all(len(rule.antecedent) == 1 for rule in condensed.shortest)
    left = remaining_rules(codes, state, delta=Fraction(4, 5), gamma=2, use_hidden=True)
    assert left.n_rules == len(alone) * (2**70 - 1)
    for mode in modes:
        hidden = hide(codes, state, delta="0.8", gamma=2, mode=mode)
        left = remaining_rules(
            codes, hidden.state, delta=Fraction(4, 5), gamma=2, use_hidden=mode == "paper"
        )
        assert left.n_rules == 0


def test_condensed_rules_predict_the_same_cells(monkeypatch):
    generator = np.random.default_rng(5)
    n_condensed = 0
    for _ in range(100):
        codes, state = redundant_table(generator)
        if not (state == PRIVATE).any():
            continue
        frame = {str(place): codes[:, place] for place in range(codes.shape[1])}
        cells = [(int(row), str(column)) for row, column in np.argwhere(state == PRIVATE)]
        blanked = [(int(row), str(column)) for row, column in np.argwhere(state == BLANKED)]
        asked = {"private": cells, "hidden": blanked, "delta": 0.6, "gamma": 1}
        listed = mine_adversarial_rules(frame, **asked)
        with monkeypatch.context() as patch:
            patch.setattr(mining, "_MANY", 0)
            patch.setattr(mining, "_REPEATED", 1)
            rules = mine_adversarial_rules(frame, **asked)
        assert not listed.is_condensed
        assert rules.is_condensed == (len(rules) < len(listed))
        assert rules.cells == listed.cells
        assert (rules.sensitive_cells == listed.sensitive_cells).all()
        assert ("one per set of rows" in repr(rules)) == rules.is_condensed
        n_condensed += rules.is_condensed
    assert n_condensed > 15
