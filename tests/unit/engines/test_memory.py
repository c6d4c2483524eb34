"""How much of a machine a run takes for itself."""

from __future__ import annotations

import pytest

from shoal.core.errors import ParameterError
from shoal.engines import memory


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Pretend to be on another machine."""

    def pretend(*, available="", allowed="max", used="0", cached="0"):
        (tmp_path / "memory.stat").write_text(f"anon 5\ninactive_file {cached}\n")
        (tmp_path / "meminfo").write_text(f"MemTotal: 9 kB\nMemAvailable: {available} kB\n")
        (tmp_path / "memory.max").write_text(allowed + "\n")
        (tmp_path / "memory.current").write_text(used + "\n")
        monkeypatch.setattr(memory, "_MEMINFO", tmp_path / "meminfo")
        monkeypatch.setattr(memory, "_GROUP", tmp_path)

    return pretend


def test_what_is_free_is_what_the_machine_says(machine):
    machine(available=8 * 2**20)
    assert memory.free_memory() == 8 * 2**30


def test_a_container_has_what_it_is_allowed(machine):
    machine(available=8 * 2**20, allowed=str(3 * 2**30), used=str(2**30))
    assert memory.free_memory() == 2 * 2**30
    machine(available=8 * 2**20, allowed=str(2**30), used=str(2**30), cached=str(2**29))
    assert memory.free_memory() == 2**29
    machine(available=2**20, allowed=str(3 * 2**30))
    assert memory.free_memory() == 2**30


def test_an_engine_has_half_of_what_is_given_or_a_quarter_of_what_is_free(machine):
    machine(available=8 * 2**20)
    assert memory.engine_memory("4GiB") == 2 * 2**30
    assert memory.engine_memory(None) == 2 * 2**30


def test_an_engine_has_enough_to_start_with(machine):
    machine(available=1)
    assert memory.engine_memory("1MB") == memory.engine_memory(None) == 256 * 2**20


@pytest.mark.parametrize("amount", ["", "lots", "4 parsecs", "-1GB", "0"])
def test_an_amount_must_be_one(amount):
    with pytest.raises(ParameterError, match="memory"):
        memory.engine_memory(amount)
