"""The requirements of methods on every bucket: as parameters, and stated for one table.

A `RequiringMethod` takes any requirements as parameters. A method that builds buckets one by one
often asks whether a bucket keeps them. `Requirements` states them for one table: whether the whole
table keeps them (otherwise no bucket does), and the rules by which a compiled kernel decides about
a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.declared import declared
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.guarantees import (
    AlphaK,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.method import Method, Problem, confirm_countable, mark_protected
from shoal.core.parameters import (
    Converted,
    OptionalExact,
    OptionalValues,
    choice,
    exact_number,
    parameter,
    whole_number,
)
from shoal.core.schema import Schema
from shoal.core.tree import Tree
from shoal.grouping._kernels import Rules
from shoal.grouping.thresholds import CloseCalls, Limits, confirm_reachable

_PROTECTING = (AlphaK, FrequencyDiversity, TCloseness)


Diversity = Literal["distinct", "frequency", "entropy", "recursive"]
Distance = Literal["equal", "ordered", "hierarchical"]
OptionalEll = Converted[Number | None, int | Fraction | None]


def _read_ell(name: str, value: Number) -> int | Fraction:
    found = exact(name, value)
    return int(found) if found.denominator == 1 else found


def _usual_diversity(method: RequiringMethod) -> str | None:
    if method.ell is None:
        return None
    return "distinct" if method.protect is None else "frequency"


@declared
class RequiringMethod(Method):
    """Base class of the methods that keep any of k-anonymity, l-diversity and t-closeness."""

    k: int | None = whole_number(
        "The fewest rows of a bucket. Default: no bound.", default=None, least=1
    )
    ell: OptionalEll = parameter(
        "How diverse the sensitive values of a bucket are. Default: no bound.",
        _read_ell,
        takes="a number of at least 1",
        schema={"type": ["number", "string"], "minimum": 1},
        default=None,
    )
    diversity: Diversity | None = choice(
        "What ell counts: at least ell values (`distinct`), no value in more than 1/ell of the "
        "rows (`frequency`), an entropy of at least log(ell) (`entropy`), or (c, ell)-diversity "
        "(`recursive`). Default: distinct; with protect, frequency.",
        get_args(Diversity),
        default=None,
        otherwise=_usual_diversity,
    )
    c: OptionalExact = exact_number(
        "The parameter c of recursive diversity. Default: none, for other kinds.",
        default=None,
        above=0,
    )
    t: OptionalExact = exact_number(
        "How far a bucket's distribution of sensitive values may be from that of the whole. "
        "Default: no bound.",
        default=None,
        at_least=0,
        at_most=1,
    )
    distance: Distance = choice(
        "How far sensitive values are apart: all equally (`equal`), by rank (`ordered`), or by "
        "the column's hierarchy (`hierarchical`).",
        get_args(Distance),
        default="equal",
    )

    if TYPE_CHECKING:
        # Each method declares it in its own words, after the requirements that only it has.
        protect: OptionalValues

    def check_parameters(self) -> None:
        """Raise `ParameterError` for a requirement without the parameter that it belongs to."""
        if self.ell is None and self.diversity is not None:
            raise ParameterError(
                f"diversity={self.diversity!r} needs ell; got none.", hint="for example ell=3."
            )
        if (self.c is not None) != (self.diversity == "recursive"):
            raise ParameterError(
                "c must be given with diversity='recursive', and only then; got "
                f"{'one' if self.c is not None else 'none'} with diversity={self.diversity!r}.",
                hint="recursive (c, ell)-diversity takes both, for example c=2, ell=3.",
            )
        if self.t is None and self.distance != "equal":
            raise ParameterError(
                f"distance={self.distance!r} needs t; got none.", hint="for example t=0.2."
            )
        if self.protect is not None:
            self._check_protect()
        # Each guarantee checks its own parameters.
        assert self.guarantees

    def _check_protect(self) -> None:
        """Raise `ParameterError` if no requirement is about the protected values."""
        if self.ell is None and self.t is None:
            raise ParameterError(
                "protect selects the sensitive values that ell or t is about; got neither.",
                hint="give one, for example ell=4 or t=0.2.",
            )
        if self.diversity not in (None, "frequency"):
            raise ParameterError(
                "protect bounds a share, so it needs diversity='frequency'; got "
                f"{self.diversity!r}.",
                hint="leave diversity out.",
            )

    def _value_guarantees(self) -> Iterator[Guarantee]:
        """Yield the guarantees about sensitive values: those that ell and t ask for."""
        protect = self.protect or ()
        if self.ell is not None:
            yield _diversity(self.ell, self.diversity, self.c, protect)
        if self.t is not None:
            yield TCloseness(t=self.t, distance=self.distance, protect=protect)

    def check_schema(self, schema: Schema) -> None:
        """Raise `SchemaError` for a schema that the method does not support."""
        super().check_schema(schema)
        if self.distance == "hierarchical" and schema.sensitive[0] not in schema.hierarchies:
            raise SchemaError(
                f"distance='hierarchical' needs a hierarchy of the sensitive column "
                f"{schema.sensitive[0]!r}; the schema has none.",
                hint="give it one with hierarchies={...}, or use distance='equal'.",
            )


def _diversity(
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


@dataclass(frozen=True, eq=False)
class Requirements:
    """The guarantees that every bucket of a table must keep.

    `value` has the sensitive value of each cell, numbered from 0 in the order of its domain. If
    some values are protected, these come first, as one value (for alpha, each on its own), and all
    others are one value. `reference` has the number of rows of each value, `leaf` its leaf in the
    `tree`.
    """

    guarantees: tuple[Guarantee, ...]
    value: Codes
    reference: Counts
    tree: Tree | None
    leaf: Codes

    @classmethod
    def of_problem(cls, guarantees: Sequence[Guarantee], problem: Problem) -> Requirements:
        """State guarantees for the table of a problem.

        Raises `DataError` if the table has no rows, or more than 32 bits can count, and
        `ParameterError` if a protected value does not occur.
        """
        cells = problem.cells
        confirm_countable(cells)
        sensitive = next(iter(problem.schema.sensitive), None)
        if sensitive is None:
            code, codes = np.zeros(cells.n_cells, dtype=np.int64), np.zeros(1, dtype=np.int64)
        else:
            codes, code = np.unique(cells.column(sensitive), return_inverse=True)
        asked = next((g for g in guarantees if isinstance(g, _PROTECTING) and g.protect), None)
        tree = None if sensitive is None else problem.trees.get(sensitive)
        n_values = 1
        if asked is not None and sensitive is not None:
            is_protected = mark_protected(cells.domain(sensitive), codes, asked.protect)
            number = np.zeros(len(codes), dtype=np.int64)
            if isinstance(asked, AlphaK):
                number = np.cumsum(is_protected) - 1
            n_protected = int(number[is_protected].max()) + 1
            code = np.where(is_protected, number, n_protected)[code]
            tree, n_values = None, n_protected + 1
        reference = np.bincount(code, weights=cells.counts, minlength=n_values)
        return cls(
            guarantees=tuple(guarantees),
            value=code.astype(np.int64),
            reference=np.rint(reference).astype(np.int64),
            tree=tree,
            leaf=np.empty(0, dtype=np.int64) if tree is None else tree.position[codes],
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows of a bucket that keeps every guarantee."""
        return max(guarantee.least_bucket for guarantee in self.guarantees)

    @property
    def is_about_values(self) -> bool:
        """Whether a bucket with enough rows may still break a guarantee."""
        return any(guarantee.is_about_sensitive for guarantee in self.guarantees)

    def confirm_reachable(self) -> None:
        """Raise `InfeasibleError` if not even the whole table keeps the guarantees."""
        confirm_reachable(self.guarantees, self.reference)

    def rules(self) -> tuple[Limits, Rules]:
        """Return the rules for the kernel, and the limits that hold the values to be judged."""
        limits = Limits.of_guarantees(self.guarantees, self.reference, self.tree, self.leaf)
        return limits, Rules(limits, CloseCalls.of_guarantees(limits, self.guarantees))
