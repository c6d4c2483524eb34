"""What running a paper's experiment again gave: a figure, and the paper's numbers beside ours.

A paper's figures are pictures: only what its text states can be compared. So a figure of ours
carries statements, each with the number that the paper prints, ours, and a verdict; where the
numbers differ, with what we think is the reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Curve", "Figure", "Statement", "compared"]

Verdict = Literal["reproduced", "differs", "not stated in the paper", "not judged"]


@dataclass(frozen=True)
class Curve:
    """One line of a figure, or the bars of one kind: a number at each of its places.

    Attributes
    ----------
    name
        What it shows, for the legend and the header of the CSV file.
    values
        One number at each place of the figure; not a number where there is none.
    """

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True)
class Statement:
    """Something that a paper's text says, beside what we found.

    Attributes
    ----------
    what
        What was measured, in words.
    printed, ours
        The paper's number and ours as they are shown; `printed` is empty where it states none.
    verdict
        Whether ours is the paper's.
    why
        Where they differ by how much and our best explanation; else what else is to be said.
    """

    what: str
    printed: str
    ours: str
    verdict: Verdict
    why: str = ""


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper, drawn from our own run.

    Attributes
    ----------
    name
        What files about it are called, such as ``figure-3``.
    title
        What the paper calls it and what it shows.
    setting
        The table, parameters, repetitions and seed that it was run with, in a sentence or two.
    x_name, x
        What stands along the axis, and its places. Texts are drawn as bars, numbers as lines.
    y_name
        What the numbers are.
    curves
        The numbers behind the figure.
    statements
        What the paper says about it, and ours.
    is_log
        Whether the numbers spread so far that they are drawn on a logarithmic scale.
    is_x_log
        Whether the places do.
    """

    name: str
    title: str
    setting: str
    x_name: str
    x: tuple[float, ...] | tuple[str, ...]
    y_name: str
    curves: tuple[Curve, ...]
    statements: tuple[Statement, ...] = field(default=())
    is_log: bool = False
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
    """Put our number beside the paper's.

    Parameters
    ----------
    what
        What was measured, in words.
    printed
        The paper's number; None where it states none.
    ours
        Our number.
    within
        How far apart they may be, as a share of the paper's, to count as the same.
    why
        Our best explanation, shown where they differ.
    digits
        Significant digits that are shown.

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
    """Say by how much two numbers differ, and why."""
    more = "more" if ours > printed else "less"
    far = f"{abs(ours - printed) / abs(printed):.1%}".replace("%", " %") if printed else "much"
    return f"{far} {more} than printed: {why}" if why else f"{far} {more} than printed"


def _shown(number: float, digits: int) -> str:
    if number == int(number) and abs(number) < 10**15:
        return f"{int(number):,}"
    return f"{number:.{digits}g}"
