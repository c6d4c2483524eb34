"""Baskets, people as sets of items, and items grouped by how often they occur together.

A basket is a row with hundreds or thousands of columns that are almost all empty, so it is kept as
the list of its items. Slicing suits such data, whose attributes are very many. An item is an
attribute with two values, present and absent, so items have correlations as other attributes do,
and these follow from the number of baskets that hold two items together. A few items are clustered
as attributes are; with many, the strongest pairs are joined first into clusters of bounded size.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats, Texts
from shoal.core.errors import DataError, ParameterError
from shoal.core.exact import whole
from shoal.slicing.columns import cluster_attributes


@dataclass(frozen=True, eq=False, repr=False)
class Baskets:
    """Sets of items, made by `of_lists` or `of_codes`.

    The entries (`basket` holds `item`) occur once each, sorted by basket, then item. `n_baskets`
    includes empty baskets.
    """

    items: Texts
    basket: Codes
    item: Codes
    n_baskets: int

    @classmethod
    def of_lists(cls, baskets: Iterable[Iterable[str]]) -> Baskets:
        """Make baskets from lists of items; an item that is repeated in a basket counts once.

        Examples
        --------
        >>> baskets = Baskets.of_lists([["milk", "bread"], [], ["milk"]])
        >>> baskets
        Baskets(3 baskets, 2 items, 3 entries)
        >>> baskets.items.tolist(), baskets.supports.tolist()
        (['bread', 'milk'], [1, 2])
        """
        listed = [_items_of(basket) for basket in baskets]
        n_wrong = sum(basket is None for basket in listed)
        if n_wrong:
            raise DataError(
                f"A basket is a list of items, which are texts; {n_wrong} baskets are not.",
                hint="give lists of texts, such as [['milk', 'bread'], ['milk']].",
            )
        known = [basket for basket in listed if basket is not None]
        items = sorted({item for basket in known for item in basket})
        code_by_item = {item: code for code, item in enumerate(items)}
        return cls.of_codes(items, [[code_by_item[item] for item in basket] for basket in known])

    @classmethod
    def of_codes(cls, items: Sequence[str], baskets: Sequence[Sequence[int]]) -> Baskets:
        """Make baskets from lists of codes, as the rows of a sparse 0/1 matrix have them.

        `items` has the text of each code, each once; some items may be in no basket. The codes of a
        basket may be in any order.
        """
        lengths = np.fromiter(map(len, baskets), dtype=np.int64, count=len(baskets))
        codes = np.fromiter(
            (code for basket in baskets for code in basket), dtype=np.int64, count=lengths.sum()
        )
        n_wrong = int(np.count_nonzero((codes < 0) | (codes >= len(items))))
        n_twice = len(items) - len(set(items))
        if n_wrong or n_twice:
            raise DataError(
                f"Baskets hold codes from 0 to {len(items) - 1} for as many different items; got "
                f"{n_wrong} other codes, and {n_twice} repeated items.",
                hint="number the items from 0, each once.",
            )
        entries = np.unique(np.repeat(np.arange(len(baskets)), lengths) * len(items) + codes)
        texts = np.empty(len(items), dtype=object)
        texts[:] = items
        basket, item = np.divmod(entries, max(len(items), 1))
        return cls(texts, basket.astype(np.int64), item.astype(np.int64), len(baskets))

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.items)

    @cached_property
    def supports(self) -> Counts:
        """The number of baskets that hold each item."""
        return np.bincount(self.item, minlength=self.n_items).astype(np.int64)

    def pairs(self) -> tuple[Codes, Codes, Counts]:
        """Count the pairs of items that some basket holds together.

        Returns the first and the second item of each pair, the first with the lower code, in
        lexicographic order, and the number of baskets that hold both.
        """
        shape = (self.n_baskets, self.n_items)
        ones = np.ones(len(self.item), dtype=np.int64)
        from scipy import sparse  # noqa: PLC0415 - it takes long to import

        holds = sparse.csr_array((ones, (self.basket, self.item)), shape=shape)
        together = sparse.triu(holds.T @ holds, k=1).tocoo()
        first, second = (np.asarray(places, dtype=np.int64) for places in together.coords)
        order = np.lexsort((second, first))
        return first[order], second[order], np.asarray(together.data, dtype=np.int64)[order]

    def __repr__(self) -> str:
        return f"Baskets({self.n_baskets} baskets, {self.n_items} items, {len(self.item)} entries)"


def _items_of(basket: object) -> tuple[str, ...] | None:
    """Return the items of a basket; None if it is not a basket."""
    if isinstance(basket, str) or not isinstance(basket, Iterable):
        return None
    items = tuple(basket)
    return items if all(isinstance(item, str) for item in items) else None


MOST_ITEMS = 3000
"""The most items whose correlations are held as one matrix."""

_DECIMALS = 12


@dataclass(frozen=True, repr=False)
class ItemClusters:
    """Items in clusters: the codes of the items of each cluster, ascending.

    Clusters are in the order of their first items, and every item is in exactly one of them.
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
        """Return the codes of the items by column."""
        columns = zip(self.names, self.members, strict=True)
        return {name: list(members) for name, members in columns}

    def __repr__(self) -> str:
        sizes = [len(members) for members in self.members]
        return (
            f"ItemClusters({sum(sizes)} items in {self.n_clusters} clusters, "
            f"the largest of {max(sizes, default=0)})"
        )


def cluster_items(
    baskets: Baskets, *, n_clusters: int | None = None, max_items: int | None = None
) -> ItemClusters:
    """Group correlated items, given either `n_clusters` or `max_items`.

    With `n_clusters`, items are clustered by PAM. With `max_items`, the pairs of items that some
    basket holds together are visited, highest correlation first, then in the order of the items,
    and the clusters of both are joined if the result has at most `max_items` items. Time grows with
    the number of these pairs, not with the square of the number of items.

    Phi-squared is also high for items that exclude each other. Here only items that baskets hold
    together more often than by chance attract each other; others have distance 1.

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


def _phi_squared(n_baskets: int, first: Counts, second: Counts, together: Counts) -> Floats:
    """Return ``(n n11 - n1 n2)^2 / (n1 (n - n1) n2 (n - n2))``; 0 if an item has one value."""
    excess = (n_baskets * together - first * second).astype(np.float64)
    spread_first = (first * (n_baskets - first)).astype(np.float64)
    spread_second = (second * (n_baskets - second)).astype(np.float64)
    has_both = (spread_first > 0) & (spread_second > 0)
    product = np.where(has_both, spread_first * spread_second, 1)
    found: Floats = np.clip(np.round(np.where(has_both, excess**2 / product, 0), _DECIMALS), 0, 1)
    return found


def attracted_pairs(baskets: Baskets) -> tuple[Codes, Codes, Floats]:
    """Return the pairs of items that attract each other, with their correlation."""
    first, second, counts = baskets.pairs()
    supports = baskets.supports
    # In whole numbers: together more often than by chance.
    is_attracted = baskets.n_baskets * counts > supports[first] * supports[second]
    first, second, counts = first[is_attracted], second[is_attracted], counts[is_attracted]
    found = _phi_squared(baskets.n_baskets, supports[first], supports[second], counts)
    return first, second, found


def _distance(baskets: Baskets) -> Floats:
    if baskets.n_items > MOST_ITEMS:
        raise ParameterError(
            f"The correlations of {baskets.n_items} items are too many for one matrix, which "
            f"holds those of {MOST_ITEMS}.",
            hint="cluster items with max_items=8, for example, which needs no matrix.",
        )
    first, second, phi_squared = attracted_pairs(baskets)
    distance = np.ones((baskets.n_items, baskets.n_items))
    distance[first, second] = distance[second, first] = np.round(1 - phi_squared, _DECIMALS)
    np.fill_diagonal(distance, 0)
    return distance


def _join(baskets: Baskets, max_items: int) -> tuple[tuple[int, ...], ...]:
    """Join the clusters of each pair in turn, if both together are not too large."""
    first, second, phi_squared = attracted_pairs(baskets)
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
