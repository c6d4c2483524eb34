"""Association rules: which rules of the table an analyst still finds in a release, and how well.

A rule says that people with some quasi-identifiers tend to have a sensitive value; its conviction
measures how strongly. Rules are mined from the table, and from the table expected by the release.
Two things can go wrong: the confidence of a rule is misestimated, or a rule is missed or made up.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI-C.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral
from typing import Any

import numpy as np

from shoal.core.arrays import Floats
from shoal.core.cells import Cells
from shoal.core.declared import declared
from shoal.core.display import Section
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact
from shoal.core.measure import Measure, Measured
from shoal.core.parameters import Converted, amount, parameter, whole_number
from shoal.core.release import Published
from shoal.core.sharing import once
from shoal.core.tree import Label
from shoal.injector.association_rules import PositiveRule
from shoal.injector.statistics import least_count, mine_positive
from shoal.utility.estimated import Estimated, Grouping, sensitive_of
from shoal.utility.estimates import mean_interval
from shoal.utility.linked import confirm_attributes

_SCALE = 232_792_560
"""Units per expected row: the miner counts in whole numbers, and expected rows are fractions.

It is a multiple of every number up to 22, so that ties in buckets of up to 22 rows stay ties.
"""
_MOST_CELLS = 2_000_000
_MOST_SHARES = 4 * _MOST_CELLS
"""The most shares of the values of a column in its labels, which are held in full."""

_Rule = tuple[tuple[tuple[str, Label], ...], Label]


def _read_support(given: Any) -> int | Fraction:
    least_count(given, 1)
    return int(given) if isinstance(given, Integral) else exact("min_support", given)


def _read_convictions(name: str, given: Sequence[Number]) -> tuple[Fraction, ...]:
    if isinstance(given, str) or not given:
        raise ParameterError(f"{name} must be a list of numbers, at least one.")
    bounds = tuple(exact(name, bound) for bound in given)
    if min(bounds) < 0:
        raise ParameterError(f"{name} must be at least 0.")
    return bounds


def _read_column(name: str, given: object) -> str:
    if not isinstance(given, str):
        raise ParameterError(f"{name} must be the name of a column; got something else.")
    return given


@declared
class Associations(Measure):
    """Mine the rules of a release and of the table, and compare them.

    Notes
    -----
    Rules are about values, not about nodes of hierarchies. *Confidence error* is the relative error
    of the confidence that the release gives to a rule of the table, as the mean over rules; it is 1
    for a rule whose people the release does not expect at all. *False positives* and *false
    negatives* are the rules that are found only in the release or only in the table, as shares of
    the true rules. Sets of columns with too many combinations of values, or of the release's labels
    for them, are left out on both sides; their number is reported.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> (measured,) = shoal.measure(release, Associations(min_support=2))
    >>> measured.headline["rules of the table"], measured.headline["false negatives"]
    (2, 1.0)
    """

    min_support: Converted[Number, int | Fraction] = amount(
        "The minimum support of a rule: a number of rows if it is a whole number, otherwise a "
        "share of the table.",
        _read_support,
        default=Fraction(1, 100),
    )
    convictions: Converted[Sequence[Number], tuple[Fraction, ...]] = parameter(
        "The minimum convictions of a rule. Results are reported for each, and for the first one "
        "in the summary. Independent values have a conviction of 1.",
        _read_convictions,
        takes="a list of numbers of at least 0",
        schema={"type": "array", "items": {"type": ["number", "string"]}, "minItems": 1},
        default=(Fraction(11, 10), Fraction(1)),
    )
    max_len: int = whole_number("The most quasi-identifiers in a rule.", default=2, least=1)
    about: str | None = parameter(
        "The attribute that rules conclude on. Default: the sensitive one.",
        _read_column,
        takes="the name of a column",
        schema={"type": "string"},
        default=None,
    )

    def fits(self, published: Published) -> bool:
        """Return whether there is an attribute that rules conclude on."""
        return super().fits(published) and bool(self.about or sensitive_of(published))

    def run(self, published: Published, truth: Cells) -> Measured:
        """Mine the rules of both, and compare them."""
        self.confirm_fits(published)
        estimated = Estimated(published, truth)
        about = self.about or sensitive_of(published)[0]
        confirm_attributes([about], estimated.attributes)
        least = least_count(self.min_support, truth.n_rows)
        kept, n_left_out = _column_sets(estimated, about, self.max_len)
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
            words=_words(headline),
        )


def _words(headline: Mapping[str, object]) -> tuple[str, ...]:
    error = headline["confidence error"]
    if not isinstance(error, float):
        return ()
    return (f"confidences of rules are off by {100 * error:.0f} % of their value on average",)


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
    estimated: Estimated, about: str, max_len: int
) -> tuple[list[tuple[str, ...]], int]:
    """Return the sets of columns that rules may name, and the number of sets that are too large.

    Where labels overlap, as those of Mondrian do, a column may have more labels than values.
    """
    names = [name for name in estimated.attributes if name != about]
    n_codes = {
        name: max(estimated.shares[name].n_values, estimated.shares[name].n_labels)
        for name in (*names, about)
    }
    sets = [
        chosen
        for length in range(1, min(max_len, len(names)) + 1)
        for chosen in itertools.combinations(names, length)
    ]
    too_long = [
        name
        for name in n_codes
        for shares in [estimated.shares[name]]
        if not shares.is_identity and shares.n_labels * shares.n_values > _MOST_SHARES
    ]
    kept = [
        chosen
        for chosen in sets
        if math.prod(n_codes[name] for name in (*chosen, about)) <= _MOST_CELLS
        if not set(too_long) & {*chosen, about}
    ]
    return kept, len(sets) - len(kept)


@dataclass(frozen=True, eq=False)
class _Tables:
    """The rows of every combination of some columns; rules conclude on the last column."""

    truth: Cells
    found: Floats  # The rows expected by the release, one axis per column.

    @classmethod
    def of(cls, estimated: Estimated, names: Sequence[str]) -> _Tables:
        groupings = {
            name: Grouping(np.arange(size), size)
            for name in names
            for size in [estimated.truth.domain(name).size]
        }
        truth = estimated.truth
        selected = once((truth,), ("columns", *names), lambda: truth.select(names))
        return cls(selected, estimated.table(names, groupings))

    def true_rules(self, least: int, bound: Fraction) -> list[PositiveRule]:
        """Mine the table; the rules are the same for all of its releases."""
        return once(
            (self.truth,), (least, bound), lambda: list(self._rules(self.truth, least, bound))
        )

    def found_rules(self, least: int, bound: Fraction) -> Iterator[PositiveRule]:
        """Mine the expected table."""
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
        # Rules that name fewer columns are found by the table of these columns.
        return (rule for rule in rules if len(rule.antecedent) == n_named)

    def confidence(self, rule: PositiveRule) -> float:
        """Return the confidence of a rule in the expected table."""
        place = tuple(
            int(domain.codes_of([rule.antecedent[domain.column]])[0])
            for domain in self.truth.domains[:-1]
        )
        among = self.found[place]
        hits = among[int(self.truth.domains[-1].codes_of([rule.value])[0])]
        return float(hits / among.sum()) if among.sum() > 0 else 0.0


def _compare(tables: Sequence[_Tables], least: int, bound: Fraction) -> tuple[object, ...]:
    """Return the figures for one minimum conviction."""
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
