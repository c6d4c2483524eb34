from __future__ import annotations

import itertools
from fractions import Fraction

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

from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.measures import Associations
from shoal.utility import associations

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
EACH = list(range(1, len(ROWS) + 1))
WRONG = ["confidence error", "false positives", "false negatives"]


def identities():
    yield bucketized(COLUMNS, ROWS, EACH)
    yield generalized(COLUMNS, ROWS)
    yield suppressed(COLUMNS, ROWS, TRUTH)
    yield sliced(COLUMNS, ROWS, EACH, [["age"], ["job", "disease"]], "disease")


def mine(**more):
    return Associations(min_support=1, about="disease", **more)


@pytest.mark.parametrize("published", list(identities()), ids=lambda one: one.manifest.shape)
def test_a_release_that_says_all_has_the_rules_of_the_table(published):
    headline = mine(convictions=["1.1"]).run(published, TRUTH).headline
    assert [headline[name] for name in WRONG] == [0, 0, 0]
    assert headline["rules of the table"] == headline["rules of the release"] > 5


def test_a_release_without_rows_has_no_rules():
    headline = mine().run(suppressed(COLUMNS, [], TRUTH), TRUTH).headline
    assert [headline[name] for name in WRONG] == [1, 0, 1]
    assert headline["rules of the release"] == 0


def test_a_release_whose_labels_say_nothing_misses_every_rule():
    published = generalized(COLUMNS, [(HIDE, HIDE, ill) for _, _, ill in ROWS])
    headline = mine(convictions=["1.1"]).run(published, TRUTH).headline
    assert headline["false negatives"] == 1
    assert headline["false positives"] == 0
    assert headline["confidence error"] > 0.3


# --- against the definition -----------------------------------------------------------------------

AGE = st.sampled_from([20, 30])
JOB = st.sampled_from(["baker", "clerk", "ñurse"])
DISEASE = st.sampled_from(["cold", "flu", None])
TABLES = st.lists(st.tuples(AGE, JOB, DISEASE, st.integers(1, 3)), min_size=2, max_size=7)


def rules_of(count, least, bound, original):
    """Find rules by going through all that there could be; `count` gives the rows that are so."""
    n_rows = count({})
    found = {}
    for names in [(0,), (1,), (0, 1)]:
        # As the miner does, which takes a value that everybody has for none.
        if any(len({row[place] for row in original}) == 1 for place in names):
            continue
        for values in itertools.product(*(sorted({row[at] for row in original}) for at in names)):
            given_ = dict(zip(names, values, strict=True))
            for ill in {row[2] for row in original}:
                both, alone, all_ill = count(given_ | {2: ill}), count(given_), count({2: ill})
                seen, expected = (alone - both) * n_rows, alone * (n_rows - all_ill)
                if both >= least and expected >= seen * bound:
                    found[tuple(given_.items()), ill] = Fraction(both, 1) / alone
    return found


@given(TABLES, st.sampled_from([1, 2]), st.sampled_from(["1.1", "1.5"]))
def test_errors_are_those_of_the_definition(table, least, bound):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]

    def true(asked):
        return sum(all(row[at] == value for at, value in asked.items()) for row in rows)

    def expected(asked):
        def worth(values):
            return all(values[at] == value for at, value in asked.items())

        return expected_rows([(0, 1), (2,)], buckets, rows, lambda _, one: [one], worth)

    true_rules = rules_of(true, least, Fraction(bound), rows)
    found_rules = rules_of(expected, least, Fraction(bound), rows)
    errors = []
    for (given_, ill), confidence in true_rules.items():
        found = Fraction(expected(dict(given_) | {2: ill})) / expected(dict(given_))
        errors.append(abs(found - confidence) / confidence)
    n_true = max(len(true_rules), 1)
    asked = Associations(min_support=least, convictions=[bound])
    headline = asked.run(bucketized(COLUMNS, rows, buckets), cells_of(COLUMNS, rows)).headline
    assert headline["rules of the table"] == len(true_rules)
    assert headline["confidence error"] == pytest.approx(float(sum(errors)) / max(len(errors), 1))
    assert headline["false negatives"] == len(true_rules.keys() - found_rules.keys()) / n_true
    assert headline["false positives"] == len(found_rules.keys() - true_rules.keys()) / n_true


def test_every_conviction_is_told_and_the_first_one_is_the_summary():
    published = bucketized(COLUMNS, ROWS, [1, 1, 1, 2, 2, 2])
    measured = mine(convictions=["2", "1.1"]).run(published, TRUTH)
    (section,) = measured.sections
    assert [row[0] for row in section.rows] == ["2", "1.1"]
    assert section.rows[0][1:] == tuple(measured.headline.values())[:-1]
    assert section.rows[0][6] < section.rows[1][6]


@pytest.mark.parametrize(
    "parameters",
    [
        {"min_support": 0},
        {"convictions": []},
        {"convictions": "1.1"},
        {"convictions": [-1]},
        {"max_len": 0},
    ],
)
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError):
        Associations(**parameters)


def test_a_release_without_a_sensitive_column_needs_to_be_told_what_rules_are_about():
    published = suppressed(COLUMNS, ROWS, TRUTH)
    assert not Associations().fits(published)
    with pytest.raises(ParameterError):
        Associations().run(published, TRUTH)
    with pytest.raises(ParameterError):
        Associations(about="shoe").run(published, TRUTH)


def test_column_sets_with_too_many_combinations_are_left_out_and_counted(monkeypatch):
    monkeypatch.setattr("shoal.utility.associations._MOST_CELLS", 16)
    headline = mine().run(bucketized(COLUMNS, ROWS, EACH), TRUTH).headline
    # Of four ages, three jobs and four diseases, only pairs are few enough.
    assert headline["column sets left out"] == 1
    assert headline["rules of the table"] > 0


def overlapping(n_values):
    """Generalize most ages to intervals that overlap."""
    rows = [(place, "baker", f"ill {place % 3}") for place in range(n_values)]
    meanings = {
        f"{place}..{place + 2}": Meaning((str(place), str(place + 2)))
        for place in range(n_values)
        if place % 3
    }
    labels = [(f"{age}..{age + 2}" if age % 3 else str(age), job, ill) for age, job, ill in rows]
    return generalized(COLUMNS, labels, {"age": meanings}), cells_of(COLUMNS, rows)


def test_a_column_with_too_many_labels_is_left_out_of_rules_and_not_the_measure():
    published, truth = overlapping(3000)
    found = mine(convictions=["1.1"]).run(published, truth).headline
    # Age alone, and with the job; the job alone stays.
    assert found["column sets left out"] == 2
    published, truth = overlapping(300)
    assert mine().run(published, truth).headline["column sets left out"] == 0


def test_labels_count_where_they_outnumber_values(monkeypatch):
    ages = ["20", "20..30", "30", "40", "20..60", "60"]
    labels = [(age, *row[1:]) for age, row in zip(ages, ROWS, strict=True)]
    meanings = {"age": {"20..30": Meaning(("20", "30")), "20..60": Meaning(("20", "60"))}}
    published = generalized(COLUMNS, labels, meanings)
    # Six labels of four ages, by three jobs and four diseases: 72 cells where values make 48.
    for most, n_left_out in ((72, 0), (71, 1), (48, 1)):
        monkeypatch.setattr(associations, "_MOST_CELLS", most)
        assert mine().run(published, TRUTH).headline["column sets left out"] == n_left_out
