"""Parameters of methods, attacks, measures and guarantees, each declared once.

A parameter is a field of a frozen `attrs` class. Its declaration states how a value is read and
checked, its default and its meaning. The class, the configuration file, its JSON Schema, the
command line and the reference page are derived from it. Thresholds are read as exact fractions of
what was typed, and a single text stands for a list of one.
"""

from __future__ import annotations

import datetime as dt
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Generic, TypeVar, overload

import attrs

from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact, whole

Given_contra = TypeVar("Given_contra", contravariant=True)
Kept_co = TypeVar("Kept_co", covariant=True)
Read = Callable[[str, Any], object]
"""Reads the value given for the parameter of a name; raises a ParameterError."""

KEY = "shoal.parameter"
"""The key of the `Parameter` in the metadata of a field."""
REQUIRED = attrs.NOTHING
"""The default of a parameter that must be given."""


class Converted(Generic[Given_contra, Kept_co]):
    """The annotation of a field that accepts one type and keeps another; for type checkers only."""

    @overload
    def __get__(self, instance: None, owner: Any) -> Any: ...
    @overload
    def __get__(self, instance: object, owner: Any) -> Kept_co: ...
    def __get__(self, instance: object | None, owner: Any) -> Any:
        raise NotImplementedError

    def __set__(self, instance: object, value: Given_contra) -> None:
        raise NotImplementedError


Exact = Converted[Number, Fraction]
OptionalExact = Converted[Number | None, Fraction | None]
Values = Converted[str | Sequence[Any], tuple[str | None, ...]]
OptionalValues = Converted[str | Sequence[Any] | None, tuple[str | None, ...] | None]
OptionalTexts = Converted[str | Sequence[str] | None, tuple[str, ...] | None]


@attrs.frozen(kw_only=True)
class Parameter:
    """The declaration of a parameter."""

    name: str = ""
    # Its meaning, in one line.
    meaning: str
    # What it accepts, in words.
    takes: str
    # What a configuration file may state for it, as JSON Schema.
    schema: Mapping[str, object]
    # The default as it is kept; `REQUIRED` if there is none.
    default: object = REQUIRED
    # Whether it states when a person counts as being at risk.
    is_limit: bool = False
    # Whether no public file states it.
    is_internal: bool = False
    # Whether texts may show it; False if it may hold values of the table.
    is_shown: bool = True
    # Whether it names a file that can be read only together with a release.
    is_read_later: bool = False
    # Makes relative paths in a value start from a folder; None if it names no file.
    place: Callable[[object, Path], object] | None = None
    # Derives the value from the other parameters if none is given.
    otherwise: Callable[[Any], object] | None = None
    # Further keys of a configuration, which state how the file is read.
    beside: Mapping[str, Parameter] = attrs.field(factory=dict)

    @property
    def is_required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED

    @property
    def text(self) -> str:
        """The meaning, with the default if it is a plain value."""
        shown = self.default_text
        return f"{self.meaning} Default: {shown}." if shown else self.meaning

    @property
    def default_text(self) -> str:
        """The default as a configuration writes it; empty if it is not a plain value."""
        is_plain = isinstance(self.default, bool | int | str | Fraction | tuple)
        return _written(self.default) if is_plain else ""

    def to_dict(self) -> dict[str, object]:
        """Return the declaration in its JSON form."""
        return {"name": self.name, "takes": self.takes, "meaning": self.text, "schema": self.schema}


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Fraction):
        return as_text(value)
    if isinstance(value, tuple):
        return ", ".join(map(_written, value))
    return str(value)


# --- kinds of parameters --------------------------------------------------------------------------


def parameter(
    meaning: str,
    read: Read,
    *,
    takes: str,
    schema: Mapping[str, object],
    default: object = REQUIRED,
    factory: Callable[[], object] | None = None,
    is_shown: bool = True,
    **more: Any,
) -> Any:
    """Declare a parameter of a kind of its own; `more` holds further attributes of `Parameter`.

    `read` is called with the name and the value given, and returns what is kept. It is not called
    for None if None is the default. `factory` creates a default that can be changed in place.
    """
    is_optional = default is None
    known = Parameter(
        meaning=meaning,
        takes=takes,
        schema=schema,
        default=default if factory is None else factory(),
        is_shown=is_shown,
        **more,
    )

    def convert(value: Any, field: Any) -> object:
        return None if value is None and is_optional else read(field.name, value)

    return attrs.field(
        default=default if factory is None else attrs.Factory(factory),
        converter=attrs.Converter(convert, takes_field=True),
        repr=is_shown,
        metadata={KEY: known},
    )


def exact_number(
    meaning: str,
    *,
    default: Any = REQUIRED,
    above: Number | None = None,
    at_least: Number | None = None,
    below: Number | None = None,
    at_most: Number | None = None,
    hint: str | None = None,
    **more: Any,
) -> Any:
    """Declare a number, which is kept as the exact fraction that its text states."""
    given = {"above": above, "at least": at_least, "below": below, "at most": at_most}
    bounds = {word: exact(word, one) for word, one in given.items() if one is not None}
    words = " and ".join(f"{word} {as_text(bound)}" for word, bound in bounds.items())
    verb = "be"
    if at_least is not None and at_most is not None:
        words, verb = (
            f"between {as_text(bounds['at least'])} and {as_text(bounds['at most'])}",
            "lie",
        )

    def read(name: str, value: Any) -> Fraction:
        found = exact(name, value)
        if not all(_BOUNDS[word][0](found, bound) for word, bound in bounds.items()):
            raise ParameterError(f"{name} must {verb} {words}, not {as_text(found)}.", hint=hint)
        return found

    limits = {_BOUNDS[word][1]: _json_number(bound) for word, bound in bounds.items()}
    return parameter(
        meaning,
        read,
        takes=f"a number {'of ' * words.startswith('at least')}{words}".strip(),
        schema={"type": ["number", "string"], **limits},
        default=default if default in (None, REQUIRED) else exact("default", default),
        **more,
    )


_BOUNDS: Mapping[str, tuple[Callable[[Fraction, Fraction], bool], str]] = {
    "above": (operator.gt, "exclusiveMinimum"),
    "at least": (operator.ge, "minimum"),
    "below": (operator.lt, "exclusiveMaximum"),
    "at most": (operator.le, "maximum"),
}
"""How each bound is compared, and its keyword in JSON Schema."""


def _json_number(bound: Fraction) -> int | float:
    return int(bound) if bound.denominator == 1 else float(bound)


def whole_number(
    meaning: str,
    *,
    least: int,
    default: Any = REQUIRED,
    hint: str | None = None,
    **more: Any,
) -> Any:
    """Declare a whole number of at least `least`."""

    def read(name: str, value: Any) -> int:
        try:
            return whole(name, value, least=least)
        except ParameterError as error:
            raise ParameterError(error.fact, hint=hint) from None

    return parameter(
        meaning,
        read,
        takes=f"a whole number of at least {least}",
        schema={"type": "integer", "minimum": least},
        default=default,
        **more,
    )


def amount(
    meaning: str, read: Callable[[Any], object], *, default: Any = REQUIRED, **more: Any
) -> Any:
    """Declare a number of rows or cells if it is an integer, otherwise a share of them."""
    return parameter(
        meaning,
        lambda _, value: read(value),
        takes="a whole number, or a share",
        schema={"type": ["integer", "number", "string"], "exclusiveMinimum": 0},
        default=default,
        **more,
    )


def choice(
    meaning: str,
    words: Sequence[str],
    *,
    default: Any = REQUIRED,
    **more: Any,
) -> Any:
    """Declare one of several words."""
    known = tuple(words)

    def read(name: str, value: Any) -> str:
        if value not in known:
            raise ParameterError(f"{name} must be one of {', '.join(known)}, not {value!r}.")
        return known[known.index(value)]

    return parameter(
        meaning,
        read,
        takes=f"one of {', '.join(known)}",
        schema={"enum": [str(word) for word in known]},
        default=default,
        **more,
    )


def flag(meaning: str, *, default: bool | None = False, **more: Any) -> Any:
    """Declare a parameter that is true or false."""

    def read(name: str, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ParameterError(f"{name} must be true or false.")
        return value

    schema = {"type": "boolean"}
    return parameter(meaning, read, takes="true or false", schema=schema, default=default, **more)


_VALUE = {"type": ["string", "number", "boolean"]}


def values(meaning: str, *, default: Any = REQUIRED, only_texts: bool = False, **more: Any) -> Any:
    """Declare sensitive values, None being the missing value; they are never shown.

    Numbers, dates, true and false stand for their texts, unless a manifest is read.
    """

    def read(name: str, given: Any) -> tuple[str | None, ...]:
        listed: tuple[Any, ...] = () if given is None else tuple(_as_list(given))
        listed = listed if only_texts else tuple(map(_text, listed))
        if not listed and default != ():
            raise ParameterError(
                f"{name} must be a list of at least one sensitive value; got none.",
                hint="for example flu." if default is REQUIRED else "leave it out for all values.",
            )
        if not all(one is None or isinstance(one, str) for one in listed):
            raise ParameterError(
                f"{name} must list texts, or None for the missing value; got something else.",
                hint="write numbers and dates as the table writes them.",
            )
        return tuple(dict.fromkeys(listed))

    return parameter(
        meaning,
        read,
        takes="a sensitive value, or a list",
        schema={"anyOf": [_VALUE, {"type": "array", "items": _VALUE, "minItems": 1}]},
        default=default,
        is_shown=False,
        **more,
    )


def texts(
    meaning: str,
    *,
    default: Any = REQUIRED,
    among: Sequence[str] | None = None,
    may_be_empty: bool = False,
    **more: Any,
) -> Any:
    """Declare a list of names, from those in `among` if given."""
    known = None if among is None else tuple(among)
    what = "names of columns" if known is None else f"some of {', '.join(known)}"

    def read(name: str, given: Any) -> tuple[str, ...]:
        listed = tuple(_as_list(given))
        is_fine = all(isinstance(one, str) for one in listed)
        if known is not None:
            is_fine = is_fine and all(one in known for one in listed)
        if not is_fine or not (listed or may_be_empty):
            raise ParameterError(f"{name} must be a list of {what}; got something else.")
        return tuple(dict.fromkeys(listed))

    item: dict[str, object] = {"type": "string"} if known is None else {"enum": list(known)}
    schema = {"anyOf": [item, {"type": "array", "items": item}]}
    return parameter(meaning, read, takes=what, schema=schema, default=default, **more)


def from_file(
    meaning: str,
    kinds: tuple[type, ...],
    *,
    file: str,
    what: str,
    default: None = None,
    load: Callable[[Any], object] | None = None,
    hint: str | None = None,
    **more: Any,
) -> Any:
    """Declare an object that a configuration names by the path of a file. Default: None.

    `kinds` are the accepted types, `file` describes what the file holds, and `what` the accepted
    objects in the error. `load` reads the file; None if that requires a release, so that only a
    workflow can read it.
    """

    def read(name: str, given: Any) -> object:
        found = load(given) if load is not None and isinstance(given, str | Path) else given
        if not isinstance(found, kinds):
            raise ParameterError(f"{name} must be {what}, not a {type(given).__name__}.", hint=hint)
        return found

    return parameter(
        meaning,
        read,
        takes=f"the path of a file with {file}",
        schema={"type": "string"},
        default=default,
        is_shown=False,
        is_read_later=load is None,
        place=_placed,
        **more,
    )


def _placed(value: object, base: Path) -> object:
    return base / value if isinstance(value, str) else value


def _as_list(given: Any) -> Iterable[Any]:
    """Return a single value as a list of one."""
    return given if isinstance(given, list | tuple) else (given,)


def _text(value: object) -> object:
    """Write a number, a date or a truth value as a text."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, Integral | Real | dt.date) else value
