"""Methods that group whole rows, the attacks on them, and the checks of their guarantees.

The methods are Anatomy, Mondrian, full-domain generalization and MASK; the attacks are homogeneity,
linkage and minimality.
"""
