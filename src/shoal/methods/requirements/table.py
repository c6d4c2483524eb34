"""The requirements of a method on one table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.cells import Cells, Codes, Counts
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import AlphaK, FrequencyDiversity, Guarantee, TCloseness
from shoal.core.method import Problem
from shoal.core.tree import Tree
from shoal.methods.requirements._kernels import Rules
from shoal.methods.requirements.feasibility import confirm_reachable
from shoal.methods.requirements.limits import CloseCalls, Limits

__all__ = ["Requirements", "as_protect", "mark_protected"]

_LARGEST_TABLE = 2**31
_PROTECTING = (AlphaK, FrequencyDiversity, TCloseness)


@dataclass(frozen=True, eq=False)
class Requirements:
    """What every bucket of a table must keep.

    Parameters
    ----------
    guarantees
        The guarantees.
    value
        The sensitive value of each cell, numbered from 0 in the order of its domain. Where some
        are protected, these come first, as one (for alpha each for itself), and all others are
        one value.
    reference
        How many rows of the table carry each value.
    tree, leaf
        The hierarchy over the sensitive values, and the leaf of each.
    """

    guarantees: tuple[Guarantee, ...]
    value: Codes
    reference: Counts
    tree: Tree | None
    leaf: Codes

    @classmethod
    def of_problem(cls, guarantees: Sequence[Guarantee], problem: Problem) -> Requirements:
        """State guarantees for the table of a problem.

        Raises
        ------
        DataError
            Where the table has no rows, or more than 32 bits can count.
        ParameterError
            Where a protected value does not occur.
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
        """Refuse what not even the whole table keeps.

        Raises
        ------
        InfeasibleError
            It names the best reachable parameters.
        """
        confirm_reachable(self.guarantees, self.reference)

    def rules(self) -> tuple[Limits, Rules]:
        """Make the rules for the kernel, and where it puts the values to be judged."""
        limits = Limits.of_guarantees(self.guarantees, self.reference, self.tree, self.leaf)
        return limits, Rules(limits, CloseCalls.of_guarantees(limits, self.guarantees))


def confirm_countable(cells: Cells) -> None:
    """Refuse a table without rows, or with more than kernels can count.

    Raises
    ------
    DataError
        Where that is so.
    """
    if cells.n_rows == 0:
        raise DataError("The table has no rows.", hint="check its source.")
    if cells.n_rows >= _LARGEST_TABLE:
        raise DataError(
            f"The table has {cells.n_rows} rows; plans are made for fewer than {_LARGEST_TABLE}.",
            hint="publish it in parts.",
        )


def as_protect(protect: object) -> tuple[str | None, ...] | None:
    """Read the parameter `protect`: texts, None for the missing value.

    Examples
    --------
    >>> as_protect(["flu", None, "flu"])
    ('flu', None)
    """
    if protect is None:
        return None
    given = (protect,) if isinstance(protect, str) else protect
    if not isinstance(given, list | tuple) or not given:
        raise ParameterError(
            "protect must be a list of at least one sensitive value; got none.",
            hint="leave it out to protect every value.",
        )
    if not all(text is None or isinstance(text, str) for text in given):
        raise ParameterError(
            "protect must list texts, or None for the missing value; got something else.",
            hint="write numbers and dates as the table writes them.",
        )
    return tuple(dict.fromkeys(given))


def mark_protected(
    domain: Domain, codes: Codes, protect: Sequence[str | None], name: str = "protect"
) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Say which of the codes that occur are protected, by the parameter of that name.

    Raises
    ------
    ParameterError
        Where a value does not occur; the message says how many, not which.
    """
    protected = domain.codes_of(list(protect))
    n_strange = int(np.count_nonzero(~np.isin(protected, codes)))
    if n_strange:
        raise ParameterError(
            f"{name} must name values of column {domain.column!r}; of the {len(protect)} given, "
            f"{n_strange} do not occur.",
            hint="write them as the table writes them.",
        )
    return np.isin(codes, protected)
