"""What notebooks show of results: compact, escaped, no script, no value of the original table."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pandas as pd
import pytest

import shoal
from shoal.core.display import Section, _html

TOWN = '<script>alert("town")</script>'
ILL = "\N{RIGHT-TO-LEFT OVERRIDE}</td><img src=x onerror=alert(1)>"
AGE = "age & <b>sex</b>"
MARK = "Zqxv"
TAGS = {"table", "caption", "thead", "tbody", "tr", "th", "td", "bdi", "p"}
METHODS = {
    "bucketized": shoal.Anatomy(ell=2, protect=[f"{MARK}<script>0"]),
    "generalized": shoal.Mondrian(k=4),
    "sliced": shoal.Slicing(ell=2, columns="bucketized"),
    "suppressed": shoal.RuleHiding(private=[(1, ILL), (2, ILL)], delta="0.9", gamma=3),
}


class Seen(HTMLParser):
    """Collects the tags, attributes and texts of a page."""

    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts = [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture(scope="module")
def table():
    return shoal.read(
        {
            TOWN: [f"{MARK}</td>{i % 4}" for i in range(60)],
            AGE: [20 + i * i % 7 for i in range(60)],
            ILL: [f"{MARK}<script>{i % 5}" for i in range(60)],
        },
        quasi=[TOWN, AGE],
        sensitive=ILL,
    )


@pytest.fixture(scope="module")
def shown(table):
    """Everything that notebooks show, by name."""
    found = {"table": table, "schema": table.schema, "profile": shoal.profile(table)}
    for shape, method in METHODS.items():
        release = shoal.anonymize(table, method, seed=1)
        assert str(release.manifest.shape) == shape
        attacked = shoal.attack(release)
        found |= {
            f"{shape} release": release,
            f"{shape} attacks": attacked,
            f"{shape} measures": shoal.measure(release, shoal.measures.Loss()),
            f"{shape} verification": shoal.verify(release),
        }
        found |= {f"{shape} {one.attack}": one for one in attacked}
    found["comparison"] = shoal.compare(table, [METHODS["bucketized"], METHODS["generalized"]])
    return found


def test_every_page_is_escaped_and_has_no_script(shown):
    for name, one in shown.items():
        seen = Seen(one._repr_html_())
        assert set(seen.tags) <= TAGS, name
        assert set(seen.attributes) <= {("style", "text-align: left")}, name
        assert seen.tags.count("table") == 1


def test_no_page_and_no_repr_shows_a_value(shown):
    for name, one in shown.items():
        assert MARK not in one._repr_html_(), name
        assert MARK not in repr(one), name


def test_names_of_columns_are_shown_as_they_are(shown):
    for name in ("table", "schema", "profile", "bucketized release"):
        texts = Seen(shown[name]._repr_html_()).texts
        assert TOWN in texts
        assert AGE in texts
        # What turns text around is shown, and turns nothing around.
        assert ILL not in texts
        assert ILL.replace("\N{RIGHT-TO-LEFT OVERRIDE}", "\N{REPLACEMENT CHARACTER}") in texts


def test_results_become_frames_and_documents(shown):
    for name, one in shown.items():
        if "release" in name or name in ("table", "schema"):
            continue
        assert isinstance(one.to_pandas(), pd.DataFrame), name
        assert json.loads(json.dumps(one.to_dict(), default=str)), name
        assert len(repr(one)) < 2_000, name


def test_a_frame_has_one_row_per_entry(shown):
    attacked = shown["bucketized attacks"]
    assert attacked.to_pandas()["attack"].tolist() == [one.attack for one in attacked]
    found = attacked["homogeneity"]
    assert found.to_pandas()["people"].sum() == 60
    verified = shown["bucketized verification"].to_pandas()
    assert verified["result"].tolist() == ["holds"]
    assert shown["profile"].to_pandas()["column"].tolist() == [TOWN, AGE, ILL]


def test_a_failed_verification_says_so(table, tmp_path):
    folder = shoal.anonymize(table, shoal.Anatomy(ell=2)).write(tmp_path / "release")
    (folder / "codebook.md").write_text("<script>")
    failed = shoal.verify(folder)
    assert repr(failed).startswith("Verification(failed: ")
    assert "codebook.md was changed" in repr(failed)
    assert "problem" in failed.to_pandas()["result"].tolist()


def test_long_tables_and_long_texts_are_cut():
    section = Section("long", ("n",), tuple(("x" * 500,) for _ in range(40)))
    page = _html(section)
    assert page.count("<tr>") == 31
    assert "and 10 more" in page
    assert "x" * 200 not in page


def test_an_empty_result_is_an_empty_frame():
    frame = shoal.workflow.attack.AttackReport(()).to_pandas()
    assert len(frame) == 0
    assert "attack" in frame.columns
