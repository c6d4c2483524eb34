"""`shoal anonymize`, with one method, and `shoal compare`, with several."""

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
from shoal.core.errors import ParameterError

_ROLES = ("identifying", "quasi", "sensitive", "insensitive", "nearly_unique")
_PANEL = "Columns"


def _columns_option(text: str, name: str | None = None) -> Any:
    declared = () if name is None else (name,)
    return typer.Option(*declared, metavar="a,b", help=text, rich_help_panel=_PANEL)


def register(app: typer.Typer) -> None:
    """Register the commands."""
    _register_anonymize(app)
    _register_compare(app)


def _register_anonymize(app: typer.Typer) -> None:
    @command(app, "anonymize")
    def anonymize(
        output: Output,
        *,
        source: Annotated[str | None, source_argument(" Default: the configuration's.")] = None,
        quasi: Annotated[
            ColumnNames,
            _columns_option("Quasi-identifiers: columns that others may know. Default: none."),
        ] = None,
        sensitive: Annotated[
            ColumnNames, _columns_option("Columns that nobody may be linked to. Default: none.")
        ] = None,
        identifying: Annotated[
            ColumnNames,
            _columns_option("Columns that name a person; never published. Default: none."),
        ] = None,
        insensitive: Annotated[
            ColumnNames, _columns_option("Columns published unchanged. Default: none.")
        ] = None,
        nearly_unique: Annotated[
            ColumnNames,
            _columns_option(
                "Insensitive columns that may be nearly unique. Default: none.", "--nearly-unique"
            ),
        ] = None,
        meant: Annotated[
            ColumnNames,
            _columns_option(
                "Insensitive columns that may single people out together, or reveal what is "
                "hidden. "
                "Repeat the option for several combinations. Default: none.",
                "--meant",
            ),
        ] = None,
        variants: Annotated[
            ColumnNames,
            typer.Option(
                metavar="column=merge|distinct",
                help="Whether spellings of one sensitive value are merged. Default: they are "
                "refused.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        role: Annotated[
            ColumnNames,
            typer.Option(
                metavar="column=role",
                help="A column's role in the words of Shoal, ARX or sdcMicro. Default: none.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        type: Annotated[  # noqa: A002 - the name of the option
            ColumnNames,
            typer.Option(
                metavar="column=type",
                help="A column's type, or the values of an ordered column: grade=low,middle,high. "
                "Default: detected.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        hierarchy: Annotated[
            ColumnNames,
            typer.Option(
                metavar="column=file|rule",
                help="A hierarchy file in ARX's format, or a rule: age=width:5, "
                "age=intervals:0,18,65, "
                "zip=prefix:5,3,1, born=dates:month,year, sex=flat. Default: the method's own.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        key: Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="A column that is unique for every row. Default: the line number.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        person: Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="The column that says whose row it is. Default: one row per person.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        private: Annotated[
            list[str] | None,
            typer.Option(
                metavar="CELLS",
                help="Cells to hide, for rule_hiding: COLUMN, 'COLUMN where SQL', or a file. "
                "Repeat the option for several. Default: none.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        method: MethodName = None,
        parameter: Parameters = None,
        out: Annotated[
            Path | None,
            typer.Option(
                metavar="FOLDER", help="The folder of the release. Default: the configuration's."
            ),
        ] = None,
        format: Annotated[  # noqa: A002 - the name of the option
            str | None,
            typer.Option(metavar="csv|parquet", help="The format of the data files. Default: csv."),
        ] = None,
        seed: Annotated[
            int | None,
            typer.Option(
                help="Seed of a repeatable test release, which is not sealed. Default: none."
            ),
        ] = None,
        replace: Replace = False,
        config: Annotated[
            Path | None,
            typer.Option(
                metavar="CONFIG",
                help="A configuration file for everything that no option says. Default: none.",
            ),
        ] = None,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Anonymize a table and write the release, without attacking it.

        `shoal publish` attacks and judges a release before it is written.
        """
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
            message = "give a SOURCE, or --config CONFIG."
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
    from shoal.workflow.read import read_source  # noqa: PLC0415 - help imports no engine

    source = read_source(given, engine)
    # The configuration may be in another folder than the current one.
    return str(source.absolute()) if isinstance(source, Path) else source


def _read(config: Path | None) -> dict[str, Any]:
    if config is None:
        return {}
    from shoal.workflow.config import load, read_toml  # noqa: PLC0415 - help imports no engine

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
    from shoal.workflow.config import configure  # noqa: PLC0415 - help imports no engine
    from shoal.workflow.publish import produce  # noqa: PLC0415

    with output.progress() as progress:
        produced = produce(configure(given, base=base), progress=progress)
    from shoal.cli.publish_command import show_publication  # noqa: PLC0415

    output.document(produced.to_dict())
    show_publication(output, produced, details=False)
    output.place("  attack it first:        ", f"shoal attack {produced.folder}")


def _register_compare(app: typer.Typer) -> None:
    @command(app, "compare")
    def compare(
        output: Output,
        *,
        configuration: Annotated[
            Path,
            typer.Argument(
                metavar="CONFIG",
                help="The configuration file; its section [compare] names the methods.",
                show_default=False,
            ),
        ],
        workers: Annotated[
            int | None,
            typer.Option(
                metavar="NUMBER",
                min=1,
                help="The number of processes that work at once. Default: one per core.",
            ),
        ] = None,
    ) -> None:
        """Compare methods on one table by risk and utility, and recommend one.

        If interrupted, run the command again; finished results are reused.
        """
        from shoal.workflow import compare as job  # noqa: PLC0415 - help imports no engine
        from shoal.workflow.config import load  # noqa: PLC0415

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
