"""Membership disclosure: how well a release tells who is in the table."""
