"""Beliefs against slow, obviously right twins, on small random tables.

The twins go through pairs of rows, and through every assignment of a bucket's values to its rows.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.beliefs import assignments, beliefs, posteriors
from shoal.beliefs.assignments import exact_posterior
from shoal.beliefs.beliefs import estimate_beliefs, overall_beliefs
from shoal.beliefs.informed import Mean, Share, reweigh
from shoal.beliefs.posteriors import gains, jensen_shannon
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.prior_knowledge import BelievedRows
from shoal.hierarchies.hierarchy import Hierarchy

THOROUGH = settings(max_examples=150, deadline=None)

AGES = ["20", "25", "30", "50", "70"]
PLACES = ["Bonn", "Köln", "Lyon", "Metz"]
COUNTRIES = {"Bonn": "D", "Köln": "D", "Lyon": "F", "Metz": "F"}
SIZES = ["small", "medium", "large"]
COLOURS = ["blue", "red"]


def domains(*, has_missing):
    return {
        "age": Domain.of_texts(
            "age",
            AGES,
            type=ColumnType.INTEGER,
            numbers=[*map(float, AGES)],
            has_missing=has_missing,
        ),
        "place": Domain.of_texts("place", PLACES, has_missing=has_missing),
        "size": Domain.of_texts("size", SIZES, type=ColumnType.ORDERED, has_missing=has_missing),
        "colour": Domain.of_texts("colour", COLOURS, has_missing=has_missing),
    }


def distance(column, first, second):
    """Say how far apart two texts are, from the definition."""
    if first == second:
        return Fraction(0)
    if first is None or second is None:
        return Fraction(1)
    if column == "age":
        return Fraction(abs(int(first) - int(second)), 50)
    if column == "size":
        return Fraction(abs(SIZES.index(first) - SIZES.index(second)), 2)
    if column == "place" and COUNTRIES[first] == COUNTRIES[second]:
        return Fraction(1, 2)
    return Fraction(1)


def weight(column, first, second, bandwidth):
    apart = distance(column, first, second)
    if bandwidth == 0:
        return Fraction(apart == 0)
    return 1 - (apart / bandwidth) ** 2 if apart < bandwidth else Fraction(0)


@st.composite
def tables(draw):
    """Draw columns, rows of texts with a number for the value, and a bandwidth a column."""
    has_missing = draw(st.booleans())
    columns = draw(st.lists(st.sampled_from(["age", "place", "size", "colour"]), unique=True))
    texts = {"age": AGES, "place": PLACES, "size": SIZES, "colour": COLOURS}
    n_values = draw(st.sampled_from([1, 2, 3, 70]))
    row = st.tuples(
        *(st.sampled_from(texts[name] + [None] * has_missing) for name in columns),
        st.integers(0, n_values - 1),
    )
    rows = draw(st.lists(row, min_size=1, max_size=8))
    shares = st.sampled_from(["0", "0.1", "0.2", "0.3", "0.5", "1/2", "0.51", "1"])
    bandwidth = {name: Fraction(draw(shares)) for name in columns}
    return columns, rows, bandwidth, n_values, has_missing


def cells_of(columns, rows, n_values, *, has_missing):
    known = domains(has_missing=has_missing)
    value = Domain.of_texts("value", [f"v{i:02}" for i in range(n_values)])
    chosen = [*(known[name] for name in columns), value]
    codes = [
        [*(known[name].codes_of([row[i]])[0] for i, name in enumerate(columns)), row[-1]]
        for row in rows
    ]
    return Cells.of_rows(chosen, np.array(codes, dtype=np.int64))


def trees(*, has_missing):
    place = domains(has_missing=has_missing)["place"]
    paths = [[town, country] for town, country in COUNTRIES.items()]
    return {"place": Hierarchy.from_rows(paths).over(place)}


@THOROUGH
@given(tables(), st.sampled_from(["grid", "pairs", "few pairs at a time", "without tables"]))
def test_beliefs_are_what_a_loop_over_pairs_of_rows_gives(table, way):
    columns, rows, bandwidth, n_values, has_missing = table
    cells = cells_of(columns, rows, n_values, has_missing=has_missing)
    # Every way to the same numbers is taken, whatever would be cheapest.
    is_grid = way == "grid"
    limits = {
        "few pairs at a time": {"_BLOCK": 2, "_MOST_GROUPS": 2},
        "without tables": {"_TABLE": 0},
    }
    with (
        patch.object(beliefs, "_is_grid_cheaper", lambda *_: is_grid),
        patch.multiple(beliefs, **limits.get(way, {"_CUBE": 2**24})),
    ):
        found = estimate_beliefs(cells, "value", trees(has_missing=has_missing), bandwidth)
    labels = [domain.labels() for domain in found.cells.domains]
    for codes, prior in zip(found.cells.codes.tolist(), found.prior, strict=True):
        person = [labels[place][code] for place, code in enumerate(codes)]
        expected = [Fraction(0)] * n_values
        for row in rows:
            expected[row[-1]] += math.prod(
                weight(name, person[i], row[i], bandwidth[name]) for i, name in enumerate(columns)
            )
        expected = [float(share / sum(expected)) for share in expected]
        assert prior == pytest.approx(expected, abs=1e-12)
        assert [share == 0 for share in prior] == [share == 0 for share in expected]


@THOROUGH
@given(tables())
def test_with_no_quasi_identifier_near_everybody_is_believed_alike(table):
    _, rows, _, n_values, _ = table
    cells = cells_of([], [row[-1:] for row in rows], n_values, has_missing=False)
    near, overall = estimate_beliefs(cells, "value", {}), overall_beliefs(cells, "value")
    assert near.prior == pytest.approx(overall.prior)
    assert overall.prior[0] == pytest.approx(
        [sum(row[-1] == value for row in rows) / len(rows) for value in range(n_values)]
    )


# Posteriors


def likelihoods(n_values):
    weights = st.lists(
        st.sampled_from([0, 0, 1, 1, 2, 5, 100]), min_size=n_values, max_size=n_values
    )
    return weights.filter(any).map(lambda drawn: [Fraction(one, sum(drawn)) for one in drawn])


@st.composite
def releases(draw, *, most_rows=6):
    """Draw priors and, for each bucket, rows of a prior and a value."""
    n_values = draw(st.integers(1, 4))
    priors = draw(st.lists(likelihoods(n_values), min_size=1, max_size=4))
    row = st.tuples(st.integers(0, len(priors) - 1), st.integers(0, n_values - 1))
    rows = st.lists(row, min_size=1, max_size=most_rows)
    return n_values, priors, draw(st.lists(rows, min_size=1, max_size=4))


def enumerate_assignments(priors, rows):
    """Give each row's posterior by going through every assignment; None where none is possible."""
    values = sorted({value for _, value in rows})
    shares = [dict.fromkeys(values, Fraction(0)) for _ in rows]
    for given_values in permutations([value for _, value in rows]):
        likely = math.prod(
            priors[prior][value] for (prior, _), value in zip(rows, given_values, strict=True)
        )
        for share, value in zip(shares, given_values, strict=True):
            share[value] += likely
    total = sum(shares[0].values())
    if total == 0:
        return None
    return [{value: one / total for value, one in share.items()} for share in shares]


def estimate_omega(priors, rows):
    """Give each row's Omega estimate; None where the bucket contradicts the priors."""
    counts = {value: sum(own == value for _, own in rows) for _, value in rows}
    expected = {value: sum(priors[prior][value] for prior, _ in rows) for value in counts}
    if not all(expected.values()):
        return None
    shares = [
        {value: n * priors[prior][value] / expected[value] for value, n in counts.items()}
        for prior, _ in rows
    ]
    if not all(sum(share.values()) for share in shares):
        return None
    return [{v: one / sum(share.values()) for v, one in share.items()} for share in shares]


def release_of(n_values, priors, rows_by_bucket):
    bucket = np.array([i for i, rows in enumerate(rows_by_bucket) for _ in rows])
    prior = np.array([prior for rows in rows_by_bucket for prior, _ in rows])
    value = np.array([value for rows in rows_by_bucket for _, value in rows])
    domain = Domain.of_texts("value", [f"v{i}" for i in range(n_values)])
    matrix = np.array([[float(one) for one in row] for row in priors])
    occupants = BelievedRows.of_pairs(bucket, prior, matrix)
    return Buckets.of_pairs(bucket, value, domain), occupants


def compare(found, occupants, priors, rows_by_bucket, expect):
    """Compare posteriors with those of a twin, entry by entry."""
    expected = [expect(priors, rows) for rows in rows_by_bucket]
    distances = found.distances()
    values, strengths = found.strongest()
    pairs = zip(occupants.bucket.tolist(), occupants.prior.tolist(), strict=True)
    for entry, (bucket, prior) in enumerate(pairs):
        rows = rows_by_bucket[bucket]
        place = next(i for i, row in enumerate(rows) if row[0] == prior)
        of_bucket = expected[bucket]
        if of_bucket is None:
            own = [value for _, value in rows]
            share = {value: Fraction(own.count(value), len(own)) for value in own}
        else:
            share = of_bucket[place]
        part = slice(found.start[entry], found.start[entry + 1])
        assert found.is_contradicted[entry] == (of_bucket is None)
        assert found.value[part].tolist() == sorted(share)
        assert found.posterior[part] == pytest.approx([float(share[v]) for v in sorted(share)])
        dense = [float(share.get(value, 0)) for value in range(len(priors[prior]))]
        apart = jensen_shannon([float(one) for one in priors[prior]], dense)
        assert distances[entry] == pytest.approx(float(apart), abs=1e-7)
        assert strengths[entry] == found.posterior[part].max()
        assert share[values[entry]] == pytest.approx(max(share.values()))


@THOROUGH
@given(releases(), st.sampled_from([1, 2**21]))
def test_exact_posteriors_are_what_all_assignments_give(release, batch):
    n_values, priors, rows_by_bucket = release
    buckets, occupants = release_of(n_values, priors, rows_by_bucket)
    with patch.object(assignments, "_BATCH", batch):
        found = posteriors.posteriors(buckets, occupants, max_steps=10**9)
    assert found.is_exact.all()
    compare(found, occupants, priors, rows_by_bucket, enumerate_assignments)


@THOROUGH
@given(releases(most_rows=5))
def test_one_bucket_by_itself_is_what_all_assignments_give(release):
    n_values, priors, (rows, *_) = release
    kinds = sorted({prior for prior, _ in rows})
    values = sorted({value for _, value in rows})
    found, is_possible = exact_posterior(
        [sum(own == value for _, own in rows) for value in values],
        [[float(priors[kind][value]) for value in values] for kind in kinds],
        [sum(own == kind for own, _ in rows) for kind in kinds],
    )
    expected = enumerate_assignments(priors, rows)
    assert is_possible == (expected is not None)
    assert n_values >= found.shape[1]
    for kind, shares in zip(kinds, found, strict=True):
        place = next(i for i, row in enumerate(rows) if row[0] == kind)
        own = dict.fromkeys(values, 0) if expected is None else expected[place]
        assert shares == pytest.approx([float(own[value]) for value in values])


@THOROUGH
@given(releases(most_rows=20))
def test_the_omega_estimate_is_its_formula(release):
    n_values, priors, rows_by_bucket = release
    buckets, occupants = release_of(n_values, priors, rows_by_bucket)
    found = posteriors.posteriors(buckets, occupants, max_steps=0)
    compare(found, occupants, priors, rows_by_bucket, estimate_omega)


@THOROUGH
@given(releases(), st.integers(0, 200), st.sampled_from([1, 3, 2**22]))
def test_gains_sum_up_posteriors_part_by_part(release, max_steps, chunk):
    buckets, occupants = release_of(*release)
    whole = posteriors.posteriors(buckets, occupants, max_steps=max_steps)
    with patch.object(posteriors, "_CHUNK", chunk):
        parts = gains(buckets, occupants, max_steps=max_steps)
    assert parts.distance == pytest.approx(whole.distances())
    value, strength = whole.strongest()
    assert parts.posterior == pytest.approx(strength)
    assert parts.value.tolist() == value.tolist()
    assert parts.is_exact.tolist() == whole.is_exact.tolist()
    assert parts.is_contradicted.tolist() == whole.is_contradicted.tolist()


def test_buckets_up_to_the_limit_of_steps_are_exact():
    buckets, occupants = release_of(2, [[Fraction(1, 2)] * 2, [Fraction(1, 4), Fraction(3, 4)]],
                                    [[(0, 0), (1, 1)], [(0, 0), (1, 1), (1, 1)]])  # fmt: skip
    # Two values once each: 2 * 2 states, 2 rows. One once and one twice: 2 * 3 states, 3 rows.
    for max_steps, expected in ((7, [0, 0]), (8, [1, 0]), (17, [1, 0]), (18, [1, 1])):
        found = posteriors.posteriors(buckets, occupants, max_steps=max_steps)
        assert found.is_exact.tolist() == np.repeat(expected, 2).tolist()


# Jensen-Shannon


@THOROUGH
@given(st.integers(1, 70).flatmap(lambda n: st.tuples(likelihoods(n), likelihoods(n))))
def test_the_distance_is_its_definition_and_symmetric(pair):
    first, second = ([float(one) for one in given_] for given_ in pair)
    middle = [(one + other) / 2 for one, other in zip(first, second, strict=True)]

    def relative_entropy(shares):
        parts = zip(shares, middle, strict=True)
        return sum(own * math.log2(own / mean) for own, mean in parts if own > 0)

    expected = math.sqrt(max((relative_entropy(first) + relative_entropy(second)) / 2, 0.0))
    found = float(jensen_shannon(first, second))
    assert found == pytest.approx(expected, abs=1e-7)
    assert found == pytest.approx(float(jensen_shannon(second, first)), abs=1e-15)
    assert 0 <= found <= 1
    assert (found == 0) == (first == second)


# Reweighing


@st.composite
def reweighed(draw):
    """Draw beliefs as weights, others that are to be met, and what is to be met of them."""
    n_cells, n_values = draw(st.integers(1, 4)), draw(st.integers(2, 4))
    counts = draw(st.lists(st.integers(1, 9), min_size=n_cells, max_size=n_cells))
    weights = st.lists(st.integers(1, 20), min_size=n_values, max_size=n_values)
    before, after = (draw(st.lists(weights, min_size=n_cells, max_size=n_cells)) for _ in range(2))
    marks = st.lists(st.booleans(), min_size=n_cells, max_size=n_cells).filter(any)
    kind = st.one_of(st.none(), st.integers(0, n_values - 1))
    return counts, before, after, draw(st.lists(st.tuples(marks, kind), min_size=1, max_size=3))


def beliefs_of(counts, weights):
    n_values = len(weights[0])
    who = Domain.of_texts("who", [f"p{i}" for i in range(len(counts))])
    numbers = [float(2**i) for i in range(n_values)]
    value = Domain.of_texts(
        "value", [f"{n:g}" for n in numbers], type=ColumnType.INTEGER, numbers=numbers
    )
    cells = Cells((who,), np.arange(len(counts))[:, np.newaxis], np.array(counts))
    matrix = np.array(weights, dtype=float)
    return beliefs.Beliefs(cells, matrix / matrix.sum(axis=1, keepdims=True), value)


def condition_of(marks, value, held):
    cells = np.array(marks)
    weights = held.cells.counts * cells
    mean = weights @ held.prior / weights.sum()
    if value is None:
        return Mean(cells, float(mean @ held.domain.numbers))
    return Share(cells, value, float(mean[value]))


def entropy(after, before):
    """Give the relative entropy of all people, the measure of change."""
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(after.prior > 0, after.prior * np.log(after.prior / before.prior), 0.0)
    return float(before.cells.counts @ parts.sum(axis=1))


@THOROUGH
@given(reweighed())
def test_reweighed_beliefs_meet_every_condition_and_change_least(drawn):
    counts, before, after, groups = drawn
    held, goal = beliefs_of(counts, before), beliefs_of(counts, after)
    conditions = [condition_of(marks, value, goal) for marks, value in groups]
    found = reweigh(held, conditions, n_rounds=100_000)
    assert found.prior.sum(axis=1) == pytest.approx(np.ones(len(counts)))
    for condition, (marks, value) in zip(conditions, groups, strict=True):
        met = condition_of(marks, value, found)
        if value is None:
            assert met.mean == pytest.approx(condition.mean, abs=1e-6)
        else:
            assert met.share == pytest.approx(condition.share, abs=1e-6)
    # The goal meets them too, so whatever changes least changes no more than on the way to it.
    assert entropy(found, held) <= entropy(goal, held) + 1e-6
    halfway = beliefs.Beliefs(held.cells, (found.prior + goal.prior) / 2, held.domain)
    assert entropy(found, held) <= entropy(halfway, held) + 1e-6


@THOROUGH
@given(reweighed(), st.data())
def test_forbidden_values_get_nothing_and_the_others_keep_their_odds(drawn, data):
    counts, before, _, _ = drawn
    held = beliefs_of(counts, before)
    flags = st.lists(st.booleans(), min_size=held.prior.size, max_size=held.prior.size)
    forbidden = np.array(data.draw(flags)).reshape(held.prior.shape)
    if forbidden.all(axis=1).any():
        with pytest.raises(ParameterError, match="All values are impossible"):
            reweigh(held, forbidden=forbidden)
        return
    found = reweigh(held, forbidden=forbidden).prior
    for own, old, marks in zip(found, held.prior, forbidden, strict=True):
        allowed = old[~marks].sum()
        assert own == pytest.approx(np.where(marks, 0.0, old / allowed))
        assert not own[marks].any()
