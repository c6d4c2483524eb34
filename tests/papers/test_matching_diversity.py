"""[Li08]: the examples of matching l-diversity, by the checker and by what methods use."""

from __future__ import annotations

import numpy as np
import pytest

from shoal.checks import Evidence, Witness, check, valid_values
from shoal.core.adversary_guarantees import MatchingDiversity
from shoal.core.arrays import marks_of
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.injector.matching import valid_of_bucket

# Table I: sex, disease and, from Table II, group.
PATIENTS = [
    ("F", "ovarian cancer", 1),
    ("F", "ovarian cancer", 1),
    ("M", "prostate cancer", 1),
    ("M", "flu", 2),
    ("F", "heart disease", 2),
    ("M", "heart disease", 2),
    ("M", "heart disease", 3),
    ("M", "flu", 3),
    ("M", "flu", 3),
]
# Section II: what a man never has, and what a woman never has.
NEVER = {"M": {"ovarian cancer"}, "F": {"prostate cancer"}}


def by_methods(values, forbidden):
    """Find valid values as methods do."""
    texts = sorted({*values, *(value for one in forbidden for value in one)})
    marks = np.array([[text in one for text in texts] for one in forbidden])
    codes, counts = np.unique([texts.index(value) for value in values], return_counts=True)
    rows = np.arange(len(values))
    words = valid_of_bucket(rows, np.ones_like(rows), codes, counts, marks)
    return [
        frozenset(texts[code] for code in np.flatnonzero(row))
        for row in marks_of(words, len(texts))
    ]


both = pytest.mark.parametrize("find", [valid_values, by_methods])


@both
def test_bob_of_the_first_group_has_prostate_cancer(find):
    # Section II.
    people = [(sex, disease) for sex, disease, group in PATIENTS if group == 1]
    found = find([disease for _, disease in people], [NEVER[sex] for sex, _ in people])
    assert found == [{"ovarian cancer"}, {"ovarian cancer"}, {"prostate cancer"}]


@both
def test_nothing_rules_out_a_value_in_the_other_groups(find):
    for group in (2, 3):
        people = [(sex, disease) for sex, disease, number in PATIENTS if number == group]
        found = find([disease for _, disease in people], [NEVER[sex] for sex, _ in people])
        assert found == [{"flu", "heart disease"}] * 3


def test_the_anatomized_table_is_2_diverse_in_two_of_three_groups():
    diseases = sorted({disease for _, disease, _ in PATIENTS})
    domain = Domain.of_texts("disease", diseases)
    bucket = np.array([group - 1 for _, _, group in PATIENTS])
    value = np.array([diseases.index(disease) for _, disease, _ in PATIENTS])
    buckets = Buckets.of_pairs(bucket, value, domain)
    sets = np.array([[disease in NEVER[sex] for disease in diseases] for sex in "MF"])
    which = np.array(["MF".index(sex) for sex, _, _ in PATIENTS])
    witness = Witness(bucket, which, np.ones_like(which), sets)
    evidence = Evidence(buckets, buckets.sizes, witnesses={"forbidden": witness})
    verdict = check(MatchingDiversity(ell=2), evidence)
    assert (verdict.n_failing, verdict.n_buckets, verdict.reached) == (1, 3, {"ell": 1})


@both
@pytest.mark.parametrize("ell", [2, 3, 6])
def test_the_only_woman_has_the_only_ovarian_cancer(find, ell):
    # Section V-A: each man can have ell values and she ell + 1 of them, and yet.
    common = [f"disease {number}" for number in range(ell)]
    found = find(["ovarian cancer", *common], [set(), *[NEVER["M"]] * ell])
    assert found[0] == {"ovarian cancer"}
    assert found[1:] == [set(common)] * ell


@both
def test_a_group_of_exactly_ell_rows_can_be_ell_diverse(find):
    # Figure 1 as printed rejects it: with j = i it does not count a row's own value.
    assert find(["flu", "gout"], [set(), set()]) == [{"flu", "gout"}] * 2


@both
def test_a_value_that_a_row_cannot_have_is_not_valid_for_it(find):
    # Figure 1 as printed accepts it: without t_i and the flu of t_j the others do have a matching.
    found = find(["flu", "gout", "gout"], [set(), set(), {"flu"}])
    assert found == [{"flu", "gout"}, {"flu", "gout"}, {"gout"}]
