"""The columns of a sliced table: which attributes stay together.

[Slicing], section II: attributes that are correlated share a column, and within a bucket the
columns are parted from each other. The column that holds the sensitive attribute is the sensitive
column; the quasi-identifying attributes beside it, through which it may be guessed, are its
quasi-identifying part. One attribute a column, and all quasi-identifiers in one column
(bucketization), are columns like any other.

[Slicing] Rafi, Ramanaiah: Protecting Attribute Disclosure for High Dimensionality and Preserving
Publishing of Microdata.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from shoal.core.errors import ParameterError
from shoal.knowledge.attribute_clusters import cluster_attributes
from shoal.knowledge.correlation import Correlations

__all__ = ["SlicedColumns"]

_MOST_LISTED = 40


@dataclass(frozen=True, repr=False)
class SlicedColumns:
    """How attributes are grouped into columns.

    Given directly, columns and their attributes keep the order they are given in. `clustered`,
    `one_attribute_each` and `bucketized` make them.

    Parameters
    ----------
    columns
        The attributes of each column. Every quasi-identifying and sensitive attribute is in one.
    quasi
        The attributes that an adversary may know.
    sensitive
        Those that nobody may be linked to: none (who is in the table is all there is to protect),
        one or several. They may be quasi-identifying too.
    overlap
        Whether an attribute may be in several columns.

    Notes
    -----
    The order of attributes is that of `quasi`, then of the sensitive ones not among them.

    Raises
    ------
    ParameterError
        Where a column is empty, or an attribute is not known, in no column, or in two.

    References
    ----------
    [Slicing], section VII, for attributes in several columns.

    Examples
    --------
    >>> columns = SlicedColumns(
    ...     [["age", "sex"], ["zipcode", "disease"]],
    ...     quasi=["age", "sex", "zipcode"],
    ...     sensitive=["disease"],
    ... )
    >>> columns
    SlicedColumns({age, sex}, {zipcode, disease*})
    >>> columns.sensitive_columns, columns.quasi_part(1)
    ((1,), ('zipcode',))
    """

    columns: tuple[tuple[str, ...], ...]
    quasi: tuple[str, ...]
    sensitive: tuple[str, ...]
    overlap: bool

    def __init__(
        self,
        columns: Iterable[Iterable[str]],
        *,
        quasi: Iterable[str],
        sensitive: str | Iterable[str] = (),
        overlap: bool = False,
    ) -> None:
        object.__setattr__(self, "columns", _columns(columns))
        object.__setattr__(self, "quasi", _attributes("quasi", quasi))
        object.__setattr__(self, "sensitive", _attributes("sensitive", sensitive))
        object.__setattr__(self, "overlap", overlap)
        self._check()

    @classmethod
    def clustered(
        cls,
        correlations: Correlations,
        n_columns: int,
        *,
        quasi: Iterable[str],
        sensitive: str | Iterable[str] = (),
    ) -> SlicedColumns:
        """Cluster attributes that are correlated into columns ([Slicing], section 4.1).

        Parameters
        ----------
        correlations
            The correlations of all attributes, and perhaps of others.
        n_columns
            How many columns there are.
        quasi, sensitive
            The attributes, as for the class.

        Notes
        -----
        Within a column attributes are in their order, and columns in that of their first ones. The
        order also decides where two ways to cluster are equally good: see `cluster_attributes`.

        Examples
        --------
        >>> import numpy as np
        >>> matrix = np.array([[1, 0.1, 0.2], [0.1, 1, 0.9], [0.2, 0.9, 1]])
        >>> found = Correlations(("age", "sex", "job"), matrix)
        >>> SlicedColumns.clustered(found, 2, quasi=["age", "sex"], sensitive=["job"])
        SlicedColumns({age}, {sex, job*})
        """
        known, secret = _attributes("quasi", quasi), _attributes("sensitive", sensitive)
        attributes = _in_order(known, secret)
        clusters = cluster_attributes(correlations.select(attributes).distance, n_columns)
        columns = [[attributes[place] for place in members] for members in clusters.members]
        return cls(columns, quasi=known, sensitive=secret)

    @classmethod
    def one_attribute_each(
        cls, *, quasi: Iterable[str], sensitive: str | Iterable[str] = ()
    ) -> SlicedColumns:
        """Give every attribute a column of its own ([Slicing], Table 1(e)).

        Examples
        --------
        >>> SlicedColumns.one_attribute_each(quasi=["age", "sex"], sensitive=["disease"])
        SlicedColumns({age}, {sex}, {disease*})
        """
        known, secret = _attributes("quasi", quasi), _attributes("sensitive", sensitive)
        alone = [[attribute] for attribute in _in_order(known, secret)]
        return cls(alone, quasi=known, sensitive=secret)

    @classmethod
    def bucketized(cls, *, quasi: Iterable[str], sensitive: str | Iterable[str]) -> SlicedColumns:
        """Part all sensitive attributes from the others ([Slicing], Table 1(c)).

        An attribute that is both goes with the sensitive ones.

        Raises
        ------
        ParameterError
            Where one of the two columns would be empty.

        Examples
        --------
        >>> SlicedColumns.bucketized(quasi=["age", "sex"], sensitive=["disease"])
        SlicedColumns({age, sex}, {disease*})
        """
        known, secret = _attributes("quasi", quasi), _attributes("sensitive", sensitive)
        others = [attribute for attribute in known if attribute not in secret]
        if not secret or not others:
            raise ParameterError(
                "Bucketized columns part sensitive attributes from others; "
                f"got {len(secret)} sensitive ones and {len(others)} others.",
                hint="name one of each at least, or give the columns by hand.",
            )
        return cls([others, secret], quasi=known, sensitive=secret)

    @property
    def n_columns(self) -> int:
        """The number of columns."""
        return len(self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """What the columns are published as: ``column_1`` and so on."""
        return tuple(f"column_{number}" for number in range(1, self.n_columns + 1))

    @property
    def attributes(self) -> tuple[str, ...]:
        """All attributes in their order."""
        return _in_order(self.quasi, self.sensitive)

    @property
    def sensitive_columns(self) -> tuple[int, ...]:
        """The places of the columns that hold a sensitive attribute."""
        return tuple(
            place
            for place, column in enumerate(self.columns)
            if not set(column).isdisjoint(self.sensitive)
        )

    @property
    def shared(self) -> tuple[str, ...]:
        """The attributes in more than one column, in their order."""
        times = Counter(attribute for column in self.columns for attribute in column)
        return tuple(attribute for attribute in self.attributes if times[attribute] > 1)

    def places(self, attribute: str) -> tuple[int, ...]:
        """Give the places of the columns that hold an attribute.

        Raises
        ------
        ParameterError
            Where there is no such attribute.
        """
        if attribute not in self.attributes:
            raise self._unknown([attribute])
        return tuple(place for place, column in enumerate(self.columns) if attribute in column)

    def quasi_part(self, place: int, about: str | None = None) -> tuple[str, ...]:
        """Give the attributes of a column by which a person is matched with its values.

        Parameters
        ----------
        place
            The column's place.
        about
            The sensitive attribute that is guessed. Where it is quasi-identifying too, an
            adversary who guesses it does not know it. None where nothing is guessed: every
            quasi-identifying attribute is known then.

        Examples
        --------
        >>> columns = SlicedColumns(
        ...     [["age"], ["job", "salary"]], quasi=["age", "job"], sensitive=["job", "salary"]
        ... )
        >>> columns.quasi_part(1), columns.quasi_part(1, "job"), columns.quasi_part(1, "salary")
        (('job',), (), ('job',))
        """
        return tuple(
            attribute
            for attribute in self.columns[place]
            if attribute in self.quasi and attribute != about
        )

    def to_dict(self) -> dict[str, object]:
        """Give columns and roles as plain lists."""
        return {
            "columns": {
                name: list(column) for name, column in zip(self.names, self.columns, strict=True)
            },
            "quasi": list(self.quasi),
            "sensitive": list(self.sensitive),
            "overlap": self.overlap,
        }

    def _check(self) -> None:
        named = [attribute for column in self.columns for attribute in column]
        known = {*self.quasi, *self.sensitive}
        unknown = [attribute for attribute in dict.fromkeys(named) if attribute not in known]
        if unknown:
            raise self._unknown(unknown)
        lacking = [attribute for attribute in self.attributes if attribute not in named]
        if lacking:
            raise ParameterError(
                f"These attributes are in none of the {self.n_columns} columns: "
                f"{_listed(lacking)}.",
                hint="put every quasi-identifying and sensitive attribute into a column.",
            )
        if self.shared and not self.overlap:
            raise ParameterError(
                f"These attributes are in more than one column: {_listed(self.shared)}.",
                hint="leave each in one of them, or allow that with overlap=True.",
            )

    def _unknown(self, attributes: Sequence[str]) -> ParameterError:
        return ParameterError(
            "Columns hold quasi-identifying and sensitive attributes; these are neither: "
            f"{_listed(attributes)}.",
            hint=f"the attributes are {_listed(self.attributes)}.",
        )

    def __repr__(self) -> str:
        columns = (
            ", ".join(f"{a}*" if a in self.sensitive else a for a in column)
            for column in self.columns
        )
        return f"SlicedColumns({', '.join(f'{{{column}}}' for column in columns)})"


def _columns(given: Iterable[Iterable[str]]) -> tuple[tuple[str, ...], ...]:
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise _no_list("columns", given)
    listed = tuple(given)
    for number, column in enumerate(listed, start=1):
        if isinstance(column, str):
            raise _no_list(f"column {number} of columns", column)
    columns = tuple(
        _attributes(f"column {number} of columns", column)
        for number, column in enumerate(listed, start=1)
    )
    empty = [str(number) for number, column in enumerate(columns, start=1) if not column]
    if empty or not columns:
        which = f"column {', '.join(empty)} is empty" if empty else "there is none"
        raise ParameterError(
            f"Every column must hold an attribute, and there must be one; {which}.",
            hint="for example columns=[['age', 'sex'], ['zipcode', 'disease']].",
        )
    return columns


def _attributes(parameter: str, given: object) -> tuple[str, ...]:
    if isinstance(given, str):
        return (given,)
    if not isinstance(given, Iterable):
        raise _no_list(parameter, given)
    names = tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise ParameterError(
            f"{parameter} must hold names of attributes, which are texts.",
            hint=f"for example {['age', 'sex']}.",
        )
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ParameterError(
            f"{parameter} must name every attribute once; it names more often: {_listed(twice)}.",
            hint="name it once.",
        )
    return names


def _no_list(parameter: str, given: object) -> ParameterError:
    return ParameterError(
        f"{parameter} must be a list; got {type(given).__name__}.",
        hint="for example columns=[['age', 'sex'], ['zipcode', 'disease']].",
    )


def _in_order(quasi: Sequence[str], sensitive: Sequence[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*quasi, *sensitive)))


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:_MOST_LISTED]))
    beyond = len(names) - _MOST_LISTED
    return f"{shown} and {beyond} more" if beyond > 0 else shown
