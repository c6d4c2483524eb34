"""The kit's answers against all linkings of small releases, one by one."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.analyse import Analyst, Linked, LinkedColumn
from shoal.core.domain import ColumnType, Domain

NUMBERS = [-3, 0, 2, 7]
TEXTS = ["a", "é", "z"]
DATES = ["1969-12-31", "1970-01-02", "2020-02-29"]


def domains_of(names):
    """Number attributes n0, n1, ...; text attributes t0, ...; dates d0, ...; all may be missing."""
    made = {}
    for name in names:
        if name[0] == "n":
            texts = [str(number) for number in NUMBERS]
            kind, numbers = ColumnType.INTEGER, list(map(float, NUMBERS))
        elif name[0] == "d":
            texts, kind, numbers = DATES, ColumnType.DATE, [-1.0, 1.0, 18321.0]
        else:
            texts, kind, numbers = TEXTS, ColumnType.CATEGORICAL, None
        made[name] = Domain.of_texts(name, texts, type=kind, numbers=numbers, has_missing=True)
    return made


@st.composite
def releases(draw):
    """Columns, buckets of rows, each row one tuple of codes a column, as they are published."""
    columns = draw(
        st.sampled_from(
            [
                [["n0", "t0"], ["n1"]],
                [["n0"], ["t0", "d0"]],
                [["n0"], ["t0"], ["n1"]],
                [["n0", "t0"], ["d0"], ["t1"]],
                [["n0", "t0"]],
            ]
        )
    )
    largest = {1: 4, 2: 4, 3: 3}[len(columns)]
    sizes = draw(st.lists(st.integers(1, largest), min_size=1, max_size=2))
    domains = domains_of([name for column in columns for name in column])
    few = draw(st.booleans())

    def entry(column):
        return st.tuples(*(st.integers(0, 1 if few else domains[name].size - 1) for name in column))

    buckets = [
        [draw(st.lists(entry(column), min_size=size, max_size=size)) for column in columns]
        for size in sizes
    ]
    return columns, domains, buckets


def linked_of(columns, domains, buckets):
    """Lay entries out in an order that says nothing, equal ones sometimes apart."""
    made = []
    for at, column in enumerate(columns):
        entries = {}
        for number, bucket in enumerate(buckets):
            for codes in bucket[at]:
                entries[number, codes] = entries.get((number, codes), 0) + 1
        listed = sorted(entries.items(), key=lambda entry: entry[0][1])
        made.append(
            LinkedColumn(
                tuple(domains[name] for name in column),
                np.array([number for (number, _), _ in listed]),
                np.array([codes for (_, codes), _ in listed]).reshape(-1, len(column)),
                np.array([count for _, count in listed]),
            )
        )
    return Linked.of_columns(made)


def linkings_of(columns, domains, buckets):
    """Return every linking of the release: its rows, by attribute."""
    by_bucket = []
    for bucket in buckets:
        first, *others = bucket
        by_bucket.append(
            [
                [sum(parts, ()) for parts in zip(first, *orders, strict=True)]
                for orders in itertools.product(*map(itertools.permutations, others))
            ]
        )
    names = [name for column in columns for name in column]
    for chosen in itertools.product(*by_bucket):
        yield [
            {name: value_of(name, code) for name, code in zip(names, row, strict=True)}
            for rows in chosen
            for row in rows
        ]


def value_of(name, code):
    values = {"n": NUMBERS, "t": TEXTS, "d": DATES}[name[0]]
    return values[code] if code < len(values) else None


@st.composite
def conditions(draw, names):
    """A WHERE by attribute, and the same as a function of a row."""
    where, checks = {}, []
    for name in draw(st.sets(st.sampled_from(names))):
        values = {"n": NUMBERS, "t": TEXTS, "d": DATES}[name[0]]
        kind = draw(
            st.sampled_from(["one", "some", "range"] if name[0] != "t" else ["one", "some"])
        )
        if kind == "range":
            low = draw(st.sampled_from([None, *values]))
            high = draw(st.sampled_from([None, *values]))
            where[name] = (low, high)
            checks.append(
                lambda row, name=name, low=low, high=high: (
                    row[name] is not None
                    and (low is None or row[name] >= low)
                    and (high is None or row[name] < high)
                )
            )
            continue
        chosen = draw(st.lists(st.sampled_from([*values, None]), max_size=3))
        if kind == "one":
            chosen = chosen[:1] or [None]
        where[name] = chosen[0] if kind == "one" else chosen
        checks.append(lambda row, name=name, chosen=tuple(chosen): row[name] in chosen)
    return where, lambda row: all(check(row) for check in checks)


@st.composite
def expressions(draw, names):
    """A WHERE as an expression, and the same as a function of a row."""
    parts, checks = [], []
    for name in draw(st.lists(st.sampled_from(names), min_size=1, max_size=3)):
        if name[0] == "n":
            limit = draw(st.sampled_from(NUMBERS))
            parts.append(f"{name} > {limit}")
            checks.append(
                lambda row, name=name, limit=limit: row[name] is not None and row[name] > limit
            )
        else:
            parts.append(f"{name} IS NULL")
            checks.append(lambda row, name=name: row[name] is None)
    joins = draw(st.lists(st.sampled_from(["and", "or"]), min_size=len(parts), max_size=len(parts)))
    text = parts[0]
    for join, part in zip(joins, parts[1:], strict=False):
        text = f"({text}) {join} {part}"

    def is_met(row):
        found = checks[0](row)
        for join, check in zip(joins, checks[1:], strict=False):
            found = (found and check(row)) if join == "and" else (found or check(row))
        return found

    return text, is_met


@st.composite
def queries(draw):
    release = draw(releases())
    names = [name for column in release[0] for name in column]
    where, is_met = draw(st.one_of(conditions(names), expressions(names)))
    return release, where, is_met


def moments_of(numbers):
    numbers = [Fraction(number) for number in numbers]
    mean = sum(numbers) / len(numbers)
    return mean, sum((number - mean) ** 2 for number in numbers) / len(numbers)


def assert_estimates(estimate, mean, variance):
    assert estimate.value == pytest.approx(float(mean), abs=1e-9)
    assert estimate.standard_error == pytest.approx(math.sqrt(variance), abs=1e-7)


@settings(max_examples=300)
@given(queries())
def test_counts_have_the_mean_and_variance_of_all_linkings(query):
    release, where, is_met = query
    counts = [sum(map(is_met, rows)) for rows in linkings_of(*release)]
    assert_estimates(Analyst(linked_of(*release)).count(where), *moments_of(counts))


@settings(max_examples=300)
@given(queries())
def test_sums_have_the_mean_and_variance_of_all_linkings(query):
    release, where, is_met = query
    sums = [sum(row["n0"] or 0 for row in rows if is_met(row)) for rows in linkings_of(*release)]
    assert_estimates(Analyst(linked_of(*release)).sum("n0", where), *moments_of(sums))


@settings(max_examples=300)
@given(queries())
def test_averages_are_ratios_with_the_error_of_the_delta_method(query):
    release, where, is_met = query
    chosen = [
        [row["n0"] for row in rows if is_met(row) and row["n0"] is not None]
        for rows in linkings_of(*release)
    ]
    estimate = Analyst(linked_of(*release)).average("n0", where)
    n_rows, variance_of_n = moments_of(map(len, chosen))
    if n_rows == 0:
        assert math.isnan(estimate.value)
        assert math.isnan(estimate.standard_error)
        return
    ratio = moments_of(map(sum, chosen))[0] / n_rows
    _, variance = moments_of(sum(numbers) - ratio * len(numbers) for numbers in chosen)
    assert_estimates(estimate, ratio, variance / n_rows**2)
    if variance_of_n == 0:
        averages = [Fraction(sum(numbers), len(numbers)) for numbers in chosen]
        assert_estimates(estimate, *moments_of(averages))


@settings(max_examples=300)
@given(queries(), st.booleans())
def test_bounds_of_the_extremes_are_those_of_all_linkings(query, is_largest):
    release, where, is_met = query
    best, worst = (max, min) if is_largest else (min, max)
    found = [
        [row["n0"] for row in rows if is_met(row) and row["n0"] is not None]
        for rows in linkings_of(*release)
    ]
    analyst = Analyst(linked_of(*release))
    bounds = analyst.largest("n0", where) if is_largest else analyst.least("n0", where)
    assert bounds.possible == best((best(numbers) for numbers in found if numbers), default=None)
    if isinstance(where, str) and " or " in where:
        # No more than what holds in every linking is ever claimed.
        assert bounds.guaranteed is None or all(
            numbers and best(best(numbers), bounds.guaranteed) == best(numbers) for numbers in found
        )
        return
    expected = worst(map(best, found)) if all(found) else None
    assert bounds.guaranteed == expected


@settings(max_examples=200)
@given(st.data())
def test_tables_hold_the_mean_and_variance_of_all_linkings(data):
    release = data.draw(releases())
    names = [name for column in release[0] for name in column]
    where, is_met = data.draw(conditions(names))
    axes = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=3, unique=True))
    table = Analyst(linked_of(*release)).table(*axes, where=where)
    linkings = list(linkings_of(*release))
    for place in np.ndindex(table.expected.shape):
        cell = tuple(value_of(name, code) for name, code in zip(axes, place, strict=True))
        counts = [
            sum(is_met(row) and tuple(row[name] for name in axes) == cell for row in rows)
            for rows in linkings
        ]
        mean, variance = moments_of(counts)
        assert table.expected[place] == pytest.approx(float(mean), abs=1e-9)
        assert table.standard_error[place] == pytest.approx(math.sqrt(variance), abs=1e-7)


@settings(max_examples=100)
@given(releases(), st.integers(0, 2**32))
def test_a_sample_is_one_of_the_linkings(release, seed):
    sample = Analyst(linked_of(*release)).sample(np.random.default_rng(seed))
    rows = [
        tuple(value_of(name, code) for name, code in zip(sample.columns, row, strict=True))
        for row in sample.codes.tolist()
    ]
    linkings = {
        tuple(sorted((tuple(row.values()) for row in rows), key=repr))
        for rows in linkings_of(*release)
    }
    assert tuple(sorted(rows, key=repr)) in linkings


@settings(max_examples=200)
@given(st.data())
def test_an_attribute_in_both_columns_links_only_what_agrees(data):
    """The linkings are then those in which every row has one value of it."""
    domains = domains_of(["n0", "t0", "t1"])
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=5))
    buckets = [
        [
            [(s, n) for b, s, n, _ in rows if b % 2 == at],
            [(s, t) for b, s, _, t in rows if b % 2 == at],
        ]
        for at in sorted({b % 2 for b, *_ in rows})
    ]
    linked = linked_of([["t0", "n0"], ["t0", "t1"]], domains, buckets)
    assert linked.attributes == ("t0", "n0", "t1")
    by_bucket = [
        [
            [(s, n, t) for (s, n), (_, t) in zip(left, order, strict=True)]
            for order in itertools.permutations(right)
            if all(one[0] == other[0] for one, other in zip(left, order, strict=True))
        ]
        for left, right in buckets
    ]
    linkings = [
        [row for part in chosen for row in part] for chosen in itertools.product(*by_bucket)
    ]
    counts = [sum(n >= 1 and t == 0 for _, n, t in one) for one in linkings]
    estimate = Analyst(linked).count({"n0": (0, None), "t1": "a"})
    assert_estimates(estimate, *moments_of(counts))


@st.composite
def truth_tables(draw):
    """Three columns of one attribute each, and any condition on which of two values each has."""
    names = ["n0", "n1", "n2"]
    size = draw(st.integers(1, 4))
    entry = st.tuples(st.integers(1, 2))
    bucket = [draw(st.lists(entry, min_size=size, max_size=size)) for _ in names]
    met = draw(st.sets(st.tuples(*[st.sampled_from([0, 2])] * 3), min_size=1))
    text = " or ".join(
        " and ".join(f"{name} = {value}" for name, value in zip(names, values, strict=True))
        for values in sorted(met)
    )
    release = [[name] for name in names], domains_of(names), [bucket]
    return release, text, lambda row: tuple(row.values()) in met


@settings(max_examples=300)
@given(truth_tables())
def test_any_condition_on_three_columns_has_the_moments_of_all_linkings(query):
    release, where, is_met = query
    chosen = [[row["n0"] for row in rows if is_met(row)] for rows in linkings_of(*release)]
    analyst = Analyst(linked_of(*release))
    assert_estimates(analyst.count(where), *moments_of(map(len, chosen)))
    assert_estimates(analyst.sum("n0", where), *moments_of(map(sum, chosen)))
    largest = max((max(values) for values in chosen if values), default=None)
    assert analyst.largest("n0", where).possible == largest


@settings(max_examples=300)
@given(truth_tables())
def test_conditions_on_each_of_three_columns_have_the_moments_of_all_linkings(query):
    release, _, _ = query
    where = {"n0": 2, "n1": 0, "n2": [2]}
    counts = [
        sum((row["n0"], row["n1"], row["n2"]) == (2, 0, 2) for row in rows)
        for rows in linkings_of(*release)
    ]
    analyst = Analyst(linked_of(*release))
    assert_estimates(analyst.count(where), *moments_of(counts))
    assert_estimates(analyst.sum("n0", where), *moments_of(2 * count for count in counts))
