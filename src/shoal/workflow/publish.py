"""Publish a table: read, anonymize, attack, judge, and only then seal.

The gate (`shoal.workflow.gate`) is between attacking and writing: a release that fails it is not
written, unless the steward accepts the risk and says why.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from shoal.core.budget import DEFAULT_ATTACK_WORK, read_work
from shoal.core.errors import ParameterError
from shoal.core.findings import about_everybody
from shoal.core.manifest import INTERNAL_SUFFIX, About, Manifest
from shoal.core.measure import Measure, Measured
from shoal.core.method import Method
from shoal.core.progress import DEFAULT_MAX_WORK, Progress, silent
from shoal.engines.engine import Scan
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Release, path_of, told
from shoal.release.placing import claimed, internal_folder
from shoal.release.record import Audit, GateRecord, earlier_releases
from shoal.release.seal import check_writing, seal
from shoal.workflow.anonymize import anonymize
from shoal.workflow.attack import attacks_left_out
from shoal.workflow.config import Configuration, load
from shoal.workflow.gate import Judgement, Outcome, gate_warnings, judge, pass_gate
from shoal.workflow.make import ConfiguredAttack, named_attacks
from shoal.workflow.measure import confirm_measures, default_measures, measure
from shoal.workflow.read import read
from shoal.workflow.repair import repair

_JUDGED = (Outcome.PASSED, Outcome.FAILED, Outcome.MEANINGLESS)


@dataclass(frozen=True)
class Publication:
    """The folders of a release, and how the gate judged it."""

    folder: Path
    internal: Path
    manifest: Manifest
    judgements: tuple[Judgement, ...]
    # The risk that was accepted and why; None if there was none to accept.
    accepted: str | None
    warnings: tuple[str, ...]
    # Figures of the method, by name, as in the internal record.
    notes: Mapping[str, object] = field(default_factory=dict)
    measured: tuple[Measured, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the publication as JSON holds it."""
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

    @property
    def verdict(self) -> str:
        """The verdict of the gate, in one line."""
        judged = [one for one in self.judgements if one.outcome in _JUDGED]
        failed = [one.attack for one in judged if one.outcome is not Outcome.PASSED]
        if failed:
            return f"sealed with an accepted risk: {', '.join(failed)} failed"
        if not judged:
            return "nothing was judged: no attack has a limit"
        return f"passed: {len(judged)} of {len(self.judgements)} attacks were judged"

    def __repr__(self) -> str:
        stated = self.manifest
        made = f"{stated.n_rows} rows by {stated.method}"
        return f"Publication({self.folder.name}: {made}; {self.verdict})"


def publish(
    source: Any,
    *,
    method: Method | None = None,
    folder: str | os.PathLike[str] | None = None,
    attacks: Mapping[str, Mapping[str, object]] | None = None,
    attack_work: float | str | None = None,
    measures: Sequence[Measure] | None = None,
    about: About | None = None,
    seed: int | None = None,
    earlier: Sequence[str | os.PathLike[str]] | None = None,
    accept_risk: str | None = None,
    replace: bool = False,
    format: str | None = None,  # noqa: A002 - the word of the design
    progress: Progress = silent,
    **reading: Any,
) -> Publication:
    """Do the whole job: read, anonymize, attack, judge, measure and seal.

    Parameters
    ----------
    source
        A configuration or the path of its file (``shoal.toml``), which says everything else; or a
        table, or whatever `shoal.read` reads, with the keywords below.
    method
        The method, such as ``shoal.Anatomy(ell=4)``. Needed unless there is a configuration.
    folder
        The public folder of the release. Default: that of the configuration, or ``release``.
    attacks
        Attacks by name, each with the keys of ``[attacks.NAME]``: its parameters; `max_people`, if
        it is judged; ``run=False`` and a `reason`, if it is left out. Every other attack that fits
        the release is run and reported. Default: none.
    attack_work
        The most work of each attack, as `work` of `shoal.attack`. Default: that of the
        configuration, or ``"30s"``.
    measures
        The measures to take. Default: loss and queries, unless the table is large.
    about
        The title, institution and so on for the documents of the release. Default: none.
    seed
        Makes a test release, which is sealed only with `accept_risk`. Default: a fresh secret.
    earlier
        Public folders of earlier releases of the same people to stay safe beside. Default: none.
    accept_risk
        Why to seal the release although an attack fails or it was made from a seed. Default: such
        a release is refused.
    replace
        Whether to replace an existing release. Default: False.
    format
        The format of the data files, csv or parquet. Default: that of the configuration, or csv.
    progress
        Called with the name of each step. Default: nothing is reported.
    reading
        Further keywords of `shoal.read`: `schema`, or `quasi`, `sensitive` and so on; `delimiter`,
        `memory` and others.

    Returns
    -------
    Where the release is, and how the gate judged it.

    Raises
    ------
    GateError
        If an attack puts more people at risk than is allowed and nobody accepted that; nothing is
        written then.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import shoal
    >>> patients = shoal.datasets.papers.injector_patients()
    >>> with tempfile.TemporaryDirectory() as place:
    ...     folder = pathlib.Path(place, "patients")
    ...     published = shoal.publish(patients, method=shoal.Anatomy(ell=2), folder=folder)
    >>> published
    Publication(patients: 9 rows by anatomy; nothing was judged: no attack has a limit)
    """
    given = {
        "method": method,
        "attacks": attacks,
        "measures": measures,
        "about": about,
        "seed": seed,
        "earlier": earlier,
    }
    asked = {name: value for name, value in {**given, **reading}.items() if value is not None}
    configuration = _configuration_of(source, asked)
    task = Task.of_keywords(source, asked) if configuration is None else Task.of(configuration)
    place = place_of(task.folder if folder is None else Path(folder))
    ending = task.format if format is None else format
    allowed = task.attack_work if attack_work is None else read_work(attack_work)
    refuse_unexplained(task.seed, accept_risk)
    check_writing(ending, accept_risk)
    with (
        claimed(path_of(place).resolve(), replace=replace or task.replace) as held,
        _anonymized(task, progress) as (release, scan),
    ):
        confirm_measures(task.measures, release.published)
        judgements, report = judge(release, task.attacks, task.not_run, progress, allowed)
        accepted = pass_gate(judgements, release.manifest, accept_risk)
        chosen = task.measures or default_measures(release.published)
        measured = measure(release, *chosen, progress=progress).measured if chosen else ()
        beside = _unsafe_beside(task.earlier, earlier_releases(place, scan))
        verdicts = {judgement.attack: str(judgement.outcome) for judgement in judgements}
        warned = gate_warnings(judgements)
        audit = Audit(
            about_everybody(report), measured, accepted, GateRecord(verdicts, task.not_run, warned)
        )
        sealed = seal(release, held, ending, audit, progress=progress)
    return Publication(
        folder=place,
        internal=internal_folder(place),
        manifest=sealed.manifest,
        judgements=judgements,
        accepted=accepted,
        warnings=(*warned, *_warnings(release), *_republished(beside)),
        notes=_notes(release),
        measured=measured,
    )


def produce(configuration: Configuration, *, progress: Progress = silent) -> Publication:
    """Anonymize and write as a configuration says, without attacks and without the gate.

    With a seed, the release is a test and is not sealed.
    """
    task = Task.of(configuration)
    place = place_of(task.folder)
    with (
        claimed(path_of(place).resolve(), replace=task.replace) as held,
        _anonymized(task, progress) as (release, scan),
    ):
        beside = _unsafe_beside(task.earlier, earlier_releases(place, scan))
        sealed = seal(release, held, task.format, progress=progress)
    return Publication(
        folder=place,
        internal=internal_folder(place),
        manifest=sealed.manifest,
        judgements=(),
        accepted=None,
        warnings=(*_warnings(release), *_republished(beside)),
        notes=_notes(release),
    )


def _configuration_of(source: Any, asked: Mapping[str, Any]) -> Configuration | None:
    """Return the configuration given, as it is or by its path; None for a table."""
    is_file = isinstance(source, str | os.PathLike) and Path(source).suffix == ".toml"
    if not isinstance(source, Configuration) and not is_file:
        return None
    if asked:
        raise ParameterError(
            f"A configuration is given, and beside it {', '.join(sorted(asked))}.",
            hint="write it into the configuration, or give the table in its place.",
        )
    return source if isinstance(source, Configuration) else load(source)


@dataclass(frozen=True, kw_only=True)
class Task:
    """What is to be published, and how: from a configuration, or from keywords."""

    open_table: Callable[[], EngineTable]
    method: Method
    # Whether the caller opened the table, and closes it.
    is_open: bool = False
    # The arguments of `shoal.repair` after the method; None for no repair.
    repair: Mapping[str, Any] | None = None
    attacks: tuple[ConfiguredAttack, ...] = ()
    # The attacks that are left out, each with the reason.
    not_run: Mapping[str, str] = field(default_factory=dict)
    # The units of work that each attack may do.
    attack_work: int = DEFAULT_ATTACK_WORK
    measures: tuple[Measure, ...] = ()
    earlier: tuple[Path, ...] = ()
    seed: int | None = None
    max_work: int = DEFAULT_MAX_WORK
    about: About = field(default_factory=About)
    folder: Path = Path("release")
    format: str = "csv"
    replace: bool = False
    # The configuration, for the internal record.
    stated: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def of(cls, configuration: Configuration) -> Task:
        """Return the task of a configuration."""
        schema = configuration.schema()
        return cls(
            open_table=lambda: configuration.read(schema),
            method=configuration.method(),
            repair=configuration.repair,
            attacks=configuration.attacks(),
            not_run=configuration.attacks_not_run(),
            attack_work=configuration.attack_work,
            measures=configuration.measures(),
            earlier=configuration.earlier,
            seed=configuration.seed,
            max_work=configuration.max_work,
            about=configuration.about,
            folder=configuration.folder,
            format=configuration.format,
            replace=configuration.replace,
            stated=configuration.to_dict(),
        )

    @classmethod
    def of_keywords(cls, source: Any, asked: Mapping[str, Any]) -> Task:
        """Return the task of the keywords of `publish`."""
        own = {"method", "attacks", "measures", "about", "seed", "earlier"}
        reading = {name: value for name, value in asked.items() if name not in own}
        if "method" not in asked:
            raise ParameterError(
                "publish needs a method, or a configuration that names one.",
                hint="for example method=shoal.Anatomy(ell=4).",
            )
        is_open = isinstance(source, EngineTable)
        if is_open and reading:
            raise ParameterError(
                f"The table is read already, and {', '.join(sorted(reading))} say how to read it.",
                hint="give the source of the table in its place, or leave them out.",
            )
        folders = asked.get("earlier", ())
        listed = [folders] if isinstance(folders, str | os.PathLike) else folders
        attacks, not_run = named_attacks(asked.get("attacks", {}))
        return cls(
            open_table=(lambda: source) if is_open else partial(read, source, **reading),
            is_open=is_open,
            method=asked["method"],
            attacks=attacks,
            not_run=not_run,
            measures=tuple(asked.get("measures", ())),
            earlier=tuple(map(Path, listed)),
            seed=asked.get("seed"),
            about=asked.get("about", About()),
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
def _anonymized(task: Task, progress: Progress) -> Iterator[tuple[Release, Scan]]:
    """Yield the release, still in the engine, and the scan of its source."""
    progress("read the table")
    table = task.open_table()
    try:
        release = make_release(task, table, progress)
        assert release.making is not None
        making = dataclasses.replace(release.making, configuration=task.stated)
        yield dataclasses.replace(told(release, task.about), making=making), table.scan
    finally:
        if not task.is_open:
            table.engine.close()


def make_release(task: Task, table: EngineTable, progress: Progress) -> Release:
    """Anonymize a table, and merge buckets if the task asks for it."""
    release = anonymize(
        table,
        task.method,
        seed=task.seed,
        earlier=task.earlier,
        max_work=task.max_work,
        progress=progress,
    )
    return release if task.repair is None else repair(release, **task.repair, progress=progress)


def place_of(folder: Path) -> Path:
    """Return the folder as a path that ends in its name, which `.` and `..` do not."""
    return folder if folder.name not in ("", "..") else folder.resolve()


def _unsafe_beside(earlier: Sequence[Path], names: Sequence[str]) -> tuple[str, ...]:
    """Leave out the earlier releases that the new one was made to stay safe beside."""
    kept = {folder.resolve().name for folder in earlier}
    return tuple(name for name in names if name not in kept)


def _republished(names: Sequence[str]) -> tuple[str, ...]:
    """Warn of earlier releases of the same table, in one sentence for all of them."""
    if not names:
        return ()
    listed = ", ".join(map(repr, names))
    subject = f"The release {listed} was" if len(names) == 1 else f"The releases {listed} were"
    warning = (
        f"{subject} made from this same table, and an adversary who has several of them learns "
        "more than from one. Ship only one; or test them together (shoal attack NEW --earlier "
        f"OLD), stay safe beside them ([release] earlier = [{listed}]), or repeat a release "
        f"exactly (shoal replay {names[0]}{INTERNAL_SUFFIX})."
    )
    return (warning,)


def refuse_unexplained(seed: int | None, accept_risk: str | None) -> None:
    """Refuse an accepted risk without a reason, and a seed without an accepted risk."""
    if accept_risk is not None and not accept_risk.strip():
        raise ParameterError("accept_risk must say why the risk is accepted; it is empty.")
    if seed is not None and accept_risk is None:
        raise ParameterError(
            "A seed makes a test release, which is not sealed: anyone who guesses the seed "
            "can undo its random draws.",
            hint="take the seed out, or accept the risk: --accept-risk 'why' (in Python: "
            "accept_risk='why').",
        )
