"""Attacks on a release: what an adversary learns from the published files.

An attack is one module that holds one class, named in ``__all__`` below. It sees published
files, declared knowledge and quasi-identifiers; never a sensitive value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_classes

if TYPE_CHECKING:
    from shoal.attacks.background import Background
    from shoal.attacks.belief import Belief
    from shoal.attacks.foreground import Foreground
    from shoal.attacks.homogeneity import Homogeneity
    from shoal.attacks.learned import Learned
    from shoal.attacks.linkage import Linkage
    from shoal.attacks.membership import Membership
    from shoal.attacks.minimality import Minimality
    from shoal.attacks.rules import Rules
    from shoal.attacks.sliced_linkage import SlicedLinkage

__all__ = [
    "Background",
    "Belief",
    "Foreground",
    "Homogeneity",
    "Learned",
    "Linkage",
    "Membership",
    "Minimality",
    "Rules",
    "SlicedLinkage",
]

__getattr__, __dir__ = lazy_classes(__name__, __all__)
