"""Independent Zipf columns: the synthetic tables of the adversarial-rules experiments.

Every column draws its values independently from a Zipf law: the value of rank k is drawn with a
probability proportional to ``1 / k ** factor``. What rules such a table has are accidents of the
draw and of its skew, which is what makes it a test of hiding them.
"""

from __future__ import annotations

import numpy as np

from shoal.core.errors import ParameterError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Dataset, Encoded

__all__ = ["zipf"]


def zipf(
    *,
    dimensions: int = 10,
    cardinality: int = 10,
    factor: float = 2.0,
    rows: int = 10_000,
    seed: int = 0,
) -> Dataset:
    """Generate a table of independent Zipf columns.

    Parameters
    ----------
    dimensions
        The number of columns, ``d1``, ``d2`` and so on; all are quasi-identifying.
    cardinality
        The number of values of a column, ``v1`` (the most frequent) to ``v<cardinality>``.
    factor
        The Zipf factor; 0 draws every value alike.
    rows
        The number of rows.
    seed
        The seed of the draw: the same parameters give the same table.

    References
    ----------
    Aggarwal, Pei, Zhang (KDD 2006), section 6.1; the defaults are the paper's.

    Examples
    --------
    >>> zipf(rows=500)
    Dataset('zipf', 500 rows, 10 columns: 10 quasi-identifying)
    """
    for name, value, least in (
        ("dimensions", dimensions, 1),
        ("cardinality", cardinality, 1),
        ("factor", factor, 0),
        ("rows", rows, 0),
    ):
        if not value >= least:
            raise ParameterError(
                f"{name} must be at least {least}; got {value}.",
                hint="leave it out for the value that the paper uses.",
            )
    weights = np.arange(1, cardinality + 1, dtype=np.float64) ** -factor
    bounds = np.cumsum(weights[:-1]) / weights.sum()
    generator = np.random.default_rng(seed)
    labels = tuple(f"v{rank}" for rank in range(1, cardinality + 1))
    columns = {
        f"d{place}": Encoded(
            np.searchsorted(bounds, generator.random(rows), side="right").astype(np.int32), labels
        )
        for place in range(1, dimensions + 1)
    }
    return Dataset("zipf", columns, Schema(quasi=list(columns)))
