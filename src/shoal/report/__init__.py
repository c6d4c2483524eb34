"""Reports on a release, for the steward and for the public.

A report is a page without script, so that nothing in a hostile table can run in it.
"""
