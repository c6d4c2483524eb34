"""Tuple partitioning as the paper prints it: Figures 1 and 2 in plain Python.

These functions state what `shoal.slicing.partition` computes; the tests use them as its
reference. They take time quadratic in the rows for every cut, so no method calls them. A tuple is a
mapping from attributes to values, and a table or a bucket is a list of tuples.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 3 and 4.3, Figures 1 and 2.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

from shoal.core.sliced import Layout
from shoal.slicing.beliefs import Diversity

Tuple = Mapping[str, int]
Bucket = Sequence[Tuple]
Match = tuple[Fraction, Mapping[int, Fraction]]
"""The weight of a bucket that t matches, and D(t, B)."""


def tuple_partition(
    table: Bucket,
    split: Callable[[Bucket], Iterable[tuple[Bucket, Bucket]]],
    is_diverse: Callable[[Sequence[Bucket]], bool],
) -> list[Bucket]:
    """Cut a table into buckets: Figure 1.

    `split` yields the cuts of a bucket as Mondrian does, the best first; `is_diverse` is
    `diversity_check` for the table, l and the columns.
    """
    queue: list[Bucket] = [table]  # line 1: Q = {T}, SB = {}
    sliced_buckets: list[Bucket] = []
    while queue:  # line 2
        # Line 3 removes the first bucket. Taking the last one cuts depth first, as the fast version
        # does; the result differs only if rows can match several buckets (relaxed cuts).
        bucket = queue.pop()  # line 3
        # Line 4 tries one cut. Trying the next attribute if a cut fails gives smaller buckets.
        for left, right in split(bucket):  # line 4
            if is_diverse([*queue, left, right, *sliced_buckets]):  # line 5
                queue += [right, left]  # line 6
                break
        else:
            sliced_buckets.append(bucket)  # line 7
    return sliced_buckets  # line 8


def diversity_check(
    table: Bucket,
    sliced_table: Sequence[Bucket],
    ell: Fraction,
    layout: Layout,
    diversity: Diversity = "frequency",
) -> bool:
    """Return whether a sliced table is l-diverse in every sensitive attribute: Figure 2."""
    for sensitive in layout.sensitive:
        known = layout.known_for(sensitive)
        # Tuples with the same known values match the same buckets.
        tuples = {_values(t, known): t for t in table}
        matches: dict[tuple[int, ...], list[Match]] = {key: [] for key in tuples}  # line 1
        for bucket in sliced_table:  # line 2
            for key, t in tuples.items():  # line 4
                matches[key].append(match(t, bucket, layout, sensitive))  # lines 3, 5 and 6
        for found in matches.values():  # line 7
            p = value_probabilities(found)  # line 8
            # Line 9 also rejects p(t, s) = 1/l, which Section 4.3 and the paper's example allow.
            if diversity == "frequency" and max(p.values()) > 1 / ell:  # line 9
                return False
            if diversity == "distinct" and len(p) < ell:
                return False
    return True  # line 10


def match(t: Tuple, bucket: Bucket, layout: Layout, sensitive: str) -> Match:
    """Return the weight |B| f(t, B), which p(t, B) is proportional to, and D(t, B).

    f(t, B) is the product, over the columns, of the frequency in B of the known part of t. D(t, B)
    is the distribution of s among the rows of B that agree with t in u, the known attributes in the
    column of s. Columns share no attributes.
    """
    known = layout.known_for(sensitive)
    f, candidates = Fraction(1), Counter[int]()
    for column in layout.columns:
        part = [name for name in column if name in known]
        alike = [row for row in bucket if _values(row, part) == _values(t, part)]
        f *= Fraction(len(alike), len(bucket))
        if sensitive in column:
            candidates.update(row[sensitive] for row in alike)
    n_rows = candidates.total()
    return len(bucket) * f, {s: Fraction(n, n_rows) for s, n in candidates.items()}


def value_probabilities(matches: Iterable[Match]) -> dict[int, Fraction]:
    """Return p(t, s) of every s that has one above 0, by the law of total probability."""
    listed = [(weight, candidates) for weight, candidates in matches if weight]
    total = sum(weight for weight, _ in listed)
    p: dict[int, Fraction] = defaultdict(Fraction)
    for weight, candidates in listed:
        for s, share in candidates.items():
            p[s] += weight / total * share
    return dict(p)


def _values(t: Tuple, names: Sequence[str]) -> tuple[int, ...]:
    return tuple(t[name] for name in names)
