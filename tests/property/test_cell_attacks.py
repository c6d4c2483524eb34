"""Attacks on suppressed cells against their definitions, in plain Python, and in all odd tables."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacks import Learned, Rules
from shoal.core.attack import Experiment
from shoal.core.domain import ColumnType, Domain
from shoal.core.manifest import Manifest
from shoal.core.shapes import Shape
from shoal.core.table import HIDDEN, Rows

MANIFEST = Manifest(
    shape=Shape.SUPPRESSED,
    method="test",
    parameters={},
    guarantees=(),
    columns=(),
    n_rows=1,
    n_buckets=1,
)
deltas = st.sampled_from(
    [Fraction(1, 3), Fraction(1, 2), "0.6", Fraction(2, 3), "0.8", 1, "0.66666"]
)
gammas = st.sampled_from([1, 1, 2, 3, Fraction(1, 4)])


@st.composite
def releases(draw, n_rows=(0, 14), n_columns=(1, 4), most=3) -> Rows:
    """Draw a release, with missing values, of words that are hard to write."""
    rows, columns = draw(st.integers(*n_rows)), draw(st.integers(*n_columns))
    n_cells = rows * columns
    value = st.one_of(st.just(0), st.integers(0, most - 1))
    codes = draw(st.lists(value, min_size=n_cells, max_size=n_cells))
    hidden = draw(st.lists(st.integers(0, 3), min_size=n_cells, max_size=n_cells))
    table = np.array(codes, dtype=np.int32).reshape(rows, columns)
    is_hidden = np.array(hidden).reshape(rows, columns) == 0
    if rows and draw(st.integers(0, 4)) == 0:
        is_hidden[:, draw(st.integers(0, columns - 1))] = True
    if rows and draw(st.integers(0, 4)) == 0:
        is_hidden[draw(st.integers(0, rows - 1))] = True
    table[is_hidden] = HIDDEN
    has_missing = draw(st.booleans())
    texts = [f"\u00e4 {number}" for number in range(most - has_missing)]
    return Rows(
        tuple(
            Domain.of_texts(f"\U0001f41f{column}", texts, has_missing=has_missing)
            for column in range(columns)
        ),
        table,
    )


@st.composite
def repetitive(draw) -> Rows:
    """Draw a release of which columns repeat or coarsen others, or are constant."""
    rows = draw(releases(n_rows=(4, 14), n_columns=(2, 3), most=4))
    copies = draw(st.lists(st.integers(0, 3 * len(rows.domains) - 1), min_size=1, max_size=3))
    texts = ["a", "b", "c", "d"]
    domains, columns = [], []
    for place, (kind, column) in enumerate(
        [(0, column) for column in range(len(rows.domains))]
        + [divmod(copy, len(rows.domains)) for copy in copies]
    ):
        codes = rows.codes[:, column].copy()
        is_visible = codes != HIDDEN
        codes[is_visible] = (codes[is_visible], codes[is_visible] // 2, 0)[kind]
        domains.append(Domain.of_texts(f"column {place}", texts))
        columns.append(codes)
    order = draw(st.permutations(range(len(columns))))
    return Rows(
        tuple(domains[place] for place in order),
        np.column_stack([columns[place] for place in order]),
    )


tables = st.one_of(
    releases(),
    repetitive(),
    releases(n_rows=(6, 24), n_columns=(2, 5), most=2),
    releases(n_rows=(60, 80), n_columns=(2, 2), most=90),
)


# --- rules ---------------------------------------------------------------------------------------


def define_best(rows: Rows, delta, gamma, max_len):
    """Return the best rule of each suppressed cell, by the definition: value, counts, columns."""
    delta = Fraction(str(delta)) if not isinstance(delta, Fraction) else delta
    least = gamma if isinstance(gamma, int) else max(1, -(-gamma * rows.n_rows // 1))
    lines = rows.codes.tolist()
    public = defaultdict(Counter)
    for line in lines:
        for antecedent in antecedents(line, max_len):
            for column, value in enumerate(line):
                if value != HIDDEN and column not in dict(antecedent):
                    public[antecedent, column][value] += 1
    best = {}
    for row, line in enumerate(lines):
        for column, value in enumerate(line):
            if value != HIDDEN:
                continue
            rules = []
            for antecedent in antecedents(line, max_len):
                counts = public[antecedent, column]
                named = tuple(place for place, _ in antecedent)
                rules += [
                    (-Fraction(hits, counts.total()), -counts.total(), len(named), named, y, hits)
                    for y, hits in counts.items()
                    if counts.total() >= least and hits >= delta * counts.total()
                ]
            if rules:
                _, support, _, named, y, hits = min(rules)
                best[row, column] = y, hits, -support, named
    return best


def antecedents(line, max_len):
    shown = [(column, value) for column, value in enumerate(line) if value != HIDDEN]
    longest = len(shown) if max_len is None else min(max_len, len(shown))
    for size in range(1, longest + 1):
        yield from itertools.combinations(shown, size)


@given(tables, deltas, gammas, st.sampled_from([None, None, 1, 2]))
@settings(max_examples=200)
def test_every_cell_has_the_best_rule_that_fires(rows, delta, gamma, max_len):
    attack = Rules(delta=delta, gamma=gamma, max_len=max_len)
    found = attack.guess(rows, MANIFEST)["rules"]
    best = define_best(rows, delta, gamma, max_len)
    cells = list(zip(found.row.tolist(), found.column.tolist(), strict=True))
    assert cells == sorted(best)
    for place, cell in enumerate(cells):
        value, hits, n_public, named = best[cell]
        assert found.value[place] == value
        assert found.belief[place] == hits / n_public
        shown = " and ".join(worded(rows, column, rows.codes[cell[0], column]) for column in named)
        assert found.reasons[found.reason[place]] == (
            f"{shown}: {worded(rows, cell[1], value)}, {hits} of {n_public}"
        )
    assert len(set(found.reasons)) == len(found.reasons)
    assert set(found.reason.tolist()) == set(range(len(found.reasons)))


def worded(rows: Rows, column, code):
    return f"{rows.columns[column]} {rows.domains[column].text(int(code)) or 'missing'}"


# --- learning ------------------------------------------------------------------------------------


def publish_privately(codes, marks, _):
    """Hide what is private, and with it the next column."""
    assert (codes != HIDDEN).all()
    return np.where(marks | np.roll(marks, 1, axis=1), HIDDEN, codes).astype(np.int32)


longer = st.one_of(
    releases(n_rows=(80, 100), n_columns=(1, 3), most=3),
    releases(n_rows=(100, 120), n_columns=(1, 3), most=300),
)


@given(st.one_of(tables, longer, longer), st.data())
@settings(max_examples=40)
def test_learners_guess_all_cells_of_the_target_where_it_shows_a_value(rows, data):
    pytest.importorskip("sklearn")
    kinds = st.sampled_from([ColumnType.CATEGORICAL, ColumnType.ORDERED])
    rows = Rows(
        tuple(replace(domain, type=data.draw(kinds)) for domain in rows.domains), rows.codes
    )
    target = data.draw(st.integers(0, len(rows.domains) - 1))
    shares = data.draw(st.sampled_from([0.0, 0.1, 1.0]))
    experiment = Experiment(publish_privately, np.full(len(rows.domains), shares))
    attack = Learned(target=rows.columns[target], max_rows=data.draw(st.sampled_from([1, 7, 500])))
    found = attack.guess(rows, MANIFEST, experiment)
    again = attack.guess(rows, MANIFEST, experiment)
    assert list(found) == ["naive", "blind", "aware"]
    visible = set(rows.codes[:, target].tolist()) - {HIDDEN}
    hidden = np.flatnonzero(rows.codes[:, target] == HIDDEN).tolist()
    for name, guesses in found.items():
        assert guesses.row.tolist() == (hidden if visible else [])
        assert set(guesses.column.tolist()) <= {target}
        assert set(guesses.value.tolist()) <= visible
        assert ((guesses.belief > 0) & (guesses.belief <= 1)).all()
        assert guesses.value.tolist() == again[name].value.tolist()
        assert guesses.belief.tolist() == again[name].belief.tolist()
        assert guesses.reasons == again[name].reasons
        assert len(guesses.reasons) == bool(len(guesses))
        assert not guesses.reason.any()
