"""Slicing on Adult: partitioning, columns, fake tuples, and work with a release.

No other package slices tables. Shoal's partitioning is compared with the algorithm as [Slicing]
prints it, on samples that it can handle. Its time on whole tables is extrapolated from its growth
between the smallest and the largest sample.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path

import numpy as np
from context import Context
from measure import Limits, Outcome
from report import Line, Sheet, describe_release
from tables import MeasuredTable

_ELL = 3
_TIMES = 16
_AIMS = {"strict": 0.2, "relaxed": 0.4}
_AIM_OF_MANY = 20
_AIM_OF_FAKES = 60.0
_SAMPLES = {"strict": (4_000, 8_000, 16_000), "relaxed": (2_000, 4_000, 8_000)}
_BUCKET_SIZES = (10, 100)
_TWO_COLUMNS = [["sex", "occupation"]]
_FIVE_COLUMNS = 5
_N_QUERIES = 2_000
_WIDE = {"n_rows": 50_000, "n_attributes": 300, "n_columns": 30}
_SECONDS = 600.0
_HOUR, _DAY, _YEAR = 3600.0, 86_400.0, 365.25 * 86_400.0

_VARIED = (
    "Repeated, every row is there as often as before times sixteen, and Shoal counts equal rows "
    "once. Varied, each further copy of a row has one quasi-identifier from another row."
)
_EXTRAPOLATED = (
    "The printed algorithm checks every tuple against every bucket after every cut. Here it tries "
    "every attribute, as Shoal does; Figure 1 tries one, which is quicker and cuts less. Its time "
    "on whole tables is extrapolated, never measured."
)


def run(context: Context) -> Iterator[Sheet]:
    """Measure partitioning against the printed algorithm, then everything around it."""
    tables = {
        "": context.table,
        f", {_TIMES} times over": _repeated(context),
        f", {_TIMES} times over, varied": _varied(context),
    }
    plans = {(what, cuts): _plan(context, tables[what], cuts) for what in tables for cuts in _AIMS}
    yield _partitioning(context, tables, plans)
    for cuts in _AIMS:
        yield _printed(context, cuts, tables, plans)
    yield _columns_and_fakes(context)
    yield _releases(context)


def _columns(table: MeasuredTable) -> list[list[str]]:
    """Return the columns: sex is most correlated with the sensitive attribute."""
    return [[name for name in table.quasi if name != "sex"], ["sex", table.sensitive]]


def _parameters(table: MeasuredTable, cuts: str) -> dict[str, object]:
    return {"ell": _ELL, "columns": _columns(table), "cuts": cuts}


# --- partitioning -----------------------------------------------------------------------------


def _repeated(context: Context) -> MeasuredTable:
    context.say(f"the table {_TIMES} times over")
    header, rows = Path(context.table.path).read_bytes().split(b"\n", 1)
    path = context.folder / "sixteen-times.csv"
    path.write_bytes(header + b"\n" + _TIMES * rows)
    return replace(context.table, path=str(path), n_rows=_TIMES * context.table.n_rows)


def _varied(context: Context) -> MeasuredTable:
    table = context.table
    with Path(table.path).open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    original = np.array(rows, dtype=object)
    generator = np.random.default_rng(1)
    quasi = np.array([header.index(name) for name in table.quasi])
    path = context.folder / "varied.csv"
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(header)
        writer.writerows(original)
        every = np.arange(len(original))
        for _ in range(_TIMES - 1):
            copy, column = original.copy(), generator.choice(quasi, len(original))
            copy[every, column] = original[generator.permutation(every), column]
            writer.writerows(copy)
    return replace(table, path=str(path), n_rows=_TIMES * table.n_rows)


def _plan(context: Context, table: MeasuredTable, cuts: str) -> Outcome:
    context.say(f"slicing, {cuts} cuts, {table.n_rows:,} rows")
    options = {"table": table.to_dict(), "parameters": _parameters(table, cuts)}
    return context.shoal("plan", {**options, "method": "Slicing"})


def _partitioning(
    context: Context,
    tables: Mapping[str, MeasuredTable],
    plans: Mapping[tuple[str, str], Outcome],
) -> Sheet:
    lines, remarks = [], []
    for cuts, aim in _AIMS.items():
        for what, table in tables.items():
            outcome, base = plans[what, cuts], plans["", cuts] if what else None
            label = f"{cuts} cuts{what}, {table.n_rows:,} rows"
            found = describe_release(outcome.answer)
            lines.append(Line(what=label, outcome=outcome, against=base, found=found))
            ratio = lines[-1].ratio
            if ratio is not None:
                remarks.append(_judge(label, ratio, _AIM_OF_MANY, "times the time"))
            elif not what:
                remarks.append(_judge(label, outcome.seconds, aim))
    return Sheet(
        title=f"Slicing, l = {_ELL}, on {context.table.name}: plan from counts",
        lines=tuple(lines),
        ratio="ratio to a sixteenth of the rows",
        remarks=(*remarks, _VARIED),
    )


def _printed(
    context: Context,
    cuts: str,
    tables: Mapping[str, MeasuredTable],
    plans: Mapping[tuple[str, str], Outcome],
) -> Sheet:
    table = context.table
    options = {"table": table.to_dict(), "columns": _columns(table), "ell": _ELL, "cuts": cuts}
    once = Limits(repeat=1, seconds=_SECONDS)
    outcomes = {
        n_rows: context.shoal("partition as printed", {**options, "n_rows": n_rows}, once)
        for n_rows in _SAMPLES[cuts]
    }
    lines = [
        Line(
            what=f"as printed, {n_rows:,} rows",
            outcome=outcome,
            found=describe_release(outcome.answer),
        )
        for n_rows, outcome in outcomes.items()
    ]
    return Sheet(
        title=f"Slicing as printed, {cuts} cuts, l = {_ELL}, on samples of {table.name}",
        lines=tuple(lines),
        remarks=(_EXTRAPOLATED, *_extrapolate(outcomes, cuts, tables, plans)),
    )


def _extrapolate(
    outcomes: Mapping[int, Outcome],
    cuts: str,
    tables: Mapping[str, MeasuredTable],
    plans: Mapping[tuple[str, str], Outcome],
) -> Iterator[str]:
    measured = [(size, found.seconds) for size, found in outcomes.items() if found.seconds]
    if len(measured) < 2:
        yield "There are too few samples to extrapolate from."
        return
    (small, shorter), (large, longer) = measured[0], measured[-1]
    power = log(longer / shorter) / log(large / small)
    yield f"From {small:,} to {large:,} rows its time grows as the rows to the power {power:.2f}."
    for what, table in tables.items():
        if table.n_rows <= large:
            continue
        seconds = longer * (table.n_rows / large) ** power
        ours = plans[what, cuts].seconds
        told = "could not be measured" if ours is None else f"takes {ours:.3g} seconds"
        yield f"{table.n_rows:,} rows{what}: it would take {_long(seconds)}; Shoal {told}."


def _long(seconds: float) -> str:
    for unit, size in (("years", _YEAR), ("days", _DAY), ("hours", _HOUR)):
        if seconds >= size:
            return f"{seconds / size:,.0f} {unit}"
    return f"{seconds:,.0f} seconds"


# --- columns and fakes ------------------------------------------------------------------------


def _columns_and_fakes(context: Context) -> Sheet:
    wide = context.shoal("cluster columns", _WIDE)
    size = f"{_WIDE['n_attributes']} attributes, {_WIDE['n_rows']:,} rows"
    lines = [
        Line(what=f"correlate and cluster {size}", outcome=wide, found=_found(wide)),
    ]
    remarks = []
    adult = context.table.adult
    settings: Sequence[tuple[str, object]] = (("2", _TWO_COLUMNS), ("5", _FIVE_COLUMNS))
    for name, columns in settings if adult is not None else ():
        for bucket_size in _BUCKET_SIZES:
            options = {"adult": adult, "columns": columns, "bucket_size": bucket_size}
            limits = replace(context.limits, seconds=_SECONDS)
            outcome = context.shoal("count fakes", options, limits)
            label = f"fakes of OCC-15, c = {name}, buckets of {bucket_size}"
            lines.append(Line(what=label, outcome=outcome, found=_found(outcome)))
            if isinstance(columns, int):
                remarks.append(_judge(label, outcome.seconds, _AIM_OF_FAKES))
    return Sheet(title="Columns and fake tuples", lines=tuple(lines), remarks=tuple(remarks))


# --- releases ---------------------------------------------------------------------------------


def _releases(context: Context) -> Sheet:
    table, lines = context.table, []
    for cuts in _AIMS:
        options = {"table": table.to_dict(), "parameters": _parameters(table, cuts)}
        made = context.shoal("anonymize", {**options, "method": "Slicing"})
        checked = context.shoal("verify sliced", options)
        asked = context.shoal("ask counts", {**options, "n_queries": _N_QUERIES})
        lines += [
            Line(what=f"{cuts}: anonymize a table in memory", outcome=made, found=_found(made)),
            Line(what=f"{cuts}: verify it", outcome=checked, found=_found(checked)),
            Line(what=f"{cuts}: {_N_QUERIES:,} COUNT queries by the kit", outcome=asked),
        ]
    return Sheet(
        title=f"Slicing, l = {_ELL}, on {table.name} ({table.n_rows:,} rows): whole steps",
        lines=tuple(lines),
    )


def _found(outcome: Outcome) -> str:
    answer: Mapping[str, object] = outcome.answer or {}
    return ", ".join(
        f"{number:,} {name}" if isinstance(number, int) else f"{name} l = {number}"
        for name, number in answer.items()
    )


def _judge(what: str, found: float | None, aim: float, unit: str = "CPU seconds") -> str:
    if found is None:
        return f"{what}: aim at most {aim:g} {unit}; it could not be measured."
    reached = "reached" if found <= aim else "missed"
    return f"{what}: aim at most {aim:g} {unit}; {reached} ({found:.3g})."
