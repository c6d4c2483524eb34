"""The setting of the foreground attack, and what each adversary believes in it.

The setting is the rows, the people, the prior knowledge and the claimed bounds. In it, the additive
adversary learns the probabilities of each value separately. Weighed one value at a time, what she
knows about a cold says nothing about who has the flu. Weighed together it does: the weight of an
assignment of a bucket's values to its rows is the product of the rows' probabilities of the values
they are assigned. All assignments are summed over states of how many of each value are used up,
which is exact, and affordable in small buckets.

References
----------
[Wong11] (see `shoal.foreground`) Section 3, for any number of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property

import numpy as np

from shoal.beliefs.assignments import MAX_STEPS, find_small
from shoal.beliefs.beliefs import Beliefs
from shoal.beliefs.posteriors import posteriors
from shoal.beliefs.priors import rename_values
from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.cells import Buckets, Cells, group
from shoal.core.domain import ColumnType
from shoal.core.errors import ParameterError
from shoal.core.guarantees import Guarantee
from shoal.core.meaning import Meaning
from shoal.core.prior_knowledge import BelievedRows, ForbiddenSets
from shoal.core.release import People, Published, Vocabulary
from shoal.foreground.additive import AdditiveModel
from shoal.foreground.effects import Relation, relate
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.law import log_odds
from shoal.foreground.mining import Exposure, GlobalDistribution
from shoal.hierarchies.levels import MOST_VALUES
from shoal.injector.known import Knowledge
from shoal.injector.nodes import codes_in
from shoal.injector.resolving import Setting, resolve
from shoal.locating.exposed import Exposed
from shoal.locating.location import Locations, match_lines, spread
from shoal.locating.random_worlds import claims_of
from shoal.slicing.matches import expose_sliced, shown_people

_RARE = 1e-6
"""Prior beliefs are kept this far from impossible and certain."""


def attacked_buckets(published: Published, value: tuple[str | None, ...] | None) -> Buckets | None:
    """Return the values of each bucket in the attacked sensitive column; None without one.

    Of several sensitive columns of a sliced release, the first that holds the named values is
    attacked; otherwise the first.
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
    """Return the values that are attacked, separately or several as one, and the allowed belief."""
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
            # Of very many values only the first are attacked: then the most frequent ones.
            first = rarest if len(rarest) <= MOST_VALUES else rarest[::-1]
            aims |= dict.fromkeys((code,) for code in first.tolist())
    return list(aims), bound


@dataclass(frozen=True, eq=False)
class Scene:
    """A release with the people attacked in it.

    `exposed` are its rows, as the adversary knows them. `places` says which entries of `exposed`,
    in place of buckets, each cell of people may be. `rules` and `beliefs` are prior knowledge;
    `unresolved` are rules that name something the release does not have.
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
        """Set the scene; if people are known to fill all buckets, they are its rows."""
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
        """Whether the adversary knows anything besides the release."""
        return self.rules is not None or self.beliefs is not None

    def forbidden(self, values: tuple[int, ...]) -> Flags | None:
        """Return which distinct rows can have none of the values."""
        if self.rules is None:
            believed = self._believed(values)
            return None if believed is None else believed <= 0
        forbidden: Flags = np.all(self.rules.sets[:, list(values)], axis=1)
        return forbidden[self.rules.which]

    def prior(self, values: tuple[int, ...]) -> Floats | None:
        """Return the mean prior belief in the values about each distinct row.

        Rows without a belief have the mean over all people. No prior is quite certain or
        impossible: `forbidden` says what is impossible, and a bucket may contradict it.
        """
        believed = self._believed(values)
        return None if believed is None else np.clip(believed, _RARE, 1 - _RARE)

    def _believed(self, values: tuple[int, ...]) -> Floats | None:
        """The mean prior belief before clipping; None without prior beliefs."""
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
        """Return the mean belief about each cell of people over the rows that they may be."""
        mean = np.bincount(
            self.places.person, self.places.weight * p[self.places.bucket], self.places.n_people
        )
        return np.minimum(mean, 1.0)

    @property
    def n_found(self) -> int:
        """The number of people who may be anywhere in the release."""
        return int(self.people.counts[self.places.n_buckets_of > 0].sum())


def _fill(people: People, buckets: Buckets) -> bool:
    """Return whether the buckets of all people are known, and these people fill them."""
    if people.bucket is None or np.any(people.bucket < 0):
        return False
    n_people = np.bincount(people.bucket, people.counts, buckets.n_buckets)
    return np.array_equal(n_people, buckets.sizes)


def _one_each(entry: Codes) -> Locations:
    person = np.flatnonzero(entry >= 0)
    return Locations(len(entry), person, entry[person], np.ones(len(person), dtype=np.int64))


def _alike(published: Published, line: Codes) -> Locations:
    """Put people whose lines are known into any line that looks the same."""
    looks, look = published.looks
    person, found = _equal(look[line], look, looks.n_cells)
    return Locations(len(line), person, found, published.lines.counts[found])


def _equal(own: Codes, others: Codes, n_numbers: int) -> tuple[Codes, Codes]:
    """Return all pairs of places with equal numbers, in the order of the first."""
    order = np.argsort(others, kind="stable")
    length = np.bincount(others, minlength=n_numbers)
    start = np.cumsum(length) - length
    person, place = spread(start[own], length[own])
    return person, order[place]


def _in_slices(
    published: Published, sensitive: str, people: People, *, is_matching: bool
) -> tuple[Exposed, Locations]:
    """Put everybody into a sliced release, and the attacked people among them."""
    everybody = people if people.bucket is not None else people.everybody
    if everybody is None or published.sliced is None:
        raise ParameterError(
            "A sliced release does not say who is in which bucket, and the attack needs it.",
            hint="pass the release's internal folder, which has everybody's bucket.",
        )
    exposed, entry = expose_sliced(published.sliced, everybody, sensitive)
    if people is everybody and not is_matching:
        return exposed, _one_each(entry)
    # A person may be anybody in the release with the same known attributes.
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
    """Put people into the lines that match them; of their own bucket, if that is known."""
    lines = published.lines
    quasi = Cells(published.quasi, lines.codes[:, 1:], lines.counts)
    matches = match_lines(quasi, published.meanings, people.quasi)
    person, line = matches.person, matches.line
    if people.bucket is not None and not is_matching:
        is_there = lines.codes[line, 0] == people.bucket[person]
        person, line = person[is_there], line[is_there]
    return Locations(people.quasi.n_cells, person, line, lines.counts[line])


# --- the beliefs of each adversary ----------------------------------------------------------------


_MOST_STEPS = 2e8
"""The most steps over all buckets, a few seconds."""
_LEAST_WEIGHT = 1e-12
"""The weight of a value that the probabilities rule out, so that no bucket is impossible."""
_FEWEST_VALUES = 3
"""With two values, the belief in one determines the other."""


@dataclass(frozen=True, eq=False)
class SuspectedValue:
    """The beliefs about some values, which count as one.

    `paper` and `logit` are the beliefs of either adversary, `distributions` and `model` what they
    learned about kinds of people, and `beside` the beliefs of other adversaries, by name.
    `is_joint` says that the logit adversary has weighed all values together.
    """

    values: tuple[int, ...]
    target: Target
    paper: Exposure
    logit: Exposure
    distributions: tuple[GlobalDistribution, ...]
    model: AdditiveModel
    beside: Mapping[str, Exposure]
    is_joint: bool = False

    @property
    def log_odds(self) -> Floats:
        """For each entry the log odds of the additive model; minus infinity if excluded."""
        logs = log_odds(self.model.f)[self.target.exposed.look]
        return np.where(self.target.is_excluded, -np.inf, logs)

    def code_of_entry(self, scene: Scene) -> Codes:
        """Return, for each entry, the value that its bucket holds most of."""
        buckets = scene.exposed.buckets
        chosen = np.flatnonzero(np.isin(buckets.value, self.values))
        by_count = chosen[np.argsort(buckets.count[chosen], kind="stable")]
        code = np.full(buckets.n_buckets, -1, dtype=np.int64)
        code[buckets.bucket[by_count]] = buckets.value[by_count]
        return code[scene.exposed.bucket]

    def exposure(self, name: str) -> Exposure:
        """Return the beliefs of one of the adversaries."""
        return {"paper": self.paper, "logit": self.logit, **self.beside}[name]


def weigh_together(scene: Scene, views: Sequence[SuspectedValue]) -> list[SuspectedValue]:
    """Let the logit adversary weigh all values together, if every value is attacked separately.

    If buckets are too large for that, the views are returned unchanged.
    """
    buckets = scene.exposed.buckets
    # The attacked values must be all that the release holds, one by one.
    codes = [view.values[0] for view in views if len(view.values) == 1]
    held = np.flatnonzero(buckets.totals)
    if len(held) < _FEWEST_VALUES or sorted(codes) != held.tolist() or len(codes) < len(views):
        return list(views)
    chances = np.zeros((scene.exposed.looks.n_cells, buckets.domain.size))
    for view in views:
        forbidden = scene.forbidden(view.values)
        chances[:, view.values[0]] = (
            view.model.f if forbidden is None else view.model.f * ~forbidden
        )
    p = weigh_jointly(scene.exposed, chances)
    if p is None:
        return list(views)
    return [_as_joint(view, p[:, view.values[0]]) for view in views]


def _as_joint(view: SuspectedValue, p: Floats) -> SuspectedValue:
    together = replace(view.logit, p=np.where(view.target.is_excluded, 0.0, p))
    beside = {"logit, one value at a time": view.logit, **view.beside}
    return replace(view, logit=together, beside=beside, is_joint=True)


def weigh_jointly(exposed: Exposed, chances: Floats) -> Floats | None:
    """Return how likely the rows of each entry are to have each value, by all values together.

    `chances` has one row per distinct row of the release and one column per value, 0 if the
    value is ruled out. The result has one row per entry, or is None if the buckets are too large
    for the exact sum over assignments. Its rows sum to 1, and within a bucket its columns sum to
    the counts of the values.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> sex = Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu", "ulcer"])
    >>> exposed = Exposed.of_rows([sex], np.array([[0], [1]]), np.array([0, 0]), np.array([0, 1]),
    ...                           disease)
    >>> weigh_jointly(exposed, np.array([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]])).round(6).tolist()
    [[0.714286, 0.285714, 0.0], [0.285714, 0.714286, 0.0]]
    """
    if not _is_affordable(exposed.buckets):
        return None
    weights = np.maximum(chances, _LEAST_WEIGHT)
    weights = weights / weights.sum(axis=1, keepdims=True)
    rows = BelievedRows.of_pairs(
        exposed.bucket, exposed.look.astype(np.int64), weights, exposed.count
    )
    found = posteriors(exposed.buckets, rows)
    p = np.zeros((rows.n_entries, weights.shape[1]))
    p[found.entry, found.value] = found.posterior
    n_looks = exposed.looks.n_cells
    keys = rows.bucket * n_looks + rows.prior
    place = np.searchsorted(keys, exposed.bucket * n_looks + exposed.look.astype(np.int64))
    shares: Floats = p[place]
    return shares


def _is_affordable(buckets: Buckets) -> bool:
    """Return whether every bucket, and all of them together, are small enough to be exact."""
    n_values = np.diff(np.append(buckets.starts, len(buckets.value)))
    if not np.all(find_small(buckets, MAX_STEPS) | (n_values == 1)):
        return False
    states = np.exp2(np.add.reduceat(np.log2(buckets.count + 1.0), buckets.starts))
    work = np.where(n_values > 1, states * buckets.sizes * n_values, 0.0)
    return float(work.sum()) <= _MOST_STEPS
