"""Sliced releases from end to end: what is written, what verifies, what adversaries learn."""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyarrow import csv, parquet
from scipy import stats
from tampering import reseal, state, stated_in

import shoal
from shoal.core.errors import InfeasibleError, ParameterError, SchemaError
from shoal.datasets import papers
from shoal.release.verify import Status

NAMES = ("a", "b", "c", "s", "r")
TEXTS = ["", "x", "y", "ü", "東", None, "*x", "1"]


def read_back(folder, name):
    """Give the lines of a data file, texts as they are written and None where missing."""
    options = csv.ConvertOptions(
        strings_can_be_null=True, null_values=[""], quoted_strings_can_be_null=False
    )
    read = csv.read_csv(folder / f"{name}.csv", convert_options=options)
    types = {field: "string" for field in read.column_names if field not in ("bucket", "count")}
    options.column_types = types
    table = csv.read_csv(folder / f"{name}.csv", convert_options=options)
    return list(zip(*(table[column].to_pylist() for column in table.column_names), strict=True))


def internal_of(folder):
    return folder.with_name(folder.name + ".internal")


def placement(folder):
    """Give the bucket and the kind of each row, by its key."""
    read = parquet.read_table(internal_of(folder) / "placement.parquet").to_pydict()
    return {
        key: (bucket, kind)
        for key, bucket, kind in zip(read["row_key"], read["bucket"], read["kind"], strict=True)
    }


def belief(rows, columns, known, target):
    """Give p(t, s) of every row directly, in fractions, for columns that share nothing."""
    by_bucket = {}
    for row in rows:
        by_bucket.setdefault(row["bucket"], []).append(row)
    found = []
    for row in rows:
        weights = Counter()
        for held in by_bucket.values():
            share = Fraction(1)
            for names in columns:
                own = [name for name in names if name in known and name != target]
                agree = sum(all(other[n] == row[n] for n in own) for other in held)
                share *= Fraction(agree, len(held))
            beside = [
                name
                for names in columns
                if target in names
                for name in names
                if name in known and name != target
            ]
            rest = [other for other in held if all(other[n] == row[n] for n in beside)]
            for other in rest:
                weights[other[target]] += len(held) * share / len(rest)
        total = sum(weights.values())
        found.append({value: weight / total for value, weight in weights.items()})
    return found


# --- what is written ----------------------------------------------------------------------------

SETTINGS = {
    "strict": {"ell": 1, "columns": [["a", "b"], ["c", "s", "r"]]},
    "clustered": {"ell": 1, "columns": 2},
    "relaxed": {"ell": 1, "columns": [["a", "b"], ["c", "s", "r"]], "cuts": "relaxed"},
    "random": {"ell": 1, "columns": "one_each", "buckets": "random", "bucket_size": 3},
    "dissimilar": {"ell": 1, "columns": "bucketized", "buckets": "dissimilar", "bucket_size": 2},
    "overlapping": {"ell": 1, "columns": [["a", "s"], ["b", "c", "s"], ["r"]], "overlap": True},
    "membership": {"columns": [["a", "r"], ["b"], ["c", "s"]], "bucket_size": 2},
}


@st.composite
def tables(draw):
    n_rows = draw(st.integers(1, 12))
    rows = draw(
        st.lists(
            st.tuples(*[st.sampled_from(TEXTS)] * len(NAMES)), min_size=n_rows, max_size=n_rows
        )
    )
    return {name: [row[place] for row in rows] for place, name in enumerate(NAMES)}


@pytest.mark.parametrize("setting", SETTINGS)
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck))
@given(columns=tables(), seed=st.integers(0, 1000))
def test_files_hold_the_counts_of_buckets_and_a_linking_of_them(
    setting, columns, seed, tmp_path_factory
):
    """Files against the table itself, by the internal placement: counts, linking, kinds, p."""
    n_rows = len(columns["a"])
    keyed = columns | {"no": [f"n{row}" for row in range(n_rows)]}
    sensitive = [] if setting == "membership" else ["s", "r"]
    quasi = [name for name in NAMES if name not in sensitive]
    types = dict.fromkeys(NAMES, "categorical")
    schema = shoal.Schema(quasi=quasi, sensitive=sensitive, key="no", types=types)
    method = shoal.Slicing(**SETTINGS[setting])
    table = shoal.read(keyed, schema)
    try:
        release = shoal.anonymize(table, method, seed=seed)
    except InfeasibleError:
        assert n_rows < SETTINGS[setting]["bucket_size"]
        return
    folder = release.write(tmp_path_factory.mktemp("sliced") / "release")
    placed = placement(folder)
    rows = [
        {name: columns[name][row] for name in NAMES} | {"bucket": placed[f"n{row}"][0]}
        for row in range(n_rows)
    ]
    slices = release.manifest.slices
    linked = read_back(folder, "sliced")
    shown = list(dict.fromkeys(name for names in slices for name in names))
    for number, names in enumerate(slices, start=1):
        counted = Counter((row["bucket"], *(row[name] for name in names)) for row in rows)
        lines = read_back(folder, f"column_{number}")
        assert {line[:-1]: line[-1] for line in lines} == counted
        assert len(lines) == len(counted)
        places = [0, *(1 + shown.index(name) for name in names)]
        assert Counter(tuple(line[place] for place in places) for line in linked) == counted
    kinds = parquet.read_table(internal_of(folder) / "tuples.parquet").to_pylist()
    known = Counter(tuple(row[name] for name in quasi) for row in rows)
    assert {tuple(kind[name] for name in quasi): kind["count"] for kind in kinds} == known
    for row in range(n_rows):
        kind = kinds[placed[f"n{row}"][1] - 1]
        assert [kind[name] for name in quasi] == [columns[name][row] for name in quasi]
    assert shoal.verify(folder, internal=internal_of(folder)).status is Status.VERIFIED
    if sensitive and setting != "overlapping":
        _compare_beliefs(release, rows, slices, quasi)


def _compare_beliefs(release, rows, slices, quasi):
    """Compare the worst p(t, s) of the attack with the direct one."""
    (found,) = shoal.attack(release, shoal.attacks.SlicedLinkage(exact=0))
    direct = max(
        max(chances.values())
        for target in ("s", "r")
        for chances in belief(rows, slices, quasi, target)
    )
    assert found.worst == pytest.approx(float(direct))
    assert found.n_people == len(rows)


# --- the linking --------------------------------------------------------------------------------


def groups(n_groups):
    """Make groups of three rows, each with its own letters and numbers, in a mixed order."""
    order = np.random.default_rng(8).permutation(3 * n_groups)
    return {
        "no": [f"k{row}" for row in order],
        "group": (order // 3).tolist(),
        "letter": [f"{row // 3:04}{'xyz'[row % 3]}" for row in order],
        "digit": [f"{row // 3:04}.{row % 3}" for row in order],
    }


GROUPED = shoal.Schema(
    quasi=["group", "letter", "digit"], key="no", types={"digit": "categorical"},
)  # fmt: skip
BY_GROUP = shoal.Slicing(columns=[["group", "letter"], ["digit"]], bucket_size=3)


def linked_groups(seed, n_groups=256):
    """Link groups; a power of two, so that halves part no group."""
    release = shoal.anonymize(shoal.read(groups(n_groups), GROUPED), BY_GROUP, seed=seed)
    assert release.manifest.n_buckets == n_groups
    lines = release.to_arrow("sliced").to_pylist()
    return lines, release


def test_every_linking_of_a_bucket_is_as_likely_as_any_other():
    """A bucket of three has six linkings; over seeds and buckets all of them are as frequent."""
    seen = Counter()
    for seed in range(6):
        lines, _ = linked_groups(seed)
        by_group = {}
        for line in lines:
            by_group.setdefault(line["group"], {})[line["letter"][-1]] = line["digit"][-1]
        seen.update("".join(linked[letter] for letter in "xyz") for linked in by_group.values())
    assert set(seen) == {"".join(order) for order in permutations("012")}
    assert stats.chisquare(list(seen.values())).pvalue > 1e-4


def test_a_sliced_file_joined_back_by_position_links_nothing():
    """By position, and by content, true pairs are as frequent as chance makes them."""
    lines, release = linked_groups(seed=11)
    source = groups(256)
    truth = set(zip(source["letter"], source["digit"], strict=True))
    right = sum((line["letter"], line["digit"]) in truth for line in lines)
    # One of three in every bucket, give or take five standard deviations.
    assert abs(right - 256) < 5 * np.sqrt(256)
    by_position = sum(
        line["letter"] == letter and line["digit"] == digit
        for line, letter, digit in zip(lines, source["letter"], source["digit"], strict=True)
    )
    assert by_position <= 5
    for name in release.names:
        written = [tuple(line.values()) for line in release.to_arrow(name).to_pylist()]
        assert written == sorted(written)


def test_buckets_and_linkings_do_not_follow_the_order_of_the_source():
    source = groups(32)
    turned = {name: values[::-1] for name, values in source.items()}
    one, other = (
        shoal.anonymize(shoal.read(columns, GROUPED), BY_GROUP, seed=3)
        for columns in (source, turned)
    )
    for name in one.names:
        assert one.to_arrow(name).equals(other.to_arrow(name))


def test_two_secrets_give_two_linkings():
    first, second = (linked_groups(seed)[0] for seed in (1, 2))
    pairs = [{(line["letter"], line["digit"]) for line in lines} for lines in (first, second)]
    assert pairs[0] != pairs[1]


# --- what it takes ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def patients():
    return shoal.read(papers.slicing_patients())


COLUMNS = [["age", "sex"], ["zipcode", "disease"]]


@pytest.mark.parametrize(
    "parameters",
    [
        {"ell": 0.5},
        {"ell": 2, "columns": 0},
        {"ell": 2, "columns": "each"},
        {"ell": 2, "columns": ["age", "sex"]},
        {"ell": 2, "buckets": "near"},
        {"ell": 2, "cuts": "loose"},
        {"ell": 2, "diversity": "entropy"},
        {"ell": 2, "buckets": "random"},
        {"columns": 2},
        {"ell": 2, "bucket_size": 0},
        {"ell": 2, "min_frequency": 0},
        {"ell": 2, "max_membership_auc": 0.4},
    ],
)
def test_parameters_that_mean_nothing_are_refused(parameters):
    with pytest.raises(ParameterError):
        shoal.Slicing(**parameters)


@pytest.mark.parametrize(
    "columns",
    [
        [["age", "sex"], ["zipcode"]],
        [["age", "sex"], ["zipcode", "disease"], ["age"]],
        [["age", "sex"], ["zipcode", "disease", "name"]],
        [["age", "sex"], []],
    ],
)
def test_columns_that_do_not_hold_the_attributes_are_refused(patients, columns):
    with pytest.raises((ParameterError, SchemaError)):
        shoal.anonymize(patients, shoal.Slicing(ell=2, columns=columns), seed=1)


def test_ell_and_sensitive_columns_go_together(patients):
    with pytest.raises(SchemaError, match="ell"):
        shoal.anonymize(patients, shoal.Slicing(columns="one_each", bucket_size=2))
    schema = shoal.Schema(quasi=["age", "sex", "zipcode", "disease"])
    table = shoal.read(papers.slicing_patients().to_dict(), schema)
    with pytest.raises(SchemaError, match="ell"):
        shoal.anonymize(table, shoal.Slicing(ell=2, columns="one_each"))


def test_other_methods_refuse_a_column_that_is_known_and_sensitive():
    schema = shoal.Schema(quasi=["age", "sex", "zipcode", "disease"], sensitive="disease")
    table = shoal.read(papers.slicing_patients().to_dict(), schema)
    with pytest.raises(SchemaError, match="both"):
        shoal.anonymize(table, shoal.Anatomy(ell=2))
    release = shoal.anonymize(table, shoal.Slicing(ell=2, columns="one_each"), seed=1)
    assert release.manifest.columns[-1].is_also_quasi
    assert shoal.verify(release).status is Status.VERIFIED


def test_an_attribute_that_joins_columns_is_checked_as_one_who_joins_them_would(patients):
    """The paper's own example of overlapping columns links everybody to their disease."""
    columns = [["age", "sex", "disease"], ["zipcode", "disease"]]
    with pytest.raises(InfeasibleError):
        shoal.anonymize(patients, shoal.Slicing(ell="11/10", columns=columns, overlap=True))
    with pytest.raises(ParameterError):
        shoal.anonymize(patients, shoal.Slicing(ell=1, columns=columns))


def test_known_values_are_as_frequent_as_asked(tmp_path):
    census = shoal.datasets.census(rows=600, seed=2)
    schema = census.schema
    method = shoal.Slicing(ell=2, columns="one_each", min_frequency=30)
    columns = {name: values for name, values in census.to_dict().items() if name != "wave"}
    table = shoal.read(
        columns,
        shoal.Schema(
            quasi=schema.quasi, sensitive=schema.sensitive, identifying=schema.identifying,
            hierarchies=schema.hierarchies, types=schema.types, key=schema.key,
        ),
    )  # fmt: skip
    folder = shoal.anonymize(table, method, seed=4).write(tmp_path / "release")
    for number in range(1, len(schema.quasi) + 1):
        counted = Counter()
        for line in read_back(folder, f"column_{number}"):
            counted[line[1:-1]] += line[-1]
        assert min(counted.values()) >= 30
    # People are found by their own values, through the labels.
    everybody = {name: columns[name] for name in schema.quasi}
    (found,) = shoal.attack(folder, shoal.attacks.SlicedLinkage(), people=everybody)
    assert found.headline["people matching no bucket"] == 0
    (known,) = shoal.attack(folder, shoal.attacks.SlicedLinkage())
    assert found.worst == pytest.approx(known.worst)


def test_values_are_generalized_until_membership_is_hidden():
    rng = np.random.default_rng(4)
    columns = {
        "age": rng.integers(18, 90, 600).tolist(),
        "town": [f"t{code}" for code in rng.zipf(1.5, 600) % 150],
        "illness": [f"i{code}" for code in rng.integers(0, 6, 600)],
    }
    table = shoal.read(columns, shoal.Schema(quasi=["age", "town"], sensitive="illness"))
    open_one = shoal.Slicing(ell=2, columns="one_each", buckets="random", bucket_size=20)
    limit = shoal.attacks.Membership(limit="0.6")
    (before,) = shoal.attack(shoal.anonymize(table, open_one, seed=1), limit)
    method = shoal.Slicing(
        ell=2, columns="one_each", buckets="random", bucket_size=20, max_membership_auc="0.55"
    )
    release = shoal.anonymize(table, method, seed=1)
    note = release.making.plan.notes["membership"]
    assert note["auc"] < note["high"] <= 0.55
    assert len(note["splits"]) == 5
    assert note["min_frequency"] > 1
    (after,) = shoal.attack(release, limit)
    assert before.headline["AUC"] > after.headline["AUC"]
    assert after.headline["AUC"] < 0.6
    assert shoal.verify(release).status is Status.VERIFIED


@pytest.fixture
def towns():
    rng = np.random.default_rng(1)
    columns = {
        "age": rng.integers(18, 30, 400).tolist(),
        "town": [f"t{code}" for code in rng.integers(0, 8, 400)],
        "illness": [f"i{code}" for code in rng.integers(0, 6, 400)],
    }
    return shoal.read(columns, shoal.Schema(quasi=["age", "town"], sensitive="illness"))


def test_members_whose_values_are_generalized_are_at_risk_as_others(towns, tmp_path):
    columns = [["age", "town"], ["illness"]]
    release = shoal.anonymize(towns, shoal.Slicing(ell=2, columns=columns, min_frequency=6), seed=1)
    assert release.meanings
    (found,) = shoal.attack(release, shoal.attacks.Membership(limit="0.5"))
    assert found.headline["AUC"] > 0.5
    assert found.headline["people who match"] == found.n_breached == 400
    (opened,) = shoal.attack(release.write(tmp_path / "release"), shoal.attacks.Membership())
    assert opened.headline["people who match"] == 400


@pytest.mark.parametrize("asked", [{"min_frequency": 100}, {"max_membership_auc": "0.55"}])
def test_labels_name_no_value_that_is_rarer_than_values_were_made(towns, asked):
    columns = [["age", "town"], ["illness"]]
    release = shoal.anonymize(towns, shoal.Slicing(ell=2, columns=columns, **asked), seed=1)
    found = release.making.method.settled(release.making.plan.notes).min_frequency
    assert release.meanings
    for name, labels in release.meanings.items():
        cells = towns.counts([name])
        often = dict(zip(cells.domain(name).labels(), cells.counts.tolist(), strict=True))
        assert all(often[one] >= found for label in labels.values() for one in label.members)


# --- verify -------------------------------------------------------------------------------------


@pytest.fixture
def folder(patients, tmp_path):
    release = shoal.anonymize(patients, shoal.Slicing(ell=2, columns=COLUMNS), seed=1)
    return release.write(tmp_path / "release")


def changed(folder, name, edit):
    """Change a file, and its digest with it."""
    path = folder / name
    path.write_text(edit(path.read_text(encoding="utf-8")), encoding="utf-8", newline="")
    reseal(folder)


def test_a_strict_release_is_verified_from_its_public_files_alone(folder):
    found = shoal.verify(folder)
    assert found.status is Status.VERIFIED
    assert found.verdicts[0].reached == {"ell": "2"}


@pytest.mark.parametrize(
    ("name", "stated"),
    [
        ("columns", [["age", "sex", "zipcode", "disease"]]),
        ("min_frequency", "50"),
        ("min_frequency", 50.0),
        ("bucket_size", 50),
    ],
)
def test_parameters_that_the_release_does_not_bear_out(folder, name, stated):
    def edit(text):
        manifest = json.loads(text)
        manifest["method"]["parameters"][name] = stated
        return json.dumps(manifest)

    changed(folder, "manifest.json", edit)
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert any(f"the parameter {name} " in problem for problem in found.problems)


@pytest.fixture
def relaxed(tmp_path):
    census = shoal.datasets.census(rows=300, seed=2)
    columns = {name: census.to_dict()[name] for name in ("sex", "education", "condition")}
    schema = shoal.Schema(quasi=["sex", "education"], sensitive="condition")
    method = shoal.Slicing(ell=2, columns=[["education"], ["sex"], ["condition"]], cuts="relaxed")
    return shoal.anonymize(shoal.read(columns, schema), method, seed=1).write(tmp_path / "r")


def test_a_relaxed_release_is_verified_with_the_internal_folder(relaxed):
    assert shoal.verify(relaxed, internal=internal_of(relaxed)).status is Status.VERIFIED
    assert shoal.verify(relaxed).status in (Status.PARTLY, Status.VERIFIED)
    (found,) = shoal.attack(relaxed, shoal.attacks.SlicedLinkage())
    assert found.headline["people matching several"] > 0


def test_buckets_that_part_equal_values_are_not_said_to_be_strict(relaxed):
    changed(relaxed, "manifest.json", lambda text: text.replace('"relaxed"', '"strict"'))
    found = shoal.verify(relaxed, internal=internal_of(relaxed))
    assert found.status is Status.FAILED
    assert any("strict" in said for said in found.problems)


def swapped(text):
    """Give two people the disease of each other."""
    head, *lines = [line.split(",") for line in text.splitlines()]
    other = next(line for line in lines if line[-1] != lines[0][-1] and line[-2] != lines[0][-2])
    lines[0][-1], other[-1] = other[-1], lines[0][-1]
    return "".join(",".join(line) + "\n" for line in [head, *lines])


@pytest.mark.parametrize(
    ("name", "edit", "problem"),
    [
        ("sliced.csv", swapped, "does not link"),
        ("sliced.csv", lambda text: text.rsplit("\n", 2)[0] + "\n", "does not link"),
        ("column_1.csv", lambda text: text.replace(",1\n", ",2\n", 1), "sliced"),
        (
            "manifest.json",
            lambda text: text.replace('"zipcode",\n      "disease"', '"disease"'),
            "exactly the published columns",
        ),
    ],
)
def test_a_release_that_was_changed_fails(folder, name, edit, problem):
    changed(folder, name, edit)
    found = shoal.verify(folder)
    assert found.status is Status.FAILED
    assert any(problem in said for said in found.problems)


def test_words_and_views_that_say_something_else_fail(folder):
    stated = stated_in(folder)
    path = folder / "views.duckdb.sql"
    path.write_text(path.read_text("utf-8") + "COPY t TO 'x';\n", encoding="utf-8")
    state(folder, stated)
    (problem,) = shoal.verify(folder).problems
    assert "views.duckdb.sql is not what follows from the manifest" in problem
    stated["guarantees"][0]["ell"] = "3"
    state(folder, stated)
    assert any("in words" in problem for problem in shoal.verify(folder).problems)


def test_the_people_of_another_release_are_refused(folder, patients, tmp_path):
    other = shoal.anonymize(patients, shoal.Slicing(ell=2, columns="one_each"), seed=2)
    strange = internal_of(other.write(tmp_path / "other"))
    found = shoal.verify(folder, internal=strange)
    assert found.status is Status.FAILED


def test_without_its_internal_folder_nobody_is_known_to_be_in_it(folder):
    for path in internal_of(folder).iterdir():
        path.unlink()
    internal_of(folder).rmdir()
    with pytest.raises(shoal.errors.DataError, match="do not say who is in it"):
        shoal.attack(folder)
    people = {name: papers.slicing_patients().to_dict()[name] for name in ("age", "sex", "zipcode")}
    (found,) = shoal.attack(folder, shoal.attacks.SlicedLinkage(), people=people)
    assert found.worst == pytest.approx(0.5)


def test_the_risk_file_has_a_line_for_everybody(folder):
    shoal.attack(folder, shoal.attacks.SlicedLinkage())
    risk = parquet.read_table(internal_of(folder) / "risk.parquet").to_pydict()
    assert len(risk["row_key"]) == len(set(risk["row_key"])) == 8
    assert risk["posterior"] == pytest.approx([0.5] * 8)
    assert set(risk["value"]) <= set(papers.slicing_patients().to_dict()["disease"])


def test_many_columns_are_linked_some_at_a_time(tmp_path, monkeypatch):
    """Two hundred in one query are nested too deep for the engine's parser."""
    rng = np.random.default_rng(1)
    columns = {f"c{number}": rng.choice(["x", "y", "z"], 40).tolist() for number in range(6)}
    table = shoal.read(columns, shoal.Schema(quasi=list(columns)))
    method = shoal.Slicing(columns="one_each", bucket_size=10)
    at_once = shoal.anonymize(table, method, seed=1).write(tmp_path / "at_once")
    monkeypatch.setattr("shoal.engines.sql.layout._MOST_NESTED", 2)
    by_parts = shoal.anonymize(table, method, seed=1).write(tmp_path / "by_parts")
    assert read_back(by_parts, "sliced") == read_back(at_once, "sliced")


def test_who_reads_the_interval_of_a_label_is_the_one_who_attacks():
    """Not one to whom a value that is too rare to be named may stand behind any label."""
    rng = np.random.default_rng(1)
    columns = {"income": rng.permutation(1000).tolist()[:400], "illness": ["a", "b"] * 200}
    table = shoal.read(columns, shoal.Schema(quasi="income", sensitive="illness"))
    method = shoal.Slicing(ell=1, columns="one_each", min_frequency=20)
    release = shoal.anonymize(table, method, seed=1)
    labels = release.meanings["income"].values()
    assert all(label.interval and not label.members and not label.has_other for label in labels)
    (found,) = shoal.attack(release, shoal.attacks.Membership())
    assert found.headline["AUC"] != 0.5
