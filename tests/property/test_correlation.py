"""Phi-squared against its definition, in fractions."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core import kernels
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain, NumberedDomain
from shoal.core.table import Rows
from shoal.slicing import correlation
from shoal.slicing.correlation import (
    correlations,
    correlations_of_codes,
    correlations_of_rows,
    equal_bins,
)

TEXTS = ["", " ", "0", "Zürich", "e\u0301", "é", "名", "🂡"]


def slow_bin(value, values, n_bins):
    """Return the interval of a number in whole arithmetic; None where it is missing."""
    present = [Fraction(v) for v in values if v is not None]
    if value is None:
        return None
    least, largest = min(present), max(present)
    if least == largest:
        return 0
    return min(int((Fraction(value) - least) * n_bins / (largest - least)), n_bins - 1)


def slow_phi_squared(ones, others):
    n_rows = len(ones)
    first, second = Counter(ones), Counter(others)
    pairs = Counter(zip(ones, others, strict=True))
    if min(len(first), len(second)) < 2:
        return Fraction(0)
    total = Fraction(0)
    for one, n_one in first.items():
        for other, n_other in second.items():
            expected = Fraction(n_one * n_other, n_rows**2)
            total += (Fraction(pairs[one, other], n_rows) - expected) ** 2 / expected
    return total / (min(len(first), len(second)) - 1)


@st.composite
def tables(draw):
    domains = []
    for place in range(draw(st.integers(1, 4))):
        column, has_missing = f"c{place}", draw(st.booleans())
        if draw(st.booleans()):
            wholes = sorted(draw(st.sets(st.integers(-50, 2000), min_size=1, max_size=90)))
            domain = Domain.of_texts(
                column,
                list(map(str, wholes)),
                type=draw(st.sampled_from([ColumnType.INTEGER, ColumnType.DATE])),
                numbers=wholes,
                has_missing=has_missing,
            )
        else:
            texts = sorted(draw(st.sets(st.sampled_from(TEXTS), min_size=1)))
            domain = Domain.of_texts(column, texts, has_missing=has_missing)
        domains.append(domain)
    row = st.tuples(*(st.integers(0, domain.size - 1) for domain in domains))
    rows = draw(st.lists(row, min_size=1, max_size=60))
    return domains, rows + draw(st.lists(st.sampled_from(rows), max_size=20))


@settings(max_examples=600)
@given(tables(), st.integers(1, 12))
def test_every_pair_has_the_mean_square_contingency(table, n_bins):
    domains, rows = table
    found = correlations(Cells.of_rows(domains, np.array(rows)), n_bins)
    columns = []
    for place, domain in enumerate(domains):
        codes = [row[place] for row in rows]
        if domain.type.is_numeric:
            values = [None if c == domain.missing_code else int(domain.numbers[c]) for c in codes]
            columns.append([slow_bin(value, values, n_bins) for value in values])
        else:
            columns.append(codes)
    for first, ones in enumerate(columns):
        for second, others in enumerate(columns):
            expected = slow_phi_squared(ones, others)
            assert abs(found.matrix[first, second] - expected) < Fraction(1, 10**11)
            assert found.matrix[first, second] == round(float(found.matrix[first, second]), 12)


@given(tables())
def test_rows_and_cells_give_the_same_numbers(table):
    domains, rows = table
    by_cells = correlations(Cells.of_rows(domains, np.array(rows)))
    by_rows = correlations_of_rows(Rows(tuple(domains), np.array(rows, dtype=np.int32)))
    assert by_cells.columns == by_rows.columns
    assert by_cells.matrix.tolist() == by_rows.matrix.tolist()


@given(tables(), st.randoms(use_true_random=False))
def test_the_order_of_columns_changes_no_number(table, random):
    domains, rows = table
    order = list(range(len(domains)))
    random.shuffle(order)
    found = correlations(Cells.of_rows(domains, np.array(rows)))
    moved = correlations(Cells.of_rows([domains[i] for i in order], np.array(rows)[:, order]))
    assert moved.matrix.tolist() == found.select(moved.columns).matrix.tolist()


@given(tables())
def test_codes_with_their_intervals_give_the_same_numbers(table):
    domains, rows = table
    codes = np.array(rows, dtype=np.int32)
    levels = {}
    for place, domain in enumerate(domains):
        is_there = np.zeros(domain.size, dtype=bool)
        is_there[codes[:, place]] = True
        levels[domain.column] = (
            equal_bins(domain, is_there, 10) if domain.type.is_numeric else np.arange(domain.size)
        )
    columns = {domain.column: codes[:, place] for place, domain in enumerate(domains)}
    by_codes = correlations_of_codes(columns, levels)
    by_rows = correlations_of_rows(Rows(tuple(domains), codes))
    assert by_codes.columns == by_rows.columns
    assert by_codes.matrix.tolist() == by_rows.matrix.tolist()


@settings(max_examples=60)
@given(tables())
def test_pairs_of_many_values_are_counted_as_those_of_few(table):
    domains, rows = table
    cells = Cells.of_rows(domains, np.array(rows))
    in_one_table = correlations(cells).matrix.tolist()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation, "_KEYS_A_ROW", 0)
        patch.setattr(correlation, "_FEW_KEYS", 0)
        assert correlations(cells).matrix.tolist() == in_one_table


@settings(max_examples=60)
@given(tables(), st.sampled_from([2, 6, 20, 128]))
def test_attributes_in_blocks_are_counted_as_alone(table, side):
    domains, rows = table
    cells = Cells.of_rows(domains, np.array(rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(correlation, "_MOST_SIDE", 0)
        alone = correlations(cells).matrix.tolist()
        # Blocks may have more cells than there are rows.
        patch.setattr(correlation, "_ROWS_A_CELL", 1 / 128**2)
        patch.setattr(correlation, "_MOST_SIDE", side)
        assert correlations(cells).matrix.tolist() == alone


def test_the_order_of_columns_and_rows_changes_nothing():
    generator = np.random.default_rng(5)
    codes = (generator.random((500, 6)) ** 2 * 40).astype(np.int64)
    domains = [NumberedDomain(f"c{place}", np.arange(40)) for place in range(6)]
    found = correlations(Cells.of_rows(domains, codes)).matrix
    order = generator.permutation(6)
    turned = correlations(Cells.of_rows([domains[place] for place in order], codes[:, order]))
    assert turned.matrix.tolist() == found[np.ix_(order, order)].tolist()


@pytest.mark.parametrize("n_rows", [12, 40, 200])
def test_the_kernels_add_up_the_same_as_plain_python(n_rows, monkeypatch):
    generator = np.random.default_rng(4)
    codes = generator.integers(0, [5, 2, 3, 2, 9], (n_rows, 5))
    domains = [NumberedDomain(f"c{place}", np.arange(9)) for place in range(5)]
    cells = Cells.of_rows(domains, codes)
    found = correlations(cells).matrix.tolist()
    plain = kernels.load_plain("shoal.slicing._correlation_kernels")
    monkeypatch.setattr(correlation, "_correlation_kernels", plain)
    assert correlations(cells).matrix.tolist() == found
