"""Foreground safety: what the release shows about kinds of people links nobody to a value.

The checker mines the release anew. For every set of quasi-identifiers with enough rows it solves
the equations: the probability of a signature is the expected share of carriers among its rows,
given the buckets. If they have several solutions, the belief about a person is the mean over the
maxima that are reached from the published list of starts, weighted by their likelihood. A bucket
whose rows are all of one class needs none of that: whatever the probability, each row is a carrier
with n/N, which is compared with 1/r in whole numbers.

References
----------
[Wong11] (see `shoal.foreground`) Equations (2) to (4), Algorithm 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from shoal.core.adversary_guarantees import ForegroundSafety
from shoal.core.arrays import Codes, Counts, Floats
from shoal.core.cells import Buckets, Cells, total_by
from shoal.core.exact import as_text
from shoal.core.progress import Work
from shoal.core.verdict import Evidence, Verdict, confirm_occupied
from shoal.foreground.check.model import Held, Model
from shoal.foreground.check.solutions import seed_numbers, solve

_TIE = 1e-9
"""Beliefs are floats: an excess over 1/r by no more is rounding."""
_MILLION = 10**6
_PER_SET = 10**6
"""The overhead of solving the equations of a set of columns, in operations."""


def check(guarantee: ForegroundSafety, evidence: Evidence) -> Verdict:
    """Check that nobody is linked to a protected value with a probability above 1/r.

    Without the published rows of the buckets, only the share of the values in each is checked.

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
    r = guarantee.r
    fails = np.zeros(buckets.n_buckets, dtype=bool)
    for values in aims:
        fails |= _carriers(buckets, values) * r.numerator > buckets.sizes * r.denominator
    links = _Links.none(buckets.n_buckets)
    if evidence.lines is not None:
        links = _links(
            buckets, evidence.lines, aims, guarantee.n_enough, guarantee.policy, evidence.work
        )
    fails |= links.mean > float(1 / r) + _TIE
    worst = max(float(_shares(buckets, aims).max(initial=0.0)), float(links.mean.max(initial=0.0)))
    kept = None if fails.any() else r
    alone = max(worst, float(links.alone.max(initial=0.0)))
    beside = f"; by one solution alone, up to {alone:.4f}" if alone > worst + _TIE else ""
    return Verdict.of_failures(
        guarantee,
        fails,
        f"link somebody to a protected value with more than 1/{as_text(r)}{beside}",
        {"r": _reached(worst, kept)} if worst > 0 else {},
        is_partial=evidence.lines is None,
    )


def largest_link(
    buckets: Buckets, lines: Cells, values: tuple[int, ...], n_enough: int, policy: str = "pool"
) -> float:
    """Return the largest belief that somebody carries one of some values.

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
        What is assumed of signatures with fewer rows; default ``"pool"``.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0]), np.array([1, 0]), disease)
    >>> sex, number = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("bucket", ["1"])
    >>> largest_link(buckets, Cells.of_rows([number, sex], np.array([[0, 0], [0, 1]])), (1,), 1)
    0.5
    """
    buckets = confirm_occupied(buckets)
    links = _links(buckets, lines, [values], n_enough, policy, Work())
    # By any set, the mean belief in a bucket is its share.
    return float(np.maximum(links.mean, _shares(buckets, [values])).max(initial=0.0))


def _reached(worst: float, kept: Fraction | None) -> str:
    """Return the largest r that everybody keeps, rounded down, but no less than one that holds."""
    best = Fraction(math.floor(_MILLION / worst * (1 + 1e-9)), _MILLION)
    return as_text(best if kept is None else max(best, kept))


def _aims(guarantee: ForegroundSafety, buckets: Buckets) -> list[tuple[int, ...]]:
    if not guarantee.value:
        return [(code,) for code in np.unique(buckets.value).tolist()]
    codes = buckets.domain.codes_of(list(guarantee.value))
    return [tuple(codes[codes >= 0].tolist())]


def _carriers(buckets: Buckets, values: tuple[int, ...]) -> Counts:
    chosen = np.isin(buckets.value, values)
    return total_by(buckets.bucket[chosen], buckets.count[chosen], buckets.n_buckets)


def _shares(buckets: Buckets, aims: list[tuple[int, ...]]) -> Floats:
    """Return the largest share of an aim in each bucket."""
    largest = np.zeros(buckets.n_buckets)
    for values in aims:
        largest = np.maximum(largest, _carriers(buckets, values) / buckets.sizes)
    return largest


@dataclass(frozen=True, eq=False)
class _Links:
    """What is believed about the rows of each bucket that differ by some attribute set.

    `mean` is the largest belief, averaged over all solutions; `alone` is the largest by a single
    solution that is about as likely as the best.
    """

    mean: Floats
    alone: Floats

    @classmethod
    def none(cls, n_buckets: int) -> _Links:
        return cls(np.zeros(n_buckets), np.zeros(n_buckets))


def _links(
    buckets: Buckets,
    lines: Cells,
    aims: list[tuple[int, ...]],
    n_enough: int,
    policy: str,
    work: Work,
) -> _Links:
    """Mine every usable set for every aim; raises `TooMuchWork` if `work` does not suffice."""
    links = _Links.none(buckets.n_buckets)
    known = [(_carriers(buckets, values), _texts(buckets, values)) for values in aims]
    for one in _usable_sets(lines, n_enough, work):
        work.spend(2 * len(lines.counts) + len(known) * buckets.n_buckets)
        held = Held.of(lines, one.classes, buckets.n_buckets, len(one.signatures))
        for carriers, texts in known:
            # Whatever is mined, the belief in a bucket of one class is its share.
            if held.is_told_apart(carriers):
                _mine(links, one, held, carriers, texts, policy, work)
    return links


def _texts(buckets: Buckets, values: tuple[int, ...]) -> list[str | None]:
    return [buckets.domain.text(code) for code in values]


def _mine(
    links: _Links,
    one: _UsableSet,
    held: Held,
    carriers: Counts,
    values: list[str | None],
    policy: str,
    work: Work,
) -> None:
    """Raise the links of each bucket to what one set says about one aim."""
    work.spend(_PER_SET + 2 * len(held.owner))
    model = Model.of(held, carriers)
    fixed = np.full(len(one.signatures), np.nan)
    if one.signatures[-1] is None and policy != "pool":
        fixed[-1] = carriers.sum() / held.sizes.sum() if policy == "prior" else 0.5
    found = solve(model, seed_numbers(one.columns, values, one.signatures), fixed, work)
    work.spend(len(found.chances) * model.n_operations)
    logs = np.log(found.chances) - np.log1p(-found.chances)
    close = np.flatnonzero(found.is_close)
    for part in model.parts:
        bucket, mean = part.beliefs(logs, found.weights)
        np.maximum.at(links.mean, bucket, mean)
        for point in close.tolist():
            np.maximum.at(links.alone, bucket, part.beliefs(logs[[point]], np.ones(1))[1])


@dataclass(frozen=True, eq=False)
class _UsableSet:
    """A set of quasi-identifiers with a signature of enough rows.

    `classes` is the signature of each line. `signatures` are the texts of the signatures; None, the
    last, stands for all that are too rare.
    """

    columns: list[str]
    classes: Codes
    signatures: list[list[str | None] | None]


def _usable_sets(lines: Cells, n_enough: int, work: Work) -> Iterator[_UsableSet]:
    """Find the sets level by level: a longer signature never has more rows than a shorter one."""
    level: list[tuple[int, ...]] = [()]
    while level:
        usable = set(level)
        level = []
        for shorter in sorted(usable):
            for place in range(shorter[-1] + 1 if shorter else 0, len(lines.domains) - 1):
                chosen = (*shorter, place)
                if not all(one in usable for one in combinations(chosen, len(shorter))):
                    continue
                work.spend(len(chosen) * len(lines.counts))
                found = _signatures(lines, chosen, n_enough)
                if found is not None:
                    level.append(chosen)
                    yield found


def _signatures(lines: Cells, chosen: tuple[int, ...], n_enough: int) -> _UsableSet | None:
    """Number the lines by their signatures; None if no signature has enough rows."""
    signature = np.zeros(len(lines.counts), dtype=np.int64)
    for place in chosen:
        key = signature * lines.domains[place + 1].size + lines.codes[:, place + 1]
        signature = np.unique(key, return_inverse=True)[1]
    frequent = np.flatnonzero(np.bincount(signature, lines.counts) >= n_enough)
    if not len(frequent):
        return None
    number = np.full(int(signature.max()) + 1, len(frequent), dtype=np.int64)
    number[frequent] = np.arange(len(frequent))
    classes = number[signature]
    first = np.unique(signature, return_index=True)[1][frequent]
    texts: list[list[str | None] | None] = [
        [lines.domains[place + 1].text(int(lines.codes[line, place + 1])) for place in chosen]
        for line in first.tolist()
    ]
    if (classes == len(frequent)).any():
        texts.append(None)
    return _UsableSet([lines.domains[place + 1].column for place in chosen], classes, texts)
