"""What the foreground attack is set in: rows, people, what is known, and what is claimed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Buckets, Cells, Codes, Counts, group
from shoal.core.domain import ColumnType
from shoal.core.errors import ParameterError
from shoal.core.forbidden import ForbiddenSets
from shoal.core.guarantees import Guarantee
from shoal.core.release import Meaning, People, Published
from shoal.core.vocabulary import Vocabulary
from shoal.knowledge.beliefs import Beliefs
from shoal.knowledge.foreground import Exposed, Relation, expose_sliced, relate
from shoal.knowledge.known import Knowledge
from shoal.knowledge.location import Locations, match_lines, spread
from shoal.knowledge.nodes import codes_in
from shoal.knowledge.priors import rename_values
from shoal.knowledge.random_worlds import claims_of
from shoal.knowledge.resolving import Setting, resolve
from shoal.knowledge.sliced_people import shown_people

__all__ = ["Scene", "attacked_buckets", "claimed"]

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

_RARE = 1e-6
"""A prior belief is no nearer than this to what is impossible or certain."""


def attacked_buckets(published: Published, value: tuple[str | None, ...] | None) -> Buckets | None:
    """Give the values of each bucket in the sensitive column that is attacked; None without one.

    Of several sensitive columns of a sliced release that is the first, or the first that holds
    the values that are named.
    """
    sliced = published.sliced
    if sliced is None:
        return published.buckets
    names = sliced.layout.sensitive
    if not names:
        return None
    holding = [
        name
        for name in names
        if value is not None and np.all(codes_in(sliced.domain(name), list(value)) >= 0)
    ]
    chosen = (holding or names)[0]
    column = next(one for one in sliced.columns if chosen in one.attributes)
    domain = column.values.domain(chosen)
    return Buckets.of_pairs(column.bucket, column.codes(chosen), domain, column.count)


def claimed(
    guarantees: Sequence[Guarantee],
    buckets: Buckets,
    value: tuple[str | None, ...] | None,
    r: Fraction | None,
) -> tuple[list[tuple[int, ...]], Fraction]:
    """Say which values are attacked, each of them or several as one, and what belief is allowed.

    Raises
    ------
    ParameterError
        Where the release does not hold a value that is named.
    """
    claims = claims_of(guarantees, None)
    bounds = [claim.bound for claim in claims if claim.bound is not None]
    ells = [int(ell) for ell in (getattr(one, "ell", None) for one in guarantees) if ell]
    bound = min(bounds) if bounds else Fraction(1, max([2, *ells]))
    if r is not None:
        bound = 1 / r
    if value is not None:
        codes = codes_in(buckets.domain, list(value))
        n_absent = int(np.count_nonzero(codes < 0))
        if n_absent:
            raise ParameterError(
                f"value names {n_absent} values that column {buckets.domain.column!r} of the "
                "release does not have."
            )
        return [tuple(codes.tolist())], bound
    aims: dict[tuple[int, ...], None] = {}
    for claim in claims:
        codes = np.flatnonzero(buckets.totals)
        if claim.values:
            named = buckets.domain.codes_of(list(claim.values))
            codes = np.sort(named[named >= 0])
        if claim.is_joint and len(codes):
            aims[tuple(codes.tolist())] = None
        else:
            rarest = codes[np.argsort(buckets.totals[codes], kind="stable")]
            aims |= dict.fromkeys((code,) for code in rarest.tolist())
    return list(aims), bound


@dataclass(frozen=True, eq=False)
class Scene:
    """A release with the people attacked in it.

    Parameters
    ----------
    published
        The release.
    exposed
        Its rows, as the adversary knows them.
    places
        The entries of `exposed`, in place of buckets, that each cell of people may be.
    people
        The people.
    rules, beliefs
        What is known beside.
    unresolved
        The rules that name something which is not there.
    """

    published: Published
    exposed: Exposed
    places: Locations
    people: People
    rules: ForbiddenSets | None
    beliefs: tuple[Floats, Codes, Codes, Counts] | None
    unresolved: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        published: Published,
        buckets: Buckets,
        people: People,
        known: object,
        *,
        is_matching: bool,
    ) -> Scene:
        """Set the scene; where people are known to fill all buckets they are its rows."""
        if published.sliced is not None:
            sensitive = buckets.domain.column
            exposed, places = _in_slices(published, sensitive, people, is_matching=is_matching)
            return cls._knowing(published, exposed, places, people, known, published.meanings)
        if people.line is None and not is_matching and _fill(people, buckets):
            exposed, entry = Exposed.of_people(people, buckets)
            return cls._knowing(published, exposed, _one_each(entry), people, known, {})
        exposed = Exposed.of_published(published)
        if people.line is not None and not is_matching:
            places = _one_each(people.line)
        elif people.line is not None:
            places = _alike(published, people.line)
        else:
            places = _matching(published, people, is_matching=is_matching)
        return cls._knowing(published, exposed, places, people, known, published.meanings)

    @classmethod
    def _knowing(
        cls,
        published: Published,
        exposed: Exposed,
        places: Locations,
        people: People,
        known: object,
        meanings: Mapping[str, Mapping[str, Meaning]],
    ) -> Scene:
        domain = exposed.buckets.domain
        rules, beliefs = None, None
        unresolved: tuple[str, ...] = ()
        if isinstance(known, Knowledge):
            if known.sensitive != domain.column:
                raise ParameterError(
                    f"The rules are about column {known.sensitive!r}; the release's sensitive "
                    f"column is {domain.column!r}."
                )
            whole = {c.name for c in published.manifest.columns if c.type is ColumnType.INTEGER}
            words = published.vocabulary or Vocabulary()
            setting = Setting(exposed.looks, domain, {}, meanings, whole, words)
            found = resolve(known, setting)
            unresolved = found.unresolved
            rules = found.certain_sets if found.certain_sets.sets.any() else None
        elif isinstance(known, Beliefs):
            matches = match_lines(exposed.looks, meanings, known.cells)
            renamed = rename_values(known, domain)
            beliefs = (renamed, matches.person, matches.line, known.cells.counts)
        return cls(published, exposed, places, people, rules, beliefs, unresolved)

    @cached_property
    def relations(self) -> tuple[Relation, ...]:
        """How the values of each quasi-identifier resemble one another, as far as is known."""
        everybody = self.people.everybody
        trees = self.people.trees or ({} if everybody is None else everybody.trees)
        types = {column.name: column.type for column in self.published.manifest.columns}
        return relate(self.exposed.looks, trees, self.published.meanings, types)

    @property
    def has_knowledge(self) -> bool:
        """Whether anything is known beside the release."""
        return self.rules is not None or self.beliefs is not None

    def forbidden(self, values: tuple[int, ...]) -> Flags | None:
        """Say which distinct rows can have none of the values."""
        if self.rules is None:
            believed = self._believed(values)
            return None if believed is None else believed <= 0
        forbidden: Flags = np.all(self.rules.sets[:, list(values)], axis=1)
        return forbidden[self.rules.which]

    def prior(self, values: tuple[int, ...]) -> Floats | None:
        """Return the mean prior belief in the values about each distinct row.

        Rows of which nothing was believed have the mean over all people. Nothing is quite certain
        or impossible: what is impossible, `forbidden` says, and a bucket may contradict it.
        """
        believed = self._believed(values)
        return None if believed is None else np.clip(believed, _RARE, 1 - _RARE)

    def _believed(self, values: tuple[int, ...]) -> Floats | None:
        if self.beliefs is None:
            return None
        renamed, cell, look, counts = self.beliefs
        believed = renamed[:, list(values)].sum(axis=1)
        n_looks = self.exposed.looks.n_cells
        rows = np.bincount(look, counts[cell], n_looks)
        total = np.bincount(look, counts[cell] * believed[cell], n_looks)
        overall = float((believed * counts).sum()) / max(int(counts.sum()), 1)
        return np.where(rows > 0, total / np.maximum(rows, 1), overall)

    def of_people(self, p: Floats) -> Floats:
        """Give the mean belief about each cell of people over the rows that they may be."""
        mean = np.bincount(
            self.places.person, self.places.weight * p[self.places.bucket], self.places.n_people
        )
        return np.minimum(mean, 1.0)

    @property
    def n_found(self) -> int:
        """How many people may be anywhere."""
        return int(self.people.counts[self.places.n_buckets_of > 0].sum())


def _fill(people: People, buckets: Buckets) -> bool:
    """Whether the buckets of all people are known, and they are all who are in them."""
    if people.bucket is None or np.any(people.bucket < 0):
        return False
    n_people = np.bincount(people.bucket, people.counts, buckets.n_buckets)
    return np.array_equal(n_people, buckets.sizes)


def _one_each(entry: Codes) -> Locations:
    person = np.flatnonzero(entry >= 0)
    return Locations(len(entry), person, entry[person], np.ones(len(person), dtype=np.int64))


def _alike(published: Published, line: Codes) -> Locations:
    """Put people whose lines are known into any line that shows the same."""
    looks, look = published.looks
    person, found = _equal(look[line], look, looks.n_cells)
    return Locations(len(line), person, found, published.lines.counts[found])


def _equal(own: Codes, others: Codes, n_numbers: int) -> tuple[Codes, Codes]:
    """Give all pairs of places with equal numbers, in the order of the first."""
    order = np.argsort(others, kind="stable")
    length = np.bincount(others, minlength=n_numbers)
    start = np.cumsum(length) - length
    person, place = spread(start[own], length[own])
    return person, order[place]


def _in_slices(
    published: Published, sensitive: str, people: People, *, is_matching: bool
) -> tuple[Exposed, Locations]:
    """Put everybody into a sliced release, and the people attacked among them."""
    everybody = people if people.bucket is not None else people.everybody
    if everybody is None or published.sliced is None:
        raise ParameterError(
            "Who is in which bucket, a sliced release does not say, and the attack goes by it.",
            hint="name the release's internal folder, which says it.",
        )
    exposed, entry = expose_sliced(published.sliced, everybody, sensitive)
    if people is everybody and not is_matching:
        return exposed, _one_each(entry)
    shown, owner = shown_people(published, people)
    known = exposed.looks.domains
    both = [
        np.concatenate([cells.column(domain.column) for cells in (shown, everybody.quasi)])
        for domain in known
    ]
    first, number = group(both, [domain.size for domain in known], len(owner) + len(entry))
    person, found = _equal(number[: len(owner)], number[len(owner) :], len(first))
    counts = everybody.counts[found]
    return exposed, Locations(people.quasi.n_cells, owner[person], entry[found], counts)


def _matching(published: Published, people: People, *, is_matching: bool) -> Locations:
    """Put people into the lines that fit them; of their bucket, where that is known."""
    lines = published.lines
    quasi = Cells(published.quasi, lines.codes[:, 1:], lines.counts)
    matches = match_lines(quasi, published.meanings, people.quasi)
    person, line = matches.person, matches.line
    if people.bucket is not None and not is_matching:
        is_there = lines.codes[line, 0] == people.bucket[person]
        person, line = person[is_there], line[is_there]
    return Locations(people.quasi.n_cells, person, line, lines.counts[line])
