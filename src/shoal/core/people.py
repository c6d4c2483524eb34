"""The people who are attacked, as an adversary knows them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Codes
from shoal.core.tree import Tree

__all__ = ["Company", "People"]


@dataclass(frozen=True, eq=False)
class Company:
    """How many lines of a release look like each of its lines, insensitive columns included.

    Parameters
    ----------
    known
        By quasi-identifiers and the insensitive columns that no confirmed combination names, one
        entry per published line in their order; None if all are confirmed.
    whole
        By all columns but the sensitive one.
    """

    known: npt.NDArray[np.int64] | None
    whole: npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class People:
    """The people who are attacked: what the adversary knows to find them by.

    Parameters
    ----------
    quasi
        Their quasi-identifiers; one cell for all who look alike to her.
    bucket
        The bucket that each cell is known to be in (the worst case); None where she has to
        find it by matching.
    line
        The line of the release, as an entry of `Published.lines`, that each cell is known to be;
        None where none is known.
    everybody
        All who are in the release, each in their own bucket, where she knows that of others
        than those attacked.
    cell_of_key
        The cell of each person whom a fact names by the key of their row; -1 for a person of the
        table who is not among those attacked. None where keys are not known.
    trees
        The hierarchies of quasi-identifiers, by column, where they are taken to be common
        knowledge; none by default.
    company
        How many lines look like each, by insensitive columns too, where the people are all of a
        release that has such columns; None otherwise.
    """

    quasi: Cells
    bucket: Codes | None = None
    line: Codes | None = None
    everybody: People | None = None
    cell_of_key: Mapping[str, int] | None = field(default=None, repr=False)
    trees: Mapping[str, Tree] = field(default_factory=dict, repr=False)
    company: Company | None = field(default=None, repr=False)

    @property
    def n_people(self) -> int:
        """How many people there are."""
        return self.quasi.n_rows

    @property
    def counts(self) -> npt.NDArray[np.int64]:
        """How many people look like each cell."""
        return self.quasi.counts

    def __repr__(self) -> str:
        return f"People({self.n_people} people, {self.quasi.n_cells} different ones)"
