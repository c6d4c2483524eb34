"""The columns of a table as the steward describes them: roles, types, hierarchies.

Roles are never guessed: a column without a role is an error. The role names of ARX and sdcMicro are
accepted wherever roles are given by name (`Schema.from_roles`, the configuration file).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any, cast

from shoal.core.display import Displayed, Section
from shoal.core.domain import CHOICES, ColumnType, Role, role_of
from shoal.core.errors import SchemaError, suggestion
from shoal.core.levels import LevelDeclaration, read_declarations
from shoal.core.tree import Generalization


@dataclass(frozen=True)
class ColumnDeclaration:
    """The type of a column, and for an ordered column its values from lowest to highest."""

    type: ColumnType
    order: tuple[str, ...] | None = field(default=None, repr=False)


def _restored(given: dict[str, Any]) -> Schema:
    return Schema(**given)


def _names(parameter: str, given: object) -> tuple[str, ...]:
    if given is None:
        return ()
    names = (given,) if isinstance(given, str) or not isinstance(given, Iterable) else tuple(given)
    return tuple(_name(parameter, name) for name in names)


def _name(parameter: str, given: object) -> str:
    if not isinstance(given, str):
        raise SchemaError(
            f"{parameter} takes names of columns, which are texts, not {_kind(given)}.",
            hint=f"for example {parameter}='age'.",
        )
    return given


def _combinations(given: object) -> tuple[tuple[str, ...], ...]:
    """Read combinations of columns; a single column is a combination of one."""
    listed = (given,) if isinstance(given, str) else given
    if not isinstance(listed, Iterable):
        raise SchemaError(
            f"meant takes combinations of columns, not {_kind(given)}.",
            hint="for example meant=[['population'], ['price', 'tax']].",
        )
    found = dict.fromkeys(tuple(dict.fromkeys(_names("meant", one))) for one in listed)
    return tuple(combination for combination in found if combination)


def _choice(column: str, given: object) -> str:
    if not isinstance(given, str) or given not in CHOICES:
        raise SchemaError(
            f"The variants of column {column!r} must be {' or '.join(map(repr, CHOICES))}.",
            hint="'merge' makes one value of all spellings, 'distinct' keeps them apart.",
        )
    return given


def _by_column(parameter: str, given: object) -> dict[str, Any]:
    if given is not None and not isinstance(given, Mapping):
        raise SchemaError(
            f"{parameter} must be a mapping of columns, not {_kind(given)}.",
            hint=f"for example {parameter}={{'age': ...}}.",
        )
    return {_name(parameter, column): entry for column, entry in (given or {}).items()}


def _kind(given: object) -> str:
    return "None" if given is None else f"a {type(given).__name__}"


def _hierarchy(column: str, given: object) -> Generalization:
    # isinstance cannot check a protocol with properties: `rows` of a rule raises.
    if isinstance(given, type) or not callable(getattr(given, "over", None)):
        raise SchemaError(
            f"The hierarchy of column {column!r} must be a shoal.Hierarchy, not {_kind(given)}.",
            hint="for example shoal.Hierarchy.from_csv('age.csv') or Hierarchy.intervals(...).",
        )
    return cast(Generalization, given)


def _declaration(column: str, given: object) -> ColumnDeclaration:
    if isinstance(given, ColumnDeclaration):
        if given.type is not ColumnType.ORDERED:
            return given
        given = str(given.type) if given.order is None else given.order
    if isinstance(given, str):
        try:
            declared = ColumnType(given)
        except ValueError:
            raise SchemaError(
                f"{given!r}, given for column {column!r}, is not a type.",
                hint=f"the types are {', '.join(ColumnType)}; an ordered column is declared "
                "by the list of its values, from lowest to highest.",
            ) from None
        if declared is ColumnType.ORDERED:
            raise SchemaError(
                f"Column {column!r} is declared ordered, but its order is not given.",
                hint="give the list of its values, from lowest to highest, as its type.",
            )
        return ColumnDeclaration(declared)
    order = tuple(given) if isinstance(given, Iterable) else (None,)
    if not all(isinstance(value, str) for value in order):
        raise SchemaError(
            f"The type of column {column!r} must be a name or a list of texts.",
            hint=f"the types are {', '.join(ColumnType)}; an ordered column is declared by the "
            "list of its values, as texts, from lowest to highest.",
        )
    if len(set(order)) != len(order):
        raise SchemaError(
            f"The order of column {column!r} names a value twice.", hint="list each value once."
        )
    return ColumnDeclaration(ColumnType.ORDERED, order)


@dataclass(frozen=True, kw_only=True)
class Schema(Displayed):
    """The roles, types and hierarchies of the columns of a table.

    Parameters
    ----------
    quasi
        Quasi-identifiers: columns that could be linked with outside knowledge. Default: none.
    sensitive
        The column that must not be linked to a person: one name, or a list if the method accepts
        several. Default: none.
    identifying
        Columns that identify a person directly. They are never published. Default: none.
    insensitive
        Columns that are published unchanged. Default: none.
    hierarchies
        The generalization hierarchy of each column. Default: none.
    types
        The types of columns for which it should not be inferred from the data; for an ordered
        column the list of its values, from lowest to highest. Default: inferred.
    key
        A column that identifies rows; it counts as identifying. Default: the line number.
    person
        A column that identifies the person of a row; it counts as identifying. Default: none.
    nearly_unique
        Insensitive columns that the steward intends to publish although hardly any two rows agree.
        Equivalent to naming each of them in `meant`. Default: none.
    meant
        Combinations of insensitive columns that the steward intends to publish although they single
        people out, or determine what the release hides: names, or lists of names. A combination
        confirms every part of it, and nothing beyond it. Default: none.
    variants
        How to treat different spellings of one value in a sensitive column (`HIV`, `hiv `): "merge"
        makes them one value, "distinct" keeps them apart. Default: a column with variants is
        refused.
    levels
        The levels at which a sensitive column is protected and attacked, by column: `{"quantiles":
        20}`, `{"intervals": [0, 10000, 20000]}`, `{"node_level": 2}` of its hierarchy, or "values"
        if every value counts. Default: drafted for a column with more than 100 values.

    Examples
    --------
    >>> schema = Schema(quasi=["age", "sex"], sensitive="disease", identifying=["name"])
    >>> schema.roles["age"]
    <Role.QUASI: 'quasi-identifying'>
    """

    quasi: tuple[str, ...] = ()
    sensitive: tuple[str, ...] = ()
    identifying: tuple[str, ...] = ()
    insensitive: tuple[str, ...] = ()
    hierarchies: Mapping[str, Generalization] = field(default_factory=dict)
    types: Mapping[str, ColumnDeclaration] = field(default_factory=dict)
    key: str | None = None
    person: str | None = None
    nearly_unique: tuple[str, ...] = ()
    meant: tuple[tuple[str, ...], ...] = ()
    variants: Mapping[str, str] = field(default_factory=dict)
    levels: Mapping[str, LevelDeclaration] = field(default_factory=dict)

    def __init__(
        self,
        *,
        quasi: str | Iterable[str] = (),
        sensitive: str | Iterable[str] | None = None,
        identifying: str | Iterable[str] = (),
        insensitive: str | Iterable[str] = (),
        hierarchies: Mapping[str, Generalization] | None = None,
        types: Mapping[str, str | Sequence[str] | ColumnDeclaration] | None = None,
        key: str | None = None,
        person: str | None = None,
        nearly_unique: str | Iterable[str] = (),
        meant: str | Iterable[str | Iterable[str]] = (),
        variants: Mapping[str, str] | None = None,
        levels: Mapping[str, object] | None = None,
    ) -> None:
        named = _names("identifying", identifying)
        owners = {"key": key, "person": person}
        single = {_name(what, column) for what, column in owners.items() if column is not None}
        implied = tuple(c for c in dict.fromkeys((key, person)) if c in single and c not in named)
        values: dict[str, object] = {
            "quasi": _names("quasi", quasi),
            "sensitive": _names("sensitive", sensitive),
            "identifying": named + implied,
            "insensitive": _names("insensitive", insensitive),
            "hierarchies": MappingProxyType(
                {c: _hierarchy(c, h) for c, h in _by_column("hierarchies", hierarchies).items()}
            ),
            "types": MappingProxyType(
                {c: _declaration(c, t) for c, t in _by_column("types", types).items()}
            ),
            "key": key,
            "person": person,
            "nearly_unique": _names("nearly_unique", nearly_unique),
            "meant": _combinations(meant),
            "variants": MappingProxyType(
                {c: _choice(c, given) for c, given in _by_column("variants", variants).items()}
            ),
            "levels": _by_column("levels", levels),
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self._check()
        declared = read_declarations(self.levels, self.sensitive, self.quasi)
        object.__setattr__(self, "levels", declared)

    def __reduce__(self) -> tuple[object, ...]:
        """Let schemas be copied and sent to other processes."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        mappings = ("hierarchies", "types", "variants", "levels")
        given |= {name: dict(getattr(self, name)) for name in mappings}
        return (_restored, (given,))

    def _check(self) -> None:
        seen: dict[str, Role] = {}
        for role, columns in self._columns_by_role():
            for column in columns:
                is_both = role is Role.SENSITIVE and seen.get(column) is Role.QUASI
                if column in seen and not is_both:
                    raise SchemaError(
                        f"Column {column!r} is given two roles: {seen[column]} and {role}."
                        if seen[column] is not role
                        else f"Column {column!r} is named twice as {role}.",
                        hint="name every column once"
                        + (
                            "; the columns named by key= and person= count as identifying."
                            if column in (self.key, self.person)
                            else "."
                        ),
                    )
                seen[column] = role
        for what, given in (("hierarchy", tuple(self.hierarchies)), ("type", tuple(self.types))):
            stray = [column for column in given if column not in seen]
            if stray:
                raise SchemaError(
                    f"A {what} is given for columns without a role: {_listed(stray)}.",
                    hint="give each of them a role, or take the entry out; "
                    + suggestion(stray[0], seen, "the columns with a role are"),
                )
        named = {
            "nearly_unique": self.nearly_unique,
            "meant": dict.fromkeys(column for columns in self.meant for column in columns),
        }
        for what, given_columns in named.items():
            stray = [column for column in given_columns if column not in self.insensitive]
            if stray:
                raise SchemaError(
                    f"{what} names columns that are not insensitive: {_listed(stray)}.",
                    hint="it only lets insensitive columns pass although they single people out; "
                    + suggestion(stray[0], self.insensitive, "the insensitive columns are")
                    if self.insensitive
                    else "no column is insensitive: take the entry out.",
                )
        stray = [column for column in self.variants if column not in self.sensitive]
        if stray:
            raise SchemaError(
                f"variants names columns that are not sensitive: {_listed(stray)}.",
                hint="only the spellings of sensitive values are looked at; take the entry out.",
            )

    def _columns_by_role(self) -> tuple[tuple[Role, tuple[str, ...]], ...]:
        return (
            (Role.IDENTIFYING, self.identifying),
            (Role.QUASI, self.quasi),
            (Role.SENSITIVE, self.sensitive),
            (Role.INSENSITIVE, self.insensitive),
        )

    @classmethod
    def from_roles(
        cls,
        roles: Mapping[str, str],
        *,
        hierarchies: Mapping[str, Generalization] | None = None,
        types: Mapping[str, str | Sequence[str] | ColumnDeclaration] | None = None,
        key: str | None = None,
        person: str | None = None,
        nearly_unique: str | Iterable[str] = (),
        meant: str | Iterable[str | Iterable[str]] = (),
        variants: Mapping[str, str] | None = None,
        levels: Mapping[str, object] | None = None,
    ) -> Schema:
        """Create a schema from the role of each column, in the terms of Shoal, ARX or sdcMicro.

        Examples
        --------
        >>> Schema.from_roles({"zip": "keyVars", "disease": "SENSITIVE_ATTRIBUTE"}).quasi
        ('zip',)
        """
        columns: dict[Role, list[str]] = {role: [] for role in Role}
        for column, word in _by_column("roles", roles).items():
            columns[role_of(word)].append(column)
        return cls(
            quasi=columns[Role.QUASI],
            sensitive=columns[Role.SENSITIVE],
            identifying=columns[Role.IDENTIFYING],
            insensitive=columns[Role.INSENSITIVE],
            hierarchies=hierarchies,
            types=types,
            key=key,
            person=person,
            nearly_unique=nearly_unique,
            meant=meant,
            variants=variants,
            levels=levels,
        )

    def _overview(self) -> Section:
        rows = tuple(
            (
                name,
                str(role),
                str(self.types[name].type) if name in self.types else None,
                name in self.hierarchies,
            )
            for name, role in self.roles.items()
        )
        columns = ("column", "role", "declared type", "has a hierarchy")
        return Section(f"Schema of {len(rows)} columns", columns, rows, holds_values=False)

    @property
    def roles(self) -> dict[str, Role]:
        """The role of every column."""
        return {column: role for role, columns in self._columns_by_role() for column in columns}

    @property
    def published(self) -> tuple[str, ...]:
        """The columns that a release may hold: all except the identifying ones."""
        return tuple(dict.fromkeys(self.quasi + self.insensitive + self.sensitive))

    @property
    def coded(self) -> tuple[str, ...]:
        """The columns that guarantees are about: quasi-identifying and sensitive."""
        return tuple(dict.fromkeys(self.quasi + self.sensitive))

    @property
    def both(self) -> tuple[str, ...]:
        """The columns that are quasi-identifying and sensitive, which only slicing accepts."""
        return tuple(column for column in self.quasi if column in self.sensitive)

    @property
    def confirmed(self) -> tuple[frozenset[str], ...]:
        """The combinations of insensitive columns that the steward intends to publish.

        Examples
        --------
        >>> schema = Schema(insensitive=["a", "b"], meant=[["a", "b"]], nearly_unique="a")
        >>> [sorted(columns) for columns in schema.confirmed]
        [['a', 'b'], ['a']]
        """
        single = ((column,) for column in self.nearly_unique)
        return tuple(dict.fromkeys(map(frozenset, (*self.meant, *single))))

    def confirms(self, columns: Iterable[str]) -> bool:
        """Return whether some columns are a confirmed combination or a part of one."""
        asked = frozenset(columns)
        return not asked or any(asked <= combination for combination in self.confirmed)

    def with_orders(self, orders: Mapping[str, tuple[str, ...]]) -> Schema:
        """Return the schema with the given orders for columns whose type it does not declare.

        Each order lists values from lowest to highest. Identifying columns need no order.
        """
        added = {
            column: ColumnDeclaration(ColumnType.ORDERED, order)
            for column, order in orders.items()
            if column in self.published and column not in self.types
        }
        return replace(self, types={**self.types, **added}) if added else self

    def check_columns(self, columns: Sequence[str]) -> None:
        """Raise a SchemaError if the table lacks a column or has a column without a role."""
        self.check_names(columns)
        without = [column for column in columns if column not in self.roles]
        if without:
            raise SchemaError(
                f"Columns without a role: {_listed(without)}.",
                hint="name each as identifying, quasi, sensitive or insensitive; "
                "`shoal profile` shows what each column could reveal.",
            )

    def check_names(self, columns: Sequence[str]) -> None:
        """Raise a SchemaError if the table lacks a column of the schema; it may have others."""
        lacking = [column for column in self.roles if column not in columns]
        if lacking:
            raise SchemaError(
                f"The table has no column {_listed(lacking)}.",
                hint=self._hint_of_names(lacking, columns),
            )

    def _hint_of_names(self, lacking: Sequence[str], columns: Sequence[str]) -> str:
        """Return the likely reason for missing columns: the delimiter, a typo, or no header."""
        for delimiter in _DELIMITERS:
            parts = {part.strip(" \"'") for column in columns for part in column.split(delimiter)}
            if all(name in parts for name in lacking):
                return (
                    f"the table was read as {len(columns)} column{'s' * (len(columns) > 1)}, but "
                    f"its fields are separated by {delimiter!r}: give delimiter = {delimiter!r}."
                )
        # If most names are wrong, the file may have no header, and its first line is a person's:
        # do not show it.
        if 2 * len(lacking) > len(self.roles):
            return "none of its columns has a role: does it begin with a line of their names?"
        return suggest_column(lacking[0], columns)


def suggest_column(name: str, columns: Sequence[str]) -> str:
    """Return a hint that names the column closest to an unknown one, and lists all of them."""
    close = get_close_matches(name.casefold(), [one.casefold() for one in columns], n=1)
    meant = [one for one in columns if [one.casefold()] == close]
    if not meant:
        return f"its columns are {_listed(columns)}."
    return f"did you mean {meant[0]!r}? Its columns are {_listed(columns)}."


_DELIMITERS = (";", ",", "\t", "|", ":")


def _listed(columns: Iterable[str]) -> str:
    names = [repr(column) for column in columns]
    return ", ".join(names[:40]) + (f" and {len(names) - 40} more" if len(names) > 40 else "")
