from __future__ import annotations

import json

import pytest

from shoal.core.errors import GuaranteeError
from shoal.report.html import element, page, table, value
from shoal.report.leak_scan import Unpublishable, leaks, pieces, refuse_leaks

SECRET = "0f" * 32
UNPUBLISHABLE = Unpublishable(
    identifying=["name", "person no"],
    values=["Ann Lee", "O'Brien, Pat", "<b>Bo</b>"],
    rare=["kuru", "New York", "x" * 300, "93"],
    keys=["key-000417"],
    secrets=[SECRET],
    internal=["record.json", "release.internal", "/data/people.csv"],
)

PLANTED = {
    "the name of an identifying column": ["name", "person no", "Person No"],
    "a value of an identifying column": ["Ann Lee", "O'Brien, Pat", "<b>Bo</b>"],
    "a value that too few people carry": ["kuru", "New York", "x" * 300, "93"],
    "the key of a row": ["key-000417"],
    "a secret": [SECRET, SECRET.upper()],
    "a long hexadecimal number that is no digest of a file": ["ab" * 20],
    "the name or path of an internal file": ["record.json", "release.internal", "/data/people.csv"],
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
}


@pytest.mark.parametrize("document", DOCUMENTS)
@pytest.mark.parametrize(("kind", "leak"), CASES)
def test_a_planted_leak_is_found_and_not_told(document, kind, leak):
    if len(leak) > 120 and document != "cell" and not document.startswith("json"):
        pytest.skip("only values of a table are cut")
    expected = ["flu", "gout", "city", "other", "label", "stands for", "Report"]
    text = DOCUMENTS[document](leak)
    assert leaks(text, UNPUBLISHABLE, expected) == (kind,)
    with pytest.raises(GuaranteeError) as caught:
        refuse_leaks("report.html", text, UNPUBLISHABLE, expected)
    # The message has the word "name" of its own.
    assert leak == "name" or leak not in str(caught.value)
    assert kind in str(caught.value)


@pytest.mark.parametrize("document", DOCUMENTS)
def test_what_is_published_is_no_leak(document):
    expected = ["name of town", "York, New York area", "[93, 95["]
    for allowed in ("kurus", "Ann", "Lee Ann", "York", *expected):
        text = DOCUMENTS[document](allowed)
        if document in ("sentence", "comment") and allowed in expected:
            continue
        assert leaks(text, UNPUBLISHABLE, [*expected, "Report"]) == ()


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
