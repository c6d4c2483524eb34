"""`shoal publish`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import EngineName, Memory, Replace, TableName
from shoal.cli.output import Mark, Output
from shoal.core.risk_words import in_words

if TYPE_CHECKING:
    from shoal.core.guarantees import Guarantee
    from shoal.pipeline.config import Configuration
    from shoal.pipeline.export import Export
    from shoal.pipeline.preview import Preview
    from shoal.pipeline.publish import Judgement, Publication

__all__ = ["register", "show_gate", "show_publication"]

_DATABASE = "A copy in a database"


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "publish")
    def publish(
        output: Output,
        *,
        configuration: Annotated[
            Path,
            typer.Argument(metavar="shoal.toml", help="The configuration.", show_default=False),
        ],
        dry_run: Annotated[
            bool, typer.Option("--dry-run", help="Only say what would be done.")
        ] = False,
        accept_risk: Annotated[
            str | None,
            typer.Option(metavar="REASON", help="Seal it although the gate fails, and say why."),
        ] = None,
        replace: Replace = False,
        out: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="Another folder for the release.")
        ] = None,
        format: Annotated[  # noqa: A002 - the name of the option
            str | None, typer.Option(metavar="csv|parquet", help="Another format.")
        ] = None,
        to_database: Annotated[
            str | None,
            typer.Option(
                metavar="postgresql://...",
                help="Load the sealed release into a database too; the password is best kept in "
                "~/.pgpass or PGPASSWORD.",
                rich_help_panel=_DATABASE,
            ),
        ] = None,
        schema: Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="The schema of that database, public by default.",
                rich_help_panel=_DATABASE,
            ),
        ] = None,
        table: TableName = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Read, anonymize, attack, judge and seal, as one file says."""
        loaded = _load(
            configuration,
            {
                "table": {"table": table},
                "engine": {"name": engine, "memory": memory},
                "release": {"database": to_database, "schema": schema},
            },
        )
        _check_database(loaded, out, replace=replace)
        if dry_run:
            from shoal.pipeline import preview  # noqa: PLC0415

            planned = preview.dry_run(loaded, replace=replace, format=format, folder=out)
            output.document(planned.to_dict())
            _show_preview(output, planned)
            return
        from shoal.pipeline import publish as job  # noqa: PLC0415

        try:
            with output.progress() as progress:
                published = job.publish(
                    loaded,
                    progress=progress,
                    accept_risk=accept_risk,
                    replace=replace,
                    format=format,
                    folder=out,
                )
        except job.GateError as error:
            show_gate(output, error.judgements)
            for warning in job.gate_warnings(error.judgements):
                output.warn(warning)
            raise
        exported = _export(loaded, published, replace=replace)
        output.document(
            published.to_dict() | ({"database": exported.to_dict()} if exported else {})
        )
        show_gate(output, published.judgements)
        show_publication(output, published)
        if exported is not None:
            output.table(
                ("table of the database", "rows"),
                [(f"{exported.schema}.{name}", n) for name, n in exported.tables.items()],
            )


def _load(path: Path, options: dict[str, dict[str, str | None]]) -> Configuration:
    """Load a configuration, with options in place of what it says."""
    from shoal.pipeline.config import configure, load, read_toml  # noqa: PLC0415

    given = read_toml(path)
    if not all(isinstance(section, dict) for section in given.values()):
        return load(path)  # says what is wrong with it
    for section, entries in options.items():
        stated = {key: value for key, value in entries.items() if value is not None}
        if stated:
            given[section] = {**given.get(section, {}), **stated}
    return configure(given, base=path.parent)


def _check_database(loaded: Configuration, out: Path | None, *, replace: bool) -> None:
    """Ask the database before hours of work, not after them."""
    if loaded.database is None:
        return
    from shoal.pipeline.export import check_destination, planned_names  # noqa: PLC0415

    folder = (loaded.folder if out is None else out).resolve()
    check_destination(
        loaded.database,
        planned_names(loaded.method(), folder.name),
        schema=loaded.database_schema,
        replace=replace or loaded.replace,
    )


def _export(loaded: Configuration, published: Publication, *, replace: bool) -> Export | None:
    if loaded.database is None:
        return None
    from shoal.core.errors import ShoalError  # noqa: PLC0415 - help imports no engine
    from shoal.pipeline.export import export_release  # noqa: PLC0415

    try:
        return export_release(
            published.folder,
            loaded.database,
            schema=loaded.database_schema,
            replace=replace or loaded.replace,
        )
    except ShoalError as error:
        raise type(error)(
            f"The release is sealed in {published.folder}, but it is not in the database: "
            f"{error.fact}",
            hint=error.hint,
        ) from None


def show_gate(output: Output, judgements: Sequence[Judgement]) -> None:
    """Print how every attack was judged; no value of the table is in it."""
    output.table(
        ("attack", "what the adversary knows", "what she finds", "strongest belief", "verdict"),
        [
            (
                judgement.attack,
                judgement.knows,
                judgement.line or None,
                in_words(judgement.worst) if judgement.worst and not judgement.not_run else None,
                _verdict(judgement),
            )
            for judgement in judgements
        ],
        title="The gate",
    )
    for judgement in judgements:
        if judgement.figures:
            output.facts(judgement.figures, title=judgement.attack)
        for section in judgement.sections:
            output.section(section)


def _verdict(judgement: Judgement) -> Mark | str:
    if judgement.max_people is None:
        return judgement.verdict
    return Mark(judgement.verdict, str(judgement.outcome) == "passed")


def _show_hiding(output: Output, notes: Mapping[str, object]) -> None:
    """Say what the steward alone may know of suppressed cells: which are of which kind."""
    hiding = notes.get("hiding")
    if isinstance(hiding, dict):
        output.line(
            f"{hiding['private']} cells are private, and {hiding['blanked']} more were blanked to "
            f"protect them; of {hiding['rules']} rules found, {hiding['invalidated']} do not hold "
            f"any more and {hiding['marginalized']} do not fire."
        )


def show_publication(output: Output, published: Publication) -> None:
    """Print what was published and where it is."""
    stated = published.manifest
    output.line(
        f"{stated.extent}, {stated.shape}, "
        f"{'sealed' if stated.is_sealed else 'not sealed'}"
        f"{', a test release' if stated.is_test else ''}:"
    )
    output.line(f"  {published.folder}  to ship")
    output.line(f"  {published.internal}  never to be shipped")
    _show_hiding(output, published.notes)
    for measured in published.measured:
        output.facts(measured.headline, title=f"What analysts keep: {measured.measure}")
    output.line()
    _show_guarantees(output, stated.guarantees)
    if published.accepted is not None:
        output.warn(f"A risk was accepted, and is in the internal record: {published.accepted}")
    for warning in published.warnings:
        output.warn(warning)


def _show_guarantees(output: Output, guarantees: Sequence[Guarantee]) -> None:
    output.table(
        ("guarantee", "promises", "its limits"),
        [(entry.name, entry.statement, entry.limits) for entry in guarantees],
    )


def _show_preview(output: Output, planned: Preview) -> None:
    output.table(("", "step"), list(enumerate(planned.steps, start=1)), title="What would be done")
    kinds = planned.schema.hierarchies
    output.table(
        ("role", "columns"),
        [
            (
                str(role),
                ", ".join(
                    f"{name} ({kinds[name].kind})" if name in kinds else name for name in names
                ),
            )
            for role, names in planned.columns.items()
        ],
        title="Columns, with their hierarchies",
    )
    output.facts(
        {name: value for name, value in planned.method.parameters().items() if value is not None},
        title=f"Method {planned.method_name}",
    )
    _show_guarantees(output, planned.guarantees)
    output.table(
        ("attack", "what the adversary knows", "people at risk allowed"),
        [
            (entry.name, entry.knows, entry.max_people if entry.max_people is not None else "any")
            for entry in planned.attacks
        ],
    )
    output.table(
        ("folder", "there already"),
        [(str(path), path.exists()) for path in (planned.folder, planned.internal)],
    )
    output.line(
        f"About {planned.seconds:.1f} s and {planned.memory / 2**20:.0f} MB of memory. "
        "Nothing was written."
    )
    for warning in planned.warnings:
        output.warn(warning)
