"""Put together what was counted of a release: lines and buckets in the order of their codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Cells, Codes, Counts, group, lexicographic_order
from shoal.core.domain import SUPPRESSED, ColumnType, Domain, NumberedDomain
from shoal.core.errors import DataError
from shoal.core.method import Shape
from shoal.core.release import BUCKET, Manifest, Meaning, Published
from shoal.core.rows import HIDDEN, Rows
from shoal.core.schema import Role
from shoal.core.sliced import Layout, Sliced, SlicedColumn
from shoal.engines.domains import build_domain

__all__ = [
    "CHANGED",
    "Coded",
    "Counted",
    "assemble",
    "count_runs",
    "domain_of",
    "recoded",
    "room_for",
    "sliced_release",
    "suppressed",
]

CHANGED = "was it changed after it was sealed?"
_BYTES_A_LINE = 110
"""What counting, checking and attacking hold at most, for each line of a bucketized release."""
_FEW_GAPS = 4

Coded = tuple[Domain, Codes]
"""A column: its domain, and the code of every entry."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The distinct lines of a file.

    Parameters
    ----------
    bucket
        The published number of the bucket of each, where the file has one.
    columns
        The columns that were counted; `assemble` takes them over.
    n
        How many rows each stands for.
    first
        The first of the lines that are alike; None where lines have no numbers.
    """

    bucket: Codes | None
    columns: list[Coded]
    n: Counts
    first: Codes | None = None


def count_runs(lines: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Count equal lines that stand together.

    Returns
    -------
    The lines without those that repeat the one before, how many each stands for (`n`), and the
    number of the first of them (`first`), from 1.

    Examples
    --------
    >>> counted = count_runs({"b": np.array([4, 4, 7]), "c0": np.array([0, 0, 0])})
    >>> {name: array.tolist() for name, array in counted.items()}
    {'b': [4, 7], 'c0': [0, 0], 'n': [2, 1], 'first': [1, 3]}
    """
    n_lines = len(next(iter(lines.values())))
    opens = np.zeros(n_lines, dtype=bool)
    opens[:1] = True
    for column in lines.values():
        opens[1:] |= column[1:] != column[:-1]
    start = np.flatnonzero(opens)
    # Nearly as many runs as lines: no array is held twice.
    runs = {name: lines.pop(name)[start] for name in tuple(lines)}
    runs["n"] = np.empty_like(start)
    np.subtract(start[1:], start[:-1], out=runs["n"][:-1])
    runs["n"][-1:] = n_lines - start[-1:]
    runs["first"] = start.astype(np.uint32)
    runs["first"] += 1
    return runs


def room_for(manifest: Manifest) -> int:
    """Give the bytes that counting a release, and what is done with the counts, will take.

    Rows that look alike are one line. In a generalized release most do; in a bucketized one few.
    """
    return _BYTES_A_LINE * manifest.n_rows if manifest.shape is Shape.BUCKETIZED else 0


def domain_of(manifest: Manifest, column: str, texts: Sequence[str | None]) -> tuple[Domain, Codes]:
    """Give the domain of a published column's different texts, and the code of each."""
    stated = next(entry for entry in manifest.columns if entry.name == column)
    if stated.is_recoded or (stated.type is ColumnType.ORDERED and stated.order is None):
        # Labels are no numbers.
        return build_domain(column, ColumnType.CATEGORICAL, texts)
    return build_domain(column, stated.type, texts, order=stated.order)


def recoded(manifest: Manifest, column: str, codes: Codes, texts: Sequence[str | None]) -> Coded:
    """Give a column by its published texts where the text of every code is known."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    domain, code = domain_of(manifest, column, [texts[place] for place in used.tolist()])
    new_code = np.zeros(len(texts), dtype=codes.dtype)
    new_code[used] = code
    return domain, new_code[codes]


def assemble(
    manifest: Manifest,
    meanings: Mapping[str, Mapping[str, Meaning]],
    lines: Counted,
    values: Counted | None = None,
) -> tuple[Published, Codes | None]:
    """Put together what was counted, in the order of cells.

    Parameters
    ----------
    lines
        The distinct lines: of `quasi` where the release is bucketized, of `table` where not, the
        sensitive column last.
    values
        The lines of `sensitive` where the release is bucketized.

    Returns
    -------
    published
        What any reader can count.
    first
        Of each entry of `published.lines` the first line that shows it, where that is known.
    """
    if values is None:
        return _generalized(manifest, meanings, lines)
    assert lines.bucket is not None
    assert values.bucket is not None
    numbers = _numbers(lines.bucket)
    domains = (numbers, *(domain for domain, _ in lines.columns))
    columns = [_places(numbers, lines.bucket), *(codes for _, codes in lines.columns)]
    lines.columns.clear()
    sizes, counts, first = [domain.size for domain in domains], lines.n, lines.first
    if lexicographic_order(columns, sizes) is not None:
        # Somebody sorted the lines otherwise: equal ones may stand apart.
        start, inverse = group(columns, sizes, len(counts))
        columns = [column[start] for column in columns]
        counts = np.zeros(len(start), dtype=np.int64)
        np.add.at(counts, inverse, lines.n)
        first = None if first is None else _least(first, inverse, len(start))
    cells = Cells(domains, _matrix(columns), counts)
    held = _places(numbers, values.bucket)
    if np.any(held < 0):
        raise DataError("sensitive names buckets that quasi does not have.", hint=CHANGED)
    ((domain, value),) = values.columns
    rank = lexicographic_order([held, value], [numbers.size, domain.size])
    n_buckets = int(held.max(initial=-1)) + 1
    buckets = Buckets(
        n_buckets, _taken(held, rank), _taken(value, rank), _taken(values.n, rank), domain
    )
    return Published(manifest, cells, buckets, meanings), first


def _numbers(bucket: Codes) -> NumberedDomain:
    """Give the different numbers of buckets."""
    largest = int(bucket.max(initial=0))
    if largest <= _FEW_GAPS * len(bucket):
        is_used = np.zeros(largest + 1, dtype=bool)
        is_used[bucket] = True
        return NumberedDomain(BUCKET, np.flatnonzero(is_used))
    return NumberedDomain(BUCKET, np.unique(bucket).astype(np.int64))


def _places(numbers: NumberedDomain, bucket: Codes) -> Codes:
    """Give the code of each bucket's number; -1 where there is no such bucket."""
    whole = numbers.whole
    if len(whole) and whole[0] == 1 and whole[-1] == len(whole):
        # As in every release that Shoal makes: 1, 2, 3, ...
        places = bucket - 1
        places[bucket > len(whole)] = -1
    else:
        places = np.minimum(np.searchsorted(whole, bucket), max(len(whole) - 1, 0))
        places = np.where(whole[places] == bucket, places, -1) if len(whole) else places - 1
    return cast("Codes", places.astype(np.int32, copy=False))


def _taken(array: npt.NDArray[Any], order: Codes | None) -> npt.NDArray[Any]:
    return array if order is None else array[order]


def _least(numbers: Codes, group_of: Codes, n_groups: int) -> Codes:
    """Give the least number of each group."""
    least = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(least, group_of, numbers)
    return least


def _matrix(columns: list[Codes]) -> Codes:
    """Put columns beside one another, in half the room of 64 bits: there is one row a line.

    Each column is freed as soon as it is copied, for there may be as many lines as rows.
    """
    codes = np.empty((len(columns[0]), len(columns)), dtype=np.int32, order="F")
    for place in reversed(range(len(columns))):
        codes[:, place] = columns.pop()
    return cast("Codes", codes)


def _generalized(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], counted: Counted
) -> tuple[Published, Codes | None]:
    n_quasi = len(manifest.columns_of(Role.QUASI))
    quasi = counted.columns[:n_quasi]
    columns = [codes for _, codes in quasi]
    start, bucket = group(columns, [domain.size for domain, _ in quasi], len(counted.n))
    n_buckets = len(start)
    total = np.zeros(n_buckets, dtype=np.int64)
    np.add.at(total, bucket, counted.n)
    domains = (
        NumberedDomain(BUCKET, np.arange(1, n_buckets + 1)),
        *(domain for domain, _ in quasi),
    )
    looks = [np.arange(n_buckets), *(codes[start] for codes in columns)]
    first = None if counted.first is None else _least(counted.first, bucket, n_buckets)
    buckets = None
    if len(counted.columns) > n_quasi:
        domain, value = counted.columns[n_quasi]
        buckets = Buckets.of_pairs(bucket, value, domain, counted.n)
    return Published(manifest, Cells(domains, _matrix(looks), total), buckets, meanings), first


def suppressed(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], columns: Sequence[Coded]
) -> tuple[Published, Codes]:
    """Put together what a suppressed release shows, line by line.

    Parameters
    ----------
    columns
        The quasi-identifying columns, then the sensitive ones, with the code of every line.

    Returns
    -------
    published
        What any reader can count. Where several columns are sensitive, it has no buckets of values.
    first
        Of each entry of `published.lines` the first line that shows it.
    """
    n_quasi = len(manifest.columns_of(Role.QUASI))
    # At most one sensitive column can be counted by bucket.
    counted = list(columns[: n_quasi + 1] if len(columns) == n_quasi + 1 else columns[:n_quasi])
    n_lines = len(columns[0][1])
    lines = Counted(None, counted, np.ones(n_lines, dtype=np.int64), np.arange(1, n_lines + 1))
    published, first = _generalized(manifest, meanings, lines)
    assert first is not None
    without = [_without_blanks(domain, codes) for domain, codes in columns]
    codes = np.column_stack([codes for _, codes in without]).astype(np.int32)
    return replace(published, rows=Rows(tuple(domain for domain, _ in without), codes)), first


def _without_blanks(domain: Domain, codes: Codes) -> Coded:
    """Take `*` out of the values of a column; its code becomes that of hidden cells."""
    if SUPPRESSED not in domain.texts:
        return domain, codes
    place = domain.texts.tolist().index(SUPPRESSED)
    texts = np.delete(domain.texts, place)
    new_code = np.arange(domain.size) - (np.arange(domain.size) > place)
    new_code[place] = HIDDEN
    # Labels are texts: none of them has a number.
    return Domain(domain.column, domain.type, texts, None, domain.has_missing), new_code[codes]


def sliced_release(
    manifest: Manifest, meanings: Mapping[str, Mapping[str, Meaning]], slices: Sequence[Counted]
) -> Published:
    """Put together the counts of a sliced release's columns.

    Raises
    ------
    DataError
        Where a column names other buckets than the first, or not as many rows in one.
    """
    first = slices[0].bucket
    assert first is not None
    numbers = _numbers(first)
    columns = []
    for counted in slices:
        assert counted.bucket is not None
        bucket = _places(numbers, counted.bucket)
        if np.any(bucket < 0):
            raise DataError("The columns name different buckets.", hint=CHANGED)
        columns.append(_slice(counted, bucket))
    sizes = np.zeros(numbers.size, dtype=np.int64)
    np.add.at(sizes, columns[0].bucket, columns[0].count)
    known = [c.name for c in manifest.columns if c.role is not Role.SENSITIVE or c.is_also_quasi]
    layout = Layout(manifest.slices, manifest.columns_of(Role.SENSITIVE), known)
    places = np.arange(numbers.size, dtype=np.int64)[:, np.newaxis]
    lines = Cells((numbers,), places, sizes)
    return Published(manifest, lines, None, meanings, sliced=Sliced(layout, tuple(columns), sizes))


def _slice(counted: Counted, bucket: Codes) -> SlicedColumn:
    domains = tuple(domain for domain, _ in counted.columns)
    codes = [codes for _, codes in counted.columns]
    start, value = group(codes, [domain.size for domain in domains], len(bucket))
    n_rows = np.zeros(len(start), dtype=np.int64)
    np.add.at(n_rows, value, counted.n)
    values = Cells(domains, np.column_stack([code[start] for code in codes]), n_rows)
    order = np.lexsort((value, bucket))
    return SlicedColumn(values, bucket[order], value[order], counted.n[order])
