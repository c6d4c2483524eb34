"""Assemble the counts of a release: lines and buckets in the order of their codes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Buckets, Cells, group, lexicographic_order, total_by
from shoal.core.domain import SUPPRESSED, ColumnType, Domain, NumberedDomain, Role
from shoal.core.errors import DataError
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import Published
from shoal.core.shapes import BUCKET, DataFile, Model
from shoal.core.sliced import Layout, Sliced, SlicedColumn
from shoal.core.table import HIDDEN, Rows
from shoal.engines.sql.domains import build_domain

CHANGED = "was it changed after it was sealed?"
_BYTES_PER_LINE = 110
"""Memory for counting, checking and attacking, per line of a bucketized release."""
_FEW_GAPS = 4
_MOST_COUNTED = 2**62
"""The most rows that a file with counts may state, so that their sum does not overflow 64 bits."""

CodedColumn = tuple[Domain, Codes]
"""The domain of a column, and the code of every entry."""


@dataclass(frozen=True, eq=False)
class LineCounts:
    """The distinct lines of a file, and the number `n` of rows that each stands for."""

    # The published bucket number of each line; None if the file has no buckets.
    bucket: Codes | None
    # A list, because the function that assembles the columns empties it to free memory.
    columns: list[CodedColumn]
    n: Counts
    # The number of the first of the equal lines; None if lines are not numbered.
    first: Codes | None = None


def count_runs(lines: dict[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """Count runs of equal lines.

    Returns the first line of each run, its length (`n`), and its number (`first`), from 1.

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
    # There may be as many runs as lines, so no array is held twice.
    runs = {name: lines.pop(name)[start] for name in tuple(lines)}
    runs["n"] = np.empty_like(start)
    np.subtract(start[1:], start[:-1], out=runs["n"][:-1])
    runs["n"][-1:] = n_lines - start[-1:]
    runs["first"] = start.astype(np.uint32)
    runs["first"] += 1
    return runs


def room_for(manifest: Manifest) -> int:
    """Return the bytes that counting a release, and using the counts, will take.

    Equal rows are counted as one line: most rows of a generalized release, few of one whose lines
    have bucket numbers.
    """
    return _BYTES_PER_LINE * manifest.n_rows if manifest.shape.model is Model.BUCKETS else 0


def domain_of(manifest: Manifest, column: str, texts: Sequence[str | None]) -> tuple[Domain, Codes]:
    """Return the domain of a published column's distinct texts, and the code of each."""
    stated = next(entry for entry in manifest.columns if entry.name == column)
    if stated.is_recoded or (stated.type is ColumnType.ORDERED and stated.order is None):
        # Labels are not numbers.
        return build_domain(column, ColumnType.CATEGORICAL, texts)
    return build_domain(column, stated.type, texts, order=stated.order)


def recoded(
    manifest: Manifest, column: str, codes: Codes, texts: Sequence[str | None]
) -> CodedColumn:
    """Return a column coded by its published texts, given the text of every code."""
    used = np.flatnonzero(np.bincount(codes, minlength=len(texts)))
    domain, code = domain_of(manifest, column, [texts[place] for place in used.tolist()])
    new_code = np.zeros(len(texts), dtype=codes.dtype)
    new_code[used] = code
    return domain, new_code[codes]


class Reader(Protocol):
    """The data files of a release, whether on disk or still in an engine."""

    def count(self, manifest: Manifest, file: DataFile) -> LineCounts:
        """Count the distinct lines of a file."""

    def lines(self, manifest: Manifest, file: DataFile) -> list[CodedColumn]:
        """Return the columns of a file, line by line."""

    def check_linking(self, linking: DataFile, files: Sequence[DataFile]) -> None:
        """Refuse a linking that does not link the files beside it."""


Meanings = Mapping[str, Mapping[str, Meaning]]
Assembled = tuple[Published, Codes | None]
"""The counts of a release, and the first line of each entry of its lines, if known."""


def _count_classes(reader: Reader, manifest: Manifest, meanings: Meanings) -> Assembled:
    (file,) = manifest.data_files
    lines = reader.count(manifest, file)
    if lines.n.sum(dtype=np.float64) > _MOST_COUNTED:
        raise DataError(f"{file.name} counts more rows than there can be.", hint=CHANGED)
    return _generalized(manifest, meanings, lines)


def _count_buckets(reader: Reader, manifest: Manifest, meanings: Meanings) -> Assembled:
    quasi, sensitive = manifest.data_files
    lines, values = reader.count(manifest, quasi), reader.count(manifest, sensitive)
    assert lines.bucket is not None
    assert values.bucket is not None
    if np.any(values.n > lines.n.sum()):
        # With counts bounded like this, their sums cannot overflow 64 bits.
        raise DataError(
            f"{sensitive.name} counts a value more often than {quasi.name} has lines.",
            hint=CHANGED,
        )
    numbers = _numbers(lines.bucket)
    domains = (numbers, *(domain for domain, _ in lines.columns))
    columns = [_places(numbers, lines.bucket), *(codes for _, codes in lines.columns)]
    lines.columns.clear()
    sizes, counts, first = [domain.size for domain in domains], lines.n, lines.first
    if lexicographic_order(columns, sizes) is not None:
        # Somebody changed the order of lines, so equal ones may not be adjacent.
        start, inverse = group(columns, sizes, len(counts))
        columns = [column[start] for column in columns]
        counts = total_by(inverse, lines.n, len(start))
        first = None if first is None else _least(first, inverse, len(start))
    cells = Cells(domains, _matrix(columns), counts)
    held = _places(numbers, values.bucket)
    if np.any(held < 0):
        raise DataError(
            f"{sensitive.name} names buckets that {quasi.name} does not have.", hint=CHANGED
        )
    ((domain, value),) = values.columns
    rank = lexicographic_order([held, value], [numbers.size, domain.size])
    n_buckets = int(held.max(initial=-1)) + 1
    buckets = Buckets(
        n_buckets, _taken(held, rank), _taken(value, rank), _taken(values.n, rank), domain
    )
    return Published(manifest, cells, buckets, meanings), first


def _numbers(bucket: Codes) -> NumberedDomain:
    """Return the distinct bucket numbers."""
    largest = int(bucket.max(initial=0))
    if largest <= _FEW_GAPS * len(bucket):
        is_used = np.zeros(largest + 1, dtype=bool)
        is_used[bucket] = True
        return NumberedDomain(BUCKET, np.flatnonzero(is_used))
    return NumberedDomain(BUCKET, np.unique(bucket).astype(np.int64))


def _places(numbers: NumberedDomain, bucket: Codes) -> Codes:
    """Return the code of each bucket number; -1 if there is no such bucket."""
    whole = numbers.whole
    if len(whole) and whole[0] == 1 and whole[-1] == len(whole):
        # 1, 2, 3, ..., as in every release that Shoal makes.
        places = bucket - 1
        places[bucket > len(whole)] = -1
    else:
        places = np.minimum(np.searchsorted(whole, bucket), max(len(whole) - 1, 0))
        places = np.where(whole[places] == bucket, places, -1) if len(whole) else places - 1
    return cast("Codes", places.astype(np.int32, copy=False))


def _taken(array: npt.NDArray[Any], order: Codes | None) -> npt.NDArray[Any]:
    return array if order is None else array[order]


def _least(numbers: Codes, group_of: Codes, n_groups: int) -> Codes:
    """Return the smallest number of each group."""
    least = np.full(n_groups, np.iinfo(np.int64).max)
    np.minimum.at(least, group_of, numbers)
    return least


def _matrix(columns: list[Codes]) -> Codes:
    """Return columns as a matrix of 32-bit codes, one row per line.

    Each column is freed once it is copied, because there may be as many lines as rows.
    """
    codes = np.empty((len(columns[0]), len(columns)), dtype=np.int32, order="F")
    for place in reversed(range(len(columns))):
        codes[:, place] = columns.pop()
    return cast("Codes", codes)


def _generalized(manifest: Manifest, meanings: Meanings, counted: LineCounts) -> Assembled:
    n_quasi = len(manifest.columns_of(Role.QUASI))
    quasi = counted.columns[:n_quasi]
    columns = [codes for _, codes in quasi]
    start, bucket = group(columns, [domain.size for domain, _ in quasi], len(counted.n))
    n_buckets = len(start)
    total = total_by(bucket, counted.n, n_buckets)
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


def _count_rows(reader: Reader, manifest: Manifest, meanings: Meanings) -> Assembled:
    """Assemble the content of a release line by line.

    The quasi-identifying columns come first, then the sensitive ones. With several sensitive
    columns, the result has no buckets of values.
    """
    (file,) = manifest.data_files
    columns = reader.lines(manifest, file)
    n_quasi = len(manifest.columns_of(Role.QUASI))
    # Only a single sensitive column can be counted by bucket.
    counted = list(columns[: n_quasi + 1] if len(columns) == n_quasi + 1 else columns[:n_quasi])
    n_lines = len(columns[0][1])
    lines = LineCounts(None, counted, np.ones(n_lines, dtype=np.int64), np.arange(1, n_lines + 1))
    published, first = _generalized(manifest, meanings, lines)
    without = [_without_blanks(domain, codes) for domain, codes in columns]
    codes = np.column_stack([codes for _, codes in without]).astype(np.int32)
    return replace(published, rows=Rows(tuple(domain for domain, _ in without), codes)), first


def _without_blanks(domain: Domain, codes: Codes) -> CodedColumn:
    """Remove `*` from the values of a column; its code becomes that of hidden cells."""
    if SUPPRESSED not in domain.texts:
        return domain, codes
    place = domain.texts.tolist().index(SUPPRESSED)
    texts = np.delete(domain.texts, place)
    new_code = np.arange(domain.size) - (np.arange(domain.size) > place)
    new_code[place] = HIDDEN
    # Labels are texts, without numbers.
    return Domain(domain.column, domain.type, texts, None, domain.has_missing), new_code[codes]


def _count_slices(reader: Reader, manifest: Manifest, meanings: Meanings) -> Assembled:
    """Assemble the counts of columns of attributes.

    A column that names a bucket that the first one does not have is refused.
    """
    *files, linking = manifest.data_files
    slices = [reader.count(manifest, file) for file in files]
    reader.check_linking(linking, files)
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
    sizes = total_by(columns[0].bucket, columns[0].count, numbers.size)
    known = [c.name for c in manifest.columns if c.role is not Role.SENSITIVE or c.is_also_quasi]
    layout = Layout(manifest.slices, manifest.columns_of(Role.SENSITIVE), known)
    places = np.arange(numbers.size, dtype=np.int64)[:, np.newaxis]
    lines = Cells((numbers,), places, sizes)
    sliced = Sliced(layout, tuple(columns), sizes)
    return Published(manifest, lines, None, meanings, sliced=sliced), None


def _slice(counted: LineCounts, bucket: Codes) -> SlicedColumn:
    domains = tuple(domain for domain, _ in counted.columns)
    codes = [codes for _, codes in counted.columns]
    start, value = group(codes, [domain.size for domain in domains], len(bucket))
    n_rows = total_by(value, counted.n, len(start))
    values = Cells(domains, np.column_stack([code[start] for code in codes]), n_rows)
    order = np.lexsort((value, bucket))
    return SlicedColumn(values, bucket[order], value[order], counted.n[order])


COUNTERS: Mapping[Model, Callable[[Reader, Manifest, Meanings], Assembled]] = {
    Model.CLASSES: _count_classes,
    Model.BUCKETS: _count_buckets,
    Model.SLICES: _count_slices,
    Model.ROWS: _count_rows,
}
"""The functions that count the data files of a release, by the model that its shape names."""
