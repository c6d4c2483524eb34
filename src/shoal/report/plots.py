"""Plots as SVG text: bars, histograms, estimates with their intervals, heat maps, and measures.

Every plot has a description in words and numbers beside its marks, and kinds of marks differ by
their form, so that nothing depends on seeing colours. No plot has a script or a link.
`risk_picture` draws the comparison of several releases in the same way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.display import Section, shortened
from shoal.core.measure import Measured
from shoal.report.markup import shown_number, svg_text
from shoal.slicing.correlation import Correlations

_WIDTH = 640
_LEFT = 190
_STEP = 22
_MOST_BARS = 40
_MOST_LETTERS = 26
_INK = "#1b1b1b"
_FILL = "#08519c"


@dataclass(frozen=True)
class Estimate:
    """A figure of `estimates` with its interval, and a reference value if there is one."""

    label: str
    value: float
    low: float
    high: float
    reference: float | None = None


def bars(
    labels: Sequence[str], values: Sequence[float], *, title: str, unit: str, most: float = 0.0
) -> str:
    """Draw one horizontal bar per label, with its number; the first forty are drawn.

    `unit` says what the numbers count, and `most` is the number that a full bar stands for if no
    value is larger (default: the largest value).

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
            f'<text x="{_LEFT + width + 6:.1f}" y="{top + 12}">{svg_text(_number(number))}</text>',
        ]
    told = ", ".join(f"{shortened(label, 40)}: {_number(number)}" for label, number in shown)
    left_out = len(labels) - len(shown)
    more = f"; {left_out} more are not drawn" if left_out > 0 else ""
    return svg_figure(title, f"Bars show {unit}: {told}{more}.", _WIDTH, height, parts)


def histogram(values: npt.ArrayLike, *, title: str, unit: str, n_bins: int = 12) -> str:
    """Draw how many values lie in each of up to `n_bins` intervals of equal width.

    Intervals of whole numbers begin at whole numbers.

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
    """Draw figures as squares on the lines of their intervals, and references as empty circles.

    The first forty are drawn. `compared` says what the circles stand for.

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
    return svg_figure(title, f"Squares show {unit}: {'; '.join(told)}.", _WIDTH, height, parts)


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
    told = svg_text(_spread(one))
    parts.append(f'<text x="{_WIDTH - 6}" y="{y + 4}" text-anchor="end">{told}</text>')
    return parts


def _spread(one: Estimate) -> str:
    if not math.isfinite(one.low) or not math.isfinite(one.high):
        return _number(one.value)
    return f"{_number(one.value)} ({_number(one.low)} to {_number(one.high)})"


def svg_figure(title: str, description: str, width: int, height: int, parts: Sequence[str]) -> str:
    """Return a drawing with its title in bold above the parts; the rest is as in `svg_document`."""
    called = svg_text(shortened(title, 72))
    heading = f'<text x="6" y="20" font-size="14" font-weight="bold">{called}</text>'
    return svg_document(title, description, (width, height), [heading, *parts])


def svg_document(
    title: str,
    description: str,
    size: tuple[int, int],
    parts: Sequence[str],
    *,
    name: str = "",
    has_style: bool = True,
) -> str:
    """Return a drawing of some width and height around SVG parts, on white.

    Title and description are escaped. With a name, they have ids by which the drawing is labelled,
    for drawings that stand alone. Without style, each part states its own font size and colour.
    """
    width, height = size
    font, fill = (' font-size="12"', f'fill="{_INK}" ') if has_style else ("", "")
    labelled = f' aria-labelledby="{name}-title {name}-description"' if name else ""
    title_id, description_id = (
        f' id="{name}-{part}"' if name else "" for part in ("title", "description")
    )
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        f'  width="{width}" height="{height}" font-family="system-ui, sans-serif"{font}',
        f'  {fill}role="img"{labelled}>',
        f"<title{title_id}>{svg_text(title)}</title>",
        f"<desc{description_id}>{svg_text(description)}</desc>",
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *parts,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _number(number: float) -> str:
    return shown_number(int(number) if float(number).is_integer() else number)


def _label(label: str) -> str:
    return svg_text(shortened(label, _MOST_LETTERS))


# --- a heat map of correlations -------------------------------------------------------------------


_STOPS = ((247, 251, 255), (158, 202, 225), (66, 146, 198), (8, 81, 156), (8, 48, 107))
_N_LEVELS = 24
_MOST_NUMBERED = 24
_MOST_NAMED = 120
_MOST_LETTERS_NAMED = 24
# From this correlation on, numbers are written in white.
_DARK = 0.55


def heat_map(correlations: Correlations, *, title: str = "Correlation of attributes") -> str:
    """Draw the correlation of every pair of attributes as a square.

    The squares go from light (independent) to dark blue (one attribute follows from the other), in
    one hue, which does not depend on seeing colours. Up to 24 attributes have numbers in their
    squares, up to 120 have names.

    Examples
    --------
    >>> found = Correlations(("age", "sex"), np.array([[1, 0.25], [0.25, 1]]))
    >>> drawing = heat_map(found)
    >>> drawing[:4], "The strongest: age and sex (0.25)" in drawing
    ('<svg', True)
    """
    names = correlations.columns
    side = _side(len(names))
    has_names = len(names) <= _MOST_NAMED
    margin = 20 + (
        7 * max((min(len(name), _MOST_LETTERS_NAMED) for name in names), default=0)
        if has_names
        else 0
    )
    width = margin + max(side * len(names) + 20, 8 * _N_LEVELS + 100)
    height = margin + side * len(names) + 60
    parts = [
        f'<g transform="translate({margin} {margin}) scale({side})" shape-rendering="crispEdges">',
        *_squares(correlations),
        "</g>",
        f'<g transform="translate({margin} {margin})" font-size="11">',
        *(_names(names, side) if has_names else ()),
        *(_numbers(correlations, side) if len(names) <= _MOST_NUMBERED else ()),
        "</g>",
        *_legend(margin, height - 34),
    ]
    described = _description(correlations)
    return svg_document(title, described, (width, height), parts, name="heat-map", has_style=False)


def _side(n_names: int) -> int:
    """Return the width of a square; drawings of many attributes stay of one size."""
    if n_names <= _MOST_NUMBERED:
        return 34
    return 14 if n_names <= _MOST_NAMED else 3


def _description(correlations: Correlations) -> str:
    names = correlations.columns
    strongest = ", ".join(
        f"{first} and {second} ({value:.2f})" for first, second, value in correlations.strongest(5)
    )
    return (
        f"The correlation (phi-squared) of every pair of {len(names)} attributes, from 0 (light: "
        "independent) to 1 (dark: one attribute determines the other). "
        + (f"The strongest: {strongest}." if strongest else "No pair is correlated.")
    )


def _squares(correlations: Correlations) -> list[str]:
    """Draw all squares of one level as one path, which keeps the text short."""
    level = np.minimum((correlations.matrix * _N_LEVELS).astype(np.int64), _N_LEVELS - 1)
    drawn = []
    for number in np.unique(level).tolist():
        rows, columns = np.nonzero(level == number)
        path = "".join(
            f"M{column} {row}h1v1h-1z"
            for row, column in zip(rows.tolist(), columns.tolist(), strict=True)
        )
        drawn.append(f'<path fill="{_colour((number + 0.5) / _N_LEVELS)}" d="{path}"/>')
    return drawn


def _colour(share: float) -> str:
    place = share * (len(_STOPS) - 1)
    low = min(int(place), len(_STOPS) - 2)
    mixed = (
        round(first + (second - first) * (place - low))
        for first, second in zip(_STOPS[low], _STOPS[low + 1], strict=True)
    )
    return "#" + "".join(f"{part:02x}" for part in mixed)


def _names(names: tuple[str, ...], side: int) -> list[str]:
    size = f' font-size="{min(11, side - 3)}"'
    drawn = []
    for place, name in enumerate(names):
        middle = side * place + side / 2
        told = f"<title>{svg_text(name)}</title>{svg_text(shortened(name, _MOST_LETTERS_NAMED))}"
        drawn.append(f'<text x="-6" y="{middle + 4}" text-anchor="end"{size}>{told}</text>')
        drawn.append(
            f'<text transform="translate({middle + 4} -6) rotate(-90)"{size}>{told}</text>'
        )
    return drawn


def _numbers(correlations: Correlations, side: int) -> list[str]:
    drawn = []
    for row, column in itertools.product(range(len(correlations.columns)), repeat=2):
        # Rounding may leave a little less than 0.
        value = max(float(correlations.matrix[row, column]), 0.0)
        x, y = side * column + side / 2, side * row + side / 2 + 4
        ink = "#ffffff" if value >= _DARK else "#1b1b1b"
        drawn.append(
            f'<text x="{x}" y="{y}" text-anchor="middle" fill="{ink}">{_share(value)}</text>'
        )
    return drawn


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0") if value < 1 else "1"


def _legend(left: int, top: int) -> list[str]:
    steps = [
        f'<rect x="{left + 8 * number}" y="{top}" width="8" height="10" '
        f'fill="{_colour((number + 0.5) / _N_LEVELS)}"/>'
        for number in range(_N_LEVELS)
    ]
    ends = (
        f'<text x="{left}" y="{top + 24}" font-size="11">0: independent</text>',
        f'<text x="{left + 8 * _N_LEVELS}" y="{top + 24}" font-size="11">1: determined</text>',
    )
    return [*steps, *ends]


# --- what measures say ----------------------------------------------------------------------------


_COUNTED = ("discernibility", "class size", "cells suppressed", "rows left out", "queries")
_MEAN = ("mean", "mean from", "mean to")


def measure_plots(measured: Measured) -> list[str]:
    """Draw the figures of a measure that are losses, errors of queries, or accuracies of models."""
    titled = {section.title: section for section in measured.sections}
    return [
        *_losses(measured.headline),
        *_errors(titled.get("relative errors")),
        *_accuracies(titled.get("accuracy")),
    ]


def _losses(headline: Mapping[str, object]) -> list[str]:
    """Draw the figures that are shares."""
    shares = {
        name: figure
        for name, figure in headline.items()
        if name not in _COUNTED and isinstance(figure, float) and 0 <= figure <= 1
    }
    if len(shares) < 2 or "generalized loss" not in shares:
        return []
    title = "What is lost, from 0 (nothing) to 1 (everything)"
    return [
        bars(
            list(shares),
            list(shares.values()),
            title=title,
            unit="the share that is lost",
            most=1.0,
        )
    ]


def _errors(section: Section | None) -> list[str]:
    if section is None or not section.rows:
        return []
    figures = []
    for row in section.rows:
        told = dict(zip(section.columns, row, strict=True))
        label = f"{told['aggregate']} {told['column']}".strip()
        figures.append(Estimate(label, *(_float(told[name]) for name in _MEAN)))
    title = "Relative errors of queries: the mean and its 95 % interval"
    return [estimates(figures, title=title, unit="relative errors")]


def _accuracies(section: Section | None) -> list[str]:
    if section is None or not section.rows:
        return []
    figures = []
    for row in section.rows:
        told = dict(zip(section.columns, row, strict=True))
        label = f"{told['target']}: {told['model']}, {told['training']}"
        own = _float(told["of the table"])
        # The interval is that of the loss compared with the table.
        low, high = own - _float(told["to"]), own - _float(told["from"])
        figures.append(Estimate(label, _float(told["accuracy"]), low, high, own))
    title = "Accuracy of models trained on the release"
    return [
        estimates(figures, title=title, unit="accuracies", compared="trained on the original table")
    ]


def _float(entry: object) -> float:
    return float(entry) if isinstance(entry, (int, float)) else float("nan")
