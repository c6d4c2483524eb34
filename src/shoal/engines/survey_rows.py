"""The coded columns of a survey as rows, where they are not too many to be held."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.core.cells import Codes
from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError
from shoal.core.rows import Rows
from shoal.engines.domains import build_domain
from shoal.engines.survey import Survey
from shoal.engines.texts import texts_of

__all__ = ["MOST_CODES", "survey_rows"]

MOST_CODES = 50_000_000
"""How many codes are held at once: the rows times the columns."""


def survey_rows(survey: Survey, types: Mapping[str, ColumnType]) -> Rows:
    """Give some columns that `Survey.code` has coded, row by row in no order.

    Parameters
    ----------
    survey
        The table.
    types
        The columns, and the type of each.
    """
    names = {column: f"c{survey.columns.index(column)}" for column in types}
    fetched = survey.engine.arrays(
        f"SELECT {', '.join(names.values())} FROM coded", dict.fromkeys(names.values(), np.int32)
    )
    codes = np.empty((survey.n_rows, len(types)), dtype=np.int32, order="F")
    domains = []
    for place, (column, kind) in enumerate(types.items()):
        domain, new_code = _domain(survey, column, kind)
        domains.append(domain)
        codes[:, place] = new_code[fetched.pop(names[column])]
    return Rows(tuple(domains), codes)


def _domain(survey: Survey, column: str, kind: ColumnType) -> tuple[Domain, Codes]:
    number = survey.columns.index(column)
    texts = texts_of(survey.engine.rows(f"SELECT v FROM dictionary_{number} ORDER BY code")["v"])
    try:
        return build_domain(column, kind, texts)
    except DataError:
        # Moments of the day and numbers that are none: the steward is told elsewhere.
        return build_domain(column, ColumnType.CATEGORICAL, texts)
