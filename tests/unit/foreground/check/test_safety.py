"""The checker of foreground safety, beside enumeration and the attack it guards against."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal import checks
from shoal.core.adversary_guarantees import ForegroundSafety
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.kernels import load_plain
from shoal.foreground.attribute_sets import usable_sets
from shoal.foreground.check import model as module
from shoal.foreground.check.model import Mixed, Small
from shoal.foreground.check.safety import largest_link
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.mining import expose
from shoal.locating.exposed import Exposed

DISEASE = Domain.of_texts("disease", ["cold", "flu"])


def release(rows, bucket, value):
    """Return the buckets and the lines of a release, one row per person."""
    columns = [Domain.of_texts(f"q{place}", ["a", "b", "c"]) for place in range(rows.shape[1])]
    numbers = Domain.of_texts("bucket", [f"{n:03}" for n in range(bucket.max() + 1)])
    lines = Cells.of_rows([numbers, *columns], np.column_stack([bucket, rows]))
    return Buckets.of_pairs(bucket, value, DISEASE), lines, columns


def enumerated(rows, carriers, odds):
    """Return the expected carriers of each class of one bucket, world by world."""
    people = np.repeat(np.arange(len(rows)), rows)
    expected, total = np.zeros(len(rows)), 0.0
    for world in combinations(range(len(people)), carriers):
        chosen = people[list(world)]
        weight = float(np.prod(odds[chosen]))
        total += weight
        np.add.at(expected, chosen, weight)
    return expected / total


@pytest.mark.parametrize(("rows", "carriers"), [*product([(2, 3), (1, 1, 4), (5, 2)], [1, 2, 3])])
def test_expected_carriers_equal_those_of_all_worlds(rows, carriers):
    chances = np.array([0.3, 0.02, 1e-6])[: len(rows)]
    odds = chances / (1 - chances)
    one, which = np.array([1]), tuple(range(len(rows)))
    large = Mixed(
        np.array([which]), np.array([rows]), np.array([carriers]), one, np.array([0]), np.array([0])
    )
    small = Small.of([large], len(rows))
    expected = enumerated(np.array(rows), carriers, odds)
    for part in (large, small):
        found, log = part.expect(np.log(odds)[np.newaxis])
        assert found[0] == pytest.approx(expected, rel=1e-9)
        assert np.exp(log[0]) == pytest.approx(weight_of_worlds(rows, carriers, odds), rel=1e-9)
        bucket, belief = part.beliefs(np.log(odds)[np.newaxis], np.ones(1))
        assert (bucket.tolist(), belief[0]) == ([0], pytest.approx((expected / rows).max()))


@given(
    st.lists(
        st.tuples(st.lists(st.integers(1, 40), min_size=2, max_size=5), st.floats(0, 1)),
        min_size=1,
        max_size=4,
    ),
    st.integers(0, 10**6),
)
def test_the_kernel_finds_what_fourier_transforms_find(buckets, seed):
    logs = np.random.default_rng(seed).normal(-1, 4, (2, 5))
    mixed = []
    for number, (rows, part) in enumerate(buckets):
        carriers = min(max(round(part * sum(rows)), 1), sum(rows) - 1)
        which = np.arange(len(rows))[np.newaxis]
        one = Mixed.of(which, np.array([rows]), np.array([carriers]), np.array([number]))
        mixed.append(one)
    small = Small.of(mixed, 5)
    plain = load_plain("shoal.foreground.check._kernels").share_out
    for kernel in (module.share_out, plain):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "share_out", kernel)
            found, log = small.expect(logs)
            bucket, belief = small.beliefs(logs, np.array([0.3, 0.7]))
        parts = [one.expect(logs) for one in mixed]
        assert found == pytest.approx(sum(one for one, _ in parts), rel=1e-6, abs=1e-9)
        assert log == pytest.approx(sum(one for _, one in parts), rel=1e-9, abs=1e-7)
        beliefs = [one.beliefs(logs, np.array([0.3, 0.7])) for one in mixed]
        assert bucket.tolist() == [one[0] for one, _ in beliefs]
        assert belief == pytest.approx([one[0] for _, one in beliefs], rel=1e-6, abs=1e-9)


def weight_of_worlds(rows, carriers, odds):
    """Return the sum of the products of the odds of those who carry the value, over all worlds."""
    people = np.repeat(np.arange(len(rows)), rows)
    worlds = combinations(range(len(people)), carriers)
    return sum(float(np.prod(odds[people[list(world)]])) for world in worlds)


@pytest.mark.parametrize("policy", ["pool", "prior", "half"])
@pytest.mark.parametrize("seed", range(8))
def test_it_believes_what_the_attack_believes(seed, policy):
    random = np.random.default_rng(seed)
    rows, value = random.integers(0, 3, (150, 2)), (random.random(150) < 0.2).astype(int)
    bucket = np.repeat(np.arange(15), 10)
    buckets, lines, columns = release(rows, bucket, value)
    exposed = Exposed.of_rows(columns, rows, bucket, value, DISEASE)
    found, sets = expose(Target.of(exposed, [1]), usable_sets(exposed.looks, 20), policy=policy)
    assert sets
    link = largest_link(buckets, lines, (1,), 20, policy)
    assert link == pytest.approx(float(found.p.max()), abs=1e-6)


def test_a_release_of_pure_buckets_holds_and_a_swap_of_two_rows_is_caught():
    rows = np.repeat([[0], [1]], 40, axis=0)
    bucket = np.repeat(np.arange(20), 4)
    value = np.tile([1, 0, 0, 0], 20)
    value[40:] = 0
    guarantee = ForegroundSafety(value="flu", r=4, epsilon="0.1")
    buckets, lines, _ = release(rows, bucket, value)
    held = checks.check(guarantee, checks.Evidence(buckets, buckets.sizes, lines=lines))
    assert (held.holds, held.is_partial, held.reached) == (True, False, {"r": "4"})
    # A person of the kind that never has it takes the place of one of the others.
    swapped = rows.copy()
    swapped[[1, 41]] = rows[[41, 1]]
    buckets, lines, _ = release(swapped, bucket, value)
    broken = checks.check(guarantee, checks.Evidence(buckets, buckets.sizes, lines=lines))
    assert (broken.holds, broken.n_failing) == (False, 1)


def test_without_lines_only_shares_are_checked():
    rows, bucket, value = np.zeros((4, 1), int), np.array([0, 0, 1, 1]), np.array([1, 0, 1, 1])
    buckets, _, _ = release(rows, bucket, value)
    for r, n_failing in ((1, 0), (2, 1)):
        found = checks.check(
            ForegroundSafety(value="flu", r=r), checks.Evidence.of_buckets(buckets)
        )
        assert (found.is_partial, found.n_failing) == (True, n_failing)
