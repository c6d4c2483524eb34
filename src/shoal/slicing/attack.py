"""Linkage in a sliced release: the beliefs that the buckets matching a person support.

The adversary takes the known values of a person, finds the buckets that hold these values in every
column, and believes a sensitive value in proportion to the rows there that agree with the person:
p(t, s). An adversary who also rules out linkings without the person can do better; both are
reported.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.core.adversary_guarantees import SlicedDiversity
from shoal.core.arrays import Codes, Counts, Flags, Floats
from shoal.core.attack import Attack, Need, Sampling, View
from shoal.core.calibration import UNITS_TO_COMPARE, Suspicion, Suspicions
from shoal.core.cells import Cells, group
from shoal.core.declared import declared
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.exact import as_text
from shoal.core.findings import Findings, Risk
from shoal.core.parameters import OptionalExact, exact_number, whole_number
from shoal.core.release import People, Published
from shoal.core.shapes import Model
from shoal.core.sliced import Sliced
from shoal.slicing.beliefs import are_above, share_table
from shoal.slicing.matches import expose_sliced, shown_people
from shoal.slicing.posteriors import exact_posteriors, is_plain

_CERTAIN = 1 - 1e-9
"""Beliefs from this value on count as certain, because they are floats."""
_TIE = 1 + 1e-12
_MANY = 5
"""People who match at least this many buckets are counted together."""


@declared
class SlicedLinkage(Attack):
    """Believe each sensitive value as the buckets that a person matches suggest.

    Notes
    -----
    If equal values stay in one bucket (strict cuts), everybody matches one bucket, and p(t, s) is
    the exact posterior. If they may be separated, linkings without the person are impossible, and
    the exact posterior may be larger, up to certainty; it counts if it was computed. If columns
    share attributes, it is computed by enumerating all linkings of small buckets. A belief equal to
    the limit is no breach, and p(t, s) is compared without rounding.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.slicing_patients())
    >>> method = shoal.Slicing(ell=2, columns=[["age", "sex"], ["zipcode", "disease"]])
    >>> release = shoal.anonymize(table, method, seed=1)
    >>> shoal.attack(release, SlicedLinkage())
    AttackReport(sliced_linkage: 0 of 8 people believed)
    """

    limit: OptionalExact = exact_number(
        "The largest belief that is allowed. Default: the guarantee's bound, or anything short of "
        "certainty.",
        default=None,
        above=0,
        at_most=1,
        is_limit=True,
    )
    exact: int = whole_number(
        "The number of kinds of people who match several buckets whose exact posterior is "
        "computed; the strongest beliefs come first.",
        default=200,
        least=0,
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.LINKABILITY, Risk.INFERENCE)
    knows: ClassVar[str] = (
        "what is known about people who are in the table, and the release; every linking of a "
        "bucket's columns is equally likely to her"
    )
    reads: ClassVar[frozenset[Model]] = frozenset({Model.SLICES})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.TRUTH})
    sampling: ClassVar[Sampling] = Sampling.PEOPLE

    def fits(self, published: Published) -> bool:
        """Return whether the release is sliced and has a sensitive column."""
        return super().fits(published) and bool(
            published.sliced is not None and published.sliced.layout.sensitive
        )

    def work_of(self, published: Published, n_people: int) -> int:
        """Estimate the units of work of attacking some of the people."""
        return n_people * len(published.sensitive_texts) * UNITS_TO_COMPARE

    def run(self, view: View) -> Findings:
        """Attack the people with the release alone.

        Raises
        ------
        ParameterError
            If the release has another shape or no sensitive column.
        """
        published, people = view.published, view.people
        sliced = published.sliced
        if sliced is None or not self.fits(published):
            raise ParameterError("SlicedLinkage attacks sliced releases with a sensitive column.")
        limit = self._limit(published)
        shown, owner = shown_people(published, people)
        found = _Found.nothing(shown.n_cells)
        about: list[Suspicion] = []
        for sensitive in sliced.layout.sensitive:
            beliefs = found.add(sliced, shown, sensitive, limit, self.exact)
            about += _suspicions(sliced, people, owner, sensitive, beliefs, view.sample)
        found = found.of_people(owner, people.quasi.n_cells)
        is_certain = found.posterior > _CERTAIN
        breached = found.exceeds | is_certain
        counts = people.counts
        return Findings(
            attack="sliced_linkage",
            knows=self.knows,
            counts=counts,
            value=found.value,
            posterior=found.posterior,
            breached=breached,
            limit="anything short of certainty" if limit is None else as_text(limit),
            is_belief=True,
            suspicions=Suspicions(tuple(about), _CERTAIN if limit is None else float(limit))
            if about
            else None,
            headline={
                "people at risk": int(counts[breached].sum()),
                "people certain": int(counts[is_certain].sum()),
                "worst p(t, s)": float(found.belief.max(initial=0.0)),
                "worst posterior": float(found.posterior.max(initial=0.0)),
                "people matching no bucket": int(counts[found.n_matching == 0].sum()),
                "people matching several": int(counts[found.n_matching > 1].sum()),
                **found.gaps(counts),
            },
            sections=(_by_matches(found, counts),),
        )

    def _limit(self, published: Published) -> Fraction | None:
        if self.limit is not None:
            return self.limit
        bounds = [
            guarantee.posterior_bound
            for guarantee in published.manifest.guarantees
            if isinstance(guarantee, SlicedDiversity)
        ]
        return next((bound for bound in bounds if bound is not None), None)


@dataclass(eq=False)
class _Found:
    """The beliefs about people over all sensitive attributes, one entry per cell."""

    belief: Floats
    posterior: Floats
    value: Codes
    exceeds: Flags
    is_exact: Flags
    n_matching: Counts

    @classmethod
    def nothing(cls, n_cells: int) -> _Found:
        return cls(
            np.zeros(n_cells),
            np.zeros(n_cells),
            np.full(n_cells, -1, dtype=np.int64),
            np.zeros(n_cells, dtype=bool),
            np.ones(n_cells, dtype=bool),
            np.zeros(n_cells, dtype=np.int64),
        )

    def add(
        self, sliced: Sliced, known: Cells, sensitive: str, limit: Fraction | None, most_exact: int
    ) -> Floats:
        """Add the beliefs about one more sensitive attribute.

        Returns the belief in each value about each cell: p(t, s), except that the most likely value
        of a cell whose exact posterior was computed has that posterior.
        """
        # People of one kind may be in several buckets, which makes no difference here.
        sizes = [domain.size for domain in known.domains]
        first, kind = group(list(known.codes.T), sizes, known.n_cells)
        kinds = Cells(known.domains, known.codes[first], known.counts[first])
        shares, n_matching = share_table(sliced, kinds, sensitive)
        belief, value = shares.max(axis=1, initial=0), shares.argmax(axis=1)
        value[belief == 0] = -1
        # If a tuple matches one bucket, p(t, s) is the posterior already.
        posterior, is_exact = belief.copy(), is_plain(sliced, n_matching)
        if most_exact:
            chosen, likely, chance = exact_posteriors(
                sliced, kinds, sensitive, belief, n_matching, most_tuples=most_exact
            )
            value[chosen], posterior[chosen] = likely, chance
            shares[chosen, likely] = chance
            is_exact[chosen] = True
        self.is_exact &= is_exact[kind]
        if limit is not None:
            exceeds = are_above(sliced, kinds, sensitive, limit, belief)
            exceeds |= posterior > float(limit) * _TIE
            self.exceeds |= exceeds[kind]
        self.belief = np.maximum(self.belief, belief[kind])
        is_larger = posterior[kind] > self.posterior
        self.value[is_larger] = value[kind][is_larger] + sliced.first_sensitive(sensitive)
        self.posterior = np.maximum(self.posterior, posterior[kind])
        self.n_matching = np.maximum(self.n_matching, n_matching[kind])
        return shares[kind]

    def of_people(self, owner: Codes, n_people: int) -> _Found:
        """Return, for each person, the worst belief over all entries that the person may be."""
        if np.array_equal(owner, np.arange(n_people)):
            return self
        found = _Found.nothing(n_people)
        order = np.lexsort((self.posterior, owner))
        # The last entry of each person is the worst.
        worst = order[np.flatnonzero(np.diff(owner[order], append=n_people))]
        person = owner[worst]
        for name in ("belief", "posterior", "value", "is_exact"):
            getattr(found, name)[person] = getattr(self, name)[worst]
        # Another entry may exceed the limit by p(t, s) although its posterior is lower.
        np.logical_or.at(found.exceeds, owner, self.exceeds)
        np.add.at(found.n_matching, owner, self.n_matching)
        return found

    def gaps(self, counts: Counts) -> Mapping[str, object]:
        """Return how far p(t, s) is from the posterior, for people whose posterior is known."""
        gap = (self.posterior - self.belief)[self.is_exact]
        return {
            "people whose posterior is exact": int(counts[self.is_exact].sum()),
            "largest gap of it to p(t, s)": float(gap.max(initial=0.0)),
        }


def _suspicions(
    sliced: Sliced,
    people: People,
    owner: Codes,
    sensitive: str,
    beliefs: Floats,
    sample: Codes | None,
) -> Iterator[Suspicion]:
    """Return the beliefs in each value of an attribute, if everybody's bucket is known."""
    if sample is not None and people.bucket is not None:
        # They fill the buckets of the sample, and no others.
        sliced, own = sliced.only(sample), np.searchsorted(sample, people.bucket)
        people = replace(people, bucket=own)
    is_known = people.bucket is not None
    if not is_known or not np.array_equal(owner, np.arange(people.quasi.n_cells)):
        return
    exposed, entry = expose_sliced(sliced, people, sensitive)
    first, group = sliced.first_sensitive(sensitive), exposed.bucket[entry]
    for code in np.flatnonzero(exposed.buckets.totals).tolist():
        yield Suspicion((first + code,), beliefs[:, code], group, exposed.n_carrying([code]))


def _by_matches(found: _Found, counts: Counts) -> Section:
    number = np.minimum(found.n_matching, _MANY)
    rows = []
    for matching in np.unique(number).tolist():
        chosen = number == matching
        rows.append(
            (
                f"{matching} or more" if matching == _MANY else matching,
                int(counts[chosen].sum()),
                float(found.belief[chosen].max(initial=0.0)),
                float(found.posterior[chosen].max(initial=0.0)),
            )
        )
    columns = ("buckets", "people", "worst p(t, s)", "worst posterior")
    return Section("people by matching buckets", columns, tuple(rows), holds_values=False)
