"""The shared parts of the experiments of [Li08]: its table, its parameters, runs of its methods.

All experiments publish Adult by Anatomy and by Injector, for several minimum expectations of rules
and several l, and measure every release. Anatomy draws its buckets at random, so the paper reports
means of ten runs.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.planned import Setting
from reproduction.reproduced import Curve
from shoal.core.arrays import Floats
from shoal.core.declared import changed
from shoal.core.errors import InternalError
from shoal.core.method import Method
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset, Encoded
from shoal.engines.sql.table import EngineTable
from shoal.grouping.anatomy import Anatomy
from shoal.injector.bucketization import Choose
from shoal.injector.known import Knowledge
from shoal.injector.method import Injector
from shoal.release.opened import Release
from shoal.workflow.anonymize import anonymize
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
    if setting.adult is None:
        raise InternalError("An experiment on Adult was run without it.")
    rows = adult(setting.adult, "injector")
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
