"""What a steward says about a release stands in the manifest and in every document."""

from __future__ import annotations

import pytest
from tampering import reseal, restate, stated_in

import shoal
from shoal.core.errors import ParameterError
from shoal.workflow.config import load
from shoal.workflow.publish import publish

ABOUT = {
    "title": "Stays <of> 2024",
    "institution": "Office of | Statistics",
    "purpose": "Research",
    "version": "2.1",
    "contact": "data@office.example",
    "licence": "CC BY 4.0",
}
COLUMNS = {"age": [20 + i % 4 for i in range(24)], "ill": ["flu", "cold", "gout"] * 8}
SCHEMA = shoal.Schema(quasi="age", sensitive="ill")


@pytest.fixture
def folder(tmp_path):
    release = shoal.anonymize(shoal.read(COLUMNS, SCHEMA), shoal.Anatomy(ell=2))
    return release.write(tmp_path / "release", about=shoal.config.About(**ABOUT))


def test_every_document_says_it(folder):
    assert stated_in(folder)["about"] == ABOUT
    for name in ("report.html", "codebook.md", "codebook.xml"):
        text = (folder / name).read_text("utf-8")
        assert "Stays &lt;of&gt; 2024" in text
        assert all(ABOUT[entry] in text for entry in ("purpose", "version", "contact", "licence"))
    assert shoal.verify(folder).status == "verified"


def test_documents_that_say_something_else_are_refused(folder):
    restate(folder, lambda stated: stated["about"].update(title="Another"))
    assert shoal.verify(folder).status == "failed"


def test_an_unknown_entry_is_refused(folder):
    reseal(folder, lambda stated: stated["about"].update(note="x"))
    with pytest.raises(ParameterError, match="has no entry 'note'"):
        shoal.verify(folder)


@pytest.mark.parametrize("text", ["", " ", "a\nb", "\u202e", "x" * 2001, 5])
def test_an_entry_is_one_line_of_text(text):
    with pytest.raises(ParameterError, match=r"\[about\] title"):
        shoal.config.About(title=text)


def test_a_configuration_says_it_and_a_replay_repeats_it(tmp_path):
    lines = ["age,ill", *(f"{20 + i % 4},{['flu', 'cold', 'gout'][i % 3]}" for i in range(24))]
    (tmp_path / "people.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "shoal.toml").write_text(
        '[table]\nsource = "people.csv"\n[columns]\nquasi = ["age"]\nsensitive = ["ill"]\n'
        '[method]\nname = "anatomy"\nell = 2\n[about]\ntitle = "Stays"\nlicence = "none"\n'
    )
    done = publish(load(tmp_path / "shoal.toml"))
    assert stated_in(done.folder)["about"] == {"title": "Stays", "licence": "none"}
    replayed = shoal.replay(done.internal)
    assert set(replayed.files.values()) == {"identical"}


def test_a_configuration_with_an_unknown_entry_is_refused(tmp_path):
    (tmp_path / "shoal.toml").write_text(
        '[table]\nsource = "people.csv"\n[columns]\nquasi = ["age"]\nsensitive = ["ill"]\n'
        '[method]\nname = "anatomy"\nell = 2\n[about]\nnote = "x"\n'
    )
    with pytest.raises(shoal.errors.ShoalError, match="note"):
        load(tmp_path / "shoal.toml")
