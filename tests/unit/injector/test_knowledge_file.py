"""Knowledge as a file: it comes back as it was, and what cannot be read is refused in words."""

from __future__ import annotations

import math
import tomllib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shoal.core import documents
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.injector.nodes import Node
from shoal.injector.resolving import Setting, resolve
from shoal.knowledge import Fact, Knowledge, NegativeRule, PositiveRule, Statistic

SECRET = "SECRETVALUE123"

# Quotes, line ends of any kind, control characters, what TOML gives a meaning, other scripts.
odd = st.sampled_from(
    ['"', "'", "\n", "\r\n", "\t", "\\", "\x00", "\x7f", "\x85", "\u2028", "#", "[x]", "=", "", " ",
     "true", "20", "nan", "née", "男", "🂡", "\ufeff", "{ missing = true }", "a.b", "None"]
)  # fmt: skip
texts = st.one_of(odd, st.text(max_size=5))
values = st.one_of(st.none(), texts)
notes = st.one_of(st.just(""), texts)
shares = st.floats(0, 1)
counts = st.one_of(st.none(), st.integers(0, 10**9))
antecedents = st.dictionaries(texts, values, min_size=1, max_size=3)
noted = {"who": notes, "why": notes}

negative_rules = st.builds(
    NegativeRule,
    antecedent=antecedents,
    value=values,
    count=st.one_of(counts, st.floats(0, 1e9)),
    expectation=st.one_of(st.none(), shares),
    confidence=st.one_of(st.just(1.0), shares),
    **noted,
)
positive_rules = st.builds(
    PositiveRule,
    antecedent=antecedents,
    value=values,
    confidence=shares,
    count=counts,
    conviction=st.one_of(st.none(), st.just(math.inf), st.floats(0, 1e9)),
    support=st.one_of(st.none(), shares),
    **noted,
)
statistics = st.one_of(
    st.builds(Statistic, antecedent=antecedents, value=values, share=shares, count=counts, **noted),
    st.builds(
        Statistic,
        antecedent=antecedents,
        mean=st.floats(allow_nan=False, allow_infinity=False),
        count=counts,
        **noted,
    ),
)
facts = st.builds(Fact, person=texts, value=values, **noted)
numbers = st.floats(-1e9, 1e9)
intervals = st.one_of(
    st.tuples(numbers, numbers).map(lambda both: tuple(map(repr, sorted(both)))),
    st.tuples(st.dates(), st.dates()).map(lambda both: tuple(map(str, sorted(both)))),
    st.sampled_from([("20", "29"), ("007", "08"), ("1e3", "2E3"), ("-inf", "30"), ("5", "inf")]),
)
nodes = st.one_of(
    st.builds(Node, texts, members=st.frozensets(values, min_size=1, max_size=4)),
    st.builds(
        Node,
        texts,
        interval=intervals,
        width=st.one_of(st.just(0.0), st.floats(0.1, 1e6)),
        has_missing=st.booleans(),
    ),
)
definitions = st.dictionaries(
    texts, st.lists(nodes, min_size=1, max_size=3, unique_by=lambda node: node.label), max_size=2
)


@st.composite
def knowledge(draw) -> Knowledge:
    defined = draw(definitions)
    rules = draw(st.lists(negative_rules, max_size=4))
    # Rules that name what is defined, too.
    rules += [
        NegativeRule(antecedent={column: node.label}, value="x")
        for column, listed in defined.items()
        for node in listed
        if draw(st.booleans())
    ]
    return Knowledge(
        draw(texts),
        rules,
        positive=draw(st.lists(positive_rules, max_size=2)),
        statistics=draw(st.lists(statistics, max_size=2)),
        facts=draw(st.lists(facts, max_size=2)),
        struck=draw(st.lists(negative_rules, max_size=2)),
        definitions=defined,
    )


def said(known: Knowledge) -> tuple[object, ...]:
    return (
        known.sensitive,
        list(known),
        known.positive,
        known.statistics,
        known.facts,
        known.struck,
        known.defined_nodes,
    )


@given(knowledge())
@settings(max_examples=150)
def test_what_is_written_comes_back(known):
    written = known.to_toml()
    again = Knowledge.from_toml(written)
    assert said(again) == said(known)
    assert again.to_toml() == written


@given(knowledge())
@settings(max_examples=30)
def test_a_file_read_again_forbids_the_same(known):
    labels = sorted({t for rule in known for t in rule.antecedent.values() if t is not None})
    excluded = sorted({rule.value for rule in known} - {None})
    columns = known.negative.columns or ("column",)
    domains = [Domain.of_texts(column, labels, has_missing=True) for column in columns]
    codes = np.array([[code] * len(columns) for code in range(len(labels) + 1)])
    cells = Cells.of_rows(domains, codes)
    sensitive = Domain.of_texts(known.sensitive, excluded, has_missing=True)
    setting = Setting(cells, sensitive)
    before, after = resolve(known, setting), resolve(Knowledge.from_toml(known.to_toml()), setting)
    assert before.unresolved == after.unresolved
    before, after = before.sets, after.sets
    assert np.array_equal(before.sets[before.which], after.sets[after.which])


def test_files_are_utf_8_with_or_without_a_mark(tmp_path):
    known = Knowledge("Krankheit", [NegativeRule(antecedent={"né\r": "男\n"}, value="über")])
    path = tmp_path / "rules.toml"
    known.to_file(path)
    assert said(Knowledge.from_file(path)) == said(known)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert said(Knowledge.from_file(path)) == said(known)
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert said(Knowledge.from_file(path)) == said(known)


def test_numbers_of_numpy_are_written_as_any_others():
    rule = PositiveRule(antecedent={"x": "1"}, value="s", confidence=np.float64(0.25))
    assert Knowledge.from_toml(Knowledge("s", positive=[rule]).to_toml()).positive == (rule,)


EDITED = """
sensitive = "disease"

[nodes.age]
young = { from = 18, to = 29 }
"around thirty" = { from = 30, to = 30, width = 2.5 }
unknown = { missing = true }

[nodes.born]
sixties = { from = 1960-01-01, to = 1969-12-31 }

[[negative]]
when = { age = "young", smoker = true }
never = "prostate cancer"
who = "Dr. B"
why = '''the "youngest" case was 40'''

[[negative]]
when = { age = 20 }
never = { missing = true }
struck = true

[[positive]]
when = { sex = "M" }
value = "flu"
confidence = 0.25

[[statistic]]
when = { age = "young" }
mean = 3

[[fact]]
person = 17
never = 2.5
"""


def test_what_a_domain_expert_writes_by_hand_is_read():
    known = Knowledge.from_toml(EDITED)
    (rule,) = known
    assert rule.antecedent == {"age": "young", "smoker": "true"}
    assert (rule.value, rule.who) == ("prostate cancer", "Dr. B")
    assert (rule.count, rule.expectation, rule.confidence) == (None, None, 1.0)
    assert '"youngest"' in known.explain(rule)
    assert [(one.antecedent, one.value) for one in known.struck] == [({"age": "20"}, None)]
    assert known.positive[0].confidence == 0.25
    assert known.statistics[0].mean == 3.0
    assert [(fact.person, fact.value) for fact in known.facts] == [("17", "2.5")]
    young, around, unknown = known.definitions["age"]
    assert (young.interval, around.width, unknown.members) == (("18", "29"), 2.5, {None})
    assert known.definitions["born"][0].interval == ("1960-01-01", "1969-12-31")
    assert said(Knowledge.from_toml(known.to_toml())) == said(known)


def entry(kind: str, lines: str) -> str:
    return f'sensitive = "disease"\n[[{kind}]]\n{lines}'


RULE = f'when = {{ sex = "{SECRET}" }}\nnever = "{SECRET}"\n'
LIKELY = f'when = {{ sex = "{SECRET}" }}\nvalue = "{SECRET}"\n'


@pytest.mark.parametrize(
    ("text", "match"),
    [
        (f'sensitive = "disease"\n"{SECRET}', "not TOML at end of document"),
        (f'sensitive = "disease"\n{SECRET} {SECRET}', r"not TOML at line 2, column \d+"),
        (f'sensitive = "disease\n[nodes."{SECRET}', "not TOML at line 1"),
        (f'[nodes.age."{SECRET}"]\n[nodes.age."{SECRET}"]', "not TOML at line 2"),
        (f'sensitive = "d"\n[nodes.age]\n"{SECRET}" = ["a"]\n"{SECRET}" = ["b"]', "not TOML"),
        (f"x = {'9' * 5000}", "64 bits"),
        (f"x = {'[' * 5000}", "100 levels"),
        (RULE, "has no section never, when"),
        ("", "which column"),
        ("sensitive = 5", "which column"),
        ('sensitive = "disease"\nnegatives = []', "no section negatives"),
        ('sensitive = "disease"\nnegative = 5', "not a list of entries"),
        ('sensitive = "disease"\nnegative = [5]', "not a list of entries"),
        ('sensitive = "disease"\n[negative]\nnever = "x"', "not a list of entries"),
        (entry("negative", RULE + "never_ = 5"), "negative entry 1 .* unknown keys: never_"),
        (entry("negative", f'never = "{SECRET}"'), "entry 1 .* whom it is about"),
        (entry("negative", f'when = {{}}\nnever = "{SECRET}"'), "entry 1 .* whom it is about"),
        (entry("negative", f'when = "{SECRET}"\nnever = "x"'), "entry 1 .* whom it is about"),
        (entry("negative", f'when = {{ sex = "{SECRET}" }}'), "no value for never"),
        (entry("negative", f'when = {{ sex = ["{SECRET}"] }}\nnever = 1'), "no value for sex"),
        (entry("negative", RULE + 'struck = "no"'), "struck = true"),
        (entry("negative", RULE + "people = -1"), "people below 0"),
        (entry("negative", RULE + "people = nan"), "no number for people"),
        (entry("negative", RULE + "people = inf"), "no number for people"),
        (entry("negative", RULE + f"people = 1{'0' * 400}"), "more than 64 bits"),
        (entry("negative", RULE + f'people = "{SECRET}"'), "no number for people"),
        (entry("negative", RULE + "confidence = 1.5"), "between 0 and 1"),
        (entry("negative", RULE + "expectation = true"), "no number for expectation"),
        (entry("negative", RULE + f'who = ["{SECRET}"]'), "who and why as texts"),
        (entry("positive", LIKELY), "has no confidence"),
        (entry("positive", LIKELY + "confidence = -0.1"), "between 0 and 1"),
        (entry("positive", LIKELY + "confidence = 0.1\npeople = inf"), "no number for people"),
        (entry("positive", LIKELY + "confidence = 0.1\nconviction = nan"), "no number for conv"),
        (entry("statistic", LIKELY), "either a share or a mean"),
        (entry("statistic", LIKELY + "share = 0.1\nmean = 3"), "either a share or a mean"),
        (entry("fact", f'never = "{SECRET}"'), "name a person"),
        (entry("fact", 'person = true\nnever = "x"'), "name a person"),
        (entry("fact", f'person = "{SECRET}"'), "no value for never"),
        ('sensitive = "d"\nnodes = 5', "by column"),
        ('sensitive = "d"\n[nodes]\nage = 5', "by column"),
        (f'sensitive = "d"\n[nodes.age]\n"{SECRET}" = 5', "neither a list"),
        (f'sensitive = "d"\n[nodes.age]\n"{SECRET}" = []', "stands for no value"),
        (f'sensitive = "d"\n[nodes.age]\n"{SECRET}" = {{}}', "neither a list"),
        (f'sensitive = "d"\n[nodes.age]\n"{SECRET}" = {{ from = 1 }}', "neither a list"),
        (f'sensitive = "d"\n[nodes.age]\n"{SECRET}" = {{ missing = "no" }}', "missing = true"),
        (f'sensitive = "d"\n[nodes.age]\n"{SECRET}" = {{ values = "{SECRET}" }}', "no list"),
        (f'sensitive = "d"\n[nodes.age]\nx = {{ from = 1, to = "{SECRET}" }}', "neither a number"),
        ('sensitive = "d"\n[nodes.age]\nx = { from = 30, to = 20 }', "not an interval"),
        ('sensitive = "d"\n[nodes.age]\nx = { from = nan, to = 20 }', "not an interval"),
        ('sensitive = "d"\n[nodes.age]\nx = { from = 1960, to = 1969-12-31 }', "not an interval"),
        ('sensitive = "d"\n[nodes.age]\nx = { from = 1, to = 2, upto = 3 }', "not an interval"),
        ('sensitive = "d"\n[nodes.age]\nx = { from = 1, to = 2, width = -3 }', "width below 0"),
        ('sensitive = "d"\n[nodes.age]\nx = { from = 1, to = 2, missing = 1 }', "missing = true"),
    ],
)
def test_what_cannot_be_read_is_refused_without_showing_a_value(text, match):
    with pytest.raises(ParameterError, match=match) as caught:
        Knowledge.from_toml(text)
    assert SECRET not in f"{caught.value.fact} {caught.value.hint}"


def test_files_that_are_not_there_or_no_text_are_refused(tmp_path):
    with pytest.raises(ParameterError, match=r"rules\.toml cannot be read: No such file"):
        Knowledge.from_file(tmp_path / "rules.toml")
    with pytest.raises(ParameterError, match="cannot be read"):
        Knowledge.from_file(tmp_path)
    (tmp_path / "rules.toml").write_bytes(b'sensitive = "\xff"')
    with pytest.raises(ParameterError, match="not UTF-8 text"):
        Knowledge.from_file(tmp_path / "rules.toml")


# the TOML that is written


@given(texts)
def test_texts_and_keys_are_toml(text):
    parsed = tomllib.loads(f"{documents.toml_key(text)} = {documents.toml_text(text)}\n")
    assert parsed == {text: text}
    assert tomllib.loads(f"# {documents.toml_comment(text)}\nx = 1") == {"x": 1}


@given(st.dictionaries(texts, st.one_of(texts, st.booleans(), st.integers(0, 9)), max_size=3))
def test_inline_tables_are_toml(table):
    assert tomllib.loads(f"x = {documents.toml_inline(table)}") == {"x": table}
