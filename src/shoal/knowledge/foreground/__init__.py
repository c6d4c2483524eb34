"""Foreground knowledge: what a release itself betrays of who has what.

The release says how likely each kind of people has a sensitive value; with that an adversary
weighs the possible worlds of every bucket anew.

References
----------
[Wong11] R. C.-W. Wong, A. W.-C. Fu, K. Wang, Y. Xu, P. S. Yu: Can the Utility of Anonymized Data
be used for Privacy Breaches? TKDD 5(3), 2011.
"""

from __future__ import annotations

from shoal.knowledge.foreground.additive import AdditiveModel, fit_additive
from shoal.knowledge.foreground.attribute_sets import (
    AttributeSet,
    profiles,
    sample_size,
    usable_sets,
)
from shoal.knowledge.foreground.cross_validation import CrossValidation
from shoal.knowledge.foreground.exposed import Exposed
from shoal.knowledge.foreground.fitting import Fit
from shoal.knowledge.foreground.joint import weigh_jointly
from shoal.knowledge.foreground.law import posterior
from shoal.knowledge.foreground.mining import (
    Accuracy,
    Exposure,
    GlobalDistribution,
    Policy,
    Target,
    expose,
    expose_by,
    mine,
)
from shoal.knowledge.foreground.relations import UNRELATED, Relation, relate
from shoal.knowledge.foreground.scaled import ScaledChances, expose_scaled, log_odds
from shoal.knowledge.foreground.scoring import Band, Score, score
from shoal.knowledge.foreground.sliced_rows import expose_sliced

__all__ = [
    "UNRELATED",
    "Accuracy",
    "AdditiveModel",
    "AttributeSet",
    "Band",
    "CrossValidation",
    "Exposed",
    "Exposure",
    "Fit",
    "GlobalDistribution",
    "Policy",
    "Relation",
    "ScaledChances",
    "Score",
    "Target",
    "expose",
    "expose_by",
    "expose_scaled",
    "expose_sliced",
    "fit_additive",
    "log_odds",
    "mine",
    "posterior",
    "profiles",
    "relate",
    "sample_size",
    "score",
    "usable_sets",
    "weigh_jointly",
]
