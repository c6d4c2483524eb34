"""What is published about labels: what each stands for, and the hierarchies above them.

Both are cut to what the release shows, and name no value that too few people carry.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.core.cells import Codes, Counts
from shoal.core.domain import Domain
from shoal.core.method import Method, Shape
from shoal.core.plan import Label, Plan
from shoal.core.release import Meaning, Published
from shoal.core.tree import Tree
from shoal.engines.table import EngineTable
from shoal.pipeline.release import Making

__all__ = [
    "least_frequency",
    "meanings_of",
    "published_hierarchies",
    "shown_codes",
    "shown_meanings",
    "shown_rows",
]


def meanings_of(table: EngineTable, plan: Plan, bound: int) -> dict[str, dict[str, Meaning]]:
    """Say what every label stands for, without naming a value that fewer than `bound` carry."""
    meanings: dict[str, dict[str, Meaning]] = {}
    for recode in plan.recode:
        domain = table.domains[recode.column]
        counts = _value_counts(table, recode.column)
        used = np.unique(recode.index)
        found: dict[str, Meaning] = {}
        for place in used.tolist():
            label = recode.labels[place]
            # A label that says nothing but itself is a value.
            if label.text is not None and (label.interval or label.members is not None):
                meaning = _meaning(label, domain, counts, bound)
                found[label.text] = _united(found.get(label.text), meaning)
        if found:
            meanings[recode.column] = found
    return meanings


def least_frequency(making: Making) -> int:
    """Give how frequent values were made: labels that name rarer ones would undo it."""
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
    """Leave out labels that no line shows: of rows left out, or of suppressed cells."""
    texts = {domain.column: set(domain.texts.tolist()) for domain in domains}
    shown = {
        column: {label: meaning for label, meaning in labels.items() if label in texts[column]}
        for column, labels in meanings.items()
    }
    return {column: labels for column, labels in shown.items() if labels}


def published_hierarchies(
    table: EngineTable, method: Method, plan: Plan
) -> Mapping[str, list[list[str | None]]]:
    """Give the leaf-first rows of the hierarchies that a reader needs, cut to what is published."""
    rows: dict[str, list[list[str | None]]] = {}
    if method.shape is Shape.SUPPRESSED:
        # What is cut into intervals follows no hierarchy.
        return rows
    for recode in plan.recode:
        tree = table.trees.get(recode.column)
        if tree is not None:
            texts = {recode.labels[place].text for place in np.unique(recode.index).tolist()}
            rows[recode.column] = tree.restricted_rows(_nodes(tree, texts))
    needs_tree = any(
        getattr(guarantee, "distance", None) == "hierarchical" for guarantee in method.guarantees
    )
    if needs_tree:
        (sensitive,) = table.schema.sensitive
        tree = table.trees[sensitive]
        rows[sensitive] = tree.restricted_rows(tree.position[shown_codes(plan, sensitive)])
    return rows


def shown_codes(plan: Plan, column: str) -> Codes:
    """Give the values of a column of the classes that some row which is not left out carries."""
    n_dropped = np.zeros(len(plan.class_counts), dtype=np.int64)
    np.add.at(n_dropped, plan.drop.group, plan.drop.last - plan.drop.first)
    is_shown = (n_dropped < plan.class_counts)[plan.class_of_cell]
    return np.unique(plan.classes.column(column)[is_shown])


def _nodes(tree: Tree, texts: set[str | None]) -> list[int]:
    """Find the lowest node of each label."""
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
