"""The experiments of [Slicing] on Adult: Table 2, correlations, the l that is reached, and time.

The paper takes two tables from Adult: OCC-7 with seven attributes and OCC-15 with all of them;
occupation is sensitive. If there are two columns, sex, the attribute most correlated with
occupation, shares its column.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 4 and 6; Table 2; Section 4.3 for the time that the
printed algorithm takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from reproduction.reproduced import Curve, Figure, Setting, Statement, claimed, compared
from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError, InternalError
from shoal.core.method import Method
from shoal.core.schema import Schema
from shoal.datasets.adult import adult
from shoal.datasets.dataset import Dataset
from shoal.engines.sql.table import EngineTable
from shoal.grouping.mondrian import Mondrian
from shoal.slicing.correlation import correlations
from shoal.slicing.method import Slicing
from shoal.workflow.anonymize import anonymize
from shoal.workflow.read import read

SENSITIVE, NEAREST = "occupation", "sex"
TABLES = {"OCC-7": "occ-7", "OCC-15": "occ-15"}
"""The paper's names of its tables, and ours."""
N_QUICK = 1_000
"""The number of rows in a quick run."""


def adult_rows(setting: Setting, name: str, n_quick: int = N_QUICK) -> Dataset:
    """Read one of the two `TABLES`; a sample of `n_quick` rows in a quick run."""
    rows = adult(setting.adult_file, TABLES[name])
    if not setting.is_quick:
        return rows
    chosen = np.random.default_rng(setting.seed).permutation(rows.n_rows)[:n_quick]
    return rows.take(np.sort(chosen))


def all_known(rows: Dataset) -> Dataset:
    """Make every attribute quasi-identifying, for experiments that hide only membership."""
    schema = rows.schema
    known = Schema(quasi=list(rows.columns), types=schema.types, hierarchies=schema.hierarchies)
    return Dataset(rows.name, rows.columns, known)


def two_columns(attributes: Sequence[str], beside: str | None = NEAREST) -> list[list[str]]:
    """Separate the sensitive attribute, and one beside it, from all others.

    Examples
    --------
    >>> two_columns(["age", "sex", "occupation"])
    [['age'], ['sex', 'occupation']]
    >>> two_columns(["age", "sex", "occupation"], beside=None)
    [['age', 'sex'], ['occupation']]
    """
    inside = [SENSITIVE] if beside is None else [beside, SENSITIVE]
    return [[name for name in attributes if name not in inside], inside]


def setting_words(setting: Setting, what: str, rest: str, n_quick: int = N_QUICK) -> str:
    """Describe the setting of an experiment."""
    sample = f", samples of {n_quick:,} rows" if setting.is_quick else ""
    return f"{what}{sample}; seed {setting.seed}. {rest}"


ELLS = (5, 8, 10)
"""The values of l in the longer form of the paper; the shortened one states none."""

_PRINTED = {
    "age": 74,
    "workclass": 8,
    "education": 16,
    "education_num": 16,
    "marital_status": 7,
    "occupation": 14,
    "relationship": 6,
    "race": 5,
    "sex": 2,
    "native_country": 41,
    "salary": 2,
}
_N_TUPLES, _N_ATTRIBUTES = 45_222, 15
_NEXT = {"OCC-7": "education", "OCC-15": "salary"}
"""The attribute that the paper names as the second most correlated with occupation."""
_AS_NUMBER = "education_num"
_UNREACHABLE = 1_000
_ALONE = "nothing"
_READINGS = {"frequency": "p(t, s) at most 1/l", "distinct": "at least l values possible"}


# --- Table 2 --------------------------------------------------------------------------------------


def run_table_2(setting: Setting) -> Sequence[Figure]:
    """Count the values of every attribute; this is fast enough on the whole table."""
    counts, n_rows = {}, {}
    for subset in ("complete", "all"):
        table = read(adult(setting.adult_file, subset))
        cells = table.counts(table.schema.coded)
        counts[subset] = {name: _n_values(cells, name) for name in cells.columns}
        n_rows[subset] = table.n_rows
    return [
        Figure(
            name="table-2",
            title="Table 2: description of the Adult dataset",
            setting=f"Adult, all {n_rows['all']:,} rows and the {n_rows['complete']:,} complete "
            "ones, also in a quick run. Missing values are not counted.",
            x_name="attribute",
            x=tuple(_PRINTED),
            y_name="number of values",
            curves=(
                Curve("printed", tuple(map(float, _PRINTED.values()))),
                *(
                    Curve(f"{subset} rows", tuple(float(counts[subset][name]) for name in _PRINTED))
                    for subset in counts
                ),
            ),
            statements=(
                compared("valid tuples", _N_TUPLES, n_rows["complete"], within=0),
                compared("attributes", _N_ATTRIBUTES, len(counts["complete"]), within=0),
                *_values_statements(counts),
            ),
        )
    ]


def _n_values(cells: Cells, name: str) -> int:
    labels = cells.domain(name).labels()
    return sum(labels[code] is not None for code in np.unique(cells.column(name)).tolist())


def _values_statements(counts: Mapping[str, Mapping[str, int]]) -> Iterator[Statement]:
    for name, printed in _PRINTED.items():
        n_all = counts["all"][name]
        why = f"among all rows there are {n_all}"
        if n_all == printed:
            why += "; no row with one of the others is complete"
        yield compared(
            f"values of {name}", printed, counts["complete"][name], within=0, why=f"{why}."
        )


# --- correlations ---------------------------------------------------------------------------------


def run_correlations(setting: Setting) -> Sequence[Figure]:
    """Correlate every attribute with occupation, in both tables."""
    nearest = {}
    for name in TABLES:
        table = read(adult_rows(setting, name))
        nearest[name] = dict(correlations(table.counts(table.schema.coded)).nearest(SENSITIVE))
    attributes = tuple(nearest["OCC-15"])
    return [
        Figure(
            name="correlations",
            title="Section 6: attributes correlated with occupation",
            setting=setting_words(
                setting,
                "OCC-7 and OCC-15",
                "Phi-squared, the mean-square contingency; numbers in ten bins of equal width.",
            ),
            x_name="attribute",
            x=attributes,
            y_name="phi-squared with occupation",
            curves=tuple(
                Curve(name, tuple(found.get(one, math.nan) for one in attributes))
                for name, found in nearest.items()
            ),
            statements=tuple(
                statement
                for name, found in nearest.items()
                for statement in _nearest_statements(name, found, nearest["OCC-15"][_AS_NUMBER])
            ),
        )
    ]


def _nearest_statements(
    name: str, found: Mapping[str, float], as_number: float
) -> Iterator[Statement]:
    """Compare the two most correlated attributes with those that the paper names."""
    first, second, *_ = found
    yield claimed(
        f"nearest to occupation in {name}",
        NEAREST,
        f"{first} ({found[first]:.3f})",
        holds=first == NEAREST,
    )
    printed = _NEXT[name]
    yield claimed(
        f"next nearest in {name}",
        printed,
        f"{second} ({found[second]:.3f})",
        holds=second == printed,
        why=_why_not_next(printed, second, found, as_number),
    )


def _why_not_next(printed: str, second: str, found: Mapping[str, float], as_number: float) -> str:
    """Explain how close the printed attribute is, also if its numbers are binned."""
    told = f"{printed} has {found[printed]:.3f}."
    if printed != "education":
        return told
    is_nearer = as_number > found[second]
    return (
        f"{told} Taken as its number of years in ten bins ({_AS_NUMBER}), it has {as_number:.3f}, "
        + (
            "and would be next, as printed; the paper may have binned it."
            if is_nearer
            else "which does not explain it."
        )
    )


# --- which l can be reached -----------------------------------------------------------------------


def run_diversity(setting: Setting) -> Sequence[Figure]:
    """Find the largest l for every attribute that may share the column of occupation."""
    table = read(adult_rows(setting, "OCC-15"))
    beside = [None, *table.schema.quasi]
    reached = {
        reading: tuple(_largest_ell(table, one, reading) for one in beside) for reading in _READINGS
    }
    names = tuple(one or _ALONE for one in beside)
    return [
        Figure(
            name="reachable-l",
            title="Sections 4.3 and 6: the largest l of a sliced Adult",
            setting=setting_words(
                setting,
                "OCC-15 as one bucket, two columns",
                "One of them has occupation and the attribute named. Splitting never raises l.",
            ),
            x_name="in the column of occupation",
            x=names,
            y_name="largest l",
            curves=tuple(
                Curve(_READINGS[reading], tuple(map(float, ells)))
                for reading, ells in reached.items()
            ),
            statements=tuple(
                _ell_statement(reading, name, reached[reading][names.index(name)])
                for reading in _READINGS
                for name in (NEAREST, _ALONE)
            ),
        )
    ]


def _largest_ell(table: EngineTable, beside: str | None, reading: str) -> Fraction:
    """Request an l that is too large; the error states the largest possible one."""
    columns = two_columns(table.schema.coded, beside)
    try:
        anonymize(table, Slicing(ell=_UNREACHABLE, columns=columns, diversity=reading), seed=0)
    except InfeasibleError as error:
        return Fraction(str(error.best["ell"]))
    raise InternalError("A release with more values than there are was made.")


def _ell_statement(reading: str, beside: str, most: Fraction) -> Statement:
    """State which l of the experiments can be reached."""
    reached = [str(ell) for ell in ELLS if ell <= most]
    return claimed(
        f"l with {_READINGS[reading]}, occupation beside {beside}",
        f"{', '.join(map(str, ELLS))} (in the longer form of the paper)",
        f"at most {float(most):.3g}, so {', '.join(reached) or 'none of them'}",
        holds=len(reached) == len(ELLS),
        why="Some occupation is too frequent in the whole table, which Figure 1 does not check: "
        "it would return the table as one bucket. The experiments here use the other reading.",
    )


_ELL = 3
_SIZES = (5_000, 10_000, 20_000, 45_222)
_QUICK_SIZES = (500, 1_000)
_N_TIMED = 3
_QUADRATIC = 2
_PRINTED_TIME = "O(n² log n); computed efficiently"


def run_efficiency(setting: Setting) -> Sequence[Figure]:
    """Time slicing and the two other methods on an increasing number of rows."""
    rows = adult_rows(setting, "OCC-15")
    order = np.random.default_rng(setting.seed).permutation(rows.n_rows)
    sizes = [min(size, rows.n_rows) for size in (_QUICK_SIZES if setting.is_quick else _SIZES)]
    seconds: dict[str, list[float]] = {}
    for size in sizes:
        table = read(rows.take(np.sort(order[:size])))
        for name, method in _methods(table).items():
            seconds.setdefault(name, []).append(_timed(setting, table, method))
    return [
        Figure(
            name="efficiency",
            title="Section 6: time to make a release",
            setting=setting_words(
                setting,
                "OCC-15",
                f"Frequency l-diversity, l = {_ELL}, which all reach. Seconds by the clock, the "
                f"median of {1 if setting.is_quick else _N_TIMED} runs, from counted rows to a "
                "release that has been checked.",
            ),
            x_name="rows",
            x=tuple(map(float, sizes)),
            y_name="seconds",
            curves=tuple(Curve(name, tuple(found)) for name, found in seconds.items()),
            statements=tuple(
                judge_growth(name, sizes, found)
                for name, found in seconds.items()
                if name.startswith("slicing")
            ),
            is_log=True,
            is_x_log=True,
        )
    ]


def _methods(table: EngineTable) -> dict[str, Method]:
    columns = two_columns(table.schema.coded)
    return {
        "generalization": Mondrian(ell=_ELL, diversity="frequency"),
        "bucketization": Mondrian(ell=_ELL, diversity="frequency", publish="bucketized"),
        "slicing, strict cuts": Slicing(ell=_ELL, columns=columns),
        "slicing, relaxed cuts": Slicing(ell=_ELL, columns=columns, cuts="relaxed"),
    }


def _timed(setting: Setting, table: EngineTable, method: Method) -> float:
    taken = []
    for _ in range(1 if setting.is_quick else _N_TIMED):
        started = time.perf_counter()
        try:
            anonymize(table, method, seed=setting.seed)
        except InfeasibleError:
            # A small sample may have too few values.
            return math.nan
        taken.append(time.perf_counter() - started)
    return float(np.median(taken))


def judge_growth(name: str, sizes: Sequence[int], seconds: Sequence[float]) -> Statement:
    """Compare the growth of the time with the complexity that the paper derives."""
    timed = [
        (size, taken) for size, taken in zip(sizes, seconds, strict=True) if not math.isnan(taken)
    ]
    if len(timed) < 2:
        return Statement(f"time of {name}", _PRINTED_TIME, "no release could be made", "not judged")
    (small, shorter), (large, longer) = timed[0], timed[-1]
    power = math.log(longer / shorter) / math.log(large / small)
    is_slower = power < _QUADRATIC
    return Statement(
        f"time of {name}",
        _PRINTED_TIME,
        f"{longer:.2g} s for {large:,} rows; grows as n to the power {power:.2g}",
        "reproduced" if is_slower else "differs",
        "The machine is different, so only the growth is judged. A split changes only the beliefs "
        "about people who match the bucket, and only they are checked again."
        if is_slower
        else "It grows no slower than the printed algorithm.",
    )
