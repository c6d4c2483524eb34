"""Work in threads gives what one thread gives, in order."""

import threading
import time

import pytest

from shoal.core import threads
from shoal.core.progress import watching
from shoal.core.threads import core_share, each_of, n_cores, share_cores
from shoal.engines.duckdb.engine import DuckDB


@pytest.mark.parametrize("n_threads", [1, 2, 5, 50])
def test_results_come_in_the_order_of_the_items(n_threads):
    def slower_first(number):
        time.sleep(0.002 * (12 - number))
        return number * number

    assert list(each_of(slower_first, range(12), n_threads=n_threads)) == [
        number * number for number in range(12)
    ]
    assert list(each_of(slower_first, [], n_threads=n_threads)) == []


def test_no_more_threads_than_asked_for_and_none_inside_of_each_other():
    names = set()

    def inside(number):
        names.add(threading.current_thread().name)
        return number

    def outside(number):
        return list(each_of(inside, [number, number + 1], n_threads=4))

    assert list(each_of(outside, [1, 2, 3, 4], n_threads=2)) == [[1, 2], [2, 3], [3, 4], [4, 5]]
    assert 1 <= len(names) <= 2


def test_an_error_is_raised_where_the_result_is_taken_and_nothing_new_begins():
    begun = []

    def fail_at_one(number):
        begun.append(number)
        if number == 1:
            raise ValueError("one")
        return number

    found = each_of(fail_at_one, range(100), n_threads=2)
    assert next(found) == 0
    with pytest.raises(ValueError, match="one"):
        next(found)
    assert len(begun) < 100


def test_the_share_that_is_done_is_told_from_the_calling_thread():
    told = []

    def tell(share):
        told.append((share, threading.current_thread()))

    with watching(tell):
        list(each_of(lambda _: time.sleep(0.06), range(6), n_threads=2))
    assert all(thread is threading.current_thread() for _, thread in told)
    shares = [share for share, _ in told]
    assert shares == sorted(shares)
    assert len(shares) > 1


def test_processes_share_the_cores_of_which_at_least_one_is_for_each(monkeypatch):
    monkeypatch.setattr(threads, "_sharing", [])
    monkeypatch.setattr(threads, "_n_all", lambda: 8)
    assert core_share() is None
    assert n_cores() == 8
    at_work = 3
    share_cores(lambda: at_work)
    assert core_share() == n_cores() == 2
    at_work = 20
    assert n_cores() == 1
    at_work = 1
    assert n_cores() == 8


def test_duckdb_uses_no_more_threads_than_the_share_of_its_process(monkeypatch):
    monkeypatch.setattr(threads, "_sharing", [lambda: 1])
    monkeypatch.setattr(threads, "_n_all", lambda: 3)
    engine = DuckDB()
    try:
        found = engine.rows("SELECT current_setting('threads') AS n_threads")
        assert found["n_threads"].tolist() == [3]
    finally:
        engine.close()
