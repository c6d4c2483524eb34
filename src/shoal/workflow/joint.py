"""Anonymize a table so that the release stays safe beside earlier ones.

The buckets of the new release stay within those of the earlier releases: every earlier bucket is
a part of the table, which the method plans by itself (`shoal.methods.parts`). The earlier releases
then add nothing to the new one; `shoal.core.joint_safety` has the proof, and `shoal verify` checks
it with the internal folder.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

import numpy as np

from shoal import checks
from shoal.checks.verdict import Evidence
from shoal.core.cells import Buckets, Codes, group
from shoal.core.domain import Texts
from shoal.core.errors import GuaranteeError, InfeasibleError, ParameterError
from shoal.core.guarantees import BeliefGain, ForegroundSafety, Guarantee, JointSafety
from shoal.core.method import Method, Problem, Shape
from shoal.core.plan import Plan
from shoal.core.progress import Progress, silent
from shoal.core.schema import Role
from shoal.core.secret import Secret
from shoal.core.work import DEFAULT_MAX_WORK
from shoal.engines.parting import PART, keys_of_rows, part_rows
from shoal.engines.table import EngineTable
from shoal.engines.texts import texts_of
from shoal.methods.parts import plan_parts, plan_whole_parts
from shoal.pipeline.anonymize import check_fits, made_release
from shoal.pipeline.earlier_places import EarlierPlaces
from shoal.pipeline.joint_people import (
    Source,
    columns_of_placement,
    common_sensitive,
    partitions_of,
    placement_of,
    refuse_other_keys,
    source_of_release,
)
from shoal.pipeline.release import Release, open_release

__all__ = ["anonymize_beside", "places_in"]

_OF_COLUMNS = (BeliefGain, ForegroundSafety)
"""Guarantees about what quasi-identifiers tell; a bucket may break one that its parts keep."""
_PLAIN = frozenset({Shape.BUCKETIZED, Shape.GENERALIZED})
"""Shapes whose buckets say of everybody which values they share."""


def places_in(folders: Sequence[str | os.PathLike[str]], table: EngineTable) -> EarlierPlaces:
    """Find where people are in earlier releases, which are of the same people as a table.

    Raises
    ------
    DataError
        Where an internal folder is missing, or the keys of rows are not comparable.
    ParameterError
        Where the sensitive column of the table is not that of the releases.
    """
    releases = [open_release(folder) for folder in folders]
    with contextlib.ExitStack() as stack:
        for release in releases:
            stack.callback(release.files.engine.close)
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

    Parameters
    ----------
    places
        Where people are in the earlier releases.
    secret, table, method, max_work, progress
        As for `shoal.pipeline.anonymize.anonymize_with`.

    Raises
    ------
    InfeasibleError
        Where an earlier bucket breaks what is asked for by itself, or no plan within the earlier
        buckets keeps it.
    ParameterError
        Where the method publishes a shape, or promises something, that this is not for.
    """
    check_fits(table, method)
    _refuse_other_methods(method)
    _refuse_further_columns(method, places.quasi, table.schema.quasi)
    keys = keys_of_rows(table)
    n_parts = _part_rows(table, keys, places.of_keys(keys))
    progress("count")
    cells = table.counts((PART, *method.class_columns(table.schema)))
    problem = Problem(cells, table.schema, table.trees, secret)
    _refuse_infeasible(table, method, n_parts)
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
    if method.shape is Shape.BUCKETIZED:
        plans: list[Callable[[], Plan]] = [lambda: plan_parts(method, problem)]
        if not any(one.needs_witness for one in method.guarantees):
            plans.append(lambda: plan_whole_parts(problem))
        return plans
    # Labels may nest by themselves, as those of a coarser generalization of the same columns do.
    whole = replace(problem, cells=problem.cells.select(problem.cells.columns[1:]))
    return [lambda: plan_parts(method, problem), lambda: method.plan(whole)]


def _refuse_other_methods(method: Method) -> None:
    if method.shape not in _PLAIN or method.distorts:
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


def _refuse_further_columns(
    method: Method, published: Collection[str], quasi: Sequence[str]
) -> None:
    """Refuse a promise about published columns where an earlier release publishes others."""
    strange = sorted(set(published).difference(quasi))
    promised = [one.name for one in method.guarantees if isinstance(one, _OF_COLUMNS)]
    if promised and strange:
        raise ParameterError(
            f"{promised[0]} is about the columns that are published, and an earlier release "
            f"publishes {len(strange)} more of them.",
            hint=f"make them quasi-identifying here too: {', '.join(strange)}.",
        )


def _part_rows(table: EngineTable, keys: Texts, places: Codes) -> int:
    """Put rows with the same places in all earlier releases in one part; return how many."""
    columns = [places[:, which] + 1 for which in range(places.shape[1])]
    sizes = [int(column.max(initial=0)) + 1 for column in columns]
    first, part = group(columns, sizes, len(keys))
    part_rows(table, keys, part)
    return len(first)


def _refuse_infeasible(table: EngineTable, method: Method, n_parts: int) -> None:
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
    best = ", ".join(f"{name} = {value}" for name, value in reached.items())
    return InfeasibleError(
        f"Of the {n_parts} groups of people whom the earlier releases part, {n_failing} break "
        f"{guarantee.name} by themselves, and so does any release whose buckets stay within them.",
        hint=(f"{best} can be kept; otherwise " if best else "")
        + "ask for less, or withdraw an earlier release.",
        best=reached,
    )
