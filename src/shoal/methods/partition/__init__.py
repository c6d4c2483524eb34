"""Multidimensional partitioning: cells in a space of quasi-identifiers, cut into buckets.

`axes` lays the values of every column on a line, the kernel cuts, and `labels` says what is
published of a bucket: a region, a node of a hierarchy or a set of values.
"""
