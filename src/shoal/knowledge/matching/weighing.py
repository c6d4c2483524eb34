"""How many assignments of a bucket's values to its rows give each row each value.

Matching asks whether some assignment gives a value to a row. Here all assignments that the
knowledge allows are counted, each equally likely, so that one value may be nearly certain although
others are possible.

Rows with one set of forbidden values are alike, and so are values that the same rows can have. An
assignment is then a table: how many rows of each kind take a value of each class. The tables are
counted class by class. All that matters for the classes to come is how many rows of each kind are
left, so equal states are counted once. Counts are whole numbers of any size: ties at a bound are
ties.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from math import comb

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.work import Work
from shoal.knowledge.matching.words import Marks

__all__ = ["largest_posteriors", "posteriors_of_bucket"]

_COST = 100
"""The operations that one step between two states counts for."""

_State = tuple[int, ...]


def largest_posteriors(
    which: Codes, row_count: Counts, value: Codes, value_count: Counts, sets: Marks, work: Work
) -> list[Fraction]:
    """Return the largest posterior of the rows of each group of one bucket.

    Parameters
    ----------
    which, row_count
        The groups of rows: the place of their set, and how many they are.
    value, value_count
        The codes of the values and how many rows have each.
    sets
        The sets of forbidden values, one row per set, one column per code.
    work
        What counting may cost.

    Returns
    -------
    One number per group; all are 1 if there is no assignment.

    Raises
    ------
    TooMuchWork
        If there are too many states.

    Examples
    --------
    Two rows share a cold and a flu, and one of them cannot have a cold:

    >>> sets = np.array([[False, False], [True, False]])
    >>> one, two = np.array([1, 1]), np.array([0, 1])
    >>> largest_posteriors(two, one, two, one, sets, Work())
    [Fraction(1, 1), Fraction(1, 1)]
    """
    shares = posteriors_of_bucket(which, row_count, value, value_count, sets, work)
    if shares is None:
        return [Fraction(1)] * len(which)
    return [max(row) for row in shares]


def posteriors_of_bucket(
    which: Codes, row_count: Counts, value: Codes, value_count: Counts, sets: Marks, work: Work
) -> list[list[Fraction]] | None:
    """Return the share of the assignments that give each value to a row of each group.

    Parameters and errors are those of `largest_posteriors`. Returns None if there is no
    assignment; else one list per group, one number per value.
    """
    is_allowed = ~sets[np.ix_(which, value)]
    kinds, kind_of = np.unique(is_allowed, axis=0, return_inverse=True)
    classes, class_of = np.unique(kinds, axis=1, return_inverse=True)
    rows, copies = [0] * len(classes), [0] * classes.shape[1]
    for kind, count in zip(kind_of.ravel().tolist(), row_count.tolist(), strict=True):
        rows[kind] += count
    for one, count in zip(class_of.ravel().tolist(), value_count.tolist(), strict=True):
        copies[one] += count
    taken = _mean_table(rows, copies, classes.tolist(), work)
    if taken is None:
        return None
    # Within a class, copies go to its takers in every order: each value by its share.
    return [
        [
            taken[kind][one] / rows[kind] * Fraction(count, copies[one])
            for one, count in zip(class_of.ravel().tolist(), value_count.tolist(), strict=True)
        ]
        for kind in kind_of.ravel().tolist()
    ]


def _mean_table(
    rows: Sequence[int], copies: Sequence[int], is_allowed: Sequence[Sequence[bool]], work: Work
) -> list[list[Fraction]] | None:
    """Return how many rows of each kind take each class, on average; None without assignment."""
    if _n_states(copies) < _n_states(rows):
        # Kinds and classes play the same part: the table may be counted either way.
        turned = [list(column) for column in zip(*is_allowed, strict=True)]
        found = _mean_by_column(copies, rows, turned, work)
        return None if found is None else [list(line) for line in zip(*found, strict=True)]
    return _mean_by_column(rows, copies, is_allowed, work)


def _n_states(counts: Sequence[int]) -> int:
    product = 1
    for count in counts:
        product *= count + 1
    return product


def _mean_by_column(
    rows: Sequence[int], copies: Sequence[int], is_allowed: Sequence[Sequence[bool]], work: Work
) -> list[list[Fraction]] | None:
    start, end = tuple(rows), (0,) * len(rows)
    takers = [[k for k in range(len(rows)) if is_allowed[k][c]] for c in range(len(copies))]
    # Forwards: in how many ways a state is reached; backwards: in how many it is completed.
    before: list[dict[_State, int]] = [{start: 1}]
    for count, kinds in zip(copies, takers, strict=True):
        reached: dict[_State, int] = {}
        for state, n_ways in before[-1].items():
            for _, after, n_choices in _choices(state, kinds, count, work):
                reached[after] = reached.get(after, 0) + n_ways * n_choices
        before.append(reached)
    total = before[-1].get(end, 0)
    if not total:
        return None
    taken = [[0] * len(copies) for _ in rows]
    completed: dict[_State, int] = {end: 1}
    for column in range(len(copies) - 1, -1, -1):
        earlier: dict[_State, int] = {}
        for state, n_ways in before[column].items():
            for chosen, after, n_choices in _choices(state, takers[column], copies[column], work):
                n_rest = n_choices * completed.get(after, 0)
                if not n_rest:
                    continue
                earlier[state] = earlier.get(state, 0) + n_rest
                for kind, number in zip(takers[column], chosen, strict=True):
                    taken[kind][column] += n_ways * n_rest * number
        completed = earlier
    return [[Fraction(number, total) for number in line] for line in taken]


def _choices(
    state: _State, kinds: Sequence[int], count: int, work: Work
) -> Iterator[tuple[tuple[int, ...], _State, int]]:
    """Choose how many rows of each kind take a class of so many copies.

    Yields
    ------
    chosen
        The number of rows of each of the kinds.
    after
        What is left of all kinds.
    n_choices
        In how many ways the rows themselves can be chosen.
    """
    available = [state[kind] for kind in kinds]

    def extend(place: int, left: int, n_choices: int) -> Iterator[tuple[tuple[int, ...], int]]:
        if place == len(kinds):
            if left == 0:
                yield (), n_choices
            return
        beyond = sum(available[place + 1 :])
        for number in range(max(left - beyond, 0), min(available[place], left) + 1):
            ways = n_choices * comb(available[place], number)
            for rest, n_ways in extend(place + 1, left - number, ways):
                yield (number, *rest), n_ways

    for chosen, n_choices in extend(0, count, 1):
        work.spend(_COST)
        after = list(state)
        for kind, number in zip(kinds, chosen, strict=True):
            after[kind] -= number
        yield chosen, tuple(after), n_choices
