"""What a release promises, in types named after the promise.

A guarantee only states; whether it holds is decided by its checker in `shoal.checks`, from the
published files. *Bucket* means the rows that hide one another: rows with equal published
quasi-identifiers where the release is generalized, rows with one bucket number where it is
bucketized.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import ClassVar, cast

from shoal.core.confidentiality import MConfidentiality
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.foreground_safety import ForegroundSafety
from shoal.core.guarantee import NOT_MEMBERSHIP, Guarantee, protected_values
from shoal.core.joint_safety import JointSafety
from shoal.core.witnessed_guarantees import (
    BeliefGain,
    MatchingDiversity,
    RuleProtection,
    SlicedDiversity,
    WeightedMatchingDiversity,
)

__all__ = [
    "DISTANCES",
    "GUARANTEES",
    "AlphaK",
    "BeliefGain",
    "BucketSize",
    "DistinctDiversity",
    "EntropyDiversity",
    "ForegroundSafety",
    "FrequencyDiversity",
    "Guarantee",
    "JointSafety",
    "KAnonymity",
    "MConfidentiality",
    "MatchingDiversity",
    "RecursiveDiversity",
    "RuleProtection",
    "SlicedDiversity",
    "TCloseness",
    "WeightedMatchingDiversity",
    "guarantee_from_dict",
]

DISTANCES = ("equal", "ordered", "hierarchical")
"""The ground distances of t-closeness."""


@dataclass(frozen=True, kw_only=True)
class KAnonymity(Guarantee):
    """Every combination of published quasi-identifiers is shared by at least k rows.

    References
    ----------
    L. Sweeney, k-anonymity: a model for protecting privacy, 2002.
    """

    k: int
    name: ClassVar[str] = "k-anonymity"
    is_about_sensitive: ClassVar[bool] = False
    limits: ClassVar[str] = (
        "It says nothing about sensitive values: k rows may all carry the same one. "
        f"{NOT_MEMBERSHIP}."
    )

    def __post_init__(self) -> None:
        whole("k", self.k, least=1)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return f"every combination of quasi-identifiers is shared by at least {self.k} rows"

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return self.k


@dataclass(frozen=True, kw_only=True)
class BucketSize(Guarantee):
    """Every bucket of a bucketized release holds at least k rows.

    This is what k comes to where quasi-identifiers are published as they are. It is not
    k-anonymity: a person's line is found at once, only the sensitive value hides among k.
    """

    k: int
    name: ClassVar[str] = "bucket size"
    is_about_sensitive: ClassVar[bool] = False
    limits: ClassVar[str] = (
        "It is not k-anonymity: quasi-identifiers are published as they are, so a person's line, "
        f"or what a sliced release holds of them, can be found. {NOT_MEMBERSHIP}."
    )

    def __post_init__(self) -> None:
        whole("k", self.k, least=1)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return f"every bucket holds at least {self.k} rows"

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return self.k


@dataclass(frozen=True, kw_only=True)
class DistinctDiversity(Guarantee):
    """Every bucket holds at least ell different sensitive values.

    References
    ----------
    A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006.
    """

    ell: int
    name: ClassVar[str] = "distinct l-diversity"
    limits: ClassVar[str] = (
        "It bounds the number of values, not their shares: one value may still be almost "
        f"certain. {NOT_MEMBERSHIP}, and it assumes that nothing else is known about them."
    )

    def __post_init__(self) -> None:
        whole("ell", self.ell, least=1)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return f"every bucket holds at least {self.ell} different sensitive values"

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return self.ell


@dataclass(frozen=True, kw_only=True, init=False)
class FrequencyDiversity(Guarantee):
    """No sensitive value makes up more than 1/ell of a bucket.

    With `protect`, the given values count as one and the others are unconstrained.

    References
    ----------
    X. Xiao, Y. Tao, Anatomy: simple and effective privacy preservation, 2006, Definition 2.
    """

    ell: Fraction
    protect: tuple[str | None, ...] = field(default=(), repr=False)
    name: ClassVar[str] = "frequency l-diversity"
    limits: ClassVar[str] = (
        "The bound is that of an adversary who knows nothing but the release and takes every "
        f"assignment in a bucket as equally likely. {NOT_MEMBERSHIP}."
    )

    def __init__(self, *, ell: Number, protect: Sequence[str | None] = ()) -> None:
        object.__setattr__(self, "ell", _at_least_one("ell", ell))
        object.__setattr__(self, "protect", protected_values(protect))

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        what = "the protected values together make up" if self.protect else "no value makes up"
        more = "at most" if self.protect else "more than"
        return f"{what} {more} 1/{as_text(self.ell)} of a bucket"

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return 1 if self.protect else math.ceil(self.ell)

    @property
    def posterior_bound(self) -> Fraction:
        """The largest share of a value in a bucket."""
        return 1 / self.ell


@dataclass(frozen=True, kw_only=True, init=False)
class EntropyDiversity(Guarantee):
    """The entropy of the sensitive values in every bucket is at least log(ell).

    References
    ----------
    A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Definition 4.1.
    """

    ell: Fraction
    name: ClassVar[str] = "entropy l-diversity"
    limits: ClassVar[str] = (
        "It bounds an average over values: one value may be more likely than 1/l. "
        f"{NOT_MEMBERSHIP}, and it assumes that nothing else is known about them."
    )

    def __init__(self, *, ell: Number) -> None:
        object.__setattr__(self, "ell", _at_least_one("ell", ell))

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return f"the entropy of every bucket is at least log({as_text(self.ell)})"

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return math.ceil(self.ell)


@dataclass(frozen=True, kw_only=True, init=False)
class RecursiveDiversity(Guarantee):
    """In every bucket r_1 < c (r_ell + ... + r_m), counts sorted from the largest.

    References
    ----------
    A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Definition 4.2.
    """

    c: Fraction
    ell: int
    name: ClassVar[str] = "recursive (c, l)-diversity"
    limits: ClassVar[str] = (
        "It bounds the most frequent value by the rare ones, so large c allow a value that is "
        f"almost certain. {NOT_MEMBERSHIP}, and it assumes that nothing else is known about them."
    )

    def __init__(self, *, c: Number, ell: int) -> None:
        share = exact("c", c)
        if share <= 0:
            raise ParameterError(f"c must be above 0, not {as_text(share)}.")
        object.__setattr__(self, "c", share)
        object.__setattr__(self, "ell", whole("ell", ell, least=2))

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return (
            f"in every bucket the most frequent value is rarer than {as_text(self.c)} times all "
            f"from rank {self.ell} on together"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have: all with different values."""
        return self.ell + math.floor(1 / self.c)


@dataclass(frozen=True, kw_only=True, init=False)
class TCloseness(Guarantee):
    """The sensitive values of every bucket are distributed within t of the whole release.

    The distance is the earth mover's: with `equal` ground distance half the sum of absolute
    differences, with `ordered` by rank among the values of the release, with `hierarchical` by
    the level of the lowest common ancestor. With `protect`, the given values count as one and
    the others as another, and the distance is `equal`.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, t-closeness, 2007, Section 4.
    """

    t: Fraction
    distance: str = "equal"
    protect: tuple[str | None, ...] = field(default=(), repr=False)
    name: ClassVar[str] = "t-closeness"
    limits: ClassVar[str] = (
        "It bounds what a bucket tells beyond the whole table; what the whole table tells is "
        f"taken as known. {NOT_MEMBERSHIP}."
    )

    def __init__(
        self, *, t: Number, distance: str = "equal", protect: Sequence[str | None] = ()
    ) -> None:
        bound = exact("t", t)
        if not 0 <= bound <= 1:
            raise ParameterError(f"t must lie between 0 and 1, not {as_text(bound)}.")
        if distance not in DISTANCES:
            raise ParameterError(
                f"distance must be one of {', '.join(DISTANCES)}, not {distance!r}."
            )
        if protect and distance != "equal":
            raise ParameterError(
                f"protect= leaves two values, protected or not: distance {distance!r} has no "
                "meaning there.",
                hint="take distance='equal'.",
            )
        object.__setattr__(self, "t", bound)
        object.__setattr__(self, "distance", distance)
        object.__setattr__(self, "protect", protected_values(protect))

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        what = "share of protected values" if self.protect else "distribution of sensitive values"
        return (
            f"the {what} in every bucket is within {as_text(self.t)} of the whole release's "
            f"({self.distance} distance)"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return 1


@dataclass(frozen=True, kw_only=True, init=False)
class AlphaK(Guarantee):
    """Every bucket holds at least k rows, and no value makes up more than alpha of it.

    With `protect`, alpha bounds the given values, each for itself, and the others are
    unconstrained.

    References
    ----------
    R. Wong et al., (alpha, k)-anonymity, 2006.
    """

    alpha: Fraction
    k: int
    protect: tuple[str | None, ...] = field(default=(), repr=False)
    name: ClassVar[str] = "(alpha, k)-anonymity"
    limits: ClassVar[str] = (
        f"The bound is that of an adversary who knows nothing but the release. {NOT_MEMBERSHIP}."
    )

    def __init__(self, *, alpha: Number, k: int, protect: Sequence[str | None] = ()) -> None:
        share = exact("alpha", alpha)
        if not 0 < share <= 1:
            raise ParameterError(f"alpha must be above 0 and at most 1, not {as_text(share)}.")
        object.__setattr__(self, "alpha", share)
        object.__setattr__(self, "k", whole("k", k, least=1))
        object.__setattr__(self, "protect", protected_values(protect))

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        what = "no protected value" if self.protect else "no sensitive value"
        return (
            f"every bucket holds at least {self.k} rows, and {what} makes up more than "
            f"{as_text(self.alpha)} of it"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return self.k if self.protect else max(self.k, math.ceil(1 / self.alpha))

    @property
    def posterior_bound(self) -> Fraction:
        """The largest share of a value in a bucket."""
        return self.alpha


GUARANTEES: Mapping[str, type[Guarantee]] = {
    guarantee.name: guarantee
    for guarantee in cast(
        "tuple[type[Guarantee], ...]",
        (
            KAnonymity,
            BucketSize,
            DistinctDiversity,
            FrequencyDiversity,
            EntropyDiversity,
            RecursiveDiversity,
            MatchingDiversity,
            WeightedMatchingDiversity,
            TCloseness,
            AlphaK,
            MConfidentiality,
            BeliefGain,
            RuleProtection,
            SlicedDiversity,
            ForegroundSafety,
            JointSafety,
        ),
    )
}
"""Every guarantee by its name."""


def guarantee_from_dict(stated: Mapping[str, object]) -> Guarantee:
    """Read a guarantee as a manifest states it.

    Examples
    --------
    >>> guarantee_from_dict({"name": "k-anonymity", "k": 5})
    KAnonymity(k=5)
    """
    name = stated.get("name")
    known = GUARANTEES.get(name) if isinstance(name, str) else None
    if known is None:
        raise ParameterError(
            f"{name!r} is not a guarantee that this version of Shoal knows.",
            hint=f"the guarantees are {', '.join(GUARANTEES)}.",
        )
    parameters = {key: value for key, value in stated.items() if key not in ("name", "statement")}
    try:
        return known(**parameters)
    except TypeError:
        expected = ", ".join(one.name for one in fields(known))
        raise ParameterError(
            f"The parameters of {name} are {expected}; got {', '.join(parameters) or 'none'}."
        ) from None


def _at_least_one(name: str, value: Number) -> Fraction:
    number = exact(name, value)
    if number < 1:
        raise ParameterError(f"{name} must be at least 1, not {as_text(number)}.")
    return number
