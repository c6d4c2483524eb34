"""Publish a table: read, anonymize, attack, judge, and only then seal.

The gate (`shoal.pipeline.gate`) is between attacking and writing: a release that fails it is not
written, unless the steward accepts the risk and says why.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from shoal.core.errors import ParameterError
from shoal.core.measure import Measured
from shoal.core.progress import Progress, silent
from shoal.core.release import INTERNAL_SUFFIX, Manifest
from shoal.engines.engine import Scan
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.attack import attacks_left_out
from shoal.pipeline.config import Configuration
from shoal.pipeline.gate import GateError, Judgement, Outcome, gate_warnings, judge, pass_gate
from shoal.pipeline.measure import default_measures, measure
from shoal.pipeline.placing import claimed, internal_folder
from shoal.pipeline.record import GateRecord, earlier_releases
from shoal.pipeline.release import Release, path_of
from shoal.pipeline.repair import repair
from shoal.pipeline.seal import check_writing, seal

__all__ = [
    "GateError",
    "Judgement",
    "Outcome",
    "Publication",
    "gate_warnings",
    "internal_folder",
    "place_of",
    "produce",
    "publish",
]


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
        not_run = configuration.attacks_not_run()
        judgements = judge(release, configuration.attacks(), not_run, progress)
        accepted = pass_gate(judgements, release.manifest, accept_risk)
        if chosen := configuration.measures() or default_measures(release.published):
            release.measured = measure(release, *chosen, progress=progress).measured
        earlier = _unsafe_beside(configuration, earlier_releases(place, scan))
        progress("write and seal")
        verdicts = {judgement.attack: str(judgement.outcome) for judgement in judgements}
        warned = gate_warnings(judgements)
        seal(
            release,
            held,
            ending,
            accept_risk=accepted,
            gate=GateRecord(verdicts, not_run, warned),
        )
    return Publication(
        folder=place,
        internal=internal_folder(place),
        manifest=release.manifest,
        judgements=judgements,
        accepted=accepted,
        warnings=(*warned, *_warnings(release), *map(_republished, earlier)),
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
        earlier = _unsafe_beside(configuration, earlier_releases(place, scan))
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
        release = anonymize(
            table,
            method,
            seed=configuration.seed,
            earlier=configuration.earlier,
            max_work=configuration.max_work,
            progress=progress,
        )
        if configuration.repair is not None:
            release = repair(release, **configuration.repair, progress=progress)
        assert release.making is not None
        release.making = dataclasses.replace(release.making, configuration=configuration.to_dict())
        release.tell(configuration.about)
        yield release, table.scan
    finally:
        table.engine.close()


def place_of(folder: Path) -> Path:
    """Give the folder by a path that ends in its name, which `.` and `..` do not."""
    return folder if folder.name not in ("", "..") else folder.resolve()


def _unsafe_beside(configuration: Configuration, names: Sequence[str]) -> tuple[str, ...]:
    """Leave out the earlier releases that the new one was made to stay safe beside."""
    kept = {folder.resolve().name for folder in configuration.earlier}
    return tuple(name for name in names if name not in kept)


def _republished(name: str) -> str:
    return (
        f"The release {name!r} was made of this same table, and an adversary who has both learns "
        "more than from one. Ship only one of them, see what both say together (shoal attack NEW "
        f"--earlier OLD), stay safe beside it ([release] earlier = [{name!r}]), or make the same "
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
