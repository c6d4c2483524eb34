"""Nodes of rules: which values and which published labels they are true of."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.meaning import Meaning
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.injector.known import united
from shoal.injector.nodes import (
    Node,
    codes_in,
    covering,
    holds_for_labels,
    holds_for_values,
    named_nodes,
    node_of_label,
)

JOB = Domain.of_texts("job", ["clerk", "nurse", "zoö\nkeeper"], has_missing=True)
AGE = Domain.of_texts(
    "age", ["20", "21", "29", "30"], type=ColumnType.INTEGER, numbers=[20, 21, 29, 30],
    has_missing=True,
)  # fmt: skip
BORN = Domain.of_texts(
    "born", ["1970-01-21", "1999-12-31"], type=ColumnType.DATE, numbers=[20, 10956]
)


def marked(node: Node, domain: Domain, tree=None) -> list[str | None] | None:
    found = holds_for_values(node, domain, tree)
    if found is None:
        return None
    return [text for text, mark in zip(domain.labels(), found.tolist(), strict=True) if mark]


# values


def test_a_value_stands_for_itself_and_none_for_the_missing_value():
    assert marked(Node.of_value("nurse"), JOB) == ["nurse"]
    assert marked(Node.of_value("zoö\nkeeper"), JOB) == ["zoö\nkeeper"]
    assert marked(Node.of_value(None), JOB) == [None]


def test_the_missing_value_is_no_unknown_node_where_nothing_is_missing():
    assert marked(Node.of_value(None), BORN) == []


def test_members_may_hold_the_missing_value_and_values_that_do_not_occur():
    node = Node("care", members=frozenset({"nurse", "midwife", None}))
    assert marked(node, JOB) == ["nurse", None]


def test_a_group_none_of_whose_values_occur_is_unknown():
    assert marked(Node("care", members=frozenset({"midwife"})), JOB) is None


@pytest.mark.parametrize("text", ["20", "20.0", "2e1", "20.000"])
def test_a_number_may_be_spelled_otherwise(text):
    assert marked(Node.of_value(text), AGE) == ["20"]
    assert marked(Node("some", members=frozenset({text, "29"})), AGE) == ["20", "29"]


def test_large_numbers_are_not_taken_for_their_neighbours():
    texts = ["9007199254740992", "9007199254740994"]
    large = Domain.of_texts(
        "id", texts, type=ColumnType.INTEGER, numbers=[float(text) for text in texts]
    )
    assert codes_in(large, ["9007199254740993", "9007199254740994.0"]).tolist() == [-1, 1]


@pytest.mark.parametrize("text", ["twenty", "", "nan", "inf", "1/0", "*", "1970-01-21"])
def test_what_is_no_number_of_the_column_is_unknown(text):
    assert marked(Node.of_value(text), AGE) is None


def test_a_number_is_no_date_and_a_date_no_number():
    # The 20th day after 1970-01-01 is in the column of dates.
    assert marked(Node.of_value("20"), BORN) is None
    assert marked(Node("x", interval=("0", "100")), BORN) is None
    assert marked(Node("x", interval=("1970-01-01", "1970-12-31")), AGE) is None
    assert marked(Node("x", interval=("1970-01-01", "1970-12-31")), BORN) == ["1970-01-21"]
    assert marked(Node("x", interval=("1980-01-01", "inf")), BORN) == ["1999-12-31"]
    assert marked(Node("x", interval=("0", "100")), JOB) is None


def test_both_bounds_of_an_interval_belong_to_it():
    assert marked(Node("x", interval=("20", "29")), AGE) == ["20", "21", "29"]
    assert marked(Node("x", interval=("20.5", "inf"), has_missing=True), AGE) == [
        "21", "29", "30", None,
    ]  # fmt: skip


def test_with_a_width_holds_what_has_any_part_in_the_interval():
    assert marked(Node("x", interval=("22", "28"), width=1), AGE) == []
    assert marked(Node("x", interval=("22", "28"), width=1.5), AGE) == ["21", "29"]


def test_bounds_must_be_numbers_or_dates():
    with pytest.raises(ParameterError) as caught:
        marked(Node("x", interval=("SECRET", "30")), AGE)
    assert "SECRET" not in f"{caught.value.fact} {caught.value.hint}"


def test_no_repr_shows_a_label():
    nodes = [
        Node.of_value("SECRET"),
        Node("SECRET", members=frozenset({"SECRET"})),
        Node("SECRET", interval=("1", "2")),
    ]
    assert "SECRET" not in repr(nodes)


# hierarchies

WORK = Domain.of_texts("work", ["Federal", "Private", "State"], has_missing=True)
TREE = Hierarchy.from_rows(
    [["Private", "Other"], ["State", "Government"], ["Federal", "Government"], [None, "Other"]]
).over(WORK)


def test_a_label_is_looked_up_in_the_hierarchy():
    assert marked(Node("Government"), WORK, TREE) == ["Federal", "State"]
    assert marked(Node("Government"), WORK) is None
    assert marked(Node("Nobody"), WORK, TREE) is None


def test_what_a_label_is_said_to_stand_for_comes_before_the_hierarchy():
    node = Node("Government", members=frozenset({"Federal"}))
    assert marked(node, WORK, TREE) == ["Federal"]


def test_named_nodes_say_for_which_values_they_stand():
    nodes = named_nodes(WORK, TREE, range(TREE.n_nodes - 1))
    assert len({node.label for node in nodes}) == len(nodes)
    for number, node in enumerate(nodes):
        held = {WORK.text(code) for code in TREE.members(number).tolist()}
        assert set(marked(node, WORK)) == held
        assert node_of_label(node.label, WORK, TREE) in (node, None)
    assert node_of_label("Government", WORK, TREE).members == {"Federal", "State"}
    assert node_of_label("Private", WORK, TREE) is None
    assert node_of_label(None, WORK, TREE) is None


@given(st.data())
def test_fuzzy_nodes_hold_where_membership_is_above_zero(data):
    from shoal.injector.fuzzy_mining import memberships

    numbers = sorted(data.draw(st.sets(st.integers(0, 30), min_size=1, max_size=8)))
    has_missing = data.draw(st.booleans())
    domain = Domain.of_texts(
        "age", [str(number) for number in numbers], type=ColumnType.INTEGER,
        numbers=[float(number) for number in numbers], has_missing=has_missing,
    )  # fmt: skip
    groups = data.draw(st.lists(st.sampled_from("abc"), min_size=domain.size, max_size=domain.size))
    rows = [[text, group] for text, group in zip(domain.labels(), groups, strict=True)]
    tree = Hierarchy.from_rows(rows).over(domain)
    width = data.draw(st.sampled_from([0.5, 1.0, 3.0]))
    nodes = np.arange(tree.n_nodes - 1)
    degrees = memberships(tree, domain, width, nodes)
    named = named_nodes(domain, tree, nodes.tolist(), width)
    for degree, node in zip(degrees, named, strict=True):
        assert holds_for_values(node, domain).tolist() == (degree > 0).tolist()
    assert not {node.label for node in named} & set(domain.texts)


# published labels


def labels_of(node: Node, meanings: dict[str, Meaning], has_missing: bool = False) -> set:
    domain = Domain.of_texts("age", sorted(meanings), has_missing=has_missing)
    found = holds_for_labels(node, domain, meanings)
    if found is None:
        # The labels name no value of the node.
        return set()
    return {text for text, mark in zip(domain.labels(), found.tolist(), strict=True) if mark}


def test_a_label_is_covered_only_where_all_that_it_stands_for_is():
    meanings = {
        "young": Meaning(members=frozenset({"20", "21"})),
        "mixed": Meaning(members=frozenset({"21", "30"})),
        "rare": Meaning(members=frozenset({"21"}), has_other=True),
        "or missing": Meaning(members=frozenset({"21"}), has_missing=True),
        "gone": Meaning(has_missing=True),
    }
    twenties = Node("x", interval=("20", "29"))
    assert labels_of(twenties, meanings) == {"young"}
    assert labels_of(Node("x", members=frozenset({"20", "21"})), meanings) == {"young"}
    assert labels_of(Node.of_value("21"), meanings) == set()
    with_missing = Node("x", interval=("20", "29"), has_missing=True)
    assert labels_of(with_missing, meanings, has_missing=True) == {
        "young", "or missing", "gone", None,
    }  # fmt: skip
    assert labels_of(Node.of_value(None), meanings, has_missing=True) == {"gone", None}


def test_a_label_without_a_meaning_is_its_own_text():
    domain = Domain.of_texts("age", ["20", "[20, 30["])
    meanings = {"[20, 30[": Meaning(interval=("20", "30"))}
    assert holds_for_labels(Node("x", interval=("20", "29")), domain, meanings).tolist() == [
        True,
        False,
    ]
    assert holds_for_labels(Node.of_value("20"), domain, meanings).tolist() == [True, False]


def test_the_upper_bound_of_a_label_does_not_belong_to_it():
    meanings = {"[20, 30[": Meaning(interval=("20", "30"))}
    for bounds, width, is_covered in [
        (("20", "30"), 0, True),
        (("20", "29.9"), 0, False),
        (("20.1", "30"), 0, False),
        (("20.1", "30"), 0.2, True),
        # At just the width there is no part left.
        (("21", "30"), 1, False),
        (("20", "29"), 1, True),
        (("-inf", "inf"), 0, True),
    ]:
        found = labels_of(Node("x", interval=bounds, width=width), meanings)
        assert (found == {"[20, 30["}) is is_covered, (bounds, width)
    days = {"1999": Meaning(interval=("1999-01-01", "2000-01-01"))}
    assert labels_of(Node("x", interval=("1999-01-01", "1999-12-31")), days) == {"1999"}
    assert labels_of(Node("x", interval=("1999-01-01", "1999-12-30")), days) == set()
    assert labels_of(Node("x", interval=("0", "99999")), days) == set()
    all_of_it = {"]-inf, +inf[": Meaning(interval=("-inf", "+inf"))}
    assert labels_of(Node("x", interval=("-inf", "inf")), all_of_it)
    assert not labels_of(Node("x", interval=("0", "inf")), all_of_it)


def test_one_label_is_one_node_unless_it_is_said_to_be_another():
    meanings = {"young": Meaning(members=frozenset({"20", "21"}), has_other=True)}
    assert labels_of(Node("young"), meanings) == {"young"}
    assert labels_of(Node("young", interval=("18", "29")), meanings) == {"young"}
    assert labels_of(Node("young", members=frozenset({"20", "21", "22"})), meanings) == {"young"}
    assert labels_of(Node("young", members=frozenset({"20"})), meanings) == set()
    known = {"young": Meaning(members=frozenset({"20", "30"}))}
    assert labels_of(Node("young", interval=("20", "29")), known) == set()


@given(st.data())
def test_coverage_of_labels_is_never_claimed_where_a_value_is_outside(data):
    """Whatever a label of listed values stands for, the node must hold for each of them."""
    members = data.draw(st.frozensets(st.sampled_from(["20", "21", "29", "30"]), min_size=1))
    meaning = Meaning(members=members, has_missing=data.draw(st.booleans()))
    node = data.draw(some_nodes)
    held = marked(node, AGE) or []
    expected = all(text in held for text in members) and (not meaning.has_missing or None in held)
    assert (labels_of(node, {"label": meaning}) == {"label"}) is expected


# covering

some_nodes = st.one_of(
    st.builds(Node.of_value, st.sampled_from(["20", "21", "29", "30", None])),
    st.builds(
        Node,
        st.just("group"),
        members=st.frozensets(st.sampled_from(["20", "21", "29", "30", None]), min_size=1),
    ),
    st.builds(
        lambda low, length, width, missing: Node(
            "span", interval=(str(low), str(low + length)), width=width, has_missing=missing
        ),
        st.integers(18, 30),
        st.integers(0, 12),
        st.sampled_from([0.0, 1.0, 2.5]),
        st.booleans(),
    ),
)


@given(st.lists(some_nodes, min_size=1, max_size=6))
def test_what_covers_another_node_holds_wherever_that_holds(nodes):
    steps = [number / 2 for number in range(20, 90)]
    everything = Domain.of_texts(
        "age", [f"{step:g}" for step in steps], type=ColumnType.REAL, numbers=steps,
        has_missing=True,
    )  # fmt: skip
    extents = [holds_for_values(node, everything) for node in nodes]
    covers = covering(nodes)
    for first, node in enumerate(nodes):
        for second, other in enumerate(nodes):
            is_wider = not np.any(extents[second] & ~extents[first])
            if covers[first, second]:
                assert is_wider
            elif is_wider:
                # A list of values never covers an interval, in which other values may lie, and
                # between two half numbers there are more.
                assert other.interval is not None
                assert node.interval is None or node.width or other.width
    assert covers.diagonal().all()


# definitions


def test_one_label_stands_for_one_thing():
    young = Node("young", interval=("18", "29"))
    other = Node("young", interval=("18", "25"))
    assert united({"age": [young]}, {"age": [young, Node.of_value("20")]}) == {"age": (young,)}
    with pytest.raises(ParameterError, match="different values") as caught:
        united({"age": [young]}, {"age": [other]})
    assert "young" not in f"{caught.value.fact} {caught.value.hint}"
    assert united({"age": [young]}, {"age": [other]}, is_first_kept=True) == {"age": (young,)}
    assert united({"age": [young]}, {"height": [other]}) == {"age": (young,), "height": (other,)}
