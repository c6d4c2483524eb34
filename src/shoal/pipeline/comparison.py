"""What a comparison says: one table, one picture, and one method with the reasons for it.

The risk of a release is what the most successful of the adversaries tried believes of people on
average: how often she would be right, by her own reckoning, if she guessed everybody's sensitive
value. The loss is how far the tables of two columns are from the true ones, or another figure
where that is not measured. Both are 0 at best, and comparable between releases of all shapes.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.core.attack import Section
from shoal.core.frontier import Point, frontier, nearest, within
from shoal.core.writing import write_whole
from shoal.pipeline.compare_trial import Tried
from shoal.report.risk_picture import risk_picture

__all__ = ["Comparison"]

_FIGURES = {
    "loss": ("total variation, pairs", "generalized loss"),
    "queries": ("median relative error",),
    "associations": ("confidence error",),
    "classification": ("accuracy lost",),
}
"""The figures of each measure that stand in the table; the first there is, is the loss."""
_NOT_IDENTITY = "membership"
_LIMITS = (
    "This compares what was tried, on this table: an adversary may know something else, and an "
    "analyst may need something else. The release itself is judged when it is published."
)


@dataclass(frozen=True, eq=False)
class Comparison:
    """What was tried, and what came of it.

    Parameters
    ----------
    tried
        What came of each method, by its label.
    guess
        How often somebody is right who guesses the most frequent sensitive value of everybody; 0
        where there is none.
    max_risk
        The risk that is allowed; None where none was stated.
    configurations
        The configuration file of each method.
    """

    tried: Mapping[str, Tried]
    guess: float
    max_risk: float | None
    configurations: Mapping[str, str]

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Risk and loss of every method that was tried."""
        found = []
        for label, tried in self.tried.items():
            risk, loss = self.risk(label), self.loss(label)
            if tried.refusal is None and risk is not None and loss is not None:
                found.append(Point(label, risk, loss))
        return tuple(found)

    @cached_property
    def frontier(self) -> tuple[Point, ...]:
        """The methods that no other beats, from least risk to least loss."""
        return frontier(self.points)

    @cached_property
    def _chosen(self) -> Point | None:
        if not self.frontier:
            return None
        if self.max_risk is not None:
            return within(self.frontier, self.max_risk)
        return nearest(self.frontier, self.guess)

    @property
    def recommended(self) -> str | None:
        """The label of the method that is recommended; None where none can be."""
        return None if self._chosen is None else self._chosen.name

    @property
    def configuration(self) -> str | None:
        """The configuration file of the method that is recommended, as TOML."""
        return None if self.recommended is None else self.configurations[self.recommended]

    def risk(self, label: str) -> float | None:
        """Give the risk of a method; None where no attack says one."""
        return _most(self._attacks(label), "mean_posterior")

    def loss(self, label: str) -> float | None:
        """Give the loss of a method; None where no measure says one."""
        return None if self._axis is None else _figure(self.tried[label], *self._axis)

    @cached_property
    def _axis(self) -> tuple[str, str] | None:
        """The measure and the figure that is the loss."""
        return next(iter(self._columns), None)

    @cached_property
    def _columns(self) -> tuple[tuple[str, str], ...]:
        """The figures of the table, by measure."""
        seen = {one["measure"] for tried in self.tried.values() for one in tried.measures}
        return tuple(
            (name, figure)
            for name, figures in _FIGURES.items()
            if name in seen
            for figure in figures
        )

    @cached_property
    def _is_about_values(self) -> bool:
        attacks = [one for tried in self.tried.values() for one in tried.attacks]
        return any(one.get("is_about_values") for one in attacks)

    def _attacks(self, label: str) -> list[Mapping[str, Any]]:
        """Give the attacks that count: on sensitive values or, where none is, on identities."""
        run = [one for one in self.tried[label].attacks if "not_run" not in one]
        if self._is_about_values:
            return [one for one in run if one["is_about_values"]]
        return [one for one in run if one["attack"] != _NOT_IDENTITY]

    @cached_property
    def table(self) -> Section:
        """One line a method that was tried: its risks, its losses, and whether it is beaten."""
        measured = tuple(f"{measure}: {figure}" for measure, figure in self._columns)
        named = ("method", "risk", "people above 1/2", "worst posterior", "most successful attack")
        rows = []
        for label, tried in self.tried.items():
            if tried.refusal is None:
                attacks = self._attacks(label)
                first = max(attacks, key=lambda one: float(one["mean_posterior"]), default=None)
                rows.append(
                    (
                        label,
                        self.risk(label),
                        _most(attacks, "above_half"),
                        _most(attacks, "worst_posterior"),
                        None if first is None else first["attack"],
                        *(_figure(tried, *column) for column in self._columns),
                        self._standing(label),
                    )
                )
        return Section("methods", (*named, *measured, "standing"), tuple(rows))

    @cached_property
    def attacks(self) -> Section:
        """One line a method and attack."""
        columns = ("method", "attack", "people at risk", "limit", "mean posterior", "worst")
        rows = [
            (
                label,
                one["attack"],
                one.get("at_risk", one.get("not_run")),
                one.get("limit"),
                one.get("mean_posterior"),
                one.get("worst_posterior"),
            )
            for label, tried in self.tried.items()
            for one in tried.attacks
        ]
        return Section("attacks", columns, tuple(rows))

    @property
    def refused(self) -> Section:
        """The methods that could not be tried, and why."""
        rows = [
            (label, tried.refusal, tried.hint)
            for label, tried in self.tried.items()
            if tried.refusal is not None
        ]
        return Section("could not be tried", ("method", "why", "what would help"), tuple(rows))

    def _standing(self, label: str) -> str:
        if label == self.recommended:
            return "recommended"
        return "frontier" if label in (point.name for point in self.frontier) else "beaten"

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """Why that method is recommended, in words."""
        chosen = self._chosen
        if chosen is None:
            return (self._why_none(),)
        return (
            f"{chosen.name} is recommended.",
            self._about_risk(chosen),
            f"What analysts lose is {chosen.loss:.3g} ({self.loss_name}; 0 is nothing).",
            self._about_others(chosen),
            self._about_choice(),
            f"It promises: {'; '.join(self.tried[chosen.name].guarantees)}.",
            _LIMITS,
        )

    @property
    def loss_name(self) -> str:
        """What the loss is."""
        return "loss" if self._axis is None else ": ".join(self._axis)

    @property
    def risk_name(self) -> str:
        """What the risk is."""
        what = "a sensitive value" if self._is_about_values else "an identity"
        return f"risk: mean belief in {what}"

    def _why_none(self) -> str:
        if not self.points:
            return (
                "No method could be tried with both an attack and a measure; none is recommended."
            )
        least = self.frontier[0]
        return (
            f"No method stays within the risk that is allowed, {self.max_risk:.3g}; the least is "
            f"{least.risk:.3g}, by {least.name}. None is recommended."
        )

    def _about_risk(self, chosen: Point) -> str:
        attacks = self._attacks(chosen.name)
        first = max(attacks, key=lambda one: float(one["mean_posterior"]))
        if not self._is_about_values:
            return (
                f"Its risk is {chosen.risk:.3g}: of the adversaries tried, {first['attack']} finds "
                f"most people; she is right about {chosen.risk:.1%} of her guesses who somebody is."
            )
        return (
            f"Its risk is {chosen.risk:.3g}: of the adversaries tried, {first['attack']} is the "
            "most successful; guessing everybody's sensitive value, she expects to be right about "
            f"{chosen.risk:.1%} of people. Whoever says the most frequent value of everybody is "
            f"right about {self.guess:.1%}."
        )

    def _about_others(self, chosen: Point) -> str:
        beaten = [point for point in self.points if chosen.beats(point)]
        others = [point for point in self.frontier if point.name != chosen.name]
        words = "Nothing that was tried has less of one without more of the other."
        if beaten:
            words += f" It has less of both than, or as little as, {_listed(beaten)}."
        if others:
            words += f" Also worth choosing from: {_listed(others)}."
        return words

    def _about_choice(self) -> str:
        if self.max_risk is not None:
            most = f"{self.max_risk:.3g}"
            return f"Of those whose risk is at most {most}, as was allowed, it loses least."
        return (
            "Of those it is nearest to losing nothing at the risk of a mere guess. Who would "
            "rather have less risk, or less loss, takes another of them, or states the risk that "
            "is allowed (max_risk)."
        )

    def to_svg(self) -> str:
        """Draw risk against loss."""
        return risk_picture(
            self.points, self.recommended, risk_name=self.risk_name, loss_name=self.loss_name
        )

    def to_csv(self) -> str:
        """Write the table as CSV."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.table.columns)
        writer.writerows(self.table.rows)
        return text.getvalue()

    def to_dict(self) -> dict[str, object]:
        """Give the comparison as JSON holds it."""
        return {
            "methods": self.table.to_dict()["rows"],
            "attacks": self.attacks.to_dict()["rows"],
            "measures": {label: list(tried.measures) for label, tried in self.tried.items()},
            "refused": self.refused.to_dict()["rows"],
            "frontier": [point.name for point in self.frontier],
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "configuration": self.configuration,
        }

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the table, the picture and all figures into a folder that is there."""
        place = Path(folder)
        document = json.dumps(self.to_dict(), indent=2, default=str)
        write_whole(place / "comparison.json", [document, "\n"])
        write_whole(place / "comparison.csv", [self.to_csv()])
        write_whole(place / "comparison.svg", [self.to_svg()])

    def __repr__(self) -> str:
        return f"Comparison({len(self.points)} methods, recommended: {self.recommended})"


def _most(attacks: Sequence[Mapping[str, Any]], figure: str) -> float | None:
    return max((float(one[figure]) for one in attacks), default=None)


def _figure(tried: Tried, measure: str, figure: str) -> float | None:
    for one in tried.measures:
        if one["measure"] == measure and figure in one.get("figures", {}):
            return float(one["figures"][figure])
    return None


def _listed(points: Sequence[Point]) -> str:
    return "; ".join(
        f"{point.name} (risk {point.risk:.3g}, loss {point.loss:.3g})" for point in points
    )
