"""What a column may be for: row names, survey weights, codes, households, people with several rows.

Recognition rests on the name of a column and on its counts, and is told with its reason. It decides
nothing: a draft asks, and the steward answers. No value is stated.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from shoal.core.arrays import Floats
from shoal.core.domain import ColumnType
from shoal.engines.sql.survey import Values
from shoal.locating.row_groups import CodedColumns
from shoal.workflow.column_words import has_postcode_name, words_of

_ROW_WORDS = frozenset(["index", "idx", "rownames", "rowname", "rownum", "row", "unnamed"])
_WEIGHT_WORDS = frozenset(
    [
        "hhwt",
        "perwt",
        "fnlwgt",
        "pweight",
        "hochrechnung",
        "hochrechnungsfaktor",
        "gewichtung",
        "ponderation",
    ]
)
_MAYBE_WEIGHTS = frozenset(["weight", "weights", "wt", "gewicht", "poids", "peso"])
_KINDS_OF_WEIGHTS = frozenset(
    [
        "survey",
        "sample",
        "sampling",
        "final",
        "design",
        "person",
        "household",
        "base",
        "expansion",
        "calibration",
    ]
)
_CODE_WORDS = frozenset(
    [
        "code",
        "codes",
        "icd",
        "isco",
        "nace",
        "isic",
        "sic",
        "naics",
        "fips",
        "nuts",
        "ags",
        "kennziffer",
        "schluessel",
    ]
)
_MEASURES = frozenset(
    [
        "age",
        "alter",
        "year",
        "jahr",
        "income",
        "salary",
        "wage",
        "hours",
        "price",
        "amount",
        "count",
        "children",
        "size",
    ]
)
_HOUSEHOLD_WORDS = frozenset(
    ["household", "hh", "hhid", "haushalt", "menage", "hogar", "family", "familie"]
)

_ENOUGH_ROWS = 20
_NEAR_ONE = 0.001
_ABOUT_ONE = 0.1
_MOST_CODES = 60
_ROWS_A_CODE = 5
_FEWEST_UNITS = 10
_MOST_ROWS_OF_UNIT = 20
_MEAN_ROWS_OF_UNIT = 6
_FEWEST_CONSTANT = 2
_MOST_UNITS_EXAMINED = 20


class Kind(StrEnum):
    """What a column may be for."""

    ROW_NAMES = "row names"
    WEIGHT = "survey weight"
    CODE = "code stored as a number"
    HOUSEHOLD = "household number"
    UNIT = "repeated unit"


@dataclass(frozen=True)
class Recognition:
    """What a column may be for, and why."""

    kind: Kind
    reason: str

    def __str__(self) -> str:
        return f"{self.kind}? {self.reason}"


def recognise(values: Values) -> Recognition | None:
    """Return what a column may be for, by its name and its values; None without a guess."""
    if values.type not in (ColumnType.INTEGER, ColumnType.REAL) or values.n_distinct == 0:
        return None
    numbers = values.texts.astype(np.float64)
    if not np.isfinite(numbers).all():
        return None
    if _are_row_names(values, numbers):
        return Recognition(Kind.ROW_NAMES, "its numbers count the rows without a gap")
    found = _weight(values, numbers)
    return found if found is not None else _code(values, numbers)


def _are_row_names(values: Values, numbers: Floats) -> bool:
    if values.type is not ColumnType.INTEGER or values.n_distinct != values.n_rows:
        return False
    is_counting = numbers.min() in (0, 1) and numbers.max() - numbers.min() == values.n_rows - 1
    is_named = not _ROW_WORDS.isdisjoint(words_of(values.column))
    return bool(is_counting) and (values.n_rows >= _ENOUGH_ROWS or is_named)


def _weight(values: Values, numbers: Floats) -> Recognition | None:
    """Recognise a weight by its name; without a clear one, by a mean of 1, as weights are scaled.

    A column named `weight` may be that of a body, whose mean is far from 1.
    """
    if values.n_rows < _ENOUGH_ROWS or values.n_missing or numbers.min() <= 0 or len(numbers) < 3:
        return None
    words = set(words_of(values.column))
    clear = words & _WEIGHT_WORDS or {word for word in words if word.endswith("wgt")}
    if clear or (words & _MAYBE_WEIGHTS and words & _KINDS_OF_WEIGHTS):
        return Recognition(Kind.WEIGHT, "its name says so, and all its numbers are positive")
    if values.type is not ColumnType.REAL:
        return None
    from_one = abs(float(numbers @ values.counts) / values.n_present - 1)
    if words & _MAYBE_WEIGHTS and from_one <= _ABOUT_ONE:
        return Recognition(
            Kind.WEIGHT, "its name says so, and its numbers are positive and about 1 on average"
        )
    is_scaled = from_one <= _NEAR_ONE and values.n_rows >= 5 * _ENOUGH_ROWS
    if is_scaled and not words & _MEASURES:
        return Recognition(Kind.WEIGHT, "its numbers are positive and 1 on average")
    return None


def _code(values: Values, numbers: Floats) -> Recognition | None:
    if values.type is not ColumnType.INTEGER or values.n_distinct <= 2:
        return None
    words = words_of(values.column)
    if not _MEASURES.isdisjoint(words):
        return None
    word = next((word for word in words if word in _CODE_WORDS), None)
    if word is not None or has_postcode_name(values.column):
        stated = "a postcode" if word is None else repr(word)
        return Recognition(Kind.CODE, f"its name contains {stated}")
    is_rare = values.n_rows < _ROWS_A_CODE * values.n_distinct
    if is_rare or values.n_distinct > _MOST_CODES or numbers.min() < 0 or len(numbers) < 4:
        return None
    ordered = np.sort(numbers)
    if _has_code_for_missing(ordered):
        return Recognition(
            Kind.CODE, "its largest number is all nines and far from the others, as for missing"
        )
    return Recognition(Kind.CODE, "few numbers, with gaps") if _has_gaps(ordered) else None


def _has_code_for_missing(ordered: Floats) -> bool:
    """Return whether the largest of some numbers is 9, 99, 999, ..., beyond a run of small ones."""
    largest, second = int(ordered[-1]), int(ordered[-2])
    is_run = second - int(ordered[0]) < 2 * len(ordered)
    return set(str(largest)) == {"9"} and is_run and largest > second + 2


def _has_gaps(ordered: Floats) -> bool:
    """Return whether few numbers of one length lie scattered, and are not rounded or years."""
    lengths = {len(str(int(number))) for number in ordered.tolist()}
    span = ordered[-1] - ordered[0]
    if len(lengths) > 1 or lengths == {1} or span < 3 * len(ordered):
        return False
    is_year = ordered[0] >= 1800 and ordered[-1] <= 2100
    return not is_year and math.gcd(*(int(number) for number in ordered.tolist())) == 1


def find_units(
    table: CodedColumns, types: Mapping[str, ColumnType | None], named: Collection[str]
) -> dict[str, Recognition]:
    """Recognise columns whose rows belong together: of a household, or of one person.

    Such a column has many values, each with few rows, and others are constant within its groups.
    `named` has the columns whose name speaks of a number for people; fewer rows are asked of them.
    """
    found = {}
    candidates = [name for name, kind in types.items() if _may_number(table, name, kind)]
    for name in candidates[:_MOST_UNITS_EXAMINED]:
        alike = table.group([name])
        sizes = np.diff(alike.starts)
        most = int(sizes.max(initial=0))
        n_units = alike.n_alone + alike.n_groups
        is_household = not _HOUSEHOLD_WORDS.isdisjoint(words_of(name))
        is_named = is_household or name in named
        if 4 * alike.n_shared < alike.table.n_people or alike.n_groups < _FEWEST_UNITS:
            continue
        is_small = most <= _MOST_ROWS_OF_UNIT and table.n_rows <= _MEAN_ROWS_OF_UNIT * n_units
        if not is_small and not is_named:
            continue
        n_constant = sum(
            alike.count_right(other, 0) is not None
            and 100 * alike.count_usual(other) < 95 * alike.n_shared
            for other in table.codes
            if other != name
        )
        if n_constant < (1 if is_named else _FEWEST_CONSTANT):
            continue
        reason = (
            f"each of its {n_units} values has up to {most} rows, and {n_constant} other columns "
            "are the same within them"
        )
        found[name] = Recognition(Kind.HOUSEHOLD if is_household else Kind.UNIT, reason)
    return found


def _may_number(table: CodedColumns, name: str, kind: ColumnType | None) -> bool:
    if kind not in (ColumnType.INTEGER, ColumnType.CATEGORICAL) or has_postcode_name(name):
        return False
    n_values = table.n_values[name]
    return n_values >= _FEWEST_UNITS and table.n_rows <= _MOST_ROWS_OF_UNIT * n_values
