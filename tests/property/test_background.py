"""The background attack against enumeration of all assignments of a bucket's values."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations, permutations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.attacks import Background
from shoal.core.attack import View
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published
from shoal.core.shapes import Shape
from shoal.knowledge import Fact, Knowledge, NegativeRule

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
    findings = Background(rules=knowledge_of(rules), ell=ell).run(View(published, people))
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
    findings = Background(rules=knowledge_of(rules), ell=2).run(View(published, people))
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
    found = Background(rules=rules).run(View(published, everybody(published)))
    # Everybody behind `office` is a clerk, and one of the two has gout: the rule is wrong there.
    assert found.headline["people whose bucket contradicts the rules"] == 2
    assert found.headline["people at risk"] == 0
    job = Domain.of_texts("job", ["nurse"])
    sex = Domain.of_texts("sex", ["F"])
    nurse = People(Cells.of_rows([job, sex], np.array([[0, 0]])))
    found = Background(rules=rules).run(View(published, nurse))
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
    findings = Background(rules=knowledge_of(rules), ell=2).run(View(published, people))
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
        found = Background(rules=rules).run(View(published, people))
        # The baker is the first: of the three of them she alone can have the cold.
        assert found.posterior[0] == 1 / n_possible


# --- facts about single people -----------------------------------------------------------------


def worlds_of(rows, rules, facts):
    """Give all assignments of the values of one bucket that rules and facts allow."""
    values = [row[3] for row in rows]
    return [
        order
        for order in set(permutations(values))
        if not any(is_forbidden(rules, row[1], row[2], value) or (place, value) in facts
                   for place, (row, value) in enumerate(zip(rows, order, strict=True)))
    ]  # fmt: skip


SMALL = st.lists(
    st.tuples(st.integers(0, 1), st.sampled_from(JOBS[:2]), st.sampled_from(SEXES),
              st.sampled_from(VALUES[:3])),
    min_size=1, max_size=7,
)  # fmt: skip
FACTS = st.sets(st.tuples(st.integers(0, 6), st.sampled_from(VALUES[:3])), max_size=5)


def told(rows, rules, facts):
    """Give rules and those facts that are about somebody and some value of the rows."""
    present = {row[3] for row in rows}
    facts = {(place, value) for place, value in facts if place < len(rows) and value in present}
    rules = [(when, value) for when, value in rules if value in present]
    jobs, sexes = {row[1] for row in rows}, {row[2] for row in rows}
    rules = [
        (when, value)
        for when, value in rules
        if {when.get("job", rows[0][1])} <= jobs and {when.get("sex", rows[0][2])} <= sexes
    ]
    known = replace_facts(knowledge_of(rules), facts)
    return known, rules, facts


def replace_facts(known, facts):
    told_of = [Fact(person=str(place), value=value) for place, value in sorted(facts)]
    return Knowledge(known.sensitive, known.negative, facts=told_of)


def line_of(published, row):
    codes = [domain.labels().index(str(text)) for domain, text in
             zip(published.lines.domains, row[:3], strict=True)]  # fmt: skip
    return published.lines.codes.tolist().index(codes)


@given(SMALL, RULES, FACTS, st.booleans())
@settings(max_examples=300)
def test_facts_are_matched_person_by_person(rows, rules, facts, is_everybody):
    """Compare with all assignments, in which each person of a fact is one row of their own."""
    known, rules, facts = told(rows, rules, facts)
    published = published_of(rows)
    people = everybody(published)
    keys = {str(place): line_of(published, row) for place, row in enumerate(rows)}
    if not is_everybody:
        # Found by their quasi-identifiers: only who may be in one line alone is known to be there.
        looks = sorted({(row[1], row[2]) for row in rows})
        n_lines = {look: len({row[0] for row in rows if row[1:3] == look}) for look in looks}
        if any(n > 1 for n in n_lines.values()):
            return
        codes = [published.lines.codes[keys[str(place)], 1:] for place in range(len(rows))]
        cells = Cells.of_rows(published.quasi, np.array(codes))
        place_of = {tuple(codes): cell for cell, codes in enumerate(cells.codes.tolist())}
        keys = {key: place_of[tuple(published.lines.codes[line, 1:].tolist())]
                for key, line in keys.items()}  # fmt: skip
        people = People(cells, cell_of_key=keys)
    else:
        people = replace(people, cell_of_key=keys)
    found = Background(rules=known, ell=2).run(View(published, people))
    assert found.unresolved == ()
    assert found.n_people == len(rows)
    named = {place for place, _ in facts}
    assert list(found.apart) == [str(place) for place in sorted(named)]
    n_cells = len(found.counts) - len(found.apart)
    n_at_risk = 0
    for bucket in {row[0] for row in rows}:
        places = [place for place, row in enumerate(rows) if row[0] == bucket]
        here = {(places.index(place), value) for place, value in facts if place in places}
        worlds = worlds_of([rows[place] for place in places], rules, here)
        for at, place in enumerate(places):
            valid = {world[at] for world in worlds}
            n_at_risk += len(valid) == 1
            entry = keys[str(place)]
            if place in named:
                entry = n_cells + list(found.apart).index(str(place))
            assert found.posterior[entry] == (1 / len(valid) if valid else 0)
    assert found.n_breached == n_at_risk


def fewest_facts(worlds, at, *, about_others):
    """Try all sets of true facts until one of them makes a value certain, in any world."""
    best = None
    for world in worlds:
        true = [(place, value) for place in range(len(world)) for value in set(world)
                if (place == at) != about_others and world[place] != value]  # fmt: skip
        for size in range(len(true) + 1):
            if best is not None and size >= best:
                break
            for chosen in combinations(true, size):
                left = {one[at] for one in worlds
                        if all(one[place] != value for place, value in chosen)}  # fmt: skip
                if len(left) == 1:
                    best = size
                    break
    return best


@given(SMALL.map(lambda rows: [(0, *row[1:]) for row in rows][:4]), RULES)
@settings(max_examples=100)
def test_further_facts_are_exact_about_oneself_and_bounded_about_others(rows, rules):
    """[Li08, III-A]: how many facts she would still need."""
    known, rules, _ = told(rows, rules, set())
    published = published_of(rows)
    found = Background(rules=known, ell=2).run(View(published, everybody(published)))
    section = next(one for one in found.sections if one.title.startswith("further facts"))
    assert not section.holds_values
    worlds = worlds_of(rows, rules, set())
    if not worlds:
        assert section.rows == ()
        return
    own = Counter(fewest_facts(worlds, at, about_others=False) for at in range(len(rows)))
    assert own == {number: n for number, n, _ in section.rows if n}
    bounds = sorted(number for number, _, n in section.rows for _ in range(n))
    exact = [fewest_facts(worlds, at, about_others=True) for at in range(len(rows))]
    # As many people are counted; none of them needs more than the bound says.
    assert len(bounds) == len(rows)
    assert all(one is not None for one in exact)
    assert all(one <= bound for one, bound in zip(sorted(exact), bounds, strict=True))
