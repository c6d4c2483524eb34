"""Fake tuples: combinations that match a bucket of sliced data and are not in the table.

A tuple matches a bucket that holds its value in every column. Fake tuples mislead an adversary who
asks whether somebody is in the table, and there may be far too many to list. They are counted
exactly: a value of the rarest column is in few buckets. For one bucket the other columns contribute
a product; for a few, the number follows by inclusion and exclusion; many are split again by the
next column. Tuples that match the same buckets so far are processed together. (In general this
counting is hard: if every column has many values, each in many buckets, the time grows with all
combinations that have to be distinguished.)

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3, 5 and 6.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import group
from shoal.core.errors import InfeasibleError
from shoal.locating.location import spread
from shoal.slicing import _kernels

_FEW = 10
"""Sets of up to this many buckets are always counted by inclusion and exclusion."""
_MOST = 18
"""Larger sets never are: there are 2^18 subsets."""
_MOST_MEMBERS = 1 << 19
"""The number of members of sets that wait to be counted together."""
_SUBSETS_A_STEP = 50
"""A step of Python over a list takes as long as this many steps of a kernel over subsets."""
_MOST_PAIRS = 1 << 22


@dataclass(frozen=True, eq=False)
class ValuesByBucket:
    """The values of a column that each bucket holds, as pairs, which may be repeated."""

    bucket: Codes
    value: Codes
    n_buckets: int
    n_values: int

    @cached_property
    def by_bucket(self) -> tuple[Codes, Codes]:
        """Where the values of each bucket begin, and the values."""
        first, _ = group(
            [self.bucket, self.value], [self.n_buckets, self.n_values], len(self.bucket)
        )
        starts = np.searchsorted(self.bucket[first], np.arange(self.n_buckets + 1))
        return starts.astype(np.int64), self.value[first].astype(np.int64)

    @cached_property
    def by_value(self) -> tuple[Codes, Codes]:
        """Where the buckets of each value begin, and the buckets, in order."""
        first, _ = group(
            [self.value, self.bucket], [self.n_values, self.n_buckets], len(self.bucket)
        )
        starts = np.searchsorted(self.value[first], np.arange(self.n_values + 1))
        return starts.astype(np.int64), self.bucket[first].astype(np.int64)

    @cached_property
    def pairs(self) -> Codes:
        """A number for each pair of a bucket and a value that it holds, ascending."""
        bucket = np.repeat(np.arange(self.n_buckets), self.n_values_of)
        return bucket * self.n_values + self.by_bucket[1]

    @property
    def n_values_of(self) -> Counts:
        """The number of values that each bucket holds."""
        return np.diff(self.by_bucket[0])

    @property
    def n_buckets_of(self) -> Counts:
        """The number of buckets that hold each value."""
        return np.diff(self.by_value[0])

    def __repr__(self) -> str:
        return f"ValuesByBucket({self.n_values} values in {self.n_buckets} buckets)"


@dataclass(frozen=True)
class FakeTuples:
    """The number of tuples by the number of buckets that they match.

    `originals` counts the distinct tuples of the table, and `fakes` the tuples that match a bucket
    but are not in the table.
    """

    originals: Mapping[int, int]
    fakes: Mapping[int, int]

    @property
    def n_originals(self) -> int:
        """The number of distinct tuples of the table."""
        return sum(self.originals.values())

    @property
    def n_fakes(self) -> int:
        """The number of fake tuples."""
        return sum(self.fakes.values())

    def to_dict(self) -> dict[str, object]:
        """Return the numbers, by number of matching buckets."""
        return {
            "n_originals": self.n_originals,
            "n_fakes": self.n_fakes,
            "originals": dict(self.originals),
            "fakes": dict(self.fakes),
        }

    def __repr__(self) -> str:
        return f"FakeTuples({self.n_fakes} fakes beside {self.n_originals} originals)"


def count_fakes(
    columns: Sequence[ValuesByBucket], tuples: Codes, *, max_steps: int | None = None
) -> FakeTuples:
    """Count the fake tuples of sliced data, and the buckets that originals and fakes match.

    `tuples` are the tuples of the table as values of the columns, one row per tuple; equal tuples
    count once. Values lie in the columns' ranges even if no bucket holds them. After `max_steps`
    steps, some millions per second, `InfeasibleError` is raised; default: None, no limit.

    Examples
    --------
    >>> bucket = np.array([0, 0, 1])
    >>> left = ValuesByBucket(bucket, np.array([0, 1, 1]), 2, 2)
    >>> right = ValuesByBucket(bucket, np.array([0, 1, 1]), 2, 2)
    >>> found = count_fakes([left, right], np.array([[0, 0], [1, 1], [1, 1]]))
    >>> found
    FakeTuples(2 fakes beside 2 originals)
    >>> dict(found.originals), dict(found.fakes)
    ({1: 1, 2: 1}, {1: 2})
    """
    rows = np.asarray(tuples, dtype=np.int64).reshape(-1, len(columns))
    places = range(len(columns))
    first, _ = group([rows[:, at] for at in places], [one.n_values for one in columns], len(rows))
    n_matching = np.bincount(matching_buckets(columns, rows[first]))
    originals = {m: n for m, n in enumerate(n_matching.tolist()) if n}
    matching = _Counting(columns, max_steps).count()
    fakes = {m: n - originals.get(m, 0) for m, n in matching.items()}
    return FakeTuples(
        MappingProxyType(originals), MappingProxyType({m: n for m, n in fakes.items() if n})
    )


def matching_buckets(columns: Sequence[ValuesByBucket], tuples: Codes) -> Counts:
    """Count the buckets that each tuple, a row of values of the columns, matches."""
    found = np.zeros(len(tuples), dtype=np.int64)
    n_buckets_of = np.column_stack(
        [column.n_buckets_of[tuples[:, at]] for at, column in enumerate(columns)]
    )
    # Only the buckets that hold a tuple's rarest value can match.
    rarest = n_buckets_of.argmin(axis=1)
    for at in range(len(columns)):
        chosen = np.flatnonzero(rarest == at)
        ends = np.cumsum(n_buckets_of[chosen, at])
        cuts = np.flatnonzero(np.diff(ends // _MOST_PAIRS)) + 1
        for part in np.split(chosen, cuts):
            found[part] = _matching_among(columns, tuples[part], at)
    return found


def _matching_among(columns: Sequence[ValuesByBucket], tuples: Codes, at: int) -> Counts:
    """Count the matching buckets of tuples among those that hold their value of one column."""
    starts, buckets = columns[at].by_value
    value = tuples[:, at]
    row, place = spread(starts[value], starts[value + 1] - starts[value])
    bucket = buckets[place]
    for other, column in enumerate(columns):
        if other != at:
            is_held = _holds(column, bucket, tuples[row, other])
            row, bucket = row[is_held], bucket[is_held]
    return np.bincount(row, minlength=len(tuples))


def _holds(column: ValuesByBucket, bucket: Codes, value: Codes) -> Flags:
    """Return whether buckets hold values, pair by pair."""
    pairs = column.pairs
    asked = bucket * column.n_values + value
    place = np.searchsorted(pairs, asked)
    is_held = place < len(pairs)
    is_held[is_held] = pairs[place[is_held]] == asked[is_held]
    return is_held


class _Counting:
    """Counts all tuples that match a bucket, by how many they match."""

    def __init__(self, columns: Sequence[ValuesByBucket], max_steps: int | None) -> None:
        self._max_steps, self._n_steps = max_steps, 0
        # Rarest first: the fewer buckets share a value, the sooner they are separated.
        self._columns = sorted(columns, key=lambda column: float(_mean_buckets(column)))
        self._n_values_of = [column.n_values_of.tolist() for column in self._columns]
        self._values_of = [_lists(*column.by_bucket) for column in self._columns]
        self._products = self._products_of_rest()
        self._tally: Counter[int] = Counter()
        self._waiting: list[_Waiting] = [_Waiting([0], [], []) for _ in columns]
        self._moduli = primes_for(sum(self._products[0]))
        self._residues = [np.zeros(_MOST + 1, dtype=np.int64) for _ in self._moduli]

    def count(self) -> dict[int, int]:
        """Return the number of tuples by the number of buckets that they match, at least one."""
        for members, weight in self._first_sets():
            self._take(1, members, weight)
        for column in range(len(self._columns)):
            self._flush(column)
        for m in range(1, _MOST + 1):
            residues = [int(residue[m]) for residue in self._residues]
            self._tally[m] += join_residues(residues, self._moduli)
        return {m: self._tally[m] for m in sorted(self._tally) if m and self._tally[m]}

    def _products_of_rest(self) -> list[list[int]]:
        """Return, by column and bucket, how many tuples the columns from that one on make."""
        products = [[1] * self._columns[0].n_buckets]
        for n_values_of in reversed(self._n_values_of):
            products.append([n * rest for n, rest in zip(n_values_of, products[-1], strict=True)])
        return products[::-1]

    def _first_sets(self) -> Iterator[tuple[list[int], int]]:
        """Yield the sets of buckets that hold a value of the first column, with their weights."""
        starts, buckets = self._columns[0].by_value
        sets: Counter[bytes] = Counter()
        for start, stop in pairwise(starts.tolist()):
            sets[buckets[start:stop].tobytes()] += 1
        for key, weight in sets.items():
            yield np.frombuffer(key, dtype=np.int64).tolist(), weight

    def _take(self, column: int, members: list[int], weight: int) -> None:
        """Count the tuples of the columns from `column` on that match buckets of a set."""
        if len(members) <= 1 or column == len(self._columns):
            n_tuples = sum(self._products[column][bucket] for bucket in members[:1])
            self._tally[len(members)] += weight * n_tuples
        elif self._is_small(column, members):
            self._wait(column, members, weight)
        else:
            self._walk(column, members, weight)

    def _is_small(self, column: int, members: list[int]) -> bool:
        """Return whether inclusion and exclusion is the fastest way for a set of buckets."""
        j = len(members)
        if not _FEW < j <= _MOST:
            return j <= _FEW
        # Compare the subsets that a kernel visits with the combinations that Python would list.
        n_columns = len(self._columns) - column
        listed = math.prod(
            min(1 << j, sum(self._n_values_of[at][bucket] for bucket in members))
            for at in range(column, len(self._columns))
        )
        return n_columns * j << j < _SUBSETS_A_STEP * listed

    def _spend(self, n_steps: int) -> None:
        """Give up if counting takes longer than allowed."""
        self._n_steps += n_steps
        if self._max_steps is not None and self._n_steps > self._max_steps:
            raise InfeasibleError(
                f"Fake tuples were not counted after {self._max_steps} steps.",
                hint="allow more steps.",
            )

    def _walk(self, column: int, members: list[int], weight: int) -> None:
        """Split a large set by the values of a column; values in the same buckets go together.

        A subset of the set's buckets is a number with one bit per bucket.
        """
        parted = {(1 << len(members)) - 1: weight}
        for at in range(column, len(self._columns) - 1):
            signatures = self._signatures(at, members)
            self._spend(len(parted) * len(signatures))
            found = _meeting(parted, signatures)
            parted = {}
            for subset, n_tuples in found.items():
                n_members = subset.bit_count()
                held = _members_of(subset, members) if n_members <= _MOST else []
                if n_members == 1 or (held and self._is_small(at + 1, held)):
                    self._take(at + 1, held, n_tuples)
                else:
                    parted[subset] = n_tuples
        signatures = self._signatures(len(self._columns) - 1, members)
        self._spend(len(parted) * len(signatures))
        for subset, n_tuples in parted.items():
            for signature, n_values in signatures:
                # Tuples that match no bucket are counted too, and left out at the end.
                self._tally[(subset & signature).bit_count()] += n_tuples * n_values

    def _signatures(self, column: int, members: list[int]) -> list[tuple[int, int]]:
        """Return the subsets of a set's buckets that hold a value of a column, and how many do."""
        held: dict[int, int] = {}
        values_of = self._values_of[column]
        for at, bucket in enumerate(members):
            bit = 1 << at
            for value in values_of[bucket]:
                held[value] = held.get(value, 0) | bit
        return list(Counter(held.values()).items())

    def _wait(self, column: int, members: list[int], weight: int) -> None:
        n_subsets = (len(self._columns) - column) * len(members) << len(members)
        self._spend(n_subsets // _SUBSETS_A_STEP)
        waiting = self._waiting[column]
        waiting.members.extend(members)
        waiting.starts.append(len(waiting.members))
        waiting.weights.append(weight)
        if len(waiting.members) > _MOST_MEMBERS:
            self._flush(column)

    def _flush(self, column: int) -> None:
        """Count the waiting sets, once per prime."""
        waiting = self._waiting[column]
        if not waiting.weights:
            return
        starts = np.array(waiting.starts, dtype=np.int64)
        members = np.array(waiting.members, dtype=np.int64)
        largest = int(np.diff(starts).max())
        room = max(one.n_values for one in self._columns)
        for modulus, residue in zip(self._moduli, self._residues, strict=True):
            _kernels.count_in_sets(
                modulus,
                column,
                starts,
                members,
                np.array([weight % modulus for weight in waiting.weights], dtype=np.int64),
                *self._packed,
                np.zeros(room, dtype=np.int64),
                np.zeros(room, dtype=np.int64),
                np.zeros(1 << largest, dtype=np.int64),
                np.zeros(1 << largest, dtype=np.int64),
                residue,
            )
        self._waiting[column] = _Waiting([0], [], [])

    @cached_property
    def _packed(self) -> tuple[Codes, Codes]:
        """Where the values of each column and bucket begin, and the values of all columns."""
        ends = np.cumsum([0, *(len(column.by_bucket[1]) for column in self._columns)])
        starts = [column.by_bucket[0] + ends[at] for at, column in enumerate(self._columns)]
        values = np.concatenate([column.by_bucket[1] for column in self._columns])
        return np.ascontiguousarray(starts, dtype=np.int64), values


@dataclass(frozen=True)
class _Waiting:
    """Sets of buckets that wait to be counted together, with their starts and weights."""

    starts: list[int]
    members: list[int]
    weights: list[int]


def _mean_buckets(column: ValuesByBucket) -> float:
    n_buckets_of = column.n_buckets_of
    return float(n_buckets_of.sum()) / max(int(np.count_nonzero(n_buckets_of)), 1)


def _lists(starts: Codes, values: Codes) -> list[list[int]]:
    listed = values.tolist()
    return [listed[low:high] for low, high in pairwise(starts.tolist())]


def _meeting(parted: Mapping[int, int], signatures: Sequence[tuple[int, int]]) -> dict[int, int]:
    """Count tuples by the buckets that they and one more value have in common."""
    found: dict[int, int] = {}
    for subset, n_tuples in parted.items():
        for signature, n_values in signatures:
            both = subset & signature
            if both:
                found[both] = found.get(both, 0) + n_tuples * n_values
    return found


def _members_of(subset: int, members: list[int]) -> list[int]:
    chosen = []
    while subset:
        lowest = subset & -subset
        chosen.append(members[lowest.bit_length() - 1])
        subset ^= lowest
    return chosen


_LARGEST_MODULUS = 2**31


def primes_for(largest: int) -> list[int]:
    """Return primes below 2^31 whose product is larger than a number."""
    primes: list[int] = []
    candidate, product = _LARGEST_MODULUS - 1, 1
    while product <= largest:
        if all(candidate % divisor for divisor in range(3, math.isqrt(candidate) + 1, 2)):
            primes.append(candidate)
            product *= candidate
        candidate -= 2
    return primes


def join_residues(residues: Sequence[int], moduli: Sequence[int]) -> int:
    """Return the least number that leaves these residues (the Chinese remainder theorem).

    Kernels count in machine words, modulo several primes; the counts may be of any size.
    """
    number, product = 0, 1
    for residue, modulus in zip(residues, moduli, strict=True):
        number += product * ((residue - number) * pow(product, -1, modulus) % modulus)
        product *= modulus
    return number
