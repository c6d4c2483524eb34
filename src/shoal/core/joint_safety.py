"""Joint safety: a release that stays safe for readers who also have earlier ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from shoal.core.errors import ParameterError
from shoal.core.guarantee import Guarantee

__all__ = ["JointSafety"]

_DIGEST = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, kw_only=True, init=False)
class JointSafety(Guarantee):
    """What the release promises about sensitive values also holds beside earlier releases.

    Parameters
    ----------
    earlier
        The SHA-256 of the `manifest.json` of each earlier release.

    Notes
    -----
    What is checked, for each earlier release:

    1. All people of a bucket of this release are in one and the same bucket of the earlier one,
       or none of them is in it.
    2. What an earlier bucket holds beyond the buckets of this release within it is as many
       values as people of it who are not in this release, so no value changed in between. Where
       this release has some but not all people of an earlier bucket, the values of the others
       keep every other guarantee of this release as a bucket of their own.

    This is sufficient. A world gives every person a value so that each bucket of every release
    holds what it publishes. By 1 an earlier bucket E consists of buckets N_1, ..., N_m of this
    release and of people R who are not in it. Every world of this release gives the people of N_1,
    ..., N_m exactly the values of these buckets, whichever world it is. So E says nothing about
    them: it says that R has the values of E less those of N_1, ..., N_m, and nothing else. The
    worlds of all releases are therefore the worlds of this one, each combined with every
    assignment to people outside it. Each person of this release has a value in the same share of
    them as in the worlds of this release alone, whatever else an adversary knows about single
    people. The people R have the values that 2 is about, each assignment equally likely.

    It is also necessary that every earlier bucket, all of whose people are here, keeps the bound
    itself: the mean of its people's posteriors is its share, in any release.
    """

    earlier: tuple[str, ...]
    name: ClassVar[str] = "joint safety"
    needs_witness: ClassVar[str] = "earlier releases"
    limits: ClassVar[str] = (
        "It is about the earlier releases that it names and no others. It covers what the other "
        "guarantees promise about sensitive values, not how quasi-identifiers of different "
        "releases can be linked. It does not hide who is in the table, or who joined or left it."
    )

    def __init__(self, *, earlier: Sequence[str]) -> None:
        named = tuple(earlier)
        is_whole = all(_DIGEST.fullmatch(str(one)) for one in named)
        if isinstance(earlier, str) or not named or not is_whole:
            raise ParameterError(
                "Joint safety names each earlier release by the SHA-256 of its manifest."
            )
        object.__setattr__(self, "earlier", named)

    @property
    def statement(self) -> str:
        """What is promised, in words."""
        n_earlier = len(self.earlier)
        which = "the earlier release" if n_earlier == 1 else f"the {n_earlier} earlier releases"
        return (
            "what the other guarantees promise about sensitive values also holds for a reader of "
            f"{which} named by its digest, because its buckets are unions of buckets of this one"
            if n_earlier == 1
            else "what the other guarantees promise about sensitive values also holds for a reader "
            f"of {which} named by their digests, because their buckets are unions of buckets of "
            "this one"
        )

    @property
    def least_bucket(self) -> int:
        """The fewest rows a bucket can have."""
        return 1
