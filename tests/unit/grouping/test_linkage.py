from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.attacks import Linkage
from shoal.core.attack import View
from shoal.core.errors import ParameterError
from shoal.core.guarantees import AlphaK, BucketSize, KAnonymity
from shoal.core.meaning import Meaning
from shoal.core.release import People
from shoal.core.shapes import Shape
from shoal.grouping.column_shares import _count_groups, _group_counter, _sampled_shapley

ROWS = [
    ("a", "F", "30"),
    ("a", "F", "30"),
    ("b", "F", "30"),
    ("b", "M", "30"),
    ("c", "M", "40"),
    ("c", "M", "40"),
]
COLUMNS = ["sex", "age"]
AGES = {
    "[0, 50[": Meaning(("0", "50")),
    "[40, 99[": Meaning(("40", "99")),
}


@pytest.fixture
def bucketized(publish):
    return publish(COLUMNS, ROWS, values=False)


@pytest.fixture
def overlapping(publish):
    rows = [("x", "[0, 50["), ("x", "[0, 50["), ("y", "[40, 99[")]
    return publish(["age"], rows, values=False, shape=Shape.GENERALIZED, meanings={"age": AGES})


def rows_of(findings, title):
    return next(entry.rows for entry in findings.sections if entry.title.startswith(title))


def test_rows_that_look_alike_hide_a_person_whatever_their_bucket(bucketized, everybody):
    findings = Linkage().run(View(bucketized, everybody(bucketized)))
    by_quasi = dict(
        zip(map(tuple, bucketized.lines.codes[:, 1:].tolist()), findings.posterior, strict=True)
    )
    # (F, 30) three times, (M, 30) once, (M, 40) twice.
    assert sorted(by_quasi.values()) == [pytest.approx(1 / 3), 0.5, 1.0]
    assert set(findings.value.tolist()) == {-1}


def test_without_a_limit_nobody_is_said_to_be_safe(bucketized, everybody):
    found = Linkage().run(View(bucketized, everybody(bucketized)))
    assert found.n_at_risk is None
    assert found.to_dict()["at_risk"] is None
    assert "at risk" not in repr(found)
    assert found.line == (
        "at worst found 1 in 1; values are published as they are, so anybody can see who is in the "
        "table; no limit is set"
    )
    judged = Linkage(limit="1/2").run(View(bucketized, everybody(bucketized)))
    assert judged.line == "1 of 6 people at risk; at worst found 1 in 1"


def test_headline(bucketized, everybody):
    headline = Linkage().run(View(bucketized, everybody(bucketized))).headline
    assert headline == {
        "prosecutor maximum": 1.0,
        "prosecutor mean": 0.5,
        "records at the maximum": 1,
        "share of unique records": pytest.approx(1 / 6),
        "journalist maximum": 1.0,
        "marketer": 0.5,
        "classes": 3,
        "smallest class": 1,
        "average class": 2.0,
        "people not found": 0,
    }


def test_without_a_limit_the_risk_is_reported_not_judged(bucketized, everybody):
    findings = Linkage().run(View(bucketized, everybody(bucketized)))
    assert findings.limit is None
    assert findings.n_breached == 0


def test_risk_equal_to_the_limit_is_no_breach(bucketized, everybody):
    people = everybody(bucketized)
    assert Linkage(limit="1/3").run(View(bucketized, people)).n_breached == 3
    assert Linkage(limit=0.5).run(View(bucketized, people)).n_breached == 1
    assert Linkage(limit=0.49).run(View(bucketized, people)).n_breached == 3
    below = Fraction(1, 3) - Fraction(1, 10**40)
    assert Linkage(limit=below).run(View(bucketized, people)).n_breached == 6
    assert Linkage(limit=Fraction(1, 10**40)).run(View(bucketized, people)).n_breached == 6


@pytest.mark.parametrize("limit", [0, 2, "none", False])
def test_limit_outside_its_range_is_refused(limit):
    with pytest.raises(ParameterError, match="limit must be"):
        Linkage(limit=limit)


@pytest.mark.parametrize(
    ("shape", "guarantee", "limit"),
    [
        (Shape.GENERALIZED, KAnonymity(k=3), "1/3"),
        (Shape.GENERALIZED, AlphaK(alpha=0.5, k=4), "0.25"),
        (Shape.BUCKETIZED, AlphaK(alpha=0.5, k=4), None),
        (Shape.BUCKETIZED, BucketSize(k=4), None),
    ],
)
def test_release_is_judged_by_the_class_size_that_it_claims(
    publish, everybody, shape, guarantee, limit
):
    rows = [("a", "F"), ("a", "F"), ("b", "M"), ("b", "M"), ("b", "M")]
    published = publish(["sex"], rows, values=False, shape=shape, guarantees=[guarantee])
    findings = Linkage().run(View(published, everybody(published)))
    assert findings.limit == limit
    assert findings.n_breached == {None: 0, "1/3": 2, "0.25": 5}[limit]


def test_known_class_is_not_mixed_with_others_that_fit(overlapping, people_of):
    person = people_of(["age"], [("45",)])
    assert Linkage().run(View(overlapping, person)).posterior[0] == pytest.approx(1 / 3)
    known = People(person.quasi, np.array([1]))
    assert Linkage().run(View(overlapping, known)).posterior[0] == 1.0


def test_people_who_fit_no_line_are_not_found(overlapping, people_of):
    findings = Linkage(limit=0.1).run(View(overlapping, people_of(["age"], [("99",), ("20",)])))
    assert findings.headline["people not found"] == 1
    assert sorted(findings.posterior.tolist()) == [0.0, 0.5]
    assert findings.n_breached == 1
    unknown = People(people_of(["age"], [("20",)]).quasi, np.array([-1]))
    assert Linkage().run(View(overlapping, unknown)).worst == 0


def test_adversary_who_knows_fewer_columns_finds_more_rows(bucketized, people_of):
    findings = Linkage().run(View(bucketized, people_of(["sex"], [("M",)])))
    assert findings.posterior.tolist() == [pytest.approx(1 / 3)]


def test_population_makes_classes_larger(overlapping, people_of):
    population = people_of(["age"], [("20",)] * 5 + [("45",)] * 2 + [("80",)] * 3).quasi
    people = people_of(["age"], [("20",), ("45",), ("80",)])
    findings = Linkage(population=population, limit=0.15).run(View(overlapping, people))
    # Seven fit the first class, five the second; 45 may be in either, and the smaller counts.
    assert findings.posterior.tolist() == pytest.approx([1 / 7, 1 / 5, 1 / 5])
    assert findings.n_breached == 2
    assert findings.headline["k-map"] == 5
    assert findings.headline["journalist maximum"] == pytest.approx(1 / 5)
    assert findings.headline["prosecutor maximum"] == 1.0
    assert findings.headline["marketer"] == pytest.approx((2 / 7 + 1 / 5) / 3)
    assert findings.headline["classes with fewer in the population than records"] == 0
    assert "population" in findings.knows


def test_nobody_is_named_in_a_class_that_fits_nobody(overlapping, people_of):
    population = people_of(["age"], [("20",)]).quasi
    people = people_of(["age"], [("20",), ("80",)])
    findings = Linkage(population=population).run(View(overlapping, people))
    assert findings.posterior.tolist() == [1.0, 0.0]
    assert findings.headline["k-map"] == 1
    assert findings.headline["classes with fewer in the population than records"] == 2


def test_population_of_strangers_names_nobody(overlapping, people_of):
    population = people_of(["age"], [("99",)]).quasi
    findings = Linkage(population=population).run(View(overlapping, people_of(["age"], [("20",)])))
    assert findings.headline["k-map"] == 0
    assert findings.headline["journalist maximum"] == 0
    assert findings.worst == 0


def test_people_are_counted_by_bands_of_class_size(publish, everybody):
    rows = [("a", f"{size}") for size in (1, 2, 3, 4, 9, 19, 20) for _ in range(size)]
    published = publish(["age"], rows, values=False)
    bands = rows_of(Linkage().run(View(published, everybody(published))), "largest risk")
    assert bands == (
        ("1", 1.0, 1),
        ("2", 0.5, 2),
        ("3-4", pytest.approx(1 / 3), 7),
        ("5-9", 0.2, 9),
        ("10-19", 0.1, 19),
        ("20+", 0.05, 20),
    )


def test_shares_of_columns(bucketized, everybody):
    shares = rows_of(Linkage().run(View(bucketized, everybody(bucketized))), "share")
    # Alone each makes two classes of one; together they make three: 1 + 1/2 halves for each.
    assert shares == (
        ("sex", pytest.approx(1 / 6), pytest.approx(50)),
        ("age", pytest.approx(1 / 6), pytest.approx(50)),
    )


def test_constant_column_has_no_share(publish, everybody):
    rows = [("a", "x", f"{number}") for number in range(5)]
    published = publish(["same", "number"], rows, values=False)
    shares = rows_of(Linkage().run(View(published, everybody(published))), "share")
    assert shares == (("number", pytest.approx(4 / 5), 100.0), ("same", 0.0, 0.0))


def test_one_class_has_nothing_to_share(publish, everybody):
    published = publish(["sex"], [("a", "F")] * 4, values=False)
    findings = Linkage().run(View(published, everybody(published)))
    assert rows_of(findings, "share") == (("sex", 0.0, 0.0),)
    assert findings.worst == 0.25


def wide_release(publish, n_columns, n_values, n_rows=60):
    generator = np.random.default_rng(5)
    codes = generator.integers(0, n_values, (n_rows, n_columns))
    rows = [("a", *map(str, row)) for row in codes.tolist()]
    return publish([f"q{place}" for place in range(n_columns)], rows, values=False)


def test_shares_of_many_columns_are_estimated_and_say_so(publish, everybody):
    published = wide_release(publish, 12, 3)
    findings = Linkage().run(View(published, everybody(published)))
    section = findings.sections[0]
    assert "estimated from 600 orders" in section.title
    risk = findings.headline["prosecutor mean"]
    assert sum(row[1] for row in section.rows) == pytest.approx(risk - 1 / 60)
    assert sum(row[2] for row in section.rows) == pytest.approx(100)
    again = Linkage().run(View(published, everybody(published)))
    assert again.sections[0].rows == section.rows


def test_estimate_is_close_to_the_exact_shares(publish):
    published = wide_release(publish, 8, 3)
    classes = published.lines.select(published.lines.columns[1:])
    exact = {
        name: risk
        for name, risk, _ in rows_of(Linkage().run(View(published, People(classes))), "share")
    }
    sampled = _sampled_shapley(_group_counter(classes), 8, 50) / classes.n_rows
    assert sampled.tolist() == pytest.approx([exact[name] for name in classes.columns], rel=0.1)


def test_groups_are_counted_where_codes_do_not_fit_64_bits():
    generator = np.random.default_rng(6)
    columns = list(generator.integers(0, 2, (6, 200)) * (2**20 - 1))
    different = len({tuple(row) for row in np.stack(columns, axis=1).tolist()})
    assert _count_groups(columns, [2**20] * 6, 200) == different
    assert _count_groups(columns[:3], [2**20] * 3, 200) == 8


def test_all_unique(publish, everybody):
    published = publish(["id"], [("a", f"{number}") for number in range(200)], values=False)
    findings = Linkage(limit=0.5).run(View(published, everybody(published)))
    assert findings.n_breached == 200
    assert findings.headline["share of unique records"] == 1


def test_missing_and_unusual_values(publish, people_of):
    rows = [("a", None), ("a", None), ("b", "Ωmega"), ("b", "")]
    published = publish(["name"], rows, values=False)
    people = people_of(["name"], [(None,), ("Ωmega",), ("",), ("*",)])
    posterior = Linkage().run(View(published, people)).posterior.tolist()
    risk_by_name = dict(zip(people.quasi.domains[0].labels(), posterior, strict=True))
    assert risk_by_name == {"": 1.0, "*": 0.0, "Ωmega": 1.0, None: 0.5}


def test_nobody_to_link(bucketized, people_of):
    findings = Linkage(limit=0.1).run(View(bucketized, people_of(COLUMNS, [])))
    assert findings.n_people == findings.n_breached == 0
    assert findings.headline["prosecutor mean"] == 0.5


def test_fits_generalized_and_bucketized_releases(bucketized, people_of):
    assert Linkage().fits(bucketized)
    sliced = replace(bucketized, manifest=replace(bucketized.manifest, shape=Shape.SLICED))
    assert not Linkage().fits(sliced)
    with pytest.raises(ParameterError, match="this one is sliced"):
        Linkage().run(View(sliced, people_of(COLUMNS, [])))


def test_findings_are_plain_enough_for_json(bucketized, everybody):
    findings = Linkage(limit=0.4).run(View(bucketized, everybody(bucketized)))
    assert json.loads(json.dumps(findings.to_dict()))["at_risk"] == 3
