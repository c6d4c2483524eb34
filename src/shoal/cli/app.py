"""The commands, put together."""

from __future__ import annotations

from typing import Annotated

import typer

from shoal.cli import (
    anonymize_command,
    attack_command,
    baskets_command,
    compare_command,
    demo_command,
    hierarchy_command,
    mine_command,
    profile_command,
    publish_command,
    replay_command,
    reproduce_command,
    verify_command,
)

__all__ = ["app"]

_EPILOG = (
    "Exit codes: 0 done or verified, 2 usage, 3 parameter, 4 schema, 5 data, 6 infeasible, "
    "7 guarantee or gate failed, 8 engine or file system, 9 partly verified, 10 verified but a "
    "test or not sealed, 11 not checked, 70 a bug, 130 interrupted."
)

app = typer.Typer(
    name="shoal",
    help="Publish tables about people safely: anonymize, attack the result, seal it.",
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

    from shoal import __version__  # noqa: PLC0415
    from shoal.core import kernels  # noqa: PLC0415

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
            help="Say the version, whether kernels are compiled, and the engine.",
            callback=_show_version,
            is_eager=True,
        ),
    ] = False,
) -> None:
    pass


for _group in (
    demo_command,
    profile_command,
    publish_command,
    anonymize_command,
    verify_command,
    attack_command,
    replay_command,
    compare_command,
    mine_command,
    hierarchy_command,
    baskets_command,
    reproduce_command,
):
    _group.register(app)
