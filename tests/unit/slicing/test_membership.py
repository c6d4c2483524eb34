"""The search for a frequency of column values that hides who is in a table."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.sliced import Layout
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.locating.separation import separate, tie_rounded
from shoal.slicing.column_generalization import apply_recode, generalize_columns
from shoal.slicing.membership import (
    find_frequency,
    find_sliced_presence,
    fit_sliced,
    split_rows,
    tell_apart_sliced,
)
from shoal.slicing.partition import random_buckets

LAYOUT = Layout([["age"], ["city", "disease"]], ["disease"])


def table(n_rows=400, seed=3):
    generator = np.random.default_rng(seed)
    ages = Domain.of_texts("age", [f"{age:02}" for age in range(80)])
    cities = Domain.of_texts("city", [f"c{place}" for place in range(60)])
    flu = Domain.of_texts("disease", ["cold", "flu"])
    drawn = [generator.integers(0, domain.size, n_rows) for domain in (ages, cities, flu)]
    return Cells.of_rows([ages, cities, flu], np.column_stack(drawn))


CELLS = table()
TREES = {
    "age": Hierarchy.from_rows([[f"{a:02}", f"{a // 10}x", "*"] for a in range(80)]).over(
        CELLS.domain("age")
    ),
    "city": Hierarchy.from_rows(
        [[f"c{c}", f"region {c // 6}", f"land {c // 30}", "*"] for c in range(60)]
    ).over(CELLS.domain("city")),
}


def generalize(half, often, keep=("disease",)):
    return generalize_columns(half, LAYOUT.columns, often, trees=TREES, keep=keep).recode


def slice_rows(half):
    return random_buckets(half, 10, np.random.default_rng(8)).sliced(LAYOUT)


def search(cells=CELLS, **given):
    parameters = {
        "generalize": generalize,
        "slice_rows": slice_rows,
        "bound": Fraction("0.6"),
        "generator": np.random.default_rng(5),
    }
    return find_frequency(cells, **(parameters | given))


def high_at(often, n_splits=5):
    """Do the test by hand, on the same halves."""
    generator = np.random.default_rng(5)
    halves = [split_rows(CELLS, CELLS.n_rows // 2, generator) for _ in range(n_splits)]
    found = [separation_of(half, rest, often) for half, rest in halves]
    mean = sum(one.auc for one in found) / n_splits
    reach = sum(one.high - one.auc for one in found) / n_splits
    return mean + reach * (1 / n_splits + 1 / 2) ** 0.5


def separation_of(half, rest, often):
    recode = generalize(half, often)
    sliced = slice_rows(apply_recode(half, recode))
    parts = [apply_recode(part, recode).select(["age", "city"]) for part in (half, rest)]
    found = []
    everybody = Cells.of_rows(
        parts[0].domains, np.concatenate([p.codes for p in map(rows_of, parts)])
    )
    for score in (fit_sliced(sliced, everybody).n_rows, find_sliced_presence(sliced, everybody)):
        tied = tie_rounded(score).tolist()
        of_codes = dict(zip(map(tuple, everybody.codes.tolist()), tied, strict=True))
        members, others = (
            [of_codes[tuple(code)] for code in rows_of(part).codes.tolist()] for part in parts
        )
        found.append(separate(members, others))
    return max(reversed(found), key=lambda one: one.auc)


def rows_of(cells):
    """Return the cells with one entry per row."""
    codes = np.repeat(cells.codes, cells.counts, axis=0)
    return Cells(cells.domains, codes, np.ones(len(codes), dtype=np.int64))


def test_the_upper_end_holds_where_it_stops_and_not_a_little_below():
    found = search()
    assert found.min_frequency > 1
    assert found.high == pytest.approx(high_at(found.min_frequency))
    assert found.high <= 0.6
    assert high_at(found.min_frequency * 15 // 16 - 1) > 0.6
    assert found.auc < found.high


def test_one_lucky_half_does_not_decide():
    """The point estimate of a single half may hold where the interval of several does not."""
    found = search()
    lucky = min(
        often
        for often in range(1, found.min_frequency + 1)
        if separation_of(
            *split_rows(CELLS, CELLS.n_rows // 2, np.random.default_rng(5)), often
        ).auc <= 0.6
    )  # fmt: skip
    assert lucky < found.min_frequency
    assert high_at(lucky) > 0.6


def test_nothing_is_generalized_where_the_bound_holds_already():
    assert search(bound=Fraction(1)).min_frequency == 1


def test_a_tie_at_the_bound_holds():
    bound = Fraction(search(bound=Fraction(1), least=8).high)
    assert search(bound=bound, least=8).min_frequency == 8


def test_it_begins_at_the_frequency_that_is_asked_for():
    assert search(bound=Fraction(1), least=7).min_frequency == 7


def test_all_that_is_one_label_tells_nobody_apart():
    found = search(bound=Fraction(1, 2))
    assert found.auc == found.high == 0.5
    assert found.to_dict()["min_frequency"] == found.min_frequency


def test_out_of_reach_it_names_the_best_that_was_reached():
    with pytest.raises(InfeasibleError) as caught:
        search(
            bound=Fraction(1, 2),
            generalize=lambda half, often: generalize(half, often, keep=("disease", "age")),
        )
    best = caught.value.best
    assert 0.5 < best["max_membership_auc"] < 1
    assert f"{best['max_membership_auc']:.3f}" in str(caught.value)
    assert best["min_frequency"] >= 1


def test_each_half_is_sliced_once_whatever_number_of_frequencies_leads_to_its_labels():
    seen = []

    def count(half):
        seen.append(tuple(half.domain(name).size for name in ("age", "city")))
        return slice_rows(half)

    search(bound=Fraction("0.55"), slice_rows=count)
    assert len(seen) < 5 * 12


def test_where_half_of_the_table_cannot_be_sliced_it_says_why():
    def refuse(half):
        raise InfeasibleError("Not so.", best={"ell": "2"})

    with pytest.raises(InfeasibleError, match="Not so") as caught:
        search(slice_rows=refuse)
    assert caught.value.best == {"ell": "2"}


def test_what_can_be_sliced_only_when_it_is_coarse_is_found():
    def refuse_fine(half):
        if half.domain("city").size > 10:
            raise InfeasibleError("Too fine.")
        return slice_rows(half)

    found = search(bound=Fraction(1), slice_rows=refuse_fine)
    assert found.min_frequency > 1


def test_a_frequency_that_half_of_the_table_cannot_reach_is_refused():
    with pytest.raises(InfeasibleError, match="min_frequency"):
        search(least=10**6)


@pytest.mark.slow
def test_the_bound_holds_against_fresh_people_for_most_tables():
    """With one half and its point estimate, 7 of these 25 tables are above."""
    bound, n_above, n_tables = 0.58, 0, 25
    for seed in range(n_tables):
        cells, fresh = table(seed=seed), table(seed=1000 + seed)
        found = search(cells, bound=Fraction("0.58"), generator=np.random.default_rng(seed))
        recode = generalize(cells, found.min_frequency)
        sliced = slice_rows(apply_recode(cells, recode))
        members, others = (
            apply_recode(part, recode).select(["age", "city"]) for part in (cells, fresh)
        )
        n_above += tell_apart_sliced(sliced, members, others).worse.auc > bound
    assert n_above <= 3
