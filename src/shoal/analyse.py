"""The analyst's kit: queries, tables and samples from a release.

It works from the published files alone, as an analyst has to, and never sees the table.

Examples
--------
>>> import shoal
>>> table = shoal.read(shoal.datasets.papers.injector_patients())
>>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
>>> shoal.analyse.Analyst(release).count({"sex": "M", "disease": "Flu"})
Estimate(1.66667, standard error 0.849837)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.utility.analyst import Analyst as Analyst
    from shoal.utility.estimates import Bounds as Bounds
    from shoal.utility.estimates import ContingencyTable as ContingencyTable
    from shoal.utility.estimates import Estimate as Estimate
    from shoal.utility.linked import Linked as Linked
    from shoal.utility.linked import LinkedColumn as LinkedColumn

_MODULES = {
    "Analyst": "shoal.utility.analyst",
    "Bounds": "shoal.utility.estimates",
    "ContingencyTable": "shoal.utility.estimates",
    "Estimate": "shoal.utility.estimates",
    "Linked": "shoal.utility.linked",
    "LinkedColumn": "shoal.utility.linked",
}
__all__ = list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
