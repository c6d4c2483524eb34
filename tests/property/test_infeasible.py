"""What is refused as infeasible, against all partitions of tiny tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.sliced import Layout
from shoal.slicing.partition import partition_tuples

NAMES = ("a", "b", "s")
LAYOUTS = [
    Layout([["a"], ["b", "s"]], ["s"]),
    Layout([["a"], ["b"], ["s"]], ["s"]),
    Layout([["a", "b"], ["s"]], ["s"]),
    Layout([["a", "b", "s"]], ["s"]),
]


@st.composite
def tables(draw, most_rows=7):
    """Draw rows of two known attributes and a sensitive one."""
    value = st.integers(0, 2)
    n_rows = draw(st.integers(1, most_rows))
    return draw(st.lists(st.tuples(value, value, value), min_size=n_rows, max_size=n_rows))


def cells_of(rows):
    domains = [Domain.of_texts(name, [f"{name}{code}" for code in range(3)]) for name in NAMES]
    return Cells.of_rows(domains, np.array(rows))


def cut(rows, places):
    """Give all partitions that cuts of buckets make: values of one attribute go left or right."""
    yield [rows]
    for place in places:
        first, *values = sorted({row[place] for row in rows})
        for n_left in range(len(values)):
            for chosen in combinations(values, n_left):
                left = [row for row in rows if row[place] in (first, *chosen)]
                right = [row for row in rows if row[place] not in (first, *chosen)]
                yield from ([*one, *two] for one, two in product(cut(left, places),
                                                                 cut(right, places)))  # fmt: skip


def all_partitions(rows):
    """Give all partitions of some rows."""
    if not rows:
        yield []
        return
    first, *rest = rows
    for partition in all_partitions(rest):
        yield [[first], *partition]
        for place in range(len(partition)):
            yield [*partition[:place], [first, *partition[place]], *partition[place + 1 :]]


def beliefs(person, buckets, layout):
    """[Slicing] 4.3: the law of total probability over the buckets that a person matches."""
    columns = [[NAMES.index(name) for name in column] for column in layout.columns]
    weight_of, share_of = [], []
    for bucket in buckets:
        weight = Fraction(len(bucket))
        for column in columns:
            known = [place for place in column if place != 2]
            same = [row for row in bucket if all(row[one] == person[one] for one in known)]
            weight *= Fraction(len(same), len(bucket))
            if 2 in column:
                held = Counter(row[2] for row in same)
        weight_of.append(weight)
        share_of.append({s: Fraction(n, sum(held.values())) for s, n in held.items()})
    found = defaultdict(Fraction)
    for weight, share in zip(weight_of, share_of, strict=True):
        for s, part in share.items():
            found[s] += weight / sum(weight_of) * part
    return {s: p for s, p in found.items() if p}


def is_diverse(buckets, layout, ell, diversity):
    people = {row[:2] for bucket in buckets for row in bucket}
    found = [beliefs(person, buckets, layout) for person in people]
    if diversity == "distinct":
        return all(len(one) >= ell for one in found)
    return all(max(one.values()) * ell <= 1 for one in found)


@settings(max_examples=150, deadline=None)
@given(
    tables(),
    st.sampled_from(LAYOUTS),
    st.sampled_from(["1", "1.5", "2", "2.5", "3"]),
    st.sampled_from(["frequency", "distinct"]),
)
def test_where_slicing_with_strict_cuts_refuses_no_cuts_will_do(rows, layout, ell, diversity):
    ell = Fraction(ell)
    (inside,) = [column for column in layout.columns if "s" in column]
    places = [place for place, name in enumerate(NAMES) if name not in inside]
    try:
        partition_tuples(cells_of(rows), layout, ell=ell, diversity=diversity)
    except InfeasibleError:
        assert not any(is_diverse(one, layout, ell, diversity) for one in cut(rows, places))
    else:
        assert is_diverse([rows], layout, ell, diversity)


@settings(max_examples=40, deadline=None)
@given(tables(6), st.sampled_from(LAYOUTS), st.sampled_from(["2", "3"]))
def test_where_distinct_diversity_is_refused_no_partition_at_all_will_do(rows, layout, ell):
    ell = Fraction(ell)
    try:
        partition_tuples(cells_of(rows), layout, ell=ell, diversity="distinct", cuts="relaxed")
    except InfeasibleError:
        assert not any(is_diverse(one, layout, ell, "distinct") for one in all_partitions(rows))


def test_frequency_diversity_is_refused_though_parting_equal_rows_would_meet_its_formula():
    """Two of three who look alike have s0: whoever puts their buckets together sees 2/3."""
    rows = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (1, 1, 1), (1, 1, 2)]
    layout = LAYOUTS[0]
    parted = [[rows[2]], [rows[0], rows[3]], [rows[1], rows[4]]]
    assert is_diverse(parted, layout, 2, "frequency")
    for cuts in ("strict", "relaxed"):
        with pytest.raises(InfeasibleError) as caught:
            partition_tuples(cells_of(rows), layout, ell=Fraction(2), cuts=cuts)
        assert caught.value.best == {"ell": "1.5"}


# --- MASK -----------------------------------------------------------------------------------------


def table_of(rows):
    columns = {name: [f"{name}{row[place]}" for row in rows] for place, name in enumerate(NAMES)}
    return shoal.read(columns, shoal.Schema(quasi=["a", "b"], sensitive="s"))


def lends(buckets, m, lenders):
    """Say whether the buckets above 1/m find others to take the share of, by trying all sets."""
    above = [one for one in buckets if sum(row[2] == 0 for row in one) * m > len(one)]
    kept = [one for one in buckets if sum(row[2] == 0 for row in one) * m <= len(one)]
    n_needed = (m - 1) * len(above) if lenders == "enough" else min(len(above), 1)
    return any(True for _ in combinations(kept, n_needed))


def mondrian_buckets(rows, k):
    """Give the buckets that Mondrian cuts by the quasi-identifiers alone."""
    release = shoal.anonymize(
        table_of(rows), shoal.Mondrian(k=k, ell=1, publish="bucketized"), seed=1
    )
    lines = release.published.lines
    bucket_of = {}
    for codes in lines.codes.tolist():
        texts = tuple(d.text(code) for d, code in zip(lines.domains, codes, strict=True))
        bucket_of[texts[1:]] = texts[0]
    buckets = defaultdict(list)
    for row in rows:
        buckets[bucket_of[f"a{row[0]}", f"b{row[1]}"]].append(row)
    return list(buckets.values())


@settings(max_examples=60, deadline=None)
@given(tables(), st.integers(2, 3), st.integers(2, 3), st.sampled_from(["enough", "any"]))
def test_mask_refuses_where_the_buckets_of_mondrian_have_too_few_to_lend(rows, m, k, lenders):
    """It says so of these buckets alone: others might have lenders."""
    if not any(row[2] == 0 for row in rows):
        rows = [*rows[:-1], (*rows[-1][:2], 0)]
    method = shoal.Mask(m=m, k=k, protect=["s0"], lenders=lenders)
    try:
        release = shoal.anonymize(table_of(rows), method, seed=1)
    except InfeasibleError as error:
        if len(rows) < k:
            assert not any(all(len(bucket) >= k for bucket in one) for one in all_partitions(rows))
            return
        buckets = mondrian_buckets(rows, k)
        assert not lends(buckets, m, lenders)
        reachable = [smaller for smaller in range(2, m) if lends(buckets, smaller, lenders)]
        named = error.best.get("m", 1)
        assert named == max(reachable, default=1)
    else:
        assert shoal.verify(release).status.name == "VERIFIED"
        assert lends(mondrian_buckets(rows, k), m, lenders)


def test_another_partition_may_do_where_mask_refuses():
    """All rows together have a share of 1/3; of the buckets of Mondrian too few can lend."""
    rows = [(0, 0, 0), (0, 0, 0), (0, 0, 1), (1, 0, 1), (1, 0, 2), (1, 0, 1)]
    assert sum(row[2] == 0 for row in rows) * 3 <= len(rows)
    assert sorted(map(len, mondrian_buckets(rows, 3))) == [3, 3]
    with pytest.raises(InfeasibleError, match="of 2 buckets 1 are above"):
        shoal.anonymize(table_of(rows), shoal.Mask(m=3, k=3, protect=["s0"]), seed=1)
