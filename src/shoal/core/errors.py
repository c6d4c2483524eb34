"""All errors that Shoal raises on purpose.

A message states the subject, the rule and the value received, then a line ``Hint: ...``. It never
contains a value of the table: only columns, counts and bucket sizes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

__all__ = [
    "DataError",
    "EngineError",
    "GuaranteeError",
    "InfeasibleError",
    "InternalError",
    "ParameterError",
    "SchemaError",
    "ShoalError",
]


class ShoalError(Exception):
    """Base class of all errors that Shoal raises on purpose.

    Parameters
    ----------
    fact
        The subject, the rule and the value received, in one or two sentences.
    hint
        What to do about it, printed on a line of its own. Default: no hint.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, fact: str, *, hint: str | None = None) -> None:
        self.fact = fact
        self.hint = hint
        super().__init__(fact if hint is None else f"{fact}\n\nHint: {hint}")


class ParameterError(ShoalError, ValueError):
    """A parameter is out of range, or two parameters contradict each other."""

    exit_code = 3


class SchemaError(ShoalError, ValueError):
    """Roles, types or hierarchies do not fit together, or do not fit the table."""

    exit_code = 4


class DataError(ShoalError, ValueError):
    """The table itself cannot be used as it is."""

    exit_code = 5


class InfeasibleError(ShoalError):
    """The request cannot be met on this table.

    Parameters
    ----------
    fact, hint
        As for `ShoalError`.
    best
        The best reachable parameters, by name. Default: none known.
    """

    exit_code = 6

    def __init__(
        self, fact: str, *, hint: str | None = None, best: dict[str, object] | None = None
    ) -> None:
        self.best: dict[str, object] = dict(best or {})
        super().__init__(fact, hint=hint)


class GuaranteeError(ShoalError):
    """A release failed the check of its own guarantee; it was not sealed."""

    exit_code = 7


class EngineError(ShoalError):
    """The data engine, the disk or the file system refused."""

    exit_code = 8


class InternalError(ShoalError):
    """A bug in Shoal."""

    exit_code = 70


def suggestion(word: str, known: Iterable[str], introduction: str) -> str:
    """Return a hint that names the known word closest to an unknown one, and lists all of them.

    Examples
    --------
    >>> suggestion("modrian", ["anatomy", "mondrian"], "the methods are")
    "did you mean 'mondrian'? The methods are anatomy, mondrian."
    """
    from difflib import get_close_matches  # noqa: PLC0415 - help needs none

    listed = list(known)
    by_case = {one.casefold(): one for one in listed}
    close = get_close_matches(word.casefold(), by_case, n=1)
    told = f"{introduction} {', '.join(listed)}."
    if not close:
        return told
    return f"did you mean {by_case[close[0]]!r}? {told[0].upper()}{told[1:]}"
