"""Names that are imported when first used, and the registry that follows from them.

A package such as ``shoal.methods`` lists its classes in ``__all__`` and nothing more: each class
lives in the module of its own name in snake case (``RuleHiding`` in ``rule_hiding``). From the
names alone follow the lazy imports, the choices of the command line and the tables of the
documentation, so that ``shoal --help`` imports neither numpy nor an engine.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from shoal.core.errors import ParameterError

__all__ = ["find", "lazy_classes", "lazy_exports", "names", "snake_case"]

GetAttribute = Callable[[str], Any]
ListNames = Callable[[], list[str]]

_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


def snake_case(name: str) -> str:
    """Return the name of the module that holds a class.

    Examples
    --------
    >>> [snake_case(name) for name in ("Anatomy", "RuleHiding", "TCloseness", "MASK")]
    ['anatomy', 'rule_hiding', 't_closeness', 'mask']
    """
    return _WORD_START.sub("_", name).lower()


def lazy_exports(package: str, modules: Mapping[str, str]) -> tuple[GetAttribute, ListNames]:
    """Make the ``__getattr__`` and ``__dir__`` of a package that imports on first use.

    Parameters
    ----------
    package
        The package's ``__name__``.
    modules
        For each exported name the module that holds it. A name whose module is
        ``package.name`` is that submodule itself.

    Returns
    -------
    The two functions, to be assigned as ``__getattr__, __dir__ = lazy_exports(...)``.
    """

    def get_attribute(name: str) -> Any:
        try:
            module = modules[name]
        except KeyError:
            message = f"module {package!r} has no attribute {name!r}"
            raise AttributeError(message, name=name) from None
        found = import_module(module)
        value = found if module == f"{package}.{name}" else getattr(found, name)
        # Kept, so that the next use costs what any attribute costs.
        setattr(sys.modules[package], name, value)
        return value

    def list_names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *modules})

    return get_attribute, list_names


def lazy_classes(package: str, classes: Iterable[str]) -> tuple[GetAttribute, ListNames]:
    """Make the ``__getattr__`` and ``__dir__`` of a package with one module for each class.

    Parameters
    ----------
    package
        The package's ``__name__``.
    classes
        Its ``__all__``.
    """
    return lazy_exports(package, {name: f"{package}.{snake_case(name)}" for name in classes})


def names(package: str) -> tuple[str, ...]:
    """Return the snake case names of the classes of a package, without importing them.

    Examples
    --------
    >>> "anatomy" in names("shoal.methods")
    True
    """
    return tuple(snake_case(name) for name in import_module(package).__all__)


def find(package: str, name: str) -> Any:
    """Return the class of a package by its name in snake case.

    Raises
    ------
    ParameterError
        If the package has no class of that name.
    """
    exported = import_module(package)
    for candidate in exported.__all__:
        if snake_case(candidate) == name:
            return getattr(exported, candidate)
    kind = package.rpartition(".")[2]
    raise ParameterError(
        f"{name!r} is not one of the {kind}.",
        hint=f"The {kind} are {', '.join(sorted(names(package))) or 'none yet'}.",
    )
