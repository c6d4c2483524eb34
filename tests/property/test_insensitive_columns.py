"""What insensitive columns tell, against slow twins that go through people one by one."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import NumberedDomain
from shoal.locating.insensitive_columns import (
    count_determined,
    find_determining,
    find_shares,
    find_small_classes,
)
from shoal.locating.random_worlds import Claim
from shoal.locating.row_groups import CodedColumns

NAMES = ("class", "value", "a", "b", "c", "d")
COLUMNS = NAMES[2:]
people = st.lists(
    st.tuples(*[st.integers(0, 2)] * 2, *[st.integers(0, 2)] * len(COLUMNS)),
    min_size=1,
    max_size=30,
)
confirmations = st.lists(
    st.frozensets(st.sampled_from(COLUMNS), min_size=1, max_size=3), max_size=2
)


def cells_of(rows):
    domains = [NumberedDomain(name, np.arange(3)) for name in NAMES]
    return Cells.of_rows(domains, np.array(rows))


def coded(rows):
    return CodedColumns.of_cells(cells_of(rows))


def part(row, columns):
    return tuple(row[NAMES.index(name)] for name in columns)


# --- determining -----------------------------------------------------------------------------


def slowly_determined(rows, given, target):
    alike = defaultdict(list)
    for row in rows:
        alike[part(row, given)].append(row[NAMES.index(target)])
    shared = [values for values in alike.values() if len(values) > 1]
    everybody = [value for values in shared for value in values]
    if not everybody or len(everybody) < len(rows) / 2:
        return None
    right = sum(max(Counter(values).values()) for values in shared)
    usual = max(Counter(everybody).values())
    if usual == len(everybody) or right < Fraction(95, 100) * len(everybody):
        return None
    errors, usual_errors = len(everybody) - right, len(everybody) - usual
    return right if errors <= Fraction(1, 2) * usual_errors else None


@given(people, st.sampled_from([("a",), ("a", "b")]))
def test_what_is_determined_is_what_guessing_finds(rows, given):
    found = count_determined(coded(rows).group(given), "value")
    assert found == slowly_determined(rows, given, "value")


@given(people, confirmations)
def test_pairs_count_only_where_neither_column_determines_alone(rows, confirmed):
    expected = set()
    determines = {
        (column, target)
        for column in COLUMNS
        for target in ("class", "value")
        if slowly_determined(rows, (column,), target) is not None
    }
    for size in (1, 2):
        for chosen in combinations(COLUMNS, size):
            if any(set(chosen) <= one for one in confirmed):
                continue
            for target in ("class", "value"):
                if size == 2 and any((column, target) in determines for column in chosen):
                    continue
                n_right = slowly_determined(rows, chosen, target)
                if n_right is not None:
                    expected.add((chosen, target, n_right))
    search = find_determining(coded(rows), COLUMNS, ("class", "value"), confirmed)
    assert {(one.columns, one.target, one.n_people) for one in search.found} == expected
    assert search.n_skipped == 0


# --- shares and classes ----------------------------------------------------------------------


def slowly_searched(rows, confirmed, flagged, sizes):
    """Go through combinations, and people by people through what no part of one exposes."""
    expected, exposing = [], [()]
    for size in sizes:
        for chosen in combinations(COLUMNS, size):
            if any(set(chosen) <= one for one in confirmed):
                continue
            parts = [one for one in exposing if set(one) < set(chosen)]
            parts += [tuple(c for c in chosen if c in one) for one in confirmed]
            already = [flagged(one) for one in parts]
            fresh = [
                place
                for place, is_flagged in enumerate(flagged(chosen))
                if is_flagged and not any(known[place] for known in already)
            ]
            if fresh:
                exposing.append(chosen)
                expected.append((chosen, len(fresh)))
    return set(expected)


def found(search):
    return {(one.columns, one.n_people) for one in search.found}


@given(people, confirmations, st.integers(2, 5))
def test_small_classes_are_those_that_people_are_left_in(rows, confirmed, least):
    def flagged(columns):
        sizes = Counter(part(row, ("class", *columns)) for row in rows)
        return [sizes[part(row, ("class", *columns))] < least for row in rows]

    search = find_small_classes(cells_of(rows), COLUMNS, confirmed, least)
    assert found(search) == slowly_searched(rows, confirmed, flagged, (1, 2, 3, 4))


claims = st.builds(
    Claim,
    st.frozensets(st.sampled_from(["0", "1"]), max_size=2),
    st.booleans(),
    st.sampled_from([None, Fraction(1, 2), Fraction(1, 3), Fraction("0.7"), Fraction(1, 10**9)]),
)


@given(people, confirmations, claims)
@settings(max_examples=150)
def test_shares_are_those_of_values_in_parts_of_classes(rows, confirmed, claim):
    if not claim.values:
        claim = Claim(bound=claim.bound)

    def flagged(columns):
        names = ("class", *columns)
        values = defaultdict(list)
        for row in rows:
            values[part(row, names)].append(str(row[1]))
        return [is_exposed(str(row[1]), values[part(row, names)], claim) for row in rows]

    codes = [int(value) for value in claim.values]
    search = find_shares(cells_of(rows), COLUMNS, confirmed, [(claim, codes)])
    assert found(search) == slowly_searched(rows, confirmed, flagged, (1, 2))


def is_exposed(value, others, claim):
    if claim.values and value not in claim.values:
        return False
    meant = claim.values if claim.is_joint else {value}
    share = Fraction(sum(other in meant for other in others), len(others))
    return share == 1 if claim.bound is None else share > claim.bound


@given(people, st.integers(2, 5))
def test_confirming_what_was_found_leaves_nothing(rows, least):
    cells = cells_of(rows)
    confirmed = [frozenset(one.columns) for one in find_small_classes(
        cells, COLUMNS, [], least).found]  # fmt: skip
    assert find_small_classes(cells, COLUMNS, confirmed, least).found == ()
