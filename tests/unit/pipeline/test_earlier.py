"""Two releases of one table, intersected."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import shoal
from shoal.core.cells import Buckets
from shoal.core.domain import Domain
from shoal.knowledge.intersection import View, intersect

N_ROWS = 200


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(3)
    return {
        "no": [f"p{row}" for row in range(N_ROWS)],
        "age": rng.integers(20, 60, N_ROWS).tolist(),
        "town": [f"t{code}" for code in rng.integers(0, 5, N_ROWS)],
        "illness": [f"i{code}" for code in rng.integers(0, 8, N_ROWS)],
    }


SCHEMA = shoal.Schema(quasi=["age", "town"], sensitive="illness", key="no")
METHODS = {
    "anatomy": shoal.Anatomy(ell=4),
    "mondrian": shoal.Mondrian(k=4, ell=3),
    "slicing": shoal.Slicing(ell=3, columns="bucketized"),
}


@pytest.fixture(scope="module")
def folders(columns, tmp_path_factory):
    place = tmp_path_factory.mktemp("releases")
    table = shoal.read(columns, SCHEMA)
    return {
        (name, seed): shoal.anonymize(table, method, seed=seed).write(place / f"{name}{seed}")
        for name, method in METHODS.items()
        for seed in (1, 2)
    }


def values_by_row(folder, columns):
    """Give for each row the illnesses of its bucket, by the internal placement alone."""
    release = shoal.open_release(folder)
    placed = release.files.engine.rows(
        f"SELECT row_key, bucket FROM '{folder.with_name(folder.name + '.internal')}/"
        "placement.parquet'"
    )
    bucket = dict(zip(placed["row_key"].tolist(), placed["bucket"].tolist(), strict=True))
    held = {}
    for key, illness in zip(columns["no"], columns["illness"], strict=True):
        held.setdefault(bucket[key], Counter())[illness] += 1
    return {key: held[bucket[key]] for key in columns["no"]}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("anatomy", 1), ("anatomy", 2)),
        (("anatomy", 1), ("mondrian", 1)),
        (("slicing", 1), ("anatomy", 2)),
        (("mondrian", 2), ("slicing", 2)),
    ],
)
def test_both_releases_together_say_what_their_buckets_do(folders, columns, one, other):
    report = shoal.attack(folders[one], *shoal_attacks(one[0]), earlier=folders[other])
    found = report["intersection"]
    mine, theirs = (values_by_row(folders[which], columns) for which in (one, other))
    prior = Counter(columns["illness"])
    worst, certain = Fraction(0), 0
    for key in columns["no"]:
        weights = {
            value: Fraction(n * theirs[key][value], prior[value]) for value, n in mine[key].items()
        }
        largest = max(weights.values()) / sum(weights.values())
        worst = max(worst, largest)
        certain += largest == 1
    assert found.n_people == N_ROWS
    assert found.worst == pytest.approx(float(worst))
    assert found.headline["people certain"] == certain
    assert found.headline["people whom no value fits"] == 0


def shoal_attacks(name):
    one = shoal.attacks.SlicedLinkage() if name == "slicing" else shoal.attacks.Homogeneity()
    return (one,)


def test_a_release_and_itself_say_more_of_frequent_buckets_only(folders):
    """Nothing is struck: the same values are left, only weighed twice."""
    folder = folders["anatomy", 1]
    found = shoal.attack(folder, shoal.attacks.Homogeneity(), earlier=folder)["intersection"]
    (section,) = found.sections
    assert section.rows[0][0] >= 4


def test_only_values_that_are_protected_are_judged(columns, folders, tmp_path):
    method = shoal.Anatomy(ell=2, protect=["i1"])
    folder = shoal.anonymize(shoal.read(columns, SCHEMA), method, seed=1).write(tmp_path / "p")
    homogeneity = shoal.attacks.Homogeneity()
    found = shoal.attack(folder, homogeneity, earlier=folders["anatomy", 1])["intersection"]
    (code,) = shoal.open_release(folder).published.buckets.domain.codes_of(["i1"]).tolist()
    is_certain = found.posterior > 1 - 1e-9
    assert set(found.value[found.breached & ~is_certain].tolist()) <= {code}
    assert np.all(found.breached[(found.value == code) & (found.posterior > 0.51)])


def test_releases_of_other_people_are_refused(folders, columns, tmp_path):
    others = columns | {"no": [f"q{row}" for row in range(N_ROWS)]}
    folder = shoal.anonymize(shoal.read(others, SCHEMA), shoal.Anatomy(ell=2)).write(tmp_path / "o")
    with pytest.raises(shoal.DataError, match="Nobody is in both"):
        shoal.attack(folders["anatomy", 1], earlier=folder)


def test_without_internal_folders_nothing_is_intersected(folders, columns, tmp_path):
    folder = shoal.anonymize(shoal.read(columns, SCHEMA), shoal.Anatomy(ell=2)).write(
        tmp_path / "o"
    )
    (tmp_path / "o.internal").rename(tmp_path / "elsewhere")
    with pytest.raises(shoal.DataError, match="internal folder"):
        shoal.attack(folders["anatomy", 1], shoal.attacks.Homogeneity(), earlier=folder)


pairs = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 2), st.integers(0, 3)), min_size=1, max_size=12
)


@settings(max_examples=500, deadline=None)
@given(rows=pairs)
def test_the_intersection_is_the_direct_one(rows):
    first, second, value = (np.array(column) for column in zip(*rows, strict=True))
    # Places without people stand for none.
    _, first = np.unique(first, return_inverse=True)
    _, second = np.unique(second, return_inverse=True)
    domain = Domain.of_texts("s", ["a", "b", "c"], has_missing=True)
    one, other = (View.of_buckets(Buckets.of_pairs(b, value, domain)) for b in (first, second))
    found = intersect(one, other, first, second)
    prior = Counter(value.tolist())
    seen = {}
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        mine = Counter(value[first == a].tolist())
        theirs = Counter(value[second == b].tolist())
        weights = {s: Fraction(n * theirs[s], prior[s]) for s, n in mine.items() if theirs[s]}
        seen[a, b] = weights
    assert found.counts.sum() == len(rows)
    for place, pair in enumerate(zip(found.first.tolist(), found.second.tolist(), strict=True)):
        weights = seen[pair]
        largest = max(weights.values())
        assert found.n_left[place] == len(weights)
        assert found.posterior[place] == pytest.approx(float(largest / sum(weights.values())))
        assert float(weights[int(found.value[place])]) == pytest.approx(float(largest))
