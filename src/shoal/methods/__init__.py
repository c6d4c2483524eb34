"""Methods of anonymization: pure functions from the counts of a table to a plan.

A method is one module that holds one class, named in ``__all__`` below; the registry, the
command line and the conformance tests find it there. The import serves type checkers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_classes

if TYPE_CHECKING:
    from shoal.methods.anatomy import Anatomy
    from shoal.methods.foreground_safe import ForegroundSafe
    from shoal.methods.full_domain import FullDomain
    from shoal.methods.injector import Injector
    from shoal.methods.mask import Mask
    from shoal.methods.mondrian import Mondrian
    from shoal.methods.rule_hiding import RuleHiding
    from shoal.methods.slicing import Slicing

__all__ = [
    "Anatomy",
    "ForegroundSafe",
    "FullDomain",
    "Injector",
    "Mask",
    "Mondrian",
    "RuleHiding",
    "Slicing",
]

__getattr__, __dir__ = lazy_classes(__name__, __all__)
