"""The baseline adversary against slow, obviously right twins, on small random tables.

The twins work on rows: they enumerate every assignment of a bucket's values to its people, match
people with rows one by one, and average over every order of the columns.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import permutations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacks import Homogeneity, Linkage
from shoal.core.attack import View
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.guarantees import AlphaK, FrequencyDiversity
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published
from shoal.core.shapes import Shape
from shoal.grouping import column_shares as _column_shares
from shoal.locating import location, random_worlds
from shoal.locating.location import matching_buckets

THOROUGH = settings(max_examples=200, deadline=None)

VALUES = [None, "1", "2", "3", "4", "ä", "x y"]
MEANINGS = {
    "[1, 3[": Meaning(interval=("1", "3")),
    "[2, +inf[": Meaning(interval=("2", "+inf")),
    "letters": Meaning(members=frozenset({"ä"}), has_other=True),
    "1 or none": Meaning(members=frozenset({"1"}), has_missing=True),
}
LABELS = [*MEANINGS, "*", *VALUES]
DISEASES = ["cold", "flu", "pox", None]


# The builder: a release and its people from explicit rows


def domain_of(column, texts):
    known = sorted({text for text in texts if text is not None})
    return Domain.of_texts(column, known, has_missing=None in texts)


def cells_of(columns, rows):
    domains = [domain_of(name, [row[place] for row in rows]) for place, name in enumerate(columns)]
    codes = [domain.codes_of([row[place] for row in rows]) for place, domain in enumerate(domains)]
    stacked = np.stack(codes, axis=1) if codes else np.empty((len(rows), 0), dtype=np.int64)
    return Cells.of_rows(domains, stacked)


def names_of(n_columns):
    return [f"q{place}" for place in range(n_columns)]


def publish(shape, lines, values=None, guarantees=(), meanings=None):
    """Make a release from rows of a bucket and quasi-identifiers, and the values in each bucket."""
    columns = names_of(len(lines[0]) - 1)
    cells = cells_of(["bucket", *columns], lines)
    manifest = Manifest(
        shape=shape,
        method="test",
        parameters={},
        guarantees=tuple(guarantees),
        columns=(),
        n_rows=len(lines),
        n_buckets=cells.domains[0].size,
    )
    buckets = None
    if values is not None:
        domain = domain_of("disease", values)
        of_row = cells.domains[0].codes_of([line[0] for line in lines])
        buckets = Buckets.of_pairs(of_row, domain.codes_of(values), domain)
    return Published(manifest, cells, buckets, meanings or {})


def people_of(rows, n_columns):
    return People(cells_of(names_of(n_columns), rows))


def person_texts(people):
    labels = [domain.labels() for domain in people.quasi.domains]
    return [
        tuple(labels[place][code] for place, code in enumerate(codes))
        for codes in people.quasi.codes.tolist()
    ]


# The twins


def admits(label, value, meanings, named):
    if label == "*":
        return True
    meaning = meanings.get(label)
    if meaning is None:
        return label == value
    if value is None:
        return meaning.has_missing
    if meaning.interval is not None and value.isdigit():
        lower, upper = map(float, meaning.interval)
        if lower <= int(value) < upper:
            return True
    return value in meaning.members or (meaning.has_other and value not in named)


def matching_rows(lines, person, meanings):
    """Give the numbers of the rows that a person may be, row by row."""
    found = []
    named_by_column = [
        {line[place + 1] for line in lines if line[place + 1] not in MEANINGS}
        | {member for meaning in meanings.values() for member in meaning.members}
        for place in range(len(person))
    ]
    for number, line in enumerate(lines):
        if all(
            admits(label, value, meanings, named)
            for label, value, named in zip(line[1:], person, named_by_column, strict=True)
        ):
            found.append(number)
    return found


def worlds_posterior(lines, values, rows):
    """Average over the rows that a person may be and every world of the bucket of each."""
    by_bucket = defaultdict(list)
    for number, line in enumerate(lines):
        by_bucket[line[0]].append(number)
    belief = Counter()
    for row in rows:
        members = by_bucket[lines[row][0]]
        worlds = list(permutations([values[number] for number in members]))
        for world in worlds:
            belief[world[members.index(row)]] += Fraction(1, len(worlds) * len(rows))
    return belief


def shapley_by_definition(lines, n_columns):
    """Average what each column adds to the mean of 1 / class size over every order."""

    def mean_risk(columns):
        sizes = Counter(tuple(line[1 + column] for column in columns) for line in lines)
        shares = (
            Fraction(1, sizes[tuple(line[1 + column] for column in columns)]) for line in lines
        )
        return sum(shares) / len(lines)

    orders = list(permutations(range(n_columns)))
    added = [Fraction(0)] * n_columns
    for order in orders:
        for place, column in enumerate(order):
            added[column] += mean_risk(order[: place + 1]) - mean_risk(order[:place])
    return [total / len(orders) for total in added]


# Small random tables


@st.composite
def bucketized(draw, most_rows=7):
    n_columns = draw(st.integers(1, 3))
    quasi = st.tuples(*[st.sampled_from(VALUES[:4]) for _ in range(n_columns)])
    rows = draw(st.lists(st.tuples(st.sampled_from("abc"), quasi), min_size=1, max_size=most_rows))
    lines = [(bucket, *texts) for bucket, texts in rows]
    values = draw(st.lists(st.sampled_from(DISEASES), min_size=len(lines), max_size=len(lines)))
    people = draw(st.lists(quasi, max_size=6))
    return n_columns, lines, values, people


@st.composite
def generalized(draw):
    n_columns = draw(st.integers(1, 3))
    labels = st.tuples(*[st.sampled_from(LABELS) for _ in range(n_columns)])
    classes = draw(st.lists(labels, min_size=1, max_size=5, unique=True))
    sizes = draw(st.lists(st.integers(1, 3), min_size=len(classes), max_size=len(classes)))
    lines = [
        (f"{number}", *texts)
        for number, (texts, size) in enumerate(zip(classes, sizes, strict=True))
        for _ in range(size)
    ]
    values = draw(st.lists(st.sampled_from(DISEASES), min_size=len(lines), max_size=len(lines)))
    quasi = st.tuples(*[st.sampled_from(VALUES) for _ in range(n_columns)])
    return n_columns, lines, values, draw(st.lists(quasi, max_size=6))


def release_of(shape, table, guarantees=()):
    n_columns, lines, values, people = table
    meanings = MEANINGS if shape is Shape.GENERALIZED else {}
    published = publish(
        shape, lines, values, guarantees, dict.fromkeys(names_of(n_columns), meanings)
    )
    return published, people_of(people, n_columns), meanings


TABLES = st.one_of(
    st.tuples(st.just(Shape.BUCKETIZED), bucketized()),
    st.tuples(st.just(Shape.GENERALIZED), generalized()),
)


@given(TABLES, st.integers(1, 100))
@THOROUGH
def test_people_are_found_where_row_by_row_matching_finds_them(shaped, chunk):
    shape, table = shaped
    published, people, meanings = release_of(shape, table)
    lines = table[1]
    with patch.object(location, "_CHUNK", chunk):
        found = matching_buckets(published, people)
    bucket_text = published.lines.domains[0].text
    got = {
        (person, bucket_text(bucket)): weight
        for person, bucket, weight in zip(
            found.person.tolist(), found.bucket.tolist(), found.weight.tolist(), strict=True
        )
    }
    expected = {}
    for person, texts in enumerate(person_texts(people)):
        rows = matching_rows(lines, texts, meanings)
        for bucket, count in Counter(lines[row][0] for row in rows).items():
            expected[person, bucket] = count / len(rows)
    assert got == expected
    assert len(got) == len(found.person)


CLAIMS = st.sampled_from(
    [
        (),
        (FrequencyDiversity(ell=2),),
        (AlphaK(alpha="1/3", k=1),),
        (FrequencyDiversity(ell=3, protect=["flu", None]),),
        (AlphaK(alpha="1/4", k=1, protect=["cold", "flu", "plague"]),),
        (FrequencyDiversity(ell=2), FrequencyDiversity(ell=4, protect=["pox"])),
    ]
)


def is_breach(belief, guarantees, limit):
    """Say whether any claim is broken, and how much she believes what breaks it or comes next."""
    posteriors = []
    for guarantee in guarantees or (None,):
        bound = guarantee.posterior_bound if limit is None and guarantee else limit
        protect = () if guarantee is None else guarantee.protect
        shares = [share for value, share in belief.items() if not protect or value in protect]
        if protect and isinstance(guarantee, FrequencyDiversity):
            shares = [sum(shares)]
        posterior = max(shares, default=Fraction(0))
        is_broken = posterior == 1 or (bound is not None and posterior > bound)
        posteriors.append((is_broken, posterior))
    return max(posteriors)


@given(TABLES, CLAIMS, st.none() | st.fractions(Fraction(1, 10), 1, max_denominator=12))
@THOROUGH
def test_beliefs_are_those_of_all_random_worlds(shaped, guarantees, limit):
    shape, table = shaped
    published, people, meanings = release_of(shape, table, guarantees)
    _, lines, values, _ = table
    with patch.object(random_worlds, "_CHUNK", 3):
        findings = Homogeneity(limit=limit).run(View(published, people))
    labels = published.buckets.domain.labels()
    for person, texts in enumerate(person_texts(people)):
        rows = matching_rows(lines, texts, meanings)
        belief = worlds_posterior(lines, values, rows)
        is_broken, posterior = is_breach(belief, guarantees, limit)
        assert findings.breached[person] == is_broken
        assert findings.posterior[person] == pytest.approx(float(posterior))
        assert (findings.value[person] < 0) == (posterior == 0)
        if posterior and not guarantees:
            assert belief[labels[findings.value[person]]] == posterior


@given(bucketized(), CLAIMS)
@THOROUGH
def test_beliefs_about_known_buckets_are_the_shares_there(table, guarantees):
    _, lines, values, _ = table
    published = publish(Shape.BUCKETIZED, lines, values, guarantees)
    quasi = Cells(published.quasi, published.lines.codes[:, 1:], published.lines.counts)
    findings = Homogeneity().run(View(published, People(quasi, published.lines.codes[:, 0])))
    assert findings.n_people == len(lines)
    for cell, bucket in enumerate(published.lines.codes[:, 0].tolist()):
        text = published.lines.domains[0].text(bucket)
        rows = [number for number, line in enumerate(lines) if line[0] == text]
        is_broken, posterior = is_breach(worlds_posterior(lines, values, rows), guarantees, None)
        assert findings.breached[cell] == is_broken
        assert findings.posterior[cell] == pytest.approx(float(posterior))


@given(bucketized())
@THOROUGH
def test_gains_are_over_the_rate_of_the_table(table):
    published, people, _ = release_of(Shape.BUCKETIZED, table)
    _, lines, values, _ = table
    prior = {value: Fraction(count, len(values)) for value, count in Counter(values).items()}
    beliefs = [
        worlds_posterior(lines, values, matching_rows(lines, texts, {}))
        for texts in person_texts(people)
    ]
    pairs = [(share, prior[value]) for belief in beliefs for value, share in belief.items()]
    headline = Homogeneity().run(View(published, people)).headline
    ratio = max((share / before for share, before in pairs), default=0)
    difference = max((share - before for share, before in pairs), default=0)
    assert headline["largest gain ratio"] == pytest.approx(float(ratio))
    assert headline["largest gain difference"] == pytest.approx(float(difference))


@given(TABLES, st.none() | st.fractions(Fraction(1, 10), 1, max_denominator=12))
@THOROUGH
def test_prosecutor_risk_is_one_over_the_rows_that_fit(shaped, limit):
    shape, table = shaped
    published, people, meanings = release_of(shape, table)
    lines = table[1]
    findings = Linkage(limit=limit).run(View(published, people))
    for person, texts in enumerate(person_texts(people)):
        n_rows = len(matching_rows(lines, texts, meanings))
        risk = Fraction(1, n_rows) if n_rows else Fraction(0)
        assert findings.posterior[person] == pytest.approx(float(risk))
        assert findings.breached[person] == (limit is not None and risk > limit)
    sizes = Counter(line[1:] for line in lines)
    risks = [Fraction(1, sizes[line[1:]]) for line in lines]
    assert findings.headline["prosecutor maximum"] == float(max(risks))
    assert findings.headline["prosecutor mean"] == pytest.approx(float(sum(risks) / len(lines)))
    assert findings.headline["records at the maximum"] == risks.count(max(risks))
    assert findings.headline["share of unique records"] == risks.count(1) / len(lines)


@given(TABLES, st.data())
@THOROUGH
def test_journalist_risk_is_one_over_the_population_that_fits(shaped, data):
    shape, table = shaped
    published, people, meanings = release_of(shape, table)
    n_columns, lines = table[:2]
    quasi = st.tuples(*[st.sampled_from(VALUES) for _ in range(n_columns)])
    population = data.draw(st.lists(quasi, min_size=1, max_size=12))
    attack = Linkage(population=people_of(population, n_columns).quasi)
    findings = attack.run(View(published, people))
    # Which values the release names does not hang on who looks for them.
    n_fitting = Counter(
        line
        for texts in population
        for line in {lines[row][1:] for row in matching_rows(lines, texts, meanings)}
    )
    for person, texts in enumerate(person_texts(people)):
        rows = matching_rows(lines, texts, meanings)
        sizes = [n_fitting[lines[row][1:]] for row in rows if n_fitting[lines[row][1:]]]
        expected = 1 / min(sizes) if sizes else 0
        assert findings.posterior[person] == pytest.approx(expected)
    assert findings.headline["k-map"] == min(n_fitting.values(), default=0)
    marketer = sum(1 / n_fitting[line[1:]] for line in lines if n_fitting[line[1:]]) / len(lines)
    assert findings.headline["marketer"] == pytest.approx(marketer)


@given(
    st.integers(1, 4).flatmap(
        lambda n_columns: st.lists(
            st.tuples(st.just("a"), *[st.sampled_from(VALUES[:4]) for _ in range(n_columns)]),
            min_size=1,
            max_size=8,
        )
    )
)
@THOROUGH
def test_shares_of_columns_are_their_shapley_values(lines):
    n_columns = len(lines[0]) - 1
    published = publish(Shape.BUCKETIZED, lines)
    nobody = people_of([], n_columns)
    expected = shapley_by_definition(lines, n_columns)
    section = Linkage().run(View(published, nobody)).sections[0]
    shares = {column: risk for column, risk, _ in section.rows}
    assert [shares[name] for name in names_of(n_columns)] == pytest.approx(
        [float(share) for share in expected]
    )
    risks = [risk for _, risk, _ in section.rows]
    assert risks == sorted(risks, reverse=True)


@given(bucketized())
def test_sampled_shares_add_up_to_the_risk_above_the_floor(table):
    n_columns, lines, _, _ = table
    published = publish(Shape.BUCKETIZED, lines)
    with patch.object(_column_shares, "_MOST_EXACT_COLUMNS", 0):
        findings = Linkage().run(View(published, people_of([], n_columns)))
    total = sum(risk for _, risk, _ in findings.sections[0].rows)
    assert total == pytest.approx(findings.headline["prosecutor mean"] - 1 / len(lines))
