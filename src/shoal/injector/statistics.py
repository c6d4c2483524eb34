"""Mine summary statistics and positive rules, as an adversary may know them.

"The average salary of physical therapists is 70K": the mean of a numeric sensitive column among the
people for whom a condition holds, or the share of each sensitive value among them. A condition is a
conjunction of hierarchy nodes that enough people meet. A positive rule says that people for whom a
condition holds tend to have a value. Both change how likely values are and forbid nothing.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008. Section
VIII-A; conviction as in section VI-B.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from operator import itemgetter

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import Cells, group, total_by
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.tree import Label, Tree
from shoal.injector.association_rules import PositiveRule
from shoal.injector.mined_rules import Items, bounded, tree_of

_FEWER = "let conditions name fewer columns (max_len), or raise min_support"


@dataclass(frozen=True, kw_only=True, repr=False)
class Statistic:
    """The share of a sensitive value, or the mean, among the people for whom a condition holds.

    Parameters
    ----------
    antecedent
        The condition: the label of a hierarchy node for each column that it names; None is the
        missing value.
    value
        The sensitive value that a share is about; None is the missing value. Default: None, as
        for a mean.
    share
        The share of the value among those people. Default: None, for a mean.
    mean
        The mean of the sensitive column among them, dates as days since 1970-01-01. Default:
        None, for a share.
    count
        The number of people it is about. Default: None, for a statistic that was given, not mined.
    who, why
        The author of the statistic, and the reason. Default: unknown.

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
        """Return the statistic as plain values."""
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

    `nodes` are pairs of a column's place and a node, `labels` their labels by column. `values` are
    the codes of the sensitive values that occur with it, ascending, and `hits` how often each does.
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
        """The sort key of antecedents: short ones first, then by columns and nodes."""
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

    For integers, reals and dates that is the mean; rows with a missing value are left out from the
    start. For other columns it is the share of each value that occurs with the condition; the
    shares of one condition add up to 1. A condition must hold for at least `min_support` rows: a
    count if it is an integer, otherwise a share.

    Returns the statistics, short conditions first, then by columns, nodes and values.

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
    ordered = sorted(bounded(found, f"{_FEWER}."), key=lambda antecedent: antecedent.rank)
    if worth is not None:
        return tuple(_mean(antecedent, worth) for antecedent in ordered)
    shares = (share for antecedent in ordered for share in _shares(antecedent, domain))
    return tuple(bounded(shares, f"{_FEWER}."))


def frequent_antecedents(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    *,
    least: int,
    max_len: int | None = 1,
    support_of: Callable[[Counts], int] = np.sum,
) -> Iterator[Antecedent]:
    """Yield the conjunctions of up to `max_len` nodes with enough rows, depth first.

    A node is used unless it stands for every value that occurs; of nodes that stand for the same
    values the highest is used. A column without a tree has its values only. `support_of` returns
    the support from how often each sensitive value occurs; it must be at most the sum of these
    counts, and must not grow if they fall.
    """
    check_columns(cells, sensitive)
    n_columns = len(cells.columns) - 1
    longest = n_columns if max_len is None else whole("max_len", max_len, least=1)
    axes = [_Axis.of(cells, column, trees) for column in cells.columns if column != sensitive]
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
    """Return the number of rows that a support stands for; at least 1.

    An integer is a count of rows, any other number a share of them.

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
            f"min_support must lie between 0 and 1 if it is a share, not {as_text(share)}.",
            hint="an integer, such as 20, is a number of rows.",
        )
    return max(1, math.ceil(share * n_rows))


def check_columns(cells: Cells, sensitive: str) -> None:
    """Raise `ParameterError` if the table does not have the sensitive column."""
    if sensitive not in cells.columns:
        raise ParameterError(
            f"sensitive must be one of the table's columns, not {sensitive!r}.",
            hint=f"they are {', '.join(map(repr, cells.columns))}.",
        )


@dataclass(frozen=True, eq=False)
class _Axis:
    """A column that antecedents may name, its usable nodes, and the leaf position of each cell."""

    column: str
    tree: Tree
    nodes: Codes
    position: Codes

    @classmethod
    def of(cls, cells: Cells, column: str, trees: Mapping[str, Tree]) -> _Axis:
        domain = cells.domain(column)
        tree = tree_of(domain, trees)
        if tree.n_leaves != domain.size:
            raise ParameterError(
                f"The tree of column {column!r} has {tree.n_leaves} leaves, the column "
                f"{domain.size} values.",
                hint="make it with hierarchy.over(domain) from the same table.",
            )
        codes = cells.column(column)
        return cls(column, tree, np.sort(Items.of_tree(tree, codes).node), tree.position[codes])


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
            # The support is at most the number of rows, so nodes with too few are skipped.
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
        hits = total_by(inverse, self.counts[rows], len(first))
        labels = {self.axes[place].column: self.axes[place].tree.labels[n] for place, n in nodes}
        return Antecedent(nodes, labels, values[first], hits)


def _worth(domain: Domain) -> Floats | None:
    """Return the number that each code counts as in a mean, nan if missing; None for texts."""
    if not domain.type.is_numeric or domain.numbers is None:
        return None
    return np.append(domain.numbers, [math.nan] * domain.has_missing)


def _mean(antecedent: Antecedent, worth: Floats) -> Statistic:
    numbers = worth[antecedent.values]
    # Scaled to at most 1, numbers near the largest float can be summed; measured from the lowest,
    # the mean of equal numbers is that number.
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


def mine_positive(
    cells: Cells,
    sensitive: str,
    trees: Mapping[str, Tree],
    *,
    min_support: Number,
    min_conviction: Number = 1.1,
    max_len: int | None = 1,
) -> tuple[PositiveRule, ...]:
    """Find the positive rules of a table.

    Every column but the sensitive one may be in X. At least `min_support` rows must have X and s: a
    count if it is an integer, otherwise a share. `max_len` of None allows any number of columns.
    See `frequent_antecedents` for the nodes used.

    Returns the rules by descending conviction; ties by descending rows of X and s, then by length,
    columns, nodes and values.

    Examples
    --------
    >>> job = Domain.of_texts("job", ["clerk", "nurse"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows = np.array([[0, 0], [0, 1], [0, 1], [0, 1], [1, 0]])
    >>> cells = Cells.of_rows([job, disease], rows)
    >>> mine_positive(cells, "disease", {}, min_support=0.4)
    (PositiveRule(job: 4 rows, confidence 0.75, conviction 1.6),)
    """
    check_columns(cells, sensitive)
    least = least_count(min_support, cells.n_rows)
    bound = exact("min_conviction", min_conviction)
    if bound < 0:
        raise ParameterError(
            f"min_conviction must be at least 0, not {as_text(bound)}.",
            hint="1 is the conviction of independent events.",
        )
    domain = cells.domain(sensitive)
    totals = total_by(cells.column(sensitive), cells.counts, domain.size)
    antecedents = frequent_antecedents(
        cells, sensitive, trees, least=least, max_len=max_len, support_of=np.max
    )
    listed = (
        ((-conviction, -hits, antecedent.rank, code), rule)
        for antecedent in antecedents
        for conviction, hits, code, rule in _rules(antecedent, domain, totals, least, bound)
    )
    found = sorted(bounded(listed, f"{_FEWER} or min_conviction."), key=itemgetter(0))
    return tuple(rule for _, rule in found)


def _rules(
    antecedent: Antecedent, domain: Domain, totals: Counts, least: int, bound: Fraction
) -> Iterator[tuple[float, int, int, PositiveRule]]:
    """Yield the rules of one antecedent with the values they are sorted by."""
    n_rows, count = int(totals.sum()), antecedent.count
    frequent = np.flatnonzero(antecedent.hits >= least)
    for code, hits in zip(
        antecedent.values[frequent].tolist(), antecedent.hits[frequent].tolist(), strict=True
    ):
        # Python integers, because products of counts of a large table exceed 64 bits.
        expected, seen = count * (n_rows - int(totals[code])), n_rows * (count - hits)
        if expected * bound.denominator < seen * bound.numerator:
            continue
        conviction = expected / seen if seen else math.inf
        rule = PositiveRule(
            antecedent=antecedent.labels,
            value=domain.text(code),
            count=count,
            confidence=hits / count,
            conviction=conviction,
            support=hits / n_rows,
        )
        yield conviction, hits, code, rule
