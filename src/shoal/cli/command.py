"""Register commands with the options that all of them share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from shoal.cli import interruption
from shoal.cli.failures import run_guarded
from shoal.cli.output import Output

_PANEL = "Common options"

Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet",
        "-q",
        help="Print only warnings and errors. Default: print results too.",
        rich_help_panel=_PANEL,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json",
        help="Print one JSON document on stdout, errors included. Default: text.",
        rich_help_panel=_PANEL,
    ),
]
Debug = Annotated[
    bool,
    typer.Option(
        "--debug",
        help="Print the traceback of an error; it may hold values of the table. Default: off.",
        rich_help_panel=_PANEL,
    ),
]
Log = Annotated[
    Path | None,
    typer.Option(
        "--log",
        metavar="FILE",
        help="Write the internal log, which holds values of the table, to this file. "
        "Default: none.",
        rich_help_panel=_PANEL,
    ),
]

_SHARED = (
    inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, annotation=Quiet, default=False),
    inspect.Parameter("json", inspect.Parameter.KEYWORD_ONLY, annotation=Json, default=False),
    inspect.Parameter("debug", inspect.Parameter.KEYWORD_ONLY, annotation=Debug, default=False),
    inspect.Parameter("log", inspect.Parameter.KEYWORD_ONLY, annotation=Log, default=None),
)


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that registers a function as a command of a group.

    The first parameter of the function is the `Output`; the others are its own options, and its
    docstring is its help.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = [
            parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
            for parameter in list(signature.parameters.values())[1:]
        ]

        def run(**given: Any) -> None:
            output = Output(given.pop("quiet"), given.pop("json"), given.pop("debug"))
            log = given.pop("log")
            run_guarded(_logged(function, log), output, given)

        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[*own, *_SHARED], return_annotation=None
        )
        run.__annotations__ = {p.name: p.annotation for p in (*own, *_SHARED)}
        run.__doc__ = function.__doc__
        app.command(name, no_args_is_help=any(p.default is p.empty for p in own))(run)
        return function

    return register


def _logged(function: Callable[..., None], log: Path | None) -> Callable[..., None]:
    """Open the internal log first, so that failing to do so is reported like any other error."""

    def run(output: Output, **given: Any) -> None:
        if log is not None:
            from shoal.core.log import log_to  # noqa: PLC0415 - help needs no log

            log_to(log)
        with interruption.postponed():
            pass
        function(output, **given)

    return run
