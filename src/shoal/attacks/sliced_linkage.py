"""Linkage in a sliced release: what the buckets that a person matches say of them.

The adversary knows what is known of a person, finds the buckets that hold these values in every
column, and believes a sensitive value as much as rows that agree with the person have it there.

References
----------
[Slicing] Section 3 (T. Li, N. Li, J. Zhang, I. Molloy, Slicing: a new approach for privacy
preserving data publishing, 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.core.attack import Attack, Findings, Section
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.guarantees import SlicedDiversity
from shoal.core.method import Shape
from shoal.core.release import People, Published
from shoal.knowledge.sliced_beliefs import sliced_beliefs

__all__ = ["SlicedLinkage"]

_SLACK = 1e-9
"""Beliefs are floats: a tie at the limit is no breach."""


@dataclass(frozen=True, kw_only=True, init=False)
class SlicedLinkage(Attack):
    """Believe each sensitive value as the buckets that a person matches suggest.

    Parameters
    ----------
    limit
        The largest belief that is allowed, above 0 and at most 1; without one, that of the
        release's guarantee, and where it has none, anything short of certainty.
    """

    limit: Fraction | None = None

    knows: ClassVar[str] = (
        "what is known of people who are in the table, and the release; every linking of a "
        "bucket's columns is equally likely to her"
    )
    shapes: ClassVar[frozenset[Shape]] = frozenset({Shape.SLICED})

    def __init__(self, *, limit: Number | None = None) -> None:
        bound = None if limit is None else exact("limit", limit)
        if bound is not None and not 0 < bound <= 1:
            raise ParameterError(f"limit must be above 0 and at most 1, not {as_text(bound)}.")
        object.__setattr__(self, "limit", bound)

    def fits(self, published: Published) -> bool:
        """Whether the release is sliced and has a sensitive column."""
        return super().fits(published) and bool(
            published.sliced is not None and published.sliced.layout.sensitive
        )

    def run(self, published: Published, people: People, knowledge: object = None) -> Findings:  # noqa: ARG002
        """Attack the people with the release alone."""
        sliced = published.sliced
        if sliced is None or not self.fits(published):
            raise ParameterError("SlicedLinkage attacks sliced releases with a sensitive column.")
        limit = self._limit(published)
        n_people = people.quasi.n_cells
        posterior, value = np.zeros(n_people), np.full(n_people, -1)
        n_matching = np.zeros(n_people, dtype=np.int64)
        for sensitive in sliced.layout.sensitive:
            beliefs = sliced_beliefs(sliced, people.quasi, sensitive)
            owner, code, share = beliefs.shares
            order = np.lexsort((code, -share, owner))
            first = np.r_[True, owner[order][1:] != owner[order][:-1]][: len(owner)]
            best = order[first]
            is_worse = share[best] > posterior[owner[best]]
            chosen = best[is_worse]
            posterior[owner[chosen]], value[owner[chosen]] = share[chosen], code[chosen]
            n_matching = np.bincount(beliefs.matches[0], minlength=n_people)
        is_certain = posterior > 1 - _SLACK
        breached = is_certain if limit is None else is_certain | (posterior > float(limit) + _SLACK)
        return Findings(
            attack="sliced_linkage",
            knows=self.knows,
            counts=people.counts,
            value=value,
            posterior=posterior,
            breached=breached,
            limit=None if limit is None else as_text(limit),
            headline={
                "people at risk": int(people.counts[breached].sum()),
                "people certain": int(people.counts[is_certain].sum()),
                "worst posterior": float(posterior.max(initial=0.0)),
                "people not found": int(people.counts[n_matching == 0].sum()),
                "people in one bucket only": int(people.counts[n_matching == 1].sum()),
            },
            sections=(_by_matches(n_matching, people, posterior),),
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


def _by_matches(n_matching: np.ndarray, people: People, posterior: np.ndarray) -> Section:
    rows = []
    for number in np.unique(np.minimum(n_matching, 5)).tolist():
        chosen = np.minimum(n_matching, 5) == number
        rows.append(
            (
                f"{number} or more" if number == 5 else number,
                int(people.counts[chosen].sum()),
                float(posterior[chosen].max(initial=0.0)),
            )
        )
    return Section("people by matching buckets", ("buckets", "people", "worst"), tuple(rows))
