"""The claims of [Li08] about its figures, judged by ours: Injector against Anatomy.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from reproduction.injector_trials import (
    ANATOMY,
    INJECTORS,
    PRINTED,
    WITHOUT_RULES,
    Axis,
    Place,
    Trials,
)
from reproduction.reproduced import Figure, Statement
from shoal.engines.sql.table import EngineTable
from shoal.injector.attack import Background
from shoal.injector.miners import mine_negative_rules
from shoal.release.opened import Release
from shoal.workflow.attack import attack

UNSURE_AXIS = "The scan leaves open whether this axis is one of Figure 7 or of Figure 8."


def panel(place: str, what: str, axis: Axis, trials: Trials, column: int, setting: str) -> Figure:
    """Draw the errors of every method along an axis, in percent.

    `place` is the number and letter of the panel, such as ``6a``; the errors are in `column` of
    `trials`.
    """
    return Figure(
        name=f"figure-{place}",
        title=f"Figure {place[:-1]}({place[-1]}): {what}, {axis.words}",
        setting=setting,
        x_name=axis.name,
        x=axis.x,
        y_name=f"{what} (%)",
        curves=trials.curves(axis, column, 100),
    )


def percent(number: float) -> str:
    """Write a number of percent.

    Examples
    --------
    >>> percent(15.1322), percent(100.0)
    ('15.1 %', '100 %')
    """
    return f"{number:.3g} %"


def span(numbers: Sequence[float]) -> str:
    """Write the range of some numbers of percent.

    Examples
    --------
    >>> span([7.25, 9.5])
    '7.25 to 9.5 %'
    """
    low, high = f"{min(numbers):.3g}", f"{max(numbers):.3g}"
    return f"{high} %" if low == high else f"{low} to {high} %"


def judged(
    method: str, what: str, claim: str, ours: str, *, holds: bool, why: str = ""
) -> Statement:
    """Judge a claim of the paper about Injector.

    The paper's claims are about the printed choice of rows; for other choices the result is only
    stated. `why` is our explanation, shown only if the claim does not hold.

    Examples
    --------
    >>> judged("Injector, printed", "errors", "smaller", "larger", holds=False).verdict
    'differs'
    >>> judged("Injector, similar", "errors", "smaller", "larger", holds=False).verdict
    'not stated in the paper'
    """
    if method != PRINTED:
        note = f"Rows are chosen in a way of Shoal's own. {'' if holds else why}".strip()
        return Statement(what, "", ours, "not stated in the paper", note)
    return Statement(what, claim, ours, "reproduced" if holds else "differs", "" if holds else why)


def smaller_than_anatomy(
    what: str, figure: Figure, why: Mapping[str, str]
) -> tuple[Statement, ...]:
    """State, for each way to choose rows, whether Injector's errors are smaller everywhere.

    `why` is our explanation by method, shown only if they are not.
    """
    by_name = {curve.name: curve.values for curve in figure.curves}
    anatomy = by_name[ANATOMY]
    statements = []
    for method in INJECTORS:
        pairs = list(zip(by_name[method], anatomy, strict=True))
        n_smaller = sum(own < other for own, other in pairs)
        statements.append(
            judged(
                method,
                f"{what} of {method}, by {figure.x_name}",
                "smaller than Anatomy's everywhere",
                f"smaller at {n_smaller} of {len(pairs)} places: {span(by_name[method])}, "
                f"Anatomy {span(anatomy)}",
                holds=n_smaller == len(pairs),
                why=why[method],
            )
        )
    return tuple(statements)


def fits_axis(what: str, figure: Figure, end: float, why: str, doubt: str = "") -> Statement:
    """Compare our bars with the end of the axis of the paper's figure, as far as it is legible.

    Bars longer than the axis cannot be the paper's. Bars that fit prove little, so they are not
    judged, and neither is anything if there is a `doubt` about the axis. `why` is our explanation,
    shown only if ours are longer.

    Examples
    --------
    >>> from reproduction.reproduced import Curve
    >>> figure = Figure("7a", "", "", "l", (3.0,), "%", (Curve("Anatomy", (44.0,)),))
    >>> fits_axis("false negatives", figure, 12, "other rules").verdict
    'differs'
    """
    most = max(value for curve in figure.curves for value in curve.values)
    fits = most <= end
    told = "The figure prints no numbers; ours fit its axis." if fits else why
    return Statement(
        f"{what}, the largest, by {figure.x_name}",
        f"at most {end:,g} (the end of the axis)",
        f"{most:,.3g}",
        "not judged" if fits or doubt else "differs",
        f"{told} {doubt}".strip(),
    )


def excluded_share(table: EngineTable, release: Release) -> float:
    """Return the share of values in buckets that rules of the table exclude for their people.

    Rules are mined with the default minimum expectation, and buckets are made with the default l.
    """
    place = Place()
    rules = mine_negative_rules(table, min_exp=place.min_exp)
    found = attack(release, Background(rules=rules, ell=place.ell))["background"]
    buckets = release.published.buckets
    assert buckets is not None
    n_values = np.diff(np.append(buckets.starts, len(buckets.bucket)))
    mean = float(n_values @ buckets.sizes) / float(buckets.sizes.sum())
    possible = found.headline["mean possible values"]
    assert isinstance(possible, float)
    return 1 - possible / mean


def why_not_better(trials: Trials, column: int, excluded: float) -> dict[str, str]:
    """Explain, by method, errors that are not smaller than Anatomy's by the effect of the rules.

    `excluded` is the result of `excluded_share`.
    """

    def shown(method: str) -> str:
        return percent(100 * trials.mean(method, Place(), column))

    return {
        method: (
            f"What rules can keep apart are {percent(100 * excluded)} of the values in Anatomy's "
            "buckets; which values a method puts together counts as well. At l = 6, minExp 0.90 "
            f"it has {shown(bare)} where it is given no rules and {shown(method)} with them, "
            f"Anatomy {shown(ANATOMY)}."
        )
        for method, bare in zip(INJECTORS, WITHOUT_RULES, strict=True)
    }
