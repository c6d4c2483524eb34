"""How the values of a column are generalized, step by step, up to ``*``.

The steward gives a hierarchy as rows, a file or a rule. `Hierarchy.over` applies it to the values
of the column and returns a `Tree`, which is what methods use.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from shoal.core.domain import Domain
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.tree import Label, Tree, grow_tree
from shoal.hierarchies.intervals import Bound, Cuts, Merging, Quantiles, Widths
from shoal.hierarchies.rows import Row, Rows, read_rows, write_rows
from shoal.hierarchies.rules import Dates, Flat, Prefixes, Rule, as_list


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """How the values of a column are generalized: value, parent and so on up to ``*``.

    Create one with `from_rows`, `from_csv`, `intervals`, `dates`, `prefixes`, `flat` or
    `from_config`.

    Parameters
    ----------
    rule
        The rows, or the rule that produces them once the values are known.

    Examples
    --------
    >>> hierarchy = Hierarchy.from_rows([["Private", "Other"], ["State", "Government"]])
    >>> hierarchy
    Hierarchy(rows, height=2, 2 leaves)
    >>> hierarchy.over(Domain.of_texts("work", ["Private", "State"]))
    Tree(column='work', height=2, 2 leaves, 5 nodes)
    """

    rule: Rule

    @classmethod
    def from_rows(cls, rows: Iterable[Sequence[Label]], *, column: str | None = None) -> Hierarchy:
        """Create a hierarchy from its rows.

        Parameters
        ----------
        rows
            One list of labels per leaf, leaf first, all of the same length. A top level ``*`` is
            added if it is missing. A leaf None is the missing value.
        column
            The column's name, for messages. Default: none.

        Raises
        ------
        SchemaError
            If rows differ in length, a leaf or a label has two parents, a label is above itself, or
            a label stands for two different sets of leaves.

        Examples
        --------
        >>> Hierarchy.from_rows([["White", "White", "*"], ["Irish", "European", "*"]])
        Hierarchy(rows, height=2, 2 leaves)
        """
        return cls(Rows.checked(rows, column))

    @classmethod
    def from_csv(
        cls,
        path: str | os.PathLike[str],
        *,
        delimiter: str = ";",
        encoding: str = "utf-8",
        column: str | None = None,
    ) -> Hierarchy:
        r"""Read a hierarchy from a file in ARX's format: no header, leaf first, ``*`` last.

        Parameters
        ----------
        path
            The file. An empty leaf without quotes is the missing value.
        delimiter
            The character between two labels. Default: a semicolon.
        encoding
            The encoding of the text; a byte order mark is skipped. Default: UTF-8.
        column
            The column's name, for messages. Default: none.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = pathlib.Path(folder, "work.csv")
        ...     _ = path.write_text("Private;Other;*\nState;Government;*\n")
        ...     Hierarchy.from_csv(path)
        Hierarchy(rows, height=2, 2 leaves)
        """
        return cls.from_rows(read_rows(path, delimiter, encoding), column=column)

    def to_csv(
        self, path: str | os.PathLike[str], *, delimiter: str = ";", encoding: str = "utf-8"
    ) -> None:
        """Write the rows to a file in ARX's format, completely or not at all.

        Raises
        ------
        SchemaError
            If the hierarchy is a rule, which has no rows of its own.
        """
        write_rows(path, self.rows, delimiter, encoding)

    @classmethod
    def intervals(
        cls,
        cuts: Sequence[Bound | str] | Sequence[Sequence[Bound | str]] | None = None,
        *,
        width: float | None = None,
        origin: float = 0,
        quantiles: int | None = None,
        merge: int = 2,
        levels: int | None = None,
    ) -> Hierarchy:
        """Generalize numbers and dates to intervals such as ``[20, 30[``.

        Give exactly one of `cuts`, `width` and `quantiles`. Each further level merges neighbours,
        as long as more than one interval would remain; the level above the last one is ``*``.

        Parameters
        ----------
        cuts
            Ascending numbers or dates (or ISO texts). The intervals below the first cut and from
            the last one on are unbounded. A list of such lists gives the cuts of every level,
            finest first, and nothing is merged.
        width
            The width of the intervals. Those of every level are aligned to `origin`.
        origin
            The start of one interval of that width. Default: 0.
        quantiles
            The number of intervals, which hold about the same number of rows, or of distinct values
            if `over` is given no counts. Their cuts are round numbers or days between values of the
            table, or a value of the table if nothing lies between.
        merge
            The number of neighbours that are merged at the next level. Default: 2.
        levels
            The maximum number of interval levels. Default: no maximum.

        Examples
        --------
        >>> domain = Domain.of_texts("age", ["17", "29", "30", "71"])
        >>> for row in Hierarchy.intervals([0, 18, 30, 45, 65]).over(domain).rows():
        ...     print(*row, sep="; ")
        17; [0, 18[; [0, 30[; [0, 65[; *
        29; [18, 30[; [0, 30[; [0, 65[; *
        30; [30, 45[; [30, 65[; [0, 65[; *
        71; [65, +inf[; [65, +inf[; [65, +inf[; *
        """
        given = [name for name in (cuts, width, quantiles) if name is not None]
        if len(given) != 1:
            raise ParameterError(
                f"Intervals need exactly one of cuts, width and quantiles; got {len(given)}.",
                hint="give cuts=[0, 18, 30], width=5 or quantiles=8.",
            )
        if origin != 0 and width is None:
            raise ParameterError(
                "origin may be given only together with width.",
                hint="leave it out: the cuts already define where intervals begin.",
            )
        if quantiles is not None:
            return cls(Quantiles(quantiles, Merging(merge, levels)))
        if width is not None:
            return cls(Widths(width, origin, Merging(merge, levels)))
        return cls(Cuts.checked(cuts, merge, levels))

    @classmethod
    def dates(cls, levels: Sequence[str] = ("day", "month", "quarter", "year")) -> Hierarchy:
        """Generalize dates: ``2024-05-17``, ``2024-05``, ``2024-Q2``, ``2024``, ``*``.

        Parameters
        ----------
        levels
            Some of day, month, quarter, year, decade (``2020-2029``) and century (``2000-2099``),
            finest first. A level that changes nothing is left out. Default: day to year.

        Examples
        --------
        >>> domain = Domain.of_texts("born", ["1899-12-31", "2024-05-17"])
        >>> Hierarchy.dates(["month", "year"]).over(domain).rows()[1]
        ['2024-05-17', '2024-05', '2024', '*']
        """
        return cls(Dates(tuple(as_list("levels", levels))))

    @classmethod
    def prefixes(cls, lengths: Sequence[int]) -> Hierarchy:
        """Generalize texts, such as postcodes, to their first characters.

        Parameters
        ----------
        lengths
            The number of characters that each level keeps, longest first. ``…`` replaces the rest;
            a text that is not longer is kept unchanged. A letter and its combining marks count as
            one character.

        Notes
        -----
        A level that changes no value of the column is left out. `over` rejects a column in which a
        value reads like the prefix of others.

        Examples
        --------
        >>> domain = Domain.of_texts("postcode", ["10115", "10999"])
        >>> Hierarchy.prefixes([5, 3, 1]).over(domain).rows()[0]
        ['10115', '101…', '1…', '*']
        """
        return cls(Prefixes(tuple(as_list("prefix lengths", lengths))))

    @classmethod
    def flat(cls) -> Hierarchy:
        """Either keep a value or suppress it, with nothing in between.

        Examples
        --------
        >>> Hierarchy.flat().over(Domain.of_texts("sex", ["F", "M"])).rows()
        [['F', '*'], ['M', '*']]
        """
        return cls(Flat())

    @classmethod
    def from_config(cls, config: object, *, column: str | None = None) -> Hierarchy:
        """Create a hierarchy from an entry of the configuration.

        Parameters
        ----------
        config
            One of ``{intervals = [...]}``, ``{width = 5}``, ``{quantiles = 8}``, ``{prefix = [5, 3,
            1]}``, ``{dates = ["month", "year"]}``, ``{flat = true}`` and ``{rows = [...]}``; the
            first three may have ``merge`` and ``levels``. Paths of files are resolved by the
            workflow.
        column
            The column's name, for messages. Default: none.

        Examples
        --------
        >>> Hierarchy.from_config({"quantiles": 8, "merge": 4})
        Hierarchy(quantiles)
        """
        subject = "The hierarchy" if column is None else f"The hierarchy of column {column!r}"
        if not isinstance(config, Mapping):
            raise SchemaError(
                f"{subject} must be a table such as {{ width = 5 }}; got something else.",
                hint="to read a file, use Hierarchy.from_csv.",
            )
        kinds = [kind for kind in _OPTIONS_BY_KIND if kind in config]
        if len(kinds) != 1:
            raise SchemaError(
                f"{subject} must have one of the keys {', '.join(_OPTIONS_BY_KIND)}; "
                f"it has {len(kinds) or 'none'} of them.",
                hint="write it like { intervals = [0, 18, 30, 45, 65] }.",
            )
        allowed = [kinds[0], *_OPTIONS_BY_KIND[kinds[0]]]
        n_unknown = len(config.keys() - set(allowed))
        if n_unknown:
            raise SchemaError(
                f"{subject} has {n_unknown} unknown keys; allowed beside "
                f"{kinds[0]}: {', '.join(allowed[1:]) or 'none'}.",
                hint=f"keep only {', '.join(allowed)}.",
            )
        options = {str(key): value for key, value in config.items() if key != kinds[0]}
        return _BUILDERS[kinds[0]](config[kinds[0]], options, column)

    def to_config(self) -> dict[str, object]:
        """Return the configuration from which `from_config` recreates the hierarchy.

        Examples
        --------
        >>> Hierarchy.intervals(width=5).to_config()
        {'width': 5}
        """
        return self.rule.to_config()

    def to_dict(self) -> dict[str, object]:
        """Return kind, height and number of leaves (None if not yet known), and configuration."""
        return {
            "kind": self.kind,
            "height": self.height,
            "n_leaves": self.n_leaves,
            "config": self.to_config(),
        }

    @property
    def kind(self) -> str:
        """The key that names it in a configuration: rows, intervals, width, ..."""
        return self.rule.kind

    @property
    def height(self) -> int | None:
        """The level of the root; None if it depends on the values."""
        return self.rule.height

    @property
    def n_leaves(self) -> int | None:
        """The number of leaves; None if it depends on the values."""
        return self.rule.n_leaves

    @property
    def rows(self) -> tuple[Row, ...]:
        """The given rows, with ``*`` last; `SchemaError` if the hierarchy is a rule."""
        if isinstance(self.rule, Rows):
            return self.rule.rows
        raise SchemaError(
            f"Only a hierarchy given as rows has rows; this one is a rule ({self.kind}).",
            hint="apply it to the column: hierarchy.over(domain).rows().",
        )

    def over(self, domain: Domain, counts: npt.ArrayLike | None = None) -> Tree:
        """Apply the hierarchy to the values of a column.

        Parameters
        ----------
        domain
            The column's values; each becomes a leaf. If the hierarchy does not mention the missing
            value, it is a branch of its own, directly under the root.
        counts
            The number of rows that have each code; used only by quantiles. Default: none.

        Raises
        ------
        SchemaError
            If a value has no place. The message says how many; the internal log says which.

        Examples
        --------
        >>> domain = Domain.of_texts("sex", ["F", "M"], has_missing=True)
        >>> Hierarchy.flat().over(domain).rows()
        [['F', '*'], ['M', '*'], [None, '*']]
        """
        checked = None if counts is None else np.asarray(counts, dtype=np.int64)
        if checked is not None and (checked.shape != (domain.size,) or np.any(checked < 0)):
            raise ParameterError(
                f"counts must have a number of rows, at least 0, for each of the {domain.size} "
                f"codes of column {domain.column!r}; got shape {checked.shape}, or less than 0.",
                hint="count the missing value last if the column has it.",
            )
        return grow_tree(domain, self.rule.levels(domain, checked))

    def __repr__(self) -> str:
        height = "" if self.height is None else f", height={self.height}"
        leaves = "" if self.n_leaves is None else f", {self.n_leaves} leaves"
        return f"Hierarchy({self.kind}{height}{leaves})"


_OPTIONS_BY_KIND: dict[str, tuple[str, ...]] = {
    "intervals": ("merge", "levels"),
    "width": ("origin", "merge", "levels"),
    "quantiles": ("merge", "levels"),
    "prefix": (),
    "dates": (),
    "flat": (),
    "rows": (),
}


def _flat_from_config(value: object, column: str | None) -> Hierarchy:
    if value is not True:
        subject = "flat" if column is None else f"flat of column {column!r}"
        raise SchemaError(
            f"{subject} must be true; got something else.",
            hint="leave the hierarchy out, or give another one.",
        )
    return Hierarchy.flat()


_BUILDERS: dict[str, Callable[[Any, dict[str, Any], str | None], Hierarchy]] = {
    "intervals": lambda value, options, _: Hierarchy.intervals(value, **options),
    "width": lambda value, options, _: Hierarchy.intervals(width=value, **options),
    "quantiles": lambda value, options, _: Hierarchy.intervals(quantiles=value, **options),
    "prefix": lambda value, _, __: Hierarchy.prefixes(value),
    "dates": lambda value, _, __: Hierarchy.dates(value),
    "flat": lambda value, _, column: _flat_from_config(value, column),
    "rows": lambda value, _, column: Hierarchy.from_rows(value, column=column),
}
