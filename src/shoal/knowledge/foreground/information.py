"""What buckets tell of a model's parameters: how fast the slopes of its likelihood grow.

A bucket says how many of its rows carry the value. Of a sum of independent chances that tells, for
every two parameters, the product of the covariances of each with the sum, over its variance. Steps
that are divided by that matrix lead almost straight to the top, where those that take parameters
one by one zigzag for hundreds of steps: buckets tell far less of a parameter than their rows would.

References
----------
[Nocedal06] (see `shoal.knowledge.foreground.descent`) Section 7.2, for the choice of the first
matrix.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Codes
from shoal.knowledge.foreground.shapes import Shapes

__all__ = ["information", "invert", "is_worthwhile"]

Floats = npt.NDArray[np.float64]

_MOST_PARAMETERS = 400
_MOST_PRODUCTS = 50_000_000
_STEPS_SAVED = 400
"""So many passes over the rows cost about what the matrix is allowed to."""


def is_worthwhile(shapes: Shapes, place: Codes, n_parameters: int) -> bool:
    """Whether the matrix costs less than the steps that it saves.

    Parameters
    ----------
    shapes
        The buckets.
    place
        The places of the parameters of each class, one row a class.
    n_parameters
        How many parameters there are.
    """
    if n_parameters > _MOST_PARAMETERS or n_parameters**3 > _STEPS_SAVED * place.size:
        return False
    width = np.minimum(np.diff(shapes.start) * place.shape[1], n_parameters).astype(np.float64)
    return float((width**2).sum()) <= _MOST_PRODUCTS


def information(shapes: Shapes, place: Codes, f: Floats, n_rows: Floats, size: int) -> Floats:
    """Give the information matrix of an additive logit.

    Parameters
    ----------
    shapes
        The buckets that hold a carrier; the class after the last is of rows that cannot be one.
    place
        The places of the parameters of each class, one row a class.
    f, n_rows
        The chance and the number of rows of each class.
    size
        How many parameters there are. The first is the level, which all classes share.

    Examples
    --------
    One bucket of two rows that differ in one parameter tells nothing but their sum:

    >>> shapes, _ = Shapes.of_buckets(np.array([0, 0]), np.array([0, 1]), np.array([1, 1]),
    ...                               np.array([1]), 2)
    >>> half = np.array([0.5, 0.5])
    >>> information(shapes, np.array([[1], [2]]), half, np.ones(2), 3).tolist()
    [[0.5, 0.25, 0.25], [0.25, 0.125, 0.125], [0.25, 0.125, 0.125]]
    """
    # No product of dense matrices: a library's threads round differently with their number.
    from scipy import sparse  # noqa: PLC0415 - it takes long to import

    n_classes, width = len(f), place.shape[1] + 1
    whole = np.column_stack([np.zeros(n_classes, dtype=np.int64), place])
    variance = f * (1 - f)
    is_able = shapes.which < n_classes
    which, shape = shapes.which[is_able], shapes.shape[is_able]
    own = variance[which] * shapes.count[is_able]
    total = np.bincount(shape, own, shapes.n_shapes)
    rows, columns = np.repeat(shape, width), whole[which].ravel()
    bound = (shapes.n_shapes, size)
    covariance = sparse.coo_array((np.repeat(own, width), (rows, columns)), shape=bound).tocsr()
    weight = shapes.multiplicity / np.maximum(total, np.finfo(np.float64).tiny)
    found = covariance.T @ sparse.diags_array(weight) @ covariance
    # Rows of buckets without a carrier are known one by one.
    seen = shapes.multiplicity[shape] * shapes.count[is_able]
    rest = (n_rows - np.bincount(which, seen, n_classes)) * variance
    starts = np.arange(0, width * n_classes + 1, width)
    ones = np.ones(width * n_classes)
    design = sparse.csr_array((ones, whole.ravel(), starts), shape=(n_classes, size))
    found = found + design.T @ sparse.diags_array(rest) @ design
    dense: Floats = np.asarray(found.todense(), dtype=np.float64)
    return dense


def invert(matrix: Floats) -> Floats:
    """Invert a positive definite matrix, rounding alike on every machine.

    Examples
    --------
    >>> invert(np.array([[2.0, 1.0], [1.0, 1.0]])).tolist()
    [[1.0, -1.0], [-1.0, 2.0]]
    """
    inverse = matrix.copy()
    for place in range(len(inverse)):
        pivot = inverse[place, place]
        inverse[place, place] = 1.0
        inverse[place] /= pivot
        factor = inverse[:, place].copy()
        factor[place] = 0.0
        inverse[:, place] = np.where(factor == 0.0, inverse[:, place], 0.0)
        inverse -= factor[:, np.newaxis] * inverse[place]
    return inverse
