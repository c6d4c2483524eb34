"""Tuple partitioning and p(t, s) against a direct reading of the paper: rows, lists, fractions."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from fractions import Fraction
from random import Random

import numpy as np
import pytest
from examples import scaled
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from sliced_worlds import posteriors_of_all

from shoal.core import kernels
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError, ParameterError
from shoal.core.plan import Plan
from shoal.core.progress import Work
from shoal.core.sliced import Layout, Sliced
from shoal.slicing import held, joining
from shoal.slicing import partition as partition_module
from shoal.slicing import plain_partition as plain
from shoal.slicing import relaxed as relaxed_module
from shoal.slicing.beliefs import (
    exact_sliced_beliefs,
    find_exceeding,
    largest_belief,
    share_table,
    sliced_beliefs,
)
from shoal.slicing.check import matching
from shoal.slicing.check.matching import estimate_shares, is_matched_once
from shoal.slicing.check.sliced_diversity import (
    _by_tuples,
    _Lookup,
    _sum_up,
    check_sliced,
    people_of,
)
from shoal.slicing.partition import (
    TuplePartition,
    dissimilar_buckets,
    largest_distinct_ell,
    largest_ell,
    partition_tuples,
    random_buckets,
)
from shoal.slicing.posteriors import posterior_of_one

NAMES = ("a", "b", "c", "d", "e")
seeds = st.integers(0, 2**32 - 1).map(Random)


# --- random tables ------------------------------------------------------------------------------


def random_cells(random: Random, n_columns: int, n_rows: int) -> Cells:
    domains, columns = [], []
    for name in NAMES[:n_columns]:
        size = random.choice([1, 2, 2, 3, 6, 70])
        texts = [f"{name}{code:02d}é" for code in range(size)]
        domain = Domain.of_texts(name, texts, has_missing=random.random() < 0.3)
        domains.append(domain)
        columns.append([random.randrange(domain.size) for _ in range(n_rows)])
    rows = np.array(columns).T
    # Several identical rows.
    for _ in range(random.choice([0, 0, n_rows // 2])):
        rows[random.randrange(n_rows)] = rows[random.randrange(n_rows)]
    return Cells.of_rows(domains, rows)


def random_layout(random: Random, names: tuple[str, ...], *, overlap: bool = False) -> Layout:
    """Part the attributes into columns; one or two are sensitive, and may be known as well."""
    columns: dict[int, list[str]] = defaultdict(list)
    for name in names:
        columns[random.randrange(3)].append(name)
    found = list(columns.values())
    if overlap:
        for _ in range(random.randint(1, 2)):
            random.choice(found).append(random.choice(names))
        found = [list(dict.fromkeys(column)) for column in found]
    sensitive = random.sample(names, min(len(names), random.choice([1, 1, 2])))
    known = [name for name in names if name not in sensitive or random.random() < 0.2]
    return Layout(found, sensitive, known)


@st.composite
def tables(draw, most_rows=24, *, overlap=False):
    random = draw(seeds)
    n_columns = draw(st.integers(2, 5))
    cells = random_cells(random, n_columns, draw(st.integers(1, most_rows)))
    try:
        return random, cells, random_layout(random, cells.columns, overlap=overlap)
    except ParameterError:
        assume(False)  # the columns overlap in a ring


# --- the direct reading -------------------------------------------------------------------------
# A bucket is a list of rows, a row a dictionary.


def rows_of(cells, cell, count):
    return [
        dict(zip(cells.columns, cells.codes[c].tolist(), strict=True))
        for c, n in zip(cell, count, strict=True)
        for _ in range(n)
    ]


def buckets_of(partition: TuplePartition):
    found = [[] for _ in range(partition.n_buckets)]
    for cell, bucket, count in zip(
        partition.cell.tolist(), partition.bucket.tolist(), partition.count.tolist(), strict=True
    ):
        found[bucket] += rows_of(partition.cells, [cell], [count])
    return found


def part(row, names):
    return tuple(row[name] for name in names)


def p_disjoint(t, buckets, layout, sensitive):
    """p(t, s) where columns share no attribute."""
    return plain.value_probabilities(
        plain.match(t, bucket, layout, sensitive) for bucket in buckets
    )


def linkings(bucket, layout):
    """All permutations of all columns in which rows agree in what columns share."""
    first, *others = layout.columns
    for orders in itertools.product(*(itertools.permutations(range(len(bucket))) for _ in others)):
        linked = [part_of(row, first) for row in bucket]
        is_consistent = True
        for column, order in zip(others, orders, strict=True):
            for row, place in zip(linked, order, strict=True):
                more = part_of(bucket[place], column)
                is_consistent &= all(row.get(name, code) == code for name, code in more.items())
                row.update(more)
        if is_consistent:
            yield linked


def part_of(row, names):
    return {name: row[name] for name in names}


def p_by_linkings(t, buckets, layout, sensitive):
    """The mean number of rows (t, s) over all linkings, as a share of those of t."""
    known = [name for name in layout.known if name != sensitive]
    amounts = defaultdict(Fraction)
    for bucket in buckets:
        worlds = list(linkings(bucket, layout))
        for world in worlds:
            for row in world:
                if part(row, known) == part(t, known):
                    amounts[row[sensitive]] += Fraction(1, len(worlds))
    total = sum(amounts.values())
    return {s: amount / total for s, amount in amounts.items()}


def p_by_combinations(t, buckets, layout, sensitive):
    """The same, for any number of rows: one row a column, all agreeing in what columns share."""
    known = [name for name in layout.known if name != sensitive]
    links = layout.links()
    amounts = defaultdict(Fraction)
    for bucket in buckets:
        for chosen in itertools.product(bucket, repeat=len(links)):
            joined, amount = {}, Fraction(1)
            for place, (row, link) in enumerate(zip(chosen, links, strict=True)):
                more = part_of(row, layout.columns[link.column])
                if any(joined.get(name, code) != code for name, code in more.items()):
                    break
                shared = link.separator
                if place:
                    amount /= sum(part(one, shared) == part(row, shared) for one in bucket)
                joined |= more
            else:
                if part(joined, known) == part(t, known):
                    amounts[joined[sensitive]] += amount
    total = sum(amounts.values())
    return {s: amount / total for s, amount in amounts.items()}


def is_diverse_by(p, buckets, layout, ell, diversity):
    """Do as `plain.diversity_check` does, with another p(t, s)."""
    for sensitive in layout.sensitive:
        known = [name for name in layout.known if name != sensitive]
        people = {part(row, known): row for bucket in buckets for row in bucket}
        for t in people.values():
            shares = p(t, buckets, layout, sensitive)
            if diversity == "distinct" and len(shares) < ell:
                return False
            if diversity == "frequency" and max(shares.values()) * ell > 1:
                return False
    return True


# --- the direct partition -----------------------------------------------------------------------


class Twin:
    """[Slicing] Figures 1 and 2, with the cuts of Mondrian over rows.

    Rows that are equal stand beside each other, in the order of the cells.
    """

    def __init__(self, cells, layout, ell, diversity, cuts, least, p=None):
        self.cells, self.layout, self.ell, self.p = cells, layout, ell, p
        self.diversity, self.cuts, self.least = diversity, cuts, least
        self.table = rows_of(cells, range(cells.n_cells), cells.counts.tolist())

    def partition(self):
        return plain.tuple_partition(self.table, self.split, self.is_diverse)

    def is_diverse(self, buckets):
        if self.ell is None:
            return True
        if self.p is not None:
            return is_diverse_by(self.p, buckets, self.layout, self.ell, self.diversity)
        return plain.diversity_check(self.table, buckets, self.ell, self.layout, self.diversity)

    def split(self, bucket):
        names = [n for n in self.layout.outside_attributes if self.cells.domain(n).size > 1]
        widths = {name: self.width(bucket, name) for name in names}
        for name in sorted(names, key=lambda name: -widths[name]):
            if widths[name]:
                for left, right in self.cuts_in(bucket, name):
                    if min(len(left), len(right)) >= self.least:
                        yield left, right

    def positions(self, bucket, name):
        missing = self.cells.domain(name).missing_code
        present = [row[name] for row in bucket if row[name] != missing]
        return present, len(present) < len(bucket)

    def width(self, bucket, name):
        present, has_missing = self.positions(bucket, name)
        if has_missing:
            return Fraction(bool(present))
        span = max(len(self.cells.domain(name).texts) - 1, 1)
        return Fraction(max(present) - min(present), span)

    def cuts_in(self, bucket, name):
        present, has_missing = self.positions(bucket, name)
        if has_missing:
            yield self.cut_at(bucket, name, len(self.cells.domain(name).texts))
        if len(set(present)) < 2:
            return
        half = len(bucket) // 2
        ordered = sorted(row[name] for row in bucket)
        median = ordered[half]
        if self.cuts == "relaxed":
            n_going = half - sum(code < median for code in ordered)
            # Where the missing ones are the upper half, the cut before them was tried already.
            if median != self.cells.domain(name).missing_code or n_going:
                yield self.cut_at(bucket, name, median, n_going)
            return
        is_missing = median == self.cells.domain(name).missing_code
        lower = max(present) if is_missing else median
        n_lower, n_upper = (sum(code < edge for code in ordered) for edge in (lower, lower + 1))
        edges = [lower, lower + 1]
        if n_upper == len(present):
            edges = [lower]
        elif abs(2 * n_upper - len(ordered)) < abs(len(ordered) - 2 * n_lower):
            edges.reverse()
        for edge in edges:
            yield self.cut_at(bucket, name, edge)

    def cut_at(self, bucket, name, edge, n_going=0):
        n_at = sum(row[name] == edge for row in bucket)
        left, right, passed = [], [], 0
        for _, group in itertools.groupby(bucket, key=lambda row: tuple(row.values())):
            alike = list(group)
            n, code = len(alike), alike[0][name]
            going = n if code < edge else 0
            if code == edge and n_going:
                going = (passed + n) * n_going // n_at - passed * n_going // n_at
                passed += n
            left += alike[:going]
            right += alike[going:]
        return left, right


def as_tuples(buckets):
    return sorted(sorted(tuple(row.values()) for row in bucket) for bucket in buckets)


ells = st.one_of(st.integers(1, 4).map(Fraction), st.fractions(1, 3, max_denominator=4))


@pytest.fixture(params=["as installed", "plain"])
def any_kernels(request, monkeypatch):
    """Run with the kernels that are there, and with their source as plain Python."""
    if request.param == "plain":
        name = "shoal.slicing._partition_kernels"
        if not kernels.is_compiled(name):
            pytest.skip("they run as plain Python anyway")
        source = kernels.load_plain(name)
        monkeypatch.setattr(partition_module, "DiverseSide", source.DiverseSide)
        monkeypatch.setattr(relaxed_module, "SignatureSums", source.SignatureSums)


@pytest.mark.usefixtures("any_kernels")
@pytest.mark.parametrize("cuts", ["strict", "relaxed"])
@pytest.mark.parametrize("diversity", ["frequency", "distinct"])
def test_the_partition_is_that_of_the_direct_reading(cuts, diversity):
    outcomes = Counter()

    @settings(max_examples=scaled(500))
    @given(tables(), ells, st.integers(1, 4))
    def compare(table, ell, least):
        _, cells, layout = table
        ell = Fraction(ell.__ceil__()) if diversity == "distinct" else ell
        at_least = max(least, ell.__ceil__())
        twin = Twin(cells, layout, ell, diversity, cuts, at_least)
        arguments = {"ell": ell, "diversity": diversity, "cuts": cuts, "least": least}
        if cells.n_rows < at_least or not twin.is_diverse([twin.table]):
            outcomes["infeasible"] += 1
            with pytest.raises(InfeasibleError):
                partition_tuples(cells, layout, **arguments)
            return
        found = partition_tuples(cells, layout, **arguments)
        assert as_tuples(buckets_of(found)) == as_tuples(twin.partition())
        Plan(cells, found.n_buckets, found.segments()).check()
        outcomes["cut" if found.n_buckets > 1 else "whole"] += 1

    compare()
    # The comparison says something: tables were cut, and were refused.
    assert min(outcomes["cut"], outcomes["infeasible"]) > scaled(500) / 25


@pytest.mark.usefixtures("any_kernels")
@pytest.mark.parametrize("columns", ["a bs", "a b s", "ab bs"])
def test_relaxed_cuts_weigh_all_buckets_that_a_row_matches(columns):
    """Few values and many equal rows, so that nearly every row matches several buckets."""
    n_several = 0
    for seed in range(scaled(150)):
        random = Random(f"{columns} {seed}")
        domains = [
            Domain.of_texts(name, [f"{name}{code}" for code in range(random.choice([2, 3, 4]))])
            for name in "abs"
        ]
        weights = [[random.choice([1, 2, 6]) for _ in range(d.size)] for d in domains]
        rows = [
            [
                random.choices(range(domain.size), chances)[0]
                for domain, chances in zip(domains, weights, strict=True)
            ]
            for _ in range(random.randint(8, 30))
        ]
        cells = Cells.of_rows(domains, np.array(rows))
        layout = Layout([list(column) for column in columns.split()], ["s"])
        ell = 1 + (min(largest_ell(cells, ["b"], "s"), 3) - 1) * Fraction(random.randint(1, 4), 4)
        if "bs" not in columns:
            ell = min(ell, largest_ell(cells, [], "s"))
        p = p_by_combinations if layout.is_overlapping else None
        twin = Twin(cells, layout, ell, "frequency", "relaxed", max(ell.__ceil__(), 1), p)
        found = partition_tuples(cells, layout, ell=ell, cuts="relaxed")
        assert as_tuples(buckets_of(found)) == as_tuples(twin.partition())
        tuples, _, _ = sliced_beliefs(found.sliced(layout), cells.select(["a", "b"])).matches
        n_several += bool((np.bincount(tuples) > 2).any())
    assert n_several > scaled(150) / 15


@settings(max_examples=200)
@given(tables(), st.integers(1, 5), st.sampled_from(["strict", "relaxed"]))
def test_without_sensitive_attributes_buckets_are_cut_by_size_alone(table, least, cuts):
    _, cells, layout = table
    layout = Layout(layout.columns)
    assume(cells.n_rows >= least)
    found = partition_tuples(cells, layout, least=least, cuts=cuts)
    twin = Twin(cells, layout, None, "frequency", cuts, least)
    assert as_tuples(buckets_of(found)) == as_tuples(twin.partition())


@pytest.mark.parametrize("diversity", ["frequency", "distinct"])
def test_overlapping_columns_are_cut_with_the_join_aware_check(diversity):
    outcomes = Counter()

    @settings(max_examples=max(scaled(200), 120))
    @given(tables(most_rows=8, overlap=True), ells)
    def compare(table, ell):
        _, cells, layout = table
        ell = Fraction(ell.__ceil__()) if diversity == "distinct" else ell
        at_least = ell.__ceil__()
        twin = Twin(cells, layout, ell, diversity, "strict", at_least, p_by_combinations)
        is_joined = any(layout.is_linked_by_unknown(name) for name in layout.sensitive)
        if cells.n_rows < at_least or not twin.is_diverse([twin.table]):
            with pytest.raises(InfeasibleError):
                partition_tuples(cells, layout, ell=ell, diversity=diversity)
            return
        found = partition_tuples(cells, layout, ell=ell, diversity=diversity)
        assert as_tuples(buckets_of(found)) == as_tuples(twin.partition())
        outcomes[is_joined, found.n_buckets > 1] += 1

    compare()
    assert outcomes[True, True]
    assert outcomes[False, True]


@settings(max_examples=200)
@given(tables(most_rows=8, overlap=True), ells)
def test_relaxed_cuts_go_with_shared_attributes_that_are_known(table, ell):
    _, cells, layout = table
    if any(layout.is_linked_by_unknown(name) for name in layout.sensitive):
        with pytest.raises(ParameterError, match="in several columns"):
            partition_tuples(cells, layout, ell=ell, cuts="relaxed")
        return
    try:
        found = partition_tuples(cells, layout, ell=ell, cuts="relaxed")
    except InfeasibleError:
        return
    twin = Twin(cells, layout, ell, "frequency", "relaxed", ell.__ceil__(), p_by_combinations)
    assert as_tuples(buckets_of(found)) == as_tuples(twin.partition())


@settings(max_examples=200)
@given(tables())
def test_the_largest_ell_is_what_the_whole_table_allows(table):
    _, cells, layout = table
    for sensitive in layout.sensitive:
        rows = rows_of(cells, range(cells.n_cells), cells.counts.tolist())
        (column,) = [column for column in layout.columns if sensitive in column]
        u = [name for name in column if name in layout.known and name != sensitive]
        shares, n_values = [], []
        for one in rows:
            alike = Counter(row[sensitive] for row in rows if part(row, u) == part(one, u))
            shares.append(Fraction(max(alike.values()), alike.total()))
            n_values.append(len(alike))
        assert largest_ell(cells, u, sensitive) == 1 / max(shares)
        assert largest_distinct_ell(cells, u, sensitive) == min(n_values)


# --- p(t, s) ------------------------------------------------------------------------------------


def random_partition(random, cells, layout):
    """Buckets of any kind, those of cuts among them."""
    kind = random.choice(["random", "relaxed", "strict", "dissimilar"])
    n = min(random.randint(1, 6), cells.n_rows)
    if kind == "random":
        return random_buckets(cells, n, np.random.default_rng(random.getrandbits(32)))
    if kind == "dissimilar":
        return dissimilar_buckets(cells, layout, n)
    return partition_tuples(cells, layout, least=n, cuts=kind)


def strangers(random, cells, names):
    """Combinations of values, some with values that nobody has."""
    if not names:
        return cells.select(names)
    domains = [
        Domain.of_texts(name, [*cells.domain(name).texts.tolist(), "~"], has_missing=True)
        for name in names
    ]
    rows = [[random.randrange(domain.size) for domain in domains] for _ in range(5)]
    return Cells.of_rows(domains, np.array(rows).reshape(5, len(names)))


def as_row(tuples, number, cells):
    """Return a tuple in the table's codes; -1 for a value that it does not have."""
    texts = [d.text(c) for d, c in zip(tuples.domains, tuples.codes[number].tolist(), strict=True)]
    return {
        name: int(cells.domain(name).codes_of([text])[0])
        for name, text in zip(tuples.columns, texts, strict=True)
    }


@settings(max_examples=600)
@given(tables(), ells)
def test_beliefs_are_those_of_the_direct_reading(table, ell):
    check_beliefs(table, ell)


@settings(max_examples=300)
@given(tables(), ells, st.sampled_from([1, 5]), st.sampled_from([1, 20]))
def test_beliefs_are_found_in_parts_and_without_tables(table, ell, most_pairs, most_terms):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(held, "_MOST_PAIRS", most_pairs)
        patch.setattr(held, "_MOST_PLACES", 0)
        patch.setattr(joining, "_MOST_TERMS", most_terms)
        check_beliefs(table, ell)


def check_beliefs(table, ell):
    random, cells, layout = table
    partition = random_partition(random, cells, layout)
    sliced, buckets = partition.sliced(layout), buckets_of(partition)
    for sensitive in layout.sensitive:
        known = layout.known_for(sensitive)
        for tuples in (cells.select(known), strangers(random, cells, known)):
            exact = exact_sliced_beliefs(sliced, tuples, sensitive)
            rounded = sliced_beliefs(sliced, tuples, sensitive)
            direct = [
                p_disjoint(as_row(tuples, number, cells), buckets, layout, sensitive)
                for number in range(tuples.n_cells)
            ]
            assert [exact.distribution(number) for number in range(tuples.n_cells)] == direct
            largest = [max(p.values(), default=0) for p in direct]
            assert exact.largest.tolist() == largest
            assert rounded.largest.tolist() == pytest.approx([float(p) for p in largest])
            shares, n_matching = share_table(sliced, tuples, sensitive)
            assert [
                {value: pytest.approx(p) for value, p in enumerate(row) if p}
                for row in shares.tolist()
            ] == [{value: float(p) for value, p in one.items()} for one in direct]
            matches = np.bincount(rounded.matches[0], minlength=tuples.n_cells)
            assert n_matching.tolist() == matches.tolist()
            assert largest_belief(sliced, tuples, sensitive) == max(largest)
            fails = find_exceeding(sliced, tuples, sensitive, ell)
            assert fails.tolist() == [p * ell > 1 for p in largest]
            fails = find_exceeding(sliced, tuples, sensitive, ell, "distinct")
            assert fails.tolist() == [0 < len(p) < ell for p in direct]


@settings(max_examples=300)
@given(tables())
def test_matching_buckets_and_their_candidates_are_those_of_the_direct_reading(table):
    random, cells, layout = table
    partition = random_partition(random, cells, layout)
    buckets = buckets_of(partition)
    sensitive = layout.sensitive[0]
    known = layout.known_for(sensitive)
    tuples = cells.select(known)
    beliefs = exact_sliced_beliefs(partition.sliced(layout), tuples, sensitive)
    found = {(t, b): share for t, b, share in zip(*beliefs.matches, strict=True)}
    for number in range(tuples.n_cells):
        t = as_row(tuples, number, cells)
        for place, bucket in enumerate(buckets):
            weight, candidates = plain.match(t, bucket, layout, sensitive)
            assert found.get((number, place), 0) * len(bucket) == weight
            assert beliefs.candidates(number, place) == (candidates if weight else {})


@settings(max_examples=300)
@given(tables(most_rows=8, overlap=True))
def test_beliefs_are_means_over_all_linkings(table):
    random, cells, layout = table
    size_ = random.randint(2, 3)
    assume(cells.n_rows >= size_)
    partition = random_buckets(cells, size_, np.random.default_rng(random.getrandbits(32)))
    assume(partition.sizes.max() <= 4)
    sliced, buckets = partition.sliced(layout), buckets_of(partition)
    for sensitive in layout.sensitive:
        known = layout.known_for(sensitive)
        tuples = cells.select(known)
        exact = exact_sliced_beliefs(sliced, tuples, sensitive)
        for number in range(tuples.n_cells):
            t = as_row(tuples, number, cells)
            direct = p_by_linkings(t, buckets, layout, sensitive)
            assert exact.distribution(number) == direct
            assert p_by_combinations(t, buckets, layout, sensitive) == direct
    reached = min(1 / largest_belief(sliced, cells, name) for name in layout.sensitive)
    finding = check_sliced(sliced, reached, cells)
    assert (finding.holds, finding.reached) == (True, reached)
    bound = check_sliced(sliced, reached)
    assert bound.reached <= reached


# --- the checker --------------------------------------------------------------------------------


@settings(max_examples=500)
@given(tables(), ells, st.sampled_from(["frequency", "distinct"]))
def test_the_checker_agrees_with_the_direct_reading(table, ell, diversity):
    random, cells, layout = table
    partition = random_partition(random, cells, layout)
    buckets = buckets_of(partition)
    finding = check_sliced(partition.sliced(layout), ell, cells, diversity=diversity)
    table_rows = [row for bucket in buckets for row in bucket]
    assert finding.holds == plain.diversity_check(table_rows, buckets, ell, layout, diversity)
    reached = []
    for sensitive in layout.sensitive:
        for bucket in buckets:
            for t in bucket:
                p = p_disjoint(t, buckets, layout, sensitive)
                reached.append(len(p) if diversity == "distinct" else 1 / max(p.values()))
    assert finding.reached == min(reached)
    without = check_sliced(partition.sliced(layout), ell, diversity=diversity)
    assert without.reached <= finding.reached
    if without.basis == "values":
        assert without == finding


def judged_in_fractions(sliced, cells, ell, diversity, sensitive):
    """Judge every tuple in fractions, whether it is near a limit or not."""
    names, people = sliced.layout.known_for(sensitive), people_of(sliced, cells, sensitive)
    judged = list(_Lookup.of_release(sliced, sensitive, Work()).judge(names, people))
    return judged, _sum_up(iter(judged), ell, diversity, "tuples")


@settings(max_examples=500)
@given(tables(), ells, st.sampled_from(["frequency", "distinct"]), st.sampled_from([1, 3, 1 << 20]))
def test_floats_decide_as_fractions_do(table, ell, diversity, most_pairs):
    random, cells, layout = table
    sliced = random_partition(random, cells, layout).sliced(layout)
    for sensitive in layout.sensitive:
        judged, expected = judged_in_fractions(sliced, cells, ell, diversity, sensitive)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(matching, "_MOST_PAIRS", most_pairs)
            patch.setattr(matching, "_MOST_PLACES", random.choice([0, 1 << 22]))
            # Where products may have lost their digits, all is left to fractions.
            patch.setattr(matching, "_TINY", random.choice([1e-200, 1e-200, 0.3]))
            found = estimate_shares(sliced, people_of(sliced, cells, sensitive), sensitive)
            assert _by_tuples(sliced, ell, cells, diversity, sensitive, Work()) == expected
            limit = 1 / expected.reached if diversity == "frequency" else ell
            for ties in (limit, 1 / limit):
                asked = max(ties, Fraction(1))
                _, expected = judged_in_fractions(sliced, cells, asked, diversity, sensitive)
                assert _by_tuples(sliced, asked, cells, diversity, sensitive, Work()) == expected
        for number, (share, n_values) in enumerate(judged):
            assert Fraction(found.low[number]) <= share <= Fraction(found.high[number])
            assert found.n_values[number] == n_values


def test_products_too_small_for_floats_are_left_to_fractions():
    # Of 120 columns every value is one in a thousand: a product of 10 ** -360.
    domains = [Domain.of_texts(f"q{at}", [str(code) for code in range(1000)]) for at in range(120)]
    secret = Domain.of_texts("s", ["a", "b"])
    rows = np.tile(np.arange(1000)[:, np.newaxis], 121)
    rows[:, -1] = np.arange(1000) % 2
    cells = Cells.of_rows([*domains, secret], rows)
    layout = Layout([[domain.column] for domain in cells.domains], ["s"])
    nobody_else = np.zeros(cells.n_cells, dtype=np.int64)
    sliced = Sliced.of_pieces(cells, layout, np.arange(1000), nobody_else, cells.counts)
    few = Cells(cells.domains, cells.codes[:3], cells.counts[:3])
    found = estimate_shares(sliced, people_of(sliced, few, "s"), "s")
    assert (found.low.tolist(), found.high.tolist()) == ([0] * 3, [1] * 3)
    assert found.n_values.tolist() == [2] * 3
    assert _by_tuples(sliced, Fraction(2), few, "frequency", "s", Work()).reached == 2


@settings(max_examples=300)
@given(tables(most_rows=12), st.integers(1, 4))
def test_strict_cuts_are_decided_by_published_values_alone(table, least):
    _, cells, layout = table
    partition = partition_tuples(cells, layout, least=min(least, cells.n_rows))
    assert check_sliced(partition.sliced(layout), 1).basis == "values"


@settings(max_examples=500)
@given(tables(most_rows=10))
def test_buckets_are_matched_once_where_no_combination_matches_two(table):
    random, cells, layout = table
    partition = random_partition(random, cells, layout)
    buckets = buckets_of(partition)
    for sensitive in layout.sensitive:
        known = layout.known_for(sensitive)
        parts = [[n for n in column if n in known] for column in layout.columns]
        combinations = [
            set(itertools.product(*({part(row, names) for row in bucket} for names in parts)))
            for bucket in buckets
        ]
        shared = any(one & other for one, other in itertools.combinations(combinations, 2))
        assert is_matched_once(partition.sliced(layout), sensitive) == (not shared)


# --- the exact posterior ------------------------------------------------------------------------


def worlds_of(buckets, layout):
    """All linkings of all buckets, as lists of rows."""
    for chosen in itertools.product(*(list(linkings(bucket, layout)) for bucket in buckets)):
        yield [row for bucket in chosen for row in bucket]


@settings(max_examples=150)
@given(tables(most_rows=5), st.booleans())
def test_the_posterior_is_that_of_going_through_all_linkings(table, overlap):
    random, cells, layout = table
    if overlap:
        try:
            layout = random_layout(random, cells.columns, overlap=True)
        except ParameterError:
            assume(False)
    partition = random_buckets(
        cells, min(2, cells.n_rows), np.random.default_rng(random.getrandbits(32))
    )
    buckets = buckets_of(partition)
    sliced, sensitive = partition.sliced(layout), layout.sensitive[0]
    known = layout.known_for(sensitive)
    people = cells.select(known)
    wanted = Counter(part(row, known) for bucket in buckets for row in bucket)
    alone = defaultdict(lambda: defaultdict(Fraction))
    together = defaultdict(lambda: defaultdict(Fraction))
    for world in worlds_of(buckets, layout):
        seen = Counter(part(row, known) for row in world)
        for row in world:
            t = part(row, known)
            alone[t][row[sensitive]] += Fraction(1, seen[t])
            if seen == wanted:
                together[t][row[sensitive]] += Fraction(1, seen[t])
    everyone = posteriors_of_all(sliced, people, sensitive)
    for codes, found in zip(people.codes.tolist(), everyone, strict=True):
        t = tuple(codes)
        total = sum(together[t].values())
        assert found == {s: share / total for s, share in together[t].items()}
        total = sum(alone[t].values())
        one = posterior_of_one(sliced, dict(zip(known, t, strict=True)), sensitive)
        assert one == {s: share / total for s, share in alone[t].items()}


@settings(max_examples=300)
@given(tables(most_rows=9), ells)
def test_of_strict_cuts_no_posterior_is_above_the_bound(table, ell):
    _, cells, layout = table
    try:
        partition = partition_tuples(cells, layout, ell=ell)
    except InfeasibleError:
        assume(False)
    assume(partition.sizes.max() <= 5)
    sliced = partition.sliced(layout)
    for sensitive in layout.sensitive:
        known = layout.known_for(sensitive)
        people = cells.select(known)
        exact = exact_sliced_beliefs(sliced, people, sensitive)
        everyone = posteriors_of_all(sliced, people, sensitive)
        for number, codes in enumerate(people.codes.tolist()):
            one = posterior_of_one(sliced, dict(zip(known, codes, strict=True)), sensitive)
            assert max(one.values()) * ell <= 1
            assert max(everyone[number].values()) * ell <= 1
            if len(layout.sensitive) == 1:
                assert one == everyone[number] == exact.distribution(number)


def test_of_relaxed_cuts_a_posterior_may_be_certain_where_p_is_within_the_bound():
    domains = [
        Domain.of_texts(name, [f"{name}{code}" for code in range(size_)])
        for name, size_ in (("a", 4), ("b", 2), ("c", 4))
    ]
    rows = "001 002 013 100 110 110 212 311"
    cells = Cells.of_rows(domains, np.array([list(map(int, row)) for row in rows.split()]))
    layout = Layout([["a"], ["b", "c"]], ["c"])
    sliced = partition_tuples(cells, layout, ell=Fraction(2), cuts="relaxed").sliced(layout)
    people = cells.select(["a", "b"])
    assert largest_belief(sliced, people) == Fraction(1, 2)
    number = people.codes.tolist().index([1, 0])
    assert posteriors_of_all(sliced, people, "c")[number] == {0: Fraction(1)}
    assert posterior_of_one(sliced, {"a": 1, "b": 0}, "c") != {0: Fraction(1)}


def test_ties_over_several_buckets_are_decided_in_fractions(monkeypatch):
    """Random tables meet ties that no float decides; that they are met is what is tested."""
    decided = []
    decide = relaxed_module.RelaxedJudge._decide

    def remember(self, *arguments):
        decided.append(decide(self, *arguments))
        return decided[-1]

    monkeypatch.setattr(relaxed_module.RelaxedJudge, "_decide", remember)
    for seed in range(400):
        random = Random(seed)
        cells = random_cells(random, random.randint(2, 5), random.randint(4, 20))
        layout = random_layout(random, cells.columns)
        twin = Twin(cells, layout, Fraction(3, 2), "frequency", "relaxed", 2)
        try:
            found = partition_tuples(cells, layout, ell=Fraction(3, 2), cuts="relaxed")
        except InfeasibleError:
            continue
        assert as_tuples(buckets_of(found)) == as_tuples(twin.partition())
    assert decided.count(True) >= 3


# --- the model ----------------------------------------------------------------------------------


@settings(max_examples=300)
@given(tables(overlap=True))
def test_a_sliced_release_counts_column_values_by_bucket(table):
    random, cells, layout = table
    partition = random_buckets(
        cells, min(3, cells.n_rows), np.random.default_rng(random.getrandbits(32))
    )
    buckets = buckets_of(partition)
    sliced = partition.sliced(layout)
    assert sliced.sizes.tolist() == [len(bucket) for bucket in buckets]
    for column in sliced.columns:
        found = {
            (bucket, *column.values.codes[value].tolist()): n
            for bucket, value, n in zip(
                column.bucket.tolist(), column.value.tolist(), column.count.tolist(), strict=True
            )
        }
        assert found == Counter(
            (place, *part(row, column.attributes))
            for place, bucket in enumerate(buckets)
            for row in bucket
        )


@settings(max_examples=200)
@given(tables(), st.integers(1, 8))
def test_random_and_dissimilar_buckets_place_everyone_evenly(table, size_):
    random, cells, layout = table
    size_ = min(size_, cells.n_rows)
    for partition in (
        random_buckets(cells, size_, np.random.default_rng(random.getrandbits(32))),
        dissimilar_buckets(cells, layout, size_),
    ):
        Plan(cells, partition.n_buckets, partition.segments()).check()
        assert partition.sizes.max() - partition.sizes.min() <= 1
        assert partition.sizes.min() >= min(size_, cells.n_rows)


def test_sliced_can_be_made_of_nothing():
    cells = random_cells(Random(1), 2, 3)
    nothing = np.empty(0, dtype=np.int64)
    assert Sliced.of_pieces(cells, Layout([["a"], ["b"]], ["b"]), *[nothing] * 3).n_rows == 0
