"""Options that several commands share, and their completions for the Tab key."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.core.registry import names

_READING = "Reading the source"
# The engines of `shoal.engines`, which help does not import.
_ENGINES = ("duckdb", "spark", "postgres")


def _complete_methods(incomplete: str) -> list[str]:
    return [name for name in names("shoal.methods") if name.startswith(incomplete)]


def _complete_attacks(incomplete: str) -> list[str]:
    return [name for name in names("shoal.attacks") if name.startswith(incomplete)]


def _complete_parameters(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Offer the parameters of the method, or of the one attack, that is named already."""
    from shoal.workflow.config_schema import list_parameters  # noqa: PLC0415 - help needs none

    named = context.params.get("method") or context.params.get("attack")
    chosen = named if isinstance(named, str) else next(iter(named or ()), None)
    if chosen not in {*names("shoal.methods"), *names("shoal.attacks")}:
        return []
    known = list_parameters(str(chosen))
    return [(f"{one.name}=", one.text) for one in known if one.name.startswith(incomplete)]


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
    """Return the argument that names a source, with more help after the usual one."""
    return typer.Argument(
        metavar="SOURCE",
        help="The table: a CSV, Parquet, Arrow or DuckDB file, or postgresql://host/database with "
        "the password in ~/.pgpass or PGPASSWORD. With --engine spark, also a table of Spark."
        f"{more}",
        show_default=False,
        autocompletion=_complete_sources,
    )


Source = Annotated[str, source_argument()]
TableName = Annotated[
    str | None,
    typer.Option(
        "--table",
        metavar="NAME",
        help="The table or view of a database or DuckDB file, such as people or schema.people. "
        "Default: the only one.",
        rich_help_panel=_READING,
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="|".join(_ENGINES),
        help="The engine that holds and sorts the rows. Default: chosen by the source.",
        autocompletion=_complete_engines,
        rich_help_panel=_READING,
    ),
]
Memory = Annotated[
    str | None,
    typer.Option(
        "--memory",
        metavar="4GB",
        help="Memory limit; larger data spills to disk. Default: half the free memory.",
        rich_help_panel=_READING,
    ),
]
MaxWork = Annotated[
    int,
    typer.Option(
        "--max-work",
        metavar="NUMBER",
        min=0,
        help="Most operations that an exact check may take before it is reported as not checked.",
    ),
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Print every figure of attacks, measures and guarantees. Default: one screen.",
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="CHAR",
        help="The character between fields of a CSV file. Default: detected.",
        rich_help_panel=_READING,
    ),
]
Quote = Annotated[
    str | None,
    typer.Option(
        "--quote",
        metavar="CHAR",
        help="The character around quoted fields of a CSV file. Default: detected.",
        rich_help_panel=_READING,
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="The encoding of a CSV file, such as cp1252. Default: utf-8.",
        rich_help_panel=_READING,
    ),
]
ColumnNames = list[str] | None
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help=f"The method: {', '.join(names('shoal.methods'))}. Default: the configuration's.",
        autocompletion=_complete_methods,
    ),
]
AttackNames = Annotated[
    list[str] | None,
    typer.Option(
        "--attack",
        "-a",
        metavar="NAME",
        help=f"An attack to run: {', '.join(names('shoal.attacks'))}. Repeat the option for "
        "several. Default: every attack that fits the release.",
        autocompletion=_complete_attacks,
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter, such as ell=3. Repeat the option for several; `shoal schema METHOD` "
        "lists them. Default: none.",
        autocompletion=_complete_parameters,
    ),
]
Replace = Annotated[
    bool, typer.Option("--replace", help="Replace existing output. Default: refuse to.")
]
