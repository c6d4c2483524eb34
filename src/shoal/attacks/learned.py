"""Learning: what a model says about suppressed cells, from visible cells and from the blanks.

Rules of some confidence may all be gone, and still many weak hints together give a cell away: a
model adds them up. An adversary who knows how the publisher works learns more. She plays publisher
herself, on rows of which she sees everything: she draws cells to be private, publishes, and looks
how what is blanked goes with what was private. Where cells are blanked because of hidden values,
the pattern of blanks betrays these. Her twin, who is blind to patterns, shows what they add.

References
----------
[Aggarwal06] C. C. Aggarwal, J. Pei, B. Zhang: On Privacy Preservation against Adversarial Data
Mining. KDD 2006; Sections 2 and 5.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from importlib.util import find_spec
from typing import ClassVar

import numpy as np

from shoal.attacks._boosted_trees import (
    FEWEST_CELLS,
    MOST_CLASSES,
    BoostedTrees,
    Flags,
    Lesson,
)
from shoal.core.attack import Risk
from shoal.core.cell_attack import CellAttack, Experiment, Guesses, protection_of
from shoal.core.cells import Codes
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, whole
from shoal.core.release import Manifest
from shoal.core.rows import HIDDEN, RowCodes, Rows
from shoal.core.rule_thresholds import read_delta

__all__ = ["Learned"]

_DELTA = Fraction(4, 5)
_SEED = 0
_MOST_TARGETS = 3
"""Her draws are her own: nothing depends on a secret."""

_FEWEST_COMPLETE = 500
_MOST_SIMULATED = 150_000
"""How many rows she publishes, over all draws, unless that would be too few draws."""
_FEWEST_DRAWS, _MOST_DRAWS = 3, 20
_LEAST_SHARE = 0.1
"""How much of the target is private at least. Much more would teach her wrong: few rules are right
about many cells by chance, and those that are right about a few are what betrays these.
"""


@dataclass(frozen=True, kw_only=True, init=False)
class Learned(CellAttack):
    """Fill in suppressed cells of a column by what a model predicts.

    Parameters
    ----------
    target
        The column that is attacked, or several; without one, the column with the most suppressed
        cells.
    delta
        The belief from which on she counts as knowing a cell, above 0 and at most 1. Without one,
        that of the release's protection against rules; where it promises none, 0.8.
    max_rows
        The most cells that a model is learned from; of more, so many are drawn.

    Notes
    -----
    There are up to three adversaries:

    - `naive` learns from the rows that show the target, by their other cells; a suppressed one is
      missing.
    - `aware` can experiment. She takes the complete rows of the release as a table of her own,
      draws private cells as often as they are known to be in each column (in the target at least
      one in ten), and publishes it as the publisher does, several times. She learns from the
      private cells of the target: by the other cells, which of them are blank, and how many.
    - `blind` learns from the same cells, but each with the blanks of another one, drawn at random:
      its row shows what it had shown under those. What `aware` knows better, patterns told her.

    The last two guess at every suppressed cell as if somebody had wanted it hidden, which is what
    they are after; about cells hidden for the sake of others they may be wrong more often. Where
    fewer than 500 rows are complete, all rows that show the target serve: for the experiment, cells
    that they do not show are drawn from their columns, but nothing is learned from these.

    The model is gradient boosting of trees. It learns the 32 most frequent values of the target
    and never guesses another, and takes the 254 most frequent values of a categorical column one by
    one, others together. Belief is the probability that it gives to the value. Where there are
    fewer than 40 cells to learn from, fewer than two for each value, or one value only, the most
    frequent value is the guess, with its share as belief; where there is none, nothing is guessed.

    It needs the extra `learn`, scikit-learn. On 45,000 rows of ten columns all three take some five
    to ten seconds, and what publishing four times takes.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
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

    target: tuple[str, ...] | None = None
    delta: Fraction | None = None
    max_rows: int = 20_000

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the release and, where the publisher can be simulated, how it was made and how often "
        "cells of each column are private"
    )

    def __init__(
        self,
        *,
        target: str | Sequence[str] | None = None,
        delta: Number | None = None,
        max_rows: int = 20_000,
    ) -> None:
        values = {
            "target": None if target is None else _read_target(target),
            "delta": None if delta is None else read_delta(delta),
            "max_rows": whole("max_rows", max_rows, least=1),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @classmethod
    def is_installed(cls) -> bool:
        """Whether scikit-learn is there, which the model comes from."""
        return find_spec("sklearn") is not None

    def aimed_at(self, columns: Sequence[str]) -> Learned:
        """Attack the columns with most private cells, up to three, where no target is named."""
        if self.target is not None:
            return self
        return replace(self, target=tuple(columns[:_MOST_TARGETS]))

    def threshold(self, manifest: Manifest) -> Fraction:
        """Give the belief from which on she counts as knowing a cell."""
        if self.delta is not None:
            return self.delta
        protection = protection_of(manifest)
        return _DELTA if protection is None else protection.delta

    def guess(
        self,
        rows: Rows,
        manifest: Manifest,  # noqa: ARG002 - she has no use for it
        experiment: Experiment | None = None,
    ) -> Mapping[str, Guesses]:
        """Fill in the suppressed cells of the target.

        Returns
        -------
        The guesses of `naive`; with an experiment also those of `blind` and `aware`.

        Raises
        ------
        ParameterError
            Where scikit-learn is not installed, or the release has no such column.
        """
        if not self.is_installed():
            raise ParameterError(
                "The learning adversary needs the extra 'learn'.",
                hint="pip install 'shoal-privacy[learn]'",
            )
        names = ("naive",) if experiment is None else ("naive", "blind", "aware")
        found: dict[str, list[Guesses]] = {name: [] for name in names}
        for target in self._places(rows):
            lessons = {"naive": _visible_lesson(rows, target)}
            if experiment is not None:
                trial = _publish_repeatedly(rows, target, experiment, self.max_rows)
                lessons |= {"blind": trial.permuted(), "aware": trial.lesson()}
            for name, lesson in lessons.items():
                found[name].append(_fill_in(rows, target, lesson.sampled(self.max_rows)))
        return {name: Guesses.join(parts) for name, parts in found.items()}

    def _places(self, rows: Rows) -> list[int]:
        """Give the places of the columns attacked."""
        if self.target is None:
            n_hidden = np.count_nonzero(rows.is_hidden, axis=0)
            return [int(n_hidden.argmax())] if n_hidden.any() else []
        lacking = [column for column in self.target if column not in rows.columns]
        if lacking:
            raise ParameterError(
                f"The release has no column {lacking[0]!r} to be attacked.",
                hint=f"its columns are {', '.join(rows.columns)}.",
            )
        return [rows.columns.index(column) for column in self.target]


def _read_target(target: str | Sequence[str]) -> tuple[str, ...]:
    columns = (target,) if isinstance(target, str) else tuple(target)
    if not columns or not all(isinstance(column, str) for column in columns):
        raise ParameterError(
            "target must be the name of a column, or several names.",
            hint="leave it out for the column with the most suppressed cells.",
        )
    return tuple(dict.fromkeys(columns))


# --- what is learned from ------------------------------------------------------------------------


def _visible_lesson(rows: Rows, target: int) -> Lesson:
    """Take the rows that show the target as they are."""
    shown = rows.codes[rows.codes[:, target] != HIDDEN]
    return Lesson(shown, None, shown[:, target].astype(np.int64))


@dataclass(frozen=True, eq=False)
class _Trial:
    """Private cells of the target in tables of her own, and what was blanked around them.

    Parameters
    ----------
    codes
        For each the true values of its row, `HIDDEN` where she does not know them.
    value
        The code of its value.
    blank
        Which cells of its row are suppressed after publishing.
    """

    codes: RowCodes
    value: Codes
    blank: Flags

    def lesson(self) -> Lesson:
        """Show each row as it was published."""
        shown = np.where(self.blank, HIDDEN, self.codes)
        return Lesson(shown, self.blank, self.value)

    def permuted(self) -> Lesson:
        """Show each row as if the blanks of another one were its own."""
        order = np.random.default_rng(_SEED).permutation(len(self.value))
        return _Trial(self.codes, self.value, self.blank[order]).lesson()


def _publish_repeatedly(rows: Rows, target: int, experiment: Experiment, n_enough: int) -> _Trial:
    """Draw private cells in a table of her own and publish it, until there are enough of them."""
    generator = np.random.default_rng(_SEED)
    codes, is_unknown = _own_table(rows, target, generator)
    n_rows, n_columns = codes.shape
    trials = [(codes[:0], codes[:0, target], is_unknown[:0])]
    n_draws = min(max(_MOST_SIMULATED // max(n_rows, 1), _FEWEST_DRAWS), _MOST_DRAWS)
    n_private = math.ceil(max(float(experiment.shares[target]), _LEAST_SHARE) * n_rows)
    for _ in range(n_draws if n_rows else 0):
        marks = generator.random((n_rows, n_columns)) < experiment.shares
        # A set number, so that there are some in the smallest table.
        marks[:, target] = generator.permutation(n_rows) < n_private
        is_blank = experiment.publish(codes.copy(), marks.copy()) == HIDDEN
        taken = marks[:, target]
        known = np.where(is_unknown, HIDDEN, codes)[taken]
        trials.append((known, codes[taken, target], is_blank[taken]))
        if sum(len(trial[1]) for trial in trials) >= n_enough:
            break
    known, value, blank = (np.concatenate(parts) for parts in zip(*trials, strict=True))
    return _Trial(known, value.astype(np.int64), blank)


def _own_table(rows: Rows, target: int, generator: np.random.Generator) -> tuple[RowCodes, Flags]:
    """Give rows without suppressed cells, and which of their cells are drawn, not known."""
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
        # Of a column that is suppressed throughout, nobody knows a value: any will do.
        drawn = generator.choice(visible, n_drawn) if len(visible) else np.zeros(n_drawn)
        codes[is_unknown[:, column], column] = drawn
    return codes, is_unknown


# --- what is guessed -----------------------------------------------------------------------------


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
