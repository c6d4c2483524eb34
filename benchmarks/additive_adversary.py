"""The beliefs of the additive foreground adversary, and how often they are right.

``python benchmarks/additive_adversary.py --adult adult.csv`` prints one table. *Before* is the
model with a fixed penalty of 1 and unrelated values; *after* has the penalty that predicts held-out
buckets best, with neighbouring numbers and groups of hierarchies tied together; *together* also
weighs all values of a bucket at once. The truth is used only to count correct beliefs.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.table import Table
from tables import load

import shoal
from shoal.attacks import Foreground
from shoal.core.method import Method
from shoal.foreground.additive import AdditiveModel, fit_additive
from shoal.foreground.effects import UNRELATED, relate
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.mining import Exposure, expose_by
from shoal.foreground.scene import weigh_jointly
from shoal.locating.exposed import Exposed
from shoal.release.opened import Release
from shoal.slicing.matches import expose_sliced
from shoal.workflow.people import LocatedPeople, locate_people

Floats = npt.NDArray[np.float64]

_X = ("Preschool", "1st-4th", "5th-6th", "7th-8th")
"""The values of education that count as one in the paper's experiments on Adult."""
_SEED = 1


@dataclass(frozen=True, eq=False)
class Case:
    """A release, the location of everybody in it, and the values attacked."""

    name: str  # For the printed table.
    exposed: Exposed
    entry: npt.NDArray[np.int64]  # The entry of each person.
    truth: npt.NDArray[np.int64]  # The aim that is true of each person, -1 if none is.
    aims: list[tuple[int, ...]]  # The sets of values attacked, each as one value.
    limit: float  # The largest belief that is allowed.
    located: LocatedPeople

    @classmethod
    def of(cls, name: str, release: Release, attack: Foreground) -> Case:
        """Set up the attack."""
        located, published = locate_people(release), release.published
        buckets = attack.buckets_of(published)
        assert buckets is not None
        if published.sliced is None:
            exposed, entry = Exposed.of_people(located.people, buckets)
            first = 0
        else:
            sensitive = buckets.domain.column
            exposed, entry = expose_sliced(published.sliced, located.people, sensitive)
            first = published.sliced.first_sensitive(sensitive)
        aims, bound = attack.aims(published)
        truth = np.full(len(located.cell), -1, dtype=np.int64)
        for number, values in enumerate(aims):
            truth[located.has(tuple(first + code for code in values))] = number
        return cls(name, exposed, entry[located.cell], truth, aims, float(bound), located)

    def targets(self) -> list[Target]:
        """Return the aims in the release."""
        return [Target.of(self.exposed, values) for values in self.aims]


@dataclass(frozen=True)
class Row:
    """The beliefs of one adversary, and how often they are true."""

    adversary: str
    believed: int
    mean_belief: float
    right: float
    baseline: float
    best_guess: float
    error: float
    seconds: float

    @classmethod
    def of(cls, adversary: str, case: Case, p: Floats, seconds: float) -> Row:
        """Compare p(t:x), one row per aim and one column per entry, with the truth."""
        mine = p[:, case.entry]
        belief, best = mine.max(axis=0), mine.argmax(axis=0)
        right = best == case.truth
        alike = np.array([expose_by(target, 0.5).p for target in case.targets()])
        base = alike.max(axis=0)[case.entry]
        flagged = belief > case.limit + 1e-9
        band = np.minimum((belief * 10).astype(np.int64), 9)
        n_people = np.bincount(band, minlength=10)
        gap = np.abs(np.bincount(band, belief, 10) - np.bincount(band, right, 10))
        return cls(
            adversary,
            int(flagged.sum()),
            float(belief[flagged].mean()) if flagged.any() else 0.0,
            float(right[flagged].mean()) if flagged.any() else 0.0,
            float(base[flagged].mean()) if flagged.any() else 0.0,
            float(right.mean()),
            float(gap.sum() / n_people.sum()),
            seconds,
        )


def _measure(case: Case) -> Iterator[Row]:
    """Run the adversaries on a release."""
    unrelated = [UNRELATED] * len(case.exposed.looks.domains)
    relations = relate(case.exposed.looks, case.located.people.trees)
    ways: dict[str, Callable[[Target], tuple[AdditiveModel, Exposure]]] = {
        "before": lambda target: fit_additive(target, penalty=1, relations=unrelated),
        "penalty chosen": lambda target: fit_additive(target, relations=unrelated),
        "after": lambda target: fit_additive(target, relations=relations),
    }
    fits = []
    for name, way in ways.items():
        start = time.process_time()
        fits = [way(target) for target in case.targets()]
        seconds = time.process_time() - start
        n_alike = sum(model.is_all_alike for model, _ in fits)
        shown = f"{name} ({n_alike} values all alike)" if n_alike else name
        yield Row.of(shown, case, np.array([found.p for _, found in fits]), seconds)
    held = np.flatnonzero(case.exposed.buckets.totals)
    if sorted(code for aim in case.aims for code in aim) == held.tolist():
        start = time.process_time()
        chances = np.zeros((case.exposed.looks.n_cells, case.exposed.buckets.domain.size))
        for (code,), (model, _) in zip(case.aims, fits, strict=True):
            chances[:, code] = model.f
        together = weigh_jointly(case.exposed, chances)
        seconds += time.process_time() - start
        if together is not None:
            p = together[:, [values[0] for values in case.aims]].T
            yield Row.of("after, together", case, p, seconds)


def _census(n_rows: int, n_values: int | None) -> Iterator[Case]:
    table = shoal.read(load(None, n_rows, _SEED))
    methods: Sequence[tuple[str, Method]] = (
        ("Mondrian, generalized", shoal.Mondrian(k=5, ell=3)),
        ("Mondrian, bucketized", shoal.Mondrian(k=5, ell=3, publish="bucketized")),
        ("slicing", shoal.Slicing(ell=3)),
        ("Anatomy", shoal.Anatomy(ell=3)),
    )
    for name, method in methods:
        try:
            release = shoal.anonymize(table, method, seed=_SEED)
        except shoal.errors.InfeasibleError:
            # The columns that slicing clusters by itself may put too much beside the condition.
            plain = shoal.Slicing(ell=3, columns="bucketized")
            release = shoal.anonymize(table, plain, seed=_SEED)
        case = Case.of(f"census {n_rows:,}, {name}", release, Foreground(r=3))
        if n_values is not None:
            aims = case.aims[:n_values]
            truth = np.where(case.truth < len(aims), case.truth, -1)
            case = Case(case.name, case.exposed, case.entry, truth, aims, case.limit, case.located)
        yield case


def _adult(path: str) -> Iterator[Case]:
    table = shoal.read(shoal.datasets.adult(path, "foreground-5"))
    for ell in (2, 4, 10):
        method = shoal.Anatomy(ell=ell, protect=_X)
        release = shoal.anonymize(table, method, seed=_SEED)
        attack = Foreground(value=_X, r=ell)
        yield Case.of(f"Adult {table.n_rows:,}, Anatomy, l = {ell}", release, attack)
    release = shoal.anonymize(table, shoal.Mondrian(k=4, ell=4, protect=_X), seed=_SEED)
    attack = Foreground(value=_X, r=4)
    yield Case.of(f"Adult {table.n_rows:,}, Mondrian, l = 4", release, attack)


def _cases(arguments: argparse.Namespace) -> Iterator[Case]:
    for n_rows in arguments.rows:
        # On the largest table, only the five rarest values are attacked; others add nothing new.
        yield from _census(n_rows, None if n_rows <= arguments.all_values else 5)
    if arguments.adult:
        yield from _adult(arguments.adult)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adult", help="the Adult table; left out without it")
    parser.add_argument("--rows", type=int, action="append", help="rows of a census; 2,000")
    parser.add_argument(
        "--all-values", type=int, default=5000, help="rows up to which every value is attacked"
    )
    arguments = parser.parse_args()
    arguments.rows = arguments.rows or [2000]
    columns = (
        *("release", "adversary", "believed", "believed, mean", "right", "baseline"),
        *("best guess", "calibration error", "CPU s"),
    )
    table = Table(*columns)
    for case in _cases(arguments):
        for place, row in enumerate(_measure(case)):
            table.add_row(
                "" if place else f"{case.name}, limit {case.limit:.3g}",
                row.adversary,
                f"{row.believed:,}",
                *(f"{figure:.3f}" for figure in (row.mean_belief, row.right, row.baseline)),
                *(f"{figure:.3f}" for figure in (row.best_guess, row.error)),
                f"{row.seconds:.2f}",
            )
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
