"""`shoal attack`."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    AttackNames,
    AttackWork,
    MaxWork,
    Memory,
    Parameters,
    ReleaseFolder,
    option,
    read_parameters,
)
from shoal.cli.output import SHOWS_VALUES, Output
from shoal.core.budget import DEFAULT_ATTACK_WORK
from shoal.core.display import in_words, number
from shoal.core.progress import DEFAULT_MAX_WORK

if TYPE_CHECKING:
    from shoal.workflow.attack import AttackReport
    from shoal.workflow.make import ConfiguredAttack


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "attack")
    def attack(
        output: Output,
        *,
        folder: ReleaseFolder,
        people: Annotated[
            Path | None,
            option(
                "A table of the people to attack, with their quasi-identifiers. Default: everybody "
                "in the release.",
                "FILE",
            ),
        ] = None,
        people_key: Annotated[
            str | None,
            option(
                "The column of --people with the row keys by which facts name people. Default: "
                "none; facts then stay unresolved.",
                "COLUMN",
            ),
        ] = None,
        population: Annotated[
            Path | None,
            option(
                "The population from which the table was drawn, for linkage. Default: none.",
                "FILE",
            ),
        ] = None,
        knowledge: Annotated[
            Path | None,
            option(
                "What the adversary knows besides the release, as `shoal mine` writes it. "
                "Default: what the release was made against, if that is available.",
                "FILE",
            ),
        ] = None,
        prior: Annotated[
            Path | None,
            option(
                "Data similar to the table, from which prior beliefs are learned. Default: none.",
                "FILE",
            ),
        ] = None,
        earlier: Annotated[
            list[Path] | None,
            option(
                "Another release of the same table, attacked together with this one. Repeat the "
                "option for several. Default: none.",
                "FOLDER",
            ),
        ] = None,
        max_work: MaxWork = DEFAULT_MAX_WORK,
        attack_work: AttackWork = None,
        truth: Annotated[
            Path | None,
            option(
                "The configuration of the original table, to check how often beliefs are right. "
                "Default: beliefs are not checked.",
                "CONFIG",
            ),
        ] = None,
        attack: AttackNames = None,
        parameter: Parameters = None,
        memory: Memory = None,
    ) -> None:
        """Attack a release as an adversary would, and report who is at risk."""
        from shoal.release.opened import open_release  # noqa: PLC0415
        from shoal.workflow import attack as job  # noqa: PLC0415 - help imports no engine

        chosen = _configured(attack or [], read_parameters(parameter), population, prior)
        release = open_release(folder, memory=memory)
        with (
            contextlib.closing(release.files.engine),
            output.progress() as progress,
            job.table_of(truth) as table,
        ):
            for entry in chosen:
                entry.check()
            made = [entry.make(release.levelled) for entry in chosen]
            report = job.attack(
                release,
                *made,
                knowledge=None if knowledge is None else job.read_knowledge(knowledge),
                people=people,
                key=people_key,
                earlier=earlier or None,
                max_work=max_work,
                work=DEFAULT_ATTACK_WORK if attack_work is None else attack_work,
                truth=table,
                progress=progress,
            )
        output.document({"notice": SHOWS_VALUES, **report.to_dict()})
        _show(output, report)
        if people is None and release.internal is not None:
            output.place("One line per person and attack:", release.internal / "risk.parquet")


def _configured(
    names: list[str],
    parameters: dict[str, object],
    population: Path | None,
    prior: Path | None,
) -> list[ConfiguredAttack]:
    """Return each attack with its parameters, given as `attack.name=value` or `name=value`."""
    from shoal.workflow.make import ConfiguredAttack  # noqa: PLC0415 - help imports no engine

    by_attack: dict[str, dict[str, object]] = {name: {} for name in names}
    for given, value in parameters.items():
        owner, point, name = given.rpartition(".")
        if not point and len(names) != 1:
            message = (
                f"name the attack of the parameter: -p ATTACK.{given}=..., or give one --attack."
            )
            raise typer.BadParameter(message)
        by_attack.setdefault(owner or names[0], {})[name] = value
    if population is not None:
        by_attack.setdefault("linkage", {})["population"] = str(population)
    if prior is not None:
        by_attack.setdefault("belief", {})["prior"] = str(prior)
    return [ConfiguredAttack(name=name, parameters=given) for name, given in by_attack.items()]


def _show(output: Output, report: AttackReport) -> None:
    output.table(
        ("attack", "what the adversary knows", "what she finds", "strongest belief", "limit"),
        [
            (
                found.attack,
                found.knows,
                found.line,
                in_words(found.worst) if found.worst else None,
                "none: reported, not judged" if found.limit is None else found.limit,
            )
            for found in report.findings
        ],
    )
    for levels in dict.fromkeys(found.levels for found in report.findings if found.levels):
        output.line(f"Attacked: {levels}.")
    for found in report.findings:
        if found.sampled is not None:
            sample = found.sampled
            output.warn(
                f"{found.attack} attacked a sample of {number(sample.n_people)} of "
                f"{number(sample.n_all)} people; --attack-work allows more."
            )
        if found.cut_short:
            output.warn(f"{found.attack} was cut short: {found.cut_short}.")
        if found.meaningless:
            output.warn(f"The limit of {found.attack} means nothing here: {found.meaningless}.")
        if found.unresolved:
            listed = "; ".join(found.unresolved)
            output.warn(f"{found.attack} could not resolve what the adversary knows: {listed}.")
    output.line(SHOWS_VALUES, style="bold")
    for found in report.findings:
        output.facts(found.headline, title=found.attack)
        for section in found.sections:
            output.section(section)
