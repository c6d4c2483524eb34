"""Cut cells into buckets and label them, for every method that cuts.

The kernel cuts as long as both sides keep every requirement. The result is a partition: which rows
of which cell are in which bucket. For every quasi-identifier a bucket is published with a label
that covers its rows: with a hierarchy, the lowest node above all of its values; for numbers and
dates, the region between the cuts around it, open if no cut bounds it; for other values, the set of
those that occur, with rare ones unnamed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import Cells, total_by
from shoal.core.domain import Domain
from shoal.core.plan import Label, Recode, Segments
from shoal.core.secret import Secret
from shoal.core.tree import Tree
from shoal.grouping._partition_kernels import CUT_FIELDS, Partitioner, trace_regions
from shoal.grouping.axes import Axes, Axis, draw_bounds
from shoal.grouping.requirements import Requirements
from shoal.hierarchies.intervals import label_node

_LOWEST, _HIGHEST = "-inf", "+inf"
"""The ends of unbounded intervals: the table's smallest and largest value are not disclosed."""
_MOST_LISTED = 12
_BITS = 63
"""Sets over fewer codes than this are the bits of one number."""


@dataclass(frozen=True, eq=False)
class Partition:
    """Cells divided into buckets.

    The pieces, bucket by bucket, are a `cell` and a `count` of its rows. `begin` has the first
    piece of each bucket, `origin` the cut that it comes from and its side, as the kernel notes
    them, and `cuts` all cuts.
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


def cut_cells(
    axes: Axes,
    cells: Cells,
    requirements: Requirements,
    keeps: Callable[..., Any] | None = None,
    *,
    is_relaxed: bool = False,
) -> Partition:
    """Cut the cells until no allowable cut is left.

    `keeps` is a further test of a bucket, if any. If `is_relaxed`, rows at the median may go either
    way.
    """
    limits, rules = requirements.rules()
    least = requirements.least_bucket
    partitioner = Partitioner(
        axes,
        requirements.value,
        cells.counts,
        rules if requirements.is_about_values else None,
        limits.value,
        limits.count,
        least,
        is_relaxed,
        keeps,
    )
    return cut_by(partitioner, cells, least, is_relaxed=is_relaxed)


def cut_by(partitioner: Partitioner, cells: Cells, least: int, *, is_relaxed: bool) -> Partition:
    """Let a partitioner cut cells into buckets of at least `least` rows."""
    n_pieces = cells.n_rows if is_relaxed else cells.n_cells
    n_buckets = min(n_pieces, cells.n_rows // least)
    piece_cell, piece_count = np.empty(n_pieces, np.int64), np.empty(n_pieces, np.int64)
    begin, origin = np.empty(n_buckets, np.int64), np.empty(n_buckets, np.int64)
    n_buckets, n_pieces, cuts = partitioner.anonymize(piece_cell, piece_count, begin, origin)
    return Partition(
        piece_cell[:n_pieces], piece_count[:n_pieces], begin[:n_buckets], origin[:n_buckets], cuts
    )


def place_cells(partition: Partition, cells: Cells) -> Segments:
    """Return the buckets of the rows of each cell, by rank if the cell is in several."""
    if len(partition.cell) == cells.n_cells:
        bucket = np.empty(cells.n_cells, dtype=np.int64)
        bucket[partition.cell] = partition.bucket
        return Segments.whole_classes(bucket, cells.counts)
    order = np.argsort(partition.cell, kind="stable")
    group, count = partition.cell[order], partition.count[order]
    before = np.cumsum(count) - count
    first = before - (np.cumsum(cells.counts) - cells.counts)[group]
    zero = np.zeros(len(group), dtype=np.int64)
    return Segments(group, first, first + count, partition.bucket[order], zero, zero)


def label_columns(
    partition: Partition, axes: Axes, cells: Cells, least: int, secret: Secret
) -> tuple[Recode, ...]:
    """Label the buckets in every column; values of fewer rows than `least` are not named."""
    return tuple(
        label_buckets(
            partition,
            place,
            axis,
            cells.column(axis.domain.column),
            cells.counts,
            least,
            secret,
        )
        for place, axis in enumerate(axes.axes)
    )


def label_buckets(
    partition: Partition,
    place: int,
    axis: Axis,
    codes: Codes,
    counts: Counts,
    bound: int,
    secret: Secret,
) -> Recode:
    """Label every bucket in one column, the one at `place` among the axes.

    `codes` has the code of each cell in that column. Values of fewer rows than `bound` are not
    named in sets, and end an interval only if nothing else can. The ends of intervals are drawn
    from the secret.
    """
    carried = codes[partition.cell]
    totals = total_by(codes, counts, axis.domain.size)
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
    """Both ends of the interval of each bucket, as places in `texts`; -1 if it is open."""

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
        """Find the cuts around each bucket, and draw one bound for all that are in the same gap."""
        lower = np.empty(partition.n_buckets, dtype=np.int64)
        upper = np.empty(partition.n_buckets, dtype=np.int64)
        trace_regions(place, partition.cuts, partition.origin, lower, upper)
        # A bucket's lower bound is that of the right part of its lower cut (fields 4 and 5), its
        # upper bound that of the left part of its upper cut (fields 2 and 3).
        cuts = partition.cuts.reshape(-1, CUT_FIELDS)
        sides = np.concatenate(
            (cuts[lower[lower >= 0]][:, 4:6], cuts[upper[upper >= 0]][:, 2:4])
        ).astype(np.int64)
        n_positions = max(axis.missing, 1)
        # One number per pair of positions around a gap.
        gaps, index = np.unique(sides @ [n_positions, 1], return_inverse=True)
        draws = secret.numbers(f"mondrian: bounds {axis.domain.column}", len(gaps))
        bounds = draw_bounds(axis, *np.divmod(gaps, n_positions), totals, bound, draws)
        # Bounds drawn in different gaps may be equal.
        places = {text: place for place, text in enumerate(dict.fromkeys(bounds))}
        found = np.array([places[text] for text in bounds], dtype=np.int64)[index]
        n_lower = np.count_nonzero(lower >= 0)
        lower[lower >= 0], upper[upper >= 0] = found[:n_lower], found[n_lower:]
        return cls(lower, upper, list(places))

    def interval(self, lower: int, upper: int) -> tuple[str, str]:
        """Return the texts of two ends."""
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
    # One number for every combination of both ends and whether some or all values are missing.
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
    """Assigns every meaning a text of its own."""

    taken: dict[str, Hashable] = field(default_factory=dict)

    def claim(self, text: str, meaning: Hashable) -> str:
        """Return the text, with a number appended if it already has another meaning."""
        unique, number = text, 1
        while self.taken.setdefault(unique, meaning) != meaning:
            number += 1
            unique = f"{text} #{number}"
        return unique


def _label_sets(
    partition: Partition, domain: Domain, carried: Codes, is_named: Flags
) -> tuple[Codes, list[Label]]:
    index, sets = _distinct_sets(partition, carried, domain.size)
    texts = _Texts()
    # A bucket of one value is labelled by that value, whatever it looks like.
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
    codes: tuple[int, ...], domain: Domain, is_named: Flags, texts: _Texts
) -> str | None:
    """Return the text of a set, the same for sets that differ only in values too rare to name."""
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
    """Return the distinct sets of codes, and the place of each bucket's set among them."""
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
