from __future__ import annotations

import json

import pytest

from shoal.core.errors import GuaranteeError
from shoal.report.leak_scan import (
    Unpublishable,
    candidates,
    forms,
    leaks,
    pieces,
    refuse_leaks,
    remainder,
)
from shoal.report.markup import element, page, table, value

SECRET = "0f" * 32
UNPUBLISHABLE = Unpublishable(
    identifying=["name", "person no"],
    values=["Ann Lee", "O'Brien, Pat", "<b>Bo</b>"],
    rare=["kuru", "New York", "x" * 300, "93"],
    keys=["key-000417"],
    secrets=[SECRET],
    internal=["record.json", "release.internal", "/data/people.csv"],
    absent=["smallpox"],
    findings=["0.9412", "3 of 40 people"],
    fewest=5,
)

PLANTED = {
    "the name of an identifying column": ["name", "person no", "Person No"],
    "a value of an identifying column": ["Ann Lee", "O'Brien, Pat", "<b>Bo</b>"],
    "a value that too few people carry": ["kuru", "New York", "x" * 300, "93"],
    "the key of a row": ["key-000417"],
    "a secret": [SECRET, SECRET.upper()],
    "a long hexadecimal number that is no digest of a file": ["ab" * 20],
    "the name or path of an internal file": ["record.json", "release.internal", "/data/people.csv"],
    "a value that is suppressed wherever it stands": ["smallpox", "Smallpox"],
    "what an attack found": ["0.9412"],
    "a count of too few people": ["4 people", "1 row"],
    "a path of this machine": ["/home/ann/table", "C:\\Users"],
}
CASES = [(kind, leak) for kind, planted in PLANTED.items() for leak in planted]


def markdown(leak: str) -> str:
    escaped = leak.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"# Codebook\n\n| label | stands for |\n|---|---|\n| city | {escaped}, other |\n"


DOCUMENTS = {
    "cell": lambda leak: page("Report", table(("label",), [(leak,)])),
    "sentence": lambda leak: page("Report", element("p", f"It is {leak} again.")),
    "attribute": lambda leak: page("Report", element("p", "x", title=leak)),
    "list": lambda leak: page("Report", element("p", value(f"flu, {leak}, gout"))),
    "comment": lambda leak: f"<p>a</p><!-- {leak} -->",
    "markdown": markdown,
    "json": lambda leak: json.dumps({"city": {"*": {"members": ["flu", leak]}}}),
    "json key": lambda leak: json.dumps({leak: 1}),
    "sql name": lambda leak: f'SELECT "{leak.replace(chr(34), chr(34) * 2)}" FROM t;\n',
    "sql literal": lambda leak: f"-- a view\nSELECT '{leak.replace(chr(39), chr(39) * 2)}';\n",
    "sql comment": lambda leak: f"-- {leak}\nSELECT 1;\n",
    "csv": lambda leak: f'flu;"{leak}";*\n',
}
NAMES = {
    "markdown": "codebook.md",
    "json": "labels.json",
    "json key": "labels.json",
    "csv": "a.csv",
}
NAMES |= dict.fromkeys(("sql name", "sql literal", "sql comment"), "views.duckdb.sql")


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize(("kind", "leak"), CASES)
def test_a_planted_leak_is_found_and_not_told(document, kind, leak):
    if len(leak) > 120 and document in ("sentence", "attribute", "list", "comment", "markdown"):
        pytest.skip("only values of a table are cut")
    if document == "sql comment" and "'" in leak:
        pytest.skip("a quotation mark begins a literal")
    if document in ("sentence", "sql comment") and leak.isdigit():
        pytest.skip("a short number within a sentence counts something")
    expected = ["flu", "gout", "city", "other", "label", "stands for", "Report"]
    text, name = DOCUMENTS[document](leak), NAMES.get(document, "report.html")
    assert leaks(text, UNPUBLISHABLE, expected, name=name) == (kind,)
    with pytest.raises(GuaranteeError) as caught:
        refuse_leaks(name, remainder(text, forms(expected), name), UNPUBLISHABLE)
    assert str(caught.value).startswith(f"{name} would hold")
    # The message has the word "name" of its own.
    assert leak == "name" or leak not in str(caught.value)
    assert kind in str(caught.value)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_published_is_no_leak(document):
    expected = ["name of town", "York, New York area", "[93, 95["]
    plain = ("kurus", "Ann", "Lee Ann", "York", "5 people", "column_7", "30.9412")
    for allowed in (*plain, *expected):
        text, name = DOCUMENTS[document](allowed), NAMES.get(document, "report.html")
        if document in ("sentence", "comment", "sql comment") and allowed in expected:
            continue
        assert leaks(text, UNPUBLISHABLE, [*expected, "Report"], name=name) == ()


def test_a_short_number_is_a_value_only_by_itself():
    assert leaks("<p>Blanked by column: condition: 93, age: 12.</p>", UNPUBLISHABLE) == ()
    for listed in ("<p>91, 93</p>", "<p>93.</p>", "| 90, 93, 95 |", "<td>93</td>"):
        assert leaks(listed, UNPUBLISHABLE) == ("a value that too few people carry",)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_a_negative_number_is_not_the_positive_one(document):
    text, name = DOCUMENTS[document]("-7"), NAMES.get(document, "")
    assert leaks(text, Unpublishable(rare=["7"]), name=name) == ()
    long = DOCUMENTS[document]("-1234567")
    assert leaks(long, Unpublishable(rare=["1234567"]), name=name) == ()


@pytest.mark.parametrize("number", ["-7", "-1234567"])
def test_a_negative_number_is_found_as_itself(number):
    found = ("a value that too few people carry",)
    for text, name in [(f"| a | {number} |\n", "x.md"), (f'{{"a": ["{number}"]}}', "labels.json")]:
        assert leaks(text, Unpublishable(rare=[number]), name=name) == found


def test_digests_of_files_may_be_there():
    digest = "ab" * 32
    text = json.dumps({"files": {"table.csv": digest}})
    assert leaks(text, UNPUBLISHABLE, digests=[digest]) == ()
    assert leaks(text, UNPUBLISHABLE) != ()


def test_our_own_sentences_may_hold_a_word_that_names_a_column():
    text = page("Report", element("p", "Rename what has a name."), element("p", value("name")))
    assert leaks(text, UNPUBLISHABLE, ["Rename what has a name."]) != ()
    text = page("Report", element("p", "Rename what has a name."))
    assert leaks(text, UNPUBLISHABLE, ["Rename what has a name."]) == ()


def test_pieces_of_markdown_keep_bars_that_are_escaped():
    assert pieces("| a\\|b | c |") == ("a|b", "c")


def test_what_could_be_a_value_is_a_run_of_words_that_says_enough():
    text = "| town | of Ann Lee, 7 |\n"
    found = candidates(remainder(text, ["town"], "codebook.md"))
    assert {"ann lee", "Ann Lee", "of ann lee", "ann lee,"} <= found
    assert not {"7", "of", "ann", "town"} & found
    # A short number is no row's key: column_7 and 7 rows would be full of them.
    assert candidates(remainder("| column_7 | 7 | 12345 |", ["column_7"], "a.md")) == frozenset()
    assert candidates(remainder("| 123456 |", (), "codebook.md")) == {"123456"}


def test_a_million_values_are_looked_up_without_being_taken_apart():
    values = [f"person number {i}" for i in range(1_000_000)]
    text = page("Report", *(element("p", f"This is line {i} of many.") for i in range(2000)))
    unpublishable = Unpublishable(values=values)
    assert leaks(text, unpublishable, ["Report"]) == ()
    text = page("Report", element("p", "It is person number 77777."))
    assert leaks(text, unpublishable) == ("a value of an identifying column",)
