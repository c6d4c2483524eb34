"""What an adversary may know, and how it is found: rules, priors, distributions, matchings.

Code that methods and attacks both need lives here, since neither may import the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.knowledge import foreground
    from shoal.knowledge.adversarial.categories import Category
    from shoal.knowledge.adversarial_rules import (
        AdversarialRule,
        AdversarialRules,
        mine_adversarial_rules,
    )
    from shoal.knowledge.beliefs import Beliefs
    from shoal.knowledge.guided import guided_hierarchy
    from shoal.knowledge.informed import prior_beliefs
    from shoal.knowledge.known import Fact, Knowledge
    from shoal.knowledge.miners import (
        mine_negative_rules,
        mine_positive_rules,
        mine_summary_statistics,
    )
    from shoal.knowledge.negative_rules import NegativeRule
    from shoal.knowledge.positive_rules import PositiveRule
    from shoal.knowledge.statistics import Statistic

__all__ = [
    "AdversarialRule",
    "AdversarialRules",
    "Beliefs",
    "Category",
    "Fact",
    "Knowledge",
    "NegativeRule",
    "PositiveRule",
    "Statistic",
    "foreground",
    "guided_hierarchy",
    "mine_adversarial_rules",
    "mine_negative_rules",
    "mine_positive_rules",
    "mine_summary_statistics",
    "prior_beliefs",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "AdversarialRule": "shoal.knowledge.adversarial_rules",
        "AdversarialRules": "shoal.knowledge.adversarial_rules",
        "Beliefs": "shoal.knowledge.beliefs",
        "Category": "shoal.knowledge.adversarial.categories",
        "Fact": "shoal.knowledge.known",
        "Knowledge": "shoal.knowledge.known",
        "NegativeRule": "shoal.knowledge.negative_rules",
        "PositiveRule": "shoal.knowledge.positive_rules",
        "Statistic": "shoal.knowledge.statistics",
        "foreground": "shoal.knowledge.foreground",
        "guided_hierarchy": "shoal.knowledge.guided",
        "mine_adversarial_rules": "shoal.knowledge.adversarial_rules",
        "mine_negative_rules": "shoal.knowledge.miners",
        "mine_positive_rules": "shoal.knowledge.miners",
        "mine_summary_statistics": "shoal.knowledge.miners",
        "prior_beliefs": "shoal.knowledge.informed",
    },
)
