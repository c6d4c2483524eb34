from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.attacks import Homogeneity
from shoal.core.attack import View
from shoal.core.cells import Buckets
from shoal.core.errors import ParameterError
from shoal.core.guarantees import (
    AlphaK,
    DistinctDiversity,
    FrequencyDiversity,
    KAnonymity,
    TCloseness,
)
from shoal.core.meaning import Meaning
from shoal.core.release import People
from shoal.core.shapes import Shape

COLUMNS = ["sex", "disease"]
ROWS = [
    ("a", "F", "flu"),
    ("a", "M", "cold"),
    ("a", "F", "pox"),
    ("b", "F", "flu"),
    ("b", "M", "flu"),
    ("c", "M", "flu"),
    ("c", "M", "pox"),
]


def section(findings, title):
    return next(entry for entry in findings.sections if entry.title == title)


def posterior_by_bucket(published, people, findings):
    names = published.lines.domains[0].texts[people.bucket].tolist()
    return dict(zip(names, findings.posterior.tolist(), strict=True))


def test_belief_is_the_share_of_the_value_in_the_bucket(publish, everybody):
    published = publish(COLUMNS, ROWS)
    people = everybody(published)
    findings = Homogeneity().run(View(published, people))
    believed = posterior_by_bucket(published, people, findings)
    assert believed == {"a": pytest.approx(1 / 3), "b": 1.0, "c": 0.5}


def test_certainty_is_a_breach_without_any_limit(publish, everybody):
    published = publish(COLUMNS, ROWS)
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.limit == "anything short of certainty"
    assert findings.n_breached == findings.headline["people certain"] == 2
    assert set(findings.value[findings.breached]) == {published.buckets.domain.codes_of(["flu"])[0]}


def test_certainty_is_a_breach_even_where_the_limit_allows_it(publish, everybody):
    published = publish(COLUMNS, ROWS)
    assert Homogeneity(limit=1).run(View(published, everybody(published))).n_breached == 2


def test_tie_at_the_limit_is_no_breach(publish, everybody):
    published = publish(COLUMNS, ROWS[:3])
    assert Homogeneity(limit="1/3").run(View(published, everybody(published))).n_breached == 0
    below = Fraction(1, 3) - Fraction(1, 10**30)
    assert Homogeneity(limit=below).run(View(published, everybody(published))).n_breached == 3


def test_tie_is_exact_where_products_exceed_64_bits(publish, everybody):
    published = publish(COLUMNS, ROWS[5:])
    many = np.array([3 * 10**12, 7 * 10**12])
    buckets = published.buckets
    published = replace(
        published,
        buckets=Buckets(1, buckets.bucket, buckets.value, many, buckets.domain),
    )
    people = everybody(published)
    assert Homogeneity(limit=0.7).run(View(published, people)).n_breached == 0
    assert Homogeneity(limit="0.69999999999999999999").run(View(published, people)).n_breached == 2


def test_tie_of_a_mixture_is_exact(publish, people_of):
    # Flu is one of ten in each of five buckets: in floats the mean comes out above 0.1.
    rows = [
        (bucket, "F", "flu" if number == 0 else f"{bucket}{number}")
        for bucket in "abcde"
        for number in range(10)
    ]
    published = publish(COLUMNS, rows)
    person = people_of(["sex"], [("F",)])
    findings = Homogeneity(limit=0.1).run(View(published, person))
    assert findings.posterior[0] > 0.1
    assert findings.n_breached == 0
    assert Homogeneity(limit="0.0999999999999").run(View(published, person)).n_breached == 1


def test_person_in_several_buckets_gets_the_mean_over_rows(publish, people_of):
    published = publish(COLUMNS, ROWS)
    findings = Homogeneity().run(View(published, people_of(["sex"], [("M",)])))
    # One row of three in bucket a, one in b, two in c: flu is 1/3, 1 and 1/2 of them.
    assert findings.posterior[0] == pytest.approx((1 / 3 + 1 + 2 * (1 / 2)) / 4)


def test_default_limit_is_the_smallest_bound_of_the_guarantees(publish, everybody):
    published = publish(
        COLUMNS,
        ROWS,
        guarantees=[FrequencyDiversity(ell=2), AlphaK(alpha=0.4, k=2), DistinctDiversity(ell=2)],
    )
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.limit == "0.4"
    assert findings.n_breached == 4


def test_given_limit_replaces_that_of_the_guarantees(publish, everybody):
    published = publish(COLUMNS, ROWS, guarantees=[FrequencyDiversity(ell=2)])
    findings = Homogeneity(limit=0.3).run(View(published, everybody(published)))
    assert findings.limit == "0.3"
    assert findings.n_breached == 7


@pytest.mark.parametrize("limit", [0, -0.1, 1.01, "x", True, float("nan")])
def test_limit_outside_its_range_is_refused(limit):
    with pytest.raises(ParameterError, match="limit must be"):
        Homogeneity(limit=limit)


def test_protected_values_are_believed_together(publish, everybody):
    guarantee = FrequencyDiversity(ell=2, protect=["cold", "pox", "plague"])
    published = publish(COLUMNS, ROWS, guarantees=[guarantee])
    people = everybody(published)
    findings = Homogeneity().run(View(published, people))
    believed = posterior_by_bucket(published, people, findings)
    assert believed == {"a": pytest.approx(2 / 3), "b": 0.0, "c": 0.5}
    assert findings.n_breached == 3
    # The value told is the likeliest of the protected ones, and none where there is none.
    told = {published.buckets.domain.text(code) for code in findings.value.tolist() if code >= 0}
    assert told == {"cold", "pox"}
    assert (findings.value[findings.posterior == 0] == -1).all()


def test_values_protected_each_for_itself_are_believed_apart(publish, everybody):
    published = publish(COLUMNS, ROWS, guarantees=[AlphaK(alpha=0.5, k=2, protect=["cold", "pox"])])
    people = everybody(published)
    findings = Homogeneity().run(View(published, people))
    believed = posterior_by_bucket(published, people, findings)
    assert believed == {"a": pytest.approx(1 / 3), "b": 0.0, "c": 0.5}
    assert findings.n_breached == 0


def test_bounds_on_all_and_on_protected_values_are_both_judged(publish, everybody):
    published = publish(
        COLUMNS,
        ROWS,
        guarantees=[FrequencyDiversity(ell=2), FrequencyDiversity(ell=4, protect=["pox"])],
    )
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.limit == "0.25 and 0.5"
    assert findings.n_breached == 7


def test_strongest_breach_is_told_before_a_stronger_belief_that_is_allowed(publish, everybody):
    published = publish(
        COLUMNS,
        [("a", "F", "flu"), ("a", "F", "flu"), ("a", "F", "pox"), ("b", "F", "cold")],
        guarantees=[AlphaK(alpha=0.7, k=1), AlphaK(alpha=0.3, k=1, protect=["pox"])],
    )
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.posterior.tolist() == [pytest.approx(1 / 3), 1.0]
    told = [published.buckets.domain.text(code) for code in findings.value.tolist()]
    assert told == ["pox", "cold"]


def test_certainty_about_the_protected_values_together_counts(publish, everybody):
    published = publish(
        COLUMNS,
        [("a", "F", "cold"), ("a", "F", "pox"), ("b", "F", "flu"), ("b", "F", "pox")],
        guarantees=[
            FrequencyDiversity(ell=2),
            FrequencyDiversity(ell=2, protect=["cold", "pox"]),
        ],
    )
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.headline["people certain"] == findings.n_breached == 2
    assert section(findings, "people by posterior").rows[-1] == ("certain", 2)


def test_guarantee_without_a_bound_still_says_what_is_protected(publish, everybody):
    published = publish(
        COLUMNS, ROWS, guarantees=[KAnonymity(k=2), TCloseness(t=0.2, protect=["pox"])]
    )
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.n_breached == 0
    assert findings.worst == 0.5


def test_nobody_is_attacked_where_no_protected_value_occurs(publish, everybody):
    published = publish(COLUMNS, ROWS, guarantees=[FrequencyDiversity(ell=2, protect=["plague"])])
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.worst == 0
    assert set(findings.value.tolist()) == {-1}


def test_headline_compares_beliefs_with_the_rates_of_the_table(publish, everybody):
    published = publish(COLUMNS, ROWS)
    headline = Homogeneity(limit=0.9).run(View(published, everybody(published))).headline
    assert headline == {
        "people at risk": 2,
        "worst posterior": 1.0,
        "mean posterior": pytest.approx((3 * (1 / 3) + 2 + 2 * 0.5) / 7),
        # The first of equally likely values is told: cold in bucket a, flu in the others.
        "mean prior": pytest.approx((3 * (1 / 7) + 4 * (4 / 7)) / 7),
        "people certain": 2,
        "largest gain ratio": pytest.approx((1 / 3) / (1 / 7)),
        "largest gain difference": pytest.approx(1 - 4 / 7),
        "people not found": 0,
    }


def test_rare_value_that_fills_half_a_bucket_is_skew(publish, everybody):
    rows = [("a", "F", "healthy"), ("a", "M", "virus")]
    rows += [("b", "F", "healthy")] * 99 + [("b", "F", "other")] * 99
    published = publish(COLUMNS, rows)
    findings = Homogeneity(limit=0.5).run(View(published, everybody(published)))
    assert findings.n_breached == 0
    assert findings.headline["largest gain difference"] == pytest.approx(0.5 - 1 / 200)
    worst = section(findings, "most skewed buckets").to_dict()["rows"][0]
    assert (worst["bucket"], worst["value"]) == ("a", "virus")
    assert worst["gain"] == pytest.approx(0.495)


def test_worst_buckets_are_listed_as_published_with_the_value_last(publish, everybody):
    published = publish(COLUMNS, ROWS)
    worst = section(Homogeneity().run(View(published, everybody(published))), "worst buckets")
    assert worst.columns == (
        "bucket",
        "size",
        "different values",
        "share",
        "prior",
        "gain",
        "value",
    )
    assert worst.rows[0] == ("b", 2, 1, 1.0, pytest.approx(4 / 7), pytest.approx(3 / 7), "flu")
    assert [row[0] for row in worst.rows] == ["b", "c", "a"]


def test_only_buckets_with_people_are_listed(publish, people_of):
    published = publish(["age", "disease"], [("a", "1", "flu"), ("b", "2", "flu")])
    findings = Homogeneity().run(View(published, people_of(["age"], [("2",)])))
    assert [row[0] for row in section(findings, "worst buckets").rows] == ["b"]


def test_classes_of_a_generalized_release_are_numbered(publish, people_of):
    meanings = {"age": {"[0, 50[": Meaning(("0", "50")), "[50, 99[": Meaning(("50", "99"))}}
    rows = [("x", "[0, 50[", "flu"), ("x", "[0, 50[", "cold"), ("y", "[50, 99[", "flu")]
    published = publish(["age", "disease"], rows, shape=Shape.GENERALIZED, meanings=meanings)
    findings = Homogeneity().run(View(published, people_of(["age"], [("49",), ("50",), ("99",)])))
    assert findings.posterior.tolist() == [0.5, 1.0, 0.0]
    assert findings.headline["people not found"] == 1
    worst = section(findings, "worst buckets")
    assert worst.columns[0] == "class"
    assert [row[:2] for row in worst.rows] == [(2, 1), (1, 2)]


def test_people_are_counted_by_bands_of_belief(publish, everybody):
    published = publish(COLUMNS, ROWS)
    bands = section(Homogeneity().run(View(published, everybody(published))), "people by posterior")
    assert {name: people for name, people in bands.rows if people} == {
        "up to 0.4": 3,
        "up to 0.5": 2,
        "certain": 2,
    }


def test_people_in_no_bucket_are_not_found(publish):
    published = publish(COLUMNS, ROWS)
    quasi = published.lines.select(["sex"])
    findings = Homogeneity().run(View(published, People(quasi, np.array([-1, 1]))))
    assert findings.posterior.tolist() == [0.0, 1.0]
    assert findings.value[0] == -1
    assert findings.headline["people not found"] == quasi.counts[0]
    assert findings.headline["mean posterior"] == 1.0


def test_missing_and_unusual_values_are_values_like_any_other(publish, people_of):
    rows = [("a", None, None), ("a", "Zoë", None), ("b", "名", "κρύο"), ("b", "名", "")]
    published = publish(["name", "disease"], rows)
    people = people_of(["name"], [(None,), ("Zoë",), ("名",)])
    findings = Homogeneity().run(View(published, people))
    belief_by_name = dict(
        zip(people.quasi.domains[0].labels(), findings.posterior.tolist(), strict=True)
    )
    assert belief_by_name == {"Zoë": 1.0, "名": 0.5, None: 1.0}
    missing = published.buckets.domain.missing_code
    assert set(findings.value[findings.breached].tolist()) == {missing}


def test_more_than_64_values_and_buckets(publish, everybody):
    rows = [
        (f"{bucket:03}", f"{bucket}", f"{bucket + value}")
        for bucket in range(150)
        for value in range(3)
    ]
    published = publish(["age", "disease"], rows, guarantees=[FrequencyDiversity(ell=3)])
    findings = Homogeneity().run(View(published, everybody(published)))
    assert findings.n_people == 450
    assert findings.n_breached == 0
    assert findings.worst == pytest.approx(1 / 3)


def test_one_bucket_says_what_the_table_says(publish, everybody):
    published = publish(COLUMNS, [("a", "F", "flu"), ("a", "M", "cold")])
    headline = Homogeneity().run(View(published, everybody(published))).headline
    assert headline["largest gain ratio"] == 1
    assert headline["largest gain difference"] == 0


def test_nobody_to_attack(publish, people_of):
    published = publish(COLUMNS, ROWS)
    findings = Homogeneity().run(View(published, people_of(["sex"], [])))
    assert findings.n_people == findings.n_breached == 0
    assert findings.headline["mean posterior"] == 0
    assert section(findings, "worst buckets").rows == ()


def test_fits_releases_with_buckets_of_sensitive_values(publish):
    published = publish(COLUMNS, ROWS)
    assert Homogeneity().fits(published)
    assert not Homogeneity().fits(replace(published, buckets=None))
    sliced = replace(published, manifest=replace(published.manifest, shape=Shape.SLICED))
    assert not Homogeneity().fits(sliced)


def test_release_without_a_sensitive_column_is_refused(publish, people_of):
    published = replace(publish(COLUMNS, ROWS), buckets=None)
    with pytest.raises(ParameterError, match="has none"):
        Homogeneity().run(View(published, people_of(["sex"], [("F",)])))


def test_findings_are_plain_enough_for_json(publish, everybody):
    published = publish(COLUMNS, ROWS)
    findings = Homogeneity().run(View(published, everybody(published)))
    assert json.loads(json.dumps(findings.to_dict()))["at_risk"] == 2
