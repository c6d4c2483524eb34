"""The result of a comparison: one table, one picture, and one method with the reasons for it.

The risk of a release is how often the most successful of the adversaries tried is right if she
guesses everybody's sensitive value; beliefs that may be wrong are compared with the truth for it.
The people exposed are counted at a limit that is the same for all methods. The loss is the distance
between the tables of two columns and the true ones, or another figure if that is not measured. All
are 0 at best, and comparable between releases of all shapes.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from shoal.core.display import Section, Tabular
from shoal.core.documents import write_whole
from shoal.report.markup import as_markdown, inert
from shoal.report.risk_picture import Point, frontier, nearest, risk_picture, within
from shoal.workflow.compare_reasons import Choice, pair_outcomes, reasons_for, why_none
from shoal.workflow.compare_trial import TrialResult

_FIGURES = {
    "loss": ("total variation, pairs", "generalized loss"),
    "queries": ("median relative error",),
    "associations": ("confidence error",),
    "classification": ("accuracy lost",),
}
"""The figures of each measure that the table shows; the first that was measured is the loss."""
_NOT_IDENTITY = "membership"
_IN_PAIRS = (
    "The models of all methods were tested on the same held-out rows. Each line states how much "
    "more often the models of the first method are right than those of the other, with a 95 % "
    "interval."
)


@dataclass(frozen=True, eq=False)
class Comparison(Tabular):
    """The methods that were tried on a table, with their risks and losses, and a recommendation."""

    # Results by the label of the method.
    tried: Mapping[str, TrialResult]
    # The share of the most frequent sensitive value, which anybody can guess; 0 without one.
    guess: float
    # The largest risk allowed; None for no limit.
    max_risk: float | None
    # The text of the configuration file of each method.
    configurations: Mapping[str, str]
    # The rows that methods were tried on, and those of the table; None if on all of them.
    sampled: tuple[int, int] | None = None
    # Methods that were not tried at all, each with the reason.
    left_out: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def points(self) -> tuple[Point, ...]:
        """Risk and loss of every method that was tried."""
        found = []
        for label, tried in self.tried.items():
            risk, loss = self.risk(label), self.loss(label)
            if tried.refusal is None and risk is not None and loss is not None:
                found.append(Point(label, risk, loss, self.exposed(label)))
        return tuple(found)

    @cached_property
    def frontier(self) -> tuple[Point, ...]:
        """The methods that pass their gate and that no other beats, least risk first."""
        return frontier([point for point in self.points if not self.faults(point.name)])

    @cached_property
    def _chosen(self) -> Point | None:
        if not self.frontier:
            return None
        if self.max_risk is not None:
            return within(self.frontier, self.max_risk)
        return nearest(self.frontier, self.guess)

    @property
    def recommended(self) -> str | None:
        """The label of the recommended method; None if none can be recommended."""
        return None if self._chosen is None else self._chosen.name

    @property
    def configuration(self) -> str | None:
        """The configuration file of the recommended method, as TOML."""
        return None if self.recommended is None else self.configurations[self.recommended]

    def risk(self, label: str) -> float | None:
        """Return the risk of a method; None if no attack states one."""
        return _most(self._attacks(label), "success")

    def exposed(self, label: str) -> float:
        """Return the largest share of people whom an attack on values exposes at its limit.

        A limit that every release exceeds says nothing about a method, and is not counted.
        """
        counted = [
            one["at_risk"] / max(one["people"], 1)
            for one in self._attacks(label)
            if one["at_risk"] is not None and not one["meaningless"]
        ]
        return max(counted, default=0.0)

    def loss(self, label: str) -> float | None:
        """Return the loss of a method; None if no measure states one."""
        return None if self._axis is None else self._figure(label, *self._axis)

    def faults(self, label: str) -> tuple[str, ...]:
        """Return why the gate of the configuration would refuse a method's release."""
        attacks = self.tried[label].attacks
        judged = [one for one in attacks if one.get("max_people") is not None]
        faults = tuple(fault for one in judged for fault in [_fault(one)] if fault)
        unresolved = max((one.get("unresolved", 0) for one in attacks), default=0)
        told = f"{unresolved} parts of the adversary's knowledge could not be resolved"
        return (*faults, told) if unresolved else faults

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

    def _figure(self, label: str, measure: str, figure: str) -> float | None:
        """Return a figure of a measure; None if it cannot be compared with those of others."""
        figures = _figures(self.tried[label], measure)
        if label in self.not_held_out:
            figures = {} if measure == "classification" else figures
        value = figures.get(figure)
        return None if value is None else float(value)

    @cached_property
    def not_held_out(self) -> tuple[str, ...]:
        """The methods whose models were tested on rows that they knew, while others' were not."""
        held_out = {
            label: _figures(tried, "classification").get("held out")
            for label, tried in self.tried.items()
        }
        if True not in held_out.values():
            return ()
        return tuple(label for label, is_so in held_out.items() if is_so is False)

    @cached_property
    def _is_about_values(self) -> bool:
        attacks = [one for tried in self.tried.values() for one in tried.attacks]
        return any(one.get("is_about_values") for one in attacks)

    def _attacks(self, label: str) -> list[Mapping[str, Any]]:
        """Return the attacks that count: on sensitive values or, if none is, on identities."""
        run = [one for one in self.tried[label].attacks if "not_run" not in one]
        if self._is_about_values:
            return [one for one in run if one["is_about_values"]]
        return [one for one in run if one["attack"] != _NOT_IDENTITY]

    @cached_property
    def table(self) -> Section:
        """One line per method that was tried: its risks, its losses, and whether it is beaten."""
        measured = tuple(f"{measure}: {figure}" for measure, figure in self._columns)
        named = ("method", "risk", "share exposed", "worst posterior", "most successful attack")
        rows = []
        for label, tried in self.tried.items():
            if tried.refusal is None:
                attacks = self._attacks(label)
                rows.append(
                    (
                        label,
                        self.risk(label),
                        self.exposed(label),
                        _most(attacks, "worst_posterior"),
                        _most_successful(attacks),
                        *(self._figure(label, *column) for column in self._columns),
                        self._standing(label),
                    )
                )
        return Section("methods", (*named, *measured, "standing"), tuple(rows), holds_values=False)

    @cached_property
    def attacks(self) -> Section:
        """One line per method and attack."""
        columns = ("method", "attack", "what she finds", "limit", "success", "worst", "gate")
        rows = [
            (
                label,
                one["attack"],
                one["found"] if "found" in one else f"not run: {one['not_run']}",
                one.get("limit"),
                one.get("success"),
                one.get("worst_posterior"),
                _verdict(one),
            )
            for label, tried in self.tried.items()
            for one in tried.attacks
        ]
        return Section("attacks", columns, tuple(rows), holds_values=False)

    @cached_property
    def pairs(self) -> Section:
        """How much more often the models of one method are right than those of another."""
        packed = {
            label: one["outcomes"]
            for label, tried in self.tried.items()
            for one in tried.measures
            if "outcomes" in one
        }
        return pair_outcomes(packed)

    @property
    def refused(self) -> Section:
        """The methods that could not be tried or are left out, and why."""
        rows: list[tuple[object, ...]] = [
            (label, tried.refusal, tried.hint)
            for label, tried in self.tried.items()
            if tried.refusal is not None
        ]
        rows += [(name, f"left out: {reason}", None) for name, reason in self.left_out.items()]
        return Section(
            "could not be tried",
            ("method", "why", "what would help"),
            tuple(rows),
            holds_values=False,
        )

    def _standing(self, label: str) -> str:
        if label == self.recommended:
            return "recommended"
        if self.faults(label):
            return "fails the gate"
        if label not in (point.name for point in self.points):
            return "not placed"
        return "frontier" if label in (point.name for point in self.frontier) else "beaten"

    @cached_property
    def reasons(self) -> tuple[str, ...]:
        """The reasons for the recommendation, in sentences."""
        choice = Choice(
            points=self.points,
            frontier=self.frontier,
            faults={point.name: self.faults(point.name) for point in self.points},
            guess=self.guess,
            max_risk=self.max_risk,
            loss_name=self.loss_name,
            is_about_values=self._is_about_values,
            not_held_out=self.not_held_out,
            sampled=self.sampled,
        )
        if self._chosen is None:
            return why_none(choice)
        attack = _most_successful(self._attacks(self._chosen.name))
        assert attack is not None
        promised = self.tried[self._chosen.name].guarantees
        return reasons_for(choice, self._chosen, attack, promised)

    @property
    def loss_name(self) -> str:
        """The name of the figure that is the loss."""
        return "loss" if self._axis is None else ": ".join(self._axis)

    @property
    def risk_name(self) -> str:
        """The label of the risk axis."""
        what = "a sensitive value" if self._is_about_values else "an identity"
        return f"risk: how often {what} is guessed right"

    def to_svg(self) -> str:
        """Return risk against loss as an SVG picture."""
        return risk_picture(
            self.points,
            self.recommended,
            failing=[point.name for point in self.points if self.faults(point.name)],
            max_risk=self.max_risk,
            risk_name=self.risk_name,
            loss_name=self.loss_name,
        )

    def to_csv(self) -> str:
        """Return the table as CSV."""
        text = io.StringIO(newline="")
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.table.columns)
        writer.writerows(self.table.rows)
        return text.getvalue()

    def to_markdown(self) -> str:
        """Return the reasons and all tables as Markdown."""
        parts = ["# Comparison of methods", *map(inert, self.reasons), as_markdown(self.table)]
        if self.pairs.rows:
            parts += [as_markdown(self.pairs), _IN_PAIRS]
        parts.append(as_markdown(self.attacks))
        if self.refused.rows:
            parts.append(as_markdown(self.refused))
        return "\n\n".join(parts) + "\n"

    def to_dict(self) -> dict[str, object]:
        """Return the comparison as JSON holds it."""
        return {
            "methods": self.table.to_dict()["rows"],
            "attacks": self.attacks.to_dict()["rows"],
            "measures": {
                label: [_without_outcomes(one) for one in tried.measures]
                for label, tried in self.tried.items()
            },
            "paired_accuracies": self.pairs.to_dict()["rows"],
            "not_held_out": list(self.not_held_out),
            "left_out": dict(self.left_out),
            "refused": self.refused.to_dict()["rows"],
            "frontier": [point.name for point in self.frontier],
            "sampled": None if self.sampled is None else list(self.sampled),
            "recommended": self.recommended,
            "reasons": list(self.reasons),
            "configuration": self.configuration,
        }

    def write(self, folder: str | os.PathLike[str]) -> None:
        """Write the table, the picture and all figures into an existing folder."""
        place = Path(folder)
        document = json.dumps(self.to_dict(), indent=2, default=str)
        write_whole(place / "comparison.json", [document, "\n"])
        write_whole(place / "comparison.csv", [self.to_csv()])
        write_whole(place / "comparison.svg", [self.to_svg()])
        write_whole(place / "comparison.md", [self.to_markdown()])

    def _overview(self) -> Section:
        shown = self.table
        return Section(repr(self), shown.columns, shown.rows, holds_values=False)

    def __repr__(self) -> str:
        return f"Comparison({len(self.points)} methods, recommended: {self.recommended})"


def _most(attacks: Sequence[Mapping[str, Any]], figure: str) -> float | None:
    return max((float(one[figure]) for one in attacks), default=None)


def _most_successful(attacks: Sequence[Mapping[str, Any]]) -> str | None:
    first = max(attacks, key=lambda one: float(one["success"]), default=None)
    return None if first is None else str(first["attack"])


def _figures(tried: TrialResult, measure: str) -> Mapping[str, Any]:
    for one in tried.measures:
        if one["measure"] == measure:
            figures: Mapping[str, Any] = one.get("figures", {})
            return figures
    return {}


def _without_outcomes(one: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out the outcomes per row, which serve only for pairing."""
    return {name: value for name, value in one.items() if name != "outcomes"}


def _fault(one: Mapping[str, Any]) -> str | None:
    """Return why a judged attack would stop a release, as `publish` would judge it."""
    name, allowed = one["attack"], one["max_people"]
    if "not_run" in one:
        return f"{name} cannot be judged: {one['not_run']}"
    if not one["is_tried"]:
        return f"{name} cannot be judged: nobody could be held out"
    if one["limit"] is None:
        return f"{name} cannot be judged: neither it nor the method has a limit"
    if one["meaningless"] and not 0 < one["above_anyway"] <= allowed:
        return f"the limit of {name} is meaningless: {one['meaningless']}"
    if one["at_risk"] > allowed:
        return f"{name} puts {one['at_risk']} people at risk; {allowed} are allowed"
    return f"{name} was cut short: {one['cut_short']}" if one["cut_short"] else None


def _verdict(one: Mapping[str, Any]) -> str:
    if one.get("max_people") is None:
        return "not judged"
    return "passed" if _fault(one) is None else "failed"
