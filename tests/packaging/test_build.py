"""The package is built as it is installed: in a copy, without downloading anything."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from shoal.core import kernels

PROJECT = Path(__file__).parents[2]
BACKEND = PROJECT / "build_backend" / "shoal_build.py"

TRIAL = """
from __future__ import annotations

try:
    import cython
except ModuleNotFoundError:
    from shoal.core import plain_cython as cython


def total(counts: cython.const[cython.longlong][::1]) -> cython.longlong:
    i: cython.Py_ssize_t
    result: cython.longlong = 0
    for i in range(counts.shape[0]):
        result += counts[i]
    return result
"""


@pytest.fixture(scope="module")
def backend():
    spec = importlib.util.spec_from_file_location("shoal_build", BACKEND)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path):
    """Copy what a build needs, without what earlier builds left behind."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("pyproject.toml", "setup.py", "MANIFEST.in", "LICENSE"):
        shutil.copy(PROJECT / name, folder)
    left_behind = shutil.ignore_patterns("__pycache__", "*.so", "*.pyd", "*.egg-info")
    for name in ("src", "build_backend"):
        shutil.copytree(PROJECT / name, folder / name, ignore=left_behind)
    for kernel in (folder / "src").rglob("_*kernels.py"):
        kernel.unlink()
    folder.joinpath("README.md").write_text("A copy.")
    folder.joinpath("src/shoal/utility/_kernels.py").write_text(TRIAL)
    return folder


def run_build(checkout, *arguments, **variables):
    """Build into `dist` and return the only file in it, and what the build said."""
    output = checkout / "dist"
    shutil.rmtree(output, ignore_errors=True)
    command = [sys.executable, "-m", "build", "--no-isolation", *arguments, "--outdir", str(output)]
    environment = {**os.environ, **variables}
    run = subprocess.run(
        command, cwd=checkout, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = output.iterdir()
    return built, run.stdout + run.stderr


def files_in(wheel):
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_build_compiles_every_kernel(backend):
    assert backend.kernel_sources() == [kernels.source_of(name) for name in kernels.find_kernels()]


@pytest.mark.slow
def test_every_kernel_translates_to_c(backend, tmp_path, monkeypatch):
    monkeypatch.chdir(PROJECT)
    monkeypatch.delenv("SHOAL_PURE_PYTHON", raising=False)
    for extension in backend.kernel_extensions():
        backend.translate(extension, tmp_path)
        assert extension.sources[0].startswith(str(tmp_path))


def test_a_machine_with_a_compiler_needs_cython_only(backend, monkeypatch):
    monkeypatch.setattr(backend, "is_compiling", lambda: True)
    monkeypatch.setattr(backend, "find_compiler", lambda: "cc")
    assert backend.kernel_requirements() == [backend.CYTHON]


@pytest.mark.skipif(os.name == "nt", reason="on Windows setuptools looks for the compiler")
def test_a_machine_without_a_compiler_needs_one(backend, monkeypatch):
    monkeypatch.setattr(backend, "is_compiling", lambda: True)
    monkeypatch.setattr(backend, "has_headers", lambda: True)
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    assert backend.kernel_requirements() == [backend.CYTHON, backend.ZIG]


def test_a_machine_without_headers_needs_no_compiler(backend, monkeypatch):
    monkeypatch.setattr(backend, "is_compiling", lambda: True)
    monkeypatch.setattr(backend, "has_headers", lambda: False)
    monkeypatch.setattr(backend, "find_compiler", lambda: None)
    assert backend.kernel_requirements() == [backend.CYTHON]


def test_plain_python_needs_nothing(backend, monkeypatch):
    monkeypatch.setenv("SHOAL_PURE_PYTHON", "1")
    assert backend.kernel_requirements() == []
    assert backend.kernel_extensions() == []


@pytest.mark.skipif(os.name == "nt", reason="on Windows setuptools looks for the compiler")
def test_the_compiler_of_ziglang_is_used_where_there_is_no_other(backend, monkeypatch):
    monkeypatch.setattr(backend, "is_compiling", lambda: True)
    monkeypatch.setattr(backend, "has_headers", lambda: True)
    monkeypatch.setattr(backend, "find_compiler", lambda: None)
    monkeypatch.setattr(backend, "find_spec", lambda _: object())
    before = dict(os.environ)
    with backend.compiler_environment():
        assert "-m ziglang cc -mcpu=baseline" in os.environ["CC"]
        assert os.environ["LDSHARED"].startswith(os.environ["CC"])
    assert dict(os.environ) == before


def test_a_compiler_that_fails_is_no_compiler(backend, monkeypatch):
    monkeypatch.setenv("CC", f"{sys.executable} -c 1/0")
    assert backend.find_compiler() is None


@pytest.mark.slow
def test_a_wheel_holds_sources_and_data(checkout, backend):
    wheel, said = run_build(checkout, "--wheel")
    files = files_in(wheel)
    expected = {"shoal/py.typed", "shoal/utility/_kernels.py", "shoal/core/plain_cython.py"}
    data = [*(PROJECT / "src/shoal/datasets/hierarchies").glob("*.csv")]
    expected |= {path.relative_to(PROJECT / "src").as_posix() for path in data}
    assert expected <= files
    assert not any(name.endswith(".c") for name in files)
    is_compiled = any(name.startswith("shoal/utility/_kernels.c") for name in files)
    assert is_compiled or "plain Python" in said
    if backend.find_compiler() and backend.has_headers():
        assert is_compiled
    assert not list((checkout / "src").rglob("*.c"))
    assert not (checkout / "build").exists()


@pytest.mark.slow
def test_a_wheel_without_compiling_fits_any_machine(checkout):
    wheel, _ = run_build(checkout, "--wheel", SHOAL_PURE_PYTHON="1")
    assert wheel.name.endswith("-py3-none-any.whl")


@pytest.mark.slow
def test_a_kernel_that_does_not_compile_stays_plain(checkout):
    bad = checkout / "src/shoal/report/_kernels.py"
    bad.write_text("import cython\n\n\ndef f():\n    count: cython.int = 'text'\n")
    wheel, said = run_build(checkout, "--wheel")
    assert "shoal.report._kernels could not be compiled" in said
    assert "shoal/report/_kernels.py" in files_in(wheel)
    assert not any(name.startswith("shoal/report/_kernels.c") for name in files_in(wheel))


@pytest.mark.slow
def test_a_source_distribution_can_be_built_again(checkout):
    sdist, _ = run_build(checkout, "--sdist")
    with tarfile.open(sdist) as archive:
        archive.extractall(checkout / "unpacked", filter="data")
    (again,) = (checkout / "unpacked").iterdir()
    wheel, _ = run_build(again, "--wheel")
    assert "shoal/utility/_kernels.py" in files_in(wheel)
