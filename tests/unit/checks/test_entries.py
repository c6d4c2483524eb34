import numpy as np
import pytest

from shoal.checks import distinct_diversity
from shoal.checks._entries import confirm
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import DataError

DISEASE = Domain.of_texts("disease", ["cold", "flu"])


def made(n_buckets, bucket, value, count):
    arrays = (np.array(numbers, dtype=np.int64) for numbers in (bucket, value, count))
    return Buckets(n_buckets, *arrays, DISEASE)


def test_sound_entries_pass():
    buckets = made(2, [0, 0, 1], [0, 1, 0], [1, 2, 3])
    assert confirm(buckets) is buckets


@pytest.mark.parametrize(
    "buckets",
    [
        pytest.param(made(2, [0, 1, 0], [0, 0, 1], [1, 1, 1]), id="unsorted buckets"),
        pytest.param(made(1, [0, 0], [1, 0], [1, 1]), id="unsorted values"),
        pytest.param(made(1, [0, 0], [1, 1], [1, 1]), id="a pair twice"),
        pytest.param(made(2, [0, 0], [0, 1], [1, 1]), id="an empty bucket at the end"),
        pytest.param(made(3, [0, 2], [0, 1], [1, 1]), id="an empty bucket between"),
        pytest.param(made(2, [1, 1], [0, 1], [1, 1]), id="an empty bucket at the start"),
        pytest.param(made(1, [], [], []), id="nothing but an empty bucket"),
        pytest.param(made(1, [0], [0], [0]), id="a count of 0"),
        pytest.param(made(1, [0, 0], [0, 1], [3, -1]), id="a negative count"),
        pytest.param(made(1, [0], [2], [1]), id="a value beyond the domain"),
        pytest.param(made(1, [0], [-1], [1]), id="a negative value"),
        pytest.param(made(1, [0, 0], [0, 1], [1]), id="arrays of two lengths"),
    ],
)
def test_unsound_entries_are_refused(buckets):
    with pytest.raises(DataError, match="'disease'"):
        confirm(buckets)
    with pytest.raises(DataError):
        distinct_diversity(buckets)


def test_counts_that_are_too_narrow_are_refused():
    narrow = np.array([1], dtype=np.int32)
    with pytest.raises(DataError):
        confirm(Buckets(1, np.array([0]), np.array([0]), narrow, DISEASE))


def test_a_release_without_rows_has_no_strongest_parameter():
    with pytest.raises(DataError, match="without rows"):
        distinct_diversity(made(0, [], [], []))
