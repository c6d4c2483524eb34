"""Score attacks on suppressed cells by the truth, beside a release that blanks private cells alone.

An adversary guesses; here her guesses at private cells are compared with what stood there. The
same adversary is shown the table with private cells blanked and nothing else: the difference is
what the further blanks bought. Where an attack has several adversaries, the most successful one is
judged: who fills in most private cells rightly. She is known only after all were scored, so the
intervals of their success allow for the choice.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Findings, Section
from shoal.core.cell_attack import CellAttack, Experiment, Guesses, protection_of
from shoal.core.exact import as_text
from shoal.core.hidden_cells import HiddenCells
from shoal.core.private_cells import Marks
from shoal.core.proportion import share_interval
from shoal.core.registry import snake_case
from shoal.core.release import Manifest, Published
from shoal.core.rows import HIDDEN, RowCodes, Rows
from shoal.knowledge.adversarial import PRIVATE, VISIBLE, hide
from shoal.pipeline.hidden_cells import Uncovered, uncover
from shoal.pipeline.release import Release
from shoal.pipeline.witnesses import read_witnesses

__all__ = ["attack_cells", "uncovered"]

_UNPROTECTED = "private cells blanked only"
_RELEASED = "the release"
_N_REASONS = 15


def uncovered(release: Release, published: Published) -> Uncovered | None:
    """Give what a suppressed release hides, where its maker or its internal folder is at hand."""
    if published.rows is None:
        return None
    if release.making is not None:
        content = release.making.plan.witnesses.get(HiddenCells.FILE)
    elif release.internal is not None:
        content = read_witnesses(release.internal, release.manifest).get(HiddenCells.FILE)
    else:
        content = None
    return None if content is None else uncover(release, published, content)


def attack_cells(attack: CellAttack, published: Published, truth: Uncovered) -> Findings:
    """Let an adversary guess at the release and at one without further blanks, and score both."""
    manifest = published.manifest
    n_private = truth.is_private.sum(axis=0)
    order = np.argsort(-n_private, kind="stable")
    attack = attack.aimed_at(
        [truth.domains[place].column for place in order.tolist() if n_private[place]]
    )
    threshold = attack.threshold(manifest)
    bare, released = truth.rows(blank_private_only=True), truth.rows(blank_private_only=False)
    before = attack.guess(bare, manifest)
    after = attack.guess(released, manifest, _experiment(manifest, truth))
    majority = _majority_values(released)
    scored = [
        _Score.of(table, name, guesses, truth, threshold, majority, len(found))
        for table, found in ((_UNPROTECTED, before), (_RELEASED, after))
        for name, guesses in found.items()
    ]
    strongest = _most_successful(scored, _RELEASED)
    hits, attacked = _majority_hits(majority, truth), _columns_attacked(attack, truth)
    n_rows = released.n_rows
    posterior = np.zeros(n_rows)
    guesses = strongest.guesses
    np.maximum.at(posterior, guesses.row, guesses.belief)
    breached = np.zeros(n_rows, dtype=bool)
    breached[guesses.row[strongest.is_sure & strongest.is_right]] = True
    unprotected = _most_successful(scored, _UNPROTECTED)
    return Findings(
        attack=snake_case(type(attack).__name__),
        knows=attack.knows,
        counts=np.ones(n_rows, dtype=np.int64),
        value=np.full(n_rows, -1),
        posterior=posterior,
        breached=breached,
        limit=as_text(threshold),
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
            *(section for section in attack.notes(released, manifest) if section.rows),
        ),
        is_by_line=True,
        figure=strongest.line,
    )


def _most_successful(scored: list[_Score], table: str) -> _Score:
    """Return who fills in most private cells rightly; of several, who is right most often."""
    rivals = [score for score in scored if score.table == table]
    return max(rivals, key=lambda score: (score.n_sure_right, -score.n_sure))


@dataclass(frozen=True, eq=False)
class _Score:
    """What one adversary guessed about private cells of one table, and which guesses are right.

    Parameters
    ----------
    table, adversary
        What she was shown, and who she is.
    guesses
        Those at private cells.
    is_sure
        Which she is sure of.
    is_right
        Which are right.
    is_majority
        Which of these cells hold the value that is most frequent in their column: the guess
        without an attack.
    n_rivals
        How many adversaries were shown the same; the most successful is chosen among them.
    """

    table: str
    adversary: str
    guesses: Guesses
    is_sure: Marks
    is_right: Marks
    is_majority: Marks
    n_rivals: int

    @classmethod
    def of(
        cls,
        table: str,
        adversary: str,
        guesses: Guesses,
        truth: Uncovered,
        threshold: Fraction,
        majority: npt.NDArray[np.int64],
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
        """How many cells she is sure of."""
        return int(self.is_sure.sum())

    @property
    def n_sure_right(self) -> int:
        """How many of these she is right about."""
        return int((self.is_sure & self.is_right).sum())

    @property
    def share(self) -> tuple[float | None, float, float]:
        """The share that she is right about of what she is sure of, with its interval."""
        return _share(self.n_sure_right, self.n_sure, self.n_rivals)

    @property
    def baseline(self) -> float | None:
        """How often the most frequent value of the column is right about the same cells."""
        n_hits = int((self.is_sure & self.is_majority).sum())
        return n_hits / self.n_sure if self.n_sure else None

    @property
    def figures(self) -> dict[str, object]:
        """What the summary says of her."""
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
        """The same in a few words."""
        if not self.n_sure:
            return "no private cell is filled in"
        _, low, high = self.share
        return (
            f"{self.n_sure_right} of {self.n_sure} private cells filled in rightly by the "
            f"{self.adversary} adversary ({low:.0%} to {high:.0%}; guessing the most frequent "
            f"value: {self.baseline:.0%})"
        )


def _experiment(manifest: Manifest, truth: Uncovered) -> Experiment | None:
    """Let an adversary publish tables of her own, as the release was made."""
    claim = protection_of(manifest)
    if claim is None or manifest.method != "rule_hiding":
        return None
    gamma = claim.gamma
    # Her tables are smaller: a number of rows stands for its share.
    share = Fraction(gamma, len(truth.codes)) if isinstance(gamma, int) else gamma
    shrink = manifest.parameters.get("shrink")

    def publish(codes: RowCodes, private: Marks) -> RowCodes:
        hiding = hide(
            codes,
            np.where(private, PRIVATE, VISIBLE),
            delta=claim.delta,
            gamma=min(share, Fraction(1)),
            mode=claim.mode,
            shrink=bool(shrink),
        )
        shown: RowCodes = np.where(hiding.state == VISIBLE, codes, HIDDEN).astype(np.int32)
        return shown

    return Experiment(publish, truth.is_private.mean(axis=0))


def _majority_values(rows: Rows) -> npt.NDArray[np.int64]:
    """Return the most frequent visible value of each column; -1 where nothing is visible."""
    values = np.full(len(rows.domains), -1, dtype=np.int64)
    for place, domain in enumerate(rows.domains):
        codes = rows.codes[:, place]
        counts = np.bincount(codes[codes != HIDDEN], minlength=domain.size)
        if counts.any():
            values[place] = counts.argmax()
    return values


def _majority_hits(majority: npt.NDArray[np.int64], truth: Uncovered) -> npt.NDArray[np.int64]:
    """Count, by column, the private cells that hold its most frequent value."""
    hits: npt.NDArray[np.int64] = np.count_nonzero(
        (truth.codes == majority) & truth.is_private, axis=0
    )
    return hits


def _columns_attacked(attack: CellAttack, truth: Uncovered) -> list[int]:
    """Give the columns with private cells that are attacked: all of them where none is aimed at."""
    target = getattr(attack, "target", None)
    return [
        place
        for place in np.flatnonzero(truth.is_private.any(axis=0)).tolist()
        if target is None or truth.domains[place].column in target
    ]


def _summary(
    scored: list[_Score], truth: Uncovered, majority: npt.NDArray[np.int64], attacked: list[int]
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


def _by_column(
    score: _Score, truth: Uncovered, majority: npt.NDArray[np.int64], attacked: list[int]
) -> Section:
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
    """List what made her sure of most private cells."""
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
