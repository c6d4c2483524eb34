"""Build, check and show hierarchies: the files that the steward edits by hand.

A rule is applied to all values of a column, and every value gets its line in ARX's format, so that
the file can be read and changed before it is used.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from shoal.core.arrays import Texts
from shoal.core.documents import read_whole_text
from shoal.core.domain import Domain
from shoal.core.errors import DataError, EngineError, ParameterError, SchemaError
from shoal.core.schema import Schema, suggest_column
from shoal.core.tree import Tree
from shoal.engines.sql.domains import build_domain, infer_type, refuse_reserved
from shoal.engines.sql.table import EngineTable
from shoal.hierarchies.guided import guided_hierarchy
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.rows import write_rows
from shoal.workflow.read import columns_of, read

_MOST_SHOWN = 200


@dataclass(frozen=True, eq=False)
class Outline:
    """A hierarchy over the values of a column, as the command line shows it."""

    tree: Tree
    # The file it was read from or written to.
    path: Path
    # Leaves of the file that no value of the column has; None if no column was given.
    n_unused: int | None = None

    @property
    def nodes_by_level(self) -> tuple[int, ...]:
        """The number of nodes at each level, from the leaves to the root."""
        return tuple(np.bincount(self.tree.level, minlength=self.tree.height + 1).tolist())

    def to_dict(self) -> dict[str, object]:
        """Return the outline as JSON holds it, without any label."""
        return {
            "file": str(self.path),
            "column": self.tree.column,
            "height": self.tree.height,
            "leaves": self.tree.n_leaves,
            "nodes_by_level": list(self.nodes_by_level),
            "unused_leaves": self.n_unused,
        }

    def nested(self, most: int = _MOST_SHOWN) -> tuple[Mapping[str, Any], int]:
        """Return labels as nested mappings from the root, and the number of nodes left out.

        At most `most` nodes are returned, those nearest to the root first.
        """
        tree, shown = self.tree, self._shown(most)
        nested: dict[int, dict[str, Any]] = {node: {} for node in shown}
        for node in sorted(shown, key=lambda node: int(tree.first[node])):
            if node != tree.root:
                label = tree.labels[node]
                parent = nested[int(tree.parent[node])]
                parent["(missing)" if label is None else str(label)] = nested[node]
        return {"*": nested[tree.root]}, tree.n_nodes - len(shown)

    def _shown(self, most: int) -> set[int]:
        """Choose nodes from the root downwards, breadth first, so that no branch hides another."""
        shown = [self.tree.root]
        for node in shown:
            room = most - len(shown)
            if room <= 0:
                break
            shown += self.tree.children(node)[:room].tolist()
        return set(shown)


def build(
    hierarchy: Hierarchy,
    domain: Domain,
    path: str | os.PathLike[str],
    *,
    counts: Sequence[int] | None = None,
    replace: bool = False,
) -> Outline:
    """Apply a rule to the values of a column, and write one line per value in ARX's format.

    `counts`, the number of rows with each value, serves for quantiles.
    """
    file = Path(path)
    if file.exists() and not replace:
        raise ParameterError(
            f"{file} already exists.", hint="choose another name, or replace it: --replace."
        )
    tree = hierarchy.over(domain, counts)
    rows = tree.rows()
    # Refuses rows that could not be read back.
    Hierarchy.from_rows(rows, column=domain.column)
    write_rows(file, rows)
    return Outline(tree, file)


def check(path: str | os.PathLike[str], domain: Domain | None = None) -> Outline:
    """Check a hierarchy file against itself and, if a column is given, against its values.

    Raises SchemaError if rows contradict each other, or a value of the column is not a leaf.
    """
    file = Path(path)
    name = file.stem if domain is None else domain.column
    hierarchy = Hierarchy.from_csv(file, column=name)
    leaves = [row[0] for row in hierarchy.rows]
    if domain is None:
        texts = [leaf for leaf in leaves if leaf is not None]
        own = Domain.of_texts(name, texts, has_missing=None in leaves)
        return Outline(hierarchy.over(own), file)
    return Outline(hierarchy.over(domain), file, len(set(leaves) - set(domain.labels())))


def domain_of_column(source: Any, column: str, **options: str | None) -> tuple[Domain, list[int]]:
    """Return the values of a column, and the number of rows with each.

    Options are as for `shoal.read`; the other columns are not read.
    """
    table = _read_columns(source, [column], options)
    try:
        return table.domains[column], table.counts([column]).counts.tolist()
    finally:
        table.engine.close()


def guided(
    source: Any, column: str, by: str, *, levels: int | None = None, **options: str | None
) -> tuple[Hierarchy, Domain]:
    """Build a hierarchy that keeps values apart which differ in the sensitive column `by`.

    Returns the hierarchy, and the values of the column. Options are as for `shoal.read`.

    Examples
    --------
    >>> people = {"age": [20, 21, 40, 41], "disease": ["flu", "flu", "pox", "flu"]}
    >>> hierarchy, _ = guided(people, "age", "disease", levels=1)
    >>> [row[1] for row in hierarchy.rows]
    [']-inf, 30[', ']-inf, 30[', '[30, +inf[', '[30, +inf[']
    """
    columns = list(dict.fromkeys([column, by]))
    table = _read_columns(source, columns, options)
    try:
        cells = table.counts(columns)
        return guided_hierarchy(cells, column, by, levels=levels), table.domains[column]
    finally:
        table.engine.close()


def _read_columns(
    source: Any, wanted: Sequence[str], options: Mapping[str, str | None]
) -> EngineTable:
    given: dict[str, Any] = {k: value for k, value in options.items() if value is not None}
    columns = columns_of(source, **given)
    for column in wanted:
        if column not in columns:
            raise SchemaError(
                f"The table has no column {column!r}.",
                hint=suggest_column(column, columns),
            )
    rest = [name for name in columns if name not in wanted]
    # Here roles only decide which columns are read.
    return read(source, Schema(quasi=wanted, identifying=rest), **given)


def domain_of_values(column: str, values: Sequence[str]) -> Domain:
    """Return the domain of listed values; their type is inferred, as that of a CSV column.

    Examples
    --------
    >>> domain_of_values("age", ["9", "10"]).texts.tolist()
    ['9', '10']
    """
    texts: Texts = np.array([*dict.fromkeys(values), None], dtype=object)[:-1]
    if not len(texts):
        raise DataError("There are no values to build a hierarchy over.")
    refuse_reserved(column, texts)
    return build_domain(column, infer_type(texts), texts.tolist())[0]


def read_values(path: str | os.PathLike[str]) -> list[str]:
    """Read a list of values, one per line; empty lines are skipped."""
    file = Path(path)
    try:
        text = read_whole_text(file, encoding="utf-8-sig")
    except OSError as error:
        raise EngineError(f"The list {file} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise DataError(f"{file.name} is not UTF-8.", hint="save it as UTF-8.") from None
    return [line for line in text.split("\n") if line]
