"""The build backend: setuptools, with kernels compiled wherever there is Python.

Every ``src/shoal/**/_*kernels.py`` is Cython in pure Python mode and becomes an extension module
beside its source, which stays in the wheel. A machine without a C compiler gets one for the time
of the build, from the wheel ``ziglang``. Where nothing compiles, the build goes on: the sources
run as plain Python.

``SHOAL_PURE_PYTHON=1`` skips compiling.
"""

from __future__ import annotations

import atexit
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from setuptools import Extension, build_meta
from setuptools.build_meta import (
    build_sdist,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

DIRECTIVES = {
    "language_level": 3,
    "annotation_typing": True,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
}
"""How kernels are translated to C: the one place that says so."""

# Results may not depend on the compiler: a multiplication and an addition fused into one
# instruction round differently from Python, and C leaves signed overflow undefined.
COMPILE_ARGUMENTS = ["/O2"] if os.name == "nt" else ["-O3", "-fwrapv", "-ffp-contract=off"]

CYTHON = "cython>=3.1,<4"
# Without a lower bound: where no wheel fits the machine, the index has an empty 0.0.0 for any,
# and the build goes on as plain Python instead of ending here.
ZIG = "ziglang<0.18"

ROOT = Path(__file__).parents[1]
SOURCES = ROOT / "src"


# --- the hooks --------------------------------------------------------------------------------


def get_requires_for_build_wheel(config_settings: Any = None) -> list[str]:
    """Return what setuptools needs, Cython, and a C compiler where there is none."""
    return [*build_meta.get_requires_for_build_wheel(config_settings), *kernel_requirements()]


def get_requires_for_build_editable(config_settings: Any = None) -> list[str]:
    """Return what setuptools needs, Cython, and a C compiler where there is none."""
    return [*build_meta.get_requires_for_build_editable(config_settings), *kernel_requirements()]


def build_wheel(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build a wheel with compiled kernels."""
    with compiler_environment():
        return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None
) -> str:
    """Build an editable wheel, and compile the kernels beside their sources."""
    for source in kernel_sources():
        # Left over from an earlier build it would hide a source that does not compile now.
        source.with_suffix(sysconfig.get_config_var("EXT_SUFFIX")).unlink(missing_ok=True)
    with compiler_environment():
        return build_meta.build_editable(wheel_directory, config_settings, metadata_directory)


# --- the kernels ------------------------------------------------------------------------------


def is_compiling() -> bool:
    """Whether this build compiles anything."""
    return os.environ.get("SHOAL_PURE_PYTHON", "0") in ("", "0") and bool(kernel_sources())


def kernel_sources() -> list[Path]:
    """Return the sources of all kernels."""
    return sorted(SOURCES.rglob("_*kernels.py"))


def kernel_extensions() -> list[Extension]:
    """Return an extension module for each kernel; none if nothing is to be compiled."""
    if not is_compiling():
        return []
    return [
        Extension(
            ".".join(source.relative_to(SOURCES).with_suffix("").parts),
            [source.relative_to(ROOT).as_posix()],
            extra_compile_args=COMPILE_ARGUMENTS,
            libraries=[] if os.name == "nt" else ["m"],
        )
        for source in kernel_sources()
    ]


def translate(extension: Extension, directory: str | Path) -> None:
    """Translate the source of an extension to C, in a directory."""
    from Cython.Build import cythonize

    (translated,) = cythonize(
        [extension], build_dir=str(directory), compiler_directives=DIRECTIVES, quiet=True
    )
    extension.sources = translated.sources


class Build(build):
    """Builds in a temporary folder, so that nothing of an earlier build gets into a wheel."""

    def initialize_options(self) -> None:
        """Set the folder."""
        super().initialize_options()
        self.build_base = temporary_folder()


class BuildKernels(build_ext):
    """Compiles what can be compiled, and leaves the rest as plain Python."""

    def run(self) -> None:
        """Build the extensions; without any if the compiler cannot even be set up."""
        try:
            super().run()
        except Exception as error:
            leave_plain("all kernels", error)
            self.extensions = []

    def build_extensions(self) -> None:
        """Translate one after the other, since Cython has global state; compile side by side."""
        self.extensions = self._keep(self._translate, self.extensions, n_workers=1)
        n_workers = os.cpu_count() or 1
        self.extensions = self._keep(self.build_extension, self.extensions, n_workers=n_workers)

    def _translate(self, extension: Extension) -> None:
        translate(extension, self.build_temp)

    @staticmethod
    def _keep(
        step: Callable[[Extension], None], extensions: Sequence[Extension], *, n_workers: int
    ) -> list[Extension]:
        def succeeds(extension: Extension) -> bool:
            try:
                step(extension)
            except Exception as error:
                leave_plain(extension.name, error)
                return False
            return True

        with ThreadPoolExecutor(n_workers) as pool:
            kept = list(pool.map(succeeds, extensions))
        return [extension for extension, is_kept in zip(extensions, kept, strict=True) if is_kept]


def temporary_folder() -> str:
    """Make a private folder that is removed when the build ends."""
    folder = tempfile.mkdtemp(prefix="shoal-build-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def leave_plain(what: str, error: Exception) -> None:
    """Say that kernels could not be compiled."""
    reason = f"{type(error).__name__}: {error}"
    message = f"shoal: {what} could not be compiled and will run as plain Python, slowly.\n{reason}"
    print(message, file=sys.stderr, flush=True)


# --- the C compiler ---------------------------------------------------------------------------


def kernel_requirements() -> list[str]:
    """Return what this machine needs in order to compile."""
    if not is_compiling():
        return []
    return [CYTHON] if is_setuptools_enough() or not has_headers() else [CYTHON, ZIG]


def is_setuptools_enough() -> bool:
    """Whether a compiler is there, or setuptools knows better how to look for one."""
    return os.name == "nt" or find_compiler() is not None


def has_headers() -> bool:
    """Whether Python's own C headers are installed; without them no compiler is of use."""
    return any(
        Path(sysconfig.get_path(name), "Python.h").exists() for name in ("include", "platinclude")
    )


def find_compiler() -> str | None:
    """Return the command of the first C compiler that works."""
    if given := os.environ.get("CC"):
        return given if is_working(given) else None
    usual = [sysconfig.get_config_var("CC"), "cc", "gcc", "clang"]
    return next((command for command in usual if command and is_working(command)), None)


def is_working(command: str) -> bool:
    """Whether a C compiler can make a shared library that uses the C library."""
    words = shlex.split(command)
    if shutil.which(words[0]) is None:
        return False
    with tempfile.TemporaryDirectory(prefix="shoal-build-") as folder:
        probe = Path(folder, "probe.c")
        probe.write_text("#include <math.h>\ndouble probe(double x) { return log(x); }\n")
        arguments = ["-shared", "-fPIC", str(probe), "-o", str(probe.with_suffix(".so"))]
        return (
            subprocess.run([*words, *arguments], capture_output=True, check=False).returncode == 0
        )


@contextmanager
def compiler_environment() -> Iterator[None]:
    """Let setuptools use the compiler that was found, or that of ``ziglang``."""
    changes = compiler_variables()
    before = dict(os.environ)
    os.environ.update(changes)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def compiler_variables() -> dict[str, str]:
    """Return the environment variables that name the compiler; none if setuptools finds it."""
    if os.name == "nt" or not is_compiling() or not has_headers():
        return {}
    found = find_compiler()
    if found is not None:
        is_usual = found in (os.environ.get("CC"), sysconfig.get_config_var("CC"))
        return {} if is_usual else linked_by(found)
    if find_spec("ziglang") is None:
        return {}
    cache = temporary_folder()
    return {
        # Zig would compile for the very processor it runs on, and turn what C leaves undefined
        # into a trap; other compilers do neither.
        **linked_by(
            f"{shlex.quote(sys.executable)} -m ziglang cc -mcpu=baseline -fno-sanitize=undefined"
        ),
        # Python's own flags may be for another compiler.
        "CFLAGS": "-O3 -DNDEBUG -fPIC",
        # Zig insists on a cache, and a build may run where there is no home directory.
        "ZIG_GLOBAL_CACHE_DIR": os.environ.get("ZIG_GLOBAL_CACHE_DIR", cache),
        "ZIG_LOCAL_CACHE_DIR": os.environ.get("ZIG_LOCAL_CACHE_DIR", cache),
    }


def linked_by(compiler: str) -> dict[str, str]:
    """Return the variables for a compiler that also links."""
    shared = "-bundle -undefined dynamic_lookup" if sys.platform == "darwin" else "-shared"
    return {"CC": compiler, "LDSHARED": f"{compiler} {shared}"}
