"""The time that it takes to slice Adult: Sections 4.3 and 6 of [Slicing].

References
----------
[Slicing] (see `shoal.core.sliced`) Section 4.3 for the time that the printed algorithm takes.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence

import numpy as np

from reproduction.planned import Setting
from reproduction.reproduced import Curve, Figure, Statement
from reproduction.slicing_tables import adult_rows, setting_words, two_columns
from shoal.core.errors import InfeasibleError
from shoal.core.method import Method
from shoal.engines.sql.table import EngineTable
from shoal.grouping.mondrian import Mondrian
from shoal.slicing.method import Slicing
from shoal.workflow.anonymize import anonymize
from shoal.workflow.read import read

_ELL = 3
_SIZES = (5_000, 10_000, 20_000, 45_222)
_QUICK_SIZES = (500, 1_000)
_N_TIMED = 3
_QUADRATIC = 2
_PRINTED = "O(n² log n); computed efficiently"


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
                f"Frequency l-diversity, l = {_ELL}, which all can keep. Seconds by the clock, the "
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
        return Statement(f"time of {name}", _PRINTED, "no release could be made", "not judged")
    (small, shorter), (large, longer) = timed[0], timed[-1]
    power = math.log(longer / shorter) / math.log(large / small)
    is_slower = power < _QUADRATIC
    return Statement(
        f"time of {name}",
        _PRINTED,
        f"{longer:.2g} s for {large:,} rows; grows as n to the power {power:.2g}",
        "reproduced" if is_slower else "differs",
        "The machine is another, so that only the growth is judged. A split changes what is "
        "believed only of those who match the bucket, and only they are checked again."
        if is_slower
        else "It grows no slower than the printed algorithm.",
    )
