"""Attack a release as an adversary would, and write down who is at risk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from shoal import attacks as all_attacks
from shoal.attacks.foreground import Foreground
from shoal.core.attack import Attack, Findings
from shoal.core.cell_attack import CellAttack
from shoal.core.cells import Cells, smallest_type
from shoal.core.domain import ColumnType
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.held_out import HeldOutAttack
from shoal.core.method import Shape
from shoal.core.progress import Progress, silent
from shoal.core.registry import snake_case
from shoal.core.release import People, Published
from shoal.core.schema import Role, Schema
from shoal.core.table_attack import TableAttack
from shoal.core.work import DEFAULT_MAX_WORK
from shoal.engines.domains import retype
from shoal.engines.table import EngineTable
from shoal.knowledge.beliefs import Beliefs
from shoal.knowledge.informed import prior_beliefs
from shoal.knowledge.known import Knowledge
from shoal.knowledge.limits import exact_threshold, find_excess
from shoal.pipeline.algorithm import algorithm_of
from shoal.pipeline.cells_at_risk import attack_cells, uncovered
from shoal.pipeline.earlier import attack_with_earlier
from shoal.pipeline.foreground_truth import Located, attack_each_person, locate_people
from shoal.pipeline.held_out import run_trials
from shoal.pipeline.people import with_keys
from shoal.pipeline.read import columns_of, read
from shoal.pipeline.release import Release, open_release
from shoal.pipeline.risk_file import write_risk
from shoal.pipeline.sliced_people import place_kinds
from shoal.pipeline.witnesses import kinds_of_release, known_to_maker

__all__ = [
    "AttackReport",
    "attack",
    "attacks_left_out",
    "attacks_that_apply",
    "read_knowledge",
    "read_people",
    "read_prior",
    "table_of",
]

_MOST_SCORED = 1_000_000
"""Scoring goes through people one by one: of larger tables it is done where it is asked for."""


@dataclass(frozen=True)
class AttackReport:
    """What each attack found, in the order in which they ran."""

    findings: tuple[Findings, ...]

    def __iter__(self) -> Any:
        """Go through the findings."""
        return iter(self.findings)

    def __getitem__(self, name: str) -> Findings:
        """Give the findings of an attack by its name."""
        for findings in self.findings:
            if findings.attack == name:
                return findings
        raise KeyError(name)

    def to_dict(self) -> dict[str, object]:
        """Give the report as JSON holds it."""
        return {"attacks": [findings.to_dict() for findings in self.findings]}

    def __repr__(self) -> str:
        return f"AttackReport({'; '.join(f'{one.attack}: {one.line}' for one in self.findings)})"


def attack(
    release: Release | str | os.PathLike[str],
    *attacks: Attack,
    knowledge: object = None,
    people: Any = None,
    key: str | None = None,
    earlier: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None = None,
    max_work: int = DEFAULT_MAX_WORK,
    truth: EngineTable | None = None,
    progress: Progress = silent,
) -> AttackReport:
    """Attack a release.

    Parameters
    ----------
    release
        A release, or the path of its public folder.
    attacks
        What to try; every attack that fits the release's shape where none is given.
    knowledge
        What the adversary knows beside the release, such as `shoal.knowledge.Knowledge`; by default
        what the release was made against, where that is at hand.
    people
        The people attacked: a table, frame or file with their quasi-identifiers. By default
        everybody in the release, found in their own line, which is the worst case; one line a
        person then goes to `risk.parquet` in the internal folder.
    key
        The column of `people` with the keys by which facts name them. Default: its schema's key.
    earlier
        Public folders of other releases of the table, with internal ones; attacked together.
    max_work
        The operations that counting the worlds of several releases may take; default 2e9.
    truth
        The table that the release was made from: beliefs are held against it and people found by
        exact values. Default: that of a release just made, if it has at most a million rows.
    progress
        Called with the name of each step.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> shoal.attack(release, shoal.attacks.Homogeneity())
    AttackReport(homogeneity: 0 of 9 people at risk)
    """
    if not isinstance(release, Release):
        release = open_release(release)
    if truth is not None and release.making is None:
        release.read_words_of(truth)
    published = release.published
    if is_own := knowledge is None:
        knowledge = known_to_maker(release)
    external = _external(release, people)
    replayed = [] if external is None else _replayed(attacks, published)
    if attacks:
        _check_chosen(attacks, published, is_everybody=people is None, replayed=replayed)
    else:
        attacks = tuple(
            one
            for one in attacks_that_apply(published, has_knowledge=knowledge is not None)
            if people is None or (not isinstance(one, CellAttack) and _is_placed(release, one))
        )
    attacked = _everybody(release, published) if people is None else read_people(people, published)
    if people is None and any(one.goes_by_insensitive for one in attacks):
        attacked = replace(attacked, company=release.files.company(release.manifest))
    told = (knowledge, *(getattr(one, "rules", None) for one in attacks))
    attacked = with_keys(release, attacked, (people, key), told, is_own=is_own)
    placed = _placed(release, attacks)
    if people is not None and placed is not None:
        attacked, placed = replace(attacked, everybody=placed), None
    truth = _truth(release, truth, is_everybody=people is None)
    findings, apart = _run(release, attacks, attacked, placed, knowledge, external, truth, progress)
    if people is None:
        fresh = {found.attack: found for found in findings if found.attack not in apart}
        kept = tuple(found for found in release.findings if found.attack not in fresh)
        release.findings = (*kept, *fresh.values())
        if release.folder is not None and release.internal is not None:
            _write_risk_anew(release, release.folder, release.internal)
    if earlier is not None:
        progress("compare with earlier releases")
        findings += attack_with_earlier(release, earlier, max_work=max_work)
    return AttackReport(tuple(findings))


def _run(
    release: Release,
    attacks: Sequence[Attack],
    people: People,
    placed: People | None,
    knowledge: object,
    external: EngineTable | None,
    table: EngineTable | None,
    progress: Progress,
) -> tuple[list[Findings], set[str]]:
    """Run attacks; return what they found, and the names of those that say nothing of lines.

    What was not tried replaces nothing that was, and what is said of people of an external table
    is not said of lines.
    """
    published = release.published
    has_cells = any(isinstance(one, CellAttack) for one in attacks)
    truth = uncovered(release, published) if has_cells else None
    findings: list[Findings] = []
    apart: set[str] = set()
    located: Located | None = None
    for one in attacks:
        progress(f"attack: {type(one).__name__}")
        if isinstance(one, CellAttack) and truth is not None:
            findings.append(attack_cells(one, published, truth))
        elif isinstance(one, HeldOutAttack):
            trials = run_trials(release, one)
            findings.append(one.judge(published, people, trials))
            if not trials.are_done:
                apart.add(findings[-1].attack)
        elif isinstance(one, TableAttack) and external is not None and not one.fits(published):
            findings.append(one.replay(published, algorithm_of(release, external)))
            apart.add(findings[-1].attack)
        elif one.yields_beliefs and table is not None:
            located = locate_people(release, table) if located is None else located
            findings.append(attack_each_person(release, one, located, knowledge))
        elif one.needs_places and placed is not None:
            findings.append(replace(one.run(published, placed, knowledge), is_by_place=True))
        else:
            findings.append(one.run(published, people, knowledge))
        findings[-1] = _with_meaning(one, findings[-1], published)
    return findings, apart


def _with_meaning(one: Attack, found: Findings, published: Published) -> Findings:
    """Add what an attack is a risk of, and whether its limit can be kept on this table at all."""
    found = replace(found, risks=one.risks)
    aimed = one.aims(published) if one.fits(published) else None
    held = one.buckets_of(published) if isinstance(one, Foreground) else published.buckets
    if aimed is None or held is None:
        return found
    aims, bound = aimed
    is_calibrated = found.calibration is not None and found.calibration.is_calibrated
    excess = find_excess(
        held,
        aims,
        bound,
        is_belief=found.is_belief,
        counted_from=exact_threshold(bound) if is_calibrated else None,
    )
    return replace(found, meaningless=excess.reason, n_above_anyway=excess.n_people)


def _is_placed(release: Release, one: Attack) -> bool:
    """Whether all is known of places that an attack goes by."""
    is_known = release.published.sliced is None or release.making or release.internal
    return bool(is_known) or not one.needs_places


def _placed(release: Release, attacks: Sequence[Attack]) -> People | None:
    """Give everybody in a sliced release by their buckets, where an attack goes by that."""
    published = release.published
    is_needed = any(one.needs_places and _is_placed(release, one) for one in attacks)
    if published.sliced is None or not is_needed:
        return None
    kinds = kinds_of_release(release, published.sliced)
    return place_kinds(release, published, kinds).people


def _external(release: Release, people: Any) -> EngineTable | None:
    """Give the table of everybody's quasi-identifiers: the one given, or that just published."""
    if people is None:
        return None if release.making is None else release.making.table
    return people if isinstance(people, EngineTable) else None


def _truth(
    release: Release, truth: EngineTable | None, *, is_everybody: bool
) -> EngineTable | None:
    """Give the table by which attacks on everybody are scored; None where they are not."""
    if truth is not None and not is_everybody:
        raise ParameterError(
            "How right an attack is can be said of everybody in the release, not of other people.",
            hint="leave out people, or truth.",
        )
    if truth is not None or release.making is None or not is_everybody:
        return truth
    table = release.making.table
    return table if table.n_rows <= _MOST_SCORED else None


def _replayed(attacks: Sequence[Attack], published: Published) -> list[Attack]:
    """Give the attacks that have to run the algorithm anew."""
    return [one for one in attacks if isinstance(one, TableAttack) and not one.fits(published)]


@contextlib.contextmanager
def table_of(configuration: Path | None) -> Iterator[EngineTable | None]:
    """Give the table that a configuration names; None where there is none."""
    if configuration is None:
        yield None
        return
    # Imported here: the configuration of attacks needs this module.
    from shoal.pipeline.config import load  # noqa: PLC0415

    table = load(configuration).read()
    try:
        yield table
    finally:
        table.engine.close()


def read_knowledge(path: str | os.PathLike[str]) -> Knowledge:
    """Read what an adversary knows from a file that `shoal mine` wrote, or somebody edited."""
    return Knowledge.from_file(path)


def _write_risk_anew(attacked: Release, folder: Path, internal: Path) -> None:
    """Write what was found beside a release that stands on disk, if it is still the same one."""
    release = open_release(folder, internal=internal)
    try:
        if release.manifest.files != attacked.manifest.files:
            raise DataError(
                "The release was replaced while it was attacked.", hint="open and attack it again."
            )
        write_risk(release, internal, attacked.findings)
    finally:
        release.files.engine.close()


def attacks_that_apply(published: Published, *, has_knowledge: bool) -> list[Attack]:
    """Give every attack that is run on a release without being named, as it is by default."""
    known: list[Attack] = [getattr(all_attacks, name)() for name in all_attacks.__all__]
    return [
        one
        for one in known
        if one.fits(published) and (has_knowledge or not one.needs_knowledge) and one.is_installed()
    ]


def attacks_left_out(shape: Shape) -> list[str]:
    """Name the attacks on a shape that lack a library."""
    known = {snake_case(name): getattr(all_attacks, name) for name in all_attacks.__all__}
    return [name for name, one in known.items() if shape in one.shapes and not one.is_installed()]


def _check_chosen(
    attacks: Sequence[Attack],
    published: Published,
    *,
    is_everybody: bool,
    replayed: Sequence[Attack],
) -> None:
    for one in attacks:
        if not isinstance(one, Attack):
            raise ParameterError(
                "An attack must be an object such as shoal.attacks.Linkage(), not a "
                f"{type(one).__name__}."
            )
        if not one.fits(published) and one not in replayed:
            raise ParameterError(
                f"{type(one).__name__} does not apply to this {published.manifest.shape} release.",
                hint="give the table of everybody's quasi-identifiers: people=shoal.read(...)."
                if isinstance(one, TableAttack)
                else "leave it out, or give no attack: then all that apply are run.",
            )
        if isinstance(one, CellAttack) and not is_everybody:
            raise ParameterError(
                f"{type(one).__name__} attacks the cells of a release, not people who are to be "
                "found in it.",
                hint="leave people out.",
            )


def _everybody(release: Release, published: Published) -> People:
    """Give the people of the release, each known to be in their own line where there are lines."""
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

    They are read as the release's types demand, however they are spelled: 20.0 is the 20 of a
    whole number, True is true. A value that is none of its type fits nobody.

    Raises
    ------
    DataError
        Where no value of a column is of the type that it has in the release.
    """
    quasi = published.manifest.columns_of(Role.QUASI)
    if published.sliced is not None:
        quasi = published.sliced.layout.known
    if isinstance(people, EngineTable):
        lacking = [column for column in quasi if column not in people.domains]
        if lacking:
            raise SchemaError(
                f"The people's table has no quasi-identifying column {', '.join(lacking)}.",
                hint="give every quasi-identifier of the release that role.",
            )
        return People(_as_released(people.counts(quasi), published))
    rest = _other_columns(people, quasi)
    # As texts: strangers may carry what no value of the release's type is.
    types = dict.fromkeys(quasi, str(ColumnType.CATEGORICAL))
    table = read(people, Schema(quasi=quasi, identifying=rest, types=types))
    try:
        return People(_as_released(table.counts(quasi), published))
    finally:
        table.engine.close()


def _other_columns(source: Any, wanted: Sequence[str]) -> list[str]:
    """Name the columns of a source that are not asked for."""
    return [column for column in columns_of(source) if column not in wanted]


def read_prior(source: Any, published: Published, bandwidth: Any) -> Beliefs:
    """Estimate what somebody believes who has a table with the columns of a release.

    Parameters
    ----------
    source
        A table, frame or file with the release's quasi-identifiers and its sensitive column: the
        table itself, or data like it. Distances are those of numbers and of equal texts.
    published
        The release.
    bandwidth
        How unlike people may be to count; see `shoal.knowledge.prior_beliefs`.
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
    """Give the columns of people the types that they have in the release."""
    types = {column.name: column.type for column in published.manifest.columns}
    domains, codes = [], []
    for domain in people.domains:
        retyped, code = retype(domain, types[domain.column])
        domains.append(retyped)
        codes.append(code[people.column(domain.column)])
    cells = Cells(tuple(domains), np.stack(codes, axis=1), people.counts)
    return cells.select(people.columns)
