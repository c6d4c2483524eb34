"""People as a sliced release shows them: labels in place of values that it generalized."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from shoal.core.cells import Cells
from shoal.core.errors import ParameterError
from shoal.core.release import People, Published
from shoal.knowledge.location import labels_of_values

__all__ = ["shown_people"]


def shown_people(published: Published, people: People) -> tuple[Cells, npt.NDArray[np.bool_]]:
    """Give what is known of people in the release's own codes.

    Parameters
    ----------
    published
        A sliced release.
    people
        The people; they may have further columns.

    Returns
    -------
    known
        One cell for each of the people's, in their order; several may be equal.
    is_shown
        Whether the release has all values of that cell. Where not, its codes say nothing.

    Raises
    ------
    ParameterError
        Where an attribute is lacking that the release takes as known.
    """
    sliced = published.sliced
    assert sliced is not None
    lacking = [name for name in sliced.layout.known if name not in people.quasi.columns]
    if lacking:
        raise ParameterError(f"Nothing is known of the people's {', '.join(lacking)}.")
    domains = tuple(sliced.domain(name) for name in sliced.layout.known)
    codes = np.empty((people.quasi.n_cells, len(domains)), dtype=np.int64)
    for place, domain in enumerate(domains):
        values = people.quasi.domain(domain.column)
        label = np.arange(domain.size)
        if values is not domain:
            meanings = published.meanings.get(domain.column, {})
            label = labels_of_values(domain, meanings, values)
        codes[:, place] = label[people.quasi.column(domain.column)]
    is_shown = np.all(codes >= 0, axis=1)
    return Cells(domains, np.maximum(codes, 0), people.counts), is_shown
