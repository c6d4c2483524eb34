"""The attack on beliefs against a twin that goes through rows, people and assignments."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.beliefs.attack import Belief
from shoal.beliefs.beliefs import Beliefs
from shoal.core.attack import View
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published
from shoal.core.shapes import Shape

TOWNS = ["Bonn", "Köln", "Metz", None]
VALUES = ["cold", "flu", "pox"]
MEANINGS = {
    "Rhine": frozenset({"Bonn", "Köln"}),
    "any": frozenset({"Bonn", "Köln", "Metz"}),
}


def domain_of(column, texts):
    known = sorted({text for text in texts if text is not None})
    return Domain.of_texts(column, known, has_missing=None in texts)


def admits(label, town):
    return town in MEANINGS[label] if label in MEANINGS else label == town


@st.composite
def attacks(draw):
    """Draw rows (bucket, label, value), believed shares by town with counts, and people."""
    labels = st.sampled_from([*TOWNS, *draw(st.sampled_from([(), tuple(MEANINGS)]))])
    row = st.tuples(st.sampled_from("abc"), labels, st.sampled_from(VALUES))
    rows = draw(st.lists(row, min_size=1, max_size=6))
    towns = draw(st.lists(st.sampled_from(TOWNS), min_size=1, unique_by=str))
    shares = st.lists(st.sampled_from([0, 1, 2, 7]), min_size=3, max_size=3).filter(any)
    believed = {town: (draw(st.integers(1, 5)), draw(shares)) for town in towns}
    people = draw(st.lists(st.sampled_from(TOWNS), min_size=1, max_size=4))
    return rows, believed, people


def normalised(weights):
    return [weight / sum(weights) for weight in weights]


def prior_of(label, believed):
    own = [(n, shares) for town, (n, shares) in believed.items() if admits(label, town)]
    own = own or list(believed.values())
    total = sum(n for n, _ in own)
    return [sum(n * normalised(shares)[v] for n, shares in own) / total for v in range(len(VALUES))]


def posteriors_of(rows, believed):
    """Give each row's posterior, by all assignments within its bucket."""
    found = {}
    for bucket in {row[0] for row in rows}:
        places = [i for i, row in enumerate(rows) if row[0] == bucket]
        values = [VALUES.index(rows[i][2]) for i in places]
        sums = [[0.0] * len(VALUES) for _ in places]
        for assigned in permutations(values):
            likely = math.prod(
                prior_of(rows[i][1], believed)[value]
                for i, value in zip(places, assigned, strict=True)
            )
            for share, value in zip(sums, assigned, strict=True):
                share[value] += likely
        if not any(map(sum, sums)):
            sums = [[values.count(v) for v in range(len(VALUES))] for _ in places]
        found |= {i: normalised(share) for i, share in zip(places, sums, strict=True)}
    return found


def distance(first, second):
    middle = [(one + other) / 2 for one, other in zip(first, second, strict=True)]
    entropies = [
        sum(p * math.log2(p / m) for p, m in zip(own, middle, strict=True) if p > 0)
        for own in (first, second)
    ]
    return math.sqrt(max(sum(entropies) / 2, 0.0))


def mean(parts):
    return [sum(column) / len(parts) for column in zip(*parts, strict=True)]


def build(rows, believed, people):
    bucket, label = (
        domain_of(name, [row[i] for row in rows]) for i, name in ((0, "b"), (1, "town"))
    )
    value = domain_of("disease", [row[2] for row in rows])
    codes = [d.codes_of([row[i] for row in rows]) for i, d in enumerate((bucket, label, value))]
    meanings = {"town": {name: Meaning(members=towns) for name, towns in MEANINGS.items()}}
    manifest = Manifest(
        shape=Shape.BUCKETIZED, method="test", parameters={}, guarantees=(), columns=(),
        n_rows=len(rows), n_buckets=bucket.size,
    )  # fmt: skip
    published = Published(
        manifest,
        Cells.of_rows((bucket, label), np.stack(codes[:2], axis=1)),
        Buckets.of_pairs(codes[0], codes[2], value),
        meanings if any(row[1] in MEANINGS for row in rows) else {},
    )
    town = domain_of("town", list(believed))
    texts = town.labels()
    known = Beliefs(
        Cells((town,), np.arange(town.size)[:, np.newaxis],
              np.array([believed[text][0] for text in texts])),
        np.array([normalised(believed[text][1]) for text in texts]),
        Domain.of_texts("disease", VALUES),
    )  # fmt: skip
    home = domain_of("town", people)
    return published, known, Cells.of_rows((home,), home.codes_of(people)[:, np.newaxis])


@settings(max_examples=400, deadline=None)
@given(attacks())
def test_people_are_believed_by_the_mean_over_the_rows_that_they_may_be(drawn):
    rows, believed, people = drawn
    published, known, cells = build(rows, believed, people)
    findings = Belief(limit=0.3).run(View(published, People(cells), known))
    after = posteriors_of(rows, believed)
    gains = []
    for place, code in enumerate(cells.codes[:, 0].tolist()):
        town = cells.domains[0].labels()[code]
        own = [i for i, row in enumerate(rows) if admits(row[1], town)]
        if not own:
            assert (findings.value[place], findings.posterior[place]) == (-1, 0)
            gains.append(0.0)
            continue
        posterior = mean([after[i] for i in own])
        gains.append(distance(mean([prior_of(rows[i][1], believed) for i in own]), posterior))
        assert findings.posterior[place] == pytest.approx(max(posterior))
        text = published.buckets.domain.text(int(findings.value[place]))
        assert posterior[VALUES.index(text)] == pytest.approx(max(posterior))
        if abs(gains[-1] - 0.3) > 1e-6:
            assert findings.breached[place] == (gains[-1] > 0.3)
    assert findings.headline["worst gain"] == pytest.approx(max(gains), abs=1e-7)


@settings(max_examples=200, deadline=None)
@given(attacks())
def test_everybody_in_their_own_line_is_believed_by_their_row(drawn):
    rows, believed, people = drawn
    published, known, _ = build(rows, believed, people)
    lines = published.lines
    quasi = Cells(lines.domains[1:], lines.codes[:, 1:], lines.counts)
    everybody = People(quasi, lines.codes[:, 0], np.arange(lines.n_cells))
    after = posteriors_of(rows, believed)
    for who in (everybody, People(quasi, lines.codes[:, 0])):
        findings = Belief().run(View(published, who, known))
        for place, codes in enumerate(lines.codes.tolist()):
            texts = tuple(d.labels()[code] for d, code in zip(lines.domains, codes, strict=True))
            row = next(i for i, row in enumerate(rows) if row[:2] == texts)
            assert findings.posterior[place] == pytest.approx(max(after[row]))
