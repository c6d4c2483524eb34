"""What kernels use of Cython, for a machine that does not have Cython.

A ``_kernels.py`` is one source for two lives: compiled when the package is built, or run as
plain Python. The compiled one needs nothing of this module. The plain one imports it where
``import cython`` fails::

    try:
        import cython
    except ModuleNotFoundError:
        from shoal.core import plain_cython as cython

Decorators and directives do nothing here, and types only convert. Neither this module nor
Cython's own stand-in wraps an integer that outgrows its C type: a kernel that means to wrap has
to mask the result itself.
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
"""Whether the code that asks is compiled; Cython's own is true in compiled code."""


class CType:
    """A C type: a converter when called, and subscriptable as Cython's memoryviews are.

    Parameters
    ----------
    name
        The name in Cython.
    convert
        The Python type that stands for it.

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
        """Stand for an array of this type, which in plain Python is any array."""
        return self

    def __repr__(self) -> str:
        return f"cython.{self._name}"


class Qualifier:
    """A modifier of a type, such as ``const``, which plain Python leaves as it is."""

    def __getitem__(self, base: CType) -> CType:
        """Return the type itself."""
        return base


class Lock:
    """``nogil`` and ``gil``: decorators, and contexts that hold or release nothing."""

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
    """Return the value a declared variable starts with.

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

# Before `int` and `float` come to mean those of C.
_whole, _real = int, float

bint = CType("bint", bool)
char, uchar = CType("char", _whole), CType("uchar", _whole)
short, ushort = CType("short", _whole), CType("ushort", _whole)
int, uint = CType("int", _whole), CType("uint", _whole)
long, ulong = CType("long", _whole), CType("ulong", _whole)
longlong, ulonglong = CType("longlong", _whole), CType("ulonglong", _whole)
Py_ssize_t, size_t = CType("Py_ssize_t", _whole), CType("size_t", _whole)
float, double = CType("float", _real), CType("double", _real)
