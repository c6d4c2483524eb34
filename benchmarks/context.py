"""What every benchmark is given: the table, the limits, and whom to ask."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from environments import PEERS, SHOAL
from measure import Limits, Outcome, ask
from tables import MeasuredTable

__all__ = ["Context"]


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a benchmark works with.

    Parameters
    ----------
    table
        The table that is measured on.
    folder
        Where files of passing interest go.
    limits
        How often and how long something is measured.
    installed
        The peers that are there.
    is_large
        Whether sizes that take minutes are measured too.
    is_huge
        Whether sizes that take an hour are measured too.
    rows
        The sizes to publish instead of the usual ones; empty for those.
    say
        Told what is being measured.
    """

    table: MeasuredTable
    folder: Path
    limits: Limits
    installed: frozenset[str]
    is_large: bool
    is_huge: bool
    rows: tuple[int, ...]
    say: Callable[[str], None]

    def shoal(
        self, measure: str, options: Mapping[str, object], limits: Limits | None = None
    ) -> Outcome:
        """Measure Shoal."""
        self.say(f"Shoal: {measure}")
        return ask(SHOAL.python, SHOAL.worker, measure, options, limits or self.limits)

    def peer(self, name: str, measure: str, options: Mapping[str, object]) -> Outcome:
        """Measure a peer that is installed."""
        self.say(f"{name}: {measure}")
        if name not in self.installed:
            return Outcome(problem="not installed")
        peer = PEERS[name]
        return ask(peer.python, peer.worker, measure, options, self.limits)
