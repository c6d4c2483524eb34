"""Column generalization: values of sliced columns made frequent along hierarchies.

[Slicing], section 4.2: before rows are put into buckets, the values of a column, each a
combination of its attributes, are generalized until every one occurs a minimum number of times. A
value then tells less about who is in the table. Every attribute is generalized to one level of its
hierarchy, so a value becomes the same label wherever it stands, and no level is higher than it has
to be given the others.

[Slicing] Rafi, Ramanaiah: Protecting Attribute Disclosure for High Dimensionality and Preserving
Publishing of Microdata.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes, Counts, group
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.exact import whole
from shoal.core.hierarchy import Hierarchy
from shoal.core.plan import Recode
from shoal.core.tree import Tree
from shoal.knowledge.level_labels import recode_to_level

__all__ = ["ColumnGeneralization", "apply_recode", "generalize_columns", "recode_with_inverse"]

Marks = npt.NDArray[np.uint64]

_N_INTERVALS = 16
"""Numbers without a hierarchy go into so many intervals with about equal numbers of rows, and these
are merged two by two."""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnGeneralization:
    """To which level each attribute is generalized.

    Parameters
    ----------
    min_frequency
        How often every value of a column occurs at least.
    levels, heights
        By attribute its level, and the level at which nothing but ``*`` is left.
    recode
        The labels of every attribute above level 0.
    least_counts
        For each column the rows of its rarest value; 0 where the table is empty.
    """

    min_frequency: int
    levels: Mapping[str, int]
    heights: Mapping[str, int]
    recode: tuple[Recode, ...]
    least_counts: tuple[int, ...]

    def apply(self, cells: Cells) -> Cells:
        """Give the cells with labels in place of values."""
        return apply_recode(cells, self.recode)

    def to_dict(self) -> dict[str, object]:
        """Give levels and counts as plain values."""
        return {
            "min_frequency": self.min_frequency,
            "levels": dict(self.levels),
            "heights": dict(self.heights),
            "least_counts": list(self.least_counts),
        }

    def __repr__(self) -> str:
        levels = ", ".join(
            f"{attribute} {level}/{self.heights[attribute]}"
            for attribute, level in self.levels.items()
        )
        return f"ColumnGeneralization(min_frequency={self.min_frequency}: {levels})"


def generalize_columns(
    cells: Cells,
    columns: Sequence[Sequence[str]],
    min_frequency: int,
    *,
    trees: Mapping[str, Tree] | None = None,
    keep: Collection[str] = (),
) -> ColumnGeneralization:
    """Generalize attributes until every value of every column is frequent.

    Parameters
    ----------
    cells
        The distinct combinations of the attributes, with their counts.
    columns
        The attributes of each column; where columns share an attribute, it has one level in all
        of them.
    min_frequency
        How often every value of a column must occur at least.
    trees
        The hierarchies of some attributes, over the domains of the cells. Numbers and dates
        without one are put into 16 intervals with about equal numbers of rows, then 8, 4 and 2;
        other values become ``*`` at once.
    keep
        Attributes that are not generalized, such as sensitive ones.

    Notes
    -----
    From level 0 on, the attribute is raised by a level that leaves the fewest rows with a rare
    value in the columns it belongs to; of several the first in the order of the columns. Then, in
    that order, levels are lowered again as far as every value stays frequent, so that no single
    level can be lowered. Other levels, lower on the whole, may satisfy the minimum too.

    Raises
    ------
    InfeasibleError
        Where a value stays rare even with everything generalized that may be.

    Examples
    --------
    >>> sex, city = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("city", ["Bonn", "Rome"])
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 0]])
    >>> cells = Cells.of_rows([sex, city], rows)
    >>> found = generalize_columns(cells, [["sex", "city"]], 2)
    >>> found
    ColumnGeneralization(min_frequency=2: sex 0/1, city 1/1)
    >>> found.apply(cells).domain("city").labels()
    ['*']
    """
    min_frequency = whole("min_frequency", min_frequency, least=1)
    attributes = tuple(dict.fromkeys(attribute for column in columns for attribute in column))
    _check_attributes(cells, attributes, keep)
    grown = {name: _tree(cells, name, trees or {}) for name in attributes if name not in keep}
    ladders = {
        name: _Ladder.of_tree(grown[name], place)
        if name in grown
        else _Ladder.of_values(cells.domain(name).size, place)
        for place, name in enumerate(attributes)
    }
    bottom = [_Values.of_cells(cells, column) for column in columns]
    _check_feasible(bottom, ladders, min_frequency)
    levels: dict[str, int] = dict.fromkeys(attributes, 0)
    for together in _overlapping(columns):
        values = [bottom[place] for place in together]
        raised = _raise(values, ladders, min_frequency)
        levels |= _lower(values, ladders, raised, min_frequency)
    return ColumnGeneralization(
        min_frequency=min_frequency,
        levels=MappingProxyType(levels),
        heights=MappingProxyType({name: ladder.height for name, ladder in ladders.items()}),
        recode=tuple(
            recode_to_level(cells.domain(name), grown[name], level)
            for name, level in levels.items()
            if level
        ),
        least_counts=tuple(values.at(ladders, levels).least_count for values in bottom),
    )


def apply_recode(cells: Cells, recode: Sequence[Recode]) -> Cells:
    """Give cells with labels in place of values, equal ones counted together.

    Parameters
    ----------
    cells
        The distinct combinations of some columns.
    recode
        Labels by value; columns that have none stay as they are.

    Examples
    --------
    >>> from shoal.core.plan import Label
    >>> city = Domain.of_texts("city", ["Bonn", "Rome"])
    >>> cells = Cells.of_rows([city], np.array([[0], [1]]))
    >>> labels = Recode("city", "value", np.array([0, 0]), (Label("Europe", members=(0, 1)),))
    >>> apply_recode(cells, [labels]).counts.tolist()
    [2]
    """
    return recode_with_inverse(cells, recode)[0]


def recode_with_inverse(cells: Cells, recode: Sequence[Recode]) -> tuple[Cells, Codes]:
    """Do as `apply_recode`, and say of each cell which one it is a part of.

    Examples
    --------
    >>> from shoal.core.plan import Label
    >>> city = Domain.of_texts("city", ["Bonn", "Rome"])
    >>> cells = Cells.of_rows([city], np.array([[0], [1]]))
    >>> labels = Recode("city", "value", np.array([0, 0]), (Label("Europe", members=(0, 1)),))
    >>> recode_with_inverse(cells, [labels])[1].tolist()
    [0, 0]
    """
    domains, codes = list(cells.domains), cells.codes.copy()
    for labels in recode:
        place = cells.columns.index(labels.column)
        texts = [label.text for label in labels.labels if label.text is not None]
        has_missing = len(texts) < len(labels.labels)
        domains[place] = Domain.of_texts(labels.column, texts, has_missing=has_missing)
        codes[:, place] = labels.index[codes[:, place]]
    return Cells(tuple(domains), codes, cells.counts).select_with_inverse(cells.columns)


def _check_attributes(cells: Cells, attributes: Sequence[str], keep: Collection[str]) -> None:
    stray = [name for name in (*attributes, *keep) if name not in cells.columns]
    if stray:
        raise ParameterError(
            f"Columns that are generalized must be columns of the table; {stray[0]!r} is none.",
            hint=f"its columns are {', '.join(cells.columns)}.",
        )


def _check_feasible(
    bottom: Sequence[_Values], ladders: Mapping[str, _Ladder], min_frequency: int
) -> None:
    highest = {name: ladder.height for name, ladder in ladders.items()}
    counts = [values.at(ladders, highest).least_count for values in bottom]
    rare = [place for place, count in enumerate(counts) if 0 < count < min_frequency]
    if not rare:
        return
    best = min(counts[place] for place in rare)
    raise InfeasibleError(
        f"min_frequency = {min_frequency} is out of reach: however much is generalized, column "
        f"{rare[0] + 1} ({', '.join(bottom[rare[0]].attributes)}) has a value that "
        f"{counts[rare[0]]} rows carry.",
        hint=f"min_frequency = {best} can be reached.",
        best={"min_frequency": best},
    )


# --- hierarchies as ladders -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Ladder:
    """For each level the class of every code, and for each but the highest the class above.

    The marks of classes, one by level and class, are drawn at random, so that sums of several are
    different for different combinations, but for one chance in about 2**64 for each two of them.
    """

    classes: tuple[Codes, ...]
    sizes: tuple[int, ...]
    above: tuple[Codes, ...]
    marks: tuple[Marks, ...]

    @property
    def height(self) -> int:
        return len(self.above)

    @classmethod
    def of_tree(cls, tree: Tree, place: int) -> _Ladder:
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
        return cls(tuple(classes), tuple(sizes), tuple(above), tuple(marks))

    @classmethod
    def of_values(cls, size: int, place: int) -> _Ladder:
        """Make the ladder of an attribute that is not generalized."""
        marks = np.random.default_rng(place).integers(2**64, size=size, dtype=np.uint64)
        return cls((np.arange(size),), (size,), (), (marks,))


def _tree(cells: Cells, name: str, trees: Mapping[str, Tree]) -> Tree:
    domain = cells.domain(name)
    if name in trees:
        return trees[name]
    if not domain.type.is_numeric:
        return Hierarchy.flat().over(domain)
    counts = np.zeros(domain.size, dtype=np.int64)
    np.add.at(counts, cells.column(name), cells.counts)
    return Hierarchy.intervals(quantiles=_N_INTERVALS).over(domain, counts)


# --- search ---------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Values:
    """The distinct values of a column at some levels: classes of its attributes, and counts."""

    attributes: tuple[str, ...]
    classes: tuple[Codes, ...]
    sizes: tuple[int, ...]
    counts: Counts

    @classmethod
    def of_cells(cls, cells: Cells, column: Sequence[str]) -> _Values:
        kept = cells.select(column)
        sizes = tuple(domain.size for domain in kept.domains)
        classes = tuple(kept.codes[:, place] for place in range(len(sizes)))
        return cls(tuple(column), classes, sizes, kept.counts)

    @property
    def least_count(self) -> int:
        return int(self.counts.min()) if len(self.counts) else 0

    def rare_rows(self, min_frequency: int) -> int:
        """Count the rows whose value occurs too seldom."""
        return int(self.counts[self.counts < min_frequency].sum())

    def at(self, ladders: Mapping[str, _Ladder], levels: Mapping[str, int]) -> _Values:
        """Generalize values, which are at level 0, to some levels."""
        chosen = [(ladders[name], levels[name]) for name in self.attributes]
        steps = zip(chosen, self.classes, strict=True)
        classes = [ladder.classes[level][codes] for (ladder, level), codes in steps]
        return self._counted(classes, [ladder.sizes[level] for ladder, level in chosen])

    def raised(self, name: str, ladder: _Ladder, level: int) -> _Values:
        """Generalize one attribute from a level to the next; a column without it stays."""
        if name not in self.attributes:
            return self
        place = self.attributes.index(name)
        classes, sizes = list(self.classes), list(self.sizes)
        classes[place] = ladder.above[level][classes[place]]
        sizes[place] = ladder.sizes[level + 1]
        return self._counted(classes, sizes)

    def _counted(self, classes: Sequence[Codes], sizes: Sequence[int]) -> _Values:
        first, inverse = group(classes, sizes, len(self.counts))
        counts = np.zeros(len(first), dtype=np.int64)
        np.add.at(counts, inverse, self.counts)
        kept = tuple(codes[first] for codes in classes)
        return _Values(self.attributes, kept, tuple(sizes), counts)

    def marks(self, ladders: Mapping[str, _Ladder], levels: Mapping[str, int]) -> Marks:
        """Give every value a number that hardly another value has."""
        marks = np.zeros(len(self.counts), dtype=np.uint64)
        for name, codes in zip(self.attributes, self.classes, strict=True):
            marks += ladders[name].marks[levels[name]][codes]
        return marks

    def rare_rows_if_raised(
        self, name: str, ladder: _Ladder, level: int, marks: Marks, min_frequency: int
    ) -> int:
        """Count the rows with a rare value after a step of one attribute, by marks alone."""
        if name not in self.attributes:
            return self.rare_rows(min_frequency)
        change = ladder.marks[level + 1][ladder.above[level]] - ladder.marks[level]
        raised = marks + change[self.classes[self.attributes.index(name)]]
        order = np.argsort(raised)
        raised = raised[order]
        begin = np.flatnonzero(np.concatenate(([True], raised[1:] != raised[:-1])))
        counts = np.add.reduceat(self.counts[order], begin)
        return int(counts[counts < min_frequency].sum())


def _overlapping(columns: Sequence[Sequence[str]]) -> list[list[int]]:
    """Put columns together that share attributes, directly or by way of others."""
    groups: list[tuple[set[str], list[int]]] = []
    for place, column in enumerate(columns):
        joined = [one for one in groups if not one[0].isdisjoint(column)]
        names = set(column).union(*(one[0] for one in joined))
        places = sorted([place, *(other for one in joined for other in one[1])])
        groups = [one for one in groups if one not in joined] + [(names, places)]
    return [places for _, places in groups]


def _raise(
    bottom: Sequence[_Values], ladders: Mapping[str, _Ladder], min_frequency: int
) -> dict[str, int]:
    """Raise levels, each time the one that leaves the fewest rows with a rare value.

    Which one that is follows from marks; what it leaves is counted by the values themselves.
    """
    levels = {name: 0 for values in bottom for name in values.attributes}
    current = list(bottom)
    while any(values.rare_rows(min_frequency) for values in current):
        marked = [(values, values.marks(ladders, levels)) for values in current]
        n_rare = {
            name: sum(
                values.rare_rows_if_raised(name, ladders[name], levels[name], marks, min_frequency)
                for values, marks in marked
            )
            for name in _raisable(current, ladders, levels, min_frequency)
        }
        name = min(n_rare, key=n_rare.__getitem__)
        current = [values.raised(name, ladders[name], levels[name]) for values in current]
        levels[name] += 1
    return levels


def _raisable(
    current: Sequence[_Values],
    ladders: Mapping[str, _Ladder],
    levels: Mapping[str, int],
    min_frequency: int,
) -> list[str]:
    """Give the attributes of columns with rare values that have a level above."""
    concerned = {
        name for values in current if values.rare_rows(min_frequency) for name in values.attributes
    }
    return [name for name in levels if name in concerned and levels[name] < ladders[name].height]


def _lower(
    bottom: Sequence[_Values],
    ladders: Mapping[str, _Ladder],
    levels: dict[str, int],
    min_frequency: int,
) -> dict[str, int]:
    """Lower each level as far as every value stays frequent.

    One pass is enough: what cannot be lowered now could not be with other levels lower still.
    """
    for name, highest in list(levels.items()):
        concerned = [values for values in bottom if name in values.attributes]
        for level in range(highest - 1, -1, -1):
            lower = levels | {name: level}
            if any(values.at(ladders, lower).rare_rows(min_frequency) for values in concerned):
                break
            levels = lower
    return levels
