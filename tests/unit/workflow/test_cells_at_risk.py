"""Which adversary is judged, and how sure her success is."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest

from shoal.core.attack import View
from shoal.core.calibration import share_interval
from shoal.core.domain import Domain
from shoal.core.findings import Guesses
from shoal.core.manifest import Manifest
from shoal.core.release import Published
from shoal.core.shapes import Shape
from shoal.hiding.attack_rules import CellAttack
from shoal.release.people import Uncovered
from shoal.workflow.cells_at_risk import cell_view, score_cells

N_ROWS, N_PRIVATE = 60, 40
DOMAIN = Domain.of_texts("sick", ["no", "yes"])
MANIFEST = Manifest(
    shape=Shape.SUPPRESSED, method="rule_hiding", parameters={}, columns=(), guarantees=(),
    n_rows=N_ROWS, n_buckets=1,
)  # fmt: skip


def truth() -> Uncovered:
    """Every fourth person is sick; the first 40 cells are private."""
    codes = (np.arange(N_ROWS) % 4 == 0).astype(np.int32)[:, np.newaxis]
    is_private = np.arange(N_ROWS)[:, np.newaxis] < N_PRIVATE
    return Uncovered((DOMAIN,), codes, is_private, np.zeros_like(is_private))


@dataclass(frozen=True, kw_only=True)
class Rivals(CellAttack):
    """Adversaries who are sure of so many cells, and right about so many of them."""

    success: tuple[tuple[str, int, int], ...]
    knows = "nothing"

    def threshold(self, manifest):  # noqa: ARG002
        return Fraction(4, 5)

    def guess_within(self, units, rows, manifest, experiment=None):  # noqa: ARG002
        guesses = {name: self._guesses(n_sure, n_right) for name, n_sure, n_right in self.success}
        return guesses, ""

    def _guesses(self, n_sure, n_right):
        row = np.arange(N_PRIVATE)
        held = truth().codes[row, 0]
        value = np.where(row < n_right, held, 1 - held).astype(np.int64)
        belief = np.where(row < n_sure, 0.9, 0.1)
        zero = np.zeros(N_PRIVATE, dtype=np.int64)
        return Guesses(row, zero, value, belief, zero, ("drawn",))


def found_by(*success):
    published = Published(MANIFEST, None, None, rows=truth().rows(blank_private_only=False))
    view = View(published, None, cells=lambda: cell_view(MANIFEST, truth()))
    found = Rivals(success=success).run(view)
    return score_cells(found, found.guesses, truth())


@pytest.mark.parametrize("order", [1, -1])
def test_the_most_successful_adversary_is_judged_wherever_she_is_named(order):
    rivals = [("naive", 20, 16), ("blind", 2, 2), ("aware", 0, 0)][::order]
    found = found_by(*rivals)
    assert found.n_breached == 16
    assert found.headline["most successful adversary"] == "naive (of 3)"
    assert (found.headline["filled in"], found.headline["rightly"]) == (20, 16)


def test_her_interval_allows_for_the_choice_and_stands_beside_the_baseline():
    found = found_by(("naive", 20, 16), ("blind", 2, 2), ("aware", 0, 0))
    low, high = (found.headline[f"share right, 95 % {end}"] for end in ("from", "to"))
    assert (low, high) == share_interval(16, 20, n_shares=3)
    assert low < share_interval(16, 20)[0]
    # Of the 20 cells 15 hold the most frequent value.
    assert found.headline["share right by majority"] == 0.75
    assert "16 of 20" in found.figure
    assert "75%" in found.figure
    assert found.to_dict()["figures"]["share right"] == 0.8


def test_of_equal_numbers_the_adversary_who_is_right_more_often_is_judged():
    found = found_by(("wild", 40, 10), ("careful", 10, 10))
    assert found.headline["most successful adversary"] == "careful (of 2)"


def test_nobody_is_at_risk_where_nobody_is_sure():
    found = found_by(("naive", 0, 0), ("aware", 0, 0))
    assert found.n_breached == 0
    assert found.headline["share right"] is None
    assert found.figure == "no private cell is filled in"


def test_intervals_of_all_rivals_hold_together_as_often_as_they_say():
    generator = np.random.default_rng(3)
    shares, n_tries, n_trials = np.array([0.7, 0.5, 0.9]), 80, 2000
    held = 0
    for hits in generator.binomial(n_tries, shares, (n_trials, 3)).tolist():
        ends = [share_interval(n_hits, n_tries, n_shares=3) for n_hits in hits]
        held += all(low <= share <= high for share, (low, high) in zip(shares, ends, strict=True))
    assert held / n_trials > 0.94
