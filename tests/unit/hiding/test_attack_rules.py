from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.attacks import Homogeneity, Rules
from shoal.core.adversary_guarantees import RuleProtection
from shoal.core.attack import View
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.findings import Guesses
from shoal.core.guarantees import KAnonymity
from shoal.core.manifest import Manifest
from shoal.core.release import People, Published
from shoal.core.shapes import Shape
from shoal.core.table import HIDDEN, Rows
from shoal.hiding import attack_rules as rules

STAFF = [
    ("Manager", "F", "Yes"),
    ("Manager", "F", "Yes"),
    ("Manager", "M", "No"),
    ("Clerk", "F", "No"),
    ("Clerk", "M", "No"),
    ("Clerk", "M", "No"),
    ("Manager", "F", "*"),
    ("*", "M", "*"),
]
COLUMNS = ("title", "sex", "married")


def rows_of(lines, columns=COLUMNS):
    """Make rows of texts; a star is suppressed, None is a missing value."""
    domains, codes = [], []
    for place, column in enumerate(columns):
        texts = [line[place] for line in lines]
        known = sorted({text for text in texts if text not in (None, "*")})
        domain = Domain.of_texts(column, known, has_missing=None in texts)
        domains.append(domain)
        codes.append([HIDDEN if text == "*" else domain.codes_of([text])[0] for text in texts])
    stacked = np.array(codes, dtype=np.int32).reshape(len(columns), len(lines)).T
    return Rows(tuple(domains), np.ascontiguousarray(stacked))


def manifest(*guarantees):
    return Manifest(
        shape=Shape.SUPPRESSED,
        method="test",
        parameters={},
        guarantees=guarantees,
        columns=(),
        n_rows=1,
        n_buckets=1,
    )


def guess(rows, attack, *guarantees):
    """Return, by cell, what the rules say: value, belief and the rule in words."""
    found = attack.guess(rows, manifest(*guarantees))["rules"]
    return {
        (row, rows.columns[column]): (
            rows.domains[column].text(value),
            belief,
            None if reason < 0 else found.reasons[reason],
        )
        for row, column, value, belief, reason in zip(
            found.row.tolist(),
            found.column.tolist(),
            found.value.tolist(),
            found.belief.tolist(),
            found.reason.tolist(),
            strict=True,
        )
    }


def published(rows, *guarantees):
    bucket = Domain.of_texts("bucket", ["1"])
    lines = Cells((bucket,), np.zeros((1, 1), dtype=np.int64), np.array([rows.n_rows]))
    stated = replace(manifest(*guarantees), n_rows=rows.n_rows)
    return Published(stated, lines, None, rows=rows)


# --- which rule ----------------------------------------------------------------------------------


def test_each_cell_has_the_rule_that_is_believed_most():
    rows = rows_of(STAFF)
    assert guess(rows, Rules(delta="0.6", gamma=2)) == {
        (6, "married"): ("Yes", 1.0, "title Manager and sex F: married Yes, 2 of 2"),
        (7, "title"): ("Clerk", 2 / 3, "sex M: title Clerk, 2 of 3"),
        (7, "married"): ("No", 1.0, "sex M: married No, 3 of 3"),
    }


def test_of_equal_confidence_the_larger_support_is_taken():
    rows = rows_of(
        [("a", "x", "1"), ("b", "x", "1"), ("a", "y", "0"), ("a", "x", "*")], ("c0", "c1", "c2")
    )
    # c0 a and c1 x: 1 of 1, too; it comes first in the search.
    assert guess(rows, Rules(delta=1, gamma=1)) == {(3, "c2"): ("1", 1.0, "c1 x: c2 1, 2 of 2")}


def test_of_equal_support_the_shorter_antecedent_is_taken():
    rows = rows_of(
        [("a", "x", "1"), ("a", "x", "1"), ("b", "y", "0"), ("a", "x", "*")], ("c0", "c1", "c2")
    )
    ((_, _, reason),) = guess(rows, Rules(gamma=2)).values()
    assert reason == "c0 a: c2 1, 2 of 2"
    rows = rows_of([("a", "x", "1"), ("a", "y", "0"), ("a", "x", "*")], ("c0", "c1", "c2"))
    # c0 a and c1 x comes before c1 x.
    ((_, _, reason),) = guess(rows, Rules(gamma=1)).values()
    assert reason == "c1 x: c2 1, 1 of 1"


def test_of_equal_values_the_first_is_taken():
    rows = rows_of([("a", "2"), ("a", "1"), ("a", "*")], ("c0", "c1"))
    assert guess(rows, Rules(delta="0.5", gamma=1)) == {(2, "c1"): ("1", 0.5, "c0 a: c1 1, 1 of 2")}


def test_antecedents_are_no_longer_than_asked_for():
    rows = rows_of(STAFF)
    found = guess(rows, Rules(delta="0.6", gamma=2, max_len=1))
    assert found[6, "married"] == ("Yes", 2 / 3, "title Manager: married Yes, 2 of 3")


def test_a_confidence_that_just_reaches_delta_counts():
    rows = rows_of([*[("a", "1")] * 2, ("a", "0"), ("a", "*")], ("c0", "c1"))
    assert guess(rows, Rules(delta=Fraction(2, 3), gamma=1))
    assert guess(rows, Rules(delta="0.6666666666666666666", gamma=1))
    assert not guess(rows, Rules(delta="0.6666666666666666667", gamma=1))


def test_a_support_that_just_reaches_gamma_counts():
    rows = rows_of([*[("a", "1")] * 3, *[("b", "0")] * 6, ("a", "*")], ("c0", "c1"))
    assert guess(rows, Rules(gamma=3))
    assert not guess(rows, Rules(gamma=4))
    assert guess(rows, Rules(gamma="0.3"))
    assert not guess(rows, Rules(gamma="0.301"))


def test_a_missing_value_is_a_value_like_others():
    rows = rows_of([*[(None, None)] * 3, (None, "*"), ("a", "1")], ("c0", "c1"))
    assert guess(rows, Rules(gamma=2)) == {(3, "c1"): (None, 1.0, "c0 missing: c1 missing, 3 of 3")}


def test_a_base_rate_is_no_rule():
    rows = rows_of([("1", "a"), ("1", "b"), ("*", "c")], ("c0", "c1"))
    assert guess(rows, Rules(gamma=1)) == {}


def test_wide_keys_are_counted_too():
    """Groups times values exceed by far the rows: they are sorted, not counted in a table."""
    lines = [(f"a{i}", f"b{i}") for i in range(300) for _ in range(2)]
    # Of each group's values, the rarer one comes first for some and last for others.
    lines += [(f"a{i}", f"b{299 - i}") for i in range(300)]
    lines += [(f"a{i}", "*") for i in range(300)]
    found = guess(rows_of(lines, ("c0", "c1")), Rules(delta="0.6", gamma=2))
    assert found == {
        (900 + i, "c1"): (f"b{i}", 2 / 3, f"c0 a{i}: c1 b{i}, 2 of 3") for i in range(300)
    }


def test_only_so_many_rules_are_worded_the_most_believed_first(monkeypatch):
    monkeypatch.setattr(rules, "_MOST_REASONS", 2)
    rows = rows_of(STAFF)
    found = guess(rows, Rules(delta="0.6", gamma=2))
    assert {cell: reason is None for cell, (_, _, reason) in found.items()} == {
        (6, "married"): False,
        (7, "title"): True,
        (7, "married"): False,
    }


@pytest.mark.parametrize("n_columns", [1, 2, 10, 14])
def test_on_tables_of_few_columns_antecedents_may_name_all(n_columns):
    assert rules._longest(n_columns, rules._MOST_SETS) == n_columns


@pytest.mark.parametrize("n_columns", [15, 20, 60, 20_000])
def test_on_wide_tables_there_are_only_so_many_sets_of_columns(n_columns):
    from math import comb

    longest = rules._longest(n_columns, rules._MOST_SETS)
    n_sets = [
        sum(comb(n_columns, size) for size in range(1, most + 1)) for most in (longest, longest + 1)
    ]
    assert longest >= 1
    assert n_sets[0] <= 2**14 or longest == 1
    assert n_sets[1] > 2**14


# --- thresholds ----------------------------------------------------------------------------------


def test_thresholds_are_those_that_the_release_promises_protection_against():
    stated = manifest(KAnonymity(k=2), RuleProtection(delta="0.6", gamma=2))
    assert Rules().threshold(stated) == Fraction(3, 5)
    assert Rules().support(stated) == 2
    assert Rules(delta=1, gamma="0.5").threshold(stated) == 1
    assert Rules(delta=1, gamma="0.5").support(stated) == Fraction(1, 2)
    rows = rows_of(STAFF)
    assert guess(rows, Rules(), *stated.guarantees) == guess(rows, Rules(delta="0.6", gamma=2))


def test_where_nothing_is_promised_there_are_defaults():
    assert Rules().threshold(manifest()) == Fraction(4, 5)
    assert Rules().support(manifest()) == Fraction(1, 1000)


@pytest.mark.parametrize(
    "given",
    [{"delta": 0}, {"delta": "1.1"}, {"gamma": 0}, {"gamma": 1.5}, {"max_len": 0}, {"delta": "x"}],
)
def test_thresholds_out_of_range_are_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        Rules(**given)


# --- values that are common anyway ---------------------------------------------------------------


def test_the_findings_list_base_rates_that_reach_delta():
    rows = rows_of(STAFF)
    people = People(Cells((), np.zeros((1, 0), dtype=np.int64), np.array([8])))
    found = Rules(delta=Fraction(2, 3), gamma=2).run(View(published(rows), people))
    assert found.sections[-1].to_dict() == {
        "title": "base rates",
        "rows": [{"column": "married", "value": "No", "share": 4 / 6, "visible": 6}],
    }
    found = Rules(delta=Fraction(3, 4), gamma=2).run(View(published(rows), people))
    assert found.sections[-1].rows == ()


# --- findings ------------------------------------------------------------------------------------


def test_findings_count_the_cells_that_are_filled_in():
    rows = rows_of(STAFF)
    people = People(Cells((), np.zeros((1, 0), dtype=np.int64), np.array([8])))
    found = Rules(gamma=2).run(View(published(rows), people))
    assert found.headline == {"cells suppressed": 3, "cells filled in": 2}
    assert found.breached.nonzero()[0].tolist() == [6, 7]
    assert found.posterior[[0, 6, 7]].tolist() == [0.0, 1.0, 1.0]
    assert (found.attack, found.limit, found.is_by_line) == ("rules", "0.8", True)
    assert json.dumps(found.to_dict())


def test_the_release_must_have_suppressed_cells(publish, everybody):
    other = publish(["sex", "disease"], [("a", "F", "flu"), ("a", "M", "cold")])
    assert not Rules().fits(other)
    assert Homogeneity().fits(other)
    with pytest.raises(ParameterError, match="Rules attacks suppressed releases"):
        Rules().run(View(other, everybody(other)))


@pytest.mark.parametrize(
    "lines",
    [
        [],
        [("a", "x", "1")],
        [("*", "*", "*")],
        [("*", "*", "*")] * 5,
        [("a", "x", "1"), ("*", "*", "*")],
        [("a", "x", "*"), ("a", "x", "*")],
        [("a", "*", "1"), ("*", "x", "*")],
    ],
)
def test_where_no_rule_fires_nothing_is_filled_in(lines):
    rows = rows_of(lines)
    found = Rules(delta="0.1", gamma=1).guess(rows, manifest())["rules"]
    assert (len(found), found.reasons) == (0, ())
    people = People(Cells((), np.zeros((1, 0), dtype=np.int64), np.array([len(lines)])))
    assert Rules().run(View(published(rows), people)).n_breached == 0


def test_guesses_are_joined_with_their_reasons():
    one = Guesses(*(np.array([4, 5]),) * 3, np.array([0.5, 1.0]), np.array([-1, 0]), ("x",))
    two = Guesses(*(np.array([6]),) * 3, np.array([0.25]), np.array([1]), ("y", "z"))
    joined = Guesses.join([one, two])
    assert joined.row.tolist() == joined.column.tolist() == joined.value.tolist() == [4, 5, 6]
    assert joined.belief.tolist() == [0.5, 1.0, 0.25]
    assert joined.reason.tolist() == [-1, 0, 2]
    assert joined.reasons == ("x", "y", "z")
    assert len(Guesses.join([])) == 0
