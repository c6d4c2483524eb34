"""Spellings of sensitive values: from the configuration to what a reader of a release is told."""

from __future__ import annotations

import json

import pytest
from tampering import reseal

import shoal
from shoal.core.errors import DataError, SchemaError
from shoal.workflow.config import load
from shoal.workflow.profile import profile

DISEASES = ("HIV", "HIV ", "hiv", "flu", "gout", "cold")


def people(diseases=DISEASES, n_rows=90):
    return {
        "age": [20 + number % 9 for number in range(n_rows)],
        "disease": [diseases[number % len(diseases)] for number in range(n_rows)],
    }


def released(variants, method=None):
    schema = shoal.Schema(quasi="age", sensitive="disease", variants=variants)
    method = shoal.Anatomy(ell=2) if method is None else method
    return shoal.anonymize(shoal.read(people(), schema), method)


def test_one_disease_in_three_spellings_is_no_diversity():
    schema = {"quasi": "age", "sensitive": "disease"}
    ill = people(("HIV", "HIV ", "hiv"))
    with pytest.raises(DataError, match="3 different texts are spellings of 1 value"):
        shoal.read(ill, shoal.Schema(**schema))
    merged = shoal.read(ill, shoal.Schema(**schema, variants={"disease": "merge"}))
    with pytest.raises(shoal.errors.InfeasibleError):
        shoal.anonymize(merged, shoal.Anatomy(ell=2))


def test_the_manifest_says_what_became_of_spellings(tmp_path):
    for choice in ("merge", "distinct"):
        folder = released({"disease": choice}).write(tmp_path / choice)
        stated = json.loads((folder / "manifest.json").read_text())["columns"]
        assert [one.get("variants") for one in stated] == [None, choice]
        record = json.loads((tmp_path / f"{choice}.internal" / "record.json").read_text())
        assert record["replay"]["columns"]["variants"] == {"disease": choice}
        assert shoal.verify(folder).notes == ()


METHODS = [
    pytest.param(shoal.Anatomy(ell=2), id="bucketized"),
    pytest.param(shoal.Mondrian(k=3), id="generalized"),
    pytest.param(shoal.Slicing(ell=2, columns=[["age"], ["disease"]]), id="sliced"),
]


@pytest.mark.parametrize("method", METHODS)
def test_verify_notes_spellings_that_nobody_stated(tmp_path, method):
    folder = released({"disease": "distinct"}, method).write(tmp_path / "release")
    assert shoal.verify(folder).notes == ()
    reseal(folder, lambda stated: [column.pop("variants", 0) for column in stated["columns"]])
    found = shoal.verify(folder)
    assert str(found.status) == "verified"
    (note,) = found.notes
    assert "'disease' 3 different texts are spellings of 1 value" in note
    assert "HIV" not in note
    assert found.to_dict()["notes"] == [note]


def test_a_manifest_with_another_choice_is_refused(tmp_path):
    folder = released({"disease": "distinct"}).write(tmp_path / "release")
    path = folder / "manifest.json"
    path.write_text(path.read_text().replace('"distinct"', '"whatever"'))
    with pytest.raises(DataError, match="misstates"):
        shoal.verify(folder)


@pytest.mark.parametrize("choice", ["merge", "distinct"])
def test_a_release_of_spellings_is_made_again(tmp_path, choice):
    people_file = tmp_path / "people.csv"
    rows = zip(*people().values(), strict=True)
    people_file.write_text("age,disease\n" + "".join(f'{a},"{d}"\n' for a, d in rows))
    schema = shoal.Schema(quasi="age", sensitive="disease", variants={"disease": choice})
    shoal.anonymize(shoal.read(people_file, schema), shoal.Anatomy(ell=2)).write(tmp_path / "one")
    again = shoal.replay(tmp_path / "one.internal", to=tmp_path / "two")
    assert again is not None
    for name in ("quasi.csv", "sensitive.csv"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_record_of_an_earlier_version_kept_every_spelling_apart(tmp_path):
    people_file = tmp_path / "people.csv"
    rows = zip(*people().values(), strict=True)
    people_file.write_text("age,disease\n" + "".join(f'{a},"{d}"\n' for a, d in rows))
    schema = shoal.Schema(quasi="age", sensitive="disease", variants={"disease": "distinct"})
    shoal.anonymize(shoal.read(people_file, schema), shoal.Anatomy(ell=2)).write(tmp_path / "one")
    record = tmp_path / "one.internal" / "record.json"
    stated = json.loads(record.read_text())
    del stated["replay"]["columns"]["variants"], stated["replay"]["columns"]["meant"]
    record.write_text(json.dumps(stated))
    shoal.replay(record, to=tmp_path / "two")
    assert (tmp_path / "one/quasi.csv").read_bytes() == (tmp_path / "two/quasi.csv").read_bytes()


def test_the_configuration_says_what_spellings_are(tmp_path):
    path = tmp_path / "shoal.toml"
    text = """
    [table]
    source = "people.csv"
    [columns]
    quasi = "age"
    sensitive = "disease"
    [columns.variants]
    disease = "merge"
    [method]
    name = "anatomy"
    ell = 2
    """
    path.write_text(text)
    assert dict(load(path).schema().variants) == {"disease": "merge"}
    path.write_text(text.replace("merge", "melt"))
    with pytest.raises(SchemaError, match="variants") as caught:
        load(path)
    assert "melt" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"age": "merge"}, "not sensitive"),
        ({"disease": "melt"}, "must be 'distinct' or 'merge'"),
        ({"disease": 5}, "must be 'distinct' or 'merge'"),
        ("disease", "mapping"),
    ],
)
def test_variants_refuses_what_is_no_choice(given, said):
    with pytest.raises(SchemaError, match=said):
        shoal.Schema(quasi="age", sensitive="disease", variants=given)


def test_profile_mentions_spellings_and_columns_that_tell_others():
    columns = people() | {
        "province": [f"p{number % 5}" for number in range(90)],
        "population": [1000 * (number % 5) for number in range(90)],
    }
    found = profile(columns)
    hints = found.column("disease").hints
    assert any("3 different texts are spellings of 1 value" in hint for hint in hints)
    told = {(one.columns, one.target) for one in found.determining.found}
    assert {(("population",), "province"), (("province",), "population")} <= told
    assert not any(one.target == "disease" for one in found.determining.found)
    (section,) = [one for one in found.sections() if "determine others" in one.title]
    assert ("population", "province", 90, "100.0 %") in section.rows
    assert found.to_dict()["determining"]
