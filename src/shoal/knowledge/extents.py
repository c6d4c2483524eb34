"""For which values of a column, or published labels, the nodes of rules stand.

A table's values and the nodes of its hierarchies are known, so what a rule names that is not among
them is refused; on a release, which may lack some, such a rule holds for nobody.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from shoal.core.domain import Domain
from shoal.core.errors import ParameterError
from shoal.core.release import Meaning
from shoal.core.tree import Tree
from shoal.knowledge.nodes import Marks, Node, codes_in, holds_for_labels

__all__ = ["extents_in"]


def extents_in(
    nodes: Sequence[Node],
    domain: Domain,
    meanings: Mapping[str, Meaning],
    tree: Tree | None,
    *,
    is_whole: bool,
    is_strict: bool,
) -> Marks:
    """Mark for each node the codes of a column that it is true of."""
    marks = np.zeros((len(nodes), max(domain.size, 1)), dtype=bool)
    is_value = np.zeros(len(nodes), dtype=bool)
    if not meanings:
        # Most nodes are values, and all of them are looked up at once.
        plain = np.flatnonzero([not node.is_defined for node in nodes])
        codes = codes_in(domain, [nodes[place].label for place in plain.tolist()])
        marks[plain[codes >= 0], codes[codes >= 0]] = True
        is_value[plain[codes >= 0]] = True
    n_unknown = 0
    for place in np.flatnonzero(~is_value).tolist():
        found = holds_for_labels(nodes[place], domain, meanings, tree, is_whole=is_whole)
        if found is None:
            n_unknown += 1
        else:
            marks[place, : domain.size] = found
    if n_unknown and is_strict:
        raise ParameterError(
            f"Rules name {n_unknown} nodes of column {domain.column!r} that are neither values nor "
            "nodes of its hierarchy, or stand for nothing that it could hold.",
            hint=f"correct them, or say what they stand for under [nodes.{domain.column}] in the "
            "file of knowledge.",
        )
    if is_strict:
        _refuse_ambiguous(nodes, domain, marks)
    return marks


def _refuse_ambiguous(nodes: Sequence[Node], domain: Domain, marks: Marks) -> None:
    """Refuse a label of a group that is a value too: rules about that value would speak of others.

    They are told apart by label only, and what was mined about the value would be lost.
    """
    labels = [node.label if node.is_defined else None for node in nodes]
    codes = domain.codes_of(labels)
    named = np.flatnonzero((codes >= 0) & np.array([label is not None for label in labels], bool))
    is_other = ~marks[named, codes[named]] | (marks[named].sum(axis=1) > 1)
    if is_other.any():
        raise ParameterError(
            f"{int(np.count_nonzero(is_other))} labels under [nodes.{domain.column}] of the "
            "knowledge are values of the column and stand for others.",
            hint="give them labels that the column does not hold.",
        )
