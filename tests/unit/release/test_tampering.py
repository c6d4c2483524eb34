"""Every kind of edit of every shape of release: none that changes its meaning is verified."""

from __future__ import annotations

import random
import shutil
from dataclasses import replace

import pytest
from tampering import reseal
from tampering_edits import ANY, CSV, LABELLED, PARQUET, WITH_HIERARCHIES, WITH_VIEWS, edits_of

import shoal
from shoal.release.opened import read_manifest

METHODS = {
    "generalized": shoal.FullDomain(k=4),
    "bucketized": shoal.Anatomy(ell=2),
    "sliced": shoal.Slicing(ell=2, columns="bucketized"),
    "suppressed": shoal.RuleHiding(private=["condition where age > 60"], delta="0.8", gamma=5),
}
KINDS = [*ANY, *CSV, *LABELLED, *WITH_HIERARCHIES, *WITH_VIEWS, *PARQUET]
RELEASES = [
    *((shape, "csv") for shape in METHODS),
    ("bucketized", "parquet"),
    ("generalized", "parquet"),
]


def schema_of(census, shape):
    schema = census.schema
    if shape in ("sliced", "suppressed"):
        return replace(schema, quasi=(*schema.quasi, *schema.insensitive), insensitive=(), meant=())
    return schema


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    """Return what writes a release of a shape in a format, once."""
    census, written = shoal.datasets.census(rows=120, seed=4), {}

    def sealed(shape, ending):
        if (shape, ending) not in written:
            table = shoal.read(census, schema_of(census, shape))
            release = shoal.anonymize(table, METHODS[shape])
            folder = tmp_path_factory.mktemp("sealed") / "release"
            written[shape, ending] = release.write(folder, ending)
        return written[shape, ending]

    return sealed


@pytest.mark.parametrize(("shape", "ending"), RELEASES)
def test_a_release_that_a_forger_put_in_order_again_is_verified(sealed, tmp_path, shape, ending):
    # Otherwise what the edits below fail by would be the forger's own mistakes.
    folder = shutil.copytree(sealed(shape, ending), tmp_path / "release")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    reseal(folder)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
    assert shoal.verify(folder).status in ("verified", "partly verified")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("shape", "ending"), RELEASES)
def test_no_edit_is_verified(sealed, tmp_path, shape, ending, kind):
    edits = edits_of(sealed(shape, ending))
    if kind not in edits:
        pytest.skip("the release has nothing of the kind")
    draw = random.Random(f"{shape} {ending} {kind}")
    for number in range(2):
        folder = shutil.copytree(sealed(shape, ending), tmp_path / str(number))
        edits[kind](folder, draw)
        assert_not_verified(folder, kind)


def assert_not_verified(folder, kind):
    if kind == "keys of the manifest" and not is_manifest(folder):
        return
    found = shoal.verify(folder)
    assert found.status == "failed" or (kind == "versions" and found.status != "verified")
    assert "Anna" not in " ".join((*found.problems, *found.notes))


def is_manifest(folder):
    try:
        return read_manifest(folder) is not None
    except shoal.errors.DataError:
        return False
