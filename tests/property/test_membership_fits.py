"""How well people fit releases, against listing rows, lines and linkings one by one."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import permutations, product
from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.manifest import Manifest
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published
from shoal.core.shapes import Shape
from shoal.core.sliced import Layout, Sliced
from shoal.membership.fits import find_presence, fit_people, tell_apart
from shoal.slicing import held
from shoal.slicing.membership import find_sliced_presence, fit_sliced, tell_apart_sliced

VALUES = [None, "1", "2", "3", "ä", "x y"]
MEANINGS = {
    "[1, 3[": Meaning(interval=("1", "3")),
    "letters": Meaning(members=frozenset({"ä"}), has_other=True),
    "1 or none": Meaning(members=frozenset({"1"}), has_missing=True),
}
LABELS = [*MEANINGS, "*", *VALUES]


def domain_of(column, texts):
    known = sorted({text for text in texts if text is not None})
    return Domain.of_texts(column, known, has_missing=None in texts)


def cells_of(columns, rows):
    """Count rows, and say which cell each row is."""
    domains = [domain_of(name, [row[place] for row in rows]) for place, name in enumerate(columns)]
    codes = [domain.codes_of([row[place] for row in rows]) for place, domain in enumerate(domains)]
    whole = Cells(tuple(domains), np.stack(codes, axis=1), np.ones(len(rows), dtype=np.int64))
    return whole.select_with_inverse(columns)


def admits(label, value, labels_of_column):
    """Say by definition whether a published label admits a value."""
    if label not in MEANINGS:
        return label == "*" or label == value
    meaning = MEANINGS[label]
    if value is None:
        return meaning.has_missing
    named = {one for one in labels_of_column if one not in MEANINGS}
    # Meanings are published of all labels, whether a line shows them or not.
    named = named.union(*(one.members for one in MEANINGS.values()))
    within = value.isdigit() and meaning.interval is not None
    return (
        value in meaning.members
        or (meaning.has_other and value not in named)
        or (within and int(meaning.interval[0]) <= int(value) < int(meaning.interval[1]))
    )


@st.composite
def lines_and_people(draw):
    n_columns = draw(st.integers(1, 3))
    label = st.sampled_from(draw(st.sampled_from([LABELS, VALUES])))
    line = st.tuples(st.integers(0, 2).map(str), *[label] * n_columns)
    person = st.tuples(*[st.sampled_from(VALUES)] * n_columns)
    lines = draw(st.lists(line, min_size=1, max_size=8))
    return lines, draw(st.lists(person, min_size=1, max_size=6))


def published_lines(columns, lines):
    cells, _ = cells_of(["bucket", *columns], lines)
    shape = Shape.GENERALIZED
    manifest = Manifest(
        shape=shape, method="test", parameters={}, guarantees=(), columns=(), n_rows=len(lines),
        n_buckets=cells.domains[0].size,
    )  # fmt: skip
    return Published(manifest, cells, None, dict.fromkeys(columns, MEANINGS))


@settings(max_examples=600, deadline=None)
@given(lines_and_people())
def test_people_fit_the_lines_that_admit_all_their_values(case):
    lines, people = case
    columns = [f"q{place}" for place in range(len(people[0]))]
    labels = [{line[place + 1] for line in lines} for place in range(len(columns))]
    cells, cell_of = cells_of(columns, people)
    fits = fit_people(published_lines(columns, lines), People(cells))
    for person, cell in zip(people, cell_of.tolist(), strict=True):
        fitting = [
            line
            for line in lines
            if all(map(admits, line[1:], person, labels))
        ]  # fmt: skip
        n_looks = len({line[1:] for line in fitting})
        assert fits.n_rows[cell] == (len(fitting) / n_looks if fitting else 0)
        assert fits.n_buckets[cell] == len({line[0] for line in fitting})


# --- sliced ---------------------------------------------------------------------------------------

LAYOUTS = [
    Layout([["a"], ["b"], ["c"]]),
    Layout([["a", "b"], ["c"]]),
    Layout([["b"], ["a", "c"]], ["c"]),
    Layout([["a", "b"], ["b", "c"]]),
    Layout([["a", "b"], ["b", "c"]], ["c"]),
    Layout([["a", "c"], ["b", "c"]], ["c"]),
    Layout([["a", "b", "c"]]),
    Layout([["a"], ["b"], ["c"]], ["c"]),
]


def linkings(layout, rows):
    """List every linking of a bucket's columns: lists of rows, each a mapping of attributes."""
    first, *others = layout.links()
    of_column = [[{n: row[n] for n in names} for row in rows] for names in layout.columns]
    found = [of_column[first.column]]
    for link in others:
        groups = {}
        for part in of_column[link.column]:
            groups.setdefault(tuple(part[n] for n in link.separator), []).append(part)
        extended = []
        for linked in found:
            own = {key: [] for key in groups}
            for place, row in enumerate(linked):
                own[tuple(row[n] for n in link.separator)].append(place)
            for orders in product(*(permutations(parts) for parts in groups.values())):
                copy = list(linked)
                for key, order in zip(groups, orders, strict=True):
                    for place, part in zip(own[key], order, strict=True):
                        copy[place] = linked[place] | part
                extended.append(copy)
        found = extended
    return found


def mean_fits(layout, rows, buckets, person):
    """Return the matching buckets, and the rows like a person, on average over all linkings."""
    total, n_matching = Fraction(0), 0
    for bucket in set(buckets):
        held = [row for row, own in zip(rows, buckets, strict=True) if own == bucket]
        all_linkings = linkings(layout, held)
        n_like = sum(
            all(row[name] == value for name, value in person.items())
            for linked in all_linkings
            for row in linked
        )
        total += Fraction(n_like, len(all_linkings))
        n_matching += n_like > 0
    return n_matching, total


@st.composite
def sliced_tables(draw):
    layout = draw(st.sampled_from(LAYOUTS))
    value = st.sampled_from([None, "0", "ä"])
    row = st.tuples(value, value, value)
    rows = draw(st.lists(row, min_size=1, max_size=7))
    bucket = draw(st.lists(st.integers(0, 3), min_size=len(rows), max_size=len(rows)))
    # Listing all linkings of more rows takes long.
    while max(map(bucket.count, bucket)) > 4:
        bucket[bucket.index(max(bucket, key=bucket.count))] = max(bucket) + 1
    people = draw(st.lists(st.tuples(*[st.sampled_from([None, "0", "1", "ä"])] * 3), max_size=4))
    return layout, rows, bucket, [*rows, *people]


def slice_rows(layout, rows, bucket):
    cells, cell = cells_of(["a", "b", "c"], rows)
    numbers = np.unique(bucket, return_inverse=True)[1]
    return Sliced.of_pieces(cells, layout, cell, numbers, np.ones(len(rows), dtype=np.int64))


def check_sliced(case):
    layout, rows, bucket, people = case
    known = list(layout.known)
    as_mapping = [dict(zip("abc", row, strict=True)) for row in rows]
    shown = [tuple(dict(zip("abc", one, strict=True))[name] for name in known) for one in people]
    cells, cell_of = cells_of(known, shown)
    fits = fit_sliced(slice_rows(layout, rows, bucket), cells)
    for person, cell in zip(shown, cell_of.tolist(), strict=True):
        n_matching, mean = mean_fits(
            layout, as_mapping, bucket, dict(zip(known, person, strict=True))
        )
        assert fits.n_buckets[cell] == n_matching
        assert abs(fits.n_rows[cell] - float(mean)) < 1e-9
        assert (fits.n_rows[cell] > 0) == (n_matching > 0)


@settings(max_examples=600, deadline=None)
@given(sliced_tables())
def test_people_fit_sliced_rows_as_often_as_linkings_have_them(case):
    check_sliced(case)


@settings(max_examples=200, deadline=None)
@given(sliced_tables())
def test_people_are_looked_at_in_parts(case):
    with patch.object(held, "_MOST_PAIRS", 2), patch.object(held, "_MOST_PLACES", 0):
        check_sliced(case)


@settings(max_examples=200, deadline=None)
@given(sliced_tables(), st.sampled_from(["a", "b", "c"]))
def test_what_is_not_known_excludes_nothing(case, known):
    layout, rows, bucket, people = case
    if layout.is_overlapping or known not in layout.known:
        return
    cells, cell_of = cells_of([known], [(one["abc".index(known)],) for one in people])
    fits = fit_sliced(slice_rows(layout, rows, bucket), cells)
    for person, cell in zip(people, cell_of.tolist(), strict=True):
        value = person["abc".index(known)]
        own = [b for row, b in zip(rows, bucket, strict=True) if row["abc".index(known)] == value]
        assert fits.n_buckets[cell] == len(set(own))
        assert abs(fits.n_rows[cell] - len(own)) < 1e-9


@settings(max_examples=300, deadline=None)
@given(sliced_tables())
def test_labels_of_sliced_columns_stand_for_their_members(case):
    """Publishing a label in place of two values is as if the two were one."""
    layout, rows, bucket, people = case
    known = list(layout.known)

    def coarse(row):
        return tuple("0 or 1" if value in ("0", "1") else value for value in row)

    release = slice_rows(layout, [coarse(row) for row in rows], bucket)
    meaning = Meaning(members=frozenset({"0", "1"}))
    meanings = {name: {"0 or 1": meaning} for name in "abc"}
    shown = [tuple(one["abc".index(name)] for name in known) for one in people]
    plain, plain_of = cells_of(known, [coarse(one) for one in shown])
    cells, cell_of = cells_of(known, shown)
    found, expected = fit_sliced(release, cells, meanings), fit_sliced(release, plain)
    assert found.n_buckets[cell_of].tolist() == expected.n_buckets[plain_of].tolist()
    assert np.allclose(found.n_rows[cell_of], expected.n_rows[plain_of])


def test_who_matches_nothing_is_told_from_members_for_certain():
    columns, lines = ["q0"], [("1", "x y"), ("1", "ä")]
    published = published_lines(columns, lines)
    cells, cell_of = cells_of(columns, [("x y",), ("ä",), ("ä",), ("1",), ("2",)])
    members, others = (
        People(Cells.of_rows(cells.domains, cells.codes[cell_of[part]]))
        for part in (slice(3), slice(3, 5))
    )
    found = tell_apart(published, members, others)
    for one in (found.alone, found.listed, found.worse):
        assert (one.auc, one.members.n_matching, one.others.n_matching) == (1, 3, 0)
    assert tell_apart(published, members, members).worse.auc == 0.5


# --- with a list of people ------------------------------------------------------------------------


@settings(max_examples=500, deadline=None)
@given(lines_and_people())
def test_the_rows_of_a_class_are_divided_among_those_who_fit_it(case):
    lines, people = case
    columns = [f"q{place}" for place in range(len(people[0]))]
    labels = [{line[place + 1] for line in lines} for place in range(len(columns))]
    cells, cell_of = cells_of(columns, people)
    found = find_presence(published_lines(columns, lines), People(cells))

    def fits(person, look):
        return all(map(admits, look, person, labels))

    looks = Counter(line[1:] for line in lines)
    # Of several lines that may be a person's, each is as likely.
    share = {
        person: Fraction(1, max(sum(fits(person, look) for look in looks), 1)) for person in people
    }
    for person, cell in zip(people, cell_of.tolist(), strict=True):
        expected = sum(
            n_rows * share[person] / sum(share[other] for other in people if fits(other, look))
            for look, n_rows in looks.items()
            if fits(person, look)
        )
        assert abs(found[cell] - float(expected)) < 1e-9


def test_who_may_be_behind_several_labels_of_a_column_is_behind_one():
    """Two labels admit values that are named nowhere: half of the rows of each count."""
    layout = Layout([["a"], ["b"], ["c"]])
    rows = [("x", "0", "0"), ("x", "0", "0"), ("y", "0", "0")]
    release = slice_rows(layout, rows, [0, 0, 0])
    other = Meaning(members=frozenset({"1"}), has_other=True)
    meanings = {"a": {"x": other, "y": Meaning(members=frozenset({"2"}), has_other=True)}}
    cells, cell_of = cells_of(["a", "b", "c"], [("1", "0", "0"), ("2", "0", "0"), ("7", "0", "0")])
    fits = fit_sliced(release, cells, meanings)
    assert fits.n_rows[cell_of].tolist() == [2, 1, 1.5]


@settings(max_examples=300, deadline=None)
@given(sliced_tables())
def test_the_rows_of_a_bucket_are_divided_among_those_who_match_it(case):
    layout, rows, bucket, people = case
    known = list(layout.known)
    as_mapping = [dict(zip("abc", row, strict=True)) for row in rows]
    shown = [tuple(one["abc".index(name)] for name in known) for one in people]
    cells, cell_of = cells_of(known, shown)
    release = slice_rows(layout, rows, bucket)
    found = find_sliced_presence(release, cells)

    def mean(person, own):
        held = [row for row, b in zip(as_mapping, bucket, strict=True) if b == own]
        return mean_fits(layout, held, [0] * len(held), dict(zip(known, person, strict=True)))[1]

    expected = [Fraction(0)] * len(shown)
    for own in set(bucket):
        means = [mean(person, own) for person in shown]
        for place, one in enumerate(means):
            expected[place] += bucket.count(own) * one / sum(means)
    assert np.allclose(found[cell_of], [float(one) for one in expected])
    # Everybody in the table is on the list, so that each row is somebody's.
    assert abs((found * cells.counts).sum() - len(rows)) < 1e-9


def area(members, others):
    """Compare every member with every other person, a tie counting one half."""
    won = sum(Fraction((a > b) * 2 + (a == b), 2) for a in members for b in others)
    return float(won / (len(members) * len(others)))


def check_ties(layout, rows, bucket, people):
    known = list(layout.known)
    as_mapping = [dict(zip("abc", row, strict=True)) for row in rows]
    shown = [tuple(one["abc".index(name)] for name in known) for one in people]
    cells, cell_of = cells_of(known, shown)
    members, others = (
        Cells.of_rows(cells.domains, cells.codes[cell_of[part]])
        for part in (slice(len(rows)), slice(len(rows), None))
    )
    means = [
        mean_fits(layout, as_mapping, bucket, dict(zip(known, person, strict=True)))[1]
        for person in shown
    ]
    found = tell_apart_sliced(slice_rows(layout, rows, bucket), members, others)
    assert found.alone.auc == area(means[: len(rows)], means[len(rows) :])


@settings(max_examples=300, deadline=None)
@given(sliced_tables())
def test_a_tie_of_fractions_is_a_tie_of_the_area(case):
    layout, rows, bucket, people = case
    if len(people) > len(rows):
        check_ties(layout, rows, bucket, people)


def test_rounding_breaks_no_tie():
    """One person scores 1/5 + 2/5 and another 3/5, of which floats make different numbers."""
    layout = Layout([["a"], ["b"], ["c"]])
    firsts, seconds = ["xuuuu", "xxuuu", "wwwuu"], ["01111", "01111", "21111"]
    rows = [
        (first, second, "0")
        for pair in zip(firsts, seconds, strict=True)
        for first, second in zip(*pair, strict=True)
    ]
    release = slice_rows(layout, rows, [place // 5 for place in range(15)])
    cells, cell_of = cells_of(["a", "b", "c"], [("x", "0", "0"), ("w", "2", "0")])
    scores = fit_sliced(release, cells).n_rows[cell_of].tolist()
    assert scores[0] != scores[1], "nothing is tested"
    one, another = (Cells.of_rows(cells.domains, cells.codes[[place]]) for place in cell_of)
    assert tell_apart_sliced(release, one, another).alone.auc == 0.5
