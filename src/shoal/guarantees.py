"""Guarantees: what a release promises, each named by its promise.

The manifest of a release states its guarantees, and `shoal.verify` derives them again from the
published files.

Examples
--------
>>> import shoal
>>> table = shoal.read(shoal.datasets.papers.injector_patients())
>>> release = shoal.anonymize(table, shoal.Anatomy(ell=2), seed=1)
>>> release.manifest.guarantees == (shoal.guarantees.FrequencyDiversity(ell=2),)
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from shoal.core.registry import lazy_exports

if TYPE_CHECKING:
    from shoal.core.adversary_guarantees import BeliefGain as BeliefGain
    from shoal.core.adversary_guarantees import ForegroundSafety as ForegroundSafety
    from shoal.core.adversary_guarantees import JointSafety as JointSafety
    from shoal.core.adversary_guarantees import MatchingDiversity as MatchingDiversity
    from shoal.core.adversary_guarantees import RuleProtection as RuleProtection
    from shoal.core.adversary_guarantees import SlicedDiversity as SlicedDiversity
    from shoal.core.adversary_guarantees import (
        WeightedMatchingDiversity as WeightedMatchingDiversity,
    )
    from shoal.core.guarantees import AlphaK as AlphaK
    from shoal.core.guarantees import BucketSize as BucketSize
    from shoal.core.guarantees import DistinctDiversity as DistinctDiversity
    from shoal.core.guarantees import EntropyDiversity as EntropyDiversity
    from shoal.core.guarantees import FrequencyDiversity as FrequencyDiversity
    from shoal.core.guarantees import KAnonymity as KAnonymity
    from shoal.core.guarantees import MConfidentiality as MConfidentiality
    from shoal.core.guarantees import RecursiveDiversity as RecursiveDiversity
    from shoal.core.guarantees import TCloseness as TCloseness

_MODULES = {
    "AlphaK": "shoal.core.guarantees",
    "BeliefGain": "shoal.core.adversary_guarantees",
    "BucketSize": "shoal.core.guarantees",
    "DistinctDiversity": "shoal.core.guarantees",
    "EntropyDiversity": "shoal.core.guarantees",
    "ForegroundSafety": "shoal.core.adversary_guarantees",
    "FrequencyDiversity": "shoal.core.guarantees",
    "JointSafety": "shoal.core.adversary_guarantees",
    "KAnonymity": "shoal.core.guarantees",
    "MConfidentiality": "shoal.core.guarantees",
    "MatchingDiversity": "shoal.core.adversary_guarantees",
    "RecursiveDiversity": "shoal.core.guarantees",
    "RuleProtection": "shoal.core.adversary_guarantees",
    "SlicedDiversity": "shoal.core.adversary_guarantees",
    "TCloseness": "shoal.core.guarantees",
    "WeightedMatchingDiversity": "shoal.core.adversary_guarantees",
}
__all__ = list(_MODULES)

__getattr__, __dir__ = lazy_exports(__name__, _MODULES)
