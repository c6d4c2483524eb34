from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_releases import (
    HIDE,
    bucketized,
    cells_of,
    domain_of,
    expected_rows,
    generalized,
    sliced,
    suppressed,
)

from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.measures import Loss
from shoal.utility.estimated import Estimated, Grouping
from shoal.utility.loss import cramers_v, divergence, total_variation

COLUMNS = ["age", "job", "disease"]
ROWS = [
    (20, "baker", "flu"),
    (20, "clerk", "cold"),
    (30, "clerk", "flu"),
    (40, "nurse", "pox"),
    (60, "nurse", "flu"),
    (60, "nurse", None),
]
TRUTH = cells_of(COLUMNS, ROWS)
EACH = range(1, len(ROWS) + 1)
NUMBERED = [1, 1, 2, 2, 3, 3]
LOST = [
    "generalized loss",
    "entropy lost",
    "cells suppressed",
    "rows left out",
    "discernibility, share",
    "total variation, columns",
    "total variation, pairs",
    "divergence, columns",
    "divergence, pairs",
    "association lost",
]
AGES = {"young": Meaning(("20", "40")), "old": Meaning(("40", "61"))}
YOUNG_OR_OLD = [("young" if age < 40 else "old", job, ill) for age, job, ill in ROWS]


def identities():
    yield bucketized(COLUMNS, ROWS, list(EACH))
    yield generalized(COLUMNS, ROWS)
    yield suppressed(COLUMNS, ROWS, TRUTH)
    yield sliced(COLUMNS, ROWS, list(EACH), [["age"], ["job", "disease"]], "disease")


@pytest.mark.parametrize("published", list(identities()), ids=lambda one: one.manifest.shape)
def test_a_release_that_says_all_loses_nothing(published):
    headline = Loss().run(published, TRUTH).headline
    assert {name: headline[name] for name in LOST} == pytest.approx(dict.fromkeys(LOST, 0))


def blurred(cells):
    """Yield releases that hide something, by shape; each hides no more than the next."""
    everything = [(HIDE, HIDE, ill) for _, _, ill in ROWS]
    yield (
        "generalized",
        [
            generalized(COLUMNS, ROWS),
            generalized(COLUMNS, YOUNG_OR_OLD, {"age": AGES}),
            generalized(COLUMNS, [(HIDE, job, ill) for _, job, ill in ROWS]),
            generalized(COLUMNS, everything),
        ],
    )
    yield (
        "suppressed",
        [
            suppressed(COLUMNS, ROWS, cells),
            suppressed(COLUMNS, [(HIDE, *ROWS[0][1:]), *ROWS[1:]], cells),
            suppressed(COLUMNS, [(HIDE, HIDE, HIDE)] * len(ROWS), cells),
        ],
    )


@pytest.mark.parametrize(("shape", "releases"), list(blurred(TRUTH)))
def test_labels_that_say_less_lose_more_and_those_that_say_nothing_all(shape, releases):
    found = [Loss().run(published, TRUTH).headline for published in releases]
    for name in ("generalized loss", "entropy lost", "discernibility, share"):
        lost = [headline[name] for headline in found]
        assert lost == sorted(lost)
        assert lost[0] == 0
        assert lost[-1] == pytest.approx(1)
    assert [headline["cells suppressed"] for headline in found][-1] == (
        12 if shape == "generalized" else 18
    )


def test_a_release_without_rows_has_lost_everything():
    measured = Loss().run(suppressed(COLUMNS, [], TRUTH), TRUTH)
    headline = measured.headline
    assert headline["rows left out"] == len(ROWS)
    for name in ("generalized loss", "entropy lost", "discernibility, share"):
        assert headline[name] == 1
    assert headline["total variation, columns"] == headline["total variation, pairs"] == 1
    true = [row[4] for row in measured.sections[2].rows]
    assert headline["association lost"] == pytest.approx(np.mean(true))


def test_generalized_loss_is_by_width_for_numbers_and_by_number_for_others():
    jobs = {"office": Meaning(members=frozenset({"baker", "clerk"}))}
    rows = [
        (age, "office" if job != "nurse" else job, ill)
        for (age, _, ill), (_, job, _) in zip(YOUNG_OR_OLD, ROWS, strict=True)
    ]
    section = Loss().run(generalized(COLUMNS, rows, {"age": AGES, "job": jobs}), TRUTH).sections[0]
    by_column = {row[0]: row[1:] for row in section.rows}
    # Young people are 20 or 30 of 20 to 60, old ones 40 or 60.
    assert by_column["age"][0] == pytest.approx((3 * 10 / 40 + 3 * 20 / 40) / 6)
    assert by_column["job"][0] == pytest.approx((3 * 1 / 2) / 6)
    assert by_column["job"][1] == pytest.approx(3 * entropy([1, 2]) / (6 * entropy([1, 2, 3])))
    assert by_column["age"][2] == by_column["job"][2] == 0


def entropy(counts):
    return -sum(count / sum(counts) * math.log2(count / sum(counts)) for count in counts)


def test_rows_that_are_left_out_count_as_suppressed():
    part = Loss().run(generalized(COLUMNS, ROWS[:4]), TRUTH).headline
    assert part["rows left out"] == 2
    assert [part["generalized loss"], part["entropy lost"]] == pytest.approx([2 / 6, 2 / 6])
    assert part["discernibility"] == 4 * 1 + 2 * 6
    assert part["class size"] == 4 / 4


@pytest.mark.parametrize("n_kept", range(1, len(ROWS) + 1))
def test_the_class_size_is_the_mean_over_published_classes(n_kept):
    hidden_jobs = [(age, HIDE, ill) for age, _, ill in ROWS[:n_kept]]
    classes = Counter(age for age, _, _ in hidden_jobs).values()
    found = Loss().run(generalized(COLUMNS, hidden_jobs), TRUTH).headline
    assert found["class size"] == sum(classes) / len(classes)
    buckets = Counter(NUMBERED[:n_kept]).values()
    found = Loss().run(bucketized(COLUMNS, ROWS[:n_kept], NUMBERED[:n_kept]), TRUTH).headline
    assert found["class size"] == sum(buckets) / len(buckets)


def test_a_release_without_rows_has_no_classes():
    assert Loss().run(suppressed(COLUMNS, [], TRUTH), TRUTH).headline["class size"] == 0


def test_discernibility_of_buckets_adds_up_the_squares_of_their_sizes():
    headline = Loss().run(bucketized(COLUMNS, ROWS, [1, 1, 1, 2, 2, 3]), TRUTH).headline
    assert headline["discernibility"] == 9 + 4 + 1
    assert headline["discernibility, share"] == pytest.approx((14 - 6) / (36 - 6))
    assert headline["class size"] == 2


def test_counts_that_lack_a_column_are_refused():
    with pytest.raises(ParameterError, match="lack columns of the release: disease"):
        Loss().run(bucketized(COLUMNS, ROWS, NUMBERED), TRUTH.select(["age", "job"]))


def test_counts_of_a_part_of_the_table_are_refused():
    with pytest.raises(ParameterError, match="6 rows, more than the 4 of the table"):
        Loss().run(bucketized(COLUMNS, ROWS, NUMBERED), cells_of(COLUMNS, ROWS[:4]))


@pytest.mark.parametrize("groups", [1, 0, 2.5, True])
def test_groups_must_be_a_whole_number(groups):
    with pytest.raises(ParameterError):
        Loss(groups=groups)


def test_many_values_are_put_into_groups():
    ages = domain_of("age", list(range(300)))
    ordered = Grouping.of_values(ages, np.ones(300), 10)
    assert np.bincount(ordered.group).tolist() == [30] * 10
    assert (np.diff(ordered.group) >= 0).all()
    names = domain_of("name", [f"n{number:03}" for number in range(300)])
    counts = np.arange(300.0)
    kept = Grouping.of_values(names, counts, 10)
    assert kept.group[-9:].tolist() == [8, 7, 6, 5, 4, 3, 2, 1, 0]
    assert set(kept.group[:-9].tolist()) == {9}


# --- tables against the definition --------------------------------------------------------------

AGE = st.sampled_from([20, 30, 40])
JOB = st.sampled_from(["baker", "clerk", "ñurse"])
DISEASE = st.sampled_from(["cold", "flu", None])
TABLES = st.lists(st.tuples(AGE, JOB, DISEASE, st.integers(1, 3)), min_size=1, max_size=7)
HALVES = {"low": Meaning(("20", "40")), "high": Meaning(("40", "50"))}
PLACES = {name: place for place, name in enumerate(COLUMNS)}


def groupings_of(truth):
    return {
        domain.column: Grouping.of_values(domain, np.ones(domain.size), 99)
        for domain in truth.domains
    }


def check_tables(published, truth, parts, buckets, rows, admitted):
    estimated, groupings = Estimated(published, truth), groupings_of(truth)
    for names in itertools.chain(
        itertools.combinations(COLUMNS, 1), itertools.combinations(COLUMNS, 2), [COLUMNS]
    ):
        table = estimated.table(names, groupings)
        labels = [truth.domain(name).labels() for name in names]
        for place in np.ndindex(table.shape):
            asked = {PLACES[name]: labels[axis][place[axis]] for axis, name in enumerate(names)}

            def worth(values, asked=asked):
                return all(
                    (None if values[at] is None else str(values[at])) == text
                    for at, text in asked.items()
                )

            found = expected_rows(parts, buckets, rows, admitted, worth)
            assert table[place] == pytest.approx(float(found))


@given(TABLES)
def test_tables_of_buckets_are_expectations_over_all_linkings(table):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]
    truth = cells_of(COLUMNS, rows)
    published = bucketized(COLUMNS, rows, buckets)
    check_tables(published, truth, [(0, 1), (2,)], buckets, rows, lambda _, label: [label])


@given(TABLES)
def test_tables_of_slices_are_expectations_over_all_linkings(table):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]
    truth = cells_of(COLUMNS, rows)
    published = sliced(COLUMNS, rows, buckets, [["age"], ["job"], ["disease"]], "disease")
    check_tables(published, truth, [(0,), (1,), (2,)], buckets, rows, lambda _, label: [label])


@given(TABLES)
def test_labels_are_shared_out_evenly_among_the_values_of_the_table(table):
    rows = [row[:3] for row in table]
    truth = cells_of(COLUMNS, rows)
    labels = [("low" if age < 40 else "high", HIDE, ill) for age, _, ill in rows]
    stands_for = {
        (0, "low"): sorted({age for age, _, _ in rows if age < 40}),
        (0, "high"): [40],
        (1, HIDE): sorted({job for _, job, _ in rows}),
    }
    published = generalized(COLUMNS, labels, {"age": HALVES})
    each = list(range(len(rows)))
    check_tables(
        published,
        truth,
        [(0, 1, 2)],
        each,
        labels,
        lambda place, label: stands_for.get((place, label), [label]),
    )


def test_suppressed_cells_are_shared_out_as_those_that_show():
    rows = [(20, "baker", "flu"), (20, "clerk", "flu"), (30, "clerk", "flu"), (30, "clerk", "flu")]
    truth = cells_of(COLUMNS, rows)
    shown = [(20, "baker", "flu"), (20, "clerk", "flu"), (HIDE, "clerk", "flu"), (30, HIDE, HIDE)]
    table = Estimated(suppressed(COLUMNS, shown, truth), truth).table(
        ["age", "job"], groupings_of(truth)
    )
    # 20 shows twice and 30 once; clerk twice and baker once.
    assert table == pytest.approx(np.array([[1, 1 + 2 / 3], [1 / 3, 1 / 3 + 2 / 3]]))


# --- distances ----------------------------------------------------------------------------------

COUNTS = st.lists(st.integers(0, 9), min_size=6, max_size=6).filter(any)


@given(COUNTS, COUNTS)
def test_distances_are_those_of_their_definitions(true, found):
    p, q = np.array(true, dtype=float), np.array(found, dtype=float)
    both = zip([*true, 0], [*found, 0], strict=True)
    apart = sum(abs(a - b) for a, b in both) + abs(sum(true) - sum(found))
    assert total_variation(p, q) == pytest.approx(float(Fraction(apart, 2 * sum(true))))
    smooth = (
        [(a + 0.5) / (sum(true) + 3) for a in true],
        [(b + 0.5) / (sum(found) + 3) for b in found],
    )
    bits = sum(a * math.log2(a / b) for a, b in zip(*smooth, strict=True))
    assert divergence(p, q) == pytest.approx(bits, abs=1e-12)
    assert total_variation(p, p) == divergence(p, p) == 0


@given(COUNTS)
def test_cramers_v_is_that_of_the_definition(counts):
    table = [counts[:3], counts[3:]]
    rows = [Fraction(sum(row)) for row in table]
    columns = [Fraction(sum(row[at] for row in table)) for at in range(3)]
    degrees = min(sum(map(bool, rows)), sum(map(bool, columns))) - 1
    n_rows = sum(counts)
    squares = [
        (table[i][j] - rows[i] * columns[j] / n_rows) ** 2 / (rows[i] * columns[j] / n_rows)
        for i in range(2)
        for j in range(3)
        if rows[i] * columns[j]
    ]
    true = math.sqrt(sum(squares) / (n_rows * degrees)) if degrees > 0 else 0
    assert cramers_v(np.array(table, dtype=float)) == pytest.approx(true)


@pytest.mark.parametrize(
    "parts",
    [
        [["age", "job"], ["job", "disease"]],
        [["age", "job"], ["job", "disease"], ["sex"]],
        [["age", "sex"], ["sex", "job"], ["job", "disease"]],
    ],
)
@pytest.mark.parametrize("buckets", [[1, 1, 1, 2, 2, 2], list(EACH)])
def test_columns_that_overlap_are_estimated_too(parts, buckets):
    names = [*COLUMNS[:2], "sex", "disease"]
    rows = [(age, job, "FM"[place % 2], ill) for place, (age, job, ill) in enumerate(ROWS)]
    truth = cells_of(names, rows)
    measured = Loss().run(sliced(names, rows, buckets, parts, "disease"), truth)
    # Single columns are published as they are, and so are pairs within one.
    assert max(row[1] for row in measured.sections[1].rows) == pytest.approx(0)
    together = {frozenset(part) for part in parts}
    for first, second, distance, *_ in measured.sections[2].rows:
        if buckets == list(EACH) or frozenset((first, second)) in together:
            assert distance == pytest.approx(0)
