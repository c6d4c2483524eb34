"""Merge the buckets of a release until an adversary with a prior belief learns little from it."""

from __future__ import annotations

import time
from dataclasses import replace

from shoal.core.errors import ParameterError
from shoal.core.exact import Number
from shoal.core.guarantee import BANDWIDTH
from shoal.core.guarantees import BeliefGain
from shoal.core.method import Shape
from shoal.core.progress import Progress, silent
from shoal.engines.apply import merge_buckets
from shoal.knowledge.belief_file import BELIEFS, beliefs_to_json, occupants_of_release
from shoal.knowledge.informed import prior_beliefs
from shoal.methods.repair import merge_until
from shoal.pipeline.anonymize import checked_release
from shoal.pipeline.release import Release
from shoal.pipeline.witnesses import seal_witnesses

__all__ = ["repair"]


def repair(
    release: Release,
    *,
    belief_gain: Number,
    bandwidth: Number = BANDWIDTH,
    progress: Progress = silent,
) -> Release:
    """Merge buckets of a release until nobody's belief gains more than is allowed.

    Parameters
    ----------
    release
        What `shoal.anonymize` gave, bucketized by any method.
    belief_gain
        The largest Jensen-Shannon distance between prior and posterior belief, from 0 to 1.
    bandwidth
        How much the adversary knows; see `shoal.knowledge.prior_beliefs`.
    progress
        Called with the name of each step.

    Returns
    -------
    A release with fewer buckets, which keeps the guarantees of the first and this one too. They
    survive merging, and are checked anew.

    Raises
    ------
    InfeasibleError
        Where one bucket of all rows tells more than that; it names the best that was reached.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> repaired = shoal.repair(release, belief_gain=0.6, bandwidth=1)
    >>> [str(guarantee.name) for guarantee in repaired.manifest.guarantees]
    ['frequency l-diversity', 'bounded belief gain']
    """
    making = release.making
    if making is None or release.manifest.shape is not Shape.BUCKETIZED:
        raise ParameterError(
            "Only a bucketized release that was just made can be repaired.",
            hint="shoal.anonymize makes one; an opened release does not tell whose rows are where.",
        )
    guarantee = BeliefGain(t=belief_gain, bandwidth=bandwidth)
    started = time.perf_counter()
    timings = dict(making.timings)

    def step(name: str) -> None:
        timings[name] = time.perf_counter() - started
        progress(name)

    step("repair")
    beliefs = prior_beliefs(making.table, bandwidth)
    published = release.published
    assert published.buckets is not None
    occupants = occupants_of_release(published, published.buckets, beliefs)
    assert occupants is not None
    target = merge_until(published.buckets, occupants, guarantee.t)
    witnesses = {**making.plan.witnesses, BELIEFS: beliefs_to_json(beliefs)}
    n_buckets = int(target.max(initial=-1)) + 1
    plan = replace(making.plan, n_buckets=n_buckets, witnesses=witnesses)
    step("place")
    number = merge_buckets(making.table, plan, making.secret, making.number, target)
    manifest = replace(
        release.manifest,
        guarantees=(*release.manifest.guarantees, guarantee),
        witnesses=seal_witnesses(making.secret, witnesses),
    )
    merged = replace(making, plan=plan, number=number, timings=timings, method=None)
    return checked_release(merged, manifest, step)
