"""The checkers' own reading of a knowledge file and the resolver agree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError
from shoal.injector.check.known_rules import excluded_by_facts, forbidden_by_rules
from shoal.injector.nodes import Node
from shoal.injector.resolving import Setting, resolve
from shoal.knowledge import Fact, Knowledge, NegativeRule

AGES = ["18", "20.5", "29", "41"]
DAYS = ["1999-12-31", "2000-01-01", "2020-02-29"]
AGE = Domain.of_texts(
    "age", AGES, type=ColumnType.REAL, numbers=[float(text) for text in AGES], has_missing=True
)
DAY = Domain.of_texts(
    "day", DAYS, type=ColumnType.DATE, numbers=[10956, 10957, 18321], has_missing=True
)
WORK = Domain.of_texts("work", ["Private", "State", "true"], has_missing=True)
SICK = Domain.of_texts("sick", ["cold", "flu", "gout"], has_missing=True)
COUNT = Domain.of_texts("sick", ["1", "2.5"], type=ColumnType.REAL, numbers=[1, 2.5])
NODES = {
    "age": [
        Node("young", interval=("0", "20.5")),
        Node("near", interval=("30", "40"), width=1.5),
        Node("some", interval=("-inf", "20"), has_missing=True, is_of_hierarchy=True),
        Node("date", interval=("2000-01-01", "2001-01-01")),
    ],
    "day": [
        Node("new", interval=("2000-01-01", "2030-01-01")),
        Node("any", interval=("-inf", "inf")),
        Node("number", interval=("0", "20000")),
    ],
    "work": [
        Node("employed", members=frozenset({"Private", "State"})),
        Node("unknown", members=frozenset({None, "Unpaid"}), is_of_hierarchy=True),
    ],
}
LABELS = {
    "age": [*AGES, "18.0", "29.00", "7", None, "young", "near", "some", "date"],
    "day": [*DAYS, None, "new", "any", "number", "2001-01-01"],
    "work": ["Private", "State", "true", None, "employed", "unknown", "Pivate"],
}
ANTECEDENTS = st.fixed_dictionaries(
    {}, optional={column: st.sampled_from(labels) for column, labels in LABELS.items()}
).filter(bool)
VALUES = st.sampled_from(["cold", "flu", "gout", None, "mumps", "1.0", "2.50"])
RULES = st.builds(
    NegativeRule, antecedent=ANTECEDENTS, value=VALUES, confidence=st.sampled_from([1.0, 0.9])
)
DATES_RIGHT = DAY.numbers.tolist() == [10956, 10957, 18321]


@given(
    st.lists(RULES, max_size=5),
    st.lists(RULES, max_size=2),
    st.sampled_from([SICK, COUNT]),
    st.data(),
)
@settings(max_examples=200)
def test_both_readings_of_knowledge_agree(rules, struck, domain, data):
    known = Knowledge("sick", rules, struck=struck, definitions=NODES)
    places = st.tuples(*(st.integers(0, one.size - 1) for one in (AGE, DAY, WORK)))
    rows = data.draw(st.lists(places, min_size=1, max_size=8))
    cells = Cells.of_rows([AGE, DAY, WORK], np.array(rows))
    found = resolve(known, Setting(cells, domain)).sets
    own = forbidden_by_rules(known.to_toml().encode(), cells, domain)
    assert np.array_equal(found.sets[found.which], own)


def test_facts_are_read_by_both():
    facts = [
        Fact(person="7", value="flu"),
        Fact(person="7", value=None),
        Fact(person="8", value="x"),
    ]
    known = Knowledge("sick", facts=facts)
    assert excluded_by_facts(known.to_toml().encode(), SICK) == {"7": [1, 3]}


@pytest.mark.parametrize(
    "content",
    [b"\xff", b"sensitive = ", b'negative = "x"', b"[[negative]]\nwhen = 1\n", b"negative = [1]"],
)
def test_a_file_that_is_no_knowledge_is_refused(content):
    cells = Cells.of_rows([WORK], np.array([[0]]))
    with pytest.raises(DataError, match="cannot be read"):
        forbidden_by_rules(content, cells, SICK)


def test_a_rule_about_a_column_that_is_not_there_is_refused():
    known = Knowledge("sick", [NegativeRule(antecedent={"wrok": "State"}, value="flu")])
    with pytest.raises(DataError, match="'wrok', which is not a quasi-identifier"):
        forbidden_by_rules(known.to_toml().encode(), Cells.of_rows([WORK], np.array([[0]])), SICK)
