"""Options that several commands share: their declarations, completions for Tab, and values."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.core.registry import CATALOGUES, names

_COLUMNS, _READING = "Columns", "Reading the source"
# The engines of `shoal.engines`, which help does not import.
_ENGINES = ("duckdb", "spark", "postgres")
_RULES = ("intervals", "prefix", "width", "quantiles", "dates", "flat")


# --- completions ----------------------------------------------------------------------------------


def _complete(*packages: str) -> Callable[[str], list[str]]:
    """Return a function that completes the names in some catalogues."""

    def complete(incomplete: str) -> list[str]:
        return [one for package in packages for one in names(package) if one.startswith(incomplete)]

    return complete


def _complete_parameters(context: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """Offer the parameters of the method, or of the one attack, that is named already."""
    from shoal.workflow.make import list_parameters  # noqa: PLC0415 - help needs none

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


# --- declarations ---------------------------------------------------------------------------------


def argument(text: str, metavar: str, complete: Any = None) -> Any:
    """Declare an argument that states its default, if it has one, in its help."""
    return typer.Argument(metavar=metavar, help=text, show_default=False, autocompletion=complete)


def option(text: str, metavar: str | None = None, *names: str, panel: str | None = None) -> Any:
    """Declare an option; its name is that of the parameter, unless names are given."""
    return typer.Option(*names, metavar=metavar, help=text, rich_help_panel=panel)


def switch(text: str, *names: str, panel: str | None = None) -> Any:
    """Declare an option without a value, which is off by default."""
    # Without an empty metavar, help shows the type of a value that the option does not take.
    return typer.Option(*names, metavar="", help=text, rich_help_panel=panel)


def source_argument(more: str = "") -> Any:
    """Return the argument that names a source, with more help after the usual one."""
    return argument(
        "The table: a CSV, Parquet, Arrow or DuckDB file, or postgresql://host/database with "
        "the password in ~/.pgpass or PGPASSWORD. With --engine spark, also a table of Spark."
        f"{more}",
        "SOURCE",
        _complete_sources,
    )


ColumnNames = list[str] | None
Source = Annotated[str, source_argument()]
ReleaseFolder = Annotated[Path, argument("The public folder of a release.", "FOLDER")]
ConfigurationFile = Annotated[
    Path, argument("The configuration file, usually shoal.toml.", "CONFIG")
]
CatalogueName = Annotated[
    str | None,
    argument(
        "A method, an attack or a measure, to list its parameters. Default: the JSON Schema of "
        "the whole configuration file, for editors.",
        "NAME",
        _complete(*CATALOGUES),
    ),
]
Quasi = Annotated[
    ColumnNames,
    option(
        "Quasi-identifiers: columns that others may know. Default: none.", "a,b", panel=_COLUMNS
    ),
]
Identifying = Annotated[
    ColumnNames,
    option("Columns that name a person; never published. Default: none.", "a,b", panel=_COLUMNS),
]
Key = Annotated[
    str | None,
    option(
        "A column that is unique for every row. Default: the line number.",
        "COLUMN",
        panel=_COLUMNS,
    ),
]
Types = Annotated[
    ColumnNames,
    option(
        "A column's type, or the values of an ordered column from lowest to highest: "
        "grade=low,middle,high. Default: detected.",
        "column=type",
        panel=_COLUMNS,
    ),
]
Hierarchies = Annotated[
    ColumnNames,
    option(
        "A hierarchy file in ARX's format, or a rule: age=width:5, age=intervals:0,18,65, "
        "zip=prefix:5,3,1, born=dates:month,year, sex=flat. Default: none.",
        "column=file|rule",
        panel=_COLUMNS,
    ),
]
Memory = Annotated[
    str | None,
    option(
        "Memory limit; larger data spills to disk. Default: half the free memory.",
        "4GB",
        panel=_READING,
    ),
]
TableName = Annotated[
    str | None,
    option(
        "The table or view of a database or DuckDB file, such as people or schema.people. "
        "Default: the only one.",
        "NAME",
        panel=_READING,
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        metavar="|".join(_ENGINES),
        help="The engine that holds and sorts the rows. Default: chosen by the source.",
        autocompletion=_complete_engines,
        rich_help_panel=_READING,
    ),
]
MaxWork = Annotated[
    int,
    typer.Option(
        metavar="NUMBER",
        min=0,
        help="Most operations that an exact check may take before it is reported as not checked.",
    ),
]
AttackWork = Annotated[
    str | None,
    option(
        "The most work of each attack: units, or CPU seconds or minutes such as 30s, converted by "
        "a constant rate. Least informative work is left out first. Default: the configuration's, "
        "or 30s.",
        "WORK",
    ),
]
Details = Annotated[
    bool,
    switch(
        "Print every figure of attacks, measures and guarantees. Default: one screen.", "--details"
    ),
]
Replace = Annotated[bool, switch("Replace existing output. Default: refuse to.", "--replace")]
Out = Annotated[
    Path | None,
    option("The folder of the release. Default: the configuration's, or release.", "FOLDER"),
]
Format = Annotated[
    str | None,
    option("The format of the data files. Default: the configuration's, or csv.", "csv|parquet"),
]
MethodName = Annotated[
    str | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help=f"The method: {', '.join(names('shoal.methods'))}. Default: the configuration's.",
        autocompletion=_complete("shoal.methods"),
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
        autocompletion=_complete("shoal.attacks"),
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--parameter",
        "-p",
        metavar="NAME=VALUE",
        help="A parameter, such as ell=3. Repeat the option for several; `shoal schema NAME` "
        "lists those of a method or an attack. Default: none.",
        autocompletion=_complete_parameters,
    ),
]


@dataclass(frozen=True)
class Reading:
    """The options that say how a source is read; a command with this parameter has all of them."""

    table: TableName = None
    delimiter: Annotated[
        str | None,
        option(
            "The character between fields of a CSV file. Default: detected.",
            "CHAR",
            panel=_READING,
        ),
    ] = None
    quote: Annotated[
        str | None,
        option(
            "The character around quoted fields of a CSV file. Default: detected.",
            "CHAR",
            panel=_READING,
        ),
    ] = None
    encoding: Annotated[
        str | None,
        option(
            "The encoding of a CSV file, such as cp1252. Default: utf-8.", "NAME", panel=_READING
        ),
    ] = None

    def to_dict(self) -> dict[str, Any]:
        """Return the options as keywords of `shoal.read`."""
        return asdict(self)


def refuse_existing(*paths: Path | None, replace: bool) -> None:
    """Refuse to write a file that exists, unless it may be replaced."""
    from shoal.core.errors import ParameterError  # noqa: PLC0415 - help needs none

    for path in paths:
        if path is not None and path.exists() and not replace:
            raise ParameterError(
                f"{path} already exists.", hint="choose another name, or give --replace."
            )


# --- values ---------------------------------------------------------------------------------------


def read_columns(given: Sequence[str] | None) -> list[str]:
    """Split comma-separated names; a name with a comma is put in double quotes.

    Examples
    --------
    >>> read_columns(["age,sex", '"last, first"'])
    ['age', 'sex', 'last, first']
    """
    import csv  # noqa: PLC0415 - help needs none

    return [name.strip() for fields in csv.reader(given or ()) for name in fields if name.strip()]


def read_pairs(given: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    """Split `left=right` at the first equals sign.

    Examples
    --------
    >>> read_pairs(["age={width=5}"], "--hierarchy")
    [('age', '{width=5}')]
    """
    pairs = []
    for entry in given or ():
        left, sign, right = entry.partition("=")
        if not (left.strip() and sign and right.strip()):
            message = f"{option} takes NAME=VALUE."
            raise typer.BadParameter(message)
        pairs.append((left.strip(), right.strip()))
    return pairs


def read_parameters(given: Sequence[str] | None, option: str = "-p") -> dict[str, object]:
    """Read parameters: numbers, true, false and lists as in TOML, anything else as text.

    A parameter given several times is a list.

    Examples
    --------
    >>> read_parameters(["k=5", "t=1/3", "protect=flu", "protect=cold"])
    {'k': 5, 't': '1/3', 'protect': ['flu', 'cold']}
    """
    parameters: dict[str, list[object]] = {}
    for name, text in read_pairs(given, option):
        parameters.setdefault(name, []).append(read_value(text))
    return {name: values[0] if len(values) == 1 else values for name, values in parameters.items()}


def read_type(text: str) -> str | list[str]:
    """Read a type, or the values of an ordered column from lowest to highest.

    Examples
    --------
    >>> read_type("integer"), read_type("low,middle,high")
    ('integer', ['low', 'middle', 'high'])
    """
    names = read_columns([text])
    return names if len(names) > 1 else text


def read_hierarchies(given: Sequence[str] | None) -> dict[str, object]:
    """Read hierarchies, each given as `column=file` or `column=rule`."""
    return {column: read_hierarchy(text) for column, text in read_pairs(given, "--hierarchy")}


def read_hierarchy(text: str) -> str | dict[str, Any]:
    """Read a hierarchy: a rule, an inline table as in the configuration, or a file.

    Examples
    --------
    >>> read_hierarchy("width:5"), read_hierarchy("{ prefix = [5, 3] }"), read_hierarchy("flat")
    ({'width': 5}, {'prefix': [5, 3]}, {'flat': True})
    """
    if text.startswith("{"):
        inline = read_value(text)
        if isinstance(inline, dict):
            return inline
    kind, _, rest = text.partition(":")
    if kind == "flat" and not rest:
        return {"flat": True}
    if kind in _RULES and rest:
        values = [read_value(entry) for entry in read_columns([rest])]
        is_single = kind in ("width", "quantiles")
        return {kind: values[0] if is_single and len(values) == 1 else values}
    # Relative to the current folder, not to a configuration.
    return str(Path(text).absolute())


def read_levels(given: Sequence[str] | None) -> dict[str, object]:
    """Read the levels of columns, each given as `column=kind:value`, an inline table, or `values`.

    Examples
    --------
    >>> read_levels(["income=intervals:0,9", "age={ quantiles = 5, k = 20 }", "sex=values"])
    {'income': {'intervals': [0, 9]}, 'age': {'quantiles': 5, 'k': 20}, 'sex': 'values'}
    """
    return {column: _read_level(text) for column, text in read_pairs(given, "--levels")}


def _read_level(text: str) -> object:
    if text.startswith("{"):
        return read_value(text)
    kind, _, rest = text.partition(":")
    if not rest:
        return text
    values = [read_value(entry) for entry in read_columns([rest])]
    return {kind: values if kind == "intervals" or len(values) > 1 else values[0]}


def read_private(given: Sequence[str] | None) -> list[str]:
    """Read which cells are private; files are relative to the current folder."""
    return [str(Path(text).absolute()) if _is_file(text) else text for text in given or ()]


def stated_options(context: typer.Context) -> frozenset[str]:
    """Return the options given on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(
        name for name, source in sources.items() if source and source.name == "COMMANDLINE"
    )


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def read_value(text: str) -> object:
    """Read a value as in TOML; anything else is text."""
    from shoal.core.documents import parse_toml  # noqa: PLC0415 - help needs none

    try:
        parsed = parse_toml(f"value = {text}")
    except ValueError:
        return text
    return parsed["value"] if len(parsed) == 1 else text


# --- configurations -------------------------------------------------------------------------------


def stated_source(given: str, engine: str | None) -> str:
    """Return a source as a configuration states it, which may be in another folder."""
    from shoal.workflow.read import read_source  # noqa: PLC0415 - help imports no engine

    source = read_source(given, engine)
    return str(source.absolute()) if isinstance(source, Path) else source


def read_configuration(path: Path | None) -> dict[str, Any]:
    """Read a configuration that options add to; nothing if there is none."""
    if path is None:
        return {}
    from shoal.workflow.config import load, read_toml  # noqa: PLC0415 - help imports no engine

    given = read_toml(path)
    if not all(isinstance(section, dict) for section in given.values()):
        load(path)  # says what is wrong with it
    return given


def update_section(given: dict[str, Any], section: str, entries: Mapping[str, Any]) -> None:
    """Let options, where they are given, take precedence over a section of a configuration."""
    stated = {key: value for key, value in entries.items() if value is not None}
    if stated:
        given[section] = {**given.get(section, {}), **stated}
