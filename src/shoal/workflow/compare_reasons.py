"""Why a method is recommended, or none, in plain words.

Everything that is said follows from the figures of the table; nothing is weighed here. Who reads it
should be able to disagree: what else is worth choosing from, and what was not tried, is named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from shoal.core.frontier import Point

__all__ = ["Choice", "reasons_for", "why_none"]

_LIMITS = (
    "This compares what was tried, on this table: an adversary may know something else, and an "
    "analyst may need something else. The release itself is judged when it is published."
)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What was chosen from, and by what.

    Parameters
    ----------
    points, frontier
        Risk and loss of all methods, and of those that pass their gate and that no other beats.
    faults
        Why the gate would not let the release of a method pass.
    guess, max_risk
        The risk of a mere guess, and the one that is allowed.
    loss_name, is_about_values
        What the loss is, and whether the risk is about sensitive values, not identities.
    not_held_out
        The methods whose models could not be tested on held-out rows.
    sampled
        How many rows methods were tried on, and how many there are; None where on all.
    not_installed
        What was not measured, since a library is not there.
    """

    points: tuple[Point, ...]
    frontier: tuple[Point, ...]
    faults: Mapping[str, tuple[str, ...]]
    guess: float
    max_risk: float | None
    loss_name: str
    is_about_values: bool
    not_held_out: tuple[str, ...]
    sampled: tuple[int, int] | None
    not_installed: tuple[str, ...] = ()


def reasons_for(
    choice: Choice, chosen: Point, attack: str, promised: Sequence[str]
) -> tuple[str, ...]:
    """Say why a method is recommended.

    Parameters
    ----------
    choice
        What was chosen from.
    chosen
        The method.
    attack
        The most successful adversary against it.
    promised
        What its release guarantees.
    """
    return (
        f"{chosen.name} is recommended.",
        _about_risk(choice, chosen, attack),
        f"What analysts lose is {chosen.loss:.3g} ({choice.loss_name}; 0 is nothing).",
        _about_others(choice, chosen),
        _about_choice(choice),
        *_about_failing(choice),
        *_about_what_was_tried(choice),
        f"It promises: {'; '.join(promised)}.",
        _LIMITS,
    )


def why_none(choice: Choice) -> tuple[str, ...]:
    """Say why no method is recommended."""
    if not choice.points:
        why = "No method could be tried with both an attack and a measure; none is recommended."
    elif not choice.frontier:
        why = "No method passes the gate of the configuration; none is recommended."
    else:
        least = choice.frontier[0]
        why = (
            f"No method stays within the risk that is allowed, {choice.max_risk:.3g}; the least is "
            f"{least.risk:.3g}, by {least.name}. None is recommended."
        )
    return (why, *_about_failing(choice), *_about_what_was_tried(choice))


def _about_risk(choice: Choice, chosen: Point, attack: str) -> str:
    if not choice.is_about_values:
        return (
            f"Its risk is {chosen.risk:.3g}: of the adversaries tried, {attack} finds most people; "
            f"she is right about {chosen.risk:.1%} of her guesses who somebody is."
        )
    return (
        f"Its risk is {chosen.risk:.3g}: of the adversaries tried, {attack} is the most "
        f"successful; guessing everybody's sensitive value, she is right about {chosen.risk:.1%} "
        "of people. Whoever says the most frequent value of everybody is right about "
        f"{choice.guess:.1%}. {_about_exposed(chosen)}"
    )


def _about_exposed(chosen: Point) -> str:
    if not chosen.exposed:
        return "At the limit that all methods are held against, nobody is exposed."
    return (
        f"At the limit that all methods are held against, {chosen.exposed:.1%} of people are "
        "exposed."
    )


def _about_others(choice: Choice, chosen: Point) -> str:
    if len(choice.points) == 1:
        return "It is the only method that could be tried, so nothing is said of others."
    equal = [point for point in choice.frontier if _are_equal(point, chosen)]
    beaten = [point for point in choice.points if chosen.beats(point)]
    others = [point for point in choice.frontier if not _are_equal(point, chosen)]
    words = "Nothing that passes has less of one without more of another."
    if len(equal) > 1:
        alike = [point.name for point in equal if point.name != chosen.name]
        words += f" As good in all, and named after it: {', '.join(alike)}."
    if beaten:
        words += f" It has less of each than, or as little as, {_listed(beaten)}."
    if others:
        words += f" Also worth choosing from: {_listed(others)}."
    return words


def _about_choice(choice: Choice) -> str:
    if choice.max_risk is not None:
        most = f"{choice.max_risk:.3g}"
        return f"Of those whose risk is at most {most}, as was allowed, it loses least."
    if len(choice.frontier) == 1:
        return "No weighing of risk against loss was needed."
    return (
        "Of those it is nearest to exposing nobody and losing nothing at the risk of a mere guess. "
        "If less risk or less loss matters more, take another of them, or state the risk that is "
        "allowed (max_risk)."
    )


def _about_failing(choice: Choice) -> tuple[str, ...]:
    failing = [f"{name} ({'; '.join(faults)})" for name, faults in choice.faults.items() if faults]
    if not failing:
        return ()
    return (f"The gate of the configuration would not let pass: {'; '.join(failing)}.",)


def _about_what_was_tried(choice: Choice) -> tuple[str, ...]:
    said = []
    if choice.sampled is not None:
        taken, n_rows = choice.sampled
        said.append(
            f"Methods were tried on a random sample of {taken} of the table's {n_rows} rows. Of "
            "the whole table buckets are denser: risks and losses differ somewhat, and so may the "
            "order of methods that are close."
        )
    if choice.not_held_out:
        said.append(
            "Parts of the table could not be published, so that no row was held out and accuracies "
            f"cannot be compared: {', '.join(choice.not_held_out)}."
        )
    if choice.not_installed:
        said.append(
            "Not measured, since scikit-learn is not installed: "
            f"{', '.join(choice.not_installed)}. The extra `learn` brings it."
        )
    return tuple(said)


def _are_equal(one: Point, other: Point) -> bool:
    return one.figures == other.figures


def _listed(points: Sequence[Point]) -> str:
    return "; ".join(
        f"{point.name} (risk {point.risk:.3g}, exposed {point.exposed:.1%}, loss {point.loss:.3g})"
        for point in points
    )
