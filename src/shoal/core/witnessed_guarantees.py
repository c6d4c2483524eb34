"""Guarantees against an adversary who knows something beside the release.

The published files do not say what she knows. A checker is given that as a witness; without it, it
can confirm such a guarantee in part only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.guarantee import BANDWIDTH, NOT_MEMBERSHIP, Guarantee
from shoal.core.rule_thresholds import check_gamma, read_delta

__all__ = [
    "BeliefGain",
    "MatchingDiversity",
    "RuleProtection",
    "SlicedDiversity",
    "WeightedMatchingDiversity",
]


@dataclass(frozen=True, kw_only=True)
class MatchingDiversity(Guarantee):
    """Every row of a bucket has at least ell valid values, given what negative rules forbid.

    A value is valid for a row if some one-to-one assignment of the bucket's values to its rows
    gives it to the row, and no row a value that a rule forbids.

    References
    ----------
    T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Definition 1.
    """

    ell: int
    name: ClassVar[str] = "matching l-diversity"
    needs_witness: ClassVar[str] = "forbidden"
    limits: ClassVar[str] = (
        "It holds against an adversary who knows what the negative rules say and nothing more: one "
        "who also knows how buckets are formed may learn more about rows that joined a bucket "
        "late. It bounds the number of values, not their probabilities: one value may still be "
        f"almost certain. {NOT_MEMBERSHIP}."
    )

    def __post_init__(self) -> None:
        whole("ell", self.ell, least=1)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return (
            f"every person of a bucket has at least {self.ell} sensitive values that some "
            "assignment allows, given the adversary's negative rules"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return self.ell


@dataclass(frozen=True, kw_only=True)
class WeightedMatchingDiversity(Guarantee):
    """No row has a value with probability above 1/ell, over all assignments that rules allow.

    Every one-to-one assignment of the bucket's values to its rows that gives no row a value which
    a rule forbids is equally likely. The posterior of a value for a row is the share of the
    assignments that give it to the row.

    References
    ----------
    T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Definition 1,
    with probabilities in place of possibilities; that is not in the paper.
    """

    ell: int
    name: ClassVar[str] = "weighted matching l-diversity"
    needs_witness: ClassVar[str] = "forbidden"
    limits: ClassVar[str] = (
        "It holds against an adversary who knows what the negative rules say and nothing more, and "
        "who takes all assignments that they allow to be equally likely: one who knows that some "
        "values are more likely for some people, or how buckets are formed, may learn more. "
        f"{NOT_MEMBERSHIP}."
    )

    def __post_init__(self) -> None:
        whole("ell", self.ell, least=1)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return (
            f"no person has a sensitive value with a probability above 1/{self.ell}, if all "
            "assignments that the adversary's negative rules allow are equally likely"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return self.ell

    @property
    def posterior_bound(self) -> Fraction:
        """The largest share of a value in a bucket, which is the mean of its rows' posteriors."""
        return Fraction(1, self.ell)


@dataclass(frozen=True, kw_only=True, init=False)
class BeliefGain(Guarantee):
    """No belief about a row changes by more than t when the release is seen.

    The prior belief about a row is estimated from the rows near to it: those at a distance of the
    bandwidth or more in any quasi-identifier have no weight. The posterior is the Omega estimate,
    and the change is the Jensen-Shannon distance between both.

    References
    ----------
    T. Li, N. Li, J. Zhang, Modeling and integrating background knowledge in data anonymization,
    2009: (B, t)-privacy.
    """

    t: Fraction
    bandwidth: Fraction = Fraction(BANDWIDTH)
    name: ClassVar[str] = "bounded belief gain"
    needs_witness: ClassVar[str] = "beliefs"
    limits: ClassVar[str] = (
        "It bounds what the release adds to what was believed before, which may be much already, "
        "for an adversary with this bandwidth; it says nothing about others. It bounds the Omega "
        "estimate of her posterior; in small buckets the exact one may be further away. "
        f"{NOT_MEMBERSHIP}."
    )

    def __init__(self, *, t: Number, bandwidth: Number = BANDWIDTH) -> None:
        for name, given in (("t", t), ("bandwidth", bandwidth)):
            bound = exact(name, given)
            if not 0 <= bound <= 1:
                raise ParameterError(f"{name} must lie between 0 and 1, not {as_text(bound)}.")
            object.__setattr__(self, name, bound)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return (
            f"no posterior belief lies further than {as_text(self.t)} (Jensen-Shannon distance) "
            f"from the prior, for an adversary with bandwidth {as_text(self.bandwidth)}"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return 1


_PREDICTS = {
    "public": "fires at a private cell",
    "paper": "fires at private cells and is right about a share of at least {delta} of them",
    "oblivious": "fires at a private cell; for each column that has private cells the same columns "
    "are blanked wherever it is private, whatever the values are",
}
"""What no rule does, by the mode in which cells were blanked."""


@dataclass(frozen=True, kw_only=True, init=False)
class RuleProtection(Guarantee):
    """No rule that can be mined from the visible cells predicts a private one.

    A rule says: who shows all this has that value in that column. Its support is the number of
    rows that show its antecedent and its column, its confidence the share of these that has the
    value.

    Parameters
    ----------
    delta
        The least confidence of a rule.
    gamma
        Its least support: a whole number of rows, or a share of them.
    mode
        Whether a rule fires at private cells at all (`public`), is right about them (`paper`), or
        neither fires nor has the choice of blanked cells depend on values (`oblivious`).

    References
    ----------
    C. C. Aggarwal, J. Pei, B. Zhang, On privacy preservation against adversarial data mining,
    2006, Sections 2 and 3.
    """

    delta: Fraction
    gamma: int | Fraction
    mode: str = "public"
    name: ClassVar[str] = "no adversarial rule"
    is_about_sensitive: ClassVar[bool] = False
    needs_witness: ClassVar[str] = "private cells"
    limits: ClassVar[str] = (
        "It is about rules of that confidence and support whose antecedent names at least one "
        "column, over values as they are written: rules of lower support, and values that are "
        "common in their whole column, may still give private cells away; so does the choice of "
        "private cells, where it follows from what they hold. It does not bind a learner: one who "
        "knows the algorithm and takes the pattern of blanks into account predicts many private "
        "cells better. It hides cells, not people: who knows other cells of a row may find it. "
        f"{NOT_MEMBERSHIP}."
    )

    def __init__(self, *, delta: Number, gamma: Number, mode: str = "public") -> None:
        if str(mode) not in _PREDICTS:
            raise ParameterError(f"mode must be one of {', '.join(_PREDICTS)}, not {mode!r}.")
        values = {"delta": read_delta(delta), "gamma": check_gamma(gamma), "mode": mode}
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def to_dict(self) -> dict[str, object]:
        """Give the guarantee as the manifest states it; all rows, as a share, are not one row."""
        stated = super().to_dict()
        return stated | ({"gamma": "1.0"} if stated["gamma"] == "1" else {})

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        support = (
            f"{self.gamma} rows"
            if isinstance(self.gamma, int)
            else f"{as_text(self.gamma)} of the rows"
        )
        predicts = _PREDICTS[self.mode].format(delta=as_text(self.delta))
        return (
            f"no rule with a support of at least {support} and a confidence of at least "
            f"{as_text(self.delta)} {predicts}"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have; rows are not grouped."""
        return 1


@dataclass(frozen=True, kw_only=True, init=False)
class SlicedDiversity(Guarantee):
    """What is inferred of a person's sensitive values from a sliced release stays diverse.

    A person matches a bucket that holds their values in every column. What is believed of a
    sensitive value is its share among the rows of these buckets that agree with them, weighed by
    how likely each bucket is theirs.

    Parameters
    ----------
    ell
        No value is believed more than 1/ell, or at least ell values stay possible.
    diversity
        Which of both: ``frequency`` or ``distinct``.

    References
    ----------
    [Slicing] Sections 3 and 4.3 (T. Li, N. Li, J. Zhang, I. Molloy, Slicing: a new approach for
    privacy preserving data publishing, 2012).
    """

    ell: Fraction
    diversity: str = "frequency"
    name: ClassVar[str] = "sliced l-diversity"
    needs_witness: ClassVar[str] = "tuples"
    limits: ClassVar[str] = (
        "It bounds what matching and counting give, person by person. Where a person matches one "
        "bucket only (strict cuts) nothing more can be inferred from the release; where several "
        "(relaxed cuts, random buckets), who puts everybody's values together may infer more. It "
        "does not hold against an adversary who knows more than the values that are known of the "
        "person. Column values are published as they are: who has a rare one can be seen to be in "
        "the table."
    )

    def __init__(self, *, ell: Number, diversity: str = "frequency") -> None:
        bound = exact("ell", ell)
        if bound < 1:
            raise ParameterError(f"ell must be at least 1, not {as_text(bound)}.")
        if diversity not in ("frequency", "distinct"):
            raise ParameterError(
                f"diversity must be one of frequency, distinct, not {diversity!r}."
            )
        object.__setattr__(self, "ell", bound)
        object.__setattr__(self, "diversity", diversity)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        if self.diversity == "distinct":
            return f"at least {as_text(self.ell)} sensitive values stay possible for every person"
        return (
            "no sensitive value is believed of a person more than 1/"
            f"{as_text(self.ell)} by the buckets that they match"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return math.ceil(self.ell)

    @property
    def posterior_bound(self) -> Fraction | None:
        """The largest belief in one value, where it is bounded."""
        return 1 / self.ell if self.diversity == "frequency" else None
