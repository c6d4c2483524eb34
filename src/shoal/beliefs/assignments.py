"""All assignments of a bucket's values to its rows, added up exactly.

The weight of an assignment is the product of how likely each row is to have what it is given; the
sum over all of them is the permanent of a matrix with repeated columns. Rows are taken one after
the other, and what is left of the values is all that matters for the rest: the states are the
vectors of how many of each value are used up. Buckets with the same counts are done together.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Buckets, Codes, Counts, group
from shoal.core.errors import DataError
from shoal.knowledge.location import spread

__all__ = ["MAX_STEPS", "exact_posterior", "exact_shares", "find_small"]

Flags = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]

MAX_STEPS = 2**14
"""Buckets with more states times rows are not done exactly unless that is asked for."""
_BATCH = 2**21
"""How many states of buckets are held at a time."""


def exact_posterior(
    value_counts: npt.ArrayLike, priors: npt.ArrayLike, row_counts: npt.ArrayLike
) -> tuple[Floats, bool]:
    """Give what is believed of the rows of one bucket.

    Parameters
    ----------
    value_counts
        How many rows of the bucket have each value, at least 1.
    priors
        One row for each kind of rows, one column a value: how likely each value is.
    row_counts
        How many rows there are of each kind.

    Returns
    -------
    posterior
        One row for each kind of rows, one column a value.
    is_possible
        Whether any assignment is possible; where none is, the posterior is 0 throughout.

    Raises
    ------
    DataError
        Where there are not as many values as rows.

    Notes
    -----
    It takes as many steps as there are states (the product of the counts of values, each plus 1),
    three times for every value.

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
    """Say which buckets have few enough states times rows."""
    if not buckets.n_buckets:
        return np.empty(0, dtype=bool)
    # Added up as logarithms first: a product may be beyond what a float can hold.
    logs = np.add.reduceat(np.log2(buckets.count + 1.0), buckets.starts) + np.log2(buckets.sizes)
    is_small: Flags = np.exp2(np.minimum(logs, 62.0)) <= max_steps * (1 + 1e-9)
    return is_small


def exact_shares(
    buckets: Buckets, occupants: BelievedRows, chosen: Codes
) -> Iterator[tuple[Codes, Floats, Flags]]:
    """Do some buckets exactly.

    Yields
    ------
    bucket
        Some of the chosen buckets, all with the same counts of values.
    shares
        For each of their entries in turn, and within it for each value of its bucket in the
        order of codes, how much it is believed.
    is_possible
        For each of the buckets whether any assignment is possible.
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
        for part in np.array_split(np.arange(len(alike)), -(-len(alike) * n_states // _BATCH)):
            places = order[at[part]][:, :width]
            yield _exact_part(buckets, occupants, alike[part], places, counts)


def _exact_part(
    buckets: Buckets, occupants: BelievedRows, chosen: Codes, places: Codes, counts: Counts
) -> tuple[Codes, Floats, Flags]:
    """Do buckets with the same counts; `places` are their values, the most frequent first."""
    starts = occupants.starts
    source, entry = spread(starts[chosen], np.diff(starts)[chosen])
    n_rows = int(counts.sum())
    row_entry = np.repeat(entry, occupants.count[entry]).reshape(len(chosen), n_rows)
    prior = occupants.prior[row_entry][:, :, np.newaxis]
    weights = occupants.priors[prior, buckets.value[places][:, np.newaxis]]
    shares, is_possible = _assign(weights, counts.tolist())
    # Rows of one entry are alike: the first speaks for all.
    before = np.cumsum(occupants.count[entry]) - occupants.count[entry]
    of_entry = shares[source, before - source * n_rows]
    in_order = np.take_along_axis(of_entry, np.argsort(places, axis=1)[source], axis=1)
    return chosen, in_order.reshape(-1), is_possible


def _kinds(buckets: Buckets, chosen: Codes) -> tuple[Codes, Codes, Codes]:
    """Group buckets with the same counts of values.

    Returns
    -------
    order
        For each chosen bucket its places in `Buckets`, the most frequent value first; the rest
        of the row is 0.
    kind
        For each chosen bucket its group.
    first
        For each group the first of its buckets, as a place in `chosen`.
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
    """States that a value is added to, and what they become."""

    value: int
    before: Codes
    after: Codes


def _moves(counts: Sequence[int]) -> tuple[list[Codes], list[list[_Move]]]:
    """Give the states before each row and after the last, and how each row can use up a value."""
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
    """Add up all assignments of values to rows.

    Parameters
    ----------
    weights
        For each bucket, row and value how likely the row is to have the value.
    counts
        How often each value is to be given, in every bucket.

    Returns
    -------
    shares
        For each bucket, row and value the share of the assignments that give it to the row.
    is_possible
        For each bucket whether there is any.
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
    """Make the largest number of each bucket among some states 1, for only ratios matter."""
    highest = numbers[states].max(axis=0)
    numbers[states] /= np.where(highest > 0, highest, 1.0)
