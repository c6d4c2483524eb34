"""Experiments that can be run: what they are called, what they need, and how they are run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from shoal.report.reproduced import Figure

__all__ = ["Planned", "Setting"]


@dataclass(frozen=True)
class Setting:
    """What all experiments of a run share.

    Attributes
    ----------
    adult
        The Adult table as a CSV file; None where it is not at hand.
    is_quick
        Whether a sample and few repetitions are enough: to see that everything runs.
    seed
        What random draws start from.
    """

    adult: Path | None = None
    is_quick: bool = False
    seed: int = 0


@dataclass(frozen=True)
class Planned:
    """One experiment of a paper.

    Attributes
    ----------
    title
        What the paper calls it, such as ``Figure 4``, and what it is about.
    needs_adult
        Whether it runs on the Adult table alone.
    run
        Runs it: one or several figures, such as Figures 5(a) and 5(b).
    """

    title: str
    needs_adult: bool
    run: Callable[[Setting], Sequence[Figure]]
