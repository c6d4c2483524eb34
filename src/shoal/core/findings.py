"""What an attack found, as data: beliefs about people, guesses at cells, and their judgement."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.calibration import Calibration, Suspicions, words_of_scale
from shoal.core.display import Section, Tabular, of_all
from shoal.core.sampling import Sampled


class Risk(StrEnum):
    """The risk that an attack shows, in the terms of European data protection authorities.

    Membership is separate: an adversary may want to know only that somebody is in the table.
    """

    SINGLING_OUT = "Singling out"
    LINKABILITY = "Linkability"
    INFERENCE = "Inference"
    MEMBERSHIP = "Membership"


@dataclass(frozen=True, eq=False)
class Truth:
    """The sensitive values of the people attacked; no attack sees them before it has answered."""

    # For each person, their cell of `People`.
    cell: Codes
    # For each sensitive column, the value of each person as findings number it; -1 if the release
    # does not hold it.
    values: tuple[Codes, ...]
    n_cells: int

    def has(self, values: tuple[int, ...]) -> Flags:
        """Return for each person whether they have any of some values."""
        has: Flags = np.any([np.isin(column, values) for column in self.values], axis=0)
        return has

    def carriers(self, values: tuple[int, ...]) -> Counts:
        """Count for each cell of people those who have any of some values."""
        return self._counted(self.has(values))

    def right(self, value: Codes) -> Counts:
        """Count for each cell of people those who have the value believed about the cell."""
        hits = [column == value[self.cell] for column in self.values]
        return self._counted(np.any(hits, axis=0))

    def _counted(self, is_counted: Flags) -> Counts:
        return np.bincount(self.cell[is_counted], minlength=self.n_cells).astype(np.int64)


Score = Callable[[Truth], tuple[Mapping[str, object], "tuple[Section, ...]"]]
"""Compares an answer with the truth: returns further figures and small tables, all internal."""


@dataclass(frozen=True, eq=False)
class Guesses:
    """The values that one adversary fills in, one entry per cell; a cell left open has none."""

    row: Codes
    column: Codes
    # The code of the value that she believes most, and her belief in it from 0 to 1.
    value: Codes
    belief: Floats
    # The place in `reasons` of the reason for her belief; -1 if none is named.
    reason: Codes
    # In words, with values of the table: only internal reports show them.
    reasons: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.row)

    def at(self, which: Flags) -> Guesses:
        """Return the guesses that are marked."""
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
        """Join guesses about different cells, those of the first part first."""
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


@dataclass(frozen=True, eq=False)
class CellGuesses:
    """What the adversaries of one attack fill in for suppressed cells, to be scored by the truth.

    The guesses are by adversary, the weakest first: `released` at the release, `unprotected` at the
    table with only the private cells blanked. The latter is empty if that table is not at hand.
    """

    # The minimum belief with which an adversary counts as knowing a cell.
    threshold: Fraction
    # The columns attacked; None for all of them.
    columns: tuple[str, ...] | None
    released: Mapping[str, Guesses]
    unprotected: Mapping[str, Guesses] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Findings(Tabular):
    """What an attack believes about the people, one entry per cell of `People`."""

    attack: str
    # What the adversary knows, in words.
    knows: str
    # The number of people of each entry.
    counts: Counts
    # The code of the sensitive value that she believes most; -1 if the entry is about no value.
    value: Codes
    # Her belief in it, from 0 to 1.
    posterior: Floats
    # Whether she learns more than is allowed.
    breached: Flags
    # The largest belief that is allowed; None if the attack is reported and not judged.
    limit: str | None
    # The figures of the summary, by name.
    headline: Mapping[str, object]
    # Further small tables: the worst buckets, the share of each column.
    sections: tuple[Section, ...] = field(default=())
    # Whether there is one entry per published line, in their order, instead of per cell of
    # `People`.
    is_by_line: bool = False
    # Whether there is one entry per kind of people and bucket of a sliced release, instead of per
    # kind.
    is_by_place: bool = False
    # Whether the posteriors are beliefs that can be wrong, and not consequences of what is known.
    # Beliefs are calibrated against the truth before they are judged; without the truth they are
    # reported as "believed, not checked".
    is_belief: bool = False
    # The belief about every person in every value, to be calibrated once the truth is at hand;
    # None if the posteriors follow by logic, or if people may be in several buckets.
    suspicions: Suspicions | None = field(default=None, repr=False)
    # The people about whom single facts are known, by the key of their row, with their cell of
    # `People`. Their entries follow those of the cells, in this order, and the cells do not count
    # them.
    apart: Mapping[str, int] = field(default_factory=dict, repr=False)
    # The values filled in for suppressed cells, to be scored once the truth is at hand.
    guesses: CellGuesses | None = field(default=None, repr=False)
    # Compares the answer with the truth by the attack's own figures; None if it has none.
    score: Score | None = field(default=None, repr=False)
    # Whether the findings are about people other than those of the release's lines, or about
    # nobody because nothing was tried. They are then left out of the risk file.
    is_apart: bool = False
    # The beliefs compared with the truth, if it was at hand. `breached` then marks the exposed
    # people.
    calibration: Calibration | None = None
    # The parts of the adversary's knowledge that name an unknown column, node or value; a gate
    # never passes with any.
    unresolved: tuple[str, ...] = ()
    # Why the attack did not look at everything; empty if it did.
    cut_short: str = ""
    # The figure that matters, in a few words for the gate's line; empty if that is the number of
    # people at risk.
    figure: str = ""
    # Empty if the class of the attack does not state its risks.
    risks: tuple[Risk, ...] = ()
    # Why the limit is meaningless on this table, because every release exceeds it by arithmetic;
    # empty if it is meaningful.
    meaningless: str = ""
    # The number of people whom every release of the table puts above the limit.
    n_above_anyway: int = 0
    # What the people attacked say about all people, if they are a sample of them; the counts of
    # entries outside the sample are then 0.
    sampled: Sampled | None = None
    # The levels that were attacked in the place of sensitive values, in a few words; empty if every
    # value was.
    levels: str = ""

    @property
    def n_people(self) -> int:
        """The number of people attacked."""
        return int(self.counts.sum())

    @property
    def n_all(self) -> int:
        """The number of people whom the findings are about: not only those of a sample."""
        return self.n_people if self.sampled is None else self.sampled.n_all

    @property
    def n_breached(self) -> int:
        """The number of people about whom she learns more than is allowed."""
        return int(self.counts[self.breached].sum())

    @property
    def n_at_risk(self) -> int | None:
        """The number of people at risk; None without a limit, because nothing is then judged.

        Of a sample of people it is the upper end of the interval, scaled to all of them.
        """
        if self.limit is None:
            return None
        return self.n_breached if self.sampled is None else int(self.sampled.at_risk.high)

    @property
    def worst(self) -> float:
        """The largest posterior; 0 if nobody was attacked."""
        return float(self.posterior.max(initial=0.0))

    def _frame(self) -> Mapping[str, object]:
        """Return one entry per cell of `People`; the value is a code, -1 for none."""
        return {
            "people": self.counts,
            "value": self.value,
            "posterior": self.posterior,
            "breached": self.breached,
        }

    def to_dict(self) -> dict[str, object]:
        """Return the summary in its JSON form."""
        return {
            "attack": self.attack,
            "knows": self.knows,
            "people": self.n_all,
            "at_risk": self.n_at_risk,
            "sampled": None if self.sampled is None else self.sampled.to_dict(),
            **self.scale(),
            "figure": self.figure,
            "worst_posterior": self.worst,
            "limit": self.limit,
            **({"attacked": self.levels} if self.levels else {}),
            "unresolved": list(self.unresolved),
            "cut_short": self.cut_short,
            "meaningless": self.meaningless,
            "risks": [str(risk) for risk in self.risks],
            "figures": dict(self.headline),
            "sections": [section.to_dict() for section in self.sections],
        }

    def scale(self) -> dict[str, object]:
        """Return how beliefs compare with the truth; empty if the posteriors follow by logic."""
        if self.calibration is not None:
            return {"checked": True} | self.calibration.to_dict()
        return {"checked": False, "believed": self.n_breached} if self.is_belief else {}

    @property
    def line(self) -> str:
        """The result in a few words, without any value of the table."""
        return (
            f"{self._counted}; the limit means nothing here" if self.meaningless else self._counted
        )

    @property
    def _counted(self) -> str:
        if self.sampled is None or self.limit is None or self.figure:
            return self._counted_people
        return f"{self.sampled.words}; of these people, {self._counted_people}"

    @property
    def _counted_people(self) -> str:
        if self.figure:
            return self.figure
        if self.calibration is not None:
            return words_of_scale(self.calibration, self.n_people)
        if self.limit is None:
            return "not judged: it has no limit on this release"
        counted = of_all(self.n_breached, self.n_people)
        return f"{counted} people {'believed, not checked' if self.is_belief else 'at risk'}"

    def _overview(self) -> Section:
        return overview_of([self], f"Findings of {self.attack}")

    def __repr__(self) -> str:
        return f"Findings({self.attack}: {self.line}, worst posterior {self.worst:.3g})"


def overview_of(findings: Iterable[Findings], title: str) -> Section:
    """Return the results of attacks, one row per attack, without any value of the table."""
    return Section(
        title,
        ("attack", "found", "people", "at risk", "worst posterior", "limit"),
        tuple(
            (one.attack, one.line, one.n_all, one.n_at_risk, one.worst, one.limit)
            for one in findings
        ),
        holds_values=False,
    )


def about_everybody(findings: Iterable[Findings]) -> tuple[Findings, ...]:
    """Return the findings about everybody in a release, the last findings of each attack.

    The risk file, the record and the internal report of the release hold these.
    """
    return tuple({found.attack: found for found in findings if not found.is_apart}.values())
