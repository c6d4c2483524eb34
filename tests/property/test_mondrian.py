"""Mondrian against a slow twin that works on explicit rows, dictionaries and fractions."""

from __future__ import annotations

import datetime as dt
import functools
import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.beliefs.beliefs import estimate_beliefs
from shoal.checks import Evidence, check
from shoal.core import kernels
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import InfeasibleError
from shoal.core.method import Problem
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.grouping.mondrian import Mondrian
from shoal.hierarchies.hierarchy import Hierarchy

# --- random tables ----------------------------------------------------------------------------
# Shapes are drawn by hypothesis, so that they shrink; what fills them follows from a seed.

seeds = st.integers(0, 2**32 - 1).map(Random)


def random_domain(random: Random, column: str, size: int, kind: ColumnType) -> Domain:
    has_missing = random.random() < 0.4
    if kind is ColumnType.BOOLEAN:
        return Domain.of_texts(column, ["false", "true"], type=kind, has_missing=has_missing)
    if not kind.is_numeric:
        texts = [f"v{number:02d}" for number in range(size)]
        return Domain.of_texts(column, texts, type=kind, has_missing=has_missing)
    step = random.choice([1, 3, 40, 400])
    numbers = sorted(random.sample(range(-step * size, step * size), size))
    floats = [float(number) for number in numbers]
    texts = [str(number) for number in numbers]
    if kind is ColumnType.DATE:
        texts = [str(np.datetime64(number, "D")) for number in numbers]
    if kind is ColumnType.REAL:
        # Texts that differ may be one number.
        floats = sorted([number / 4 for number in numbers + numbers[:1]])
        texts = [repr(number) + "0" * place for place, number in enumerate(floats)]
    return Domain.of_texts(column, texts, type=kind, numbers=floats, has_missing=has_missing)


def random_hierarchy(random: Random, domain: Domain) -> Hierarchy:
    n_nodes = [random.randint(1, 5) for _ in range(random.randint(1, 3))]
    parents = [
        [random.randrange(above) for _ in range(below)]
        for below, above in itertools.pairwise(n_nodes)
    ]
    places_missing = random.random() < 0.5 or len(domain.texts) == 0
    rows: list[list[str | None]] = []
    for leaf in domain.labels():
        if leaf is None and not places_missing:
            continue
        node = random.randrange(n_nodes[0])
        row: list[str | None] = [leaf, f"node 1.{node}"]
        for level, above in enumerate(parents, start=2):
            node = above[node]
            row.append(f"node {level}.{node}")
        rows.append(row)
    return Hierarchy.from_rows(rows)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    n_rows = draw(st.integers(1, 40))
    n_values = draw(st.sampled_from([1, 2, 3, 5, 70]))
    kinds = [draw(st.sampled_from(list(ColumnType))) for _ in names]
    sizes = [draw(st.sampled_from([1, 2, 3, 6, 65])) for _ in names]
    planted = [draw(st.booleans()) for _ in names]
    random = draw(seeds)
    quasi = list(map(random_domain, [random] * len(names), names, sizes, kinds))
    columns = [[random.randrange(domain.size) for _ in range(n_rows)] for domain in quasi]
    drawn = [random.randrange(n_values) for _ in range(n_rows)]
    occurring = sorted(set(drawn))
    has_missing = random.random() < 0.4
    texts = [f"s{value:02d}" for value in occurring]
    sensitive = Domain.of_texts("s", texts[:-1] if has_missing else texts, has_missing=has_missing)
    columns.append([occurring.index(value) for value in drawn])
    found = {
        domain.column: random_hierarchy(random, domain)
        for domain, has_tree in zip([*quasi, sensitive], [*planted, True], strict=True)
        if has_tree
    }
    cells = Cells.of_rows([*quasi, sensitive], np.array(columns).T)
    schema = Schema(quasi=names, sensitive="s", hierarchies=found)
    trees = {column: found[column].over(cells.domain(column)) for column in found}
    return Problem(cells, schema, trees, Secret.from_seed(1))


ells = st.one_of(
    st.integers(1, 4),
    st.fractions(1, 4, max_denominator=6),
    st.sampled_from(["1.9999999999999999"]),
)


@st.composite
def methods(draw: st.DrawFn) -> Mondrian:
    chosen: dict[str, Any] = {"cuts": draw(st.sampled_from(["strict", "relaxed"]))}
    if draw(st.booleans()):
        chosen["k"] = draw(st.integers(1, 5))
    if draw(st.booleans()):
        chosen["diversity"] = draw(
            st.sampled_from(["distinct", "frequency", "entropy", "recursive"])
        )
        is_whole = chosen["diversity"] in ("distinct", "recursive")
        chosen["ell"] = draw(st.integers(2, 4) if is_whole else ells)
        if chosen["diversity"] == "recursive":
            chosen["c"] = draw(st.fractions("1/4", 6, max_denominator=5))
    if draw(st.booleans()) or not chosen.keys() & {"k", "ell"}:
        chosen["t"] = draw(st.one_of(st.just(0), st.fractions(0, 1, max_denominator=12)))
        chosen["distance"] = draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
    return Mondrian(**chosen)


# --- the twin ---------------------------------------------------------------------------------


class Twin:
    """Cuts lists of rows; a row is the number of its cell."""

    def __init__(self, problem: Problem, method: Mondrian, protected: frozenset[int] = frozenset()):
        self.problem, self.method, self.protected = problem, method, protected
        self.codes = problem.cells.codes.tolist()
        self.rows = [
            cell for cell, count in enumerate(problem.cells.counts.tolist()) for _ in range(count)
        ]
        self.columns = list(enumerate(problem.schema.quasi))
        self.whole = Counter(self.values(self.rows))

    def values(self, rows: list[int]) -> list[int]:
        values = [self.codes[row][-1] for row in rows]
        return [int(value in self.protected) for value in values] if self.protected else values

    # What is required.

    def keeps(self, rows: list[int]) -> bool:
        method, n = self.method, len(rows)
        counts = sorted(Counter(self.values(rows)).values(), reverse=True)
        if not rows or (method.k is not None and n < method.k):
            return False
        if method.ell is not None and not self.is_diverse(rows, counts):
            return False
        if method.belief_gain is not None and self.gain(rows) > method.belief_gain:
            return False
        return method.t is None or self.distance(rows) <= Fraction(method.t)

    def is_diverse(self, rows: list[int], counts: list[int]) -> bool:
        ell, n = Fraction(self.method.ell), len(rows)
        match self.method.diversity:
            case "distinct":
                return len(counts) >= ell
            case "frequency":
                top = sum(self.values(rows)) if self.protected else counts[0]
                return Fraction(top, n) <= 1 / ell
            case "entropy":
                # exp(entropy)**n = n**n / product of c**c
                power = Fraction(n**n, math.prod(count**count for count in counts))
                return power >= ell**n
            case _:
                return counts[0] < Fraction(self.method.c) * sum(counts[int(ell) - 1 :])

    def distance(self, rows: list[int]) -> Fraction:
        own, whole = Counter(self.values(rows)), self.whole
        n, n_whole = len(rows), sum(whole.values())
        gap = {
            value: Fraction(own[value], n) - Fraction(whole[value], n_whole)
            for value in sorted(whole)
        }
        if self.method.distance == "equal":
            return sum(map(abs, gap.values()), Fraction(0)) / 2
        if self.method.distance == "ordered":
            sums = list(itertools.accumulate(gap.values()))
            return sum(map(abs, sums), Fraction(0)) / max(len(sums) - 1, 1)
        # Mass has to move at every level at which the shares of nodes differ.
        tree = self.problem.trees["s"]
        moved = Fraction(0)
        for nodes in tree.by_level[:-1].tolist():
            by_node: Counter[int] = Counter()
            for value, amount in gap.items():
                by_node[nodes[tree.position[value]]] += amount
            moved += sum(map(abs, by_node.values()), Fraction(0)) / 2
        return moved / tree.height

    @functools.cached_property
    def prior_of(self) -> dict[tuple[int, ...], list[float]]:
        found = estimate_beliefs(
            self.problem.cells, "s", self.problem.trees, Fraction(self.method.bandwidth)
        )
        return dict(zip(map(tuple, found.cells.codes.tolist()), found.prior.tolist(), strict=True))

    def gain(self, rows: list[int]) -> float:
        """The largest distance between what is believed of a row before and after."""
        counts = Counter(self.codes[row][-1] for row in rows)
        priors = [self.prior_of[tuple(self.codes[row][:-1])] for row in rows]
        expected = {value: sum(prior[value] for prior in priors) for value in counts}
        return max(jensen_shannon(prior, omega(prior, counts, expected)) for prior in priors)

    # Where to cut.

    def position(self, row: int, place: int) -> float | None:
        """Where a row lies in a column; None where its value is missing."""
        column = self.problem.schema.quasi[place]
        domain, code = self.problem.cells.domain(column), self.codes[row][place]
        if domain.text(code) is None:
            return None
        if column in self.problem.trees:
            return self.problem.trees[column].position[code]
        return code if domain.numbers is None else domain.numbers[code]

    def present(self, rows: list[int], place: int) -> list[float]:
        found = (self.position(row, place) for row in rows)
        return sorted({position for position in found if position is not None})

    def has_missing(self, rows: list[int], place: int) -> bool:
        return any(self.position(row, place) is None for row in rows)

    def width(self, rows: list[int], place: int, column: str) -> Fraction:
        found, domain = self.present(rows, place), self.problem.cells.domain(column)
        if self.has_missing(rows, place):
            return Fraction(1)
        if column in self.problem.trees:
            tree = self.problem.trees[column]
            node = tree.common_ancestor(int(found[0]), int(found[-1]))
            return Fraction(len(tree.members(node)) - 1, tree.n_leaves - 1)
        if domain.numbers is None:
            return Fraction(int(found[-1] - found[0]), len(domain.texts) - 1)
        low, high = domain.numbers[0], domain.numbers[-1]
        return (Fraction(found[-1]) - Fraction(found[0])) / (Fraction(high) - Fraction(low))

    def group(self, rows: list[int], place: int, column: str) -> dict[float, int]:
        """Number the groups of positions that stay together."""
        found = self.present(rows, place)
        if column not in self.problem.trees:
            return {position: number for number, position in enumerate(found)}
        tree = self.problem.trees[column]
        node = tree.common_ancestor(int(found[0]), int(found[-1]))
        return {
            position: number
            for number, child in enumerate(tree.children(node).tolist())
            for position in found
            if tree.first[child] <= position < tree.last[child]
        }

    def cuts(self, rows: list[int], place: int, column: str) -> list[tuple[list[int], list[int]]]:
        """Every candidate cut in a column, in the order in which they are tried."""
        missing = [row for row in rows if self.position(row, place) is None]
        there = [row for row in rows if self.position(row, place) is not None]
        tried = [(there, missing)] if missing and there else []
        if len(self.present(rows, place)) < 2:
            return tried
        if self.method.cuts == "relaxed":
            return tried + self.halves(rows, place)
        group = self.group(rows, place, column)
        numbers = sorted(set(group.values()))
        boundaries = []
        for number in numbers[1:]:
            left = [row for row in there if group[self.position(row, place)] < number]
            right = [row for row in rows if row in missing or row not in left]
            boundaries.append((left, right))
        below = [cut for cut in boundaries if 2 * len(cut[0]) <= len(rows)]
        above = [cut for cut in boundaries if 2 * len(cut[0]) > len(rows)]
        nearest = below[-1:] + above[:1]
        return tried + sorted(nearest, key=lambda cut: abs(2 * len(cut[0]) - len(rows)))

    def halves(self, rows: list[int], place: int) -> list[tuple[list[int], list[int]]]:
        def key(row: int) -> float:
            position = self.position(row, place)
            return math.inf if position is None else position

        half = len(rows) // 2
        median = sorted(map(key, rows))[half]
        n_below = sum(key(row) < median for row in rows)
        n_at = sum(key(row) == median for row in rows)
        n_going = half - n_below
        left, right, passed = [], [], 0
        for row in rows:
            goes_left = key(row) < median
            if key(row) == median:
                goes_left = (passed + 1) * n_going // n_at > passed * n_going // n_at
                passed += 1
            (left if goes_left else right).append(row)
        return [(left, right)]

    def all_cuts(self, rows: list[int]) -> list[tuple[list[int], list[int]]]:
        usable = [
            (place, column)
            for place, column in self.columns
            if len(self.present(rows, place)) + self.has_missing(rows, place) > 1
        ]
        widest = sorted(usable, key=lambda item: (-self.width(rows, *item), item[0]))
        return [cut for item in widest for cut in self.cuts(rows, *item)]

    def partition(self, rows: list[int]) -> list[list[int]]:
        for left, right in self.all_cuts(rows):
            if self.keeps(left) and self.keeps(right):
                return self.partition(left) + self.partition(right)
        return [rows]


def omega(prior: list[float], counts: Counter[int], expected: dict[int, float]) -> list[float]:
    """The Omega estimate of what is believed of a row in a bucket."""
    odds = [counts[v] * prior[v] / expected[v] if counts[v] else 0.0 for v in range(len(prior))]
    return [one / sum(odds) for one in odds]


def jensen_shannon(prior: list[float], posterior: list[float]) -> float:
    """The square root of the Jensen-Shannon divergence in bits."""
    total = 0.0
    for before, after in zip(prior, posterior, strict=True):
        for share in (before, after):
            if share > 0:
                total += share / 2 * math.log2(2 * share / (before + after))
    return math.sqrt(max(total, 0.0))


def buckets_of(plan: Any) -> list[Counter[int]]:
    group, _, bucket = plan.assign.expand()
    found: list[Counter[int]] = [Counter() for _ in range(plan.n_buckets)]
    for cell, number in zip(group.tolist(), bucket.tolist(), strict=True):
        found[number][cell] += 1
    return found


@given(problems(), methods())
@settings(max_examples=600)
def test_buckets_are_those_of_the_slow_twin(problem: Problem, method: Mondrian) -> None:
    twin = Twin(problem, method)
    if not twin.keeps(twin.rows):
        with pytest.raises(InfeasibleError):
            method.plan(problem)
        return
    plan = method.plan(problem)
    plan.check()
    assert buckets_of(plan) == [Counter(rows) for rows in twin.partition(twin.rows)]


@given(problems(), st.data())
@settings(max_examples=200)
def test_buckets_with_protected_values_are_those_of_the_slow_twin(
    problem: Problem, data: st.DataObject
) -> None:
    domain = problem.cells.domain("s")
    protect = data.draw(
        st.lists(st.sampled_from(domain.labels()), min_size=1, max_size=3, unique=True)
    )
    asked: dict[str, Any] = {"ell": data.draw(ells)} if data.draw(st.booleans()) else {}
    if not asked or data.draw(st.booleans()):
        asked["t"] = data.draw(st.fractions(0, 1, max_denominator=9))
    cuts = data.draw(st.sampled_from(["strict", "relaxed"]))
    method = Mondrian(protect=protect, cuts=cuts, publish="bucketized", **asked)
    twin = Twin(problem, method, frozenset(domain.codes_of(protect).tolist()))
    if not twin.keeps(twin.rows):
        with pytest.raises(InfeasibleError):
            method.plan(problem)
        return
    plan = method.plan(problem)
    plan.check()
    assert plan.recode == ()
    assert buckets_of(plan) == [Counter(rows) for rows in twin.partition(twin.rows)]


@given(problems(), st.data())
@settings(max_examples=200, deadline=None)
def test_buckets_with_bounded_beliefs_are_those_of_the_slow_twin(
    problem: Problem, data: st.DataObject
) -> None:
    # No gain is exactly one of these, so that rounding decides nothing.
    gain = data.draw(st.sampled_from(["0.0731", "0.1937", "0.2913", "0.4717", "0.7111"]))
    bandwidth = data.draw(st.sampled_from([None, "0", "0.2", "0.5", "1"]))
    cuts = data.draw(st.sampled_from(["strict", "relaxed"]))
    k = data.draw(st.sampled_from([None, 1, 3]))
    publish = data.draw(st.sampled_from(["generalized", "bucketized"]))
    method = Mondrian(k=k, belief_gain=gain, bandwidth=bandwidth, cuts=cuts, publish=publish)
    twin = Twin(problem, method)
    if not twin.keeps(twin.rows):
        with pytest.raises(InfeasibleError) as caught:
            method.plan(problem)
        if "belief_gain" in caught.value.best:
            best = caught.value.best["belief_gain"]
            assert twin.gain(twin.rows) < float(best)
            Mondrian(belief_gain=best, bandwidth=bandwidth).plan(problem).check()
        return
    plan = method.plan(problem)
    plan.check()
    assert buckets_of(plan) == [Counter(rows) for rows in twin.partition(twin.rows)]


@given(problems(), methods())
@settings(max_examples=200)
def test_no_bucket_has_an_allowable_cut_left(problem: Problem, method: Mondrian) -> None:
    twin = Twin(problem, method)
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    if method.cuts == "relaxed":
        return
    for bucket in buckets_of(plan):
        rows = sorted(bucket.elements())
        assert twin.keeps(rows)
        assert not any(
            twin.keeps(left) and twin.keeps(right) for left, right in twin.all_cuts(rows)
        )


# --- labels -----------------------------------------------------------------------------------


def covers(label: Any, domain: Domain, code: int) -> bool:
    """Whether a label stands for a value."""
    if code == domain.missing_code:
        return label.has_missing
    if label.interval is None:
        return code in label.members
    low, high = label.interval
    text = domain.text(code)
    if domain.type is ColumnType.DATE:
        return (low == "-inf" or low <= text) and (high == "+inf" or text < high)
    # As floats, and as what the table says.
    as_floats = float(low) <= domain.numbers[code] < float(high)
    return as_floats and Decimal(low) <= Decimal(text) < Decimal(high)


@given(problems(), methods())
@settings(max_examples=250)
def test_labels_cover_every_row_of_their_bucket(problem: Problem, method: Mondrian) -> None:
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    assert [recode.column for recode in plan.recode] == list(problem.schema.quasi)
    for place, recode in enumerate(plan.recode):
        domain = problem.cells.domain(recode.column)
        assert len(recode.index) == plan.n_buckets
        texts = [label.text for label in recode.labels]
        assert len(set(texts)) == len(texts)
        for number, bucket in zip(recode.index.tolist(), buckets_of(plan), strict=True):
            label = recode.labels[number]
            codes = {int(problem.cells.codes[cell, place]) for cell in bucket}
            assert all(covers(label, domain, code) for code in codes)
            if codes == {domain.missing_code}:
                assert label.text is None
            elif recode.column in problem.trees:
                tree = problem.trees[recode.column]
                leaves = [int(tree.position[code]) for code in codes]
                assert label.text == tree.labels[tree.common_ancestor(min(leaves), max(leaves))]
            elif domain.numbers is not None:
                low, high = label.interval
                rest = " or missing" if domain.missing_code in codes else ""
                opening = "]" if low == "-inf" else "["
                assert label.text == f"{opening}{low}, {high}[{rest}"
            elif len(codes) == 1:
                assert label.text == domain.text(codes.pop())


@given(st.integers(1, 3), st.integers(1, 40), st.integers(1, 4), seeds)
def test_regions_of_strict_cuts_do_not_overlap(
    n_columns: int, n_rows: int, k: int, random: Random
) -> None:
    names = ["a", "b", "c"][:n_columns]
    quasi = [random_domain(random, name, 9, ColumnType.INTEGER) for name in names]
    rows = [[random.randrange(9) for _ in names] for _ in range(max(n_rows, k))]
    cells = Cells.of_rows(quasi, np.array(rows))
    plan = Mondrian(k=k).plan(Problem(cells, Schema(quasi=names), {}, Secret.from_seed(1)))
    boxes = [
        [recode.labels[recode.index[bucket]].interval for recode in plan.recode]
        for bucket in range(plan.n_buckets)
    ]
    for one, other in itertools.combinations(boxes, 2):
        assert any(
            float(one_high) <= float(low) or float(high) <= float(one_low)
            for (one_low, one_high), (low, high) in zip(one, other, strict=True)
        )


def random_text(random: Random, kind: ColumnType) -> str:
    """Draw a value that floats cannot tell from others, or that lies at the end of its type."""
    if kind is ColumnType.DATE:
        first, last = dt.date.min.toordinal(), dt.date.max.toordinal()
        day = random.choice([first, last - 3, random.randint(first, last - 3)])
        return dt.date.fromordinal(day + random.randint(0, 3)).isoformat()
    sign = random.choice(["", "-"])
    if kind is ColumnType.INTEGER:
        near = random.choice([1, 2**53, 2**60, 10**18])
        return sign + str(near + random.randint(0, 600))
    return f"{sign}{random.choice([0, 1, 10**15])}.1{random.randint(0, 99):025d}"


@given(
    st.lists(
        st.sampled_from([ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE]),
        min_size=1,
        max_size=2,
    ),
    st.integers(2, 60),
    st.integers(1, 3),
    st.sampled_from(["strict", "relaxed"]),
    seeds,
)
@settings(max_examples=250)
def test_intervals_contain_every_row_exactly(
    kinds: list[ColumnType], n_rows: int, k: int, cuts: Any, random: Random
) -> None:
    names = ["a", "b"][: len(kinds)]
    columns = [[random_text(random, kind) for _ in range(n_rows)] for kind in kinds]
    domains = []
    for name, kind, column in zip(names, kinds, columns, strict=True):
        if kind is ColumnType.DATE:
            texts = sorted(set(column))
            numbers = [float(np.datetime64(text, "D").astype(int)) for text in texts]
        else:
            texts = sorted(set(column), key=Decimal)
            numbers = [float(text) for text in texts]
        domains.append(Domain.of_texts(name, texts, type=kind, numbers=numbers))
    codes = [domain.codes_of(column) for domain, column in zip(domains, columns, strict=True)]
    cells = Cells.of_rows(domains, np.stack(codes, axis=1))
    problem = Problem(cells, Schema(quasi=names), {}, Secret.from_seed(random.randrange(99)))
    try:
        plan = Mondrian(k=k, cuts=cuts).plan(problem)
    except InfeasibleError:
        return
    for place, recode in enumerate(plan.recode):
        for number, bucket in zip(recode.index.tolist(), buckets_of(plan), strict=True):
            label = recode.labels[number]
            assert all(covers(label, domains[place], cells.codes[cell, place]) for cell in bucket)
        # What lies lowest and highest is not told.
        ends = [recode.labels[number].interval for number in recode.index.tolist()]
        assert "-inf" in {low for low, _ in ends}
        assert "+inf" in {high for _, high in ends}


@given(st.lists(st.integers(0, 400), min_size=2, max_size=60), st.integers(1, 4), seeds)
def test_bounds_of_dates_are_rare_values_only_where_no_other_day_is_left(
    days: list[int], k: int, random: Random
) -> None:
    count = Counter(days)
    texts = {day: str(np.datetime64(day, "D")) for day in sorted(count)}
    domain = Domain.of_texts(
        "born", list(texts.values()), type=ColumnType.DATE, numbers=[float(day) for day in texts]
    )
    rows = domain.codes_of([texts[day] for day in days]).reshape(-1, 1)
    secret = Secret.from_seed(random.randrange(99))
    problem = Problem(Cells.of_rows([domain], rows), Schema(quasi=["born"]), {}, secret)
    try:
        plan = Mondrian(k=k).plan(problem)
    except InfeasibleError:
        return
    ends = {end for label in plan.recode[0].labels for end in label.interval}
    for end in ends - {"-inf", "+inf"}:
        day = int(np.datetime64(end, "D").astype(int))
        assert count[day] == 0 or count[day] >= max(2, k) or day - 1 in count
    again = Mondrian(k=k).plan(problem)
    assert again.recode[0].labels == plan.recode[0].labels


# --- the kernels and the checkers -------------------------------------------------------------


@given(problems(), methods())
@settings(max_examples=60)
def test_compiled_and_plain_kernels_agree(problem: Problem, method: Mondrian) -> None:
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    partition = kernels.load_plain("shoal.grouping._partition_kernels")
    rules = kernels.load_plain("shoal.grouping._kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.grouping.partition.Partitioner", partition.Partitioner)
        patch.setattr("shoal.grouping.partition.trace_regions", partition.trace_regions)
        patch.setattr("shoal.grouping.requirements.Rules", rules.Rules)
        plain = method.plan(problem)
    assert buckets_of(plain) == buckets_of(plan)
    for one, other in zip(plain.recode, plan.recode, strict=True):
        assert one.labels == other.labels
        assert one.index.tolist() == other.index.tolist()


@given(problems(), methods())
@settings(max_examples=150)
def test_the_checkers_find_every_guarantee_kept(problem: Problem, method: Mondrian) -> None:
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    group, _, bucket = plan.assign.expand()
    value = problem.cells.column("s")[group]
    buckets = Buckets.of_pairs(bucket, value, problem.cells.domain("s"))
    evidence = Evidence.of_buckets(buckets, problem.trees["s"])
    for guarantee in method.guarantees:
        assert check(guarantee, evidence).holds
