"""Why a method is recommended, or none, in plain words; and how surely accuracies differ.

Everything follows from the figures of the table; nothing is weighed here. Readers should be able to
disagree, so the reasons also name the alternatives and what was not tried.

All methods of a comparison are tried on the same folds, so their models can be compared on each
held-out row. The rows on which two methods differ tell far more surely which is right more often
than two accuracies do, each with an interval of its own. Outcomes are kept with the results,
packed; they tell which rows were predicted correctly, by their place, and nothing about the rows.
"""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from shoal.core.arrays import Floats
from shoal.core.display import Section, percent
from shoal.core.errors import ParameterError
from shoal.core.measure import Measured
from shoal.report.risk_picture import Point
from shoal.utility.classification import ROWS, outcomes_of_release, paired_difference

_LIMITS = (
    "This comparison covers what was tried on this table: an adversary may know something else, "
    "and an analyst may need something else. The release itself is judged when it is published."
)


@dataclass(frozen=True, kw_only=True)
class Choice:
    """The methods to choose from, and the figures that decide."""

    points: tuple[Point, ...]
    # The points that pass their gate and that no other beats.
    frontier: tuple[Point, ...]
    # Why the gate would refuse the release of a method.
    faults: Mapping[str, tuple[str, ...]]
    # The risk of a mere guess.
    guess: float
    max_risk: float | None
    loss_name: str
    # Whether the risk is about sensitive values, not about identities.
    is_about_values: bool
    # The methods whose models could not be tested on held-out rows.
    not_held_out: tuple[str, ...]
    # The rows that methods were tried on, and those of the table; None if on all of them.
    sampled: tuple[int, int] | None


def reasons_for(
    choice: Choice, chosen: Point, attack: str, promised: Sequence[str]
) -> tuple[str, ...]:
    """Return why a method is recommended.

    `attack` is the most successful adversary against it, and `promised` are its guarantees.
    """
    return (
        f"{chosen.name} is recommended.",
        _about_risk(choice, chosen, attack),
        f"Its loss is {chosen.loss:.3g} ({choice.loss_name}; 0 means that nothing is lost).",
        _about_others(choice, chosen),
        _about_choice(choice),
        *_about_failing(choice),
        *_about_what_was_tried(choice),
        f"Its guarantees: {'; '.join(promised)}.",
        _LIMITS,
    )


def why_none(choice: Choice) -> tuple[str, ...]:
    """Return why no method is recommended."""
    if not choice.points:
        why = "No method could be tried with both an attack and a measure; none is recommended."
    elif not choice.frontier:
        why = "No method passes the gate of the configuration; none is recommended."
    else:
        least = choice.frontier[0]
        why = (
            f"No method stays within the allowed risk of {choice.max_risk:.3g}; the smallest risk "
            f"is {least.risk:.3g}, of {least.name}. None is recommended."
        )
    return (why, *_about_failing(choice), *_about_what_was_tried(choice))


def _about_risk(choice: Choice, chosen: Point, attack: str) -> str:
    if not choice.is_about_values:
        return (
            f"Its risk is {chosen.risk:.3g}: {attack}, the most successful attack that was tried, "
            f"identifies people correctly in {percent(chosen.risk)} of its guesses."
        )
    return (
        f"Its risk is {chosen.risk:.3g}: {attack}, the most successful attack that was tried, "
        f"guesses the sensitive value of {percent(chosen.risk)} of people correctly. Naming the "
        f"most frequent value for everybody is correct for {percent(choice.guess)}. "
        f"{_about_exposed(chosen)}"
    )


def _about_exposed(chosen: Point) -> str:
    if not chosen.exposed:
        return "At the limit, which is the same for all methods, nobody is exposed."
    exposed = percent(chosen.exposed)
    return f"At the limit, which is the same for all methods, {exposed} of people are exposed."


def _about_others(choice: Choice, chosen: Point) -> str:
    if len(choice.points) == 1:
        return "It is the only method that could be tried, so it is not compared with others."
    equal = [point for point in choice.frontier if _are_equal(point, chosen)]
    beaten = [point for point in choice.points if chosen.beats(point)]
    others = [point for point in choice.frontier if not _are_equal(point, chosen)]
    words = "No method that passes is better in one figure without being worse in another."
    if len(equal) > 1:
        alike = [point.name for point in equal if point.name != chosen.name]
        words += f" Equally good, but listed after it: {', '.join(alike)}."
    if beaten:
        words += f" It is at least as good in every figure as {_listed(beaten)}."
    if others:
        words += f" Alternatives: {_listed(others)}."
    return words


def _about_choice(choice: Choice) -> str:
    if choice.max_risk is not None:
        most = f"{choice.max_risk:.3g}"
        return f"Among the methods with at most the allowed risk of {most}, it loses least."
    if len(choice.frontier) == 1:
        return "Risk and loss did not have to be weighed against each other."
    return (
        "Among these methods it is nearest to the ideal: nobody is exposed, nothing is lost, and "
        "the risk is that of a mere guess. If less risk or less loss matters more to you, choose "
        "an alternative, or state the largest risk allowed (max_risk)."
    )


def _about_failing(choice: Choice) -> tuple[str, ...]:
    failing = [f"{name} ({'; '.join(faults)})" for name, faults in choice.faults.items() if faults]
    if not failing:
        return ()
    return (f"The gate of the configuration would refuse: {'; '.join(failing)}.",)


def _about_what_was_tried(choice: Choice) -> tuple[str, ...]:
    said = []
    if choice.sampled is not None:
        taken, n_rows = choice.sampled
        said.append(
            f"Methods were tried on a random sample of {taken} of the table's {n_rows} rows. With "
            "the whole table, risks and losses differ somewhat, and methods that are close may "
            "change places."
        )
    if choice.not_held_out:
        said.append(
            "Some methods could not publish a part of the table, so no row was held out and their "
            f"accuracies cannot be compared: {', '.join(choice.not_held_out)}."
        )
    return tuple(said)


def _are_equal(one: Point, other: Point) -> bool:
    return one.figures == other.figures


def _listed(points: Sequence[Point]) -> str:
    return "; ".join(
        f"{point.name} (risk {point.risk:.3g}, exposed {percent(point.exposed)}, "
        f"loss {point.loss:.3g})"
        for point in points
    )


_RIGHT = "right"
_COLUMNS = ("method", "other", "accuracy gained", "from", "to", "is told apart")


def pack_outcomes(measured: Measured) -> dict[str, object] | None:
    """Pack how many models were right about each held-out row; None if no row was held out.

    Examples
    --------
    >>> rows, right = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    >>> outcomes = {"rows": rows, "sex, tree, linked at random": right}
    >>> measured = Measured("classification", {"held out": True}, outcomes=outcomes)
    >>> packed = pack_outcomes(measured)
    >>> packed["models"], unpack_outcomes(packed).outcomes["right"].tolist()
    (1, [0.0, 1.0])
    """
    if not measured.headline.get("held out"):
        return None
    right = outcomes_of_release(measured)
    if not right:
        return None
    return {
        "models": len(right),
        "right": _packed(np.sum(right, axis=0)),
        "rows": _packed(measured.outcomes[ROWS]),
    }


def unpack_outcomes(packed: Mapping[str, Any]) -> Measured:
    """Return the packed outcomes: for each row, the share of models that were right about it."""
    right = _unpacked(packed["right"]) / packed["models"]
    return Measured("classification", {}, outcomes={ROWS: _unpacked(packed["rows"]), _RIGHT: right})


def pair_outcomes(packed: Mapping[str, Mapping[str, Any]]) -> Section:
    """Return, for every two methods, how much more often the models of the first are right.

    Methods that were not tried on the same rows are not paired.
    """
    measured = {name: unpack_outcomes(one) for name, one in packed.items()}
    rows: list[tuple[object, ...]] = []
    for one, other in itertools.combinations(measured, 2):
        try:
            found = paired_difference(measured[one], measured[other], _RIGHT)
        except ParameterError:
            continue
        mean, low, high = found
        rows.append((one, other, mean, low, high, "yes" if low > 0 or high < 0 else "no"))
    return Section("paired accuracies", _COLUMNS, tuple(rows), holds_values=False)


def _packed(numbers: Floats) -> str:
    whole = np.rint(numbers).astype("<u4")
    return base64.b64encode(zlib.compress(whole.tobytes())).decode("ascii")


def _unpacked(text: str) -> Floats:
    raw = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(raw, dtype="<u4").astype(np.float64)
