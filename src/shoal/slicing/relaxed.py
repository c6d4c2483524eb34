"""The check of relaxed cuts: a row may match several buckets, and all of them count.

Rows with the same signature, the known values as the columns show them, have the same p(t, s). The
sums that p(t, s) is a quotient of are kept for every distinct signature, so a cut costs as much as
there are signatures that match the bucket it cuts; [Slicing] Figure 2 goes through all tuples and
buckets instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Cells
from shoal.core.errors import DataError
from shoal.core.exact import highest_at_most
from shoal.core.sliced import Layout
from shoal.slicing._partition_kernels import SignatureSums
from shoal.slicing.beliefs import Diversity

_MOST_SUMS = 2**28


@dataclass(frozen=True, eq=False)
class Signatures:
    """The signatures for all sensitive attributes in sequence, laid out for the kernel.

    A feature is a set of attributes whose values are counted: the known part of a column, or the
    attributes that two columns share. A pair is (u, s). Values are numbered across all features,
    and pairs across all sensitive attributes (targets).
    """

    n_targets: int
    n_features: int
    n_values: int
    n_pairs: int
    # For each cell: its value of each feature, and its pair for each target.
    feature: Codes
    pair: Codes
    # Where the pairs of each u begin; pairs are sorted by u.
    pair_start: Codes
    # For each signature: its target, and its value of each feature, -1 if the target does not use
    # the feature.
    target: Codes
    signature: Codes
    # For each target: the features whose counts are multiplied and those they are divided by (none
    # for the first), and where these begin.
    multiplied: Codes
    divided: Codes
    part_start: Codes
    # For each signature, its u: as a value of a feature, and as numbered among pairs.
    known: Codes
    group: Codes
    # For each value, the signatures to be found by it.
    main_start: Codes
    by_main: Codes
    # Where the sums of each signature begin, one per pair of its u.
    sum_start: Codes

    @classmethod
    def of_cells(cls, cells: Cells, layout: Layout) -> Signatures:
        """Number the signatures of a table.

        The layout must not link columns by an attribute that the adversary does not know. Raises
        `DataError` if the sums would not fit into memory.
        """
        features = _Features(cells)
        targets = [_target(layout, sensitive, features) for sensitive in layout.sensitive]
        values = features.numbered()
        parts = [_Part.of_target(cells, layout, target, values) for target in targets]
        # Pairs and their u are numbered through all sensitive attributes.
        pairs = _joined([part.pair for part in parts], [part.n_pairs for part in parts])
        groups = _joined([part.group for part in parts], [len(part.n_with) for part in parts])
        n_with = np.concatenate([part.n_with for part in parts])
        n_sums = int(n_with[np.concatenate(groups)].sum())
        if n_sums > _MOST_SUMS:
            raise DataError(
                f"Relaxed cuts need {n_sums} sums, one for each tuple of known values and each "
                "sensitive value, which is more than fits into memory.",
                hint="use strict cuts, which need none.",
            )
        signature = np.concatenate([part.signature for part in parts])
        main = np.concatenate([part.main for part in parts])
        group_of = np.concatenate(groups)
        return cls(
            n_targets=len(targets),
            n_features=values.shape[1],
            n_values=features.n_values,
            n_pairs=sum(part.n_pairs for part in parts),
            feature=values.reshape(-1),
            pair=np.stack(pairs, axis=1).reshape(-1),
            pair_start=_starts(n_with),
            target=np.repeat(np.arange(len(parts)), [len(part.group) for part in parts]),
            signature=signature.reshape(-1),
            multiplied=np.concatenate([target.multiplied for target in targets]),
            divided=np.concatenate([target.divided for target in targets]),
            part_start=_starts(np.array([len(target.multiplied) for target in targets])),
            known=np.concatenate([part.known for part in parts]),
            group=group_of,
            main_start=_starts(np.bincount(main, minlength=features.n_values)),
            by_main=np.argsort(main, kind="stable").astype(np.int64),
            sum_start=_starts(n_with[group_of]),
        )


class _Features:
    """Sets of attributes whose values are counted, each numbered once."""

    def __init__(self, cells: Cells) -> None:
        self._cells = cells
        self._place: dict[tuple[str, ...], int] = {}
        self.n_values = 0

    def place(self, names: Sequence[str]) -> int:
        """Return the number of a set of attributes."""
        return self._place.setdefault(tuple(sorted(names)), len(self._place))

    def numbered(self) -> Codes:
        """Return the value of each feature for each cell, numbered across all features."""
        found = np.empty((self._cells.n_cells, len(self._place)), dtype=np.int64)
        self.n_values = 0
        for names, place in self._place.items():
            chosen, inverse = self._cells.select_with_inverse(names)
            found[:, place] = inverse + self.n_values
            self.n_values += chosen.n_cells
        return found


@dataclass(frozen=True, eq=False)
class _Target:
    """One sensitive attribute: the features of its signatures and of its u."""

    sensitive: str
    beside: tuple[str, ...]
    known: int
    multiplied: Codes
    divided: Codes


def _target(layout: Layout, sensitive: str, features: _Features) -> _Target:
    known = layout.known_for(sensitive)
    links = layout.links()
    parts = [[name for name in layout.columns[link.column] if name in known] for link in links]
    beside = next(
        part
        for part, link in zip(parts, links, strict=True)
        if sensitive in layout.columns[link.column]
    )
    return _Target(
        sensitive,
        tuple(beside),
        features.place(beside),
        np.array([features.place(part) for part in parts], dtype=np.int64),
        np.array([features.place(link.separator) for link in links], dtype=np.int64),
    )


@dataclass(frozen=True, eq=False)
class _Part:
    """The signatures and pairs of one sensitive attribute, numbered separately."""

    pair: Codes
    n_pairs: int
    n_with: Codes
    signature: Codes
    known: Codes
    group: Codes
    main: Codes

    @classmethod
    def of_target(cls, cells: Cells, layout: Layout, target: _Target, values: Codes) -> _Part:
        pairs, pair = cells.select_with_inverse([*target.beside, target.sensitive])
        groups, group_of_pair = pairs.select_with_inverse(target.beside)
        known, inverse = cells.select_with_inverse(layout.known_for(target.sensitive))
        first = np.empty(known.n_cells, dtype=np.int64)
        first[inverse] = np.arange(cells.n_cells)
        used = np.unique(np.r_[target.multiplied, target.divided])
        signature = np.full((len(first), values.shape[1]), -1, dtype=np.int64)
        signature[:, used] = values[np.ix_(first, used)]
        # Signatures are looked up by the feature with the most values, each of which few share.
        n_different = [len(np.unique(signature[:, place])) for place in target.multiplied.tolist()]
        main = int(target.multiplied[int(np.argmax(n_different))])
        return cls(
            pair,
            pairs.n_cells,
            np.bincount(group_of_pair, minlength=groups.n_cells).astype(np.int64),
            signature,
            signature[:, target.known],
            group_of_pair[pair[first]],
            signature[:, main],
        )


def _joined(numbers: Sequence[Codes], sizes: Sequence[int]) -> list[Codes]:
    """Shift numbers so that no two arrays have one in common."""
    offsets = np.cumsum([0, *sizes])[:-1].tolist()
    return [array + offset for array, offset in zip(numbers, offsets, strict=True)]


def _starts(lengths: Codes) -> Codes:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)


Pieces = tuple[Codes, Counts]


class RelaxedJudge:
    """Approves cuts one after the other, depth first, as the partitioner makes them.

    It is called with the left side of a cut, which it accepts, and then with the right side, when
    it decides about both. The partitioner makes every cut that it approves.
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
        # The same order as the partitioner's stack: the next part is last.
        self._waiting: list[Pieces] = [whole]
        self._final: list[Pieces] = []
        self._rows_of_cell = np.zeros(cells.n_cells, dtype=np.int64)

    def __call__(self, cell: Codes, count: Counts) -> bool:
        """Accept a left side; accept a right side if the cut keeps every p(t, s)."""
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
        """Remove the part that is cut from the stack; the parts above it could not be cut."""
        while not self._is_cut_into(self._waiting[-1], left, right):
            self._final.append(self._waiting.pop())
        self._waiting.pop()

    def _is_cut_into(self, part: Pieces, left: Pieces, right: Pieces) -> bool:
        """Return whether a part has the rows of both sides; equal parts are interchangeable."""
        rows = self._rows_of_cell
        for cell, count in (left, right):
            rows[cell] += count
        same_total = int(part[1].sum()) == int(left[1].sum()) + int(right[1].sum())
        is_whole = same_total and bool(np.all(rows[part[0]] == part[1]))
        for cell, _ in (left, right):
            rows[cell] = 0
        return is_whole

    def _decide(self, signature: int, pair: int) -> bool:
        """Compare one p(t, s) with 1/l in fractions, as if the current cut had been made."""
        assert self._left is not None
        assert self._right is not None
        place = len(self._waiting) - 1
        while not self._is_cut_into(self._waiting[place], self._left, self._right):
            place -= 1
        # The part that is being cut counts as its two sides.
        parts = [*self._final, *self._waiting[:place], *self._waiting[place + 1 :]]
        parts += [self._left, self._right]
        total = amount = Fraction(0)
        for cell, count in self._matching(parts, signature):
            weight, share = self._term(cell, count, signature, pair)
            total += weight
            amount += weight * share
        return amount * self._ell <= total

    def _matching(self, parts: list[Pieces], signature: int) -> list[Pieces]:
        """Return the parts that match a signature, which are few."""
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
        """Return |B| f(t, B) and D(t, B)[s] of one bucket."""
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
        """Return the feature that is u in the signature."""
        numbered = self._signatures
        first = signature * numbered.n_features
        values = numbered.signature[first : first + numbered.n_features]
        return int(np.flatnonzero(values == numbered.known[signature])[0])
