"""The valid values of the rows of one bucket: those that some assignment gives them.

An assignment of the bucket's values to its rows is found by chains of swaps. From a value that a
row holds in it, all values can be reached for which a chain of swaps leads back.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from shoal.core.errors import ParameterError
from shoal.core.work import Work

__all__ = ["find_valid", "valid_values"]

_STEP = 50
"""About how many operations one step of a chain takes."""


def valid_values(
    values: Sequence[Hashable], forbidden: Sequence[Iterable[Hashable]]
) -> list[frozenset[Hashable]]:
    """Find the valid values of each row of one bucket.

    Parameters
    ----------
    values
        The bucket's sensitive values, one a row, in any order; None is the missing one.
    forbidden
        For each row the values that it is known not to have.

    Returns
    -------
    For each row its valid values; none for any where there is no assignment.

    Raises
    ------
    ParameterError
        Where there are not as many values as rows, or one text in the place of several.

    Examples
    --------
    Two women and a man, two with ovarian cancer: his is that of the prostate [Li08, Section II].

    >>> found = valid_values(["ovarian", "ovarian", "prostate"], [(), (), ["ovarian"]])
    >>> sorted(found[2])
    ['prostate']
    """
    if len(values) != len(forbidden):
        raise ParameterError(
            f"A bucket must have as many values as rows, not {len(values)} values for "
            f"{len(forbidden)} rows."
        )
    if any(isinstance(one, str) for one in forbidden):
        raise ParameterError("forbidden must hold a set of values for each row, not one text.")
    n_copies = Counter(values)
    bits = {value: 1 << place for place, value in enumerate(n_copies)}
    full = (1 << len(bits)) - 1
    kinds = [full & ~sum(bits.get(value, 0) for value in set(one)) for one in forbidden]
    valid = {
        kind: frozenset(value for value, bit in bits.items() if found & bit)
        for kind, found in find_valid(Counter(kinds), list(n_copies.values()), Work()).items()
    }
    return [valid[kind] for kind in kinds]


def find_valid(n_rows: Mapping[int, int], n_copies: Sequence[int], work: Work) -> dict[int, int]:
    """Find the valid values of each kind of row.

    A kind is the set of values that it can have; bit v of a set is value v.
    """
    holders = _assign(n_rows, n_copies, work)
    if holders is None:
        return dict.fromkeys(n_rows, 0)
    held = dict.fromkeys(n_rows, 0)
    swaps = [0] * len(n_copies)
    for value, kinds in enumerate(holders):
        for kind in kinds:
            held[kind] |= 1 << value
            swaps[value] |= kind
    work.spend(_STEP * len(n_copies) * (len(n_copies) + len(n_rows)))
    ends = [_reach(value, swaps) for value in range(len(n_copies))]
    return {
        kind: sum(1 << value for value in _members(kind) if ends[value] & held[kind])
        for kind in n_rows
    }


def _reach(value: int, swaps: Sequence[int]) -> int:
    """Give all that chains of swaps can end in that begin with a holder of this value."""
    reached = waiting = 1 << value
    while waiting:
        new = swaps[waiting.bit_length() - 1] & ~reached
        waiting ^= 1 << (waiting.bit_length() - 1)
        reached |= new
        waiting |= new
    return reached


def _assign(
    n_rows: Mapping[int, int], n_copies: Sequence[int], work: Work
) -> list[dict[int, int]] | None:
    """Find an assignment: for each value how many rows of each kind have it; None for none."""
    holders: list[dict[int, int]] = [{} for _ in n_copies]
    room = list(n_copies)
    for kind in sorted(n_rows, key=int.bit_count):
        left = n_rows[kind]
        while left:
            # A chain passes every value and every kind of its holders at most once.
            work.spend(_STEP * (len(n_copies) + sum(map(len, holders))))
            chain = _find_chain(kind, holders, room)
            if chain is None:
                return None
            limits = [holders[old][taker] for taker, _, old in chain if old is not None]
            amount = min(left, room[chain[0][1]], *limits)
            left -= amount
            room[chain[0][1]] -= amount
            for taker, new, old in chain:
                holders[new][taker] = holders[new].get(taker, 0) + amount
                if old is not None:
                    holders[old][taker] -= amount
                    if not holders[old][taker]:
                        del holders[old][taker]
    return holders


def _find_chain(
    kind: int, holders: Sequence[Mapping[int, int]], room: Sequence[int]
) -> list[tuple[int, int, int | None]] | None:
    """Find who takes which value for which, so that one more row of a kind has a value.

    The chain begins with a value that has room and ends with the new row, which gives up nothing.
    """
    came: dict[int, tuple[int, int, int | None]] = {}
    waiting: deque[int] = deque()
    found, takers, old = 0, [kind], None
    while True:
        for taker in takers:
            for value in _members(taker & ~found):
                came[value] = (taker, value, old)
                waiting.append(value)
            found |= taker
        if not waiting:
            return None
        old = waiting.popleft()
        if room[old]:
            break
        takers = list(holders[old])
    chain = [came[old]]
    while (given_up := chain[-1][2]) is not None:
        chain.append(came[given_up])
    return chain


def _members(values: int) -> Iterator[int]:
    """Give the values of a set in their order."""
    while values:
        yield (values & -values).bit_length() - 1
        values &= values - 1
