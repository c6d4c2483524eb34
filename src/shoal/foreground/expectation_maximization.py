"""The probabilities that best explain how often a value occurs in each bucket.

[Wong11] requires that f_i, the global probability of a signature, equal the expected share of x
among its rows, given the buckets, and solves these equations by Newton's method. Iterating them
instead is EM for the model in which the carriers within each bucket are hidden, so the likelihood
never decreases; Newton's method leaves [0, 1] or finds other roots.

`expectation_maximization` is the iteration as printed. `Likelihood` takes the same step from many
points at once: if every bucket has one carrier, the steps are one matrix product; small buckets
with several carriers go through a kernel; very large ones are repeated for every point.
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
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.foreground._kernels import expect
from shoal.foreground.law import condition, odds_of, weigh_worlds
from shoal.foreground.shapes import Shapes
from shoal.locating.exposed import Exposed

if TYPE_CHECKING:
    from scipy import sparse

_MOST_ENTRIES = 2_000_000
"""How many entries of buckets are held in memory at once."""
_WIDEST = 256
"""The kernel takes buckets with fewer carriers than this."""
_FEW_ENTRIES = 400
"""For this few entries the kernel is faster than setting up a matrix product."""
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
    def is_single(self) -> bool:
        """Whether every bucket has exactly one carrier."""
        return bool(np.all(self.shapes.n_carrying == 1)) and self.shapes.n_shapes > 0

    @cached_property
    def matrices(self) -> tuple[sparse.csr_array, sparse.csr_array]:
        """The number of rows of each class in each shape, and the transposed matrix."""
        from scipy import sparse  # noqa: PLC0415 - it takes long to import

        shapes = self.shapes
        size = (shapes.n_shapes, len(self.n_rows))
        matrix = sparse.csr_array(
            (shapes.count.astype(np.float64), shapes.which, shapes.start), shape=size
        )
        return matrix, matrix.T.tocsr()

    @cached_property
    def _room(self) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Work space for the kernel; None if a bucket is too large for it."""
        shapes = self.shapes
        sizes = np.bincount(shapes.shape, shapes.count, shapes.n_shapes).astype(np.int64)
        width = int(np.minimum(shapes.n_carrying, sizes).max(initial=0)) + 1
        n_classes = int(np.diff(shapes.start).max(initial=0)) + 1
        if width > _WIDEST:
            return None
        return (
            np.empty((2, n_classes)),
            np.empty(width),
            np.empty(width * n_classes),
            np.empty(width),
        )

    @cached_property
    def _tiles(self) -> dict[int, Shapes]:
        return {}

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
        n_entries = max(len(self.shapes.which), 1)
        n_at_once = max(_MOST_ENTRIES // n_entries, 1)
        if len(f) <= n_at_once:
            return self._steps(f)
        parts = [self._steps(f[at : at + n_at_once]) for at in range(0, len(f), n_at_once)]
        return np.concatenate([part[0] for part in parts]), np.concatenate(
            [part[1] for part in parts]
        )

    def _steps(self, f: Floats) -> tuple[Floats, Floats]:
        odds = odds_of(f)
        is_finite = bool(np.isfinite(odds).all())
        is_few = len(self.shapes.which) <= _FEW_ENTRIES
        if is_finite and self._room is not None and (is_few or not self.is_single):
            expected, height = self._by_kernel(odds, self._room)
        elif is_finite and self.is_single:
            expected, height = self._by_product(odds)
        else:
            expected, height = self._by_tiles(odds)
        found = np.minimum(expected / self.n_at_least_one, 1.0)
        lacking = np.where(f < 1, f, 0.0)
        height = height + (self.n_rows * np.log1p(-lacking)).sum(axis=1)
        return np.where(np.isnan(self.fixed), found, self.fixed), height

    def _by_kernel(
        self, odds: Floats, room: tuple[Floats, Floats, Floats, Floats]
    ) -> tuple[Floats, Floats]:
        shapes = self.shapes
        expected, height = np.empty(odds.shape), np.empty(len(odds))
        expect(
            shapes.start,
            shapes.which,
            shapes.count,
            shapes.n_carrying,
            shapes.multiplicity,
            np.ascontiguousarray(odds),
            expected,
            height,
            *room,
        )
        return expected, height

    def _by_product(self, odds: Floats) -> tuple[Floats, Floats]:
        matrix, transposed = self.matrices
        multiplicity = self.shapes.multiplicity[:, np.newaxis]
        total = matrix @ odds.T
        with np.errstate(divide="ignore"):
            log = np.log(total)
        expected = odds * (transposed @ (multiplicity / total)).T
        return expected, (multiplicity * log).sum(axis=0)

    def _by_tiles(self, odds: Floats) -> tuple[Floats, Floats]:
        tiles = self._tiled(len(odds))
        share, log = condition(tiles, odds.ravel())
        carriers = tiles.multiplicity[tiles.shape] * tiles.count * share
        expected = np.bincount(tiles.which, carriers, odds.size).astype(np.float64)
        return expected.reshape(odds.shape), (tiles.multiplicity * log).reshape(len(odds), -1).sum(
            axis=1
        )

    def _tiled(self, n_points: int) -> Shapes:
        """Return the buckets repeated for each point, with separate classes."""
        if n_points not in self._tiles:
            # Keep one size at a time: large releases make large tiles.
            self._tiles.clear()
            self._tiles[n_points] = _tile(self.shapes, n_points, len(self.n_rows))
        return self._tiles[n_points]

    def even(self) -> Floats:
        """Return the local random-worlds estimate: one step from equal probabilities.

        Only the probabilities that are fixed at 0 are kept; the others are estimated, even if
        fixed.
        """
        start = np.where(self.fixed == 0, 0.0, 0.5)
        free = Likelihood(self.shapes, self.n_rows, np.where(self.fixed == 0, 0.0, np.nan))
        return free.step(start)[0]


def _tile(shapes: Shapes, n_points: int, n_classes: int) -> Shapes:
    number = np.arange(n_points)[:, np.newaxis]
    start = (shapes.start[np.newaxis, :-1] + number * shapes.start[-1]).ravel()
    return Shapes(
        np.append(start, n_points * shapes.start[-1]),
        (shapes.which + number * n_classes).ravel(),
        np.tile(shapes.count, n_points),
        np.tile(shapes.n_carrying, n_points),
        np.tile(shapes.multiplicity, n_points),
    )


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
        """Return the likelihood of the probabilities of classes, and the shape of each bucket.

        `fixed` has one probability per class, NaN if it is sought, without that of excluded
        entries, which the likelihood has in addition. If `is_shared`, buckets of the same shape are
        combined.
        """
        n_classes = len(fixed) + 1
        which, count = class_of_entry[self.entry], self.exposed.count[self.entry]
        carrying = self.n_carrying[self.carrying_buckets]
        if is_shared:
            shapes, of_bucket = Shapes.of_buckets(self.bucket, which, count, carrying, n_classes)
        else:
            shapes = Shapes.one_by_one(self.bucket, which, count, carrying, n_classes)
            of_bucket = np.arange(len(carrying))
        n_rows = np.bincount(class_of_entry, self.exposed.count, n_classes).astype(np.int64)
        return Likelihood(shapes, n_rows, np.append(fixed, 0.0)), of_bucket

    def posteriors(
        self, likelihood: Likelihood, of_bucket: Codes, class_of_entry: Codes, f: Floats
    ) -> Floats:
        """Return p(t:x) of the rows of every entry in a bucket with a carrier."""
        share, _ = condition(likelihood.shapes, odds_of(f))
        place = likelihood.shapes.entry_of(
            of_bucket[self.bucket], class_of_entry[self.entry], len(f)
        )
        return share[place]

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
