"""Injector on one table: mining background knowledge, bucketizing, checking and publishing.

No other package mines negative rules. The search for their antecedents is a search for frequent
itemsets, which mlxtend and pyfim provide; Shoal's mining with antecedents of any length is compared
with them on the same items at the same support.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
from context import Context
from measure import Limits, Outcome, run_command
from report import Line, Sheet
from tables import MeasuredTable, load

import shoal
from shoal.core.cells import Cells
from shoal.injector.mined_rules import Items, items_of, least_counts

_ELL = 6
_MIN_EXP = Fraction(9, 10)
_LONG_MIN_EXP = Fraction(3, 4)
_SUPPORT = 45
_TIMES = 20
_AIMS = {"single": 0.05, "long": 0.5, "plan": 0.2, "publish": 3.0}
_AIMS_OF_MANY = {"single": 1.5, "long": 1.5, "plan": 3.0}
_REPEAT_OF_COMMAND = 3

_PEERS = {
    "pyfim fpgrowth: list itemsets": ("pyfim", "fpgrowth"),
    "pyfim eclat: list itemsets": ("pyfim", "eclat"),
    "pyfim fpgrowth: list generators": ("pyfim", "generators"),
    "pyfim fpgrowth: count itemsets, list none": ("pyfim", "count"),
    "mlxtend fpgrowth: list itemsets": ("mlxtend", "fpgrowth"),
}
_ITEMS = (
    "A row is the set of its values and of the nodes above them, the root left out, and of nodes "
    "that hold the same values all but one. The peers count itemsets; Shoal counts the sensitive "
    "values of each too, and lists rules."
)
_NESTED = (
    "An itemset of the peers may hold a node and its ancestor, which says nothing more. They are "
    "given the number of columns as the largest size, which leaves out no antecedent of a rule. A "
    "generator has fewer rows than every smaller itemset within it, so it holds no such pair."
)
_NONE_LISTED = (
    "Where pyfim lists none it tells how many itemsets there are of each size and support; no rule "
    "can be made of that."
)


def run(context: Context) -> Iterator[Sheet]:
    """Measure the steps of Injector, also on many rows, and mining against the peers."""
    yield _steps(context)
    yield _steps_of_many(context)
    yield _beside_peers(context)


# --- the steps of Injector --------------------------------------------------------------------


def _steps(context: Context) -> Sheet:
    table, method = context.table, {"ell": _ELL}
    lines = _mining_lines(context, table)
    lines["bucketize"] = _plan_line(context, table, "bucketize", method)
    checked = context.shoal("check matching", {"table": table.to_dict(), "parameters": method})
    found = "" if checked.answer is None else f"l = {checked.answer['ell']} reached"
    lines["check"] = Line(what="check the buckets", outcome=checked, found=found)
    lines["plan"] = _plan_line(context, table, "plan", method)
    lines["publish"] = Line(what="shoal publish, from the start", outcome=_publish(context))
    return Sheet(
        title=f"Injector, l = {_ELL}, on {table.name} ({table.n_rows:,} rows)",
        lines=tuple(lines.values()),
        remarks=(
            *_judge_mining(lines, _AIMS),
            _judge(
                "bucketization and check", _sum(lines["bucketize"], lines["check"]), _AIMS["plan"]
            ),
            _judge(
                "shoal publish",
                lines["publish"].outcome.wall_seconds,
                _AIMS["publish"],
                "seconds by the clock",
            ),
        ),
    )


def _steps_of_many(context: Context) -> Sheet:
    context.say(f"the table {_TIMES} times over")
    table = _repeated(context.table, context.folder / "repeated.csv")
    # More rows mean more rules, so that a few people keep fewer values than required.
    method = {"ell": _ELL, "on_infeasible": "suppress"}
    lines = _mining_lines(context, table)
    lines["bucketize"] = _plan_line(context, table, "bucketize", method)
    lines["plan"] = _plan_line(context, table, "plan", method)
    return Sheet(
        title=f"Injector, l = {_ELL}, on {table.name} ({table.n_rows:,} rows)",
        lines=tuple(lines.values()),
        remarks=(
            *_judge_mining(lines, _AIMS_OF_MANY),
            _judge("bucketization", lines["bucketize"].outcome.seconds, _AIMS_OF_MANY["plan"]),
        ),
    )


def _repeated(table: MeasuredTable, path: Path) -> MeasuredTable:
    header, rows = Path(table.path).read_bytes().split(b"\n", 1)
    with path.open("wb") as stream:
        stream.write(header + b"\n")
        for _ in range(_TIMES):
            stream.write(rows)
    return replace(
        table,
        name=f"{table.name}, {_TIMES} times over",
        path=str(path),
        n_rows=_TIMES * table.n_rows,
    )


def _mining_lines(context: Context, table: MeasuredTable) -> dict[str, Line]:
    single = {"min_exp": float(_MIN_EXP), "max_len": 1}
    long = {"min_exp": float(_LONG_MIN_EXP), "max_len": None}
    lines = {}
    for name, what, parameters in (
        ("single", f"rules of one column, min_exp {float(_MIN_EXP)}", single),
        ("long", f"rules of any length, min_exp {float(_LONG_MIN_EXP)}", long),
    ):
        outcome = context.shoal("mine", {"table": table.to_dict(), "parameters": parameters})
        lines[name] = Line(what=f"mine {what}", outcome=outcome, found=_found(outcome))
        min_exp = Fraction(str(parameters["min_exp"]))
        counted = _mine_counted(context, table, min_exp, parameters["max_len"])
        lines[f"{name}, counted"] = Line(
            what=f"mine {what}, from counts", outcome=counted, found=_found(counted)
        )
    return lines


def _mine_counted(
    context: Context, table: MeasuredTable, min_exp: Fraction, max_len: object
) -> Outcome:
    options = {"table": table.to_dict(), "min_exp": str(min_exp)}
    return context.shoal("mine counted", {**options, "parameters": {"max_len": max_len}})


def _plan_line(
    context: Context, table: MeasuredTable, step: str, method: Mapping[str, object]
) -> Line:
    options: dict[str, object] = {"table": table.to_dict(), "parameters": dict(method)}
    if step == "plan":
        options["method"] = "Injector"
    outcome = context.shoal(step, options)
    whats = {"bucketize": "bucketize by known rules", "plan": "plan: mine and bucketize"}
    return Line(what=f"{whats[step]}, from counts", outcome=outcome, found=_found(outcome))


def _publish(context: Context) -> Outcome:
    context.say("shoal publish")
    table, configuration = context.table, context.folder / "injector.toml"
    sections: dict[str, Mapping[str, object]] = {
        "table": {"source": table.path},
        "columns": {"quasi": table.quasi, "sensitive": [table.sensitive]},
        "types": {c: "integer" if c in table.integers else "categorical" for c in table.quasi},
        "hierarchies": table.hierarchies,
        "method": {"name": "injector", "ell": _ELL},
    }
    # TOML writes texts, numbers and lists as JSON does.
    texts = [
        f"[{section}]\n" + "\n".join(f"{key} = {json.dumps(entries[key])}" for key in entries)
        for section, entries in sections.items()
    ]
    configuration.write_text("\n".join(texts), encoding="utf-8")
    command = [sys.executable, "-m", "shoal", "publish", str(configuration), "--out", "release"]
    return run_command(command, Limits(repeat=_REPEAT_OF_COMMAND, seconds=context.limits.seconds))


def _found(outcome: Outcome) -> str:
    answer: Mapping[str, int] = outcome.answer or {}
    return ", ".join(f"{number:,} {name}" for name, number in answer.items())


def _sum(*lines: Line) -> float | None:
    seconds = [line.outcome.seconds for line in lines]
    known = [one for one in seconds if one is not None]
    return sum(known) if len(known) == len(seconds) else None


def _judge_mining(lines: Mapping[str, Line], aims: Mapping[str, float]) -> Iterator[str]:
    yield _judge("mining rules of one column", lines["single"].outcome.seconds, aims["single"])
    yield _judge("mining rules of any length", lines["long"].outcome.seconds, aims["long"])


def _judge(what: str, seconds: float | None, aim: float, unit: str = "CPU seconds") -> str:
    if seconds is None:
        return f"{what}: aim at most {aim:g} {unit}; it could not be measured."
    reached = "reached" if seconds <= aim else "missed"
    return f"{what}: aim at most {aim:g} {unit}; {reached} ({seconds:.3g})."


# --- mining beside the peers ------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Job:
    """The rows as sets of items, in a file that all peers read."""

    path: Path
    cells: Cells
    sensitive: str
    n_columns: int

    @classmethod
    def of_table(cls, context: Context) -> _Job:
        """Write the items of every distinct row."""
        context.say("the items of every row")
        table = shoal.read(context.table.path, load(context.table.adult, n_rows=200).schema)
        cells, quasi = table.counts(table.schema.coded), table.schema.quasi
        people = cells.select(quasi)
        path = context.folder / "items.json"
        columns = items_of(people, list(quasi), table.trees)
        path.write_text(json.dumps(_told(people, columns)), encoding="utf-8")
        sensitive = context.table.sensitive
        return cls(path=path, cells=cells, sensitive=sensitive, n_columns=len(quasi))

    @property
    def totals(self) -> np.ndarray:
        """The number of rows with each sensitive value."""
        domain = self.cells.domain(self.sensitive)
        totals = np.zeros(domain.size, dtype=np.int64)
        np.add.at(totals, self.cells.column(self.sensitive), self.cells.counts)
        return totals

    def least(self, min_exp: Fraction) -> int:
        """Return the fewest rows of an antecedent for which a rule is possible."""
        return int(least_counts(self.totals, min_exp).min())

    def expectation(self, support: int) -> Fraction:
        """Return the minimum expectation at which antecedents need this many rows."""
        share = Fraction(int(self.totals.max()), self.cells.n_rows)
        return 1 - (1 - share) ** support


def _told(people: Cells, columns: list[Items]) -> dict[str, object]:
    names, marks = [], []
    for items in columns:
        leaf = items.leaf[people.column(items.tree.column)][:, np.newaxis]
        marks.append((items.first <= leaf) & (leaf < items.last))
        # A node may have the same label as a value below it; its number distinguishes them.
        names += [
            f"{items.tree.column}={items.tree.labels[node]} ({node})"
            for node in items.node.tolist()
        ]
    rows = [np.flatnonzero(row).tolist() for row in np.concatenate(marks, axis=1)]
    return {"items": names, "rows": rows, "counts": people.counts.tolist()}


def _beside_peers(context: Context) -> Sheet:
    job = _Job.of_table(context)
    lines: list[Line] = []
    remarks = [_ITEMS, _NESTED, _NONE_LISTED]
    for support, min_exp in (
        (_SUPPORT, job.expectation(_SUPPORT)),
        (job.least(_LONG_MIN_EXP), _LONG_MIN_EXP),
    ):
        ours = _mine_counted(context, context.table, min_exp, None)
        options = {"path": str(job.path), "support": support, "most": job.n_columns}
        theirs = _peer_lines(context, ours, options)
        what = f"Shoal: list rules, from {support} rows"
        lines += [Line(what=what, outcome=ours, found=_found(ours)), *theirs]
        remarks += _compare(ours, context.peer("pyfim", "antecedents", options), support)
        remarks += _judge_peers(theirs)
    return Sheet(
        title=f"Mining rules of any length beside mining itemsets, on {context.table.name}",
        lines=tuple(lines),
        remarks=tuple(remarks),
    )


def _peer_lines(context: Context, ours: Outcome, options: Mapping[str, object]) -> list[Line]:
    lines = []
    for label, (peer, measure) in _PEERS.items():
        outcome = context.peer(peer, measure, options)
        what = f"{label}, from {options['support']} rows"
        lines.append(Line(what=what, outcome=outcome, against=ours, found=_found(outcome)))
    return lines


def _compare(ours: Outcome, theirs: Outcome, support: int) -> Iterator[str]:
    if ours.answer is None or theirs.answer is None:
        return
    n_ours, n_theirs = ours.answer["itemsets"], theirs.answer["itemsets"]
    verdict = "as many as" if n_ours == n_theirs else f"unlike the {n_ours:,} that"
    yield (
        f"Of pyfim's itemsets from {support} rows {n_theirs:,} name no column twice, {verdict} "
        "Shoal has as antecedents."
    )


def _judge_peers(lines: list[Line]) -> Iterator[str]:
    for line in lines:
        if line.ratio is not None:
            reached = "ahead" if line.ratio > 1 else "behind"
            yield f"{line.what}: aim to be ahead of it; {reached} ({line.ratio:.3g} times)."
