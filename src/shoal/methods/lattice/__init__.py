"""Generalizing whole columns: the lattice of levels, and the search for its best element."""
