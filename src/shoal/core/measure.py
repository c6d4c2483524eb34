"""What a measure is: a pure function from a release and the counts of the table to figures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Codes, Floats
from shoal.core.cells import Cells
from shoal.core.declared import Declared, declared
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.parameters import whole_number
from shoal.core.release import Published
from shoal.core.shapes import Model


@dataclass(frozen=True, eq=False)
class Measured:
    """The result of a measure on a release.

    Examples
    --------
    >>> Measured("loss", {"generalized loss": 0.25})
    Measured(loss: generalized loss 0.25)
    """

    measure: str
    # The figures of the summary, by name. Losses and errors are 0 if nothing is lost.
    headline: Mapping[str, object]
    # Further small tables: by column, by pair of columns.
    sections: tuple[Section, ...] = field(default=())
    # The outcome of each held-out row, by name, to be paired with those of another release that
    # was measured on the same rows.
    outcomes: Mapping[str, Floats] = field(default_factory=dict)
    # The meaning of the figures for an analyst, one short statement per line.
    words: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, object]:
        """Return the result in its JSON form."""
        return {
            "measure": self.measure,
            "figures": dict(self.headline),
            "words": list(self.words),
            "sections": [section.to_dict() for section in self.sections],
        }

    def __repr__(self) -> str:
        first = next(iter(self.headline.items()), ("nothing", 0))
        value = f"{first[1]:.3g}" if isinstance(first[1], float) else first[1]
        return f"Measured({self.measure}: {first[0]} {value})"


@declared
class Measure(Declared, ABC):
    """Base class of every measure: a frozen class whose fields are its parameters."""

    reads: ClassVar[frozenset[Model]] = frozenset(Model)
    """The models that it makes sense on; every shape is counted as one of them."""
    example: ClassVar[Mapping[str, object]] = {}
    """Parameters that suit any release, for tests that find every measure."""

    def fits(self, published: Published) -> bool:
        """Return whether the measure makes sense on a release."""
        return published.manifest.shape.model in self.reads

    def confirm_fits(self, published: Published) -> None:
        """Refuse a release on which the measure makes no sense."""
        if not self.fits(published):
            raise ParameterError(
                f"{type(self).__name__} does not apply to this {published.manifest.shape} release.",
                hint="leave it out, or name no measure to run all that apply.",
            )

    @abstractmethod
    def run(self, published: Published, truth: Cells) -> Measured:
        """Compare a release with the counts of all rows of the table that it was made from.

        The counts have at least the columns that the release counts.
        """


@dataclass(frozen=True, eq=False)
class Fold:
    """A published part of the table; the rest is held out. Both are counted with the same codes."""

    published: Published
    train: Cells
    test: Cells


@declared
class FoldedMeasure(Measure):
    """Base class of every measure that is evaluated on rows held out of a release."""

    folds: int = whole_number(
        "How many parts the rows are divided into; each is held out once.", default=5, least=2
    )
    seed: int = whole_number("The seed of random draws.", default=0, least=0)

    @abstractmethod
    def judge(self, folds: Sequence[Fold]) -> Measured:
        """Measure releases of parts of the table on the rows that each leaves out."""

    def run(self, published: Published, truth: Cells) -> Measured:
        """Measure a release on the rows that it was made from; none are held out."""
        self.confirm_fits(published)
        return self.judge([Fold(published, truth, truth)])


def draw_folds(n_rows: int, n_folds: int, seed: int) -> Codes:
    """Return for each row the fold that holds it out; the sizes of folds differ by at most one.

    The result depends on these numbers alone, so that all methods are measured on the same folds.

    Examples
    --------
    >>> np.bincount(draw_folds(7, 3, seed=1)).tolist()
    [3, 2, 2]
    """
    fold: Codes = np.random.default_rng(seed).permutation(n_rows) % n_folds
    return fold
