"""Guided hierarchies against merging by the definition, all pairs measured anew at each step."""

from __future__ import annotations

import math
import re
import tempfile
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.hierarchies.guided import DISTANCES, guided_hierarchy, merge_any, merge_neighbours
from shoal.hierarchies.hierarchy import Hierarchy

THOROUGH = settings(max_examples=200, deadline=None)
TIE = 1e-10


@st.composite
def count_tables(draw, max_values=8):
    """How often each sensitive value occurs with each value; many zeros, equal rows and ties."""
    n_sensitive = draw(st.integers(1, 4))
    entry = st.sampled_from(draw(st.sampled_from([[0, 0, 1, 2, 6], [0, 1]])))
    row = st.lists(entry, min_size=n_sensitive, max_size=n_sensitive)
    return np.array(draw(st.lists(row, min_size=1, max_size=max_values)), dtype=np.int64)


def slow_jensen_shannon(p, q):
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return sum(
        a / 2 * math.log2(a / m)
        for one in (p, q)
        for a, m in zip(one, middle, strict=True)
        if a > 0
    )


def slow_largest_difference(p, q):
    return max(abs(a - b) for a, b in zip(p, q, strict=True))


SLOW = {"jensen-shannon": slow_jensen_shannon, "largest-difference": slow_largest_difference}


def slow_merges(counts, distance, *, only_neighbours):
    """Merge the closest pair again and again; of equal ones the smallest, then the first."""
    groups = {code: (code,) for code in range(len(counts))}

    def total(group):
        return [sum(int(counts[code][s]) for code in group) for s in range(counts.shape[1])]

    def apart(one, other):
        first, second = total(groups[one]), total(groups[other])
        if not sum(first) or not sum(second):
            return 0.0
        return SLOW[distance](
            [n / sum(first) for n in first],
            [n / sum(second) for n in second],
        )

    merges = []
    while len(groups) > 1:
        names = sorted(groups)
        pairs = list(pairwise(names)) if only_neighbours else list(combinations(names, 2))
        distances = {pair: apart(*pair) for pair in pairs}
        least = min(distances.values())
        tied = [pair for pair in pairs if distances[pair] <= least + TIE]
        one, other = min(
            tied, key=lambda pair: (sum(total(groups[pair[0]]) + total(groups[pair[1]])), pair)
        )
        merges.append((one, other))
        groups[one] += groups.pop(other)
    return merges


# Merged groups that come closer than others and tie with them in distance, or in rows as well.
TIED = [
    np.array([[0, 0, 0, 1], [2, 2, 0, 0], [0, 1, 1, 1], [1, 0, 1, 1]]),
    np.array(
        [
            *([1, 1, 1, 1], [2, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 2]),
            *([0, 0, 0, 0], [1, 0, 1, 1], [1, 1, 0, 0], [0, 0, 1, 0]),
        ]
    ),
]


@pytest.mark.parametrize("distance", DISTANCES)
@THOROUGH
@given(count_tables(max_values=10))
@example(TIED[0])
@example(TIED[1])
def test_the_closest_two_are_merged_first(distance, counts):
    found = merge_any(counts, DISTANCES[distance])
    expected = slow_merges(counts, distance, only_neighbours=False)
    assert [tuple(pair) for pair in found.tolist()] == expected


@pytest.mark.parametrize("distance", DISTANCES)
@THOROUGH
@given(count_tables())
def test_the_closest_neighbours_are_merged_first(distance, counts):
    found = merge_neighbours(counts, DISTANCES[distance])
    expected = slow_merges(counts, distance, only_neighbours=True)
    assert [tuple(pair) for pair in found.tolist()] == expected


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1), st.booleans())
def test_many_values_merge_as_by_the_definition(seed, is_sparse):
    chance = np.random.default_rng(seed)
    counts = chance.integers(0, 3, (24, 70))
    if is_sparse:
        counts *= chance.random((24, 70)) < 0.03
    for merge, only_neighbours in ((merge_any, False), (merge_neighbours, True)):
        found = merge(counts, DISTANCES["jensen-shannon"])
        expected = slow_merges(counts, "jensen-shannon", only_neighbours=only_neighbours)
        assert [tuple(pair) for pair in found.tolist()] == expected


# The hierarchy

TEXTS = st.one_of(
    st.sampled_from(["a", "b", "{a, b}", "a, b", "group 1", "group 2", "ä", "😀", "", "x;y", '"']),
    st.text(st.characters(codec="utf-8"), max_size=25),
).filter(lambda text: text != "*")


@st.composite
def domains(draw, n_values):
    kind = draw(st.sampled_from(list(ColumnType)))
    has_missing = draw(st.booleans())
    if kind is ColumnType.BOOLEAN:
        n_values = min(n_values, 2)
        texts, numbers = ["false", "true"][:n_values], None
    elif kind.is_numeric:
        whole = st.integers(-50, 50) | st.integers(-(2**60), 2**60)
        if kind is ColumnType.DATE:
            whole = st.integers(-3_000, 30_000)
        size = {"min_size": n_values, "max_size": n_values}
        numbers = sorted(draw(st.lists(whole, unique_by=float, **size)))
        if kind is ColumnType.REAL:
            numbers = [number / 8 for number in numbers]
        texts = [text_of(kind, number) for number in numbers]
    else:
        size = {"min_size": n_values, "max_size": n_values}
        texts, numbers = sorted(draw(st.lists(TEXTS, unique=True, **size))), None
    return Domain.of_texts("q", texts, type=kind, numbers=numbers, has_missing=has_missing)


def text_of(kind, number):
    if kind is ColumnType.DATE:
        return str(np.datetime64("1970-01-01") + np.timedelta64(number, "D"))
    return repr(number)


@st.composite
def cases(draw):
    counts = draw(count_tables())
    domain = draw(domains(len(counts)))
    counts = counts[: len(domain.texts)]
    n_missing = [draw(st.integers(0, 2)) for _ in range(counts.shape[1] * domain.has_missing)]
    whole = np.vstack([counts, *([n_missing] if domain.has_missing else [])])
    sensitive = Domain.of_texts("s", [f"s{code}" for code in range(counts.shape[1])])
    codes = np.argwhere(whole > 0)
    cells = Cells((domain, sensitive), codes, whole[whole > 0])
    return cells, counts, draw(st.none() | st.integers(1, 6)), draw(st.sampled_from([1, 3, 10]))


@THOROUGH
@given(cases(), st.sampled_from(sorted(DISTANCES)))
def test_every_level_is_a_cut_through_the_order_of_merging(case, distance):
    cells, counts, levels, fewest = case
    domain = cells.domain("q")
    hierarchy = guided_hierarchy(cells, "q", "s", levels=levels, distance=distance, fewest=fewest)
    merges = slow_merges(counts, distance, only_neighbours=domain.type.has_order)
    n_values = len(counts)
    numbers = []
    for labels in list(zip(*hierarchy.rows, strict=True))[1:-1]:
        members = {}
        for code, label in enumerate(labels[:n_values]):
            members.setdefault(label, set()).add(code)
        numbers.append(len(members))
        groups = {code: {code} for code in range(n_values)}
        for one, other in merges[: n_values - len(members)]:
            groups[one] |= groups.pop(other)
        assert sorted(map(sorted, members.values())) == sorted(map(sorted, groups.values()))
    assert all(above < below for below, above in pairwise([n_values, *numbers]))
    assert all(number > 1 for number in numbers)
    if levels is not None:
        assert len(numbers) == min(levels, max(n_values - 2, 0))
    else:
        assert all(below <= 3 * above for below, above in pairwise([n_values, *numbers, 1]))


@THOROUGH
@given(cases())
def test_the_hierarchy_is_sound_and_can_be_read_again(case):
    cells, _, levels, fewest = case
    domain = cells.domain("q")
    hierarchy = guided_hierarchy(cells, "q", "s", levels=levels, fewest=fewest)
    assert [row[0] for row in hierarchy.rows] == domain.labels()
    assert hierarchy.over(domain).n_leaves == domain.size
    if domain.has_missing:
        assert set(hierarchy.rows[-1][:-1]) == {None}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "q.csv")
        hierarchy.to_csv(path)
        assert Hierarchy.from_csv(path).rows == hierarchy.rows


@THOROUGH
@given(cases())
def test_labels_say_what_they_hold_and_name_no_rare_value(case):
    cells, counts, levels, fewest = case
    domain = cells.domain("q")
    hierarchy = guided_hierarchy(cells, "q", "s", levels=levels, fewest=fewest)
    values = set(domain.texts.tolist())
    for row in hierarchy.rows[: len(domain.texts)]:
        for level, label in enumerate(row[1:-1], start=1):
            members = [code for code, other in enumerate(hierarchy.rows) if other[level] == label]
            texts = [domain.texts[code] for code in members]
            if domain.type.is_numeric:
                assert all(lies_in(domain, code, label) for code in members)
            elif len(members) == 1:
                assert label == texts[0]
            else:
                assert label not in values
                assert len(label) <= 40
                if not re.fullmatch(r"group [1-9][0-9]*", label):
                    assert label == "{" + ", ".join(texts) + "}"
                    assert counts[members].sum(axis=1).min() >= fewest


def lies_in(domain, code, label):
    """Whether a number or date lies in an interval, by the interval's text."""
    low, high = re.fullmatch(r"[\[\]](.*), (.*)\[", label).groups()
    if domain.type is ColumnType.DATE:
        text = domain.texts[code]
        return (low == "-inf" or low <= text) and (high == "+inf" or text < high)
    number = int if domain.type is ColumnType.INTEGER else float
    ends = [
        end if "inf" not in end else math.inf * (-1 if "-" in end else 1) for end in (low, high)
    ]
    low, high = (end if isinstance(end, float) else number(end) for end in ends)
    return low <= number(domain.texts[code]) < high
