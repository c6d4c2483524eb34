"""The parameters with which methods take requirements, declared and checked in one place.

Methods that accept any requirement use the same names: `ell`, `diversity`, `c`, `t`, `distance` and
`protect`.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Literal, get_args

from shoal.core.errors import ParameterError, SchemaError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.guarantees import (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    RecursiveDiversity,
)
from shoal.core.parameters import Converted, choice, exact_number, parameter, whole_number
from shoal.core.schema import Schema

Diversity = Literal["distinct", "frequency", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]


OptionalEll = Converted[Number | None, int | Fraction | None]


def k_parameter() -> Any:
    """Declare k."""
    return whole_number("The fewest rows of a bucket. Default: no bound.", default=None, least=1)


def ell_parameter() -> Any:
    """Declare ell; `diversity` determines what it counts."""
    return parameter(
        "How diverse the sensitive values of a bucket are. Default: no bound.",
        _read_ell,
        takes="a number of at least 1",
        schema={"type": ["number", "string"], "minimum": 1},
        default=None,
    )


def diversity_parameter() -> Any:
    """Declare the kind of diversity; it is frequency diversity if only some are protected."""
    return choice(
        "What ell counts: at least ell values (`distinct`), no value in more than 1/ell of the "
        "rows (`frequency`), an entropy of at least log(ell) (`entropy`), or (c, ell)-diversity "
        "(`recursive`). Default: distinct; with protect, frequency.",
        get_args(Diversity),
        default=None,
        otherwise=_usual_diversity,
    )


def c_parameter() -> Any:
    """Declare c."""
    return exact_number(
        "The parameter c of recursive diversity. Default: none, for other kinds.",
        default=None,
        above=0,
    )


def t_parameter() -> Any:
    """Declare t."""
    return exact_number(
        "How far a bucket's distribution of sensitive values may be from that of the whole. "
        "Default: no bound.",
        default=None,
        at_least=0,
        at_most=1,
    )


def distance_parameter() -> Any:
    """Declare the distance that t bounds."""
    return choice(
        "How far sensitive values are apart: all equally (`equal`), by rank (`ordered`), or by "
        "the column's hierarchy (`hierarchical`).",
        get_args(Distance),
        default="equal",
    )


def _read_ell(name: str, value: Number) -> int | Fraction:
    found = exact(name, value)
    return int(found) if found.denominator == 1 else found


def _usual_diversity(method: Any) -> str | None:
    if method.ell is None:
        return None
    return "distinct" if method.protect is None else "frequency"


def check_partners(
    *,
    ell: Number | None,
    diversity: str | None,
    c: Number | None,
    t: Number | None,
    distance: str,
) -> None:
    """Raise `ParameterError` if a parameter is given without the one that it belongs to."""
    if ell is None and diversity is not None:
        raise ParameterError(
            f"diversity={diversity!r} needs ell; got none.", hint="for example ell=3."
        )
    if (c is not None) != (diversity == "recursive"):
        raise ParameterError(
            "c must be given with diversity='recursive', and only then; got "
            f"{'one' if c is not None else 'none'} with diversity={diversity!r}.",
            hint="recursive (c, ell)-diversity takes both, for example c=2, ell=3.",
        )
    if t is None and distance != "equal":
        raise ParameterError(f"distance={distance!r} needs t; got none.", hint="for example t=0.2.")


def check_protect(*, ell: Number | None, t: Number | None, diversity: str | None) -> None:
    """Raise `ParameterError` for protected values if no requirement is about them."""
    if ell is None and t is None:
        raise ParameterError(
            "protect selects the sensitive values that ell or t is about; got neither.",
            hint="give one, for example ell=4 or t=0.2.",
        )
    if diversity not in (None, "frequency"):
        raise ParameterError(
            f"protect bounds a share, so it needs diversity='frequency'; got {diversity!r}.",
            hint="leave diversity out.",
        )


def diversity_guarantee(
    ell: Number, diversity: str | None, c: Number | None, protect: Sequence[str | None]
) -> Guarantee:
    """Return the guarantee of a kind of diversity."""
    if diversity == "frequency":
        return FrequencyDiversity(ell=ell, protect=protect)
    if diversity == "entropy":
        return EntropyDiversity(ell=ell)
    # A fraction is shown as it was typed.
    counted = whole("ell", as_text(ell) if isinstance(ell, Fraction) else ell, least=1)
    if diversity == "recursive":
        assert c is not None
        return RecursiveDiversity(c=c, ell=counted)
    return DistinctDiversity(ell=counted)


def check_hierarchy(schema: Schema, distance: str) -> None:
    """Raise `SchemaError` if the hierarchical distance has no hierarchy of the sensitive column."""
    if distance == "hierarchical" and schema.sensitive[0] not in schema.hierarchies:
        raise SchemaError(
            f"distance='hierarchical' needs a hierarchy of the sensitive column "
            f"{schema.sensitive[0]!r}; the schema has none.",
            hint="give it one with hierarchies={...}, or use distance='equal'.",
        )
