"""The base of everything else: schema, hierarchies, cells, plans, releases, errors.

The core imports numpy and attrs, and no other package of Shoal: every layer may use it.
"""
