from __future__ import annotations

from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.calibration import Calibration, Estimate
from shoal.core.cells import Cells
from shoal.core.display import Section
from shoal.core.domain import ColumnType, Domain, Role
from shoal.core.findings import Findings, Risk
from shoal.core.guarantees import FrequencyDiversity, KAnonymity, MConfidentiality
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.measure import Measured
from shoal.core.shapes import Shape
from shoal.knowledge import Knowledge, NegativeRule
from shoal.report.codebook import codebook, ddi_codebook
from shoal.report.internal_report import Evidence, internal_report
from shoal.report.markup import element, page, table, value
from shoal.report.public_report import NOT_STATED, RISKS, found_about, promised_about, public_report
from shoal.report.risk import (
    BELIEFS_BY_BUCKET,
    BELIEFS_BY_SUBGROUP,
    BY_BUCKET,
    BY_COLUMN,
    BY_SUBGROUP,
    WITHOUT_COLUMN,
    Attacked,
    risk_sections,
)
from shoal.slicing.correlation import Correlations

HOSTILE = "\"'></style></script><script>alert(1)</script><img src=x onerror=alert(1)>"
INERT = {
    *("html", "head", "meta", "title", "style", "body", "main", "h1", "h2", "h3", "p", "ul", "li"),
    *(
        "table",
        "caption",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "bdi",
        "em",
        "strong",
        "code",
        "span",
        "div",
        "nav",
        "ol",
        "a",
    ),
    *("figure", "svg", "desc", "rect", "text", "circle", "path", "g"),
}
PROMISED = (KAnonymity(k=3),)


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.targets: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        self.targets += [target for name, target in attrs if name == "href"]

    def handle_data(self, data):
        self.text += data


def manifest_of(shape=Shape.GENERALIZED, name="age", guarantees=PROMISED):
    return Manifest(
        shape=shape,
        method="mondrian",
        parameters={"k": 3, "note": HOSTILE},
        guarantees=guarantees,
        columns=(
            PublishedColumn(name, Role.QUASI, ColumnType.CATEGORICAL, is_recoded=True),
            PublishedColumn("ill", Role.SENSITIVE, ColumnType.CATEGORICAL, n_suppressed=1),
        ),
        n_rows=8,
        n_buckets=2,
        slices=((name,), ("ill",)) if shape is Shape.SLICED else (),
    )


def findings(
    attack="homogeneity",
    posterior=(0.25, 1.0),
    limit="1/2",
    sections=(),
    risks=(Risk.INFERENCE,),
    **more,
):
    believed = np.array(posterior)
    return Findings(
        attack,
        "the quasi-identifiers of people",
        np.array([3, 1]),
        np.array([0, 1]),
        believed,
        believed > 0.5,
        limit,
        {"rate": 0.5},
        tuple(sections),
        risks=risks,
        **more,
    )


def evidence(**given):
    rule = NegativeRule(antecedent={"sex": HOSTILE}, value="flu")
    shown = {
        "roles": {"identifying": [HOSTILE, "name"], "sensitive": ["ill"]},
        "findings": [findings(sections=[Section(HOSTILE, ("a", "b"), ((HOSTILE, 1), (None, 2)))])],
        "verdicts": {"homogeneity": "failed"},
        "knowledge": Knowledge("ill", [rule]),
        "measured": [Measured("loss", {"generalized loss": 0.25}, words=("75% is kept",))],
        "correlations": Correlations((HOSTILE, "b"), np.eye(2)),
        "dropped": (2, "too rare"),
        "accepted": [HOSTILE],
        "warnings": ["beware"],
    }
    return Evidence(**{**shown, **given})


@pytest.mark.parametrize("shape", Shape.all())
def test_hostile_texts_stay_texts_in_both_reports(shape):
    manifest = manifest_of(shape, HOSTILE)
    meanings = {HOSTILE: {HOSTILE: Meaning(members=frozenset([HOSTILE]))}}
    for text in (
        public_report(replace(manifest, remarks=(HOSTILE,)), meanings, [2, 3]),
        internal_report(manifest, meanings, evidence()),
    ):
        read = Tags(text)
        assert read.tags <= INERT
        assert not {name for name in read.attributes if name.startswith("on")}
        assert "src" not in read.attributes
        assert all(target.startswith("#part-") for target in read.targets)
        assert HOSTILE in read.text
        assert "http://www.w3.org/2000/svg" in text
        assert text.count("http") == text.count("http://www.w3.org/2000/svg") + text.count(
            "http-equiv"
        )


def test_public_reports_say_nothing_that_attacks_found():
    text = Tags(public_report(manifest_of(), {})).text.lower()
    for word in ("attack", "at risk", "posterior", "verdict", "rule", "passed", "failed"):
        assert word not in text


def test_internal_report_shows_all_that_it_is_given():
    text = Tags(internal_report(manifest_of(), {}, evidence())).text
    for said in (
        *("Do not publish it", "failed", "name", "generalized loss", "0.25", "beware"),
        *("2 rows were left out", "It was given, not mined", "phi-squared", "too rare"),
        "Limit: 1 in 2. Finding: 1 of 4 people at risk.",
    ):
        assert said in text


def test_both_reports_begin_with_what_matters_and_a_list_of_contents():
    public = public_report(manifest_of(), {}, [4, 4])
    internal = internal_report(manifest_of(), {}, evidence())
    for text in (public, internal):
        n_chapters = text.count('<h2 id="part-')
        assert n_chapters == text.count('<li><a href="#part-') > 3
        assert text.index('class="short"') < text.index("<nav>") < text.index('<h2 id="part-1"')
    said = Tags(internal).text
    assert "Attacks run: 1. Judged by the gate: 1 (0 passed, 1 failed)." in said
    assert "The strongest is homogeneity: 1 of 4 people at risk." in said
    assert "For analysts: 75% is kept." in said
    assert "A risk was accepted" in said


def test_measures_are_drawn():
    errors = Section(
        "relative errors",
        ("aggregate", "column", "mean", "mean from", "mean to"),
        (("COUNT", "", 0.1, 0.05, 0.15), ("SUM", HOSTILE, 0.2, 0.1, float("nan"))),
    )
    accuracy = Section(
        "accuracy",
        ("target", "model", "training", "accuracy", "of the table", "lost", "from", "to"),
        (("ill", "tree", "linked at random", 0.3, 0.4, 0.1, 0.05, 0.15),),
    )
    measured = [
        Measured("loss", {"generalized loss": 0.25, "entropy lost": 0.5, "discernibility": 9}),
        Measured("queries", {"mean relative error": 0.1}, (errors,)),
        Measured("classification", {"accuracy lost": 0.1}, (accuracy,)),
    ]
    text = internal_report(manifest_of(), {}, Evidence(measured=measured))
    for said in (
        "Bars show the share that is lost: generalized loss: 0.25, entropy lost: 0.5.",
        "COUNT: 0.1 (0.05 to 0.15); SUM",
        "ill: tree, linked at random: 0.3 (0.25 to 0.35), trained on the original table 0.4",
    ):
        assert said in text


def test_how_long_steps_took_is_told_not_when_they_began():
    seconds = {"count": 1.0, "plan": 1.5, "done": 4.0}
    text = Tags(internal_report(manifest_of(), {}, Evidence(seconds=seconds))).text
    assert "count0.5plan2.5" in text


def test_internal_report_says_what_was_not_done():
    text = Tags(internal_report(manifest_of(), {}, Evidence())).text
    for said in ("No attack was run", "against this risk", "No knowledge", "Nothing was measured"):
        assert said in text
    assert "No risk was accepted" in text


@pytest.mark.parametrize("shape", Shape.all())
def test_every_shape_is_explained_for_each_risk(shape):
    said = promised_about(manifest_of(shape))
    assert set(said) == set(RISKS)
    text = Tags(public_report(manifest_of(shape), {})).text
    assert all(sentence in text for sentence in said.values())


def test_a_bound_that_holds_of_protected_values_alone_is_not_said_of_all():
    def inferred(*guarantees):
        return promised_about(manifest_of(guarantees=guarantees))["Inference"]

    assert "any sensitive value a probability above 1 in 4" in inferred(FrequencyDiversity(ell=4))
    assert "any protected value" in inferred(MConfidentiality(m=4, k=8, protect=["flu"]))
    assert "known about all of them" in inferred(KAnonymity(k=4))


def test_findings_are_told_under_the_risk_that_they_are_about():
    linkage = findings("linkage", risks=(Risk.SINGLING_OUT, Risk.LINKABILITY))
    membership = findings("membership", limit=None, risks=(Risk.MEMBERSHIP,))
    said = found_about([linkage, membership, findings()])
    assert list(said) == list(RISKS)
    assert [len(said[risk]) for risk in RISKS] == [1, 1, 1, 1]
    (nobody,) = found_about([findings(posterior=(0.1, 0.2))])["Inference"]
    assert "Limit: 1 in 2. Finding: 0 of 4 people at risk." in nobody


def test_an_attack_that_does_not_state_its_risk_is_not_filed_under_another():
    stranger = findings("homogeneity", risks=())
    said = found_about([stranger])
    assert not any(said[risk] for risk in RISKS)
    assert len(said[NOT_STATED]) == 1
    text = Tags(internal_report(manifest_of(), {}, evidence(findings=[stranger]))).text
    assert "These attacks do not declare which risk they show." in text
    assert "Not stated" not in Tags(internal_report(manifest_of(), {}, evidence())).text


def test_what_has_no_limit_is_not_said_to_put_nobody_at_risk():
    figure = "at worst found 1 in 1; no limit is set"
    free = findings("linkage", (0.2, 0.4), None, figure=figure)
    shown = evidence(findings=[free], verdicts={}, risks={}, measured=())
    text = Tags(internal_report(manifest_of(), {}, shown)).text
    assert figure in text
    for comfort in ("0 at risk", "0 of 4", "puts none", "puts anyone", "People at risk by attack"):
        assert comfort not in text
    sex = Domain.of_texts("sex", ["f", "m"])
    quasi = Cells((sex,), np.array([[0], [1]]), np.array([3, 1]))
    sections = risk_sections(free, Attacked(quasi, np.array([0, 1])))
    assert [one.title for one in sections] == [BELIEFS_BY_BUCKET, BY_COLUMN, BELIEFS_BY_SUBGROUP]
    assert not any("risk" in column for one in sections for column in one.columns)


def test_the_internal_report_shows_how_right_beliefs_are_and_what_was_not_run():
    scale = Calibration(3, Estimate(0.24, 0.2, 0.29), 0.28, 2, 1, Estimate(0.1, -0.1, 0.3), 40)
    believed = findings("foreground", is_belief=True, calibration=scale)
    reason = f"slow {HOSTILE}"
    shown = evidence(findings=[believed], verdicts={}, not_run={"membership": reason})
    read = Tags(internal_report(manifest_of(), {}, shown))
    assert read.tags <= INERT
    line = "1 of 4 exposed; 3 believed, right 1 in 4 (20 to 29 %), naive guess 28 %"
    assert read.text.count(line) >= 2
    assert f"not run: {reason}" in read.text
    assert "Not run, for a stated reason: membership." in read.text


def test_people_are_counted_by_bucket_column_and_value():
    sex = Domain.of_texts("sex", ["f", "m"])
    age = Domain.of_texts("age", ["20"], has_missing=True)
    quasi = Cells((age, sex), np.array([[0, 0], [1, 1]]), np.array([3, 1]))
    sections = risk_sections(findings(), Attacked(quasi, np.array([0, 0])))
    assert [one.title for one in sections] == [BY_BUCKET, WITHOUT_COLUMN, BY_COLUMN, BY_SUBGROUP]
    assert sections[0].rows == ((4, 1, 0.4375, 1.0),)
    # Whoever does not know the age still knows the sex, which tells the same.
    assert sections[1].rows == (("age", 0), ("sex", 0))
    assert {row[:2] for row in sections[2].rows} == {("age", 1.0), ("sex", 1.0)}
    assert ("age", None, 1, 1, 1.0, 1.0) in sections[3].rows
    assert risk_sections(findings(), Attacked(Cells((sex,), np.array([[0]]), np.array([4])))) == ()


@given(
    st.lists(
        st.tuples(st.integers(0, 2), st.integers(1, 4), st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        min_size=1,
        max_size=12,
    )
)
def test_explained_variance_is_that_of_people_one_by_one(entries):
    code, counts, posterior = map(np.array, zip(*entries, strict=True))
    domain = Domain.of_texts("x", ["a", "b", "c"])
    found = Findings("a", "k", counts, code, posterior, posterior > 0.4, "2/5", {})
    *_, columns, groups = risk_sections(found, Attacked(Cells((domain,), code[:, None], counts)))
    people = [(one, p) for one, n, p in entries for _ in range(n)]
    mean = sum(p for _, p in people) / len(people)
    total = sum((p - mean) ** 2 for _, p in people)
    between = 0.0
    for value_code in range(3):
        own = [p for one, p in people if one == value_code]
        at_risk = sum(p > 0.4 for p in own)
        row = [row[2:4] for row in groups.rows if row[1] == "abc"[value_code]]
        assert row == ([(len(own), at_risk)] if own else [])
        between += len(own) * (sum(own) / len(own) - mean) ** 2 if own else 0.0
    assert columns.rows[0][1] == pytest.approx(between / total if total > 1e-9 else 0.0)


@given(st.text(), st.text())
def test_any_text_is_shown_as_text(first, second):
    read = Tags(page(first, table((first,), [(second,)]), element("p", second, title=first)))
    assert read.tags <= INERT


def test_long_values_are_cut_and_directions_isolated():
    shown = str(value("\u202e" + "שלום" * 100))
    assert shown.startswith('<bdi class="long">\ufffd')
    assert len(shown) < 160
    assert "\u202e" not in shown


def test_a_large_release_makes_a_small_report():
    labels = {
        f"label {i}": Meaning(members=frozenset(f"m{i}-{j}" for j in range(30)))
        for i in range(20_000)
    }
    text = public_report(manifest_of(), {"age": labels}, range(100_000))
    assert len(text.encode()) < 3_000_000
    assert "These are the first 500 of 20,000 labels; labels.json contains all of them." in text


def test_codebooks_list_the_first_labels_and_say_how_many_there_are():
    manifest = manifest_of()
    for n_labels, is_cut in ((500, False), (501, True), (2000, True)):
        meanings = {
            "age": {f"[{n}, {n + 1}[": Meaning((str(n), str(n + 1))) for n in range(n_labels)}
        }
        read = codebook(manifest, meanings), ddi_codebook(manifest, meanings)
        for text in read:
            assert (f"the first 500 of {n_labels:,} labels; labels.json" in text) == is_cut
            assert "[499, 500[" in text
            assert "[500, 501[" not in text
        assert read[0].count("from ") == 500
        assert read[1].count("<catgry>") == 500
