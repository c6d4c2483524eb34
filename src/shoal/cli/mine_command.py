"""`shoal mine`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import parsing
from shoal.cli.command import command
from shoal.cli.mine_private import (
    RULE_HIDING,
    Delta,
    Gamma,
    Private,
    mine_private_cells,
    refuse_others,
    stated_options,
)
from shoal.cli.options import (
    ColumnNames,
    Delimiter,
    Encoding,
    EngineName,
    Memory,
    Quote,
    Replace,
    TableName,
    source_argument,
)
from shoal.cli.output import SHOWS_VALUES, Output

if TYPE_CHECKING:
    from shoal.pipeline.config import Configuration

__all__ = ["register"]

_PANEL = "The table, where no shoal.toml describes it"
_OTHERS = "Other knowledge"
_N_SHOWN = 30


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "mine")
    def mine(
        output: Output,
        *,
        context: typer.Context,
        source: Annotated[str, source_argument(", or a shoal.toml")],
        min_exp: Annotated[
            str,
            typer.Option(
                metavar="NUMBER",
                help="How probable the value would have to be, were there no rule.",
            ),
        ] = "0.9",
        min_conf: Annotated[
            str, typer.Option(metavar="NUMBER", help="The share of people who lack the value.")
        ] = "1",
        max_len: Annotated[
            str,
            typer.Option(
                metavar="NUMBER|any",
                help="How many columns a rule may name before its 'never'; any with --private.",
            ),
        ] = "1",
        fuzzy: Annotated[
            str | None,
            typer.Option(metavar="product|minimum", help="Count numbers near an interval in part."),
        ] = None,
        width: Annotated[
            ColumnNames,
            typer.Option(metavar="column=number", help="How near, for fuzzy rules."),
        ] = None,
        most_general: Annotated[
            bool,
            typer.Option("--most-general", help="Leave out what more general rules imply."),
        ] = False,
        positive: Annotated[
            bool,
            typer.Option("--positive", help="Mine positive rules too.", rich_help_panel=_OTHERS),
        ] = False,
        statistics: Annotated[
            bool,
            typer.Option("--statistics", help="Mine shares or means too.", rich_help_panel=_OTHERS),
        ] = False,
        min_support: Annotated[
            str,
            typer.Option(
                metavar="NUMBER",
                help="Of these: a share of the rows, or a whole number of them.",
                rich_help_panel=_OTHERS,
            ),
        ] = "0.01",
        private: Private = None,
        delta: Delta = None,
        gamma: Gamma = None,
        rules: Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="Knowledge to combine with what is mined; what it strikes stays out.",
                rich_help_panel=_OTHERS,
            ),
        ] = None,
        out: Annotated[
            Path | None,
            typer.Option(
                metavar="FILE",
                help="Write the knowledge to this TOML file, to edit; rules about private cells as "
                "CSV.",
            ),
        ] = None,
        replace: Replace = False,
        show: Annotated[
            int, typer.Option(metavar="NUMBER", help="How many of each kind are shown.", min=0)
        ] = _N_SHOWN,
        quasi: Annotated[
            ColumnNames,
            typer.Option(
                metavar="columns", help="Quasi-identifying columns.", rich_help_panel=_PANEL
            ),
        ] = None,
        sensitive: Annotated[
            str | None,
            typer.Option(metavar="COLUMN", help="The sensitive column.", rich_help_panel=_PANEL),
        ] = None,
        key: Annotated[
            str | None,
            typer.Option(
                metavar="COLUMN",
                help="What tells rows apart, where files name private cells by it.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        identifying: Annotated[
            ColumnNames,
            typer.Option(
                metavar="columns",
                help="Columns that nothing is mined about: names, keys and any others.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        type: Annotated[  # noqa: A002 - the name of the option
            ColumnNames,
            typer.Option(metavar="column=type", help="A type.", rich_help_panel=_PANEL),
        ] = None,
        hierarchy: Annotated[
            ColumnNames,
            typer.Option(
                metavar="column=file|rule",
                help="A file in ARX's format, or a rule, as for `shoal anonymize`.",
                rich_help_panel=_PANEL,
            ),
        ] = None,
        table: TableName = None,
        delimiter: Delimiter = None,
        quote: Quote = None,
        encoding: Encoding = None,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Find what an adversary may know: what people of some kind never have.

        With --private, by which rules private cells can be guessed from what is left.
        """
        from shoal.core.errors import ParameterError  # noqa: PLC0415 - help imports no engine
        from shoal.pipeline import mine as job  # noqa: PLC0415
        from shoal.pipeline.attack import read_knowledge  # noqa: PLC0415

        if out is not None and out.exists() and not replace:
            raise ParameterError(
                f"{out} is there already.", hint="choose another name, or give --replace."
            )
        described: dict[str, dict[str, Any]] = {
            "table": {
                "table": table,
                "key": key,
                "delimiter": delimiter,
                "quote": quote,
                "encoding": encoding,
            },
            "columns": {
                "identifying": parsing.read_columns(identifying),
                "quasi": parsing.read_columns(quasi),
                "sensitive": sensitive,
            },
            "engine": {"name": engine, "memory": memory},
            "types": {c: parsing.read_type(t) for c, t in parsing.read_pairs(type, "--type")},
            "hierarchies": parsing.read_hierarchies(hierarchy),
        }
        configuration = _configured(source, described, is_private=bool(private))
        stated = stated_options(context)
        is_private = bool(private) or configuration.method_name == RULE_HIDING
        refuse_others(stated, is_private=is_private)
        if is_private:
            mine_private_cells(
                output,
                configuration,
                private=private or (),
                delta=delta,
                gamma=gamma,
                max_len=_read_length(max_len if "max_len" in stated else "any"),
                show=show,
                out=out,
            )
            return
        mining = job.Mining(
            min_exp=min_exp,
            min_conf=min_conf,
            max_len=_read_length(max_len),
            fuzzy=fuzzy,
            width={c: _read_width(w) for c, w in parsing.read_pairs(width, "--width")},
            most_general=most_general,
            min_support=int(min_support) if min_support.isdecimal() else min_support,
            has_positive=positive,
            has_statistics=statistics,
            given=None if rules is None else read_knowledge(rules),
        )
        with output.progress() as progress:
            known, _ = job.mine(configuration, mining.of, progress=progress)
        sections = job.sections_of(known, show)
        output.document(
            {
                "notice": SHOWS_VALUES,
                "negative": len(known),
                "positive": len(known.positive),
                "statistics": len(known.statistics),
                "facts": len(known.facts),
                "sections": [section.to_dict() for section in sections],
            }
        )
        output.line(SHOWS_VALUES, style="bold")
        for section in sections:
            output.section(section)
        if out is not None:
            known.to_file(out)
            output.line(f"Wrote {out}. Edit it, then use it:")
            output.line(f"  shoal attack RELEASE --knowledge {out}")


def _configured(
    source: str, described: dict[str, dict[str, Any]], *, is_private: bool
) -> Configuration:
    """Read the configuration of a source, or make one of what the command line says of it."""
    from shoal.pipeline.config import configure, read_toml  # noqa: PLC0415 - imports engines

    stated = {
        section: {name: value for name, value in entries.items() if value not in (None, [])}
        for section, entries in described.items()
    }
    # No method and no attack is needed to look at a table, and their files may not be there yet.
    method = {"method": {"name": "injector"}}
    if source.endswith(".toml"):
        if any(stated.values()):
            message = "the shoal.toml describes the table: change it there."
            raise typer.BadParameter(message)
        given = read_toml(Path(source))
        if not _hides_rules(given):
            given |= method
        given.pop("attacks", None)
        return configure(given, base=Path(source).parent)
    needed = {"quasi"} if is_private else {"quasi", "sensitive"}
    if not needed <= stated["columns"].keys():
        options = " and ".join(f"--{name}" for name in sorted(needed))
        message = f"say which columns: {options}, or give a shoal.toml."
        raise typer.BadParameter(message)
    stated["table"]["source"] = _stated(source, stated["engine"].get("name"))
    return configure(stated | method, base=Path())


def _hides_rules(given: dict[str, Any]) -> bool:
    method = given.get("method")
    return isinstance(method, dict) and method.get("name") == RULE_HIDING


def _stated(source: str, engine: str | None) -> str:
    from shoal.pipeline.sources import read_source  # noqa: PLC0415 - help imports no engine

    found = read_source(source, engine)
    return str(found.absolute()) if isinstance(found, Path) else found


def _read_length(text: str) -> int | None:
    if text == "any":
        return None
    if not text.isdecimal() or int(text) < 1:
        message = "--max-len is a whole number of at least 1, or any."
        raise typer.BadParameter(message)
    return int(text)


def _read_width(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        message = "--width takes column=number."
        raise typer.BadParameter(message) from None
