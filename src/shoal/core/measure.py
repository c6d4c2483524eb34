"""What a measure is: a pure function from a release and the table's counts to what is kept."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from shoal.core.attack import Section
from shoal.core.cells import Cells
from shoal.core.errors import ParameterError
from shoal.core.method import Shape
from shoal.core.release import Published

__all__ = ["Measure", "Measured"]


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

    Examples
    --------
    >>> Measured("loss", {"generalized loss": 0.25})
    Measured(loss: generalized loss 0.25)
    """

    measure: str
    headline: Mapping[str, object]
    sections: tuple[Section, ...] = field(default=())

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
