"""A guarantee against an adversary who mines the release itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.guarantee import NOT_MEMBERSHIP, Guarantee

__all__ = ["POLICIES", "ForegroundSafety"]

POLICIES = ("pool", "prior", "half")
"""What may be assumed of signatures with too few rows."""


@dataclass(frozen=True, kw_only=True, init=False)
class ForegroundSafety(Guarantee):
    """Nobody is linked to a value with more than 1/r by what the release says of kinds of people.

    The adversary takes every set of quasi-identifiers with a signature that J = ln(2/sigma) /
    (2 epsilon^2) rows have, finds the chances of its signatures from all buckets, weighs the worlds
    of each bucket by them, and believes the largest result over all sets. Where the chances have
    several solutions, she believes the mean over all maxima that are reached from a published list
    of starts, weighted by their likelihood.

    Parameters
    ----------
    value
        The values that are protected together; none where every value is, by itself.
    r
        Nobody is linked with more than 1/r.
    epsilon, sigma
        How many rows of a signature are enough.
    policy
        What is assumed of signatures with fewer: ``pool``, ``prior`` or ``half``.

    References
    ----------
    R. Wong, A. Fu, K. Wang, Y. Xu, P. Yu, Can the utility of anonymized data be used for privacy
    breaches?, 2011, Sections 3 and 4.
    """

    value: tuple[str | None, ...] = field(default=(), repr=False)
    r: Fraction
    epsilon: Fraction = Fraction(1, 100)
    sigma: Fraction = Fraction(9, 10)
    policy: str = "pool"
    name: ClassVar[str] = "foreground safety"
    limits: ClassVar[str] = (
        "It holds against the adversary who takes sets of quasi-identifiers one by one, relies on "
        "signatures with enough rows, and weighs all solutions of the equations by their "
        "likelihood. It does not hold against one who takes a single solution for the truth, has a "
        "single model of all quasi-identifiers, relies on fewer rows, or knows how buckets were "
        "put together. "
        f"{NOT_MEMBERSHIP}."
    )

    def __init__(
        self,
        *,
        value: str | Sequence[str | None] = (),
        r: Number,
        epsilon: Number = 0.01,
        sigma: Number = 0.9,
        policy: str = "pool",
    ) -> None:
        bound = exact("r", r)
        if bound < 1:
            raise ParameterError(f"r must be at least 1, not {as_text(bound)}.")
        if policy not in POLICIES:
            raise ParameterError(f"policy must be one of {', '.join(POLICIES)}, not {policy!r}.")
        for name, given in (("epsilon", epsilon), ("sigma", sigma)):
            number = exact(name, given)
            if not 0 < number <= 1:
                raise ParameterError(
                    f"{name} must be above 0 and at most 1, not {as_text(number)}."
                )
            object.__setattr__(self, name, number)
        object.__setattr__(self, "value", _checked(value))
        object.__setattr__(self, "r", bound)
        object.__setattr__(self, "policy", policy)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        what = "the protected values" if self.value else "a sensitive value"
        return (
            f"nobody is linked to {what} with more than 1/{as_text(self.r)} by what the release "
            "says of kinds of people, mined from signatures of at least "
            f"{self.n_enough} rows (policy {self.policy}) and weighed over all solutions found"
        )

    @property
    def n_enough(self) -> int:
        """The fewest rows with a signature that count as enough."""
        log = math.log(2 * self.sigma.denominator) - math.log(self.sigma.numerator)
        return math.ceil(Fraction(log) / (2 * self.epsilon**2))

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return 1 if self.value else math.ceil(self.r)


def _checked(value: object) -> tuple[str | None, ...]:
    values = (value,) if isinstance(value, str) else value
    if not isinstance(values, list | tuple) or not all(
        one is None or isinstance(one, str) for one in values
    ):
        raise ParameterError(
            "value must be a sensitive value, or a list of several.",
            hint="leave it out to protect every value.",
        )
    return tuple(dict.fromkeys(values))
