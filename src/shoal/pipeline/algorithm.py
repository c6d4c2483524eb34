"""The algorithm of a release, for somebody who knows it and the people of the table."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from shoal.core import registry
from shoal.core.cells import Codes, Counts
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.release import People
from shoal.core.schema import Role
from shoal.core.table import Table
from shoal.core.table_attack import Algorithm
from shoal.knowledge.location import Locations, matching_buckets
from shoal.pipeline.release import Release

__all__ = ["algorithm_of"]


def algorithm_of(release: Release, external: Table) -> Algorithm:
    """Make the method of a release again, over the people of an external table.

    Parameters
    ----------
    release
        The release; its manifest names the method and its parameters.
    external
        The quasi-identifiers of everybody; a sensitive column of it says at most who is in which
        bucket.

    Raises
    ------
    ParameterError
        Where the buckets of the method do not follow from the table alone, or a parameter of it
        is internal.
    SchemaError
        Where the external table lacks a quasi-identifier.
    """
    manifest = release.manifest
    method = registry.find("shoal.methods", manifest.method)
    try:
        made = method(**manifest.parameters)
    except TypeError:
        raise ParameterError(
            f"The manifest does not state all that {manifest.method} goes by."
        ) from None
    _confirm_columns(release, external)
    schema = external.schema
    algorithm = Algorithm(made, schema, external.trees, external.counts(schema.quasi))
    return replace(algorithm, located=_located(release, algorithm, external))


def _located(release: Release, algorithm: Algorithm, external: Table) -> Codes | None:
    """Find the bucket of everybody by forming the buckets of the table anew.

    Labels may overlap, so matching may leave open who is where; that people are in their own
    bucket is the worst case. None where the table does not say.
    """
    published = release.published
    buckets, people = published.buckets, algorithm.people
    if buckets is None or buckets.domain.column not in external.domains:
        return None
    cells = external.counts((*people.columns, buckets.domain.column))
    codes = buckets.domain.codes_of(external.domains[buckets.domain.column].labels())
    value = codes[cells.column(buckets.domain.column)]
    if len(value) and value.min() < 0:
        return None
    kind = cells.select_with_inverse(people.columns)[1]
    table = np.zeros((people.n_cells, buckets.domain.size), dtype=np.int64)
    np.add.at(table, (kind, value), cells.counts)
    formed = algorithm.buckets(table, buckets.domain)
    if formed is None:
        return None
    held = np.zeros((int(formed.max()) + 1, buckets.domain.size), dtype=np.int64)
    np.add.at(held, formed, table)
    shown = np.zeros((buckets.n_buckets, buckets.domain.size), dtype=np.int64)
    shown[buckets.bucket, buckets.value] = buckets.count
    found = matching_buckets(published, People(people))
    bucket = _joined(formed, found, held, shown)
    return None if bucket is None else np.asarray(bucket[formed], dtype=np.int64)


def _joined(formed: Codes, found: Locations, held: Counts, shown: Counts) -> Codes | None:
    """Give for each bucket formed anew the bucket of the release that it is; None if one is lost.

    Buckets that hold the same and fit each other's people cannot be told apart, and need not be.
    Those that show the same labels are one bucket of the release.

    Parameters
    ----------
    formed
        The bucket of each kind of people, formed anew.
    found
        The buckets of the release that each kind fits.
    held, shown
        How often each value occurs in each bucket formed anew, and in each of the release.
    """
    pairs, n_fitting = np.unique(
        formed[found.person] * len(shown) + found.bucket, return_counts=True
    )
    new, old = np.divmod(pairs, len(shown))
    fits = n_fitting == np.bincount(formed)[new]
    new, old = new[fits], old[fits]
    is_same = np.all(held[new] == shown[old], axis=1)
    ones = np.ones(np.count_nonzero(is_same), dtype=np.int8)
    # They take long to import.
    from scipy.sparse import csr_array  # noqa: PLC0415
    from scipy.sparse.csgraph import maximum_bipartite_matching  # noqa: PLC0415

    same = csr_array((ones, (new[is_same], old[is_same])), shape=(len(held), len(shown)))
    bucket = maximum_bipartite_matching(same, perm_type="column").astype(np.int64)
    left = shown.copy()
    np.subtract.at(left, bucket[bucket >= 0], held[bucket >= 0])
    while (bucket < 0).any():
        has_room = (bucket[new] < 0) & np.all(held[new] <= left[old], axis=1)
        is_only = has_room & (np.bincount(new[has_room], minlength=len(held)) == 1)[new]
        # Of several that would share the room of one, the first takes it; then it is looked anew.
        taken = np.flatnonzero(is_only)[np.unique(old[is_only], return_index=True)[1]]
        if not len(taken):
            return None
        bucket[new[taken]] = old[taken]
        np.subtract.at(left, old[taken], held[new[taken]])
    return np.asarray(bucket, dtype=np.int64)


def _confirm_columns(release: Release, external: Table) -> None:
    manifest = release.manifest
    quasi = manifest.columns_of(Role.QUASI)
    if set(quasi) != set(external.schema.quasi):
        raise SchemaError(
            "The external table must have the quasi-identifiers of the release: "
            f"{', '.join(quasi)}.",
            hint="give these columns that role, and no others.",
        )
    if manifest.parameters.get("distance") == "hierarchical":
        _confirm_values(release, external)


def _confirm_values(release: Release, external: Table) -> None:
    """Refuse a table whose hierarchy of the sensitive column is not laid over the same values."""
    buckets = release.published.buckets
    column = "" if buckets is None else buckets.domain.column
    values = external.domains[column].labels() if column in external.trees else None
    if buckets is None or values != buckets.domain.labels():
        raise SchemaError(
            "The method goes by the hierarchy of the sensitive column: the external table must "
            "have it, with the same values."
        )
