"""Baskets as rows with few columns: the set of items of each cluster that a basket holds.

Transactions are sliced like any other table once their items are grouped into columns. A value of
such a column is a set of items, and a basket that holds none of them has the value "empty". Sets
that too few baskets share are folded: their rarest items are withheld, one by one, until enough
baskets share what is left.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 7.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import group
from shoal.core.domain import SUPPRESSED, Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.exact import whole
from shoal.core.plan import Label, Recode
from shoal.core.table import Rows
from shoal.slicing.baskets import Baskets, ItemClusters

EMPTY = "empty"
"""The value of a basket that holds no item of a column."""

WITHHELD = "…"
"""Stands for the withheld items of a set."""
_AND = " + "
_BITS = 30
"""The items in one word of a set; two words and a number of baskets fit into 64 bits."""

_Set = tuple[int, ...]


@dataclass(frozen=True, eq=False, repr=False)
class BasketColumns:
    """Baskets as rows: one row per basket, one column per cluster of items.

    For each column, `sets` has the items of the set of each code; `recode` has the labels of all
    sets, for columns with rare sets only.
    """

    rows: Rows
    sets: tuple[tuple[_Set, ...], ...]
    recode: tuple[Recode, ...] = ()

    def folded(self) -> Rows:
        """Return the rows with labels in place of rare sets."""
        domains, codes = list(self.rows.domains), self.rows.codes.copy()
        for labels in self.recode:
            place = self.rows.columns.index(labels.column)
            texts = [str(label.text) for label in labels.labels]
            domains[place] = Domain.of_texts(labels.column, texts)
            codes[:, place] = labels.index[codes[:, place]]
        return Rows(tuple(domains), codes, self.rows.keys)

    def __repr__(self) -> str:
        sizes = [len(sets) for sets in self.sets]
        return (
            f"BasketColumns({self.rows.n_rows} baskets, {len(sizes)} columns, "
            f"{sum(sizes)} different sets)"
        )


def slice_baskets(
    baskets: Baskets,
    clusters: ItemClusters,
    min_frequency: int | Sequence[int] | None = None,
) -> BasketColumns:
    """Turn baskets into rows with one column per cluster of items.

    At least `min_frequency` baskets share each value of a column; it is one number, or one per
    column. Default: None, which leaves all sets as they are.

    Notes
    -----
    A set is written as its items joined by `` + ``. Items that would be ambiguous (empty, with a
    plus or a quotation mark, or with blanks around them) are written in quotation marks.

    Folding goes from the largest sets to the smallest: a set that too few baskets share loses the
    item with the fewest baskets (the last of several) and becomes, for example, ``bread + …``:
    bread, and something else that is withheld. It is not counted with the baskets that hold bread
    alone. Sets left without an item become ``*``; if that is too rare itself, the values with the
    fewest baskets (the last of several) join it.

    Examples
    --------
    >>> baskets = Baskets.of_lists([["milk", "bread"], ["milk"], ["milk"], []])
    >>> clusters = ItemClusters(members=((0, 1),))
    >>> found = slice_baskets(baskets, clusters)
    >>> found.rows.domains[0].texts.tolist(), found.rows.codes[:, 0].tolist()
    (['bread + milk', 'empty', 'milk'], [0, 2, 2, 1])
    >>> slice_baskets(baskets, clusters, 2).folded().domains[0].texts.tolist()
    ['milk', '*']
    """
    _check_clusters(baskets, clusters)
    least = _minimums(min_frequency, clusters, baskets.n_baskets)
    codes = np.zeros((baskets.n_baskets, clusters.n_clusters), dtype=np.int32)
    domains, sets, recode = [], [], []
    entries = _entries_by_cluster(baskets, clusters)
    for place, name in enumerate(clusters.names):
        held, found = _sets_of(baskets, clusters.members[place], *entries[place])
        texts = [_text(baskets, items) for items in found]
        order = sorted(range(len(texts)), key=texts.__getitem__)
        codes[:, place] = np.argsort(order)[held] if order else held
        domain = Domain.of_texts(name, [texts[code] for code in order])
        domains.append(domain)
        sets.append(tuple(found[code] for code in order))
        counts = np.bincount(codes[:, place], minlength=len(order))
        if least is not None and len(counts) and counts.min() < least[place]:
            recode.append(_fold(baskets, domain, sets[-1], counts, least[place]))
    return BasketColumns(Rows(tuple(domains), codes), tuple(sets), tuple(recode))


def _check_clusters(baskets: Baskets, clusters: ItemClusters) -> None:
    if sorted(item for members in clusters.members for item in members) != list(
        range(baskets.n_items)
    ):
        raise ParameterError(
            f"Each of the {baskets.n_items} items must be in exactly one cluster.",
            hint="make the clusters from the same baskets: cluster_items(baskets, ...).",
        )


def _minimums(
    given: int | Sequence[int] | None, clusters: ItemClusters, n_baskets: int
) -> list[int] | None:
    if given is None:
        return None
    listed = list(given) if isinstance(given, Sequence) else [given] * clusters.n_clusters
    if len(listed) != clusters.n_clusters:
        raise ParameterError(
            f"min_frequency must be one number, or one for each of {clusters.n_clusters} columns; "
            f"got {len(listed)}.",
            hint="give one number for all columns.",
        )
    least = [whole("min_frequency", one, least=1) for one in listed]
    if n_baskets and max(least, default=0) > n_baskets:
        raise InfeasibleError(
            f"min_frequency = {max(least)} is out of reach: there are {n_baskets} baskets.",
            hint=f"min_frequency = {n_baskets} can be reached.",
            best={"min_frequency": n_baskets},
        )
    return least


# --- the sets that baskets hold -------------------------------------------------------------------


def _entries_by_cluster(baskets: Baskets, clusters: ItemClusters) -> list[tuple[Codes, Codes]]:
    """Return the entries of each cluster, by basket: the basket, and the item's place."""
    cluster = np.empty(baskets.n_items, dtype=np.int64)
    within = np.empty(baskets.n_items, dtype=np.int64)
    for number, members in enumerate(clusters.members):
        cluster[list(members)] = number
        within[list(members)] = np.arange(len(members))
    order = np.argsort(cluster[baskets.item], kind="stable")
    item = baskets.item[order]
    ends = np.searchsorted(cluster[item], np.arange(1, clusters.n_clusters))
    parts = zip(np.split(baskets.basket[order], ends), np.split(within[item], ends), strict=True)
    return list(parts)


def _sets_of(
    baskets: Baskets, members: _Set, basket: Codes, place: Codes
) -> tuple[Codes, list[_Set]]:
    """Return the number of each basket's set, and the items of every set."""
    opens = np.ones(len(basket), dtype=bool)
    opens[1:] = basket[1:] != basket[:-1]
    begin = np.flatnonzero(opens)
    words = [
        np.add.reduceat(np.where(place // _BITS == word, 1 << place % _BITS, 0), begin)
        if len(begin)
        else begin
        for word in range(-(-len(members) // _BITS))
    ]
    first, inverse = group(words, [1 << _BITS] * len(words), len(begin))
    end = np.append(begin[1:], len(basket))
    found = [
        tuple(members[item] for item in place[begin[one] : end[one]].tolist())
        for one in first.tolist()
    ]
    # Baskets without items of the cluster have no entry.
    held = np.full(baskets.n_baskets, len(found), dtype=np.int64)
    held[basket[begin]] = inverse
    if len(begin) < baskets.n_baskets:
        found.append(())
    return held, found


def _text(baskets: Baskets, items: _Set, *, is_open: bool = False) -> str:
    if not items:
        return SUPPRESSED if is_open else EMPTY
    written = [_quoted(str(baskets.items[item])) for item in items]
    return _AND.join([*written, WITHHELD] if is_open else written)


def _quoted(item: str) -> str:
    is_plain = item == item.strip() and item not in ("", EMPTY, SUPPRESSED, WITHHELD)
    if is_plain and "+" not in item and '"' not in item:
        return item
    return json.dumps(item, ensure_ascii=False)


# --- rare sets ------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Fold:
    """A value to publish: its items, whether others are withheld, and the sets it stands for."""

    items: _Set
    is_open: bool
    codes: list[int]
    count: int

    def absorb(self, other: _Fold) -> None:
        self.codes += other.codes
        self.count += other.count


def _fold(
    baskets: Baskets, domain: Domain, sets: Sequence[_Set], counts: Counts, least: int
) -> Recode:
    """Withhold items of rare sets until every value is shared by enough baskets."""
    whole_sets = [
        _Fold(items, is_open=False, codes=[code], count=int(counts[code]))
        for code, items in enumerate(sets)
    ]
    kept = _withhold(whole_sets, baskets.supports, least)
    kept = _fill_rest(kept, least)
    kept.sort(key=lambda fold: (fold.is_open and not fold.items, min(fold.codes)))
    index = np.empty(len(sets), dtype=np.int64)
    for place, fold in enumerate(kept):
        index[fold.codes] = place
    labels = tuple(
        Label(_text(baskets, fold.items, is_open=fold.is_open), members=tuple(sorted(fold.codes)))
        for fold in kept
    )
    return Recode(domain.column, "value", index, labels)


def _withhold(folds: Sequence[_Fold], supports: Counts, least: int) -> list[_Fold]:
    """Fold rare values, largest sets first; the value without items comes last."""
    kept: list[_Fold] = []
    rest = _Fold((), is_open=True, codes=[], count=0)
    by_size: dict[int, list[_Fold]] = defaultdict(list)
    for fold in folds:
        by_size[len(fold.items)].append(fold)
    open_folds: dict[_Set, _Fold] = {}
    for size in range(max(by_size), -1, -1):
        for fold in by_size[size]:
            if fold.count >= least:
                kept.append(fold)
            elif size <= 1:
                rest.absorb(fold)
            else:
                fewer = _without_rarest(fold.items, supports)
                if fewer not in open_folds:
                    open_folds[fewer] = _Fold(fewer, is_open=True, codes=[], count=0)
                    by_size[size - 1].append(open_folds[fewer])
                open_folds[fewer].absorb(fold)
    return [*kept, rest] if rest.codes else kept


def _without_rarest(items: _Set, supports: Counts) -> _Set:
    rarest = min(items, key=lambda item: (supports[item], -item))
    return tuple(item for item in items if item != rarest)


def _fill_rest(folds: list[_Fold], least: int) -> list[_Fold]:
    """Merge the rarest values into the rest until enough baskets share that too."""
    rest = folds[-1]
    if rest.items or not rest.is_open:
        return folds
    others = sorted(folds[:-1], key=lambda fold: (fold.count, -min(fold.codes)), reverse=True)
    while rest.count < least:
        rest.absorb(others.pop())
    return [*others, rest]
