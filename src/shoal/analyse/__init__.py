"""The analyst's kit: queries, tables and samples from a release.

It works from the published files alone, as an analyst has to, and never sees the table.
"""
