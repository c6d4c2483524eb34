"""Rows some columns of which are cut into intervals, without telling anything of private cells.

Cuts that follow from all values would follow from private ones too. So a column is cut by what is
not private of it, and a value that only private cells have goes with its neighbour: nobody sees it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.core.discretisation import Discretisation
from shoal.core.domain import Domain
from shoal.core.errors import SchemaError
from shoal.core.plan import Recode
from shoal.core.private_cells import Marks
from shoal.core.rows import RowCodes, Rows

__all__ = ["check_discretised", "discretise_rows"]


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
        The rows with labels in place of values. A column that is private or missing as a whole
        stays as it is.
    recode
        The label of every value, by column.

    Raises
    ------
    SchemaError
        Where a column has no numbers.
    """
    check_discretised(cuts, rows.columns)
    codes, domains, recode = rows.codes.copy(), list(rows.domains), []
    for place, column in enumerate(rows.columns):
        if column in cuts:
            found = _recode(rows.domains[place], codes[:, place], private[:, place], cuts[column])
            if found is not None:
                recode.append(found)
                codes[:, place] = found.index[codes[:, place]]
                domains[place] = _labelled(rows.domains[place], found)
    return Rows(tuple(domains), codes, rows.keys), tuple(recode)


def _recode(domain: Domain, codes: RowCodes, private: Marks, cut: Discretisation) -> Recode | None:
    if domain.numbers is None:
        raise cut.refusal(domain)
    counts = np.bincount(codes[~private], minlength=domain.size)
    shown = np.flatnonzero(counts[: len(domain.texts)])
    if not len(shown):
        return None
    seen = Domain(
        domain.column, domain.type, domain.texts[shown], domain.numbers[shown], domain.has_missing
    )
    found = cut.over(seen, np.append(counts[shown], counts[len(domain.texts) :]))
    nearest = np.clip(np.searchsorted(shown, np.arange(len(domain.texts))), 0, len(shown) - 1)
    index = found.index[np.append(nearest, np.arange(len(shown), seen.size))]
    return Recode(domain.column, "value", index.astype(np.int64), found.labels)


def _labelled(domain: Domain, recode: Recode) -> Domain:
    """Give the labels as values; that of the missing one is last, as its code is."""
    texts = [label.text for label in recode.labels if label.text is not None]
    return Domain.of_texts(domain.column, texts, has_missing=domain.has_missing)
