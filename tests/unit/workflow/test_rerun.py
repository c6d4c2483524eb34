"""Parts of a table that are published while the rest is held out, for releases of every shape."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pyarrow.parquet as parquet
import pytest

import shoal
from shoal.attacks import Membership
from shoal.core.attack import HELD_OUT_TEST, View
from shoal.core.errors import ParameterError
from shoal.core.shapes import Shape
from shoal.workflow.config import configure
from shoal.workflow.publish import publish
from shoal.workflow.rerun import run_trials

COLUMNS = [
    ["condition"],
    ["age", "sex"],
    ["postcode", "income"],
    ["education", "marital_status", "employment"],
]


@pytest.fixture(scope="module")
def census():
    return shoal.datasets.census(rows=600, seed=8)


@pytest.fixture(scope="module")
def table(census):
    return shoal.read(census)


@pytest.fixture(scope="module")
def plain(census):
    """Read the same without its insensitive column."""
    schema = replace(
        census.schema,
        identifying=(*census.schema.identifying, *census.schema.insensitive),
        insensitive=(),
        meant=(),
    )
    return shoal.read(census, schema)


@pytest.fixture(scope="module")
def releases(table, plain):
    methods = {
        Shape.GENERALIZED: (table, shoal.Mondrian(k=5)),
        Shape.BUCKETIZED: (table, shoal.Anatomy(ell=3)),
        Shape.SLICED: (plain, shoal.Slicing(ell=2, columns=COLUMNS, bucket_size=100)),
        Shape.SUPPRESSED: (plain, shoal.RuleHiding(private="condition where age > 60", gamma=5)),
    }
    return {shape: shoal.anonymize(*how, seed=4) for shape, how in methods.items()}


def test_of_every_shape_half_is_published_and_half_is_held_out(releases):
    for shape, release in releases.items():
        (trial,) = run_trials(release, Membership()).trials
        assert (trial.members.n_people, trial.others.n_people) == (300, 300)
        assert trial.published.manifest.shape is shape
        assert trial.published.manifest.n_rows == 300
        assert trial.published.manifest.parameters == release.manifest.parameters
        assert trial.refusal is None
        everybody = release.making.table.counts(release.making.table.schema.quasi)
        assert list(trial.members.quasi.columns) == list(everybody.columns)
        found = [{} for _ in range(2)]
        for side, people in enumerate((trial.members, trial.others)):
            for code, count in zip(people.quasi.codes.tolist(), people.counts, strict=True):
                found[side][tuple(code)] = int(count)
        together = {code: found[0].get(code, 0) + n for code, n in found[1].items()}
        together |= {code: n for code, n in found[0].items() if code not in together}
        whole = zip(everybody.codes.tolist(), everybody.counts.tolist(), strict=True)
        assert together == {tuple(code): count for code, count in whole}


def test_every_member_matches_and_others_only_where_labels_are_wide(releases):
    shares = {}
    for shape, release in releases.items():
        found = shoal.attack(release, Membership())["membership"]
        assert found.headline["members who match"] == 1
        assert found.n_people == found.headline["people who match"] == 600
        shares[shape] = found.headline["others who match"]
        assert 0.4 < found.headline["AUC, 95 % from"] <= found.headline["AUC"] <= 1
    assert shares[Shape.GENERALIZED] > 0.8
    assert max(shares[Shape.BUCKETIZED], shares[Shape.SUPPRESSED]) < 0.1
    assert shares[Shape.BUCKETIZED] < shares[Shape.SLICED] < shares[Shape.GENERALIZED]


def test_private_cells_of_the_part_are_those_of_the_table(releases):
    release = releases[Shape.SUPPRESSED]
    (trial,) = run_trials(release, Membership()).trials
    hidden = trial.published.rows.is_hidden[:, trial.published.rows.columns.index("condition")]
    age = trial.members.quasi.domain("age").numbers[trial.members.quasi.column("age")]
    assert hidden.sum() >= trial.members.counts[age > 60].sum() > 0


def test_the_same_seed_parts_alike_and_another_does_not(table):
    def members(seed):
        release = shoal.anonymize(table, shoal.Mondrian(k=5), seed=seed)
        (trial,) = run_trials(release, Membership()).trials
        return trial.members.quasi.codes.tolist()

    assert members(1) == members(1) != members(2)


def test_the_part_is_as_large_as_it_is_asked_to_be(releases):
    release = releases[Shape.BUCKETIZED]
    (trial,) = run_trials(release, Membership(split="1/3")).trials
    assert (trial.members.n_people, trial.others.n_people) == (200, 400)


def test_of_many_rows_some_are_drawn(releases):
    release = releases[Shape.BUCKETIZED]
    (trial,) = run_trials(release, Membership(max_rows=200)).trials
    n_rows = trial.members.n_people + trial.others.n_people
    assert 150 < n_rows < 250
    assert abs(trial.members.n_people - trial.others.n_people) <= 1
    again = run_trials(release, Membership(max_rows=200)).trials[0]
    assert again.members.quasi.codes.tolist() == trial.members.quasi.codes.tolist()


def test_where_half_of_the_table_cannot_keep_the_promise_it_is_said(tmp_path):
    columns = {"age": [20, 30] * 3, "smokes": ["yes", "no"] * 3}
    schema = shoal.Schema(quasi=["age"], sensitive="smokes")
    release = shoal.anonymize(shoal.read(columns, schema), shoal.Mondrian(k=5), seed=1)
    found = shoal.attack(release, Membership(limit=0.6))["membership"]
    assert found.headline[HELD_OUT_TEST].startswith("left out: ")
    assert found.limit is None
    # What was not tried is not written down.
    (linked,) = shoal.attack(release, shoal.attacks.Linkage())
    release.write(tmp_path / "release", findings=[found, linked])
    risk = parquet.read_table(tmp_path / "release.internal" / "risk.parquet").to_pylist()
    assert {line["attack"] for line in risk} == {"linkage"}


def test_one_row_cannot_be_parted():
    table = shoal.read({"age": [20]}, shoal.Schema(quasi=["age"]))
    release = shoal.anonymize(table, shoal.Mondrian(k=1), seed=1)
    found = shoal.attack(release, Membership())["membership"]
    assert found.headline[HELD_OUT_TEST] == "left out: 1 rows cannot be parted"


def test_a_repaired_release_is_not_tried(table):
    release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    repaired = shoal.repair(release, belief_gain=1)
    found = shoal.attack(repaired, Membership())["membership"]
    assert found.headline[HELD_OUT_TEST] == "left out: buckets were merged after the method"


def test_types_hierarchies_missing_values_and_odd_names_go_with_the_part():
    generator = np.random.default_rng(3)
    columns = {
        "row_key": [None if one == 3 else f"ä{one}" for one in generator.integers(0, 4, 80)],
        "size": generator.choice(["s", "m", "l"], 80).tolist(),
        "born": [f"19{one}-01-0{one % 9 + 1}" for one in generator.integers(20, 99, 80)],
        "weight": (generator.integers(1, 9, 80) / 4).tolist(),
        "smokes": generator.choice(["yes", "no", "once"], 80).tolist(),
    }
    schema = shoal.Schema(
        quasi=["row_key", "size", "born", "weight"],
        sensitive="smokes",
        types={"size": ["s", "m", "l"], "born": "date"},
        hierarchies={"row_key": shoal.Hierarchy.flat()},
    )
    table = shoal.read(columns, schema)
    release = shoal.anonymize(table, shoal.Mondrian(k=4), seed=1)
    (trial,) = run_trials(release, Membership()).trials
    assert trial.refusal is None
    part = {column.name: column.type for column in trial.published.manifest.columns}
    whole = {column.name: column.type for column in release.manifest.columns}
    assert part == whole
    found = Membership().run(
        View(release.published, trial.members, trials=lambda _: run_trials(release, Membership()))
    )
    assert found.headline["members who match"] == 1


# --- sliced releases ------------------------------------------------------------------------------


def test_fakes_of_the_release_are_counted_with_the_sensitive_values(releases):
    release = releases[Shape.SLICED]
    found = shoal.attack(release, Membership())["membership"]
    sliced = release.published.sliced
    # Strict cuts: a tuple matches one bucket, which has a product of tuples.
    n_matching = sum(
        int(np.prod([np.count_nonzero(column.bucket == bucket) for column in sliced.columns]))
        for bucket in range(sliced.n_buckets)
    )
    table = release.making.table
    n_originals = table.counts(table.schema.coded).n_cells
    assert found.headline["tuples of the table"] == n_originals
    assert found.headline["fake tuples"] == n_matching - n_originals


def test_fakes_of_generalized_columns_are_counted_as_they_are_published(plain):
    method = shoal.Slicing(ell=2, columns=COLUMNS, min_frequency=3, buckets="random",
                           bucket_size=200, diversity="distinct")  # fmt: skip
    release = shoal.anonymize(plain, method, seed=1)
    trials = run_trials(release, Membership())
    frame = release.to_pandas("sliced")
    assert sum(trials.originals.values()) <= len(frame)
    # Each row of the table matches at least the bucket that it is in.
    assert min(trials.originals) >= 1
    assert sum(trials.fakes.values()) > 0


def test_people_published_by_labels_match_and_are_at_risk(plain):
    method = shoal.Slicing(ell=2, columns=COLUMNS, min_frequency=3, buckets="random",
                           bucket_size=200, diversity="distinct")  # fmt: skip
    release = shoal.anonymize(plain, method, seed=1)
    assert release.published.meanings
    found = shoal.attack(release, Membership(limit="1/2"))["membership"]
    assert found.headline["AUC"] > 0.5
    assert found.headline["people who match"] == found.n_breached == 600


def test_ways_to_group_rows_are_compared(plain):
    method = shoal.Slicing(ell=2, columns=COLUMNS, diversity="distinct", bucket_size=60)
    release = shoal.anonymize(plain, method, seed=1)
    found = shoal.attack(release, Membership(compare=True))["membership"]
    rows = {row[0]: dict(zip(found.sections[0].columns, row, strict=True))
            for row in found.sections[0].rows}  # fmt: skip
    assert list(rows) == ["as in the release", "by similarity", "by dissimilarity", "at random"]
    for name in ("by similarity", "at random"):
        assert rows[name]["rows a bucket"] >= 60
        assert 0 < rows[name]["others who match"] < 1
        assert 0.5 < rows[name]["95 % from"] <= rows[name]["AUC"] <= rows[name]["to"] <= 1
    assert rows["as in the release"]["AUC"] == rows["by similarity"]["AUC"]
    refused = rows["by dissimilarity"]
    assert (refused["AUC"] is None) == (refused["left out"] is not None)


def test_other_methods_have_nothing_to_compare(releases):
    trials = run_trials(releases[Shape.BUCKETIZED], Membership(compare=True)).trials
    assert len(trials) == 1


# --- publishing -----------------------------------------------------------------------------------


def configuration(tmp_path, census, attack, method=None):
    source = tmp_path / "people.csv"
    census.to_csv(source)
    roles = census.schema
    return configure(
        {
            "table": {"source": str(source)},
            "columns": {
                "identifying": list(roles.identifying),
                "quasi": list(roles.quasi),
                "sensitive": list(roles.sensitive),
                "insensitive": list(roles.insensitive),
                "meant": list(roles.insensitive),
            },
            "method": method or {"name": "mondrian", "k": 5},
            "attacks": {"membership": attack},
            "release": {"folder": str(tmp_path / "release")},
        },
        base=tmp_path,
    )


def test_the_gate_judges_by_the_limit(tmp_path, census):
    publication = publish(configuration(tmp_path, census, {"limit": 0.95, "max_people": 0}))
    judged = {one.attack: one for one in publication.judgements}["membership"]
    assert (str(judged.outcome), judged.limit, judged.n_at_risk) == ("passed", "0.95", 0)
    risk = parquet.read_table(publication.internal / "risk.parquet").to_pylist()
    beliefs = {line["posterior"] for line in risk if line["attack"] == "membership"}
    assert len(beliefs) == 1
    assert 0.5 <= min(beliefs) < 0.9
    assert judged.figures["published in the test"] == 300
    assert judged.to_dict()["sections"][0]["rows"][0]["AUC"] == judged.figures["AUC"]
    record = json.loads((publication.internal / "record.json").read_text())
    assert record["attacks"]["membership"] == judged.figures
    # Attacked again from its files it cannot be tried, and what was found stays.
    report = shoal.attack(publication.folder)
    assert report["membership"].headline[HELD_OUT_TEST] == "left out: the table is not at hand"
    again = parquet.read_table(publication.internal / "risk.parquet").to_pylist()
    assert len(again) == len(risk)
    assert json.dumps(report.to_dict())


def test_quasi_identifiers_as_they_are_fail_the_gate(tmp_path, census):
    method = {"name": "anatomy", "ell": 3}
    given = configuration(tmp_path, census, {"limit": 0.95, "max_people": 0}, method)
    with pytest.raises(
        shoal.errors.GuaranteeError, match=r"membership: AUC \d\.\d\d .*at most 0\.95 allowed"
    ):
        publish(given)


def test_what_cannot_be_tried_is_not_let_through(tmp_path):
    (tmp_path / "people.csv").write_text("age,smokes\n" + "20,yes\n30,no\n" * 3)
    given = {
        "table": {"source": "people.csv"},
        "columns": {"quasi": ["age"], "sensitive": ["smokes"]},
        "method": {"name": "mondrian", "k": 5},
        "attacks": {"membership": {"limit": 0.6, "max_people": 0}},
    }
    with pytest.raises(ParameterError, match="cannot be judged: the held-out test was left out"):
        publish(configure(given, base=tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_nothing_is_tried_where_nothing_is_known_of_people(tmp_path):
    table = shoal.read({"illness": ["a", "b"] * 4}, shoal.Schema(sensitive="illness"))
    release = shoal.anonymize(table, shoal.Slicing(ell=2, columns=1), seed=1)
    (found,) = shoal.attack(release, shoal.attacks.Membership())
    assert found.headline["held-out test"] == "left out: nothing is known of people"
    (opened,) = shoal.attack(release.write(tmp_path / "release"), shoal.attacks.Membership())
    assert opened.n_breached == 0
