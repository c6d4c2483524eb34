"""The tables of [Aggarwal06] with randomly drawn private cells, and mining and hiding in them.

The synthetic tables are those of section 6.1: independent Zipf columns, by default ten columns of
ten values, factor 2 and 10,000 rows, of which 1 % of the cells are private. Adult is that of
section 6.2. Every experiment is repeated on several draws of private cells; a synthetic table is
drawn anew each time.

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

from reproduction.reproduced import Setting, Statement, compared
from shoal.core.arrays import Bytes, Small
from shoal.core.exact import Number
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset, Encoded
from shoal.datasets.synthetic import zipf
from shoal.hiding.cells import PRIVATE
from shoal.hiding.grades import grades
from shoal.hiding.hiding import hide
from shoal.hiding.mining import mine

_DRAWS = 5
_QUICK_ROWS, _QUICK_COLUMNS, _QUICK_ADULT_ROWS = 1_000, 5, 400
_QUICK_SUPPORT = 10


@dataclass(frozen=True, eq=False)
class Marked:
    """A table in codes, with marks on its private cells."""

    codes: Small
    state: Bytes


@dataclass(frozen=True)
class Mined:
    """The result of mining: rules, sensitive entries, rows with such an entry, and seconds."""

    n_rules: int
    n_sensitive: int
    n_affected: int
    seconds: float


@dataclass(frozen=True)
class Hidden:
    """The result of hiding: the derived private set, the rules that remain, and seconds."""

    n_blanked: int
    n_left: int
    seconds: float


def draws(setting: Setting) -> range:
    """Return the seeds of the draws on which an experiment is repeated."""
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
    """Generate a synthetic table and draw its private cells; a small table in a quick run.

    `dimensions`, `cardinality`, `factor` and `rows` are those of `shoal.datasets.zipf`; `private`
    is the share of private cells.
    """
    if setting.is_quick:
        dimensions, rows = min(dimensions, _QUICK_COLUMNS), rows * _QUICK_ROWS // 10_000
    made = zipf(dimensions=dimensions, cardinality=cardinality, factor=factor, rows=rows, seed=seed)
    codes = _codes(made)
    return _marked(codes, round(codes.size * private), seed)


def adult_marked(setting: Setting, seed: int, n_private: int) -> Marked:
    """Read Adult as discretized in section 6.2, and draw its private cells.

    In a quick run a sample is read, and the number of private cells is reduced in proportion.
    """
    codes = _codes(adult(setting.adult_file, "adversarial"))
    if setting.is_quick:
        chosen = np.random.default_rng(seed).choice(len(codes), _QUICK_ADULT_ROWS, replace=False)
        n_private = n_private * _QUICK_ADULT_ROWS // len(codes)
        codes = codes[np.sort(chosen)]
    return _marked(codes, n_private, seed)


def _codes(table: Dataset) -> Small:
    columns = [
        column.codes if isinstance(column, Encoded) else np.unique(column, return_inverse=True)[1]
        for column in table.columns.values()
    ]
    return np.column_stack(columns).astype(np.int32)


def _marked(codes: Small, n_private: int, seed: int) -> Marked:
    state = np.zeros(codes.shape, dtype=np.uint8)
    chosen = np.random.default_rng(seed).choice(codes.size, n_private, replace=False)
    state.ravel()[chosen] = PRIVATE
    return Marked(codes, state)


def support_of(setting: Setting, gamma: str) -> Fraction:
    """Return the support to mine with; larger on small tables, where most rules hold by chance."""
    return Fraction(gamma) * (_QUICK_SUPPORT if setting.is_quick else 1)


def mine_in(marked: Marked, *, delta: Number, gamma: Number) -> Mined:
    """Mine adversarial rules (FAiR) of confidence `delta` and support `gamma`, and count them."""
    started = time.perf_counter()
    rules = mine(marked.codes, marked.state, delta=delta, gamma=gamma)
    seconds = time.perf_counter() - started
    marks = rules.sensitive(marked.codes, marked.state)
    return Mined(len(rules), int(marks.sum()), int(marks.any(axis=1).sum()), seconds)


def hide_in(
    marked: Marked, *, delta: Number, gamma: Number, blank_per_round: int, single_pass: bool
) -> Hidden:
    """Blank cells against adversarial rules (GraDeS), choosing cells as the paper does.

    `blank_per_round` is the blanking factor k. A single pass stops after the rules that were found
    first, as printed; otherwise rules are mined and hidden in turn until none is left.
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
    """Count the cells that the plain GraDeS blanks in one pass, as printed in the paper."""
    rules = mine(marked.codes, marked.state, delta=delta, gamma=gamma)
    return len(
        grades(marked.codes, marked.state, rules, delta=delta, gamma=gamma, k=blank_per_round)
    )


def mean(numbers: Sequence[float]) -> float:
    """Return the mean, rounded to a whole number if that hardly changes it."""
    found = float(np.mean(numbers))
    return float(round(found)) if found >= 100 else found


def among_draws(
    what: str, printed: float, numbers: Sequence[float], *, within: float = 0.05, why: str = ""
) -> Statement:
    """Compare the results of several draws with the paper's number, which is that of one draw.

    The paper's number is reproduced if it lies within the range of ours, or near their mean. The
    other parameters are those of `reproduction.reproduced.compared`.

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


def percent(share: float) -> float:
    """Return a share in percent, without rounding errors of the multiplication.

    Examples
    --------
    >>> percent(0.0015)
    0.15
    """
    return float(f"{share * 100:.10g}")


def fit_of_line(x: Sequence[float], y: Sequence[float]) -> float:
    """Return R squared of a straight line through the points: the share of variance it explains.

    Examples
    --------
    >>> fit_of_line([1, 2, 3], [2, 4, 6])
    1.0
    """
    varies = len(set(x)) > 1 and len(set(y)) > 1
    return round(float(np.corrcoef(x, y)[0, 1] ** 2), 6) if varies else 0.0
