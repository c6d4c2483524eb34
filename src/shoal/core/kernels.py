"""The kernels of the package, and whether they run compiled.

Every ``_kernels.py`` (``_..._kernels.py`` in a room with several) is compiled when the package is
built; if that was not possible, the same file runs as plain Python, with the same results but far
more slowly. ``shoal --version`` reports which of both is the case.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

_ROOT = Path(__file__).parents[1]


def find_kernels() -> tuple[str, ...]:
    """Return the full names of all kernel modules of the package, sorted."""
    sources = _ROOT.rglob("_*kernels.py")
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
    """Return whether a kernel module runs compiled; it is imported, since only that is proof."""
    return isinstance(import_module(kernels).__loader__, ExtensionFileLoader)


def describe() -> str:
    """Return in a few words whether the kernels run compiled.

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
    """Load a kernel module from its source, as on a machine without a compiler and Cython.

    The module is a second copy that is not put into ``sys.modules``; the package continues to use
    its own. Tests compare the two.
    """
    spec = spec_from_file_location(f"{kernels}_plain", source_of(kernels))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    cython = modules.get("cython")
    # With an entry of None, `import cython` fails as if it were not installed.
    modules["cython"] = None
    try:
        spec.loader.exec_module(module)
    finally:
        if cython is None:
            del modules["cython"]
        else:
            modules["cython"] = cython
    return module
