"""Measures of slicing; `shoal_worker.py` serves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from measure import Call
from printed_slicing import PrintedTable, partition

import shoal
from shoal.core.cells import Cells, group
from shoal.core.domain import Domain
from shoal.core.table import Rows
from shoal.datasets.dataset import Encoded
from shoal.slicing.columns import clustered_columns
from shoal.slicing.correlation import correlations, correlations_of_rows
from shoal.slicing.fake_tuples import ValuesByBucket, count_fakes

Table = dict[str, Any]
Codes = npt.NDArray[np.int64]

_SEED = 1


def _read(table: Table) -> shoal.Table:
    from tables import load

    return shoal.read(table["path"], load(table["adult"], n_rows=200).schema)


# --- partitioning -----------------------------------------------------------------------------


def partition_as_printed(
    table: Table, n_rows: int, columns: Sequence[Sequence[str]], ell: int, cuts: str
) -> Call:
    """Partition some rows by the printed algorithm."""
    cells = _read(table).counts([name for names in columns for name in names])
    rows = np.repeat(cells.codes, cells.counts, axis=0)
    rows = np.random.default_rng(_SEED).permutation(rows)[:n_rows]
    place = {name: at for at, name in enumerate(cells.columns)}
    outside, inside = ([place[name] for name in names] for names in columns)
    sensitive = place[table["sensitive"]]
    beside = [at for at in inside if at != sensitive]
    sizes = [domain.size for domain in cells.domains]
    printed = PrintedTable(
        axes=rows[:, outside],
        outside=_numbered(rows, outside, sizes),
        beside=_numbered(rows, beside, sizes),
        sensitive=rows[:, sensitive],
    )
    is_relaxed = cuts == "relaxed"
    return lambda: {"buckets": len(partition(printed, ell, is_relaxed=is_relaxed))}


def _numbered(rows: Codes, places: Sequence[int], sizes: Sequence[int]) -> Codes:
    _, inverse = group([rows[:, at] for at in places], [sizes[at] for at in places], len(rows))
    return inverse


# --- columns and fakes ------------------------------------------------------------------------


def cluster_columns(n_rows: int, n_attributes: int, n_columns: int) -> Call:
    """Correlate many attributes, in groups of ten dependent ones, and cluster them."""
    rows, names = _wide(n_rows, n_attributes)

    def call() -> object:
        found = correlations_of_rows(rows)
        made = clustered_columns(found, n_columns, quasi=names)
        return {"columns": len(made.columns)}

    return call


def _wide(n_rows: int, n_attributes: int, n_values: int = 8) -> tuple[Rows, list[str]]:
    generator = np.random.default_rng(_SEED)
    names = [f"a{at}" for at in range(n_attributes)]
    texts = [str(value) for value in range(n_values)]
    domains, codes = [], []
    for at, name in enumerate(names):
        if at % 10 == 0:
            leading = generator.integers(0, n_values, n_rows)
        is_own = generator.random(n_rows) < 0.5
        codes.append(np.where(is_own, generator.integers(0, n_values, n_rows), leading))
        domains.append(Domain.of_texts(name, texts))
    return Rows(tuple(domains), np.column_stack(codes)), names


def count_fake_tuples(adult: str, columns: Sequence[Sequence[str]] | int, bucket_size: int) -> Call:
    """Count the fake tuples of random buckets of Adult with all its attributes."""
    codes = {
        name: np.unique(
            column.codes if isinstance(column, Encoded) else column, return_inverse=True
        )[1]
        for name, column in shoal.datasets.adult(adult, "occ-15").columns.items()
    }
    n_rows = len(next(iter(codes.values())))
    n_buckets = n_rows // bucket_size
    bucket = np.random.default_rng(_SEED).permutation(np.arange(n_rows) % n_buckets)
    parts = _clustered(adult, columns) if isinstance(columns, int) else columns
    named = {name for names in parts for name in names}
    rest = [name for name in codes if name not in named]
    held, tuples = [], []
    for names in [*parts, *([rest] if rest else [])]:
        sizes = [int(codes[name].max()) + 1 for name in names]
        first, value = group([codes[name] for name in names], sizes, n_rows)
        held.append(ValuesByBucket(bucket, value, n_buckets, len(first)))
        tuples.append(value)
    stacked = np.column_stack(tuples)
    return lambda: {"fakes": count_fakes(held, stacked).n_fakes}


def _clustered(adult: str, n_columns: int) -> tuple[tuple[str, ...], ...]:
    source = shoal.read(shoal.datasets.adult(adult, "occ-15"))
    schema = source.schema
    found = correlations(source.counts(schema.coded))
    roles = {"quasi": schema.quasi, "sensitive": schema.sensitive}
    return clustered_columns(found, n_columns, **roles).columns


# --- what is done with a release --------------------------------------------------------------


def verify_release(table: Table, parameters: Mapping[str, Any]) -> Call:
    """Verify a release in memory."""
    made = shoal.anonymize(_read(table), shoal.Slicing(**parameters), seed=_SEED)
    return lambda: {
        "buckets": made.manifest.n_buckets,
        "reached": str(dict(shoal.verify(made).verdicts[0].reached)["ell"]),
    }


def ask_counts(table: Table, parameters: Mapping[str, Any], n_queries: int) -> Call:
    """Answer many counts about two or three attributes, each with its standard error."""
    source = _read(table)
    made = shoal.anonymize(source, shoal.Slicing(**parameters), seed=_SEED)
    cells = source.counts(source.schema.coded)
    queries = _queries(cells, table["sensitive"], n_queries)
    analyst = shoal.analyse.Analyst(made)

    def call() -> object:
        return {"rows": round(sum(analyst.count(query).value for query in queries))}

    return call


def _queries(cells: Cells, sensitive: str, n_queries: int) -> list[dict[str, object]]:
    """Draw conditions: values of the sensitive attribute and of one or two others."""
    generator = np.random.default_rng(_SEED)
    others = [name for name in cells.columns if name != sensitive]
    queries = []
    for _ in range(n_queries):
        chosen = generator.choice(others, size=generator.integers(1, 3), replace=False).tolist()
        queries.append({name: _condition(cells, name, generator) for name in [*chosen, sensitive]})
    return queries


def _condition(cells: Cells, name: str, generator: np.random.Generator) -> object:
    domain = cells.domain(name)
    if domain.numbers is not None:
        low, high = sorted(generator.choice(domain.numbers, size=2, replace=False).tolist())
        return (low, high)
    labels = domain.labels()
    n_chosen = max(1, len(labels) // 3)
    return [str(label) for label in generator.choice(labels, size=n_chosen, replace=False)]


MEASURES = {
    "partition as printed": partition_as_printed,
    "cluster columns": cluster_columns,
    "count fakes": count_fake_tuples,
    "verify sliced": verify_release,
    "ask counts": ask_counts,
}
