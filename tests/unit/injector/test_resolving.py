"""Knowledge is resolved or refused: on tables, on releases, with and without hierarchies."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

import shoal
from shoal.attacks import Background
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.core.release import Vocabulary
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.nodes import Node
from shoal.injector.resolving import Setting, resolve, resolve_facts
from shoal.knowledge import (
    Fact,
    Knowledge,
    NegativeRule,
    PositiveRule,
    Statistic,
    mine_negative_rules,
)
from shoal.workflow.config import load
from shoal.workflow.gate import GateError
from shoal.workflow.publish import publish

WORK = [
    ["Federal", "Government"],
    ["State", "Government"],
    ["Private", "Other"],
    ["Unpaid", "Other"],
]
DISEASE = Domain.of_texts("disease", ["cold", "flu"])


def never(value, **antecedent):
    return NegativeRule(antecedent=antecedent, value=value)


def people_of(column, texts, **options):
    domain = Domain.of_texts(column, texts, **options)
    return Cells.of_rows([domain], np.arange(len(texts))[:, np.newaxis])


def words_of(cells, **hierarchies):
    domains = {domain.column: domain for domain in cells.domains}
    trees = {column: one.over(domains[column]) for column, one in hierarchies.items()}
    return Vocabulary(domains, trees, hierarchies)


def held_by(found):
    return found.holding().tolist()


# --- what a release makes of it ---------------------------------------------------------------


@pytest.fixture(scope="module")
def table():
    """Twenty people; those who work for a government never have a cold."""
    work = (["Federal", "State"] * 5) + (["Private", "Unpaid"] * 5)
    disease = ["flu"] * 5 + ["gout"] * 5 + ["cold"] * 10
    data = {"key": [str(n) for n in range(20)], "work": work, "disease": disease}
    schema = shoal.Schema(
        identifying="key",
        quasi="work",
        sensitive="disease",
        key="key",
        hierarchies={"work": Hierarchy.from_rows(WORK)},
    )
    return shoal.read(pyarrow.table(data), schema)


@pytest.fixture(scope="module")
def release(table):
    return shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)


def attack(release, known, **options):
    return shoal.attack(release, Background(rules=known, ell=2), **options)["background"]


def test_a_rule_about_a_node_is_about_its_values(release):
    """The same rule, by its node and spelled out, puts the same people at risk."""
    by_node = attack(release, Knowledge("disease", [never("cold", work="Government")]))
    spelled = [never("cold", work="Federal"), never("cold", work="State")]
    by_value = attack(release, Knowledge("disease", spelled))
    assert by_node.n_breached == by_value.n_breached == 20
    assert by_node.unresolved == by_value.unresolved == ()
    assert np.array_equal(by_node.posterior, by_value.posterior)


@pytest.mark.parametrize(
    ("rule", "line"),
    [
        (never("cold", wrok="Government"), "there is no quasi-identifier 'wrok'"),
        (never("cold", work="Goverment"), "column 'work' has neither a value nor a node"),
        (never("clod", work="Government"), "column 'disease' does not have the value"),
    ],
)
def test_a_mistyped_rule_is_listed_and_not_taken_to_be_about_nobody(release, rule, line):
    found = attack(release, Knowledge("disease", [never("cold", work="State"), rule]))
    assert len(found.unresolved) == 1
    assert found.unresolved[0].startswith("negative rule 2: ")
    assert line in found.unresolved[0]
    assert found.to_dict()["unresolved"] == list(found.unresolved)
    for value in ("Goverment", "clod"):
        assert value not in found.unresolved[0]


def test_an_opened_bucketized_release_has_no_hierarchy_but_that_of_the_truth(
    release, table, tmp_path
):
    folder = release.write(tmp_path / "release")
    known = Knowledge("disease", [never("cold", work="Government")])
    alone = attack(folder, known)
    assert (alone.n_breached, len(alone.unresolved)) == (0, 1)
    with_table = attack(folder, known, truth=table)
    assert (with_table.n_breached, with_table.unresolved) == (20, ())


def test_generalized_labels_are_resolved_against_the_hierarchy_of_the_table(table, tmp_path):
    release = shoal.anonymize(table, shoal.FullDomain(k=10), seed=1)
    labels = {label for label in release.published.quasi[0].labels() if label is not None}
    assert labels == {"Government", "Other"}
    by_node = Knowledge("disease", [never("cold", work="Government")])
    by_value = Knowledge("disease", [never("cold", work="Federal"), never("cold", work="State")])
    for known in (by_node, by_value):
        assert attack(release, known).unresolved == ()
    holds = resolve(by_node, Setting.of_published(release.published)).holding()
    assert holds.sum() == 1
    # A node that a label overlaps in part is there; alone it holds for no line.
    found = resolve(by_value, Setting.of_published(release.published))
    assert not found.holding().any()
    assert found.sets.sets.sum() == resolve(by_node, found.setting).sets.sets.sum() == 1
    folder = release.write(tmp_path / "release")
    assert attack(folder, by_node).unresolved == ()
    assert attack(folder, by_node).n_breached == attack(release, by_node).n_breached
    # The release alone does not name values that few people have.
    assert len(attack(folder, by_value).unresolved) == 2
    assert attack(folder, by_value, truth=table).unresolved == ()
    assert len(attack(folder, Knowledge("disease", [never("cold", work="Gov")])).unresolved) == 1


def test_methods_refuse_what_is_not_resolved(table):
    known = Knowledge("disease", [never("cold", work="Goverment")])
    with pytest.raises(ParameterError, match="negative rule 1: column 'work' has neither"):
        shoal.anonymize(table, shoal.Injector(ell=2, rules=known, mine=False), seed=1)


# --- one column --------------------------------------------------------------------------------


def test_a_node_of_a_hierarchy_that_nobody_falls_under_is_understood():
    cells = people_of("work", ["Private"])
    words = words_of(cells, work=Hierarchy.from_rows(WORK))
    rules = [never("cold", work="Government"), never("cold", work="Federal")]
    found = resolve(Knowledge("disease", rules), Setting(cells, DISEASE, vocabulary=words))
    assert (found.unresolved, held_by(found)) == ((), [[False], [False]])


def test_labels_hold_where_all_of_their_values_are_in_the_node():
    values = people_of("age", ["20", "25", "30"], type=ColumnType.INTEGER, numbers=[20, 25, 30])
    words = words_of(values)
    labels = people_of("age", ["20-29", "25-30", "20"])
    meanings = {
        "20-29": Meaning(interval=("20", "30")),
        "25-30": Meaning(members=frozenset({"25", "30"})),
    }
    young = Node("young", interval=("18", "29"))
    known = Knowledge("disease", [never("flu", age="young")], definitions={"age": [young]})
    setting = Setting(labels, DISEASE, meanings={"age": meanings}, vocabulary=words)
    found = resolve(known, setting)
    assert (found.unresolved, held_by(found)) == ((), [[True, False, True]])


def test_a_value_that_equals_the_name_of_a_column_is_a_value():
    cells = people_of("sex", ["age", "sex"])
    known = Knowledge.from_toml(
        'sensitive = "disease"\n[nodes.sex]\ndisease = ["sex"]\n'
        '[[negative]]\nwhen = { sex = "sex" }\nnever = "flu"\n'
        '[[negative]]\nwhen = { sex = "disease" }\nnever = "disease"\n'
    )
    domain = Domain.of_texts("disease", ["disease", "flu"])
    found = resolve(Knowledge.from_toml(known.to_toml()), Setting(cells, domain))
    assert found.unresolved == ()
    assert found.sets.sets[found.sets.which].tolist() == [[False, False], [True, True]]


def test_a_table_whose_values_are_names_of_columns_is_mined_published_and_attacked(tmp_path):
    work, disease = ["work", "disease", "work", "disease"] * 4, ["work", "disease"] * 8
    disease = ["work" if w == "work" else d for w, d in zip(work, disease, strict=True)]
    disease[0], disease[1] = "flu", "work"
    data = pyarrow.table({"work": work, "disease": disease})
    table = shoal.read(data, shoal.Schema(quasi="work", sensitive="disease"))
    known = mine_negative_rules(table, min_exp=0.5)
    assert {(*rule.antecedent.values(), rule.value) for rule in known} == {("work", "disease")}
    release = shoal.anonymize(table, shoal.Mondrian(k=2), seed=1)
    found = shoal.attack(release, Background(rules=known))["background"]
    assert found.unresolved == ()


def test_a_node_that_covers_a_whole_column_is_about_everybody_and_is_not_mined():
    """It says nothing of who: like the root, it is no antecedent that is mined."""
    data = {"work": ["Federal", "State"] * 6, "disease": ["flu", "cold"] * 6}
    data["disease"][0] = "gout"
    schema = shoal.Schema(
        quasi="work", sensitive="disease", hierarchies={"work": Hierarchy.from_rows(WORK)}
    )
    table = shoal.read(pyarrow.table(data), schema)
    mined = mine_negative_rules(table, min_exp=0.5, min_conf=0.5)
    assert len(mined) > 0
    assert all(rule.antecedent["work"] != "Government" for rule in mined)
    given = Knowledge("disease", [never("gout", work="Government")])
    assert all("gout" in values for values in given.forbidden(table).values())


def test_other_entries_are_resolved_too():
    cells = people_of("sex", ["F", "M"])
    known = Knowledge(
        "disease",
        positive=[
            PositiveRule(antecedent={"sex": "M"}, value="flu", confidence=0.5),
            PositiveRule(antecedent={"sex": "X"}, value="flu", confidence=0.5),
        ],
        statistics=[
            Statistic(antecedent={"sx": "M"}, value="flu", share=0.5),
            Statistic(antecedent={"sex": "M"}, value="gout", share=0.5),
            Statistic(antecedent={"sex": "F"}, mean=0.5),
        ],
    )
    found = resolve(known, Setting(cells, DISEASE))
    assert found.unresolved == (
        "positive rule 2: column 'sex' has neither a value nor a node of that name",
        "statistic 1: there is no quasi-identifier 'sx'",
        "statistic 2: column 'disease' does not have its value",
    )
    assert [cells.tolist() for _, cells in found.conditions] == [[False, True], [True, False]]


def test_many_unresolved_entries_are_not_all_listed():
    cells = people_of("sex", ["F"])
    rules = [never("flu", sex=str(number)) for number in range(130)]
    found = resolve(Knowledge("disease", rules), Setting(cells, DISEASE))
    assert (len(found.unresolved), found.unresolved[-1]) == (101, "30 further entries")


# --- facts -------------------------------------------------------------------------------------


def test_facts_are_resolved_by_keys_and_values():
    setting = Setting(people_of("sex", ["F"]), DISEASE)
    facts = [Fact(person="1", value="flu"), Fact(person="1", value="cold"),
             Fact(person="2", value="flu"), Fact(person="3", value="flu"),
             Fact(person="1", value="gout")]  # fmt: skip
    excluded, unresolved = resolve_facts(facts, setting, "disease", {"1": 0, "2": -1})
    assert excluded == {"1": [1, 0]}
    assert unresolved == (
        "fact 4: no row has that key",
        "fact 5: column 'disease' does not have the value that it excludes",
    )
    _, unresolved = resolve_facts(facts[:1], setting, "disease", None)
    assert unresolved == ("fact 1: the keys of rows are unknown",)


def test_an_attack_on_a_folder_needs_the_internal_one_for_facts(release, tmp_path):
    folder = release.write(tmp_path / "release")
    known = Knowledge("disease", facts=[Fact(person="0", value="gout"),
                                        Fact(person="nobody", value="gout")])  # fmt: skip
    assert attack(folder, known).unresolved == ("fact 2: no row has that key",)
    (tmp_path / "release.internal").rename(tmp_path / "elsewhere")
    assert len(attack(folder, known).unresolved) == 2


# --- knowledge from another table ----------------------------------------------------------------


def table_with(work, disease, hierarchy=WORK):
    hierarchies = {} if hierarchy is None else {"work": Hierarchy.from_rows(hierarchy)}
    schema = shoal.Schema(quasi="work", sensitive="disease", hierarchies=hierarchies)
    return shoal.read(pyarrow.table({"work": work, "disease": disease}), schema)


def test_a_mined_rule_means_the_node_of_the_hierarchy_at_hand():
    """[Li08, III-B]: in the first table nobody works for a state; the rule is about them too."""
    first = table_with(["Federal"] * 8 + ["Private"] * 8, ["flu"] * 8 + ["cold", "flu"] * 4)
    mined = mine_negative_rules(first, min_exp=0.5)
    assert [dict(rule.antecedent) for rule in mined] == [{"work": "Government"}]
    again = Knowledge.from_toml(mined.to_toml())
    second = table_with(["State", "State", "Private", "Unpaid"], ["flu", "flu", "cold", "cold"])
    for known in (mined, again):
        assert known.forbidden(second)["State",] == {"cold"}
        assert known.forbidden(second)["Private",] == frozenset()
    # Without a hierarchy only the values can be meant that occurred where it was mined.
    plain = table_with(["Federal", "State", "Private"], ["flu", "flu", "cold"], None)
    assert again.forbidden(plain)["Federal",] == {"cold"}
    assert again.forbidden(plain)["State",] == frozenset()


def test_knowledge_of_two_tables_combines_to_one_node():
    first = table_with(["Federal"] * 8 + ["Private"] * 8, ["flu"] * 8 + ["cold", "flu"] * 4)
    second = table_with(["State"] * 8 + ["Private"] * 8, ["flu"] * 8 + ["cold", "flu"] * 4)
    both = mine_negative_rules(first, min_exp=0.5) | mine_negative_rules(second, min_exp=0.5)
    assert len(both) == 1
    (node,) = both.defined_nodes["work"]
    assert node.members == {"Federal", "State"}


def test_a_definition_of_ones_own_stands_as_it_is_written():
    known = Knowledge.from_toml(
        'sensitive = "disease"\n[nodes.work]\nGovernment = ["State"]\n'
        '[[negative]]\nwhen = { work = "Government" }\nnever = "cold"\n'
    )
    table = table_with(["State", "Federal", "Private"], ["flu", "flu", "cold"])
    assert known.forbidden(table)["State",] == {"cold"}
    assert known.forbidden(table)["Federal",] == frozenset()


# --- confidence ----------------------------------------------------------------------------------


def test_min_conf_is_about_mined_rules_and_given_ones_go_by_their_own_confidence():
    work, disease = ["Federal", "State"] * 6, ["flu", "cold", "gout"] * 4
    table = table_with(work, disease)
    certain = Knowledge("disease", [never("flu", work="Federal")])
    with pytest.raises(ParameterError, match="exclude the value that"):
        shoal.anonymize(table, shoal.Injector(ell=2, rules=certain, min_conf=0.5), seed=1)
    mostly = NegativeRule(antecedent={"work": "Federal"}, value="flu", confidence=0.6)
    known = Knowledge("disease", [mostly])
    method = shoal.Injector(ell=2, rules=known, mine=False, min_conf=1)
    release = shoal.anonymize(table, method, seed=1)
    assert shoal.attack(release, Background())["background"].n_breached == 0


# --- the gate ------------------------------------------------------------------------------------

CONFIGURATION = """
[table]
source = "people.csv"
key = "key"
[columns]
identifying = ["key"]
quasi = ["work"]
sensitive = ["disease"]
[hierarchies]
work = "work.csv"
[method]
name = "anatomy"
ell = 2
[attacks.background]
rules = "rules.toml"
ell = 2
max_people = 0
[release]
folder = "release"
"""


@pytest.mark.parametrize(
    ("column", "label", "value", "match"),
    [
        ("work", "Government", "cold", "background: 20 "),
        ("work", "Goverment", "cold", "1 parts of the adversary's knowledge"),
        ("wrok", "Government", "cold", "1 parts of the adversary's knowledge"),
        ("work", "Government", "clod", "1 parts of the adversary's knowledge"),
    ],
)
def test_no_gate_passes_with_a_rule_that_is_not_resolved(tmp_path, column, label, value, match):
    """Each of these rules was about nobody once, and the gate passed with 0 at risk."""
    work = (["Federal", "State"] * 5) + (["Private", "Unpaid"] * 5)
    disease = ["flu"] * 5 + ["gout"] * 5 + ["cold"] * 10
    lines = [f"p{n},{w},{d}" for n, (w, d) in enumerate(zip(work, disease, strict=True))]
    (tmp_path / "people.csv").write_text("\n".join(["key,work,disease", *lines]) + "\n")
    (tmp_path / "work.csv").write_text("".join(f"{leaf};{node};*\n" for leaf, node in WORK))
    rule = f'[[negative]]\nwhen = {{ {column} = "{label}" }}\nnever = "{value}"\n'
    (tmp_path / "rules.toml").write_text(f'sensitive = "disease"\n{rule}')
    (tmp_path / "shoal.toml").write_text(CONFIGURATION)
    with pytest.raises(GateError, match=match) as caught:
        publish(load(tmp_path / "shoal.toml"))
    assert "Goverment" not in str(caught.value)
    assert not (tmp_path / "release").exists()
