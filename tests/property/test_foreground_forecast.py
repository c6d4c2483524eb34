"""The forecast of the foreground attack, beside one that lists the worlds of every bucket."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.progress import TooMuchWork, Work
from shoal.foreground import every_value as module
from shoal.foreground.attribute_sets import usable_sets
from shoal.foreground.every_value import Task, _Rounds, by_profile, merge_for_every_value
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.forecast import Forecast, Inside
from shoal.foreground.law import weigh_worlds
from shoal.foreground.merging import MARGIN, merged_release
from shoal.foreground.mining import expose
from shoal.locating.exposed import Exposed

COLUMNS = [Domain.of_texts(name, ["x", "y", "é"]) for name in ("town", "sex", "job")]
DISEASE = Domain.of_texts("disease", ["a", "b", "c", "d"])
NEVER = 1e-4


@st.composite
def releases(draw):
    """Draw a release of small buckets, and the fewest rows of a signature that count."""
    row = st.tuples(*(st.integers(0, 2) for _ in COLUMNS), st.integers(0, 3))
    buckets = draw(st.lists(st.lists(row, min_size=1, max_size=6), min_size=1, max_size=6))
    rows = np.array([one for bucket in buckets for one in bucket])
    number = np.repeat(np.arange(len(buckets)), [len(bucket) for bucket in buckets])
    exposed = Exposed.of_rows(COLUMNS, rows[:, :-1], number, rows[:, -1], DISEASE)
    return exposed, rows, draw(st.sampled_from([1, 2, 4, 100]))


def task_of(exposed, rows, least):
    aims = tuple((code,) for code in np.unique(rows[:, -1]).tolist())
    looks, look = Cells(tuple(COLUMNS), rows[:, :-1], np.ones(len(rows), int)).select_with_inverse(
        [domain.column for domain in COLUMNS]
    )
    assert np.array_equal(looks.codes, exposed.looks.codes)
    carriers = np.array([np.bincount(look[rows[:, -1] == code], minlength=looks.n_cells)
                         for (code,) in aims])  # fmt: skip
    sets = usable_sets(exposed.looks, least)
    return Task(lambda _: exposed, lambda _: 1, aims, sets, carriers)


def inside_of(exposed, aims):
    carrying = np.array([exposed.n_carrying(aim) for aim in aims])
    return Inside(exposed.bucket, exposed.look, exposed.count, carrying)


def rows_of(exposed, bucket):
    """Return how each row of a bucket looks."""
    here = exposed.bucket == bucket
    return np.repeat(exposed.look[here], exposed.count[here])


def plain_chances(task, exposed):
    """Return the share of carriers of each class, by set and aim."""
    found = []
    for one in task.sets:
        own = np.zeros((one.n_classes, len(task.aims)))
        for group in range(one.n_classes):
            alike = one.class_of_look == group
            own[group] = task.carriers[:, alike].sum(axis=1) / exposed.looks.counts[alike].sum()
        found.append(np.clip(own, NEVER, 1 - NEVER))
    return found


def plain_beliefs(task, exposed, chances):
    """Return the highest belief about a row of each bucket, world by world."""
    highest = np.zeros(exposed.buckets.n_buckets)
    for bucket in range(exposed.buckets.n_buckets):
        looks = rows_of(exposed, bucket)
        for one, own in zip(task.sets, chances, strict=True):
            classes = one.class_of_look[looks]
            for number, aim in enumerate(task.aims):
                n = int(exposed.n_carrying(aim)[bucket])
                if 0 < n < len(looks) and len(np.unique(classes)) > 1:
                    belief, _ = weigh_worlds(own[classes, number].tolist(), n)
                    highest[bucket] = max(highest[bucket], *belief)
    return highest


def plain_steps(task, exposed, chances, n_steps):
    """Iterate Equation (4) set by set and aim by aim."""
    chances = [one.copy() for one in chances]
    for one, own in zip(task.sets, chances, strict=True):
        is_told_apart = any(
            len(np.unique(one.class_of_look[rows_of(exposed, bucket)])) > 1
            and any(0 < exposed.n_carrying(aim)[bucket] < exposed.buckets.sizes[bucket]
                    for aim in task.aims)
            for bucket in range(exposed.buckets.n_buckets)
        )  # fmt: skip
        for _ in range(n_steps * is_told_apart):
            carriers, rows = np.zeros(own.shape), np.zeros(len(own))
            for bucket in range(exposed.buckets.n_buckets):
                classes = one.class_of_look[rows_of(exposed, bucket)]
                np.add.at(rows, classes, 1)
                for number, aim in enumerate(task.aims):
                    n = int(exposed.n_carrying(aim)[bucket])
                    expected, _ = weigh_worlds(own[classes, number].tolist(), n)
                    np.add.at(carriers[:, number], classes, expected)
            own[:] = np.clip(carriers / np.maximum(rows, 1)[:, np.newaxis], NEVER, 1 - NEVER)
    return chances


@given(releases())
def test_beliefs_are_those_of_all_worlds(release):
    exposed, rows, least = release
    task = task_of(exposed, rows, least)
    forecast = Forecast.of_table(task.sets, exposed.looks.counts, task.carriers)
    chances = plain_chances(task, exposed)
    for found, expected in zip(forecast.chances, chances, strict=True):
        assert found == pytest.approx(expected)
    found = forecast.believed(inside_of(exposed, task.aims))
    assert found.belief == pytest.approx(plain_beliefs(task, exposed, chances), abs=1e-12)
    for bucket in np.flatnonzero(found.belief).tolist():
        looks = rows_of(exposed, bucket)
        assert found.look[bucket] in looks
        # What is named is believed that much.
        n = int(exposed.n_carrying(task.aims[found.aim[bucket]])[bucket])
        named = [
            weigh_worlds(own[one.class_of_look[looks], found.aim[bucket]].tolist(), n)[0]
            for one, own in zip(task.sets, chances, strict=True)
        ]
        place = looks.tolist().index(found.look[bucket])
        assert max(belief[place] for belief in named) == pytest.approx(found.belief[bucket])


@given(releases(), st.integers(0, 3))
def test_looking_ahead_takes_the_steps_of_the_paper(release, n_steps):
    exposed, rows, least = release
    task = task_of(exposed, rows, least)
    forecast = Forecast.of_table(task.sets, exposed.looks.counts, task.carriers)
    found = forecast.climbed(inside_of(exposed, task.aims), n_steps).chances
    expected = plain_steps(task, exposed, plain_chances(task, exposed), n_steps)
    for own, other in zip(found, expected, strict=True):
        assert own == pytest.approx(other, abs=1e-9)


@given(releases())
def test_one_row_stands_for_all_of_its_profile(release):
    exposed, rows, least = release
    task = task_of(exposed, rows, least)
    alike, sets, carriers = by_profile(exposed, task.sets, task.carriers)
    assert carriers.sum(axis=1).tolist() == task.carriers.sum(axis=1).tolist()
    for aim in task.aims:
        whole, _ = expose(Target.of(exposed, aim), task.sets)
        found, _ = expose(Target.of(alike, aim), sets)
        for bucket in range(exposed.buckets.n_buckets):
            most = [one.p[one.target.exposed.bucket == bucket].max() for one in (whole, found)]
            assert most[0] == pytest.approx(most[1], abs=1e-9)


@given(releases(), st.data())
def test_merged_buckets_are_forecast_as_if_nothing_was_known_of_them(release, data):
    exposed, rows, least = release
    rounds = _Rounds.of(task_of(exposed, rows, least), Fraction(1))
    n_buckets = exposed.buckets.n_buckets
    fails = data.draw(st.lists(st.booleans(), min_size=n_buckets, max_size=n_buckets))
    judged = replace(rounds._judge(rounds.believed), fails=np.array(fails))
    try:
        if any(fails):
            rounds.merge(judged)
    except InfeasibleError:
        return
    anew = rounds.forecast.believed(rounds.inside)
    for own, other in zip(vars(rounds.believed).values(), vars(anew).values(), strict=True):
        assert own.tolist() == other.tolist()
    whole = merged_release(rounds.begun, rounds.target)
    assert rounds.inside.carrying.tolist() == [
        whole.n_carrying(aim).tolist() for aim in rounds.attacker.aims
    ]


@given(releases(), st.sampled_from([1, Fraction(5, 4), 2, 3]))
def test_nobody_is_found_in_what_is_merged_and_what_is_named_can_be_reached(release, r):
    exposed, rows, least = release
    task = task_of(exposed, rows, least)
    try:
        merged = merge_for_every_value(task, Fraction(r))
    except InfeasibleError as error:
        reached = Fraction(error.best["r"])
        assert 1 <= reached < max(Fraction(r), Fraction(101, 100))
        if reached > 1:
            assert merge_for_every_value(task, reached).worst <= 1 / reached + MARGIN
        return
    for aim in task.aims:
        found, _ = expose(Target.of(merged.exposed, aim), task.sets)
        assert found.p.max() <= 1 / r + MARGIN
        assert found.p.max() <= merged.worst + MARGIN


def hard_task():
    """Return a task whose buckets withstand the forecast and not at once the attack."""
    random = np.random.default_rng(3)
    rows = random.integers(0, 3, (300, 4))
    rows[:, 3] = random.integers(0, 4, 300)
    bucket = np.arange(300) // 10
    exposed = Exposed.of_rows(COLUMNS, rows[:, :-1], bucket, rows[:, -1], DISEASE)
    return task_of(exposed, rows, 50)


def test_a_search_that_takes_too_long_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(module, "_MOST_WORK", 0)
    monkeypatch.setattr(module, "_MOST_PER_ROW", 0)
    with pytest.raises(InfeasibleError) as caught:
        merge_for_every_value(hard_task(), Fraction(5, 4))
    assert "was stopped because it takes too long" in caught.value.fact
    assert caught.value.hint.startswith("no smaller r that is of use was reached; protect only")
    assert caught.value.best == {"r": "1"}


def test_attacks_spend_work():
    rounds = _Rounds.of(hard_task(), Fraction(5, 4))
    rounds.merge_by_forecast()
    work = Work()
    rounds.attack(work)
    assert work.spent > 0
    with pytest.raises(TooMuchWork):
        rounds.attack(Work(10))
