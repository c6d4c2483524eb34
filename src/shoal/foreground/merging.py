"""Merge buckets until the foreground knowledge attack finds nobody.

Problem: a release shows how likely each kind of person is to have a value, and weighing the worlds
of a bucket by that reveals its carriers.
Idea: attack; let every bucket in which somebody is found take in others whose people are about as
likely to carry the value and few of whom do; attack again. At worst this ends in one bucket of all
rows; if even that gives somebody away, the request is infeasible.
Guarantee: foreground safety, and frequency l-diversity with the same bound, which it implies.

References
----------
[Wong11] (see `shoal.foreground`) Section 7 proposes buckets of similar people; the merging is
not from there.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, group
from shoal.core.errors import InfeasibleError
from shoal.core.exact import as_text, reachable
from shoal.foreground.additive import fit_additive
from shoal.foreground.attribute_sets import AttributeSet
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.law import log_odds
from shoal.foreground.mining import Exposure, Policy, expose
from shoal.locating.exposed import Exposed

Aim = tuple[int, ...]

MARGIN = 1e-6
"""Beliefs that depend on what was mined must stay this far below 1/r: another computation of the
same belief may differ in its last digits."""
_NEVER = 1e-4
"""Forecast chances are kept this far from impossible and certain."""
_THOUSAND = 1000
_BOLDER = 1.5
"""How much more each further round takes in at once."""


@dataclass(frozen=True, eq=False)
class Merger:
    """Merged buckets that are safe.

    `target` is the merged bucket that each bucket became a part of, and `exposed` the merged
    release. `worst` is the largest p(t:x) left, and `worst_solution` the largest by a single
    solution whose log-likelihood is within 2 of the highest.
    """

    target: Codes
    exposed: Exposed
    n_rounds: int
    worst: float
    worst_solution: float

    def __repr__(self) -> str:
        return (
            f"Merger({len(self.target)} buckets into {self.exposed.buckets.n_buckets} in "
            f"{self.n_rounds} rounds, largest belief {self.worst:.3g})"
        )


def merge_until_safe(
    exposed: Exposed,
    aims: Sequence[Aim],
    r: Fraction,
    sets: Sequence[AttributeSet],
    *,
    policy: Policy = "pool",
    n_least: int = 1,
) -> Merger:
    """Merge buckets until nobody is linked to a value with a probability above 1/r.

    Each entry of `aims` is attacked separately, by the attribute `sets`; the values whose codes it
    lists count as one. Buckets have at least `n_least` rows.

    Notes
    -----
    If the rows of a bucket are all alike by an attribute set, the belief is the bucket's share,
    compared with 1/r in whole numbers. Every other belief must stay below 1/r by a millionth.
    Merging is a heuristic: other buckets may be safe even if no safe ones are found.
    `InfeasibleError` then names the largest r that one bucket of all rows keeps.

    A bucket takes in first the buckets whose people are most nearly as likely to carry the value as
    the person who was found, by an additive model of the release, and in which the value has a
    share below 1/r. It takes in as many rows as equally likely people would need.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.foreground.attribute_sets import usable_sets
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows, bucket = np.array([[0], [1], [0], [0], [1], [1]]), np.array([0, 0, 1, 1, 2, 2])
    >>> exposed = Exposed.of_rows([sex], rows, bucket, np.array([1, 0, 1, 0, 0, 0]), disease)
    >>> merge_until_safe(exposed, [(1,)], Fraction(2), usable_sets(exposed.looks, 3))
    Merger(3 buckets into 1 in 3 rounds, largest belief 0.333)
    """
    attack = Attacker(tuple(aims), r, tuple(sets), policy, n_least)
    # If the share in the whole release exceeds 1/r, so does the share in some bucket.
    for aim in aims:
        if int(exposed.n_carrying(aim).sum()) * r > exposed.n_rows:
            raise attack.infeasible(exposed)
    scores = np.stack([rank_looks(exposed, aim) for aim in aims]) if aims else np.zeros((1, 0))
    target = np.arange(exposed.buckets.n_buckets)
    n_rounds = 0
    while True:
        now = merged_release(exposed, target)
        n_rounds += 1
        judged = attack.judge(now)
        if not judged.fails.any():
            return Merger(target, now, n_rounds, judged.worst, judged.worst_solution)
        if now.buckets.n_buckets == 1:
            raise attack.infeasible(exposed)
        joined = join(now, judged, scores, r, _BOLDER ** (n_rounds - 1))
        target = joined[target]


def rank_looks(exposed: Exposed, aim: Aim) -> Floats:
    """Return the log odds that each distinct row carries the value, by an additive model."""
    f = fit_additive(Target.of(exposed, aim))[0].f
    return log_odds(np.clip(f, 1e-12, 1 - 1e-12))


def merged_release(exposed: Exposed, target: Codes) -> Exposed:
    """Return the release with its buckets merged."""
    n_buckets = int(target.max(initial=-1)) + 1
    bucket = target[exposed.bucket]
    looks, held = exposed.looks, exposed.buckets
    first, inverse = group([bucket, exposed.look], [n_buckets, looks.n_cells], len(bucket))
    count = np.bincount(inverse, exposed.count, len(first)).astype(np.int64)
    buckets = Buckets.of_pairs(target[held.bucket], held.value, held.domain, held.count)
    return Exposed(looks, bucket[first], exposed.look[first], count, buckets)


@dataclass(frozen=True, eq=False)
class Suspects:
    """The buckets in which somebody is found.

    `aim` is the aim that is believed most, `look` the distinct row it is believed about, and
    `excess` that belief as a multiple of 1/r. `carrying` is the number of carriers by aim and
    bucket; `worst` and `worst_solution` are as in `Merger`.
    """

    fails: Flags
    aim: Codes
    look: Codes
    excess: Floats
    carrying: Counts
    worst: float
    worst_solution: float

    @classmethod
    def nobody(cls, fails: Flags, carrying: Counts) -> Suspects:
        """Return buckets of which some fail for another reason."""
        zeros = np.zeros(len(fails), dtype=np.int64)
        return cls(fails, zeros, zeros, np.full(len(fails), -1.0), carrying, 0.0, 0.0)

    def with_others(self, other: Suspects) -> Suspects:
        """Return what is believed most, by this attack or another."""
        higher = other.excess > self.excess
        return Suspects(
            self.fails | other.fails,
            np.where(higher, other.aim, self.aim),
            np.where(higher, other.look, self.look),
            np.maximum(self.excess, other.excess),
            self.carrying,
            max(self.worst, other.worst),
            max(self.worst_solution, other.worst_solution),
        )


@dataclass(frozen=True, eq=False)
class Attacker:
    """The adversary whom buckets are to withstand; see `merge_until_safe`."""

    aims: tuple[Aim, ...]
    r: Fraction
    sets: tuple[AttributeSet, ...]
    policy: Policy
    n_least: int

    def judge(self, exposed: Exposed) -> Suspects:
        """Attack a release, aim by aim."""
        targets = [Target.of(exposed, aim) for aim in self.aims]
        n_buckets = exposed.buckets.n_buckets
        carrying = np.array([one.n_carrying for one in targets]).reshape(-1, n_buckets)
        found = Suspects.nobody(exposed.buckets.sizes < self.n_least, carrying)
        for number, target in enumerate(targets):
            found = found.with_others(self.suspects(number, self.expose(target), carrying))
        return found

    def suspects(self, number: int, found: Exposure, carrying: Counts) -> Suspects:
        """Return the buckets in which the beliefs about one aim are too strong."""
        exposed, r = found.target.exposed, self.r
        # The share of a bucket does not depend on what was mined, so it may equal the limit.
        fails = carrying[number] * r.numerator > exposed.buckets.sizes * r.denominator
        if r > 1:
            fails[exposed.bucket[found.at_most > float(1 / r) - MARGIN]] = True
        order = np.lexsort((found.p, exposed.bucket))
        last = order[exposed.starts[1:] - 1]
        return Suspects(
            fails,
            np.full(len(fails), number, dtype=np.int64),
            exposed.look[last],
            found.p[last] * float(r),
            carrying,
            float(found.p.max(initial=0.0)),
            float(found.worst.max(initial=0.0)),
        )

    def expose(self, target: Target) -> Exposure:
        """Return what the adversary believes about one aim."""
        return expose(target, self.sets, policy=self.policy)[0]

    def infeasible(self, exposed: Exposed) -> InfeasibleError:
        """Return the error, which names the largest r that one bucket of all rows keeps."""
        whole = merged_release(exposed, np.zeros(exposed.buckets.n_buckets, dtype=np.int64))
        worst = self.judge(whole).worst
        best = max(Fraction(math.floor(_THOUSAND / (worst + 2 * MARGIN)), _THOUSAND), Fraction(1))
        return InfeasibleError(
            f"No buckets were found that keep every belief within 1/r for r = {as_text(self.r)}; "
            f"one bucket of all rows gives {worst:.4f}.",
            hint="; or ".join(
                filter(
                    None,
                    (
                        reachable({"r": best}),
                        "protect only the values that need it, with value = [...]",
                    ),
                )
            )
            + ".",
            best={"r": as_text(best)},
        )


def join(exposed: Exposed, judged: Suspects, scores: Floats, r: Fraction, boldness: float) -> Codes:
    """Let every failing bucket take in others; return the new number of each bucket."""
    sizes = exposed.buckets.sizes
    taken_by = np.arange(len(sizes))
    failing = np.flatnonzero(judged.fails)
    for aim in np.unique(judged.aim[failing]).tolist():
        score = scores[aim]
        total = np.bincount(exposed.bucket, exposed.count * score[exposed.look], len(sizes))
        mean = total / sizes
        room = sizes * r.denominator - judged.carrying[aim] * r.numerator
        is_alone = taken_by == np.arange(len(sizes))
        is_alone[taken_by[~is_alone]] = False
        pool = np.flatnonzero(is_alone & ~judged.fails & (room > 0))
        line = _Line(mean, pool[np.argsort(mean[pool], kind="stable")])
        own = failing[(judged.aim[failing] == aim) & is_alone[failing]]
        # The likeliest people come first: the fewest others are like them.
        for place in own[np.argsort(-score[judged.look[own]], kind="stable")].tolist():
            # With this many rows more, equally likely people would be believed with 1/r.
            needed = boldness * max(sizes[place] * (judged.excess[place] - 1), 1.0)
            for other in line.take(float(score[judged.look[place]]), needed, sizes):
                taken_by[other] = place
    alone = failing[np.bincount(taken_by, minlength=len(sizes))[failing] == 1]
    _join_rest(alone, taken_by)
    return np.unique(taken_by, return_inverse=True)[1].astype(np.int64, copy=False)


def _join_rest(alone: Codes, taken_by: Codes) -> None:
    """Merge buckets that found nothing to take in: with one another, or the last with any."""
    if len(alone) > 1:
        pairs = alone[: len(alone) // 2 * 2].reshape(-1, 2)
        taken_by[pairs[:, 1]] = pairs[:, 0]
        if len(alone) % 2:
            taken_by[alone[-1]] = alone[0]
    elif len(alone):
        (place,) = alone.tolist()
        other = 0 if place else 1
        taken_by[place] = taken_by[other]


class _Line:
    """The buckets that may be taken, sorted by score, from which the nearest are taken."""

    def __init__(self, score: Floats, order: Codes) -> None:
        self._order: list[int] = order.tolist()
        self._score: list[float] = score[order].tolist()

    def take(self, score: float, n_rows: float, sizes: Counts) -> list[int]:
        """Take the buckets nearest to a score until they have this many rows."""
        taken: list[int] = []
        right = bisect.bisect_left(self._score, score)
        left = right
        while n_rows > 0 and (left > 0 or right < len(self._order)):
            is_lower = right == len(self._order) or (
                left > 0 and score - self._score[left - 1] <= self._score[right] - score
            )
            left, right = (left - 1, right) if is_lower else (left, right + 1)
            chosen = self._order[left if is_lower else right - 1]
            taken.append(chosen)
            n_rows -= float(sizes[chosen])
        del self._order[left:right], self._score[left:right]
        return taken
