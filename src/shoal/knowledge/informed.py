"""Beliefs of somebody who also knows rules and statistics.

Certain negative rules leave no belief in what they exclude; those that hold of most people only,
positive rules and statistics change how likely a value is among the people that they speak of.

References
----------
[Li08] Section VIII.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from shoal.core.cells import Buckets, Cells
from shoal.core.exact import Number
from shoal.core.guarantee import BANDWIDTH
from shoal.core.release import Published
from shoal.core.table import Table
from shoal.core.tree import Tree
from shoal.knowledge.beliefs import Beliefs, estimate_beliefs
from shoal.knowledge.known import Knowledge
from shoal.knowledge.miners import sensitive_of
from shoal.knowledge.nodes import Marks, Node, holds_for_values
from shoal.knowledge.reweighing import Mean, Share, reweigh

__all__ = ["inform", "overall_of_release", "prior_beliefs"]


def prior_beliefs(
    table: Table,
    bandwidth: Number | Mapping[str, Number] = BANDWIDTH,
    knowledge: Knowledge | None = None,
) -> Beliefs:
    """Estimate what an adversary with data like the table's believes of everybody in it.

    Parameters
    ----------
    table
        What `shoal.read` gave.
    bandwidth
        How unlike people may be to count, from 0 to 1, for all columns or by column: 0 for people
        with the same value only. The smaller, the more she knows.
    knowledge
        Rules and statistics that she knows too.

    Examples
    --------
    >>> import shoal
    >>> table = shoal.read(shoal.datasets.papers.injector_patients())
    >>> prior_beliefs(table, 0.2)
    Beliefs(zip_code, age, sex: 9 different people, 4 values of disease)
    """
    sensitive = sensitive_of(table.schema)
    cells = table.counts((*table.schema.quasi, sensitive))
    beliefs = estimate_beliefs(cells, sensitive, table.trees, bandwidth)
    return beliefs if knowledge is None else inform(beliefs, knowledge, table.trees)


def overall_of_release(published: Published, buckets: Buckets) -> Beliefs:
    """Believe of everybody in a release what the whole of it shows."""
    looks, _ = published.looks
    shares = buckets.totals / max(buckets.n_rows, 1)
    return Beliefs(looks, np.tile(shares, (looks.n_cells, 1)), buckets.domain)


def inform(
    beliefs: Beliefs, knowledge: Knowledge, trees: Mapping[str, Tree] | None = None
) -> Beliefs:
    """Make beliefs agree with rules and statistics, changing them as little as possible.

    Parameters
    ----------
    beliefs
        What is believed of people otherwise.
    knowledge
        What is known. Of what names columns, nodes or values that the people do not have, nothing
        follows.
    trees
        Hierarchies, for nodes that do not say themselves what they stand for.

    Raises
    ------
    ParameterError
        Where no beliefs agree with all that is known.
    """
    conditions = _conditions(beliefs, knowledge, trees or {})
    rules = knowledge.negative
    certain = knowledge.with_rules(rules.take(rules.confidences == 1))
    found = certain.sets_of(beliefs.cells, beliefs.domain, trees)
    return reweigh(beliefs, conditions, forbidden=found.sets[found.which])


def _conditions(
    beliefs: Beliefs, knowledge: Knowledge, trees: Mapping[str, Tree]
) -> list[Share | Mean]:
    stated: list[tuple[Mapping[str, str | None], str | None, float | None, float | None]] = [
        (rule.antecedent, rule.value, 1 - rule.confidence, None)
        for rule in knowledge.with_rules(
            knowledge.negative.take(knowledge.negative.confidences < 1)
        )
    ]
    stated += [(rule.antecedent, rule.value, rule.confidence, None) for rule in knowledge.positive]
    stated += [(one.antecedent, one.value, one.share, one.mean) for one in knowledge.statistics]
    codes = beliefs.domain.codes_of([value for _, value, _, _ in stated])
    nodes = {
        (column, node.label): node
        for column, defined in knowledge.defined_nodes.items()
        for node in defined
    }
    conditions: list[Share | Mean] = []
    for (antecedent, _, share, mean), code in zip(stated, codes.tolist(), strict=True):
        cells = _holds(antecedent, nodes, beliefs.cells, trees)
        if not cells.any():
            continue
        if mean is not None:
            conditions.append(Mean(cells, mean))
        elif code >= 0 and share is not None:
            conditions.append(Share(cells, code, share))
    return conditions


def _holds(
    antecedent: Mapping[str, str | None],
    nodes: Mapping[tuple[str, str | None], Node],
    cells: Cells,
    trees: Mapping[str, Tree],
) -> Marks:
    """Mark the cells that an antecedent is true of."""
    marks = np.ones(cells.n_cells, dtype=bool)
    for column, label in antecedent.items():
        if column not in cells.columns:
            return np.zeros(cells.n_cells, dtype=bool)
        node = nodes.get((column, label), Node.of_value(label))
        true = holds_for_values(node, cells.domain(column), trees.get(column))
        if true is None:
            return np.zeros(cells.n_cells, dtype=bool)
        marks &= true[cells.column(column)]
    return marks
