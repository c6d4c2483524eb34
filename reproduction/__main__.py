"""Run the experiments of the papers again: ``python -m reproduction all --adult adult.csv``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from reproduction import ALL, PAPERS
from shoal.cli import handle_signals
from shoal.cli.command import command
from shoal.cli.output import Output

if TYPE_CHECKING:
    from reproduction.reproduce import Reproduction

_NAMES = (*PAPERS, ALL)


def _complete(incomplete: str) -> list[str]:
    return [name for name in _NAMES if name.startswith(incomplete)]


app = typer.Typer(
    name="reproduction",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["--help", "-h"]},
)


@command(app, "reproduce")
def reproduce(
    output: Output,
    *,
    papers: Annotated[
        list[str],
        typer.Argument(
            metavar="PAPER",
            help=f"Some of {', '.join(_NAMES)}.",
            show_default=False,
            autocompletion=_complete,
        ),
    ],
    adult: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The Adult table as a CSV file. Default: none; experiments that need it are left "
            "out.",
        ),
    ] = None,
    quick: Annotated[
        bool,
        typer.Option(
            "--quick", help="Run on samples, to see that everything works; nothing is judged."
        ),
    ] = False,
    to: Annotated[
        Path,
        typer.Option(
            metavar="FOLDER", help="The folder of the results; earlier results are replaced."
        ),
    ] = Path("reproduced"),
    seed: Annotated[int, typer.Option(metavar="N", help="The seed of random draws.")] = 0,
) -> None:
    """Run the tables and figures of the papers again, beside what the papers state."""
    from reproduction import reproduce as job  # noqa: PLC0415 - help imports no engine

    with output.progress(in_logs=True) as progress:
        run = job.reproduce(
            papers, adult=adult, folder=to, quick=quick, seed=seed, progress=progress
        )
    output.document(run.to_dict())
    _show(output, run)


def _show(output: Output, run: Reproduction) -> None:
    """Print the statements per verdict, the experiments left out, and the page to open."""
    verdicts = next(iter(run.verdicts.values()))
    output.table(
        ("paper", "figures", *verdicts, "seconds"),
        [
            (paper, len(run.figures[paper]), *counts.values(), round(run.seconds[paper]))
            for paper, counts in run.verdicts.items()
        ],
    )
    if run.left_out:
        output.table(
            ("left out", "", "why"), [(one.paper, one.title, one.why) for one in run.left_out]
        )
    if run.is_quick:
        output.line("A quick run, on samples: nothing is judged.")
    output.line(f"The page: {run.page}")


if __name__ == "__main__":
    handle_signals()
    app(prog_name="python -m reproduction")
