"""Knowledge: what it forbids, how it combines, what it refuses and what it says in words."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.core.prior_knowledge import ForbiddenSets
from shoal.injector.nodes import Node
from shoal.injector.resolving import Setting, resolve
from shoal.knowledge import (
    Fact,
    Knowledge,
    NegativeRule,
    PositiveRule,
    Statistic,
    mine_negative_rules,
    mine_positive_rules,
    mine_summary_statistics,
)

SECRET = "SECRETVALUE123"


def never(value: str | None, *, who: str = "", why: str = "", **antecedent: str | None):
    return NegativeRule(antecedent=antecedent, value=value, who=who, why=why)


def sets_of(known: Knowledge, cells: Cells, domain: Domain, trees=None, meanings=None):
    return resolve(known, Setting(cells, domain, trees or {}, meanings or {})).sets


def rules_of(known: Knowledge) -> set:
    return {(frozenset(rule.antecedent.items()), rule.value) for rule in known}


def table_of(rows, columns=("sex", "age", "disease"), **options):
    data = {
        name: list(values) for name, values in zip(columns, zip(*rows, strict=True), strict=True)
    }
    schema = shoal.Schema(quasi=columns[:-1], sensitive=columns[-1], **options)
    import pyarrow

    return shoal.read(pyarrow.table(data), schema)


@pytest.fixture(scope="module")
def patients():
    rows = [
        ("M", 20, "flu"), ("M", 21, "prostate"), ("M", 35, "flu"), ("F", 20, "ovarian"),
        ("F", 36, "flu"), (None, 36, "flu"), ("F", None, None),
    ]  # fmt: skip
    hierarchy = {"age": shoal.Hierarchy.intervals([20, 30, 40])}
    return table_of(rows, hierarchies=hierarchy)


# what is forbidden


def test_a_rule_forbids_its_value_to_everybody_whom_it_speaks_of(patients):
    known = Knowledge("disease", [never("ovarian", sex="M"), never("prostate", sex="F", age="36")])
    found = known.forbidden(patients)
    assert len(found) == 7
    assert found["M", "20"] == {"ovarian"}
    assert found["F", "36"] == {"prostate"}
    assert found["F", "20"] == found[None, "36"] == frozenset()


def test_missing_values_are_values_of_rules(patients):
    known = Knowledge("disease", [never("flu", age=None), never(None, sex="M")])
    found = known.forbidden(patients)
    assert found["F", None] == {"flu"}
    assert found["M", "35"] == {None}
    assert found["F", "36"] == frozenset()


def test_nodes_are_those_of_the_hierarchy_or_say_what_they_stand_for(patients):
    tree = patients.trees["age"]
    label = str(tree.labels[tree.ancestors_at(1)[0]])
    for known in (
        Knowledge("disease", [never("prostate", age=label)]),
        Knowledge(
            "disease",
            [never("prostate", age="young")],
            definitions={"age": [Node("young", interval=("18", "29"))]},
        ),
    ):
        found = known.forbidden(patients)
        assert {row for row in found if found[row]} == {("M", "20"), ("M", "21"), ("F", "20")}


def test_numbers_may_be_spelled_otherwise_in_antecedents_and_values():
    table = table_of([("M", 20, 1.5), ("F", 30, 20.0), ("F", 30, 1.5)])
    known = Knowledge("disease", [never("20", age="20.0"), never("1.50", sex="F")])
    found = known.forbidden(table)
    assert found["M", "20"] == {table.domains["disease"].text(1)}
    assert found["F", "30"] == {"1.5"}


@given(st.data())
@settings(max_examples=60)
def test_forbidden_sets_are_the_union_over_rules(data):
    """Compare with going through every rule and every row."""
    texts = st.sampled_from(["a", "b", "ü", None])
    rows = data.draw(st.lists(st.tuples(texts, texts), min_size=1, max_size=8))
    domains = tuple(Domain.of_texts(name, ["a", "b", "ü"], has_missing=True) for name in ("x", "y"))
    codes = np.array([[d.labels().index(t) for d, t in zip(domains, r, strict=True)] for r in rows])
    cells = Cells.of_rows(domains, codes)
    values = [f"s{number}" for number in range(data.draw(st.sampled_from([1, 3, 70])))]
    sensitive = Domain.of_texts("s", sorted(values), has_missing=data.draw(st.booleans()))
    label = st.sampled_from(["a", "b", "ü", None, "group", "absent"])
    rules = data.draw(
        st.lists(
            st.builds(
                NegativeRule,
                antecedent=st.dictionaries(st.sampled_from(["x", "y"]), label, min_size=1),
                value=st.sampled_from([*values[:2], values[-1], None, "absent"]),
            ),
            max_size=6,
        )
    )
    group = Node("group", members=frozenset({"b", None}))
    known = Knowledge("s", rules, definitions={"x": [group], "y": [group]})
    found = sets_of(known, cells, sensitive)
    for cell, row in enumerate(cells.codes.tolist()):
        labels = {d.column: d.text(code) for d, code in zip(domains, row, strict=True)}
        expected = {
            rule.value
            for rule in rules
            if rule.value in sensitive.labels()
            and all(
                labels[column] in (group.members if node == "group" else {node})
                for column, node in rule.antecedent.items()
            )
        }
        marks = found.sets[found.which[cell]]
        assert {sensitive.text(code) for code in np.flatnonzero(marks).tolist()} == expected
    assert len(np.unique(found.sets, axis=0)) == len(found.sets)


def test_forbidden_sets_of_no_rows_or_no_values():
    assert ForbiddenSets.of_marks(np.zeros((0, 3), dtype=bool)).sets.shape == (0, 3)
    found = ForbiddenSets.of_marks(np.zeros((2, 0), dtype=bool))
    assert (found.which.tolist(), found.sets.shape) == ([0, 0], (1, 0))
    assert found.n_forbidden.tolist() == [0]


def test_on_generalized_labels_a_rule_holds_where_it_is_certain():
    age = Domain.of_texts("age", ["[20, 30[", "[30, 40[", "29 or 30"])
    disease = Domain.of_texts("disease", ["flu", "prostate"])
    meanings = {
        "[20, 30[": Meaning(interval=("20", "30")),
        "[30, 40[": Meaning(interval=("30", "40")),
        "29 or 30": Meaning(members=frozenset({"29", "30"})),
    }
    cells = Cells.of_rows([age], np.array([[0], [1], [2]]))
    known = Knowledge(
        "disease",
        [never("prostate", age="young")],
        definitions={"age": [Node("young", interval=("0", "30"))]},
    )
    found = sets_of(known, cells, disease, meanings={"age": meanings})
    assert found.sets[found.which, 1].tolist() == [True, False, True]
    setting = Setting(cells, disease, meanings={"age": meanings})
    assert resolve(known, setting).holding().tolist() == [[True, False, True]]
    assert resolve(known, setting).unresolved == ()


def test_a_rule_about_a_column_or_a_value_that_is_not_there_is_listed():
    sex, disease = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("disease", ["flu"])
    cells = Cells.of_rows([sex], np.array([[0], [1]]))
    known = Knowledge(
        "disease", [never("flu", sex="M", job="x"), never("cold", sex="M"), never("flu", sex="X")]
    )
    assert not sets_of(known, cells, disease).sets.any()
    found = resolve(known, Setting(cells, disease))
    assert not found.holding().any()
    assert found.unresolved == (
        "negative rule 1: there is no quasi-identifier 'job'",
        "negative rule 2: column 'disease' does not have the value that it excludes",
        "negative rule 3: column 'sex' has neither a value nor a node of that name",
    )


@pytest.mark.parametrize(
    ("known", "match"),
    [
        (
            Knowledge("disease", [never(SECRET, sex="M")]),
            "rule 1: column 'disease' does not have the value",
        ),
        (
            Knowledge("disease", [never("flu", sex=SECRET)]),
            "rule 1: column 'sex' has neither a value nor a node",
        ),
        (Knowledge("disease", [never("flu", job=SECRET)]), "there is no quasi-identifier 'job'"),
        (Knowledge("illness", [never(SECRET, sex="M")]), "'illness', which is not the table's"),
        (
            Knowledge(
                "disease",
                [never("flu", age="x")],
                definitions={"age": [Node("x", interval=("1970-01-01", "1980-01-01"))]},
            ),
            "rule 1: column 'age' has neither a value nor a node",
        ),
        (
            Knowledge(
                "disease",
                [never("flu", sex="x")],
                definitions={"sex": [Node("x", members=frozenset({SECRET}))]},
            ),
            "rule 1: column 'sex' has neither a value nor a node",
        ),
    ],
)
def test_rules_that_name_what_the_table_lacks_are_refused(patients, known, match):
    with pytest.raises(ParameterError, match=match) as caught:
        known.forbidden(patients)
    assert SECRET not in f"{caught.value.fact} {caught.value.hint}"


def test_a_rule_needs_an_antecedent():
    with pytest.raises(ParameterError, match="antecedent"):
        NegativeRule(antecedent={}, value=SECRET)


def test_no_repr_shows_a_value():
    known = Knowledge(
        "disease",
        [never(SECRET, sex=SECRET)],
        positive=[PositiveRule(antecedent={"sex": SECRET}, value=SECRET, confidence=0.5)],
        statistics=[Statistic(antecedent={"sex": SECRET}, value=SECRET, share=0.5)],
        facts=[Fact(person=SECRET, value=SECRET)],
        struck=[never(SECRET, sex=SECRET)],
        definitions={"sex": [Node(SECRET, members=frozenset({SECRET}))]},
    )
    for thing in (
        known, list(known), known.negative, known.positive, known.statistics, known.facts,
        known.struck, known.definitions, known.negative.nodes,
    ):  # fmt: skip
        assert SECRET not in repr(thing)


# mined


@pytest.fixture(scope="module")
def census():
    return shoal.read(shoal.datasets.census(rows=400, seed=5))


@pytest.mark.parametrize("max_len", [1, None])
def test_mined_rules_say_all_that_they_are_asked_for_and_are_true(census, max_len):
    known = mine_negative_rules(census, min_exp=0.8, max_len=max_len)
    assert len(known) > 3
    cells = census.counts((*census.schema.quasi, known.sensitive))
    domain = cells.domain(known.sensitive)
    totals = np.bincount(cells.column(known.sensitive), cells.counts, domain.size)
    holds = resolve(known, Setting(cells, domain)).holding()
    for number, rule in enumerate(known):
        assert rule.antecedent.keys() <= set(census.schema.quasi)
        assert rule.count == cells.counts[holds[number]].sum()
        code = domain.codes_of([rule.value])[0]
        assert not (holds[number] & (cells.column(known.sensitive) == code)).any()
        expected = 1 - (1 - totals[code] / cells.n_rows) ** rule.count
        assert rule.expectation == pytest.approx(expected, rel=1e-12)
        assert (rule.confidence, rule.who, rule.why) == (1.0, "", "")
        assert known.explain(rule).startswith(f"None of the {rule.count} people with ")


def test_mined_knowledge_needs_no_hierarchy_to_be_used_again(census):
    known = mine_negative_rules(census, min_exp=0.8)
    assert any(node.is_defined for nodes in known.negative.nodes.values() for node in nodes)
    quasi, domain = census.counts(census.schema.quasi), census.domains[known.sensitive]
    with_trees = sets_of(known, quasi, domain, census.trees)
    without = sets_of(Knowledge.from_toml(known.to_toml()), quasi, domain)
    assert np.array_equal(with_trees.sets[with_trees.which], without.sets[without.which])


def test_mined_kinds_of_knowledge_combine_and_keep_their_definitions(census):
    known = (
        mine_negative_rules(census, min_exp=0.8)
        | mine_positive_rules(census)
        | mine_summary_statistics(census)
    )
    assert len(known)
    assert known.positive
    assert known.statistics
    defined = {
        (column, node.label) for column, nodes in known.defined_nodes.items() for node in nodes
    }
    for entry in (*known, *known.positive, *known.statistics):
        for column, label in entry.antecedent.items():
            is_value = census.domains[column].codes_of([label])[0] >= 0
            assert is_value or (column, label) in defined
    again = Knowledge.from_toml(known.to_toml())
    assert again.defined_nodes == known.defined_nodes


def test_fuzzy_and_crisp_rules_about_one_value_are_told_apart(census):
    column = next(c for c in census.schema.quasi if census.domains[c].numbers is not None)
    crisp = mine_negative_rules(census, min_exp=0.5)
    fuzzy = mine_negative_rules(census, min_exp=0.5, fuzzy="product", width={column: 3})
    assert any(node.width for node in fuzzy.negative.nodes[column])
    both = crisp | fuzzy
    quasi, domain = census.counts(census.schema.quasi), census.domains[crisp.sensitive]
    marks = [sets_of(k, quasi, domain) for k in (crisp, fuzzy, both)]
    alone, near, together = (found.sets[found.which] for found in marks)
    assert np.array_equal(alone | near, together)


# most general


@given(st.data())
@settings(max_examples=60)
def test_most_general_rules_imply_all_others_and_not_each_other(data):
    """Compare with testing every pair of rules for implication."""
    groups = [
        Node("ab", members=frozenset({"a", "b"})),
        Node("abc", members=frozenset({"a", "b", "c"})),
        Node("c or missing", members=frozenset({"c", None})),
    ]
    held = {node.label: node.members for node in groups} | {t: {t} for t in ("a", "b", "c", None)}
    rules = data.draw(
        st.lists(
            st.builds(
                NegativeRule,
                antecedent=st.dictionaries(
                    st.sampled_from(["x", "y"]), st.sampled_from(list(held)), min_size=1
                ),
                value=st.sampled_from(["s", "t", None]),
            ),
            max_size=8,
        )
    )
    known = Knowledge("s", rules, definitions={"x": groups, "y": groups})

    def implies(rule, other):
        return rule.value == other.value and all(
            column in other.antecedent and held[other.antecedent[column]] <= held[node]
            for column, node in rule.antecedent.items()
        )

    expected = {
        rule.key
        for rule in known
        if not any(implies(one, rule) for one in known if one.key != rule.key)
    }
    assert {rule.key for rule in known.most_general()} == expected


# combining


def test_equal_rules_count_once_with_the_numbers_of_one_and_the_words_of_the_other():
    mined = NegativeRule(
        antecedent={"sex": "M"}, value="ovarian", count=60, expectation=0.99, confidence=1.0
    )
    told = never("ovarian", sex="M", who="a physician", why="anatomy")
    for first, second in ((mined, told), (told, mined)):
        (rule,) = Knowledge("disease", [first]) | Knowledge("disease", [second])
        assert (rule.count, rule.expectation) == (60, 0.99)
        assert (rule.who, rule.why) == ("a physician", "anatomy")


def test_what_is_struck_stays_out_on_either_side_and_for_ever():
    rule, other = never("ovarian", sex="M"), never("flu", sex="M")
    live, struck = Knowledge("disease", [rule, other]), Knowledge("disease", struck=[rule])
    for combined in (live | struck, struck | live, (live | struck) | live):
        assert [one.value for one in combined] == ["flu"]
        assert [one.value for one in combined.struck] == ["ovarian"]
    assert not len(Knowledge("disease", [rule], struck=[rule]))


def test_a_definition_of_one_side_serves_the_rules_of_the_other():
    rules = Knowledge("disease", [never("prostate", age="young")])
    words = Knowledge("disease", definitions={"age": [Node("young", interval=("0", "29"))]})
    age = Domain.of_texts("age", ["20", "40"], type=ColumnType.INTEGER, numbers=[20, 40])
    cells = Cells.of_rows([age], np.array([[0], [1]]))
    disease = Domain.of_texts("disease", ["prostate"])
    for combined in (rules | words, words | rules):
        found = sets_of(combined, cells, disease)
        assert found.sets[found.which].tolist() == [[True], [False]]


def test_one_label_with_two_meanings_is_refused():
    def young(high: str) -> Knowledge:
        return Knowledge(
            "disease",
            [never(SECRET, age=SECRET)],
            definitions={"age": [Node(SECRET, interval=("0", high))]},
        )

    assert len(young("29") | young("29")) == 1
    with pytest.raises(ParameterError, match="different values") as caught:
        young("29") | young("30")
    assert SECRET not in f"{caught.value.fact} {caught.value.hint}"


def test_a_label_that_is_a_value_of_the_table_cannot_stand_for_others(patients):
    """Else what was mined about the value would turn into a rule about somebody else."""
    mined = Knowledge("disease", [never("ovarian", sex="M")])
    for members in (["F"], ["F", "M"]):
        women = Node("M", members=frozenset(members))
        given = Knowledge("disease", definitions={"sex": [women]})
        with pytest.raises(ParameterError, match="column 'sex' has a value of that name, but"):
            (mined | given).forbidden(patients)
    same = Knowledge("disease", definitions={"sex": [Node("M", members=frozenset({"M"}))]})
    assert dict((mined | same).forbidden(patients)) == dict(mined.forbidden(patients))


def test_knowledge_about_different_columns_does_not_combine():
    with pytest.raises(
        ParameterError, match="'disease' cannot be combined with knowledge about column 'income'"
    ):
        Knowledge("disease") | Knowledge("income")


def test_facts_positive_rules_and_statistics_count_once():
    fact = Fact(person="7", value="flu", who="me")
    likely = PositiveRule(antecedent={"sex": "M"}, value="flu", confidence=0.5)
    share = Statistic(antecedent={"sex": "M"}, share=0.1)
    mean = Statistic(antecedent={"sex": "M"}, mean=5.0)
    known = Knowledge("disease", facts=[fact], positive=[likely], statistics=[share, mean])
    other = Knowledge(
        "disease",
        facts=[Fact(person="7", value="flu"), Fact(person="7", value=None)],
        positive=[PositiveRule(antecedent={"sex": "M"}, value="flu", confidence=0.6)],
        statistics=[Statistic(antecedent={"sex": "M"}, mean=6.0)],
    )
    both = known | other
    assert {(f.person, f.value, f.who) for f in both.facts} == {
        ("7", "flu", "me"),
        ("7", None, ""),
    }
    assert both.positive == (likely,)
    assert both.statistics == (share, mean)


def test_labels_of_a_hierarchy_are_explained_once_for_all(patients):
    tree = patients.trees["age"]
    label = str(tree.labels[tree.ancestors_at(1)[0]])
    given = Knowledge(
        "disease",
        [never("prostate", age=label), never("flu", age="20")],
        positive=[PositiveRule(antecedent={"age": label}, value="flu", confidence=0.5)],
    )
    quasi, domain = patients.counts(["sex", "age"]), patients.domains["disease"]
    assert sets_of(given, quasi, domain).sets.sum() == 1
    explained = given.explained_by(patients.domains, patients.trees)
    assert rules_of(explained) == rules_of(given)
    alone = sets_of(Knowledge.from_toml(explained.to_toml()), quasi, domain)
    wanted = sets_of(given, quasi, domain, patients.trees)
    assert np.array_equal(alone.sets[alone.which], wanted.sets[wanted.which])


def test_strongest_rules_are_those_that_concern_most_people():
    rules = [
        NegativeRule(antecedent={"x": str(number)}, value="s", count=count, expectation=0.9)
        for number, count in enumerate([3, None, 9, 5])
    ]
    known = Knowledge("s", rules)
    assert [rule.count for rule in known.strongest(2)] == [None, 9]
    assert known.strongest(4) is known
    assert len(known.strongest(0)) == 0


# in words


@pytest.mark.parametrize(
    ("rule", "sentence"),
    [
        (
            NegativeRule(antecedent={"sex": "M", "age": None}, value=None),
            "Nobody with sex M and age missing has disease missing. It was given, not mined.",
        ),
        (
            NegativeRule(
                antecedent={"sex": "M"}, value="flu", confidence=0.9, who="Ann", why="I know."
            ),
            (
                "At most 10% of people with sex M have disease flu. It was given, not mined. "
                "Added by Ann. Reason: I know."
            ),
        ),
        (
            NegativeRule(antecedent={"sex": "M"}, value="flu", count=1200, expectation=0.98765),
            (
                "None of the 1200 people with sex M has disease flu. If the two were "
                "independent, somebody would with probability 0.9877."
            ),
        ),
        (
            NegativeRule(
                antecedent={"sex": "M"}, value="flu", count=12.25, expectation=0.5, confidence=0.999
            ),
            (
                "At most 0.1% of the 12.25 people with sex M have disease flu. If the two were "
                "independent, somebody would with probability 0.5."
            ),
        ),
    ],
)
def test_rules_are_explained_in_words(rule, sentence):
    assert Knowledge("disease").explain(rule) == sentence
