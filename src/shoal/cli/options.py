"""Options that several commands have, and what the Tab key offers for them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.core.registry import names

__all__ = [
    "AttackNames",
    "ColumnNames",
    "Delimiter",
    "Encoding",
    "EngineName",
    "MaxWork",
    "Memory",
    "MethodName",
    "Parameters",
    "Quote",
    "Replace",
    "Source",
    "TableName",
    "source_argument",
]

_READING = "How the source is read"
# Those of the pipeline, which help does not import.
_ENGINES = ("duckdb", "spark", "postgres")


def _complete_methods(incomplete: str) -> list[str]:
    return [name for name in names("shoal.methods") if name.startswith(incomplete)]


def _complete_attacks(incomplete: str) -> list[str]:
    return [name for name in names("shoal.attacks") if name.startswith(incomplete)]


def _complete_engines(incomplete: str) -> list[str]:
    return [name for name in _ENGINES if name.startswith(incomplete)]


def _complete_sources(incomplete: str) -> list[str]:
    folder, _, start = incomplete.rpartition("/")
    place = Path(f"{folder}/" if folder or incomplete.startswith("/") else ".")
    try:
        entries = sorted(place.iterdir())
    except OSError:
        entries = []
    prefix = incomplete[: len(incomplete) - len(start)]
    found = [
        f"{prefix}{entry.name}{'/' if entry.is_dir() else ''}"
        for entry in entries
        if entry.name.startswith(start) and (start or not entry.name.startswith("."))
    ]
    return [*found, *(a for a in ("postgresql://",) if incomplete and a.startswith(incomplete))]


def source_argument(more: str = "") -> Any:
    """Declare the argument that names a source."""
    return typer.Argument(
        metavar="SOURCE",
        help="A CSV, Parquet, Arrow or DuckDB file, or postgresql://host/database, the password "
        f"in ~/.pgpass or PGPASSWORD; with --engine spark also a table of Spark{more}.",
        show_default=False,
        autocompletion=_complete_sources,
    )


Source = Annotated[str, source_argument()]
TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="Which table or view of a database or a DuckDB file, such as people or schema.people.",
        rich_help_panel=_READING,
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="|".join(_ENGINES),
        help="What holds and sorts the rows; it follows from the source where none is given.",
        autocompletion=_complete_engines,
        rich_help_panel=_READING,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="4GB",
        help="What to stay within; what does not fit is spilled to disk. Half of what is free.",
        rich_help_panel=_READING,
    ),
]
MaxWork = Annotated[
    int,
    typer.Option(
        "--max-work",
        metavar="NUMBER",
        min=0,
        help="Operations that an exact answer may take before it is given up.",
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
