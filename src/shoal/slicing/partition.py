"""Tuple partitioning: cut the table into buckets that keep sliced l-diversity.

Problem: small buckets keep more of the links between columns, and reveal more about people.
Idea: cut as Mondrian does, but only on attributes outside the sensitive columns, and keep a cut if
every p(t, s) stays at most 1/l. If equal values are never separated (strict cuts), a row matches
its own bucket only, so both sides of a cut are judged independently. If they may be separated
(relaxed cuts), p(t, s) is a mean over the buckets that t matches; `relaxed` keeps its sums.
Guarantee: p(t, s) <= 1/l. For strict cuts this also bounds the exact posterior; for relaxed cuts
it does not. `shoal.slicing.plain_partition` has the algorithm as the paper prints it.

Section 7 asks how rows should be grouped against membership disclosure. Cuts put similar rows
together; `random_buckets` and `dissimilar_buckets` are the alternatives. They ignore sensitive
values, so `confirm_diverse` checks them afterwards.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 4.3 and 7, Figures 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Cells, group, total_by
from shoal.core.errors import DataError, InfeasibleError, ParameterError
from shoal.core.exact import as_text, highest_at_most, reachable
from shoal.core.plan import Segments
from shoal.core.sliced import Layout, Sliced
from shoal.core.tree import Tree
from shoal.grouping._partition_kernels import Partitioner
from shoal.grouping.axes import Axes
from shoal.grouping.partition import cut_by
from shoal.slicing._partition_kernels import DiverseSide
from shoal.slicing.beliefs import Diversity, find_exceeding, largest_belief, summarize_beliefs
from shoal.slicing.relaxed import RelaxedJudge


@dataclass(frozen=True, eq=False)
class TuplePartition:
    """The number of rows of each cell that go to each bucket, sorted by cell, then bucket.

    Each pair of a cell and a bucket occurs once, and no bucket is empty.
    """

    cells: Cells
    n_buckets: int
    cell: Codes
    bucket: Codes
    count: Counts

    @classmethod
    def of_pieces(cls, cells: Cells, cell: Codes, bucket: Codes, count: Counts) -> TuplePartition:
        """Sort pieces, and add up the pieces of a cell in the same bucket."""
        n_buckets = int(bucket.max(initial=-1)) + 1
        first, inverse = group([cell, bucket], [cells.n_cells, n_buckets], len(cell))
        total = total_by(inverse, count, len(first))
        return cls(cells, n_buckets, cell[first], bucket[first], total)

    @property
    def sizes(self) -> Counts:
        """The number of rows in each bucket."""
        return total_by(self.bucket, self.count, self.n_buckets)

    def segments(self) -> Segments:
        """Return the segments of a plan: the rows of a cell go to its buckets in order of rank."""
        before = np.cumsum(self.count) - self.count
        first = before - (np.cumsum(self.cells.counts) - self.cells.counts)[self.cell]
        zero = np.zeros(len(self.cell), dtype=np.int64)
        return Segments(self.cell, first, first + self.count, self.bucket, zero, zero)

    def sliced(self, layout: Layout) -> Sliced:
        """Return the sliced release that these buckets and columns make."""
        return Sliced.of_pieces(self.cells, layout, self.cell, self.bucket, self.count)

    def __repr__(self) -> str:
        return (
            f"TuplePartition({self.cells.n_rows} rows of {self.cells.n_cells} cells "
            f"in {self.n_buckets} buckets)"
        )


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
    """Cut a table into buckets that are as small as the requirement allows.

    For every sensitive attribute, each p(t, s) is at most 1/ell (``frequency``), or at least `ell`
    values have a p(t, s) above 0 (``distinct``); with `ell` None, only `least` is required.
    `least`, the fewest rows in a bucket, is raised to `ell`, rounded up. ``strict`` cuts keep equal
    values together; with ``relaxed`` cuts, those at the median may go either way. Attributes are
    cut along their `trees`, if any.

    Notes
    -----
    Attributes are tried widest first; if a cut fails, the next one is tried before the bucket is
    final. [Slicing] Figure 1 tries one. Parts are cut depth first, where Figure 1 keeps a queue;
    with strict cuts the order makes no difference. Figure 2, line 9, rejects p(t, s) = 1/l, which
    Section 4.3 and the paper's own example allow. p(t, B) is proportional to |B| f(t, B), the mean
    number of rows t in a random linking of B.

    Raises
    ------
    DataError
        If the table has no rows.
    InfeasibleError
        If not even the whole table as one bucket meets the requirement.
    ParameterError
        If cuts are relaxed and columns share an attribute that is not known.

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
            "Relaxed cuts do not allow a sensitive attribute in several columns.",
            hint="use strict cuts, or put it into one column.",
        )
    if ell is not None:
        confirm_eligible(cells, layout, ell, diversity)
    _confirm_rows(cells, least)
    side, judge = _requirement(cells, layout, ell, diversity, cuts)
    axes = [name for name in layout.outside_attributes if cells.domain(name).size > 1]
    if not axes:
        zero = np.zeros(cells.n_cells, dtype=np.int64)
        return TuplePartition.of_pieces(cells, np.arange(cells.n_cells), zero, cells.counts)
    laid_out = Axes.of_cells(cells, axes, trees or {})
    return _cut(laid_out, cells, side, judge, least, is_relaxed=cuts == "relaxed")


def _confirm_rows(cells: Cells, least: int) -> None:
    if cells.n_rows < least:
        raise InfeasibleError(
            f"A bucket must have {least} rows; the table has {cells.n_rows}.",
            hint="ask for smaller buckets, or publish a larger table.",
            best={"bucket_size": cells.n_rows},
        )


def _requirement(
    cells: Cells, layout: Layout, ell: Fraction | None, diversity: Diversity, cuts: Cuts
) -> tuple[DiversitySide, Judge | None]:
    """Return the rules for counts of each side if these suffice, otherwise a judge."""
    nothing = DiversitySide.nothing(cells)
    if ell is None or not layout.sensitive:
        return nothing, None
    if any(layout.is_linked_by_unknown(name) for name in layout.sensitive):
        return nothing, _join_aware(cells, layout, ell, diversity)
    if cuts == "relaxed":
        return nothing, RelaxedJudge(cells, layout, ell, diversity)
    return DiversitySide.of_layout(cells, layout, ell, diversity), None


@dataclass(frozen=True, eq=False)
class DiversitySide:
    """The data by which the partitioner judges the sides of a strict cut.

    `profile` is the value of all sensitive columns together, for each cell. `rules` judges a side;
    None if nothing is required. The partitioner writes a side to `side_profile` and `side_count`.
    """

    profile: Codes
    rules: DiverseSide | None
    side_profile: Codes
    side_count: Counts

    @classmethod
    def nothing(cls, cells: Cells) -> DiversitySide:
        """Require nothing."""
        one = np.zeros(1, dtype=np.int64)
        return cls(np.zeros(cells.n_cells, dtype=np.int64), None, one, one.copy())

    @classmethod
    def of_layout(
        cls, cells: Cells, layout: Layout, ell: Fraction, diversity: Diversity
    ) -> DiversitySide:
        """Require that every sensitive attribute is diverse among the rows of every u."""
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


def _join_aware(cells: Cells, layout: Layout, ell: Fraction, diversity: Diversity) -> Judge:
    """Return a judge of single buckets, for columns that share an unknown attribute."""
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


def random_buckets(cells: Cells, size: int, generator: np.random.Generator) -> TuplePartition:
    """Put rows into buckets of `size` rows at random; some have one row more, none has fewer."""
    rows = np.repeat(np.arange(cells.n_cells), cells.counts)
    return _deal(cells, generator.permutation(rows), size)


def dissimilar_buckets(cells: Cells, layout: Layout, size: int) -> TuplePartition:
    """Put similar rows into different buckets of `size` rows; some have one row more.

    Cuts down to `size` rows put similar rows next to each other; in that order they are dealt out
    to the buckets in turn. Rows are compared by the known attributes outside sensitive columns.
    """
    near = partition_tuples(cells, layout, least=min(size, cells.n_rows))
    order = np.argsort(near.bucket, kind="stable")
    return _deal(cells, np.repeat(near.cell[order], near.count[order]), size)


def _deal(cells: Cells, rows: Codes, size: int) -> TuplePartition:
    """Deal rows, given as cells, out to buckets in turn."""
    _confirm_rows(cells, size)
    n_buckets = max(len(rows) // size, 1)
    bucket = np.arange(len(rows), dtype=np.int64) % n_buckets
    return TuplePartition.of_pieces(cells, rows, bucket, np.ones(len(rows), dtype=np.int64))


def confirm_diverse(
    partition: TuplePartition, layout: Layout, ell: Fraction, diversity: Diversity
) -> None:
    """Raise `InfeasibleError` if the tuples of people in the table are not l-diverse."""
    sliced, cells = partition.sliced(layout), partition.cells
    reached = min(
        (reached_ell(sliced, cells, sensitive, diversity) for sensitive in layout.sensitive),
        default=ell,
    )
    if reached < ell:
        raise InfeasibleError(
            f"The buckets do not satisfy sliced l-diversity with ell = {as_text(ell)}; they reach "
            f"{float(reached):.3g}.",
            hint="use larger buckets, or buckets='mondrian'.",
            best={"ell": as_text(reached)},
        )


# --- whether a table can be sliced to some l at all -----------------------------------------------
#
# A cut is never made inside a sensitive column, so strict cuts make no table more diverse than it
# is as one bucket. Relaxed cuts may satisfy p(t, s) <= 1/l although the whole table does not. They
# are refused all the same, because an adversary who merges the buckets believes what the whole
# table says. [Slicing] Figure 1 has no such check; it would return the whole table.


def known_beside(layout: Layout, sensitive: str) -> tuple[str, ...]:
    """Return the known attributes in the columns of a sensitive one: its u."""
    known = layout.known_for(sensitive)
    beside = {
        name for column in layout.columns if sensitive in column for name in column if name in known
    }
    return tuple(name for name in layout.attributes if name in beside)


def largest_ell(cells: Cells, known: Sequence[str], sensitive: str) -> Fraction:
    """Return the largest l that a table reaches: 1 / max n(u, s) / n(u).

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["a", "b"])
    >>> rows = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    >>> cells = Cells.of_rows([sex, disease], rows)
    >>> largest_ell(cells, ["sex"], "disease"), largest_ell(cells, [], "disease")
    (Fraction(3, 2), Fraction(2, 1))
    """
    pairs = cells.select([*known, sensitive])
    groups, group_of_pair = pairs.select_with_inverse(known)
    largest = np.zeros(groups.n_cells, dtype=np.int64)
    np.maximum.at(largest, group_of_pair, pairs.counts)
    ratios = zip(groups.counts.tolist(), largest.tolist(), strict=True)
    return min(Fraction(size, most) for size, most in ratios)


def largest_distinct_ell(cells: Cells, known: Sequence[str], sensitive: str) -> int:
    """Return the fewest distinct sensitive values that occur with one u."""
    pairs = cells.select([*known, sensitive])
    groups, group_of_pair = pairs.select_with_inverse(known)
    return int(np.bincount(group_of_pair, minlength=groups.n_cells).min())


def confirm_eligible(cells: Cells, layout: Layout, ell: Fraction, diversity: Diversity) -> None:
    """Raise `InfeasibleError` if the whole table does not reach l in every sensitive attribute.

    The error names l_max, the largest l, and the attribute that limits it.
    """
    reached = {
        sensitive: _reached(cells, layout, sensitive, diversity) for sensitive in layout.sensitive
    }
    hardest = min(reached, key=reached.__getitem__, default=None)
    if hardest is None or reached[hardest] >= ell:
        return
    largest = reached[hardest]
    beside = ", ".join(known_beside(layout, hardest))
    raise InfeasibleError(
        f"Sliced l-diversity with ell = {as_text(ell)} cannot be reached: for the sensitive "
        f"attribute {hardest!r}{f' next to {beside}' if beside else ''}, even the whole table as "
        f"one bucket reaches l_max = {round(float(largest), 2):g} only.",
        hint=_hint_of_ell(largest, has_others=bool(beside)),
        best={"ell": as_text(largest)},
    )


def _hint_of_ell(largest: Fraction, *, has_others: bool) -> str:
    helps = [reachable({"ell": largest})]
    if has_others:
        helps.append(
            "put fewer attributes into its column: name the columns by hand, or use "
            "columns='bucketized'"
        )
    elif not helps[0]:
        helps.append(
            "one value is too frequent: anatomy and mondrian can protect the others alone, with "
            "protect = [...]"
        )
    return f"{'; or '.join(filter(None, helps))}."


def _reached(cells: Cells, layout: Layout, sensitive: str, diversity: Diversity) -> Fraction:
    if layout.is_linked_by_unknown(sensitive):
        # The columns are joined by an unknown attribute, so u alone does not decide.
        one_bucket = np.zeros(cells.n_cells, dtype=np.int64)
        every_cell = np.arange(cells.n_cells)
        sliced = Sliced.of_pieces(cells, layout, every_cell, one_bucket, cells.counts)
        return reached_ell(sliced, cells, sensitive, diversity)
    known = known_beside(layout, sensitive)
    if diversity == "distinct":
        return Fraction(largest_distinct_ell(cells, known, sensitive))
    return largest_ell(cells, known, sensitive)


def reached_ell(sliced: Sliced, cells: Cells, sensitive: str, diversity: Diversity) -> Fraction:
    """Return the largest l that a sliced release reaches for the rows of a table."""
    tuples = cells.select(sliced.layout.known_for(sensitive))
    if diversity == "distinct":
        return Fraction(int(summarize_beliefs(sliced, tuples, sensitive)[1].min()))
    return 1 / largest_belief(sliced, tuples, sensitive)
