"""The parts of Cython that kernels use, for a machine without Cython.

A ``_kernels.py`` is one source with two uses: compiled when the package is built, or run as plain
Python. The compiled kernel needs nothing of this module. The plain one imports it if ``import
cython`` fails::

    try:
        import cython
    except ModuleNotFoundError:
        from shoal.core import plain_cython as cython

Decorators and directives do nothing here, and types only convert. Neither this module nor Cython's
own stand-in wraps an integer that exceeds its C type: a kernel that relies on wrapping has to mask
the result itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

__all__ = [
    "Py_ssize_t",
    "bint",
    "boundscheck",
    "cast",
    "ccall",
    "cclass",
    "cdivision",
    "cfunc",
    "char",
    "compiled",
    "const",
    "declare",
    "double",
    "exceptval",
    "final",
    "float",
    "gil",
    "initializedcheck",
    "inline",
    "int",
    "locals",
    "long",
    "longlong",
    "nogil",
    "returns",
    "short",
    "size_t",
    "uchar",
    "uint",
    "ulong",
    "ulonglong",
    "ushort",
    "wraparound",
]

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

compiled = False
"""Whether the calling code is compiled; Cython's own constant is true in compiled code."""


class CType:
    """A C type: a converter when called, and subscriptable like Cython's memoryviews.

    Examples
    --------
    >>> longlong(2.9)
    2
    >>> longlong[::1] is longlong
    True
    """

    def __init__(self, name: str, convert: Callable[[Any], Any]) -> None:
        self._name = name
        self._convert = convert

    def __call__(self, value: Any = 0) -> Any:
        """Convert a value."""
        return self._convert(value)

    def __getitem__(self, _: object) -> Self:
        """Return the type itself for an array of it, which in plain Python is any array."""
        return self

    def __repr__(self) -> str:
        return f"cython.{self._name}"


class Qualifier:
    """A modifier of a type, such as ``const``, which has no effect in plain Python."""

    def __getitem__(self, base: CType) -> CType:
        """Return the type itself."""
        return base


class Lock:
    """``nogil`` and ``gil``: decorators, and contexts that acquire and release nothing."""

    def __call__(self, function: Decorated) -> Decorated:
        """Return the function itself."""
        return function

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""


def cast(to: Any, value: Any, **_: object) -> Any:
    """Convert a value to a type.

    Examples
    --------
    >>> cast(longlong, 2.9)
    2
    """
    return to(value) if callable(to) else value


def declare(to: Any = None, value: Any = None, **_: object) -> Any:
    """Return the initial value of a declared variable.

    Examples
    --------
    >>> declare(longlong, 7), declare(double)
    (7, 0.0)
    """
    if value is None:
        return to() if callable(to) else None
    return cast(to, value)


def _unchanged(function: Decorated) -> Decorated:
    return function


def _directive(*_: object, **__: object) -> Callable[[Decorated], Decorated]:
    return _unchanged


cfunc = ccall = cclass = final = inline = _unchanged
locals = returns = exceptval = _directive
boundscheck = wraparound = cdivision = initializedcheck = _directive
nogil = gil = Lock()
const = Qualifier()

# Saved before `int` and `float` are redefined as those of C.
_whole, _real = int, float

bint = CType("bint", bool)
char, uchar = CType("char", _whole), CType("uchar", _whole)
short, ushort = CType("short", _whole), CType("ushort", _whole)
int, uint = CType("int", _whole), CType("uint", _whole)
long, ulong = CType("long", _whole), CType("ulong", _whole)
longlong, ulonglong = CType("longlong", _whole), CType("ulonglong", _whole)
Py_ssize_t, size_t = CType("Py_ssize_t", _whole), CType("size_t", _whole)
float, double = CType("float", _real), CType("double", _real)
