"""From when on a rule counts: its least confidence, and its least support.

Both are read exactly as they are typed: a rule that just reaches one counts.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from shoal.core.errors import ParameterError
from shoal.core.exact import Number, exact, whole

__all__ = ["check_blank_per_round", "check_gamma", "read_delta", "read_gamma"]


def read_delta(value: Number) -> Fraction:
    """Read a least confidence, which is above 0 and at most 1.

    Examples
    --------
    >>> read_delta(0.8)
    Fraction(4, 5)
    """
    delta = exact("delta", value)
    if not 0 < delta <= 1:
        raise ParameterError(
            f"delta must be above 0 and at most 1, not {value}.", hint="for example 0.8."
        )
    return delta


def read_gamma(value: Number, n_rows: int) -> int:
    """Read a least support: a whole number of rows, or a share of them, which is rounded up.

    Examples
    --------
    >>> read_gamma(2, 10_000), read_gamma(0.001, 10_001), read_gamma(1.0, 10)
    (2, 11, 10)
    """
    checked = check_gamma(value)
    return checked if isinstance(checked, int) else max(1, math.ceil(checked * n_rows))


def check_gamma(value: Number) -> int | Fraction:
    """Read a least support without knowing the table: a whole number of rows stays one.

    Examples
    --------
    >>> check_gamma(2), check_gamma("2"), check_gamma(0.001)
    (2, 2, Fraction(1, 1000))
    """
    if isinstance(value, str) and value.strip().isdecimal():
        value = int(value)
    if isinstance(value, (int, np.integer)):
        return whole("gamma", value, least=1)
    share = exact("gamma", value)
    if not 0 < share <= 1:
        raise ParameterError(
            f"gamma must be a whole number of at least 1, or a share of the rows above 0 and at "
            f"most 1, not {value}.",
            hint="for example 0.001; an integer 1 is one row, a float 1.0 all of them.",
        )
    return share


def check_blank_per_round(value: Number) -> int | Fraction:
    """Read how many cells are blanked at a time: a number of them, or a share of the table's."""
    if isinstance(value, (int, np.integer)):
        return whole("blank_per_round", value, least=1)
    share = exact("blank_per_round", value)
    if not 0 < share <= 1:
        raise ParameterError(
            "blank_per_round must be a whole number of at least 1, or a share of the cells above 0 "
            f"and at most 1, not {value}.",
            hint="1 blanks one cell at a time, and the fewest in all.",
        )
    return share
