"""The minimality attack on releases: what merging betrays, and what MASK leaves of it."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest

import shoal
from shoal.attacks import Minimality
from shoal.core.errors import DataError, ParameterError, SchemaError
from shoal.core.findings import about_everybody

HOMES = ["q1"] * 2 + ["q2"] * 5
DISEASES = ["HIV"] * 2 + ["flu"] * 5
SCHEMA = shoal.Schema(quasi=["home"], sensitive="disease")
HALF = {"ell": 2, "protect": ["HIV"]}
"""At most half of a bucket has HIV."""


def read(homes=HOMES, diseases=DISEASES, schema=SCHEMA):
    return shoal.read({"home": homes, "disease": diseases}, schema)


def credibility(release, people, **parameters):
    """Give the findings, and the credibility by home: homes are sorted."""
    (found,) = shoal.attack(release, Minimality(**parameters), people=people)
    return found, found.posterior.tolist()


# --- methods that merge no more than they must -----------------------------------------------


@pytest.mark.parametrize("publish", ["generalized", "bucketized"])
def test_that_two_were_merged_says_that_both_have_it(publish):
    """[Wong07]: of (2, 0), (1, 1), (0, 2) only the first needs merging."""
    table = read()
    release = shoal.anonymize(table, shoal.Mondrian(**HALF, publish=publish), seed=1)
    assert release.manifest.n_buckets == 1
    found, belief = credibility(release, table)
    assert belief == [1.0, 0.0]
    assert found.breached.tolist() == [True, False]
    assert found.counts.tolist() == [2, 5]
    assert found.headline["exact"] is True
    assert found.headline["mapped to the release"] == 1
    assert found.headline["tables published"] == 3
    # The release itself shows two in seven.
    (homogeneity,) = shoal.attack(release, shoal.attacks.Homogeneity())
    assert homogeneity.posterior.tolist() == [pytest.approx(2 / 7)] * len(homogeneity.posterior)


def test_levels_that_had_to_be_left_say_as_much():
    """Full-domain generalization shows homes wherever it may."""
    table = read()
    release = shoal.anonymize(table, shoal.FullDomain(**HALF), seed=1)
    assert release.manifest.n_buckets == 1
    found, belief = credibility(release, table)
    assert belief == [1.0, 0.0]
    assert found.headline["mapped to the release"] == 1
    assert found.headline["tables published"] == 3
    apart = read(diseases=["HIV", "flu", "HIV", *["flu"] * 4])
    release = shoal.anonymize(apart, shoal.FullDomain(**HALF), seed=1)
    assert release.manifest.n_buckets == 2
    assert credibility(release, apart)[1] == [0.5, 0.2]


def test_mask_leaves_less():
    table = read()
    release = shoal.anonymize(table, shoal.Mask(m=2, k=2, protect=["HIV"]), seed=1)
    found, belief = credibility(release, table)
    # (0, 0) in one table, (2, 0) in one, and three to five of q2 in sixteen.
    assert belief == pytest.approx([1 / 18, 55 / 5 / 18])
    assert found.headline["exact"] is True


def test_nothing_is_betrayed_where_nothing_was_merged():
    diseases = ["HIV", "flu", "HIV", *["flu"] * 4]
    table = read(diseases=diseases)
    release = shoal.anonymize(table, shoal.Mondrian(**HALF), seed=1)
    assert release.manifest.n_buckets == 2
    found, belief = credibility(release, table)
    assert belief == [0.5, 0.2]
    assert not found.breached.any()


def test_an_opened_release_is_attacked_by_somebody_without_sensitive_values(tmp_path):
    release = shoal.anonymize(read(), shoal.Mondrian(**HALF), seed=1)
    folder = release.write(tmp_path / "release", accept_risk="a test")
    people = shoal.read({"home": HOMES}, shoal.Schema(quasi=["home"]))
    found, belief = credibility(folder, people)
    assert belief == [1.0, 0.0]
    assert json.loads(json.dumps(found.to_dict()))["at_risk"] == 2


def test_each_value_is_attacked_where_none_is_protected():
    table = read(diseases=["HIV", "HIV", "gout", *["flu"] * 4])
    release = shoal.anonymize(table, shoal.Mondrian(ell=2), seed=1)
    assert release.manifest.n_buckets == 1
    found, belief = credibility(release, table)
    # Both at q1 have one disease: HIV in one way (HIV, HIV), flu in six.
    values = [release.published.buckets.domain.text(code) for code in found.value.tolist()]
    assert values == ["flu", "flu"]
    assert belief == pytest.approx(slow_pairs(["HIV", "HIV", "gout", *["flu"] * 4]))


def slow_pairs(diseases):
    """Share out diseases among two and five: merged where either group has one disease alone."""
    tables = [
        table
        for table in itertools.permutations(diseases)
        if len(set(table[:2])) == 1 or len(set(table[2:])) == 1
    ]
    return [
        max(sum(table[who] == one for table in tables) / len(tables) for one in set(diseases))
        for who in (0, 2)
    ]


def test_large_releases_are_sampled_and_say_how_sure_they_are():
    homes = [f"{pair:02}{home}" for pair in range(12) for home in HOMES]
    hierarchy = shoal.Hierarchy.prefixes([4, 2])
    schema = shoal.Schema(quasi=["home"], sensitive="disease", hierarchies={"home": hierarchy})
    table = read(homes, DISEASES * 12, schema)
    release = shoal.anonymize(table, shoal.Mondrian(**HALF), seed=1)
    assert release.manifest.n_buckets == 12
    found, belief = credibility(release, table, n_tables=1500)
    assert found.headline["exact"] is False
    assert belief == [1.0, 0.0] * 12
    assert found.n_breached == 24
    (worst,) = found.sections
    assert worst.columns[-3:] == ("95 % from", "to", "independent draws")
    assert all(0.8 < row[3] < 1.0 and row[4] == 1.0 and row[5] >= 30 for row in worst.rows[:5])
    few, shares = credibility(release, table, n_tables=100)
    assert few.headline["people of whom nothing is said"] == 84
    assert shares == [pytest.approx(2 / 7)] * 24
    assert not few.breached.any()


# --- what is refused --------------------------------------------------------------------------


def test_without_an_external_table_the_attack_does_not_apply(tmp_path):
    made = shoal.anonymize(read(), shoal.Mondrian(**HALF), seed=1)
    release = shoal.open_release(made.write(tmp_path / "release", accept_risk="a test"))
    assert not Minimality().fits(release.published)
    assert "minimality" not in [found.attack for found in shoal.attack(release)]
    with pytest.raises(ParameterError, match=r"people=shoal.read"):
        shoal.attack(release, Minimality())
    with pytest.raises(ParameterError, match=r"people=shoal.read"):
        shoal.attack(release, Minimality(), people={"home": HOMES})


def test_a_release_that_was_just_made_has_its_table_at_hand(tmp_path):
    release = shoal.anonymize(read(), shoal.Mondrian(**HALF), seed=1)
    report = shoal.attack(release, Minimality(), shoal.attacks.Linkage())
    found, linkage = report
    assert found.posterior.tolist() == [1.0, 0.0]
    # Its entries are no lines of the release: the risk file has none of them.
    assert about_everybody(report) == (linkage,)
    release.write(tmp_path / "release", accept_risk="a test", findings=report)


def test_methods_that_draw_are_refused():
    table = read(diseases=["a", "b", "c", "d", "a", "b", "c"])
    for method in (shoal.Anatomy(ell=2), shoal.Mondrian(k=2, cuts="relaxed")):
        release = shoal.anonymize(table, method, seed=1)
        with pytest.raises(ParameterError, match="alone"):
            shoal.attack(release, Minimality(), people=table)


@pytest.mark.parametrize(
    ("homes", "words"),
    [(HOMES[1:], "6 people"), ([*HOMES[:-1], "q3"], "fit no bucket")],
)
def test_other_people_are_refused(homes, words):
    release = shoal.anonymize(read(), shoal.Mondrian(**HALF, publish="bucketized"), seed=1)
    people = shoal.read({"home": homes}, shoal.Schema(quasi=["home"]))
    with pytest.raises(DataError, match=words):
        shoal.attack(release, Minimality(), people=people)


def test_an_external_table_with_other_columns_is_refused():
    release = shoal.anonymize(read(), shoal.Mondrian(**HALF), seed=1)
    people = shoal.read({"home": HOMES, "age": HOMES}, shoal.Schema(quasi=["home", "age"]))
    with pytest.raises(SchemaError, match="quasi-identifiers of the release"):
        shoal.attack(release, Minimality(), people=people)


def test_a_hierarchical_distance_needs_the_hierarchy_of_the_values():
    rows = [["HIV", "virus", "*"], ["flu", "virus", "*"], ["gout", "other", "*"]]
    schema = shoal.Schema(
        quasi=["home"],
        sensitive="disease",
        hierarchies={"disease": shoal.Hierarchy.from_rows(rows)},
    )
    table = read(diseases=["HIV", "flu", "gout", "HIV", "flu", "flu", "gout"], schema=schema)
    method = shoal.Mondrian(t=0.3, distance="hierarchical")
    release = shoal.anonymize(table, method, seed=1)
    found, _ = credibility(release, table)
    assert found.headline["mapped to the release"] >= 1
    people = shoal.read({"home": HOMES}, shoal.Schema(quasi=["home"]))
    with pytest.raises(SchemaError, match="hierarchy of the sensitive column"):
        shoal.attack(release, Minimality(), people=people)


@pytest.mark.parametrize(
    "given",
    [{"limit": 0}, {"limit": 1.1}, {"rate": 0}, {"rate": 1}, {"n_tables": 0}, {"n_tables": 2.5}],
)
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(ParameterError):
        Minimality(**given)


# --- MASK -------------------------------------------------------------------------------------


@pytest.fixture
def masked():
    """Publish two buckets of two rows, with one HIV each: nothing had to be changed."""
    table = read(["q1", "q1", "q2", "q2"], ["HIV", "flu", "HIV", "flu"])
    mask = shoal.Mask(m=2, k=2, protect=["HIV"], publish="bucketized")
    return shoal.anonymize(table, mask, seed=1)


def test_mask_exceeds_its_bound_with_all_tables_equally_likely(masked):
    (found,) = shoal.attack(masked, Minimality())
    assert found.posterior.tolist() == [0.625, 0.625]
    assert found.breached.all()
    assert found.limit == "0.5"
    assert "all tables are equally likely" in found.knows
    priors, _ = found.sections
    assert priors.rows[0][:4] == ("all tables equally likely", 0.5, 0.625, 4)


def test_a_rate_and_a_limit_that_are_given_count(masked):
    (found,) = shoal.attack(masked, Minimality(rate="0.01"))
    assert 0.5 < found.worst < 0.51
    assert "prior probability of a protected value is 0.01" in found.knows
    assert [row[0] for row in found.sections[0].rows] == ["all tables equally likely", "as given"]
    (found,) = shoal.attack(masked, Minimality(limit=0.7))
    assert (found.limit, found.n_breached) == ("0.7", 0)


def test_people_of_a_mask_release_are_found_by_matching(masked):
    people = {"home": ["q2", "q3"]}
    (found,) = shoal.attack(masked, Minimality(), people=people)
    assert found.posterior.tolist() == [0.625, 0.0]
    assert masked.published.buckets.domain.text(int(found.value[0])) == "HIV"
    assert found.value[1] == -1


def test_a_table_without_protected_values_left_is_attacked_too():
    table = read()
    release = shoal.anonymize(table, shoal.Mask(m=2, k=2, protect=["HIV"]), seed=1)
    (found,) = shoal.attack(release, Minimality())
    # No prior is read off a release that shows none.
    assert [row[0] for row in found.sections[0].rows] == ["all tables equally likely"]
    assert np.all(found.value == -1)
