"""How an adversary's beliefs compare with the truth, in figures that a gate can judge.

A belief is not a fact: an adversary with a bad model believes much and is right about little. An
attack that yields beliefs is therefore reported on one scale. `believed` counts the people about
whom she believes something above the limit, `right` says how often that is true, `baseline` how
often the best guess without the attack is. `exposed` is what the gate judges: the people who are
still above the limit after her beliefs have been calibrated against the truth.

Everything here uses the truth and must stay out of public files.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts

__all__ = ["Calibration", "Estimate", "Suspicion", "Suspicions"]

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Suspicion:
    """What an adversary believes about one value, or about several that count as one.

    Parameters
    ----------
    values
        The codes of the values, as the findings number them.
    belief
        For each cell of people how likely she thinks that one of them has it.
    group
        For each cell of people the bucket, or part of one, whose values the release counts
        together: nothing in the release itself tells its people apart.
    n_carrying
        For each group how many of its people have the value, as the release says.
    log_odds
        For each cell of people the logarithm of the odds before the counts of their group were
        conditioned on, minus infinity if they are known not to have the value. None if the attack
        has no such odds and `belief` is all there is.
    """

    values: tuple[int, ...]
    belief: Floats
    group: Codes
    n_carrying: Counts
    log_odds: Floats | None = None


@dataclass(frozen=True, eq=False)
class Suspicions:
    """What an attack believes about everybody, value by value, before anybody has checked it.

    Parameters
    ----------
    about
        What is believed of each value that is attacked.
    limit
        The belief that is allowed.
    is_flagged
        For each cell of people whether it exceeds a bound that is not one on beliefs, such as
        their gain. Such people count as believed and as exposed, whatever the slope.
    is_mined
        Whether the beliefs come from how likely each kind of people has the value. They are then
        also judged by the law of the table, which says that best.
    """

    about: tuple[Suspicion, ...]
    limit: float
    is_flagged: npt.NDArray[np.bool_] | None = None
    is_mined: bool = False


@dataclass(frozen=True)
class Estimate:
    """A figure with its 95 % interval.

    Parameters
    ----------
    value
        The estimate.
    low, high
        The ends of its interval.
    """

    value: float
    low: float
    high: float

    def to_dict(self, name: str = "value") -> dict[str, float]:
        """Return the estimate as JSON holds it, the figure itself under a name."""
        return {name: self.value, "low": self.low, "high": self.high}


@dataclass(frozen=True)
class Calibration:
    """Beliefs of one attack, compared with the truth.

    Parameters
    ----------
    believed
        The people about whom the adversary believes some value above the limit.
    right
        How often the belief is true, among them; None if there is nobody.
    baseline
        How often the best guess without the attack, their bucket's most frequent value, is true
        of the same people; None if there is nobody.
    wrongly_believed
        The people of whom something false is believed above the limit.
    exposed
        The people above 1.2 times the limit after calibration; what the gate judges. The larger
        of the counts by the slope and by the law of the table, with the bands of belief that were
        right.
    slope
        The calibration slope: 1 means calibrated, 0 worthless. None if too few people are
        informative; `believed` then takes the place of the count by the slope.
    n_informative
        The people who tell something about the slope.
    n_in_bands
        The part of `exposed` that counts because their band of belief was right often enough,
        whatever the slope.
    n_by_law
        The people above 1.2 times the limit for somebody who knows how likely each kind of people
        has the value, as the table itself says; 0 if the attack mines no such law.
    slopes
        The slope of each value that has one of its own, by value. Holds values of the table.
    """

    believed: int
    right: Estimate | None
    baseline: float | None
    wrongly_believed: int
    exposed: int
    slope: Estimate | None
    n_informative: int
    n_in_bands: int = 0
    n_by_law: int = 0
    slopes: Mapping[str, Estimate] = field(default_factory=dict)

    @property
    def is_calibrated(self) -> bool:
        """Whether there were enough informative people to calibrate by."""
        return self.slope is not None

    def to_dict(self) -> dict[str, object]:
        """Return the figures as JSON holds them, without any value of the table."""
        return {
            "believed": self.believed,
            "right": None if self.right is None else self.right.to_dict("rate"),
            "baseline": self.baseline,
            "wrongly_believed": self.wrongly_believed,
            "exposed": self.exposed,
            "slope": None if self.slope is None else self.slope.to_dict(),
            "informative": self.n_informative,
            "exposed_by_law": self.n_by_law,
        }
