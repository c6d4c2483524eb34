"""Learning: the predictions of a model about suppressed cells, from visible cells and blanks.

Even if no confident rule is left, many weak hints together may reveal a cell: a model adds them up.
An adversary who knows how the publisher works learns more. She plays publisher herself, on rows
that she sees completely: she draws cells to be private, publishes, and observes how the blanked
cells depend on the private ones. If cells are blanked because of hidden values, the pattern of
blanks betrays these. A second adversary, who is blind to patterns, shows how much they add.

References
----------
[Aggarwal06] (see `shoal.hiding`) sections 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from shoal.core.arrays import Codes, Flags, Small
from shoal.core.attack import Experiment
from shoal.core.budget import most_within
from shoal.core.declared import changed, declared
from shoal.core.errors import ParameterError, suggestion
from shoal.core.findings import Guesses, Risk
from shoal.core.manifest import Manifest
from shoal.core.parameters import OptionalExact, OptionalTexts, exact_number, texts, whole_number
from shoal.core.progress import TooMuchWork, Work, following
from shoal.core.table import HIDDEN, Rows
from shoal.core.threads import each_of
from shoal.hiding.attack_rules import CellAttack, assumed_protection
from shoal.hiding.boosted_trees import (
    FEWEST_CELLS,
    MOST_CELLS,
    MOST_CLASSES,
    SEED,
    BoostedTrees,
    Lesson,
)

_MOST_TARGETS = 3
"""The most columns that are attacked if no target is named."""

_FEWEST_COMPLETE = 500
_MOST_SIMULATED = 150_000
"""The rows that she publishes, over all draws, unless that would be too few draws."""
_FEWEST_DRAWS, _MOST_DRAWS = 3, 20
# Units (`shoal.core.budget`), measured with random tables of 2 to 40 values and 5 to 20 columns,
# which take a third to all of it: a model, each cell that it is learned from, and each guess.
_MODEL, _PER_CELL, _PER_GUESS = 4_000_000, 2000, 500
_STEPS_PER_UNIT = 4
"""Steps of the publisher's search (`shoal.hiding.row_sets`) in a unit, hiding included."""
_FEWEST_LEARNED = 1000
"""A model is learned from at least so many cells, whatever they cost."""
_LEAST_SHARE = 0.1
"""The least private share of the target. Much more would mislead her: few rules are right about
many cells by chance, and the rules that are right about a few cells are those that betray them.
"""


@declared
class Learned(CellAttack):
    """Fill in suppressed cells of a column by what a model predicts.

    Notes
    -----
    There are up to three adversaries:

    - `naive` learns from the rows that show the target, by their other cells; a suppressed one is
      missing.
    - `aware` can experiment. She takes the complete rows of the release as a table of her own,
      draws private cells as often as they are known to be in each column (in the target at least
      one in ten), and publishes it as the publisher does, several times. She learns from the
      private cells of the target: from the other cells, which of them are blank, and how many.
    - `blind` learns from the same cells, but each with the blanks of another one, drawn at random:
      its row shows what it would have shown with those. The difference to `aware` is what patterns
      reveal.

    The last two treat every suppressed cell as if it were private, since private cells are their
    target; about cells blanked to protect others they may be wrong more often. If fewer than 500
    rows are complete, all rows that show the target are used: for the experiment, their suppressed
    cells are drawn from the columns, but nothing is learned from these.

    The model is gradient boosting of trees. It learns the 32 most frequent values of the target and
    never guesses another, and distinguishes the 254 most frequent values of a categorical column;
    others count as one. The belief is the probability that the model assigns to the value. With
    fewer than 40 cells to learn from, fewer than two for each value, or one value only, the most
    frequent value is the guess, with its share as the belief; if there is none, nothing is guessed.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.shapes import Shape
    >>> sex, smokes = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("smokes", ["no", "yes"])
    >>> codes = np.repeat(np.array([[0, 0], [1, 1]], dtype=np.int32), 100, axis=0)
    >>> codes[:3, 1] = HIDDEN
    >>> manifest = Manifest(
    ...     shape=Shape.SUPPRESSED, method="rule_hiding", parameters={}, columns=(), guarantees=(),
    ...     n_rows=200, n_buckets=1,
    ... )
    >>> guesses = Learned().guess(Rows((sex, smokes), codes), manifest)["naive"]
    >>> guesses.row.tolist(), guesses.value.tolist(), guesses.reasons
    ([0, 1, 2], [0, 0, 0], ('learned from 197 cells, most by sex',))
    """

    target: OptionalTexts = texts(
        "The column that is attacked, or several. Default: the column with the most suppressed "
        "cells.",
        default=None,
    )
    delta: OptionalExact = exact_number(
        "The minimum belief with which the adversary counts as knowing a cell. Default: the delta "
        "of the release's protection against rules, or 0.8.",
        default=None,
        above=0,
        at_most=1,
        hint="for example 0.8.",
    )
    max_rows: int = whole_number(
        "The most cells that a model is learned from; if there are more, this many are drawn.",
        default=20_000,
        least=1,
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the release and, where the publisher can be simulated, how it was made and how often "
        "cells of each column are private"
    )

    def aimed_at(self, columns: Sequence[str]) -> Learned:
        """Attack the up to three columns with most private cells, if no target is named."""
        if self.target is not None:
            return self
        return changed(self, target=tuple(columns[:_MOST_TARGETS]))

    def threshold(self, manifest: Manifest) -> Fraction:
        """Return the minimum belief with which the adversary counts as knowing a cell."""
        return assumed_protection(manifest).delta if self.delta is None else self.delta

    def guess_within(
        self,
        units: int,
        rows: Rows,
        manifest: Manifest,  # noqa: ARG002 - she has no use for it
        experiment: Experiment | None = None,
    ) -> tuple[Mapping[str, Guesses], str]:
        """Fill in the suppressed cells of the target.

        Returns the guesses of `naive`; with an experiment also those of `blind` and `aware`. If
        that is too much work, models are learned from fewer cells, and less is published in the
        experiment; both are said.

        Raises
        ------
        ParameterError
            If the release has no such column.
        """
        names = ("naive",) if experiment is None else ("naive", "blind", "aware")
        found: dict[str, list[Guesses]] = {name: [] for name in names}
        targets = self._places(rows)
        trials: dict[int, _Trial] = {}
        wanted, is_simulated = min(self.max_rows, MOST_CELLS), True
        # Half of the work is publishing, the other half is learning.
        n_most = _most_learned(units // 2, wanted, rows, targets, len(names))
        n_known = 0
        for half in following(("publish", "learn")):
            if half == "publish":
                if experiment is not None:
                    work = Work(units // 2 * _STEPS_PER_UNIT)
                    trials, is_simulated = _publish_repeatedly(
                        rows, targets, experiment, n_most, work
                    )
                continue
            lessons = [
                (target, name, lesson)
                for target in targets
                for name, lesson in _lessons(rows, target, trials.get(target)).items()
            ]
            n_known = max((len(lesson.value) for _, _, lesson in lessons), default=0)
            learned = each_of(lambda one: _fill_in(rows, one[0], one[2].sampled(n_most)), lessons)
            for (_, name, _), guesses in zip(lessons, learned, strict=True):
                found[name].append(guesses)
        said = []
        if n_most < min(wanted, n_known):
            said.append(f"models were learned from at most {n_most} cells")
        if not is_simulated:
            said.append("the publisher was not simulated as often as needed")
        return {name: Guesses.join(parts) for name, parts in found.items()}, " and ".join(said)

    def _places(self, rows: Rows) -> list[int]:
        """Return the places of the columns attacked."""
        if self.target is None:
            n_hidden = np.count_nonzero(rows.is_hidden, axis=0)
            return [int(n_hidden.argmax())] if n_hidden.any() else []
        lacking = [column for column in self.target if column not in rows.columns]
        if lacking:
            raise ParameterError(
                f"The release has no column {lacking[0]!r} to be attacked.",
                hint=suggestion(lacking[0], rows.columns, "its columns are"),
            )
        return [rows.columns.index(column) for column in self.target]


def _most_learned(
    units: int, wanted: int, rows: Rows, targets: Sequence[int], n_adversaries: int
) -> int:
    """Return the most cells that all models can be learned from within some work."""
    n_models = n_adversaries * len(targets)
    n_guessed = n_adversaries * int(np.count_nonzero(rows.is_hidden[:, list(targets)]))

    def cost(n_cells: int) -> int:
        return n_models * (_MODEL + _PER_CELL * n_cells) + _PER_GUESS * n_guessed

    return most_within(units, cost, wanted, least=min(_FEWEST_LEARNED, wanted))


# --- the cells that are learned from --------------------------------------------------------------


def _lessons(rows: Rows, target: int, trial: _Trial | None) -> dict[str, Lesson]:
    """Return what each adversary learns a target from, by name."""
    lessons = {"naive": _visible_lesson(rows, target)}
    if trial is not None:
        lessons |= {"blind": trial.permuted(), "aware": trial.lesson()}
    return lessons


def _visible_lesson(rows: Rows, target: int) -> Lesson:
    """Take the rows that show the target as they are."""
    shown = rows.codes[rows.codes[:, target] != HIDDEN]
    return Lesson(shown, None, shown[:, target].astype(np.int64))


@dataclass(frozen=True, eq=False)
class _Trial:
    """Private cells of the target in tables of the adversary's own, and the blanks around them.

    For each cell, `codes` has the true values of its row, `HIDDEN` if she does not know them, and
    `blank` marks the cells of its row that are suppressed after publishing.
    """

    codes: Small
    value: Codes
    blank: Flags

    @classmethod
    def join(cls, parts: Sequence[_Trial]) -> _Trial:
        """Return the cells of several tables."""
        return cls(
            np.concatenate([part.codes for part in parts]),
            np.concatenate([part.value for part in parts]),
            np.concatenate([part.blank for part in parts]),
        )

    def lesson(self) -> Lesson:
        """Return each row as it was published."""
        shown = np.where(self.blank, HIDDEN, self.codes)
        return Lesson(shown, self.blank, self.value)

    def permuted(self) -> Lesson:
        """Return each row with the blanks of another row in place of its own."""
        order = np.random.default_rng(SEED).permutation(len(self.value))
        return _Trial(self.codes, self.value, self.blank[order]).lesson()


def _publish_repeatedly(
    rows: Rows, targets: Sequence[int], experiment: Experiment, n_enough: int, work: Work
) -> tuple[dict[int, _Trial], bool]:
    """Draw private cells in tables of her own and publish them, until there are enough of them.

    The targets share a table, and what is published of it, if enough rows are complete. Also return
    whether there was enough work for that.
    """
    n_complete = int(np.count_nonzero(~rows.is_hidden.any(axis=1)))
    sets = [targets] if n_complete >= _FEWEST_COMPLETE else [[target] for target in targets]
    found: dict[int, _Trial] = {}
    is_whole = True
    for together in following([one for one in sets if one]):
        trials, is_done = _publish_own_table(rows, together, experiment, n_enough, work)
        found |= trials
        is_whole &= is_done
    return found, is_whole


def _publish_own_table(
    rows: Rows, targets: Sequence[int], experiment: Experiment, n_enough: int, work: Work
) -> tuple[dict[int, _Trial], bool]:
    """Publish one table of her own, each time with other cells of the targets private.

    A cell is private a second time only after all others of its column were, so that she learns
    from as many different rows as she can. She stops early if there is no work left.
    """
    generator = np.random.default_rng(SEED)
    codes, is_unknown = _own_table(rows, targets[0], generator)
    known = np.where(is_unknown, HIDDEN, codes)
    n_rows, n_columns = codes.shape
    turns = {target: _Turns(_n_private(experiment, target, n_rows), n_rows) for target in targets}
    value = codes.astype(np.int64)
    found = {target: [_Trial(codes[:0], value[:0, target], is_unknown[:0])] for target in targets}
    n_draws = min(max(_MOST_SIMULATED // max(n_rows, 1), _FEWEST_DRAWS), _MOST_DRAWS)
    n_cells = dict.fromkeys(targets, 0)
    draws: list[Flags] = []
    while n_rows and len(draws) < n_draws and min(n_cells.values()) < n_enough:
        marks = generator.random((n_rows, n_columns)) < experiment.shares
        for target, turn in turns.items():
            # A fixed number, so that there are some in the smallest table.
            marks[:, target] = turn.marks(generator)
            n_cells[target] += int(marks[:, target].sum())
        draws.append(marks)
    left, is_whole = work.left, True

    def publish(marks: Flags) -> tuple[Flags, int] | None:
        """Return the suppressed cells and the steps that it took; None if these are too many."""
        own = Work(left)
        try:
            shown = experiment.publish(codes.copy(), marks.copy(), own)
        except TooMuchWork:
            return None
        return shown == HIDDEN, left - own.left

    for marks, published in zip(draws, each_of(publish, draws), strict=True):
        # The steps of all draws count in their order, whichever thread took them.
        if published is None or published[1] > work.left:
            is_whole = False
            break
        is_blank, n_steps = published
        work.spend(n_steps)
        for target in targets:
            taken = marks[:, target]
            found[target].append(_Trial(known[taken], value[taken, target], is_blank[taken]))
    return {target: _Trial.join(parts) for target, parts in found.items()}, is_whole


def _n_private(experiment: Experiment, target: int, n_rows: int) -> int:
    return math.ceil(max(float(experiment.shares[target]), _LEAST_SHARE) * n_rows)


@dataclass
class _Turns:
    """Which rows of a column are private at each turn: others each time, until all were."""

    n_private: int
    n_rows: int

    def __post_init__(self) -> None:
        self._left = np.empty(0, dtype=np.int64)

    def marks(self, generator: np.random.Generator) -> Flags:
        """Mark the rows that are private at the next turn."""
        marks = np.zeros(self.n_rows, dtype=bool)
        marks[self._left[: self.n_private]] = True
        n_lacking = self.n_private - len(self._left)
        self._left = self._left[self.n_private :]
        if n_lacking > 0:
            again = generator.permutation(self.n_rows)
            chosen = again[~marks[again]][:n_lacking]
            marks[chosen] = True
            self._left = again[~np.isin(again, chosen)]
        return marks


def _own_table(rows: Rows, target: int, generator: np.random.Generator) -> tuple[Small, Flags]:
    """Return rows without suppressed cells, and mark the cells that are drawn, not known."""
    is_hidden = rows.is_hidden
    taken = np.flatnonzero(~is_hidden.any(axis=1))
    if len(taken) < _FEWEST_COMPLETE:
        taken = np.flatnonzero(~is_hidden[:, target])
    if len(taken) > _MOST_SIMULATED:
        taken = np.sort(generator.choice(taken, _MOST_SIMULATED, replace=False))
    codes, is_unknown = rows.codes[taken], is_hidden[taken]
    for column in np.flatnonzero(is_unknown.any(axis=0)).tolist():
        visible = rows.codes[~is_hidden[:, column], column]
        n_drawn = int(is_unknown[:, column].sum())
        # Nobody knows a value of a column that is suppressed throughout: any will do.
        drawn = generator.choice(visible, n_drawn) if len(visible) else np.zeros(n_drawn)
        codes[is_unknown[:, column], column] = drawn
    return codes, is_unknown


# --- the cells that are guessed -------------------------------------------------------------------


def _fill_in(rows: Rows, target: int, lesson: Lesson) -> Guesses:
    """Learn, and guess the suppressed cells of the target."""
    row = np.flatnonzero(rows.codes[:, target] == HIDDEN)
    n_cells = len(lesson.value)
    if not len(row) or not n_cells:
        return Guesses.join([])
    values, counts = np.unique(lesson.value, return_counts=True)
    n_needed = max(FEWEST_CELLS, 2 * min(len(values), MOST_CLASSES + 1))
    if len(values) == 1 or n_cells < n_needed:
        value = np.full(len(row), values[counts.argmax()])
        belief = np.full(len(row), counts.max() / n_cells)
        reason = f"the value of {counts.max()} of {n_cells} cells"
    else:
        trees = BoostedTrees(rows.domains, target, lesson)
        shown = rows.codes[row]
        value, belief = trees.predict(shown, None if lesson.blank is None else shown == HIDDEN)
        reason = trees.reason()
    same = np.zeros(len(row), dtype=np.int64)
    return Guesses(row, same + target, value, belief, same, (reason,))
