"""Linkage in a sliced release: what the buckets that a person matches say of them.

The adversary knows what is known of a person, finds the buckets that hold these values in every
column, and believes a sensitive value as much as rows that agree with the person have it there:
p(t, s). One who leaves out linkings without the person can do better; both are shown.

References
----------
[Slicing] Shaik Mahammad Rafi, P. Venkata Ramanaiah: Protecting Attribute Disclosure for High
Dimensionality and Preserving Publishing of Microdata (a shortened variant of T. Li, N. Li,
J. Zhang, I. Molloy: Slicing: a new approach for privacy preserving data publishing, 2012),
Section 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Attack, Findings, Risk, Section
from shoal.core.calibration import Suspicion, Suspicions
from shoal.core.cells import Cells, Codes, Counts
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, whole
from shoal.core.exact import exact as as_exact
from shoal.core.guarantees import SlicedDiversity
from shoal.core.method import Shape
from shoal.core.release import People, Published
from shoal.core.sliced import Sliced
from shoal.knowledge.foreground import expose_sliced
from shoal.knowledge.sliced_beliefs import SlicedBeliefs, find_exceeding, sliced_beliefs
from shoal.knowledge.sliced_people import shown_people
from shoal.knowledge.sliced_posteriors import exact_posteriors, is_plain

__all__ = ["SlicedLinkage"]

_CERTAIN = 1 - 1e-9
"""Beliefs are floats."""
_TIE = 1 + 1e-12
_MANY = 5
"""From so many matching buckets on, people are counted together."""


@dataclass(frozen=True, kw_only=True, init=False)
class SlicedLinkage(Attack):
    """Believe each sensitive value as the buckets that a person matches suggest.

    Parameters
    ----------
    limit
        The largest belief that is allowed, above 0 and at most 1; without one, that of the
        release's guarantee, and where it has none, anything short of certainty.
    exact
        Of how many kinds of people who match several buckets the exact posterior is found; those
        of whom most is believed come first.

    Notes
    -----
    Where equal values stay in one bucket (strict cuts), everybody matches one bucket, and p(t, s)
    is what can be inferred. Where they may be parted, linkings without the person are impossible,
    and the exact posterior may be larger, up to certainty: it counts where it was found. Columns
    that share attributes have it by going through all linkings, where buckets are small. A belief
    equal to the limit is no breach, and the comparison of p(t, s) is without rounding.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.slicing_patients())
    >>> method = shoal.Slicing(ell=2, columns=[["age", "sex"], ["zipcode", "disease"]])
    >>> release = shoal.anonymize(table, method, seed=1)
    >>> shoal.attack(release, SlicedLinkage())
    AttackReport(sliced_linkage: 0 of 8 people believed)
    """

    limit: Fraction | None = None
    exact: int = 200

    risks: ClassVar[tuple[Risk, ...]] = (Risk.LINKABILITY, Risk.INFERENCE)
    knows: ClassVar[str] = (
        "what is known of people who are in the table, and the release; every linking of a "
        "bucket's columns is equally likely to her"
    )
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.SLICED})
    yields_beliefs: ClassVar[bool] = True

    def __init__(self, *, limit: Number | None = None, exact: int = 200) -> None:
        bound = None if limit is None else as_exact("limit", limit)
        if bound is not None and not 0 < bound <= 1:
            raise ParameterError(f"limit must be above 0 and at most 1, not {as_text(bound)}.")
        object.__setattr__(self, "limit", bound)
        object.__setattr__(self, "exact", whole("exact", exact, least=0))

    def fits(self, published: Published) -> bool:
        """Whether the release is sliced and has a sensitive column."""
        return super().fits(published) and bool(
            published.sliced is not None and published.sliced.layout.sensitive
        )

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:  # noqa: ARG002
        """Attack the people with the release alone.

        Raises
        ------
        ParameterError
            Where the release has another shape or no sensitive column.
        """
        sliced = published.sliced
        if sliced is None or not self.fits(published):
            raise ParameterError("SlicedLinkage attacks sliced releases with a sensitive column.")
        limit = self._limit(published)
        shown, owner = shown_people(published, people)
        found = _Found.nothing(shown.n_cells)
        about: list[Suspicion] = []
        for sensitive in sliced.layout.sensitive:
            beliefs = found.add(sliced, shown, sensitive, limit, self.exact)
            about += _suspicions(sliced, people, owner, sensitive, beliefs)
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
    """What is believed of people over all sensitive attributes, one entry a cell."""

    belief: npt.NDArray[np.float64]
    posterior: npt.NDArray[np.float64]
    value: Codes
    exceeds: npt.NDArray[np.bool_]
    is_exact: npt.NDArray[np.bool_]
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
    ) -> npt.NDArray[np.float64]:
        """Add what is believed of one more sensitive attribute.

        Returns
        -------
        How much each value is believed of each cell: p(t, s), or the posterior if that is larger.
        """
        beliefs = sliced_beliefs(sliced, known, sensitive)
        belief, value = _strongest(beliefs)
        posterior, is_exact = belief.copy(), is_plain(sliced, beliefs)
        shares = np.zeros((len(belief), beliefs.domain.size))
        tuple_, code, share = beliefs.shares
        shares[tuple_, code] = share.astype(np.float64)
        if most_exact:
            chosen, likely, chance = exact_posteriors(
                sliced, beliefs, known, np.arange(known.n_cells), most_tuples=most_exact
            )
            value[chosen], posterior[chosen] = likely, chance
            shares[chosen, likely] = chance
            is_exact[chosen] = True
        self.is_exact &= is_exact
        if limit is not None:
            self.exceeds |= find_exceeding(sliced, known, sensitive, 1 / limit)
            self.exceeds |= posterior > float(limit) * _TIE
        self.belief = np.maximum(self.belief, belief)
        is_larger = posterior > self.posterior
        self.value[is_larger] = value[is_larger] + sliced.first_sensitive(sensitive)
        self.posterior = np.maximum(self.posterior, posterior)
        self.n_matching = np.bincount(beliefs.matches[0], minlength=len(belief))
        return shares

    def of_people(self, owner: Codes, n_people: int) -> _Found:
        """Give of each person the worst of what the release may show of them."""
        if np.array_equal(owner, np.arange(n_people)):
            return self
        found = _Found.nothing(n_people)
        order = np.lexsort((self.posterior, owner))
        # The last entry of each person is the worst.
        worst = order[np.flatnonzero(np.diff(owner[order], append=n_people))]
        person = owner[worst]
        for name in ("belief", "posterior", "value", "exceeds", "is_exact"):
            getattr(found, name)[person] = getattr(self, name)[worst]
        np.add.at(found.n_matching, owner, self.n_matching)
        return found

    def gaps(self, counts: Counts) -> Mapping[str, object]:
        """Give how far p(t, s) is from the posterior where that is known."""
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
    beliefs: npt.NDArray[np.float64],
) -> Iterator[Suspicion]:
    """Return what is believed of each value of an attribute, if everybody's bucket is known."""
    is_known = people.bucket is not None
    if not is_known or not np.array_equal(owner, np.arange(people.quasi.n_cells)):
        return
    exposed, entry = expose_sliced(sliced, people, sensitive)
    first, group = sliced.first_sensitive(sensitive), exposed.bucket[entry]
    for code in np.flatnonzero(exposed.buckets.totals).tolist():
        yield Suspicion((first + code,), beliefs[:, code], group, exposed.n_carrying([code]))


def _strongest(beliefs: SlicedBeliefs) -> tuple[npt.NDArray[np.float64], Codes]:
    """Give for each tuple the largest p(t, s) and the first value that has it; -1 for none."""
    owner, code, share = beliefs.shares
    belief = np.zeros(beliefs.n_tuples)
    np.maximum.at(belief, owner, share.astype(np.float64))
    value = np.full(beliefs.n_tuples, beliefs.domain.size, dtype=np.int64)
    is_largest = share >= belief[owner]
    np.minimum.at(value, owner[is_largest], code[is_largest])
    return belief, np.where(belief > 0, value, -1)


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
