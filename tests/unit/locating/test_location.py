from __future__ import annotations

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published
from shoal.core.shapes import Shape
from shoal.locating import location
from shoal.locating.location import Matches, match_lines, matching_buckets, spread


def cells_of(columns, rows, **numbers):
    """Count rows of texts; `numbers` says what the texts of a column are worth."""
    domains = []
    for place, column in enumerate(columns):
        texts = {row[place] for row in rows}
        worth = numbers.get(column, {})
        known = sorted(texts - {None}, key=lambda text, worth=worth: (worth.get(text, 0), text))
        domains.append(
            Domain.of_texts(
                column,
                known,
                type=ColumnType.REAL if worth else ColumnType.CATEGORICAL,
                numbers=[worth[text] for text in known] if worth else None,
                has_missing=None in texts,
            )
        )
    codes = [domain.codes_of([row[place] for row in rows]) for place, domain in enumerate(domains)]
    return Cells.of_rows(domains, np.stack(codes, axis=1))


def texts_of(cells):
    return [
        tuple(domain.text(code) for domain, code in zip(cells.domains, row, strict=True))
        for row in cells.codes.tolist()
    ]


def found(lines, people, meanings=None):
    """Give the texts of the lines that each person fits, for one column of each."""
    matches = match_lines(lines, meanings or {}, people)
    line_texts, person_texts = texts_of(lines), texts_of(people)
    result = {texts: set() for texts in person_texts}
    for person, line in zip(matches.person.tolist(), matches.line.tolist(), strict=True):
        result[person_texts[person]].add(line_texts[line])
    return {
        tuple_or_text(person): {tuple_or_text(line) for line in lines_of_person}
        for person, lines_of_person in result.items()
    }


def tuple_or_text(texts):
    return texts[0] if len(texts) == 1 else texts


def published_of(lines, meanings=None, shape=Shape.BUCKETIZED):
    manifest = Manifest(
        shape=shape,
        method="test",
        parameters={},
        guarantees=(),
        columns=(),
        n_rows=lines.n_rows,
        n_buckets=lines.domains[0].size,
    )
    return Published(manifest, lines, None, meanings or {})


def test_texts_match_across_different_domains():
    lines = cells_of(["job"], [("clerk",), ("nurse",), (None,)])
    people = cells_of(["job"], [("baker",), ("nurse",), (None,)])
    assert found(lines, people) == {"baker": set(), "nurse": {"nurse"}, None: {None}}


def test_missing_value_matches_nothing_where_none_is_published():
    lines = cells_of(["job"], [("clerk",)])
    assert found(lines, cells_of(["job"], [(None,), ("clerk",)])) == {
        None: set(),
        "clerk": {"clerk"},
    }


def test_unusual_texts_match_themselves_only():
    texts = ["", " ", "é", "e\u0301", "名", "1", "1.0", "none", "-1"]
    cells = cells_of(["name"], [(text,) for text in texts])
    assert found(cells, cells) == {text: {text} for text in texts}


def test_interval_holds_its_lower_bound_and_not_its_upper_one():
    lines = cells_of(["age"], [("low",), ("high",)])
    meanings = {"age": {"low": Meaning(("0", "30")), "high": Meaning(("30", "+inf"))}}
    worth = {"-1": -1, "0": 0, "29.9": 29.9, "30": 30, "1e9": 1e9}
    people = cells_of(["age"], [(text,) for text in worth], age=worth)
    assert found(lines, people, meanings) == {
        "-1": set(),
        "0": {"low"},
        "29.9": {"low"},
        "30": {"high"},
        "1e9": {"high"},
    }


def test_number_of_the_domain_counts_not_its_text():
    lines = cells_of(["age"], [("low",)])
    people = cells_of(["age"], [("thirty",)], age={"thirty": 30.0})
    assert found(lines, people, {"age": {"low": Meaning(("-inf", "31"))}}) == {"thirty": {"low"}}


def test_interval_of_dates():
    lines = cells_of(["born"], [("sixties",), ("later",)])
    meanings = {
        "born": {
            "sixties": Meaning(("1960-01-01", "1970-01-01")),
            "later": Meaning(("1970-01-01", "+inf")),
        }
    }
    worth = {"1969-12-31": -1, "1970-01-01": 0}
    expected = {"1969-12-31": {"sixties"}, "1970-01-01": {"later"}}
    assert found(lines, cells_of(["born"], [(t,) for t in worth], born=worth), meanings) == expected
    # Read as texts, dates are dates still.
    assert found(lines, cells_of(["born"], [(t,) for t in worth]), meanings) == expected


def test_text_and_missing_value_lie_in_no_interval():
    lines = cells_of(["age"], [("any",)])
    people = cells_of(["age"], [("old",), (None,), ("7",)])
    meanings = {"age": {"any": Meaning(("-inf", "+inf"))}}
    assert found(lines, people, meanings) == {"old": set(), None: set(), "7": {"any"}}


def test_label_stands_for_its_members():
    lines = cells_of(["job"], [("care",), ("office",), ("nurse",)])
    meanings = {
        "job": {
            "care": Meaning(members=frozenset({"nurse", "medic"})),
            "office": Meaning(members=frozenset({"clerk"}), has_missing=True),
        }
    }
    people = cells_of(["job"], [("nurse",), ("medic",), ("clerk",), ("care",), (None,)])
    assert found(lines, people, meanings) == {
        "nurse": {"care", "nurse"},
        "medic": {"care"},
        "clerk": {"office"},
        # A label with a meaning does not stand for its own text.
        "care": set(),
        None: {"office"},
    }


def test_other_stands_for_values_that_no_label_names():
    lines = cells_of(["job"], [("care",), ("rest",), ("clerk",)])
    meanings = {
        "job": {
            "care": Meaning(members=frozenset({"nurse"})),
            "rest": Meaning(members=frozenset({"medic"}), has_other=True),
        }
    }
    people = cells_of(["job"], [("nurse",), ("medic",), ("clerk",), ("diver",), (None,)])
    assert found(lines, people, meanings) == {
        "nurse": {"care"},
        "medic": {"rest"},
        # Published as it is, so it is not too rare to be named.
        "clerk": {"clerk"},
        "diver": {"rest"},
        None: set(),
    }


def test_suppressed_value_may_be_any():
    lines = cells_of(["job"], [("*",), ("nurse",)])
    people = cells_of(["job"], [("nurse",), ("medic",), (None,)])
    assert found(lines, people) == {"nurse": {"*", "nurse"}, "medic": {"*"}, None: {"*"}}
    meanings = {"job": {"*": Meaning(members=frozenset({"nurse"}))}}
    assert found(lines, people, meanings) == {"nurse": {"*", "nurse"}, "medic": set(), None: set()}


def test_every_column_has_to_fit():
    lines = cells_of(["age", "sex"], [("low", "F"), ("low", "M"), ("high", "F")])
    meanings = {"age": {"low": Meaning(("0", "30")), "high": Meaning(("20", "90"))}}
    people = cells_of(["sex", "age"], [("F", "25"), ("M", "25"), ("M", "40")])
    assert found(lines, people, meanings) == {
        ("F", "25"): {("low", "F"), ("high", "F")},
        ("M", "25"): {("low", "M")},
        ("M", "40"): set(),
    }


def test_column_that_is_not_known_excludes_nothing():
    lines = cells_of(["age", "sex"], [("1", "F"), ("1", "M"), ("2", "F")])
    people = cells_of(["sex", "shoe size"], [("F", "40"), ("M", "41")])
    assert found(lines, people)["F", "40"] == {("1", "F"), ("2", "F")}
    nothing_known = cells_of(["shoe size"], [("40",)])
    assert len(found(lines, nothing_known)["40"]) == 3


@pytest.mark.parametrize("n_lines", [1, 7, 8, 63, 64, 65, 128, 200])
@pytest.mark.parametrize("chunk", [1, 500, 2**25])
def test_lines_beyond_one_word_of_bits(monkeypatch, n_lines, chunk):
    monkeypatch.setattr(location, "_CHUNK", chunk)
    lines = cells_of(["age"], [(f"{number:03}+",) for number in range(n_lines)])
    meanings = {
        "age": {f"{number:03}+": Meaning((f"{number}", "+inf")) for number in range(n_lines)}
    }
    people = cells_of(["age"], [(f"{number}",) for number in range(-1, n_lines)])
    matches = match_lines(lines, meanings, people)
    ages = np.array([int(text) for (text,) in texts_of(people)])
    assert np.diff(matches.start).tolist() == (ages + 1).tolist()
    for person, age in enumerate(ages.tolist()):
        start, stop = matches.start[person : person + 2]
        assert matches.line[start:stop].tolist() == list(range(age + 1))


def test_rows_of_matching_lines_add_up():
    matches = Matches(np.array([0, 2, 2, 3]), np.array([0, 2, 1]))
    assert matches.rows_of(np.array([5, 7, 11])).tolist() == [16, 0, 7]
    assert matches.person.tolist() == [0, 0, 2]


def test_buckets_are_weighted_by_the_rows_that_fit():
    lines = cells_of(
        ["bucket", "sex"], [("7", "F"), ("7", "F"), ("7", "M"), ("9", "F"), ("8", "M")]
    )
    people = People(cells_of(["sex"], [("F",), ("M",), ("X",)]))
    places = matching_buckets(published_of(lines), people)
    assert places.person.tolist() == [0, 0, 1, 1]
    assert places.bucket.tolist() == [0, 2, 0, 1]
    assert places.n_rows.tolist() == [2, 1, 1, 1]
    assert places.weight.tolist() == pytest.approx([2 / 3, 1 / 3, 1 / 2, 1 / 2])
    assert places.n_buckets_of.tolist() == [2, 2, 0]


def test_lines_of_a_bucket_that_fit_are_added_up():
    lines = cells_of(["bucket", "age", "sex"], [("7", "1", "F"), ("7", "2", "F"), ("8", "3", "F")])
    places = matching_buckets(published_of(lines), People(cells_of(["sex"], [("F",)])))
    assert places.n_rows.tolist() == [2, 1]


def test_order_of_the_lines_does_not_matter():
    lines = cells_of(["bucket", "sex"], [("7", "F"), ("7", "M"), ("9", "F")])
    backwards = Cells(lines.domains, lines.codes[::-1], lines.counts[::-1])
    people = People(cells_of(["sex"], [("F",)]))
    places = matching_buckets(published_of(backwards), people)
    assert places.bucket.tolist() == [0, 1]


def test_known_bucket_is_certain():
    lines = cells_of(["bucket", "sex"], [("7", "F"), ("9", "F")])
    quasi = cells_of(["sex"], [("F",), ("M",), ("X",)])
    places = matching_buckets(published_of(lines), People(quasi, np.array([1, -1, 0])))
    assert places.person.tolist() == [0, 2]
    assert places.bucket.tolist() == [1, 0]
    assert places.weight.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("meanings", [{}, {"sex": {"F": Meaning(members=frozenset({"F"}))}}])
def test_nobody_is_found_nowhere(meanings):
    lines = cells_of(["bucket", "sex"], [("7", "F")])
    quasi = cells_of(["sex"], [("F",)])
    nobody = Cells(quasi.domains, quasi.codes[:0], quasi.counts[:0])
    places = matching_buckets(published_of(lines, meanings), People(nobody))
    assert places.n_people == len(places.person) == len(places.weight) == 0
    empty = Cells(lines.domains, lines.codes[:0], lines.counts[:0])
    places = matching_buckets(published_of(empty, meanings), People(quasi))
    assert places.n_people == 1
    assert len(places.person) == 0


def test_reprs_hold_no_values():
    lines = cells_of(["bucket", "sex"], [("7", "F")])
    places = matching_buckets(published_of(lines), People(cells_of(["sex"], [("F",)])))
    assert repr(places) == "Locations(1 different people, 1 places)"
    assert repr(Matches(np.array([0, 1]), np.array([0]))) == (
        "Matches(1 different people, 1 matching lines)"
    )


def test_spread_of_nothing():
    source, position = spread(np.array([3]), np.array([0]))
    assert len(source) == len(position) == 0


def numbers_of(texts, kind):
    known = [text for text in texts if text is not None]
    return Cells.of_rows(
        [
            Domain.of_texts(
                "a",
                known,
                type=kind,
                numbers=[float(text) for text in known],
                has_missing=None in texts,
            )
        ],
        np.arange(len(texts))[:, np.newaxis],
    )


def test_numbers_are_compared_as_such_not_by_their_spelling():
    lines = numbers_of(["20", "21"], ColumnType.INTEGER)
    people = numbers_of(["20.0", "2.1e1", "21", "22", None], ColumnType.REAL)
    assert found(lines, people) == {
        "20.0": {"20"},
        "2.1e1": {"21"},
        "21": {"21"},
        "22": set(),
        None: set(),
    }


def test_whole_numbers_beyond_floats_are_told_apart():
    lines = numbers_of(["9007199254740992", "9007199254740993"], ColumnType.INTEGER)
    people = numbers_of(["9007199254740992.0", "9007199254740993"], ColumnType.INTEGER)
    assert found(lines, people) == {
        "9007199254740992.0": {"9007199254740992"},
        "9007199254740993": {"9007199254740993"},
    }


def test_a_number_is_a_member_of_a_label_however_it_is_spelled():
    meanings = {
        "young": Meaning(members=frozenset({"20", "21"})),
        "rest": Meaning(members=frozenset({"30"}), has_other=True),
    }
    lines = cells_of(["a"], [("young",), ("rest",)])
    people = numbers_of(["20.0", "21", "30.0", "40"], ColumnType.REAL)
    assert found(lines, people, {"a": meanings}) == {
        "20.0": {"young"},
        "21": {"young"},
        "30.0": {"rest"},
        "40": {"rest"},
    }


def test_a_text_is_not_compared_with_a_number():
    lines = cells_of(["a"], [("020",), ("20",)])
    assert found(lines, numbers_of(["20", "20.0"], ColumnType.REAL)) == {
        "20": {"20"},
        "20.0": set(),
    }
