"""Risk against loss: which of several releases are worth choosing from, and their picture.

One release beats another if it has no more exposed people, risk or loss, and less of one. Releases
that no other beats are the frontier: whatever a steward prefers, the best choice is among them.

The picture has one mark per release: a filled circle on the frontier, which a line joins, an empty
circle if another release is better, a cross if the gate fails, and a ring around the recommended
one. Nothing depends on colour. A numbered list beside the picture has the names; numbers keep clear
of marks and of one another. The drawing has no script, and words say what it shows.
"""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from shoal.core.display import printable, shortened
from shoal.report.markup import svg_text
from shoal.report.plots import svg_document

_SIDE = 400
_LEFT, _TOP, _BELOW, _BETWEEN = 70, 60, 84, 44
_N_TICKS = 5
_MOST_LETTERS, _MOST_WIDTH = 150, 440
_WIDE = frozenset("mwMW@%…")
_LINE, _GAP = 16, 10
_MARK, _RING = 5.0, 10.0
_INK = "#1b1b1b"
# An axis begins above 0 if all values are above this fraction of the largest.
_ZOOM = 0.5


def risk_picture(
    points: Sequence[Point],
    recommended: str | None,
    *,
    failing: Collection[str] = (),
    max_risk: float | None = None,
    risk_name: str = "risk",
    loss_name: str = "loss",
) -> str:
    """Draw releases by their risk and their loss.

    `recommended` and `failing` are names of releases; those that fail the gate are not on the
    frontier. `max_risk` is the risk that is allowed; if None, no limit is drawn. `risk_name` and
    `loss_name` are the titles of the axes.

    Examples
    --------
    >>> drawing = risk_picture([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], "b")
    >>> drawing[:4], "On the frontier: a, b. Recommended: b." in drawing
    ('<svg', True)
    """
    best = frontier([point for point in points if point.name not in failing])
    risks = [point.risk for point in points] + ([] if max_risk is None else [max_risk])
    paper = _Paper(_Axis.over(risks), _Axis.over([point.loss for point in points]))
    marked = [_Marked.of(paper, point, best, recommended, failing) for point in points]
    names = _Names(marked)
    width = _LEFT + _SIDE + _BETWEEN + names.width
    height = max(_TOP + _SIDE + _BELOW, names.bottom + 20)
    described = (
        f"{len(points)} releases by {risk_name} and {loss_name}; both are best at the lower left. "
        f"On the frontier: {', '.join(point.name for point in best)}. Recommended: {recommended}."
    )
    parts = [
        *_axes(paper, risk_name, loss_name),
        *_allowed(paper, max_risk),
        *_better(),
        *_line(paper, best),
        *_marks(marked),
        *names.drawn(),
    ]
    return svg_document("Risk against loss", described, (width, height), parts, name="risk")


# --- paper ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Axis:
    """An axis in round steps."""

    low: float
    high: float
    step: float

    @classmethod
    def over(cls, values: Sequence[float]) -> _Axis:
        most, least = max(values, default=0.0), min(values, default=0.0)
        most = most if most > 0 else 1.0
        # If all are alike, a closer look would show nothing but rounding.
        is_close = least > _ZOOM * most and most - least > most / 1000
        spread = (most - least) * 1.2 if is_close else most * 1.05
        exponent = math.floor(math.log10(spread / _N_TICKS))
        step = next(
            times * 10.0**exponent
            for times in (1, 2, 2.5, 5, 10, 20)
            if times * 10.0**exponent * _N_TICKS >= spread
        )
        low = math.floor((least - spread / 12) / step) * step if is_close else 0.0
        n_steps = math.ceil((most - low) / step * 1.02)
        return cls(low, low + step * n_steps, step)

    def ticks(self) -> list[float]:
        n_steps = round((self.high - self.low) / self.step)
        return [self.low + self.step * place for place in range(n_steps + 1)]

    def share(self, value: float) -> float:
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class _Paper:
    risk: _Axis
    loss: _Axis

    def place(self, risk: float, loss: float) -> tuple[float, float]:
        x = _LEFT + _SIDE * self.loss.share(loss)
        y = _TOP + _SIDE * (1 - self.risk.share(risk))
        return round(x, 1), round(y, 1)


def _axes(paper: _Paper, risk_name: str, loss_name: str) -> Iterator[str]:
    bottom, right = _TOP + _SIDE, _LEFT + _SIDE
    yield f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="{_INK}"/>'
    yield f'<text x="8" y="{_TOP - 34}">{_told(risk_name, paper.risk)} (up is worse)</text>'
    yield (
        f'<text x="{_LEFT}" y="{bottom + 46}">{_told(loss_name, paper.loss)} '
        "(to the right is worse)</text>"
    )
    for risk in paper.risk.ticks():
        y = paper.place(risk, paper.loss.low)[1]
        yield (
            f'<path d="M{_LEFT - 4} {y}H{right}" stroke="#d0d0d0" stroke-width="0.5"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{risk:.4g}</text>'
        )
    for loss in paper.loss.ticks():
        x = paper.place(paper.risk.low, loss)[0]
        yield (
            f'<path d="M{x} {bottom}v4" stroke="{_INK}"/>'
            f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{loss:.4g}</text>'
        )


def _told(name: str, axis: _Axis) -> str:
    start = "" if axis.low == 0 else f", from {axis.low:.4g} on"
    return svg_text(shortened(name, 50)) + start


def _allowed(paper: _Paper, max_risk: float | None) -> list[str]:
    if max_risk is None:
        return []
    y, right = paper.place(max_risk, paper.loss.low)[1], _LEFT + _SIDE
    return [
        f'<path d="M{_LEFT} {y}H{right}" stroke="{_INK}" stroke-dasharray="2 3"/>',
        f'<text x="{right}" y="{y - 5}" text-anchor="end">allowed risk {max_risk:.3g}</text>',
    ]


def _better() -> list[str]:
    """Draw an arrow to the best corner."""
    x, y = _LEFT, _TOP + _SIDE
    arrow = f"M{x - 14} {y + 34}l-20 20m0 -9v9h9"
    return [
        f'<path d="{arrow}" fill="none" stroke="{_INK}" stroke-width="2"/>',
        f'<text x="{x - 38}" y="{y + 70}">better: less risk, less loss</text>',
    ]


def _line(paper: _Paper, best: Sequence[Point]) -> list[str]:
    """Join the frontier by steps: releases above and to the right of it are beaten."""
    if len(best) < 2:
        return []
    places = [paper.place(point.risk, point.loss) for point in best]
    path = f"M{places[0][0]} {places[0][1]}"
    path += "".join(f"V{y}H{x}" for x, y in places[1:])
    return [f'<path d="{path}" fill="none" stroke="{_INK}" stroke-dasharray="6 4"/>']


# --- marks ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Marked:
    """A release with the place of its mark and its standing."""

    point: Point
    x: float
    y: float
    is_best: bool
    is_recommended: bool
    is_failing: bool

    @classmethod
    def of(
        cls,
        paper: _Paper,
        point: Point,
        best: Collection[Point],
        recommended: str | None,
        failing: Collection[str],
    ) -> _Marked:
        x, y = paper.place(point.risk, point.loss)
        names = {one.name for one in best}
        return cls(
            point, x, y, point.name in names, point.name == recommended, point.name in failing
        )

    @property
    def standing(self) -> str:
        if self.is_recommended:
            return "recommended"
        if self.is_failing:
            return "fails the gate"
        return "on the frontier" if self.is_best else "beaten by another"

    @property
    def radius(self) -> float:
        return _RING if self.is_recommended else _MARK

    def drawn(self, x: float, y: float) -> str:
        if self.is_failing:
            return (
                f'<path d="M{x - _MARK} {y - _MARK}l10 10m0 -10l-10 10" stroke="{_INK}" '
                'stroke-width="2"/>'
            )
        fill = _INK if self.is_best else "#ffffff"
        mark = (
            f'<circle cx="{x}" cy="{y}" r="{_MARK:g}" fill="{fill}" stroke="{_INK}" '
            'stroke-width="1.5"/>'
        )
        if self.is_recommended:
            mark += (
                f'<circle cx="{x}" cy="{y}" r="{_RING:g}" fill="none" stroke="{_INK}" '
                'stroke-width="2"/>'
            )
        return mark


def _marks(marked: Sequence[_Marked]) -> Iterator[str]:
    for number, (one, place) in enumerate(
        zip(marked, _places_of_numbers(marked), strict=True), start=1
    ):
        told = f"{one.point.name}: risk {one.point.risk:.3g}, loss {one.point.loss:.3g}"
        x, y = place
        lead = ""
        if math.hypot(x - one.x, y - one.y) > one.radius + 14:
            lead = (
                f'<path d="M{one.x} {one.y}L{x} {y}" stroke="{_INK}" stroke-width="0.7" '
                'stroke-opacity="0.6"/>'
            )
        # White around a number keeps it readable where it crosses a line.
        yield (
            f"<g><title>{svg_text(told)}</title>{lead}{one.drawn(one.x, one.y)}"
            f'<text x="{x}" y="{y + 4}" text-anchor="middle" font-weight="bold" '
            f'stroke="#ffffff" stroke-width="3" paint-order="stroke">{number}</text></g>'
        )


def _places_of_numbers(marked: Sequence[_Marked]) -> list[tuple[float, float]]:
    """Put each number beside its mark, clear of all marks and of the numbers before it."""
    taken: list[tuple[float, float]] = []
    # Numbers of two digits need more room.
    room = 15.0 if len(marked) < 10 else 19.0
    for one in marked:
        place = next(
            (
                place
                for place in _around(one)
                if all(math.hypot(place[0] - x, place[1] - y) >= room for x, y in taken)
                and all(
                    math.hypot(place[0] - other.x, place[1] - other.y)
                    > other.radius + room / 2 - 0.5
                    for other in marked
                )
            ),
            next(_around(one)),
        )
        taken.append(place)
    return taken


def _around(one: _Marked) -> Iterator[tuple[float, float]]:
    """Yield places around a mark, the nearest first, those above and to the right first."""
    for distance in range(int(one.radius) + 8, 130, 4):
        for turn in range(16):
            # 45, 0, 90, ... degrees, to either side in turn.
            angle = math.radians(45 + (-1) ** turn * ((turn + 1) // 2) * 22.5)
            x = one.x + distance * math.cos(angle)
            y = one.y - distance * math.sin(angle)
            if _LEFT + 6 < x < _LEFT + _SIDE + _BETWEEN / 2 and _TOP - 14 < y < _TOP + _SIDE - 6:
                yield round(x, 1), round(y, 1)
    yield round(one.x + 14, 1), round(one.y - 10, 1)


# --- names ----------------------------------------------------------------------------------------


class _Names:
    """The list of names beside the picture, long ones on several lines."""

    def __init__(self, marked: Sequence[_Marked]) -> None:
        self.marked = marked
        self.lines = [_wrapped(one.point.name) for one in marked]
        widest = max((_width(line) for lines in self.lines for line in lines), default=0.0)
        self.width = round(max(widest, _width("beaten by another: risk 0.123, loss 0.123"))) + 66

    @property
    def bottom(self) -> int:
        """Where the list ends."""
        return _TOP + sum((len(lines) + 1) * _LINE + _GAP for lines in self.lines)

    def drawn(self) -> Iterator[str]:
        left, y = _LEFT + _SIDE + _BETWEEN, _TOP - 20
        for number, (one, lines) in enumerate(zip(self.marked, self.lines, strict=True), start=1):
            y += _LINE
            yield (
                f"<g><title>{svg_text(one.point.name)}</title>{one.drawn(left + 10, y - 4)}"
                f'<text x="{left + 44}" y="{y}" text-anchor="end" font-weight="bold">{number}'
                "</text>"
            )
            for line in lines:
                yield f'<text x="{left + 52}" y="{y}">{svg_text(line)}</text>'
                y += _LINE
            told = f"{one.standing}: risk {one.point.risk:.3g}, loss {one.point.loss:.3g}"
            style = ' font-weight="bold"' if one.is_recommended else ""
            yield f'<text x="{left + 52}" y="{y}"{style}>{told}</text></g>'
            y += _GAP


def _wrapped(name: str) -> list[str]:
    """Break a name at spaces if possible; a name that is too long is cut."""
    lines = [""]
    for word in printable(shortened(name, _MOST_LETTERS)).split(" "):
        for part in _parts(word):
            longer = f"{lines[-1]} {part}" if lines[-1] else part
            if _width(longer) <= _MOST_WIDTH:
                lines[-1] = longer
            else:
                lines.append(part)
    return lines


def _parts(word: str) -> Iterator[str]:
    """Break a word that is wider than a line."""
    part = ""
    for letter in word:
        if _width(part + letter) > _MOST_WIDTH:
            yield part
            part = ""
        part += letter
    yield part


def _width(text: str) -> float:
    """Return an upper estimate of the width of a text in any font."""
    return sum(
        13.0
        if unicodedata.east_asian_width(letter) in "WF"
        else 11.5
        if letter in _WIDE
        else 9.5
        if letter.isupper()
        else 7.6
        for letter in text
    )


# --- the frontier ---------------------------------------------------------------------------------


_ROUNDING = 1e-9


@dataclass(frozen=True)
class Point:
    """A release in the picture; 0 is best in every figure.

    `risk` is how often adversaries are right, `loss` how much analysts lose, and `exposed` the
    share of people of whom an adversary rightly believes too much.
    """

    name: str
    risk: float
    loss: float
    exposed: float = 0.0

    @property
    def figures(self) -> tuple[float, float, float]:
        """The figures that points are compared by."""
        return self.exposed, self.risk, self.loss

    def beats(self, other: Point) -> bool:
        """Return whether it is better in one figure and worse in none."""
        pairs = zip(self.figures, other.figures, strict=True)
        return self.figures != other.figures and all(mine <= theirs for mine, theirs in pairs)


def frontier(points: Sequence[Point]) -> tuple[Point, ...]:
    """Return the points that no other beats, from least risk to least loss.

    Examples
    --------
    >>> found = frontier([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1), Point("c", 0.4, 0.5)])
    >>> [point.name for point in found]
    ['a', 'b']
    """
    kept = [point for point in points if not any(other.beats(point) for other in points)]
    return tuple(sorted(kept, key=lambda point: (point.risk, point.loss, point.exposed)))


def nearest(points: Sequence[Point], risk: float) -> Point:
    """Return the point nearest to no exposed people, no loss and the lowest reachable risk.

    Of equally near points the one with less risk is taken.

    Examples
    --------
    >>> nearest([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], risk=0.1).name
    'b'
    """

    def distance(point: Point) -> float:
        return math.hypot(point.exposed, point.risk - risk, point.loss)

    return min(points, key=lambda point: (distance(point), point.risk))


def within(points: Sequence[Point], most: float) -> Point | None:
    """Return the point with the least loss among those with a risk of at most `most`; or None.

    Examples
    --------
    >>> within([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], 0.2).name
    'a'
    """
    # A risk is a mean, and rounding must not carry it over the limit.
    allowed = [point for point in points if point.risk <= most + _ROUNDING]
    return min(allowed, key=lambda point: (point.loss, point.exposed, point.risk), default=None)
