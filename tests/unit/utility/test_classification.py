from __future__ import annotations

import math
import os
import subprocess
import sys
import tracemalloc
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_releases import HIDE, bucketized, cells_of, generalized, sliced, suppressed

from shoal.core.cells import Cells
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.core.measure import Fold, draw_folds
from shoal.core.sharing import sharing
from shoal.measures import Classification
from shoal.utility import classification
from shoal.utility.classification import paired_difference
from shoal.utility.estimated import Estimated, Grouping
from shoal.utility.expected_tree import Tables, predict_by_tables
from shoal.utility.learners import Examples, learn

COLUMNS = ["age", "job", "disease"]
GENERATOR = np.random.default_rng(11)


def drawn_rows(number):
    """Draw people whose disease follows from their job, but for every tenth."""
    rows = []
    for _ in range(number):
        job = str(GENERATOR.choice(["baker", "clerk", "nurse"]))
        ill = {"baker": "flu", "clerk": "cold", "nurse": None}[job]
        if GENERATOR.random() < 0.1:
            ill = "flu"
        rows.append((int(GENERATOR.integers(20, 40)), job, ill))
    return rows


ROWS = drawn_rows(240)
TRUTH = cells_of(COLUMNS, ROWS)
EACH = list(range(1, len(ROWS) + 1))
ALL = Classification(targets=["disease", "job"])


def identities():
    yield bucketized(COLUMNS, ROWS, EACH)
    yield generalized(COLUMNS, ROWS)
    yield suppressed(COLUMNS, ROWS, TRUTH)
    yield sliced(COLUMNS, ROWS, EACH, [["age"], ["job", "disease"]], "disease")


@pytest.mark.parametrize("published", list(identities()), ids=lambda one: one.manifest.shape)
def test_a_release_that_says_all_costs_no_accuracy(published):
    measured = ALL.run(published, TRUTH)
    assert measured.headline["accuracy lost"] == 0
    assert measured.headline["interval of the loss"] == [0, 0]
    assert measured.headline["accuracy"] > 0.8
    lost = {row[:3]: row[5] for row in measured.sections[0].rows}
    assert set(lost.values()) == {0}
    assert len(lost) == 2 * (3 + 2)


def test_a_release_without_rows_predicts_nothing():
    measured = ALL.run(suppressed(COLUMNS, [], TRUTH), TRUTH)
    assert measured.headline["accuracy"] == 0
    assert measured.headline["accuracy lost"] == measured.headline["accuracy of the table"] > 0.8


def test_a_release_that_says_nothing_of_the_features_is_right_by_chance():
    published = generalized(COLUMNS, [(HIDE, HIDE, ill) for _, _, ill in ROWS])
    measured = Classification(targets=["disease"]).run(published, TRUTH)
    assert measured.headline["accuracy lost"] > 0.3
    most = max(Counter(ill for _, _, ill in ROWS).values()) / len(ROWS)
    by_tables = next(row for row in measured.sections[0].rows if row[2] == "expected tables")
    assert by_tables[3] == pytest.approx(most)


def parted(rows, fold):
    domains = TRUTH.domains
    return (
        [row for row, own in zip(rows, fold, strict=True) if own != 0],
        cells_of(COLUMNS, [r for r, own in zip(rows, fold, strict=True) if own != 0], domains),
        cells_of(COLUMNS, [r for r, own in zip(rows, fold, strict=True) if own == 0], domains),
    )


def test_held_out_rows_are_those_that_models_are_tested_on():
    kept, train, test = parted(ROWS, draw_folds(len(ROWS), 4, seed=2))
    published = bucketized(COLUMNS, kept, list(range(len(kept))), domains=TRUTH.domains)
    measured = Classification(targets=["disease"], models=["bayes"]).judge(
        [Fold(published, train, test)]
    )
    assert measured.headline["held out"] is True
    assert measured.outcomes["rows"].sum() == 60
    assert measured.headline["accuracy lost"] == 0
    assert measured.headline["accuracy"] == pytest.approx(accuracy_of_bayes(train, test))


def accuracy_of_bayes(train, test):
    """Count by the definition how often naive Bayes is right."""
    rows = np.repeat(train.codes, train.counts, axis=0)
    n_right = 0
    for row, count in zip(test.codes.tolist(), test.counts.tolist(), strict=True):
        scores = []
        for ill in range(train.domains[2].size):
            own = rows[rows[:, 2] == ill]
            score = math.log(len(own)) if len(own) else -math.inf
            for place in (0, 1):
                hits = np.count_nonzero(own[:, place] == row[place]) + 1
                score += math.log(hits / (len(own) + train.domains[place].size))
            scores.append(score)
        n_right += count * (int(np.argmax(scores)) == row[2])
    return n_right / test.n_rows


def test_buckets_that_hide_more_cost_more():
    order = sorted(range(len(ROWS)), key=lambda place: ROWS[place][0])
    lost = []
    for size in (1, 4, 240):
        buckets = [0] * len(ROWS)
        for rank, place in enumerate(order):
            buckets[place] = rank // size
        measured = Classification(targets=["disease"], models=["bayes"]).run(
            bucketized(COLUMNS, ROWS, buckets), TRUTH
        )
        lost.append(measured.headline["accuracy lost"])
    assert lost == sorted(lost)
    assert lost[0] == 0 < lost[-1]


def test_targets_are_the_sensitive_column_and_another_by_default():
    measured = Classification(models=["bayes"]).run(bucketized(COLUMNS, ROWS, EACH), TRUTH)
    # Ages are twenty values, the most that count as classes.
    assert {row[0] for row in measured.sections[0].rows} == {"disease", "age"}


@pytest.mark.parametrize(
    "parameters",
    [{"models": []}, {"models": ["oracle"]}, {"models": [["tree"]]}, {"folds": 1}, {"seed": -1}],
)
def test_parameters_out_of_range_are_refused(parameters):
    with pytest.raises(ParameterError):
        Classification(**parameters)


def test_targets_that_are_not_there_and_no_folds_are_refused():
    with pytest.raises(ParameterError):
        Classification(targets=["shoe"]).run(bucketized(COLUMNS, ROWS, EACH), TRUTH)
    with pytest.raises(ParameterError):
        Classification().judge([])


def test_without_features_the_most_frequent_class_is_predicted():
    rows = [("b",), ("a",), ("b",)]
    truth = cells_of(["only"], rows)
    measured = Classification(targets=["only"]).run(generalized(["only"], rows), truth)
    assert measured.headline["accuracy"] == pytest.approx(2 / 3)
    assert measured.headline["accuracy lost"] == 0


def test_as_many_classes_as_rows_are_still_classes():
    rows = [(place % 7, "x", f"d{place}") for place in range(40)]
    truth = cells_of(COLUMNS, rows)
    published = bucketized(COLUMNS, rows, list(range(40)))
    assert Classification(targets=["disease"]).run(published, truth).headline["accuracy lost"] == 0


# --- pairing --------------------------------------------------------------------------------------


def test_methods_are_paired_row_by_row():
    asked = Classification(targets=["disease"], models=["bayes"])
    one = asked.run(bucketized(COLUMNS, ROWS, EACH), TRUTH)
    other = asked.run(bucketized(COLUMNS, ROWS, [1] * len(ROWS)), TRUTH)
    name = "disease, bayes, expected tables"
    mean, low, high = paired_difference(one, other, name)
    weights = one.outcomes["rows"]
    apart = np.repeat(one.outcomes[name] - other.outcomes[name], weights.astype(int))
    half = 1.959963984540054 * apart.std(ddof=1) / math.sqrt(len(apart))
    assert (mean, low, high) == pytest.approx(
        (apart.mean(), apart.mean() - half, apart.mean() + half)
    )
    assert low > 0


def test_what_was_measured_on_other_rows_is_not_paired():
    asked = Classification(targets=["disease"], models=["bayes"])
    one = asked.run(bucketized(COLUMNS, ROWS, EACH), TRUTH)
    fewer = cells_of(COLUMNS, ROWS[:100])
    other = asked.run(bucketized(COLUMNS, ROWS[:100], EACH[:100]), fewer)
    with pytest.raises(ParameterError, match="same rows"):
        paired_difference(one, other, "disease, bayes, expected tables")


def test_an_outcome_that_only_one_has_is_not_paired():
    one = Classification(targets=["disease"], models=["bayes"]).run(
        bucketized(COLUMNS, ROWS, EACH), TRUTH
    )
    with pytest.raises(ParameterError, match="no outcome 'job, tree'"):
        paired_difference(one, one, "job, tree")


@given(st.integers(1, 60), st.integers(2, 9), st.integers(0, 3))
def test_folds_are_as_equal_as_can_be_and_the_same_for_one_seed(n_rows, n_folds, seed):
    fold = draw_folds(n_rows, n_folds, seed)
    sizes = np.bincount(fold, minlength=n_folds)
    assert sizes.sum() == n_rows
    assert sizes.max() - sizes.min() <= 1
    assert np.array_equal(fold, draw_folds(n_rows, n_folds, seed))


# --- samples and learners -------------------------------------------------------------------------


def test_samples_keep_what_is_published_and_draw_the_rest_evenly():
    rows = [(20 + at % 4, "baker", "flu") for at in range(4000)]
    truth = cells_of(COLUMNS, rows)
    labels = [("low" if age < 22 else HIDE, job, ill) for age, job, ill in rows]
    meanings = {"age": {"low": Meaning(("20", "22"))}}
    estimated = Estimated(generalized(COLUMNS, labels, meanings), truth)
    sample = estimated.sample(np.random.default_rng(1))
    assert len(sample) == len(rows)
    # Half of the rows are 20 or 21, the others any of four ages.
    ages = np.bincount(sample[:, 0], minlength=4) / len(rows)
    assert ages == pytest.approx([0.375, 0.375, 0.125, 0.125], abs=0.03)


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=12))
def test_naive_bayes_from_tables_of_a_whole_table_is_that_of_its_rows(pairs):
    rows = [(f"a{one}", f"b{one * two % 3}", f"c{two}") for one, two in pairs]
    names = ["a", "b", "c"]
    truth = cells_of(names, rows)
    estimated = Estimated(bucketized(names, rows, list(range(len(rows)))), truth)
    found = predict_by_tables(estimated, names[:2], "c", truth.codes[:, :2])
    all_rows = np.repeat(truth.codes, truth.counts, axis=0).tolist()
    for row, predicted in zip(truth.codes.tolist(), found.tolist(), strict=True):
        scores = []
        for kind in range(truth.domains[2].size):
            own = [other for other in all_rows if other[2] == kind]
            score = Fraction(len(own))
            for place in (0, 1):
                hits = sum(other[place] == row[place] for other in own) + 1
                score *= Fraction(hits, len(own) + truth.domains[place].size)
            scores.append(score)
        assert predicted == scores.index(max(scores))


@pytest.mark.parametrize("model", ["tree", "bayes", "boosting"])
def test_one_class_and_no_rows_leave_nothing_to_learn(model):
    domains, three = TRUTH.domains[:2], np.ones(3, dtype=np.int64)
    rows = np.zeros((3, 2), dtype=np.int64)
    one = learn(model, Examples.of_rows(domains, rows, three, three))
    assert one(rows[:2]).tolist() == [1, 1]
    none = learn(model, Examples.of_rows(domains, rows[:0], three[:0], three[:0]))
    assert none(rows[:2]).tolist() == [-1, -1]


def test_a_release_of_cells_without_any_row_is_still_measured():
    empty = Cells(TRUTH.domains, TRUTH.codes[:0], TRUTH.counts[:0])
    measured = Classification(targets=["disease"], models=["tree"]).judge(
        [Fold(suppressed(COLUMNS, [], TRUTH), empty, TRUTH)]
    )
    assert measured.headline["accuracy"] == measured.headline["accuracy of the table"] == 0


@pytest.fixture
def learned(monkeypatch):
    """The number of rows that each model was trained on."""
    found = []
    real = classification.learn

    def learning(model, examples):
        found.append(examples.n_rows)
        return real(model, examples)

    monkeypatch.setattr(classification, "learn", learning)
    return found


def test_models_of_the_table_are_trained_once_for_all_releases(learned):
    coarse = bucketized(COLUMNS, ROWS, [place // 40 for place in range(len(ROWS))])
    alone = ALL.run(coarse, TRUTH)
    # Two targets and three models, of the release and of the table.
    assert len(learned) == 2 * 2 * 3
    with sharing():
        first = ALL.run(coarse, TRUTH)
        assert len(learned) == 2 * (2 * 2 * 3)
        again = ALL.run(coarse, TRUTH)
        other = ALL.run(bucketized(COLUMNS, ROWS, EACH), TRUTH)
        assert len(learned) == 2 * (2 * 2 * 3) + 2 * (2 * 3)
    for measured in (first, again):
        assert measured.to_dict() == alone.to_dict()
    assert other.to_dict() == ALL.run(bucketized(COLUMNS, ROWS, EACH), TRUTH).to_dict()


def test_models_of_another_table_are_others(learned):
    with sharing():
        for rows in (ROWS, ROWS[:-1], ROWS):
            ALL.run(bucketized(COLUMNS, rows, range(1, len(rows) + 1)), cells_of(COLUMNS, rows))
    assert len(learned) == 3 * (2 * 2 * 3)
    assert learned.count(len(ROWS) - 1) == 2 * 2 * 3


def test_models_of_the_table_do_not_depend_on_the_order_of_sliced_columns(learned):
    columns = [["job", "disease"], ["age"]]
    with sharing():
        first = ALL.run(bucketized(COLUMNS, ROWS, EACH), TRUTH)
        second = ALL.run(sliced(COLUMNS, ROWS, EACH, columns, "disease"), TRUTH)
    assert len(learned) == 2 * 2 * 3 + 2 * 3
    assert second.to_dict() == first.to_dict()


def test_a_column_of_many_values_takes_memory_by_its_rows():
    n_values = 4000
    rows = [(place, "baker", "flu" if place % 2 else "cold") for place in range(n_values)]
    truth = cells_of(COLUMNS, rows)
    estimated = Estimated(bucketized(COLUMNS, rows, [p // 2 for p in range(n_values)]), truth)
    tracemalloc.start()
    try:
        predict_by_tables(estimated, ["age", "job"], "disease", truth.codes[:, :2])
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # One number for every pair of values would take 128 MB.
    assert most < 32e6


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=8))
def test_tables_of_pairs_are_those_of_all_combinations(drawn):
    rows = [(20 + age, f"job {job}", f"ill {ill}") for age, job, ill, _ in drawn]
    truth, buckets = cells_of(COLUMNS, rows), [row[3] + 1 for row in drawn]
    groupings = {
        domain.column: Grouping(np.arange(domain.size), domain.size) for domain in truth.domains
    }
    for published in (
        bucketized(COLUMNS, rows, buckets),
        generalized(COLUMNS, [(HIDE, *row[1:]) for row in rows]),
        sliced(COLUMNS, rows, buckets, [["age"], ["job"], ["disease"]], "disease"),
    ):
        estimated = Estimated(published, truth)
        for pair in (["age", "job"], ["job", "disease"]):
            found = Tables.of_release(estimated, pair).expected(*pair, {})
            assert found == pytest.approx(estimated.table(pair, groupings))


IN_THREADS = """
import numpy as np
from shoal.core.measure import Measured
from shoal.utility.classification import ROWS, paired_difference

generator = np.random.default_rng(1)
rows = generator.integers(1, 5, 50_000).astype(float)
one, other = (
    Measured("classification", {}, outcomes={ROWS: rows, "right": generator.random(50_000)})
    for _ in range(2)
)
print(paired_difference(one, other, "right"))
"""


def test_figures_do_not_depend_on_the_threads_of_the_numerical_library():
    found = {
        subprocess.run(
            [sys.executable, "-c", IN_THREADS],
            env=os.environ | {"OPENBLAS_NUM_THREADS": number},
            check=True,
            capture_output=True,
        ).stdout
        for number in ("1", "2")
    }
    assert len(found) == 1
