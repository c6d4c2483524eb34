"""Shoal publishes tables about people safely.

It anonymizes a table, attacks its own release the way a real adversary would, measures what an
analyst can still do with it, and only then seals a release folder.

Every name below is imported when it is first used: ``import shoal`` itself imports neither
numpy nor an engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal import methods
from shoal.core import errors
from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal import analyse, attacks, checks, datasets, knowledge, measures
    from shoal.core.about import About
    from shoal.core.errors import *
    from shoal.core.hierarchy import Hierarchy
    from shoal.core.log import log_to
    from shoal.core.schema import Schema
    from shoal.core.table import Table
    from shoal.engines.limits import Limits
    from shoal.methods import *
    from shoal.pipeline.anonymize import anonymize
    from shoal.pipeline.attack import attack
    from shoal.pipeline.baskets import read_baskets
    from shoal.pipeline.compare import compare
    from shoal.pipeline.export import export_release
    from shoal.pipeline.measure import measure
    from shoal.pipeline.profile import profile
    from shoal.pipeline.read import read
    from shoal.pipeline.release import Release, open_release
    from shoal.pipeline.repair import repair
    from shoal.pipeline.replay import replay
    from shoal.pipeline.reproduce import reproduce
    from shoal.pipeline.verify import verify

__version__ = "0.1.0"

__all__ = [
    "About",
    "Hierarchy",
    "Limits",
    "Release",
    "Schema",
    "Table",
    "__version__",
    "analyse",
    "anonymize",
    "attack",
    "attacks",
    "checks",
    "compare",
    "datasets",
    "export_release",
    "knowledge",
    "log_to",
    "measure",
    "measures",
    "methods",
    "open_release",
    "profile",
    "read",
    "read_baskets",
    "repair",
    "replay",
    "reproduce",
    "verify",
]
__all__ += errors.__all__
__all__ += methods.__all__

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "About": "shoal.core.about",
        "Hierarchy": "shoal.core.hierarchy",
        "Limits": "shoal.engines.limits",
        "Release": "shoal.pipeline.release",
        "Schema": "shoal.core.schema",
        "Table": "shoal.core.table",
        "analyse": "shoal.analyse",
        "anonymize": "shoal.pipeline.anonymize",
        "attack": "shoal.pipeline.attack",
        "attacks": "shoal.attacks",
        "checks": "shoal.checks",
        "compare": "shoal.pipeline.compare",
        "datasets": "shoal.datasets",
        "export_release": "shoal.pipeline.export",
        "knowledge": "shoal.knowledge",
        "log_to": "shoal.core.log",
        "measure": "shoal.pipeline.measure",
        "measures": "shoal.measures",
        "open_release": "shoal.pipeline.release",
        "profile": "shoal.pipeline.profile",
        "read": "shoal.pipeline.read",
        "read_baskets": "shoal.pipeline.baskets",
        "repair": "shoal.pipeline.repair",
        "replay": "shoal.pipeline.replay",
        "reproduce": "shoal.pipeline.reproduce",
        "verify": "shoal.pipeline.verify",
        **dict.fromkeys(errors.__all__, "shoal.core.errors"),
        **dict.fromkeys(methods.__all__, "shoal.methods"),
    },
)
