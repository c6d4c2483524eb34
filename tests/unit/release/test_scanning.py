"""Every kind of leak, planted in every public file that is text, stops the release."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import shoal
from shoal.core.errors import DataError, GuaranteeError
from shoal.core.manifest import Manifest
from shoal.release import documents
from shoal.report.markup import element, page

N = 40
TOWNS = ("Ulm", "Bonn", "Kiel", "Trier")
HIERARCHY = shoal.Hierarchy.from_rows([[town, town[0], "*"] for town in (*TOWNS, "Rarehausen")])
KINDS = {
    "Name": "the name of an identifying column",
    "Person 17": "a value of an identifying column",
    "AB-0017": "the key of a row",
    "Rarehausen": "a value that too few people carry",
    "kuru": "a value that is suppressed wherever it stands",
    "record.json": "the name or path of an internal file",
    "/home/ann/people.csv": "a path of this machine",
    "1 people": "a count of too few people",
    "31 of 39 people": "what an attack found",
    "secret": "a secret",
    "ab" * 20: "a long hexadecimal number that is no digest of a file",
}
FILES = ("labels.json", "codebook.md", "codebook.xml", "report.html", "manifest.json")


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    path = tmp_path_factory.mktemp("source") / "people.csv"
    lines = ["name,number,town,age,disease"]
    for i in range(N):
        # One town of a single person, and one disease that is in a row left out.
        town = "Rarehausen" if i == 0 else TOWNS[i % 4]
        disease = "kuru" if i == 5 else ("cold", "flu", "gout", "ulcer")[i % 4]
        lines.append(f"Person {i},AB-{i:04},{town},{20 + i % 8},{disease}")
    path.write_text("\n".join(lines) + "\n")
    return path


def made(source: Path, method: shoal.Method | None = None) -> shoal.Release:
    schema = shoal.Schema(
        identifying=["name", "number"],
        key="number",
        quasi=["town", "age"],
        sensitive="disease",
        hierarchies={"town": HIERARCHY},
    )
    return shoal.anonymize(shoal.read(source, schema), method or shoal.Mondrian(k=4))


def attacked(release: shoal.Release):
    return shoal.attack(release, shoal.attacks.Linkage(limit="1/9"))


def is_real(manifest: Manifest) -> bool:
    """Tell the release from the skeleton, whose names mean nothing."""
    return any(column.name == "town" for column in manifest.columns)


def leaky(text: str, ending: str, leak: str) -> str:
    if ending == "json":
        return json.dumps({**json.loads(text), "x": {leak: {}}})
    planted = {
        "md": f"{text}\n- {leak}\n",
        "sql": f"{text}\n-- {leak}\n",
        "html": page("Report", element("p", leak)),
        "xml": f"<a><b>{leak}</b></a>",
    }
    return planted[ending]


def plant(monkeypatch: pytest.MonkeyPatch, file: str, leak: str) -> None:
    told = documents.documents_of
    stated = Manifest.to_json

    def leaking(manifest, *rest):
        texts = dict(told(manifest, *rest))
        if is_real(manifest) and file != "manifest.json":
            texts[file] = leaky(texts[file], file.rpartition(".")[2], leak)
        return texts

    def stating(manifest):
        text = stated(manifest)
        if is_real(manifest) and file == "manifest.json":
            return json.dumps({**json.loads(text), "remark": leak})
        return text

    monkeypatch.setattr(documents, "documents_of", leaking)
    monkeypatch.setattr(Manifest, "to_json", stating)


def refused(release: shoal.Release, tmp_path: Path, leak: str, kind: str, file: str) -> None:
    # The values of the release, as they are counted, leave out what no line shows.
    with pytest.raises(GuaranteeError) as caught:
        release.write(tmp_path / "release", findings=attacked(release))
    assert f"{file} would hold {kind}; nothing was sealed." in str(caught.value)
    assert leak not in str(caught.value).replace(kind, "")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture(scope="module")
def generalized(source):
    return made(source)


@pytest.fixture
def without_kuru(monkeypatch):
    counted = documents._carried

    def fewer(domain, codes, counts):
        values = counted(domain, codes, counts)
        if domain.column == "disease":
            values.pop("kuru")
        return values

    monkeypatch.setattr(documents, "_carried", fewer)


@pytest.mark.usefixtures("without_kuru")
@pytest.mark.parametrize("leak", KINDS)
def test_each_kind_of_leak_is_refused(generalized, tmp_path, monkeypatch, leak):
    planted = generalized.making.secret.reveal() if leak == "secret" else leak
    (found,) = attacked(generalized)
    planted = planted.replace("31 of 39", f"{found.n_breached} of {found.n_people}")
    plant(monkeypatch, "codebook.md", planted)
    refused(generalized, tmp_path, planted, KINDS[leak], "codebook.md")


@pytest.mark.usefixtures("without_kuru")
@pytest.mark.parametrize("file", [*FILES, "hierarchies/town.csv"])
def test_each_file_of_a_generalized_release_is_looked_through(
    generalized, tmp_path, monkeypatch, file
):
    if file.startswith("hierarchies"):
        told = documents.rows_text
        monkeypatch.setattr(documents, "rows_text", lambda rows: told(rows) + "Person 17;*\n")
    else:
        plant(monkeypatch, file, "Person 17")
    refused(generalized, tmp_path, "Person 17", "a value of an identifying column", file)


@pytest.mark.parametrize("file", ["views.duckdb.sql", "views.postgres.sql", "report.html"])
def test_each_file_of_a_bucketized_release_is_looked_through(source, tmp_path, monkeypatch, file):
    plant(monkeypatch, file, "Person 17")
    release = made(source, shoal.Anatomy(ell=2))
    refused(release, tmp_path, "Person 17", "a value of an identifying column", file)


def test_a_release_without_leaks_is_written_though_its_keys_are_numbers(tmp_path):
    columns = {
        "id": list(range(N)),
        "name": ["mondrian", "values", "bucket", "other", *(f"n{i}" for i in range(4, N))],
        "town": [TOWNS[i % 4] for i in range(N)],
        "age": [i % 8 for i in range(N)],
        "ill": ["abcd"[i % 4] for i in range(N)],
    }
    schema = shoal.Schema(
        identifying=["name", "id"], key="id", quasi=["town", "age"], sensitive="ill"
    )
    for method in (shoal.Mondrian(k=4), shoal.Anatomy(ell=2)):
        release = shoal.anonymize(shoal.read(columns, schema), method)
        folder = release.write(tmp_path / type(method).__name__)
        assert shoal.verify(folder).holds


def test_a_table_that_vanished_is_missed_only_where_something_must_be_looked_up(
    tmp_path, monkeypatch, source
):
    copy = tmp_path / "copy.csv"
    copy.write_bytes(source.read_bytes())
    release = made(copy)
    copy.unlink()
    (tmp_path / "out").mkdir()
    plant(monkeypatch, "codebook.md", "Something else")
    with pytest.raises(DataError, match="cannot be searched for identifying values"):
        release.write(tmp_path / "out" / "release")
    monkeypatch.undo()
    assert shoal.verify(release.write(tmp_path / "out" / "release")).holds
