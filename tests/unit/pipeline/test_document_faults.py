"""Pages and XML of strangers: what could run or be fetched is found, whoever restates digests."""

from __future__ import annotations

import hashlib
import json

import pytest

import shoal

ACTIVE = "report.html holds a script, a link out of it, or an element that Shoal does not write"


@pytest.fixture(scope="module")
def sealed(tmp_path_factory):
    n = 24
    table = shoal.read(
        {
            "count": [20 + i % 4 for i in range(n)],
            "<b>town</b>": ["Ulm", "Bonn"] * (n // 2),
            "ill": ["flu", "gout", "cold"] * (n // 3),
        },
        shoal.Schema(quasi=["count", "<b>town</b>"], sensitive="ill"),
    )
    release = shoal.anonymize(table, shoal.Mondrian(k=3))
    folder = release.write(tmp_path_factory.mktemp("sealed") / "release")
    return {path.name: path.read_text("utf-8") for path in folder.iterdir()}


def problems(files, folder, name, text):
    """Put another text in place of a file, and restate its digest as a forger would."""
    folder.mkdir(exist_ok=True)
    manifest = json.loads(files["manifest.json"])
    if text is None:
        del manifest["files"][name]
    else:
        manifest["files"][name] = hashlib.sha256(text.encode()).hexdigest()
    changed = {**files, name: text, "manifest.json": json.dumps(manifest)}
    for one, content in changed.items():
        if content is not None:
            (folder / one).write_text(content, encoding="utf-8", newline="")
    return shoal.verify(folder).problems


def test_what_shoal_writes_is_sound(sealed, tmp_path):
    assert problems(sealed, tmp_path / "same", "report.html", sealed["report.html"]) == ()


@pytest.mark.parametrize(
    "planted",
    [
        "<script>1</script>",
        "<SCRIPT SRC=//a.b></SCRIPT>",
        "<img src=x>",
        "<p onclick=f()>a</p>",
        '<a href="http://a.b">a</a>',
        '<a href="javascript:f()">a</a>',
        '<p style="background:url(//a.b)">a</p>',
        "<style>@import '//a.b';</style>",
        "<style>p{background:URL (//a.b)}</style>",
        '<meta http-equiv="refresh" content="0;url=//a.b">',
        '<svg><image href="//a.b"/></svg>',
        '<svg><use xlink:href="//a.b#c"/></svg>',
        "<iframe></iframe>",
        "<form action=//a.b></form>",
        "<base href=//a.b>",
        "<?php ?>",
    ],
)
def test_a_page_that_could_do_something_is_refused(sealed, tmp_path, planted):
    text = sealed["report.html"].replace("</main>", f"{planted}</main>")
    assert problems(sealed, tmp_path / "release", "report.html", text) == (ACTIVE,)


def test_a_page_must_forbid_itself_to_load_anything(sealed, tmp_path):
    text = sealed["report.html"].replace("Content-Security-Policy", "x")
    told = "report.html does not forbid itself to load or run anything"
    assert told in problems(sealed, tmp_path / "release", "report.html", text)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("</codeBook>", "", "is not well-formed XML"),
        ("<codeBook", "<!DOCTYPE a><codeBook", "declares more than a codebook needs"),
        ("<codeBook", "<?xml-stylesheet href='//a.b'?><codeBook", "declares more than a codebook"),
        ("UTF-8", "UTF-16", "declares more than a codebook needs"),
        ('xmlns="ddi:codebook:2_5"', 'xmlns="other"', "is not a DDI codebook"),
        ('name="ill"', 'name="well"', "does not describe the columns of the manifest"),
    ],
)
def test_a_codebook_is_well_formed_and_about_the_release(sealed, tmp_path, old, new, told):
    assert old in sealed["codebook.xml"]
    text = sealed["codebook.xml"].replace(old, new)
    (problem,) = problems(sealed, tmp_path / "release", "codebook.xml", text)
    assert problem.startswith("codebook.xml")
    assert told in problem


@pytest.mark.parametrize("name", ["report.html", "codebook.xml", "codebook.md"])
def test_every_document_must_be_there(sealed, tmp_path, name):
    assert problems(sealed, tmp_path / "release", name, None) == (f"{name} is missing",)
