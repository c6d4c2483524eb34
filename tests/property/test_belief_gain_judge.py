"""Bounded belief gain, judged by going through assignments, against checker, method and attack.

The checker bounds the Omega estimate of what is believed, for that is what is claimed. The attack
computes what is believed exactly, as long as buckets are small. Here both are recomputed from
their definitions, in fractions and without any array.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.attacks import Belief
from shoal.beliefs.beliefs import estimate_beliefs
from shoal.checks import Evidence, check
from shoal.core.adversary_guarantees import BeliefGain
from shoal.core.attack import View
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.prior_knowledge import BelievedRows
from shoal.core.release import People

NEAR = 1e-6


def omega(priors, values):
    """Give the Omega estimate of each row: its belief times counted over foreseen rows."""
    counts = {value: values.count(value) for value in values}
    foreseen = {value: sum(prior[value] for prior in priors) for value in counts}
    odds = [
        {value: prior[value] * n / foreseen[value] if foreseen[value] else 0
         for value, n in counts.items()}
        for prior in priors
    ]  # fmt: skip
    return scaled(odds, counts, is_contradicted=not all(foreseen.values()))


def exact(priors, values):
    """Give the share of each value of a row among all assignments, as likely as the priors say."""
    counts = {value: values.count(value) for value in values}
    odds = [dict.fromkeys(counts, Fraction(0)) for _ in priors]
    for assigned in permutations(values):
        likely = math.prod(prior[value] for prior, value in zip(priors, assigned, strict=True))
        for share, value in zip(odds, assigned, strict=True):
            share[value] += likely
    return scaled(odds, counts, is_contradicted=False)


def scaled(odds, counts, *, is_contradicted):
    if is_contradicted or not all(sum(one.values()) for one in odds):
        n_rows = sum(counts.values())
        return [{value: Fraction(n, n_rows) for value, n in counts.items()} for _ in odds]
    return [{value: part / sum(one.values()) for value, part in one.items()} for one in odds]


def gain(prior, after):
    """Give the Jensen-Shannon distance, in bits, of two distributions."""
    total = 0.0
    for value, before in enumerate(prior):
        p, q = float(before), float(after.get(value, 0))
        for one in (p, q):
            total += one * math.log2(one / ((p + q) / 2)) / 2 if one else 0.0
    return math.sqrt(max(total, 0.0))


def gains(believe, priors, values):
    return [gain(p, after) for p, after in zip(priors, believe(priors, values), strict=True)]


@st.composite
def releases(draw):
    n_values = draw(st.integers(2, 3))
    weights = st.lists(st.sampled_from([0, 1, 1, 2, 5]), min_size=n_values, max_size=n_values)
    prior = weights.filter(any).map(lambda drawn: [Fraction(one, sum(drawn)) for one in drawn])
    row = st.tuples(prior, st.integers(0, n_values - 1))
    return n_values, draw(st.lists(st.lists(row, min_size=1, max_size=5), min_size=1, max_size=3))


def bound(draw_from):
    return st.sampled_from(draw_from).map(Fraction)


@settings(max_examples=300, deadline=None)
@given(releases(), bound(["0", "0.05", "0.1", "0.2", "0.3", "0.5", "1"]))
def test_the_checker_says_what_the_judge_says(release, t):
    n_values, buckets = release
    rows = [(place, prior, value) for place, one in enumerate(buckets) for prior, value in one]
    domain = Domain.of_texts("disease", [f"d{code}" for code in range(n_values)])
    bucket = np.array([place for place, _, _ in rows])
    held = Buckets.of_pairs(bucket, np.array([value for _, _, value in rows]), domain)
    matrix = np.array([[float(one) for one in prior] for _, prior, _ in rows])
    witness = BelievedRows.of_pairs(bucket, np.arange(len(rows)), matrix)
    verdict = check(BeliefGain(t=t), Evidence(held, held.sizes, witnesses={"beliefs": witness}))
    worst = [
        max(gains(omega, [prior for prior, _ in one], [value for _, value in one]))
        for one in buckets
    ]
    if all(abs(one - float(t)) > NEAR for one in worst):
        assert verdict.n_failing == sum(one > float(t) for one in worst)
        assert verdict.holds == (max(worst) <= float(t))
    assert float(Fraction(verdict.reached["t"])) == pytest.approx(max(worst), abs=2e-5) or (
        max(worst) <= float(t) + NEAR
    )


@settings(max_examples=200, deadline=None)
@given(releases())
def test_where_everybody_is_believed_alike_the_estimate_is_exact(release):
    _, buckets = release
    for one in buckets:
        prior, values = one[0][0], [value for _, value in one]
        if all(prior[value] for value in values):
            alike = [prior] * len(one)
            assert omega(alike, values) == exact(alike, values)


@st.composite
def tables(draw):
    n_rows = draw(st.integers(3, 7))
    row = st.tuples(
        st.integers(0, 3), st.sampled_from("xy"), st.sampled_from(["flu", "cold", "gout"])
    )
    return draw(st.lists(row, min_size=n_rows, max_size=n_rows))


def prior(rows, age, sex, labels):
    """Weigh every row by how near it is, with a bandwidth of one half."""
    ages = [row[0] for row in rows]
    width = max(ages) - min(ages) or 1
    weights = dict.fromkeys(labels, Fraction(0))
    for other_age, other_sex, value in rows:
        apart = Fraction(abs(age - other_age), width) * 2
        weights[value] += max(1 - apart**2, 0) * (sex == other_sex)
    return [weights[label] / sum(weights.values()) for label in labels]


@settings(max_examples=50, deadline=None)
@given(tables(), bound(["0.1", "0.25", "0.4", "0.6"]))
def test_a_release_of_mondrian_is_within_its_bound_and_the_attack_is_exact(rows, t):
    columns = {name: [row[place] for row in rows] for place, name in enumerate(("age", "sex", "s"))}
    table = shoal.read(columns, shoal.Schema(quasi=["age", "sex"], sensitive="s"))
    method = shoal.Mondrian(belief_gain=t, publish="bucketized", bandwidth="0.5")
    try:
        release = shoal.anonymize(table, method, seed=1)
    except InfeasibleError:
        return
    published = release.published
    known = estimate_beliefs(table.counts(["age", "sex", "s"]), "s", {}, "0.5")
    labels = known.domain.labels()
    prior_of = {(str(age), sex): prior(rows, age, sex, labels) for age, sex, _ in rows}
    lines, held = published.lines, published.buckets
    by_omega, by_worlds = [], []
    for bucket in range(held.n_buckets):
        people = [
            tuple(d.text(code) for d, code in zip(lines.domains[1:], codes[1:], strict=True))
            for codes, count in zip(lines.codes.tolist(), lines.counts.tolist(), strict=True)
            if codes[0] == bucket
            for _ in range(count)
        ]
        ends = [*held.starts.tolist(), len(held.value)]
        values = [
            labels.index(held.domain.text(value))
            for value, count in zip(
                held.value[ends[bucket] : ends[bucket + 1]].tolist(),
                held.count[ends[bucket] : ends[bucket + 1]].tolist(),
                strict=True,
            )
            for _ in range(count)
        ]
        priors = [prior_of[person] for person in people]
        by_omega += gains(omega, priors, values)
        by_worlds += gains(exact, priors, values)
    assert max(by_omega) <= float(t) + NEAR
    assert shoal.verify(release).status.name in ("VERIFIED", "PARTLY_VERIFIED")
    quasi = Cells(lines.domains[1:], lines.codes[:, 1:], lines.counts)
    everybody = People(quasi, lines.codes[:, 0], np.arange(lines.n_cells))
    found = Belief(limit=t).run(View(published, everybody, known))
    assert found.headline["worst gain"] == pytest.approx(max(by_worlds), abs=1e-6)
