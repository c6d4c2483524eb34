"""Shares of a step, and the operations that a checker may spend before it says *not checked*."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal import checks
from shoal.core import progress
from shoal.core.adversary_guarantees import (
    BeliefGain,
    ForegroundSafety,
    MatchingDiversity,
    RuleProtection,
    SlicedDiversity,
    WeightedMatchingDiversity,
)
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
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
from shoal.core.prior_knowledge import BelievedRows
from shoal.core.progress import Work, following, tell_share, watching
from shoal.core.sliced import Layout, Sliced
from shoal.core.table import Rows
from shoal.hiding.check import Witnessed
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.check.matching_diversity import Witness


@pytest.fixture
def told(monkeypatch):
    """Hear every share, however soon after another."""
    monkeypatch.setattr(progress, "_MOMENT", 0.0)
    heard: list[float] = []
    with watching(heard.append):
        yield heard


def test_a_loop_says_which_share_is_done(told):
    assert list(following([1, 2, 3, 4])) == [1, 2, 3, 4]
    assert told == [0.0, 0.25, 0.5, 0.75]


def test_a_loop_inside_a_loop_is_a_part_of_its_turn(told):
    for _ in following("ab"):
        for _ in following("xy"):
            tell_share(0.5)
    assert told == [0.0, 0.0, 0.125, 0.25, 0.375, 0.5, 0.5, 0.625, 0.75, 0.875]


def test_a_loop_that_is_left_early_gives_its_part_back(told):
    loop = following("ab")
    next(loop)
    loop.close()
    tell_share(0.75)
    assert told[-1] == 0.75


def test_shares_stay_between_nothing_and_all(told):
    tell_share(-1)
    tell_share(2)
    assert told == [0.0, 1.0]


def test_a_watcher_is_not_called_more_often_than_anybody_can_read():
    heard: list[float] = []
    with watching(heard.append):
        for _ in following(range(1000)):
            pass
    assert len(heard) < 50


def test_without_a_watcher_nothing_is_told():
    tell_share(0.5)
    assert list(following((1, 2))) == [1, 2]


VALUES = ["cold", "flu", "gout", "mumps"]
DISEASE = Domain.of_texts("disease", VALUES)
BUCKET = np.repeat(np.arange(6), 4)
VALUE = np.tile(np.arange(4), 6)
BUCKETS = Buckets.of_pairs(BUCKET, VALUE, DISEASE)


def evidence(work, **given):
    return checks.Evidence(BUCKETS, BUCKETS.sizes, work=work, **given)


def lines(n_columns):
    """Give published lines with many columns, in each of which all rows but a few are alike."""
    random = np.random.default_rng(1)
    codes = (random.random((24, n_columns)) < 0.1).astype(np.int64)
    names = Domain.of_texts("bucket", [f"{number}" for number in range(6)])
    columns = [Domain.of_texts(f"q{place:02}", ["a", "b"]) for place in range(n_columns)]
    return Cells.of_rows([names, *columns], np.column_stack([BUCKET, codes]))


def forbidden(n_values):
    """Give a bucket of so many values, and rows each of which cannot have some of them."""
    random = np.random.default_rng(2)
    domain = Domain.of_texts("disease", [f"v{place:02}" for place in range(n_values)])
    buckets = Buckets.of_pairs(np.zeros(n_values, int), np.arange(n_values), domain)
    sets = random.random((n_values, n_values)) < 0.3
    np.fill_diagonal(sets, val=False)
    rows = np.arange(n_values)
    return buckets, Witness(np.zeros(n_values, int), rows, np.ones(n_values, int), sets)


def matched(guarantee, n_values, work):
    buckets, witness = forbidden(n_values)
    return checks.check(
        guarantee,
        checks.Evidence(buckets, buckets.sizes, witnesses={"forbidden": witness}, work=work),
    )


def gained(work):
    priors = np.tile([0.25], (24, 4))
    believed = BelievedRows.of_pairs(BUCKET, np.arange(24), priors)
    return checks.check(BeliefGain(t=0.5), evidence(work, witnesses={"beliefs": believed}))


def hidden(work, n_columns=8):
    random = np.random.default_rng(3)
    codes = random.integers(0, 2, (40, n_columns))
    is_private = random.random(codes.shape) < 0.05
    domains = tuple(Domain.of_texts(f"q{place}", ["a", "b"]) for place in range(n_columns))
    rows = Rows(domains, np.where(is_private, -1, codes))
    given = checks.Evidence(
        None,
        np.array([40]),
        rows=rows,
        witnesses={"private": Witnessed(codes, is_private)},
        work=work,
    )
    return checks.check(RuleProtection(delta=0.9, gamma=2), given)


def sliced(work, layout, *, has_tuples=False):
    sex = Domain.of_texts("sex", ["F", "M"])
    cells = Cells.of_rows([sex, DISEASE], np.column_stack([np.arange(24) // 4 % 2, VALUE]))
    number = np.arange(cells.n_cells)
    release = Sliced.of_pieces(cells, layout, number, number % 2, np.ones(len(number), int))
    given = checks.Evidence(
        None,
        release.sizes,
        sliced=release,
        witnesses={"tuples": cells} if has_tuples else {},
        work=work,
    )
    return checks.check(SlicedDiversity(ell=1), given)


TREE = Hierarchy.from_rows([[one, "illness", "*"] for one in VALUES], column="disease")
SHARED = Layout([["sex", "disease"], ["disease"]], ["disease"])
APART = Layout([["sex"], ["disease"]], ["disease"])

FORGED = {
    "k-anonymity": lambda work: checks.check(KAnonymity(k=2), evidence(work)),
    "bucket size": lambda work: checks.check(BucketSize(k=2), evidence(work)),
    "distinct": lambda work: checks.check(DistinctDiversity(ell=2), evidence(work)),
    "frequency": lambda work: checks.check(FrequencyDiversity(ell=2), evidence(work)),
    # Many digits that agree with the entropy of the buckets.
    "entropy": lambda work: checks.check(
        EntropyDiversity(ell=Fraction(4 * 10**60 - 1, 10**60)), evidence(work)
    ),
    "recursive": lambda work: checks.check(RecursiveDiversity(ell=2, c=2), evidence(work)),
    "alpha": lambda work: checks.check(AlphaK(alpha=0.5, k=2), evidence(work)),
    "m-confidentiality": lambda work: checks.check(
        MConfidentiality(m=2, k=2, protect=["flu"]), evidence(work)
    ),
    "t-closeness": lambda work: checks.check(
        TCloseness(t=0.5, distance="hierarchical"), evidence(work, tree=TREE.over(DISEASE))
    ),
    "matching, few values": lambda work: matched(MatchingDiversity(ell=2), 8, work),
    "matching, many values": lambda work: matched(MatchingDiversity(ell=2), 20, work),
    "weighted matching": lambda work: matched(WeightedMatchingDiversity(ell=2), 6, work),
    "belief gain": gained,
    "adversarial rules": hidden,
    "sliced, by values": lambda work: sliced(work, APART),
    "sliced, by tuples": lambda work: sliced(work, APART, has_tuples=True),
    "sliced, by combinations": lambda work: sliced(work, SHARED),
    "foreground safety": lambda work: checks.check(
        ForegroundSafety(value="flu", r=2, epsilon=0.3), evidence(work, lines=lines(4))
    ),
}


@pytest.mark.parametrize("name", FORGED)
def test_one_operation_too_few_and_nothing_is_checked(name):
    free = Work(10**12)
    assert FORGED[name](free).is_checked
    assert free.spent > 0
    # The count depends on the release alone, so the same bound always suffices.
    assert FORGED[name](Work(free.spent)).is_checked
    verdict = FORGED[name](Work(free.spent - 1))
    assert (verdict.is_checked, verdict.holds) == (False, False)
    assert "not checked: too large" in verdict.detail
    assert verdict.to_dict()["checked"] is False
    assert repr(verdict).endswith("operations)")


def test_sets_of_columns_are_found_level_by_level():
    """Of 40 columns hardly a pair has a signature of enough rows: 2^40 sets are not looked at."""
    random = np.random.default_rng(4)
    codes = random.integers(0, 6, (24, 40))
    names = Domain.of_texts("bucket", [f"{number}" for number in range(6)])
    columns = [Domain.of_texts(f"q{place:02}", list("abcdef")) for place in range(40)]
    wide = Cells.of_rows([names, *columns], np.column_stack([BUCKET, codes]))
    given = evidence(Work(10**8), lines=wide)
    assert checks.check(ForegroundSafety(value="flu", r=1, epsilon=0.17), given).is_checked


def test_a_forged_claim_about_every_set_of_columns_is_not_checked():
    """All 2^30 sets of columns have a signature of one row."""
    given = evidence(Work(10**7), lines=lines(30))
    claim = ForegroundSafety(value="flu", r=2, epsilon=1, sigma=1)
    assert not checks.check(claim, given).is_checked


def test_rules_over_many_columns_are_not_checked():
    assert not hidden(Work(10**6), n_columns=30).is_checked


def test_what_is_left_of_the_bound_counts_for_the_next_guarantee():
    free = Work(10**6)
    checks.check(KAnonymity(k=2), evidence(free))
    given = evidence(Work(2 * free.spent - 1))
    assert checks.check(KAnonymity(k=2), given).is_checked
    assert not checks.check(KAnonymity(k=2), given).is_checked
