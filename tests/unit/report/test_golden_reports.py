"""The words of the reports and the codebook of one small release per shape, kept in files.

``SHOAL_GOLDEN=write pytest tests/unit/report/test_golden_reports.py`` writes the files again.
"""

from __future__ import annotations

import os
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

import shoal

GOLDEN = Path(__file__).with_name("golden")
METHODS = {
    "generalized": """
name = "mondrian"
k = 4
ell = 2
[attacks.homogeneity]
limit = 1
max_people = 0
""",
    "bucketized": """
name = "injector"
ell = 3
[attacks.linkage]
limit = "1/4"
max_people = 10
[attacks.belief]
limit = "0.05"
""",
    "sliced": """
name = "slicing"
ell = 2
columns = [["age", "sex"], ["town", "disease"]]
[attacks.sliced_linkage]
limit = "1/2"
max_people = 60
""",
    # What the attack by learning finds depends on the version of scikit-learn.
    "suppressed": """
name = "rule_hiding"
private = ["disease where age < 25"]
delta = 0.7
gamma = 2
[attacks.rules]
max_people = 0
[attacks.learned]
run = false
reason = "the diseases are published elsewhere"
""",
}
CONFIGURATION = """
[table]
source = "people.csv"
[columns]
identifying = ["name"]
quasi = ["age", "sex", "town"]
sensitive = ["disease"]
[about]
title = "People of three towns"
institution = "The statistics office"
licence = "CC0"
[release]
folder = "release"
seed = 7
[method]"""
ILL = ("flu", "cold", "gout", "asthma")
TOWNS = ("Ulm", "Bonn", "Kiel")
BLOCKS = frozenset(("p", "li", "caption", "tr", "h1", "h2", "h3", "desc"))
# A drawing says in its description what it shows.
SKIPPED = frozenset(("title", "text", "style"))


class Words(HTMLParser):
    """Collects the words of a page: one line per paragraph, heading, list item or row."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._line = ""
        self._within: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        del attrs
        if tag in BLOCKS:
            self._end()
        self._line += {"h2": "\n## ", "h3": "\n### ", "h1": "# ", "li": "- "}.get(tag, "")
        if tag in ("td", "th"):
            self._line += "| "
        if tag != "meta":
            self._within.append(tag)

    def handle_endtag(self, tag):
        self._within.pop()
        if tag in ("td", "th"):
            self._line += " "
        if tag in BLOCKS:
            self._end()

    def handle_data(self, data):
        if not SKIPPED & set(self._within):
            self._line += data

    def _end(self):
        if self._line.strip():
            self.lines.append(self._line.rstrip())
        self._line = ""


def words(page):
    """Return the words of a page without what differs between machines and runs."""
    text = "\n".join(Words(page).lines) + "\n"
    return re.sub(r"(?<=Duration of each step\n)\| step.*\n(\|.*\n)*", "TIMES\n", text)


@pytest.fixture(scope="module", params=METHODS)
def published(request, tmp_path_factory):
    """Publish a small table in one shape; every attack that fits it is run, and one is judged."""
    shape, folder = request.param, tmp_path_factory.mktemp("golden")
    people = (
        f"person {row},{20 + 7 * row % 23},{'FM'[row % 2]},{TOWNS[row // 2 % 3]},"
        f"{ILL[row * row % 7 % 4]}\n"
        for row in range(60)
    )
    (folder / "people.csv").write_text("name,age,sex,town,disease\n" + "".join(people), "utf-8")
    (folder / "shoal.toml").write_text(CONFIGURATION + METHODS[shape], "utf-8")
    made = shoal.publish(folder / "shoal.toml", accept_risk="a release for tests")
    assert str(made.manifest.shape) == shape
    return shape, made


@pytest.mark.parametrize("document", ["public", "internal", "codebook"])
def test_documents_say_what_the_golden_file_says(published, document):
    shape, made = published
    found = {
        "public": lambda: words((made.folder / "report.html").read_text("utf-8")),
        "internal": lambda: words((made.internal / "report.html").read_text("utf-8")),
        "codebook": lambda: (made.folder / "codebook.md").read_text("utf-8"),
    }[document]()
    path = GOLDEN / f"{shape}-{document}.{'md' if document == 'codebook' else 'txt'}"
    if os.environ.get("SHOAL_GOLDEN") == "write":
        path.write_text(found, encoding="utf-8")
    expected = path.read_text(encoding="utf-8") if path.exists() else ""
    assert found == expected, (
        f"The text differs from {path.name}. If that is meant, raise DOCUMENTS_VERSION for a "
        "public document, run SHOAL_GOLDEN=write pytest "
        "tests/unit/report/test_golden_reports.py and review the difference."
    )
