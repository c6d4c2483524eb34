"""Column generalization: values of sliced columns made frequent along hierarchies.

Before rows are put into buckets, the values of a column, each a combination of its attributes, are
generalized until every one occurs a minimum number of times, so that a value reveals less about who
is in the table. Every attribute is generalized to one level of its hierarchy, so a value gets the
same label wherever it occurs, and the levels are those that lose least.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 4.2.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Cells, total_by
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError, ParameterError, suggestion
from shoal.core.exact import reachable, whole
from shoal.core.plan import Recode
from shoal.core.tree import Level, Tree, grow_tree
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.intervals import recode_to_level
from shoal.slicing.least_loss import ColumnValues, Ladder, find_levels

_N_INTERVALS = 16
"""Numbers without a hierarchy are put into this many intervals with about equal numbers of rows,
which are then merged two by two."""
_FEWEST_FOLDED = 4
"""Of fewer values without a hierarchy, none are folded."""


@dataclass(frozen=True, eq=False, repr=False)
class ColumnGeneralization:
    """The level that each attribute is generalized to, so that values occur `min_frequency` times.

    At an attribute's height only ``*`` is left. `recode` has the labels of every attribute above
    level 0, and `least_counts` the rows of each column's rarest value; 0 if the table is empty.
    """

    min_frequency: int
    levels: Mapping[str, int]
    heights: Mapping[str, int]
    recode: tuple[Recode, ...]
    least_counts: tuple[int, ...]

    def apply(self, cells: Cells) -> Cells:
        """Return the cells with labels in place of values."""
        return apply_recode(cells, self.recode)

    def to_dict(self) -> dict[str, object]:
        """Return levels and counts as plain values."""
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
    """Generalize attributes until every value of every column occurs `min_frequency` times.

    An attribute that columns share has one level in all of them. `trees` are the hierarchies of
    some attributes, over the domains of the cells. Numbers and dates without one are put into 16
    intervals with about equal numbers of rows, then 8, 4 and 2. Of four or more other values the
    most frequent three quarters are kept, then one half and one quarter, and the others become one
    label; finally all become ``*``. Attributes in `keep`, such as sensitive ones, are not
    generalized.

    Notes
    -----
    The loss of an attribute is the mean, over the rows, of the share of its other values that the
    row's own value can no longer be distinguished from: 0 at level 0, and 1 if all is ``*``. Of all
    levels at which every value is frequent, those with the smallest total loss are taken;
    `shoal.slicing.least_loss` says how they are found, and what happens if that would take too
    long.

    Raises
    ------
    InfeasibleError
        If a value stays rare even with everything generalized that may be.

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
        name: Ladder.of_tree(grown[name], place, _counts(cells, name))
        if name in grown
        else Ladder.of_values(cells.domain(name).size, place)
        for place, name in enumerate(attributes)
    }
    bottom = [ColumnValues.of_cells(cells, column) for column in columns]
    _check_feasible(bottom, ladders, min_frequency)
    found = find_levels(bottom, ladders, min_frequency)
    levels = {name: found[name] for name in attributes}
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
    """Return cells with labels in place of values; cells that become equal are merged.

    Columns without labels stay as they are.
    """
    return recode_with_inverse(cells, recode)[0]


def recode_with_inverse(cells: Cells, recode: Sequence[Recode]) -> tuple[Cells, Codes]:
    """Like `apply_recode`; also return, for each cell, the cell that it becomes part of."""
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
            f"Columns that are generalized must be in the table; {stray[0]!r} is not.",
            hint=suggestion(stray[0], cells.columns, "its columns are"),
        )


def _check_feasible(
    bottom: Sequence[ColumnValues], ladders: Mapping[str, Ladder], min_frequency: int
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
        hint=f"{reachable({'min_frequency': best}) or 'leave that attribute out'}; or give it a "
        "hierarchy that joins rare values.",
        best={"min_frequency": best},
    )


# --- hierarchies of attributes without one --------------------------------------------------------


def _tree(cells: Cells, name: str, trees: Mapping[str, Tree]) -> Tree:
    domain = cells.domain(name)
    if name in trees:
        return trees[name]
    counts = _counts(cells, name)
    if not domain.type.is_numeric:
        return _fold(domain, counts)
    return Hierarchy.intervals(quantiles=_N_INTERVALS).over(domain, counts)


def _counts(cells: Cells, name: str) -> Counts:
    """Count the rows of each code of a column."""
    return total_by(cells.column(name), cells.counts, cells.domain(name).size)


def _fold(domain: Domain, counts: Counts) -> Tree:
    """Make a hierarchy of values that have none: the rarer ones become one label."""
    n_values = len(domain.texts)
    order = np.argsort(-counts[:n_values], kind="stable")
    levels = []
    for n_kept in _kept(n_values):
        groups = np.full(n_values, n_kept, dtype=np.int64)
        groups[order[:n_kept]] = np.arange(n_kept)
        texts = [str(domain.texts[code]) for code in order[:n_kept].tolist()]
        levels.append(Level(groups, [*texts, _unused(f"{n_values - n_kept} others", domain)]))
    return grow_tree(domain, levels)


def _kept(n_values: int) -> list[int]:
    """Return how many values are kept at each level; at least two are folded."""
    if n_values < _FEWEST_FOLDED:
        return []
    kept = (min(3 * n_values // 4, n_values - 2), n_values // 2, n_values // 4)
    return list(dict.fromkeys(kept))


def _unused(label: str, domain: Domain) -> str:
    taken = set(domain.texts.tolist())
    while label in taken:
        label += "'"
    return label
