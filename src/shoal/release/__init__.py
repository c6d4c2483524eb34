"""A release on disk: open, write, seal, verify and export it."""
