from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import SchemaError
from shoal.core.table import Rows
from shoal.hiding.discretisation import Discretisation, discretise_rows

PEOPLE = st.lists(
    st.tuples(st.integers(-9, 40) | st.none(), st.booleans()), min_size=1, max_size=12
)
CUTS = st.sampled_from(
    [{"bins": 3}, {"width": 7}, {"quantiles": 2}, {"cuts": [-10, 10, 99], "show": "interval"}]
)


def domain_of(ages):
    numbers = sorted({age for age in ages if age is not None})
    return Domain.of_texts(
        "age",
        [str(number) for number in numbers],
        type=ColumnType.INTEGER,
        numbers=[float(number) for number in numbers],
        has_missing=None in ages,
    )


def rows_of(ages):
    domain = domain_of(ages)
    codes = domain.codes_of([None if age is None else str(age) for age in ages])
    towns = np.arange(len(ages)) % 2
    return Rows(
        (domain, Domain.of_texts("town", ["x", "y"])),
        np.column_stack([codes, towns]).astype(np.int32),
    )


def shown(ages, is_private, cut):
    """Return the label of every age that is not private, and the labels that there are."""
    marks = np.column_stack([is_private, np.zeros(len(ages), dtype=bool)])
    rows, recode = discretise_rows(rows_of(ages), marks, {"age": cut})
    texts = [rows.domains[0].text(code) for code in rows.codes[:, 0].tolist()]
    labels = [label for one in recode for label in one.labels]
    for one in recode:
        codes = rows_of(ages).codes[:, 0]
        assert [one.labels[place].text for place in one.index[codes].tolist()] == texts
    seen = [text for text, hidden in zip(texts, is_private, strict=True) if not hidden]
    return seen, {label.text for label in labels if label.text is not None}


@settings(max_examples=400, deadline=None)
@given(PEOPLE, CUTS)
def test_what_is_visible_is_cut_as_if_nothing_else_were_there(people, given_cut):
    ages, is_private = [age for age, _ in people], [hidden for _, hidden in people]
    cut = Discretisation.of("age", given_cut)
    visible = [age for age, hidden in people if not hidden]
    seen, labels = shown(ages, is_private, cut)
    if all(age is None for age in visible):
        assert seen == visible
        return
    domain = domain_of(visible)
    counts = np.bincount(domain.codes_of([None if a is None else str(a) for a in visible]))
    found = cut.over(domain, counts)
    texts = [label.text for label in found.labels]
    codes = domain.codes_of([None if age is None else str(age) for age in visible])
    assert seen == [texts[place] for place in found.index[codes].tolist()]
    assert labels == {text for text in texts if text is not None}


@settings(max_examples=200, deadline=None)
@given(PEOPLE, CUTS, st.data())
def test_private_values_move_no_label(people, given_cut, data):
    ages, is_private = [age for age, _ in people], [hidden for _, hidden in people]
    cut = Discretisation.of("age", given_cut)
    others = [
        data.draw(st.integers(-99, 99) | st.none()) if hidden else age for age, hidden in people
    ]
    assert shown(ages, is_private, cut) == shown(others, is_private, cut)


TOWNSPEOPLE = st.lists(
    st.tuples(st.integers(-9, 40) | st.none(), st.booleans(), st.booleans()),
    min_size=1,
    max_size=12,
)
SHOWN = st.sampled_from(["midpoint", "interval"])
RULES = st.sampled_from([{"bins": 3}, {"width": 7}, {"quantiles": 2}, {"cuts": [-10, 10, 99]}])


def cut_rows(people, cut):
    """Return the label of every age, of people whose age or town may be private."""
    ages = [age for age, _, _ in people]
    marks = np.array([hidden for _, *hidden in people], dtype=bool)
    _, recode = discretise_rows(rows_of(ages), marks, {"age": cut})
    codes = rows_of(ages).codes[:, 0]
    return [[one.labels[place] for place in one.index[codes].tolist()] for one in recode]


@settings(max_examples=600, deadline=None)
@given(TOWNSPEOPLE, RULES, SHOWN)
def test_every_age_that_is_not_private_lies_in_its_interval(people, rule, show):
    cut = Discretisation.of("age", rule | {"show": show})
    for labels in cut_rows(people, cut):
        for (age, is_private, _), label in zip(people, labels, strict=True):
            if age is not None and not is_private:
                low, high = map(float, label.interval)
                assert low <= age < high


@settings(max_examples=300, deadline=None)
@given(TOWNSPEOPLE, RULES, SHOWN, st.data())
def test_private_ages_move_no_label_where_towns_are_private_too(people, rule, show, data):
    cut = Discretisation.of("age", rule | {"show": show})
    others = [
        (data.draw(st.integers(-9, 98) | st.none()) if is_private else age, is_private, other)
        for age, is_private, other in people
    ]

    def seen(everybody):
        return [
            [label for label, (_, is_private, _) in zip(labels, people, strict=True)
             if not is_private]
            for labels in cut_rows(everybody, cut)
        ]  # fmt: skip

    assert seen(people) == seen(others)


@pytest.mark.parametrize("rule", [{"bins": 3}, {"quantiles": 3}, {"width": 7}])
@pytest.mark.parametrize("show", ["midpoint", "interval"])
def test_numbers_of_rows_with_a_private_cell_move_no_bound(rule, show):
    complete = [(age, False, False) for age in range(20, 30)]
    cut = Discretisation.of("age", rule | {"show": show})
    alone = cut_rows(complete, cut)[0]
    for age in (-500, 3, 25, 90, 1000):
        labels = cut_rows([*complete, (age, False, True)], cut)[0]
        assert labels[:-1] == alone
        low, high = map(float, labels[-1].interval)
        assert low <= age < high


def test_rows_without_a_private_cell_decide_where_intervals_begin():
    complete = [(age, False, False) for age in range(40)]
    within = [(17, False, True), (18, True, False)]
    cut = Discretisation.of("age", {"quantiles": 4, "show": "interval"})
    alone = {label.text for label in cut_rows(complete, cut)[0]}
    assert {label.text for label in cut_rows([*complete, *within * 20], cut)[0]} == alone


def test_columns_that_cannot_be_cut_are_refused():
    rows = rows_of([1, 2])
    nothing = np.zeros((2, 2), dtype=bool)
    for column in ("town", "height"):
        cut = Discretisation.of(column, {"bins": 2})
        with pytest.raises(SchemaError, match=f"'{column}'"):
            discretise_rows(rows, nothing, {column: cut})
