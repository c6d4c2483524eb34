"""Prior beliefs: what an adversary believes of every person before seeing a release.

The knowledge is probabilistic: for each person a distribution over the sensitive values. Similar
people have similar values, so the distribution of a person is estimated from nearby rows, and
nearer rows weigh more. The bandwidth of each column sets how much the adversary knows: with a small
one they know about each kind of person, with a large one only about all people together.

References
----------
[LiLZ09] T. Li, N. Li, J. Zhang: Modeling and Integrating Background Knowledge in Data
Anonymization. ICDE 2009.
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Section VIII-B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Floats
from shoal.core.cells import Cells, group
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.guarantees import BANDWIDTH
from shoal.core.tree import Tree
from shoal.locating.location import spread

_Distance = Callable[[Codes, Codes], Floats]

_CUBE = 2**24
"""The largest grid of values that is held in memory."""
_BLOCK = 2**22
"""The number of pairs of cells that are weighed at a time."""
_TABLE = 2**11
"""The weights of columns with more values are computed when needed."""
_MOST_GROUPS = 2**10
"""The largest number of groups of cells by their leading columns."""
_NO_WEIGHT = 1e-12
"""A smaller weight is a rounding error of a distance equal to the bandwidth."""
_SUM = 1e-9
"""The largest difference from 1 of the sum of a distribution."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """A distribution over the sensitive values for each combination of quasi-identifiers.

    Parameters
    ----------
    cells
        The combinations, and how many people have each.
    prior
        One row per cell, one column per code of `domain`; rows add up to 1.
    domain
        The sensitive values.
    bandwidth
        The bandwidth of each column that the beliefs were estimated with. Default: empty, as for
        beliefs that are the same for everybody.

    Raises
    ------
    ParameterError
        If the matrix does not hold one distribution per cell.
    """

    cells: Cells
    prior: Floats
    domain: Domain
    bandwidth: Mapping[str, Fraction] = field(default_factory=dict)

    def __post_init__(self) -> None:
        shape = (self.cells.n_cells, self.domain.size)
        if self.prior.shape != shape:
            raise ParameterError(
                f"Prior beliefs must be a matrix of {shape[0]} cells and {shape[1]} values; got "
                f"one of shape {self.prior.shape}."
            )
        is_sound = np.all(self.prior >= 0) and np.all(np.abs(self.prior.sum(axis=1) - 1) <= _SUM)
        if self.prior.size and not is_sound:
            raise ParameterError(
                "Prior beliefs must be numbers of at least 0 that add up to 1 for every cell."
            )

    @property
    def overall(self) -> Floats:
        """The mean distribution of all people."""
        mean: Floats = self.cells.counts @ self.prior / max(self.cells.n_rows, 1)
        return mean

    def __repr__(self) -> str:
        return (
            f"Beliefs({', '.join(self.cells.columns)}: {self.cells.n_cells} different people, "
            f"{self.domain.size} values of {self.domain.column})"
        )


def read_bandwidth(bandwidth: object, columns: Sequence[str]) -> dict[str, Fraction]:
    """Return the bandwidth of each column, given one for all columns or one for each by name.

    Raises `ParameterError` if one is not between 0 and 1, or a column has none.
    """
    if isinstance(bandwidth, Mapping):
        lacking = [column for column in columns if column not in bandwidth]
        strange = [column for column in bandwidth if column not in columns]
        if lacking or strange:
            raise ParameterError(
                "bandwidth must name every quasi-identifying column and no other; "
                + (f"it lacks {', '.join(lacking)}" if lacking else "")
                + ("; " if lacking and strange else "")
                + (f"it also names {', '.join(map(str, strange))}" if strange else "")
                + ".",
                hint="give one number for all columns, or one for each.",
            )
        return {column: _bandwidth(bandwidth[column]) for column in columns}
    return dict.fromkeys(columns, _bandwidth(bandwidth))


def _bandwidth(given: object) -> Fraction:
    if not isinstance(given, Number):
        raise ParameterError(f"bandwidth must be a number, not {given!r}.")
    bandwidth = exact("bandwidth", given)
    if not 0 <= bandwidth <= 1:
        raise ParameterError(f"bandwidth must lie between 0 and 1, not {as_text(bandwidth)}.")
    return bandwidth


def overall_beliefs(cells: Cells, sensitive: str) -> Beliefs:
    """Return the beliefs in which everybody has the distribution of the whole table."""
    people, totals = _count_values(cells, sensitive)
    shares = totals.sum(axis=0) / max(cells.n_rows, 1)
    prior = np.repeat(shares[np.newaxis], people.n_cells, axis=0)
    return Beliefs(people, prior, cells.domain(sensitive))


def estimate_beliefs(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    bandwidth: Number | Mapping[str, Number] = BANDWIDTH,
) -> Beliefs:
    """Estimate the beliefs about people from the rows near theirs.

    All columns of `cells` but the sensitive one are quasi-identifiers. The bandwidth, from 0 to 1,
    is the distance at which the weight of rows reaches 0: one for all columns, or one for each by
    name. With 0 only equal values have weight.

    This is the Nadaraya-Watson estimate with a product kernel of [LiLZ09]: the belief that a person
    with values q has s is the sum of K(q, q') over the rows q' with s, divided by the sum over all
    rows. K is the product over columns of 1 - (d / b)**2 if the distance d is below the bandwidth
    b, otherwise 0 (the Epanechnikov kernel; its constant cancels). The weight of a row for itself
    is 1, so there is a belief about everybody.

    Distances lie between 0 and 1. For numbers and dates it is the difference divided by the range
    of the column; with a hierarchy, the level of the lowest common ancestor divided by the height;
    for ordered values, the difference of ranks divided by the largest; for others, 1 if they
    differ. A missing value is at distance 1 from every other, unless a hierarchy puts it nearer.

    Cost: with v values of the sensitive column, either v times the grid of all combinations of
    values times the sum of the columns' sizes, or v plus the number of columns for every pair of
    different combinations that occur and are near in the leading columns; whichever is less.

    Examples
    --------
    >>> age = Domain.of_texts("age", ["20", "30", "70"], type=ColumnType.INTEGER,
    ...                       numbers=[20, 30, 70])
    >>> disease = Domain.of_texts("disease", ["cold", "gout"])
    >>> cells = Cells.of_rows([age, disease], np.array([[0, 0], [1, 0], [1, 1], [2, 1]]))
    >>> estimate_beliefs(cells, "disease", {}, 0.4).prior.round(2).tolist()
    [[0.7, 0.3], [0.64, 0.36], [0.0, 1.0]]
    """
    people, totals = _count_values(cells, sensitive)
    bandwidths = read_bandwidth(bandwidth, people.columns)
    axes = [
        _Axis.of(domain, trees.get(domain.column), bandwidths[domain.column])
        for domain in people.domains
    ]
    weigh = _weigh_grid if _is_grid_cheaper(people, totals.shape[1]) else _weigh_pairs
    weighed = weigh(axes, people.codes, totals)
    prior = weighed / weighed.sum(axis=1, keepdims=True)
    return Beliefs(people, prior, cells.domain(sensitive), bandwidths)


def _count_values(cells: Cells, sensitive: str) -> tuple[Cells, Floats]:
    """Return the combinations of quasi-identifiers, and how often each value occurs in each."""
    if sensitive not in cells.columns:
        raise ParameterError(f"The counts have no sensitive column {sensitive!r}.")
    quasi = [column for column in cells.columns if column != sensitive]
    people, place = cells.select_with_inverse(quasi)
    totals = np.zeros((people.n_cells, cells.domain(sensitive).size))
    np.add.at(totals, (place, cells.column(sensitive)), cells.counts)
    return people, totals


@dataclass(frozen=True, eq=False)
class _Axis:
    """The weights between the values of one column.

    `bandwidth` is the distance at which the weight reaches 0; `table` holds the weights between all
    values, or None if there are too many.
    """

    size: int
    distance: _Distance
    bandwidth: float
    table: Floats | None

    @classmethod
    def of(cls, domain: Domain, tree: Tree | None, bandwidth: Fraction) -> _Axis:
        distance = _distance_of(domain, tree)
        axis = cls(domain.size, distance, float(bandwidth), None)
        if domain.size > _TABLE:
            return axis
        values = np.arange(domain.size)
        return cls(domain.size, distance, float(bandwidth), axis.weights(values, values))

    def weights(self, first: Codes, second: Codes) -> Floats:
        """Return the weights between values, one row for each of the first."""
        rows, columns = first[:, np.newaxis], second[np.newaxis]
        if self.table is not None:
            found: Floats = self.table[rows, columns]
            return found
        distances = self.distance(rows, columns)
        if self.bandwidth == 0:
            return np.where(distances == 0, 1.0, 0.0)
        weights: Floats = 1 - (np.minimum(distances, self.bandwidth) / self.bandwidth) ** 2
        return np.where(weights < _NO_WEIGHT, 0.0, weights)


def _distance_of(domain: Domain, tree: Tree | None) -> _Distance:
    if domain.numbers is not None:
        return _along(domain, domain.numbers)
    if tree is not None:
        return _below_ancestor(tree)
    if domain.type is ColumnType.ORDERED:
        return _along(domain, np.arange(len(domain.texts), dtype=np.float64))
    return lambda first, second: np.where(first != second, 1.0, 0.0)


def _along(domain: Domain, numbers: Floats) -> _Distance:
    """Measure along a line from the lowest to the highest number."""
    if len(numbers) and not math.isfinite(float(numbers[-1]) - float(numbers[0])):
        # The range of such numbers exceeds that of a float.
        numbers = numbers / 4
    position = numbers - numbers[:1]
    extent = float(position.max(initial=0))
    position = np.append(position / (extent or 1.0), [math.nan] * domain.has_missing)

    def distance(first: Codes, second: Codes) -> Floats:
        apart = np.abs(position[first] - position[second])
        return np.where(np.isnan(apart), (first != second) * 1.0, apart)

    return distance


def _below_ancestor(tree: Tree) -> _Distance:
    def distance(first: Codes, second: Codes) -> Floats:
        ancestor = tree.common_ancestors(tree.position[first], tree.position[second])
        share: Floats = tree.level[ancestor] / max(tree.height, 1)
        return share

    return distance


def _is_grid_cheaper(people: Cells, n_values: int) -> bool:
    sizes = [domain.size for domain in people.domains]
    grid = math.prod(sizes) * n_values
    pairs = people.n_cells**2 * (len(sizes) + n_values)
    is_small = grid <= _CUBE and max(sizes, default=0) <= _TABLE
    return is_small and grid * sum(sizes) <= pairs


def _weigh_grid(axes: Sequence[_Axis], codes: Codes, totals: Floats) -> Floats:
    """Sum the weighted counts near each cell on the grid of all values, column by column."""
    grid = np.zeros((*(axis.size for axis in axes), totals.shape[1]))
    places = tuple(codes.T)
    grid[places] = totals
    for number, axis in enumerate(axes):
        assert axis.table is not None
        grid = np.moveaxis(np.tensordot(axis.table, grid, axes=(1, number)), 0, number)
    # Without any column, the only cell is the grid itself.
    weighed: Floats = grid[places].reshape(totals.shape)
    return weighed


def _weigh_pairs(axes: Sequence[_Axis], codes: Codes, totals: Floats) -> Floats:
    """Sum the weighted counts near each cell over the cells near it in the leading columns."""
    leading = _leading_columns(axes, codes)
    rest = [number for number in range(len(axes)) if number not in leading]
    columns = [codes[:, number] for number in leading]
    first, of_cell = group(columns, [axes[number].size for number in leading], len(codes))
    near = np.ones((len(first), len(first)))
    for number in leading:
        near *= axes[number].weights(codes[first, number], codes[first, number])
    order = np.argsort(of_cell, kind="stable")
    start = np.searchsorted(of_cell[order], np.arange(len(first) + 1))
    weighed = np.empty_like(totals)
    for place in range(len(first)):
        others = np.flatnonzero(near[place])
        source, position = spread(start[others], start[others + 1] - start[others])
        cells, weight = order[position], near[place, others[source]]
        counted = weight[:, np.newaxis] * totals[cells]
        own = order[start[place] : start[place + 1]]
        for part in np.array_split(own, -(-len(own) * len(cells) // _BLOCK)):
            weights = np.ones((len(part), len(cells)))
            for number in rest:
                weights *= axes[number].weights(codes[part, number], codes[cells, number])
            weighed[part] = weights @ counted
    return weighed


def _leading_columns(axes: Sequence[_Axis], codes: Codes) -> list[int]:
    """Choose columns that keep many cells apart, as long as they form few groups."""
    shares = []
    for number, axis in enumerate(axes):
        some = np.unique(codes[:, number])
        some = some[:: max(-(-len(some) // _MOST_GROUPS), 1)]
        shares.append(float(np.count_nonzero(axis.weights(some, some))) / max(len(some), 1) ** 2)
    chosen: list[int] = []
    for number in np.argsort(shares, kind="stable").tolist():
        columns = [*chosen, number]
        sizes = [axes[column].size for column in columns]
        first, _ = group([codes[:, column] for column in columns], sizes, len(codes))
        if len(first) <= _MOST_GROUPS:
            chosen = columns
    return chosen
