from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.cells import Buckets, Cells
from shoal.core.domain import ColumnType, Domain, Role
from shoal.core.errors import DataError, ParameterError, ShoalError
from shoal.core.guarantees import (
    AlphaK,
    BucketSize,
    DistinctDiversity,
    EntropyDiversity,
    FrequencyDiversity,
    KAnonymity,
    RecursiveDiversity,
    TCloseness,
)
from shoal.core.manifest import FORMAT_VERSION, Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.release import People, Published
from shoal.core.shapes import BUCKET, Shape

GUARANTEES = (
    KAnonymity(k=5),
    BucketSize(k=2),
    DistinctDiversity(ell=3),
    FrequencyDiversity(ell="7/3", protect=["flu", None, "\u6f22"]),
    EntropyDiversity(ell=2.5),
    RecursiveDiversity(c="1/3", ell=4),
    TCloseness(t=0.15, distance="ordered"),
    AlphaK(alpha="2/3", k=3, protect=["flu"]),
)
ODD_NAMES = ["", " ", "*", 'a"b', "a\\b", "a\nb", "a|b", "bucket", "\u00e4", "\U0001f41f", "\x00"]
MANIFEST = Manifest(
    shape=Shape.GENERALIZED,
    method="mondrian",
    parameters={"k": 5, "t": "0.15", "protect": ["flu", None]},
    guarantees=GUARANTEES,
    columns=(
        *(PublishedColumn(name, Role.QUASI, ColumnType.INTEGER, True) for name in ODD_NAMES),
        PublishedColumn("note", Role.INSENSITIVE, ColumnType.DATE),
        PublishedColumn("pain", Role.SENSITIVE, ColumnType.ORDERED, order=("", "mild", "bad")),
    ),
    n_rows=40,
    n_buckets=8,
    format="parquet",
    files={"table.parquet": "ab", "hierarchies/a b.csv": "cd"},
    witnesses={"knowledge.toml": "ef"},
    versions={"shoal": "0.1.0"},
    is_test=True,
    is_sealed=True,
)


def broken(**changes):
    """Give the text of a manifest with some entries replaced; `...` takes an entry out."""
    stated = json.loads(MANIFEST.to_json()) | changes
    return json.dumps({key: value for key, value in stated.items() if value is not ...})


def column(**changes):
    stated = MANIFEST.columns[-1].to_dict() | changes
    return {key: value for key, value in stated.items() if value is not ...}


def test_a_manifest_survives_json_with_every_guarantee_and_odd_names():
    assert Manifest.from_json(MANIFEST.to_json()) == MANIFEST


@pytest.mark.parametrize("shape", Shape.all())
def test_every_shape_survives_json_and_has_data_files(shape):
    assert Manifest.from_json(replace(MANIFEST, shape=shape).to_json()).shape is shape
    assert replace(MANIFEST, shape=shape).data_names


@pytest.mark.parametrize("role", Role)
@pytest.mark.parametrize("kind", ColumnType)
def test_every_kind_of_column_survives_json(role, kind):
    columns = (PublishedColumn("x", role, kind),)
    assert Manifest.from_json(replace(MANIFEST, columns=columns).to_json()).columns == columns


@given(st.text(), st.text())
def test_any_name_survives_json(name, value):
    column = PublishedColumn(name, Role.SENSITIVE, ColumnType.ORDERED, order=(value,))
    manifest = replace(MANIFEST, columns=(column,), files={name: value})
    assert Manifest.from_json(manifest.to_json()) == manifest


def test_a_manifest_does_not_depend_on_the_order_in_which_files_were_written():
    other = replace(MANIFEST, files=dict(reversed(MANIFEST.files.items())))
    assert other.to_json() == MANIFEST.to_json()


def test_columns_are_found_by_role_in_their_order():
    assert MANIFEST.columns_of(Role.QUASI) == tuple(ODD_NAMES)
    assert MANIFEST.columns_of(Role.SENSITIVE) == ("pain",)
    assert MANIFEST.columns_of(Role.IDENTIFYING) == ()


def test_a_value_is_named_where_as_many_carry_it_as_the_strongest_guarantee_hides():
    guarantees = (KAnonymity(k=5), DistinctDiversity(ell=7), TCloseness(t=0.1))
    assert replace(MANIFEST, guarantees=guarantees).least_named == 7
    assert replace(MANIFEST, guarantees=(TCloseness(t=0.1),)).least_named == 2
    assert replace(MANIFEST, guarantees=()).least_named == 2


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", "5", '"x"', "{}", "\ufeff{}", "[" * 100_000, '{"rows": 3}']
)
def test_what_is_no_manifest_is_refused(text):
    with pytest.raises(DataError, match=r"manifest.json is not a manifest"):
        Manifest.from_json(text)


@pytest.mark.parametrize("version", [0, FORMAT_VERSION + 1, "1", True, 1.0, None, [1]])
def test_a_manifest_of_another_version_is_refused(version):
    with pytest.raises(DataError, match="format version"):
        Manifest.from_json(broken(format_version=version))


@pytest.mark.parametrize("entry", list(json.loads(MANIFEST.to_json()))[1:])
def test_a_manifest_lacks_no_entry(entry):
    with pytest.raises(DataError):
        Manifest.from_json(broken(**{entry: ...}))


@pytest.mark.parametrize(
    "changes",
    [
        {"shape": "round"},
        {"method": "mondrian"},
        {"method": {"name": "mondrian"}},
        {"guarantees": 5},
        {"guarantees": [5]},
        {"guarantees": [{"name": "secrecy"}]},
        {"guarantees": [{"name": "k-anonymity", "k": 0}]},
        {"guarantees": [{"name": "k-anonymity", "k": float("inf")}]},
        {"columns": [5]},
        {"columns": [column(role="owner")]},
        {"columns": [column(type="text")]},
        {"columns": [column(recoded=...)]},
        {"columns": [column(order=5)]},
        {"rows": None},
        {"rows": "many"},
        {"rows": float("inf")},
        {"rows": float("nan")},
        {"buckets": [8]},
        {"files": ["table.csv"]},
        {"files": None},
    ],
    ids=str,
)
def test_a_misstated_entry_is_an_error_of_ours(changes):
    with pytest.raises((DataError, ParameterError)) as caught:
        Manifest.from_json(broken(**changes))
    assert isinstance(caught.value, ShoalError)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


MEANINGS = [
    Meaning(),
    Meaning(interval=("20", "30")),
    Meaning(interval=("-inf", "1970-01-01"), has_missing=True),
    Meaning(members=frozenset({"a", "", "*", "\u6f22"}), has_other=True),
    Meaning(interval=("0", "1"), members=frozenset({"0"}), has_other=True, has_missing=True),
]


@pytest.mark.parametrize("meaning", MEANINGS, ids=str)
def test_a_meaning_survives_json(meaning):
    assert Meaning.from_dict(json.loads(json.dumps(meaning.to_dict()))) == meaning


def test_a_meaning_does_not_depend_on_the_order_of_its_members():
    assert Meaning(members=frozenset("cab")).to_dict() == {"members": ["a", "b", "c"]}


@pytest.mark.parametrize("interval", [[], ["1"], ["1", "2", "3"]])
def test_an_interval_has_two_bounds(interval):
    with pytest.raises(ValueError, match="unpack"):
        Meaning.from_dict({"interval": interval})


def published():
    bucket, sex = Domain.of_texts(BUCKET, ["4", "5", "6"]), Domain.of_texts("sex", ["F", "M"])
    lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [2, 1]]), np.array([2, 1, 4]))
    disease = Domain.of_texts("disease", ["flu"])
    values = Buckets.of_pairs(np.array([0, 2]), np.array([0, 0]), disease, np.array([3, 4]))
    return Published(MANIFEST, lines, values)


def test_bucket_sizes_count_rows_and_an_empty_bucket_shows():
    assert published().n_buckets == 3
    assert published().bucket_sizes.tolist() == [3, 0, 4]
    assert [domain.column for domain in published().quasi] == ["sex"]


def test_rows_that_look_alike_are_counted_across_buckets():
    bucket, sex = Domain.of_texts(BUCKET, ["1", "2"]), Domain.of_texts("sex", ["F", "M"])
    lines = Cells((bucket, sex), np.array([[0, 0], [0, 1], [1, 1]]), np.array([2, 3, 4]))
    assert Published(MANIFEST, lines, None).fewest_alike.tolist() == [2, 7]
    without = Cells((bucket,), np.array([[0], [1]]), np.array([2, 3]))
    assert Published(MANIFEST, without, None).fewest_alike.tolist() == [5, 5]


def test_people_who_look_alike_are_one_entry():
    people = People(published().lines.select(["sex"]))
    assert (people.n_people, people.counts.tolist()) == (7, [2, 5])
    assert repr(people) == "People(7 people, 2 different ones)"
