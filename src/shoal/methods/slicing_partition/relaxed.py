"""The check of relaxed cuts: a row may match several buckets, and all of them count.

The sums that p(t, s) is a quotient of are kept for every distinct signature, so that a cut costs
as much as there are signatures that match the bucket it cuts; the check of [Slicing] Figure 2 goes
through all tuples and buckets instead.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from shoal.core.cells import Cells, Codes, Counts
from shoal.core.sliced import Layout
from shoal.methods.requirements.thresholds import highest_at_most
from shoal.methods.slicing_partition._kernels import SignatureSums
from shoal.methods.slicing_partition.eligibility import Diversity
from shoal.methods.slicing_partition.signatures import Signatures

__all__ = ["RelaxedJudge"]

Pieces = tuple[Codes, Counts]


class RelaxedJudge:
    """Approves of cuts one after the other, depth first, as the partitioner makes them.

    It is asked about the left side of a cut, to which it says yes, and then about the right side,
    when it decides about both. The partitioner makes every cut that it approves of.
    """

    def __init__(self, cells: Cells, layout: Layout, ell: Fraction, diversity: Diversity) -> None:
        self._signatures = Signatures.of_cells(cells, layout)
        self._ell = ell
        share = highest_at_most(1 / ell, cells.n_rows)
        least_values = math.ceil(ell) if diversity == "distinct" else 0
        self._sums = SignatureSums(
            self._signatures,
            *share.as_integer_ratio(),
            float(1 / ell),
            least_values,
            self._decide,
        )
        whole = (np.arange(cells.n_cells), cells.counts)
        self._sums.open(*whole)
        self._left: Pieces | None = None
        self._right: Pieces | None = None
        # Parts that wait lie as on the partitioner's stack, the next one last.
        self._waiting: list[Pieces] = [whole]
        self._final: list[Pieces] = []
        self._rows_of_cell = np.zeros(cells.n_cells, dtype=np.int64)

    def __call__(self, cell: Codes, count: Counts) -> bool:
        """Say yes to a left side; to a right side, if the cut keeps every p(t, s)."""
        if self._left is None:
            self._left = cell, count
            return True
        left, right = self._left, (cell, count)
        self._right = right
        is_kept = bool(self._sums.cut(*left, *right))
        if is_kept:
            self._remove(left, right)
            self._waiting += [(part[0].copy(), part[1].copy()) for part in (right, left)]
        self._left = self._right = None
        return is_kept

    def _remove(self, left: Pieces, right: Pieces) -> None:
        """Take the part that is cut off the stack; those above it could not be cut."""
        while not self._is_cut_into(self._waiting[-1], left, right):
            self._final.append(self._waiting.pop())
        self._waiting.pop()

    def _is_cut_into(self, part: Pieces, left: Pieces, right: Pieces) -> bool:
        """Whether a part has the rows of both sides; parts with equal rows are alike."""
        rows = self._rows_of_cell
        for cell, count in (left, right):
            rows[cell] += count
        same_total = int(part[1].sum()) == int(left[1].sum()) + int(right[1].sum())
        is_whole = same_total and bool(np.all(rows[part[0]] == part[1]))
        for cell, _ in (left, right):
            rows[cell] = 0
        return is_whole

    def _decide(self, signature: int, pair: int) -> bool:
        """Compare one p(t, s) with 1/l in fractions, with the cut that is judged made."""
        assert self._left is not None
        assert self._right is not None
        place = len(self._waiting) - 1
        while not self._is_cut_into(self._waiting[place], self._left, self._right):
            place -= 1
        parts = [*self._final, *self._waiting[:place], *self._waiting[place + 1 :]]
        parts += [self._left, self._right]
        total = amount = Fraction(0)
        for cell, count in self._matching(parts, signature):
            weight, share = self._term(cell, count, signature, pair)
            total += weight
            amount += weight * share
        return amount * self._ell <= total

    def _matching(self, parts: list[Pieces], signature: int) -> list[Pieces]:
        """Keep the parts that match a signature; most need no closer look."""
        numbered = self._signatures
        target = int(numbered.target[signature])
        places = numbered.multiplied[
            numbered.part_start[target] : numbered.part_start[target + 1]
        ].tolist()
        cell = np.concatenate([part[0] for part in parts])
        part_of = np.repeat(np.arange(len(parts)), [len(part[0]) for part in parts])
        chosen = np.arange(len(parts))
        for place in places:
            value = numbered.signature[signature * numbered.n_features + place]
            has_value = numbered.feature[cell * numbered.n_features + place] == value
            chosen = np.intersect1d(chosen, part_of[has_value])
        return [parts[number] for number in chosen.tolist()]

    def _term(
        self, cell: Codes, count: Counts, signature: int, pair: int
    ) -> tuple[Fraction, Fraction]:
        """Give |B| f(t, B) and D(t, B)[s] of one bucket."""
        numbered = self._signatures
        target = int(numbered.target[signature])
        first = signature * numbered.n_features

        def rows_with(place: int) -> int:
            value = numbered.signature[first + place]
            return int(count[numbered.feature[cell * numbered.n_features + place] == value].sum())

        begin, end = numbered.part_start[target : target + 2].tolist()
        weight = Fraction(rows_with(int(numbered.multiplied[begin])))
        for part in range(begin + 1, end):
            multiplied, divided = int(numbered.multiplied[part]), int(numbered.divided[part])
            weight *= Fraction(rows_with(multiplied), rows_with(divided))
        n_pair = int(count[numbered.pair[cell * numbered.n_targets + target] == pair].sum())
        known = numbered.known[signature]
        features = numbered.feature[cell * numbered.n_features + self._known_place(signature)]
        return weight, Fraction(n_pair, int(count[features == known].sum()))

    def _known_place(self, signature: int) -> int:
        """Give the feature that is u in the signature."""
        numbered = self._signatures
        first = signature * numbered.n_features
        values = numbered.signature[first : first + numbered.n_features]
        return int(np.flatnonzero(values == numbered.known[signature])[0])
