"""Attack a release as an adversary would, and record the people at risk."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from shoal import attacks as all_attacks
from shoal.core.attack import Attack, Need
from shoal.core.budget import DEFAULT_ATTACK_WORK, read_work
from shoal.core.display import Section, Tabular
from shoal.core.errors import DataError, ParameterError
from shoal.core.findings import Findings, about_everybody, overview_of
from shoal.core.levelled import at_levels
from shoal.core.progress import DEFAULT_MAX_WORK, Progress, silent
from shoal.core.registry import snake_case
from shoal.core.release import People, Published, Vocabulary
from shoal.core.shapes import Shape
from shoal.engines.sql.table import EngineTable
from shoal.injector.known import Knowledge
from shoal.release.opened import Counts, Release, open_release, opened
from shoal.release.people_at_risk import write_risk
from shoal.release.witnesses import known_to_maker, place_people
from shoal.workflow.config import load
from shoal.workflow.earlier import attack_with_earlier
from shoal.workflow.people import (
    everybody_in,
    read_people,
    with_keys,
)
from shoal.workflow.staging import Stage


@dataclass(frozen=True)
class AttackReport(Tabular):
    """The findings of each attack, in the order in which the attacks ran.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> report = shoal.attack(release, shoal.attacks.Homogeneity())
    >>> report["homogeneity"].n_at_risk
    0
    >>> report.to_pandas()["attack"].tolist()
    ['homogeneity']
    """

    findings: tuple[Findings, ...]

    def __iter__(self) -> Any:
        """Iterate over the findings."""
        return iter(self.findings)

    def __getitem__(self, name: str) -> Findings:
        """Return the findings of an attack by its name."""
        for findings in self.findings:
            if findings.attack == name:
                return findings
        raise KeyError(name)

    def to_dict(self) -> dict[str, object]:
        """Return the report as JSON holds it."""
        return {"attacks": [findings.to_dict() for findings in self.findings]}

    def _overview(self) -> Section:
        return overview_of(self.findings, "Attacks")

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
    work: float | str = DEFAULT_ATTACK_WORK,
    truth: EngineTable | None = None,
    progress: Progress = silent,
) -> AttackReport:
    """Attack a release.

    Parameters
    ----------
    release
        A release, or the path of its public folder.
    attacks
        The attacks to run. Default: every attack that fits the shape of the release.
    knowledge
        What the adversary knows besides the release, such as `shoal.knowledge.Knowledge`. Default:
        the knowledge that the release was made against, if it is available.
    people
        The people attacked: a table, frame or file with their quasi-identifiers. Default: everybody
        in the release, found in their own line, which is the worst case; one line per person then
        goes to `risk.parquet` in the internal folder.
    key
        The column of `people` with the keys by which facts name them. Default: its schema's key.
    earlier
        Public folders of other releases of the table, beside their internal folders, to be attacked
        together with this one. Default: none.
    max_work
        The number of operations that counting the worlds of several releases may take.
        Default: 2e9.
    work
        The most work of each attack: a number of units, or CPU seconds or minutes such as
        ``"30s"``, which a constant rate converts to units, so that the result is the same on every
        machine. If everybody is too much work, a sample of people is attacked, with an interval
        for all of them; of what is still too much, the least informative part is left out. Default:
        ``"30s"``.
    truth
        The table that the release was made from: beliefs are compared with it, and people are
        found by exact values; a sample of them if there are more than a million. Default: the
        table of a release just made.
    progress
        Called with the name of each step. Default: nothing is reported.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> shoal.attack(release, shoal.attacks.Homogeneity())
    AttackReport(homogeneity: 0 of 9 people at risk)
    """
    with opened(release) as held:
        return _attack(
            held,
            attacks,
            knowledge,
            (people, key),
            earlier,
            (max_work, read_work(work)),
            truth,
            progress,
        )


def _attack(
    release: Release,
    attacks: tuple[Attack, ...],
    knowledge: object,
    others: tuple[Any, str | None],
    earlier: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | None,
    limits: tuple[int, int],
    truth: EngineTable | None,
    progress: Progress,
) -> AttackReport:
    people, _ = others
    max_work, work = limits
    if truth is not None and release.making is None:
        release = _with_words_of(release, truth)
    published = release.levelled
    if is_own := knowledge is None:
        knowledge = known_to_maker(release)
    external = _external(release, people)
    attacks = _chosen(release, attacks, external, knowledge, is_everybody=people is None)
    attacked = everybody_in(release) if people is None else read_people(people, published)
    if people is None and any(Need.INSENSITIVE in one.needs for one in attacks):
        attacked = replace(attacked, company=release.files.company(release.manifest))
    told = (knowledge, *(getattr(one, "rules", None) for one in attacks))
    attacked = with_keys(release, attacked, others, told, is_own=is_own)
    placed = _placed(release, attacks)
    if people is not None and placed is not None:
        attacked, placed = replace(attacked, everybody=placed), None
    truth = _truth(release, truth, is_everybody=people is None)
    stage = Stage(
        release, knowledge, attacked, placed, external, truth, work, is_everybody=people is None
    )
    findings = []
    for one in attacks:
        progress(f"attack: {type(one).__name__}")
        found = stage.findings_of(one)
        findings.append(found if people is None else replace(found, is_apart=True))
    _write_risk_anew(release, about_everybody(findings))
    if earlier is not None:
        progress("compare with earlier releases")
        findings += attack_with_earlier(release, earlier, max_work=max_work)
    return AttackReport(tuple(findings))


def _with_words_of(release: Release, table: EngineTable) -> Release:
    """Return a release that reads knowledge by the values and hierarchies of a table."""
    words = Vocabulary.of_table(at_levels(table, release.manifest.levels))
    kept = release.counts.published
    published = None if kept is None else replace(kept, vocabulary=words)
    return replace(release, counts=Counts(published, words))


def _chosen(
    release: Release,
    attacks: tuple[Attack, ...],
    external: EngineTable | None,
    knowledge: object,
    *,
    is_everybody: bool,
) -> tuple[Attack, ...]:
    """Return the attacks to run: those given, if they can be run, or all that apply."""
    published = release.levelled
    if attacks:
        for one in attacks:
            check_chosen(
                one, published, is_everybody=is_everybody, has_external=external is not None
            )
        return attacks
    return tuple(
        one
        for one in attacks_that_apply(published, has_knowledge=knowledge is not None)
        if is_everybody or (Need.ROWS not in one.needs and _is_placed(release, one))
    )


def _is_placed(release: Release, one: Attack) -> bool:
    """Return whether the release tells every place that an attack relies on."""
    is_known = release.manifest.shape.has_lines or release.making or release.internal
    return bool(is_known) or Need.PLACES not in one.needs


def _placed(release: Release, attacks: Sequence[Attack]) -> People | None:
    """Return everybody in a sliced release by their buckets, if an attack relies on them."""
    is_needed = any(Need.PLACES in one.needs and _is_placed(release, one) for one in attacks)
    placed = place_people(release) if is_needed else None
    return None if placed is None else placed.people


def _external(release: Release, people: Any) -> EngineTable | None:
    """Return the table of everybody's quasi-identifiers: as given, or the one just published."""
    if people is None:
        return None if release.making is None else release.making.table
    return people if isinstance(people, EngineTable) else None


def _truth(
    release: Release, truth: EngineTable | None, *, is_everybody: bool
) -> EngineTable | None:
    """Return the table by which attacks on everybody are scored; None if they are not scored."""
    if truth is not None and not is_everybody:
        raise ParameterError(
            "An attack can be scored on everybody in the release, not on other people.",
            hint="leave out people, or truth.",
        )
    if truth is not None or release.making is None or not is_everybody:
        return truth
    return release.making.table


@contextlib.contextmanager
def table_of(configuration: Path | None) -> Iterator[EngineTable | None]:
    """Open the table that a configuration names, and close it afterwards; None if there is none."""
    if configuration is None:
        yield None
        return
    table = load(configuration).read()
    with contextlib.closing(table.engine):
        yield table


def read_knowledge(path: str | os.PathLike[str]) -> Knowledge:
    """Read an adversary's knowledge from a file that `shoal mine` wrote, edited or not."""
    return Knowledge.from_file(path)


def _write_risk_anew(attacked: Release, findings: Sequence[Findings]) -> None:
    """Write the findings beside a release on disk, if it is still the same release."""
    if not findings or attacked.folder is None or attacked.internal is None:
        return
    release = open_release(attacked.folder, internal=attacked.internal)
    with contextlib.closing(release.files.engine):
        if release.manifest.files != attacked.manifest.files:
            raise DataError(
                "The release was replaced while it was attacked.", hint="open and attack it again."
            )
        write_risk(release, attacked.internal, findings)


def attacks_that_apply(published: Published, *, has_knowledge: bool) -> list[Attack]:
    """Return every attack that is run on a release by default, with default parameters."""
    known: list[Attack] = [getattr(all_attacks, name)() for name in all_attacks.__all__]
    return [
        one
        for one in known
        if one.fits(published)
        and (has_knowledge or Need.KNOWLEDGE not in one.needs)
        and one.is_installed()
    ]


def unfit_error(attack: type[Attack], shape: Shape) -> ParameterError:
    """Return the error for an attack that does not apply to a release."""
    return ParameterError(
        f"{attack.__name__} does not apply to this {shape} release.",
        hint="give the table of everybody's quasi-identifiers: people=shoal.read(...)."
        if Need.ALGORITHM in attack.needs
        else "leave it out; without any named attack, all that apply are run.",
    )


def attacks_left_out(shape: Shape) -> list[str]:
    """Return the names of the attacks on a shape that lack a library."""
    known = {snake_case(name): getattr(all_attacks, name) for name in all_attacks.__all__}
    return [
        name for name, one in known.items() if shape.model in one.reads and not one.is_installed()
    ]


def check_chosen(
    one: Attack, published: Published, *, is_everybody: bool, has_external: bool
) -> None:
    """Refuse an attack that cannot be run.

    An attack that runs the algorithm again needs the table of everybody's quasi-identifiers
    (`has_external`), and then fits any release.
    """
    if not isinstance(one, Attack):
        raise ParameterError(
            "An attack must be an object such as shoal.attacks.Linkage(), not a "
            f"{type(one).__name__}."
        )
    runs_algorithm = Need.ALGORITHM in one.needs
    if not one.fits(published) and not (runs_algorithm and has_external):
        raise unfit_error(type(one), published.manifest.shape)
    if Need.ROWS in one.needs and not is_everybody:
        raise ParameterError(
            f"{type(one).__name__} attacks the cells of a release, not people who are to be "
            "found in it.",
            hint="leave people out.",
        )
