"""Measures of a release: what an analyst can still do with it.

A measure is one module that holds one class, named in ``__all__`` below. It compares counts of
the table with those an analyst would estimate from the published files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_classes

if TYPE_CHECKING:
    from shoal.measures.associations import Associations
    from shoal.measures.classification import Classification
    from shoal.measures.loss import Loss
    from shoal.measures.queries import Queries

__all__ = ["Associations", "Classification", "Loss", "Queries"]

__getattr__, __dir__ = lazy_classes(__name__, __all__)
