"""How lists of parameters and figures are written for people."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["shown_list"]


def shown_list(entries: Sequence[object]) -> str:
    """Write a list: two numbers as an interval, lists within it in brackets.

    Examples
    --------
    >>> shown_list([0.059708, 0.25]), shown_list(["age", 3]), shown_list([("a", "b"), ("c",)])
    ('0.05971 to 0.25', 'age, 3', '[a, b], [c]')
    """
    told = [
        f"[{shown_list(entry)}]" if isinstance(entry, list | tuple) else _shown(entry)
        for entry in entries
    ]
    is_interval = len(entries) == 2 and all(isinstance(entry, float) for entry in entries)
    return (" to " if is_interval else ", ").join(told)


def _shown(entry: object) -> str:
    return f"{entry:.4g}" if isinstance(entry, float) else str(entry)
