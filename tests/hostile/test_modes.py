"""Internal files are their owner's alone; public ones follow the umask."""

from __future__ import annotations

import os
import stat

import pytest

import shoal
from shoal.injector.known import Knowledge

pytestmark = pytest.mark.skipif(os.name != "posix", reason="Windows has no such modes")


@pytest.fixture(params=[0o000, 0o002, 0o022, 0o027, 0o077], ids=oct)
def umask(request):
    before = os.umask(request.param)
    yield request.param
    os.umask(before)


def mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_modes_of_a_release(umask, tmp_path, ending):
    columns = {
        "age": [20 + n % 9 for n in range(60)],
        "work": [["Private", "State"][n % 2] for n in range(60)],
        "s": [f"v{n % 5}" for n in range(60)],
    }
    work = shoal.Hierarchy.from_rows([["Private", "All", "*"], ["State", "All", "*"]])
    schema = shoal.Schema(quasi=["age", "work"], sensitive="s", hierarchies={"work": work})
    release = shoal.anonymize(shoal.read(columns, schema), shoal.Mondrian(k=3))
    folder = release.write(tmp_path / "release", ending)
    internal = tmp_path / "release.internal"
    # Findings of a later attack are written there too.
    shoal.attack(shoal.open_release(folder))
    assert mode(internal) == 0o700
    assert {path.name: oct(mode(path)) for path in internal.rglob("*")} == {
        path.name: oct(0o600) for path in internal.rglob("*")
    }
    assert (internal / "risk.parquet").exists()
    assert mode(folder) == 0o777 & ~umask
    inner = list(folder.rglob("*"))
    assert any(path.is_dir() for path in inner)
    expected = {path.name: oct((0o777 if path.is_dir() else 0o666) & ~umask) for path in inner}
    assert {path.name: oct(mode(path)) for path in inner} == expected


def test_mode_of_knowledge(umask, tmp_path):
    Knowledge("disease").to_file(tmp_path / "knowledge.toml")
    assert mode(tmp_path / "knowledge.toml") == 0o600
