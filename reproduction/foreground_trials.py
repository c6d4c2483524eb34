"""The shared parts of the experiments of [Wong11]: its table, its methods, and attacked releases.

All experiments publish Adult with a sensitive set of four low levels of education, mine from the
release how likely each kind of person has one of them, and count whom that gives away. People are
attacked by their exact quasi-identifiers within their own buckets, as in the paper.

References
----------
[Wong11] R. C.-W. Wong, A. W.-C. Fu, K. Wang, Y. Xu, P. S. Yu: Can the Utility of Anonymized Data
be used for Privacy Breaches? TKDD 5(3), 2011; Section 5.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from time import process_time

import numpy as np

from reproduction.reproduced import Curve, Setting
from shoal.core.arrays import Counts, Floats
from shoal.core.errors import InternalError
from shoal.core.method import Method
from shoal.core.schema import Schema
from shoal.datasets.adult import LOW_EDUCATION, adult
from shoal.datasets.dataset import Dataset
from shoal.engines.sql.table import EngineTable
from shoal.foreground.additive import fit_additive
from shoal.foreground.attack import Foreground
from shoal.foreground.attribute_sets import AttributeSet, sample_size, usable_sets
from shoal.foreground.expectation_maximization import Target
from shoal.foreground.mining import Exposure, GlobalDistribution, Policy, expose, mine
from shoal.foreground.scoring import Score, score
from shoal.locating.exposed import Exposed
from shoal.release.opened import Release
from shoal.workflow.anonymize import anonymize
from shoal.workflow.people import locate_people
from shoal.workflow.read import read

SENSITIVE = "education"
QUASI = (
    *("age", "workclass", "marital_status", "occupation", "race"),
    *("sex", "native_country", "salary"),
)
"""In the order of the paper, which uses the first three to eight of them."""
N_ADULT = 45_222
_N_QUICK = 1_500


@lru_cache(maxsize=1)
def _rows(path: Path, n_rows: int | None, seed: int) -> Dataset:
    table = adult(path, "foreground-8")
    if n_rows is None or table.n_rows <= n_rows:
        return table
    chosen = np.random.default_rng(seed).choice(table.n_rows, n_rows, replace=False)
    return table.take(np.sort(chosen))


def adult_columns(setting: Setting, quasi: Sequence[str]) -> EngineTable:
    """Read Adult with some quasi-identifiers; a sample of it in a quick run."""
    rows = _rows(setting.adult_file, _N_QUICK if setting.is_quick else None, setting.seed)
    columns = (*quasi, SENSITIVE)
    schema = Schema(
        quasi=quasi,
        sensitive=SENSITIVE,
        types={column: rows.schema.types[column] for column in columns},
        hierarchies={column: rows.schema.hierarchies[column] for column in columns},
    )
    return read(Dataset(rows.name, {column: rows.columns[column] for column in columns}, schema))


def epsilon_of(n_rows: int) -> str:
    """Return the paper's error of .01; for a sample, one that requires the same share of rows."""
    return f"{0.01 * (N_ADULT / n_rows) ** 0.5:.4f}"


def rows_words(setting: Setting) -> str:
    """Describe the rows of an experiment, and how signatures are judged."""
    if not setting.is_quick:
        return (
            f"Adult, {N_ADULT:,} complete rows; x: education before 9th grade; signatures of at "
            f"least {sample_size():,} rows (epsilon = .01, sigma = .9)"
        )
    least = sample_size(epsilon_of(_N_QUICK))
    return (
        f"A quick run: {_N_QUICK:,} rows of Adult; x: education before 9th grade; signatures of "
        f"at least {least:,} rows"
    )


@dataclass(frozen=True, eq=False)
class Attacked:
    """A release, and what its maker knows about the success of an adversary."""

    release: Release
    seconds: float  # CPU seconds of publishing, without reading the table.
    target: Target  # The sensitive set, with everybody in their own bucket.
    carriers: Counts  # The rows of each entry of the release with a sensitive value.
    n_left_out: int

    @cached_property
    def mined(self) -> tuple[Exposure, tuple[GlobalDistribution, ...], float]:
        """The beliefs and findings of the paper's adversary, and the CPU seconds of the attack."""
        start = process_time()
        found, distributions = expose(self.target, self._sets())
        return found, distributions, process_time() - start

    def _sets(self) -> tuple[AttributeSet, ...]:
        looks = self.target.exposed.looks
        return usable_sets(looks, sample_size(epsilon_of(looks.n_rows)))

    def score(self, r: int) -> Score:
        """Return the success of the paper's adversary; a belief above 1/r is a breach."""
        return score(self.mined[0], self.carriers, 1 / r)

    def score_assuming(self, policy: Policy, r: int) -> Score:
        """Return the same under another assumption about signatures with too few rows."""
        found, _ = expose(self.target, self._sets(), policy=policy)
        return score(found, self.carriers, 1 / r)

    @cached_property
    def _coherent(self) -> Exposure:
        return fit_additive(self.target)[1]

    def score_coherent(self, r: int) -> Score:
        """Return the success of an adversary with one additive model of everybody."""
        return score(self._coherent, self.carriers, 1 / r)

    @property
    def distributions(self) -> tuple[GlobalDistribution, ...]:
        """The mined distributions, one per set of quasi-identifiers."""
        return self.mined[1]

    @property
    def mining_seconds(self) -> float:
        """CPU seconds of mining all sets."""
        return self.mined[2]

    @property
    def delta(self) -> float:
        """The mean, over sets and buckets, of the largest difference of probabilities."""
        return float(np.mean([one.delta for one in self.distributions]))

    @property
    def carriers_of_look(self) -> Counts:
        """The rows of the table with each combination of values that carry a sensitive value."""
        exposed = self.target.exposed
        return np.bincount(exposed.look, self.carriers, exposed.looks.n_cells).astype(np.int64)

    @property
    def mean_error(self) -> float:
        """The mean relative error of the mined probabilities, over signatures, then over sets."""
        rows = self.target.exposed.looks.counts
        return float(
            np.mean(
                [
                    one.accuracy(self.carriers_of_look, rows).mean_relative_error
                    for one in self.distributions
                ]
            )
        )

    @property
    def bucket_sizes(self) -> Counts:
        """The number of rows of each bucket."""
        return self.target.exposed.buckets.sizes


def attacked(table: EngineTable, method: Method, seed: int) -> Attacked:
    """Publish a table, and locate everybody in the release as the adversary sees it."""
    start = process_time()
    release = anonymize(table, method, seed=seed)
    seconds = process_time() - start
    attack = Foreground(value=LOW_EDUCATION)
    located = locate_people(release, table)
    buckets = attack.buckets_of(release.published)
    if buckets is None:
        raise InternalError("A release of Adult has no sensitive column.")
    exposed, entry = Exposed.of_people(located.people, buckets)
    values = buckets.domain.codes_of(list(LOW_EDUCATION))
    values = values[values >= 0]
    carriers = np.bincount(entry, located.truth.carriers(tuple(values.tolist())), len(exposed.look))
    return Attacked(
        release,
        seconds,
        Target.of(exposed, values),
        carriers.astype(np.int64),
        table.n_rows - exposed.n_rows,
    )


def percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.0239)
    '2.4 %'
    """
    return f"{100 * share:.1f} %"


def curve(name: str, numbers: Sequence[float] | Floats) -> Curve:
    """Return numbers as a curve."""
    return Curve(name, tuple(float(number) for number in numbers))


# --- the error of mined probabilities that no method of mining can avoid -------------------------

# A release of Anatomy does not show who in a bucket has x. Even an adversary who knew every
# probability could only guess the carriers of a signature, because each bucket that the signature
# shares with others is a random draw. The release does not determine the shares of the table any
# better than that ([Wong11] Section 5.1: the average relative error of global probabilities).

_OF_A_NORMAL = float(np.sqrt(2 / np.pi))
"""The mean absolute deviation of a normal variable, in standard deviations."""


def least_error(one: Attacked) -> float:
    """Return the mean relative error that remains if buckets hold at most one carrier.

    Whether the carrier of a bucket belongs to a signature is a random draw; the draws of all
    buckets add up to the carriers of the signature.
    """
    target = one.target
    errors = []
    sets = [found.attributes for found in one.distributions]
    for found, p in mine(target, sets):
        classes = found.attributes.class_of_look[target.exposed.look[target.entry]]
        n_classes = found.attributes.n_signatures + 1
        key = target.bucket * n_classes + classes
        weight = target.exposed.count[target.entry] * p
        chance = np.bincount(key, weight, len(target.carrying_buckets) * n_classes)
        chance = chance.reshape(-1, n_classes)
        spread = np.sqrt((chance * (1 - chance)).sum(axis=0))[:-1]
        carriers = _carriers(one, found)
        errors.append(float(np.mean(spread[carriers > 0] / carriers[carriers > 0])))
    return _OF_A_NORMAL * float(np.mean(errors))


def signed_error(one: Attacked) -> float:
    """Return the mean relative error in which positive and negative errors cancel out."""
    return float(np.mean([np.mean(relative) for relative in _relative_errors(one)]))


def _relative_errors(one: Attacked) -> Iterator[Floats]:
    for found in one.distributions:
        carriers = _carriers(one, found)
        truth = carriers / found.attributes.counts
        told = carriers > 0
        yield (found.f[: len(truth)][told] - truth[told]) / truth[told]


def _carriers(one: Attacked, found: GlobalDistribution) -> Floats:
    """Count the rows of each signature that carry x."""
    which, n_classes = found.attributes.class_of_look, found.attributes.n_signatures + 1
    return np.bincount(which, one.carriers_of_look, n_classes)[:-1].astype(np.float64)
