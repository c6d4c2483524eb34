"""The bucketization of [Li08] Figure 2, in plain Python and row by row.

This is the algorithm to read first. `shoal.injector.bucketization` computes the same
buckets (``choose="printed"``) from classes with counts, and the tests compare the two.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Section V; Figure 2 is the bucketization, Figure 1 the search for valid values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

Thing = TypeVar("Thing")
Row = tuple[int, int]
"""A tuple of the paper: its sensitive value, and the place of its IVS among the sets."""


def bucketize_plainly(
    rows: Sequence[Row], ivs: Sequence[frozenset[int]], ell: int
) -> list[list[Row]]:
    """Return buckets in which every row has `ell` valid values.

    With all rows in one bucket, each must have that many. Ties go to the lowest row or bucket.

    Examples
    --------
    >>> man, woman = 0, 1
    >>> rows = [(7, man), (8, man), (8, woman), (9, woman)]
    >>> bucketize_plainly(rows, [frozenset({9}), frozenset()], ell=2)
    [[(8, 0), (7, 0)], [(8, 1), (9, 1)]]
    """
    # The figure's T is t, T_r is t_r, and L is buckets. Its lines 1, 5, 9 and 15 keep counts for
    # NIT, which is counted from T itself here.
    # A row whose own value is excluded (min_conf < 1) is incompatible even with itself.
    t = sorted(row for row in rows if row[0] not in ivs[row[1]])
    t_r = [row for row in rows if row[0] in ivs[row[1]]]
    buckets: dict[int, list[Row]] = {}
    while len(t) >= ell:  # line 2
        t_i = max(t, key=lambda row: _nit([row], t, ivs))  # line 3
        g, left = [t_i], _without(t, t_i)  # line 4
        while len(g) < ell:  # line 6
            compatible = [row for row in left if not _nit(g, [row], ivs)]
            if not compatible:  # line 7
                break
            t_j = min(compatible, key=lambda row: _nit([*g, row], left, ivs))  # lines 12, 13
            g, left = [*g, t_j], _without(left, t_j)  # line 14
        if len(g) == ell:
            buckets[len(buckets)], t = g, left  # line 16
        else:  # lines 8 to 11
            # [Li08] Fig. 2 line 9 restores t_i as well; that would count it twice.
            # Line 11 sets t_i aside; here all rows equal to t_i are set aside with it.
            t_r += [row for row in t if row == t_i]
            t = [row for row in t if row != t_i]
    t_r += t  # line 17
    if not buckets:  # line 19 presupposes a bucket
        return [sorted(rows)]
    for t_j in sorted(t_r):  # line 18
        g = min(buckets.values(), key=lambda g: (_nit([t_j], g, ivs), len(g)))  # line 19
        g.append(t_j)  # line 20
    # The figure merges as soon as a row has joined; here all rows of T_r join before any merge.
    for n, g in list(buckets.items()):
        while n in buckets and len(buckets) > 1 and (short := _short(g, ivs, ell)):  # line 21
            # Line 22 counts all values that g lacks; values that the row cannot take do not help.
            lacks = {m: _sen(other) - _sen(g) - ivs[short[1]] for m, other in buckets.items()}
            best = max(buckets.keys() - {n}, key=lambda m: (len(lacks[m]), -len(buckets[m]), -m))
            g.extend(buckets.pop(best))  # line 23
    return list(buckets.values())


def _nit(g: Sequence[Row], t: Sequence[Row], ivs: Sequence[frozenset[int]]) -> int:
    """Return NIT[g]: how many rows of `t` are incompatible with a row of `g` (Definition 2)."""
    return sum(any(s == r or s in ivs[other] or r in ivs[own] for r, other in g) for s, own in t)


def valid_values(g: Sequence[Row], ivs: Sequence[frozenset[int]]) -> list[set[int]]:
    """Return for each row of a bucket the values that some assignment gives it ([Li08] Fig. 1).

    [Li08] Fig. 1 neither tests that t_i can take s_j nor counts the row's own value.
    """
    values = [value for value, _ in g]
    return [
        {
            s
            for s in set(values) - ivs[row[1]]
            if _has_assignment([*g[:i], *g[i + 1 :]], _without(values, s), ivs)
        }
        for i, row in enumerate(g)
    ]


def _has_assignment(
    rows: Sequence[Row], values: Sequence[int], ivs: Sequence[frozenset[int]]
) -> bool:
    """Find a perfect matching of rows and values by path augmentation (MBM in the paper)."""
    holder: dict[int, int] = {}

    def augment(row: int, tried: set[int]) -> bool:
        for place, value in enumerate(values):
            if place not in tried and value not in ivs[rows[row][1]]:
                tried.add(place)
                if place not in holder or augment(holder[place], tried):
                    holder[place] = row
                    return True
        return False

    return all(augment(row, set()) for row in range(len(rows)))


def _short(g: Sequence[Row], ivs: Sequence[frozenset[int]], ell: int) -> Row | None:
    """Return the row with the fewest valid values, if these are fewer than `ell`."""
    counted = zip(map(len, valid_values(g, ivs)), g, strict=True)
    n_valid, row = min(counted, key=lambda pair: (pair[0], pair[1][1]))
    return row if n_valid < ell else None


def _sen(g: Sequence[Row]) -> set[int]:
    return {value for value, _ in g}


def _without(things: Sequence[Thing], one: Thing) -> list[Thing]:
    place = list(things).index(one)
    return [*things[:place], *things[place + 1 :]]
