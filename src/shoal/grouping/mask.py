"""MASK: distort sensitive values, so that buckets that disclose too much show the shares of others.

Problem: an algorithm that merges buckets only if necessary discloses which merges were necessary.
Idea: form buckets by the quasi-identifiers alone, so that they disclose nothing. If a bucket holds
too many protected values, change some of them until its share equals that of another bucket.
Guarantee: every bucket has at least k rows, of which at most 1/m show a protected value. The belief
of an adversary who knows the algorithm depends on her prior; the attack `minimality` computes it.

References
----------
[Wong07] R. Wong, A. Fu, K. Wang, J. Pei: Minimality Attack in Privacy Preserving Data Publishing.
VLDB 2007.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import Cells, group, total_by
from shoal.core.declared import declared
from shoal.core.errors import InfeasibleError
from shoal.core.guarantees import BucketSize, Guarantee, MConfidentiality
from shoal.core.method import Method, Problem, mark_protected
from shoal.core.parameters import Values, choice, values, whole_number
from shoal.core.plan import Plan, Redraw
from shoal.core.shapes import Shape
from shoal.grouping.axes import Axes
from shoal.grouping.partition import cut_cells, label_columns, place_cells
from shoal.grouping.requirements import Requirements

Publish = Literal["generalized", "bucketized"]
Lenders = Literal["enough", "any"]


@declared
class Mask(Method):
    """Cut the table by its quasi-identifiers, then distort buckets with too large a share.

    Notes
    -----
    Guarantee: m-confidentiality as far as published files can tell: at least k rows in every
    bucket, at most 1/m of them with a protected value. The belief that [Wong07] bounds by 1/m
    depends on the prior. If all tables are equally likely, it is not bounded: two buckets of two
    rows with m = 2 that both show a share of 1/2 give 5/8. The attack `minimality` computes it.

    Publishes: a generalized or a bucketized table in which some sensitive values are wrong. Only
    protected values are changed, into others. A keyed hash decides in which rows, and no public
    file states how many. Labels are those of Mondrian.

    Buckets are those of Mondrian with strict cuts for k-anonymity. Let V be the buckets in which
    protected values have a share above 1/m, and L the (m - 1)|V| others with the highest shares.
    Every bucket of V gets the share of a bucket drawn from L, rounded down to whole rows. The
    protected values to change are drawn at random, and each is replaced by a value drawn from the
    unprotected values of the whole table.

    `InfeasibleError` is about these buckets only: either the table has fewer than k rows, or too
    few of Mondrian's buckets have a share to lend. Another partition might have enough, or need
    none. MASK does not search for one, because it must not choose buckets by sensitive values. The
    m that the error states as reachable is reachable with the same buckets.

    References
    ----------
    [Wong07] algorithm `MASK`, Section 5.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> shoal.anonymize(table, shoal.Mask(m=2, k=2, protect=["Ovarian Cancer"]), seed=1)
    Release(generalized by mask: 9 rows in 4 buckets, test)
    """

    m: int = whole_number("At most 1/m of a bucket shows a protected value.", least=2)
    k: int = whole_number("The fewest rows of a bucket.", least=2)
    protect: Values = values("The sensitive values that are protected, which count as one.")
    publish: Publish = choice(
        "Whether quasi-identifiers are published as labels (`generalized`), or as they are, apart "
        "from the sensitive values (`bucketized`).",
        get_args(Publish),
        default="generalized",
    )
    lenders: Lenders = choice(
        "What is done if fewer than (m - 1)|V| buckets have a share to lend: nothing is published "
        "(`enough`), or the existing ones lend theirs (`any`).",
        get_args(Lenders),
        default="enough",
    )

    distorts: ClassVar[bool] = True
    works_on_levels: ClassVar[bool] = False
    deviations: ClassVar[tuple[str, ...]] = (
        "Mondrian makes the table k-anonymous; [Wong07] leaves open how.",
        "A share that is not a whole number of rows is rounded down.",
        "[Wong07] knows one unprotected value; here it is drawn from those of the table.",
        "If there are fewer than (m - 1)|V| buckets to draw from, lenders decides what is done.",
    )
    example: ClassVar[Mapping[str, object]] = {
        "m": 2,
        "k": 6,
        "protect": ["asthma"],
        "publish": "bucketized",
    }

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.named(self.publish)

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release."""
        return (MConfidentiality(m=self.m, k=self.k, protect=self.protect),)

    def plan(self, problem: Problem) -> Plan:
        """Plan the buckets and the distortion of their values.

        Raises `DataError` if the table has no rows, `InfeasibleError` if it has fewer than k rows
        or too few buckets have a share of at most 1/m, and `ParameterError` if a protected value
        does not occur.
        """
        cells, schema = problem.cells, problem.schema
        requirements = Requirements.of_problem([BucketSize(k=self.k)], problem)
        requirements.confirm_reachable()
        codes = cells.column(schema.sensitive[0])
        is_protected = mark_protected(cells.domain(schema.sensitive[0]), codes, self.protect)
        # [Wong07] step 1: k-anonymity, by the quasi-identifiers alone.
        axes = Axes.of_cells(cells, schema.quasi, problem.trees)
        partition = cut_cells(axes, cells, requirements)
        plan = Plan(cells, partition.n_buckets, place_cells(partition, cells))
        if self.shape.generalizes:
            recode = label_columns(partition, axes, cells, self.k, problem.secret)
            plan = replace(plan, recode=recode)
        bucket = np.empty(cells.n_cells, dtype=np.int64)
        bucket[partition.cell] = partition.bucket
        draw = problem.secret.generator("mask: distortion")
        sizes = total_by(bucket, cells.counts, plan.n_buckets)
        held = total_by(bucket, cells.counts * is_protected, plan.n_buckets)
        # Steps 2 and 3: the buckets that violate, and the share that each is given.
        targets = self._targets(held, sizes, draw)
        redraw = _distort(cells, codes, bucket, is_protected, held - targets, draw)
        notes = {
            "buckets above 1/m": int(np.count_nonzero(targets < held)),
            "values distorted": int(redraw.count.sum()),
        }
        return replace(plan, redraw=redraw, notes=notes)

    def _targets(self, held: Counts, sizes: Counts, draw: np.random.Generator) -> Counts:
        """Return the number of protected values that each bucket is to show.

        Raises `InfeasibleError` if too few buckets have a share of at most 1/m.
        """
        if not self._is_reachable(held, sizes, self.m):
            self._refuse(held, sizes)
        violating, donors = split_buckets(held, sizes, self.m)
        targets = held.copy()
        if len(violating):
            donor = donors[draw.integers(len(donors), size=len(violating))]
            targets[violating] = sizes[violating] * held[donor] // sizes[donor]
        return targets

    def _is_reachable(self, held: Counts, sizes: Counts, m: int) -> bool:
        violating, donors = split_buckets(held, sizes, m)
        n_needed = (m - 1) * len(violating)
        return len(donors) >= (n_needed if self.lenders == "enough" else min(n_needed, 1))

    def _refuse(self, held: Counts, sizes: Counts) -> None:
        n_above = int(np.count_nonzero(held * self.m > sizes))
        smaller = range(self.m - 1, 1, -1)
        best = next((m for m in smaller if self._is_reachable(held, sizes, m)), None)
        reachable = "" if best is None else f"m = {best} can be reached; "
        other = " lenders='any' accepts fewer." if n_above < len(sizes) else ""
        raise InfeasibleError(
            f"MASK with m = {self.m} needs {self.m - 1} buckets with a share of at most "
            f"1/{self.m} for each one above it; of {len(sizes)} buckets {n_above} are above.",
            hint=f"{reachable}a larger k makes the shares of buckets more similar.{other}",
            best={} if best is None else {"m": best},
        )


def split_buckets(held: Counts, sizes: Counts, m: int) -> tuple[Codes, Codes]:
    """Return the buckets with a share above 1/m, V, and those that lend them their shares, L.

    L are the (m - 1)|V| others with the highest shares, or all others if there are fewer.

    Examples
    --------
    >>> violating, donors = split_buckets(np.array([3, 1, 0, 1]), np.array([4, 2, 2, 4]), 2)
    >>> violating.tolist(), donors.tolist()
    ([0], [1])
    """
    is_above = held * m > sizes
    violating, kept = np.flatnonzero(is_above), np.flatnonzero(~is_above)
    # Different quotients of integers below 2**26 are different floats, and equal ones are equal.
    order = np.argsort(-(held[kept] / sizes[kept]), kind="stable")
    return violating, kept[order][: (m - 1) * len(violating)]


def _distort(
    cells: Cells,
    codes: Codes,
    bucket: Codes,
    is_protected: Flags,
    n_changed: Counts,
    draw: np.random.Generator,
) -> Redraw:
    """Draw the `n_changed` protected values of each bucket to change, and their replacements.

    `codes`, `bucket` and `is_protected` have one entry per cell.
    """
    concerned = np.flatnonzero(is_protected & (n_changed[bucket] > 0))
    row_bucket = np.repeat(bucket[concerned], cells.counts[concerned])
    old = np.repeat(codes[concerned], cells.counts[concerned])
    if not len(old):
        return Redraw()
    order = np.lexsort((draw.random(len(old)), row_bucket))
    row_bucket, old = row_bucket[order], old[order]
    opens = np.r_[True, row_bucket[1:] != row_bucket[:-1]]
    start = np.flatnonzero(opens)[np.cumsum(opens) - 1]
    is_changed = np.arange(len(old)) - start < n_changed[row_bucket]
    row_bucket, old = row_bucket[is_changed], old[is_changed]
    new = _draw_values(codes[~is_protected], cells.counts[~is_protected], len(old), draw)
    n_codes = int(max(old.max(), new.max())) + 1
    first, inverse = group([row_bucket, old, new], [len(n_changed), n_codes, n_codes], len(old))
    count = np.bincount(inverse, minlength=len(first)).astype(np.int64)
    return Redraw(row_bucket[first], old[first], new[first], count)


def _draw_values(codes: Codes, counts: Counts, size: int, draw: np.random.Generator) -> Codes:
    """Draw codes with probabilities proportional to their frequency."""
    up_to = np.cumsum(counts)
    place = np.searchsorted(up_to, draw.integers(up_to[-1], size=size), side="right")
    return codes[place].astype(np.int64)
