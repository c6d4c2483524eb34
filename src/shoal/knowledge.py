"""What an adversary may know, and how to mine it: rules, facts, statistics and prior beliefs.

Examples
--------
>>> import shoal
>>> table = shoal.read(shoal.datasets.papers.injector_patients())
>>> shoal.knowledge.mine_negative_rules(table, min_exp=0.5)
Knowledge(about disease: 2 negative rules, 0 positive rules, 0 statistics, 0 facts)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.beliefs.beliefs import Beliefs as Beliefs
    from shoal.beliefs.informed import prior_beliefs as prior_beliefs
    from shoal.hiding.adversarial_rules import AdversarialRule as AdversarialRule
    from shoal.hiding.adversarial_rules import AdversarialRules as AdversarialRules
    from shoal.hiding.adversarial_rules import mine_adversarial_rules as mine_adversarial_rules
    from shoal.hiding.mining import Category as Category
    from shoal.hierarchies.guided import guided_hierarchy as guided_hierarchy
    from shoal.injector.association_rules import NegativeRule as NegativeRule
    from shoal.injector.association_rules import PositiveRule as PositiveRule
    from shoal.injector.known import Fact as Fact
    from shoal.injector.known import Knowledge as Knowledge
    from shoal.injector.miners import mine_negative_rules as mine_negative_rules
    from shoal.injector.miners import mine_positive_rules as mine_positive_rules
    from shoal.injector.miners import mine_summary_statistics as mine_summary_statistics
    from shoal.injector.statistics import Statistic as Statistic

_MODULES = {
    "AdversarialRule": "shoal.hiding.adversarial_rules",
    "AdversarialRules": "shoal.hiding.adversarial_rules",
    "Beliefs": "shoal.beliefs.beliefs",
    "Category": "shoal.hiding.mining",
    "Fact": "shoal.injector.known",
    "Knowledge": "shoal.injector.known",
    "NegativeRule": "shoal.injector.association_rules",
    "PositiveRule": "shoal.injector.association_rules",
    "Statistic": "shoal.injector.statistics",
    "guided_hierarchy": "shoal.hierarchies.guided",
    "mine_adversarial_rules": "shoal.hiding.adversarial_rules",
    "mine_negative_rules": "shoal.injector.miners",
    "mine_positive_rules": "shoal.injector.miners",
    "mine_summary_statistics": "shoal.injector.miners",
    "prior_beliefs": "shoal.beliefs.informed",
}
__all__ = list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
