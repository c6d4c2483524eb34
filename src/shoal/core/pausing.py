"""A moment in which Python notices that somebody wants to stop.

Compiled code holds Python up: a signal waits until a line of Python runs again. Kernels that may
take long call `pause` now and then, which raises whatever the signal asks for.
"""

from __future__ import annotations

__all__ = ["pause"]


def pause() -> None:
    """Do nothing, in Python: signals that came meanwhile are handled on the way."""
