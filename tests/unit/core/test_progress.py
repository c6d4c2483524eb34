"""Every checker counts what it does, and says *not checked* where that would be too much."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal import checks
from shoal.checks.adversarial_rules import Witnessed
from shoal.checks.matching_diversity import Witness
from shoal.core.believed_rows import BelievedRows
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.guarantees import (
    AlphaK,
    BeliefGain,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    ForegroundSafety,
    FrequencyDiversity,
    KAnonymity,
    MatchingDiversity,
    MConfidentiality,
    RecursiveDiversity,
    RuleProtection,
    SlicedDiversity,
    TCloseness,
    WeightedMatchingDiversity,
)
from shoal.core.hierarchy import Hierarchy
from shoal.core.rows import Rows
from shoal.core.sliced import Layout, Sliced
from shoal.core.work import Work

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
