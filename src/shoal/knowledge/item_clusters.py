"""Items grouped by how often they are bought together: the columns of sliced baskets.

[Slicing], section VII: slicing suits transactions, whose attributes are very many. An item is an
attribute of two values, there and not there, so items have correlations as other attributes do, and
these follow from the baskets that hold two items together. Few items are clustered as attributes
are; for many, the strongest pairs are joined first into clusters of a bounded size.

[Slicing] Rafi, Ramanaiah: Protecting Attribute Disclosure for High Dimensionality and Preserving
Publishing of Microdata.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.knowledge.attribute_clusters import cluster_attributes
from shoal.knowledge.baskets import Baskets
from shoal.knowledge.correlation import Floats

__all__ = ["MOST_ITEMS", "ItemClusters", "cluster_items", "item_correlations"]

MOST_ITEMS = 3000
"""The most items whose correlations are held as one matrix."""

_DECIMALS = 12


@dataclass(frozen=True, repr=False)
class ItemClusters:
    """Items in clusters.

    Parameters
    ----------
    members
        The codes of the items of each cluster, ascending; clusters are in the order of their first
        items. Every item is in one of them.
    """

    members: tuple[tuple[int, ...], ...]

    @property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return len(self.members)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns that clusters become: ``items_1`` and so on."""
        return tuple(f"items_{number}" for number in range(1, self.n_clusters + 1))

    def to_dict(self) -> dict[str, object]:
        """Give the codes of the items by column."""
        columns = zip(self.names, self.members, strict=True)
        return {name: list(members) for name, members in columns}

    def __repr__(self) -> str:
        sizes = [len(members) for members in self.members]
        return (
            f"ItemClusters({sum(sizes)} items in {self.n_clusters} clusters, "
            f"the largest of {max(sizes, default=0)})"
        )


def item_correlations(baskets: Baskets) -> Floats:
    """Give phi-squared of every pair of items, each there or not there.

    It is a matrix by the codes of the items, for their names are values of the table, which
    `Correlations` would show.

    Raises
    ------
    ParameterError
        Where there are more than `MOST_ITEMS` items.

    Examples
    --------
    >>> baskets = Baskets.of_lists([["a", "b"], ["a", "b"], ["c"], []])
    >>> item_correlations(baskets).round(3).tolist()
    [[1.0, 1.0, 0.333], [1.0, 1.0, 0.333], [0.333, 0.333, 1.0]]
    """
    _check_few(baskets)
    supports, n_items = baskets.supports, baskets.n_items
    first, second = np.triu_indices(n_items, k=1)
    together = np.zeros((n_items, n_items), dtype=np.int64)
    ones, others, counts = baskets.pairs()
    together[ones, others] = counts
    matrix = np.zeros((n_items, n_items))
    matrix[first, second] = _phi_squared(
        baskets.n_baskets, supports[first], supports[second], together[first, second]
    )
    matrix += matrix.T
    np.fill_diagonal(matrix, (supports > 0) & (supports < baskets.n_baskets))
    return matrix


def cluster_items(
    baskets: Baskets, *, n_clusters: int | None = None, max_items: int | None = None
) -> ItemClusters:
    """Group items that are correlated.

    Parameters
    ----------
    baskets
        The baskets.
    n_clusters
        How many clusters there are; items are then clustered by PAM.
    max_items
        How many items a cluster has at most. Pairs of items that some basket holds together are
        then gone through, the highest correlation first, then in the order of the items, and the
        clusters of both become one if that is not too large. Time grows with such pairs, not with
        the square of the items.

    Notes
    -----
    Phi-squared is high for items that exclude each other too. Here only items attract each other
    that baskets hold together more often than chance would have it; others are 1 apart.

    Raises
    ------
    ParameterError
        Where not exactly one of the two is given, or there are too many items for PAM.

    Examples
    --------
    >>> baskets = Baskets.of_lists([["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"], ["d"]])
    >>> cluster_items(baskets, max_items=2).members
    ((0, 1), (2, 3))
    >>> cluster_items(baskets, n_clusters=2)
    ItemClusters(4 items in 2 clusters, the largest of 2)
    """
    if (n_clusters is None) == (max_items is None):
        raise ParameterError(
            "Clusters of items need either n_clusters or max_items.",
            hint="give max_items=8, for example.",
        )
    if not baskets.n_items:
        raise ParameterError("There is no item to cluster.", hint="give baskets with items.")
    if max_items is None:
        distance = _distance(baskets)
        return ItemClusters(cluster_attributes(distance, n_clusters or 0).members)
    return ItemClusters(_join(baskets, whole("max_items", max_items, least=1)))


def _check_few(baskets: Baskets) -> None:
    if baskets.n_items > MOST_ITEMS:
        raise ParameterError(
            f"The correlations of {baskets.n_items} items are too many for one matrix, which "
            f"holds those of {MOST_ITEMS}.",
            hint="cluster items with max_items=8, for example, which needs no matrix.",
        )


def _phi_squared(n_baskets: int, first: Counts, second: Counts, together: Counts) -> Floats:
    """Give ``(n n11 - n1 n2)^2 / (n1 (n - n1) n2 (n - n2))``, and 0 where an item has one value."""
    excess = (n_baskets * together - first * second).astype(np.float64)
    spread_first = (first * (n_baskets - first)).astype(np.float64)
    spread_second = (second * (n_baskets - second)).astype(np.float64)
    has_both = (spread_first > 0) & (spread_second > 0)
    product = np.where(has_both, spread_first * spread_second, 1)
    found: Floats = np.clip(np.round(np.where(has_both, excess**2 / product, 0), _DECIMALS), 0, 1)
    return found


def _attracted(baskets: Baskets) -> tuple[Codes, Codes, Floats]:
    """Give the pairs of items that attract each other, with their correlation."""
    first, second, counts = baskets.pairs()
    supports = baskets.supports
    # Told in whole numbers: together more often than by chance.
    is_attracted = baskets.n_baskets * counts > supports[first] * supports[second]
    first, second, counts = first[is_attracted], second[is_attracted], counts[is_attracted]
    found = _phi_squared(baskets.n_baskets, supports[first], supports[second], counts)
    return first, second, found


def _distance(baskets: Baskets) -> Floats:
    _check_few(baskets)
    first, second, phi_squared = _attracted(baskets)
    distance = np.ones((baskets.n_items, baskets.n_items))
    distance[first, second] = distance[second, first] = np.round(1 - phi_squared, _DECIMALS)
    np.fill_diagonal(distance, 0)
    return distance


def _join(baskets: Baskets, max_items: int) -> tuple[tuple[int, ...], ...]:
    """Join the clusters of each pair in turn, where both together are not too large."""
    first, second, phi_squared = _attracted(baskets)
    order = np.argsort(-phi_squared, kind="stable")
    cluster = list(range(baskets.n_items))
    members = [[item] for item in range(baskets.n_items)]
    for one, other in zip(first[order].tolist(), second[order].tolist(), strict=True):
        kept, joined = sorted((cluster[one], cluster[other]))
        if kept == joined or len(members[kept]) + len(members[joined]) > max_items:
            continue
        for item in members[joined]:
            cluster[item] = kept
        members[kept] += members[joined]
        members[joined] = []
    return tuple(tuple(sorted(listed)) for listed in members if listed)
