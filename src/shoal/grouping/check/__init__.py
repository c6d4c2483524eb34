"""Checks of guarantees about buckets; they share no code with the methods."""
