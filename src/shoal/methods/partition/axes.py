"""The quasi-identifiers as axes: every value has a position, and cells can be cut between them.

Numbers and dates lie in their order, equal ones at one position; values of a hierarchy in the
order of its leaves; other values in the order of their domain. Missing values come last.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes
from shoal.core.domain import Domain
from shoal.core.tree import Tree

__all__ = ["Axes", "Axis"]

Floats = npt.NDArray[np.float64]

_NO_TREE = -1


@dataclass(frozen=True, eq=False)
class Axis:
    """One quasi-identifier.

    Parameters
    ----------
    domain
        Its values.
    tree
        Its hierarchy, if it has one.
    position
        For each code its position; missing values have the last one.
    numbers
        For each position the number by which widths are measured.
    """

    domain: Domain
    tree: Tree | None
    position: Codes
    numbers: Floats

    @classmethod
    def of_domain(cls, domain: Domain, tree: Tree | None) -> Axis:
        """Lay out the values of a column.

        Examples
        --------
        >>> size = Domain.of_texts("size", ["1", "1.0", "2.5"], numbers=[1, 1, 2.5])
        >>> Axis.of_domain(size, None).position.tolist()
        [0, 0, 1]
        """
        n_texts = len(domain.texts)
        if tree is not None:
            numbers = np.arange(tree.n_leaves, dtype=np.float64)
            position = tree.position[:n_texts]
        elif domain.numbers is not None:
            numbers, position = np.unique(domain.numbers, return_inverse=True)
        else:
            numbers = np.arange(n_texts, dtype=np.float64)
            position = np.arange(n_texts)
        missing = [len(numbers)] if domain.has_missing else []
        return cls(domain, tree, np.append(position, missing).astype(np.int64), numbers)

    @property
    def missing(self) -> int:
        """The position of missing values, whether or not there are any."""
        return len(self.numbers)

    @property
    def is_numeric(self) -> bool:
        """Whether buckets are published as intervals."""
        return self.tree is None and self.domain.numbers is not None


@dataclass(frozen=True, eq=False)
class Axes:
    """All quasi-identifiers, in the form in which the kernel reads them.

    Parameters
    ----------
    axes
        One axis a column.
    position
        The positions of every cell, column by column within a cell.
    missing
        For each column the position of missing values.
    number, number_start
        The numbers of all positions, and where those of each column start.
    span
        For each column the width of the whole table.
    tree_start
        Where the nodes of each column's hierarchy start; -1 where it has none.
    first, last, parent
        Of all nodes the slice of positions and the parent, within its own hierarchy.
    """

    axes: tuple[Axis, ...]
    position: npt.NDArray[np.int32]
    missing: Codes
    number: Floats
    number_start: Codes
    span: Floats
    tree_start: Codes
    first: Codes
    last: Codes
    parent: Codes

    @classmethod
    def of_cells(cls, cells: Cells, columns: Sequence[str], trees: Mapping[str, Tree]) -> Axes:
        """Lay out the cells of a table."""
        axes = tuple(Axis.of_domain(cells.domain(name), trees.get(name)) for name in columns)
        position = np.empty((cells.n_cells, len(axes)), dtype=np.int32)
        for place, axis in enumerate(axes):
            position[:, place] = axis.position[cells.column(axis.domain.column)]
        planted = [axis.tree for axis in axes if axis.tree is not None]
        starts = iter(_starts([tree.n_nodes for tree in planted]))
        return cls(
            axes=axes,
            position=position.reshape(-1),
            missing=np.array([axis.missing for axis in axes], dtype=np.int64),
            number=np.concatenate([_measurable(axis.numbers) for axis in axes]),
            number_start=np.array(_starts([len(axis.numbers) for axis in axes]), dtype=np.int64),
            span=np.array([_span(axis) for axis in axes]),
            tree_start=np.array(
                [_NO_TREE if axis.tree is None else next(starts) for axis in axes], dtype=np.int64
            ),
            first=_joined([tree.first for tree in planted]),
            last=_joined([tree.last for tree in planted]),
            parent=_joined([tree.parent for tree in planted]),
        )

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.axes)


def _starts(lengths: Sequence[int]) -> list[int]:
    return [sum(lengths[:place]) for place in range(len(lengths))]


def _joined(arrays: Sequence[Codes]) -> Codes:
    return np.concatenate([np.empty(0, dtype=np.int64), *arrays])


def _measurable(numbers: Floats) -> Floats:
    """Give the numbers as they are, or a quarter where they are too far apart for a float."""
    is_finite = len(numbers) < 2 or math.isfinite(float(numbers[-1]) - float(numbers[0]))
    return numbers if is_finite else numbers / 4


def _span(axis: Axis) -> float:
    numbers = _measurable(axis.numbers)
    return float(numbers[-1] - numbers[0]) if len(numbers) > 1 else 1.0
