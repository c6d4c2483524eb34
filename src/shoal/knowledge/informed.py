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

from shoal.core.cells import Buckets
from shoal.core.exact import Number
from shoal.core.guarantee import BANDWIDTH
from shoal.core.release import Published
from shoal.core.table import Table
from shoal.core.tree import Tree
from shoal.knowledge.beliefs import Beliefs, estimate_beliefs
from shoal.knowledge.known import Knowledge
from shoal.knowledge.miners import sensitive_of
from shoal.knowledge.nodes import Marks
from shoal.knowledge.positive_rules import PositiveRule
from shoal.knowledge.resolving import Resolution, Setting, resolve
from shoal.knowledge.reweighing import Mean, Share, reweigh

__all__ = ["inform", "inform_by", "overall_of_release", "prior_beliefs"]


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
        What is known.
    trees
        Hierarchies, for nodes that do not say themselves what they stand for.

    Raises
    ------
    ParameterError
        If the knowledge names a column, node or value that the people do not have, or if no
        beliefs agree with all of it.
    """
    setting = Setting(beliefs.cells, beliefs.domain, trees or {})
    return inform_by(beliefs, resolve(knowledge, setting).confirm())


def inform_by(beliefs: Beliefs, found: Resolution) -> Beliefs:
    """Make beliefs agree with the rules and statistics that could be resolved for their people.

    Raises
    ------
    ParameterError
        If no beliefs agree with all that is known.
    """
    sets = found.certain_sets
    return reweigh(beliefs, _conditions(beliefs, found), forbidden=sets.sets[sets.which])


def _conditions(beliefs: Beliefs, found: Resolution) -> list[Share | Mean]:
    rules = found.knowledge.negative
    holds = found.holding() if np.any(rules.confidences < 1) else np.zeros((0, 0), dtype=bool)
    stated: list[tuple[Marks, int, float | None, float | None]] = [
        (holds[number], int(found.values[number]), 1 - float(rules.confidences[number]), None)
        for number in np.flatnonzero(found.is_known & (rules.confidences < 1)).tolist()
    ]
    for entry, cells in found.conditions:
        code = int(beliefs.domain.codes_of([entry.value])[0])
        if isinstance(entry, PositiveRule):
            stated.append((cells, code, entry.confidence, None))
        else:
            stated.append((cells, code, entry.share, entry.mean))
    conditions: list[Share | Mean] = []
    for cells, code, share, mean in stated:
        if not cells.any():
            continue
        if mean is not None:
            conditions.append(Mean(cells, mean))
        elif code >= 0 and share is not None:
            conditions.append(Share(cells, code, share))
    return conditions
