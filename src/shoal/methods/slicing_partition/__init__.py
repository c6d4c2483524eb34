"""Tuple partitioning for slicing: who is in which bucket, so that sliced l-diversity holds."""
