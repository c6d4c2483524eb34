"""Publish a table: read, anonymize, attack, judge, and only then seal.

The gate is between attacking and writing. An attack for which the configuration gives a limit is
judged by it; one without is reported, not judged. A release that fails is not written, unless the
steward accepts the risk and says why: the reason goes to the internal record.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from shoal.attacks.foreground import Foreground
from shoal.core.attack import Attack, Findings, Section
from shoal.core.errors import GuaranteeError, ParameterError
from shoal.core.held_out import HELD_OUT_TEST, HeldOutAttack
from shoal.core.measure import Measured
from shoal.core.progress import Progress, silent
from shoal.core.registry import snake_case
from shoal.core.release import INTERNAL_SUFFIX, Manifest
from shoal.engines.engine import Scan
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.attack import attack, attacks_left_out, attacks_that_apply
from shoal.pipeline.config import Configuration, ConfiguredAttack
from shoal.pipeline.measure import default_measures, measure
from shoal.pipeline.placing import claimed, internal_folder
from shoal.pipeline.record import earlier_releases
from shoal.pipeline.release import Release, path_of
from shoal.pipeline.repair import repair
from shoal.pipeline.seal import check_writing, seal
from shoal.pipeline.witnesses import known_to_maker

__all__ = [
    "GateError",
    "Judgement",
    "Outcome",
    "Publication",
    "internal_folder",
    "place_of",
    "produce",
    "publish",
]

_WITHOUT_VALUES = ("adversaries", "people by posterior", "calibration")
"""Sections of the foreground attack that hold no value of the table."""


class Outcome(StrEnum):
    """What the gate says of an attack."""

    PASSED = "passed"
    FAILED = "failed"
    REPORTED = "reported, not judged"


@dataclass(frozen=True)
class Judgement:
    """What an attack found, held against the limit of the configuration.

    Parameters
    ----------
    attack, knows
        The attack, and what its adversary knows.
    n_people, n_at_risk, worst
        How many people were attacked and are at risk, and the largest posterior.
    limit
        The posterior from which on a person is at risk; None where there is none.
    max_people
        How many people may be at risk; None where the attack is not judged.
    figures, sections
        What an attack found that was tried on a part of the table, or that was held against the
        truth, which cannot be repeated from the published files; no value of the table is in it.
        Empty for others.
    """

    attack: str
    knows: str
    n_people: int
    n_at_risk: int
    worst: float
    limit: str | None
    max_people: int | None
    figures: Mapping[str, object] = field(default_factory=dict)
    sections: tuple[Section, ...] = ()

    @property
    def outcome(self) -> Outcome:
        """What the gate says."""
        if self.max_people is None:
            return Outcome.REPORTED
        return Outcome.PASSED if self.n_at_risk <= self.max_people else Outcome.FAILED

    def to_dict(self) -> dict[str, object]:
        """Give the judgement as JSON holds it."""
        stated: dict[str, object] = {
            "attack": self.attack,
            "knows": self.knows,
            "people": self.n_people,
            "at_risk": self.n_at_risk,
            "worst_posterior": self.worst,
            "limit": self.limit,
            "max_people": self.max_people,
            "verdict": str(self.outcome),
        }
        if self.figures:
            stated["figures"] = dict(self.figures)
            stated["sections"] = [section.to_dict() for section in self.sections]
        return stated

    def __str__(self) -> str:
        return f"{self.attack}: {self.n_at_risk} people at risk, {self.max_people} allowed"


class GateError(GuaranteeError):
    """An attack put more people at risk than the configuration allows; nothing was written.

    Parameters
    ----------
    judgements
        What the gate said of every attack.
    """

    def __init__(self, fact: str, *, hint: str, judgements: Sequence[Judgement]) -> None:
        self.judgements = tuple(judgements)
        self.details = {"gate": [judgement.to_dict() for judgement in judgements]}
        super().__init__(fact, hint=hint)


@dataclass(frozen=True)
class Publication:
    """What was published and how the gate judged it.

    Parameters
    ----------
    folder, internal
        The public folder, and the internal one beside it.
    manifest
        What the release says of itself.
    judgements
        What the gate said of every attack.
    accepted
        The risk that was accepted and why; None where there was none to accept.
    warnings
        What the steward should know, in words.
    notes
        Figures of the method, by name, as the internal record has them.
    measured
        What the measures of the configuration said; of a table that is not large, loss and queries
        where it names none.
    """

    folder: Path
    internal: Path
    manifest: Manifest
    judgements: tuple[Judgement, ...]
    accepted: str | None
    warnings: tuple[str, ...]
    notes: Mapping[str, object] = field(default_factory=dict)
    measured: tuple[Measured, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Give the publication as JSON holds it."""
        stated = self.manifest
        return {
            "folder": str(self.folder),
            "internal": str(self.internal),
            "shape": str(stated.shape),
            "method": {"name": stated.method, "parameters": dict(stated.parameters)},
            "rows": stated.n_rows,
            "buckets": stated.n_buckets,
            "guarantees": [guarantee.to_dict() for guarantee in stated.guarantees],
            "test": stated.is_test,
            "sealed": stated.is_sealed,
            "gate": [judgement.to_dict() for judgement in self.judgements],
            "accepted_risk": self.accepted,
            "warnings": list(self.warnings),
            "measures": [one.to_dict() for one in self.measured],
            **self.notes,
        }

    def __repr__(self) -> str:
        stated = self.manifest
        return f"Publication({self.folder.name}: {stated.n_rows} rows, {stated.method})"


def publish(
    configuration: Configuration,
    *,
    progress: Progress = silent,
    accept_risk: str | None = None,
    replace: bool = False,
    format: str | None = None,  # noqa: A002 - the word of the design
    folder: str | os.PathLike[str] | None = None,
) -> Publication:
    """Do the whole job that a configuration describes.

    Parameters
    ----------
    configuration
        What `load` gave.
    progress
        Called with the name of each step.
    accept_risk
        Why the release is sealed although an attack fails or it was made from a seed.
    replace
        Whether a release that stands there already is replaced.
    format, folder
        Where the configuration's own are not wanted.

    Raises
    ------
    GateError
        Where an attack puts more people at risk than is allowed and nobody accepted that.

    Examples
    --------
    >>> from shoal.pipeline.config import load
    >>> publication = publish(load("shoal.toml"))  # doctest: +SKIP
    """
    place = place_of(configuration.folder if folder is None else Path(folder))
    may_replace = replace or configuration.replace
    ending = configuration.format if format is None else format
    _refuse_unexplained(configuration, accept_risk)
    check_writing(ending, accept_risk)
    with (
        claimed(path_of(place).resolve(), replace=may_replace) as held,
        _anonymized(configuration, progress) as (release, scan),
    ):
        judgements = _judge(release, configuration.attacks(), progress)
        accepted = _pass_gate(judgements, release.manifest, accept_risk)
        if chosen := configuration.measures() or default_measures(release.published):
            release.measured = measure(release, *chosen, progress=progress).measured
        earlier = earlier_releases(place, scan)
        progress("write and seal")
        verdicts = {judgement.attack: str(judgement.outcome) for judgement in judgements}
        seal(release, held, ending, accept_risk=accepted, verdicts=verdicts)
    return Publication(
        folder=place,
        internal=internal_folder(place),
        manifest=release.manifest,
        judgements=judgements,
        accepted=accepted,
        warnings=(*_warnings(release), *map(_republished, earlier)),
        notes=_notes(release),
        measured=release.measured,
    )


def produce(configuration: Configuration, *, progress: Progress = silent) -> Publication:
    """Anonymize and write as a configuration says, without attacks and without the gate.

    Parameters
    ----------
    configuration
        What `load` gave. With a seed, the release is a test and is not sealed.
    progress
        Called with the name of each step.
    """
    place = place_of(configuration.folder)
    with (
        claimed(path_of(place).resolve(), replace=configuration.replace) as held,
        _anonymized(configuration, progress) as (release, scan),
    ):
        earlier = earlier_releases(place, scan)
        progress("write")
        seal(release, held, configuration.format, accept_risk=None)
    return Publication(
        folder=place,
        internal=internal_folder(place),
        manifest=release.manifest,
        judgements=(),
        accepted=None,
        warnings=(*_warnings(release), *map(_republished, earlier)),
        notes=_notes(release),
    )


def _notes(release: Release) -> Mapping[str, object]:
    return {} if release.making is None else release.making.plan.notes


def _warnings(release: Release) -> tuple[str, ...]:
    planned = () if release.making is None else release.making.plan.warnings
    return (
        *planned,
        *(
            f"The attack {name!r} was not run: what it needs is not installed."
            for name in attacks_left_out(release.manifest.shape)
        ),
    )


@contextlib.contextmanager
def _anonymized(configuration: Configuration, progress: Progress) -> Iterator[tuple[Release, Scan]]:
    """Give the release, still in the engine, and its source."""
    method, schema = configuration.method(), configuration.schema()
    progress("read the table")
    table = configuration.read(schema)
    try:
        release = anonymize(table, method, seed=configuration.seed, progress=progress)
        if configuration.repair is not None:
            release = repair(release, **configuration.repair, progress=progress)
        assert release.making is not None
        release.making = dataclasses.replace(release.making, configuration=configuration.to_dict())
        yield release, table.scan
    finally:
        table.engine.close()


def place_of(folder: Path) -> Path:
    """Give the folder by a path that ends in its name, which `.` and `..` do not."""
    return folder if folder.name not in ("", "..") else folder.resolve()


def _republished(name: str) -> str:
    return (
        f"The release {name!r} was made of this same table. Two releases with different randomness "
        "are two views that an adversary can intersect: make sure that only one of them is "
        "shipped, or see what both say together: shoal attack NEW --earlier OLD. To have the same "
        f"release again: shoal replay {name}{INTERNAL_SUFFIX}."
    )


def _refuse_unexplained(configuration: Configuration, accept_risk: str | None) -> None:
    if accept_risk is not None and not accept_risk.strip():
        raise ParameterError("accept_risk must say why the risk is accepted; it is empty.")
    if configuration.seed is not None and accept_risk is None:
        raise ParameterError(
            "[release] seed makes a test release, which is not sealed: whoever guesses the seed "
            "can undo what is drawn from it.",
            hint="take the seed out, or accept the risk: --accept-risk 'why'.",
        )


def _judge(
    release: Release, configured: Sequence[ConfiguredAttack], progress: Progress
) -> tuple[Judgement, ...]:
    """Run the attacks that are named and every other that fits, and judge those with a limit."""
    published = release.published
    table = None if release.making is None else release.making.table
    made = [(entry, entry.make(published, table)) for entry in configured]
    has_knowledge = known_to_maker(release) is not None
    named = {entry.name for entry in configured}
    for one in attacks_that_apply(published, has_knowledge=has_knowledge):
        name = snake_case(type(one).__name__)
        if name not in named:
            made.append((ConfiguredAttack(name=name), one))
    if not made:
        return ()
    report = attack(release, *(one for _, one in made), progress=progress)
    return tuple(
        _judgement(entry, found, _figures(one, found))
        for (entry, one), found in zip(made, report.findings, strict=True)
    )


def _figures(one: Attack, found: Findings) -> tuple[Mapping[str, object], tuple[Section, ...]]:
    """Give what cannot be repeated from the published files, without values of the table."""
    if isinstance(one, HeldOutAttack):
        return found.headline, found.sections
    if isinstance(one, Foreground) and "precision" in found.headline:
        shown = tuple(section for section in found.sections if section.title in _WITHOUT_VALUES)
        return found.headline, shown
    return {}, ()


def _judgement(
    entry: ConfiguredAttack,
    found: Findings,
    shown: tuple[Mapping[str, object], tuple[Section, ...]],
) -> Judgement:
    if entry.max_people is not None and HELD_OUT_TEST in found.headline:
        raise ParameterError(
            f"[attacks.{entry.name}] max_people cannot be judged: the {HELD_OUT_TEST} was "
            f"{found.headline[HELD_OUT_TEST]}",
            hint="leave max_people out, or ask the method for what a part of the table can keep.",
        )
    if entry.max_people is not None and found.limit is None:
        raise ParameterError(
            f"[attacks.{entry.name}] max_people counts the people above a limit, and neither the "
            "configuration nor the guarantees of this release give one.",
            hint=f"give [attacks.{entry.name}] a limit, or leave max_people out.",
        )
    return Judgement(
        attack=entry.name,
        knows=found.knows,
        n_people=found.n_people,
        n_at_risk=found.n_breached,
        worst=found.worst,
        limit=found.limit,
        max_people=entry.max_people,
        figures=shown[0],
        sections=shown[1],
    )


def _pass_gate(
    judgements: Sequence[Judgement], manifest: Manifest, accept_risk: str | None
) -> str | None:
    """Refuse a release that fails; give what was accepted, for the record."""
    failed = [judgement for judgement in judgements if judgement.outcome is Outcome.FAILED]
    if failed and accept_risk is None:
        raise GateError(
            f"The release fails its gate: {'; '.join(map(str, failed))}. Nothing was written.",
            hint="ask the method for more, change the limit, or accept the risk: "
            "--accept-risk 'why'.",
            judgements=judgements,
        )
    risks = [str(judgement) for judgement in failed]
    risks += ["made from a seed"] if manifest.is_test else []
    if not risks or accept_risk is None:
        return None
    return f"{accept_risk} ({'; '.join(risks)})"
