import json
import random
from itertools import pairwise

import numpy as np
import pytest

from shoal.checks import Evidence, Witness, check, fewest_valid_values, valid_values
from shoal.core.adversary_guarantees import MatchingDiversity
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.errors import DataError, ParameterError
from shoal.core.manifest import guarantee_from_dict


@pytest.fixture
def judged(buckets_of):
    """Check buckets of (own value, forbidden values), given as lists."""

    def judge(ell, *buckets):
        evidence = evidence_of(buckets_of, *buckets)
        return check(MatchingDiversity(ell=ell), evidence)

    return judge


def evidence_of(buckets_of, *buckets):
    made = buckets_of(*([own for own, _ in rows] for rows in buckets))
    labels = made.domain.labels()
    rows = [(number, one) for number, rows in enumerate(buckets) for _, one in rows]
    witness = Witness(
        np.array([number for number, _ in rows]),
        np.arange(len(rows)),
        np.ones(len(rows), dtype=np.int64),
        np.array([[label in one for label in labels] for _, one in rows]),
    )
    return Evidence(made, made.sizes, witnesses={"forbidden": witness})


# --- one bucket ----------------------------------------------------------------------------------


def test_a_bucket_without_rows_has_no_rows():
    assert valid_values([], []) == []


def test_where_nothing_is_forbidden_everybody_can_have_everything():
    assert valid_values(["a", "b", "b"], [(), [], set()]) == [{"a", "b"}] * 3


def test_the_example_that_grouping_must_survive():
    assert valid_values(["a", "b", "b"], [(), (), {"a"}]) == [{"a", "b"}, {"a", "b"}, {"b"}]


def test_a_contradiction_leaves_nobody_a_value():
    assert valid_values(["a", "b", "c"], [(), {"a", "b", "c"}, ()]) == [frozenset()] * 3
    assert valid_values(["a", "a", "c"], [{"a"}, {"a"}, ()]) == [frozenset()] * 3


def test_an_own_value_may_be_forbidden():
    assert valid_values(["a", "b"], [{"a"}, ()]) == [{"b"}, {"a"}]


def test_missing_is_a_value_and_any_hashable_will_do():
    assert valid_values([None, 1, ("x",)], [{None}, {1}, {("x",)}]) == [
        {1, ("x",)},
        {None, ("x",)},
        {None, 1},
    ]


def test_values_that_the_bucket_lacks_can_be_forbidden_and_named_twice():
    assert valid_values(["a", "b"], [["z", "a", "a"], iter("z")]) == [{"b"}, {"a"}]


def test_as_many_values_as_rows_are_needed():
    with pytest.raises(ParameterError, match="2 values for 1 rows"):
        valid_values(["secret", "secret"], [()])


def test_one_text_is_not_taken_for_its_letters():
    with pytest.raises(ParameterError, match="not one text"):
        valid_values(["a", "b"], ["a", ()])


def test_a_chain_through_every_row_is_found():
    # Row i can have value i or i + 1, the last one the last or the first: all move on, or none.
    values = [f"v{number:02}" for number in range(80)]
    steps = [*pairwise(values), (values[-1], values[0])]
    around = [set(values) - set(pair) for pair in steps]
    assert valid_values(values, around) == [set(pair) for pair in steps]
    # Without the way back nobody can move.
    around[-1].add(values[0])
    assert valid_values(values, around) == [{value} for value in values]


def test_a_bucket_of_thousands_of_rows():
    chance = random.Random(1)
    pool = [f"v{number:03}" for number in range(150)]
    sets = [frozenset(chance.sample(pool, 100)) for _ in range(150)]
    forbidden = [chance.choice(sets) for _ in range(4000)]
    values = [chance.choice([value for value in pool if value not in one]) for one in forbidden]
    # Nobody else can have what is the only one's.
    found = valid_values([*values, "only"], [one | {"only"} for one in forbidden] + [()])
    assert found[-1] == {"only"}
    assert all(own in one for own, one in zip(values, found, strict=False))
    assert not any(one & bad for one, bad in zip(found, forbidden, strict=False))


# --- releases ------------------------------------------------------------------------------------


def test_the_verdict_counts_buckets(judged):
    good = [("a", ()), ("b", ()), ("c", ())]
    verdict = judged(2, good, [("a", ()), ("b", {"a"})], good)
    assert repr(verdict) == "Verdict(matching l-diversity fails in 1 of 3 buckets, reached ell=1)"
    assert verdict.detail == "1 of 3 buckets hold somebody with fewer than 2 valid values"
    assert judged(1, good, [("a", ()), ("b", {"a"})], good).holds
    assert judged(3, good, good).holds


def test_a_contradiction_reaches_nothing(judged):
    verdict = judged(1, [("a", ()), ("b", ())], [("a", {"a"})])
    assert (verdict.holds, verdict.n_failing, verdict.reached) == (False, 1, {"ell": 0})


def test_buckets_of_few_and_of_many_values_are_told_apart(judged):
    values = [f"v{number:02}" for number in range(40)]
    wide = [(value, ()) for value in values]
    lonely = [("v00", ()), *((value, {"v00"}) for value in values[1:])]
    narrow = [("v00", ()), ("v01", ())]
    assert judged(2, wide, narrow, wide).reached == {"ell": 2}
    verdict = judged(2, narrow, wide, lonely, narrow)
    assert (verdict.n_failing, verdict.reached) == (1, {"ell": 1})
    assert judged(40, wide, wide).holds


def test_without_the_witness_it_is_checked_in_part(buckets_of):
    buckets = buckets_of(["a", "b"], ["a", "b", "c"])
    verdict = check(MatchingDiversity(ell=2), Evidence.of_buckets(buckets))
    assert (verdict.holds, verdict.is_partial) == (True, True)
    assert verdict.reached == {"ell_at_most": 2}
    assert "was not checked" in verdict.detail
    assert repr(verdict) == (
        "Verdict(matching l-diversity holds in all 2 buckets as far as checked, "
        "reached ell_at_most=2)"
    )
    verdict = check(MatchingDiversity(ell=3), Evidence.of_buckets(buckets))
    assert (verdict.holds, verdict.is_partial, verdict.n_failing) == (False, True, 1)


def test_the_verdict_says_as_json_whether_it_is_partial(buckets_of):
    rows = [("a", ()), ("b", ())]
    evidence = evidence_of(buckets_of, rows)
    guarantee = MatchingDiversity(ell=2)
    assert json.loads(json.dumps(check(guarantee, evidence).to_dict()))["partial"] is False
    in_part = check(guarantee, Evidence.of_buckets(evidence.buckets))
    assert json.loads(json.dumps(in_part.to_dict()))["partial"] is True


def test_a_release_without_rows_keeps_it():
    none = np.array([], dtype=np.int64)
    domain = Domain.of_texts("disease", [])
    buckets = Buckets(0, none, none, none, domain)
    witness = Witness(none, none, none, np.zeros((0, 0), dtype=bool))
    for witnesses in ({}, {"forbidden": witness}):
        verdict = check(
            MatchingDiversity(ell=2), Evidence(buckets, buckets.sizes, witnesses=witnesses)
        )
        assert (verdict.holds, verdict.reached) == (True, {})
    with pytest.raises(DataError, match="no strongest parameter"):
        fewest_valid_values(buckets, witness)


def test_it_is_about_a_sensitive_column():
    with pytest.raises(ParameterError, match="is about a sensitive column"):
        check(MatchingDiversity(ell=2), Evidence(None, np.array([3])))


def test_no_text_shows_a_value(judged):
    verdict = judged(2, [("secret", ()), ("secret two", {"secret"})])
    assert "secret" not in repr(verdict) + verdict.detail
    assert "secret" not in MatchingDiversity(ell=2).statement


# --- the witness ---------------------------------------------------------------------------------


def test_a_witness_shows_counts_only():
    sets = np.array([[False, True]])
    witness = Witness(np.array([0, 1]), np.array([0, 0]), np.array([4, 3]), sets)
    assert repr(witness) == "Witness(7 rows, 1 sets of forbidden values)"


@pytest.mark.parametrize(
    ("bucket", "which", "count"),
    [
        ([0, 0], [0], [1, 1]),
        ([0], [0], [1.0]),
        ([-1], [0], [1]),
        ([0], [-1], [1]),
        ([0], [1], [1]),
        ([0], [0], [0]),
    ],
)
def test_a_witness_of_nobody_or_nothing_is_refused(bucket, which, count):
    with pytest.raises(DataError):
        Witness(np.array(bucket), np.array(which), np.array(count), np.array([[False]]))


@pytest.mark.parametrize("sets", [np.array([True]), np.array([[1]])])
def test_the_sets_of_a_witness_are_marks(sets):
    one = np.array([1])
    with pytest.raises(DataError, match="a matrix of marks"):
        Witness(one, one - 1, one, sets)


def test_the_witness_must_be_of_the_same_rows_and_values(buckets_of):
    buckets = buckets_of(["a", "b"], ["a", "b"])
    sets = np.zeros((1, 2), dtype=bool)

    def judge(bucket, count, sets=sets):
        places = np.zeros(len(bucket), dtype=np.int64)
        witness = Witness(np.array(bucket), places, np.array(count), sets)
        evidence = Evidence(buckets, buckets.sizes, witnesses={"forbidden": witness})
        return check(MatchingDiversity(ell=2), evidence)

    assert judge([1, 0, 1], [1, 2, 1]).holds
    for bucket, count in [([0, 1], [2, 1]), ([0, 1], [3, 1]), ([0], [4]), ([0, 1, 2], [2, 2, 1])]:
        with pytest.raises(DataError, match="needs a set of forbidden values"):
            judge(bucket, count)
    with pytest.raises(DataError, match="among the 2 values of column 'disease', not among 3"):
        judge([0, 1], [2, 2], np.zeros((1, 3), dtype=bool))


def test_another_witness_is_refused(buckets_of):
    buckets = buckets_of(["a", "b"])
    evidence = Evidence(buckets, buckets.sizes, witnesses={"forbidden": {"a": "secret"}})
    with pytest.raises(ParameterError, match="must be a Witness, not a dict"):
        check(MatchingDiversity(ell=2), evidence)


# --- the guarantee -------------------------------------------------------------------------------


def test_the_guarantee_names_its_witness_and_survives_json():
    guarantee = MatchingDiversity(ell=3)
    assert guarantee.needs_witness == "forbidden"
    assert guarantee_from_dict(json.loads(json.dumps(guarantee.to_dict()))) == guarantee
    assert guarantee.least_bucket == 3


@pytest.mark.parametrize("ell", [0, -1, 1.5, "2", True])
def test_ell_is_a_whole_number(ell):
    with pytest.raises(ParameterError, match="ell must be a whole number"):
        MatchingDiversity(ell=ell)
