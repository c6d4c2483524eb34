"""Register commands with the options that all of them share, and run them.

Every way in which a command can fail has an exit code:

| code | meaning |
|---|---|
| 0 | done; of `verify`: verified |
| 2 | the command line itself is wrong |
| 3 to 8 | an error of Shoal by its class: parameter, schema, data, infeasible, guarantee, engine |
| 7 | also of `verify`: failed; of `replay`: the sealed folder was changed |
| 9 | of `verify`: partly verified |
| 10 | of `verify`: verified, but a test or not sealed |
| 11 | of `verify`: not checked, because it is too large |
| 70 | a bug in Shoal |
| 130, 143 | interrupted, terminated |

If several codes of `verify` apply, 7 outweighs 11, 11 outweighs 9, and 9 outweighs 10.

No message holds a value of the table, and there is no traceback unless `--debug` asks for it.
"""

from __future__ import annotations

import dataclasses
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from shoal import cli
from shoal.cli.options import option, switch
from shoal.cli.output import Output
from shoal.core.errors import EngineError, InfeasibleError, InternalError, ShoalError

_PANEL = "Common options"

PARTLY_VERIFIED = 9
NOT_FOR_OTHERS = 10
NOT_CHECKED = 11


@dataclasses.dataclass(frozen=True)
class _Shared:
    """The options of every command."""

    quiet: Annotated[
        bool,
        switch(
            "Print only warnings and errors. Default: print results too.",
            *("--quiet", "-q"),
            panel=_PANEL,
        ),
    ] = False
    json: Annotated[
        bool,
        switch(
            "Print one JSON document on stdout, errors included. Default: text.",
            "--json",
            panel=_PANEL,
        ),
    ] = False
    debug: Annotated[
        bool,
        switch(
            "Print the traceback of an error; it may hold values of the table. Default: off.",
            "--debug",
            panel=_PANEL,
        ),
    ] = False
    log: Annotated[
        Path | None,
        option(
            "Write the internal log, which holds values of the table, to this file. Default: none.",
            "FILE",
            panel=_PANEL,
        ),
    ] = None


def command(app: typer.Typer, name: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that registers a function as a command of a group.

    The first parameter of the function is the `Output`; the others are its own options, and its
    docstring is its help. A parameter whose type is a dataclass stands for the options that are
    the fields of the class.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(function, eval_str=True)
        own = list(signature.parameters.values())[1:]
        groups = {
            one.name: one.annotation for one in own if dataclasses.is_dataclass(one.annotation)
        }
        options = [*(entry for one in own for entry in _options_of(one)), *_fields_of(_Shared)]

        def run(**given: Any) -> None:
            shared = _gathered(_Shared, given)
            for group, kind in groups.items():
                given[group] = _gathered(kind, given)
            _run_guarded(function, Output(shared.quiet, shared.json, shared.debug), shared, given)

        run.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=options, return_annotation=None
        )
        run.__annotations__ = {one.name: one.annotation for one in options}
        run.__doc__ = function.__doc__
        app.command(name, no_args_is_help=any(one.default is one.empty for one in options))(run)
        return function

    return register


def _options_of(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    if dataclasses.is_dataclass(parameter.annotation):
        yield from _fields_of(parameter.annotation)
    else:
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)


def _fields_of(kind: Any) -> Iterator[inspect.Parameter]:
    """Yield the fields of a dataclass as options."""
    hints = get_type_hints(kind, include_extras=True)
    for one in dataclasses.fields(kind):
        yield inspect.Parameter(
            one.name,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hints[one.name],
            default=one.default,
        )


def _gathered(kind: Any, given: dict[str, Any]) -> Any:
    """Take the options of a dataclass out of what was given."""
    return kind(**{one.name: given.pop(one.name) for one in dataclasses.fields(kind)})


def _run_guarded(
    function: Callable[..., None], output: Output, shared: _Shared, given: dict[str, Any]
) -> None:
    """Run a command; turn whatever it raises into a message and an exit code."""
    try:
        # The log is opened here, so that failing to do so is reported like any other error.
        if shared.log is not None:
            from shoal.core.log import log_to  # noqa: PLC0415 - help needs no log

            log_to(shared.log)
        with cli.signals_postponed():
            # It brings the engines, which abort if a signal arrives while they are imported.
            import shoal.release.opened  # noqa: F401, PLC0415
        function(output, **given)
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        # An engine in the middle of a query raises this for any signal that asks it to stop.
        raise typer.Exit(cli.signal_code() or 130) from None
    except Exception as error:  # noqa: BLE001 - a bug must not print what it stumbled over
        stopped = cli.signal_code()
        if stopped is not None:
            raise typer.Exit(stopped) from None
        _leave(_explained(error), output)


def _explained(error: Exception) -> ShoalError:
    """Return the error to report; only errors of Shoal keep their own words."""
    if isinstance(error, ShoalError):
        return error
    if isinstance(error, OSError):
        return _refused(error)
    if isinstance(error, MemoryError):
        return EngineError(
            "There is not enough memory.", hint='limit the engine\'s: [engine] memory = "2GB".'
        )
    from shoal.core.log import internal_log  # noqa: PLC0415 - help needs no log

    internal_log.error("unexpected", exc_info=error)
    return InternalError(
        f"Something unexpected happened in Shoal ({type(error).__name__}); this is a bug.",
        hint="run again with --log FILE to keep its details, which may hold values of the table.",
    )


def _refused(error: OSError) -> EngineError:
    reason = os.strerror(error.errno) if error.errno else type(error).__name__
    where = f" ({error.filename})" if isinstance(error.filename, str) else ""
    return EngineError(f"The system refused: {reason}{where}.")


def _leave(error: ShoalError, output: Output) -> None:
    if output.is_debug:
        import traceback  # noqa: PLC0415 - seldom needed

        traceback.print_exc(file=sys.stderr)
    stated: dict[str, object] = {
        "class": _class_name(error),
        "fact": error.fact,
        "hint": error.hint,
        "exit_code": error.exit_code,
    }
    if isinstance(error, InfeasibleError):
        stated["best"] = error.best
    stated.update(getattr(error, "details", {}))
    output.document({"error": stated})
    if not output.is_json:
        output.fail(error.fact, error.hint)
    raise typer.Exit(error.exit_code)


def _class_name(error: ShoalError) -> str:
    """Name the class that is part of Shoal's interface, not one derived from it."""
    public = (kind for kind in type(error).__mro__ if kind.__module__ == ShoalError.__module__)
    return next(public).__name__
