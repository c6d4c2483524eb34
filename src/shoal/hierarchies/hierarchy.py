"""How the values of a column are generalized, step by step, up to ``*``.

The steward gives a hierarchy as rows, a file or a rule. `Hierarchy.over` applies it to the values
that the column has and gives a `Tree`, with which methods work.
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
from shoal.core.hierarchy_file import read_rows, write_rows
from shoal.core.hierarchy_rows import Row, Rows
from shoal.core.hierarchy_rules import Dates, Flat, Prefixes, Rule, as_list
from shoal.core.intervals import Bound, Cuts, Merging, Quantiles, Widths
from shoal.core.tree import Label, Tree, grow_tree

__all__ = ["Hierarchy"]


@dataclass(frozen=True, repr=False)
class Hierarchy:
    """What a steward gives for a column: value, parent and so on up to ``*``.

    Make one with `from_rows`, `from_csv`, `intervals`, `dates`, `prefixes`, `flat` or
    `from_config`.

    Parameters
    ----------
    rule
        The rows, or the rule that makes them once the values are known.

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
        """Make a hierarchy from its rows.

        Parameters
        ----------
        rows
            One list of texts a leaf, leaf first, all of one length. A level ``*`` is added on top
            where they do not have it. A leaf None is the missing value.
        column
            The column's name, for messages.

        Raises
        ------
        SchemaError
            Where rows differ in length, a leaf or a label has two parents, a label is above
            itself, or a label stands for two different sets of leaves.

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
            The character between two labels.
        encoding
            How the text is encoded; a byte order mark is passed over.
        column
            The column's name, for messages.

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
        """Write the rows to a file in ARX's format, whole or not at all.

        Raises
        ------
        SchemaError
            Where the hierarchy is a rule, which has no rows of its own.
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

        Give one of `cuts`, `width` and `quantiles`. Each further level merges neighbours until a
        single interval would be left; that one is ``*``.

        Parameters
        ----------
        cuts
            Ascending numbers or dates (ISO texts too). Values below the first and from the last on
            have intervals without an end. A list of such lists gives every level's cuts, finest
            first, and nothing is merged.
        width
            The width of the intervals. Those of every level begin at `origin`.
        origin
            Where an interval of that width begins.
        quantiles
            The number of intervals that hold about equally many rows, or distinct values where
            `over` is given no counts. Their cuts are round numbers or days between values of the
            table, or values where nothing lies between.
        merge
            How many neighbours become one at the next level.
        levels
            The highest number of interval levels.

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
                f"Intervals need one of cuts, width and quantiles; got {len(given)} of them.",
                hint="give cuts=[0, 18, 30], width=5 or quantiles=8.",
            )
        if origin != 0 and width is None:
            raise ParameterError(
                "origin must be given with width only; got it without.",
                hint="leave it out: cuts say themselves where intervals begin.",
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
            finest first. Values that are days already have no further level for them.

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
            How many characters each level keeps, longest first. ``…`` stands for the rest; a text
            that is no longer than that is kept as it is. A letter and its combining marks count
            as one character.

        Notes
        -----
        A level that changes no value of the column is left out. `over` refuses a column in which
        a value reads like the prefix of others.

        Examples
        --------
        >>> domain = Domain.of_texts("postcode", ["10115", "10999"])
        >>> Hierarchy.prefixes([5, 3, 1]).over(domain).rows()[0]
        ['10115', '101…', '1…', '*']
        """
        return cls(Prefixes(tuple(as_list("prefix lengths", lengths))))

    @classmethod
    def flat(cls) -> Hierarchy:
        """Keep a value or suppress it, and nothing in between.

        Examples
        --------
        >>> Hierarchy.flat().over(Domain.of_texts("sex", ["F", "M"])).rows()
        [['F', '*'], ['M', '*']]
        """
        return cls(Flat())

    @classmethod
    def from_config(cls, config: object, *, column: str | None = None) -> Hierarchy:
        """Make a hierarchy from an entry of the configuration.

        Parameters
        ----------
        config
            One of ``{intervals = [...]}``, ``{width = 5}``, ``{quantiles = 8}``,
            ``{prefix = [5, 3, 1]}``, ``{dates = ["month", "year"]}``, ``{flat = true}`` and
            ``{rows = [...]}``, the first three with ``merge`` and ``levels``. Paths of files are
            the pipeline's to resolve.
        column
            The column's name, for messages.

        Examples
        --------
        >>> Hierarchy.from_config({"quantiles": 8, "merge": 4})
        Hierarchy(quantiles)
        """
        subject = "The hierarchy" if column is None else f"The hierarchy of column {column!r}"
        if not isinstance(config, Mapping):
            raise SchemaError(
                f"{subject} must be a table such as {{ width = 5 }}; got something else.",
                hint="a file is read with Hierarchy.from_csv.",
            )
        kinds = [kind for kind in _OPTIONS_BY_KIND if kind in config]
        if len(kinds) != 1:
            raise SchemaError(
                f"{subject} must have one of the keys {', '.join(_OPTIONS_BY_KIND)}; "
                f"got {len(kinds)} of them among {len(config)} keys.",
                hint="write it like { intervals = [0, 18, 30, 45, 65] }.",
            )
        allowed = [kinds[0], *_OPTIONS_BY_KIND[kinds[0]]]
        n_unknown = len(config.keys() - set(allowed))
        if n_unknown:
            raise SchemaError(
                f"{subject} has {n_unknown} keys that are not known; allowed beside "
                f"{kinds[0]}: {', '.join(allowed[1:]) or 'none'}.",
                hint=f"keep only {', '.join(allowed)}.",
            )
        options = {str(key): value for key, value in config.items() if key != kinds[0]}
        return _BUILDERS[kinds[0]](config[kinds[0]], options, column)

    def to_config(self) -> dict[str, object]:
        """Give the hierarchy as `from_config` reads it.

        Examples
        --------
        >>> Hierarchy.intervals(width=5).to_config()
        {'width': 5}
        """
        return self.rule.to_config()

    def to_dict(self) -> dict[str, object]:
        """Give kind, height and number of leaves, None where not known yet, and configuration."""
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
        """The level of the root; None where it depends on the values."""
        return self.rule.height

    @property
    def n_leaves(self) -> int | None:
        """The number of leaves; None where the values decide it."""
        return self.rule.n_leaves

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows that were given, with ``*`` last; a rule has none and raises a SchemaError."""
        if isinstance(self.rule, Rows):
            return self.rule.rows
        raise SchemaError(
            f"Only a hierarchy that was given as rows has rows; this one is a rule ({self.kind}).",
            hint="apply it to the column: hierarchy.over(domain).rows().",
        )

    def over(self, domain: Domain, counts: npt.ArrayLike | None = None) -> Tree:
        """Apply the hierarchy to the values of a column.

        Parameters
        ----------
        domain
            The column's values; each becomes a leaf. A missing value of which the hierarchy says
            nothing has a branch of its own, straight under the root.
        counts
            For each code the number of rows that have it; only quantiles look at it.

        Raises
        ------
        SchemaError
            Where a value has no place. The message says how many; the internal log says which.

        Examples
        --------
        >>> domain = Domain.of_texts("sex", ["F", "M"], has_missing=True)
        >>> Hierarchy.flat().over(domain).rows()
        [['F', '*'], ['M', '*'], [None, '*']]
        """
        checked = None if counts is None else np.asarray(counts, dtype=np.int64)
        if checked is not None and (checked.shape != (domain.size,) or np.any(checked < 0)):
            raise ParameterError(
                f"counts must hold a number of rows for each of the {domain.size} codes of column "
                f"{domain.column!r}; got shape {checked.shape}, or less than 0.",
                hint="count the missing value last, where the column has it.",
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
