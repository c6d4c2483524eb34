"""The exact posterior of sliced releases against going through all linkings, on small tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.sliced import Layout, Sliced
from shoal.slicing.beliefs import share_table, sliced_beliefs
from shoal.slicing.posteriors import exact_posteriors, is_plain, posterior_of_one

LAYOUTS = {
    "bucketized": Layout([["a", "b"], ["s"]], ["s"]),
    "single": Layout([["a"], ["b"], ["s"]], ["s"]),
    "beside": Layout([["a"], ["b", "s"]], ["s"]),
    "both": Layout([["a"], ["b", "s"]], ["s"], ["a", "b", "s"]),
    "overlapping": Layout([["a", "s"], ["b", "s"]], ["s"]),
}
SIZES = {"a": 3, "b": 2, "s": 3}


@st.composite
def releases(draw):
    """Draw rows in buckets; rows may be equal and buckets of any size."""
    layout = LAYOUTS[draw(st.sampled_from(sorted(LAYOUTS)))]
    row = st.tuples(*(st.integers(0, size - 1) for size in SIZES.values()), st.integers(0, 2))
    rows = np.array(draw(st.lists(row, min_size=1, max_size=7)))
    domains = [
        Domain.of_texts(name, [f"{name}{code}" for code in range(size - 1)], has_missing=True)
        for name, size in SIZES.items()
    ]
    cells = Cells.of_rows(domains, rows[:, :3])
    place = {tuple(codes): number for number, codes in enumerate(cells.codes.tolist())}
    cell = np.array([place[tuple(codes)] for codes in rows[:, :3].tolist()])
    _, bucket = np.unique(rows[:, 3], return_inverse=True)
    sliced = Sliced.of_pieces(cells, layout, cell, bucket, np.ones(len(rows), dtype=np.int64))
    return sliced, cells.select(layout.known)


@settings(max_examples=1500, deadline=None)
@given(drawn=releases())
def test_the_posterior_is_that_of_all_linkings(drawn):
    sliced, people = drawn
    beliefs = sliced_beliefs(sliced, people, "s")
    shares, n_matching = share_table(sliced, people, "s")
    chosen, value, posterior = exact_posteriors(sliced, people, "s", shares.max(axis=1), n_matching)
    plain = is_plain(sliced, n_matching)
    assert not plain[chosen].any()
    for number in range(people.n_cells):
        known = dict(zip(people.columns, people.codes[number].tolist(), strict=True))
        expected = posterior_of_one(sliced, known, "s")
        largest = float(max(expected.values()))
        if number in chosen:
            (at,) = np.flatnonzero(chosen == number)
            assert posterior[at] == pytest.approx(largest)
            assert float(expected[int(value[at])]) == pytest.approx(largest)
        else:
            # All small releases are gone through, so that what is left matches one bucket.
            assert plain[number]
            assert float(beliefs.largest[number]) == pytest.approx(largest)


def test_a_posterior_may_be_larger_than_p():
    """t is in the first bucket for sure or in the second perhaps; p(t, s) takes the means."""
    domains = [Domain.of_texts(name, ["0", "1"]) for name in "abs"]
    rows = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1]])
    cells = Cells.of_rows(domains, rows)
    layout = Layout([["a"], ["b"], ["s"]], ["s"])
    bucket = np.array([0, 1, 1, 1])
    sliced = Sliced.of_pieces(cells, layout, np.arange(4), bucket, cells.counts)
    people = cells.select(["a", "b"])
    beliefs = sliced_beliefs(sliced, people, "s")
    shares, n_matching = share_table(sliced, people, "s")
    chosen, value, posterior = exact_posteriors(sliced, people, "s", shares.max(axis=1), n_matching)
    expected = posterior_of_one(sliced, {"a": 0, "b": 0}, "s")
    at = int(np.flatnonzero(chosen == 0)[0])
    assert posterior[at] == pytest.approx(float(max(expected.values())))
    assert posterior[at] != pytest.approx(float(beliefs.largest[0]))
    assert value[at] in expected
