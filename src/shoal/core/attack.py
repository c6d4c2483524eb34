"""What an attack is: a pure function from what is published to what an adversary believes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.calibration import Calibration, Suspicions
from shoal.core.cells import Codes, Counts
from shoal.core.method import Shape
from shoal.core.release import People, Published
from shoal.core.risk_words import of_all, words_of_scale

__all__ = ["Attack", "Findings", "Risk", "Section"]


class Risk(StrEnum):
    """What an attack is a risk of, in the words of European data protection authorities.

    Membership is apart: that somebody is in the table may be all that an adversary wants to know.
    """

    SINGLING_OUT = "Singling out"
    LINKABILITY = "Linkability"
    INFERENCE = "Inference"
    MEMBERSHIP = "Membership"


@dataclass(frozen=True, eq=False)
class Section:
    """A small table of results: a title, column names and rows of texts and numbers.

    Parameters
    ----------
    title, columns, rows
        The table.
    holds_values
        Whether values of the table may stand in it; default True, so that a section which does
        not say so stays internal.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[object, ...], ...]
    holds_values: bool = True

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
    is_belief
        Whether the posteriors are beliefs that can be wrong, and not consequences of what is
        known. Beliefs are calibrated against the truth before they are judged; without the truth
        they are reported as "believed, not checked".
    suspicions
        The beliefs of every person in every value, which are calibrated once the truth is at hand;
        None if they follow by logic, or if people may be in several buckets.
    apart
        The people of whom single facts are known, by the key of their row, and the cell of
        `People` that each is in. Their entries follow those of the cells, in this order, and the
        entries of the cells do not count them.
    calibration
        The beliefs compared with the truth, where that was at hand. `breached` then marks the
        people who are exposed.
    unresolved
        The parts of the adversary's knowledge that name a column, node or value which is not
        there; a gate never passes with any.
    cut_short
        Why the attack did not look at everything; empty if it did.
    figure
        The figure that matters, in a few words for the gate's line; empty if that is the number
        of people at risk.
    risks
        What the attack is a risk of; empty if its class does not state it.
    meaningless
        Why the limit means nothing on this table, because every release exceeds it by arithmetic;
        empty if it means something.
    n_above_anyway
        The people whom every release of the table puts above the limit, whatever the method.
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
    is_belief: bool = False
    suspicions: Suspicions | None = field(default=None, repr=False)
    apart: Mapping[str, int] = field(default_factory=dict, repr=False)
    calibration: Calibration | None = None
    unresolved: tuple[str, ...] = ()
    cut_short: str = ""
    figure: str = ""
    risks: tuple[Risk, ...] = ()
    meaningless: str = ""
    n_above_anyway: int = 0

    @property
    def n_people(self) -> int:
        """How many people were attacked."""
        return int(self.counts.sum())

    @property
    def n_breached(self) -> int:
        """How many people are breached."""
        return int(self.counts[self.breached].sum())

    @property
    def n_at_risk(self) -> int | None:
        """The number of people at risk; None without a limit, because nothing is then judged."""
        return None if self.limit is None else self.n_breached

    @property
    def worst(self) -> float:
        """The largest posterior; 0 where nobody was attacked."""
        return float(self.posterior.max(initial=0.0))

    def to_dict(self) -> dict[str, object]:
        """Return the summary as JSON holds it."""
        return {
            "attack": self.attack,
            "knows": self.knows,
            "people": self.n_people,
            "at_risk": self.n_at_risk,
            **self.scale(),
            "figure": self.figure,
            "worst_posterior": self.worst,
            "limit": self.limit,
            "unresolved": list(self.unresolved),
            "cut_short": self.cut_short,
            "meaningless": self.meaningless,
            "risks": [str(risk) for risk in self.risks],
            "figures": dict(self.headline),
            "sections": [section.to_dict() for section in self.sections],
        }

    def scale(self) -> dict[str, object]:
        """Return how beliefs compare with the truth; empty for attacks that follow by logic."""
        if self.calibration is not None:
            return {"checked": True} | self.calibration.to_dict()
        return {"checked": False, "believed": self.n_breached} if self.is_belief else {}

    @property
    def line(self) -> str:
        """What was found in a few words, without any value of the table."""
        return (
            f"{self._counted}; the limit means nothing here" if self.meaningless else self._counted
        )

    @property
    def _counted(self) -> str:
        if self.figure:
            return self.figure
        if self.calibration is not None:
            return words_of_scale(self.calibration, self.n_people)
        if self.limit is None:
            return "not judged: it has no limit on this release"
        counted = of_all(self.n_breached, self.n_people)
        return f"{counted} people {'believed, not checked' if self.is_belief else 'at risk'}"

    def __repr__(self) -> str:
        return f"Findings({self.attack}: {self.line}, worst posterior {self.worst:.3g})"


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
    goes_by_insensitive: ClassVar[bool] = False
    """Whether it finds people by the insensitive columns too, where lines show them."""
    yields_beliefs: ClassVar[bool] = False
    """Whether its posteriors are beliefs, which are calibrated where the truth is at hand."""
    example: ClassVar[Mapping[str, object]] = {}
    """Parameters that suit any release, for tests that find every attack."""
    risks: ClassVar[tuple[Risk, ...]] = ()
    """What it is a risk of. Every attack must state it; reports show "not stated" otherwise."""
    is_judged_by_limit: ClassVar[bool] = False
    """Whether a limit alone judges it, because what it finds is not a number of people."""

    @classmethod
    def is_installed(cls) -> bool:
        """Whether the libraries are there that it needs beside those of the base install."""
        return True

    def fits(self, published: Published) -> bool:
        """Whether the attack makes sense on a release."""
        return published.manifest.shape in self.shapes

    def aims(self, published: Published) -> tuple[list[tuple[int, ...]], Fraction] | None:  # noqa: ARG002
        """Return the sensitive values that are attacked, and the belief in them that is allowed.

        Returns
        -------
        For each attack the codes of the values, which count as one, and the bound; None if no
        share of a sensitive value in a bucket is bounded.
        """
        return None

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
