"""The cost of hiding cells of Adult: Figures 10 to 12 of [Aggarwal06].

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 6.2.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np

from reproduction.adversarial_tables import (
    Hidden,
    Marked,
    Mined,
    adult_marked,
    draws,
    hide_in,
    mean,
    mine_in,
    percent,
)
from reproduction.reproduced import Curve, Figure, Setting, Statement, claimed, compared

_DELTA, _GAMMA = "0.8", "0.02"
_PRIVATE = (10_000, 20_000, 30_000, 40_000, 50_000)
_MIDDLE = 30_000
_SUPPORTS = ("0.005", "0.01", "0.02", "0.03", "0.04", "0.05", "0.1")
_TOGETHER = 10_000
_QUICK_TOGETHER = 100
_SMALL_FACTOR = 2
_NOT_MUCH = 1.1
_FEW_SECONDS = 10
_RULES, _SENSITIVE = "adversarial rules", "sensitive entries"
_PRINTED, _FULL, _ONE = "one pass, as printed", "until no rule is left", "one pass, one at a time"
_BY_THOUSANDS = (
    "with 10,000 entries per round, the paper's choice, far more are blanked than needed, in "
    "multiples of 10,000 or until no sensitive entry is left; much of the slow growth is that."
)


_IN_THOUSANDS = (
    "With 10,000 entries per round, the paper's choice, the set grows by that number at a time."
)


class _Found:
    """The results of mining and hiding on the draws of one point of a figure."""

    def __init__(
        self, setting: Setting, make: Callable[[int], Marked], gamma: str = _GAMMA
    ) -> None:
        tables = [make(seed) for seed in draws(setting)[:2]]
        together = _QUICK_TOGETHER if setting.is_quick else _TOGETHER
        self.n_draws = len(tables)
        self.n_columns = tables[0].codes.shape[1]
        self.n_rows = len(tables[0].codes)
        self.n_values = [len(np.unique(column)) for column in tables[0].codes.T]
        self.mined: list[Mined] = [mine_in(one, delta=_DELTA, gamma=gamma) for one in tables]
        self.hidden: dict[str, list[Hidden]] = {
            name: [
                hide_in(one, delta=_DELTA, gamma=gamma, blank_per_round=k, single_pass=is_single)
                for one in tables
            ]
            for name, k, is_single in (
                (_PRINTED, together, True),
                (_FULL, together, False),
                (_ONE, 1, True),
            )
        }

    @property
    def n_rules(self) -> float:
        return mean([one.n_rules for one in self.mined])

    @property
    def n_sensitive(self) -> float:
        return mean([one.n_sensitive for one in self.mined])

    def n_blanked(self, name: str) -> float:
        return mean([one.n_blanked for one in self.hidden[name]])

    def seconds(self, name: str) -> float:
        return float(np.mean([one.seconds for one in self.hidden[name]]))


def _setting(setting: Setting, found: _Found, words: str) -> str:
    size = f"a sample of {found.n_rows:,}" if setting.is_quick else f"the {found.n_rows:,} complete"
    factor = _QUICK_TOGETHER if setting.is_quick else _TOGETHER
    return (
        f"Adult, {size} rows; without race, capital_gain, capital_loss, native_country and salary, "
        "age cut into 10 and fnlwgt into 150 intervals of equal width. Confidence 80 %, blanking "
        f"factor {factor:,}. {words} Means of {found.n_draws} draws of private entries, from seed "
        f"{setting.seed}."
    )


def _curves(found: Sequence[_Found]) -> tuple[Curve, ...]:
    return (
        Curve(_SENSITIVE, tuple(one.n_sensitive for one in found)),
        *(
            Curve(f"entries blanked: {name}", tuple(one.n_blanked(name) for one in found))
            for name in (_PRINTED, _FULL, _ONE)
        ),
    )


# --- Figure 10 -----------------------------------------------------------------------------------


def by_private_set(setting: Setting) -> Sequence[Figure]:
    """Hide private sets of increasing size in Adult (Figure 10)."""

    def table(n_private: int) -> Callable[[int], Marked]:
        return lambda seed: adult_marked(setting, seed, n_private)

    places = _PRIVATE[::4] if setting.is_quick else _PRIVATE
    found = [_Found(setting, table(n_private)) for n_private in places]
    return [
        Figure(
            name="figure-10",
            title="Figure 10: derived private set and sensitive entries (Adult)",
            setting=_setting(setting, found[0], "Support 2 %."),
            x_name="private entries",
            x=tuple(map(float, places)),
            y_name="entries",
            curves=_curves(found),
            statements=(*_about_adult(found[0]), *_about_private_set(found)),
        )
    ]


def _about_adult(found: _Found) -> list[Statement]:
    return [
        compared("rows of Adult without missing values", 45_222, found.n_rows, within=0),
        compared("columns that are left", 10, found.n_columns, within=0),
        compared("values of age", 10, found.n_values[0], within=0),
        compared(
            "values of fnlwgt",
            150,
            found.n_values[2],
            within=0,
            why="only so many of 150 intervals of equal width hold anybody; the paper does not say "
            "how it cuts. It does not matter: with 150 groups of equally many people there are "
            "1,489 rules instead of 1,495 if 30,000 entries are private (seed 0).",
        ),
        compared(
            "values of education-num",
            17,
            found.n_values[4],
            within=0,
            why="the column has 16 values and needs no discretization.",
        ),
    ]


def _about_private_set(found: Sequence[_Found]) -> list[Statement]:
    sensitive = [one.n_sensitive for one in found]
    blanked = [one.n_blanked(_PRINTED) for one in found]
    change = (max(sensitive) - min(sensitive)) / max(sensitive)
    growth = blanked[-1] / max(blanked[0], 1)
    most = _PRIVATE[-1] / _PRIVATE[0]
    single = [one.n_blanked(_ONE) for one in found]
    return [
        claimed(
            "sensitive entries as the private set grows fivefold",
            "not very sensitive to it",
            f"{sensitive[0]:,.0f} to {sensitive[-1]:,.0f}, a change of {percent(change):.2g} %",
            holds=change <= 0.2,
        ),
        claimed(
            "entries blanked as the private set grows",
            "increase",
            f"{blanked[0]:,.0f} to {blanked[-1]:,.0f}",
            holds=all(less <= more for less, more in pairwise(blanked)),
        ),
        claimed(
            "how many times more are blanked for five times as many private ones",
            "quite slowly: less than in proportion",
            f"{growth:.2g}",
            holds=growth < most,
        ),
        Statement(
            "the same, one at a time",
            "",
            f"{single[-1] / max(single[0], 1):.2g} ({single[0]:,.0f} to {single[-1]:,.0f})",
            "not stated in the paper",
            _BY_THOUSANDS,
        ),
    ]


# --- Figures 11 and 12 ---------------------------------------------------------------------------


def by_support_on_adult(setting: Setting) -> Sequence[Figure]:
    """Hide the same entries of Adult from rules of several supports (Figures 11 and 12)."""

    def table(seed: int) -> Marked:
        return adult_marked(setting, seed, _MIDDLE)

    places = _SUPPORTS[-2:] if setting.is_quick else _SUPPORTS
    found = [_Found(setting, table, gamma) for gamma in places]
    x = tuple(percent(float(gamma)) for gamma in places)
    words = _setting(setting, found[0], "30,000 private entries.")
    rules = Curve(_RULES, tuple(one.n_rules for one in found))
    seconds = tuple(
        Curve(name, tuple(one.seconds(name) for one in found)) for name in (_PRINTED, _FULL, _ONE)
    )
    return [
        Figure(
            name="figure-11",
            title="Figure 11: sensitive entries, adversarial rules and derived private set by "
            "support (Adult)",
            setting=words,
            x_name="support, %",
            x=x,
            y_name="number",
            curves=(rules, *_curves(found)),
            statements=_about_support(found),
            is_log=True,
        ),
        Figure(
            name="figure-12",
            title="Figure 12: running time by support (Adult)",
            setting=words,
            x_name="support, %",
            x=x,
            y_name="seconds, mining included",
            curves=seconds,
            statements=_about_seconds(seconds[0].values),
        ),
    ]


def _about_support(found: Sequence[_Found]) -> tuple[Statement, ...]:
    kinds = {
        _RULES: [one.n_rules for one in found],
        _SENSITIVE: [one.n_sensitive for one in found],
        "entries blanked": [one.n_blanked(_PRINTED) for one in found],
    }
    blanked = kinds["entries blanked"]
    factor = max(blanked) / _MIDDLE
    single = [one.n_blanked(_ONE) for one in found]
    return (
        *(
            claimed(
                f"{what} as the support goes down",
                "go up",
                f"{numbers[-1]:,.0f} to {numbers[0]:,.0f}",
                holds=all(more >= less for more, less in pairwise(numbers)),
                why=f"not at every step: {_BY_THOUSANDS}",
            )
            for what, numbers in kinds.items()
        ),
        claimed(
            "entries blanked, as a multiple of the private ones",
            "within a small factor",
            f"at most {factor:.2g}; one at a time {max(single) / _MIDDLE:.2g}",
            holds=factor <= _SMALL_FACTOR,
        ),
        claimed(
            "entries blanked over all supports",
            "do not change very much",
            f"{_range(blanked)}; one at a time {_range(single)}",
            holds=max(blanked) <= _NOT_MUCH * min(blanked),
            why=f"judged by a change of {percent(_NOT_MUCH - 1):g} % at most. {_IN_THOUSANDS}",
        ),
    )


def _range(numbers: Sequence[float]) -> str:
    """Write the range of numbers, and by how much the largest exceeds the least."""
    low, high = min(numbers), max(numbers)
    return f"{low:,.0f} to {high:,.0f} ({high / low - 1:+.0%})".replace("%", " %")


def _about_seconds(seconds: Sequence[float]) -> tuple[Statement, ...]:
    return (
        claimed(
            "seconds over all supports (summary of section 6)",
            "a few seconds",
            f"{min(seconds):.2g} to {max(seconds):.2g}",
            holds=max(seconds) <= _FEW_SECONDS,
        ),
    )
