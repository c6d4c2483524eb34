"""Errors: everything that Shoal raises on purpose.

A message says what is wrong, then what to do; it never holds a value of the table.

Examples
--------
>>> import shoal
>>> try:
...     shoal.Anatomy(ell=0)
... except shoal.errors.ParameterError as error:
...     print(error.fact)
ell must be a whole number of at least 2, not 0.
"""

from __future__ import annotations

from shoal.core.errors import (
    DataError,
    EngineError,
    GuaranteeError,
    InfeasibleError,
    InternalError,
    ParameterError,
    SchemaError,
    ShoalError,
)

__all__ = [
    "DataError",
    "EngineError",
    "GuaranteeError",
    "InfeasibleError",
    "InternalError",
    "ParameterError",
    "SchemaError",
    "ShoalError",
]
