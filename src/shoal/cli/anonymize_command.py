"""`shoal anonymize`, with one method, and `shoal compare`, with several."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    AttackWork,
    ColumnNames,
    ConfigurationFile,
    EngineName,
    Format,
    Hierarchies,
    Identifying,
    Key,
    Memory,
    MethodName,
    Out,
    Parameters,
    Quasi,
    Reading,
    Replace,
    Types,
    option,
    read_columns,
    read_configuration,
    read_hierarchies,
    read_levels,
    read_pairs,
    read_parameters,
    read_private,
    read_type,
    source_argument,
    stated_source,
    update_section,
)
from shoal.cli.output import Output
from shoal.cli.summary import show_publication
from shoal.core.errors import ParameterError


def _of_columns(text: str, metavar: str = "a,b") -> Any:
    return option(text, metavar, panel="Columns")


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
        quasi: Quasi = None,
        sensitive: Annotated[
            ColumnNames, _of_columns("Columns that nobody may learn about a person. Default: none.")
        ] = None,
        identifying: Identifying = None,
        insensitive: Annotated[
            ColumnNames, _of_columns("Columns published unchanged. Default: none.")
        ] = None,
        nearly_unique: Annotated[
            ColumnNames,
            _of_columns("Insensitive columns that may be nearly unique. Default: none."),
        ] = None,
        meant: Annotated[
            ColumnNames,
            _of_columns(
                "Insensitive columns that may single people out together, or reveal what is "
                "hidden. Repeat the option for several combinations. Default: none."
            ),
        ] = None,
        variants: Annotated[
            ColumnNames,
            _of_columns(
                "Whether spellings of one sensitive value are merged. Default: they are refused.",
                "column=merge|distinct",
            ),
        ] = None,
        role: Annotated[
            ColumnNames,
            _of_columns(
                "A column's role in the words of Shoal, ARX or sdcMicro. Default: none.",
                "column=role",
            ),
        ] = None,
        type: Types = None,  # noqa: A002 - the name of the option
        hierarchy: Hierarchies = None,
        levels: Annotated[
            ColumnNames,
            _of_columns(
                "Levels at which a sensitive column is protected and attacked: "
                "income=quantiles:20, income=intervals:0,10000,20000, job=node_level:1, or "
                "income=values for every value. Repeat the option for several columns. Default: "
                "drafted for a column of more than 100 values.",
                "column=levels",
            ),
        ] = None,
        key: Key = None,
        person: Annotated[
            str | None,
            _of_columns(
                "The column that says whose row it is. Default: one row per person.", "COLUMN"
            ),
        ] = None,
        private: Annotated[
            list[str] | None,
            _of_columns(
                "Cells to hide, for rule_hiding: COLUMN, 'COLUMN where SQL', or a file. Repeat "
                "the option for several. Default: none.",
                "CELLS",
            ),
        ] = None,
        method: MethodName = None,
        parameter: Parameters = None,
        out: Out = None,
        format: Format = None,  # noqa: A002 - the name of the option
        seed: Annotated[
            int | None,
            option("Seed of a repeatable test release, which is not sealed. Default: none."),
        ] = None,
        replace: Replace = False,
        config: Annotated[
            Path | None,
            option(
                "A configuration file; options take precedence over it. Default: none.",
                "CONFIG",
            ),
        ] = None,
        reading: Reading,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Anonymize a table and write the release, without attacking it.

        `shoal publish` attacks and judges a release before it is written.
        """
        if source is None and config is None:
            message = "give a SOURCE, or --config CONFIG."
            raise typer.BadParameter(message)
        given = read_configuration(config)
        roles = {
            "identifying": identifying,
            "quasi": quasi,
            "sensitive": sensitive,
            "insensitive": insensitive,
            "nearly_unique": nearly_unique,
        }
        sections: dict[str, dict[str, Any]] = {
            "table": {
                "source": None if source is None else stated_source(source, engine),
                "key": key,
                "person": person,
                **reading.to_dict(),
            },
            "columns": {
                **{word: read_columns(names) or None for word, names in roles.items()},
                "meant": [read_columns([one]) for one in meant or ()] or None,
                "variants": dict(read_pairs(variants, "--variants")) or None,
            },
            "types": {column: read_type(text) for column, text in read_pairs(type, "--type")},
            "hierarchies": read_hierarchies(hierarchy),
            "levels": read_levels(levels),
            "release": {
                "folder": None if out is None else str(out.absolute()),
                "format": format,
                "seed": seed,
                "replace": replace or None,
            },
            "engine": {"name": engine, "memory": memory},
        }
        for section, entries in sections.items():
            update_section(given, section, entries)
        _add_roles(given, read_pairs(role, "--role"))
        parameters = read_parameters(parameter)
        if private:
            parameters["private"] = read_private(private)
        _update_method(given, method, parameters)
        _run(output, given, Path() if config is None else config.parent)


def _add_roles(given: dict[str, Any], roles: list[tuple[str, str]]) -> None:
    """Add columns to the lists of their roles, which other options replace as a whole."""
    stated = given.setdefault("columns", {})
    for column, word in roles:
        before = stated.get(word) or []
        stated[word] = [*([before] if isinstance(before, str) else before), column]


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
    output.document(produced.to_dict())
    attack = {"attack it first": f"shoal attack {produced.folder}"}
    show_publication(output, produced, further=attack)


def _register_compare(app: typer.Typer) -> None:
    @command(app, "compare")
    def compare(
        output: Output,
        *,
        configuration: ConfigurationFile,
        workers: Annotated[
            int | None,
            typer.Option(
                metavar="NUMBER",
                min=1,
                help="The number of processes that work at once. Default: one per core, or one for "
                "a table of at most 2,000 rows.",
            ),
        ] = None,
        attack_work: AttackWork = None,
    ) -> None:
        r"""Compare methods on one table by risk and utility, and recommend one.

        The section \[compare] of the configuration names the methods.

        If interrupted, run the command again; finished results are reused.
        """
        from shoal.workflow import compare as job  # noqa: PLC0415 - help imports no engine
        from shoal.workflow.config import configure  # noqa: PLC0415

        if configuration.name == job.RECOMMENDED:
            raise ParameterError(
                f"{job.RECOMMENDED} is what a comparison writes, and would be written over.",
                hint="compare the configuration that it came from, or give it another name.",
            )
        given = read_configuration(configuration)
        update_section(given, "attacks", {"work": attack_work})
        loaded = configure(given, base=configuration.parent)
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
