"""Rules about private cells of tables whose numbers are cut into intervals first."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import SchemaError
from shoal.core.private_cells import PrivateCells
from shoal.core.schema import Schema
from shoal.core.table import Rows
from shoal.hiding.discretisation import Discretisation
from shoal.workflow.mine import PrivateMining


def table_of(people) -> tuple[SimpleNamespace, np.ndarray]:
    numbers = sorted({age for age, _, _ in people if age is not None})
    has_missing = any(age is None for age, _, _ in people)
    domains = (
        Domain.of_texts(
            "age",
            [str(number) for number in numbers],
            type=ColumnType.INTEGER,
            numbers=[float(number) for number in numbers],
            has_missing=has_missing,
        ),
        Domain.of_texts("town", ["x", "y"]),
    )
    of_age = domains[0].codes_of([None if age is None else str(age) for age, _, _ in people])
    of_town = domains[1].codes_of([town for _, town, _ in people])
    codes = np.column_stack([of_age, of_town]).astype(np.int32)
    keys = np.array([str(row) for row in range(len(people))], dtype=object)
    marks = np.array([[is_private, False] for _, _, is_private in people])
    rows = Rows(domains, codes, keys)
    return (
        SimpleNamespace(
            row_codes=lambda cap: rows,  # noqa: ARG005
            marked=lambda cells, cap: marks,  # noqa: ARG005
            schema=Schema(quasi=["age", "town"]),
        ),
        marks,
    )


def test_rules_are_mined_from_the_intervals():
    people = [(20 + row, "x" if row < 10 else "y", False) for row in range(20)]
    table, marks = table_of(people)
    marks[:] = False
    marks[4, 1] = True
    how = {"age": Discretisation.of("age", {"width": 10})}
    mining = PrivateMining(private=PrivateCells.of("town"), gamma=3, discretise=how)
    assert [dict(rule.antecedent) for rule in mining.of(table)] == [{"age": "25"}]
    assert not PrivateMining(private=PrivateCells.of("town"), gamma=3).of(table)


@pytest.mark.parametrize("column", ["height", "town"])
def test_columns_that_cannot_be_cut_are_refused(column):
    table, _ = table_of([(20, "x", False), (30, "y", True)])
    how = {column: Discretisation.of(column, {"width": 10})}
    with pytest.raises(SchemaError, match=column):
        PrivateMining(private=PrivateCells.of("town"), discretise=how).of(table)
