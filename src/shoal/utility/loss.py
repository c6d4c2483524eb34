"""Loss: how far a release departs from the table, regardless of the purpose of the analysis.

Three kinds of figures answer three questions. How coarse are the labels (generalized loss, entropy,
suppressed cells and rows)? How many rows cannot be told apart (discernibility, class size)? How far
are the distributions estimated from the release, of single columns and of pairs, from those of the
table (total variation, Kullback-Leibler divergence, difference of Cramer's V)?

References
----------
[Iyengar02] V. Iyengar: Transforming Data to Satisfy Privacy Constraints. KDD 2002: generalized
loss.
[Xu06] J. Xu et al.: Utility-Based Anonymization Using Local Recoding. KDD 2006: the same as the
normalized certainty penalty (NCP), for numbers by the width of intervals.
[Bayardo05] R. Bayardo, R. Agrawal: Data Privacy through Optimal k-Anonymization. ICDE 2005:
discernibility.
[LeFevre06] K. LeFevre, D. DeWitt, R. Ramakrishnan: Mondrian Multidimensional K-Anonymity.
ICDE 2006: average class size.
[Kifer06] D. Kifer, J. Gehrke: Injecting Utility into Anonymized Datasets. SIGMOD 2006: divergence
from the estimated distribution.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from shoal.core.arrays import Counts, Flags, Floats, weighted_sum
from shoal.core.cells import Cells
from shoal.core.declared import declared
from shoal.core.display import Section, of_all, percent
from shoal.core.domain import Domain
from shoal.core.measure import Measure, Measured
from shoal.core.parameters import whole_number
from shoal.core.release import Published
from shoal.core.sharing import once
from shoal.utility.estimated import Estimated, Grouping, Shares

_ROUNDING = 1e-12
"""Smaller distances are rounding errors of sums over all rows."""

_HALF_A_ROW = 0.5


@declared
class Loss(Measure):
    """Compare labels, classes and distributions of a release with those of the table.

    Notes
    -----
    If the release holds everything that the table holds, every figure is 0, except class size and
    discernibility, which are then those of the table. If the release holds nothing, all shares
    are 1. A row that is left out counts as suppressed in all columns; in the tables of columns it
    is a combination of its own.

    - *generalized loss*: for a number, the width of the interval that its label stands for; for
      other values, the number of values that it stands for; both as a share of the whole column.
      The mean over all quasi-identifying cells.
    - *entropy lost*: the bits needed to recover the value from its label, with values weighted as
      in the table, as a share of the entropy of the column. The mean over quasi-identifiers.
    - *discernibility*: the sum, over all rows, of the size of the row's class; for a row that is
      left out, the size of the table. As a share, 0 means the classes of the table itself and 1 a
      single class. Rows are in one class if their quasi-identifiers are equal. If
      quasi-identifiers are published unchanged, the classes are the buckets, and every row of the
      table is a class of its own.
    - *class size*: the mean size of the published classes. Rows that are left out are in none of
      them, as in ARX's average class size; [LeFevre06] leaves out no row.
    - *total variation*, *divergence*: the distance between the true and the estimated distribution,
      as the mean over columns and over pairs of columns. For the divergence, half a row is added
      to every combination on both sides; otherwise it would be infinite if the release rules a
      combination out.
    - *association lost*: the absolute difference between the estimated and the true Cramer's V of
      two columns, as the mean over pairs.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
    >>> (measured,) = shoal.measure(release, Loss())
    >>> measured
    Measured(loss: generalized loss 0)
    >>> measured.headline["discernibility"], measured.headline["class size"]
    (21, 2.25)
    """

    groups: int = whole_number(
        "The most groups of values per column in the tables of one and of two columns that are "
        "compared; a column with more values is grouped.",
        default=100,
        least=2,
    )

    def run(self, published: Published, truth: Cells) -> Measured:
        """Measure the loss."""
        self.confirm_fits(published)
        estimated = Estimated(published, truth)
        labels = [_Labels.of(estimated, name) for name in _blurred(estimated)]
        pairs = self._pairs(estimated)
        figures = _label_figures(labels, estimated)
        return Measured(
            "loss",
            figures | _class_figures(estimated) | _mean_figures(pairs),
            (_label_section(labels), *pairs),
            words=_words(figures, estimated),
        )

    def _pairs(self, estimated: Estimated) -> tuple[Section, Section]:
        """Compare the contingency tables of all columns and pairs of columns."""
        groupings = {name: self._grouping(estimated.truth, name) for name in estimated.attributes}
        names = ("total variation", "divergence", "true association", "estimated association")
        single, double = [], []
        for one in estimated.attributes:
            true = estimated.true_table([one], groupings)
            found = estimated.table([one], groupings)
            single.append((one, total_variation(true, found), divergence(true, found)))
        for two in itertools.combinations(estimated.attributes, 2):
            true = estimated.true_table(two, groupings)
            found = estimated.table(two, groupings)
            distances = total_variation(true, found), divergence(true, found)
            double.append((*two, *distances, cramers_v(true), cramers_v(found)))
        return (
            Section("columns", ("column", *names[:2]), tuple(single), holds_values=False),
            Section(
                "pairs of columns", ("first", "second", *names), tuple(double), holds_values=False
            ),
        )

    def _grouping(self, truth: Cells, name: str) -> Grouping:
        def grouped() -> Grouping:
            domain = truth.domain(name)
            counts = np.bincount(truth.column(name), truth.counts, domain.size)
            return Grouping.of_values(domain, counts.astype(np.float64), self.groups)

        return once((truth,), ("groups", name, self.groups), grouped)


# --- distances ------------------------------------------------------------------------------------


def total_variation(true: Floats, found: Floats) -> float:
    """Return the total variation between two tables of counts; missing rows are one more cell.

    Examples
    --------
    >>> total_variation(np.array([2.0, 2.0]), np.array([3.0, 1.0]))
    0.25
    >>> total_variation(np.array([2.0, 2.0]), np.array([0.0, 0.0]))
    1.0
    """
    missing = abs(true.sum() - found.sum())
    distance = float((np.abs(true - found).sum() + missing) / (2 * max(true.sum(), 1)))
    return distance if distance > _ROUNDING else 0.0


def divergence(true: Floats, found: Floats) -> float:
    """Return the Kullback-Leibler divergence, in bits, of the estimated table from the true one.

    Half a row is added to every cell of both.

    Examples
    --------
    >>> round(divergence(np.array([1.5, 0.5]), np.array([0.5, 1.5])), 3)
    0.333
    """
    p, q = true + _HALF_A_ROW, found + _HALF_A_ROW
    p, q = p / p.sum(), q / q.sum()
    # Rounding must not make it negative.
    return max(0.0, float((p * np.log2(p / q)).sum()))


def cramers_v(table: Floats) -> float:
    """Return Cramer's V of a table of two columns: 0 if they are independent, at most 1.

    Examples
    --------
    >>> cramers_v(np.array([[2.0, 0.0], [0.0, 2.0]])), cramers_v(np.array([[1.0, 1.0], [1.0, 1.0]]))
    (1.0, 0.0)
    """
    n_rows = table.sum()
    rows, columns = table.sum(axis=1), table.sum(axis=0)
    degrees = min(np.count_nonzero(rows), np.count_nonzero(columns)) - 1
    if degrees < 1:
        return 0.0
    expected = np.outer(rows, columns)[np.ix_(rows > 0, columns > 0)] / n_rows
    seen = table[np.ix_(rows > 0, columns > 0)]
    chi_squared = ((seen - expected) ** 2 / expected).sum()
    return float(min(1.0, np.sqrt(chi_squared / (n_rows * degrees))))


# --- labels ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Labels:
    """The loss of one column's labels: means over all rows of the table."""

    column: str
    loss: float
    entropy: float
    n_suppressed: int

    @classmethod
    def of(cls, estimated: Estimated, name: str) -> _Labels:
        shares, n_rows = estimated.shares[name], estimated.n_rows_of_labels(name)
        truth = estimated.truth
        domain = truth.domain(name)
        counts = np.bincount(truth.column(name), truth.counts, domain.size).astype(np.float64)
        is_open = _stands_for_all(
            shares, is_suppressed=estimated.published.manifest.shape.hides_cells
        )
        bits, most = _bits_by_label(shares, counts), _bits(counts)
        n_total = max(truth.n_rows, 1)
        # A row that is left out loses as much as a suppressed cell.
        n_left_out = truth.n_rows - estimated.n_rows
        loss = weighted_sum(np.where(is_open, 1.0, _extents(shares, domain)), n_rows) + n_left_out
        entropy = weighted_sum(np.where(is_open, most, bits), n_rows) + n_left_out * most
        return cls(
            name,
            loss / n_total,
            entropy / (n_total * most) if most else 0.0,
            int(n_rows @ is_open),
        )


def _stands_for_all(shares: Shares, *, is_suppressed: bool) -> Flags:
    """Mark the labels that stand for every value of the column, and the label of hidden cells."""
    n_admitted = np.bincount(shares.label, minlength=shares.n_labels)
    is_open: Flags = (n_admitted == shares.n_values) & (shares.n_values > 1)
    if is_suppressed:
        # The last label is that of hidden cells; see `Shares.with_hidden`.
        is_open = np.arange(shares.n_labels) == shares.n_labels - 1
    return is_open


def _extents(shares: Shares, domain: Domain) -> Floats:
    """Return the share of the column, from 0 to 1, that each label stands for.

    It is the width of the interval for numbers [Xu06], the number of values otherwise [Iyengar02].
    """
    if domain.type.is_numeric and domain.numbers is not None:
        # The missing value comes after the numbers and has no width.
        is_there = shares.value < len(domain.numbers)
        label, number = shares.label[is_there], domain.numbers[shares.value[is_there]]
        low, high = np.full(shares.n_labels, np.inf), np.full(shares.n_labels, -np.inf)
        np.minimum.at(low, label, number)
        np.maximum.at(high, label, number)
        whole_width = float(np.ptp(domain.numbers)) if len(domain.numbers) else 0.0
        width = np.where(high > low, high - low, 0.0)
        return width / whole_width if whole_width else width
    n_admitted = np.bincount(shares.label, minlength=shares.n_labels)
    extents: Floats = np.maximum(n_admitted - 1, 0) / max(shares.n_values - 1, 1)
    return extents


def _bits(counts: Floats) -> float:
    """Return the entropy of counts, in bits."""
    shares = counts[counts > 0] / max(counts.sum(), 1)
    return max(0.0, float(-(shares * np.log2(shares)).sum()))


def _bits_by_label(shares: Shares, counts: Floats) -> Floats:
    """Return for each label the entropy of its values, weighted as in the table."""
    weight = counts[shares.value]
    total = np.bincount(shares.label, weight, shares.n_labels)
    part = weight / np.maximum(total[shares.label], 1)
    surprise = -part * np.log2(np.where(part > 0, part, 1.0))
    return np.maximum(np.bincount(shares.label, surprise, shares.n_labels), 0.0)


# --- figures --------------------------------------------------------------------------------------


def _blurred(estimated: Estimated) -> tuple[str, ...]:
    """Return the attributes whose values may be published as labels."""
    # Any cell of a suppressed release may be blank.
    published = estimated.published
    return estimated.attributes if published.manifest.shape.hides_cells else published.known


def _label_figures(labels: list[_Labels], estimated: Estimated) -> dict[str, object]:
    n_columns = max(len(labels), 1)
    n_left_out = estimated.truth.n_rows - estimated.n_rows
    return {
        "generalized loss": sum(one.loss for one in labels) / n_columns,
        "entropy lost": sum(one.entropy for one in labels) / n_columns,
        "cells suppressed": sum(one.n_suppressed for one in labels),
        "rows left out": n_left_out,
    }


def _words(figures: Mapping[str, object], estimated: Estimated) -> tuple[str, ...]:
    loss, n_left_out = float(str(figures["generalized loss"])), int(str(figures["rows left out"]))
    kept = f"{percent(1 - loss)} of the detail of quasi-identifiers is kept"
    if not n_left_out:
        return (kept,)
    return (kept, f"{of_all(n_left_out, estimated.truth.n_rows)} rows are left out")


def _class_figures(estimated: Estimated) -> dict[str, object]:
    sizes, least = _classes(estimated)
    n_rows = estimated.truth.n_rows
    n_left_out = n_rows - int(sizes.sum())
    # Python's own integers: squares of large tables exceed 64 bits.
    # [Bayardo05] charges a row that is left out with the size of the whole table.
    hidden = sum(size * size for size in sizes.tolist()) + n_left_out * n_rows
    most = n_rows * n_rows
    return {
        "discernibility": hidden,
        "discernibility, share": max(0.0, (hidden - least) / (most - least)) if most > least else 0,
        "class size": int(sizes.sum()) / max(len(sizes), 1),
    }


def _classes(estimated: Estimated) -> tuple[Counts, int]:
    """Return the sizes of the classes, and the discernibility of the table itself."""
    published, truth = estimated.published, estimated.truth
    if published.manifest.shape.numbers_buckets:
        return published.bucket_sizes, truth.n_rows
    is_suppressed = published.manifest.shape.hides_cells
    sizes = estimated.columns[0].count if is_suppressed else published.looks[0].counts
    own = truth.select(_blurred(estimated)).counts
    return sizes, sum(count * count for count in own.tolist())


def _mean_figures(sections: tuple[Section, Section]) -> dict[str, object]:
    single = np.array([row[1:] for row in sections[0].rows], dtype=np.float64).reshape(-1, 2)
    double = np.array([row[2:] for row in sections[1].rows], dtype=np.float64).reshape(-1, 4)
    lost = np.abs(double[:, 2] - double[:, 3])
    return {
        "total variation, columns": _mean(single[:, 0]),
        "total variation, pairs": _mean(double[:, 0]),
        "divergence, columns": _mean(single[:, 1]),
        "divergence, pairs": _mean(double[:, 1]),
        "association lost": _mean(lost),
    }


def _mean(numbers: Floats) -> float:
    return float(numbers.mean()) if len(numbers) else 0.0


def _label_section(labels: list[_Labels]) -> Section:
    return Section(
        "labels",
        ("column", "generalized loss", "entropy lost", "cells suppressed"),
        tuple((one.column, one.loss, one.entropy, one.n_suppressed) for one in labels),
        holds_values=False,
    )
