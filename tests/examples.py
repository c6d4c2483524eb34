"""How many examples the property tests draw.

`ci` draws the same examples every time, so that a red run is about the change; `thorough` looks for
new ones, and for many. A test states its own number of examples, and the profile scales it.
"""

from __future__ import annotations

import os

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
_FACTORS = {"default": 1.0, "ci": 1 / 5, "thorough": 10.0}
_FEWEST = 15


def scaled(n_examples: int) -> int:
    """Return how many examples are drawn if a test states this number.

    Tests that draw inside a function call this themselves; the others are scaled as they run.
    """
    return max(min(n_examples, _FEWEST), round(n_examples * _FACTORS[PROFILE]))
