"""Sizes are read as they are written, and limits say how to raise them."""

from __future__ import annotations

import pytest

from shoal.core.errors import DataError, ParameterError
from shoal.engines.limits import Limits, bytes_of, size_of


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        ("1", 1),
        ("10B", 10),
        ("2GB", 2 * 10**9),
        ("2 gb", 2 * 10**9),
        (" 1.5MiB ", 3 * 2**19),
        ("0.5KB", 500),
        ("1TiB", 2**40),
        (7, 7),
    ],
)
def test_sizes(size, n_bytes):
    assert bytes_of(size) == n_bytes
    assert bytes_of(size_of(n_bytes)) == n_bytes


@pytest.mark.parametrize(
    "size", ["", "GB", "much", "-1GB", "0GB", "1e9", "1XB", 0, -1, True, 1.5, None, "1..5MB"]
)
def test_nonsense_is_refused_with_an_example(size):
    with pytest.raises(ParameterError) as refused:
        bytes_of(size)
    assert "64MB" in refused.value.hint


@pytest.mark.parametrize("name", ["max_columns", "max_line", "max_expanded", "max_ratio"])
@pytest.mark.parametrize("value", [0, -1, True, 1.5, "1GB"])
def test_a_limit_is_a_number(name, value):
    with pytest.raises(ParameterError, match=name):
        Limits(**{name: value})


def test_every_refusal_names_the_limit_and_how_to_raise_it():
    limits = Limits(max_columns=3, max_line=1000, max_expanded=10**9, max_ratio=10)
    limits.check_columns("people.csv", 3)
    limits.check_line("people.csv", 1000)
    limits.check_expanded("people.csv", 10**9, 10**8)
    for check, fact, setting in (
        (lambda: limits.check_columns("people.csv", 4), "3 columns", "max_columns = 4"),
        (lambda: limits.check_line("people.csv", 1001), "1KB", 'max_line = "4KB"'),
        (
            lambda: limits.check_expanded("people.csv", 10**9 + 1, 10**9),
            "1GB",
            'max_expanded = "4GB"',
        ),
        (lambda: limits.check_expanded("people.csv", 10**9, 10**7), "10 times", "max_ratio = 50"),
    ):
        with pytest.raises(DataError) as refused:
            check()
        assert fact in refused.value.fact
        assert f"{setting} under [engine]" in refused.value.hint


def test_a_small_file_may_expand_more():
    Limits().check_expanded("people.csv.gz", 60_000_000, 60_000)


def test_a_header_has_room_for_the_names():
    assert Limits().max_header == 2**20
    assert Limits(max_columns=10**6).max_header == 10**8
