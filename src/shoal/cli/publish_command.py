"""`shoal publish`, and `shoal demo`, which publishes a made-up sample."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    AttackWork,
    ConfigurationFile,
    Details,
    EngineName,
    Format,
    Memory,
    Out,
    Replace,
    TableName,
    option,
    read_configuration,
    switch,
    update_section,
)
from shoal.cli.output import Output
from shoal.cli.summary import show_gate, show_guarantees, show_publication, show_refusal
from shoal.core.display import number

if TYPE_CHECKING:
    from shoal.release.export import Export
    from shoal.workflow.config import Configuration
    from shoal.workflow.preview import Preview, PreviewedAttack
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
        configuration: ConfigurationFile,
        dry_run: Annotated[
            bool,
            switch(
                "Check everything and list what would run, with estimates, but publish nothing. "
                "Default: publish.",
                "--dry-run",
            ),
        ] = False,
        accept_risk: Annotated[
            str | None,
            option(
                "Seal the release although the gate fails; the reason goes to the internal "
                "record. Default: a failing release is not written.",
                "REASON",
            ),
        ] = None,
        attack_work: AttackWork = None,
        replace: Replace = False,
        details: Details = False,
        out: Out = None,
        format: Format = None,  # noqa: A002 - the name of the option
        to_database: Annotated[
            str | None,
            option(
                "Also load the sealed release into this database; keep the password in ~/.pgpass "
                "or PGPASSWORD. Default: the configuration's, or none.",
                "postgresql://...",
                panel=_DATABASE,
            ),
        ] = None,
        schema: Annotated[
            str | None,
            option("The schema of that database. Default: public.", "NAME", panel=_DATABASE),
        ] = None,
        table: TableName = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Publish a table: anonymize it, attack the result, judge it and seal it."""
        from shoal.workflow.config import configure  # noqa: PLC0415 - help imports no engine

        given = read_configuration(configuration)
        update_section(given, "table", {"table": table})
        update_section(given, "engine", {"name": engine, "memory": memory})
        update_section(given, "attacks", {"work": attack_work})
        update_section(given, "release", {"database": to_database, "schema": schema})
        loaded = configure(given, base=configuration.parent)
        _check_database(loaded, out, replace=replace)
        if dry_run:
            from shoal.workflow import preview  # noqa: PLC0415

            with output.progress() as progress:
                planned = preview.dry_run(
                    loaded,
                    accept_risk=accept_risk,
                    replace=replace,
                    format=format,
                    folder=out,
                    progress=progress,
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
                show_gate(output, error.judgements)
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
        lock_timeout=loaded.limits.lock_timeout,
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
            lock_timeout=loaded.limits.lock_timeout,
        )
    except ShoalError as error:
        raise type(error)(
            f"The release is sealed in {published.folder}, but it is not in the database: "
            f"{error.fact}",
            hint=error.hint,
        ) from None


def _show_preview(output: Output, planned: Preview) -> None:
    output.table(
        ("step", "allowed", "takes about"),
        _steps(planned),
        title="What publishing would do",
    )
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
            if names
        ],
        title="Columns, with their hierarchies",
    )
    output.facts(
        {name: value for name, value in planned.method.parameters().items() if value is not None},
        title=f"Method {planned.method_name}",
    )
    show_guarantees(output, planned.guarantees)
    output.line(
        f"Publishing would take {_time(planned.seconds)} and {planned.memory / 2**20:.0f} MB of "
        "memory, by estimate. Nothing was written."
    )
    for warning in planned.warnings:
        output.warn(warning)


def _steps(planned: Preview) -> Iterator[tuple[str, str, str]]:
    """Yield what would run, what the gate would allow, and how long it would take."""
    rows = f"{number(planned.n_rows)} rows, {planned.n_columns} columns"
    yield f"read {planned.name}: {rows}", "", ""
    before = planned.seconds - sum(attack.seconds for attack in planned.attacks)
    yield f"anonymize with {planned.method_name} and verify", "", _time(before)
    for attack in planned.attacks:
        if attack.not_run:
            yield f"attack: {attack.name}", f"not run: {attack.not_run}", ""
        else:
            yield f"attack: {attack.name}", _allowed(attack), _time(attack.seconds)
    yield f"write and seal {planned.folder.name}, {planned.internal.name}", "", ""


def _allowed(attack: PreviewedAttack) -> str:
    if attack.limit is not None:
        return f"at most {attack.limit}"
    if attack.max_people is None:
        return "not judged"
    return "nobody at risk" if attack.max_people == 0 else f"{number(attack.max_people)} at risk"


def _time(seconds: float) -> str:
    """Return seconds in words, no more exact than an estimate is.

    Examples
    --------
    >>> [_time(seconds) for seconds in (0.02, 7.46, 400)]
    ['under 1 s', '7 s', '7 min']
    """
    if seconds < 1:
        return "under 1 s"
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _register_demo(app: typer.Typer) -> None:
    @command(app, "demo")
    def demo(
        output: Output,
        *,
        folder: Annotated[
            Path, typer.Argument(metavar="[FOLDER]", help="The folder to create.")
        ] = Path("shoal-demo"),
        rows: Annotated[int, option("The number of people in the sample.", "NUMBER")] = 2000,
        seed: Annotated[
            int | None, option("Seed of the sample, to repeat it. Default: random.", "NUMBER")
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
        configuration = shown.folder / "shoal.toml"
        further = {
            "edit the configuration": configuration,
            "and publish again": f"shoal publish {configuration} --replace",
        }
        show_publication(output, shown.publication, details=details, further=further)
        if details:
            output.line()
            places = [(str(path), about) for path, about in shown.places]
            output.table(("where to look", ""), places)
