"""Publish a part of a table as a release was made of it, and hold out the rest.

The part is drawn by a generator that the release's secret seeds, and published in memory; nothing
of it is ever written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from shoal.core.cells import Cells, Codes, group
from shoal.core.errors import (
    DataError,
    EngineError,
    InfeasibleError,
    ParameterError,
    SchemaError,
)
from shoal.core.held_out import HeldOutAttack, Trial, Trials
from shoal.core.method import Method
from shoal.core.release import People, Published
from shoal.core.rows import Rows
from shoal.core.sliced import Sliced, SlicedColumn
from shoal.knowledge.column_generalization import apply_recode
from shoal.knowledge.fake_tuples import ValuesByBucket, count_fakes
from shoal.pipeline.parts import publish_part
from shoal.pipeline.release import Making, Release

__all__ = ["run_trials"]

_AS_RELEASED = "as in the release"
_GROUPINGS = {"by similarity": "mondrian", "by dissimilarity": "dissimilar", "at random": "random"}
"""The ways to group rows that are compared, and the method's words for them."""


def run_trials(release: Release, attack: HeldOutAttack) -> Trials:
    """Publish a part of the table of a release, in the ways that an attack asks for.

    Parameters
    ----------
    release
        The release; without its table nothing can be tried.
    attack
        What the trials are for.
    """
    making = release.making
    if making is None:
        return Trials(left_out="the table is not at hand")
    counted = _count_fakes(making, release.published.sliced, attack.max_steps)
    if making.repairs:
        return replace(counted, left_out="buckets were merged after the method")
    if not making.table.schema.quasi:
        return replace(counted, left_out="nothing is known of people")
    rows = making.table.sampled_codes(attack.max_rows, making.secret.derive("held-out rows"))
    n_members = round(attack.split * rows.n_rows)
    if not 0 < n_members < rows.n_rows:
        return replace(counted, left_out=f"{rows.n_rows} rows cannot be parted")
    order = making.secret.generator("held-out part").permutation(rows.n_rows)
    parting = _Parting(making, rows, np.sort(order[:n_members]), np.sort(order[n_members:]))
    method = making.method.settled(making.plan.notes)
    trials = [parting.tried(_AS_RELEASED, method, {})]
    if attack.compare and hasattr(method, "buckets"):
        size = getattr(method, "bucket_size", None) or _mean_size(release.published)
        trials += [
            parting.tried(name, method, {"buckets": word, "bucket_size": size})
            for name, word in _GROUPINGS.items()
        ]
    return replace(counted, trials=tuple(trials))


def _mean_size(published: Published) -> int:
    return max(round(published.manifest.n_rows / max(published.n_buckets, 1)), 1)


@dataclass(frozen=True, eq=False)
class _Parting:
    """The rows of a table, parted.

    Parameters
    ----------
    making
        What only the maker of the release knows.
    rows
        The rows that take part.
    members, others
        The places of those that are published, and of those that are held out.
    """

    making: Making
    rows: Rows
    members: Codes
    others: Codes

    def tried(self, name: str, method: Method, changes: Mapping[str, Any]) -> Trial:
        """Publish the part by a method, some parameters changed."""
        published, refusal = None, None
        try:
            published = publish_part(
                self.making, self.rows, self.members, replace(method, **changes)
            )
        except (DataError, EngineError, InfeasibleError, ParameterError, SchemaError) as error:
            refusal = error.fact
        return Trial(
            name, self._people(self.members), self._people(self.others), published, refusal
        )

    def _people(self, places: Codes) -> People:
        quasi = self.making.table.schema.quasi
        columns = [self.rows.columns.index(name) for name in quasi]
        domains = [self.rows.domains[column] for column in columns]
        codes = self.rows.codes[places][:, columns].astype(np.int64)
        return People(Cells.of_rows(domains, codes))


# --- fake tuples ----------------------------------------------------------------------------------


def _count_fakes(making: Making, sliced: Sliced | None, max_steps: int) -> Trials:
    """Count the tuples of the table and the fakes of a sliced release, sensitive values included.

    An attack sees no sensitive value; how many tuples match, it may know.
    """
    if sliced is None:
        return Trials()
    if sliced.layout.is_overlapping:
        return Trials(not_counted="not counted: columns share attributes")
    cells = apply_recode(making.table.counts(making.table.schema.coded), making.plan.recode)
    columns = [
        ValuesByBucket(column.bucket, column.value, sliced.n_buckets, column.values.n_cells)
        for column in sliced.columns
    ]
    tuples = np.column_stack([_value_of(column, cells) for column in sliced.columns])
    try:
        found = count_fakes(columns, tuples, max_steps=max_steps)
    except InfeasibleError as error:
        return Trials(not_counted=f"not counted: {error.fact}")
    return Trials(originals=found.originals, fakes=found.fakes)


def _value_of(column: SlicedColumn, cells: Cells) -> Codes:
    """Give the value of a column that each cell of the table is published with."""
    names = column.attributes
    ours = [column.values.column(name) for name in names]
    theirs = [
        column.values.domain(name).codes_of(cells.domain(name).labels())[cells.column(name)]
        for name in names
    ]
    both = [np.concatenate(pair) for pair in zip(ours, theirs, strict=True)]
    sizes = [column.values.domain(name).size for name in names]
    # The first of equal ones is the published value: those stand before the table's cells.
    first, inverse = group(both, sizes, column.values.n_cells + cells.n_cells)
    return first[inverse[column.values.n_cells :]]
