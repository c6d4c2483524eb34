from __future__ import annotations

import json

import numpy as np
import pytest

from shoal.attacks import Foreground
from shoal.beliefs.beliefs import Beliefs
from shoal.core.attack import View
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.guarantees import DistinctDiversity, FrequencyDiversity
from shoal.core.meaning import Meaning
from shoal.core.release import People
from shoal.core.shapes import Shape
from shoal.foreground.law import posterior
from shoal.foreground.pieces import Pieces
from shoal.knowledge import Knowledge, NegativeRule
from shoal.workflow.make import make

COLUMNS = ["nation", "disease"]
# Americans have what Japanese hardly ever have: one of each in bucket a, others apart.
ROWS = [
    ("a", "American", "heart"),
    ("a", "Japanese", "flu"),
    ("b", "American", "heart"),
    ("b", "American", "flu"),
    ("c", "Japanese", "flu"),
    ("c", "Japanese", "cold"),
    ("d", "Japanese", "cold"),
    ("d", "Japanese", "flu"),
]
SMALL = {"epsilon": "1/2", "sigma": 1}
"""Two rows of a signature are enough."""


def by_line(published, findings):
    """Return posterior and breach by bucket and nation."""
    lines, texts = published.lines, [domain.labels() for domain in published.lines.domains]
    return {
        (texts[0][bucket], texts[1][nation]): (float(p), bool(breached))
        for bucket, nation, p, breached in zip(
            *lines.codes.T.tolist(), findings.posterior, findings.breached, strict=True
        )
    }


def section(findings, title):
    return next(entry for entry in findings.sections if entry.title == title)


def whole_table(published):
    """Return everybody in their own line, as a release is attacked by default."""
    lines = published.lines
    return People(
        Cells(published.quasi, lines.codes[:, 1:], lines.counts),
        bucket=lines.codes[:, 0],
        line=np.arange(lines.n_cells),
    )


def test_the_release_betrays_the_american(publish):
    published = publish(COLUMNS, ROWS)
    attack = Foreground(value="heart", r=2, adversary="paper", **SMALL)
    findings = attack.run(View(published, whole_table(published)))
    found = by_line(published, findings)
    assert found["a", "American"] == (pytest.approx(1, abs=1e-6), True)
    assert found["a", "Japanese"] == (pytest.approx(0, abs=1e-6), False)
    # Two Americans and one heart disease: a tie at 1/2 is no breach.
    assert found["b", "American"] == (pytest.approx(0.5), False)
    assert found["c", "Japanese"] == (0, False)
    assert findings.limit == "0.5"
    assert findings.n_breached == 1
    heart = published.buckets.domain.codes_of(["heart"])[0]
    assert set(findings.value.tolist()) == {-1, heart}
    assert json.dumps(findings.to_dict())


def test_the_additive_adversary_adds_up_to_what_buckets_hold(publish):
    published = publish(COLUMNS, ROWS)
    findings = Foreground(value="heart", r=2, **SMALL).run(View(published, whole_table(published)))
    sums = np.bincount(
        published.lines.codes[:, 0], findings.posterior * published.lines.counts
    ).tolist()
    assert sums == pytest.approx([1, 1, 0, 0])
    found = by_line(published, findings)
    assert found["a", "American"][0] > 0.6
    assert found["a", "American"][1]
    names = [row[0] for row in section(findings, "adversaries").rows]
    assert names == ["logit", "paper", "random worlds"]
    assert section(findings, "adversaries").rows[2][1:3] == (0, 0.5)


def test_what_did_most_damage_is_said_in_words(publish):
    published = publish(COLUMNS, ROWS)
    attack = Foreground(value="heart", r=2, adversary="paper", **SMALL)
    findings = attack.run(View(published, whole_table(published)))
    ((people, chance, words),) = section(findings, "signatures that did most damage").rows
    assert (people, chance) == (1, pytest.approx(2 / 3))
    assert words == "people with nation American are 2.7 times as likely as everybody to have heart"
    (first, *_) = section(findings, "attribute sets that did most damage").rows
    assert first[:3] == (1, "nation", "heart")
    assert findings.headline["average Delta"] == pytest.approx((2 / 3) / 4, abs=1e-6)
    assert findings.headline["sets that converged"] == "1 of 1"


def test_people_whose_signature_is_rare_are_named_as_such(publish):
    rows = [
        *(("a", "Swiss", "heart"), ("a", "Japanese", "flu")),
        *((f"b{n}", "Japanese", "flu") for n in range(5)),
    ]
    published = publish(COLUMNS, rows)
    attack = Foreground(value="heart", r=2, adversary="paper", epsilon="1/4", sigma=1)
    findings = attack.run(View(published, whole_table(published)))
    ((_, _, words),) = section(findings, "signatures that did most damage").rows
    assert words.startswith("people whose nation is rare are 7.0 times as likely as everybody")


@pytest.mark.parametrize(("policy", "expected"), [("pool", 1.0), ("prior", 1 / 7), ("half", 1 / 2)])
def test_rare_signatures_have_the_chance_of_the_policy(publish, policy, expected):
    rows = [
        *(("a", "Swiss", "heart"), ("a", "Japanese", "flu")),
        *((f"b{n}", "Japanese", "flu") for n in range(5)),
    ]
    published = publish(COLUMNS, rows)
    attack = Foreground(value="heart", policy=policy, adversary="paper", epsilon="1/4", sigma=1)
    findings = attack.run(View(published, whole_table(published)))
    if policy == "pool":
        assert findings.posterior.max() == pytest.approx(expected, abs=1e-6)
        return
    # The Japanese chance is what is left: EM's fixed point given the rare one.
    swiss = findings.posterior.max()
    japanese = (1 - swiss) / 6
    assert posterior([expected, japanese], 1)[0] == pytest.approx(swiss, abs=1e-5)


def test_values_that_count_as_one_are_attacked_as_one(publish):
    published = publish(COLUMNS, ROWS)
    attack = Foreground(value=["flu", "cold"], r=1, adversary="paper", **SMALL)
    findings = attack.run(View(published, whole_table(published)))
    found = by_line(published, findings)
    assert found["c", "Japanese"][0] == pytest.approx(1)
    assert findings.headline["values attacked"] == "1 of 1"
    assert findings.n_breached == 0
    texts = published.buckets.domain.labels()
    bucket_a = findings.value[published.lines.codes[:, 0] == 0]
    assert {texts[code] for code in bucket_a.tolist() if code >= 0} == {"flu"}


def test_without_a_value_all_are_attacked_or_those_protected(publish):
    published = publish(COLUMNS, ROWS)
    findings = Foreground(**SMALL).run(View(published, whole_table(published)))
    assert findings.headline["values attacked"] == "3 of 3"
    assert findings.limit == "0.5"
    protecting = FrequencyDiversity(ell=4, protect=("heart", "cold"))
    published = publish(COLUMNS, ROWS, guarantees=[protecting])
    findings = Foreground(**SMALL).run(View(published, whole_table(published)))
    assert findings.headline["values attacked"] == "1 of 1"
    assert findings.limit == "0.25"
    published = publish(COLUMNS, ROWS, guarantees=[DistinctDiversity(ell=3)])
    assert Foreground(**SMALL).run(View(published, whole_table(published))).limit == "1/3"
    assert Foreground(r=5, **SMALL).run(View(published, whole_table(published))).limit == "0.2"


def test_where_no_protected_value_is_left_nobody_is_at_risk(publish):
    published = publish(COLUMNS, ROWS, guarantees=[FrequencyDiversity(ell=2, protect=("gout",))])
    findings = Foreground(**SMALL).run(View(published, whole_table(published)))
    assert (findings.n_breached, findings.worst) == (0, 0)
    assert findings.headline["values attacked"] == "0 of 0"


def test_chances_that_are_not_the_only_ones_are_reported(publish):
    # Nothing tells the two nations apart.
    pair = (("American", "heart"), ("Japanese", "flu"))
    together = publish(COLUMNS, [(f"a{n}", *row) for n in range(4) for row in pair])
    attack = Foreground(value="heart", **SMALL)
    headline = attack.run(View(together, whole_table(together))).headline
    assert headline["sets with several solutions"] == 1
    published = publish(COLUMNS, ROWS)
    headline = attack.run(View(published, whole_table(published))).headline
    assert headline["sets with several solutions"] == 0


def test_of_too_many_values_the_rarest_are_attacked_and_it_is_said(publish):
    published = publish(COLUMNS, ROWS)
    people = whole_table(published)
    work = Pieces(2, 1).cost(len(published.lines.counts))
    findings = Foreground(**SMALL).run(View(published, people, work=work))
    assert findings.headline["values attacked"] == "2 of 3"
    assert findings.cut_short == "2 of 3 values were attacked"
    texts = published.buckets.domain.labels()
    assert {texts[code] for code in findings.value.tolist() if code >= 0} <= {"heart", "cold"}


def test_a_certain_rule_excludes_and_all_three_stand_side_by_side(publish):
    rows = [("a", "American", "heart"), ("a", "Japanese", "flu"), ("a", "Swiss", "flu")]
    published = publish(COLUMNS, rows * 2)
    rule = NegativeRule(antecedent={"nation": "Swiss"}, value="heart")
    known = Knowledge("disease", [rule])
    attack = Foreground(value="heart", r=3, adversary="paper", **SMALL)
    people = whole_table(published)
    findings = attack.run(View(published, people, known))
    found = by_line(published, findings)
    assert found["a", "Swiss"][0] == 0
    assert found["a", "American"][0] == pytest.approx(0.5)
    compared = {row[0]: row[1:3] for row in section(findings, "adversaries").rows}
    assert compared["random worlds"] == (0, pytest.approx(1 / 3))
    assert compared["foreground"] == (0, pytest.approx(1 / 3, abs=1e-6))
    assert compared["background"] == (4, pytest.approx(0.5))
    assert compared["paper: foreground and background"] == (4, pytest.approx(0.5))
    given = Foreground(value="heart", r=3, adversary="paper", knowledge=known, **SMALL)
    assert given.run(View(published, people)).to_dict() == findings.to_dict()


def test_rules_that_contradict_a_bucket_exclude_nobody_there(publish):
    published = publish(COLUMNS, ROWS)
    rules = [
        NegativeRule(antecedent={"nation": n}, value="heart") for n in ("American", "Japanese")
    ]
    findings = Foreground(value="heart", **SMALL).run(
        View(published, whole_table(published), Knowledge("disease", rules))
    )
    assert by_line(published, findings)["b", "American"][0] == pytest.approx(0.5)


def test_rules_about_another_column_are_refused(publish):
    published = publish(COLUMNS, ROWS)
    with pytest.raises(
        ParameterError, match="'salary'; the release's sensitive column is 'disease'"
    ):
        Foreground().run(View(published, whole_table(published), Knowledge("salary")))


def test_a_prior_is_where_the_search_begins_and_what_is_known(publish):
    # Both nations are always together: only the prior tells them apart.
    pair = (("American", "heart"), ("Japanese", "flu"))
    published = publish(COLUMNS, [(f"a{n}", *row) for n in range(4) for row in pair])
    nations = Domain.of_texts("nation", ["American", "Japanese"])
    diseases = Domain.of_texts("disease", ["flu", "heart"])
    cells = Cells((nations,), np.array([[0], [1]]), np.array([1, 1]))
    beliefs = Beliefs(cells, np.array([[0.9, 0.1], [0.99, 0.01]]), diseases)
    for adversary in ("paper", "logit"):
        attack = Foreground(value="heart", adversary=adversary, **SMALL)
        plain = attack.run(View(published, whole_table(published)))
        informed = attack.run(View(published, whole_table(published), beliefs))
        assert plain.worst == pytest.approx(0.5, abs=1e-6)
        assert informed.worst > 0.9
        compared = {row[0]: row[2] for row in section(informed, "adversaries").rows}
        expected = posterior([0.1, 0.01], 1)[0]
        assert compared["background"] == pytest.approx(expected)
        assert compared["foreground"] == pytest.approx(0.5, abs=1e-6)


# --- people --------------------------------------------------------------------------------------


def test_people_are_found_by_matching_and_their_belief_is_a_mean(publish, people_of):
    published = publish(COLUMNS, ROWS)
    strangers = people_of(["nation"], [("American",), ("Japanese",), ("Swiss",)])
    attack = Foreground(value="heart", adversary="paper", **SMALL)
    findings = attack.run(View(published, strangers))
    nations = strangers.quasi.domains[0].labels()
    found = dict(zip(nations, findings.posterior.tolist(), strict=True))
    # Of three American rows one is certain and two are 1/2.
    assert found == {
        "American": pytest.approx(2 / 3, abs=1e-6),
        "Japanese": pytest.approx(0, abs=1e-6),
        "Swiss": 0,
    }
    assert findings.headline["people not found"] == 1
    assert findings.value[nations.index("Swiss")] == -1


def test_everybody_may_be_located_by_matching_too(publish):
    published = publish(COLUMNS, ROWS)
    attack = Foreground(value="heart", adversary="paper", locate="matching", **SMALL)
    found = by_line(published, attack.run(View(published, whole_table(published))))
    assert found["a", "American"][0] == pytest.approx(2 / 3, abs=1e-6)
    assert found["b", "American"][0] == pytest.approx(2 / 3, abs=1e-6)


def test_people_with_buckets_are_attacked_by_their_exact_values(publish):
    rows = [(bucket, "any", disease) for bucket, _, disease in ROWS]
    meanings = {"nation": {"any": Meaning(members=frozenset({"American", "Japanese"}))}}
    published = publish(COLUMNS, rows, shape=Shape.GENERALIZED, meanings=meanings)
    attack = Foreground(value="heart", adversary="paper", **SMALL)
    by_label = attack.run(View(published, whole_table(published)))
    assert by_label.worst == pytest.approx(0.5)
    nation = Domain.of_texts("nation", ["American", "Japanese"])
    quasi = np.array([[0], [1], [0], [0], [1], [1], [1], [1]])
    bucket = published.lines.domains[0].codes_of([row[0] for row in ROWS])
    people = People(Cells((nation,), quasi, np.ones(8, dtype=np.int64)), bucket)
    findings = attack.run(View(published, people))
    assert findings.posterior.tolist() == pytest.approx([1, 0, 0.5, 0.5, 0, 0, 0, 0], abs=1e-6)
    # Who is not all of a bucket is attacked by the lines that fit.
    few = People(Cells((nation,), quasi[:2], np.ones(2, dtype=np.int64)), bucket[:2])
    assert attack.run(View(published, few)).posterior.tolist() == pytest.approx([0.5, 0.5])
    matching = Foreground(value="heart", adversary="paper", locate="matching", **SMALL)
    assert matching.run(View(published, people)).worst == pytest.approx(0.25)


def test_subgroups_are_listed_by_their_share_at_risk(publish):
    rows = [
        row
        for n in range(20)
        for row in ((f"a{n}", "American", "heart"), (f"a{n}", "Japanese", "flu"))
    ]
    rows += [(f"b{n}", "Japanese", "flu") for n in range(20)]
    published = publish(COLUMNS, rows)
    findings = Foreground(value="heart", adversary="paper", epsilon="1/4", sigma=1).run(
        View(published, whole_table(published))
    )
    assert section(findings, "people believed above the limit, by subgroup").rows == (
        ("nation", "American", 20, 20, 1.0),
    )
    bands = dict(section(findings, "people by posterior").rows)
    assert bands["up to 1"] == 20
    assert sum(bands.values()) == 60


# --- parameters ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"r": 0.5}, "r must be at least 1, not 0.5"),
        ({"r": "many"}, "r must be a finite number"),
        ({"epsilon": 0}, "epsilon must be above 0"),
        ({"sigma": 2}, "sigma must be above 0"),
        ({"policy": "none"}, "policy must be one of pool, prior, half"),
        ({"adversary": "both"}, "adversary must be one of logit, paper"),
        ({"locate": "near"}, "locate must be one of true, matching"),
        ({"value": []}, "value must be a list of at least one sensitive value"),
        ({"value": [b"3"]}, "value must list texts"),
        ({"knowledge": 3}, "knowledge must be rules or beliefs, not a int"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Foreground(**parameters)


def test_a_value_that_the_release_lacks_is_refused_without_naming_it(publish):
    published = publish(COLUMNS, ROWS)
    with pytest.raises(ParameterError, match="names 1 values that column 'disease'") as caught:
        Foreground(value=["heart", "gout"]).run(View(published, whole_table(published)))
    assert "gout" not in str(caught.value)


def test_a_release_without_a_sensitive_column_is_refused(publish):
    published = publish(["nation", "age"], [("a", "x", "1")], values=False)
    assert not Foreground().fits(published)
    with pytest.raises(ParameterError, match="and has none"):
        Foreground().run(View(published, whole_table(published)))


def test_it_runs_from_the_command_line_by_its_name():
    made = make("shoal.attacks", "foreground", {"value": "flu", "r": 4, "adversary": "paper"})
    assert made == Foreground(value=["flu"], r="4", adversary="paper")
