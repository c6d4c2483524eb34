"""Data engines: the only layer that sees rows, each a thin adapter under one portable SQL."""
