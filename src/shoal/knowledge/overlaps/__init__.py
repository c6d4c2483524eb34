"""Counting the tuples that a few buckets have in common, compiled where the package is built."""
