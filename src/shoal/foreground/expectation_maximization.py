"""The probabilities that best explain how often a value occurs in each bucket.

[Wong11] requires that f_i, the global probability of a signature, equal the expected share of x
among its rows, given the buckets, and solves these equations by Newton's method. Iterating them
instead is EM for the model in which the carriers within each bucket are hidden, so the likelihood
never decreases; Newton's method leaves [0, 1] or finds other roots.

`expectation_maximization` is the iteration as printed. `Likelihood` takes the same step from many
points at once, in a kernel. Buckets whose rows are all of one class say the same at every point.
`shoal.foreground.solutions` searches for the maxima. `Target` is a sensitive value in a release:
who may carry it, and the likelihood of the buckets.

References
----------
[Wong11] (see `shoal.foreground`) Section 4.1, Equations (4) to (6).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.foreground._kernels import count_ways, curve, expect
from shoal.foreground.law import EXACT, Room, condition, odds_of, room_for, weigh_worlds
from shoal.foreground.shapes import Composition, Shapes
from shoal.locating.exposed import Exposed

_HIGHEST = 1e300
TOLERANCE = 1e-9
"""The largest relative change of a probability that counts as converged."""


def expectation_maximization(
    buckets: Sequence[tuple[Sequence[int], int]], f: Sequence[float], n_steps: int
) -> list[float]:
    """Iterate Equation (4) of [Wong11], world by world.

    `buckets` has, for each bucket (A-group) L_k, the signatures of its tuples, numbered from 0, and
    the number of tuples with the value x. `f` is where to begin: the global probability f_i of each
    signature s_i.

    Examples
    --------
    [Wong11] Example 2:

    >>> buckets = [([0, 1], 1), ([0, 0], 1), ([1, 1], 0)]
    >>> [round(f_i, 6) for f_i in expectation_maximization(buckets, [0.5, 0.5], 200)]
    [0.666667, 0.0]
    """
    f = list(f)
    # [Wong11] solves (4) by Newton's method instead, which may leave [0, 1].
    for _ in range(n_steps):
        c: list[float] = [0] * len(f)
        n_tuples = [0] * len(f)
        for signatures, n in buckets:
            # E-step, Equations (1) to (3): p(t_j : x) of every tuple of the bucket.
            linked, _ = weigh_worlds([f[i] for i in signatures], n)
            for i, p_j in zip(signatures, linked, strict=True):
                # Equation (5), tuple by tuple: c is the expected number of tuples with x.
                c[i] += p_j
                n_tuples[i] += 1
        # M-step, Equation (4): the expected share of x among the tuples that match s_i.
        f = [c_i / max(n_i, 1) for c_i, n_i in zip(c, n_tuples, strict=True)]
    return f


@dataclass(frozen=True, eq=False)
class Likelihood:
    """The likelihood of the buckets that have a carrier, given the probability of each class.

    `n_rows` is the number of rows of each class in the whole release. `fixed` are the probabilities
    that are given; NaN for those that are sought.
    """

    shapes: Shapes
    n_rows: Counts
    fixed: Floats

    @cached_property
    def n_at_least_one(self) -> Counts:
        """The number of rows of each class, or 1 for an empty class, as a divisor."""
        return np.maximum(self.n_rows, 1)

    @cached_property
    def mixed(self) -> Mixed:
        """The buckets with rows of several classes, and the carriers of all others."""
        return Mixed.of(self.shapes, len(self.n_rows))

    @cached_property
    def room(self) -> Room:
        """Work space for the kernels."""
        return room_for(self.shapes.start, self.shapes.rarer)

    def step(self, f: Floats) -> tuple[Floats, float]:
        """Return the expected share of carriers of each class, and the log-likelihood of `f`.

        Fixed probabilities stay as they are.
        """
        found, heights = self.steps(f[np.newaxis])
        return found[0], float(heights[0])

    def steps(self, f: Floats) -> tuple[Floats, Floats]:
        """Take a step from each of several points; see `step`.

        `f` has one row per point and one column per class.
        """
        expected, height = self._expect(odds_of(f))
        found = np.minimum(expected / self.n_at_least_one, 1.0)
        lacking = np.where(f < 1, f, 0.0)
        height = height + (self.n_rows * np.log1p(-lacking)).sum(axis=1)
        return np.where(np.isnan(self.fixed), found, self.fixed), height

    def _expect(self, odds: Floats) -> tuple[Floats, Floats]:
        """Return the expected carriers of each class, and the weight of all worlds, by point."""
        if not np.isfinite(odds).all():
            return self._condition(odds)
        mixed = self.mixed
        if not mixed.is_possible(odds):
            mixed = Mixed.whole(self.shapes, len(self.n_rows))
        expected, height = np.empty(odds.shape), np.empty(len(odds))
        weights, points = mixed.arrays[4][np.newaxis], np.ascontiguousarray(odds)
        expect(*mixed.arrays[:4], weights, points, expected, height, *self.room, EXACT)
        is_pure = mixed.pure > 0
        logs = (mixed.pure[is_pure] * np.log(odds[:, is_pure])).sum(axis=1)
        return expected + mixed.pure, height + mixed.constant + logs

    def _condition(self, odds: Floats) -> tuple[Floats, Floats]:
        """Do the same point by point; odds may be infinite."""
        shapes = self.shapes
        each = shapes.multiplicity[shapes.shape] * shapes.count
        found = [condition(shapes, one) for one in odds]
        expected = [np.bincount(shapes.which, each * share, odds.shape[1]) for share, _ in found]
        height = [float((shapes.multiplicity * log).sum()) for _, log in found]
        return np.array(expected, np.float64).reshape(odds.shape), np.array(height, np.float64)

    def pairs(self, f: Floats) -> Floats:
        """Return the mean number of pairs of carriers, minus the product of the mean numbers.

        The pairs are of two different rows in one bucket, one of each of two classes; sums are over
        all buckets.
        """
        pairs = np.diag(-self.mixed.pure)
        odds = np.minimum(odds_of(f), _HIGHEST)
        curve(*self.mixed.arrays, odds, pairs, *self.room)
        return pairs

    def even(self) -> Floats:
        """Return the local random-worlds estimate: one step from equal probabilities.

        Only the probabilities that are fixed at 0 are kept; the others are estimated, even if
        fixed.
        """
        shapes, is_able = self.shapes, self.fixed != 0
        able = np.where(is_able[shapes.which], shapes.count, 0)
        n_able = np.bincount(shapes.shape, able, shapes.n_shapes)
        # Rows with equal probabilities share the carriers of their bucket, unless it is impossible.
        share = np.where(shapes.n_carrying <= n_able, shapes.n_carrying / np.maximum(n_able, 1), 0)
        each = able * (share * shapes.multiplicity)[shapes.shape]
        expected = np.bincount(shapes.which, each, len(self.fixed))
        return np.where(is_able, np.minimum(expected / self.n_at_least_one, 1.0), 0.0)


@dataclass(frozen=True, eq=False)
class Mixed:
    """Buckets with rows of several classes, as the kernels take them, and all others in short.

    `pure` is the number of carriers of each class in buckets without another class: it is certain,
    whatever the probabilities are. `constant` is the logarithm of how many worlds these have.
    """

    arrays: tuple[Codes, Codes, Counts, Counts, Counts]
    pure: Floats
    constant: float

    @classmethod
    def of(cls, shapes: Shapes, n_classes: int) -> Mixed:
        """Take out the buckets of one class."""
        length = np.diff(shapes.start)
        is_pure = length == 1
        own = np.flatnonzero(is_pure)
        entry = shapes.start[own]
        n, size = shapes.n_carrying[own], shapes.count[entry]
        if np.any(n > size):
            return cls.whole(shapes, n_classes)
        pure = np.bincount(shapes.which[entry], shapes.multiplicity[own] * n, n_classes)
        kept, _ = shapes.take(np.flatnonzero(~is_pure))
        constant = count_ways(size, n, shapes.multiplicity[own])
        return cls(_arrays(kept), pure.astype(np.float64), constant)

    @classmethod
    def whole(cls, shapes: Shapes, n_classes: int) -> Mixed:
        """Take out nothing."""
        return cls(_arrays(shapes), np.zeros(n_classes), 0.0)

    def is_possible(self, odds: Floats) -> bool:
        """Return whether the carriers that are certain have odds other than 0."""
        return bool(np.all((odds > 0) | (self.pure == 0)))


def _arrays(shapes: Shapes) -> tuple[Codes, Codes, Counts, Counts, Counts]:
    return shapes.start, shapes.which, shapes.count, shapes.n_carrying, shapes.multiplicity


@dataclass(frozen=True, eq=False)
class Fit:
    """The probabilities that were found, and how far they can be trusted.

    `f` and `log_likelihood` are those of the highest maximum. The distinct `maxima`, one row each,
    are sorted by likelihood, the highest first; `weights` are their likelihoods as shares of the
    sum, and `heights` their log-likelihoods.
    """

    f: Floats
    log_likelihood: float
    # The EM steps from all starting points.
    n_steps: int
    # Whether no search was cut short.
    is_converged: bool
    # The largest change of a probability by another step.
    residual: float
    # Whether no nearby point is higher: saddle points are left and do not count.
    is_maximum: bool
    # The number of probabilities that are 0 or 1 to within rounding.
    n_at_bound: int
    n_starts: int
    # How often a search ended at a point that was not a maximum, and went on.
    n_saddles_left: int
    # Whether the curvature at every maximum is clear; otherwise one lies on a ridge, along which
    # the likelihood hardly changes.
    is_certain: bool
    maxima: Floats
    weights: Floats
    heights: Floats

    @property
    def n_maxima(self) -> int:
        """The number of distinct maxima."""
        return len(self.weights)

    @property
    def is_unique(self) -> bool:
        """Whether no start led to another maximum."""
        return self.n_maxima == 1

    def to_dict(self) -> dict[str, object]:
        """Return the diagnostics as JSON-compatible values."""
        left_out = ("f", "maxima", "weights", "heights")
        stated = {name: value for name, value in vars(self).items() if name not in left_out}
        return stated | {"n_maxima": self.n_maxima}

    def __repr__(self) -> str:
        state = "converged" if self.is_converged else "not converged"
        return f"Fit({len(self.f)} chances, {self.n_maxima} maxima, {state})"


# --- the value that is attacked -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Target:
    """A value, or several values that count as one, in a release.

    `n_carrying` is the number of rows of each bucket that carry the value. `is_excluded` says for
    each entry of the release whether its rows are known not to carry it.
    """

    exposed: Exposed
    n_carrying: Counts
    is_excluded: Flags = field(repr=False)
    values: tuple[int, ...] = ()

    @classmethod
    def of(
        cls, exposed: Exposed, values: Sequence[int] | Codes, forbidden: Flags | None = None
    ) -> Target:
        """Aim at some values, given by their codes.

        `forbidden` says for each distinct row of the release whether people who look like it cannot
        have the value. In a bucket that contradicts it, the adversary learns that she was wrong and
        excludes nobody.
        """
        n_carrying = exposed.n_carrying(values)
        is_excluded = np.zeros(len(exposed.look), dtype=bool)
        if forbidden is not None:
            is_excluded = forbidden[exposed.look]
            is_excluded &= _is_possible(exposed, n_carrying, is_excluded)
        return cls(exposed, n_carrying, is_excluded, tuple(int(code) for code in values))

    @cached_property
    def rate(self) -> float:
        """The share of the release's rows that carry the value."""
        return float(self.n_carrying.sum()) / max(self.exposed.n_rows, 1)

    @cached_property
    def carrying_buckets(self) -> Codes:
        """The buckets with a carrier."""
        return np.flatnonzero(self.n_carrying)

    @cached_property
    def entry(self) -> Codes:
        """The entries of buckets with a carrier; all others have p(t:x) = 0."""
        return np.flatnonzero(self.n_carrying[self.exposed.bucket] > 0)

    @cached_property
    def bucket(self) -> Codes:
        """For each of `entry` the place of its bucket among those with a carrier."""
        return np.searchsorted(self.carrying_buckets, self.exposed.bucket[self.entry])

    def classes(self, class_of_look: npt.NDArray[np.signedinteger], n_classes: int) -> Codes:
        """Return the class of each entry; excluded entries have a class of their own, the last."""
        found: Codes = class_of_look[self.exposed.look].astype(np.int64)
        found[self.is_excluded] = n_classes
        return found

    def likelihood(
        self, class_of_entry: Codes, fixed: Floats, *, is_shared: bool = True
    ) -> tuple[Likelihood, Codes]:
        """Return the likelihood of the probabilities of classes, and the place of each of `entry`.

        Places are those of entries of the shapes. `fixed` has one probability per class, NaN if it
        is sought, without that of excluded entries, which the likelihood has in addition. If
        `is_shared`, buckets of the same shape are combined.
        """
        n_classes = len(fixed) + 1
        which, count = class_of_entry[self.entry], self.exposed.count[self.entry]
        carrying = self.n_carrying[self.carrying_buckets]
        if is_shared:
            made = Composition.of(self.bucket, which, count, len(carrying), n_classes)
            shapes, of_bucket = made.shapes(np.arange(len(carrying)), carrying)
            place = shapes.start[of_bucket[self.bucket]] + made.rank
        else:
            shapes, place = Shapes.one_by_one(self.bucket, which, count, carrying, n_classes)
        n_rows = np.bincount(class_of_entry, self.exposed.count, n_classes).astype(np.int64)
        return Likelihood(shapes, n_rows, np.append(fixed, 0.0)), place

    def likelihood_in(self, made: Composition, fixed: Floats) -> tuple[Likelihood, Codes]:
        """Do the same, given what all buckets consist of; nobody is excluded."""
        carrying = self.n_carrying[self.carrying_buckets]
        shapes, of_bucket = made.shapes(self.carrying_buckets, carrying)
        place = shapes.start[of_bucket[self.bucket]] + made.rank[self.entry]
        return Likelihood(shapes, made.n_rows, np.append(fixed, 0.0)), place

    def without_impossible(self, prior: Floats) -> Target:
        """Also exclude rows whose prior probability is 0, except in buckets that contradict it.

        `prior` holds one probability per distinct row of the release.
        """
        is_excluded = self.is_excluded | (prior[self.exposed.look] <= 0)
        is_kept = _is_possible(self.exposed, self.n_carrying, is_excluded)
        return replace(self, is_excluded=np.where(is_kept, is_excluded, self.is_excluded))

    def __repr__(self) -> str:
        return (
            f"Target({int(self.n_carrying.sum())} of {self.exposed.n_rows} rows in "
            f"{len(self.carrying_buckets)} of {len(self.n_carrying)} buckets)"
        )


def _is_possible(exposed: Exposed, n_carrying: Counts, is_excluded: Flags) -> Flags:
    """Return which entries are in buckets that could hold their carriers after an exclusion."""
    able = np.where(is_excluded, 0, exposed.count)
    n_able = np.bincount(exposed.bucket, able, len(n_carrying))
    found: Flags = (n_able >= n_carrying)[exposed.bucket]
    return found
