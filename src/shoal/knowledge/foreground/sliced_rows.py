"""A sliced release as the foreground attack sees it.

In a bucket of a sliced release the sensitive value is published beside the attributes of its own
column. Whoever knows these of a person looks among the rows of the bucket that have them: they are
a bucket of their own, and the person's other attributes say how likely the value is theirs.

References
----------
[Slicing] (see `shoal.core.sliced`) Section 3; [Wong11] (see `shoal.knowledge.foreground.law`).
"""

from __future__ import annotations

import numpy as np

from shoal.core.cells import Buckets, Cells, Codes, group
from shoal.core.errors import DataError, ParameterError
from shoal.core.release import People
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.knowledge.foreground.exposed import Exposed

__all__ = ["expose_sliced"]

_OTHERS = "The people are not those of the sliced release."


def expose_sliced(sliced: Sliced, people: People, sensitive: str) -> tuple[Exposed, Codes]:
    """Set everybody who is in a sliced release into it.

    Parameters
    ----------
    sliced
        The release.
    people
        All who are in it, with what is known of them and their buckets: the worst case. The
        sensitive attribute itself does not count as known.
    sensitive
        The sensitive attribute that is attacked.

    Returns
    -------
    exposed
        The release; a bucket is one of the sliced release together with the values of the known
        attributes in the sensitive column.
    entry
        The entry of each cell of people.

    Raises
    ------
    DataError
        Where the people are not those of the release.

    Examples
    --------
    >>> from shoal.core.cells import Cells
    >>> from shoal.core.domain import Domain
    >>> from shoal.core.sliced import Layout
    >>> sex, town = Domain.of_texts("sex", ["F", "M"]), Domain.of_texts("town", ["a", "b"])
    >>> disease = Domain.of_texts("disease", ["cold", "flu"])
    >>> rows = np.array([[0, 0, 0], [0, 1, 1], [1, 0, 1], [1, 1, 1]])
    >>> cells = Cells.of_rows([sex, town, disease], rows)
    >>> layout, bucket = Layout([["sex"], ["town", "disease"]], ["disease"]), np.zeros(4, np.int64)
    >>> sliced = Sliced.of_pieces(cells, layout, np.arange(4), bucket, cells.counts)
    >>> people = People(Cells.of_rows([sex, town], rows[:, :2]), bucket)
    >>> exposed, entry = expose_sliced(sliced, people, "disease")
    >>> exposed, exposed.n_carrying([1]).tolist()
    (Exposed(4 rows in 2 buckets, 4 different ones), [1, 2])
    """
    if people.bucket is None:
        raise ParameterError("The buckets of the people of a sliced release must be known.")
    column = next((one for one in sliced.columns if sensitive in one.attributes), None)
    if column is None:
        raise ParameterError(f"The sliced release has no attribute {sensitive!r}.")
    people = People(_without(people.quasi, sensitive), people.bucket)
    shared = [name for name in column.attributes if name in people.quasi.columns]
    published, own = _sub_buckets(column, people, shared)
    sizes = [int(max(*map(np.max, pair))) + 1 for pair in zip(published, own, strict=True)]
    both = [np.concatenate(pair) for pair in zip(published, own, strict=True)]
    first, number = group(both, sizes, len(both[0]))
    n_entries = len(column.bucket)
    # Where only people are, the release has nobody.
    if len(np.unique(number[:n_entries])) < len(first):
        raise DataError(_OTHERS)
    domain = column.values.domain(sensitive)
    buckets = Buckets.of_pairs(number[:n_entries], column.codes(sensitive), domain, column.count)
    return Exposed.of_people(People(people.quasi, number[n_entries:]), buckets)


def _without(cells: Cells, column: str) -> Cells:
    """Leave a column out; cells stay apart that are then equal."""
    kept = [place for place, name in enumerate(cells.columns) if name != column]
    return Cells(tuple(cells.domains[place] for place in kept), cells.codes[:, kept], cells.counts)


def _sub_buckets(
    column: SlicedColumn, people: People, shared: list[str]
) -> tuple[list[Codes], list[Codes]]:
    """Give bucket and known attributes of the column's entries, and of the people, alike coded."""
    assert people.bucket is not None
    published, own = [column.bucket], [people.bucket]
    for name in shared:
        domain = column.values.domain(name)
        code = domain.codes_of(people.quasi.domain(name).labels())
        if np.any(code[people.quasi.column(name)] < 0):
            raise DataError(_OTHERS)
        published.append(column.codes(name))
        own.append(code[people.quasi.column(name)])
    return published, own
