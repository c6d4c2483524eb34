"""The law of a table against a plain regression with an explicit design, and a plain integral."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import dblquad
from scipy.optimize import minimize

from shoal.calibration.table_law import TableLaw, _Classes, _Data, _Model, blocks_of
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain


@st.composite
def tables(draw):
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    codes = np.array(np.unravel_index(np.arange(int(np.prod(sizes))), sizes)).T
    rows = np.array(draw(st.lists(st.integers(1, 30), min_size=len(codes), max_size=len(codes))))
    carriers = np.array([draw(st.integers(0, int(n))) for n in rows])
    domains = [
        Domain.of_texts(f"q{place}", [f"v{code}" for code in range(size)])
        for place, size in enumerate(sizes)
    ]
    return Cells(tuple(domains), codes, rows), carriers


def design(model, n_kinds):
    marks = (one.code[:, np.newaxis] == np.arange(one.size) for one in model.blocks)
    return np.hstack([np.ones((n_kinds, 1)), *marks])


def penalised(model, matrix, precision):
    def loss(parameters):
        logs = matrix @ parameters
        likely = model.data.n_carrying @ logs - model.data.n_rows @ np.logaddexp(0, logs)
        return -likely + (precision * parameters**2).sum() / 2

    return loss


@given(tables())
@settings(max_examples=40, deadline=None)
def test_every_model_is_at_the_maximum_of_a_plain_regression(drawn):
    kinds, carriers = drawn
    law = TableLaw.fit(kinds, carriers)
    for model in law.models:
        matrix = design(model, kinds.n_cells)
        blocks = zip(model.blocks, model.deviations, strict=True)
        own = (np.full(block.size, deviation**-2) for block, deviation in blocks)
        precision = np.concatenate([[1e-4], *own])
        loss = penalised(model, matrix, precision)
        found = minimize(loss, np.zeros(len(precision)), method="BFGS")
        assert loss(model.parameters) <= found.fun + 1e-4
        # The factor is that of the second derivative there.
        chance = 1 / (1 + np.exp(-matrix @ model.parameters))
        weight = model.data.n_rows * chance * (1 - chance)
        second = (matrix.T * weight) @ matrix + np.diag(precision)
        assert model.factor.T @ model.factor == pytest.approx(second, rel=1e-3, abs=1e-3)


@given(tables())
@settings(max_examples=40, deadline=None)
def test_draws_vary_about_the_most_likely_odds(drawn):
    kinds, carriers = drawn
    model = TableLaw.fit(kinds, carriers).models[-1]
    rng = np.random.default_rng(1)
    drawn_odds = model.draw(rng.standard_normal((400, 1 + model.n_effects)))
    matrix = design(model, kinds.n_cells)
    spread = np.sqrt(np.diag(matrix @ np.linalg.inv(model.factor.T @ model.factor) @ matrix.T))
    centre = model.log_odds(model.parameters)
    is_inside = np.abs(centre) + 4 * spread < 30
    assert np.all((np.abs(drawn_odds.mean(axis=0) - centre) <= 0.3 * spread + 1e-9)[is_inside])
    assert np.all((drawn_odds.std(axis=0) <= 1.3 * spread + 1e-9)[is_inside])


def test_the_evidence_is_about_the_integral():
    domain = Domain.of_texts("q", ["a", "b"])
    kinds = Cells((domain,), np.array([[0], [1]]), np.array([40, 50]))
    data = _Data(np.array([40.0, 50.0]), np.array([10.0, 20.0]))
    (block,) = blocks_of(kinds)
    # One effect for each of both values: integrate over the level and their difference.
    alike = _Classes.alike(data)
    model = _Model(data, alike.split(data, block, 1), (block,), (1.0,), np.zeros(3)).fitted()
    plain = _Model(data, alike, (), (), np.zeros(1)).fitted()

    def density(difference, level):
        # The sum of both effects goes into the level, which is vague.
        logs = np.array([level + difference / 2, level - difference / 2])
        likely = data.n_carrying @ logs - data.n_rows @ np.logaddexp(0, logs)
        prior = np.exp(-(difference**2) / 4) / np.sqrt(4 * np.pi)
        return np.exp(likely + 60) * prior

    def level_only(level):
        logs = np.full(2, level)
        return np.exp(data.n_carrying @ logs - data.n_rows @ np.logaddexp(0, logs) + 60)

    with_effects, _ = dblquad(density, -4, 3, -6, 6)
    levels = np.linspace(-4, 3, 4001)
    without = np.trapezoid([level_only(one) for one in levels], levels)
    expected = np.log(with_effects) - np.log(without)
    assert model.evidence + 0.7 - plain.evidence == pytest.approx(expected, abs=0.1)


def test_an_interaction_is_found_that_no_column_shows():
    rng = np.random.default_rng(4)
    first, second, noise = (rng.integers(0, 2, 1000) for _ in range(3))
    has = rng.random(1000) < np.where(first == second, 0.3, 0.03)
    domains = tuple(Domain.of_texts(name, ["n", "y"]) for name in "abc")
    rows = np.stack([first, second, noise], axis=1)
    kinds, which = Cells(domains, rows, np.ones(1000, dtype=np.int64)).select_with_inverse("abc")
    law = TableLaw.fit(kinds, np.bincount(which, has, kinds.n_cells).astype(int))
    odds = law.draw(100, rng).mean(axis=0)
    alike = kinds.codes[:, 0] == kinds.codes[:, 1]
    assert odds[alike].min() > odds[~alike].max() + 1


def test_where_nothing_depends_on_anything_everybody_is_alike():
    rng = np.random.default_rng(4)
    rows = rng.integers(0, 4, (2000, 3))
    domains = tuple(Domain.of_texts(name, list("wxyz")) for name in "abc")
    kinds, which = Cells(domains, rows, np.ones(2000, dtype=np.int64)).select_with_inverse("abc")
    has = rng.random(2000) < 0.2
    law = TableLaw.fit(kinds, np.bincount(which, has, kinds.n_cells).astype(int))
    assert law.weights[0] > 0.5


def test_columns_with_many_values_are_grouped_by_neighbours():
    numbers = [float(value) for value in range(60)]
    age = Domain.of_texts(
        "age", [str(int(value)) for value in numbers], type=ColumnType.INTEGER, numbers=numbers
    )
    name = Domain.of_texts("name", [f"n{code:02}" for code in range(60)])
    codes = np.repeat(np.arange(60), 2).reshape(60, 2)
    blocks = blocks_of(Cells((age, name), codes, np.arange(1, 61)))
    sizes = [block.size for block in blocks]
    assert sizes[0] == 60
    assert sizes[1] <= 8
    assert np.all(np.diff(blocks[1].code) >= 0)
    assert max(block.size for block in blocks if block.order == 2) <= 64


def test_one_kind_and_nobody_with_the_value_are_no_error():
    domain = Domain.of_texts("q", ["a"])
    kinds = Cells((domain,), np.array([[0]]), np.array([5]))
    for carriers in (0, 5):
        odds = TableLaw.fit(kinds, np.array([carriers])).draw(10, np.random.default_rng(0))
        assert np.all(np.isfinite(odds))
