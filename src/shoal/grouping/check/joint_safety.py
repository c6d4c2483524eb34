"""Joint safety: every bucket of a release lies within one bucket of each earlier release.

The proof that this suffices is with the guarantee, `shoal.core.adversary_guarantees`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from shoal.core.adversary_guarantees import JointSafety
from shoal.core.arrays import Codes, Counts
from shoal.core.cells import Buckets
from shoal.core.errors import DataError
from shoal.core.guarantees import (
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    Guarantee,
    KAnonymity,
    RecursiveDiversity,
)
from shoal.core.verdict import Evidence, Verdict
from shoal.grouping.check import k_anonymity, l_diversity

_DIVERSITIES = (
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    RecursiveDiversity,
)
"""The guarantees that depend on the values of a bucket alone."""


@dataclass(frozen=True, eq=False)
class EarlierBuckets:
    """The places of people in earlier releases: the witness of joint safety.

    `own` has the bucket of each person in this release, `places` those in the earlier releases,
    with one column per release; -1 for a person who is not in it. `release`, `place`, `value` and
    `count` are the published entries of the earlier releases; a value is a code of the sensitive
    domain, or beyond it. `others` are the other guarantees of this release.
    """

    own: Codes
    places: Codes
    release: Codes
    place: Codes
    value: Codes
    count: Counts
    others: Sequence[Guarantee] = ()

    def __post_init__(self) -> None:
        entries = {len(self.release), len(self.place), len(self.value), len(self.count)}
        if self.places.ndim != 2 or len(self.own) != len(self.places) or len(entries) != 1:
            raise DataError("Places in earlier releases must be given person by person.")

    @property
    def n_releases(self) -> int:
        """The number of earlier releases."""
        return int(self.places.shape[1])


def check(guarantee: JointSafety, evidence: Evidence) -> Verdict:
    """Check that the earlier releases add nothing to this one.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> buckets = Buckets.of_pairs(np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]), disease)
    >>> earlier = EarlierBuckets(np.array([0, 0, 1, 1]), np.zeros((4, 1), int), np.zeros(2, int),
    ...                          np.zeros(2, int), np.array([0, 1]), np.array([2, 2]))
    >>> check(JointSafety(earlier=["0" * 64]),
    ...       Evidence(buckets, buckets.sizes, witnesses={"earlier releases": earlier}))
    Verdict(joint safety holds in all 2 buckets)
    """
    buckets = evidence.buckets_for(guarantee)
    witness = evidence.witnesses.get(guarantee.needs_witness)
    if not isinstance(witness, EarlierBuckets):
        return Verdict(
            guarantee=guarantee,
            holds=True,
            reached={},
            n_buckets=buckets.n_buckets,
            n_failing=0,
            detail="not checked: the places of people in the earlier releases are internal",
            is_partial=True,
        )
    _confirm(guarantee, witness, buckets)
    split = np.zeros(buckets.n_buckets, dtype=bool)
    wrong: list[str] = []
    for which in range(witness.n_releases):
        parted = _parted(witness.own, witness.places[:, which], buckets.n_buckets)
        split |= parted
        # An earlier bucket has a remainder only if it is a union of buckets of this release.
        wrong += [] if parted.any() else _left_over(witness, which, buckets)
    if witness.n_releases > 1 and not split.any() and _crosses(witness):
        wrong.append("people who left the table are in different remainders of earlier buckets")
    n_failing = int(np.count_nonzero(split))
    found = [f"{n_failing or 'none'} of {buckets.n_buckets} buckets lie in several earlier ones"]
    return Verdict(
        guarantee=guarantee,
        holds=not n_failing and not wrong,
        reached={},
        n_buckets=buckets.n_buckets,
        n_failing=n_failing,
        detail="; ".join([*found, *wrong]),
    )


def _confirm(guarantee: JointSafety, witness: EarlierBuckets, buckets: Buckets) -> None:
    """Reject a witness of other releases or other people."""
    inside = witness.own[witness.own >= 0]
    sizes = np.bincount(inside, minlength=buckets.n_buckets)
    # A sliced release counts once for every column of attributes that holds the sensitive one.
    if witness.n_releases < len(guarantee.earlier) or not np.array_equal(sizes, buckets.sizes):
        raise DataError("The places in earlier releases are not those of the people of this one.")


def _parted(own: Codes, place: Codes, n_buckets: int) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Mark the buckets whose people are in different buckets of an earlier release."""
    lowest = np.full(n_buckets, np.iinfo(np.int64).max)
    highest = np.full(n_buckets, -2)
    inside = own >= 0
    np.minimum.at(lowest, own[inside], place[inside])
    np.maximum.at(highest, own[inside], place[inside])
    return np.asarray(lowest < highest)


def _left_over(witness: EarlierBuckets, which: int, buckets: Buckets) -> list[str]:
    """Return the faults of the remainders: people of earlier buckets who left the table."""
    place = witness.places[:, which]
    n_places = int(max(place.max(initial=-1), witness.place.max(initial=-1))) + 1
    n_values = int(max(witness.value.max(initial=-1), buckets.domain.size - 1)) + 1
    held = np.zeros((n_places, n_values), dtype=np.int64)
    entries = witness.release == which
    np.add.at(held, (witness.place[entries], witness.value[entries]), witness.count[entries])
    # The earlier bucket that each bucket of this release lies in.
    within = np.full(buckets.n_buckets, -1, dtype=np.int64)
    within[witness.own[witness.own >= 0]] = place[witness.own >= 0]
    taken = within[buckets.bucket] >= 0
    target = (within[buckets.bucket[taken]], buckets.value[taken])
    np.subtract.at(held, target, buckets.count[taken])
    outside = (witness.own < 0) & (place >= 0)
    n_outside = np.bincount(place[outside], minlength=n_places)
    n_changed = int(np.count_nonzero((held < 0).any(axis=1) | (held.sum(axis=1) != n_outside)))
    if n_changed:
        return [f"{n_changed} earlier buckets hold different values for the same people"]
    is_partly = np.zeros(n_places, dtype=bool)
    is_partly[within[within >= 0]] = True
    is_partly &= n_outside > 0
    return _faults_of_rest(witness.others, held[is_partly], buckets) if is_partly.any() else []


def _faults_of_rest(others: Sequence[Guarantee], held: Counts, buckets: Buckets) -> list[str]:
    """Check the other guarantees on the remainders of earlier buckets."""
    if held[:, buckets.domain.size :].any():
        return ["people who are not in this release have values that nobody in it has"]
    bucket, value = np.nonzero(held)
    rest = Buckets(len(held), bucket, value, held[bucket, value], buckets.domain)
    faults = []
    for one in others:
        if isinstance(one, BucketSize | KAnonymity | AlphaK):
            n_failing = k_anonymity.check(one, Evidence.of_buckets(rest)).n_failing
        elif isinstance(one, _DIVERSITIES):
            n_failing = l_diversity.check(one, Evidence.of_buckets(rest)).n_failing
        else:
            # No other guarantee can be checked on these people alone.
            n_failing = len(held)
        if n_failing:
            faults.append(
                f"the people whom this release leaves out of {n_failing} earlier buckets do not "
                f"keep {one.name}"
            )
    return faults


def _crosses(witness: EarlierBuckets) -> bool:
    """Return whether people outside are together in one earlier release and apart in another."""
    outside = witness.places[(witness.own < 0)]
    inside = witness.places[(witness.own >= 0)]
    for one in range(witness.n_releases):
        # A bucket has a remainder only if part of it is in this release.
        partly = np.isin(outside[:, one], inside[:, one]) & (outside[:, one] >= 0)
        for other in range(witness.n_releases):
            if (
                one != other
                and _parted(
                    outside[partly, one],
                    outside[partly, other],
                    int(outside[:, one].max(initial=-1)) + 1,
                ).any()
            ):
                return True
    return False
