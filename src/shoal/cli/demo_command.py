"""`shoal demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import Replace
from shoal.cli.output import Output
from shoal.cli.publish_command import show_gate, show_publication

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "demo")
    def demo(
        output: Output,
        *,
        folder: Annotated[Path, typer.Argument(metavar="[FOLDER]", help="A new folder.")] = Path(
            "shoal-demo"
        ),
        rows: Annotated[int, typer.Option(help="How many people the sample has.")] = 2000,
        seed: Annotated[
            int | None, typer.Option(help="Make the same sample again.", show_default=False)
        ] = None,
        replace: Replace = False,
    ) -> None:
        """Do the whole job on a sample that Shoal makes itself, and say where to look."""
        from shoal.pipeline import demo as job  # noqa: PLC0415 - help imports no engine

        with output.progress() as progress:
            shown = job.demo(folder, rows=rows, seed=seed, replace=replace, progress=progress)
        output.document(shown.to_dict())
        output.line(f"A sample of {rows} people who do not exist, published with mondrian.")
        show_gate(output, shown.publication.judgements)
        show_publication(output, shown.publication)
        output.table(("where to look", ""), [(str(path), about) for path, about in shown.places])
        output.line(f"Next: shoal verify {shown.publication.folder}")
        output.line(f"      shoal attack {shown.publication.folder}")
