"""m-confidentiality: what MASK promises, as far as published files can tell.

The promise of the paper is about a belief, and its proof fixes a prior that the text does not
state. What any reader can confirm is the size of every bucket and the share of the protected values
in it; that is what the guarantee states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from shoal.core.errors import ParameterError
from shoal.core.exact import whole
from shoal.core.guarantee import NOT_MEMBERSHIP, Guarantee, protected_values

__all__ = ["MConfidentiality"]


@dataclass(frozen=True, kw_only=True, init=False)
class MConfidentiality(Guarantee):
    """Every bucket has at least k rows, and at most 1/m of them show a protected value.

    Buckets follow from the quasi-identifiers alone, and those that had more were given a share of
    others by distorting values.

    References
    ----------
    R. Wong, A. Fu, K. Wang, J. Pei, Minimality attack in privacy preserving data publishing, VLDB
    2007: m-confidentiality.

    Examples
    --------
    >>> MConfidentiality(m=4, k=10, protect=["HIV"]).posterior_bound
    Fraction(1, 4)
    """

    m: int
    k: int
    protect: tuple[str | None, ...] = field(repr=False)
    name: ClassVar[str] = "m-confidentiality"
    limits: ClassVar[str] = (
        "The share is bounded in every bucket; how much somebody who knows the algorithm believes "
        "follows from what she takes for likely beforehand, and may exceed 1/m: the attack "
        "minimality computes it. Values were distorted, so that single ones may be wrong. "
        f"{NOT_MEMBERSHIP}."
    )

    def __init__(self, *, m: int, k: int, protect: Sequence[str | None]) -> None:
        object.__setattr__(self, "m", whole("m", m, least=2))
        object.__setattr__(self, "k", whole("k", k, least=1))
        object.__setattr__(self, "protect", protected_values(protect))
        if not self.protect:
            raise ParameterError(
                "m-confidentiality needs the values to protect; got none.",
                hint="for example protect=['HIV'].",
            )

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        return (
            f"every bucket holds at least {self.k} rows, of which the protected values together "
            f"make up at most 1/{self.m}, after values were distorted"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return self.k

    @property
    def posterior_bound(self) -> Fraction:
        """The largest share of the protected values in a bucket."""
        return Fraction(1, self.m)
