"""Pages and XML of strangers: what could run or be fetched is found, whoever restates digests."""

from __future__ import annotations

import json

import pytest
from tampering import state

import shoal
from shoal.release.documents import DOCUMENTS_VERSION as VERSION

ACTIVE = "report.html holds another style, a comment, a link out of it, or an element that"


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


def forged(files, folder, name, text, version=VERSION):
    """Put another text in place of a file, and restate its digest as a forger would."""
    folder.mkdir(exist_ok=True)
    for one, content in {**files, name: text}.items():
        if content is not None:
            (folder / one).write_text(content, encoding="utf-8", newline="")
    stated = json.loads(files["manifest.json"])
    stated["documents"] = version
    if text is None:
        del stated["files"][name]
    state(folder, stated)
    return shoal.verify(folder)


def test_what_shoal_writes_is_verified(sealed, tmp_path):
    found = forged(sealed, tmp_path / "same", "report.html", sealed["report.html"])
    assert (found.status, found.problems, found.notes) == ("verified", (), ())


@pytest.mark.parametrize("name", ["report.html", "codebook.xml", "codebook.md", "labels.json"])
@pytest.mark.parametrize("edit", [" ", "\ufeff", "\r\n", "one word more"])
def test_a_document_that_was_edited_is_refused(sealed, tmp_path, name, edit):
    text = edit + sealed[name] if edit == "\ufeff" else sealed[name] + edit
    found = forged(sealed, tmp_path / "release", name, text)
    assert found.status == "failed"
    assert name in found.problems[0]


def test_documents_of_another_version_are_said_to_be_unchecked(sealed, tmp_path):
    text = sealed["report.html"].replace("Report on a release", "A report")
    found = forged(sealed, tmp_path / "release", "report.html", text, VERSION + 1)
    assert found.status == "partly verified"
    assert found.notes == (f"documents not checked (version {VERSION + 1})",)


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
        "<!--><script>1</script>-->",
        "<!-- a comment -->",
        "<![CDATA[<script>1</script>]]>",
        "</p x='<script>'>",
        "<p\u2028onclick=f()>",
        '<p class="a" onclick="f()">a</p>',
        '<p class=">" onclick=f()>a</p>',
        "<style>p{background:u\\72l(//a.b)}</style>",
        "<plaintext>",
        "<p/onclick=f()>",
        "<P>a</P>",
    ],
)
@pytest.mark.parametrize("version", [VERSION, VERSION + 1])
def test_a_page_that_could_do_something_is_refused(sealed, tmp_path, planted, version):
    text = sealed["report.html"].replace("</main>", f"{planted}</main>")
    found = forged(sealed, tmp_path / "release", "report.html", text, version)
    assert found.status == "failed"
    told = ACTIVE if version > VERSION else "report.html is not what follows from"
    assert found.problems[0].startswith(told)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Content-Security-Policy", "x"),
        ("default-src 'none'", "default-src 'none' *"),
        ("default-src 'none';", "default-src 'none'; script-src 'unsafe-inline';"),
        ("style-src 'unsafe-inline'", "style-src *"),
        ("<meta charset", "<script>1</script><meta charset"),
        ('<meta http-equiv="Content', '<!--><script>1</script>--><meta http-equiv="Content'),
        ("<!DOCTYPE html>", "<!DOCTYPE html><!-- -->"),
    ],
)
def test_a_page_must_forbid_itself_to_load_anything(sealed, tmp_path, old, new):
    assert old in sealed["report.html"]
    text = sealed["report.html"].replace(old, new)
    found = forged(sealed, tmp_path / "release", "report.html", text, VERSION + 1)
    told = "report.html does not forbid itself, in the words of Shoal, to load or run anything"
    assert found.problems == (told,)


@pytest.mark.parametrize("planted", ["<script>1</script>", "[a](http://a.b)", "<!-- x -->"])
def test_a_markdown_file_holds_no_markup(sealed, tmp_path, planted):
    text = sealed["codebook.md"] + planted
    found = forged(sealed, tmp_path / "release", "codebook.md", text, VERSION + 1)
    assert found.problems == ("codebook.md holds HTML or a link, which Shoal does not write",)


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
    found = forged(sealed, tmp_path / "release", "codebook.xml", text, VERSION + 1)
    (problem,) = found.problems
    assert problem.startswith("codebook.xml")
    assert told in problem


@pytest.mark.parametrize("name", ["report.html", "codebook.xml", "codebook.md"])
@pytest.mark.parametrize("version", [VERSION, VERSION + 1])
def test_every_document_must_be_there(sealed, tmp_path, name, version):
    found = forged(sealed, tmp_path / "release", name, None, version)
    assert found.problems == (f"{name} is missing",)
