"""`shoal anonymize`: a release without the gate, from options alone or beside a configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import parsing
from shoal.cli.command import command
from shoal.cli.options import (
    ColumnNames,
    Delimiter,
    Encoding,
    EngineName,
    Memory,
    MethodName,
    Parameters,
    Quote,
    Replace,
    TableName,
    source_argument,
)
from shoal.cli.output import Output

__all__ = ["register"]

_ROLES = ("identifying", "quasi", "sensitive", "insensitive", "nearly_unique")
_PANEL = "Columns"


def _columns_option(text: str, name: str | None = None) -> Any:
    declared = () if name is None else (name,)
    return typer.Option(*declared, metavar="a,b", help=text, rich_help_panel=_PANEL)


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "anonymize")
    def anonymize(
        output: Output,
        *,
        source: Annotated[str | None, source_argument("; the configuration's by default")] = None,
        quasi: Annotated[ColumnNames, _columns_option("What others may know.")] = None,
        sensitive: Annotated[ColumnNames, _columns_option("What nobody may be linked to.")] = None,
        identifying: Annotated[
            ColumnNames, _columns_option("What names a person; never published.")
        ] = None,
        insensitive: Annotated[ColumnNames, _columns_option("Published as it is.")] = None,
        nearly_unique: Annotated[
            ColumnNames,
            _columns_option("Insensitive columns that may be nearly unique.", "--nearly-unique"),
        ] = None,
        meant: Annotated[
            ColumnNames,
            _columns_option(
                "Insensitive columns that together may single people out, or tell what is hidden; "
                "give the option once for each combination.",
                "--meant",
            ),
        ] = None,
        variants: Annotated[
            ColumnNames,
            typer.Option(
                metavar="column=merge|distinct",
                help="What spellings of one value are in a sensitive column.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        role: Annotated[
            ColumnNames,
            typer.Option(
                metavar="column=role",
                help="A role in the words of Shoal, ARX or sdcMicro.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        type: Annotated[  # noqa: A002 - the name of the option
            ColumnNames,
            typer.Option(
                metavar="column=type",
                help="A type, or an ordered column's values: grade=low,middle,high.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        hierarchy: Annotated[
            ColumnNames,
            typer.Option(
                metavar="column=file|rule",
                help="A file in ARX's format, or a rule: age=width:5, age=intervals:0,18,65, "
                "zip=prefix:5,3,1, born=dates:month,year, sex=flat.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        key: Annotated[
            str | None,
            typer.Option(metavar="COLUMN", help="What tells rows apart.", rich_help_panel=_PANEL),
        ] = None,
        person: Annotated[
            str | None,
            typer.Option(metavar="COLUMN", help="Whose row it is.", rich_help_panel=_PANEL),
        ] = None,
        private: Annotated[
            list[str] | None,
            typer.Option(
                metavar="CELLS",
                help="Cells that must not be known, for rule_hiding: COLUMN, 'COLUMN where SQL', "
                "or a file; give the option once for each.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        method: MethodName = None,
        parameter: Parameters = None,
        out: Annotated[
            Path | None, typer.Option(metavar="FOLDER", help="Where the release is written.")
        ] = None,
        format: Annotated[  # noqa: A002 - the name of the option
            str | None, typer.Option(metavar="csv|parquet", help="Of the data files.")
        ] = None,
        seed: Annotated[
            int | None,
            typer.Option(help="Make a repeatable test release, which is not sealed."),
        ] = None,
        replace: Replace = False,
        config: Annotated[
            Path | None,
            typer.Option(metavar="shoal.toml", help="What the options do not say is taken here."),
        ] = None,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Anonymize a table and write the release; `publish` also attacks it first."""
        columns = dict(
            zip(
                _ROLES,
                map(
                    parsing.read_columns,
                    (identifying, quasi, sensitive, insensitive, nearly_unique),
                ),
                strict=True,
            )
        )
        if source is None and config is None:
            message = "give a SOURCE, or --config shoal.toml."
            raise typer.BadParameter(message)
        sections: dict[str, dict[str, Any]] = {
            "table": {
                "source": None if source is None else _stated(source, engine),
                "table": table,
                "key": key,
                "person": person,
                "delimiter": delimiter,
                "quote": quote,
                "encoding": encoding,
            },
            "types": {c: parsing.read_type(t) for c, t in parsing.read_pairs(type, "--type")},
            "hierarchies": parsing.read_hierarchies(hierarchy),
            "release": {
                "folder": None if out is None else str(out.absolute()),
                "format": format,
                "seed": seed,
                "replace": replace or None,
            },
            "engine": {"name": engine, "memory": memory},
        }
        given = _read(config)
        for section, entries in sections.items():
            _update(given, section, entries)
        _update_columns(given, columns, parsing.read_pairs(role, "--role"))
        confirmed = {
            "meant": [parsing.read_columns([one]) for one in meant or ()] or None,
            "variants": dict(parsing.read_pairs(variants, "--variants")) or None,
        }
        _update(given, "columns", confirmed)
        parameters = parsing.read_parameters(parameter)
        if private:
            parameters["private"] = parsing.read_private(private)
        _update_method(given, method, parameters)
        _run(output, given, Path() if config is None else config.parent)


def _stated(given: str, engine: str | None) -> str:
    from shoal.pipeline.sources import read_source  # noqa: PLC0415 - help imports no engine

    source = read_source(given, engine)
    # A configuration may stand in another folder than the one where the command is given.
    return str(source.absolute()) if isinstance(source, Path) else source


def _read(config: Path | None) -> dict[str, Any]:
    if config is None:
        return {}
    from shoal.pipeline.config import load, read_toml  # noqa: PLC0415 - help imports no engine

    given = read_toml(config)
    if not all(isinstance(section, dict) for section in given.values()):
        load(config)  # says what is wrong with it
    return given


def _update(given: dict[str, Any], section: str, entries: dict[str, Any]) -> None:
    stated = {key: value for key, value in entries.items() if value is not None}
    if stated:
        given[section] = {**given.get(section, {}), **stated}


def _update_columns(
    given: dict[str, Any], columns: dict[str, list[str]], roles: list[tuple[str, str]]
) -> None:
    """Let an option replace the whole list of its role; `--role` adds to it."""
    _update(given, "columns", {role: names or None for role, names in columns.items()})
    stated = given.setdefault("columns", {})
    for column, word in roles:
        stated[word] = [*_listed(stated.get(word)), column]


def _listed(names: Any) -> list[Any]:
    return [names] if isinstance(names, str) else list(names or ())


def _update_method(given: dict[str, Any], name: str | None, parameters: dict[str, object]) -> None:
    stated = given.get("method", {})
    if name is not None and name != stated.get("name"):
        stated = {"name": name}
    given["method"] = {**stated, **parameters}


def _run(output: Output, given: dict[str, Any], base: Path) -> None:
    from shoal.pipeline.config import configure  # noqa: PLC0415 - help imports no engine
    from shoal.pipeline.publish import produce  # noqa: PLC0415

    with output.progress() as progress:
        produced = produce(configure(given, base=base), progress=progress)
    from shoal.cli.publish_command import show_publication  # noqa: PLC0415

    output.document(produced.to_dict())
    show_publication(output, produced)
    output.line("It was not attacked: shoal attack does that, shoal publish judges it too.")
