from __future__ import annotations

import json
import math

import numpy as np
import pytest

from shoal.beliefs.attack import Belief
from shoal.beliefs.beliefs import Beliefs
from shoal.beliefs.posteriors import jensen_shannon
from shoal.core.attack import View
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.core.shapes import Shape

COLUMNS = ["sex", "disease"]
ROWS = [
    ("a", "F", "cold"),
    ("a", "M", "gout"),
    ("b", "F", "cold"),
    ("b", "F", "flu"),
    ("b", "M", "cold"),
    ("b", "M", "cold"),
]
BELIEVED = {"F": (0.5, 0.3, 0.2), "M": (0.4, 0.1, 0.5)}


def beliefs_of(column, believed, values=("cold", "flu", "gout"), counts=None):
    domain = Domain.of_texts(column, sorted(believed))
    cells = Cells(
        (domain,),
        np.arange(len(believed))[:, np.newaxis],
        np.array(counts or [1] * len(believed)),
    )
    prior = np.array([believed[text] for text in sorted(believed)])
    return Beliefs(cells, prior, Domain.of_texts("disease", list(values)))


def section(findings, title):
    return next(entry for entry in findings.sections if entry.title == title)


def texts_of(published, codes):
    return [published.buckets.domain.text(code) if code >= 0 else None for code in codes.tolist()]


def test_beliefs_are_revised_by_all_assignments_of_the_bucket(publish, everybody):
    published = publish(COLUMNS, ROWS[:2])
    findings = Belief().run(View(published, everybody(published), beliefs_of("sex", BELIEVED)))
    # Either she has the cold and he the gout, or the other way round: 0.5 * 0.5 to 0.2 * 0.4.
    right = 0.25 / (0.25 + 0.08)
    assert findings.posterior == pytest.approx([right, right])
    assert texts_of(published, findings.value) == ["cold", "gout"]
    gain = float(jensen_shannon(BELIEVED["M"], [1 - right, 0, right]))
    assert findings.headline["worst gain"] == pytest.approx(
        max(gain, float(jensen_shannon(BELIEVED["F"], [right, 0, 1 - right])))
    )
    assert findings.headline["share of exact posteriors"] == 1.0


def test_without_beliefs_she_knows_the_distribution_in_the_release(publish, everybody):
    published = publish(COLUMNS, ROWS)
    people = everybody(published)
    findings = Belief().run(View(published, people))
    names = published.lines.domains[0].texts[people.bucket].tolist()
    found = dict(zip(names, findings.posterior.tolist(), strict=True))
    assert found == {"a": pytest.approx(0.5), "b": pytest.approx(0.75)}
    overall = [4 / 6, 1 / 6, 1 / 6]
    gains = [float(jensen_shannon(overall, own)) for own in ([0.5, 0, 0.5], [0.75, 0.25, 0])]
    assert findings.headline["worst gain"] == pytest.approx(max(gains))
    assert findings.headline["mean gain"] == pytest.approx((2 * gains[0] + 4 * gains[1]) / 6)
    assert findings.headline["share of exact posteriors"] == 1.0


def test_other_knowledge_serves_as_little_as_none(publish, everybody):
    published = publish(COLUMNS, ROWS)
    people = everybody(published)
    other = Belief().run(View(published, people, {"rules": []}))
    assert other.to_dict() == Belief().run(View(published, people)).to_dict()


def test_limit_is_about_the_gain_and_a_tie_is_no_breach(publish, everybody):
    published = publish(COLUMNS, [*ROWS[:1], ("a", "M", "flu")])
    people, known = everybody(published), beliefs_of("sex", {"F": (1, 0, 0), "M": (0.5, 0.5, 0)})
    findings = Belief().run(View(published, people, known))
    gain = findings.headline["worst gain"]
    # He has the flu for sure, which was as likely as not: the mean of both is (1/4, 3/4).
    assert gain**2 == pytest.approx((0.5 + 0.5 * math.log2(2 / 3) + math.log2(4 / 3)) / 2)
    assert Belief(limit=gain).run(View(published, people, known)).n_breached == 0
    assert Belief(limit=gain - 1e-6).run(View(published, people, known)).n_breached == 1
    assert Belief(limit=0.5).run(View(published, people, known)).limit == "gain 0.5"


def test_max_posterior_bounds_the_posterior(publish, everybody):
    published = publish(COLUMNS, ROWS)
    people = everybody(published)
    assert Belief(max_posterior=0.75).run(View(published, people)).n_breached == 0
    assert Belief(max_posterior=0.74).run(View(published, people)).n_breached == 4
    both = Belief(limit=1, max_posterior=0.4).run(View(published, people))
    assert (both.n_breached, both.limit) == (6, "gain 1, posterior 0.4")


def test_without_limits_becoming_certain_is_the_breach(publish, everybody):
    rows = [("a", "F", "cold"), ("a", "M", "cold"), ("b", "F", "flu"), ("b", "M", "cold")]
    published = publish(COLUMNS, rows)
    people = everybody(published)
    findings = Belief().run(View(published, people))
    assert (findings.n_breached, findings.limit) == (2, "anything short of certainty")
    # He was believed to have a cold before, so of him nothing is learned in the first bucket.
    known = beliefs_of("sex", {"F": (0.5, 0.5, 0.0), "M": (1.0, 0.0, 0.0)})
    certain = Belief().run(View(published, people, known))
    assert certain.posterior.tolist() == [1.0] * 4
    assert certain.breached.tolist() == [True, False, True, False]


def test_label_is_believed_as_the_people_whom_it_admits(publish, everybody):
    rows = [("1", "person", "cold"), ("1", "person", "gout"), ("2", "M", "flu")]
    meanings = {"sex": {"person": Meaning(members=frozenset({"F", "M"}))}}
    published = publish(COLUMNS, rows, shape=Shape.GENERALIZED, meanings=meanings)
    known = beliefs_of("sex", BELIEVED, counts=[3, 1])
    findings = Belief().run(View(published, everybody(published), known))
    mean = [(3 * her + him) / 4 for her, him in zip(*BELIEVED.values(), strict=True)]
    worst = section(findings, "worst buckets")
    assert worst.columns[0] == "class"
    gains = {row[0]: row[2] for row in worst.rows}
    assert gains[1] == pytest.approx(float(jensen_shannon(mean, [0.5, 0, 0.5])))
    assert gains[2] == pytest.approx(float(jensen_shannon(BELIEVED["M"], [0, 1, 0])))


def test_people_found_in_several_buckets_are_believed_by_the_mean_over_rows(publish, people_of):
    published = publish(COLUMNS, ROWS)
    known = beliefs_of("sex", BELIEVED)
    findings = Belief().run(View(published, people_of(["sex"], [("F",)]), known))
    her, him = (dict(zip(("cold", "flu", "gout"), BELIEVED[sex], strict=True)) for sex in "FM")
    in_a = {"cold": her["cold"] * him["gout"], "gout": her["gout"] * him["cold"]}
    first = in_a["cold"] / sum(in_a.values())
    # In b one of four has the flu: each of the women, or each of the men.
    woman, man = her["flu"] / her["cold"], him["flu"] / him["cold"]
    second = 1 - woman / (2 * woman + 2 * man)
    cold = (first + 2 * second) / 3
    gout = (1 - first) / 3
    assert findings.posterior == pytest.approx([cold])
    gain = float(jensen_shannon(BELIEVED["F"], [cold, 1 - cold - gout, gout]))
    assert findings.headline["worst gain"] == pytest.approx(gain)


def test_people_who_are_nowhere_are_not_found(publish, people_of):
    published = publish(COLUMNS, ROWS)
    findings = Belief().run(View(published, people_of(["sex"], [("F",), ("X",), ("X",)])))
    assert findings.headline["people not found"] == 2
    assert texts_of(published, findings.value)[1] is None
    assert findings.posterior[1] == 0
    assert sum(row[1] for row in section(findings, "people by gain").rows) == 1


def test_nobody_is_attacked_where_nobody_is_found(publish, people_of):
    findings = Belief().run(View(publish(COLUMNS, ROWS), people_of(["sex"], [("X",)])))
    assert findings.n_breached == findings.headline["worst gain"] == findings.worst == 0
    assert section(findings, "worst buckets").rows == ()


def test_lines_of_strangers_get_the_mean_belief(publish, everybody):
    published = publish(COLUMNS, ROWS[:2])
    known = beliefs_of("sex", {"F": BELIEVED["F"], "X": (0.1, 0.1, 0.8)}, counts=[1, 3])
    findings = Belief().run(View(published, everybody(published), known))
    assert findings.headline["people without a prior of their own"] == 1
    mean = [
        (her + 3 * other) / 4 for her, other in zip(BELIEVED["F"], (0.1, 0.1, 0.8), strict=True)
    ]
    right, wrong = BELIEVED["F"][0] * mean[2], BELIEVED["F"][2] * mean[0]
    assert findings.posterior == pytest.approx([right / (right + wrong)] * 2)


def test_beliefs_about_other_columns_are_the_mean_for_everybody(publish, everybody):
    published = publish(COLUMNS, ROWS[:2])
    findings = Belief().run(View(published, everybody(published), beliefs_of("age", BELIEVED)))
    assert findings.headline["people without a prior of their own"] == 2
    assert findings.posterior == pytest.approx([0.5, 0.5])


def test_values_believed_impossible_are_a_contradiction(publish, everybody):
    published = publish(COLUMNS, ROWS[:2])
    known = beliefs_of("sex", {"F": (0.5, 0.5, 0.0), "M": (0.5, 0.5, 0.0)})
    findings = Belief().run(View(published, everybody(published), known))
    assert findings.headline["people contradicting what was believed"] == 2
    assert findings.posterior == pytest.approx([0.5, 0.5])


def test_believed_values_that_the_release_lacks_count_in_the_gain(publish, everybody):
    published = publish(COLUMNS, [("a", "F", "cold"), ("a", "F", "flu")])
    known = beliefs_of("sex", {"F": (0.25, 0.25, 0.5)})
    findings = Belief().run(View(published, everybody(published), known))
    gain = float(jensen_shannon([0.25, 0.25, 0.5], [0.5, 0.5, 0]))
    assert findings.headline["worst gain"] == pytest.approx(gain)


def test_many_buckets_of_many_people_are_mixed_part_by_part(publish, people_of, monkeypatch):
    published = publish(COLUMNS, ROWS)
    people = people_of(["sex"], [("F",), ("M",), ("M",)])
    known = beliefs_of("sex", BELIEVED)
    whole = Belief().run(View(published, people, known))
    monkeypatch.setattr("shoal.beliefs.attack._CHUNK", 1)
    assert Belief().run(View(published, people, known)).to_dict() == whole.to_dict()


def test_worst_buckets_and_bands_add_up(publish, everybody):
    published = publish(COLUMNS, ROWS)
    findings = Belief().run(View(published, everybody(published), beliefs_of("sex", BELIEVED)))
    rows = section(findings, "worst buckets").rows
    assert [row[0] for row in rows] == sorted(
        {row[0] for row in rows}, key=[r[0] for r in rows].index
    )
    assert {row[0] for row in rows} == {"a", "b"}
    assert [row[2] for row in rows] == sorted((row[2] for row in rows), reverse=True)
    assert rows[0][2] == findings.headline["worst gain"]
    assert sum(people for _, people in section(findings, "people by gain").rows) == 6
    assert json.dumps(findings.to_dict())


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        ({"limit": 1.5}, "limit must lie between 0 and 1"),
        ({"limit": -1}, "limit must lie between 0 and 1"),
        ({"max_posterior": 0}, "max_posterior must be above 0 and at most 1"),
    ],
)
def test_bounds_out_of_range_are_refused(given, rule):
    with pytest.raises(ParameterError, match=rule):
        Belief(**given)


def test_release_without_sensitive_values_is_refused(publish, everybody):
    published = publish(["sex"], [("a", "F"), ("a", "M")], values=False)
    assert not Belief().fits(published)
    with pytest.raises(ParameterError, match="has none"):
        Belief().run(View(published, everybody(published)))
