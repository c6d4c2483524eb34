"""How large p(t, s) of people in a sliced release is about, and how far off that may be at most.

Every p(t, s) is a sum of products of positive numbers, so that each step of floating point adds
its relative rounding and nothing cancels. What lies further from a limit than that is decided;
the rest is left to fractions. Columns that share attributes are not for this module.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts, group
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.core.work import Work

__all__ = ["Shares", "estimate_shares"]

Floats = npt.NDArray[np.float64]

_MOST_PAIRS = 1 << 20
"""So many pairs of a tuple and a bucket are looked at together."""
_LOOKUP = 20
"""About how many operations a pair takes."""
_TINY = 1e-200
"""Products below this may have lost digits, or all of them."""


@dataclass(frozen=True, eq=False)
class Shares:
    """What was found of each tuple.

    Parameters
    ----------
    low, high
        Between these lies its largest p(t, s).
    n_values
        How many values have a p(t, s) above 0: none where it matches no bucket.
    """

    low: Floats
    high: Floats
    n_values: Counts


def estimate_shares(
    sliced: Sliced, people: Codes, sensitive: str, work: Work | None = None
) -> Shares:
    """Find about how large the largest p(t, s) of each tuple is.

    Parameters
    ----------
    sliced
        The release; no attribute is in two of its columns.
    people
        One row a tuple, one column for each attribute that is known: codes of the release's
        domains, -1 where the release does not have the value.
    sensitive
        The sensitive attribute.
    work
        What may be spent; default 2e9 operations.

    Raises
    ------
    TooMuchWork
        If people and buckets are too many.
    """
    work = work or Work()
    sides = [_Side.of_column(sliced, column, people, sensitive) for column in sliced.columns]
    # The column with the fewest pairs of a tuple and a bucket says which are looked at.
    sides.sort(key=lambda side: int(side.n_buckets_of_people.sum()))
    found = Shares(
        np.zeros(len(people)),
        np.ones(len(people)),
        np.zeros(len(people), dtype=np.int64),
    )
    for rows in _parts(sides[0].n_buckets_of_people):
        work.spend(_LOOKUP * len(sides) * int(sides[0].n_buckets_of_people[rows].sum()))
        _find(sliced, sides, rows, found, work)
    return found


@dataclass(frozen=True, eq=False)
class _Side:
    """One column: which buckets hold its known values, how often, with which sensitive ones.

    Parameters
    ----------
    part
        For each tuple the number of its known values in this column.
    held
        Ascending, a number for each pair of known values and a bucket that holds them.
    count
        How often it does.
    starts, value, value_count
        Where the sensitive values of each such pair begin, these, and how often each is there;
        None where the column has not the sensitive attribute.
    n_buckets
        How many buckets the release has.
    """

    part: Codes
    held: Codes
    count: Counts
    starts: Codes | None
    value: Codes
    value_count: Counts
    n_buckets: int

    @classmethod
    def of_column(
        cls, sliced: Sliced, column: SlicedColumn, people: Codes, sensitive: str
    ) -> _Side:
        known = sliced.layout.known_for(sensitive)
        names = [name for name in column.attributes if name in known]
        values, value_of_cell = column.values.select_with_inverse(names)
        # Both are numbered together; a value that the release does not have becomes code 0.
        both = np.concatenate([values.codes, people[:, [known.index(name) for name in names]]]) + 1
        sizes = [domain.size + 1 for domain in values.domains]
        _, number = group(list(both.T), sizes, len(both))
        part = number[: values.n_cells][value_of_cell][column.value]
        pair, at = np.unique(part * sliced.n_buckets + column.bucket, return_inverse=True)
        if sensitive not in column.attributes:
            starts, value, value_count = None, at[:0], at[:0]
        else:
            codes = column.codes(sensitive)
            first, entry = group([at, codes], [len(pair), sliced.domain(sensitive).size], len(at))
            starts = np.searchsorted(at[first], np.arange(len(pair) + 1))
            value, value_count = codes[first], _added(entry, column.count, len(first))
        return cls(
            part=number[values.n_cells :],
            held=pair,
            count=_added(at, column.count, len(pair)),
            starts=starts,
            value=value,
            value_count=value_count,
            n_buckets=sliced.n_buckets,
        )

    @property
    def n_buckets_of_people(self) -> Counts:
        """How many buckets hold each tuple's known values of this column."""
        first = self.part * self.n_buckets
        return np.searchsorted(self.held, first + self.n_buckets) - np.searchsorted(
            self.held, first
        )

    def expand(self, rows: Codes) -> tuple[Codes, Codes]:
        """Give the tuples of some rows, once for each bucket that holds their values, and these."""
        places = np.searchsorted(self.held, self.part[rows] * self.n_buckets)
        owner, place = _ranges(places, self.n_buckets_of_people[rows])
        return rows[owner], self.held[place] % self.n_buckets

    def find(self, rows: Codes, bucket: Codes) -> tuple[npt.NDArray[np.bool_], Codes]:
        """Say whether buckets hold the known values of tuples, and where that is counted."""
        asked = self.part[rows] * self.n_buckets + bucket
        place = np.minimum(np.searchsorted(self.held, asked), len(self.held) - 1)
        return self.held[place] == asked, place


def _find(sliced: Sliced, sides: list[_Side], rows: Codes, found: Shares, work: Work) -> None:
    """Find the shares of some tuples: link the columns of each bucket that they match."""
    owner, bucket = sides[0].expand(rows)
    for side in sides:
        is_there, _ = side.find(owner, bucket)
        owner, bucket = owner[is_there], bucket[is_there]
    weight = np.ones(len(owner))
    for side in sides:
        _, place = side.find(owner, bucket)
        if side.starts is None:
            weight *= side.count[place] / sliced.sizes[bucket]
        else:
            last, at = side, place
    assert last.starts is not None
    n_entries = np.diff(last.starts)[at]
    work.spend(_LOOKUP * int(n_entries.sum()))
    term, entry = _ranges(last.starts[at], n_entries)
    amount = weight[term] * last.value_count[entry]
    _sum_up(owner[term], last.value[entry], amount, len(sides), found)


def _sum_up(owner: Codes, value: Codes, amount: Floats, n_columns: int, found: Shares) -> None:
    if not len(owner):
        return
    first, pair = group([owner, value], [int(owner.max()) + 1, int(value.max()) + 1], len(owner))
    owner_of_pair = owner[first]
    total_of_pair = np.bincount(pair, amount, len(first))
    opens = np.flatnonzero(np.r_[True, owner_of_pair[1:] != owner_of_pair[:-1]])
    rows = owner_of_pair[opens]
    n_values = np.diff(opens, append=len(owner_of_pair))
    total = np.add.reduceat(total_of_pair, opens)
    # Two roundings a column in every term, one for each that is added, in the largest amount and
    # in the sum of all. A rounding is half an epsilon at most, which leaves as much to spare.
    starts = np.searchsorted(owner, rows)
    n_terms = np.diff(starts, append=len(owner))
    error = (4 * n_columns + 2 * n_terms + n_values + 10) * np.finfo(np.float64).eps
    is_kept = np.minimum.reduceat(amount, starts) > _TINY
    share = np.maximum.reduceat(total_of_pair, opens) / np.where(is_kept, total, 1)
    found.low[rows] = np.where(is_kept, share * (1 - error), 0)
    found.high[rows] = np.where(is_kept, share * (1 + error), 1)
    found.n_values[rows] = n_values


def _added(owner: Codes, counts: Counts, n_owners: int) -> Counts:
    totals = np.zeros(n_owners, dtype=np.int64)
    np.add.at(totals, owner, counts)
    return totals


def _ranges(starts: Codes, lengths: Codes) -> tuple[Codes, Codes]:
    """Give the places of several ranges, one after the other, with the range of each."""
    owner = np.repeat(np.arange(len(starts)), lengths)
    return owner, np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner] + starts[owner]


def _parts(n_pairs: Counts) -> Iterator[Codes]:
    """Part the tuples so that not too many pairs are looked at together."""
    opens = np.flatnonzero(np.diff(np.cumsum(n_pairs) // _MOST_PAIRS)) + 1
    yield from np.split(np.arange(len(n_pairs)), opens)
