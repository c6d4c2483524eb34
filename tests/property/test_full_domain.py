"""The search of the lattice against one that looks at every element, on rows of texts.

The twin knows neither codes nor trees nor bounds: a row is a tuple of texts, a hierarchy is its
rows, and whatever can be a fraction is one.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from shoal.checks import Evidence, check
from shoal.core import kernels
from shoal.core.cells import Buckets, Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.guarantees import TCloseness
from shoal.core.method import Problem
from shoal.core.plan import Plan
from shoal.core.schema import Schema
from shoal.core.secret import Secret
from shoal.core.tree import Tree
from shoal.grouping.full_domain import FullDomain
from shoal.grouping.thresholds import Limits, distance_between
from shoal.hierarchies.hierarchy import Hierarchy

Text = str | None
Row = tuple[Text, ...]

LOSSES = ("loss", "discernibility", "class_size", "entropy")

# --- random tables ----------------------------------------------------------------------------
# Shapes are drawn by hypothesis, so that they shrink; what fills them follows from a seed.

seeds = st.integers(0, 2**32 - 1).map(Random)


def random_hierarchy(random: Random, column: str, texts: list[Text]) -> Hierarchy:
    """Give values parents; more values than occur, and some suppressed early or repeated."""
    height = random.randint(1, 3)
    n_nodes = [random.randint(1, 4) for _ in range(height)]
    parents = [
        [random.choice([*range(above), -1] if above > 1 else [0]) for _ in range(below)]
        for below, above in itertools.pairwise(n_nodes)
    ]
    never = [f"{column} never {number}" for number in range(random.randint(0, 3))]
    placed = [text for text in texts if text is not None or random.random() < 0.5]
    rows: list[list[Text]] = []
    for leaf in placed + never:
        node = random.randrange(n_nodes[0])
        row: list[Text] = [leaf]
        for level in range(height):
            row.append("*" if node < 0 else f"{column} {level}.{node}")
            if level < height - 1 and node >= 0:
                node = parents[level][node]
        rows.append([*row, "*"])
    if not rows:
        return Hierarchy.flat()
    return Hierarchy.from_rows(rows)


@st.composite
def problems(draw: st.DrawFn) -> Problem:
    names = ["a", "b", "c"][: draw(st.integers(1, 3))]
    n_rows = draw(st.integers(1, 30))
    n_values = draw(st.sampled_from([1, 2, 3, 5, 70]))
    sizes = [draw(st.sampled_from([1, 2, 3, 6, 65])) for _ in names]
    has_tree = [draw(st.booleans()) for _ in names]
    random = draw(seeds)
    columns: dict[str, list[Text]] = {}
    for name, size in zip(names, sizes, strict=True):
        texts: list[Text] = [f"{name}{number} ü" for number in range(size)]
        texts += [None] * (random.random() < 0.4)
        columns[name] = [random.choice(texts) for _ in range(n_rows)]
    values: list[Text] = [f"s{number:02d}" for number in range(n_values)]
    values += [None] * (random.random() < 0.4)
    # Some values are frequent.
    columns["s"] = [random.choice(values[: random.choice([2, len(values)])]) for _ in range(n_rows)]
    return problem_of(random, columns, [*has_tree, True])


def problem_of(random: Random, columns: dict[str, list[Text]], has_tree: list[bool]) -> Problem:
    domains, found = [], {}
    for (name, texts), is_planted in zip(columns.items(), has_tree, strict=True):
        present = sorted({text for text in texts if text is not None})
        domains.append(Domain.of_texts(name, present, has_missing=None in texts))
        if is_planted:
            occurring: list[Text] = [*present, *([None] if None in texts else [])]
            found[name] = random_hierarchy(random, name, occurring)
    codes = [domain.codes_of(columns[domain.column]) for domain in domains]
    cells = Cells.of_rows(domains, np.stack(codes, axis=1))
    schema = Schema(quasi=list(columns)[:-1], sensitive="s", hierarchies=found)
    trees = {column: found[column].over(cells.domain(column)) for column in found}
    return Problem(cells, schema, trees, Secret.from_seed(1))


ells = st.one_of(
    st.integers(1, 4),
    st.fractions(1, 4, max_denominator=6),
    st.sampled_from(["1.9999999999999999"]),
)
suppressions = st.sampled_from(["0", "0.05", "0.1", "0.2", "1/3", "0.5", "0.99"])
closenesses = st.one_of(st.just(0), st.fractions(0, 1, max_denominator=12))


@st.composite
def methods(draw: st.DrawFn) -> FullDomain:
    asked = draw(
        st.sets(st.sampled_from(["k", "ell", "t", "alpha"]), min_size=1, max_size=2).map(sorted)
    )
    chosen: dict[str, Any] = {
        "loss": draw(st.sampled_from(LOSSES)),
        "suppress": draw(st.one_of(st.just(0), suppressions)),
    }
    if "k" in asked:
        chosen["k"] = draw(st.integers(1, 5))
    if "alpha" in asked:
        chosen["alpha"] = draw(st.fractions("1/5", 1, max_denominator=6))
    if "ell" in asked:
        chosen["diversity"] = draw(
            st.sampled_from(["distinct", "frequency", "entropy", "recursive"])
        )
        is_whole = chosen["diversity"] in ("distinct", "recursive")
        chosen["ell"] = draw(st.integers(2, 4) if is_whole else ells)
        if chosen["diversity"] == "recursive":
            chosen["c"] = draw(st.fractions("1/4", 6, max_denominator=5))
    if "t" in asked:
        chosen["t"] = draw(closenesses)
        chosen["distance"] = draw(st.sampled_from(["equal", "ordered", "hierarchical"]))
    return FullDomain(**chosen)


@st.composite
def protecting_methods(draw: st.DrawFn, values: list[Text]) -> FullDomain:
    chosen: dict[str, Any] = {
        "loss": draw(st.sampled_from(LOSSES)),
        "suppress": draw(suppressions),
        "protect": draw(st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True)),
    }
    asked = draw(st.sampled_from(["alpha", "ell", "t", "both"]))
    if asked == "alpha":
        chosen |= {"alpha": draw(st.fractions("1/5", 1, max_denominator=6)), "k": 2}
    if asked in ("ell", "both"):
        chosen["ell"] = draw(ells)
    if asked in ("t", "both"):
        chosen["t"] = draw(closenesses)
    return FullDomain(**chosen)


# --- the twin ---------------------------------------------------------------------------------


class Twin:
    """Looks at every element; a release is a list of buckets, a bucket a list of rows."""

    def __init__(self, problem: Problem, method: FullDomain) -> None:
        self.problem, self.method = problem, method
        cells = problem.cells
        self.rows: list[Row] = [
            tuple(domain.text(code) for domain, code in zip(cells.domains, codes, strict=True))
            for codes, count in zip(cells.codes.tolist(), cells.counts.tolist(), strict=True)
            for _ in range(count)
        ]
        self.paths = [self.paths_of(place) for place in range(len(problem.schema.quasi))]
        self.limit = math.floor(Fraction(str(method.suppress)) * len(self.rows))

    # What values are generalized to.

    def paths_of(self, place: int) -> dict[Text, list[Text]]:
        """The labels of each value of a column, and of each leaf of its hierarchy."""
        column = self.problem.schema.quasi[place]
        given = self.problem.schema.hierarchies.get(column)
        occurring = {row[place] for row in self.rows}
        if given is None or given.kind == "flat":
            return {text: [text, "*"] for text in occurring}
        paths = {row[0]: list(row[: given.height + 1]) for row in given.rows}
        if None in occurring and None not in paths:
            paths[None] = [None] * given.height + ["*"]
        return paths

    def elements(self) -> itertools.product[tuple[int, ...]]:
        return itertools.product(*(range(len(next(iter(paths.values())))) for paths in self.paths))

    def look(self, row: Row, levels: tuple[int, ...]) -> Row:
        return tuple(
            paths[text][level] for paths, text, level in zip(self.paths, row, levels, strict=False)
        )

    def buckets(self, levels: tuple[int, ...]) -> list[list[Row]]:
        found: dict[Row, list[Row]] = defaultdict(list)
        for row in self.rows:
            found[self.look(row, levels)].append(row)
        return list(found.values())

    # What is required.

    def published(self, levels: tuple[int, ...]) -> list[list[Row]] | None:
        buckets = [rows for rows in self.buckets(levels) if self.keeps(rows)]
        while self.method.t is not None:
            whole = [row for rows in buckets for row in rows]
            close = [rows for rows in buckets if self.distance(rows, whole) <= self.method.t]
            if len(close) == len(buckets):
                break
            buckets = close
        n_dropped = len(self.rows) - sum(map(len, buckets))
        if n_dropped > self.limit or not buckets:
            return None
        shown = {row[-1] for rows in buckets for row in rows}
        return buckets if set(self.method.protect or ()) <= shown else None

    def values(self, rows: list[Row]) -> list[Any]:
        protect = self.method.protect
        values = [row[-1] for row in rows]
        return values if protect is None else [value in protect for value in values]

    def keeps(self, rows: list[Row]) -> bool:
        method = self.method
        if len(rows) < (method.k or 1):
            return False
        if method.alpha is not None:
            counts = Counter(row[-1] for row in rows)
            bounded = counts if method.protect is None else method.protect
            if any(Fraction(counts[value], len(rows)) > method.alpha for value in bounded):
                return False
        return method.ell is None or self.is_diverse(rows)

    def is_diverse(self, rows: list[Row]) -> bool:
        method, n = self.method, len(rows)
        ell = Fraction(method.ell)
        counts = sorted(Counter(self.values(rows)).values(), reverse=True)
        match method.diversity:
            case "distinct":
                return len(counts) >= ell
            case "frequency":
                top = counts[0] if method.protect is None else sum(self.values(rows))
                return Fraction(top, n) <= 1 / ell
            case "entropy":
                # exp(entropy)**n = n**n / product of c**c
                return Fraction(n**n, math.prod(count**count for count in counts)) >= ell**n
            case _:
                return counts[0] < Fraction(method.c) * sum(counts[int(ell) - 1 :])

    def distance(self, rows: list[Row], whole: list[Row]) -> Fraction:
        own, all_of_them = Counter(self.values(rows)), Counter(self.values(whole))
        # The missing value comes last.
        order = sorted(all_of_them, key=lambda value: (value is None, value))
        gap = {
            value: Fraction(own[value], len(rows)) - Fraction(all_of_them[value], len(whole))
            for value in order
        }
        if self.method.distance == "equal":
            return sum(map(abs, gap.values()), Fraction(0)) / 2
        if self.method.distance == "ordered":
            sums = list(itertools.accumulate(gap.values()))
            return sum(map(abs, sums), Fraction(0)) / max(len(sums) - 1, 1)
        # Mass has to move at every level at which the shares of nodes differ.
        tree = self.problem.trees["s"]
        code = {text: number for number, text in enumerate(self.problem.cells.domain("s").labels())}
        moved, height = Fraction(0), height_over(tree, [code[value] for value in order])
        for level in range(height):
            by_node: Counter[int] = Counter()
            for value, amount in gap.items():
                by_node[highest_node(tree, code[value], level)] += amount
            moved += sum(map(abs, by_node.values()), Fraction(0)) / 2
        return moved / height

    # What is lost.

    def loss(self, buckets: list[list[Row]], levels: tuple[int, ...]) -> Any:
        n, sizes = len(self.rows), list(map(len, buckets))
        n_dropped = n - sum(sizes)
        match self.method.loss:
            case "discernibility":
                return sum(size * size for size in sizes) + n * n_dropped
            case "class_size":
                return Fraction(n, len(buckets))
            case "loss":
                return self.mean_share(buckets, levels, n_dropped)
        kept = Counter(row for rows in buckets for row in rows)
        bits = [self.bits(place, level, kept) for place, level in enumerate(levels)]
        most = [self.bits(place, -1, kept) for place in range(len(levels))]
        return sum(bits) / sum(most) if sum(most) > 0 else 0.0

    def mean_share(
        self, buckets: list[list[Row]], levels: tuple[int, ...], n_dropped: int
    ) -> Fraction:
        total = Fraction(0)
        for place, (paths, level) in enumerate(zip(self.paths, levels, strict=True)):
            if len(paths) == 1:
                continue
            for row in (row for rows in buckets for row in rows):
                label = paths[row[place]][level]
                n_leaves = sum(path[level] == label for path in paths.values())
                total += Fraction(n_leaves - 1, len(paths) - 1)
            total += n_dropped
        return total / len(self.rows) / len(levels)

    def bits(self, place: int, level: int, kept: Counter[Row]) -> float:
        paths, n = self.paths[place], len(self.rows)
        own = Counter(row[place] for row in self.rows)
        labels = Counter(paths[row[place]][level] for row in self.rows)
        left = Counter(kept)
        total = 0.0
        for row in self.rows:
            among = n
            if left[row]:
                left[row] -= 1
                label = paths[row[place]][level]
                among = n if label == "*" and level == -1 else labels[label]
            total += math.log2(among / own[row[place]])
        return total

    def best(self) -> list[tuple[Any, ...]]:
        """All that can be published, best first: loss, rows left out, levels and buckets."""
        found = []
        for levels in self.elements():
            buckets = self.published(levels)
            if buckets is not None:
                n_dropped = len(self.rows) - sum(map(len, buckets))
                loss = self.loss(buckets, levels)
                if self.method.loss == "entropy":
                    loss = round(loss, 9)
                found.append((loss, n_dropped, sum(levels), levels, buckets))
        return sorted(found, key=lambda one: one[:4])


def highest_node(tree: Tree, code: int, level: int) -> int:
    """The highest node over a value up to a level; the root may follow right upon a leaf."""
    nodes = [int(nodes[tree.position[code]]) for nodes in tree.by_level[: level + 1]]
    return [node for node in nodes if node != tree.root][-1]


def height_over(tree: Tree, codes: list[int]) -> int:
    """The lowest level at which some values are all suppressed."""
    return next(
        level
        for level, nodes in enumerate(tree.by_level)
        if all(nodes[tree.position[code]] == tree.root for code in codes)
    )


def contents(plan: Plan, problem: Problem) -> list[Counter[Row]]:
    domains = problem.cells.domains
    found: list[Counter[Row]] = [Counter() for _ in range(plan.n_buckets)]
    group, _, bucket = plan.assign.expand()
    for cell, number in zip(group.tolist(), bucket.tolist(), strict=True):
        codes = problem.cells.codes[cell].tolist()
        found[number][tuple(d.text(c) for d, c in zip(domains, codes, strict=True))] += 1
    return found


def compare(problem: Problem, method: FullDomain) -> None:
    twin = Twin(problem, method)
    best = twin.best()
    if not best:
        with pytest.raises(InfeasibleError):
            method.plan(problem)
        return
    plan = method.plan(problem)
    plan.check()
    loss, n_dropped, _, levels, buckets = best[0]
    assert tuple(plan.notes["levels"].values()) == levels  # type: ignore[attr-defined]
    assert plan.notes["loss"] == pytest.approx(float(loss), abs=1e-8)
    assert plan.drop.n_rows == n_dropped
    expected = sorted(map(str, (sorted(Counter(rows).items(), key=str) for rows in buckets)))
    got = [sorted(bucket.items(), key=str) for bucket in contents(plan, problem)]
    assert sorted(map(str, got)) == expected


@given(problems(), methods())
@settings(max_examples=500, deadline=None)
def test_the_search_finds_what_a_look_at_every_element_finds(
    problem: Problem, method: FullDomain
) -> None:
    compare(problem, method)


@given(problems(), st.data())
@settings(max_examples=400, deadline=None)
def test_with_protected_values_too(problem: Problem, data: st.DataObject) -> None:
    compare(problem, data.draw(protecting_methods(problem.cells.domain("s").labels())))


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("suppress", ["0", "0.2"])
@pytest.mark.parametrize(
    "asked",
    [
        {"k": 3},
        {"ell": 2},
        {"ell": 2, "diversity": "frequency"},
        {"ell": 2, "diversity": "entropy"},
        {"ell": 2, "diversity": "recursive", "c": 2},
        {"t": "0.3"},
        {"t": "0.2", "distance": "ordered"},
        {"t": "0.2", "distance": "hierarchical"},
        {"alpha": "0.5", "k": 3},
        {"k": 2, "ell": 2, "t": "0.4"},
    ],
)
def test_every_requirement_and_loss_on_tables_where_there_is_a_choice(asked, suppress, loss):
    n_found = 0
    for seed in range(4):
        random = Random(seed)
        columns: dict[str, list[Text]] = {
            name: [f"{name}{random.randrange(size)}" for _ in range(60)]
            for name, size in (("a", 4), ("b", 3), ("c", 3))
        }
        columns["s"] = [f"s{random.randrange(4)}" for _ in range(60)]
        problem = problem_of(random, columns, [True] * 4)
        method = FullDomain(**asked, suppress=suppress, loss=loss)
        compare(problem, method)
        n_found += bool(Twin(problem, method).best())
    assert n_found


# --- what is published ------------------------------------------------------------------------


@given(problems(), methods())
@settings(max_examples=300, deadline=None)
def test_what_is_published_passes_the_independent_checks(
    problem: Problem, method: FullDomain
) -> None:
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    buckets = contents(plan, problem)
    shown = sorted({row[-1] for bucket in buckets for row in bucket if row[-1] is not None})
    has_missing = any(row[-1] is None for bucket in buckets for row in bucket)
    domain = Domain.of_texts("s", shown, has_missing=has_missing)
    entries = [
        (number, row[-1], count)
        for number, bucket in enumerate(buckets)
        for row, count in bucket.items()
    ]
    numbers, values, counts = zip(*entries, strict=True)
    made = Buckets.of_pairs(
        np.array(numbers), domain.codes_of(list(values)), domain, np.array(counts)
    )
    tree = problem.trees["s"]
    codes = problem.cells.domain("s").codes_of(domain.labels())
    published = Hierarchy.from_rows(tree.restricted_rows(tree.position[codes].tolist()))
    evidence = Evidence(made, made.sizes, published.over(domain))
    for guarantee in method.guarantees:
        assert check(guarantee, evidence).holds


@given(problems(), methods())
@settings(max_examples=300, deadline=None)
def test_labels_are_of_one_level_and_stand_for_published_values_alone(
    problem: Problem, method: FullDomain
) -> None:
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    twin, levels = Twin(problem, method), plan.notes["levels"]
    assert [r.column for r in plan.recode] == [c for c, level in levels.items() if level > 0]
    buckets = contents(plan, problem)
    for recode in plan.recode:
        place = problem.schema.quasi.index(recode.column)
        domain = problem.cells.domain(recode.column)
        paths, level = twin.paths[place], levels[recode.column]
        stands_for: dict[int, set[Text]] = defaultdict(set)
        for number, bucket in zip(recode.index.tolist(), buckets, strict=True):
            assert {paths[row[place]][level] for row in bucket} == {recode.labels[number].text}
            stands_for[number] |= {row[place] for row in bucket}
        for number, label in enumerate(recode.labels):
            members: set[Text] = {domain.text(code) for code in label.members or ()}
            assert members | ({None} if label.has_missing else set()) == stands_for[number]


@given(problems(), methods())
@settings(max_examples=100, deadline=None)
def test_compiled_and_plain_kernels_agree(problem: Problem, method: FullDomain) -> None:
    try:
        plan = method.plan(problem)
    except InfeasibleError:
        return
    lattice = kernels.load_plain("shoal.grouping._kernels")
    rules = kernels.load_plain("shoal.grouping._kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal.grouping.lattice_search.drop_failing", lattice.drop_failing)
        patch.setattr("shoal.grouping.requirements.Rules", rules.Rules)
        plain = method.plan(problem)
    assert plain.notes == plan.notes
    assert contents(plain, problem) == contents(plan, problem)


# --- distances --------------------------------------------------------------------------------


def transport(own: list[int], whole: list[int], ground: np.ndarray) -> float:
    """Solve the transport problem between two distributions."""
    size = len(own)
    leaves = np.kron(np.eye(size), np.ones(size))
    arrives = np.kron(np.ones(size), np.eye(size))
    amounts = [*(count / sum(own) for count in own), *(count / sum(whole) for count in whole)]
    solved = linprog(ground.ravel(), A_eq=np.vstack([leaves, arrives]), b_eq=amounts)
    assert solved.status == 0
    return float(solved.fun)


@given(st.integers(1, 6), seeds, st.sampled_from(["equal", "ordered", "hierarchical"]))
@settings(max_examples=300, deadline=None)
def test_distances_are_those_of_the_transport_problem(
    size: int, random: Random, distance: str
) -> None:
    whole = [random.randint(1, 9) for _ in range(size)]
    own = [random.randint(0, most) for most in whole]
    own[0] = max(own[0], 1)
    texts: list[Text] = [f"s{number}" for number in range(size)]
    tree = random_hierarchy(random, "s", texts).over(
        Domain.of_texts("s", [f"s{i}" for i in range(size)])
    )
    place = np.arange(size)
    # Two values are as far apart as the level of their lowest common ancestor.
    met = tree.level[tree.common_ancestors(*np.meshgrid(tree.position, tree.position))]
    height = height_over(tree, place.tolist())
    ground = {
        "equal": (place[:, np.newaxis] != place).astype(float),
        "ordered": np.abs(place[:, np.newaxis] - place) / max(size - 1, 1),
        "hierarchical": np.minimum(met, height) / height,
    }[distance]
    limits = Limits.of_guarantees(
        [TCloseness(t=0, distance=distance)], np.array(whole), tree, tree.position[place]
    )
    assert float(distance_between(limits, own)) == pytest.approx(
        transport(own, whole, ground), abs=1e-9
    )
