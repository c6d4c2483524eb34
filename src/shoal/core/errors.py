"""Every error Shoal raises on purpose.

A message says the subject, the rule and what was got, then a line ``Hint: ...``.
It never holds a value of the table: columns, counts and bucket sizes only.
"""

from __future__ import annotations

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
    """The base of every error that Shoal raises on purpose.

    Parameters
    ----------
    fact
        The subject, the rule and what was got, in one or two sentences.
    hint
        What to do about it; printed on a line of its own.
    """

    exit_code: ClassVar[int] = 1

    def __init__(self, fact: str, *, hint: str | None = None) -> None:
        self.fact = fact
        self.hint = hint
        super().__init__(fact if hint is None else f"{fact}\n\nHint: {hint}")


class ParameterError(ShoalError, ValueError):
    """A parameter is out of its range, or two of them contradict each other."""

    exit_code = 3


class SchemaError(ShoalError, ValueError):
    """Roles, types or hierarchies do not fit together or do not fit the table."""

    exit_code = 4


class DataError(ShoalError, ValueError):
    """The table itself cannot be used as it is."""

    exit_code = 5


class InfeasibleError(ShoalError):
    """What was asked for cannot be reached on this table.

    Parameters
    ----------
    best
        The best reachable parameters, by name; empty where none is known.
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
