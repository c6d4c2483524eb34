"""Releases of MASK: they say that values were distorted, and nothing says which."""

from __future__ import annotations

import csv
import json

import pytest
from tampering import reseal

import shoal
from shoal.core.domain import Role

HOMES = ["a"] * 3 + ["b"] * 4 + ["c"] * 5
DISEASES = ["HIV", "HIV", "flu", "HIV", "flu", "flu", "gout", *["flu"] * 5]
SCHEMA = shoal.Schema(quasi=["home"], sensitive="disease")
SHAPES = ["generalized", "bucketized"]


def publish(folder, shape="bucketized", diseases=DISEASES, schema=SCHEMA, k=3):
    table = shoal.read({"home": HOMES, "disease": diseases}, schema)
    mask = shoal.Mask(m=2, k=k, protect=["HIV"], publish=shape)
    release = shoal.anonymize(table, mask, seed=3)
    return release, release.write(folder, accept_risk="a test")


def stated(folder):
    return json.loads((folder / "manifest.json").read_text())


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("k", [3, 7], ids=["distorted", "not distorted"])
def test_the_manifest_says_that_values_may_be_wrong_whether_or_not_any_is(tmp_path, shape, k):
    release, folder = publish(tmp_path / "release", shape, k=k)
    assert release.making.plan.notes["values distorted"] == (2 if k == 3 else 0)
    columns = {column["name"]: column for column in stated(folder)["columns"]}
    assert columns["disease"]["distorted"] is True
    assert "distorted" not in columns["home"]
    opened = shoal.open_release(folder)
    assert [c.is_distorted for c in opened.manifest.columns if c.role is Role.SENSITIVE] == [True]
    assert "changed on purpose" in (folder / "codebook.md").read_text()
    assert shoal.verify(folder).status == "verified"


@pytest.mark.parametrize("shape", SHAPES)
def test_no_public_file_tells_a_distorted_table_from_one_that_was_so(tmp_path, shape):
    release, folder = publish(tmp_path / "one", shape)
    shown = release.to_arrow("sensitive" if shape == "bucketized" else "table").to_pydict()
    if shape == "bucketized":
        homes = dict(
            zip(
                *(release.to_arrow("quasi").to_pydict()[c] for c in ("bucket", "home")), strict=True
            )
        )
        lines = zip(*(shown[c] for c in ("bucket", "disease", "count")), strict=True)
        people = sorted((homes[b], d) for b, d, count in lines for _ in range(count))
    else:
        people = sorted(zip(shown["home"], shown["disease"], strict=True))
    assert [home for home, _ in people] == HOMES
    assert "HIV" not in [disease for home, disease in people if home == "a"]
    other, again = publish(tmp_path / "two", shape, [disease for _, disease in people])
    assert other.making.plan.notes["values distorted"] == 0
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    assert names == sorted(path.name for path in again.iterdir() if path.is_file())
    for name in names:
        assert (folder / name).read_bytes() == (again / name).read_bytes()


def test_a_share_that_was_tampered_with_fails(tmp_path):
    _, folder = publish(tmp_path / "release")
    path = folder / "sensitive.csv"
    with path.open(newline="") as file:
        header, *lines = csv.reader(file)
    # Of the four people of a bucket three now have HIV.
    (bucket,) = [line[0] for line in lines if line[1] == "HIV"]
    held = {"HIV": "3", "flu": "1", "gout": None}
    lines = [[line[0], line[1], held[line[1]] if line[0] == bucket else line[2]] for line in lines]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(
            [header, *(line for line in lines if line[2] is not None)]
        )
    reseal(folder)
    found = shoal.verify(folder)
    assert found.status == "failed"
    assert any("protected values in more than 1/2" in problem for problem in found.problems)
    assert found.verdicts[0].reached["m"] == 1


def test_a_larger_k_than_is_kept_fails(tmp_path):
    _, folder = publish(tmp_path / "release")

    def claim(manifest):
        (guarantee,) = manifest["guarantees"]
        guarantee["k"] = manifest["method"]["parameters"]["k"] = 4

    reseal(folder, claim)
    found = shoal.verify(folder)
    assert (found.status, found.verdicts[0].n_failing) == ("failed", 1)


def test_a_manifest_that_hides_the_distortion_fails(tmp_path):
    _, folder = publish(tmp_path / "release")

    def hide(manifest):
        for column in manifest["columns"]:
            column.pop("distorted", None)

    reseal(folder, hide)
    found = shoal.verify(folder)
    assert found.status == "failed"
    assert any("values were distorted" in problem for problem in found.problems)


def test_a_value_that_was_distorted_away_is_no_fault(tmp_path):
    diseases = ["HIV"] * 3 + ["flu"] * 9
    release, folder = publish(tmp_path / "release", diseases=diseases)
    assert release.making.plan.notes["values distorted"] == 3
    assert release.published.buckets.domain.texts.tolist() == ["flu"]
    assert shoal.verify(folder).status == "verified"


def test_the_order_of_values_is_not_stated_for_some_may_be_gone(tmp_path):
    schema = shoal.Schema(
        quasi=["home"], sensitive="disease", types={"disease": ["flu", "gout", "HIV"]}
    )
    diseases = ["HIV"] * 3 + ["flu"] * 8 + ["gout"]
    _, folder = publish(tmp_path / "release", diseases=diseases, schema=schema)
    assert "HIV" not in json.dumps(stated(folder)["columns"])
    assert shoal.verify(folder).status == "verified"


def test_a_release_of_mask_can_be_repaired(tmp_path):
    release, _ = publish(tmp_path / "release")
    repaired = shoal.repair(release, belief_gain=0.9, bandwidth=1)
    assert shoal.verify(repaired).status == "verified"
    assert repaired.manifest.columns[-1].is_distorted
