"""Merge the buckets of a release until an adversary learns little from it.

An adversary with a prior belief learns as much as the belief changes; one who mines the release
itself learns as much as people can be linked to a value.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from shoal.beliefs.bound import merge_until
from shoal.beliefs.informed import prior_beliefs
from shoal.beliefs.priors import BELIEFS, beliefs_to_json, occupants_of_release
from shoal.core.adversary_guarantees import BeliefGain, ForegroundSafety, JointSafety
from shoal.core.arrays import Codes, Floats
from shoal.core.errors import ParameterError
from shoal.core.exact import Number
from shoal.core.guarantees import BANDWIDTH, Guarantee
from shoal.core.progress import Progress, silent
from shoal.core.release import Published
from shoal.core.shapes import Model
from shoal.engines.sql.apply import merge_buckets
from shoal.engines.sql.table import EngineTable
from shoal.foreground.attribute_sets import usable_sets
from shoal.foreground.every_value import Task, merge_for_every_value
from shoal.foreground.merging import merge_until_safe
from shoal.foreground.mining import Policy
from shoal.locating.exposed import Exposed
from shoal.release.opened import Release
from shoal.release.witnesses import seal_witnesses
from shoal.workflow.anonymize import checked_release


def repair(
    release: Release,
    *,
    belief_gain: Number | None = None,
    bandwidth: Number = BANDWIDTH,
    foreground: Mapping[str, Any] | None = None,
    progress: Progress = silent,
) -> Release:
    """Merge buckets of a release until no belief changes, or links a person, more than allowed.

    Parameters
    ----------
    release
        A bucketized release, as `shoal.anonymize` returns it.
    belief_gain
        The largest Jensen-Shannon distance between prior and posterior belief, from 0 to 1.
        Default: not bounded; then `foreground` is needed.
    bandwidth
        How much the adversary knows; see `shoal.knowledge.prior_beliefs`. Default: 0.3.
    foreground
        In place of `belief_gain`, the parameters of foreground safety: `r`, and optionally `value`,
        `epsilon`, `sigma` and `policy`; see `shoal.ForegroundSafe`. Default: none.
    progress
        Called with the name of each step. Default: nothing is reported.

    Returns
    -------
    A release with fewer buckets, which keeps its earlier guarantees and the new one. They survive
    merging, and are checked again.

    Raises
    ------
    InfeasibleError
        If even one bucket of all rows reveals more than that, or, for foreground safety without a
        named value, if nothing else would do; the error names the best that was reached.
    ParameterError
        If neither or both are asked for, or the release has a guarantee that merging may break.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> repaired = shoal.repair(release, belief_gain=0.6, bandwidth=1)
    >>> [str(guarantee.name) for guarantee in repaired.manifest.guarantees]
    ['frequency l-diversity', 'bounded belief gain']
    >>> repaired = shoal.repair(release, foreground={"r": "5/4", "epsilon": 0.25})
    >>> [str(guarantee.name) for guarantee in repaired.manifest.guarantees]
    ['frequency l-diversity', 'foreground safety']
    """
    making = release.making
    if making is None or release.manifest.shape.model is not Model.BUCKETS:
        raise ParameterError(
            "Only a bucketized release that was just made can be repaired.",
            hint="shoal.anonymize makes one; an opened release does not tell whose rows are where.",
        )
    guarantee = _guarantee(belief_gain, bandwidth, foreground)
    _confirm_mergeable(release.manifest.guarantees)
    started = time.perf_counter()
    timings = dict(making.timings)

    def step(name: str) -> None:
        timings[name] = time.perf_counter() - started
        progress(name)

    step("repair")
    witnesses = dict(making.plan.witnesses)
    if isinstance(guarantee, BeliefGain):
        target, witnesses[BELIEFS] = _merge_for_beliefs(making.table, release.levelled, guarantee)
    else:
        target = _merge_for_foreground(release.levelled, guarantee)
    n_buckets = int(target.max(initial=-1)) + 1
    plan = replace(making.plan, n_buckets=n_buckets, witnesses=witnesses)
    step("place")
    shape = release.manifest.shape
    number = merge_buckets(making.table, plan, making.secret, shape, making.number, target)
    manifest = replace(
        release.manifest,
        guarantees=(*release.manifest.guarantees, guarantee),
        witnesses=seal_witnesses(making.secret, witnesses),
    )
    repairs = (*making.repairs, _stated(guarantee))
    merged = replace(making, plan=plan, number=number, timings=timings, repairs=repairs)
    return checked_release(merged, manifest, step)


def _guarantee(
    belief_gain: Number | None, bandwidth: Number, foreground: Mapping[str, Any] | None
) -> BeliefGain | ForegroundSafety:
    """Return the guarantee that is asked for, or raise ParameterError."""
    if (belief_gain is None) == (foreground is None):
        raise ParameterError(
            "Repair takes either belief_gain or foreground.",
            hint="merging for one of them may raise what the other bounds.",
        )
    if belief_gain is not None:
        return BeliefGain(t=belief_gain, bandwidth=bandwidth)
    assert foreground is not None
    unknown = set(foreground) - {"value", "r", "epsilon", "sigma", "policy"}
    if unknown or "r" not in foreground:
        raise ParameterError(
            "foreground takes r, value, epsilon, sigma and policy, and needs r.",
            hint='for example foreground={"r": 4}.',
        )
    return ForegroundSafety(**foreground)


def _stated(guarantee: BeliefGain | ForegroundSafety) -> dict[str, object]:
    """Return a guarantee as the arguments of `repair`."""
    stated = guarantee.to_dict()
    if isinstance(guarantee, BeliefGain):
        return {"belief_gain": stated["t"], "bandwidth": stated["bandwidth"]}
    taken = ("value", "r", "epsilon", "sigma", "policy")
    return {"foreground": {name: stated[name] for name in taken if name in stated}}


def _confirm_mergeable(guarantees: tuple[Guarantee, ...]) -> None:
    """Refuse a release with a guarantee that merging may break."""
    breakable = BeliefGain | ForegroundSafety | JointSafety
    fragile = [one.name for one in guarantees if isinstance(one, breakable)]
    if fragile:
        raise ParameterError(
            f"The release promises {fragile[0]}, which merging its buckets may break.",
            hint="repair what a method made without it.",
        )


def _merge_for_beliefs(
    table: EngineTable, published: Published, guarantee: BeliefGain
) -> tuple[Codes, bytes]:
    """Return the target of each bucket, and the witness."""
    beliefs = prior_beliefs(table, guarantee.bandwidth)
    assert published.buckets is not None
    occupants = occupants_of_release(published, published.buckets, beliefs)
    assert occupants is not None
    return merge_until(published.buckets, occupants, guarantee.t), beliefs_to_json(beliefs)


def _merge_for_foreground(published: Published, guarantee: ForegroundSafety) -> Codes:
    """Return the target of each bucket; an error says how many values do not occur, not which."""
    assert published.buckets is not None
    exposed, domain = Exposed.of_published(published), published.buckets.domain
    there = np.unique(published.buckets.value)
    sets = usable_sets(exposed.looks, guarantee.n_enough)
    policy: Policy = guarantee.policy  # type: ignore[assignment]
    if not guarantee.value:
        aims = tuple((code,) for code in there.tolist())
        carriers = _expected_carriers(exposed, aims)
        task = Task(lambda _: exposed, lambda _: 1, aims, sets, carriers, policy)
        return merge_for_every_value(task, guarantee.r).target
    codes = domain.codes_of(list(guarantee.value))
    n_strange = int(np.count_nonzero(~np.isin(codes, there)))
    if n_strange:
        raise ParameterError(
            f"value must name values of column {domain.column!r}; of the {len(codes)} given, "
            f"{n_strange} do not occur.",
            hint="write them as the table writes them.",
        )
    named = tuple(codes.tolist())
    return merge_until_safe(exposed, [named], guarantee.r, sets, policy=policy).target


def _expected_carriers(exposed: Exposed, aims: Sequence[tuple[int, ...]]) -> Floats:
    """Return how many of the rows that look the same carry each aim, by the shares of buckets."""
    shares = [exposed.n_carrying(aim) / exposed.buckets.sizes for aim in aims]
    n_looks = exposed.looks.n_cells
    rows = [
        np.bincount(exposed.look, exposed.count * one[exposed.bucket], n_looks) for one in shares
    ]
    return np.array(rows, dtype=np.float64).reshape(len(rows), n_looks)
