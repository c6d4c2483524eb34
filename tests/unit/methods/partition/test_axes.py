from __future__ import annotations

import numpy as np

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.hierarchy import Hierarchy
from shoal.methods.partition.axes import Axes, Axis


def test_missing_values_come_after_all_others():
    domain = Domain.of_texts("sex", ["F", "M"], has_missing=True)
    axis = Axis.of_domain(domain, None)
    assert axis.position.tolist() == [0, 1, 2]
    assert axis.missing == 2


def test_values_of_a_hierarchy_lie_in_the_order_of_its_leaves():
    domain = Domain.of_texts("letter", ["a", "b", "c"], has_missing=True)
    rows = [["a", "x"], ["c", "x"], [None, "x"], ["b", "y"]]
    axis = Axis.of_domain(domain, Hierarchy.from_rows(rows).over(domain))
    # The missing value has a leaf between c and b, and still comes last.
    assert axis.position.tolist() == [0, 3, 1, 4]
    assert not axis.is_numeric


def test_equal_numbers_have_one_position():
    domain = Domain.of_texts(
        "x", ["1", "1.0", "2"], type=ColumnType.REAL, numbers=[1, 1, 2], has_missing=True
    )
    axis = Axis.of_domain(domain, None)
    assert axis.position.tolist() == [0, 0, 1, 2]
    assert axis.is_numeric


def test_axes_of_all_columns_lie_one_after_the_other():
    letter = Domain.of_texts("letter", ["a", "b"])
    number = Domain.of_texts("number", ["3", "9"], type=ColumnType.INTEGER, numbers=[3, 9])
    tree = Hierarchy.flat().over(letter)
    cells = Cells.of_rows([letter, number], np.array([[0, 1], [1, 0]]))
    axes = Axes.of_cells(cells, ["number", "letter"], {"letter": tree})
    assert axes.position.tolist() == [1, 0, 0, 1]
    assert axes.span.tolist() == [6, 1]
    assert axes.tree_start.tolist() == [-1, 0]
    assert axes.parent.tolist() == tree.parent.tolist()
