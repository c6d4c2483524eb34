"""`shoal profile | baskets | schema | hierarchy`: what comes before a release.

They describe a table, turn baskets of items into a table, list what a configuration may say, and
build the hierarchies that it names.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    CatalogueName,
    EngineName,
    Memory,
    Reading,
    Replace,
    Source,
    argument,
    option,
    read_hierarchy,
    refuse_existing,
)
from shoal.cli.output import SHOWS_VALUES, Output

if TYPE_CHECKING:
    from shoal.core.domain import Domain
    from shoal.workflow.hierarchy import Outline

_HierarchyFile = Annotated[Path, argument("A hierarchy file in ARX's format: leaf;...;*", "FILE")]
_Column = Annotated[str | None, option("The column of the hierarchy. Default: none.", "COLUMN")]


def register(app: typer.Typer) -> None:
    """Register the commands."""
    _register_profile(app)
    _register_baskets(app)
    _register_schema(app)
    group = typer.Typer(
        help="Build, check and show hierarchies.", no_args_is_help=True, rich_markup_mode="rich"
    )
    app.add_typer(group, name="hierarchy")
    _register_build(group)
    _register_check(group)
    _register_show(group)


def _register_profile(app: typer.Typer) -> None:
    @command(app, "profile")
    def profile(
        output: Output,
        *,
        source: Source,
        draft: Annotated[
            Path | None,
            option("Write a draft configuration to this file, to edit. Default: none.", "FILE"),
        ] = None,
        heat_map: Annotated[
            Path | None,
            option("Draw the correlations into this file. Default: none.", "FILE.svg"),
        ] = None,
        replace: Replace = False,
        reading: Reading,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Describe a table: types, distinct values, columns that identify, correlations."""
        from shoal.workflow import profile as job  # noqa: PLC0415 - help imports no engine
        from shoal.workflow.read import read_source  # noqa: PLC0415

        refuse_existing(draft, heat_map, replace=replace)
        with output.progress() as progress:
            found = job.profile(
                read_source(source, engine),
                **reading.to_dict(),
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
            Path, argument("The baskets: a CSV, Parquet, Arrow or DuckDB file.", "SOURCE")
        ],
        out: Annotated[Path, argument("The file to write.", "OUT.csv")],
        item: Annotated[str, option("The column of items, or of lists of items.", "COLUMN")],
        transaction: Annotated[
            str | None,
            option(
                "The column with the basket of each line. Default: one basket per line.", "COLUMN"
            ),
        ] = None,
        sensitive: Annotated[
            list[str] | None,
            option("A sensitive item. Repeat the option for several. Default: none.", "ITEM"),
        ] = None,
        columns: Annotated[
            int | None,
            option(
                "The number of columns into which items are clustered. Default: chosen by "
                "--max-items.",
                "NUMBER",
            ),
        ] = None,
        max_items: Annotated[
            int | None, option("The most items of a column. Default: 8.", "NUMBER")
        ] = None,
        min_frequency: Annotated[
            int | None,
            option(
                "The fewest baskets that share a value; rarer ones are generalized. Default: no "
                "limit.",
                "NUMBER",
            ),
        ] = None,
        replace: Replace = False,
        reading: Reading,
        memory: Memory = None,
    ) -> None:
        """Turn sets of items into a table with one column per cluster of items.

        The table is as personal as its source: profile and publish it.
        """
        from shoal.workflow.read import read_baskets  # noqa: PLC0415 - help imports no engine

        refuse_existing(out, replace=replace)
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
                **reading.to_dict(),
                memory=memory,
            )
            progress("write the table")
            found.to_csv(out)
        output.document({"baskets": found.n_rows, "columns": list(found.columns), "file": str(out)})
        output.line(f"{found.n_rows} baskets with {len(found.columns)} columns are in {out}. Next:")
        output.line(f"  shoal profile {out} --draft shoal.toml")


def _register_schema(app: typer.Typer) -> None:
    @command(app, "schema")
    def schema(
        output: Output,
        *,
        name: CatalogueName = None,
    ) -> None:
        """Print the JSON Schema of shoal.toml, or the parameters of one method or attack."""
        from shoal.workflow import make as job  # noqa: PLC0415 - help imports no engine

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


def _register_build(group: typer.Typer) -> None:
    @command(group, "build")
    def build(
        output: Output,
        *,
        rule: Annotated[
            str | None,
            argument(
                "The rule: width:5, quantiles:8, intervals:0,18,65, dates:month,year, "
                "prefix:5,3,1, flat, or an inline table as in shoal.toml.",
                "RULE",
            ),
        ] = None,
        out: Annotated[Path, option("The file to write.", "FILE")],
        source: Annotated[
            Path | None, option("The table with the values. Default: none.", "SOURCE")
        ] = None,
        column: _Column = None,
        values: Annotated[
            Path | None,
            option(
                "A file with the values, one per line, instead of --source. Default: none.",
                "FILE",
            ),
        ] = None,
        guided_by: Annotated[
            str | None,
            option(
                "Instead of RULE: group values that are similar in this column. Default: none.",
                "SENSITIVE_COLUMN",
            ),
        ] = None,
        levels: Annotated[
            int | None,
            typer.Option(
                metavar="NUMBER",
                min=1,
                help="With --guided-by: the number of levels between the values and *. Default: "
                "chosen by the number of values.",
                show_default=False,
            ),
        ] = None,
        replace: Replace = False,
        reading: Reading,
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
        counts: list[int] | None = None
        if guided_by is not None:
            if values is not None or column is None:
                message = "--guided-by needs --source with --column."
                raise typer.BadParameter(message)
            built, domain = job.guided(
                source, column, guided_by, levels=levels, **reading.to_dict()
            )
        else:
            if values is not None:
                domain = job.domain_of_values(column or values.stem, job.read_values(values))
            else:
                assert column is not None
                domain, counts = job.domain_of_column(source, column, **reading.to_dict())
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
    given = read_hierarchy(rule)
    if isinstance(given, str):
        message = "RULE must be width, quantiles, intervals, dates, prefix or flat."
        raise typer.BadParameter(message)
    return given


def _register_check(group: typer.Typer) -> None:
    @command(group, "check")
    def check(
        output: Output,
        *,
        file: _HierarchyFile,
        source: Annotated[
            Path | None, option("The table to check it against. Default: none.", "SOURCE")
        ] = None,
        column: _Column = None,
        reading: Reading,
    ) -> None:
        """Check that a hierarchy is sound and covers the values of a column."""
        from shoal.workflow import hierarchy as job  # noqa: PLC0415 - help imports no engine

        if (source is None) != (column is None):
            message = "--source and --column go together."
            raise typer.BadParameter(message)
        domain: Domain | None = None
        if source is not None and column is not None:
            domain, _ = job.domain_of_column(source, column, **reading.to_dict())
        outline = job.check(file, domain)
        output.document(outline.to_dict())
        _show_outline(output, outline)
        output.line("The hierarchy is sound.")


def _register_show(group: typer.Typer) -> None:
    @command(group, "show")
    def show(
        output: Output,
        *,
        file: _HierarchyFile,
        most: Annotated[
            int, typer.Option(metavar="NUMBER", min=1, help="The most nodes to draw.")
        ] = 200,
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
