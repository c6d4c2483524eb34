"""`shoal profile`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    Delimiter,
    Encoding,
    EngineName,
    Memory,
    Quote,
    Replace,
    Source,
    TableName,
)
from shoal.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "profile")
    def profile(
        output: Output,
        *,
        source: Source,
        draft: Annotated[
            Path | None,
            typer.Option(metavar="FILE", help="Draft a shoal.toml to edit, into this file."),
        ] = None,
        heat_map: Annotated[
            Path | None,
            typer.Option(
                "--heat-map", metavar="FILE.svg", help="Draw the correlations into this file."
            ),
        ] = None,
        replace: Replace = False,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Look at a table: types, distinct values, what singles people out, correlations."""
        from shoal.core.errors import ParameterError  # noqa: PLC0415 - help imports no engine
        from shoal.pipeline import profile as job  # noqa: PLC0415
        from shoal.pipeline.sources import read_source  # noqa: PLC0415

        for path in (draft, heat_map):
            if path is not None and path.exists() and not replace:
                raise ParameterError(
                    f"{path} is there already.", hint="choose another name, or give --replace."
                )
        with output.progress() as progress:
            found = job.profile(
                read_source(source, engine),
                table=table,
                delimiter=delimiter,
                quote=quote,
                encoding=encoding,
                engine=engine,
                memory=memory,
                progress=progress,
            )
        output.document(found.to_dict())
        for section in found.sections():
            output.section(section)
        if heat_map is not None:
            heat_map.write_text(found.heat_map(), encoding="utf-8")
            output.line(f"Drew the correlations into {heat_map}.")
        if draft is not None:
            draft.write_text(found.draft(draft.parent), encoding="utf-8")
            output.line(f"Drafted {draft}. Roles are yours to decide: edit it, then")
            output.line(f"  shoal publish {draft} --dry-run")
