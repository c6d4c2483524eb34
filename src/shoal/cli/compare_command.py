"""`shoal compare`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.command import command
from shoal.cli.output import Output
from shoal.core.errors import ParameterError

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "compare")
    def compare(
        output: Output,
        *,
        configuration: Annotated[
            Path,
            typer.Argument(
                metavar="CONFIG",
                help="The configuration file; [compare] names the methods.",
                show_default=False,
            ),
        ],
        workers: Annotated[
            int | None,
            typer.Option(
                metavar="N", min=1, help="How many processes work at once; else all cores."
            ),
        ] = None,
    ) -> None:
        """Compare methods on one table: risk against utility, and which one to take.

        Stopped, it goes on where it was when it is started again.
        """
        from shoal.pipeline import compare as job  # noqa: PLC0415 - help imports no engine
        from shoal.pipeline.config import load  # noqa: PLC0415

        if configuration.name == job.RECOMMENDED:
            raise ParameterError(
                f"{job.RECOMMENDED} is what a comparison writes, and would be written over.",
                hint="compare the configuration that it came from, or give it another name.",
            )
        loaded = load(configuration)
        with output.progress(in_logs=True) as progress:
            found = job.compare_as_configured(loaded, workers=workers, progress=progress)
        folder = loaded.compared.folder
        written = loaded.base / job.RECOMMENDED
        output.document({**found.to_dict(), "folder": str(folder)})
        output.section(found.table)
        if found.pairs.rows:
            output.section(found.pairs)
        output.section(found.attacks)
        if found.refused.rows:
            output.section(found.refused)
        for reason in found.reasons:
            output.line(reason)
        output.line()
        output.line(f"The tables and the picture: {folder}")
        if found.configuration is not None:
            output.line(f"The configuration of {found.recommended}: {written}")
