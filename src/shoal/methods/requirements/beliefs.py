"""The requirement that a bucket adds little to what is believed of its rows.

It is about rows, not about the counts of sensitive values alone, so it is judged by the cells of
a bucket. The prior beliefs are estimated once, from the whole table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text
from shoal.core.guarantees import BeliefGain, Guarantee
from shoal.core.method import Problem
from shoal.knowledge.belief_file import BELIEFS, beliefs_to_json
from shoal.knowledge.beliefs import Beliefs, estimate_beliefs
from shoal.knowledge.posteriors import omega_distances

__all__ = ["BeliefBound"]

_THOUSAND = 1000


@dataclass(frozen=True, eq=False)
class BeliefBound:
    """How much may be learned about a row, and what is believed of each cell.

    Parameters
    ----------
    t
        The largest gain of belief.
    value
        The sensitive value of each cell.
    prior
        The belief about each cell, as a row of the beliefs.
    beliefs
        What is believed of people.
    """

    t: float
    value: Codes
    prior: Codes
    beliefs: Beliefs

    @classmethod
    def of_problem(cls, guarantees: Sequence[Guarantee], problem: Problem) -> BeliefBound | None:
        """State the guarantee about beliefs, where there is one, for the table of a problem.

        Raises
        ------
        InfeasibleError
            Where the whole table as one bucket tells more; it names the best bound.
        """
        asked = next((one for one in guarantees if isinstance(one, BeliefGain)), None)
        if asked is None:
            return None
        sensitive = problem.schema.sensitive[0]
        cells = problem.cells.select([*problem.schema.quasi, sensitive])
        beliefs = estimate_beliefs(cells, sensitive, problem.trees, asked.bandwidth)
        _, prior = problem.cells.select_with_inverse(problem.schema.quasi)
        value = problem.cells.column(sensitive)
        bound = cls(float(asked.t), value, prior, beliefs)
        bound._confirm_reachable(asked, problem.cells.counts)
        return bound

    def _confirm_reachable(self, asked: BeliefGain, counts: Counts) -> None:
        least = self.gain(np.arange(len(counts)), counts)
        if least <= self.t:
            return
        best = as_text(min(Fraction(math.floor(least * _THOUSAND) + 1, _THOUSAND), Fraction(1)))
        raise InfeasibleError(
            f"{asked.name} with t = {as_text(asked.t)} is out of reach: with all rows in one "
            f"bucket, a belief changes by about {least:.3f} already.",
            hint=f"belief_gain = {best} can be reached, or less with another bandwidth.",
            best={"belief_gain": best},
        )

    def gain(self, cells: Codes, counts: Counts) -> float:
        """Give the largest gain of belief about a row of a bucket.

        Parameters
        ----------
        cells, counts
            The cells of the bucket, and how many rows it has of each.
        """
        own, place = np.unique(self.prior[cells], return_inverse=True)
        n_rows = np.zeros(len(own), dtype=np.int64)
        np.add.at(n_rows, place, counts)
        held = np.zeros(self.beliefs.domain.size, dtype=np.int64)
        np.add.at(held, self.value[cells], counts)
        return float(omega_distances(self.beliefs.prior[own], n_rows, held).max())

    def keeps(self, cells: Codes, counts: Counts) -> bool:
        """Whether a bucket keeps the bound."""
        return self.gain(cells, counts) <= self.t

    @property
    def witnesses(self) -> dict[str, bytes]:
        """What the bound is kept against, by the name of the internal file."""
        return {BELIEFS: beliefs_to_json(self.beliefs)}
