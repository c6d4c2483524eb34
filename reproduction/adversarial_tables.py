"""The tables of [Aggarwal06] with private cells drawn at random, mined and hidden in.

The synthetic tables are those of section 6.1: independent Zipf columns, by default ten columns of
ten values, factor 2 and 10,000 rows, of which 1 % of the cells are private. Adult is that of
section 6.2. Every experiment is repeated on several draws, each with a table and private cells of
its own where the table is drawn.

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from shoal.core.errors import InternalError
from shoal.core.exact import Number
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset, Encoded
from shoal.datasets.zipf import zipf
from shoal.knowledge.adversarial import PRIVATE, grades, hide, mine
from shoal.pipeline.papers.planned import Setting
from shoal.report.reproduced import Statement, compared

__all__ = [
    "Hidden",
    "Marked",
    "Mined",
    "adult_marked",
    "among_draws",
    "claimed",
    "draws",
    "fit_of_line",
    "hide_in",
    "mean",
    "mine_in",
    "percent",
    "plain_in",
    "support_of",
    "zipf_marked",
]

_DRAWS = 5
_QUICK_ROWS, _QUICK_COLUMNS, _QUICK_ADULT_ROWS = 1_000, 5, 400
_QUICK_SUPPORT = 10


@dataclass(frozen=True, eq=False)
class Marked:
    """A table in codes, and which of its cells are private."""

    codes: npt.NDArray[np.int32]
    state: npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Mined:
    """What mining gave: rules, sensitive entries, rows with one of these, and the seconds."""

    n_rules: int
    n_sensitive: int
    n_affected: int
    seconds: float


@dataclass(frozen=True)
class Hidden:
    """What hiding gave: the derived private set, rules that are left all the same, and seconds."""

    n_blanked: int
    n_left: int
    seconds: float


def draws(setting: Setting) -> range:
    """Give the seeds of the draws that an experiment is repeated on."""
    return range(setting.seed, setting.seed + (1 if setting.is_quick else _DRAWS))


def zipf_marked(
    setting: Setting,
    seed: int,
    *,
    dimensions: int = 10,
    cardinality: int = 10,
    factor: float = 2.0,
    rows: int = 10_000,
    private: float = 0.01,
) -> Marked:
    """Draw a synthetic table and its private cells.

    Parameters
    ----------
    setting
        Whether a small table is enough.
    seed
        What the table and its private cells are drawn from.
    dimensions, cardinality, factor, rows
        As of `shoal.datasets.zipf`.
    private
        The share of cells that are private.
    """
    if setting.is_quick:
        dimensions, rows = min(dimensions, _QUICK_COLUMNS), rows * _QUICK_ROWS // 10_000
    made = zipf(dimensions=dimensions, cardinality=cardinality, factor=factor, rows=rows, seed=seed)
    codes = _codes(made)
    return _marked(codes, round(codes.size * private), seed)


def adult_marked(setting: Setting, seed: int, n_private: int) -> Marked:
    """Read Adult as section 6.2 cuts it, and draw its private cells.

    Parameters
    ----------
    setting
        Where the table lies, and whether a sample of it is enough.
    seed
        What private cells are drawn from.
    n_private
        How many cells are private; of a sample, in proportion.
    """
    if setting.adult is None:
        raise InternalError("An experiment on Adult was run without it.")
    codes = _codes(adult(setting.adult, "adversarial"))
    if setting.is_quick:
        chosen = np.random.default_rng(seed).choice(len(codes), _QUICK_ADULT_ROWS, replace=False)
        n_private = n_private * _QUICK_ADULT_ROWS // len(codes)
        codes = codes[np.sort(chosen)]
    return _marked(codes, n_private, seed)


def _codes(table: Dataset) -> npt.NDArray[np.int32]:
    columns = [
        column.codes if isinstance(column, Encoded) else np.unique(column, return_inverse=True)[1]
        for column in table.columns.values()
    ]
    return np.column_stack(columns).astype(np.int32)


def _marked(codes: npt.NDArray[np.int32], n_private: int, seed: int) -> Marked:
    state = np.zeros(codes.shape, dtype=np.uint8)
    chosen = np.random.default_rng(seed).choice(codes.size, n_private, replace=False)
    state.ravel()[chosen] = PRIVATE
    return Marked(codes, state)


def support_of(setting: Setting, gamma: str) -> Fraction:
    """Give a support as it is mined; on small tables a larger one, or all rules are accidents."""
    return Fraction(gamma) * (_QUICK_SUPPORT if setting.is_quick else 1)


def mine_in(marked: Marked, *, delta: Number, gamma: Number) -> Mined:
    """Mine adversarial rules (FAiR), and count what they say.

    Parameters
    ----------
    marked
        The table.
    delta, gamma
        The least confidence and the least support, as shares.
    """
    started = time.perf_counter()
    rules = mine(marked.codes, marked.state, delta=delta, gamma=gamma)
    seconds = time.perf_counter() - started
    marks = rules.sensitive(marked.codes, marked.state)
    return Mined(len(rules), int(marks.sum()), int(marks.any(axis=1).sum()), seconds)


def hide_in(
    marked: Marked, *, delta: Number, gamma: Number, blank_per_round: int, single_pass: bool
) -> Hidden:
    """Blank cells against adversarial rules (GraDeS), as the paper chooses them.

    Parameters
    ----------
    marked, delta, gamma
        As of `mine_in`.
    blank_per_round
        The blanking factor k.
    single_pass
        Whether to stop after the rules that were found first, as printed; else rules are mined and
        hidden in turn until none is left.
    """
    started = time.perf_counter()
    done = hide(
        marked.codes,
        marked.state,
        delta=delta,
        gamma=gamma,
        mode="paper",
        blank_per_round=blank_per_round,
        single_pass=single_pass,
        shrink=False,
    )
    seconds = time.perf_counter() - started
    left = mine(marked.codes, done.state, delta=delta, gamma=gamma)
    return Hidden(len(done.cells), len(left), seconds)


def plain_in(marked: Marked, *, delta: Number, gamma: Number, blank_per_round: int) -> int:
    """Count the cells that the plain GraDeS blanks in one pass, as the paper prints it.

    Parameters
    ----------
    marked, delta, gamma, blank_per_round
        As of `hide_in`.
    """
    rules = mine(marked.codes, marked.state, delta=delta, gamma=gamma)
    return len(
        grades(marked.codes, marked.state, rules, delta=delta, gamma=gamma, k=blank_per_round)
    )


def mean(numbers: Sequence[float]) -> float:
    """Give the mean, rounded to a whole number where that loses nothing to speak of."""
    found = float(np.mean(numbers))
    return float(round(found)) if found >= 100 else found


def among_draws(
    what: str, printed: float, numbers: Sequence[float], *, within: float = 0.05, why: str = ""
) -> Statement:
    """Put the numbers of several draws beside the paper's, which is that of one.

    Parameters
    ----------
    what, printed, within, why
        As of `shoal.report.reproduced.compared`.
    numbers
        Ours. The paper's is reproduced where it lies among them, or near their mean.

    Examples
    --------
    >>> among_draws("blanked", 545, [520, 610]).verdict
    'reproduced'
    >>> among_draws("blanked", 1320, [800, 900], why="ties").why
    '35.6 % less than printed: ties'
    """
    found = compared(what, printed, mean(numbers), within=within, why=why)
    if len(numbers) > 1:
        spread = f" ({min(numbers):,.4g} to {max(numbers):,.4g})"
        if min(numbers) >= 100:
            spread = f" ({round(min(numbers)):,} to {round(max(numbers)):,})"
        found = replace(found, ours=found.ours + spread)
    if min(numbers) <= printed <= max(numbers):
        return replace(found, verdict="reproduced", why="")
    return found


def claimed(what: str, printed: str, ours: str, *, holds: bool, why: str = "") -> Statement:
    """Judge what the paper says in words by what we found.

    Parameters
    ----------
    what, printed, ours
        What was looked at, the paper's words, and ours.
    holds
        Whether ours bears the paper out.
    why
        Our best explanation, shown where it does not.

    Examples
    --------
    >>> claimed("rules", "decrease with the rows", "8,219 to 355", holds=True).verdict
    'reproduced'
    """
    if holds:
        return Statement(what, printed, ours, "reproduced")
    return Statement(what, printed, ours, "differs", why)


def percent(share: float) -> float:
    """Give a share in percent, without the dust of multiplying.

    Examples
    --------
    >>> percent(0.0015)
    0.15
    """
    return float(f"{share * 100:.10g}")


def fit_of_line(x: Sequence[float], y: Sequence[float]) -> float:
    """Say how well a straight line explains numbers: the share of their variance, R squared.

    Examples
    --------
    >>> fit_of_line([1, 2, 3], [2, 4, 6])
    1.0
    """
    varies = len(set(x)) > 1 and len(set(y)) > 1
    return round(float(np.corrcoef(x, y)[0, 1] ** 2), 6) if varies else 0.0
