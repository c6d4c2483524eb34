"""The minimality attack against going through every table, person by person."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.method import Algorithm, Problem
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.grouping.anatomy import Anatomy
from shoal.grouping.minimality_worlds import Crowd, credibilities
from shoal.grouping.mondrian import Mondrian

HOME = Domain.of_texts("home", ["a", "b", "c"])
AGE = Domain.of_texts("age", ["1", "2", "3"], numbers=[1, 2, 3])
DISEASE = Domain.of_texts("disease", ["HIV", "flu"], has_missing=True)
SCHEMA = Schema(quasi=["home", "age"], sensitive="disease")

METHODS = [
    Mondrian(ell=2, protect=["HIV"], publish="bucketized"),
    Mondrian(ell=2),
    Mondrian(k=2, ell=2, diversity="frequency"),
    Mondrian(t="0.3"),
]


def published(method, people, values):
    """Give what a method publishes of people, as anybody would read it: who with whom, and what."""
    rows = np.array([(*person, value) for person, value in zip(people, values, strict=True)])
    cells = Cells.of_rows([HOME, AGE, DISEASE], rows)
    try:
        plan = method.plan(Problem(cells, SCHEMA, {}, Secret.from_seed(1)))
    except InfeasibleError:
        return None
    bucket_of = dict(zip(map(tuple, cells.codes.tolist()), plan.assign.base.tolist(), strict=True))
    members = [[] for _ in range(plan.n_buckets)]
    for person, value in zip(people, values, strict=True):
        members[bucket_of[*person, value]].append((person, value))
    return frozenset(
        (
            tuple(sorted(Counter(person for person, _ in bucket).items())),
            tuple(sorted(Counter(value for _, value in bucket).items())),
        )
        for bucket in members
    )


def slowly(method, people, values):
    """Give the credibility of every value for every person: tables are assignments to people."""
    release = published(method, people, values)
    tables = [
        table
        for table in set(itertools.permutations(values))
        if published(method, people, table) == release
    ]
    return [
        [Fraction(sum(table[who] == code for table in tables), len(tables)) for code in range(3)]
        for who in range(len(people))
    ]


def crowd_of(method, people, values):
    """Give the kinds of people, the crowd and the algorithm, as the attack has them."""
    cells = Cells.of_rows([HOME, AGE], np.array(people))
    kinds = [tuple(codes) for codes in cells.codes.tolist()]
    release = sorted(published(method, people, values))
    bucket = np.full(len(kinds), -1)
    held = np.zeros((len(release), 3), dtype=np.int64)
    for number, (members, counts) in enumerate(release):
        for person, _ in members:
            bucket[kinds.index(person)] = number
        for code, count in counts:
            held[number, code] = count
    algorithm = Algorithm(method, SCHEMA, {}, cells)
    crowd = Crowd(bucket, cells.counts, held)
    return kinds, crowd, lambda table: algorithm.buckets(table, DISEASE)


people_and_values = st.lists(
    st.tuples(st.tuples(st.integers(0, 2), st.integers(0, 2)), st.sampled_from([0, 0, 1, 1, 1, 2])),
    min_size=2,
    max_size=6,
)


@settings(max_examples=150, deadline=None)
@given(people_and_values, st.sampled_from(METHODS))
def test_credibility_is_the_share_among_all_tables(rows, method):
    people, values = [row[0] for row in rows], [row[1] for row in rows]
    assume("protect" not in method.parameters() or method.protect is None or 0 in values)
    assume(published(method, people, values) is not None)
    expected = slowly(method, people, values)
    kinds, crowd, publish = crowd_of(method, people, values)
    found = credibilities(crowd, publish, 10_000)
    assert found.is_exact
    assert found.n_mapped >= 1
    for code in range(3):
        belief = found.of([code])
        assert found.interval([code])[0].tolist() == belief.tolist()
        for who, person in enumerate(people):
            assert belief[kinds.index(person)] == float(expected[who][code])
    joint = found.of([0, 2])
    for who, person in enumerate(people):
        assert joint[kinds.index(person)] == float(expected[who][0] + expected[who][2])


def merging(table):
    """Merge the kinds of a pair where HIV makes up more than half of one of them; pairs part."""
    sizes, held = table.sum(axis=1), table[:, 0]
    bucket = np.arange(len(table))
    for first in range(0, len(table), 2):
        if np.any(2 * held[first : first + 2] > sizes[first : first + 2]):
            bucket[first + 1] = bucket[first]
    return bucket


def pairs(n_pairs):
    """Make pairs of kinds, all merged: two people and five, with two HIV, as in the example."""
    bucket = np.repeat(np.arange(n_pairs), 2)
    return Crowd(bucket, np.tile([2, 5], n_pairs), np.tile([2, 5], (n_pairs, 1)))


def test_sampling_finds_what_is_certain_in_many_buckets_at_once():
    """Of 3^40 candidates one is mapped to the release; each bucket is found by itself."""
    found = credibilities(pairs(40), merging, 2000)
    assert not found.is_exact
    assert found.n_mapped == 0
    assert found.is_said.all()
    assert found.of([0]).tolist() == [1.0, 0.0] * 40
    low, high = found.interval([0])
    # One table in 21: about 95 draws.
    assert np.all(low[::2] > 0.9)
    assert np.all(high[1::2] < 0.1)


@pytest.mark.parametrize("seed", range(3))
def test_sampling_agrees_with_going_through(seed):
    # Three people and four, three HIV: (3, 0), (2, 1) are merged, (1, 2) and (0, 3) are not.
    n_pairs = 6
    crowd = Crowd(
        np.repeat(np.arange(n_pairs), 2), np.tile([3, 4], n_pairs), np.tile([3, 4], (n_pairs, 1))
    )
    # One table of (3, 0), 3 * 4 of (2, 1), and 4 of (0, 3), where the other kind has too many.
    weights = {(3, 0): 1, (2, 1): 12, (0, 3): 4}
    total = sum(weights.values())
    exact = [sum(w * pair[i] for pair, w in weights.items()) / total / (3, 4)[i] for i in (0, 1)]
    one = Crowd(crowd.bucket[:2], crowd.counts[:2], crowd.values[:1])
    assert credibilities(one, merging, 100).of([0]).tolist() == exact
    found = credibilities(crowd, merging, 3000, seed)
    assert not found.is_exact
    assert found.is_said.all()
    low, high = found.interval([0])
    expected = np.tile(exact, n_pairs)
    assert found.of([0]) == pytest.approx(expected, abs=0.04)
    # Twelve intervals at 95 %, in pairs: two pairs may miss.
    assert np.count_nonzero((low <= expected) & (expected <= high)) >= 8
    # 17 of 35 ways to share out a bucket are merged.
    assert found.n_draws.tolist() == pytest.approx([3000 * 17 / 35] * 12, rel=0.1)


def test_where_no_table_is_mapped_to_the_release_nothing_is_said():
    few, many = (credibilities(pairs(n), lambda _: None, 50) for n in (1, 40))
    for found in (few, many):
        assert (max(found.total), found.n_mapped) == (0, 0)
        assert not found.is_said.any()
        assert not found.of([0]).any()
    assert (few.is_exact, many.is_exact) == (True, False)
    low, high = many.interval([0])
    assert (low.min(), high.max()) == (0.0, 1.0)


def test_too_few_tables_say_nothing():
    found = credibilities(pairs(200), merging, 60)
    assert not found.is_said.any()


def test_a_bucket_that_leaves_nothing_open_is_certain_whatever_is_sampled():
    crowd = pairs(20)
    single = Crowd(
        np.append(crowd.bucket, 20), np.append(crowd.counts, 3), np.vstack([crowd.values, [0, 3]])
    )

    def publish(table):
        return np.append(merging(table[:-1]), 1000)

    found = credibilities(single, publish, 2000)
    assert not found.is_exact
    assert np.isinf(found.n_draws[-1])
    assert found.of([1])[-1] == 1.0


@settings(max_examples=200)
@given(st.data())
def test_buckets_agree_where_the_same_kinds_are_together(data):
    n_kinds = data.draw(st.integers(1, 8))
    bucket = np.array(data.draw(st.lists(st.integers(0, 3), min_size=n_kinds, max_size=n_kinds)))
    bucket = np.unique(bucket, return_inverse=True)[1]
    other = np.array(data.draw(st.lists(st.integers(0, 5), min_size=n_kinds, max_size=n_kinds)))
    n_buckets = int(bucket.max()) + 1
    crowd = Crowd(bucket, np.ones(n_kinds, int), np.ones((n_buckets, 1), int))
    sets = [set(np.flatnonzero(other == one).tolist()) for one in set(other.tolist())]
    expected = [set(np.flatnonzero(bucket == one).tolist()) in sets for one in range(n_buckets)]
    assert crowd.agreement(other).tolist() == expected


def test_methods_that_draw_their_buckets_are_refused():
    cells = Cells.of_rows([HOME, AGE], np.array([(0, 0)]))
    for method in (Anatomy(ell=2), Mondrian(k=2, cuts="relaxed")):
        with pytest.raises(ParameterError, match="alone"):
            Algorithm(method, SCHEMA, {}, cells)
