"""`python -m shoal` is the command line."""

from __future__ import annotations

from shoal.cli import main

main()
