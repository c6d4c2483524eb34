"""Bucketization of classes with counts, as Injector does it."""
