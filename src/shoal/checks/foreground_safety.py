"""Foreground safety: what the release says of kinds of people links nobody to a value.

The checker mines the release anew, as slowly and plainly as it is described. For every set of
quasi-identifiers with enough rows it iterates the equations: the chance of a signature is the
expected share of carriers among its rows, given the buckets. A bucket whose rows are all of one
class needs none of that: whatever the chance, everybody is a carrier with n/N.

In a bucket of several classes the number of carriers of each is binomial, given that they add up to
n. The iteration starts from chances that are all equal and ends where none moves by more than a
millionth of itself, or after a thousand steps: beliefs are within rounding of the limit then, and
what exceeds it by a millionth of it is a tie.

References
----------
R. Wong, A. Fu, K. Wang, Y. Xu, P. Yu, Can the utility of anonymized data be used for privacy
breaches?, 2011: Equations (2) to (4), Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations

import numpy as np
import numpy.typing as npt

from shoal.checks._entries import confirm_occupied
from shoal.checks.verdict import Evidence, Verdict
from shoal.core.cells import Buckets, Cells, Codes, Counts
from shoal.core.exact import as_text
from shoal.core.guarantees import ForegroundSafety

__all__ = ["check", "largest_link"]

_Floats = npt.NDArray[np.float64]

_SETTLED = 1e-6
_MOST_STEPS = 1_000
_TIE = 1e-6
_MILLION = 10**6
_MOST_HALVINGS = 60
_NEAR = 0.5


def check(guarantee: ForegroundSafety, evidence: Evidence) -> Verdict:
    """Check that nobody is linked to a protected value with more than 1/r.

    Without the published rows of the buckets only the share of the values in each is checked.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1, 2, 2]), np.array([1, 0, 1, 0, 0, 0]),
    ...                            disease)
    >>> sex, number = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("bucket", ["1", "2", "3"])
    >>> rows = np.array([[0, 0], [0, 1], [1, 0], [1, 0], [2, 1], [2, 1]])
    >>> evidence = Evidence(buckets, buckets.sizes, lines=Cells.of_rows([number, sex], rows))
    >>> check(ForegroundSafety(value="flu", r=2, epsilon=0.37), evidence)
    Verdict(foreground safety fails in 1 of 3 buckets, reached r=1)
    """
    buckets = evidence.buckets_for(guarantee)
    aims = _aims(guarantee, buckets)
    if evidence.lines is None:
        highest = _shares(buckets, aims)
    else:
        highest = _links(buckets, evidence.lines, aims, guarantee.n_enough, guarantee.policy)
    limit = float(1 / guarantee.r)
    worst = float(highest.max(initial=0.0))
    is_kept = worst <= limit * (1 + _TIE)
    return Verdict.of_failures(
        guarantee,
        highest > limit * (1 + _TIE),
        f"link somebody to a protected value with more than 1/{as_text(guarantee.r)}",
        {"r": _reached(worst, guarantee.r if is_kept else None)} if worst > 0 else {},
        is_partial=evidence.lines is None,
    )


def largest_link(
    buckets: Buckets, lines: Cells, values: tuple[int, ...], n_enough: int, policy: str = "pool"
) -> float:
    """Give the largest belief that somebody carries one of some values.

    Parameters
    ----------
    buckets
        The sensitive values of each bucket.
    lines
        The published lines: the column of buckets, then the quasi-identifiers.
    values
        The codes of the values, which count as one.
    n_enough
        The fewest rows with a signature that are relied on.
    policy
        What is assumed of signatures with fewer.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([1, 0]), disease)
    >>> sex, number = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("bucket", ["1"])
    >>> largest_link(buckets, Cells.of_rows([number, sex], np.array([[0, 0], [0, 1]])), (1,), 1)
    0.5
    """
    links = _links(confirm_occupied(buckets), lines, [values], n_enough, policy)
    return float(links.max(initial=0.0))


def _reached(worst: float, kept: Fraction | None) -> str:
    """Write the largest r that everybody keeps, rounded down, but no less than one that holds."""
    best = Fraction(math.floor(_MILLION / worst * (1 + 1e-9)), _MILLION)
    return as_text(best if kept is None else max(best, kept))


def _aims(guarantee: ForegroundSafety, buckets: Buckets) -> list[tuple[int, ...]]:
    if not guarantee.value:
        return [(code,) for code in np.unique(buckets.value).tolist()]
    codes = buckets.domain.codes_of(list(guarantee.value))
    return [tuple(codes[codes >= 0].tolist())]


def _carriers(buckets: Buckets, values: tuple[int, ...]) -> Counts:
    chosen = np.isin(buckets.value, values)
    counts = np.zeros(buckets.n_buckets, dtype=np.int64)
    np.add.at(counts, buckets.bucket[chosen], buckets.count[chosen])
    return counts


def _shares(buckets: Buckets, aims: list[tuple[int, ...]]) -> _Floats:
    """Give the largest share of an aim in each bucket."""
    largest = np.zeros(buckets.n_buckets)
    for values in aims:
        largest = np.maximum(largest, _carriers(buckets, values) / buckets.sizes)
    return largest


def _links(
    buckets: Buckets, lines: Cells, aims: list[tuple[int, ...]], n_enough: int, policy: str
) -> _Floats:
    """Give the largest belief about a row of each bucket."""
    # The mean belief of a bucket is the share, by whichever set.
    largest = _shares(buckets, aims)
    for classes, n_classes in _usable_sets(lines, n_enough):
        rows = np.bincount(classes, lines.counts, n_classes + 1)
        for values in aims:
            carriers = _carriers(buckets, values)
            if not carriers.any():
                continue
            fixed = {"pool": np.nan, "prior": carriers.sum() / lines.n_rows, "half": 0.5}[policy]
            mixed = _mixed_buckets(lines, classes, carriers, n_classes + 1)
            known = _known_carriers(mixed, lines, classes, carriers, n_classes + 1)
            chances = _mine(mixed, rows, known, fixed)
            for part in mixed:
                belief = part.expect(chances) / part.rows
                np.maximum.at(largest, part.bucket, belief.max(axis=1))
    return largest


def _usable_sets(lines: Cells, n_enough: int) -> Iterator[tuple[Codes, int]]:
    """Give, for every set with a signature of enough rows, the class of each line.

    Signatures are numbered from 0; the last number stands for all that are too rare.
    """
    n_columns = len(lines.domains) - 1
    usable: set[tuple[int, ...]] = {()}
    for size in range(1, n_columns + 1):
        for chosen in combinations(range(n_columns), size):
            if not all(shorter in usable for shorter in combinations(chosen, size - 1)):
                continue
            signature = np.zeros(len(lines.counts), dtype=np.int64)
            for place in chosen:
                key = signature * lines.domains[place + 1].size + lines.codes[:, place + 1]
                signature = np.unique(key, return_inverse=True)[1]
            frequent = np.flatnonzero(np.bincount(signature, lines.counts) >= n_enough)
            if len(frequent):
                usable.add(chosen)
                number = np.full(int(signature.max()) + 1, len(frequent), dtype=np.int64)
                number[frequent] = np.arange(len(frequent))
                yield number[signature], len(frequent)


@dataclass(frozen=True, eq=False)
class _Mixed:
    """Buckets with carriers and rows of several classes, of about the same size.

    Parameters
    ----------
    bucket
        The buckets.
    which, rows
        For each, its classes, and how many rows of each it has.
    carriers
        How many rows of each bucket carry the value.
    """

    bucket: Codes
    which: Codes
    rows: Counts
    carriers: Counts

    def expect(self, chances: _Floats) -> _Floats:
        """Give the expected number of carriers of each class of each bucket."""
        odds = np.clip(chances, 1e-300, 1 - 1e-15)
        odds = (odds / (1 - odds))[self.which]
        if np.all(self.carriers == 1):
            weight = self.rows * odds
            single: _Floats = weight / weight.sum(axis=1, keepdims=True)
            return single
        binomial = self._binomials(odds)
        n_classes, highest = self.which.shape[1], int(self.carriers.max())
        nobody = np.zeros((len(self.bucket), highest + 1))
        nobody[:, 0] = 1.0
        before, after = [nobody], [nobody]
        for place in range(n_classes - 1):
            before.append(_add(before[-1], binomial[:, place]))
            after.append(_add(after[-1], binomial[:, n_classes - 1 - place]))
        expected = np.empty(self.which.shape)
        number = np.arange(highest + 1)
        left = self.carriers[:, np.newaxis] - number
        for place in range(n_classes):
            others = _add(before[place], after[n_classes - 1 - place])
            rest = np.take_along_axis(others, np.maximum(left, 0), axis=1)
            weight = np.where(left >= 0, binomial[:, place] * rest, 0.0)
            expected[:, place] = (weight * number).sum(axis=1) / weight.sum(axis=1)
        return expected

    def _binomials(self, odds: _Floats) -> _Floats:
        """Give the chance of 0, 1, 2, ... carriers of each class.

        All odds of a bucket may be multiplied by one number; it is chosen so that as many carriers
        are expected as there are.
        """
        logs = np.log(odds)
        even = np.log(self.carriers / (self.rows.sum(axis=1) - self.carriers + 0.5))
        low, high = even - logs.max(axis=1), even - logs.min(axis=1)
        for _ in range(_MOST_HALVINGS):
            middle = (low + high) / 2
            exponent = np.clip(logs + middle[:, np.newaxis], -700, 700)
            excess = (self.rows / (1 + np.exp(-exponent))).sum(axis=1) - self.carriers
            # Near is enough: the number itself changes nothing but how small the chances are.
            if np.all(np.abs(excess) <= _NEAR):
                break
            low, high = np.where(excess < 0, middle, low), np.where(excess < 0, high, middle)
        exponent = exponent[:, :, np.newaxis]
        yes, no = -np.logaddexp(0, -exponent), -np.logaddexp(0, exponent)
        number, rest, ways = self._ways
        binomials: _Floats = np.exp(ways + number * yes + rest * no)
        return binomials

    @cached_property
    def _ways(self) -> tuple[Codes, Counts, _Floats]:
        """Give 0, 1, 2, ..., the rows left of each class, and the logarithm of the ways to choose.

        There is no way to choose more rows than a class has.
        """
        rows = self.rows[:, :, np.newaxis]
        number = np.arange(int(self.carriers.max()) + 1)
        rest = np.maximum(rows - number, 0)
        top = max(int(self.rows.max()), len(number))
        factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, top + 1)))])
        ways = factorial[rows] - factorial[number] - factorial[rest]
        return number, rest, np.where(number <= rows, ways, -np.inf)


def _add(one: _Floats, other: _Floats) -> _Floats:
    """Give the distribution of the sum of two numbers, as far as it is kept."""
    width = one.shape[1]
    length = 2 * width
    product = np.fft.rfft(one, length) * np.fft.rfft(other, length)
    total: _Floats = np.fft.irfft(product, length)[:, :width]
    return total


def _mixed_buckets(lines: Cells, classes: Codes, carriers: Counts, n_classes: int) -> list[_Mixed]:
    """Find the buckets in which not all rows are of one class, those of about one size together."""
    bucket = lines.codes[:, 0]
    pairs, inverse = np.unique(bucket * n_classes + classes, return_inverse=True)
    rows = np.bincount(inverse, lines.counts).astype(np.int64)
    owner, which = pairs // n_classes, pairs % n_classes
    n_own = np.bincount(owner, minlength=len(carriers))
    size = np.ceil(np.log2(np.maximum(carriers, 1)) / 2).astype(np.int64)
    is_mixed = (n_own > 1) & (carriers > 0)
    kinds = np.unique(np.column_stack([n_own, size])[is_mixed], axis=0)
    found = []
    for n_there, about in kinds.tolist():
        chosen = np.flatnonzero(is_mixed & (n_own == n_there) & (size == about))
        entry = np.isin(owner, chosen)
        shape = (len(chosen), n_there)
        found.append(
            _Mixed(
                chosen, which[entry].reshape(shape), rows[entry].reshape(shape), carriers[chosen]
            )
        )
    return found


def _known_carriers(
    mixed: list[_Mixed], lines: Cells, classes: Codes, carriers: Counts, n_classes: int
) -> _Floats:
    """Count the carriers of each class in buckets of that class alone."""
    left = carriers.copy()
    for part in mixed:
        left[part.bucket] = 0
    only = np.zeros(len(carriers), dtype=np.int64)
    only[lines.codes[:, 0]] = classes
    known: _Floats = np.bincount(only, left, n_classes).astype(np.float64)
    return known


def _mine(mixed: list[_Mixed], rows: Counts, known: _Floats, rare: float) -> _Floats:
    """Iterate the equations: each chance is the expected share of carriers among its rows."""
    chances = np.full(len(rows), 0.5)
    for step in range(_MOST_STEPS):
        expected = known.copy()
        for part in mixed:
            np.add.at(expected, part.which, part.expect(chances))
        following = expected / np.maximum(rows, 1)
        if not np.isnan(rare):
            following[-1] = rare
        moved = np.abs(following - chances)
        chances = following
        if step and np.all(moved <= _SETTLED * np.minimum(following, 1 - following)):
            break
    return chances
