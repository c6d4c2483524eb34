"""People as a sliced release shows them: labels in place of values that it generalized."""

from __future__ import annotations

import numpy as np

from shoal.core.cells import Cells, Codes
from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.release import People, Published
from shoal.knowledge.location import labels_of_values, spread

__all__ = ["shown_people"]


def shown_people(published: Published, people: People) -> tuple[Cells, Codes]:
    """Give what is known of people in the release's own codes.

    Parameters
    ----------
    published
        A sliced release.
    people
        The people; they may have further columns.

    Returns
    -------
    shown
        What the release may show of them, in the order of the people's cells; several may be equal.
        Where a value is too rare to be named, all labels that may stand for it are tried.
    owner
        The people's cell that each is about. One with a value that no label admits has none.

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
    owner = np.arange(people.quasi.n_cells)
    codes = np.empty((len(owner), 0), dtype=np.int64)
    for domain in domains:
        start, label = _labels(published, domain, people.quasi.domain(domain.column))
        value = people.quasi.column(domain.column)[owner]
        source, place = spread(start[value], start[value + 1] - start[value])
        codes = np.column_stack([codes[source], label[place]])
        owner = owner[source]
    return Cells(domains, codes, people.counts[owner]), owner


def _labels(published: Published, domain: Domain, values: Domain) -> tuple[Codes, Codes]:
    if values is domain:
        # Everybody in the release, in its own codes.
        return np.arange(domain.size + 1), np.arange(domain.size)
    return labels_of_values(domain, published.meanings.get(domain.column, {}), values)
