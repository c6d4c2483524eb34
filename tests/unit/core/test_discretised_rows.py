from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.discretisation import Discretisation
from shoal.core.discretised_rows import discretise_rows
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import SchemaError
from shoal.core.rows import Rows

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
    """Give the label of every age that is not private, and the labels that there are."""
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


def test_columns_that_cannot_be_cut_are_refused():
    rows = rows_of([1, 2])
    nothing = np.zeros((2, 2), dtype=bool)
    for column in ("town", "height"):
        cut = Discretisation.of(column, {"bins": 2})
        with pytest.raises(SchemaError, match=f"'{column}'"):
            discretise_rows(rows, nothing, {column: cut})
