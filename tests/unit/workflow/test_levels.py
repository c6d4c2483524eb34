"""Sensitive numbers at levels, from the table to the sealed folder and its attacks."""

from __future__ import annotations

import json
from collections import Counter

import duckdb
import numpy as np
import pytest
from tampering import reseal, restate

import shoal
from shoal.core.levels import Level
from shoal.errors import DataError, ParameterError, SchemaError
from shoal.release.checked_levels import checked_at_levels
from shoal.release.record import RecordedSchema
from shoal.release.verify import Status
from shoal.workflow.people import read_prior
from shoal.workflow.replay import replay

N_ROWS = 300
BOUNDS = (15000, 30000, 45000)
METHODS = {
    "anatomy": shoal.Anatomy(ell=3),
    "mondrian": shoal.Mondrian(k=4, ell=2, diversity="frequency"),
    "close": shoal.Mondrian(k=4, t="0.4", distance="ordered"),
    "bucketized": shoal.Mondrian(k=4, ell=2, publish="bucketized"),
    "full domain": shoal.FullDomain(k=4, ell=2, diversity="entropy"),
    "injector": shoal.Injector(ell=2),
    "foreground": shoal.ForegroundSafe(r=2, epsilon="0.2", value=["below 15000"]),
    "slicing": shoal.Slicing(ell=2, columns="bucketized"),
    "sliced with others": shoal.Slicing(ell=2, columns=[["age"], ["sex", "income"]]),
}


def people(n_rows=N_ROWS):
    draw = np.random.default_rng(5)
    income = draw.integers(3000, 60000, n_rows).tolist()
    return {
        "no": [f"p{n:04}" for n in range(n_rows)],
        "age": draw.integers(20, 60, n_rows).tolist(),
        "sex": draw.choice(["F", "M"], n_rows).tolist(),
        "income": [None if n % 40 == 7 else one for n, one in enumerate(income)],
    }


def schema(**given):
    return shoal.Schema(quasi=["age", "sex"], sensitive="income", key="no", **given)


@pytest.fixture(scope="module")
def table():
    return shoal.read(people(), schema(levels={"income": {"intervals": BOUNDS}}))


def level_of(income):
    if income is None:
        return None
    names = ("below 15000", "15000-29999", "30000-44999", "45000 and above")
    return names[sum(bound <= income for bound in BOUNDS)]


def values_in(release):
    """Return how often each bucket shows each sensitive value."""
    published = release.published
    if published.sliced is not None:
        place = next(c for c in published.sliced.columns if "income" in c.attributes)
        codes, bucket, count = place.codes("income"), place.bucket, place.count
        domain = published.sliced.domain("income")
    else:
        held = published.buckets
        codes, bucket, count, domain = held.value, held.bucket, held.count, held.domain
    found = Counter()
    for b, v, n in zip(bucket.tolist(), codes.tolist(), count.tolist(), strict=True):
        found[b, domain.text(v)] += n
    return found


@pytest.mark.parametrize("name", METHODS)
def test_exact_values_are_published_and_levels_protected(table, tmp_path, name):
    release = shoal.anonymize(table, METHODS[name])
    shown = values_in(release)
    told = Counter(text for (_, text), n in shown.items() for _ in range(n))
    expected = Counter(None if one is None else str(one) for one in people()["income"])
    assert not told - expected
    folder = release.write(tmp_path / "release")
    assert json.loads((folder / "manifest.json").read_text())["levels"] == {
        "income": {"intervals": ["15000", "30000", "45000"]}
    }
    internal = tmp_path / "release.internal"
    assert shoal.verify(folder, internal=internal).status is Status.VERIFIED
    opened = shoal.open_release(folder)
    held = opened.levelled.sliced or opened.levelled.buckets
    domain = held.domain("income") if opened.levelled.sliced is not None else held.domain
    assert domain.labels() == [
        "below 15000", "15000-29999", "30000-44999", "45000 and above", None,
    ]  # fmt: skip
    assert opened.published.sensitive[0].size > 250


def test_diversity_is_counted_in_levels(table):
    release = shoal.anonymize(table, shoal.Anatomy(ell=3))
    by_level = Counter()
    for (bucket, text), n in values_in(release).items():
        by_level[bucket, level_of(None if text is None else int(text))] += n
    sizes = Counter()
    for (bucket, _), n in by_level.items():
        sizes[bucket] += n
    assert all(3 * n <= sizes[bucket] for (bucket, _), n in by_level.items())
    assert shoal.checks.frequency_diversity(release.levelled.buckets) >= 3


def test_every_value_counts_if_that_is_declared():
    table = shoal.read(people(), schema(levels={"income": "values"}))
    release = shoal.anonymize(table, shoal.Anatomy(ell=3), seed=1)
    assert release.manifest.levels == ()
    assert release.levelled is release.published


def test_a_release_that_is_said_to_have_other_levels_fails(table, tmp_path):
    folder = shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "release")
    # Of two levels, one makes up half of a bucket.
    reseal(folder, lambda stated: stated.update(levels={"income": {"intervals": ["20000"]}}))
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert found.verdicts[-1].guarantee.name == "frequency l-diversity"


def test_a_release_that_is_said_to_have_no_levels_fails(table, tmp_path):
    folder = shoal.anonymize(table, shoal.Mondrian(k=3, t="0.25")).write(tmp_path / "release")
    reseal(folder, lambda stated: stated.pop("levels"))
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert found.verdicts[-1].guarantee.name == "t-closeness"


@pytest.mark.parametrize(
    "levels",
    [
        {"income": {"intervals": ["2", "1"]}},
        {"income": {"intervals": ["2020-01-01"]}},
        {"income": {"node_level": 1, "intervals": ["1"]}},
        {"age": {"intervals": ["30"]}},
        {"nobody": {"intervals": ["30"]}},
        {"income": ["30"]},
        ["income"],
        "income",
        {"income": {"intervals": ["9" * 300]}},
    ],
)
def test_malformed_levels_in_a_manifest_are_refused(table, tmp_path, levels):
    folder = shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "release")
    restate(folder, lambda stated: stated.update(levels=levels))
    with pytest.raises(DataError, match=r"manifest\.json"):
        shoal.open_release(folder)


def test_nodes_without_their_hierarchy_fail(table, tmp_path):
    folder = shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "release")
    restate(folder, lambda stated: stated.update(levels={"income": {"node_level": 1}}))
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert "do not fit" in " ".join(found.problems)


def test_attacks_believe_in_levels(table, tmp_path):
    found = shoal.publish(
        table, method=shoal.Anatomy(ell=3), folder=tmp_path / "release",
        attacks={"foreground": {"value": ["below 15000"], "r": 3}},
    )  # fmt: skip
    assert {one.attack for one in found.judgements} >= {"foreground", "homogeneity"}
    risk = tmp_path / "release.internal" / "risk.parquet"
    told = duckdb.sql(f"SELECT DISTINCT attack, value FROM '{risk}'").fetchall()
    named = {value for attack, value in told if attack == "homogeneity"}
    assert named <= {level_of(one) for one in people()["income"]}
    assert {value for attack, value in told if attack == "foreground"} <= {"below 15000", None}


def test_beliefs_are_compared_with_true_levels(table):
    release = shoal.anonymize(table, shoal.Anatomy(ell=3), seed=2)
    found = shoal.attack(release, shoal.attacks.Foreground(r=3))["foreground"]
    assert found.calibration is not None
    # A guess at a level is right for far more people than a guess at a number could be.
    assert found.calibration.baseline > 0.2


def test_the_same_levels_are_attacked_in_the_folder(table, tmp_path):
    release = shoal.anonymize(table, shoal.Mondrian(k=4, ell=2))
    ours = shoal.attack(release, shoal.attacks.Homogeneity())["homogeneity"]
    folder = release.write(tmp_path / "release")
    theirs = shoal.attack(folder, shoal.attacks.Homogeneity())["homogeneity"]
    assert sorted(theirs.posterior.tolist()) == sorted(ours.posterior.tolist())
    assert theirs.to_dict() == ours.to_dict()


def test_methods_that_protect_values_refuse_levels(table):
    with pytest.raises(SchemaError, match="Mask protects values"):
        shoal.anonymize(table, shoal.Mask(m=2, k=4, protect=["1"]))
    with pytest.raises(SchemaError, match="RuleHiding protects values"):
        shoal.anonymize(table, shoal.RuleHiding(private=[("p0001", "income")]))


@pytest.mark.parametrize(
    ("declared", "n_bounds"),
    [("income = { quantiles = 6 }", 5), ("", 19)],
    ids=["given", "drafted"],
)
def test_replay_gives_the_same_bytes(tmp_path, declared, n_bounds):
    path = tmp_path / "people.csv"
    columns = people()
    lines = [",".join(columns)]
    lines += [",".join("" if v is None else str(v) for v in row) for row in zip(*columns.values())]  # noqa: B905
    path.write_text("\n".join(lines) + "\n")
    config = tmp_path / "shoal.toml"
    config.write_text(
        f"""
[table]
source = "{path.name}"
key = "no"
[columns]
quasi = ["age", "sex"]
sensitive = "income"
[levels]
{declared}
[method]
name = "anatomy"
ell = 3
"""
    )
    made = shoal.publish(config)
    (level,) = made.manifest.levels
    assert len(level.bounds) == n_bounds
    replay(made.internal, to=tmp_path / "again")
    for file in sorted(made.folder.iterdir()):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes(), file.name


HIERARCHY = shoal.Hierarchy.from_rows(
    [[f"c{n:03}", f"g{n % 6}", f"top{n % 2}"] for n in range(150)]
)


def diagnoses(n_rows=400):
    draw = np.random.default_rng(6)
    return {
        "age": draw.integers(20, 60, n_rows).tolist(),
        "code": [f"c{n:03}" for n in draw.integers(0, 150, n_rows).tolist()],
    }


@pytest.mark.parametrize(
    "method",
    [
        shoal.Anatomy(ell=3),
        shoal.Mondrian(k=5, t="0.3", distance="hierarchical"),
        shoal.Slicing(ell=2, columns="bucketized"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_nodes_of_a_hierarchy_are_levels(tmp_path, method):
    given = shoal.Schema(
        quasi="age", sensitive="code", hierarchies={"code": HIERARCHY},
        levels={"code": {"node_level": 1}},
    )  # fmt: skip
    release = shoal.anonymize(shoal.read(diagnoses(), given), method)
    folder = release.write(tmp_path / "release")
    assert (folder / "hierarchies" / "code.csv").exists()
    assert shoal.verify(folder).status is not Status.FAILED
    opened = shoal.open_release(folder)
    assert opened.manifest.levels == (Level("code", node_level=1),)
    assert opened.levelled.sensitive[0].labels() == [f"g{n}" for n in range(6)]
    checked = checked_at_levels(opened.published, opened.hierarchy)
    assert checked.sensitive[0].labels() == [f"g{n}" for n in range(6)]


def test_hierarchical_distance_refuses_intervals():
    given = schema(
        hierarchies={"income": shoal.Hierarchy.intervals(width=1000)},
        levels={"income": {"quantiles": 4}},
    )
    method = shoal.Mondrian(k=5, t="0.3", distance="hierarchical")
    with pytest.raises(SchemaError, match="its levels are intervals"):
        shoal.anonymize(shoal.read(people(), given), method)


@pytest.mark.parametrize(
    ("columns", "levels", "words"),
    [
        ({"pay": ["a", "b"] * 20}, {"quantiles": 4}, "not numbers or dates"),
        ({"pay": ["a", "b"] * 20}, {"intervals": [5]}, "intervals of numbers"),
        ({"pay": [1, 2] * 20}, {"intervals": ["2020-01-01"]}, "intervals of numbers"),
        ({"pay": [1, 2] * 4}, {"quantiles": 4}, "at least 10 people"),
        ({"pay": [1, 2] * 20}, {"node_level": 1}, "it has none"),
    ],
)
def test_levels_that_do_not_fit_the_values_are_refused(columns, levels, words):
    n_rows = len(columns["pay"])
    given = shoal.Schema(quasi="age", sensitive="pay", levels={"pay": levels})
    table = shoal.read({"age": [1] * n_rows, **columns}, given)
    with pytest.raises(SchemaError, match=words) as caught:
        shoal.anonymize(table, shoal.Anatomy(ell=2))
    assert "'pay'" in str(caught.value)
    assert caught.value.hint


def test_a_level_beyond_the_hierarchy_is_refused():
    given = shoal.Schema(
        quasi="age", sensitive="code", hierarchies={"code": HIERARCHY},
        levels={"code": {"node_level": 3}},
    )  # fmt: skip
    with pytest.raises(SchemaError, match="must be below 3"):
        shoal.anonymize(shoal.read(diagnoses(), given), shoal.Anatomy(ell=3))


def test_knowledge_is_about_levels(table):
    known = shoal.knowledge.mine_negative_rules(table, min_exp=0.9)
    assert set(known.negative.values) == {level_of(one) for one in people()["income"]}
    beliefs = shoal.knowledge.prior_beliefs(table)
    assert beliefs.domain.size == 5


def test_a_repaired_release_keeps_its_guarantees_at_levels(table, tmp_path):
    release = shoal.anonymize(table, shoal.Mondrian(ell=2, publish="bucketized"), seed=1)
    repaired = shoal.repair(release, belief_gain="0.5")
    folder = repaired.write(tmp_path / "release")
    internal = tmp_path / "release.internal"
    assert shoal.verify(folder, internal=internal).status is Status.VERIFIED


def test_a_release_beside_an_earlier_one_has_its_levels(table, tmp_path):
    first = shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "first")
    second = shoal.anonymize(
        table, shoal.Mondrian(ell=2, publish="bucketized"), earlier=[first]
    ).write(tmp_path / "second")
    internal = tmp_path / "second.internal"
    assert shoal.verify(second, internal=internal).status is Status.VERIFIED


def test_nodes_are_refused_beside_an_earlier_release(tmp_path):
    given = shoal.Schema(
        quasi="age", sensitive="code", hierarchies={"code": HIERARCHY},
        levels={"code": {"node_level": 1}},
    )  # fmt: skip
    table = shoal.read(diagnoses(), given)
    first = shoal.anonymize(table, shoal.Anatomy(ell=3)).write(tmp_path / "first")
    with pytest.raises(ParameterError, match="nodes of its hierarchy"):
        shoal.anonymize(table, shoal.Anatomy(ell=2), earlier=[first])


def test_people_of_another_table_are_attacked_at_the_same_levels(table):
    release = shoal.anonymize(table, shoal.Mondrian(k=4, ell=2), seed=3)
    others = shoal.read(people(), schema(levels={"income": "values"}))
    found = shoal.attack(release, shoal.attacks.Minimality(), people=others)["minimality"]
    assert found.n_people == N_ROWS


def test_a_prior_is_estimated_at_the_levels_of_the_release(table):
    release = shoal.anonymize(table, shoal.Anatomy(ell=3), seed=3)
    data = {name: values for name, values in people().items() if name != "no"}
    beliefs = read_prior(data, release.levelled, 0.3)
    assert beliefs.domain.labels() == release.levelled.buckets.domain.labels()


def test_documents_state_the_levels(tmp_path):
    columns = people() | {"income": [100_000 * (n % 9) + n for n in range(N_ROWS)]}
    # A bound may be somebody's value, even of somebody who is left out of the release.
    columns["income"][0] = 300_000
    columns["age"][0] = 99
    given = schema(levels={"income": {"intervals": [300_000, 500_000]}})
    method = shoal.FullDomain(k=4, ell=2, suppress="0.2")
    found = shoal.publish(columns, method=method, schema=given, folder=tmp_path / "release")
    codebook = (found.folder / "codebook.md").read_text()
    labels = ("below 300000", "300000-499999", "500000 and above")
    for label in labels:
        assert f"| {label} |" in codebook
        assert f"<bdi>{label}</bdi>" in (found.folder / "report.html").read_text()
    assert "3 levels, which the codebook lists" in (found.folder / "codebook.xml").read_text()
    internal = (found.internal / "report.html").read_text()
    assert "Attacked: <bdi>income at 3 levels</bdi>." in internal
    assert {one.levels for one in found.judgements if one.attack == "homogeneity"} == {
        "income at 3 levels"
    }
    assert shoal.verify(found.folder).status is Status.VERIFIED


def test_a_record_of_an_earlier_version_counts_every_value(table):
    stated = {name: [] for name in ("identifying", "insensitive", "nearly_unique")}
    stated |= {"quasi": ["age"], "sensitive": ["income"], "key": None, "person": None}
    recorded = RecordedSchema.model_validate({**stated, "types": {}, "hierarchies": {}})
    assert recorded.schema_of().levels["income"].is_every_value
    anew = RecordedSchema.model_validate({**stated, "types": {}, "hierarchies": {}, "levels": {}})
    assert not anew.schema_of().levels
