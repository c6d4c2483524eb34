"""The levels of generalization that make column values frequent and lose least.

Raising a level merges values, so frequent values stay frequent, and the loss grows with every step.
Steps are first taken greedily, by the rare rows that they save relative to their loss, and levels
are lowered again as far as possible. Then levels with a smaller loss are tried in increasing order:
the first that suffice lose least. Only attributes of a column that still has a rare value are
raised. If that takes too long, the greedy result stays.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Words
from shoal.core.cells import Cells, group, total_by
from shoal.core.tree import Tree

MOST_VISITS = 300_000
"""The values examined before the exact search is given up: about a tenth of a second."""
_OVERHEAD = 500
"""The fixed cost of examining a column, in values."""


@dataclass(frozen=True, eq=False)
class Ladder:
    """The levels of one attribute.

    For each level, `classes` has the class of every code, `sizes` the number of classes, and
    `above` the class above each class. `marks` are random numbers of the classes: sums of several
    marks differ for different combinations, except with a probability of about 2**-64 for each two
    of them. The loss of a level, from 0 to 1, is the share of the other values that a row's own
    value can no longer be distinguished from, averaged over rows.
    """

    classes: tuple[Codes, ...]
    sizes: tuple[int, ...]
    above: tuple[Codes, ...]
    marks: tuple[Words, ...]
    losses: tuple[Fraction, ...]

    @property
    def height(self) -> int:
        """The highest level."""
        return len(self.above)

    @classmethod
    def of_tree(cls, tree: Tree, place: int, counts: Counts) -> Ladder:
        """Return the ladder of a hierarchy, given the rows of each code."""
        classes = [np.arange(tree.n_leaves)]
        sizes = [tree.n_leaves]
        above = []
        for level in range(1, tree.height + 1):
            nodes, numbers = np.unique(tree.ancestors_at(level), return_inverse=True)
            upwards = np.empty(sizes[-1], dtype=np.int64)
            upwards[classes[-1]] = numbers
            classes.append(numbers.astype(np.int64))
            sizes.append(len(nodes))
            above.append(upwards)
        generator = np.random.default_rng(place)
        marks = [generator.integers(2**64, size=size, dtype=np.uint64) for size in sizes]
        losses = [_loss(codes, counts) for codes in classes]
        return cls(tuple(classes), tuple(sizes), tuple(above), tuple(marks), tuple(losses))

    @classmethod
    def of_values(cls, size: int, place: int) -> Ladder:
        """Return the ladder of an attribute that is not generalized."""
        marks = np.random.default_rng(place).integers(2**64, size=size, dtype=np.uint64)
        return cls((np.arange(size),), (size,), (), (marks,), (Fraction(0),))


def _loss(classes: Codes, counts: Counts) -> Fraction:
    """Return the mean over rows of (values in the row's class - 1) / (all values - 1)."""
    is_held = counts > 0
    n_values, n_rows = int(is_held.sum()), int(counts.sum())
    if n_values <= 1:
        return Fraction(0)
    held = classes[is_held]
    n_others = np.bincount(held)[held] - 1
    total = int((n_others * counts[is_held]).sum())
    return Fraction(total, n_rows * (n_values - 1))


@dataclass(frozen=True, eq=False)
class ColumnValues:
    """The distinct values of a column at some levels: classes of its attributes, and counts."""

    attributes: tuple[str, ...]
    classes: tuple[Codes, ...]
    sizes: tuple[int, ...]
    counts: Counts

    @classmethod
    def of_cells(cls, cells: Cells, column: Sequence[str]) -> ColumnValues:
        """Return the values as they are, at level 0."""
        kept = cells.select(column)
        sizes = tuple(domain.size for domain in kept.domains)
        classes = tuple(kept.codes[:, place] for place in range(len(sizes)))
        return cls(tuple(column), classes, sizes, kept.counts)

    @property
    def least_count(self) -> int:
        """The rows of the rarest value; 0 if there is none."""
        return int(self.counts.min()) if len(self.counts) else 0

    def rare_rows(self, min_frequency: int) -> int:
        """Count the rows whose value is too rare."""
        return int(self.counts[self.counts < min_frequency].sum())

    def at(self, ladders: Mapping[str, Ladder], levels: Mapping[str, int]) -> ColumnValues:
        """Generalize values at level 0 to some levels."""
        chosen = [(ladders[name], levels[name]) for name in self.attributes]
        steps = zip(chosen, self.classes, strict=True)
        classes = [ladder.classes[level][codes] for (ladder, level), codes in steps]
        return self._counted(classes, [ladder.sizes[level] for ladder, level in chosen])

    def raised(self, name: str, ladder: Ladder, level: int) -> ColumnValues:
        """Generalize one attribute from a level to the next; a column without it stays."""
        if name not in self.attributes:
            return self
        place = self.attributes.index(name)
        classes, sizes = list(self.classes), list(self.sizes)
        classes[place] = ladder.above[level][classes[place]]
        sizes[place] = ladder.sizes[level + 1]
        return self._counted(classes, sizes)

    def _counted(self, classes: Sequence[Codes], sizes: Sequence[int]) -> ColumnValues:
        first, inverse = group(classes, sizes, len(self.counts))
        counts = total_by(inverse, self.counts, len(first))
        kept = tuple(codes[first] for codes in classes)
        return ColumnValues(self.attributes, kept, tuple(sizes), counts)

    def marks(self, ladders: Mapping[str, Ladder], levels: Mapping[str, int]) -> Words:
        """Return a number for every value that is almost certainly unique."""
        marks = np.zeros(len(self.counts), dtype=np.uint64)
        for name, codes in zip(self.attributes, self.classes, strict=True):
            marks += ladders[name].marks[levels[name]][codes]
        return marks

    def rare_rows_if_raised(
        self, name: str, ladder: Ladder, level: int, marks: Words, min_frequency: int
    ) -> int:
        """Count the rows with a rare value after a step of one attribute, using marks only."""
        if name not in self.attributes:
            return self.rare_rows(min_frequency)
        change = ladder.marks[level + 1][ladder.above[level]] - ladder.marks[level]
        raised = marks + change[self.classes[self.attributes.index(name)]]
        order = np.argsort(raised)
        raised = raised[order]
        begin = np.flatnonzero(np.concatenate(([True], raised[1:] != raised[:-1])))
        counts = np.add.reduceat(self.counts[order], begin)
        return int(counts[counts < min_frequency].sum())


# --- search ---------------------------------------------------------------------------------------


def find_levels(
    columns: Sequence[ColumnValues], ladders: Mapping[str, Ladder], min_frequency: int
) -> dict[str, int]:
    """Find the levels at which every value is frequent and the sum of losses is smallest.

    `columns` are at level 0; at the highest level of every ladder all values are frequent. Ties are
    decided by the lower sum of levels, then by the higher level of earlier attributes. If more than
    `MOST_VISITS` values would have to be examined, the levels come from a greedy search: none of
    them can be lowered on its own, but other levels may lose less.
    """
    levels: dict[str, int] = {}
    for together in _overlapping([values.attributes for values in columns]):
        search = _Search([columns[place] for place in together], ladders, min_frequency)
        levels |= search.best()
    return levels


def _overlapping(columns: Sequence[Sequence[str]]) -> list[list[int]]:
    """Group columns that share attributes, directly or through others."""
    groups: list[tuple[set[str], list[int]]] = []
    for place, column in enumerate(columns):
        joined = [one for one in groups if not one[0].isdisjoint(column)]
        names = set(column).union(*(one[0] for one in joined))
        places = sorted([place, *(other for one in joined for other in one[1])])
        groups = [one for one in groups if one not in joined] + [(names, places)]
    return [places for _, places in groups]


_Levels = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Search:
    """Columns that share attributes, directly or through others."""

    columns: Sequence[ColumnValues]
    ladders: Mapping[str, Ladder]
    min_frequency: int

    @property
    def attributes(self) -> list[str]:
        return list(dict.fromkeys(name for values in self.columns for name in values.attributes))

    def best(self) -> dict[str, int]:
        """Search greedily, and then for levels that lose less."""
        found = self.greedy()
        return self._less_lost_than(found) or found

    def _less_lost_than(self, known: Mapping[str, int]) -> dict[str, int] | None:
        """Try levels in order of their loss; return None if the known ones lose least.

        Entries are ordered by loss, then by the sum of levels; with equal sums the one with the
        higher first levels comes first, which is why levels are negated.
        """
        names, losses = list(known), self._whole_losses()
        most = self._rank(tuple(-known[name] for name in names), names, losses)
        n_visits = 0
        waiting = [(0, 0, (0,) * len(names))]
        seen = {waiting[0][2]}
        while waiting:
            entry = heapq.heappop(waiting)
            levels = dict(zip(names, (-level for level in entry[2]), strict=True))
            rare, n_seen = self._first_rare(levels)
            n_visits += n_seen
            if rare is None:
                return levels
            if n_visits > MOST_VISITS:
                return None
            # Any solution raises an attribute of this column.
            for name in rare.attributes:
                if levels[name] == self.ladders[name].height:
                    continue
                raised = tuple(
                    level - (one == name) for one, level in zip(names, entry[2], strict=True)
                )
                ranked = self._rank(raised, names, losses)
                if raised not in seen and ranked < most:
                    seen.add(raised)
                    heapq.heappush(waiting, ranked)
        return None

    def _first_rare(self, levels: Mapping[str, int]) -> tuple[ColumnValues | None, int]:
        """Return a column with a rare value, and the cost of finding it."""
        n_visits = 0
        for values in self.columns:
            n_visits += _OVERHEAD + len(values.counts)
            if values.at(self.ladders, levels).rare_rows(self.min_frequency):
                return values, n_visits
        return None, n_visits

    def _whole_losses(self) -> dict[str, list[int]]:
        """Return the losses of each attribute as whole numbers over one denominator."""
        losses = {name: self.ladders[name].losses for name in self.attributes}
        scale = math.lcm(*(loss.denominator for one in losses.values() for loss in one))
        return {name: [int(loss * scale) for loss in one] for name, one in losses.items()}

    @staticmethod
    def _rank(
        negated: _Levels, names: Sequence[str], losses: Mapping[str, Sequence[int]]
    ) -> tuple[int, int, _Levels]:
        lost = sum(losses[name][-level] for name, level in zip(names, negated, strict=True))
        return lost, -sum(negated), negated

    def greedy(self) -> dict[str, int]:
        """Raise the levels that save most rare rows for their loss, then lower needless ones."""
        levels = dict.fromkeys(self.attributes, 0)
        current = list(self.columns)
        while any(values.rare_rows(self.min_frequency) for values in current):
            name = self._best_step(current, levels)
            ladder = self.ladders[name]
            current = [values.raised(name, ladder, levels[name]) for values in current]
            levels[name] += 1
        return self._lower(levels)

    def _best_step(self, current: Sequence[ColumnValues], levels: Mapping[str, int]) -> str:
        """Choose a step by marks; its result is counted from the values themselves."""
        marked = [(values, values.marks(self.ladders, levels)) for values in current]
        n_rare = sum(values.rare_rows(self.min_frequency) for values in current)

        def merit(name: str) -> Fraction | float:
            ladder, level = self.ladders[name], levels[name]
            lost = ladder.losses[level + 1] - ladder.losses[level]
            if lost == 0:
                return math.inf
            n_left = sum(
                values.rare_rows_if_raised(name, ladder, level, marks, self.min_frequency)
                for values, marks in marked
            )
            # If no step saves rows, the one with the smallest loss may lead to one that does.
            return (n_rare - n_left) / lost if n_left < n_rare else -lost

        return max(self._raisable(current, levels), key=merit)

    def _raisable(self, current: Sequence[ColumnValues], levels: Mapping[str, int]) -> list[str]:
        """Return the attributes of columns with rare values that have a level above."""
        concerned = {
            name
            for values in current
            if values.rare_rows(self.min_frequency)
            for name in values.attributes
        }
        return [
            name
            for name in levels
            if name in concerned and levels[name] < self.ladders[name].height
        ]

    def _lower(self, levels: dict[str, int]) -> dict[str, int]:
        """Lower each level as far as every value stays frequent, starting with the largest loss.

        One pass is enough: a level that cannot be lowered now could not be with other levels lower
        still.
        """
        order = sorted(levels, key=lambda name: -self.ladders[name].losses[levels[name]])
        for name in order:
            concerned = [values for values in self.columns if name in values.attributes]
            for level in range(levels[name] - 1, -1, -1):
                lower = levels | {name: level}
                if any(
                    values.at(self.ladders, lower).rare_rows(self.min_frequency)
                    for values in concerned
                ):
                    break
                levels = lower
        return levels
