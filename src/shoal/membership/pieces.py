"""How large the held-out test is, and what is left out of it, if the attack may do little work.

The test comes first, because it is what a limit judges. A smaller one has a wider interval; nothing
is missing from it. Then fake tuples are counted, and then the test is repeated with rows grouped in
other ways: these are the pieces that are left out.
"""

from __future__ import annotations

from dataclasses import replace

from shoal.core.attack import TrialPlan
from shoal.core.budget import most_within

# Units (`shoal.core.budget`), measured with the census of 2,000 to 40,000 rows by Anatomy and
# Mondrian, which take half of this: publishing and attacking a part, and each of its rows; looking
# at a row of the whole table; and a step of counting fake tuples.
_TEST, _TEST_PER_ROW = 10_000_000, 1500
_PER_ROW_OF_TABLE = 40
_STEP = 20
_N_GROUPINGS = 3
"""The ways of grouping rows that a test is repeated with."""
FEWEST_ROWS = 2000
"""A smaller test would say too little, so it has this many rows whatever they cost."""


def plan_within(units: int, wanted: TrialPlan, n_rows: int) -> TrialPlan:
    """Return what fits a budget of all that is wanted, for a table of `n_rows` rows.

    Examples
    --------
    >>> from fractions import Fraction
    >>> wanted = TrialPlan(Fraction(1, 2), max_rows=100_000, compare=True, max_steps=1000)
    >>> plan_within(10**9, wanted, 1_000_000) == wanted
    True
    >>> plan = plan_within(10**8, wanted, 1_000_000)
    >>> plan.max_rows, plan.compare, plan.max_steps
    (33333, False, 0)
    """
    n_most = min(wanted.max_rows, n_rows)
    n_left = units - _PER_ROW_OF_TABLE * n_rows
    n_tested = most_within(n_left, cost_of_test, n_most, least=FEWEST_ROWS)
    if n_tested < n_most:
        return replace(wanted, max_rows=n_tested, compare=False, max_steps=0)
    n_left = max(n_left - cost_of_test(n_most), 0)
    n_steps = min(wanted.max_steps, n_left // _STEP)
    is_compared = _N_GROUPINGS * cost_of_test(n_most) <= n_left - _STEP * n_steps
    return replace(wanted, compare=wanted.compare and is_compared, max_steps=n_steps)


def cost_of_test(n_rows: int) -> int:
    """Return the units that a test with so many rows takes."""
    return _TEST + _TEST_PER_ROW * n_rows
