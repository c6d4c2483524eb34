"""Trees, intervals and files against slow definitions that are plainly right."""

import bisect
import datetime as dt
import itertools
import math
import re
import tempfile
from fractions import Fraction
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import SchemaError
from shoal.hierarchies.hierarchy import Hierarchy

labels = st.one_of(
    st.text(alphabet="ab01;\"'*, \n\r\t\ufeffé…\u0301😀", max_size=4),
    st.text(st.characters(codec="utf-8"), max_size=4),
).filter(lambda text: text != "*")


@st.composite
def sound_rows(draw, max_leaves=7):
    """Leaf-first rows of one random tree, in random order."""
    n_leaves = draw(st.integers(1, max_leaves))
    height = draw(st.integers(1, 4))
    names = iter(
        draw(st.lists(labels, min_size=n_leaves * height, max_size=n_leaves * height, unique=True))
    )
    groups = [frozenset([leaf]) for leaf in range(n_leaves)]
    level = {group: next(names) for group in groups}
    rows = [[level[frozenset([leaf])]] for leaf in range(n_leaves)]
    for _ in range(height - 1):
        merged: dict[int, set[int]] = {}
        for group in level:
            merged.setdefault(draw(st.integers(0, len(level) - 1)), set()).update(group)
        above = {}
        for group in map(frozenset, merged.values()):
            keeps_name = group in level and draw(st.booleans())
            above[group] = level[group] if keeps_name else next(names)
        level = above
        for leaf, row in enumerate(rows):
            row.append(next(name for group, name in level.items() if leaf in group))
    early = draw(st.one_of(st.none(), st.tuples(st.integers(1, height), st.sampled_from(rows))))
    if early is not None and early[0] < height:
        start, chosen = early[0], early[1][early[0]]
        for row in rows:
            if row[start] == chosen:
                row[start:] = ["*"] * (height - start)
    return draw(st.permutations([[*row, "*"] for row in rows]))


@st.composite
def rows_with_domain(draw):
    """Rows, and a domain of some of their leaves."""
    rows = draw(sound_rows())
    leaves = sorted(draw(st.lists(st.sampled_from([row[0] for row in rows]), unique=True)))
    return rows, Domain.of_texts("column", leaves, has_missing=draw(st.booleans()))


def slow_nodes(rows, domain):
    """For each level and label the codes under it, by walking every row."""
    height = min(level for level in range(len(rows[0])) if {row[level] for row in rows} == {"*"})
    nodes: dict[tuple[int, str | None], set[int]] = {(height, "*"): set()}
    for code, text in enumerate(domain.labels()):
        row = next((row for row in rows if row[0] == text), [*[None] * height, "*"])
        for level, label in enumerate(row):
            key = (height if label == "*" else level, label)
            nodes.setdefault(key, set()).add(code)
    return nodes


@given(rows_with_domain())
def test_nodes_are_the_sets_of_leaves_under_their_labels(case):
    rows, domain = case
    tree = Hierarchy.from_rows(rows).over(domain)
    found = {
        (int(tree.level[node]), tree.labels[node]): set(tree.members(node).tolist())
        for node in range(tree.n_nodes)
    }
    assert len(found) == tree.n_nodes
    assert found == slow_nodes(rows, domain)


@given(rows_with_domain())
def test_every_node_is_a_slice_of_leaves_in_the_order_of_the_domain(case):
    rows, domain = case
    tree = Hierarchy.from_rows(rows).over(domain)
    assert sorted(tree.code.tolist()) == list(range(domain.size))
    assert tree.code[tree.position].tolist() == list(range(domain.size))
    if domain.has_missing:
        assert tree.code[-1] == domain.missing_code
    for node in range(tree.n_nodes):
        children = tree.children(node).tolist()
        assert all(tree.parent[child] == node for child in children)
        if children:
            slices = [(int(tree.first[child]), int(tree.last[child])) for child in children]
            assert slices[0][0] == tree.first[node]
            assert slices[-1][1] == tree.last[node]
            assert all(a[1] == b[0] for a, b in itertools.pairwise(slices))
            first_codes = [int(tree.members(child).min()) for child in children]
            assert first_codes == sorted(first_codes)


@given(rows_with_domain())
def test_the_common_ancestor_is_the_smallest_node_with_both(case):
    rows, domain = case
    tree = Hierarchy.from_rows(rows).over(domain)
    nodes = slow_nodes(rows, domain)
    pairs = list(itertools.product(range(domain.size), repeat=2))
    found = tree.common_ancestors([a for a, _ in pairs], [b for _, b in pairs]).tolist()
    for (a, b), node in zip(pairs, found, strict=True):
        both = {int(tree.code[a]), int(tree.code[b])}
        smallest = min(
            (len(codes), level, label) for (level, label), codes in nodes.items() if both <= codes
        )
        assert (tree.last[node] - tree.first[node], tree.level[node]) == smallest[:2]
        assert tree.labels[node] == smallest[2]
        assert node == tree.common_ancestor(a, b)


@given(rows_with_domain())
def test_a_uniform_level_gives_the_label_of_the_row(case):
    rows, domain = case
    tree = Hierarchy.from_rows(rows).over(domain)
    row_by_leaf = {row[0]: row for row in rows}
    for level in range(tree.height + 1):
        nodes = tree.ancestors_at(level)
        for code, text in enumerate(domain.texts):
            assert tree.labels[nodes[code]] == row_by_leaf[text][level]
        assert tree.ancestor(tree.position, level).tolist() == nodes.tolist()


@given(rows_with_domain(), st.data())
def test_rows_cut_to_published_nodes_are_a_hierarchy_again(case, data):
    rows, domain = case
    tree = Hierarchy.from_rows(rows).over(domain)
    published, position = [], 0
    while position < tree.n_leaves:
        chain = [node for node in range(tree.n_nodes) if tree.first[node] == position]
        node = data.draw(st.sampled_from(chain))
        published.append(node)
        position = int(tree.last[node])
    cut = tree.restricted_rows(published)
    kept = [node for node in sorted(published) if node != tree.root]
    assert [row[0] for row in cut] == [tree.labels[node] for node in kept]
    for row, node in zip(cut, kept, strict=True):
        walked = [node]
        while walked[-1] != tree.root:
            walked.append(int(tree.parent[walked[-1]]))
        lowest = tree.height + 1 - len(row)
        assert row == [
            next(tree.labels[step] for step in walked if tree.level[step] >= level)
            for level in range(lowest, tree.height + 1)
        ]
    if cut:
        assert Hierarchy.from_rows(cut).n_leaves == len(kept)


@given(sound_rows())
def test_files_give_back_what_was_written(rows):
    hierarchy = Hierarchy.from_rows(rows)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "column.csv")
        hierarchy.to_csv(path)
        assert Hierarchy.from_csv(path) == hierarchy
        hierarchy.to_csv(path, delimiter=",", encoding="utf-16")
        assert Hierarchy.from_csv(path, delimiter=",", encoding="utf-16") == hierarchy
    assert Hierarchy.from_config(hierarchy.to_config()) == hierarchy


def is_sound(rows):
    """The rules one by one, on sets."""
    if all(row[-1] != "*" for row in rows):
        rows = [[*row, "*"] for row in rows]
    for row in rows:
        stars = [label == "*" for label in row]
        if stars[0] or not stars[-1] or stars != sorted(stars):
            return False
    if any(a[0] == b[0] and a != b for a in rows for b in rows):
        return False
    above = {(x, y) for row in rows for x, y in itertools.pairwise(row) if x != y}
    if any(x == a and y != b for x, y in above for a, b in above):
        return False
    while longer := {(x, d) for x, y in above for c, d in above if y == c} - above:
        above |= longer
    if any(x == y for x, y in above):
        return False
    sets: dict[str, set[frozenset[str]]] = {}
    for level in range(len(rows[0])):
        for label in {row[level] for row in rows} - {"*"}:
            leaves = frozenset(row[0] for row in rows if row[level] == label)
            sets.setdefault(label, set()).add(leaves)
    return all(len(meanings) == 1 for meanings in sets.values())


@settings(max_examples=400)
@given(
    st.integers(1, 4).flatmap(
        lambda width: st.lists(
            st.lists(st.sampled_from("abcd*"), min_size=width, max_size=width),
            min_size=1,
            max_size=4,
        )
    )
)
def test_rows_are_accepted_just_where_they_are_sound(rows):
    try:
        Hierarchy.from_rows(rows)
    except SchemaError:
        assert not is_sound(rows)
    else:
        assert is_sound(rows)


def column_of_integers(values):
    return Domain.of_texts(
        "age",
        [str(value) for value in values],
        type=ColumnType.INTEGER,
        numbers=[float(value) for value in values],
    )


def column_of_reals(values):
    return Domain.of_texts(
        "share", [repr(value) for value in values], type=ColumnType.REAL, numbers=values
    )


small_integers = st.integers(-60, 60)
large_integers = st.integers(2**53 - 4, 2**53 + 60)
short_reals = st.integers(-400, 400).map(lambda number: number / 20)
any_reals = st.floats(-1e6, 1e6, allow_nan=False).map(lambda number: number + 0.0)
columns = st.one_of(
    st.lists(small_integers, min_size=1, unique=True).map(sorted).map(column_of_integers),
    st.lists(large_integers, min_size=1, unique=True).map(sorted).map(column_of_integers),
    st.lists(short_reals, min_size=1, unique=True).map(sorted).map(column_of_reals),
    st.lists(any_reals, min_size=1, unique=True).map(sorted).map(column_of_reals),
)
cuts = st.one_of(
    st.lists(small_integers, min_size=1, unique=True),
    st.lists(large_integers, min_size=1, unique=True),
    st.lists(st.one_of(small_integers, short_reals), min_size=1, unique=True),
).map(sorted)
merges = {"merge": st.integers(2, 5), "levels": st.one_of(st.none(), st.integers(1, 3))}
interval_hierarchies = st.one_of(
    st.builds(Hierarchy.intervals, cuts, **merges),
    st.builds(
        Hierarchy.intervals,
        width=st.one_of(st.integers(1, 20), st.sampled_from([0.1, 0.25, 0.7, 1e3])),
        origin=st.one_of(small_integers, short_reals),
        **merges,
    ),
    st.builds(Hierarchy.intervals, quantiles=st.integers(2, 9), **merges),
)


def ends_of(label):
    match = re.fullmatch(r"([\[\]])([^,]+), ([^,]+)\[", label)
    assert match is not None
    assert (match[1] == "]") == (match[2] == "-inf")
    lower = -math.inf if match[2] == "-inf" else Fraction(match[2])
    return lower, math.inf if match[3] == "+inf" else Fraction(match[3])


@given(interval_hierarchies, columns)
def test_every_number_lies_in_its_interval_and_levels_nest(hierarchy, domain):
    tree = hierarchy.over(domain)
    assert tree.code.tolist() == list(range(domain.size))
    for code, text in enumerate(domain.texts):
        below = None
        for level in range(1, tree.height):
            lower, upper = ends_of(tree.labels[tree.ancestors_at(level)[code]])
            assert lower <= Fraction(text) < upper
            assert below is None or (lower <= below[0] and below[1] <= upper)
            below = lower, upper
    for level in range(1, tree.height):
        intervals = sorted({ends_of(tree.labels[node]) for node in tree.ancestors_at(level)})
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(intervals))
    for node in range(domain.size, tree.n_nodes - 1):
        same_label = [
            other for other in range(tree.n_nodes) if tree.labels[other] == tree.labels[node]
        ]
        assert {(tree.first[other], tree.last[other]) for other in same_label} == {
            (tree.first[node], tree.last[node])
        }


@given(interval_hierarchies, columns)
def test_merging_goes_on_until_one_interval_would_be_left(hierarchy, domain):
    config = hierarchy.to_config()
    assert Hierarchy.from_config(config) == hierarchy
    tree = hierarchy.over(domain)
    n_intervals = [len(set(tree.ancestors_at(level))) for level in range(1, tree.height)]
    assert all(number > 1 for number in n_intervals[1:])
    assert n_intervals == sorted(n_intervals, reverse=True)
    assert len(n_intervals) <= (config.get("levels") or math.inf)
    if "width" not in config and "levels" not in config and n_intervals:
        assert n_intervals[-1] <= config.get("merge", 2)


@given(cuts, columns)
def test_the_lowest_level_has_the_given_cuts(given_cuts, domain):
    tree = Hierarchy.intervals(given_cuts, levels=1).over(domain)
    exact = [Fraction(repr(cut)) for cut in given_cuts]
    ends = [-math.inf, *exact, math.inf]
    for code, text in enumerate(domain.texts):
        place = bisect.bisect_right(exact, Fraction(text))
        label = tree.labels[tree.ancestors_at(1)[code]]
        assert ends_of(label) == (ends[place], ends[place + 1])


@given(cuts, st.data())
def test_given_levels_have_their_own_cuts(finest, data):
    by_level = [finest]
    while len(by_level) < 3:
        below = by_level[-1]
        kept = data.draw(st.lists(st.sampled_from(below), min_size=1, unique=True))
        by_level.append([cut for cut in below if cut in kept])
    domain = data.draw(columns)
    tree = Hierarchy.intervals(by_level).over(domain)
    assert tree.height == 4
    for level, level_cuts in enumerate(by_level, 1):
        alone = Hierarchy.intervals(level_cuts, levels=1).over(domain)
        labels_alone = alone.labels[alone.ancestors_at(1)].tolist()
        assert tree.labels[tree.ancestors_at(level)].tolist() == labels_alone


all_dates = st.one_of(st.dates(), st.dates(dt.date(1999, 1, 1), dt.date(2001, 12, 31)))


@given(st.lists(small_integers, min_size=2, unique=True).map(sorted), st.integers(2, 9), st.data())
def test_quantiles_cut_nearest_to_equal_shares(values, number, data):
    n_values = len(values)
    counts = data.draw(st.lists(st.integers(1, 9), min_size=n_values, max_size=n_values))
    tree = Hierarchy.intervals(quantiles=number, levels=1).over(column_of_integers(values), counts)
    expected = set()
    for share in range(1, number):
        target = Fraction(sum(counts) * share, number)
        distances = {
            start: (abs(sum(counts[:start]) - target), -start) for start in range(1, n_values)
        }
        expected.add(min(distances, key=distances.__getitem__))
    found = sorted({ends_of(tree.labels[node])[0] for node in tree.ancestors_at(1)})
    assert found[0] == -math.inf
    for start, cut in zip(sorted(expected), found[1:], strict=True):
        assert values[start - 1] < cut <= values[start]
        # A value of the table is a cut only where no other whole number is left.
        assert cut < values[start] or values[start] == values[start - 1] + 1


@given(st.lists(all_dates, min_size=2, unique=True).map(sorted), st.integers(2, 9))
def test_quantiles_of_dates_cut_at_values_only_where_no_day_is_left(days, number):
    numbers = [float((day - dt.date(1970, 1, 1)).days) for day in days]
    texts = [day.isoformat() for day in days]
    domain = Domain.of_texts("born", texts, type=ColumnType.DATE, numbers=numbers)
    tree = Hierarchy.intervals(quantiles=number, levels=1).over(domain)
    labels = tree.labels[tree.ancestors_at(1)].tolist()
    cuts = {label.strip("[]").split(", ")[0] for label in labels} - {"-inf"}
    for cut in map(dt.date.fromisoformat, cuts):
        assert cut not in days[1:] or cut - dt.timedelta(1) in days


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, unique=True))
def test_quantiles_of_reals_part_them_strictly_between(values):
    values = sorted({value + 0.0 for value in values})
    texts = [repr(value) for value in values]
    domain = Domain.of_texts("x", texts, type=ColumnType.REAL, numbers=values)
    tree = Hierarchy.intervals(quantiles=len(values), levels=1).over(domain)
    if len(values) > 1:
        for value, label in zip(values, tree.labels[tree.ancestors_at(1)].tolist(), strict=True):
            low, high = label.strip("[]").split(", ")
            assert float(low) <= value < float(high)
            is_next = math.nextafter(float(low), -math.inf) in values
            assert float(low) not in values[1:] or is_next


@given(st.lists(all_dates, min_size=1, unique=True).map(sorted), st.booleans())
def test_dates_have_the_labels_of_every_level(days, is_date_column):
    names = ["day", "month", "quarter", "year", "decade", "century"]
    domain = Domain.of_texts("born", [day.isoformat() for day in days])
    if is_date_column:
        numbers = [float((day - dt.date(1970, 1, 1)).days) for day in days]
        domain = Domain.of_texts(
            "born", domain.texts.tolist(), type=ColumnType.DATE, numbers=numbers
        )
    tree = Hierarchy.dates(names).over(domain)
    assert tree.code.tolist() == list(range(domain.size))
    for text, row in zip(domain.texts, tree.rows(), strict=True):
        year, month, _ = text.split("-")
        assert row[:4] == [text, f"{year}-{month}", f"{year}-Q{-(-int(month) // 3)}", year]
        for label, size in zip(row[4:6], (10, 100), strict=True):
            first, last = map(int, label.split("-"))
            assert first <= int(year) <= last
            assert (last + 1) % size == 0
            assert first == max(1, last + 1 - size)


@given(
    st.lists(st.text("ab\u0301é", max_size=6), min_size=1, unique=True).map(sorted),
    st.lists(st.integers(1, 6), min_size=1, unique=True).map(lambda x: sorted(x, reverse=True)),
)
def test_prefixes_keep_the_first_characters(texts, lengths):
    tree = Hierarchy.prefixes(lengths).over(Domain.of_texts("name", texts))
    for row in tree.rows():
        characters = re.findall("(?:^\u0301*)?[^\u0301]\u0301*", row[0])
        expected = [
            row[0] if len(characters) <= length else "".join(characters[:length]) + "…"
            for length in lengths
        ]
        assert list(dict.fromkeys(row[:-1])) == list(dict.fromkeys([row[0], *expected]))
