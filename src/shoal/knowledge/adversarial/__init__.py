"""Rules that betray hidden cells, and further cells to hide so that they do not.

`mine` finds all adversarial rules of a table some cells of which are private (FAiR), `base_rates`
what needs no rule, and `hide` blanks few further cells so that no rule is left (GraDeS; `grades` is
the plain algorithm of the paper).
`categorize` says what the paper calls an itemset.
"""

from __future__ import annotations

from shoal.knowledge.adversarial.categories import Category, categorize
from shoal.knowledge.adversarial.cells import BLANKED, PRIVATE, VISIBLE, HiddenTable
from shoal.knowledge.adversarial.grades import grades
from shoal.knowledge.adversarial.hiding import Fate, Hiding, Mode, hide
from shoal.knowledge.adversarial.hitting import minimum_hitting_set
from shoal.knowledge.adversarial.mining import base_rates, mine
from shoal.knowledge.adversarial.rules import CodedRule, CodedRules

__all__ = [
    "BLANKED",
    "PRIVATE",
    "VISIBLE",
    "Category",
    "CodedRule",
    "CodedRules",
    "Fate",
    "HiddenTable",
    "Hiding",
    "Mode",
    "base_rates",
    "categorize",
    "grades",
    "hide",
    "mine",
    "minimum_hitting_set",
]
