"""A moment for Python to handle signals while a kernel runs, and to report its progress.

Compiled code blocks Python: a signal waits until a line of Python runs again. Kernels that may take
long call `pause` now and then, which raises whatever the signal asks for. This module stands alone
because compiled kernels import it by name.
"""

from __future__ import annotations

from shoal.core.progress import tell_share


def pause(share: float = 0.0) -> None:
    """Report the share of the work that is done; pending signals are handled on the way."""
    tell_share(share)
