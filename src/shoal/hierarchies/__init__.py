"""Hierarchies: how the values of a column are generalized, step by step, up to ``*``."""
