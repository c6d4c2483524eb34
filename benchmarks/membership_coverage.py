"""How often `max_membership_auc` holds for people who are not in the table.

A table is drawn from a census and sliced with `max_membership_auc`; then the attack distinguishes
its members from as many people who were drawn afterwards. This is repeated for other tables. The
result is the number of tables for which the area under the ROC curve exceeds the bound.

Run: ``python benchmarks/membership_coverage.py --bound 0.53 --rows 2000 --tables 50``
"""

from __future__ import annotations

import argparse
import statistics
import time

import numpy as np

import shoal
from shoal.core.cells import Cells
from shoal.core.domain import Domain
from shoal.core.errors import InfeasibleError
from shoal.core.release import People
from shoal.datasets import census
from shoal.membership.fits import tell_apart

_FRESH = 1_000_000
"""The seeds of fresh people begin here."""


def schema_of_census() -> shoal.Schema:
    """Return the schema of the census without identifying and insensitive columns."""
    whole = census(rows=10).schema
    kept = (*whole.quasi, *whole.sensitive)
    return shoal.Schema(
        quasi=whole.quasi,
        sensitive=whole.sensitive,
        hierarchies={name: whole.hierarchies[name] for name in kept if name in whole.hierarchies},
        types={name: whole.types[name] for name in kept if name in whole.types},
    )


def fresh_auc(n_rows: int, seed: int, method: shoal.Slicing) -> tuple[float, int]:
    """Return the AUC of members against fresh people, and the table's least frequency."""
    schema = schema_of_census()
    own, fresh = (census(rows=n_rows, seed=one).to_dict() for one in (seed, _FRESH + seed))
    columns = {name: own[name] for name in (*schema.quasi, *schema.sensitive)}
    table = shoal.read(columns, schema)
    release = shoal.anonymize(table, method, seed=seed)
    domains, codes = [], []
    for name in schema.quasi:
        values = [*own[name], *fresh[name]]
        distinct = sorted(set(values))
        numbers = [float(one) for one in distinct] if not isinstance(distinct[0], str) else None
        texts = [str(one) for one in distinct]
        domain = Domain.of_texts(name, texts, type=table.domains[name].type, numbers=numbers)
        domains.append(domain)
        codes.append(domain.codes_of([str(one) for one in values]))
    rows = np.column_stack(codes)
    members, others = (
        People(Cells.of_rows(domains, part)) for part in (rows[:n_rows], rows[n_rows:])
    )
    found = release.making.plan.notes["membership"]["min_frequency"]
    return tell_apart(release.published, members, others).worse.auc, found


def main() -> None:
    """Print one line per table, and how often the bound held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bound", default="0.53")
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument("--columns", type=int, default=3)
    given = parser.parse_args()
    method = shoal.Slicing(ell=2, columns=given.columns, max_membership_auc=given.bound)
    areas: list[float] = []
    for seed in range(given.tables):
        begin = time.perf_counter()
        try:
            auc, frequency = fresh_auc(given.rows, seed, method)
        except InfeasibleError as error:
            print(f"table {seed}: infeasible: {error.fact}", flush=True)
            continue
        areas.append(auc)
        seconds = time.perf_counter() - begin
        print(
            f"table {seed}: AUC {auc:.4f}, min_frequency {frequency}, {seconds:.1f} s", flush=True
        )
    n_above = sum(area > float(given.bound) for area in areas)
    print(f"{n_above} of {len(areas)} above {given.bound}; mean {statistics.fmean(areas):.4f}")


if __name__ == "__main__":
    main()
