"""Belief gain: how far a release moves an adversary's beliefs about each person.

The adversary has a prior belief about each person: a distribution over the sensitive values,
estimated from similar people. From the release she learns which rows share a bucket and which
values they have together, and updates her belief about each of them. The gain is the distance
between the prior and the posterior belief. A bucket that looks diverse may disclose a lot: if two
rows share two values and one of the values is very unlikely for one row, the values of both are
nearly certain.

References
----------
[LiLZ09] T. Li, N. Li, J. Zhang: Modeling and Integrating Background Knowledge in Data
Anonymization. ICDE 2009.
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008,
Section VIII-B.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.beliefs.beliefs import Beliefs
from shoal.beliefs.informed import inform_by, overall_of_release
from shoal.beliefs.posteriors import Gains, gains, jensen_shannon, posteriors
from shoal.beliefs.priors import LinePriors, priors_of_lines
from shoal.core.arrays import Codes, Counts, Flags, Floats, weighted_sum
from shoal.core.attack import Attack, Need, Sampling, View
from shoal.core.calibration import UNITS_TO_COMPARE, Suspicion, Suspicions
from shoal.core.cells import Buckets, Cells, total_by
from shoal.core.declared import declared
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text
from shoal.core.findings import Findings, Risk
from shoal.core.guarantees import BANDWIDTH
from shoal.core.parameters import OptionalExact, Parameter, exact_number, from_file
from shoal.core.release import People, Published
from shoal.core.shapes import Model
from shoal.injector.known import Knowledge
from shoal.injector.resolving import Setting, resolve
from shoal.locating.location import Locations, chunks, match_lines, spread

_N_WORST = 10
_N_BANDS = 10
_CHUNK = 2**22
"""The number of triples of a person, an entry and a value that are held at a time."""
_NEARLY = 1e-6
"""Without a bound on posteriors, only beliefs this close to certainty count."""
_MOST_SUSPICIONS = 50_000_000
"""The largest number of pairs of a person and a value that are passed on for calibration."""
_TOLERANCE = 1e-9
"""Beliefs are floats: exceeding a bound by this little is rounding."""


_BANDWIDTH = Parameter(
    name="bandwidth",
    meaning="How unlike people may be to count for what is believed about somebody, when beliefs "
    "are estimated from a file or from the table; one number, or one by column.",
    takes="a number between 0 and 1",
    schema={"type": ["number", "string", "object"], "minimum": 0, "maximum": 1},
    default=Fraction(BANDWIDTH),
)


@declared
class Belief(Attack):
    """Update the prior belief about each person by the values of their bucket.

    Notes
    -----
    Prior beliefs may be given as knowledge too. Without any, the adversary knows only the
    distribution of the sensitive values in the whole release. Rules and statistics change her
    prior beliefs; on a generalized release, they need beliefs about people to start from.

    Without `limit` and `max_posterior`, only certainty is a breach. Both are compared to within
    1e-9. A line of labels stands for all people whom the labels admit: its prior belief is the
    mean over them. If a person may be in several buckets, prior and posterior are means over the
    rows that may be theirs.

    Posteriors are exact in small buckets and if all rows have the same prior; otherwise they are
    the Omega estimate. If a bucket holds values that were believed impossible for its rows, the
    prior beliefs are dropped, and all assignments are equally likely.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.manifest import Manifest
    >>> from shoal.core.shapes import Shape
    >>> from shoal.beliefs.beliefs import estimate_beliefs
    >>> bucket, sex = Domain.of_texts("bucket", ["4"]), Domain.of_texts("sex", ["F", "M"])
    >>> disease = Domain.of_texts("disease", ["cold", "gout"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1]]), np.array([1, 1]))
    >>> values = Buckets.of_pairs(np.array([0, 0]), np.array([0, 1]), disease)
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, columns=(), guarantees=(),
    ...     n_rows=2, n_buckets=1,
    ... )
    >>> everybody = People(Cells((sex,), np.array([[0], [1]]), np.array([1, 1])), np.array([0, 0]))
    >>> known = Cells((sex, disease), np.array([[0, 0], [0, 1], [1, 0], [1, 1]]),
    ...               np.array([9, 1, 5, 5]))
    >>> beliefs = estimate_beliefs(known, "disease", {}, 0)
    >>> findings = Belief(max_posterior=0.8).run(
    ...     View(Published(manifest, lines, values), everybody, beliefs))
    >>> findings
    Findings(belief: 2 of 2 people believed, not checked, worst posterior 0.9)
    >>> round(findings.headline["worst gain"], 3)
    0.383
    """

    limit: OptionalExact = exact_number(
        "The largest gain of belief that is allowed, as the Jensen-Shannon distance between prior "
        "and posterior. Default: no bound; without max_posterior, certainty is a breach.",
        default=None,
        at_least=0,
        at_most=1,
        is_limit=True,
    )
    max_posterior: OptionalExact = exact_number(
        "The largest posterior belief that is allowed. Default: no bound.",
        default=None,
        above=0,
        at_most=1,
        is_limit=True,
    )
    prior: Beliefs | None = from_file(
        "What was believed about people before; a file has the table's columns, from which beliefs "
        "are estimated. Default: the distribution of sensitive values in the whole release.",
        (Beliefs,),
        default=None,
        file="people like those of the table",
        what="beliefs",
        hint="estimate them: shoal.knowledge.prior_beliefs(table).",
        beside={"bandwidth": _BANDWIDTH},
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the quasi-identifiers of people who are in the table, a prior belief about the sensitive "
        "value of each, and the release"
    )
    reads: ClassVar[frozenset[Model]] = frozenset({Model.CLASSES, Model.BUCKETS})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.KNOWLEDGE, Need.TRUTH})
    sampling: ClassVar[Sampling] = Sampling.PEOPLE

    def fits(self, published: Published) -> bool:
        """Return whether the release has buckets of sensitive values."""
        return super().fits(published) and published.buckets is not None

    def work_of(self, published: Published, n_people: int) -> int:
        """Estimate the units of work of attacking some of the people."""
        n_values = 0 if published.buckets is None else published.buckets.domain.size
        return n_people * n_values * UNITS_TO_COMPARE

    def run(self, view: View) -> Findings:
        """Attack the people with prior beliefs about them.

        The knowledge of the view is `Beliefs`, used unless `prior` is given, or `Knowledge` that
        changes them. Raises `ParameterError` if the release has no sensitive column, or a shape
        that the attack does not support.
        """
        published, people = view.published, view.people
        buckets = published.buckets
        if buckets is None or not self.fits(published):
            raise ParameterError(
                "Belief attacks generalized and bucketized releases with a sensitive column; "
                f"this one is {published.manifest.shape}"
                + (" and has none." if buckets is None else "."),
            )
        beliefs, unresolved = self._beliefs(published, buckets, view.knowledge)
        priors = priors_of_lines(published, buckets, beliefs)
        by_entry = gains(buckets, priors.occupants)
        found = _locate(published, people, priors)
        learned = _learned(buckets, priors, by_entry, found)
        breached = self._is_breached(learned)
        return Findings(
            attack="belief",
            knows=self.knows,
            counts=people.counts,
            value=learned.value,
            posterior=learned.posterior,
            breached=breached,
            limit=self._limit_text(),
            is_belief=True,
            suspicions=self._suspicions(published, buckets, priors, found, learned.distance),
            headline=_headline(learned, breached, people, found),
            sections=(
                _worst_buckets(published, buckets, priors, by_entry, found),
                _bands(learned.distance, people.counts * found.is_found),
            ),
            unresolved=unresolved,
        )

    def _beliefs(
        self, published: Published, buckets: Buckets, knowledge: object
    ) -> tuple[Beliefs | None, tuple[str, ...]]:
        """Return the prior beliefs, and the entries of knowledge that are unresolved."""
        beliefs = knowledge if isinstance(knowledge, Beliefs) and self.prior is None else self.prior
        if not isinstance(knowledge, Knowledge):
            return beliefs, ()
        if beliefs is None and published.manifest.shape.model is Model.BUCKETS:
            beliefs = overall_of_release(published, buckets)
        if beliefs is None:
            return None, resolve(knowledge, Setting.of_published(published)).unresolved
        found = resolve(knowledge, Setting.of_people(published, beliefs.cells, beliefs.domain))
        return inform_by(beliefs, found), found.unresolved

    def aims(self, published: Published) -> tuple[list[tuple[int, ...]], Fraction] | None:
        """Return every value, each by itself, and the largest posterior; None without one."""
        if published.buckets is None or self.max_posterior is None:
            return None
        codes = np.flatnonzero(published.buckets.totals).tolist()
        return [(code,) for code in codes], self.max_posterior

    def _suspicions(
        self,
        published: Published,
        buckets: Buckets,
        priors: LinePriors,
        found: _Found,
        distance: Floats,
    ) -> Suspicions | None:
        """Return the belief in every value; None if somebody may be in several places."""
        places = found.places
        n_people, n_values = places.n_people, buckets.domain.size
        is_placed = np.array_equal(places.person, np.arange(n_people))
        if not is_placed or n_people * n_values > _MOST_SUSPICIONS:
            return None
        revised = posteriors(buckets, priors.occupants)
        of_entry = np.zeros((priors.occupants.n_entries, n_values))
        of_entry[revised.entry, revised.value] = revised.posterior
        group = priors.occupants.bucket[places.bucket]
        n_carrying = np.zeros((published.n_buckets, n_values), dtype=np.int64)
        n_carrying[buckets.bucket, buckets.value] = buckets.count
        about = tuple(
            Suspicion((value,), of_entry[places.bucket, value], group, n_carrying[:, value])
            for value in np.flatnonzero(buckets.totals).tolist()
        )
        # A gain is not a probability, so it is not calibrated but bounded as it is.
        is_gain = None if self.limit is None else distance > float(self.limit) + _TOLERANCE
        limit = 1 - _NEARLY if self.max_posterior is None else float(self.max_posterior)
        return Suspicions(about, limit, is_gain)

    def _is_breached(self, learned: Gains) -> Flags:
        if self.limit is None and self.max_posterior is None:
            is_certain = learned.posterior > 1 - _TOLERANCE
            return is_certain & (learned.distance > _TOLERANCE)
        breached = np.zeros(len(learned.value), dtype=bool)
        if self.limit is not None:
            breached |= learned.distance > float(self.limit) + _TOLERANCE
        if self.max_posterior is not None:
            breached |= learned.posterior > float(self.max_posterior) + _TOLERANCE
        return breached

    def _limit_text(self) -> str:
        bounds = (("gain", self.limit), ("posterior", self.max_posterior))
        texts = [f"{name} {as_text(bound)}" for name, bound in bounds if bound is not None]
        return ", ".join(texts) if texts else "anything short of certainty"


@dataclass(frozen=True, eq=False)
class _Found:
    """The entries of `BelievedRows` that each cell of people may be, sorted by person, then entry.

    `places` has entries instead of buckets. `is_known` marks the cells of people for whom there is
    a belief about all lines that they may be.
    """

    places: Locations
    is_known: Flags

    @property
    def is_found(self) -> Flags:
        """Whether each cell of people may be anywhere."""
        return self.places.n_buckets_of > 0


def _locate(published: Published, people: People, priors: LinePriors) -> _Found:
    """Find the rows that people may be, by entry."""
    person, line = _lines_of(published, people)
    n_people, n_entries = people.quasi.n_cells, priors.occupants.n_entries
    is_known = np.ones(n_people, dtype=bool)
    is_known[person[~priors.is_known[line]]] = False
    # A person whose line is known is one row of it.
    rows = published.lines.counts[line] if people.line is None else np.ones_like(line)
    pairs, inverse = np.unique(person * n_entries + priors.entry[line], return_inverse=True)
    added = total_by(inverse, rows, len(pairs))
    owner, entry = np.divmod(pairs, max(n_entries, 1))
    return _Found(Locations(n_people, owner, entry, added), is_known)


def _lines_of(published: Published, people: People) -> tuple[Codes, Codes]:
    """Return pairs of a cell of people and a line that may be theirs."""
    if people.line is not None:
        person = np.flatnonzero(people.line >= 0)
        return person, people.line[person]
    lines = published.lines
    quasi = Cells(published.quasi, lines.codes[:, 1:], lines.counts)
    if people.bucket is None:
        matches = match_lines(quasi, published.meanings, people.quasi)
        return matches.person, matches.line
    order = np.argsort(lines.codes[:, 0], kind="stable")
    start = np.searchsorted(lines.codes[order, 0], np.arange(published.n_buckets + 1))
    known = np.flatnonzero(people.bucket >= 0)
    bucket = people.bucket[known]
    source, place = spread(start[bucket], start[bucket + 1] - start[bucket])
    person, line = known[source], order[place]
    # If the values of people are given as published, only lines with the same values are theirs.
    fits = np.ones(len(line), dtype=bool)
    for name in set(quasi.columns) & set(people.quasi.columns):
        label = people.quasi.domain(name).labels()
        code = quasi.domain(name).codes_of(label)[people.quasi.column(name)]
        fits &= code[person] == quasi.column(name)[line]
    has_fitting = np.zeros(people.quasi.n_cells, dtype=bool)
    has_fitting[person[fits]] = True
    is_kept = fits | ~has_fitting[person]
    return person[is_kept], line[is_kept]


def _learned(buckets: Buckets, priors: LinePriors, by_entry: Gains, found: _Found) -> Gains:
    """Return the belief gain for each cell of people; 0 for people who are not in the release."""
    places = found.places
    n_people = places.n_people
    value, posterior = np.full(n_people, -1, dtype=np.int64), np.zeros(n_people)
    distance = np.zeros(n_people)
    is_exact, is_contradicted = np.ones(n_people, dtype=bool), np.zeros(n_people, dtype=bool)
    is_exact[places.person[~by_entry.is_exact[places.bucket]]] = False
    is_contradicted[places.person[by_entry.is_contradicted[places.bucket]]] = True
    is_single = places.n_buckets_of[places.person] == 1
    person, entry = places.person[is_single], places.bucket[is_single]
    value[person] = by_entry.value[entry]
    posterior[person] = by_entry.posterior[entry]
    distance[person] = by_entry.distance[entry]
    if not is_single.all():
        mixed = _mixtures(buckets, priors, places, np.flatnonzero(~is_single))
        for people, shares, before in mixed:
            value[people] = shares.argmax(axis=1)
            posterior[people] = np.minimum(shares.max(axis=1), 1.0)
            distance[people] = _distance(before, shares)
    return Gains(value, posterior, distance, is_exact, is_contradicted)


def _mixtures(
    buckets: Buckets, priors: LinePriors, places: Locations, chosen: Codes
) -> Iterator[tuple[Codes, Floats, Floats]]:
    """Yield the mean posterior and prior of people who may be in several entries, in chunks."""
    occupants, n_values = priors.occupants, buckets.domain.size
    found = posteriors(buckets, occupants)
    person, entry, weight = places.person[chosen], places.bucket[chosen], places.weight[chosen]
    people, start = np.unique(person, return_index=True)
    ends = np.append(start[1:], len(person))
    length = np.diff(found.start)[entry]
    work = np.add.reduceat(length + n_values, start)
    for chunk in chunks(work, _CHUNK):
        first, last = chunk.start, chunk.stop
        part = slice(int(start[first]), int(ends[last - 1]))
        row = np.searchsorted(people[first:last], person[part])
        source, place = spread(found.start[entry[part]], length[part])
        keys = row[source] * n_values + found.value[place]
        size = (last - first) * n_values
        shares, before = np.zeros(size), np.zeros((last - first, n_values))
        np.add.at(shares, keys, weight[part][source] * found.posterior[place])
        prior = occupants.priors[occupants.prior[entry[part]]]
        np.add.at(before, row, weight[part][:, np.newaxis] * prior)
        yield people[first:last], shares.reshape(-1, n_values), before


def _distance(prior: Floats, posterior: Floats) -> Floats:
    """Return the distances; a prior may be about values that the release lacks."""
    rest = np.maximum(1 - prior.sum(axis=1), 0.0)
    rest[rest < _TOLERANCE] = 0.0
    none = np.zeros((len(prior), 1))
    return jensen_shannon(np.hstack([prior, rest[:, np.newaxis]]), np.hstack([posterior, none]))


def _headline(
    learned: Gains, breached: Flags, people: People, found: _Found
) -> Mapping[str, object]:
    counts = people.counts * found.is_found
    n_found = max(int(counts.sum()), 1)
    return {
        "people at risk": int(counts[breached].sum()),
        "worst gain": float(learned.distance.max(initial=0.0)),
        "mean gain": weighted_sum(learned.distance, counts) / n_found,
        "worst posterior": float(learned.posterior.max(initial=0.0)),
        "mean posterior": weighted_sum(learned.posterior, counts) / n_found,
        "share of exact posteriors": weighted_sum(learned.is_exact, counts) / n_found,
        "people contradicting what was believed": int(counts[learned.is_contradicted].sum()),
        "people without a prior of their own": int(counts[~found.is_known].sum()),
        "people not found": people.n_people - int(counts.sum()),
    }


def _worst_buckets(
    published: Published, buckets: Buckets, priors: LinePriors, by_entry: Gains, found: _Found
) -> Section:
    """List the buckets with the largest belief gains."""
    occupants = priors.occupants
    used = np.unique(found.places.bucket)
    order = used[np.lexsort((used, -by_entry.distance[used]))]
    _, first = np.unique(occupants.bucket[order], return_index=True)
    worst = order[np.sort(first)[:_N_WORST]].tolist()
    rows = []
    for entry in worst:
        bucket = int(occupants.bucket[entry])
        value = int(by_entry.value[entry])
        before = float(occupants.priors[occupants.prior[entry], value])
        rows.append(
            (
                published.bucket_name(bucket),
                int(buckets.sizes[bucket]),
                float(by_entry.distance[entry]),
                before,
                float(by_entry.posterior[entry]),
                buckets.domain.text(value),
            )
        )
    what = published.manifest.shape.bucket_word
    columns = (what, "size", "gain", "prior", "posterior", "value")
    return Section("worst buckets", columns, tuple(rows))


def _bands(distance: Floats, counts: Counts) -> Section:
    """Count people by belief gain."""
    edges = np.arange(1, _N_BANDS + 1) / _N_BANDS
    band = np.searchsorted(edges, distance - _TOLERANCE, side="left")
    people = np.bincount(band, counts, _N_BANDS).astype(np.int64)
    names = [f"up to {edge:g}" for edge in edges]
    return Section(
        "people by gain",
        ("gain", "people"),
        tuple(zip(names, people.tolist(), strict=True)),
        holds_values=False,
    )
