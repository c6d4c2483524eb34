"""A column: its role, its values with a code for each, and the spellings of one value.

Methods, attacks and checks never see rows: they see codes. The domain of a column maps each code to
its value. Codes run from 0 in the order of the column's type; a missing value is a value of its own
and has the last code.

`HIV`, `HIV ` and `hiv` are one disease, but three texts. If they count as three sensitive values,
a bucket in which everybody has it seems diverse. Two texts are variants of one another if they are
equal after these steps: drop invisible characters, normalize the Unicode form (NFKC), fold upper
and lower case, collapse and strip white space.
"""

from __future__ import annotations

import datetime as dt
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from shoal.core.arrays import Counts, Floats, Integers, Texts
from shoal.core.documents import toml_key
from shoal.core.errors import DataError, SchemaError


class Role(StrEnum):
    """What a column could reveal about a person."""

    IDENTIFYING = "identifying"
    QUASI = "quasi-identifying"
    SENSITIVE = "sensitive"
    INSENSITIVE = "insensitive"


_ROLE_WORDS: Mapping[str, Role] = {
    "identifying": Role.IDENTIFYING,
    "identifyingattribute": Role.IDENTIFYING,
    "identifier": Role.IDENTIFYING,
    "direct": Role.IDENTIFYING,
    "excludevars": Role.IDENTIFYING,
    "hhid": Role.IDENTIFYING,
    "quasi": Role.QUASI,
    "quasiidentifying": Role.QUASI,
    "quasiidentifyingattribute": Role.QUASI,
    "quasiidentifier": Role.QUASI,
    "qi": Role.QUASI,
    "keyvars": Role.QUASI,
    "keyvar": Role.QUASI,
    "numvars": Role.QUASI,
    "numvar": Role.QUASI,
    "sensitive": Role.SENSITIVE,
    "sensitiveattribute": Role.SENSITIVE,
    "sensiblevar": Role.SENSITIVE,
    "sensiblevars": Role.SENSITIVE,
    "insensitive": Role.INSENSITIVE,
    "insensitiveattribute": Role.INSENSITIVE,
    "nonsensitive": Role.INSENSITIVE,
}


def role_of(word: str) -> Role:
    """Return the role that a word names in the terms of Shoal, ARX or sdcMicro.

    Examples
    --------
    >>> role_of("QUASI_IDENTIFYING_ATTRIBUTE")
    <Role.QUASI: 'quasi-identifying'>
    >>> role_of("sensibleVar")
    <Role.SENSITIVE: 'sensitive'>
    """
    role = _ROLE_WORDS.get(re.sub(r"[^a-z]", "", str(word).lower()))
    if role is None:
        raise SchemaError(
            f"{word!r} is not a role.",
            hint=f"the roles are {', '.join(Role)}; those of ARX and sdcMicro are accepted too.",
        )
    return role


_EPOCH = dt.date(1970, 1, 1).toordinal()
_ISO_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


def iso_date(text: str) -> dt.date | None:
    """Read a date such as 2024-05-17; return None if the text is not one.

    Examples
    --------
    >>> iso_date("2024-05-17")
    datetime.date(2024, 5, 17)
    """
    if not _ISO_DATE.fullmatch(text):
        return None
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def date_of_day(day: float) -> dt.date:
    """Return the date of a number of days since 1970-01-01."""
    return dt.date.fromordinal(int(day) + _EPOCH)


def day_of_date(date: dt.date) -> int:
    """Return the number of days since 1970-01-01."""
    return date.toordinal() - _EPOCH


CHOICES = ("distinct", "merge")
"""What a steward can declare about variants in a column: different values, or one value."""

_INVISIBLE = ("Cf", "Cc")
# Zero-width characters that Unicode counts as letters or marks: joiners, fillers and selectors.
_IGNORABLE = frozenset(
    map(chr, (0x034F, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x3164, 0xFFA0, *range(0x180B, 0x1810)))
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))


def spelling_key(text: str) -> str:
    r"""Return the text that all spellings of a value have in common.

    Examples
    --------
    >>> spelling_key(" HIV\u200b  positive") == spelling_key("hiv positive")
    True
    >>> spelling_key("e\u0301") == spelling_key("\u00c9")
    True
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKC", _without_invisible(text))
        # Case folding may leave a text that is not composed, and composing may change the case.
        text = unicodedata.normalize("NFKC", text.casefold())
    elif not text.isprintable():
        text = _without_invisible(text)
    return " ".join(text.casefold().split())


def _without_invisible(text: str) -> str:
    return "".join(
        letter
        for letter in text
        if letter.isspace()
        or (unicodedata.category(letter) not in _INVISIBLE and letter not in _IGNORABLE)
    )


def group_variants(texts: Sequence[str]) -> list[list[int]]:
    """Return the groups of two or more texts that are variants, as places in `texts`.

    Examples
    --------
    >>> group_variants(["HIV", "flu", "hiv", "HIV "])
    [[0, 2, 3]]
    """
    groups: dict[str, list[int]] = {}
    for place, text in enumerate(texts):
        groups.setdefault(spelling_key(text), []).append(place)
    return [places for places in groups.values() if len(places) > 1]


def most_frequent_spellings(
    texts: Sequence[str], counts: Counts, groups: Sequence[Sequence[int]]
) -> list[str]:
    """Return for every text the spelling that its group is merged into.

    That is the most frequent spelling of the group; of equally frequent ones the first by code
    points. A text without variants is returned as it is.

    Examples
    --------
    >>> import numpy as np
    >>> most_frequent_spellings(["hiv", "flu", "HIV"], np.array([2, 9, 2]), [[0, 2]])
    ['HIV', 'flu', 'HIV']
    """
    merged = list(texts)
    for places in groups:
        best = min(places, key=lambda place: (-int(counts[place]), texts[place]))
        for place in places:
            merged[place] = texts[best]
    return merged


def words_of_variants(groups: Sequence[Sequence[int]]) -> str:
    """Describe how many values are spelled in several ways, without showing any of them.

    Examples
    --------
    >>> words_of_variants([[0, 2, 3]])
    '3 different texts are spellings of 1 value'
    """
    n_texts, n_values = sum(map(len, groups)), len(groups)
    return f"{n_texts} different texts are spellings of {n_values} value{'s' * (n_values > 1)}"


def variants_error(column: str, groups: Sequence[Sequence[int]]) -> DataError:
    """Return the error for a sensitive column whose variants are not declared."""
    return DataError(
        f"In the sensitive column {column!r} {words_of_variants(groups)}: they differ only in "
        "case, white space, invisible characters or Unicode form, and would count as different "
        "values.",
        hint=f'say what they are: [columns.variants] {toml_key(column)} = "merge" makes one value '
        'of them, the most frequent spelling; "distinct" keeps them apart.',
    )


SUPPRESSED = "*"
"""The text of a suppressed value; it matches only itself."""


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

    Examples
    --------
    >>> domain = Domain.of_texts("sex", ["F", "M"])
    >>> domain
    Domain(column='sex', type=categorical, 2 values)
    """

    column: str
    type: ColumnType
    # The canonical text of every value that is not missing, in order: as read for CSV, ISO for
    # dates, true/false for booleans.
    texts: Texts
    # For integers, reals and dates (days since 1970-01-01) the values as floats, ascending.
    numbers: Floats | None = None
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
        """Create a domain from texts that are already in order."""
        array = np.empty(len(texts), dtype=object)
        array[:] = texts
        floats = None if numbers is None else np.asarray(numbers, dtype=np.float64)
        return cls(column, type, array, floats, has_missing)

    @property
    def size(self) -> int:
        """The number of codes, including that of the missing value."""
        return len(self.texts) + self.has_missing

    @property
    def missing_code(self) -> int | None:
        """The code of the missing value; None if the column has none."""
        return len(self.texts) if self.has_missing else None

    def text(self, code: int) -> str | None:
        """Return the text of a code; None for the missing value."""
        return None if code == self.missing_code else str(self.texts[code])

    def labels(self) -> list[str | None]:
        """Return the text of every code in order; None for the missing value."""
        return [*self.texts.tolist(), None] if self.has_missing else self.texts.tolist()

    def codes_of(self, texts: list[str | None]) -> Integers:
        """Return the code of each text; -1 for a text that is not in the domain."""
        code_by_text = {text: code for code, text in enumerate(self.labels())}
        return np.array([code_by_text.get(text, -1) for text in texts], dtype=np.int64)

    def __repr__(self) -> str:
        missing = " and missing" if self.has_missing else ""
        return (
            f"Domain(column={self.column!r}, type={self.type}, {len(self.texts)} values{missing})"
        )


class NumberedDomain(Domain):
    """Positive whole numbers, ascending, such as bucket numbers; their texts are made on demand.

    Examples
    --------
    >>> domain = NumberedDomain("bucket", np.array([3, 7]))
    >>> domain.size, domain.text(1), domain.texts.tolist()
    (2, '7', ['3', '7'])
    """

    def __init__(self, column: str, whole: Integers) -> None:
        # The dataclass is frozen, and its texts and numbers are properties here.
        vars(self).update(column=column, type=ColumnType.INTEGER, whole=whole)

    whole: Integers

    @cached_property
    def texts(self) -> Texts:
        """The text of every number."""
        return self.whole.astype(str).astype(object)

    @cached_property
    def numbers(self) -> Floats:
        """The numbers as floats."""
        return self.whole.astype(np.float64)

    @property
    def size(self) -> int:
        """The number of codes."""
        return len(self.whole)

    @property
    def missing_code(self) -> int | None:
        """None: no number is missing."""
        return None

    def text(self, code: int) -> str | None:
        """Return the text of a code."""
        return str(self.whole[code])

    def __repr__(self) -> str:
        return f"Domain(column={self.column!r}, type={self.type}, {self.size} values)"
