"""A hierarchy whose groups hold values of which the sensitive column says much the same.

"Attribute values with very different probabilities on some sensitive value should not be grouped
together before they are combined with attribute values that have similar probabilities on the
sensitive values." The values of a column are merged two groups at a time, the closest
distributions of the sensitive column first, and the order of merging is cut into levels. Values
that share no sensitive value meet last, so that knowing what somebody cannot have tells little
about who is who in a group.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008. Section
VIII-C.
"""

from __future__ import annotations

from itertools import count

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, Counts
from shoal.core.domain import SUPPRESSED, ColumnType, Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import whole
from shoal.core.hierarchy import Hierarchy
from shoal.core.hierarchy_rules import days_of, numbers_of
from shoal.core.tree import Label
from shoal.knowledge.agglomeration import DISTANCES, Distance, merge_any, merge_neighbours

__all__ = ["guided_hierarchy"]

_MOST_UNORDERED = 2_000
_MOST_PAIRS = 20_000_000
_LONGEST_LABEL = 40


def guided_hierarchy(
    cells: Cells,
    column: str,
    sensitive: str,
    *,
    levels: int | None = None,
    distance: str = "jensen-shannon",
    fewest: int = 10,
) -> Hierarchy:
    """Build a hierarchy of a column that keeps apart what differs in the sensitive column.

    Parameters
    ----------
    cells
        The table, with both columns.
    column
        The column that the hierarchy is for. Of numbers, dates and ordered values only neighbours
        are merged; others may have up to 2,000 values. The missing value stays alone up to
        the root.
    sensitive
        The sensitive column.
    levels
        How many levels there are between the values and the root, fewer where the values do not
        suffice; None for about half as many groups at each level as at the one below. Their
        numbers of groups fall geometrically.
    distance
        How far two distributions are apart: ``"jensen-shannon"``, or ``"largest-difference"`` of
        the two shares of any value. The groups that are merged count by their rows.
    fewest
        A group is labelled by its values, ``{a, b}``, only where each is carried by so many rows
        and the label is short; else it has a number. Numbers and dates have intervals.

    Returns
    -------
    The hierarchy, as rows.

    Notes
    -----
    It is built from the sensitive column, so its groups tell which values are alike in that
    respect, and its intervals end next to values of the table, as those of quantiles do. Look
    through it before it is used for a release.

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
            hint="declare its order, or generalize it first, by prefixes, say.",
        )
    if n_values * n_sensitive > _MOST_PAIRS:
        raise ParameterError(
            f"Columns {column!r} and {sensitive!r} have {n_values} and {n_sensitive} values; a "
            f"guided hierarchy takes at most {_MOST_PAIRS} pairs of them.",
            hint="generalize one of them first, to wider intervals, say.",
        )


def _tabulate(cells: Cells, column: str, sensitive: str) -> tuple[Codes, Counts]:
    """Give the point of each known value, and how often each sensitive value occurs at a point.

    A point is a value; numbers that are equal and written differently are one.
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
    """Give the number of groups of each level, falling geometrically from the values to 1."""
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
    """Give the group of each value when so many groups are left, by its first value."""
    group = np.arange(n_values)
    done = merges[: n_values - n_groups]
    group[done[:, 1]] = done[:, 0]
    while True:
        above = group[group]
        if np.array_equal(above, group):
            return group
        group = above


def _interval_labels(domain: Domain, group: Codes) -> list[str]:
    """Give the interval of each value: quantiles of which the groups are equal shares."""
    is_last = np.append(group[1:] != group[:-1], [True])
    shares = np.append(is_last, [False] * domain.has_missing).astype(np.int64)
    hierarchy = Hierarchy.intervals(quantiles=int(is_last.sum()), levels=1)
    tree = hierarchy.over(domain, shares)
    labels: list[str] = tree.labels[tree.ancestors_at(1)[: len(group)]].tolist()
    return labels


def _set_labels(
    domain: Domain, groups: list[Codes], is_common: npt.NDArray[np.bool_]
) -> list[list[str]]:
    """Label each value's group at each level; a group of one value is labelled by it."""
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
