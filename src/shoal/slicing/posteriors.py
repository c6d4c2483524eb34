"""The exact posterior of people in a sliced release, given only that they are in it.

p(t, s) is a quotient of means over linkings. But linkings without t are impossible, and a mean of
shares is not a share of means: if t matches several buckets the posterior differs, and with relaxed
cuts it may be 1 where p(t, s) is 1/2. It depends on how many rows of t each bucket has. In a random
linking of columns without shared attributes that number follows from one hypergeometric draw per
column, and within a bucket the values of these rows are those of the sensitive column, so no
linking has to be listed. If columns share attributes, all linkings of small buckets are enumerated.
If t matches one bucket, the posterior is p(t, s).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Cells
from shoal.core.errors import ParameterError
from shoal.core.sliced import Link, Sliced
from shoal.slicing.beliefs import SlicedBeliefs, sliced_beliefs

_MOST_ROWS, _MOST_LINKINGS = 12, 2_000
"""The limits of enumeration, for one tuple."""


def is_plain(sliced: Sliced, n_matching: Counts) -> Flags:
    """Return for which tuples p(t, s) is the posterior: one bucket, no shared attributes.

    `n_matching` is the number of buckets that each tuple matches.
    """
    return np.asarray((n_matching <= 1) & (not sliced.layout.is_overlapping))


def exact_posteriors(
    sliced: Sliced,
    tuples: Cells,
    sensitive: str,
    largest: Floats,
    n_matching: Counts,
    *,
    most_tuples: int = 200,
) -> tuple[Codes, Codes, Floats]:
    """Compute the posterior of tuples for which p(t, s) is not the posterior.

    `largest` is the largest p(t, s) of each tuple, and `n_matching` the number of buckets that it
    matches. The `most_tuples` with the largest p(t, s) are chosen; if columns share attributes,
    only those with few linkings remain. Returns the chosen tuples, the most likely value of each,
    and its probability. The tuples are in the release's own codes.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> from shoal.slicing.beliefs import share_table
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.array([0, 1, 0, 1])
    >>> release = Sliced.of_pieces(cells, layout, np.arange(4), bucket, cells.counts)
    >>> people = cells.select(["sex"])
    >>> shares, n_matching = share_table(release, people, "disease")
    >>> exact_posteriors(release, people, "disease", shares.max(axis=1), n_matching)[2].tolist()
    [0.5, 0.5]
    """
    open_ones = np.flatnonzero((n_matching > 0) & ~is_plain(sliced, n_matching))
    order = np.argsort(-largest[open_ones], kind="stable")
    chosen = open_ones[order[:most_tuples]]
    few = Cells(tuples.domains, tuples.codes[chosen], tuples.counts[chosen])
    beliefs = sliced_beliefs(sliced, few, sensitive)
    if sliced.layout.is_overlapping:
        found, value, posterior = _by_enumeration(sliced, beliefs, few)
        return chosen[found], value, posterior
    return chosen, *_by_draws(sliced, beliefs, few)


def _by_enumeration(
    sliced: Sliced, beliefs: SlicedBeliefs, tuples: Cells
) -> tuple[Codes, Codes, Floats]:
    owner, bucket, _ = beliefs.matches
    found, best = [], []
    for number in range(tuples.n_cells):
        own = bucket[owner == number]
        if sliced.sizes[own].sum() > _MOST_ROWS:
            continue
        known = dict(zip(tuples.columns, tuples.codes[number].tolist(), strict=True))
        try:
            chances = posterior_of_one(
                sliced.only(own), known, beliefs.domain.column, most_worlds=_MOST_LINKINGS
            )
        except ParameterError:
            continue
        found.append(number)
        best.append(max((chance, -value) for value, chance in chances.items()))
    value = np.array([-value for _, value in best], dtype=np.int64)
    posterior = np.array([float(chance) for chance, _ in best], dtype=np.float64)
    return np.array(found, dtype=np.int64), value, posterior


def _by_draws(sliced: Sliced, beliefs: SlicedBeliefs, tuples: Cells) -> tuple[Codes, Floats]:
    n_tuples = tuples.n_cells
    starts = np.searchsorted(beliefs.tuple_, np.arange(n_tuples + 1))
    value, posterior = np.empty(n_tuples, dtype=np.int64), np.empty(n_tuples)
    for number in range(n_tuples):
        terms = slice(starts[number], starts[number + 1])
        bucket, own = np.unique(beliefs.bucket[terms], return_inverse=True)
        amount = beliefs.amount[terms].astype(np.float64)
        share = amount / np.bincount(own, weights=amount)[own]
        held = _times_held(sliced, tuples, number, bucket, beliefs.domain.column)
        sizes = sliced.sizes[bucket].tolist()
        weight = _weights([_n_rows(size, times) for size, times in zip(sizes, held, strict=True)])
        chance = np.zeros(beliefs.domain.size)
        np.add.at(chance, beliefs.value[terms], share * weight[own])
        value[number], posterior[number] = chance.argmax(), chance.max()
    return value, np.minimum(posterior, 1.0)


def _times_held(
    sliced: Sliced, tuples: Cells, number: int, buckets: Codes, sensitive: str
) -> list[list[int]]:
    """Return, for each bucket, how often each of its columns holds the known part of a tuple."""
    known = sliced.layout.known_for(sensitive)
    held = []
    for column in sliced.columns:
        names = [name for name in column.attributes if name in known]
        if not names:
            continue
        codes = [tuples.column(name)[number] for name in names]
        is_own = np.ones(column.values.n_cells, dtype=bool)
        for name, code in zip(names, codes, strict=True):
            is_own &= column.values.column(name) == code
        # Entries are sorted by bucket.
        first = np.searchsorted(column.bucket, buckets)
        last = np.searchsorted(column.bucket, buckets, side="right")
        held.append(
            [
                int(column.count[begin:end][is_own[column.value[begin:end]]].sum())
                for begin, end in zip(first.tolist(), last.tolist(), strict=True)
            ]
        )
    return [list(times) for times in zip(*held, strict=True)] or [[] for _ in buckets]


def _n_rows(size: int, times: Sequence[int]) -> Floats:
    """Return the probabilities that a linking of a bucket has 0, 1, 2, ... rows of a tuple."""
    # Of the rows of the rarest column, each further column keeps a hypergeometric number.
    least, *others = sorted(times) or [size]
    chance = np.zeros(least + 1)
    chance[-1] = 1.0
    for count in others:
        chance = chance @ _draws(size, count, least)
    return chance


def _draws(size: int, marked: int, most: int) -> Floats:
    """Return the probabilities of 0, 1, 2, ... marked items, one row per number of draws."""
    drawn, found = np.ogrid[: most + 1, : most + 1]
    is_possible = (found <= drawn) & (drawn - found <= size - marked) & (found <= marked)
    hit = np.where(is_possible, found, 0)
    missed = np.where(is_possible, drawn - found, 0)
    chance = np.exp(
        _log_choose(marked, hit) + _log_choose(size - marked, missed) - _log_choose(size, drawn)
    )
    return np.where(is_possible, chance, 0.0)


def _log_choose(n: int, k: Codes) -> Floats:
    from scipy.special import gammaln  # noqa: PLC0415 - it takes long to import

    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _weights(chances: Sequence[Floats]) -> Floats:
    """Return the mean share of each bucket in all rows of a tuple, given that it has a row at all.

    `chances` are the probabilities that each bucket has 0, 1, 2, ... of them; buckets are linked
    independently.
    """
    if len(chances) == 1:
        return np.ones(1)
    before, behind = [np.ones(1)], [np.ones(1)]
    for chance in chances[:-1]:
        before.append(np.convolve(before[-1], chance))
    for chance in reversed(chances[1:]):
        behind.append(np.convolve(behind[-1], chance))
    weights = []
    # The law of the rows in all other buckets is a convolution of those before and behind.
    for place, chance in enumerate(chances):
        others = np.convolve(before[place], behind[len(chances) - 1 - place])
        own, other = np.ogrid[1 : len(chance), : len(others)]
        weights.append(np.sum(own / (own + other) * chance[1:, np.newaxis] * others))
    weight: Floats = np.array(weights)
    total: float = weight.sum()
    return weight / total


# --- all linkings of small buckets ----------------------------------------------------------------


Values = tuple[tuple[str, int], ...]
"""Some attributes with their codes, in the order of the columns."""
Row = tuple[tuple[int, ...], int]
"""The known values of a row, and its sensitive value."""
World = tuple[tuple[Row, int], ...]
"""How often each row occurs, sorted."""
Held = tuple[tuple[int, int], ...]
"""How often rows of one tuple have each sensitive value, sorted."""

_MOST_WORLDS = 200_000


def posterior_of_one(
    sliced: Sliced, known: Mapping[str, int], sensitive: str, *, most_worlds: int = _MOST_WORLDS
) -> dict[int, Fraction]:
    """Return the posterior of a person in the table, for an adversary who knows no other person.

    Every linking that holds the tuple is equally likely, and so is every row of the tuple within
    it. `known` has the code of every known attribute. The result has the probability of every
    possible value; it is empty if no linking holds the person. With more than `most_worlds`
    linkings, `ParameterError` is raised.

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
    # The number of rows of the tuple with each value, over all buckets so far.
    worlds: dict[Held, int] = {(): 1}
    for bucket in range(sliced.n_buckets):
        own: dict[Held, int] = defaultdict(int)
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


def _combine(
    worlds: Mapping[Held, int], others: Mapping[Held, int], most_worlds: int
) -> dict[Held, int]:
    _confirm_few(len(worlds) * len(others), most_worlds)
    found: dict[Held, int] = defaultdict(int)
    for held, weight in worlds.items():
        for more, other_weight in others.items():
            both = Counter(dict(held)) + Counter(dict(more))
            found[tuple(sorted(both.items()))] += weight * other_weight
    return found


def _worlds_of(sliced: Sliced, bucket: int, sensitive: str, most_worlds: int) -> dict[World, int]:
    """Return every outcome of linking the columns of a bucket, with its number of linkings."""
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
    """Link rows with a column's values in all ways that agree in the shared attributes."""
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
    """Link rows with values in all ways, counted as permutations of the values."""
    if not rows:
        yield Counter(), 1
        return
    values, n_rows = rows[0]
    for chosen in _choose(sorted(entries.items()), n_rows):
        # The chosen values can be picked and assigned to the rows in this many ways.
        ways = math.factorial(n_rows)
        here: Counter[Values] = Counter()
        for entry, n in chosen.items():
            ways *= math.comb(entries[entry], n)
            joined = dict(values) | dict(entry)
            here[tuple(joined.items())] += n
        for rest, other in _link_alike(rows[1:], entries - chosen):
            yield here + rest, ways * other


def _choose(entries: Sequence[tuple[Values, int]], n_rows: int) -> Iterator[Counter[Values]]:
    """Yield all ways to choose `n_rows` values."""
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
            hint="use p(t, s), which needs no enumeration, or smaller buckets.",
        )
