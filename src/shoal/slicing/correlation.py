"""How strongly attributes are correlated: the mean-square contingency of every pair.

[Slicing], section 4.1, groups attributes that are correlated into one column. The measure is
phi-squared, 0 for independent attributes and 1 where the one with fewer values follows from the
other. Numbers are put into bins first: without that, an attribute in which hardly two rows agree
seems to be correlated with every other.

[Slicing] Rafi, Ramanaiah: Protecting Attribute Disclosure for High Dimensionality and Preserving
Publishing of Microdata; a shortened form of Li, Li, Zhang, Molloy: Slicing: A New Approach for
Privacy Preserving Data Publishing. TKDE 24(3), 2012.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, Counts
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.core.rows import Rows

__all__ = ["N_BINS", "Correlations", "Floats", "correlations", "correlations_of_rows", "equal_bins"]

Floats = npt.NDArray[np.float64]

N_BINS = 10
"""How many intervals of equal width numbers are put into unless the caller says otherwise."""

_DECIMALS = 12
"""Correlations are rounded so that equal ones tie, whatever the last bits of a sum are."""
_KEYS_A_ROW = 8
_FEW_KEYS = 1 << 12
_MOST_EXPONENT = 900
"""Numbers above two to that are scaled down, for the range of some columns is no float."""


@dataclass(frozen=True, eq=False, repr=False)
class Correlations:
    """Phi-squared of every pair of attributes.

    Parameters
    ----------
    columns
        The attributes.
    matrix
        One row and one column an attribute: numbers from 0 to 1, rounded to twelve decimals. An
        attribute with fewer than two values has 0 everywhere, with itself too.

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
        """How far attributes are apart: 1 less the correlation, and 0 from themselves."""
        distance = np.round(1 - self.matrix, _DECIMALS)
        np.fill_diagonal(distance, 0)
        return distance

    def between(self, first: str, second: str) -> float:
        """Give the correlation of two attributes."""
        return float(self.matrix[self._place(first), self._place(second)])

    def nearest(self, column: str) -> tuple[tuple[str, float], ...]:
        """Give the other attributes with their correlation, the highest first.

        Attributes that are equally near come in the order of the columns.
        """
        place = self._place(column)
        order = np.argsort(-self.matrix[place], kind="stable").tolist()
        return tuple(
            (self.columns[other], float(self.matrix[place, other]))
            for other in order
            if other != place
        )

    def strongest(self, number: int) -> tuple[tuple[str, str, float], ...]:
        """Give the pairs of attributes with the highest correlation, as many as are above 0.

        Pairs that are equally correlated come in the order of the columns.

        Examples
        --------
        >>> matrix = np.array([[1, 0.2, 0.7], [0.2, 1, 0], [0.7, 0, 1]])
        >>> Correlations(("age", "sex", "salary"), matrix).strongest(5)
        (('age', 'salary', 0.7), ('age', 'sex', 0.2))
        """
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
        """Give columns and matrix as plain lists."""
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
    """Give the correlation of every pair of a table's columns, by its distinct cells.

    Parameters
    ----------
    cells
        The distinct combinations of the attributes, with their counts.
    n_bins
        How many intervals of equal width numbers and dates are put into.

    Notes
    -----
    The time grows with the pairs of columns times the cells; no table of counts is kept.

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
    """Give the correlation of every pair of columns, row by row; the numbers of `correlations`.

    Rows save counting distinct cells where hardly two rows agree. A suppressed cell is a value of
    its own.

    Examples
    --------
    >>> domains = tuple(Domain.of_texts(name, ["0", "1"]) for name in ("a", "b"))
    >>> rows = np.array([[0, 0], [0, 1], [1, 1]], dtype=np.int32)
    >>> correlations_of_rows(Rows(domains, rows)).between("a", "b")
    0.25
    """
    return _correlations(rows.domains, rows.codes, None, n_bins)


def equal_bins(domain: Domain, is_there: npt.NDArray[np.bool_], n_bins: int) -> Codes:
    """Put the values of a numeric column into intervals of equal width.

    Parameters
    ----------
    domain
        Integers, reals or dates, with their numbers.
    is_there
        Which codes occur; the intervals reach from the least to the largest of these.
    n_bins
        How many there are. The last one holds its upper end.

    Returns
    -------
    For each code its interval; `n_bins` for the missing value.

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
    # Multiplied first: the bin of a whole number is then exact.
    above = np.clip(numbers, least, largest) - least
    width = largest - least
    place = np.floor(above * n_bins / width) if width > 0 else np.zeros(len(numbers))
    bins[: len(numbers)] = np.minimum(place, n_bins - 1)
    return bins


# --- every pair ---------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Attribute:
    """An attribute as values numbered from 0, each of which occurs, with their counts."""

    values: npt.NDArray[Any]
    totals: Floats

    @property
    def size(self) -> int:
        return len(self.totals)


def _correlations(
    domains: Sequence[Domain], codes: npt.NDArray[Any], counts: Counts | None, n_bins: int
) -> Correlations:
    n_bins = whole("n_bins", n_bins, least=1)
    weights = None if counts is None else counts.astype(np.float64)
    attributes = [
        _attribute(domain, codes[:, place], weights, n_bins) for place, domain in enumerate(domains)
    ]
    matrix = np.zeros((len(domains), len(domains)))
    for place, attribute in enumerate(attributes):
        matrix[place, place] = attribute.size > 1
        scaled = attribute.values.astype(np.int64)
        for other in range(place + 1, len(attributes)):
            found = _phi_squared(attribute, scaled, attributes[other], weights)
            matrix[place, other] = matrix[other, place] = found
    return Correlations(tuple(domain.column for domain in domains), matrix)


def _attribute(
    domain: Domain, codes: npt.NDArray[Any], weights: Floats | None, n_bins: int
) -> _Attribute:
    """Put numbers into bins, and number the values that occur."""
    # One place more: the code of a suppressed cell is -1 and finds the last.
    is_there = np.zeros(domain.size + 1, dtype=bool)
    is_there[codes] = True
    kept = np.arange(domain.size + 1)
    if domain.type.is_numeric and domain.numbers is not None:
        kept = np.append(equal_bins(domain, is_there[:-1], n_bins), n_bins + 1)
    present = np.unique(kept[is_there])
    values = np.searchsorted(present, kept).astype(_narrow_type(len(present)))[codes]
    return _Attribute(
        values, np.bincount(values, weights, minlength=len(present)).astype(np.float64)
    )


def _narrow_type(size: int) -> npt.DTypeLike:
    # Hundreds of attributes of many rows are held at once.
    return np.min_scalar_type(max(size, 1))


def _phi_squared(
    first: _Attribute, first_values: Codes, second: _Attribute, weights: Floats | None
) -> float:
    """Give ``1 / (min(d1, d2) - 1) * sum (f_ij - f_i f_j)^2 / (f_i f_j)``.

    The sum is ``sum n_ij^2 / (n_i n_j) - 1``, to which pairs of values that do not meet add
    nothing.
    """
    fewest = min(first.size, second.size)
    if fewest < 2:
        return 0.0
    pairs, counts = _count_pairs(first_values * second.size + second.values, first, second, weights)
    expected = first.totals[pairs // second.size] * second.totals[pairs % second.size]
    # Sorted, the sum is the same whichever attribute comes first.
    total = np.sort(counts * counts / expected).sum()
    return float(np.clip(np.round((total - 1) / (fewest - 1), _DECIMALS), 0, 1))


def _count_pairs(
    key: Codes, first: _Attribute, second: _Attribute, weights: Floats | None
) -> tuple[Codes, Floats]:
    """Give the pairs of values that meet, ascending, and how often they do."""
    n_pairs = first.size * second.size
    if n_pairs > max(_KEYS_A_ROW * len(key), _FEW_KEYS):
        pairs, inverse = np.unique(key, return_inverse=True)
        return pairs, np.bincount(inverse, weights).astype(np.float64)
    counts = np.bincount(key, weights, minlength=n_pairs)
    pairs = np.flatnonzero(counts).astype(np.int64)
    return pairs, counts[pairs].astype(np.float64)
