from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_releases import (
    HIDE,
    bucketized,
    cells_of,
    expected_rows,
    generalized,
    sliced,
    suppressed,
)

from shoal.core.cells import Cells
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.measures import Queries
from shoal.utility.answers import Worth, answer, answer_truly
from shoal.utility.estimated import Estimated
from shoal.utility.estimates import mean_interval, median_interval
from shoal.utility.workload import draw_workloads

COLUMNS = ["age", "job", "disease"]
PLACES = {name: place for place, name in enumerate(COLUMNS)}
ROWS = [
    (20, "baker", "flu"),
    (20, "clerk", "cold"),
    (30, "clerk", "flu"),
    (40, "nurse", "pox"),
    (60, "nurse", "flu"),
    (60, "nurse", None),
]
TRUTH = cells_of(COLUMNS, ROWS)
EACH = list(range(1, len(ROWS) + 1))
AGES = {"young": Meaning(("20", "40")), "old": Meaning(("40", "61"))}
ASK = Queries(number=60, dimension=2, selectivity="1/3")


def identities():
    yield bucketized(COLUMNS, ROWS, EACH)
    yield generalized(COLUMNS, ROWS)
    yield suppressed(COLUMNS, ROWS, TRUTH)
    yield sliced(COLUMNS, ROWS, EACH, [["age"], ["job", "disease"]], "disease")


@pytest.mark.parametrize("published", list(identities()), ids=lambda one: one.manifest.shape)
def test_a_release_that_says_all_answers_every_query_rightly(published):
    measured = ASK.run(published, TRUTH)
    assert measured.headline["queries"] > 10
    assert measured.headline["mean relative error"] == pytest.approx(0, abs=1e-12)
    assert measured.headline["median relative error"] == pytest.approx(0, abs=1e-12)
    assert [row[:2] for row in measured.sections[0].rows] == [
        ("COUNT", ""),
        ("SUM", "age"),
        ("AVG", "age"),
    ]
    assert [row[3] for row in measured.sections[0].rows] == pytest.approx([0, 0, 0], abs=1e-12)


def test_a_release_without_rows_answers_nothing():
    measured = ASK.run(suppressed(COLUMNS, [], TRUTH), TRUTH)
    assert measured.headline["mean relative error"] == 1
    assert [row[3] for row in measured.sections[0].rows] == [1, 1, 1]


def test_what_says_less_answers_worse():
    jobs_only = [(HIDE, job, ill) for _, job, ill in ROWS]
    releases = [
        generalized(COLUMNS, ROWS),
        generalized(
            COLUMNS,
            [("young" if age < 40 else "old", job, ill) for age, job, ill in ROWS],
            {"age": AGES},
        ),
        generalized(COLUMNS, jobs_only),
        generalized(COLUMNS, [(HIDE, HIDE, ill) for _, _, ill in ROWS]),
    ]
    asked = Queries(number=2000, dimension=2, selectivity="1/8")
    errors = [asked.run(one, TRUTH).headline["mean relative error"] for one in releases]
    assert errors == sorted(errors)
    assert errors[1] > 0


def test_queries_depend_on_the_table_and_the_seed_alone():
    one = ASK.workloads(Estimated(bucketized(COLUMNS, ROWS, EACH), TRUTH))
    two = ASK.workloads(Estimated(generalized(COLUMNS, ROWS), TRUTH))
    other = Queries(number=60, dimension=2, selectivity="1/3", seed=1).workloads(
        Estimated(generalized(COLUMNS, ROWS), TRUTH)
    )

    def listed(workloads):
        return [{name: marks.tolist() for name, marks in one.marks.items()} for one in workloads]

    assert listed(one) == listed(two) != listed(other)


@pytest.mark.parametrize("dimension", [1, 2, 3, 9])
def test_each_query_names_so_many_columns_and_values(dimension):
    generator = np.random.default_rng(1)
    workloads = draw_workloads(TRUTH, ["age", "job"], ["disease"], dimension, 0.1, 50, generator)
    assert sum(workload.n_queries for workload in workloads) == 50
    named = min(dimension, 2) + 1
    for workload in workloads:
        assert len(workload.attributes) == named
        assert workload.attributes[-1] == "disease"
        for name, marks in workload.marks.items():
            size = TRUTH.domain(name).size
            assert set(marks.sum(axis=0)) == {math.ceil(size * 0.1 ** (1 / named))}
    assert len({workload.attributes for workload in workloads}) == math.comb(2, named - 1)


def test_without_quasi_identifiers_or_sensitive_values_queries_are_about_the_rest():
    generator = np.random.default_rng(1)
    (only,) = draw_workloads(TRUTH, [], ["disease"], 2, 0.1, 5, generator)
    assert only.attributes == ("disease",)
    assert draw_workloads(TRUTH, [], [], 2, 0.1, 5, generator) == []


def test_where_no_query_chooses_a_row_no_error_is_told():
    rows = [("F", "flu"), ("M", "flu")]
    truth = cells_of(["sex", "disease"], rows)
    alone = Cells(truth.domains, truth.codes[:0], truth.counts[:0])
    none = suppressed(["sex", "disease"], [], truth)
    headline = Queries(number=5).run(none, alone).headline
    assert headline["queries"] == 0
    assert headline["mean relative error"] is None


# --- answers against the definition ---------------------------------------------------------------

AGE = st.sampled_from([20, 30, 40, None])
JOB = st.sampled_from(["baker", "clerk", "ñurse"])
DISEASE = st.sampled_from(["cold", "flu", None])
TABLES = st.lists(st.tuples(AGE, JOB, DISEASE, st.integers(1, 3)), min_size=1, max_size=6)


def check_answers(published, original, parts, buckets, rows, admitted, dimension=1):
    truth = cells_of(COLUMNS, original)
    estimated = Estimated(published, truth)
    generator = np.random.default_rng(3)
    workloads = draw_workloads(truth, COLUMNS[:2], COLUMNS[2:], dimension, 0.2, 6, generator)
    ages = truth.domain("age").labels()
    is_there = np.array([text is not None for text in ages], dtype=float)
    numbers = np.array([0 if text is None else int(text) for text in ages], dtype=float)
    jobs = np.arange(truth.domain("job").size) + 0.5
    worths = [Worth("age", numbers), Worth("age", is_there), Worth("job", jobs)]
    of_row = [
        lambda _: 1,
        lambda values: values[0] or 0,
        lambda values: values[0] is not None,
        lambda values: float(jobs[truth.domain("job").labels().index(values[1])]),
    ]
    found = answer(estimated, workloads, worths)
    true = answer_truly(truth, workloads, worths)
    asked = [(workload, query) for workload in workloads for query in range(workload.n_queries)]
    assert found.shape == true.shape == (len(asked), len(of_row))
    for (line, (workload, query)), (place, worth) in itertools.product(
        enumerate(asked), enumerate(of_row)
    ):

        def value(values, query=query, workload=workload, worth=worth):
            texts = [None if one is None else str(one) for one in values]
            is_chosen = all(
                marks[truth.domain(name).labels().index(texts[PLACES[name]]), query]
                for name, marks in workload.marks.items()
            )
            return is_chosen * worth(values)

        expected = expected_rows(parts, buckets, rows, admitted, value)
        assert found[line, place] == pytest.approx(float(expected))
        assert true[line, place] == sum(value(row) for row in original)


@given(TABLES)
def test_answers_of_buckets_are_expectations_over_all_linkings(table):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]
    published = bucketized(COLUMNS, rows, buckets)
    plain = [(0, 1), (2,)]
    check_answers(published, rows, plain, buckets, rows, lambda _, one: [one])


@given(TABLES)
def test_answers_of_slices_are_expectations_over_all_linkings(table):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]
    published = sliced(COLUMNS, rows, buckets, [["age"], ["job"], ["disease"]], "disease")
    apart = [(0,), (1,), (2,)]
    for dimension in (1, 2):
        check_answers(
            published, rows, apart, buckets, rows, lambda _, one: [one], dimension=dimension
        )


@given(TABLES)
def test_labels_count_for_the_share_of_their_values_that_is_asked_for(table):
    rows = [row[:3] for row in table]
    labels = [(HIDE, job, ill) for _, job, ill in rows]
    ages = sorted({age for age, _, _ in rows if age is not None})
    every = [*ages, None] if any(row[0] is None for row in rows) else ages
    check_answers(
        generalized(COLUMNS, labels),
        rows,
        [(0, 1, 2)],
        list(range(len(rows))),
        labels,
        lambda place, label: every if place == 0 else [label],
    )


def test_the_error_of_a_count_is_relative_to_the_true_one():
    # Who is ill is not linked to sex: each of the four pairs is expected half a time.
    rows = [("F", "flu"), ("M", "cold")]
    truth = cells_of(["sex", "disease"], rows)
    published = bucketized(["sex", "disease"], rows, [1, 1])
    measured = Queries(number=40, dimension=1, selectivity="1/4").run(published, truth)
    assert measured.headline["mean relative error"] == 0.5
    assert measured.headline["interval of the mean"] == [0.5, 0.5]
    assert 5 < measured.headline["queries"] < 35
    assert measured.sections[1].rows[0][:2] == (1, measured.headline["queries"])


# --- parameters and intervals ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "parameters",
    [
        {"number": 0},
        {"dimension": 0},
        {"selectivity": 0},
        {"selectivity": 1.5},
        {"seed": -1},
        {"number": 2.0},
    ],
)
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError):
        Queries(**parameters)


def test_columns_that_are_not_there_or_no_numbers_are_refused():
    published = bucketized(COLUMNS, ROWS, EACH)
    for asked in (Queries(about=["shoe"]), Queries(numbers=["shoe"]), Queries(numbers=["job"])):
        with pytest.raises(ParameterError):
            asked.run(published, TRUTH)


def test_about_names_what_every_query_asks_for():
    published = bucketized(COLUMNS, ROWS, EACH)
    asked = Queries(about=["job"], number=20, dimension=1)
    for workload in asked.workloads(Estimated(published, TRUTH)):
        assert workload.attributes[-1] == "job"


def test_intervals_hold_what_they_should_as_often_as_they_should():
    generator = np.random.default_rng(5)
    n_mean = n_median = 0
    for _ in range(400):
        drawn = generator.exponential(size=80)
        low, high = mean_interval(drawn)
        n_mean += low <= 1 <= high
        low, high = median_interval(drawn)
        n_median += low <= math.log(2) <= high
    assert 360 <= n_mean <= 395
    assert 370 <= n_median <= 400


def test_weights_of_an_interval_are_repetitions():
    numbers, weights = np.array([0.0, 1.0, 3.0]), np.array([2.0, 1.0, 4.0])
    repeated = np.repeat(numbers, weights.astype(int))
    assert mean_interval(numbers, weights) == pytest.approx(mean_interval(repeated))


def test_many_values_are_asked_for_in_parts(monkeypatch):
    generator = np.random.default_rng(1)
    monkeypatch.setattr("shoal.utility.workload._MOST_NUMBERS", 8)
    workloads = draw_workloads(TRUTH, ["age", "job"], ["disease"], 2, 0.1, 50, generator)
    # Four ages at a time leave room for two queries.
    assert {workload.n_queries for workload in workloads} == {2}
    assert sum(workload.n_queries for workload in workloads) == 50
    assert len({workload.attributes for workload in workloads}) == 1
