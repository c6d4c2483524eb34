"""The program `shoal`, assembled from its commands.

Only the module of the command that runs is imported; `shoal --help` imports none of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_group

# Command, module of `shoal.cli`, first paragraph of its help. A test compares both texts.
_LISTED = (
    (
        "demo",
        "publish_command",
        "Publish a made-up sample from start to end, and say where to look.",
    ),
    (
        "profile",
        "prepare_commands",
        "Describe a table: types, distinct values, columns that identify, correlations.",
    ),
    (
        "publish",
        "publish_command",
        "Publish a table: anonymize it, attack the result, judge it and seal it.",
    ),
    (
        "anonymize",
        "anonymize_command",
        "Anonymize a table and write the release, without attacking it.",
    ),
    (
        "verify",
        "verify_command",
        "Check the guarantees of a release from its published files alone.",
    ),
    (
        "attack",
        "attack_command",
        "Attack a release as an adversary would, and report who is at risk.",
    ),
    (
        "replay",
        "verify_command",
        "Make a release again from its record, and compare it byte by byte with the sealed one.",
    ),
    (
        "compare",
        "anonymize_command",
        "Compare methods on one table by risk and utility, and recommend one.",
    ),
    (
        "mine",
        "mine_command",
        "Mine what an adversary may know: values that people of some kind never have.",
    ),
    (
        "baskets",
        "prepare_commands",
        "Turn sets of items into a table with one column per cluster of items.",
    ),
    (
        "schema",
        "prepare_commands",
        "Print the JSON Schema of shoal.toml, or the parameters of one method or attack.",
    ),
    ("hierarchy", "prepare_commands", "Build, check and show hierarchies."),
)
_MODULES = {name: module for name, module, _ in _LISTED}
_SUMMARIES = {name: summary for name, _, summary in _LISTED}
_EPILOG = (
    "Exit codes: 0 success, 2 wrong usage, 3 parameter, 4 schema, 5 data, 6 infeasible, "
    "7 guarantee or gate failed, 8 engine or file system, 9 partly verified, 10 verified but a "
    "test or not sealed, 11 not checked, 70 a bug in Shoal, 130 interrupted."
)


class Commands(TyperGroup):
    """The commands of the program; the module of each is imported when it is run."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names in the order in which help lists them."""
        return list(dict.fromkeys((*_MODULES, *super().list_commands(ctx))))

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command, or only its name and summary for help if it was not loaded."""
        if cmd_name in self.commands or cmd_name not in _MODULES:
            return super().get_command(ctx, cmd_name)
        return TyperCommand(cmd_name, help=_SUMMARIES[cmd_name])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Load the command to run; all of them if it is unknown, so that one can be suggested."""
        for name in args[:1] if args[0] in _MODULES else _MODULES:
            self.load(name)
        return super().resolve_command(ctx, args)

    def load(self, name: str) -> Any:
        """Import the module of a command, and return the command."""
        if name not in self.commands:
            registered = typer.Typer(rich_markup_mode="rich")
            import_module(f"shoal.cli.{_MODULES[name]}").register(registered)
            self.commands.update(get_group(registered).commands)
        return self.commands[name]


app = typer.Typer(
    name="shoal",
    cls=Commands,
    help="Publish tables about people safely: anonymize, attack the result, seal it. "
    "Start with `shoal demo`.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
)


def _show_version(is_asked: bool) -> None:
    if not is_asked:
        return
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - only here

    from shoal.core import kernels  # noqa: PLC0415
    from shoal.core.version import __version__  # noqa: PLC0415

    try:
        engine = f"duckdb {version('duckdb')}"
    except PackageNotFoundError:
        engine = "none"
    typer.echo(f"shoal {__version__}\n{kernels.describe()}\nengine: {engine}")
    raise typer.Exit


@app.callback()
def _shoal(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            metavar="",
            help="Print the version, whether kernels are compiled, and the engine.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    pass


@app.command("reproduce", hidden=True, context_settings={"ignore_unknown_options": True})
def _reproduce(_: Annotated[list[str] | None, typer.Argument()] = None) -> None:
    typer.echo(
        "shoal reproduce has moved to Shoal's repository. There, run:\n"
        "python -m reproduction all --adult adult.csv",
        err=True,
    )
    raise typer.Exit(2)
