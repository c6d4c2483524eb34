"""What is published of a bucket: for every quasi-identifier a label that covers its rows.

With a hierarchy that is its lowest node above all of the bucket's values; for numbers and dates
the region between the cuts around the bucket, open where no cut bounds it; for other values the set
of those that occur, with the rare ones unnamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Hashable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.domain import Domain
from shoal.core.plan import Label, Recode
from shoal.core.secret import Secret
from shoal.core.tree import Tree
from shoal.knowledge.level_labels import label_node
from shoal.methods.partition._kernels import CUT_FIELDS, trace_regions
from shoal.methods.partition.axes import Axis
from shoal.methods.partition.bounds import draw_bounds

__all__ = ["Partition", "label_buckets"]

_LOWEST, _HIGHEST = "-inf", "+inf"
"""The ends of intervals that no cut bounds: the table's smallest and largest value are not told."""
_MOST_LISTED = 12
_BITS = 63
"""Sets of fewer codes than that are the bits of one number."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells divided into buckets.

    Parameters
    ----------
    cell, count
        The pieces, bucket by bucket: a cell and how many of its rows.
    begin
        For each bucket its first piece.
    origin
        For each bucket the cut that it comes from, and its side.
    cuts
        The cuts, as the kernel notes them.
    """

    cell: Codes
    count: Counts
    begin: Codes
    origin: Codes
    cuts: Codes

    @property
    def n_buckets(self) -> int:
        """The number of buckets."""
        return len(self.begin)

    @property
    def bucket(self) -> Codes:
        """The bucket of each piece."""
        return np.repeat(np.arange(self.n_buckets), np.diff(self.begin, append=len(self.cell)))


def label_buckets(
    partition: Partition,
    place: int,
    axis: Axis,
    codes: Codes,
    counts: Counts,
    bound: int,
    secret: Secret,
) -> Recode:
    """Give every bucket its label in one column.

    Parameters
    ----------
    partition
        The buckets.
    place, axis
        The column's place among the axes, and its axis.
    codes, counts
        The code of each cell in that column, and the rows of each cell.
    bound
        Values carried by fewer rows than that are not named in sets, and end no interval where
        something else can.
    secret
        Where the bounds of intervals are drawn from.
    """
    carried = codes[partition.cell]
    totals = np.zeros(axis.domain.size, dtype=np.int64)
    np.add.at(totals, codes, counts)
    if axis.tree is not None:
        index, labels = _label_nodes(partition, axis.tree, axis.domain, carried)
    elif axis.is_numeric:
        ends = _Ends.of_cuts(partition, place, axis, totals, bound, secret)
        index, labels = _label_regions(partition, axis.domain, carried, ends)
    else:
        index, labels = _label_sets(partition, axis.domain, carried, totals >= bound)
    return Recode(axis.domain.column, "bucket", index, tuple(labels))


# --- a node of a hierarchy --------------------------------------------------------------------


def _label_nodes(
    partition: Partition, tree: Tree, domain: Domain, carried: Codes
) -> tuple[Codes, list[Label]]:
    leaves = tree.position[carried]
    lowest = np.minimum.reduceat(leaves, partition.begin)
    highest = np.maximum.reduceat(leaves, partition.begin)
    nodes, index = np.unique(tree.common_ancestors(lowest, highest), return_inverse=True)
    return index, [label_node(tree, domain, node) for node in nodes.tolist()]


# --- an interval ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Ends:
    """For each bucket both ends of its interval, as places in some texts; -1 where it is open."""

    lower: Codes
    upper: Codes
    texts: list[str]

    @classmethod
    def of_cuts(
        cls,
        partition: Partition,
        place: int,
        axis: Axis,
        totals: Counts,
        bound: int,
        secret: Secret,
    ) -> _Ends:
        """Find the cuts around each bucket, and draw one bound for all that lie in one gap."""
        lower = np.empty(partition.n_buckets, dtype=np.int64)
        upper = np.empty(partition.n_buckets, dtype=np.int64)
        trace_regions(place, partition.cuts, partition.origin, lower, upper)
        cuts = partition.cuts.reshape(-1, CUT_FIELDS)
        sides = np.concatenate(
            (cuts[lower[lower >= 0]][:, 4:6], cuts[upper[upper >= 0]][:, 2:4])
        ).astype(np.int64)
        n_positions = max(axis.missing, 1)
        gaps, index = np.unique(sides @ [n_positions, 1], return_inverse=True)
        draws = secret.numbers(f"mondrian: bounds {axis.domain.column}", len(gaps))
        bounds = draw_bounds(axis, *np.divmod(gaps, n_positions), totals, bound, draws)
        # Bounds drawn in different gaps may be the same.
        places = {text: place for place, text in enumerate(dict.fromkeys(bounds))}
        found = np.array([places[text] for text in bounds], dtype=np.int64)[index]
        n_lower = np.count_nonzero(lower >= 0)
        lower[lower >= 0], upper[upper >= 0] = found[:n_lower], found[n_lower:]
        return cls(lower, upper, list(places))

    def interval(self, lower: int, upper: int) -> tuple[str, str]:
        """Give the texts of two ends."""
        return (
            _LOWEST if lower < 0 else self.texts[lower],
            _HIGHEST if upper < 0 else self.texts[upper],
        )


def _label_regions(
    partition: Partition, domain: Domain, carried: Codes, ends: _Ends
) -> tuple[Codes, list[Label]]:
    is_missing = carried == domain.missing_code
    some = np.logical_or.reduceat(is_missing, partition.begin)
    all_ = np.logical_and.reduceat(is_missing, partition.begin)
    # One number for every combination of both ends and which values are missing.
    n_ends = len(ends.texts) + 1
    key = np.where(all_, -1, ((ends.lower + 1) * n_ends + ends.upper + 1) * 2 + some)
    keys, index = np.unique(key, return_inverse=True)
    return index, [_label_interval(number, ends) for number in keys.tolist()]


def _label_interval(key: int, ends: _Ends) -> Label:
    if key < 0:
        return Label(None, has_missing=True)
    both, has_missing = divmod(key, 2)
    lower, upper = divmod(both, len(ends.texts) + 1)
    low, high = ends.interval(lower - 1, upper - 1)
    opening = "]" if lower == 0 else "["
    text = f"{opening}{low}, {high}[" + (" or missing" if has_missing else "")
    return Label(text, interval=(low, high), has_missing=bool(has_missing))


# --- a set of values --------------------------------------------------------------------------


@dataclass(eq=False)
class _Texts:
    """Gives every meaning a text of its own."""

    taken: dict[str, Hashable] = field(default_factory=dict)

    def claim(self, text: str, meaning: Hashable) -> str:
        """Give the text, numbered if it already has another meaning."""
        unique, number = text, 1
        while self.taken.setdefault(unique, meaning) != meaning:
            number += 1
            unique = f"{text} #{number}"
        return unique


def _label_sets(
    partition: Partition, domain: Domain, carried: Codes, is_named: npt.NDArray[np.bool_]
) -> tuple[Codes, list[Label]]:
    index, sets = _distinct_sets(partition, carried, domain.size)
    texts = _Texts()
    # What a bucket of one value shows is that value, whatever it looks like.
    for codes in sets:
        if len(codes) == 1 and (text := domain.text(codes[0])) is not None:
            texts.claim(text, codes)
    members: dict[str | None, set[int]] = {}
    text_of_set = {codes: _text_of_set(codes, domain, is_named, texts) for codes in sorted(sets)}
    for codes, text in text_of_set.items():
        members.setdefault(text, set()).update(codes)
    place = {text: place for place, text in enumerate(members)}
    labels = [_label_set(text, codes, domain) for text, codes in members.items()]
    return np.array([place[text_of_set[codes]] for codes in sets])[index], labels


def _label_set(text: str | None, codes: Collection[int], domain: Domain) -> Label:
    present = sorted(code for code in codes if code != domain.missing_code)
    return Label(text, members=tuple(present), has_missing=domain.missing_code in codes)


def _text_of_set(
    codes: tuple[int, ...], domain: Domain, is_named: npt.NDArray[np.bool_], texts: _Texts
) -> str | None:
    """Write a set; sets that differ only in values too rare to be named are written alike."""
    if len(codes) == 1:
        return domain.text(codes[0])
    named = tuple(code for code in codes if code != domain.missing_code and is_named[code])
    has_missing = codes[-1] == domain.missing_code
    has_other = len(named) + has_missing < len(codes)
    listed = [str(domain.texts[code]) for code in named]
    if len(listed) > _MOST_LISTED:
        listed = [f"{listed[0]} .. {listed[-1]}", f"{len(listed)} values"]
    listed += ["other"] * has_other + ["missing"] * has_missing
    return texts.claim("{" + ", ".join(listed) + "}", (named, has_other, has_missing))


def _distinct_sets(
    partition: Partition, carried: Codes, size: int
) -> tuple[Codes, list[tuple[int, ...]]]:
    """Give the set of each bucket as a place among the distinct sets of codes."""
    if size < _BITS:
        masks = np.bitwise_or.reduceat(np.left_shift(1, carried), partition.begin)
        distinct, index = np.unique(masks, return_inverse=True)
        return index, [
            tuple(code for code in range(size) if mask >> code & 1) for mask in distinct.tolist()
        ]
    pairs = np.unique(partition.bucket * size + carried)
    codes = (pairs % size).astype(np.int64)
    begin = np.searchsorted(pairs, np.arange(partition.n_buckets + 1) * size).tolist()
    slices = itertools.pairwise(begin)
    places: dict[bytes, int] = {}
    index = np.array(
        [places.setdefault(codes[first:last].tobytes(), len(places)) for first, last in slices],
        dtype=np.int64,
    )
    return index, [tuple(np.frombuffer(text, dtype=np.int64).tolist()) for text in places]
