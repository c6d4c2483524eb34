"""Column generalization against plain counting, and against every choice of levels."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import InfeasibleError
from shoal.core.tree import NO_GROUP, Level, grow_tree
from shoal.slicing import least_loss
from shoal.slicing.column_generalization import generalize_columns

TEXTS = ["", " ", "0", "Zürich", "e\u0301", "é", "名", "🂡"]


@st.composite
def trees_of(draw, domain):
    """Draw a hierarchy; some values of it may be suppressed early."""
    levels = []
    size = len(domain.texts) + (domain.has_missing and draw(st.booleans()))
    groups = np.arange(size)
    for number in range(draw(st.integers(0, 2))):
        n_groups = int(groups.max(initial=-1)) + 1
        merged = draw(st.lists(st.integers(-1, 3), min_size=n_groups, max_size=n_groups))
        used = sorted({group for group in merged if group >= 0})
        above = np.array([used.index(group) if group >= 0 else -1 for group in merged] or [0])
        groups = np.where(groups == NO_GROUP, NO_GROUP, above[groups])
        present = np.unique(groups[groups >= 0])
        groups = np.where(groups >= 0, np.searchsorted(present, groups), NO_GROUP)
        levels.append(
            Level(groups, [f"level {number} group {place}" for place in range(len(used))])
        )
    return grow_tree(domain, levels)


@st.composite
def problems(draw):
    names = [f"a{place}" for place in range(draw(st.integers(1, 4)))]
    domains, trees = [], {}
    for name in names:
        size = draw(st.integers(1, 8))
        is_numeric, has_missing = draw(st.booleans()), draw(st.booleans())
        domain = Domain.of_texts(
            name,
            [str(number) for number in range(size)] if is_numeric else TEXTS[:size],
            type=ColumnType.INTEGER if is_numeric else ColumnType.CATEGORICAL,
            numbers=list(range(size)) if is_numeric else None,
            has_missing=has_missing,
        )
        domains.append(domain)
        trees[name] = draw(trees_of(domain))
    row = st.tuples(*(st.integers(0, domain.size - 1) for domain in domains))
    # Left to itself a list is mostly short, and its rows are all different.
    different = draw(st.lists(row, min_size=1, max_size=8))
    size = draw(st.integers(1, 30))
    rows = draw(st.lists(st.sampled_from(different), min_size=size, max_size=size))
    column = st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True)
    n_columns = draw(st.integers(1, 3))
    columns = draw(st.lists(column, min_size=n_columns, max_size=n_columns))
    keep = draw(st.sets(st.sampled_from(names), max_size=1))
    return domains, trees, rows, columns, keep, draw(st.integers(1, 6))


class Slow:
    """Counts values row by row."""

    def __init__(self, domains, trees, rows, columns, keep, min_frequency):
        self.names = [domain.column for domain in domains]
        self.trees, self.rows, self.columns = trees, rows, columns
        self.min_frequency = min_frequency
        self.attributes = list(dict.fromkeys(name for column in columns for name in column))
        self.heights = {name: 0 if name in keep else trees[name].height for name in self.attributes}

    def label(self, name, code, level):
        tree = self.trees[name]
        return tree.by_level[level][tree.position[code]] if level else ("value", code)

    def counts(self, column, levels):
        return Counter(
            tuple(self.label(name, row[self.names.index(name)], levels[name]) for name in column)
            for row in self.rows
        )

    def rare_rows(self, column, levels):
        counts = self.counts(column, levels).values()
        return sum(count for count in counts if count < self.min_frequency)

    def is_frequent(self, levels):
        return not any(self.rare_rows(column, levels) for column in self.columns)

    def loss(self, name, level):
        """Give the share of other values that a row's own cannot be told from, mean over rows."""
        codes = [row[self.names.index(name)] for row in self.rows]
        values = set(codes)
        if len(values) <= 1:
            return Fraction(0)
        others = [
            sum(self.label(name, other, level) == self.label(name, code, level) for other in values)
            for code in codes
        ]
        return Fraction(sum(others) - len(codes), len(codes) * (len(values) - 1))

    def total_loss(self, levels):
        return sum((self.loss(name, level) for name, level in levels.items()), Fraction(0))

    def all_levels(self):
        ranges = [range(self.heights[name] + 1) for name in self.attributes]
        for vector in product(*ranges):
            yield dict(zip(self.attributes, vector, strict=True))


@settings(max_examples=1000)
@given(problems())
def test_every_value_is_frequent_and_no_level_can_be_lowered(problem):
    domains, trees, rows, columns, keep, min_frequency = problem
    slow = Slow(*problem)
    cells = Cells.of_rows(domains, np.array(rows))
    kept = [name for name in keep if name in slow.attributes]
    if not slow.is_frequent(slow.heights):
        least = [min(slow.counts(column, slow.heights).values()) for column in columns]
        with pytest.raises(InfeasibleError) as caught:
            generalize_columns(cells, columns, min_frequency, trees=trees, keep=kept)
        assert caught.value.best == {"min_frequency": min(least)}
        return
    found = generalize_columns(cells, columns, min_frequency, trees=trees, keep=kept)
    levels = dict(found.levels)
    assert slow.is_frequent(levels)
    for name, level in levels.items():
        assert level == 0 or not slow.is_frequent(levels | {name: level - 1})
    least = [min(slow.counts(column, levels).values()) for column in columns]
    assert list(found.least_counts) == least
    # Every choice of levels: none that is lower in some attribute and nowhere higher will do.
    ranges = [range(slow.heights[name] + 1) for name in slow.attributes]
    for vector in product(*ranges):
        other = dict(zip(slow.attributes, vector, strict=True))
        if other != levels and all(other[name] <= levels[name] for name in other):
            assert not slow.is_frequent(other)


@settings(max_examples=600, deadline=None)
@given(problems())
def test_no_other_levels_that_will_do_lose_less(problem):
    domains, trees, rows, columns, keep, min_frequency = problem
    slow = Slow(*problem)
    keep = keep & set(slow.attributes)
    if slow.is_frequent(slow.heights):
        cells = Cells.of_rows(domains, np.array(rows))
        found = generalize_columns(cells, columns, min_frequency, trees=trees, keep=keep)
        least = min(slow.total_loss(levels) for levels in slow.all_levels()
                    if slow.is_frequent(levels))  # fmt: skip
        assert slow.total_loss(dict(found.levels)) == least


@settings(max_examples=400, deadline=None)
@given(problems())
def test_where_the_search_takes_too_long_no_single_level_can_be_lowered(problem):
    domains, trees, rows, columns, keep, min_frequency = problem
    slow = Slow(*problem)
    keep = keep & set(slow.attributes)
    if slow.is_frequent(slow.heights):
        cells = Cells.of_rows(domains, np.array(rows))
        with patch.object(least_loss, "MOST_VISITS", 0):
            found = generalize_columns(cells, columns, min_frequency, trees=trees, keep=keep)
        levels = dict(found.levels)
        assert slow.is_frequent(levels)
        for name, level in levels.items():
            assert level == 0 or not slow.is_frequent(levels | {name: level - 1})


@given(problems())
def test_labels_stand_for_the_values_they_cover(problem):
    domains, trees, rows, columns, _, _ = problem
    cells = Cells.of_rows(domains, np.array(rows))
    found = generalize_columns(cells, columns, min(2, len(rows)), trees=trees)
    by_name = {domain.column: domain for domain in domains}
    for recode in found.recode:
        domain = by_name[recode.column]
        assert len(recode.index) == domain.size
        for code, place in enumerate(recode.index.tolist()):
            label = recode.labels[place]
            if code == domain.missing_code:
                assert label.has_missing
            elif label.interval is not None:
                low, high = map(float, label.interval)
                assert low <= domain.numbers[code] < high
            else:
                assert code in label.members
        # A label without a text is the missing value, whose code is the last.
        assert all(label.text is not None for label in recode.labels[:-1])
        texts = [label.text for label in recode.labels]
        assert len(set(texts)) == len(texts)
    generalized = found.apply(cells)
    expected = Counter()
    recode_of = {recode.column: recode for recode in found.recode}
    for row in rows:
        labels = []
        for domain, code in zip(domains, row, strict=True):
            recode = recode_of.get(domain.column)
            labels.append(recode.labels[recode.index[code]].text if recode else domain.text(code))
        expected[tuple(labels)] += 1
    got = {
        tuple(d.text(code) for d, code in zip(generalized.domains, codes, strict=True)): count
        for codes, count in zip(
            generalized.codes.tolist(), generalized.counts.tolist(), strict=True
        )
    }
    assert got == expected
