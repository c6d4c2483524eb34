"""Summary statistics of a table, as an adversary may know them.

"The average salary of physical therapists is 70K": the mean of a numeric sensitive column among
the people that a condition holds for, or the share of each sensitive value among them. A condition
is a conjunction of hierarchy nodes, and only conditions that enough people meet are told. They
re-weigh what an adversary believes and forbid nothing.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008. Section
VIII-A.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from numbers import Integral

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, Counts, group
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.hierarchy import Hierarchy
from shoal.core.tree import Label, Tree
from shoal.knowledge.mining.capacity import bounded

__all__ = [
    "Antecedent",
    "Statistic",
    "check_columns",
    "frequent_antecedents",
    "least_count",
    "mine_statistics",
]

_FEWER = "let conditions name fewer columns (max_len), or raise min_support."

_Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, repr=False)
class Statistic:
    """What is known of the sensitive column among the people that a condition holds for.

    It is either a share or a mean.

    Parameters
    ----------
    antecedent
        The condition: for each of its columns the label of a hierarchy node; None for the missing
        value.
    value
        The sensitive value that a share is about, None where it is missing; None for a mean too.
    share
        The share of the value among those people.
    mean
        The mean of the sensitive column among them, dates as days since 1970-01-01.
    count
        How many people it is about; None where it was given, not mined.
    who, why
        Who added it, and for what reason.

    Examples
    --------
    >>> Statistic(antecedent={"job": "physical therapist"}, mean=70_000)
    Statistic(mean given job)
    """

    antecedent: Mapping[str, Label]
    value: Label = None
    share: float | None = None
    mean: float | None = None
    count: int | None = None
    who: str = ""
    why: str = ""

    def __post_init__(self) -> None:
        if (self.share is None) == (self.mean is None):
            raise ParameterError(
                "A statistic is either a share or a mean.",
                hint="give share= with its value=, or mean=.",
            )

    def __hash__(self) -> int:
        return hash((frozenset(self.antecedent.items()), self.value, self.share, self.mean))

    def to_dict(self) -> dict[str, object]:
        """Give the statistic as plain values."""
        told: dict[str, object] = {"value": self.value, "share": self.share}
        if self.share is None:
            told = {"mean": self.mean}
        noted = {"who": self.who, "why": self.why}
        return {"antecedent": dict(self.antecedent), **told, "count": self.count, **noted}

    def __repr__(self) -> str:
        kind = "mean" if self.share is None else "share"
        rows = "" if self.count is None else f": {self.count} rows"
        return f"Statistic({kind} given {', '.join(self.antecedent)}{rows})"


@dataclass(frozen=True, eq=False, repr=False)
class Antecedent:
    """A conjunction of hierarchy nodes, and the sensitive values of the rows it holds for.

    Parameters
    ----------
    nodes
        The place of each of its columns among those of the table, and the node.
    labels
        The labels of the nodes, by column.
    values, hits
        The codes of the sensitive values that occur with it, ascending, and how often each does.
    """

    nodes: tuple[tuple[int, int], ...]
    labels: Mapping[str, Label]
    values: Codes
    hits: Counts

    @property
    def count(self) -> int:
        """The number of rows that it holds for."""
        return int(self.hits.sum())

    @property
    def rank(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        """What antecedents are sorted by: short ones first, then by columns and nodes."""
        return len(self.nodes), self.nodes

    def __repr__(self) -> str:
        return f"Antecedent({', '.join(self.labels)}: {self.count} rows)"


def mine_statistics(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    *,
    min_support: Number,
    max_len: int | None = 1,
) -> tuple[Statistic, ...]:
    """Find the statistics of a sensitive column under every condition that enough rows meet.

    For integers, reals and dates that is the mean, of which rows without a value say nothing:
    they are left out from the start. For other columns it is the share of each value that occurs
    with the condition; those of one condition add up to 1.

    Parameters
    ----------
    cells
        The table; every column but the sensitive one may be in a condition.
    sensitive
        The sensitive column.
    trees
        The hierarchies of the other columns. One without is taken value by value.
    min_support
        How many rows a condition must hold for: a count if it is a whole number, else a share.
    max_len
        How many columns a condition may have; None for any number.

    Returns
    -------
    The statistics, short conditions first, then by columns, nodes and values.

    Examples
    --------
    >>> job = Domain.of_texts("job", ["clerk", "nurse"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows = np.array([[0, 0], [0, 1], [0, 1], [0, 1], [1, 0]])
    >>> found = mine_statistics(Cells.of_rows([job, disease], rows), "disease", {}, min_support=2)
    >>> [(*statistic.antecedent.values(), statistic.value, statistic.share) for statistic in found]
    [('clerk', 'cold', 0.25), ('clerk', 'flu', 0.75)]
    """
    check_columns(cells, sensitive)
    domain = cells.domain(sensitive)
    worth = _worth(domain)
    if worth is not None:
        is_known = np.isfinite(worth[cells.column(sensitive)])
        cells = Cells(cells.domains, cells.codes[is_known], cells.counts[is_known])
    least = least_count(min_support, cells.n_rows)
    found = frequent_antecedents(cells, sensitive, trees, least=least, max_len=max_len)
    ordered = sorted(bounded(found, _FEWER), key=lambda antecedent: antecedent.rank)
    if worth is not None:
        return tuple(_mean(antecedent, worth) for antecedent in ordered)
    shares = (share for antecedent in ordered for share in _shares(antecedent, domain))
    return tuple(bounded(shares, _FEWER))


def frequent_antecedents(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    *,
    least: int,
    max_len: int | None = 1,
    support_of: Callable[[Counts], int] = np.sum,
) -> Iterator[Antecedent]:
    """Go through the conjunctions of nodes that hold for enough rows, depth first.

    A node is used unless it stands for every value that occurs; of nodes that stand for the same
    ones the highest is used.

    Parameters
    ----------
    cells, sensitive, trees
        As for `mine_statistics`.
    least
        The support that a conjunction must have, and each part of it.
    max_len
        How many nodes a conjunction may have; None for any number.
    support_of
        Gives the support from how often each sensitive value occurs: it must be at most their
        sum, and not grow where they fall.

    Examples
    --------
    >>> job = Domain.of_texts("job", ["clerk", "nurse"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([job, disease], np.array([[0, 0], [0, 1], [1, 0]]))
    >>> list(frequent_antecedents(cells, "disease", {}, least=1))
    [Antecedent(job: 2 rows), Antecedent(job: 1 rows)]
    """
    check_columns(cells, sensitive)
    n_columns = len(cells.columns) - 1
    longest = n_columns if max_len is None else whole("max_len", max_len, least=1)
    axes = [
        _Axis.of(cells, column, trees.get(column))
        for column in cells.columns
        if column != sensitive
    ]
    search = _Search(
        axes,
        cells.column(sensitive),
        cells.domain(sensitive).size,
        cells.counts,
        least,
        longest,
        support_of,
    )
    return search.extend((), np.arange(cells.n_cells))


def least_count(min_support: Number, n_rows: int) -> int:
    """Give the number of rows that a support stands for; at least 1.

    Parameters
    ----------
    min_support
        A whole number is a count of rows, any other number a share of them.
    n_rows
        The number of rows of the table.

    Examples
    --------
    >>> least_count(5, 1000), least_count(0.1, 30), least_count("1/3", 10)
    (5, 3, 4)
    """
    given: object = min_support
    if isinstance(given, Integral):
        return whole("min_support", given, least=1)
    share = exact("min_support", min_support)
    if not 0 <= share <= 1:
        raise ParameterError(
            f"min_support must lie between 0 and 1 where it is a share, not {as_text(share)}.",
            hint="a whole number, such as 20, is a number of rows.",
        )
    return max(1, math.ceil(share * n_rows))


def check_columns(cells: Cells, sensitive: str) -> None:
    """Refuse a sensitive column that is not among those of the table.

    Examples
    --------
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> check_columns(Cells.of_rows([sex], np.array([[0]])), "sex")
    """
    if sensitive not in cells.columns:
        raise ParameterError(
            f"sensitive must be one of the table's columns, not {sensitive!r}.",
            hint=f"they are {', '.join(map(repr, cells.columns))}.",
        )


@dataclass(frozen=True, eq=False)
class _Axis:
    """A column that antecedents may have, and its nodes that they may use.

    Parameters
    ----------
    column, tree
        The column and its hierarchy.
    nodes
        The nodes, ascending.
    position
        For each cell the position of its leaf.
    """

    column: str
    tree: Tree
    nodes: Codes
    position: Codes

    @classmethod
    def of(cls, cells: Cells, column: str, tree: Tree | None) -> _Axis:
        domain = cells.domain(column)
        tree = Hierarchy.flat().over(domain) if tree is None else tree
        if tree.n_leaves != domain.size:
            raise ParameterError(
                f"The tree of column {column!r} has {tree.n_leaves} leaves, the column "
                f"{domain.size} values.",
                hint="make it with hierarchy.over(domain) from the same table.",
            )
        position = tree.position[cells.column(column)]
        return cls(column, tree, _distinct_nodes(tree, position), position)


def _distinct_nodes(tree: Tree, positions: Codes) -> Codes:
    """Return the nodes that stand for some of the values that occur, the highest of equal ones."""
    occurs = np.zeros(tree.n_leaves, dtype=bool)
    occurs[positions] = True
    n_before = np.append(0, np.cumsum(occurs))
    first, last = n_before[tree.first], n_before[tree.last]
    _, inverse = np.unique(first * (tree.n_leaves + 1) + last, return_inverse=True)
    # A parent has a higher number than its children.
    highest = np.zeros(int(inverse.max(initial=-1)) + 1, dtype=np.int64)
    np.maximum.at(highest, inverse, np.arange(tree.n_nodes))
    nodes = np.sort(highest)
    n_values = last[nodes] - first[nodes]
    kept: Codes = nodes[(n_values > 0) & (n_values < n_before[-1])]
    return kept


@dataclass(frozen=True, eq=False)
class _Search:
    """The depth-first search for antecedents."""

    axes: list[_Axis]
    value: Codes
    n_values: int
    counts: Counts
    least: int
    longest: int
    support_of: Callable[[Counts], int]

    def extend(self, nodes: tuple[tuple[int, int], ...], rows: Codes) -> Iterator[Antecedent]:
        """Add a node of a later column to those that hold for some cells, in every way."""
        start = nodes[-1][0] + 1 if nodes else 0
        for place in range(start, len(self.axes)):
            axis = self.axes[place]
            # Sorted by leaf, the cells of every node are a slice.
            ordered = rows[np.argsort(axis.position[rows], kind="stable")]
            positions = axis.position[ordered]
            first = np.searchsorted(positions, axis.tree.first[axis.nodes])
            last = np.searchsorted(positions, axis.tree.last[axis.nodes])
            total = np.append(0, np.cumsum(self.counts[ordered]))
            for which in np.flatnonzero(total[last] - total[first] >= self.least).tolist():
                held = ordered[first[which] : last[which]]
                found = self._antecedent((*nodes, (place, int(axis.nodes[which]))), held)
                if self.support_of(found.hits) >= self.least:
                    yield found
                    if len(found.nodes) < self.longest:
                        yield from self.extend(found.nodes, held)

    def _antecedent(self, nodes: tuple[tuple[int, int], ...], rows: Codes) -> Antecedent:
        values = self.value[rows]
        first, inverse = group([values], [self.n_values], len(rows))
        hits = np.zeros(len(first), dtype=np.int64)
        np.add.at(hits, inverse, self.counts[rows])
        labels = {self.axes[place].column: self.axes[place].tree.labels[n] for place, n in nodes}
        return Antecedent(nodes, labels, values[first], hits)


def _worth(domain: Domain) -> _Floats | None:
    """Give what each code counts in a mean, not a number for the missing one; None for texts."""
    if not domain.type.is_numeric or domain.numbers is None:
        return None
    return np.append(domain.numbers, [math.nan] * domain.has_missing)


def _mean(antecedent: Antecedent, worth: _Floats) -> Statistic:
    numbers = worth[antecedent.values]
    # Scaled to at most 1, numbers near the largest float can be added up; from the lowest on,
    # equal ones have themselves as their mean.
    exponent = math.frexp(float(np.abs(numbers).max()))[1]
    scaled = np.ldexp(numbers, -exponent)
    lowest = float(scaled.min())
    above = math.fsum(((scaled - lowest) * antecedent.hits).tolist()) / antecedent.count
    mean = math.ldexp(min(lowest + above, float(scaled.max())), exponent)
    return Statistic(antecedent=antecedent.labels, mean=mean, count=antecedent.count)


def _shares(antecedent: Antecedent, domain: Domain) -> Iterator[Statistic]:
    count = antecedent.count
    for code, hits in zip(antecedent.values.tolist(), antecedent.hits.tolist(), strict=True):
        yield Statistic(
            antecedent=antecedent.labels,
            value=domain.text(code),
            share=hits / count,
            count=count,
        )
