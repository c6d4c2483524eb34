from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import shoal
from shoal.core.domain import ColumnType, Domain
from shoal.core.meaning import Meaning
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.intervals import label_node, recode_to_level, round_between
from shoal.injector.nodes import Node, holds_for_labels
from shoal.methods import FullDomain, Mondrian

AGES = ["17", "18", "23", "64", "90"]


def domain_of(texts, kind=ColumnType.INTEGER):
    numbers = [float(text) for text in texts]
    return Domain.of_texts("age", list(texts), type=kind, numbers=numbers)


def labels_of(hierarchy, domain):
    return {
        label.text: label for label in recode_to_level(domain, hierarchy.over(domain), 1).labels
    }


def test_labels_of_whole_numbers_are_read_as_closed_intervals():
    rows = [["17", "0-17"], ["18", "18-64"], ["23", "18-64"], ["64", "18-64"], ["90", "65-99"]]
    labels = labels_of(Hierarchy.from_rows(rows), domain_of(AGES))
    assert labels["18-64"].interval == ("18", "65")
    assert labels["18-64"].members is None


def test_a_label_that_does_not_hold_its_members_is_a_list():
    rows = [["17", "0-17"], ["18", "0-17"], ["23", "18-64"], ["64", "18-64"], ["90", "65-99"]]
    labels = labels_of(Hierarchy.from_rows(rows), domain_of(AGES))
    assert labels["0-17"].interval is None
    assert labels["0-17"].members == (0, 1)
    # 18 lies between its bounds and is somewhere else.
    assert labels["18-64"].interval is None
    assert labels["65-99"].interval == ("65", "100")


def test_numbers_with_fractions_need_half_open_intervals():
    """Nobody knows whether 64.5 is meant by 18-64."""
    texts = ["17.0", "18.5", "64.5"]
    rows = [["17.0", "0-17"], ["18.5", "18-64"], ["64.5", "18-64"]]
    domain = domain_of(texts, ColumnType.REAL)
    assert labels_of(Hierarchy.from_rows(rows), domain)["18-64"].interval is None
    cut = labels_of(Hierarchy.intervals(cuts=[0, 18, 65]), domain)
    assert cut["[18, 65["].interval == ("18", "65")


def test_only_the_members_given_decide_whether_values_are_missing():
    domain = Domain.of_texts("age", AGES, type=ColumnType.INTEGER,
                             numbers=[float(age) for age in AGES], has_missing=True)  # fmt: skip
    tree = Hierarchy.intervals(cuts=[0, 18, 65]).over(domain)
    assert label_node(tree, domain, tree.root).has_missing
    present = label_node(tree, domain, tree.root, np.arange(2))
    assert (present.members, present.has_missing) == ((0, 1), False)


def people(n_rows=400):
    """Rows in which most numbers of hours are rare, as in a census."""
    generator = np.random.default_rng(5)
    hours = np.clip(np.rint(generator.normal(40, 12, n_rows)), 1, 98).astype(int)
    return {
        "hours": hours.tolist(),
        "sex": generator.choice(["F", "M"], n_rows).tolist(),
        "job": generator.choice(["a", "b", "c"], n_rows).tolist(),
    }


METHODS = [FullDomain(k=5), Mondrian(k=5)]


@pytest.fixture(scope="module", params=METHODS, ids=lambda method: type(method).__name__)
def release(request):
    hierarchies = {"hours": Hierarchy.intervals(width=10)}
    schema = shoal.Schema(quasi=["hours", "sex"], sensitive=["job"], hierarchies=hierarchies)
    return shoal.anonymize(shoal.read(people(), schema), request.param, seed=1)


def test_interval_hierarchies_are_published_as_intervals(release):
    meanings = release.meanings["hours"]
    spans = {label: meaning for label, meaning in meanings.items() if label.endswith("[")}
    assert len(spans) > 1
    for label, meaning in spans.items():
        low, high = label[1:-1].split(", ")
        assert meaning == Meaning(interval=(low, high))


def test_labels_lose_no_more_than_their_width(release):
    """A rare number of hours stands behind the label that holds it, and behind no other."""
    measured = {one.measure: one for one in shoal.measure(release)}["loss"]
    losses = {row[0]: row[1] for row in measured.sections[0].rows}
    hours = people()["hours"]
    widest = max(
        float(high) - float(low)
        for low, high in (m.interval for m in release.meanings["hours"].values() if m.interval)
    )
    assert losses["hours"] <= widest / (max(hours) - min(hours))


def test_an_interval_is_verified_and_read_back(release, tmp_path):
    release.write(tmp_path / "r")
    reopened = shoal.open_release(tmp_path / "r")
    assert reopened.meanings == release.meanings


def test_a_rule_about_a_node_finds_the_interval_of_that_name():
    """The node says which values occur, the label says its bounds: 20 to 28, and [20, 30[."""
    labels = Domain.of_texts("age", ["[20, 30[", "[30, 40["])
    meanings = {"[20, 30[": Meaning(("20", "30")), "[30, 40[": Meaning(("30", "40"))}
    node = Node("[20, 30[", interval=("20", "28"))
    found = holds_for_labels(node, labels, meanings, None, is_whole=True)
    assert found is not None
    assert found.tolist() == [True, False]
    elsewhere = Node("[20, 30[", interval=("50", "60"))
    found = holds_for_labels(elsewhere, labels, meanings, None, is_whole=True)
    assert found is None or not found.any()


@given(st.integers(-(10**6), 10**6), st.integers(1, 10**6))
def test_the_bound_is_the_roundest_number_between(below, gap):
    bound = round_between(below, below + gap)
    assert below < bound <= below + gap
    steps = [factor * 10**power for power in range(9) for factor in (1, 2, 5)]

    def roundness(number):
        return max(step for step in steps if number % step == 0)

    candidates = range(below + 1, below + gap + 1)
    some = [*candidates[:50], *candidates[-50:]]
    assert roundness(bound) >= max(map(roundness, some))


def test_neighbours_leave_no_choice():
    assert round_between(41, 42) == 42
