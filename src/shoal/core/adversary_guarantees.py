"""Guarantees against an adversary who has more than the counts of the buckets.

The adversary knows rules or prior beliefs, matches people with a sliced release, mines the release
itself, or has earlier releases. Where the published files do not contain that knowledge, the
checker is given it as a witness; without it, it confirms the guarantee only in part.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar

from shoal.core.declared import declared
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, check_gamma
from shoal.core.guarantees import BANDWIDTH, NOT_MEMBERSHIP, Guarantee
from shoal.core.parameters import (
    Converted,
    Exact,
    Values,
    amount,
    choice,
    exact_number,
    parameter,
    values,
    whole_number,
)


@declared
class MatchingDiversity(Guarantee):
    """Every row of a bucket has at least ell valid values, given what negative rules forbid.

    A value is valid for a row if some one-to-one assignment of the bucket's values to its rows
    gives it to the row, and no row a value that a rule forbids.

    References
    ----------
    T. Li, N. Li, Injector: mining background knowledge for data anonymization, 2008, Definition 1.
    """

    ell: int = whole_number("The fewest values that a row can have.", least=1)
    name: ClassVar[str] = "matching l-diversity"
    promise: ClassVar[str] = (
        "every person of a bucket has at least {ell} sensitive values that some assignment allows, "
        "given the adversary's negative rules"
    )
    fewest: ClassVar[str] = "ell"
    needs_witness: ClassVar[str] = "forbidden"
    limits: ClassVar[str] = (
        "It holds against an adversary who knows what the negative rules say and nothing more: one "
        "who also knows how buckets are formed may learn more about rows that were added to a "
        "bucket late. It bounds the number of values, not their probabilities: one value may still "
        f"be almost certain. {NOT_MEMBERSHIP}."
    )


@declared
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

    ell: int = whole_number("No value is more likely than 1/ell.", least=1)
    name: ClassVar[str] = "weighted matching l-diversity"
    promise: ClassVar[str] = (
        "no person has a sensitive value with a probability above 1/{ell}, if all assignments that "
        "the adversary's negative rules allow are equally likely"
    )
    fewest: ClassVar[str] = "ell"
    needs_witness: ClassVar[str] = "forbidden"
    limits: ClassVar[str] = (
        "It holds against an adversary who knows what the negative rules say and nothing more, and "
        "who takes all assignments that they allow to be equally likely: one who knows that some "
        "values are more likely for some people, or how buckets are formed, may learn more. "
        f"{NOT_MEMBERSHIP}."
    )

    @property
    def posterior_bound(self) -> Fraction:
        """The largest possible share of a value in a bucket: the mean of its rows' posteriors."""
        return Fraction(1, self.ell)


@declared
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

    t: Exact = exact_number("The largest change of a belief.", at_least=0, at_most=1)
    bandwidth: Exact = exact_number(
        "The distance up to which others count for the belief about a person.",
        default=BANDWIDTH,
        at_least=0,
        at_most=1,
    )
    name: ClassVar[str] = "bounded belief gain"
    promise: ClassVar[str] = (
        "no posterior belief lies further than {t} (Jensen-Shannon distance) from the prior, for "
        "an adversary with bandwidth {bandwidth}"
    )
    needs_witness: ClassVar[str] = "beliefs"
    limits: ClassVar[str] = (
        "It bounds what the release adds to earlier beliefs, which may already be strong, for an "
        "adversary with this bandwidth; it does not cover other adversaries. It bounds the Omega "
        "estimate of her posterior; in small buckets the exact posterior may be further away. "
        f"{NOT_MEMBERSHIP}."
    )


_PREDICTS = {
    "public": "fires at a private cell",
    "paper": "fires at private cells and is right about a share of at least {delta} of them",
    "oblivious": "fires at a private cell; for each column that has private cells the same columns "
    "are blanked wherever it is private, whatever the values are",
}
"""What no rule does, by the mode in which cells were blanked."""


@declared
class RuleProtection(Guarantee):
    """No rule that can be mined from the visible cells predicts a private one.

    A rule states that people with the values of its antecedent have a certain value in a column.
    Its support is the number of rows that show its antecedent and its column, its confidence the
    share of these that have the value.

    References
    ----------
    C. C. Aggarwal, J. Pei, B. Zhang, On privacy preservation against adversarial data mining,
    2006, Sections 2 and 3.
    """

    delta: Exact = exact_number(
        "The minimum confidence of a rule.", above=0, at_most=1, hint="for example 0.8."
    )
    gamma: Converted[Number, int | Fraction] = amount(
        "The minimum support of a rule: a number of rows if it is an integer, or else a share.",
        check_gamma,
    )
    mode: str = choice(
        "Whether a rule may fire at private cells: not at all (`public`), only if it is wrong "
        "(`paper`), or not at all, with blanked cells that no value decided (`oblivious`).",
        tuple(_PREDICTS),
        default="public",
    )
    name: ClassVar[str] = "no adversarial rule"
    is_about_sensitive: ClassVar[bool] = False
    needs_witness: ClassVar[str] = "private cells"
    limits: ClassVar[str] = (
        "It covers rules of that confidence and support whose antecedent names at least one "
        "column, over values as they are written. Rules of lower support, values that are common "
        "in their whole column, and the choice of the private cells, if it depends on what they "
        "contain, may still reveal private cells. It does not cover learners: one that knows the "
        "algorithm and uses the pattern of blanks predicts many private cells better. It hides "
        "cells, not people: an adversary who knows other cells of a row may find it. "
        f"{NOT_MEMBERSHIP}."
    )

    def to_dict(self) -> dict[str, object]:
        """Return the form of the manifest; a share of all rows is "1.0", since "1" is one row."""
        stated = super().to_dict()
        return stated | ({"gamma": "1.0"} if stated["gamma"] == "1" else {})

    @property
    def statement(self) -> str:
        """The promise in words."""
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


@declared
class SlicedDiversity(Guarantee):
    """The sensitive values that a sliced release allows for a person stay diverse.

    A person matches a bucket that holds their values in every column. The belief in a sensitive
    value is its share among the rows of these buckets that agree with the person's values, weighted
    by the probability that each bucket is theirs.

    References
    ----------
    [Slicing] Sections 3 and 4.3 (T. Li, N. Li, J. Zhang, I. Molloy, Slicing: a new approach for
    privacy preserving data publishing, 2012).
    """

    ell: Exact = exact_number("How diverse every person's sensitive value stays.", at_least=1)
    diversity: str = choice(
        "Whether no value is believed more than 1/ell (`frequency`), or at least ell values stay "
        "possible (`distinct`).",
        ("frequency", "distinct"),
        default="frequency",
    )
    name: ClassVar[str] = "sliced l-diversity"
    fewest: ClassVar[str] = "ell"
    needs_witness: ClassVar[str] = "tuples"
    limits: ClassVar[str] = (
        "It bounds what matching and counting reveal, person by person. If every person matches "
        "one bucket only (strict cuts), nothing more can be inferred from the release; otherwise "
        "(relaxed cuts, random buckets) an adversary who combines the values of all people may "
        "infer more. It does not hold against an adversary who knows more about a person than the "
        "values that are assumed to be known. Column values are published unchanged, so anyone "
        "can see that a person with a rare value is in the table."
    )

    @property
    def statement(self) -> str:
        """The promise in words."""
        if self.diversity == "distinct":
            return f"at least {as_text(self.ell)} sensitive values stay possible for every person"
        return (
            "no sensitive value is believed of a person more than 1/"
            f"{as_text(self.ell)} by the buckets that they match"
        )

    @property
    def posterior_bound(self) -> Fraction | None:
        """The largest possible belief in one value; None if it is not bounded."""
        return 1 / self.ell if self.diversity == "frequency" else None


POLICIES = ("pool", "prior", "half")
"""The assumptions about signatures with too few rows."""


def epsilon_parameter() -> Any:
    """Declare epsilon."""
    return exact_number(
        "How far the share of the value among the rows of a signature may be off.",
        default="0.01",
        above=0,
        at_most=1,
    )


def sigma_parameter() -> Any:
    """Declare sigma."""
    return exact_number(
        "The largest chance that it is off by more than epsilon; with epsilon it says how many "
        "rows of a signature are enough.",
        default="0.9",
        above=0,
        at_most=1,
    )


def policy_parameter() -> Any:
    """Declare the assumption about signatures with too few rows."""
    return choice(
        "What is assumed of signatures with too few rows: that they share one chance, found with "
        "the others (`pool`), that of the whole release (`prior`), or one half (`half`).",
        POLICIES,
        default="pool",
    )


@declared
class ForegroundSafety(Guarantee):
    """Nobody is linked to a value with a probability above 1/r by mining the release itself.

    The adversary takes every set of quasi-identifiers with a signature that J = ln(2/sigma) /
    (2 epsilon^2) rows have, finds the probabilities of its signatures from all buckets, weights the
    worlds of each bucket by them, and believes the largest result over all sets. If the equations
    have several solutions, she believes the mean over all maxima that are reached from a published
    list of starting points, weighted by their likelihood.

    References
    ----------
    R. Wong, A. Fu, K. Wang, Y. Xu, P. Yu, Can the utility of anonymized data be used for privacy
    breaches?, 2011, Sections 3 and 4.
    """

    value: Values = values(
        "The values that are protected as one. Default: every value by itself.",
        default=(),
        only_texts=True,
    )
    r: Exact = exact_number("Nobody is linked to the value with more than 1/r.", at_least=1)
    epsilon: Exact = epsilon_parameter()
    sigma: Exact = sigma_parameter()
    policy: str = policy_parameter()
    name: ClassVar[str] = "foreground safety"
    limits: ClassVar[str] = (
        "It holds against the adversary who takes sets of quasi-identifiers one by one, relies on "
        "signatures with enough rows, and weighs all solutions of the equations by their "
        "likelihood. It does not hold against one who takes a single solution for the truth, has a "
        "single model of all quasi-identifiers, relies on fewer rows, or knows how buckets were "
        "put together. "
        f"{NOT_MEMBERSHIP}."
    )

    @property
    def statement(self) -> str:
        """The promise in words."""
        what = "the protected values" if self.value else "a sensitive value"
        return (
            f"nobody is linked to {what} with more than 1/{as_text(self.r)} by what the release "
            "says of kinds of people, mined from signatures of at least "
            f"{self.n_enough} rows (policy {self.policy}) and weighed over all solutions found"
        )

    @property
    def n_enough(self) -> int:
        """The number of rows with a signature that count as enough: J of the paper, rounded up."""
        log = math.log(2 * self.sigma.denominator) - math.log(self.sigma.numerator)
        return math.ceil(Fraction(log) / (2 * self.epsilon**2))

    @property
    def least_bucket(self) -> int:
        """The smallest possible size of a bucket."""
        return 1 if self.value else math.ceil(self.r)


_DIGEST = re.compile("[0-9a-f]{64}")


def _read_digests(_: str, earlier: Sequence[str]) -> tuple[str, ...]:
    named = tuple(earlier)
    is_whole = all(_DIGEST.fullmatch(str(one)) for one in named)
    if isinstance(earlier, str) or not named or not is_whole:
        raise ParameterError(
            "Joint safety names each earlier release by the SHA-256 of its manifest."
        )
    return named


@declared
class JointSafety(Guarantee):
    """The promises about sensitive values also hold for a reader of earlier releases.

    Notes
    -----
    For each earlier release, the checker confirms:

    1. All people of a bucket of this release are in one and the same bucket of the earlier one,
       or none of them is in it.
    2. Beyond the buckets of this release within it, an earlier bucket holds as many values as it
       has people who are not in this release, so no value changed in between. If this release
       has some but not all people of an earlier bucket, the values of the others keep every
       other guarantee of this release as a bucket of their own.

    This is sufficient. A world assigns a value to every person so that each bucket of every
    release holds what it publishes. By 1 an earlier bucket E consists of buckets N_1, ..., N_m of
    this release and of people R who are not in it. Every world of this release assigns exactly
    the values of N_1, ..., N_m to the people of these buckets. So E says nothing about them: it
    only says that R has the values of E without those of N_1, ..., N_m. The worlds of all
    releases are therefore the worlds of this one, each combined with every assignment to people
    outside it. Each person of this release has a value in the same share of them as in the worlds
    of this release alone, whatever else an adversary knows about single people. The people R have
    the values of condition 2, each assignment being equally likely.

    It is also necessary that every earlier bucket whose people are all in this release keeps the
    bound itself: the mean of its people's posteriors is its share, in any release.
    """

    earlier: Converted[Sequence[str], tuple[str, ...]] = parameter(
        "The SHA-256 of the `manifest.json` of each earlier release.",
        _read_digests,
        takes="a list of digests",
        schema={"type": "array", "items": {"type": "string"}, "minItems": 1},
    )
    name: ClassVar[str] = "joint safety"
    needs_witness: ClassVar[str] = "earlier releases"
    limits: ClassVar[str] = (
        "It is about the earlier releases that it names and no others. It covers what the other "
        "guarantees promise about sensitive values, not how quasi-identifiers of different "
        "releases can be linked. It does not hide who is in the table, or who joined or left it."
    )

    @property
    def statement(self) -> str:
        """The promise in words."""
        n_earlier = len(self.earlier)
        which, their = f"the {n_earlier} earlier releases named by their digests", "their"
        if n_earlier == 1:
            which, their = "the earlier release named by its digest", "its"
        return (
            "what the other guarantees promise about sensitive values also holds for a reader of "
            f"{which}, because {their} buckets are unions of buckets of this one"
        )
