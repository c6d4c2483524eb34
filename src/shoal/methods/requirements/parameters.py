"""The parameters by which methods are asked for requirements, checked in one place.

Methods that take any requirement have them under the same names: `ell`, `diversity`, `c`, `t`,
`distance` and `protect`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

from shoal.core.errors import ParameterError, SchemaError
from shoal.core.exact import Number, exact, whole
from shoal.core.guarantees import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    RecursiveDiversity,
)
from shoal.core.schema import Schema

__all__ = [
    "Distance",
    "Diversity",
    "check_choice",
    "check_hierarchy",
    "check_partners",
    "check_protect",
    "diversity_guarantee",
    "read_ell",
]

Diversity = Literal["distinct", "frequency", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]


def check_choice(
    name: str, got: object, allowed: Sequence[str], *, is_optional: bool = False
) -> None:
    """Refuse a word that is not among those allowed.

    Raises
    ------
    ParameterError
        It names the words that are.
    """
    if got not in allowed and not (got is None and is_optional):
        raise ParameterError(f"{name} must be one of {', '.join(allowed)}, not {got!r}.")


def check_partners(
    *,
    ell: Number | None,
    diversity: str | None,
    c: Number | None,
    t: Number | None,
    distance: str,
) -> None:
    """Refuse parameters that stand without the one they belong to.

    Raises
    ------
    ParameterError
        It names the one that is lacking.
    """
    if ell is None and diversity is not None:
        raise ParameterError(
            f"diversity={diversity!r} needs ell; got none.", hint="for example ell=3."
        )
    if (c is not None) != (diversity == "recursive"):
        raise ParameterError(
            "c is needed with diversity='recursive', and only there; got "
            f"{'one' if c is not None else 'none'} with diversity={diversity!r}.",
            hint="recursive (c, ell)-diversity takes both, for example c=2, ell=3.",
        )
    if t is None and distance != "equal":
        raise ParameterError(f"distance={distance!r} needs t; got none.", hint="for example t=0.2.")


def check_protect(*, ell: Number | None, t: Number | None, diversity: str | None) -> None:
    """Refuse protected values where no requirement is about them.

    Raises
    ------
    ParameterError
        Where that is so, or the kind of diversity bounds no share.
    """
    if ell is None and t is None:
        raise ParameterError(
            "protect says which sensitive values ell or t is about; got neither.",
            hint="for example ell=4, or t=0.2.",
        )
    if diversity not in (None, "frequency"):
        raise ParameterError(
            f"protect bounds a share, so it goes with diversity='frequency'; got {diversity!r}.",
            hint="leave diversity out.",
        )


def read_ell(ell: Number, diversity: str | None) -> int | Fraction:
    """Read ell, which is a whole number where values are counted.

    Examples
    --------
    >>> read_ell("2.5", "entropy"), read_ell(3, "distinct")
    (Fraction(5, 2), 3)
    """
    if diversity in ("frequency", "entropy"):
        number = exact("ell", ell)
        return int(number) if number.denominator == 1 else number
    return whole("ell", ell, least=1)


def diversity_guarantee(
    ell: Number, diversity: str | None, c: Number | None, protect: Sequence[str | None]
) -> Guarantee:
    """Give the guarantee of a kind of diversity.

    Examples
    --------
    >>> diversity_guarantee(3, "distinct", None, ())
    DistinctDiversity(ell=3)
    """
    if diversity == "frequency":
        return FrequencyDiversity(ell=ell, protect=protect)
    if diversity == "entropy":
        return EntropyDiversity(ell=ell)
    number = whole("ell", ell, least=1)
    if diversity == "recursive":
        assert c is not None
        return RecursiveDiversity(c=c, ell=number)
    return DistinctDiversity(ell=number)


def check_hierarchy(schema: Schema, distance: str) -> None:
    """Refuse the hierarchical distance where the sensitive column has no hierarchy.

    Raises
    ------
    SchemaError
        Where that is so.
    """
    if distance == "hierarchical" and schema.sensitive[0] not in schema.hierarchies:
        raise SchemaError(
            f"distance='hierarchical' needs a hierarchy of the sensitive column "
            f"{schema.sensitive[0]!r}; the schema has none.",
            hint="give it one: hierarchies={...}, or take distance='equal'.",
        )
