"""The checks of guarantees compared with pycanon's, on one generalized table."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from fractions import Fraction
from pathlib import Path

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
_TOLERANCE = 1e-9

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
    "Both start from a pandas frame and group its rows. Shoal starts an engine for that, whatever "
    "is then checked."
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
        remarks += _judge(check, lines[-1].ratio)
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


def _judge(check: str, ratio: float | None) -> Iterator[str]:
    aim = _AIMS.get(check)
    if aim is not None and ratio is not None:
        reached = "reached" if ratio >= aim else "missed"
        yield f"{check}: aim {aim:,} times faster than pycanon; {reached} ({ratio:,.0f})."
