"""Utility measures of a release, and the analyst's kit of queries."""
