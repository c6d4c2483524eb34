"""The values of one column, sorted, with a code for each.

Methods, attacks and checks never see rows: they see codes. The domain of a column says what
each code stands for. Codes run from 0 in the order of the column's type; a missing value is a
value of its own and has the last code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

__all__ = ["SUPPRESSED", "ColumnType", "Domain", "NumberedDomain", "Texts"]

SUPPRESSED = "*"
"""What a suppressed value is written as; it matches nothing but itself."""

Texts = npt.NDArray[np.object_]
"""Canonical texts, as an array of ``str`` objects."""


class ColumnType(StrEnum):
    """How the values of a column are ordered and compared."""

    CATEGORICAL = "categorical"
    ORDERED = "ordered"
    INTEGER = "integer"
    REAL = "real"
    DATE = "date"
    BOOLEAN = "boolean"

    @property
    def is_numeric(self) -> bool:
        """Whether values have a distance: integers, reals and dates."""
        return self in (ColumnType.INTEGER, ColumnType.REAL, ColumnType.DATE)

    @property
    def has_order(self) -> bool:
        """Whether one value can be said to lie between two others."""
        return self.is_numeric or self is ColumnType.ORDERED


@dataclass(frozen=True, eq=False)
class Domain:
    """The distinct values of a column in the order of its type.

    Parameters
    ----------
    column
        The column's name.
    type
        How its values compare.
    texts
        The canonical text of every value that is not missing, in order: as read for CSV, ISO for
        dates, ``true``/``false`` for booleans.
    numbers
        For integers, reals and dates (days since 1970-01-01) the value as a float, ascending.
    has_missing
        Whether the column has missing values; their code is ``len(texts)``.

    Examples
    --------
    >>> domain = Domain.of_texts("sex", ["F", "M"])
    >>> domain
    Domain(column='sex', type=categorical, 2 values)
    """

    column: str
    type: ColumnType
    texts: Texts
    numbers: npt.NDArray[np.float64] | None = None
    has_missing: bool = False

    @classmethod
    def of_texts(
        cls,
        column: str,
        texts: list[str] | tuple[str, ...],
        *,
        type: ColumnType = ColumnType.CATEGORICAL,  # noqa: A002 - the field's name
        numbers: list[float] | None = None,
        has_missing: bool = False,
    ) -> Domain:
        """Make a domain from texts that are already in order."""
        array = np.empty(len(texts), dtype=object)
        array[:] = texts
        floats = None if numbers is None else np.asarray(numbers, dtype=np.float64)
        return cls(column, type, array, floats, has_missing)

    @property
    def size(self) -> int:
        """The number of codes, the missing one included."""
        return len(self.texts) + self.has_missing

    @property
    def missing_code(self) -> int | None:
        """The code of the missing value, where the column has one."""
        return len(self.texts) if self.has_missing else None

    def text(self, code: int) -> str | None:
        """Give the text of a code; None where the value is missing."""
        return None if code == self.missing_code else str(self.texts[code])

    def labels(self) -> list[str | None]:
        """Give the text of every code in turn; None for the missing one."""
        return [*self.texts.tolist(), None] if self.has_missing else self.texts.tolist()

    def codes_of(self, texts: list[str | None]) -> npt.NDArray[np.int64]:
        """Give the code of each text, and -1 where the domain does not have it."""
        code_by_text = {text: code for code, text in enumerate(self.labels())}
        return np.array([code_by_text.get(text, -1) for text in texts], dtype=np.int64)

    def __repr__(self) -> str:
        missing = " and missing" if self.has_missing else ""
        return (
            f"Domain(column={self.column!r}, type={self.type}, {len(self.texts)} values{missing})"
        )


class NumberedDomain(Domain):
    """Positive whole numbers, such as those of buckets; their texts are made when asked for.

    Parameters
    ----------
    column
        The column's name.
    whole
        The numbers, ascending.

    Examples
    --------
    >>> domain = NumberedDomain("bucket", np.array([3, 7]))
    >>> domain.size, domain.text(1), domain.texts.tolist()
    (2, '7', ['3', '7'])
    """

    def __init__(self, column: str, whole: npt.NDArray[np.int64]) -> None:
        for field, value in (("column", column), ("type", ColumnType.INTEGER), ("whole", whole)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "has_missing", False)

    whole: npt.NDArray[np.int64]

    @cached_property
    def texts(self) -> Texts:
        """The text of every number."""
        return self.whole.astype(str).astype(object)

    @cached_property
    def numbers(self) -> npt.NDArray[np.float64]:
        """The numbers as floats."""
        return self.whole.astype(np.float64)

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.whole)

    @property
    def missing_code(self) -> int | None:
        """There is no missing number."""
        return None

    def text(self, code: int) -> str | None:
        """Give the text of a code."""
        return str(self.whole[code])

    def __repr__(self) -> str:
        return f"Domain(column={self.column!r}, type={self.type}, {self.size} values)"
