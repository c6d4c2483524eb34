"""Classes whose fields are parameters: methods, attacks, measures and guarantees.

Such a class is frozen and takes its parameters by name; `shoal.core.parameters` declares them.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, TypeVar, cast, dataclass_transform

import attrs

from shoal.core.exact import as_text
from shoal.core.parameters import (
    KEY,
    Parameter,
    amount,
    choice,
    exact_number,
    flag,
    from_file,
    parameter,
    texts,
    values,
    whole_number,
)

Class = TypeVar("Class")

_WIDTH = 92


@dataclass_transform(
    kw_only_default=True,
    frozen_default=True,
    field_specifiers=(
        parameter,
        exact_number,
        whole_number,
        amount,
        choice,
        flag,
        values,
        texts,
        from_file,
    ),
)
def declared(plain: type[Class]) -> type[Class]:
    """Make a frozen, keyword-only class of parameters, and list them in its docstring."""
    made: Any = attrs.define(plain, frozen=True, kw_only=True, slots=False)
    known = {one.name: attrs.evolve(one.metadata[KEY], name=one.name) for one in attrs.fields(made)}
    made.__parameters__ = known
    _document(made)
    return cast(type[Class], made)


def _document(made: type) -> None:
    """Insert the section *Parameters* into a docstring, before its first section."""
    known = parameters_of(made)
    if made.__doc__ is None or not known:
        return
    lines = ["Parameters", "----------"]
    for name, one in known.items():
        lines += [
            name,
            *textwrap.wrap(one.text, _WIDTH, initial_indent="    ", subsequent_indent="    "),
        ]
    section = textwrap.indent("\n".join(lines), "    ")
    for heading in ("Notes", "References", "Examples"):
        first, found, rest = made.__doc__.partition(f"\n    {heading}\n    ---")
        if found:
            made.__doc__ = f"{first}\n{section}\n{found}{rest}"
            return
    made.__doc__ = f"{made.__doc__.rstrip()}\n\n{section}\n    "


class Declared:
    """Base class of classes whose fields are parameters."""

    def __attrs_post_init__(self) -> None:
        for name, one in parameters_of(type(self)).items():
            if one.otherwise is not None and getattr(self, name) is None:
                object.__setattr__(self, name, one.otherwise(self))
        self.check_parameters()

    def check_parameters(self) -> None:
        """Refuse parameters that are valid one by one but do not fit together."""


def stated(value: object) -> object:
    """Return the value of a parameter as a manifest states it."""
    if isinstance(value, Fraction):
        return as_text(value)
    return list(value) if isinstance(value, tuple) else value


def parameters_of(declared_class: Any) -> Mapping[str, Parameter]:
    """Return the parameters of a class by name, in the order of their declaration.

    Examples
    --------
    >>> from shoal.core.guarantees import KAnonymity
    >>> parameters_of(KAnonymity)["k"].takes
    'a whole number of at least 1'
    """
    known: Mapping[str, Parameter] = declared_class.__parameters__
    return known


def changed(one: Class, **changes: Any) -> Class:
    """Return a method, attack, measure or guarantee with some parameters changed.

    Examples
    --------
    >>> from shoal.core.guarantees import KAnonymity
    >>> changed(KAnonymity(k=5), k=6)
    KAnonymity(k=6)
    """
    made: Class = attrs.evolve(one, **changes)  # type: ignore[misc]
    return made
