"""The buckets that people may be in, and the beliefs if all worlds are equally likely."""
