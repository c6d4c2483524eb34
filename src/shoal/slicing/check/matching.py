"""Which buckets of a sliced release people match, and an estimate of their p(t, s).

`is_matched_once` says whether published counts alone can decide: no combination of known values
matches two buckets. `estimate_shares` encloses p(t, s) in floats. Every p(t, s) is a sum of
products of positive numbers, so each floating-point operation adds its relative rounding error and
nothing cancels. Values further from a limit than that are decided; the rest is left to fractions.
Columns that share attributes are not covered by the estimate.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import group, total_by
from shoal.core.progress import TooMuchWork, Work
from shoal.core.sliced import Sliced, SlicedColumn

_MOST_BUCKET_PAIRS = 5_000_000
_ENTRIES_A_TIME = 1_000_000


def is_matched_once(sliced: Sliced, sensitive: str, work: Work | None = None) -> bool:
    """Return whether no combination of published known values matches two buckets.

    Two buckets are matched by one combination if they share a value in every column. If there are
    too many pairs of buckets to compare, the answer is no. Raises `TooMuchWork` if comparing them
    takes more operations than allowed; default 2e9.
    """
    n_shared = _n_matched_together(sliced, sensitive, work or Work())
    return n_shared == 0


def is_matched_twice(sliced: Sliced, sensitive: str | None) -> bool:
    """Return whether some combination of known values is found that matches two buckets.

    If equal values stay in one bucket, as with strict cuts, there is none.
    """
    try:
        return bool(_n_matched_together(sliced, sensitive, Work()))
    except TooMuchWork:
        return False


def _n_matched_together(sliced: Sliced, sensitive: str | None, work: Work) -> int | None:
    """Count some pairs of buckets that one combination matches; 0 if there is none at all.

    None if there are too many pairs to compare.
    """
    known = sliced.layout.known_for(sensitive)
    found = [_held(column, known) for column in sliced.columns]
    held = [values for values in found if values is not None]
    if sliced.n_buckets < 2:
        return 0
    if not held:
        return sliced.n_buckets * (sliced.n_buckets - 1) // 2
    held.sort(key=lambda values: _n_pairs(values[1]))
    if _n_pairs(held[0][1]) > _MOST_BUCKET_PAIRS:
        return None
    # Among random buckets, some neighbours are matched together: then no others are compared.
    every = np.arange(sliced.n_buckets)
    neighbours = _matched(np.stack([every[:-1], every[1:]], axis=1), held, work)
    if len(neighbours):
        return len(neighbours)
    work.spend(_n_pairs(held[0][1]))
    return len(_matched(_pairs(*held[0], sliced.n_buckets), held[1:], work))


def _matched(pairs: Codes, held: Sequence[tuple[Codes, Codes]], work: Work) -> Codes:
    """Keep the pairs of buckets that hold a common value in each of some columns."""
    for bucket, value in held:
        lengths = np.bincount(bucket)
        work.spend(_LOOKUP * int(lengths[pairs[:, 0]].sum()))
        pairs = _that_share(pairs, bucket, value)
    return pairs


def _held(column: SlicedColumn, known: Sequence[str]) -> tuple[Codes, Codes] | None:
    """Return each bucket with each known value that it holds; None if no value is known."""
    names = [name for name in column.attributes if name in known]
    if not names:
        return None
    values, value_of_cell = column.values.select_with_inverse(names)
    key = np.unique(column.bucket * values.n_cells + value_of_cell[column.value])
    return key // values.n_cells, key % values.n_cells


def _n_pairs(value: Codes) -> int:
    n_buckets = np.bincount(value)
    return int((n_buckets * (n_buckets - 1) // 2).sum())


def _pairs(bucket: Codes, value: Codes, n_buckets: int) -> Codes:
    """Return all pairs of buckets that hold one value, the lower number first."""
    order = np.lexsort((bucket, value))
    bucket, value = bucket[order], value[order]
    starts = np.flatnonzero(np.r_[True, value[1:] != value[:-1]])
    ends = np.append(starts[1:], len(value))
    # Pair each entry with all later entries of the same value.
    n_after = np.repeat(ends, ends - starts) - np.arange(len(value)) - 1
    first = np.repeat(np.arange(len(value)), n_after)
    offset = np.arange(len(first)) - np.repeat(np.cumsum(n_after) - n_after, n_after)
    key = np.unique(bucket[first] * n_buckets + bucket[first + 1 + offset])
    return np.stack([key // n_buckets, key % n_buckets], axis=1)


def _that_share(pairs: Codes, bucket: Codes, value: Codes) -> Codes:
    """Keep the pairs of buckets that hold a common value."""
    n_values = int(value.max()) + 1
    keys = bucket * n_values + value
    lengths = np.bincount(bucket)
    starts = np.cumsum(lengths) - lengths
    total = np.cumsum(lengths[pairs[:, 0]]) // _ENTRIES_A_TIME
    opens = np.flatnonzero(np.diff(total)) + 1
    kept = []
    for part in np.split(pairs, opens):
        n_entries = lengths[part[:, 0]]
        owner = np.repeat(np.arange(len(part)), n_entries)
        offset = np.arange(len(owner)) - np.repeat(np.cumsum(n_entries) - n_entries, n_entries)
        values = value[starts[part[owner, 0]] + offset]
        is_shared = np.isin(part[owner, 1] * n_values + values, keys)
        kept.append(part[np.unique(owner[is_shared])])
    return np.concatenate(kept)


_MOST_PAIRS = 1 << 20
"""The number of pairs of a tuple and a bucket that are processed together."""
_MOST_PLACES = 1 << 22
"""A table of places has at most this many entries; without one, places are searched."""
_LOOKUP = 20
"""The approximate number of operations per pair, or per lookup of a value."""
_TINY = 1e-200
"""Products below this may have lost some or all of their digits."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Bounds on the largest p(t, s) of each tuple, and its number of values with one above 0.

    The number is 0 if the tuple matches no bucket.
    """

    low: Floats
    high: Floats
    n_values: Counts


def estimate_shares(
    sliced: Sliced, people: Codes, sensitive: str, work: Work | None = None
) -> Shares:
    """Enclose the largest p(t, s) of each tuple, in a release without shared attributes.

    `people` has one row per tuple and one column per known attribute: codes of the release's
    domains, -1 for a value that the release does not have. `work` limits the operations (default
    2e9); `TooMuchWork` is raised if they do not suffice.
    """
    work = work or Work()
    sides = [_Side.of_column(sliced, column, people, sensitive) for column in sliced.columns]
    # Only the pairs of the column with the fewest pairs of a tuple and a bucket are examined.
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
    """One column: the buckets that hold its known values, how often, and with which sensitive ones.

    `part` is the number of each tuple's known values in this column. `held` has a number for each
    pair of known values and a bucket that holds them, ascending, `count` how often. `starts` is
    where the sensitive values of each such pair begin; None if the column does not have the
    sensitive attribute.
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
            value, value_count = codes[first], total_by(entry, column.count, len(first))
        return cls(
            part=number[values.n_cells :],
            held=pair,
            count=total_by(at, column.count, len(pair)),
            starts=starts,
            value=value,
            value_count=value_count,
            n_buckets=sliced.n_buckets,
        )

    @cached_property
    def starts_of_parts(self) -> Codes:
        """Where the buckets of each part begin in `held`, and where the last ones end."""
        n_parts = max(int(self.part.max(initial=0)), int(self.held[-1]) // self.n_buckets) + 1
        return np.searchsorted(self.held, np.arange(n_parts + 1) * self.n_buckets)

    @cached_property
    def n_buckets_of_people(self) -> Counts:
        """For each tuple, the number of buckets that hold its known values of this column."""
        return np.diff(self.starts_of_parts)[self.part]

    @cached_property
    def places(self) -> Codes | None:
        """The place in `held` of each part and bucket, -1 if it is not there; None if too many."""
        n_pairs = (len(self.starts_of_parts) - 1) * self.n_buckets
        if n_pairs > _MOST_PLACES:
            return None
        places = np.full(n_pairs, -1)
        places[self.held] = np.arange(len(self.held))
        return places

    def expand(self, rows: Codes) -> tuple[Codes, Codes]:
        """Return tuples, once per bucket that holds their values, and these buckets."""
        starts = self.starts_of_parts[self.part[rows]]
        owner, place = _ranges(starts, self.n_buckets_of_people[rows])
        return rows[owner], (self.held % self.n_buckets)[place]

    def find(self, rows: Codes, bucket: Codes) -> Codes:
        """Return where the known values of tuples are counted in buckets; -1 if they are not."""
        asked = self.part[rows] * self.n_buckets + bucket
        if self.places is not None:
            return np.asarray(self.places[asked])
        place = np.minimum(np.searchsorted(self.held, asked), len(self.held) - 1)
        return np.where(self.held[place] == asked, place, -1)


def _find(sliced: Sliced, sides: list[_Side], rows: Codes, found: Shares, work: Work) -> None:
    """Compute the shares of some tuples by linking the columns of each bucket that they match."""
    owner, bucket = sides[0].expand(rows)
    for side in sides[1:]:
        is_there = side.find(owner, bucket) >= 0
        owner, bucket = owner[is_there], bucket[is_there]
    weight = np.ones(len(owner))
    for side in sides:
        place = side.find(owner, bucket)
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
    # Every term has two roundings per column, and every addition one, both in the largest amount
    # and in the total. A rounding is at most half an epsilon, so the bound is twice what is needed.
    starts = np.searchsorted(owner, rows)
    n_terms = np.diff(starts, append=len(owner))
    error = (4 * n_columns + 2 * n_terms + n_values + 10) * np.finfo(np.float64).eps
    is_kept = np.minimum.reduceat(amount, starts) > _TINY
    share = np.maximum.reduceat(total_of_pair, opens) / np.where(is_kept, total, 1)
    found.low[rows] = np.where(is_kept, share * (1 - error), 0)
    found.high[rows] = np.where(is_kept, share * (1 + error), 1)
    found.n_values[rows] = n_values


def _ranges(starts: Codes, lengths: Codes) -> tuple[Codes, Codes]:
    """Return the places of several consecutive ranges, with the range of each."""
    owner = np.repeat(np.arange(len(starts)), lengths)
    return owner, np.arange(len(owner)) - (np.cumsum(lengths) - lengths)[owner] + starts[owner]


def _parts(n_pairs: Counts) -> Iterator[Codes]:
    """Split the tuples so that not too many pairs are processed together."""
    opens = np.flatnonzero(np.diff(np.cumsum(n_pairs) // _MOST_PAIRS)) + 1
    yield from np.split(np.arange(len(n_pairs)), opens)
