"""What an attack is: a pure function from what is published to what an adversary believes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes, Counts
from shoal.core.method import Shape
from shoal.core.release import People, Published

__all__ = ["Attack", "Findings", "Section"]


@dataclass(frozen=True, eq=False)
class Section:
    """A small table of results: a title, column names and rows of texts and numbers."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]

    def to_dict(self) -> dict[str, object]:
        """Give the section as JSON holds it."""
        return {
            "title": self.title,
            "rows": [dict(zip(self.columns, row, strict=True)) for row in self.rows],
        }


@dataclass(frozen=True, eq=False)
class Findings:
    """What an attack believes about the people, one entry a cell of `People`.

    Parameters
    ----------
    attack
        The attack's name.
    knows
        What the adversary knows, in words.
    counts
        How many people each entry speaks of.
    value
        The code of the sensitive value that she believes most, -1 where it is about none.
    posterior
        How much she believes it, from 0 to 1.
    breached
        Whether she learns more than is allowed.
    limit
        The belief that is allowed; None where the attack is reported, not judged.
    headline
        The figures of the summary, by name.
    sections
        Further small tables: the worst buckets, the share of each column.
    is_by_line
        Whether there is one entry a published line, in their order, instead of one a cell of
        `People`.
    is_by_place
        Whether there is one entry a kind of people and bucket of a sliced release, instead of one
        a kind.
    """

    attack: str
    knows: str
    counts: Counts
    value: Codes
    posterior: npt.NDArray[np.float64]
    breached: npt.NDArray[np.bool_]
    limit: str | None
    headline: Mapping[str, object]
    sections: tuple[Section, ...] = field(default=())
    is_by_line: bool = False
    is_by_place: bool = False

    @property
    def n_people(self) -> int:
        """How many people were attacked."""
        return int(self.counts.sum())

    @property
    def n_breached(self) -> int:
        """How many people are breached."""
        return int(self.counts[self.breached].sum())

    @property
    def worst(self) -> float:
        """The largest posterior; 0 where nobody was attacked."""
        return float(self.posterior.max(initial=0.0))

    def to_dict(self) -> dict[str, object]:
        """Give the summary as JSON holds it."""
        return {
            "attack": self.attack,
            "knows": self.knows,
            "people": self.n_people,
            "at_risk": self.n_breached,
            "worst_posterior": self.worst,
            "limit": self.limit,
            "figures": dict(self.headline),
            "sections": [section.to_dict() for section in self.sections],
        }

    def __repr__(self) -> str:
        return (
            f"Findings({self.attack}: {self.n_breached} of {self.n_people} people at risk, "
            f"worst posterior {self.worst:.3g})"
        )


@dataclass(frozen=True, kw_only=True)
class Attack(ABC):
    """The base of every attack: a frozen dataclass whose fields are its parameters."""

    knows: ClassVar[str]
    """What the adversary knows, in words."""
    shapes: ClassVar[frozenset[Shape]] = frozenset(Shape)
    """The shapes that it works on."""
    needs_knowledge: ClassVar[bool] = False
    """Whether it is run only where there is knowledge to run it with."""
    needs_places: ClassVar[bool] = False
    """Whether it goes by everybody's own bucket also where the release does not say it."""
    example: ClassVar[Mapping[str, object]] = {}
    """Parameters that suit any release, for tests that find every attack."""

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the libraries are there that it needs beside those of the base install."""
        return True

    def fits(self, published: Published) -> bool:
        """Whether the attack makes sense on a release."""
        return published.manifest.shape in self.shapes

    @abstractmethod
    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:
        """Attack the people with what is published and what is known.

        Parameters
        ----------
        published
            The release as any reader sees it.
        people
            The quasi-identifiers of the people attacked.
        knowledge
            What the adversary knows beside the release.
        """
