"""The parts of Cython that kernels use, for a machine without Cython.

A ``_kernels.py`` is one source with two uses: compiled when the package is built, or run as plain
Python. The compiled kernel needs nothing of this module. The plain one imports it if ``import
cython`` fails::

    try:
        import cython
    except ModuleNotFoundError:
        from shoal.core import plain_cython as cython

Decorators do nothing here, and types only convert. Neither this module nor Cython's
own stand-in wraps an integer that exceeds its C type: a kernel that relies on wrapping has to mask
the result itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar

__all__ = [
    "Py_ssize_t",
    "bint",
    "cast",
    "ccall",
    "cclass",
    "cfunc",
    "compiled",
    "const",
    "double",
    "exceptval",
    "gil",
    "inline",
    "int",
    "longlong",
    "nogil",
    "uchar",
    "ulonglong",
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


def cast(to: Any, value: Any, **_: object) -> Any:
    """Convert a value to a type.

    Examples
    --------
    >>> cast(longlong, 2.9)
    2
    """
    return to(value) if callable(to) else value


def _unchanged(function: Decorated) -> Decorated:
    return function


def exceptval(*_: object, **__: object) -> Callable[[Decorated], Decorated]:
    """Return a decorator that does nothing: plain Python raises by itself."""
    return _unchanged


class WithoutLock:
    """The mark of code that runs without Python's lock, which plain Python always holds."""

    def __enter__(self) -> None:
        """Do nothing."""

    def __exit__(self, *_: object) -> None:
        """Do nothing."""

    def __call__(self, function: Decorated) -> Decorated:
        """Return a function as it is."""
        return function


nogil = gil = WithoutLock()
cfunc = ccall = cclass = inline = _unchanged
const = Qualifier()

# Saved before `int` is redefined as that of C.
_whole = int

bint = CType("bint", bool)
uchar = CType("uchar", _whole)
int = CType("int", _whole)
longlong, ulonglong = CType("longlong", _whole), CType("ulonglong", _whole)
Py_ssize_t = CType("Py_ssize_t", _whole)
double = CType("double", float)
