from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_releases import HIDE, bucketized, cells_of, expected_rows, generalized, sliced

from shoal.utility.estimated import Estimated
from shoal.utility.expected_tree import Conditioned, Tables, grow_tree

COLUMNS = ["age", "job", "disease"]
AGE = st.sampled_from([20, 30, 40, None])
JOB = st.sampled_from(["baker", "clerk", "ñurse"])
DISEASE = st.sampled_from(["cold", "flu", None])
TABLES = st.lists(st.tuples(AGE, JOB, DISEASE, st.integers(1, 3)), min_size=1, max_size=6)
MARKS = st.lists(st.booleans(), min_size=4, max_size=4)


def text_of(value):
    return None if value is None else str(value)


def check(tables, truth, marks, expected):
    """Compare tables of all pairs, with conditions on all attributes but the second of the pair."""
    labels = {domain.column: domain.labels() for domain in truth.domains}
    for feature, target in itertools.permutations(COLUMNS, 2):
        path = {name: np.array(marks[: len(labels[name])]) for name in COLUMNS if name != target}
        table = tables.expected(feature, target, path)
        for one, other in itertools.product(*(range(len(labels[at])) for at in (feature, target))):

            def worth(values, feature=feature, target=target, path=path, one=one, other=other):
                row = {name: text_of(at) for name, at in zip(COLUMNS, values, strict=True)}
                return (
                    row[feature] == labels[feature][one]
                    and row[target] == labels[target][other]
                    and all(met[labels[name].index(row[name])] for name, met in path.items())
                )

            assert table[one, other] == pytest.approx(float(expected(worth)))


@given(TABLES, MARKS)
def test_tables_of_buckets_under_conditions_are_expectations(table, marks):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]
    truth = cells_of(COLUMNS, rows)
    tables = Tables.of_release(Estimated(bucketized(COLUMNS, rows, buckets), truth))
    plain = [(0, 1), (2,)]
    check(
        tables,
        truth,
        marks,
        lambda worth: expected_rows(plain, buckets, rows, lambda _, one: [one], worth),
    )


@given(TABLES, MARKS)
def test_tables_of_slices_under_conditions_are_expectations(table, marks):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]
    truth = cells_of(COLUMNS, rows)
    published = sliced(COLUMNS, rows, buckets, [["age"], ["job"], ["disease"]], "disease")
    apart = [(0,), (1,), (2,)]
    check(
        Tables.of_release(Estimated(published, truth)),
        truth,
        marks,
        lambda worth: expected_rows(apart, buckets, rows, lambda _, one: [one], worth),
    )


@given(TABLES, MARKS)
def test_tables_of_labels_and_of_the_table_are_expectations(table, marks):
    rows = [row[:3] for row in table]
    truth = cells_of(COLUMNS, rows)
    each = list(range(len(rows)))
    jobs = sorted({job for _, job, _ in rows})
    labels = [(age, HIDE, ill) for age, _, ill in rows]
    check(
        Tables.of_release(Estimated(generalized(COLUMNS, labels), truth)),
        truth,
        marks,
        lambda worth: expected_rows(
            [(0, 1, 2)], each, labels, lambda at, one: jobs if at == 1 else [one], worth
        ),
    )
    check(
        Tables.of_table(truth, COLUMNS),
        truth,
        marks,
        lambda worth: sum(worth(row) for row in rows),
    )


def gini_gain(groups):
    """Return by how much a split raises the rows that agree with another one of their side."""

    def purity(rows):
        classes = [row[2] for row in rows]
        return Fraction(sum(classes.count(one) for one in classes), max(len(rows), 1))

    left, right = groups
    return purity(left) + purity(right) - purity([*left, *right])


def splits_of(rows, truth):
    """Go through all splits: ages up to one of them, or one job."""
    ages = truth.domain("age").labels()
    for place in range(len(ages) - 1):
        left = [row for row in rows if ages.index(text_of(row[0])) <= place]
        yield left, [row for row in rows if row not in left]
    for job in truth.domain("job").labels():
        yield [row for row in rows if row[1] == job], [row for row in rows if row[1] != job]


@given(TABLES, st.integers(1, 3))
def test_the_first_split_gains_most(table, least):
    rows = [row[:3] for row in table]
    truth = cells_of(COLUMNS, rows)
    tree = grow_tree(Tables.of_table(truth, COLUMNS), COLUMNS[:2], "disease", least)
    gains = [
        gini_gain(groups) for groups in splits_of(rows, truth) if min(map(len, groups)) >= least
    ]
    best = max(gains, default=Fraction(0))
    if best == 0:
        assert tree.root.best is None
    else:
        assert tree.root.best.gain == pytest.approx(float(best))


@given(TABLES)
def test_a_tree_without_limits_knows_every_row_that_can_be_told_apart(table):
    rows = [row[:3] for row in table]
    truth = cells_of(COLUMNS, rows)
    tree = grow_tree(Tables.of_table(truth, COLUMNS), COLUMNS[:2], "disease", 1)
    for node in leaves_of(tree.root):
        reach = [
            code
            for code in truth.codes.tolist()
            if all(marks[code[COLUMNS.index(name)]] for name, marks in node.path.items())
        ]
        assert reach
        assert node.label in {code[2] for code in reach}
    predicted = tree.predict(truth.codes[:, :2])
    # Every leaf predicts its most frequent class, so that no constant does better.
    right = truth.counts[predicted == truth.codes[:, 2]].sum()
    assert right >= max(np.bincount(truth.codes[:, 2], truth.counts))


def leaves_of(node):
    if node.children is None:
        return [node]
    return [leaf for child in node.children for leaf in leaves_of(child)]


def test_buckets_that_link_nothing_leave_nothing_to_split():
    rows = [(20, "baker", "flu"), (30, "clerk", "cold"), (40, "clerk", "flu")]
    truth = cells_of(COLUMNS, rows)
    tables = Tables.of_release(Estimated(bucketized(COLUMNS, rows, [1, 1, 1]), truth))
    tree = grow_tree(tables, COLUMNS[:2], "disease", 1)
    assert tree.root.best is None
    assert tree.predict(truth.codes[:, :2]).tolist() == [1, 1, 1]


@given(TABLES, MARKS, st.sets(st.sampled_from(COLUMNS)))
def test_weights_that_a_node_shares_change_no_table(table, marks, conditions):
    rows, buckets = [row[:3] for row in table], [row[3] for row in table]
    truth = cells_of(COLUMNS, rows)
    for published in (bucketized(COLUMNS, rows, buckets), None):
        tables = (
            Tables.of_table(truth, COLUMNS)
            if published is None
            else Tables.of_release(Estimated(published, truth))
        )
        path = {
            domain.column: np.array(marks[: domain.size])
            for domain in truth.domains
            if domain.column in conditions
        }
        shared = Conditioned(tables, path)
        for feature, target in itertools.permutations(COLUMNS, 2):
            expected = tables.expected(feature, target, path)
            np.testing.assert_array_equal(shared.expected(feature, target), expected)
