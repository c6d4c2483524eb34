"""The profile of each column: its counts, and hints for a steward who sees it for the first time.

Hints come from the name and the values of a column. They state what was found and never show a
value, and they decide nothing: roles are the steward's. A first hierarchy is suggested for
postcodes, dates and numbers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from shoal.core.arrays import Floats, Integers
from shoal.core.display import Section
from shoal.core.domain import SUPPRESSED, ColumnType, group_variants, words_of_variants
from shoal.engines.sql.survey import Values
from shoal.workflow.column_words import (
    NUMBERING_WORDS,
    has_postcode_name,
    naming_word,
    words_of,
)
from shoal.workflow.recognition import Recognition, recognise

_NEARLY_ALL = 0.95
_FEW_ROWS = 20
_FEW_VALUES = 10
_SHARE_OF_NAMES = 0.1
_MANY_NAMES = 50
_LONG_NUMBER = 5
_N_INTERVALS = 6
_FEWEST_VALUES = 8
# A cut reveals next to nothing if at least this many rows lie on either side of it.
_FEWEST_BEYOND = 5


_DIGITS = re.compile(r"[0-9]+")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_COMMA_NUMBER = re.compile(r"[+-]?[0-9]+,[0-9]+")
_OTHER_DATE = re.compile(
    r"[0-9]{1,2}([./-])[0-9]{1,2}\1[0-9]{2,4}|[0-9]{4}([./])[0-9]{2}\2[0-9]{2}"
)
_NEVER_NAMES = (ColumnType.BOOLEAN, ColumnType.DATE, ColumnType.REAL)
_CODE = re.compile(r"(?=.*[0-9])[A-Za-z0-9]+")


@dataclass(frozen=True, kw_only=True)
class ColumnProfile:
    """The counts of one column, and what they suggest."""

    name: str
    # None if the column holds no plain value.
    type: ColumnType | None
    n_rows: int
    n_missing: int
    n_distinct: int
    # Rows with a value that no other row has; missing counts as a value here.
    n_unique: int
    # Rows with the most common and with the rarest value.
    largest: int
    smallest: int
    hints: tuple[str, ...] = ()
    # What the column may be for; None without a guess.
    recognised: Recognition | None = None
    # Why the column looks like an identifier; None if it does not.
    identity: str | None = None
    # Whether it tells all rows apart and no value is missing.
    is_key: bool = False
    # Whether it may tell whose row it is.
    may_name_person: bool = False
    # A first hierarchy, as the configuration states it; None without a suggestion.
    hierarchy: Mapping[str, object] | None = field(default=None, repr=False)

    @property
    def unique_share(self) -> float:
        """The share of rows with a value that no other row has."""
        return self.n_unique / self.n_rows

    @property
    def is_identifier_like(self) -> bool:
        """Whether the column looks like an identifier."""
        return self.identity is not None

    def to_dict(self) -> dict[str, object]:
        """Return the column as JSON holds it."""
        return {
            "column": self.name,
            "type": None if self.type is None else str(self.type),
            "rows": self.n_rows,
            "missing": self.n_missing,
            "different": self.n_distinct,
            "unique_rows": self.n_unique,
            "unique_share": self.unique_share,
            "largest": self.largest,
            "smallest": self.smallest,
            "identifier_like": self.identity,
            "recognised": None if self.recognised is None else str(self.recognised.kind),
            "hints": list(self.hints),
        }


def column_profile(values: Values, n_rows: int) -> ColumnProfile:
    """Return the profile of a column from its counted values."""
    sizes = values.sizes
    recognised = recognise(values)
    remarks = [*_remarks(values), *([] if recognised is None else [str(recognised)])]
    return ColumnProfile(
        name=values.column,
        type=values.type,
        n_rows=n_rows,
        n_missing=values.n_missing,
        n_distinct=values.n_distinct,
        n_unique=int((sizes == 1).sum()),
        largest=int(sizes.max()),
        smallest=int(sizes.min()),
        hints=tuple(remarks),
        recognised=recognised,
        identity=identity(values),
        is_key=values.n_distinct == n_rows,
        may_name_person=may_name_person(values),
        hierarchy=suggested_hierarchy(values),
    )


def with_recognition(column: ColumnProfile, found: Recognition | None) -> ColumnProfile:
    """Return the profile with what all rows together say the column may be for."""
    if found is None or column.recognised is not None:
        return column
    return replace(column, recognised=found, hints=(*column.hints, str(found)))


def percent(share: float) -> str:
    """Return a share as text, so that a few people among many do not show as none."""
    if 0 < share < 0.001:
        return "<0.1 %"
    return f"{100 * share:.1f} %"


def section_of_columns(columns: Sequence[ColumnProfile], n_rows: int) -> Section:
    """Return the counts of every column, and what is remarkable about it."""
    names = ("column", "type", "missing", "distinct", "unique", "commonest", "rarest", "notes")
    rows = tuple(
        (
            column.name,
            "none" if column.type is None else str(column.type),
            column.n_missing,
            column.n_distinct,
            percent(column.unique_share),
            column.largest,
            column.smallest,
            "; ".join(column.hints),
        )
        for column in columns
    )
    return Section(f"{n_rows} rows, {len(columns)} columns", names, rows, holds_values=False)


def _remarks(values: Values) -> Iterator[str]:
    word = naming_word(values.column)
    if word is not None and identity(values) is None:
        yield f"its name contains {word!r}"
    if values.n_distinct == 0:
        yield "empty: every value is missing"
        return
    if len(values.sizes) == 1:
        yield "constant"
    if values.type is None:
        yield "holds no plain value: only the role identifying fits"
        return
    if values.n_timed:
        yield f"{values.n_timed} times of day: cut them to the date"
    elif values.type is ColumnType.DATE:
        yield "dates"
    yield from _text_remarks(values)
    is_real = values.type is ColumnType.REAL
    if is_real and not np.isfinite(values.texts.astype(np.float64)).all():
        yield "holds NaN or infinite numbers: leave them empty where they mean missing"
    if values.type is ColumnType.INTEGER and 2 < values.n_distinct <= _FEW_VALUES:
        yield "few whole numbers: where they are codes, declare the type categorical"


def _text_remarks(values: Values) -> Iterator[str]:
    if values.type is not ColumnType.CATEGORICAL:
        return
    texts = values.texts.tolist()
    if SUPPRESSED in texts:
        yield f"holds the literal {SUPPRESSED}, which means suppressed in a release"
    if any("\x00" in text for text in texts):
        yield "holds NUL characters"
    if any(text != text.strip() for text in texts):
        yield "some texts begin or end with a space"
    if len({text.strip().casefold() for text in texts}) < len({text.strip() for text in texts}):
        yield "some texts differ in upper and lower case only"
    if variants := group_variants(texts):
        yield (f"{words_of_variants(variants)}: as a sensitive column it needs [columns.variants]")
    yield from _number_remarks(texts)
    if all(map(_OTHER_DATE.fullmatch, texts)):
        yield "dates that are not written year-month-day: kept as text"


def _number_remarks(texts: list[str]) -> Iterator[str]:
    """Explain why a column that looks like numbers is kept as text."""
    if all(map(_DIGITS.fullmatch, texts)):
        is_padded = any(len(text) > 1 and text.startswith("0") for text in texts)
        yield "leading zeros: kept as text" if is_padded else "long numbers: kept as text"
        return
    n_numbers = sum(_NUMBER.fullmatch(text) is not None for text in texts)
    if n_numbers == len(texts):
        yield "one number is written in several ways: kept as text"
    elif n_numbers >= _FEW_VALUES and len(texts) - n_numbers <= n_numbers // _FEW_VALUES:
        yield (
            f"numbers but for {len(texts) - n_numbers} different texts: "
            "do those mean missing, NaN or infinite?"
        )
    elif all(_COMMA_NUMBER.fullmatch(text) or _DIGITS.fullmatch(text) for text in texts):
        yield "numbers with a decimal comma: kept as text"


def identity(values: Values) -> str | None:
    """Return why a column looks like an identifier of people; None if it does not."""
    if values.n_present == 0 or values.type in _NEVER_NAMES:
        return None
    share = values.n_distinct / values.n_present
    word = naming_word(values.column)
    is_named = word is not None and (share >= _SHARE_OF_NAMES or values.n_distinct >= _MANY_NAMES)
    if not is_named and share >= _NEARLY_ALL and values.n_distinct > 1:
        words = words_of(values.column)
        word = next((word for word in words if word in NUMBERING_WORDS), None)
        is_named = word is not None
    if is_named:
        return f"its name contains {word!r}, and it has {values.n_distinct} different values"
    if share >= _NEARLY_ALL and _looks_assigned(values):
        return f"{share:.0%} of its values differ, and they do not look like measurements"
    return None


def _looks_assigned(values: Values) -> bool:
    """Return whether values that are nearly all different look assigned, not measured."""
    if values.n_present < _FEW_ROWS or has_postcode_name(values.column):
        return False
    return values.type is not ColumnType.INTEGER or _is_numbering(values)


def may_name_person(values: Values) -> bool:
    """Return whether a column may tell whose row it is: an identifier that repeats."""
    is_named = any(word in NUMBERING_WORDS for word in words_of(values.column))
    share = values.n_distinct / max(values.n_present, 1)
    return is_named and values.n_missing == 0 and _SHARE_OF_NAMES <= share < 1


def is_postcode_like(values: Values) -> bool:
    """Return whether all values are codes of one length, whose prefixes make sense."""
    if values.n_distinct < _FEW_VALUES:
        return False
    if values.type is ColumnType.INTEGER and not has_postcode_name(values.column):
        return False
    texts = values.texts.tolist()
    length = len(texts[0])
    if not 3 <= length <= 12 or set(map(len, texts)) != {length}:
        return False
    return all(map(_CODE.fullmatch, texts))


def _is_numbering(values: Values) -> bool:
    """Return whether whole numbers count up without large gaps, or are long and of one length."""
    numbers = [int(text) for text in values.texts]
    if max(numbers) - min(numbers) < 2 * len(numbers):
        return True
    lengths = np.unique([len(str(abs(number))) for number in numbers])
    return len(lengths) == 1 and int(lengths[0]) >= _LONG_NUMBER


# --- hierarchies to begin with ---------------------------------------------------------------


def suggested_hierarchy(values: Values) -> Mapping[str, object] | None:
    """Return a first hierarchy, as the configuration states it; None if nothing suggests itself."""
    if values.n_timed or values.type is None or values.n_distinct < _FEWEST_VALUES:
        return None
    if is_postcode_like(values):
        return {"prefix": list(range(len(values.texts[0]), 0, -2))}
    if values.type is ColumnType.DATE:
        return {"dates": ["month", "year", "decade"]}
    if values.type in (ColumnType.INTEGER, ColumnType.REAL):
        return _intervals(values)
    return None


def _intervals(values: Values) -> Mapping[str, object] | None:
    """Suggest cuts near the quantiles, rounded so that a cut equals a value only by chance."""
    numbers = values.texts.astype(np.float64)
    if not np.isfinite(numbers).all():
        return None
    order = np.argsort(numbers)
    numbers, counts = numbers[order], values.counts[order]
    is_whole = values.type is ColumnType.INTEGER
    # If most rows share few values, quantiles of the different values say more.
    for weights in (counts, np.ones_like(counts)):
        if weights.sum() < _N_INTERVALS * _FEWEST_BEYOND:
            continue
        cuts = _rounded_quantiles(numbers, weights, is_whole=is_whole)
        if len(cuts) >= _N_INTERVALS // 2:
            return {"intervals": cuts}
    width = _round_step((numbers[-1] - numbers[0]) / _N_INTERVALS, is_whole=is_whole)
    return {"width": width} if width > 0 else None


def _rounded_quantiles(numbers: Floats, weights: Integers, *, is_whole: bool) -> list[float]:
    cumulated = np.cumsum(weights)
    targets = cumulated[-1] * np.arange(1, _N_INTERVALS) / _N_INTERVALS
    quantiles = numbers[np.searchsorted(cumulated, targets)]
    step = _round_step((quantiles[-1] - quantiles[0]) / (2 * _N_INTERVALS), is_whole=is_whole)
    if step <= 0:
        return []
    places = dict.fromkeys(round(quantile / step) for quantile in quantiles.tolist())
    return [_plain(place, step) for place in places]


def _round_step(width: float, *, is_whole: bool) -> float:
    """Return 1, 2 or 5 times a power of ten, at least as large as a width."""
    if not 0 < width < math.inf:
        return 0
    power = 10.0 ** math.floor(math.log10(width))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width * 0.999)
    return max(round(step), 1) if is_whole else float(f"{step:.12g}")


def _plain(place: int, step: float) -> float:
    return place * step if isinstance(step, int) else float(f"{place * step:.12g}")
