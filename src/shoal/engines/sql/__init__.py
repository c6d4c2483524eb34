"""The portable part of every engine: one set of SQL."""
