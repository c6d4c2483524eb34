"""The experiments of [Slicing]: its two tables, and the statements of its Section 6.

The available paper is a shortened variant: it describes its experiments and states what they show,
but omits the figures and nearly all numbers. So its claims are judged by Shoal's results.

References
----------
[Slicing] (see `shoal.core.sliced`).
"""

from __future__ import annotations

from reproduction.planned import Planned
from reproduction.slicing_adult import run_correlations, run_diversity, run_table_2
from reproduction.slicing_classification import run_classification
from reproduction.slicing_efficiency import run_efficiency
from reproduction.slicing_examples import run_table_1
from reproduction.slicing_fakes import run_membership

PLANNED = (
    Planned("Table 1: the patients, published in every way", False, run_table_1),
    Planned("Table 2: the attributes of Adult", True, run_table_2),
    Planned("Section 6: attributes correlated with occupation", True, run_correlations),
    Planned("Sections 4.3 and 6: the l that can be reached", True, run_diversity),
    Planned("Section 6.2: classification", True, run_classification),
    Planned("Section 6: time", True, run_efficiency),
    Planned("Sections 6.3 and 7: membership", True, run_membership),
)
