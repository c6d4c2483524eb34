"""Fetched values as texts."""

from __future__ import annotations

import numpy as np

__all__ = ["texts_of"]


def texts_of(fetched: object) -> list[str | None]:
    """Give fetched values as texts, None where missing."""
    if isinstance(fetched, np.ma.MaskedArray):
        return [
            None if masked else str(v)
            for v, masked in zip(
                fetched.data.tolist(), np.ma.getmaskarray(fetched).tolist(), strict=True
            )
        ]
    return [None if v is None else str(v) for v in np.asarray(fetched).tolist()]
