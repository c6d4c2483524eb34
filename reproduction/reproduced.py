"""The result of running an experiment again: a figure, and the paper's numbers next to ours.

A paper's figures are pictures, so only the statements of its text can be compared. Each figure of
ours therefore carries statements with the number that the paper prints, our number and a verdict;
if the numbers differ, also our explanation.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

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


def _told(printed: float, ours: float, why: str) -> str:
    """Write by how much two numbers differ, and why."""
    more = "more" if ours > printed else "less"
    far = f"{abs(ours - printed) / abs(printed):.1%}".replace("%", " %") if printed else "much"
    return f"{far} {more} than printed: {why}" if why else f"{far} {more} than printed"


def _shown(number: float, digits: int) -> str:
    if number == int(number) and abs(number) < 10**15:
        return f"{int(number):,}"
    return f"{number:.{digits}g}"
