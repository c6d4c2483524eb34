"""The result of running an experiment again: a figure, and the paper's numbers next to ours.

A paper's figures are pictures, so only the statements of its text can be compared. Each figure of
ours therefore carries statements with the number that the paper prints, our number and a verdict;
if the numbers differ, also our explanation. Every paper lists its experiments as `Planned`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from shoal.core.errors import InternalError

Verdict = Literal["reproduced", "differs", "not stated in the paper", "not judged"]


@dataclass(frozen=True)
class Curve:
    """One line of a figure, or its bars of one kind."""

    name: str  # For the legend and the header of the CSV file.
    values: tuple[float, ...]  # One number per position of the figure; NaN if there is none.


@dataclass(frozen=True)
class Statement:
    """A statement of a paper's text, next to our result."""

    what: str  # What was measured, in words.
    printed: str  # The paper's number as shown; empty if the paper states none.
    ours: str
    verdict: Verdict
    why: str = ""  # If the numbers differ, by how much and why; otherwise any other remark.


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper, drawn from our own run."""

    name: str  # The stem of its file names, such as ``figure-3``.
    title: str  # The paper's name for it, and its subject.
    setting: str  # Table, parameters, repetitions and seed, in a sentence or two.
    x_name: str
    # The positions along the axis. Texts are drawn as bars, numbers as lines.
    x: tuple[float, ...] | tuple[str, ...]
    y_name: str
    curves: tuple[Curve, ...]
    statements: tuple[Statement, ...] = field(default=())
    is_log: bool = False  # Whether the y axis is logarithmic.
    is_x_log: bool = False


def compared(
    what: str,
    printed: float | None,
    ours: float,
    *,
    within: float = 0.05,
    why: str = "",
    digits: int = 3,
) -> Statement:
    """Compare our number with the paper's, None if the paper states none.

    They count as the same if they differ by at most `within`, as a share of the paper's. Default: 5
    %. `why` is our best explanation, shown only if they differ, and `digits` the number of
    significant digits that are shown. Default: 3.

    Examples
    --------
    >>> compared("vulnerable rows, l = 6", 700, 668, why="other hierarchies").verdict
    'reproduced'
    >>> compared("rules", 45, 38, why="other hierarchies").why
    '15.6 % less than printed: other hierarchies'
    >>> compared("time", None, 0.5).verdict
    'not stated in the paper'
    """
    shown = _shown(ours, digits)
    if printed is None:
        return Statement(what, "", shown, "not stated in the paper", why)
    if abs(ours - printed) <= within * abs(printed):
        return Statement(what, _shown(printed, digits), shown, "reproduced")
    return Statement(what, _shown(printed, digits), shown, "differs", _told(printed, ours, why))


def claimed(what: str, printed: str, ours: str, *, holds: bool, why: str = "") -> Statement:
    """Judge a claim that the paper makes in words.

    `why` is our best explanation, shown only if the claim does not hold.

    Examples
    --------
    >>> claimed("rules", "decrease with the rows", "8,219 to 355", holds=True).verdict
    'reproduced'
    """
    if holds:
        return Statement(what, printed, ours, "reproduced")
    return Statement(what, printed, ours, "differs", why)


def _told(printed: float, ours: float, why: str) -> str:
    """Write by how much two numbers differ, and why."""
    more = "more" if ours > printed else "less"
    far = f"{abs(ours - printed) / abs(printed):.1%}".replace("%", " %") if printed else "much"
    return f"{far} {more} than printed: {why}" if why else f"{far} {more} than printed"


def _shown(number: float, digits: int) -> str:
    if number == int(number) and abs(number) < 10**15:
        return f"{int(number):,}"
    return f"{number:.{digits}g}"


@dataclass(frozen=True)
class Setting:
    """The setting shared by all experiments of a run."""

    adult: Path | None = None  # The Adult table as a CSV file; None if it is not available.
    # Whether to run only samples and few repetitions, to see that everything works.
    is_quick: bool = False
    seed: int = 0  # The seed of random draws.

    @property
    def adult_file(self) -> Path:
        """The Adult table, for the experiments that need it."""
        if self.adult is None:
            raise InternalError("An experiment on Adult was run without it.")
        return self.adult


@dataclass(frozen=True)
class Planned:
    """One experiment of a paper."""

    title: str  # The paper's name for it, such as ``Figure 4``, and its subject.
    needs_adult: bool  # Whether it needs the Adult table.
    # Returns one or several figures, such as Figures 5(a) and 5(b).
    run: Callable[[Setting], Sequence[Figure]]
