"""The people attacked: everybody in a release, people of another table, people named by facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.beliefs.beliefs import Beliefs
from shoal.beliefs.informed import prior_beliefs
from shoal.core.cells import Cells, smallest_type
from shoal.core.domain import ColumnType, Role
from shoal.core.errors import SchemaError
from shoal.core.release import People, Published
from shoal.core.schema import Schema
from shoal.engines.sql.domains import retype
from shoal.engines.sql.table import EngineTable
from shoal.injector.known import Knowledge
from shoal.injector.nodes import codes_in
from shoal.release.opened import Release
from shoal.release.people import lines_of_keys
from shoal.release.witnesses import kinds_of_release
from shoal.workflow.read import columns_of, read


def everybody_in(release: Release) -> People:
    """Return the people of the release, each known to be in their own line if there are lines."""
    published = release.published
    if published.sliced is not None:
        return People(kinds_of_release(release, published.sliced).people)
    lines = published.lines
    return People(
        Cells(lines.domains[1:], lines.codes[:, 1:], lines.counts),
        bucket=lines.codes[:, 0],
        line=np.arange(lines.n_cells, dtype=smallest_type(lines.n_cells)),
    )


def read_people(people: Any, published: Published) -> People:
    """Read the quasi-identifiers of people who are to be found by matching.

    Values are read as the release's types demand, however they are spelled: 20.0 is the 20 of a
    whole number, True is true. A value that is not of its type fits nobody; if no value of a column
    is, DataError is raised.
    """
    quasi = published.known
    if isinstance(people, EngineTable):
        lacking = [column for column in quasi if column not in people.domains]
        if lacking:
            raise SchemaError(
                f"The people's table has no quasi-identifying column {', '.join(lacking)}.",
                hint="give every quasi-identifier of the release that role.",
            )
        return People(_as_released(people.counts(quasi), published))
    rest = _other_columns(people, quasi)
    # As texts, because other people may have values that are not of the release's type.
    types = dict.fromkeys(quasi, str(ColumnType.CATEGORICAL))
    table = read(people, Schema(quasi=quasi, identifying=rest, types=types))
    try:
        return People(_as_released(table.counts(quasi), published))
    finally:
        table.engine.close()


def _other_columns(source: Any, wanted: Sequence[str]) -> list[str]:
    return [column for column in columns_of(source) if column not in wanted]


def read_prior(source: Any, published: Published, bandwidth: Any) -> Beliefs:
    """Estimate the beliefs of an adversary who has a table with the columns of a release.

    `source` is the table itself, or data like it, with the release's quasi-identifiers and its
    sensitive column. Distances are those of numbers and of equal texts. `bandwidth` is as for
    `shoal.knowledge.prior_beliefs`.
    """
    columns = [
        column
        for column in published.manifest.columns
        if column.role in (Role.QUASI, Role.SENSITIVE)
    ]
    names = {role: [c.name for c in columns if c.role is role] for role in Role}
    types: dict[str, Any] = {c.name: c.type if c.order is None else c.order for c in columns}
    schema = Schema(
        quasi=names[Role.QUASI],
        sensitive=names[Role.SENSITIVE],
        identifying=_other_columns(source, tuple(types)),
        types={name: kind for name, kind in types.items() if kind is not ColumnType.ORDERED},
        variants=dict.fromkeys(names[Role.SENSITIVE], "distinct"),
    )
    table = read(source, schema)
    try:
        return prior_beliefs(table, bandwidth)
    finally:
        table.engine.close()


def _as_released(people: Cells, published: Published) -> Cells:
    """Return people with the column types of the release."""
    types = {column.name: column.type for column in published.manifest.columns}
    domains, codes = [], []
    for domain in people.domains:
        retyped, code = retype(domain, types[domain.column])
        domains.append(retyped)
        codes.append(code[people.column(domain.column)])
    cells = Cells(tuple(domains), np.stack(codes, axis=1), people.counts)
    return cells.select(people.columns)


def with_keys(
    release: Release,
    attacked: People,
    others: tuple[Any, str | None],
    told: Sequence[object],
    *,
    is_own: bool,
) -> People:
    """Find the attacked people whom facts name by the keys of their rows.

    `others` is the table, frame or file that these people come from and its key column, or None for
    everybody in the release. `told` is what attacks are given, of which the facts count; `is_own`
    says whether its first entry is the knowledge that the release was made against. A person whom
    the release leaves out has the cell -1, if the table is available or the release was made
    against this very knowledge.
    """
    known = [one for one in told if isinstance(one, Knowledge)]
    keys = tuple({fact.person: None for one in known for fact in one.facts})
    if not keys:
        return attacked
    is_own = is_own and len(known) == 1 and known[0] is told[0]
    return replace(attacked, cell_of_key=_cells_of_keys(release, attacked, others, keys, is_own))


def _cells_of_keys(
    release: Release,
    attacked: People,
    others: tuple[Any, str | None],
    keys: Sequence[str],
    is_own: bool,
) -> dict[str, int] | None:
    """Return the cell of each person; None if nothing tells whose row is whose."""
    published = release.published
    people, key = others
    shape = release.manifest.shape
    if shape.hides_cells or not shape.has_lines:
        return None
    if people is not None:
        return _cells_of_others(published, attacked, people, key, keys)
    if release.making is None and release.internal is None:
        return None
    found = lines_of_keys(release, published, keys)
    if release.making is not None:
        left_out = list(release.making.table.codes_of_keys(keys))
    else:
        left_out = list(keys) if is_own else []
    return dict.fromkeys(left_out, -1) | found


def _cells_of_others(
    published: Published, attacked: People, people: Any, key: str | None, keys: Sequence[str]
) -> dict[str, int] | None:
    """Find people of another table by their keys, if it has them."""
    if isinstance(people, EngineTable):
        return None if people.schema.key is None else _cells_by_text(attacked, people, keys)
    if key is None:
        return None
    quasi = published.manifest.columns_of(Role.QUASI)
    types = dict.fromkeys(quasi, str(ColumnType.CATEGORICAL))
    rest = [column for column in columns_of(people) if column not in quasi]
    table = read(people, Schema(quasi=quasi, identifying=rest, types=types, key=key))
    try:
        return _cells_by_text(attacked, table, keys)
    finally:
        table.engine.close()


def _cells_by_text(attacked: People, table: EngineTable, keys: Sequence[str]) -> dict[str, int]:
    quasi = attacked.quasi
    place = {tuple(row): cell for cell, row in enumerate(quasi.codes.tolist())}
    cells: dict[str, int] = {}
    for key, codes in table.codes_of_keys(keys).items():
        texts = [table.domains[column].text(codes[column]) for column in quasi.columns]
        own = [codes_in(d, [text])[0] for d, text in zip(quasi.domains, texts, strict=True)]
        cells[key] = place.get(tuple(map(int, own)), -1)
    return cells
