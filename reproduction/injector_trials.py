"""What the experiments of [Li08] share: its table, its parameters, and runs of its two methods.

All of them publish Adult by Anatomy and by Injector, for several minimum expectations of rules and
for several l, and measure something on every release. Anatomy draws its buckets, so that the paper
gives means of ten runs.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from shoal.core.errors import InternalError
from shoal.core.method import Method
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset, Encoded
from shoal.engines.table import EngineTable
from shoal.knowledge.known import Knowledge
from shoal.methods.anatomy import Anatomy
from shoal.methods.bucketizing.grouping import Choose
from shoal.methods.injector import Injector
from shoal.pipeline.anonymize import anonymize
from shoal.pipeline.papers.planned import Setting
from shoal.pipeline.read import read
from shoal.pipeline.release import Release
from shoal.report.reproduced import Curve

__all__ = [
    "ANATOMY",
    "AT_DEFAULT",
    "INJECTORS",
    "MIN_EXPS",
    "N_INJECTOR",
    "PRINTED",
    "SENSITIVE",
    "WITHOUT_RULES",
    "Axis",
    "Place",
    "Trials",
    "adult_rows",
    "adult_table",
    "anatomized",
    "axes",
    "by_ell",
    "by_min_exp",
    "everywhere",
    "method_of",
    "n_runs",
    "run_trials",
    "runs_words",
    "sample",
    "setting_words",
]

Reals = npt.NDArray[np.float64]

SENSITIVE = "occupation"
N_INJECTOR = 3
"""How often Injector is run, where nothing else is said."""
MIN_EXPS = ("0.75", "0.80", "0.85", "0.90", "0.95")
ANATOMY = "Anatomy"
INJECTORS: dict[str, Choose] = {
    f"Injector, {choose}": choose for choose in ("printed", "balanced", "similar")
}
"""The paper's Injector is the first; the others choose the rows of a bucket in another way."""
PRINTED = "Injector, printed"
"""The one that the paper's claims are about, and that verdicts go by."""
WITHOUT_RULES: dict[str, Choose] = {
    f"{name}, no rules": choose for name, choose in INJECTORS.items()
}
"""The same buckets without background knowledge, to see what the rules alone do."""

_N_QUICK_ROWS = 150
"""So few since kernels may not be compiled, and rules that hold by chance make rows differ."""
_N_ANATOMY = 10


@dataclass(frozen=True)
class Place:
    """The parameters of a release, by default those of [Li08], Section VI.

    Attributes
    ----------
    ell
        How many values everybody is to have.
    min_exp
        The least expectation of the rules that are mined, as it is written.
    """

    ell: int = 6
    min_exp: str = "0.90"


@dataclass(frozen=True)
class Axis:
    """What a panel of a figure varies.

    Attributes
    ----------
    words
        It in words, for the title.
    name
        What the paper writes along it.
    x, places
        Its places, and the parameters there.
    """

    words: str
    name: str
    x: tuple[float, ...]
    places: tuple[Place, ...]


def by_min_exp(setting: Setting) -> Axis:
    """Give the axis of minimum expectations; two of them in a quick run."""
    chosen = (Place.min_exp, "0.95") if setting.is_quick else MIN_EXPS
    return Axis(
        "varied minExp values",
        "minExp value",
        tuple(float(min_exp) for min_exp in chosen),
        tuple(Place(min_exp=min_exp) for min_exp in chosen),
    )


def by_ell(setting: Setting) -> Axis:
    """Give the axis of l; two of them in a quick run."""
    chosen = (3, Place.ell) if setting.is_quick else (3, 4, 5, 6)
    return Axis(
        "varied l values",
        "l value",
        chosen,
        tuple(Place(ell=ell) for ell in chosen),
    )


def axes(setting: Setting) -> tuple[Axis, Axis]:
    """Give what the two panels of a figure vary."""
    return by_min_exp(setting), by_ell(setting)


def everywhere(setting: Setting) -> Mapping[str, Sequence[Place]]:
    """Say where methods are run if rules do not matter to what is measured; see `Trials.runs`."""
    places = [place for axis in axes(setting) for place in axis.places]
    return {
        ANATOMY: by_ell(setting).places,
        **dict.fromkeys(INJECTORS, places),
        **dict.fromkeys(WITHOUT_RULES, (Place(),)),
    }


AT_DEFAULT: Mapping[str, Sequence[Place]] = dict.fromkeys((ANATOMY, *INJECTORS), (Place(),))
"""Only the parameters that the paper has by default."""


# --- the table --------------------------------------------------------------------------------


def adult_rows(setting: Setting) -> Dataset:
    """Give the rows of Adult that [Li08] uses; a sample of them in a quick run."""
    if setting.adult is None:
        raise InternalError("An experiment on Adult was run without it.")
    rows = adult(setting.adult, "injector")
    if not setting.is_quick:
        return rows
    return sample(rows, _N_QUICK_ROWS, np.random.default_rng(setting.seed))


def sample(rows: Dataset, number: int, generator: np.random.Generator) -> Dataset:
    """Draw rows, of every occupation its share.

    One that has more than its share could make l-diversity impossible.
    """
    occupation = rows.columns[SENSITIVE]
    assert isinstance(occupation, Encoded)
    drawn = generator.permutation(rows.n_rows)
    ordered = drawn[np.argsort(occupation.codes[drawn], kind="stable")]
    steps = np.arange(number) * rows.n_rows // number
    return rows.take(np.sort(ordered[steps]))


def adult_table(setting: Setting) -> EngineTable:
    """Read these rows."""
    return read(adult_rows(setting))


def setting_words(setting: Setting, n_rows: int, rest: str) -> str:
    """Say what an experiment was run with."""
    sample = "a sample of " if setting.is_quick else ""
    return (
        f"Adult, {sample}the training rows that are complete in the seven attributes "
        f"({n_rows:,} rows), sensitive: {SENSITIVE}; seed {setting.seed}. {rest}"
    )


def runs_words(setting: Setting, n_injector: int = N_INJECTOR) -> str:
    """Say how often methods were run."""
    numbers = [n_runs(setting, number) for number in (_N_ANATOMY, n_injector)]
    anatomy, own = (f"the mean of {n} runs" if n > 1 else "one run" for n in numbers)
    return f"Anatomy: {anatomy}; Injector: {own}."


# --- runs -------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Trials:
    """What was measured on the releases of all methods.

    Attributes
    ----------
    numbers
        By method and place: one row a run, one column a number.
    """

    numbers: Mapping[tuple[str, Place], Reals]

    def runs(self, method: str, place: Place) -> Reals:
        """Give the numbers of all runs.

        Anatomy knows no rules: what was not measured for other rules holds for them too.
        """
        if method == ANATOMY and (method, place) not in self.numbers:
            place = Place(ell=place.ell)
        return self.numbers[method, place]

    def mean(self, method: str, place: Place, column: int = 0) -> float:
        """Give the mean of a number over all runs."""
        return float(self.runs(method, place)[:, column].mean())

    def curve(self, method: str, axis: Axis, column: int = 0, scale: float = 1.0) -> Curve:
        """Give the means along an axis."""
        means = (scale * self.mean(method, place, column) for place in axis.places)
        return Curve(method, tuple(means))

    def curves(self, axis: Axis, column: int = 0, scale: float = 1.0) -> tuple[Curve, ...]:
        """Give the means of every method along an axis."""
        return tuple(self.curve(method, axis, column, scale) for method in (ANATOMY, *INJECTORS))


def run_trials(
    table: EngineTable,
    setting: Setting,
    judge: Callable[[Release, Place], Sequence[float]],
    places: Mapping[str, Sequence[Place]],
    n_injector: int = N_INJECTOR,
) -> Trials:
    """Publish the table again and again, and measure every release.

    Parameters
    ----------
    table
        What is published.
    setting
        How often, and where draws begin.
    judge
        Measures a release.
    places
        By method, the parameters that it is run with.
    n_injector
        How often Injector is run; the rows that it takes of those that are alike are drawn.
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
    """Give how often something is repeated; once in a quick run."""
    return 1 if setting.is_quick else number


def method_of(name: str, place: Place) -> Method:
    """Give the method of a curve; Injector leaves out rows that no release can protect."""
    if name == ANATOMY:
        return Anatomy(ell=place.ell)
    method = Injector(
        ell=place.ell,
        min_exp=place.min_exp,
        choose=(INJECTORS | WITHOUT_RULES)[name],
        on_infeasible="suppress",
    )
    if name in WITHOUT_RULES:
        return replace(method, rules=Knowledge(SENSITIVE, []), mine=False)
    return method


def anatomized(table: EngineTable, setting: Setting) -> Release:
    """Publish the table by Anatomy with the default l."""
    return anonymize(table, method_of(ANATOMY, Place()), seed=setting.seed)
