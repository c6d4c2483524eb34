"""The published list of starts of the search for solutions, made by a checker's own code.

Chances that are all alike, each class raised in turn, and eight pseudo-random ones from SHA-256.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np

from shoal.checks._foreground_buckets import Floats
from shoal.core.cells import Counts

__all__ = ["seed_numbers", "starting_chances"]

_N_WORDS = 8
_N_RAISED = 32
_TENFOLD = 10.0
_HUNDREDTH = 0.01


def seed_numbers(
    columns: list[str], values: list[str | None], signatures: list[list[str | None] | None]
) -> Floats:
    """Return the eight published pseudo-random numbers of each class.

    Parameters
    ----------
    columns
        The names of the attribute set.
    values
        The values that count as one.
    signatures
        The texts of each signature, in the order of `columns`; None for all that are too rare.
    """
    order = sorted(range(len(columns)), key=lambda place: columns[place])
    by_name = [columns[place] for place in order]
    ordered = sorted(values, key=lambda text: (text is not None, text or ""))
    numbers = []
    for texts in signatures:
        own = None if texts is None else [texts[place] for place in order]
        stated = json.dumps(
            ["shoal foreground start", by_name, ordered, own],
            ensure_ascii=False,
            separators=(",", ":"),
        )
        digest = hashlib.sha256(stated.encode("utf-8")).digest()
        numbers.append(
            [
                (int.from_bytes(digest[4 * word : 4 * word + 4], "big") + 0.5) / 2**32
                for word in range(_N_WORDS)
            ]
        )
    return np.array(numbers)


def starting_chances(numbers: Floats, rows: Counts, rate: float) -> Floats:
    """List the starts, one row each."""
    level = np.log(rate / (1 - rate))
    alike = level + _HUNDREDTH * (2 * numbers[:, 0] - 1)
    logs = [alike]
    fewest = sorted(range(len(rows)), key=lambda place: (rows[place], numbers[place, 0]))
    for place in fewest[:_N_RAISED]:
        raised = alike.copy()
        raised[place] += np.log(_TENFOLD)
        logs.append(raised)
    chances = [1 / (1 + np.exp(-one)) for one in logs]
    return np.array([*chances, *(numbers[:, word] for word in range(_N_WORDS))])
