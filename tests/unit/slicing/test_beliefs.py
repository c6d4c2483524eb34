from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from sliced_worlds import posteriors_of_all

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.sliced import Layout, Sliced
from shoal.slicing import joining
from shoal.slicing.beliefs import (
    exact_sliced_beliefs,
    find_exceeding,
    largest_belief,
    sliced_beliefs,
)
from shoal.slicing.posteriors import posterior_of_one

SEX = Domain.of_texts("sex", ["F", "M"])
DISEASE = Domain.of_texts("disease", ["cold", "flu"])
LAYOUT = Layout([["sex"], ["disease"]], ["disease"])


def one_bucket(rows, layout=LAYOUT):
    cells = Cells.of_rows([SEX, DISEASE], np.array(rows))
    bucket = np.zeros(cells.n_cells, dtype=np.int64)
    return cells, Sliced.of_pieces(cells, layout, np.arange(cells.n_cells), bucket, cells.counts)


@pytest.mark.parametrize(
    ("n_cold", "n_rows"), [(9, 11), (12, 17), (11, 18), (14, 25), (6, 11), (11, 12), (11, 15)]
)
def test_a_tie_is_a_tie_however_floats_round(n_cold, n_rows):
    share = Fraction(n_cold, n_rows)
    # Of floats alone some of these would be above the bound, and others below it.
    assert float(share) * float(1 / share) != 1
    cells, sliced = one_bucket([(0, 0)] * n_cold + [(0, 1)] * (n_rows - n_cold))
    people = cells.select(["sex"])
    assert not find_exceeding(sliced, people, "disease", 1 / share).any()
    above = 1 / share + Fraction(1, 10**20)
    assert find_exceeding(sliced, people, "disease", above).all()
    assert largest_belief(sliced, people) == share


def test_beliefs_found_in_parts_are_those_found_at_once(monkeypatch):
    cells, sliced = one_bucket([(0, 0), (0, 1), (1, 0), (1, 1), (1, 1)])
    people = cells.select(["sex"])
    whole = sliced_beliefs(sliced, people)
    monkeypatch.setattr(joining, "_MOST_TERMS", 1)
    parts = sliced_beliefs(sliced, people)
    for name in ("tuple_", "bucket", "value", "amount"):
        assert getattr(parts, name).tolist() == getattr(whole, name).tolist()


def test_where_nothing_is_known_everyone_is_believed_alike():
    layout = Layout([["sex"], ["disease"]], ["disease", "sex"])
    cells, sliced = one_bucket([(0, 0), (0, 1), (1, 1)], layout)
    beliefs = exact_sliced_beliefs(sliced, cells.select([]), "disease")
    assert beliefs.distribution(0) == {0: Fraction(1, 3), 1: Fraction(2, 3)}


def test_no_tuples_have_no_beliefs():
    _, sliced = one_bucket([(0, 0), (0, 1)])
    nobody = Cells((SEX,), np.empty((0, 1), dtype=np.int64), np.empty(0, dtype=np.int64))
    assert sliced_beliefs(sliced, nobody).largest.tolist() == []
    assert largest_belief(sliced, nobody) == 0


def test_what_cannot_be_asked_is_refused():
    cells, sliced = one_bucket([(0, 0), (0, 1)])
    with pytest.raises(ParameterError, match="one of disease; got 'sex'"):
        sliced_beliefs(sliced, cells, "sex")
    with pytest.raises(DataError, match="lack known attributes: sex"):
        sliced_beliefs(sliced, cells.select(["disease"]))


def test_too_many_linkings_are_refused():
    rows = [(place % 2, (place // 2) % 2) for place in range(12)]
    cells, sliced = one_bucket(rows)
    with pytest.raises(ParameterError, match="more than 2 linkings"):
        posterior_of_one(sliced, {"sex": 0}, "disease", most_worlds=2)
    with pytest.raises(ParameterError, match="more than 2 linkings"):
        posteriors_of_all(sliced, cells.select(["sex"]), "disease", most_worlds=2)


def test_people_who_are_not_in_the_release_are_refused():
    _, sliced = one_bucket([(0, 0), (0, 1)])
    others = Cells.of_rows([SEX], np.array([[1], [1]]))
    with pytest.raises(DataError, match="No linking"):
        posteriors_of_all(sliced, others, "disease")
    assert posterior_of_one(sliced, {"sex": 1}, "disease") == {}
