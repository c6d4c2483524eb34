from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InternalError
from shoal.core.plan import Drop, Plan, Segments

LETTERS = Domain.of_texts("letter", ["a", "b"])
CLASSES = Cells((LETTERS,), np.array([[0], [1]]), np.array([3, 2]))


def segments(*rows):
    """Make segments from rows of (class, first, last, base, step, modulus)."""
    return Segments(*(np.array(column, dtype=np.int64) for column in zip(*rows, strict=True)))


def drop(*rows):
    columns = (np.array(column, dtype=np.int64) for column in zip(*rows, strict=True))
    return Drop(*columns, reason="too rare")


VALID = Plan(CLASSES, 3, segments((0, 0, 3, 0, 1, 0), (1, 0, 2, 2, 1, 3)))


def test_whole_classes_go_into_their_bucket():
    whole = Segments.whole_classes(np.array([1, 0]), CLASSES.counts)
    Plan(CLASSES, 2, whole).check()
    group, rank, bucket = whole.expand()
    assert group.tolist() == [0, 0, 0, 1, 1]
    assert rank.tolist() == [0, 1, 2, 0, 1]
    assert bucket.tolist() == [1, 1, 1, 0, 0]


def test_rows_go_one_a_bucket_and_round_the_ring():
    VALID.check()
    assert VALID.assign.expand()[2].tolist() == [0, 1, 2, 2, 0]


def test_segments_may_come_in_any_order():
    Plan(CLASSES, 1, segments((1, 1, 2, 0, 0, 0), (0, 0, 3, 0, 0, 0), (1, 0, 1, 0, 0, 0))).check()


def test_what_is_not_placed_must_be_dropped():
    half = Plan(CLASSES, 1, segments((0, 1, 3, 0, 0, 0), (1, 0, 2, 0, 0, 0)))
    with pytest.raises(InternalError, match="exactly once"):
        half.check()
    dropped = replace(half, drop=drop((0, 0, 1)))
    dropped.check()
    assert dropped.drop.n_rows == 1


def test_a_plan_may_drop_everything_and_have_no_bucket():
    nothing = Segments(*(np.empty(0, dtype=np.int64) for _ in range(6)))
    Plan(CLASSES, 0, nothing, drop=drop((0, 0, 3), (1, 0, 2))).check()


@pytest.mark.parametrize(
    "rows",
    [
        [(0, 0, 3, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 0, 1, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 0, 3, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 1, 2, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 0, 2, 0, 0, 0), (1, 0, 2, 0, 0, 0)],
        [(0, 0, 2, 0, 0, 0), (0, 1, 3, 0, 0, 0), (1, 0, 2, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 0, 2, 0, 0, 0), (1, 2, 2, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 0, 3, 0, 0, 0), (1, 3, 2, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (-1, 0, 2, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 0, 2, 0, 0, 0), (-1, 0, 2, 0, 0, 0)],
        [(0, 0, 3, 0, 0, 0), (1, 0, 2, 0, 0, 0), (2, 0, 1, 0, 0, 0)],
    ],
)
def test_a_row_that_is_forgotten_or_placed_twice_is_found(rows):
    with pytest.raises(InternalError):
        Plan(CLASSES, 3, segments(*rows)).check()


@pytest.mark.parametrize(
    "whole",
    [
        (0, 0, 3, -1, 1, 0),
        (0, 0, 3, 3, 0, 0),
        (0, 0, 3, 1, 1, 0),
        (0, 0, 3, 0, 2, 0),
        (0, 0, 3, 3, -1, 0),
        (0, 0, 3, 1, -1, 0),
        (0, 0, 3, 0, -1, 3),
        (0, 0, 3, 0, 1, 4),
    ],
)
def test_a_bucket_that_is_not_there_is_found(whole):
    with pytest.raises(InternalError, match="names a bucket"):
        Plan(CLASSES, 3, segments(whole, (1, 0, 2, 0, 0, 0))).check()


def test_a_row_is_not_placed_and_dropped():
    with pytest.raises(InternalError, match="exactly once"):
        replace(VALID, drop=drop((0, 2, 3))).check()


def test_a_repr_has_counts_and_no_value():
    assert repr(VALID) == "Plan(5 rows of 2 classes into 3 buckets, 0 dropped)"


@given(st.data())
def test_sizes_of_buckets_are_those_of_the_rows(data):
    n_buckets = data.draw(st.integers(1, 6))
    rows = []
    for _ in range(data.draw(st.integers(0, 5))):
        modulus = data.draw(st.sampled_from([0, 0, *range(1, n_buckets + 1)]))
        step = data.draw(st.integers(0, 3))
        first = data.draw(st.integers(0, 4))
        room = 20 if modulus or not step else (n_buckets - 1) // step + 1
        length = data.draw(st.integers(1, room))
        top = 2 * n_buckets if modulus else n_buckets - 1 - step * (length - 1)
        rows.append((0, first, first + length, data.draw(st.integers(0, top)), step, modulus))
    assign = Segments(*np.array(rows, dtype=np.int64).reshape(-1, 6).T)
    expected = np.zeros(n_buckets, dtype=np.int64)
    for _, first, last, base, step, modulus in rows:
        for rank in range(last - first):
            place = base + step * rank
            expected[place % modulus if modulus else place] += 1
    assert assign.bucket_sizes(n_buckets).tolist() == expected.tolist()
    assert np.bincount(assign.expand()[2], minlength=n_buckets).tolist() == expected.tolist()
