"""The exact posterior of people in a sliced release, for one who knows only that they are in it.

p(t, s) divides means over linkings. But linkings without t are impossible, and a mean of shares is
no share of means: where t matches several buckets the posterior is another. What decides is how
many rows of t each bucket has. In a random linking of columns without shared attributes that number
follows from one hypergeometric draw a column, and within a bucket the values of these rows are
those of the sensitive column, so that no linking needs to be listed. Where t matches one bucket,
the posterior is p(t, s).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from shoal.core.cells import Cells, Codes
from shoal.core.errors import ParameterError
from shoal.core.sliced import Sliced
from shoal.knowledge.sliced_beliefs import SlicedBeliefs
from shoal.knowledge.sliced_worlds import posterior_of_one

__all__ = ["exact_posteriors", "is_plain"]

Floats = npt.NDArray[np.float64]

_MOST_ROWS = 12
_MOST_WORLDS = 2_000
"""How large what is enumerated may be, for one tuple."""


def is_plain(sliced: Sliced, beliefs: SlicedBeliefs) -> npt.NDArray[np.bool_]:
    """Say of each tuple whether p(t, s) is its posterior: one bucket, no shared attributes."""
    n_matching = np.bincount(beliefs.matches[0], minlength=beliefs.n_tuples)
    return np.asarray((n_matching <= 1) & (not sliced.layout.is_overlapping))


def exact_posteriors(
    sliced: Sliced,
    beliefs: SlicedBeliefs,
    tuples: Cells,
    candidates: Codes,
    *,
    most_tuples: int = 200,
) -> tuple[Codes, Codes, Floats]:
    """Find the posterior of tuples for which p(t, s) is none.

    Parameters
    ----------
    sliced
        The release.
    beliefs
        What `sliced_beliefs` found of the tuples.
    tuples
        The tuples, in the release's own codes.
    candidates
        The tuples that may be chosen.
    most_tuples
        How many are; those that are believed most come first.

    Returns
    -------
    tuple
        The tuples that were chosen; where columns share attributes, those that have few linkings.
    value, posterior
        The value that each most likely has, and how likely that is.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> from shoal.knowledge.sliced_beliefs import sliced_beliefs
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> cells = Cells.of_rows([sex, flu], np.array([[0, 0], [0, 1], [1, 0], [1, 1]]))
    >>> layout = Layout([["sex"], ["disease"]], ["disease"])
    >>> bucket = np.array([0, 1, 0, 1])
    >>> release = Sliced.of_pieces(cells, layout, np.arange(4), bucket, cells.counts)
    >>> people = cells.select(["sex"])
    >>> beliefs = sliced_beliefs(release, people)
    >>> exact_posteriors(release, beliefs, people, np.arange(2))[2].tolist()
    [0.5, 0.5]
    """
    is_asked = np.zeros(tuples.n_cells, dtype=bool)
    is_asked[candidates] = True
    n_matching = np.bincount(beliefs.matches[0], minlength=tuples.n_cells)
    open_ones = np.flatnonzero(is_asked & (n_matching > 0) & ~is_plain(sliced, beliefs))
    order = np.argsort(-beliefs.largest[open_ones].astype(np.float64), kind="stable")
    chosen = open_ones[order[:most_tuples]]
    if sliced.layout.is_overlapping:
        return _by_enumeration(sliced, beliefs, tuples, chosen)
    return chosen, *_by_draws(sliced, beliefs, tuples, chosen)


def _by_enumeration(
    sliced: Sliced, beliefs: SlicedBeliefs, tuples: Cells, chosen: Codes
) -> tuple[Codes, Codes, Floats]:
    owner, bucket, _ = beliefs.matches
    found, best = [], []
    for number in chosen.tolist():
        own = bucket[owner == number]
        if sliced.sizes[own].sum() > _MOST_ROWS:
            continue
        known = dict(zip(tuples.columns, tuples.codes[number].tolist(), strict=True))
        try:
            chances = posterior_of_one(
                sliced.only(own), known, beliefs.domain.column, most_worlds=_MOST_WORLDS
            )
        except ParameterError:
            continue
        found.append(number)
        best.append(max((chance, -value) for value, chance in chances.items()))
    value = np.array([-value for _, value in best], dtype=np.int64)
    posterior = np.array([float(chance) for chance, _ in best], dtype=np.float64)
    return np.array(found, dtype=np.int64), value, posterior


def _by_draws(
    sliced: Sliced, beliefs: SlicedBeliefs, tuples: Cells, chosen: Codes
) -> tuple[Codes, Floats]:
    starts = np.searchsorted(beliefs.tuple_, np.arange(beliefs.n_tuples + 1))
    value, posterior = np.empty(len(chosen), dtype=np.int64), np.empty(len(chosen))
    for place, number in enumerate(chosen.tolist()):
        terms = slice(starts[number], starts[number + 1])
        bucket, own = np.unique(beliefs.bucket[terms], return_inverse=True)
        amount = beliefs.amount[terms].astype(np.float64)
        share = amount / np.bincount(own, weights=amount)[own]
        held = _times_held(sliced, tuples, number, bucket, beliefs.domain.column)
        sizes = sliced.sizes[bucket].tolist()
        weight = _weights([_n_rows(size, times) for size, times in zip(sizes, held, strict=True)])
        chance = np.zeros(beliefs.domain.size)
        np.add.at(chance, beliefs.value[terms], share * weight[own])
        value[place], posterior[place] = chance.argmax(), chance.max()
    return value, np.minimum(posterior, 1.0)


def _times_held(
    sliced: Sliced, tuples: Cells, number: int, buckets: Codes, sensitive: str
) -> list[list[int]]:
    """Give for each bucket how often each of its columns holds what is known of a tuple."""
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
    """Give how likely a linking of a bucket has 0, 1, 2, ... rows of a tuple."""
    least, *others = sorted(times) or [size]
    chance = np.zeros(least + 1)
    chance[-1] = 1.0
    for count in others:
        chance = chance @ _draws(size, count, least)
    return chance


def _draws(size: int, marked: int, most: int) -> Floats:
    """Give the chances of 0, 1, 2, ... marked ones, in a row for each number of draws."""
    drawn, found = np.ogrid[: most + 1, : most + 1]
    is_possible = (found <= drawn) & (drawn - found <= size - marked) & (found <= marked)
    hit = np.where(is_possible, found, 0)
    missed = np.where(is_possible, drawn - found, 0)
    chance = np.exp(
        _log_choose(marked, hit) + _log_choose(size - marked, missed) - _log_choose(size, drawn)
    )
    return np.where(is_possible, chance, 0.0)


def _log_choose(n: int, k: Codes) -> Floats:
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _weights(chances: Sequence[Floats]) -> Floats:
    """Give the mean share of each bucket in all rows of a tuple, where it has a row at all.

    Parameters
    ----------
    chances
        For each bucket how likely it has 0, 1, 2, ... of them; buckets are linked independently.
    """
    if len(chances) == 1:
        return np.ones(1)
    before, behind = [np.ones(1)], [np.ones(1)]
    for chance in chances[:-1]:
        before.append(np.convolve(before[-1], chance))
    for chance in reversed(chances[1:]):
        behind.append(np.convolve(behind[-1], chance))
    weights = []
    for place, chance in enumerate(chances):
        others = np.convolve(before[place], behind[len(chances) - 1 - place])
        own, other = np.ogrid[1 : len(chance), : len(others)]
        weights.append(np.sum(own / (own + other) * chance[1:, np.newaxis] * others))
    weight: Floats = np.array(weights)
    total: float = weight.sum()
    return weight / total
