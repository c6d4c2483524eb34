"""Linkage goes by insensitive columns too, but for those that the steward confirmed."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.grouping.linkage import Linkage

N = 120


def columns():
    rng = np.random.default_rng(4)
    return {
        "age": rng.integers(20, 24, N).tolist(),
        "line": [("x", "y", None)[number] for number in rng.integers(0, 3, N)],
        "price": rng.integers(0, 4, N).tolist(),
        "disease": [f"d{value}" for value in rng.integers(0, 4, N)],
    }


def released(folder, method, meant):
    """Publish with all columns confirmed, and let the manifest say what it is to say."""
    schema = shoal.Schema(
        quasi="age", insensitive=["line", "price"], sensitive="disease", meant=[["line", "price"]]
    )
    shoal.anonymize(shoal.read(columns(), schema), method, seed=1).write(folder)
    path = folder / "manifest.json"
    stated = json.loads(path.read_text())
    stated.pop("meant")
    path.write_text(json.dumps(stated | ({"meant": meant} if meant else {})))
    return shoal.open_release(folder)


def alike(release, name, names):
    """Count slowly, for every line, the lines that agree with it."""
    frame = release.to_pandas(name)
    lines = list(zip(*(frame[column].astype(str) for column in names), strict=True))
    sizes = Counter(lines)
    return np.array([sizes[line] for line in lines])


METHODS = {
    "table": shoal.Mondrian(k=4),
    "quasi": shoal.Anatomy(ell=2),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize(
    ("meant", "known"),
    [
        ([], ["age", "line", "price"]),
        ([["price"]], ["age", "line"]),
    ],
)
def test_people_hide_among_those_who_look_like_them_in_all_known_columns(
    tmp_path, name, meant, known
):
    release = released(tmp_path / "release", METHODS[name], meant)
    found = shoal.attack(release, Linkage(limit="1/10"))["linkage"]
    n_alike = alike(release, name, known)
    assert found.is_by_line
    assert np.array_equal(found.posterior, 1 / n_alike)
    assert found.n_breached == int((n_alike < 10).sum()) > 0
    assert found.headline["smallest class"] == n_alike.min()
    whole = alike(release, name, ["age", "line", "price"])
    assert found.headline["smallest class by all columns"] == whole.min()
    assert found.headline["share of unique records by all columns"] == np.mean(whole == 1)


@pytest.mark.parametrize("name", METHODS)
def test_confirmed_columns_are_reported_and_not_judged(tmp_path, name):
    release = released(tmp_path / "release", METHODS[name], [["line", "price"]])
    found = shoal.attack(release, Linkage(limit="1/4"))["linkage"]
    assert found.n_breached == 0
    assert "with the confirmed insensitive columns, 1 in 1" in found.figure
    whole = alike(release, name, ["age", "line", "price"])
    assert found.headline["smallest class by all columns"] == whole.min() == 1


def test_a_release_in_the_making_is_linked_as_the_folder_is(tmp_path):
    schema = shoal.Schema(quasi="age", insensitive="line", sensitive="disease",
                          identifying="price")  # fmt: skip
    release = shoal.anonymize(shoal.read(columns(), schema), shoal.FullDomain(k=2), seed=1)
    assert release.manifest.meant == ()
    before = shoal.attack(release, Linkage(limit="1/10"))["linkage"]
    release.write(tmp_path / "release")
    after = shoal.attack(tmp_path / "release", Linkage(limit="1/10"))["linkage"]
    assert before.is_by_line
    assert 0 < before.n_breached < N
    assert np.array_equal(before.posterior, after.posterior)


def test_the_risk_file_has_everybody_by_their_own_line(tmp_path):
    schema = shoal.Schema(quasi="age", insensitive="line", sensitive="disease",
                          identifying="price")  # fmt: skip
    release = shoal.anonymize(shoal.read(columns(), schema), shoal.FullDomain(k=2), seed=1)
    found = shoal.attack(release, Linkage(limit="1/10"))["linkage"]
    release.write(tmp_path / "release", findings=[found])
    risk = pd.read_parquet(tmp_path / "release.internal" / "risk.parquet")
    own = columns()
    sizes = Counter(zip(own["age"], own["line"], strict=True))
    for key, posterior in zip(risk["row_key"], risk["posterior"], strict=True):
        row = int(key) - 1
        assert posterior == pytest.approx(1 / sizes[own["age"][row], own["line"][row]])
    assert int(risk["breached"].sum()) == found.n_breached
