"""Running the experiments of [Li08] again: quick runs of all, and what must come out on Adult."""

from __future__ import annotations

import math

import numpy as np
import pytest
from reproduction.injector import PLANNED
from reproduction.injector_trials import (
    ANATOMY,
    INJECTORS,
    MIN_EXPS,
    Place,
    Trials,
    adult_table,
    anatomized,
    axes,
    everywhere,
    excluded_share,
    fits_axis,
    method_of,
    sample,
    smaller_than_anatomy,
)
from reproduction.reproduced import Curve, Figure, Setting

import shoal
from shoal.checks import valid_values
from shoal.injector import resolving

FIGURES = {
    "Tables I and II": ["table-2", "section-5a"],
    "Table III": ["table-3"],
    "Figure 3": ["figure-3-rules", "figure-3-shares"],
    "Figure 4": ["figure-4a", "figure-4b"],
    "Figure 5": ["figure-5a", "figure-5b"],
    "Figures 6 and 7": [
        *(f"figure-{panel}" for panel in ("6a", "6b", "7a", "7b", "7c", "7d")),
        *(f"conviction-{e}" for e in ("confidence-error", "false-positives", "false-negatives")),
    ],
    "Figure 8": [*(f"figure-8{panel}" for panel in "abcd"), "figure-8-samples"],
}


def planned(title):
    return next(one for one in PLANNED if one.title.startswith(title))


def panel(anatomy, *injectors):
    names = (ANATOMY, *INJECTORS)
    curves = [Curve(n, v) for n, v in zip(names, (anatomy, *injectors), strict=True)]
    return Figure("figure-0", "", "", "l", (3.0, 4.0), "%", tuple(curves))


# --- what a run gives -------------------------------------------------------------------------


def test_only_the_worked_examples_need_no_adult():
    assert [one.needs_adult for one in PLANNED] == [False] + [True] * 6
    assert [one.title.split(":")[0].split(",")[0] for one in PLANNED] == list(FIGURES)


@pytest.mark.parametrize("title", FIGURES)
def test_a_quick_run_gives_whole_figures(title, adult_path):
    figures = planned(title).run(Setting(adult=adult_path, is_quick=True))
    assert [figure.name for figure in figures] == FIGURES[title]
    for figure in figures:
        assert figure.setting
        assert figure.curves
        for curve in figure.curves:
            assert len(curve.values) == len(figure.x)
            is_absent = figure.name == "table-3" and curve.name.startswith("height")
            missing = [math.isnan(value) for value in curve.values]
            assert missing == [False] * 6 + [True] if is_absent else not any(missing)
            assert all(value >= 0 for value in curve.values if not math.isnan(value))
    assert any(figure.statements for figure in figures)


def test_a_quick_run_takes_a_sample_and_few_places(adult_path):
    quick, full = (Setting(adult=adult_path, is_quick=is_quick) for is_quick in (True, False))
    assert adult_table(quick).n_rows == 150
    assert [len(axis.x) for axis in axes(quick)] == [2, 2]
    assert [axis.x for axis in axes(full)] == [
        tuple(map(float, MIN_EXPS)),
        (3.0, 4.0, 5.0, 6.0),
    ]
    for setting in (quick, full):
        assert all(Place() in places for places in everywhere(setting).values())
        assert all(len(axis.x) == len(axis.places) for axis in axes(setting))


def test_a_sample_keeps_the_shares_of_occupations(adult_path):
    rows = shoal.datasets.adult(adult_path, "injector")
    drawn = sample(rows, 3_000, np.random.default_rng(1))
    again = sample(rows, 3_000, np.random.default_rng(2))
    assert drawn.n_rows == 3_000
    assert drawn.columns["age"].tolist() != again.columns["age"].tolist()
    counts, expected = (
        np.bincount(one.columns["occupation"].codes, minlength=14) for one in (drawn, rows)
    )
    assert np.abs(counts - expected * 3_000 / rows.n_rows).max() <= 1


def test_a_sample_may_be_everything(adult_path):
    rows = shoal.datasets.adult(adult_path, "injector").take(range(500))
    assert sample(rows, 500, np.random.default_rng(1)).to_dict() == rows.to_dict()


def test_the_excluded_share_is_that_of_values_no_assignment_allows(adult_path):
    """By the checker, bucket by bucket."""
    setting = Setting(adult=adult_path, is_quick=True)
    table = adult_table(setting)
    release = anatomized(table, setting)
    rules = shoal.knowledge.mine_negative_rules(table, min_exp="0.90")
    published = release.published
    domain, lines = published.buckets.domain, published.lines
    looks, look = published.looks
    setting = resolving.Setting(looks, domain, table.trees)
    forbidden = resolving.resolve(rules, setting).sets
    n_possible = n_values = 0
    for bucket in range(published.n_buckets):
        held = published.buckets.bucket == bucket
        values = np.repeat(published.buckets.value[held], published.buckets.count[held]).tolist()
        own = np.flatnonzero(lines.codes[:, 0] == bucket)
        rows = np.repeat(forbidden.which[look[own]], lines.counts[own])
        valid = valid_values(values, [np.flatnonzero(forbidden.sets[row]) for row in rows])
        n_possible += sum(map(len, valid))
        n_values += len(rows) * len(set(values))
    assert 0 < n_possible < n_values
    assert excluded_share(table, release) == pytest.approx(1 - n_possible / n_values)


# --- verdicts are computed --------------------------------------------------------------------


def test_smaller_means_smaller_everywhere():
    figure = panel((10.0, 20.0), (9.0, 19.0), (9.0, 20.0), (11.0, 21.0))
    why = dict.fromkeys(INJECTORS, "because")
    statements = smaller_than_anatomy("errors", figure, why)
    assert [one.verdict for one in statements] == ["reproduced", *["not stated in the paper"] * 2]
    assert [one.why.endswith("because") for one in statements] == [False, True, True]
    assert "smaller at 1 of 2 places" in statements[1].ours


@pytest.mark.parametrize("printed", [(9.0, 20.0), (10.0, 19.0), (11.0, 21.0)])
def test_as_large_somewhere_is_not_smaller_everywhere(printed):
    figure = panel((10.0, 20.0), printed, (9.0, 19.0), (9.0, 19.0))
    first, *_ = smaller_than_anatomy("errors", figure, dict.fromkeys(INJECTORS, "because"))
    assert (first.verdict, first.why) == ("differs", "because")


@pytest.mark.parametrize(("end", "verdict"), [(21.0, "not judged"), (20.9, "differs")])
def test_what_is_longer_than_an_axis_differs(end, verdict):
    figure = panel((10.0, 20.0), (9.0, 19.0), (9.0, 20.0), (11.0, 21.0))
    assert fits_axis("errors", figure, end, "because").verdict == verdict
    assert fits_axis("errors", figure, end, "because", "blurred").verdict == "not judged"


def test_anatomy_is_the_same_for_all_rules():
    trials = Trials({(ANATOMY, Place(ell=4)): np.array([[1.0], [3.0]])})
    assert trials.mean(ANATOMY, Place(ell=4, min_exp="0.75")) == 2.0
    with pytest.raises(KeyError):
        trials.mean("Injector, printed", Place(ell=4))


def test_injector_without_rules_is_given_none():
    method = method_of("Injector, similar, no rules", Place(ell=4))
    assert (method.ell, method.choose, method.mine, len(method.rules)) == (4, "similar", False, 0)


# --- the main figures on all of Adult ---------------------------------------------------------


@pytest.fixture(scope="module")
def setting(adult_path):
    return Setting(adult=adult_path)


def test_the_rules_of_figure_3(setting):
    rules, shares = planned("Figure 3").run(setting)
    assert [curve.values for curve in rules.curves] == [
        (45, 39, 32, 22, 15),
        (44, 38, 32, 22, 15),
        (45, 39, 33, 22, 15),
    ]
    verdicts = [one.verdict for one in rules.statements]
    expected = ["differs"] * 2 + ["reproduced"] * 3 + ["reproduced"] * 2
    assert verdicts == [*expected, "not stated in the paper"]
    assert {one.verdict for one in shares.statements} == {"reproduced"}
    np.testing.assert_allclose(np.sum([c.values for c in shares.curves], axis=0), 100)


@pytest.mark.slow
def test_the_rules_leave_little_to_gain_on_all_rows(setting):
    """Figure 8: the printed choice of rows answers worse than Anatomy, `similar` better."""
    table = adult_table(setting)
    queries = shoal.measures.Queries(numbers=())
    errors = []
    for name in ("Injector, similar", ANATOMY, "Injector, printed", "Injector, balanced"):
        release = shoal.anonymize(table, method_of(name, Place()), seed=1)
        errors.append(shoal.measure(release, queries)["queries"].headline["mean relative error"])
    assert errors == sorted(errors)
    assert errors == pytest.approx([0.149, 0.151, 0.156, 0.159], abs=0.002)
    assert excluded_share(table, anatomized(table, setting)) == pytest.approx(0.004, abs=0.0005)
