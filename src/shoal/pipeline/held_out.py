"""Publish a part of a table as a release was made of it, and hold out the rest.

The part is drawn by a generator that the release's secret seeds, and published in memory, by an
engine of its own; nothing of it is ever written. Its rows keep their keys, and its private cells
are those of the table, whose filters may go by columns that are not at hand any more.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.core.cells import Cells, Codes, group
from shoal.core.domain import ColumnType, Domain, Texts
from shoal.core.errors import (
    DataError,
    EngineError,
    InfeasibleError,
    ParameterError,
    SchemaError,
)
from shoal.core.held_out import HeldOutAttack, Trial, Trials
from shoal.core.method import Method
from shoal.core.private_cells import Marks, PrivateCells
from shoal.core.release import People, Published
from shoal.core.rows import MOST_ROWS, Rows
from shoal.core.schema import ColumnDeclaration, Schema
from shoal.core.secret import Secret
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.engines.duckdb import DuckDB
from shoal.engines.marking import mark_cells
from shoal.engines.table import EngineTable
from shoal.knowledge.column_generalization import apply_recode
from shoal.knowledge.fake_tuples import ValuesByBucket, count_fakes
from shoal.pipeline.anonymize import made_release, problem_of
from shoal.pipeline.release import Making, Release

__all__ = ["run_trials"]

_AS_RELEASED = "as in the release"
_GROUPINGS = {"by similarity": "mondrian", "by dissimilarity": "dissimilar", "at random": "random"}
"""The ways to group rows that are compared, and the method's words for them."""


def run_trials(release: Release, attack: HeldOutAttack) -> Trials:
    """Publish a part of the table of a release, in the ways that an attack asks for.

    Parameters
    ----------
    release
        The release; without its table nothing can be tried.
    attack
        What the trials are for.
    """
    making = release.making
    if making is None:
        return Trials(left_out="the table is not at hand")
    counted = _count_fakes(making, release.published.sliced, attack.max_steps)
    if making.method is None:
        return replace(counted, left_out="buckets were merged after the method")
    if not making.table.schema.quasi:
        return replace(counted, left_out="nothing is known of people")
    rows = making.table.sampled_codes(attack.max_rows, making.secret.derive("held-out rows"))
    n_members = round(attack.split * rows.n_rows)
    if not 0 < n_members < rows.n_rows:
        return replace(counted, left_out=f"{rows.n_rows} rows cannot be parted")
    order = making.secret.generator("held-out part").permutation(rows.n_rows)
    parting = _Parting(making, rows, np.sort(order[:n_members]), np.sort(order[n_members:]))
    method = making.method.settled(making.plan.notes)
    trials = [parting.tried(_AS_RELEASED, method, {})]
    if attack.compare and hasattr(method, "buckets"):
        size = getattr(method, "bucket_size", None) or _mean_size(release.published)
        trials += [
            parting.tried(name, method, {"buckets": word, "bucket_size": size})
            for name, word in _GROUPINGS.items()
        ]
    return replace(counted, trials=tuple(trials))


def _mean_size(published: Published) -> int:
    return max(round(published.manifest.n_rows / max(published.n_buckets, 1)), 1)


@dataclass(frozen=True, eq=False)
class _Parting:
    """The rows of a table, parted.

    Parameters
    ----------
    making
        What only the maker of the release knows.
    rows
        The rows that take part.
    members, others
        The places of those that are published, and of those that are held out.
    """

    making: Making
    rows: Rows
    members: Codes
    others: Codes

    def tried(self, name: str, method: Method, changes: Mapping[str, Any]) -> Trial:
        """Publish the part by a method, some parameters changed."""
        published, refusal = None, None
        try:
            published = self._published(replace(method, **changes))
        except (DataError, EngineError, InfeasibleError, ParameterError, SchemaError) as error:
            refusal = error.fact
        return Trial(
            name, self._people(self.members), self._people(self.others), published, refusal
        )

    def _people(self, places: Codes) -> People:
        quasi = self.making.table.schema.quasi
        columns = [self.rows.columns.index(name) for name in quasi]
        domains = [self.rows.domains[column] for column in columns]
        codes = self.rows.codes[places][:, columns].astype(np.int64)
        return People(Cells.of_rows(domains, codes))

    def _published(self, method: Method) -> Published:
        secret = self.making.secret
        own = Secret(secret.derive("held-out release"), is_test=secret.is_test)
        with self._part() as table:
            private = None if method.private_cells is None else self._marked(method.private_cells)
            problem = problem_of(table, method, own, private)
            return made_release(table, method, problem).published

    @contextlib.contextmanager
    def _part(self) -> Iterator[EngineTable]:
        """Give the part as a table of an engine of its own."""
        rows, keys = self.rows, self.rows.keys
        assert keys is not None
        columns: dict[str, Texts] = {
            domain.column: _texts(domain)[rows.codes[self.members, place]]
            for place, domain in enumerate(rows.domains)
        }
        key = _free_name(rows.columns)
        schema = _schema_of_part(self.making.table, key)
        engine = DuckDB()
        try:
            scan = engine.scan({key: keys[self.members], **columns})
            yield EngineTable(engine, scan, schema)
        finally:
            engine.close()

    def _marked(self, cells: PrivateCells) -> Callable[[Rows], Marks]:
        """Mark the private cells of the part as they are marked in the table."""
        table = self.making.table
        rows = table.row_codes(MOST_ROWS)
        assert rows.keys is not None
        marks = mark_cells(table, cells, rows)
        place_of = {key: place for place, key in enumerate(rows.keys.tolist())}

        def marked(part: Rows) -> Marks:
            assert part.keys is not None
            chosen: Marks = marks[[place_of[key] for key in part.keys.tolist()]]
            return chosen

        return marked


def _texts(domain: Domain) -> Texts:
    texts: Texts = np.array([*domain.labels(), None], dtype=object)[:-1]
    return texts


def _free_name(columns: Sequence[str]) -> str:
    """Give a name for the key that no column has, whatever the case."""
    taken = {column.lower() for column in columns}
    name = "row_key"
    while name in taken:
        name += "_"
    return name


def _schema_of_part(table: EngineTable, key: str) -> Schema:
    """Give the roles of the columns that guarantees are about, and the types that they have."""
    schema, coded = table.schema, table.schema.coded
    return Schema(
        quasi=schema.quasi,
        sensitive=schema.sensitive,
        hierarchies={name: one for name, one in schema.hierarchies.items() if name in coded},
        types={name: _declaration(table, name) for name in coded},
        key=key,
    )


def _declaration(table: EngineTable, column: str) -> ColumnDeclaration:
    domain = table.domains[column]
    is_ordered = domain.type is ColumnType.ORDERED
    return ColumnDeclaration(domain.type, tuple(domain.texts.tolist()) if is_ordered else None)


# --- fake tuples ----------------------------------------------------------------------------------


def _count_fakes(making: Making, sliced: Sliced | None, max_steps: int) -> Trials:
    """Count the tuples of the table and the fakes of a sliced release, sensitive values included.

    An attack sees no sensitive value; how many tuples match, it may know.
    """
    if sliced is None:
        return Trials()
    if sliced.layout.is_overlapping:
        return Trials(not_counted="not counted: columns share attributes")
    cells = apply_recode(making.table.counts(making.table.schema.coded), making.plan.recode)
    columns = [
        ValuesByBucket(column.bucket, column.value, sliced.n_buckets, column.values.n_cells)
        for column in sliced.columns
    ]
    tuples = np.column_stack([_value_of(column, cells) for column in sliced.columns])
    try:
        found = count_fakes(columns, tuples, max_steps=max_steps)
    except InfeasibleError as error:
        return Trials(not_counted=f"not counted: {error.fact}")
    return Trials(originals=found.originals, fakes=found.fakes)


def _value_of(column: SlicedColumn, cells: Cells) -> Codes:
    """Give the value of a column that each cell of the table is published with."""
    names = column.attributes
    ours = [column.values.column(name) for name in names]
    theirs = [
        column.values.domain(name).codes_of(cells.domain(name).labels())[cells.column(name)]
        for name in names
    ]
    both = [np.concatenate(pair) for pair in zip(ours, theirs, strict=True)]
    sizes = [column.values.domain(name).size for name in names]
    # The first of equal ones is the published value: those stand before the table's cells.
    first, inverse = group(both, sizes, column.values.n_cells + cells.n_cells)
    return first[inverse[column.values.n_cells :]]
