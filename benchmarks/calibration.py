"""Test whether `exposed` covers the people who truly are exposed, on tables of known distribution.

Tables are drawn from distributions ("laws") under which everybody's true probability to have a
value is known. They are bucketized, generalized or sliced, the foreground attack is run and
calibrated, and its `exposed` is compared with the true posterior of everybody: that of an adversary
who knows the law.

    python benchmarks/calibration.py --tables 500
    python benchmarks/calibration.py --releases --adult adult.csv

With `--releases` the second table is printed: the whole attack on releases of the census that
comes with Shoal, whose law is known as well, and of Adult, at three sizes.

Two figures are shown for each shape and law. *Covered* is the number of tables in which at most
`exposed` people have a true posterior above 1.2 times the limit. *Excess* is the median of
`exposed` as a share of what is tolerable: twice the people above the limit, plus 20.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from functools import partial
from importlib import import_module

import numpy as np
from tables import load

import shoal
from shoal.attacks import Foreground
from shoal.calibration.calibrate import calibrate
from shoal.core.calibration import Suspicion, Suspicions, raised_limit
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.foreground.additive import fit_additive
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.mining import expose_by
from shoal.locating.exposed import Exposed
from shoal.slicing.matches import expose_sliced
from shoal.workflow.people import attack_and_score, locate_people

census = import_module("shoal.datasets.synthetic")

SIZES = (2, 3, 4, 6)
BASE = 0.15
LIMIT = 1 / 3
ROWS = 1000


# --- laws: the chance of everybody to have the value ------------------------------------------


def independent(rows, rng):
    return np.full(len(rows), BASE)


def one_strong(rows, rng):
    return np.array([0.03, 0.03, 0.1, 0.5])[rows[:, 2]]


def several_weak(rows, rng):
    centred = rows - (np.array(SIZES) - 1) / 2
    logs = np.log(BASE / (1 - BASE)) + centred @ np.array([0.5, 0.4, 0.3, 0.2])
    return 1 / (1 + np.exp(-logs))


def interaction(rows, rng):
    """Two attributes that are uninformative alone, and informative together."""
    return np.where((rows[:, 0] == 1) == (rows[:, 2] >= 2), 0.28, 0.02)


def certain(rows, rng):
    """A value that 5 % of people have always occurs with the sensitive value."""
    return np.where(rows[:, 3] == 5, 1.0, BASE)


LAWS: dict[str, Callable] = {
    "independent": independent,
    "one strong attribute": one_strong,
    "several weak ones": several_weak,
    "an interaction": interaction,
    "5 % certain": certain,
}


def draw_rows(law, rng):
    rows = np.stack([rng.integers(0, size, ROWS) for size in SIZES], axis=1)
    if law == "5 % certain":
        rows[:, 3] = np.where(rng.random(ROWS) < 0.05, 5, rng.integers(0, 5, ROWS))
    return rows


# --- shapes: who shares a bucket --------------------------------------------------------------


def bucketize(rows, has, rng):
    """Random buckets of six people, of whom at most two have the value."""
    size, most = 6, 2
    n_buckets = len(rows) // size
    bucket = np.empty(len(rows), dtype=np.int64)
    carriers = rng.permutation(np.flatnonzero(has))
    others = rng.permutation(np.flatnonzero(~has))
    room = np.repeat(np.arange(n_buckets), most)
    seats = rng.permutation(room)[: len(carriers)]
    bucket[carriers[: len(seats)]] = seats
    left = size - np.bincount(seats, minlength=n_buckets)
    places = np.repeat(np.arange(n_buckets), left)
    bucket[others[: len(places)]] = places
    for late in (carriers[len(seats) :], others[len(places) :]):
        bucket[late] = rng.integers(0, n_buckets, len(late))
    return bucket


def generalize(rows, has, rng):
    """Mondrian: halve the widest attribute as long as both halves keep the value below 1/3."""
    bucket = np.zeros(len(rows), dtype=np.int64)
    waiting, n_buckets = [np.arange(len(rows))], 0
    while waiting:
        own = waiting.pop()
        halves = _halve(rows[own], has[own])
        if halves is None:
            bucket[own] = n_buckets
            n_buckets += 1
        else:
            waiting += [own[halves], own[~halves]]
    return bucket


def _halve(rows, has):
    spread = [len(np.unique(column)) / size for column, size in zip(rows.T, SIZES, strict=True)]
    for place in np.argsort(spread)[::-1]:
        column = rows[:, place]
        low = (
            column < np.median(column)
            if np.median(column) > column.min()
            else column == column.min()
        )
        if all(len(half) >= 6 and 3 * half.sum() <= len(half) for half in (has[low], has[~low])):
            return low
    return None


def slice_(rows, has, rng):
    """Slices: buckets of about a dozen, with the first attribute in the sensitive column."""
    bucket = generalize(rows[:, [1, 2, 3, 3]], has, rng)
    return bucket * SIZES[0] + rows[:, 0]


SHAPES = {"bucketized": bucketize, "generalized": generalize, "sliced": slice_}


# --- one table --------------------------------------------------------------------------------


def try_one(shape: str, law: str, seed: int) -> tuple[int, int, int, int]:
    """Return four counts: truly above 1.2 times the limit, above the limit, exposed, believed."""
    rng = np.random.default_rng([seed, list(LAWS).index(law), list(SHAPES).index(shape)])
    rows = draw_rows(law, rng)
    chance = LAWS[law](rows, rng)
    has = rng.random(len(rows)) < chance
    bucket = SHAPES[shape](rows, has, rng)
    bucket = np.unique(bucket, return_inverse=True)[1]
    domains = [
        Domain.of_texts(name, [str(code) for code in range(size)])
        for name, size in zip("abcd", SIZES, strict=True)
    ]
    disease = Domain.of_texts("disease", ["other", "x"])
    exposed = Exposed.of_rows(domains, rows, bucket, has.astype(np.int64), disease)
    target = Target.of(exposed, [1])
    model, found = fit_additive(target)
    odds = np.log(model.f) - np.log1p(-model.f)
    about = Suspicion((1,), found.p, exposed.bucket, target.n_carrying, odds[exposed.look])
    look = np.ravel_multi_index(rows.T, SIZES)
    key = np.ravel_multi_index(exposed.looks.codes.T, SIZES)
    order = np.argsort(key)
    place = order[np.searchsorted(key[order], look)]
    n_looks = exposed.looks.n_cells
    entry_key = exposed.bucket * n_looks + exposed.look
    entry = np.searchsorted(entry_key, bucket * n_looks + place)
    carriers = np.bincount(entry, has, len(entry_key)).astype(np.int64)
    people = Cells(exposed.looks.domains, exposed.looks.codes[exposed.look], exposed.count)
    judged, _ = calibrate(
        Suspicions((about,), LIMIT, is_mined=True), exposed.count, [carriers], kinds=people
    )
    true_chance = np.zeros(n_looks)
    true_chance[place] = chance
    truth = expose_by(target, true_chance).p
    above = [
        int(exposed.count[truth > bound + 1e-9].sum()) for bound in (raised_limit(LIMIT), LIMIT)
    ]
    return *above, judged.exposed, judged.believed


# --- releases of census and Adult ------------------------------------------------------------


def methods():
    return {
        "Mondrian, generalized": shoal.Mondrian(k=5, ell=3, diversity="frequency"),
        "Mondrian, bucketized": shoal.Mondrian(
            k=5, ell=3, diversity="frequency", publish="bucketized"
        ),
        "Anatomy": shoal.Anatomy(ell=3),
        "slicing": shoal.Slicing(ell=3, columns="one_each"),
    }


def show_releases(adult: str | None) -> None:
    print("| table | release | believed | right | best guess | slope | exposed | truly exposed |")
    print("|---|---|---|---|---|---|---|---|")
    for rows in (2_000, 10_000, 50_000):
        _show(f"census {rows:,}", shoal.read(load(None, rows)), census_law)
    if adult is None:
        return
    whole = shoal.datasets.adult(adult)
    mixed = np.random.default_rng(1).permutation(whole.n_rows)
    for rows in (2_000, 10_000, whole.n_rows):
        _show(f"Adult {rows:,}", shoal.read(whole.take(np.sort(mixed[:rows]))), None)


def _show(name: str, table, law) -> None:
    for title, method in methods().items():
        try:
            release = shoal.anonymize(table, method, seed=1)
        except shoal.errors.InfeasibleError as error:
            print(f"| {name} | {title} | infeasible: {error.fact} | | | | | |", flush=True)
            continue
        found = attack_and_score(release, Foreground())
        judged = found.calibration
        truly = (
            "" if law is None else f"{truly_exposed(release, law, float(Fraction(found.limit)))}"
        )
        right = judged.right
        rate = "" if right is None else f"{right.value:.2f} ({right.low:.2f} to {right.high:.2f})"
        print(
            f"| {name} | {title}, limit {found.limit} | {judged.believed:,} | "
            f"{rate} | "
            f"{'' if judged.baseline is None else f'{judged.baseline:.2f}'} | "
            f"{_slope(judged.slope)} | {judged.exposed:,} | {truly} |",
            flush=True,
        )


def _slope(slope) -> str:
    return "" if slope is None else f"{slope.value:.2f} ({slope.low:.2f} to {slope.high:.2f})"


def census_law(looks: Cells, value: str):
    """Return the probability of a condition for each kind of person in the census."""
    weights = census._condition_weights()
    age = np.array([int(text) for text in looks.domain("age").texts])[looks.column("age")]
    sex = _places(looks, "sex", census._SEXES)
    low = _places(looks, "income", census._INCOMES) < 2
    lines = weights[(age * 2 + sex) * 2 + low]
    return lines[:, census.CONDITIONS.index(value)] / lines.sum(axis=1)


def _places(looks: Cells, column: str, order) -> np.ndarray:
    codes = np.array([order.index(text) for text in looks.domain(column).texts])
    return codes[looks.column(column)]


def truly_exposed(release, law, limit: float) -> int:
    """Count the people above 1.2 times the limit for an adversary who knows the law."""
    located, published = locate_people(release), release.published
    buckets = Foreground().buckets_of(published)
    if published.sliced is None:
        exposed, _ = Exposed.of_people(located.people, buckets)
    else:
        exposed, _ = expose_sliced(published.sliced, located.people, buckets.domain.column)
    belief = np.zeros(len(exposed.look))
    for code in np.flatnonzero(buckets.totals).tolist():
        chance = np.clip(law(exposed.looks, buckets.domain.text(code)), 1e-12, 1 - 1e-12)
        belief = np.maximum(belief, expose_by(Target.of(exposed, [code]), chance).p)
    return int(exposed.count[belief > raised_limit(limit) + 1e-9].sum())


def show_laws(n_tables: int, n_processes: int) -> None:
    print("| shape | law | truly exposed | believed | exposed | covered | excess |")
    print("|---|---|---|---|---|---|---|")
    with ProcessPoolExecutor(n_processes) as pool:
        for shape in SHAPES:
            for law in LAWS:
                start = time.perf_counter()
                results = np.array(
                    list(pool.map(partial(try_one, shape, law), range(n_tables), chunksize=5))
                )
                true_raised, true_limit, exposed, believed = results.T
                covered = np.mean(true_raised <= exposed)
                excess = np.median(exposed / (2 * true_limit + 20))
                print(
                    f"| {shape} | {law} | {np.median(true_raised):.0f} | {np.median(believed):.0f} "
                    f"| {np.median(exposed):.0f} | {covered:.1%} | {excess:.2f} |",
                    flush=True,
                )
                print(f"{time.perf_counter() - start:.1f} s", file=sys.stderr)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--tables", type=int, default=50, help="tables per shape and law; 50")
    parser.add_argument("--processes", type=int, default=2, help="how many at once; 2")
    parser.add_argument("--releases", action="store_true", help="census and Adult instead")
    parser.add_argument("--adult", help="the file of UCI Adult; without it, census alone")
    given = parser.parse_args()
    if given.releases:
        show_releases(given.adult)
    else:
        show_laws(given.tables, given.processes)


if __name__ == "__main__":
    main()
