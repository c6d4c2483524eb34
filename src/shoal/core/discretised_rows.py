"""Rows as they are published, where nothing of that may follow from private cells.

Cuts that follow from all values would follow from private ones too, and so do a column's type and
the way in which its numbers are written. So a column is cut by rows that have no private cell. A
value of another row that lies beyond these is in a further interval, which is published only if
such a cell is shown: every cell that may be shown lies in its interval, and none that is not moves
a bound. A value that only private cells hold goes with its neighbour, for nobody sees it. Numbers
are written by what is visible of the column, and texts in the order of texts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.core.cells import Codes
from shoal.core.discretisation import Discretisation
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import SchemaError
from shoal.core.interval_grids import Values
from shoal.core.plan import Label, Recode
from shoal.core.private_cells import Marks
from shoal.core.rows import RowCodes, Rows

__all__ = ["check_discretised", "discretise_rows", "plain_labels"]


def check_discretised(cuts: Mapping[str, Discretisation], columns: Sequence[str]) -> None:
    """Refuse to cut a column that is not there.

    Raises
    ------
    SchemaError
        Where there is one.
    """
    stray = [column for column in cuts if column not in columns]
    if stray:
        raise SchemaError(
            f"discretise names {stray[0]!r}, which is no quasi-identifying or sensitive column.",
            hint=f"these are: {', '.join(columns)}.",
        )


def discretise_rows(
    rows: Rows, private: Marks, cuts: Mapping[str, Discretisation]
) -> tuple[Rows, tuple[Recode, ...]]:
    """Cut columns into intervals.

    Parameters
    ----------
    rows
        The rows of a table.
    private
        The cells whose values nothing may follow from.
    cuts
        How each column is cut.

    Returns
    -------
    rows
        The rows with labels in place of values. A column of which nothing is seen stays as it is.
    recode
        The label of every value, by column.

    Raises
    ------
    SchemaError
        Where a column has no numbers.
    """
    check_discretised(cuts, rows.columns)
    codes, domains, recode = rows.codes.copy(), list(rows.domains), []
    is_complete = ~private.any(axis=1)
    for place, column in enumerate(rows.columns):
        if column in cuts:
            found = _recode(
                rows.domains[place],
                codes[~private[:, place], place],
                codes[is_complete, place],
                cuts[column],
            )
            if found is not None:
                recode.append(found)
                codes[:, place] = found.index[codes[:, place]]
                domains[place] = _labelled(rows.domains[place], found)
    return Rows(tuple(domains), codes, rows.keys, rows.is_typed), tuple(recode)


def plain_labels(rows: Rows, private: Marks, place: int) -> Recode:
    """Give the values of a column as labels that tell nothing of its private cells.

    Engines write whole numbers with a decimal point where another value of the column has one, or
    is missing. Here they are written so only where a visible value demands it.
    """
    domain = rows.domains[place]
    shown = np.unique(rows.codes[~private[:, place], place])
    texts = domain.labels()
    if rows.is_typed and domain.type is ColumnType.REAL:
        visible = [texts[code] for code in shown.tolist()]
        is_whole = all(text is None or float(text).is_integer() for text in visible)
        texts = [None if text is None else _short(text, is_whole=is_whole) for text in texts]
    labels = tuple(Label(text, has_missing=text is None) for text in texts)
    return Recode(domain.column, "value", np.arange(domain.size), labels)


def _short(text: str, *, is_whole: bool) -> str:
    """Write a number without needless digits behind the point; one of them where some have any."""
    if "e" in text.lower():
        return text
    number, _, digits = text.partition(".")
    digits = digits.rstrip("0")
    return number if is_whole and not digits else f"{number}.{digits or '0'}"


def _recode(
    domain: Domain, shown: RowCodes, complete: RowCodes, cut: Discretisation
) -> Recode | None:
    """Return the labels of all values, by those that are not private.

    Parameters
    ----------
    domain
        The values of a column.
    shown
        Its codes in cells that are not private, which all lie in their intervals.
    complete
        Its codes in rows without a private cell, which decide where intervals begin.
    cut
        How the column is cut.
    """
    if domain.numbers is None:
        raise cut.refusal(domain)
    codes, values = _values(domain, shown)
    if not len(codes):
        return None
    n_complete, basis = _values(domain, complete)
    # Where every row has a private cell, what is not private of the column must do.
    found = cut.over(values.domain, values.counts, basis=basis if len(n_complete) else None)
    nearest = np.clip(np.searchsorted(codes, np.arange(len(domain.texts))), 0, len(codes) - 1)
    index = found.index[np.append(nearest, np.arange(len(codes), values.domain.size))]
    return Recode(domain.column, "value", index.astype(np.int64), found.labels)


def _values(domain: Domain, codes: RowCodes) -> tuple[Codes, Values]:
    """Return the codes that occur but for the missing one, and their values with counts."""
    counts = np.bincount(codes, minlength=domain.size)
    seen = np.flatnonzero(counts[: len(domain.texts)])
    assert domain.numbers is not None
    numbers = domain.numbers[seen]
    kind = domain.type
    if kind is ColumnType.REAL and np.all(numbers == np.floor(numbers)):
        kind = ColumnType.INTEGER
    held = Domain(domain.column, kind, domain.texts[seen], numbers, domain.has_missing)
    return seen, Values(held, np.append(counts[seen], counts[len(domain.texts) :]))


def _labelled(domain: Domain, recode: Recode) -> Domain:
    """Give the labels as values; that of the missing one is last, as its code is."""
    texts = [label.text for label in recode.labels if label.text is not None]
    return Domain.of_texts(domain.column, texts, has_missing=domain.has_missing)
