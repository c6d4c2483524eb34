"""Run the method of a release again, on other rows.

- `algorithm_of`: an adversary who knows the algorithm runs it over the people of an external table.
- `publish_part`: a part of the table is published by itself, as measures with folds need it.
- `run_trials`: an attack that needs a trial gets a published part and the rest held out. The part
  is drawn by a generator that the release's secret seeds.

Rows are held as codes and staged in an engine of their own; none of them is ever written. They keep
their keys, and their private cells are those of the table, whose filters may depend on columns that
are no longer available.
"""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.core import registry
from shoal.core.arrays import Codes, Counts, Flags, Texts
from shoal.core.attack import Trial, TrialPlan, Trials
from shoal.core.cells import Cells, group
from shoal.core.declared import changed
from shoal.core.domain import ColumnType, Domain, Role
from shoal.core.errors import (
    DataError,
    EngineError,
    InfeasibleError,
    ParameterError,
    SchemaError,
)
from shoal.core.levelled import at_levels
from shoal.core.levels import declared_anew
from shoal.core.method import Algorithm, Method
from shoal.core.private_cells import PrivateCells
from shoal.core.release import People, Published
from shoal.core.schema import ColumnDeclaration, Schema
from shoal.core.secret import Secret
from shoal.core.sharing import once
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.core.table import MOST_ROWS, Rows, Table
from shoal.engines.duckdb.engine import DuckDB
from shoal.engines.sql.marking import mark_cells
from shoal.engines.sql.table import EngineTable
from shoal.locating.location import Locations, matching_buckets
from shoal.release.opened import Making, Release
from shoal.slicing.column_generalization import apply_recode
from shoal.slicing.fake_tuples import ValuesByBucket, count_fakes
from shoal.workflow.anonymize import made_release, problem_of


def algorithm_of(release: Release, external: Table) -> Algorithm:
    """Make the method of a release again, over the people of an external table.

    The external table has everybody's quasi-identifiers; a sensitive column of it serves at most to
    find who is in which bucket. Raises ParameterError if the manifest does not state every
    parameter, and SchemaError if the external table lacks a quasi-identifier.
    """
    manifest = release.manifest
    method = registry.find("shoal.methods", manifest.method)
    try:
        made = method(**manifest.parameters)
    except TypeError:
        raise ParameterError(
            f"The manifest does not state every parameter of {manifest.method}."
        ) from None
    levels = [
        one for one in manifest.levels if one.node_level is None or one.column in external.trees
    ]
    external = at_levels(external, levels)
    _confirm_columns(release, external)
    schema = external.schema
    algorithm = Algorithm(made, schema, external.trees, external.counts(schema.quasi))
    return replace(algorithm, located=_located(release, algorithm, external))


def _located(release: Release, algorithm: Algorithm, external: Table) -> Codes | None:
    """Find everybody's bucket by forming the buckets of the table again.

    Labels may overlap, so matching may leave open who is where; that people are in their own bucket
    is the worst case. None if the table does not tell.
    """
    published = release.levelled
    buckets, people = published.buckets, algorithm.people
    if buckets is None or buckets.domain.column not in external.domains:
        return None
    cells = external.counts((*people.columns, buckets.domain.column))
    codes = buckets.domain.codes_of(external.domains[buckets.domain.column].labels())
    value = codes[cells.column(buckets.domain.column)]
    if len(value) and value.min() < 0:
        return None
    kind = cells.select_with_inverse(people.columns)[1]
    table = np.zeros((people.n_cells, buckets.domain.size), dtype=np.int64)
    np.add.at(table, (kind, value), cells.counts)
    formed = algorithm.buckets(table, buckets.domain)
    if formed is None:
        return None
    held = np.zeros((int(formed.max()) + 1, buckets.domain.size), dtype=np.int64)
    np.add.at(held, formed, table)
    shown = np.zeros((buckets.n_buckets, buckets.domain.size), dtype=np.int64)
    shown[buckets.bucket, buckets.value] = buckets.count
    found = matching_buckets(published, People(people))
    bucket = _joined(formed, found, held, shown)
    return None if bucket is None else np.asarray(bucket[formed], dtype=np.int64)


def _joined(formed: Codes, found: Locations, held: Counts, shown: Counts) -> Codes | None:
    """Return, for each bucket formed again, its bucket of the release; None if one is lost.

    Buckets with equal contents that fit each other's people cannot be told apart, and need not be.
    Those that show the same labels are one bucket of the release. `formed` is the bucket of each
    kind of people, `found` the buckets that each kind fits, and `held` and `shown` count the values
    per bucket.
    """
    pairs, n_fitting = np.unique(
        formed[found.person] * len(shown) + found.bucket, return_counts=True
    )
    new, old = np.divmod(pairs, len(shown))
    fits = n_fitting == np.bincount(formed)[new]
    new, old = new[fits], old[fits]
    is_same = np.all(held[new] == shown[old], axis=1)
    ones = np.ones(np.count_nonzero(is_same), dtype=np.int8)
    # scipy takes long to import.
    from scipy.sparse import csr_array  # noqa: PLC0415
    from scipy.sparse.csgraph import maximum_bipartite_matching  # noqa: PLC0415

    same = csr_array((ones, (new[is_same], old[is_same])), shape=(len(held), len(shown)))
    bucket = maximum_bipartite_matching(same, perm_type="column").astype(np.int64)
    left = shown.copy()
    np.subtract.at(left, bucket[bucket >= 0], held[bucket >= 0])
    while (bucket < 0).any():
        has_room = (bucket[new] < 0) & np.all(held[new] <= left[old], axis=1)
        is_only = has_room & (np.bincount(new[has_room], minlength=len(held)) == 1)[new]
        # If several compete for the room of one bucket, the first takes it, and the search repeats.
        taken = np.flatnonzero(is_only)[np.unique(old[is_only], return_index=True)[1]]
        if not len(taken):
            return None
        bucket[new[taken]] = old[taken]
        np.subtract.at(left, old[taken], held[new[taken]])
    return np.asarray(bucket, dtype=np.int64)


def _confirm_columns(release: Release, external: Table) -> None:
    manifest = release.manifest
    quasi = manifest.columns_of(Role.QUASI)
    if set(quasi) != set(external.schema.quasi):
        raise SchemaError(
            "The external table must have the quasi-identifiers of the release: "
            f"{', '.join(quasi)}.",
            hint="give these columns that role, and no others.",
        )
    if manifest.parameters.get("distance") == "hierarchical":
        _confirm_values(release, external)


def _confirm_values(release: Release, external: Table) -> None:
    """Refuse a table whose hierarchy of the sensitive column covers other values."""
    buckets = release.levelled.buckets
    column = "" if buckets is None else buckets.domain.column
    values = external.domains[column].labels() if column in external.trees else None
    if buckets is None or values != buckets.domain.labels():
        raise SchemaError(
            "The method uses the hierarchy of the sensitive column: the external table must have "
            "it, with the same values."
        )


def publish_part(making: Making, rows: Rows, members: Codes, method: Method) -> Published:
    """Publish some rows of a table, `members`, as the release of the whole table was made."""
    secret = making.secret
    own = Secret(secret.derive("held-out release"), is_test=secret.is_test)
    with _table_of_part(making.table, rows, members) as table:
        cells = method.private_cells
        private = None if cells is None else _marked(making.table, cells)
        problem = problem_of(table, method, own, private)
        return made_release(table, method, problem).published


class _StagedParts(contextlib.ExitStack):
    """Parts of one table that stay staged, so that several methods publish the same parts."""

    def __init__(self, whole: EngineTable) -> None:
        super().__init__()
        self.whole = whole
        self.n_rows = 0
        self.parts: dict[bytes, EngineTable] = {}


_staged: ContextVar[_StagedParts | None] = ContextVar("_staged", default=None)
_MOST_STAGED = MOST_ROWS
"""Up to this many rows stay staged in parts; other parts are staged each time they are needed."""


@contextlib.contextmanager
def shared_parts(table: EngineTable) -> Iterator[None]:
    """Keep the parts of a table staged until the context ends, for all releases made of it."""
    with _StagedParts(table) as staged:
        before = _staged.set(staged)
        try:
            yield
        finally:
            _staged.reset(before)


@contextlib.contextmanager
def _table_of_part(whole: EngineTable, rows: Rows, members: Codes) -> Iterator[EngineTable]:
    """Stage some rows of a table, or return them as they were staged before."""
    staged, schema = _staged.get(), schema_of_rows(whole)
    if staged is None or staged.whole is not whole:
        with table_of_rows(rows, members, schema) as table:
            yield table
        return
    assert rows.keys is not None
    # The key of a row identifies it, whether `rows` is the whole table or drawn from it.
    digest = hashlib.sha256(repr(rows.keys[members].tolist()).encode()).digest()
    if digest not in staged.parts:
        if staged.n_rows + len(members) > _MOST_STAGED:
            with table_of_rows(rows, members, schema) as table:
                yield table
            return
        staged.parts[digest] = staged.enter_context(table_of_rows(rows, members, schema))
        staged.n_rows += len(members)
    yield staged.parts[digest]


@contextlib.contextmanager
def table_of_rows(rows: Rows, members: Codes | slice, schema: Schema) -> Iterator[EngineTable]:
    """Stage some rows as a table in an engine of its own, with the schema of `schema_of_rows`."""
    assert rows.keys is not None
    assert schema.key is not None
    columns: dict[str, Texts] = {
        domain.column: _texts(domain)[rows.codes[members, place]]
        for place, domain in enumerate(rows.domains)
    }
    engine = DuckDB()
    try:
        scan = engine.scan({schema.key: rows.keys[members], **columns})
        yield EngineTable(engine, scan, schema)
    finally:
        engine.close()


def schema_of_rows(table: EngineTable) -> Schema:
    """Return the roles and types of the columns that guarantees are about."""
    schema, coded = table.schema, table.schema.coded
    return Schema(
        quasi=schema.quasi,
        sensitive=schema.sensitive,
        hierarchies={name: one for name, one in schema.hierarchies.items() if name in coded},
        types={name: _declaration(table, name) for name in coded},
        key=_free_name(coded),
        # The spellings that remain are those that the steward keeps apart.
        variants=dict.fromkeys(schema.sensitive, "distinct"),
        levels=declared_anew(table.levels, schema.sensitive, schema.quasi),
    )


def _marked(table: EngineTable, cells: PrivateCells) -> Callable[[Rows], Flags]:
    """Return a function that marks the private cells of a part as they are marked in the table."""
    rows = table.row_codes(MOST_ROWS)
    assert rows.keys is not None
    marks = mark_cells(table, cells, rows)
    place_of = {key: place for place, key in enumerate(rows.keys.tolist())}

    def marked(part: Rows) -> Flags:
        assert part.keys is not None
        chosen: Flags = marks[[place_of[key] for key in part.keys.tolist()]]
        return chosen

    return marked


def _texts(domain: Domain) -> Texts:
    texts: Texts = np.array([*domain.labels(), None], dtype=object)[:-1]
    return texts


def _free_name(columns: Sequence[str]) -> str:
    """Return a name for the key that no column has, in any case."""
    taken = {column.lower() for column in columns}
    name = "row_key"
    while name in taken:
        name += "_"
    return name


def _declaration(table: EngineTable, column: str) -> ColumnDeclaration:
    domain = table.domains[column]
    is_ordered = domain.type is ColumnType.ORDERED
    return ColumnDeclaration(domain.type, tuple(domain.texts.tolist()) if is_ordered else None)


_AS_RELEASED = "as in the release"
_GROUPINGS = {"by similarity": "mondrian", "by dissimilarity": "dissimilar", "at random": "random"}
"""The ways of grouping rows that are compared, and the method's values for them."""


def run_trials(release: Release, plan: TrialPlan) -> Trials:
    """Publish a part of the table of a release, in the ways that an attack asks for.

    Without the table nothing can be tried, and the result says why.
    """
    making = release.making
    if making is None:
        return Trials(left_out="the table is not at hand")
    counted = _count_fakes(making, release.published.sliced, plan.max_steps)
    if making.repairs:
        return replace(counted, left_out="buckets were merged after the method")
    if not making.table.schema.quasi:
        return replace(counted, left_out="nothing is known of people")
    table, n_most, key = making.table, plan.max_rows, making.secret.derive("held-out rows")
    rows = once((table,), (n_most, key), lambda: table.sampled_codes(n_most, key))
    n_members = round(plan.split * rows.n_rows)
    if not 0 < n_members < rows.n_rows:
        return replace(counted, left_out=f"{rows.n_rows} rows cannot be parted")
    order = making.secret.generator("held-out part").permutation(rows.n_rows)
    split = _Split(making, rows, np.sort(order[:n_members]), np.sort(order[n_members:]))
    method = making.method.settled(making.plan.notes)
    trials = [split.tried(_AS_RELEASED, method, {})]
    if plan.compare and hasattr(method, "buckets"):
        size = getattr(method, "bucket_size", None) or _mean_size(release.published)
        trials += [
            split.tried(name, method, {"buckets": word, "bucket_size": size})
            for name, word in _GROUPINGS.items()
        ]
    return replace(counted, trials=tuple(trials))


def _mean_size(published: Published) -> int:
    return max(round(published.manifest.n_rows / max(published.n_buckets, 1)), 1)


@dataclass(frozen=True, eq=False)
class _Split:
    """A table split into the rows that are published and those that are held out."""

    making: Making
    rows: Rows
    members: Codes
    others: Codes

    def tried(self, name: str, method: Method, changes: Mapping[str, Any]) -> Trial:
        """Publish the part by a method, with some parameters changed."""
        published, refusal = None, None
        try:
            published = publish_part(
                self.making, self.rows, self.members, changed(method, **changes)
            )
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


# --- fake tuples ----------------------------------------------------------------------------------


def _count_fakes(making: Making, sliced: Sliced | None, max_steps: int) -> Trials:
    """Count the tuples of the table and the fakes of a sliced release, sensitive values included.

    An attack sees no sensitive value, but it may know how many tuples match.
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
    """Return the value of a column that each cell of the table is published with."""
    names = column.attributes
    ours = [column.values.column(name) for name in names]
    theirs = [
        column.values.domain(name).codes_of(cells.domain(name).labels())[cells.column(name)]
        for name in names
    ]
    both = [np.concatenate(pair) for pair in zip(ours, theirs, strict=True)]
    sizes = [column.values.domain(name).size for name in names]
    # The first of equal values is the published one, because those come before the table's cells.
    first, inverse = group(both, sizes, column.values.n_cells + cells.n_cells)
    return first[inverse[column.values.n_cells :]]
