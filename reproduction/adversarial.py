"""The experiments of Aggarwal, Pei and Zhang on hiding cells from adversarial rules (KDD 2006).

FAiR mines the rules and GraDeS hides cells. The synthetic tables are generated here; Figures 10 to
12 need Adult. Cells are hidden as printed, in one pass, and also until no rule is left.
"""

from __future__ import annotations

from reproduction.adversarial_adult import by_private_set, by_support_on_adult
from reproduction.adversarial_blanking import by_blanking_factor, by_rows
from reproduction.adversarial_examples import examples
from reproduction.adversarial_zipf import (
    by_confidence,
    by_private_share,
    by_support,
    by_zipf_factor,
)
from reproduction.planned import Planned

PLANNED = (
    Planned("Examples 1 to 8: the employees", needs_adult=False, run=examples),
    Planned("Figure 3: Zipf factor", needs_adult=False, run=by_zipf_factor),
    Planned("Figure 4: support", needs_adult=False, run=by_support),
    Planned("Figure 5: confidence", needs_adult=False, run=by_confidence),
    Planned("Figure 6: size of the private set", needs_adult=False, run=by_private_share),
    Planned("Figures 7 and 8: blanking factor", needs_adult=False, run=by_blanking_factor),
    Planned("Figure 9: rows", needs_adult=False, run=by_rows),
    Planned("Figure 10: size of the private set", needs_adult=True, run=by_private_set),
    Planned("Figures 11 and 12: support", needs_adult=True, run=by_support_on_adult),
)
