"""The additive adversary against slow, obviously right twins."""

from __future__ import annotations

from itertools import combinations
from math import isclose, log

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.release import People
from shoal.knowledge.foreground import Exposed, ScaledChances, Target, expose_by, expose_scaled

USUAL = settings(max_examples=200, deadline=None)
FEW = settings(max_examples=60, deadline=None)

DISEASES = Domain.of_texts("disease", ["cold", "flu"])


@st.composite
def releases(draw, most=16):
    """Draw the quasi-identifiers of people in buckets, and who carries the value."""
    sizes = draw(st.lists(st.integers(1, 4), min_size=1, max_size=3))
    row = st.tuples(*(st.integers(0, size - 1) for size in sizes))
    rows = np.array(draw(st.lists(row, min_size=2, max_size=most)), dtype=np.int64)
    bucket = np.arange(len(rows)) % draw(st.integers(1, len(rows) // 2))
    values = st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))
    domains = [
        Domain.of_texts(f"q{place}", [f"v{code}" for code in range(size)])
        for place, size in enumerate(sizes)
    ]
    return domains, rows, bucket.astype(np.int64), np.array(draw(values), dtype=np.int64)


def exposed_of(release):
    domains, rows, bucket, value = release
    exposed = Exposed.of_rows(domains, rows, bucket, value, DISEASES)
    cells = Cells(tuple(domains), rows, np.ones(len(rows), dtype=np.int64))
    return exposed, Exposed.of_people(People(cells, bucket), exposed.buckets)[1]


def worlds(odds, n):
    """Return p(t:x) of every row and the total weight of the worlds of a bucket."""
    total, share = 0.0, np.zeros(len(odds))
    for carriers in combinations(range(len(odds)), n):
        weight = float(np.prod([odds[row] for row in carriers]))
        total += weight
        share[list(carriers)] += weight
    return share / total, total


# --- odds raised to a power ----------------------------------------------------------------------


@USUAL
@given(release=releases(), a=st.sampled_from([0.0, 0.05, 0.5, 1.0, 1.7]), data=st.data())
def test_scaled_beliefs_weigh_worlds_by_powers_of_odds(release, a, data):
    _, _, bucket, value = release
    exposed, entry = exposed_of(release)
    n_looks = exposed.looks.n_cells
    drawn = st.lists(st.floats(0.01, 0.99), min_size=n_looks, max_size=n_looks)
    f = np.array(data.draw(drawn))
    target = Target.of(exposed, [1])
    chances = ScaledChances.of(target, f)
    p, logs = chances.expose(a).p[entry], chances.log_worlds(a)
    odds = ((f / (1 - f)) ** a)[exposed.look[entry]]
    for number in range(bucket.max() + 1):
        own = np.flatnonzero(bucket == number)
        n = int(value[own].sum())
        share, total = worlds(odds[own], n)
        assert np.allclose(p[own], share, atol=1e-12)
        if n:
            place = np.searchsorted(target.carrying_buckets, number)
            assert isclose(logs[place], log(total), rel_tol=1e-10, abs_tol=1e-10)
    assert np.array_equal(expose_scaled(target, f, a).p, chances.expose(a).p)


@FEW
@given(release=releases(), data=st.data())
def test_what_follows_by_logic_is_not_scaled(release, data):
    exposed, entry = exposed_of(release)
    n_looks = exposed.looks.n_cells
    flags = st.lists(st.booleans(), min_size=n_looks, max_size=n_looks)
    target = Target.of(exposed, [1], np.array(data.draw(flags)))
    zero = np.array(data.draw(flags))
    f = np.where(zero, 0.0, 0.3)
    found = expose_scaled(target, f, 0.0)
    assert np.all(found.p[zero[exposed.look] | target.is_excluded] == 0)
    assert np.allclose(found.p, expose_by(target, f).p)
    plain = expose_scaled(target, np.full(n_looks, 0.3), 0.0).p[entry]
    assert np.all(plain[target.is_excluded[entry]] == 0)
