"""Attacks that are tried on people who are held out of a release.

Whether a release betrays who is in its table can be seen only beside people who are not. So a part
of the table is published in the same way, and the rest is held out. An attack sees such a trial as
an adversary would see the release; who is a member, only its score is told.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from shoal.core.attack import Attack, Findings
from shoal.core.release import People, Published

__all__ = ["HELD_OUT_TEST", "HeldOutAttack", "Trial", "Trials"]

HELD_OUT_TEST = "held-out test"
"""The figure of findings that says why nothing was tried; it is there only where nothing was."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A part of the table, published; the rest is held out.

    Parameters
    ----------
    name
        What is particular about it, in a word or two.
    members, others
        The people who are in the part, and those who are not, by what is known of them.
    published
        The release of the part; None where it cannot be published like this.
    refusal
        Why it cannot.
    """

    name: str
    members: People
    others: People
    published: Published | None
    refusal: str | None = None


@dataclass(frozen=True, eq=False)
class Trials:
    """All that was tried for an attack, and what only the maker of a release can count.

    Parameters
    ----------
    trials
        The release of a part made as the whole was, then variants of it.
    left_out
        Why there is no trial; None where there is one.
    originals, fakes
        Of a sliced release, by number of buckets that they match, how many different rows of the
        table and how many others there are; None where they were not counted.
    not_counted
        Why they were not.
    """

    trials: tuple[Trial, ...] = ()
    left_out: str | None = None
    originals: Mapping[int, int] | None = None
    fakes: Mapping[int, int] | None = None
    not_counted: str | None = None

    @property
    def are_done(self) -> bool:
        """Whether the part could be published as the whole was."""
        return bool(self.trials) and self.trials[0].published is not None


@dataclass(frozen=True, kw_only=True)
class HeldOutAttack(Attack):
    """The base of every attack that is tried on people who are held out.

    Parameters
    ----------
    split
        The share of the rows that are published.
    max_rows
        The most rows that take part; of more, about so many are drawn.
    compare
        Whether ways to group rows are compared, where the method has several.
    max_steps
        After how many steps the counting of fakes is given up.
    """

    split: Fraction = Fraction(1, 2)
    max_rows: int = 100_000
    compare: bool = False
    max_steps: int = 50_000_000

    @abstractmethod
    def judge(self, published: Published, people: People, trials: Trials) -> Findings:
        """Attack the people, and say how well it went in the trials.

        Parameters
        ----------
        published, people
            As for `run`.
        trials
            What was tried.
        """

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:  # noqa: ARG002
        """Attack the people without any trial: the table is not at hand."""
        return self.judge(published, people, Trials(left_out="the table is not at hand"))
