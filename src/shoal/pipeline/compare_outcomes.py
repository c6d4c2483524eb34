"""What models were right about, held-out row by held-out row, so that methods can be paired.

All methods of a comparison are tried on the same folds. How much more often the models of one are
right than those of another is told far more surely from the rows on which they differ than from two
accuracies, each with an interval of its own. Outcomes are kept with the results, packed; they say
which rows were predicted rightly, by their place, and nothing of what is in them.
"""

from __future__ import annotations

import base64
import itertools
import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.attack import Section
from shoal.core.errors import ParameterError
from shoal.core.measure import Measured
from shoal.measures.classification import ROWS, outcomes_of_release, paired_difference

__all__ = ["pack_outcomes", "pair_outcomes", "unpack_outcomes"]

_RIGHT = "right"
_COLUMNS = ("method", "other", "accuracy gained", "from", "to", "is told apart")


def pack_outcomes(measured: Measured) -> dict[str, object] | None:
    """Pack how many models were right about each held-out row; None where no row was held out.

    Examples
    --------
    >>> rows, right = np.array([1.0, 2.0]), np.array([0.0, 1.0])
    >>> outcomes = {"rows": rows, "sex, tree, linked at random": right}
    >>> measured = Measured("classification", {"held out": True}, outcomes=outcomes)
    >>> packed = pack_outcomes(measured)
    >>> packed["models"], unpack_outcomes(packed).outcomes["right"].tolist()
    (1, [0.0, 1.0])
    """
    if not measured.headline.get("held out"):
        return None
    right = outcomes_of_release(measured)
    if not right:
        return None
    return {
        "models": len(right),
        "right": _packed(np.sum(right, axis=0)),
        "rows": _packed(measured.outcomes[ROWS]),
    }


def unpack_outcomes(packed: Mapping[str, Any]) -> Measured:
    """Give what was packed: of each row the share of models that were right about it."""
    right = _unpacked(packed["right"]) / packed["models"]
    return Measured("classification", {}, outcomes={ROWS: _unpacked(packed["rows"]), _RIGHT: right})


def pair_outcomes(packed: Mapping[str, Mapping[str, Any]]) -> Section:
    """Say of every two methods how much more often the models of the first are right.

    Parameters
    ----------
    packed
        By method what `pack_outcomes` gave. Those that were not tried on the same rows are not
        paired.
    """
    measured = {name: unpack_outcomes(one) for name, one in packed.items()}
    rows: list[tuple[object, ...]] = []
    for one, other in itertools.combinations(measured, 2):
        try:
            found = paired_difference(measured[one], measured[other], _RIGHT)
        except ParameterError:
            continue
        mean, low, high = found
        rows.append((one, other, mean, low, high, "yes" if low > 0 or high < 0 else "no"))
    return Section("paired accuracies", _COLUMNS, tuple(rows), holds_values=False)


def _packed(numbers: npt.NDArray[np.float64]) -> str:
    whole = np.rint(numbers).astype("<u4")
    return base64.b64encode(zlib.compress(whole.tobytes(), 9)).decode("ascii")


def _unpacked(text: str) -> npt.NDArray[np.float64]:
    raw = zlib.decompress(base64.b64decode(text))
    return np.frombuffer(raw, dtype="<u4").astype(np.float64)
