"""The algorithm of a release, for somebody who knows it and the people of the table."""

from __future__ import annotations

from shoal.core import registry
from shoal.core.errors import ParameterError, SchemaError
from shoal.core.schema import Role
from shoal.core.table import Table
from shoal.core.table_attack import Algorithm
from shoal.pipeline.release import Release

__all__ = ["algorithm_of"]


def algorithm_of(release: Release, external: Table) -> Algorithm:
    """Make the method of a release again, over the people of an external table.

    Parameters
    ----------
    release
        The release; its manifest names the method and its parameters.
    external
        The quasi-identifiers of everybody; a sensitive column of it is not looked at.

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
    return Algorithm(made, external.schema, external.trees, external.counts(external.schema.quasi))


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
