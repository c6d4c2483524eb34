"""Parse option values: lists of columns, `column=word`, `name=value`, rules of hierarchies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import typer

_NUMBERS = ("intervals", "prefix", "width", "quantiles")
_RULES = (*_NUMBERS, "dates", "flat")


def read_columns(given: Sequence[str] | None) -> list[str]:
    """Split comma-separated names; a name with a comma is put in double quotes.

    Examples
    --------
    >>> read_columns(["age,sex", '"last, first"'])
    ['age', 'sex', 'last, first']
    """
    import csv  # noqa: PLC0415 - help needs none

    return [name.strip() for fields in csv.reader(given or ()) for name in fields if name.strip()]


def read_pairs(given: Sequence[str] | None, option: str) -> list[tuple[str, str]]:
    """Split `left=right` at the first equals sign.

    Examples
    --------
    >>> read_pairs(["age={width=5}"], "--hierarchy")
    [('age', '{width=5}')]
    """
    pairs = []
    for entry in given or ():
        left, sign, right = entry.partition("=")
        if not (left.strip() and sign and right.strip()):
            message = f"{option} takes NAME=VALUE."
            raise typer.BadParameter(message)
        pairs.append((left.strip(), right.strip()))
    return pairs


def read_parameters(given: Sequence[str] | None, option: str = "-p") -> dict[str, object]:
    """Read parameters: numbers, true, false and lists as in TOML, anything else as text.

    A parameter given several times is a list.

    Examples
    --------
    >>> read_parameters(["k=5", "t=1/3", "protect=flu", "protect=cold"])
    {'k': 5, 't': '1/3', 'protect': ['flu', 'cold']}
    """
    parameters: dict[str, list[object]] = {}
    for name, text in read_pairs(given, option):
        parameters.setdefault(name, []).append(_value(text))
    return {name: values[0] if len(values) == 1 else values for name, values in parameters.items()}


def read_type(text: str) -> str | list[str]:
    """Read a type, or the values of an ordered column from lowest to highest.

    Examples
    --------
    >>> read_type("integer"), read_type("low,middle,high")
    ('integer', ['low', 'middle', 'high'])
    """
    names = read_columns([text])
    return names if len(names) > 1 else text


def read_hierarchies(given: Sequence[str] | None) -> dict[str, object]:
    """Read hierarchies, each given as `column=file` or `column=rule`."""
    return {column: read_hierarchy(text) for column, text in read_pairs(given, "--hierarchy")}


def read_hierarchy(text: str) -> str | dict[str, Any]:
    """Read a hierarchy: a rule, an inline table as in the configuration, or a file.

    Examples
    --------
    >>> read_hierarchy("width:5"), read_hierarchy("{ prefix = [5, 3] }"), read_hierarchy("flat")
    ({'width': 5}, {'prefix': [5, 3]}, {'flat': True})
    """
    if text.startswith("{"):
        inline = _value(text)
        if isinstance(inline, dict):
            return inline
    kind, _, rest = text.partition(":")
    if kind == "flat" and not rest:
        return {"flat": True}
    if kind in _RULES and rest:
        values = [_value(entry) for entry in read_columns([rest])]
        is_single = kind in ("width", "quantiles")
        return {kind: values[0] if is_single and len(values) == 1 else values}
    # Relative to the current folder, not to a configuration.
    return str(Path(text).absolute())


def read_private(given: Sequence[str] | None) -> list[str]:
    """Read which cells are private; files are relative to the current folder."""
    return [str(Path(text).absolute()) if _is_file(text) else text for text in given or ()]


def stated_options(context: typer.Context) -> frozenset[str]:
    """Return the options given on the command line."""
    sources = {name: context.get_parameter_source(name) for name in context.params}
    return frozenset(
        name for name, source in sources.items() if source and source.name == "COMMANDLINE"
    )


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


def _is_file(text: str) -> bool:
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False


def _value(text: str) -> object:
    from shoal.core.documents import parse_toml  # noqa: PLC0415 - help needs none

    try:
        parsed = parse_toml(f"value = {text}")
    except ValueError:
        return text
    return parsed["value"] if len(parsed) == 1 else text
