"""Several curves in one plot, as SVG text: lines over numbers, groups of bars over texts.

Curves differ by the form of their marks and the dashes of their lines, bars by their hatching, so
that nothing depends on seeing colours. Words say what is drawn, number by number. There is no
script, no link, and nothing with a name of its own that could clash in a page of many plots.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from shoal.report.plot_scale import Scale, shown
from shoal.report.plots import svg_document
from shoal.report.reproduced import Curve, Figure
from shoal.report.texts import shortened, svg_text

__all__ = ["draw"]

_WIDTH = 640
_LEFT, _TOP, _RIGHT, _BOTTOM = 76, 60, 616, 340
_LEGEND_STEP = 18
_GAP_OF_TICKS = 46
_BARS_LEFT, _BARS_RIGHT = 190, 550
_BAR, _HATCH_STEP = 14, 6
_MOST_LETTERS, _MOST_LETTERS_BESIDE = 84, 26
_INK = "#1b1b1b"
_COLOURS = ("#08519c", "#b2182b", "#1b7837", "#6a3d9a", "#8c510a")
_DASHES = ("", "7 4", "2 3", "10 3 2 3")
_HATCHES = ("full", "empty", "upright", "rising", "falling", "level", "crossed")
_MARKS = (
    "m-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0z",
    "m-4 -4h8v8h-8z",
    "m0 -5.5l5 9h-10z",
    "m0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    "m0 5.5l5 -9h-10z",
    "m-4.5 -4.5l9 9m0 -9l-9 9",
    "m-5.5 0h11m-5.5 -5.5v11",
)
_Place = tuple[float | None, float | None]


def draw(figure: Figure) -> str:
    """Draw a figure: lines where its places are numbers, groups of bars where they are texts.

    Parameters
    ----------
    figure
        What is drawn. What is not a number is left out, and so is what is not above 0 where the
        scale is logarithmic.

    Returns
    -------
    An SVG document.

    Examples
    --------
    >>> curves = Curve("found", (30, 10)), Curve("<left>", (3, math.nan))
    >>> drawn = draw(Figure("figure-4", "Rules", "", "support", (0.1, 0.2), "rules", curves))
    >>> "&lt;left&gt;: 3 at 0.1, none at 0.2." in drawn, drawn.count("<polyline")
    (True, 3)
    """
    if any(isinstance(place, str) for place in figure.x):
        return _grouped_bars(figure)
    return _lines(figure)


def _lines(figure: Figure) -> str:
    places = [float(place) for place in figure.x]
    numbers = [number for curve in figure.curves for number in curve.values]
    across = Scale.over(places, _LEFT + 16, _RIGHT - 16, is_log=figure.is_x_log, is_tight=True)
    upwards = Scale.over(numbers, _BOTTOM, _TOP, is_log=figure.is_log)
    parts = [*_axes(figure, across, upwards), *_marks_across(places, across)]
    for order, curve in enumerate(figure.curves):
        points = [
            (across.place(place), upwards.place(number))
            for place, number in zip(places, curve.values, strict=True)
        ]
        parts += [*_joined(order, points), *(_mark(order, point) for point in points)]
    below = _BOTTOM + 62
    for order, curve in enumerate(figure.curves):
        y = below + _LEGEND_STEP * order
        parts += _joined(order, [(_LEFT, y), (_LEFT + 36, y)])
        parts += [_mark(order, (_LEFT + 18, y)), _named(_LEFT + 46, y + 4, curve.name)]
    height = below + _LEGEND_STEP * len(figure.curves)
    return svg_document(figure.title, _described(figure), _WIDTH, height, parts)


def _axes(figure: Figure, across: Scale, upwards: Scale) -> list[str]:
    log = ", logarithmic"
    beside = f"{shortened(figure.y_name, _MOST_LETTERS)}{log if upwards.is_log else ''}"
    below = f"{shortened(figure.x_name, _MOST_LETTERS)}{log if across.is_log else ''}"
    middle = (_LEFT + _RIGHT) / 2
    parts = [
        f'<text x="6" y="{_TOP - 20}">{svg_text(beside)}</text>',
        f'<text x="{middle}" y="{_BOTTOM + 40}" text-anchor="middle">{svg_text(below)}</text>',
    ]
    for tick in upwards.ticks():
        y = upwards.place(tick) or _BOTTOM
        parts += [
            f'<path d="M{_LEFT} {y:.1f}H{_RIGHT}" stroke="#d0d0d0"/>',
            f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{shown(tick)}</text>',
        ]
    parts.append(f'<path d="M{_LEFT} {_TOP}V{_BOTTOM}H{_RIGHT}" fill="none" stroke="{_INK}"/>')
    return parts


def _marks_across(places: Sequence[float], across: Scale) -> Iterator[str]:
    """Mark the places of a figure, and write as many of them as there is room for."""
    written = -math.inf
    for place in sorted(set(places)):
        x = across.place(place)
        if x is None:
            continue
        yield f'<path d="M{x:.1f} {_BOTTOM}v4" stroke="{_INK}"/>'
        if x - written >= _GAP_OF_TICKS:
            written = x
            yield f'<text x="{x:.1f}" y="{_BOTTOM + 18}" text-anchor="middle">{shown(place)}</text>'


def _joined(order: int, points: Sequence[_Place]) -> Iterator[str]:
    """Draw a line through points; it is broken where one has no place."""
    dash = _DASHES[order % len(_DASHES)]
    stated = f' stroke-dasharray="{dash}"' if dash else ""
    runs: list[list[str]] = [[]]
    for x, y in points:
        if x is None or y is None:
            runs.append([])
        else:
            runs[-1].append(f"{x:.1f},{y:.1f}")
    for run in runs:
        if len(run) > 1:
            yield (
                f'<polyline points="{" ".join(run)}" fill="none" stroke="{_colour(order)}" '
                f'stroke-width="1.5"{stated}/>'
            )


def _mark(order: int, point: _Place) -> str:
    """Draw the mark of a curve; the second time round its form is filled."""
    x, y = point
    if x is None or y is None:
        return ""
    form = _MARKS[order % len(_MARKS)]
    fill = _colour(order) if order // len(_MARKS) % 2 else "#ffffff"
    return (
        f'<path d="M{x:.1f} {y:.1f}{form}" fill="{fill}" stroke="{_colour(order)}" '
        'stroke-width="1.5"/>'
    )


def _grouped_bars(figure: Figure) -> str:
    numbers = [number for curve in figure.curves for number in curve.values]
    along = Scale.over([*numbers, *_zero(figure)], _BARS_LEFT, _BARS_RIGHT, is_log=figure.is_log)
    parts = [f'<text x="6" y="42">{svg_text(_bars_about(figure))}</text>']
    top = 56
    for order, curve in enumerate(figure.curves if len(figure.curves) > 1 else ()):
        parts += _bar(order, _BARS_LEFT, top, 28)
        parts.append(_named(_BARS_LEFT + 36, top + 11, curve.name))
        top += _LEGEND_STEP
    for place, label in enumerate(figure.x):
        parts.append(_beside(str(label), top + 14 + (_BAR + 2) * len(figure.curves) / 2))
        for order, curve in enumerate(figure.curves):
            y = top + 10 + (_BAR + 2) * order
            end = along.place(curve.values[place])
            width = 0.0 if end is None else max(end - _BARS_LEFT, 0.0)
            told = shown(curve.values[place])
            parts += _bar(order, _BARS_LEFT, y, width)
            parts.append(f'<text x="{_BARS_LEFT + width + 6:.1f}" y="{y + 12}">{told}</text>')
        top += 10 + (_BAR + 2) * len(figure.curves)
    return svg_document(figure.title, _described(figure), _WIDTH, top + 12, parts)


def _beside(label: str, y: float) -> str:
    whole = f"<title>{svg_text(shortened(label, 200))}</title>"
    cut = svg_text(shortened(label, _MOST_LETTERS_BESIDE))
    return f'<text x="{_BARS_LEFT - 6}" y="{y:.1f}" text-anchor="end">{whole}{cut}</text>'


def _zero(figure: Figure) -> tuple[float, ...]:
    """Give what bars begin at; on a logarithmic scale there is no 0."""
    return () if figure.is_log else (0.0,)


def _bars_about(figure: Figure) -> str:
    log = ", logarithmic" if figure.is_log else ""
    one = f" ({figure.curves[0].name})" if len(figure.curves) == 1 else ""
    return shortened(f"{figure.y_name}{one}{log}, by {figure.x_name}", _MOST_LETTERS)


def _bar(order: int, x: float, y: float, width: float) -> Iterator[str]:
    colour, hatch = _colour(order), _HATCHES[order % len(_HATCHES)]
    fill = colour if hatch == "full" else "#ffffff"
    yield (
        f'<rect x="{x}" y="{y}" width="{width:.1f}" height="{_BAR}" fill="{fill}" '
        f'stroke="{colour}"/>'
    )
    if hatch not in ("full", "empty"):
        path = "".join(_strokes(hatch, x, y, width))
        yield f'<path d="{path}" fill="none" stroke="{colour}"/>'


def _strokes(hatch: str, x: float, y: float, width: float) -> Iterator[str]:
    """Draw the hatching of a bar stroke by stroke, cut off where the bar ends."""
    if hatch == "level":
        yield from (f"M{x} {y + _BAR * third / 3:.1f}h{width:.1f}" for third in (1, 2))
    elif hatch == "upright":
        yield from (f"M{x + step} {y}v{_BAR}" for step in range(0, int(width), _HATCH_STEP))
    else:
        for step in range(_HATCH_STEP - _BAR, int(width), _HATCH_STEP):
            first, last = max(step, 0), min(step + _BAR, width)
            if hatch in ("falling", "crossed"):
                yield f"M{x + first} {y + first - step}L{x + last:.1f} {y + last - step:.1f}"
            if hatch in ("rising", "crossed"):
                foot = y + _BAR + step
                yield f"M{x + first} {foot - first}L{x + last:.1f} {foot - last:.1f}"


def _named(x: float, y: float, name: str) -> str:
    return f'<text x="{x}" y="{y}">{svg_text(shortened(name, _MOST_LETTERS))}</text>'


def _colour(order: int) -> str:
    return _COLOURS[order % len(_COLOURS)]


def _described(figure: Figure) -> str:
    """Say in words what is drawn, number by number."""
    places = [place if isinstance(place, str) else shown(place) for place in figure.x]
    curves = "; ".join(f"{curve.name}: {_numbers(places, curve)}" for curve in figure.curves)
    return f"{figure.y_name} by {figure.x_name}. {curves}."


def _numbers(places: Sequence[str], curve: Curve) -> str:
    pairs = zip(places, curve.values, strict=True)
    return ", ".join(f"{shown(number)} at {shortened(place, 40)}" for place, number in pairs)
