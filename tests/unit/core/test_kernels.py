from __future__ import annotations

import importlib
import sys

import pytest

from shoal.core import kernels, plain_cython

ALL = kernels.find_kernels()


def public_functions(module):
    return {name for name, value in vars(module).items() if callable(value) and name[0] != "_"}


def test_every_kernel_has_a_source():
    assert all(kernels.source_of(name).is_file() for name in ALL)


def test_kernels_are_all_compiled_or_all_plain():
    """A build that compiles some and not others has a kernel that does not compile."""
    assert len({kernels.is_compiled(name) for name in ALL}) <= 1, kernels.describe()


@pytest.mark.parametrize("name", ALL)
def test_a_compiled_kernel_is_not_older_than_its_source(name):
    module = importlib.import_module(name)
    source = kernels.source_of(name)
    built = type(source)(module.__file__)
    assert built.stat().st_mtime >= source.stat().st_mtime, "build again: pip install -e ."


@pytest.mark.parametrize("name", ALL)
def test_a_kernel_runs_as_plain_python_without_cython(name):
    plain = kernels.load_plain(name)
    assert plain.cython is plain_cython
    assert plain.__file__ == str(kernels.source_of(name))
    # C functions are not visible in the compiled module.
    assert public_functions(importlib.import_module(name)) <= public_functions(plain)


@pytest.mark.parametrize("name", ALL)
def test_loading_a_plain_kernel_leaves_no_trace(name):
    before = importlib.import_module(name)
    had_cython = "cython" in sys.modules
    kernels.load_plain(name)
    assert importlib.import_module(name) is before
    assert ("cython" in sys.modules) == had_cython


def test_describe_tells_compiled_from_plain(monkeypatch):
    monkeypatch.setattr(kernels, "find_kernels", lambda: ("one", "two"))
    monkeypatch.setattr(kernels, "is_compiled", lambda _: True)
    assert kernels.describe() == "kernels: compiled"
    monkeypatch.setattr(kernels, "is_compiled", lambda _: False)
    assert kernels.describe() == "kernels: plain Python (slow)"
    monkeypatch.setattr(kernels, "is_compiled", lambda name: name == "one")
    assert kernels.describe() == "kernels: compiled, except two (slow)"


def test_the_stand_in_has_what_cython_has():
    cython = pytest.importorskip("cython")
    assert [name for name in plain_cython.__all__ if not hasattr(cython, name)] == []


def test_decorators_of_the_stand_in_change_nothing():
    def function(value):
        return value

    cython = plain_cython
    for decorate in (cython.cfunc, cython.ccall, cython.inline, cython.cclass):
        assert decorate(function) is function
    assert cython.exceptval(check=False)(function) is function


def test_types_of_the_stand_in_convert():
    cython = plain_cython
    assert cython.cast(cython.longlong, 2.9) == 2
    assert cython.double() == 0.0
    assert cython.bint(1) is True
    assert cython.const[cython.int][:, ::1] is cython.int
