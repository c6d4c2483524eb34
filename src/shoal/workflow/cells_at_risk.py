"""Score attacks on suppressed cells by the truth, beside a release that blanks private cells alone.

The adversary's guesses at private cells are compared with the true values. The same adversary is
also shown the table with only the private cells blanked: the difference is what the further blanks
achieved. If an attack has several adversaries, the most successful one is judged, that is, the one
who fills in the most private cells correctly. That one is known only after all were scored, so the
intervals of their success allow for the choice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from shoal.core.arrays import Flags, Integers, Small
from shoal.core.attack import CellView, Experiment
from shoal.core.calibration import share_interval
from shoal.core.display import Section
from shoal.core.findings import CellGuesses, Findings, Guesses
from shoal.core.manifest import Manifest
from shoal.core.private_cells import HiddenCells
from shoal.core.progress import Work
from shoal.core.release import Published
from shoal.core.table import HIDDEN, Rows
from shoal.hiding.attack_rules import protection_of
from shoal.hiding.cells import PRIVATE, VISIBLE
from shoal.hiding.hiding import hidden_state
from shoal.release.opened import Release
from shoal.release.people import Uncovered, uncover
from shoal.release.witnesses import read_witnesses

_UNPROTECTED = "private cells blanked only"
_RELEASED = "the release"
_N_REASONS = 15


def uncovered(release: Release, published: Published) -> Uncovered | None:
    """Return the cells that a release hides, if its maker or internal folder is available."""
    if published.rows is None:
        return None
    if release.making is not None:
        content = release.making.plan.witnesses.get(HiddenCells.FILE)
    elif release.internal is not None:
        content = read_witnesses(release.internal, release.manifest).get(HiddenCells.FILE)
    else:
        content = None
    return None if content is None else uncover(release, published, content)


def cell_view(manifest: Manifest, truth: Uncovered) -> CellView:
    """Return the view of attacks on cells: columns with the most private cells come first."""
    n_private = truth.is_private.sum(axis=0)
    order = np.argsort(-n_private, kind="stable").tolist()
    return CellView(
        released=truth.rows(blank_private_only=False),
        unprotected=truth.rows(blank_private_only=True),
        columns=tuple(truth.domains[place].column for place in order if n_private[place]),
        experiment=_experiment(manifest, truth),
    )


def score_cells(found: Findings, guesses: CellGuesses, truth: Uncovered) -> Findings:
    """Score guesses at the release, and at the same table with only private cells blanked."""
    released = truth.rows(blank_private_only=False)
    majority = _majority_values(released)
    scored = [
        _Score.of(table, name, one, truth, guesses.threshold, majority, len(by_adversary))
        for table, by_adversary in (
            (_UNPROTECTED, guesses.unprotected),
            (_RELEASED, guesses.released),
        )
        for name, one in by_adversary.items()
    ]
    strongest = _most_successful(scored, _RELEASED)
    hits, attacked = _majority_hits(majority, truth), _columns_attacked(guesses.columns, truth)
    posterior = np.zeros(released.n_rows)
    chosen = strongest.guesses
    np.maximum.at(posterior, chosen.row, chosen.belief)
    breached = np.zeros(released.n_rows, dtype=bool)
    breached[chosen.row[strongest.is_sure & strongest.is_right]] = True
    unprotected = _most_successful(scored, _UNPROTECTED)
    n_private = truth.is_private.sum(axis=0)
    notes = (section for section in found.sections if not section.is_provisional)
    return replace(
        found,
        posterior=posterior,
        breached=breached,
        headline={
            "columns attacked": ", ".join(truth.domains[place].column for place in attacked),
            "private cells there": int(n_private[attacked].sum()),
            **strongest.figures,
            "filled in, were private cells blanked only": unprotected.n_sure,
            "rightly, were private cells blanked only": unprotected.n_sure_right,
        },
        sections=(
            _summary(scored, truth, hits, attacked),
            _by_column(strongest, truth, hits, attacked),
            *(_reasons(score) for score in (unprotected, strongest) if score.n_sure),
            *(section for section in notes if section.rows),
        ),
        figure=strongest.line,
    )


def _most_successful(scored: list[_Score], table: str) -> _Score:
    """Return the adversary who fills in most private cells correctly; ties go to fewer guesses."""
    rivals = [score for score in scored if score.table == table]
    return max(rivals, key=lambda score: (score.n_sure_right, -score.n_sure))


@dataclass(frozen=True, eq=False)
class _Score:
    """One adversary's guesses at the private cells of one table, and which of them are right."""

    table: str
    adversary: str
    guesses: Guesses
    is_sure: Flags
    is_right: Flags
    # Whether a cell holds the most frequent value of its column: the guess without an attack.
    is_majority: Flags
    # Adversaries who were shown the same table; the most successful is chosen among them.
    n_rivals: int

    @classmethod
    def of(
        cls,
        table: str,
        adversary: str,
        guesses: Guesses,
        truth: Uncovered,
        threshold: Fraction,
        majority: Integers,
        n_rivals: int,
    ) -> _Score:
        kept = guesses.at(truth.is_private[guesses.row, guesses.column])
        held = truth.codes[kept.row, kept.column]
        return cls(
            table,
            adversary,
            kept,
            is_sure=kept.belief >= float(threshold),
            is_right=held == kept.value,
            is_majority=held == majority[kept.column],
            n_rivals=n_rivals,
        )

    @property
    def n_sure(self) -> int:
        """The number of cells that she is sure of."""
        return int(self.is_sure.sum())

    @property
    def n_sure_right(self) -> int:
        """The number of cells that she is sure of and right about."""
        return int((self.is_sure & self.is_right).sum())

    @property
    def share(self) -> tuple[float | None, float, float]:
        """The share of her sure guesses that are right, with its interval."""
        return _share(self.n_sure_right, self.n_sure, self.n_rivals)

    @property
    def baseline(self) -> float | None:
        """The share of the same cells that hold the most frequent value of their column."""
        n_hits = int((self.is_sure & self.is_majority).sum())
        return n_hits / self.n_sure if self.n_sure else None

    @property
    def figures(self) -> dict[str, object]:
        """Her figures, as the summary shows them."""
        share, low, high = self.share
        return {
            "most successful adversary": f"{self.adversary} (of {self.n_rivals})",
            "filled in": self.n_sure,
            "rightly": self.n_sure_right,
            "share right": share,
            "share right, 95 % from": low,
            "share right, 95 % to": high,
            "share right by majority": self.baseline,
        }

    @property
    def line(self) -> str:
        """Her figures in one line."""
        if not self.n_sure:
            return "no private cell is filled in"
        _, low, high = self.share
        return (
            f"{self.n_sure_right} of {self.n_sure} private cells filled in rightly by the "
            f"{self.adversary} adversary ({low:.0%} to {high:.0%}; guessing the most frequent "
            f"value: {self.baseline:.0%})"
        )


def _experiment(manifest: Manifest, truth: Uncovered) -> Experiment | None:
    """Return an experiment: the adversary publishes tables of her own as the release was made."""
    claim = protection_of(manifest)
    if claim is None or manifest.method != "rule_hiding":
        return None
    gamma = claim.gamma
    # Her tables are smaller, so a number of rows becomes a share of rows.
    share = Fraction(gamma, len(truth.codes)) if isinstance(gamma, int) else gamma
    shrink = manifest.parameters.get("shrink")

    def publish(codes: Small, private: Flags, work: Work) -> Small:
        state = hidden_state(
            codes,
            np.where(private, PRIVATE, VISIBLE),
            delta=claim.delta,
            gamma=min(share, Fraction(1)),
            mode=claim.mode,
            shrink=bool(shrink),
            work=work,
        )
        shown: Small = np.where(state == VISIBLE, codes, HIDDEN).astype(np.int32)
        return shown

    return Experiment(publish, truth.is_private.mean(axis=0))


def _majority_values(rows: Rows) -> Integers:
    """Return the most frequent visible value of each column; -1 if nothing is visible."""
    values = np.full(len(rows.domains), -1, dtype=np.int64)
    for place, domain in enumerate(rows.domains):
        codes = rows.codes[:, place]
        counts = np.bincount(codes[codes != HIDDEN], minlength=domain.size)
        if counts.any():
            values[place] = counts.argmax()
    return values


def _majority_hits(majority: Integers, truth: Uncovered) -> Integers:
    """Return the number of private cells per column that hold its most frequent value."""
    hits: Integers = np.count_nonzero((truth.codes == majority) & truth.is_private, axis=0)
    return hits


def _columns_attacked(target: Sequence[str] | None, truth: Uncovered) -> list[int]:
    """Return the places of the attacked columns with private cells; by default all of them."""
    return [
        place
        for place in np.flatnonzero(truth.is_private.any(axis=0)).tolist()
        if target is None or truth.domains[place].column in target
    ]


def _summary(
    scored: list[_Score], truth: Uncovered, majority: Integers, attacked: list[int]
) -> Section:
    n_private = truth.is_private.sum(axis=0)
    n_cells, n_majority = int(n_private[attacked].sum()), int(majority[attacked].sum())
    return Section(
        "what hiding bought: guesses at private cells",
        (
            "shown",
            "adversary",
            "private cells",
            "sure of",
            "rightly",
            "share right",
            "95 % from",
            "to",
            "right in all",
            "right by majority",
        ),
        tuple(
            (
                score.table,
                score.adversary,
                n_cells,
                score.n_sure,
                score.n_sure_right,
                *score.share,
                int(score.is_right.sum()),
                n_majority,
            )
            for score in scored
        ),
        holds_values=False,
    )


def _share(n_hits: int, n_tries: int, n_rivals: int) -> tuple[float | None, float, float]:
    share = n_hits / n_tries if n_tries else None
    return (share, *share_interval(n_hits, n_tries, n_shares=n_rivals))


def _by_column(score: _Score, truth: Uncovered, majority: Integers, attacked: list[int]) -> Section:
    n_private = truth.is_private.sum(axis=0)
    rows = []
    for place in attacked:
        chosen = score.guesses.column == place
        n_sure = int((chosen & score.is_sure).sum())
        n_right = int((chosen & score.is_sure & score.is_right).sum())
        rows.append(
            (
                truth.domains[place].column,
                int(n_private[place]),
                n_sure,
                n_right,
                *_share(n_right, n_sure, score.n_rivals),
                int(majority[place]) / int(n_private[place]),
            )
        )
    return Section(
        f"{score.table}, by column",
        (
            "column",
            "private cells",
            "sure of",
            "rightly",
            "share right",
            "95 % from",
            "to",
            "majority right",
        ),
        tuple(rows),
        holds_values=False,
    )


def _reasons(score: _Score) -> Section:
    """List the reasons that made her sure of the most private cells."""
    guesses = score.guesses
    used = guesses.reason[score.is_sure]
    right = guesses.reason[score.is_sure & score.is_right]
    n_reasons = len(guesses.reasons)
    counts = np.bincount(used[used >= 0], minlength=n_reasons)
    hits = np.bincount(right[right >= 0], minlength=n_reasons)
    order = np.lexsort((np.arange(n_reasons), -counts))[:_N_REASONS]
    return Section(
        f"{score.table}: what did it",
        ("because", "private cells", "rightly"),
        tuple(
            (guesses.reasons[place], int(counts[place]), int(hits[place]))
            for place in order.tolist()
            if counts[place]
        ),
    )
