"""Cut cells into buckets and say what is published of them, for every method that cuts.

The kernel cuts as long as both sides keep what is required. What it gives is a partition: which
rows of which cell are in which bucket. From that follow the places of rows and the labels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from shoal.core.cells import Cells
from shoal.core.plan import Recode, Segments
from shoal.core.secret import Secret
from shoal.methods.partition._kernels import Partitioner
from shoal.methods.partition.axes import Axes
from shoal.methods.partition.labels import Partition, label_buckets
from shoal.methods.requirements.table import Requirements

__all__ = ["cut_by", "cut_cells", "label_columns", "place_cells"]


def cut_cells(
    axes: Axes,
    cells: Cells,
    requirements: Requirements,
    keeps: Callable[..., Any] | None = None,
    *,
    is_relaxed: bool = False,
) -> Partition:
    """Cut the cells until no allowable cut is left.

    Parameters
    ----------
    axes
        The quasi-identifiers.
    cells, requirements
        What is cut, and what every bucket keeps.
    keeps
        A further test of a bucket, where there is one.
    is_relaxed
        Whether rows at the median go either way.
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
    """Let a partitioner cut cells into buckets of at least so many rows."""
    n_pieces = cells.n_rows if is_relaxed else cells.n_cells
    n_buckets = min(n_pieces, cells.n_rows // least)
    piece_cell, piece_count = np.empty(n_pieces, np.int64), np.empty(n_pieces, np.int64)
    begin, origin = np.empty(n_buckets, np.int64), np.empty(n_buckets, np.int64)
    n_buckets, n_pieces, cuts = partitioner.anonymize(piece_cell, piece_count, begin, origin)
    return Partition(
        piece_cell[:n_pieces], piece_count[:n_pieces], begin[:n_buckets], origin[:n_buckets], cuts
    )


def place_cells(partition: Partition, cells: Cells) -> Segments:
    """Give the rows of each cell to its buckets, by rank where it has several."""
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
    """Label the buckets in every column; values carried by fewer rows than `least` are unnamed."""
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
