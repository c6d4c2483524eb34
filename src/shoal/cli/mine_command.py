"""`shoal mine`: what an adversary may know about the people in a table.

With `--private`, rules by which private cells can be guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli.command import command
from shoal.cli.options import (
    ColumnNames,
    EngineName,
    Hierarchies,
    Identifying,
    Key,
    Memory,
    Quasi,
    Reading,
    Replace,
    Types,
    option,
    read_columns,
    read_hierarchies,
    read_pairs,
    read_private,
    read_type,
    refuse_existing,
    source_argument,
    stated_options,
    stated_source,
    switch,
)
from shoal.cli.output import SHOWS_VALUES, Output

if TYPE_CHECKING:
    from shoal.workflow.config import Configuration
    from shoal.workflow.mine import PrivateMining

_RULE_HIDING = "rule_hiding"
_PRIVATE, _OTHERS = "Rules about private cells", "Other knowledge"
_N_SHOWN = 30
_OF_NEGATIVE_RULES = (
    "min_exp",
    "min_conf",
    "fuzzy",
    "width",
    "most_general",
    "positive",
    "statistics",
    "min_support",
    "rules",
    "hierarchy",
)
_OF_PRIVATE_CELLS = ("delta", "gamma", "max_work")


def _refuse_others(stated: Collection[str], *, is_private: bool) -> None:
    """Refuse options that mean nothing for the kind of rules that are mined."""
    meaningless = _OF_NEGATIVE_RULES if is_private else _OF_PRIVATE_CELLS
    stray = [name for name in meaningless if name in stated]
    if not stray:
        return
    option = f"--{stray[0].replace('_', '-')}"
    if not is_private:
        message = f"{option} is about private cells; name them with --private CELLS."
    elif "private" in stated:
        message = f"{option} means nothing for rules about private cells; leave out one of them."
    else:
        message = (
            f"{option} means nothing for rules about private cells, which are mined because the "
            f"method of the configuration is {_RULE_HIDING}."
        )
    raise typer.BadParameter(message)


def _mine_private_cells(
    output: Output,
    configuration: Configuration,
    *,
    private: Sequence[str],
    delta: str | None,
    gamma: str | None,
    max_len: int | None,
    max_work: int | None,
    show: int,
    out: Path | None,
) -> None:
    """Mine rules about private cells, print them and write them to a file."""
    from shoal.workflow import mine as job  # noqa: PLC0415 - help imports no engine

    mining = _mining(configuration, private, delta, gamma, max_len, max_work)
    with output.progress() as progress:
        rules, _ = job.mine_configured(configuration, mining.of, progress=progress)
    sections = job.sections_of_rules(rules, show)
    if out is not None:
        job.write_rules(rules, out)
    output.document(
        {
            "notice": SHOWS_VALUES,
            **job.document_of_rules(rules),
            "sections": [section.to_dict() for section in sections],
        }
    )
    output.line(SHOWS_VALUES, style="bold")
    for section in sections:
        output.section(section)
    if out is not None:
        output.place("Wrote the rules, for internal use:", out)
    elif len(rules):
        output.line("To stop these rules, publish with the method rule_hiding.")


def _mining(
    configuration: Configuration,
    private: Sequence[str],
    delta: str | None,
    gamma: str | None,
    max_len: int | None,
    max_work: int | None,
) -> PrivateMining:
    """Return the mining that the options ask for, otherwise that of the configured method."""
    from shoal.core.private_cells import PrivateCells  # noqa: PLC0415 - help imports no numpy
    from shoal.workflow.mine import PrivateMining  # noqa: PLC0415

    chosen: dict[str, Any] = {}
    if configuration.method_name == _RULE_HIDING:
        method: Any = configuration.method()
        chosen = {
            name: getattr(method, name) for name in ("private", "delta", "gamma", "discretise")
        }
    if private:
        chosen["private"] = PrivateCells.of(read_private(private))
    if delta is not None:
        chosen["delta"] = delta
    if gamma is not None:
        chosen["gamma"] = int(gamma) if gamma.isdecimal() else gamma
    if max_work is not None:
        chosen["max_work"] = max_work
    return PrivateMining(max_len=max_len, **chosen)


def register(app: typer.Typer) -> None:
    """Register the command."""

    @command(app, "mine")
    def mine(
        output: Output,
        *,
        context: typer.Context,
        source: Annotated[str, source_argument(" A configuration file is accepted too.")],
        min_exp: Annotated[
            str,
            option(
                "The minimum probability that any of the matching people would have the value by "
                "chance.",
                "NUMBER",
            ),
        ] = "0.9",
        min_conf: Annotated[
            str, option("The minimum share of matching people who lack the value.", "NUMBER")
        ] = "1",
        max_len: Annotated[
            str,
            option(
                "The most columns in the antecedent of a rule; with --private, any by default.",
                "NUMBER|any",
            ),
        ] = "1",
        fuzzy: Annotated[
            str | None,
            option(
                "Count numbers near an interval in part, combined this way. Default: exact "
                "intervals.",
                "product|minimum",
            ),
        ] = None,
        width: Annotated[
            ColumnNames,
            option(
                "How far a number may be from an interval, with --fuzzy. Default: chosen by the "
                "column.",
                "column=number",
            ),
        ] = None,
        most_general: Annotated[
            bool,
            switch(
                "Leave out rules that more general rules imply. Default: keep them.",
                "--most-general",
            ),
        ] = False,
        positive: Annotated[
            bool, switch("Also mine positive rules. Default: off.", "--positive", panel=_OTHERS)
        ] = False,
        statistics: Annotated[
            bool, switch("Also mine shares and means. Default: off.", "--statistics", panel=_OTHERS)
        ] = False,
        min_support: Annotated[
            str,
            option(
                "The minimum support of these: a share of the rows, or a whole number of rows.",
                "NUMBER",
                panel=_OTHERS,
            ),
        ] = "0.01",
        private: Annotated[
            list[str] | None,
            option(
                "Mine rules by which these cells can be guessed: COLUMN, 'COLUMN where SQL', or a "
                "file. Repeat the option for several; --quasi names the columns. Default: none.",
                "CELLS",
                panel=_PRIVATE,
            ),
        ] = None,
        delta: Annotated[
            str | None,
            option(
                "The minimum confidence of a rule, among visible and private cells. Default: 0.8.",
                "NUMBER",
                panel=_PRIVATE,
            ),
        ] = None,
        gamma: Annotated[
            str | None,
            option(
                "The minimum support of a rule: a share of the rows, or a whole number of rows. "
                "Default: 0.001.",
                "NUMBER",
                panel=_PRIVATE,
            ),
        ] = None,
        max_work: Annotated[
            int | None,
            typer.Option(
                metavar="NUMBER",
                min=0,
                help="The most cells of the table that the search for these rules looks at. "
                "Default: 200,000,000,000, about a quarter of an hour.",
                rich_help_panel=_PRIVATE,
            ),
        ] = None,
        rules: Annotated[
            Path | None,
            option(
                "Knowledge to add to the mined rules; rules that it strikes out are dropped. "
                "Default: none.",
                "FILE",
                panel=_OTHERS,
            ),
        ] = None,
        out: Annotated[
            Path | None,
            option(
                "Write the knowledge to this TOML file, to edit; rules about private cells are "
                "written as CSV. Default: only print it.",
                "FILE",
            ),
        ] = None,
        replace: Replace = False,
        show: Annotated[
            int, typer.Option(metavar="NUMBER", help="The most rules of each kind to print.", min=0)
        ] = _N_SHOWN,
        quasi: Quasi = None,
        sensitive: Annotated[
            str | None, option("The sensitive column. Default: none.", "COLUMN", panel="Columns")
        ] = None,
        key: Key = None,
        identifying: Identifying = None,
        type: Types = None,  # noqa: A002 - the name of the option
        hierarchy: Hierarchies = None,
        reading: Reading,
        engine: EngineName = None,
        memory: Memory = None,
    ) -> None:
        """Mine what an adversary may know: values that people of some kind never have.

        With [bold]--private[/bold], mine the rules by which private cells can be guessed.

        The columns of a table are described by options; a configuration describes its own.
        """
        from shoal.workflow import mine as job  # noqa: PLC0415 - help imports no engine
        from shoal.workflow.attack import read_knowledge  # noqa: PLC0415

        refuse_existing(out, replace=replace)
        described: dict[str, dict[str, Any]] = {
            "table": {"key": key, **reading.to_dict()},
            "columns": {
                "identifying": read_columns(identifying),
                "quasi": read_columns(quasi),
                "sensitive": sensitive,
            },
            "engine": {"name": engine, "memory": memory},
            "types": {c: read_type(t) for c, t in read_pairs(type, "--type")},
            "hierarchies": read_hierarchies(hierarchy),
        }
        configuration = _configured(source, described, is_private=bool(private))
        stated = stated_options(context)
        is_private = bool(private) or configuration.method_name == _RULE_HIDING
        _refuse_others(stated, is_private=is_private)
        if is_private:
            _mine_private_cells(
                output,
                configuration,
                private=private or (),
                delta=delta,
                gamma=gamma,
                max_len=read_length(max_len if "max_len" in stated else "any"),
                max_work=max_work,
                show=show,
                out=out,
            )
            return
        mining = job.Mining(
            min_exp=min_exp,
            min_conf=min_conf,
            max_len=read_length(max_len),
            fuzzy=fuzzy,
            width={c: read_width(w) for c, w in read_pairs(width, "--width")},
            most_general=most_general,
            min_support=int(min_support) if min_support.isdecimal() else min_support,
            has_positive=positive,
            has_statistics=statistics,
            given=None if rules is None else read_knowledge(rules),
        )
        with output.progress() as progress:
            known, _ = job.mine_configured(configuration, mining.of, progress=progress)
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
            output.place("Wrote the knowledge, to edit:", out)
            output.place("Then use it:", f"shoal attack RELEASE --knowledge {out}")


def _configured(
    source: str, described: dict[str, dict[str, Any]], *, is_private: bool
) -> Configuration:
    """Read the configuration of a source, or make one from the options."""
    from shoal.workflow.config import configure, read_toml  # noqa: PLC0415 - imports engines

    stated = {
        section: {name: value for name, value in entries.items() if value not in (None, [])}
        for section, entries in described.items()
    }
    # Mining needs no method and no attack, and their files may not exist yet.
    method = {"method": {"name": "injector"}}
    if source.endswith(".toml"):
        if any(stated.values()):
            message = "the configuration describes the table; change it there."
            raise typer.BadParameter(message)
        given = read_toml(Path(source))
        if not _hides_rules(given):
            given |= method
        given.pop("attacks", None)
        return configure(given, base=Path(source).parent)
    needed = {"quasi"} if is_private else {"quasi", "sensitive"}
    if not needed <= stated["columns"].keys():
        options = " and ".join(f"--{name}" for name in sorted(needed))
        message = f"name the columns with {options}, or give a configuration."
        raise typer.BadParameter(message)
    stated["table"]["source"] = stated_source(source, stated["engine"].get("name"))
    return configure(stated | method, base=Path())


def _hides_rules(given: dict[str, Any]) -> bool:
    method = given.get("method")
    return isinstance(method, dict) and method.get("name") == _RULE_HIDING


def read_length(text: str) -> int | None:
    """Read the most columns in a rule; None for `any` number."""
    if text == "any":
        return None
    if not text.isdecimal() or int(text) < 1:
        message = "--max-len is a whole number of at least 1, or any."
        raise typer.BadParameter(message)
    return int(text)


def read_width(text: str) -> float:
    """Read how far a number may be from an interval."""
    try:
        return float(text)
    except ValueError:
        message = "--width takes column=number."
        raise typer.BadParameter(message) from None
