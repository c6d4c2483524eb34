"""What columns add to the risk, held against people counted one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.findings import Findings
from shoal.report.risk import Attacked, contributions

DOMAINS = tuple(Domain.of_texts(name, ["a", "b", "c"], has_missing=True) for name in "xyz")
CODES = st.tuples(*(st.integers(0, 3) for _ in DOMAINS))


def findings(attack, counts, value, posterior, limit):
    believed = np.array([float(one) for one in posterior])
    breached = np.array([one > Fraction(limit) for one in posterior])
    return Findings(attack, "all", np.array(counts), np.array(value), believed, breached, limit, {})


def cells_of(codes, counts):
    return Cells(DOMAINS, np.array(codes), np.array(counts))


@given(st.lists(st.tuples(CODES, st.integers(1, 3)), min_size=1, max_size=12), st.integers(1, 6))
def test_without_a_column_the_lines_that_fit_are_all_that_agree_in_the_others(entries, least):
    # The same people may stand in several buckets, so that cells repeat.
    codes = [code for code, _ in entries]
    counts = [count for _, count in entries]
    people = [code for code, count in entries for _ in range(count)]
    posterior = [Fraction(1, people.count(code)) for code in codes]
    found = findings("linkage", counts, [-1] * len(codes), posterior, f"1/{least}")
    told = contributions(found, Attacked(cells_of(codes, counts)))
    at_risk = [one for one in people if people.count(one) < least]
    if not at_risk:
        assert told == {}
        return
    for place, name in enumerate("xyz"):

        def others(one, place=place):
            return one[:place] + one[place + 1 :]

        known = list(map(others, people))
        safe = sum(known.count(others(one)) >= least for one in at_risk)
        assert told[name] == (safe, safe)


LAWS = st.lists(st.integers(0, 4), min_size=3, max_size=3).filter(any)


@given(
    st.lists(st.tuples(CODES, st.integers(1, 3), LAWS), min_size=1, max_size=10),
    st.sampled_from(["1/2", "1/3", "2/3", "3/4"]),
)
def test_beliefs_without_a_column_lie_between_the_bounds(entries, limit):
    codes, counts, laws = zip(*entries, strict=True)
    beliefs = [[Fraction(one, sum(law)) for one in law] for law in laws]
    value = [law.index(max(law)) for law in laws]
    posterior = [max(belief) for belief in beliefs]
    found = findings("homogeneity", counts, value, posterior, limit)
    told = contributions(found, Attacked(cells_of(codes, counts)))
    if not found.breached.any():
        assert told == {}
        return
    for place, name in enumerate("xyz"):
        safe = 0
        key = [code[:place] + code[place + 1 :] for code in codes]
        order = sorted(range(len(key)), key=key.__getitem__)
        for _, group in groupby(order, key=key.__getitem__):
            members = list(group)
            total = sum(counts[one] for one in members)
            mean = [sum(counts[one] * beliefs[one][v] for one in members) / total for v in range(3)]
            if max(mean) <= Fraction(limit):
                safe += sum(counts[one] for one in members if found.breached[one])
        least, most = told[name]
        assert least <= safe <= most
        if all(max(belief) == 1 for belief in beliefs):
            assert least == most


@given(
    st.lists(st.tuples(CODES, st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=14),
    st.sampled_from(["1/2", "1/3", "2/3", "3/4", "anything short of certainty"]),
)
def test_who_goes_by_buckets_alone_is_followed_exactly(rows, limit):
    number = {bucket: place for place, bucket in enumerate(sorted({row[1] for row in rows}))}
    codes = [code for code, _, _ in rows]
    bucket = [number[one] for _, one, _ in rows]
    held = Buckets.of_pairs(
        np.array(bucket), np.array([value for *_, value in rows]), Domain.of_texts("ill", "abc")
    )
    ill = [[rows[i][2] for i in range(len(rows)) if bucket[i] == one] for one in range(len(number))]
    law = [[Fraction(values.count(v), len(values)) for v in range(3)] for values in ill]
    posterior = [max(law[one]) for one in bucket]
    most = Fraction(limit) if limit[0].isdigit() else Fraction(999_999, 1_000_000)
    value = np.array([law[one].index(max(law[one])) for one in bucket])
    found = Findings(
        "homogeneity", "all", np.ones(len(rows), dtype=np.int64), value,
        np.array(posterior, dtype=float),
        np.array([one > most for one in posterior]), limit, {},
    )  # fmt: skip
    people = Attacked(cells_of(codes, [1] * len(rows)), np.array(bucket), held)
    told = contributions(found, people)
    for place, name in enumerate("xyz" if found.breached.any() else ""):
        key = [code[:place] + code[place + 1 :] for code in codes]
        safe = 0
        for i in np.flatnonzero(found.breached).tolist():
            alike = [bucket[j] for j in range(len(rows)) if key[j] == key[i]]
            safe += max(sum(law[one][v] for one in alike) / len(alike) for v in range(3)) <= most
        assert told[name] == (safe, safe)


def test_nothing_is_told_where_more_than_a_belief_decides():
    cells = cells_of([(0, 0, 0), (1, 0, 0)], [1, 1])
    odd = Findings(
        "belief", "all", cells.counts, np.array([0, 1]), np.array([0.9, 0.2]),
        np.array([False, True]), "1/2", {},
    )  # fmt: skip
    assert contributions(odd, Attacked(cells)) == {}
    members = findings("membership", [1, 1], [-1, -1], [Fraction(1), Fraction(1, 2)], "3/4")
    assert contributions(members, Attacked(cells)) == {}


def test_certainty_is_a_limit_that_has_no_number():
    cells = cells_of([(0, 0, 0), (1, 0, 0)], [1, 1])
    found = Findings(
        "homogeneity", "all", cells.counts, np.array([0, 1]), np.array([1.0, 0.5]),
        np.array([True, False]), "anything short of certainty", {},
    )  # fmt: skip
    assert contributions(found, Attacked(cells)) == {"x": (1, 1), "y": (0, 0), "z": (0, 0)}
