"""What a measure is: a pure function from a release and the table's counts to what is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Section
from shoal.core.cells import Cells, Codes
from shoal.core.errors import ParameterError
from shoal.core.method import Shape
from shoal.core.release import Published

__all__ = ["Fold", "FoldedMeasure", "Measure", "Measured", "draw_folds"]


@dataclass(frozen=True, eq=False)
class Measured:
    """What a measure says of a release.

    Parameters
    ----------
    measure
        The measure's name.
    headline
        The figures of the summary, by name. Losses and errors are 0 where nothing is lost.
    sections
        Further small tables: by column, by pair of columns.
    outcomes
        What each held-out row came to, by name; for pairing with another release that was measured
        on the same rows.

    Examples
    --------
    >>> Measured("loss", {"generalized loss": 0.25})
    Measured(loss: generalized loss 0.25)
    """

    measure: str
    headline: Mapping[str, object]
    sections: tuple[Section, ...] = field(default=())
    outcomes: Mapping[str, npt.NDArray[np.float64]] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Give what was measured as JSON holds it."""
        return {
            "measure": self.measure,
            "figures": dict(self.headline),
            "sections": [section.to_dict() for section in self.sections],
        }

    def __repr__(self) -> str:
        first = next(iter(self.headline.items()), ("nothing", 0))
        value = f"{first[1]:.3g}" if isinstance(first[1], float) else first[1]
        return f"Measured({self.measure}: {first[0]} {value})"


@dataclass(frozen=True, kw_only=True)
class Measure(ABC):
    """The base of every measure: a frozen dataclass whose fields are its parameters."""

    shapes: ClassVar[frozenset[Shape]] = frozenset(Shape)
    """The shapes that it makes sense on."""
    example: ClassVar[Mapping[str, object]] = {}
    """Parameters that suit any release, for tests that find every measure."""

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the libraries are there that it needs beside those of the base install."""
        return True

    def fits(self, published: Published) -> bool:
        """Whether the measure makes sense on a release."""
        return published.manifest.shape in self.shapes

    def confirm_fits(self, published: Published) -> None:
        """Refuse a release that the measure makes no sense on."""
        if not self.fits(published):
            raise ParameterError(
                f"{type(self).__name__} does not apply to this {published.manifest.shape} release.",
                hint="leave it out, or give no measure: then all that apply are taken.",
            )

    @abstractmethod
    def run(self, published: Published, truth: Cells) -> Measured:
        """Compare a release with the table that it was made from.

        Parameters
        ----------
        published
            The release as any reader sees it.
        truth
            The counts of the table, all of its rows: at least the columns that the release counts.
        """


@dataclass(frozen=True, eq=False)
class Fold:
    """A part of the table, published; the rest is held out.

    Parameters
    ----------
    published
        The release of the part.
    train, test
        The counts of the part and of the rest, coded alike.
    """

    published: Published
    train: Cells
    test: Cells


@dataclass(frozen=True, kw_only=True)
class FoldedMeasure(Measure):
    """The base of every measure that is tried on rows which are held out of a release.

    Parameters
    ----------
    folds
        Into how many parts the rows are put; each is held out once.
    seed
        Where draws begin.
    """

    folds: int = 5
    seed: int = 0

    @abstractmethod
    def judge(self, folds: Sequence[Fold]) -> Measured:
        """Measure releases of parts of the table on the rows that each leaves out."""

    def run(self, published: Published, truth: Cells) -> Measured:
        """Measure a release on the very rows that it was made from, none being held out."""
        self.confirm_fits(published)
        return self.judge([Fold(published, truth, truth)])


def draw_folds(n_rows: int, n_folds: int, seed: int) -> Codes:
    """Give for each row the fold that holds it out, sizes as equal as can be.

    It depends on nothing but these numbers, so that all methods are measured on the same folds.

    Examples
    --------
    >>> np.bincount(draw_folds(7, 3, seed=1)).tolist()
    [3, 2, 2]
    """
    fold: Codes = np.random.default_rng(seed).permutation(n_rows) % n_folds
    return fold
