"""`shoal publish`, and `shoal demo`, which publishes a made-up sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import Details, EngineName, Memory, Replace, TableName
from shoal.cli.output import Mark, Output
from shoal.cli.summary import show_publication_summary, show_refusal
from shoal.core.display import in_words

if TYPE_CHECKING:
    from shoal.core.guarantees import Guarantee
    from shoal.release.export import Export
    from shoal.workflow.config import Configuration
    from shoal.workflow.gate import Judgement
    from shoal.workflow.preview import Preview
    from shoal.workflow.publish import Publication

_DATABASE = "A copy in a database"


def register(app: typer.Typer) -> None:
    """Register the commands."""
    _register_publish(app)
    _register_demo(app)


def _register_publish(app: typer.Typer) -> None:
    @command(app, "publish")
    def publish(
        output: Output,
        *,
        configuration: Annotated[
            Path,
            typer.Argument(
                metavar="CONFIG",
                help="The configuration file, usually shoal.toml.",
                show_default=False,
            ),
        ],
        dry_run: Annotated[
            bool,
            typer.Option(
                "--dry-run",
                help="Check everything and estimate the time, but publish nothing. Default: "
                "publish.",
            ),
        ] = False,
        accept_risk: Annotated[
            str | None,
            typer.Option(
                metavar="REASON",
                help="Seal the release although the gate fails; the reason goes to the internal "
                "record. Default: a failing release is not written.",
            ),
        ] = None,
        replace: Replace = False,
        details: Details = False,
        out: Annotated[
            Path | None,
            typer.Option(
                metavar="FOLDER",
                help="The folder of the release. Default: the configuration's.",
            ),
        ] = None,
        format: Annotated[  # noqa: A002 - the name of the option
            str | None,
            typer.Option(
                metavar="csv|parquet",
                help="The format of the data files. Default: the configuration's.",
            ),
        ] = None,
        to_database: Annotated[
            str | None,
            typer.Option(
                metavar="postgresql://...",
                help="Also load the sealed release into this database; keep the password in "
                "~/.pgpass or PGPASSWORD. Default: none.",
                rich_help_panel=_DATABASE,
            ),
        ] = None,
        schema: Annotated[
            str | None,
            typer.Option(
                metavar="NAME",
                help="The schema of that database. Default: public.",
                rich_help_panel=_DATABASE,
            ),
        ] = None,
        table: TableName = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Publish a table: anonymize it, attack the result, judge it and seal it."""
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
            from shoal.workflow import preview  # noqa: PLC0415

            planned = preview.dry_run(
                loaded, accept_risk=accept_risk, replace=replace, format=format, folder=out
            )
            output.document(planned.to_dict())
            _show_preview(output, planned)
            return
        from shoal.workflow import publish as job  # noqa: PLC0415
        from shoal.workflow.gate import GateError, gate_warnings  # noqa: PLC0415

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
        except GateError as error:
            show_refusal(output, error.judgements)
            if details:
                _show_gate(output, error.judgements)
            for warning in gate_warnings(error.judgements):
                output.warn(warning)
            raise
        exported = _export(loaded, published, replace=replace)
        output.document(
            published.to_dict() | ({"database": exported.to_dict()} if exported else {})
        )
        show_publication(output, published, details=details)
        if exported is not None:
            output.table(
                ("table of the database", "rows"),
                [(f"{exported.schema}.{name}", n) for name, n in exported.tables.items()],
            )


def _load(path: Path, options: dict[str, dict[str, str | None]]) -> Configuration:
    """Load a configuration; options take precedence over it."""
    from shoal.workflow.config import configure, load, read_toml  # noqa: PLC0415

    given = read_toml(path)
    if not all(isinstance(section, dict) for section in given.values()):
        return load(path)  # says what is wrong with it
    for section, entries in options.items():
        stated = {key: value for key, value in entries.items() if value is not None}
        if stated:
            given[section] = {**given.get(section, {}), **stated}
    return configure(given, base=path.parent)


def _check_database(loaded: Configuration, out: Path | None, *, replace: bool) -> None:
    """Check the destination in the database before hours of work, not after them."""
    if loaded.database is None:
        return
    from shoal.release.export import check_destination, planned_names  # noqa: PLC0415

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
    from shoal.release.export import export_release  # noqa: PLC0415

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


def _show_gate(output: Output, judgements: Sequence[Judgement]) -> None:
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
    """Print figures that only the steward may know: how many suppressed cells are private."""
    hiding = notes.get("hiding")
    if isinstance(hiding, dict):
        output.line()
        output.line(
            f"{hiding['private']} cells are private, and {hiding['blanked']} more were blanked to "
            f"protect them. Of {hiding['rules']} rules found, {hiding['invalidated']} no longer "
            f"hold and {hiding['marginalized']} no longer fire."
        )


def show_publication(output: Output, published: Publication, *, details: bool) -> None:
    """Print one screen about a release, with every figure if asked for."""
    show_publication_summary(output, published)
    _show_hiding(output, published.notes)
    if details:
        output.line()
        _show_gate(output, published.judgements)
        for measured in published.measured:
            output.facts(measured.headline, title=f"What analysts keep: {measured.measure}")
        _show_guarantees(output, published.manifest.guarantees)
    if published.accepted is not None:
        output.line()
        output.warn(f"A risk was accepted; the internal record keeps it: {published.accepted}")
    if published.warnings:
        output.line()
    for warning in published.warnings:
        output.warn(warning)
    output.line()
    output.line("Next", style="bold")
    output.place("  who is at risk, and why:", published.internal / "report.html")
    output.place("  what readers are told:  ", published.folder / "report.html")
    output.place("  check the release:      ", f"shoal verify {published.folder}")


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
        ("attack", "people at risk allowed", "about"),
        [
            (
                entry.name,
                "any" if entry.max_people is None else str(entry.max_people),
                f"not run: {entry.not_run}" if entry.not_run else f"{entry.seconds:.1f} s",
            )
            for entry in planned.attacks
        ],
    )
    output.table(
        ("folder", "there already"),
        [(str(path), path.exists()) for path in (planned.folder, planned.internal)],
    )
    output.line(
        f"Publishing takes about {planned.seconds:.1f} s and {planned.memory / 2**20:.0f} MB of "
        "memory. Nothing was written."
    )
    for warning in planned.warnings:
        output.warn(warning)


def _register_demo(app: typer.Typer) -> None:
    @command(app, "demo")
    def demo(
        output: Output,
        *,
        folder: Annotated[
            Path, typer.Argument(metavar="[FOLDER]", help="The folder to create.")
        ] = Path("shoal-demo"),
        rows: Annotated[int, typer.Option(help="The number of people in the sample.")] = 2000,
        seed: Annotated[
            int | None,
            typer.Option(
                help="Seed of the sample, to repeat it. Default: random.", show_default=False
            ),
        ] = None,
        replace: Replace = False,
        details: Details = False,
    ) -> None:
        """Publish a made-up sample from start to end, and say where to look.

        The folder then holds a table, its configuration and the release.
        """
        from shoal.workflow import demo as job  # noqa: PLC0415 - help imports no engine

        with output.progress() as progress:
            shown = job.demo(folder, rows=rows, seed=seed, replace=replace, progress=progress)
        output.document(shown.to_dict())
        output.line(f"A sample of {rows:,} people who do not exist, anonymized with Mondrian.")
        show_publication(output, shown.publication, details=details)
        configuration = shown.folder / "shoal.toml"
        output.place("  edit the configuration:", configuration)
        output.place("  and publish again:     ", f"shoal publish {configuration} --replace")
        if details:
            output.line()
            places = [(str(path), about) for path, about in shown.places]
            output.table(("where to look", ""), places)
