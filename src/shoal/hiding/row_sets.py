"""Rules by the sets of rows in which their antecedents appear.

Antecedents that publicly appear in the same rows have the same public and hidden sets, so the same
rules. If columns repeat one another, there are exponentially many such antecedents, and listing
them says nothing new. A search therefore finds each set of rows once, with its closure: all items
that its rows share, the longest of its antecedents. `RowSets` lists all antecedents where there are
few, and otherwise one minimal antecedent of each set.

References
----------
[Aggarwal06] (see `shoal.hiding`) sections 3 and 4.

[Knuth75] D. E. Knuth: Estimating the Efficiency of Backtrack Programs. Mathematics of Computation
29, 1975.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Codes, Small, Words, words_of
from shoal.core.progress import TooMuchWork, Work
from shoal.hiding._antecedent_kernels import AntecedentLister
from shoal.hiding._closed_kernels import ClosedSearcher
from shoal.hiding.cells import Limits, Packed
from shoal.hiding.rules import PackedRules, most_rules

_MOST_MARKS = 2**26
"""The most cells that are compared with items at once."""


@dataclass(frozen=True, eq=False)
class RowSets:
    """Sets of rows that have rules, in a packed table.

    `closure` has for each set the value that all of its rows show in each column, or -1. `found`
    has the number of the set, column, value and the four counts of each rule, set by set.
    """

    packed: Packed
    closure: Small
    found: Codes

    def __len__(self) -> int:
        return len(self.closure)

    def listed(self, n_most: int) -> PackedRules:
        """Return the rules of all antecedents; raises OverflowError if there are more."""
        antecedent, of_set = self._lister().list_all(n_most)
        return self._joined(antecedent, of_set, n_most)

    def condensed(self) -> PackedRules:
        """Return the rules of one minimal antecedent of each set.

        Later columns are left out of a closure first, as long as the rows stay the same.
        """
        antecedent, of_set = self._lister().shorten()
        return self._joined(antecedent, of_set, len(self.found))

    def closed(self) -> PackedRules:
        """Return the rules of the longest antecedent of each set, in the order of `condensed`."""
        return PackedRules(self.closure[self.found[:, 0]], self.found[:, 1:].copy())

    def _lister(self) -> AntecedentLister:
        return AntecedentLister(self.closure, *self._items())

    def _items(self) -> tuple[Small, Words]:
        """Number the items of the closures; mark the rows that show each in 64-bit words."""
        n_columns, n_rows = self.packed.code.shape
        number = np.full((n_columns, int(self.packed.n_values.max(initial=0)) + 1), -1, np.int32)
        words = [np.zeros((1, (n_rows + 63) // 64), dtype=np.uint64)]
        n_numbered, step = 1, max(1, _MOST_MARKS // max(n_rows, 1))
        for column in range(n_columns):
            values = np.unique(self.closure[:, column])
            values = values[values >= 0]
            number[column, values] = n_numbered + np.arange(len(values))
            n_numbered += len(values)
            for first in range(0, len(values), step):
                some = values[first : first + step, np.newaxis]
                words.append(words_of(self.packed.code[column] == some))
        return number, np.concatenate(words)

    def _joined(self, antecedent: Small, of_set: Small, n_most: int) -> PackedRules:
        """Give each antecedent the rules of its set."""
        n_rules_of = np.bincount(self.found[:, 0], minlength=len(self))
        n_each = n_rules_of[of_set]
        n_rules = int(n_each.sum())
        if n_rules > n_most:
            raise OverflowError
        first = np.cumsum(n_rules_of) - n_rules_of
        within = np.arange(n_rules) - np.repeat(np.cumsum(n_each) - n_each, n_each)
        rule = np.repeat(first[of_set], n_each) + within
        return PackedRules(np.repeat(antecedent, n_each, axis=0), self.found[rule, 1:])


@dataclass(frozen=True)
class Estimate:
    """An estimate of the steps of a search, from random probes, with about two standard errors.

    Searches whose steps are distributed very unevenly may take more than `most`.
    """

    steps: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"about {self.steps:.2g} steps ({self.least:.2g} to {self.most:.2g})"


class RowSetSearch:
    """The search for the sets of rows of a packed table, whose cells may be blanked meanwhile.

    A step looks at one cell, or at one word of few rows. If the search could take more steps than
    `work` allows, they are estimated first.
    """

    def __init__(self, packed: Packed, limits: Limits, work: Work) -> None:
        self.packed = packed
        self.work = work
        most = most_rules(packed.n_columns)
        self._searcher = ClosedSearcher(packed, limits, most, work.spend, _NARROW)

    def all(self) -> RowSets:
        """Find all sets.

        Raises OverflowError if they have more rules than are kept, and `TooMuchWork` if the search
        takes too many steps, or would by its estimate.
        """
        n_columns, n_rows = self.packed.code.shape
        # A row shows at most as many antecedents as there are sets of columns.
        if n_rows * n_columns * 2**n_columns > self.work.left:
            estimate = self.estimate()
            if estimate.least > self.work.left:
                raise TooMuchWork(f"{estimate}, more than {self.work.left:.2g}")
        return RowSets(self.packed, *self._searcher.search())

    def changed(self, rows: Small, wide: Small) -> RowSets:
        """Find all sets whose antecedents all appear in changed rows, and some others.

        `wide` has the packed codes with more cells visible, before or after the change.
        """
        return RowSets(self.packed, *self._searcher.search_changed(rows, wide))

    def estimate(self) -> Estimate:
        """Estimate the steps of the search by random paths through it [Knuth75].

        The same table has the same estimate.
        """
        generator = np.random.default_rng(_SEED)
        found: list[float] = []
        n_spent = 0
        while len(found) < _FEWEST_PROBES or (
            len(found) < _MOST_PROBES and n_spent < _STEPS_OF_PROBES
        ):
            draw = generator.random(self.packed.n_columns + 1)
            steps, n_steps = self._searcher.probe(draw)
            found.append(steps)
            n_spent += n_steps
        mean = float(np.mean(found))
        error = 2 * float(np.std(found, ddof=1)) / len(found) ** 0.5
        return Estimate(mean, max(mean - error, min(found)), mean + error)


_NARROW = 64
"""The most rows of a set that is searched in words, with a bit for each row."""
_SEED = 0
_FEWEST_PROBES, _MOST_PROBES = 16, 1024
_STEPS_OF_PROBES = 2**26
