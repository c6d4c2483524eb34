"""Methods of anonymization: pure functions from the counts of a table to a plan.

Each method is a class in the room of its subject. The registry, the command line, the conformance
tests and the reference find it by its name below.

Examples
--------
>>> import shoal
>>> shoal.methods.Anatomy(ell=3)
Anatomy(ell=3, draw='published')
>>> shoal.Anatomy is shoal.methods.Anatomy
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.foreground.method import ForegroundSafe as ForegroundSafe
    from shoal.grouping.anatomy import Anatomy as Anatomy
    from shoal.grouping.full_domain import FullDomain as FullDomain
    from shoal.grouping.mask import Mask as Mask
    from shoal.grouping.mondrian import Mondrian as Mondrian
    from shoal.hiding.method import RuleHiding as RuleHiding
    from shoal.injector.method import Injector as Injector
    from shoal.slicing.method import Slicing as Slicing

_MODULES = {
    "Anatomy": "shoal.grouping.anatomy",
    "ForegroundSafe": "shoal.foreground.method",
    "FullDomain": "shoal.grouping.full_domain",
    "Injector": "shoal.injector.method",
    "Mask": "shoal.grouping.mask",
    "Mondrian": "shoal.grouping.mondrian",
    "RuleHiding": "shoal.hiding.method",
    "Slicing": "shoal.slicing.method",
}
__all__ = list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
