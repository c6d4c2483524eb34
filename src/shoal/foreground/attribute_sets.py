"""The sets of quasi-identifiers whose signatures occur often enough to be relied on.

A signature is a combination of values of the set's columns. Taking the share of x among the rows
with a signature for its probability requires enough rows: with J = ln(2/sigma)/(2 epsilon^2) of
them, the error exceeds epsilon with probability sigma at most. A longer signature never has more
rows, so sets are found level by level, each from one that has a signature left.

References
----------
[Wong11] (see `shoal.foreground`) Section 4.2, Theorem 1; Algorithm 1, Step 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Cells, smallest_type
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact

Classes = npt.NDArray[np.signedinteger]


def sample_size(epsilon: Number = 0.01, sigma: Number = 0.9) -> int:
    """Return J, the fewest rows with a signature that count as enough.

    With that many, the error of a share exceeds `epsilon` with probability `sigma` at most; both
    are above 0 and at most 1.

    Examples
    --------
    >>> sample_size(0.01, 0.9)
    3993
    """
    error, risk = exact("epsilon", epsilon), exact("sigma", sigma)
    for name, number in (("epsilon", error), ("sigma", risk)):
        if not 0 < number <= 1:
            raise ParameterError(f"{name} must be above 0 and at most 1, not {as_text(number)}.")
    # Theorem 1, in integers and fractions: floats would underflow.
    log = math.log(2 * risk.denominator) - math.log(risk.numerator)
    return math.ceil(Fraction(log) / (2 * error**2))


@dataclass(frozen=True, eq=False)
class AttributeSet:
    """Some quasi-identifiers, in the order of the table, with their frequent signatures.

    `signatures` holds the codes of the values: one row per signature, one column per
    quasi-identifier. `class_of_look` is the signature of each distinct row; the number of
    signatures if it is too rare.
    """

    columns: tuple[str, ...]
    signatures: Codes
    counts: Counts
    class_of_look: Classes = field(repr=False)
    has_rare: bool

    @property
    def n_signatures(self) -> int:
        """The number of signatures with enough rows."""
        return len(self.counts)

    @property
    def n_classes(self) -> int:
        """The number of classes of rows: the signatures, and all rare ones together."""
        return self.n_signatures + self.has_rare

    def __repr__(self) -> str:
        return f"AttributeSet({', '.join(self.columns)}: {self.n_signatures} signatures)"


def usable_sets(looks: Cells, least: int) -> tuple[AttributeSet, ...]:
    """Return the sets of columns with a signature that at least `least` rows have.

    `looks` are the distinct rows of the quasi-identifiers; see `sample_size` for `least`. Shorter
    sets come first, then the order is that of their columns.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex, job = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("job", ["clerk", "nurse"])
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 0]])
    >>> [found.columns for found in usable_sets(Cells.of_rows([sex, job], rows), 2)]
    [('sex',), ('job',), ('sex', 'job')]
    """
    nothing = np.empty((1, 0), dtype=np.int64)
    everybody = np.zeros(looks.n_cells, dtype=np.int64)
    whole = AttributeSet((), nothing, np.array([looks.n_rows]), everybody, False)
    level: dict[tuple[int, ...], AttributeSet] = {(): whole}
    found: list[AttributeSet] = []
    while level:
        longer = {}
        for places, parent in level.items():
            for place in range(max(places, default=-1) + 1, len(looks.domains)):
                candidate = (*places, place)
                # Section 4.2: a signature has no more rows than any of its parts.
                if all(shorter in level for shorter in combinations(candidate, len(places))):
                    one = _extend(looks, parent, place, least)
                    if one.n_signatures:
                        longer[candidate] = one
        found.extend(longer.values())
        level = longer
    return tuple(found)


def _extend(looks: Cells, parent: AttributeSet, place: int, least: int) -> AttributeSet:
    """Add a column to a set; rows whose signature is already too rare stay apart."""
    domain = looks.domains[place]
    n_keys = parent.n_signatures * domain.size
    is_kept = parent.class_of_look < parent.n_signatures
    key = parent.class_of_look.astype(np.int64) * domain.size + looks.codes[:, place]
    rows = np.bincount(key[is_kept], looks.counts[is_kept], n_keys).astype(np.int64)
    frequent = np.flatnonzero(rows >= max(least, 1))
    number = np.full(n_keys + 1, len(frequent), dtype=smallest_type(len(frequent) + 1))
    number[frequent] = np.arange(len(frequent))
    class_of_look = number[np.where(is_kept, key, n_keys)]
    known = parent.signatures[frequent // domain.size]
    return AttributeSet(
        (*parent.columns, domain.column),
        np.column_stack([known, frequent % domain.size]),
        rows[frequent],
        class_of_look,
        bool((class_of_look == len(frequent)).any()),
    )


def profiles(sets: tuple[AttributeSet, ...], n_looks: int) -> tuple[Codes, int]:
    """Number the distinct rows by their classes under every set; return also how many there are.

    Rows of one profile are indistinguishable to the attack, whatever it learns about signatures.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> age = Domain.of_texts("age", ["20", "30", "40"])
    >>> looks = Cells((age,), np.array([[0], [1], [2]]), np.array([5, 1, 1]))
    >>> profile, n_profiles = profiles(usable_sets(looks, 3), looks.n_cells)
    >>> profile.tolist(), n_profiles
    ([0, 1, 1], 2)
    """
    profile: Codes = np.zeros(n_looks, dtype=np.int64)
    n_profiles = min(n_looks, 1)
    for one in sets:
        key = profile * (one.n_signatures + 1) + one.class_of_look
        _, profile = np.unique(key, return_inverse=True)
        n_profiles = int(profile.max(initial=-1)) + 1
    return profile, n_profiles
