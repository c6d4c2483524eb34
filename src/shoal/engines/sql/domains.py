"""The domain of a column: its type, and its distinct values in the order of that type."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal

import numpy as np

from shoal.core.arrays import Floats, Integers, Texts
from shoal.core.domain import SUPPRESSED, ColumnType, Domain
from shoal.core.errors import DataError, SchemaError

# A text is read as a number only if it is the only way to write that number: a postcode with a
# leading zero is not a number.
_INTEGER = r"0|-?[1-9][0-9]{0,17}"
_ANY_NUMBER = r"[+-]?[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
_REAL = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
# numpy has a year 0; no engine does.
_DATE = r"(?!0000)[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ENGINE_TYPES: tuple[tuple[str, ColumnType], ...] = (
    (r"U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?", ColumnType.INTEGER),
    (r"DOUBLE|FLOAT|REAL|DECIMAL\(.*\)", ColumnType.REAL),
    (r"DATE|TIMESTAMP(_S|_MS|_NS| WITH TIME ZONE)?", ColumnType.DATE),
    (r"BOOLEAN", ColumnType.BOOLEAN),
    (r'VARCHAR|ENUM\(.*\)|UUID|"NULL"', ColumnType.CATEGORICAL),
)


SQL_TYPES: Mapping[ColumnType, str] = {
    ColumnType.INTEGER: "BIGINT",
    ColumnType.REAL: "DOUBLE",
    ColumnType.DATE: "DATE",
    ColumnType.BOOLEAN: "BOOLEAN",
}
"""The type that an engine casts the texts of a column to; other types stay texts."""


def texts_of(fetched: object) -> list[str | None]:
    """Return fetched values as texts, None where missing."""
    if isinstance(fetched, np.ma.MaskedArray):
        return [
            None if masked else str(v)
            for v, masked in zip(
                fetched.data.tolist(), np.ma.getmaskarray(fetched).tolist(), strict=True
            )
        ]
    return [None if v is None else str(v) for v in np.asarray(fetched).tolist()]


def text_array(texts: Iterable[str | None]) -> Texts:
    """Return texts as an array of objects, None where missing."""
    listed = list(texts)
    array: Texts = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def plain_type(engine_type: str) -> ColumnType | None:
    """Return the type of a column by the type that the source gives it.

    None if it does not hold plain values, but lists for example.
    """
    for pattern, column_type in _ENGINE_TYPES:
        if re.fullmatch(pattern, engine_type, flags=re.DOTALL):
            return column_type
    return None


def type_of_engine(column: str, engine_type: str) -> ColumnType:
    """Return the type of a column by the type that the source gives it, or refuse it."""
    found = plain_type(engine_type)
    if found is not None:
        return found
    stem = engine_type.split("(", maxsplit=1)[0]
    raise DataError(
        f"Column {column!r} has the type {stem}, which does not hold plain values.",
        hint="make it text, a number, a date or a boolean, or give it the role identifying.",
    )


def infer_type(texts: Texts) -> ColumnType:
    """Return the type of a column by its texts; in doubt, categorical."""
    if len(texts) == 0:
        return ColumnType.CATEGORICAL
    if _all_match(_INTEGER, texts):
        return ColumnType.INTEGER
    if _all_match(_REAL, texts):
        numbers = texts.astype(np.float64)
        if np.isfinite(numbers).all() and len(np.unique(numbers)) == len(numbers):
            return ColumnType.REAL
    if _days(texts) is not None:
        return ColumnType.DATE
    if set(texts) <= {"true", "false"}:
        return ColumnType.BOOLEAN
    return ColumnType.CATEGORICAL


def _all_match(pattern: str, texts: Texts) -> bool:
    """Return whether a pattern matches every text; True if there is none.

    All texts are matched at once, as lines, which is several times faster than one by one.
    """
    if len(texts) and re.fullmatch(pattern, texts[0]) is None:
        return False
    lines = "\n".join([*texts, ""])
    # A text with a line break would look like two.
    return lines.count("\n") == len(texts) and bool(re.fullmatch(f"(?:(?:{pattern})\n)*+", lines))


def build_domain(
    column: str,
    column_type: ColumnType,
    values: Sequence[str | None],
    *,
    order: Sequence[str] | None = None,
) -> tuple[Domain, Integers]:
    """Return the domain of distinct values, sorted as their type demands, and the code of each.

    `order` lists the values of an ordered column from lowest to highest.
    """
    given = text_array(values)
    is_missing = np.array([value is None for value in values], dtype=bool)
    texts = given[~is_missing]
    numbers: Floats | None = None
    if column_type is ColumnType.ORDERED and order is not None:
        place = {text: float(rank) for rank, text in enumerate(order)}
        ranks = _known(column, [place.get(text) for text in texts])
        ranking = np.argsort(ranks, kind="stable")
    elif column_type.is_numeric:
        numbers = _numbers(column, column_type, texts)
        ranking = _ranking(column, column_type, texts, numbers)
        numbers = numbers[ranking]
    else:
        if column_type is ColumnType.BOOLEAN and not set(texts) <= {"true", "false"}:
            raise DataError(
                f"Column {column!r} is declared boolean, but has values other than true and false.",
                hint="declare it categorical.",
            )
        ranking = np.array(sorted(range(len(texts)), key=texts.__getitem__), dtype=np.int64)
    codes = np.full(len(values), len(texts), dtype=np.int64)
    rank_of = np.empty(len(texts), dtype=np.int64)
    rank_of[ranking] = np.arange(len(texts))
    codes[~is_missing] = rank_of
    domain = Domain(column, column_type, texts[ranking], numbers, bool(is_missing.any()))
    return domain, codes


def retype(domain: Domain, column_type: ColumnType) -> tuple[Domain, Integers]:
    """Return a domain read as another type, leniently, and the new code of each old one.

    A value that is not of the type stays as it is; as a number it is NaN, and comes last. Several
    spellings of a truth value become one value. A numeric type is refused if no value is a number.

    Examples
    --------
    >>> domain, codes = retype(Domain.of_texts("age", ["20.0", "?", "9"]), ColumnType.INTEGER)
    >>> domain.texts.tolist(), domain.numbers.tolist(), codes.tolist()
    (['9', '20.0', '?'], [9.0, 20.0, nan], [1, 2, 0])
    """
    texts = domain.texts
    if column_type is ColumnType.BOOLEAN:
        texts = text_array(_truth(text) for text in texts.tolist())
    distinct = list(dict.fromkeys(texts.tolist()))
    sortable = text_array(distinct)
    numbers = None
    ranking = np.argsort(sortable, kind="stable")
    if column_type.is_numeric:
        read = _day if column_type is ColumnType.DATE else _number
        numbers = np.array([read(text) for text in distinct], dtype=np.float64)
        if len(numbers) and np.isnan(numbers).all():
            raise DataError(
                f"Column {domain.column!r} is {column_type} in the release, but none of the values "
                "given for it is.",
                hint="write numbers with a decimal point, and dates as year-month-day.",
            )
        ranking = np.argsort(numbers, kind="stable")
        numbers = numbers[ranking]
    code_of = {distinct[place]: rank for rank, place in enumerate(ranking.tolist())}
    codes = [code_of[text] for text in texts.tolist()]
    retyped = Domain(domain.column, column_type, sortable[ranking], numbers, domain.has_missing)
    return retyped, np.array(codes + [len(distinct)] * domain.has_missing, dtype=np.int64)


def _truth(text: str) -> str:
    return {"true": "true", "false": "false", "1": "true", "0": "false"}.get(text.lower(), text)


def reserved_error(column: str) -> DataError:
    """Return the error for a column that contains the text that marks suppressed values."""
    return DataError(
        f"Column {column!r} contains the literal value {SUPPRESSED!r}, which means suppressed in a "
        "release.",
        hint="replace it, or leave it empty if it means missing.",
    )


def refuse_reserved(column: str, texts: Texts) -> None:
    """Refuse a column with texts that no release can hold."""
    if SUPPRESSED in texts:
        raise reserved_error(column)
    n_broken = sum("\x00" in text for text in texts)
    if n_broken:
        raise DataError(
            f"Column {column!r} has {n_broken} different values with a NUL character.",
            hint="remove the NUL characters: most readers cut a text off there.",
        )


def refuse_too_large(column: str, texts: Texts) -> None:
    """Refuse a column of numbers if some, such as 10**400, exceed the range of a float."""
    if not _all_match(_ANY_NUMBER, texts):
        return
    n_large = int(np.isinf([_number(text) for text in texts]).sum())
    if n_large:
        raise DataError(
            f"Column {column!r} contains numbers that are too large: {n_large} of its different "
            "values exceed 1.8e308.",
            hint="correct them, leave them empty, or declare the column categorical.",
        )


def _known(column: str, ranks: list[float | None]) -> Floats:
    n_unknown = sum(rank is None for rank in ranks)
    if n_unknown:
        raise SchemaError(
            f"Column {column!r} has {n_unknown} different values that its declared order lacks.",
            hint="list every value of the column, from lowest to highest.",
        )
    return np.array(ranks, dtype=np.float64)


def _numbers(column: str, column_type: ColumnType, texts: Texts) -> Floats:
    if column_type is ColumnType.DATE:
        days = _days(texts)
        if days is None:
            raise DataError(
                f"Column {column!r} is declared a date, but has values that are not dates.",
                hint="write dates as year-month-day, such as 1899-12-31.",
            )
        return days
    numbers = _read_numbers(texts)
    n_broken = int(np.isnan(numbers).sum())
    if n_broken:
        raise DataError(
            f"Column {column!r} is {column_type}, but {n_broken} of its different values are not "
            "numbers.",
            hint="leave them empty if they mean missing (NaN is not a number), or declare the "
            "column categorical.",
        )
    if np.isinf(numbers).any():
        refuse_too_large(column, texts)
        raise DataError(
            f"Column {column!r} contains infinite numbers.",
            hint="cap them, or leave them empty if they mean missing.",
        )
    if column_type is ColumnType.INTEGER and _exceed_64_bits(texts, numbers):
        raise DataError(
            f"Column {column!r} contains whole numbers of more than 64 bits.",
            hint="declare it categorical: numbers of that length are names.",
        )
    if column_type is ColumnType.INTEGER and np.any(numbers != np.floor(numbers)):
        raise DataError(
            f"Column {column!r} is declared integer, but has numbers that are not whole.",
            hint="declare it real.",
        )
    return numbers


def _exceed_64_bits(texts: Texts, numbers: Floats) -> bool:
    # 2**63 - 1, which fits, and 2**63, which does not, round to the same float.
    large = texts[np.abs(numbers) >= 2.0**63]
    return any(not -(2**63) <= Decimal(text) < 2**63 for text in large)


def _ranking(column: str, column_type: ColumnType, texts: Texts, numbers: Floats) -> Integers:
    if len(np.unique(numbers)) == len(numbers):
        return np.argsort(numbers)
    # Several numbers round to the same float: from 2**53 on, not every integer has its own.
    exact = [Decimal(text) for text in texts]
    if len(set(exact)) < len(exact):
        raise DataError(
            f"Column {column!r} is {column_type}, but has one number written in several ways, such "
            "as 1.5 and 1.50.",
            hint="write each number in one way, or declare the column categorical.",
        )
    if column_type is ColumnType.REAL:
        raise DataError(
            f"Column {column!r} is real, but has numbers that differ only beyond the 17 digits "
            "that a real number keeps.",
            hint="round them, or declare the column categorical: numbers of that length are names.",
        )
    return np.array(sorted(range(len(exact)), key=exact.__getitem__), dtype=np.int64)


def _read_numbers(texts: Texts) -> Floats:
    """Read numbers one by one only if there are some that Python reads otherwise than engines."""
    together = "".join(texts)
    if together.isascii() and "_" not in together:
        with contextlib.suppress(ValueError):
            return texts.astype(np.float64)
    return np.array([_number(text) for text in texts], dtype=np.float64)


def _number(text: str) -> float:
    """Read a number as engines do: only Python accepts ``1_000`` and digits of other scripts."""
    try:
        return float(text) if text.isascii() and "_" not in text else float("nan")
    except ValueError:
        return float("nan")


def _day(text: str) -> float:
    days = _days(text_array([text]))
    return float("nan") if days is None else float(days[0])


def _days(texts: Texts) -> Floats | None:
    if not _all_match(_DATE, texts):
        return None
    try:
        return texts.astype("datetime64[D]").astype(np.int64).astype(np.float64)
    except ValueError:
        return None
