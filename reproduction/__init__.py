"""The experiments of the four papers, one module per paper.

Each module lists the experiments that it can run as `PLANNED`, in the order of the paper.
"""

from __future__ import annotations

from collections.abc import Mapping

__all__ = ["ALL", "PAPERS"]

ALL = "all"
"""The name that stands for all papers."""
PAPERS: Mapping[str, str] = {
    "injector": "T. Li, N. Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE "
    "2008.",
    "slicing": "S. M. Rafi, P. V. Ramanaiah: Protecting Attribute Disclosure for High "
    "Dimensionality and Preserving Publishing of Microdata.",
    "foreground": "R. C.-W. Wong, A. W.-C. Fu, K. Wang, Y. Xu, P. S. Yu: Can the Utility of "
    "Anonymized Data be used for Privacy Breaches? TKDD 5(3), 2011.",
    "adversarial": "C. C. Aggarwal, J. Pei, B. Zhang: On Privacy Preservation against Adversarial "
    "Data Mining. KDD 2006.",
}
"""The papers whose experiments can be run again, by name; each has a module in `reproduction`."""
