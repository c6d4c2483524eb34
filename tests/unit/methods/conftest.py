"""Problems made from texts, without an engine."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.hierarchy import Hierarchy
from shoal.core.method import Method, Problem
from shoal.core.plan import Plan
from shoal.core.schema import Schema
from shoal.core.secret import Secret


def _domain(column: str, texts: Sequence[str | None], kind: ColumnType) -> Domain:
    present = sorted({text for text in texts if text is not None})
    numbers = None
    if kind is ColumnType.DATE:
        numbers = [float(np.datetime64(text, "D").astype(int)) for text in present]
    elif kind.is_numeric:
        present.sort(key=float)
        numbers = [float(text) for text in present]
    return Domain.of_texts(column, present, type=kind, numbers=numbers, has_missing=None in texts)


@pytest.fixture
def make_problem() -> Callable[..., Problem]:
    """Make the problem of a method on a table of texts; the last column is sensitive."""

    def make(
        method: Method,
        columns: Mapping[str, Sequence[str | None]],
        *,
        types: Mapping[str, str] | None = None,
        hierarchies: Mapping[str, Hierarchy] | None = None,
        has_sensitive: bool = True,
        seed: int = 1,
    ) -> Problem:
        names = list(columns)
        kinds = {name: ColumnType((types or {}).get(name, "categorical")) for name in names}
        domains = [_domain(name, columns[name], kinds[name]) for name in names]
        codes = [domain.codes_of(list(columns[domain.column])) for domain in domains]
        schema = Schema(
            quasi=names[:-1] if has_sensitive else names,
            sensitive=names[-1] if has_sensitive else None,
            hierarchies=hierarchies,
        )
        method.check_schema(schema)
        cells = Cells.of_rows(domains, np.stack(codes, axis=1))
        trees = {name: found.over(cells.domain(name)) for name, found in schema.hierarchies.items()}
        return Problem(
            cells.select(method.class_columns(schema)), schema, trees, Secret.from_seed(seed)
        )

    return make


@pytest.fixture
def contents() -> Callable[[Plan], list[Counter[tuple[str | None, ...]]]]:
    """List what each bucket of a plan holds, as texts of the method's classes."""

    def read(plan: Plan) -> list[Counter[tuple[str | None, ...]]]:
        texts = [
            tuple(domain.text(code) for domain, code in zip(plan.classes.domains, row, strict=True))
            for row in plan.classes.codes.tolist()
        ]
        found: list[Counter[tuple[str | None, ...]]] = [Counter() for _ in range(plan.n_buckets)]
        group, _, bucket = plan.assign.expand()
        for cell, number in zip(group.tolist(), bucket.tolist(), strict=True):
            found[number][texts[cell]] += 1
        return found

    return read
