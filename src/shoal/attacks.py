"""Attacks on a release: what an adversary learns from the published files.

Each attack is a class in the room of its subject. It sees published files, declared knowledge and
quasi-identifiers, never a sensitive value.

Examples
--------
>>> import shoal
>>> table = shoal.read(shoal.datasets.papers.injector_patients())
>>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
>>> shoal.attack(release, shoal.attacks.Linkage(limit="1/2"))
AttackReport(linkage: 9 of 9 people at risk; at worst found 1 in 1)
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.beliefs.attack import Belief as Belief
    from shoal.foreground.attack import Foreground as Foreground
    from shoal.grouping.homogeneity import Homogeneity as Homogeneity
    from shoal.grouping.linkage import Linkage as Linkage
    from shoal.grouping.minimality import Minimality as Minimality
    from shoal.hiding.attack_learned import Learned as Learned
    from shoal.hiding.attack_rules import Rules as Rules
    from shoal.injector.attack import Background as Background
    from shoal.membership.attack import Membership as Membership
    from shoal.slicing.attack import SlicedLinkage as SlicedLinkage

_MODULES = {
    "Background": "shoal.injector.attack",
    "Belief": "shoal.beliefs.attack",
    "Foreground": "shoal.foreground.attack",
    "Homogeneity": "shoal.grouping.homogeneity",
    "Learned": "shoal.hiding.attack_learned",
    "Linkage": "shoal.grouping.linkage",
    "Membership": "shoal.membership.attack",
    "Minimality": "shoal.grouping.minimality",
    "Rules": "shoal.hiding.attack_rules",
    "SlicedLinkage": "shoal.slicing.attack",
}
__all__ = list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
