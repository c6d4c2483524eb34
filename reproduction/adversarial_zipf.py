"""Rules and sensitive entries of synthetic tables: Figures 3 to 6 of [Aggarwal06].

References
----------
[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 6.1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from reproduction.adversarial_tables import (
    Marked,
    Mined,
    among_draws,
    draws,
    fit_of_line,
    mean,
    mine_in,
    percent,
    support_of,
    zipf_marked,
)
from reproduction.reproduced import Curve, Figure, Setting, Statement, claimed

_DELTA, _GAMMA = "0.6", "0.0005"
_FACTORS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0)
_SHAPES = ((6, 10), (8, 10), (10, 10), (10, 20), (10, 50))
_SUPPORTS = ("0.0005", "0.001", "0.002", "0.003", "0.004", "0.005", "0.0075", "0.01")
_CONFIDENCES = ("0.5", "0.6", "0.7", "0.8", "0.9", "1")
_SHARES = (0.001, 0.0025, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05)
_STRAIGHT = 0.95
_FEWER_DRAWS = 3
_NEARLY = 0.02
_RULES, _SENSITIVE = "adversarial rules", "sensitive entries"
_SATURATED = (
    "with factor 2 and ten values the most frequent value makes up 64.5 % of a column, so at a "
    "confidence of 60 % nearly every antecedent predicts it, and nearly every entry is sensitive "
    "at any support: there is nothing left to grow. Above that, at 70 %, a straight line explains "
)


def _setting(setting: Setting, words: str, n_draws: int | None = None) -> str:
    n_draws = len(draws(setting)[:n_draws])
    size = (
        "1,000 rows, at most five columns of ten values, ten times the support"
        if setting.is_quick
        else "10,000 rows, ten columns of ten values"
    )
    return (
        f"Synthetic tables: {size}, Zipf factor 2, 1 % of the entries private, unless stated "
        f"otherwise. {words} Means of {n_draws} draws of table and private entries, from seed "
        f"{setting.seed}. The paper does not state the places along the axis."
    )


def _mined(
    setting: Setting,
    make: Callable[[int], Marked],
    *,
    delta: str = _DELTA,
    gamma: str = _GAMMA,
    n_draws: int | None = None,
) -> list[Mined]:
    support = support_of(setting, gamma)
    return [mine_in(make(seed), delta=delta, gamma=support) for seed in draws(setting)[:n_draws]]


def _rules(found: Sequence[Sequence[Mined]]) -> tuple[float, ...]:
    return tuple(mean([one.n_rules for one in some]) for some in found)


def _sensitive(found: Sequence[Sequence[Mined]]) -> tuple[float, ...]:
    return tuple(mean([one.n_sensitive for one in some]) for some in found)


def _both(found: Sequence[Sequence[Mined]]) -> tuple[Curve, Curve]:
    return Curve(_RULES, _rules(found)), Curve(_SENSITIVE, _sensitive(found))


def _told(share: float) -> str:
    return f"{percent(share):.3g} %"


def _ends(values: Sequence[float]) -> str:
    return f"{values[0]:,.0f} to {values[-1]:,.0f}"


# --- Figure 3 ------------------------------------------------------------------------------------


def by_zipf_factor(setting: Setting) -> Sequence[Figure]:
    """Mine tables of several factors, numbers of columns and numbers of values (Figure 3)."""
    found: dict[tuple[int, int], list[list[Mined]]] = {
        (dimensions, cardinality): [
            _mined(setting, _table(setting, dimensions, cardinality, factor), n_draws=_FEWER_DRAWS)
            for factor in _FACTORS
        ]
        for dimensions, cardinality in _SHAPES
    }
    rules = {shape: _rules(mined) for shape, mined in found.items()}
    sensitive = {shape: _sensitive(mined) for shape, mined in found.items()}
    words = "Confidence 60 %, support 0.05 %."
    return [
        Figure(
            name="figure-3-rules",
            title="Figure 3: adversarial rules by Zipf factor",
            setting=_setting(setting, words, _FEWER_DRAWS),
            x_name="Zipf factor",
            x=_FACTORS,
            y_name=_RULES,
            curves=_curves(rules),
            statements=_about_rules(rules),
            is_log=True,
        ),
        Figure(
            name="figure-3-sensitive",
            title="Figure 3: sensitive entries by Zipf factor",
            setting=_setting(setting, words, _FEWER_DRAWS),
            x_name="Zipf factor",
            x=_FACTORS,
            y_name=_SENSITIVE,
            curves=_curves(sensitive),
            statements=_about_sensitive(sensitive[10, 10]),
        ),
    ]


def _table(
    setting: Setting, dimensions: int, cardinality: int, factor: float
) -> Callable[[int], Marked]:
    def make(seed: int) -> Marked:
        return zipf_marked(
            setting, seed, dimensions=dimensions, cardinality=cardinality, factor=factor
        )

    return make


def _curves(by_shape: Mapping[tuple[int, int], tuple[float, ...]]) -> tuple[Curve, ...]:
    return tuple(
        Curve(f"{dimensions} columns of {cardinality} values", values)
        for (dimensions, cardinality), values in by_shape.items()
    )


def _about_rules(rules: Mapping[tuple[int, int], tuple[float, ...]]) -> tuple[Statement, ...]:
    peaks = {_FACTORS[values.index(max(values))] for values in rules.values()}
    default = rules[10, 10]
    grows = _holds_at(rules, (6, 10), (8, 10), (10, 10))
    falls = _holds_at(rules, (10, 50), (10, 20), (10, 10))
    return (
        claimed(
            "the factor with most rules, over all curves",
            "2 to 3",
            " or ".join(f"{peak:g}" for peak in sorted(peaks)),
            holds=all(2 <= peak <= 3 for peak in peaks),
        ),
        claimed(
            "rules as the factor rises to 5",
            "decrease",
            f"{max(default):,.0f} at most, {default[-1]:,.0f} at 5 (ten columns of ten values)",
            holds=default[-1] < max(default),
        ),
        claimed(
            "rules by number of columns, at every factor",
            "increase with it",
            f"so at {sum(grows)} of {len(grows)} factors",
            holds=all(grows),
        ),
        claimed(
            "rules by number of values, at every factor",
            "decrease with it",
            f"so at {sum(falls)} of {len(falls)} factors; at {_alike(rules)} of these by less "
            "than 2 %, where further values hardly occur",
            holds=all(falls),
        ),
    )


def _holds_at(
    rules: Mapping[tuple[int, int], tuple[float, ...]], *shapes: tuple[int, int]
) -> list[bool]:
    """Return, for each factor, whether no shape has fewer rules than the shape before it."""
    return [
        all(
            rules[less][place] <= rules[more][place] * (1 + _NEARLY)
            for less, more in pairwise(shapes)
        )
        for place in range(len(_FACTORS))
    ]


def _alike(rules: Mapping[tuple[int, int], tuple[float, ...]]) -> int:
    """Count the factors at which ten and fifty values have nearly the same number of rules."""
    pairs = zip(rules[10, 10], rules[10, 50], strict=True)
    return sum(abs(few - many) <= _NEARLY * many for few, many in pairs)


def _about_sensitive(sensitive: Sequence[float]) -> tuple[Statement, ...]:
    rises = all(later >= earlier * (1 - _NEARLY) for earlier, later in pairwise(sensitive))
    return (
        claimed(
            "sensitive entries as the factor rises (ten columns of ten values)",
            "go up, bounded by the 99,000 entries that are not private",
            _ends(sensitive),
            holds=rises and sensitive[-1] > sensitive[0] and max(sensitive) <= 99_000,
        ),
        claimed(
            "sensitive entries at a high factor",
            "do not drop",
            f"{sensitive[-1]:,.0f} at 5, {max(sensitive):,.0f} at most",
            holds=sensitive[-1] >= max(sensitive) * (1 - _NEARLY),
        ),
    )


# --- Figures 4 to 6 ------------------------------------------------------------------------------


def by_support(setting: Setting) -> Sequence[Figure]:
    """Mine the default table at several supports (Figure 4)."""
    tables = _default_tables(setting)
    found = [_mined(setting, tables, gamma=gamma) for gamma in _SUPPORTS]
    stricter = _sensitive([_mined(setting, tables, gamma=one, delta="0.7") for one in _SUPPORTS])
    x = tuple(percent(float(gamma)) for gamma in _SUPPORTS)
    curves = _both(found)
    rules, sensitive = (curve.values for curve in curves)
    logs = [math.log(max(number, 1)) for number in rules]
    fits = fit_of_line(x, logs), fit_of_line(x, rules)
    straight = fit_of_line(x, sensitive)
    return [
        Figure(
            name="figure-4",
            title="Figure 4: adversarial rules and sensitive entries by support",
            setting=_setting(setting, "Confidence 60 %."),
            x_name="support, %",
            x=x,
            y_name="number",
            curves=(*curves, Curve(f"{_SENSITIVE} at confidence 70 %", stricter)),
            statements=(
                claimed(
                    "rules as the support goes down",
                    "increase exponentially",
                    f"{_ends(rules[::-1])}; a straight line explains {_told(fits[0])} of their "
                    f"logarithms, {_told(fits[1])} of themselves",
                    holds=rules[0] > rules[-1] and fits[0] > fits[1],
                    why="they grow less than exponentially",
                ),
                claimed(
                    "sensitive entries by support",
                    "change linearly",
                    f"{_ends(sensitive[::-1])}; a straight line explains {_told(straight)}",
                    holds=straight >= _STRAIGHT,
                    why=f"{_SATURATED}{_told(fit_of_line(x, stricter))}.",
                ),
            ),
        )
    ]


def by_confidence(setting: Setting) -> Sequence[Figure]:
    """Mine the default table at several confidences (Figure 5)."""
    tables = _default_tables(setting)
    found = [_mined(setting, tables, delta=delta) for delta in _CONFIDENCES]
    curves = _both(found)
    certain = found[-1]
    n_rows = 10_000
    entries = [percent(one.n_sensitive / (10 * n_rows)) for one in certain]
    falls = all(earlier >= later for curve in curves for earlier, later in pairwise(curve.values))
    return [
        Figure(
            name="figure-5",
            title="Figure 5: adversarial rules and sensitive entries by confidence",
            setting=_setting(setting, "Support 0.05 %."),
            x_name="confidence, %",
            x=tuple(percent(float(delta)) for delta in _CONFIDENCES),
            y_name="number",
            curves=curves,
            statements=(
                claimed(
                    "rules and sensitive entries at a lower confidence",
                    "more",
                    f"rules {_ends(curves[0].values[::-1])}, sensitive entries "
                    f"{_ends(curves[1].values[::-1])} from 100 % to 50 %",
                    holds=falls,
                ),
                claimed(
                    "rules of 100 % confidence",
                    "a non-trivial number",
                    f"{curves[0].values[-1]:,.0f}",
                    holds=curves[0].values[-1] >= 100,
                ),
                among_draws(
                    "tuples that rules of 100 % confidence affect, %",
                    20,
                    [percent(one.n_affected / n_rows) for one in certain],
                    why=f"{min(entries):.3g} to {max(entries):.3g} % of the entries are sensitive, "
                    "which is what the figure shows, so the paper may mean these.",
                ),
            ),
        )
    ]


def by_private_share(setting: Setting) -> Sequence[Figure]:
    """Mine tables with an increasing share of private entries (Figure 6)."""

    def table(share: float) -> Callable[[int], Marked]:
        return lambda seed: zipf_marked(setting, seed, private=share)

    rules = _rules([_mined(setting, table(share)) for share in _SHARES])
    x = tuple(percent(share) for share in _SHARES)
    n_near = _SHARES.index(0.01) + 1
    fit, near = fit_of_line(x, rules), fit_of_line(x[:n_near], rules[:n_near])
    slopes = [
        (rules[place + 1] - rules[place]) / ((x[place + 1] - x[place]) * 1_000)
        for place in (0, len(x) - 2)
    ]
    return [
        Figure(
            name="figure-6",
            title="Figure 6: adversarial rules by size of the directly private set",
            setting=_setting(setting, "Confidence 60 %, support 0.05 %."),
            x_name="private entries, %",
            x=x,
            y_name=_RULES,
            curves=(Curve(_RULES, rules),),
            statements=(
                claimed(
                    "rules if the directly private set is small",
                    "few",
                    f"{rules[0]:,.0f} at {x[0]:g} %, {rules[-1]:,.0f} at {x[-1]:g} %",
                    holds=rules[0] < rules[-1] / 2,
                ),
                claimed(
                    "rules as the directly private set grows",
                    "increase linearly",
                    f"a straight line explains {_told(fit)}; each further private entry brings "
                    f"{slopes[0]:.0f} rules at first and {slopes[1]:.0f} in the end",
                    holds=fit >= _STRAIGHT,
                    why="only so many antecedents have the support; once each of them fires at "
                    "some private entry, more of these bring few new rules. The paper does not "
                    f"state its range: up to 1 % a straight line explains {_told(near)}.",
                ),
            ),
        )
    ]


def _default_tables(setting: Setting) -> Callable[[int], Marked]:
    """Return a function that generates the default table of each draw once."""
    drawn = {seed: zipf_marked(setting, seed) for seed in draws(setting)}
    return drawn.__getitem__
