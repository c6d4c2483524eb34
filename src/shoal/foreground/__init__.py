"""Foreground knowledge: how a release itself reveals who is likely to have which value.

The release shows how likely each kind of person is to have a sensitive value. With these global
distributions an adversary re-weighs the possible worlds of every bucket.

Read in the paper's order: `law` (Section 3), `expectation_maximization` (Section 4.1),
`attribute_sets` (Section 4.2) and `mining` (Section 4.3). Beyond the paper are `additive`, one
coherent model of everybody, and `method`, buckets that withstand the attack.

References
----------
[Wong11] R. C.-W. Wong, A. W.-C. Fu, K. Wang, Y. Xu, P. S. Yu: Can the Utility of Anonymized Data be
used for Privacy Breaches? TKDD 5(3), 2011.
"""
