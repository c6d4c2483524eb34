"""Several releases of one table, attacked together."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from two_releases import buckets_of, enumerate_worlds
from typer.testing import CliRunner

import shoal
from shoal.cli.app import app
from shoal.engines.duckdb.engine import DuckDB
from shoal.workflow import earlier as job

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
    "mondrian": shoal.Mondrian(k=4, ell=3, publish="bucketized"),
    "generalized": shoal.Mondrian(k=10, ell=3),
    "slicing": shoal.Slicing(ell=3, columns="bucketized"),
    "mixed": shoal.Slicing(ell=2, columns=[["age"], ["town", "illness"]]),
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


def intersect(release, *earlier, **more):
    found = job.attack_with_earlier(shoal.open_release(release), earlier, **more)
    assert len(found) == 1
    return found[0]


@pytest.fixture
def engines(monkeypatch):
    """Return the engines that are open."""
    still_open = set()
    begin, end = DuckDB.__init__, DuckDB.close

    def start(self, *given, **named):
        begin(self, *given, **named)
        still_open.add(self)

    def close(self):
        end(self)
        still_open.discard(self)

    monkeypatch.setattr(DuckDB, "__init__", start)
    monkeypatch.setattr(DuckDB, "close", close)
    return still_open


def test_every_engine_is_closed_that_was_opened_for_other_releases(folders, engines):
    new, old = folders["anatomy", 1], [folders["anatomy", 2], folders["generalized", 1]]
    report = shoal.attack(new, shoal.attacks.Homogeneity(), earlier=old)
    assert [found.attack for found in report] == ["homogeneity", "intersection"]
    assert not engines


def test_the_command_line_leaves_no_engine_open(folders, engines):
    old, new = str(folders["anatomy", 2]), str(folders["anatomy", 1])
    result = CliRunner().invoke(app, ["attack", new, "-a", "homogeneity", "--earlier", old])
    assert result.exit_code == 0
    assert "intersection" in result.stdout
    assert not engines


def test_a_release_just_written_leaves_its_own_engine_open_alone(
    columns, folders, engines, tmp_path
):
    release = shoal.anonymize(shoal.read(columns, SCHEMA), METHODS["generalized"], seed=5)
    written = replace(release, folder=release.write(tmp_path / "new"))
    written = replace(written, internal=tmp_path / "new.internal")
    (found,) = job.attack_with_earlier(written, folders["generalized", 1])
    assert found.attack == "intersection"
    assert engines == {release.files.engine}


SMALL = {
    "anatomy": shoal.Anatomy(ell=2),
    "mondrian": shoal.Mondrian(k=2, ell=2, publish="bucketized"),
    "generalized": shoal.Mondrian(k=2, ell=2),
    "sliced": shoal.Slicing(ell=2, columns=[["age"], ["town", "illness"]]),
}


@st.composite
def small_tables(draw):
    n = draw(st.integers(4, 8))
    rows = [
        {
            "no": f"p{row}",
            "age": draw(st.integers(20, 23)),
            "town": draw(st.sampled_from(["a", "b"])),
            "illness": draw(st.sampled_from(["flu", "gout", "cold", "HIV"])),
        }
        for row in range(n)
    ]
    shapes = draw(st.tuples(st.sampled_from(list(SMALL)), st.sampled_from(list(SMALL))))
    left_out = draw(st.sets(st.integers(0, n - 1), max_size=1))
    return rows, shapes, left_out


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(drawn=small_tables())
def test_real_releases_say_what_all_worlds_say(drawn, tmp_path_factory):
    rows, shapes, left_out = drawn
    place = tmp_path_factory.mktemp("small")
    parts = [[row for at, row in enumerate(rows) if at not in left_out], rows]
    written = []
    for seed, (shape, part) in enumerate(zip(shapes, parts, strict=True)):
        given_columns = {name: [row[name] for row in part] for name in rows[0]}
        try:
            release = shoal.anonymize(shoal.read(given_columns, SCHEMA), SMALL[shape], seed=seed)
        except shoal.errors.InfeasibleError:
            return
        written.append(release.write(place / f"r{seed}"))
    found = intersect(*written)
    views = [buckets_of(folder, rows) for folder in written]
    keys = [row["no"] for row in rows]
    n_worlds, counted = enumerate_worlds(keys, views)
    n_certain = sum(max(values.values()) == n_worlds for values in counted.values())
    assert found.n_people == len(rows)
    assert found.headline["people certain"] == n_certain
    assert found.headline["people whose posterior is estimated"] == 0
    worst = sorted(max(values.values()) / n_worlds for values in counted.values())
    mine = np.sort(np.repeat(found.posterior, found.counts))
    assert mine.tolist() == pytest.approx(worst)


@pytest.mark.parametrize("name", METHODS)
def test_the_same_partition_twice_puts_nobody_at_risk(folders, name):
    folder = folders[name, 1]
    found = intersect(folder, folder)
    assert found.n_people == N_ROWS
    assert found.n_breached == 0
    assert found.headline["people in all releases"] == N_ROWS
    assert found.worst == pytest.approx(found.headline["worst in this release alone"])


def test_two_draws_of_anatomy_are_taken_apart(folders):
    """Values of single people alone leave many open; elimination between them does not."""
    found = intersect(folders["anatomy", 1], folders["anatomy", 2])
    assert found.headline["people certain in one release alone"] == 0
    assert found.headline["people certain"] > 0.9 * N_ROWS
    assert found.n_breached == found.headline["people above the limit"] > 0.9 * N_ROWS
    n_certain = found.headline["people certain"]
    assert found.figure == f"{found.n_breached} of {N_ROWS} people at risk, {n_certain} certain"
    assert not found.cut_short


def test_three_releases_say_at_least_as_much_as_two(folders):
    names = [("slicing", 1), ("mondrian", 1), ("generalized", 2)]
    two = intersect(*(folders[name] for name in names[:2]))
    three = intersect(*(folders[name] for name in names))
    assert three.headline["people certain"] >= two.headline["people certain"]


def test_what_is_not_counted_is_said(folders):
    one, other = folders["anatomy", 1], folders["mixed", 1]
    whole = intersect(one, other)
    assert whole.headline["people whose posterior is estimated"] == 0
    found = intersect(one, other, max_work=0)
    n_estimated = found.headline["people whose posterior is estimated"]
    assert n_estimated > 0
    assert f"at least {found.headline['people certain']} certain" in found.figure
    assert f"beliefs about {n_estimated} people are estimated" in found.cut_short
    # Counting makes some people certain whom elimination leaves open.
    assert found.headline["people certain"] < whole.headline["people certain"]


def test_estimates_are_near_to_what_is_counted(folders):
    one, other = folders["generalized", 1], folders["slicing", 1]
    whole, found = intersect(one, other), intersect(one, other, max_work=0)
    assert found.headline["people whose posterior is estimated"] > 0
    assert np.abs(found.posterior - whole.posterior).max() < 0.1


@pytest.mark.parametrize("others", [(), ("i2",)])
def test_every_protected_value_is_judged(columns, folders, tmp_path, others):
    """A person is at risk by a protected value that is not the one believed most."""
    method = shoal.Anatomy(ell=4, protect=["i1", *others])
    folder = shoal.anonymize(shoal.read(columns, SCHEMA), method, seed=1).write(tmp_path / "p")
    second = shoal.anonymize(shoal.read(columns, SCHEMA), method, seed=2).write(tmp_path / "q")
    found = intersect(folder, second)
    rows = [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
    release = shoal.open_release(folder)
    column = job._Column.of(
        "illness",
        [release, shoal.open_release(second)],
        job.join_placements(release.files.engine, [release, shoal.open_release(second)]),
    )
    believed = job.believe_jointly(column.worlds, job.Work())
    protected = [column.texts.index(value) for value in ("i1", *others)]
    share = np.zeros(len(column.worlds.counts))
    for value in protected:
        chosen = column.worlds.value == value
        share[column.worlds.cell[chosen]] += believed.belief[chosen]
    over = int(column.worlds.counts[share > 0.25 + 1e-9].sum())
    assert len(rows) == N_ROWS
    assert found.headline["people above the limit"] == over > 0
    assert found.worst == pytest.approx(share.max())
    assert found.headline["worst in this release alone"] <= 0.25


def test_a_promise_about_the_number_of_values_is_judged_by_it(columns, tmp_path):
    table = shoal.read(columns, SCHEMA)
    method = shoal.Mondrian(k=4, ell=3, diversity="distinct")
    one = shoal.anonymize(table, method, seed=1).write(tmp_path / "one")
    other = shoal.anonymize(table, shoal.Anatomy(ell=3), seed=1).write(tmp_path / "other")
    found = intersect(one, other)
    left = {row[0]: row[1] for row in found.sections[0].rows}
    assert found.limit == "at least 3 values"
    assert found.n_breached == left.get(1, 0) + left.get(2, 0) > 0


def test_all_common_sensitive_columns_are_attacked(columns, tmp_path):
    rng = np.random.default_rng(5)
    given_columns = columns | {"income": [f"e{code}" for code in rng.integers(0, 6, N_ROWS)]}
    schema = shoal.Schema(quasi=["age", "town"], sensitive=["illness", "income"], key="no")
    table = shoal.read(given_columns, schema)
    method = shoal.Slicing(ell=2, columns=[["age", "town"], ["illness"], ["income"]])
    one, other = (
        shoal.anonymize(table, method, seed=seed).write(tmp_path / f"r{seed}") for seed in (1, 2)
    )
    report = shoal.attack(one, shoal.attacks.SlicedLinkage(), earlier=other)
    names = [found.attack for found in report]
    assert names == ["sliced_linkage", "intersection: illness", "intersection: income"]
    assert "in a sliced release, which does not publish them" in report.findings[1].knows


def test_what_the_adversary_knows_speaks_of_slices_only_where_there_are_some(folders):
    assert "sliced" not in intersect(folders["anatomy", 1], folders["mondrian", 1]).knows
    assert "sliced" in intersect(folders["anatomy", 1], folders["slicing", 1]).knows


def test_values_that_changed_in_between_are_not_reasoned_from(columns, folders, tmp_path):
    changed = ["i7" if value == "i0" else value for value in columns["illness"]]
    table = shoal.read(columns | {"illness": changed}, SCHEMA)
    folder = shoal.anonymize(table, shoal.Anatomy(ell=3), seed=9).write(tmp_path / "o")
    found = intersect(folder, folders["anatomy", 1])
    assert found.headline["people whom no value fits"] > 0
    assert "contradict" in found.cut_short
    assert found.headline["people certain"] < N_ROWS


def test_releases_of_other_people_are_refused(folders, columns, tmp_path):
    others = columns | {"no": [f"q{row}" for row in range(N_ROWS)]}
    folder = shoal.anonymize(shoal.read(others, SCHEMA), shoal.Anatomy(ell=2)).write(tmp_path / "o")
    with pytest.raises(shoal.errors.DataError, match="Nobody is in both"):
        intersect(folders["anatomy", 1], folder)


def test_lines_are_no_key_between_different_tables(folders, columns, tmp_path):
    schema = shoal.Schema(quasi=["age", "town"], sensitive="illness", identifying=["no"])
    folder = shoal.anonymize(shoal.read(columns, schema), shoal.Anatomy(ell=2)).write(
        tmp_path / "o"
    )
    with pytest.raises(shoal.errors.DataError, match="same key") as caught:
        intersect(folders["anatomy", 1], folder)
    assert "key" in caught.value.hint


def test_without_internal_folders_nothing_is_attacked(folders, columns, tmp_path):
    folder = shoal.anonymize(shoal.read(columns, SCHEMA), shoal.Anatomy(ell=2)).write(
        tmp_path / "o"
    )
    (tmp_path / "o.internal").rename(tmp_path / "elsewhere")
    with pytest.raises(shoal.errors.DataError, match="internal folder"):
        intersect(folders["anatomy", 1], folder)


def test_distorted_values_are_refused(folders, columns, tmp_path):
    method = shoal.Mask(lenders="any", m=4, k=4, protect=["i1"])
    folder = shoal.anonymize(shoal.read(columns, SCHEMA), method, seed=1).write(tmp_path / "m")
    with pytest.raises(shoal.errors.ParameterError, match="distorted"):
        intersect(folders["anatomy", 1], folder)


def test_findings_are_plain_json(folders):
    found = intersect(folders["anatomy", 1], folders["slicing", 2])
    stated = json.loads(json.dumps(found.to_dict()))
    assert stated["figures"]["people certain"] == found.headline["people certain"]
    assert not found.sections[0].holds_values


@pytest.mark.parametrize("seed", range(3))
def test_levels_count_in_the_place_of_values(seed, tmp_path):
    rng = np.random.default_rng(seed)
    columns = {
        "no": [f"p{row}" for row in range(60)],
        "age": rng.integers(20, 40, 60).tolist(),
        "pay": (1000 + 100 * rng.integers(0, 40, 60)).tolist(),
    }
    bounds = [2000, 3000, 4000]
    releases = []
    for number in (1, 2):
        schema = shoal.Schema(
            quasi="age", sensitive="pay", key="no", levels={"pay": {"intervals": bounds}}
        )
        made = shoal.anonymize(shoal.read(columns, schema), shoal.Anatomy(ell=2), seed=number)
        releases.append(shoal.open_release(made.write(tmp_path / f"{number}")))
    found = intersect(releases[0].folder, releases[1].folder)
    assert found.levels == "pay at 4 levels"
    placed = job.join_placements(releases[0].files.engine, releases)
    column = job._Column.of("pay", releases, placed)
    believed = job.believe_jointly(column.worlds, job.Work())
    # The plain way: add up what is believed of the numbers of an interval.
    n_cells = len(column.worlds.counts)
    sums, left = [{} for _ in range(n_cells)], [set() for _ in range(n_cells)]
    for which, cell in enumerate(column.worlds.cell.tolist()):
        pay = int(column.texts[column.worlds.value[which]])
        level = sum(pay >= bound for bound in bounds)
        sums[cell][level] = sums[cell].get(level, 0.0) + float(believed.belief[which])
        if believed.high[which]:
            left[cell].add(level)
    assert found.posterior == pytest.approx([max(one.values()) for one in sums])
    assert column.n_left(believed).tolist() == [len(one) for one in left]
    is_certain = np.array([len(one) == 1 for one in left])
    assert found.headline["people certain"] == column.worlds.counts[is_certain].sum()
    labels = ["below 2000", "2000-2999", "3000-3999", "4000 and above"]
    texts = releases[0].levelled.sensitive_texts
    for value, one in zip(found.value.tolist(), sums, strict=True):
        assert one[labels.index(texts[value])] == pytest.approx(max(one.values()))
