"""Publishing beside an earlier release so that both together stay safe."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from two_releases import buckets_of, enumerate_worlds

import shoal
from shoal.core.adversary_guarantees import JointSafety
from shoal.workflow.config import configure
from shoal.workflow.publish import publish

N_ROWS = 120
SCHEMA = shoal.Schema(quasi=["age", "town"], sensitive="illness", key="no")


@pytest.fixture(scope="module")
def columns():
    rng = np.random.default_rng(3)
    return {
        "no": [f"p{row}" for row in range(N_ROWS)],
        "age": rng.integers(20, 60, N_ROWS).tolist(),
        "town": [f"t{code}" for code in rng.integers(0, 4, N_ROWS)],
        "illness": [f"i{code}" for code in rng.permutation(np.arange(N_ROWS) % 8)],
    }


@pytest.fixture
def table(columns):
    return shoal.read(columns, SCHEMA)


@pytest.fixture(scope="module")
def earlier(columns, tmp_path_factory):
    place = tmp_path_factory.mktemp("earlier")
    table = shoal.read(columns, SCHEMA)
    methods = {
        "anatomy": shoal.Anatomy(ell=4),
        "coarse": shoal.Mondrian(k=30, ell=4, diversity="frequency", publish="bucketized"),
        "sliced": shoal.Slicing(ell=3),
    }
    return {
        name: shoal.anonymize(table, method, seed=1).write(place / name)
        for name, method in methods.items()
    }


def verified(folder):
    return str(shoal.verify(folder, internal=f"{folder}.internal").status)


METHODS = {
    "anatomy": (shoal.Anatomy(ell=3), 30),
    "ring": (shoal.Anatomy(ell=3, draw="ring"), 30),
    "injector": (shoal.Injector(ell=3), 30),
    "foreground": (shoal.ForegroundSafe(r=3), 30),
    "mondrian": (shoal.Mondrian(k=5, ell=3, publish="bucketized"), 6),
    "generalized": (shoal.Mondrian(k=5, ell=2), 6),
    "close": (shoal.Mondrian(k=5, t=0.3, publish="bucketized"), 1),
    "protecting": (shoal.Anatomy(ell=4, protect=["i1"]), 20),
}


@pytest.mark.parametrize(
    ("before", "name"),
    [
        *(("coarse", name) for name in METHODS),
        *(("sliced", name) for name in ("anatomy", "injector", "foreground")),
    ],
)
def test_methods_cut_what_an_earlier_release_left_whole(table, earlier, tmp_path, name, before):
    method, n_buckets = METHODS[name]
    release = shoal.anonymize(table, method, seed=2, earlier=[earlier[before]])
    assert release.manifest.n_buckets >= n_buckets
    assert isinstance(release.manifest.guarantees[-1], JointSafety)
    folder = release.write(tmp_path / "new")
    assert verified(folder) == "verified"
    assert str(shoal.verify(folder).status) == "partly verified"
    found = shoal.attack(folder, shoal.attacks.Homogeneity(), earlier=earlier[before])
    assert found["intersection"].n_breached == 0
    assert found["intersection"].headline["people whose posterior is estimated"] == 0


def test_buckets_that_cannot_be_cut_stay_as_they_were(table, earlier, tmp_path):
    release = shoal.anonymize(table, shoal.Anatomy(ell=3), earlier=[earlier["anatomy"]])
    assert release.manifest.n_buckets == N_ROWS // 4
    folder = release.write(tmp_path / "new")
    found = shoal.attack(folder, shoal.attacks.Homogeneity(), earlier=earlier["anatomy"])
    assert found["intersection"].worst == pytest.approx(1 / 4)


def test_more_than_the_earlier_release_keeps_is_infeasible(table, earlier):
    with pytest.raises(
        shoal.errors.InfeasibleError, match=r"30 groups of people .* 30 break"
    ) as caught:
        shoal.anonymize(table, shoal.Anatomy(ell=6), earlier=[earlier["anatomy"]])
    assert caught.value.best == {"ell": "4"}


def test_labels_that_reach_across_earlier_buckets_are_infeasible(table, earlier):
    method = shoal.Mondrian(k=2, ell=2)
    with pytest.raises(shoal.errors.InfeasibleError, match="joint safety") as caught:
        shoal.anonymize(table, method, earlier=[earlier["anatomy"]])
    assert "lie in several earlier ones" in caught.value.fact


def test_a_full_domain_release_nests_in_a_coarser_one(columns, tmp_path):
    hierarchies = {"age": {"intervals": [20, 30, 40, 50, 60]}}
    schema = shoal.Schema(
        quasi=["age", "town"],
        sensitive="illness",
        key="no",
        hierarchies={
            column: shoal.Hierarchy.from_config(given_, column=column)
            for column, given_ in hierarchies.items()
        },
    )
    table = shoal.read(columns, schema)
    folder = shoal.anonymize(table, shoal.FullDomain(k=20), seed=1).write(tmp_path / "old")
    new = shoal.anonymize(table, shoal.FullDomain(k=15), seed=1, earlier=[folder])
    assert verified(new.write(tmp_path / "new")) == "verified"


def test_newcomers_have_buckets_of_their_own(columns, earlier, tmp_path):
    more = {
        "no": [f"q{row}" for row in range(12)],
        "age": [30] * 12,
        "town": ["t1"] * 12,
        "illness": [f"i{row % 6}" for row in range(12)],
    }
    joined = {name: columns[name] + more[name] for name in columns}
    table = shoal.read(joined, SCHEMA)
    release = shoal.anonymize(table, shoal.Anatomy(ell=3), earlier=[earlier["coarse"]])
    assert verified(release.write(tmp_path / "new")) == "verified"


def test_people_who_left_are_not_given_away(columns, earlier, tmp_path):
    fewer = {name: column[1:] for name, column in columns.items()}
    with pytest.raises(shoal.errors.InfeasibleError, match="leaves out of 1 earlier buckets"):
        shoal.anonymize(
            shoal.read(fewer, SCHEMA), shoal.Anatomy(ell=2), earlier=[earlier["coarse"]]
        )


def test_crossing_earlier_releases_leave_nothing_to_publish(table, earlier, tmp_path):
    second = shoal.anonymize(table, shoal.Anatomy(ell=4), seed=5).write(tmp_path / "second")
    with pytest.raises(shoal.errors.InfeasibleError):
        shoal.anonymize(table, shoal.Anatomy(ell=2), earlier=[earlier["anatomy"], second])


def test_a_third_release_stays_safe_beside_two(table, earlier, tmp_path):
    second = shoal.anonymize(table, shoal.Anatomy(ell=5), seed=5, earlier=[earlier["coarse"]])
    folder = second.write(tmp_path / "second")
    third = shoal.anonymize(table, shoal.Anatomy(ell=3), earlier=[earlier["coarse"], folder])
    assert len(third.manifest.guarantees[-1].earlier) == 2
    assert verified(third.write(tmp_path / "third")) == "verified"


@pytest.mark.parametrize(
    ("method", "match"),
    [
        (shoal.Slicing(ell=3), "cannot publish beside"),
        (shoal.Mask(m=4, k=4, protect=["i1"], lenders="any"), "cannot publish beside"),
    ],
)
def test_other_shapes_are_refused(table, earlier, method, match):
    with pytest.raises(shoal.errors.ParameterError, match=match):
        shoal.anonymize(table, method, earlier=[earlier["coarse"]])


def test_foreground_safety_is_about_all_published_columns(columns, earlier):
    schema = shoal.Schema(quasi=["age"], sensitive="illness", key="no", identifying=["town"])
    with pytest.raises(shoal.errors.ParameterError, match="publishes 1 more"):
        shoal.anonymize(
            shoal.read(columns, schema), shoal.ForegroundSafe(r=3), earlier=[earlier["coarse"]]
        )


def test_without_a_common_key_it_is_refused(columns, earlier):
    schema = shoal.Schema(quasi=["age", "town"], sensitive="illness", identifying=["no"])
    with pytest.raises(shoal.errors.DataError, match="same key"):
        shoal.anonymize(
            shoal.read(columns, schema), shoal.Anatomy(ell=3), earlier=[earlier["coarse"]]
        )


def test_a_changed_witness_is_noticed(table, earlier, tmp_path):
    release = shoal.anonymize(table, shoal.Anatomy(ell=3), earlier=[earlier["coarse"]])
    folder = release.write(tmp_path / "new")
    (tmp_path / "new.internal" / "earlier.parquet").write_bytes(b"PAR1")
    verification = shoal.verify(folder, internal=tmp_path / "new.internal")
    assert str(verification.status) == "failed"
    assert "earlier.parquet" in verification.problems[0]


def test_it_is_replayed_without_the_earlier_release(columns, table, earlier, tmp_path):
    release = shoal.anonymize(table, shoal.Injector(ell=3), earlier=[earlier["coarse"]])
    folder = release.write(tmp_path / "new")
    again = shoal.replay(f"{folder}.internal", source=columns)
    assert set(again.files.values()) == {"identical"}


def test_buckets_are_not_merged_afterwards(table, earlier):
    release = shoal.anonymize(table, shoal.Anatomy(ell=3), earlier=[earlier["coarse"]])
    with pytest.raises(shoal.errors.ParameterError, match="joint safety"):
        shoal.repair(release, belief_gain=0.9)


def test_publish_reads_it_from_the_configuration(columns, tmp_path):
    lines = ["no,age,town,illness"]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    given_ = {
        "table": {"source": "people.csv", "key": "no"},
        "columns": {"quasi": ["age", "town"], "sensitive": "illness", "identifying": "no"},
        "method": {"name": "anatomy", "ell": 5},
        "attacks": {"homogeneity": {"max_people": 0}},
        "release": {"folder": "first"},
    }
    publish(configure(given_, base=tmp_path))
    second = given_ | {"release": {"folder": "second", "earlier": ["first"]}}
    publication = publish(configure(second, base=tmp_path))
    assert not [text for text in publication.warnings if "'first'" in text]
    manifest = json.loads((tmp_path / "second" / "manifest.json").read_text())
    assert manifest["guarantees"][-1]["name"] == "joint safety"
    third = publish(configure(given_ | {"release": {"folder": "third"}}, base=tmp_path))
    assert any("[release] earlier = ['first', 'second']" in text for text in third.warnings)


@st.composite
def small_tables(draw):
    n = draw(st.integers(4, 8))
    illness = st.sampled_from(["flu", "gout", "cold", "HIV"])
    return [
        {
            "no": f"p{row}",
            "age": draw(st.integers(20, 23)),
            "town": draw(st.sampled_from(["a", "b"])),
            "illness": draw(illness),
        }
        for row in range(n)
    ]


FIRST = [
    shoal.Anatomy(ell=2),
    shoal.Mondrian(k=3, ell=2, diversity="frequency"),
    shoal.Slicing(ell=2),
]
SECOND = [
    shoal.Anatomy(ell=2),
    shoal.Mondrian(k=2, ell=2, diversity="frequency", publish="bucketized"),
    shoal.Mondrian(k=2, ell=2, diversity="frequency"),
]


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(rows=small_tables(), first=st.sampled_from(FIRST), second=st.sampled_from(SECOND))
def test_no_belief_over_all_worlds_exceeds_the_bound(rows, first, second, tmp_path_factory):
    place = tmp_path_factory.mktemp("joint")
    table = shoal.read({name: [row[name] for row in rows] for name in rows[0]}, SCHEMA)
    try:
        old = shoal.anonymize(table, first, seed=1).write(place / "old")
        new = shoal.anonymize(table, second, seed=2, earlier=[old]).write(place / "new")
    except shoal.errors.InfeasibleError:
        return
    views = [buckets_of(folder, rows) for folder in (old, new)]
    n_worlds, counted = enumerate_worlds([row["no"] for row in rows], views)
    assert max(max(values.values()) for values in counted.values()) <= n_worlds / 2
