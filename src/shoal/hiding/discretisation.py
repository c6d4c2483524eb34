"""Continuous columns cut into intervals, and published as mid-points or as the intervals.

[Aggarwal06], section 2: a method for categories takes a continuous column once it is discretised,
and publishes the mid-points of the ranges. Bounds are exact and as round as they can be: a value
lies in the interval that its label says, and the least and the largest value of the table are not
printed, unless they are round themselves or nothing else is left.

[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
"""

from __future__ import annotations

import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, localcontext
from typing import Literal

import numpy as np
import numpy.typing as npt

from shoal.core.domain import Domain
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.interval_grids import OPEN_BELOW, RULE_BY_KEY, Grid, Interval, Rule, Values
from shoal.core.plan import Label

__all__ = ["Cut", "Discretisation"]

Integers = npt.NDArray[np.int64]

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

    Parameters
    ----------
    index
        For each code of the domain, the missing one included, the place of its label.
    labels
        The labels of the intervals that hold a value, from the lowest on; that of the missing
        value comes last.
    """

    index: Integers
    labels: tuple[Label, ...]

    def __repr__(self) -> str:
        return f"Cut({len(self.index)} values under {len(self.labels)} labels)"


@dataclass(frozen=True)
class Discretisation:
    """How one column is cut into intervals; `of` makes it.

    Parameters
    ----------
    column
        The column.
    rule
        Where its intervals begin and end.
    show
        Whether an interval is published as its mid-point or as itself.
    """

    column: str
    rule: Rule
    show: Literal["midpoint", "interval"] = _MIDPOINT

    @classmethod
    def of(cls, column: str, given: object) -> Discretisation:
        """Read a specification as a configuration file or a caller gives it.

        Parameters
        ----------
        column
            The column.
        given
            One of these, or a number of bins:

            - ``{"bins": 10}``: that many intervals of equal width from the least to the largest
              value. Those of whole numbers and dates begin at whole ones, which may make them
              fewer.
            - ``{"width": 5}``: intervals of that width, in days for dates. One begins at 0 or at
              1970-01-01.
            - ``{"quantiles": 10}``: that many intervals with about equal numbers of rows; fewer
              where many rows share a value.
            - ``{"cuts": [0, 18, 30, 65]}``: intervals between given numbers or dates.

            Beside it, `show` is ``"midpoint"`` or ``"interval"``.

        Raises
        ------
        ParameterError
            Where it is none of these.

        Examples
        --------
        >>> Discretisation.of("age", 10).to_config()
        {'bins': 10}
        >>> Discretisation.of("age", {"width": 5, "show": "interval"}).to_config()
        {'width': 5, 'show': 'interval'}
        """
        if isinstance(given, cls):
            # A method that is made again, some parameters changed, hands over what was read.
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
        """Give the specification as a configuration file has it."""
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

        Parameters
        ----------
        domain
            The values.
        counts
            The rows of each code, for quantiles; without them every value counts once.
        basis
            The values that the bounds follow from; default all. A value beyond the outermost
            intervals of these lies in a further interval, of which there may then be more than
            were asked for.

        Raises
        ------
        SchemaError
            Where the column has no numbers and no dates, or cuts of the other kind.
        ParameterError
            Where values lie beyond given cuts, for such an interval has no mid-point.

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
        """Make the error for a column that has neither numbers nor dates."""
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
