from __future__ import annotations

import json
from fractions import Fraction

import attrs
import numpy as np
import pytest

from shoal import checks
from shoal.core.adversary_guarantees import (
    BeliefGain,
    ForegroundSafety,
    JointSafety,
    MatchingDiversity,
    RuleProtection,
    SlicedDiversity,
    WeightedMatchingDiversity,
)
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.guarantees import (
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    MConfidentiality,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.manifest import GUARANTEES, guarantee_from_dict
from shoal.core.sliced import Layout, Sliced

SOME = [
    KAnonymity(k=1),
    KAnonymity(k=5),
    BucketSize(k=3),
    DistinctDiversity(ell=3),
    MatchingDiversity(ell=2),
    WeightedMatchingDiversity(ell=2),
    FrequencyDiversity(ell=2),
    FrequencyDiversity(ell="5/2"),
    FrequencyDiversity(ell=3, protect=["v1", None]),
    EntropyDiversity(ell=2),
    EntropyDiversity(ell=2.5),
    RecursiveDiversity(c=2, ell=3),
    RecursiveDiversity(c="1/3", ell=2),
    RecursiveDiversity(c=1, ell=2),
    TCloseness(t=0.2),
    TCloseness(t="1/3", distance="ordered"),
    TCloseness(t=1, distance="hierarchical"),
    TCloseness(t=0, protect=["v1"]),
    AlphaK(alpha=0.5, k=3),
    AlphaK(alpha="1/6", k=2),
    AlphaK(alpha=0.1, k=2, protect=[None]),
    MConfidentiality(m=2, k=3, protect=["v1"]),
    MConfidentiality(m=10, k=1, protect=["v1", None]),
    BeliefGain(t=0.2),
    BeliefGain(t=1, bandwidth="1/3"),
    RuleProtection(delta=0.8, gamma=0.001),
    RuleProtection(delta="2/3", gamma=2, mode="paper"),
    RuleProtection(delta=1, gamma=1.0, mode="oblivious"),
    SlicedDiversity(ell=2),
    SlicedDiversity(ell="5/2", diversity="distinct"),
    ForegroundSafety(r=2),
    ForegroundSafety(r="5/2", value=["v1", None], epsilon="1/30", policy="half"),
    JointSafety(earlier=["0" * 64]),
]


ABOUT_BUCKETS = [
    g for g in SOME if g.name not in ("t-closeness", "no adversarial rule", "joint safety")
]
"""Those that hold or fail in each bucket by itself."""


def partitions(total, largest):
    """Give every way to write a total as a sum, largest part first."""
    if total == 0:
        yield ()
    for part in range(min(total, largest), 0, -1):
        yield from ((part, *rest) for rest in partitions(total - part, part))


def bucket_of(counts):
    """Make a release of one bucket with so many rows of each value."""
    domain = Domain.of_texts("disease", [f"v{i}" for i in range(len(counts))])
    codes = np.arange(len(counts))
    return Buckets.of_pairs(np.zeros_like(codes), codes, domain, np.array(counts))


def keeps(guarantee, counts):
    buckets = bucket_of(counts)
    cells = Cells((buckets.domain,), buckets.value[:, np.newaxis], buckets.count)
    layout = Layout([[buckets.domain.column]], [buckets.domain.column])
    sliced = Sliced.of_pieces(cells, layout, buckets.value, buckets.bucket, buckets.count)
    evidence = attrs.evolve(checks.Evidence.of_buckets(buckets), sliced=sliced)
    return checks.check(guarantee, evidence).holds


def test_every_guarantee_is_tried_here():
    assert {guarantee.name for guarantee in SOME} == set(GUARANTEES)


@pytest.mark.parametrize("guarantee", SOME, ids=str)
def test_a_guarantee_survives_json(guarantee):
    stated = json.loads(json.dumps(guarantee.to_dict()))
    again = guarantee_from_dict(stated)
    assert again == guarantee
    assert hash(again) == hash(guarantee)
    assert again.to_dict() == guarantee.to_dict()


@pytest.mark.parametrize("guarantee", SOME, ids=str)
def test_a_guarantee_states_what_it_promises_and_what_not(guarantee):
    assert guarantee.statement[0].islower()
    assert not guarantee.statement.endswith(".")
    assert guarantee.limits.endswith(".")
    for value in ("v1", "None", "Fraction"):
        assert value not in guarantee.statement


@pytest.mark.parametrize("guarantee", ABOUT_BUCKETS, ids=str)
def test_the_least_bucket_is_the_least_that_the_checker_accepts(guarantee):
    sizes = [
        size
        for size in range(1, 9)
        if any(keeps(guarantee, counts) for counts in partitions(size, size))
    ]
    assert sizes[0] == guarantee.least_bucket


@pytest.mark.parametrize("guarantee", [g for g in SOME if g.posterior_bound is not None], ids=str)
def test_no_bucket_that_keeps_a_guarantee_exceeds_its_posterior_bound(guarantee):
    protect = getattr(guarantee, "protect", ())
    for size in range(1, 9):
        for counts in partitions(size, size):
            shares = {f"v{i}": Fraction(count, size) for i, count in enumerate(counts)}
            worst = max((shares.get(v, 0) for v in protect), default=max(shares.values()))
            if keeps(guarantee, counts):
                assert worst <= guarantee.posterior_bound


def test_thresholds_are_what_was_typed():
    assert TCloseness(t=0.1).t == Fraction(1, 10)
    assert AlphaK(alpha=".3", k=2).alpha == Fraction(3, 10)
    assert FrequencyDiversity(ell="10/3").posterior_bound == Fraction(3, 10)


@pytest.mark.parametrize(
    ("kind", "given"),
    [
        (KAnonymity, {"k": 0}),
        (KAnonymity, {"k": 2.0}),
        (BucketSize, {"k": True}),
        (DistinctDiversity, {"ell": 0}),
        (DistinctDiversity, {"ell": "3"}),
        (FrequencyDiversity, {"ell": 0.99}),
        (EntropyDiversity, {"ell": "nan"}),
        (RecursiveDiversity, {"c": 0, "ell": 2}),
        (RecursiveDiversity, {"c": -1, "ell": 2}),
        (RecursiveDiversity, {"c": 1, "ell": 1}),
        (TCloseness, {"t": 1.01}),
        (TCloseness, {"t": -0.01}),
        (TCloseness, {"t": 0.5, "distance": "cosine"}),
        (TCloseness, {"t": 0.5, "distance": "ordered", "protect": ["flu"]}),
        (AlphaK, {"alpha": 0, "k": 2}),
        (AlphaK, {"alpha": 1.5, "k": 2}),
        (AlphaK, {"alpha": 0.5, "k": 0}),
    ],
)
def test_a_parameter_out_of_range_is_refused(kind, given):
    with pytest.raises(ParameterError):
        kind(**given)


@pytest.mark.parametrize("kind", [FrequencyDiversity, TCloseness, AlphaK])
def test_one_protected_text_is_one_value_not_its_letters(kind):
    given = {"ell": 2} if kind is FrequencyDiversity else {"t": 1}
    given = {"alpha": 1, "k": 1} if kind is AlphaK else given
    assert kind(**given, protect="flu").protect == ("flu",)


@pytest.mark.parametrize(
    "stated",
    [
        {},
        {"name": None},
        {"name": ["k-anonymity"], "k": 5},
        {"name": "K-Anonymity", "k": 5},
        {"name": "k-anonymity"},
        {"name": "k-anonymity", "k": 5, "ell": 3},
        {"name": "k-anonymity", "k": "5"},
        {"name": "t-closeness", "t": "0.5", "protect": 5},
        {"name": "t-closeness", "t": "0.5", "protect": [5]},
        {"name": "t-closeness", "t": "0.5", "protect": [["flu"]]},
        {"name": "t-closeness", "t": "1e999999999"},
    ],
)
def test_what_is_no_guarantee_is_not_read_as_one(stated):
    with pytest.raises(ParameterError):
        guarantee_from_dict(stated)
