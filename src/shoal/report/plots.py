"""Plots as SVG text: bars, histograms, and estimates with their intervals.

Every plot says in words what it shows, numbers stand beside what is drawn, and kinds of marks
differ by their form, so that nothing depends on seeing colours. There is no script and no link in
any of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.report.texts import shortened, svg_text

__all__ = ["Estimate", "bars", "estimates", "histogram", "svg_document"]

_WIDTH = 640
_LEFT = 190
_STEP = 22
_MOST_BARS = 40
_MOST_LETTERS = 26
_INK = "#1b1b1b"
_FILL = "#08519c"


@dataclass(frozen=True)
class Estimate:
    """A figure of `estimates`: its interval, and what it is compared with where there is such."""

    label: str
    value: float
    low: float
    high: float
    reference: float | None = None


def bars(
    labels: Sequence[str], values: Sequence[float], *, title: str, unit: str, most: float = 0.0
) -> str:
    """Draw one horizontal bar a label, its number beside it.

    Parameters
    ----------
    labels, values
        What the bars are called and how long they are. The first forty are drawn.
    title, unit
        What is shown, and what the numbers count.
    most
        The number that a full bar stands for; the largest one where it is more.

    Examples
    --------
    >>> drawn = bars(["age", "<sex>"], [3, 1], title="Risk", unit="people")
    >>> drawn.count("<rect"), "&lt;sex&gt;" in drawn
    (3, True)
    """
    shown = list(zip(labels, values, strict=True))[:_MOST_BARS]
    most = max([most, *(number for _, number in shown)], default=0.0) or 1.0
    height = 50 + _STEP * len(shown)
    parts = []
    for place, (label, number) in enumerate(shown):
        top = 40 + _STEP * place
        width = (_WIDTH - _LEFT - 90) * max(number, 0.0) / most
        named = f"<title>{svg_text(shortened(label, 200))}</title>{_label(label)}"
        parts += [
            f'<text x="{_LEFT - 6}" y="{top + 12}" text-anchor="end">{named}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{width:.1f}" height="16" fill="{_FILL}"/>',
            f'<text x="{_LEFT + width + 6:.1f}" y="{top + 12}">{_number(number)}</text>',
        ]
    told = ", ".join(f"{shortened(label, 40)}: {_number(number)}" for label, number in shown)
    left_out = len(labels) - len(shown)
    more = f"; {left_out} more are not drawn" if left_out > 0 else ""
    return svg_document(title, f"{unit}. {told}{more}.", _WIDTH, height, parts)


def histogram(values: npt.ArrayLike, *, title: str, unit: str, n_bins: int = 12) -> str:
    """Draw how many of the values lie in each of some intervals of equal width.

    Whole numbers are cut at whole numbers.

    Examples
    --------
    >>> "2: 3" in histogram([1, 2, 2, 2, 4], title="Sizes", unit="buckets by size")
    True
    """
    numbers = np.asarray(values, dtype=np.float64)
    if not len(numbers):
        return bars([], [], title=title, unit=unit)
    low, high = float(numbers.min()), float(numbers.max())
    is_whole = bool(np.all(numbers == np.floor(numbers)))
    step = (high - low) / n_bins if high > low else 1.0
    if is_whole:
        step = max(1.0, math.ceil((high - low + 1) / n_bins))
    n_bins = int((high - low) / step) + 1 if is_whole else n_bins
    place = np.minimum((numbers - low) / step, n_bins - 1).astype(np.int64)
    counts = np.bincount(place, minlength=n_bins).tolist()
    labels = [_bin(low + step * number, step, is_whole) for number in range(n_bins)]
    return bars(labels, counts, title=title, unit=unit)


def _bin(start: float, step: float, is_whole: bool) -> str:
    if is_whole and step <= 1:
        return _number(start)
    end = start + step - 1 if is_whole else start + step
    return f"{_number(start)} to {_number(end)}"


def estimates(
    figures: Sequence[Estimate], *, title: str, unit: str, compared: str = "compared with"
) -> str:
    """Draw figures as squares on the line of their interval, an empty circle beside for another.

    Parameters
    ----------
    figures
        What is drawn; the first forty.
    title, unit
        What is shown, and what the numbers are.
    compared
        What the circles stand for.

    Examples
    --------
    >>> drawn = estimates([Estimate("tree", 0.3, 0.25, 0.35, 0.4)], title="Accuracy", unit="share")
    >>> drawn.count("<circle"), "tree: 0.3 (0.25 to 0.35), compared with 0.4" in drawn
    (2, True)
    """
    shown = [one for one in figures if math.isfinite(one.value)][:_MOST_BARS]
    ends = [end for one in shown for end in (one.value, one.high, one.reference or 0.0)]
    most = max([0.0, *(end for end in ends if math.isfinite(end))]) or 1.0
    has_reference = any(one.reference is not None for one in shown)
    parts, told = [], []
    for place, one in enumerate(shown):
        y = 48 + _STEP * place
        parts += _estimate(one, y, (_WIDTH - _LEFT - 150) / most)
        beside = "" if one.reference is None else f", {compared} {_number(one.reference)}"
        told.append(f"{shortened(one.label, 40)}: {_spread(one)}{beside}")
    bottom = 52 + _STEP * len(shown)
    if has_reference:
        key = f"square: the figure, on its interval; circle: {compared}"
        parts.append(
            f'<circle cx="{_LEFT}" cy="{bottom + 6}" r="4.5" fill="#ffffff" stroke="{_INK}"/>'
            f'<text x="{_LEFT + 10}" y="{bottom + 10}">{svg_text(key)}</text>'
        )
    height = bottom + (24 if has_reference else 0)
    return svg_document(title, f"{unit}. {'; '.join(told)}.", _WIDTH, height, parts)


def _estimate(one: Estimate, y: float, scale: float) -> list[str]:
    x = _LEFT + scale * max(one.value, 0.0)
    low, high = (
        _LEFT + scale * max(end if math.isfinite(end) else one.value, 0.0)
        for end in (one.low, one.high)
    )
    named = f"<title>{svg_text(shortened(one.label, 200))}</title>{_label(one.label)}"
    path = f"M{low:.1f} {y}H{high:.1f}M{low:.1f} {y - 5}v10M{high:.1f} {y - 5}v10"
    parts = [
        f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{named}</text>',
        f'<path d="{path}" stroke="{_INK}" fill="none"/>',
        f'<rect x="{x - 4.5:.1f}" y="{y - 4.5}" width="9" height="9" fill="{_FILL}"/>',
    ]
    if one.reference is not None:
        beside = _LEFT + scale * max(one.reference, 0.0)
        parts.append(f'<circle cx="{beside:.1f}" cy="{y}" r="4.5" fill="#ffffff" stroke="{_INK}"/>')
    parts.append(f'<text x="{_WIDTH - 6}" y="{y + 4}" text-anchor="end">{_spread(one)}</text>')
    return parts


def _spread(one: Estimate) -> str:
    if not math.isfinite(one.low) or not math.isfinite(one.high):
        return _number(one.value)
    return f"{_number(one.value)} ({_number(one.low)} to {_number(one.high)})"


def svg_document(
    title: str, description: str, width: int, height: int, parts: Sequence[str]
) -> str:
    """Put a drawing together.

    Parameters
    ----------
    title, description
        What it is called, and what it shows in words; both are escaped.
    width, height
        Its size.
    parts
        What is drawn, as SVG.
    """
    called = svg_text(shortened(title, 72))
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        f'  width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="12"',
        f'  fill="{_INK}" role="img">',
        f"<title>{svg_text(title)}</title>",
        f"<desc>{svg_text(description)}</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<text x="6" y="20" font-size="14" font-weight="bold">{called}</text>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _number(number: float) -> str:
    return f"{number:.0f}" if float(number).is_integer() else f"{number:.3g}"


def _label(label: str) -> str:
    return svg_text(shortened(label, _MOST_LETTERS))
