"""The cost of hiding cells of synthetic tables, and how it grows: Figures 7 to 9 of [Aggarwal06].

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; sections 5 and 6.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from reproduction.adversarial_tables import (
    Hidden,
    Mined,
    among_draws,
    draws,
    fit_of_line,
    hide_in,
    mean,
    mine_in,
    percent,
    plain_in,
    support_of,
    zipf_marked,
)
from reproduction.reproduced import Curve, Figure, Setting, Statement, claimed, compared

_DELTA, _GAMMA, _GAMMA_BY_ROWS = "0.8", "0.001", "0.0005"
_TOGETHER = (1, 5, 10, 20, 30, 50, 100, 200)
_ROWS = (10_000, 20_000, 40_000, 60_000, 80_000, 100_000)
_STRAIGHT = 0.95
_ONE_PASS, _FIXPOINT = "one pass, as printed", "until no rule is left"
_TIES = (
    "the result depends on the order of equally heavy entries, which the paper does not state. "
    "Shoal's fast algorithm takes them column by column. The plain one (shoal.hiding.grades) takes "
    "them row by row and blanks {}; if it takes them column by column, it blanks the same entries "
    "as the fast one."
)
_N_PLAIN = 3
"""The number of draws on which the plain algorithm is run; it takes a thousand times as long."""
_NOT_COMPARABLE = "the machines are twenty years apart."
_INCREMENTAL = (
    "the paper adds up all weights again in each round; Shoal changes only those that a blanked "
    "entry touches, so rounds cost next to nothing, and most of the time is spent on mining."
)


def by_blanking_factor(setting: Setting) -> Sequence[Figure]:
    """Hide with several blanking factors (Figures 7 and 8)."""
    tables = [zipf_marked(setting, seed) for seed in draws(setting)]
    gamma = support_of(setting, _GAMMA)
    mined = [mine_in(table, delta=_DELTA, gamma=gamma) for table in tables]
    once, fully = (
        [
            [
                hide_in(
                    table, delta=_DELTA, gamma=gamma, blank_per_round=k, single_pass=single_pass
                )
                for table in tables
            ]
            for k in _TOGETHER
        ]
        for single_pass in (True, False)
    )
    plain = [
        plain_in(table, delta=_DELTA, gamma=gamma, blank_per_round=30)
        for table in tables[:_N_PLAIN]
    ]
    size = "1,000 rows, five columns" if setting.is_quick else "10,000 rows, ten columns"
    words = (
        f"Synthetic tables: {size} of ten values, Zipf factor 2; 1 % of the entries private; "
        "support 0.1 %, confidence 80 %, hidden confidence counting as in the paper. Means of "
        f"{len(tables)} draws of table and private entries, from seed {setting.seed}. A number of "
        "the paper's counts as reproduced where it lies among those of the draws, or within 5 % of "
        "their mean."
    )
    return [
        Figure(
            name="figure-7",
            title="Figure 7: size of the derived private set by blanking factor",
            setting=words,
            x_name="blanking factor",
            x=tuple(map(float, _TOGETHER)),
            y_name="entries blanked",
            curves=(_blanked(_ONE_PASS, once), _blanked(_FIXPOINT, fully)),
            statements=_about_blanking(mined, once, fully, plain),
        ),
        Figure(
            name="figure-8",
            title="Figure 8: running time by blanking factor",
            setting=words,
            x_name="blanking factor",
            x=tuple(map(float, _TOGETHER)),
            y_name="seconds, mining included",
            curves=(_seconds(_ONE_PASS, once), _seconds(_FIXPOINT, fully)),
            statements=_about_time(mined, once),
        ),
    ]


def _blanked(name: str, found: Sequence[Sequence[Hidden]]) -> Curve:
    return Curve(name, tuple(mean([one.n_blanked for one in some]) for some in found))


def _seconds(name: str, found: Sequence[Sequence[Hidden]]) -> Curve:
    return Curve(name, tuple(float(np.mean([one.seconds for one in some])) for some in found))


def _about_blanking(
    mined: Sequence[Mined],
    once: Sequence[Sequence[Hidden]],
    fully: Sequence[Sequence[Hidden]],
    plain: Sequence[int],
) -> tuple[Statement, ...]:
    single, thirties = once[0], once[_TOGETHER.index(30)]
    blanked = [one.n_blanked for one in single]
    shares = [
        one.n_blanked / max(found.n_sensitive, 1) for one, found in zip(single, mined, strict=True)
    ]
    left = [one.n_left for one in single]
    curve = _blanked("", once).values
    return (
        among_draws("sensitive entries", 61_964, [one.n_sensitive for one in mined]),
        among_draws("entries blanked, one at a time (6.1)", 545, blanked),
        among_draws("the same (the paper's second number)", 546, blanked),
        among_draws(
            "entries blanked, 30 at a time, by the fast algorithm",
            1_320,
            [one.n_blanked for one in thirties],
            why=_TIES.format(", ".join(f"{number:,}" for number in plain)),
        ),
        among_draws(
            f"the same by the plain algorithm ({_counted(len(plain), 'draw')})", 1_320, plain
        ),
        claimed(
            "share of the sensitive entries that is blanked, one at a time",
            "less than 1 %",
            f"{100 * max(shares):.2g} % at most",
            holds=max(shares) < 0.01,
        ),
        claimed(
            "entries blanked for 1,000 private ones",
            "less than 600",
            f"{max(blanked):,} at most",
            holds=max(blanked) < 600,
        ),
        claimed(
            "entries blanked as the blanking factor falls",
            "fewer",
            f"{curve[-1]:,.0f} at {_TOGETHER[-1]}, {curve[0]:,.0f} at 1",
            holds=all(less <= more for less, more in pairwise(curve)),
            why="not at every step",
        ),
        claimed(
            "adversarial rules left after one pass (section 3, step 2)",
            "none",
            f"{min(left)} to {max(left)}",
            holds=max(left) == 0,
            why="blanking an entry also takes rows away that contradict other rules, whose "
            "confidence rises. Mined and hidden in turn until none is left, it takes "
            f"{_blanked('', fully).values[0]:,.0f} entries, one at a time.",
        ),
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _about_time(mined: Sequence[Mined], once: Sequence[Sequence[Hidden]]) -> tuple[Statement, ...]:
    seconds = _seconds("", once).values
    first, thirties = seconds[0], seconds[_TOGETHER.index(30)]
    mining = max(one.seconds for one in mined)
    return (
        Statement(
            "seconds, one entry at a time",
            "1,988",
            f"{first:.2g}",
            "not judged",
            _NOT_COMPARABLE,
        ),
        Statement("seconds, 30 at a time", "157", f"{thirties:.2g}", "not judged", _NOT_COMPARABLE),
        compared(
            "how many times faster 30 at a time is than one",
            12.7,
            round(first / thirties, 2),
            within=0.25,
            why=_INCREMENTAL,
        ),
        claimed(
            "seconds to mine 10,000 rows",
            "less than 5",
            f"{mining:.2g} at most",
            holds=mining < 5,
        ),
    )


# --- Figure 9 ------------------------------------------------------------------------------------


def by_rows(setting: Setting) -> Sequence[Figure]:
    """Mine and hide in tables of increasing size (Figure 9)."""
    gamma = support_of(setting, _GAMMA_BY_ROWS)
    mined: list[list[Mined]] = []
    hidden: list[list[Hidden]] = []
    sizes = _ROWS[:2] if setting.is_quick else _ROWS
    for rows in sizes:
        tables = [zipf_marked(setting, seed, rows=rows) for seed in draws(setting)[:2]]
        mined.append([mine_in(table, delta=_DELTA, gamma=gamma) for table in tables])
        hidden.append(
            [
                hide_in(table, delta=_DELTA, gamma=gamma, blank_per_round=1, single_pass=True)
                for table in tables
            ]
        )
    n_rows = tuple(rows // 10 if setting.is_quick else rows for rows in sizes)
    words = (
        "Synthetic tables: ten columns of ten values, Zipf factor 2; 1 % of the entries private; "
        f"support 0.05 %, confidence 80 %. Means of {len(mined[0])} draws of table and private "
        f"entries, from seed {setting.seed}. One pass, one entry at a time."
    )
    rules = tuple(mean([one.n_rules for one in some]) for some in mined)
    sensitive = tuple(mean([one.n_sensitive for one in some]) for some in mined)
    mining = Curve("mine", tuple(float(np.mean([one.seconds for one in some])) for some in mined))
    return [
        Figure(
            name="figure-9",
            title="Figure 9: adversarial rules and sensitive entries by rows",
            setting=words,
            x_name="rows",
            x=tuple(map(float, n_rows)),
            y_name="number",
            curves=(
                Curve("adversarial rules", rules),
                Curve("sensitive entries", sensitive),
                _blanked("entries blanked", hidden),
            ),
            statements=_about_rows(rules, sensitive),
            is_log=True,
        ),
        Figure(
            name="figure-9-time",
            title="Section 6.1: running time by rows",
            setting=words,
            x_name="rows",
            x=tuple(map(float, n_rows)),
            y_name="seconds",
            curves=(_seconds("mine and hide", hidden), mining),
            statements=_about_growth(n_rows, mining, sensitive, _seconds("", hidden)),
        ),
    ]


def _about_rows(rules: Sequence[float], sensitive: Sequence[float]) -> tuple[Statement, ...]:
    return (
        claimed(
            "rules as the table grows",
            "decrease",
            f"{rules[0]:,.0f} to {rules[-1]:,.0f}",
            holds=all(more >= less for more, less in pairwise(rules)),
            why="not at every step",
        ),
        claimed(
            "sensitive entries as the table grows tenfold",
            "scale more modestly than the table",
            f"{sensitive[0]:,.0f} to {sensitive[-1]:,.0f}, at most {max(sensitive):,.0f}",
            holds=max(sensitive) < sensitive[0] * _ROWS[-1] / _ROWS[0],
        ),
    )


def _about_growth(
    n_rows: Sequence[int], mining: Curve, sensitive: Sequence[float], whole: Curve
) -> tuple[Statement, ...]:
    linear = fit_of_line(n_rows, mining.values)
    by_entries = fit_of_line(sensitive, whole.values)
    by_size = fit_of_line(n_rows, whole.values)
    return (
        claimed(
            "seconds of mining by rows",
            "linear",
            f"{mining.values[0]:.2g} to {mining.values[-1]:.2g}; a straight line explains "
            f"{percent(linear):.3g} %",
            holds=linear >= _STRAIGHT,
        ),
        claimed(
            "seconds of the whole",
            "mainly proportional to the sensitive entries, since hiding dominates",
            f"a straight line over sensitive entries explains {percent(by_entries):.3g} % of them, "
            f"one over rows {percent(by_size):.3g} %",
            holds=by_entries >= _STRAIGHT,
            why="here mining dominates, and grows with the rows: " + _INCREMENTAL,
        ),
    )
