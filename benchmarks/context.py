"""The context of every benchmark: the table, the limits, and the peers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from environments import PEERS, SHOAL
from measure import Limits, Outcome, ask
from tables import MeasuredTable


@dataclass(frozen=True, kw_only=True)
class Context:
    """The context of a benchmark."""

    table: MeasuredTable
    folder: Path  # For temporary files.
    limits: Limits
    installed: frozenset[str]  # The peers that are installed.
    is_large: bool  # Whether to measure sizes that take minutes, too.
    is_huge: bool  # Whether to measure sizes that take an hour, too.
    # The sizes to publish instead of the usual ones; empty for the usual ones.
    rows: tuple[int, ...]
    say: Callable[[str], None]  # Called with a description of each measurement.

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
