"""The guarantees of a release, as types named after their promise: the base, and those on buckets.

A guarantee only states a promise; its checker in `shoal.checks` decides from the published files
whether it holds. A *bucket* is a set of rows that hide one another: rows with equal published
quasi-identifiers in a generalized release, rows with one bucket number in a bucketized release.
Guarantees against a particular adversary are in `shoal.core.adversary_guarantees`.
"""

from __future__ import annotations

import math
from abc import ABC
from fractions import Fraction
from typing import ClassVar

from shoal.core.declared import Declared, declared, parameters_of, stated
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text
from shoal.core.parameters import Exact, Values, choice, exact_number, values, whole_number

BANDWIDTH = "0.3"
"""The default bandwidth: the distance up to which others count for the belief about a person."""

NOT_MEMBERSHIP = "It does not hide who is in the table"
"""No guarantee about buckets covers membership."""


@declared
class Guarantee(Declared, ABC):
    """Base class of every guarantee."""

    name: ClassVar[str]
    promise: ClassVar[str] = ""
    """The promise in words, with the names of parameters in braces."""
    limits: ClassVar[str]
    """What the guarantee does not cover, in a sentence or two."""
    fewest: ClassVar[str | None] = None
    """The parameter that no bucket is smaller than; None if a bucket may have one row."""
    is_about_sensitive: ClassVar[bool] = True
    """Whether it needs a sensitive column."""
    needs_witness: ClassVar[str | None] = None
    """The name of what its checker needs besides the published files; None if it needs nothing."""

    @property
    def statement(self) -> str:
        """The promise in words."""
        return self.promise.format_map(self._stated())

    @property
    def least_bucket(self) -> int:
        """The smallest possible size of a bucket if the guarantee holds."""
        return 1 if self.fewest is None else math.ceil(getattr(self, self.fewest))

    @property
    def posterior_bound(self) -> Fraction | None:
        """The largest possible share of a sensitive value in a bucket; None if not bounded."""
        return None

    def to_dict(self) -> dict[str, object]:
        """Return the guarantee in the form of the manifest."""
        given = {name: value for name, value in self._stated().items() if value != []}
        return {"name": self.name} | given

    def _stated(self) -> dict[str, object]:
        return {name: stated(getattr(self, name)) for name in parameters_of(type(self))}


DISTANCES = ("equal", "ordered", "hierarchical")
"""The ground distances of t-closeness."""


@declared
class KAnonymity(Guarantee):
    """Every combination of published quasi-identifiers is shared by at least k rows.

    References
    ----------
    L. Sweeney, k-anonymity: a model for protecting privacy, 2002.
    """

    k: int = whole_number("The fewest rows of a bucket.", least=1)
    name: ClassVar[str] = "k-anonymity"
    promise: ClassVar[str] = "every combination of quasi-identifiers is shared by at least {k} rows"
    fewest: ClassVar[str] = "k"
    is_about_sensitive: ClassVar[bool] = False
    limits: ClassVar[str] = (
        f"It does not cover sensitive values: all k rows may have the same one. {NOT_MEMBERSHIP}."
    )


@declared
class BucketSize(Guarantee):
    """Every bucket of a bucketized release holds at least k rows.

    This is the meaning of k if quasi-identifiers are published unchanged. It is not k-anonymity: a
    person's line can be found at once, and only the sensitive value hides among k.
    """

    k: int = whole_number("The fewest rows of a bucket.", least=1)
    name: ClassVar[str] = "bucket size"
    promise: ClassVar[str] = "every bucket holds at least {k} rows"
    fewest: ClassVar[str] = "k"
    is_about_sensitive: ClassVar[bool] = False
    limits: ClassVar[str] = (
        "It is not k-anonymity: quasi-identifiers are published unchanged, so the line of a person "
        f"or, in a sliced release, their values can be found. {NOT_MEMBERSHIP}."
    )


@declared
class DistinctDiversity(Guarantee):
    """Every bucket holds at least ell different sensitive values.

    References
    ----------
    A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006.
    """

    ell: int = whole_number("The fewest different values of a bucket.", least=1)
    name: ClassVar[str] = "distinct l-diversity"
    promise: ClassVar[str] = "every bucket holds at least {ell} different sensitive values"
    fewest: ClassVar[str] = "ell"
    limits: ClassVar[str] = (
        "It bounds the number of values, not their shares: one value may still be almost "
        f"certain. {NOT_MEMBERSHIP}, and it assumes that nothing else is known about them."
    )


@declared
class FrequencyDiversity(Guarantee):
    """No sensitive value makes up more than 1/ell of a bucket.

    With `protect`, the given values count as one and the others are unconstrained.

    References
    ----------
    X. Xiao, Y. Tao, Anatomy: simple and effective privacy preservation, 2006, Definition 2.
    """

    ell: Exact = exact_number("No value makes up more than 1/ell of a bucket.", at_least=1)
    protect: Values = values(
        "The values that count as one. Default: every value by itself.", default=(), only_texts=True
    )
    name: ClassVar[str] = "frequency l-diversity"
    limits: ClassVar[str] = (
        "It holds against an adversary who knows nothing but the release and considers all "
        f"assignments in a bucket equally likely. {NOT_MEMBERSHIP}."
    )

    @property
    def statement(self) -> str:
        """The promise in words."""
        what = "the protected values together make up" if self.protect else "no value makes up"
        more = "at most" if self.protect else "more than"
        return f"{what} {more} 1/{as_text(self.ell)} of a bucket"

    @property
    def least_bucket(self) -> int:
        """The smallest possible size of a bucket."""
        return 1 if self.protect else math.ceil(self.ell)

    @property
    def posterior_bound(self) -> Fraction:
        """The largest possible share of a value in a bucket."""
        return 1 / self.ell


@declared
class EntropyDiversity(Guarantee):
    """The entropy of the sensitive values in every bucket is at least log(ell).

    References
    ----------
    A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Definition 4.1.
    """

    ell: Exact = exact_number("The entropy of a bucket is at least log(ell).", at_least=1)
    name: ClassVar[str] = "entropy l-diversity"
    promise: ClassVar[str] = "the entropy of every bucket is at least log({ell})"
    fewest: ClassVar[str] = "ell"
    limits: ClassVar[str] = (
        "It bounds an average over values: one value may be more likely than 1/l. "
        f"{NOT_MEMBERSHIP}, and it assumes that nothing else is known about them."
    )


@declared
class RecursiveDiversity(Guarantee):
    """In every bucket r_1 < c (r_ell + ... + r_m), counts sorted from the largest.

    References
    ----------
    A. Machanavajjhala et al., l-diversity: privacy beyond k-anonymity, 2006, Definition 4.2.
    """

    c: Exact = exact_number(
        "The most frequent value occurs less than c times as often as the rarer ones together.",
        above=0,
    )
    ell: int = whole_number("The rank from which values count as rarer.", least=2)
    name: ClassVar[str] = "recursive (c, l)-diversity"
    promise: ClassVar[str] = (
        "in every bucket the most frequent value is rarer than {c} times all from rank {ell} on "
        "together"
    )
    limits: ClassVar[str] = (
        "It bounds the most frequent value by the rare ones, so a large c allows a value that is "
        f"almost certain. {NOT_MEMBERSHIP}, and it assumes that nothing else is known about them."
    )

    @property
    def least_bucket(self) -> int:
        """The smallest possible size of a bucket, reached if all its values are different."""
        return self.ell + math.floor(1 / self.c)


@declared
class TCloseness(Guarantee):
    """The sensitive values of every bucket are distributed within t of the whole release.

    The distance is the earth mover's distance: with `equal` ground distance half the sum of
    absolute differences, with `ordered` by rank among the values of the release, with
    `hierarchical` by the level of the lowest common ancestor. With `protect`, the given values
    count as one and the others as another, and the distance is `equal`.

    References
    ----------
    N. Li, T. Li, S. Venkatasubramanian, t-closeness, 2007, Section 4.
    """

    t: Exact = exact_number("The largest distance from the whole release.", at_least=0, at_most=1)
    distance: str = choice("How far values are apart.", DISTANCES, default="equal")
    protect: Values = values(
        "The values that count as one. Default: every value by itself.", default=(), only_texts=True
    )
    name: ClassVar[str] = "t-closeness"
    limits: ClassVar[str] = (
        "It bounds what a bucket reveals beyond the whole table; what the whole table reveals is "
        f"assumed to be known. {NOT_MEMBERSHIP}."
    )

    def check_parameters(self) -> None:
        """Refuse a ground distance other than `equal` if `protect` leaves only two values."""
        if self.protect and self.distance != "equal":
            raise ParameterError(
                f"protect= leaves two values, protected or not: distance {self.distance!r} has no "
                "meaning there.",
                hint="use distance='equal'.",
            )

    @property
    def statement(self) -> str:
        """The promise in words."""
        what = "share of protected values" if self.protect else "distribution of sensitive values"
        return (
            f"the {what} in every bucket is within {as_text(self.t)} of the whole release's "
            f"({self.distance} distance)"
        )


@declared
class AlphaK(Guarantee):
    """Every bucket holds at least k rows, and no value makes up more than alpha of it.

    With `protect`, alpha bounds each of the given values separately, and the others are
    unconstrained.

    References
    ----------
    R. Wong et al., (alpha, k)-anonymity, 2006.
    """

    alpha: Exact = exact_number("The largest share of a value in a bucket.", above=0, at_most=1)
    k: int = whole_number("The fewest rows of a bucket.", least=1)
    protect: Values = values(
        "The values that are bounded. Default: every value.", default=(), only_texts=True
    )
    name: ClassVar[str] = "(alpha, k)-anonymity"
    limits: ClassVar[str] = (
        f"It holds against an adversary who knows nothing but the release. {NOT_MEMBERSHIP}."
    )

    @property
    def statement(self) -> str:
        """The promise in words."""
        what = "no protected value" if self.protect else "no sensitive value"
        return (
            f"every bucket holds at least {self.k} rows, and {what} makes up more than "
            f"{as_text(self.alpha)} of it"
        )

    @property
    def least_bucket(self) -> int:
        """The smallest possible size of a bucket."""
        return self.k if self.protect else max(self.k, math.ceil(1 / self.alpha))

    @property
    def posterior_bound(self) -> Fraction:
        """The largest possible share of a value in a bucket."""
        return self.alpha


@declared
class MConfidentiality(Guarantee):
    """Every bucket has at least k rows, and at most 1/m of them show a protected value.

    Buckets follow from the quasi-identifiers alone; in buckets with a larger share, values were
    distorted. The promise of the paper is about a belief, and its proof assumes a prior that the
    text does not state. Any reader can confirm the size of every bucket and the share of the
    protected values in it, so the guarantee states these.

    References
    ----------
    R. Wong, A. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing, VLDB
    2007: m-confidentiality.

    Examples
    --------
    >>> MConfidentiality(m=4, k=10, protect=["HIV"]).posterior_bound
    Fraction(1, 4)
    """

    m: int = whole_number("At most 1/m of a bucket shows a protected value.", least=2)
    k: int = whole_number("The fewest rows of a bucket.", least=1)
    protect: Values = values("The values that are protected, which count as one.", only_texts=True)
    name: ClassVar[str] = "m-confidentiality"
    promise: ClassVar[str] = (
        "every bucket holds at least {k} rows, of which the protected values together make up at "
        "most 1/{m}, after values were distorted"
    )
    fewest: ClassVar[str] = "k"
    limits: ClassVar[str] = (
        "It bounds the share in every bucket. What an adversary who knows the algorithm believes "
        "depends on her earlier beliefs and may exceed 1/m; the minimality attack computes it. "
        "Values were distorted, so single values may be wrong. "
        f"{NOT_MEMBERSHIP}."
    )

    @property
    def posterior_bound(self) -> Fraction:
        """The largest possible share of the protected values in a bucket."""
        return Fraction(1, self.m)
