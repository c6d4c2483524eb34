"""The analyst's kit: queries, tables and samples from a release.

It works from the published files alone, as an analyst has to, and never sees the table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.analyse.analyst import Analyst
    from shoal.analyse.estimates import Bounds, ContingencyTable, Estimate
    from shoal.analyse.linked import Linked, LinkedColumn

__all__ = ["Analyst", "Bounds", "ContingencyTable", "Estimate", "Linked", "LinkedColumn"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Analyst": "shoal.analyse.analyst",
        "Bounds": "shoal.analyse.estimates",
        "ContingencyTable": "shoal.analyse.estimates",
        "Estimate": "shoal.analyse.estimates",
        "Linked": "shoal.analyse.linked",
        "LinkedColumn": "shoal.analyse.linked",
    },
)
