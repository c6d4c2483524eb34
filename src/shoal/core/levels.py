"""Levels: the intervals or hierarchy nodes at which a sensitive column is protected and attacked.

If nearly every number of a column is unique, any few rows have different values, and nobody who
learns an income cares for its last digits. Guarantees and attacks then count the *levels* of the
column in the place of its values; what is published stays as exact as the method publishes it.

The steward declares levels (`LevelDeclaration`). The table turns a declaration into a `Level`,
which is public: the manifest states it, so that every reader checks and attacks the same levels.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from itertools import pairwise
from types import MappingProxyType
from typing import Any

import numpy as np

from shoal.core.arrays import Codes
from shoal.core.domain import ColumnType, Domain, day_of_date, iso_date
from shoal.core.errors import DataError, SchemaError
from shoal.core.tree import MOST_LEVELS, NO_GROUP, Tree, grow_tree
from shoal.core.tree import Level as TreeLevel

EVERY_VALUE = "values"
"""Declares that a column has no levels: each of its values counts."""
LEAST_PEOPLE = 10
"""The default number of people between two bounds that are drawn from a table.

Statistical offices commonly publish no count of fewer people than that.
"""
MOST_BOUNDS = 1000
"""The largest number of bounds of a column."""
_FORM = "{ quantiles = 20 }, { intervals = [0, 10000, 20000] } or { node_level = 1 }"
_MOST_DIGITS = 40


def _read_bound(given: object) -> str | None:
    """Return the canonical text of a number or a date; None if it is neither."""
    if isinstance(given, dt.date) and not isinstance(given, dt.datetime):
        return given.isoformat()
    if isinstance(given, str) and iso_date(given) is not None:
        return given
    if isinstance(given, bool) or not isinstance(given, int | float | str | Decimal):
        return None
    text = str(given)
    try:
        number = Decimal(text) if len(text) <= _MOST_DIGITS and text.isascii() else None
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or abs(number.adjusted()) > _MOST_DIGITS:
        return None
    plain = f"{number:f}"
    plain = plain.rstrip("0").rstrip(".") if "." in plain else plain
    return "0" if plain == "-0" else plain


def _place(bound: str) -> Decimal:
    """Return where a bound lies: its number, or its day."""
    date = iso_date(bound)
    return Decimal(bound) if date is None else Decimal(day_of_date(date))


def _fault_of_bounds(bounds: Sequence[str | None]) -> str | None:
    """Return what is wrong with bounds; None if nothing is."""
    known = [bound for bound in bounds if bound is not None]
    if not known or len(known) < len(bounds):
        return "must be a list of finite numbers or of dates"
    if len({iso_date(bound) is None for bound in known}) > 1:
        return "must be all numbers or all dates"
    if not all(_place(low) < _place(high) for low, high in pairwise(known)):
        return "must be strictly ascending"
    return f"must be at most {MOST_BOUNDS}" if len(known) > MOST_BOUNDS else None


def _whole(given: object, least: int, most: int) -> int | None:
    is_whole = isinstance(given, int) and not isinstance(given, bool)
    return given if isinstance(given, int) and is_whole and least <= given <= most else None


@dataclass(frozen=True)
class LevelDeclaration:
    """How the steward declares the levels of a column; all None if every value counts."""

    # The number of intervals, which hold about the same number of people.
    quantiles: int | None = None
    # Where intervals begin: numbers or dates, as texts.
    intervals: tuple[str, ...] | None = None
    # The level of the column's hierarchy whose nodes are the levels.
    node_level: int | None = None
    # The fewest people between two bounds that are drawn from the table.
    k: int = LEAST_PEOPLE
    # Whether Shoal chose them, because none were declared.
    is_drafted: bool = field(default=False, compare=False)

    @classmethod
    def of(cls, column: str, given: object) -> LevelDeclaration:
        """Read a declaration as a configuration or a caller writes it.

        Raises a SchemaError, which names the column and the rule and repeats nothing else.

        Examples
        --------
        >>> LevelDeclaration.of("income", {"intervals": [0, 10000, 20000.50]}).intervals
        ('0', '10000', '20000.5')
        """
        if isinstance(given, LevelDeclaration):
            return given
        if given == EVERY_VALUE:
            return cls()
        subject = f"The levels of column {column!r}"
        if not isinstance(given, Mapping):
            raise SchemaError(
                f"{subject} must be a table of one key, or {EVERY_VALUE!r}.",
                hint=f"for example {_FORM}; {EVERY_VALUE!r} means that every value counts.",
            )
        kinds = [kind for kind in ("quantiles", "intervals", "node_level") if kind in given]
        stray = set(given) - {*kinds, *(["k"] if kinds == ["quantiles"] else [])}
        if len(kinds) != 1 or stray:
            raise SchemaError(
                f"{subject} must have exactly one of quantiles, intervals and node_level"
                + ("; only k may stand beside quantiles." if stray else "."),
                hint=f"for example {_FORM}.",
            )
        return cls(**_CHECKS[kinds[0]](subject, given))

    @property
    def is_every_value(self) -> bool:
        """Whether the column has no levels."""
        return self.quantiles is None and self.intervals is None and self.node_level is None

    def to_config(self) -> object:
        """Return the declaration as a configuration states it."""
        if self.quantiles is not None:
            own = {} if self.k == LEAST_PEOPLE else {"k": self.k}
            return {"quantiles": self.quantiles, **own}
        if self.intervals is not None:
            return {"intervals": list(self.intervals)}
        return EVERY_VALUE if self.node_level is None else {"node_level": self.node_level}


def _check_quantiles(subject: str, given: Mapping[str, object]) -> dict[str, Any]:
    quantiles = _whole(given["quantiles"], 2, MOST_BOUNDS)
    k = _whole(given.get("k", LEAST_PEOPLE), 1, 10**9)
    if quantiles is None or k is None:
        wrong = f"quantiles must be a whole number from 2 to {MOST_BOUNDS}"
        wrong = "k must be a whole number of at least 1" if k is None else wrong
        raise SchemaError(f"{subject}: {wrong}.", hint="for example { quantiles = 20 }.")
    return {"quantiles": quantiles, "k": k}


def _check_intervals(subject: str, given: Mapping[str, object]) -> dict[str, Any]:
    listed = given["intervals"]
    is_listed = isinstance(listed, Sequence) and not isinstance(listed, str)
    bounds = [_read_bound(bound) for bound in listed] if is_listed else []  # type: ignore[attr-defined]
    fault = _fault_of_bounds(bounds)
    if fault is not None:
        raise SchemaError(
            f"{subject}: intervals {fault}.",
            hint="each number begins an interval, for example { intervals = [0, 10000, 20000] }.",
        )
    return {"intervals": tuple(bounds)}


def _check_node_level(subject: str, given: Mapping[str, object]) -> dict[str, Any]:
    node_level = _whole(given["node_level"], 1, MOST_LEVELS)
    if node_level is None:
        raise SchemaError(
            f"{subject}: node_level must be a whole number from 1 to {MOST_LEVELS}.",
            hint="level 0 of a hierarchy has the values, level 1 the nodes above them.",
        )
    return {"node_level": node_level}


_CHECKS = {
    "quantiles": _check_quantiles,
    "intervals": _check_intervals,
    "node_level": _check_node_level,
}


def read_declarations(
    given: Mapping[str, object], sensitive: Collection[str], quasi: Collection[str]
) -> Mapping[str, LevelDeclaration]:
    """Read the levels of a schema; raise a SchemaError for a column that cannot have any."""
    for column in given:
        if column not in sensitive or column in quasi:
            fault = "is not sensitive" if column not in sensitive else "is quasi-identifying too"
            raise SchemaError(
                f"Levels are given for column {column!r}, which {fault}.",
                hint="levels say how a sensitive column is protected and attacked; take the entry "
                "out"
                + ("." if column in sensitive else ", or give the column the role sensitive."),
            )
    found = {column: LevelDeclaration.of(column, one) for column, one in given.items()}
    return MappingProxyType(found)


@dataclass(frozen=True)
class Level:
    """The levels of one column, as the manifest of a release states them.

    Examples
    --------
    >>> level = Level("income", bounds=("10000", "20000"))
    >>> level.labels(ColumnType.INTEGER)
    ('below 10000', '10000-19999', '20000 and above')
    """

    column: str
    # The numbers or dates at which an interval begins; the first interval has no lower bound.
    bounds: tuple[str, ...] = ()
    # The level of the column's hierarchy; None if the levels are intervals.
    node_level: int | None = None
    # Whether Shoal chose them, because none were declared; the manifest does not say.
    is_drafted: bool = field(default=False, compare=False)

    def labels(self, kind: ColumnType) -> tuple[str, ...]:
        """Return the label of every interval of a column of some type, from lowest to highest."""
        return tuple(_label(low, high, kind) for low, high in pairwise((None, *self.bounds, None)))

    @property
    def declaration(self) -> LevelDeclaration:
        """The declaration that gives these levels to any table."""
        if self.node_level is not None:
            return LevelDeclaration(node_level=self.node_level, is_drafted=self.is_drafted)
        return LevelDeclaration(intervals=self.bounds, is_drafted=self.is_drafted)

    @property
    def words(self) -> str:
        """What the levels are, in a few words."""
        if self.node_level is not None:
            return f"{self.column} at level {self.node_level} of its hierarchy"
        return f"{self.column} at {len(self.bounds) + 1} levels"

    def fits(self, kind: ColumnType) -> bool:
        """Return whether a column of some type can have these levels."""
        if self.node_level is not None:
            return True
        is_date = iso_date(self.bounds[0]) is not None
        return kind.is_numeric and is_date == (kind is ColumnType.DATE)

    def to_dict(self) -> dict[str, object]:
        """Return the levels in the form of the manifest."""
        if self.node_level is not None:
            return {"node_level": self.node_level}
        return {"intervals": list(self.bounds)}

    @classmethod
    def from_dict(cls, column: str, stated: Mapping[str, object]) -> Level:
        """Read levels in their form in the manifest, strictly; raise a ValueError otherwise."""
        if set(stated) == {"node_level"}:
            node_level = _whole(stated["node_level"], 1, MOST_LEVELS)
            if node_level is not None:
                return cls(column, node_level=node_level)
        bounds = stated.get("intervals")
        if set(stated) == {"intervals"} and isinstance(bounds, list):
            read = [_read_bound(one) if isinstance(one, str) else None for one in bounds]
            if read == bounds and _fault_of_bounds(read) is None:
                return cls(column, bounds=tuple(bounds))
        raise ValueError("These are no levels.")


def read_levels(
    stated: Mapping[str, Mapping[str, object]], kinds: Mapping[str, ColumnType]
) -> tuple[Level, ...]:
    """Read the levels that a manifest states of columns of some types; others are refused."""
    levels = tuple(Level.from_dict(column, one) for column, one in stated.items())
    if not all(level.column in kinds and level.fits(kinds[level.column]) for level in levels):
        raise ValueError("These are no levels.")
    return levels


def _label(low: str | None, high: str | None, kind: ColumnType) -> str:
    if low is None or high is None:
        return f"below {high}" if low is None else f"{low} and above"
    if kind is ColumnType.INTEGER and low.isdecimal() and high.isdecimal():
        last = int(high) - 1
        return low if last == int(low) else f"{low}-{last}"
    return f"[{low}, {high}["


def declared_anew(
    levels: Iterable[Level], sensitive: Iterable[str], quasi: Collection[str]
) -> dict[str, LevelDeclaration]:
    """Return declarations with which another table gets the same levels, and drafts none."""
    known = {level.column: level.declaration for level in levels}
    return {
        column: known.get(column, LevelDeclaration()) for column in sensitive if column not in quasi
    }


@dataclass(frozen=True, eq=False, repr=False)
class LevelDomain(Domain):
    """The levels that occur in a column, as a domain, with the level of every value.

    Levels in which nobody is are left out, as values that nobody has are left out of a domain.
    """

    # The code of the level of each code of the values; a missing value is a level of its own.
    level_of: Codes = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def __repr__(self) -> str:
        return f"LevelDomain(column={self.column!r}, {self.size} levels)"


def level_domain(level: Level, values: Domain, tree: Tree | None) -> LevelDomain:
    """Return the levels over the values of a column; `tree` is its hierarchy over these values.

    Examples
    --------
    >>> income = Domain.of_texts("income", ["900", "1000", "1500"], type=ColumnType.INTEGER,
    ...                          numbers=[900, 1000, 1500], has_missing=True)
    >>> found = level_domain(Level("income", bounds=("1000", "2000")), income, None)
    >>> found.labels(), found.level_of.tolist()
    (['below 1000', '1000-1999', None], [0, 1, 1, 2])
    """
    if level.node_level is not None:
        return _nodes(level.node_level, values, tree)
    if not level.fits(values.type) or values.numbers is None:
        raise unfit_error(level)
    used, index = np.unique(_intervals(level, values), return_inverse=True)
    labels = level.labels(values.type)
    texts = [labels[place] for place in used.tolist()]
    return _domain(values, texts, index, ColumnType.ORDERED)


def unfit_error(level: Level) -> DataError:
    """Return the error for levels that the published column cannot have."""
    return DataError(
        f"The levels of column {level.column!r} do not fit its values.",
        hint="was the release changed after it was sealed?",
    )


def _intervals(level: Level, values: Domain) -> Codes:
    """Return the interval of each value that is not missing, counted from 0."""
    assert values.numbers is not None
    starts = np.array([float(_place(bound)) for bound in level.bounds])
    index = np.searchsorted(starts, values.numbers, side="right").astype(np.int64)
    # Different numbers may round to the same float; rounding never changes their order.
    for code in np.flatnonzero(np.isin(values.numbers, starts)).tolist():
        text = str(values.texts[code])
        index[code] = sum(_place(bound) <= _place(text) for bound in level.bounds)
    return index


def _nodes(node_level: int, values: Domain, tree: Tree | None) -> LevelDomain:
    if tree is None or node_level >= tree.height or tree.n_leaves != values.size:
        raise unfit_error(Level(values.column, node_level=node_level))
    nodes = tree.ancestors_at(node_level)[: len(values.texts)]
    labels = [tree.labels[node] for node in nodes.tolist()]
    # A node whose label is missing is the missing value's.
    known = sorted({label for label in labels if label is not None})
    place = {label: number for number, label in enumerate(known)}
    index = np.array([place.get(label, len(known)) for label in labels], dtype=np.int64)
    return _domain(values, known, index, ColumnType.CATEGORICAL)


def _domain(values: Domain, texts: list[str], index: Codes, kind: ColumnType) -> LevelDomain:
    labels = np.empty(len(texts), dtype=object)
    labels[:] = texts
    level_of = np.append(index, [len(texts)] * values.has_missing).astype(np.int64)
    has_missing = bool(level_of.max(initial=-1) == len(texts))
    return LevelDomain(values.column, kind, labels, None, has_missing, level_of)


def tree_of_levels(tree: Tree, node_level: int, domain: LevelDomain) -> Tree:
    """Return the part of a hierarchy above a level, over the nodes of that level."""
    first = np.zeros(domain.size, dtype=np.int64)
    first[domain.level_of[::-1]] = np.arange(len(domain.level_of) - 1, -1, -1)
    levels = []
    for height in range(node_level + 1, tree.height):
        nodes, groups = np.unique(tree.ancestors_at(height)[first], return_inverse=True)
        is_root = nodes == tree.root
        groups = np.where(is_root[groups], NO_GROUP, groups)
        levels.append(TreeLevel(groups, tree.labels[nodes].tolist()))
    return grow_tree(domain, levels)
