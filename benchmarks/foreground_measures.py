"""Measures of the foreground attack and its defence; `shoal_worker.py` serves them."""

from __future__ import annotations

from typing import Any

from measure import Call

import shoal
from shoal.core.secret import Secret
from shoal.datasets.adult import LOW_EDUCATION
from shoal.foreground.attribute_sets import sample_size, usable_sets
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.mining import expose
from shoal.locating.exposed import Exposed
from shoal.workflow.anonymize import problem_of

_SEED = 1


def _release(adult: str, ell: int) -> Any:
    table = shoal.read(shoal.datasets.adult(adult, "foreground-8"))
    method = shoal.Anatomy(ell=ell, protect=list(LOW_EDUCATION))
    return shoal.anonymize(table, method, seed=_SEED)


def mine_all_sets(adult: str, ell: int) -> Call:
    """Mine every attribute set with enough rows, and return p(t:x) of everybody."""
    exposed = Exposed.of_published(_release(adult, ell).published)
    target = Target.of(exposed, exposed.buckets.domain.codes_of(list(LOW_EDUCATION)))

    def call() -> object:
        sets = usable_sets(exposed.looks, sample_size())
        expose(target, sets)
        return {"sets": len(sets)}

    return call


def attack_release(adult: str, ell: int) -> Call:
    """Run the whole attack, with both adversaries."""
    release = _release(adult, ell)
    attack = shoal.attacks.Foreground(value=LOW_EDUCATION, r=ell)

    def call() -> object:
        (found,) = shoal.attack(release, attack)
        return {"people at risk": found.n_breached}

    return call


def plan_safe(adult: str, r: int) -> Call:
    """Plan buckets that withstand the attack."""
    table = shoal.read(shoal.datasets.adult(adult, "foreground-8"))
    safe = shoal.ForegroundSafe(value=LOW_EDUCATION, r=r)
    problem = problem_of(table, safe, Secret.from_seed(_SEED))
    return lambda: {"buckets": safe.plan(problem).n_buckets}


MEASURES = {
    "mine all sets": mine_all_sets,
    "attack by foreground": attack_release,
    "plan foreground safe": plan_safe,
}
