"""Anonymize a table so that the release stays safe beside earlier ones.

The buckets of the new release stay within those of the earlier releases: every earlier bucket is a
part of the table, which the method plans by itself (`shoal.grouping.parts`). The earlier releases
then add nothing to the new one; `shoal.core.adversary_guarantees` has the proof, and
`shoal verify` checks it with the internal folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from shoal import checks
from shoal.core.adversary_guarantees import BeliefGain, ForegroundSafety, JointSafety
from shoal.core.arrays import Codes, Texts
from shoal.core.cells import Buckets, group
from shoal.core.domain import Role
from shoal.core.errors import GuaranteeError, InfeasibleError, ParameterError
from shoal.core.exact import reachable
from shoal.core.guarantees import Guarantee
from shoal.core.levelled import at_levels
from shoal.core.levels import Level
from shoal.core.method import Method, Problem
from shoal.core.plan import Plan
from shoal.core.progress import DEFAULT_MAX_WORK, Progress, silent
from shoal.core.secret import Secret
from shoal.core.shapes import Model
from shoal.core.table import Table
from shoal.core.verdict import Evidence
from shoal.engines.sql.columns import PART, keys_of_rows, part_rows
from shoal.engines.sql.domains import texts_of
from shoal.engines.sql.table import EngineTable
from shoal.grouping.parts import plan_parts, plan_whole_parts
from shoal.release.opened import Release, opened
from shoal.release.witnesses import EarlierPlaces
from shoal.workflow.anonymize import check_fits, levels_for, made_release
from shoal.workflow.joint_people import (
    Source,
    columns_of_placement,
    common_sensitive,
    partitions_of,
    placement_of,
    refuse_other_keys,
    source_of_release,
)

_OF_COLUMNS = (BeliefGain, ForegroundSafety)
"""Guarantees that depend on quasi-identifiers; a bucket may break one that its parts keep."""
_PLAIN = frozenset({Model.BUCKETS, Model.CLASSES})
"""Models whose buckets tell which values the people in them share."""


def places_in(folders: Sequence[str | os.PathLike[str]], table: EngineTable) -> EarlierPlaces:
    """Find where the people of a table are in earlier releases.

    Raises DataError if an internal folder is missing or the keys of rows are not comparable, and
    ParameterError if the sensitive column of the table is not that of the releases.
    """
    with contextlib.ExitStack() as stack:
        releases = [stack.enter_context(opened(folder)) for folder in folders]
        sensitive = _sensitive(releases, table)
        own = Source(table.schema.key, table.scan.digest)
        for release in releases:
            refuse_other_keys(own, source_of_release(release))
        return _read_places(releases, sensitive)


def _sensitive(releases: Sequence[Release], table: EngineTable) -> str:
    shared = common_sensitive(releases)
    for column in table.schema.sensitive:
        if len(table.schema.sensitive) == 1 and column in shared:
            return column
    raise ParameterError(
        "The table must have one sensitive column, which is that of the earlier releases.",
        hint="leave [release] earlier out, or give the column the role that it had.",
    )


def _read_places(releases: Sequence[Release], sensitive: str) -> EarlierPlaces:
    """Join the placements of the releases by the keys of rows."""
    keys: list[Texts] = []
    found: list[Codes] = []
    for release in releases:
        engine = release.files.engine
        names = columns_of_placement(release)
        fetched = engine.rows(
            f"SELECT row_key, {', '.join(names)} FROM {placement_of(release, engine)}"
        )
        keys.append(np.array([*texts_of(fetched["row_key"]), None], dtype=object)[:-1])
        found.append(np.column_stack([fetched[name].astype(np.int64) for name in names]))
    everybody: Texts = np.array(
        [*sorted({k for own in keys for k in own.tolist()}), None], dtype=object
    )[:-1]
    at_key = {key: at for at, key in enumerate(everybody.tolist())}
    labels: dict[str | None, int] = {}
    columns: list[Codes] = []
    entries: list[tuple[Codes, Codes, Codes, Codes]] = []
    for release, own, places in zip(releases, keys, found, strict=True):
        at = np.array([at_key[key] for key in own.tolist()], dtype=np.int64)
        for partition, place in partitions_of(release, places, sensitive, labels):
            column = np.full(len(everybody), -1, dtype=np.int64)
            column[at] = place
            which = np.full(len(partition.place), len(columns), dtype=np.int64)
            entries.append((which, partition.place, partition.value, partition.count))
            columns.append(column)
    which, place, value, count = (np.concatenate(part) for part in zip(*entries, strict=True))
    texts: Texts = np.array([*labels, None], dtype=object)[:-1]
    digests = tuple(_digest_of_manifest(release) for release in releases)
    quasi = frozenset(name for one in releases for name in one.manifest.columns_of(Role.QUASI))
    return EarlierPlaces(
        everybody, np.column_stack(columns), which, place, texts[value], count, digests, quasi
    )


def _digest_of_manifest(release: Release) -> str:
    assert release.folder is not None
    return hashlib.sha256((release.folder / "manifest.json").read_bytes()).hexdigest()


def anonymize_beside(
    places: EarlierPlaces,
    secret: Secret,
    table: EngineTable,
    method: Method,
    *,
    max_work: int = DEFAULT_MAX_WORK,
    progress: Progress = silent,
) -> Release:
    """Anonymize a table so that earlier releases add nothing to what is published of it.

    Raises InfeasibleError if an earlier bucket by itself breaks what is asked for, or no plan
    within the earlier buckets keeps it; and ParameterError if the method's shape or guarantees do
    not allow it.
    """
    check_fits(table, method)
    _refuse_other_methods(method)
    _refuse_further_columns(method, places.quasi, table.schema.quasi)
    keys = keys_of_rows(table)
    n_parts = _part_rows(table, keys, places.of_keys(keys))
    progress("count")
    levels = levels_for(table, method)
    _refuse_nodes(levels)
    seen = at_levels(table, levels)
    cells = seen.counts((PART, *method.class_columns(table.schema)))
    problem = Problem(cells, table.schema, seen.trees, secret)
    _refuse_infeasible(seen, method, n_parts)
    joint = JointSafety(earlier=places.manifests)
    witnesses = places.to_witnesses(table.engine.publisher)
    faults: list[str] = []
    for planned in _plans(method, problem):
        try:
            plan = planned()
            plan = replace(plan, witnesses={**plan.witnesses, **witnesses})
            return made_release(
                table,
                method,
                problem,
                plan=plan,
                further=(joint,),
                max_work=max_work,
                step=progress,
            )
        except InfeasibleError as error:
            faults.append(error.fact)
        except GuaranteeError as error:
            faults.append(str(error.hint))
    raise InfeasibleError(
        f"No plan within the buckets of the earlier releases keeps every guarantee: {faults[-1]}.",
        hint="ask for less, or do not publish beside the earlier releases.",
    )


def _plans(method: Method, problem: Problem) -> list[Callable[[], Plan]]:
    """Return the plans to try: parts cut by the method, then what always lies within parts."""
    if method.shape.numbers_buckets:
        plans: list[Callable[[], Plan]] = [lambda: plan_parts(method, problem)]
        if not any(one.needs_witness for one in method.guarantees):
            plans.append(lambda: plan_whole_parts(problem))
        return plans
    # Labels may nest without cutting, as those of a coarser generalization of the same columns do.
    whole = replace(problem, cells=problem.cells.select(problem.cells.columns[1:]))
    return [lambda: plan_parts(method, problem), lambda: method.plan(whole)]


def _refuse_other_methods(method: Method) -> None:
    if method.shape.model not in _PLAIN or method.distorts:
        raise ParameterError(
            f"{type(method).__name__} cannot publish beside earlier releases.",
            hint="take a method that publishes buckets or equivalence classes, such as Anatomy, "
            "Injector or Mondrian.",
        )
    if method.keys_asked:
        raise ParameterError(
            "Facts about single people cannot be combined with earlier releases.",
            hint="state them as rules, or leave them out.",
        )


def _refuse_nodes(levels: Sequence[Level]) -> None:
    """Refuse nodes of a hierarchy as levels: it may lack values of the earlier releases."""
    named = [level.column for level in levels if level.node_level is not None]
    if named:
        raise ParameterError(
            f"The levels of column {named[0]!r} are nodes of its hierarchy, and earlier releases "
            "may have values that it lacks.",
            hint=f'give intervals as levels, or let every value count: {named[0]} = "values".',
        )


def _refuse_further_columns(
    method: Method, published: Collection[str], quasi: Sequence[str]
) -> None:
    """Refuse a guarantee about published columns if an earlier release publishes others."""
    strange = sorted(set(published).difference(quasi))
    promised = [one.name for one in method.guarantees if isinstance(one, _OF_COLUMNS)]
    if promised and strange:
        raise ParameterError(
            f"{promised[0]} is about the columns that are published, and an earlier release "
            f"publishes {len(strange)} more of them.",
            hint=f"make them quasi-identifying here too: {', '.join(strange)}.",
        )


def _part_rows(table: EngineTable, keys: Texts, places: Codes) -> int:
    """Put rows with equal places in all earlier releases into one part; return their number."""
    columns = [places[:, which] + 1 for which in range(places.shape[1])]
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    first, part = group(columns, sizes, len(keys))
    part_rows(table, keys, part)
    return len(first)


def _refuse_infeasible(table: Table, method: Method, n_parts: int) -> None:
    """Refuse what an earlier bucket breaks by itself: then no cut of it keeps it either.

    Bounds on shares, numbers of values, sizes and distances hold in the union of buckets in which
    they hold, so a bucket that breaks one has a part that does, however it is cut.
    """
    (sensitive,) = table.schema.sensitive
    held = table.counts((PART, sensitive))
    buckets = Buckets(n_parts, held.codes[:, 0], held.codes[:, 1], held.counts, held.domains[1])
    evidence = Evidence(buckets, buckets.sizes, table.trees.get(sensitive))
    for guarantee in method.guarantees:
        if guarantee.needs_witness is not None or isinstance(guarantee, _OF_COLUMNS):
            continue
        verdict = checks.check(guarantee, evidence)
        if not verdict.holds:
            raise _infeasible(guarantee, verdict.n_failing, n_parts, dict(verdict.reached))


def _infeasible(
    guarantee: Guarantee, n_failing: int, n_parts: int, reached: dict[str, object]
) -> InfeasibleError:
    best = reachable(reached)
    return InfeasibleError(
        f"Of the {n_parts} groups of people that the earlier releases separate, {n_failing} break "
        f"{guarantee.name} by themselves, and so does any release whose buckets stay within them.",
        hint=(f"{best}; otherwise " if best else "")
        + "ask for less, or withdraw an earlier release.",
        best=reached,
    )
