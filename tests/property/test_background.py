"""The background attack against enumeration of all assignments of a bucket's values."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacks import Background
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.method import Shape
from shoal.core.release import Manifest, Meaning, People, Published
from shoal.knowledge import Knowledge, NegativeRule

JOBS, SEXES, VALUES = ("baker", "clerk", "nurse"), ("F", "M"), ("cold", "flu", "gout", "mumps")
ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.sampled_from(JOBS), st.sampled_from(SEXES),
              st.sampled_from(VALUES)),
    min_size=1, max_size=9,
)  # fmt: skip
RULES = st.lists(
    st.tuples(
        st.one_of(
            st.fixed_dictionaries({"job": st.sampled_from(JOBS)}),
            st.fixed_dictionaries({"sex": st.sampled_from(SEXES)}),
            st.fixed_dictionaries({"job": st.sampled_from(JOBS), "sex": st.sampled_from(SEXES)}),
        ),
        st.sampled_from(VALUES),
    ),
    max_size=5,
)


def published_of(rows, shape=Shape.BUCKETIZED, meanings=None):
    """Count rows (bucket, job, sex, value) as a reader of the release does."""
    buckets = sorted({row[0] for row in rows})
    texts = [[str(b) for b in buckets], *(sorted({row[at] for row in rows}) for at in (1, 2))]
    domains = [Domain.of_texts(name, listed)
               for name, listed in zip(("bucket", "job", "sex"), texts, strict=True)]  # fmt: skip
    codes = [[texts[at].index(str(row[at])) for at in range(3)] for row in rows]
    lines = Cells.of_rows(domains, np.array(codes))
    sick = Domain.of_texts("disease", sorted({row[3] for row in rows}))
    pairs = Buckets.of_pairs(
        np.array([buckets.index(row[0]) for row in rows]), sick.codes_of([r[3] for r in rows]), sick
    )
    manifest = Manifest(shape=shape, method="some", parameters={}, guarantees=(), columns=(),
                        n_rows=len(rows), n_buckets=len(buckets))  # fmt: skip
    return Published(manifest, lines, pairs, meanings or {})


def is_forbidden(rules, job, sex, value):
    return any(
        excluded == value and when.get("job", job) == job and when.get("sex", sex) == sex
        for when, excluded in rules
    )


def possible_slowly(rows, rules):
    """Give for each row the values of its bucket that it may have, by both counts."""
    found = []
    for bucket in {row[0] for row in rows}:
        members = [row for row in rows if row[0] == bucket]
        values = [row[3] for row in members]
        valid = [set() for _ in members]
        for order in set(permutations(values)):
            if not any(is_forbidden(rules, row[1], row[2], value)
                       for row, value in zip(members, order, strict=True)):  # fmt: skip
                for seen, value in zip(valid, order, strict=True):
                    seen.add(value)
        for row, seen in zip(members, valid, strict=True):
            simple = {v for v in values if not is_forbidden(rules, row[1], row[2], v)}
            found.append((row, simple, seen))
    return found


def knowledge_of(rules):
    return Knowledge("disease", [NegativeRule(antecedent=w, value=v) for w, v in rules])


def everybody(published):
    lines = published.lines
    return People(Cells(lines.domains[1:], lines.codes[:, 1:], lines.counts),
                  bucket=lines.codes[:, 0], line=np.arange(lines.n_cells))  # fmt: skip


@given(ROWS, RULES, st.integers(1, 4))
@settings(max_examples=500)
def test_the_values_left_are_those_of_all_assignments(rows, rules, ell):
    published = published_of(rows)
    people = everybody(published)
    findings = Background(rules=knowledge_of(rules), ell=ell).run(published, people)
    slow = possible_slowly(rows, rules)
    at_risk = [row for row, _, valid in slow if 0 < len(valid) < ell]
    assert findings.n_breached == len(at_risk) == findings.headline["people at risk"]
    simple = [row for row, possible, _ in slow if 0 < len(possible) < ell]
    assert findings.headline["people at risk by the simple count"] == len(simple)
    contradicted = [row for row, _, valid in slow if not valid]
    assert findings.headline["people whose bucket contradicts the rules"] == len(contradicted)
    by_line = {}
    for row, _, valid in slow:
        by_line[row[0], row[1], row[2]] = valid
    labels = [domain.labels() for domain in published.lines.domains]
    for line, codes in enumerate(published.lines.codes.tolist()):
        bucket, job, sex = (label[code] for label, code in zip(labels, codes, strict=True))
        valid = by_line[int(bucket), job, sex]
        assert findings.posterior[line] == (1 / len(valid) if valid else 0)
        believed = findings.value[line]
        if len(valid) == 1:
            assert published.buckets.domain.text(int(believed)) == next(iter(valid))
        else:
            assert believed == -1


@given(ROWS, RULES)
@settings(max_examples=300)
def test_people_who_may_be_in_several_lines_may_have_what_any_of_them_may(rows, rules):
    published = published_of(rows)
    looks = sorted({(row[1], row[2]) for row in rows})
    domains = [Domain.of_texts("job", sorted(JOBS)), Domain.of_texts("sex", sorted(SEXES))]
    codes = np.array([[sorted(JOBS).index(job), sorted(SEXES).index(sex)] for job, sex in looks])
    people = People(Cells.of_rows(domains, codes))
    findings = Background(rules=knowledge_of(rules), ell=2).run(published, people)
    possible = {}
    for row, _, valid in possible_slowly(rows, rules):
        possible.setdefault((row[1], row[2]), set()).update(valid)
    order = sorted(looks, key=lambda look: codes[looks.index(look)].tolist())
    for place, look in enumerate(order):
        n_values = len(possible[look])
        assert findings.posterior[place] == (1 / n_values if n_values else 0)


def test_on_a_generalized_release_a_rule_holds_where_it_holds_for_all_of_a_label():
    rows = [(0, "*", "F", "cold"), (0, "*", "F", "flu"), (1, "office", "M", "flu"),
            (1, "office", "M", "gout")]  # fmt: skip
    meanings = {
        "job": {"office": Meaning(members=frozenset({"clerk"})), "*": Meaning(has_other=True)}
    }
    published = published_of(rows, Shape.GENERALIZED, meanings)
    rules = knowledge_of([({"job": "clerk"}, "gout"), ({"job": "nurse"}, "cold")])
    found = Background(rules=rules).run(published, everybody(published))
    # Everybody behind `office` is a clerk, and one of the two has gout: the rule is wrong there.
    assert found.headline["people whose bucket contradicts the rules"] == 2
    assert found.headline["people at risk"] == 0
    job = Domain.of_texts("job", ["nurse"])
    sex = Domain.of_texts("sex", ["F"])
    nurse = People(Cells.of_rows([job, sex], np.array([[0, 0]])))
    found = Background(rules=rules).run(published, nurse)
    assert (found.n_breached, published.buckets.domain.text(int(found.value[0]))) == (1, "flu")


@given(ROWS, RULES)
@settings(max_examples=300)
def test_where_all_of_a_generalized_bucket_are_known_their_own_values_are_matched(rows, rules):
    """Jobs are hidden behind one label; sexes name the bucket, so that everybody is found."""
    rows = [(SEXES.index(row[2]), *row[1:]) for row in rows]
    meanings = {"job": {"any": Meaning(members=frozenset(JOBS))}}
    shown = [(row[0], "any", *row[2:]) for row in rows]
    domains = [Domain.of_texts("job", sorted(JOBS)), Domain.of_texts("sex", sorted(SEXES))]
    codes = np.array([[sorted(JOBS).index(row[1]), sorted(SEXES).index(row[2])] for row in rows])
    people = People(Cells.of_rows(domains, codes))
    published = published_of(shown, Shape.GENERALIZED, meanings)
    findings = Background(rules=knowledge_of(rules), ell=2).run(published, people)
    possible = {(row[1], row[2]): valid for row, _, valid in possible_slowly(rows, rules)}
    labels = [domain.labels() for domain in domains]
    for place, (job, sex) in enumerate(people.quasi.codes.tolist()):
        valid = possible[labels[0][job], labels[1][sex]]
        assert findings.posterior[place] == (1 / len(valid) if valid else 0)


def test_somebody_who_may_be_left_out_leaves_a_bucket_as_its_labels_say():
    rows = [(0, "any", "F", "cold"), (0, "any", "F", "flu"), (0, "any", "F", "flu")]
    published = published_of(rows, Shape.GENERALIZED,
                             {"job": {"any": Meaning(members=frozenset(JOBS))}})  # fmt: skip
    rules = knowledge_of([({"job": "nurse"}, "cold"), ({"job": "clerk"}, "cold")])
    domains = [Domain.of_texts("job", sorted(JOBS)), Domain.of_texts("sex", sorted(SEXES))]
    nurse, clerk, baker = [2, 0], [1, 0], [0, 0]
    for codes, n_possible in (([nurse, clerk, baker], 1), ([nurse, baker], 2)):
        people = People(Cells.of_rows(domains, np.array(codes)))
        found = Background(rules=rules).run(published, people)
        # The baker is the first: of the three of them she alone can have the cold.
        assert found.posterior[0] == 1 / n_possible
