"""Measures of Shoal, through its public functions."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from measure import Call, serve
from plain_kernels import use_plain_kernels

import shoal
from shoal.core import guarantees
from shoal.core.guarantees import Guarantee
from shoal.core.method import Method, Problem
from shoal.core.secret import Secret

Table = dict[str, Any]

_SEED = 1


# --- anonymizing ------------------------------------------------------------------------------


def _schema(table: Table) -> shoal.Schema:
    from tables import load

    return load(table["adult"], n_rows=200).schema


def _method(name: str, parameters: Mapping[str, Any]) -> Method:
    method: Method = getattr(shoal, name)(**parameters)
    return method


def _planner(method: Method, table: Any) -> Callable[[], Any]:
    cells = table.counts(method.class_columns(table.schema))
    problem = Problem(cells, table.schema, table.trees, Secret.from_seed(_SEED))
    return lambda: method.plan(problem)


def plan(
    table: Table, method: str, parameters: Mapping[str, Any], *, is_plain: bool = False
) -> Call:
    """Plan from counts; no row is placed."""
    if is_plain:
        use_plain_kernels()
    planned = _planner(_method(method, parameters), shoal.read(table["path"], _schema(table)))
    return lambda: _describe_plan(planned())


def _describe_plan(made: Any) -> dict[str, object]:
    return {"buckets": made.n_buckets, "dropped": made.drop.n_rows}


def full_domain(table: Table, parameters: Mapping[str, Any]) -> Call:
    """Search for the generalization with the least loss, from counts."""
    planned = _planner(shoal.FullDomain(**parameters), _with_given_hierarchies(table))

    def call() -> object:
        made = planned()
        notes = made.notes
        return _describe_plan(made) | {"loss": notes["loss"], "tried": notes["combinations tried"]}

    return call


def full_domain_released(table: Table, parameters: Mapping[str, Any], times: int = 1) -> Call:
    """Make and check a release in memory of a table that is read already, `times` over."""
    source = _with_given_hierarchies(table, times)
    return lambda: _describe(shoal.anonymize(source, shoal.FullDomain(**parameters)))


def _with_given_hierarchies(table: Table, times: int = 1) -> Any:
    """Read a table with the hierarchies in a folder beside Adult, if they are there."""
    schema = _schema(table)
    folder = Path(table["adult"] or "").parent / "hierarchies"
    files = {column: folder / f"adult_{column}.csv" for column in schema.coded}
    if table["adult"] and all(path.is_file() for path in files.values()):
        given = {column: shoal.Hierarchy.from_csv(path) for column, path in files.items()}
        schema = replace(schema, hierarchies=given)
    if times == 1:
        return shoal.read(table["path"], schema)
    with Path(table["path"]).open(encoding="utf-8", newline="") as stream:
        header, *rows = csv.reader(stream)
    columns = dict(zip(header, zip(*(rows * times), strict=True), strict=True))
    whole = {name: list(map(int, columns[name])) for name in table["integers"]}
    return shoal.read(columns | whole, schema)


def anonymize(table: Table, method: str, parameters: Mapping[str, Any]) -> Call:
    """Count, plan, place and verify a table in memory."""
    source = shoal.read(table["path"], _schema(table))
    chosen = _method(method, parameters)
    return lambda: _describe(shoal.anonymize(source, chosen))


def publish(table: Table, method: str, parameters: Mapping[str, Any]) -> Call:
    """Publish a CSV file to a release folder, and verify the written files."""
    schema, chosen = _schema(table), _method(method, parameters)

    def call() -> object:
        release = shoal.anonymize(shoal.read(table["path"], schema), chosen)
        with tempfile.TemporaryDirectory() as folder:
            release.write(Path(folder) / "release")
        return _describe(release)

    return call


def _release(table: Table, method: str, parameters: Mapping[str, Any]) -> shoal.Release:
    source = shoal.read(table["path"], _schema(table))
    return shoal.anonymize(source, _method(method, parameters), seed=_SEED)


def release(table: Table, method: str, parameters: Mapping[str, Any], target: str) -> Call:
    """Write the generalized table that checks are measured on; its time does not matter.

    The rank of the sensitive value is added as a column, for distances between numbers.
    """
    made = _release(table, method, parameters)

    def call() -> object:
        columns = made.files.engine.rows(made.files.queries["table"])
        texts = {name: [str(text) for text in column] for name, column in columns.items()}
        values = texts[table["sensitive"]]
        rank = {value: place for place, value in enumerate(sorted(set(values)))}
        with Path(target).open("w", encoding="utf-8", newline="") as stream:
            writer = csv.writer(stream)
            writer.writerow([*texts, "rank"])
            writer.writerows(zip(*texts.values(), map(rank.get, values), strict=True))
        return _describe(made)

    return call


def _describe(made: shoal.Release) -> object:
    return {"rows": made.manifest.n_rows, "buckets": made.manifest.n_buckets}


# --- checking ---------------------------------------------------------------------------------

# Each guarantee is checked with a parameter that a release could have. The verdict states the value
# that is reached, and this value is compared.
_GUARANTEES: dict[str, Guarantee] = {
    "k-anonymity": guarantees.KAnonymity(k=5),
    "(alpha, k)-anonymity": guarantees.AlphaK(alpha=0.8, k=5),
    "distinct l-diversity": guarantees.DistinctDiversity(ell=3),
    "frequency l-diversity": guarantees.FrequencyDiversity(ell=1.2),
    "entropy l-diversity": guarantees.EntropyDiversity(ell=2),
    "recursive (c, l)-diversity": guarantees.RecursiveDiversity(c=3, ell=3),
    "t-closeness, equal": guarantees.TCloseness(t=0.9),
    "t-closeness, ordered": guarantees.TCloseness(t=0.9, distance="ordered"),
}


def _verify(guarantee: Guarantee, source: Any, quasi: Sequence[str], sensitive: str) -> object:
    from shoal.release.verify import verify_file

    verification = verify_file(source, quasi=quasi, sensitive=sensitive, guarantees=[guarantee])
    return dict(verification.verdicts[0].reached)


def _from_file(name: str, path: str, quasi: Sequence[str], sensitive: str) -> Call:
    return partial(_verify, _GUARANTEES[name], path, quasi, sensitive)


def _in_memory(name: str, path: str, quasi: Sequence[str], sensitive: str) -> Call:
    import pandas as pd

    return partial(_verify, _GUARANTEES[name], pd.read_csv(path), quasi, sensitive)


def _counted(name: str, table: Table, method: str, parameters: Mapping[str, Any]) -> Call:
    """Check counts that exist already, as the pipeline does for every guarantee but the first."""
    from shoal import checks

    published = _release(table, method, parameters).published

    def call() -> object:
        evidence = checks.Evidence(published.buckets, published.bucket_sizes)
        return dict(checks.check(_GUARANTEES[name], evidence).reached)

    return call


# --- mining knowledge -------------------------------------------------------------------------


def mine(table: Table, parameters: Mapping[str, Any]) -> Call:
    """Count a table in memory and find its negative rules."""
    from shoal.knowledge import mine_negative_rules

    source = shoal.read(table["path"], _schema(table))
    return lambda: {"rules": len(mine_negative_rules(source, **parameters))}


def mine_counted(table: Table, parameters: Mapping[str, Any], min_exp: str) -> Call:
    """Find negative rules from counts; the minimum expectation is a fraction, as a text."""
    from shoal.injector.miners import mine

    source = shoal.read(table["path"], _schema(table))
    cells = source.counts(source.schema.coded)

    def call() -> object:
        found = mine(
            cells, table["sensitive"], source.trees, min_exp=Fraction(min_exp), **parameters
        )
        return {"rules": len(found), "itemsets": found.n_itemsets}

    return call


def bucketize(table: Table, parameters: Mapping[str, Any]) -> Call:
    """Plan Injector's buckets from counts, with rules that were mined before."""
    from shoal.knowledge import mine_negative_rules

    source = shoal.read(table["path"], _schema(table))
    method = shoal.Injector(rules=mine_negative_rules(source), mine=False, **parameters)
    planned = _planner(method, source)
    return lambda: _describe_plan(planned())


def check_matching(table: Table, parameters: Mapping[str, Any]) -> Call:
    """Check a release of Injector in memory: read the rules, exclude values, match."""
    made = _release(table, "Injector", parameters)

    def call() -> object:
        return dict(shoal.verify(made).verdicts[0].reached)

    return call


# --- adversarial rules ------------------------------------------------------------------------


def mine_adversarial(table: Table, seed: int, delta: str, gamma: str, mode: str) -> Call:
    """Find the adversarial rules of a table of codes in memory."""
    from marked_tables import MarkedTable

    from shoal.hiding import mining

    marked = MarkedTable(**table)
    codes = marked.codes()
    state = marked.state(codes, seed)
    limits = {"delta": Fraction(delta), "gamma": Fraction(gamma), "use_hidden": mode == "paper"}
    return lambda: {"rules": len(mining.mine(codes, state, **limits))}


def hide_adversarial(
    table: Table,
    seed: int,
    delta: str,
    gamma: str,
    parameters: Mapping[str, Any],
    n_draws: int,
) -> Call:
    """Blank cells of a table of codes in memory until no adversarial rule is left.

    The number of blanked cells is also reported for several draws of private cells, not timed.
    """
    from marked_tables import MarkedTable

    from shoal.hiding import hiding

    marked = MarkedTable(**table)
    codes = marked.codes()
    chosen = {"delta": Fraction(delta), "gamma": Fraction(gamma), **parameters}

    def hide(draw: int) -> Any:
        return hiding.hide(codes, marked.state(codes, seed + draw), **chosen)

    n_cells = [len(hide(draw).cells) for draw in range(n_draws)] if n_draws > 1 else []
    told = {"fewest": min(n_cells), "most": max(n_cells)} if n_cells else {}
    state = marked.state(codes, seed)

    def call() -> object:
        done = hiding.hide(codes, state, **chosen)
        return {"cells": len(done.cells), "rules": len(done.rules), "passes": done.n_passes} | told

    return call


# --- growing ----------------------------------------------------------------------------------


def _census(n_rows: int) -> Any:
    from tables import load

    return load(None, n_rows)


def grow(step: str, n_rows: int, method: str, parameters: Mapping[str, Any]) -> Call:
    """Read, plan or anonymize a generated census of some size."""
    dataset, chosen = _census(n_rows), _method(method, parameters)
    if step == "read":
        return lambda: {"rows": shoal.read(dataset).n_rows}
    table = shoal.read(dataset)
    if step == "plan":
        planned = _planner(chosen, table)
        return lambda: _describe_plan(planned())
    return lambda: _describe(shoal.anonymize(table, chosen))


# --- slicing ----------------------------------------------------------------------------------

_SLICING = (
    "partition as printed",
    "cluster columns",
    "count fakes",
    "verify sliced",
    "ask counts",
)


def _slice(name: str, **options: Any) -> Call:
    from slicing_measures import MEASURES

    return MEASURES[name](**options)


# --- foreground knowledge ---------------------------------------------------------------------

_FOREGROUND = ("mine all sets", "attack by foreground", "plan foreground safe")


def _expose(name: str, **options: Any) -> Call:
    from foreground_measures import MEASURES

    return MEASURES[name](**options)


if __name__ == "__main__":
    measures: dict[str, Callable[..., Call]] = {
        "plan": plan,
        "full domain": full_domain,
        "full domain released": full_domain_released,
        "anonymize": anonymize,
        "publish": publish,
        "release": release,
        "mine": mine,
        "mine counted": mine_counted,
        "bucketize": bucketize,
        "check matching": check_matching,
        "mine adversarial": mine_adversarial,
        "hide adversarial": hide_adversarial,
        "grow": grow,
    }
    serve(
        measures
        | {name: partial(_slice, name) for name in _SLICING}
        | {name: partial(_expose, name) for name in _FOREGROUND}
        | {f"{name} in memory": partial(_in_memory, name) for name in _GUARANTEES}
        | {f"{name} from a file": partial(_from_file, name) for name in _GUARANTEES}
        | {f"{name} counted": partial(_counted, name) for name in _GUARANTEES}
    )
