"""Attacks by somebody who knows the algorithm: she runs it on tables of her own.

She has the quasi-identifiers of everybody in the table, guesses sensitive values, and looks which
guesses the algorithm would have published like this. The pipeline hands her the algorithm; the
sensitive values of the table she never sees.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from shoal.core.attack import Attack, Findings
from shoal.core.cells import Cells, Codes, Counts
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.method import Method, Problem
from shoal.core.release import Published
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.tree import Tree

__all__ = ["Algorithm", "TableAttack"]


@dataclass(frozen=True, eq=False)
class Algorithm:
    """A method with everything that it goes by except the sensitive values.

    Parameters
    ----------
    method
        The method; its buckets must follow from the table alone.
    schema, trees
        The roles of the columns, and their hierarchies.
    people
        The quasi-identifiers of everybody in the table.
    located
        The bucket of the release that each cell of `people` is known to be in, the worst case;
        None where she has to find it by matching.
    """

    method: Method
    schema: Schema
    trees: Mapping[str, Tree]
    people: Cells
    located: Codes | None = None

    def __post_init__(self) -> None:
        if not self.method.is_minimal:
            raise ParameterError(
                f"{type(self.method).__name__} draws its buckets, or parts people who are alike: "
                "they do not follow from the table alone."
            )

    def buckets(self, table: Counts, values: Domain) -> Codes | None:
        """Give the bucket of each kind of people in a table of her own.

        Parameters
        ----------
        table
            For each cell of `people` how many of its people have each value.
        values
            The sensitive values.

        Returns
        -------
        The buckets; None where nothing would be published, or not everybody, or people who are
        alike would be parted.
        """
        kind, value = np.nonzero(table)
        codes = np.column_stack([self.people.codes[kind], value])
        cells = Cells((*self.people.domains, values), codes, table[kind, value])
        # What is drawn are bounds of labels, which say nothing more about values.
        secret = Secret.from_seed("an adversary's own")
        try:
            plan = self.method.plan(Problem(cells, self._schema(values), self.trees, secret))
        except InfeasibleError:
            return None
        assign = plan.assign
        if plan.drop.n_rows or np.any(assign.step) or plan.merged is not None:
            return None
        lowest = np.full(self.people.n_cells, plan.n_buckets, dtype=np.int64)
        highest = np.full(self.people.n_cells, -1, dtype=np.int64)
        np.minimum.at(lowest, kind[assign.group], assign.base)
        np.maximum.at(highest, kind[assign.group], assign.base)
        return lowest if np.array_equal(lowest, highest) else None

    def _schema(self, values: Domain) -> Schema:
        if self.schema.sensitive == (values.column,):
            return self.schema
        return replace(self.schema, sensitive=(values.column,))


@dataclass(frozen=True, kw_only=True)
class TableAttack(Attack):
    """The base of every attack that runs the algorithm anew."""

    @abstractmethod
    def replay(self, published: Published, algorithm: Algorithm) -> Findings:
        """Attack everybody of the external table, one entry a cell of `algorithm.people`.

        Parameters
        ----------
        published
            The release as any reader sees it.
        algorithm
            How it was made.
        """
