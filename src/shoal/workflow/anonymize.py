"""Anonymize a table: summarise, plan, apply, verify."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from shoal.core.arrays import Flags
from shoal.core.domain import Role
from shoal.core.errors import DataError, GuaranteeError, ParameterError, SchemaError
from shoal.core.guarantees import Guarantee
from shoal.core.levelled import at_levels
from shoal.core.levels import Level
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.method import Method, Problem
from shoal.core.plan import Plan
from shoal.core.progress import DEFAULT_MAX_WORK, Progress, silent
from shoal.core.registry import snake_case
from shoal.core.secret import Secret
from shoal.core.shapes import BUCKET, COUNT, Contents
from shoal.core.table import MOST_ROWS, Rows, Table
from shoal.core.version import __version__
from shoal.engines.sql.apply import apply_plan
from shoal.engines.sql.marking import mark_cells
from shoal.engines.sql.staged_files import StagedFiles, without_places
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Counts, Making, Release
from shoal.release.people import cells_of_keys
from shoal.release.published_columns import (
    least_frequency,
    meanings_of,
    published_hierarchies,
    shown_meanings,
    shown_rows,
    with_orders,
    with_shown_types,
)
from shoal.release.seal import write_release
from shoal.release.verify import Status, too_large, verify
from shoal.release.witnesses import seal_witnesses, with_tables_written
from shoal.workflow.confirming import refuse_unconfirmed


def anonymize(
    table: Table,
    method: Method,
    seed: int | str | None = None,
    *,
    earlier: Sequence[str | os.PathLike[str]] = (),
    max_work: int = DEFAULT_MAX_WORK,
    progress: Progress = silent,
) -> Release:
    """Anonymize a table, and check the result.

    Parameters
    ----------
    table
        The table, as `shoal.read` returns it.
    method
        The method, such as `shoal.Anatomy(ell=3)` or `shoal.Mondrian(k=5)`.
    seed
        Makes the release repeatable, and marks it as a test: anyone who knows the seed can undo
        whatever is drawn from it. Default: 256 secret bits are drawn.
    earlier
        The public folders of earlier releases of the same people, beside their internal folders.
        The guarantees about sensitive values then also hold against a reader of all of them (joint
        safety). Default: none.
    max_work
        The number of operations that verifying the release may take, now and when it is written.
        A release that cannot be verified within them is refused. Default: 2e9.
    progress
        Called with the name of each step. Default: nothing is reported.

    Returns
    -------
    A release that keeps its guarantees; `Release.write` publishes it.

    Raises
    ------
    InfeasibleError
        If the method cannot reach what is asked for, or not beside the earlier releases; the error
        names the best that it can reach.
    DataError
        If insensitive columns undo the release, and the schema does not confirm them (`meant`).

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    Release(bucketized by anatomy: 9 rows in 4 buckets, test)
    """
    if not isinstance(table, EngineTable):
        raise ParameterError(
            f"anonymize takes a table, not a {type(table).__name__}.",
            hint="read it first: shoal.read(source, schema).",
        )
    if not isinstance(method, Method):
        raise ParameterError(
            "The method must be an object such as shoal.Mondrian(k=5), not a "
            f"{type(method).__name__}."
        )
    secret = Secret.fresh() if seed is None else Secret.from_seed(seed)
    if not earlier:
        release = anonymize_with(secret, table, method, max_work=max_work, progress=progress)
        return refuse_unconfirmed(release)
    # Imported here, because `joint` itself imports this module.
    from shoal.workflow.joint import anonymize_beside, places_in  # noqa: PLC0415

    folders = [earlier] if isinstance(earlier, str | os.PathLike) else list(earlier)
    places = places_in(folders, table)
    release = anonymize_beside(places, secret, table, method, max_work=max_work, progress=progress)
    return refuse_unconfirmed(release)


def anonymize_with(
    secret: Secret,
    table: EngineTable,
    method: Method,
    *,
    private: Callable[[Rows], Flags] | None = None,
    max_work: int = DEFAULT_MAX_WORK,
    progress: Progress = silent,
) -> Release:
    """Anonymize a table with a given secret, from which everything random is drawn.

    `private` flags the private cells of rows. Default: the method's own marks on the table.
    """
    check_fits(table, method)
    started = time.perf_counter()
    timings: dict[str, float] = {}

    def step(name: str) -> None:
        timings[name] = time.perf_counter() - started
        progress(name)

    step("count")
    problem = problem_of(table, method, secret, private)
    return made_release(table, method, problem, max_work=max_work, step=step, timings=timings)


def made_release(
    table: EngineTable,
    method: Method,
    problem: Problem,
    *,
    plan: Plan | None = None,
    further: Sequence[Guarantee] = (),
    max_work: int = DEFAULT_MAX_WORK,
    step: Progress = silent,
    timings: Mapping[str, float] | None = None,
) -> Release:
    """Plan the release, place the rows, and check the result.

    `plan` replaces the method's own plan, and `further` adds guarantees to those of the method.
    `timings` is the mapping that `step` fills: the seconds until each step began.
    """
    secret = problem.secret
    step("plan")
    plan = method.plan(problem) if plan is None else plan
    plan.check()
    plan = with_tables_written(plan, table.engine.publisher)
    manifest = _manifest(table, method, plan, secret)
    manifest = replace(manifest, guarantees=(*manifest.guarantees, *further))
    step("place")
    number = apply_plan(table, plan, secret, method.shape)
    # The places of rows may take as much memory as the rows, and the engine holds them by now.
    plan = without_places(plan)
    making = Making(
        table=table,
        plan=plan,
        number=number,
        secret=secret,
        timings={} if timings is None else timings,
        hierarchies=published_hierarchies(table, method, plan),
        writer=write_release,
        method=method,
        max_work=max_work,
    )
    return checked_release(making, manifest, step)


def problem_of(
    table: EngineTable,
    method: Method,
    secret: Secret,
    private: Callable[[Rows], Flags] | None = None,
) -> Problem:
    """Count the cells that a method asks for; fetch rows only for methods that hide single cells.

    `private` flags the private cells of rows. Default: the method's own marks on the table.
    """
    seen = at_levels(table, levels_for(table, method))
    cells = seen.counts(method.class_columns(table.schema))
    asked = cells_of_keys(table, cells, method.keys_asked)
    problem = Problem(cells, table.schema, seen.trees, secret, asked)
    if method.private_cells is None:
        return problem
    rows = table.row_codes(MOST_ROWS)
    marks = mark_cells(table, method.private_cells, rows) if private is None else private(rows)
    return replace(problem, rows=rows, private=marks)


def levels_for(table: EngineTable, method: Method) -> tuple[Level, ...]:
    """Return the levels at which a method protects the sensitive columns of a table."""
    return table.levels if method.works_on_levels else ()


def checked_release(making: Making, manifest: Manifest, step: Progress) -> Release:
    """Count the staged release as a reader would, and verify its guarantees."""
    table, plan = making.table, making.plan
    files = StagedFiles(table, plan, manifest.shape, making.number)
    meanings = meanings_of(table, plan, max(manifest.least_named, least_frequency(making)))
    manifest = with_orders(manifest, making, files, meanings)
    # A reader counts buckets by what is published: two buckets with the same labels are one.
    published = files.published(manifest, meanings)
    meanings = shown_meanings(published.domains, meanings)
    making = replace(making, hierarchies=shown_rows(published, making.hierarchies))
    manifest = with_shown_types(manifest, table, files, published.rows)
    manifest = replace(manifest, n_buckets=published.n_buckets)
    release = Release(
        manifest=manifest,
        meanings=meanings,
        files=files,
        counts=Counts(replace(published, manifest=manifest, meanings=meanings)),
        making=making,
    )
    step("verify")
    verification = verify(release, max_work=making.max_work)
    if verification.status is Status.NOT_CHECKED:
        raise too_large(verification)
    if not verification.holds:
        raise GuaranteeError(
            "The release fails the check of its own guarantee; this is a bug in Shoal.",
            hint="; ".join(verification.problems),
        )
    step("done")
    return release


def check_fits(table: EngineTable, method: Method) -> None:
    """Refuse a table that the method cannot anonymize, or not with the guarantee that it states."""
    method.check_schema(table.schema)
    if table.n_people < table.n_rows and not method.counts_people:
        raise DataError(
            f"{table.n_rows} rows belong to {table.n_people} people (column "
            f"{table.schema.person!r}), but {type(method).__name__} counts rows: its guarantee "
            "would not hold for people.",
            hint="keep one row per person, for example by aggregating, or leave person= out if "
            "rows are to be protected.",
        )
    schema = table.schema
    _refuse_levels(table, method)
    # The columns of a sliced release are not known yet; any of its files has counts.
    contents = Contents(schema.quasi, schema.insensitive, schema.sensitive, (schema.published,))
    files = method.shape.files(contents)
    # Insensitive columns are not coded, so a file with counts cannot hold them.
    shown = {column for file in files if not file.has_count for column in file.columns}
    if lost := [column for column in schema.insensitive if column not in shown]:
        raise SchemaError(
            f"A {method.shape} release has no place for the insensitive column {lost[0]!r}.",
            hint="give it the role quasi or identifying.",
        )
    counted = tuple(column for file in files if file.has_count for column in file.columns)
    for name, columns in ((BUCKET, schema.published), (COUNT, counted)):
        if name in (column.lower() for column in columns):
            raise SchemaError(
                f"The table has a column {name!r}, which a release has of its own.",
                hint="rename that column of the table.",
            )


def _refuse_levels(table: EngineTable, method: Method) -> None:
    """Refuse declared levels that the method cannot protect, or that its distance contradicts."""
    name, declared = type(method).__name__, table.schema.levels
    levelled = [
        column for column, one in declared.items() if not (one.is_every_value or one.is_drafted)
    ]
    if levelled and not method.works_on_levels:
        raise SchemaError(
            f"Levels are declared for column {levelled[0]!r}, and {name} protects values.",
            hint="take the entry out, or choose a method that works on levels, such as Anatomy or "
            "Mondrian.",
        )
    is_by_tree = any(getattr(one, "distance", None) == "hierarchical" for one in method.guarantees)
    by_interval = [one.column for one in levels_for(table, method) if one.node_level is None]
    if is_by_tree and by_interval:
        raise SchemaError(
            f"distance='hierarchical' compares values by the hierarchy of {by_interval[0]!r}, and "
            "its levels are intervals.",
            hint="take nodes of the hierarchy as levels, { node_level = 1 }, or another distance.",
        )


def _manifest(table: EngineTable, method: Method, plan: Plan, secret: Secret) -> Manifest:
    schema = table.schema
    recoded = {recode.column for recode in plan.recode} | set(plan.blank.counts)
    roles = schema.roles
    columns = tuple(
        PublishedColumn(
            name=column,
            role=roles[column],
            type=table.type_of(column),
            is_recoded=column in recoded,
            n_suppressed=plan.blank.counts.get(column, 0),
            is_also_quasi=column in schema.quasi and roles[column] is Role.SENSITIVE,
            is_distorted=method.distorts and roles[column] is Role.SENSITIVE,
            variants=table.variants.get(column),
        )
        for column in schema.published
    )
    return Manifest(
        shape=method.shape,
        method=snake_case(type(method).__name__),
        parameters=method.parameters(),
        # The manifest does not claim what the plan could not keep.
        guarantees=method.settled(plan.notes).guarantees,
        columns=columns,
        n_rows=table.n_rows - plan.drop.n_rows,
        n_buckets=0,
        witnesses=seal_witnesses(secret, plan.witnesses),
        versions={"shoal": __version__, "engine": table.engine.name},
        is_test=secret.is_test,
        slices=plan.slices,
        meant=tuple(tuple(sorted(columns)) for columns in schema.confirmed),
        levels=levels_for(table, method),
    )
