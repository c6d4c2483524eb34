"""The statements of [Slicing] about Adult: Table 2, correlations, and the l that can be reached.

References
----------
[Slicing] (see `shoal.core.sliced`) Sections 4 and 6; Table 2.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction

import numpy as np

from reproduction.planned import Setting
from reproduction.reproduced import Curve, Figure, Statement, compared
from reproduction.slicing_tables import (
    NEAREST,
    SENSITIVE,
    TABLES,
    adult_rows,
    setting_words,
    two_columns,
)
from shoal.core.cells import Cells
from shoal.core.errors import InfeasibleError, InternalError
from shoal.datasets.adult import adult
from shoal.engines.sql.table import EngineTable
from shoal.slicing.correlation import correlations
from shoal.slicing.method import Slicing
from shoal.workflow.anonymize import anonymize
from shoal.workflow.read import read

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
    if setting.adult is None:
        raise InternalError("An experiment on Adult was run without it.")
    counts, n_rows = {}, {}
    for subset in ("complete", "all"):
        table = read(adult(setting.adult, subset))
        cells = table.counts(table.schema.coded)
        counts[subset] = {name: _n_values(cells, name) for name in cells.columns}
        n_rows[subset] = table.n_rows
    return [
        Figure(
            name="table-2",
            title="Table 2: description of the Adult dataset",
            setting=f"Adult, all {n_rows['all']:,} rows and the {n_rows['complete']:,} complete "
            "ones, whole also in a quick run. A missing value counts for none.",
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
            why += "; all rows of the others miss some value, so that none of them is complete"
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
    yield Statement(
        f"nearest to occupation in {name}",
        NEAREST,
        f"{first} ({found[first]:.3f})",
        "reproduced" if first == NEAREST else "differs",
    )
    printed = _NEXT[name]
    is_same = second == printed
    yield Statement(
        f"next nearest in {name}",
        printed,
        f"{second} ({found[second]:.3f})",
        "reproduced" if is_same else "differs",
        "" if is_same else _why_not_next(printed, second, found, as_number),
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
            "and would be next, as printed: the paper may have put it into bins."
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
                "One has occupation and what is named. Splitting a bucket never raises l.",
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
    is_all = len(reached) == len(ELLS)
    return Statement(
        f"l with {_READINGS[reading]}, occupation beside {beside}",
        f"{', '.join(map(str, ELLS))} (in the longer form of the paper)",
        f"at most {float(most):.3g}, so {', '.join(reached) or 'none of them'}",
        "reproduced" if is_all else "differs",
        ""
        if is_all
        else "Some occupation is too frequent in the whole table, which Figure 1 does not check: "
        "it would return the table as one bucket. What is run here is the other reading.",
    )
