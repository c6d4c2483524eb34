"""Evidence and its counts are confirmed before a verdict is reached."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

from shoal.checks import Evidence, Verdict, check, distinct_diversity
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.guarantees import (
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.tree import Level, grow_tree
from shoal.core.verdict import confirm

ABOUT_SENSITIVE = [
    DistinctDiversity(ell=2),
    FrequencyDiversity(ell=2),
    FrequencyDiversity(ell=2, protect=("secret-flu",)),
    EntropyDiversity(ell=2),
    RecursiveDiversity(c=2, ell=2),
    TCloseness(t=0.1),
    TCloseness(t=0.1, distance="ordered"),
    TCloseness(t=0.1, distance="hierarchical"),
    TCloseness(t=0.1, protect=("secret-flu", None)),
    AlphaK(alpha=0.5, k=2),
    AlphaK(alpha=0.5, k=2, protect=("secret-flu",)),
]


def named(guarantee):
    return " ".join(map(str, guarantee.to_dict().values()))


def test_verdict_is_written_as_json():
    verdict = check(KAnonymity(k=3), Evidence(None, np.array([2, 5])))
    assert json.loads(json.dumps(verdict.to_dict())) == {
        "guarantee": {"name": "k-anonymity", "k": 3},
        "holds": False,
        "checked": True,
        "partial": False,
        "reached": {"k": 2},
        "buckets": 2,
        "failing": 1,
        "detail": "1 of 2 buckets hold fewer than 3 rows",
    }


def test_verdict_is_frozen():
    verdict = check(KAnonymity(k=3), Evidence(None, np.array([2, 5])))
    with pytest.raises(FrozenInstanceError):
        verdict.holds = True


def test_verdict_shows_what_holds():
    verdict = check(BucketSize(k=2), Evidence(None, np.array([2, 5])))
    assert repr(verdict) == "Verdict(bucket size holds in all 2 buckets, reached k=2)"
    assert verdict.detail == "none of 2 buckets hold fewer than 2 rows"


def test_verdict_shows_no_empty_parameters():
    verdict = check(BucketSize(k=2), Evidence(None, np.array([], dtype=np.int64)))
    assert repr(verdict) == "Verdict(bucket size holds in all 0 buckets)"


@pytest.mark.parametrize("guarantee", ABOUT_SENSITIVE, ids=named)
def test_no_text_holds_a_value(buckets_of, guarantee):
    buckets = buckets_of(["secret-flu", "secret-flu"], ["secret-cold", None])
    tree = grow_tree(buckets.domain, [Level(np.array([0, 1]), ["secret-a", "secret-b"])])
    evidence = Evidence(buckets, buckets.sizes, tree)
    verdict = check(guarantee, evidence)
    assert not verdict.holds
    for text in (repr(verdict), verdict.detail, str(dict(verdict.reached)), repr(evidence)):
        assert "secret" not in text


@pytest.mark.parametrize("guarantee", ABOUT_SENSITIVE, ids=named)
def test_every_guarantee_holds_where_there_are_no_rows(guarantee):
    domain = Domain.of_texts("disease", [])
    none = np.array([], dtype=np.int64)
    tree = grow_tree(domain, [])
    verdict = check(guarantee, Evidence.of_buckets(Buckets(0, none, none, none, domain), tree))
    assert verdict.holds
    assert verdict.reached == {}


@pytest.mark.parametrize("guarantee", ABOUT_SENSITIVE, ids=named)
def test_a_guarantee_about_sensitive_values_needs_them(guarantee):
    with pytest.raises(ParameterError, match="is about a sensitive column"):
        check(guarantee, Evidence(None, np.array([3])))


def test_evidence_takes_sizes_from_buckets(inpatients):
    assert Evidence.of_buckets(inpatients).sizes.tolist() == [4, 4, 4]
    assert repr(Evidence.of_buckets(inpatients)) == "Evidence(3 buckets, 12 rows, disease)"


def test_evidence_shows_that_it_has_a_hierarchy(inpatients):
    evidence = Evidence.of_buckets(inpatients, grow_tree(inpatients.domain, []))
    assert repr(evidence) == "Evidence(3 buckets, 12 rows, disease, with a hierarchy)"


def test_evidence_refuses_buckets_with_more_values_than_rows(inpatients):
    with pytest.raises(DataError, match="12 values in 3 buckets and 11 rows in 3"):
        Evidence(inpatients, np.array([4, 4, 3]))
    with pytest.raises(DataError, match="as many sensitive values as rows"):
        Evidence(inpatients, np.array([4, 4, 4, 1]))


def test_witnesses_cannot_be_changed():
    given = {"rules": 1}
    evidence = Evidence(None, np.array([1]), witnesses=given)
    given["rules"] = 2
    assert evidence.witnesses == {"rules": 1}
    with pytest.raises(TypeError):
        evidence.witnesses["rules"] = 3


def test_verdict_needs_names():
    with pytest.raises(TypeError):
        Verdict(KAnonymity(k=2), True, {}, 1, 0, "")


DISEASE = Domain.of_texts("disease", ["cold", "flu"])


def made(n_buckets, bucket, value, count):
    arrays = (np.array(numbers, dtype=np.int64) for numbers in (bucket, value, count))
    return Buckets(n_buckets, *arrays, DISEASE)


def test_sound_entries_pass():
    buckets = made(2, [0, 0, 1], [0, 1, 0], [1, 2, 3])
    assert confirm(buckets) is buckets


@pytest.mark.parametrize(
    "buckets",
    [
        pytest.param(made(2, [0, 1, 0], [0, 0, 1], [1, 1, 1]), id="unsorted buckets"),
        pytest.param(made(1, [0, 0], [1, 0], [1, 1]), id="unsorted values"),
        pytest.param(made(1, [0, 0], [1, 1], [1, 1]), id="a pair twice"),
        pytest.param(made(2, [0, 0], [0, 1], [1, 1]), id="an empty bucket at the end"),
        pytest.param(made(3, [0, 2], [0, 1], [1, 1]), id="an empty bucket between"),
        pytest.param(made(2, [1, 1], [0, 1], [1, 1]), id="an empty bucket at the start"),
        pytest.param(made(1, [], [], []), id="nothing but an empty bucket"),
        pytest.param(made(1, [0], [0], [0]), id="a count of 0"),
        pytest.param(made(1, [0, 0], [0, 1], [3, -1]), id="a negative count"),
        pytest.param(made(1, [0], [2], [1]), id="a value beyond the domain"),
        pytest.param(made(1, [0], [-1], [1]), id="a negative value"),
        pytest.param(made(1, [0, 0], [0, 1], [1]), id="arrays of two lengths"),
    ],
)
def test_unsound_entries_are_refused(buckets):
    with pytest.raises(DataError, match="'disease'"):
        confirm(buckets)
    with pytest.raises(DataError):
        distinct_diversity(buckets)


def test_counts_that_are_too_narrow_are_refused():
    narrow = np.array([1], dtype=np.int32)
    with pytest.raises(DataError):
        confirm(Buckets(1, np.array([0]), np.array([0]), narrow, DISEASE))


def test_a_release_without_rows_has_no_strongest_parameter():
    with pytest.raises(DataError, match="without rows"):
        distinct_diversity(made(0, [], [], []))
