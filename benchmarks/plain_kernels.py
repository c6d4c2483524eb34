"""Run Shoal with its kernels as plain Python, as on a machine without compiled kernels.

As a script it is the command `shoal`: ``python benchmarks/plain_kernels.py demo``.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from fnmatch import fnmatch
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from types import ModuleType


class _PlainKernels(MetaPathFinder):
    """Finds the source of a kernel if Python would prefer the compiled module."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Return the source of a kernel module; other modules are left to Python."""
        del target
        name = fullname.rpartition(".")[2]
        is_kernel = fullname.startswith("shoal.") and fnmatch(name, "_*kernels")
        if path is None or not is_kernel:
            return None
        return spec_from_file_location(fullname, f"{next(iter(path))}/{name}.py")


def use_plain_kernels() -> None:
    """Let kernels that are imported from now on run as plain Python, without Cython."""
    modules: dict[str, ModuleType | None] = sys.modules  # type: ignore[assignment]
    # An entry of None makes `import cython` fail as if it were not installed.
    modules["cython"] = None
    sys.meta_path.insert(0, _PlainKernels())


if __name__ == "__main__":
    use_plain_kernels()
    from shoal.cli import main

    main()
