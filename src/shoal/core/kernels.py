"""Which kernels the package has, and which of them run compiled.

Every ``_kernels.py`` is compiled when the package is built; where that was not possible the
same file runs as plain Python, with the same results and far slower. ``shoal --version`` says
which it is.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

__all__ = ["describe", "find_kernels", "is_compiled", "load_plain", "source_of"]

_ROOT = Path(__file__).parents[1]


def find_kernels() -> tuple[str, ...]:
    """Return the full names of all kernel modules of the package, sorted."""
    sources = _ROOT.rglob("_kernels.py")
    return tuple(
        sorted(
            ".".join((_ROOT.name, *source.relative_to(_ROOT).with_suffix("").parts))
            for source in sources
        )
    )


def source_of(kernels: str) -> Path:
    """Return the Python source of a kernel module, whether or not it runs compiled."""
    return _ROOT.joinpath(*kernels.split(".")[1:]).with_suffix(".py")


def is_compiled(kernels: str) -> bool:
    """Whether a kernel module runs compiled; imports it, since only that is proof."""
    return isinstance(import_module(kernels).__loader__, ExtensionFileLoader)


def describe() -> str:
    """Say in a few words whether the kernels run compiled.

    Examples
    --------
    >>> describe().startswith("kernels: ")
    True
    """
    kernels = find_kernels()
    plain = [name for name in kernels if not is_compiled(name)]
    if not plain:
        return "kernels: compiled"
    if len(plain) == len(kernels):
        return "kernels: plain Python (slow)"
    return f"kernels: compiled, except {', '.join(plain)} (slow)"


def load_plain(kernels: str) -> ModuleType:
    """Load a kernel module from its source, as on a machine without compiler and Cython.

    The module is a second copy: it is not put into ``sys.modules``, and the package goes on
    using the one it has. Tests compare the two.
    """
    spec = spec_from_file_location(f"{kernels}_plain", source_of(kernels))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    cython = modules.get("cython")
    # An entry of None makes `import cython` fail as if it were not installed.
    modules["cython"] = None
    try:
        spec.loader.exec_module(module)
    finally:
        if cython is None:
            del modules["cython"]
        else:
            modules["cython"] = cython
    return module
