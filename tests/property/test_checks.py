"""Every checker against a slow twin that follows the definition, on small random releases.

The twins know nothing of arrays: a bucket is a list of counts, one for each value of the domain,
and every number is a fraction. The earth mover's distances are solved as linear programs, too.
"""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from shoal.checks import (
    Evidence,
    anonymity,
    check,
    closeness,
    distinct_diversity,
    entropy_diversity,
    frequency_diversity,
    largest_share,
    recursive_diversity,
)
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.core.guarantees import (
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.tree import NO_GROUP, Level, grow_tree

thorough = settings(max_examples=200, deadline=None)
medium = settings(max_examples=100, deadline=None)
quick = settings(max_examples=50, deadline=None)

HAIR = Fraction(1, 10**40)
TEXTS = ["", " ", "a", "A", "\u00e4", "a\u0308", "\u6f22", "\U0001f41f", "null", "NaN", "0", "-1"]


# --- releases ------------------------------------------------------------------------------------


def release(matrix, has_missing=False):
    """Make buckets from counts, one row a bucket and one column a value."""
    matrix = np.asarray(matrix, dtype=np.int64)
    n_values = matrix.shape[1]
    n_texts = n_values - has_missing
    texts = TEXTS[:n_texts] + [f"value {code}" for code in range(len(TEXTS), n_texts)]
    domain = Domain.of_texts("disease", texts, has_missing=has_missing)
    bucket, value = np.nonzero(matrix)
    return Buckets.of_pairs(bucket, value, domain, matrix[bucket, value])


def rows_of(n_values, largest):
    counts = st.lists(st.integers(0, largest), min_size=n_values, max_size=n_values)
    return counts.filter(any)


@st.composite
def matrices(draw, most_values=6, largest=5, most_buckets=6):
    n_values = draw(st.integers(1, most_values))
    row = rows_of(n_values, largest)
    rows = draw(st.lists(row, min_size=1, max_size=most_buckets))
    kind = draw(st.sampled_from(["as drawn", "all equal", "one row each", "huge", "scaled"]))
    if kind == "all equal":
        return [rows[0]] * len(rows)
    if kind == "one row each":
        return [[int(code == index % n_values) for code in range(n_values)] for index in range(4)]
    if kind == "huge":
        return [[count * (10**15 + code) for code, count in enumerate(row)] for row in rows]
    if kind == "scaled":
        factors = draw(st.lists(st.integers(1, 9), min_size=len(rows), max_size=len(rows)))
        return [[count * f for count in row] for f, row in zip(factors, rows, strict=True)]
    return rows


@st.composite
def releases(draw, **limits):
    matrix = draw(matrices(**limits))
    return matrix, release(matrix, has_missing=draw(st.booleans()))


@st.composite
def protections(draw, buckets):
    """Draw codes to protect, and texts that name them and sometimes values not in the domain."""
    codes = draw(st.sets(st.integers(0, buckets.domain.size - 1)))
    texts = [buckets.domain.text(code) for code in sorted(codes)]
    absent = draw(st.booleans()) or not texts
    return codes, texts + ["not in the domain"] * absent


@st.composite
def trees(draw, domain):
    """Draw nested groups, some of them suppressed before the root."""
    codes = list(range(domain.size))
    levels = []
    for _ in range(draw(st.integers(0, 3))):
        if levels:
            above = {group: draw(st.integers(-1, 3)) for group in sorted(set(levels[-1]))}
            groups = [NO_GROUP if g == NO_GROUP else above[g] for g in levels[-1]]
        else:
            groups = [draw(st.integers(-1, 4)) for _ in codes]
        levels.append(groups)
    labelled = []
    for number, groups in enumerate(levels):
        renumbered = {g: i for i, g in enumerate(sorted(set(groups) - {NO_GROUP}))}
        array = np.array([renumbered.get(g, NO_GROUP) for g in groups], dtype=np.int64)
        members = [frozenset(c for c in codes if array[c] == i) for i in range(len(renumbered))]
        labelled.append(Level(array, [f"level {number} group {sorted(m)}" for m in members]))
    return grow_tree(domain, labelled)


def judge(guarantee, buckets, tree=None):
    verdict = check(guarantee, Evidence.of_buckets(buckets, tree))
    assert verdict.holds is (verdict.n_failing == 0)
    assert verdict.n_buckets == buckets.n_buckets
    return verdict


# --- twins ---------------------------------------------------------------------------------------


def descending(row):
    return sorted((count for count in row if count), reverse=True)


def surpluses(row, matrix):
    n_rows = sum(map(sum, matrix))
    totals = map(sum, zip(*matrix, strict=True))
    return [Fraction(c, sum(row)) - Fraction(t, n_rows) for c, t in zip(row, totals, strict=True)]


def equal_distance(surplus):
    return sum(map(abs, surplus)) / 2


def ordered_distance(surplus):
    if len(surplus) == 1:
        return Fraction(0)
    return sum(abs(sum(surplus[: i + 1])) for i in range(len(surplus))) / (len(surplus) - 1)


def hierarchical_distance(surplus, tree):
    """[Li07] Section 4: the sum over inner nodes of level / height times min(pos, neg)."""
    extra = [sum(surplus[code] for code in tree.members(node)) for node in range(tree.n_nodes)]
    cost = Fraction(0)
    for node in range(tree.n_nodes):
        children = [extra[child] for child in np.flatnonzero(tree.parent == node)]
        positive = sum(e for e in children if e > 0)
        negative = -sum(e for e in children if e < 0)
        cost += Fraction(int(tree.level[node]), tree.height) * min(positive, negative)
    return cost


def protected_distance(surplus, codes):
    return abs(sum(surplus[code] for code in codes))


def earth_movers_distance(surplus, ground):
    """Solve the transport problem itself: move what is too much to where it is lacking."""
    sources = [i for i, s in enumerate(surplus) if s > 0]
    sinks = [i for i, s in enumerate(surplus) if s < 0]
    if not sources:
        return 0.0
    cost = [float(ground(i, j)) for i in sources for j in sinks]
    leaves = np.kron(np.eye(len(sources)), np.ones(len(sinks)))
    arrives = np.kron(np.ones(len(sources)), np.eye(len(sinks)))
    amounts = [float(surplus[i]) for i in sources] + [float(-surplus[j]) for j in sinks]
    solved = linprog(cost, A_eq=np.vstack([leaves, arrives]), b_eq=amounts)
    assert solved.status == 0
    return solved.fun


def lowest_common_level(tree, one, other):
    """Climb from both leaves, always from the lower node, until they meet."""
    a, b = (int(tree.leaf_node[tree.position[code]]) for code in (one, other))
    while a != b:
        if tree.level[a] <= tree.level[b]:
            a = int(tree.parent[a])
        else:
            b = int(tree.parent[b])
    return int(tree.level[a])


def has_entropy(row, ell):
    n_rows = sum(row)
    left = n_rows**n_rows * ell.denominator**n_rows
    return left >= ell.numerator**n_rows * math.prod(count**count for count in row if count)


# --- counts of rows and values -------------------------------------------------------------------


@given(releases(), st.integers(1, 12))
@quick
def test_sizes_are_those_of_the_definition(drawn, k):
    matrix, buckets = drawn
    sizes = [sum(row) for row in matrix]
    assert anonymity(buckets.sizes) == min(sizes)
    for guarantee in (KAnonymity(k=k), BucketSize(k=k)):
        assert judge(guarantee, buckets).n_failing == sum(size < k for size in sizes)


@given(releases(), st.integers(1, 7))
@quick
def test_distinct_diversity_is_that_of_the_definition(drawn, ell):
    matrix, buckets = drawn
    numbers = [len(descending(row)) for row in matrix]
    assert distinct_diversity(buckets) == min(numbers)
    assert judge(DistinctDiversity(ell=ell), buckets).n_failing == sum(n < ell for n in numbers)


# --- shares --------------------------------------------------------------------------------------


@given(releases(), st.data())
@thorough
def test_frequency_diversity_is_that_of_the_definition(drawn, data):
    matrix, buckets = drawn
    ells = [Fraction(sum(row), max(row)) for row in matrix]
    assert frequency_diversity(buckets) == min(ells)
    # A bucket's own ell is a tie in that bucket.
    for ell in (data.draw(st.sampled_from(ells)), data.draw(st.fractions(1, 7))):
        for asked in (ell, ell + HAIR):
            failing = judge(FrequencyDiversity(ell=asked), buckets).n_failing
            assert failing == sum(own < asked for own in ells)


@given(releases(), st.data())
@thorough
def test_protected_frequency_diversity_is_that_of_the_definition(drawn, data):
    matrix, buckets = drawn
    codes, protect = data.draw(protections(buckets))
    shares = [Fraction(sum(row[code] for code in codes), sum(row)) for row in matrix]
    found = frequency_diversity(buckets, protect)
    assert (0 if found is None else 1 / found) == max(shares)
    for share in filter(None, shares):
        for asked in (1 / share, 1 / share + HAIR):
            failing = judge(FrequencyDiversity(ell=asked, protect=protect), buckets).n_failing
            assert failing == sum(own * asked > 1 for own in shares)


@given(releases(), st.data(), st.integers(1, 12))
@thorough
def test_alpha_k_is_that_of_the_definition(drawn, data, k):
    matrix, buckets = drawn
    codes, protect = data.draw(st.just((range(buckets.domain.size), ())) | protections(buckets))
    shares = [Fraction(max((row[code] for code in codes), default=0), sum(row)) for row in matrix]
    assert largest_share(buckets, protect) == max(shares)
    for share in filter(None, shares):
        for asked in (share, share - share * HAIR):
            verdict = judge(AlphaK(alpha=asked, k=k, protect=protect), buckets)
            assert verdict.n_failing == sum(
                own > asked or sum(row) < k for own, row in zip(shares, matrix, strict=True)
            )


@given(releases(), st.integers(2, 7), st.data())
@thorough
def test_recursive_diversity_is_that_of_the_definition(drawn, ell, data):
    matrix, buckets = drawn
    pairs = [(max(row), sum(descending(row)[ell - 1 :])) for row in matrix]
    found = recursive_diversity(buckets, ell)
    if all(tail for _, tail in pairs):
        assert found == max(Fraction(most, tail) for most, tail in pairs)
    else:
        assert found is None
    ratios = [Fraction(most, tail) for most, tail in pairs if tail] or [Fraction(1)]
    for c in (data.draw(st.sampled_from(ratios)), data.draw(st.fractions(Fraction(1, 9), 9))):
        for asked in (c, c + HAIR):
            failing = judge(RecursiveDiversity(c=asked, ell=ell), buckets).n_failing
            assert failing == sum(not most < asked * tail for most, tail in pairs)


# --- entropy -------------------------------------------------------------------------------------


@given(releases(largest=9).filter(lambda drawn: drawn[1].sizes.max() < 500), st.data())
@thorough
def test_entropy_diversity_is_that_of_the_definition(drawn, data):
    matrix, buckets = drawn
    numbers = [Fraction(len(descending(row))) for row in matrix]
    close = Fraction(entropy_diversity(buckets))
    for ell in (data.draw(st.sampled_from(numbers)), data.draw(st.fractions(1, 7)), close):
        for asked in (ell, ell + Fraction(1, 10**20)):
            if asked >= 1:
                failing = judge(EntropyDiversity(ell=asked), buckets).n_failing
                assert failing == sum(not has_entropy(row, asked) for row in matrix)


@given(releases(largest=9))
@quick
def test_entropy_reached_is_the_strongest_of_six_decimals(drawn):
    _, buckets = drawn
    reached = Fraction(judge(EntropyDiversity(ell=1), buckets).reached["ell"])
    assert judge(EntropyDiversity(ell=reached), buckets).holds
    assert not judge(EntropyDiversity(ell=reached + Fraction(1, 10**6)), buckets).holds


@given(releases(largest=9))
@quick
def test_entropy_diversity_is_close_to_the_floats_of_the_definition(drawn):
    matrix, buckets = drawn
    shares = [[count / sum(row) for count in descending(row)] for row in matrix]
    entropies = [-sum(share * math.log(share) for share in row) for row in shares]
    assert entropy_diversity(buckets) == pytest.approx(math.exp(min(entropies)))


# --- t-closeness ---------------------------------------------------------------------------------


KINDS = ["equal", "ordered", "hierarchical", "protect"]


@st.composite
def distances(draw, buckets, kind):
    """Draw a ground distance: parameters, tree, twin, and the distance of two values."""
    if kind == "equal":
        return {}, None, equal_distance, lambda i, j: i != j
    if kind == "ordered":
        span = max(buckets.domain.size - 1, 1)
        return {"distance": kind}, None, ordered_distance, lambda i, j: abs(i - j) / span
    if kind == "protect":
        codes, protect = draw(protections(buckets))
        return (
            {"protect": protect},
            None,
            lambda surplus: protected_distance(surplus, codes),
            lambda i, j: (i in codes) != (j in codes),
        )
    tree = draw(trees(buckets.domain))
    return (
        {"distance": kind},
        tree,
        lambda surplus: hierarchical_distance(surplus, tree),
        lambda i, j: lowest_common_level(tree, i, j) / tree.height,
    )


@pytest.mark.parametrize("kind", KINDS)
@given(drawn=releases(), data=st.data())
@medium
def test_closeness_is_that_of_the_definition(kind, drawn, data):
    matrix, buckets = drawn
    parameters, tree, twin, _ = data.draw(distances(buckets, kind))
    expected = [twin(surpluses(row, matrix)) for row in matrix]
    assert closeness(buckets, tree=tree, **parameters) == max(expected)
    for t in {*expected, data.draw(st.fractions(0, 1))}:
        for asked in (t, max(t - HAIR, Fraction(0))):
            verdict = judge(TCloseness(t=asked, **parameters), buckets, tree)
            assert verdict.n_failing == sum(own > asked for own in expected)
            assert Fraction(verdict.reached["t"]) == max(expected)


@pytest.mark.parametrize("kind", KINDS)
@given(drawn=releases(most_buckets=3), data=st.data())
@medium
def test_closeness_is_the_least_cost_of_moving_earth(kind, drawn, data):
    matrix, buckets = drawn
    parameters, tree, _, ground = data.draw(distances(buckets, kind))
    costs = [earth_movers_distance(surpluses(row, matrix), ground) for row in matrix]
    assert float(closeness(buckets, tree=tree, **parameters)) == pytest.approx(max(costs), abs=1e-9)


@pytest.mark.parametrize("kind", KINDS)
@given(drawn=releases(), data=st.data())
@quick
def test_the_order_of_buckets_does_not_matter(kind, drawn, data):
    matrix, buckets = drawn
    shuffled = release(data.draw(st.permutations(matrix)), buckets.domain.has_missing)
    parameters, tree, _, _ = data.draw(distances(buckets, kind))
    assert closeness(buckets, tree=tree, **parameters) == closeness(
        shuffled, tree=tree, **parameters
    )


@pytest.mark.parametrize("kind", KINDS)
@given(drawn=releases(), data=st.data())
@quick
def test_merging_buckets_never_weakens_what_is_closed_under_union(kind, drawn, data):
    matrix, buckets = drawn
    merged = release([[*map(sum, zip(*matrix, strict=True))]], buckets.domain.has_missing)
    parameters, tree, _, _ = data.draw(distances(buckets, kind))
    assert closeness(merged, tree=tree, **parameters) == 0
    assert frequency_diversity(merged) >= frequency_diversity(buckets)
    assert distinct_diversity(merged) >= distinct_diversity(buckets)
    assert anonymity(merged.sizes) >= anonymity(buckets.sizes)


# --- wider releases, from a seed -----------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_thousand_small_releases_agree_with_the_definitions(seed):
    rng = np.random.default_rng(seed)
    for _ in range(1000):
        shape = rng.integers(1, 4), rng.integers(1, 5)
        matrix = rng.integers(0, 3, size=shape)
        matrix[np.arange(shape[0]), rng.integers(0, shape[1], shape[0])] += 1
        rows = matrix.tolist()
        buckets = release(rows)
        surplus = [surpluses(row, rows) for row in rows]
        assert closeness(buckets) == max(map(equal_distance, surplus))
        assert closeness(buckets, "ordered") == max(map(ordered_distance, surplus))
        assert frequency_diversity(buckets) == min(Fraction(sum(row), max(row)) for row in rows)
        assert distinct_diversity(buckets) == min(len(descending(row)) for row in rows)
        assert judge(EntropyDiversity(ell=2), buckets).n_failing == sum(
            not has_entropy(row, Fraction(2)) for row in rows
        )
        assert judge(RecursiveDiversity(c=2, ell=2), buckets).n_failing == sum(
            max(row) >= 2 * sum(descending(row)[1:]) for row in rows
        )


@pytest.mark.parametrize("seed", range(6))
def test_many_values_agree_with_the_definitions(seed):
    rng = np.random.default_rng(seed)
    n_values = int(rng.integers(65, 200))
    matrix = rng.integers(0, 4, size=(12, n_values)) * (rng.random((12, n_values)) < 0.1)
    matrix[:, rng.choice(n_values, 3, replace=False)] += 1
    rows = matrix.tolist()
    buckets = release(rows, has_missing=bool(seed % 2))
    _, groups = np.unique(rng.integers(0, 20, n_values), return_inverse=True)
    lower = Level(groups, [f"lower {group}" for group in range(groups.max() + 1)])
    upper = Level(groups // 4, [f"upper {group}" for group in range(groups.max() // 4 + 1)])
    tree = grow_tree(buckets.domain, [lower, upper])
    surplus = [surpluses(row, rows) for row in rows]
    assert closeness(buckets) == max(map(equal_distance, surplus))
    assert closeness(buckets, "ordered") == max(map(ordered_distance, surplus))
    assert closeness(buckets, "hierarchical", tree=tree) == max(
        hierarchical_distance(row, tree) for row in surplus
    )
    assert frequency_diversity(buckets) == min(Fraction(sum(row), max(row)) for row in rows)
    assert recursive_diversity(buckets, 3) == max(
        Fraction(max(row), sum(descending(row)[2:])) for row in rows
    )
