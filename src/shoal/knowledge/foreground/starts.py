"""Where the search for the chances of an attribute set begins.

The equations of [Wong11] may have several solutions, and which is found depends on where the search
begins. So that everybody finds the same ones, the starts are listed: chances that are all alike;
those with the odds of one signature raised, each signature in turn; and eight pseudo-random ones.
What is random comes from SHA-256 of the names and values in question, which need no secret, so
that whoever has the release begins at the same points.

References
----------
[Wong11] (see `shoal.knowledge.foreground.law`) Section 4.1, Equation (4).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells, Counts
from shoal.core.domain import Domain
from shoal.knowledge.foreground.attribute_sets import AttributeSet

__all__ = ["N_RANDOM", "RAISED_AT_MOST", "numbers_of", "starting_points"]

Floats = npt.NDArray[np.float64]

N_RANDOM = 8
"""The number of pseudo-random starts; SHA-256 gives eight numbers."""
RAISED_AT_MOST = 32
"""The number of signatures that are raised in turn: those with the fewest rows."""
_RAISED = 10.0
"""By how much the odds of a raised signature are multiplied."""
_TILT = 0.01
"""By how much of themselves odds that are all alike differ after all, at most: by symmetry the
search would end on a saddle otherwise."""


def numbers_of(
    looks: Cells, attributes: AttributeSet, domain: Domain, values: Sequence[int]
) -> Floats:
    """Return the pseudo-random numbers of the classes of a set, eight each.

    Parameters
    ----------
    looks
        The distinct rows of the quasi-identifiers.
    attributes
        The set.
    domain, values
        The sensitive column, and the codes of the values that count as one.

    Examples
    --------
    >>> from shoal.core.domain import Domain
    >>> from shoal.knowledge.foreground.attribute_sets import usable_sets
    >>> looks = Cells.of_rows([Domain.of_texts("sex", ["F", "M"])], np.array([[0], [1]]))
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> numbers_of(looks, usable_sets(looks, 1)[0], disease, [1])[:, 0].round(6).tolist()
    [0.935559, 0.394119]
    """
    order = sorted(range(len(attributes.columns)), key=lambda place: attributes.columns[place])
    columns = [attributes.columns[place] for place in order]
    named = sorted((domain.text(int(code)) for code in values), key=_missing_first)
    signatures: list[list[str | None] | None] = [
        [looks.domain(attributes.columns[place]).text(int(row[place])) for place in order]
        for row in attributes.signatures
    ]
    if attributes.has_rare:
        signatures.append(None)
    head = ["shoal foreground start", columns, named]
    return np.array([_eight_numbers([*head, one]) for one in signatures]).reshape(-1, N_RANDOM)


def _missing_first(text: str | None) -> tuple[bool, str]:
    return text is not None, text or ""


def _eight_numbers(stated: list[object]) -> Floats:
    """Return the eight words of SHA-256 of a JSON text, as numbers between 0 and 1."""
    text = json.dumps(stated, ensure_ascii=False, separators=(",", ":"))
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype=">u4")
    numbers: Floats = (words.astype(np.float64) + 0.5) / 2.0**32
    return numbers


def starting_points(numbers: Floats, n_rows: Counts, rate: float) -> Floats:
    """List the starts, one row each.

    Parameters
    ----------
    numbers
        The pseudo-random numbers of the classes; see `numbers_of`.
    n_rows
        The number of rows of each class.
    rate
        The share of carriers in the whole release, between 0 and 1.

    Examples
    --------
    >>> numbers = np.full((2, 8), 0.5)
    >>> starting_points(numbers, np.array([3, 3]), 0.25)[:4].round(4).tolist()
    [[0.25, 0.25], [0.7692, 0.25], [0.25, 0.7692], [0.5, 0.5]]
    """
    even = np.log(rate) - np.log1p(-rate) + _TILT * (2 * numbers[:, 0] - 1)
    fewest = np.lexsort((numbers[:, 0], n_rows))[:RAISED_AT_MOST]
    logs = np.repeat(even[np.newaxis], 1 + len(fewest), axis=0)
    logs[1 + np.arange(len(fewest)), np.sort(fewest)] += np.log(_RAISED)
    points: Floats = np.concatenate([1 / (1 + np.exp(-logs)), numbers.T])
    return points
