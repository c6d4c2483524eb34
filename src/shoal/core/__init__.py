"""What everything else is made of: schema, hierarchies, cells, plans, releases, errors.

Only numpy is imported here, and no other package of Shoal: every layer may use this one.
"""
