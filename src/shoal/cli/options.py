"""Options that several commands have, and what the Tab key offers for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.core.registry import names

__all__ = [
    "AttackNames",
    "ColumnNames",
    "Delimiter",
    "Encoding",
    "MethodName",
    "Parameters",
    "Quote",
    "Replace",
    "Source",
    "TableName",
]

_READING = "How the source is read"


def _complete_methods(incomplete: str) -> list[str]:
    return [name for name in names("shoal.methods") if name.startswith(incomplete)]


def _complete_attacks(incomplete: str) -> list[str]:
    return [name for name in names("shoal.attacks") if name.startswith(incomplete)]


Source = Annotated[
    Path,
    typer.Argument(
        metavar="SOURCE", help="A CSV, Parquet, Arrow or DuckDB file.", show_default=False
    ),
]
TableName = Annotated[
    str | None,
    typer.Option(
        "--table", metavar="NAME", help="Which table of a DuckDB file.", rich_help_panel=_READING
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter", metavar="CHAR", help="What separates fields.", rich_help_panel=_READING
    ),
]
Quote = Annotated[
    str | None,
    typer.Option("--quote", metavar="CHAR", help="What quotes fields.", rich_help_panel=_READING),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", metavar="NAME", help="Such as utf-8 or cp1252.", rich_help_panel=_READING
    ),
]
ColumnNames = list[str] | None
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help=f"One of {', '.join(names('shoal.methods'))}.",
        autocompletion=_complete_methods,
    ),
]
AttackNames = Annotated[
    list[str] | None,
    typer.Option(
        "--attack",
        "-a",
        metavar="NAME",
        help=f"Some of {', '.join(names('shoal.attacks'))}; all that fit where none is given.",
        autocompletion=_complete_attacks,
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter, such as ell=3; give the option once for each.",
    ),
]
Replace = Annotated[bool, typer.Option("--replace", help="Replace what is there already.")]
