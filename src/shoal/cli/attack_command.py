"""`shoal attack`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli import parsing
from shoal.cli.command import command
from shoal.cli.options import AttackNames, MaxWork, Memory, Parameters
from shoal.cli.output import SHOWS_VALUES, Output
from shoal.core.risk_words import in_words
from shoal.core.work import DEFAULT_MAX_WORK

if TYPE_CHECKING:
    from shoal.pipeline.attack import AttackReport
    from shoal.pipeline.config import ConfiguredAttack

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "attack")
    def attack(
        output: Output,
        *,
        folder: Annotated[
            Path,
            typer.Argument(
                metavar="FOLDER", help="The public folder of a release.", show_default=False
            ),
        ],
        people: Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="The people attacked, by their quasi-identifiers; else all of the release.",
            ),
        ] = None,
        people_key: Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="The column of --people with the keys of rows, by which facts name people. "
                "Default: none, and facts stay unresolved.",
            ),
        ] = None,
        population: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="A population that the table was drawn from."),
        ] = None,
        knowledge: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="What is known beside the release: `shoal mine`."),
        ] = None,
        prior: Annotated[
            Path | None,
            typer.Option(
                metavar="FILE", help="Data like the table's, that prior beliefs come from."
            ),
        ] = None,
        earlier: Annotated[
            list[Path] | None,
            typer.Option(
                metavar="FOLDER",
                help="Another release of the same table, attacked together with this one; may be "
                "given several times. Default: none.",
            ),
        ] = None,
        max_work: MaxWork = DEFAULT_MAX_WORK,
        truth: Annotated[
            Path | None,
            typer.Option(
                metavar="CONFIG",
                help="The configuration of the table that the release was made from: how right "
                "the foreground attack is.",
            ),
        ] = None,
        attack: AttackNames = None,
        parameter: Parameters = None,
        memory: Memory = None,
    ) -> None:
        """Attack a release as an adversary would, and say who is at risk."""
        from shoal.pipeline import attack as job  # noqa: PLC0415 - help imports no engine
        from shoal.pipeline.release import open_release  # noqa: PLC0415

        release = open_release(folder, memory=memory)
        chosen = _configured(attack or [], parsing.read_parameters(parameter), population, prior)
        with output.progress() as progress:
            for entry in chosen:
                entry.check()
            made = [entry.make(release.published) for entry in chosen]
            known = None if knowledge is None else job.read_knowledge(knowledge)
            with job.table_of(truth) as table:
                report = job.attack(
                    release,
                    *made,
                    knowledge=known,
                    people=people,
                    key=people_key,
                    earlier=earlier or None,
                    max_work=max_work,
                    truth=table,
                    progress=progress,
                )
        output.document({"notice": SHOWS_VALUES, **report.to_dict()})
        _show(output, report)
        if people is None and release.internal is not None:
            output.line(f"One line a person and attack: {release.internal / 'risk.parquet'}")


def _configured(
    names: list[str],
    parameters: dict[str, object],
    population: Path | None,
    prior: Path | None,
) -> list[ConfiguredAttack]:
    """Give each attack its parameters: `attack.name=value`, or `name=value` where there is one."""
    from shoal.pipeline.config import ConfiguredAttack  # noqa: PLC0415 - help imports no engine

    by_attack: dict[str, dict[str, object]] = {name: {} for name in names}
    for given, value in parameters.items():
        owner, point, name = given.rpartition(".")
        if not point and len(names) != 1:
            message = f"say whose parameter it is: -p ATTACK.{given}=... or one --attack."
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
    for found in report.findings:
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
