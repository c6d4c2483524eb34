"""`shoal mine --private`: rules by which private cells can be guessed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from shoal.cli import parsing
from shoal.cli.output import SHOWS_VALUES, Output

if TYPE_CHECKING:
    from shoal.pipeline.config import Configuration
    from shoal.pipeline.mine_private import PrivateMining

__all__ = [
    "RULE_HIDING",
    "Delta",
    "Gamma",
    "Private",
    "mine_private_cells",
    "refuse_others",
    "stated_options",
]

RULE_HIDING = "rule_hiding"
_PANEL = "Rules about private cells"
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
_OF_PRIVATE_CELLS = ("delta", "gamma")

Private = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CELLS",
        help="Mine rules by which these cells can be guessed: COLUMN, 'COLUMN where SQL', "
        "or a file; give the option once for each. --quasi names the columns.",
        rich_help_panel=_PANEL,
    ),
]
Delta = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="How often a rule has to be right, by what is visible and by what is private; 0.8 "
        "by default.",
        rich_help_panel=_PANEL,
    ),
]
Gamma = Annotated[
    str | None,
    typer.Option(
        metavar="NUMBER",
        help="How many rows must show a rule: a share of them, or a whole number; 0.001 by "
        "default.",
        rich_help_panel=_PANEL,
    ),
]


def stated_options(context: typer.Context) -> frozenset[str]:
    """Give the options that stand on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(
        name for name, source in sources.items() if source and source.name == "COMMANDLINE"
    )


def refuse_others(stated: Collection[str], *, is_private: bool) -> None:
    """Refuse options that mean nothing beside others.

    Parameters
    ----------
    stated
        The options that were given.
    is_private
        Whether rules about private cells are mined, not negative ones.
    """
    meaningless = _OF_NEGATIVE_RULES if is_private else _OF_PRIVATE_CELLS
    stray = [name for name in meaningless if name in stated]
    if not stray:
        return
    option = f"--{stray[0].replace('_', '-')}"
    if not is_private:
        message = f"{option} is about private cells: say which, --private CELLS."
    elif "private" in stated:
        message = f"{option} means nothing for rules about private cells: leave out one of them."
    else:
        message = (
            f"{option} means nothing for rules about private cells, which are mined because the "
            f"method of the shoal.toml is {RULE_HIDING}."
        )
    raise typer.BadParameter(message)


def mine_private_cells(
    output: Output,
    configuration: Configuration,
    *,
    private: Sequence[str],
    delta: str | None,
    gamma: str | None,
    max_len: int | None,
    show: int,
    out: Path | None,
) -> None:
    """Mine rules about private cells, show them and write them down."""
    from shoal.pipeline import mine as job  # noqa: PLC0415 - help imports no engine
    from shoal.pipeline import mine_private as rules_job  # noqa: PLC0415

    mining = _mining(configuration, private, delta, gamma, max_len)
    with output.progress() as progress:
        rules, _ = job.mine(configuration, mining.of, progress=progress)
    sections = rules_job.sections_of_rules(rules, show)
    if out is not None:
        rules_job.write_rules(rules, out)
    output.document(
        {
            "notice": SHOWS_VALUES,
            **rules_job.document_of_rules(rules),
            "sections": [section.to_dict() for section in sections],
        }
    )
    output.line(SHOWS_VALUES, style="bold")
    for section in sections:
        output.section(section)
    if out is not None:
        output.line(f"Wrote {out}. It is for internal use.")
    elif len(rules):
        output.line("Hide them: the method rule_hiding blanks the cells that feed them.")


def _mining(
    configuration: Configuration,
    private: Sequence[str],
    delta: str | None,
    gamma: str | None,
    max_len: int | None,
) -> PrivateMining:
    """Say what is mined: what the options say, else what the method of a configuration says."""
    from shoal.core.private_cells import PrivateCells  # noqa: PLC0415 - help imports no numpy
    from shoal.pipeline.mine_private import PrivateMining  # noqa: PLC0415

    chosen: dict[str, Any] = {}
    if configuration.method_name == RULE_HIDING:
        method: Any = configuration.method()
        chosen = {
            name: getattr(method, name) for name in ("private", "delta", "gamma", "discretise")
        }
    if private:
        chosen["private"] = PrivateCells.of(parsing.read_private(private))
    if delta is not None:
        chosen["delta"] = delta
    if gamma is not None:
        chosen["gamma"] = int(gamma) if gamma.isdecimal() else gamma
    return PrivateMining(max_len=max_len, **chosen)
