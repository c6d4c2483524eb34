"""The methods that a comparison tries if none is named, and why it leaves out the others.

If one value makes up more than half of the sensitive column, no release keeps every belief below
one half. Then the other values are protected, together, and that one is left free: people with a
rare disease are hidden, and people without one need not be.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from shoal import methods as all_methods
from shoal.core.display import percent
from shoal.core.levelled import protected
from shoal.core.method import Method
from shoal.core.registry import names, snake_case
from shoal.core.schema import Schema
from shoal.engines.sql.table import EngineTable

_USUAL_DIVERSITY, _USUAL_ROWS, _USUAL_DISTANCE, _USUAL_SUPPRESSED = 3, 5, "0.3", "0.05"
_HALF = Fraction(1, 2)


@dataclass(frozen=True)
class Aim:
    """The standard that all methods of a comparison are held to.

    No belief about a person's value may exceed 1/ell. The values of `protect` count as one; None
    protects every value by itself.
    """

    ell: int
    protect: tuple[str | None, ...] | None = None

    @property
    def bound(self) -> Fraction:
        """The largest belief that is allowed."""
        return Fraction(1, self.ell)


def aim_of(table: EngineTable) -> Aim | None:
    """Return the aim that a table allows; None if it has no sensitive column.

    Examples
    --------
    >>> import shoal
    >>> columns = {"age": [1, 2, 3, 4, 5], "ill": ["no", "no", "no", "flu", "no"]}
    >>> aim_of(shoal.read(columns, shoal.Schema(quasi="age", sensitive="ill")))
    Aim(ell=3, protect=('flu',))
    """
    if not table.schema.sensitive or not table.n_rows:
        return None
    cells = protected(table).counts(table.schema.sensitive[:1])
    counts, labels = cells.counts.tolist(), cells.domains[0].labels()
    most = max(range(len(counts)), key=counts.__getitem__)
    share = Fraction(counts[most], table.n_rows)
    if not _HALF < share < 1:
        return Aim(_reachable(share))
    codes = cells.column(cells.columns[0]).tolist()
    others = tuple(labels[code] for code in codes if code != codes[most])
    return Aim(_reachable(1 - share), others)


def _reachable(share: Fraction) -> int:
    """Return the usual diversity, or the largest that the share of a value still allows."""
    return max(2, min(_USUAL_DIVERSITY, int(1 / share))) if share else _USUAL_DIVERSITY


def most_frequent_share(table: EngineTable) -> float:
    """Return the share of the most frequent value of the first sensitive column."""
    if not table.schema.sensitive or not table.n_rows:
        return 0.0
    return float(protected(table).counts(table.schema.sensitive[:1]).counts.max() / table.n_rows)


def default_methods(table: EngineTable) -> tuple[Method, ...]:
    """Return six methods that suit a table: its roles, and how diverse its sensitive column is.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> [type(method).__name__ for method in default_methods(table)][:3]
    ['Anatomy', 'Injector', 'Mondrian']
    """
    schema = table.schema
    if not schema.sensitive:
        return tuple(
            made
            for k in (3, 5, 10)
            for made in (
                all_methods.Mondrian(k=k),
                all_methods.FullDomain(k=k, suppress=_USUAL_SUPPRESSED),
            )
        )
    if len(schema.sensitive) > 1 or schema.both:
        return tuple(
            all_methods.Slicing(ell=ell, columns=columns)
            for ell in (2, 3)
            for columns in (2, 3, "one_each")
        )
    aim = aim_of(table) or Aim(_USUAL_DIVERSITY)
    return _of_every_value(schema, aim.ell) if aim.protect is None else _of_some(aim)


def _of_every_value(schema: Schema, ell: int) -> tuple[Method, ...]:
    """Return methods that protect every sensitive value by itself."""
    return (
        all_methods.Anatomy(ell=ell),
        all_methods.Injector(ell=ell),
        all_methods.Mondrian(k=_USUAL_ROWS, ell=ell, diversity="frequency"),
        all_methods.Mondrian(k=_USUAL_ROWS, t=_USUAL_DISTANCE),
        all_methods.FullDomain(
            k=_USUAL_ROWS, ell=ell, diversity="frequency", suppress=_USUAL_SUPPRESSED
        ),
        # Slicing takes no insensitive columns. Clustered columns may link the sensitive one to
        # more than any bucket could hide.
        all_methods.Mondrian(ell=ell, diversity="frequency", publish="bucketized")
        if schema.insensitive
        else all_methods.Slicing(ell=ell, columns="bucketized"),
    )


def _of_some(aim: Aim) -> tuple[Method, ...]:
    """Return methods that protect some sensitive values, which count as one."""
    asked: dict[str, Any] = {"ell": aim.ell, "diversity": "frequency", "protect": aim.protect}
    close: dict[str, Any] = {"t": _USUAL_DISTANCE, "protect": aim.protect}
    return (
        all_methods.Anatomy(ell=aim.ell, protect=aim.protect),
        all_methods.Mondrian(k=_USUAL_ROWS, **asked),
        all_methods.Mondrian(k=_USUAL_ROWS, **close),
        all_methods.FullDomain(k=_USUAL_ROWS, suppress=_USUAL_SUPPRESSED, **asked),
        all_methods.FullDomain(k=_USUAL_ROWS, suppress=_USUAL_SUPPRESSED, **close),
        all_methods.Mondrian(publish="bucketized", **asked),
    )


def usual_left_out(table: EngineTable) -> dict[str, str]:
    """Return every method that is not among the usual ones of a table, with the reason.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> sorted(usual_left_out(table))
    ['foreground_safe', 'mask', 'rule_hiding']
    """
    tried = {snake_case(type(method).__name__) for method in default_methods(table)}
    left_out = [name for name in names("shoal.methods") if name not in tried]
    return {name: _reason(name, table) for name in left_out}


def _reason(name: str, table: EngineTable) -> str:
    schema = table.schema
    if name in _NAMED:
        return _NAMED[name]
    if not schema.sensitive:
        return "the table has no sensitive column"
    if len(schema.sensitive) > 1 or schema.both:
        return "it takes one sensitive column that nobody knows, and the table has others"
    if name == "slicing" and schema.insensitive:
        return "it takes no insensitive column"
    share = percent(most_frequent_share(table))
    return f"one value makes up {share} of the column, and it cannot protect the others alone"


_NAMED = {
    "foreground_safe": (
        "it needs the value to protect, without which it merges far more than others; name it in "
        "[compare] methods"
    ),
    "mask": (
        "it changes values on purpose, and needs those to protect; name it in [compare] methods"
    ),
    "rule_hiding": "it needs the private cells that it hides; name it in [compare] methods",
}
"""Methods that are tried only if they are named."""
