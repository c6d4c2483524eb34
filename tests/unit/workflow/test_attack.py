"""Attacks through the pipeline: everybody by default, given people by matching, one line each."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as parquet
import pytest

import shoal
from shoal.core import registry
from shoal.core.attack import Need
from shoal.core.findings import about_everybody
from shoal.core.shapes import Shape


@pytest.fixture(scope="module")
def census() -> shoal.datasets.Dataset:
    return shoal.datasets.census(rows=500, seed=8)


@pytest.fixture(scope="module")
def table(census: shoal.datasets.Dataset) -> shoal.Table:
    return shoal.read(census)


def attacks_on(shape: Shape) -> list[str]:
    """Name all attacks on a shape, but those that run the algorithm anew: they are asked for."""
    found = {name: registry.find("shoal.attacks", name) for name in registry.names("shoal.attacks")}
    return [
        name
        for name, attack in found.items()
        if shape.model in attack.reads and Need.ALGORITHM not in attack.needs
    ]


def test_every_attack_that_fits_runs_where_none_is_named(table: shoal.Table) -> None:
    known = shoal.knowledge.mine_negative_rules(table)
    release = shoal.anonymize(table, shoal.Anatomy(ell=3))
    report = shoal.attack(release, knowledge=known)
    assert [found.attack for found in report] == attacks_on(Shape.BUCKETIZED)
    # Those that need knowledge do not run without any.
    assert [found.attack for found in shoal.attack(release)] == [
        "foreground",
        "homogeneity",
        "linkage",
        "membership",
    ]


def test_a_release_is_attacked_with_what_it_was_made_against(table: shoal.Table) -> None:
    report = shoal.attack(shoal.anonymize(table, shoal.Injector(ell=2)))
    assert [found.attack for found in report] == attacks_on(Shape.BUCKETIZED)


def test_the_risk_file_has_one_line_a_person_and_attack(table: shoal.Table, tmp_path: Path) -> None:
    release = shoal.anonymize(table, shoal.Mondrian(k=5, ell=2))
    folder = release.write(tmp_path / "release")
    report = shoal.attack(folder)
    risk = parquet.read_table(tmp_path / "release.internal" / "risk.parquet").to_pandas()
    # Who is in the table cannot be tried without the table.
    tried = [found for found in report if found.attack != "membership"]
    assert len(risk) == 500 * len(tried)
    for found in tried:
        lines = risk[risk.attack == found.attack]
        assert lines.row_key.is_unique
        assert lines.breached.sum() == found.n_breached
        assert lines.posterior.max() == pytest.approx(found.worst)


def test_attacks_before_writing_reach_the_risk_file_too(table: shoal.Table, tmp_path: Path) -> None:
    release = shoal.anonymize(table, shoal.Anatomy(ell=3))
    release.write(tmp_path / "release", findings=shoal.attack(release))
    risk = parquet.read_table(tmp_path / "release.internal" / "risk.parquet")
    assert risk.num_rows == 500 * 4


@pytest.mark.parametrize("publish", ["generalized", "bucketized"])
def test_the_posterior_of_each_person_is_the_share_in_their_bucket(
    table: shoal.Table, census: shoal.datasets.Dataset, tmp_path: Path, publish: str
) -> None:
    release = shoal.anonymize(table, shoal.Mondrian(k=5, ell=2, publish=publish))
    report = shoal.attack(release, shoal.attacks.Homogeneity())
    release.write(tmp_path / "release", findings=report)
    internal = tmp_path / "release.internal"
    placement = parquet.read_table(internal / "placement.parquet").to_pandas()
    risk = parquet.read_table(internal / "risk.parquet").to_pandas()
    if publish == "generalized":
        frame = release.to_pandas("table")
        group = frame.groupby(list(census.schema.quasi), dropna=False)["condition"]
        share = group.transform(lambda values: values.value_counts().max() / len(values))
        placement["expected"] = share.to_numpy()[placement.line.to_numpy() - 1]
    else:
        counts = release.to_pandas("sensitive").groupby("bucket")["count"]
        share = counts.max() / counts.sum()
        placement["expected"] = share.loc[placement.bucket].to_numpy()
    joined = placement.merge(risk, on="row_key")
    assert len(joined) == 500
    assert (joined.expected - joined.posterior).abs().max() < 1e-12


def test_people_can_be_given_and_are_found_by_matching(
    table: shoal.Table, census: shoal.datasets.Dataset
) -> None:
    for publish in ("generalized", "bucketized"):
        release = shoal.anonymize(table, shoal.Mondrian(k=5, ell=2, publish=publish))
        some = census.take(range(20))
        columns = {name: some.to_dict()[name] for name in census.schema.quasi}
        report = shoal.attack(release, shoal.attacks.Homogeneity(), people=columns)
        (found,) = report.findings
        assert found.n_people == 20
        assert found.posterior.min() > 0
        assert about_everybody(report) == ()


def test_an_attack_that_does_not_fit_is_refused() -> None:
    columns = {"age": [1, 2, 3, 4], "sex": ["f", "m", "f", "m"]}
    table = shoal.read(columns, shoal.Schema(quasi=["age", "sex"]))
    release = shoal.anonymize(table, shoal.Mondrian(k=2))
    with pytest.raises(shoal.errors.ParameterError, match="does not apply"):
        shoal.attack(release, shoal.attacks.Homogeneity())
    assert [found.attack for found in shoal.attack(release)] == ["linkage", "membership"]


@pytest.fixture(scope="module", params=["bucketized", "generalized"])
def published(request: pytest.FixtureRequest) -> shoal.Release:
    """Publish ages and whether somebody smokes: six people of 20 and six of 21."""
    columns = {
        "age": [20, 21] * 6,
        "smokes": [True, False] * 6,
        "post": ["020", "20"] * 6,
        "disease": ["flu", "flu", "cold", "cold"] * 3,
    }
    schema = shoal.Schema(quasi=["age", "smokes", "post"], sensitive="disease")
    method = shoal.Mondrian(k=2, ell=2, publish=request.param)
    return shoal.anonymize(shoal.read(columns, schema), method)


def n_found(release: shoal.Release, people: object) -> int:
    (found,) = shoal.attack(release, shoal.attacks.Homogeneity(), people=people).findings
    return int((found.posterior > 0).sum())


def in_csv(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(("age,smokes,post", *lines)) + "\n", encoding="utf-8")
    return path


def test_people_are_found_however_their_numbers_are_spelled(
    published: shoal.Release, tmp_path: Path
) -> None:
    frame = {"age": [20, 21, None], "smokes": [True, False, True], "post": ["020", "20", "020"]}
    assert n_found(published, pd.DataFrame(frame)) == 2
    lines = ("20.0,True,020", "2.1e1,FALSE,20", "20,true,020")
    assert n_found(published, in_csv(tmp_path / "people.csv", *lines)) == 3
    frame["age"][2] = float("nan")
    assert n_found(published, pa.table(frame)) == 2


def test_texts_that_are_not_numbers_in_the_release_stay_apart(
    published: shoal.Release, tmp_path: Path
) -> None:
    if published.manifest.shape.name != "bucketized":
        pytest.skip("generalized: the postcode may be any")
    path = in_csv(tmp_path / "people.csv", "20,true,020", "20,true,20", "20.5,true,020")
    assert n_found(published, path) == 1
    table = shoal.read(
        {"age": [20.0, 20.0], "smokes": ["True", "true"], "post": [20, 21]},
        shoal.Schema(quasi=["age", "smokes", "post"]),
    )
    assert n_found(published, table) == 0


def test_a_stranger_whose_values_cannot_be_read_is_found_nowhere(
    published: shoal.Release, tmp_path: Path
) -> None:
    path = in_csv(tmp_path / "people.csv", "20,true,020", "unknown,true,020", "1_0,true,020")
    assert n_found(published, path) == 1


def test_a_column_without_a_single_value_of_its_type_is_refused(
    published: shoal.Release, tmp_path: Path
) -> None:
    path = in_csv(tmp_path / "people.csv", "Wally,true,020", "Whale,true,020")
    with pytest.raises(
        shoal.errors.DataError, match="Column 'age' is integer in the release"
    ) as caught:
        shoal.attack(published, people=path)
    assert "Wa" not in str(caught.value)
