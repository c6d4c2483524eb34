"""UCI Adult, with the rows, columns and roles that the papers use.

Shoal neither ships nor downloads the table; the user provides the file. Shoal ships hierarchies for
it (folder ``hierarchies``, in ARX's format), with the heights of [Li08], Table III, leaves and root
included: age 5, workclass 3, education 4, marital status 3, race 3, sex 2. With them, the subset
``injector`` has 15, 22, 32, 38 and 44 negative rules of one attribute at a minimum expectation of
.95, .90, .85, .80 and .75; [Li08], Figure 3, prints 15, 22, 32, 39 and 45. The paper does not print
its hierarchies: age bands of 5, 20 and 40 years, counted from 12, were chosen because, among
regular bands, they come close to the figure.

References
----------
[Li08] Li, Li: Injector: Mining Background Knowledge for Data Anonymization. ICDE 2008.

[Rafi] Rafi, Ramanaiah: Protecting Attribute Disclosure for High Dimensionality and Preserving
Publishing of Microdata; section VI.

[Wong11] Wong, Fu, Wang, Xu, Yu: Can the Utility of Anonymized Data be used for Privacy Breaches?
TKDD 5(3), 2011; section 5.

[Aggarwal06] Aggarwal, Pei, Zhang: On Privacy Preservation against Adversarial Data Mining.
KDD 2006; section 6.2.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np

from shoal.core.arrays import Integers, Texts
from shoal.core.errors import DataError, ParameterError
from shoal.core.schema import Schema
from shoal.datasets.dataset import Column, Dataset, Encoded
from shoal.hierarchies.hierarchy import Hierarchy

ADULT_COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status"),
    *("occupation", "relationship", "race", "sex", "capital_gain", "capital_loss"),
    *("hours_per_week", "native_country", "salary"),
)
"""The header that `adult` expects, in the order of the UCI files."""

LOW_EDUCATION = ("Preschool", "1st-4th", "5th-6th", "7th-8th")
"""The sensitive values of [Wong11], section 5: education before secondary school."""

_N_TRAINING_ROWS = 32_561
_CUTS: Mapping[str, tuple[tuple[int, ...], ...]] = {
    "fnlwgt": (
        (0, 50_000, 100_000, 150_000, 200_000, 250_000, 300_000, 400_000, 500_000),
        (0, 100_000, 200_000, 300_000, 500_000),
        (0, 200_000),
    ),
    # The schools of hierarchies/education.csv, in numbers.
    "education_num": ((1, 5, 9, 10, 13, 14), (1, 9, 13)),
    "capital_gain": ((0, 1, 3_000, 5_000, 10_000, 20_000, 50_000), (0, 1, 10_000)),
    "capital_loss": ((0, 1, 1_500, 1_750, 2_000, 2_500), (0, 1, 2_000)),
    "hours_per_week": ((0, 20, 30, 35, 40, 41, 50, 60), (0, 35, 41)),
}
_INTEGERS = frozenset({"age", *_CUTS})
_OCC_7 = ("age", "workclass", "education", "marital_status", "race", "sex", "occupation")
_FOREGROUND = (
    *("age", "workclass", "marital_status", "occupation", "race"),
    *("sex", "native_country", "salary"),
)


@dataclass(frozen=True, kw_only=True)
class _Subset:
    """The rows and columns of Adult that a paper uses.

    All columns but the sensitive one are quasi-identifying.
    """

    columns: tuple[str, ...]
    sensitive: str | None
    # The columns in which a row must have a value.
    complete_in: tuple[str, ...] = ADULT_COLUMNS
    # The number of rows to use, from the beginning of the file. Default: all.
    n_first: int | None = None
    # Columns to cut into a number of intervals of equal width.
    bins: tuple[tuple[str, int], ...] = ()


_COMPLETE = _Subset(columns=ADULT_COLUMNS, sensitive="occupation")
_SUBSETS: Mapping[str, _Subset] = {
    "all": _Subset(columns=ADULT_COLUMNS, sensitive="occupation", complete_in=()),
    "complete": _COMPLETE,
    "occ-15": _COMPLETE,
    "occ-7": _Subset(columns=_OCC_7, sensitive="occupation"),
    "injector": _Subset(
        columns=_OCC_7, sensitive="occupation", complete_in=_OCC_7, n_first=_N_TRAINING_ROWS
    ),
    "foreground-5": _Subset(columns=(*_FOREGROUND[:5], "education"), sensitive="education"),
    "foreground-8": _Subset(columns=(*_FOREGROUND, "education"), sensitive="education"),
    "adversarial": _Subset(
        columns=(
            *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status"),
            *("occupation", "relationship", "sex", "hours_per_week"),
        ),
        sensitive=None,
        bins=(("age", 10), ("fnlwgt", 150)),
    ),
}
ADULT_SUBSETS = tuple(_SUBSETS)
"""The subsets that `adult` knows."""


def adult(path: str | os.PathLike[str], subset: str = "occ-7") -> Dataset:
    """Read UCI Adult from a file, with the rows, columns and roles of an experiment.

    Parameters
    ----------
    path
        A CSV file with the header `ADULT_COLUMNS`, the training rows (``adult.data``) before the
        test rows (``adult.test``), and missing values left empty.
    subset
        The table of an experiment; ``occ-7`` by default:

        - ``all``: every row (48,842) and column; occupation is sensitive.
        - ``complete`` or ``occ-15``: the 45,222 rows without missing values; occupation is
          sensitive, the other fourteen columns are quasi-identifying [Rafi].
        - ``occ-7``: the same rows with age, workclass, education, marital_status, race, sex, and
          occupation, which is sensitive [Rafi].
        - ``injector``: the columns of ``occ-7``, and the 30,718 training rows that are complete in
          these seven [Li08].
        - ``foreground-5``: the 45,222 rows with age, workclass, marital_status, occupation, race,
          and education, which is sensitive [Wong11].
        - ``foreground-8``: the same with sex, native_country and salary.
        - ``adversarial``: the 45,222 rows with ten columns, none of them sensitive; age is cut into
          10 intervals of equal width and fnlwgt into 150 [Aggarwal06]. The paper drops four of
          fourteen columns without naming them; here these are race, capital_gain, capital_loss and
          native_country, and also salary, the fifteenth.

    Returns
    -------
    Dataset
        The table, with Shoal's own hierarchies.

    Raises
    ------
    DataError
        If the file is absent, has other columns, or contains values that Adult does not have.
    """
    if subset not in _SUBSETS:
        raise ParameterError(
            f"{subset!r} is not a subset of Adult.", hint=f"the subsets are {', '.join(_SUBSETS)}."
        )
    chosen = _SUBSETS[subset]
    table = _read(Path(path), chosen.n_first)
    is_complete = np.ones(len(next(iter(table.values()))), dtype=bool)
    for column in chosen.complete_in:
        is_complete &= np.not_equal(table[column], "")
    rows = np.flatnonzero(is_complete)
    columns: dict[str, Column] = {
        column: _column(column, table[column][rows]) for column in chosen.columns
    }
    for column, number in chosen.bins:
        columns[column] = _bins(np.asarray(columns[column]), number)
    return Dataset(f"adult-{subset}", columns, _schema(chosen))


@cache
def adult_hierarchy(column: str) -> Hierarchy:
    """Return Shoal's hierarchy of a column of Adult.

    Examples
    --------
    >>> adult_hierarchy("marital_status").height
    2
    """
    if column not in ADULT_COLUMNS:
        raise ParameterError(
            f"{column!r} is not a column of Adult.",
            hint=f"the columns are {', '.join(ADULT_COLUMNS)}.",
        )
    if column in _CUTS:
        return Hierarchy.intervals(cuts=[list(cuts) for cuts in _CUTS[column]])
    return Hierarchy.from_csv(_hierarchy_file(column))


def _hierarchy_file(column: str) -> Path:
    return Path(__file__).with_name("hierarchies") / f"{column}.csv"


@cache
def _values(column: str) -> tuple[str, ...]:
    """Return the values of a categorical column: the leaves of its hierarchy."""
    lines = _hierarchy_file(column).read_text(encoding="utf-8").splitlines()
    return tuple(line.split(";", maxsplit=1)[0] for line in lines)


def _schema(chosen: _Subset) -> Schema:
    binned = {column for column, _ in chosen.bins}
    whole = [column for column in chosen.columns if column not in binned]
    return Schema(
        quasi=[column for column in chosen.columns if column != chosen.sensitive],
        sensitive=chosen.sensitive,
        types={
            column: "integer" if column in _INTEGERS and column in whole else "categorical"
            for column in chosen.columns
        },
        hierarchies={column: adult_hierarchy(column) for column in whole},
    )


def _read(path: Path, n_first: int | None) -> dict[str, Texts]:
    """Return the texts of every column, empty where a value is missing."""
    where = "get Adult from the UCI Machine Learning Repository (archive.ics.uci.edu, dataset 2)"
    expected = f"write its first line as {','.join(ADULT_COLUMNS)}"
    if not path.is_file():
        raise DataError(
            f"There is no file {str(path)!r} to read Adult from.",
            hint=f"{where}, join adult.data and adult.test in one CSV file, leave missing values "
            f"empty, and {expected}.",
        )
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        header = next(reader, [])
        if tuple(header) != ADULT_COLUMNS:
            raise DataError(
                f"The first line of {str(path)!r} does not name the columns of Adult.",
                hint=f"{expected}.",
            )
        rows = [row for row in reader if row]
    n_ragged = sum(len(row) != len(ADULT_COLUMNS) for row in rows)
    if n_ragged or not rows:
        raise DataError(
            f"A row of Adult has {len(ADULT_COLUMNS)} values; {n_ragged} of the {len(rows)} rows "
            f"of {str(path)!r} have more or fewer.",
            hint=f"{where} again.",
        )
    texts = np.array(rows[:n_first], dtype=object)
    return {column: texts[:, place] for place, column in enumerate(ADULT_COLUMNS)}


def _column(name: str, texts: Texts) -> Column:
    if name in _INTEGERS:
        try:
            return np.array(texts.tolist(), dtype=np.str_).astype(np.int64)
        except ValueError:
            raise DataError(
                f"Column {name!r} of Adult must hold whole numbers; some values do not, or are "
                "missing.",
                hint="write the numbers as in the UCI files.",
            ) from None
    labels = _values(name)
    code_by_text = {text: code for code, text in enumerate(labels)}
    unknown = len(labels)
    codes = np.array([code_by_text.get(text, unknown) for text in texts.tolist()], dtype=np.int32)
    codes[codes == unknown] = np.where(np.equal(texts[codes == unknown], ""), -1, unknown)
    n_unknown = int((codes == unknown).sum())
    if n_unknown:
        raise DataError(
            f"Column {name!r} of Adult has {n_unknown} values that the UCI files do not have.",
            hint="leave missing values empty (not ?), and remove blanks after commas and the full "
            "stop at the end of the lines of adult.test.",
        )
    return Encoded(codes, labels)


def _bins(numbers: Integers, number: int) -> Encoded:
    """Cut numbers into intervals of equal width, from the smallest to the largest."""
    least, greatest = int(numbers.min()), int(numbers.max())
    # Integer arithmetic puts a value at a bound into the same interval on every machine.
    place = (numbers - least) * number // max(greatest - least, 1)
    bounds = np.linspace(least, greatest, number + 1)
    labels = [f"[{low:.10g}, {high:.10g}[" for low, high in pairwise(bounds)]
    labels[-1] = labels[-1][:-1] + "]"
    return Encoded(np.minimum(place, number - 1).astype(np.int32), tuple(labels))
