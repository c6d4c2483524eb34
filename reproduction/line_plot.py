"""Plots of several curves as SVG text: lines over numbers, groups of bars over texts.

Curves differ in the shape of their marks and the dashes of their lines, bars in their hatching, so
that nothing depends on colour. A description states the plotted values number by number. There is
no script, no link, and no id that could clash in a page of many plots.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from reproduction.reproduced import Curve, Figure
from shoal.core.display import shortened
from shoal.report.markup import svg_text
from shoal.report.plots import svg_figure

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
    """Return a figure as an SVG document: lines over numbers, groups of bars over texts.

    Values that are not numbers are left out, and so are those not above 0 on a logarithmic scale.

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
    return svg_figure(figure.title, _described(figure), _WIDTH, height, parts)


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
    """Mark the positions of a figure, and label as many of them as there is room for."""
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
    """Draw a line through points; it is interrupted at a point without a position."""
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
    """Draw the mark of a curve; once all shapes are used, they are filled."""
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
    return svg_figure(figure.title, _described(figure), _WIDTH, top + 12, parts)


def _beside(label: str, y: float) -> str:
    whole = f"<title>{svg_text(shortened(label, 200))}</title>"
    cut = svg_text(shortened(label, _MOST_LETTERS_BESIDE))
    return f'<text x="{_BARS_LEFT - 6}" y="{y:.1f}" text-anchor="end">{whole}{cut}</text>'


def _zero(figure: Figure) -> tuple[float, ...]:
    """Return the number at which bars begin; a logarithmic scale has no 0."""
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
    """Draw the hatching of a bar stroke by stroke, clipped to the bar."""
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
    """Describe the plot in words, number by number."""
    places = [place if isinstance(place, str) else shown(place) for place in figure.x]
    curves = "; ".join(f"{curve.name}: {_numbers(places, curve)}" for curve in figure.curves)
    return f"{figure.y_name} by {figure.x_name}. {curves}."


def _numbers(places: Sequence[str], curve: Curve) -> str:
    pairs = zip(places, curve.values, strict=True)
    return ", ".join(f"{shown(number)} at {shortened(place, 40)}" for place, number in pairs)


# --- axes -----------------------------------------------------------------------------------------

_MOST_STEPS = 7
_LEAST_POSITIVE = 1e-300
_ALIKE = 1e-6
"""Numbers with a smaller relative difference are printed the same; no axis is drawn between
them."""


@dataclass(frozen=True)
class Scale:
    """An axis from `low` to `high`, drawn from `start` to `end`; created by `over`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    @classmethod
    def over(
        cls,
        numbers: Iterable[float],
        start: float,
        end: float,
        *,
        is_log: bool = False,
        is_tight: bool = False,
    ) -> Scale:
        """Create an axis that covers all numbers that it can show.

        If `is_tight`, it ends at the least and the largest number. Otherwise it ends at round
        numbers, and includes 0 unless all numbers are far from it.

        Examples
        --------
        >>> Scale.over([30, 87], 0, 1)
        Scale(low=0.0, high=100.0, start=0, end=1, is_log=False)
        >>> Scale.over([30, 8700], 0, 1, is_log=True).ticks()
        [10.0, 100.0, 1000.0, 10000.0]
        """
        held = [float(one) for one in numbers if _is_shown(float(one), is_log=is_log)]
        if not held:
            return cls(1.0 if is_log else 0.0, 10.0 if is_log else 1.0, start, end, is_log)
        low, high = min(held), max(held)
        if is_tight:
            return cls(*_apart(low, high, is_log=is_log), start, end, is_log)
        low, high = _powers(low, high) if is_log else _rounded(low, high)
        return cls(low, high, start, end, is_log)

    def place(self, number: float) -> float | None:
        """Return the position of a number; None if it has none.

        Examples
        --------
        >>> Scale(1, 100, 0, 50, is_log=True).place(10), Scale(0, 1, 0, 50).place(math.nan)
        (25.0, None)
        """
        if not _is_shown(number, is_log=self.is_log):
            return None
        low, high = self.low, self.high
        if self.is_log:
            low, high, number = math.log10(low), math.log10(high), math.log10(number)
        return self.start + (self.end - self.start) * (number - low) / (high - low)

    def ticks(self) -> list[float]:
        """Return the round numbers at which the axis is marked."""
        if not self.is_log:
            step = _step(self.low, self.high)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [float(f"{step * number:.12g}") for number in range(first, last + 1)]
        first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
        digits = (1, 2, 5) if last - first <= 2 else (1,)
        step = 1 + (last - first) // (_MOST_STEPS + 1)
        made = (digit * 10.0**power for power in range(first, last + 1, step) for digit in digits)
        return [one for one in made if self.low <= one * (1 + 1e-9) and one <= self.high]


def shown(number: float) -> str:
    """Write a number in the shortest readable form.

    Examples
    --------
    >>> [shown(number) for number in (61964.0, 0.05, 1e-7, 2.5e9, math.nan)]
    ['61,964', '0.05', '1e-07', '2.5e+09', 'none']
    """
    if not math.isfinite(number):
        return "none"
    if float(number).is_integer() and abs(number) < 10**9:
        return f"{int(number):,}"
    return f"{number:.3g}"


def _is_shown(number: float, *, is_log: bool) -> bool:
    return math.isfinite(number) and (number > _LEAST_POSITIVE or not is_log)


def _apart(low: float, high: float, *, is_log: bool) -> tuple[float, float]:
    """Return two ends that differ, even if there is only one number."""
    if low < high:
        return low, high
    return (low / 2, low * 2) if is_log else (low - (abs(low) or 1.0) / 2, low + (abs(low) or 1.0))


def _powers(low: float, high: float) -> tuple[float, float]:
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return 10.0**first, 10.0 ** max(last, first + 1)


def _rounded(low: float, high: float) -> tuple[float, float]:
    """Return round ends; 0 is one of them unless all numbers are in the far half of the axis."""
    low, high = (
        low if low < 0 or low > high / 2 else 0.0,
        high if high > 0 or high < low / 2 else 0.0,
    )
    if high - low <= _ALIKE * max(abs(low), abs(high)):
        low, high = min(low, 0.0), max(high, 0.0)
    if high - low <= _LEAST_POSITIVE:
        low, high = 0.0, 1.0
    step = _step(low, high)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def _step(low: float, high: float) -> float:
    """Return a round step, 1, 2 or 5 times a power of ten, that divides an axis into few parts."""
    raw = (high - low) / _MOST_STEPS
    power = 10.0 ** math.floor(math.log10(raw))
    return next(digit * power for digit in (1, 2, 5, 10) if digit * power >= raw * (1 - 1e-9))
