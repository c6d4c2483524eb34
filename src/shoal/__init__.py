"""Shoal publishes tables about people safely.

It anonymizes a table, attacks its own release the way a real adversary would, measures what an
analyst can still do with it, and only then seals a release folder.

Every name below is imported when it is first used: ``import shoal`` itself imports neither
numpy nor an engine.

Examples
--------
>>> import shoal
>>> table = shoal.read(shoal.datasets.papers.injector_patients())
>>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
>>> shoal.attack(release, shoal.attacks.Homogeneity())
AttackReport(homogeneity: 0 of 9 people at risk)
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import TYPE_CHECKING

from shoal import errors, methods
from shoal.core.registry import lazy_exports
from shoal.core.version import __version__ as __version__
from shoal.core.version import refuse_namesake

if TYPE_CHECKING:
    from shoal import analyse as analyse
    from shoal import attacks as attacks
    from shoal import checks as checks
    from shoal import config as config
    from shoal import datasets as datasets
    from shoal import guarantees as guarantees
    from shoal import knowledge as knowledge
    from shoal import measures as measures
    from shoal.core.schema import Schema as Schema
    from shoal.core.table import Table as Table
    from shoal.hierarchies.hierarchy import Hierarchy as Hierarchy
    from shoal.injector.known import Knowledge as Knowledge
    from shoal.methods import *
    from shoal.release.export import export_release as export_release
    from shoal.release.opened import Release as Release
    from shoal.release.opened import open_release as open_release
    from shoal.release.verify import verify as verify
    from shoal.workflow.anonymize import anonymize as anonymize
    from shoal.workflow.attack import attack as attack
    from shoal.workflow.compare import compare as compare
    from shoal.workflow.measure import measure as measure
    from shoal.workflow.mine import mine as mine
    from shoal.workflow.profile import profile as profile
    from shoal.workflow.publish import publish as publish
    from shoal.workflow.read import read as read
    from shoal.workflow.read import read_baskets as read_baskets
    from shoal.workflow.repair import repair as repair
    from shoal.workflow.replay import replay as replay

refuse_namesake()

_MODULES = {
    "Hierarchy": "shoal.hierarchies.hierarchy",
    "Knowledge": "shoal.injector.known",
    "Release": "shoal.release.opened",
    "Schema": "shoal.core.schema",
    "Table": "shoal.core.table",
    "analyse": "shoal.analyse",
    "anonymize": "shoal.workflow.anonymize",
    "attack": "shoal.workflow.attack",
    "attacks": "shoal.attacks",
    "checks": "shoal.checks",
    "compare": "shoal.workflow.compare",
    "config": "shoal.config",
    "datasets": "shoal.datasets",
    "export_release": "shoal.release.export",
    "guarantees": "shoal.guarantees",
    "knowledge": "shoal.knowledge",
    "measure": "shoal.workflow.measure",
    "measures": "shoal.measures",
    "mine": "shoal.workflow.mine",
    "open_release": "shoal.release.opened",
    "profile": "shoal.workflow.profile",
    "publish": "shoal.workflow.publish",
    "read": "shoal.workflow.read",
    "read_baskets": "shoal.workflow.read",
    "repair": "shoal.workflow.repair",
    "replay": "shoal.workflow.replay",
    "verify": "shoal.release.verify",
    **dict.fromkeys(methods.__all__, "shoal.methods"),
}
__all__ = ["__version__", "errors", "methods"]
__all__ += list(_MODULES)

_MOVED = {
    "About": "shoal.config",
    "Limits": "shoal.config",
    "log_to": "shoal.config",
    **dict.fromkeys(errors.__all__, "shoal.errors"),
}
"""Names that were here before, and still are for one version."""

_get_attribute, __dir__ = lazy_exports(__name__, _MODULES)


def __getattr__(name: str) -> object:
    if name == "reproduce":
        message = (
            "shoal.reproduce has moved to Shoal's repository: "
            "python -m reproduction all --adult adult.csv"
        )
        raise AttributeError(message)
    if name in _MOVED:
        place = _MOVED[name]
        message = f"shoal.{name} has moved: write {place}.{name}."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(import_module(place), name)
    return _get_attribute(name)
