"""Negative association rules: what an adversary may learn from tables like this one.

`mine` finds them, `most_general` picks those that imply the others, and `forbidden_marks` says
which sensitive values each row cannot take by them.
"""

from shoal.knowledge.mining.fuzzy import Fuzzy, memberships
from shoal.knowledge.mining.generality import most_general
from shoal.knowledge.mining.items import covers_of, extents_of, tree_of
from shoal.knowledge.mining.marks import forbidden_marks
from shoal.knowledge.mining.mine import mine
from shoal.knowledge.mining.rules import NO_NODE, MinedRules
from shoal.knowledge.mining.thresholds import read_min_conf, read_min_exp

__all__ = [
    "NO_NODE",
    "Fuzzy",
    "MinedRules",
    "covers_of",
    "extents_of",
    "forbidden_marks",
    "memberships",
    "mine",
    "most_general",
    "read_min_conf",
    "read_min_exp",
    "tree_of",
]
