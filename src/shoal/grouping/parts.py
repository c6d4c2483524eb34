"""Plan the parts of a table one by one, and join the plans.

Problem: a release must stay within the buckets of an earlier one, so that the earlier one adds
nothing to it (see `shoal.core.adversary_guarantees`). Idea: every earlier bucket is a part of the
table. The method plans each part as if it were the whole table, so no bucket extends over two
parts. A part that the method cannot cut stays one bucket. Guarantee: that of the method in every
part. Promises of the method about the whole table, such as closeness to it, have to be checked
on the result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from shoal.core.arrays import Codes
from shoal.core.cells import Cells
from shoal.core.errors import DataError, InfeasibleError, ParameterError
from shoal.core.method import Method, Problem
from shoal.core.plan import Drop, Label, Plan, Recode, Segments
from shoal.core.secret import Secret


@dataclass(frozen=True, eq=False)
class _Part:
    """One part, and the first of its cells among those of the table."""

    number: int
    first: int
    cells: Cells


def plan_parts(method: Method, problem: Problem) -> Plan:
    """Plan every part by a method; the first column of the problem's cells is the part of a row.

    Raises `InfeasibleError` if a method that generalizes cannot plan a part, or gives a value
    different labels in different parts.
    """
    whole = replace(problem, cells=_without_parts(problem.cells))
    fixed = method.for_parts(whole)
    least = max((one.least_bucket for one in method.guarantees), default=1)
    plans: list[tuple[_Part, Plan]] = []
    parts = sorted(_parts(problem.cells), key=lambda part: (-part.cells.n_rows, part.number))
    for part in parts:
        # The largest part is planned in any case, because its plan has the witnesses of all.
        is_small = part.cells.n_rows < 2 * least and method.shape.numbers_buckets
        if is_small and plans:
            plans.append((part, _one_bucket(part.cells)))
        else:
            plans.append((part, _planned(fixed, problem, part)))
    plans.sort(key=lambda pair: pair[0].number)
    return _together(problem.cells, plans)


def plan_whole_parts(problem: Problem) -> Plan:
    """Make every part one bucket."""
    plans = [(part, _one_bucket(part.cells)) for part in _parts(problem.cells)]
    return _together(problem.cells, plans)


def _without_parts(cells: Cells) -> Cells:
    return cells.select(cells.columns[1:])


def _parts(cells: Cells) -> Iterator[_Part]:
    """Yield the parts; cells are sorted by them."""
    number = cells.codes[:, 0]
    opens = np.flatnonzero(np.r_[True, number[1:] != number[:-1]])
    for place, (first, last) in enumerate(zip(opens, [*opens[1:], len(number)], strict=True)):
        own = Cells(cells.domains[1:], cells.codes[first:last, 1:], cells.counts[first:last])
        yield _Part(place, int(first), own)


def _planned(method: Method, problem: Problem, part: _Part) -> Plan:
    """Plan one part; if a method that publishes buckets cannot, the part stays one bucket."""
    # Parts with equal counts must not get the same draws.
    bits = problem.secret.derive(f"part {part.number}")
    secret = Secret(bits, is_test=problem.secret.is_test)
    try:
        return method.plan(replace(problem, cells=part.cells, secret=secret))
    except (DataError, InfeasibleError, ParameterError) as error:
        if method.shape.numbers_buckets:
            return _one_bucket(part.cells)
        raise InfeasibleError(
            f"A bucket of the earlier releases cannot be published on its own: {error.fact}",
            hint=error.hint,
        ) from None


def _one_bucket(cells: Cells) -> Plan:
    bucket = np.zeros(cells.n_cells, dtype=np.int64)
    return Plan(cells, 1, Segments.whole_classes(bucket, cells.counts))


def _together(cells: Cells, plans: Sequence[tuple[_Part, Plan]]) -> Plan:
    """Join plans, numbering their classes and buckets consecutively."""
    n_classes = np.array([len(plan.class_counts) for _, plan in plans])
    n_buckets = np.array([plan.n_buckets for _, plan in plans])
    classes_before = (np.cumsum(n_classes) - n_classes).tolist()
    buckets_before = (np.cumsum(n_buckets) - n_buckets).tolist()
    each = [plan for _, plan in plans]
    merged = [
        plan.class_of_cell + before for plan, before in zip(each, classes_before, strict=True)
    ]
    first = next((plan for plan in each if plan.witnesses), each[0])
    return Plan(
        cells,
        int(n_buckets.sum()),
        _joined_segments(each, classes_before, buckets_before),
        recode=_joined_recodes(each),
        drop=_joined_drops(each, classes_before),
        merged=np.concatenate(merged),
        witnesses=first.witnesses,
        warnings=tuple(dict.fromkeys(text for plan in each for text in plan.warnings)),
        notes={"parts": len(each)},
    )


def _joined_segments(
    plans: Sequence[Plan], classes_before: Sequence[int], buckets_before: Sequence[int]
) -> Segments:
    columns: list[list[Codes]] = [[], [], [], [], [], []]
    for plan, n_classes, n_buckets in zip(plans, classes_before, buckets_before, strict=True):
        assign = plan.assign
        if assign.modulus.any():
            # A ring starts at bucket 0 of its own plan, so it is written out.
            group, _, bucket = assign.expand()
            assign = Segments.of_pairs(group, bucket, plan.n_buckets)
        own = (
            assign.group + n_classes,
            assign.first,
            assign.last,
            assign.base + n_buckets,
            assign.step,
            assign.modulus,
        )
        for column, array in zip(columns, own, strict=True):
            column.append(np.asarray(array, dtype=np.int64))
    return Segments(*(np.concatenate(column) for column in columns))


def _joined_drops(plans: Sequence[Plan], classes_before: Sequence[int]) -> Drop:
    drops = [plan.drop for plan in plans]
    return Drop(
        np.concatenate(
            [one.group + before for one, before in zip(drops, classes_before, strict=True)]
        ),
        np.concatenate([one.first for one in drops]),
        np.concatenate([one.last for one in drops]),
        next((one.reason for one in drops if one.n_rows), ""),
    )


def _joined_recodes(plans: Sequence[Plan]) -> tuple[Recode, ...]:
    """Concatenate the labels of buckets; labels of values must be the same in all plans."""
    columns = {recode.column: None for plan in plans for recode in plan.recode}
    joined = []
    for column in columns:
        own = [one for plan in plans for one in plan.recode if one.column == column]
        is_by_bucket = all(one.by == "bucket" for one in own) and len(own) == len(plans)
        if not is_by_bucket and not _are_same(own, len(plans)):
            raise InfeasibleError(
                f"Column {column!r} would be recoded differently in the buckets of the earlier "
                "releases, but the method recodes it alike in the whole table.",
                hint="use a method that recodes by bucket, such as Mondrian.",
            )
        joined.append(_side_by_side(own) if is_by_bucket else own[0])
    return tuple(joined)


def _are_same(recodes: Sequence[Recode], n_plans: int) -> bool:
    first = recodes[0]
    return len(recodes) == n_plans and all(
        one.by == first.by and one.labels == first.labels and np.array_equal(one.index, first.index)
        for one in recodes
    )


def _side_by_side(recodes: Sequence[Recode]) -> Recode:
    """Renumber labels consecutively, equal ones once."""
    number: dict[Label, int] = {}
    index = []
    for recode in recodes:
        places = np.array([number.setdefault(one, len(number)) for one in recode.labels])
        index.append(places[recode.index])
    return Recode(recodes[0].column, "bucket", np.concatenate(index), tuple(number))
