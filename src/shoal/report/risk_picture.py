"""Risk against loss, as SVG text.

One mark a release: a filled circle on the frontier, which a line joins, an empty one where another
release is better, a double ring for the one that is recommended. Nothing is told by colour alone.
Names stand in a list beside the picture, by number. It has no script, and words say what it shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from shoal.core.frontier import Point, frontier
from shoal.report.texts import shortened, svg_text

__all__ = ["risk_picture"]

_SIDE = 360
_LEFT, _TOP, _BELOW = 70, 50, 60
_MOST_LETTERS = 60
_N_TICKS = 5


def risk_picture(
    points: Sequence[Point],
    recommended: str | None,
    *,
    risk_name: str = "risk",
    loss_name: str = "loss",
) -> str:
    """Draw releases by their risk and their loss.

    Parameters
    ----------
    points
        The releases.
    recommended
        The name of the one that is recommended.
    risk_name, loss_name
        What is written at the axes.

    Returns
    -------
    An SVG document.

    Examples
    --------
    >>> drawing = risk_picture([Point("a", 0.2, 0.5), Point("b", 0.4, 0.1)], "b")
    >>> drawing[:4], "On the frontier: a, b. Recommended: b." in drawing
    ('<svg', True)
    """
    best = frontier(points)
    scale = _Scale(_reach(point.risk for point in points), _reach(point.loss for point in points))
    width, height = _LEFT + _SIDE + 590, max(_TOP + _SIDE + _BELOW, _TOP + 24 * len(points) + 90)
    described = (
        f"{len(points)} releases by {risk_name} and {loss_name}; both are best at the lower left. "
        f"On the frontier: {', '.join(point.name for point in best)}. Recommended: {recommended}."
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"',
        f'  width="{width}" height="{height}" font-family="system-ui, sans-serif" font-size="12"',
        '  role="img" aria-labelledby="risk-title risk-description">',
        '<title id="risk-title">Risk against loss</title>',
        f'<desc id="risk-description">{svg_text(described)}</desc>',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
        *_axes(scale, risk_name, loss_name),
        *_line(scale, best),
        *_marks(scale, points, best, recommended),
        *_list(points, best, recommended),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


class _Scale:
    """Where risks and losses lie on the paper."""

    def __init__(self, most_risk: float, most_loss: float) -> None:
        self.most_risk, self.most_loss = most_risk, most_loss

    def place(self, risk: float, loss: float) -> tuple[float, float]:
        x = _LEFT + _SIDE * loss / self.most_loss
        y = _TOP + _SIDE * (1 - risk / self.most_risk)
        return round(x, 1), round(y, 1)


def _reach(values: Iterable[float]) -> float:
    """Give the end of an axis: a round number somewhat above all values."""
    most = max(values, default=0.0)
    steps = (0.05, 0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 5.0, 10.0)
    return next((step for step in steps if step >= most * 1.05), float(most) * 1.1)


def _axes(scale: _Scale, risk_name: str, loss_name: str) -> list[str]:
    bottom, right = _TOP + _SIDE, _LEFT + _SIDE
    below = f"{svg_text(loss_name)} (right is worse)"
    drawn = [
        f'<path d="M{_LEFT} {_TOP}V{bottom}H{right}" fill="none" stroke="#1b1b1b"/>',
        f'<text x="{_LEFT}" y="{_TOP - 24}">{svg_text(risk_name)} (up is worse)</text>',
        f'<text x="{right}" y="{bottom + 44}" text-anchor="end">{below}</text>',
    ]
    for tick in range(_N_TICKS + 1):
        risk, loss = scale.most_risk * tick / _N_TICKS, scale.most_loss * tick / _N_TICKS
        x, y = scale.place(risk, loss)
        drawn.append(
            f'<path d="M{_LEFT - 4} {y}H{_LEFT}M{x} {bottom}v4" stroke="#1b1b1b"/>'
            f'<text x="{_LEFT - 8}" y="{y + 4}" text-anchor="end">{risk:.3g}</text>'
            f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{loss:.3g}</text>'
        )
    return drawn


def _line(scale: _Scale, best: Sequence[Point]) -> list[str]:
    """Join the frontier by steps: what lies above and to the right of it is beaten."""
    if len(best) < 2:
        return []
    places = [scale.place(point.risk, point.loss) for point in best]
    path = f"M{places[0][0]} {places[0][1]}"
    path += "".join(f"V{y}H{x}" for x, y in places[1:])
    return [f'<path d="{path}" fill="none" stroke="#1b1b1b" stroke-dasharray="5 4"/>']


def _marks(
    scale: _Scale, points: Sequence[Point], best: Sequence[Point], recommended: str | None
) -> list[str]:
    drawn = []
    for number, point in enumerate(points, start=1):
        x, y = scale.place(point.risk, point.loss)
        fill = "#1b1b1b" if point in best else "#ffffff"
        told = f"{point.name}: risk {point.risk:.3g}, loss {point.loss:.3g}"
        ring = (
            f'<circle cx="{x}" cy="{y}" r="10" fill="none" stroke="#1b1b1b" stroke-width="2"/>'
            if point.name == recommended
            else ""
        )
        drawn.append(
            f'<g><title>{svg_text(told)}</title><circle cx="{x}" cy="{y}" r="5" fill="{fill}" '
            f'stroke="#1b1b1b" stroke-width="1.5"/>{ring}'
            f'<text x="{x + 12}" y="{y - 8}">{number}</text></g>'
        )
    return drawn


def _list(points: Sequence[Point], best: Sequence[Point], recommended: str | None) -> list[str]:
    left = _LEFT + _SIDE + 40
    lines = []
    for number, point in enumerate(points, start=1):
        words = "on the frontier" if point in best else "beaten by another"
        words = "recommended" if point.name == recommended else words
        lines.append((f"{number}  {shortened(point.name, _MOST_LETTERS)}: {words}", point.name))
    return [
        f'<text x="{left}" y="{_TOP + 24 * place + 10}"><title>{svg_text(name)}</title>'
        f"{svg_text(line)}</text>"
        for place, (line, name) in enumerate(lines)
    ]
