"""Membership: what is said of trials, limits and fake tuples."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.attacks import Membership
from shoal.core.attack import HELD_OUT_TEST, Trial, Trials, View
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.manifest import Manifest
from shoal.core.release import People, Published
from shoal.core.shapes import Shape
from shoal.core.sliced import Layout, Sliced
from shoal.locating.separation import MatchRate, Separation
from shoal.membership import attack as membership

SEX = Domain.of_texts("sex", ["F", "M"])
CITY = Domain.of_texts("city", ["Bonn", "Rome", "Oslo"])


def people(*rows):
    return People(Cells.of_rows([SEX, CITY], np.array(rows)))


def sliced_release(rows, bucket, layout=None):
    layout = layout or Layout([["sex"], ["city"]])
    codes = np.array(rows)
    cells = Cells((SEX, CITY), codes, np.ones(len(codes), dtype=np.int64))
    whole, cell = cells.select_with_inverse(["sex", "city"])
    numbers = np.array(bucket)
    sliced = Sliced.of_pieces(whole, layout, cell, numbers, np.ones(len(codes), dtype=np.int64))
    manifest = Manifest(
        shape=Shape.SLICED, method="slicing", parameters={}, guarantees=(), columns=(),
        n_rows=len(codes), n_buckets=sliced.n_buckets,
    )  # fmt: skip
    buckets = Domain.of_texts("bucket", [str(one) for one in range(sliced.n_buckets)])
    places = np.arange(sliced.n_buckets)[:, np.newaxis]
    lines = Cells((buckets,), places, sliced.sizes)
    return Published(manifest, lines, None, sliced=sliced)


# Bucket 0 holds F and M, Bonn and Rome; bucket 1 holds F, Rome.
ROWS, BUCKET = [(0, 0), (1, 1), (0, 1)], [0, 0, 1]
RELEASE = sliced_release(ROWS, BUCKET)
MEMBERS = people(*ROWS)
OTHERS = people((1, 0), (0, 2), (1, 2), (1, 2))
TRIAL = Trial("as in the release", MEMBERS, OTHERS, RELEASE)


def rows_of(section):
    return [dict(zip(section.columns, row, strict=True)) for row in section.rows]


def test_members_are_told_from_those_who_are_held_out():
    found = Membership().run(View(RELEASE, MEMBERS, trials=lambda _: Trials((TRIAL,))))
    # One of four others, (M, Bonn), matches: half a row of bucket 0 is like her, as of (F, Bonn)
    # and of (M, Rome), and one and a half rows are like (F, Rome).
    figures = found.headline
    assert (figures["published in the test"], figures["held out"]) == (3, 4)
    assert (figures["members who match"], figures["others who match"]) == (1, 0.25)
    (test, by_buckets) = found.sections[:2]
    (row,) = rows_of(test)
    assert row["AUC by the release alone"] == (3 * 3 + 1 + 2 * 0.5) / 12
    assert figures["AUC"] == row["AUC"] >= row["AUC by the release alone"]
    assert row["95 % from"] < row["AUC"] < row["to"]
    assert row["rows a bucket"] == 1.5
    assert rows_of(by_buckets) == [
        {"buckets": "0", "members": 0, "others": 3},
        {"buckets": "1", "members": 2, "others": 1},
        {"buckets": "2", "members": 1, "others": 0},
    ]


def test_belief_is_that_from_even_odds_after_a_person_matched_or_not():
    someone = people((0, 0), (0, 2))
    found = Membership().run(View(RELEASE, someone, trials=lambda _: Trials((TRIAL,))))
    assert found.posterior.tolist() == [1 / (1 + 0.25), 0]
    assert found.headline["people who match"] == 1
    assert found.limit is None
    assert not found.breached.any()


def test_everybody_who_matches_is_at_risk_where_the_upper_end_is_above_the_limit():
    figures = Membership().run(View(RELEASE, MEMBERS, trials=lambda _: Trials((TRIAL,)))).headline
    someone = people((0, 0), (0, 2))
    above = Membership(limit=0.6).run(View(RELEASE, someone, trials=lambda _: Trials((TRIAL,))))
    assert above.breached.tolist() == [True, False]
    assert above.limit == "0.6"
    # The area itself is within this limit, the upper end of its interval is not.
    assert figures["AUC"] == 11 / 12 < 0.95 < figures["AUC, 95 % to"]
    assert (
        Membership(limit=0.95)
        .run(View(RELEASE, someone, trials=lambda _: Trials((TRIAL,))))
        .breached.any()
    )
    assert (
        not Membership(limit=1)
        .run(View(RELEASE, someone, trials=lambda _: Trials((TRIAL,))))
        .breached.any()
    )


def test_the_line_is_the_area_with_its_interval_and_what_it_means():
    found = Membership().run(View(RELEASE, MEMBERS, trials=lambda _: Trials((TRIAL,))))
    low, high = (found.headline[f"AUC, 95 % {end}"] for end in ("from", "to"))
    meaning = "members can be told from others to some degree"
    assert found.line == (f"AUC 0.92 ({low:.2f} to {high:.2f}): {meaning}; no limit is set")
    untested = Membership(limit=0.9).run(View(RELEASE, MEMBERS))
    assert untested.line == "not tested: the table is not at hand"


@pytest.mark.parametrize(
    ("auc", "low", "high", "meaning"),
    [
        (0.94, 0.92, 0.96, "clearly told"),
        (0.62, 0.55, 0.7, "to some degree"),
        (0.52, 0.48, 0.56, "hardly be told"),
        # A wide interval is no comfort.
        (0.5, 0.3, 0.7, "too few people to say"),
    ],
)
def test_what_an_area_means_goes_by_its_whole_interval(auc, low, high, meaning):
    rate = MatchRate(1, 2)
    assert meaning in membership._figure(Separation(auc, low, high, rate, rate), None, 2)


def test_what_was_not_tried_is_not_judged():
    for trials, reason in [
        (Trials(left_out="there is a reason"), "there is a reason"),
        (Trials((Trial("as in the release", MEMBERS, OTHERS, None, "Not so."),)), "Not so."),
    ]:
        found = Membership(limit=0.5).run(
            View(RELEASE, MEMBERS, trials=lambda _, found=trials: found)
        )
        assert found.headline[HELD_OUT_TEST] == f"left out: {reason}"
        assert found.limit is None
        assert found.n_breached == 0
        assert "AUC" not in found.headline
    assert rows_of(found.sections[0])[0]["left out"] == "Not so."
    alone = Membership().run(View(RELEASE, MEMBERS))
    assert alone.headline[HELD_OUT_TEST] == "left out: the table is not at hand"


def test_variants_stand_below_the_release_even_where_some_are_refused():
    refused = Trial("at random", MEMBERS, OTHERS, None, "Out of reach.")
    again = Trial("by similarity", MEMBERS, OTHERS, RELEASE)
    found = Membership().run(
        View(RELEASE, MEMBERS, trials=lambda _: Trials((TRIAL, refused, again)))
    )
    names = [row["rows grouped"] for row in rows_of(found.sections[0])]
    assert names == ["as in the release", "at random", "by similarity"]
    assert rows_of(found.sections[0])[1]["AUC"] is None


def test_fakes_that_were_counted_are_shown_by_matching_buckets():
    large = 10**30
    trials = Trials((TRIAL,), originals={1: 2, 2: 1}, fakes={1: 1, 4: 5, 300: large})
    found = Membership().run(View(RELEASE, MEMBERS, trials=lambda _, found=trials: found))
    assert found.headline["tuples of the table"] == 3
    assert found.headline["fake tuples"] == large + 6
    assert rows_of(found.sections[-1]) == [
        {"buckets": "1", "of the table": 2, "fakes": 1},
        {"buckets": "2", "of the table": 1, "fakes": 0},
        {"buckets": "3-4", "of the table": 0, "fakes": 5},
        {"buckets": "100+", "of the table": 0, "fakes": large},
    ]


def test_from_published_files_all_tuples_that_match_are_counted():
    found = Membership().run(View(RELEASE, MEMBERS))
    assert found.headline["tuples that match a bucket"] == 4
    assert found.headline["fake tuples at least"] == 1


def test_fakes_are_not_counted_where_that_takes_too_long_or_columns_share_attributes():
    generator = np.random.default_rng(1)
    rows = np.column_stack([generator.integers(0, 2, 200), generator.integers(0, 3, 200)])
    wide = sliced_release(rows, np.arange(200) % 20)
    found = Membership(max_steps=0).run(View(wide, MEMBERS))
    assert found.headline["fake tuples"].startswith("not counted: ")
    layout = Layout([["sex", "city"], ["city"]])
    found = Membership().run(View(sliced_release(ROWS, BUCKET, layout), MEMBERS))
    assert found.headline["fake tuples"] == "not counted: columns share attributes"
    found = Membership().run(
        View(RELEASE, MEMBERS, trials=lambda _: Trials(not_counted="not counted: so"))
    )
    assert found.headline["fake tuples"] == "not counted: so"


def test_other_shapes_have_no_fakes(publish, people_of):
    release = publish(["age"], [("1", "20"), ("1", "21"), ("2", "30")], values=False)
    found = Membership().run(View(release, people_of(["age"], [("20",), ("40",), ("40",)])))
    assert found.headline["people who match"] == 1
    assert not [name for name in found.headline if "fake" in name]
    assert found.counts.tolist() == [1, 2]


def test_whose_place_is_known_matches(publish, everybody):
    release = publish(["age"], [("1", "20"), ("1", "21"), ("2", "30")], values=False)
    assert Membership().run(View(release, everybody(release))).headline["people who match"] == 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"limit": 0.4}, "limit must lie between 0.5 and 1"),
        ({"limit": "1.1"}, "limit must lie between 0.5 and 1"),
        ({"split": 0}, "split must be above 0 and below 1"),
        ({"split": 1}, "split must be above 0 and below 1"),
        ({"max_rows": 1}, "max_rows must be a whole number"),
        ({"max_steps": -1}, "max_steps must be a whole number"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, message):
    with pytest.raises(ParameterError, match=message):
        Membership(**parameters)


def test_parameters_are_read_exactly():
    attack = Membership(limit=0.6, split="1/3")
    assert (attack.limit, attack.split) == (Fraction(3, 5), Fraction(1, 3))
