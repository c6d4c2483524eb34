"""The experiments on the foreground knowledge attack: worked examples, Section 5, Figures 1 to 3.

References
----------
[Wong11] R. C.-W. Wong, A. W.-C. Fu, K. Wang, Y. Xu, P. S. Yu: Can the Utility of Anonymized Data
be used for Privacy Breaches? TKDD 5(3), 2011.
"""

from __future__ import annotations

from reproduction.foreground_breaches import run_by_r, run_by_size, run_case_study
from reproduction.foreground_examples import run_examples
from reproduction.foreground_models import run_models
from reproduction.planned import Planned

PLANNED: tuple[Planned, ...] = (
    Planned(
        "Examples 1 and 2: worlds that are weighed, chances that are mined", False, run_examples
    ),
    Planned("Section 5.1, variation of r: breaches in l-diverse tables", True, run_by_r),
    Planned("Section 5.1, variation of the QI size", True, run_by_size),
    Planned("Section 5.1, case study of two occupations", True, run_case_study),
    Planned("Figures 1 to 3: four privacy models under the attack", True, run_models),
)
