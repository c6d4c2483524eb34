"""Make a method or an attack from its name and its parameters, as a file or a person gives them."""

from __future__ import annotations

import datetime as dt
import inspect
import re
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from shoal.core.errors import ParameterError
from shoal.core.log import internal_log
from shoal.core.registry import find
from shoal.knowledge.known import Knowledge

__all__ = ["Parameters", "make", "refuse_unknown", "suggestion"]

Parameters = Mapping[str, object]
_LIST_OF_TEXTS = re.compile(r"(?<!\[)\b(?:Sequence|tuple)\[str")
"""In an annotation: a list of texts, but no list of such lists."""


def make(package: str, name: str, parameters: Parameters) -> Any:
    """Make a method or an attack.

    Parameters
    ----------
    package
        Where it is found: `shoal.methods` or `shoal.attacks`.
    name
        Its name in snake case.
    parameters
        Its parameters by name. A single text stands for a list of one, and knowledge is given as
        the path of its file.

    Raises
    ------
    ParameterError
        Where there is none of that name, a parameter is not one of its own, or it refuses a value.

    Examples
    --------
    >>> make("shoal.attacks", "homogeneity", {"limit": "1/3"})
    Homogeneity(limit=Fraction(1, 3))
    """
    found = find(package, name)
    accepted = refuse_unknown(found, name, list(parameters))
    lacking = [p.name for p in accepted.values() if p.default is p.empty]
    lacking = [parameter for parameter in lacking if parameter not in parameters]
    if lacking:
        raise ParameterError(
            f"{name} needs the parameter {lacking[0]!r}.",
            hint=f"its parameters are {', '.join(accepted)}.",
        )
    try:
        return found(**{key: _as_taken(accepted[key], value) for key, value in parameters.items()})
    except TypeError as error:
        internal_log.info("%s: %s", name, error)
        raise ParameterError(
            f"A parameter of {name} has a value of a kind that it does not take.",
            hint="its parameters are "
            + ", ".join(f"{p.name} ({p.annotation})" for p in accepted.values())
            + ".",
        ) from None


def refuse_unknown(found: Any, name: str, given: list[str]) -> Mapping[str, inspect.Parameter]:
    """Refuse parameters that a method or an attack does not have; give those that it has."""
    accepted = inspect.signature(found).parameters
    unknown = [parameter for parameter in given if parameter not in accepted]
    if unknown:
        # An attack that is configured can be judged, or left out with a reason.
        limit = (
            ["max_people", "run", "reason"] if found.__module__.startswith("shoal.attacks") else []
        )
        raise ParameterError(
            f"{name} has no parameter {unknown[0]!r}.",
            hint=suggestion(unknown[0], [*accepted, *limit], "its parameters are"),
        )
    return accepted


def _as_taken(parameter: inspect.Parameter, value: object) -> object:
    """Give a single value as a list where the parameter takes a list of texts, and read files."""
    annotation = str(parameter.annotation)
    if "Knowledge" in annotation and isinstance(value, str | Path):
        return Knowledge.from_file(value)
    if value is None or not _LIST_OF_TEXTS.search(annotation):
        return value
    values = value if isinstance(value, list | tuple) else [value]
    return [_text(one) for one in values]


def _text(value: object) -> object:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float | dt.date) else value


def suggestion(word: str, known: list[str], introduction: str) -> str:
    """Say which known word is close to one that is not known, and which there are."""
    close = get_close_matches(word, known, n=1)
    guess = f"did you mean {close[0]!r}? " if close else ""
    return f"{guess}{introduction} {', '.join(known)}."
