"""The checks of guarantees compared with pycanon's, on one generalized table."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

import numpy as np
from context import Context
from measure import Limits, Outcome
from report import Line, Sheet

_METHOD = {"method": "Mondrian", "parameters": {"k": 5, "ell": 3}}
_CHECKS = (
    "k-anonymity",
    "(alpha, k)-anonymity",
    "distinct l-diversity",
    "frequency l-diversity",
    "entropy l-diversity",
    "recursive (c, l)-diversity",
    "t-closeness, equal",
    "t-closeness, ordered",
)
_AIMS = {"distinct l-diversity": 50, "t-closeness, equal": 1000}
_AIMS_IN_MEMORY = {"k-anonymity": 5, "distinct l-diversity": 50, "t-closeness, equal": 500}
_AIM_OF_GROWTH = 12
_TOLERANCE = 1e-9
_GROWING = ("3 columns, 20,000 rows", "3 columns, 200,000 rows")
_SHAPES: Mapping[str, tuple[int, int, float]] = {
    _GROWING[0]: (20_000, 3, 0.2),
    _GROWING[1]: (200_000, 3, 0.2),
    "12 columns, 2,000 rows": (2_000, 12, 0.2),
    "one value in 95 % of 45,000 rows": (45_000, 5, 0.95),
}
"""Tables of other shapes: rows, columns, and the share of the most frequent sensitive value."""

_DIFFERENCES = {
    "frequency l-diversity": "pycanon has it as 1/alpha of its (alpha, k)-anonymity.",
    "entropy l-diversity": "pycanon rounds the answer down to a whole number.",
    "recursive (c, l)-diversity": (
        "pycanon sorts the counts of a class from the rarest value and compares the rarest with "
        "all from the l-th on; in the definition r_1 is the most frequent value. It also gives "
        "floor(c) + 1. So its c is another number; Shoal gives the bound that c has to exceed."
    ),
    "t-closeness, ordered": "measured on the rank of the sensitive value, a number.",
}

_COUNTED = (
    "Shoal's pipeline groups the rows once and checks every guarantee on the counts; pycanon's "
    "functions take a frame and group for every check, which is in their time."
)
_IN_MEMORY = (
    "Both start from a pandas frame and group its rows. Shoal starts no engine for that, up to 16 "
    "million cells."
)


def run(context: Context) -> Iterator[Sheet]:
    """Measure every check that both packages have."""
    released = context.folder / "released.csv"
    made = context.shoal(
        "release", {**_release(context), "target": str(released)}, Limits(repeat=1)
    )
    if made.answer is None:
        line = Line(what="a table to check, by Shoal's Mondrian", outcome=made)
        yield Sheet(title="Checks", lines=(line,))
        return
    size = f"({made.answer['rows']:,} rows in {made.answer['buckets']:,} buckets)"
    theirs = {
        check: context.peer("pycanon", f"{check} in memory", _options(context, check, released))
        for check in _CHECKS
    }
    yield _counted_sheet(context, theirs, f"Checks of counted buckets {size}")
    yield _memory_sheet(context, theirs, released, f"Checks of a frame in memory {size}")
    yield _file_sheet(context, released, f"Checks of a CSV file {size}")
    yield _shapes_sheet(context)


def _shapes_sheet(context: Context) -> Sheet:
    """Measure checks of frames of other shapes, and of ten times the rows of the first."""
    lines: list[Line] = []
    remarks: list[str] = []
    for name, (n_rows, n_columns, share) in _SHAPES.items():
        path = context.folder / "shape.csv"
        quasi = _write_shape(path, n_rows, n_columns, share)
        for check in _AIMS_IN_MEMORY:
            options = {"path": str(path), "quasi": quasi, "sensitive": "s"}
            measure = f"{check} in memory"
            ours = context.shoal(measure, options)
            pair = _pair(f"{check}, {name}", ours, context.peer("pycanon", measure, options))
            lines += pair
            remarks += _judge(check, pair[-1].ratio, _AIMS_IN_MEMORY)
    seconds = {line.what: line.outcome.seconds for line in lines}
    for check in _AIMS_IN_MEMORY:
        few, many = (seconds[f"Shoal: {check}, {name}"] for name in _GROWING)
        if few and many:
            reached = "reached" if many <= _AIM_OF_GROWTH * few else "missed"
            remarks.append(
                f"{check}: ten times the rows take {many / few:.3g} times as long; aim at most "
                f"{_AIM_OF_GROWTH}; {reached}."
            )
    title = "Checks of frames of other shapes in memory"
    return Sheet(title=title, lines=tuple(lines), remarks=tuple(remarks))


def _write_shape(path: Path, n_rows: int, n_columns: int, share: float) -> list[str]:
    """Write a table whose most frequent sensitive value has a share; return its other columns."""
    random = np.random.default_rng(1)
    columns = [random.integers(0, 4, n_rows) for _ in range(n_columns)]
    values = np.where(random.random(n_rows) < share, 0, random.integers(1, 9, n_rows))
    names = [f"q{place}" for place in range(n_columns)]
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow([*names, "s"])
        texts = [[f"value {code}" for code in column.tolist()] for column in (*columns, values)]
        writer.writerows(zip(*texts, strict=True))
    return names


def _release(context: Context) -> dict[str, object]:
    return {"table": context.table.to_dict(), **_METHOD}


def _counted_sheet(context: Context, theirs: Mapping[str, Outcome], title: str) -> Sheet:
    """Measure the check alone against pycanon's function, which also groups the rows."""
    lines: list[Line] = []
    remarks = [_COUNTED]
    for check, outcome in theirs.items():
        lines += _pair(check, context.shoal(f"{check} counted", _release(context)), outcome)
        remarks += _judge(check, lines[-1].ratio)
    return Sheet(title=title, lines=tuple(lines), remarks=tuple(remarks))


def _memory_sheet(
    context: Context, theirs: Mapping[str, Outcome], released: Path, title: str
) -> Sheet:
    lines: list[Line] = []
    remarks = [_IN_MEMORY]
    for check, outcome in theirs.items():
        ours = context.shoal(f"{check} in memory", _options(context, check, released))
        lines += _pair(check, ours, outcome)
        remarks += _compare(check, ours, outcome)
        remarks += _judge(check, lines[-1].ratio, _AIMS_IN_MEMORY)
    return Sheet(title=title, lines=tuple(lines), remarks=tuple(remarks))


def _file_sheet(context: Context, released: Path, title: str) -> Sheet:
    lines: list[Line] = []
    for check in _AIMS:
        measure, options = f"{check} from a file", _options(context, check, released)
        lines += _pair(
            check, context.shoal(measure, options), context.peer("pycanon", measure, options)
        )
    return Sheet(title=title, lines=tuple(lines), remarks=("Both start from the file.",))


def _options(context: Context, check: str, released: Path) -> dict[str, object]:
    is_ordered = check == "t-closeness, ordered"
    return {
        "path": str(released),
        "quasi": context.table.quasi,
        "sensitive": "rank" if is_ordered else context.table.sensitive,
    }


def _pair(check: str, ours: Outcome, theirs: Outcome) -> tuple[Line, Line]:
    return (
        Line(what=f"Shoal: {check}", outcome=ours, found=_written(ours)),
        Line(what=f"pycanon: {check}", outcome=theirs, against=ours, found=_written(theirs)),
    )


def _written(outcome: Outcome) -> str:
    answer: Mapping[str, object] = outcome.answer or {}
    return ", ".join(
        f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}"
        for name, value in answer.items()
    )


def _compare(check: str, ours: Outcome, theirs: Outcome) -> Iterator[str]:
    if ours.answer is None or theirs.answer is None:
        return
    verdict = "the answers agree" if _agree(ours.answer, theirs.answer) else "the answers differ"
    yield f"{check}: {verdict}. {_DIFFERENCES.get(check, '')}".strip()


def _agree(ours: Mapping[str, object], theirs: Mapping[str, object]) -> bool:
    if set(ours) != set(theirs):
        return False
    return all(_is_close(ours[name], theirs[name]) for name in ours)


def _is_close(ours: object, theirs: object) -> bool:
    exact, other = float(Fraction(str(ours))), float(Fraction(str(theirs)))
    is_rounded_down = isinstance(theirs, int) and math.floor(exact) == theirs
    return is_rounded_down or math.isclose(exact, other, rel_tol=_TOLERANCE)


def _judge(check: str, ratio: float | None, aims: Mapping[str, float] = _AIMS) -> Iterator[str]:
    aim = aims.get(check)
    if aim is not None and ratio is not None:
        reached = "reached" if ratio >= aim else "missed"
        yield f"{check}: aim {aim:,} times faster than pycanon; {reached} ({ratio:,.0f})."
