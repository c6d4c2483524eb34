"""Whether a table can be sliced to some l at all.

A cut inside a sensitive column is never made. With strict cuts, rows that share a value of another
attribute stay together, and no cuts make a table more diverse than the whole of it as one bucket
is; the same holds for distinct diversity whatever the partition. Partitions that part equal rows
may meet p(t, s) <= 1/l where the whole table does not. They are refused all the same: whoever puts
the buckets together believes what the whole table says. [Slicing] Figure 1 does not look; it would
return the whole table.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Literal

import numpy as np

from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text
from shoal.core.sliced import Layout, Sliced
from shoal.knowledge.sliced_beliefs import largest_belief, sliced_beliefs

__all__ = ["Diversity", "confirm_eligible", "known_beside", "largest_distinct_ell", "largest_ell"]

Diversity = Literal["frequency", "distinct"]


def known_beside(layout: Layout, sensitive: str) -> tuple[str, ...]:
    """Name the known attributes in the columns of a sensitive one: its u.

    Examples
    --------
    >>> known_beside(Layout([["age"], ["sex", "disease"]], ["disease"]), "disease")
    ('sex',)
    """
    known = layout.known_for(sensitive)
    beside = {
        name for column in layout.columns if sensitive in column for name in column if name in known
    }
    return tuple(name for name in layout.attributes if name in beside)


def largest_ell(cells: Cells, known: Sequence[str], sensitive: str) -> Fraction:
    """Give the largest l that a table reaches: 1 / max n(u, s) / n(u).

    Parameters
    ----------
    cells
        The table.
    known
        The known attributes beside the sensitive one in its column, u; none is fine.
    sensitive
        The sensitive attribute, s.

    Raises
    ------
    ValueError
        Where the table has no rows.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["a", "b"])
    >>> rows = np.array([[0, 0], [0, 0], [0, 1], [1, 0], [1, 1], [1, 1]])
    >>> cells = Cells.of_rows([sex, disease], rows)
    >>> largest_ell(cells, ["sex"], "disease"), largest_ell(cells, [], "disease")
    (Fraction(3, 2), Fraction(2, 1))
    """
    pairs = cells.select([*known, sensitive])
    groups, group_of_pair = pairs.select_with_inverse(known)
    largest = np.zeros(groups.n_cells, dtype=np.int64)
    np.maximum.at(largest, group_of_pair, pairs.counts)
    ratios = zip(groups.counts.tolist(), largest.tolist(), strict=True)
    return min(Fraction(size, most) for size, most in ratios)


def largest_distinct_ell(cells: Cells, known: Sequence[str], sensitive: str) -> int:
    """Give the fewest different sensitive values that occur with one u.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["a", "b"])
    >>> cells = Cells.of_rows([sex, disease], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> largest_distinct_ell(cells, ["sex"], "disease")
    1
    """
    pairs = cells.select([*known, sensitive])
    groups, group_of_pair = pairs.select_with_inverse(known)
    return int(np.bincount(group_of_pair, minlength=groups.n_cells).min())


def confirm_eligible(cells: Cells, layout: Layout, ell: Fraction, diversity: Diversity) -> None:
    """Refuse an l that the whole table does not reach in every sensitive attribute.

    Raises
    ------
    InfeasibleError
        It names l_max, the largest l, and the attribute that sets it.
    """
    reached = {
        sensitive: _reached(cells, layout, sensitive, diversity) for sensitive in layout.sensitive
    }
    hardest = min(reached, key=reached.__getitem__, default=None)
    if hardest is None or reached[hardest] >= ell:
        return
    largest = reached[hardest]
    beside = ", ".join(known_beside(layout, hardest))
    raise InfeasibleError(
        f"Sliced l-diversity with ell = {as_text(ell)} cannot be reached: of the sensitive "
        f"attribute {hardest!r}{f' beside {beside}' if beside else ''}, even the whole table as "
        f"one bucket reaches l_max = {round(float(largest), 2):g} only.",
        hint=f"ell up to {as_text(largest)} can be reached"
        + (
            ", or more with fewer attributes in its column: name the columns by hand, or take "
            "columns='bucketized'."
            if beside
            else "."
        ),
        best={"ell": as_text(largest)},
    )


def _reached(cells: Cells, layout: Layout, sensitive: str, diversity: Diversity) -> Fraction:
    known = known_beside(layout, sensitive)
    if layout.is_linked_by_unknown(sensitive):
        return _reached_joined(cells, layout, sensitive, diversity)
    if diversity == "distinct":
        return Fraction(largest_distinct_ell(cells, known, sensitive))
    return largest_ell(cells, known, sensitive)


def _reached_joined(cells: Cells, layout: Layout, sensitive: str, diversity: Diversity) -> Fraction:
    """Give the largest l where columns are linked by what is not known, u notwithstanding."""
    one_bucket = np.zeros(cells.n_cells, dtype=np.int64)
    sliced = Sliced.of_pieces(cells, layout, np.arange(cells.n_cells), one_bucket, cells.counts)
    people = cells.select(layout.known_for(sensitive))
    if diversity == "distinct":
        return Fraction(int(sliced_beliefs(sliced, people, sensitive).n_values.min()))
    return 1 / largest_belief(sliced, people, sensitive)
