"""A heat map of correlations, as SVG text.

One square a pair of attributes, from light (independent) to dark blue (one follows from the
other): a scale of one hue, which is told apart without seeing colours. Where there is room the
number stands in the square. The drawing is made of names and numbers alone, has no script, and says
in words what it shows.
"""

from __future__ import annotations

import itertools

import numpy as np

from shoal.knowledge.correlation import Correlations
from shoal.report.texts import shortened, svg_text

__all__ = ["heat_map"]

_STOPS = ((247, 251, 255), (158, 202, 225), (66, 146, 198), (8, 81, 156), (8, 48, 107))
_N_LEVELS = 24
_MOST_NUMBERED = 24
_MOST_NAMED = 120
_MOST_LETTERS = 24
_DARK = 0.55
"""From this correlation on, numbers are written in white."""


def heat_map(correlations: Correlations, *, title: str = "Correlation of attributes") -> str:
    """Draw the correlation of every pair of attributes.

    Parameters
    ----------
    correlations
        The correlations.
    title
        What the drawing is called.

    Returns
    -------
    An SVG document. Numbers stand in the squares of up to 24 attributes, names beside up to 120.

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
        7 * max((min(len(name), _MOST_LETTERS) for name in names), default=0) if has_names else 0
    )
    width = margin + max(side * len(names) + 20, 8 * _N_LEVELS + 100)
    height = margin + side * len(names) + 60
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        f'  width="{width}" height="{height}" font-family="system-ui, sans-serif"',
        '  role="img" aria-labelledby="heat-map-title heat-map-description">',
        f'<title id="heat-map-title">{svg_text(title)}</title>',
        f'<desc id="heat-map-description">{svg_text(_description(correlations))}</desc>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        f'<g transform="translate({margin} {margin}) scale({side})" shape-rendering="crispEdges">',
        *_squares(correlations),
        "</g>",
        f'<g transform="translate({margin} {margin})" font-size="11">',
        *(_names(names, side) if has_names else ()),
        *(_numbers(correlations, side) if len(names) <= _MOST_NUMBERED else ()),
        "</g>",
        *_legend(margin, height - 34),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _side(n_names: int) -> int:
    """Give the width of a square, so that drawings of many attributes stay of one size."""
    if n_names <= _MOST_NUMBERED:
        return 34
    return 14 if n_names <= _MOST_NAMED else 3


def _description(correlations: Correlations) -> str:
    names = correlations.columns
    strongest = ", ".join(
        f"{first} and {second} ({value:.2f})" for first, second, value in correlations.strongest(5)
    )
    return (
        f"Phi-squared of every pair of {len(names)} attributes, from 0 (light: independent) to 1 "
        "(dark: the one with fewer values follows from the other). "
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
        told = f"<title>{svg_text(name)}</title>{svg_text(shortened(name, _MOST_LETTERS))}"
        drawn.append(f'<text x="-6" y="{middle + 4}" text-anchor="end"{size}>{told}</text>')
        drawn.append(
            f'<text transform="translate({middle + 4} -6) rotate(-90)"{size}>{told}</text>'
        )
    return drawn


def _numbers(correlations: Correlations, side: int) -> list[str]:
    drawn = []
    for row, column in itertools.product(range(len(correlations.columns)), repeat=2):
        value = float(correlations.matrix[row, column])
        x, y = side * column + side / 2, side * row + side / 2 + 4
        ink = "#ffffff" if value >= _DARK else "#1b1b1b"
        drawn.append(
            f'<text x="{x}" y="{y}" text-anchor="middle" fill="{ink}">{_number(value)}</text>'
        )
    return drawn


def _number(value: float) -> str:
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
