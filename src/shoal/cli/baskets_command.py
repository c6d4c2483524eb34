"""`shoal baskets`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    Delimiter,
    Encoding,
    Memory,
    Quote,
    Replace,
    TableName,
)
from shoal.cli.output import Output

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "baskets")
    def baskets(
        output: Output,
        *,
        source: Annotated[
            Path,
            typer.Argument(
                metavar="SOURCE",
                help="A CSV, Parquet, Arrow or DuckDB file.",
                show_default=False,
            ),
        ],
        out: Annotated[
            Path, typer.Argument(metavar="OUT.csv", help="The table to write.", show_default=False)
        ],
        item: Annotated[
            str,
            typer.Option(metavar="COLUMN", help="The column of items, or of lists of items."),
        ],
        transaction: Annotated[
            str | None,
            typer.Option(metavar="COLUMN", help="The column that says whose item a line is."),
        ] = None,
        sensitive: Annotated[
            list[str] | None,
            typer.Option(metavar="ITEM", help="A sensitive item; give the option once for each."),
        ] = None,
        columns: Annotated[
            int | None,
            typer.Option(metavar="N", help="How many columns the items are clustered into."),
        ] = None,
        max_items: Annotated[
            int | None,
            typer.Option(metavar="N", help="How many items a column has at most: 8."),
        ] = None,
        min_frequency: Annotated[
            int | None,
            typer.Option(metavar="N", help="How many baskets share every value at least."),
        ] = None,
        replace: Replace = False,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
        memory: Memory = None,
    ) -> None:
        """Turn sets of items into a table with a column for each cluster of items.

        The table is about people as its source is: profile and publish it.
        """
        from shoal.core.errors import ParameterError  # noqa: PLC0415 - help imports no engine
        from shoal.pipeline.baskets import read_baskets  # noqa: PLC0415

        if out.exists() and not replace:
            raise ParameterError(
                f"{out} is there already.", hint="choose another name, or give --replace."
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
