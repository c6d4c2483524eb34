"""The array types: one name per kind of element."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Integers = npt.NDArray[np.int64]
Codes = Integers
"""Codes of values: positions in a `Domain`."""
Counts = Integers
"""Numbers of rows or people."""
Small = npt.NDArray[np.int32]
"""Codes in the compact form that kernels take."""
Bytes = npt.NDArray[np.uint8]
Words = npt.NDArray[np.uint64]
"""Sets of codes, one bit per code."""
Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]
Texts = npt.NDArray[np.object_]
"""Texts; None for a missing value."""
