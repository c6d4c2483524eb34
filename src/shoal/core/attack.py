"""What an attack is: a pure function from what an adversary sees to what she believes.

An attack declares its `needs`; its `View` provides these and nothing else, each computed only when
it is asked for. The truth is never part of a view: it is joined to the `Findings` afterwards.

Only people who are not in a table show whether its release reveals membership. So for some attacks
a part of the table is published in the same way, and the rest is held out: a `Trial`. An attack
sees it as an adversary would see the release.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import ClassVar

from shoal.core.arrays import Codes, Flags, Floats, Small
from shoal.core.budget import DEFAULT_ATTACK_WORK
from shoal.core.cells import Buckets
from shoal.core.declared import Declared, declared
from shoal.core.findings import Findings, Risk
from shoal.core.method import Algorithm
from shoal.core.progress import Work
from shoal.core.release import People, Published
from shoal.core.shapes import Model
from shoal.core.table import Rows

HELD_OUT_TEST = "held-out test"
"""The figure of findings that states why nothing was tried; present only if nothing was tried."""


@dataclass(frozen=True)
class TrialPlan:
    """How trials are made."""

    # The share of the rows that are published.
    split: Fraction
    # The largest number of rows that take part; from a larger table, about this many are drawn.
    max_rows: int
    # Whether different groupings of rows are compared, if the method has several.
    compare: bool
    # The number of steps after which counting fake tuples is given up.
    max_steps: int


@dataclass(frozen=True, eq=False)
class Trial:
    """A published part of the table; the rest is held out."""

    # What distinguishes it, in a word or two.
    name: str
    # The people who are in the part and those who are not, by what is known about them.
    members: People
    others: People
    # The release of the part; None if it cannot be published like this, for the reason `refusal`.
    published: Published | None
    refusal: str | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """All trials of an attack, and the counts that only the maker of a release can make."""

    # First the release of a part made like the whole, then variants of it.
    trials: tuple[Trial, ...] = ()
    # Why there is no trial; None if there is one.
    left_out: str | None = None
    # For a sliced release, by the number of matching buckets: how many distinct rows of the table
    # and how many other tuples match. None if they were not counted, for the reason `not_counted`.
    originals: Mapping[int, int] | None = None
    fakes: Mapping[int, int] | None = None
    not_counted: str | None = None

    @property
    def are_done(self) -> bool:
        """Whether the part could be published like the whole."""
        return bool(self.trials) and self.trials[0].published is not None


class Need(StrEnum):
    """What an attack may need besides the published files and the people attacked."""

    KNOWLEDGE = "knowledge"
    """Something that the adversary knows; without it the attack is not run by default."""
    INSENSITIVE = "insensitive columns"
    """The number of lines that also show the same insensitive columns."""
    PLACES = "places"
    """Everybody's own bucket, even if the release does not reveal it."""
    TRUTH = "truth"
    """Its posteriors are beliefs: if the table is at hand, everybody is attacked by exact values
    in their own bucket, and the beliefs are then calibrated against the truth."""
    ROWS = "rows"
    """The rows of a suppressed release one by one; it attacks cells, not people."""
    TRIAL = "held-out trial"
    """A part of the table that is published like the whole."""
    ALGORITHM = "algorithm"
    """The method with its parameters, to run on other tables, unless the release is enough."""


class Sampling(StrEnum):
    """How an attack works on a sample of people, if everybody would be too much work."""

    NONE = "none"
    """It does not: it is cheap, or draws a sample of its own."""
    RELEASE = "release"
    """On the buckets of the sample, as if these were the whole release."""
    PEOPLE = "people"
    """On the people of the sample, in the whole release."""


@dataclass(frozen=True, eq=False)
class Experiment:
    """The abilities of an adversary who knows the algorithm: she can publish tables of her own."""

    # Takes a table (codes without `HIDDEN`, and a mark for every private cell) and returns the
    # codes that the publisher would release, `HIDDEN` for suppressed cells. It spends steps of the
    # work, and raises `TooMuchWork` if there are too few.
    publish: Callable[[Small, Flags, Work], Small]
    # For each column the share of private cells, which she is assumed to know.
    shares: Floats


@dataclass(frozen=True, eq=False)
class CellView:
    """A suppressed release together with its maker's knowledge of which cells are private."""

    released: Rows
    # The table with only the private cells blanked.
    unprotected: Rows
    # The columns with private cells, those with the most private cells first.
    columns: tuple[str, ...]
    # For adversaries who know the algorithm; None if it cannot be simulated.
    experiment: Experiment | None


def _nothing() -> None:
    return None


def _no_trials(_: TrialPlan) -> Trials:
    return Trials(left_out="the table is not at hand")


@dataclass(frozen=True, eq=False)
class View:
    """What one attack sees of a release.

    Attacks call `algorithm`, `cells` and `trials` if they need them; these return None (`trials`:
    no trials, with the reason) if the required data are not at hand.
    """

    published: Published
    # The people attacked, by what is known about them.
    people: People
    # What the adversary knows besides the release.
    knowledge: object = None
    algorithm: Callable[[], Algorithm | None] = field(default=_nothing, repr=False)
    cells: Callable[[], CellView | None] = field(default=_nothing, repr=False)
    trials: Callable[[TrialPlan], Trials] = field(default=_no_trials, repr=False)
    # The units of work that the attack may do; see `shoal.core.budget`.
    work: int = DEFAULT_ATTACK_WORK
    # The buckets that hold the people attacked, ascending, if they are a sample of everybody by
    # whole buckets and the release is whole; None otherwise.
    sample: Codes | None = None


@declared
class Attack(Declared, ABC):
    """Base class of every attack: a frozen class whose fields are its parameters."""

    knows: ClassVar[str]
    """What the adversary knows, in words."""
    reads: ClassVar[frozenset[Model]] = frozenset(Model)
    """The models that it works on; every shape is counted as one of them."""
    needs: ClassVar[frozenset[Need]] = frozenset()
    """What it needs besides the published files and the people attacked."""
    example: ClassVar[Mapping[str, object]] = {}
    """Parameters that suit any release, for tests that find every attack."""
    risks: ClassVar[tuple[Risk, ...]] = ()
    """The risks that it shows. Every attack must state them; otherwise reports say "not stated"."""
    is_judged_by_limit: ClassVar[bool] = False
    """Whether only a limit judges it, because its result is not a number of people."""
    sampling: ClassVar[Sampling] = Sampling.NONE
    """How it works on a sample of people; if it does, `work_of` says what the whole takes."""

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether the libraries that it needs beyond the base install are there."""
        return True

    def fits(self, published: Published) -> bool:
        """Return whether the attack makes sense on a release."""
        return published.manifest.shape.model in self.reads

    def aims(self, published: Published) -> tuple[list[tuple[int, ...]], Fraction] | None:  # noqa: ARG002
        """Return the sensitive values that are attacked, and the largest belief that is allowed.

        For each attack the codes of the values, which count as one; None if no share of a sensitive
        value in a bucket is bounded.
        """
        return None

    def has_limit(self, published: Published) -> bool:  # noqa: ARG002
        """Return whether people can be at risk: by a limit of its own, or of the guarantees."""
        return True

    def work_of(self, published: Published, n_people: int) -> int:  # noqa: ARG002
        """Estimate the units of work of attacking some of the people, from counts alone.

        It must not fall with the number of people; see `shoal.core.budget` for units.
        """
        return 0

    def buckets_of(self, published: Published) -> Buckets | None:
        """Return the sensitive values of each bucket in the column that is attacked."""
        return published.buckets

    @abstractmethod
    def run(self, view: View) -> Findings:
        """Attack the people of a view."""
