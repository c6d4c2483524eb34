"""`shoal hierarchy build | check | show`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import parsing
from shoal.cli.command import command
from shoal.cli.options import Delimiter, Encoding, Quote, Replace, TableName
from shoal.cli.output import SHOWS_VALUES, Output

if TYPE_CHECKING:
    from shoal.core.domain import Domain
    from shoal.workflow.hierarchy import Outline

_File = Annotated[
    Path,
    typer.Argument(
        metavar="FILE", help="A hierarchy file in ARX's format: leaf;...;*", show_default=False
    ),
]
_Column = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="The column of the hierarchy. Default: none.",
        show_default=False,
    ),
]
_Against = Annotated[
    Path | None,
    typer.Option(
        "--source", metavar="SOURCE", help="The table to check it against. Default: none."
    ),
]


def register(app: typer.Typer) -> None:
    """Register the group of commands."""
    group = typer.Typer(
        help="Build, check and show hierarchies.", no_args_is_help=True, rich_markup_mode="rich"
    )
    app.add_typer(group, name="hierarchy")
    _register_build(group)
    _register_check(group)
    _register_show(group)


def _register_build(group: typer.Typer) -> None:
    @command(group, "build")
    def build(
        output: Output,
        *,
        rule: Annotated[
            str | None,
            typer.Argument(
                metavar="RULE",
                help="The rule: width:5, quantiles:8, intervals:0,18,65, dates:month,year, "
                "prefix:5,3,1, flat, or an inline table as in shoal.toml.",
                show_default=False,
            ),
        ] = None,
        out: Annotated[Path, typer.Option(metavar="FILE", help="The file to write.")],
        source: Annotated[
            Path | None,
            typer.Option(metavar="SOURCE", help="The table with the values. Default: none."),
        ] = None,
        column: _Column = None,
        values: Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="A file with the values, one per line, instead of --source. Default: none.",
            ),
        ] = None,
        guided_by: Annotated[
            str | None,
            typer.Option(
                metavar="SENSITIVE_COLUMN",
                help="Instead of RULE: group values that are similar in this column. Default: "
                "none.",
                show_default=False,
            ),
        ] = None,
        levels: Annotated[
            int | None,
            typer.Option(
                min=1,
                help="With --guided-by: the number of levels between the values and *. Default: "
                "chosen by the number of values.",
                show_default=False,
            ),
        ] = None,
        replace: Replace = False,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
    ) -> None:
        """Write a hierarchy file from a rule, one line per value, to review and edit.

        With [bold]--guided-by[/bold], values are grouped by a sensitive column: those that differ
        most in it are joined last.
        """
        from shoal.hierarchies.hierarchy import Hierarchy  # noqa: PLC0415 - help imports no engine
        from shoal.workflow import hierarchy as job  # noqa: PLC0415

        given = _read_rule(rule, guided_by, levels)
        if (values is None) == (source is None or column is None):
            message = "give --source with --column, or --values."
            raise typer.BadParameter(message)
        reading = {"table": table, "delimiter": delimiter, "quote": quote, "encoding": encoding}
        counts: list[int] | None = None
        if guided_by is not None:
            if values is not None or column is None:
                message = "--guided-by needs --source with --column."
                raise typer.BadParameter(message)
            built, domain = job.guided(source, column, guided_by, levels=levels, **reading)
        else:
            if values is not None:
                domain = job.domain_of_values(column or values.stem, job.read_values(values))
            else:
                assert column is not None
                domain, counts = job.domain_of_column(source, column, **reading)
            built = Hierarchy.from_config(given, column=domain.column)
        outline = job.build(built, domain, out, counts=counts, replace=replace)
        output.document(outline.to_dict())
        _show_outline(output, outline)
        output.line(f"Wrote {out}.")


def _read_rule(
    rule: str | None, guided_by: str | None, levels: int | None
) -> dict[str, Any] | None:
    """Return the rule; None if the hierarchy is guided by a column instead."""
    if (rule is None) == (guided_by is None):
        message = "give either RULE or --guided-by."
        raise typer.BadParameter(message)
    if rule is None:
        return None
    if levels is not None:
        message = "--levels goes with --guided-by; a rule states its own levels."
        raise typer.BadParameter(message)
    given = parsing.read_hierarchy(rule)
    if isinstance(given, str):
        message = "RULE must be width, quantiles, intervals, dates, prefix or flat."
        raise typer.BadParameter(message)
    return given


def _register_check(group: typer.Typer) -> None:
    @command(group, "check")
    def check(
        output: Output,
        *,
        file: _File,
        source: _Against = None,
        column: _Column = None,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
    ) -> None:
        """Check that a hierarchy is sound and covers the values of a column."""
        from shoal.workflow import hierarchy as job  # noqa: PLC0415 - help imports no engine

        if (source is None) != (column is None):
            message = "--source and --column go together."
            raise typer.BadParameter(message)
        domain: Domain | None = None
        if source is not None and column is not None:
            domain, _ = job.domain_of_column(
                source, column, table=table, delimiter=delimiter, quote=quote, encoding=encoding
            )
        outline = job.check(file, domain)
        output.document(outline.to_dict())
        _show_outline(output, outline)
        output.line("The hierarchy is sound.")


def _register_show(group: typer.Typer) -> None:
    @command(group, "show")
    def show(
        output: Output,
        *,
        file: _File,
        most: Annotated[int, typer.Option(min=1, help="The most nodes to draw.")] = 200,
    ) -> None:
        """Draw a hierarchy, with the number of nodes of each level."""
        from shoal.workflow import hierarchy as job  # noqa: PLC0415 - help imports no engine

        outline = job.check(file)
        nested, n_left_out = outline.nested(most)
        output.document({"notice": SHOWS_VALUES, **outline.to_dict(), "tree": nested})
        _show_outline(output, outline)
        output.line(SHOWS_VALUES, style="bold")
        output.tree(nested)
        if n_left_out:
            output.line(f"and {n_left_out} more nodes; --most {most + n_left_out} shows them all.")


def _show_outline(output: Output, outline: Outline) -> None:
    top = outline.tree.height
    words = {0: "values", top: "*"}
    output.table(
        ("level", "", "nodes"),
        [(level, words.get(level, ""), n) for level, n in enumerate(outline.nodes_by_level)],
        title=f"{outline.path.name}: {outline.tree.n_leaves} values, {top} levels above them",
    )
    if outline.n_unused:
        output.line(f"{outline.n_unused} leaves of the file are not in the column.")
