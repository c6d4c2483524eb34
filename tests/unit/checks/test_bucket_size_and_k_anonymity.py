import numpy as np
import pytest

from shoal.checks import Evidence, anonymity, check, smallest_bucket
from shoal.core.errors import DataError
from shoal.core.guarantees import BucketSize, KAnonymity

GUARANTEES = [KAnonymity, BucketSize]
FUNCTIONS = [anonymity, smallest_bucket]


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_the_smallest_bucket_decides(guarantee):
    evidence = Evidence(None, np.array([7, 4, 5, 4]))
    assert check(guarantee(k=4), evidence).holds
    verdict = check(guarantee(k=5), evidence)
    assert not verdict.holds
    assert verdict.n_failing == 2
    assert verdict.n_buckets == 4
    assert verdict.reached == {"k": 4}
    assert verdict.detail == "2 of 4 buckets hold fewer than 5 rows"


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_moving_one_row_flips_the_verdict(guarantee):
    assert check(guarantee(k=3), Evidence(None, np.array([3, 3]))).holds
    assert not check(guarantee(k=3), Evidence(None, np.array([2, 4]))).holds


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_one_row_is_1_anonymous(guarantee):
    assert check(guarantee(k=1), Evidence(None, np.array([1]))).reached == {"k": 1}


@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_a_release_without_rows_keeps_everything_and_reaches_nothing(guarantee):
    verdict = check(guarantee(k=5), Evidence(None, np.array([], dtype=np.int64)))
    assert verdict.holds
    assert verdict.reached == {}


@pytest.mark.parametrize("function", FUNCTIONS)
def test_plain_lists_are_taken(function):
    assert function([9, 3, 10**17]) == 3


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("sizes", [[], [3, 0], [3, -1], [2.5], [[1, 2]]])
def test_sizes_that_are_none_are_refused(function, sizes):
    with pytest.raises(DataError):
        function(sizes)


def test_where_the_rows_of_a_bucket_differ_those_that_look_alike_are_counted():
    evidence = Evidence(None, np.array([7, 4]), alike=np.array([1, 5]))
    verdict = check(KAnonymity(k=2), evidence)
    assert verdict.reached == {"k": 1}
    assert verdict.detail == (
        "1 of 2 buckets hold a combination of quasi-identifiers that fewer than 2 rows share"
    )
    assert check(BucketSize(k=4), evidence).holds


@pytest.mark.parametrize("alike", [[3], [3, 0], [3, 3, 3]])
def test_rows_that_look_alike_are_counted_for_every_bucket(alike):
    with pytest.raises(DataError):
        Evidence(None, np.array([7, 4]), alike=np.array(alike))
