"""What an adversary infers from a sliced release who knows everybody's tuple.

The adversary discards every linking that does not give exactly these people. With strict cuts
p(t, s) bounds this posterior too; with relaxed cuts it does not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

from shoal.core.cells import Cells
from shoal.core.errors import DataError
from shoal.core.sliced import Sliced
from shoal.slicing.posteriors import World, _confirm_few, _worlds_of

__all__ = ["posteriors_of_all"]


def posteriors_of_all(
    sliced: Sliced, people: Cells, sensitive: str, *, most_worlds: int = 200_000
) -> list[dict[int, Fraction]]:
    """Return the posterior of every tuple, for an adversary who knows everybody's tuple.

    `people` are all people of the table, in the release's own codes. Raises `DataError` if no
    linking gives these people, and `ParameterError` if there are more than `most_worlds` linkings.
    """
    names = sliced.layout.known_for(sensitive)
    chosen = people.select(names)
    tuples = [tuple(codes) for codes in chosen.codes.tolist()]
    place = {known: number for number, known in enumerate(tuples)}
    # By the people who are still to be placed: the number of ways, and the number of rows of each
    # tuple and value summed over these ways.
    states = {tuple(chosen.counts.tolist()): (1, Counter[tuple[int, int]]())}
    for bucket in range(sliced.n_buckets):
        worlds = _worlds_of(sliced, bucket, sensitive, most_worlds)
        states = _place_people(states, worlds, place, most_worlds)
    if not states:
        raise DataError("No linking of the release gives these people.")
    ((total, sums),) = states.values()
    found: list[dict[int, Fraction]] = [{} for _ in tuples]
    for (number, value), amount in sorted(sums.items()):
        found[number][value] = Fraction(amount, total * int(chosen.counts[number]))
    return found


def _place_people(
    states: Mapping[tuple[int, ...], tuple[int, Counter[tuple[int, int]]]],
    worlds: Mapping[World, int],
    place: Mapping[tuple[int, ...], int],
    most_worlds: int,
) -> dict[tuple[int, ...], tuple[int, Counter[tuple[int, int]]]]:
    """Take the rows of one more bucket from the people who are left, in all ways."""
    found: dict[tuple[int, ...], tuple[int, Counter[tuple[int, int]]]] = {}
    _confirm_few(len(states) * len(worlds), most_worlds)
    for left, (total, sums) in states.items():
        for world, weight in worlds.items():
            rest = list(left)
            held: Counter[tuple[int, int]] = Counter()
            for (known, value), n in world:
                if known not in place:
                    break
                rest[place[known]] -= n
                held[place[known], value] += n
            else:
                if min(rest) < 0:
                    continue
                before, added = found.setdefault(tuple(rest), (0, Counter()))
                for key, amount in sums.items():
                    added[key] += amount * weight
                for key, amount in held.items():
                    added[key] += amount * weight * total
                found[tuple(rest)] = before + total * weight, added
    return found
