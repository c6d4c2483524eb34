"""Names that are imported on first use, and the registry that follows from them.

A catalogue such as ``shoal.methods`` maps each class to its module. The lazy imports, the choices
of the command line and the tables of the documentation follow from the names alone, so that ``shoal
--help`` imports neither numpy nor an engine. The name of a class in snake case (``RuleHiding``:
``rule_hiding``) is its name in configurations and on the command line.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from shoal.core.errors import ParameterError, suggestion

CATALOGUES = ("shoal.methods", "shoal.attacks", "shoal.measures")
"""The packages that export classes with parameters."""

GetAttribute = Callable[[str], Any]
ListNames = Callable[[], list[str]]

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(name: str) -> str:
    """Return the name of a class as configurations and the command line write it.

    Examples
    --------
    >>> [snake_case(name) for name in ("Anatomy", "RuleHiding", "TCloseness", "MASK")]
    ['anatomy', 'rule_hiding', 't_closeness', 'mask']
    """
    return _WORD_START.sub("_", name).lower()


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[GetAttribute, ListNames]:
    """Return the ``__getattr__`` and ``__dir__`` of a package that imports on first use.

    `modules` maps each exported name to the module that defines it. A name whose module is
    ``package.name`` is that submodule itself.
    """

    def get_attribute(name: str) -> Any:
        try:
            module = modules[name]
        except KeyError:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name) from None
        found = import_module(module)
        value = found if module == f"{package}.{name}" else getattr(found, name)
        # Stored, so that the next use is a plain attribute access.
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get_attribute, list_names


def names(package: str) -> tuple[str, ...]:
    """Return the snake case names of the classes of a package, without importing them.

    Examples
    --------
    >>> "anatomy" in names("shoal.methods")
    True
    """
    return tuple(snake_case(name) for name in import_module(package).__all__)


def find(package: str, name: str) -> Any:
    """Return the class with a name in snake case; raise a ParameterError if there is none."""
    exported = import_module(package)
    for candidate in exported.__all__:
        if snake_case(candidate) == name:
            return getattr(exported, candidate)
    kind = package.rpartition(".")[2]
    raise ParameterError(
        f"{name!r} is not one of the {kind}.",
        hint=suggestion(name, sorted(names(package)), f"the {kind} are"),
    )
