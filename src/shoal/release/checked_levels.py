"""Levels as the checks resolve them: value by value, in exact numbers.

Methods and attacks resolve levels with `shoal.core.levels`. What a guarantee is checked on must not
depend on that code, so this module places every published value anew; a property test compares the
two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np

from shoal.core.domain import ColumnType, Domain
from shoal.core.errors import DataError
from shoal.core.levelled import published_at_levels
from shoal.core.levels import Level, LevelDomain, unfit_error
from shoal.core.release import Published
from shoal.core.schema import Schema
from shoal.core.tree import Tree
from shoal.hierarchies.hierarchy import Hierarchy
from shoal.hierarchies.levels import levels_of_table

Hierarchies = Callable[[str], Hierarchy | None]
"""Returns the published hierarchy of a column."""


def checked_at_levels(published: Published, hierarchies: Hierarchies) -> Published:
    """Return the counts of a release with levels in the place of sensitive values.

    Raises a DataError if the levels of the manifest do not fit the published values.
    """
    levels = {level.column: level for level in published.manifest.levels}
    return published_at_levels(
        published,
        {
            domain.column: place_values(levels[domain.column], domain, hierarchies)
            for domain in published.sensitive
            if domain.column in levels
        },
    )


def place_values(level: Level, domain: Domain, hierarchies: Hierarchies) -> LevelDomain:
    """Return the levels that occur among the values of a column, and the level of each value."""
    texts = domain.texts.tolist()
    if level.node_level is not None:
        node_of = {path[0]: path[level.node_level] for path in _paths(level, hierarchies)}
        if not set(texts) <= set(node_of):
            raise unfit_error(level)
        labels = [node_of[text] for text in texts]
        order = sorted({label for label in labels if label is not None})
        kind = ColumnType.CATEGORICAL
    else:
        bounds = [_number(bound) for bound in level.bounds]
        names = level.labels(domain.type)
        places = [bisect_right(bounds, _number(text)) for text in texts]
        labels = [names[place] for place in places]
        order = [names[place] for place in sorted(set(places))]
        kind = ColumnType.ORDERED
    labels += [None] * domain.has_missing
    code_of: dict[str | None, int] = {label: code for code, label in enumerate(order)}
    codes = np.array([code_of.get(label, len(order)) for label in labels], dtype=np.int64)
    shown = np.array([*order, None], dtype=object)[:-1]
    return LevelDomain(domain.column, kind, shown, None, None in labels, codes)


def tree_above(level: Level, domain: Domain, hierarchies: Hierarchies) -> Tree:
    """Return the hierarchy over the nodes of a level: the paths of values from that level on."""
    assert level.node_level is not None
    paths = {path[level.node_level :] for path in _paths(level, hierarchies)}
    known = [path for path in sorted(paths, key=str) if path[0] is not None]
    return Hierarchy.from_rows(known, column=level.column).over(domain)


def file_at_levels(
    published: Published, schema: Schema, hierarchy: Hierarchy | None
) -> tuple[Published, Tree | None]:
    """Return the counts of a file with its sensitive column at declared levels, and the hierarchy.

    The file states no levels of its own; quantiles are taken from its values.
    """
    buckets = published.buckets
    if buckets is None:
        return published, None
    domain = buckets.domain
    tree = None if hierarchy is None else hierarchy.over(domain)
    if domain.column not in schema.levels:
        return published, tree
    trees = {} if tree is None else {domain.column: tree}
    levels = levels_of_table(schema, {domain.column: domain}, lambda _: buckets.totals, trees)
    stated = replace(published, manifest=replace(published.manifest, levels=levels))
    # A rule has paths only once it is applied to the values.
    given = None if tree is None else Hierarchy.from_rows(tree.rows(), column=domain.column)
    found = checked_at_levels(stated, lambda _: given)
    if not levels or levels[0].node_level is None or found.buckets is None:
        # A hierarchy over values says nothing about intervals.
        return found, None if levels else tree
    return found, tree_above(levels[0], found.buckets.domain, lambda _: given)


def _paths(level: Level, hierarchies: Hierarchies) -> list[tuple[str | None, ...]]:
    hierarchy = hierarchies(level.column)
    paths = [] if hierarchy is None else [tuple(row) for row in hierarchy.rows]
    assert level.node_level is not None
    # The last label of a path is that of the root, which is no level.
    if not paths or level.node_level >= len(paths[0]) - 1:
        raise unfit_error(level)
    return paths


def _number(text: str) -> Fraction | str:
    """Return a number exactly, or a date as it is: dates sort as their texts do."""
    try:
        return text if "-" in text[1:] and "e" not in text.lower() else Fraction(text)
    except ValueError:
        raise DataError("A value of a column with levels is no number.") from None
