"""The shared parts of the experiments of [Li08]: table, parameters, runs of methods, and claims.

All experiments publish Adult by Anatomy and by Injector, for several minimum expectations of rules
and several l, and measure every release. Anatomy draws its buckets at random, so the paper reports
means of ten runs. The paper's claims compare Injector with Anatomy; they are judged by our figures.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.reproduced import Curve, Figure, Setting, Statement, claimed
from shoal.core.arrays import Floats
from shoal.core.declared import changed
from shoal.core.method import Method
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset, Encoded
from shoal.engines.sql.table import EngineTable
from shoal.grouping.anatomy import Anatomy
from shoal.injector.attack import Background
from shoal.injector.bucketization import Choose
from shoal.injector.known import Knowledge
from shoal.injector.method import Injector
from shoal.injector.miners import mine_negative_rules
from shoal.release.opened import Release
from shoal.workflow.anonymize import anonymize
from shoal.workflow.attack import attack
from shoal.workflow.read import read

SENSITIVE = "occupation"
N_INJECTOR = 3
"""The default number of runs of Injector."""
MIN_EXPS = ("0.75", "0.80", "0.85", "0.90", "0.95")
ANATOMY = "Anatomy"
INJECTORS: dict[str, Choose] = {
    f"Injector, {choose}": choose for choose in ("printed", "balanced", "similar")
}
"""The first one is the paper's Injector; the others choose the rows of a bucket differently."""
PRINTED = "Injector, printed"
"""The Injector that the paper's claims are about, and that verdicts are based on."""
WITHOUT_RULES: dict[str, Choose] = {
    f"{name}, no rules": choose for name, choose in INJECTORS.items()
}
"""The same methods without background knowledge, to isolate the effect of the rules."""

_N_QUICK_ROWS = 150
"""Few rows: kernels may not be compiled, and rules that hold by chance make most rows different."""
_N_ANATOMY = 10


@dataclass(frozen=True)
class Place:
    """The parameters of a release, by default those of [Li08], Section VI."""

    ell: int = 6
    min_exp: str = "0.90"  # The minimum expectation of rules, as the paper writes it.


@dataclass(frozen=True)
class Axis:
    """The parameter that a panel of a figure varies."""

    words: str  # Its description, for the title.
    name: str  # The label that the paper puts on the axis.
    x: tuple[float, ...]
    places: tuple[Place, ...]  # The parameters at each x.


def by_min_exp(setting: Setting) -> Axis:
    """Return the axis of minimum expectations; two of them in a quick run."""
    chosen = (Place.min_exp, "0.95") if setting.is_quick else MIN_EXPS
    return Axis(
        "varied minExp values",
        "minExp value",
        tuple(float(min_exp) for min_exp in chosen),
        tuple(Place(min_exp=min_exp) for min_exp in chosen),
    )


def by_ell(setting: Setting) -> Axis:
    """Return the axis of l; two values in a quick run."""
    chosen = (3, Place.ell) if setting.is_quick else (3, 4, 5, 6)
    return Axis(
        "varied l values",
        "l value",
        chosen,
        tuple(Place(ell=ell) for ell in chosen),
    )


def axes(setting: Setting) -> tuple[Axis, Axis]:
    """Return the axes of the two panels of a figure."""
    return by_min_exp(setting), by_ell(setting)


def everywhere(setting: Setting) -> Mapping[str, Sequence[Place]]:
    """Return the parameters of each method; Anatomy varies only l, see `Trials.runs`."""
    places = [place for axis in axes(setting) for place in axis.places]
    return {
        ANATOMY: by_ell(setting).places,
        **dict.fromkeys(INJECTORS, places),
        **dict.fromkeys(WITHOUT_RULES, (Place(),)),
    }


AT_DEFAULT: Mapping[str, Sequence[Place]] = dict.fromkeys((ANATOMY, *INJECTORS), (Place(),))
"""Only the paper's default parameters."""


# --- the table --------------------------------------------------------------------------------


def adult_rows(setting: Setting) -> Dataset:
    """Return the rows of Adult that [Li08] uses; a sample of them in a quick run."""
    rows = adult(setting.adult_file, "injector")
    if not setting.is_quick:
        return rows
    return sample(rows, _N_QUICK_ROWS, np.random.default_rng(setting.seed))


def sample(rows: Dataset, number: int, generator: np.random.Generator) -> Dataset:
    """Draw rows, stratified by occupation.

    An occupation with more than its share could make l-diversity impossible.
    """
    occupation = rows.columns[SENSITIVE]
    assert isinstance(occupation, Encoded)
    drawn = generator.permutation(rows.n_rows)
    ordered = drawn[np.argsort(occupation.codes[drawn], kind="stable")]
    steps = np.arange(number) * rows.n_rows // number
    return rows.take(np.sort(ordered[steps]))


def adult_table(setting: Setting) -> EngineTable:
    """Return these rows as a table."""
    return read(adult_rows(setting))


def setting_words(setting: Setting, n_rows: int, rest: str) -> str:
    """Describe the setting of an experiment."""
    sample = "a sample of " if setting.is_quick else ""
    return (
        f"Adult, {sample}the training rows that are complete in the seven attributes "
        f"({n_rows:,} rows), sensitive: {SENSITIVE}; seed {setting.seed}. {rest}"
    )


def runs_words(setting: Setting, n_injector: int = N_INJECTOR) -> str:
    """Describe the number of runs of each method."""
    numbers = [n_runs(setting, number) for number in (_N_ANATOMY, n_injector)]
    anatomy, own = (f"the mean of {n} runs" if n > 1 else "one run" for n in numbers)
    return f"Anatomy: {anatomy}; Injector: {own}."


# --- runs -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trials:
    """The measurements of the releases of all methods."""

    # By method and parameters, one row per run and one column per number.
    numbers: Mapping[tuple[str, Place], Floats]

    def runs(self, method: str, place: Place) -> Floats:
        """Return the numbers of all runs.

        Anatomy uses no rules, so its numbers for one minimum expectation hold for all others.
        """
        if method == ANATOMY and (method, place) not in self.numbers:
            place = Place(ell=place.ell)
        return self.numbers[method, place]

    def mean(self, method: str, place: Place, column: int = 0) -> float:
        """Return the mean of a number over all runs."""
        return float(self.runs(method, place)[:, column].mean())

    def curve(self, method: str, axis: Axis, column: int = 0, scale: float = 1.0) -> Curve:
        """Return the means along an axis."""
        means = (scale * self.mean(method, place, column) for place in axis.places)
        return Curve(method, tuple(means))

    def curves(self, axis: Axis, column: int = 0, scale: float = 1.0) -> tuple[Curve, ...]:
        """Return the means of every method along an axis."""
        return tuple(self.curve(method, axis, column, scale) for method in (ANATOMY, *INJECTORS))


def run_trials(
    table: EngineTable,
    setting: Setting,
    judge: Callable[[Release, Place], Sequence[float]],
    places: Mapping[str, Sequence[Place]],
    n_injector: int = N_INJECTOR,
) -> Trials:
    """Publish the table repeatedly by every method, and measure every release with `judge`.

    `places` are the parameters by method. Injector is run `n_injector` times (3 by default),
    because it draws among equivalent rows.
    """
    numbers = {}
    for method, chosen in places.items():
        n_times = n_runs(setting, _N_ANATOMY if method == ANATOMY else n_injector)
        for place in dict.fromkeys(chosen):
            runs = (
                anonymize(table, method_of(method, place), seed=setting.seed + run)
                for run in range(n_times)
            )
            numbers[method, place] = np.array([judge(release, place) for release in runs])
    return Trials(numbers)


def n_runs(setting: Setting, number: int) -> int:
    """Return the number of repetitions; one in a quick run."""
    return 1 if setting.is_quick else number


def method_of(name: str, place: Place) -> Method:
    """Return the method of a curve; Injector leaves out rows that no release can protect."""
    if name == ANATOMY:
        return Anatomy(ell=place.ell)
    method = Injector(
        ell=place.ell,
        min_exp=place.min_exp,
        choose=(INJECTORS | WITHOUT_RULES)[name],
        on_infeasible="suppress",
    )
    if name in WITHOUT_RULES:
        return changed(method, rules=Knowledge(SENSITIVE, []), mine=False)
    return method


def anatomized(table: EngineTable, setting: Setting) -> Release:
    """Publish the table by Anatomy with the default l."""
    return anonymize(table, method_of(ANATOMY, Place()), seed=setting.seed)


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
    return claimed(what, claim, ours, holds=holds, why=why)


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
            f"Rules exclude only {percent(100 * excluded)} of the values in Anatomy's buckets; it "
            "also matters which values a method puts together. At l = 6, minExp 0.90 its error is "
            f"{shown(bare)} without rules and {shown(method)} with them; Anatomy's is "
            f"{shown(ANATOMY)}."
        )
        for method, bare in zip(INJECTORS, WITHOUT_RULES, strict=True)
    }
