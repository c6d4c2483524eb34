"""Continuous columns cut into intervals, and published as mid-points or as the intervals.

A method for categories takes a continuous column once it is discretised, and publishes the
mid-points of the ranges. Bounds are exact and as round as possible: a value lies in the interval
that its label states, and the smallest and largest values of the table are not printed unless they
are round themselves or nothing else is left. Bounds follow from cells that are not private.

References
----------
[Aggarwal06] (see `shoal.hiding`) section 2.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, localcontext
from typing import Literal

import numpy as np

from shoal.core.arrays import Codes, Flags, Integers, Small
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.plan import Label, Recode
from shoal.core.table import Rows
from shoal.hiding.interval_grids import OPEN_BELOW, RULE_BY_KEY, Grid, Interval, Rule, Values

_MIDPOINT: Literal["midpoint"] = "midpoint"
_INTERVAL: Literal["interval"] = "interval"
# Enough digits for the exact difference and quotient of any two floats.
_EXACT = Context(prec=1000)
_HINT = (
    "write { bins = 10 }, { width = 5 }, { quantiles = 10 } or { cuts = [0, 18, 30, 65] }, "
    'with show = "midpoint" or "interval".'
)


@dataclass(frozen=True, eq=False)
class Cut:
    """A column cut into intervals.

    `index` has the place of the label of each code of the domain, the missing one included.
    `labels` are those of the intervals that hold a value, from the lowest on; that of the missing
    value is last.
    """

    index: Integers
    labels: tuple[Label, ...]

    def __repr__(self) -> str:
        return f"Cut({len(self.index)} values under {len(self.labels)} labels)"


@dataclass(frozen=True)
class Discretisation:
    """How one column is cut into intervals; `of` makes it.

    `rule` says where its intervals begin and end, and `show` whether an interval is published as
    its mid-point or as itself.
    """

    column: str
    rule: Rule
    show: Literal["midpoint", "interval"] = _MIDPOINT

    @classmethod
    def of(cls, column: str, given: object) -> Discretisation:
        """Read the specification of a column from a configuration file or a caller.

        It is a number of bins or one of these:

        - ``{"bins": 10}``: that many intervals of equal width from the least to the largest value.
          Those of whole numbers and dates begin at whole numbers, so there may be fewer.
        - ``{"width": 5}``: intervals of that width, in days for dates. One begins at 0 or at
          1970-01-01.
        - ``{"quantiles": 10}``: that many intervals with about equal numbers of rows; fewer if many
          rows share a value.
        - ``{"cuts": [0, 18, 30, 65]}``: intervals between given numbers or dates.

        In addition, `show` may be ``"midpoint"`` (default) or ``"interval"``.

        Examples
        --------
        >>> Discretisation.of("age", 10).to_config()
        {'bins': 10}
        >>> Discretisation.of("age", {"width": 5, "show": "interval"}).to_config()
        {'width': 5, 'show': 'interval'}
        """
        if isinstance(given, cls):
            # A method that is copied with some parameters changed passes on what was read.
            return given
        is_number = isinstance(given, numbers.Integral) and not isinstance(given, bool)
        stated = {"bins": given} if is_number else given
        if not isinstance(stated, Mapping):
            raise ParameterError(
                f"The discretisation of column {column!r} must be a table or a number of bins; "
                "got something else.",
                hint=_HINT,
            )
        kinds = [kind for kind in RULE_BY_KEY if kind in stated]
        show = stated.get("show", _MIDPOINT)
        is_known = len(kinds) == 1 and stated.keys() <= {kinds[0], "show"}
        if not is_known or show not in (_MIDPOINT, _INTERVAL):
            raise ParameterError(
                f"The discretisation of column {column!r} must have one of the keys "
                f"{', '.join(RULE_BY_KEY)}, and may have show; got others or several.",
                hint=_HINT,
            )
        return cls(column, RULE_BY_KEY[kinds[0]].read(column, stated[kinds[0]]), show)

    def to_config(self) -> dict[str, object]:
        """Return the specification as a configuration file has it."""
        shown: dict[str, object] = {} if self.show == _MIDPOINT else {"show": self.show}
        return {**self.rule.to_config(), **shown}

    def over(
        self,
        domain: Domain,
        counts: Integers | None = None,
        *,
        basis: Values | None = None,
    ) -> Cut:
        """Cut the values of a column.

        `counts` are the rows of each code, for quantiles; default: every value counts once. `basis`
        are the values that the bounds follow from; default: all. A value beyond the outermost
        intervals of these lies in a further interval, so there may be more than requested.

        Raises
        ------
        SchemaError
            If the column has neither numbers nor dates, or cuts of the other kind.
        ParameterError
            If values lie beyond given cuts, because such an interval has no mid-point.

        Notes
        -----
        An interval is half open, so the last one ends above the largest value. Bins and the outer
        ends of quantiles are moved outwards to round bounds, which still tell the least and the
        largest value to within the width of an interval. Given cuts and widths do not follow from
        the values.

        The mid-point is that of the bounds: 25 for ``[20, 30[``, and 20.5 for ``[20, 21[`` even if
        the column has whole numbers only. Dates are rounded down to the day.

        Examples
        --------
        >>> from shoal.core.domain import ColumnType
        >>> ages = [17, 23, 41, 90]
        >>> domain = Domain.of_texts(
        ...     "age", list(map(str, ages)), type=ColumnType.INTEGER, numbers=ages, has_missing=True
        ... )
        >>> cut = Discretisation.of("age", {"bins": 10}).over(domain)
        >>> [label.text for label in cut.labels], cut.index.tolist()
        (['19', '27', '43', '91', None], [0, 1, 2, 3, 4])
        >>> cut = Discretisation.of("age", {"cuts": [0, 18, 65], "show": "interval"}).over(domain)
        >>> [label.text for label in cut.labels], cut.index.tolist()
        (['[0, 18[', '[18, 65[', '[65, +inf[', None], [0, 1, 1, 2, 3])
        """
        if not domain.type.is_numeric:
            raise self.refusal(domain)
        with localcontext(_EXACT):
            values = Values(domain, counts)
            intervals = self._intervals(values, basis) if values.exact else []
            place_of = {interval: place for place, interval in enumerate(dict.fromkeys(intervals))}
            labels = [self._label(values, interval) for interval in place_of]
        index = [place_of[interval] for interval in intervals]
        if domain.has_missing:
            index.append(len(labels))
            labels.append(Label(None, has_missing=True))
        return Cut(np.array(index, dtype=np.int64), tuple(labels))

    def refusal(self, domain: Domain) -> SchemaError:
        """Return the error for a column that has neither numbers nor dates."""
        return SchemaError(
            f"Column {self.column!r} must have numbers or dates to be cut into intervals; "
            f"it is {domain.type}.",
            hint="leave it as it is, or declare it integer, real or date.",
        )

    def _intervals(self, values: Values, basis: Values | None) -> list[Interval]:
        """Return the interval of every value."""
        grid = self._grid(values if basis is None else basis)
        intervals = [*map(grid.around, values.exact)]
        n_beyond = len([interval for interval in intervals if None in interval])
        if n_beyond and self.show == _MIDPOINT:
            raise ParameterError(
                f"Column {values.column!r} has {n_beyond} distinct values beyond its cuts; an "
                "unbounded interval has no mid-point.",
                hint='add a cut below or above them, or give show = "interval".',
            )
        return intervals

    def _grid(self, values: Values) -> Grid:
        return self.rule.grid(values) if self.show == _INTERVAL else self.rule.bounded_grid(values)

    def _label(self, values: Values, interval: Interval) -> Label:
        low, high = values.bound_texts(interval)
        if self.show == _MIDPOINT:
            return Label(values.midpoint_text(interval), interval=(low, high))
        opening = "]" if low == OPEN_BELOW else "["
        return Label(f"{opening}{low}, {high}[", interval=(low, high))


def check_discretised(cuts: Mapping[str, Discretisation], columns: Sequence[str]) -> None:
    """Raise `SchemaError` if a column that is to be cut does not exist."""
    stray = [column for column in cuts if column not in columns]
    if stray:
        raise SchemaError(
            f"discretise names {stray[0]!r}, which is not a quasi-identifying or sensitive column.",
            hint=f"these are {', '.join(columns)}.",
        )


def discretise_rows(
    rows: Rows, private: Flags, cuts: Mapping[str, Discretisation]
) -> tuple[Rows, tuple[Recode, ...]]:
    """Cut columns into intervals.

    Returns the rows with labels in place of values, and the label of every value by column. Nothing
    follows from the values of private cells; a column without other cells stays as it is.
    """
    check_discretised(cuts, rows.columns)
    codes, domains, recode = rows.codes.copy(), list(rows.domains), []
    is_complete = ~private.any(axis=1)
    for place, column in enumerate(rows.columns):
        if column in cuts:
            found = _recode(
                rows.domains[place],
                codes[~private[:, place], place],
                codes[is_complete, place],
                cuts[column],
            )
            if found is not None:
                recode.append(found)
                codes[:, place] = found.index[codes[:, place]]
                domains[place] = _labelled(rows.domains[place], found)
    return Rows(tuple(domains), codes, rows.keys, rows.is_typed), tuple(recode)


def plain_labels(rows: Rows, private: Flags, place: int) -> Recode:
    """Return the values of a column as labels that reveal nothing about its private cells.

    Engines write whole numbers with a decimal point if another value of the column has one, or is
    missing. Here they are written so only if a visible value requires it.
    """
    domain = rows.domains[place]
    shown = np.unique(rows.codes[~private[:, place], place])
    texts = domain.labels()
    if rows.is_typed and domain.type is ColumnType.REAL:
        visible = [texts[code] for code in shown.tolist()]
        is_whole = all(text is None or float(text).is_integer() for text in visible)
        texts = [None if text is None else _short(text, is_whole=is_whole) for text in texts]
    labels = tuple(Label(text, has_missing=text is None) for text in texts)
    return Recode(domain.column, "value", np.arange(domain.size), labels)


def _short(text: str, *, is_whole: bool) -> str:
    """Drop needless digits after the decimal point; keep one unless all values are whole."""
    if "e" in text.lower():
        return text
    number, _, digits = text.partition(".")
    digits = digits.rstrip("0")
    return number if is_whole and not digits else f"{number}.{digits or '0'}"


def _recode(domain: Domain, shown: Small, complete: Small, cut: Discretisation) -> Recode | None:
    """Return the labels of all values of a column, derived from cells that are not private.

    `shown` are the codes of these cells, which all lie in their intervals; `complete` are those in
    rows without any private cell, which decide where intervals begin.
    """
    if domain.numbers is None:
        raise cut.refusal(domain)
    codes, values = _values(domain, shown)
    if not len(codes):
        return None
    n_complete, basis = _values(domain, complete)
    # If every row has a private cell, the visible cells of the column decide.
    found = cut.over(values.domain, values.counts, basis=basis if len(n_complete) else None)
    nearest = np.clip(np.searchsorted(codes, np.arange(len(domain.texts))), 0, len(codes) - 1)
    index = found.index[np.append(nearest, np.arange(len(codes), values.domain.size))]
    return Recode(domain.column, "value", index.astype(np.int64), found.labels)


def _values(domain: Domain, codes: Small) -> tuple[Codes, Values]:
    """Return the codes that occur, without the missing one, and their values with counts."""
    counts = np.bincount(codes, minlength=domain.size)
    seen = np.flatnonzero(counts[: len(domain.texts)])
    assert domain.numbers is not None
    numbers = domain.numbers[seen]
    kind = domain.type
    if kind is ColumnType.REAL and np.all(numbers == np.floor(numbers)):
        kind = ColumnType.INTEGER
    held = Domain(domain.column, kind, domain.texts[seen], numbers, domain.has_missing)
    return seen, Values(held, np.append(counts[seen], counts[len(domain.texts) :]))


def _labelled(domain: Domain, recode: Recode) -> Domain:
    """Return the labels as values; that of the missing one is last, as its code is."""
    texts = [label.text for label in recode.labels if label.text is not None]
    return Domain.of_texts(domain.column, texts, has_missing=domain.has_missing)
