from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import shoal
from shoal.core.errors import GuaranteeError
from shoal.release import documents
from shoal.report.markup import element, page
from shoal.workflow.config import configure
from shoal.workflow.publish import publish

TOWNS = ("Ulm", "Bonn", "Kiel", "Trier")


@pytest.fixture
def table():
    n = 40
    return shoal.read(
        {
            "name": [f"Person {i}" for i in range(n)],
            # One town that a single person lives in, among those that many do.
            "town": ["Rarehausen", *(TOWNS[i % 4] for i in range(1, n))],
            "age": [20 + i % 8 for i in range(n)],
            "disease": [("cold", "flu", "gout", "ulcer")[i % 4] for i in range(n)],
        },
        shoal.Schema(identifying="name", quasi=["town", "age"], sensitive="disease"),
    )


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.is_file()}


METHODS = [
    shoal.Mondrian(k=4, ell=2),
    shoal.Anatomy(ell=2),
    shoal.Slicing(ell=2, columns="bucketized"),
]


@pytest.mark.parametrize("method", METHODS, ids=lambda one: type(one).__name__)
def test_a_release_is_sealed_with_its_documents(table, tmp_path, method):
    release = shoal.anonymize(table, method)
    sliced = isinstance(method, shoal.Slicing)
    linkage = shoal.attacks.SlicedLinkage() if sliced else shoal.attacks.Linkage()
    folder = release.write(tmp_path / "release", findings=shoal.attack(release, linkage))
    public = files_of(folder)
    assert {"report.html", "codebook.xml", "codebook.md"} <= set(public)
    stated = json.loads(public["manifest.json"])["files"]
    assert {"report.html", "codebook.xml"} <= set(stated)
    assert shoal.verify(folder, internal=f"{folder}.internal").holds
    for name in ("report.html", "codebook.xml", "codebook.md"):
        assert "Rarehausen" not in public[name]
        assert "Person" not in public[name]
        assert ".internal" not in public[name]
    internal = (tmp_path / "release.internal" / "report.html").read_text()
    assert "linkage" in internal
    assert "<bdi>name</bdi>" in internal
    (folder / "report.html").write_text("<p>Other.</p>")
    assert shoal.verify(folder).problems == ("report.html was changed after it was sealed",)


def test_the_same_seed_makes_the_same_documents(table, tmp_path):
    made = []
    for name in ("one", "two"):
        release = shoal.anonymize(table, shoal.Mondrian(k=4), seed=3)
        found = shoal.attack(release, shoal.attacks.Linkage()) if name == "two" else ()
        made.append(files_of(release.write(tmp_path / name, findings=found)))
    assert made[0] == made[1]


LEAKS = {
    "name": "the name of an identifying column",
    "Rarehausen": "a value that too few people carry",
    "record.json": "the name or path of an internal file",
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_public_document_that_leaks_is_not_written(table, tmp_path, monkeypatch, leak):
    told = documents.public_report

    def leaking(manifest, *rest):
        text = told(manifest, *rest)
        # The skeleton, by which our own words are told, has names without meaning.
        is_real = any(column.name == "town" for column in manifest.columns)
        return page("Report", element("p", leak)) if is_real else text

    monkeypatch.setattr(documents, "public_report", leaking)
    release = shoal.anonymize(table, shoal.Mondrian(k=4))
    with pytest.raises(GuaranteeError, match=LEAKS[leak]) as caught:
        release.write(tmp_path / "release")
    assert leak == "name" or leak not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_secret_is_never_written(table, tmp_path, monkeypatch):
    release = shoal.anonymize(table, shoal.Anatomy(ell=2))
    secret = release.making.secret.reveal()
    monkeypatch.setattr(documents, "codebook", lambda *_: f"# Codebook\n\n{secret}\n")
    with pytest.raises(GuaranteeError, match="a secret"):
        release.write(tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_the_internal_report_tells_the_verdicts_of_the_gate(tmp_path):
    with (tmp_path / "people.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "zip", "disease"])
        writer.writerows([20 + i % 7, f"z{i % 3}", "abcd"[i % 4]] for i in range(60))
    attacks = {"homogeneity": {"limit": "1/4", "max_people": 5}}
    configuration = configure(
        {
            "table": {"source": "people.csv"},
            "columns": {"quasi": ["age", "zip"], "sensitive": "disease"},
            "method": {"name": "anatomy", "ell": 2},
            "attacks": attacks,
        },
        base=tmp_path,
    )
    publication = publish(configuration, accept_risk="for <b>teaching</b>")
    text = (publication.internal / "report.html").read_text()
    assert "<span>failed</span>" in text
    assert "for &lt;b&gt;teaching&lt;/b&gt;" in text
    assert "People at risk by bucket" in text
    # Measured although nobody asked for it.
    assert "What is lost, from 0 (nothing) to 1 (everything)" in text
    assert "Relative errors of queries" in text
    assert "phi-squared" in text
    assert "teaching" not in (publication.folder / "report.html").read_text()


@pytest.mark.parametrize(
    "method",
    [
        shoal.Anatomy(ell=2),
        shoal.Mondrian(k=3),
        shoal.Slicing(ell=2, columns=[["height"], ["ill"]]),
        shoal.RuleHiding(private=["ill where height < 1.6"], gamma=2),
    ],
    ids=lambda method: type(method).__name__,
)
def test_real_numbers_with_closing_zeros_are_sealed_in_parquet(method, tmp_path):
    texts = ("1.50", "1.60", "1.75", "2.00", "2.50")
    rows = [f"{texts[row % 5]},{'abc'[row % 3]}\n" for row in range(30)]
    source = tmp_path / "people.csv"
    source.write_text("height,ill\n" + "".join(rows), encoding="utf-8")
    table = shoal.read(source, quasi=["height"], sensitive="ill")
    folder = shoal.anonymize(table, method).write(tmp_path / "release", "parquet")
    assert shoal.verify(folder, internal=f"{folder}.internal").status == "verified"
    if not isinstance(method, shoal.Mondrian):
        listed = (folder / "codebook.xml").read_text("utf-8")
        assert "<catValu>1.5</catValu>" in listed
        assert "<catValu>1.50</catValu>" not in listed


def test_a_release_with_many_labels_is_verified_and_has_short_codebooks(tmp_path):
    frame = {"id": list(range(3000)), "ill": ["flu", "gout", "none"] * 1000}
    table = shoal.read(frame, shoal.Schema(quasi=["id"], sensitive="ill"))
    folder = shoal.anonymize(table, shoal.Mondrian(k=3)).write(tmp_path / "release")
    verification = shoal.verify(folder)
    assert (verification.problems, verification.notes) == ((), ())
    n_labels = len(json.loads((folder / "labels.json").read_text())["id"])
    assert n_labels > 500
    sentence = f"These are the first 500 of {n_labels:,} labels; labels.json contains all of them."
    for name in ("codebook.md", "codebook.xml", "report.html"):
        assert sentence in (folder / name).read_text()
