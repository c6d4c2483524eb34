"""The tables of a release as SQL names them: one for each column of attributes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from shoal.core.errors import ParameterError

__all__ = ["ColumnTable", "attributes_of", "bucketized_tables", "quoted", "sliced_tables"]


@dataclass(frozen=True)
class ColumnTable:
    """A table of the release that holds one column of attributes.

    Parameters
    ----------
    name
        What the table is called.
    attributes
        Its attributes.
    has_count
        Whether it says in `count` how often a bucket holds an entry; else a line is one.
    """

    name: str
    attributes: tuple[str, ...]
    has_count: bool = True


def bucketized_tables(
    quasi: Sequence[str], sensitive: Sequence[str]
) -> tuple[ColumnTable, ColumnTable]:
    """Describe the tables of a bucketized release.

    Parameters
    ----------
    quasi
        The attributes in `quasi`, insensitive ones among them.
    sensitive
        The attributes in `sensitive`.
    """
    return (
        ColumnTable("quasi", tuple(quasi), has_count=False),
        ColumnTable("sensitive", tuple(sensitive)),
    )


def sliced_tables(slices: Sequence[Sequence[str]]) -> tuple[ColumnTable, ...]:
    """Describe the tables of a sliced release.

    Parameters
    ----------
    slices
        The attributes of each column, as the manifest names them.

    Examples
    --------
    >>> sliced_tables([["age", "sex"], ["disease"]])[1]
    ColumnTable(name='column_2', attributes=('disease',), has_count=True)
    """
    return tuple(
        ColumnTable(f"column_{number}", tuple(attributes))
        for number, attributes in enumerate(slices, start=1)
    )


def attributes_of(tables: Sequence[ColumnTable]) -> tuple[str, ...]:
    """Name the attributes of some tables, each once."""
    if not tables:
        raise ParameterError("The view needs at least one table.")
    return tuple(dict.fromkeys(name for table in tables for name in table.attributes))


def quoted(name: str) -> str:
    """Write a name as SQL does, whatever it holds.

    Examples
    --------
    >>> print(quoted('say "so" twice'))
    "say ""so"" twice"
    """
    return '"' + name.replace('"', '""') + '"'
