"""The time a user waits for `shoal publish` with all attacks, from the command to the seal.

Tables of several shapes, every method that suits them, and ten times the rows. What people notice
is the time by the clock, so this benchmark is the one to run on an idle machine.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from context import Context
from measure import Outcome
from process_tree import Surroundings, measure_tree
from publishing import toml
from report import Line, Sheet
from tables import load

import shoal
from shoal.core.arrays import Codes, Texts
from shoal.datasets.dataset import Dataset

_SECONDS = 1800.0
_AIM_OF_GROWTH = 12.0
_SEED = 20

_METHODS: Mapping[str, Mapping[str, object]] = {
    "Mondrian": {"name": "mondrian", "k": 5, "ell": 3},
    "full domain": {"name": "full_domain", "k": 5, "ell": 3, "suppress": 0.05},
    "Anatomy": {"name": "anatomy", "ell": 3},
    "slicing": {"name": "slicing", "ell": 3, "columns": "bucketized"},
}
_HIDING: Mapping[str, object] = {
    "name": "rule_hiding",
    "gamma": 0.01,
    "private": ["answer_1 WHERE age < 25", "answer_2 WHERE age > 80"],
}
_SLICED = [["age", "workclass", "education", "marital_status", "race"], ["sex", "occupation"]]


@dataclass(frozen=True, kw_only=True)
class _Job:
    """A table to publish by some methods, with the aims in seconds by the clock."""

    name: str
    make: Callable[[Context], Dataset]
    methods: Mapping[str, Mapping[str, object]]
    aims: Mapping[str, float] = field(default_factory=dict)
    # Whether ten times the rows are published, too.
    grows: bool = False


def run(context: Context) -> Iterator[Sheet]:
    """Publish each table by each of its methods."""
    for job in _jobs():
        lines: list[Line] = []
        remarks: list[str] = []
        folder = context.folder / "waiting"
        folder.mkdir()
        try:
            table = job.make(context)
            once = dict(_publish(context, job, table, folder))
            lines += [_line(what, table, outcome) for what, outcome in once.items()]
            remarks += _judge(job.aims, once)
            if job.grows:
                tenfold = _ten_times(table)
                many = dict(_publish(context, job, tenfold, folder))
                lines += [_line(what, tenfold, outcome) for what, outcome in many.items()]
                remarks += _judge_growth(once, many)
        finally:
            shutil.rmtree(folder)
        yield Sheet(title=f"Waiting: {job.name}", lines=tuple(lines), remarks=tuple(remarks))


def _jobs() -> Iterator[_Job]:
    adult = {**_METHODS, "slicing": {"name": "slicing", "ell": 3, "columns": _SLICED}}
    # Whole columns cannot be searched: 24 of them have too many combinations of levels.
    wide = {what: method for what, method in _METHODS.items() if what != "full domain"}
    two = dict.fromkeys(adult, 2.5) | {"Mondrian": 2.0}
    yield _Job(name="OCC-7, or a census", make=_usual_table, methods=adult, aims=two, grows=True)
    yield _Job(
        name="a number is sensitive: 4,000 rows with 3,900 values",
        make=lambda _: _incomes(),
        methods={"Mondrian": _METHODS["Mondrian"], "Anatomy": _METHODS["Anatomy"]},
        aims={"Mondrian": 4.0, "Anatomy": 4.0},
    )
    yield _Job(
        name="rule hiding, 8,800 rows of 12 columns",
        make=lambda _: _answers(8_800, 12),
        methods={"rule hiding": _HIDING},
        aims={"rule hiding": 4.0},
        grows=True,
    )
    yield _Job(name="few columns, 500,000 rows", make=lambda _: _tall(), methods=_METHODS)
    yield _Job(name="25 columns, 5,000 rows", make=lambda _: _wide(), methods=wide, grows=True)
    yield _Job(
        name="one value dominates: 95 % of 50,000 rows",
        make=lambda _: _dominated(),
        methods={
            "Mondrian": {"name": "mondrian", "k": 5, "t": 0.1},
            "full domain": {"name": "full_domain", "k": 5, "suppress": 0.05},
        },
        grows=True,
    )


# --- tables -----------------------------------------------------------------------------------


def _usual_table(context: Context) -> Dataset:
    adult = context.table.adult
    if adult is not None:
        return shoal.datasets.adult(adult, "occ-7")
    return load(None)


def _drawn(names: Sequence[str], columns: Sequence[Codes | Texts], sensitive: str) -> Dataset:
    """Return a table of categories and whole numbers; every other column could be looked up."""
    types = {
        name: "integer" if column.dtype.kind == "i" else "categorical"
        for name, column in zip(names, columns, strict=True)
    }
    quasi = [name for name in names if name != sensitive]
    hierarchies = {
        name: shoal.Hierarchy.intervals(width=5) for name in quasi if types[name] == "integer"
    }
    schema = shoal.Schema(
        quasi=quasi, sensitive=sensitive or [], types=types, hierarchies=hierarchies
    )
    columns_by_name = dict(zip(names, columns, strict=True))
    return Dataset("drawn", columns_by_name, schema)


def _codes(draw: np.random.Generator, n_rows: int, n_values: int) -> Codes:
    """Draw values, of which each is rarer than the one before it."""
    weights = 1 / np.arange(1, n_values + 1)
    return draw.choice(n_values, n_rows, p=weights / weights.sum())


def _named(codes: Codes) -> Texts:
    return np.array([f"value {code}" for code in range(int(codes.max()) + 1)], object)[codes]


def _incomes() -> Dataset:
    draw = np.random.default_rng(_SEED)
    n_rows = 4_000
    age = draw.integers(18, 90, n_rows)
    income = np.exp(draw.normal(10 + 0.01 * (age - 18), 0.7)).astype(np.int64)
    columns = [age, *(_named(_codes(draw, n_rows, n)) for n in (2, 5, 9)), income]
    return _drawn(["age", "sex", "region", "work", "income"], columns, "income")


def _answers(n_rows: int, n_columns: int) -> Dataset:
    """Return ages and answers, each answer correlated with the one before it."""
    draw = np.random.default_rng(_SEED)
    codes = [_codes(draw, n_rows, 6)]
    while len(codes) < n_columns - 1:
        is_same = draw.random(n_rows) < 0.6
        codes.append(np.where(is_same, codes[-1], _codes(draw, n_rows, 6)))
    names = [f"answer_{number}" for number in range(1, n_columns)]
    columns = [_named(one) for one in codes]
    return _drawn(["age", *names], [draw.integers(18, 90, n_rows), *columns], "")


def _tall() -> Dataset:
    draw = np.random.default_rng(_SEED)
    n_rows = 500_000
    columns = [
        draw.integers(18, 90, n_rows),
        *(_named(_codes(draw, n_rows, n_values)) for n_values in (2, 20, 16)),
    ]
    return _drawn(["age", "sex", "region", "diagnosis"], columns, "diagnosis")


def _wide() -> Dataset:
    draw = np.random.default_rng(_SEED)
    names = [f"question_{number}" for number in range(1, 25)]
    columns = [_named(_codes(draw, 5_000, 2 + number % 5)) for number in range(24)]
    return _drawn([*names, "diagnosis"], [*columns, _named(_codes(draw, 5_000, 16))], "diagnosis")


def _dominated() -> Dataset:
    draw = np.random.default_rng(_SEED)
    n_rows = 50_000
    columns = [
        draw.integers(18, 90, n_rows),
        *(_named(_codes(draw, n_rows, n_values)) for n_values in (2, 6, 9, 5)),
    ]
    rare = draw.integers(1, 6, n_rows)
    columns.append(_named(np.where(draw.random(n_rows) < 0.95, 0, rare)))
    return _drawn(["age", "sex", "region", "work", "school", "diagnosis"], columns, "diagnosis")


def _ten_times(table: Dataset) -> Dataset:
    """Return ten copies of the rows; each further one has one column from another row."""
    draw = np.random.default_rng(_SEED)
    n_rows = table.n_rows
    rows = np.tile(np.arange(n_rows), 10)
    changed = draw.integers(0, len(table.columns), len(rows))
    changed[:n_rows] = -1
    taken = {
        name: table.take(np.where(changed == number, draw.permutation(rows), rows)).columns[name]
        for number, name in enumerate(table.columns)
    }
    return Dataset(table.name, taken, table.schema)


# --- publishing -------------------------------------------------------------------------------


def _publish(
    context: Context, job: _Job, table: Dataset, folder: Path
) -> Iterator[tuple[str, Outcome]]:
    table.to_csv(folder / "people.csv")
    for what, method in job.methods.items():
        context.say(f"shoal publish: {job.name}, {what}, {table.n_rows:,} rows")
        configuration = folder / "shoal.toml"
        configuration.write_text(_configuration(table, method, folder), encoding="utf-8")
        place = folder / "run"
        place.mkdir()
        command = [sys.executable, "-m", "shoal", "publish", str(configuration)]
        yield (
            what,
            measure_tree(
                [*command, "--out", "release", "--json"],
                Surroundings(folder=place, seconds=_SECONDS),
            ),
        )
        shutil.rmtree(place)


def _configuration(table: Dataset, method: Mapping[str, object], folder: Path) -> str:
    schema = table.schema
    sections: dict[str, Mapping[str, object]] = {
        "table": {"source": "people.csv"},
        "columns": {"quasi": schema.quasi, "sensitive": schema.sensitive},
        "types": {name: declared.type for name, declared in schema.types.items()},
        "hierarchies": {
            column: _hierarchy(table, column, folder) for column in sorted(schema.hierarchies)
        },
        "method": method,
    }
    lines = []
    for section, entries in sections.items():
        lines.append(f"[{section}]")
        lines += [f"{key} = {toml(value)}" for key, value in entries.items()]
    return "\n".join(lines) + "\n"


def _hierarchy(table: Dataset, column: str, folder: Path) -> object:
    """Return a hierarchy as a configuration says it: by rule, or as a file of its own."""
    hierarchy = table.schema.hierarchies[column]
    if hierarchy.kind != "rows":
        return hierarchy.to_config()
    name = f"hierarchy-{column}.csv"
    hierarchy.to_csv(folder / name)
    return name


def _line(what: str, table: Dataset, outcome: Outcome) -> Line:
    answer = outcome.answer
    found = "" if not answer else f"{answer['rows']:,} rows, {answer['buckets']:,} buckets"
    return Line(what=what, outcome=outcome, found=found, n_rows=table.n_rows)


def _judge(aims: Mapping[str, float], outcomes: Mapping[str, Outcome]) -> Iterator[str]:
    for what, aim in aims.items():
        wall = outcomes[what].wall_seconds
        if wall is not None:
            reached = "reached" if wall <= aim else "missed"
            yield f"{what}: {wall:.1f} s by the clock; aim {aim:g} s: {reached}."


def _judge_growth(once: Mapping[str, Outcome], many: Mapping[str, Outcome]) -> Iterator[str]:
    for what, outcome in many.items():
        now, then = outcome.seconds, once[what].seconds
        if now is not None and then:
            reached = "reached" if now <= _AIM_OF_GROWTH * then else "missed"
            yield (
                f"{what}, ten times the rows: {now / then:.1f} times the CPU seconds; "
                f"aim at most {_AIM_OF_GROWTH:g}: {reached}."
            )
