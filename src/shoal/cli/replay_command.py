"""`shoal replay`: the same public files again, from the same table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import EngineName, Memory
from shoal.cli.output import Mark, Output
from shoal.core.errors import GuaranteeError

if TYPE_CHECKING:
    from shoal.pipeline.replay import Replay

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "replay")
    def replay(
        output: Output,
        *,
        record: Annotated[
            Path,
            typer.Argument(
                metavar="RECORD",
                help="NAME.internal/record.json of a release, or the folder NAME.internal. It "
                "holds the secret: trust none that is not yours.",
                show_default=False,
            ),
        ],
        source: Annotated[
            str | None,
            typer.Option(
                metavar="PATH|ADDRESS",
                help="The table, where it is not where it was; its hash must be the same.",
            ),
        ] = None,
        to: Annotated[
            Path | None,
            typer.Option(
                metavar="FOLDER", help="Where to; NAME-replayed beside the record by default."
            ),
        ] = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Make a release again from its record, and compare it byte by byte with the sealed one."""
        from shoal.pipeline import replay as job  # noqa: PLC0415 - help imports no engine
        from shoal.pipeline.sources import read_source  # noqa: PLC0415

        given = None if source is None else read_source(source, engine)
        try:
            with output.progress() as progress:
                made = job.replay(
                    record, source=given, to=to, engine=engine, memory=memory, progress=progress
                )
        except job.ReplayError as error:
            _show_files(output, {"replay": error.files})
            _warn(output, error.warnings)
            raise
        output.document(made.to_dict())
        _show(output, made)
        if not made.is_sealed_unchanged:
            raise typer.Exit(GuaranteeError.exit_code)


def _show(output: Output, made: Replay) -> None:
    sealed = {} if made.sealed is None else {"the folder that was sealed": made.sealed}
    _show_files(output, {"replay": made.files, **sealed})
    output.line(f"{made.manifest.extent}, identical to what was sealed:")
    output.line(f"  {made.folder}  to ship")
    output.line(f"  {made.internal}  never to be shipped")
    _warn(output, made.warnings)
    if not made.is_sealed_unchanged:
        output.warn("The folder that was sealed was changed since; the replay has what was sealed.")


def _show_files(output: Output, columns: Mapping[str, Mapping[str, str]]) -> None:
    names = sorted({name for states in columns.values() for name in states})
    output.table(
        ("file", *columns),
        [(name, *(_mark(states.get(name)) for states in columns.values())) for name in names],
        title="Compared with the hashes on record",
    )


def _mark(state: str | None) -> Mark | str:
    return "" if state is None else Mark(state, state == "identical")


def _warn(output: Output, warnings: tuple[str, ...]) -> None:
    for warning in warnings:
        output.warn(warning)
