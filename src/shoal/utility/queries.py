"""Queries: the relative errors of COUNT, SUM and AVG from a release.

This is the workload of the papers. Each query requires some quasi-identifiers, drawn at random, to
lie in sets of values, drawn at random, and likewise the sensitive attribute. It is answered from
the release as an analyst would, by expectation over all linkings and with labels divided evenly,
and from the table. Queries depend only on the table and the seed, so all methods get the same ones.

References
----------
[Li08] T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008;
Section VI-D.
[Xiao06] X. Xiao, Y. Tao: Anatomy: Simple and Effective Privacy Preservation. VLDB 2006; Section 6.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Floats
from shoal.core.cells import Cells
from shoal.core.declared import declared
from shoal.core.display import Section, percent
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError
from shoal.core.measure import Measure, Measured
from shoal.core.parameters import Exact, OptionalTexts, exact_number, texts, whole_number
from shoal.core.release import Published
from shoal.core.sharing import once
from shoal.utility.answers import Worth, answer, answer_truly
from shoal.utility.estimated import Estimated, sensitive_of
from shoal.utility.estimates import mean_interval, median_interval
from shoal.utility.linked import confirm_attributes
from shoal.utility.workload import Workload, draw_workloads

_BANDS = (1, 10, 100, 1000, 10_000, 100_000)
"""Errors of COUNT are grouped by the number of true rows; each group begins at one of these."""


@declared
class Queries(Measure):
    """Answer random queries from the release and from the table.

    Notes
    -----
    A condition on an attribute of n values admits ``ceil(n * selectivity ** (1 / d))`` of them,
    where d is the number of attributes in the query [Xiao06]. Queries with a true answer of 0 have
    no relative error and are skipped. If the release expects no row, the error of an average is 1.

    Confidence intervals are at 95 %, by normal approximation for means and by ranks for medians.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> shoal.measure(release, Queries(number=100))
    MeasureReport(queries: mean relative error 0.32)
    """

    number: int = whole_number("The number of queries.", default=1000, least=1)
    dimension: int = whole_number(
        "The number of quasi-identifiers in each query; all if there are fewer.",
        default=3,
        least=1,
    )
    selectivity: Exact = exact_number(
        "The share of the rows that a query would select if values were equally frequent and "
        "attributes independent.",
        default="0.05",
        above=0,
        at_most=1,
    )
    about: OptionalTexts = texts(
        "The attributes that every query includes as well. Default: the sensitive ones.",
        default=None,
        may_be_empty=True,
    )
    numbers: OptionalTexts = texts(
        "The numeric attributes of SUM and AVG queries. Default: all.",
        default=None,
        may_be_empty=True,
    )
    seed: int = whole_number("The seed of random draws.", default=0, least=0)

    def run(self, published: Published, truth: Cells) -> Measured:
        """Answer the queries from both, and measure the relative errors.

        Raises
        ------
        ParameterError
            If the release does not have one of the attributes, or it has no numbers.
        """
        self.confirm_fits(published)
        estimated = Estimated(published, truth)
        names = self._numeric(estimated)
        worths = [worth for name in names for worth in _worths(truth.domain(name))]

        def drawn() -> tuple[list[Workload], Floats]:
            workloads = self.workloads(estimated)
            return workloads, answer_truly(truth, workloads, worths)

        asked = self, estimated.attributes, sensitive_of(published), names
        workloads, true = once((truth,), asked, drawn)
        found = answer(estimated, workloads, worths)
        counts, *answers = map(_Answers, true.T, found.T)
        errors = counts.errors
        listed = [("COUNT", "", errors)]
        for name, sums, rows in zip(names, answers[::2], answers[1::2], strict=True):
            listed += [("SUM", name, sums.errors), ("AVG", name, _errors_of_averages(sums, rows))]
        headline = _headline(errors)
        return Measured(
            "queries",
            headline,
            (_by_aggregate(listed), _by_size(counts)),
            words=_words(headline),
        )

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
        """Return the attributes that are added up."""
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

    true: Floats
    found: Floats

    @property
    def errors(self) -> Floats:
        """The relative errors of queries whose true answer is not 0."""
        is_told = self.true != 0
        errors: Floats = np.abs(self.found - self.true)[is_told] / np.abs(self.true[is_told])
        return errors


def _worths(domain: Domain) -> tuple[Worth, Worth]:
    """Return the worths that add up a numeric attribute, and that count the rows with a number."""
    numbers = np.zeros(domain.size)
    known = np.empty(0) if domain.numbers is None else domain.numbers
    numbers[: len(known)] = known
    is_there = (np.arange(domain.size) < len(known)).astype(np.float64)
    return Worth(domain.column, numbers), Worth(domain.column, is_there)


def _errors_of_averages(sums: _Answers, rows: _Answers) -> Floats:
    """Return the relative errors of averages, from the sums and the rows with a number."""
    asked = rows.true > 0
    true = sums.true[asked] / rows.true[asked]
    found = np.zeros(len(true))
    np.divide(sums.found[asked], rows.found[asked], out=found, where=rows.found[asked] > 0)
    errors = _Answers(true, found).errors
    # If no row is expected, the release has no average at all.
    errors[(rows.found[asked] <= 0)[true != 0]] = 1.0
    return errors


# --- figures --------------------------------------------------------------------------------------


def _summary(errors: Floats) -> tuple[float | None, ...]:
    """Return mean and median, each with its interval; None if no query has an error."""
    if not len(errors):
        return (None,) * 6
    mean, median = float(errors.mean()), float(np.median(errors))
    return (mean, *mean_interval(errors), median, *median_interval(errors))


def _headline(errors: Floats) -> dict[str, object]:
    mean, low, high, median, median_low, median_high = _summary(errors)
    return {
        "mean relative error": mean,
        "interval of the mean": [low, high],
        "median relative error": median,
        "interval of the median": [median_low, median_high],
        "queries": len(errors),
    }


def _words(headline: Mapping[str, object]) -> tuple[str, ...]:
    mean, interval = headline["mean relative error"], headline["interval of the mean"]
    if not isinstance(mean, float) or not isinstance(interval, list):
        return ()
    low, high = interval
    reach = f" ({percent(low)} to {percent(high)})" if high > low else ""
    return (f"counts of people in queries are off by {percent(mean)} on average{reach}",)


_FIGURES = ("queries", "mean", "mean from", "mean to", "median", "median from", "median to")


def _by_aggregate(listed: list[tuple[str, str, Floats]]) -> Section:
    return Section(
        "relative errors",
        ("aggregate", "column", *_FIGURES),
        tuple((kind, name, len(errors), *_summary(errors)) for kind, name, errors in listed),
        holds_values=False,
    )


def _by_size(counts: _Answers) -> Section:
    """Group the errors of COUNT by the number of rows of the true answer."""
    true = counts.true[counts.true != 0]
    band = np.searchsorted(np.array(_BANDS), true, side="right") - 1
    rows = [
        (_BANDS[at], int(np.count_nonzero(band == at)), *_summary(counts.errors[band == at]))
        for at in np.unique(band).tolist()
    ]
    return Section("COUNT by true rows", ("from", *_FIGURES), tuple(rows), holds_values=False)
