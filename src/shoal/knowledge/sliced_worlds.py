"""The exact posterior of a sliced release, by going through all linkings of its buckets.

p(t, s) is a quotient of means over linkings. An adversary who goes through the linkings one by one
can do better: those without t at all are impossible, and one who knows everybody's tuple can leave
out all linkings that do not give exactly these. Both are found here for small buckets, so that the
gap is visible. Of strict cuts there is none; of relaxed ones the posterior may be 1 where p is 1/2.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

from shoal.core.cells import Cells
from shoal.core.errors import DataError, ParameterError
from shoal.core.sliced import Link, Sliced

__all__ = ["posterior_of_one", "posteriors_of_all"]

Values = tuple[tuple[str, int], ...]
"""Some attributes with their codes, in the order of the columns."""
Row = tuple[tuple[int, ...], int]
"""What is known of a row, and its sensitive value."""
World = tuple[tuple[Row, int], ...]
"""How often each row occurs, sorted."""

_MOST_WORLDS = 200_000


def posterior_of_one(
    sliced: Sliced, known: Mapping[str, int], sensitive: str, *, most_worlds: int = _MOST_WORLDS
) -> dict[int, Fraction]:
    """Give the posterior of a person who is in the table, to whom the others are unknown.

    Parameters
    ----------
    sliced
        The release.
    known
        The code of every known attribute.
    sensitive
        The attribute to infer.
    most_worlds
        How many linkings may be gone through.

    Returns
    -------
    The chance of every value that has one; empty where no linking holds the person. Every linking
    that holds the tuple is as likely as any other, and so is every row of the tuple within it.

    Raises
    ------
    ParameterError
        Where there are too many linkings.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.zeros(3, dtype=np.int64)
    >>> release = Sliced.of_pieces(cells, layout, np.arange(3), bucket, cells.counts)
    >>> posterior_of_one(release, {"sex": 0}, "disease")
    {0: Fraction(1, 3), 1: Fraction(2, 3)}
    """
    names = sliced.layout.known_for(sensitive)
    wanted = tuple(known[name] for name in names)
    # How many rows of the tuple have each value, over all buckets so far.
    worlds: dict[tuple[tuple[int, int], ...], int] = {(): 1}
    for bucket in range(sliced.n_buckets):
        own: dict[tuple[tuple[int, int], ...], int] = defaultdict(int)
        for world, weight in _worlds_of(sliced, bucket, sensitive, most_worlds).items():
            here = tuple((value, n) for (tuple_, value), n in world if tuple_ == wanted)
            own[here] += weight
        if own.keys() == {()}:
            continue
        worlds = _combine(worlds, own, most_worlds)
    chances: dict[int, Fraction] = defaultdict(Fraction)
    for held, weight in worlds.items():
        n_rows = sum(n for _, n in held)
        for value, n in held:
            chances[value] += Fraction(weight * n, n_rows)
    total = sum(chances.values())
    return {value: chance / total for value, chance in sorted(chances.items())}


def posteriors_of_all(
    sliced: Sliced, people: Cells, sensitive: str, *, most_worlds: int = _MOST_WORLDS
) -> list[dict[int, Fraction]]:
    """Give the posterior of every tuple for one who knows everybody's.

    Parameters
    ----------
    sliced
        The release.
    people
        What is known of all people of the table, in the release's own codes.
    sensitive
        The attribute to infer.
    most_worlds
        How many linkings may be gone through.

    Raises
    ------
    DataError
        Where no linking gives these people.
    ParameterError
        Where there are too many linkings.

    Examples
    --------
    >>> import numpy as np
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.zeros(3, dtype=np.int64)
    >>> release = Sliced.of_pieces(cells, layout, np.arange(3), bucket, cells.counts)
    >>> posteriors_of_all(release, cells.select(["sex"]), "disease")[1]
    {0: Fraction(1, 3), 1: Fraction(2, 3)}
    """
    names = sliced.layout.known_for(sensitive)
    chosen = people.select(names)
    tuples = [tuple(codes) for codes in chosen.codes.tolist()]
    place = {known: number for number, known in enumerate(tuples)}
    # By the people who are still to be placed: the weight of all ways, and with it the mean number
    # of rows of each tuple and value.
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


def _combine(
    worlds: Mapping[tuple[tuple[int, int], ...], int],
    others: Mapping[tuple[tuple[int, int], ...], int],
    most_worlds: int,
) -> dict[tuple[tuple[int, int], ...], int]:
    _confirm_few(len(worlds) * len(others), most_worlds)
    found: dict[tuple[tuple[int, int], ...], int] = defaultdict(int)
    for held, weight in worlds.items():
        for more, other_weight in others.items():
            both = Counter(dict(held)) + Counter(dict(more))
            found[tuple(sorted(both.items()))] += weight * other_weight
    return found


def _worlds_of(sliced: Sliced, bucket: int, sensitive: str, most_worlds: int) -> dict[World, int]:
    """Give every outcome of linking a bucket's columns, with the number of linkings that do."""
    layout = sliced.layout
    partial: dict[tuple[tuple[Values, int], ...], int] = {(): 1}
    for link in layout.links():
        entries = _entries(sliced, bucket, link)
        extended: dict[tuple[tuple[Values, int], ...], int] = defaultdict(int)
        for rows, weight in partial.items():
            for linked, ways in _link(rows, entries, link, most_worlds):
                extended[linked] += weight * ways
                _confirm_few(len(extended), most_worlds)
        partial = extended
    names = layout.known_for(sensitive)
    found: dict[World, int] = defaultdict(int)
    for rows, weight in partial.items():
        seen: Counter[Row] = Counter()
        for values, n in rows:
            codes = dict(values)
            seen[tuple(codes[name] for name in names), codes[sensitive]] += n
        found[tuple(sorted(seen.items()))] += weight
    return found


def _entries(sliced: Sliced, bucket: int, link: Link) -> Counter[Values]:
    column = sliced.columns[link.column]
    is_here = column.bucket == bucket
    codes = column.values.codes[column.value[is_here]].tolist()
    counts = column.count[is_here].tolist()
    return Counter(
        {
            tuple(zip(column.attributes, row, strict=True)): n
            for row, n in zip(codes, counts, strict=True)
        }
    )


def _link(
    rows: Sequence[tuple[Values, int]], entries: Counter[Values], link: Link, most_worlds: int
) -> Iterator[tuple[tuple[tuple[Values, int], ...], int]]:
    """Link rows with a column's values in all ways that agree in what they share."""
    if not rows:
        yield tuple(sorted(entries.items())), 1
        return
    by_shared: dict[Values, tuple[list[tuple[Values, int]], Counter[Values]]] = {}
    for values, n in rows:
        by_shared.setdefault(_shared(values, link), ([], Counter()))[0].append((values, n))
    for values, n in entries.items():
        by_shared.setdefault(_shared(values, link), ([], Counter()))[1][values] += n
    partial: list[tuple[Counter[Values], int]] = [(Counter(), 1)]
    for some_rows, some_entries in by_shared.values():
        ways = list(itertools.islice(_link_alike(some_rows, some_entries), most_worlds + 1))
        _confirm_few(len(ways) * len(partial), most_worlds)
        partial = [
            (held + more, weight * other) for held, weight in partial for more, other in ways
        ]
    for held, weight in partial:
        yield tuple(sorted(held.items())), weight


def _shared(values: Values, link: Link) -> Values:
    return tuple(sorted((name, code) for name, code in values if name in link.separator))


def _link_alike(
    rows: Sequence[tuple[Values, int]], entries: Counter[Values]
) -> Iterator[tuple[Counter[Values], int]]:
    """Link rows with values in all ways; the ways are counted as permutations of the values."""
    if not rows:
        yield Counter(), 1
        return
    values, n_rows = rows[0]
    for chosen in _choose(sorted(entries.items()), n_rows):
        ways = math.factorial(n_rows)
        here: Counter[Values] = Counter()
        for entry, n in chosen.items():
            ways *= math.comb(entries[entry], n)
            joined = dict(values) | dict(entry)
            here[tuple(joined.items())] += n
        for rest, other in _link_alike(rows[1:], entries - chosen):
            yield here + rest, ways * other


def _choose(entries: Sequence[tuple[Values, int]], n_rows: int) -> Iterator[Counter[Values]]:
    """Give all ways to choose so many values."""
    if n_rows == 0:
        yield Counter()
        return
    if not entries:
        return
    entry, available = entries[0]
    for n in range(min(available, n_rows) + 1):
        for rest in _choose(entries[1:], n_rows - n):
            yield rest + Counter({entry: n})


def _confirm_few(n_worlds: int, most_worlds: int) -> None:
    if n_worlds > most_worlds:
        raise ParameterError(
            f"The buckets have more than {most_worlds} linkings to go through.",
            hint="p(t, s) needs no enumeration; or take smaller buckets.",
        )
