"""Association rules: which rules of the table an analyst still finds in a release, and how well.

A rule says that people with some quasi-identifiers tend to have a sensitive value; by how much is
its conviction. Rules are mined from the table, and from what is expected of it by the release. Two
things can go wrong: the confidence of a rule is misjudged, or a rule is missed or made up.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI-C.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.analyse.linked import confirm_attributes
from shoal.core.attack import Section
from shoal.core.cells import Cells
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.measure import Measure, Measured
from shoal.core.release import Published
from shoal.core.tree import Label
from shoal.knowledge.positive_rules import PositiveRule, mine_positive
from shoal.knowledge.statistics import least_count
from shoal.measures._estimated import Estimated, Grouping, Reals, sensitive_of
from shoal.measures._intervals import mean_interval

__all__ = ["Associations"]

_SCALE = 232_792_560
"""Expected rows are counted in so small parts, since the miner counts in whole numbers.

It is a multiple of every number up to 22, so that ties in buckets of that size are ties.
"""
_MOST_CELLS = 2_000_000

_Rule = tuple[tuple[tuple[str, Label], ...], Label]


@dataclass(frozen=True, kw_only=True, init=False)
class Associations(Measure):
    """Mine the rules of a release and of the table, and compare them.

    Parameters
    ----------
    min_support
        How many rows must have what a rule says on both sides: a count if it is a whole number,
        else a share of the table.
    convictions
        The least convictions of a rule; what is found for each is told, for the first in the
        summary. 1 is the conviction of what has nothing to do with each other.
    max_len
        The most quasi-identifiers that a rule names.
    about
        The attribute that rules conclude on; the sensitive one where left out.

    Notes
    -----
    Rules go by values, not by nodes of hierarchies. *Confidence error*: how far the confidence that
    the release gives a rule of the table is from the true one, as a share of that; the mean over
    rules, 1 for a rule whose people are not expected at all. *False positives* and *false
    negatives*: rules that are found in the release alone or in the table alone, as shares of the
    true rules. Sets of columns with too many combinations of values are left out on both sides;
    how many is told.

    Examples
    --------
    >>> from shoal.core.cells import Buckets
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["1"]), Domain.of_texts("sex", ["F", "M"])
    >>> flu = Domain.of_texts("disease", ["cold", "flu"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1]]), np.array([2, 2]))
    >>> ill = Buckets.of_pairs(np.array([0, 0, 0, 0]), np.array([0, 0, 1, 1]), flu)
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, columns=(), guarantees=(),
    ...     n_rows=4, n_buckets=1,
    ... )
    >>> truth = Cells((sex, flu), np.array([[0, 0], [1, 1]]), np.array([2, 2]))
    >>> measured = Associations().run(Published(manifest, lines, ill), truth)
    >>> measured.headline["confidence error"], measured.headline["false negatives"]
    (0.5, 1.0)
    """

    min_support: Number = "0.01"
    convictions: tuple[Fraction, ...] = (Fraction(11, 10), Fraction(1))
    max_len: int = 2
    about: str | None = None

    def __init__(
        self,
        *,
        min_support: Number = "0.01",
        convictions: Sequence[Number] = ("1.1", 1),
        max_len: int = 2,
        about: str | None = None,
    ) -> None:
        least_count(min_support, 1)
        if isinstance(convictions, str) or not convictions:
            raise ParameterError("convictions must be a list of numbers, at least one.")
        bounds = tuple(exact("convictions", bound) for bound in convictions)
        if min(bounds) < 0:
            raise ParameterError("convictions must be at least 0.")
        object.__setattr__(self, "min_support", min_support)
        object.__setattr__(self, "convictions", bounds)
        object.__setattr__(self, "max_len", whole("max_len", max_len, least=1))
        object.__setattr__(self, "about", about)

    def fits(self, published: Published) -> bool:
        """Whether there is an attribute that rules conclude on."""
        return super().fits(published) and bool(self.about or sensitive_of(published))

    def run(self, published: Published, truth: Cells) -> Measured:
        """Mine both, and compare."""
        self.confirm_fits(published)
        estimated = Estimated(published, truth)
        about = self.about or sensitive_of(published)[0]
        confirm_attributes([about], estimated.attributes)
        least = least_count(self.min_support, truth.n_rows)
        kept, n_left_out = _column_sets(truth, estimated.attributes, about, self.max_len)
        tables = [_Tables.of(estimated, [*names, about]) for names in kept]
        rows = [_compare(tables, least, bound) for bound in self.convictions]
        headline = dict(zip(_FIGURES, rows[0], strict=True)) | {"column sets left out": n_left_out}
        told = tuple(
            (as_text(bound), *row) for bound, row in zip(self.convictions, rows, strict=True)
        )
        return Measured(
            "associations",
            headline,
            (Section("by conviction", ("conviction", *_FIGURES), told, holds_values=False),),
        )


_FIGURES = (
    "confidence error",
    "error from",
    "error to",
    "false positives",
    "false negatives",
    "rules of the table",
    "rules of the release",
)


def _column_sets(
    truth: Cells, attributes: Sequence[str], about: str, max_len: int
) -> tuple[list[tuple[str, ...]], int]:
    """Give the sets of columns that rules may name, and how many have too many combinations."""
    names = [name for name in truth.columns if name in attributes and name != about]
    sets = [
        chosen
        for length in range(1, min(max_len, len(names)) + 1)
        for chosen in itertools.combinations(names, length)
    ]
    kept = [
        chosen
        for chosen in sets
        if math.prod(truth.domain(name).size for name in (*chosen, about)) <= _MOST_CELLS
    ]
    return kept, len(sets) - len(kept)


@dataclass(frozen=True, eq=False)
class _Tables:
    """The rows of every combination of some columns, the last one being what rules conclude on.

    Parameters
    ----------
    truth
        The table.
    found
        What is expected by the release.
    """

    truth: Cells
    found: Reals

    @classmethod
    def of(cls, estimated: Estimated, names: Sequence[str]) -> _Tables:
        groupings = {
            name: Grouping(np.arange(size), size)
            for name in names
            for size in [estimated.truth.domain(name).size]
        }
        return cls(estimated.truth.select(names), estimated.table(names, groupings))

    def true_rules(self, least: int, bound: Fraction) -> Iterator[PositiveRule]:
        """Mine the table."""
        return self._rules(self.truth, least, bound)

    def found_rules(self, least: int, bound: Fraction) -> Iterator[PositiveRule]:
        """Mine what is expected."""
        counts = np.rint(self.found * _SCALE).astype(np.int64)
        codes = np.argwhere(counts)
        cells = Cells(self.truth.domains, codes, counts[tuple(codes.T)])
        return self._rules(cells, least * _SCALE, bound)

    def _rules(self, cells: Cells, least: int, bound: Fraction) -> Iterator[PositiveRule]:
        n_named = len(cells.columns) - 1
        about = cells.columns[-1]
        rules = mine_positive(
            cells, about, {}, min_support=least, min_conviction=bound, max_len=n_named
        )
        # Those that name fewer columns are found without the others.
        return (rule for rule in rules if len(rule.antecedent) == n_named)

    def confidence(self, rule: PositiveRule) -> float:
        """Give the confidence of a rule as the release lets one expect it."""
        place = tuple(
            int(domain.codes_of([rule.antecedent[domain.column]])[0])
            for domain in self.truth.domains[:-1]
        )
        among = self.found[place]
        hits = among[int(self.truth.domains[-1].codes_of([rule.value])[0])]
        return float(hits / among.sum()) if among.sum() > 0 else 0.0


def _compare(tables: Sequence[_Tables], least: int, bound: Fraction) -> tuple[object, ...]:
    """Give the figures for one least conviction."""
    errors: list[float] = []
    true: set[_Rule] = set()
    found: set[_Rule] = set()
    for one in tables:
        for rule in one.true_rules(least, bound):
            true.add(_key(rule))
            errors.append(abs(one.confidence(rule) - rule.confidence) / rule.confidence)
        found.update(map(_key, one.found_rules(least, bound)))
    n_true = max(len(true), 1)
    return (
        float(np.mean(errors)) if errors else 0.0,
        *(mean_interval(np.array(errors)) if errors else (0.0, 0.0)),
        len(found - true) / n_true,
        len(true - found) / n_true,
        len(true),
        len(found),
    )


def _key(rule: PositiveRule) -> _Rule:
    return tuple(rule.antecedent.items()), rule.value
