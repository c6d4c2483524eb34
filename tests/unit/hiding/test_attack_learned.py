from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from shoal.attacks import Learned
from shoal.core.adversary_guarantees import RuleProtection
from shoal.core.attack import Experiment, View
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.manifest import Manifest
from shoal.core.progress import TooMuchWork, Work
from shoal.core.release import People, Published
from shoal.core.shapes import Shape
from shoal.core.table import HIDDEN, Rows
from shoal.hiding import attack_learned as learned

MANIFEST = Manifest(
    shape=Shape.SUPPRESSED,
    method="test",
    parameters={},
    guarantees=(),
    columns=(),
    n_rows=1,
    n_buckets=1,
)
N_ROWS = 3000


def rows_of(codes, marks=None, **types):
    """Make rows of columns a, b, c and so on; what is marked is suppressed."""
    shown = codes if marks is None else np.where(marks, HIDDEN, codes)
    domains = tuple(
        Domain.of_texts(
            name,
            [f"{name}{code}" for code in range(int(column.max(initial=-1)) + 1)],
            type=types.get(name, ColumnType.CATEGORICAL),
        )
        for name, column in zip("abcdefgh", codes.T, strict=False)
    )
    return Rows(domains, shown.astype(np.int32))


def draw(*n_values, n_rows=N_ROWS, seed=1):
    """Draw independent columns of so many values, the first ones more often."""
    generator = np.random.default_rng(seed)
    return np.column_stack(
        [np.minimum(generator.geometric(0.5, n_rows), n) - 1 for n in n_values]
    ).astype(np.int32)


def mark(codes, column, share=0.1, seed=2):
    marks = np.zeros(codes.shape, dtype=bool)
    marks[:, column] = np.random.default_rng(seed).random(len(codes)) < share
    return marks


def share_right(guesses, codes):
    return float((codes[guesses.row, guesses.column] == guesses.value).mean())


def betraying(codes, marks, _=None):
    """Blank b where a is private and is not its first value: what is hidden chooses."""
    released = np.where(marks, HIDDEN, codes)
    released[marks[:, 0] & (codes[:, 0] > 0), 1] = HIDDEN
    return released.astype(np.int32)


def oblivious(codes, marks, _=None):
    """Blank b wherever a is private."""
    released = np.where(marks, HIDDEN, codes)
    released[marks[:, 0], 1] = HIDDEN
    return released.astype(np.int32)


# --- what is learned -----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ColumnType.CATEGORICAL, ColumnType.ORDERED, ColumnType.INTEGER])
def test_who_only_reads_learns_by_the_other_columns(kind):
    codes = draw(4, 4, 4)
    codes[:, 0] = (codes[:, 1] + codes[:, 2]) % 4
    rows = rows_of(codes, mark(codes, 0), b=kind, c=kind)
    found = Learned().guess(rows, MANIFEST)
    assert list(found) == ["naive"]
    assert len(found["naive"]) == np.count_nonzero(rows.codes[:, 0] == HIDDEN)
    assert share_right(found["naive"], codes) > 0.99
    assert found["naive"].belief.min() > 0.8
    (reason,) = found["naive"].reasons
    assert reason.endswith(("most by b, c", "most by c, b"))


def test_of_independent_columns_there_is_little_to_learn():
    codes = draw(3, 3, 3)
    found = Learned().guess(rows_of(codes, mark(codes, 0)), MANIFEST)["naive"]
    assert set(found.value.tolist()) == {0}
    assert abs(found.belief.mean() - np.mean(codes[:, 0] == 0)) < 0.05
    assert found.belief.max() < 0.7


def test_who_can_experiment_reads_the_pattern_of_blanks():
    codes = draw(3, 3, 3)
    marks = mark(codes, 0)
    rows = Rows(rows_of(codes).domains, betraying(codes, marks))
    experiment = Experiment(betraying, marks.mean(axis=0))
    found = Learned(target="a").guess(rows, MANIFEST, experiment)
    assert list(found) == ["naive", "blind", "aware"]
    # Half have the first value; of the others two in three have the second.
    ideal = np.isin(codes[marks[:, 0], 0], (0, 1)).mean()
    assert share_right(found["aware"], codes) > ideal - 0.03
    assert share_right(found["blind"], codes) < 0.6
    assert share_right(found["naive"], codes) < 0.6
    is_first = found["aware"].value == 0
    assert found["aware"].belief[is_first].min() > 0.9
    assert found["blind"].belief.max() < 0.7
    assert found["aware"].reasons[0].split("most by ")[1].split(", ")[0] in (
        "the number of blanks",
        "b",
    )


def test_a_pattern_that_is_always_the_same_tells_nothing():
    codes = draw(3, 3, 3)
    marks = mark(codes, 0)
    rows = Rows(rows_of(codes).domains, oblivious(codes, marks))
    found = Learned(target="a").guess(rows, MANIFEST, Experiment(oblivious, marks.mean(axis=0)))
    assert set(found["aware"].value.tolist()) == set(found["blind"].value.tolist()) == {0}
    assert found["aware"].belief.max() < 0.7


def test_blind_rows_have_the_blanks_of_others_and_show_what_is_true_under_them():
    codes = draw(3, 3, 3, n_rows=200)
    blank = np.random.default_rng(4).random(codes.shape) < 0.3
    trial = learned._Trial(codes, codes[:, 0].astype(np.int64), blank)
    lesson = trial.permuted()
    assert sorted(map(tuple, lesson.blank.tolist())) == sorted(map(tuple, blank.tolist()))
    assert (lesson.blank != blank).any(axis=1).sum() > 50
    assert np.array_equal(lesson.shown, np.where(lesson.blank, HIDDEN, codes))
    assert np.array_equal(lesson.value, codes[:, 0])
    assert np.array_equal(trial.lesson().shown, np.where(blank, HIDDEN, codes))


# --- experiments ---------------------------------------------------------------------------------


class Watched:
    """A publisher who remembers what was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, codes, marks, _):
        assert codes.dtype == np.int32
        assert marks.dtype == bool
        self.asked.append((codes.copy(), marks.copy()))
        released = np.where(marks, HIDDEN, codes).astype(np.int32)
        codes[:] = 0
        marks[:] = False
        return released


def test_complete_rows_are_published_again_with_cells_private_as_often_as_known():
    codes = draw(3, 3, 3)
    marks = mark(codes, 0) | mark(codes, 2, 0.3, seed=5)
    publisher = Watched()
    Learned(target="a").guess(
        rows_of(codes, marks), MANIFEST, Experiment(publisher, np.array([0.2, 0.0, 0.3]))
    )
    complete = codes[~marks.any(axis=1)]
    assert 3 <= len(publisher.asked) <= 20
    for asked, private in publisher.asked:
        assert np.array_equal(asked, complete)
        assert private[:, 0].sum() == -(-len(complete) // 5)
        assert not private[:, 1].any()
        assert abs(private[:, 2].mean() - 0.3) < 0.05
    first, second = publisher.asked[0][1], publisher.asked[1][1]
    assert (first != second).any()


def test_enough_cells_of_the_target_are_private_where_few_are():
    codes = draw(3, 3)
    publisher = Watched()
    shares = np.array([0.001, 0.0])
    Learned().guess(rows_of(codes, mark(codes, 0, 0.01)), MANIFEST, Experiment(publisher, shares))
    for asked, private in publisher.asked:
        assert private[:, 0].sum() == -(-len(asked) // 10)


def test_publishing_ends_when_there_are_enough_cells():
    codes = draw(3, 3)
    publisher = Watched()
    experiment = Experiment(publisher, np.array([0.5, 0.0]))
    found = Learned(max_rows=2000).guess(rows_of(codes, mark(codes, 0)), MANIFEST, experiment)
    assert len(publisher.asked) == 2
    assert found["aware"].reasons[0].startswith("learned from 2000 cells")
    assert found["blind"].reasons[0].startswith("learned from 2000 cells")
    assert found["naive"].reasons[0].startswith("learned from 2000 cells")


def test_publishing_ends_when_there_is_no_work_left():
    codes = draw(3, 3)
    rows, marks = rows_of(codes, mark(codes, 0)), mark(codes, 0)

    def publish(codes, marks, work):
        work.spend(1000)
        return oblivious(codes, marks, work)

    experiment = Experiment(publish, marks.mean(axis=0))
    trials, is_whole = learned._publish_repeatedly(rows, [0], experiment, 20_000, Work())
    assert is_whole
    for n_draws in (0, 1, 3):
        work = Work(1000 * n_draws + 1)
        some, is_whole = learned._publish_repeatedly(rows, [0], experiment, 20_000, work)
        assert not is_whole
        # The first draws are the same, whatever comes after them.
        n_cells = len(some[0].value)
        assert n_cells == n_draws * len(trials[0].value) // 20
        assert np.array_equal(some[0].blank, trials[0].blank[:n_cells])
    with pytest.raises(TooMuchWork):
        publish(codes, marks, Work(999))


def test_where_few_rows_are_complete_other_cells_are_drawn_and_not_learned_from():
    codes = draw(2, 2, 3, n_rows=1000)
    codes[:, 0] = codes[:, 1]
    marks = mark(codes, 0)
    marks[:, 1] = np.arange(1000) % 2 == 0
    marks[5:, 2] = True
    rows = rows_of(codes, marks)
    publisher = Watched()
    trial = learned._publish_repeatedly(
        rows, [0], Experiment(publisher, np.zeros(3)), 20_000, Work()
    )[0][0]
    asked, _ = publisher.asked[0]
    shows = ~marks[:, 0]
    assert len(asked) == shows.sum()
    known = ~marks[shows]
    assert np.array_equal(asked[known], codes[shows][known])
    # Drawn as often as they are visible.
    drawn = asked[:, 1][~known[:, 1]]
    assert abs(np.mean(drawn == 0) - np.mean(codes[~marks[:, 1], 1] == 0)) < 0.08
    assert 0.4 < np.mean(trial.codes[:, 1] == HIDDEN) < 0.6
    assert np.array_equal(
        trial.codes[trial.codes[:, 1] != HIDDEN, 1], trial.value[trial.codes[:, 1] != HIDDEN]
    )
    assert not trial.blank[:, 1:].any()


def test_large_tables_are_published_in_part(monkeypatch):
    monkeypatch.setattr(learned, "_MOST_SIMULATED", 700)
    codes = draw(3, 3)
    publisher = Watched()
    experiment = Experiment(publisher, np.zeros(2))
    learned._publish_repeatedly(rows_of(codes, mark(codes, 0)), [0], experiment, 20_000, Work())
    assert [len(asked) for asked, _ in publisher.asked] == [700] * 3


def test_targets_share_tables_in_which_cells_are_private_in_turn():
    codes = draw(3, 3, 3, n_rows=6_000)
    publisher = Watched()
    experiment = Experiment(publisher, np.array([0.0, 0.3, 0.02]))
    trials, _ = learned._publish_repeatedly(
        rows_of(codes, np.zeros(codes.shape, dtype=bool)), [0, 1], experiment, 20_000, Work()
    )
    private = np.array([marks for _, marks in publisher.asked])
    assert len(private) == 20
    # A target is private in at least a tenth of the rows each time.
    assert (private[:, :, 0].sum(axis=1) == 600).all()
    assert (private[:10, :, 0].sum(axis=0) == 1).all()
    assert (private[10:, :, 0].sum(axis=0) == 1).all()
    assert (private[:, :, 1].sum(axis=1) == 1_800).all()
    assert (private[:, :, 1].sum(axis=0) == 6).all()
    assert 0.01 < private[:, :, 2].mean() < 0.03
    assert [len(trials[target].value) for target in (0, 1)] == [12_000, 36_000]


# --- many values, few values ---------------------------------------------------------------------


def test_columns_of_many_categories_are_learned_from():
    generator = np.random.default_rng(3)
    codes = np.column_stack([np.zeros(6000, int), generator.integers(0, 700, 6000)])
    # The first ten are frequent, and decide.
    codes[:4000, 1] = generator.integers(0, 10, 4000)
    codes[:, 0] = codes[:, 1] % 2
    marks = mark(codes, 0)
    found = Learned().guess(rows_of(codes, marks), MANIFEST)["naive"]
    is_frequent = codes[found.row, 1] < 10
    right = codes[found.row, 0] == found.value
    assert right[is_frequent].mean() > 0.99


def test_rare_values_are_learned_as_one_and_never_guessed():
    generator = np.random.default_rng(3)
    codes = np.column_stack([generator.integers(0, 60, 6000), np.zeros(6000, int)])
    # The rest together is more frequent than any of the 32.
    codes[:1000, 0] = generator.integers(0, 32, 1000)
    rows = rows_of(codes, mark(codes, 0))
    visible = rows.codes[rows.codes[:, 0] != HIDDEN, 0]
    most = set(np.argsort(-np.bincount(visible), kind="stable")[:32].tolist())
    found = Learned().guess(rows, MANIFEST)["naive"]
    assert set(found.value.tolist()) <= most
    assert found.belief.max() < 0.1


@pytest.mark.parametrize(
    ("codes", "value"),
    [
        ([[HIDDEN, 0], [HIDDEN, 1]], None),
        ([[HIDDEN, HIDDEN], [HIDDEN, HIDDEN]], None),
        ([[0, HIDDEN], [HIDDEN, HIDDEN]], 0),
        ([[1, 0], [1, 1], [HIDDEN, 1]], 1),
        ([[HIDDEN, 0]], None),
    ],
)
def test_where_nothing_can_be_learned_the_only_value_is_guessed_or_none(codes, value):
    domains = rows_of(np.ones((1, 2), dtype=int)).domains
    rows = Rows(domains, np.array(codes, dtype=np.int32))
    experiment = Experiment(oblivious, np.full(2, 0.1))
    for guesses in Learned(target="a").guess(rows, MANIFEST, experiment).values():
        assert guesses.row.tolist() == ([] if value is None else [len(codes) - 1])
        assert guesses.value.tolist() == ([] if value is None else [value])
        assert guesses.belief.tolist() == ([] if value is None else [1.0])


@pytest.mark.parametrize(("n_cells", "has_trees"), [(39, False), (40, True)])
def test_from_few_cells_only_the_majority_is_learned(n_cells, has_trees):
    codes = np.repeat([[0, 0], [1, 1], [0, 0]], [n_cells // 2, n_cells - n_cells // 2, 1], axis=0)
    marks = np.zeros(codes.shape, dtype=bool)
    marks[-1, 0] = True
    found = Learned().guess(rows_of(codes, marks), MANIFEST)["naive"]
    # Its own half says 0; of 39 cells 20 say 1.
    assert found.value.tolist() == [0 if has_trees else 1]
    assert found.reasons == (
        ("learned from 40 cells, most by b",) if has_trees else ("the value of 20 of 39 cells",)
    )


@pytest.mark.parametrize("n_values", [3, 30, 31, 60])
def test_values_that_are_almost_all_different_are_not_learned(n_values):
    codes = np.column_stack([np.minimum(np.arange(59), n_values - 1), np.zeros(59, dtype=int)])
    marks = np.zeros(codes.shape, dtype=bool)
    marks[0, 0] = True
    # 58 cells are left, and all values but the first.
    found = Learned().guess(rows_of(codes, marks), MANIFEST)["naive"]
    assert found.reasons[0].startswith("learned from 58" if n_values <= 30 else "the value of")


@pytest.mark.parametrize("n_rows", [0, 4])
def test_where_nothing_is_suppressed_nothing_is_guessed(n_rows):
    rows = rows_of(np.zeros((n_rows, 2), dtype=int))
    for attack in (Learned(), Learned(target="b")):
        found = attack.guess(rows, MANIFEST, Experiment(oblivious, np.zeros(2)))
        assert [len(guesses) for guesses in found.values()] == [0, 0, 0]


def test_of_a_single_column_the_majority_is_learned():
    codes = draw(3, n_rows=400)
    rows = rows_of(codes, mark(codes, 0))
    found = Learned().guess(
        rows, MANIFEST, Experiment(lambda c, m, _: np.where(m, HIDDEN, c), np.zeros(1))
    )
    for guesses in found.values():
        assert set(guesses.value.tolist()) == {0}
        assert len(set(guesses.belief.tolist())) == 1
        assert guesses.reasons[0].endswith("which say little")


# --- parameters ----------------------------------------------------------------------------------


def test_the_column_with_the_most_suppressed_cells_is_attacked():
    codes = draw(3, 3, 3)
    marks = mark(codes, 0, 0.1) | mark(codes, 2, 0.2)
    rows = rows_of(codes, marks)
    assert set(Learned().guess(rows, MANIFEST)["naive"].column.tolist()) == {2}


def test_several_columns_are_attacked_in_turn():
    codes = draw(3, 3, 3)
    marks = mark(codes, 0, 0.1) | mark(codes, 2, 0.2)
    rows = rows_of(codes, marks)
    found = Learned(target=["c", "a", "c"]).guess(rows, MANIFEST)["naive"]
    assert found.column.tolist() == [2] * marks[:, 2].sum() + [0] * marks[:, 0].sum()
    assert [found.reason[0], found.reason[-1], len(found.reasons)] == [0, 1, 2]


def test_a_column_that_is_not_there_is_refused():
    with pytest.raises(ParameterError, match="no column 'x'"):
        Learned(target=["a", "x"]).guess(rows_of(draw(2, 2)), MANIFEST)


@pytest.mark.parametrize(
    "given",
    [
        {"target": []},
        {"target": [1]},
        {"delta": 0},
        {"delta": "1.1"},
        {"max_rows": 0},
    ],
)
def test_parameters_out_of_range_are_refused(given):
    with pytest.raises(ParameterError, match=next(iter(given))):
        Learned(**given)


def test_she_knows_a_cell_from_the_confidence_on_that_the_release_speaks_of():
    stated = replace(MANIFEST, guarantees=(RuleProtection(delta="0.6", gamma=2),))
    assert Learned().threshold(MANIFEST) == Fraction(4, 5)
    assert Learned().threshold(stated) == Fraction(3, 5)
    assert Learned(delta="0.9").threshold(stated) == Fraction(9, 10)


def test_findings_count_the_cells_that_she_is_sure_of():
    codes = draw(2, 2, n_rows=400)
    codes[:, 0] = codes[:, 1]
    rows = rows_of(codes, mark(codes, 0))
    n_hidden = np.count_nonzero(rows.is_hidden)
    bucket = Domain.of_texts("bucket", ["1"])
    lines = Cells((bucket,), np.zeros((1, 1), dtype=np.int64), np.array([400]))
    people = People(Cells((), np.zeros((1, 0), dtype=np.int64), np.array([400])))
    found = Learned().run(View(Published(MANIFEST, lines, None, rows=rows), people))
    assert found.headline == {"cells suppressed": n_hidden, "cells filled in": n_hidden}
    assert (found.attack, found.n_breached) == ("learned", n_hidden)
