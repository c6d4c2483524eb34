"""What is published about columns: types, orders, labels, hierarchies and notes on spelling.

The type and the order of a column are read off the table, and labels off the plan. All of it is cut
to what the release shows: rows that are left out and cells that are suppressed must not show in it,
nor a value that too few people carry to be named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from shoal.core.arrays import Codes, Counts
from shoal.core.cells import total_by
from shoal.core.domain import ColumnType, Domain, Role, group_variants, words_of_variants
from shoal.core.levels import LevelDomain
from shoal.core.manifest import Manifest, PublishedColumn
from shoal.core.meaning import Meaning
from shoal.core.method import Method
from shoal.core.plan import Label, Plan
from shoal.core.release import Published
from shoal.core.table import Rows
from shoal.core.tree import Tree
from shoal.engines.sql.domains import infer_type
from shoal.engines.sql.staged_files import StagedFiles
from shoal.engines.sql.table import EngineTable
from shoal.release.opened import Making


def with_orders(
    manifest: Manifest,
    making: Making,
    files: StagedFiles,
    meanings: Mapping[str, Mapping[str, Meaning]],
) -> Manifest:
    """State the order of the values that the public files name of ordered columns."""
    columns = tuple(
        replace(column, order=_order(column, making, files, meanings.get(column.name, {})))
        for column in manifest.columns
    )
    return replace(manifest, columns=columns)


def _order(
    column: PublishedColumn, making: Making, files: StagedFiles, labels: Mapping[str, Meaning]
) -> tuple[str, ...] | None:
    domain = making.table.domains.get(column.name)
    # Some values may occur only in suppressed or distorted cells.
    hides_values = making.method.shape.hides_cells or column.is_distorted
    if domain is None or domain.type is not ColumnType.ORDERED or hides_values:
        return None
    if column.is_recoded:
        named = {text for meaning in labels.values() for text in meaning.members}
        return tuple(text for text in domain.texts.tolist() if text in named) or None
    shown = files.shown_codes(column.name)
    return tuple(domain.texts[shown[shown != domain.missing_code]].tolist())


def with_shown_types(
    manifest: Manifest, table: EngineTable, files: StagedFiles, rows: Rows | None
) -> Manifest:
    """State the types of insensitive columns, and of those with suppressed cells, as shown.

    A type that nobody declared was inferred from all rows and cells, and would reveal something of
    the hidden ones. `rows` are the lines of a suppressed release, otherwise None.
    """
    texts = {} if rows is None else {domain.column: domain.texts for domain in rows.domains}

    def shown(column: PublishedColumn) -> ColumnType:
        declared = table.schema.types.get(column.name)
        if column.role is Role.INSENSITIVE:
            return files.carried_type(column.name) if declared is None else declared.type
        is_seen = bool(column.n_suppressed) and declared is None
        return infer_type(texts[column.name]) if is_seen else column.type

    columns = tuple(replace(column, type=shown(column)) for column in manifest.columns)
    return replace(manifest, columns=columns)


def meanings_of(table: EngineTable, plan: Plan, bound: int) -> dict[str, dict[str, Meaning]]:
    """Return the meaning of every label, naming no value that fewer than `bound` people carry."""
    meanings: dict[str, dict[str, Meaning]] = {}
    for recode in plan.recode:
        domain = table.domains[recode.column]
        counts = _value_counts(table, recode.column)
        used = np.unique(recode.index)
        found: dict[str, Meaning] = {}
        for place in used.tolist():
            label = recode.labels[place]
            # A label that means only itself is a value.
            if label.text is not None and (label.interval or label.members is not None):
                meaning = _meaning(label, domain, counts, bound)
                found[label.text] = _united(found.get(label.text), meaning)
        if found:
            meanings[recode.column] = found
    return meanings


def least_frequency(making: Making) -> int:
    """Return the frequency that the method gave all values; labels must not name rarer ones."""
    settled = making.method.settled(making.plan.notes)
    return getattr(settled, "min_frequency", None) or 1


def _meaning(label: Label, domain: Domain, counts: Counts, bound: int) -> Meaning:
    if label.members is None:
        return Meaning(interval=label.interval, has_missing=label.has_missing)
    members = [code for code in label.members if code != domain.missing_code]
    named = {str(domain.texts[code]) for code in members if counts[code] >= bound}
    return Meaning(
        interval=label.interval,
        members=frozenset(named),
        has_other=len(named) < len(members),
        has_missing=label.has_missing or len(members) < len(label.members),
    )


def _united(known: Meaning | None, other: Meaning) -> Meaning:
    if known is None:
        return other
    return Meaning(
        interval=known.interval or other.interval,
        members=known.members | other.members,
        has_other=known.has_other or other.has_other,
        has_missing=known.has_missing or other.has_missing,
    )


def _value_counts(table: EngineTable, column: str) -> Counts:
    counted = table.counts([column])
    counts = np.zeros(table.domains[column].size, dtype=np.int64)
    counts[counted.codes[:, 0]] = counted.counts
    return counts


def shown_meanings(
    domains: Sequence[Domain], meanings: Mapping[str, Mapping[str, Meaning]]
) -> dict[str, dict[str, Meaning]]:
    """Leave out labels that no line shows: those of dropped rows and of suppressed cells."""
    texts = {domain.column: set(domain.texts.tolist()) for domain in domains}
    shown = {
        column: {label: meaning for label, meaning in labels.items() if label in texts[column]}
        for column, labels in meanings.items()
    }
    return {column: labels for column, labels in shown.items() if labels}


def published_hierarchies(
    table: EngineTable, method: Method, plan: Plan
) -> Mapping[str, list[list[str | None]]]:
    """Return the leaf-first rows of the hierarchies that readers need, cut to the release."""
    rows: dict[str, list[list[str | None]]] = {}
    if method.shape.hides_cells:
        # Columns cut into intervals follow no hierarchy.
        return rows
    for recode in plan.recode:
        tree = table.trees.get(recode.column)
        if tree is not None:
            texts = {recode.labels[place].text for place in np.unique(recode.index).tolist()}
            rows[recode.column] = tree.restricted_rows(_nodes(tree, texts))
    needs_tree = any(
        getattr(guarantee, "distance", None) == "hierarchical" for guarantee in method.guarantees
    )
    needed = {column for column in table.schema.sensitive if needs_tree}
    if method.works_on_levels:
        needed |= {level.column for level in table.levels if level.node_level is not None}
    for sensitive in sorted(needed):
        tree = table.trees[sensitive]
        rows[sensitive] = tree.restricted_rows(tree.position[shown_codes(plan, sensitive)])
    return rows


def shown_codes(plan: Plan, column: str) -> Codes:
    """Return the values of a class column that occur in some row which is not dropped."""
    n_dropped = total_by(plan.drop.group, plan.drop.last - plan.drop.first, len(plan.class_counts))
    is_shown = (n_dropped < plan.class_counts)[plan.class_of_cell]
    shown = np.unique(plan.classes.column(column)[is_shown])
    domain = plan.classes.domain(column)
    if isinstance(domain, LevelDomain):
        # Classes do not tell which values of a level are shown; `shown_rows` leaves out the rest.
        return np.flatnonzero(np.isin(domain.level_of, shown))
    return shown


def _nodes(tree: Tree, texts: set[str | None]) -> list[int]:
    """Return the lowest node of each label."""
    lowest: dict[str | None, int] = {}
    for node in sorted(range(tree.n_nodes), key=lambda node: -int(tree.level[node])):
        lowest[tree.labels[node]] = node
    return [lowest[text] for text in sorted(texts, key=str) if text in lowest]


def shown_rows(
    published: Published, hierarchies: Mapping[str, list[list[str | None]]]
) -> dict[str, list[list[str | None]]]:
    """Leave out the rows of labels that no line shows."""
    texts = {domain.column: {*domain.texts.tolist(), None} for domain in published.domains}
    return {
        column: [row for row in rows if row[0] in texts[column]]
        for column, rows in hierarchies.items()
    }


def spelling_notes(published: Published) -> tuple[str, ...]:
    """Note the sensitive columns in which some values are spellings of one another.

    Guarantees count them as different values. If the manifest declares them distinct (`variants`),
    there is nothing to note.
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
