"""Learning: the predictions of a model about suppressed cells, from visible cells and blanks.

Even if no confident rule is left, many weak hints together may reveal a cell: a model adds them up.
An adversary who knows how the publisher works learns more. She plays publisher herself, on rows
that she sees completely: she draws cells to be private, publishes, and observes how the blanked
cells depend on the private ones. If cells are blanked because of hidden values, the pattern of
blanks betrays these. A second adversary, who is blind to patterns, shows how much they add.

References
----------
[Aggarwal06] (see `shoal.hiding`) sections 2 and 5.

[Ke17] G. Ke et al.: LightGBM: a Highly Efficient Gradient Boosting Decision Tree. NIPS 2017; the
trees are scikit-learn's of that kind.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from importlib.util import find_spec
from typing import Any, ClassVar

import numpy as np

from shoal.core.arrays import Codes, Flags, Floats, Small
from shoal.core.attack import Experiment
from shoal.core.declared import changed, declared
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError, suggestion
from shoal.core.findings import Guesses, Risk
from shoal.core.manifest import Manifest
from shoal.core.parameters import OptionalExact, OptionalTexts, exact_number, texts, whole_number
from shoal.core.progress import following
from shoal.core.table import HIDDEN, Rows
from shoal.hiding.attack_rules import CellAttack, assumed_protection

_SEED = 0
"""The adversary's draws are her own: nothing depends on a secret."""
_MOST_TARGETS = 3
"""The most columns that are attacked if no target is named."""

_FEWEST_COMPLETE = 500
_MOST_SIMULATED = 150_000
"""The rows that she publishes, over all draws, unless that would be too few draws."""
_FEWEST_DRAWS, _MOST_DRAWS = 3, 20
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
    The attack needs the extra `learn`, scikit-learn. On 45,000 rows of ten columns all three
    adversaries take five to ten seconds, plus the time of publishing four times.

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

    @classmethod
    def is_installed(cls) -> bool:
        """Return whether scikit-learn, which provides the model, is installed."""
        return find_spec("sklearn") is not None

    def aimed_at(self, columns: Sequence[str]) -> Learned:
        """Attack the up to three columns with most private cells, if no target is named."""
        if self.target is not None:
            return self
        return changed(self, target=tuple(columns[:_MOST_TARGETS]))

    def threshold(self, manifest: Manifest) -> Fraction:
        """Return the minimum belief with which the adversary counts as knowing a cell."""
        return assumed_protection(manifest).delta if self.delta is None else self.delta

    def guess(
        self,
        rows: Rows,
        manifest: Manifest,  # noqa: ARG002 - she has no use for it
        experiment: Experiment | None = None,
    ) -> Mapping[str, Guesses]:
        """Fill in the suppressed cells of the target.

        Returns the guesses of `naive`; with an experiment also those of `blind` and `aware`.

        Raises
        ------
        ParameterError
            If scikit-learn is not installed, or the release has no such column.
        """
        if not self.is_installed():
            raise ParameterError(
                "The learning adversary needs the extra 'learn'.",
                hint="pip install 'shoal-privacy[learn]'",
            )
        names = ("naive",) if experiment is None else ("naive", "blind", "aware")
        found: dict[str, list[Guesses]] = {name: [] for name in names}
        for target in following(self._places(rows)):
            lessons = {"naive": _visible_lesson(rows, target)}
            if experiment is not None:
                trial = _publish_repeatedly(rows, target, experiment, self.max_rows)
                lessons |= {"blind": trial.permuted(), "aware": trial.lesson()}
            for name, lesson in lessons.items():
                found[name].append(_fill_in(rows, target, lesson.sampled(self.max_rows)))
        return {name: Guesses.join(parts) for name, parts in found.items()}

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


# --- the cells that are learned from --------------------------------------------------------------


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

    def lesson(self) -> Lesson:
        """Return each row as it was published."""
        shown = np.where(self.blank, HIDDEN, self.codes)
        return Lesson(shown, self.blank, self.value)

    def permuted(self) -> Lesson:
        """Return each row with the blanks of another row in place of its own."""
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
        # A fixed number, so that there are some in the smallest table.
        marks[:, target] = generator.permutation(n_rows) < n_private
        is_blank = experiment.publish(codes.copy(), marks.copy()) == HIDDEN
        taken = marks[:, target]
        known = np.where(is_unknown, HIDDEN, codes)[taken]
        trials.append((known, codes[taken, target], is_blank[taken]))
        if sum(len(trial[1]) for trial in trials) >= n_enough:
            break
    known, value, blank = (np.concatenate(parts) for parts in zip(*trials, strict=True))
    return _Trial(known, value.astype(np.int64), blank)


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
    n_needed = max(_FEWEST_CELLS, 2 * min(len(values), _MOST_CLASSES + 1))
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


# --- boosted trees --------------------------------------------------------------------------------
#
# Trees take numbers: an ordered column is represented by its codes, a categorical one by its most
# frequent values with one number for all others, and a suppressed cell as missing. On request, the
# blank cells and their number are features too.

_FEWEST_CELLS = 40
"""No tree can be learned from fewer: it has two leaves with half as many cells each."""
_MOST_CLASSES = 32
_MOST_CATEGORIES = 254
"""The model accepts 255; the last one stands for the rest."""
_MOST_TREES, _FEWEST_ROUNDS, _MOST_ROUNDS = 450, 12, 50
_N_SAMPLED = 500
"""The number of cells that decide which columns contribute most."""
_LEAST_LOSS = 0.002
"""Columns that change the mean logarithm of probabilities by less contribute nothing."""
_LEAST_PROBABILITY = 1e-12
_N_NAMED = 3


@dataclass(frozen=True, eq=False)
class Lesson:
    """Cells of the target whose values are known.

    For each cell, `shown` has the visible cells of its row, and `HIDDEN` in place of the others;
    `blank` marks the suppressed cells of its row, or is None if these are not to be learned from.
    """

    shown: Small
    blank: Flags | None
    value: Codes

    def sampled(self, n_most: int) -> Lesson:
        """Draw `n_most` of the cells, if there are more."""
        if len(self.value) <= n_most:
            return self
        taken = np.random.default_rng(_SEED).choice(len(self.value), n_most, replace=False)
        blank = None if self.blank is None else self.blank[taken]
        return Lesson(self.shown[taken], blank, self.value[taken])


class BoostedTrees:
    """Boosted trees for one column, and how the other columns are represented.

    Features come in one group per column, its value and whether it is blank, and one for the number
    of blanks.
    """

    def __init__(self, domains: tuple[Domain, ...], target: int, lesson: Lesson) -> None:
        from sklearn.ensemble import HistGradientBoostingClassifier  # noqa: PLC0415 - an extra

        self.lesson = lesson
        self.columns = tuple(domain.column for domain in domains)
        self.others = [place for place in range(len(domains)) if place != target]
        # Trees cannot deal with a column without a visible cell.
        self.places = {
            place: _places_of_categories(lesson.shown[:, place], domains[place])
            for place in self.others
            if (lesson.shown[:, place] != HIDDEN).any()
        }
        self.classes = _most_frequent(lesson.value, _MOST_CLASSES)
        features, self.group = self.features(lesson.shown, lesson.blank)
        label = self.label(lesson.value)
        n_models = len(np.unique(label))
        n_rounds = _MOST_TREES // (1 if n_models == 2 else n_models)
        is_categorical = np.zeros(features.shape[1], dtype=bool)
        is_categorical[: len(self.places)] = [
            not domains[place].type.has_order for place in self.places
        ]
        self.trees: Any = HistGradientBoostingClassifier(
            max_iter=min(max(n_rounds, _FEWEST_ROUNDS), _MOST_ROUNDS),
            max_leaf_nodes=8,
            min_samples_leaf=_FEWEST_CELLS // 2,
            l2_regularization=10.0,
            categorical_features=is_categorical,
            early_stopping=False,
            random_state=_SEED,
        )
        with _one_thread():
            self.trees.fit(features, label)

    def features(self, shown: Small, blank: Flags | None) -> tuple[Floats, Codes]:
        """Return the features of rows, and the group of each feature."""
        parts = [_placed(shown[:, place], places) for place, places in self.places.items()]
        groups = list(self.places)
        if blank is not None:
            parts += [blank[:, place].astype(np.float64) for place in self.others]
            parts.append(blank[:, self.others].sum(axis=1).astype(np.float64))
            groups += [*self.others, len(self.columns)]
        # At least one feature is required.
        parts.append(np.zeros(len(shown)))
        groups.append(-1)
        return np.column_stack(parts), np.array(groups)

    def label(self, value: Codes) -> Codes:
        """Number the values that are learned; others have the last number."""
        order = np.argsort(self.classes)
        place = np.searchsorted(self.classes, value, sorter=order)
        found = order[np.minimum(place, len(order) - 1)]
        return np.where(self.classes[found] == value, found, len(order))

    def predict(self, shown: Small, blank: Flags | None) -> tuple[Codes, Floats]:
        """Return the most probable of the values that are learned, and its probability."""
        with _one_thread():
            probability = self.trees.predict_proba(self.features(shown, blank)[0])
        best = probability[:, : len(self.classes)].argmax(axis=1)
        return self.classes[best], probability[np.arange(len(best)), best]

    def reason(self) -> str:
        """Name the columns that contribute most: without them the known values are less likely."""
        sample = self.lesson.sampled(_N_SAMPLED)
        features, _ = self.features(sample.shown, sample.blank)
        label = self.label(sample.value)
        before = self.likelihood(features, label)
        order = np.random.default_rng(_SEED).permutation(len(label))
        losses = {}
        for group in sorted({*self.group.tolist()} - {-1}):
            mixed = features.copy()
            mixed[:, self.group == group] = features[np.ix_(order, self.group == group)]
            losses[group] = before - self.likelihood(mixed, label)
        told = sorted(losses, key=lambda group: -losses[group])[:_N_NAMED]
        names = [*self.columns, "the number of blanks"]
        by = ", ".join(names[group] for group in told if losses[group] > _LEAST_LOSS)
        learned = f"learned from {len(self.lesson.value)} cells"
        return f"{learned}, most by {by}" if by else f"{learned}, which say little"

    def likelihood(self, features: Floats, label: Codes) -> float:
        """Return the mean logarithm of the probabilities of labels."""
        with _one_thread():
            probability = self.trees.predict_proba(features)
        of_label = probability[np.arange(len(label)), label]
        return float(np.log(np.maximum(of_label, _LEAST_PROBABILITY)).mean())


def _one_thread() -> Any:
    """Keep trees in one thread: sums stay in one order, and busy machines gain nothing by more."""
    from threadpoolctl import threadpool_limits  # noqa: PLC0415 - it comes with scikit-learn

    return threadpool_limits(limits=1, user_api="openmp")


def _most_frequent(codes: Codes, n_most: int) -> Codes:
    values, counts = np.unique(codes, return_counts=True)
    most: Codes = values[np.argsort(-counts, kind="stable")[:n_most]].astype(np.int64)
    return most


def _places_of_categories(codes: Small, domain: Domain) -> Floats:
    """Return for each code of a domain the number that represents it."""
    if domain.type.has_order or domain.size <= _MOST_CATEGORIES + 1:
        return np.arange(domain.size, dtype=np.float64)
    frequent = _most_frequent(codes[codes != HIDDEN].astype(np.int64), _MOST_CATEGORIES)
    places = np.full(domain.size, _MOST_CATEGORIES, dtype=np.float64)
    places[frequent] = np.arange(len(frequent))
    return places


def _placed(codes: Small, places: Floats) -> Floats:
    """Replace codes by their numbers, and `HIDDEN` by nothing."""
    # The last entry is the one that HIDDEN takes.
    placed: Floats = np.append(places, np.nan)[codes]
    return placed
