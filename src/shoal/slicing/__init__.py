"""Slicing: split a table into columns of correlated attributes and buckets of rows."""
