"""Anatomy: publish unchanged quasi-identifiers, separately from the sensitive values of buckets.

Problem: generalization blurs the quasi-identifiers, and with them the relations that analysts
study.
Idea: group rows with different sensitive values into small buckets. One table lists the rows of
each bucket, another its sensitive values; neither links a row to a value.
Guarantee: no value makes up more than 1/ell of a bucket, so an adversary who knows only the release
links nobody to a value with a higher probability.

References
----------
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal, get_args

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags
from shoal.core.cells import Cells
from shoal.core.declared import declared
from shoal.core.errors import InfeasibleError, InternalError
from shoal.core.guarantees import FrequencyDiversity, Guarantee
from shoal.core.method import Method, Problem, confirm_countable, mark_protected
from shoal.core.parameters import OptionalValues, choice, values, whole_number
from shoal.core.plan import Plan, Segments
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.shapes import Shape
from shoal.grouping._kernels import draw_buckets

Draw = Literal["published", "ring"]


@declared
class Anatomy(Method):
    """Group rows with different sensitive values into buckets of `ell` or a few more.

    Notes
    -----
    Guarantee: frequency l-diversity, and so distinct l-diversity too unless values are
    protected. The assignment of rows with the same value to buckets is secret.

    Publishes: a bucketized table, quasi-identifiers as they are. Readers can see who is in the
    table.

    There are n // ell buckets. [Xiao06] Property 1: if no value has more than n / ell rows,
    drawing from the largest classes leaves fewer than ell rows, all with different values. Suppose
    that the class with the most rows left has two or more. If it was ever passed over, then in
    favour of ell classes at least as large, which would still have rows, so the drawing would not
    have ended. If it was never passed over, it has a row in each of the b buckets and c rows left.
    Fewer than ell classes have rows left, at most c each, so n < ell (b + c), and the class began
    with b + c > n / ell rows. Each row left finds a bucket without its value, because fewer rows
    than buckets share that value.

    References
    ----------
    [Xiao06] algorithm `Anatomize`, Properties 1 to 3.
    [Wong11] R. Wong, A. Fu, K. Wang, Y. Xu, P. Yu: Can the Utility of Anonymized Data be used for
    Privacy Breaches? TKDD 2011, Section 5: Anatomy for one sensitive set of values.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "gout"])
    >>> cells = Cells((disease,), np.array([[0], [1], [2]]), np.array([2, 2, 1]))
    >>> schema = Schema(quasi=["age"], sensitive="disease")
    >>> Anatomy(ell=2).plan(Problem(cells, schema, {}, Secret.from_seed(1)))
    Plan(5 rows of 3 classes into 2 buckets, 0 dropped)
    """

    ell: int = whole_number(
        "The number of rows, with different sensitive values, in a bucket.",
        least=2,
        hint="a bucket of one row hides nothing.",
    )
    draw: Draw = choice(
        "How buckets are drawn: as in the paper (`published`), or in a fixed order round a ring "
        "(`ring`), which serves very large tables.",
        get_args(Draw),
        default="published",
    )
    protect: OptionalValues = values(
        "Sensitive values that count as one: at most 1/ell of a bucket carries any of them, and "
        "the others are not protected. Default: every value is protected by itself.",
        default=None,
    )

    deviations: ClassVar[tuple[str, ...]] = (
        "[Xiao06] does not say which of equally large classes are drawn from: here chance decides.",
        "draw='ring' deals rows out in a fixed order of classes instead of drawing them.",
        "protect is not in [Xiao06]: [Wong11] counts some values as one and leaves others free.",
    )
    example: ClassVar[Mapping[str, object]] = {"ell": 2}

    @property
    def shape(self) -> Shape:
        """The shape that is published."""
        return Shape.BUCKETIZED

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees of a release."""
        return (FrequencyDiversity(ell=self.ell, protect=self.protect or ()),)

    def class_columns(self, schema: Schema) -> tuple[str, ...]:
        """Return the sensitive column: rows with the same value are interchangeable."""
        return schema.sensitive

    def plan(self, problem: Problem) -> Plan:
        """Plan the buckets.

        Raises `DataError` if the table has no rows, `InfeasibleError` if a value, or the protected
        values together, have more than n / ell rows, and `ParameterError` if a protected value does
        not occur.
        """
        cells = problem.cells
        confirm_countable(cells)
        is_protected = None
        if self.protect is not None:
            codes = cells.column(problem.schema.sensitive[0])
            domain = cells.domain(problem.schema.sensitive[0])
            is_protected = mark_protected(domain, codes, self.protect)
        self._check_eligible(cells.counts, is_protected)
        n_buckets = cells.n_rows // self.ell
        if self.draw == "ring":
            segments = _deal_round(cells.counts, n_buckets, is_protected)
        elif is_protected is None:
            segments = _anatomize(cells, self.ell, problem.secret)
        else:
            segments = _anatomize_protected(cells, self.ell, is_protected, problem.secret)
        return Plan(cells, n_buckets, segments)

    def _check_eligible(self, counts: Counts, is_protected: Flags | None) -> None:
        """Raise `InfeasibleError` unless the table is eligible: at most n / ell rows per value."""
        n_rows = int(counts.sum())
        largest = int(counts.max() if is_protected is None else counts[is_protected].sum())
        if largest <= n_rows // self.ell:
            return
        best = n_rows // largest
        who = "one value" if is_protected is None else "the protected values"
        raise InfeasibleError(
            f"Anatomy with ell = {self.ell} needs {who} in at most 1/{self.ell} of the rows; of "
            f"{n_rows} rows {largest} carry {'it' if is_protected is None else 'them'}.",
            hint=(
                f"ell = {best} can be reached; or "
                if best >= 2
                else "no ell of 2 or more can be reached: "
            )
            + (
                "protect only the values that need it, with protect = [...]."
                if is_protected is None
                else "protect fewer values, or values that fewer people have."
            ),
            best={"ell": best} if best >= 2 else {},
        )


def _anatomize(cells: Cells, ell: int, secret: Secret) -> Segments:
    """Draw buckets as published: one row from each of the ell largest classes."""
    n_classes, n_rows = cells.n_cells, cells.n_rows
    group = np.argsort(-cells.counts, kind="stable").astype(np.int64)
    left = cells.counts[group]
    latest, run = np.full(n_classes, -2), np.zeros(n_classes, dtype=np.int64)
    run_group, run_bucket, run_length = (np.empty(n_rows, dtype=np.int64) for _ in range(3))
    numbers = secret.numbers("anatomy: largest classes", n_rows)
    # [Xiao06] Anatomize, lines 3 to 8: group creation.
    n_buckets, n_runs = draw_buckets(
        left, group, ell, numbers, latest, run, run_group, run_bucket, run_length
    )
    run_group, run_bucket, run_length = (
        array[:n_runs] for array in (run_group, run_bucket, run_length)
    )
    # Lines 9 to 12: residue assignment.
    residue = np.sort(group[left > 0])
    if n_buckets != n_rows // ell or left.max(initial=0) > 1:
        raise InternalError("Anatomy's draw left more than one row of a value.")
    bucket = _draw_lacking(residue, n_buckets, (run_group, run_bucket, run_length), secret)
    return Segments.of_runs(
        np.concatenate([run_group, residue]),
        np.concatenate([run_bucket, bucket]),
        np.concatenate([run_length, np.ones(len(residue), dtype=np.int64)]),
    )


def _draw_lacking(
    residue: Codes, n_buckets: int, runs: tuple[Codes, Codes, Codes], secret: Secret
) -> Codes:
    """Draw for each class of the residue a bucket that does not hold it."""
    run_group, run_bucket, run_length = runs
    numbers = secret.numbers("anatomy: residue", len(residue))
    chosen = np.empty(len(residue), dtype=np.int64)
    for place, (which, number) in enumerate(zip(residue.tolist(), numbers.tolist(), strict=True)):
        steps = np.zeros(n_buckets + 1, dtype=np.int64)
        is_own = run_group == which
        steps[run_bucket[is_own]] += 1
        steps[run_bucket[is_own] + run_length[is_own]] -= 1
        lacking = np.flatnonzero(np.cumsum(steps[:-1]) == 0)
        if not len(lacking):
            raise InternalError("Anatomy's draw left a row that every bucket holds already.")
        chosen[place] = lacking[number % len(lacking)]
    return chosen


def _deal_round(counts: Counts, n_buckets: int, is_protected: Flags | None) -> Segments:
    """Deal the rows to the buckets in turn, class by class, starting over after the last bucket.

    Neither a class nor the protected classes together have more rows than there are buckets, so no
    bucket gets two of them.
    """
    first_class = -counts if is_protected is None else ~is_protected
    order = np.lexsort((-counts, first_class)).astype(np.int64)
    sizes = counts[order]
    ones, zeros = np.ones(len(order), dtype=np.int64), np.zeros(len(order), dtype=np.int64)
    base = (np.cumsum(sizes) - sizes) % n_buckets
    return Segments(order, zeros, sizes, base, ones, ones * n_buckets)


def _anatomize_protected(cells: Cells, ell: int, is_protected: Flags, secret: Secret) -> Segments:
    """Put at most one protected row into every bucket, and fill buckets with others at random."""
    n_buckets = cells.n_rows // ell
    classes = np.arange(cells.n_cells)
    protected = np.repeat(classes[is_protected], cells.counts[is_protected])
    rest = np.repeat(classes[~is_protected], cells.counts[~is_protected])
    rest = rest[secret.permutation("anatomy: unprotected rows", len(rest))]
    room = np.full(n_buckets, ell)
    room[: len(protected)] -= 1
    bucket = np.repeat(np.arange(n_buckets), room)
    # n mod ell rows are left over; each joins a random bucket, which it only makes safer.
    n_over = len(rest) - len(bucket)
    joined = secret.numbers("anatomy: residue", n_over) % np.uint64(n_buckets)
    return Segments.of_pairs(
        np.concatenate([protected, rest]),
        np.concatenate([np.arange(len(protected)), bucket, joined.astype(np.int64)]),
        n_buckets,
    )
