"""The experiments of [Slicing]: its two tables, and what its text states of Section 6.

The paper at hand is a shortened variant: it describes its experiments and states what they show,
but leaves out the figures and nearly all numbers. So its claims are judged by what Shoal finds.

References
----------
[Slicing] (see `shoal.core.sliced`).
"""

from __future__ import annotations

from shoal.pipeline.papers.planned import Planned
from shoal.pipeline.papers.slicing_adult import run_correlations, run_diversity, run_table_2
from shoal.pipeline.papers.slicing_classification import run_classification
from shoal.pipeline.papers.slicing_efficiency import run_efficiency
from shoal.pipeline.papers.slicing_examples import run_table_1
from shoal.pipeline.papers.slicing_fakes import run_membership

__all__ = ["PLANNED"]

PLANNED = (
    Planned("Table 1: the patients, published in every way", False, run_table_1),
    Planned("Table 2: the attributes of Adult", True, run_table_2),
    Planned("Section 6: attributes correlated with occupation", True, run_correlations),
    Planned("Sections 4.3 and 6: the l that can be reached", True, run_diversity),
    Planned("Section 6.2: classification", True, run_classification),
    Planned("Section 6: time", True, run_efficiency),
    Planned("Sections 6.3 and 7: membership", True, run_membership),
)
