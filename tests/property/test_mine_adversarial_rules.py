"""Adversarial rules of data frames against enumeration over the values of these frames."""

from __future__ import annotations

import datetime as dt
import itertools
from collections import Counter, defaultdict
from fractions import Fraction

import numpy as np
from frames import FRAMES, MIXED, MIXED_PRIVATE
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.knowledge import (
    AdversarialRule,
    mine_adversarial_rules,
)


def counts(rule: AdversarialRule) -> tuple[int, int, int, int]:
    return rule.n_public, rule.public_hits, rule.n_hidden, rule.hidden_hits


def same(value):
    """Return None for every kind of missing value."""
    is_nan = isinstance(value, float) and value != value
    return None if is_nan else value


def enumerate_rules(frame, private, hidden, delta, gamma, max_len=None):
    """Find all rules and their counts by the definition, row by row."""
    columns = list(frame)
    n_rows = len(next(iter(frame.values()), []))
    least = gamma if isinstance(gamma, int) else max(1, -(-gamma * n_rows // 1))
    public, secret = defaultdict(Counter), defaultdict(Counter)
    for row in range(n_rows):
        values = {column: same(frame[column][row]) for column in columns}
        private_here = [column for column in columns if (row, column) in private]
        shown = [
            column
            for column in columns
            if (row, column) not in private and (row, column) not in hidden
        ]
        for size in range(1, min(len(shown), max_len or len(columns)) + 1):
            for named in itertools.combinations(shown, size):
                antecedent = frozenset((column, values[column]) for column in named)
                for column in shown:
                    if column not in named:
                        public[antecedent, column][values[column]] += 1
                for column in private_here:
                    secret[antecedent, column][values[column]] += 1
    return {
        (antecedent, column, value): (
            public[antecedent, column].total(),
            hits,
            of_hidden.total(),
            of_hidden[value],
        )
        for (antecedent, column), of_hidden in secret.items()
        for value, hits in public[antecedent, column].items()
        if public[antecedent, column].total() >= least
        and hits >= delta * public[antecedent, column].total()
        and of_hidden[value] >= delta * of_hidden.total()
    }


def enumerate_cells(frame, private, hidden, rules):
    """Return the private cells that rules predict, and the cells that weigh in one."""
    predicted, weighing = set(), set()
    taken = set(private) | set(hidden)
    for row in range(len(next(iter(frame.values()), []))):
        for antecedent, column, value in rules:
            cells = {(row, name) for name, _ in antecedent}
            if cells & taken or any(same(frame[name][row]) != v for name, v in antecedent):
                continue
            if (row, column) in private:
                predicted.add((row, column))
                weighing |= cells
            elif (row, column) not in taken and same(frame[column][row]) == value:
                weighing |= cells | {(row, column)}
    return predicted, weighing


KINDS = [
    st.sampled_from(["a", "b", None]),
    st.sampled_from([1, 2, 3]),
    st.sampled_from([1, None]),
    st.sampled_from([0.5, float("nan"), 2.0]),
    st.sampled_from(["é", "日本", "e\u0301", ""]),
    st.booleans(),
    st.sampled_from([dt.date(2020, 1, 1), None]),
    st.just("same"),
    st.sampled_from(["1", 1, None, 2.5]),
    st.integers(0, 90),
]


@st.composite
def hidden_frames(draw):
    n_rows, n_columns = draw(st.integers(0, 9)), draw(st.integers(1, 4))
    columns = [f"c{place}" for place in range(n_columns)]
    frame = {
        column: draw(st.lists(draw(st.sampled_from(KINDS)), min_size=n_rows, max_size=n_rows))
        for column in columns
    }
    cells = [(row, column) for row in range(n_rows) for column in columns]
    chosen = draw(st.lists(st.sampled_from("....pph"), min_size=len(cells), max_size=len(cells)))
    private = {cell for cell, state in zip(cells, chosen, strict=True) if state == "p"}
    hidden = {cell for cell, state in zip(cells, chosen, strict=True) if state == "h"}
    if n_rows and draw(st.integers(0, 5)) == 0:
        whole = draw(st.sampled_from(columns))
        private |= {cell for cell in cells if cell[1] == whole}
    if n_rows and draw(st.integers(0, 5)) == 0:
        whole_row = draw(st.integers(0, n_rows - 1))
        private |= {cell for cell in cells if cell[0] == whole_row}
    return frame, private, hidden - private


@settings(max_examples=1500, deadline=None)
@given(
    hidden_frames(),
    st.sampled_from([Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(4, 5), Fraction(1)]),
    st.sampled_from([1, 1, 2, 3, Fraction(1, 4)]),
    st.sampled_from([None, None, 1, 2]),
)
def test_rules_equal_enumeration_over_the_values(example, delta, gamma, max_len):
    frame, private, hidden = example
    found = mine_adversarial_rules(
        frame, sorted(private), delta, gamma, max_len, hidden=sorted(hidden)
    ) if private else mine_adversarial_rules(
        frame, np.zeros((len(frame["c0"]), len(frame)), dtype=bool), delta, gamma, max_len
    )  # fmt: skip
    expected = enumerate_rules(frame, private, hidden, delta, gamma, max_len)
    assert {rule.key: counts(rule) for rule in found} == expected
    assert len(found) == len(expected)
    predicted, weighing = enumerate_cells(frame, private, hidden, expected)
    assert set(found.cells) == predicted
    assert len(found.cells) == len(predicted)
    columns = list(frame)
    marked = {(row, columns[place]) for row, place in np.argwhere(found.sensitive_cells).tolist()}
    assert marked == weighing
    for rule in found:
        cells = enumerate_cells(frame, private, hidden, [rule.key])[0]
        assert set(rule.cells) == cells
        assert len(rule.cells) == rule.n_hidden
        right = {(row, c) for row, c in cells if same(frame[c][row]) == rule.value}
        assert set(rule.hits) == right
        assert len(rule.hits) == rule.hidden_hits
    order = [
        (rule.hidden_hits, rule.hidden_confidence, rule.public_confidence, rule.support)
        for rule in found
    ]
    assert order == sorted(order, reverse=True)


@settings(max_examples=300, deadline=None)
@given(hidden_frames(), st.sampled_from(["pandas", "polars", "pyarrow"]))
def test_frames_agree_on_random_tables(example, kind):
    frame, private, _ = example
    assume(private)
    assume(not any({str, int} <= {type(v) for v in values} for values in frame.values()))
    assume(not any({str, float} <= {type(v) for v in values} for values in frame.values()))
    expected = mine_adversarial_rules(frame, sorted(private), Fraction(1, 2), 1)
    found = mine_adversarial_rules(FRAMES[kind](frame), sorted(private), Fraction(1, 2), 1)
    assert list(found) == list(expected)
    assert found.cells == expected.cells


def test_marking_many_rules_equals_marking_them_one_by_one():
    generator = np.random.default_rng(7)
    codes = generator.integers(0, 4, (200, 4))
    codes[:, 1] = np.where(generator.random(200) < 0.8, codes[:, 0], codes[:, 1])
    frame = {f"c{place}": codes[:, place] for place in range(4)}
    found = mine_adversarial_rules(frame, generator.random((200, 4)) < 0.1, 0.5, 2)
    assert len(found) > 20
    assert set(found.cells) == {cell for rule in found for cell in rule.cells}
    one_by_one = [found[place : place + 1].sensitive_cells for place in range(len(found))]
    assert np.array_equal(found.sensitive_cells, np.any(one_by_one, axis=0))


def test_numbers_dates_and_texts_are_compared_as_python_does():
    found = mine_adversarial_rules(MIXED, MIXED_PRIVATE, delta=0.6, gamma=1)
    expected = enumerate_rules(MIXED, MIXED_PRIVATE, [], Fraction(3, 5), 1)
    assert {rule.key: counts(rule) for rule in found} == expected
