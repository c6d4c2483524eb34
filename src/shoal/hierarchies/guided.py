"""Hierarchies whose groups hold values with a similar distribution of the sensitive column.

"Attribute values with very different probabilities on some sensitive value should not be grouped
together before they are combined with attribute values that have similar probabilities on the
sensitive values" [Li08]. The values of a column are merged two groups at a time, those with the
closest distributions of the sensitive column first, and the sequence of merges is cut into levels.
A merged group counts by the rows of both. If the values have an order, only neighbours are merged.
Values that share no sensitive value are merged last, so that knowing which sensitive values a
person cannot have reveals little about the people of a group.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008. Section
VIII-C.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from itertools import count

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Cells
from shoal.core.domain import SUPPRESSED, ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import whole
from shoal.core.tree import Label
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.rules import days_of, numbers_of

_MOST_UNORDERED = 2_000
_MOST_PAIRS = 20_000_000
_LONGEST_LABEL = 40
Distance = Callable[[Floats, Codes, Codes], Floats]
"""Returns the distances between rows of shares, pair by pair, or from one to each other."""
_NOBODY = -1
_DECIMALS = 12
"""Distances are rounded so that equal ones tie, whatever the last bits of a logarithm."""


def guided_hierarchy(
    cells: Cells,
    column: str,
    sensitive: str,
    *,
    levels: int | None = None,
    distance: str = "jensen-shannon",
    fewest: int = 10,
) -> Hierarchy:
    """Build a hierarchy that keeps values apart if the sensitive column differs between them.

    Parameters
    ----------
    cells
        The table, with both columns.
    column
        The column of the hierarchy. If its values are numbers, dates or ordered, only neighbours
        are merged; otherwise it may have up to 2,000 values. The missing value stays alone up to
        the root.
    sensitive
        The sensitive column.
    levels
        The number of levels between the values and the root; fewer if there are too few values. The
        numbers of groups fall geometrically. Default: about half as many groups at each level as at
        the one below.
    distance
        The distance between two distributions: ``"jensen-shannon"`` (default), or
        ``"largest-difference"`` between the shares of any value.
    fewest
        A group is labelled by its values, ``{a, b}``, only if the label is short and each value has
        at least this many rows; otherwise it is numbered. Numbers and dates have intervals.
        Default: 10.

    Returns
    -------
    The hierarchy, as rows.

    Notes
    -----
    The hierarchy is built from the sensitive column, so its groups disclose which values are alike
    in that respect, and its intervals end next to values of the table, as those of quantiles do.
    Review it before you use it for a release.

    Examples
    --------
    >>> job = Domain.of_texts("job", ["baker", "clerk", "cook", "nurse"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> codes = np.array([[0, 0], [1, 1], [2, 0], [3, 0], [3, 1]])
    >>> cells = Cells((job, disease), codes, np.array([20, 20, 30, 1, 19]))
    >>> for row in guided_hierarchy(cells, "job", "disease").rows:
    ...     print(*row, sep="; ")
    baker; {baker, cook}; *
    clerk; {clerk, nurse}; *
    cook; {baker, cook}; *
    nurse; {clerk, nurse}; *
    """
    _check_columns(cells, column, sensitive)
    measure = _measure(distance)
    wanted = None if levels is None else whole("levels", levels, least=1)
    fewest = whole("fewest", fewest, least=1)
    domain = cells.domain(column)
    if not domain.size:
        raise DataError(f"Column {column!r} has no values to build a hierarchy over.")
    point, counts = _tabulate(cells, column, sensitive)
    n_points = len(counts)
    merges = (merge_neighbours if domain.type.has_order else merge_any)(counts, measure)
    groups = [
        _cut(merges, n_points, n_groups)[point] for n_groups in _level_sizes(n_points, wanted)
    ]
    if domain.type.is_numeric:
        labels = [_interval_labels(domain, group) for group in groups]
    else:
        labels = _set_labels(domain, groups, counts.sum(axis=1) >= fewest)
    rows: list[list[Label]] = [
        list(row) for row in zip(domain.texts.tolist(), *labels, strict=True)
    ]
    if domain.has_missing:
        rows.append([None] * (len(groups) + 1))
    return Hierarchy.from_rows([[*row, SUPPRESSED] for row in rows], column=column)


def _check_columns(cells: Cells, column: str, sensitive: str) -> None:
    for parameter, name in (("column", column), ("sensitive", sensitive)):
        if name not in cells.columns:
            raise ParameterError(
                f"{parameter} must be one of the table's columns, not {name!r}.",
                hint=f"they are {', '.join(map(repr, cells.columns))}.",
            )
    if column == sensitive:
        raise ParameterError(
            f"A hierarchy of column {column!r} cannot be guided by the column itself.",
            hint="name another column as the sensitive one.",
        )
    domain = cells.domain(column)
    n_values, n_sensitive = len(domain.texts), cells.domain(sensitive).size
    if n_values > _MOST_UNORDERED and not domain.type.has_order:
        raise ParameterError(
            f"Column {column!r} has {n_values} values without an order; a guided hierarchy takes "
            f"at most {_MOST_UNORDERED}.",
            hint="declare its order, or generalize it first, for example by prefixes.",
        )
    if n_values * n_sensitive > _MOST_PAIRS:
        raise ParameterError(
            f"Columns {column!r} and {sensitive!r} have {n_values} and {n_sensitive} values; a "
            f"guided hierarchy takes at most {_MOST_PAIRS} pairs of them.",
            hint="generalize one of them first, for example to wider intervals.",
        )


def _tabulate(cells: Cells, column: str, sensitive: str) -> tuple[Codes, Counts]:
    """Return the point of each known value, and the count of each sensitive value at each point.

    A point is a value; equal numbers that are written differently are one point.
    """
    domain = cells.domain(column)
    n_points = len(domain.texts)
    point = np.arange(n_points)
    if domain.type.is_numeric:
        is_date = domain.type is ColumnType.DATE
        numbers = days_of(domain) if is_date else numbers_of(domain)
        unique, point = np.unique(numbers, return_inverse=True)
        n_points = len(unique)
    codes = cells.column(column)
    is_known = codes < len(domain.texts)
    counts = np.zeros((n_points, cells.domain(sensitive).size), dtype=np.int64)
    places = (point[codes[is_known]], cells.column(sensitive)[is_known])
    np.add.at(counts, places, cells.counts[is_known])
    return point.astype(np.int64, copy=False), counts


def _measure(distance: str) -> Distance:
    if distance not in DISTANCES:
        raise ParameterError(
            f"distance must be one of {', '.join(DISTANCES)}, not {distance!r}.",
            hint="leave it out for the Jensen-Shannon distance.",
        )
    return DISTANCES[distance]


def _level_sizes(n_values: int, wanted: int | None) -> list[int]:
    """Return the number of groups of each level, falling geometrically from the values to 1."""
    halvings = max(n_values - 1, 1).bit_length() - 1
    n_levels = min(halvings if wanted is None else wanted, max(n_values - 2, 0))
    sizes = []
    latest = n_values
    for level in range(1, n_levels + 1):
        even = round(n_values ** (1 - level / (n_levels + 1)))
        # Each level has fewer groups than the one below and leaves some for those above.
        latest = min(latest - 1, max(even, n_levels - level + 2))
        sizes.append(latest)
    return sizes


def _cut(merges: Codes, n_values: int, n_groups: int) -> Codes:
    """Return the group of each value, numbered by its first, when `n_groups` groups are left."""
    group = np.arange(n_values)
    done = merges[: n_values - n_groups]
    group[done[:, 1]] = done[:, 0]
    # A merged group points to the group that took it in; follow the pointers to the end.
    while True:
        above = group[group]
        if np.array_equal(above, group):
            return group
        group = above


def _interval_labels(domain: Domain, group: Codes) -> list[str]:
    """Return the interval of each value, from quantiles that hold one group each."""
    # The last value of each group weighs 1 and all others 0, so equal shares end with groups.
    is_last = np.append(group[1:] != group[:-1], [True])
    shares = np.append(is_last, [False] * domain.has_missing).astype(np.int64)
    hierarchy = Hierarchy.intervals(quantiles=int(is_last.sum()), levels=1)
    tree = hierarchy.over(domain, shares)
    labels: list[str] = tree.labels[tree.ancestors_at(1)[: len(group)]].tolist()
    return labels


def _set_labels(domain: Domain, groups: list[Codes], is_common: Flags) -> list[list[str]]:
    """Label each value's group at each level; a group of one value has that value as its label."""
    texts: list[str] = domain.texts.tolist()
    label_of: dict[tuple[int, ...], str] = {(code,): text for code, text in enumerate(texts)}
    taken = {*texts, SUPPRESSED}
    free = (label for label in map("group {}".format, count(1)) if label not in taken)
    labels = []
    for group in groups:
        by_first = {}
        for first in np.unique(group).tolist():
            codes = np.flatnonzero(group == first)
            key = tuple(codes.tolist())
            if key not in label_of:
                listed = "{" + ", ".join(domain.texts[codes]) + "}"
                is_told = len(listed) <= _LONGEST_LABEL and is_common[codes].all()
                label_of[key] = listed if is_told and listed not in taken else next(free)
                taken.add(label_of[key])
            by_first[first] = label_of[key]
        labels.append([by_first[first] for first in group.tolist()])
    return labels


# --- merging groups, the closest distributions first ------------------------------------------


def _jensen_shannon(shares: Floats, ones: Codes, others: Codes) -> Floats:
    """Return the Jensen-Shannon divergence in bits.

    The distance is its square root, which has the same order.
    """
    columns = np.arange(shares.shape[1])
    if len(ones) == 1:
        # A value that one of the two lacks adds nothing to what they share.
        columns = np.flatnonzero(shares[ones[0]])
    p, q = shares[np.ix_(ones, columns)], shares[np.ix_(others, columns)]
    shared = _x_log_x(p + q) - (_x_log_x(p) + _x_log_x(q))
    divergence: Floats = 1 - shared.sum(axis=1) / 2
    return divergence


def _x_log_x(x: Floats) -> Floats:
    return x * np.log2(np.where(x > 0, x, 1))


def _largest_difference(shares: Floats, ones: Codes, others: Codes) -> Floats:
    largest: Floats = np.abs(shares[ones] - shares[others]).max(axis=1)
    return largest


DISTANCES: dict[str, Distance] = {
    "jensen-shannon": _jensen_shannon,
    "largest-difference": _largest_difference,
}
"""The distances of distributions, by name."""


class _Groups:
    """Groups of values with their distributions; a group is numbered by its first value."""

    def __init__(self, counts: Counts, measure: Distance) -> None:
        self.counts = counts.copy()
        self.sizes: Counts = counts.sum(axis=1)
        self.shares = counts / np.maximum(self.sizes, 1)[:, np.newaxis]
        self.measure = measure

    def merge(self, first: int, second: int) -> None:
        """Add the rows of one group to another."""
        self.counts[first] += self.counts[second]
        self.sizes[first] += self.sizes[second]
        self.shares[first] = self.counts[first] / max(int(self.sizes[first]), 1)

    def apart(self, ones: Codes, others: Codes) -> Floats:
        """Return the distances between groups, pair by pair, or from one to each of the others."""
        distances = self.measure(self.shares, ones, others)
        # A value that no row has is at distance 0 from every other.
        is_empty = (self.sizes[ones] == 0) | (self.sizes[others] == 0)
        return np.where(is_empty, 0, np.round(distances, _DECIMALS))


def merge_neighbours(counts: Counts, measure: Distance) -> Codes:
    """Merge adjacent groups, the closest first, until one is left.

    `counts` has one row per value, in order, and one column per sensitive value. Of equally close
    pairs the one with the fewest rows is merged, then the first. Return one row per merge, in
    order: two groups, each numbered by its first value.
    """
    line = _Line(_Groups(counts, measure))
    merges = [line.join_closest() for _ in range(len(counts) - 1)]
    return np.array(merges, dtype=np.int64).reshape(-1, 2)


def merge_any(counts: Counts, measure: Distance) -> Codes:
    """Merge the closest two groups, adjacent or not, until one is left; see `merge_neighbours`.

    Time and memory are quadratic in the number of values.
    """
    pairs = _Pairs(_Groups(counts, measure))
    merges = [pairs.join_closest() for _ in range(len(counts) - 1)]
    return np.array(merges, dtype=np.int64).reshape(-1, 2)


class _Line:
    """Groups in a line, and a queue of the gaps between them."""

    def __init__(self, groups: _Groups) -> None:
        n_groups = len(groups.sizes)
        self.groups = groups
        self.before = list(range(-1, n_groups - 1))
        self.after = list(range(1, n_groups + 1))
        # The stamp of the gap after a group changes whenever a group on either side changes, so
        # that outdated entries of the queue are recognized.
        self.stamps = [0] * n_groups
        self.queue: list[tuple[float, int, int, int]] = []
        self._measure(range(n_groups - 1))

    def join_closest(self) -> tuple[int, int]:
        """Merge the closest neighbours."""
        left, right = self._closest()
        self.groups.merge(left, right)
        self.stamps[right] = -1
        end = self.after[left] = self.after[right]
        if end < len(self.after):
            self.before[end] = left
        lefts = (self.before[left], left)
        self._measure([one for one in lefts if one >= 0 and self.after[one] < len(self.after)])
        return left, right

    def _closest(self) -> tuple[int, int]:
        while True:
            _, _, left, stamp = heapq.heappop(self.queue)
            if stamp == self.stamps[left]:
                return left, self.after[left]

    def _measure(self, lefts: Sequence[int]) -> None:
        """Put the gaps after the given groups into the queue."""
        ones = np.array(lefts, dtype=np.int64)
        others = np.array([self.after[left] for left in lefts], dtype=np.int64)
        sizes = (self.groups.sizes[ones] + self.groups.sizes[others]).tolist()
        distances = self.groups.apart(ones, others).tolist()
        for distance, size, left in zip(distances, sizes, lefts, strict=True):
            self.stamps[left] += 1
            heapq.heappush(self.queue, (distance, size, left, self.stamps[left]))


class _Pairs:
    """All pairs of groups, and for each group the one nearest to it.

    Of equally close groups, the nearest is the one with the fewest rows, then the first. If it was
    merged, its distance and rows are kept as lower bounds, and the next nearest is searched only
    when the bounds are the lowest of all.
    """

    def __init__(self, groups: _Groups) -> None:
        n_groups = len(groups.sizes)
        self.groups = groups
        self.alive = np.arange(n_groups)
        self.apart = np.full((n_groups, n_groups), np.inf)
        for one in range(n_groups - 1):
            self._measure(one, np.arange(one + 1, n_groups))
        self.nearest = np.full(n_groups, _NOBODY)
        self.closest: Floats = self.apart.min(axis=1, initial=np.inf)
        self.fewest = np.zeros(n_groups, dtype=np.int64)

    def join_closest(self) -> tuple[int, int]:
        """Merge the closest two groups."""
        first, second = self._closest()
        self.groups.merge(first, second)
        self.alive = self.alive[self.alive != second]
        others = self.alive[self.alive != first]
        if len(others):
            self._measure(first, others)
            is_lost = np.isin(self.nearest[others], (first, second))
            self.nearest[others[is_lost]] = _NOBODY
            self._look(first)
            self._offer(first, others)
        return first, second

    def _closest(self) -> tuple[int, int]:
        while True:
            closest = self.closest[self.alive]
            tied = self.alive[closest == closest.min()]
            one = int(tied[(self.groups.sizes[tied] + self.fewest[tied]).argmin()])
            if self.nearest[one] != _NOBODY:
                other = int(self.nearest[one])
                return min(one, other), max(one, other)
            self._look(one)

    def _measure(self, one: int, others: Codes) -> None:
        distances = self.groups.apart(np.array([one]), others)
        self.apart[one, others] = self.apart[others, one] = distances

    def _look(self, one: int) -> None:
        """Find the nearest of all groups that are left."""
        distances = self.apart[one, self.alive]
        tied = self.alive[distances == distances.min()]
        nearest = tied[self.groups.sizes[tied].argmin()]
        self.nearest[one] = nearest
        self.closest[one] = distances.min()
        self.fewest[one] = self.groups.sizes[nearest]

    def _offer(self, one: int, others: Codes) -> None:
        """Make a group the nearest of those for which it beats the bounds."""
        distance, size = self.apart[others, one], self.groups.sizes[one]
        is_first = (size == self.fewest[others]) & (one < self.nearest[others])
        is_smaller = (size < self.fewest[others]) | is_first
        is_tied = distance == self.closest[others]
        nearer = others[(distance < self.closest[others]) | (is_tied & is_smaller)]
        self.nearest[nearer] = one
        self.closest[nearer] = self.apart[nearer, one]
        self.fewest[nearer] = size
