"""How long work tells where it is."""

from __future__ import annotations

from collections.abc import Callable

__all__ = ["Progress", "silent"]

Progress = Callable[[str], None]
"""Called with the name of each step as it begins."""


def silent(step: str) -> None:
    """Tell nobody."""
