"""All assignments of a bucket's values to its rows, summed exactly.

The weight of an assignment is the product of the prior beliefs that each row has the value it is
given; the sum over all assignments is the permanent of a matrix with repeated columns. Rows are
processed one after the other, and the rest depends only on the values left: the states are the
vectors of how many of each value are used up. Buckets with the same counts are computed together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, group
from shoal.core.errors import DataError
from shoal.core.prior_knowledge import BelievedRows
from shoal.locating.location import spread

MAX_STEPS = 2**14
"""Buckets with more states times rows are estimated by default."""
_BATCH = 2**21
"""The number of states of buckets that are held in memory at a time."""


def exact_posterior(
    value_counts: npt.ArrayLike, priors: npt.ArrayLike, row_counts: npt.ArrayLike
) -> tuple[Floats, bool]:
    """Return the posterior beliefs about the rows of one bucket, and whether they are possible.

    `value_counts` rows of the bucket have each value, and there are `row_counts` rows of each kind;
    `priors` has one row per kind and one column per value, like the posterior. If no assignment is
    possible, the posterior is 0 throughout. The number of steps is the number of states (the
    product of the counts of values, each plus 1), three times for every value.

    Examples
    --------
    >>> posterior, _ = exact_posterior([1, 1], [[0.5, 0.5], [0.9, 0.1]], [1, 1])
    >>> posterior.round(3).tolist()
    [[0.1, 0.9], [0.9, 0.1]]
    """
    counts = np.asarray(value_counts, dtype=np.int64)
    rows = np.asarray(row_counts, dtype=np.int64)
    if counts.sum() != rows.sum():
        raise DataError(f"A bucket has {counts.sum()} values and {rows.sum()} rows.")
    weights = np.repeat(np.asarray(priors, dtype=np.float64), rows, axis=0)
    shares, is_possible = _assign(weights[np.newaxis], counts.tolist())
    return shares[0, np.cumsum(rows) - rows], bool(is_possible[0])


def find_small(buckets: Buckets, max_steps: int) -> Flags:
    """Mark the buckets whose number of states times rows is at most `max_steps`."""
    if not buckets.n_buckets:
        return np.empty(0, dtype=bool)
    # Summed as logarithms: the product may exceed the range of a float.
    logs = np.add.reduceat(np.log2(buckets.count + 1.0), buckets.starts) + np.log2(buckets.sizes)
    is_small: Flags = np.exp2(np.minimum(logs, 62.0)) <= max_steps * (1 + 1e-9)
    return is_small


def exact_shares(
    buckets: Buckets, occupants: BelievedRows, chosen: Codes
) -> Iterator[tuple[Codes, Floats, Flags]]:
    """Yield the exact posteriors of the chosen buckets, those with the same counts together.

    Each item has the buckets, the posterior beliefs (entry by entry, and within an entry value by
    value in the order of codes), and whether each bucket has any possible assignment.
    """
    if not len(chosen):
        return
    order, kind, first = _kinds(buckets, chosen)
    n_values = np.diff(np.append(buckets.starts, len(buckets.value)))
    for number, example in enumerate(first.tolist()):
        alike = chosen[kind == number]
        width = int(n_values[chosen[example]])
        at = np.flatnonzero(kind == number)
        counts = -np.sort(-buckets.count[order[at[0]][:width]])
        n_states = int(np.prod(counts + 1))
        # The number of parts is rounded up.
        for part in np.array_split(np.arange(len(alike)), -(-len(alike) * n_states // _BATCH)):
            places = order[at[part]][:, :width]
            yield _exact_part(buckets, occupants, alike[part], places, counts)


def _exact_part(
    buckets: Buckets, occupants: BelievedRows, chosen: Codes, places: Codes, counts: Counts
) -> tuple[Codes, Floats, Flags]:
    """Compute buckets with the same counts; `places` are their values, the most frequent first."""
    starts = occupants.starts
    source, entry = spread(starts[chosen], np.diff(starts)[chosen])
    n_rows = int(counts.sum())
    row_entry = np.repeat(entry, occupants.count[entry]).reshape(len(chosen), n_rows)
    prior = occupants.prior[row_entry][:, :, np.newaxis]
    weights = occupants.priors[prior, buckets.value[places][:, np.newaxis]]
    shares, is_possible = _assign(weights, counts.tolist())
    # Rows of one entry are alike; the first stands for all.
    before = np.cumsum(occupants.count[entry]) - occupants.count[entry]
    of_entry = shares[source, before - source * n_rows]
    in_order = np.take_along_axis(of_entry, np.argsort(places, axis=1)[source], axis=1)
    return chosen, in_order.reshape(-1), is_possible


def _kinds(buckets: Buckets, chosen: Codes) -> tuple[Codes, Codes, Codes]:
    """Group buckets with the same counts of values; return `order`, `kind` and `first`.

    For each chosen bucket, `order` has its places in `Buckets`, the most frequent value first (the
    rest of the row is 0), and `kind` its group. `first` has a place in `chosen` for each group.
    """
    starts = np.append(buckets.starts, len(buckets.value))
    length = np.diff(starts)[chosen]
    source, place = spread(starts[chosen], length)
    by_count = np.lexsort((place, -buckets.count[place], source))
    place = place[by_count]
    rank = np.arange(len(place)) - (np.cumsum(length) - length)[source]
    order = np.zeros((len(chosen), int(length.max())), dtype=np.int64)
    order[source, rank] = place
    counts = np.zeros_like(order)
    counts[source, rank] = buckets.count[place]
    sizes = [int(column.max()) + 1 for column in counts.T]
    first, kind = group(list(counts.T), sizes, len(chosen))
    return order, kind, first


@dataclass(frozen=True, eq=False)
class _Move:
    """The states to which a value can be added, and the states that result."""

    value: int
    before: Codes
    after: Codes


def _moves(counts: Sequence[int]) -> tuple[list[Codes], list[list[_Move]]]:
    """Return the states before each row and after the last, and the moves of each row."""
    used = np.indices([count + 1 for count in counts]).reshape(len(counts), -1)
    n_used = used.sum(axis=0)
    by_used = np.argsort(n_used, kind="stable")
    borders = np.searchsorted(n_used[by_used], np.arange(1, sum(counts) + 1))
    layers = np.split(by_used, borders)
    strides = np.cumprod([1, *(count + 1 for count in counts[:0:-1])])[::-1].tolist()
    moves = []
    for states in layers[:-1]:
        found = []
        for value, (count, stride) in enumerate(zip(counts, strides, strict=True)):
            before = states[used[value, states] < count]
            if len(before):
                found.append(_Move(value, before, before + stride))
        moves.append(found)
    return layers, moves


def _assign(weights: Floats, counts: Sequence[int]) -> tuple[Floats, Flags]:
    """Sum over all assignments of values to rows, forwards and backwards.

    `weights` has the prior belief by bucket, row and value, and `counts` the number of rows with
    each value in every bucket. Returns the share of the assignments that give a row a value, by
    bucket, row and value, and whether each bucket has any assignment.
    """
    n_buckets, n_rows, n_values = weights.shape
    # One state after the other in memory, with all buckets side by side.
    likely = np.ascontiguousarray(weights.transpose(1, 2, 0))
    layers, moves = _moves(counts)
    n_states = int(np.prod([count + 1 for count in counts]))
    forward, backward = np.zeros((n_states, n_buckets)), np.zeros((n_states, n_buckets))
    forward[0], backward[-1] = 1.0, 1.0
    for row in range(n_rows):
        for move in moves[row]:
            forward[move.after] += forward[move.before] * likely[row, move.value]
        _scale(forward, layers[row + 1])
    for row in range(n_rows - 1, -1, -1):
        for move in moves[row]:
            backward[move.before] += backward[move.after] * likely[row, move.value]
        _scale(backward, layers[row])
    shares = np.zeros((n_rows, n_values, n_buckets))
    for row in range(n_rows):
        for move in moves[row]:
            ways = np.einsum("ij,ij->j", forward[move.before], backward[move.after])
            shares[row, move.value] = ways * likely[row, move.value]
    total = shares.sum(axis=1, keepdims=True)
    is_possible: Flags = (total > 0).all(axis=(0, 1))
    shares = np.where(is_possible, shares / np.where(total > 0, total, 1.0), 0.0)
    return shares.transpose(2, 0, 1), is_possible


def _scale(numbers: Floats, states: Codes) -> None:
    """Scale the largest number of each bucket among some states to 1; only ratios matter."""
    highest = numbers[states].max(axis=0)
    numbers[states] /= np.where(highest > 0, highest, 1.0)
