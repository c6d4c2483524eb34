"""Tuple partitioning: cut the table into buckets that keep sliced l-diversity.

Problem: small buckets keep more of the links between columns, and tell more about people.
Idea: cut as Mondrian does, but only on attributes outside the sensitive columns, and keep a cut if
every p(t, s) stays at most 1/l. Where equal values are never parted (strict), a row matches its
own bucket only, so that both sides of a cut are judged by themselves. Where they may be (relaxed),
p(t, s) is a mean over the buckets that t matches, kept as sums that a cut changes.
Guarantee: p(t, s) <= 1/l; of strict cuts it bounds the exact posterior too, of relaxed ones not.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 4.3, Figures 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Literal

import numpy as np

from shoal.core.cells import Cells, Codes, Counts
from shoal.core.errors import DataError, InfeasibleError, ParameterError
from shoal.core.sliced import Layout, Sliced
from shoal.core.tree import Tree
from shoal.knowledge.sliced_beliefs import find_exceeding
from shoal.methods.partition._kernels import Partitioner
from shoal.methods.partition.axes import Axes
from shoal.methods.partition.cutting import cut_by
from shoal.methods.requirements.thresholds import highest_at_most
from shoal.methods.slicing_partition._kernels import DiverseSide
from shoal.methods.slicing_partition.eligibility import (
    Diversity,
    confirm_eligible,
    known_beside,
)
from shoal.methods.slicing_partition.pieces import TuplePartition
from shoal.methods.slicing_partition.relaxed import RelaxedJudge

__all__ = ["Cuts", "confirm_rows", "partition_tuples"]

Cuts = Literal["strict", "relaxed"]
Judge = Callable[[Codes, Counts], bool]


def partition_tuples(
    cells: Cells,
    layout: Layout,
    *,
    ell: Fraction | None = None,
    diversity: Diversity = "frequency",
    cuts: Cuts = "strict",
    least: int = 1,
    trees: Mapping[str, Tree] | None = None,
) -> TuplePartition:
    """Cut a table into buckets, each as small as the requirement allows.

    Parameters
    ----------
    cells
        The table: distinct combinations of all attributes of the layout.
    layout
        The columns, and what is sensitive and known.
    ell, diversity
        Every p(t, s) is at most 1/ell (``frequency``), or at least `ell` values have a p(t, s)
        above 0 (``distinct``), of every sensitive attribute. Without any, `least` alone counts.
    cuts
        Whether equal values stay together (``strict``), or those at the median go either way.
    least
        The fewest rows of a bucket; at least `ell`, rounded up, whatever is given.
    trees
        Hierarchies of attributes, along which those are cut.

    Notes
    -----
    Attributes are tried widest first, and the next one where a cut fails, before a bucket is final;
    [Slicing] Figure 1 tries one. Parts are cut depth first, where Figure 1 keeps a queue; of strict
    cuts the order makes no difference. Figure 2, line 9, refuses p(t, s) = 1/l, which Section 4.3
    and the paper's own example allow. p(t, B) is proportional to |B| f(t, B): what a random linking
    has of t in B on average.

    Raises
    ------
    DataError
        Where the table has no rows.
    InfeasibleError
        Where not even the whole table as one bucket keeps what is asked for.
    ParameterError
        For relaxed cuts where columns share an attribute that is not known.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex, flu = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> partition_tuples(cells, layout, ell=Fraction(2))
    TuplePartition(4 rows of 4 cells in 2 buckets)
    """
    if cells.n_rows == 0:
        raise DataError("The table has no rows, so there is nothing to slice.")
    least = max(least, 1, math.ceil(ell) if ell is not None and layout.sensitive else 1)
    is_joined = any(layout.is_linked_by_unknown(name) for name in layout.sensitive)
    if is_joined and cuts == "relaxed":
        raise ParameterError(
            "Relaxed cuts do not go with a sensitive attribute in several columns.",
            hint="take strict cuts, or put it into one column.",
        )
    if ell is not None:
        confirm_eligible(cells, layout, ell, diversity)
    confirm_rows(cells, least)
    side, judge = _requirement(cells, layout, ell, diversity, cuts)
    axes = [name for name in layout.outside_attributes if cells.domain(name).size > 1]
    if not axes:
        return _one_bucket(cells)
    laid_out = Axes.of_cells(cells, axes, trees or {})
    return _cut(laid_out, cells, side, judge, least, is_relaxed=cuts == "relaxed")


def confirm_rows(cells: Cells, least: int) -> None:
    """Refuse a table that is smaller than a bucket must be.

    Raises
    ------
    InfeasibleError
        It names the rows of the table.
    """
    if cells.n_rows < least:
        raise InfeasibleError(
            f"A bucket must have {least} rows; the table has {cells.n_rows}.",
            hint=f"{cells.n_rows} rows can be reached.",
            best={"bucket_size": cells.n_rows},
        )


def _requirement(
    cells: Cells, layout: Layout, ell: Fraction | None, diversity: Diversity, cuts: Cuts
) -> tuple[DiversitySide, Judge | None]:
    """Give what judges the sides of a cut: counts of each where that is enough, else a judge."""
    nothing = DiversitySide.nothing(cells)
    if ell is None or not layout.sensitive:
        return nothing, None
    if any(layout.is_linked_by_unknown(name) for name in layout.sensitive):
        return nothing, _join_aware(cells, layout, ell, diversity)
    if cuts == "relaxed":
        return nothing, RelaxedJudge(cells, layout, ell, diversity)
    return DiversitySide.of_layout(cells, layout, ell, diversity), None


class DiversitySide:
    """What the partitioner needs to judge the sides of a strict cut.

    Parameters
    ----------
    profile
        For each cell its value of all sensitive columns together.
    rules
        What judges a side; None where nothing is required.
    side_profile, side_count
        Where the partitioner puts the side.
    """

    def __init__(
        self, profile: Codes, rules: DiverseSide | None, side_profile: Codes, side_count: Counts
    ) -> None:
        self.profile = profile
        self.rules = rules
        self.side_profile = side_profile
        self.side_count = side_count

    @classmethod
    def nothing(cls, cells: Cells) -> DiversitySide:
        """Require nothing."""
        one = np.zeros(1, dtype=np.int64)
        return cls(np.zeros(cells.n_cells, dtype=np.int64), None, one, one.copy())

    @classmethod
    def of_layout(
        cls, cells: Cells, layout: Layout, ell: Fraction, diversity: Diversity
    ) -> DiversitySide:
        """Require that every sensitive attribute is diverse beside every u."""
        names = {name for place in layout.sensitive_columns for name in layout.columns[place]}
        inside = [name for name in layout.attributes if name in names]
        profiles, profile = cells.select_with_inverse(inside)
        pair = np.empty((profiles.n_cells, len(layout.sensitive)), dtype=np.int64)
        known = np.empty_like(pair)
        n_pairs = n_known = 0
        for place, sensitive in enumerate(layout.sensitive):
            beside = known_beside(layout, sensitive)
            pairs, pair[:, place] = profiles.select_with_inverse([*beside, sensitive])
            groups, known[:, place] = profiles.select_with_inverse(beside)
            pair[:, place] += n_pairs
            known[:, place] += n_known
            n_pairs += pairs.n_cells
            n_known += groups.n_cells
        side = np.zeros((2, profiles.n_cells), dtype=np.int64)
        share = highest_at_most(1 / ell, cells.n_rows)
        rules = DiverseSide(
            len(layout.sensitive),
            pair.reshape(-1),
            known.reshape(-1),
            n_pairs,
            n_known,
            *share.as_integer_ratio(),
            math.ceil(ell) if diversity == "distinct" else 0,
            side[0],
            side[1],
        )
        return cls(profile, rules, side[0], side[1])


def _cut(
    axes: Axes,
    cells: Cells,
    side: DiversitySide,
    judge: Judge | None,
    least: int,
    *,
    is_relaxed: bool,
) -> TuplePartition:
    partitioner = Partitioner(
        axes,
        side.profile,
        cells.counts,
        side.rules,
        side.side_profile,
        side.side_count,
        least,
        is_relaxed,
        judge,
    )
    made = cut_by(partitioner, cells, least, is_relaxed=is_relaxed)
    return TuplePartition.of_pieces(cells, made.cell, made.bucket, made.count)


def _one_bucket(cells: Cells) -> TuplePartition:
    zero = np.zeros(cells.n_cells, dtype=np.int64)
    return TuplePartition.of_pieces(cells, np.arange(cells.n_cells), zero, cells.counts)


def _join_aware(cells: Cells, layout: Layout, ell: Fraction, diversity: Diversity) -> Judge:
    """Judge a bucket by itself where columns are linked by what is not known."""
    known = [
        cells.select_with_inverse(layout.known_for(sensitive)) for sensitive in layout.sensitive
    ]

    def judge(cell: Codes, count: Counts) -> bool:
        sliced = Sliced.of_pieces(cells, layout, cell, np.zeros(len(cell), np.int64), count)
        for sensitive, (tuples, tuple_of_cell) in zip(layout.sensitive, known, strict=True):
            present = np.unique(tuple_of_cell[cell])
            here = Cells(tuples.domains, tuples.codes[present], tuples.counts[present])
            if find_exceeding(sliced, here, sensitive, ell, diversity).any():
                return False
        return True

    return judge
