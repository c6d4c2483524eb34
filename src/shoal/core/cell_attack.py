"""Attacks on suppressed cells: what an adversary fills in, cell by cell.

Such an attack answers with guesses. Whether a guess is right, and whether the cell is one that
somebody wanted hidden, she cannot know: only the pipeline joins the truth, to score her.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Attack, Findings, Section
from shoal.core.cells import Codes
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text
from shoal.core.method import Shape
from shoal.core.registry import snake_case
from shoal.core.release import Manifest, People, Published
from shoal.core.rows import RowCodes, Rows
from shoal.core.witnessed_guarantees import RuleProtection

__all__ = ["CellAttack", "Experiment", "Guesses", "protection_of"]

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Guesses:
    """What one adversary fills in, one entry a cell; a cell that she leaves open has none.

    Parameters
    ----------
    row, column
        The cell.
    value
        The code of the value that she believes most.
    belief
        How much she believes it, from 0 to 1.
    reason
        The place in `reasons` of what made her believe it, -1 where nothing is named.
    reasons
        In words, with values of the table: only internal reports show them.
    """

    row: Codes
    column: Codes
    value: Codes
    belief: Floats
    reason: Codes
    reasons: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.row)

    def at(self, which: Marks) -> Guesses:
        """Give those of the guesses that are marked."""
        return Guesses(
            self.row[which],
            self.column[which],
            self.value[which],
            self.belief[which],
            self.reason[which],
            self.reasons,
        )

    @classmethod
    def join(cls, parts: Sequence[Guesses]) -> Guesses:
        """Put guesses about different cells together, those of the first part first."""
        empty = np.empty(0, dtype=np.int64)
        shift = np.cumsum([0, *(len(part.reasons) for part in parts)])
        reason = [
            np.where(part.reason < 0, -1, part.reason + by)
            for part, by in zip(parts, shift[:-1], strict=True)
        ]
        return cls(
            row=np.concatenate([empty, *(part.row for part in parts)]),
            column=np.concatenate([empty, *(part.column for part in parts)]),
            value=np.concatenate([empty, *(part.value for part in parts)]),
            belief=np.concatenate([np.empty(0), *(part.belief for part in parts)]),
            reason=np.concatenate([empty, *reason]),
            reasons=tuple(text for part in parts for text in part.reasons),
        )


def protection_of(manifest: Manifest) -> RuleProtection | None:
    """Give the promise of a release that no rule betrays its private cells, where it has one."""
    stated = (one for one in manifest.guarantees if isinstance(one, RuleProtection))
    return next(stated, None)


@dataclass(frozen=True, eq=False)
class Experiment:
    """What an adversary has who knows the algorithm: she can publish tables of her own.

    Parameters
    ----------
    publish
        Gives for a table (codes without a hidden one, and a mark for every private cell) the codes
        that the publisher would release, `HIDDEN` where suppressed.
    shares
        For each column the share of cells that somebody wants hidden, which she is assumed to
        know.
    """

    publish: Callable[[RowCodes, Marks], RowCodes]
    shares: Floats


@dataclass(frozen=True, kw_only=True)
class CellAttack(Attack):
    """The base of every attack on suppressed cells."""

    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.SUPPRESSED})

    @abstractmethod
    def threshold(self, manifest: Manifest) -> Fraction:
        """Give the belief from which on she counts as knowing a cell."""

    @abstractmethod
    def guess(
        self, rows: Rows, manifest: Manifest, experiment: Experiment | None = None
    ) -> Mapping[str, Guesses]:
        """Fill in suppressed cells.

        Parameters
        ----------
        rows
            The release, row by row.
        manifest
            What the release says of itself.
        experiment
            For adversaries who know the algorithm; they are left out where there is none.

        Returns
        -------
        What each kind of adversary fills in, the weakest first.
        """

    def aimed_at(self, columns: Sequence[str]) -> CellAttack:  # noqa: ARG002
        """Give the attack for somebody who knows which columns have private cells, most first."""
        return self

    def notes(self, rows: Rows, manifest: Manifest) -> tuple[Section, ...]:  # noqa: ARG002
        """Give further small tables for the findings; none where there is nothing to add."""
        return ()

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:  # noqa: ARG002
        """Fill in suppressed cells, without knowing which of them somebody wanted hidden.

        Raises
        ------
        ParameterError
            Where the release has no suppressed cells to speak of: it has another shape.
        """
        rows = published.rows
        if rows is None:
            raise ParameterError(
                f"{type(self).__name__} attacks suppressed releases; this one is "
                f"{published.manifest.shape}."
            )
        threshold = self.threshold(published.manifest)
        *_, guesses = self.guess(rows, published.manifest).values()
        is_sure = guesses.belief >= float(threshold)
        posterior = np.zeros(rows.n_rows)
        np.maximum.at(posterior, guesses.row, guesses.belief)
        breached = np.zeros(rows.n_rows, dtype=bool)
        breached[guesses.row[is_sure]] = True
        n_suppressed = np.count_nonzero(rows.is_hidden, axis=0)
        return Findings(
            attack=snake_case(type(self).__name__),
            knows=self.knows,
            counts=np.ones(rows.n_rows, dtype=np.int64),
            value=np.full(rows.n_rows, -1),
            posterior=posterior,
            breached=breached,
            limit=as_text(threshold),
            headline={
                "cells suppressed": int(n_suppressed.sum()),
                "cells filled in": int(is_sure.sum()),
            },
            sections=(
                Section(
                    "cells by column",
                    ("column", "suppressed", "filled in"),
                    tuple(
                        (
                            column,
                            int(n_suppressed[place]),
                            int((is_sure & (guesses.column == place)).sum()),
                        )
                        for place, column in enumerate(rows.columns)
                    ),
                    holds_values=False,
                ),
                *self.notes(rows, published.manifest),
            ),
            is_by_line=True,
        )
