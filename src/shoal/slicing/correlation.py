"""How strongly attributes are correlated: the mean-square contingency of every pair.

Slicing groups correlated attributes into one column. The measure is phi-squared: 0 for independent
attributes, and 1 if the one with fewer values follows from the other. Numbers are binned first;
otherwise an attribute in which hardly two rows agree would appear correlated with every other.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 4.1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats, Small
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.core.table import Rows
from shoal.slicing import _correlation_kernels

N_BINS = 10
"""The default number of intervals of equal width that numbers are put into."""

_DECIMALS = 12
"""Correlations are rounded so that equal ones tie, whatever the last bits of their sums."""
_KEYS_A_ROW = 8
_FEW_KEYS = 1 << 12
_MOST_SIDE = 128
"""The most cells of a block of attributes; their numbers fit into a byte."""
_ROWS_A_CELL = 3
"""The fewest rows per pair of cells of two blocks: the counts of these pairs are added up, too."""
_MOST_EXPONENT = 900
"""Larger numbers are scaled down, because the range of a column could overflow a float."""


@dataclass(frozen=True, eq=False, repr=False)
class Correlations:
    """Phi-squared of every pair of attributes, from 0 to 1, rounded to twelve decimals.

    An attribute with fewer than two values has 0 everywhere, also with itself.

    Examples
    --------
    >>> matrix = np.array([[1, 0.2, 0.7], [0.2, 1, 0.1], [0.7, 0.1, 1]])
    >>> found = Correlations(("age", "sex", "salary"), matrix)
    >>> found
    Correlations(3 attributes)
    >>> found.nearest("age")
    (('salary', 0.7), ('sex', 0.2))
    """

    columns: tuple[str, ...]
    matrix: Floats

    def __post_init__(self) -> None:
        self.matrix.flags.writeable = False

    @property
    def distance(self) -> Floats:
        """The distance of attributes: 1 minus the correlation, and 0 from themselves."""
        distance = np.round(1 - self.matrix, _DECIMALS)
        np.fill_diagonal(distance, 0)
        return distance

    def between(self, first: str, second: str) -> float:
        """Return the correlation of two attributes."""
        return float(self.matrix[self._place(first), self._place(second)])

    def nearest(self, column: str) -> tuple[tuple[str, float], ...]:
        """Return the other attributes with their correlation, highest first; ties by column."""
        place = self._place(column)
        order = np.argsort(-self.matrix[place], kind="stable").tolist()
        return tuple(
            (self.columns[other], float(self.matrix[place, other]))
            for other in order
            if other != place
        )

    def strongest(self, number: int) -> tuple[tuple[str, str, float], ...]:
        """Return the most correlated pairs above 0, highest first, ties in column order."""
        first, second = np.triu_indices(len(self.columns), k=1)
        values = self.matrix[first, second]
        order = np.argsort(-values, kind="stable")[:number]
        return tuple(
            (self.columns[first[place]], self.columns[second[place]], float(values[place]))
            for place in order.tolist()
            if values[place] > 0
        )

    def select(self, columns: Sequence[str]) -> Correlations:
        """Keep some attributes, in the order given."""
        places = [self._place(column) for column in columns]
        return Correlations(tuple(columns), self.matrix[np.ix_(places, places)])

    def to_dict(self) -> dict[str, object]:
        """Return columns and matrix as plain lists."""
        return {"columns": list(self.columns), "matrix": self.matrix.tolist()}

    def _place(self, column: str) -> int:
        if column not in self.columns:
            raise ParameterError(
                f"There is no correlation of column {column!r}.",
                hint=f"the columns are {', '.join(self.columns)}.",
            )
        return self.columns.index(column)

    def __repr__(self) -> str:
        return f"Correlations({len(self.columns)} attributes)"


def correlations(cells: Cells, n_bins: int = N_BINS) -> Correlations:
    """Return the correlation of every pair of a table's columns, from its distinct cells.

    Numbers and dates are put into `n_bins` intervals of equal width. The time grows with the pairs
    of columns times the cells; no contingency table is kept.

    Examples
    --------
    >>> domains = [Domain.of_texts(name, ["0", "1"]) for name in ("a", "b", "c")]
    >>> rows = np.array([[0, 0, 0], [0, 0, 1], [1, 1, 0], [1, 1, 1]])
    >>> correlations(Cells.of_rows(domains, rows)).matrix.tolist()
    [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    counts = None if np.all(cells.counts == 1) else cells.counts
    return _correlations(cells.domains, cells.codes, counts, n_bins)


def correlations_of_rows(rows: Rows, n_bins: int = N_BINS) -> Correlations:
    """Return the same numbers as `correlations`, computed row by row.

    This saves counting distinct cells if hardly two rows agree. A suppressed cell is a value of its
    own.
    """
    return _correlations(rows.domains, rows.codes, None, n_bins)


def correlations_of_codes(codes: Mapping[str, Small], levels: Mapping[str, Codes]) -> Correlations:
    """Return the correlation of every pair of columns, given as codes row by row.

    `levels` has, for each column, the value or interval that each of its codes belongs to: numbers
    from 0.

    Examples
    --------
    >>> age = np.array([0, 1, 2, 3], dtype=np.int32)
    >>> sex = np.array([0, 0, 1, 1], dtype=np.int32)
    >>> levels = {"age": np.array([0, 0, 1, 1]), "sex": np.array([0, 1])}
    >>> correlations_of_codes({"age": age, "sex": sex}, levels).between("age", "sex")
    1.0
    """
    n_rows = len(next(iter(codes.values()), ()))
    weights = np.ones(n_rows, dtype=np.int64)
    values = np.empty((len(codes), n_rows), dtype=np.int32)
    totals = []
    for place, (name, column) in enumerate(codes.items()):
        is_there = np.zeros(len(levels[name]), dtype=bool)
        is_there[column] = True
        values[place] = _renumber(levels[name], is_there)[column]
        totals.append(np.bincount(values[place]).astype(np.float64))
    return Correlations(tuple(codes), _phi_squared(values, totals, weights))


def equal_bins(domain: Domain, is_there: Flags, n_bins: int) -> Codes:
    """Return the interval of equal width that each code of a numeric column falls into.

    The intervals reach from the smallest to the largest of the codes that occur (`is_there`); the
    last one includes its upper end. The missing value has number `n_bins`.

    Examples
    --------
    >>> from shoal.core.domain import ColumnType
    >>> ages = Domain.of_texts("age", ["0", "4", "5", "10"], type=ColumnType.INTEGER,
    ...     numbers=[0, 4, 5, 10], has_missing=True)
    >>> equal_bins(ages, np.full(5, True), 2).tolist()
    [0, 0, 1, 1, 2]
    """
    assert domain.numbers is not None
    bins = np.full(domain.size, n_bins, dtype=np.int64)
    is_present = is_there[: len(domain.numbers)]
    if not is_present.any():
        return bins
    _, exponent = np.frexp(np.abs(domain.numbers).max())
    numbers = np.ldexp(domain.numbers, min(_MOST_EXPONENT - int(exponent), 0))
    least, largest = numbers[is_present].min(), numbers[is_present].max()
    # Multiply first, so that the bin of a whole number is exact.
    above = np.clip(numbers, least, largest) - least
    width = largest - least
    place = np.floor(above * n_bins / width) if width > 0 else np.zeros(len(numbers))
    bins[: len(numbers)] = np.minimum(place, n_bins - 1)
    return bins


# --- every pair ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Attribute:
    """An attribute as values numbered from 0, each of which occurs, with their counts."""

    values: Small
    totals: Floats

    @property
    def size(self) -> int:
        return len(self.totals)


def _correlations(
    domains: Sequence[Domain], codes: npt.NDArray[Any], counts: Counts | None, n_bins: int
) -> Correlations:
    n_bins = whole("n_bins", n_bins, least=1)
    weights = np.ones(len(codes), dtype=np.int64) if counts is None else counts
    values = np.empty((len(domains), len(codes)), dtype=np.int32)
    totals = []
    for place, domain in enumerate(domains):
        attribute = _attribute(domain, codes[:, place], weights, n_bins)
        values[place] = attribute.values
        totals.append(attribute.totals)
    columns = tuple(domain.column for domain in domains)
    return Correlations(columns, _phi_squared(values, totals, weights))


def _attribute(domain: Domain, codes: npt.NDArray[Any], weights: Counts, n_bins: int) -> _Attribute:
    """Put numbers into bins, and number the values that occur."""
    # One place more: the code of a suppressed cell, -1, indexes the last.
    is_there = np.zeros(domain.size + 1, dtype=bool)
    is_there[codes] = True
    kept = np.arange(domain.size + 1)
    if domain.type.is_numeric and domain.numbers is not None:
        kept = np.append(equal_bins(domain, is_there[:-1], n_bins), n_bins + 1)
    values = _renumber(kept, is_there)[codes]
    return _Attribute(values, np.bincount(values, weights).astype(np.float64))


def _renumber(levels: Codes, is_there: Flags) -> Small:
    """Number the levels that occur from 0, code by code."""
    present = np.unique(levels[is_there])
    return np.searchsorted(present, levels).astype(np.int32)


def _phi_squared(values: Small, totals: Sequence[Floats], weights: Counts) -> Floats:
    """Return ``1 / (min(d1, d2) - 1) * sum (f_ij - f_i f_j)^2 / (f_i f_j)`` for all pairs.

    The sum is ``sum n_ij^2 / (n_i n_j) - 1``, to which pairs of values that never occur together
    add nothing. `values` has a line per attribute, and `totals` the number of people with each of
    its values.
    """
    sizes = np.array([len(one) for one in totals], dtype=np.int64)
    sums = _sums(values, sizes, totals, weights[:0] if np.all(weights == 1) else weights)
    fewest = np.minimum(sizes[:, np.newaxis], sizes)
    found = np.round((sums + sums.T - 1) / np.maximum(fewest - 1, 1), _DECIMALS)
    # An attribute with one value is correlated with nothing.
    matrix: Floats = np.where(fewest > 1, np.clip(found, 0, 1), 0)
    np.fill_diagonal(matrix, sizes > 1)
    return matrix


def _sums(values: Small, sizes: Counts, totals: Sequence[Floats], weights: Counts) -> Floats:
    """Return ``sum n_ij^2 / (n_i n_j)`` of every pair, on one side of the diagonal.

    Attributes with few values are counted in blocks, several pairs in one pass over the rows.
    """
    n_attributes, n_rows = values.shape
    side = min(math.isqrt(int(n_rows / _ROWS_A_CELL)), _MOST_SIDE)
    blocks = _blocks(sizes, side)
    small = np.array([one for block in blocks for one in block], dtype=np.int64)
    large = np.flatnonzero(sizes > side)
    in_line = np.concatenate([*totals, np.zeros(1)])
    starts = (np.cumsum(sizes) - sizes).astype(np.int64)
    sums = np.zeros((n_attributes, n_attributes))
    most_pairs = max(_KEYS_A_ROW * n_rows, _FEW_KEYS)
    table = np.zeros(max(most_pairs, int(sizes.max(initial=1))), dtype=np.int64)
    for place, first in enumerate(large.tolist()):
        others = np.concatenate([large[place + 1 :], small])
        order = np.argsort(values[first], kind="stable").astype(np.int32)
        found = np.zeros(len(others))
        _correlation_kernels.add_up_contingency(
            first, others, values, sizes, weights, starts, in_line, order, most_pairs, table, found
        )
        sums[first, others] = found
    if blocks:
        found = _sums_of_blocks(values, sizes, blocks, side, weights, starts, in_line)
        sums[np.ix_(small, small)] = found
    return sums


def _blocks(sizes: Counts, side: int) -> list[list[int]]:
    """Put the attributes with up to `side` values into blocks with up to `side` cells."""
    blocks: list[list[int]] = []
    left: list[int] = []
    for one in np.argsort(-sizes, kind="stable").tolist():
        size = max(int(sizes[one]), 1)
        if size > side:
            continue
        for place, room in enumerate(left):
            if size <= room:
                blocks[place].append(one)
                left[place] //= size
                break
        else:
            blocks.append([one])
            left.append(side // size)
    return blocks


def _sums_of_blocks(
    values: Small,
    sizes: Counts,
    blocks: Sequence[Sequence[int]],
    side: int,
    weights: Counts,
    starts: Codes,
    in_line: Floats,
) -> Floats:
    """Return the sum of every pair of the attributes of blocks, in the order of the blocks."""
    small = np.concatenate([np.array(block) for block in blocks])
    codes = np.zeros((len(blocks), values.shape[1]), dtype=np.uint8)
    n_cells = np.ones(len(blocks), dtype=np.int64)
    digits = np.zeros((len(small), side), dtype=np.uint8)
    place = 0
    for number, block in enumerate(blocks):
        for one in block:
            codes[number] *= sizes[one].astype(np.uint8)
            codes[number] += values[one].astype(np.uint8)
        n_left = n_cells[number] = sizes[block].prod()
        for one in block:
            n_left //= sizes[one]
            digits[place, : n_cells[number]] = np.arange(n_cells[number]) // n_left % sizes[one]
            place += 1
    begins = np.cumsum([0, *map(len, blocks)]).astype(np.int64)
    table, part, pair = (np.zeros(side * side, dtype=np.int64) for _ in range(3))
    sums = np.zeros((len(small), len(small)))
    for first in range(len(blocks)):
        _correlation_kernels.add_up_blocks(
            first,
            codes,
            n_cells,
            begins,
            digits,
            sizes[small],
            weights,
            starts[small],
            in_line,
            table,
            part,
            pair,
            sums,
        )
    return sums
