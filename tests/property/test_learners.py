"""Models and expected tables, compared with plain ones on small random tables."""

from __future__ import annotations

import itertools
from collections import Counter
from fractions import Fraction
from math import prod

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from small_releases import HIDE, bucketized, cells_of, generalized, sliced

from shoal.core.domain import ColumnType, Domain
from shoal.core.kernels import load_plain
from shoal.utility import learners
from shoal.utility.estimated import Estimated, Grouping
from shoal.utility.expected_tree import Tables
from shoal.utility.learners import Boosted, Examples, learn, rows_of_leaf

ORDERED = Domain.of_texts("size", ["1", "2", "3", "4", "5", "6"], type=ColumnType.ORDERED)
PLAIN = Domain.of_texts("job", ["baker", "clerk", "ñurse", "x"])
MANY = Domain.of_texts("town", [f"t{place:03}" for place in range(70)])
DOMAINS = (ORDERED, PLAIN, MANY)

ROWS = st.lists(
    st.tuples(st.integers(0, 5), st.integers(0, 3), st.integers(0, 69), st.integers(0, 3)),
    min_size=1,
    max_size=70,
)


def examples_of(drawn, domains=DOMAINS):
    rows = np.array(drawn, dtype=np.int64)
    counts = np.ones(len(rows), dtype=np.int64)
    return Examples.of_rows(domains, rows[:, : len(domains)], rows[:, -1], counts)


def everything():
    """Return rows of features beyond those that were learned from."""
    return np.array(list(itertools.product(range(6), range(4), range(0, 70, 9))), dtype=np.int64)


# --- the tree -------------------------------------------------------------------------------------


def plain_tree(rows, least):
    """Grow a tree from rows of features and a class, as a function that returns a class."""
    counted = Counter(row[-1] for row in rows)
    most = min(counted, key=lambda label: (-counted[label], label))
    best, chosen = Fraction(-1), None
    if len(counted) > 1 and len(rows) >= 2 * least:
        for place, domain in enumerate(DOMAINS):
            for goes_left in plain_splits(domain, sorted({row[place] for row in rows})):
                sides = [[row for row in rows if goes_left(row[place]) is side] for side in (1, 0)]
                if min(map(len, sides)) >= least:
                    purity = sum(
                        Fraction(n * n, len(side))
                        for side in sides
                        for n in Counter(row[-1] for row in side).values()
                    )
                    if purity > best:
                        best, chosen = purity, (place, goes_left, sides)
    if chosen is None:
        return lambda _: most
    place, goes_left, sides = chosen
    left, right = (plain_tree(side, least) for side in sides)
    return lambda row: left(row) if goes_left(row[place]) else right(row)


def plain_splits(domain, codes):
    if domain.type.has_order or domain.size > 64:
        pairs = itertools.pairwise(codes)
        return [lambda code, cut=one + other: int(2 * code <= cut) for one, other in pairs]
    return [lambda code, own=own: int(code == own) for own in codes]


@given(ROWS)
def test_a_tree_is_the_one_that_is_grown_by_the_definition(drawn):
    expected = plain_tree(drawn, rows_of_leaf(len(drawn)))
    found = learn("tree", examples_of(drawn))(everything())
    assert found.tolist() == [expected(row) for row in everything().tolist()]


# --- boosting -------------------------------------------------------------------------------------


def plain_boosting_tree(slopes, curvatures, features, domains, sizes, least):
    """Grow a tree of at most 15 leaves, best split first; returns the value of each row's leaf."""
    leaves = [(0.0, np.arange(len(slopes)))]
    known = {}
    while len(leaves) < 15:
        splits = []
        for value, members in leaves:
            key = members.tobytes()
            if key not in known:
                known[key] = plain_split(
                    value, members, slopes, curvatures, features, domains, sizes, least
                )
            splits.append(known[key])
        # Nodes that are split first have gains that are larger by more than rounding.
        best = max(range(len(leaves)), key=lambda at: (round(splits[at][0], 7), -at))
        if splits[best][0] <= 1e-9:
            break
        _, left, right = splits[best]
        leaves[best : best + 1] = []
        leaves += [(newton(slopes, curvatures, side), side) for side in (left, right)]
    out = np.zeros(len(slopes))
    for value, members in leaves:
        out[members] = value
    return out


def newton(slopes, curvatures, members):
    return -slopes[members].sum() / (curvatures[members].sum() + 10.0)


def plain_split(value, members, slopes, curvatures, features, domains, sizes, least):
    best = (0.0, None, None)
    n_rows, total = sizes[members].sum(), curvatures[members].sum()
    for place, domain in enumerate(domains):
        codes = features[members, place]
        seen = np.unique(codes).tolist()
        if domain.type.has_order:
            tried = [seen[:length] for length in range(1, len(seen))]
        else:
            ratio = {}
            for code in seen:
                own = members[codes == code]
                if curvatures[own].sum() * n_rows / total >= 10 - 1e-9:
                    ratio[code] = slopes[own].sum() / (curvatures[own].sum() + 10)
            ranked = sorted(ratio, key=lambda code: (round(ratio[code], 9), code))
            half = (len(ranked) + 1) // 2
            tried = [ranked[:length] for length in range(1, half + 1)]
            tried += [ranked[-length:] for length in range(1, half)]
        for chosen in tried:
            if not 0 < len(chosen) < len(seen):
                continue
            is_left = np.isin(codes, chosen)
            left, right = members[is_left], members[~is_left]
            if min(sizes[left].sum(), sizes[right].sum()) < least:
                continue
            if min(curvatures[left].sum(), curvatures[right].sum()) < 1e-3:
                continue
            gain = slopes[members].sum() * value - sum(
                slopes[side].sum() * newton(slopes, curvatures, side) for side in (left, right)
            )
            if gain > best[0] + 1e-9:
                best = (gain, left, right)
    return best


def plain_scores(drawn, domains, n_rounds):
    """Return the scores of the distinct rows after some rounds, one line per class."""
    examples = examples_of(drawn, domains)
    sizes = np.bincount(examples.kind, examples.count)
    labels = np.zeros((len(examples.classes), len(sizes)))
    labels[examples.label, examples.kind] = examples.count
    share = labels.sum(axis=1) / sizes.sum()
    is_binary = len(share) == 2
    scores = np.log(share[1:] / share[0]) if is_binary else np.log(share)
    scores = np.repeat(scores[:, np.newaxis], len(sizes), axis=1)
    for _ in range(n_rounds):
        whole = np.vstack([np.zeros(len(sizes)), scores]) if is_binary else scores
        likely = np.exp(whole) / np.exp(whole).sum(axis=0)
        for place in range(len(scores)):
            p, own = likely[place - len(scores)], labels[place - len(scores)]
            tree = plain_boosting_tree(
                p * sizes - own, p * (1 - p) * sizes, examples.features, domains, sizes, 20
            )
            scores[place] += 0.25 * tree
    return examples, scores


def many_rows(seed, n_classes, n_rows, n_towns=1):
    """Draw rows whose classes depend on the features."""
    generator = np.random.default_rng(seed)
    job, size = generator.integers(0, 4, n_rows), generator.integers(0, 6, n_rows)
    # Some towns are frequent enough to be told from the others.
    town = (generator.integers(0, n_towns, n_rows) * generator.random(n_rows)).astype(int)
    noise = generator.integers(0, 3, n_rows)
    label = (job + size // 2 + town % 2 + noise) % n_classes
    return np.column_stack([size, job, town, label]).tolist()


def few_rounds(patch, n_rounds):
    patch.setattr(learners, "_FEWEST_ROUNDS", n_rounds)
    patch.setattr(learners, "_MOST_ROUNDS", n_rounds)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
@given(seed=st.integers(0, 10_000), n_rows=st.integers(100, 400), n_towns=st.sampled_from([1, 70]))
def test_boosted_trees_are_those_that_are_grown_by_the_definition(n_classes, seed, n_rows, n_towns):
    drawn = many_rows(seed, n_classes, n_rows, n_towns)
    assume(len({row[-1] for row in drawn}) == n_classes)
    examples, expected = plain_scores(drawn, DOMAINS, 3)
    with pytest.MonkeyPatch.context() as patch:
        few_rounds(patch, 3)
        found = Boosted.fit(examples)
    scores = found.scores(examples.features)
    assert scores == pytest.approx(expected, abs=1e-6)
    # They have learned something.
    assert np.ptp(scores) > 0


@given(ROWS, st.data())
def test_counted_rows_are_learned_from_as_if_they_were_repeated(drawn, data):
    rows = np.array(drawn, dtype=np.int64)
    counts = np.array(data.draw(st.lists(st.integers(1, 5), **exactly(len(rows)))))
    counted = Examples.of_rows(DOMAINS, rows[:, :-1], rows[:, -1], counts)
    repeated = examples_of(np.repeat(rows, counts, axis=0))
    assert counted.n_rows == counts.sum()
    for name in ("classes", "features", "kind", "label", "count", "of_class"):
        assert getattr(counted, name).tolist() == getattr(repeated, name).tolist()
    seen = Counter()
    for row, count in zip(drawn, counts.tolist(), strict=True):
        seen[row] += count
    entries = zip(counted.kind, counted.label, counted.count.tolist(), strict=True)
    assert seen == {
        (*counted.features[kind].tolist(), counted.classes[label]): count
        for kind, label, count in entries
    }


def test_values_whose_ratios_differ_by_rounding_alone_are_tried_in_their_order():
    # The last job is the one to tell from the others, and has too few rows: two of the others,
    # which are alike, are told from the rest instead.
    rows = [(0, job, 0, label) for job in range(3) for label in [0] * 17 + [1] * 13]
    rows += [(0, 3, 0, 1)] * 15
    examples = examples_of(rows)
    found, real = [], learners._probabilities
    for shaken in (0.0, 1e-14, -1e-14):

        def shaking(scores, by=shaken):
            likely = real(scores)
            return likely * (1 + by * np.arange(likely.shape[1]))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(learners, "_probabilities", shaking)
            found.append(Boosted.fit(examples).trees)
    for tree in found[1:]:
        assert np.array_equal(tree.feature, found[0].feature)
        assert np.array_equal(tree.goes_left, found[0].goes_left)


def test_values_that_were_not_seen_go_where_most_rows_go():
    drawn = [(0, place % 3, place % 3 // 2) for place in range(300)]
    predict = learn("boosting", examples_of(drawn, DOMAINS[:2]))
    assert predict(np.array([[0, 0], [0, 1], [0, 2], [5, 3]])).tolist() == [0, 0, 1, 0]


def test_a_column_of_many_ordered_values_is_learned_by_runs():
    domain = Domain.of_texts("n", [f"{place:04}" for place in range(1200)], type=ColumnType.ORDERED)
    rows = np.arange(1200)[:, np.newaxis]
    classes = (rows[:, 0] >= 700).astype(np.int64)
    examples = Examples.of_rows([domain], rows, classes, np.ones(1200, dtype=np.int64))
    found = learn("boosting", examples)(rows)
    # Runs of at most five values: only those around the border may be wrong.
    assert np.count_nonzero(found != classes) <= 5


@given(ROWS)
def test_a_tree_is_the_same_in_plain_python(drawn):
    compiled = learn("tree", examples_of(drawn))(everything())
    plain = load_plain("shoal.utility._tree_kernels")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learners, "GiniGrower", plain.GiniGrower)
        patch.setattr(learners, "find_leaves", plain.find_leaves)
        assert learn("tree", examples_of(drawn))(everything()).tolist() == compiled.tolist()


@pytest.mark.parametrize("n_classes", [2, 3])
@given(seed=st.integers(0, 10_000), n_rows=st.integers(30, 120))
def test_boosting_is_the_same_in_plain_python(n_classes, seed, n_rows):
    drawn = many_rows(seed, n_classes, n_rows, 70)
    assume(len({row[-1] for row in drawn}) == n_classes)
    plain = load_plain("shoal.utility._boosting_kernels")
    with pytest.MonkeyPatch.context() as patch:
        few_rounds(patch, 2)
        compiled = Boosted.fit(examples_of(drawn)).scores(everything())
        patch.setattr(learners, "BoostingGrower", plain.BoostingGrower)
        patch.setattr(learners, "add_scores", plain.add_scores)
        assert np.array_equal(Boosted.fit(examples_of(drawn)).scores(everything()), compiled)


# --- naive Bayes ----------------------------------------------------------------------------------


@given(ROWS)
def test_bayes_multiplies_the_smoothed_shares_of_each_value_in_each_class(drawn):
    of_class = Counter(row[-1] for row in drawn)
    assume(len(of_class) > 1)
    found = learn("bayes", examples_of(drawn))(everything())
    for row, chosen in zip(everything().tolist(), found.tolist(), strict=True):
        likely = {
            label: Fraction(n_rows)
            * prod(
                Fraction(
                    1 + sum(one[place] == row[place] and one[-1] == label for one in drawn),
                    n_rows + domain.size,
                )
                for place, domain in enumerate(DOMAINS)
            )
            for label, n_rows in of_class.items()
        }
        most = max(likely.values())
        tied = [label for label, p in likely.items() if p > most * (1 - Fraction(1, 10**7))]
        assert chosen == min(tied) if len({likely[one] for one in tied}) == 1 else chosen in tied


# --- scikit-learn's models ------------------------------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 5])
def test_models_are_about_as_right_as_those_of_scikit_learn(n_classes):
    ensemble = pytest.importorskip("sklearn.ensemble")
    bayes = pytest.importorskip("sklearn.naive_bayes")
    domains, rows = DOMAINS[:2], np.array(many_rows(7, n_classes, 3000))[:, [0, 1, 3]]
    examples = examples_of(rows, domains)
    features, classes = rows[:, :2], rows[:, 2]
    boosted = ensemble.HistGradientBoostingClassifier(
        max_iter=30,
        max_leaf_nodes=15,
        learning_rate=0.25,
        l2_regularization=10.0,
        categorical_features=[False, True],
        early_stopping=False,
    )
    for model, theirs in (("boosting", boosted), ("bayes", bayes.CategoricalNB())):
        expected = theirs.fit(features, classes).predict(features)
        found = learn(model, examples)(features)
        # Single precision decides between splits that are equally good.
        assert np.mean(found == expected) > 0.98


# --- expected tables ------------------------------------------------------------------------------

COLUMNS = ["age", "job", "disease"]


def plain_tables(estimated, names, path):
    """Sum the table of all combinations over what the path admits."""
    groupings = {
        domain.column: Grouping(np.arange(domain.size), domain.size)
        for domain in estimated.truth.domains
    }
    table = estimated.table(COLUMNS, groupings)
    for axis, name in enumerate(COLUMNS):
        if name in path:
            table = table * path[name].reshape([-1 if axis == at else 1 for at in range(3)])
    (left_out,) = (axis for axis, name in enumerate(COLUMNS) if name not in names)
    table = table.sum(axis=left_out)
    return table if COLUMNS.index(names[0]) < COLUMNS.index(names[1]) else table.T


@given(st.lists(st.tuples(*[st.integers(0, 2)] * 4), min_size=1, max_size=8), st.data())
def test_tables_under_conditions_are_those_of_all_combinations(drawn, data):
    rows = [(20 + age, f"job {job}", f"ill {ill}") for age, job, ill, _ in drawn]
    truth, buckets = cells_of(COLUMNS, rows), [row[3] + 1 for row in drawn]
    path = {
        domain.column: np.array(data.draw(st.lists(st.booleans(), **exactly(domain.size))))
        for domain in truth.domains
        if data.draw(st.booleans())
    }
    for published in (
        bucketized(COLUMNS, rows, buckets),
        generalized(COLUMNS, [(HIDE, *row[1:]) for row in rows]),
        sliced(COLUMNS, rows, buckets, [["age"], ["job"], ["disease"]], "disease"),
        sliced(COLUMNS, rows, buckets, [["age", "disease"], ["job"]], "disease"),
    ):
        estimated = Estimated(published, truth)
        for names in itertools.permutations(COLUMNS, 2):
            found = Tables.of_release(estimated).expected(*names, path)
            assert found == pytest.approx(plain_tables(estimated, names, path))


def exactly(size):
    return {"min_size": size, "max_size": size}
