"""The lines that may belong to people, held against every pair of a person and a line."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.meaning import Meaning
from shoal.locating import location
from shoal.locating.location import labels_of_values, match_lines

NUMBERS = ["0", "1", "2.5", "7", "1e3", "-3"]
WORDS = ["a", "b", "é", "x y", "7"]
BOUNDS = ["-inf", "-3", "0", "1", "2", "7", "inf", "b"]
LABELS = ["low", "high", "[0, 7[", "some", "*", "7", "a"]

meanings = st.builds(
    Meaning,
    interval=st.none() | st.tuples(st.sampled_from(BOUNDS), st.sampled_from(BOUNDS)),
    members=st.frozensets(st.sampled_from([*NUMBERS, *WORDS]), max_size=3),
    has_other=st.booleans(),
    has_missing=st.booleans(),
)


def number_of(text):
    try:
        return float(text)
    except (TypeError, ValueError):
        return math.nan


def slowly_admits(label, value, meanings, named, *, is_numeric):
    """Return what a label admits, by the rules that `match_lines` states."""

    def key(text):
        number = number_of(text) if is_numeric else math.nan
        return number if math.isfinite(number) else text

    if label == "*" and label not in meanings:
        return True
    if label not in meanings:
        return key(label) == key(value)
    meaning = meanings[label]
    if meaning.interval is not None:
        lower, upper = map(number_of, meaning.interval)
        if lower <= number_of(value) < upper:
            return True
    if value is None:
        return meaning.has_missing
    if key(value) in set(map(key, meaning.members)):
        return True
    return meaning.has_other and key(value) not in set(map(key, named))


@st.composite
def columns(draw):
    """Draw the domain of labels, that of people's values, and what the labels mean."""
    is_numeric = draw(st.booleans())
    texts = st.sampled_from(NUMBERS if is_numeric else WORDS)
    values = draw(st.lists(texts, min_size=1, unique=True))
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, unique=True))
    told = draw(st.dictionaries(st.sampled_from(labels), meanings))
    people = Domain.of_texts(
        "c",
        values,
        type=ColumnType.REAL if is_numeric else ColumnType.CATEGORICAL,
        numbers=[float(one) for one in values] if is_numeric else None,
        has_missing=draw(st.booleans()),
    )
    return Domain.of_texts("c", labels, has_missing=draw(st.booleans())), people, told


def slow_table(labels, people, told):
    """Return for each value of people which label admits it."""
    named = [label for label in labels.labels() if label not in told]
    named += [text for meaning in told.values() for text in meaning.members]
    # Labels are compared as numbers only where some of them stand for numbers.
    is_numeric = people.numbers is not None and bool(told)
    return [
        [
            slowly_admits(label, value, told, named, is_numeric=is_numeric)
            for label in labels.labels()
        ]
        for value in people.labels()
    ]


@settings(max_examples=400)
@given(columns())
def test_a_label_admits_what_it_is_said_to(column):
    labels, people, told = column
    start, label = labels_of_values(labels, told, people)
    expected = [np.flatnonzero(row).tolist() for row in slow_table(labels, people, told)]
    found = [label[start[v] : start[v + 1]].tolist() for v in range(people.size)]
    assert found == expected


@given(st.lists(columns(), min_size=1, max_size=3), st.data(), st.sampled_from([1, 9, 40, 2**25]))
def test_people_match_the_lines_that_admit_all_of_their_values(drawn, data, chunk):
    n_columns = len(drawn)
    names = [f"c{place}" for place in range(n_columns)]

    def cells(place_of_domain):
        domains = [
            Domain(name, one.type, one.texts, one.numbers, one.has_missing)
            for name, one in zip(names, [column[place_of_domain] for column in drawn], strict=True)
        ]
        row = st.tuples(*(st.integers(0, domain.size - 1) for domain in domains))
        codes = np.array(data.draw(st.lists(row, min_size=1, max_size=70)))
        return Cells(tuple(domains), codes, np.ones(len(codes), dtype=np.int64))

    lines, people = cells(0), cells(1)
    told = {name: column[2] for name, column in zip(names, drawn, strict=True)}
    tables = [slow_table(*column) for column in drawn]
    expected = [
        [
            at
            for at, line in enumerate(lines.codes.tolist())
            if all(tables[c][person[c]][line[c]] for c in range(n_columns))
        ]
        for person in people.codes.tolist()
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(location, "_CHUNK", chunk)
        found = match_lines(lines, told, people)
    assert [
        found.line[found.start[at] : found.start[at + 1]].tolist() for at in range(people.n_cells)
    ] == expected
