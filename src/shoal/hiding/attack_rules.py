"""Attacks on suppressed cells, and the attack by rules.

The adversary answers with guesses, cell by cell. She cannot know whether a guess is right, or
whether the cell was private: only the owner of the table can score her. `CellAttack` is the base of
all such attacks.

By rules, she counts what any reader of the release can count: of the rows that show certain values,
how many have a certain value in another column. For every suppressed cell she takes the rule that
she believes most among those whose antecedent the row shows. She cannot distinguish private cells
from those blanked to protect them, so she guesses all of them. The search is that of the publisher
(`shoal.hiding.mining`), but rules are never listed: each suppressed cell keeps the best rule so
far.

References
----------
[Aggarwal06] (see `shoal.hiding`) sections 2 and 3.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, takewhile
from math import comb
from typing import ClassVar

import numpy as np

from shoal.core.adversary_guarantees import RuleProtection
from shoal.core.arrays import Codes
from shoal.core.attack import Attack, Experiment, Need, View
from shoal.core.budget import MOST_WORK
from shoal.core.declared import declared
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, check_gamma
from shoal.core.findings import CellGuesses, Findings, Guesses, Risk
from shoal.core.manifest import Manifest
from shoal.core.parameters import Converted, OptionalExact, amount, exact_number, whole_number
from shoal.core.registry import snake_case
from shoal.core.shapes import Model
from shoal.core.table import HIDDEN, Rows
from shoal.hiding.cells import Limits
from shoal.hiding.mining import BestRules, find_best_rules

_DELTA, _GAMMA = Fraction(4, 5), Fraction(1, 1000)


def protection_of(manifest: Manifest) -> RuleProtection | None:
    """Return the release's guarantee that no rule betrays its private cells; None without one."""
    stated = (one for one in manifest.guarantees if isinstance(one, RuleProtection))
    return next(stated, None)


def assumed_protection(manifest: Manifest) -> RuleProtection:
    """Return the release's guarantee against rules; without one, that of the default thresholds."""
    return protection_of(manifest) or RuleProtection(delta=_DELTA, gamma=_GAMMA)


@declared
class CellAttack(Attack):
    """The base of every attack on suppressed cells."""

    reads: ClassVar[frozenset[Model]] = frozenset({Model.ROWS})
    needs: ClassVar[frozenset[Need]] = frozenset({Need.ROWS})

    @abstractmethod
    def threshold(self, manifest: Manifest) -> Fraction:
        """Return the minimum belief with which the adversary counts as knowing a cell."""

    @abstractmethod
    def guess_within(
        self, units: int, rows: Rows, manifest: Manifest, experiment: Experiment | None = None
    ) -> tuple[Mapping[str, Guesses], str]:
        """Fill in suppressed cells; return the guesses of each adversary, the weakest first.

        Adversaries who know the algorithm need an `experiment`; without one they are left out. Also
        return what was left out because it takes more than `units` of work; empty if nothing was.
        """

    def guess(
        self, rows: Rows, manifest: Manifest, experiment: Experiment | None = None
    ) -> Mapping[str, Guesses]:
        """Fill in suppressed cells as `guess_within` does, whatever it costs."""
        return self.guess_within(MOST_WORK, rows, manifest, experiment)[0]

    def aimed_at(self, columns: Sequence[str]) -> CellAttack:  # noqa: ARG002
        """Return the attack if the columns with private cells, most first, are known."""
        return self

    def notes(self, rows: Rows, manifest: Manifest) -> tuple[Section, ...]:  # noqa: ARG002
        """Return further small tables for the findings; by default none."""
        return ()

    def run(self, view: View) -> Findings:
        """Fill in suppressed cells; only the score can tell which of them were private.

        Raises
        ------
        ParameterError
            If the release has another shape.
        """
        rows = view.published.rows
        if rows is None:
            raise ParameterError(
                f"{type(self).__name__} attacks suppressed releases; this one is "
                f"{view.published.manifest.shape}."
            )
        cells = view.cells()
        if cells is None:
            return self.answer(rows, view.published.manifest, units=view.work)
        return self.aimed_at(cells.columns).answer(
            cells.released,
            view.published.manifest,
            cells.unprotected,
            cells.experiment,
            units=view.work,
        )

    def answer(
        self,
        rows: Rows,
        manifest: Manifest,
        unprotected: Rows | None = None,
        experiment: Experiment | None = None,
        *,
        units: int = MOST_WORK,
    ) -> Findings:
        """Return the guesses, and what they show without knowing which cells are private."""
        threshold = self.threshold(manifest)
        # Both tables are attacked in the same way, so that they can be compared.
        units = units if unprotected is None else units // 2
        released, left_out = self.guess_within(units, rows, manifest, experiment)
        beside: Mapping[str, Guesses] = {}
        if unprotected is not None:
            beside, _ = self.guess_within(units, unprotected, manifest)
        *_, guesses = released.values()
        is_sure = guesses.belief >= float(threshold)
        posterior = np.zeros(rows.n_rows)
        np.maximum.at(posterior, guesses.row, guesses.belief)
        breached = np.zeros(rows.n_rows, dtype=bool)
        breached[guesses.row[is_sure]] = True
        n_suppressed = np.count_nonzero(rows.is_hidden, axis=0)
        return Findings(
            attack=snake_case(type(self).__name__),
            knows=self.knows,
            counts=np.ones(rows.n_rows, dtype=np.int64),
            value=np.full(rows.n_rows, -1),
            posterior=posterior,
            breached=breached,
            limit=as_text(threshold),
            headline={
                "cells suppressed": int(n_suppressed.sum()),
                "cells filled in": int(is_sure.sum()),
            },
            sections=(
                Section(
                    "cells by column",
                    ("column", "suppressed", "filled in"),
                    tuple(
                        (
                            column,
                            int(n_suppressed[place]),
                            int((is_sure & (guesses.column == place)).sum()),
                        )
                        for place, column in enumerate(rows.columns)
                    ),
                    holds_values=False,
                    is_provisional=True,
                ),
                *self.notes(rows, manifest),
            ),
            is_by_line=True,
            guesses=CellGuesses(threshold, getattr(self, "target", None), released, beside),
            cut_short=left_out,
        )


# --- the attack by rules --------------------------------------------------------------------------


_MOST_SETS = 2**14
"""The most sets of columns that are searched if no longest antecedent is given."""
_UNITS_PER_ROW = 1
"""Units (`shoal.core.budget`) per row and set of columns, measured with random tables of 5,000 to
100,000 rows of 8 to 12 columns, which take a third to four fifths of it. With a larger support,
fewer rows are looked at."""
_MOST_REASONS = 100_000
"""The most rules that are put into words, the most believed first."""


@declared
class Rules(CellAttack):
    """Fill in suppressed cells by the rule that is believed most.

    Notes
    -----
    Default values of `delta` and `gamma` are those that the release promises protection against; if
    it promises none, 0.8 and 0.001. Both are compared exactly, and a tie counts. Without `max_len`,
    antecedents may name any number of columns; on tables of more than 14 columns, as many as lead
    to at most 16,384 sets of columns; fewer if the attack may do less work. On 45,000 rows of ten
    columns this takes about two seconds if the support is at least 0.001, and four if one row is
    enough.

    Of the rules that fire at a cell the best has the highest confidence, then the largest support,
    then the shortest antecedent, then the columns that come first, then the value that comes first.
    The belief is the confidence.

    Cells at which no rule fires are left open. No rule is needed if a value has a share of `delta`
    in its whole column: the findings list such columns.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.shapes import Shape
    >>> title = Domain.of_texts("title", ["Clerk", "Manager"])
    >>> married = Domain.of_texts("married", ["No", "Yes"])
    >>> codes = np.array([[1, 1], [1, 1], [1, HIDDEN], [0, 0], [0, 0]], dtype=np.int32)
    >>> manifest = Manifest(
    ...     shape=Shape.SUPPRESSED, method="rule_hiding", parameters={}, columns=(), guarantees=(),
    ...     n_rows=5, n_buckets=1,
    ... )
    >>> guesses = Rules(gamma=2).guess(Rows((title, married), codes), manifest)["rules"]
    >>> guesses.row.tolist(), guesses.value.tolist(), guesses.belief.tolist()
    ([2], [1], [1.0])
    >>> guesses.reasons
    ('title Manager: married Yes, 2 of 2',)
    """

    delta: OptionalExact = exact_number(
        "The minimum confidence of a rule: the share of the rows of its support that have the "
        "value. Default: what the release promises, or 0.8.",
        default=None,
        above=0,
        at_most=1,
        hint="for example 0.8.",
    )
    gamma: Converted[Number | None, int | Fraction | None] = amount(
        "The minimum support: the number of rows that show the antecedent and the column, or a "
        "share of all rows. Default: what the release promises, or 0.001.",
        check_gamma,
        default=None,
    )
    max_len: int | None = whole_number(
        "The most columns that an antecedent names. Default: as many as there are, within 16,384 "
        "sets of columns.",
        default=None,
        least=1,
    )

    risks: ClassVar[tuple[Risk, ...]] = (Risk.INFERENCE,)
    knows: ClassVar[str] = (
        "the release, and that rules found in its visible cells hold for the suppressed ones too"
    )

    def threshold(self, manifest: Manifest) -> Fraction:
        """Return the minimum confidence with which the adversary counts as knowing a cell."""
        return assumed_protection(manifest).delta if self.delta is None else self.delta

    def support(self, manifest: Manifest) -> int | Fraction:
        """Return the minimum support, as a number of rows or a share of them."""
        return assumed_protection(manifest).gamma if self.gamma is None else self.gamma

    def guess_within(
        self,
        units: int,
        rows: Rows,
        manifest: Manifest,
        experiment: Experiment | None = None,  # noqa: ARG002 - she reads the release only
    ) -> tuple[Mapping[str, Guesses], str]:
        """Fill in suppressed cells by rules; the only adversary is `rules`.

        If that is too much work, the longest antecedents are left out.
        """
        limits = Limits.of(
            self.threshold(manifest), self.support(manifest), rows.n_rows, use_hidden=False
        )
        n_columns = len(rows.domains)
        wanted = _longest(n_columns, _MOST_SETS) if self.max_len is None else self.max_len
        wanted = min(wanted, max(n_columns - 1, 1))
        most = units // (_UNITS_PER_ROW * max(rows.n_rows, 1))
        longest = min(wanted, _longest(n_columns, most))
        best = find_best_rules(rows.codes, rows.is_hidden, limits, longest)
        is_cut = longest < wanted
        said = f"antecedents named at most {longest} columns instead of {wanted}"
        return {"rules": _guesses(rows, best)}, said if is_cut else ""

    def notes(self, rows: Rows, manifest: Manifest) -> tuple[Section, ...]:
        """List the columns in which one value alone is frequent enough."""
        limits = Limits.of(self.threshold(manifest), 1, rows.n_rows, use_hidden=False)
        found = _majorities(rows)
        return (
            Section(
                "base rates",
                ("column", "value", "share", "visible"),
                tuple(
                    (rows.columns[column], _text(rows, column, value), hits / n_visible, n_visible)
                    for column, (value, hits, n_visible) in found.items()
                    if limits.is_confident(hits, n_visible)
                ),
            ),
        )


def _longest(n_columns: int, most: int) -> int:
    """Return the longest antecedent for which there are at most so many sets of columns, or 1."""
    n_sets = accumulate(comb(n_columns, length) for length in range(1, n_columns + 1))
    return max(1, sum(1 for _ in takewhile(lambda total: total <= most, n_sets)))


# --- without rules -------------------------------------------------------------------------------


def _majorities(rows: Rows) -> Mapping[int, tuple[int, int, int]]:
    """Return the most frequent value of columns with suppressed and visible cells, and its counts.

    The counts are the cells that show it and those that show any value.
    """
    found = {}
    for column in range(len(rows.domains)):
        codes = rows.codes[:, column]
        counts = np.bincount(codes[codes != HIDDEN])
        n_visible = int(counts.sum())
        if 0 < n_visible < rows.n_rows:
            found[column] = int(counts.argmax()), int(counts.max()), n_visible
    return found


def _text(rows: Rows, column: int, code: int) -> str:
    text = rows.domains[column].text(code)
    return "missing" if text is None else text


# --- with rules ----------------------------------------------------------------------------------


def _guesses(rows: Rows, best: BestRules) -> Guesses:
    """Return the guesses, and the rules behind them in words."""
    belief = best.hits / best.n_public
    first, rule = _number_rules(rows, best)
    order = np.argsort(-belief[first], kind="stable")
    place = np.full(len(first), -1, dtype=np.int64)
    place[order[:_MOST_REASONS]] = np.arange(min(len(order), _MOST_REASONS))
    worded = first[order[:_MOST_REASONS]].tolist()
    return Guesses(
        best.row,
        best.column,
        best.value,
        belief,
        place[rule],
        tuple(_word(rows, best, cell) for cell in worded),
    )


def _number_rules(rows: Rows, best: BestRules) -> tuple[Codes, Codes]:
    """Return the first cell of each distinct rule, and the number of each cell's rule.

    Rules are ordered by the columns that they name, the column that they predict, and the values
    that they name.
    """
    shown = rows.codes[best.row[:, np.newaxis], best.named]
    shown[best.named < 0] = -1
    keys = [*best.named.T, best.column, *shown.T]
    order = np.lexsort(keys[::-1])
    is_new = np.ones(len(order), dtype=bool)
    if len(order):
        is_new[1:] = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    rule = np.empty(len(order), dtype=np.int64)
    rule[order] = np.cumsum(is_new) - 1
    # The sort is stable, so the first cell of each rule comes first.
    return order[is_new], rule


def _word(rows: Rows, best: BestRules, cell: int) -> str:
    """Put the rule of a cell into words."""
    codes, column = rows.codes[best.row[cell]], int(best.column[cell])
    shown = " and ".join(
        f"{rows.columns[place]} {_text(rows, place, int(codes[place]))}"
        for place in best.named[cell].tolist()
        if place >= 0
    )
    value = _text(rows, column, int(best.value[cell]))
    counts = f"{best.hits[cell]} of {best.n_public[cell]}"
    return f"{shown}: {rows.columns[column]} {value}, {counts}"
