"""`shoal profile | baskets | schema`: what comes before a release.

They describe a table, turn baskets of items into a table, and list what a configuration may say.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    Delimiter,
    Encoding,
    EngineName,
    Memory,
    Quote,
    Replace,
    Source,
    TableName,
)
from shoal.cli.output import Output
from shoal.core.registry import CATALOGUES, names


def register(app: typer.Typer) -> None:
    """Register the commands."""
    _register_profile(app)
    _register_baskets(app)
    _register_schema(app)


def _register_profile(app: typer.Typer) -> None:
    @command(app, "profile")
    def profile(
        output: Output,
        *,
        source: Source,
        draft: Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="Write a draft configuration to edit to this file. Default: none.",
            ),
        ] = None,
        heat_map: Annotated[
            Path | None,
            typer.Option(
                "--heat-map",
                metavar="FILE.svg",
                help="Draw the correlations into this file. Default: none.",
            ),
        ] = None,
        replace: Replace = False,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Describe a table: types, distinct values, columns that identify, correlations."""
        from shoal.core.errors import ParameterError  # noqa: PLC0415 - help imports no engine
        from shoal.workflow import profile as job  # noqa: PLC0415
        from shoal.workflow.read import read_source  # noqa: PLC0415

        for path in (draft, heat_map):
            if path is not None and path.exists() and not replace:
                raise ParameterError(
                    f"{path} already exists.", hint="choose another name, or give --replace."
                )
        with output.progress() as progress:
            found = job.profile(
                read_source(source, engine),
                table=table,
                delimiter=delimiter,
                quote=quote,
                encoding=encoding,
                engine=engine,
                memory=memory,
                progress=progress,
            )
        output.document(found.to_dict())
        for section in found.sections():
            output.section(section)
        if heat_map is not None:
            heat_map.write_text(found.heat_map(), encoding="utf-8")
            output.line(f"Drew the correlations into {heat_map}.")
        if draft is not None:
            draft.write_text(found.draft(draft.parent), encoding="utf-8")
            output.place("Wrote a draft; the roles of columns are yours to decide:", draft)
            output.place("Then check it:", f"shoal publish {draft} --dry-run")


def _register_baskets(app: typer.Typer) -> None:
    @command(app, "baskets")
    def baskets(
        output: Output,
        *,
        source: Annotated[
            Path,
            typer.Argument(
                metavar="SOURCE",
                help="The baskets: a CSV, Parquet, Arrow or DuckDB file.",
                show_default=False,
            ),
        ],
        out: Annotated[
            Path, typer.Argument(metavar="OUT.csv", help="The file to write.", show_default=False)
        ],
        item: Annotated[
            str,
            typer.Option(metavar="COLUMN", help="The column of items, or of lists of items."),
        ],
        transaction: Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="The column with the basket of each line. Default: one basket per line.",
            ),
        ] = None,
        sensitive: Annotated[
            list[str] | None,
            typer.Option(
                metavar="ITEM",
                help="A sensitive item. Repeat the option for several. Default: none.",
            ),
        ] = None,
        columns: Annotated[
            int | None,
            typer.Option(
                metavar="NUMBER",
                help="The number of columns into which items are clustered. Default: chosen by "
                "--max-items.",
            ),
        ] = None,
        max_items: Annotated[
            int | None,
            typer.Option(metavar="NUMBER", help="The most items of a column. Default: 8."),
        ] = None,
        min_frequency: Annotated[
            int | None,
            typer.Option(
                metavar="NUMBER",
                help="The fewest baskets that share a value; rarer ones are generalized. "
                "Default: no "
                "limit.",
            ),
        ] = None,
        replace: Replace = False,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
        memory: Memory = None,
    ) -> None:
        """Turn sets of items into a table with one column per cluster of items.

        The table is as personal as its source: profile and publish it.
        """
        from shoal.core.errors import ParameterError  # noqa: PLC0415 - help imports no engine
        from shoal.workflow.baskets import read_baskets  # noqa: PLC0415

        if out.exists() and not replace:
            raise ParameterError(
                f"{out} already exists.", hint="choose another name, or give --replace."
            )
        with output.progress() as progress:
            progress("read the baskets")
            found = read_baskets(
                str(source),
                item=item,
                transaction=transaction,
                sensitive=sensitive or (),
                n_columns=columns,
                max_items=max_items,
                min_frequency=min_frequency,
                table=table,
                delimiter=delimiter,
                quote=quote,
                encoding=encoding,
                memory=memory,
            )
            progress("write the table")
            found.to_csv(out)
        output.document({"baskets": found.n_rows, "columns": list(found.columns), "file": str(out)})
        output.line(f"{found.n_rows} baskets with {len(found.columns)} columns are in {out}. Next:")
        output.line(f"  shoal profile {out} --draft shoal.toml")


def _complete_names(incomplete: str) -> list[str]:
    known = [name for package in CATALOGUES for name in names(package)]
    return [name for name in known if name.startswith(incomplete)]


def _register_schema(app: typer.Typer) -> None:
    @command(app, "schema")
    def schema(
        output: Output,
        *,
        name: Annotated[
            str | None,
            typer.Argument(
                metavar="NAME",
                help="A method, an attack or a measure, to list its parameters. Default: the JSON "
                "Schema of the whole configuration file, for editors.",
                show_default=False,
                autocompletion=_complete_names,
            ),
        ] = None,
    ) -> None:
        """Print the JSON Schema of shoal.toml, or the parameters of one method or attack."""
        from shoal.workflow import config_schema as job  # noqa: PLC0415 - help imports no engine

        if name is None:
            # On one stream and whole, so that `shoal schema > shoal.schema.json` serves an editor.
            typer.echo(json.dumps(job.configuration_schema(), indent=2))
            return
        listed = job.list_parameters(name)
        output.document({"name": name, "parameters": [one.to_dict() for one in listed]})
        output.table(
            ("parameter", "takes", "meaning"),
            [(one.name, one.takes, one.text) for one in listed],
        )
