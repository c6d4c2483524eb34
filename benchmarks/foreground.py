"""Time the foreground attack on Adult, part by part, and the release that it does not break.

    python benchmarks/foreground.py adult.csv

CPU seconds, without reading the table and publishing. The paper reports up to 12 minutes for its
sets on a Pentium IV.
"""

from __future__ import annotations

import sys
import time

import shoal
from shoal.core.kernels import describe
from shoal.core.secret import Secret
from shoal.datasets.adult import LOW_EDUCATION
from shoal.knowledge.foreground import (
    Exposed,
    Target,
    expose,
    fit_additive,
    sample_size,
    usable_sets,
)
from shoal.pipeline.anonymize import problem_of

ELLS = (2, 4, 6, 8, 10)


def timed(work):
    begin = time.process_time()
    return work(), time.process_time() - begin


def main(path: str) -> None:
    print(describe())
    table = shoal.read(shoal.datasets.adult(path, "foreground-8"))
    print("| l | sets | finding sets | EM and p(t:x) | additive model | whole attack |")
    print("|---|---|---|---|---|---|")
    for ell in ELLS:
        method = shoal.Anatomy(ell=ell, protect=list(LOW_EDUCATION))
        release = shoal.anonymize(table, method, seed=1)
        published = release.published
        exposed = Exposed.of_published(published)
        target = Target.of(exposed, exposed.buckets.domain.codes_of(list(LOW_EDUCATION)))
        sets, finding = timed(lambda exposed=exposed: usable_sets(exposed.looks, sample_size()))
        _, mining = timed(lambda target=target, sets=sets: expose(target, sets))
        _, additive = timed(lambda target=target: fit_additive(target))
        attack = shoal.attacks.Foreground(value=LOW_EDUCATION, r=ell)
        _, whole = timed(lambda release=release, attack=attack: shoal.attack(release, attack))
        print(
            f"| {ell} | {len(sets)} | {finding:.2f} | {mining:.2f} | {additive:.2f} | {whole:.2f} |"
        )
    print("| r | foreground-safe release, planned | planned, placed and checked |")
    print("|---|---|---|")
    for r in (2, 4, 10):
        safe = shoal.ForegroundSafe(value=LOW_EDUCATION, r=r)
        problem = problem_of(table, safe, Secret.from_seed(1))
        _, planning = timed(lambda safe=safe, problem=problem: safe.plan(problem))
        _, whole = timed(lambda safe=safe: shoal.anonymize(table, safe, seed=1))
        print(f"| {r} | {planning:.2f} | {whole:.2f} |")


if __name__ == "__main__":
    main(sys.argv[1])
