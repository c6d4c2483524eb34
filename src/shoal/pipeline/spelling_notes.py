"""What a reader should know of the spellings of a release's sensitive values."""

from __future__ import annotations

from shoal.core.release import Published
from shoal.core.schema import Role
from shoal.core.spelling import group_variants, words_of_variants

__all__ = ["spelling_notes"]


def spelling_notes(published: Published) -> tuple[str, ...]:
    """Note sensitive columns whose values are spellings of one another.

    Guarantees count them as different values. Where the manifest says that they are (`variants` is
    "distinct"), there is nothing to note.

    Parameters
    ----------
    published
        The release as any reader sees it.
    """
    domains = {domain.column: domain for domain in published.domains}
    notes = []
    for column in published.manifest.columns:
        domain = domains.get(column.name)
        if column.role is not Role.SENSITIVE or column.variants == "distinct" or domain is None:
            continue
        groups = [] if domain.type.is_numeric else group_variants(domain.texts.tolist())
        if groups:
            notes.append(
                f"in the sensitive column {column.name!r} {words_of_variants(groups)}, and the "
                "guarantees count each as a value of its own"
            )
    return tuple(notes)
