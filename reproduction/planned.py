"""The experiments that can be run: their titles, their needs, and the functions that run them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from reproduction.reproduced import Figure


@dataclass(frozen=True)
class Setting:
    """The setting shared by all experiments of a run."""

    adult: Path | None = None  # The Adult table as a CSV file; None if it is not available.
    # Whether to run only samples and few repetitions, to see that everything works.
    is_quick: bool = False
    seed: int = 0  # The seed of random draws.


@dataclass(frozen=True)
class Planned:
    """One experiment of a paper."""

    title: str  # The paper's name for it, such as ``Figure 4``, and its subject.
    needs_adult: bool  # Whether it needs the Adult table.
    # Returns one or several figures, such as Figures 5(a) and 5(b).
    run: Callable[[Setting], Sequence[Figure]]
