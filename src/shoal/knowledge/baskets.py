"""Baskets: people as sets of items, of which each has few.

A basket is a row with hundreds or thousands of columns that are almost all empty. It is kept as
the list of its items, and items are counted together by the pairs that occur.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.domain import Texts
from shoal.core.errors import DataError

__all__ = ["Baskets"]


@dataclass(frozen=True, eq=False, repr=False)
class Baskets:
    """Sets of items; `of_lists` and `of_codes` make them.

    Parameters
    ----------
    items
        The items.
    basket, item
        The entries, by basket, then item: this basket holds this item. Each is there once.
    n_baskets
        How many baskets there are, empty ones included.
    """

    items: Texts
    basket: Codes
    item: Codes
    n_baskets: int

    @classmethod
    def of_lists(cls, baskets: Iterable[Iterable[str]]) -> Baskets:
        """Make baskets from lists of items; an item named twice in a basket is there once.

        Raises
        ------
        DataError
            Where something else than texts is in a basket.

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
                f"A basket is a list of items, which are texts; {n_wrong} baskets are none.",
                hint="give lists of texts, such as [['milk', 'bread'], ['milk']].",
            )
        known = [basket for basket in listed if basket is not None]
        items = sorted({item for basket in known for item in basket})
        code_by_item = {item: code for code, item in enumerate(items)}
        return cls.of_codes(items, [[code_by_item[item] for item in basket] for basket in known])

    @classmethod
    def of_codes(cls, items: Sequence[str], baskets: Sequence[Sequence[int]]) -> Baskets:
        """Make baskets from lists of codes, as the rows of a sparse matrix of 0 and 1 have them.

        Parameters
        ----------
        items
            The text of each code, each once. There may be items that no basket holds.
        baskets
            The codes of each basket, in any order.

        Raises
        ------
        DataError
            Where two items are the same, or a code is none.

        Examples
        --------
        >>> Baskets.of_codes(["bread", "milk"], [[1, 0], [], [1]])
        Baskets(3 baskets, 2 items, 3 entries)
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
                f"{n_wrong} other codes, and {n_twice} items that are named before.",
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
        """How many baskets hold each item."""
        return np.bincount(self.item, minlength=self.n_items).astype(np.int64)

    def pairs(self) -> tuple[Codes, Codes, Counts]:
        """Count the pairs of items that some basket holds together.

        Returns
        -------
        The first and the second item of each pair, the first one below the second, in
        lexicographic order, and how many baskets hold both.

        Examples
        --------
        >>> baskets = Baskets.of_lists([["a", "b", "c"], ["a", "b"], ["c"]])
        >>> [array.tolist() for array in baskets.pairs()]
        [[0, 0, 1], [1, 2, 2], [2, 1, 1]]
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
    """Give the items of a basket; None where it is no basket."""
    if isinstance(basket, str) or not isinstance(basket, Iterable):
        return None
    items = tuple(basket)
    return items if all(isinstance(item, str) for item in items) else None
