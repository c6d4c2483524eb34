"""Every way in which a command can fail, and the exit code of each.

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

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from shoal.cli import interruption
from shoal.cli.output import Output
from shoal.core.errors import EngineError, InfeasibleError, InternalError, ShoalError

PARTLY_VERIFIED = 9
NOT_FOR_OTHERS = 10
NOT_CHECKED = 11


def run_guarded(command: Callable[..., None], output: Output, given: dict[str, Any]) -> None:
    """Run a command; turn whatever it raises into a message and an exit code."""
    try:
        command(output, **given)
    except (typer.Exit, typer.Abort, typer.BadParameter, BrokenPipeError):
        raise
    except KeyboardInterrupt:
        # An engine in the middle of a query raises this for any signal that asks it to stop.
        raise typer.Exit(interruption.exit_code() or 130) from None
    except Exception as error:  # noqa: BLE001 - a bug must not print what it stumbled over
        stopped = interruption.exit_code()
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
