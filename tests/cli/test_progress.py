"""The progress bar of a terminal, and its silence elsewhere."""

from __future__ import annotations

import pytest

from shoal.cli.output import Output
from shoal.core import progress as shares
from shoal.core.progress import following, tell_share


@pytest.fixture
def work(monkeypatch):
    """Return work of two steps, of which the second says which share of it is done."""
    monkeypatch.setattr(shares, "_MOMENT", 0.0)

    def run(output):
        with output.progress() as progress:
            progress("count")
            progress("attack")
            for _ in following("abcd"):
                tell_share(0.5)

    return run


def test_a_terminal_shows_the_step_and_its_share(work, monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    work(Output())
    shown = capsys.readouterr()
    assert "attack" in shown.err
    assert "88%" in shown.err
    assert shown.out == ""


def test_a_pipe_shows_nothing(work, monkeypatch, capsys):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    work(Output())
    assert capsys.readouterr() == ("", "")
