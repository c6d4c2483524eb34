"""Queries: how far COUNT, SUM and AVG from a release are from those of the table.

The workload of the papers: each query asks for some quasi-identifiers, drawn at random, to lie in
sets of values, drawn at random, and for the sensitive attribute to lie in one as well. It is
answered from the release as an analyst would, by expectation over all linkings and with labels
shared out evenly, and from the table; how far apart the two are, as a share of the true answer, is
the relative error. Queries depend on the table and the seed alone, so that methods are asked the
same ones.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI-D.
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from shoal.analyse.linked import confirm_attributes
from shoal.core.attack import Section
from shoal.core.cells import Cells
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.exact import Number, as_text, exact, whole
from shoal.core.measure import Measure, Measured
from shoal.core.release import Published
from shoal.measures._estimated import Estimated, Reals, sensitive_of
from shoal.measures._intervals import mean_interval, median_interval
from shoal.measures._workload import Workload, answer, answer_truly, draw_workloads

__all__ = ["Queries"]

_BANDS = (1, 10, 100, 1000, 10_000, 100_000)
"""From how many true rows on errors are told apart."""


@dataclass(frozen=True, kw_only=True, init=False)
class Queries(Measure):
    """Answer random queries from the release and from the table.

    Parameters
    ----------
    number
        How many queries are drawn.
    dimension
        How many quasi-identifiers each is about, at least 1; all where there are fewer.
    selectivity
        The share of the rows that a query would choose if values were equally frequent and
        attributes independent: above 0 and at most 1.
    about
        The attributes that every query is about beside those; the sensitive ones where left out.
    numbers
        The numeric attributes that are added up and averaged; all where left out.
    seed
        Where draws begin.

    Notes
    -----
    An attribute of n values is asked to lie in ``ceil(n * selectivity ** (1 / d))`` of them, where
    d is the number of attributes that the query is about [Xiao06]. Queries with a true answer of 0
    have no relative error and are passed over. An average of no rows is an error of 1.

    Intervals are at 95 %: those of means normal, those of medians by ranks.

    Examples
    --------
    >>> from shoal.core.method import Shape
    >>> from shoal.core.release import Manifest
    >>> bucket, sex = Domain.of_texts("bucket", ["1"]), Domain.of_texts("sex", ["F", "M"])
    >>> lines = Cells((bucket, sex), np.array([[0, 0], [0, 1]]), np.array([1, 1]))
    >>> manifest = Manifest(
    ...     shape=Shape.BUCKETIZED, method="anatomy", parameters={}, columns=(), guarantees=(),
    ...     n_rows=2, n_buckets=1,
    ... )
    >>> Queries(number=10).run(Published(manifest, lines, None), lines.select(["sex"]))
    Measured(queries: mean relative error 0)
    """

    number: int = 1000
    dimension: int = 3
    selectivity: Fraction = Fraction(1, 20)
    about: tuple[str, ...] | None = None
    numbers: tuple[str, ...] | None = None
    seed: int = 0

    def __init__(
        self,
        *,
        number: int = 1000,
        dimension: int = 3,
        selectivity: Number = "0.05",
        about: Sequence[str] | None = None,
        numbers: Sequence[str] | None = None,
        seed: int = 0,
    ) -> None:
        share = exact("selectivity", selectivity)
        if not 0 < share <= 1:
            raise ParameterError(
                f"selectivity must be above 0 and at most 1, not {as_text(share)}."
            )
        object.__setattr__(self, "number", whole("number", number, least=1))
        object.__setattr__(self, "dimension", whole("dimension", dimension, least=1))
        object.__setattr__(self, "selectivity", share)
        object.__setattr__(self, "about", None if about is None else tuple(about))
        object.__setattr__(self, "numbers", None if numbers is None else tuple(numbers))
        object.__setattr__(self, "seed", whole("seed", seed, least=0))

    def run(self, published: Published, truth: Cells) -> Measured:
        """Answer the queries, and say how far apart the answers are.

        Raises
        ------
        ParameterError
            Where an attribute is named that the release does not have, or has no numbers.
        """
        self.confirm_fits(published)
        estimated = Estimated(published, truth)
        workloads = self.workloads(estimated)
        counts = _Answers.of(estimated, workloads, {})
        errors = counts.errors
        listed = [("COUNT", "", errors)]
        for name in self._numeric(estimated):
            sums, averages = _sums_and_averages(estimated, workloads, name)
            listed += [("SUM", name, sums), ("AVG", name, averages)]
        return Measured("queries", _headline(errors), (_by_aggregate(listed), _by_size(counts)))

    def workloads(self, estimated: Estimated) -> list[Workload]:
        """Draw the queries."""
        names = tuple(name for name in estimated.truth.columns if name in estimated.attributes)
        always = sensitive_of(estimated.published) if self.about is None else self.about
        confirm_attributes(always, estimated.attributes)
        return draw_workloads(
            estimated.truth,
            [name for name in names if name not in always],
            always,
            self.dimension,
            float(self.selectivity),
            self.number,
            np.random.default_rng(self.seed),
        )

    def _numeric(self, estimated: Estimated) -> tuple[str, ...]:
        """Name the attributes that are added up."""
        truth = estimated.truth
        if self.numbers is not None:
            confirm_attributes(self.numbers, estimated.attributes)
            for name in self.numbers:
                if not _has_numbers(truth.domain(name)):
                    raise ParameterError(f"Column {name!r} has no numbers to add up.")
            return self.numbers
        return tuple(name for name in estimated.attributes if _has_numbers(truth.domain(name)))


def _has_numbers(domain: Domain) -> bool:
    return domain.type in (ColumnType.INTEGER, ColumnType.REAL) and domain.numbers is not None


@dataclass(frozen=True, eq=False)
class _Answers:
    """The answers to all queries: the true ones, and those from the release."""

    true: Reals
    found: Reals

    @classmethod
    def of(
        cls, estimated: Estimated, workloads: list[Workload], worth: Mapping[str, Reals]
    ) -> _Answers:
        """Answer queries about the worth of rows, by attribute and value; 1 where none is given."""
        true = [answer_truly(estimated.truth, workload, worth) for workload in workloads]
        found = [answer(estimated, workload, worth) for workload in workloads]
        return cls(np.concatenate([*true, np.empty(0)]), np.concatenate([*found, np.empty(0)]))

    @property
    def errors(self) -> Reals:
        """The relative errors of queries whose true answer is not 0."""
        is_told = self.true != 0
        errors: Reals = np.abs(self.found - self.true)[is_told] / np.abs(self.true[is_told])
        return errors


def _sums_and_averages(
    estimated: Estimated, workloads: list[Workload], name: str
) -> tuple[Reals, Reals]:
    """Give the relative errors of sums and of averages of an attribute."""
    domain = estimated.truth.domain(name)
    numbers = np.zeros(domain.size)
    known = np.empty(0) if domain.numbers is None else domain.numbers
    numbers[: len(known)] = known
    is_there = (np.arange(domain.size) < len(known)).astype(np.float64)
    sums = _Answers.of(estimated, workloads, {name: numbers})
    rows = _Answers.of(estimated, workloads, {name: is_there})
    asked = rows.true > 0
    true = sums.true[asked] / rows.true[asked]
    found = np.zeros(len(true))
    np.divide(sums.found[asked], rows.found[asked], out=found, where=rows.found[asked] > 0)
    errors = _Answers(true, found).errors
    # Where no row is expected, nothing can be said of the average.
    errors[(rows.found[asked] <= 0)[true != 0]] = 1.0
    return sums.errors, errors


# --- figures --------------------------------------------------------------------------------------


def _summary(errors: Reals) -> tuple[float | None, ...]:
    """Give mean and median, each with its interval; None where no query has an error."""
    if not len(errors):
        return (None,) * 6
    mean, median = float(errors.mean()), float(np.median(errors))
    return (mean, *mean_interval(errors), median, *median_interval(errors))


def _headline(errors: Reals) -> dict[str, object]:
    mean, low, high, median, median_low, median_high = _summary(errors)
    return {
        "mean relative error": mean,
        "interval of the mean": [low, high],
        "median relative error": median,
        "interval of the median": [median_low, median_high],
        "queries": len(errors),
    }


_FIGURES = ("queries", "mean", "mean from", "mean to", "median", "median from", "median to")


def _by_aggregate(listed: list[tuple[str, str, Reals]]) -> Section:
    return Section(
        "relative errors",
        ("aggregate", "column", *_FIGURES),
        tuple((kind, name, len(errors), *_summary(errors)) for kind, name, errors in listed),
        holds_values=False,
    )


def _by_size(counts: _Answers) -> Section:
    """Tell errors of COUNT apart by how many rows the true answer is."""
    true = counts.true[counts.true != 0]
    band = np.searchsorted(np.array(_BANDS), true, side="right") - 1
    rows = [
        (_BANDS[at], int(np.count_nonzero(band == at)), *_summary(counts.errors[band == at]))
        for at in np.unique(band).tolist()
    ]
    return Section("COUNT by true rows", ("from", *_FIGURES), tuple(rows), holds_values=False)
