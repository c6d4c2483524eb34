"""When Injector says that no release can be made, none of all partitions of the rows is one."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import permutations

import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from injector_cases import (
    CHOICES,
    bucket_contents,
    forbidden_of,
    problem_of,
    row_of,
    tables,
)

import shoal
from shoal.core.errors import InfeasibleError
from shoal.injector.method import Injector
from shoal.knowledge import Knowledge, NegativeRule


def partitions(places):
    """Give every way to part places into buckets."""
    if not places:
        yield []
        return
    first, rest = places[0], places[1:]
    for parts in partitions(rest):
        yield [[first], *parts]
        for at in range(len(parts)):
            yield [*parts[:at], [first, *parts[at]], *parts[at + 1 :]]


def judge_of(rows, rules):
    """Give for a bucket the fewest valid values of a row, and its largest posterior."""

    @cache
    def judge(places):
        held = [rows[place] for place in places]
        forbidden = [forbidden_of(rules, row) for row in held]
        worlds = [
            order
            for order in set(permutations([row[2] for row in held]))
            if all(v not in never for v, never in zip(order, forbidden, strict=True))
        ]
        if not worlds:
            return 0, Fraction(1)
        columns = list(zip(*worlds, strict=True))
        largest = max(Fraction(c.count(v), len(worlds)) for c in columns for v in set(c))
        return min(len(set(column)) for column in columns), largest

    return judge


def is_possible(rows, rules, ell, *, weighted):
    judge = judge_of(rows, rules)
    for parts in partitions(list(range(len(rows)))):
        judged = [judge(tuple(part)) for part in parts]
        if all(n >= ell for n, _ in judged) and (
            not weighted or all(p <= Fraction(1, ell) for _, p in judged)
        ):
            return True
    return False


@given(tables(max_rows=7, n_values=4), st.integers(2, 3), st.sampled_from(CHOICES))
@settings(max_examples=100)
def test_what_is_infeasible_is_so_for_every_partition(case, ell, choose):
    rows, rules = case
    method = Injector(ell=ell, choose=choose, rules=Knowledge("value", rules), mine=False)
    try:
        method.plan(problem_of(rows))
    except InfeasibleError as error:
        assert not is_possible(rows, rules, ell, weighted=False)
        best = error.best.get("ell")
        if best is not None:
            assert is_possible(rows, rules, best, weighted=False)
        return
    assert is_possible(rows, rules, ell, weighted=False)


@given(tables(max_rows=7, n_values=4), st.integers(2, 3), st.sampled_from(CHOICES))
@settings(max_examples=100)
def test_the_weighted_option_keeps_its_bound_and_claims_no_more_than_it_knows(case, ell, choose):
    rows, rules = case
    known = Knowledge("value", rules)
    method = Injector(ell=ell, choose=choose, rules=known, mine=False, weighted=True)
    try:
        plan = method.plan(problem_of(rows))
    except InfeasibleError as error:
        # Merging is a search; where it fails, the message does not say that none can succeed.
        if "another release may" not in error.fact:
            assert not is_possible(rows, rules, ell, weighted=True)
        return
    assert plan.notes == {}
    held = [[row_of(plan, cell) for cell in cells] for cells in bucket_contents(plan).values()]
    for part in held:
        fewest, largest = judge_of(part, rules)(tuple(range(len(part))))
        assert fewest >= ell
        assert largest <= Fraction(1, ell)


# The only man must not have s; among the others s is then too likely, until buckets are merged.
ROWS = [("a", "M", "t"), ("a", "F", "s"), ("a", "F", "s"), ("a", "F", "t"), ("b", "F", "u"),
        ("b", "F", "u"), ("b", "F", "t"), ("b", "F", "v")]  # fmt: skip
RULES = [NegativeRule(antecedent={"sex": "M"}, value="s")]


def table_of(rows):
    columns = dict(zip(("city", "sex", "value"), map(list, zip(*rows, strict=True)), strict=True))
    schema = shoal.Schema(quasi=["city", "sex"], sensitive="value")
    return shoal.read(pyarrow.table(columns), schema)


def test_a_release_claims_the_weighted_guarantee_and_its_checker_confirms_it():
    table = table_of(ROWS)
    known = Knowledge("value", RULES)
    method = shoal.Injector(ell=2, rules=known, mine=False, weighted=True)
    release = shoal.anonymize(table, method, seed=1)
    names = [one.name for one in release.manifest.guarantees]
    assert names == ["matching l-diversity", "weighted matching l-diversity"]
    assert all(verdict.holds for verdict in shoal.verify(release).verdicts)


def test_what_cannot_be_counted_is_not_claimed(monkeypatch):
    monkeypatch.setattr("shoal.injector.method._MOST_WORK", 10)
    table = table_of(ROWS)
    method = shoal.Injector(ell=2, rules=Knowledge("value", RULES), mine=False, weighted=True)
    release = shoal.anonymize(table, method, seed=1)
    assert [one.name for one in release.manifest.guarantees] == ["matching l-diversity"]
    assert "not claimed" in release.making.plan.warnings[0]
    assert release.making.plan.notes
    assert method.settled(release.making.plan.notes).weighted is False


def test_a_value_that_is_too_frequent_is_infeasible():
    rows = [("a", "F", "s")] * 5 + [("a", "F", "t"), ("a", "F", "u")]
    method = Injector(ell=2, rules=Knowledge("value", RULES[:0]), mine=False, weighted=True)
    with pytest.raises(InfeasibleError, match="one row in 2"):
        method.plan(problem_of(rows))
