"""Measures of a release: what an analyst can still do with it.

A measure compares counts of the table with those an analyst would estimate from the release.

Examples
--------
>>> import shoal
>>> table = shoal.read(shoal.datasets.papers.injector_patients())
>>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
>>> shoal.measure(release, shoal.measures.Loss())
MeasureReport(loss: generalized loss 0)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.utility.associations import Associations as Associations
    from shoal.utility.classification import Classification as Classification
    from shoal.utility.loss import Loss as Loss
    from shoal.utility.queries import Queries as Queries

_MODULES = {
    "Associations": "shoal.utility.associations",
    "Classification": "shoal.utility.classification",
    "Loss": "shoal.utility.loss",
    "Queries": "shoal.utility.queries",
}
__all__ = list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
